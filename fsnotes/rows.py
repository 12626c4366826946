"""Rows of two classes: those that count, with their weights, and equal ones as one."""

import hashlib

import numpy as np

from fsnotes.base import SparseClassifier
from fsnotes.moments import ClassMoments

__all__ = ["RowClassifier", "check_no_nan", "counted", "distinct", "first_of_equals", "merged"]

ORDERING = 8  # columns that tell most rows apart


class RowClassifier(SparseClassifier):
    """A machine of few features that is fitted to rows, of which some may weigh more.

    A subclass has the parameter ``scale`` and the methods ``_check_parameters()`` and
    ``_fit(X, positive, weights)``, which is given the rows of positive weight.
    """

    def fit(self, X, y, sample_weight=None):
        """Fit to data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels of one kind: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._forget()
        return self._fit(*self._weighted(X, y, sample_weight))

    def _weighted(self, X, y, sample_weight):
        """Rows of positive weight, which of them are of ``classes_[1]``, and their weights."""
        X, y, sample_weight = self._validated(X, y, sample_weight)
        X, positive, weights = counted(X, y == self.classes_[1], sample_weight)
        for label, some in zip(self.classes_.tolist(), [~positive, positive], strict=True):
            if not some.any():
                raise ValueError(
                    f"class {label!r} has only rows of weight zero; pass positive weights for some"
                )
        return X, positive, weights

    def _prepared(self, X, positive, weights):
        """Features that vary, their units, and a point amid the classes; sets ``scale_``."""
        moments = ClassMoments.from_data(X, positive, weights, classes=[False, True])
        _, unit = self._units(moments, moments.variances())
        used = np.flatnonzero(unit)
        return used, unit[used], moments.means_.mean(axis=0)


def counted(X, positive, sample_weight):
    """Rows of positive weight."""
    if sample_weight is None:
        return X, positive, np.ones(len(X))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != positive.shape:
        raise ValueError(f"{len(X)} rows, but sample_weight has shape {weights.shape}")
    check_no_nan(weights)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight has negative or infinite values; pass finite ones >= 0")
    counted = weights > 0
    return X[counted], positive[counted], weights[counted]


def check_no_nan(sample_weight):
    """Raise if the weight of a row is no number."""
    if sample_weight is not None and np.isnan(np.asarray(sample_weight, dtype=float)).any():
        raise ValueError("sample_weight contains NaN; pass finite numbers >= 0")


def distinct(X, positive, weights):
    """Rows in an order that is theirs alone, equal ones as one with the sum of their weights."""
    order = np.lexsort((positive, *X.T))
    X, positive = X[order], positive[order]
    new = np.append(True, (X[1:] != X[:-1]).any(axis=1) | (positive[1:] != positive[:-1]))
    weights = np.bincount(np.cumsum(new) - 1, weights[order])
    return X[new], positive[new], weights


def merged(X, positive, weights):
    """The same as `distinct`, in less time where a few columns know the order, as in most data."""
    columns = X[:, -ORDERING:]
    order = np.lexsort(columns.T)
    columns = columns[order]
    if (columns[1:] != columns[:-1]).any(axis=1).all():
        return X[order], positive[order], weights[order]
    return distinct(X, positive, weights)


def first_of_equals(vectors):
    """Places of the first of equal vectors each, in order; zeros of either sign are equal.

    Parameters
    ----------
    vectors : ndarray
        One a row.

    Returns
    -------
    ndarray of int
    """
    places = {}
    for place, vector in enumerate(vectors):
        # -0.0 differs from 0.0 in its bytes; digests take less room than they
        places.setdefault(hashlib.sha256(vector + 0.0).digest(), place)
    return np.array(list(places.values()), dtype=int)
