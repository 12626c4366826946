"""Unequal bounds: the frontier of accuracies, its best point, few features for a pair of bounds."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from scipy.optimize import brentq

from fsnotes.core.bounded import nonnegligible, result_of, shortest, solve_from, split_margin
from fsnotes.core.bounds import MOST_LOGIT, Frontier, delta, kappa, minimax
from fsnotes.core.mm import Result
from fsnotes.core.moment_classifier import (
    LOST_DIGITS,
    MomentClassifier,
    MomentProblem,
    check_ridge,
    largest_bound,
)
from fsnotes.core.tolerances import KAPPA_REACHED
from fsnotes.core.validation import (
    MOST_STEPS,
    check_bool,
    check_count,
    check_one_of,
    check_real,
    check_reals,
    is_real,
    pair_of,
    plain,
    shown,
)
from fsnotes.errors import (
    InfeasibleBoundError,
    SelectionWarning,
    SubproblemError,
    TrivialBoundWarning,
    warn,
)
from fsnotes.solvers.cone import ConeProblem

__all__ = ["FSMEMPM", "MEMPM", "BoundTrace", "ParetoFrontier", "frontier"]

# A machine that promises less than its point of the frontier by more than this is warned of.
LARGEST_LOSS = 1e-4
# Branch and bound certifies the mean of two accuracies to this; an interval has so many PARTS.
CERTIFIED = 1e-12
PARTS = 8
MOST_ROUNDS = 100
# The largest of two accuracies is in reach, whatever rounding makes of it.
ROUNDED_UP = 1 + 1e-15
# The bisection of Algorithm 1 ends at an interval of this length.
RESOLUTION = 0.01
# A margin is enough for what the classes need of it up to this part of the smaller need.
SAME_MARGIN = 1e-9
CRITERIA = ("bound", "ratio", "log")
LARGEST_GRID = 100  # Ten thousand pairs of bounds take half a minute on the smallest table.


def best_mixture(core, theta):
    """Find where ``theta alpha + (1 - theta) beta`` is largest on a frontier, by branch and bound.

    On an interval of mixtures both kappas lie between those of its ends, and their curve is convex
    and thus below its chord; either gives an upper bound. Returned are the mixture, the value, its
    distance from an upper bound on all values, and the number of points.
    """
    if core.separating is not None:
        return 0.5, 1.0, 0.0, 0
    class_weight = np.array([theta, 1 - theta])

    def evaluate(logits):
        """One row a point: its logit, both kappas, the value."""
        kappas = core.kappas(special.expit(logits))
        return np.column_stack([logits, kappas, delta(kappas) @ class_weight])

    inner = np.linspace(-MOST_LOGIT, MOST_LOGIT, 73)
    points = evaluate(np.concatenate([[-np.inf], inner, [np.inf]]))
    evaluations = len(points)
    best = points[points[:, 3].argmax()]
    left, right = points[:-1], points[1:]
    closed = 0.0
    for _ in range(MOST_ROUNDS):
        corners = delta(right[:, 1]) * theta + delta(left[:, 2]) * (1 - theta)
        # the accuracy bends by at most 1/2 along a chord
        bends = ((right[:, 1:3] - left[:, 1:3]) ** 2 @ class_weight) / 16
        above = np.minimum(corners, np.maximum(left[:, 3], right[:, 3]) + bends)
        tight = (right[:, 0] - left[:, 0] < 1e-12) | ~np.isfinite(right[:, 0] - left[:, 0])
        kept = above > best[3] + CERTIFIED
        closed = max(closed, above[kept & tight].max(initial=-np.inf) - best[3])
        kept &= ~tight
        if not kept.any():
            break
        left, right = left[kept], right[kept]
        steps = np.linspace(0, 1, PARTS + 1)[:, None]
        logits = left[:, 0] + steps * (right[:, 0] - left[:, 0])
        inside = evaluate(logits[1:-1].ravel()).reshape(PARTS - 1, len(left), 4)
        evaluations += inside[..., 0].size
        chain = np.concatenate([left[None], inside, right[None]])
        left, right = chain[:-1].reshape(-1, 4), chain[1:].reshape(-1, 4)
        challenger = chain.reshape(-1, 4)[chain[..., 3].argmax()]
        best = challenger if challenger[3] > best[3] else best
    mixture = float(special.expit(best[0]))
    value = float(best[3])
    if 0 < mixture < 1:
        mixture = _stationary(core, theta, best[0])
        value = max(value, float(delta(core.kappas(mixture)) @ class_weight))
    # at an end, a class that does not vary is as good as certain
    least = core.kappas([0, 1]).diagonal()
    at_ends = class_weight * delta(least) + 1 - class_weight
    at_ends[least == 0] = -np.inf
    if at_ends.max() > value:
        mixture = float(at_ends.argmax())
        value = float(at_ends.max())
    return mixture, value, max(float(closed), CERTIFIED), evaluations


def _stationary(core, theta, logit):
    """The mixture near a maximum at which the slope vanishes, to more digits than the values."""

    def slope(logit):
        mixture = special.expit(logit)
        first, second = core.kappas(mixture)
        rise = theta * first / (1 + first**2) ** 2 * mixture * second
        return rise - (1 - theta) * second / (1 + second**2) ** 2 * (1 - mixture) * first

    low, high = logit - 1e-4, logit + 1e-4
    if slope(low) > 0 > slope(high):
        logit = brentq(slope, low, high, xtol=1e-14)
    return float(special.expit(logit))


def frontier(moments, *, ridge=0.0, scale=True):
    """The pairs of accuracies that a linear machine can promise to both classes.

    One eigendecomposition, O(n^3), or O(N^2 n) for fewer rows than features; then O(n) a point.

    Parameters
    ----------
    moments : ClassMoments
        Of two classes.
    ridge, scale
        As in `~fsnotes.chebyshev.MPM`.

    Returns
    -------
    ParetoFrontier

    Examples
    --------
    >>> from fsnotes import ClassMoments, frontier, load
    >>> curve = frontier(ClassMoments.from_data(*load("sonar", return_X_y=True)))
    >>> round(float(curve.beta_max(0.5)), 3)
    0.716
    >>> bool(curve.is_feasible(0.7, 0.6))
    False
    """
    check_bool("scale", scale)
    ridge = check_ridge(ridge, scale)
    problem = MomentProblem.from_moments(moments, ridge=ridge, scale=scale)
    return ParetoFrontier(Frontier(problem.pair), problem)


class ParetoFrontier:
    """Largest accuracies that means and covariances let a linear machine promise.

    Class 1, whose accuracy is alpha, is ``classes_[1]``. A mixture m of both covariances, from 0
    to 1, follows the curve: alpha rises with it and beta falls. Where one class does not vary
    along some direction in which the means differ, the curve has an end segment, along which the
    accuracy of this class is anything below 1.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    """

    def __init__(self, core, problem):
        moments = problem.moments
        self.classes_ = moments.classes_
        self._core = core
        self._used = problem.used
        self._unit = problem.unit
        self._mean = moments.means_[1]
        self._restore = problem.restore
        self._n_features = moments.n_features_in_

    def accuracies(self, mixture):
        """The pair (alpha, beta) at a mixture from 0 to 1, or one row for each of several."""
        mixture = check_reals("mixture", mixture, 0, most=1)
        return delta(self._core.kappas(mixture))

    @property
    def balanced_mixture(self):
        """The mixture of `~fsnotes.chebyshev.MPM`, at which alpha and beta are equal."""
        return self._core.balanced().mixture

    def machine(self, mixture):
        """Coefficients and intercept of the machine that promises ``accuracies(mixture)``.

        The scores of the class means are 1 apart.
        """
        mixture = check_real("mixture", mixture, 0, most=1)
        found = self._core.point(mixture)
        coef = np.zeros(self._n_features)
        coef[self._used] = found.weights / self._unit
        return self._restore(coef), float(found.margin_split[0] - coef @ self._mean)

    def points(self, n_points=200):
        """Alphas, betas and mixtures of the whole curve, to the ends of its end segments.

        The `n_points` of the curved part are about evenly spaced.
        """
        n_points = check_count("n_points", n_points, most=MOST_STEPS)
        if self._core.separating is not None:
            return np.array([0.0, 1, 1]), np.array([1.0, 1, 0]), np.array([0, 0.5, 1])
        dense = np.concatenate([[0], special.expit(np.linspace(-MOST_LOGIT, MOST_LOGIT, 361)), [1]])
        places = self.accuracies(dense)
        lengths = np.append(0, np.cumsum(np.hypot(*np.diff(places, axis=0).T)))
        mixtures = np.interp(np.linspace(0, lengths[-1], n_points), lengths, dense)
        places = self.accuracies(mixtures)
        if places[0, 0] > 0:  # class 2 may be as good as certain
            places = np.vstack([[[0, 1], [places[0, 0], 1]], places])
            mixtures = np.append([0, 0], mixtures)
        if places[-1, 1] > 0:
            places = np.vstack([places, [[1, places[-1, 1]], [1, 0]]])
            mixtures = np.append(mixtures, [1, 1])
        return *places.T, mixtures

    def kappa2_max(self, kappa1):
        """The largest kappa2 beside each `kappa1`; -inf where that is out of reach."""
        kappa1 = check_reals("kappa1", kappa1, 0)
        found = [self._core.kappa2_max(value) for value in np.ravel(kappa1).tolist()]
        return np.reshape(found, np.shape(kappa1))[()]

    def beta_max(self, alpha):
        """The largest beta beside each `alpha`; nan where that is out of reach."""
        alpha = check_reals("alpha", alpha, 0, most=1)
        # the largest alpha itself is in reach, whatever rounding makes of its kappa
        most = self._core.kappas(1)[0]
        in_reach = np.less_equal(alpha, delta(most) * ROUNDED_UP)
        found = self.kappa2_max(np.where(in_reach, np.minimum(kappa(alpha), most), kappa(alpha)))
        return np.where(found < 0, np.nan, delta(found))[()]

    def is_feasible(self, alpha, beta):
        """Whether a linear machine can promise `alpha` to class 1 and `beta` to class 2."""
        beta = check_reals("beta", beta, 0, most=1)
        return self.beta_max(alpha) * ROUNDED_UP >= beta


class MEMPM(MomentClassifier):
    """Minimum error minimax probability machine: the largest mean of two accuracy bounds.

    Maximises ``theta alpha + (1 - theta) beta`` over all machines, where alpha is the accuracy
    that ``classes_[1]`` is certain of, and beta that of ``classes_[0]``. The mean may have several
    local maxima; branch and bound along the frontier certifies the largest.

    Parameters
    ----------
    theta : float, default=0.5
        In [0, 1]. Weight of ``classes_[1]``. The machine that says one class always has the mean
        ``max(theta, 1 - theta)``, which may be more.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation. Without a ridge the
        machine does not depend on it.

    Attributes
    ----------
    coef_, intercept_, worst_case_accuracy_
        As in `MPM`.
    largest_delta_, delta_ : float
        Largest bound that both classes could share, as in `MPM`, and the smaller of theirs.
    objective_ : float
        ``theta alpha + (1 - theta) beta``.
    mixture_, frontier_
        The place on the frontier, and the frontier, a `ParetoFrontier`.
    scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.duality_gap`` is the certified distance from the maximum.

    Notes
    -----
    The cost of `frontier`. The search adds O(n) a point, usually for some hundred points, and for
    thousands where classes are apart by many deviations.

    References
    ----------
    K. Huang, H. Yang, I. King, M. R. Lyu and L. Chan, The minimum error minimax probability
    machine, Journal of Machine Learning Research 5, 1253-1286, 2004.

    Examples
    --------
    >>> from fsnotes import MEMPM, load
    >>> X, y = load("sonar", return_X_y=True)
    >>> machine = MEMPM().fit(X, y)
    >>> machine.worst_case_accuracy_.round(3).tolist(), round(machine.largest_delta_, 3)
    ([0.565, 0.687], 0.624)
    """

    def __init__(self, *, theta=0.5, ridge=0.0, scale=True):
        super().__init__(ridge=ridge, scale=scale)
        self.theta = theta

    def _check_parameters(self):
        super()._check_parameters()
        check_real("theta", self.theta, 0, most=1)

    def _fit_moments(self, moments, samples=None, *, is_verified=False):
        problem = super()._fit_moments(moments, samples, is_verified=is_verified)
        gap = self._settle_objective()
        if gap > LARGEST_LOSS:
            warn(
                f"the covariances are so near to singular that the machine promises {gap:.1e} "
                "less than the frontier; pass ridge=1e-6, more rows, or leave out features that "
                "others repeat",
                TrivialBoundWarning,
            )
        return problem

    def _verify_bounds(self, samples):
        told = self.worst_case_accuracy_
        super()._verify_bounds(samples)
        if (told - self.worst_case_accuracy_).max() > LOST_DIGITS:
            self._settle_objective()

    def _settle_objective(self):
        """Take what the bounds attain for the objective, and what they lack for a gap."""
        attained = float(self.worst_case_accuracy_ @ [1 - self.theta, self.theta])
        lacking = self.objective_ - attained
        gap = max(self.result_.duality_gap or 0.0, abs(lacking))
        if self.result_.duality_gap is not None:
            self.result_ = replace(self.result_, duality_gap=gap)
        if lacking > LOST_DIGITS:
            self.objective_ = attained
            self.result_ = replace(self.result_, objective=attained)
        return gap

    def _solve(self, problem):
        core = Frontier(problem.pair)
        self.frontier_ = ParetoFrontier(core, problem)
        self.largest_delta_ = largest_bound(core.balanced().kappa)
        self.mixture_, value, gap, evaluations = best_mixture(core, self.theta)
        point = core.point(self.mixture_)
        if core.separating is None and not point.deviations.all():
            label = self.classes_.tolist()[int(point.deviations[0] == 0)]
            warn(
                f"class {label!r} does not vary along some direction in which the means differ, "
                "so its bound there is 1 and says nothing; pass ridge=1e-3, or more samples",
                TrivialBoundWarning,
            )
        result = Result.solved(value, duality_gap=gap, counts={"points": evaluations})
        return point.weights, point.margin_split[0], value, result


class FSMEMPM(MomentClassifier):
    """Few features for a pair of accuracy bounds, and the pair chosen by a criterion.

    For bounds alpha of ``classes_[1]`` and beta of ``classes_[0]`` the weights have the smallest
    ``|w|_1`` that keeps both. A criterion then chooses among the pairs of a grid.

    Parameters
    ----------
    theta : float, default=0.5
        In [0, 1]. Weight of alpha in ``theta alpha + (1 - theta) beta``.
    criterion : {"bound", "ratio", "log"} or callable, default="ratio"
        What is maximised: that mean of the bounds; the mean over the number of features; the same
        times the logarithm of the number, by which a single feature counts as nothing; or
        ``criterion(alpha, beta, n_selected)``. Usually ``"ratio"`` selects a single feature and
        ``"bound"`` nearly all. Ties go to fewer features, then to the larger of the smaller
        bounds, then to the larger alpha.
    grid : int, default=10
        Bounds are multiples of ``1 / grid``; at most 100.
    equal_bounds : bool, default=False
        Only pairs with ``alpha == beta``: FS-MPM.
    search : {"grid", "bisection"}, default="grid"
        Every feasible pair of the grid; or, for each alpha of the grid, the feasible betas that a
        bisection towards the largest meets, which is the published algorithm.
    bounds : pair of float, optional
        The pair itself, in the order of ``classes_``; then nothing is searched.
    refit : bool, default=True
        Return the machine of the features selected with the largest beta for the alpha chosen,
        with ``equal_bounds`` the minimax probability machine, not the solution itself.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation.

    Attributes
    ----------
    coef_, intercept_, worst_case_accuracy_
        As in `L1MPM`.
    largest_delta_, delta_ : float
        Largest bound that both classes could share, as in `MPM`, and the smaller of theirs.
    bounds_ : ndarray of shape (2,)
        The pair chosen, in the order of ``classes_``: beta, alpha.
    objective_ : float
        The criterion.
    trace_, frontier_
        Every pair that was solved, a `BoundTrace`, and the `ParetoFrontier` of all features.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    InfeasibleBoundError
        If no machine keeps `bounds`.
    SubproblemError
        If no solution can be verified.

    Notes
    -----
    The cost of `frontier`, O(n^3) or O(N^2 n), and of a problem of `~fsnotes.chebyshev.L1MPM` for
    each feasible pair, solved from one nearby. Infeasible pairs are known from the frontier. With
    ``refit=False``, a pair on the frontier is kept up to 1e-6 at its ends, where one class has
    almost no margin.

    References
    ----------
    Z. Xu, I. King and M. R. Lyu, Feature selection based on minimum error minimax probability
    machine, International Journal of Pattern Recognition and Artificial Intelligence, 2007.

    Examples
    --------
    >>> from fsnotes import FSMEMPM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = FSMEMPM(criterion="bound").fit(X, y)
    >>> machine.bounds_.tolist(), machine.n_selected_
    ([0.7, 0.8], 16)
    >>> trace = machine.trace_
    >>> best = trace.best(criterion="ratio")
    >>> trace.alphas[best].item(), trace.betas[best].item(), trace.n_selected[best].item()
    (0.6, 0.5, 1)
    """

    def __init__(
        self,
        *,
        theta=0.5,
        criterion="ratio",
        grid=10,
        equal_bounds=False,
        search="grid",
        bounds=None,
        refit=True,
        ridge=0.0,
        scale=True,
    ):
        super().__init__(ridge=ridge, scale=scale)
        self.theta = theta
        self.criterion = criterion
        self.grid = grid
        self.equal_bounds = equal_bounds
        self.search = search
        self.bounds = bounds
        self.refit = refit

    def _check_parameters(self):
        super()._check_parameters()
        check_real("theta", self.theta, 0, most=1)
        check_criterion(self.criterion)
        check_count("grid", self.grid, most=LARGEST_GRID)
        check_bool("equal_bounds", self.equal_bounds)
        check_bool("refit", self.refit)
        check_one_of("search", self.search, ("grid", "bisection"))
        if self.bounds is None:
            return
        given = f"bounds={shown(self.bounds)}"
        bounds = pair_of(self.bounds)
        if bounds is None:
            raise ValueError(f"{given}; pass a pair of numbers, in the order of classes_")
        bounds = [check_real("bounds", bound, 0, most=1) for bound in bounds]
        if max(bounds) == 1:
            raise ValueError(f"{given}; a bound of 1 cannot be promised")
        if self.equal_bounds and bounds[0] != bounds[1]:
            raise ValueError(f"{given} differ; pass equal_bounds=False")

    def _asked_bounds(self):
        return self.bounds_

    def _solve(self, problem):
        search = _Search(problem)
        self.frontier_ = search.frontier
        self.largest_delta_ = largest_bound(search.core.balanced().kappa)
        if self.bounds is not None:
            search.solve_given(*map(float, self.bounds))
        elif self.search == "grid":
            search.over_grid(int(self.grid), self.equal_bounds)
        else:
            search.by_bisection(int(self.grid), self.equal_bounds)
        if not (search.solutions or search.unsolved):  # no midpoint of the bisection is feasible
            search.solve(0.0, 0.0)
        self.trace_ = search.trace()
        best = self.trace_.best(self.theta, self.criterion)
        self.bounds_ = np.array([self.trace_.betas[best], self.trace_.alphas[best]])
        value = self.trace_.values(self.theta, self.criterion)[best]
        weights, split = search.select_and_refit(best, self.refit, self.equal_bounds)
        return weights, split, value, search.result(value)


@dataclass(frozen=True)
class BoundTrace:
    """The smallest norm for each pair of bounds that was tried; one row a pair.

    Attributes
    ----------
    alphas, betas : ndarray of shape (n_pairs,)
        Bounds of ``classes_[1]`` and ``classes_[0]``.
    norms : ndarray of shape (n_pairs,)
        ``|w|_1`` in the units that `scale` sets.
    supports : ndarray of shape (n_pairs, n_features)
    """

    alphas: np.ndarray
    betas: np.ndarray
    norms: np.ndarray
    supports: np.ndarray

    @property
    def n_selected(self):
        """Number of features selected for each pair."""
        return self.supports.sum(axis=1)

    def values(self, theta=0.5, criterion="ratio"):
        """The criterion at each pair, as in `FSMEMPM`."""
        theta = check_real("theta", theta, 0, most=1)
        check_criterion(criterion)
        if callable(criterion):
            columns = (self.alphas.tolist(), self.betas.tolist(), self.n_selected.tolist())
            found = [criterion(*row) for row in zip(*columns, strict=True)]
            for value in found:
                if not is_real(value) or not np.isfinite(plain(value)):
                    raise ValueError(
                        f"the criterion returned {shown(value)}; return a finite number for any "
                        "(alpha, beta, n_selected)"
                    )
            return np.array([plain(value) for value in found], dtype=float)
        mean = theta * self.alphas + (1 - theta) * self.betas
        if criterion == "bound":
            return mean
        ratio = mean / self.n_selected
        return ratio if criterion == "ratio" else ratio * np.log(self.n_selected)

    def best(self, theta=0.5, criterion="ratio"):
        """The row where the criterion is largest; ties are resolved as in `FSMEMPM`."""
        values = self.values(theta, criterion)
        tied = np.flatnonzero(values >= values.max() - 1e-12 * max(1, abs(values.max())))
        smaller = np.minimum(self.alphas, self.betas)[tied]
        return int(tied[np.lexsort((-self.alphas[tied], -smaller, self.n_selected[tied]))[0]])


class _Search:
    """Problems of one FSMEMPM under pairs of bounds, each solved from one nearby."""

    def __init__(self, problem):
        self.given = problem
        self.pair = problem.pair
        self.core = Frontier(self.pair)
        self.frontier = ParetoFrontier(self.core, problem)
        self.problem = ConeProblem(self.pair, "margin")
        self.solutions = {}  # the keys are pairs (alpha, beta)
        self.extremes = {}  # the keys are alphas
        self.infeasible = 0
        self.unsolved = []

    def over_grid(self, grid, equal_bounds):
        """Every pair of bounds that are multiples of ``1 / grid``."""
        for i in range(grid):
            for j in [i] if equal_bounds else range(grid):
                self.solve(i / grid, j / grid)

    def by_bisection(self, grid, equal_bounds):
        """Algorithm 1 of Xu et al. (2007), with both ends of beta set anew for each alpha."""
        for alpha in [None] if equal_bounds else [i / grid for i in range(grid)]:
            low, high = 0.0, 1.0
            while high - low > RESOLUTION:
                beta = (low + high) / 2
                if self.solve(beta if equal_bounds else alpha, beta):
                    low = beta
                else:
                    high = beta

    def solve(self, alpha, beta):
        """Solve for this pair of bounds, if it is feasible. Returns whether it is."""
        largest, point = self.extreme(alpha)
        if not beta <= largest * ROUNDED_UP:
            self.infeasible += 1
            return False
        kappas = kappa(np.array([alpha, beta]))
        most1, least2 = self.core.kappas(1)
        at_the_end = least2 == 0 and kappas[0] >= most1 * KAPPA_REACHED
        if at_the_end or kappas[1] >= kappa(largest) * KAPPA_REACHED:  # one machine is left
            self.solutions[alpha, beta] = shortest(point, self.given.costs, "margin")
            return True
        try:
            self.solutions[alpha, beta] = solve_from(
                self.nearest(kappas), self.problem, kappas, self.given.costs, point
            )
        except SubproblemError as error:
            self.unsolved.append(((alpha, beta), error))
        return True

    def solve_given(self, beta, alpha):
        """Solve for this pair of bounds; raise unless it is feasible."""
        if self.solve(alpha, beta):
            return
        largest, _ = self.extreme(alpha)
        other, one = self.given.moments.classes_.tolist()
        if np.isnan(largest):
            largest = float(self.frontier.accuracies(1)[0])
            raise InfeasibleBoundError(
                f"a bound of {alpha:g} for class {one!r} is out of reach: the largest that these "
                f"moments admit is {largest:.4g}, with nothing for class {other!r}",
                largest,
            )
        raise InfeasibleBoundError(
            f"bounds of {beta:g} for class {other!r} and {alpha:g} for class {one!r} are "
            f"infeasible together: beside {alpha:g} the largest for class {other!r} is "
            f"{largest:.4g}; pass less for one of them",
            float(largest),
        )

    def extreme(self, alpha):
        """The largest beta beside an alpha, nan if there is none, and the point that has it."""
        if alpha not in self.extremes:
            point = self.core.point(self.core.mixture_at(kappa(alpha)))
            self.extremes[alpha] = self.frontier.beta_max(alpha), point
        return self.extremes[alpha]

    def nearest(self, kappas):
        """The solution of the pair nearest in kappas that Newton's method can start from."""
        pairs = [pair for pair, found in self.solutions.items() if found.point is not None]
        if not pairs:
            return None
        distances = abs(kappa(np.array(pairs)) - kappas).sum(axis=1)
        return self.solutions[pairs[distances.argmin()]]

    def trace(self):
        """The `BoundTrace` of what was solved; what was not is left out, with a warning."""
        if self.unsolved:
            (alpha, beta), error = self.unsolved[0]
            if not self.solutions:
                raise error
            warn(
                f"{len(self.unsolved)} feasible pairs of bounds were not solved to verified "
                f"accuracy and are left out, such as alpha={alpha:g}, beta={beta:g}: {error}",
                SelectionWarning,
            )
        alphas, betas = np.array(list(self.solutions)).T
        supports = np.zeros((len(alphas), self.given.moments.n_features_in_), dtype=bool)
        for row, (pair, solution) in zip(supports, self.solutions.items(), strict=True):
            row[self.given.used[self.chosen(*pair, solution)]] = True
        norms = np.array([solution.objective for solution in self.solutions.values()])
        return BoundTrace(alphas, betas, norms, supports)

    def result(self, value):
        """The value of the criterion, with the proof of all problems."""
        solutions = {id(solution): solution for solution in self.solutions.values()}.values()
        proof = result_of(*solutions)
        none = {"newton": 0, "cone": 0, "products": 0}  # where all pairs are on the frontier
        found = {"pairs": len(self.solutions), "infeasible": self.infeasible}
        # The norms are proved to be smallest, but no criterion to be largest beyond these pairs.
        proof = replace(proof, duality_gap=None)
        return replace(proof, objective=float(value), counts=none | proof.counts | found)

    def chosen(self, alpha, beta, solution):
        """The places of the features that count as selected: those without which bounds fail."""
        chosen = nonnegligible(solution.weights)
        needs, margin = self.needs_and_margin(alpha, beta, solution, chosen)
        if needs.sum() - margin > SAME_MARGIN * needs.min():
            # Near an end of the frontier one weight exceeds by far others that are needed.
            return np.flatnonzero(solution.weights)
        return chosen

    def needs_and_margin(self, alpha, beta, solution, features):
        """What the classes need of the margin, and the margin, of the weights of some features."""
        weights = solution.weights[features]
        kappas = kappa(np.array([alpha, beta]))
        needs = np.maximum(kappas * self.pair.deviations(features, weights), 1)
        return needs, self.pair.mean_diff[features] @ weights

    def select_and_refit(self, row, refit, equal_bounds):
        """Weights after selection and refit, and class 1's part of the margin."""
        (alpha, beta), solution = list(self.solutions.items())[row]
        chosen = self.chosen(alpha, beta, solution)
        weights = np.zeros(len(self.pair.mean_diff))
        if not refit:
            weights[chosen] = solution.weights[chosen]
            needs, margin = self.needs_and_margin(alpha, beta, solution, chosen)
            return weights, split_margin(needs, margin)
        if equal_bounds:
            point = minimax(self.pair, chosen)
        else:
            core = Frontier(self.pair.subset(chosen))
            point = core.point(core.mixture_at(kappa(alpha)))
        weights[chosen] = point.weights
        return weights, point.margin_split[0]


def check_criterion(criterion):
    """Raise unless `criterion` is a name or a function."""
    wanted = "a function of alpha, beta and the number of features"
    if callable(criterion):
        try:
            criterion(0.5, 0.5, 1)
        except Exception as error:
            raise TypeError(f"criterion(0.5, 0.5, 1) fails: {error}; pass {wanted}") from error
    elif not isinstance(criterion, str) or criterion not in CRITERIA:
        allowed = ", ".join(f'"{name}"' for name in CRITERIA)
        raise ValueError(f"criterion={shown(criterion)}; pass {allowed} or {wanted}")
