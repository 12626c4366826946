"""FTSVM: few features that both planes of a twin machine share; and a ranking of features."""

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.mm import majorize_minimize
from fsnotes.core.ranking import Ranking
from fsnotes.core.surrogates import Exponential
from fsnotes.core.tolerances import EQUAL
from fsnotes.core.validation import (
    MOST_STEPS,
    array_of,
    check_bool,
    check_count,
    check_one_of,
    check_real,
    shown,
    with_plain_numbers,
)
from fsnotes.errors import SelectionWarning, warn
from fsnotes.twin.objective import ConcaveObjective, objective_of
from fsnotes.twin.planes import L1TwinSVM, TwinClassifier, refit_planes
from fsnotes.twin.search import Search, branch_and_bound

__all__ = ["FTSVM", "rank_features"]

# The concave function has this alpha, over the mean size of a feature that has a weight.
ALPHA = 5.0
SURROGATE_STEPS = 30  # most steps of the loop for init="mm", where the search begins
LARGEST_SIGMA = 1e12  # beyond it (21) has no digits left for the planes
PROVEN = 1e-6  # relative gap up to which a set of features counts as proven to be the best
INITS = ("all", "score", "weights", "mm")
RANKINGS = ("drop", "weights", "score", "reversed")


class FTSVM(TwinClassifier):
    """Few features for both planes of a twin machine, each of them counted once.

    (21) of Bai et al. (2014): minimise ``sigma |E| + balance f1 + (1 - balance) f0`` over the set E
    of features and two planes on them, where f1 and f0 are what ``L1TwinSVM`` minimises for the
    plane of ``classes_[1]`` and of ``classes_[0]``. Published is a greedy search for fixed planes;
    here features are switched one by one with the planes solved anew, until no switch improves.

    Parameters
    ----------
    c_fit : float or pair of float, default=0.1
        Penalty of the distances to the plane of one's own class, as in `TwinSVM`. At about
        `c_hinge` the planes separate the classes; from 3 to 10 times that they follow their own
        samples. Which is better the data decide: search both. With a kernel begin at 1.
    c_hinge : float or pair of float, default=0.1
        Penalty of the samples of the other class that are within the margin, likewise. Where the
        classes have unequal numbers of samples, `sample_weight` can even them out.
    sigma : float, default=0.01
        Penalty of a feature, as a part of the objective without features; 0 or more.
    sigma_absolute : bool, default=False
        Take `sigma` as it is, as published. As the losses are sums over samples, the same number
        of features then costs less beside more samples.
    balance : float, default=0.5
        The published lambda, above 0 and below 1: the weight of the plane of ``classes_[1]``.
    init : {"all", "score", "weights", "mm"}, default="all"
        Where the search begins: with all features; with those of at least the mean of the published
        score, as published; with those of at least the mean weight in both planes; or where a loop
        ends that puts ``1 - exp(-alpha size)`` in place of the number of features. The last two are
        for planes without a kernel.
    search : {"flip", "greedy"}, default="flip"
        Switch features, with both planes solved anew for each, until no single switch improves the
        objective; or, as published, sweep through the features for fixed planes, and solve these
        anew after each sweep.
    exact : bool, default=False
        Go on by branch and bound, which finds the best set and proves it. It takes a part of a
        second for ten features, and for thirty may not end before `time_limit`. Not with a kernel.
    time_limit : float, default=60.0
        Seconds that branch and bound may take.
    n_features : int, optional
        Select exactly so many: after the search features are switched off that cost least, or on
        that gain most. Fewer, with a warning, where none that is left gains anything. Not with
        `exact`.
    kernel : str or callable, optional
        As in `TwinSVM`, of the features selected.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``, of all features.
    refit : bool, default=True
        Return the planes of `TwinSVM` on the features selected, with the same penalties; otherwise
        those of the linear programs. Where planes follow samples at a larger `c_fit`, either can be
        the better one.
    tol : float, default=1e-06
        A switch has to gain more than this part of the objective without features.
    max_iter : int, default=1000
        Most rounds through the features, up to 1e6.
    progress : bool, default=False
        Show a progress bar over the features of each round.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation.

    Attributes
    ----------
    coef_ : ndarray of shape (2, n_features)
        Normals of the planes; exactly zero where not selected.
    objective_ : float
        Of the features selected, (21), before a refit.
    sigma_ : float
        Penalty of a feature, as it counts in the objective.
    moves_ : tuple of Move
        Each switch that was accepted, with the objective after it and those accepted with it.
    bound_ : float
        No choice of features has a smaller objective; minus infinity unless `exact`.
    n_iter_ : int
        Rounds through the features.
    intercept_, norms_, support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_
        As in `TwinSVM`, which says what a kernel has instead of ``coef_``.
    result_ : Result
        ``result_.steps`` is the history of the objective, which rises by rounding alone within a
        stage.

    Notes
    -----
    Without a kernel a switch changes one constraint of the dual linear programs of both planes,
    which takes a few dozen pivots of O(m k), for m samples and the k features that have joined;
    most switches are ruled out by a bound without any. Features without a weight are dropped, even
    at no penalty, so that the choice is the union of the supports of both planes: a group zero
    norm. A kernel makes a new program of each switch, with O(m^2) memory, O(m^2) for a bound or
    O(m^3) and more to solve; the published search takes O(m s) a switch, for s points of which the
    surfaces are made.

    References
    ----------
    L. Bai, Z. Wang, Y.-H. Shao and N.-Y. Deng, A novel feature selection method for twin support
    vector machine, Knowledge-Based Systems 59, 2014.

    Examples
    --------
    >>> from fsnotes import FTSVM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [FTSVM(sigma=sigma).fit(X, y).n_selected_ for sigma in (0.003, 0.03)]
    [8, 2]
    """

    _remedies = ("a smaller sigma", *TwinClassifier._remedies)

    def __init__(
        self,
        *,
        c_fit=0.1,
        c_hinge=0.1,
        sigma=0.01,
        sigma_absolute=False,
        balance=0.5,
        init="all",
        search="flip",
        exact=False,
        time_limit=60.0,
        n_features=None,
        kernel=None,
        gamma=None,
        refit=True,
        tol=1e-6,
        max_iter=1000,
        progress=False,
        scale=True,
    ):
        self.c_fit = c_fit
        self.c_hinge = c_hinge
        self.sigma = sigma
        self.sigma_absolute = sigma_absolute
        self.balance = balance
        self.init = init
        self.search = search
        self.exact = exact
        self.time_limit = time_limit
        self.n_features = n_features
        self.kernel = kernel
        self.gamma = gamma
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_real("sigma", self.sigma, 0, most=LARGEST_SIGMA)
        check_balance(self.balance)
        for name, allowed in (("init", INITS), ("search", ("flip", "greedy"))):
            check_one_of(name, getattr(self, name), allowed)
        check_real("time_limit", self.time_limit, 0, open_at=0)
        check_count("n_features", self.n_features, optional=True)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)
        for name in ("sigma_absolute", "exact", "refit", "progress"):
            check_bool(name, getattr(self, name))
        if self.exact and self.n_features is not None:
            raise ValueError(
                f"exact=True is about any number of features, not n_features={self.n_features}; "
                "pass n_features=None or exact=False"
            )
        if self.kernel is not None and self.init in ("weights", "mm"):
            raise ValueError(
                f"init={self.init!r} looks at weights of features, of which kernel="
                f'{shown(self.kernel)} has none; pass init="all" or "score"'
            )
        if self.kernel is not None and self.exact:
            raise ValueError(
                f"exact=True searches for planes, not for surfaces of kernel={shown(self.kernel)}; "
                "pass exact=False or kernel=None"
            )

    def _find_planes(self, data):
        balance = np.array([1 - self.balance, self.balance])
        nothing = float(balance @ [plane.value for plane in data.problem.flat_planes()])
        self.sigma_ = float(self.sigma * (1 if self.sigma_absolute else nothing))
        objective = objective_of(data, self.sigma_, balance)
        tol = self.tol * nothing
        search = Search(objective, data.features.used, tol, int(self.max_iter), self.progress)
        state = search.start(self._first_mask(objective))
        if self.search == "flip":
            state = search.flip(state)
        else:
            state = search.drop_without_weight(search.alternate(state))
        self.bound_ = -np.inf
        if self.exact:
            state, self.bound_ = self._prove(search, state)
        if self.n_features is not None:
            state = self._reach_size(search, state)
        self.moves_ = tuple(search.moves)
        self.n_iter_ = search.rounds
        if search.status == "max_iter":
            warn(
                f"not converged in {self.max_iter} rounds: the last one still gained; raise "
                "max_iter or tol",
                ConvergenceWarning,
            )
        self._set_solved_planes(data, state.planes)
        planes = refit_planes(data, state.mask, state.planes, self.refit)
        result = search.result(state)
        if np.isfinite(self.bound_) and state.value > 0:
            gap = max(0.0, 1 - self.bound_ / state.value)
            result = replace(result, duality_gap=float(gap))
        return state.mask, planes, result

    def _definition(self, planes):
        values = abs(planes.weights).sum(axis=1) + self._values(planes, 1)
        return np.append(self.sigma_ * self.n_selected_, [1 - self.balance, self.balance] * values)

    def _first_mask(self, objective):
        """The set of features from which the search begins."""
        everything = np.ones(objective.n, dtype=bool)
        if self.init == "all" or not objective.n:
            return everything
        state = objective.solve(everything)
        if self.init in ("score", "weights"):
            part = objective.scores(state) if self.init == "score" else objective.sizes(state)
            return part >= (1 - EQUAL) * part.mean()  # up to rounding
        weights = state.weights.ravel()
        sizes = objective.joint_sizes(weights)
        if not sizes.any():
            return ~everything
        problem = ConcaveObjective(objective, Exponential(ALPHA / sizes[sizes > 0].mean()))
        # The loop need not converge: its best point is only where the search begins.
        weights, _ = majorize_minimize(problem, weights, self.tol, SURROGATE_STEPS, warn_of=())
        return objective.joint_sizes(weights) > 0

    def _prove(self, search, state):
        """Return the best set, by branch and bound from the one at hand, and its bound."""
        best, bound = branch_and_bound(search.objective, state, PROVEN / 2, self.time_limit)
        if best is not state:
            state = search.flip(search.accept(state, best))
        bound = min(bound, state.value)
        gap = state.value / bound - 1 if bound > 0 else np.inf if state.value > 0 else 0.0
        if gap > PROVEN:
            warn(
                f"after {self.time_limit:g} seconds the objective {state.value:.6g} is known to be "
                f"at most {gap:.2%} above the least; raise time_limit",
                ConvergenceWarning,
            )
        return state, float(bound)

    def _reach_size(self, search, state):
        """Return a set of as many features as were asked for, or warn that it has fewer."""
        varying = search.objective.n
        state = search.reach_size(state, min(int(self.n_features), varying))
        found = int(np.count_nonzero(state.mask))
        if found < self.n_features:
            why = f"only {found} vary" if found == varying else "no other gets a weight"
            warn(f"n_features={self.n_features}, but {why}; {found} are returned", SelectionWarning)
        return state

    def _summary_lines(self):
        proven = "" if np.isinf(self.bound_) else f", proven to be at least {self.bound_:.6g}"
        cost = f"of which a feature costs {self.sigma_:.4g}{proven}"
        return [f"objective (21), before a refit: {self.objective_:.6g}, {cost}"]


