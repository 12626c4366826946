"""Hierarchical Bayes EM: probit machines of few features, or of few training points."""

import warnings
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import erfcx, log_ndtr, ndtr, ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.kernels import Kernel, check_kernel
from fsnotes.core.mm import majorize_minimize
from fsnotes.core.samples import first_of_equals
from fsnotes.core.validation import check_bool, check_count, check_one_of, check_real
from fsnotes.errors import SelectionWarning, warn

__all__ = ["ProbitEM"]

FLOOR = 1e-6  # of the largest weight of the start; smaller ones are zero
NEGLIGIBLE = 1e-6  # part of the largest weight that counts as zero in the end
OPTIMAL = 1e-6  # relative violation of the conditions of an optimum that counts as none
MET = 1e-4  # of the same, what may be left
SMALLEST = -1e4  # a margin below which the curvature is 1 but for rounding
NEWTON = 100  # steps within a step
CREEPING = 1e-3  # a change in a step of EM with which it is left at once
PUBLISHED = 10  # steps of EM before those of Newton's method: they decide which weights survive
NEAR = 1e-10  # of a value, a gain after which the next Newton step gains nothing
SUFFICIENT = 1e-4  # part of the gain foreseen that a step has to make
JOINED = 10  # features that join at a time
SHORTEST = 1e-12  # part of a step
ROUNDED = 1e-14  # part of a value
TINY = 1e-9  # a slope that is as good as none
CANCELLED = 1e-12  # of the terms of a sum, what is left of it by rounding
SHIFT = 1e-12  # of each curvature, added to it
SMALLEST_CURVE = 1e-100


def _selects_features(machine):
    return machine.kernel is None


of_features = available_if(_selects_features)


class FeatureMethods:
    """What a selector of features has, and a selector of points has not."""

    # not in the body of a selector, where scikit-learn would wrap them once more
    get_support = of_features(SelectorMixin.get_support)
    transform = of_features(SelectorMixin.transform)
    fit_transform = of_features(SelectorMixin.fit_transform)
    inverse_transform = of_features(SelectorMixin.inverse_transform)
    get_feature_names_out = of_features(SelectorMixin.get_feature_names_out)
    summary = of_features(SparseClassifier.summary)


