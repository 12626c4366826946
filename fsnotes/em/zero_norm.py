"""Hierarchical Bayes EM: the zero-norm support vector machine by reweighted ridge penalties."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from fsnotes.core.estimator import solved
from fsnotes.core.reweighting import (
    HALVES,
    NO_LESS,
    NOTHING_GAINS,
    REFIT_OFF,
    Rows,
    Run,
    descending,
    heaviest,
)
from fsnotes.core.rows import RowClassifier, merged
from fsnotes.core.validation import check_bool, check_count, check_one_of, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.hinge import LARGEST_C, DualModel, balanced

__all__ = ["ZeroNormSVM"]

BELOW = (1 / 2, 1 / 4)  # times C, where the search for a support goes on
SEARCH = (16, 8, 4, 2, *BELOW)  # times C, where runs that begin with equal penalties search
NEARLY = 0.99  # a margin that is lengthened to 1
HARD = 1e8  # a price of errors that allows none, where there need be none
REFINEMENTS = 3  # of multipliers, where weights are large
EXCHANGED = 5  # features tried in the place of one
GAP = 1e-6  # relative duality gap of an answer that counts as verified
SAME = 1e-9  # of a row's loss, a difference that may be rounding


class ZeroNormSVM(RowClassifier):
    """Few features by reweighting: the number of features plus C times the sum of hinge losses.

    Each step is a support vector machine with the penalty ``sum w_i**2 / w_old_i**2``, found as
    ``w = |w_old| u`` with ``|u|_2^2``, so that nothing is divided by zero. What the steps provably
    descend is not the number of features but ``C * hinge losses + 2 sum log |w_i|``, and where
    they end depends on where they start. With `refit`, the supports that they pass are compared
    by what is really wanted.

    Parameters
    ----------
    C : float, default=1.0
        Price of the sum over rows of the hinge losses ``max(0, 1 - margin)``, in features; above
        0 and at most 1e6. Where it is too small for any feature to pay, the machine has none,
        says the heavier class everywhere, and a warning says what to change.
    p : float, default=0.0
        From 0 to 2, or infinite: the penalty is ``(2 / p) sum |w_i|**p``, of which ``2 sum log
        |w_i|`` is the limit up to a constant. At 2 it is one support vector machine and at
        infinity one linear program with the penalty ``max |w_i|``; neither drops a feature, unless
        the refit does.
    n_features : int, optional
        Select exactly so many: the steps end before fewer are left, and of those left the
        heaviest are taken. With `refit`, so are the heaviest of each machine on the way; of the set
        of least loss each feature is exchanged for another as long as this lowers the loss, and of
        several that are as good, as where rows can be separated, that of the widest margin is
        returned. Where no machine on the way has so many, or the refit has no
        weight for some of them, there are fewer, and a warning says why.
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
        Most steps of a stage.
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
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of what the steps descend, over all features that vary.
        With ``p=0`` a weight below a floor, 1e-6 of the largest of the first machine, counts as
        the floor; with any p it is zero for good. It never rises within a stage.

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
        if not (isinstance(self.p, float) and np.isposinf(self.p)):
            check_real("p", self.p, 0, most=2)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_one_of("start", self.start, ("large_C", "identity"))
        check_bool("refit", self.refit)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)
        check_bool("scale", self.scale)

    def _fit(self, X, positive, weights):
        X, positive, weights = merged(X, positive, weights)
        used, _, center = self._prepared(X, positive, weights)
        center = center[used]
        rows = Rows.measured(X, positive, weights, used, center, self.scale_[used])
        main, runs = self._runs(rows)
        self.n_iter_ = main.end
        program = Unpenalized(rows)
        scaled, offset, counts = self._chosen(rows, program, main, runs)
        self.coef_ = np.zeros((1, self.n_features_in_))
        self.coef_[0, used] = scaled / self.scale_[used]
        self.intercept_ = np.array([offset - self.coef_[0, used] @ center])
        self.objective_ = float(np.count_nonzero(scaled) + self.C * rows.hinge(scaled, offset))
        gap = max(main.result.duality_gap, program.gap)
        self.result_ = replace(main.result, duality_gap=gap, counts=counts)
        return self

    # ------------------------------------------------------------ runs

    def _runs(self, rows):
        """The run that ends at C, and all whose supports are compared."""
        if rows.n_features == 0:
            nothing = Run(rows, self.p, self._least(rows))
            nothing.result = solved(self.C * rows.hinge_of_nothing())
            return nothing, [nothing]
        if self.p in (2, np.inf):
            main = self._one_machine(rows)
            return main, [main]
        below = [self.C / 2**k for k in range(1, HALVES + 1)]
        # a power of 1 or more is convex: stages would only drop weights that are wanted again
        if self.start == "large_C" and self.p < 1:
            main = self._run(rows, descending(self.C) + below * (self.n_features is not None))
            if self.refit and self.n_features is None:
                main.go_on([m * self.C for m in BELOW], self.tol, self.max_iter)
            return main, [main]
        lowered = self.start == "large_C" and self.n_features is not None
        main = self._run(rows, [self.C] + below * lowered)
        others = SEARCH if self.refit else ()
        return main, [main] + [self._run(rows, [m * self.C], aside=True) for m in others]

    def _least(self, rows):
        return 0 if self.n_features is None else min(int(self.n_features), rows.n_features)

    def _one_machine(self, rows):
        run = Run(rows, self.p, self._least(rows))
        if self.p == 2:
            run.begin([self.C])
            run.result = solved(run.margin.objective, duality_gap=float(run.margin.duality_gap))
        else:
            weights, objective, gap = flattest(rows, self.C)
            run.visited.append((self.C, weights))
            run.result = solved(objective, duality_gap=gap)
        run.end = 1
        return run

    def _run(self, rows, prices, aside=False):
        """Steps through these prices of errors; a run aside only looks for supports."""
        run = Run(rows, self.p, self._least(rows))
        prices = run.begin(prices)
        run.result = run.go_on(prices, self.tol, self.max_iter)
        run.end = len(run.visited)
        if not aside:
            run.warn_of_end(self.tol, self.max_iter)
        return run

    # ------------------------------------------------------------ what is returned

    def _chosen(self, rows, program, main, runs):
        """Weights, offset and counts of work."""
        end = main.visited[main.end - 1][1] if main.end else np.zeros(rows.n_features)
        if self.n_features is not None:
            weights, offset = self._of_size(rows, program, end, runs)
        elif self.refit:
            weights, offset = self._refitted(rows, program, runs)
        else:
            weights, offset = self._as_they_end(rows, end)
        if rows.n_features > 1 and weights.all() and self.n_features is None:
            self._warn_of_all(rows.n_features)
        counts = {}
        for found in (*(run.counts for run in runs), program.counts):
            for kind, count in found.items():
                counts[kind] = counts.get(kind, 0) + int(count)
        return weights, offset, counts

    def _refitted(self, rows, program, runs):
        """The best machine of the supports met, or none."""
        best = Candidate(rows, self.C, np.zeros(rows.n_features))
        pays = np.inf, 0  # the least C at which a support does, and its size
        for run in runs:
            chain = program.chain()
            for chosen in run.supports():
                if len(chosen) >= best.objective and pays[0] < np.inf:
                    break
                found = Candidate(rows, self.C, chain.solve(chosen))
                pays = min(pays, (found.pays_from(), found.size))
                # of sets that are as good but for rounding, the one met last
                if found.objective < (1 - NO_LESS) * best.objective:
                    best = found
        if best.size:
            best = program.fewer(best)
            best = Candidate(rows, self.C, program.widest(best, np.flatnonzero(best.weights)))
        elif rows.n_features:
            words = "none of the supports met on the way pays"
            if pays[0] < np.inf:
                words += f"; the best, of {pays[1]} features, does from C={pays[0]:.4g}"
            self._warn_of_collapse(rows, words)
        return best.weights, best.offset

    def _as_they_end(self, rows, end):
        if rows.n_features and not end.any():
            self._warn_of_collapse(rows, "the weights have gone to zero")
        return end, rows.offset(end)

    def _of_size(self, rows, program, end, runs):
        """The machine of the heaviest features, as many as are asked for."""
        size = self._least(rows)
        as_they_end = heaviest(end, size)
        if not self.refit:
            weights = as_they_end
        else:
            met = [np.count_nonzero(weights) for run in runs for _, weights in run.visited]
            size = min(size, max(met, default=0))
            # a machine may have zeros, its set has not
            sets = dict.fromkeys(s for run in runs for s in run.supports_of(size) if s)
            sets = [np.array(s) for s in sets]
            machines = [Candidate(rows, self.C, program.chain().solve(s)) for s in sets]
            least = min((machine.hinge for machine in machines), default=0)
            if least > SAME * rows.count:
                k = min(range(len(machines)), key=lambda k: machines[k].hinge)
                sets.append(program.exchanged(machines[k], sets[k]))
                machines.append(Candidate(rows, self.C, program.chain().solve(sets[-1])))
                least = machines[-1].hinge
            tied = [k for k, m in enumerate(machines) if m.hinge <= least + SAME * rows.count]
            widest = [program.widest(machines[k], sets[k]) for k in tied]
            weights = min(
                widest,
                key=lambda w: (-np.count_nonzero(w), w @ w),
                default=np.zeros(rows.n_features),
            )
        found = np.count_nonzero(weights)
        if found < self.n_features:
            self._warn_of_fewer(rows, found, np.count_nonzero(as_they_end))
        return weights, rows.offset(weights)

    def _warn_of_collapse(self, rows, what):
        if rows.tell_nothing():
            words = f"no feature is selected: {NOTHING_GAINS}"
        else:
            remedies = ["a larger C"] if self.C < LARGEST_C else []
            remedies += ['start="large_C"'] if self.start == "identity" else []
            remedies += [] if self.refit else ["refit=True"]
            remedies = [", ".join(remedies), "n_features="] if remedies else ["n_features="]
            words = f"C={self.C:g} is too small to select a feature: {what}; pass " + " or ".join(
                remedies
            )
        warn(words, SelectionWarning)

    def _warn_of_all(self, count):
        remedy = "a smaller C"
        if self.p >= 1:
            remedy += ", p=0"
        if not self.refit:
            remedy += ", refit=True"
        warn(
            f"none of {count} features is dropped at C={self.C:g}; pass {remedy} or n_features= "
            "if fewer are wanted",
            SelectionWarning,
        )

    def _warn_of_fewer(self, rows, found, before_refit):
        if self.n_features > rows.n_features == found:
            why = f"only {found} vary"
        elif rows.tell_nothing():
            why = NOTHING_GAINS
        elif before_refit > found:
            why = f"the refit has a weight for {found} of them, and {REFIT_OFF} for {before_refit}"
        else:
            why = f"only {found} have a weight in the machines on the way"
        warn(
            f"n_features={self.n_features}, but {why}; {found} are returned",
            SelectionWarning,
        )

    def _summary_lines(self):
        return [
            f"features + C (sum of hinge losses): {self.objective_:.6g} at C={self.C:g}",
            "no promise for new data",
        ]


