"""DC decomposition: minimax probability machines under stand-ins for the zero norm.

The numbers in brackets are equations of Yang and Ju (2014).
"""

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fsnotes.chebyshev import MPM
from fsnotes.core.bounded import BoundedClassifier, nonnegligible, result_of
from fsnotes.core.bounds import kappa
from fsnotes.core.kernels import KernelClassifier
from fsnotes.core.mm import Result, majorize_minimize, rises
from fsnotes.core.moment_classifier import keep_the_less
from fsnotes.core.promises import certain_accuracies, score_rounding
from fsnotes.core.pruning import fewest_features
from fsnotes.core.surrogates import Exponential, check_surrogate
from fsnotes.core.validation import (
    MOST_STEPS,
    check_count,
    check_one_of,
    check_real,
    shown,
)
from fsnotes.errors import EqualMeansError, SubproblemError, warn
from fsnotes.solvers.cone import Solution

__all__ = ["KernelL0MPM", "KernelMPM", "L0MPM"]

DEFAULT_ALPHA = 5.0
LARGEST_ALPHA = 1e12  # The slope of a larger one leaves a cone program no digits.
# A weight costs at least this part of the steepest slope, since one that cost nothing could grow
# without end; where the slope at 0 is infinite, a cost is at most the inverse of it times another.
LEAST_COST = 1e-6


class SurrogateProgram:
    """The sum of a surrogate under the bounds of two classes, for `majorize_minimize`.

    With sizes ``|w_j|`` in units of their costs it is a difference of convex functions, ``g - h``
    with ``g = steepest slope * |w|_1`` and ``h = g - sum_j surrogate(|w_j|)`` (37)-(38). A step
    takes the tangent of h, which lies below h, and minimises what is then a convex problem.
    """

    def __init__(self, path, bound, surrogate, majorizer, start):
        self.path = path
        self.kappas = (kappa(bound), kappa(bound))
        self.surrogate = surrogate
        self.majorizer = majorizer
        steepest = surrogate.slope_at_zero
        self.floor = LEAST_COST * (steepest if np.isfinite(steepest) else 1.0)
        self.solutions = [start]
        self.unsolved = None
        self.lowest = np.inf

    def value(self, weights):
        """The objective of (32)-(36): the sum of the surrogate, and what keeps weights finite."""
        sizes = self.path.costs * abs(weights)
        return float((self.surrogate.value(sizes) + self.floor * sizes).sum())

    def tangent(self, weights):
        """Costs, tilt and constant of the weighted l1 norm that lies above."""
        costs = self.path.costs
        sizes = costs * abs(weights)
        slopes = self.surrogate.slope(sizes) + self.floor
        used = sizes[sizes > 0]
        constant = float((self.surrogate.value(used) - self.surrogate.slope(used) * used).sum())
        if self.majorizer == "reweighted":
            # an infinite slope keeps a weight at zero, and so does a large one
            return costs * np.minimum(slopes, slopes.min() / LEAST_COST), None, constant
        steepest = self.surrogate.slope_at_zero + self.floor
        tilt = np.sign(weights) * (steepest - slopes)  # the slope of h (40)
        return costs * np.full(len(weights), steepest), costs * tilt, constant

    def minimize(self, tangent, weights):
        """The cone program (42)-(46), from the solution of the last.

        A step that is not verified is not taken, nor one that its duality gap lets rise.
        """
        costs, tilt, constant = tangent
        start = self.solutions[-1]
        feasible = self.path.largest.weights
        try:
            solution = self.path.problem.solve(
                self.kappas, costs, tilt, constant=constant, feasible=feasible, start=start
            )
            self.lowest = min(self.lowest, self.value(weights))
            after = self.value(solution.weights)
            if rises(after, self.lowest):
                raise SubproblemError(
                    f"its duality gap of {solution.duality_gap:.1e} lets it rise from "
                    f"{self.lowest:.9g} to {after:.9g}; pass a ridge, or a bound further from the "
                    "largest"
                )
        except SubproblemError as error:
            self.unsolved = error
            return weights
        self.solutions.append(solution)
        return solution.weights


