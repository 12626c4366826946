"""The Chebyshev bound: minimax probability machines, dense and with few features."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fsnotes.core.bounded import BoundedClassifier, NormPath, balance, nonnegligible, result_of
from fsnotes.core.bounds import delta, minimax
from fsnotes.core.mm import Result
from fsnotes.core.moment_classifier import MomentClassifier, feasible_bound, largest_bound
from fsnotes.core.validation import (
    LARGEST_SEED,
    check_bool,
    check_count,
    check_real,
    check_reals,
    shown,
    with_plain_numbers,
)
from fsnotes.errors import EqualMeansError, SubproblemError
from fsnotes.solvers.cone import ConeProblem

__all__ = ["BoundPath", "L1MPM", "MPM", "SMPM", "null_delta"]

MOST_PERMUTATIONS = 10**5  # More would take hours for all but the smallest tables.


class MPM(MomentClassifier):
    """Minimax probability machine: the largest accuracy that both classes are certain of.

    It maximises the bound delta for which every distribution with the means and covariances of
    the data puts at least delta of each class on its side. It uses every feature.

    Parameters
    ----------
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation. Without a ridge the
        machine does not depend on it.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        In the caller's units.
    largest_delta_, delta_ : float
        The bound, under both names.
    worst_case_accuracy_ : ndarray of shape (2,)
        Bounds of both classes, in the order of ``classes_``, from the scores of the training data,
        rounded down: the accuracy on these, weighted where samples have weights, is never below
        them. Nothing is promised for new data. After `fit_moments` they are those of the moments.
    objective_ : float
        ``s1 + s2`` where the means are 1 apart.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

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

    def _solve(self, problem):
        point = minimax(problem.pair)
        self._unselected_ = point.weights
        self.largest_delta_ = self.delta_ = largest_bound(point.kappa)
        objective = point.deviations.sum()
        return point.weights, point.margin_split[0], objective, Result.solved(objective)

    def _definition(self, planes):
        return planes.spreads(self.ridge)


