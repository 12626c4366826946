"""What FSV, AROM and the ranking share: steps of linear programs, and a refit of the margin."""

from dataclasses import replace

import numpy as np

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.reweighting import (
    HALVES,
    Reweighted,
    Run,
    SoftMargins,
    beyond_rounding,
    heaviest,
    logarithms,
    warn_of_number,
)
from fsnotes.core.validation import MOST_STEPS, check_bool, check_count, check_real
from fsnotes.errors import SubproblemError
from fsnotes.solvers.hinge import LARGEST_C, HingeData
from fsnotes.solvers.hinge_programs import HingeProgram

__all__ = ["HingeSelector", "Linearized", "LinearSteps", "SteppingSelector", "Steps"]


class HingeSelector(SparseClassifier):
    """A classifier of the features of the largest weights, with a soft margin refitted to them.

    A subclass has the parameters ``C``, ``n_features``, ``refit`` and ``scale`` and a method
    ``_weigh(data, used)`` that returns weights in the units of selection and sets ``objective_``
    and ``result_``.
    """

    _raised_to = None  # the largest C tried, if it is raised until features are enough
    _floor = 0.0  # what smaller weights count as
    _remedies = ()  # what else to pass than a larger C if no feature is selected

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        check_count("n_features", self.n_features, optional=True)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        data = HingeData(features.apply(samples.X), samples.signs, samples.sample_weight)
        weights = self._weigh(data, features.used)
        self._set_solved(features, [weights], [data.offset(weights)], self._floor)
        weights = heaviest(weights, self._most_features(data))
        before = np.count_nonzero(weights)
        if self.refit and before:
            machines = SoftMargins(data)
            machine = machines.solve((weights != 0).astype(float), self.C)
            weights = beyond_rounding(machine, data)
            gap = max(self.result_.step_gap or 0.0, machines.largest_gap)
            self.result_ = replace(self.result_, step_gap=gap)
        found = np.count_nonzero(weights)
        fewer = f"only {found} have a weight in the solutions on the way"
        if self._raised_to is not None:
            fewer = f"only {found} have a weight at any C tried, up to {self._raised_to:.4g}"
        none = "the weights have gone to zero"
        warn_of_number(self, data, before, found, fewer=fewer, none=none, if_none=self._remedies)
        self._set_planes(features, [weights], [data.offset(weights)])

    def _most_features(self, data):
        """The largest number of features that may be selected."""
        return data.n_features if self.n_features is None else int(self.n_features)


class SteppingSelector(HingeSelector):
    """A selector whose weights are those where some steps end.

    A subclass has the parameters ``tol`` and ``max_iter``, too, and methods ``_make_run(data,
    least)``, which returns `Steps`, and ``_penalty(weights, floor)``, their part of the objective.
    """

    def _check_parameters(self):
        super()._check_parameters()
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)

    def _weigh(self, data, used):
        least = 0 if self.n_features is None else min(self._most_features(data), len(used))
        run = self._make_run(data, least)
        Cs = [self.C / 2**k for k in range(HALVES + 1)] if least else [self.C]
        run.descend(run.begin(Cs), self.tol, self.max_iter)
        run.warn_of_end(self.tol, self.max_iter)
        weights = run.visited[-1][1]
        self._raised_to = run.raised_to
        self._floor = run.floor
        self.n_iter_ = len(run.visited)
        self.result_ = replace(run.result, counts=dict(run.solver.counts))
        loss = data.least_hinge(weights)
        self.objective_ = float(self._penalty(weights, run.floor) + self.C * loss)
        return weights


class Steps(Run):
    """A run whose C is lowered only until few enough features are left."""

    raised_to = None  # the largest C tried, where it is raised until features are enough

    def over(self):
        return super().over() or np.count_nonzero(self.visited[-1][1]) <= self.least


class LinearSteps(Steps):
    """Solutions with a weighted l1 norm, each weighted by the solution before.

    `kind` returns a problem derived from `Linearized`; at first each weight has the penalty `cost`.
    """

    def __init__(self, data, kind, least, cost=1.0):
        super().__init__(data, HingeProgram(data), kind, least)
        self.cost = cost
        self.too_few = False  # whether the first solution has fewer features than wanted

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
        # If the first solution has too few features, no step is taken from it.
        problem.ended = self.too_few
        return problem


class Linearized(Reweighted):
    """Minimise ``C * hinge losses + sum log |w|`` by weighted l1 norms.

    Weights below the floor count as the floor.
    """

    rest = 0.0  # the constant that the tangent of the penalty adds to the weighted norm

    def penalties(self, weights):
        return logarithms(weights, self.floor)

    def tangent(self, weights):
        """Return one over the costs of the weights."""
        return abs(weights)

    def solve(self, sizes):
        return self.solver.solve(sizes, self.C, self.rest)
