"""Twin machines: two planes, each near the rows of one class and far from those of the other."""

import numbers
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, qr, solve_triangular
from sklearn.utils.validation import check_is_fitted, validate_data

from fsnotes.core.estimator import SparseClassifier, solved
from fsnotes.core.kernels import Kernel, check_kernel
from fsnotes.core.validation import check_bool, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.hinge import LARGEST_C
from fsnotes.solvers.margin import SoftMargin
from fsnotes.solvers.planes import Plane, PlaneProgram, remedy

__all__ = ["L1TwinSVM", "TwinClassifier", "TwinSVM"]

FLAT = 1e-9  # part of the values of a plane by which they vary between rows that is rounding
GAP = 1e-6  # relative duality gap of a plane of least squares that counts as verified
SHORT = 1e-6  # of a margin, up to which it is lengthened to 1


def check_prices(name, value):
    """Raise unless `value` is a price, or two, one for each class."""
    if isinstance(value, (str, bytes)) or isinstance(value, numbers.Real):
        return check_real(name, value, 0, open_at=0, most=LARGEST_C)
    ordered = hasattr(value, "__getitem__") and not isinstance(value, dict)
    prices = list(value) if ordered and np.ndim(value) else []
    if len(prices) != 2:
        raise ValueError(f"{name}={value!r}; pass a number, or two in the order of classes_")
    for price in prices:
        try:
            check_real(name, price, 0, open_at=0, most=LARGEST_C)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}={value!r} holds {str(error)}") from None


@dataclass(frozen=True)
class TwinProblem:
    """Rows of two classes, and what it costs not to be near one's own plane or far from the other.

    Attributes
    ----------
    columns : ndarray
        Features in units of selection, or values of a kernel.
    positive : ndarray of bool
        Which rows are of ``classes_[1]``.
    weights : ndarray
        Of the rows.
    c_fit, c_hinge : ndarray of shape (2,)
        In the order of ``classes_``.
    """

    columns: np.ndarray
    positive: np.ndarray
    weights: np.ndarray
    c_fit: np.ndarray
    c_hinge: np.ndarray

    def parts(self, k):
        """Rows of class k and of the other, with the prices of their distances and losses.

        In the problem of the first class all signs are those of the second, so that its solution
        is minus its plane.
        """
        mine = self.positive == bool(k)
        near, far = self.columns[mine], self.columns[~mine]
        return near, far, self.c_fit[k] * self.weights[mine], self.c_hinge[k] * self.weights[~mine]

    @cached_property
    def programs(self):
        """The linear programs of both planes."""
        return tuple(PlaneProgram(*self.parts(k)) for k in (0, 1))

    def flat(self, k):
        """Plane of class k without weights: the better one of the offsets 0 and -1."""
        near, far, fit, hinge = self.parts(k)
        value = float(min(fit.sum(), hinge.sum()))
        offset = 0.0 if hinge.sum() <= fit.sum() else -1.0
        return Plane(np.zeros(self.columns.shape[1]), offset, value, value, np.zeros(0))

    def l1_planes(self, costs=None):
        """Planes of least ``|w|_1`` plus losses, verified."""
        costs = np.ones(self.columns.shape[1]) if costs is None else costs
        return [program.solve(costs) for program in self.programs]

    def l2_planes(self):
        """Planes of least ``|w|_2^2 / 2 + b^2`` plus squared distances and losses, verified."""
        return [l2_plane(*self.parts(k)) for k in (0, 1)]


