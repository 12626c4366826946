"""Machines whose penalty is weighed anew by the weights of the last: rows, runs and steps."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.mm import stages
from fsnotes.errors import SubproblemError, warn
from fsnotes.solvers.hinge import DualModel, best_offset
from fsnotes.solvers.margin import SoftMargin

__all__ = ["Reweighted", "Rows", "Run", "beyond_rounding", "heaviest"]

FLOOR = 1e-6  # of the largest weight of the first machine; smaller ones are zero for good
DESCENT = (1024, 256, 64, 16, 8, 4, 2, 1)  # times C, the stages from a large one
DEAREST = 1e8  # price of errors
HALVES = 30  # of C at most, until a number of features is reached
CANCELLED = 1e-12  # of the terms of a sum, what is left of it by rounding
STILL = 1e-6  # part of the loss without weights, as much as a weight of rounding may change
NO_LESS = 1e-9  # part of a loss by which another has to be less
NOTHING_GAINS = "no weights, at any C, have smaller hinge losses than none"
REFIT_OFF = "refit=False"
SAME, ROUNDED = 1e-9, 1e-14  # of the parts of a value, and of all prices, what may be rounding


def descending(C):
    """Prices of the stages that end at C."""
    return [m * C for m in DESCENT if m == 1 or m * C <= DEAREST]


def heaviest(weights, size):
    """Weights of which all but so many are zero."""
    chosen = np.argsort(-abs(weights), kind="stable")[:size]
    kept = np.zeros(len(weights))
    kept[chosen] = weights[chosen]
    return kept


def beyond_rounding(margin, rows):
    """Weights, each a sum over rows, without those of which nothing but rounding is left.

    Where errors are dear, a sum may be next to nothing beside its terms, and yet move the scores.
    """
    sizes, columns = abs(margin.weights), abs(rows.Z)
    cancelled = sizes <= CANCELLED * (margin.multipliers @ columns / 2)
    still = sizes * (rows.shares @ columns) <= STILL * rows.hinge_of_nothing()
    return np.where(cancelled & still, 0, margin.weights)


class Rows:
    """Rows, their signs and their weights, and the sum of hinge losses of a machine on them."""

    def __init__(self, Z, signs, shares):
        self.Z, self.signs, self.shares = Z, signs, shares
        self.n_features, self.count = Z.shape[1], shares.sum()
        self.machine = SoftMargin(Z, signs, shares)

    @classmethod
    def measured(cls, X, positive, weights, used, center, units):
        """Of the features in use, from a center and in units of their own."""
        # columns one after the other, since most steps need a few of them
        Z = ((X.T[used] - center[:, None]) / units[:, None]).T
        return cls(Z, np.where(positive, 1.0, -1.0), weights)

    def scores(self, weights):
        live = np.flatnonzero(weights)
        return self.Z[:, live] @ weights[live]

    def offset(self, weights):
        """Offset of least loss; the middle one if there are several."""
        return best_offset(self.signs - self.scores(weights), self.signs, self.shares)

    def hinge(self, weights, offset):
        margins = self.signs * (self.scores(weights) + offset)
        return float(self.shares @ np.maximum(0, 1 - margins))

    def least_hinge(self, weights):
        return self.hinge(weights, self.offset(weights))

    def hinge_of_nothing(self):
        positive = self.shares @ (self.signs > 0)
        return 2 * float(min(positive, self.shares.sum() - positive))

    def tell_nothing(self):
        """Whether no machine, however large its weights, has a smaller loss than none."""
        columns = (self.Z * self.signs[:, None]).T
        sizes = abs(columns).max(axis=1, initial=0)
        columns = columns[sizes > 0] / sizes[sizes > 0, None]
        shares = self.shares / self.shares.max()
        model = DualModel(shares)
        model.add(np.vstack([self.signs, columns]), np.zeros(1 + len(columns)))
        model.run()
        least = model.columns().sum() * self.shares.max()
        return bool(least >= (1 - NO_LESS) * self.hinge_of_nothing())


@dataclass
class Run:
    """A sequence of machines, each penalised by the weights of the last.

    Attributes
    ----------
    rows : Rows
    p : float
    least : int
        A step that leaves fewer features ends the run.
    visited : list of tuple
        C and weights of each machine.
    counts : dict
        Of the work done.
    margin : object
        The last machine, from which the next one starts.
    floor : float
        Weights of at most this size are zero for good.
    largest_gap : float
        Of the machines on the way.
    ended : bool
        Whether a step would have left too few features.
    unsolved : Exception, optional
        Why the last step was not taken.
    result : Result
        Of the steps, once they have come to an end.
    end : int
        How many of the machines visited lead to that.
    """

    rows: Rows
    p: float
    least: int = 0
    visited: list = field(default_factory=list)
    counts: dict = field(default_factory=lambda: {"quadratic program": 0})
    margin: object = None
    floor: float = 0.0
    largest_gap: float = 0.0
    ended: bool = False
    unsolved: Exception | None = None
    result: object = None
    end: int = 0

    def begin(self, prices):
        """Solve for equal penalties at the first price that can be; the prices from there on."""
        for place, C in enumerate(prices):
            try:
                weights = self.first(C)
            except SubproblemError:
                if place == len(prices) - 1:
                    raise
                continue
            self.floor = FLOOR * abs(weights).max(initial=0)
            self.visited.append((C, self.floored(weights)))
            return prices[place:]

    def first(self, C):
        """The machine of equal penalties."""
        self.solve(np.ones(self.rows.n_features), C)
        return beyond_rounding(self.margin, self.rows)

    def solve(self, sizes, C):
        self.margin = self.count(self.rows.machine.solve(sizes, C, start=self.margin))
        return self.margin.weights

    def count(self, margin):
        self.counts["quadratic program"] += 1
        for kind, count in margin.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count
        self.largest_gap = max(self.largest_gap, float(margin.duality_gap))
        return margin

    def floored(self, weights):
        return np.where(abs(weights) > self.floor, weights, 0)

    def go_on(self, prices, tol, max_iter):
        """Steps at one price after the other; their history."""
        with warnings.catch_warnings():
            # of a stage on the way, or a run aside, it is nobody's concern
            warnings.filterwarnings("ignore", "not converged in", ConvergenceWarning)
            _, result = stages(self.stages(prices), self.visited[-1][1], tol=tol, max_iter=max_iter)
        status = result.status if self.unsolved is None else "stalled"
        return replace(result, status=status, duality_gap=self.largest_gap)

    def stages(self, prices):
        for C in prices:
            self.unsolved = None
            yield self.problem(C)
            if self.over():
                return

    def problem(self, C):
        """What the steps at this price descend."""
        return Reweighted(self, C)

    def over(self):
        """Whether no lower price is wanted."""
        return self.ended

    def warn_of_end(self, tol, max_iter):
        """Say so where the steps have not come to an end of their own."""
        if self.result.status == "stalled":
            words = (
                "a step was not solved to verified accuracy, so the point before it is kept: "
                f"{self.unsolved}"
            )
        elif self.result.status == "max_iter":
            words = (
                f"not converged in {max_iter} steps: the last changed the weights by "
                f"{self.result.steps[-1].change:.1e}, more than tol={tol:g}; raise max_iter or tol"
            )
        else:
            return
        warn(words, ConvergenceWarning)

    def supports(self):
        """The supports met, the smallest first, and of one size the last first."""
        met = dict.fromkeys(tuple(np.flatnonzero(w)) for _, w in reversed(self.visited))
        return sorted((np.array(s) for s in met if s), key=len)

    def supports_of(self, size):
        """The heaviest features of each machine that has so many, the last first, as tuples."""
        for _, weights in reversed(self.visited):
            kept = heaviest(weights, size)
            if np.count_nonzero(kept) == size:
                yield tuple(np.flatnonzero(kept))


class Reweighted:
    """``C * hinge losses + (2 / p) sum |w|**p``, for `majorize_minimize`.

    With ``p = 0``, ``2 sum log |w|``, where weights below the floor count as the floor.
    """

    def __init__(self, run, C):
        self.run, self.C = run, C
        self.measured = None, np.nan, np.nan

    def value(self, weights):
        return self.measure(weights)[0]

    def measure(self, weights, hinge=None):
        """The value, and a rise that is no more than rounding."""
        if self.measured[0] is not weights:
            loss = self.C * (self.run.rows.least_hinge(weights) if hinge is None else hinge)
            penalties = self.penalties(weights)
            rounding = SAME * (loss + abs(penalties).sum()) + ROUNDED * self.C * self.run.rows.count
            self.measured = weights, float(loss + penalties.sum()), float(rounding)
        return self.measured[1:]

    def penalties(self, weights):
        p, floor = self.run.p, self.run.floor
        if p > 0:
            return 2 / p * abs(weights) ** p
        # where all is zero from the start, nothing is measured
        return 2 * np.log(np.maximum(abs(weights), floor)) if floor > 0 else np.zeros(1)

    def tangent(self, weights):
        """Sizes of columns with which ``|u|_2^2`` for ``w = sizes * u`` lies above the penalty."""
        return abs(weights) ** (1 - self.run.p / 2)

    def minimize(self, sizes, weights):
        """The machine on these columns; a step that is not verified is not taken."""
        run = self.run
        if run.ended or not weights.any():
            return weights
        value, rounding = self.measure(weights)
        try:
            new = self.dropped(sizes, value)
        except SubproblemError as error:
            run.unsolved = error
            return weights
        if np.count_nonzero(new) < run.least:
            run.ended = True
            return weights
        if value < self.measure(new)[0] <= value + rounding:
            return weights  # no gain but for rounding
        run.visited.append((self.C, new))
        return new

    def dropped(self, sizes, value):
        """The next weights, without those below the floor.

        Where errors are dear, even these matter. Then the others are found anew without them, and
        where that costs more than it gains, nothing is dropped in this step.
        """
        run = self.run
        found = run.solve(sizes, self.C)
        new = run.floored(found)
        if np.count_nonzero(new) == np.count_nonzero(found):
            self.measure(new, run.margin.hinge)
            return new
        if self.measure(new)[0] <= value:
            return new
        again = run.floored(run.solve(np.where(new != 0, sizes, 0), self.C))
        if self.measure(again)[0] <= value:
            return again
        return min((new, again, found), key=lambda weights: self.measure(weights)[0])
