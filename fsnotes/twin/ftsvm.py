"""MOMIPP greedy: features that both planes of a twin machine share."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import block_array, csr_array, diags_array, eye_array, hstack, vstack
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from fsnotes.core.mm import Result, Step, majorize_minimize
from fsnotes.core.ranking import Ranking
from fsnotes.core.surrogates import Exponential
from fsnotes.core.validation import check_bool, check_count, check_one_of, check_real
from fsnotes.errors import SelectionWarning, warn
from fsnotes.twin.masks import KernelProblem, LinearProblem, Surrogate
from fsnotes.twin.planes import L1TwinSVM, TwinClassifier, refitted

__all__ = ["FTSVM", "Move", "rank_features"]

ALPHA = 5.0  # of the surrogate, over the mean size of a feature that has a weight
SURROGATE_STEPS = 30
LARGEST_SIGMA = 1e12
PROVEN = 1e-6  # relative gap of a mixed-integer program that is solved
SHORTEST = 1e-3  # seconds that it has in any case
WIDER = 1.01  # times the largest weight that it allows, for rounding
EQUAL = 1e-9  # part of a mean by which a number that rounding made smaller lacks it
INITS = ("all", "score", "weights", "mm")
RANKINGS = ("drop", "weights", "score", "reversed")


class Move(NamedTuple):
    """A feature that was switched on or off, and the objective after it."""

    feature: int
    selected: bool
    objective: float


class FTSVM(TwinClassifier):
    """Few features for both planes of a twin machine, each of them paid for once.

    (21) of Bai et al. (2014): minimise ``sigma |E| + balance f1 + (1 - balance) f0`` over the set E
    of features and two planes on them, where f1 and f0 are what ``L1TwinSVM`` minimises for the
    plane of ``classes_[1]`` and of ``classes_[0]``. Published is a greedy search for fixed planes;
    here features are switched one by one with the planes solved anew, until no switch improves.

    Parameters
    ----------
    c_fit : float or pair of float, default=0.1
        Price of the distances to the plane of one's own class; above 0, at most 1e6. Two are for
        the planes of both classes, in the order of ``classes_``. At about `c_hinge` the planes
        separate the classes; from 3 to 10 times that they follow their own rows. Which is better
        the data decide: search both. With a kernel begin at 1.
    c_hinge : float or pair of float, default=0.1
        Price of the rows of the other class that are within the margin, likewise. Where the classes
        have unequal numbers of rows, `sample_weight` can even them out.
    sigma : float, default=0.01
        Price of a feature, as a part of the objective without features; 0 or more.
    sigma_absolute : bool, default=False
        Take `sigma` as it is, as published. The losses are sums over rows, so that the same number
        of features then costs less beside more rows.
    balance : float, default=0.5
        The published lambda, above 0 and below 1: the weight of the plane of ``classes_[1]``.
    init : {"all", "score", "weights", "mm"}, default="all"
        Where the search begins: with all features; with those of at least the mean of the published
        score, as published; with those of at least the mean weight in both planes; or where a loop
        ends that puts ``1 - exp(-alpha size)`` in place of the number of features. The last two are
        for planes without a kernel.
    search : {"flip", "greedy"}, default="flip"
        Switch features while this improves the objective, with both planes solved anew for each, so
        that in the end no single switch improves; or, as published, sweep through the features for
        fixed planes, and solve these anew after each sweep.
    exact : bool, default=False
        Go on with the mixed-integer program, which proves a bound. Takes seconds for ten features,
        and for more than twenty rarely ends before `time_limit`. Not with a kernel.
    time_limit : float, default=60.0
        Of the mixed-integer program, in seconds.
    n_features : int, optional
        Select exactly so many: after the search features are switched off that cost least, or on
        that gain most. Fewer, with a warning, where none that is left gains anything. Not with
        `exact`.
    kernel : str or callable, optional
        As in `KernelMPM`, such as "rbf": the planes are then surfaces, made of the kernel's values
        at the distinct training rows, of the features selected.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``, of all features.
    refit : bool, default=True
        Return the planes of `TwinSVM` on the features selected, with the same prices; otherwise
        those of the linear programs. Squared distances are other units, so that these are other
        planes: where they follow rows at a larger `c_fit`, either can be the better one.
    tol : float, default=1e-06
        A switch has to gain more than this part of the objective without features.
    max_iter : int, default=1000
        Most rounds through the features.
    progress : bool, default=False
        Show a progress bar over the features of each round.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The norm is not
        scale free.

    Attributes
    ----------
    coef_ : ndarray of shape (2, n_features)
        Normals of the planes, in the order of ``classes_``; exactly zero where not selected. Not
        with a kernel.
    intercept_ : ndarray of shape (2,)
    norms_ : ndarray of shape (2,)
        Length of each normal, in the deviations of ``scale_``, by which distances are measured;
        with a kernel in its space. 0 where the plane is flat.
    objective_ : float
        Of the features selected, (21), before a refit.
    sigma_ : float
        Price of a feature, as it counts in the objective.
    moves_ : tuple of Move
        Each switch that was accepted: feature, whether it was switched on, and the objective after
        it, or after all that were accepted together.
    bound_ : float
        No choice of features has a smaller objective; minus infinity unless `exact`.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    n_iter_ : int
        Rounds through the features.
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which never rises within a stage.

    Raises
    ------
    SubproblemError
        If a plane cannot be verified.

    Notes
    -----
    Without a kernel a switch changes one constraint of the dual linear programs of both planes, a
    few dozen pivots of O(m k), for m rows and the k features that have joined; most switches are
    ruled out by a bound without any. A round costs at most 2 n of these. A kernel makes a new
    program of each switch, O(m^2) memory, O(m^2) for a bound or O(m^3) and more to solve; the
    published search takes O(m s) a switch, for s points of which the surfaces are made.

    Without a kernel features without a weight are dropped, even at no price, so that the choice is
    the union of the supports of both planes: a group zero norm.

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
        check_bool("sigma_absolute", self.sigma_absolute)
        check_share("balance", self.balance)
        for name, allowed in (("init", INITS), ("search", ("flip", "greedy"))):
            check_one_of(name, getattr(self, name), allowed)
        check_bool("exact", self.exact)
        check_real("time_limit", self.time_limit, 0, open_at=0)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_bool("refit", self.refit)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)
        check_bool("progress", self.progress)
        if self.exact and self.n_features is not None:
            raise ValueError(
                f"exact=True is about any number of features, not n_features={self.n_features}; "
                "pass n_features=None or exact=False"
            )
        if self.kernel is not None:
            if self.init in ("weights", "mm"):
                raise ValueError(
                    f"init={self.init!r} looks at weights of features, of which kernel="
                    f'{self.kernel!r} has none; pass init="all" or "score"'
                )
            if self.exact:
                raise ValueError(
                    f"exact=True is a program in planes, not in surfaces of kernel={self.kernel!r};"
                    " pass exact=False or kernel=None"
                )

    def _find_planes(self, data):
        shares = np.array([1 - self.balance, self.balance])
        nothing = float(shares @ [data.featureless.flat(k).value for k in (0, 1)])
        self.sigma_ = float(self.sigma * (1 if self.sigma_absolute else nothing))
        kind = LinearProblem if self.kernel is None else KernelProblem
        problem = kind(data, self.sigma_, shares)
        search = Search(problem, data.used, self.tol * nothing, int(self.max_iter), self.progress)
        state = self._searched(search)
        self.bound_ = -np.inf
        if self.exact:
            state, self.bound_ = self._proven(search, state)
        if self.n_features is not None:
            state = self._of_size(search, state)
        self.moves_, self.n_iter_ = tuple(search.moves), search.rounds
        result = Result(
            search.status,
            state.value,
            tuple(search.steps),
            duality_gap=problem.gap(state),
            counts={**problem.work, "trial": problem.trials},
        )
        if search.status == "max_iter":
            warn(
                f"not converged in {self.max_iter} rounds: the last one still gained; raise "
                "max_iter or tol",
                ConvergenceWarning,
            )
        return state.mask, refitted(data, state.mask, state.planes, self.refit), result

    # ------------------------------------------------------------ search

    def _searched(self, search):
        state = search.start(self._first_mask(search.problem))
        return search.flips(state) if self.search == "flip" else search.tidied(search.greedy(state))

    def _first_mask(self, problem):
        everything = np.ones(problem.n, dtype=bool)
        if self.init == "all" or not problem.n:
            return everything
        state = problem.solve(everything)
        if self.init == "score":
            return at_least_mean(problem.scores(state))
        sizes = problem.sizes(state)
        if self.init == "weights":
            return at_least_mean(sizes)
        return sizes > 0 if not sizes.any() else self._by_surrogate(problem, state)

    def _by_surrogate(self, problem, state):
        weights = np.concatenate([plane.weights for plane in state.planes])
        sizes = problem.joint_sizes(weights)
        surrogate = Exponential(ALPHA / sizes[sizes > 0].mean())
        with warnings.catch_warnings():
            # where it ends is only a start
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights, _ = majorize_minimize(
                Surrogate(problem, surrogate), weights, self.tol, SURROGATE_STEPS
            )
        return problem.joint_sizes(weights) > 0

    def _proven(self, search, state):
        """The better one of this state and the answer of the mixed-integer program; its bound."""
        mask, bound = mixed_integer(search.problem, state, self.time_limit)
        if mask is not None:
            found = search.problem.solve(mask)
            if found.value < state.value:
                state = search.flips(search.accept(state, found))
        bound = min(bound, state.value)
        gap = state.value / bound - 1 if bound > 0 else np.inf if state.value > 0 else 0.0
        if gap > PROVEN:
            warn(
                f"after {self.time_limit:g} seconds the objective {state.value:.6g} is known to be "
                f"at most {gap:.2%} above the least; raise time_limit",
                ConvergenceWarning,
            )
        return state, float(bound)

    def _of_size(self, search, state):
        size = min(int(self.n_features), search.problem.n)
        state = search.sized(state, size)
        found = int(np.count_nonzero(state.mask))
        if found < self.n_features:
            varying = search.problem.n
            why = f"only {found} vary" if found == varying else "no other gets a weight"
            warn(
                f"n_features={self.n_features}, but {why}; {found} are returned",
                SelectionWarning,
            )
        return state

    def _remedies_of_flat(self):
        return ["a smaller sigma", *super()._remedies_of_flat()]

    def _summary_lines(self):
        proven = "" if np.isinf(self.bound_) else f", proven to be at least {self.bound_:.6g}"
        return [
            f"objective (21), before a refit: {self.objective_:.6g}, of which a feature costs "
            f"{self.sigma_:.4g}{proven}",
            *super()._summary_lines(),
        ]


