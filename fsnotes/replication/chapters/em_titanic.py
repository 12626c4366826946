"""The kernel machines of Huang, King and Lyu (2008) on Titanic, in Table 3."""

from fsnotes.replication.declare import Chapter, Claims, Printed, Protocol, Table
from fsnotes.replication.estimators.em import kernel_machines
from fsnotes.replication.rules import difference, is_above, is_no_less, together

PAPER = "huang2008"
claim = Claims(PAPER)
PROTOCOL = Protocol(repeats=1, folds=10, inner=3, seed=2008)
METHODS = kernel_machines([0.01, 0.1, 1.0, 10.0], [0.01, 0.05, 0.25])


@claim("Table 3", "On Titanic the zero-norm machine keeps fewer points than SVM and RVM")
def keeps_fewest_of_titanic(read):
    """It keeps significantly fewer distinct points than SVM and RVM; false if more than one."""
    more = (difference(read, "titanic", other, "em", "n_distinct") for other in ("svm", "rvm"))
    return together(is_above(found) for found in more)


@claim("Table 3", "On Titanic it is as accurate as the SVM")
def keeps_accuracy_on_titanic(read):
    """By the interval of the difference, it is less accurate than the SVM by one point at most."""
    return is_no_less(difference(read, "titanic", "em", "svm"))


CHAPTER = Chapter(
    "em_titanic",
    papers={PAPER: "Huang, King and Lyu (2008)"},
    datasets=("titanic",),
    methods=METHODS,
    protocol=PROTOCOL,
    tables=(
        Table(
            "table3",
            source=PAPER,
            place="Table 3",
            title="Accuracy and points kept of three kernel machines, on Titanic, whose duplicates "
            "count as often as they occur",
            printed=(
                Printed("titanic", "em", "accuracy", "78.82"),
                Printed("titanic", "svm", "accuracy", "78.86"),
                Printed("titanic", "rvm", "accuracy", "77.81"),
                Printed("titanic", "em", "n_rows", "256.70"),
                Printed("titanic", "svm", "n_rows", "1981.00"),
                Printed("titanic", "rvm", "n_rows", "1768.92"),
            ),
            beside={"refitted": {"em": "refitted"}},
        ),
        Table(
            "counts",
            source=PAPER,
            place="Table 3",
            title="What can be counted: distinct points, and training rows that are equal to one",
            reads=tuple(("titanic", method) for method in METHODS),
        ),
    ),
    claims=tuple(claim),
)
