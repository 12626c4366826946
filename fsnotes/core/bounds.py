"""The bound of Chebyshev and Cantelli: what means and covariances promise of a linear machine."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg, special
from scipy.optimize import brentq

__all__ = [
    "Frontier",
    "Machine",
    "delta",
    "fewest_features",
    "kappa",
    "least_features",
    "minimax",
]

# of the margin between the means, the least part that a class without variance gets
LEAST_SHARE = 1e-6
# of a unit variance, what the features before leave of it: 1e-8, far from rounding
SURELY_REGULAR = 1e-4
SETTLED, MAX_NEWTON = 1e-9, 10
LEAST_KAPPA = 1e-7
HELD = 1 - 1e-9  # part of a kappa that counts as having reached it
NEAR_EDGE = 1e-8
FEW, FEW_STARTS, NEWCOMERS = 8, 3, 8  # exchanges that are tried
APART = 1e-10  # of a variance
MOST_LOGIT = 36.0  # where 1 - m is the rounding of 1


def kappa(delta):
    """Standard deviations between a mean and the boundary for which accuracy `delta` is certain.

    Parameters
    ----------
    delta : float or array-like
        In [0, 1].

    Returns
    -------
    float or ndarray
        ``sqrt(delta / (1 - delta))``; infinity at 1.

    Examples
    --------
    >>> from fsnotes.core.bounds import delta, kappa
    >>> float(kappa(0.8)), float(delta(2))
    (2.0, 0.8)
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
class Machine:
    """Weights with a margin of one between the class means, and what they promise.

    Attributes
    ----------
    weights : ndarray
        With ``gap @ weights == 1``.
    deviations : ndarray of shape (2,)
        Standard deviations of both classes along the weights.
    kappa : float
        ``1 / deviations.sum()``: standard deviations between each mean and the boundary.
    shares : ndarray of shape (2,)
        How the margin is divided between the classes by the boundary.
    mixture : float
        The place on the frontier, see `Frontier`.
    """

    weights: np.ndarray
    deviations: np.ndarray
    kappa: float
    shares: np.ndarray
    mixture: float


