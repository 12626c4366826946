"""What parameters have to be, and the words where they are not."""

import numbers

import numpy as np

__all__ = ["check_bool", "check_bound", "check_count", "check_one_of", "check_real"]


def check_real(name, value, least, *, open_at=None, most=np.inf, optional=False):
    """Raise unless `value` is a real number in range, or None if it is optional."""
    if optional and value is None:
        return
    wanted = f"a number from {least:g}" + ("" if np.isinf(most) else f" to {most:g}")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} is {type(value).__name__}; pass {wanted}")
    if not least <= value <= most or value == open_at or not np.isfinite(value):
        without = "" if open_at is None else f", {open_at:g} excluded"
        raise ValueError(f"{name}={value!r}; pass {wanted}{without}")


def check_count(name, value, *, least=1, optional=False):
    """Raise unless `value` is a whole number in range, or None if it is optional."""
    check_real(name, value, least, optional=optional)
    if value is not None and value != int(value):
        raise ValueError(f"{name}={value!r}; pass a whole number")


def check_bound(retain, delta):
    """Raise unless a bound is asked for as a part of the largest or, overriding it, by itself."""
    check_real("retain", retain, 0, open_at=0, most=1)
    check_real("delta", delta, 0, open_at=0, most=1, optional=True)
    if delta == 1:
        raise ValueError("delta=1; a bound of 1 cannot be promised: pass delta<1")


def check_bool(name, value):
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}; pass True or False")


def check_one_of(name, value, allowed):
    """Raise unless `value` is one of these words."""
    if not isinstance(value, str) or value not in allowed:
        words = [f'"{word}"' for word in allowed]
        raise ValueError(f"{name}={value!r}; pass {', '.join(words[:-1])} or {words[-1]}")
