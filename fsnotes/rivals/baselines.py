"""What the papers compare with."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fsnotes.core.bounds import HELD, delta, kappa, minimax
from fsnotes.core.checks import check_bool, check_bound, check_count, check_real
from fsnotes.core.estimator import MomentClassifier, feasible_bound, solved
from fsnotes.core.reweighting import (
    FLOOR,
    HALVES,
    NOTHING_GAINS,
    REFIT_OFF,
    Reweighted,
    Rows,
    Run,
    beyond_rounding,
    heaviest,
)
from fsnotes.core.rows import RowClassifier, merged
from fsnotes.core.surrogates import Exponential
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.solvers.hinge import LARGEST_C, DualModel, HingeProgram, WeightedProgram, best_offset

__all__ = ["AROM", "FSV", "GreedyMPM", "L1SVM", "SVMRanking"]

REFIT_STEPS = 10**6
LARGE = 10**6  # rows times features, from which on an interior point is faster
LEAST_COST = 1e-7  # of a weight, as a part of what it costs at 0


class InteriorProgram(HingeProgram):
    """The same, solved by an interior point and then brought to a vertex; for large programs."""

    def _solved(self, C):
        prices = C * self.shares
        size = min(1.0, prices.max())
        model = DualModel(prices / size)
        model.add(self.signs[None], np.zeros(1))
        model.add(self.rows / self.costs[:, None], np.full(len(self.costs), 1 / size))
        model.highs.setOptionValue("solver", "ipm")
        status = model.run()
        multipliers = model.columns() * size
        self.counts["linear program"] += 1
        self.counts["pivot"] += model.pivots
        weights = -model.duals()[1:] / self.costs
        bound = max(self._bound(tried, prices) for tried in (multipliers, prices))
        return weights, bound, status


class L1SVM(RowClassifier):
    """Few features by a linear program: minimise ``|w|_1 + C`` times the mean hinge loss.

    Problem (2) of Xu, King and Lyu (2007), which it compares with. The offset has no price. Of
    more than two classes, each has a program of its own against all others, with the same C, and
    the features are those of any. Peng and Fan (2016) compare with it on many classes, too, and do
    not say how they are taken; this is the usual way.

    Parameters
    ----------
    C : float, default=10.0
        Price of the mean over all rows of the hinge losses ``max(0, 1 - margin)``; above 0 and at
        most 1e6. Where it is too small for any feature to pay, the machine has none, says the
        heavier class everywhere, and a warning names the C at which the first feature enters. Of
        many classes, those that have none are named.
    n_features : int, optional
        Select so many at most: those whose weights, in the units that `scale` sets, are largest,
        by their Euclidean norm over the classes. No more than have a weight at this C.
    refit : bool, default=True
        Return the soft-margin support vector machine of the features selected, which minimises
        ``|w|_2^2 / 2 + C`` times the mean hinge loss, with the same C and in the same units, for
        each class against the others if there are many; otherwise the solution of the linear
        program itself.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The norm is not
        scale free: without it, columns of large numbers are selected first.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features), or (n_classes, n_features) for more than two
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,), or (n_classes,)
        Of several that are as good, for the solution itself, the middle one.
    objective_ : float
        ``|w|_1 + C`` times the mean hinge loss, in the units that `scale` sets, before features
        are chosen by number and before the refit. Of many classes the sum.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.duality_gap`` is the largest of all programs.

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

    Classes of many are solved one after the other, and where N n is more than 10^6, by an interior
    point, O(N n min(N, n)) a step, whose end is moved to a vertex. Of the 26 classes of isolet, the
    ones that are hard to tell from the rest take the simplex method many minutes each, and this
    one some seconds.

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

    many_classes = True

    def __init__(self, *, C=10.0, n_features=None, refit=True, scale=True):
        self.C = C
        self.n_features = n_features
        self.refit = refit
        self.scale = scale

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit(self, X, of_class, weights):
        X, of_class, weights = merged(X, of_class, weights)
        used, unit, center = self._prepared(X, of_class, weights)
        costs = np.ones(len(used)) if self.scale else 1 / unit
        Z = (X[:, used] - center[used]) / unit
        two = len(self.classes_) == 2
        kind = InteriorProgram if not two and Z.size > LARGE else HingeProgram
        shares = weights / weights.sum()

        def program(place):  # made anew, since each holds a copy of the rows
            return kind(Z, np.where(of_class == place, 1.0, -1.0), shares, costs)

        places = [1] if two else list(range(len(self.classes_)))
        scaled, offsets = np.zeros((len(places), len(used))), np.zeros(len(places))
        counts, gaps, objectives = {}, [], []
        for k, place in enumerate(places):
            one = program(place)
            solution = one.solve(self.C)
            scaled[k], offsets[k] = solution.weights, solution.offset
            gaps.append(solution.duality_gap)
            objectives.append(solution.objective)
            counts = {name: counts.get(name, 0) + count for name, count in one.counts.items()}
        idle = [place for place, row in zip(places, scaled, strict=True) if not row.any()]
        chosen = np.flatnonzero(scaled.any(axis=0))
        if self.n_features is not None:
            chosen = self._heaviest(scaled * costs, chosen)
        for k, place in enumerate(places):
            if self.refit and len(chosen):
                one = program(place)
                scaled[k] = 0
                scaled[k, chosen], offsets[k] = self._refitted(one, chosen)
            elif np.count_nonzero(scaled[k]) > np.count_nonzero(scaled[k, chosen]):
                kept = np.zeros(len(used))
                kept[chosen] = scaled[k, chosen]
                signs = np.where(of_class == place, 1.0, -1.0)
                scaled[k], offsets[k] = kept, best_offset(signs - Z @ kept, signs, shares)
        if len(used) and idle:
            self._warn_of_price(program, idle, len(chosen))
        self.coef_ = np.zeros((len(places), self.n_features_in_))
        self.coef_[:, used] = scaled / unit
        self.intercept_ = np.array(
            [offset - coef @ center for offset, coef in zip(offsets, self.coef_, strict=True)]
        )
        self.objective_ = float(sum(objectives))
        self.result_ = solved(self.objective_, duality_gap=max(gaps), counts=counts)
        return self

    def _heaviest(self, sizes, chosen):
        """So many of those chosen as are asked for."""
        if 0 < len(chosen) < self.n_features:
            warnings.warn(
                f"n_features={self.n_features}, but only {len(chosen)} have a weight at "
                f"C={self.C:g}; {len(chosen)} are returned",
                SelectionWarning,
                stacklevel=4,
            )
        norms = np.linalg.norm(sizes, axis=0)[chosen]
        return np.sort(chosen[np.argsort(-norms, kind="stable")[: int(self.n_features)]])

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

    def _warn_of_price(self, program, idle, others):
        """Of classes without a feature; where all are, of the C at which the first one enters."""
        if others:
            names = ", ".join(repr(self.classes_.tolist()[place]) for place in idle[:5])
            warnings.warn(
                f"C={self.C:g} is too small to select a feature for class {names}"
                f"{', ...' * (len(idle) > 5)}; the features are those of the others",
                SelectionWarning,
                stacklevel=4,
            )
            return
        entry, failed, most = None, False, 0.0
        for place in idle:
            one = program(place)
            most = max(most, min(LARGEST_C, 1e4 * max(self.C, one.too_small())))
            try:
                entry = one.entry(most if entry is None else entry) or entry
            except SubproblemError:
                failed = True
        known = (
            f"none up to C={most:g}" if entry is None else f"the first one enters at C={entry:.6g}"
        )
        if failed:
            known = "the C at which the first one enters was not found"
        warnings.warn(
            f"C={self.C:g} is too small to select a feature; {known}",
            SelectionWarning,
            stacklevel=4,
        )

    def _promises(self):
        return [
            f"|w|_1 + C (mean hinge loss) before the refit: {self.objective_:.6g} at C={self.C:g}",
            "no promise for new data",
        ]


