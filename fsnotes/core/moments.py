"""Counts, means and covariances of classes: all that the moment family knows of the data."""

import copy

import numpy as np
from scipy import linalg

from fsnotes.core.tables import (
    ONE_CHECK,
    are_surely_within,
    check_finite,
    check_table,
    check_weights,
    labels_of_one_kind,
)
from fsnotes.core.validation import check_count

__all__ = ["ClassMoments", "MomentPair"]

# Data are gathered in blocks of at most so many rows, and so many numbers.
BLOCK_ROWS = 4096
BLOCK_ELEMENTS = 10**6
# A column may be constant where its first value is this near to its mean, relative to the mean.
MAY_BE_CONSTANT = 1e-12
# Squares of values of these sizes, times weights of those, are numbers, and so are their sums.
SMALLEST, LARGEST = 1e-120, 1e120
# Where others leave to each feature at least this part of its deviation, covariances formed as
# products have digits enough for all that is verified. Products lose those of its square.
SURELY_INDEPENDENT = 1e-3
# What is left of a feature by others is rounding up to this part of its deviation: that of numbers
# in single precision is 6e-8. A difference of means counts from a multiple of it on.
STORED = 1e-7
FAR_ABOVE = 1e3


class ClassMoments:
    """Count, mean and covariance of each class, gathered in one pass over any number of blocks.

    Covariances are divided by the class count (by the sum of its weights), so they are those of
    the empirical distribution of the class. Moments of parts of the data add up: ``a + b`` holds
    what one pass over both parts would give, in any order and grouping.

    A class with fewer rows than features keeps its rows, and no matrix of features by features
    is formed for it. Otherwise only its mean and its scatter matrix are kept.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The sorted labels.
    n_features_in_ : int
    counts_ : ndarray of shape (n_classes,)
        Rows seen of each class, those of weight zero left out.
    weights_ : ndarray of shape (n_classes,)
        Sum of their weights; equal to the counts where no weights are given.
    means_ : ndarray of shape (n_classes, n_features)

    Notes
    -----
    Everything is measured from a point near the data of the class, so a large common offset of a
    column costs no digits. Neither does `gap` lose them.
    A block of N rows and n features costs O(N n^2) time, and O(n^2) memory beside the block; a
    class with N < n rows costs O(N n) of each.

    Examples
    --------
    >>> from fsnotes import ClassMoments, load
    >>> X, y = load("sonar", return_X_y=True)
    >>> moments = ClassMoments.from_data(X, y)
    >>> moments.counts_.tolist()
    [111, 97]
    >>> parts = ClassMoments.from_data(X[:150], y[:150]) + ClassMoments.from_data(X[150:], y[150:])
    >>> bool(abs(parts.covariance(1) - moments.covariance(1)).max() < 1e-14)
    True
    """

    def __init__(self):
        self._parts = None

    @classmethod
    def from_data(cls, X, y, sample_weight=None, *, classes=None):
        """Gather the moments of one data set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Not negative. A row of weight 2 counts as two equal rows.
        classes : array-like, optional
            All labels, where `y` may lack some.
        """
        return cls().partial_fit(X, y, sample_weight, classes=classes)

    def partial_fit(self, X, y, sample_weight=None, *, classes=None):
        """Add a block of rows, with the parameters of `from_data`, and return these moments.

        The first call has to name all classes if the first block may lack some.
        """
        X, y, weights = _validated(X, y, sample_weight)
        is_first = self._parts is None
        if classes is not None:
            classes = np.unique(labels_of_one_kind(classes, "classes"))
        elif is_first:
            classes = np.unique(y)
        else:
            classes = self.classes_
        if len(classes) < 2:
            raise ValueError(
                f"rows of positive weight have the classes {classes.tolist()}; moments need at "
                "least two: if more will come in later blocks, name all with classes="
            )
        if not is_first:
            self._check_alike(classes, X.shape[1])
        # numpy drops an interrupt where it compares text with one of its own
        labels = classes.tolist() if classes.dtype.kind == "U" else classes
        members = [y == label for label in labels]
        if sum(map(np.count_nonzero, members)) < len(y):
            strangers = np.setdiff1d(y, classes).tolist()
            raise ValueError(
                f"y holds {strangers[:5]}, but the classes are {classes.tolist()}; name all "
                "of them with classes= at the first call"
            )
        if is_first:
            self.classes_ = classes
            self.n_features_in_ = X.shape[1]
            self._parts = [_Part(X.shape[1]) for _ in classes]
        self._add(X, members, weights)
        return self

    @classmethod
    def of_samples(cls, X, class_index, weights, classes):
        """The moments of rows that have been checked, with the number of the class of each."""
        moments = cls()
        moments.classes_ = classes
        moments.n_features_in_ = X.shape[1]
        moments._parts = [_Part(X.shape[1]) for _ in classes]
        moments._add(X, [class_index == place for place in range(len(classes))], weights)
        return moments

    def _add(self, X, members, weights):
        """Add rows, with a mask for each class, in blocks."""
        height = max(1, min(len(X), BLOCK_ROWS, BLOCK_ELEMENTS // X.shape[1]))
        # All rows count or, where this is interrupted, none.
        parts = [part.copy() for part in self._parts]
        for start in range(0, len(X), height):
            block = slice(start, start + height)
            for part, member in zip(parts, members, strict=True):
                mine = np.flatnonzero(member[block])
                if len(mine):
                    part.add(X[block].take(mine, axis=0), weights[block].take(mine))
        self._parts = parts

    def __add__(self, other):
        if not isinstance(other, ClassMoments):
            return NotImplemented
        if self._parts is None or other._parts is None:
            return copy.deepcopy(other if self._parts is None else self)
        self._check_alike(other.classes_, other.n_features_in_)
        total = copy.deepcopy(self)
        for part, more in zip(total._parts, other._parts, strict=True):
            part.merge(more)
        return total

    def __radd__(self, other):
        # The built-in sum() begins with 0.
        return copy.deepcopy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self):
        if self._parts is None:
            return "ClassMoments(nothing yet)"
        counts = zip(self.classes_.tolist(), self.counts_.tolist(), strict=True)
        shown = ", ".join(f"{label!r}: {count}" for label, count in counts)
        return f"ClassMoments({shown}; {self.n_features_in_} features)"

    def _check_alike(self, classes, n_features):
        """Raise unless moments of these classes and so many columns can be added."""
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"classes {classes.tolist()}, but these moments began with "
                f"{self.classes_.tolist()}; name all of them with classes= at the first call"
            )
        if n_features != self.n_features_in_:
            raise ValueError(
                f"{n_features} columns, but these moments began with {self.n_features_in_}; pass "
                "the same columns in the same order"
            )

    def _filled(self, index=None):
        """All parts, or one, that have rows."""
        if self._parts is None:
            raise ValueError("there are no moments yet; call partial_fit or from_data")
        for part, label in zip(self._parts, self.classes_.tolist(), strict=True):
            if part.count == 0 and (index is None or part is self._parts[index]):
                raise ValueError(f"class {label!r} has no rows yet; add some with partial_fit")
        return self._parts if index is None else self._parts[index]

    def _part(self, name, index):
        """The part of the class of this number, which a parameter of this name is."""
        if self._parts is not None:
            index = check_count(name, index, least=0, most=len(self._parts) - 1)
        return self._filled(index)

    @property
    def counts_(self):
        return np.array([part.count for part in self._parts])

    @property
    def weights_(self):
        return np.array([part.weight for part in self._parts])

    @property
    def means_(self):
        return np.array([np.add(*part.location()) for part in self._filled()])

    def gap(self, plus=1, minus=0):
        """Difference of two class means, by default those of ``classes_[1]`` and ``classes_[0]``.

        More exact than the difference of ``means_`` where columns have a large offset.
        """
        origin, offset = self._part("plus", plus).location()
        other_origin, other_offset = self._part("minus", minus).location()
        return (origin - other_origin) + (offset - other_offset)

    def covariance(self, index):
        """Covariance matrix of class ``classes_[index]``, of shape (n_features, n_features)."""
        part = self._part("index", index)
        if part.scatter is not None:
            return part.scatter / part.weight
        factor = part.factor()
        return factor.T @ factor

    def factor(self, index):
        """Matrix F of at most n_features rows with F'F the covariance of ``classes_[index]``.

        The centred rows of a class with fewer rows than features; else, for O(n_features^3),
        from the eigenvectors of its correlations.
        """
        part = self._part("index", index)
        if part.scatter is None:
            return part.factor()
        # Eigenvectors of the correlations keep the digits of a column of small scale.
        sd = np.sqrt(np.diag(part.scatter))
        scale = np.where(sd > 0, sd, 1)
        values, vectors = np.linalg.eigh(part.scatter / np.outer(scale, scale))
        # rounding may leave a variance of zero slightly negative
        return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * (sd / np.sqrt(part.weight))

    def variances(self):
        """Variance of each feature within each class, of shape (n_classes, n_features)."""
        return np.array([part.variances() for part in self._filled()])