class Frontier:
    """Machines for which no other promises more to one class and no less to the other.

    They are ``w(m) = (m S1 + (1 - m) S2)^-1 d`` with ``kappa1 = m s1`` and ``kappa2 = (1 - m) s2``,
    for m from 0 to 1. One eigendecomposition; then O(n) a point. Along a direction in which neither
    class varies, `separating`, both promises are 1.

    O(n^3) time and O(n^2) memory, or O(N^2 n) and O(N n) if there are fewer rows N than features.

    Parameters
    ----------
    pair : MomentPair

    Attributes
    ----------
    separating : ndarray or None
        Weights along which the means differ and neither class varies, where there are such.
    """

    def __init__(self, pair):
        decompose = _decompose_rows if pair.is_wide else _decompose
        # variance of class 1 in each direction, where the sum of both variances is 1
        first, self._gap, self._expand, null = decompose(pair)
        edge = 10 * len(first) * np.finfo(float).eps
        self._first = np.where(first < edge, 0, np.where(first > 1 - edge, 1, first))
        self._second = 1 - self._first
        if not pair.is_wide:
            self._look_closer(pair)
        # what rounding leaves of the gap where one class alone has variance
        one_class = (self._first == 0) | (self._second == 0)
        self._gap[one_class & (abs(self._gap) < LEAST_KAPPA)] = 0
        variances = np.array([self._first, self._second])
        squares = variances * self._gap**2
        self._both, self._inner = variances[:, ~one_class], squares[:, ~one_class].T
        self._always = squares[:, one_class].sum(axis=1)
        self.separating = None
        if null is not None:
            self.separating = null / (pair.gap @ null)

    def _look_closer(self, pair):
        """Small parts of a variance to their own digits, which eigenvalues near 0 and 1 lose."""
        near = np.flatnonzero((self._first < NEAR_EDGE) | (self._second < NEAR_EDGE))
        if len(near) == 0:
            return
        units = np.eye(len(self._first))[near]
        vectors = np.stack([self._expand(unit) for unit in units])
        for index, parts in enumerate((self._first, self._second)):
            block = pair.block(index)
            found = (vectors @ block * vectors).sum(axis=1)
            size = 100 * len(block) * np.finfo(float).eps
            noise = size * (abs(vectors) @ abs(block) * abs(vectors)).sum(axis=1)
            own = parts[near] < NEAR_EDGE
            # directions themselves are exact to about 1e-13, of which this is the square and more
            parts[near[own]] = np.where(found > np.maximum(noise, 1e-20), found, 0)[own]

    def kappas(self, mixture):
        """The pair (kappa1, kappa2) at a `mixture` from 0 to 1, or at several, one row each."""
        mixture = np.asarray(mixture, dtype=float)
        if self.separating is not None:
            return np.full((*mixture.shape, 2), np.inf)
        shares = np.stack([mixture, 1 - mixture], axis=-1)
        spread = shares @ self._both
        # directions in which one class alone has variance promise it the same everywhere
        return np.sqrt(shares**2 * (1 / (spread * spread) @ self._inner) + self._always)

    def machine(self, mixture):
        """The machine at a `mixture` from 0 to 1; the balance is left as it falls."""
        if self.separating is not None:
            half = np.array([0.5, 0.5])
            return Machine(self.separating, np.zeros(2), np.inf, half, 0.5)
        spread = mixture * self._first + (1 - mixture) * self._second
        free = (spread == 0) & (self._gap != 0)
        if free.any():  # at an end, directions in which the class that counts does not vary
            coordinates = np.where(free, self._gap, 0)
        else:
            coordinates = self._gap / np.where(spread > 0, spread, 1)
        margin = self._gap @ coordinates
        weights = self._expand(coordinates) / margin
        squares = np.array([self._first, self._second]) @ coordinates**2
        deviations = np.sqrt(squares) / margin
        shares = np.array([mixture, 1 - mixture]) * squares
        if free.any():
            shares = np.clip([1 - mixture, mixture], LEAST_SHARE, 1 - LEAST_SHARE)
        return Machine(weights, deviations, 1 / deviations.sum(), shares / shares.sum(), mixture)

    def mixture_at(self, kappa1):
        """The mixture at which class 1 gets `kappa1`; an end of the frontier if none does."""
        least, most = self.kappas([0, 1])[:, 0]
        if kappa1 <= least or kappa1 >= most:
            return float(kappa1 >= most)

        def excess(logit):
            return self.kappas(special.expit(logit))[0] - kappa1

        if excess(-MOST_LOGIT) >= 0 or excess(MOST_LOGIT) <= 0:
            return float(special.expit(MOST_LOGIT * np.sign(kappa1 - (least + most) / 2)))
        return float(special.expit(brentq(excess, -MOST_LOGIT, MOST_LOGIT, xtol=1e-13)))

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
            return self.machine(0.5)
        low, high = 1e-9, 1 - 1e-9

        squares = self._gap**2
        first, second = self._first * squares, self._second * squares

        def unbalance(mixture):
            """Of the squares of both kappas."""
            other = 1 - mixture
            spread = mixture * self._first + other * self._second
            return (mixture**2 * first - other**2 * second) @ (1 / spread**2)

        if unbalance(low) >= 0:
            mixture = low
        elif unbalance(high) <= 0:
            mixture = high
        else:
            if unbalance(0.25) < 0 < unbalance(0.75):  # the common case, in fewer steps
                low, high = 0.25, 0.75
            mixture = brentq(unbalance, low, high, xtol=1e-12, rtol=1e-12)
        machine = self.machine(mixture)
        shares = np.clip(machine.deviations * machine.kappa, LEAST_SHARE, 1 - LEAST_SHARE)
        return Machine(
            machine.weights, machine.deviations, machine.kappa, shares / shares.sum(), mixture
        )


def _decompose(pair):
    """From matrices of features by features."""
    first, second = pair.block(0), pair.block(1)
    total = first + second
    unit = np.sqrt(np.diag(total))
    unit = np.where(unit > 0, unit, 1)
    total = total / unit / unit[:, None]
    gap, null = pair.gap / unit, None
    try:
        triangle = np.linalg.cholesky(total)
    except np.linalg.LinAlgError:
        triangle = None
    if triangle is not None and np.diag(triangle).min() > SURELY_REGULAR:
        # a third of the time of the eigenvectors, which only near singularity are needed
        inverse, _ = linalg.lapack.dtrtri(triangle, lower=1)
        basis = inverse.T / unit[:, None]
    else:
        values, vectors = np.linalg.eigh(total)
        kept = values > _rounding(values)
        values, vectors = values[kept], vectors[:, kept]
        # within the rounding of the directions left out, their part of the gap is unknown
        null = _outside(gap, vectors @ (vectors.T @ gap))
        if null is not None and np.linalg.norm(null) <= 1e3 * np.sqrt(_rounding(values)):
            null = None
        basis = vectors / np.sqrt(values) / unit[:, None]
    first, turn = np.linalg.eigh(basis.T @ first @ basis)
    basis = basis @ turn
    return (
        first,
        basis.T @ pair.gap,
        partial(np.matmul, basis),
        None if null is None else null / unit,
    )


