"""Answers beside the border of a tolerance: on one side they are right, on the other not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from scipy.optimize import brentq


@dataclass(frozen=True)
class Near:
    """An answer made from the right one, for each case of some parts, and its hint.

    Attributes
    ----------
    question : str
    parts : str or tuple of str
    alter : callable
        From the right answer, what the grader knows of the case, and its arguments.
    hint : str or None
        None where the answer is right.
    other : callable
        From the same as `alter`, arguments in place of those of the case.
    """

    question: str
    parts: str | tuple
    alter: Callable
    hint: str | None = None
    other: Callable = lambda answer, true, given: {}


def either_side(question, parts, tolerance, alter, beyond, within=None):
    """Two answers, with half of an error that does no harm and with twice as much.

    Their hints are `within` and `beyond`. `alter` takes the error as its last argument.
    """
    return [
        Near(question, parts, partial(alter, error=tolerance / 2), within),
        Near(question, parts, partial(alter, error=2 * tolerance), beyond),
    ]


def until(value, start, end, target):
    """Where from `start` towards `end`, or beyond it, a value that rises reaches a target."""
    reach = 1.0
    while value(start + reach * (end - start)) < target:
        reach *= 2
        assert reach < 1e9, "the value does not rise so far"
    share = brentq(lambda t: value(start + t * (end - start)) - target, 0, reach, xtol=1e-14)
    return start + share * (end - start)
