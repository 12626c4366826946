"""Minimax probability machines of features that are added or removed one by one."""

import numpy as np

from fsnotes.core.bounds import delta, kappa, minimax
from fsnotes.core.mm import Result
from fsnotes.core.moment_classifier import MomentClassifier, feasible_bound, largest_bound
from fsnotes.core.tolerances import CANCELLED, KAPPA_REACHED
from fsnotes.core.validation import check_bound, check_count, check_one_of
from fsnotes.errors import SelectionWarning, warn

__all__ = ["GreedyMPM"]


class GreedyMPM(MomentClassifier):
    """Few features for a given accuracy bound, one by one: what `L1MPM` and `L0MPM` have to beat.

    Each step adds or removes the feature after which the minimax probability machine of the
    features selected has the largest bound.

    Parameters
    ----------
    direction : {"forward", "backward"}, default="forward"
        Add features until the bound is reached, or remove some of all as long as it holds.
    retain : float, default=0.9
        In (0, 1]. The bound asked for, as a part of the largest that the data admit.
    delta : float, optional
        In (0, 1). The bound itself; overrides ``retain``.
    n_features : int, optional
        Select exactly so many, whatever the bound; overrides ``retain`` and ``delta``.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation; matters with a ridge.

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
        Bounds of both classes, in the order of ``classes_``.
    objective_ : float
        Number of features.
    order_ : ndarray of int
        The features selected, or those removed, in the order in which they joined or left.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

    Notes
    -----
    A step costs O(n k^3) if it adds a feature to k of n, and O(k^4) if it removes one of k. If
    features are more than rows, the first removals say nothing, since many sets have the bound 1.
    `InfeasibleBoundError` is raised if ``delta`` is more than ``largest_delta_``.

    Examples
    --------
    >>> from fsnotes import GreedyMPM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = GreedyMPM(retain=0.95).fit(X, y)
    >>> machine.n_selected_, machine.order_[:2].tolist()
    (5, [27, 20])
    """

    def __init__(
        self, *, direction="forward", retain=0.9, delta=None, n_features=None, ridge=0.0, scale=True
    ):
        self.direction = direction
        self.retain = retain
        self.delta = delta
        self.n_features = n_features
        self.ridge = ridge
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_one_of("direction", self.direction, ("forward", "backward"))
        check_bound(self.retain, self.delta)
        check_count("n_features", self.n_features, optional=True)

    def _solve(self, problem):
        pair = problem.pair
        most = len(problem.used)
        forward = self.direction == "forward"
        whole = minimax(pair)
        self.largest_delta_ = largest_bound(whole.kappa)
        if self.n_features is None:
            self.delta_ = feasible_bound(self.largest_delta_, self.retain, self.delta)
            least = kappa(self.delta_) * KAPPA_REACHED
            size = most if forward else 1
        else:
            # No bound is asked for: every comparison with nan fails, that of an infinite kappa too.
            least = np.nan
            size = min(int(self.n_features), most)
            if self.n_features > most:
                warn(
                    f"n_features={self.n_features}, but only {most} vary; these are returned",
                    SelectionWarning,
                )
        chosen, order, solution = _search(pair, forward, size, least, whole)
        if self.n_features is not None:
            self.delta_ = float(delta(solution.kappa))
        self.order_ = problem.used[order]
        weights = np.zeros(most)
        weights[chosen] = solution.weights
        weights[abs(weights) <= CANCELLED * abs(weights).max()] = 0
        found = int(np.count_nonzero(weights))
        if found < len(chosen):
            warn(
                f"{len(chosen)} features are selected, but only {found} have a weight; {found} are "
                "returned, since others add nothing to the bound",
                SelectionWarning,
            )
        return weights, solution.margin_split[0], found, Result.solved(found)


def _search(pair, forward, size, least, whole):
    """Add or remove one feature after the other, always that which leaves the largest kappa.

    The search ends at so many features; before that, once kappa is at least that asked for if
    features are added, or before it would fall below if they are removed. Returned are the
    features, those added or removed in order, and the minimax solution; `whole` is that of all.
    """
    everything = np.arange(len(pair.mean_diff))
    selected = np.full(len(everything), not forward)
    solution = whole
    order = []
    while selected.sum() != size:
        movers = np.flatnonzero(selected != forward)
        sets = [np.flatnonzero(selected ^ (everything == mover)) for mover in movers]
        solutions = [minimax(pair, features) for features in sets]
        kappas = [solution.kappa for solution in solutions]
        best = int(np.argmax(kappas))
        if not forward and kappas[best] < least:
            break
        order.append(movers[best])
        selected[movers[best]] = forward
        solution = solutions[best]
        if forward and kappas[best] >= least:
            break
    return np.flatnonzero(selected), np.array(order, dtype=int), solution
