"""The kernel machines of Huang, King and Lyu (2008) on twonorm, in Table 3."""

from fsnotes.data.generators import make_twonorm
from fsnotes.replication.declare import Chapter, Claims, Dataset, Printed, Protocol, Table
from fsnotes.replication.estimators.em import kernel_machines
from fsnotes.replication.judge import Verdict
from fsnotes.replication.rules import difference, is_above, is_no_less, mean, word_of

PAPER = "huang2008"
claim = Claims(PAPER)
FEWER_THAN_SVM = "our proposed zero-norm algorithm can significantly reduce the number of SVs"
FEWER_THAN_RVM = "When compared with RVM, we also observe a much smaller number of SVs"
GRID_UNKNOWN = (
    "how many points are kept depends on C and sigma more than accuracy does, and the values among "
    "which the paper chose are not printed"
)
BASIS = 800  # candidate points of the sparse machines
PROTOCOL = Protocol(repeats=1, folds=5, inner=3, seed=2008)


METHODS = kernel_machines([0.1, 1.0, 10.0], [0.01, 0.05], BASIS)
del METHODS["refitted"]  # which keeps the same points


@claim("Section 3.2.3, twonorm", FEWER_THAN_SVM)
def keeps_fewer_of_twonorm_than_svm(read):
    """It keeps significantly fewer distinct points than the SVM."""
    return has_fewer(read, "twonorm", "em", "svm", "n_distinct")


@claim("Section 3.2.3, twonorm", FEWER_THAN_RVM)
def keeps_fewer_of_twonorm_than_rvm(read):
    """It keeps significantly fewer distinct points than the RVM."""
    return has_fewer(read, "twonorm", "em", "rvm", "n_distinct")


def has_fewer(read, dataset, ours, rival, measure):
    """The verdict on having fewer than a rival, with both numbers."""
    answer = is_above(difference(read, dataset, rival, ours, measure))
    means = [mean(read, measure, dataset, method) for method in (ours, rival)]
    return Verdict(word_of(answer), "{:.1f} beside {:.1f}".format(*means))


@claim("Section 3.2.3, twonorm", "while maintaining the accuracy")
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
                Printed("twonorm", "em", "n_kept", "16.60", GRID_UNKNOWN),
                Printed("twonorm", "svm", "n_kept", "537.40", GRID_UNKNOWN),
                Printed("twonorm", "rvm", "n_kept", "39.20", GRID_UNKNOWN),
            ),
            reduced=f"the sparse machines choose among {BASIS} candidate points; the values of C "
            "and sigma are not printed",
            repeats=1,
        ),
    ),
    claims=tuple(claim),
)
