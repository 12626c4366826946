"""What the formulations of bounded accuracy share: the path of smallest norms, and what follows it.

The problem of least weighted l1 norm is solved first. Features are selected from its weights, or
from those to which further steps lead, and the machine is fitted anew on the features selected.
"""

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
            return self.shortest()
        kappas = (kappa(bound), kappa(bound))
        if self.last is None or not self.last.holds_at(kappas):
            self.last = self.problem.solve(
                kappas, self.costs, feasible=self.largest.weights, start=self.last
            )
        return self.last

    def is_largest(self, bound):
        """Whether the bound is the largest, which the minimax machine alone reaches."""
        return kappa(bound) >= self.largest.kappa * KAPPA_REACHED

    def shortest(self):
        """The minimax machine at its shortest length."""
        weights = self.largest.weights
        if self.problem.normalization == "margin":
            split = self.largest.deviations * self.largest.kappa
            weights = weights / max(split.min(), LEAST_SPLIT)
        return Solution(weights, self.costs @ abs(weights))

    def solve_for(self, n_features):
        """The smallest bound found on the way up at which so many are selected, or the last.

        Returns
        -------
        bound : float
        solution : Solution
        """
        largest = float(delta(self.largest.kappa))
        below = 0.0
        for step in range(1, STEPS_TO_N_FEATURES + 1):
            part = step / STEPS_TO_N_FEATURES
            above = largest * (part if largest < 1 else min(part, NEARLY_ALL))
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

    def refit(self, features):
        """The minimax probability machine of the features; the last one is kept."""
        key = tuple(features)
        if key not in self.refits:
            self.refits = {key: minimax(self.pair, features)}
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
        pair = problem.pair
        path = NormPath(pair, problem.costs, self.normalization)
        self.largest_delta_ = largest_bound(path.largest.kappa)
        if self.n_features is None:
            bound = feasible_bound(self.largest_delta_, self.retain, self.delta)
            solution = path.solve(bound)
        else:
            bound, solution = path.solve_for(int(self.n_features))
        solution, result = self._descend(path, bound, solution)
        weights, split = self._select_and_refit(path, bound, solution, self.n_features)
        if self.n_features is None:
            self.delta_ = bound
        else:
            deviations = pair.deviations(np.arange(len(weights)), weights)
            self.delta_ = bound_reached(pair.mean_diff @ weights, deviations)
        return weights, split, solution.objective, result

    def _descend(self, path, bound, solution):
        """The solution from which features are selected, and its result."""
        return solution, result_of(solution)

    def _select_and_refit(self, path, bound, solution, n_features):
        """Weights after selection, pruning and refit, and class 1's part of the margin."""
        pair = path.pair
        need = kappa(bound)
        chosen = nonnegligible(solution.weights)
        if n_features is None:
            least = need * KAPPA_REACHED
            chosen = add_largest_until(
                lambda features: path.refit(features).kappa >= least, solution.weights, chosen
            )
        else:
            least = 0.0
            if len(chosen) < n_features:
                warn(
                    f"n_features={n_features}, but only {len(chosen)} are selected; these are "
                    "returned",
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
            return weights, point.margin_split[0]
        weights[chosen] = solution.weights[chosen]
        deviations = pair.deviations(chosen, weights[chosen])
        if n_features is not None:
            return weights, balanced_split(deviations)
        needs = need * deviations
        if self.normalization == "margin":
            needs = np.maximum(needs, 1)
        return weights, split_with_spare_halved(needs, pair.mean_diff @ weights)


def nonnegligible(weights):
    """Features whose weight is not negligible."""
    return np.flatnonzero(abs(weights) > NEGLIGIBLE_WEIGHT * abs(weights).max())


def add_largest_until(is_enough, weights, chosen):
    """The chosen features, with others of nonzero weight, largest first, until they are enough."""
    if len(chosen) == np.count_nonzero(weights):
        return chosen
    others = np.setdiff1d(np.flatnonzero(weights), chosen)
    for feature in others[np.argsort(-abs(weights[others]))]:
        if is_enough(chosen):
            break
        chosen = np.sort(np.append(chosen, feature))
    return chosen


def bound_reached(margin, deviations):
    """The bound that a boundary gives to both classes where it divides the margin evenly."""
    with np.errstate(divide="ignore"):
        return float(delta(margin / deviations.sum()))


def balanced_split(deviations):
    """Class 1's part of a margin that gives both classes the same bound."""
    total = deviations.sum()
    part = deviations[0] / total if total > 0 else 0.5
    return np.clip(part, LEAST_SPLIT, 1 - LEAST_SPLIT)


def split_with_spare_halved(needs, margin):
    """Class 1's part of a margin of which both classes get what they need and half the rest."""
    part = (needs[0] + (margin - needs.sum()) / 2) / margin
    return np.clip(part, LEAST_SPLIT, 1 - LEAST_SPLIT)


def result_of(*solutions):
    """Result of the last of several cone programs, with the proof and the counts of all."""
    counts = {}
    for solution in solutions:
        for kind, count in solution.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    return Result.solved(
        solutions[-1].objective,
        duality_gap=max(float(solution.duality_gap) for solution in solutions),
        violation=max(float(solution.violation) for solution in solutions),
        counts=counts,
    )