class ProbitEM(FeatureMethods, SparseClassifier):
    """Few features, or few training points, by a probit model with a sparse prior, fitted by EM.

    The label is the sign of ``w'x + b`` plus a standard normal variable, and ``w_i`` is normal with
    a variance tau_i that is unknown, too. The machine is a local maximum of the posterior: it
    minimises minus the log likelihood plus ``sum log |w_i|`` or ``alpha |w|_1``. The offset has no
    price, unlike in the published method, where it is one of the weights.

    Parameters
    ----------
    prior : {"jeffreys", "laplace"}, default="jeffreys"
        Of tau_i. "jeffreys", 1 / tau_i, has no parameter; its penalty is ``sum log |w_i|``, which
        is infinitely good without weights, so that where the steps end depends on their start.
        "laplace", an exponential one, has the penalty ``alpha |w|_1``, and one optimum.
    alpha : float, default=1.0
        Price of ``|w|_1`` against the sum over rows of the log likelihood, with
        ``prior="laplace"``; above 0. It is the root of the gamma of the published prior. Where it
        is too large for any feature to pay, a warning names the one at which the first enters.
    kernel : str or callable, optional
        As in `KernelMPM`, such as "rbf": the features are then the kernel's values at the training
        points, as they are, and the machine selects points. ``support_`` holds their rows,
        ``support_vectors_`` the points and ``dual_coef_`` their weights, instead of ``coef_``;
        there is no `transform`.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    solver : {"newton", "em"}, default="newton"
        "em" is the published method, two expectations and one linear system a step, which may
        take thousands of steps. "newton" with "jeffreys" begins with ten of these, then takes the
        expectation of 1 / tau_i alone and maximises what is left; with "laplace" it solves the
        convex problem for the features that are not zero, until no other pays.
    refit : bool, default=False
        Return the probit machine of the support with the penalty ``|w|_2^2 / 2``, which is finite
        even where the classes can be separated; otherwise the maximum itself. A refit takes back
        what the prior has shrunk, and with it some of the accuracy of the probabilities.
    tol : float, default=1e-06
        Steps end when no weight changes by more than this part of the largest.
    max_iter : int, default=1000
        Most steps.
    scale : bool, default=True
        Measure features in units of their pooled within-class standard deviation, before the
        kernel if there is one. With "jeffreys" the start alone depends on units.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
    objective_ : float
        Minus the log likelihood plus the penalty, in the units that `scale` sets, before a refit.
        The penalty of "jeffreys" is ``sum log(|w_i| / floor)`` over the weights that are not zero,
        where the floor is 1e-6 of the largest of the start, in standard deviations of the columns.
    n_iter_ : int
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which never rises, and
        ``result_.violation`` how far the conditions of an optimum are from met.

    Notes
    -----
    A step solves linear systems of N rows and the k features, or points, that are not zero, in
    O(N k min(N, k)), beside O(N n) for units and slopes; a kernel adds O(N^2 n) time and O(N^2)
    memory. Equal rows are one row, of the sum of their weights, and of equal columns the first
    may be selected. The start is the machine with the penalty ``|w|_2^2 / 2``.

    With "jeffreys" a weight below the floor is zero for good. Every weight that is left meets ``w_j
    slope_j = 1``, with the slope of the log likelihood, so that at most 0.295 features per row can
    be selected, and weights are finite even where the classes can be separated. A feature that does
    not depend on others survives if its weight is two standard errors from zero. Where features
    are many and rows few, all weights may go to zero, which a warning says. With "laplace" slopes
    are alpha where the weight is not zero, and at most alpha otherwise.

    References
    ----------
    M. A. T. Figueiredo, Adaptive sparseness for supervised learning, IEEE Transactions on Pattern
    Analysis and Machine Intelligence, 2003.

    K. Huang, I. King and M. R. Lyu, Direct zero-norm optimization for feature selection,
    Proceedings of the 8th IEEE International Conference on Data Mining, 2008.

    Examples
    --------
    >>> from fsnotes import ProbitEM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = ProbitEM().fit(X, y)
    >>> machine.n_selected_, machine.predict_proba(X[40:42]).round(2).tolist()
    (5, [[0.12, 0.88], [0.75, 0.25]])
    """

    def __init__(
        self,
        *,
        prior="jeffreys",
        alpha=1.0,
        kernel=None,
        gamma=None,
        solver="newton",
        refit=False,
        tol=1e-6,
        max_iter=1000,
        scale=True,
    ):
        self.prior = prior
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.solver = solver
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale

    def _check_parameters(self):
        for name, allowed in (("prior", ("jeffreys", "laplace")), ("solver", ("newton", "em"))):
            check_one_of(name, getattr(self, name), allowed)
        check_real("alpha", self.alpha, 0, open_at=0)
        check_kernel(self.kernel, self.gamma, optional=True)
        check_bool("refit", self.refit)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        if self.kernel is None:
            self._fit_features(samples.deduplicate())
        else:
            self._fit_points(samples)

    def _fit_features(self, samples):
        features = self._scale_features(samples)
        features = features.take(first_of_equals(samples.X.T[features.used]))
        rows = Rows(features.apply(samples.X), samples.signs, samples.sample_weight)
        x = self._solved(rows)
        self._set_planes(features, x[None, :-1], rows.one * x[-1:])

    def _fit_points(self, samples):
        self._scale_features(samples)
        points = samples.distinct_points()
        self._kernel = Kernel.of_points(self.kernel, self.gamma, self.scale_, samples.X[points])
        self.gamma_ = self._kernel.gamma
        unique = samples.deduplicate()
        values = self._kernel.columns(unique.X, samples.X[points])
        rows = Rows(values, unique.signs, unique.sample_weight)
        x = self._solved(rows)
        chosen = points[x[:-1] != 0]
        self._points = samples.row[chosen]
        self.support_vectors_ = samples.X[chosen]
        self.dual_coef_ = x[None, :-1][:, x[:-1] != 0]
        self.intercept_ = rows.one * x[-1:]

    def _solved(self, rows):
        """Weights and offset of the machine that is returned, with the history of its steps."""
        problem, start = self._problem(rows)
        counts = []
        with warnings.catch_warnings():
            # said below, of the line that calls
            warnings.filterwarnings("ignore", "not converged in", ConvergenceWarning)
            x, result = majorize_minimize(
                problem,
                start,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=lambda _, x: counts.append(np.count_nonzero(x[:-1])),
            )
        # the offset is no feature
        steps = tuple(map(of_so_many, result.steps, counts))
        x = problem.ended(x)
        self.n_iter_ = len(steps) - 1
        self.objective_ = float(problem.value(x))
        if result.status == "max_iter":
            self._warn_of_steps(steps[-1].change)
        if rows.n and not x[:-1].any():
            self._warn_of_collapse(rows)
        violation = problem.violation(x)
        if isinstance(problem, Lasso) and result.status == "converged" and violation > MET:
            result = replace(result, status="stalled")
            self._warn_of_violation(violation)
        if self.refit and x[:-1].any():
            x = rows.penalized((x[:-1] != 0).astype(float), x)
        self.result_ = replace(result, steps=steps, violation=violation, counts=dict(rows.counts))
        return x

    def _problem(self, rows):
        """What the steps descend, and where they start."""
        nothing = rows.without_weights()
        if self.prior == "laplace" and self.solver == "newton":
            return Lasso(rows, self.alpha), nothing
        start = rows.penalized(np.ones(rows.n), nothing)
        largest = abs(start[:-1]).max(initial=0)
        if largest > 0:
            # so that the offset does not hide a change of the weights
            start[-1] *= rows.one * largest
            rows.one = 1 / largest
        floors = FLOOR * rows.spread(start).max(initial=0) / rows.deviations
        if self.prior == "laplace":
            return Reweighted(rows, self.alpha, floors), start
        published = np.inf if self.solver == "em" else PUBLISHED
        return Reweighted(rows, None, floors, published), start

    def _warn_of_steps(self, change):
        remedy = ', or solver="newton"' if self.solver == "em" else ""
        warn(
            f"not converged in {self.max_iter} steps: the last changed the weights by {change:.1e},"
            f" more than tol={self.tol:g}; raise max_iter or tol{remedy}",
            ConvergenceWarning,
        )

    def _warn_of_violation(self, violation):
        warn(
            f"no step gains any more, but the conditions of the optimum are violated by "
            f"{violation:.1e} of alpha, more than {MET:g}; pass scale=True or a larger alpha",
            ConvergenceWarning,
        )

    def _warn_of_collapse(self, rows):
        kind = "features" if self.kernel is None else "points"
        pulls = rows.pulls(rows.without_weights())
        slopes, terms = abs(pulls @ rows.Z), abs(pulls) @ abs(rows.Z)
        if (slopes <= CANCELLED * terms).all():
            why = "no weights, of any prior, make the likelihood larger than none"
        elif self.prior == "laplace":
            first = slopes.max()
            why = f"alpha={self.alpha:g} is too large; the first one enters below {first:.6g}"
        else:
            why = 'the weights have gone to zero; pass prior="laplace", of which alpha is the price'
        warn(f"no {kind} were selected: {why}", SelectionWarning)

    @property
    def support_(self):
        """Mask of the selected features; with a kernel, rows of the selected points."""
        return self._points if "dual_coef_" in vars(self) else super().support_

    @property
    def n_selected_(self):
        """Number of selected features, or points."""
        return len(self._points) if "dual_coef_" in vars(self) else super().n_selected_

    def decision_function(self, X):
        """Score of each row, in standard deviations of the noise; above 0 is ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "intercept_")
        if "coef_" in vars(self):
            return super().decision_function(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._kernel(X, self.support_vectors_) @ self.dual_coef_[0] + self.intercept_[0]

    def predict_proba(self, X):
        """Probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        scores = self.decision_function(X)
        return ndtr(np.column_stack([-scores, scores]))

    def predict_log_proba(self, X):
        """Logarithm of the probability of each class, which is finite where that rounds to 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        scores = self.decision_function(X)
        return log_ndtr(np.column_stack([-scores, scores]))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.kernel is not None:
            tags.transformer_tags = None
        return tags

    def _summary_lines(self):
        penalty = "sum log (|w| / floor)" if self.prior == "jeffreys" else f"{self.alpha:g} |w|_1"
        return [
            f"minus log likelihood + {penalty} before any refit: {self.objective_:.6g}",
            "probabilities are those of a probit model; no promise for new data",
        ]


def of_so_many(step, count):
    return replace(step, n_selected=int(count))


def ratio(margins):
    """Density over distribution function of a standard normal variable, at any margin."""
    return np.sqrt(2 / np.pi) / erfcx(-margins / np.sqrt(2))


def curvature(margins, ratios):
    """Second derivative of minus the logarithm of the distribution function, from 0 to 1."""
    return np.where(margins > SMALLEST, ratios * (ratios + margins), 1.0)


class Rows:
    """Rows, their signs and weights, and the probit model of machines on them.

    A machine is an array of its weights and, last, that of a column whose values are all `one`.
    """

    def __init__(self, Z, signs, shares):
        self.Z, self.signs, self.shares = Z, signs, shares
        self.n = Z.shape[1]
        # a column of equal values tells nothing, whatever its weight
        self.deviations = np.maximum(Z.std(axis=0), np.finfo(float).tiny)
        self.one = max(1.0, self.deviations.max(initial=0))
        self.counts = {"linear system": 0}

    def scores(self, x):
        live = np.flatnonzero(x[:-1])
        return self.Z[:, live] @ x[live] + self.one * x[-1]

    def spread(self, x):
        """Sizes of the weights in standard deviations of their columns."""
        return abs(x[:-1]) * self.deviations

    def loss(self, x):
        """Minus the logarithm of the likelihood."""
        return -float(self.shares @ log_ndtr(self.signs * self.scores(x)))

    def pulls(self, x):
        """Derivative of the log likelihood by the score of each row."""
        return self.shares * self.signs * ratio(self.signs * self.scores(x))

    def without_weights(self):
        """The machine of the largest likelihood that has only an offset."""
        offset = ndtri(self.shares @ (self.signs > 0) / self.shares.sum())
        return np.append(np.zeros(self.n), offset / self.one)

    def expected(self, x):
        """Means of the hidden variables, (4)."""
        scores = self.scores(x)
        return scores + self.signs * ratio(self.signs * scores)

    def em_step(self, sizes, x):
        """M-step for ``w = sizes * u`` with the penalty ``|u|_2^2``, as for both in (6)."""
        live = np.flatnonzero(sizes)
        self.counts["linear system"] += 1
        u, offset = ridge(self.Z[:, live] * sizes[live], self.expected(x), self.shares)
        new = np.zeros(len(x))
        new[live], new[-1] = sizes[live] * u, offset / self.one
        return new

    def penalized(self, sizes, x):
        """Machine of least ``loss + |u|_2^2 / 2`` for ``w = sizes * u``, by Newton's method."""
        live = np.flatnonzero(sizes)
        A = self.Z[:, live] * sizes[live]
        u = np.append(x[live] / sizes[live], self.one * x[-1])

        def value(u):
            margins = self.signs * (A @ u[:-1] + u[-1])
            return -self.shares @ log_ndtr(margins) + u[:-1] @ u[:-1] / 2

        before = value(u)
        for _ in range(NEWTON):
            scores = A @ u[:-1] + u[-1]
            margins = self.signs * scores
            ratios = ratio(margins)
            curves = curvature(margins, ratios)
            # the root of the tangent of the slope, where the curve is not flat already
            away = np.where(margins > SMALLEST, 1 / np.maximum(ratios + margins, TINY), ratios)
            targets = scores + self.signs * away
            self.counts["linear system"] += 1
            step = np.append(*ridge(A, targets, self.shares * curves)) - u
            pulls = self.shares * self.signs * ratios
            foreseen = pulls @ (A @ step[:-1] + step[-1]) - u[:-1] @ step[:-1]
            length, after = 1.0, value(u + step)
            while after > before - SUFFICIENT * length * foreseen and length > SHORTEST:
                length /= 2
                after = value(u + length * step)
            if after >= before:
                break
            u, before = u + length * step, after
            if foreseen <= NEAR * before:
                break
        new = np.zeros(len(x))
        new[live], new[-1] = sizes[live] * u[:-1], u[-1] / self.one
        return new


