"""Hierarchical Bayes EM: the zero-norm support vector machine by reweighted ridge penalties.

`ZeroNorm` is the step of the paper, (7)-(9); `ZeroNormSVM` takes it, and refits what it has met.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import linprog

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.mm import Result
from fsnotes.core.promises import Solved
from fsnotes.core.reweighting import (
    HALVES,
    Reweighted,
    Run,
    SoftMargins,
    descending,
    heaviest,
    logarithms,
    warn_of_number,
)
from fsnotes.core.tolerances import VERIFIED_GAP
from fsnotes.core.validation import (
    MOST_STEPS,
    check_bool,
    check_count,
    check_one_of,
    check_real,
    is_real,
    plain,
)
from fsnotes.em.refit import SupportSearch
from fsnotes.errors import SubproblemError
from fsnotes.solvers.hinge import LARGEST_C, LESS, HingeData, balance

__all__ = ["ZeroNorm", "ZeroNormSVM", "descend", "stages_of"]

BELOW = (1 / 2, 1 / 4)  # times C, where the search for a support goes on
SEARCH = (16, 8, 4, 2, *BELOW)  # times C, where runs that begin with equal penalties search


class ZeroNorm(Reweighted):
    """What the steps descend, ``C * hinge losses + (2 / p) sum |w_i|**p``, and their tangents.

    With ``p = 0`` the penalty is ``2 sum log |w_i|``. The steps are (7)-(9) of the paper.

    - Update (9): ``Lambda = diag(1 / |w_i|**(2 - p))``, from the last weights, which is (5) for
      ``p = 0`` and Proposition 3 for any p. The method `tangent` returns ``Lambda**(-1/2)``, so
      that nothing is divided by zero.
    - Step (7): minimise ``C sum_i xi_i + w' Lambda w`` over w and b, under (8), the definition of
      the hinge losses xi. With ``w = Lambda**(-1/2) u`` it is the usual support vector machine,
      ``C sum_i xi_i + u'u``, on columns multiplied by `tangent`; `minimize` solves it.

    Since the logarithm, and any power p < 2, is concave as a function of the square, ``w' Lambda
    w`` lies above the penalty, up to a constant, and touches it at the last weights.
    """

    def __init__(self, data, solver, C, floor, least=0, *, p=0.0):
        super().__init__(data, solver, C, floor, least)
        self.p = p

    def penalties(self, weights):
        """Return the penalty of each weight."""
        if self.p > 0:
            return 2 / self.p * abs(weights) ** self.p
        return 2 * logarithms(weights, self.floor)

    def tangent(self, weights):
        """Return ``Lambda**(-1/2)`` of update (9)."""
        return abs(weights) ** (1 - self.p / 2)


class ZeroNormSVM(SparseClassifier):
    """Few features by reweighting: the number of features plus C times the sum of hinge losses.

    Each step is a support vector machine with the penalty ``sum w_i**2 / w_old_i**2``. What the
    steps provably descend is not the number of features but ``C * hinge losses + 2 sum log |w_i|``.
    Where they end depends on where they start. With `refit`, the supports that they pass are
    compared by what is really wanted.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the sum over rows of the hinge losses ``max(0, 1 - margin)``, in features; at most
        1e6. Where it is too small for any feature to pay, none is selected, with a warning.
    p : float, default=0.0
        From 0 to 2, or infinite: the penalty is ``(2 / p) sum |w_i|**p``, of which ``2 sum log
        |w_i|`` is the limit up to a constant. At 2 it is one support vector machine and at
        infinity one linear program with the penalty ``max |w_i|``; neither drops a feature, unless
        the refit does.
    n_features : int, optional
        Select exactly so many: the heaviest where the steps end, which they do before fewer are
        left. With `refit`, so are the heaviest of each machine on the way; of the set of least loss
        each feature is exchanged for another as long as this lowers the loss, and of several sets
        that are as good that of the widest margin is returned. Where no machine on the way has so
        many, or the refit has no weight for some, there are fewer, and a warning says why.
    start : {"large_C", "identity"}, default="large_C"
        Begin at 1024 C, where many features pay, and lower it in stages, with `n_features` until
        few enough are left; or begin at C, with equal penalties, as published, which may end
        with none. Where p is 1 or more, so that the problem is convex, both begin at C.
    refit : bool, default=True
        Return the machine of least ``number of features + C * hinge losses`` among the one
        without features and those of the supports met at 16 C, 8 C, 4 C, 2 C, C and below, each
        without a penalty on its weights; of the best, features are dropped one by one while this
        pays. Otherwise return the point at which the steps end.
    tol : float, default=1e-06
        A stage ends when no weight changes by more than this part of the largest.
    max_iter : int, default=100
        Most steps of a stage, up to 1e6.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. With ``p=0`` the
        first machine and the floor alone depend on units, otherwise all do.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        Of several that are as good, the middle one.
    objective_ : float
        Number of features plus C times the sum of hinge losses, of the machine returned.
    n_iter_ : int
        Machines on the way to the end, the first one included.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of what the steps descend, which rises by rounding alone
        within a stage. With ``p=0`` a weight below a floor, 1e-6 of the largest of the first
        machine, counts as the floor; with any p it is zero for good.

    Raises
    ------
    SubproblemError
        If the first machine or the refit cannot be verified. A later step that is not is not
        taken, with a warning.

    Notes
    -----
    Each step solves a quadratic program of N rows and the k features that are left: O(N^2 k + N^3)
    or, if rows are more than features, O(N k^2) for each of its own steps, beside O(N n) for
    units. Equal rows are one row, of the sum of their weights. The search takes ten stages, or
    seven runs, and a linear program of N variables for each support that is small enough to pay;
    then k of them for each of the k features of the best that is dropped, or, with `n_features`,
    about 5 k for each that is exchanged. Of several machines of the support with the same loss, as
    where rows can be separated, the refit returns that of the widest margin.

    Where weights have settled, each that is left meets ``w_j sum_i a_i y_i x_ij = 2``, with the
    multipliers a from 0 to C: leaving any k of them out would cost at least 2 k in hinge losses,
    twice what the number of features asks for.

    References
    ----------
    K. Huang, I. King and M. R. Lyu, Direct zero-norm optimization for feature selection,
    Proceedings of the 8th IEEE International Conference on Data Mining, 2008.

    J. Weston, A. Elisseeff, B. Schoelkopf and M. Tipping, Use of the zero norm with linear models
    and kernel methods, Journal of Machine Learning Research 3, 1439-1461, 2003.

    Examples
    --------
    >>> from fsnotes import ZeroNormSVM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [ZeroNormSVM(C=C).fit(X, y).n_selected_ for C in (0.1, 0.3)]
    [3, 7]
    """

    def __init__(
        self,
        *,
        C=1.0,
        p=0.0,
        n_features=None,
        start="large_C",
        refit=True,
        tol=1e-6,
        max_iter=100,
        scale=True,
    ):
        self.C = C
        self.p = p
        self.n_features = n_features
        self.start = start
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        if not (is_real(self.p) and plain(self.p) == np.inf):
            check_real("p", self.p, 0, most=2)
        check_count("n_features", self.n_features, optional=True)
        check_one_of("start", self.start, ("large_C", "identity"))
        check_bool("refit", self.refit)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        data = HingeData(features.apply(samples.X), samples.signs, samples.sample_weight)
        main, runs = self._runs(data)
        self.n_iter_ = main.end
        search = SupportSearch(data, self.C)
        scaled = self._select(data, search, main, runs)
        self._set_planes(features, [scaled], [data.offset(scaled)])
        every = np.arange(self.n_features_in_)
        self._solved_ = Solved(every, self.coef_ * self.scale_, self.intercept_)
        self.objective_ = search.candidate(scaled).objective
        for run in runs:
            search.counts.update(run.solver.counts)
        gap = max(main.result.step_gap or 0.0, search.gap)
        self.result_ = replace(main.result, step_gap=gap, counts=dict(search.counts))

    def _definition(self, planes):
        return np.array([np.count_nonzero(planes.weights), self.C * planes.hinge()])

    def _new_run(self, data):
        return Run(data, SoftMargins(data), partial(ZeroNorm, p=self.p), self._least(data))

    def _least(self, data):
        return 0 if self.n_features is None else min(int(self.n_features), data.n_features)

    def _runs(self, data):
        """Return the run that ends at C, and all whose supports are compared."""
        main = self._new_run(data)
        runs = [main]
        if not data.n_features:
            main.finish(Result.solved(self.C * data.hinge_of_nothing()))
        elif self.p == np.inf:
            weights, objective, gap = flattest(data, self.C)
            main.visited.append((self.C, weights))
            main.finish(Result.solved(objective, duality_gap=gap))
        if main.result is not None:
            return main, runs
        Cs = stages_of(self)
        if self.start == "large_C" and self.n_features:
            Cs += [self.C / 2**k for k in range(1, HALVES + 1)]
        descend(self, main, Cs)
        main.warn_of_end(self.tol, self.max_iter)
        # Squares drop no weight at any C, so that there is one support.
        if not self.refit or self.p == 2:
            return main, runs
        if self.start == "identity" or self.p >= 1:
            for m in SEARCH:
                runs.append(self._new_run(data))
                descend(self, runs[-1], [m * self.C])
        elif self.n_features is None:
            main.explore([m * self.C for m in BELOW], self.tol, self.max_iter)
        return main, runs

    def _select(self, data, search, main, runs):
        """Return the weights that are wanted, in the units of the data, with warnings."""
        weights = main.visited[main.end - 1][1] if main.end else np.zeros(data.n_features)
        before = 0
        none = "the weights have gone to zero"
        if self.n_features is not None:
            weights = heaviest(weights, self._least(data))
            before = np.count_nonzero(weights)
            if self.refit:
                weights = search.best_of_size(self._least(data), runs)
        elif self.refit:
            best, pays_from, size = search.best_met(runs)
            weights = best.weights
            none = "none of the supports met on the way pays"
            if pays_from < np.inf:
                none += f"; the best, of {size} features, does from C={pays_from:.4g}"
        refit = [] if self.refit else ["refit=True"]
        start = ['start="large_C"'] if self.start == "identity" else []
        power = ["p=0"] if self.p >= 1 else []
        remedies = {"if_none": start + refit, "if_all": power + refit}
        found = np.count_nonzero(weights)
        fewer = f"only {found} have a weight in the machines on the way"
        warn_of_number(self, data, before, found, fewer=fewer, none=none, **remedies)
        return weights

    def _summary_lines(self):
        return [f"features + C (sum of hinge losses): {self.objective_:.6g} at C={self.C:g}"]


def stages_of(machine):
    """Return the C of each stage of a machine of the steps."""
    # A power of 1 or more is convex: stages would only drop weights that are wanted again.
    staged = machine.start == "large_C" and machine.p < 1
    return descending(machine.C) if staged else [machine.C]


def descend(machine, run, Cs):
    """Take the steps of a machine at these C; squares need none but the first solution."""
    Cs = run.begin(Cs)
    if machine.p == 2:
        last = run.solver.last
        run.finish(Result.solved(last.objective, duality_gap=float(last.duality_gap)))
    else:
        run.descend(Cs, machine.tol, machine.max_iter)


def flattest(data, C):
    """Return weights of least ``max |w_i| + C * hinge losses``, the value and its duality gap."""
    N, n = data.Z.shape
    signed = data.Z * data.signs[:, None]
    # Weights are t - d with d from 0 to 2 t, so that half of their bounds are the variables'.
    costs = np.concatenate([np.zeros(n), [1, 0], C * data.sample_weight])
    margins = np.hstack([signed, -signed.sum(axis=1)[:, None], -data.signs[:, None], -np.eye(N)])
    widths = np.hstack([np.eye(n), np.full((n, 1), -2.0), np.zeros((n, N + 1))])
    limits = np.append(-np.ones(N), np.zeros(n))
    bounds = [(0, None)] * (n + 1) + [(None, None)] + [(0, None)] * N
    found = linprog(costs, np.vstack([margins, widths]), limits, bounds=bounds, method="highs")
    if found.x is None:
        raise SubproblemError(f"the linear program was not solved; pass {LESS}")
    weights = found.x[n] - found.x[:n]
    objective = abs(weights).max() + C * data.least_hinge(weights)
    multipliers = np.clip(-found.ineqlin.marginals[:N], 0, C * data.sample_weight)
    multipliers = balance(multipliers, data.signs)
    bound = multipliers.sum() / max(1.0, abs(multipliers @ signed).sum())
    gap = max(0.0, float(1 - bound / objective))
    if gap > VERIFIED_GAP:
        raise SubproblemError(
            f"the linear program was not solved: duality gap {gap:.1e}, more than "
            f"{VERIFIED_GAP:g}; pass {LESS}"
        )
    return weights, float(objective), gap
