"""One plane of a twin machine: near the rows of a class, far from those of the other.

Of the problems (7) and (8) of the paper one is the other with its classes and signs exchanged:
minimise ``costs @ |w| + fit @ |F w + b| + hinge @ max(0, 1 + H w + b)`` and, for the second plane,
negate the solution.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fsnotes.errors import SubproblemError
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.hinge import LARGEST_C, balance, best_offset

__all__ = ["Plane", "PlaneProgram", "plane_loss", "remedy"]

GAP = 1e-6  # relative duality gap of an answer that counts as verified
NEGLIGIBLE = 1e-6  # part of the largest weight that counts as zero
LOST = 1e-9  # part of a value that counts as nothing
# options with which HiGHS begins again, one after the other, where it has lost its way
RESCUES = (
    {},
    {"simplex_strategy": 4},  # the primal method
    {"simplex_scale_strategy": 2},
    {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
)
VIOLATED = 1e-9  # relative; a constraint beyond it joins the program
BATCH = 50  # weights that join the linear program at a time
WIDE = 2  # times as many weights as rows, from which they join in batches


@dataclass(frozen=True)
class Plane:
    """Weights and offset, with what they are known to be worth.

    Attributes
    ----------
    weights : ndarray
    offset : float
    value : float
        Of the problem.
    bound : float
        No plane is worth less.
    multipliers : ndarray
        Of the rows near by and of the others, which prove that.
    """

    weights: np.ndarray
    offset: float
    value: float
    bound: float
    multipliers: np.ndarray

    @property
    def duality_gap(self):
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else 0.0


def remedy(prices):
    """What to pass where a plane with these prices of rows is not found."""
    if prices.max() > LARGEST_C:
        return "pass a smaller c_fit, c_hinge or sample_weight"
    return "pass a smaller c_fit and c_hinge, or scale=True if it is False"


def plane_loss(near, far, fit, hinge):
    """What rows cost whose signed distances are these: those near by, and those far off."""
    return float(fit @ abs(near) + hinge @ np.maximum(0, 1 + far))


class PlaneProgram:
    """The problem of one plane for costs of weights that change; infinite where there is none.

    Its dual has a variable for each row and a constraint for each weight: maximise the sum of beta
    for ``|F'alpha + H'beta| <= costs``, ``sum alpha + sum beta = 0``, ``|alpha| <= fit`` and ``0 <=
    beta <= hinge``. A weight without which the plane has to do frees its constraint, so that each
    solution starts from the last. A pivot takes O(m k) for m rows and the k weights that have
    joined.

    Parameters
    ----------
    near, far : ndarray of shape (m1, n) and (m2, n)
        F and H.
    fit, hinge : ndarray of shape (m1,) and (m2,)
        Prices of distances and of losses.
    lazy : bool, optional
        Whether weights join only when their constraint is violated; by default where they are
        more than twice the rows.
    """

    def __init__(self, near, far, fit, hinge, lazy=None):
        self.near, self.far, self.fit, self.hinge = near, far, fit, hinge
        self.rows = np.ascontiguousarray(np.vstack([near, far]).T)
        self.caps = np.concatenate([fit, hinge])
        self.gains = np.concatenate([np.zeros(len(fit)), np.ones(len(hinge))])
        self.unit = min(1.0, self.caps.max())  # of the multipliers, which HiGHS gets near 1
        n, m = self.rows.shape
        # HiGHS is given columns of size 1, and need not look for better units
        self.sizes = abs(self.rows).max(axis=1, initial=0)
        self.sizes[self.sizes == 0] = 1
        self.lazy = n > WIDE * m if lazy is None else lazy
        self.joined = np.zeros(0, dtype=int)
        self.limits = np.zeros(0)
        self.counts = {"linear program": 0, "pivot": 0}

    @cached_property
    def model(self):
        lower = np.concatenate([-self.fit, np.zeros(len(self.hinge))])
        model = DualModel(self.caps / self.unit, lower / self.unit, self.gains)
        model.highs.setOptionValue("simplex_scale_strategy", 0)
        model.add(np.ones((1, len(self.caps))), np.zeros(1))
        return model

    # ------------------------------------------------------------ what it is worth

    def loss(self, weights, offset):
        """What the rows cost."""
        live = np.flatnonzero(weights)
        near, far = (part[:, live] @ weights[live] + offset for part in (self.near, self.far))
        return plane_loss(near, far, self.fit, self.hinge)

    def best_offset(self, weights):
        """That of least loss; the middle one if there are several."""
        live = np.flatnonzero(weights)
        near, far = (part[:, live] @ weights[live] for part in (self.near, self.far))
        kinks = np.concatenate([-near, -near, -1 - far])
        signs = np.repeat([1.0, -1.0, -1.0], [len(near), len(near), len(far)])
        return best_offset(kinks, signs, np.concatenate([self.fit, self.fit, self.hinge]))

    def flat(self):
        """The least value without weights: of the offsets 0 and -1 the better one."""
        return float(min(self.fit.sum(), self.hinge.sum()))

    # ------------------------------------------------------------ solving

    def value(self, costs):
        """The least value but for rounding, without a proof."""
        highs = self._run(costs)
        return -highs.getInfo().objective_function_value * self.unit

    def solve(self, costs):
        """The plane, once it is verified, without weights that gain nothing."""
        found = self._found(costs)
        for options in RESCUES:
            if found.duality_gap <= GAP:
                return found
            self._again(options)
            found = self._found(costs)
        if found.duality_gap <= GAP:
            return found
        raise SubproblemError(
            f"the linear program of a plane was not solved: duality gap {found.duality_gap:.1e}, "
            f"more than {GAP:g}, where a row has a price up to {self.caps.max():.3g}; "
            + remedy(self.caps)
        )

    def _found(self, costs):
        self._run(costs)
        weights = np.zeros(len(costs))
        weights[self.joined] = self.model.duals()[1:] / self.sizes[self.joined]
        weights[~np.isfinite(costs)] = 0
        multipliers = self.model.columns() * self.unit
        bound = self._bound(multipliers, costs)
        found = self._plane(weights, costs, bound, multipliers)
        heavy = abs(weights) > NEGLIGIBLE * abs(weights).max(initial=0)
        most = found.value * (1 + LOST)
        if self.flat() <= most:
            found = self._plane(np.zeros(len(weights)), costs, bound, multipliers)
        elif (weights[~heavy] != 0).any():
            tried = self._plane(np.where(heavy, weights, 0), costs, bound, multipliers)
            found = tried if tried.value <= most else found
        return found

    def _optimum(self):
        """Run HiGHS, from where it stands or, if that leads nowhere, from the beginning."""
        status = self.model.run()
        for options in RESCUES:
            if status == "Optimal":
                break
            status = self._again(options)

    def _again(self, options):
        highs = self.model.highs
        highs.clearSolver()
        usual = {name: highs.getOptionValue(name)[1] for name in options}
        for name, value in options.items():
            highs.setOptionValue(name, value)
        status = self.model.run()
        for name, value in usual.items():
            highs.setOptionValue(name, value)
        return status

    def _plane(self, weights, costs, bound, multipliers):
        offset = self.best_offset(weights)
        live = np.flatnonzero(weights)
        value = float(costs[live] @ abs(weights[live])) + self.loss(weights, offset)
        return Plane(weights, offset, value, bound, multipliers)

    def _run(self, costs):
        """HiGHS at the optimum for these costs, with all constraints that matter."""
        self._price(costs)
        model, pivots = self.model, self.model.pivots
        if not len(self.joined):
            self._join(np.flatnonzero(self.pulls(self.gains * self.caps) > 0), costs)
        while True:
            self._optimum()
            self.counts["linear program"] += 1
            if len(self.joined) == len(costs):
                break
            pulls = self.pulls(model.columns() * self.unit)
            out = pulls > costs * (1 + VIOLATED) + 1e-12 * self.caps.max()
            out[self.joined] = False
            if not out.any():
                break
            self._join(np.flatnonzero(out), costs, pulls)
        self.counts["pivot"] += model.pivots - pivots
        return model.highs

    def pulls(self, multipliers):
        return abs(self.rows @ multipliers)

    def _join(self, features, costs, pulls=None):
        if not self.lazy:
            features = np.setdiff1d(np.arange(len(costs)), self.joined)
        elif len(features) > BATCH:
            pulls = self.pulls(self.gains * self.caps) if pulls is None else pulls
            order = np.argsort(-pulls[features] / costs[features], kind="stable")
            features = features[order[:BATCH]]
        if not len(features):
            return
        self.joined = np.append(self.joined, features)
        limits = costs[features]
        self.limits = np.append(self.limits, limits)
        sizes = self.sizes[features]
        self.model.add(self.rows[features] / sizes[:, None], limits / sizes / self.unit)

    def _price(self, costs):
        """Change the limits of the constraints of those that have joined."""
        limits = costs[self.joined]
        scaled = limits / self.sizes[self.joined] / self.unit
        for k in np.flatnonzero(limits != self.limits).tolist():
            limit = float(scaled[k])
            self.model.highs.changeRowBounds(k + 1, -limit, limit)
        self.limits = limits

    # ------------------------------------------------------------ proofs

    def feasible(self, multipliers, costs):
        """Multipliers that prove a bound: made to meet their constraints, which rounding does not.

        Their sum is a lower bound of the value for these costs.
        """
        m1 = len(self.fit)
        lower = np.concatenate([-self.fit, np.zeros(len(self.hinge))])
        multipliers = np.clip(multipliers, lower, self.caps)
        signs = np.where(multipliers > 0, 1.0, -1.0)
        multipliers = signs * balance(abs(multipliers), signs)
        with np.errstate(invalid="ignore"):
            excess = (self.pulls(multipliers) / costs).max(initial=1)
        return multipliers / excess, float(multipliers[m1:].sum() / excess)

    def _bound(self, multipliers, costs):
        return max(0.0, self.feasible(multipliers, costs)[1])

    # ------------------------------------------------------------ trials

    def basis(self):
        """Where the solver stands, to go back to."""
        return self.model.highs.getBasis(), len(self.joined)

    def restore(self, basis, costs):
        """Go back to where it stood for these costs, without the weights that joined since."""
        saved, count = basis
        since = np.arange(count, len(self.joined), dtype=np.int32)
        if len(since):
            self.model.highs.deleteRows(len(since), 1 + since)
            self.joined, self.limits = self.joined[:count], self.limits[:count]
        self._price(costs)
        self.model.highs.setBasis(saved)

    def begin_at(self, basis):
        """Start from a basis of another program of the same size, if that has all its weights."""
        saved, count = basis
        if not self.lazy and count == len(self.rows):
            self._join(np.arange(count), np.ones(count))
            self.model.highs.setBasis(saved)
