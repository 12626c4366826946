"""Reweighting: solutions one after the other, each penalised by the weights of the last.

`Reweighted` is the problem that the steps descend, for `majorize_minimize`. It owns the data and
the solver and knows nothing of the run that it is a part of. `Run` takes the steps, at one C after
the other, and collects the points that they pass.
"""

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.mm import rises, stages, warn_of_max_iter
from fsnotes.core.tolerances import CANCELLED, FLOOR
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.hinge import LARGEST_C, LESS
from fsnotes.solvers.hinge_programs import nothing_gains
from fsnotes.solvers.margin import SoftMargin

__all__ = [
    "Reweighted",
    "Run",
    "SoftMargins",
    "beyond_rounding",
    "descending",
    "heaviest",
    "logarithms",
    "warn_of_number",
]

DESCENT = (1024, 256, 64, 16, 8, 4, 2, 1)  # the stages have C multiplied by these, in turn
HALVES = 30  # C is halved at most so often, until a number of features is reached
STILL = 1e-6  # part of the loss without weights by which a weight of rounding may change scores
SAME = 1e-9  # part of the terms of an objective that may be rounding
ROUNDED = 1e-14  # part of the losses of all rows at margins of 0 that may be rounding


def descending(C):
    """Return the stages that end at C, each at most the largest C that is allowed."""
    return [m * C for m in DESCENT if m == 1 or m * C <= LARGEST_C]


def heaviest(weights, size):
    """Return the weights with all but so many of the largest set to zero."""
    chosen = np.argsort(-abs(weights), kind="stable")[:size]
    kept = np.zeros(len(weights))
    kept[chosen] = weights[chosen]
    return kept


def beyond_rounding(solution, data):
    """Return the weights, each a sum over rows, with zero where nothing but rounding is left.

    Where errors are expensive, a sum may be next to nothing beside its terms, and yet move the
    scores. Such a weight is kept.
    """
    sizes = abs(solution.weights)
    columns = abs(data.Z)
    cancelled = sizes <= CANCELLED * (solution.multipliers @ columns / 2)
    still = sizes * (data.sample_weight @ columns) <= STILL * data.hinge_of_nothing()
    return np.where(cancelled & still, 0, solution.weights)


def logarithms(weights, floor):
    """Return the logarithms of the sizes of weights, of which those below the floor count as it."""
    # A floor of 0 means that no weight has ever left zero; then nothing is measured.
    return np.log(np.maximum(abs(weights), floor)) if floor > 0 else np.zeros(1)


def warn_of_number(machine, data, before, found, *, fewer, none, if_none=(), if_all=()):
    """Warn if no feature is selected, none is dropped, or fewer are found than asked for.

    `before` the refit so many features had a weight, and so many have been `found`. The words
    `fewer` and `none` say why fewer are, or none is, unless no C would help. `if_none` and `if_all`
    are what else to pass than another C or n_features.
    """
    count = data.n_features
    wanted = machine.n_features
    at = f"C={machine.C:g}"
    if wanted is None and found == count > 1:
        remedies = ", ".join(["a smaller C", *if_all]) + " or n_features= if fewer are wanted"
        message = f"none of {count} features is dropped at {at}; pass {remedies}"
    elif wanted is None and count and not found:
        larger = ["a larger C"] if machine.C < LARGEST_C else []
        remedies = ", ".join([*larger, *if_none])
        remedies += " or n_features=" if remedies else "n_features="
        message = f"{at} is too small to select a feature: {none}; pass {remedies}"
        why = _explain_loss(data, before, found)
        if why is not None:
            message = f"no feature is selected: {why}"
    elif wanted is not None and found < wanted:
        why = f"only {count} vary"
        if wanted <= count or found < count:
            why = _explain_loss(data, before, found) or fewer
        message = f"n_features={wanted}, but {why}; {found} are returned"
    else:
        return
    warn(message, SelectionWarning)


def _explain_loss(data, before, found):
    """Why no C would help: no weights gain anything, or the refit has dropped some."""
    if nothing_gains(data):
        return "no weights, at any C, have smaller hinge losses than none"
    if found < before:
        return f"the refit has a weight for {found} of them, and refit=False for {before}"
    return None


