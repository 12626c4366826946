"""Counts, means and covariances of classes: all that the moment family knows of the data."""

import numbers

import numpy as np

__all__ = ["ClassMoments", "MomentPair"]

# Data are gathered in blocks of at most so many rows, and so many numbers.
BLOCK_ROWS = 4096
BLOCK_ELEMENTS = 10**6
# A column may be constant where its first value is this near to its mean, relative to the mean.
MAY_BE_CONSTANT = 1e-12


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
    column costs no digits; `gap` does not lose them either.

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
        self._scratch = None

    def __getstate__(self):
        return self.__dict__ | {"_scratch": None}

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

        Returns
        -------
        ClassMoments
        """
        return cls().partial_fit(X, y, sample_weight, classes=classes)

    def partial_fit(self, X, y, sample_weight=None, *, classes=None):
        """Add a block of rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `from_data`.
        classes : array-like, optional
            All labels. Needed at the first call if the first block may lack some.

        Returns
        -------
        ClassMoments
            Itself.
        """
        X, y, weights = _validated(X, y, sample_weight)
        if self._parts is None:
            labels = np.unique(y if classes is None else np.asarray(classes))
            if len(labels) < 2:
                raise ValueError(
                    f"the only class is {labels.tolist()}; moments need at least two: if more "
                    "will come in later blocks, name all with classes="
                )
            self.classes_ = labels
            self.n_features_in_ = X.shape[1]
            self._parts = [_Part(X.shape[1]) for _ in labels]
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.unique(classes).tolist()}, but these moments began with "
                f"{self.classes_.tolist()}; leave classes out, or start anew"
            )
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} columns, but these moments began with "
                f"{self.n_features_in_}; pass the same columns in the same order"
            )
        members = [y == label for label in self.classes_]
        if sum(map(np.count_nonzero, members)) < len(y):
            strangers = np.setdiff1d(y, self.classes_).tolist()
            raise ValueError(
                f"y holds {strangers[:5]}, but the classes are {self.classes_.tolist()}; name all "
                "of them with classes= at the first call"
            )
        height = max(1, min(len(y), BLOCK_ROWS, BLOCK_ELEMENTS // X.shape[1]))
        if self._scratch is None or self._scratch.shape[0] < height:
            # kept from call to call, since memory fresh from the system costs as much as the sums
            self._scratch = np.empty((height, X.shape[1]))
        for start in range(0, len(y), height):
            block = slice(start, start + height)
            for part, member in zip(self._parts, members, strict=True):
                mine = np.flatnonzero(member[block])
                if len(mine):
                    rows = self._scratch[: len(mine)]
                    # mode="clip" writes without a buffer; no index is out of range
                    np.take(X[block], mine, axis=0, out=rows, mode="clip")
                    part.add(rows, None if weights is None else weights[block].take(mine))
        return self

    def __add__(self, other):
        if not isinstance(other, ClassMoments):
            return NotImplemented
        if self._parts is None or other._parts is None:
            return (other if self._parts is None else self)._copy()
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"classes {self.classes_.tolist()} and {other.classes_.tolist()} differ; moments "
                "add up only for the same classes: name all of them with classes="
            )
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(
                f"{self.n_features_in_} and {other.n_features_in_} features; moments add up only "
                "for the same columns"
            )
        total = self._copy()
        for part, more in zip(total._parts, other._parts, strict=True):
            part.merge(more)
        return total

    def __radd__(self, other):
        # The built-in sum() begins with 0.
        if isinstance(other, numbers.Number) and other == 0:
            return self._copy()
        return NotImplemented

    def __repr__(self):
        if self._parts is None:
            return "ClassMoments(nothing yet)"
        counts = zip(self.classes_.tolist(), self.counts_.tolist(), strict=True)
        shown = ", ".join(f"{label!r}: {count}" for label, count in counts)
        return f"ClassMoments({shown}; {self.n_features_in_} features)"

    def _copy(self):
        copied = ClassMoments()
        if self._parts is not None:
            copied.classes_ = self.classes_
            copied.n_features_in_ = self.n_features_in_
            copied._parts = [part.copy() for part in self._parts]
        return copied

    def _filled(self, index=None):
        """All parts, or one, that have rows."""
        if self._parts is None:
            raise ValueError("there are no moments yet; call partial_fit or from_data")
        for number, part in enumerate(self._parts):
            if index in (None, number) and part.count == 0:
                label = self.classes_.tolist()[number]
                raise ValueError(f"class {label!r} has no rows yet; add some with partial_fit")
        return self._parts if index is None else self._parts[index]

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
        origin, offset = self._filled(plus).location()
        other_origin, other_offset = self._filled(minus).location()
        return (origin - other_origin) + (offset - other_offset)

    def covariance(self, index):
        """Covariance matrix of class ``classes_[index]``, of shape (n_features, n_features)."""
        part = self._filled(index)
        if part.scatter is not None:
            return part.scatter / part.weight
        factor = part.centered_rows()
        return factor.T @ factor

    def factor(self, index):
        """Matrix F of at most n_features rows with F'F the covariance of ``classes_[index]``.

        The centred rows of a class with fewer rows than features; else, for O(n_features^3),
        from the eigenvectors of its correlations.
        """
        part = self._filled(index)
        if part.scatter is None:
            return part.centered_rows()
        # Eigenvectors of the correlations keep the digits of a column of small scale.
        sd = np.sqrt(np.diag(part.scatter))
        scale = np.where(sd > 0, sd, 1)
        values, vectors = np.linalg.eigh(part.scatter / np.outer(scale, scale))
        # rounding may leave a variance of zero slightly negative
        return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * (sd / np.sqrt(part.weight))

    def variances(self):
        """Variance of each feature within each class, of shape (n_classes, n_features)."""
        return np.array([part.variances() for part in self._filled()])

    def deviations(self, weights):
        """Standard deviations along weights of shape (n_weights, n_features), one row each.

        Returns
        -------
        ndarray of shape (n_weights, n_classes)
        """
        used = np.flatnonzero(weights.any(axis=0))
        return np.array([part.deviations(used, weights[:, used]) for part in self._filled()]).T


class MomentPair:
    """Difference of the means and covariances of two classes, in units of one's choice.

    Class 1, index 0 here, is ``classes_[1]``. A covariance is held as a matrix, or as a factor
    where the class has fewer rows than features; nothing of features by features is formed then.

    Attributes
    ----------
    mean_diff : ndarray of shape (n_features,)
        Mean of class 1 less mean of class 2.
    ridge : ndarray of shape (n_features,)
        What is added to the variances.
    """

    def __init__(self, mean_diff, covariances=None, factors=None, ridge=0.0):
        self.mean_diff = np.asarray(mean_diff, dtype=float)
        self._matrices = covariances or (None, None)
        self._factors = factors or (None, None)
        self.ridge = np.broadcast_to(np.asarray(ridge, dtype=float), self.mean_diff.shape)
        self._variances = None

    @classmethod
    def from_moments(cls, moments, features, unit, ridge=0.0):
        """The pair of two-class `moments` on some features, each measured in its `unit`."""
        matrices = [None, None]
        factors = [None, None]
        everything = len(features) == moments.n_features_in_
        for index, part in enumerate(reversed(moments._filled())):
            if part.scatter is None:
                factors[index] = part.centered_rows(None if everything else features)
                factors[index] /= unit
            else:
                scatter = part.scatter if everything else part.scatter[np.ix_(features, features)]
                matrices[index] = scatter / part.weight / unit / unit[:, None]
        return cls(moments.gap()[features] / unit, matrices, factors, ridge)

    @property
    def is_wide(self):
        """Whether both covariances are factors of fewer rows in all than there are features."""
        n_features = len(self.mean_diff)
        heights = [n_features if factor is None else len(factor) for factor in self._factors]
        return sum(heights) < n_features

    def factor_rows(self):
        """The rows of both factors, those of class 1 first, without the ridge."""
        return np.vstack(self._factors)

    def times(self, index, features, weights):
        """Product of covariance `index` with weights on some features, of shape (n_features,)."""
        if self._factors[index] is None:
            product = self._matrices[index][:, features] @ weights
        else:
            factor = self._factors[index]
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
            block = self._matrices[index][features[:, None], features]
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
        blocks = [self.block(index, features) for index in (0, 1)]
        return MomentPair(self.mean_diff[features], blocks)

    def deviations(self, features, weights):
        """Standard deviation of each class along the weights."""
        found = []
        for matrix, factor in zip(self._matrices, self._factors, strict=True):
            if factor is None:
                square = weights @ matrix[features[:, None], features] @ weights
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
        twin = _Part(self.n_features)
        twin.__dict__.update(self.__dict__)
        twin.chunks = list(self.chunks)
        if self.scatter is not None:
            twin.offset, twin.scatter = self.offset.copy(), self.scatter.copy()
        return twin

    def add(self, rows, weights):
        """Add rows, which are changed, with their positive weights."""
        if self.scatter is None and self.count + len(rows) < self.n_features:
            self._keep(rows.copy(), weights)
            return
        self._forget_rows()
        near = _near(rows, weights)
        rows -= near
        self._count(rows, weights, near)

    def merge(self, other):
        if other.scatter is None:
            for rows, weights in other.chunks:
                self.add(rows.copy(), weights)
        elif self.count == 0:
            self.__dict__.update(other.copy().__dict__)
        else:
            self._forget_rows()
            offset = other.offset + (other.origin - self.origin)
            self._merge(other.count, other.weight, offset, other.scatter)

    def _keep(self, rows, weights):
        self.chunks.append((rows, weights))
        self.count += len(rows)
        self.weight += _total(rows, weights)

    def _forget_rows(self):
        """Turn kept rows into a mean and a scatter."""
        if self.chunks:
            origin, offset = self.location()
            chunks = self.chunks
            self.chunks = []
            self.count = 0
            self.weight = 0.0
            near = origin + offset
            for rows, weights in chunks:
                self._count(rows - near, weights, near)

    def _count(self, rows, weights, near):
        """Add rows that are measured from `near`; they are changed."""
        mean = _mean(rows, weights)
        if weights is not None:
            rows *= np.sqrt(weights)[:, None]
        if self.origin is None:
            self.origin = near
        offset = (near - self.origin) + mean
        self._merge(len(rows), _total(rows, weights), offset, rows.T @ rows, mean)

    def _merge(self, count, weight, offset, scatter, apart_from=None):
        """Add a summary, by the update of Chan, Golub and LeVeque (1983).

        The scatter is about a point from which its mean is `apart_from`, if that is given.
        """
        total = self.weight + weight
        corrections = []
        scales = []
        if apart_from is not None:
            corrections.append(apart_from)
            scales.append(-weight)
        if self.scatter is None:
            self.offset = offset
            self.scatter = scatter
        else:
            apart = offset - self.offset
            corrections.append(apart)
            scales.append(self.weight * weight / total)
            self.offset += apart * (weight / total)
            self.scatter += scatter
        corrections = np.array(corrections)
        self.scatter += corrections.T * scales @ corrections
        self.count += count
        self.weight = total

    def location(self):
        """A point near the mean, and what is left from there to the mean."""
        if self.scatter is not None:
            return self.origin, self.offset
        rows = np.vstack([rows for rows, _ in self.chunks])
        weights = np.hstack([np.ones(len(r)) if w is None else w for r, w in self.chunks])
        origin = _near(rows, weights)
        return origin, _mean(rows - origin, weights)

    def centered_rows(self, features=None):
        """Rows of the factor: centred, weighed, divided by the root of the weight."""
        origin, offset = self.location()
        if features is not None:
            origin, offset = origin[features], offset[features]
        scaled = []
        for rows, weights in self.chunks:
            rows = (rows if features is None else rows[:, features]) - origin
            rows -= offset
            root = 1 if weights is None else np.sqrt(weights)[:, None]
            rows *= root / np.sqrt(self.weight)
            scaled.append(rows)
        return scaled[0] if len(scaled) == 1 else np.vstack(scaled)

    def deviations(self, features, weights):
        if self.scatter is None:
            return np.linalg.norm(self.centered_rows(features) @ weights.T, axis=0)
        block = self.scatter[features[:, None], features]
        return np.sqrt(np.maximum((weights @ block * weights).sum(axis=1), 0) / self.weight)

    def variances(self):
        if self.scatter is not None:
            return np.diag(self.scatter) / self.weight
        return (self.centered_rows() ** 2).sum(axis=0)


def _near(rows, weights):
    """A point near the mean; where all rows could be equal, the first row, so that they cancel."""
    mean = _mean(rows, weights)
    return np.where(abs(mean - rows[0]) <= MAY_BE_CONSTANT * abs(mean), rows[0], mean)


def _mean(rows, weights):
    if weights is None:
        return np.full(len(rows), 1 / len(rows)) @ rows
    return weights / weights.sum() @ rows


def _total(rows, weights):
    return float(len(rows) if weights is None else weights.sum())


def _validated(X, y, sample_weight):
    """Finite rows with their labels and weights; rows of weight zero are left out."""
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse; moments need a dense array: pass X.toarray()")
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is not a table of numbers ({error})") from error
    y = np.asarray(y)
    if X.ndim != 2 or X.shape[1] == 0 or y.shape != X.shape[:1]:
        raise ValueError(
            f"X has shape {X.shape} and y {y.shape}; pass a table and one label for each row"
        )
    # one product finds nearly all tables to be finite, without a pass over their elements
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.ones(len(X)) @ X
    if not np.isfinite(sums).all() and not np.isfinite(X).all():
        columns = np.flatnonzero(~np.isfinite(X).all(axis=0))
        raise ValueError(
            f"X has NaN or infinity in {len(columns)} of its columns, {columns[:5].tolist()} "
            "first; impute or drop them first"
        )
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError("y has NaN; drop the rows without a label first")
    if sample_weight is None:
        return X, y, None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != y.shape:
        raise ValueError(f"{len(y)} rows, but sample_weight has shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight has negative or infinite values; pass finite ones >= 0")
    counted = weights > 0
    return X[counted], y[counted], weights[counted]
