"""The tables of Yang and Ju (2014), a DC program for the zero-norm minimax probability machine."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import chi2

from fsnotes.core.surrogates import L1
from fsnotes.data.generators import make_instance, make_moments
from fsnotes.errors import collecting
from fsnotes.metrics import mcc_ceiling
from fsnotes.replication.declare import (
    OURS,
    Chapter,
    Claims,
    Dataset,
    Method,
    Printed,
    Protocol,
    Table,
    covered,
    misprints,
    printed,
)
from fsnotes.replication.judge import Verdict
from fsnotes.replication.rules import (
    difference,
    effect,
    is_above,
    mcc_spread,
    together,
    word_of,
)
from fsnotes.replication.rules import mean as mean_of

PAPER = "yang2014"
claim = Claims(PAPER)
FOLDS = 10
PROTOCOL = Protocol(repeats=10, folds=FOLDS, inner=5, seed=2013)
SAMPLED = 200  # rows of spambase and madelon in the paper, it does not say which
# Numbers of rows as Table 1 prints them, except for Pima, where it is wrong.
ROWS = {
    "sonar": 208,
    "pima": 768,
    "ionosphere": 350,
    "spambase": SAMPLED,
    "wisconsin": 699,
    "wpbc": 198,
    "wdbc": 569,
    "madelon": SAMPLED,
}
REAL = tuple(ROWS)
SYNTHETIC = ("moments-printed", "moments-meant")
# the tables of the paper ask for 0.9, which only the sample of madelon admits
BEYOND = tuple(name for name in REAL if name != "madelon")
ASKED = 0.9
BEYOND_REACH = (
    "the bound 0.9 exceeds the largest that any fold of our rows admits; measured at 0.9 of that"
)
SINGULAR = (
    "of 180 rows in 500 columns both covariance matrices are singular, in directions in which the "
    "means differ: every bound is feasible, and the MPM is one of many machines"
)
NOT_PRINTED = "neither the program of S-MPM nor the price of its norm is printed"
ALPHAS = ("50", "10", "5", "1", "0.5", "0.1")
DELTAS = ("0.9", "0.7", "0.5", "0.3", "0.1")
# which folds of spambase do not admit a bound, and what that makes of numbers printed with it
AMONG_FOLDS = {"0.9": ("infeasible", "every fold"), "0.7": ("incomparable", "some folds")}
PUBLISHED = {"prune": False, "refit": False}  # the machine of the problem itself
FEW = 5  # features, where machines are compared at an equal number


def published(paper, estimator, datasets=(), **parameters):
    """A method as the paper has it."""
    return Method(estimator, PUBLISHED | parameters, paper=paper, datasets=datasets)


def at_part(paper, key, estimator, datasets=(), **parameters):
    """A method as the paper has it, at two parts of the largest bound, refitted, and pruned."""
    made = partial(published, estimator=estimator, datasets=datasets, **parameters)
    return {
        key: made(paper),
        f"{key}-half": made(f"{paper}, half the bound", retain=0.5),
        f"{key}-refit": made(f"{paper}, refitted", refit=True),
        f"{key}-pruned": made(f"{paper}, pruned", prune=True, refit=True),
    }


def asked(delta):
    """The bound itself where all folds of spambase admit it, else so large a part."""
    return {"retain" if delta in AMONG_FOLDS else "delta": float(delta)}


METHODS = {
    "mpm": Method("fsnotes.MPM", paper="MPM"),
    **at_part("L1-MPM", "l1mpm", "fsnotes.L1MPM", REAL),
    **at_part("L0-MPM", "l0mpm", "fsnotes.L0MPM", REAL),
    **at_part("L0-MPM, alpha 0.5", "l0mpm-soft", "fsnotes.L0MPM", ("ionosphere",), alpha=0.5),
    "smpm": Method(
        "fsnotes.SMPM",
        {"refit": False},
        paper="S-MPM",
        datasets=("ionosphere", "spambase", "sonar"),
    ),
    # not in the paper: the pruning of L0-MPM from the start of its steps, greedy search at the
    # same bound, and all at the same number
    "l1mpm-exchanged": Method(
        "fsnotes.L0MPM", {"surrogate": L1()}, paper="L1-MPM, pruned, exchanged", datasets=REAL
    ),
    "l1mpm-few-exchanged": Method(
        "fsnotes.L0MPM",
        {"surrogate": L1(), "n_features": FEW},
        paper="L1-MPM, pruned, exchanged",
        datasets=REAL,
    ),
    "forward": Method("fsnotes.GreedyMPM", paper="forward", datasets=REAL),
    # of more features than rows all first removals are between equals
    "backward": Method(
        "fsnotes.GreedyMPM", {"direction": "backward"}, paper="backward", datasets=BEYOND
    ),
    "l1mpm-few": Method(
        "fsnotes.L1MPM", {"n_features": FEW, "prune": True}, paper="L1-MPM, pruned", datasets=REAL
    ),
    "l0mpm-few": Method(
        "fsnotes.L0MPM", {"n_features": FEW}, paper="L0-MPM, pruned", datasets=REAL
    ),
    "forward-few": Method("fsnotes.GreedyMPM", {"n_features": FEW}, paper="forward", datasets=REAL),
    "backward-few": Method(
        "fsnotes.GreedyMPM",
        {"n_features": FEW, "direction": "backward"},
        paper="backward",
        datasets=BEYOND,
    ),
    **{
        f"spam-{alpha}-{delta}": published(
            f"alpha {alpha}, bound {delta}{' of the largest' * (delta in AMONG_FOLDS)}",
            "fsnotes.L0MPM",
            ("spambase",),
            alpha=float(alpha),
            **asked(delta),
        )
        for alpha in ALPHAS
        for delta in DELTAS
    },
    "l1mpm-wide": published("L1-MPM", "fsnotes.L1MPM", SYNTHETIC, delta=ASKED),
    **{
        f"l0mpm-wide-{alpha}": published(
            f"L0-MPM, alpha {alpha}", "fsnotes.L0MPM", SYNTHETIC, delta=ASKED, alpha=float(alpha)
        )
        for alpha in ALPHAS
    },
    **{
        f"l0mpm-wide-10-{delta}": published(
            f"L0-MPM, bound {delta}", "fsnotes.L0MPM", SYNTHETIC, delta=float(delta), alpha=10.0
        )
        for delta in DELTAS[1:]
    },
}
EQUAL_BOUND = ("l1mpm-pruned", "l1mpm-exchanged", "l0mpm-pruned", "forward", "backward")
EQUAL_NUMBER = ("l1mpm-few", "l1mpm-few-exchanged", "l0mpm-few", "forward-few", "backward-few")


def soft(dataset, method):
    """On ionosphere the paper sets another alpha."""
    is_soft = dataset == "ionosphere" and method.startswith("l0mpm")
    return method.replace("l0mpm", "l0mpm-soft") if is_soft else method


def entries(block):
    """Printed values, each of the method with which it was made, and whether it can be judged."""
    found = []
    for p in printed(block):
        reasons = {}
        if p.method == "smpm":
            reasons["incomparable"] = NOT_PRINTED
        elif p.dataset not in BEYOND:
            reasons["incomparable"] = SINGULAR
        elif p.method != "mpm":
            reasons["infeasible"] = BEYOND_REACH
        found.append(Printed(p.dataset, soft(p.dataset, p.method), p.measure, p.text, **reasons))
    return tuple(found)


def impossible(correlation, accuracy, rows):
    """Why a printed correlation cannot belong to a printed accuracy, both in percent, or None.

    Over the pooled folds it would exceed its ceiling, and as a mean over ten folds it would take
    accuracies that vary more than chance makes them vary once in a thousand times.
    """
    part = accuracy / 100
    if correlation / 100 <= mcc_ceiling(part):
        return None
    needed, _, seldom = spreads(correlation, accuracy, rows)
    if needed <= seldom:
        return None
    return (
        f"over all folds pooled, the accuracy {accuracy:.2f} allows at most "
        f"{100 * mcc_ceiling(part):.1f}; as a mean over ten folds, {correlation:.2f} needs fold "
        f"accuracies whose standard deviation is {needed:.0f} points or more; if rows are dealt to "
        f"folds at random and no fold is left out, it exceeds {seldom:.0f} points once in a "
        "thousand times"
    )


def spreads(correlation, accuracy, rows):
    """Standard deviations of the accuracy over ten folds, all in points.

    That which a printed correlation needs at least, that of chance, for folds of so many rows in
    all, and that which chance exceeds once in a thousand times.
    """
    part = accuracy / 100
    needed = mcc_spread(part, correlation / 100)
    chance = math.sqrt(part * (1 - part) / (rows / FOLDS))
    seldom = chance * math.sqrt(chi2.ppf(0.999, FOLDS - 1) / FOLDS)
    return 100 * needed, 100 * chance, 100 * seldom


def with_proofs(found):
    """The values, each correlation with the proof that its accuracy may give."""
    accuracy = {(p.dataset, p.method): p.value for p in found if p.measure == "accuracy"}
    return tuple(
        replace(
            p,
            proof=partial(impossible, accuracy=accuracy[p.dataset, p.method], rows=ROWS[p.dataset]),
        )
        if p.measure == "mcc_percent"
        else p
        for p in found
    )


KINDS = ("l1mpm", "l0mpm", "l0mpm-soft")
BESIDE = {
    title: {kind: f"{kind}-{key}" for kind in KINDS}
    for title, key in [("at half the bound", "half"), ("pruned, refitted", "pruned")]
}
SETTING = "alpha refers to standardised columns, since the units of the paper are not said"
PARTS = (
    f"{SETTING}; where a bound of 0.9 cannot be had, 0.9 of the largest is asked for; the start, "
    "the tolerance, and from what size on a weight counts are not printed, and here each that is "
    "not 0 counts; ten repeats, and the paper has one; Wisconsin has 683 rows here, WPBC 194, Pima "
    "768; which 200 rows of spam and madelon the paper has is not known, and each repeat draws its "
    "own"
)
TABLE_2 = Table(
    "table2",
    source=PAPER,
    place="Table 2",
    title="Numbers of features against alpha and the bound, on spam",
    printed=tuple(
        Printed(
            "spambase",
            f"spam-{alpha}-{delta}",
            "n_selected",
            text,
            **(
                {
                    AMONG_FOLDS[delta][0]: f"the bound {delta} exceeds the largest of "
                    f"{AMONG_FOLDS[delta][1]}; measured at {delta} of the largest"
                }
                if delta in AMONG_FOLDS
                else {}
            ),
        )
        for alpha, line in zip(
            ALPHAS,
            [
                "3.7 3.4 2.9 2.3 2.0",
                "3.7 3.4 3.0 2.4 2.0",
                "3.7 3.4 3.1 2.5 2.0",
                "3.9 3.4 3.3 2.5 2.0",
                "3.9 3.4 3.3 2.5 2.0",
                "3.9 3.5 3.4 2.5 2.0",
            ],
            strict=True,
        )
        for delta, text in zip(DELTAS, line.split(), strict=True)
    ),
    reduced=PARTS,
    repeats=1,
)
TABLE_3 = Table(
    "table3",
    source=PAPER,
    place="Table 3",
    title="Accuracy and Matthews correlation of three machines",
    printed=with_proofs(
        entries("""
                   sonar  pima   ionosphere spambase wisconsin wpbc  wdbc  madelon
        mpm   accuracy     75.10  73.80  85.40  67.02  91.61  24.21  90.71  60.30
        l1mpm accuracy     77.89  65.53  71.18  60.57  89.46  62.11  90.89  60.58
        l0mpm accuracy     79.50  65.79  85.74  67.08  75.26  61.58  88.75  61.30
        mpm   mcc_percent  61.71  45.46  79.10  55.36  80.05  13.06  82.42  23.81
        l1mpm mcc_percent  68.06  42.86  53.51  23.89  78.00  25.03  83.65  22.89
        l0mpm mcc_percent  70.89  44.91  82.58  62.41  72.56  24.99  85.63  31.98
    """)
    ),
    reduced=PARTS,
    beside=BESIDE,
    repeats=1,
    lesson="What can be compared are the numbers of the MPM, which asks for no bound, on seven of "
    "the eight sets. On madelon both covariances are singular, where the paper assumes that they "
    "are definite.",
)
TABLE_5 = Table(
    "table5",
    source=PAPER,
    place="Table 5",
    title="Accuracy and Matthews correlation of S-MPM",
    printed=with_proofs(
        entries("""
                          ionosphere spambase sonar
        smpm accuracy     85.12      79.00    78.65
        smpm mcc_percent  78.02      60.20    68.06
    """)
    ),
    reduced="the rows of L0-MPM, which repeat Table 3, are left out",
    repeats=1,
    lesson="The program of S-MPM and the price of its norm are not printed.",
)
TABLE_6 = Table(
    "table6",
    source=PAPER,
    place="Table 6",
    title="Percentage of features selected, beside S-MPM",
    printed=entries("""
                   ionosphere spambase sonar
        smpm  psf  14.71      21.05    8.33
        l0mpm psf  5.88       7.02     8.33
    """),
    reduced=PARTS,
    beside=BESIDE,
    repeats=1,
    lesson="The program of S-MPM and the price of its norm are not printed.",
)
TABLE_7 = Table(
    "table7",
    source=PAPER,
    place="Table 7",
    title="Steps",
    printed=entries("""
                      ionosphere spambase sonar
        l0mpm n_iter  2          2        3
    """),
    reduced=f"{PARTS}; the steps of S-MPM are left out, since its algorithm is not printed",
    beside={"at half the bound": BESIDE["at half the bound"]},
    repeats=1,
)
PRINTED_COUNTS = (9, 7, 11, 12, 8, 11, 12, 10, 11, 10)  # of both machines, in ten repeats
WIDE = [
    Table(
        name,
        source=PAPER,
        place="Section 4.2",
        title="Features selected of 1000, mean of the ten numbers printed for both, the data drawn "
        + how,
        printed=tuple(
            Printed(dataset, method, "n_selected", f"{np.mean(PRINTED_COUNTS):.1f}")
            for method in ("l1mpm-wide", "l0mpm-wide-10")
        ),
        reduced=f"{SETTING}; ten folds in each repeat",
    )
    for name, dataset, how in (
        ("wide", SYNTHETIC[0], "from the distribution as printed"),
        ("wide-meant", SYNTHETIC[1], "with means of 1 and -1, which may be what is meant"),
    )
]
FIGURE_5 = Table(
    "figure5",
    source=PAPER,
    place="Figure 5",
    title="Percentage of features that three machines select",
    reduced=PARTS,
    reads=tuple((dataset, soft(dataset, m)) for dataset in REAL for m in ("mpm", "l1mpm", "l0mpm")),
)
ABLATION = Table(
    "ablation",
    source=PAPER,
    place=OURS,
    title="Pruned machines and greedy search, at an equal bound and at an equal number of features",
    reads=tuple(
        (dataset, method)
        for dataset in REAL
        for method in (*EQUAL_BOUND, *EQUAL_NUMBER)
        if dataset in (METHODS[method].datasets)
    ),
)

# Table 4, in the order MPM, L1-MPM, L0-MPM
RANKS = {
    "sonar": (3, 2, 1),
    "pima": (1, 2, 3),
    "ionosphere": (2, 3, 1),
    "spambase": (2, 3, 1),
    "wisconsin": (1, 2, 3),
    "wpbc": (3, 1, 2),
    "wdbc": (2, 1, 3),
    "madelon": (3, 2, 1),
    "synthetic": (2.5, 1, 2.5),
}
MEAN_RANKS = (1.83, 2.0, 1.72)


def mean(read, measure, dataset, method):
    """What the measured column of a table shows."""
    return mean_of(read, measure, dataset, soft(dataset, method))


def gains(read, places):
    """Whether the first method is more accurate wherever it is compared, with the differences."""
    found = {d: difference(read, d, soft(d, first), soft(d, second)) for d, first, second in places}
    answer = together(map(is_above, found.values()))
    shown = ", ".join(f"{d} {effect(c)}" for d, c in found.items())
    return Verdict(word_of(answer), f"in points of accuracy, {shown}")


def own(measure):
    """The numbers that Table 3 prints, by data set and machine."""
    return {
        (p.dataset, p.method.replace("l0mpm-soft", "l0mpm")): p.value
        for p in TABLE_3.printed
        if p.measure == measure
    }


@claim(
    "Section 1",
    "minimizing the L1-norm generates many components that are close to zero, but not exactly "
    "equal to zero",
    "l1-zeros",
    lesson="The l1 norm selects, too. What sets the zero norm apart is how many features it keeps "
    "at the same bound.",
)
def no_exact_zeros(read):
    """On every data set the weights that L1-MPM does not use are small, and none is exactly 0.

    It is solved to its optimality conditions, which say of each weight whether it is 0. How small
    is close to zero is not said.
    """
    zeros = {d: 100 - mean(read, "psf", d, "l1mpm") for d in REAL}
    if max(zeros.values()) == 0:
        return True
    return Verdict(
        "differs",
        f"{min(zeros.values()):.0f} to {max(zeros.values()):.0f} percent of the weights of L1-MPM "
        "are exactly zero, by data set; a solver of interior points returns some 1e-9 for them, "
        "which may be what the paper saw",
    )


@claim(
    "Section 4",
    "parameters alpha = 5 and delta = 0.9 were chosen for our experiments on the UCI datasets, "
    "except the Ionosphere dataset, for which we set alpha = 0.5",
    "bound",
    lesson="On seven of the eight data sets no linear machine of our folds keeps a bound of 0.9: "
    "it lies beyond the largest that an MPM reaches. On spam this is so of all sets of 200 rows "
    "that we drew, on Pima of all 768 rows. There what Tables 3, 6 and 7 print of the L1- and the "
    "L0-MPM cannot have been made as described.",
)
def admits_bound(read):
    """In every fold of every data set the largest bound is at least 0.9."""
    largest = {d: read(d, "mpm").scores("largest_delta") for d in REAL}
    if all((bounds >= ASKED).all() for bounds in largest.values()):
        return True
    out_of_reach = [d for d, bounds in largest.items() if (bounds < ASKED).all()]
    if not out_of_reach:
        return False
    most = max(largest[d].max() for d in out_of_reach)
    return Verdict(
        "infeasible",
        f"in every fold of {', '.join(out_of_reach)} the largest bound is below 0.9: at most "
        f"{most:.3f}",
    )


@claim(
    "Figure 5, Section 4.1.1",
    "the L0-MPM consistently realizes better performance than the L1-MPM with respect to PSF "
    "analysis in seven datasets, excluding Pima",
    "sizes",
    lesson="At one bound for both, the surrogate does keep fewer features than the l1 norm.",
)
def keeps_fewer(read):
    """L0-MPM keeps fewer features in the mean on all data sets but Pima."""
    return all(ours < theirs for d, (ours, theirs) in sizes(read).items() if d != "pima")


@claim(
    "Figure 5, Section 4.1.1",
    "while the two models have the same PSF results for Pima",
    "sizes",
    lesson="There it keeps fewer, too.",
)
def keeps_as_many_on_pima(read):
    """On Pima both keep equally many features in the mean, to a tenth of one."""
    ours, theirs = sizes(read)["pima"]
    word = "agrees" if abs(ours - theirs) < 0.1 else "differs"
    return Verdict(word, f"{ours:.1f} and {theirs:.1f} of 8, at one bound for both")


def sizes(read):
    """Mean numbers of features of L0-MPM and of L1-MPM, by data set."""
    methods = ("l0mpm", "l1mpm")
    return {d: [mean(read, "n_selected", d, method) for method in methods] for d in REAL}


@claim(
    "Section 5",
    "the L0-MPM, without loss of generalization, suppresses many more features than the L1-MPM",
    lesson="Table 3 prints 89.46 beside 75.26 on WOBC, and 90.89 beside 88.75 on WDBC.",
)
def loses_nothing_to_l1(read=None):
    """By Table 3, the paper's own, L0-MPM loses two points to L1-MPM on no data set."""
    accuracy = own("accuracy")
    return all(accuracy[d, "l1mpm"] - accuracy[d, "l0mpm"] < 2 for d in REAL)