def l2_plane(near, far, fit, hinge):
    """Minimise ``|w|^2 / 2 + b^2 + fit @ (F w + b)**2 + hinge @ max(0, 1 + H w + b)``.

    In coordinates in which the first two terms are a squared length, this is a soft-margin machine
    without an offset. That is one with an offset, if another row of the other class lies at the
    origin and may not be on the wrong side: the offset is 1, so that lengths and losses double.
    """
    # the last coordinate is the root of 2 times the offset
    near, far = (np.column_stack([part, np.full(len(part), 0.5**0.5)]) for part in (near, far))
    back = None
    if near.shape[1] > len(near) + len(far):
        # the plane lies in the span of the rows
        back, triangle = qr(np.vstack([near, far]).T, mode="economic")
        near, far = triangle.T[: len(near)], triangle.T[len(near) :]
    size = near.shape[1]
    try:
        root = cholesky(np.eye(size) / 2 + (near.T * fit) @ near, lower=True)
    except (LinAlgError, ValueError):
        raise SubproblemError(
            "the squares of the distances overflow; pass a smaller c_fit, or scale=True"
        ) from None
    rows = solve_triangular(root, far.T, lower=True).T
    total = hinge.sum()
    machine = SoftMargin(
        np.vstack([rows, np.zeros(size)]),
        np.append(-np.ones(len(far)), 1.0),
        np.append(hinge, 2 * total) / total,
    )
    found = machine.solve(np.ones(size), 2 * total)
    multipliers = np.minimum(found.multipliers[:-1] / 2, hinge)
    pull = far.T @ multipliers
    joint = -cho_solve((root, True), pull) / 2
    near_by, far_off = near @ joint, 1 + far @ joint
    # the Lagrangian is least here, but for the slope that rounding leaves
    slope = joint + 2 * near.T @ (fit * near_by) + pull
    squares = joint @ joint / 2 + fit @ near_by**2
    rest = solve_triangular(root, slope, lower=True)
    bound = float(squares + multipliers @ far_off - rest @ rest / 4)
    value, longer = squares + hinge @ np.maximum(0, far_off), 1.0
    # where losses are dear, a margin that rounding made short costs more than a longer normal
    short = far_off[multipliers < hinge].max(initial=0)
    if 0 < short < SHORT:
        tried = 1 / (1 - short - 8 * np.finfo(float).eps * (1 + abs(far_off).max()))
        then = tried**2 * squares + hinge @ np.maximum(0, 1 + tried * (far_off - 1))
        if then < value:
            value, longer = then, tried
    weights = longer * (joint if back is None else back @ joint)
    multipliers = np.append(np.zeros(len(near_by)), multipliers)
    plane = Plane(weights[:-1], float(weights[-1] * 0.5**0.5), float(value), bound, multipliers)
    if plane.duality_gap <= GAP:
        return plane
    raise SubproblemError(
        f"the program of a plane was not solved: duality gap {plane.duality_gap:.1e}, more than "
        f"{GAP:g}, where a row has a price up to {max(fit.max(), hinge.max()):.3g}; "
        + remedy(np.append(fit, hinge))
    )


