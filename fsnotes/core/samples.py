"""What a fit is given: the samples that count, and the features in units of their own."""

from dataclasses import dataclass, replace

import numpy as np

from fsnotes.core.tables import are_surely_within, check_weights
from fsnotes.core.tolerances import CONSTANT
from fsnotes.errors import SelectionWarning, warn

__all__ = [
    "FeatureScaling",
    "Samples",
    "feature_units",
    "first_of_equals",
    "range_exponents",
    "require_finite",
]

ORDERING = 8  # The last columns, by which the rows of most tables can be told apart.
NAMED = 5  # Constant features that a warning names, at most.
# Features whose largest value has a power of two of this size at most are taken as they are:
# products of four such values neither overflow nor underflow.
ORDINARY = 128
FARTHEST = 1000  # Beyond this power of two there is no room for the weights of features.


@dataclass(frozen=True)
class Samples:
    """The samples of a fit that have a positive weight, in the order in which they came.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    class_index : ndarray of int, of shape (n_samples,)
        The place in ``classes_`` of the class of each sample.
    sample_weight : ndarray of shape (n_samples,)
        Above 0.
    row : ndarray of int, of shape (n_samples,)
        The number of each sample in the caller's table, which has `n_passed` rows.
    n_passed : int
    exponents : ndarray of int, of shape (n_features,), or 0
        Powers of two by which features are divided before they are squared; 0 for ordinary ones.
    """

    X: np.ndarray
    class_index: np.ndarray
    sample_weight: np.ndarray
    row: np.ndarray
    n_passed: int
    exponents: np.ndarray | int = 0

    @classmethod
    def drop_zero_weight(cls, X, class_index, sample_weight=None):
        """Keep the rows of positive weight; raise unless weights are finite and not negative."""
        if sample_weight is None:
            return cls(X, class_index, np.ones(len(X)), np.arange(len(X)), len(X))
        weights = check_weights(sample_weight, len(X))
        counts = np.flatnonzero(weights)
        return cls(X[counts], class_index[counts], weights[counts], counts, len(X))

    def in_range(self):
        """The features divided by the powers of two in ``exponents``, which is exact."""
        return np.ldexp(self.X, -self.exponents) if np.any(self.exponents) else self.X

    def columns(self, used):
        """Some of the features, which are not copied where they are all."""
        return self.X if len(used) == self.X.shape[1] else self.X[:, used]

    @property
    def is_weighted(self):
        """Whether some samples have other weights than others."""
        return bool((self.sample_weight != self.sample_weight[0]).any())

    @property
    def positive(self):
        """Which samples are of ``classes_[1]``, where there are two classes."""
        return self.class_index == 1

    @property
    def signs(self):
        """1 for the samples of ``classes_[1]``, -1 for the others."""
        return np.where(self.positive, 1.0, -1.0)

    def centred(self, rows, index):
        """Rows of a class less their mean, times the roots of their parts of its weight."""
        mine = self.class_index == index
        probability = self.sample_weight[mine] / self.sample_weight[mine].sum()
        own = rows[mine] - rows[mine][0]  # equal rows cancel exactly
        own -= probability @ own
        own -= probability @ own  # what rounding has left of the mean
        return np.sqrt(probability)[:, None] * own

    def deduplicate(self):
        """Sort the samples in an order that is theirs alone, and make equal ones one.

        Samples are equal if they have the same features and the same class. The one that is left
        has the sum of their weights, and the row number of the first of them. So no answer depends
        on the order in which the rows came.
        """
        # The last columns alone are sorted by where they suffice, which takes less time.
        order = np.lexsort(self.X[:, -ORDERING:].T)
        columns = self.X[order, -ORDERING:]
        weights = self.sample_weight[order]
        if not (columns[1:] != columns[:-1]).any(axis=1).all():
            order = np.lexsort((self.class_index, *self.X.T))
            labelled = np.column_stack([self.X, self.class_index])[order]
            is_first = np.append(True, (labelled[1:] != labelled[:-1]).any(axis=1))
            weights = np.bincount(np.cumsum(is_first) - 1, self.sample_weight[order])
            order = order[is_first]
        return replace(
            self,
            X=self.X[order],
            class_index=self.class_index[order],
            sample_weight=weights,
            row=self.row[order],
        )


