"""Verdicts by rule: on a printed value, and on differences between methods."""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fsnotes.core.validation import check_reals, shown
from fsnotes.metrics import Estimate, compare_paired
from fsnotes.replication.declare import ExperimentError

WORDS = (
    "agrees",
    "differs",
    "false",
    "infeasible",
    "impossible",
    "misprint",
    "undecided",
    "not comparable",
    "not run",
    "not available",
    "stale",
)
ALPHA = 0.05
# Of a hundred numbers that a faithful replication prints, one is called different.
LEVEL = 0.99


class Verdict(NamedTuple):
    """One of `WORDS`, and the reason where the word does not say it all."""

    word: str
    reason: str = ""


def replication_interval(means, again):
    """Where the mean of a replication lies: the same data and protocol, and other splits.

    Repeats of a protocol differ by their splits alone. So do the means of two replications, and
    their difference has the variance ``s^2 (1 / R + 1 / R')``, with the variance s^2 of R repeats
    of ours and R' repeats of the other.

    Parameters
    ----------
    means : array-like of shape (R,)
        Of the repeats.
    again : int
        R', of the replication.

    Returns
    -------
    fsnotes.metrics.Estimate
        At 99 percent.
    """
    from scipy.special import stdtrit

    offsets = np.asarray(means, dtype=float) - means[0]
    value = float(means[0] + offsets.mean())
    error = float(offsets.std(ddof=1) * np.sqrt(1 / len(offsets) + 1 / again))
    half = float(stdtrit(len(offsets) - 1, (1 + LEVEL) / 2)) * error
    return Estimate(value, error, value - half, value + half)


def verdict(entry, estimate, *, state="", rivals=()):
    """Judge a printed value.

    It agrees if its rounding interval meets the interval in which a replication would lie. How far
    a mean is from that of new data is another question, and no reason to call a number different
    or the same.

    Parameters
    ----------
    entry : Printed
    estimate : fsnotes.metrics.Estimate or None
        What we measure, in the units printed, with its `replication_interval`; None where there is
        no result.
    state : {"", "not run", "not available", "stale"}
        Why there is none, or why it is not to be trusted.
    rivals : sequence of (str, Printed)
        Other places where the paper prints the same quantity, each with its place.

    Returns
    -------
    Verdict
        "impossible", if the entry's proof finds a reason; "infeasible" or "not comparable", if it
        has a reason to be; the state, if there is one; "misprint", if it contradicts a rival that
        agrees (if both agree, each gets the word, since one of them is wrong), or if it is a
        percentage of one digit before the point that agrees with one digit more; else "agrees" or
        "differs".
    """
    if entry.proof is not None and (reason := entry.proof(entry.value)):
        return Verdict("impossible", reason)
    if entry.infeasible:
        return Verdict("infeasible", entry.infeasible)
    if entry.incomparable:
        return Verdict("not comparable", entry.incomparable)
    if state or estimate is None:
        return Verdict(state or "not run")
    if not np.isfinite([entry.value, estimate.low, estimate.high]).all():
        return Verdict("not comparable", "a number is missing")
    agrees = is_within(entry.text, estimate)
    against = [(place, other) for place, other in rivals if contradicts(entry, other)]
    said = "; ".join(f"{place} prints {other.text}" for place, other in against)
    if any(is_within(other.text, estimate) for _, other in against):
        return Verdict("misprint", f"{said}, one of them is wrong" if agrees else said)
    whole = restore_digit(entry.text, estimate) if entry.measure == "accuracy" else []
    if whole and not agrees:
        return Verdict("misprint", f"a digit may be missing: {' or '.join(whole)} would agree")
    return Verdict("agrees" if agrees else "differs", said)


def half_unit(text):
    """Half a unit of the last digit of a number as written."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def is_within(text, estimate):
    """Whether a number, as far as its digits tell, may lie in the interval."""
    low, high = float(text) - half_unit(text), float(text) + half_unit(text)
    slack = 1e-9 * max(1, abs(high))
    return bool(low <= estimate.high + slack and high >= estimate.low - slack)


def contradicts(entry, other):
    """Whether no number rounds to both; one on the edge of both does not count."""
    units = half_unit(entry.text) + half_unit(other.text)
    return abs(entry.value - other.value) >= units * (1 - 1e-9)


def restore_digit(text, estimate):
    """A percentage of one digit before the point, with one more digit that makes it agree."""
    whole, _, digits = text.partition(".")
    if len(whole) != 1 or not digits:
        return []
    longer = [f"{digit}{text}" for digit in range(1, 10)]
    longer += [f"{text[0]}{digit}{text[1:]}" for digit in range(10)]
    fitting = {t for t in longer if t[0] != "0" and is_within(t, estimate)}
    return sorted(fitting, key=float)


def holm(p_values):
    """Adjust p values of several tests, so that any false alarm is as rare as asked.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)

    Returns
    -------
    ndarray of shape (n_tests,)
        Reject where these are at most the family-wise level, whatever the tests' dependence.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 65-70, 1979.

    Examples
    --------
    >>> from fsnotes.replication import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = check_reals("p_values", p_values, 0, most=1)
    if p_values.ndim != 1:
        raise ValueError(f"p_values has shape {p_values.shape}; pass a list of numbers")
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


class Difference(NamedTuple):
    """Two methods, the estimate of their mean difference, and its p value after `holm`."""

    first: str
    second: str
    comparison: object
    p_adjusted: float

    @property
    def is_different(self):
        return self.p_adjusted <= ALPHA


def compare(scores, *, test_fraction, against=None):
    """Compare methods pair by pair on the same splits, with Holm's correction over the pairs.

    Parameters
    ----------
    scores : dict of str to array-like of shape (J,)
    test_fraction : float
    against : str, optional
        Compare only with this method; by default every pair.

    Returns
    -------
    list of Difference
    """
    if not isinstance(scores, Mapping):
        raise ExperimentError(f"scores={shown(scores)}; pass a dict of scores by method")
    pairs = list(itertools.combinations(scores, 2))
    if against is not None:
        pairs = [(against, name) for name in scores if name != against]
    if not pairs or (against is not None and against not in list(scores)):
        raise ExperimentError(f"methods {list(scores)}, against={against!r}: nothing to compare")
    found = [compare_paired(scores[a], scores[b], test_fraction=test_fraction) for a, b in pairs]
    adjusted = holm([c.p_value for c in found])
    triples = zip(pairs, found, adjusted.tolist(), strict=True)
    return [Difference(*pair, comparison, p) for pair, comparison, p in triples]