class TwinClassifier(SparseClassifier):
    """Two planes, or surfaces of a kernel: a row is of the class whose plane it is closer to.

    A subclass has the parameters ``c_fit``, ``c_hinge``, ``kernel``, ``gamma`` and ``scale``, and a
    method ``_find_planes(data)`` that returns a mask of the features selected, two planes and the
    result.
    """

    def _check_parameters(self):
        check_prices("c_fit", self.c_fit)
        check_prices("c_hinge", self.c_hinge)
        check_kernel(self.kernel, self.gamma, optional=True)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        data = self._twin_data(samples)
        mask, planes, self.result_ = self._find_planes(data)
        self.objective_ = float(self.result_.objective)
        self._selected = data.selected(mask)
        weights, offsets = signed(planes)
        values, lengths = data.values_and_lengths(mask, weights)
        flat = np.ptp(values, axis=0) <= FLAT * abs(values + offsets).max(axis=0)
        self.norms_ = np.where(flat, 0.0, lengths)
        if data.kernel is None:
            self.coef_, self.intercept_ = data.features.take(mask).undo(weights, offsets)
        else:
            self._kernel, self.gamma_ = data.kernel, data.kernel.gamma
            live = np.flatnonzero(weights.any(axis=0))
            self.dual_coef_, self.intercept_ = weights[:, live], offsets
            self.support_vectors_ = data.rows_with(mask)[data.points[live]]
        self._heavier = float(np.sign(samples.signs @ samples.sample_weight))
        self._warn_of_flat()

    def _twin_data(self, samples):
        """The rows of a fit, with units and, if there is one, kernel; sets ``scale_``."""
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        if not self.scale:
            features = features.from_origin()
        kernel, points = None, None
        if self.kernel is not None:
            points = samples.distinct_points()
            kernel = Kernel.of_points(self.kernel, self.gamma, self.scale_, samples.X[points])
        prices = (np.broadcast_to(np.asarray(c, float), 2) for c in (self.c_fit, self.c_hinge))
        return TwinData(samples, features, kernel, points, *prices)

    def _warn_of_flat(self):
        flat = [
            label
            for label, norm in zip(self.classes_.tolist(), self.norms_, strict=True)
            if norm == 0
        ]
        if not flat:
            return
        if len(flat) == 2:
            what = "both planes are flat, so that the heavier class is predicted everywhere"
        else:
            what = f"the plane of class {flat[0]!r} is flat, so that the other is predicted"
        if not self._selected.any():
            what = f"no feature is selected: {what}"
        remedies = ", ".join(self._remedies_of_flat())
        warn(
            f"{what}; pass {remedies}. Planes of equal class means are flat at any price",
            SelectionWarning,
        )

    def _remedies_of_flat(self):
        return ["a larger c_fit and c_hinge"] + ['kernel="rbf"'] * (self.kernel is None)

    @property
    def support_(self):
        """Mask of the selected features."""
        check_is_fitted(self, "objective_")
        return self._selected

    def _get_support_mask(self):
        return self.support_

    def plane_values(self, X):
        """Values of both planes at each row, 0 on the plane: ``X @ coef_.T + intercept_``.

        Rows of the other class are to have at least 1 in the plane of ``classes_[0]``, and at most
        -1 in the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "objective_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.kernel is None:
            return X @ self.coef_.T + self.intercept_
        rows = np.where(self._selected, X, self._kernel.origin)
        return self._kernel(rows, self.support_vectors_) @ self.dual_coef_.T + self.intercept_

    def distances(self, X):
        """Distance of each row to both planes, infinite from a flat one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``, in the deviations of ``scale_`` or, with a kernel, in its
            space.
        """
        values = abs(self.plane_values(X))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.norms_ > 0, values / self.norms_, np.inf)

    def decision_function(self, X):
        """Distance from the plane of ``classes_[0]`` less that from the other's.

        Above 0 a row is of ``classes_[1]``. Where one plane is flat, rows are not of its class;
        where both are, all are of the heavier class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        first, second = self.distances(X).T
        if (self.norms_ > 0).all():
            return first - second
        if not (self.norms_ > 0).any():
            return np.full(len(first), self._heavier)
        return 1 / (1 + second) if self.norms_[0] == 0 else -1 / (1 + first)

    def summary(self):
        """The selected features, and their weights in both planes.

        Returns
        -------
        str
        """
        check_is_fitted(self, "objective_")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        chosen = np.flatnonzero(self._selected)
        lines = [
            f"{type(self).__name__}: {len(chosen)} of {self.n_features_in_} features",
            *self._summary_lines(),
        ]
        if self.kernel is None:
            scaled = self.coef_ * self.scale_
            chosen = chosen[np.argsort(-abs(scaled[:, chosen]).sum(axis=0), kind="stable")]
            labels = [f"plane {label!r}" for label in self.classes_.tolist()]
            lines.append("weight x sd within the classes, in each plane")
        else:
            scaled, labels = np.zeros((0, self.n_features_in_)), []
            lines.append(f"{len(self.support_vectors_)} points, kernel {self.kernel!r}")
        width = max([len("feature"), *(len(str(names[j])) for j in chosen)])
        lines.append("  ".join([f"{'feature':{width}}", *(f"{label:>14}" for label in labels)]))
        for j in chosen:
            columns = (f"{weight:14.5g}" for weight in scaled[:, j])
            lines.append("  ".join([f"{names[j]!s:{width}}", *columns]).rstrip())
        return "\n".join(lines)

    def _summary_lines(self):
        return ["no promise for new data"]


