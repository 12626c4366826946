"""Moments, bounds, hinge losses by their definitions, in a few lines that the package knows not."""

import functools
import itertools
import warnings

import numpy as np
from scipy.optimize import linprog

from fsnotes import make_instance
from fsnotes.errors import SelectionWarning, TrivialBoundWarning


def quiet(machine, X, y, **more):
    """Fit where warnings of constant columns and of bounds that say nothing are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        warnings.simplefilter("ignore", TrivialBoundWarning)
        return machine.fit(X, y, **more)


def pooled_deviation(X, y):
    """Pooled within-class standard deviation of each feature."""
    total = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in np.unique(y))
    return np.sqrt(total / len(y))


def known_of(X, y, scale=True, ridge=0.0, weights=None):
    """Means, then covariances, of the higher label and the lower: what a literal statement takes.

    They are measured in units of selection, with the ridge.
    """
    weights = np.ones(len(y)) if weights is None else weights
    Z = X / pooled_deviation(X, y) if scale else X
    means, covariances = [], []
    for label in np.unique(y)[::-1]:
        part = weights[y == label] / weights[y == label].sum()
        means.append(part @ Z[y == label])
        centered = Z[y == label] - means[-1]
        covariances.append(centered.T @ (part[:, None] * centered) + ridge * np.eye(Z.shape[1]))
    return *means, *covariances


def promised(X, y, w, b, extra=0.0):
    """Bounds in the order of the classes, by Chebyshev and Cantelli."""
    found = []
    for label, sign in zip(np.unique(y), (-1, 1), strict=True):
        scores = X[y == label] @ w + b
        margin = sign * scores.mean()
        found.append(0.0 if margin <= 0 else margin**2 / (margin**2 + scores.var() + extra))
    return np.array(found)


def bounds_of(machine, X, y):
    """Bounds of both classes in the caller's units, from rows, labels and coefficients alone."""
    w = machine.coef_[0]
    deviation = pooled_deviation(X, y)
    unit = np.where(deviation > 0, deviation, abs(np.ptp(X, axis=0)))
    extra = machine.ridge * ((w * unit if machine.scale else w) ** 2).sum()
    return promised(X, y, w, machine.intercept_[0], extra)


def kappa_of(features, known):
    """Kappa of the minimax machine of some features, from its concave maximum over mixtures."""
    mean1, mean2, S1, S2 = known
    block = np.ix_(features, features)
    mean_diff = (mean1 - mean2)[features]

    def value(m):
        return (
            m
            * (1 - m)
            * mean_diff
            @ np.linalg.solve((1 - m) * S1[block] + m * S2[block], mean_diff)
        )

    low, high = 0.0, 1.0
    # a step leaves two thirds of the interval, and 100 steps less than rounding
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (a, high) if value(a) < value(b) else (low, b)
    return np.sqrt(value((low + high) / 2))


def kappa_at(bound):
    """Standard deviations at which an accuracy is certain."""
    return np.sqrt(bound / (1 - bound))


def training_accuracies(machine, X, y):
    """The part of each class that is on its side, in the order of the classes."""
    return np.array([np.mean(machine.predict(X[y == c]) == c) for c in machine.classes_])


# ---------------------------------------------------------------- hinge losses


def units(X, y, scale=True):
    """Units of selection; where nothing varies within the classes, the distance of the means."""
    if not scale:
        return np.ones(X.shape[1])
    gap = np.ptp([X[y == c].mean(axis=0) for c in np.unique(y)], axis=0)
    deviation = pooled_deviation(X, y)
    unit = np.where(deviation > 1e-9 * (1 + gap), deviation, gap)
    return np.where(unit > 1e-9, unit, 1)


def scaled(X, y):
    """Rows in units of selection, without constant columns, and labels -1 and +1."""
    varies = X.std(axis=0) > 0
    Z = (X - X.mean(axis=0)) / units(X, y)
    return Z[:, varies], np.where(y == y.max(), 1.0, -1.0)


def in_units(machine):
    return machine.coef_[0] * machine.scale_


def least_loss(Z, signs, w):
    """Sum of hinge losses at the best offset, which is where some row's loss begins."""
    scores = Z @ w
    offsets = signs - scores
    return np.maximum(0, 1 - signs * (scores + offsets[:, None])).sum(axis=1).min()


def descended(Z, signs, w, C, p, floor):
    """What the steps of a zero-norm machine descend, by its definition."""
    if p == 0:
        return C * least_loss(Z, signs, w) + 2 * np.log(np.maximum(abs(w), floor)).sum()
    return C * least_loss(Z, signs, w) + 2 / p * (abs(w) ** p).sum()


def falls_of(run, values, close):
    """Steps record these values of the points, and never rise; return how often they fall."""
    recorded = np.array([step.objective for step in run.result.steps])
    for value in values:
        assert min(abs(recorded - value)) <= close * (1 + abs(value))
    for (_, before), (_, after) in itertools.pairwise(run.visited):
        assert not after[before == 0].any()  # dropped weights stay dropped
    falls = 0
    for before, after in itertools.pairwise(run.result.steps):
        if before.stage == after.stage:
            assert after.objective <= before.objective + 1e-7 * abs(before.objective)
            falls += after.objective < before.objective - 1e-6 * abs(before.objective)
    return falls


def objective_of(machine, X, y, weights=None):
    """What is selected plus C times the sum of hinge losses, from the machine's own answers."""
    weights = np.ones(len(y)) if weights is None else weights
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    chosen = machine.coef_ if hasattr(machine, "coef_") else machine.dual_coef_
    return np.count_nonzero(chosen) + machine.C * weights @ np.maximum(0, 1 - margins)


class Losses:
    """Least sum of hinge losses on some of the features, each program solved once."""

    def __init__(self, Z, signs):
        self.Z, self.signs, self.known = Z, signs, {}

    def __call__(self, features):
        key = tuple(sorted(int(j) for j in features))
        if key not in self.known:
            w = np.zeros(self.Z.shape[1])
            if key:
                N, k = len(self.signs), len(key)
                rows = np.hstack([self.Z[:, key], np.ones((N, 1))]) * self.signs[:, None]
                found = linprog(
                    np.append(np.zeros(k + 1), np.ones(N)),
                    np.hstack([-rows, -np.eye(N)]),
                    -np.ones(N),
                    bounds=[(None, None)] * (k + 1) + [(0, None)] * N,
                    method="highs",
                )
                w[list(key)] = found.x[:k]
            self.known[key] = least_loss(self.Z, self.signs, w), w
        return self.known[key]


@functools.cache
def exact(seed, C):
    """Least ``card + C * hinge losses`` of an instance, and the losses of its sets of features.

    Features never hurt, which prunes.
    """
    losses = Losses(*scaled(*make_instance(seed)))
    best, open_sets = np.inf, [((), tuple(range(losses.Z.shape[1])))]
    while open_sets:
        kept, free = open_sets.pop()
        loss, w = losses(kept + free)
        if len(kept) + C * loss >= best - 1e-9:
            continue
        best = min(best, np.count_nonzero(w) + C * loss)
        if free:
            heavy = max(free, key=lambda j: abs(w[j]))
            rest = tuple(j for j in free if j != heavy)
            open_sets += [(kept, rest), ((*kept, heavy), rest)]
    return best, losses
