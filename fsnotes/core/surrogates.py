"""Stand-ins for the zero norm: sums over features of a function of the size of a weight.

A surrogate is a dataclass with three functions of sizes ``t = |w| >= 0``, all elementwise: `value`,
`slope` by t, and `slope_of_square` by ``t**2``; and with the property `concave_in`, the variable in
which it is concave, so that its tangent lies above it. One that is concave in ``|w|`` is also
concave in ``w**2``, since it never falls.
"""

from dataclasses import dataclass

import numpy as np

from fsnotes.core.validation import check_real

__all__ = [
    "MCP",
    "SCAD",
    "CappedL1",
    "Exponential",
    "L1",
    "Log",
    "Power",
    "Surrogate",
    "check_surrogate",
]


class Surrogate:
    """What all surrogates share; a subclass has `value` and `slope`.

    Attributes
    ----------
    concave_in : str
        ``"|w|"`` or ``"w**2"``.
    """

    concave_in = "|w|"

    def value(self, sizes):
        """The function itself, 0 at 0."""
        raise NotImplementedError

    def slope(self, sizes):
        """Its derivative by the size; at 0 and at corners from the right."""
        raise NotImplementedError

    def slope_of_square(self, sizes):
        """Its derivative by the square of the size."""
        sizes = np.asarray(sizes, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.slope(sizes) / (2 * sizes)

    @property
    def slope_at_zero(self):
        return float(self.slope(np.zeros(1))[0])


@dataclass(frozen=True)
class L1(Surrogate):
    """``t`` itself, the l1 norm: the only convex one."""

    def value(self, sizes):
        return np.asarray(sizes, dtype=float)

    def slope(self, sizes):
        return np.ones(np.shape(sizes))


@dataclass(frozen=True)
class Exponential(Surrogate):
    """``1 - exp(-alpha t)``, (30) of Yang and Ju (2014).

    Parameters
    ----------
    alpha : float, default=5.0
        Towards 0 the surrogate, over alpha, becomes `L1`; towards infinity the zero norm.
    """

    alpha: float = 5.0

    def __post_init__(self):
        check_real("alpha", self.alpha, 0, open_at=0)

    def value(self, sizes):
        return -np.expm1(-self.alpha * np.asarray(sizes, dtype=float))

    def slope(self, sizes):
        return self.alpha * np.exp(-self.alpha * np.asarray(sizes, dtype=float))


@dataclass(frozen=True)
class Log(Surrogate):
    """``log(1 + t / eps)``, of the reweighted l1 norm.

    Parameters
    ----------
    eps : float, default=0.1
    """

    eps: float = 0.1

    def __post_init__(self):
        check_real("eps", self.eps, 0, open_at=0)

    def value(self, sizes):
        return np.log1p(np.asarray(sizes, dtype=float) / self.eps)

    def slope(self, sizes):
        return 1 / (self.eps + np.asarray(sizes, dtype=float))


@dataclass(frozen=True)
class Power(Surrogate):
    """``(t**2 + eps**2)**(p / 2) - eps**p``, the power ``t**p`` smoothed at 0.

    Parameters
    ----------
    p : float, default=0.5
        In (0, 2].
    eps : float, default=0.0
        With ``eps > 0`` or ``p > 1`` the power is concave in ``w**2`` alone.
    """

    p: float = 0.5
    eps: float = 0.0

    def __post_init__(self):
        check_real("p", self.p, 0, open_at=0, most=2)
        check_real("eps", self.eps, 0)

    @property
    def concave_in(self):
        return "|w|" if self.p <= 1 and self.eps == 0 else "w**2"

    def value(self, sizes):
        sizes = np.asarray(sizes, dtype=float)
        if self.eps == 0:
            return sizes**self.p
        # without the cancellation of two powers
        return self.eps**self.p * np.expm1(self.p / 2 * np.log1p((sizes / self.eps) ** 2))

    def slope(self, sizes):
        sizes = np.asarray(sizes, dtype=float)
        if self.eps == 0:
            with np.errstate(divide="ignore"):
                return self.p * sizes ** (self.p - 1)
        return 2 * sizes * self.slope_of_square(sizes)

    def slope_of_square(self, sizes):
        with np.errstate(divide="ignore"):
            return self.p / 2 * np.hypot(sizes, self.eps) ** (self.p - 2)


@dataclass(frozen=True)
class CappedL1(Surrogate):
    """``min(t / a, 1)``.

    Parameters
    ----------
    a : float, default=0.5
        From this size on a weight costs 1.
    """

    a: float = 0.5

    def __post_init__(self):
        check_real("a", self.a, 0, open_at=0)

    def value(self, sizes):
        return np.minimum(np.asarray(sizes, dtype=float) / self.a, 1)

    def slope(self, sizes):
        return np.where(np.asarray(sizes) < self.a, 1 / self.a, 0.0)


@dataclass(frozen=True)
class MCP(Surrogate):
    """The minimax concave penalty: ``t - t**2 / (2 a)`` up to ``t = a``, then constant.

    Parameters
    ----------
    a : float, default=1.0
        From this size on a weight costs no more.
    """

    a: float = 1.0

    def __post_init__(self):
        check_real("a", self.a, 0, open_at=0)

    def value(self, sizes):
        sizes = np.minimum(np.asarray(sizes, dtype=float), self.a)
        return sizes - sizes**2 / (2 * self.a)

    def slope(self, sizes):
        return np.maximum(1 - np.asarray(sizes, dtype=float) / self.a, 0)


@dataclass(frozen=True)
class SCAD(Surrogate):
    """The smoothly clipped absolute deviation: slope 1 up to ``b``, falling to 0 at ``a b``.

    Parameters
    ----------
    b : float, default=0.3
    a : float, default=3.7
        More than 1.
    """

    b: float = 0.3
    a: float = 3.7

    def __post_init__(self):
        check_real("b", self.b, 0, open_at=0)
        check_real("a", self.a, 1, open_at=1)

    def value(self, sizes):
        sizes = np.asarray(sizes, dtype=float)
        over = np.clip(sizes - self.b, 0, (self.a - 1) * self.b)
        return np.minimum(sizes, self.b) + over - over**2 / (2 * (self.a - 1) * self.b)

    def slope(self, sizes):
        over = np.asarray(sizes, dtype=float) - self.b
        return np.clip(1 - over / ((self.a - 1) * self.b), 0, 1)


def check_surrogate(surrogate, largest=10.0, n_points=400):
    """Raise ValueError unless a surrogate is what it says it is.

    Tested on pairs of sizes: 0 at 0, never falling, the slope that of the value, and each tangent
    above the surrogate in the variable of `concave_in`.

    Parameters
    ----------
    surrogate : Surrogate
        Or any object with its methods.
    largest : float, default=10.0
        Sizes go from 0 to here.
    n_points : int, default=400

    Examples
    --------
    >>> from fsnotes import Exponential
    >>> from fsnotes.core.surrogates import check_surrogate
    >>> check_surrogate(Exponential(alpha=2))
    """
    name = type(surrogate).__name__
    parts = ("value", "slope", "slope_of_square", "concave_in", "slope_at_zero")
    if missing := [part for part in parts if not hasattr(surrogate, part)]:
        raise ValueError(f"{name} has no {missing[0]}; derive it from Surrogate")
    if surrogate.concave_in not in ("|w|", "w**2"):
        raise ValueError(f'{name}.concave_in is {surrogate.concave_in!r}; "|w|" or "w**2"')
    sizes = np.append(0, np.geomspace(1e-6, 1, n_points - 1)) * largest
    found = {part: getattr(surrogate, part)(sizes) for part in parts[:3]}
    for part, numbers in found.items():
        if np.shape(numbers) != sizes.shape:
            raise ValueError(
                f"{name}.{part} returns shape {np.shape(numbers)} for {sizes.shape}; it has to "
                "work on each element"
            )
    values, slopes, of_square = found.values()
    if not np.isfinite(values).all():
        raise ValueError(f"{name}.value is not finite at {sizes[~np.isfinite(values)][0]:g}")
    if abs(values[0]) > 1e-12:
        raise ValueError(f"{name}.value(0) is {values[0]:g}; it has to be 0")
    scale = abs(values).max()
    falls = np.diff(values) < -1e-12 * scale
    if falls.any():
        raise ValueError(f"{name}.value falls after {sizes[:-1][falls][0]:g}; it must never fall")
    for words, found in (("slope", slopes), ("slope_of_square", of_square)):
        wrong = ~np.isfinite(found)
        # at zero a slope may be infinite, and nothing takes that of the square for "|w|"
        wrong[0] = not found[0] >= 0 and (words == "slope" or surrogate.concave_in == "w**2")
        if wrong.any():
            raise ValueError(f"{name}.{words} is {found[wrong][0]} at {sizes[wrong][0]:g}")
    inner = slice(1, None)
    apart = abs(slopes[inner] - 2 * sizes[inner] * of_square[inner])
    if (apart > 1e-9 * (slopes[inner] + scale / largest)).any():
        at = sizes[inner][apart.argmax()]
        raise ValueError(f"{name}.slope_of_square({at:g}) is not slope / (2 size)")
    in_square = surrogate.concave_in == "w**2"
    _check_slopes(surrogate, name, sizes[inner], scale, in_square)
    variable = sizes**2 if in_square else sizes
    tangents = of_square if in_square else slopes
    finite = np.isfinite(tangents)
    above = values[finite, None] + tangents[finite, None] * (variable - variable[finite, None])
    below = values - above
    if (below > 1e-9 * scale).any():
        at, where = np.unravel_index(below.argmax(), below.shape)
        raise ValueError(
            f"{name} is not concave in {surrogate.concave_in}: its tangent at "
            f"{sizes[finite][at]:g} lies below it at {sizes[where]:g}"
        )


def _check_slopes(surrogate, name, sizes, scale, in_square):
    """A short secant lies between the slopes at its ends, whichever way the function bends."""
    ends = np.stack([sizes * (1 - 1e-4), sizes * (1 + 1e-4)])
    values = surrogate.value(ends)
    steps = np.diff(ends**2 if in_square else ends, axis=0)[0]
    slopes = surrogate.slope_of_square(ends) if in_square else surrogate.slope(ends)
    secants = (values[1] - values[0]) / steps
    slack = 1e-9 * abs(secants) + 8 * np.finfo(float).eps * abs(values).max(axis=0) / steps
    wrong = (secants > slopes.max(axis=0) + slack) | (secants < slopes.min(axis=0) - slack)
    if wrong.any():
        at = sizes[wrong][0]
        raise ValueError(f"{name}.slope({at:g}) is not the derivative of its value")
    if in_square:
        return  # nothing takes the slope at 0 there
    at_zero, tiny = surrogate.slope(np.zeros(1))[0], 1e-30 * sizes[-1]
    secant = surrogate.value(np.array([tiny]))[0] / tiny
    if np.isfinite(at_zero) and abs(at_zero - secant) > 1e-3 * (at_zero + scale / sizes[-1]):
        raise ValueError(f"{name}.slope(0) is {at_zero:g}, but the value rises by {secant:g} there")