def _decompose_rows(pair):
    """From the rows of both factors, where they are fewer than the features."""
    ridged = bool(pair.ridge.any())
    # where there is a ridge, its units make it a multiple of the identity
    unit = np.sqrt(pair.ridge if ridged else pair.variances().sum(axis=0))
    unit = np.where(unit > 0, unit, 1)
    ridge = 1.0 if ridged else 0.0
    gap, rows = pair.gap / unit, pair.factor_rows() / unit
    values, left = np.linalg.eigh(rows @ rows.T)
    kept = values > _rounding(values)
    values, left = values[kept], left[:, kept]
    size = np.sqrt(values)
    inside = (left.T @ (rows @ gap)) / size  # the gap in the orthonormal basis of the rows
    null = _outside(gap, (left / size @ inside) @ rows)
    first = left[: len(pair._factors[0])] * size
    total = np.sqrt(values + 2 * ridge)
    within = (first.T @ first + ridge * np.eye(len(values))) / total / total[:, None]
    whitened = inside / total
    if ridged and null is not None:
        # beyond the rows both classes have the variance of the ridge alone
        length = np.linalg.norm(null)
        within = np.pad(within, (0, 1))
        within[-1, -1] = 0.5
        whitened = np.append(whitened, length / np.sqrt(2 * ridge))
        beyond, null = null / length / np.sqrt(2 * ridge) / unit, None
    else:
        beyond = 0.0

    first, turn = np.linalg.eigh(within)
    expand = partial(_expand_rows, turn, total * size, left, rows, unit, beyond)
    return first, turn.T @ whitened, expand, None if null is None else null / unit


def _expand_rows(turn, length, left, rows, unit, beyond, coordinates):
    """Weights of the features; function and arrays apart, since closures cannot be pickled."""
    coordinates = turn @ coordinates
    inner, outer = coordinates[: len(length)], coordinates[len(length) :].sum()
    return (left @ (inner / length)) @ rows / unit + outer * beyond


def _rounding(values):
    return 10 * len(values) * np.finfo(float).eps * max(values.max(initial=0), 0)


def _outside(gap, projection):
    """What the projection leaves of the gap, or None if that is rounding."""
    rest = gap - projection
    return rest if np.linalg.norm(rest) > 1e-8 * np.linalg.norm(gap) else None


def minimax(pair, features=None):
    """The minimax probability machine of the features given, or of all."""
    pair = pair if features is None else pair.subset(features)
    return _minimax_by_newton(pair) or Frontier(pair).balanced()


def _minimax_by_newton(pair):
    """The same at a fraction of the cost, where it may: balanced, and surely regular.

    Newton's method on the mixture at which ``kappa1 == kappa2``, a Cholesky factor a step. None
    where it may not.
    """
    if pair.is_wide:
        return None
    covariances = np.array([pair.block(0), pair.block(1)])
    unit = np.sqrt(covariances.sum(axis=0).diagonal() / 2)
    if not unit.all():
        return None
    covariances /= unit * unit[:, None]
    gap, mixture = pair.gap / unit, 0.5
    for step in range(MAX_NEWTON):
        both = np.array([mixture, 1 - mixture])
        matrix = both[0] * covariances[0] + both[1] * covariances[1]
        factor, failed = linalg.lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if failed or (step == 0 and factor.diagonal().min() <= SURELY_REGULAR):
            return None
        weights, _ = linalg.lapack.dpotrs(factor, gap, lower=1)
        pushes = covariances @ weights
        squares = pushes @ weights
        if squares.min() <= SURELY_REGULAR**2 * squares.max():
            return None
        turn, _ = linalg.lapack.dpotrs(factor, pushes[1] - pushes[0], lower=1)
        slopes = pushes @ turn / squares
        unbalance = np.log(both[0] / both[1]) + np.log(squares[0] / squares[1]) / 2
        steepness = 1 / both[0] + 1 / both[1] + slopes[0] - slopes[1]
        if not steepness > SURELY_REGULAR:
            return None
        move = -unbalance / steepness
        if abs(move) <= SETTLED:
            margin = gap @ weights
            deviations = np.sqrt(squares) / margin
            kappa = 1 / deviations.sum()
            return Machine(weights / margin / unit, deviations, kappa, deviations * kappa, mixture)
        mixture += move
        if not 0.1 < mixture < 0.9:
            return None
    return None