class TwinData:
    """The samples of a fit, and the problem of the planes on some of the features."""

    def __init__(self, samples, features, kernel, points, c_fit, c_hinge):
        self.X, self.features = samples.X, features
        self.kernel, self.points = kernel, points
        self.rest = samples.positive, samples.sample_weight, c_fit, c_hinge

    @property
    def used(self):
        return self.features.used

    @property
    def n_features(self):
        return len(self.used)

    @cached_property
    def Z(self):
        """Features in units of selection."""
        return self.features.apply(self.X)

    @cached_property
    def linear(self):
        """The problem of planes on all features."""
        return TwinProblem(self.Z, *self.rest)

    @property
    def featureless(self):
        """The problem of planes without features."""
        return TwinProblem(np.zeros((len(self.X), 0)), *self.rest)

    def on(self, mask):
        """The problem of planes on these features alone; with a kernel, of its surfaces."""
        if self.kernel is None:
            return TwinProblem(self.Z[:, mask], *self.rest)
        return TwinProblem(self.kernel_columns(mask), *self.rest)

    def selected(self, mask):
        """The mask of all features, given that of those that vary."""
        selected = np.zeros(self.X.shape[1], dtype=bool)
        selected[self.used[mask]] = True
        return selected

    def rows_with(self, mask):
        """Rows in which the other features are 0 in units of the kernel."""
        return np.where(self.selected(mask), self.X, self.kernel.origin)

    def kernel_columns(self, mask):
        """Values of the kernel on these features, at all rows; one column a point."""
        rows = self.rows_with(mask)
        return self.kernel.columns(rows, rows[self.points])

    def values_and_lengths(self, mask, weights):
        """What each plane of these weights is at the rows, without its offset; its length."""
        if self.kernel is None:
            return self.Z[:, mask] @ weights.T, np.linalg.norm(weights, axis=1)
        live = np.flatnonzero(weights.any(axis=0))
        rows, weights = self.rows_with(mask), weights[:, live]
        vectors = rows[self.points[live]]
        squares = np.einsum("ki,ij,kj->k", weights, self.kernel(vectors, vectors), weights)
        return self.kernel(rows, vectors) @ weights.T, np.sqrt(abs(squares))


def signed(planes):
    """Weights and offsets of both planes, each on the side of its class."""
    signs = np.array([-1.0, 1.0])
    weights = signs[:, None] * np.array([plane.weights for plane in planes])
    return weights, signs * [plane.offset for plane in planes]


def combined(planes, **more):
    """Result of two problems that have nothing to do with each other."""
    value = sum(plane.value for plane in planes)
    gap = sum(plane.value - plane.bound for plane in planes) / value if value > 0 else 0.0
    return solved(value, duality_gap=float(max(0.0, gap)), **more)


class TwinSVM(TwinClassifier):
    """Two planes, each near the rows of its class and a margin away from those of the other.

    (2) and (3) of Bai et al. (2014), for class k with rows F and the others H: minimise ``|w|_2^2 /
    2 + b^2 + c_fit |F w + b|_2^2 + c_hinge sum max(0, 1 - s (H w + b))``, where s is 1 in the plane
    of ``classes_[0]`` and -1 in the other. A row is of the class whose plane is closer.

    Parameters
    ----------
    c_fit : float or pair of float, default=1.0
        Price of the squared distances to the plane of one's own class; above 0, at most 1e6. Two
        are for the planes of both classes, in the order of ``classes_``.
    c_hinge : float or pair of float, default=1.0
        Price of the rows of the other class that are within the margin, likewise.
    kernel : str or callable, optional
        As in `KernelMPM`, such as "rbf": the features are then the kernel's values at the distinct
        training rows, and the planes are surfaces.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    scale : bool, default=True
        Measure features in units of their pooled within-class standard deviation and, without a
        kernel, from a point amid the classes: the offset has a price, so that it matters where the
        origin is.

    Attributes
    ----------
    coef_ : ndarray of shape (2, n_features)
        Normals of the planes, in the order of ``classes_``; not with a kernel.
    intercept_ : ndarray of shape (2,)
    norms_ : ndarray of shape (2,)
        Length of each normal, in the deviations of ``scale_``, by which distances are measured;
        with a kernel in its space. 0 where the plane is flat.
    objective_ : float
        Sum of what both problems minimise.
    support_ : ndarray of shape (n_features,)
        All features that vary; nothing is selected.
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    SubproblemError
        If a plane cannot be verified.

    Notes
    -----
    With m rows and n features O(m n^2 + n^3), or O(m^2 n) if there are fewer rows, and then a
    soft-margin machine of the rows of one class each. A kernel puts the number of distinct rows in
    the place of n. It then also has ``dual_coef_`` of shape (2, n_points), the
    ``support_vectors_`` they belong to, and ``gamma_``.

    References
    ----------
    L. Bai, Z. Wang, Y.-H. Shao and N.-Y. Deng, A novel feature selection method for twin support
    vector machine, Knowledge-Based Systems 59, 2014.

    Examples
    --------
    >>> from fsnotes import TwinSVM, make_cross_planes
    >>> X, y = make_cross_planes(200, center=0.5, seed=0)
    >>> TwinSVM(c_fit=10).fit(X, y).score(X, y)
    0.945
    """

    def __init__(self, *, c_fit=1.0, c_hinge=1.0, kernel=None, gamma=None, scale=True):
        self.c_fit = c_fit
        self.c_hinge = c_hinge
        self.kernel = kernel
        self.gamma = gamma
        self.scale = scale

    def _find_planes(self, data):
        mask = np.ones(data.n_features, dtype=bool)
        planes = data.on(mask).l2_planes()
        return mask, planes, combined(planes)

    def _summary_lines(self):
        return [f"sum of both objectives: {self.objective_:.6g}", *super()._summary_lines()]


