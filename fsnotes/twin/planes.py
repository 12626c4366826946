"""Twin machines: two planes, each near the samples of one class and far from those of the other.

The problems of Bai et al. (2014) for the plane of a class with samples F, and the others H, are

    (2), (3)  minimise ``|w|_2^2 / 2 + b^2 + c_fit |F w + b|_2^2 + c_hinge losses``,
    (7), (8)  minimise ``|w|_1 + c_fit |F w + b|_1 + c_hinge losses``,

with the losses ``sum max(0, 1 - s (H w + b))``, where s is -1 in (2) and (7), for the plane of
``classes_[1]``, and 1 in (3) and (8), for that of ``classes_[0]``.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fsnotes.core.estimator import SparseClassifier, require_numbers
from fsnotes.core.kernels import Kernel, KernelMixin, check_kernel
from fsnotes.core.mm import Result
from fsnotes.core.samples import FeatureScaling
from fsnotes.core.validation import check_bool, check_real, is_real, pair_of, shown
from fsnotes.errors import SelectionWarning, warn
from fsnotes.solvers.hinge import LARGEST_C
from fsnotes.solvers.planes import PlaneProgram, flat_plane, l2_plane

__all__ = ["L1TwinSVM", "TwinClassifier", "TwinSVM"]

LEAST_C = 1e-12  # rounding of the other terms hides what a smaller penalty asks for
FLAT = 1e-9  # part of the values of a plane up to which their variation is taken for rounding
# The problem of the first class is that of the second with all signs exchanged, so that its plane
# is minus the solution.
SIGNS = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class TwinProblem:
    """The samples of two classes, and the penalties of both planes in the order of ``classes_``."""

    X: np.ndarray  # features in the units of selection, or values of a kernel
    positive: np.ndarray  # which samples are of ``classes_[1]``
    sample_weight: np.ndarray
    c_fit: np.ndarray
    c_hinge: np.ndarray
    counts: Counter = field(default_factory=Counter)  # the work done by the linear programs

    def parts(self, k):
        """Return F, H and the penalties of distances and of losses for the plane of class k."""
        own = self.positive == bool(k)
        fit = self.c_fit[k] * self.sample_weight[own]
        hinge = self.c_hinge[k] * self.sample_weight[~own]
        return self.X[own], self.X[~own], fit, hinge

    @cached_property
    def programs(self):
        """The linear programs (8) and (7) of both planes."""
        return tuple(PlaneProgram(*self.parts(k), counts=self.counts) for k in (0, 1))

    def l2_planes(self):
        """Solve (3) and (2)."""
        return [l2_plane(*self.parts(k)) for k in (0, 1)]

    def flat_planes(self):
        """Return the best planes of (8) and (7) without weights."""
        n = self.X.shape[1]
        return [flat_plane(n, *self.parts(k)[2:]) for k in (0, 1)]


@dataclass(frozen=True)
class TwinData:
    """The samples of a fit, and the problem of the planes on some of the features that vary."""

    X: np.ndarray
    features: FeatureScaling  # those that vary: a mask of features is one of these
    problem: TwinProblem  # on all of them
    kernel: Kernel = None
    points: np.ndarray = None  # places of the samples at which kernel functions stand

    def on(self, mask):
        """The problem of planes on these features alone; with a kernel, of its surfaces."""
        if self.kernel is None:
            return replace(self.problem, X=self.problem.X[:, mask])
        return replace(self.problem, X=self.kernel_values(mask))

    def selected(self, mask):
        """The mask of all features, given that of those that vary."""
        selected = np.zeros(self.X.shape[1], dtype=bool)
        selected[self.features.used[mask]] = True
        return selected

    def only(self, mask):
        """The samples, with the other features at the origin of the kernel."""
        return np.where(self.selected(mask), self.X, self.kernel.origin)

    def kernel_values(self, mask):
        """K(A E, A E): the kernel at all samples of these features alone, one column a point."""
        X = self.only(mask)
        return self.kernel.columns(X, X[self.points])


class TwinClassifier(KernelMixin, SparseClassifier):
    """Two planes, or surfaces of a kernel: a sample is of the class whose plane it is closer to.

    A subclass has the parameters ``c_fit``, ``c_hinge``, ``kernel``, ``gamma`` and ``scale``, and a
    method ``_find_planes(data)`` that returns a mask of the features selected, two planes and the
    result.
    """

    _remedies = ("a larger c_fit and c_hinge",)  # what to pass if a plane is flat

    def _check_parameters(self):
        check_penalties("c_fit", self.c_fit)
        check_penalties("c_hinge", self.c_hinge)
        check_kernel(self.kernel, self.gamma, optional=True)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        data = self._twin_data(samples)
        mask, planes, self.result_ = self._find_planes(data)
        self.objective_ = float(self.result_.objective)
        self._selected_ = data.selected(mask)
        self._heavier = float(np.sign(samples.signs @ samples.sample_weight))
        weights = SIGNS[:, None] * np.array([plane.weights for plane in planes])
        offsets = SIGNS * [plane.offset for plane in planes]
        if data.kernel is None:
            self.coef_, self.intercept_ = data.features.take(mask).undo(weights, offsets)
            values = data.problem.X[:, mask] @ weights.T
            norms = np.linalg.norm(weights, axis=1)
        else:
            X = data.only(mask)
            live = np.flatnonzero(weights.any(axis=0))
            self.dual_coef_ = weights[:, live]
            self.intercept_ = offsets
            self.support_vectors_ = points = X[data.points[live]]
            values = self._kernel_(X, points) @ self.dual_coef_.T
            products = self._kernel_(points, points) @ self.dual_coef_.T
            norms = np.sqrt(abs((self.dual_coef_.T * products).sum(axis=0)))
        flat = np.ptp(values, axis=0) <= FLAT * abs(values + offsets).max(axis=0)
        self.norms_ = np.where(flat, 0.0, norms)
        self._warn_of_flat()

    def _set_solved_planes(self, data, planes):
        """Keep the planes that `objective_` is about, if they are none of a kernel."""
        if data.kernel is None:
            weights = SIGNS[:, None] * np.array([plane.weights for plane in planes])
            self._set_solved(data.features, weights, SIGNS * [plane.offset for plane in planes])

    def _values(self, planes, power):
        """The losses of both planes: of distances to this power, and of the other class."""
        own = planes.class_index[:, None] == [0, 1]
        weight = planes.sample_weight[:, None]
        distances = (weight * own * planes.distances() ** power).sum(axis=0)
        losses = (weight * ~own * planes.missing(-SIGNS)).sum(axis=0)
        return np.asarray(self.c_fit, float) * distances + np.asarray(self.c_hinge, float) * losses

    def _twin_data(self, samples):
        """The distinct samples, with units and, if there is one, a kernel, which it sets."""
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        if not self.scale:
            features = features.from_origin()
        problem = TwinProblem(
            features.apply(samples.X),
            samples.positive,
            samples.sample_weight,
            np.broadcast_to(np.asarray(self.c_fit, float), 2),
            np.broadcast_to(np.asarray(self.c_hinge, float), 2),
        )
        if self.kernel is None:
            return TwinData(samples.X, features, problem)
        points = self._prepare_kernel(samples, features)
        return TwinData(samples.X, features, problem, self._kernel_, points)

    def _warn_of_flat(self):
        flat = self.classes_[self.norms_ == 0].tolist()
        if not flat:
            return
        if len(flat) == 2:
            what = "both planes are flat, so that the heavier class is predicted everywhere"
        else:
            what = f"the plane of class {flat[0]!r} is flat, so that the other is predicted"
        if not self._selected_.any():
            what = f"no feature is selected: {what}"
        remedies = ", ".join([*self._remedies, *['kernel="rbf"'] * (self.kernel is None)])
        warn(
            f"{what}; pass {remedies}. Planes of equal class means are flat at any penalty",
            SelectionWarning,
        )

    @property
    def support_(self):
        """Mask of the selected features."""
        return self._selected_

    @np.errstate(under="ignore")  # kernel functions far from their points are zero
    def plane_values(self, X):
        """Values of both planes at each sample, 0 on the plane: ``X @ coef_.T + intercept_``.

        Samples of the other class should have at least 1 in the plane of ``classes_[0]``, and at
        most -1 in that of ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "objective_")
        X = self._check_rows(X)
        if self.kernel is None:
            with np.errstate(over="ignore", invalid="ignore"):
                return require_numbers(X @ self.coef_.T + self.intercept_)
        X = np.where(self._selected_, X, self._kernel_.origin)
        values = self._kernel_(X, self.support_vectors_)
        return require_numbers(values @ self.dual_coef_.T + self.intercept_)

    def distances(self, X):
        """Distance of each sample to both planes, infinite from a flat one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_`` and in the units of ``norms_``.
        """
        values = abs(self.plane_values(X))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(self.norms_ > 0, values / self.norms_, np.inf)

    def decision_function(self, X):
        """Distance from the plane of ``classes_[0]`` less that from the other's.

        Above 0 a sample is of ``classes_[1]``. Where one plane is flat, no sample is of its class.
        Where both are, all are of the heavier class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        first, second = self.distances(X).T
        if (self.norms_ > 0).all():
            with np.errstate(invalid="ignore"):
                return require_numbers(first - second)
        if not (self.norms_ > 0).any():
            return np.full(len(first), self._heavier)
        return 1 / (1 + second) if self.norms_[0] == 0 else -1 / (1 + first)

    def _summary_table(self):
        if self.kernel is not None:
            note = f"{len(self.support_vectors_)} points, kernel {shown(self.kernel)}"
            return note, np.zeros(self.n_features_in_), {}
        scaled = self.coef_ * self.scale_
        names = [f"plane {label!r}" for label in self.classes_.tolist()]
        note = "weight x sd within the classes, in each plane"
        return note, abs(scaled).sum(axis=0), dict(zip(names, scaled, strict=True))

    def _summary_lines(self):
        return [f"sum of both objectives: {self.objective_:.6g}"]


def check_penalties(name, value):
    """Raise unless `value` is a penalty, or two, one for each class."""
    if isinstance(value, (str, bytes, bool)) or is_real(value):
        return check_real(name, value, LEAST_C, most=LARGEST_C)
    penalties = pair_of(value)
    if penalties is None:
        raise ValueError(f"{name}={shown(value)}; pass a number, or two in the order of classes_")
    for penalty in penalties:
        check_real(f"{name}={shown(value)} holds {name}", penalty, LEAST_C, most=LARGEST_C)


def result_of_planes(planes, **more):
    """Return the result of two problems that have nothing to do with each other."""
    value = sum(plane.value for plane in planes)
    gap = sum(plane.value - plane.bound for plane in planes) / value if value > 0 else 0.0
    return Result.solved(value, duality_gap=float(max(0.0, gap)), **more)


def refit_planes(data, mask, planes, refit):
    """Return planes on these features alone: those of least squares, or those given."""
    if refit and mask.any():
        return data.on(mask).l2_planes()
    if data.kernel is not None:
        return planes
    return [replace(plane, weights=plane.weights[mask]) for plane in planes]


class TwinSVM(TwinClassifier):
    """Two planes, each near the samples of its class and a margin away from the others.

    (2) and (3) of Bai et al. (2014), for class k with samples F and the others H: minimise
    ``|w|_2^2 / 2 + b^2 + c_fit |F w + b|_2^2 + c_hinge sum max(0, 1 - s (H w + b))``, where s is 1
    in the plane of ``classes_[0]`` and -1 in the other. The class of the closer plane is predicted.

    Parameters
    ----------
    c_fit : float or pair of float, default=1.0
        Penalty of the squared distances to the plane of one's own class, from 1e-12 to 1e6. Two are
        for the planes of both classes, in the order of ``classes_``.
    c_hinge : float or pair of float, default=1.0
        Penalty of the samples of the other class that are within the margin, likewise.
    kernel : str or callable, optional
        As in `KernelMPM`, such as "rbf": the features are then the kernel's values at the distinct
        training samples, and the planes are surfaces.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    scale : bool, default=True
        Measure features in units of their pooled within-class standard deviation and, without a
        kernel, from a point amid the classes: the offset has a penalty, so the origin matters.

    Attributes
    ----------
    coef_ : ndarray of shape (2, n_features)
        Normals of the planes, in the order of ``classes_``. With a kernel there are ``dual_coef_``
        of shape (2, n_points) instead, the ``support_vectors_`` they belong to, and ``gamma_``.
    intercept_ : ndarray of shape (2,)
    norms_ : ndarray of shape (2,)
        Length of each normal, in the deviations of ``scale_``, by which distances are measured;
        with a kernel in its space. 0 where the plane is flat.
    objective_ : float
        Sum of what both problems minimise.
    support_ : ndarray of shape (n_features,)
        All features that vary. Nothing is selected.
    n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    SubproblemError
        If a plane cannot be verified.

    Notes
    -----
    With m samples and n features a plane takes O(m n^2 + n^3), or O(m^2 n) if the samples are
    fewer, and then a soft-margin machine of the samples of one class. A kernel puts the number of
    distinct samples in the place of n.

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
        mask = np.ones(len(data.features.used), dtype=bool)
        planes = data.on(mask).l2_planes()
        self._set_solved_planes(data, planes)
        return mask, planes, result_of_planes(planes)

    def _definition(self, planes):
        squares = (planes.weights**2).sum(axis=1) / 2
        return squares + planes.sizes_of_biases() ** 2 + self._values(planes, 2)


