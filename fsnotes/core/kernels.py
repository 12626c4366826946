"""What kernel machines share: they select training points, whose kernel functions they add up."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from fsnotes.core.estimator import BaseClassifier, require_numbers
from fsnotes.core.samples import first_of_equals
from fsnotes.core.tables import ONE_CHECK
from fsnotes.core.validation import (
    LARGEST_SEED,
    array_of,
    check_bool,
    check_count,
    check_real,
    shown,
)

__all__ = ["BasisClassifier", "KernelClassifier", "KernelMixin", "check_kernel"]

KERNELS = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "cosine", "chi2", "linear")
# The largest value of a kernel lies between these, since it is squared twice.
SMALLEST = 1e-50
LARGEST = 1e50
SHIFT_INVARIANT = ("rbf", "laplacian")
# A kernel is a function of a sum over features, whose relative rounding it multiplies by this.
STEEPNESS = 4


def check_kernel(kernel, gamma, *, optional=False):
    """Raise unless these are a kernel, or None if it is optional, and its parameter."""
    is_named = isinstance(kernel, str) and kernel in KERNELS
    if not (callable(kernel) or is_named or (optional and kernel is None)):
        allowed = ", ".join(["None"] * optional + [f'"{name}"' for name in KERNELS])
        raise ValueError(f"kernel={shown(kernel)}; pass {allowed} or a function of two rows")
    check_real("gamma", gamma, 0, open_at=0, optional=True)


class Kernel:
    """A kernel, by name or of two rows, of rows measured from an origin in units of `scale`.

    The origin is 0 or, where no distance depends on it, the mean of the points.
    """

    def __init__(self, function, gamma, scale, points):
        self.function = function
        self.gamma = 1 / points.shape[1] if gamma is None else float(gamma)
        self.scale = scale
        self.origin = 0.0
        if function in SHIFT_INVARIANT:
            # Distances do not depend on the origin, but their rounding does.
            with np.errstate(over="ignore"):
                origin = points.mean(axis=0)
            # Rounding must not move the mean of a constant column from its value.
            self.origin = np.clip(origin, points.min(axis=0), points.max(axis=0))

    @np.errstate(under="ignore")  # kernel functions far from their points are zero
    def __call__(self, rows, points):
        """Values at these rows, one column a point."""
        if not len(points):  # A kernel is not asked about no points.
            return np.zeros((len(rows), 0))
        # Rows far away from all points may have distances that overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            rows, points = ((part - self.origin) / self.scale for part in (rows, points))
            if callable(self.function):
                values = [[self._number(row, point) for point in points] for row in rows]
                return np.array(values, dtype=float)
            if not (np.isfinite(rows).all() and np.isfinite(points).all()):
                raise ValueError(
                    "some rows are so far from those of the fit that their distances overflow; "
                    "leave them out"
                )
            options = {"gamma": self.gamma, "filter_params": True}
            try:
                with ONE_CHECK:
                    return pairwise_kernels(rows, points, metric=self.function, **options)
            except ValueError as error:  # such as values that are negative
                raise ValueError(f"{self}: {error}; pass another kernel") from error

    def __str__(self):
        gamma = "" if callable(self.function) else f", gamma={self.gamma:g}"
        return f"kernel={shown(self.function)}{gamma}"

    def rounding(self, rows, points):
        """By what part each value may differ where it is computed again, one column a point.

        Kernels are functions of products, whose rounding goes with the lengths of row and point; a
        Gaussian has it in the exponent.
        """
        eps = STEEPNESS * (rows.shape[1] + 8) * np.finfo(float).eps
        if self.function not in SHIFT_INVARIANT:
            return np.full((len(rows), len(points)), eps)
        parts = ((part - self.origin) / self.scale for part in (rows, points))
        row_sizes, point_sizes = ((part**2).sum(axis=1) for part in parts)
        exponents = self.gamma * (row_sizes[:, None] + point_sizes)
        return np.expm1(np.minimum(eps * (1 + exponents), 1))

    def columns(self, rows, points):
        """Return the values for a fit; raise unless all of them are finite."""
        values = self(rows, points)
        if not np.isfinite(values).all():
            raise ValueError(
                f"{self} has values that are not finite on these rows; pass another, or scale the "
                "columns"
            )
        largest = abs(values).max(initial=0)
        if largest > LARGEST or 0 < largest < SMALLEST:
            raise ValueError(
                f"{self} has values up to {largest:.3g} on these rows; below {SMALLEST:g} and "
                f"above {LARGEST:g} their products underflow or overflow; divide it, or scale the "
                "columns"
            )
        return values

    def _number(self, row, point):
        """What a kernel that is a function gives for two rows; raise unless it is a number."""
        wanted = "pass a function that gives a real number"
        try:
            value = self.function(row, point)
        except Exception as error:
            raise TypeError(f"{self} fails for two rows: {error}; {wanted}") from error
        number = array_of(value)
        if number.ndim > 0 or number.dtype.kind not in "biuf":
            raise TypeError(f"{self} gives {type(value).__name__} for two rows; {wanted}")
        return value


class KernelMixin:
    """The kernel of an estimator that has the parameters ``kernel`` and ``gamma``."""

    def _prepare_kernel(self, samples, features):
        """Set the kernel and ``gamma_``. Return the places of the points.

        A feature that is constant has no unit: in an infinite one it is 0, at any row.
        """
        points = first_of_equals(samples.X)
        units = np.ones(features.n_features)
        if self.scale:
            units[:] = np.inf
            units[features.used] = features.unit
        self._kernel_ = Kernel(self.kernel, self.gamma, units, samples.X[points])
        self.gamma_ = self._kernel_.gamma
        return points

    @np.errstate(under="ignore")  # kernel functions far from their points are zero
    def decision_function(self, X):
        """Score of each row; above 0 is ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        # Of an estimator whose kernel is optional, the last fit may have been linear.
        if "coef_" in vars(self):
            return super().decision_function(X)
        check_is_fitted(self, "dual_coef_")
        values = self._kernel_(self._check_rows(X), self.support_vectors_)
        return require_numbers(values @ self.dual_coef_[0] + self.intercept_[0])