class L1TwinSVM(TwinClassifier):
    """Two planes with few weights each: the twin machine of linear programs.

    (7) and (8) of Bai et al. (2014), for class k with rows F and the others H: minimise ``|w|_1 +
    c_fit |F w + b|_1 + c_hinge sum max(0, 1 - s (H w + b))``, where s is 1 in the plane of
    ``classes_[0]`` and -1 in the other. A feature is selected if either plane has a weight for it.

    Parameters
    ----------
    c_fit : float or pair of float, default=1.0
        Price of the distances to the plane of one's own class; above 0, at most 1e6. Two are for
        the planes of both classes, in the order of ``classes_``.
    c_hinge : float or pair of float, default=1.0
        Price of the rows of the other class that are within the margin, likewise.
    kernel : str or callable, optional
        As in `KernelMPM`, such as "rbf": the weights are then those of the kernel's values at the
        distinct training rows, few of which are used, of all features.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    refit : bool, default=True
        Return the planes of `TwinSVM` on the features selected, with the same prices; otherwise
        those of the linear programs. With a kernel, which selects no feature, these are returned.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The norm is not
        scale free: without it, columns of large numbers are selected first.

    Attributes
    ----------
    coef_ : ndarray of shape (2, n_features)
        Normals of the planes, in the order of ``classes_``; exactly zero where not selected. Not
        with a kernel.
    intercept_ : ndarray of shape (2,)
    norms_ : ndarray of shape (2,)
        Length of each normal, in the deviations of ``scale_``, by which distances are measured;
        with a kernel in its space. 0 where the plane is flat.
    objective_ : float
        Sum of what both problems minimise, before a refit.
    support_ : ndarray of shape (n_features,)
        With a kernel, all features that vary.
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    SubproblemError
        If a plane cannot be verified.

    Notes
    -----
    The simplex method on the dual: a variable for each of m rows, a constraint for each of n
    features, of which those that are violated join where they are more than twice the rows. O(m n)
    a pivot. A kernel puts the number of distinct rows in the place of n. It then also has
    ``dual_coef_`` of shape (2, n_points), the ``support_vectors_`` they belong to, and ``gamma_``.

    References
    ----------
    L. Bai, Z. Wang, Y.-H. Shao and N.-Y. Deng, A novel feature selection method for twin support
    vector machine, Knowledge-Based Systems 59, 2014.

    Examples
    --------
    >>> from fsnotes import L1TwinSVM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [L1TwinSVM(c_fit=c, c_hinge=c).fit(X, y).n_selected_ for c in (0.01, 0.1)]
    [6, 20]
    """

    def __init__(self, *, c_fit=1.0, c_hinge=1.0, kernel=None, gamma=None, refit=True, scale=True):
        self.c_fit = c_fit
        self.c_hinge = c_hinge
        self.kernel = kernel
        self.gamma = gamma
        self.refit = refit
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_bool("refit", self.refit)

    def _find_planes(self, data):
        mask = np.ones(data.n_features, dtype=bool)
        problem = data.on(mask)
        planes = problem.l1_planes()
        result = combined(planes, counts=counted_work(problem.programs))
        if self.kernel is None:
            mask = np.any([plane.weights != 0 for plane in planes], axis=0)
            planes = refitted(data, mask, planes, self.refit)
        return mask, planes, result

    def _summary_lines(self):
        return [f"sum of both objectives: {self.objective_:.6g}", *super()._summary_lines()]


def refitted(data, mask, planes, refit):
    """Planes on these features alone: those of least squares, or those given."""
    if refit and mask.any():
        return data.on(mask).l2_planes()
    if data.kernel is not None:
        return planes
    return [replace(plane, weights=plane.weights[mask]) for plane in planes]


def counted_work(programs):
    """Of several programs together."""
    return {kind: sum(p.counts[kind] for p in programs) for kind in programs[0].counts}
