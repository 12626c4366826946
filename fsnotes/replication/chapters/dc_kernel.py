"""The kernel machines of Yang and Ju (2014), whose widths inner folds choose."""

from fsnotes.core.surrogates import L1
from fsnotes.replication.declare import Chapter, Claims, Dataset, Method, Protocol, Table
from fsnotes.replication.rules import compare_accuracies, mean

PAPER = "yang2014"
claim = Claims(PAPER)
SUPERIOR = (
    "the nonlinear L0-MPM is superior to the nonlinear L1-MPM and MPM in both generalization and "
    "feature selection ability on all four datasets"
)
PUBLISHED = {"prune": False, "refit": False}  # the machine of the problem itself
SAMPLED = 200  # rows of madelon in the paper
PROTOCOL = Protocol(repeats=2, folds=10, inner=3, seed=2013)
DATASETS = ("ionosphere", "sonar", "wdbc", "madelon")  # of Figures 6 and 7
# sigma = 2^i for i from 3 to -3, the widest first, in units of standardised columns
GRID = {"gamma": [0.5 / 4.0**i for i in range(3, -4, -1)]}
REDUCED = (
    "two repeats; no ridge is printed, and with ours a bound of 0.9 may be out of reach: 0.9 of "
    "the largest is asked for; widths are chosen by inner folds, and how the paper chose them is "
    f"not printed; which {SAMPLED} rows of madelon the paper has is not known"
)
METHODS = {
    "mpm": Method("fsnotes.KernelMPM", grid=GRID, paper="MPM"),
    "l1mpm": Method("fsnotes.KernelL0MPM", PUBLISHED | {"surrogate": L1()}, GRID, paper="L1-MPM"),
    "l0mpm": Method("fsnotes.KernelL0MPM", PUBLISHED, GRID, paper="L0-MPM"),
}


def table(number, title):
    """A figure of the paper, from whose bars no numbers can be read."""
    reads = tuple((dataset, method) for dataset in DATASETS for method in METHODS)
    return Table(
        f"figure{number}",
        source=PAPER,
        place=f"Figure {number}",
        title=title,
        reads=reads,
        reduced=REDUCED,
    )


@claim("Section 4.1.2, Figure 6", SUPERIOR)
def is_most_accurate(read):
    """Of generalization: on every data set L0-MPM is more accurate than both, in the mean.

    Undecided where it is not, but nowhere significantly less accurate, by Holm.
    """
    found = []
    for dataset in DATASETS:
        found += compare_accuracies(read, dataset, METHODS, against="l0mpm")
    if any(pair.is_different and pair.comparison.value < 0 for pair in found):
        return False
    # of L0-MPM less another one
    return True if all(pair.comparison.value > 0 for pair in found) else None


@claim("Section 4.1.2, Figure 7", SUPERIOR)
def keeps_fewest(read):
    """Of selection: on every data set L0-MPM keeps fewer training points than both, in the mean."""
    kept = [[mean(read, "n_kept", d, m) for m in METHODS] for d in DATASETS]
    return all(ours < min(every, some) for every, some, ours in kept)


CHAPTER = Chapter(
    "dc_kernel",
    papers={PAPER: "Yang and Ju (2014)"},
    datasets=tuple(
        Dataset(name, label=f"{name}, {SAMPLED} rows", rows=SAMPLED) if name == "madelon" else name
        for name in DATASETS
    ),
    methods=METHODS,
    protocol=PROTOCOL,
    tables=(
        table(6, "Accuracy of three kernel machines"),
        table(7, "Training points that they keep"),
    ),
    claims=tuple(claim),
)