class L0MPM(BoundedClassifier):
    """Few features for a given accuracy bound, by a concave stand-in for their number.

    Minimises the sum over features of a surrogate of the size of the weight, such as
    ``1 - exp(-alpha |w|)``, under the bound of `L1MPM`, whose solution is the start. Each step
    solves a convex problem whose objective lies above and touches at the current weights.

    Parameters
    ----------
    retain : float, default=0.9
        In (0, 1]. The bound asked for, as a part of the largest that the data admit.
    delta : float, optional
        In (0, 1). The bound itself; overrides ``retain``.
    alpha : float, default=5.0
        Of the surrogate `~fsnotes.Exponential`. The larger, the nearer to the number of features,
        and the more the answer depends on the start.
    surrogate : Surrogate, optional
        Another stand-in, concave in ``|w|``, instead of ``Exponential(alpha)``.
    majorizer : {"dc", "reweighted"}, default="dc"
        The published step, which takes the tangent of the convex part in w, for surrogates with a
        finite slope at 0; or the reweighted l1 norm, which lies closer.
    normalization : {"margin", "gap"}, default="margin"
        As in `L1MPM`.
    prune : bool, default=True
        Remove features one by one while the bound of the refitted machine holds, then exchange
        features one for one where this lets another go.
    n_features : int, optional
        Select exactly so many, whatever the bound; overrides ``retain`` and ``delta``. With
        `prune`, exchanges then raise the bound. Needs `refit`; without it, fewer may be left.
    refit : bool, default=True
        Return the minimax probability machine of the features selected, not the solution itself.
    tol : float, default=1e-06
        Steps end when no weight changes by more than this part of the largest.
    max_iter : int, default=100
        Most steps, up to 1e6.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation.

    Attributes
    ----------
    coef_, intercept_, largest_delta_, delta_, worst_case_accuracy_
        As in `L1MPM`.
    objective_ : float
        Sum of the surrogate, in the units that `scale` sets, before pruning and refit.
    n_iter_ : int
        Convex problems solved after the start.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which rises by rounding alone.

    Raises
    ------
    InfeasibleBoundError, SubproblemError
        As `L1MPM`. A step after the start that is not verified is not taken, with a warning.

    Notes
    -----
    The cost of `~fsnotes.chebyshev.L1MPM`, O(k^3) a step for k selected features, and with `prune`
    O(k^4), and for each round of exchanges O(k^4 + n k^2), or O(k^4 + N n k) if there are fewer
    rows N than features.

    Surrogates that are flat from some size on make weights nearly free there. Where the bound is
    within about 1e-4 of the largest, multipliers are so large beside such costs that rounding may
    hide the proof of a step. ``result_.status`` is then "stalled", and the bound still holds.

    References
    ----------
    L. Yang and R. Ju, A DC programming approach for feature selection in the minimax probability
    machine, International Journal of Computational Intelligence Systems, 2014.

    Examples
    --------
    >>> from fsnotes import L0MPM, L1MPM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> L1MPM(retain=0.95).fit(X, y).n_selected_, L0MPM(retain=0.95).fit(X, y).n_selected_
    (15, 5)
    """

    _prune = staticmethod(fewest_features)

    def __init__(
        self,
        *,
        retain=0.9,
        delta=None,
        alpha=DEFAULT_ALPHA,
        surrogate=None,
        majorizer="dc",
        normalization="margin",
        prune=True,
        n_features=None,
        refit=True,
        tol=1e-6,
        max_iter=100,
        ridge=0.0,
        scale=True,
    ):
        super().__init__(ridge=ridge, scale=scale)
        self.retain = retain
        self.delta = delta
        self.alpha = alpha
        self.surrogate = surrogate
        self.majorizer = majorizer
        self.normalization = normalization
        self.prune = prune
        self.n_features = n_features
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self):
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, open_at=0, most=LARGEST_ALPHA)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)
        check_one_of("majorizer", self.majorizer, ("dc", "reweighted"))
        surrogate = surrogate_of(self)
        given = f"surrogate={shown(surrogate)}"
        if self.surrogate is not None and self.alpha != DEFAULT_ALPHA:
            raise ValueError(
                f"alpha={self.alpha:g} belongs to Exponential, and {given} is given too; pass one "
                "of them"
            )
        if isinstance(surrogate, type):
            raise TypeError(f"surrogate={surrogate.__name__} is a class; pass an object of it")
        for method in ("value", "slope", "concave_in"):
            if not hasattr(surrogate, method):
                raise TypeError(
                    f"{given} has no {method}; pass one of fsnotes.core.surrogates, as in "
                    "surrogate=Log(eps=0.1)"
                )
        if type(surrogate).__module__ != Exponential.__module__:
            check_surrogate(surrogate)
        if surrogate.concave_in != "|w|":
            raise ValueError(
                f"{given} is concave in {surrogate.concave_in} alone, so that a weighted l1 norm "
                "does not lie above it and steps may rise; pass one that is concave in |w|"
            )
        steepest = surrogate.slope_at_zero
        if np.isfinite(steepest) and steepest > LARGEST_ALPHA:
            raise ValueError(
                f"{given} has a slope of {steepest:g} at 0; pass one of at most {LARGEST_ALPHA:g}"
            )
        if self.majorizer == "dc" and not np.isfinite(steepest):
            raise ValueError(
                f"{given} has an infinite slope at 0, so it is no difference of convex functions; "
                'pass majorizer="reweighted"'
            )

    def _descend(self, path, bound, solution):
        surrogate = surrogate_of(self)
        problem = SurrogateProgram(path, bound, surrogate, self.majorizer, solution)
        weights = solution.weights
        if path.is_largest(bound):  # one machine is left
            result = Result("converged", problem.value(weights))
        else:
            weights, result = majorize_minimize(problem, weights, self.tol, self.max_iter)
        status = result.status
        if problem.unsolved is not None:
            status = "stalled"
            warn(
                f"step {len(problem.solutions)} was not solved to verified accuracy, so the point "
                f"before it is kept: {problem.unsolved}",
                ConvergenceWarning,
            )
        self._unselected_ = weights
        self.n_iter_ = len(problem.solutions) - 1
        value = float(surrogate.value(path.costs * abs(weights)).sum())
        if self.n_features is not None and self.refit:
            weights = fill_up(weights, solution.weights, int(self.n_features))
        proof = result_of(*problem.solutions)
        # The steps are convex, but the sum of the surrogate is not.
        proof = replace(proof, status=status, duality_gap=None)
        result = replace(proof, objective=result.objective, steps=result.steps)
        return Solution(weights, value), result

    def _definition(self, planes):
        return surrogate_of(self).value(abs(planes.weights[0]))