def flattest(rows, C):
    """Weights of least ``max |w_i| + C * hinge losses``, the value and its duality gap."""
    N, n = rows.Z.shape
    signed = rows.Z * rows.signs[:, None]
    # weights are t - d with d from 0 to 2 t, so that half of their bounds are the variables'
    costs = np.concatenate([np.zeros(n), [1, 0], C * rows.shares])
    margins = np.hstack([signed, -signed.sum(axis=1)[:, None], -rows.signs[:, None], -np.eye(N)])
    widths = np.hstack([np.eye(n), np.full((n, 1), -2.0), np.zeros((n, N + 1))])
    limits = np.append(-np.ones(N), np.zeros(n))
    bounds = [(0, None)] * (n + 1) + [(None, None)] + [(0, None)] * N
    found = linprog(costs, np.vstack([margins, widths]), limits, bounds=bounds, method="highs")
    if found.x is None:
        raise SubproblemError(f"the linear program was not solved: {found.message}")
    weights = found.x[n] - found.x[:n]
    objective = abs(weights).max() + C * rows.least_hinge(weights)
    multipliers = np.clip(-found.ineqlin.marginals[:N], 0, C * rows.shares)
    multipliers = balanced(multipliers, rows.signs)
    bound = multipliers.sum() / max(1.0, abs(multipliers @ signed).sum())
    gap = max(0.0, float(1 - bound / objective))
    if gap > GAP:
        raise SubproblemError(
            f"the linear program was not solved: duality gap {gap:.1e}, more than {GAP:g}; "
            "pass a smaller C, or scale=True"
        )
    return weights, float(objective), gap


