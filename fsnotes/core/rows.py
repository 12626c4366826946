"""Rows and their classes: those that count, with their weights, and equal ones as one."""

import hashlib

import numpy as np

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.moments import ClassMoments

__all__ = ["RowClassifier", "check_no_nan", "counted", "distinct", "first_of_equals", "merged"]

ORDERING = 8  # columns that tell most rows apart


class RowClassifier(SparseClassifier):
    """A machine of few features that is fitted to rows, of which some may weigh more.

    A subclass has the parameter ``scale`` and the methods ``_check_parameters()`` and
    ``_fit(X, positive, weights)``, which is given the rows of positive weight, and which of them
    are of ``classes_[1]``; with ``many_classes`` the place of the class of each.
    """

    def fit(self, X, y, sample_weight=None):
        """Fit to data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of one kind: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._clear_fit()
        return self._fit(*self._weighted(X, y, sample_weight))

    def _weighted(self, X, y, sample_weight):
        """Rows of positive weight, the class of each, as `_fit` gets it, and their weights."""
        X, y, sample_weight = self._validated(X, y, sample_weight)
        of_class = np.searchsorted(self.classes_, y)
        X, of_class, weights = counted(
            X, of_class if self.many_classes else of_class == 1, sample_weight
        )
        for place, label in enumerate(self.classes_.tolist()):
            if not (of_class == place).any():
                raise ValueError(
                    f"class {label!r} has only rows of weight zero; pass positive weights for some"
                )
        return X, of_class, weights

    def _prepared(self, X, of_class, weights):
        """Features that vary, their units, and a point amid the classes; sets ``scale_``."""
        places = np.arange(len(self.classes_)).astype(of_class.dtype)
        moments = ClassMoments.from_data(X, of_class, weights, classes=places)
        _, unit = self._units(moments, moments.variances())
        used = np.flatnonzero(unit)
        return used, unit[used], moments.means_.mean(axis=0)

    def _set_planes(self, W, used, unit, center):
        """Set the planes from weights and offsets of all classes, given for features as prepared.

        Of two classes that of ``classes_[1]``.
        """
        coef = np.zeros((len(self.classes_), self.n_features_in_))
        coef[:, used] = W[:-1].T / unit
        intercept = W[-1] - coef @ center
        both = len(self.classes_) == 2
        self.coef_, self.intercept_ = (coef[1:], intercept[1:]) if both else (coef, intercept)


def counted(X, of_class, sample_weight):
    """Rows of positive weight."""
    if sample_weight is None:
        return X, of_class, np.ones(len(X))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != of_class.shape:
        raise ValueError(f"{len(X)} rows, but sample_weight has shape {weights.shape}")
    check_no_nan(weights)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight has negative or infinite values; pass finite ones >= 0")
    counted = weights > 0
    return X[counted], of_class[counted], weights[counted]


def check_no_nan(sample_weight):
    """Raise if the weight of a row is no number."""
    if sample_weight is not None and np.isnan(np.asarray(sample_weight, dtype=float)).any():
        raise ValueError("sample_weight contains NaN; pass finite numbers >= 0")


def distinct(X, of_class, weights):
    """Rows in an order that is theirs alone, equal ones as one with the sum of their weights."""
    order = np.lexsort((of_class, *X.T))
    X, of_class = X[order], of_class[order]
    new = np.append(True, (X[1:] != X[:-1]).any(axis=1) | (of_class[1:] != of_class[:-1]))
    weights = np.bincount(np.cumsum(new) - 1, weights[order])
    return X[new], of_class[new], weights


def merged(X, of_class, weights):
    """The same as `distinct`, in less time where a few columns know the order, as in most data."""
    columns = X[:, -ORDERING:]
    order = np.lexsort(columns.T)
    columns = columns[order]
    if (columns[1:] != columns[:-1]).any(axis=1).all():
        return X[order], of_class[order], weights[order]
    return distinct(X, of_class, weights)


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
