"""The Chebyshev bound: minimax probability machines, dense and with few features."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fsnotes.core.bounds import LEAST_SPLIT, delta, kappa, minimax
from fsnotes.core.mm import Result
from fsnotes.core.moment_classifier import (
    MomentClassifier,
    check_two_classes,
    feasible_bound,
    largest_bound,
)
from fsnotes.core.pruning import remove_features
from fsnotes.core.tolerances import KAPPA_REACHED, NEGLIGIBLE_WEIGHT
from fsnotes.core.validation import check_bool, check_bound, check_count, check_real
from fsnotes.errors import EqualMeansError, SelectionWarning, TrivialBoundWarning, warn
from fsnotes.solvers.cone import ConeProblem, Solution

__all__ = ["BoundPath", "L1MPM", "MPM", "SMPM", "null_delta"]

STEPS_TO_N_FEATURES, HALVINGS = 50, 12


class MPM(MomentClassifier):
    """Minimax probability machine: the largest accuracy that both classes are certain of.

    Maximises the bound delta for which every law with the means and covariances of the data puts
    at least delta of each class on its side. Uses every feature. One number, where the two
    classes get the same, determines the machine; each step towards it is a linear system.

    Parameters
    ----------
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets. The bounds are then those of the
        larger covariances: lower than without.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation. Without a ridge the
        machine does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    largest_delta_ : float
        The bound.
    delta_ : float
        The same.
    worst_case_accuracy_ : ndarray of shape (2,)
        Bounds of both classes, in the order of ``classes_``, from the coefficients as they are.
        The accuracy on the training data is never below them; nothing is promised for new data.
    objective_ : float
        ``s1 + s2`` where the means are 1 apart.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Notes
    -----
    O(N n^2 + n^3) time and O(n^2) memory for N rows and n features, or O(N^2 n) and O(N n) if
    there are fewer rows than features.

    References
    ----------
    G. R. G. Lanckriet, L. El Ghaoui, C. Bhattacharyya and M. I. Jordan, A robust minimax approach
    to classification, Journal of Machine Learning Research 3, 555-582, 2002.

    Examples
    --------
    >>> from fsnotes import MPM, load
    >>> X, y = load("sonar", return_X_y=True)
    >>> machine = MPM().fit(X, y)
    >>> round(machine.largest_delta_, 3), round(machine.score(X, y), 3)
    (0.624, 0.899)
    """

    def __init__(self, *, ridge=0.0, scale=True):
        self.ridge = ridge
        self.scale = scale

    def _solve(self, problem):
        machine = minimax(problem.pair)
        self.largest_delta_ = self.delta_ = largest_bound(machine.kappa)
        objective = machine.deviations.sum()
        return machine.weights, machine.margin_split[0], objective, Result.solved(objective)


class BoundedMachine(MomentClassifier):
    """A machine of few features that keeps a bound; shared by those that start at least norm.

    A subclass has the parameters of `L1MPM`.
    """

    _fewest = staticmethod(remove_features)

    def _check_parameters(self):
        super()._check_parameters()
        check_bound(self.retain, self.delta)
        if self.normalization not in ("margin", "gap"):
            raise ValueError(f'normalization={self.normalization!r}; pass "margin" or "gap"')
        check_bool("prune", self.prune)
        check_bool("refit", self.refit)
        if self.prune and not self.refit:
            raise ValueError("prune=True refits at every step; pass refit=True with it")
        if self.n_features is not None:
            check_count("n_features", self.n_features)

    def _solve(self, problem):
        pair = problem.pair
        path = Path(self, pair, problem.costs)
        self.largest_delta_ = largest_bound(path.machine.kappa)
        if self.n_features is None:
            self.delta_ = feasible_bound(self.largest_delta_, self.retain, self.delta)
            solution = path.solve(self.delta_)
        else:
            solution = path.with_features(int(self.n_features))
        solution, result = self._descended(path, solution)
        weights, share = path.finished(solution, self.n_features and int(self.n_features))
        if self.n_features is not None:
            deviations = pair.deviations(np.arange(len(weights)), weights)
            self.delta_ = reached(pair.mean_diff @ weights, deviations)
        return weights, share, solution.objective, result

    def _descended(self, path, solution):
        """Solution from which features are selected, and its result, given that of least norm."""
        return solution, _result(solution)


class L1MPM(BoundedMachine):
    """Few features for a given accuracy bound: the smallest ``|w|_1`` that keeps it.

    Parameters
    ----------
    retain : float, default=0.9
        In (0, 1]. The bound asked for, as a part of the largest that the data admit.
    delta : float, optional
        In (0, 1). The bound itself; overrides ``retain``.
    normalization : {"margin", "gap"}, default="margin"
        What fixes the length of the weights: a margin of at least 1 between the boundary and each
        mean, as in the papers, or a distance of 1 between the means. Either way a loose bound
        gives one feature, that of the largest difference of means; ``"margin"`` makes weights
        dearer that leave more than half of that distance to one class.
    prune : bool, default=False
        Remove features one by one while the bound of the refitted machine holds.
    n_features : int, optional
        Select exactly so many, whatever the bound. The bound is raised until at least so many
        are selected, of which the heaviest are kept (with `prune`, those that are left after
        pruning). Overrides ``retain`` and ``delta``.
    refit : bool, default=True
        Return the minimax probability machine of the features selected; otherwise the solution of
        the problem itself.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The norm is not
        scale free: without it, columns of large numbers are selected first.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
    largest_delta_ : float
        Largest bound that the moments admit, with all features.
    delta_ : float
        Bound asked for; with `n_features`, the bound reached.
    worst_case_accuracy_ : ndarray of shape (2,)
        Bounds of both classes, in the order of ``classes_``, from the coefficients as they are.
        The accuracy on the training data is never below them; nothing is promised for new data.
    objective_ : float
        ``|w|_1`` in the units that `scale` sets, before pruning and refit.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    InfeasibleBoundError
        If ``delta`` is more than ``largest_delta_``, which its attribute ``largest`` holds, or
        ``retain`` is 1 where the largest bound is 1.
    SubproblemError
        If no solution can be verified.

    Notes
    -----
    Beside the cost of `MPM`, O(k^3) for each feature that joins or leaves k selected ones, and for
    each dozen of them a product with all features, O(N n) or O(n k).

    References
    ----------
    C. Bhattacharyya, Second order cone programming formulations for feature selection, Journal of
    Machine Learning Research 5, 1417-1433, 2004.

    Examples
    --------
    >>> from fsnotes import L1MPM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = L1MPM(retain=0.95, prune=True).fit(X, y)
    >>> machine.n_selected_, X.shape[1]
    (7, 30)
    >>> bool((machine.worst_case_accuracy_ > machine.delta_ - 1e-9).all())
    True
    """

    def __init__(
        self,
        *,
        retain=0.9,
        delta=None,
        normalization="margin",
        prune=False,
        n_features=None,
        refit=True,
        ridge=0.0,
        scale=True,
    ):
        self.retain = retain
        self.delta = delta
        self.normalization = normalization
        self.prune = prune
        self.n_features = n_features
        self.refit = refit
        self.ridge = ridge
        self.scale = scale

    def path(self, X, y, retains=None, sample_weight=None):
        """Weights for a sequence of bounds, each from the last: much cheaper than fits.

        The parameters ``retain``, ``delta`` and ``n_features`` play no part.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        retains : array-like, optional
            By default 50 values up to 1, or just below where the largest bound is 1.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        BoundPath

        Examples
        --------
        >>> from fsnotes import L1MPM, load
        >>> path = L1MPM().path(*load("sonar", return_X_y=True), [0.5, 0.7, 0.9])
        >>> path.supports.sum(axis=1).tolist()
        [8, 17, 39]
        """
        self._check_parameters()
        estimator = clone(self)
        samples = estimator._check_data(X, y, sample_weight)
        return estimator._path(estimator._class_moments(samples), retains)

    def path_moments(self, moments, retains=None):
        """As `path`, from the moments of two classes.

        Parameters
        ----------
        moments : ClassMoments
        retains : array-like, optional

        Returns
        -------
        BoundPath
        """
        self._check_parameters()
        check_two_classes(moments)
        return clone(self)._path(moments, retains)

    def _path(self, moments, retains):
        problem = self._moment_problem(moments)
        path = Path(self, problem.pair, problem.costs)
        largest = largest_bound(path.machine.kappa)
        if retains is None:
            retains = np.linspace(0.02, 1, 50)
            retains = retains[:-1] if largest == 1 else retains
        retains = np.asarray(retains, dtype=float)
        if retains.ndim != 1 or len(retains) == 0:
            raise ValueError(f"retains has shape {retains.shape}; pass a list of numbers")
        for retain in retains.tolist():
            check_real("retains", retain, 0, open_at=0, most=1)
        deltas = np.array([feasible_bound(largest, retain) for retain in retains])
        solutions, machines = [None] * len(retains), [None] * len(retains)
        for position in np.argsort(retains):
            solutions[position] = path.solve(deltas[position])
            machines[position] = path.finished(solutions[position], None)
        weights, shares = zip(*machines, strict=True)
        coefs, intercepts, bounds = self._planes(problem, weights, shares)
        return BoundPath(
            retains,
            deltas,
            coefs,
            intercepts,
            np.array([solution.objective for solution in solutions]),
            bounds.min(axis=1),
            coefs != 0,
        )


@dataclass(frozen=True)
class BoundPath:
    """Weights and bounds along the bound asked for; one row for each value of ``retains``.

    Attributes
    ----------
    retains, deltas : ndarray of shape (n_bounds,)
        Bounds asked for: as parts of the largest, and as they are.
    coefs : ndarray of shape (n_bounds, n_features)
    intercepts : ndarray of shape (n_bounds,)
    objectives : ndarray of shape (n_bounds,)
        ``|w|_1`` before pruning and refit.
    bounds : ndarray of shape (n_bounds,)
        The smaller of the bounds that both classes get.
    supports : ndarray of shape (n_bounds, n_features)
    """

    retains: np.ndarray
    deltas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    bounds: np.ndarray
    supports: np.ndarray


class Path:
    """Solutions of one L1MPM at several bounds, each from the last."""

    def __init__(self, estimator, pair, costs):
        self.estimator, self.pair, self.costs = estimator, pair, costs
        self.machine = minimax(pair)
        self.problem = ConeProblem(pair, estimator.normalization)
        self.last = None
        self.refits = {}

    def solve(self, bound):
        """Smallest norm at a feasible bound."""
        self.level = kappa(bound)
        if self.level >= self.machine.kappa * KAPPA_REACHED:
            return self.top()
        levels = (self.level, self.level)
        if self.last is None or not self.last.holds_at(levels):
            self.last = self.problem.solve(
                levels, self.costs, feasible=self.machine.weights, start=self.last
            )
        return self.last

    def top(self):
        """At the largest bound only the minimax machine is left, at its shortest length."""
        weights = self.machine.weights
        if self.problem.normalization == "margin":
            shares = self.machine.deviations * self.machine.kappa
            weights = weights / max(shares.min(), LEAST_SPLIT)
        return Solution(weights, self.costs @ abs(weights))

    def with_features(self, n_features):
        """At the smallest bound found on the way up that has so many features, or at the last."""
        largest = float(delta(self.machine.kappa))
        below, solution = 0.0, None
        for step in range(1, STEPS_TO_N_FEATURES + 1):
            part = step / STEPS_TO_N_FEATURES
            above = largest * (part if largest < 1 else min(part, 1 - 1e-3))
            solution = self.solve(above)
            if len(heavy(solution.weights)) >= n_features:
                break
            below = above
        else:
            return solution
        for _ in range(HALVINGS):
            middle = (below + above) / 2
            tried = self.solve(middle)
            if len(heavy(tried.weights)) >= n_features:
                above, solution = middle, tried
            else:
                below = middle
        self.level = kappa(above)
        return solution

    def finished(self, solution, n_features):
        """Weights after selection, pruning and refit, and class 1's share of the margin."""
        estimator, pair = self.estimator, self.pair
        chosen = heavy(solution.weights)
        least = 0.0
        if n_features is None:
            least = self.level * KAPPA_REACHED
            chosen = self.enough(solution.weights, chosen, least)
        elif len(chosen) < n_features:
            warn(
                f"n_features={n_features}, but only {len(chosen)} are selected; these are returned",
                SelectionWarning,
            )
        elif not estimator.prune:
            chosen = np.sort(chosen[np.argsort(-abs(solution.weights[chosen]))[:n_features]])
        if estimator.prune:
            chosen, machine = estimator._fewest(pair, chosen, least, n_features or 1)
        elif estimator.refit:
            machine = self.refit(chosen)
        weights = np.zeros(len(pair.mean_diff))
        if estimator.refit:
            weights[chosen] = machine.weights
            return weights, machine.margin_split[0]
        weights[chosen] = solution.weights[chosen]
        return weights, self.share(chosen, weights[chosen], n_features is not None)

    def enough(self, weights, chosen, least):
        """The chosen features, with dropped ones, largest first, until the bound holds."""
        if len(chosen) == np.count_nonzero(weights):
            return chosen
        dropped = np.setdiff1d(np.flatnonzero(weights), chosen)
        for feature in dropped[np.argsort(-abs(weights[dropped]))]:
            if self.refit(chosen).kappa >= least:
                break
            chosen = np.sort(np.append(chosen, feature))
        return chosen

    def refit(self, chosen):
        key = tuple(chosen)
        if key not in self.refits:
            self.refits = {key: minimax(self.pair, chosen)}
        return self.refits[key]

    def share(self, chosen, weights, balanced):
        """Class 1's share of the margin for the solution itself; what is to spare is halved."""
        deviations = self.pair.deviations(chosen, weights)
        margin = self.pair.mean_diff[chosen] @ weights
        if balanced:
            return balance(deviations)
        need = self.level * deviations
        if self.problem.normalization == "margin":
            need = np.maximum(need, 1)
        return spare_halved(need, margin)


