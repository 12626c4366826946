"""What parameters have to be, and the words where they are not."""

import numbers

import numpy as np

__all__ = ["check_bool", "check_count", "check_real"]


def check_real(name, value, least, *, open_at=None, most=np.inf):
    """Raise unless `value` is a real number in range."""
    wanted = f"a number from {least:g}" + ("" if np.isinf(most) else f" to {most:g}")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} is {type(value).__name__}; pass {wanted}")
    if not least <= value <= most or value == open_at or not np.isfinite(value):
        without = "" if open_at is None else f", {open_at:g} excluded"
        raise ValueError(f"{name}={value!r}; pass {wanted}{without}")


def check_count(name, value):
    """Raise unless `value` is a whole number from 1."""
    check_real(name, value, 1)
    if value != int(value):
        raise ValueError(f"{name}={value!r}; pass a whole number")


def check_bool(name, value):
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}; pass True or False")