class Candidate:
    """A machine, its best offset, and the number of features plus C times the hinge losses."""

    def __init__(self, rows, C, weights):
        self.rows, self.C, self.weights = rows, C, weights
        self.size = int(np.count_nonzero(weights))
        self.offset = rows.offset(weights)
        self.hinge = rows.hinge(weights, self.offset)
        self.objective = self.size + C * self.hinge

    def pays_from(self):
        """The C from which the machine is better than none."""
        saved = self.rows.hinge_of_nothing() - self.hinge
        return self.size / saved if saved > 0 else np.inf


class Unpenalized:
    """Machines of least hinge loss on some of the features."""

    def __init__(self, rows):
        self.rows = rows
        self.counts = {"linear program": 0, "pivot": 0}
        self.gap = 0.0

    def chain(self):
        return Chain(self)

    def fewer(self, best):
        """A candidate without features that do not pay, left out one by one."""
        while best.size:
            chosen = np.flatnonzero(best.weights)
            chain = self.chain()
            chain.solve(chosen)
            losses = np.array([chain.loss_without(j) for j in chosen])
            least = np.flatnonzero(losses <= losses.min() + SAME * self.rows.count)
            if len(least) > 1:
                # as where rows can be separated: the lightest where the margin is widest
                sizes = abs((self.least(chosen, best.C) or best).weights[chosen[least]])
                least = least[sizes.argmin()]
            found = Candidate(best.rows, best.C, self.chain().solve(np.delete(chosen, least)))
            if found.objective >= (1 - NO_LESS) * best.objective:
                break
            best = found
        return best

    def exchanged(self, best, chosen):
        """Features each exchanged for another, as long as one exchange lowers the loss.

        Of the others those are tried that the multipliers without the feature ask for most.
        """
        rows, turn, kept = self.rows, 0, 0
        while kept < len(chosen) and best.hinge > SAME * rows.count:
            rest = np.delete(chosen, turn)
            chain = self.chain()
            chain.solve(rest)
            pulls = abs(rows.Z.T @ (chain.model.columns() * rows.signs))
            pulls[chosen] = -1
            others = np.argsort(-pulls, kind="stable")[: min(EXCHANGED, len(pulls) - len(chosen))]
            sets = [np.sort(np.append(rest, other)) for other in others]
            found = [Candidate(rows, best.C, self.chain().solve(s)) for s in sets]
            k = min(range(len(found)), key=lambda k: found[k].hinge, default=None)
            if k is not None and found[k].hinge < best.hinge - SAME * rows.count:
                best, chosen, kept = found[k], sets[k], 0
                turn = int(np.searchsorted(chosen, others[k]))
            else:
                kept += 1
            turn = (turn + 1) % len(chosen)
        return chosen

    def widest(self, candidate, chosen):
        """Weights of least loss on the chosen features; of several, those of least norm.

        There are several where rows can be separated, or fewer features than chosen have a weight.
        """
        rows = self.rows
        if candidate.hinge >= (1 - NO_LESS) * rows.hinge_of_nothing():
            candidate = Candidate(rows, candidate.C, np.zeros(rows.n_features))
        elif candidate.hinge <= SAME * rows.count or candidate.size < len(chosen):
            found = self.least(chosen, candidate.C)
            if found is not None and found.hinge <= candidate.hinge + 1e-8 * rows.count:
                candidate = found
        self.verify(candidate, chosen)
        return candidate.weights

    def least(self, chosen, C):
        """The machine with a price of errors that allows none but where it has to, or None."""
        rows, sizes = self.rows, np.zeros(self.rows.n_features)
        sizes[chosen] = 1
        try:
            margin = rows.machine.solve(sizes, HARD)
        except SubproblemError:
            return None
        scores = rows.scores(margin.weights) + margin.offset
        shortest = (rows.signs * scores).min() - 8 * np.finfo(float).eps * abs(scores).max()
        longer = 1 / shortest if NEARLY < shortest < 1 else 1.0
        return Candidate(rows, C, longer * margin.weights)

    def verify(self, candidate, chosen):
        """Raise unless the loss is the least on the chosen features, up to a small part of it."""
        chain = self.chain()
        chain.solve(chosen)
        lack = candidate.C * max(candidate.hinge - chain.bound(candidate), 0.0)
        gap = float(lack / candidate.objective) if lack > 0 else 0.0
        self.gap = max(self.gap, gap)
        if not gap <= GAP:
            raise SubproblemError(
                f"the refit was not solved: duality gap {gap:.1e}, more than {GAP:g}; pass a "
                f"smaller C than {candidate.C:g}, scale=True or refit=False"
            )