@claim(
    "Section 5",
    "Compared with the original MPM, the proposed L0-MPM improves accuracy by removing irrelevant "
    "features in almost all cases",
    lesson="Table 3 has five gains, of which two are below half a point, and three losses, the "
    "largest of 16 points.",
)
def mostly_more_accurate(read=None):
    """By Table 3, the paper's own, L0-MPM is more accurate than MPM on all eight sets but one."""
    accuracy = own("accuracy")
    return sum(accuracy[d, "l0mpm"] > accuracy[d, "mpm"] for d in REAL) >= len(REAL) - 1


@claim(
    "Section 4.1.1, MPM",
    "our model does not have an adverse effect on generalization",
    lesson="On Pima and WOBC Table 3 prints 8 and 16 points less than for the MPM.",
)
def no_less_accurate(read=None):
    """By Table 3, the paper's own, L0-MPM loses two points to MPM on no data set."""
    accuracy = own("accuracy")
    return all(accuracy[d, "mpm"] - accuracy[d, "l0mpm"] < 2 for d in REAL)


@claim(
    "Section 1",
    "no reports on solving fractional programs effectively",
    "smpm",
    lesson="A ratio of a linear and a convex function is one convex program, once the numerator is "
    "fixed: Charnes and Cooper did so in 1962 for linear ones.",
    proof=True,
)
def no_way_for_fractions(read=None):
    """No convex program has the optimum of S-MPM's fraction.

    `SMPM` solves one, and proves its optimum by duality.
    """
    X, y = make_instance(0)
    from fsnotes import SMPM

    gap = SMPM(lam=0.1, refit=False).fit(X, y).result_.duality_gap
    return Verdict("false" if gap < 1e-6 else "agrees", f"a duality gap of {gap:.0e}")


