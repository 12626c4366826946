"""The kernel machines of Huang, King and Lyu (2008) on twonorm, in Table 3."""

from fsnotes.data.generators import make_twonorm
from fsnotes.replication.declare import Chapter, Claims, Dataset, Printed, Protocol, Table
from fsnotes.replication.estimators.em import kernel_machines
from fsnotes.replication.rules import difference, is_above, is_no_less, together

PAPER = "huang2008"
claim = Claims(PAPER)
BASIS = 800  # candidate points of the sparse machines
PROTOCOL = Protocol(repeats=1, folds=5, inner=3, seed=2008)


METHODS = kernel_machines([0.1, 1.0, 10.0], [0.01, 0.05], BASIS)
del METHODS["refitted"]  # which keeps the same points


@claim("Table 3", "On twonorm the zero-norm machine keeps fewer points than SVM and RVM")
def keeps_fewest_of_twonorm(read):
    """It keeps significantly fewer distinct points than SVM and RVM; false if more than one."""
    more = (difference(read, "twonorm", other, "em", "n_distinct") for other in ("svm", "rvm"))
    return together(is_above(found) for found in more)


@claim("Table 3", "On twonorm it is as accurate as the SVM")
def keeps_accuracy_on_twonorm(read):
    """By the interval of the difference, it is less accurate than the SVM by one point at most."""
    return is_no_less(difference(read, "twonorm", "em", "svm"))


CHAPTER = Chapter(
    "em_kernel",
    papers={PAPER: "Huang, King and Lyu (2008)"},
    datasets=(Dataset("twonorm", make=make_twonorm),),
    methods=METHODS,
    protocol=PROTOCOL,
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
    claims=tuple(claim),
)
