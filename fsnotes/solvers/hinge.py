"""The hinge loss: offsets and multipliers that suit it, and its linear programs."""

from dataclasses import dataclass

import highspy
import numpy as np

from fsnotes.errors import SubproblemError

__all__ = [
    "LARGEST_C",
    "DualModel",
    "HingeProgram",
    "Solution",
    "WeightedProgram",
    "balanced",
    "best_offset",
    "remedy",
]

NEGLIGIBLE = 1e-6  # part of the largest weight, in units of selection, that counts as zero
LOST = 1e-9  # part of an objective that counts as nothing
GAP = 1e-7  # relative duality gap of an answer that counts as verified
BATCH = 100  # features that join the linear program at a time
LARGEST_C = 1e6  # beyond it, rounding of the margins costs more than the gap allows


class Solution:
    """Weights, the best offset for them, their objective and its relative distance to a bound."""

    def __init__(self, program, C, weights, bound):
        self.weights = weights
        kinks = program.signs - program.Z @ weights
        self.offset = best_offset(kinks, program.signs, program.shares)
        self.norm = float(program.costs @ abs(weights))
        self.loss = program.loss(weights, self.offset)
        self.objective = self.norm + C * self.loss
        self.duality_gap = max(0.0, (self.objective - bound) / self.objective)


class HingeProgram:
    """Minimise ``costs @ |w| + C * shares @ hinge losses``, for one or several C."""

    def __init__(self, Z, signs, shares, costs):
        self.Z, self.signs, self.shares, self.costs = Z, signs, shares, costs
        self.rows = (Z * signs[:, None]).T
        self.counts = {"linear program": 0, "pivot": 0}

    def solve(self, C):
        """The solution, without its negligible weights where they gain nothing, once verified."""
        weights, bound, status = self._solved(C)
        heavy = abs(weights) > NEGLIGIBLE * abs(weights).max(initial=0)
        solution = Solution(self, C, weights, bound)
        for fewer in (np.zeros(len(weights)), np.where(heavy, weights, 0)):
            tried = Solution(self, C, fewer, bound)
            if tried.objective <= solution.objective * (1 + LOST):
                solution = tried
                break
        if solution.duality_gap <= GAP:
            return solution
        raise SubproblemError(
            f"the linear program was not solved: duality gap {solution.duality_gap:.1e}, more than "
            f"{GAP:g}; the solver says {status!r}. {remedy(C, self.shares)}"
        )

    def entry(self, most):
        """Largest C at which no weight is optimal, or None if none is needed at the most allowed.

        It is the smallest ratio of the norm to what it saves of the loss; each C tried is the
        ratio of the last solution, so they fall to it.
        """
        nothing = Solution(self, 1.0, np.zeros(len(self.costs)), 0.0)
        entry, C = None, min(10 * self.too_small(), most)
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
        """A C at which no weight is optimal; the largest such if the classes weigh the same."""
        pulls = abs(self.rows @ balanced(self.shares, self.signs)) / self.costs
        return 1 / max(pulls.max(), 1 / LARGEST_C)

    def loss(self, weights, offset):
        margins = self.signs * (self.Z @ weights + offset)
        return float(self.shares @ np.maximum(0, 1 - margins))

    def _solved(self, C):
        """Weights, a lower bound of the objective that is certain, and the solver's last word.

        The dual: maximise the sum of multipliers from 0 to C times the share of each row, with
        ``|sum of sign * multiplier * feature| <= cost`` for each feature, and 0 for the offset.
        """
        prices = C * self.shares
        size = min(1.0, prices.max())  # of the multipliers, which the solver gets near 1
        model = DualModel(prices / size)
        model.add(self.signs[None], np.zeros(1))
        pulls = abs(self.rows @ prices) / self.costs
        present = np.zeros(len(pulls), dtype=bool)
        batch = np.argsort(-pulls, kind="stable")[:BATCH]
        multipliers, joined, status = prices, [], "nothing"
        while len(batch):
            present[batch] = True
            joined.extend(batch)
            model.add(self.rows[batch] / self.costs[batch, None], np.full(len(batch), 1 / size))
            status = model.run()
            multipliers = model.columns() * size
            pulls = abs(self.rows @ multipliers) / self.costs
            violated = np.flatnonzero((pulls > 1 + 1e-9) & ~present)
            batch = violated[np.argsort(-pulls[violated], kind="stable")[:BATCH]]
        self.counts["linear program"] += 1
        self.counts["pivot"] += model.pivots
        weights = np.zeros(len(pulls))
        weights[joined] = -model.duals()[1:] / self.costs[joined]
        # where no weight is optimal, the prices themselves may be the better multipliers
        bound = max(self._bound(tried, prices) for tried in (multipliers, prices))
        return weights, bound, status

    def _bound(self, multipliers, prices):
        """Sum of the multipliers, once they are made feasible."""
        multipliers = balanced(np.clip(multipliers, 0, prices), self.signs)
        excess = (abs(self.rows @ multipliers) / self.costs).max(initial=1)
        return float(multipliers.sum() / excess)