@claim(
    "Section 4.1.1, MPM",
    "On the WPBC and Sonar datasets, the L0-MPM is superior to the MPM with respect to the TSA "
    "criterion",
)
def more_accurate_on_two(read=None):
    """By Table 3, the paper's own, its accuracies are larger on both."""
    accuracy = own("accuracy")
    return all(accuracy[d, "l0mpm"] > accuracy[d, "mpm"] for d in ("wpbc", "sonar"))


@claim(
    "Section 4.1.1, MPM",
    "the performance of the L0-MPM is not significantly different to that of the MPM on four "
    "datasets (Ionosphere, Spam, WDBC, and Madelon)",
)
def as_accurate_on_four(read=None):
    """By Table 3, the shares of rows that both classify rightly differ at 5 percent on none."""
    return not any(differs(d, "mpm") for d in ("ionosphere", "spambase", "wdbc", "madelon"))


@claim("Section 4.1.1, Tables 6 and 7", "[fewer features and fewer steps than S-MPM]")
def fewer_than_smpm(read=None):
    """By the numbers printed, PSF is smaller on no fewer than two of three sets, steps on all.

    On the third set both print 8.33 percent.
    """
    value = {(p.dataset, p.method): p.value for p in TABLE_6.printed}
    steps = {"ionosphere": 5, "spambase": 8, "sonar": 34}  # of S-MPM
    few = [value[d, soft(d, "l0mpm")] - value[d, "smpm"] for d in steps]
    ours = {p.dataset: p.value for p in TABLE_7.printed}
    return sum(x < 0 for x in few) >= 2 and max(few) <= 0 and all(ours[d] < steps[d] for d in steps)


