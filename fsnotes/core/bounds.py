"""The bound of Chebyshev and Cantelli: the accuracy that means and covariances guarantee."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, special
from scipy.optimize import brentq

from fsnotes.errors import EqualMeansError

__all__ = ["Frontier", "FrontierPoint", "delta", "kappa", "minimax"]

# A class without variance gets at least this part of the margin between the means.
LEAST_SPLIT = 1e-6
# Correlations count as regular where no pivot of their Cholesky factor, the deviation that is
# left to a feature by those before it, is below this: its square, 1e-8, is far above rounding.
SURELY_REGULAR = 1e-4
# Newton's method on the mixture ends at a step of this size; it takes four to six steps.
SMALLEST_STEP = 1e-9
MAX_NEWTON = 10
# A coordinate of the difference of means below this, in standard deviations, is rounding.
LEAST_KAPPA = 1e-7
# Eigenvalues of the first class as close as this to 0 or 1 have lost their digits.
NEAR_EDGE = 1e-8
# Beyond this logit of the mixture m, 1 - m is the rounding of 1.
MOST_LOGIT = 36.0


def kappa(delta):
    """Standard deviations between a mean and the boundary for which accuracy `delta` is certain.

    It is ``sqrt(delta / (1 - delta))``, and infinity at 1.
    """
    delta = np.asarray(delta, dtype=float)
    with np.errstate(divide="ignore"):
        return np.sqrt(delta / (1 - delta))[()]


def delta(kappa):
    """Accuracy that is certain at `kappa` standard deviations; the inverse of `kappa`."""
    kappa = np.asarray(kappa, dtype=float)
    with np.errstate(divide="ignore", over="ignore"):
        return (1 / (1 + kappa**-2.0))[()]


@dataclass(frozen=True)
class FrontierPoint:
    """Weights with a margin of one between the class means, and the bounds that they reach."""

    weights: np.ndarray  # with ``mean_diff @ weights == 1``
    deviations: np.ndarray  # standard deviations of both classes along the weights
    kappa: float  # ``1 / deviations.sum()``, the deviations between each mean and the boundary
    margin_split: np.ndarray  # how the boundary divides the margin between the classes
    mixture: float  # the place on the `Frontier`


class Frontier:
    """Weights for which no others guarantee more to one class and no less to the other.

    They are ``w(m) = (m S1 + (1 - m) S2)^-1 d`` with ``kappa1 = m s1`` and ``kappa2 = (1 - m) s2``,
    for mixtures m from 0 to 1. One eigendecomposition is computed; then a point costs O(n). With
    `separating` weights, along which the means differ and neither class varies, both bounds are 1.

    O(n^3) time and O(n^2) memory, or O(N^2 n) and O(N n) if there are fewer rows N than features.
    """

    def __init__(self, pair):
        decompose = _decompose_factors if pair.is_wide else _decompose_matrices
        if pair.needs_factors:
            decompose = _decompose_dependent
        # variance of class 1 in each direction, where the sum of both variances is 1
        first, self._mean_diff, self._basis, self._rows, null = decompose(pair)
        edge = 10 * len(first) * np.finfo(float).eps
        self._first = np.where(first < edge, 0, np.where(first > 1 - edge, 1, first))
        self._second = 1 - self._first
        if pair.needs_factors:
            self._refine_by_factors(pair)
        elif not pair.is_wide:
            self._refine_near_edges(pair)
        # Where one class alone has variance, a small difference of means is left by rounding.
        one_class = (self._first == 0) | (self._second == 0)
        self._mean_diff[one_class & (abs(self._mean_diff) < LEAST_KAPPA)] = 0
        if null is None and not self._mean_diff.any():
            raise EqualMeansError(
                "the class means differ by rounding alone, so no linear machine tells the classes "
                "apart by moments; transform the features, by squares for example"
            )
        variances = np.array([self._first, self._second])
        squares = variances * self._mean_diff**2
        self._both = variances[:, ~one_class]
        self._inner = squares[:, ~one_class].T
        self._always = squares[:, one_class].sum(axis=1)
        self.separating = None if null is None else null / (pair.mean_diff @ null)

    def _refine_near_edges(self, pair):
        """Compute small variances to their own digits, which eigenvalues near 0 and 1 lose."""
        near = np.flatnonzero((self._first < NEAR_EDGE) | (self._second < NEAR_EDGE))
        vectors = self._basis.T[near]
        for index, variances in enumerate((self._first, self._second)):
            block = pair.block(index)
            found = (vectors @ block * vectors).sum(axis=1)
            size = 100 * len(block) * np.finfo(float).eps
            noise = size * (abs(vectors) @ abs(block) * abs(vectors)).sum(axis=1)
            own = variances[near] < NEAR_EDGE
            # directions themselves are exact to about 1e-13, of which this is the square and more
            variances[near[own]] = np.where(found > np.maximum(noise, 1e-20), found, 0)[own]

    def _refine_by_factors(self, pair):
        """Compute each variance as a sum of squares, which has digits of its own."""
        everything = np.arange(len(pair.mean_diff))
        squares = [((factor @ self._basis) ** 2).sum(axis=0) for factor in pair.factors(everything)]
        self._first, self._second = (np.where(found > 1e-20, found, 0) for found in squares)

    def kappas(self, mixture):
        """The pair (kappa1, kappa2) at a `mixture` from 0 to 1, or at several, one row each."""
        mixture = np.asarray(mixture, dtype=float)
        if self.separating is not None:
            return np.full((*mixture.shape, 2), np.inf)
        both = np.stack([mixture, 1 - mixture], axis=-1)
        spread = both @ self._both
        # directions in which one class alone has variance give it the same everywhere
        return np.sqrt(both**2 * (1 / (spread * spread) @ self._inner) + self._always)

    def point(self, mixture):
        """The `FrontierPoint` at a `mixture` from 0 to 1. The margin is divided as it falls."""
        if self.separating is not None:
            half = np.array([0.5, 0.5])
            return FrontierPoint(self.separating, np.zeros(2), np.inf, half, 0.5)
        spread = mixture * self._first + (1 - mixture) * self._second
        free = (spread == 0) & (self._mean_diff != 0)
        if free.any():  # at an end, directions in which the class that counts does not vary
            coordinates = np.where(free, self._mean_diff, 0)
        else:
            coordinates = self._mean_diff / np.where(spread > 0, spread, 1)
        margin = self._mean_diff @ coordinates
        weights = self._basis @ coordinates / margin
        if self._rows is not None:
            weights = weights @ self._rows
        squares = np.array([self._first, self._second]) @ coordinates**2
        deviations = np.sqrt(squares) / margin
        if free.any():
            split = np.clip([1 - mixture, mixture], LEAST_SPLIT, 1 - LEAST_SPLIT)
        else:
            split = np.array([mixture, 1 - mixture]) * squares
        kappa = 1 / deviations.sum()
        return FrontierPoint(weights, deviations, kappa, split / split.sum(), mixture)

    def mixture_at(self, kappa1):
        """The mixture at which class 1 gets `kappa1`; an end of the frontier if none does."""
        least, most = self.kappas([0, 1])[:, 0]
        if kappa1 <= least or kappa1 >= most:
            return float(kappa1 >= most)

        def kappa1_at(logit):
            return self.kappas(special.expit(logit))[0]

        goal = np.clip(kappa1, kappa1_at(-MOST_LOGIT), kappa1_at(MOST_LOGIT))
        found = brentq(lambda x: kappa1_at(x) - goal, -MOST_LOGIT, MOST_LOGIT, xtol=1e-13)
        return float(special.expit(found))

    def kappa2_max(self, kappa1):
        """The largest kappa2 beside a `kappa1`; -inf if `kappa1` itself is out of reach.

        Where one class does not vary along some direction, its kappa is unlimited, and what the
        other gets there is a supremum that is not attained.
        """
        (least1, _), (most1, least2) = self.kappas([0, 1])
        if kappa1 > most1 * (1 + 1e-14):  # sums of one and of several rows round differently
            return float(least2) if least2 > 0 else -np.inf
        if kappa1 <= least1 and least1 > 0:
            return np.inf
        return float(self.kappas(self.mixture_at(kappa1))[1])

    def balanced(self):
        """The minimax probability machine: the largest bound that both classes share."""
        if self.separating is not None:
            return self.point(0.5)

        def unbalance(mixture):
            """Difference of both kappas, which rises with the mixture."""
            kappa1, kappa2 = self.kappas(mixture)
            return kappa1 - kappa2

        low, high = 1e-9, 1 - 1e-9
        if unbalance(low) >= 0:
            mixture = low
        elif unbalance(high) <= 0:
            mixture = high
        else:
            mixture = brentq(unbalance, low, high, xtol=1e-12, rtol=1e-12)
        point = self.point(mixture)
        split = np.clip(point.deviations * point.kappa, LEAST_SPLIT, 1 - LEAST_SPLIT)
        return replace(point, margin_split=split / split.sum())


def _decompose_matrices(pair):
    """Directions that are uncorrelated in both classes, from matrices of features by features.

    Returns the variances of class 1 along them, where those of both classes add up to 1, the
    coordinates of the difference of means, the directions, one a column, None, and weights along
    which the means differ and neither class varies, or None.
    """
    first, second = pair.block(0), pair.block(1)
    total = first + second
    unit = np.sqrt(np.diag(total))
    unit = np.where(unit > 0, unit, 1)
    total = total / unit / unit[:, None]
    null = None
    triangle, failed = linalg.lapack.dpotrf(total, lower=1)
    if not failed and np.diag(triangle).min() > SURELY_REGULAR:
        # this takes a third of the time of the eigenvectors, which only near singularity are needed
        inverse, _ = linalg.lapack.dtrtri(triangle, lower=1)
        basis = inverse.T / unit[:, None]
    else:
        mean_diff = pair.mean_diff / unit
        values, vectors = np.linalg.eigh(total)
        kept = values > _rounding(values)
        values, vectors = values[kept], vectors[:, kept]
        null = _outside(mean_diff, vectors @ (vectors.T @ mean_diff))
        if null is not None:
            # within the rounding of the directions left out, the difference of means is unknown
            is_known = np.linalg.norm(null) > 1e3 * np.sqrt(_rounding(values))
            null = null / unit if is_known else None
        basis = vectors / np.sqrt(values) / unit[:, None]
    first, turn = np.linalg.eigh(basis.T @ first @ basis)
    basis = basis @ turn
    return first, basis.T @ pair.mean_diff, basis, None, null


def _decompose_dependent(pair):
    """Return what `_decompose_matrices` does, from factors of which no product is formed."""
    rows = np.vstack(pair.factors(np.arange(len(pair.mean_diff))))
    unit = np.linalg.norm(rows, axis=0)
    unit = np.where(unit > 0, unit, 1)
    left, values, right = np.linalg.svd(rows / unit, full_matrices=False)
    rounding = 10 * len(values) * np.finfo(float).eps * values.max(initial=0)
    kept = values > rounding
    right = right[kept]
    mean_diff = pair.mean_diff / unit
    null = _outside(mean_diff, right.T @ (right @ mean_diff))
    if null is not None:
        # within the rounding of the directions left out, the difference of means is unknown
        null = null / unit if np.linalg.norm(null) > 1e3 * rounding else None
    basis = right.T / values[kept] / unit[:, None]
    of_first = left[: len(pair.factors([])[0])][:, kept]
    first, turn = np.linalg.eigh(of_first.T @ of_first)
    basis = basis @ turn
    return first, basis.T @ pair.mean_diff, basis, None, null


def _decompose_factors(pair):
    """Return what `_decompose_matrices` does, from factors of fewer rows than features.

    The directions are combinations of rows, which are returned with them.
    """
    ridge = float(pair.ridge.any())
    # where there is a ridge, its units make it a multiple of the identity
    unit = np.sqrt(pair.ridge if ridge else pair.variances().sum(axis=0))
    unit = np.where(unit > 0, unit, 1)
    mean_diff = pair.mean_diff / unit
    rows = pair.factor_rows() / unit
    values, left = np.linalg.eigh(rows @ rows.T)
    kept = values > _rounding(values)
    values, left = values[kept], left[:, kept]
    size = np.sqrt(values)
    inside = (left.T @ (rows @ mean_diff)) / size  # coordinates in an orthonormal basis of the rows
    null = _outside(mean_diff, (left / size @ inside) @ rows)
    first = left[: len(pair._factors[0])] * size
    total = np.sqrt(values + 2 * ridge)
    within = (first.T @ first + ridge * np.eye(len(values))) / total / total[:, None]
    whitened = inside / total
    basis = left / (total * size)
    if ridge and null is not None:
        # beyond the rows both classes have the variance of the ridge alone
        length = np.linalg.norm(null)
        within = linalg.block_diag(within, 0.5)
        whitened = np.append(whitened, length / np.sqrt(2))
        basis = linalg.block_diag(basis, 1 / length / np.sqrt(2))
        rows = np.vstack([rows, null])
        null = None
    first, turn = np.linalg.eigh(within)
    null = None if null is None else null / unit
    return first, turn.T @ whitened, basis @ turn, rows / unit, null


def _rounding(values):
    """The size up to which an eigenvalue is rounding."""
    return 10 * len(values) * np.finfo(float).eps * max(values.max(initial=0), 0)


def _outside(vector, projection):
    """What the projection leaves of the vector, or None if that is rounding."""
    rest = vector - projection
    return rest if np.linalg.norm(rest) > 1e-8 * np.linalg.norm(vector) else None


def minimax(pair, features=None):
    """The minimax probability machine of the features given, or of all, as a `FrontierPoint`.

    Where the class means of the features given are equal, weights and kappa are 0; if those of
    all are, an `EqualMeansError` is raised.
    """
    chosen = pair if features is None else pair.subset(features)
    try:
        return _minimax_by_newton(chosen) or Frontier(chosen).balanced()
    except EqualMeansError:
        if features is None:
            raise
        return FrontierPoint(np.zeros(len(features)), np.zeros(2), 0.0, np.full(2, 0.5), 0.5)


def _minimax_by_newton(pair):
    """Return ``Frontier(pair).balanced()`` at a fraction of the cost, by a Cholesky factor a step.

    None is returned where the covariances are not surely regular, or too unlike.
    """
    if pair.is_wide or pair.needs_factors:
        return None
    covariances = np.array([pair.block(0), pair.block(1)])
    unit = np.sqrt(covariances.sum(axis=0).diagonal() / 2)
    if not unit.all():
        return None
    covariances /= unit * unit[:, None]
    mean_diff = pair.mean_diff / unit
    mixture = 0.5
    for step in range(MAX_NEWTON):
        both = np.array([mixture, 1 - mixture])
        matrix = both[0] * covariances[0] + both[1] * covariances[1]
        factor, failed = linalg.lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if failed or (step == 0 and factor.diagonal().min() <= SURELY_REGULAR):
            return None
        weights, _ = linalg.lapack.dpotrs(factor, mean_diff, lower=1)
        products = covariances @ weights
        squares = products @ weights
        if squares.min() <= SURELY_REGULAR**2 * squares.max():
            return None
        turn, _ = linalg.lapack.dpotrs(factor, products[1] - products[0], lower=1)
        slopes = products @ turn / squares
        unbalance = np.log(both[0] / both[1]) + np.log(squares[0] / squares[1]) / 2
        steepness = 1 / both[0] + 1 / both[1] + slopes[0] - slopes[1]
        if not steepness > SURELY_REGULAR:
            return None
        move = -unbalance / steepness
        if abs(move) <= SMALLEST_STEP:
            margin = mean_diff @ weights
            deviations = np.sqrt(squares) / margin
            kappa = 1 / deviations.sum()
            weights = weights / margin / unit
            return FrontierPoint(weights, deviations, kappa, deviations * kappa, mixture)
        mixture += move
        if not 0.1 < mixture < 0.9:
            return None
    return None