def ridge(A, targets, shares):
    """Minimise ``shares @ (targets - A u - b)**2 + u @ u``, in the smaller of its two forms."""
    total = shares.sum()
    center, level = shares @ A / total, shares @ targets / total
    B = np.sqrt(shares)[:, None] * (A - center)
    r = np.sqrt(shares) * (targets - level)
    if B.shape[1] <= B.shape[0]:
        u = positive_solve(np.eye(B.shape[1]) + B.T @ B, B.T @ r)
    else:
        u = B.T @ positive_solve(np.eye(B.shape[0]) + B @ B.T, r)
    return u, level - center @ u


def positive_solve(matrix, right):
    """Solution of a system whose matrix is positive definite, but perhaps for rounding."""
    if not len(right):
        return right
    try:
        units = np.sqrt(matrix.diagonal())
        return cho_solve(cho_factor(matrix / np.outer(units, units)), right / units) / units
    except LinAlgError:
        return np.linalg.lstsq(matrix, right)[0]


class Reweighted:
    """Minus the logarithm of the posterior, by squares that lie above it, for `majorize_minimize`.

    The penalty is ``alpha |w|_1``, or where `alpha` is None ``sum log |w|``, in which weights below
    their floors count as these. It is counted from there, so that it is 0 without weights. The
    first `published` steps are those of EM, in which the likelihood has squares above it, too.
    """

    def __init__(self, rows, alpha, floors, published=np.inf):
        self.rows, self.alpha, self.floors, self.published = rows, alpha, floors, published

    def value(self, x):
        return self.rows.loss(x) + self.penalty(abs(x[:-1]))

    def penalty(self, sizes):
        if self.alpha is not None:
            return self.alpha * float(sizes.sum())
        larger = sizes > self.floors
        return float(np.log(sizes[larger] / self.floors[larger]).sum())

    def tangent(self, x):
        """Roots of the means of 1 / tau, (5), turned over: of columns with ``|u|_2^2 / 2``."""
        sizes = abs(x[:-1])
        return sizes if self.alpha is None else np.sqrt(sizes / self.alpha)

    def minimize(self, sizes, x):
        """A step, after which weights below their floors are zero."""
        new = self.rows.em_step(sizes, x) if self.published > 0 else x
        self.published -= 1
        if abs(new - x).max() <= CREEPING * abs(new).max() and self.published < np.inf:
            self.published = 0
            new = self.rows.penalized(sizes, x)
        new[:-1] = np.where(abs(new[:-1]) > self.floors, new[:-1], 0)
        return new if self.alpha is None else self.revived(new)

    def revived(self, x):
        """The machine once the weight at zero that pays most, if one does, has left it.

        No step leaves zero by itself, where a weight may be on its way to the other sign.
        """
        zeros = np.flatnonzero(x[:-1] == 0)
        slopes = self.rows.pulls(x) @ self.rows.Z[:, zeros]
        excess = abs(slopes) - self.alpha
        if excess.max(initial=0) > OPTIMAL * self.alpha:
            best = excess.argmax()
            curve = self.rows.shares @ self.rows.Z[:, zeros[best]] ** 2  # or less
            x[zeros[best]] = np.sign(slopes[best]) * excess[best] / curve
        return x

    def ended(self, x):
        """The machine without the weights that only come near zero."""
        spread = self.rows.spread(x)
        return np.append(np.where(spread > NEGLIGIBLE * spread.max(initial=0), x[:-1], 0), x[-1])

    def violation(self, x, among=slice(None)):
        """Largest part of a slope that the slope of the penalty does not balance.

        A weight at zero is one where the slope is at most alpha, or with the logarithm any.
        """
        weights, pulls = x[:-1], self.rows.pulls(x)
        slopes = pulls @ self.rows.Z
        live = weights != 0
        offset = abs(pulls.sum()) / abs(pulls).sum()
        if self.alpha is None:
            off = np.where(live, abs(weights * slopes - 1), 0)
        else:
            off = np.maximum(abs(slopes) / self.alpha - 1, 0)
            off[live] = abs(slopes[live] / self.alpha - np.sign(weights[live]))
        return float(off[among].max(initial=offset))


