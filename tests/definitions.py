"""Means, covariances and bounds by their definitions, in a few lines that the package knows not."""

import warnings

import numpy as np

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