class Chain:
    """The same for supports that grow, each from the solution of the last."""

    def __init__(self, program):
        self.program, self.joined, self.model = program, [], None

    def solve(self, chosen):
        rows = self.program.rows
        if self.model is None or not set(self.joined) <= set(chosen.tolist()):
            self.model, self.joined = DualModel(rows.shares), []
            self.model.add(rows.signs[None], np.zeros(1))
        new = np.setdiff1d(chosen, self.joined)
        self.model.add((rows.Z[:, new] * rows.signs[:, None]).T, np.zeros(len(new)))
        self.joined += new.tolist()
        self.run()
        weights = np.zeros(rows.n_features)
        weights[self.joined] = -self.model.duals()[1:]
        large = abs(weights) > 1e-9 * abs(weights).max(initial=0)
        return np.where(large, weights, 0)

    def loss_without(self, feature):
        """Least hinge loss if a feature of the support has no weight."""
        place = 1 + self.joined.index(feature)
        self.model.highs.changeRowBounds(place, -np.inf, np.inf)
        self.run()
        loss = self.model.columns().sum()
        self.model.highs.changeRowBounds(place, 0.0, 0.0)
        return loss

    def bound(self, candidate):
        """What no machine nearby gets below, from the multipliers; nor does any get below 0.

        Nearby are machines of at most ten times the size of the candidate, since the equations of
        the multipliers hold but for rounding.
        """
        shares = self.program.rows.shares
        multipliers = np.clip(self.model.columns(), 0, shares)
        bound = self.bound_from(multipliers, candidate)
        for _ in range(REFINEMENTS):
            if bound >= candidate.hinge * (1 - GAP):
                break
            multipliers = np.clip(self.refined(multipliers), 0, shares)
            bound = max(bound, self.bound_from(multipliers, candidate))
        return bound

    def bound_from(self, multipliers, candidate):
        rows = self.program.rows
        multipliers = multipliers * rows.signs
        pulls = abs(rows.Z[:, self.joined].T @ multipliers) @ abs(candidate.weights[self.joined])
        off = pulls + abs(multipliers.sum() * candidate.offset)
        return max(abs(multipliers).sum() - 10 * off, 0.0)

    def refined(self, multipliers):
        """Multipliers that meet their equations more closely, those between their ends moved."""
        rows = self.program.rows
        signed = (np.column_stack([rows.Z[:, self.joined], np.ones(len(rows.Z))]).T) * rows.signs
        free = (multipliers > 0) & (multipliers < rows.shares)
        off = signed @ multipliers
        moved = multipliers.copy()
        moved[free] -= np.linalg.lstsq(signed[:, free], off)[0]
        return moved

    def run(self):
        before = self.model.pivots
        self.model.run()
        self.program.counts["linear program"] += 1
        self.program.counts["pivot"] += self.model.pivots - before