class HingeSelector(RowClassifier):
    """Features by the weights in which some steps end, and a soft-margin machine of them.

    A subclass has the parameters ``C``, ``n_features`` and ``refit`` and a method ``_end(rows)``
    that returns weights in the units of selection and sets ``objective_`` and ``result_``.
    """

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit(self, X, positive, weights):
        X, positive, weights = merged(X, positive, weights)
        used, _, center = self._prepared(X, positive, weights)
        center = center[used]
        rows = Rows.measured(X, positive, weights, used, center, self.scale_[used])
        end = self._end(rows, used)
        scaled = heaviest(end, self._size(rows))
        before = np.count_nonzero(scaled)
        if self.refit and before:
            margin = rows.machine.solve((scaled != 0).astype(float), self.C)
            scaled = beyond_rounding(margin, rows)
            gap = max(self.result_.duality_gap, float(margin.duality_gap))
            self.result_ = replace(self.result_, duality_gap=gap)
        self._warn_of_number(rows, before, np.count_nonzero(scaled))
        self.coef_ = np.zeros((1, self.n_features_in_))
        self.coef_[0, used] = scaled / self.scale_[used]
        self.intercept_ = np.array([rows.offset(scaled) - self.coef_[0, used] @ center])
        return self

    def _remedies(self):
        """What to pass where C is too small."""
        return ["a larger C"] if self.C < LARGEST_C else []

    def _size(self, rows):
        """The most features that may be selected."""
        return rows.n_features if self.n_features is None else int(self.n_features)

    _raised_to = None  # the largest C tried, where it is raised until features are enough

    def _warn_of_number(self, rows, before, found):
        """Where nothing is selected, nothing is dropped, or fewer are found than asked for."""
        count = rows.n_features
        refitted = f"the refit has a weight for {found} of them, and {REFIT_OFF} for {before}"
        if self.n_features is not None and found < self.n_features:
            if self.n_features > count == found:
                why = f"only {count} vary"
            elif rows.tell_nothing():
                why = NOTHING_GAINS
            elif found < before:
                why = refitted
            elif self._raised_to is None:
                why = f"only {found} have a weight in the machines on the way"
            else:
                why = f"only {found} have a weight at any C tried, up to {self._raised_to:.4g}"
            words = f"n_features={self.n_features}, but {why}; {found} are returned"
        elif self.n_features is None and count and not found:
            if rows.tell_nothing():
                words = f"no feature is selected: {NOTHING_GAINS}"
            elif before:
                words = f"no feature is selected: {refitted}"
            else:
                remedies = ", ".join(self._remedies())
                words = (
                    f"C={self.C:g} is too small to select a feature: the weights have gone to "
                    f"zero; pass {remedies + ' or ' if remedies else ''}n_features="
                )
        elif self.n_features is None and found == count > 1:
            words = (
                f"none of {count} features is dropped at C={self.C:g}; pass a smaller C or "
                "n_features= if fewer are wanted"
            )
        else:
            return
        warnings.warn(words, SelectionWarning, stacklevel=4)


