"""Rules by which claims are judged: yes, no, or None where the results cannot tell.

And what the numbers of a printed table have to obey, whatever the method.

``read(dataset, method)`` returns a `Cell`, as in the checks of claims.
"""

import numpy as np

from fsnotes.metrics import compare_paired, mcc_ceiling
from fsnotes.replication.judge import ALPHA, compare, holm


def together(answers):
    """False where one answer is, True where all are, else None."""
    answers = list(answers)
    return False if False in answers else None if None in answers else True


def word_of(answer):
    """What a yes, a no, and neither are called."""
    return {True: "agrees", False: "differs", None: "undecided"}[answer]


def signed(value):
    """A difference in points, as readers see it."""
    return f"{value:+.1f}".replace("-", "\u2212")


def effect(comparison):
    """A difference in points, with its interval."""
    low, high = signed(comparison.low), signed(comparison.high)
    return f"{signed(comparison.value)} ({low} to {high})"


def mean(read, measure, dataset, method):
    """What the measured column of a table shows."""
    return read(dataset, method).estimate(measure).value


def difference(read, dataset, first, second, measure="accuracy"):
    """What one method has more than another over the same splits, with its interval."""
    cells = read(dataset, first), read(dataset, second)
    scores = [cell.scores(measure) for cell in cells]
    return compare_paired(*scores, test_fraction=cells[0].test_fraction)


def is_above(comparison):
    """Whether a difference is positive; None where its interval holds zero."""
    return None if comparison.low <= 0 <= comparison.high else bool(comparison.low > 0)


def is_no_less(comparison, margin=1):
    """Whether a difference is above minus a margin; None where its interval holds that."""
    if comparison.low < -margin <= comparison.high:
        return None
    return bool(comparison.low >= -margin)


def signs_of(comparisons):
    """1 where a difference is above 0 at 5 percent after Holm over all, -1 below, else 0."""
    comparisons = list(comparisons)
    adjusted = holm([comparison.p_value for comparison in comparisons])
    return [
        int(np.sign(comparison.value)) if p_value <= ALPHA else 0
        for comparison, p_value in zip(comparisons, adjusted, strict=True)
    ]


def signs(read, pairs):
    """1 where the first of (data set, method, other method) is more accurate, -1 where less.

    A difference counts if it is significant by Holm over all pairs; others give 0.
    """
    return signs_of(difference(read, *pair) for pair in pairs)


def is_positive(signs):
    """Whether there are more wins than losses; None if equally many."""
    return None if sum(signs) == 0 else sum(signs) > 0


def wins_more_often(read, pairs):
    """Whether the first is significantly better more often than worse; None if equally often."""
    return is_positive(signs(read, pairs))


def compare_accuracies(read, dataset, methods, against=None):
    """Differences between some methods on one data set, as `compare` returns them."""
    cells = {method: read(dataset, method) for method in methods}
    scores = {method: cell.scores("accuracy") for method, cell in cells.items()}
    fraction = next(iter(cells.values())).test_fraction
    return compare(scores, test_fraction=fraction, against=against)


def mcc_spread(accuracy, mcc):
    """Least spread of accuracies over folds that a mean Matthews correlation takes.

    It is a standard deviation: 0 up to the `mcc_ceiling`, and infinite beyond the accuracy.

    Parameters
    ----------
    accuracy, mcc : float, means over folds of two classes

    Notes
    -----
    In a fold with a fraction u of errors the coefficient m is at most ``(1 - u) / (1 + u)``, so
    that ``(1 - m) / 2 >= u / (1 + u)``. By the inequality of Cauchy and Schwarz the mean e of u
    obeys ``e^2 <= mean(u / (1 + u)) mean(u (1 + u))``, which bounds the variance of u from below by
    ``2 e^2 / (1 - m) - e - e^2``. Folds without errors, or with one fraction of them, reach it.

    Examples
    --------
    >>> from fsnotes.replication.rules import mcc_spread
    >>> round(mcc_spread(0.75, 2 / 3), 2), mcc_spread(0.75, 0.6), mcc_spread(0.75, 0.76)
    (0.25, 0.0, inf)
    """
    if not -1 <= mcc <= 1:
        raise ValueError(f"mcc={mcc} is not allowed; pass fractions from -1 to 1, percent / 100")
    if mcc <= mcc_ceiling(accuracy):
        return 0.0
    if mcc > accuracy:
        return np.inf
    errors = 1 - accuracy
    return float(np.sqrt(max(2 * errors**2 / (1 - mcc) - errors - errors**2, 0)))
