"""Hierarchical Bayes EM: probit machines of few features, or of few training points."""

from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr, ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.kernels import KernelMixin, check_kernel
from fsnotes.core.mm import majorize_minimize, warn_of_max_iter
from fsnotes.core.tolerances import CANCELLED, FLOOR
from fsnotes.core.validation import MOST_STEPS, check_bool, check_count, check_one_of, check_real
from fsnotes.em.posterior import Lasso, ProbitData, Reweighted
from fsnotes.errors import SelectionWarning, warn

__all__ = ["ProbitEM"]

# Part of the slope of the penalty up to which the conditions of an optimum may be violated.
MET = 1e-4
# Steps of EM before those of Newton's method: they decide which weights survive.
PUBLISHED = 10
# Columns are copies where they agree to so many digits, in their deviations.
DIGITS = 9


def first_of_copies(X, features):
    """Return the places of the first of features that are equal in their units, up to the sign.

    Equal is what has the same digits, so that two copies on both sides of a rounding may stay two.
    """
    places = {}
    for place, used in enumerate(features.used):
        column = (X[:, used] - features.center[place]) / features.deviations[place]
        column = column.round(DIGITS)
        column *= np.sign(column[abs(column).argmax()])
        length = features.deviations[place] / features.unit[place]
        # Adding 0 turns -0.0, which has other bytes, into 0.0.
        places.setdefault(((column + 0.0).tobytes(), f"{length:.{DIGITS}g}"), place)
    return np.array(list(places.values()), dtype=int)


of_features = available_if(lambda estimator: estimator.kernel is None)


class FeatureMethods:
    """The methods of a selector of features, which a selector of points does not have."""

    # They stand outside of the selector, in which scikit-learn would wrap them once more.
    get_support = of_features(SelectorMixin.get_support)
    transform = of_features(SparseClassifier.transform)
    fit_transform = of_features(SelectorMixin.fit_transform)
    inverse_transform = of_features(SparseClassifier.inverse_transform)
    get_feature_names_out = of_features(SelectorMixin.get_feature_names_out)
    summary = of_features(SparseClassifier.summary)


