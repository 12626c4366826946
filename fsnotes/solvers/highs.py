"""The wrapper of HiGHS: linear programs that grow, each solved from the basis of the last."""

from collections import Counter
from functools import cached_property

import highspy
import numpy as np

from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT, NO_RISE
from fsnotes.errors import SubproblemError
from fsnotes.solvers.hinge import balance

__all__ = ["DualModel", "WeightProgram"]

VIOLATED = 1e-9  # part of its limit by which a constraint has to be violated to join a program
UNSOLVED = (
    "a linear program was not solved, since its numbers are too large; pass a smaller C or "
    "sample_weight, or columns of similar sizes"
)
BATCH = 64  # weights that join a program at a time: all of them in most data


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
        # The option "threads" is left alone: it fails where the process has begun with another
        # number of threads.
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

    def add(self, constraints, limits):
        """Add constraints ``|constraint @ variables| <= limit``, one a row."""
        count, width = constraints.shape
        starts = np.arange(0, constraints.size, width, dtype=np.int32)
        places = np.tile(self.places, count)
        values = constraints.ravel()
        rows = (count, -limits, limits, constraints.size, starts, places, values)
        # Values beyond its range are not taken.
        if self.highs.addRows(*rows) == highspy.HighsStatus.kError:
            raise SubproblemError(UNSOLVED)

    def run(self):
        """Solve the program as it stands, and return the solver's word on how that ended."""
        self.highs.run()
        self.pivots += max(0, self.highs.getInfo().simplex_iteration_count)
        return self.highs.modelStatusToString(self.highs.getModelStatus())

    def columns(self):
        """Return the values of the variables."""
        return self._found(self.highs.getSolution().col_value)

    def duals(self):
        """Return the multipliers of the constraints."""
        return self._found(self.highs.getSolution().row_dual)

    def _found(self, values):
        if not len(values):
            raise SubproblemError(UNSOLVED)
        return np.array(values)