class SteppingSelector(HingeSelector):
    """One that takes steps; a subclass has ``_steps(rows, least)`` and ``_penalty(run, sizes)``."""

    def _check_parameters(self):
        super()._check_parameters()
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)

    def _end(self, rows, used):
        nothing = self.C * rows.hinge_of_nothing()
        if not len(used):
            self.n_iter_, self.objective_, self.result_ = 0, nothing, solved(nothing)
            return np.zeros(0)
        least = 0 if self.n_features is None else min(self._size(rows), len(used))
        run = self._steps(rows, least)
        prices = [self.C / 2**k for k in range(HALVES + 1)] if least else [self.C]
        run.result = run.go_on(run.begin(prices), self.tol, self.max_iter)
        run.warn_of_end(self.tol, self.max_iter, stacklevel=4)
        end = run.visited[-1][1]
        self._raised_to = run.raised_to
        self.n_iter_ = len(run.visited)
        self.result_ = replace(run.result, counts={k: int(v) for k, v in run.counts.items()})
        self.objective_ = float(self._penalty(run, end) + self.C * rows.least_hinge(end))
        return end


class Steps(Run):
    """As `Run`, but the price is lowered only until few enough features are left."""

    raised_to = None

    def over(self):
        return self.ended or np.count_nonzero(self.visited[-1][1]) <= self.least


