"""Linear programs of the hinge loss: with a weighted l1 norm, and with no penalty at all."""

from dataclasses import dataclass

import numpy as np

from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT
from fsnotes.errors import SubproblemError
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.hinge import LARGEST_C, HingeData, balance, best_offset

__all__ = ["HingeProgram", "Solution", "WeightedProgram", "nothing_gains"]

LOST = 1e-9  # part of an objective, or of the largest weight, that counts as nothing
GAP = 1e-7  # relative duality gap of an answer that counts as verified
BATCH = 100  # features that join the linear program at a time


class Solution:
    """Weights, the best offset for them, their objective and its relative distance to a bound."""

    def __init__(self, program, C, weights, bound):
        self.weights = weights
        kinks = program.signs - program.Z @ weights
        self.offset = best_offset(kinks, program.signs, program.sample_weight)
        self.norm = float(program.costs @ abs(weights))
        self.loss = program.loss(weights, self.offset)
        self.objective = self.norm + C * self.loss
        self.duality_gap = max(0.0, (self.objective - bound) / self.objective)


class HingeProgram(HingeData):
    """Minimise ``costs @ |w| + C * sample_weight @ hinge losses``, for one or several C."""

    def __init__(self, Z, signs, sample_weight, costs):
        super().__init__(Z, signs, sample_weight)
        self.costs = costs
        self.signed = (Z * signs[:, None]).T
        self.counts = {"linear program": 0, "pivot": 0}

    def solve(self, C):
        """Solve for this C; weights that are negligible are zero where they gain nothing.

        Raises
        ------
        SubproblemError
            If the solution is not verified by its duality gap.
        """
        weights, bound, status = self._solve_dual(C)
        large = abs(weights) > NEGLIGIBLE_WEIGHT * abs(weights).max(initial=0)
        solution = Solution(self, C, weights, bound)
        for fewer in (np.zeros(len(weights)), np.where(large, weights, 0)):
            tried = Solution(self, C, fewer, bound)
            if tried.objective <= solution.objective * (1 + LOST):
                solution = tried
                break
        if not solution.duality_gap <= GAP:
            raise unverified(solution.duality_gap, status, C, self.sample_weight)
        return solution

    def entry(self, most):
        """Return the largest C at which no weight is optimal.

        It is None if no weight is needed even at the most that is allowed. Otherwise it is the
        smallest ratio of the norm to what it saves of the loss. Each C tried is the ratio of the
        last solution, so that these C fall to it.
        """
        nothing = Solution(self, 1.0, np.zeros(len(self.costs)), 0.0)
        entry = None
        C = min(10 * self.too_small(), most)
        solution = self.solve(C)
        while C < most and not solution.weights.any():
            C = min(10 * C, most)
            solution = self.solve(C)
        while solution.weights.any():
            ratio = solution.norm / (nothing.loss - solution.loss)
            if ratio >= C * (1 - LOST):
                return C
            entry = C = ratio
            solution = self.solve(C)
        return entry

    def too_small(self):
        """Return a C at which no weight is optimal: the largest if the classes weigh the same."""
        slopes = abs(self.signed @ balance(self.sample_weight, self.signs)) / self.costs
        return 1 / max(slopes.max(), 1 / LARGEST_C)

    def loss(self, weights, offset):
        """Return the hinge losses, by all columns at once."""
        margins = self.signs * (self.Z @ weights + offset)
        return float(self.sample_weight @ np.maximum(0, 1 - margins))

    def _solve_dual(self, C):
        """Return weights, a lower bound of the objective that is certain, and the last status.

        The dual problem is: maximise the sum of multipliers from 0 to C times the weight of each
        row, with ``|sum of sign * multiplier * feature| <= cost`` for each feature, and 0 for the
        offset.
        """
        caps = C * self.sample_weight
        scaled = HingeData(self.Z / self.costs, self.signs, self.sample_weight)
        program = WeightedProgram(scaled)
        weights, multipliers, status = program.solve_dual(np.ones(self.n_features), caps)
        for kind, count in program.counts.items():
            self.counts[kind] += count
        return weights / self.costs, self._best_bound(multipliers, caps), status

    def _best_bound(self, multipliers, caps):
        """Return a certain lower bound of the objective, the better of two."""
        # Where no weight is optimal, the caps themselves may be the better multipliers.
        return max(self._bound(tried, caps) for tried in (multipliers, caps))

    def _bound(self, multipliers, caps):
        """Return the sum of the multipliers, once they are made feasible."""
        multipliers = balance(np.clip(multipliers, 0, caps), self.signs)
        excess = (abs(self.signed @ multipliers) / self.costs).max(initial=1)
        return float(multipliers.sum() / excess)


@dataclass(frozen=True)
class Weighted:
    """Weights, the sum of hinge losses, and the relative distance of both to a bound."""

    weights: np.ndarray
    hinge: float
    duality_gap: float