class SoftMargins:
    """Soft-margin programs on the same rows, each solved from the solution of the last.

    This is what `Reweighted` and `Run` need of a solver: ``first(C)``, the weights for equal
    penalties; ``solve(sizes, C)``, a solution with ``weights`` and ``hinge``; ``counts`` of the
    work done; and ``largest_gap``, of the solutions so far.
    """

    def __init__(self, data):
        self.data = data
        self.counts = Counter({"quadratic program": 0})
        self.largest_gap = 0.0
        self.last = None

    @cached_property
    def program(self):
        """The soft-margin program of the rows."""
        return SoftMargin(self.data.Z, self.data.signs, self.data.sample_weight)

    def first(self, C):
        """Return the weights for equal penalties."""
        return beyond_rounding(self.solve(np.ones(self.data.n_features), C), self.data)

    def solve(self, sizes, C):
        """Minimise ``|u|_2^2 + C * hinge losses`` for weights ``sizes * u``."""
        return self.count(self.program.solve(sizes, C, start=self.last))

    def count(self, solution):
        """Add up the work that a solution has taken, and keep it for the next one to start from."""
        self.last = solution
        self.counts.update({"quadratic program": 1, **solution.counts})
        self.largest_gap = max(self.largest_gap, float(solution.duality_gap))
        return solution


class Reweighted:
    """``C * hinge losses`` plus a penalty that a norm lies above, for `majorize_minimize`.

    A subclass has two methods: ``penalties(weights)``, whose sum is the penalty, and
    ``tangent(weights)``, the sizes of columns with which the norm that the solver minimises,
    of u in ``w = sizes * u``, lies above the penalty and touches it at these weights.

    Weights of at most the floor are zero for good. A step that would leave fewer features than the
    least is not taken, and then the descent has ended; nor is one that the solver does not verify,
    or that would rise, of which `unsolved` is the error.
    """

    def __init__(self, data, solver, C, floor, least=0):
        self.data = data
        self.solver = solver
        self.C = C
        self.floor = floor
        self.least = least
        self.ended = False
        self.unsolved = None
        self.lowest = np.inf
        self.measured = None, np.nan, np.nan

    def value(self, weights):
        """Return the objective, with the offset of least loss."""
        return self.measure(weights)[0]

    def minimize(self, sizes, weights):
        """Return the weights on columns of these sizes, or the last if these are not verified."""
        if self.ended or not weights.any():
            return weights
        value, rounding = self.measure(weights)
        try:
            new = self.step(sizes, weights, value, rounding)
        except SubproblemError as error:
            self.unsolved = error
            return self.stay(weights, value, rounding)
        if np.count_nonzero(new) < self.least:
            self.ended = True
            return self.stay(weights, value, rounding)
        after = self.measure(new)[0]
        self.lowest = min(self.lowest, value)
        if value < after <= value + rounding:
            return self.stay(weights, value, rounding)  # it gains nothing beyond rounding
        if rises(after, self.lowest):
            self.unsolved = SubproblemError(
                f"it would rise from {self.lowest:.9g} to {after:.9g}; pass {LESS}"
            )
            return self.stay(weights, value, rounding)
        return new

    def stay(self, weights, value, rounding):
        """Return the weights, whose value does not rise where it is measured by another offset."""
        if rises(self.measure(weights)[0], value):
            self.measured = weights, value, rounding
        return weights

    def solve(self, sizes):
        """Return the solution on columns of these sizes."""
        return self.solver.solve(sizes, self.C)

    def drop_small(self, weights):
        """Return the weights with zero in the place of those below the floor."""
        return np.where(abs(weights) > self.floor, weights, 0)

    def measure(self, weights, hinge=None):
        """Return the value, and by how much it may rise from rounding alone."""
        if self.measured[0] is not weights:
            loss = self.C * (self.data.least_hinge(weights) if hinge is None else hinge)
            penalties = self.penalties(weights)
            terms = loss + abs(penalties).sum()
            rounding = SAME * terms + ROUNDED * self.C * self.data.count
            self.measured = weights, float(loss + penalties.sum()), float(rounding)
        return self.measured[1:]

    def step(self, sizes, weights, value, rounding):
        """Return the next weights, without those below the floor.

        Where errors are expensive, even these matter. Then the others are found anew without them,
        and where that costs more than it gains, nothing is dropped in this step.
        """
        solution = self.solve(sizes)
        new = self.drop_small(solution.weights)
        if np.count_nonzero(new) == np.count_nonzero(solution.weights):
            self.measure(new, solution.hinge)
            return new
        if self.measure(new)[0] <= value:
            return new
        again = self.drop_small(self.solve(np.where(new != 0, sizes, 0)).weights)
        if self.measure(again)[0] <= value:
            return again
        return min((new, again, solution.weights), key=lambda weights: self.measure(weights)[0])