class LinearSteps(Steps):
    """Machines of which the l1 norm is weighted, each by the weights of the last.

    Parameters
    ----------
    rows : Rows
    least : int
        A step that leaves fewer features ends the run.
    kind : type
        Of the problem to descend, derived from `Linearized`.
    alpha : float
        Of the penalty, if it has one; no weight costs more than that, or 1, in the first machine.
    """

    def __init__(self, rows, least, kind, alpha=1.0):
        super().__init__(rows, 0.0, least)
        self.kind, self.alpha = kind, alpha
        self.program = WeightedProgram(rows)
        self.counts = self.program.counts
        self.rest = 0.0  # of the penalty, what its tangent adds to the weighted norm

    def problem(self, C):
        return self.kind(self, C)

    def begin(self, prices):
        """Solve for equal costs, at the least of C, 2 C, 4 C, ... that has enough features."""
        C, sizes = prices[0], np.full(self.rows.n_features, 1 / min(1.0, self.alpha))
        weights = self.solve(sizes, C)
        while np.count_nonzero(weights) < self.least and 2 * C <= LARGEST_C:
            self.raised_to = max(2 * C, self.program.too_small(1 / sizes))
            try:
                weights = self.solve(sizes, self.raised_to)
            except SubproblemError:
                break
            C = self.raised_to
        self.floor = FLOOR * abs(weights).max()
        self.visited.append((C, self.floored(weights)))
        # what is left has to do if it is too little
        self.ended = np.count_nonzero(weights) < self.least
        raised = C / prices[0]
        return [raised * price for price in prices]

    def solve(self, sizes, C):
        self.margin = self.program.solve(sizes, C, self.rest)
        self.largest_gap = max(self.largest_gap, self.margin.duality_gap)
        return self.margin.weights


class Linearized(Reweighted):
    """``C * hinge losses + sum log |w|``, by weighted l1 norms; below the floor, as the floor."""

    def penalties(self, weights):
        return super().penalties(weights) / 2

    def dropped(self, sizes, value):
        """The next weights, or the last ones where these gain no more than rounding."""
        last, rounding = self.measured[0], self.measured[2]
        new = super().dropped(sizes, value)
        return new if self.measure(new)[0] < value - rounding else last


class LinearizedExponential(Linearized):
    """``C * hinge losses + sum (1 - exp(-alpha |w|))``, with a slope no less than a least one."""

    def __init__(self, run, C):
        super().__init__(run, C)
        self.surrogate = Exponential(run.alpha)
        self.slope = LEAST_COST * run.alpha
        self.edge = -np.log(LEAST_COST) / run.alpha

    def penalties(self, weights):
        sizes = abs(weights)
        beyond = np.maximum(sizes - self.edge, 0)
        return self.surrogate.value(sizes - beyond) + self.slope * beyond

    def tangent(self, weights):
        """One over the costs of the weights."""
        costs = np.maximum(self.surrogate.slope(abs(weights)), self.slope)
        self.run.rest = float(self.penalties(weights).sum() - costs @ abs(weights))
        return 1 / costs


