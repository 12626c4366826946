"""What kernel machines share: they select points, rows whose kernel functions they add up."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted, validate_data

from fsnotes.core.estimator import ScoringClassifier
from fsnotes.core.moments import ClassMoments
from fsnotes.core.rows import check_no_nan
from fsnotes.core.validation import check_bool, check_real

__all__ = ["BasisClassifier", "KernelClassifier", "check_kernel"]

KERNELS = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "cosine", "chi2", "linear")
SHIFT_INVARIANT = ("rbf", "laplacian")


def check_kernel(kernel, gamma, *, optional=False):
    """Raise unless these are a kernel, or None if it is optional, and its parameter."""
    if not (callable(kernel) or kernel in KERNELS or (optional and kernel is None)):
        allowed = ", ".join(["None"] * optional + [f'"{name}"' for name in KERNELS])
        raise ValueError(f"kernel={kernel!r}; pass {allowed} or a function of two rows")
    if gamma is not None:
        check_real("gamma", gamma, 0, open_at=0)


def amid(points):
    """Mean of points, of a constant column exactly its value."""
    with np.errstate(over="ignore"):
        means = points.mean(axis=0)
    return np.clip(means, points.min(axis=0), points.max(axis=0))


class KernelClassifier(ScoringClassifier):
    """A sum of kernel functions at some of the training points.

    A subclass has the parameters ``kernel``, ``gamma`` and ``scale``, and a method ``_fit(X, y,
    sample_weight)`` that sets, after ``_take_rows``, ``support_``, ``support_vectors_``,
    ``dual_coef_`` and ``intercept_``.
    """

    def _check_parameters(self):
        check_bool("scale", self.scale)
        check_kernel(self.kernel, self.gamma)

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
        self._clear_fit()
        return self._fit(X, y, sample_weight)

    def _take_rows(self, X, y, sample_weight):
        """Rows, labels, their weights if any, and places of the distinct rows that count.

        Sets ``classes_``, ``scale_`` and ``gamma_``.
        """
        X, y, sample_weight = self._validated(X, y, sample_weight)
        check_no_nan(sample_weight)
        rows = ClassMoments.from_data(X, y, sample_weight, classes=self.classes_)
        for label, count in zip(self.classes_.tolist(), rows.counts_, strict=True):
            if count == 0:
                raise ValueError(
                    f"class {label!r} has no rows, or only rows of weight zero; pass positive "
                    "weights for some"
                )
        self._units(rows, rows.variances())
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else float(self.gamma)
        # equal rows are one point, and rows that count for nothing are none
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        counted = np.flatnonzero(weights)
        points = np.sort(counted[np.unique(X[counted], axis=0, return_index=True)[1]])
        # distances do not depend on the origin, but their rounding does
        self._origin = amid(X[points]) if self.kernel in SHIFT_INVARIANT else 0.0
        return X, y, sample_weight, points

    def _columns(self, X, points):
        """Values of the kernel at all rows, one column a point."""
        values = self._kernel(X, X[points])
        if not np.isfinite(values).all():
            raise ValueError(
                f"kernel={self.kernel!r} has values that are not finite on these rows; pass "
                "another, or scale the columns"
            )
        return values

    def _kernel(self, rows, points):
        if not len(points):  # where none is selected, no kernel is asked
            return np.zeros((len(rows), 0))
        rows, points = ((part - self._origin) / self.scale_ for part in (rows, points))
        if callable(self.kernel):
            return pairwise_kernels(rows, points, metric=self._number)
        options = {"metric": self.kernel, "gamma": self.gamma_}
        return pairwise_kernels(rows, points, filter_params=True, **options)

    def _number(self, row, point):
        """What a kernel that is a function gives for two rows."""
        value = self.kernel(row, point)
        try:
            number = np.asarray(value)
        except ValueError:  # of lists in a list, not all of one length
            number = np.empty(0)
        if number.ndim > 0 or number.dtype.kind not in "biuf":
            raise TypeError(
                f"kernel={self.kernel!r} gives {type(value).__name__} for two rows; pass a "
                "function that gives a real number"
            )
        return value

    def decision_function(self, X):
        """Signed score of each row; above 0 is ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "dual_coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = self._kernel(X, self.support_vectors_)
        return values @ self.dual_coef_[0] + self.intercept_[0]


class BasisClassifier(KernelClassifier):
    """One whose points are selected from a basis, the candidates.

    A subclass has the parameters ``basis``, ``random_state`` and ``progress``, too.
    """

    def _check_parameters(self):
        super()._check_parameters()
        self._check_basis()
        check_real("random_state", self.random_state, 0)
        if self.random_state != int(self.random_state):
            raise ValueError(f"random_state={self.random_state!r}; pass a whole number")
        check_bool("progress", self.progress)

    def _check_basis(self):
        if self.basis is None:
            return
        try:
            rows = np.asarray(self.basis)
        except ValueError:  # of lists in a list, not all of one length
            rows = np.array(self.basis, dtype=object)
        if rows.dtype.kind not in "iu" or rows.ndim > 1:
            raise TypeError(
                f"basis={self.basis!r}; pass None for all points, how many, or an array of row "
                "numbers"
            )
        if rows.ndim == 0 and rows < 2:
            raise ValueError(f"basis={self.basis!r}; pass at least 2 points, or None for all")
        if rows.ndim == 1 and len(np.unique(rows)) < 2:
            raise ValueError(
                f"basis={self.basis!r}; pass the numbers of at least 2 rows, or None for all"
            )

    def _candidates(self, count, point_of_row):
        """Places of the candidates among so many points, in order.

        Of each row of the data the place of its point is given, or -1 where it has none.
        """
        if self.basis is None:
            return np.arange(count)
        rows = np.asarray(self.basis)
        if rows.ndim == 0:
            order = np.random.default_rng(int(self.random_state)).permutation(count)
            return np.sort(order[: int(rows)])
        most = len(point_of_row) - 1
        if rows.min() < 0 or rows.max() > most:
            raise ValueError(
                f"basis has row numbers from {rows.min()} to {rows.max()}; pass numbers from 0 to "
                f"{most}"
            )
        places = np.unique(point_of_row[rows])
        places = places[places >= 0]
        if not len(places):
            raise ValueError("all rows of basis have weight zero; pass others, or basis=None")
        return places
