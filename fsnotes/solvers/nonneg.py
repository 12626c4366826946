"""Quadratic programs over non-negative multipliers, several that share a matrix, by pivoting."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dpotrs

from fsnotes.errors import SubproblemError

__all__ = ["MultiplierPrograms", "Solved", "Unbounded"]

PATIENCE = 3  # exchanges of blocks with no fewer errors, before careful steps
PIVOTS = 200  # exchanges of a program, before careful steps; and of these, before it is given up
HALVINGS = 50  # of a step that goes too far
ROUNDED = 1e-12  # of a target, or of the largest multiplier, what may be rounding
DEPENDENT = 1e-10  # of the largest square of a row, what is left of one that depends on others
PROXIMAL, LEAST = 1e-3, 1e-20  # of the square of a row, what a proximal step adds to softness
CLOSE = 1e-8  # the same, from multipliers that are nearly right
APPROACH, NEARER = 1e-2, 10  # of the mean square of a row, the first softness, and its division
LAST = 3e-4  # of the first softness, the least on the way to none
OUTER = 24  # proximal steps
EVEN = 1e-14  # of a function, by which it has to fall
VERIFIED = 1e-9  # relative violation of a constraint and of complementarity
VANISHED = 1e-9  # of the parts of a sum, what counts as zero in a certificate
NEARLY = 1e-2  # violation, and part of a sum, that is worth a closer look
FADING = 1e-6  # of the largest multiplier, what may be left out of a certificate


class Dependent(Exception):
    """Rows of a block depend on each other, so that their multipliers are not unique."""


class Unbounded(Exception):
    """Some programs have no minimum.

    Attributes
    ----------
    certificates : dict
        By program, multipliers ``r >= 0``, not all zero, with ``Z' (signs * r) = 0``.
    """

    def __init__(self, certificates):
        super().__init__(certificates)
        self.certificates = certificates


@dataclass(frozen=True)
class Solved:
    """Multipliers, what they make of each row, and how far they are from optimal.

    Attributes
    ----------
    multipliers : ndarray of shape (n_rows, n_programs)
    products : ndarray of shape (n_rows, n_programs)
        ``signs * Z weights``.
    weights : ndarray of shape (n_columns, n_programs)
        ``Z' (signs * multipliers)``, more accurate than this sum where large parts of it cancel.
    violation : ndarray of shape (n_programs,)
        Relative, the larger one of a constraint's and of complementarity's.
    """

    multipliers: np.ndarray
    products: np.ndarray
    weights: np.ndarray
    violation: np.ndarray


class MultiplierPrograms:
    """Minimise ``r' (Q + diag(softness)) r / 2 - targets' r`` over ``r >= 0``, for each program.

    ``Q`` holds the inner products of the rows of ``Z`` times the signs of the program. Which
    multipliers are above zero is found by exchanging blocks of them (principal pivoting), from the
    block of the last call. Where the rows of a block depend on each other, proximal steps make
    the multipliers unique.

    Parameters
    ----------
    signs : ndarray of shape (n_rows, n_programs)

    Attributes
    ----------
    counts : dict
        Of factorisations and of exchanges.
    """

    def __init__(self, signs):
        self.signs = signs
        self.blocks = np.ones(signs.shape, dtype=bool)
        self.cold = True
        self.counts = {"factorisation": 0, "exchange": 0, "proximal step": 0}

    def solve(self, Z, softness, targets=None, otherwise=None):
        """Solve for these rows.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_columns)
        softness : ndarray of shape (n_rows,)
            All zero or all above zero.
        targets : ndarray of shape (n_rows, n_programs), optional
            Ones, unless given.
        otherwise : callable, optional
            Gives multipliers of a program, by its number, or None, where exchanges do not end.

        Returns
        -------
        Solved

        Raises
        ------
        Unbounded
            If the softness is zero and some program has no minimum.
        SubproblemError
            If the answer cannot be verified.
        """
        targets = np.ones(self.signs.shape) if targets is None else targets
        matrix = ByRows(Z) if len(Z) <= Z.shape[1] else ByColumns(Z)
        if self.cold and (softness.all() or len(Z) > Z.shape[1]):
            self._approach(matrix, softness, targets)
        self.cold = False
        found = self._pivoted(matrix, softness, targets)
        failed = np.flatnonzero(found.violation > VERIFIED)
        if otherwise is not None:
            options = Z, softness, targets, found, otherwise
            failed = [k for k in failed if not self._taken(k, *options)]
        if len(failed):
            self._careful(Z, softness, targets, found, failed)
        return found

    def _approach(self, matrix, softness, targets):
        """Blocks for little or no softness, by way of larger ones, which takes fewer exchanges."""
        larger = APPROACH * matrix.mean_square()
        least = softness.max() or LAST * larger
        while larger > least:
            self._pivoted(matrix, np.full(len(softness), larger), targets)
            larger /= NEARER

    def _taken(self, program, Z, softness, targets, found, otherwise):
        """Whether multipliers of another method are optimal; then they are taken."""
        multipliers = otherwise(program)
        if multipliers is None:
            return False
        A = self.signs[:, program, None] * Z
        one = judged(A, softness, targets[:, program], multipliers, A.T @ multipliers)
        if one.violation > VERIFIED:
            return False
        found.multipliers[:, program], found.products[:, program] = one.multipliers, one.products
        found.weights[:, program], found.violation[program] = one.weights, one.violation
        self.blocks[:, program] = multipliers > 0
        return True

    def _careful(self, Z, softness, targets, found, programs):
        """Solve some for weights, one after another, where multipliers are not accurate."""
        rows, base = Z, None
        if len(Z) <= Z.shape[1]:
            base, upper = qr(Z.T, mode="economic")
            rows = upper.T
        certificates = {}
        for k in programs:
            signs = self.signs[:, k, None]
            given, wanted = signs * Z, targets[:, k]
            near = found.multipliers[:, k] if found.violation[k] < NEARLY else None
            one, certificate = self._proximal(signs * rows, softness, wanted, given, near)
            if certificate is None and one.violation > VERIFIED:
                if not softness.any():
                    # whether there is a minimum does not depend on the units of columns
                    alike = given / np.maximum(abs(Z).max(axis=0, initial=0), 1e-300)
                    certificate = self._proximal(alike, softness, wanted, alike)[1]
                if certificate is None:
                    raise SubproblemError(
                        "a quadratic program was not solved: it violates its optimality "
                        f"conditions by {one.violation:.1e}, more than {VERIFIED:g}"
                    )
            if certificate is not None:
                certificates[int(k)] = certificate
                continue
            found.multipliers[:, k], found.products[:, k] = one.multipliers, one.products
            found.weights[:, k] = one.weights if base is None else closer(base, one, given)
            found.violation[k] = one.violation
            self.blocks[:, k] = one.multipliers > 0
        if certificates:
            raise Unbounded(certificates)

    def _proximal(self, A, softness, targets, given, near=None):
        """By proximal steps, each from the multipliers of the last; or a certificate."""
        squares = np.einsum("ij,ij->i", A, A)
        squares[squares == 0] = squares.mean() or 1.0
        part, multipliers, certificate = PROXIMAL, np.zeros(len(A)), None
        if near is not None:
            part, multipliers = CLOSE, near
        weights = A.T @ multipliers
        found = judged(A, softness, targets, multipliers, weights)
        for _ in range(OUTER):
            if found.violation <= VERIFIED or certificate is not None:
                break
            self.counts["proximal step"] += 1
            added, last = part * squares, multipliers
            multipliers, weights = self._descended(
                A, softness + added, targets + added * last, weights
            )
            found = judged(A, softness, targets, multipliers, weights)
            if not softness.any():
                certificate = vanishing(given, np.maximum(multipliers - last, 0), targets)
            part = max(part / NEARER, LEAST)
        return found, certificate

    def _descended(self, A, softness, targets, weights):
        """Least ``|w|^2 + sum max(0, targets - A w)^2 / softness``, by Newton's steps."""
        products, limit = A @ weights, ROUNDED * abs(targets).max()
        inside = products < targets
        for _ in range(PIVOTS):
            found, new = self._stationary(A[inside], softness[inside], targets[inside])
            after, multipliers = A @ new, np.zeros(len(A))
            after[inside], multipliers[inside] = targets[inside] - softness[inside] * found, found
            small = ROUNDED * abs(found).max(initial=0)
            if not np.where(inside, multipliers < -small, after < targets - limit).any():
                return np.maximum(multipliers, 0), new
            self.counts["exchange"] += 1
            step, change = new - weights, after - products

            def slope(part, step=step, change=change, weights=weights, products=products):
                missing = np.maximum(targets - products - part * change, 0)
                return step @ (weights + part * step) - change @ (missing / softness)

            low, high = 0.0, 1.0
            if slope(high) > 0:
                for _ in range(HALVINGS):
                    middle = (low + high) / 2
                    low, high = (middle, high) if slope(middle) < 0 else (low, middle)
            weights, products = weights + high * step, products + high * change
            whole = np.where(inside, multipliers > 0, after < targets)
            inside = whole if high == 1 else products < targets
        raise SubproblemError(f"a quadratic program was not solved in {PIVOTS} exchanges")

    def _stationary(self, A, softness, targets):
        """Multipliers with ``A w + softness * multipliers = targets``, and their weights w."""
        self.counts["factorisation"] += 1
        scaled = A / np.sqrt(softness)[:, None]
        square = scaled.T @ scaled
        square.flat[:: len(square) + 1] += 1
        lower, failed = dpotrf(square, lower=1, overwrite_a=1)
        if failed:
            raise SubproblemError("a quadratic program was not solved: its sizes differ too much")
        multipliers, weights = np.zeros(len(A)), np.zeros(A.shape[1])
        for _ in range(3):  # again, for what rounding has left
            left = targets - A @ weights - softness * multipliers
            step = dpotrs(lower, A.T @ (multipliers + left / softness) - weights, lower=1)[0]
            weights, multipliers = weights + step, multipliers + (left - A @ step) / softness
        return multipliers, weights

    def _pivoted(self, matrix, softness, targets):
        """Exchange blocks until multipliers in them, and slacks outside, are not negative.

        Programs in which that does not end are left as they are.
        """
        blocks, count = self.blocks, self.signs.shape[1]
        multipliers, limits = np.zeros(self.signs.shape), ROUNDED * abs(targets).max(axis=0)
        fewest, patience = np.full(count, len(blocks) + 1), np.full(count, PATIENCE)
        descent = Descent(softness, targets) if softness.all() else None
        open_ = np.arange(count)
        for _ in range(PIVOTS):
            found, independent = self._blockwise(matrix, softness, targets, open_)
            found, open_ = self.signs[:, open_[independent]] * found, open_[independent]
            products = self._products(matrix, found, open_)
            small = -ROUNDED * abs(found).max(axis=0)
            short = products < targets[:, open_] - limits[open_]
            wrong = np.where(blocks[:, open_], found < small, short)
            numbers = wrong.sum(axis=0)
            multipliers[:, open_] = np.maximum(found, 0)
            unsolved = numbers > 0
            self.counts["exchange"] += int(unsolved.sum())
            open_, numbers = open_[unsolved], numbers[unsolved]
            if descent is not None:
                new, fell = descent.step(found[:, unsolved], products[:, unsolved], open_)
                blocks[:, open_] = new
                open_ = open_[fell]
            else:
                patience[open_] = np.where(numbers < fewest[open_], PATIENCE, patience[open_] - 1)
                fewest[open_] = np.minimum(numbers, fewest[open_])
                blocks[:, open_] ^= wrong[:, unsolved]
                open_ = open_[patience[open_] >= 0]
            if not len(open_):
                break
        return self._judged(matrix, softness, targets, multipliers)

    def _products(self, matrix, multipliers, programs):
        signs = self.signs[:, programs]
        return signs * matrix.products(signs * multipliers)

    def _blockwise(self, matrix, softness, targets, programs):
        """Solutions of the equations of the blocks, and whether their rows are independent.

        Equal blocks share a factorisation.
        """
        found = np.zeros((len(targets), len(programs)))
        independent = np.ones(len(programs), dtype=bool)
        wanted = (self.signs * targets)[:, programs]
        groups = {}
        for place, program in enumerate(programs):
            groups.setdefault(self.blocks[:, program].tobytes(), []).append(place)
        for places in groups.values():
            inside = np.flatnonzero(self.blocks[:, programs[places[0]]])
            if len(inside):
                self.counts["factorisation"] += 1
                cells = np.ix_(inside, places)
                try:
                    found[cells] = matrix.solved(inside, softness[inside], wanted[cells])
                except Dependent:
                    independent[places] = False
        return found[:, independent], independent

    def _judged(self, matrix, softness, targets, multipliers):
        products = self._products(matrix, multipliers, slice(None))
        weights = matrix.Z.T @ (self.signs * multipliers)
        worst = violation(softness[:, None], targets, multipliers, products)
        return Solved(multipliers, products, weights, worst)


