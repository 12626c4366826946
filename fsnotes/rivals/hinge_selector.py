"""What rivals share that select features by weights and refit a soft-margin machine of them."""

from dataclasses import replace

import numpy as np

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.mm import Result
from fsnotes.core.reweighting import (
    HALVES,
    Reweighted,
    Run,
    beyond_rounding,
    heaviest,
    logarithms,
)
from fsnotes.core.validation import check_bool, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.hinge import LARGEST_C, HingeData
from fsnotes.solvers.hinge_programs import WeightedProgram, nothing_gains
from fsnotes.solvers.margin import SoftMargin

__all__ = ["HingeSelector", "Linearized", "LinearSteps", "SteppingSelector", "Steps"]


class HingeSelector(SparseClassifier):
    """Features by the weights in which some steps end, and a soft-margin machine of them.

    A subclass has the parameters ``C``, ``n_features`` and ``refit`` and a method ``_end(rows)``
    that returns weights in the units of selection and sets ``objective_`` and ``result_``.
    """

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        rows = HingeData(features.apply(samples.X), samples.signs, samples.sample_weight)
        end = self._end(rows, features.used)
        scaled = heaviest(end, self._size(rows))
        before = np.count_nonzero(scaled)
        if self.refit and before:
            program = SoftMargin(rows.Z, rows.signs, rows.sample_weight)
            margin = program.solve((scaled != 0).astype(float), self.C)
            scaled = beyond_rounding(margin, rows)
            gap = max(self.result_.duality_gap, float(margin.duality_gap))
            self.result_ = replace(self.result_, duality_gap=gap)
        self._warn_of_number(rows, before, np.count_nonzero(scaled))
        self._set_planes(features, [scaled], [rows.offset(scaled)])

    def _remedies(self):
        """What to pass where C is too small."""
        return ["a larger C"] if self.C < LARGEST_C else []

    def _size(self, rows):
        """The most features that may be selected."""
        return rows.n_features if self.n_features is None else int(self.n_features)

    _raised_to = None  # the largest C tried, where it is raised until features are enough

    def _warn_of_number(self, rows, before, found):
        """Where nothing is selected, nothing is dropped, or fewer are found than asked for."""
        count = rows.n_features
        refitted = f"the refit has a weight for {found} of them, and refit=False for {before}"
        if self.n_features is not None and found < self.n_features:
            if self.n_features > count == found:
                why = f"only {count} vary"
            elif nothing_gains(rows):
                why = "no weights, at any C, have smaller hinge losses than none"
            elif found < before:
                why = refitted
            elif self._raised_to is None:
                why = f"only {found} have a weight in the machines on the way"
            else:
                why = f"only {found} have a weight at any C tried, up to {self._raised_to:.4g}"
            words = f"n_features={self.n_features}, but {why}; {found} are returned"
        elif self.n_features is None and count and not found:
            if nothing_gains(rows):
                words = (
                    "no feature is selected: no weights, at any C, have smaller hinge losses than "
                    "none"
                )
            elif before:
                words = f"no feature is selected: {refitted}"
            else:
                remedies = ", ".join(self._remedies())
                words = (
                    f"C={self.C:g} is too small to select a feature: the weights have gone to "
                    f"zero; pass {remedies + ' or ' if remedies else ''}n_features="
                )
        elif self.n_features is None and found == count > 1:
            words = (
                f"none of {count} features is dropped at C={self.C:g}; pass a smaller C or "
                "n_features= if fewer are wanted"
            )
        else:
            return
        warn(words, SelectionWarning)


class SteppingSelector(HingeSelector):
    """One that takes steps; a subclass has ``_steps(rows, least)`` and ``_penalty(run, sizes)``."""

    def _check_parameters(self):
        super()._check_parameters()
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)

    def _end(self, rows, used):
        nothing = self.C * rows.hinge_of_nothing()
        if not len(used):
            self.n_iter_, self.objective_, self.result_ = 0, nothing, Result.solved(nothing)
            return np.zeros(0)
        least = 0 if self.n_features is None else min(self._size(rows), len(used))
        run = self._steps(rows, least)
        prices = [self.C / 2**k for k in range(HALVES + 1)] if least else [self.C]
        run.descend(run.begin(prices), self.tol, self.max_iter)
        run.warn_of_end(self.tol, self.max_iter)
        end = run.visited[-1][1]
        self._raised_to = run.raised_to
        self.n_iter_ = len(run.visited)
        self.result_ = replace(run.result, counts={k: int(v) for k, v in run.counts.items()})
        self.objective_ = float(self._penalty(run, end) + self.C * rows.least_hinge(end))
        return end


class Steps(Run):
    """A run whose C is lowered only until few enough features are left."""

    raised_to = None  # the largest C tried, where it is raised until features are enough

    def over(self):
        return super().over() or np.count_nonzero(self.visited[-1][1]) <= self.least


class LinearSteps(Steps):
    """Machines of which the l1 norm is weighted, each by the weights of the last.

    Parameters
    ----------
    data : HingeData
    kind : callable
        Takes the arguments of `Reweighted` and returns a problem derived from `Linearized`.
    least : int
        A step that leaves fewer features ends the run.
    cost : float
        Of each weight in the first machine.
    """

    def __init__(self, data, kind, least, cost=1.0):
        super().__init__(data, WeightedProgram(data), kind, least)
        self.cost = cost
        self.too_few = False  # whether the first machine has fewer features than wanted

    def begin(self, Cs):
        """Solve for equal costs, at the least of C, 2 C, 4 C, ... that has enough features."""
        C = Cs[0]
        sizes = np.full(self.data.n_features, 1 / self.cost)
        weights = self.solver.solve(sizes, C).weights
        while np.count_nonzero(weights) < self.least and 2 * C <= LARGEST_C:
            self.raised_to = max(2 * C, self.solver.too_small(1 / sizes))
            try:
                weights = self.solver.solve(sizes, self.raised_to).weights
            except SubproblemError:
                break
            C = self.raised_to
        self.visit_first(C, weights)
        self.too_few = np.count_nonzero(weights) < self.least
        raised = C / Cs[0]
        return [raised * lower for lower in Cs]

    def problem(self, C):
        problem = super().problem(C)
        # Where the first machine has too few features, it has to do.
        problem.ended = self.too_few
        return problem


class Linearized(Reweighted):
    """``C * hinge losses + sum log |w|``, by weighted l1 norms; below the floor, as the floor."""

    rest = 0.0  # of the penalty, what its tangent adds to the weighted norm

    def penalties(self, weights):
        return logarithms(weights, self.floor)

    def tangent(self, weights):
        """Return one over the costs of the weights."""
        return abs(weights)

    def solve(self, sizes):
        return self.solver.solve(sizes, self.C, self.rest)

    def step(self, sizes, weights, value, rounding):
        """Return the next weights, or the last ones where these gain no more than rounding."""
        new = super().step(sizes, weights, value, rounding)
        if self.measure(new)[0] < value - rounding:
            return new
        return weights.copy()  # another array, so that this machine is counted, too
