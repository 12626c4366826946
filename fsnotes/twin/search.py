"""Searches for a set of features of least objective (21): as published, by switches, and exact."""

import heapq
import itertools
import time
from typing import NamedTuple

import numpy as np

from fsnotes.core.mm import Result, Step
from fsnotes.core.progress import ProgressBar

__all__ = ["Move", "Search", "branch_and_bound"]


class Move(NamedTuple):
    """A feature that was switched on or off, and the objective after it."""

    feature: int
    selected: bool
    objective: float


class Search:
    """A search through sets of features, and the history of their objective."""

    def __init__(self, objective, features, tol, max_iter, progress):
        self.objective = objective
        self.features = features  # their places among the columns of the data, for the history
        self.tol = tol  # a switch has to gain more
        self.max_iter = max_iter  # rounds through the features, at most
        self.progress = progress
        self.moves = []
        self.steps = []
        self.rounds = 0
        self.stage = -1
        self.status = "converged"
        self.began = time.perf_counter()

    # ------------------------------------------------------------ history

    def start(self, mask):
        """Begin a stage of the history with the set of this mask."""
        state = self.objective.solve(mask)
        self.stage += 1
        self._record(state, np.inf)
        return state

    def accept(self, old, new):
        """Record the move from one set to another, and return the new one."""
        for j in np.flatnonzero(old.mask != new.mask):
            self.moves.append(Move(int(self.features[j]), bool(new.mask[j]), new.value))
        self._record(new, self.objective.change(old, new))
        return new

    def _record(self, state, change):
        seconds = time.perf_counter() - self.began
        size = int(np.count_nonzero(state.mask))
        self.steps.append(Step(self.stage, state.value, change, size, seconds))

    def result(self, state):
        """Return the history and how the search ended, in this set."""
        gap = self.objective.duality_gap(state)
        counts = dict(self.objective.counts)
        steps = tuple(self.steps)
        return Result(self.status, state.value, steps, step_gap=gap, counts=counts)

    # ------------------------------------------------------------ the published search

    def alternate(self, state):
        """Steps 4 to 7 of Algorithm 1: sweep for fixed planes, solve these anew, and repeat."""
        for _ in range(self.max_iter):
            self.rounds += 1
            mask = self.objective.sweep(state, self.tol)
            if np.array_equal(mask, state.mask):
                return state
            new = self.objective.solve(mask)
            gained = state.value - new.value
            if gained > 0:
                state = self.accept(state, new)
            if gained <= self.tol:
                return state
        self.status = "max_iter"
        return state

    # ------------------------------------------------------------ single switches

    def flip(self, state):
        """Switch one feature at a time, with planes solved anew, until no switch gains enough."""
        state = self.drop_without_weight(state)
        for turn in range(self.max_iter):
            self.rounds += 1
            before = state
            left = self.objective.order(state)
            tried = set()
            with ProgressBar(
                total=len(left), desc=f"round {turn + 1}", disable=not self.progress
            ) as bar:
                while left:
                    j = left.pop(0)
                    tried.add(j)
                    new = self.objective.try_switch(state, j, self.tol)
                    if new is not None:
                        state = self.drop_without_weight(self.accept(state, new))
                        bar.set_postfix(objective=f"{state.value:.6g}", refresh=False)
                        left = [j for j in self.objective.order(state) if j not in tried]
                    bar.update()
            if state is before:
                return state
        self.status = "max_iter"
        return state

    def drop_without_weight(self, state):
        """Switch off the features without a weight in either plane, all at once."""
        idle = self.objective.without_weight(state)
        if not idle.any():
            return state
        return self.accept(state, self.objective.feature_set(state.mask & ~idle, state.planes))

    def reach_size(self, state, size):
        """Switch off features that cost least, or on those that gain most, up to a number."""
        objective = self.objective
        if np.count_nonzero(state.mask) != size:
            self.stage += 1
        while (count := np.count_nonzero(state.mask)) != size:
            best = None
            for j in objective.order(state):
                if state.mask[j] == (count > size):
                    gain = -np.inf if best is None else state.value - best.value
                    best = objective.try_switch(state, j, gain) or best
            if best is None or (count < size and objective.adds_nothing(best, ~state.mask)):
                best = objective.elsewhere() if count < size else None
                if best is None:
                    return state
            self.stage += 1  # a switch that costs more than it gains begins a stage
            state = self.accept(state, best)
        return state


def branch_and_bound(objective, best, gap, time_limit):
    """Return the set of least objective, and a bound that no set is below.

    A branch holds the sets that have all features that are kept and none but these and those that
    are free. No value of a plane rises when a feature is added, so that each of these sets costs
    at least sigma for each feature kept, and the planes on all that are kept or free. The branch of
    the least bound is divided at the largest of its free features, until no bound is below the best
    objective by more than a part `gap` of it, or the seconds are over. The set passed is returned
    unless another is better.
    """
    end = time.perf_counter() + time_limit
    number = itertools.count()  # decides between branches of equal bounds
    everything = np.ones(objective.n, dtype=bool)

    def relax(kept, free):
        """Return the branch with its bound, and the best set that its planes show."""
        state = objective.solve(kept | free)
        bound = objective.total(kept, [plane.bound for plane in state.planes])
        found = objective.feature_set(state.weights.any(axis=0), state.planes)
        return (bound, next(number), kept, free, objective.sizes(state)), found

    branch, found = relax(~everything, everything)
    branches = [branch]
    while True:
        best = min(best, found, key=lambda state: state.value)
        bound, _, kept, free, sizes = heapq.heappop(branches)
        sizes = np.where(free, sizes, 0)
        # where no free feature has a weight, the planes are those of the features kept
        if bound >= best.value * (1 - gap) or not sizes.any() or time.perf_counter() > end:
            return best, min(bound, best.value)
        largest = np.arange(objective.n) == sizes.argmax()
        rest = free & ~largest
        with_largest = (bound + objective.sigma, next(number), kept | largest, rest, sizes)
        without_largest, found = relax(kept, rest)
        heapq.heappush(branches, with_largest)
        heapq.heappush(branches, without_largest)