class MomentPair:
    """Difference of the means and covariances of two classes, in units of one's choice.

    Class 1, index 0 here, is ``classes_[1]``. A covariance is held as a matrix, or as a factor
    where the class has fewer rows than features; nothing of features by features is formed then.

    Attributes
    ----------
    mean_diff, ridge : ndarray of shape (n_features,)
        Mean of class 1 less mean of class 2, and what is added to the variances.
    needs_factors : bool
        Whether features nearly depend on each other, so that products of the factors have lost the
        digits that the factors still have.
    is_whole : bool
        False where directions that vary by rounding alone were left out.
    """

    is_whole = True

    def __init__(self, mean_diff, covariances=None, factors=None, ridge=0.0, needs_factors=False):
        self.mean_diff = np.asarray(mean_diff, dtype=float)
        self.needs_factors = needs_factors
        self._matrices = covariances or (None, None)
        self._factors = factors or (None, None)
        self.ridge = np.broadcast_to(np.asarray(ridge, dtype=float), self.mean_diff.shape)
        self._variances = None

    @classmethod
    def from_moments(cls, moments, features, unit, ridge=0.0):
        """The pair of two-class `moments` on some features, each measured in its `unit`."""
        matrices = [None, None]
        factors = [None, None]
        for index, part in enumerate(reversed(moments._filled())):
            if part.scatter is None:
                factors[index] = part.factor()[:, features] / unit
            else:
                everything = len(features) == moments.n_features_in_
                scatter = part.scatter if everything else part.scatter[np.ix_(features, features)]
                matrices[index] = scatter / part.weight / unit / unit[:, None]
        return cls(moments.gap()[features] / unit, matrices, factors, ridge)

    def is_regular(self):
        """Whether no feature is nearly a sum of others, or both covariances are wide factors."""
        if self.is_wide:
            return True
        total = self.block(0) + self.block(1)
        unit = np.sqrt(total.diagonal())
        if not unit.all():
            return False
        triangle, failed = linalg.lapack.dpotrf(total / unit / unit[:, None], lower=1)
        return not failed and triangle.diagonal().min() > SURELY_INDEPENDENT

    def with_factors(self, rows):
        """The same pair from the centred rows of both classes, divided by the root of their weight.

        The factors are triangular, and hold the ridge. A combination of features that varies no
        more than the rounding of single precision, in which data may have been stored, is taken
        for one that does not vary; and a mean of it that is no more for one that does not differ.
        """
        ridge = np.diag(np.sqrt(self.ridge))[self.ridge > 0]
        parts = [np.vstack([part, ridge]) for part in rows]
        stacked = np.vstack(parts)
        unit = np.linalg.norm(stacked, axis=0)
        unit = np.where(unit > 0, unit, 1)
        left, sizes, right = np.linalg.svd(stacked / unit, full_matrices=False)
        kept = sizes > STORED * sizes[0]
        is_whole = bool(kept.all())
        right = right[kept]
        mean_diff = self.mean_diff / unit
        rest = mean_diff - right.T @ (right @ mean_diff)
        if len(right) == len(unit) or np.linalg.norm(rest) > FAR_ABOVE * STORED:
            rest = 0.0
        stacked = (left[:, kept] * sizes[kept]) @ right * unit
        parts = np.split(stacked, [len(parts[0])])
        factors = [np.linalg.qr(part, mode="r") for part in parts]
        pair = MomentPair((mean_diff - rest) * unit, factors=factors, needs_factors=True)
        pair.is_whole = is_whole
        return pair

    def factors(self, features):
        """The columns of both factors."""
        return [factor[:, features] for factor in self._factors]

    @property
    def is_wide(self):
        """Whether both covariances are factors of fewer rows in all than there are features."""
        if self.needs_factors:
            return False
        n_features = len(self.mean_diff)
        heights = [n_features if factor is None else len(factor) for factor in self._factors]
        return sum(heights) < n_features

    def factor_rows(self):
        """The rows of both factors, those of class 1 first, without the ridge."""
        return np.vstack(self._factors)

    def times(self, index, features, weights):
        """Product of covariance `index` with weights on some features, of shape (n_features,)."""
        factor = self._factors[index]
        if factor is None:
            product = self._matrices[index][:, features] @ weights
        else:
            product = (factor[:, features] @ weights) @ factor
        product[features] += self.ridge[features] * weights
        return product

    def covariance_rows(self, index, features):
        """Rows of covariance `index`, of shape (len(features), n_features)."""
        if self._factors[index] is None:
            rows = self._matrices[index][features].copy()
        else:
            rows = self._factors[index][:, features].T @ self._factors[index]
        rows[np.arange(len(features)), features] += self.ridge[features]
        return rows

    def block(self, index, features=slice(None)):
        """Covariance `index` of some features, or of all."""
        if self._factors[index] is not None:
            columns = self._factors[index][:, features]
            block = columns.T @ columns
        elif isinstance(features, slice):
            block = self._matrices[index].copy()
        else:
            block = self._matrices[index][features][:, features]
        block.flat[:: len(block) + 1] += self.ridge[features]
        return block

    def variances(self):
        """Variances of both classes, of shape (2, n_features), ridge included."""
        if self._variances is None:
            found = [
                np.diag(matrix) if factor is None else np.einsum("ij,ij->j", factor, factor)
                for matrix, factor in zip(self._matrices, self._factors, strict=True)
            ]
            self._variances = np.array(found) + self.ridge
        return self._variances

    def subset(self, features):
        """The pair of these features alone."""
        if self.needs_factors:
            factors = self.factors(features)
            return MomentPair(self.mean_diff[features], factors=factors, needs_factors=True)
        blocks = [self.block(index, features) for index in (0, 1)]
        return MomentPair(self.mean_diff[features], blocks)

    def deviations(self, features, weights):
        """Standard deviation of each class along the weights."""
        found = []
        for matrix, factor in zip(self._matrices, self._factors, strict=True):
            if factor is None:
                square = weights @ matrix[features][:, features] @ weights
            else:
                # The norm is taken of the product: in a direction without variance the square
                # by the matrix would leave the root of rounding.
                square = ((factor[:, features] @ weights) ** 2).sum()
            found.append(square + self.ridge[features] @ weights**2)
        return np.sqrt(np.maximum(found, 0))


