"""What the formulations of bounded accuracy share: the path of smallest norms, and what follows it.

The problem of least weighted l1 norm is solved first. Features are selected from its weights, or
from those to which further steps lead, and the machine is fitted anew on the features selected.
"""

from collections import Counter

import numpy as np

from fsnotes.core.bounds import LEAST_SPLIT, delta, kappa, minimax
from fsnotes.core.mm import Result
from fsnotes.core.moment_classifier import MomentClassifier, feasible_bound, largest_bound
from fsnotes.core.pruning import remove_features
from fsnotes.core.tolerances import KAPPA_REACHED, NEGLIGIBLE_WEIGHT
from fsnotes.core.validation import check_bool, check_bound, check_count, check_one_of
from fsnotes.errors import SelectionWarning, warn
from fsnotes.solvers.cone import ConeProblem, Solution

__all__ = ["BoundedClassifier", "NormPath"]

# On the way to a number of features the largest bound is reached in so many steps, and the last
# of them is halved so often. Where it is 1, nothing reaches it, so that the steps end below it.
STEPS_TO_N_FEATURES = 50
HALVINGS = 12
NEARLY_ALL = 1 - 1e-3


class NormPath:
    """Smallest weighted l1 norms under several bounds, each from the last."""

    def __init__(self, pair, costs, normalization):
        self.pair = pair
        self.costs = costs
        self.largest = minimax(pair)
        self.problem = ConeProblem(pair, normalization)
        self.last = None
        self.refits = {}

    def solve(self, bound):
        """The `Solution` of smallest norm at a feasible bound."""
        if self.is_largest(bound):
            return shortest(self.largest, self.costs, self.problem.normalization)
        kappas = (kappa(bound), kappa(bound))
        self.last = solve_from(self.last, self.problem, kappas, self.costs, self.largest)
        return self.last

    def is_largest(self, bound):
        """Whether the bound is the largest, which the minimax machine alone reaches."""
        return kappa(bound) >= self.largest.kappa * KAPPA_REACHED

    def solve_for(self, n_features):
        """The smallest bound found at which so many are selected, or the last, and its solution."""
        largest = float(delta(self.largest.kappa))
        bounds = largest * (np.arange(1, STEPS_TO_N_FEATURES + 1) / STEPS_TO_N_FEATURES)
        if largest == 1:
            bounds[-1] = NEARLY_ALL
        below = 0.0
        for above in bounds:
            solution = self.solve(above)
            if len(nonnegligible(solution.weights)) >= n_features:
                break
            below = above
        else:
            return above, solution
        for _ in range(HALVINGS):
            middle = (below + above) / 2
            tried = self.solve(middle)
            if len(nonnegligible(tried.weights)) >= n_features:
                above = middle
                solution = tried
            else:
                below = middle
        return above, solution

    def refit(self, chosen):
        """The minimax machine of these features. The last is kept, since neighbours share it."""
        key = tuple(chosen)
        if key not in self.refits:
            self.refits = {key: minimax(self.pair, chosen)}
        return self.refits[key]