def violation(softness, targets, multipliers, products):
    """Relative, the larger one of a constraint's and of complementarity's."""
    slacks = products + softness * multipliers - targets
    size = np.maximum(abs(targets).max(axis=0, initial=0), 1e-300)
    short = np.maximum(-slacks, 0).max(axis=0, initial=0) / size
    value = np.maximum((abs(targets) * multipliers).sum(axis=0), 1e-300)
    return np.maximum(short, abs((multipliers * slacks).sum(axis=0)) / value)


def judged(A, softness, targets, multipliers, weights):
    """The same of one program, whose weights are more accurate than sums by its multipliers."""
    products = A @ weights
    apart = abs(A @ (weights - A.T @ multipliers)).max(initial=0)
    apart /= max((abs(A) @ (abs(A).T @ multipliers)).max(initial=0), 1e-300)
    worst = max(apart, violation(softness, targets, multipliers, products))
    return Solved(multipliers, products, weights, worst)


def vanishing(A, grown, targets):
    """Multipliers that may grow for ever, near those that have grown, if there are such."""
    for least in (0, FADING):
        some = np.flatnonzero(grown > least * grown.max())
        # in units in which all have grown by 1, and all columns are alike
        parts = A[some] * grown[some, None]
        sizes = abs(parts).sum(axis=0)
        parts = parts[:, sizes > 0] / sizes[sizes > 0]
        sums = parts.sum(axis=0)
        if not len(some) or abs(sums).max(initial=0) > NEARLY:
            continue
        factors = 1 - np.linalg.lstsq(parts.T, sums)[0]
        found = np.zeros(len(grown))
        found[some] = factors * grown[some] / grown.max()
        vanished = abs(factors @ parts) <= VANISHED * (factors @ abs(parts))
        if (factors >= 0).all() and vanished.all() and found @ targets > 0:
            return found
    return None