class FSV(SteppingSelector):
    """Few features by a concave penalty: ``sum (1 - exp(-alpha |w_i|)) + C`` times hinge losses.

    The method of Bradley and Mangasarian (1998), by a sequence of linear programs: each prices
    the weights by the slope of the penalty at the last ones, ``alpha exp(-alpha |w_i|)``, so that
    its objective lies above the penalty and touches it. Huang, King and Lyu (2008), who compare
    with it, print ``1 - exp{1 - alpha |w_i|}``, which is negative at 0.

    Parameters
    ----------
    C : float, default=0.1
        Price of the sum over rows of the hinge losses ``max(0, 1 - margin)``, in features; above
        0 and at most 1e6. Where it is too small for any feature to pay, the machine has none,
        says the heavier class everywhere, and a warning says what to change.
    alpha : float, default=5.0
        Towards infinity the penalty becomes the number of features; towards 0, over alpha, the l1
        norm.
    n_features : int, optional
        Select exactly so many: C is raised until the first program has enough, the steps end
        before fewer are left, C is lowered by halves while more are, and of those left the
        heaviest are taken.
    refit : bool, default=True
        Return the soft-margin machine of the features selected, which minimises ``|w|_2^2 + C``
        times the sum of hinge losses; otherwise the point at which the steps end.
    tol : float, default=1e-06
        Steps end when no weight changes by more than this part of the largest.
    max_iter : int, default=100
        Most steps, for each C.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The penalty is
        not scale free.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        Of several that are as good, the middle one.
    objective_ : float
        ``sum (1 - exp(-alpha |w_i|)) + C`` times the sum of hinge losses where the steps end,
        before the refit.
    n_iter_ : int
        Linear programs on the way, of those at the first C the last one alone.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, in which no slope is less than ``1e-7
        alpha``. It never rises at one C.

    Raises
    ------
    SubproblemError
        If the first program or the refit cannot be verified. A later step that is not is not
        taken, with a warning.

    Notes
    -----
    Published is a random start. Here the first machine is that of the l1 norm, in which each
    weight costs 1, or alpha if that is less, as it would from weights of equal size: the same data
    give the same machine. From weights of zero they would cost alpha, and since zero is where the
    steps end once they reach it, often nothing would be selected. Every program has the same
    constraints, and its solution is one of their vertices. Since these are finitely many and each
    step goes to a better one, the steps come to an end; where it is depends on the start.

    A slope that rounds to 0 would leave a weight without a price: then no solution is best where
    longer weights separate more rows, and the solver takes the program for unbounded. So no
    weight costs less than ``1e-7 alpha``.

    Each step solves the dual program of N rows, as `L1SVM`: O(N n) for each hundred of n features
    that join, and O(N k) a pivot with k features in the program.

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, Feature selection via concave minimization and support
    vector machines, Proceedings of the 15th International Conference on Machine Learning, 82-90,
    1998.

    K. Huang, I. King and M. R. Lyu, Direct zero-norm optimization for feature selection,
    Proceedings of the 8th IEEE International Conference on Data Mining, 2008.

    Examples
    --------
    >>> from fsnotes import FSV, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [FSV(C=C).fit(X, y).n_selected_ for C in (0.1, 0.3)]
    [3, 7]
    """

    def __init__(
        self,
        *,
        C=0.1,
        alpha=5.0,
        n_features=None,
        refit=True,
        tol=1e-6,
        max_iter=100,
        scale=True,
    ):
        self.C = C
        self.alpha = alpha
        self.n_features = n_features
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, open_at=0)

    def _steps(self, rows, least):
        return LinearSteps(rows, least, LinearizedExponential, float(self.alpha))

    def _remedies(self):
        return [*super()._remedies(), "a smaller alpha"]

    def _penalty(self, run, weights):
        return Exponential(run.alpha).value(abs(weights)).sum()

    def _promises(self):
        return [
            "sum of 1 - exp(-alpha |w|), plus C (sum of hinge losses), before the refit: "
            f"{self.objective_:.6g} at C={self.C:g}",
            "no promise for new data",
        ]


class AROM(SteppingSelector):
    """Few features by multiplying columns with their weights, again and again.

    The approximation of the zero-norm minimisation of Weston, Elisseeff, Schoelkopf and Tipping
    (2003): a machine of least ``|u|_2^2 + C`` times hinge losses, or ``|u|_1``, on columns times
    the weights that the last machine gave them. What the steps provably descend is
    ``norm * sum log |w_i| + C`` times hinge losses, of the weights w of the columns themselves.
    With ``norm=2`` the steps are those of `ZeroNormSVM` from equal penalties.

    Parameters
    ----------
    norm : {2, 1}, default=2
        Each step is a quadratic program, or a linear one.
    C : float, default=1.0
        Price of the sum over rows of the hinge losses ``max(0, 1 - margin)``; above 0 and at most
        1e6. Where it is too small the machine has no feature, says the heavier class everywhere,
        and a warning says what to change.
    n_features : int, optional
        Select exactly so many: the steps end before fewer are left, C is lowered by halves while
        more are, and of those left the heaviest are taken. With ``norm=1``, C is raised until the
        first machine has enough.
    refit : bool, default=True
        Return the soft-margin machine of the features selected, which minimises ``|w|_2^2 + C``
        times the sum of hinge losses; otherwise the point at which the steps end.
    tol : float, default=1e-06
        Steps end when no weight changes by more than this part of the largest.
    max_iter : int, default=100
        Most steps, for each C.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The first machine
        and the floor alone depend on units.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        Of several that are as good, the middle one.
    objective_ : float
        ``norm * sum log |w_i| + C`` times the sum of hinge losses where the steps end, before the
        refit, over all features that vary. A weight below a floor, 1e-6 of the largest of the
        first machine, counts as the floor.
    n_iter_ : int
        Machines on the way, the first one included.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which never rises at one C.

    Raises
    ------
    SubproblemError
        If the first machine or the refit cannot be verified. A later step that is not is not
        taken, with a warning.

    Notes
    -----
    A weight that vanishes stays zero: its column is. Without the floor the objective has no least
    value, so that the start decides where the steps end. Where they do, each weight that is left
    meets ``w_j sum_i a_i y_i x_ij = norm``, with multipliers a from 0 to C. So ``norm=1`` drops
    what ``norm=2`` would at half the C. The solutions of its linear programs are vertices of the
    same constraints, and its steps come to an end after finitely many.

    Each step costs what it does in `ZeroNormSVM`, O(N^2 k + N^3) or O(N k^2) for N rows and k
    features left, or in `L1SVM`, O(N k) a pivot.

    References
    ----------
    J. Weston, A. Elisseeff, B. Schoelkopf and M. Tipping, Use of the zero norm with linear models
    and kernel methods, Journal of Machine Learning Research 3, 1439-1461, 2003.

    Examples
    --------
    >>> from fsnotes import AROM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [AROM(norm=norm, C=0.3).fit(X, y).n_selected_ for norm in (1, 2)]
    [4, 3]
    """

    def __init__(
        self,
        *,
        norm=2,
        C=1.0,
        n_features=None,
        refit=True,
        tol=1e-6,
        max_iter=100,
        scale=True,
    ):
        self.norm = norm
        self.C = C
        self.n_features = n_features
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_count("norm", self.norm)
        if self.norm > 2:
            raise ValueError(f"norm={self.norm!r}; pass 1 or 2")

    def _steps(self, rows, least):
        return Steps(rows, 0.0, least) if self.norm == 2 else LinearSteps(rows, least, Linearized)

    def _penalty(self, run, weights):
        # where all is zero from the start, nothing is measured
        return self.norm * np.log(np.maximum(abs(weights), run.floor or 1)).sum()

    def _promises(self):
        return [
            f"{self.n_iter_} machines with the norm {self.norm}, at C={self.C:g}",
            "no promise for new data",
        ]


