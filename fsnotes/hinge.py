"""The hinge loss: what machines that minimise it share, and its linear programs."""

import highspy
import numpy as np

from fsnotes.base import SparseClassifier
from fsnotes.errors import SubproblemError
from fsnotes.moments import ClassMoments

__all__ = [
    "LARGEST_C",
    "DualModel",
    "HingeClassifier",
    "HingeProgram",
    "Solution",
    "counted",
    "distinct",
]

NEGLIGIBLE = 1e-6  # part of the largest weight, in units of selection, that counts as zero
LOST = 1e-9  # part of an objective that counts as nothing
GAP = 1e-7  # relative duality gap of an answer that counts as verified
BATCH = 100  # features that join the linear program at a time
LARGEST_C = 1e6  # beyond it, rounding of the margins costs more than the gap allows


class HingeClassifier(SparseClassifier):
    """A machine of few features that weighs hinge losses of rows.

    A subclass has the parameter ``scale`` and the methods ``_check_parameters()`` and
    ``_fit(X, positive, weights)``, which is given the rows of positive weight.
    """

    def fit(self, X, y, sample_weight=None):
        """Fit to data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels of one kind: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._forget()
        X, y, sample_weight = self._validated(X, y, sample_weight)
        X, positive, weights = counted(X, y == self.classes_[1], sample_weight)
        for label, some in zip(self.classes_.tolist(), [~positive, positive], strict=True):
            if not some.any():
                raise ValueError(
                    f"class {label!r} has only rows of weight zero; pass positive weights for some"
                )
        return self._fit(X, positive, weights)

    def _prepared(self, X, positive, weights):
        """Features that vary, their units, and a point amid the classes; sets ``scale_``."""
        moments = ClassMoments.from_data(X, positive, weights, classes=[False, True])
        _, unit = self._units(moments, moments.variances())
        used = np.flatnonzero(unit)
        return used, unit[used], moments.means_.mean(axis=0)


class Solution:
    """Weights, the best offset for them, their objective and its relative distance to a bound."""

    def __init__(self, program, C, weights, bound):
        self.weights = weights
        self.offset = program.best_offset(weights)
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
            f"{GAP:g}; the solver says {status!r}. Pass a smaller C than {C:g}, or scale=True"
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
        pulls = abs(self.rows @ self.balanced(self.shares)) / self.costs
        return 1 / max(pulls.max(), 1 / LARGEST_C)

    def best_offset(self, weights):
        """Offset of least loss; the middle one if there are several."""
        # the loss is piecewise linear in the offset: each row adds its share to the slope
        kinks = self.signs - self.Z @ weights
        order = np.argsort(kinks, kind="stable")
        slopes = np.cumsum(self.shares[order]) - self.shares @ (self.signs > 0)
        ends = np.searchsorted(slopes, [-1e-12, 1e-12]).clip(max=len(order) - 1)
        return float(kinks[order[ends]].mean())

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
        multipliers = self.balanced(np.clip(multipliers, 0, prices))
        excess = (abs(self.rows @ multipliers) / self.costs).max(initial=1)
        return float(multipliers.sum() / excess)

    def balanced(self, multipliers):
        """Those of the heavier class made smaller, so that both classes have the same sum."""
        sums = np.array([multipliers @ (self.signs == sign) for sign in (-1, 1)])
        parts = sums.min() / np.where(sums > 0, sums, 1)
        return multipliers * np.where(self.signs > 0, parts[1], parts[0])


class DualModel:
    """Maximise the sum of variables from 0 to their bounds, under symmetric constraints."""

    def __init__(self, bounds):
        self.pivots = 0
        self.places = np.arange(len(bounds), dtype=np.int32)
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
        self.highs.addVars(len(bounds), np.zeros(len(bounds)), bounds)
        self.highs.changeColsCost(len(bounds), self.places, -np.ones(len(bounds)))

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


def counted(X, positive, sample_weight):
    """Rows of positive weight."""
    if sample_weight is None:
        return X, positive, np.ones(len(X))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != positive.shape:
        raise ValueError(f"{len(X)} rows, but sample_weight has shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight has negative or infinite values; pass finite ones >= 0")
    counted = weights > 0
    return X[counted], positive[counted], weights[counted]


def distinct(X, positive, weights):
    """Rows in an order that is theirs alone, equal ones as one with the sum of their weights."""
    order = np.lexsort((positive, *X.T))
    X, positive = X[order], positive[order]
    new = np.append(True, (X[1:] != X[:-1]).any(axis=1) | (positive[1:] != positive[:-1]))
    weights = np.bincount(np.cumsum(new) - 1, weights[order])
    return X[new], positive[new], weights