class Search:
    """Switches of features, each with what it gains; the history of the objective."""

    def __init__(self, problem, features, gain, max_iter, progress):
        self.problem, self.features, self.gain = problem, features, gain
        self.max_iter, self.progress = max_iter, progress
        self.moves, self.steps, self.status, self.rounds = [], [], "converged", 0
        self.began, self.stage = time.perf_counter(), -1

    def start(self, mask):
        """The state of a mask, with which a stage of the history begins."""
        state = self.problem.solve(mask)
        self.stage += 1
        self.record(state, np.inf)
        return state

    def record(self, state, change):
        size, elapsed = int(np.count_nonzero(state.mask)), time.perf_counter() - self.began
        self.steps.append(Step(self.stage, state.value, change, size, elapsed))

    def accept(self, old, new):
        for j in np.flatnonzero(old.mask != new.mask):
            self.moves.append(Move(int(self.features[j]), bool(new.mask[j]), new.value))
        self.record(new, self.problem.change(old, new))
        return new

    def tidied(self, state):
        """Features without a weight switched off all at once."""
        idle = self.problem.idle(state)
        if not idle.any():
            return state
        return self.accept(state, self.problem.state(state.mask & ~idle, state.planes))

    def flips(self, state):
        """Rounds until no single switch gains enough."""
        state = self.tidied(state)
        for turn in range(self.max_iter):
            self.rounds += 1
            before = state
            left, tried = self.problem.order(state), set()
            with tqdm(total=len(left), desc=f"round {turn + 1}", disable=not self.progress) as bar:
                while left:
                    tried.add(left[0])
                    new = self.problem.flipped(state, left.pop(0), self.gain)
                    if new is not None:
                        state = self.tidied(self.accept(state, new))
                        bar.set_postfix(objective=f"{state.value:.6g}", refresh=False)
                        left = [j for j in self.problem.order(state) if j not in tried]
                    bar.update()
            if state is before:
                return state
        self.status = "max_iter"
        return state

    def greedy(self, state):
        """The published search: sweeps for fixed planes, and these solved anew."""
        for _ in range(self.max_iter):
            self.rounds += 1
            mask = self.problem.swept(state, self.gain)
            if np.array_equal(mask, state.mask):
                return state
            new = self.problem.solve(mask)
            gained = state.value - new.value
            if gained > 0:
                state = self.accept(state, new)
            if gained <= self.gain:
                return state
        self.status = "max_iter"
        return state

    def sized(self, state, size):
        """The cheapest features switched off, or those that gain most on, one by one."""
        if np.count_nonzero(state.mask) != size:
            self.stage += 1
        while (count := np.count_nonzero(state.mask)) != size:
            best = None
            for j in self.problem.order(state):
                if state.mask[j] == (count > size):
                    least = -np.inf if best is None else state.value - best.value
                    best = self.problem.flipped(state, j, least) or best
            if best is None or (count < size and self.problem.is_idle(best, ~state.mask)):
                best = self.problem.elsewhere() if count < size else None
                if best is None:
                    return state
            self.stage += 1  # what costs more than it gains begins a stage
            state = self.accept(state, best)
        return state