class WeightedProgram:
    """Minimise ``sum |w_j| / size_j + C * hinge losses``, for sizes and C that change.

    It is the program of `HingeProgram`, and its model is kept: costs of weights are limits of its
    constraints, and costs of losses bounds of its variables, so that each solution starts from
    the last. The constraints are not divided by the costs, of which some may be next to nothing.
    """

    def __init__(self, data):
        self.data = data
        self.signed = (data.Z * data.signs[:, None]).T
        self.counts = {"linear program": 0, "pivot": 0}
        self.largest_gap = 0.0  # of the solutions so far
        self.model = None
        self.joined = np.zeros(0, dtype=int)

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
        weights, multipliers, status = self.solve_dual(costs, C * self.data.sample_weight)
        return self.verify(weights, costs, C, rest, multipliers, status)

    def solve_dual(self, costs, caps):
        """Return weights, multipliers and the solver's last word, for these costs and caps.

        Constraints join the program by batches, as long as some are violated.
        """
        unit = min(1.0, caps.max())  # of the multipliers, which the solver gets near 1
        pivots = self.set_limits(caps / unit, costs / unit)
        multipliers = caps
        status = "nothing"
        while True:
            slopes = abs(self.signed @ multipliers)
            violated = slopes > costs * (1 + 1e-9) + 1e-12 * abs(multipliers).max()
            violated[self.joined] = False
            if not violated.any() and status != "nothing":
                break
            batch = np.flatnonzero(violated)
            batch = batch[np.argsort(-slopes[batch] / costs[batch], kind="stable")[:BATCH]]
            if len(batch):
                self.joined = np.append(self.joined, batch)
                self.model.add(self.signed[batch], costs[batch] / unit)
            status = self.model.run()
            multipliers = self.model.columns() * unit
        self.counts["linear program"] += 1
        self.counts["pivot"] += self.model.pivots - pivots
        weights = np.zeros(len(costs))
        weights[self.joined] = -self.model.duals()[1:]
        return weights, multipliers, status

    def set_limits(self, bounds, limits):
        """Set the bounds of variables and the limits of constraints; return the pivots so far."""
        if self.model is None:
            self.model = DualModel(bounds)
            self.model.add(self.data.signs[None], np.zeros(1))
            return 0
        highs = self.model.highs
        highs.changeColsBounds(len(bounds), self.model.places, np.zeros(len(bounds)), bounds)
        for place, limit in enumerate(limits[self.joined].tolist(), 1):
            highs.changeRowBounds(place, -limit, limit)
        return self.model.pivots

    def verify(self, weights, costs, C, rest, multipliers, status):
        """Return the weights, or none where these are as good, once they are known to be best."""
        data = self.data
        weights = np.where(abs(weights) > LOST * abs(weights).max(initial=0), weights, 0)
        live = np.flatnonzero(weights)
        hinge = data.least_hinge(weights)
        objective = float(costs[live] @ abs(weights[live]) + C * hinge)
        nothing = data.hinge_of_nothing()
        if C * nothing <= objective + LOST * (objective + rest):
            weights = np.zeros(len(weights))
            hinge = nothing
            objective = C * nothing
        caps = C * data.sample_weight
        bound = max(self.bound(a, caps, costs, weights) for a in (multipliers, caps))
        gap = max(0.0, float((objective - bound) / (objective + rest)))
        if not gap <= GAP:
            raise unverified(gap, status, C, data.sample_weight)
        self.largest_gap = max(self.largest_gap, gap)
        return Weighted(weights, hinge, gap)

    def bound(self, multipliers, caps, costs, weights):
        """Return what no weights get below that are at most ten times the largest found.

        Where none are found, no weights at all get below it. Constraints hold up to rounding,
        of which a part of a cost next to nothing would be a large one.
        """
        multipliers = balance(np.clip(multipliers, 0, caps), self.data.signs)
        slopes = abs(self.signed @ multipliers)
        if not weights.any():
            return multipliers.sum() / (slopes / costs).max(initial=1)
        excess = np.maximum(slopes - costs, 0).sum()
        return multipliers.sum() - 10 * abs(weights).max() * excess

    def too_small(self, costs):
        """Return a C at which no weight is optimal."""
        data = self.data
        return HingeProgram(data.Z, data.signs, data.sample_weight, costs).too_small()


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
    return bool(least >= (1 - LOST) * data.hinge_of_nothing())


def unverified(gap, status, C, sample_weight):
    """Return the error of a linear program whose duality gap is too large."""
    message = (
        f"the linear program was not solved: duality gap {gap:.1e}, more than {GAP:g}; the solver "
        f"says {status!r}. "
    )
    heaviest = sample_weight.max()
    if heaviest > LARGEST_C:
        message += f"Pass a smaller sample_weight: a row weighs {heaviest:.3g}"
    else:
        message += f"Pass a smaller C than {C:g}, or scale=True if it is False"
    return SubproblemError(message)