class SMPM(MomentClassifier):
    """Few features by a penalty: maximise ``d'w / (s1 + s2 + lam |w|_1)``.

    A reconstruction: Yang and Ju (2014) compare with a machine of this name and say that it adds
    the l1 norm to the objective of a fractional program; they do not print the program. With
    ``normalization="gap"`` `L1MPM` finds the same machines, indexed by the bound instead of `lam`.

    Parameters
    ----------
    lam : float, default=0.1
        Price of ``|w|_1``, at least 1e-9. From some value on one feature is left; towards 0 the
        machine becomes `MPM`. Small prices without `scale`, or of nearly dependent columns, may
        end in a SubproblemError.
    refit : bool, default=True
        Return the minimax probability machine of the features selected; otherwise the solution of
        the problem itself.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
    largest_delta_ : float
        Largest bound that the moments admit, with all features.
    delta_ : float
        Bound that the machine reaches.
    worst_case_accuracy_ : ndarray of shape (2,)
        Bounds of both classes, in the order of ``classes_``, from the coefficients as they are.
    objective_ : float
        ``s1 + s2 + lam |w|_1`` where the means are 1 apart, before the refit.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Notes
    -----
    As `L1MPM`.

    Examples
    --------
    >>> from fsnotes import SMPM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [SMPM(lam=lam).fit(X, y).n_selected_ for lam in (0.01, 0.1, 1, 10)]
    [23, 13, 4, 2]
    """

    def __init__(self, *, lam=0.1, refit=True, ridge=0.0, scale=True):
        self.lam = lam
        self.refit = refit
        self.ridge = ridge
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_real("lam", self.lam, 1e-9)  # lam=0 is MPM
        check_bool("refit", self.refit)

    def _solve(self, problem):
        pair = problem.pair
        self.largest_delta_ = largest_bound(minimax(pair).kappa)
        solution = ConeProblem(pair, "penalty").solve((1.0, 1.0), self.lam * problem.costs)
        chosen = heavy(solution.weights)
        weights = np.zeros(len(pair.mean_diff))
        if self.refit:
            machine = minimax(pair, chosen)
            weights[chosen], share = machine.weights, machine.margin_split[0]
            self.delta_ = float(delta(machine.kappa))
        else:
            weights[chosen] = solution.weights[chosen]
            deviations = pair.deviations(chosen, weights[chosen])
            share = balance(deviations)
            self.delta_ = reached(pair.mean_diff @ weights, deviations)
        return weights, share, solution.objective, _result(solution)