def mixed_integer(problem, state, time_limit):
    """Mask of the least objective found, and a bound, by branch and bound in HiGHS.

    The weights of a feature that is off are held at zero by ``|w_j| <= M_j z_j``, where no choice
    that is better than the one at hand has a plane with a larger weight than M_j.
    """
    began, n, sigma, shares = time.perf_counter(), problem.n, problem.sigma, problem.shares
    nowhere = problem.solve(np.zeros(n, dtype=bool))
    everything = problem.solve(np.ones(n, dtype=bool))
    least = np.array([plane.bound for plane in everything.planes])
    known = min(state.value, nowhere.value)
    if known * (1 - PROVEN / 2) <= shares @ least:
        return nowhere.mask if known < state.value else None, float(shares @ least)
    # what is left to one plane by the price of a feature and the least value of the other plane
    budgets = (known - sigma - shares[::-1] * least[::-1]) / shares
    if (budgets < least).any():
        return nowhere.mask, known
    parts = [plane_constraints(*problem.problem.parts(k)) for k in (0, 1)]
    rows = []
    for k, (part, budget) in enumerate(zip(parts, budgets, strict=True)):
        blocks = [[None, None, None], [None, None, None]]
        blocks[0][k], blocks[1][k] = part.rows, part.sizes
        blocks[1][2] = -diags_array(largest_weights(part, budget, began + time_limit))
        blocks[0][1 - k] = csr_array((len(part.limits), len(parts[1 - k].costs)))
        rows += blocks
    limits = [np.append(part.limits, np.zeros(n)) for part in parts]
    costs = [share * part.costs for share, part in zip(shares, parts, strict=True)]
    lower = np.concatenate([*(part.lower for part in parts), np.zeros(n)])
    upper = np.concatenate([np.full(len(lower) - n, np.inf), np.ones(n)])
    # in units of the objective at hand, since some tolerances of the solver are absolute
    found = milp(
        np.concatenate([*costs, np.full(n, sigma)]) / known,
        integrality=np.repeat([0, 1], [len(lower) - n, n]),
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(block_array(rows, format="csc"), ub=np.concatenate(limits)),
        options={
            "time_limit": max(SHORTEST, began + time_limit - time.perf_counter()),
            "mip_rel_gap": PROVEN / 2,
        },
    )
    bound = found.get("mip_dual_bound")
    bound = -np.inf if bound is None else float(bound) * known
    return None if found.x is None else found.x[-n:] > 0.5, max(bound, float(shares @ least))