def least_features(pair, features, least_kappa=0.0, n_features=1):
    """Remove features one by one, the one that costs least first, while a bound holds.

    Removal stops when no single feature can go without ``minimax(...).kappa`` falling below
    `least_kappa`, or when `n_features` are left.

    A bound on the loss comes free with each machine: at a fixed mixture m, with
    ``M = m S1 + (1 - m) S2`` and ``w = M^-1 d``, feature j takes ``m (1 - m) w_j^2 / (M^-1)_jj``
    of kappa squared, and another mixture can only do better. So a step costs O(k^3) for k
    features; the last one, which has to refute every candidate, O(k^4).
    """
    features = np.asarray(features)
    machine = minimax(pair, features)
    while len(features) > max(n_features, 1):
        for candidate in np.argsort(_losses(pair, features, machine), kind="stable"):
            rest = np.delete(features, candidate)
            if not pair.gap[rest].any():
                continue
            smaller = minimax(pair, rest)
            if smaller.kappa >= least_kappa:
                features, machine = rest, smaller
                break
        else:
            break
    return features, machine


def fewest_features(pair, features, least_kappa=0.0, n_features=1):
    """As `least_features`, then with exchanges of one feature for one outside.

    When no feature can go, one goes nevertheless, and exchanges raise kappa until the bound holds
    again or none helps. With ``least_kappa=0`` exchanges raise kappa at `n_features`.
    """
    features, machine = least_features(pair, features, least_kappa, n_features)
    if least_kappa == 0:
        return _exchanged(pair, features, machine, np.inf)
    while len(features) > max(n_features, 1):
        order = np.argsort(_losses(pair, features, machine), kind="stable")
        for candidate in order if len(order) <= FEW else order[:FEW_STARTS]:
            rest = np.delete(features, candidate)
            if not pair.gap[rest].any():
                continue
            fewer, smaller = _exchanged(pair, rest, minimax(pair, rest), least_kappa)
            if smaller.kappa >= least_kappa:
                features, machine = fewer, smaller
                break
        else:
            break
    return features, machine


def _exchanged(pair, features, machine, goal):
    """Exchange one feature for one, whichever raises kappa most, until the goal or no more."""
    while machine.kappa < goal:
        best = machine.kappa * (1 + 1e-9)
        found = None
        newcomers = _newcomers(pair, features, machine)
        concerned = np.unique(np.concatenate([features, *newcomers]))
        few = pair.subset(concerned)
        for leaver, outsiders in enumerate(newcomers):
            rest = np.delete(features, leaver)
            for outsider in outsiders:
                tried = np.append(rest, outsider)
                other = minimax(few, np.searchsorted(concerned, tried))
                if other.kappa > best:
                    best, found = other.kappa, (tried, other)
        if found is None:
            break
        features, machine = found
    order = np.argsort(features)
    if (np.diff(order) == 1).all():
        return features, machine
    return features[order], minimax(pair, features[order])


def _newcomers(pair, features, machine):
    """For each feature to leave, the most promising ones outside.

    A newcomer j adds ``(d_j - M_j w)^2 / (M_jj - M_j M^-1 M_j)`` to ``d' M^-1 d`` at a fixed
    mixture, and so at least as much, times ``m (1 - m)``, to kappa squared. With the inverse B
    of all features' M, and P_j its product with M_j, the numerator's root without feature l is
    ``d_j - M_j w + w_l P_lj / B_ll``, and the denominator is larger by ``P_lj^2 / B_ll``. So one
    product with all features serves all that leave, and O(n k^2) is the cost of them all.
    """
    m = machine.mixture
    mixed = m * pair.rows(0, features) + (1 - m) * pair.rows(1, features)
    diagonal = np.array([m, 1 - m]) @ pair.variances()
    own = diagonal[features]
    # a hair apart, features that depend on each other have an inverse, and one may leave freely
    inverse = np.linalg.inv(mixed[:, features] + np.diag(np.where(own > 0, APART * own, 1)))
    weights, crossed = inverse @ pair.gap[features], inverse @ mixed
    steps = crossed / inverse.diagonal()[:, None]
    rest = pair.gap - pair.gap[features] @ crossed + weights[:, None] * steps
    left = diagonal - (mixed * crossed).sum(axis=0) + crossed * steps
    gains = np.where(left > 1e-9 * diagonal, rest**2 / np.maximum(left, 1e-300), 0)
    gains[:, features] = 0
    return [_most(row, NEWCOMERS) for row in gains]


def _most(values, count):
    """Places of the largest positive values, the first of equal ones, largest first."""
    if count < len(values):
        least = np.partition(values, -count)[-count]
    else:
        least = 0
    places = np.flatnonzero((values >= least) & (values > 0))
    return places[np.argsort(-values[places], kind="stable")[:count]]


def _losses(pair, features, machine):
    """What each feature takes of kappa squared at most, in units of their common factor."""
    m = machine.mixture
    matrix = m * pair.block(0, features) + (1 - m) * pair.block(1, features)
    inverse = np.linalg.pinv(matrix, hermitian=True)
    weights = inverse @ pair.gap[features]
    diagonal = np.diag(inverse)
    return np.divide(weights**2, diagonal, out=np.zeros_like(weights), where=diagonal > 0)