class ProbitEM(FeatureMethods, KernelMixin, SparseClassifier):
    """Few features, or few training points, by a probit model with a sparse prior, fitted by EM.

    The label is the sign of the score ``w'x + b`` plus a standard normal variable. Each ``w_i`` is
    normal with a variance tau_i that is unknown, too. The machine is a local maximum of the
    posterior: it minimises minus the log likelihood plus ``sum log |w_i|`` or ``alpha |w|_1``. The
    offset has no penalty, unlike in the published method, where it is one of the weights.

    Parameters
    ----------
    prior : {"jeffreys", "laplace"}, default="jeffreys"
        Of tau_i. "jeffreys", 1 / tau_i, has no parameter; its penalty is ``sum log |w_i|``, which
        is infinitely good without weights, so that where the steps end depends on their start.
        "laplace", an exponential one, has the penalty ``alpha |w|_1``, and one optimum.
    alpha : float, default=1.0
        Penalty on ``|w|_1`` against the sum over rows of the log likelihood, with
        ``prior="laplace"``; above 0. It is the root of the gamma of the published prior. Where it
        is too large for any feature, a warning names the one at which the first enters.
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
        convex problem for the weights that are not zero, until no other gains.
    refit : bool, default=False
        Return the probit machine of the support with the penalty ``|w|_2^2 / 2``, which is finite
        even where the classes can be separated; otherwise the maximum itself. A refit takes back
        what the prior has shrunk, and with it some of the accuracy of the probabilities.
    tol : float, default=1e-06
        Steps end when no weight changes by more than this part of the largest.
    max_iter : int, default=1000
        Most steps, up to 1e6.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation, before the kernel if
        there is one. With "jeffreys" the start alone depends on units.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
    objective_ : float
        Minus the log likelihood plus the penalty, before a refit. The penalty of "jeffreys" is
        ``sum log(|w_i| / floor)`` over the weights that are not zero, where the floor is 1e-6 of
        the largest of the start, in standard deviations of the columns.
    n_iter_, support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which rises by rounding alone, and
        ``result_.violation`` how far the conditions of an optimum are from met.

    Notes
    -----
    A step solves linear systems of N rows and the k features, or points, that are not zero, in
    O(N k min(N, k)), beside O(N n) for units and slopes; a kernel adds O(N^2 n) time and O(N^2)
    memory. Equal rows are one row, of the sum of their weights, and of columns that are equal in
    units of selection, up to the sign, the first may be selected. The start is the machine with the
    penalty ``|w|_2^2 / 2``.

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
        check_one_of("prior", self.prior, ("jeffreys", "laplace"))
        check_one_of("solver", self.solver, ("newton", "em"))
        check_real("alpha", self.alpha, 0, open_at=0)
        check_kernel(self.kernel, self.gamma, optional=True)
        check_bool("refit", self.refit)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        """Select points or, without a kernel, features that vary; of equal ones, the first."""
        if self.kernel is not None:
            return self._fit_points(samples)
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        features = features.take(first_of_copies(samples.X, features))
        data = ProbitData(features.apply(samples.X), samples.signs, samples.sample_weight)
        weights, offset = self._maximize(data, features)
        self._set_planes(features, [weights], [offset])

    def _definition(self, planes):
        margins = planes.signs * planes.scores - planes.by * planes.rounding
        sizes = abs(planes.weights[0])
        if self.prior == "laplace":
            penalties = self.alpha * sizes
        else:
            penalties = np.log(sizes[sizes > 0] / planes.floors[sizes > 0])
        return np.append(penalties, -planes.sample_weight @ log_ndtr(margins))

    def _fit_points(self, samples):
        """Select points: the columns are the kernel's values at them."""
        features = self._scale_features(samples)
        points = self._prepare_kernel(samples, features)
        unique = samples.deduplicate()
        values = self._kernel_.columns(unique.X, samples.X[points])
        data = ProbitData(values, unique.signs, unique.sample_weight)
        weights, offset = self._maximize(data)
        chosen = np.flatnonzero(weights)
        self._points_ = samples.row[points[chosen]]
        self.support_vectors_ = samples.X[points[chosen]]
        self.dual_coef_ = weights[None, chosen]
        self.intercept_ = np.array([offset])

    def _maximize(self, data, features=None):
        """Maximise the posterior; return weights and offset, after the refit if there is one."""
        problem, start = self._problem(data)
        x, result = majorize_minimize(problem, start, self.tol, self.max_iter, warn_of=("rose",))
        x = problem.drop_negligible(x)
        self.n_iter_ = len(result.steps) - 1
        self.objective_ = float(problem.value(x))
        if result.status == "max_iter":
            remedy = ', or solver="newton"' if self.solver == "em" else ""
            warn_of_max_iter(result.steps[-1].change, self.tol, self.max_iter, remedy=remedy)
        if data.n_columns and not x[:-1].any():
            self._warn_of_collapse(data)
        violation = problem.violation(x)
        may_stall = isinstance(problem, Lasso) or problem.rose
        if may_stall and result.status == "converged" and violation > MET:
            result = replace(result, status="stalled")
            warn(
                "no step gains any more, but the conditions of the optimum are violated by "
                f"{violation:.1e}, more than {MET:g}; pass scale=True, a smaller sample_weight or, "
                'with prior="laplace", a larger alpha',
                ConvergenceWarning,
            )
        if features is not None:
            self._set_solved(features, [x[:-1]], [data.one * x[-1]], problem.floors)
        if self.refit and x[:-1].any():
            x = data.minimize_ridge((x[:-1] != 0).astype(float), x)
        self.result_ = replace(result, violation=violation, counts=dict(data.counts))
        return x[:-1], data.one * x[-1]

    def _problem(self, data):
        """The problem that the steps descend, and the point where they start."""
        nothing = data.best_offset()
        if self.prior == "laplace" and self.solver == "newton":
            return Lasso(data, self.alpha), nothing
        start = data.minimize_ridge(np.ones(data.n_columns), nothing)
        start[:-1][data.is_constant] = 0  # what is left there is rounding
        largest = abs(start[:-1]).max(initial=0)
        if largest > 0:
            # The offset must not be so large that it hides a change of the weights.
            start[-1] *= data.one * largest
            data.one = 1 / largest
        floors = FLOOR * data.spread(start).max(initial=0) / data.deviations
        if self.prior == "laplace":
            return Reweighted(data, self.alpha, floors), start
        published = np.inf if self.solver == "em" else PUBLISHED
        return Reweighted(data, None, floors, published), start

    def _warn_of_collapse(self, data):
        kind = "features" if self.kernel is None else "points"
        score_slopes = data.score_slopes(data.best_offset())
        slopes = abs(score_slopes @ data.Z)
        if (slopes <= CANCELLED * (abs(score_slopes) @ abs(data.Z))).all():
            why = "no weights, of any prior, make the likelihood larger than none"
        elif self.prior == "laplace":
            why = f"alpha={self.alpha:g} is too large; the first enters below {slopes.max():.6g}"
        else:
            why = 'the weights have gone to zero; pass prior="laplace", whose alpha can be lowered'
        warn(f"no {kind} were selected: {why}", SelectionWarning)

    @property
    def support_(self):
        """Mask of the selected features; with a kernel, rows of the selected points."""
        return self._points_ if "dual_coef_" in vars(self) else super().support_

    @property
    def n_selected_(self):
        """Number of selected features, or points."""
        return len(self._points_) if "dual_coef_" in vars(self) else super().n_selected_

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
        probit = "minus log likelihood of the probit model"
        return [f"{probit} + {penalty} before any refit: {self.objective_:.6g}"]