@claim(
    "Section 4.1.1, MPM",
    "the MPM performs slightly better than our method on the WOBC and Pima datasets",
    lesson="Table 3 prints 91.61 beside 75.26, and 73.80 beside 65.79.",
)
def slightly_better(read=None):
    """By Table 3, the paper's own, both differences are below five points."""
    accuracy = own("accuracy")
    return all(accuracy[d, "mpm"] - accuracy[d, "l0mpm"] < 5 for d in ("wisconsin", "pima"))


@claim(
    "Section 4.1.1, MPM",
    "with respect to the MCC, we find that the L0-MPM is superior to the MPM in six of the eight "
    "datasets",
    lesson="By the numbers as printed, some of which cannot be.",
)
def mcc_above_mpm(read=None):
    """By Table 3, the paper's own, the correlation of L0-MPM is larger on six of eight sets."""
    mcc = own("mcc_percent")
    return sum(mcc[d, "l0mpm"] > mcc[d, "mpm"] for d in REAL) == 6


@claim(
    "Section 4.1.1, L1-MPM",
    "in terms of MCC, we find that the linear L0-MPM is superior to the L1-MPM in six of the eight "
    "datasets",
    lesson="By the numbers as printed, some of which cannot be.",
)
def mcc_above_l1(read=None):
    """By Table 3, the paper's own, the correlation of L0-MPM is larger on six of eight sets."""
    mcc = own("mcc_percent")
    return sum(mcc[d, "l0mpm"] > mcc[d, "l1mpm"] for d in REAL) == 6


