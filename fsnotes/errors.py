"""What can go wrong that a caller may want to catch, and how a warning is issued."""

import contextlib
import sys
import warnings
from contextvars import ContextVar

__all__ = [
    "EqualMeansError",
    "InfeasibleBoundError",
    "NotSeparableError",
    "PromiseWarning",
    "SelectionWarning",
    "SubproblemError",
    "TrivialBoundWarning",
]

# whose lines a warning never names: this package, and those that call it for somebody else
INSIDE = {"fsnotes", "sklearn", "joblib"}
_COLLECTED = ContextVar("collected", default=None)


class EqualMeansError(ValueError):
    """The class means are equal, so moments give no linear machine that separates the classes."""


class InfeasibleBoundError(ValueError):
    """The accuracy bound asked for is more than the moments admit.

    Attributes
    ----------
    largest : float
        The largest bound that they admit.
    """

    def __init__(self, message, largest):
        super().__init__(message, largest)
        self.largest = largest

    def __str__(self):
        return self.args[0]


class NotSeparableError(ValueError):
    """Some classes cannot be separated from the others by a plane, so there is no hard margin.

    Attributes
    ----------
    certificates : dict
        By label, one number for each row that was passed, none negative and not all zero. Sums of
        rows of the class and of other rows, with these numbers, are equal, and so are the sums of
        the numbers: a mixture of the one is a mixture of the others.
    """

    def __init__(self, message, certificates):
        super().__init__(message, certificates)
        self.certificates = certificates

    def __str__(self):
        return self.args[0]


class SubproblemError(RuntimeError):
    """A convex problem was not solved to the accuracy that is verified. There is no answer."""


class PromiseWarning(UserWarning):
    """A solver's word differs from what rows show, and the worse is kept; or digits are lost."""


class TrivialBoundWarning(UserWarning):
    """Some direction has no variance within either class, so the bound is 1 and says nothing."""


class SelectionWarning(UserWarning):
    """Features that cannot be selected, or fewer selected than asked for."""


@contextlib.contextmanager
def collecting():
    """Collect what the package warns of, instead of issuing it.

    Yields a list to which every warning of this thread adds its category and message. Python's
    filters, which belong to the whole process, are left alone, and so are warnings of others.
    """
    collected = []
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


def warn(message, category):
    """Issue a warning at the line that called the package, however deep inside it this is.

    Where scikit-learn calls `fit`, as in a pipeline, it is the line that called scikit-learn.
    Inside `collecting`, nothing is issued.
    """
    if (collected := _COLLECTED.get()) is not None:
        collected.append((category, message))
        return
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and _package_of(frame) in INSIDE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(frame):
    """By its module's name: a file's name is another one in an archive or compiled elsewhere."""
    return frame.f_globals.get("__name__", "").partition(".")[0]
