"""Minimax probability machines of features that are added or removed one by one."""

import numpy as np

from fsnotes.core.bounds import delta, kappa, minimax
from fsnotes.core.mm import Result
from fsnotes.core.moment_classifier import MomentClassifier, feasible_bound, largest_bound
from fsnotes.core.tolerances import KAPPA_REACHED
from fsnotes.core.validation import check_bound, check_count
from fsnotes.errors import SelectionWarning, warn

__all__ = ["GreedyMPM"]


class GreedyMPM(MomentClassifier):
    """Few features for a given accuracy bound, one by one: what `L1MPM` and `L0MPM` have to beat.

    Each step adds the feature, or removes that, with which the minimax probability machine of
    the features selected has the largest bound.

    Parameters
    ----------
    direction : {"forward", "backward"}, default="forward"
        From no feature, until the bound is reached; or from all, as long as it holds.
    retain : float, default=0.9
        In (0, 1]. The bound asked for, as a part of the largest that the data admit.
    delta : float, optional
        In (0, 1). The bound itself; overrides ``retain``.
    n_features : int, optional
        Select exactly so many, whatever the bound; overrides ``retain`` and ``delta``.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation. Without a ridge the
        selection does not depend on it.

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
        The features selected, as they joined; or those removed, as they left.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    InfeasibleBoundError
        If ``delta`` is more than ``largest_delta_``.

    Notes
    -----
    O(n k^3) for the feature that joins k of n, O(k^4) for the one that leaves. Where features are
    more than rows, the first removals are between equals, since many sets have the bound 1, and
    say nothing.

    Examples
    --------
    >>> from fsnotes import GreedyMPM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = GreedyMPM(retain=0.95).fit(X, y)
    >>> machine.n_selected_, machine.order_[:2].tolist()
    (5, [27, 20])
    """

    def __init__(
        self,
        *,
        direction="forward",
        retain=0.9,
        delta=None,
        n_features=None,
        ridge=0.0,
        scale=True,
    ):
        self.direction = direction
        self.retain = retain
        self.delta = delta
        self.n_features = n_features
        self.ridge = ridge
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        if self.direction not in ("forward", "backward"):
            raise ValueError(f'direction={self.direction!r}; pass "forward" or "backward"')
        check_bound(self.retain, self.delta)
        if self.n_features is not None:
            check_count("n_features", self.n_features)

    def _solve(self, problem):
        pair = problem.pair
        whole = minimax(pair)
        self.largest_delta_ = largest_bound(whole.kappa)
        if self.n_features is None:
            self.delta_ = feasible_bound(self.largest_delta_, self.retain, self.delta)
            limit = {"least": kappa(self.delta_) * KAPPA_REACHED}
        else:
            self._warn_if_few(len(problem.used))
            limit = {"size": self.n_features}
        search = _added if self.direction == "forward" else _removed
        chosen, order, machine = search(pair, whole, **limit)
        if self.n_features is not None:
            self.delta_ = float(delta(machine.kappa))
        self.order_ = problem.used[order]
        weights = np.zeros(len(problem.used))
        weights[chosen] = machine.weights
        return weights, machine.margin_split[0], len(chosen), Result.solved(len(chosen))

    def _warn_if_few(self, most):
        if self.n_features > most:
            warn(
                f"n_features={self.n_features}, but only {most} vary; these are returned",
                SelectionWarning,
            )


def _added(pair, whole, *, size=np.inf, least=None):
    """Features in order, as they joined, and their machine, once one of the limits is reached."""
    everything, order = np.arange(len(pair.mean_diff)), []
    machine = None
    while len(order) < size and not (machine and least and machine.kappa >= least):
        free = np.setdiff1d(everything, order)
        if not len(free):
            return everything, np.array(order), whole
        best, machine = _largest(pair, [np.sort([*order, j]) for j in free])
        order.append(int(free[best]))
    return np.sort(order), np.array(order), machine


def _removed(pair, whole, *, size=1, least=0.0):
    """Features left in order, those removed as they went, and the machine before a limit breaks."""
    chosen, machine, gone = np.arange(len(pair.mean_diff)), whole, []
    while len(chosen) > size:
        best, smaller = _largest(pair, [np.delete(chosen, j) for j in range(len(chosen))])
        if smaller is None or smaller.kappa < least:
            break
        gone.append(int(chosen[best]))
        chosen, machine = np.delete(chosen, best), smaller
    return chosen, np.array(gone, dtype=int), machine


def _largest(pair, sets):
    """Place of the set of largest kappa, and its machine."""
    machines = [minimax(pair, s) if pair.mean_diff[s].any() else None for s in sets]
    kappas = [machine.kappa if machine else 0.0 for machine in machines]
    best = int(np.argmax(kappas))
    return best, machines[best]