@claim(
    "Section 4.1.1, L1-MPM",
    "no significant difference compared with the L0-MPM with respect to TSA analysis in six of the "
    "eight datasets",
    lesson="The printed numbers were made at a bound that cannot be kept; the chapter's tables "
    "compare both at bounds that can.",
)
def as_accurate_as_l1(read=None):
    """By Table 3, the shares of rows that both classify rightly differ at 5 percent on two sets.

    Each share is taken as one of so many rows, tested apart; on the same rows a smaller difference
    would do.
    """
    return sum(differs(d, "l1mpm") for d in REAL) == 2


def differs(dataset, rival):
    """Whether the accuracies that Table 3 prints of L0-MPM and a rival differ, as two parts."""
    accuracy = own("accuracy")
    parts = np.array([accuracy[dataset, "l0mpm"], accuracy[dataset, rival]]) / 100
    error = math.sqrt(2 * parts.mean() * (1 - parts.mean()) / ROWS[dataset])
    return bool(abs(parts[0] - parts[1]) > 1.96 * error)


def spam_counts(read):
    """Mean numbers of features on spambase, a row for each alpha and a column for each bound."""
    return np.array(
        [[mean(read, "n_selected", "spambase", f"spam-{a}-{d}") for d in DELTAS] for a in ALPHAS]
    )


@claim(
    "Section 4, Table 2, Figure 2",
    "the number of selected features generally decreases as the value of alpha increases",
    "spam",
)
def fewer_with_alpha(read):
    """At every bound there are no more at alpha 50 than at 0.1, measured as in Table 2.

    And of all steps from one alpha to the next, three in four go down or stay.
    """
    return beside_table_2(falls_with_alpha, spam_counts(read))


def falls_with_alpha(counts):
    falls = np.diff(counts, axis=0) >= 0
    return bool((counts[0] <= counts[-1]).all() and falls.mean() >= 0.75)