class WeightProgram:
    """A linear program in weights with costs, by its dual, of which a weight is a constraint.

    The dual: maximise ``gains @ multipliers`` between a lower and an upper bound of each, where
    ``signs @ multipliers`` is 0 and ``|XT @ multipliers| <= costs``. A cost is infinite where a
    weight has to be zero. Constraints join when they are violated, and stay. Costs may change, and
    upper bounds, too: each solution starts from the last. A pivot takes O(m k) for m multipliers
    and the k weights that have joined.

    A subclass has a method ``objective(weights, costs)``, with the best offset. Several programs
    may share `counts`.
    """

    def __init__(self, XT, signs, upper, lower, gains, unit_size=False, counts=None):
        self.XT = XT
        self.signs = signs
        self.upper = upper
        self.lower = lower
        self.gains = gains
        self.unit_size = unit_size
        # Where HiGHS gets constraints of size 1, it need not look for better units itself.
        self.sizes = abs(XT).max(axis=1, initial=0) if unit_size else np.ones(len(XT))
        self.sizes[self.sizes == 0] = 1
        self.unit = min(1.0, upper.max())  # of the multipliers, which HiGHS gets near 1
        self.joined = np.zeros(0, dtype=int)
        self.limits = np.zeros(0)
        self.status = "nothing"  # the solver's word on how the last program ended
        self.counts = Counter() if counts is None else counts

    @cached_property
    def model(self):
        """The dual in HiGHS, which begins with the constraint of the offset alone."""
        model = DualModel(self.upper / self.unit, self.lower / self.unit, self.gains)
        if self.unit_size:
            model.highs.setOptionValue("simplex_scale_strategy", 0)
        model.add(self.signs[None], np.zeros(1))
        return model

    def run(self, costs):
        """Solve for these costs with all constraints that matter."""
        self.set_costs(costs)
        pivots = self.model.pivots
        if not len(self.joined):
            # Constraints that multipliers at their upper bounds pull at are likely to matter.
            pulls = self.pulls(self.gains * self.upper)
            self._join(np.flatnonzero(pulls > 0), costs, pulls)
        while True:
            self.status = self.model.run()
            if self.status != "Optimal" or len(self.joined) == len(costs):
                break
            pulls = self.pulls(self.multipliers())
            # The limit of a cost next to nothing is met up to a part of the multipliers.
            violated = pulls > costs * (1 + VIOLATED) + 1e-12 * self.upper.max()
            violated[self.joined] = False
            if not violated.any():
                break
            self._join(np.flatnonzero(violated), costs, pulls)
        self.counts["linear program"] += 1
        self.counts["pivot"] += self.model.pivots - pivots

    def multipliers(self):
        """Return the dual solution."""
        return self.model.columns() * self.unit

    def weights(self, costs):
        """Return the multipliers of the constraints, none where a cost is infinite."""
        weights = np.zeros(len(costs))
        weights[self.joined] = self.model.duals()[1:] / self.sizes[self.joined]
        return np.where(np.isfinite(costs), weights, 0)

    def drop_negligible(self, weights, costs, rest=0.0):
        """Return no weights, or those that are not negligible, where these are as good.

        Their objective is returned, too. It may rise by a small part of itself and `rest`.
        """
        objective = self.objective(weights, costs)
        most = objective + NO_RISE * (objective + rest)
        large = abs(weights) > NEGLIGIBLE_WEIGHT * abs(weights).max(initial=0)
        for fewer in (np.zeros(len(weights)), np.where(large, weights, 0)):
            value = self.objective(fewer, costs)
            if value <= most:
                return fewer, value
        return weights, objective

    def set_costs(self, costs):
        """Move the limits of the constraints that have joined to these costs."""
        limits = costs[self.joined]
        scaled = limits / self.sizes[self.joined] / self.unit
        for k in np.flatnonzero(limits != self.limits).tolist():
            limit = float(scaled[k])
            self.model.highs.changeRowBounds(k + 1, -limit, limit)
        self.limits = limits

    def set_upper(self, upper):
        """Change the upper bounds, and with them the unit of the multipliers."""
        self.upper = upper
        self.unit = min(1.0, upper.max())
        bounds = self.lower / self.unit, upper / self.unit
        self.model.highs.changeColsBounds(len(upper), self.model.places, *bounds)
        self.limits = np.full(len(self.joined), np.nan)  # all are set anew

    def _join(self, features, costs, pulls):
        """Let weights join, of many those whose constraints are violated most."""
        order = np.argsort(-pulls[features] / costs[features], kind="stable")
        self._add(features[order[:BATCH]], costs)

    def _add(self, features, costs):
        """Add the constraints of these weights."""
        if not len(features):
            return
        self.joined = np.append(self.joined, features)
        self.limits = np.append(self.limits, costs[features])
        sizes = self.sizes[features]
        self.model.add(self.XT[features] / sizes[:, None], costs[features] / sizes / self.unit)

    def pulls(self, multipliers):
        """The left-hand sides of the constraints, one for each weight."""
        return abs(self.XT @ multipliers)

    def feasible(self, multipliers, costs):
        """Return multipliers that meet their constraints exactly, and the bound that they prove.

        Those of HiGHS meet them up to rounding: they are clipped, balanced and made smaller.
        """
        multipliers = np.clip(multipliers, self.lower, self.upper)
        sides = np.where(self.signs * multipliers > 0, 1.0, -1.0)
        multipliers = self.signs * sides * balance(abs(multipliers), sides)
        with np.errstate(invalid="ignore"):
            excess = (self.pulls(multipliers) / costs).max(initial=1)
        return multipliers / excess, float(self.gains @ multipliers / excess)

    def basis(self):
        """Return where the solver stands, for `restore` and `begin_at`."""
        return self.model.highs.getBasis(), self.joined

    def restore(self, basis, costs):
        """Go back to a basis of these costs, and remove the constraints that joined since."""
        saved, joined = basis
        since = np.arange(len(joined), len(self.joined), dtype=np.int32)
        if len(since):
            self.model.highs.deleteRows(len(since), 1 + since)
            self.joined = joined
            self.limits = self.limits[: len(joined)]
        self.set_costs(costs)
        self.model.highs.setBasis(saved)

    def begin_at(self, basis):
        """Start a new program from a basis of another one of the same size."""
        saved, joined = basis
        self._add(joined, np.ones(len(self.XT)))
        self.model.highs.setBasis(saved)