class Lasso(Reweighted):
    """The same with ``alpha |w|_1``, whose optimum is found by Newton's method on few weights.

    Each step lets weights join whose slope is larger than alpha, and solves for those that differ
    from zero as long as their signs last.
    """

    def __init__(self, rows, alpha):
        super().__init__(rows, alpha, np.zeros(rows.n))

    def ended(self, x):
        """The machine as it is, whose zeros are exact."""
        return x

    def tangent(self, x):
        """Signs with which weights at zero are wanted: of the steepest, as many as may join."""
        slopes = self.rows.pulls(x) @ self.rows.Z
        excess = np.where(x[:-1] == 0, abs(slopes) - self.alpha * (1 + OPTIMAL / 10), 0)
        joining = np.argsort(-excess, kind="stable")[:JOINED]
        joining = joining[excess[joining] > 0]
        signs = np.zeros(len(slopes))
        signs[joining] = np.sign(slopes[joining])
        return signs

    def minimize(self, joining, x):
        """The machine of least value among those of these signs, or one on the way there."""
        if not joining.any() and self.violation(x) <= OPTIMAL / 10:
            return x
        for _ in range(NEWTON):
            new = self.newton_step(joining, x)
            if new is x:
                break
            x, joining = new, np.zeros(len(joining))
            if self.violation(x, x[:-1] != 0) <= OPTIMAL / 100:
                break
        return x

    def newton_step(self, joining, x):
        """The next point, or the same if none nearby has a lower value."""
        before = self.value(x)
        signs = np.where(x[:-1] != 0, np.sign(x[:-1]), joining)
        while True:
            direction, foreseen = self.direction(signs, x)
            # of those that join, some may be wanted with the other sign once others have joined
            wrong = (x[:-1] == 0) & (direction[:-1] * signs < 0)
            if not wrong.any():
                break
            signs = np.where(wrong, 0, signs)
        length = 1.0
        while length > SHORTEST:
            new = x + length * direction
            new[:-1] = np.where(new[:-1] * signs > 0, new[:-1], 0)  # up to a change of sign
            after = self.value(new)
            if after <= before * (1 + ROUNDED) - SUFFICIENT * length * foreseen:
                return new
            length /= 2
        return x

    def direction(self, signs, x):
        """Newton's, of the weights that have a sign, and the gain that their slopes foresee."""
        rows, live = self.rows, np.flatnonzero(signs)
        A = np.column_stack([rows.Z[:, live], np.full(len(rows.Z), rows.one)])
        margins = rows.signs * rows.scores(x)
        ratios = ratio(margins)
        slopes = (rows.shares * rows.signs * ratios) @ A
        slopes[:-1] -= self.alpha * signs[live]
        curves = rows.shares * curvature(margins, ratios)
        matrix = (A * curves[:, None]).T @ A
        # of more weights than rows, or of columns that depend on each other, it is singular
        matrix[np.diag_indices_from(matrix)] *= 1 + SHIFT
        matrix[np.diag_indices_from(matrix)] += SMALLEST_CURVE
        rows.counts["linear system"] += 1
        part = positive_solve(matrix, slopes)
        direction = np.zeros(len(x))
        direction[live], direction[-1] = part[:-1], part[-1]
        return direction, float(slopes @ part)