class KernelClassifier(KernelMixin, BaseClassifier):
    """A sum of kernel functions at some of the training points.

    A subclass has the parameters ``kernel``, ``gamma`` and ``scale``. Its ``_fit_samples`` begins
    with ``_scale_features`` and ``_prepare_kernel``, and sets ``support_``, the rows of the
    selected points in the caller's table, ``support_vectors_``, ``dual_coef_`` and ``intercept_``.
    """

    def _check_parameters(self):
        check_bool("scale", self.scale)
        check_kernel(self.kernel, self.gamma)


class BasisClassifier(KernelClassifier):
    """A kernel machine whose points are selected from a basis, the candidates.

    A subclass has the parameters ``basis``, ``random_state`` and ``progress``, too.
    """

    def _check_parameters(self):
        super()._check_parameters()
        check_count("random_state", self.random_state, least=0, most=LARGEST_SEED)
        check_bool("progress", self.progress)
        if self.basis is None:
            return
        rows = array_of(self.basis)
        if rows.dtype.kind not in "iu" or rows.ndim > 1:
            allowed = "None for all points, how many, or an array of row numbers"
            raise TypeError(f"basis={shown(self.basis)}; pass {allowed}")
        if (rows if rows.ndim == 0 else len(np.unique(rows))) < 2:
            fewest = "at least 2 points" if rows.ndim == 0 else "the numbers of at least 2 rows"
            raise ValueError(f"basis={shown(self.basis)}; pass {fewest}, or None for all")

    def _candidates(self, samples, point_of_sample):
        """Places of the candidates among the points, of which each sample is equal to one."""
        count = point_of_sample.max() + 1
        if self.basis is None:
            return np.arange(count)
        rows = np.asarray(self.basis)
        if rows.ndim == 0:
            order = np.random.default_rng(int(self.random_state)).permutation(count)
            return np.sort(order[: int(rows)])
        most = samples.n_passed - 1
        if rows.min() < 0 or rows.max() > most:
            given = f"from {rows.min()} to {rows.max()}"
            raise ValueError(f"basis has row numbers {given}; pass numbers from 0 to {most}")
        places = np.unique(point_of_sample[np.isin(samples.row, rows)])
        if not len(places):
            raise ValueError("all rows of basis have weight zero; pass others, or basis=None")
        return places