class DualModel:
    """Maximise the sum of variables between their bounds, under symmetric constraints.

    Lower bounds are 0, and each unit of a variable gains 1, unless others are given.
    """

    def __init__(self, bounds, lower=None, gains=None):
        count = len(bounds)
        lower = np.zeros(count) if lower is None else lower
        gains = np.ones(count) if gains is None else gains
        self.pivots = 0
        self.places = np.arange(count, dtype=np.int32)
        self.highs = highspy.Highs()
        # not "threads", which fails where the process has begun with another number of them
        for name, value in {
            "output_flag": False,
            "presolve": "off",
            "solver": "simplex",
            "simplex_strategy": 1,  # the dual method: every variable at its bound is a start
            "parallel": "off",
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
        }.items():
            self.highs.setOptionValue(name, value)
        self.highs.addVars(count, lower, bounds)
        self.highs.changeColsCost(count, self.places, -gains)

    def add(self, rows, limits):
        """Constraints ``|row @ variables| <= limit``."""
        count, width = rows.shape
        starts = np.arange(0, rows.size, width, dtype=np.int32)
        places = np.tile(self.places, count)
        self.highs.addRows(count, -limits, limits, rows.size, starts, places, rows.ravel())

    def run(self):
        self.highs.run()
        self.pivots += max(0, self.highs.getInfo().simplex_iteration_count)
        return self.highs.modelStatusToString(self.highs.getModelStatus())

    def columns(self):
        return np.array(self.highs.getSolution().col_value)

    def duals(self):
        return np.array(self.highs.getSolution().row_dual)


@dataclass(frozen=True)
class Weighted:
    """Weights, the sum of hinge losses, and the relative distance of both to a bound."""

    weights: np.ndarray
    hinge: float
    duality_gap: float