class _Part:
    """One class: its rows, or its mean and scatter once there are as many rows as features.

    The mean is kept as a fixed point near the data, `origin`, and what is left, `offset`.
    """

    def __init__(self, n_features):
        self.n_features = n_features
        self.count = 0
        self.weight = 0.0
        self.chunks = []  # pairs of rows and weights
        self.origin = self.offset = self.scatter = None

    def copy(self):
        """The same class; what is added to the copy does not change the original."""
        other = copy.copy(self)
        other.chunks = list(self.chunks)
        other.scatter = None if self.scatter is None else self.scatter.copy()
        return other

    def add(self, rows, weights):
        """Add rows, which are changed, with their positive weights."""
        if self.scatter is None and self.count + len(rows) < self.n_features:
            self.chunks.append((rows, weights))
            self.count += len(rows)
            self.weight += weights.sum()
        else:
            self._sum_up_kept()
            self._sum_up(rows, weights)

    def merge(self, other):
        if other.scatter is None:
            for rows, weights in other.chunks:
                self.add(rows.copy(), weights)
        else:
            self._sum_up_kept()
            self._merge(other.count, other.weight, other.origin, other.offset, other.scatter.copy())

    def _sum_up_kept(self):
        """Turn kept rows into a mean and a scatter."""
        if self.chunks:
            rows, weights = self._kept()
            self.chunks = []
            self.count = 0
            self.weight = 0.0
            self._sum_up(rows, weights)

    def _kept(self):
        """Copies of the kept rows and of their weights."""
        rows, weights = zip(*self.chunks, strict=True)
        return np.vstack(rows), np.hstack(weights)

    def _sum_up(self, rows, weights):
        origin, offset = _center(rows, weights)
        weight = weights.sum()
        if (weights != 1).any():
            rows *= np.sqrt(weights)[:, None]
        scatter = rows.T @ rows - weight * np.outer(offset, offset)
        # Beside a large offset rounding may leave a sum of squares below 0.
        np.fill_diagonal(scatter, np.maximum(scatter.diagonal(), 0))
        self._merge(len(rows), weight, origin, offset, scatter)

    def _merge(self, count, weight, origin, offset, scatter):
        """Add a summary, by the update of Chan, Golub and LeVeque (1983)."""
        total = self.weight + weight
        if self.scatter is None:
            self.origin = origin
            self.offset = offset
            self.scatter = scatter
        else:
            apart = (origin - self.origin) + (offset - self.offset)
            root = np.sqrt(self.weight * weight / total) * apart
            self.offset = self.offset + apart * (weight / total)
            self.scatter += scatter
            self.scatter += np.outer(root, root)
        self.count += count
        self.weight = total

    def location(self):
        """A point near the mean, and what is left from there to the mean."""
        return _center(*self._kept()) if self.chunks else (self.origin, self.offset)

    def factor(self):
        """Kept rows: centred, weighed, divided by the root of the weight."""
        rows, weights = self._kept()
        rows -= _center(rows, weights)[1]
        rows *= np.sqrt(weights / self.weight)[:, None]
        return rows

    def variances(self):
        if self.scatter is not None:
            return np.diag(self.scatter) / self.weight
        return (self.factor() ** 2).sum(axis=0)