def null_delta(X, y, n_permutations=20, *, ridge=0.0, scale=True, random_state=None):
    """Largest bounds that permuted labels reach: what the bound shows where there is nothing.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_permutations : int, default=20
    ridge, scale
        As in `MPM`.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of shape (n_permutations,)
        Compare ``largest_delta_`` with them.

    Notes
    -----
    The cost of `MPM`, times `n_permutations`.

    Examples
    --------
    >>> from fsnotes import MPM, load, null_delta
    >>> X, y = load("sonar", return_X_y=True)
    >>> levels = null_delta(X, y, random_state=0)
    >>> round(MPM().fit(X, y).largest_delta_, 2), round(float(levels.mean()), 2)
    (0.62, 0.27)
    """
    check_count("n_permutations", n_permutations)
    random = check_random_state(random_state)
    machine = MPM(ridge=ridge, scale=scale).fit(X, y)
    y = np.asarray(y)

    def largest(labels):
        try:
            return machine.fit(X, labels).largest_delta_
        except EqualMeansError:
            return 0.0

    with warnings.catch_warnings():
        # said once, by the fit above
        warnings.simplefilter("ignore", SelectionWarning)
        warnings.simplefilter("ignore", TrivialBoundWarning)
        return np.array([largest(random.permutation(y)) for _ in range(int(n_permutations))])


def heavy(weights):
    """Features whose weight is not negligible."""
    return np.flatnonzero(abs(weights) > NEGLIGIBLE_WEIGHT * abs(weights).max())


def reached(margin, deviations):
    """Bound of a machine whose boundary gives it to both classes."""
    with np.errstate(divide="ignore"):
        return float(delta(margin / deviations.sum()))


def balance(deviations):
    """Class 1's share of a margin that gives both classes the same bound."""
    total = deviations.sum()
    share = deviations[0] / total if total > 0 else 0.5
    return np.clip(share, LEAST_SPLIT, 1 - LEAST_SPLIT)


def spare_halved(need, margin):
    """Class 1's share of a margin of which both classes get what they need and half the rest."""
    part = (need[0] + (margin - need.sum()) / 2) / margin
    return np.clip(part, LEAST_SPLIT, 1 - LEAST_SPLIT)


def _result(solution):
    return Result.solved(
        solution.objective,
        duality_gap=float(solution.duality_gap),
        violation=float(solution.violation),
        counts=dict(solution.counts),
    )
