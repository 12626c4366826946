"""Stand-ins for the zero norm: sums over features of a function of the size of a weight.

A surrogate is a dataclass with three functions of sizes ``t = |w| >= 0``, all elementwise: `value`,
`slope` by t, and `slope_of_square` by ``t**2``; and with the property `concave_in`, the variable in
which it is concave, so that its tangent lies above it. One that is concave in ``|w|`` is also
concave in ``w**2``, since it never falls. At 0 and at corners slopes are those from the right.
"""

from dataclasses import dataclass

import numpy as np

from fsnotes.core.validation import check_real, shown

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
    """What all surrogates share; a subclass has `value`, 0 at 0, and `slope`.

    Attributes
    ----------
    concave_in : str
        ``"|w|"`` or ``"w**2"``.
    """

    concave_in = "|w|"

    def slope_of_square(self, sizes):
        """The derivative by the square of the size."""
        sizes = np.asarray(sizes, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.slope(sizes) / (2 * sizes)

    @property
    def slope_at_zero(self):
        return float(self.slope(np.zeros(1))[0])


def _set_real(surrogate, name, least, **limits):
    """Make a parameter a plain number; raise unless it is in range."""
    number = check_real(name, getattr(surrogate, name), least, **limits)
    object.__setattr__(surrogate, name, number)


class _Positive(Surrogate):
    """A surrogate whose parameters are above 0."""

    def __post_init__(self):
        for name in vars(self):
            _set_real(self, name, 0, open_at=0)


@dataclass(frozen=True)
class L1(Surrogate):
    """``t`` itself, the l1 norm: the only convex one."""

    def value(self, sizes):
        return np.asarray(sizes, dtype=float)

    def slope(self, sizes):
        return np.ones(np.shape(sizes))


@dataclass(frozen=True)
class Exponential(_Positive):
    """``1 - exp(-alpha t)``, (30) of Yang and Ju (2014).

    Parameters
    ----------
    alpha : float, default=5.0
        Towards 0 the surrogate, over alpha, becomes `L1`; towards infinity the zero norm.
    """

    alpha: float = 5.0

    def value(self, sizes):
        return -np.expm1(-self.alpha * np.asarray(sizes, dtype=float))

    def slope(self, sizes):
        return self.alpha * np.exp(-self.alpha * np.asarray(sizes, dtype=float))


@dataclass(frozen=True)
class Log(_Positive):
    """``log(1 + t / eps)``, of the reweighted l1 norm.

    Parameters
    ----------
    eps : float, default=0.1
    """

    eps: float = 0.1

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
        _set_real(self, "p", 0, open_at=0, most=2)
        _set_real(self, "eps", 0, smallest=1e-140)  # the squares of sizes over it are finite

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
class CappedL1(_Positive):
    """``min(t / a, 1)``.

    Parameters
    ----------
    a : float, default=0.5
        From this size on a weight costs 1.
    """

    a: float = 0.5

    def value(self, sizes):
        return np.minimum(np.asarray(sizes, dtype=float) / self.a, 1)

    def slope(self, sizes):
        return np.where(np.asarray(sizes) < self.a, 1 / self.a, 0.0)


@dataclass(frozen=True)
class MCP(_Positive):
    """The minimax concave penalty: ``t - t**2 / (2 a)`` up to ``t = a``, then constant.

    Parameters
    ----------
    a : float, default=1.0
        From this size on a weight costs no more.
    """

    a: float = 1.0

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
        _set_real(self, "b", 0, open_at=0)
        _set_real(self, "a", 1, open_at=1)

    def value(self, sizes):
        sizes = np.asarray(sizes, dtype=float)
        over = np.clip(sizes - self.b, 0, (self.a - 1) * self.b)
        return np.minimum(sizes, self.b) + over - over**2 / (2 * (self.a - 1) * self.b)

    def slope(self, sizes):
        over = np.asarray(sizes, dtype=float) - self.b
        return np.clip(1 - over / ((self.a - 1) * self.b), 0, 1)


def check_surrogate(surrogate):
    """Raise ValueError unless a surrogate, or any object with its methods, is what it says it is.

    Tested on pairs of sizes up to 10: 0 at 0, never falling, and each tangent above the surrogate
    in the variable of `concave_in`, as only the derivative gives it.
    """
    name = type(surrogate).__name__
    parts = ("value", "slope", "slope_of_square", "concave_in", "slope_at_zero")
    if missing := [part for part in parts if not hasattr(surrogate, part)]:
        raise ValueError(f"{name} has no {missing[0]}; derive it from Surrogate")
    if surrogate.concave_in not in ("|w|", "w**2"):
        raise ValueError(f'{name}.concave_in is {shown(surrogate.concave_in)}; "|w|" or "w**2"')
    in_square = surrogate.concave_in == "w**2"
    # Every size has one just above it: two tangents leave the slope between them no room.
    sizes = np.append([0, 1e-30], np.geomspace(1e-5, 10, 200)[:, None] * [1, 1 + 1e-4])
    found = []
    for part in parts[:3]:
        numbers = getattr(surrogate, part)(sizes)
        if np.shape(numbers) != sizes.shape:
            raise ValueError(
                f"{name}.{part} returns shape {np.shape(numbers)} for {sizes.shape}; it has to "
                "work on each element"
            )
        wrong = ~np.isfinite(numbers) | (numbers < -1e-12)
        if part != "value":
            # at zero a slope may be infinite, and nothing takes that of the square for "|w|"
            wrong[0] = not numbers[0] >= 0 and (part == "slope" or in_square)
        if wrong.any():
            raise ValueError(
                f"{name}.{part} is {numbers[wrong][0]:g} at {sizes[wrong][0]:g}; it has to be "
                "finite and not negative"
            )
        found.append(numbers)
    values, slopes, of_square = found
    if values[0] > 1e-12:
        raise ValueError(f"{name}.value(0) is {values[0]:g}; it has to be 0")
    apart = abs(slopes[1:] - 2 * sizes[1:] * of_square[1:])
    scale = values.max()
    if (apart > 1e-9 * (slopes[1:] + scale / sizes[-1])).any():
        at = sizes[1:][apart.argmax()]
        raise ValueError(f"{name}.slope_of_square({at:g}) is not slope / (2 size)")
    if np.isfinite(slopes[0]) and slopes[0] > 1.001 * slopes[1]:
        raise ValueError(f"{name}.slope(0) is {slopes[0]:g}, but {slopes[1]:g} just above 0")
    variable = sizes**2 if in_square else sizes
    tangents = of_square if in_square else slopes
    first = 0 if np.isfinite(tangents[0]) else 1
    steps = variable - variable[first:, None]
    below = values - (values[first:, None] + tangents[first:, None] * steps)
    if (below > 1e-9 * scale).any():
        at, where = np.unravel_index(below.argmax(), below.shape)
        raise ValueError(
            f"{name}.slope is not the derivative of its value, or {name} is not concave in "
            f"{surrogate.concave_in}: the tangent at {sizes[first + at]:g} lies below it at "
            f"{sizes[where]:g}"
        )
