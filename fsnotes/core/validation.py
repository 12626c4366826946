"""What parameters have to be, and the words where they are not."""

import copy
import math
import numbers
import reprlib

import numpy as np

__all__ = [
    "LARGEST_SEED",
    "MOST_STEPS",
    "array_of",
    "check_bool",
    "check_bound",
    "check_count",
    "check_one_of",
    "check_real",
    "check_reals",
    "is_real",
    "pair_of",
    "plain",
    "shown",
    "with_plain_numbers",
]

# Steps, bounds and repetitions of which there are more would take hours for the smallest table.
MOST_STEPS = 10**6
# Products of larger numbers overflow, and so do inverses of smaller ones.
LARGEST = 1e100
SMALLEST = 1e-300
# No table has more columns or rows.
MOST_ITEMS = 2**31 - 1
# The seeds that NumPy's generators have in common.
LARGEST_SEED = 2**32 - 1

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 70


def shown(value):
    """The text of a value for a message: on one line, not long, and safe whatever its repr does."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except Exception:  # an int of more digits than Python prints, or a repr that fails
        return f"<{type(value).__name__}>"


def plain(value):
    """A real number of any kind as Python's int or float: NaN if it is beyond all floats."""
    if type(value) is float or (type(value) is int and abs(value) < 2**53):
        return value
    try:
        return int(value) if isinstance(value, np.integer) else float(value)
    except Exception:  # too large, or of a kind that does not convert
        return math.nan


def is_real(value):
    """Whether a value is a real number, which truth values and spans of time are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.timedelta64))


def with_plain_numbers(estimator):
    """The estimator or, where a parameter is a number of another kind, its twin with plain ones."""
    # what `get_params` returns, which would look at the signature of the class again
    given = {n: v for n, v in vars(estimator).items() if not (n.startswith("_") or n.endswith("_"))}
    other = {name: plain(value) for name, value in given.items() if is_real(value)}
    other = {name: value for name, value in other.items() if value is not given[name]}
    if not other:
        return estimator
    twin = copy.copy(estimator)
    vars(twin).update(other)
    return twin


def _range(least, open_at, most):
    end = "" if math.isinf(most) else f" to {most:g}"
    return f"from {least:g}{end}" + ("" if open_at is None else f", {open_at:g} excluded")


def _check_number(name, value, wanted, least, most, open_at=None, smallest=SMALLEST):
    if not is_real(value):
        raise TypeError(f"{name}={shown(value)} is {type(value).__name__}; pass {wanted}")
    number = plain(value)
    if not least <= number <= most or number == open_at:
        raise ValueError(f"{name}={shown(value)}; pass {wanted}")
    if 0 < number < smallest:
        zero = "" if open_at == 0 else "0 or "
        raise ValueError(
            f"{name}={shown(value)} is next to 0; pass {zero}a number from {smallest:g}"
        )
    return number


def check_real(
    name, value, least, *, open_at=None, most=LARGEST, smallest=SMALLEST, optional=False
):
    """Return `value` as a plain number, or None if it is optional; raise unless it is in range.

    Numbers between 0 and `smallest` are out of range, too.
    """
    if optional and value is None:
        return None
    wanted = "a number " + _range(least, open_at, most)
    return _check_number(name, value, wanted, least, most, open_at, smallest)


def check_count(name, value, *, least=1, most=MOST_ITEMS, optional=False):
    """Return `value` as an int, or None if it is optional; raise unless it is whole, in range."""
    if optional and value is None:
        return None
    wanted = f"a whole number from {least} to {most}"
    number = _check_number(name, value, wanted, least, most)
    if number != int(number):
        raise ValueError(f"{name}={shown(value)}; pass {wanted}")
    return int(number)


def check_reals(name, values, least, *, open_at=None, most=math.inf):
    """Return a number, or several, as an array; raise unless all are in range."""
    wanted = "numbers " + _range(least, open_at, most)
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; leave out what is masked, and pass {wanted}")
    found = array_of(values)
    # fractions, or long ints
    if found.dtype.kind == "O" and found.size and all(map(is_real, found.flat)):
        found = np.array([plain(value) for value in found.flat]).reshape(found.shape)
    if found.dtype.kind not in "iuf":
        raise TypeError(f"{name}={shown(values)} is {type(values).__name__}; pass {wanted}")
    if not ((found >= least) & (found <= most) & (found != open_at)).all():
        raise ValueError(f"{name}={shown(values)}; pass {wanted}")
    return found.astype(float)


def array_of(value):
    """The value as an array, which is empty and of objects where NumPy makes none of it."""
    try:
        return np.asarray(value)
    except Exception:  # lists in a list, not all of one length, or an object of its own mind
        return np.empty(0, dtype=object)


def pair_of(value):
    """The items of a list, tuple or array of two, or None if it is something else."""
    is_ordered = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim)
    return list(value) if is_ordered and len(value) == 2 else None


def check_bound(retain, delta):
    """Return a part of the largest bound and, overriding it, a bound or None, as plain numbers."""
    retain = check_real("retain", retain, 0, open_at=0, most=1)
    delta = check_real("delta", delta, 0, open_at=0, most=1, optional=True)
    if delta == 1:
        raise ValueError("delta=1; a bound of 1 cannot be promised: pass delta<1")
    return retain, delta


def check_bool(name, value):
    """Return `value` as a bool; raise unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={shown(value)}; pass True or False")
    return bool(value)


def check_one_of(name, value, allowed):
    """Raise unless `value` is one of these words."""
    if not isinstance(value, str) or value not in allowed:
        words = [f'"{word}"' for word in allowed]
        raise ValueError(f"{name}={shown(value)}; pass {', '.join(words[:-1])} or {words[-1]}")
