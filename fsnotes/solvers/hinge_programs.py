"""Linear programs of the hinge loss: with a weighted l1 norm, and with no penalty at all.

For signs of the classes, weights of the rows and costs of the weights: minimise

    ``costs @ |w| + C * sample_weight @ max(0, 1 - signs * (Z w + b))``.

The dual: maximise the sum of multipliers from 0 to ``C * sample_weight``, with ``|Z'(signs *
multipliers)| <= costs`` for the weights and ``signs @ multipliers = 0`` for the offset.
"""

from dataclasses import dataclass

import numpy as np

from fsnotes.core.tolerances import NO_RISE
from fsnotes.solvers.highs import DualModel, WeightProgram
from fsnotes.solvers.hinge import LARGEST_C, balance, require_verified

__all__ = ["HingeProgram", "Solution", "nothing_gains"]

GAP = 1e-7  # relative duality gap of an answer that counts as verified


@dataclass(frozen=True)
class Solution:
    """Weights, the sum of hinge losses, the objective, and its relative distance to a bound."""

    weights: np.ndarray
    hinge: float
    objective: float
    duality_gap: float


class HingeProgram(WeightProgram):
    """Minimise ``sum |w_j| / size_j + C * hinge losses``, for sizes and C that change.

    The constraints are not divided by the costs, of which some may be next to nothing.
    """

    def __init__(self, data):
        XT = (data.Z * data.signs[:, None]).T
        upper = data.sample_weight
        super().__init__(XT, data.signs, upper, np.zeros(len(upper)), np.ones(len(upper)))
        self.data = data
        self.C = 1.0  # of the last solution
        self.largest_gap = 0.0  # of the solutions so far

    def objective(self, weights, costs):
        """What is minimised, with the best offset."""
        live = np.flatnonzero(weights)
        norm = costs[live] @ abs(weights[live])
        return float(norm + self.C * self.data.least_hinge(weights))

    def solve(self, sizes, C, rest=0.0):
        """Solve for these sizes and this C.

        The duality gap is relative to what is minimised plus `rest`, which the caller adds to it.

        Raises
        ------
        SubproblemError
            If the solution is not verified by its duality gap.
        """
        with np.errstate(divide="ignore"):
            costs = 1 / sizes  # infinite where there is no column
        self.C = C
        self.set_upper(C * self.data.sample_weight)
        self.run(costs)
        # A multiplier pulls along its row, so weights have the signs that those of planes have not.
        weights, objective = self.drop_negligible(-self.weights(costs), costs, rest)
        # Where no weight is optimal, the upper bounds may be the better multipliers.
        attempts = self.multipliers(), self.upper
        bound = max(self.bound(multipliers, costs, weights) for multipliers in attempts)
        gap = max(0.0, float((objective - bound) / (objective + rest)))
        what = f"the linear program, which the solver calls {self.status!r},"
        remedy = f"a smaller C than {C:g}, or scale=True if it is False"
        require_verified(gap, GAP, what, remedy, self.data.sample_weight.max())
        self.largest_gap = max(self.largest_gap, gap)
        return Solution(weights, self.data.least_hinge(weights), objective, gap)

    def bound(self, multipliers, costs, weights):
        """Return what no weights get below that are at most ten times the largest found.

        Where none are found, no weights at all get below it. Constraints hold up to rounding,
        of which a part of a cost next to nothing would be a large one.
        """
        certain = self.feasible(multipliers, costs)[1]
        if not weights.any():
            return certain
        multipliers, total = self.feasible(multipliers, np.full(len(costs), np.inf))
        excess = np.maximum(self.pulls(multipliers) - costs, 0).sum()
        return max(certain, total - 10 * abs(weights).max() * excess)

    def entry(self, most):
        """Return the largest C at which no weight is optimal, if all sizes are 1.

        It is None if no weight is needed even at the most that is allowed. Otherwise it is the
        smallest ratio of the norm to what it saves of the loss. Each C tried is the ratio of the
        last solution, so that these C fall to it.
        """
        ones = np.ones(self.data.n_features)
        entry = None
        C = min(10 * self.too_small(), most)
        solution = self.solve(ones, C)
        while C < most and not solution.weights.any():
            C = min(10 * C, most)
            solution = self.solve(ones, C)
        while solution.weights.any():
            saved = self.data.hinge_of_nothing() - solution.hinge
            ratio = abs(solution.weights).sum() / saved
            if ratio >= C * (1 - NO_RISE):
                return C
            entry = C = ratio
            solution = self.solve(ones, C)
        return entry

    def too_small(self, costs=1.0):
        """Return a C at which no weight is optimal: the largest if the classes weigh the same."""
        pulls = self.pulls(balance(self.data.sample_weight, self.data.signs))
        return 1 / max((pulls / costs).max(), 1 / LARGEST_C)


def nothing_gains(data):
    """Return whether no weights, however large, have a smaller hinge loss than none."""
    signed = (data.Z * data.signs[:, None]).T
    sizes = abs(signed).max(axis=1, initial=0)
    signed = signed[sizes > 0] / sizes[sizes > 0, None]
    largest = data.sample_weight.max()
    model = DualModel(data.sample_weight / largest)
    model.add(np.vstack([data.signs, signed]), np.zeros(1 + len(signed)))
    model.run()
    least = model.columns().sum() * largest
    return bool(least >= (1 - NO_RISE) * data.hinge_of_nothing())
