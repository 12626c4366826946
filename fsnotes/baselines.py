"""What the papers compare with."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fsnotes.base import MomentClassifier, feasible_bound, solved
from fsnotes.bounds import HELD, delta, kappa, minimax
from fsnotes.checks import check_bool, check_bound, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.hinge import LARGEST_C, HingeClassifier, HingeProgram, distinct

__all__ = ["GreedyMPM", "L1SVM"]

REFIT_STEPS = 10**6


class L1SVM(HingeClassifier):
    """Few features by a linear program: minimise ``|w|_1 + C`` times the mean hinge loss.

    Problem (2) of Xu, King and Lyu (2007), which it compares with. The offset has no price.

    Parameters
    ----------
    C : float, default=10.0
        Price of the mean over all rows of the hinge losses ``max(0, 1 - margin)``; above 0 and at
        most 1e6. Where it is too small for any feature to pay, the machine has none, says the
        heavier class everywhere, and a warning names the C at which the first feature enters.
    refit : bool, default=True
        Return the soft-margin support vector machine of the features selected, which minimises
        ``|w|_2^2 / 2 + C`` times the mean hinge loss, with the same C and in the same units;
        otherwise the solution of the linear program itself.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The norm is not
        scale free: without it, columns of large numbers are selected first.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        Of several that are as good, for the solution itself, the middle one.
    objective_ : float
        ``|w|_1 + C`` times the mean hinge loss, in the units that `scale` sets, before the refit.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    SubproblemError
        If the solution of the linear program cannot be verified, which takes a large C and columns
        of very different sizes without `scale`.

    Notes
    -----
    The simplex method works on the dual, one variable a row and one constraint a feature, and is
    given a feature only once its constraint is violated. So N rows, n features and k features in
    the program cost O(N n) for each hundred that join and O(N k) a pivot, beside O(N n^2) for
    units, or O(N^2 n) if there are fewer rows than features. Equal rows are one row, of the sum of
    their weights. The refit takes O(N^2 k) or more, growing with C, and may end early with a
    ConvergenceWarning.

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, Feature selection via concave minimization and support
    vector machines, Proceedings of the 15th International Conference on Machine Learning, 82-90,
    1998.

    Examples
    --------
    >>> from fsnotes import L1SVM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [L1SVM(C=C).fit(X, y).n_selected_ for C in (2, 10, 100)]
    [3, 6, 12]
    """

    def __init__(self, *, C=10.0, refit=True, scale=True):
        self.C = C
        self.refit = refit
        self.scale = scale

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit(self, X, positive, weights):
        X, positive, weights = distinct(X, positive, weights)
        used, unit, center = self._prepared(X, positive, weights)
        costs = np.ones(len(used)) if self.scale else 1 / unit
        Z = (X[:, used] - center[used]) / unit
        program = HingeProgram(Z, np.where(positive, 1.0, -1.0), weights / weights.sum(), costs)
        solution = program.solve(self.C)
        scaled, offset = solution.weights, solution.offset
        chosen = np.flatnonzero(scaled)
        if self.refit and len(chosen):
            scaled = np.zeros(len(used))
            scaled[chosen], offset = self._refitted(program, chosen)
        elif len(used) and not len(chosen):
            self._warn_of_price(program)
        self.coef_ = np.zeros((1, self.n_features_in_))
        self.coef_[0, used] = scaled / unit
        self.intercept_ = np.array([offset - self.coef_[0] @ center])
        self.objective_ = solution.objective
        self.result_ = solved(
            solution.objective, duality_gap=solution.duality_gap, counts=program.counts
        )
        return self

    def _refitted(self, program, chosen):
        """Weights and offset of the soft-margin machine of some features."""
        costs = program.costs[chosen]
        machine = SVC(kernel="linear", C=self.C, tol=1e-6, max_iter=REFIT_STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # a column over its cost is the column in the units that `scale` sets
            machine.fit(program.Z[:, chosen] / costs, program.signs, program.shares)
        if machine.fit_status_:
            warnings.warn(
                f"the refit has not reached its tolerance, 1e-6, in {REFIT_STEPS} steps; pass a "
                f"smaller C than {self.C:g}, scale=True, or refit=False",
                ConvergenceWarning,
                stacklevel=4,
            )
        return machine.coef_[0] / costs, machine.intercept_[0]

    def _warn_of_price(self, program):
        most = min(LARGEST_C, 1e4 * max(self.C, program.too_small()))
        try:
            entry = program.entry(most)
        except SubproblemError:
            found = "the C at which the first one enters was not found"
        else:
            known = entry is not None
            found = f"the first one enters at C={entry:.6g}" if known else f"none up to C={most:g}"
        warnings.warn(
            f"C={self.C:g} is too small to select a feature; {found}",
            SelectionWarning,
            stacklevel=4,
        )

    def _promises(self):
        return [
            f"|w|_1 + C (mean hinge loss) before the refit: {self.objective_:.6g} at C={self.C:g}",
            "no promise for new data",
        ]


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

    def _solve(self, prepared):
        pair = prepared.pair
        whole = minimax(pair)
        self._set_largest(whole.kappa)
        if self.n_features is None:
            self.delta_ = feasible_bound(self.largest_delta_, self.retain, self.delta)
            limit = {"least": kappa(self.delta_) * HELD}
        else:
            self._warn_if_few(len(prepared.used))
            limit = {"size": self.n_features}
        search = _added if self.direction == "forward" else _removed
        chosen, order, machine = search(pair, whole, **limit)
        if self.n_features is not None:
            self.delta_ = float(delta(machine.kappa))
        self.order_ = prepared.used[order]
        weights = np.zeros(len(prepared.used))
        weights[chosen] = machine.weights
        return weights, machine.shares[0], len(chosen), solved(len(chosen))

    def _warn_if_few(self, most):
        if self.n_features > most:
            warnings.warn(
                f"n_features={self.n_features}, but only {most} vary; these are returned",
                SelectionWarning,
                stacklevel=5,
            )


def _added(pair, whole, *, size=np.inf, least=None):
    """Features in order, as they joined, and their machine, once one of the limits is reached."""
    everything, order = np.arange(len(pair.gap)), []
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
    chosen, machine, gone = np.arange(len(pair.gap)), whole, []
    while len(chosen) > size:
        best, smaller = _largest(pair, [np.delete(chosen, j) for j in range(len(chosen))])
        if smaller is None or smaller.kappa < least:
            break
        gone.append(int(chosen[best]))
        chosen, machine = np.delete(chosen, best), smaller
    return chosen, np.array(gone, dtype=int), machine


def _largest(pair, sets):
    """Place of the set of largest kappa, and its machine."""
    machines = [minimax(pair, s) if pair.gap[s].any() else None for s in sets]
    kappas = [machine.kappa if machine else 0.0 for machine in machines]
    best = int(np.argmax(kappas))
    return best, machines[best]
