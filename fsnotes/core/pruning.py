"""Greedy selection under a bound: features are removed one by one, then exchanged one for one."""

from dataclasses import replace

import numpy as np

from fsnotes.core.bounds import minimax

__all__ = ["fewest_features", "remove_features"]

# Every feature is tried as the one that leaves where there are at most FEW, else the FEW_STARTS
# that cost least; in the place of each that leaves, so many NEWCOMERS are tried.
FEW = 8
FEW_STARTS = 3
NEWCOMERS = 8
# An exchange has to raise kappa by more than this part of it, which is above rounding.
LEAST_GAIN = 1e-9
# This part of each variance is added to it, so that features that depend on each other have an
# inverse, by which one of them may leave freely.
TINY_RIDGE = 1e-10
# A newcomer of which the features present leave less than this part of its variance adds nothing.
DEPENDENT = 1e-9


def remove_features(pair, features, least_kappa=0.0, n_features=1):
    """Remove features one by one, the one that costs least first, while a bound holds.

    Removal stops when no single feature can go without ``minimax(...).kappa`` falling below
    `least_kappa`, or when `n_features` are left. These and their minimax machine are returned.

    A bound on the loss comes free with each solution: at a fixed mixture m, with
    ``M = m S1 + (1 - m) S2`` and ``w = M^-1 d``, feature j takes ``m (1 - m) w_j^2 / (M^-1)_jj``
    of kappa squared, and another mixture can only do better. So a step costs O(k^3) for k
    features; the last one, which has to refute every candidate, costs O(k^4).
    """
    features = np.asarray(features)
    point = minimax(pair, features)
    while len(features) > max(n_features, 1):
        for rest in _one_less(pair, features, point):
            smaller = minimax(pair, rest)
            if smaller.kappa >= least_kappa and smaller.kappa > 0:
                features, point = rest, smaller
                break
        else:
            break
    return features, point


def fewest_features(pair, features, least_kappa=0.0, n_features=1):
    """Remove features as `remove_features` does, then exchange one feature for one outside.

    When no feature can go, one goes nevertheless, and exchanges raise kappa until the bound holds
    again or none helps. With ``least_kappa=0`` exchanges raise kappa at `n_features`.
    """
    features, point = remove_features(pair, features, least_kappa, n_features)
    if least_kappa == 0:
        return _exchange(pair, features, point, np.inf)
    while len(features) > max(n_features, 1):
        rests = _one_less(pair, features, point)
        for rest in rests if len(features) <= FEW else rests[:FEW_STARTS]:
            fewer, smaller = _exchange(pair, rest, minimax(pair, rest), least_kappa)
            if smaller.kappa >= least_kappa:
                features, point = fewer, smaller
                break
        else:
            break
    return features, point


def _exchange(pair, features, point, goal):
    """Exchange one feature for one, whichever raises kappa most, until the goal or no more."""
    while point.kappa < goal:
        best = point.kappa * (1 + LEAST_GAIN)
        found = None
        newcomers = _newcomers(pair, features, point)
        concerned = np.unique(np.concatenate([features, *newcomers]))
        few = pair.subset(concerned)
        for leaver, outsiders in enumerate(newcomers):
            rest = np.delete(features, leaver)
            for outsider in outsiders:
                tried = np.append(rest, outsider)
                other = minimax(few, np.searchsorted(concerned, tried))
                if other.kappa > best:
                    best = other.kappa
                    found = tried, other
        if found is None:
            break
        features, point = found
    order = np.argsort(features)
    return features[order], replace(point, weights=point.weights[order])


def _newcomers(pair, features, point):
    """For each feature that may leave, the most promising ones outside.

    A newcomer j adds ``(d_j - M_j w)^2 / (M_jj - M_j M^-1 M_j)`` to ``d' M^-1 d`` at a fixed
    mixture, and so at least as much, times ``m (1 - m)``, to kappa squared. With the inverse B
    of all features' M, and P_j its product with M_j, the numerator's root without feature l is
    ``d_j - M_j w + w_l P_lj / B_ll``, and the denominator is larger by ``P_lj^2 / B_ll``. So one
    product with all features serves all that leave, and O(n k^2) is the cost of them all.
    """
    m = point.mixture
    mixed = m * pair.covariance_rows(0, features) + (1 - m) * pair.covariance_rows(1, features)
    diagonal = np.array([m, 1 - m]) @ pair.variances()
    own = diagonal[features]
    inverse = np.linalg.inv(mixed[:, features] + np.diag(np.where(own > 0, TINY_RIDGE * own, 1)))
    weights = inverse @ pair.mean_diff[features]
    crossed = inverse @ mixed
    steps = crossed / inverse.diagonal()[:, None]
    rest = pair.mean_diff - pair.mean_diff[features] @ crossed + weights[:, None] * steps
    left = diagonal - (mixed * crossed).sum(axis=0) + crossed * steps
    adds = left > DEPENDENT * diagonal
    gains = np.divide(rest**2, left, out=np.zeros_like(rest), where=adds)
    gains[:, features] = 0
    return [_largest(row, NEWCOMERS) for row in gains]


def _largest(values, count):
    """Places of the largest positive values, largest first, and the first of equal ones."""
    least = np.partition(values, -count)[-count] if count < len(values) else 0
    places = np.flatnonzero((values >= least) & (values > 0))
    return places[np.argsort(-values[places], kind="stable")[:count]]


def _losses(pair, features, point):
    """What each feature takes of kappa squared at most, in units of their common factor."""
    m = point.mixture
    mixed = m * pair.block(0, features) + (1 - m) * pair.block(1, features)
    inverse = np.linalg.pinv(mixed, hermitian=True)
    weights = inverse @ pair.mean_diff[features]
    diagonal = np.diag(inverse)
    return np.divide(weights**2, diagonal, out=np.zeros_like(weights), where=diagonal > 0)


def _one_less(pair, features, point):
    """The sets without one of the features that leave a margin, that which costs least first."""
    order = np.argsort(_losses(pair, features, point), kind="stable")
    rests = [np.delete(features, leaver) for leaver in order]
    return [rest for rest in rests if pair.mean_diff[rest].any()]