@dataclass(frozen=True)
class FeatureScaling:
    """The features that vary, how they are measured, and the way back to the caller's units.

    Attributes
    ----------
    used : ndarray of int
        The features that vary.
    center, unit : ndarray
        From where each of them is measured, and in which unit, 1 with ``scale=False``.
    deviations : ndarray
        The pooled standard deviation of each of them within the classes.
    n_features : int
        The number of all features.
    """

    used: np.ndarray
    center: np.ndarray
    unit: np.ndarray
    deviations: np.ndarray
    n_features: int

    def apply(self, X):
        """Features that vary, from the center and in their units."""
        return (X[:, self.used] - self.center) / self.unit

    def undo(self, weights, offsets):
        """Coefficients and intercepts, in the caller's units, of planes in these, one a row."""
        coef = np.zeros((len(weights), self.n_features))
        with np.errstate(over="ignore"):
            coef[:, self.used] = np.asarray(weights) / self.unit
        require_finite(coef)
        return coef, np.asarray(offsets) - coef[:, self.used] @ self.center

    def from_origin(self):
        """Return these features measured from 0, for a plane whose offset has a penalty."""
        return replace(self, center=np.zeros(len(self.used)))

    def take(self, places):
        """Some of the features in use."""
        names = ("used", "center", "unit", "deviations")
        return replace(self, **{name: getattr(self, name)[places] for name in names})


def require_finite(coef):
    """Raise where a weight, in the units of the caller, is beyond floating point."""
    beyond = np.flatnonzero(~np.isfinite(coef).all(axis=0))
    if len(beyond):
        raise ValueError(
            f"the weight of feature {beyond[0]} overflows, since its values are so small; pass "
            "the feature in another unit"
        )


def range_exponents(X, names=None):
    """Powers of two by which features are divided before they are squared; 0 for ordinary ones."""
    if are_surely_within(X, 2.0**-ORDINARY, 2.0 ** (ORDINARY - 1)):
        return np.zeros(X.shape[1], dtype=int)
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    exponents = np.frexp(largest)[1]
    beyond = np.flatnonzero(abs(exponents) > FARTHEST)
    if len(beyond):
        column = beyond[0]
        name = column if names is None else repr(names[column])
        raise ValueError(
            f"feature {name} has values of a size of {largest[column]:.1e}, near the end of "
            f"floating point; pass it in a unit in which sizes are from {2.0**-FARTHEST:.0e} to "
            f"{2.0**FARTHEST:.0e}"
        )
    return np.where(abs(exponents) <= ORDINARY, 0, exponents)


def feature_units(moments, names=None, quiet=False):
    """The difference of the class means and the unit of each feature, both 0 where it is constant.

    The unit is the pooled standard deviation within the classes. With more than two classes the
    difference is that of the outermost means. Unless `quiet`, a warning names the features that
    are constant, by their numbers unless `names` are given.
    """
    means = moments.means_
    mean_diff = moments.gap() if len(means) == 2 else np.ptp(means, axis=0)
    unit = np.sqrt(moments.weights_ / moments.weights_.sum() @ moments.variances())
    if not (np.isfinite(unit) & np.isfinite(mean_diff)).all():
        raise ValueError("the squares of the features overflow; divide the features first")
    # What rounding leaves of a constant is neither a deviation nor a difference of means.
    most = CONSTANT * abs(means).max(axis=0)
    is_constant = (unit <= most) & (abs(mean_diff) <= most)
    varies = is_constant & (unit > 0)
    # A feature that varies between the classes alone has no deviation to be measured in.
    unit = np.where(is_constant, 0, np.where(unit > 0, unit, abs(mean_diff)))
    constant = np.flatnonzero(unit == 0)
    if len(constant) and not quiet:
        names = np.arange(len(unit)) if names is None else names
        shown = ", ".join(str(names[column]) for column in constant[:NAMED])
        more = ", ..." if len(constant) > NAMED else ""
        hint = ""
        if varies.any():
            hint = f"; some vary by less than {CONSTANT:g} of their mean: subtract it if they count"
        warn(
            f"constant features are never selected; there are {len(constant)}: {shown}{more}{hint}",
            SelectionWarning,
        )
    return np.where(is_constant, 0, mean_diff), unit


def first_of_equals(vectors):
    """Places of the first of equal rows each, in order; zeros of either sign are equal."""
    places = {}
    for place, vector in enumerate(vectors):
        # Adding 0 turns -0.0, which has other bytes, into 0.0.
        places.setdefault((vector + 0.0).tobytes(), place)
    return np.array(list(places.values()), dtype=int)
