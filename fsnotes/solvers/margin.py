"""The soft-margin machine for columns scaled anew each time, by its dual quadratic program.

For rows ``v_i = y_i s z_i``, with the sizes s of the columns, the dual is: maximise
``sum a_i - |sum a_i v_i|^2 / 4`` over multipliers ``0 <= a_i <= C weight_i`` with
``sum a_i y_i = 0``; then ``u = sum a_i v_i / 2``. A pivoting method holds each multiplier at an
end of its interval or free: it solves the equations that make the margins of the free rows 1,
goes as far towards the solution as the intervals allow, where the rows that meet an end stay, and
frees the rows whose margins are on the wrong side of 1. The dual never falls, and a start that is
nearly right needs a pivot or two. Where there is no start, an interior-point method finds one.
Whatever the way, an answer is returned only with a duality gap that is computed from it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from fsnotes.errors import SubproblemError
from fsnotes.solvers.hinge import LARGEST_C, balance, best_offset

__all__ = ["Margin", "SoftMargin"]

AT_ZERO, FREE, AT_CAP = 0, 1, 2

LARGEST_GAP, WANTED_GAP = 1e-6, 1e-9
ACCURACIES = (1e-3, 1e-6, 1e-11)  # of the interior point, as pivots begin
PIVOTS = (60, 150, 300)  # at most, then
WARM_PIVOTS, COLD_PIVOTS = 80, 12
MOST_PIVOTS = 1000  # from a start, where the interior point is dear
USUAL_INTERIOR = 40  # steps of it
MOST_INTERIOR = 100
JOINING = 3  # rows freed at a time: more are too many once they are free
BOLD = 3  # rows that would leave their intervals, up to which they leave one by one
RIDGES = (1e-14, 1e-12, 1e-10)  # of the longest row, on matrices that may be singular
ROUNDED, UNIT_ROUNDED, MOST_ROUNDED = 1e-13, 1e-14, 1e-11  # no violation of a margin
UNBALANCED = 1e-11  # part of the sum of a start's multipliers by which classes may differ
LOOSE = 10  # times that, where a margin is no more than nearly 1
REFINEMENTS = 2
SHORT = 1e-6  # of a margin, up to which it is lengthened to 1
STEP_BACK, SHORTEST_STEP = 0.995, 1e-10
CENTRED = 3.0


@dataclass(frozen=True)
class Margin:
    """A soft-margin machine, and the proof that it is optimal.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        ``w = sizes * u``, zero outside the live columns.
    offset : float
        Of several that are as good, the middle one.
    multipliers : ndarray of shape (n_rows,)
        From 0 to ``C * weights``; ``u = sum a_i y_i sizes * z_i / 2`` but for rounding.
    objective : float
        ``u'u + C * hinge``.
    hinge : float
        Weighted sum of ``max(0, 1 - margin)``.
    duality_gap : float
        Between the objective and a lower bound from the multipliers, relative.
    counts : dict
        Factorisations, by method.
    states : ndarray of shape (n_rows,)
        Whether each multiplier is 0 (0), free (1) or as large as allowed (2).
    C : float
    """

    weights: np.ndarray
    offset: float
    multipliers: np.ndarray
    objective: float
    hinge: float
    duality_gap: float
    counts: dict
    states: np.ndarray = field(repr=False)
    C: float


class SoftMargin:
    """Minimise ``u'u + C * sum_i weight_i * max(0, 1 - y_i (z_i'u + b))`` over u and b.

    The columns of Z are multiplied by sizes that differ from call to call.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        -1 or 1.
    weights : ndarray of shape (n_rows,)
        Not negative, and positive for some row of each class; of a row that stands for several
        equal ones, their sum.

    Notes
    -----
    With N rows of positive weight and n live columns, a call costs O(N n) for the columns and, if
    N <= n, O(N^2 n) for their Gram matrix. With m free rows, at most ``n + 1`` unless some are
    redundant, a pivot costs O(m^3 + m^2 n + N n), or O(m^3 + N m) with the Gram matrix. A start
    nearby takes a few pivots. Without one there are about 10 to 40 steps of the interior point
    before, O(N n^2) each, or O(N^3) with the Gram matrix.
    """

    def __init__(self, Z, y, weights):
        self.shares = np.asarray(weights, dtype=float)
        self.counted = np.flatnonzero(self.shares > 0)
        self.signs = np.asarray(y, dtype=float)[self.counted]
        for sign in (-1, 1):
            if not (self.signs == sign).any():
                raise ValueError(
                    f"class {sign} has no row of positive weight; pass positive weights for some"
                )
        rows = np.asarray(Z, dtype=float)[self.counted]
        # the offset has no price, so that no solution changes; but fewer digits are lost
        self.center = rows.mean(axis=0)
        self.columns = np.ascontiguousarray(((rows - self.center) * self.signs[:, None]).T)

    def solve(self, sizes, C, *, live=None, start=None):
        """Solve for these sizes and this C.

        Parameters
        ----------
        sizes : ndarray of shape (n_features,)
            Factors of the columns.
        C : float
        live : ndarray of bool or int, optional
            Columns that may be used; by default those whose size is not 0.
        start : Margin, optional
            Of the same rows, for sizes or a C nearby.

        Returns
        -------
        Margin

        Raises
        ------
        SubproblemError
            If no answer can be verified.
        """
        sizes = np.asarray(sizes, dtype=float)
        live = np.flatnonzero(sizes) if live is None else np.asarray(live)
        live = np.flatnonzero(live) if live.dtype == bool else live
        largest = abs(sizes[live]).max(initial=0)
        parts = sizes[live] / largest if largest > 0 else np.zeros(len(live))
        columns = self.columns[live] * parts[:, None]
        gram = columns.T @ columns if columns.shape[1] <= len(columns) else None
        squares = np.einsum("ij,ij->j", columns, columns) if gram is None else gram.diagonal()
        length = np.sqrt(squares.max(initial=0))  # of the longest row, which becomes 1
        with np.errstate(over="ignore", under="ignore"):
            unit = (largest * length) ** 2 / 2  # of objectives, one over that of multipliers
        caps = C * self.shares[self.counted]
        if unit * caps.max(initial=0) > np.finfo(float).tiny:
            columns /= length
            if gram is not None:
                gram /= length**2
        else:
            live, parts, columns, gram, unit, length = live[:0], parts[:0], columns[:0], None, 1, 1
        program = _Program(columns, gram, self.signs, caps * unit)
        answer = program.solve(self._begun(start, C * unit))
        if not answer.gap <= LARGEST_GAP:
            message = (
                f"the soft-margin program was not solved: duality gap {answer.gap:.1e}, more than "
                f"{LARGEST_GAP:g}. "
            )
            heaviest = self.shares.max()
            if heaviest > LARGEST_C:
                message += f"Pass a smaller sample_weight: a row weighs {heaviest:.3g}"
            else:
                message += f"Pass a smaller C than {C:g}, or columns of similar sizes"
            raise SubproblemError(message)
        machine, weights = answer.machine, np.zeros(len(sizes))
        weights[live] = parts * machine.direction / length
        multipliers, states = np.zeros(len(self.shares)), np.zeros(len(self.shares), dtype=np.int8)
        multipliers[self.counted] = answer.multipliers / unit
        states[self.counted] = answer.states
        return Margin(
            weights,
            float(machine.offset - self.center @ weights),
            np.minimum(multipliers, C * self.shares),
            float(machine.objective / unit),
            float(machine.loss / (C * unit)),
            answer.gap,
            program.counts,
            states,
            float(C),
        )

    def _begun(self, start, price):
        """Multipliers and states of a start, in proportion to C, which keeps every constraint."""
        if start is None:
            return None
        multipliers = start.multipliers[self.counted] * (price / start.C)
        return multipliers, start.states[self.counted]


class _Machine(NamedTuple):
    direction: np.ndarray
    offset: float
    loss: float
    objective: float


class _Answer(NamedTuple):
    """Multipliers and the machine they belong to, in the units of the program."""

    multipliers: np.ndarray
    states: np.ndarray
    machine: _Machine
    gap: float


class _Point(NamedTuple):
    """Inside all constraints: multipliers, machine, and by how much margins differ from 1."""

    a: np.ndarray
    direction: np.ndarray
    offset: float
    below: np.ndarray  # what margins exceed 1 by; belongs to multipliers of 0
    above: np.ndarray


class _Errors(NamedTuple):
    """Of the equations: of the margins, of the signed sum, of optimality."""

    lacks: np.ndarray
    unequal: float
    gap: float
    largest: float  # relative


class _Program:
    """Maximise ``sum a - |columns a|^2 / 2`` for ``0 <= a <= caps`` and ``signs @ a = 0``.

    The primal: minimise ``|v|^2 / 2 + caps @ max(0, 1 - columns' v - signs * b)``. A column of
    `columns` is a row of the data times its sign, and none is longer than 1.
    """

    def __init__(self, columns, gram, signs, caps):
        self.columns, self.gram, self.signs, self.caps = columns, gram, signs, caps
        self.most_free = min(columns.shape) + 1  # of rows that are independent
        self.counts = {"pivot": 0, "interior point": 0}

    def solve(self, start):
        """The first answer that is accurate enough, or the best."""
        if not len(self.columns):
            largest = balance(self.caps, self.signs)
            return self.answer(largest, self._states(largest))
        best = None
        with np.errstate(all="ignore"):
            for found in self._found(start):
                answer = self.answer(*found)
                if best is None or answer.gap < best.gap:
                    best = answer
                if best.gap <= WANTED_GAP:
                    break
        return best

    def _found(self, start):
        """Multipliers and states by one way after the other."""
        if start is not None:
            begun = self._feasible(*start)
            yield self._pivoted(*begun, self._worthwhile(np.count_nonzero(begun[1] == FREE)))
        elif self.gram is not None:
            yield self._pivoted(*self._middle(), COLD_PIVOTS)
        point = None
        for accuracy, most in zip(ACCURACIES, PIVOTS, strict=True):
            point = self._interior(accuracy, point)
            yield self._pivoted(*self._feasible(*self._guessed(point)), most)
        yield point[0], self._states(point[0])

    def _worthwhile(self, free):
        """Pivots from a start, as many as cost less than the interior point would."""
        if self.gram is not None:
            return WARM_PIVOTS
        n, N = self.columns.shape
        cost = 4 * N * n + n * free**2
        return int(np.clip(USUAL_INTERIOR * N * n**2 / cost, WARM_PIVOTS, MOST_PIVOTS))

    # ------------------------------------------------------------ answers

    def answer(self, multipliers, states):
        """The machine of these multipliers, its offset, and the distance to a bound."""
        safe = balance(np.clip(multipliers, 0, self.caps), self.signs)
        direction = self.columns @ safe
        bound = safe.sum() - direction @ direction / 2
        best = None
        for found in self._directions(direction, states):
            machine = self._machine(found, multipliers < self.caps)
            if best is None or machine.objective < best.objective:
                best = machine
            gap = _relative_gap(best.objective, bound)
            if gap <= WANTED_GAP:
                break
        return _Answer(safe, states, best, gap)

    def _directions(self, direction, states):
        """That of the multipliers, and others with fewer digits lost where these are large."""
        yield direction
        free = np.flatnonzero(states == FREE)
        for _ in range(REFINEMENTS if len(free) else 0):
            step = self._step(free, direction @ self.columns)
            if step is None:
                return
            direction = direction + self.columns[:, free] @ step[0]
            yield direction

    def _machine(self, direction, below_cap):
        margins = direction @ self.columns
        digits = np.finfo(float).eps * abs(margins).max()
        offset = best_offset(self.signs * (1 - margins), self.signs, self.caps)
        margins += self.signs * offset
        square, loss = direction @ direction / 2, self.caps @ np.maximum(0, 1 - margins)
        # where errors are dear, a margin of 1 that rounding made short costs more than length
        lack = (1 - margins[below_cap]).max(initial=0)
        if 0 < lack < SHORT:
            longer = 1 / (1 - lack - 8 * digits)
            less = self.caps @ np.maximum(0, 1 - longer * margins)
            if longer**2 * square + less < square + loss:
                square, loss = longer**2 * square, less
                direction, offset = longer * direction, longer * offset
        objective = square + loss
        return _Machine(direction, offset, loss, objective if np.isfinite(objective) else np.inf)

    def _states(self, multipliers):
        return np.where(multipliers <= 0, AT_ZERO, np.where(multipliers >= self.caps, AT_CAP, FREE))

    # ------------------------------------------------------------ starts

    def _middle(self):
        """Every multiplier free, at the best multiple of the largest ones."""
        multipliers = self._best_multiple(1.0)
        return multipliers, np.full(len(multipliers), FREE)

    def _best_multiple(self, most):
        largest = balance(self.caps, self.signs)
        pull = self.columns @ largest
        return min(most, largest.sum() / max(pull @ pull, 1e-300)) * largest

    def _feasible(self, multipliers, states):
        """The multipliers, at their ends where they are held there, and with signed sum zero."""
        multipliers = np.clip(multipliers, 0, self.caps)
        # a free row that rounding keeps from its end would take a pivot to get there
        near = np.minimum(multipliers, self.caps - multipliers) <= ROUNDED * self.caps
        states = np.where((states == FREE) & near, self._nearer(multipliers), states)
        multipliers[states == AT_ZERO] = 0
        held = states == AT_CAP
        multipliers[held] = self.caps[held]
        free = np.flatnonzero(states == FREE)
        excess = self.signs @ multipliers
        if abs(excess) <= ROUNDED * multipliers.sum():
            return multipliers, states
        down = self.signs[free] * excess > 0
        room = np.where(down, multipliers[free], self.caps[free] - multipliers[free])
        total = room.sum()
        if total > abs(excess):
            multipliers[free] -= self.signs[free] * room * (excess / total)
            return multipliers, states
        excess_is_rounding = abs(excess) <= UNBALANCED * multipliers.sum()
        multipliers = balance(multipliers, self.signs)
        # no row becomes free for that, or all of a class would
        return multipliers, states if excess_is_rounding else self._states(multipliers)

    def _nearer(self, multipliers):
        return np.where(multipliers <= self.caps - multipliers, AT_ZERO, AT_CAP)

    def _guessed(self, point):
        """Multipliers of the interior point, each free or at an end."""
        multipliers, _, _, below, above = point
        states = self._nearer(multipliers)
        room, usual = self.caps - multipliers, multipliers.mean()
        freedom = np.minimum(multipliers / below, room / above) / usual
        free = np.argsort(-freedom, kind="stable")[: self.most_free]
        states[free[freedom[free] > 1]] = FREE
        return multipliers, states

    # ------------------------------------------------------------ pivots

    def _pivoted(self, a, states, most):
        """Multipliers and states after pivots, optimal unless there would be too many."""
        signs, caps = self.signs, self.caps
        pull, refined = self._pull(a), False
        for _ in range(most):
            margins = self._margins(pull)
            free = np.flatnonzero(states == FREE)
            if not len(free):
                free = self._pair(margins, states, self._tolerance(margins, a))
                if not len(free):
                    break
                states[free] = FREE
            step = self._step(free, margins)
            if step is None:
                break
            move, offset, matrix = step
            now, most_there = a[free], caps[free]
            room = np.where(move > 0, most_there - now, now)
            lengths = np.divide(room, abs(move), out=np.full(len(free), np.inf), where=move != 0)
            length = min(1.0, lengths.min())
            leaving = lengths <= length if length < 1 else np.zeros(len(free), dtype=bool)
            there = now + length * move
            there[leaving] = np.where(move[leaving] > 0, most_there[leaving], 0)
            if np.count_nonzero(lengths < 1) > BOLD:
                nearest = _nearest(now + move, most_there, signs[free], signs[free] @ now)
                if nearest is not None:
                    slope = 1 - margins[free]
                    gains = [d @ (slope - matrix @ d / 2) for d in (nearest - now, there - now)]
                    if gains[0] > gains[1]:
                        there = nearest
                        leaving = (there <= 0) | (there >= most_there)
            a[free] = there
            pull = pull + self._pull(there - now, free)
            if leaving.any():
                states[free[leaving]] = np.where(there[leaving] > 0, AT_CAP, AT_ZERO)
                continue
            margins = self._margins(pull)
            excess = margins - 1 + signs * offset
            wrong = np.where(states == AT_ZERO, -excess, np.where(states == AT_CAP, excess, 0))
            tolerance = self._tolerance(margins, a)
            joining = np.flatnonzero(wrong > tolerance)
            if len(joining):
                joining = joining[np.argsort(-wrong[joining], kind="stable")[:JOINING]]
                states[joining] = FREE
            elif refined or abs(excess[free]).max() <= LOOSE * tolerance:
                break
            refined = not len(joining)
        return a, states

    def _tolerance(self, margins, a):
        """Of margins: what rounding makes of them, and of products that cancel."""
        return ROUNDED * abs(margins).max() + min(UNIT_ROUNDED * (1 + a.max()), MOST_ROUNDED)

    def _pull(self, a, rows=None):
        """What determines the margins: the direction, or the margins themselves."""
        matrix = self.columns if self.gram is None else self.gram
        return (matrix if rows is None else matrix[:, rows]) @ a

    def _margins(self, pull):
        """Without the offset."""
        return pull @ self.columns if self.gram is None else pull

    def _step(self, free, margins):
        """To where the margins of the free rows are 1, the offset there, and their Gram matrix."""
        if self.gram is None:
            part = self.columns[:, free]
            matrix = part.T @ part
        else:
            matrix = self.gram[np.ix_(free, free)]
        signs = self.signs[free]
        # the signed sum does not move; a term in it makes matrices of centred rows regular
        regular = matrix + signs[:, None] * signs
        for ridge in RIDGES:
            regular.ravel()[:: len(free) + 1] += ridge
            factor, failed = lapack.dpotrf(regular.T, lower=1)
            if not failed:
                break
        else:
            return None
        self.counts["pivot"] += 1
        both = np.array([1 - margins[free], signs]).T
        to_one, reach = lapack.dpotrs(factor, both, lower=1)[0].T
        offset = (signs @ to_one) / (signs @ reach)
        return to_one - offset * reach, offset, matrix

    def _pair(self, margins, states, tolerance):
        """Where no row is free, the two that ask most for different offsets; or none."""
        kinks = self.signs * (1 - margins)
        from_below = (states == AT_ZERO) == (self.signs > 0)
        least = np.where(from_below, kinks, -np.inf)
        most = np.where(from_below, np.inf, kinks)
        pair = np.array([least.argmax(), most.argmin()])
        apart = least[pair[0]] - most[pair[1]]
        return np.sort(pair) if apart > tolerance else pair[:0]

    # ------------------------------------------------------------ interior point

    def _interior(self, accuracy, point=None):
        """Mehrotra's predictor and corrector, until an error is small; the best point met."""
        point = self._inside() if point is None else point
        best, least = point, np.inf
        while True:
            errors = self._errors(point)
            if errors.largest < least:
                best, least = point, errors.largest
            steps = self.counts["interior point"]
            if not accuracy < errors.largest < np.inf or steps >= MOST_INTERIOR:
                return best
            a, _, _, below, above = point
            room = self.caps - a
            solve = self._solver(below / a + above / room)
            if solve is None:
                return best
            self.counts["interior point"] += 1
            equations = point, errors, solve, solve(self.signs)
            step = self._toward(*equations, -a * below, -room * above)
            after = self._complement(_moved(point, step, self._longest(point, step)))
            target = (after / errors.gap) ** 3 * errors.gap / (2 * len(a))
            first = target - a * below - step.a * step.below
            second = target - room * above + step.a * step.above
            step = self._toward(*equations, first, second)
            length = min(1.0, STEP_BACK * self._longest(point, step))
            if not length > SHORTEST_STEP:
                return best
            point = _moved(point, step, length)

    def _complement(self, point):
        return point.a @ point.below + (self.caps - point.a) @ point.above

    def _errors(self, point):
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
        return _Errors(lacks, unequal, gap, largest)

    def _toward(self, point, errors, solve, reach, first, second):
        """The Newton step to products of multipliers and slacks that change by these amounts."""
        a, _, _, below, above = point
        room = self.caps - a
        moved = solve(first / a - second / room - errors.lacks)
        offset = (self.signs @ moved + errors.unequal) / (self.signs @ reach)
        moved = moved - offset * reach
        return _Point(
            moved,
            self.columns @ moved,
            offset,
            (first - below * moved) / a,
            (second + above * moved) / room,
        )

    def _longest(self, point, step):
        """Length at which something that has to be positive becomes 0, up to 1."""
        ratios = (
            -step.a / point.a,
            step.a / (self.caps - point.a),
            -step.below / point.below,
            -step.above / point.above,
        )
        return 1 / max(1.0, *(ratio.max() for ratio in ratios))

    def _inside(self):
        a = self._best_multiple(0.5)
        room = self.caps - a
        direction = self.columns @ a
        excess = direction @ self.columns - 1
        product = CENTRED * np.minimum(a, room).mean()
        below = np.maximum(excess, 0) + product / a
        above = np.maximum(-excess, 0) + product / room
        return _Point(a, direction, 0.0, below, above)

    def _solver(self, diagonal):
        """Solve with the Gram matrix and this diagonal; by Woodbury's formula if it is large."""
        columns = self.columns
        if self.gram is not None:
            matrix = self.gram.copy()
            matrix.ravel()[:: len(matrix) + 1] += diagonal
            factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)

            def solve(right):
                return lapack.dpotrs(factor, right, lower=1)[0]
        else:
            part = columns / np.sqrt(diagonal)
            matrix = part @ part.T
            matrix.ravel()[:: len(matrix) + 1] += 1
            factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)

            def solve(right):
                pulled = lapack.dpotrs(factor, columns @ (right / diagonal), lower=1)[0]
                return (right - pulled @ columns) / diagonal

        return None if failed else solve


def _moved(point, step, length):
    return _Point(*(x + length * dx for x, dx in zip(point, step, strict=True)))


def _relative_gap(objective, bound):
    """Infinite where a number is missing: that is no proof."""
    gap = (objective - bound) / objective if objective else 0.0
    return float(max(gap, 0.0)) if np.isfinite(gap) else np.inf


def _nearest(target, caps, signs, total):
    """Point between 0 and caps of this signed sum, nearest to the target; None if not found."""
    low, high, shift = -np.inf, np.inf, 0.0
    for _ in range(30):
        moved = target - shift * signs
        point = np.clip(moved, 0, caps)
        excess = signs @ point - total
        if abs(excess) <= 1e-15 * point.sum():
            return point
        low, high = (shift, high) if excess > 0 else (low, shift)
        inside = np.count_nonzero((moved > 0) & (moved < caps))
        shift = shift + excess / inside if inside else np.inf
        if not low < shift < high:
            shift = (low + high) / 2
        if not np.isfinite(shift):
            return None
    return None