class SVMRanking(HingeSelector):
    """The heaviest features of one soft-margin machine: ``|w|_2^2 + C`` times hinge losses.

    Nothing in it asks for few features: all are weighed once, and those of the largest weights
    are taken.

    Parameters
    ----------
    C : float, default=1.0
        Price of the sum over rows of the hinge losses ``max(0, 1 - margin)``; above 0 and at most
        1e6.
    n_features : int, optional
        Select so many; by default half of those that vary. A warning tells where fewer have a
        weight, in the machine of all or in the refit.
    refit : bool, default=True
        Return the soft-margin machine of the features selected, with the same C; otherwise the
        weights that they have in the machine of all.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. Neither the
        machine nor the order is scale free.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        Of several that are as good, the middle one.
    objective_ : float
        ``|w|_2^2 + C`` times the sum of hinge losses, of the machine of all features.
    order_ : ndarray of int
        The features that vary, the heaviest first.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_

    Raises
    ------
    SubproblemError
        If a machine cannot be verified.

    Notes
    -----
    Two quadratic programs of N rows, O(N^2 n + N^3), or O(N n^2) if rows are more than the n
    features, for each of the 10 to 40 steps that they take.

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill and V. Vapnik, Gene selection for cancer classification using
    support vector machines, Machine Learning 46, 389-422, 2002.

    Examples
    --------
    >>> from fsnotes import SVMRanking, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = SVMRanking(n_features=3).fit(X, y)
    >>> machine.n_selected_, machine.order_[:3].tolist()
    (3, [26, 10, 21])
    """

    def __init__(self, *, C=1.0, n_features=None, refit=True, scale=True):
        self.C = C
        self.n_features = n_features
        self.refit = refit
        self.scale = scale

    def _size(self, rows):
        return max(1, rows.n_features // 2) if self.n_features is None else int(self.n_features)

    def _end(self, rows, used):
        margin = rows.machine.solve(np.ones(len(used)), self.C)
        weights = beyond_rounding(margin, rows)
        self.order_ = used[np.argsort(-abs(weights), kind="stable")]
        self.objective_ = margin.objective
        counts = {"quadratic program": 1, **{k: int(v) for k, v in margin.counts.items()}}
        gap = float(margin.duality_gap)
        self.result_ = solved(margin.objective, duality_gap=gap, counts=counts)
        return weights

    def _promises(self):
        return [
            f"|w|^2 + C (sum of hinge losses) of all features: {self.objective_:.6g} at "
            f"C={self.C:g}",
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
