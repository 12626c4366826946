"""Least weights under margins, soft by the squared hinge or hard, for several programs at once."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import brentq, linprog

from fsnotes.errors import SubproblemError

__all__ = ["Solution", "SquaredHinge", "Unbounded"]

VERIFIED = 1e-9  # largest violation of a constraint and of complementarity, both relative
ROUNDED = 1e-12  # what may be rounding, relative to the largest target or multiplier
VANISHED = 1e-9  # a sum that is zero, relative to the sum of the absolute values of its parts
STEPS = 100  # most Newton steps of a program
QUICK = 20  # most Newton steps from the last multipliers, before proximal steps take over
# Softness is relative to the square of a row, since that is what it is added to.
APPROACH = (1e-2, 1e-3, 3e-4)  # softness on the way to little or none
HARD = 1e-11  # softness of a proximal step that begins near the solution
REMEDY = (
    "pass columns of more alike sizes (with scale=True they are), a smaller C, or C=1 in place of "
    "hard margins, or sample_weight that differ less if there are some"
)
CAREFUL = tuple(10.0 ** np.arange(-3, -21, -1))  # softness of proximal steps from anywhere


class Unbounded(Exception):
    """No weights meet the hard targets of some programs, whose multipliers may grow for ever.

    The certificate of each such program are multipliers ``r >= 0``, not all zero, with
    ``Z' (signs * r) = 0``.
    """

    def __init__(self, certificates):
        super().__init__(certificates)
        self.certificates = certificates


@dataclass(frozen=True)
class Solution:
    """Weights and multipliers of all programs, and how far they are from optimal.

    Each program has a column. Weights are ``Z' (signs * multipliers)``, more accurate than this sum
    where large parts of it cancel. The violation is that of a constraint or of complementarity,
    whichever is larger, relative. While one program is solved, its weights are a point of its rows.
    """

    multipliers: np.ndarray
    weights: np.ndarray
    violation: np.ndarray


class SquaredHinge:
    """Minimise ``|w|^2 / 2 + sum max(0, targets - signs * Z w)^2 / (2 softness)``, often.

    Each column of signs is a program of its own. A softness of zero stands for the constraints
    ``signs * Z w >= targets``. The dual minimises ``r' (Q + diag(softness)) r / 2 - targets' r``
    over ``r >= 0``, where Q holds the inner products of the rows ``signs * Z``, and gives
    ``w = Z' (signs * r)``. Newton's method finds the rows with ``r > 0``, which are called active,
    beginning with those of the last call. Hard margins are proximal steps in the multipliers, each
    of which is a soft program.

    Parameters
    ----------
    signs : ndarray of shape (n_rows, n_programs)
    """

    def __init__(self, signs):
        self.signs = signs
        self.active = None
        self.counts = {"newton step": 0, "proximal step": 0}  # of all calls so far

    @np.errstate(under="ignore")  # weights of samples may be next to nothing beside others
    def solve(self, Z, softness, targets=None, *, is_feasible=False):
        """Return the `Solution` of all programs for these rows.

        If no weights meet the hard targets of some program, `Unbounded` is raised; if an answer
        cannot be verified, `SubproblemError`.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_columns)
        softness : ndarray of shape (n_rows,)
            All zero or all above zero.
        targets : ndarray of shape (n_rows, n_programs), optional
            Ones by default.
        is_feasible : bool, default=False
            Whether some weights are known to meet hard targets, as where Z is invertible; a linear
            program, which takes longer than the rest, is saved then.
        """
        targets = np.ones(self.signs.shape) if targets is None else targets
        is_few = len(Z) <= Z.shape[1]
        rows = FewRows(Z) if is_few else ManyRows(Z)
        is_soft = softness.any()
        is_cold = self.active is None
        if is_cold:
            self.active = np.ones(self.signs.shape, dtype=bool)
        fits = []
        exact = {}
        certificates = {}
        for k, signs in enumerate(self.signs.T):
            program = Program(rows, signs, softness, targets[:, k], self.active[:, k], self.counts)
            if is_cold and (is_soft or not is_few):
                program.approach()
            fit = program.solve((0.0,) if is_soft else (HARD, HARD), QUICK)
            if fit.violation > VERIFIED:
                if not (is_soft or is_feasible):
                    found = grow_forever(signs[:, None] * Z, targets[:, k])
                    if found is not None:
                        certificates[k] = found
                        continue
                fit, exact[k] = program.solve_carefully(Z, is_few)
            fits.append(fit)
            self.active[:, k] = fit.multipliers > 0
        if certificates:
            raise Unbounded(certificates)
        multipliers = np.column_stack([fit.multipliers for fit in fits])
        if is_few:
            weights = Z.T @ (self.signs * multipliers)
        else:
            weights = np.column_stack([fit.weights for fit in fits])
        for k, found in exact.items():
            weights[:, k] = found
        return Solution(multipliers, weights, np.array([fit.violation for fit in fits]))


class Program:
    """One program, and the rows that are active in it."""

    def __init__(self, rows, signs, softness, targets, active, counts):
        self.rows = rows
        self.signs = signs
        self.softness = softness
        self.targets = targets
        self.active = active
        self.counts = counts

    def approach(self):
        """Find active rows by way of larger softness, which takes fewer steps in all."""
        for part in APPROACH:
            level = part * self.rows.squares.mean()
            if level > self.softness.max():
                self.newton(np.full(len(self.signs), level), self.targets, STEPS)

    def solve(self, parts, most):
        """The solution by proximal steps, each of which adds a part of the squares to the softness.

        A step minimises the dual plus ``|r - last|^2 / 2`` in the norm of what it adds, so that
        multipliers are unique even where rows depend on each other. A part of 0 is Newton's method
        for the program as it is.
        """
        last = np.zeros(len(self.signs))
        for part in parts:
            added = part * self.rows.squares
            self.counts["proximal step"] += int(part > 0)
            targets = self.targets + added * last
            fit = self.newton(self.softness + added, targets, most)
            if fit.violation <= VERIFIED:
                break
            last = fit.multipliers
        return fit

    def solve_carefully(self, Z, is_few):
        """A solution, and its weights, where inner products have lost columns that are small."""
        base, upper = qr(Z.T, mode="economic") if is_few else (np.eye(Z.shape[1]), Z.T)
        self.rows = ManyRows(upper.T, few=0)
        fit = self.solve(CAREFUL, STEPS)
        if fit.violation > VERIFIED:
            raise SubproblemError(
                "a quadratic program was not solved: it violates its optimality conditions by "
                f"{fit.violation:.1e}, more than {VERIFIED:g}; {REMEDY}"
            )
        return fit, base @ fit.weights

    def newton(self, softness, targets, most):
        """The solution of a program whose softness is above zero everywhere."""
        limit = ROUNDED * abs(targets).max()
        point = None
        for _ in range(most):
            self.counts["newton step"] += 1
            r, new, after = self.stationary(softness, targets)
            small = ROUNDED * abs(r).max()
            if not np.where(self.active, r < -small, after < targets - limit).any():
                break
            following = np.where(self.active, r > 0, after < targets)
            if point is None:  # the active rows of before belong to no point
                point, products, self.active = new, after, following
                continue
            step, change = new - point, after - products
            other = self.signs * change if self.rows.combine else step

            def slope(part, point=point, step=step, products=products, change=change, other=other):
                """Derivative of the objective at a part of the step."""
                missing = np.maximum(targets - products - part * change, 0)
                return (point + part * step) @ other - change @ (missing / softness)

            part = brentq(slope, 0, 1) if slope(1) > 0 > slope(0) else 1
            point, products = point + part * step, products + part * change
            self.active = following if part == 1 else products < targets
        return self.verify(r, new, after)

    def stationary(self, softness, targets):
        """Multipliers of active rows with ``products + softness * multipliers = targets``."""
        inside = np.flatnonzero(self.active)
        given = (self.signs * targets)[inside]
        found, point, products = self.rows.solve(inside, softness[inside], given)
        return self.signs * found, point, self.signs * products

    def verify(self, r, point, products):
        """The answer without multipliers below zero.

        At the optimum ``targets' r`` is twice the objective, of which the multipliers dropped and
        the products of multipliers and slacks are a part.
        """
        kept = np.maximum(r, 0)
        slacks = products + self.softness * kept - self.targets
        short = -slacks.min() / max(abs(self.targets).max(), 1e-300)
        apart = kept @ abs(slacks) + (kept - r) @ abs(self.targets)
        value = max(self.targets @ kept, 1e-300)
        with np.errstate(over="ignore"):
            return Solution(kept, point, max(short, apart / value))


class FewRows:
    """Rows of at least as many columns, by their inner products. A point combines rows."""

    combine = True

    def __init__(self, Z):
        self.B = Z @ Z.T
        self.squares = without_zeros(self.B.diagonal())

    def solve(self, inside, softness, given):
        """Solve ``(inner products + diag(softness)) x = given`` for the rows inside.

        Returns x, which is 0 for the other rows, the point ``sum x_i z_i``, and the inner products
        of that with all rows.
        """
        x = np.zeros(len(self.B))
        if len(inside):
            lower = factor(self.B[inside][:, inside], softness)
            x[inside] = dpotrs(lower, given, lower=1)[0]
        return x, x, self.B @ x


class ManyRows:
    """Rows of fewer columns, as they are. A point holds weights.

    Where more than `few` rows are active, the matrix has the size of the columns.
    """

    combine = False

    def __init__(self, Z, few=None):
        self.Z = np.ascontiguousarray(Z)  # rows are gathered often
        self.few = Z.shape[1] if few is None else few
        self.squares = without_zeros(np.einsum("ij,ij->i", Z, Z))

    def solve(self, inside, softness, given):
        Z = self.Z.take(inside, axis=0)
        found, point = np.zeros(len(Z)), np.zeros(Z.shape[1])
        if 0 < len(Z) <= self.few:
            found = dpotrs(factor(dsyrk(1, Z.T, trans=1, lower=1), softness), given, lower=1)[0]
            point = Z.T @ found
        elif len(Z):
            scaled = Z / np.sqrt(softness)[:, None]
            lower = factor(dsyrk(1, scaled.T, lower=1), 1)
            for _ in range(3):  # once, and twice more for what rounding has left
                left = given - Z @ point - softness * found
                step = dpotrs(lower, Z.T @ (found + left / softness) - point, lower=1)[0]
                point, found = point + step, found + (left - Z @ step) / softness
        x = np.zeros(len(self.Z))
        x[inside] = found
        return x, point, self.Z @ point


def without_zeros(squares):
    """Squares of rows, with their mean in the place of those that are zero."""
    return np.where(squares > 0, squares, squares.mean() or 1.0)


def factor(square, softness):
    """Cholesky factor of a matrix, in its place, with the softness on its diagonal."""
    square[np.diag_indices(len(square))] += softness
    lower, failed = dpotrf(square, lower=1, overwrite_a=1)
    if failed:
        raise SubproblemError(f"a quadratic program was not solved; {REMEDY}")
    return lower


def grow_forever(A, targets):
    """Multipliers r >= 0 with ``A' r = 0`` and ``targets' r > 0``, if there are any."""
    sizes = abs(A).max(axis=0)
    A = A[:, sizes > 0] / sizes[sizes > 0]  # the units of columns do not matter
    system = np.vstack([A.T, targets / max(abs(targets).max(), 1e-300)])
    goal = np.append(np.zeros(len(system) - 1), 1.0)
    r = linprog(np.zeros(len(A)), A_eq=system, b_eq=goal).x
    if r is None:
        return None
    r = np.where(r > ROUNDED * r.max(), r, 0)
    some = np.flatnonzero(r)
    r[some] += np.linalg.lstsq(system[:, some], goal - system @ r)[0]
    vanished = abs(r @ A) <= VANISHED * (r @ abs(A))
    return r if (r >= 0).all() and vanished.all() and r @ targets > 0 else None