def beside_table_2(rule, measured):
    """The verdict of a rule on measured numbers, and what it is by those of Table 2."""
    texts = {p.method: p.value for p in TABLE_2.printed}
    as_printed = np.array([[texts[f"spam-{a}-{d}"] for d in DELTAS] for a in ALPHAS])
    by_print = word_of(rule(as_printed))
    return Verdict(word_of(rule(measured)), f"by the numbers that Table 2 prints it {by_print}")


@claim(
    "Section 4, Table 2, Figure 2",
    "For small values of delta, fewer features are reported, while as delta increases, the L0-MPM "
    "selects a greater number of features",
    "spam",
)
def more_with_bound(read):
    """At every alpha, numbers rise with the bounds 0.1, 0.3, 0.5 and 0.9 of the largest.

    For 0.7, which not all folds admit, 0.7 of the largest is taken: about as large a bound as 0.5,
    and left out.
    """
    return beside_table_2(rises_with_bound, spam_counts(read))


def rises_with_bound(counts):
    some = np.delete(counts, DELTAS.index("0.7"), axis=1)
    return bool((np.diff(some, axis=1) < 0).all())


@claim(
    "Section 4, Figure 3",
    "produces greater accuracy when alpha is set to a larger value",
    "spam",
)
def accurate_with_alpha(read):
    """On spambase, at 0.9 of the largest bound, alpha 50 is more accurate than alpha 0.1."""
    return gains(read, [("spambase", "spam-50-0.9", "spam-0.1-0.9")])


@claim(
    "Section 4, Figure 4",
    "the accuracy of the L0-MPM increases when delta ranges from 0.1 to 0.9",
    "spam",
)
def accurate_with_bound(read):
    """On spambase, with alpha 5, 0.9 of the largest bound is more accurate than the bound 0.1."""
    return gains(read, [("spambase", "spam-5-0.9", "spam-5-0.1")])


@claim(
    "Section 4.2, lists",
    "the corresponding list of the number of features selected by the L0-MPM and L1-MPM are {9, 7, "
    "11, 12, 8, 11, 12, 10, 11, 10} and {9, 7, 11, 12, 8, 11, 12, 10, 11, 10}, respectively",
    "synthetic",
    lesson="Probably one list, printed twice: the paragraph after says that L0-MPM selects "
    "considerably fewer.",
)
def same_counts(read):
    """In some reading of the data both select equally many features, 7 to 12, in every fold.

    One reading draws the data as the paper prints their distribution, the other with means of 1
    and -1 for all ten features, which may be what is meant.
    """
    found, agrees = [], False
    for d, how in zip(SYNTHETIC, ("as printed", "as may be meant"), strict=True):
        counts = [read(d, method).n_selected for method in ("l1mpm-wide", "l0mpm-wide-10")]
        l1, l0 = (f"{int(c.min())} to {int(c.max())}" for c in counts)
        agrees |= bool((counts[0] == counts[1]).all() and counts[0].min() >= 7)
        found.append(f"{how} {l0} by L0-MPM and {l1} by L1-MPM")
    return Verdict("agrees" if agrees else "differs", ", ".join(found))


@claim(
    "Section 4.2",
    "the L0-MPM formulation is able to discover the most discriminatory features",
    "synthetic",
    lesson="What it selects matters; whether it selects most of what matters is another line.",
)
def finds_the_informative(read):
    """Of what it selects nine in ten features are among the ten that matter, in both readings."""
    found = [read(d, "l0mpm-wide-10").supports for d in SYNTHETIC]
    return all(supports[:, :10].sum() >= 0.9 * supports.sum() for supports in found)


@claim(
    "Section 4.2, after Figure 9",
    "The three formulations identify most of the discriminatory features",
    "synthetic",
    lesson="Where few features are enough for the bound, few are kept.",
)
def finds_most_of_the_informative(read):
    """In some reading L0-MPM selects more than five of the ten that matter, in the mean."""
    means = [read(d, "l0mpm-wide-10").supports[:, :10].sum(axis=1).mean() for d in SYNTHETIC]
    found = f"{means[0]:.1f} of ten with the data as printed, {means[1]:.1f} as they may be meant"
    return Verdict("agrees" if max(means) > 5 else "differs", found)


@claim(
    "Section 4.2, Figure 8",
    "the L0-MPM reports greater accuracy as the value of alpha increases",
    "synthetic",
)
def accurate_with_alpha_when_wide(read):
    """With alpha 50 L0-MPM is more accurate than with alpha 0.1, in both readings."""
    return gains(read, [(d, "l0mpm-wide-50", "l0mpm-wide-0.1") for d in SYNTHETIC])


@claim(
    "Section 4.2",
    "as the value of delta increases the formulation reports more discriminatory features",
    "synthetic",
)
def informative_with_bound(read):
    """The number of the first ten features selected grows with the bound, and never falls.

    As the data may be meant; as their distribution is printed the number must not fall.
    """
    methods = [f"l0mpm-wide-10-{delta}" for delta in reversed(DELTAS[1:])] + ["l0mpm-wide-10"]
    counts = np.array([[read(d, m).supports[:, :10].sum() for m in methods] for d in SYNTHETIC])
    never_falls = (np.diff(counts) >= 0).all()
    return bool(never_falls and (counts[:, -1] > counts[:, 0]).any())


