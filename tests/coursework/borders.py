"""What the catalogues of wrong answers consist of; each assignment has one, in wrong_answers/.

WRONG has, by a label, the functions in place of solutions, each below the helpers of its cell, and
the hint that is given for the parts of a question. BORDERS has answers beside the borders of
tolerances. FREE has lines of the grader on whose constants no mark depends, and the reason why.
"""

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

    Their hints are `within` and `beyond`. `alter` takes the error as its last argument, which is
    negative where the tolerance is.
    """
    return [
        Near(question, parts, partial(alter, error=tolerance / 2), within),
        Near(question, parts, partial(alter, error=2 * tolerance), beyond),
    ]


def added(answer, true, given, error):
    return answer + error


def scaled(answer, true, given, error):
    return answer * (1 + error)


def each(parts):
    return (parts,) if isinstance(parts, str) else parts


def until(value, start, end, target):
    """Where from `start` towards `end`, or beyond it, a value that rises reaches a target."""
    reach = 1.0
    while value(start + reach * (end - start)) < target:
        reach *= 2
        assert reach < 1e9, "the value does not rise so far"
    share = brentq(lambda t: value(start + t * (end - start)) - target, 0, reach, xtol=1e-14)
    return start + share * (end - start)