def closer(base, found, given):
    """Weights by the base or as a sum of rows, whichever gives the products better."""
    both = np.stack([base @ found.weights, given.T @ found.multipliers], axis=1)
    return both[:, abs(given @ both - found.products[:, None]).max(axis=0).argmin()]


class Descent:
    """Blocks from points along which ``|w|^2 + sum max(0, target - product)^2 / softness`` falls.

    A whole exchange is Newton's step for this function; where that goes too far, part of it is
    taken, so that no block comes twice.
    """

    def __init__(self, softness, targets):
        self.softness, self.targets = softness[:, None], targets
        self.multipliers = self.products = None

    def step(self, multipliers, products, programs):
        """Blocks of some programs, after the step to these points, or part of it.

        And whether the function fell, more than by rounding.
        """
        targets = self.targets[:, programs]
        if self.multipliers is None:
            self.multipliers, self.products = np.zeros((2, *self.targets.shape))
            self.reached = np.full(self.targets.shape[1], np.inf)
        old, before = self.multipliers[:, programs], self.products[:, programs]
        squares = [(old * before).sum(0), (old * products).sum(0), (multipliers * products).sum(0)]

        def slope(part):
            missing = np.maximum(targets - before - part * (products - before), 0)
            norm = (part - 1) * squares[0] + (1 - 2 * part) * squares[1] + part * squares[2]
            return norm - (missing * (products - before) / self.softness).sum(axis=0)

        missing = np.maximum(targets - products, 0)
        value = squares[2] / 2 + (missing**2 / self.softness).sum(axis=0) / 2
        part = np.ones(len(programs))
        too_far = value >= self.reached[programs]
        if too_far.any():
            low, high = np.zeros(len(programs)), np.ones(len(programs))
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                falls = slope(middle) < 0
                low, high = np.where(falls, middle, low), np.where(falls, high, middle)
            part = np.where(too_far, high, 1)
            missing = np.maximum(targets - before - part * (products - before), 0)
        self.multipliers[:, programs] = old + part * (multipliers - old)
        self.products[:, programs] = before + part * (products - before)
        norm = (1 - part) ** 2 * squares[0] + 2 * part * (1 - part) * squares[1]
        norm += part**2 * squares[2]
        last = self.reached[programs]
        self.reached[programs] = norm / 2 + (missing**2 / self.softness).sum(axis=0) / 2
        fell = self.reached[programs] < last * (1 - EVEN)
        return self.products[:, programs] < targets, fell