@claim(
    "Theorem 1",
    "generates a sequence {x^k} such that g(x^k) - h(x^k) decreases monotonously",
    "rate",
    lesson="It does, by a theorem: each fall pays for the length of its step.",
)
def descends(read=None):
    """On ten instances the recorded objective of the published steps never rises."""
    from fsnotes import L0MPM

    histories = []
    for seed in range(10):
        X, y = make_instance(seed)
        with collecting():  # of bounds that are 1
            steps = L0MPM(**PUBLISHED, scale=False).fit(X, y).result_.steps
        histories.append(np.array([step.objective for step in steps]))
    return all((np.diff(values) <= 1e-9 * abs(values[:-1])).all() for values in histories)


@claim(
    "Section 2.2, Theorem 1",
    "DCA converges linearly for general DC programs",
    "rate",
    lesson="On the data sets it does. On a constructed instance, whose end lies on the edge of "
    "what is feasible and whose alpha is just so, errors fall like one over the root of the number "
    "of steps: do not stop by the size of a step alone.",
    proof=True,
)
def converges_linearly(read=None):
    """On an instance with two features, the ratio of successive errors stays away from 1.

    The steps are known in closed form there, and a theorem says that the ratio tends to 1: it is
    computed for ten thousand steps.
    """
    kappa = 1.2
    c = 0.5
    for _ in range(10_000):
        slope = math.tanh(math.sqrt(2) * kappa * c)
        last = c
        c = slope / math.sqrt(2 * kappa**2 - (4 - 2 * kappa**2) * slope**2)
    return Verdict("false" if c / last > 0.999 else "agrees", f"the ratio is {c / last:.5f}")


@claim(
    "Section 3.2",
    "the solution of the Eq.(48-52) can be reached by solving Eq.(54-58)",
    "exactness",
    lesson="The surrogate counts a small weight as a part of a point, and what is small depends on "
    "the kernel's values: for another alpha, multiply these by alpha / 5. Where they are at most "
    "1, as those of a Gaussian, weights are not small, and such an example is not known.",
    proof=True,
)
def surrogate_is_exact(read=None):
    """The surrogate's least sum is that of the machine with the fewest points.

    On 81 given points, with a linear kernel: one keeps the bound 0.9 alone, with a weight of 10,
    and no other does. Two others keep it together with weights of 0.005, and alpha is 5.
    """
    alone, both = sums_of_two_for_one()
    found = f"counted as {alone:.3f} points is the one, as {both:.3f} the two"
    return Verdict("agrees" if alone <= both else "false", found)


def sums_of_two_for_one(alpha=5, standoff=3.0):
    """Of kernel machines with a standoff, the surrogate's least sum with one point.

    And its sum for a machine with two points. All points but the first are in pairs, whose second
    coordinates say nothing and cancel.
    """
    pairs = np.tile([[10.0, 30.0], [10.0, -30.0]], (20, 1))
    positive, negative = np.vstack([[[0.01, 0.0]], pairs]), -pairs
    points = np.vstack([positive, negative])
    columns = positive @ points.T, negative @ points.T

    def size(weights):
        """The least multiple of the weights that keeps the bound, or infinity."""
        first, second = (part @ weights for part in columns)
        distance = abs(first.mean() - second.mean())
        spreads = standoff * np.array([first.std(), second.std()])
        if distance < spreads.sum():
            return np.inf
        return max(2 / distance, *(1 / (distance - spreads)))

    def counted(weights):
        found = size(weights)
        return np.inf if np.isinf(found) else (1 - np.exp(-alpha * found * abs(weights))).sum()

    units = np.eye(len(points))
    return min(map(counted, units)), counted(units[1] + units[2])


@claim(
    "Section 4.1.1, S-MPM",
    "the performances of the two models are similar on all three datasets",
    lesson="On spam Table 5 prints 79.00 beside 67.08.",
)
def like_smpm(read=None):
    """The printed accuracies of both differ by two points at most."""
    ours = {
        p.dataset: p.value
        for p in TABLE_3.printed
        if p.method.startswith("l0mpm") and p.measure == "accuracy"
    }
    return all(
        abs(p.value - ours[p.dataset]) <= 2 for p in TABLE_5.printed if p.measure == "accuracy"
    )


def table_3_ranks():
    """By data set, the ranks of the accuracies that Table 3 prints, in the order of `RANKS`."""
    accuracy = {(p.dataset, p.method): p.value for p in TABLE_3.printed if p.measure == "accuracy"}
    rows = {d: [accuracy[d, soft(d, m)] for m in ("mpm", "l1mpm", "l0mpm")] for d in REAL}
    places = {d: np.argsort(np.argsort(-np.array(row))) for d, row in rows.items()}
    ranks = {d: tuple((place + 1).tolist()) for d, place in places.items()}
    return ranks | {"synthetic": RANKS["synthetic"]}


@claim("Table 4", "[the ranks are those of the accuracies of Table 3]", "ranks")
def ranks_follow_accuracies(read=None):
    """The rows of Table 4 order the accuracies of Table 3."""
    right = table_3_ranks()
    wrong = [d for d in REAL if right[d] != RANKS[d]]
    if not wrong:
        return True
    return Verdict(
        "misprint",
        "; ".join(f"{d}: printed {RANKS[d]}, by Table 3 {right[d]}" for d in wrong),
    )


