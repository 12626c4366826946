"""The zero-norm support vector machine in the columns of a kernel matrix: few points."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.kernels import BasisClassifier
from fsnotes.core.progress import ProgressBar
from fsnotes.core.reweighting import Run, SoftMargins
from fsnotes.core.samples import first_of_equals
from fsnotes.core.tolerances import VERIFIED_GAP
from fsnotes.core.validation import (
    MOST_STEPS,
    check_bool,
    check_count,
    check_one_of,
    check_real,
    shown,
)
from fsnotes.em.refit import LeastLoss, drop_rounding
from fsnotes.em.zero_norm import ZeroNorm, descend, stages_of
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.hinge import LARGEST_C, HingeData
from fsnotes.solvers.hinge_programs import nothing_gains
from fsnotes.solvers.margin import SoftMargin

__all__ = ["SparseKernelSVM"]

REAL = 1e-13  # part of the largest eigenvalue; smaller ones are rounding
ASYMMETRIC = 1e-8  # part of the largest value by which a kernel may differ from its transpose
AS_GOOD = 1e-7  # part of the least objective by which a refit of least norm may exceed it
ROUNDED = 1e-9  # part of an objective that may be rounding
INDEFINITE = 1e-8  # part of the largest eigenvalue; larger ones below zero are no rounding


class SparseKernelSVM(BasisClassifier):
    """Few points of a kernel machine, by reweighting: their number plus C times the hinge losses.

    `ZeroNormSVM` in the columns of a kernel matrix. The machine is ``sum_j alpha_j k(x, x_j) + b``
    with points x_j of the data, the candidates. Each step is a support vector machine with the
    penalty ``sum alpha_j**2 / alpha_old_j**2``, and with `C0` the two-norm ``alpha' K alpha`` of
    the usual support vector machine beside it. What the steps provably descend is ``C * hinge
    losses + C0 alpha' K alpha + 2 sum log |alpha_j|``. Where they end depends on where they start.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the sum over rows of the hinge losses, in points, as in `ZeroNormSVM`.
    C0 : float, default=0.0
        Cost of the two-norm ``alpha' K alpha``, in points; at most 1e6. K, the kernel's matrix of
        the candidates, has to be positive semidefinite. Printed is the two-norm at the price 1 and
        the zero-norm at the price C0, which is the same problem divided by that price. But there 0
        would be a machine that selects nothing, and here it is the zero-norm alone.
    p : float, default=0.0
        Power of the penalty, as in `ZeroNormSVM`, from 0 to 2, where no point is dropped.
    kernel : str or callable, default="rbf"
        As in `KernelMPM`.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    basis : int or array-like of int, optional
        The candidates: so many distinct points, drawn with `random_state` and all alike, or rows
        of the data with these numbers. By default every distinct point. A step costs their number
        squared: with thousands of rows, pass a few hundred.
    start : {"large_C", "identity"}, default="large_C"
        As in `ZeroNormSVM`: begin at 1024 C and lower it in stages, or begin at C, as published.
    refit : bool, default=True
        Return the machine of the points that are left without a penalty on their weights but C0's;
        of several, which there are if rows can be separated, that of the widest margin. It is never
        worse than the point at which the steps end, which is returned otherwise, as published.
    tol : float, default=1e-06
        A stage ends when no weight changes by more than this part of the largest.
    max_iter : int, default=100
        Most steps of a stage, up to 1e6.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation before the kernel, and
        leave constant ones out.
    random_state : int, default=0
        Of the candidates, where `basis` is their number.
    progress : bool, default=False
        Show a progress bar over the stages, with the number of points left.

    Attributes
    ----------
    support_ : ndarray of int
        Rows of the training data that are selected. Of equal rows the first stands for all, so
        that distinct points are counted; for the rows equal to one, see Notes.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_ : ndarray of shape (1, n_support)
        Alpha, with its own sign, which need not be that of the label.
    intercept_ : ndarray of shape (1,)
        Of several that are as good, the middle one.
    objective_ : float
        Number of points plus ``C0 alpha' K alpha`` plus C times the sum of hinge losses, of the
        machine returned.
    n_iter_ : int
        Machines on the way to the end, the first one included.
    basis_ : ndarray of int
        Rows of the training data that are candidates.
    gamma_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of what the steps descend, as in `ZeroNormSVM`.

    Raises
    ------
    SubproblemError
        If the first machine cannot be verified, or with `C0` the refit. A later step that is not is
        not taken, with a warning. Without `C0` a refit that is not verified, such as one of columns
        that differ by rounding alone, is returned with a warning, and its ``step_gap`` tells.

    Notes
    -----
    With N distinct rows, m candidates and k of them left, a step takes 10 to 50 systems of
    equations, O(N k^2) each, or O(N^3) where candidates are as many as rows, and few where it
    begins near its end; the two-norm adds O(N k^2) a step and O(m^3) once. Memory is O(N m), after
    O(N m n) for the kernel. Equal rows of a class are one row, of the sum of their weights; equal
    rows of any class are one candidate, and so are points with equal columns.

    Where rows repeat, as in tables of counts, machines that count a point as often as it is in the
    data report more: ``(X == v).all(axis=1).sum()`` for each v of ``support_vectors_``.

    Where weights have settled with ``p=0`` and ``C0=0``, each that is left meets ``alpha_j sum_i
    a_i y_i k(x_i, x_j) = 2``, with the multipliers a from 0 to C.

    Published with the two-norm is the matrix of ``y_i y_j k(x_i, x_j)``. That belongs to
    multipliers, which carry no sign. Alpha has its own, so that ``|w|**2`` is ``alpha' K alpha``.

    References
    ----------
    K. Huang, I. King and M. R. Lyu, Direct zero-norm optimization for feature selection,
    Proceedings of the 8th IEEE International Conference on Data Mining, 2008.

    J. Weston, A. Elisseeff, B. Schoelkopf and M. Tipping, Use of the zero norm with linear models
    and kernel methods, Journal of Machine Learning Research 3, 1439-1461, 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fsnotes import SparseKernelSVM
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> machine = SparseKernelSVM(gamma=1).fit(X, y)
    >>> len(machine.support_), machine.score(X, y)
    (5, 1.0)
    """

    def __init__(
        self,
        *,
        C=1.0,
        C0=0.0,
        p=0.0,
        kernel="rbf",
        gamma=None,
        basis=None,
        start="large_C",
        refit=True,
        tol=1e-6,
        max_iter=100,
        scale=True,
        random_state=0,
        progress=False,
    ):
        self.C = C
        self.C0 = C0
        self.p = p
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.start = start
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.random_state = random_state
        self.progress = progress

    def _check_parameters(self):
        super()._check_parameters()
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        check_real("C0", self.C0, 0, most=LARGEST_C)
        check_real("p", self.p, 0, most=2)
        check_one_of("start", self.start, ("large_C", "identity"))
        check_bool("refit", self.refit)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)

    def _fit_samples(self, samples):
        features = self._scale_features(samples)
        self._prepare_kernel(samples, features)
        unique = samples.deduplicate()
        # Equal samples of both classes are neighbours, and one point, in the order of the samples.
        points = np.flatnonzero(np.append(True, (unique.X[1:] != unique.X[:-1]).any(axis=1)))
        point_of = np.unique(samples.X[:, ::-1], axis=0, return_inverse=True)[1].ravel()
        candidates = points[self._candidates(samples, point_of)]
        values = self._kernel_.columns(unique.X, unique.X[candidates])
        kept = first_of_equals(values.T)
        candidates = candidates[kept]
        values = values[:, kept]
        first_row = np.minimum.reduceat(unique.row, points)
        self.basis_ = first_row[np.searchsorted(points, candidates)]
        data = HingeData(values, unique.signs, unique.sample_weight)
        gram = values[candidates]
        self._check_values(values, gram)
        root = root_of(gram, self.kernel) if self.C0 > 0 else None
        run = self._run(data, root)
        self.n_iter_ = len(run.visited)
        end = run.visited[-1][1]
        weights, refit_gap = self._refit(run, gram, end) if self.refit else (end, 0.0)
        chosen = np.flatnonzero(weights)
        self._warn_of_size(data, len(chosen), len(weights))
        order = chosen[np.argsort(self.basis_[chosen])]
        self.support_ = self.basis_[order]
        self.support_vectors_ = unique.X[candidates[order]]
        self.dual_coef_ = weights[order][None]
        self.intercept_ = np.array([data.offset(weights)])
        self.objective_ = self._value(run, weights)
        gap = max(run.result.step_gap or 0.0, refit_gap)
        self.result_ = replace(run.result, step_gap=gap, counts=dict(run.solver.counts))

    def _check_values(self, values, gram):
        off = abs(gram - gram.T).max()
        if off > ASYMMETRIC * abs(values).max():
            raise ValueError(
                f"kernel={shown(self.kernel)} is not symmetric: on these rows its matrix differs "
                f"from its transpose by {off:.3g}; pass a kernel with k(a, b) = k(b, a)"
            )

    def _run(self, data, root):
        Cs = stages_of(self)
        options = {"desc": "SparseKernelSVM", "unit": "stage", "disable": not self.progress}
        with ProgressBar(total=len(Cs), **options) as bar:

            def show(step):
                bar.update(step.stage + 1 - bar.n)
                bar.set_postfix(points=step.n_selected)

            solver = SoftMargins(data) if root is None else TwoNormMargins(data, root, self.C0)
            kind = ZeroNorm if root is None else TwoNorms
            run = Run(data, solver, partial(kind, p=self.p), show=show)
            descend(self, run, Cs)
        run.warn_of_end(self.tol, self.max_iter)
        return run

    def _refit(self, run, gram, end):
        """Return the machine refitted, without a penalty on points, and its duality gap."""
        chosen = np.flatnonzero(end)
        if self.p == 2 or not len(chosen):
            return end, 0.0
        turn = half_inverse(gram[np.ix_(chosen, chosen)])
        if self.C0 > 0:
            found, bound = self._two_norm_machine(run, chosen, turn)
        else:
            found, bound = self._machines_of_least_loss(run, chosen, turn)
        # Where the two-norm has no penalty, the linear program of least loss has many solutions.
        # That of least norm is wanted; but many points of a smooth kernel need weights so large
        # that a margin is lost beside their norm, and then the vertex is more accurate.
        values = [self._value(run, weights) for weights in found]
        most = min(min(values) * (1 + AS_GOOD), self._value(run, end) * (1 + ROUNDED))
        weights = next((w for w, v in zip(found, values, strict=True) if v <= most), end)
        value = self._value(run, weights)
        gap = max(0.0, float((value - np.count_nonzero(weights) - bound) / value))
        if gap > VERIFIED_GAP:
            warn(
                f"the refit is not verified: duality gap {gap:.1e}, more than {VERIFIED_GAP:g}, as "
                "where points are nearly the same to the kernel, or weights of rows very "
                "different; it is no worse than refit=False. Pass a larger gamma, fewer points in "
                "basis=, or C0= above 0",
                ConvergenceWarning,
            )
        return weights, gap

    def _value(self, run, weights):
        """Return the objective, with the best offset."""
        square = run.solver.square(weights) if self.C0 > 0 else 0
        losses = run.data.least_hinge(weights)
        return float(np.count_nonzero(weights) + self.C0 * square + self.C * losses)

    def _two_norm_machine(self, run, chosen, turn):
        """Return weights of least ``C0 alpha' K alpha + C * hinge losses``, and a lower bound."""
        data = run.data
        columns = data.Z[:, chosen] @ turn
        program = SoftMargin(columns, data.signs, data.sample_weight)
        try:
            solution = program.solve(np.ones(columns.shape[1]), self.C / self.C0)
        except SubproblemError as error:
            raise SubproblemError(
                f"the refit with C / C0 for C failed: {error}; or a larger C0, or refit=False"
            ) from error
        run.solver.count(solution)
        weights = np.zeros(data.n_features)
        weights[chosen] = turn @ solution.weights
        return [drop_rounding(weights)], self.C0 * solution.objective * (1 - solution.duality_gap)

    def _machines_of_least_loss(self, run, chosen, turn):
        """Return weights of least hinge loss, first those of least norm, and a lower bound."""
        data = run.data
        unit = data.sample_weight.max()
        in_units = HingeData(data.Z, data.signs, data.sample_weight / unit)
        program = LeastLoss(in_units, run.solver.counts)
        vertex = program.solve(chosen)
        shortest = program.least_norm(turn)
        run.solver.counts["quadratic program"] += 1
        found = [vertex] if shortest is None else [drop_rounding(shortest), vertex]
        return found, self.C * unit * program.bound(vertex)

    def _warn_of_size(self, data, found, most):
        if found == 0 and nothing_gains(data):
            words = (
                "no point is selected: no weights, at any C, have smaller hinge losses than none"
            )
            remedies = ["another kernel or gamma"]
        elif found == 0:
            words = f"C={self.C:g} is too small to select a point"
            remedies = ["a larger C"] if self.C < LARGEST_C else []
            remedies += ['start="large_C"'] if self.start == "identity" else []
            remedies = remedies or ["another kernel or gamma"]
        elif found == most > 1:
            words = f"none of {most} points is dropped at C={self.C:g}"
            remedies = ["a smaller C", "p=0"] if self.p >= 1 else ["a smaller C"]
            remedies[-1] += " if fewer are wanted"
        else:
            return
        warn(f"{words}; pass {', '.join(remedies)}", SelectionWarning)


