"""The kernel machines of Huang, King and Lyu (2008) on twonorm, in Table 3."""

import numpy as np

from fsnotes.experiments.declare import Chapter, Claim, Dataset, Method, Printed, Protocol, Table
from fsnotes.experiments.em import PAPER
from fsnotes.generators import make_twonorm

LINK = "em.html#em-fewer-points"
BASIS = 800  # candidate points of the sparse machines
PRICES = [0.1, 1.0, 10.0]


def machines(prices, widths, basis=None):
    """The three machines of the table, and the first with its refit, at equal numbers of settings.

    RVM has no price, and chooses among as many widths of a finer row.
    """
    grid = {"C": prices, "gamma": widths}
    count = len(prices) * len(widths)
    finer = [float(f"{width:.3g}") for width in np.geomspace(widths[0], widths[-1], count)]
    return {
        "em": Method(
            "fsnotes.SparseKernelSVM", {"basis": basis, "refit": False}, grid, paper="zero-norm"
        ),
        "refitted": Method(
            "fsnotes.SparseKernelSVM", {"basis": basis}, grid, paper="zero-norm, refitted"
        ),
        "svm": Method("sklearn.svm.SVC", {}, grid, scaled=True, paper="SVM"),
        "rvm": Method("fsnotes.RVM", {"basis": basis}, {"gamma": finer}, paper="RVM"),
    }


METHODS = machines(PRICES, [0.01, 0.05], BASIS)
del METHODS["refitted"]  # which keeps the same points


def count(read, dataset, method):
    """Mean number of distinct points that a machine keeps."""
    return read(dataset, method).estimate("n_distinct").value


def keeps_fewest(read, dataset):
    """Whether the zero-norm machine keeps the fewest distinct points in the mean."""
    return all(count(read, dataset, "em") < count(read, dataset, other) for other in ("svm", "rvm"))


def keeps_fewest_of_twonorm(read):
    """It keeps fewer distinct points than SVM and RVM, in the mean."""
    return keeps_fewest(read, "twonorm")


CHAPTER = Chapter(
    "em_kernel",
    papers={PAPER: "Huang, King and Lyu (2008)"},
    datasets=(Dataset("twonorm", make=make_twonorm),),
    methods=METHODS,
    protocol=Protocol(repeats=1, folds=5, inner=3, seed=2008),
    tables=(
        Table(
            "table3",
            source=PAPER,
            place="Table 3",
            title="Accuracy and points kept of three kernel machines, on twonorm",
            printed=(
                Printed("twonorm", "em", "accuracy", "97.81"),
                Printed("twonorm", "svm", "accuracy", "97.70"),
                Printed("twonorm", "rvm", "accuracy", "97.47"),
                Printed("twonorm", "em", "n_kept", "16.60"),
                Printed("twonorm", "svm", "n_kept", "537.40"),
                Printed("twonorm", "rvm", "n_kept", "39.20"),
            ),
            reduced=f"the sparse machines choose among {BASIS} candidate points",
        ),
    ),
    claims=(
        Claim(
            PAPER,
            "Table 3",
            "On twonorm the zero-norm machine keeps fewer points than SVM and RVM",
            keeps_fewest_of_twonorm,
            LINK,
        ),
    ),
    link=LINK,
)