@claim("Table 4", "Average rank 1.83 2.0 1.72", "ranks")
def mean_ranks(read=None):
    """The means of the columns of Table 4 are those printed below them, to two digits."""
    found = np.mean(list(RANKS.values()), axis=0)
    if (abs(found - MEAN_RANKS) <= 0.005 + 1e-9).all():
        return True
    mended = np.mean(list(table_3_ranks().values()), axis=0)
    return Verdict(
        "misprint",
        f"the columns have the means {found.round(2).tolist()}; with the ranks that follow from "
        f"Table 3, {mended.round(2).tolist()}",
    )


@claim(
    "Section 4.1.1, Table 4",
    "the average rank of the L0-MPM is lower than that of the MPM and L1-MPM",
    "ranks",
    lesson="By the averages as printed and by the ranks of Table 3 it is; by the rows of Table 4 "
    "as printed, L1-MPM's is. A lead of a sixth of a rank over nine sets often comes by chance.",
)
def lowest_rank(read=None):
    """By the accuracies of Table 3, which Table 4 ranks wrongly on Pima, L0-MPM's is lowest."""
    return bool(np.mean(list(table_3_ranks().values()), axis=0).argmin() == 2)


MISPRINTS = misprints(
    PAPER,
    r"""
    (37), (38) [slips]
        g and h are functions of (w, b), and so give the offset a price
        -> of w alone, as in (40) and (42)
    Section 1 [slips]
        the classifier is sgn(w'x - b), then sgn(w'x + b)
        -> sgn(w'x - b), as the constraints have it
    Table 1
        Pima has 568 rows
        -> 768
    Section 4.1.1, L1-MPM
        the L0-norm MPM does not differ from the L0-MPM
        -> the L1-norm MPM
    Table 6, spam, L0-MPM
        7.02 percent, which are 4.0 of 57 features
        -> 3.7 features in Table 2, with the same alpha and bound; one of them is wrong
    (9) [duality]
        the subgradients of h lie among those of g, which are not empty
        -> those of h are not empty
    After (10) [duality]
        the solutions of the dual step are the subgradients of h at the last point
        -> at the new point
    (53), (54) [kernel-program]
        the sum over points runs to n, the number of features
        -> to m, the number of rows
    Section 4.2, after Figure 9 [synthetic]
        L0-MPM considerably reduces the number of features, and selects more features
        -> one of both at most; by the printed lists, as many as the L1-MPM
    Section 4.2, before the lists [synthetic]
        from 55 to 90 percent of 1000 features are suppressed
        -> 98.8 percent and more, with 7 to 12 selected
    Table 1
        the synthetic data have 15 rows
        -> 50, as Section 4.2 says
    """,
)

COVERED = covered(
    PAPER,
    """
    (1), (2) [problem]
        the zero norm under the constraints of a classifier
    Section 1, "resulting in an NP-hard optimization in general" [problem]
        known of the zero norm under linear constraints; cited
    Figure 1 [problem]
        the surrogate beside the norms that it lies between
    (3)-(5) [mpm]
        the minimax probability machine, and the probability that it yields for each class
    (6) [duality]
        differences of convex functions
    (7), (8) [duality]
        the dual program and critical points
    (10), (11) [duality]
        the step, the simplified scheme, and the first and the third property of DCA
    (12)-(15) [mpm]
        the L1-MPM
    (16)-(19) [problem]
        the L0-MPM
    Lemma 1, (20) [mpm]
        the one-sided bound
    (21)-(23) [problem]
        two constraints, the second of which fixes the length of the weights
    (24)-(28) [problem]
        the program with cones
    (29)-(36) [problem]
        the surrogate, and the program with it
    (37)-(39) [problem]
        its two convex parts
    (40)-(46) [problem]
        the gradient, and the step as a cone program
    Algorithm 1 [problem]
        the loop, and what its fourth step leaves open
    (47)-(52) [kernel-program]
        the machine in the columns of a kernel
    (55)-(58) [kernel-program]
        its program with the surrogate
    (59), (60)
        accuracy and Matthews correlation
    Section 4.2, "46.78 to 86.67%", and the MPM's list {937, 930, ...} [synthetic]
        over which settings the accuracies range is not said, nor from what size on the MPM's
        weights count
    Section 4.1.1, L1-MPM, "percentage of suppressed features by our method varying from 3 to 20%"
        either the features selected, or those suppressed beyond the L1-MPM's: it is not said
    Table 1, Ionosphere, 350 rows
        the file has 351, two of them equal
    Section 3, "can be extended to general positive semi-definite cases" [rate]
        what changes if a covariance is singular
    Figure 9 [synthetic]
        accuracy and features on the synthetic data, in a table
    Section 5, "each DC decomposition corresponds to a different version of DCA" [decompositions]
        another decomposition, in an exercise
    Section 5, "multi-class problems can be easily approached via standard techniques"
        scikit-learn's OneVsRestClassifier takes the machine; nothing more is shown
    """,
)


CHAPTER = Chapter(
    "dc",
    papers={PAPER: "Yang and Ju (2014)"},
    datasets=(
        *(
            Dataset(name, label=f"{name}, {SAMPLED} rows", rows=SAMPLED)
            if ROWS[name] == SAMPLED
            else name
            for name in REAL
        ),
        *(
            Dataset(
                f"moments-{law}",
                partial(make_moments, 1000, law=law),
                label=f"1000 synthetic features, as {law}",
                rows=50,
            )
            for law in ("printed", "meant")
        ),
    ),
    methods=METHODS,
    protocol=PROTOCOL,
    tables=(TABLE_2, TABLE_3, TABLE_5, TABLE_6, TABLE_7, *WIDE, FIGURE_5, ABLATION),
    claims=(*claim, *MISPRINTS, *COVERED),
)
