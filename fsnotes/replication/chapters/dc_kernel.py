"""The kernel machines of Yang and Ju (2014), whose widths inner folds choose."""

from fsnotes.core.surrogates import L1
from fsnotes.replication.declare import Chapter, Claims, Dataset, Method, Protocol, Table
from fsnotes.replication.judge import ALPHA
from fsnotes.replication.rules import compare_accuracies, mean

PAPER = "yang2014"
claim = Claims(PAPER)
PUBLISHED = {"prune": False, "refit": False}  # the machine of the problem itself
SAMPLED = 200  # rows of madelon in the paper
PROTOCOL = Protocol(repeats=2, folds=10, inner=3, seed=2013)
DATASETS = ("ionosphere", "sonar", "wdbc", "madelon")  # of Figures 6 and 7
# sigma = 2^i for i from 3 to -3, the widest first, in units of standardised columns
GRID = {"gamma": [0.5 / 4.0**i for i in range(3, -4, -1)]}
METHODS = {
    "mpm": Method("fsnotes.KernelMPM", grid=GRID, paper="MPM"),
    "l1mpm": Method("fsnotes.KernelL0MPM", PUBLISHED | {"surrogate": L1()}, GRID, paper="L1-MPM"),
    "l0mpm": Method("fsnotes.KernelL0MPM", PUBLISHED, GRID, paper="L0-MPM"),
}


def table(number, title):
    """A figure of the paper, from whose bars no numbers can be read."""
    reads = tuple((dataset, method) for dataset in DATASETS for method in METHODS)
    return Table(
        f"figure{number}", source=PAPER, place=f"Figure {number}", title=title, reads=reads
    )


@claim("Figure 6", "The kernel L0-MPM is the most accurate on four data sets")
def is_most_accurate(read):
    """On every data set L0-MPM is more accurate than both, significantly, with Holm's correction.

    False where it is significantly less accurate somewhere.
    """
    found = []
    for dataset in DATASETS:
        found += compare_accuracies(read, dataset, METHODS, against="l0mpm")
    if any(pair.p_adjusted <= ALPHA and pair.comparison.value < 0 for pair in found):
        return False
    return True if all(pair.is_different for pair in found) else None


@claim("Figure 7", "The kernel L0-MPM keeps the fewest points on four data sets")
def keeps_fewest(read):
    """On every data set L0-MPM keeps fewer training points than L1-MPM and MPM, in the mean."""
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