def _center(rows, weights):
    """Measure rows from a point near their mean; return it, and what is left to the mean."""
    parts = weights / weights.sum()
    mean = parts @ rows
    # Where all rows could be equal, the point is the first of them, so that they cancel.
    may_be_constant = abs(mean - rows[0]) <= MAY_BE_CONSTANT * abs(mean)
    origin = np.where(may_be_constant, rows[0], mean)
    rows -= origin
    return origin, parts @ rows


def _validated(X, y, sample_weight):
    """Finite rows with their labels and weights; rows of weight zero are left out."""
    with ONE_CHECK, np.errstate(over="ignore"):
        check_table(X)
        names = getattr(X, "columns", None)
        X = np.asarray(X, dtype=np.float64)
        y = np.asarray(labels_of_one_kind(y))
    if X.ndim != 2 or X.shape[1] == 0 or y.shape != X.shape[:1]:
        raise ValueError(
            f"X has shape {X.shape} and y {y.shape}; pass a table and one label for each row"
        )
    check_finite(X, names)
    _check_squares(X, names)
    if sample_weight is None:
        return X, y, np.ones(len(y))
    weights = check_weights(sample_weight, len(y))
    # without weights of zero nothing is copied
    counted = weights > 0 if (weights == 0).any() else slice(None)
    return X[counted], y[counted], weights[counted]


def _check_squares(X, names):
    """Raise where squares of a column, or of its differences, would overflow or underflow."""
    if not len(X) or are_surely_within(X, SMALLEST, LARGEST):
        return
    lowest = X.min(axis=0)
    highest = X.max(axis=0)
    largest = np.maximum(highest, -lowest)
    beyond = np.flatnonzero((largest > LARGEST) | ((highest > lowest) & (largest < SMALLEST)))
    if len(beyond):
        name = beyond[0] if names is None else repr(names[beyond[0]])
        raise ValueError(
            f"the squares of column {name} of X, of a size of {largest[beyond[0]]:.1e}, are beyond "
            "floating point; pass it in another unit (an estimator's fit(X, y) takes them)"
        )