class L1MPM(BoundedClassifier):
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
        gives one feature, that of the largest difference of means.
    prune : bool, default=False
        Remove features one by one while the bound of the refitted machine holds.
    n_features : int, optional
        Select exactly so many, whatever the bound; overrides ``retain`` and ``delta``. The bound
        is raised until so many are selected, of which the heaviest are kept, or those that
        pruning leaves.
    refit : bool, default=True
        Return the minimax probability machine of the features selected, not the solution itself.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation. Without it, columns of
        large numbers are selected first.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        In the caller's units, exactly zero where not selected.
    largest_delta_, delta_ : float
        Largest bound that the moments admit, and that asked for or, with `n_features`, reached.
    worst_case_accuracy_ : ndarray of shape (2,)
        Bounds of both classes, in the order of ``classes_``, as in `MPM`.
    objective_ : float
        ``|w|_1`` in the units that `scale` sets, before pruning and refit.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

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
        super().__init__(ridge=ridge, scale=scale)
        self.retain = retain
        self.delta = delta
        self.normalization = normalization
        self.prune = prune
        self.n_features = n_features
        self.refit = refit

    def _definition(self, planes):
        return abs(planes.weights).ravel()

    def path(self, X, y, retains=None, sample_weight=None):
        """Weights for a sequence of bounds, each from the last, in less time than fits take.

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
        estimator = with_plain_numbers(clone(self))
        samples = estimator._check_data(X, y, sample_weight)
        moments = estimator._class_moments(samples)
        problem = estimator._moment_problem(moments, samples)
        path, problem = estimator._answer(
            problem, samples, lambda problem: estimator._path(problem, retains)
        )
        estimator.scale_ = problem.scale
        found = [
            estimator._bounds_of_rows(samples, coef, intercept)[0].min()
            for coef, intercept in zip(path.coefs, path.intercepts, strict=True)
        ]
        return replace(path, bounds=np.minimum(path.bounds, found))

    def path_moments(self, moments, retains=None):
        """Weights for a sequence of bounds as from `path`, from the moments of two classes.

        Parameters
        ----------
        moments : ClassMoments
        retains : array-like, optional

        Returns
        -------
        BoundPath
        """
        self._check_parameters()
        machine = with_plain_numbers(self)
        problem = machine._moment_problem(moments)
        problem.warn_of_lost_digits()
        return machine._answer(problem, None, lambda problem: machine._path(problem, retains))[0]

    def _path(self, problem, retains):
        path = NormPath(problem.pair, problem.costs, self.normalization)
        largest = largest_bound(path.largest.kappa)
        if retains is None:
            retains = np.linspace(0.02, 1, 50)[: 49 if largest == 1 else 50]
        retains = check_reals("retains", retains, 0, open_at=0, most=1)
        if retains.ndim != 1 or len(retains) == 0:
            raise ValueError(f"retains has shape {retains.shape}; pass a list of numbers")
        deltas = np.array([feasible_bound(largest, retain) for retain in retains])
        objectives = np.zeros(len(deltas))
        splits = np.zeros(len(deltas))
        weights = np.zeros((len(deltas), len(problem.used)))
        for i in np.argsort(retains):
            solution = path.solve(deltas[i])
            objectives[i] = solution.objective
            weights[i], splits[i], _ = self._select_and_refit(path, deltas[i], solution, None)
        coefs, intercepts, bounds = self._planes(problem, weights, splits)
        least = bounds.min(axis=1)
        return BoundPath(retains, deltas, coefs, intercepts, objectives, least, coefs != 0)


@dataclass(frozen=True)
class BoundPath:
    """Weights and bounds along the bound asked for; one row for each value of ``retains``.

    Attributes
    ----------
    retains, deltas : ndarray of shape (n_bounds,)
        Bounds asked for: as parts of the largest, and as they are.
    coefs, supports : ndarray of shape (n_bounds, n_features)
    intercepts : ndarray of shape (n_bounds,)
    objectives : ndarray of shape (n_bounds,)
        ``|w|_1`` before pruning and refit.
    bounds : ndarray of shape (n_bounds,)
        The smaller of the bounds that both classes get.
    """

    retains: np.ndarray
    deltas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    bounds: np.ndarray
    supports: np.ndarray


class SMPM(MomentClassifier):
    """Few features by a penalty: maximise ``d'w / (s1 + s2 + lam |w|_1)``.

    A reconstruction: Yang and Ju (2014) compare with a machine of this name and say that it adds
    the l1 norm to the objective of a fractional program. They do not print it. With
    ``normalization="gap"`` `L1MPM` finds the same machines, indexed by the bound instead of `lam`.

    Parameters
    ----------
    lam : float, default=0.1
        Penalty of ``|w|_1``, at least 1e-9. From some value on one feature is left; towards 0 the
        machine becomes `MPM`. Small penalties without `scale`, or of nearly dependent columns,
        may end in a SubproblemError.
    refit : bool, default=True
        Return the minimax probability machine of the features selected, not the solution itself.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation.

    Attributes
    ----------
    coef_, intercept_, worst_case_accuracy_
        As in `L1MPM`.
    largest_delta_, delta_ : float
        Largest bound that the moments admit, and that which the machine reaches.
    objective_ : float
        ``s1 + s2 + lam |w|_1`` where the means are 1 apart, before the refit.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

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
        super().__init__(ridge=ridge, scale=scale)
        self.lam = lam
        self.refit = refit

    def _check_parameters(self):
        super()._check_parameters()
        check_real("lam", self.lam, 1e-9)  # lam=0 is MPM
        check_bool("refit", self.refit)

    def _solve(self, problem):
        pair = problem.pair
        self.largest_delta_ = largest_bound(minimax(pair).kappa)
        try:
            solution = ConeProblem(pair, "penalty").solve((1.0, 1.0), self.lam * problem.costs)
        except SubproblemError as error:
            raise SubproblemError(f"at lam={self.lam:g} {error}: lam") from error
        self._unselected_ = solution.weights
        chosen = nonnegligible(solution.weights)
        weights = np.zeros(len(pair.mean_diff))
        if self.refit:
            point = minimax(pair, chosen)
            weights[chosen] = point.weights
            split = point.margin_split[0]
            self.delta_ = float(delta(point.kappa))
        else:
            weights[chosen] = solution.weights[chosen]
            split, self.delta_ = balance(pair, weights)
        return weights, split, solution.objective, result_of(solution)

    def _definition(self, planes):
        penalty = self.lam * abs(planes.weights).sum() / planes.gap()
        return np.append(planes.spreads(self.ridge), penalty)


def null_delta(X, y, n_permutations=20, *, ridge=0.0, scale=True, random_state=None):
    """Largest bounds that permuted labels reach: what the bound shows where there is nothing.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_permutations : int, default=20
        At most 1e5.
    ridge, scale
        As in `MPM`.
    random_state : int, RandomState instance or None, default=None
        None draws anew at each call, and leaves numpy's global generator alone.

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
    n_permutations = check_count("n_permutations", n_permutations, most=MOST_PERMUTATIONS)
    try:
        random = check_random_state(
            np.random.RandomState() if random_state is None else random_state
        )
    except Exception:  # the repr of an object, which the message quotes, may fail, too
        raise ValueError(
            f"random_state={shown(random_state)}; pass None, a whole number from 0 to "
            f"{LARGEST_SEED}, or a numpy.random.RandomState"
        ) from None
    # This warns once of what is true of all permutations.
    machine = MPM(ridge=ridge, scale=scale).fit(X, y)
    samples = machine._check_data(X, y, None)

    def largest(class_index):
        permuted = replace(samples, class_index=class_index)
        try:
            moments = machine._class_moments(permuted)
            problem = machine._moment_problem(moments, permuted, quiet=True)
            return float(delta(minimax(problem.pair).kappa))
        except EqualMeansError:
            return 0.0

    orders = (random.permutation(samples.class_index) for _ in range(n_permutations))
    return np.array([largest(class_index) for class_index in orders])