def fill_up(weights, start, n_features):
    """Weights with so many features, where fewer are left with the heaviest of the start."""
    chosen = nonnegligible(weights)
    more = np.setdiff1d(nonnegligible(start), chosen)
    missing = max(n_features - len(chosen), 0)
    more = more[np.argsort(-abs(start[more]), kind="stable")][:missing]
    weights = weights.copy()
    weights[more] = abs(weights).max()  # size and sign do not matter, since a refit follows
    return weights


def surrogate_of(estimator):
    """The surrogate of an estimator that has one, or alone the alpha of the published one."""
    return Exponential(estimator.alpha) if estimator.surrogate is None else estimator.surrogate


class KernelMPM(KernelClassifier):
    """Minimax probability machine in the columns of a kernel matrix.

    The features are the kernel's values at the training points, as many as rows. Their covariance
    matrices are singular, so that without a ridge every bound is feasible and says nothing.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "poly", "sigmoid", "cosine", "chi2", "linear" or a function of two rows.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    ridge : float, optional
        Added to the variances of the kernel's columns; by default a thousandth of their mean.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation before the kernel, and
        leave constant ones out.

    Attributes
    ----------
    support_ : ndarray of int
        Rows of the training data with a weight that is not zero.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_, intercept_ : ndarray of shape (1, n_support) and (1,)
    largest_delta_, delta_, worst_case_accuracy_, objective_
        As in `MPM`, of the moments with the ridge.
    gamma_, ridge_, scale_, classes_, n_features_in_, feature_names_in_, result_

    Notes
    -----
    O(N^2 n + N^3) time and O(N^2) memory for N rows. Equal rows are one column of the kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fsnotes import KernelMPM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> KernelMPM(gamma=2).fit(X, y).score(X, y)
    1.0
    """

    # attributes of the machine in the kernel's columns that are this one's too
    _shared = "intercept_ largest_delta_ delta_ worst_case_accuracy_ objective_ result_"

    def __init__(self, *, kernel="rbf", gamma=None, ridge=None, scale=True):
        self.kernel = kernel
        self.gamma = gamma
        self.ridge = ridge
        self.scale = scale

    def _linear_estimator(self, ridge):
        return MPM(ridge=ridge, scale=False)

    def _check_parameters(self):
        super()._check_parameters()
        check_real("ridge", self.ridge, 0, optional=True)

    def _fit_samples(self, samples):
        features = self._scale_features(samples)
        points = self._prepare_kernel(samples, features)
        values = self._kernel_.columns(samples.X, samples.X[points])
        columns = self._class_moments(samples, values)
        if self.ridge is None:
            probabilities = columns.weights_ / columns.weights_.sum()
            self.ridge_ = 1e-3 * float((probabilities @ columns.variances()).mean())
        else:
            self.ridge_ = float(self.ridge)
        try:
            machine = self._linear_estimator(self.ridge_)
            machine._check_parameters()
            machine._fit_moments(columns, is_verified=True)
        except SubproblemError as error:  # without its words on features, which here are points
            raise SubproblemError(f"{error.__cause__ or error}, or another gamma") from error
        except EqualMeansError:
            raise EqualMeansError(
                f"the values of {self._kernel_} have the same means in both classes up to "
                "rounding, as where they are all equal; pass another kernel or gamma"
            ) from None
        chosen = np.flatnonzero(machine.coef_[0])
        self.support_ = samples.row[points[chosen]]
        self.support_vectors_ = samples.X[points[chosen]]
        self.dual_coef_ = machine.coef_[:, chosen]
        for name in self._shared.split():
            setattr(self, name, getattr(machine, name))
        used = values[:, chosen]
        weights = self.dual_coef_[0]
        offset = self.intercept_[0]
        of_values = self._kernel_.rounding(samples.X, self.support_vectors_)
        rounding = score_rounding(used, weights, offset)
        rounding += (abs(used) * of_values) @ abs(weights)
        ridge = self.ridge_ * weights @ weights
        found = certain_accuracies(samples, used @ weights + offset, rounding, ridge)
        told = self.worst_case_accuracy_
        asked = np.full(2, self.delta_)
        self.worst_case_accuracy_ = keep_the_less(told, asked, *found, self.classes_)