class WeightedProgram:
    """Minimise ``sum |w_j| / size_j + C * hinge losses``, for sizes and C that change.

    The program of `HingeProgram`, which is kept: costs of weights are limits of its constraints,
    and prices of losses bounds of its variables, so that each solution starts from the last. Its
    constraints are not divided by the costs, of which some may be next to nothing.
    """

    def __init__(self, rows):
        self.rows = rows
        self.signed = (rows.Z * rows.signs[:, None]).T
        self.counts = {"linear program": 0, "pivot": 0}
        self.model, self.joined = None, np.zeros(0, dtype=int)

    def solve(self, sizes, C, rest=0.0):
        """The solution; its gap is a part of what is minimised plus the rest."""
        with np.errstate(divide="ignore"):
            costs = 1 / sizes  # infinite where there is no column
        prices = C * self.rows.shares
        unit = min(1.0, prices.max())  # of the multipliers, which the solver gets near 1
        pivots = self.begin(prices / unit, costs / unit)
        multipliers, status = prices, "nothing"
        while True:
            pulls = abs(self.signed @ multipliers)
            out = pulls > costs * (1 + 1e-9) + 1e-12 * abs(multipliers).max()
            out[self.joined] = False
            if not out.any() and status != "nothing":
                break
            batch = np.flatnonzero(out)
            batch = batch[np.argsort(-pulls[batch] / costs[batch], kind="stable")[:BATCH]]
            if len(batch):
                self.joined = np.append(self.joined, batch)
                self.model.add(self.signed[batch], costs[batch] / unit)
            status = self.model.run()
            multipliers = self.model.columns() * unit
        self.counts["linear program"] += 1
        self.counts["pivot"] += self.model.pivots - pivots
        weights = np.zeros(len(costs))
        weights[self.joined] = -self.model.duals()[1:]
        return self.verified(weights, costs, C, rest, multipliers, status)

    def begin(self, bounds, limits):
        """Take the bounds of variables and the limits of constraints; the pivots until then."""
        if self.model is None:
            self.model = DualModel(bounds)
            self.model.add(self.rows.signs[None], np.zeros(1))
            return 0
        highs = self.model.highs
        highs.changeColsBounds(len(bounds), self.model.places, np.zeros(len(bounds)), bounds)
        for place, limit in enumerate(limits[self.joined].tolist(), 1):
            highs.changeRowBounds(place, -limit, limit)
        return self.model.pivots

    def verified(self, weights, costs, C, rest, multipliers, status):
        """The weights, or none where these are as good, once they are known to be the best."""
        weights = np.where(abs(weights) > LOST * abs(weights).max(initial=0), weights, 0)
        live = np.flatnonzero(weights)
        hinge = self.rows.least_hinge(weights)
        objective = float(costs[live] @ abs(weights[live]) + C * hinge)
        nothing = self.rows.hinge_of_nothing()
        if C * nothing <= objective + LOST * (objective + rest):
            weights, hinge, objective = np.zeros(len(weights)), nothing, C * nothing
        prices = C * self.rows.shares
        bound = max(self.bound(a, prices, costs, weights) for a in (multipliers, prices))
        gap = max(0.0, float((objective - bound) / (objective + rest)))
        if gap <= GAP:
            return Weighted(weights, hinge, gap)
        raise SubproblemError(
            f"the linear program was not solved: duality gap {gap:.1e}, more than {GAP:g}; the "
            f"solver says {status!r}. {remedy(C, self.rows.shares)}"
        )

    def bound(self, multipliers, prices, costs, weights):
        """What no machine gets below whose weights are at most ten times the largest found.

        Where there are none, what no machine gets below. Constraints hold but for rounding, of
        which a part of a cost next to nothing would be a large one.
        """
        multipliers = balanced(np.clip(multipliers, 0, prices), self.rows.signs)
        pulls = abs(self.signed @ multipliers)
        if not weights.any():
            return multipliers.sum() / (pulls / costs).max(initial=1)
        excess = np.maximum(pulls - costs, 0).sum()
        return multipliers.sum() - 10 * abs(weights).max() * excess

    def too_small(self, costs):
        """A C at which no weight is optimal."""
        rows = self.rows
        return HingeProgram(rows.Z, rows.signs, rows.shares, costs).too_small()


def remedy(C, shares, other="scale=True if it is False"):
    """What to pass where a program of these prices of losses was not solved."""
    if shares.max() > LARGEST_C:
        return f"Pass a smaller sample_weight: a row weighs {shares.max():.3g}"
    return f"Pass a smaller C than {C:g}, or {other}"


def best_offset(kinks, signs, shares):
    """Offset of least hinge loss; the middle one if there are several.

    Parameters
    ----------
    kinks : ndarray
        Of each row the offset at which its margin is 1.
    signs : ndarray
        -1 or 1.
    shares : ndarray
        Weights of the losses.

    Returns
    -------
    float
    """
    # the loss is piecewise linear in the offset: each row adds its share to the slope
    order = np.argsort(kinks, kind="stable")
    slopes = np.cumsum(shares[order]) - shares @ (signs > 0)
    slack = 1e-12 * shares.sum()
    ends = np.searchsorted(slopes, [-slack, slack]).clip(max=len(order) - 1)
    return float(kinks[order[ends]].mean())


def balanced(multipliers, signs):
    """Those of the heavier class made smaller, so that both classes have the same sum."""
    sums = np.array([multipliers @ (signs == sign) for sign in (-1, 1)])
    parts = sums.min() / np.where(sums > 0, sums, 1)
    return multipliers * np.where(signs > 0, parts[1], parts[0])