class Run:
    """Steps at one C after the other, and the points that they pass.

    The problem whose steps are taken is what `kind` returns, called with the arguments of
    `Reweighted`; `show`, if there is one, is called with each `Step`. C and weights of each point
    are in `visited`, of which the first `end` lead to the `result`.
    """

    def __init__(self, data, solver, kind, least=0, show=None):
        self.data = data
        self.solver = solver
        self.kind = kind
        self.least = least
        self.show = show
        self.visited = []
        self.floor = 0.0
        self.result = None
        self.end = 0
        self._problem = None

    def begin(self, Cs):
        """Solve for equal penalties at the first C at which this succeeds; return the C from there.

        A `SubproblemError` is raised if the last of them is not solved, either.
        """
        for place, C in enumerate(Cs):
            try:
                self.visit_first(C, self.solver.first(C))
                return Cs[place:]
            except SubproblemError:
                if place == len(Cs) - 1:
                    raise

    def visit_first(self, C, weights):
        """Set the floor by the first weights, and begin with them."""
        self.floor = FLOOR * abs(weights).max(initial=0)
        self.visited.append((C, np.where(abs(weights) > self.floor, weights, 0)))

    def finish(self, result):
        """Set how the steps so far have ended."""
        self.result = result
        self.end = len(self.visited)

    def descend(self, Cs, tol, max_iter):
        """Take steps at each C to their end, and finish with their history."""
        self.finish(self.explore(Cs, tol, max_iter))

    def explore(self, Cs, tol, max_iter):
        """Take steps at each C to their end; return their history."""
        # A stage on the way, or a search for supports, need not converge: `warn_of_end` speaks of
        # the last stage of a descent.
        options = {"tol": tol, "max_iter": max_iter, "warn_of": ("rose",)}
        start = self.visited[-1][1]
        _, result = stages(self._stages(Cs), start, callback=self._collect, **options)
        if self._problem.unsolved is not None:
            result = replace(result, status="stalled")
        return replace(result, step_gap=self.solver.largest_gap)

    def problem(self, C):
        """Return the problem whose steps are taken at this C."""
        return self.kind(self.data, self.solver, C, self.floor, self.least)

    def over(self):
        """Return whether no lower C is wanted."""
        return self._problem.ended

    def _stages(self, Cs):
        for C in Cs:
            self._problem = self.problem(C)
            yield self._problem
            if self.over():
                return

    def _collect(self, step, weights):
        # The start of a stage, and a step that was not taken, add no point.
        if weights is not self.visited[-1][1]:
            self.visited.append((self._problem.C, weights))
        if self.show is not None:
            self.show(step)

    def warn_of_end(self, tol, max_iter):
        """Warn where the steps have not come to an end of their own."""
        if self.result.status == "stalled":
            warn(
                "a step was not solved to verified accuracy, so the point before it is kept: "
                f"{self._problem.unsolved}",
                ConvergenceWarning,
            )
        elif self.result.status == "max_iter":
            warn_of_max_iter(self.result.steps[-1].change, tol, max_iter)

    def supports(self):
        """Return the supports met, the smallest first, and of one size the last first."""
        met = dict.fromkeys(tuple(np.flatnonzero(w)) for _, w in reversed(self.visited))
        return sorted((np.array(s) for s in met if s), key=len)

    def supports_of(self, size):
        """Yield the largest weights' features of each point that has so many, the last first."""
        for _, weights in reversed(self.visited):
            kept = heaviest(weights, size)
            if np.count_nonzero(kept) == size:
                yield tuple(np.flatnonzero(kept))