def rank_features(
    X,
    y,
    *,
    by="drop",
    support=None,
    c_fit=0.1,
    c_hinge=0.1,
    balance=0.5,
    kernel=None,
    gamma=None,
    scale=True,
):
    """Rank features by what they do for the planes of one twin machine: RTSVM.

    The cost is that of the machine, and then O(m) a feature for m samples, or O(m s) with a kernel,
    for s points of which the surfaces are made.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Two labels of one kind.
    by : {"drop", "weights", "score", "reversed"}, default="drop"
        "drop" is what the losses of both planes rise by if the feature is left out and the planes
        stay as they are; for features that are not on `support`, minus what they rise by if it is
        added. "weights", for planes without a kernel, is the size of the weights in both. "score"
        is published, (23) of Bai et al. (2014): the part of a feature in the losses that planes
        with this feature alone would have, and "reversed" is one minus that.
    support : array-like of bool, optional
        Features of which the planes are made, a mask; by default all.
    c_fit, c_hinge, balance, kernel, gamma, scale
        As in `FTSVM`.

    Returns
    -------
    Ranking
        ``scores``, minus infinity for features that do not vary, and ``order``, of all features.
        With the scores first it suits `SelectKBest` of scikit-learn.

    Examples
    --------
    >>> from fsnotes import load, rank_features
    >>> X, y = load("wdbc", return_X_y=True)
    >>> rank_features(X, y).order[:3].tolist()
    [23, 20, 6]
    """
    check_one_of("by", by, RANKINGS)
    balance = check_balance(balance)
    machine = L1TwinSVM(c_fit=c_fit, c_hinge=c_hinge, kernel=kernel, gamma=gamma, scale=scale)
    machine._check_parameters()
    machine = with_plain_numbers(machine)
    if by == "weights" and kernel is not None:
        raise ValueError(
            f'by="weights" needs weights, which kernel={shown(kernel)} has not; pass "drop"'
        )
    data = machine._twin_data(machine._check_data(X, y, None))
    count = machine.n_features_in_
    mask = np.ones(count, dtype=bool) if support is None else array_of(support)
    if mask.dtype != bool or mask.shape != (count,):
        raise ValueError(
            f"support has type {mask.dtype} and shape {mask.shape}; pass one bool for each of "
            f"{count} features"
        )
    objective = objective_of(data, 0.0, np.array([1 - balance, balance]))
    state = objective.solve(mask[data.features.used])
    if by == "drop":
        rises = objective.losses_of_switches(state) - objective.fixed_loss(state)
        found = np.where(state.mask, rises, -rises)
    elif by == "weights":
        found = objective.sizes(state)
    else:
        found = objective.scores(state)
        found = found if by == "score" else 1 - found
    scores = np.full(count, -np.inf)
    scores[data.features.used] = found
    if len(data.features.used) > 1 and np.ptp(found) == 0:
        warn(
            "all scores are equal, so that the order is that of the columns; where both planes are "
            "flat, pass a larger c_fit and c_hinge",
            SelectionWarning,
        )
    return Ranking(scores, np.argsort(-scores, kind="stable"))


def check_balance(value):
    """Return `value` as a plain number; raise unless it lies between 0 and 1."""
    balance = check_real("balance", value, 0, open_at=0, most=1)
    if balance == 1:
        raise ValueError("balance=1; pass a number above 0 and below 1")
    return balance
