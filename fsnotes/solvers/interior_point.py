"""Mehrotra's interior point for the dual of the soft-margin program: where there is no start.

The dual is: maximise ``sum a - |columns a|^2 / 2`` for ``0 <= a <= caps`` and ``signs @ a = 0``.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

__all__ = ["InteriorPoint"]

MOST_STEPS = 100
STEP_BACK = 0.995  # part of the step that would meet a bound
SHORTEST_STEP = 1e-10  # a step with which nothing is gained any more
CENTRED = 3.0  # products of multipliers and slacks at the start, over the usual multiplier


class _Point(NamedTuple):
    """A point inside all bounds, or a step. Margins exceed 1 by ``below - above``."""

    a: np.ndarray
    direction: np.ndarray  # columns @ a
    offset: float
    below: np.ndarray  # belongs to multipliers of 0
    above: np.ndarray  # belongs to multipliers at their caps

    def moved(self, step, length):
        return _Point(*(x + length * dx for x, dx in zip(self, step, strict=True)))


class InteriorPoint:
    """The path of points towards the solution, from multipliers inside their bounds."""

    def __init__(self, columns, gram, signs, caps, a):
        self.columns = columns
        self.gram = gram
        self.signs = signs
        self.caps = caps
        self.steps = 0
        direction = columns @ a
        excess = direction @ columns - 1
        room = caps - a
        product = CENTRED * np.minimum(a, room).mean()
        below = np.maximum(excess, 0) + product / a
        above = np.maximum(-excess, 0) + product / room
        self.point = _Point(a, direction, 0.0, below, above)

    def go_on(self, accuracy):
        """Take steps until the largest error is this small. Go to the best point met."""
        point = self.point
        least = np.inf
        while True:
            lacks, unequal, gap, error = self._errors(point)
            if error < least:
                self.point = point
                least = error
            if not accuracy < error < np.inf or self.steps >= MOST_STEPS:
                return
            a, below, above = point.a, point.below, point.above
            room = self.caps - a
            solve = self._factorise(below / a + above / room)
            self.steps += 1
            equations = point, lacks, unequal, solve, solve(self.signs)
            step = self._toward(*equations, -a * below, -room * above)  # the predictor
            after = self._complement(point.moved(step, self._longest(point, step)))
            target = (after / gap) ** 3 * gap / (2 * len(a))
            first = target - a * below - step.a * step.below
            second = target - room * above + step.a * step.above
            step = self._toward(*equations, first, second)  # the corrector
            length = min(1.0, STEP_BACK * self._longest(point, step))
            if not length > SHORTEST_STEP:
                return
            point = point.moved(step, length)

    def _toward(self, point, lacks, unequal, solve, reach, first, second):
        """Return the Newton step to products of multipliers and slacks that change by these."""
        a, _, _, below, above = point
        room = self.caps - a
        moved = solve(first / a - second / room - lacks)
        offset = (self.signs @ moved + unequal) / (self.signs @ reach)
        moved = moved - offset * reach
        direction = self.columns @ moved
        slacks = (first - below * moved) / a, (second + above * moved) / room
        return _Point(moved, direction, offset, *slacks)

    def _complement(self, point):
        return point.a @ point.below + (self.caps - point.a) @ point.above

    def _errors(self, point):
        """Return those of the margins and of the signed sum, the gap, and the largest, relative."""
        a, direction, offset, below, above = point
        margins = direction @ self.columns
        lacks = margins - 1 + self.signs * offset - below + above
        unequal = self.signs @ a
        gap = self._complement(point)
        largest = max(
            gap / (direction @ direction / 2 + self.caps @ above),
            abs(lacks).max() / (1 + abs(margins).max()),
            abs(unequal) / a.sum(),
        )
        return lacks, unequal, gap, largest

    def _longest(self, point, step):
        """Return the length at which something that has to be positive becomes 0, up to 1."""
        ratios = [step.a / (self.caps - point.a)]
        ratios += [-step.a / point.a, -step.below / point.below, -step.above / point.above]
        return 1 / max(1.0, *(ratio.max() for ratio in ratios))

    def _factorise(self, diagonal):
        """Return a solver with the Gram matrix plus this diagonal."""
        columns = self.columns
        if self.gram is not None:
            matrix = self.gram.copy()
            matrix.ravel()[:: len(matrix) + 1] += diagonal
        else:  # by Woodbury's formula, where the Gram matrix is larger than columns are long
            part = columns / np.sqrt(diagonal)
            matrix = part @ part.T
            matrix.ravel()[:: len(matrix) + 1] += 1
        factor, _ = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)

        def solve(right):
            if self.gram is not None:
                return lapack.dpotrs(factor, right, lower=1)[0]
            part = lapack.dpotrs(factor, columns @ (right / diagonal), lower=1)[0]
            return (right - part @ columns) / diagonal

        return solve