class KernelL0MPM(KernelMPM):
    """Few training points for a given accuracy bound, in the columns of a kernel matrix.

    `L0MPM` on the kernel's values at the training points: it selects points, not features. With
    ``surrogate=L1()`` it is the kernel machine of least ``|beta|_1``.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in `KernelMPM`.
    gamma : float, optional
        As in `KernelMPM`.
    ridge : float, optional
        As in `KernelMPM`.
    scale : bool, default=True
        As in `KernelMPM`. The surrogate measures weights of the kernel's columns as they are.
    retain : float, default=0.9
        As in `L0MPM`.
    delta : float, optional
        As in `L0MPM`.
    alpha : float, default=5.0
        As in `L0MPM`.
    surrogate : Surrogate, optional
        As in `L0MPM`.
    majorizer : {"dc", "reweighted"}, default="dc"
        As in `L0MPM`.
    normalization : {"margin", "gap"}, default="margin"
        As in `L0MPM`.
    prune : bool, default=False
        Its cost grows with the fourth power of the number of points.
    refit : bool, default=True
        As in `L0MPM`.
    tol : float, default=1e-06
        As in `L0MPM`.
    max_iter : int, default=100
        As in `L0MPM`.

    Attributes
    ----------
    support_ : ndarray of int
        Rows of the training data that are selected.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_, intercept_ : ndarray of shape (1, n_support) and (1,)
    largest_delta_, delta_, worst_case_accuracy_, objective_, n_iter_
        As in `L0MPM`, of the moments with the ridge.
    gamma_, ridge_, scale_, classes_, n_features_in_, feature_names_in_, result_

    Notes
    -----
    O(N^2 n + N^3) time and O(N^2) memory for N rows, and the steps of `L0MPM` on N features.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fsnotes import KernelL0MPM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> machine = KernelL0MPM(gamma=2, retain=0.8).fit(X, y)
    >>> len(machine.support_), machine.score(X, y)
    (5, 0.94)
    """

    _shared = f"{KernelMPM._shared} n_iter_"

    def __init__(
        self,
        *,
        kernel="rbf",
        gamma=None,
        ridge=None,
        scale=True,
        retain=0.9,
        delta=None,
        alpha=DEFAULT_ALPHA,
        surrogate=None,
        majorizer="dc",
        normalization="margin",
        prune=False,
        refit=True,
        tol=1e-6,
        max_iter=100,
    ):
        super().__init__(kernel=kernel, gamma=gamma, ridge=ridge, scale=scale)
        self.retain = retain
        self.delta = delta
        self.alpha = alpha
        self.surrogate = surrogate
        self.majorizer = majorizer
        self.normalization = normalization
        self.prune = prune
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter

    def _linear_estimator(self, ridge):
        given = self.get_params(deep=False)
        del given["kernel"], given["gamma"]
        return L0MPM(**given | {"ridge": ridge, "scale": False})

    def _check_parameters(self):
        super()._check_parameters()
        self._linear_estimator(0.0)._check_parameters()