def root_of(gram, kernel):
    """Return R such that ``R'R`` is the Gram matrix."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    if values[0] < -INDEFINITE * values[-1]:
        raise ValueError(
            f"C0= asks for the two-norm of kernel={shown(kernel)}, which has none on these rows: "
            f"its matrix has eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; pass C0=0, or a "
            "positive semidefinite kernel"
        )
    return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T


def half_inverse(gram):
    """Return T such that ``|v|_2`` is the two-norm of weights ``T v``, where it is not zero.

    Where a kernel has no two-norm, its eigenvalues below zero count by their size.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    sizes = abs(values)
    real = sizes > REAL * sizes.max()
    return vectors[:, real] / np.sqrt(sizes[real])


class TwoNormMargins(SoftMargins):
    """Soft-margin programs in the columns of a kernel, with its two-norm in what is minimised.

    `C0` is the penalty of ``|R alpha|**2``, where ``R'R`` is the kernel's matrix of the candidates.
    """

    def __init__(self, data, root, C0):
        super().__init__(data)
        self.root = root
        self.C0 = float(C0)

    def first(self, C):
        """Return the weights for equal penalties, which here are no plain sums over rows."""
        return self.solve(np.ones(len(self.root)), C).weights

    def square(self, weights):
        """Return ``alpha' K alpha``."""
        live = np.flatnonzero(weights)
        return float(((self.root[:, live] @ weights[live]) ** 2).sum())

    def solve(self, sizes, C):
        """Minimise ``|u|**2 + C0 alpha' K alpha + C * hinge losses`` for ``alpha = sizes * u``."""
        # With I + C0 (sizes K sizes) = L L', both squares are one, of v = L' u.
        live = np.flatnonzero(sizes)
        part = self.root[:, live] * sizes[live]
        try:
            lower = cholesky(np.eye(len(live)) + self.C0 * (part.T @ part), lower=True)
        except LinAlgError as error:
            raise SubproblemError(
                f"C0={self.C0:g} times the two-norm of the kernel is so large that the penalty "
                "on points is lost in rounding; pass a smaller C0, or divide the kernel"
            ) from error
        columns = solve_triangular(lower, (self.data.Z[:, live] * sizes[live]).T, lower=True).T
        program = SoftMargin(columns, self.data.signs, self.data.sample_weight)
        solution = self.count(program.solve(np.ones(len(live)), C, start=self.last))
        turned = solve_triangular(lower, solution.weights, lower=True, trans="T")
        weights = np.zeros(len(sizes))
        weights[live] = sizes[live] * turned
        return replace(solution, weights=weights)


class TwoNorms(ZeroNorm):
    """`ZeroNorm` and the two-norm ``C0 alpha' K alpha``, which `TwoNormMargins` minimises, too."""

    def penalties(self, weights):
        square = self.solver.C0 * self.solver.square(weights)
        return np.append(super().penalties(weights), square)