class ByRows:
    """Rows by their inner products, for fewer rows than columns."""

    def __init__(self, Z):
        self.Z, self.B = Z, Z @ Z.T

    def mean_square(self):
        return np.diag(self.B).mean()

    def products(self, combined):
        return self.B @ combined

    def inner(self, inside):
        return self.B.copy() if len(inside) == len(self.B) else self.B[np.ix_(inside, inside)]

    def solved(self, inside, softness, wanted):
        """Combinations of some rows with the products wanted, when each is softened."""
        square = self.inner(inside)
        largest = square.diagonal().max()
        square.flat[:: len(square) + 1] += softness
        lower, failed = dpotrf(square, lower=1, overwrite_a=1)
        if failed or lower.diagonal().min() ** 2 <= DEPENDENT * largest:
            raise Dependent
        return dpotrs(lower, wanted, lower=1)[0]


class ByColumns(ByRows):
    """The same for more rows than columns, where few inner products are needed."""

    def __init__(self, Z):
        self.Z = Z

    def mean_square(self):
        return np.einsum("ij,ij->", self.Z, self.Z) / len(self.Z)

    def products(self, combined):
        return self.Z @ (self.Z.T @ combined)

    def inner(self, inside):
        Z = self.Z[inside]
        return Z @ Z.T

    def solved(self, inside, softness, wanted):
        if len(inside) <= self.Z.shape[1]:
            return super().solved(inside, softness, wanted)
        if not softness.all():
            raise Dependent
        Z = self.Z[inside]
        scaled = Z / np.sqrt(softness)[:, None]
        square = scaled.T @ scaled
        square.flat[:: len(square) + 1] += 1
        lower, failed = dpotrf(square, lower=1, overwrite_a=1)
        if failed:
            raise Dependent
        soft, found = softness[:, None], np.zeros(wanted.shape)
        for _ in range(2):  # once more, for what rounding has left
            left = wanted - soft * found - Z @ (Z.T @ found)
            weights = dpotrs(lower, Z.T @ (left / soft), lower=1)[0]
            found += (left - Z @ weights) / soft
        return found