class BoundedClassifier(MomentClassifier):
    """A machine of few features that keeps a bound, and starts from the least l1 norm.

    A subclass has the parameters of `~fsnotes.L1MPM`. It may override ``_descend``, which leads
    from the solution of least norm to the weights from which features are selected, and
    ``_prune``, which removes some of the features selected.
    """

    _prune = staticmethod(remove_features)

    def _check_parameters(self):
        super()._check_parameters()
        check_bound(self.retain, self.delta)
        check_one_of("normalization", self.normalization, ("margin", "gap"))
        check_bool("prune", self.prune)
        check_bool("refit", self.refit)
        if self.prune and not self.refit:
            raise ValueError("prune=True refits at every step; pass refit=True with it")
        check_count("n_features", self.n_features, optional=True)

    def _solve(self, problem):
        path = NormPath(problem.pair, problem.costs, self.normalization)
        self.largest_delta_ = largest_bound(path.largest.kappa)
        if self.n_features is None:
            bound = feasible_bound(self.largest_delta_, self.retain, self.delta)
            solution = path.solve(bound)
        else:
            bound, solution = path.solve_for(self.n_features)
        solution, result = self._descend(path, bound, solution)
        weights, split, self.delta_ = self._select_and_refit(path, bound, solution, self.n_features)
        return weights, split, solution.objective, result

    def _descend(self, path, bound, solution):
        """The solution from which features are selected, and its result."""
        self._unselected_ = solution.weights
        return solution, result_of(solution)

    def _select_and_refit(self, path, bound, solution, n_features):
        """Weights after selection, pruning and refit, class 1's part of the margin, and the bound.

        The bound is that asked for or, with `n_features`, that which the weights reach.
        """
        pair = path.pair
        chosen = nonnegligible(solution.weights)
        least = 0.0
        if n_features is None:
            least = kappa(bound) * KAPPA_REACHED
            if len(chosen) < np.count_nonzero(solution.weights):
                # Beside features that nearly agree, the weight of one that is needed looks small.
                if self.refit:
                    is_enough = path.refit(chosen).kappa >= least
                else:
                    needs, margin = self._needs_and_margin(pair, bound, chosen, solution.weights)
                    is_enough = needs.sum() <= margin / KAPPA_REACHED
                chosen = chosen if is_enough else np.flatnonzero(solution.weights)
        elif len(chosen) < n_features:
            warn(
                f"n_features={n_features}, but only {len(chosen)} are selected; these are returned",
                SelectionWarning,
            )
        elif not self.prune:
            order = np.argsort(-abs(solution.weights[chosen]))
            chosen = np.sort(chosen[order[: int(n_features)]])
        weights = np.zeros(len(pair.mean_diff))
        if self.refit:
            if self.prune:
                chosen, point = self._prune(pair, chosen, least, int(n_features or 1))
            else:
                point = path.refit(chosen)
            weights[chosen] = point.weights
            reached = bound if n_features is None else float(delta(point.kappa))
            return weights, point.margin_split[0], reached
        weights[chosen] = solution.weights[chosen]
        if n_features is not None:
            return weights, *balance(pair, weights)
        needs, margin = self._needs_and_margin(pair, bound, chosen, weights)
        return weights, split_margin(needs, margin), bound

    def _needs_and_margin(self, pair, bound, chosen, weights):
        """What both classes need of the margin under a bound, and the margin, of some weights."""
        needs = kappa(bound) * pair.deviations(chosen, weights[chosen])
        if self.normalization == "margin":
            needs = np.maximum(needs, 1)
        return needs, pair.mean_diff[chosen] @ weights[chosen]


def solve_from(start, problem, kappas, costs, point):
    """The `Solution` of least norm, which may be the start itself; the point is a feasible one."""
    if start is not None and start.holds_at(kappas):
        return start
    return problem.solve(kappas, costs, feasible=point.weights, start=start)


def shortest(point, costs, normalization):
    """The `Solution` that is a point of the frontier at its shortest length."""
    weights = point.weights
    if normalization == "margin":
        weights = weights / max(point.margin_split.min(), LEAST_SPLIT)
    return Solution(weights, costs @ abs(weights), duality_gap=None)


def nonnegligible(weights):
    """Features whose weight is not negligible."""
    return np.flatnonzero(abs(weights) > NEGLIGIBLE_WEIGHT * abs(weights).max())


def balance(pair, weights):
    """Class 1's part of a margin that gives both classes the same bound, and this bound."""
    deviations = pair.deviations(np.arange(len(weights)), weights)
    total = deviations.sum()
    part = deviations[0] / total if total > 0 else 0.5
    with np.errstate(divide="ignore"):
        bound = float(delta(pair.mean_diff @ weights / total))
    return np.clip(part, LEAST_SPLIT, 1 - LEAST_SPLIT), bound


def split_margin(needs, margin):
    """Class 1's part of a margin of which both classes get what they need and half the rest."""
    part = (needs[0] + (margin - needs.sum()) / 2) / margin
    return np.clip(part, LEAST_SPLIT, 1 - LEAST_SPLIT)


def result_of(*solutions):
    """Result of a cone program, or of the last of several, with the counts of all.

    A single one is proved by its duality gap, which of several is that of steps.
    """
    counts = Counter()
    for solution in solutions:
        counts.update(solution.counts)
    gaps = [float(s.duality_gap) for s in solutions if s.duality_gap is not None]
    gap = max(gaps, default=None)
    return Result.solved(
        solutions[-1].objective,
        duality_gap=gap if len(solutions) == 1 else None,
        step_gap=gap,
        violation=max(float(solution.violation) for solution in solutions),
        counts=dict(counts),
    )