class Constraints(NamedTuple):
    """The program of one plane; `sizes` of its variables are those of the weights."""

    rows: csr_array
    limits: np.ndarray
    costs: np.ndarray
    lower: np.ndarray
    sizes: csr_array


def plane_constraints(near, far, fit, hinge):
    """The program of one plane.

    Variables are the parts of the weights above and below zero, the offset, distances and losses.
    """
    (m1, n), m2 = near.shape, len(far)
    one, ones = eye_array(n), [np.ones((m, 1)) for m in (m1, m2)]
    rows = [
        [near, -near, ones[0], -eye_array(m1), None],
        [-near, near, -ones[0], -eye_array(m1), None],
        [far, -far, ones[1], None, -eye_array(m2)],
    ]
    return Constraints(
        block_array(rows, format="csr"),
        np.concatenate([np.zeros(2 * m1), -np.ones(m2)]),
        np.concatenate([np.ones(2 * n), [0], fit, hinge]),
        np.concatenate([np.zeros(2 * n), [-np.inf], np.zeros(m1 + m2)]),
        hstack([one, one, csr_array((n, 1 + m1 + m2))]),
    )


def largest_weights(part, budget, end):
    """Of each feature the largest weight in planes worth no more than the budget.

    The budget itself, which the norm alone must not exceed, where there is no time left.
    """
    n = part.sizes.shape[0]
    rows = vstack([part.rows, csr_array(part.costs[None] / budget)], format="csc")
    limits = np.append(part.limits, 1 + PROVEN)
    found = np.full(n, budget)
    for j in range(n):
        sizes = []
        for gains in np.array([[-1.0, 1.0], [1.0, -1.0]]):
            if time.perf_counter() > end:
                return found
            costs = np.zeros(len(part.costs))
            costs[[j, n + j]] = gains
            least = linprog(
                costs,
                rows,
                limits,
                bounds=np.column_stack([part.lower, np.full(len(costs), np.inf)]),
            )
            sizes.append(-least.fun if least.status == 0 else budget)
        found[j] = min(budget, WIDER * max(sizes))
    return found


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

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Two labels of one kind.
    by : {"drop", "weights", "score", "reversed"}, default="drop"
        "drop" is what the losses of both planes rise by if the feature is left out and the planes
        stay as they are, for features on `support`, and minus what they rise by if it is added, for
        others. "weights", for planes without a kernel, is the size of the weights in both. "score"
        is published, (23) of Bai et al. (2014): the part of a feature in the losses that planes
        with this feature alone would have. A large score means large losses; "reversed" is one
        minus the score.
    support : array-like of bool, optional
        Features of which the planes are made, a mask; by default all.
    c_fit, c_hinge, balance, kernel, gamma, scale
        As in `FTSVM`.

    Returns
    -------
    Ranking
        ``scores``, minus infinity for features that do not vary, and ``order``, of all features.
        With the scores first it suits `SelectKBest` of scikit-learn.

    Notes
    -----
    One twin machine, and then O(m) a feature for m rows, or O(m s) with a kernel, for s points of
    which the surfaces are made.

    Examples
    --------
    >>> from fsnotes import load, rank_features
    >>> X, y = load("wdbc", return_X_y=True)
    >>> rank_features(X, y).order[:3].tolist()
    [23, 20, 6]
    """
    check_one_of("by", by, RANKINGS)
    check_share("balance", balance)
    if by == "weights" and kernel is not None:
        raise ValueError(
            f'by="weights" needs weights, which kernel={kernel!r} has not; pass "drop"'
        )
    machine = L1TwinSVM(c_fit=c_fit, c_hinge=c_hinge, kernel=kernel, gamma=gamma, scale=scale)
    machine._check_parameters()
    data = machine._twin_data(machine._check_data(X, y, None))
    mask = np.ones(machine.n_features_in_, dtype=bool)
    if support is not None:
        mask = np.asarray(support)
        if mask.dtype != bool or mask.shape != (machine.n_features_in_,):
            raise ValueError(
                f"support has type {mask.dtype} and shape {mask.shape}; pass one bool for each of "
                f"{machine.n_features_in_} features"
            )
    kind = LinearProblem if kernel is None else KernelProblem
    problem = kind(data, 0.0, np.array([1 - balance, balance]))
    state = problem.solve(mask[data.used])
    if by == "drop":
        found = problem.after_switching(state) - problem.loss_now(state)
        found = np.where(state.mask, found, -found)
    elif by == "weights":
        found = problem.sizes(state)
    else:
        found = problem.scores(state)
        found = found if by == "score" else 1 - found
    scores = np.full(machine.n_features_in_, -np.inf)
    scores[data.used] = found
    if len(data.used) > 1 and np.ptp(found) == 0:
        warn(
            "all scores are equal, so that the order is that of the columns; where both planes are "
            "flat, pass a larger c_fit and c_hinge",
            SelectionWarning,
        )
    return Ranking(scores, np.argsort(-scores, kind="stable"))


def at_least_mean(values):
    """Which are no less than their mean but for rounding."""
    return values >= (1 - EQUAL) * values.mean()


def check_share(name, value):
    """Raise unless `value` lies between 0 and 1."""
    check_real(name, value, 0, open_at=0, most=1)
    if value == 1:
        raise ValueError(f"{name}=1; pass a number above 0 and below 1")