class L1TwinSVM(TwinClassifier):
    """Two planes with few weights each: the twin machine of linear programs.

    (7) and (8) of Bai et al. (2014), for class k with samples F and the others H: minimise
    ``|w|_1 + c_fit |F w + b|_1 + c_hinge sum max(0, 1 - s (H w + b))``, where s is 1 in the plane
    of ``classes_[0]`` and -1 in the other. A feature is selected if either plane has a weight.

    Parameters
    ----------
    c_fit : float or pair of float, default=1.0
        Penalty of the distances to the plane of one's own class, as in `TwinSVM`.
    c_hinge : float or pair of float, default=1.0
        Penalty of the samples of the other class that are within the margin, likewise.
    kernel : str or callable, optional
        As in `TwinSVM`: the surfaces are then made of few of the points, of all features.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    refit : bool, default=True
        Return the planes of `TwinSVM` on the features selected, with the same penalties; otherwise,
        and with a kernel, which selects no feature, those of the linear programs.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. Without it,
        columns of large numbers are selected first.

    Attributes
    ----------
    coef_ : ndarray of shape (2, n_features)
        Normals of the planes; exactly zero where not selected.
    objective_ : float
        Sum of what both problems minimise, before a refit.
    support_ : ndarray of shape (n_features,)
        With a kernel, all features that vary.
    intercept_, norms_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        As in `TwinSVM`, which says what a kernel has instead of ``coef_``.

    Notes
    -----
    The simplex method solves the dual, with a variable for each of m samples and a constraint for
    each of n features, in O(m n) a pivot. Of many features those join that violate theirs. A kernel
    puts the number of distinct samples in the place of n.

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
        mask = np.ones(len(data.features.used), dtype=bool)
        problem = data.on(mask)
        planes = [program.solve(np.ones(problem.X.shape[1])) for program in problem.programs]
        self._set_solved_planes(data, planes)
        result = result_of_planes(planes, counts=dict(problem.counts))
        if self.kernel is None:
            mask = np.any([plane.weights != 0 for plane in planes], axis=0)
            planes = refit_planes(data, mask, planes, self.refit)
        return mask, planes, result

    def _definition(self, planes):
        return abs(planes.weights).sum(axis=1) + self._values(planes, 1)
