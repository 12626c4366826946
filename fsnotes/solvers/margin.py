"""The soft-margin machine for columns scaled anew each time, by its dual quadratic program.

For rows ``v_i = y_i s z_i``, with the sizes s of the columns, the dual is: maximise
``sum a_i - |sum a_i v_i|^2 / 4`` over multipliers ``0 <= a_i <= C weight_i`` with
``sum a_i y_i = 0``; then ``u = sum a_i v_i / 2``. A pivoting method holds each multiplier at an
end of its interval or free: it solves the equations that make the margins of the free rows 1,
goes towards the solution as far as the intervals allow, where the rows that meet an end stay, and
frees the rows whose margins are on the wrong side of 1. The dual never falls, and a start that is
nearly right needs a pivot or two. Where there is no start, an interior-point method finds one.
Whatever the way, an answer is returned only with a duality gap that is computed from it.

C is meant to be at most 1e6; for machines that allow no errors there is `hard_margin`.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from fsnotes.core.tolerances import SHORT, VERIFIED_GAP
from fsnotes.solvers.hinge import balance, best_offset, require_verified
from fsnotes.solvers.interior_point import InteriorPoint

__all__ = ["Margin", "SoftMargin"]

AT_ZERO, FREE, AT_CAP = 0, 1, 2

WANTED_GAP = 1e-9  # a gap at which no better answer is looked for
WARM_PIVOTS = 200  # at most, from a start
COLD_PIVOTS = 12  # at most, from the middle
STAGES = ((1e-3, 60), (1e-6, 150), (1e-11, 300))  # accuracy of the interior point, pivots then
ONE_BY_ONE = 3  # rows that would leave their intervals, up to which a projection is not tried
JOINING = 3  # rows freed at a time: more are too many once they are free
ROUNDED = 1e-13  # part of the largest margin, or of a cap, that may be rounding
RIDGE = 1e-14  # part of the longest row's square, added to matrices that may be singular
REFINEMENTS = 2  # how often a direction that is a sum of large terms is refined


@dataclass(frozen=True)
class Margin:
    """A soft-margin machine, and the proof that it is optimal.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        ``w = sizes * u``, zero where the size is.
    offset : float
        Of several that are as good, the middle one.
    multipliers : ndarray of shape (n_rows,)
        From 0 to ``C * weights``; ``u = sum a_i y_i sizes * z_i / 2`` up to rounding.
    objective, hinge : float
        ``u'u + C * hinge``, and the weighted sum of ``max(0, 1 - margin)``.
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
    C: float = 1.0


class SoftMargin:
    """Minimise ``u'u + C * sum_i weight_i * max(0, 1 - y_i (z_i'u + b))`` over u and b.

    The columns of Z are multiplied by sizes that differ from call to call.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        -1 or 1.
    weights : ndarray of shape (n_rows,)
        Not negative, and positive for some row of each class; a row that stands for several equal
        ones has the sum of their weights.

    Notes
    -----
    With N rows of positive weight and n columns, a call costs O(N n) for the columns and, if
    N <= n, O(N^2 n) for their Gram matrix. With m free rows, at most ``n + 1`` unless some are
    redundant, a pivot costs O(m^3 + m^2 n + N n), or O(m^3 + N m) with the Gram matrix. A start
    nearby takes a few pivots. Without one there are about 10 to 40 steps of the interior point
    before, O(N n^2) each, or O(N^3) with the Gram matrix.
    """

    def __init__(self, Z, y, weights):
        self.sample_weight = np.asarray(weights, dtype=float)
        self.used = np.flatnonzero(self.sample_weight > 0)
        self.signs = np.asarray(y, dtype=float)[self.used]
        for sign in (-1, 1):
            if not (self.signs == sign).any():
                raise ValueError(
                    f"class {sign} has no row of positive weight; pass positive weights for some"
                )
        rows = np.asarray(Z, dtype=float)[self.used]
        # The offset is not penalised, so that centring changes no solution; but it saves digits.
        self.center = rows.mean(axis=0)
        self.columns = np.ascontiguousarray(((rows - self.center) * self.signs[:, None]).T)

    def solve(self, sizes, C, *, start=None):
        """Return the `Margin` for these sizes and this C, or raise a `SubproblemError`.

        Parameters
        ----------
        sizes : ndarray of shape (n_features,)
            Factors of the columns. A column of size 0 is not used.
        C : float
        start : Margin, optional
            Of the same rows, for sizes or a C nearby.
        """
        sizes = np.asarray(sizes, dtype=float)
        live = np.flatnonzero(sizes)
        columns = self.columns[live] * sizes[live, None]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            gram = columns.T @ columns if columns.shape[1] <= len(columns) else None
            squares = np.einsum("ij,ij->j", columns, columns) if gram is None else gram.diagonal()
            # The longest row becomes 1 long; objectives are measured in this unit, multipliers in
            # one over it.
            length = np.sqrt(squares.max(initial=0))
            unit = length**2 / 2
            caps = C * self.sample_weight[self.used]
            if unit * caps.max() > np.finfo(float).tiny:
                columns /= length
                gram = None if gram is None else gram / length**2
            else:  # nothing tells the rows apart
                live = live[:0]
                columns = columns[:0]
                length = unit = 1.0
        program = _Dual(columns, gram, self.signs, caps * unit)
        if start is not None:
            # Multipliers in proportion to C keep every constraint.
            start = start.multipliers[self.used] * (C * unit / start.C), start.states[self.used]
        answer = program.solve(start)
        gap = answer.duality_gap
        remedy = f"a smaller C than {C:g}, or columns of similar sizes"
        heaviest = self.sample_weight.max()
        require_verified(gap, VERIFIED_GAP, "the soft-margin program", remedy, heaviest)
        weights = np.zeros(len(sizes))
        weights[live] = sizes[live] * answer.weights / length
        multipliers = np.zeros(len(self.sample_weight))
        multipliers[self.used] = answer.multipliers / unit
        states = np.zeros(len(self.sample_weight), dtype=np.int8)
        states[self.used] = answer.states
        return replace(
            answer,
            weights=weights,
            offset=float(answer.offset - self.center @ weights),
            multipliers=np.minimum(multipliers, C * self.sample_weight),
            objective=float(answer.objective / unit),
            hinge=float(answer.hinge / (C * unit)),
            states=states,
            C=float(C),
        )


class _Dual:
    """Maximise ``sum a - |columns a|^2 / 2`` for ``0 <= a <= caps`` and ``signs @ a = 0``.

    The primal: minimise ``|v|^2 / 2 + caps @ max(0, 1 - columns' v - signs * b)``. A column of
    `columns` is a row of the data times its sign, and none is longer than 1.
    """

    def __init__(self, columns, gram, signs, caps):
        self.columns = columns
        self.gram = gram
        self.signs = signs
        self.caps = caps
        self.counts = {"pivot": 0, "interior point": 0}

    def solve(self, start):
        """Return the first answer that is accurate enough, or the best."""
        best = None
        with np.errstate(all="ignore"):
            for answer in self._answers(start):
                if best is None or answer.duality_gap < best.duality_gap:
                    best = answer
                if best.duality_gap <= WANTED_GAP:
                    break
        return best

    def _attempts(self, start):
        """Yield multipliers and states, by one way after the other."""
        if not len(self.columns):
            largest = balance(self.caps, self.signs)
            yield largest, self._states(largest)
            return
        if start is not None:
            yield self.pivot(*self._feasible(*start), WARM_PIVOTS)
        elif self.gram is not None:
            middle = self._largest_multiple(1.0)
            yield self.pivot(middle, np.full(len(middle), FREE), COLD_PIVOTS)
        start = self._largest_multiple(0.5)
        interior = InteriorPoint(self.columns, self.gram, self.signs, self.caps, start)
        for accuracy, most in STAGES:
            interior.go_on(accuracy)
            self.counts["interior point"] = interior.steps
            yield self.pivot(*self._feasible(*self._guess(interior.point)), most)
        # Where many rows are equal, pivots may end far away, and the interior point is the answer.
        yield interior.point.a, self._states(interior.point.a)

    # ------------------------------------------------------------ answers

    def _answers(self, start):
        """Yield machines of all attempts, each with its offset and the distance to a bound."""
        for multipliers, states in self._attempts(start):
            safe = balance(np.clip(multipliers, 0, self.caps), self.signs)
            direction = self.columns @ safe
            bound = safe.sum() - direction @ direction / 2
            for found in self._directions(direction, states):
                margins = found @ self.columns
                offset = best_offset(self.signs * (1 - margins), self.signs, self.caps)
                margins += self.signs * offset
                loss = self.caps @ np.maximum(0, 1 - margins)
                objective = found @ found / 2 + loss
                # Where errors are expensive, a margin of 1 that rounding made short costs more
                # than a longer direction does.
                lack = (1 - margins[multipliers < self.caps]).max(initial=0)
                longer = 1 / (1 - lack - 8 * np.finfo(float).eps * abs(margins).max())
                if 0 < lack < SHORT and longer**2 * found @ found / 2 < objective:
                    found = longer * found
                    offset = longer * offset
                    loss = self.caps @ np.maximum(0, 1 - longer * margins)
                    objective = found @ found / 2 + loss
                gap = max((objective - bound) / objective, 0.0) if objective else 0.0
                gap = float(gap) if np.isfinite(gap) else np.inf  # a missing number proves nothing
                yield Margin(found, offset, safe, objective, loss, gap, self.counts, states)

    def _directions(self, direction, states):
        """Yield that of the multipliers, then with fewer digits lost where these are large."""
        yield direction
        free = np.flatnonzero(states == FREE)
        for _ in range(REFINEMENTS if len(free) else 0):
            step, _, _ = self._step(free, direction @ self.columns)
            direction = direction + self.columns[:, free] @ step
            yield direction

    def _states(self, multipliers):
        return np.where(multipliers <= 0, AT_ZERO, np.where(multipliers >= self.caps, AT_CAP, FREE))

    # ------------------------------------------------------------ starts

    def _largest_multiple(self, most):
        """Return the largest multipliers times what is best, up to a part of them."""
        largest = balance(self.caps, self.signs)
        direction = self.columns @ largest
        return min(most, largest.sum() / max(direction @ direction, 1e-300)) * largest

    def _feasible(self, multipliers, states):
        """Return the multipliers at their ends where they are held, with a signed sum of zero."""
        least = np.where(states == AT_CAP, self.caps, 0)
        most = np.where(states == AT_ZERO, 0, self.caps)
        multipliers = np.clip(multipliers, least, most)
        free = np.flatnonzero(states == FREE)
        excess = self.signs @ multipliers
        if abs(excess) <= ROUNDED * multipliers.sum():
            return multipliers, states
        down = self.signs[free] * excess > 0
        room = np.where(down, multipliers[free], self.caps[free] - multipliers[free])
        if room.sum() > abs(excess):
            multipliers[free] -= self.signs[free] * room * (excess / room.sum())
            return multipliers, states
        multipliers = balance(multipliers, self.signs)
        return multipliers, self._states(multipliers)

    def _guess(self, point):
        """Return multipliers of the interior point, and whether each is free or at an end."""
        states = np.where(point.a <= self.caps - point.a, AT_ZERO, AT_CAP)
        usual = point.a.mean()
        freedom = np.minimum(point.a / point.below, (self.caps - point.a) / point.above) / usual
        most_free = min(self.columns.shape) + 1  # so many rows may be independent
        free = np.argsort(-freedom, kind="stable")[:most_free]
        states[free[freedom[free] > 1]] = FREE
        return point.a, states

    # ------------------------------------------------------------ pivots

    def pivot(self, a, states, most):
        """Return multipliers and states after pivots: optimal ones, unless these are too many."""
        signs = self.signs
        slopes = self._slopes(a)
        for _ in range(most):
            margins = self._margins(slopes)
            free = np.flatnonzero(states == FREE)
            if not len(free):
                free = self._pair(margins, states)
                if not len(free):
                    break
                states[free] = FREE
            move, offset, matrix = self._step(free, margins)
            moved, ended = self._within(free, a[free], move, 1 - margins[free], matrix)
            slopes = slopes + self._slopes(moved - a[free], free)
            a[free] = moved
            if ended.any():
                states[free[ended]] = np.where(moved[ended] > 0, AT_CAP, AT_ZERO)
                continue
            margins = self._margins(slopes)
            excess = margins - 1 + signs * offset
            wrong = np.where(states == AT_ZERO, -excess, np.where(states == AT_CAP, excess, 0))
            joining = np.flatnonzero(wrong > ROUNDED * (1 + abs(margins).max()))
            if not len(joining):
                break
            states[joining[np.argsort(-wrong[joining], kind="stable")[:JOINING]]] = FREE
        return a, states

    def _within(self, free, now, move, slope, matrix):
        """Return the multipliers of free rows after the step, and which have met an end.

        The step is shortened until a row meets an end, or its end is projected, if that gains more.
        """
        caps = self.caps[free]
        room = np.where(move > 0, caps - now, now)
        lengths = np.divide(room, abs(move), out=np.full(len(free), np.inf), where=move != 0)
        length = min(1.0, lengths.min())
        moved = now + length * move
        ended = (lengths <= length) & (length < 1)
        moved[ended] = np.where(move > 0, caps, 0)[ended]
        if np.count_nonzero(lengths < 1) > ONE_BY_ONE:
            nearest = _nearest(now + move, caps, self.signs[free], self.signs[free] @ now)
            tried = [moved] if nearest is None else [moved, nearest]
            gains = [d @ (slope - matrix @ d / 2) for d in (x - now for x in tried)]
            if gains[-1] > gains[0]:
                return nearest, (nearest <= 0) | (nearest >= caps)
        return moved, ended

    def _slopes(self, a, rows=None):
        """Return what determines the margins: the direction, or the margins themselves."""
        matrix = self.columns if self.gram is None else self.gram
        return (matrix if rows is None else matrix[:, rows]) @ a

    def _margins(self, slopes):
        """Return the margins without the offset."""
        return slopes @ self.columns if self.gram is None else slopes

    def _step(self, free, margins):
        """Return the step to margins of 1 of the free rows, the offset there, their Gram matrix."""
        if self.gram is None:
            part = self.columns[:, free]
            matrix = part.T @ part
        else:
            matrix = self.gram[np.ix_(free, free)]
        signs = self.signs[free]
        # The signed sum does not move; a term in it makes matrices of centred rows regular.
        regular = matrix + signs[:, None] * signs
        regular.ravel()[:: len(free) + 1] += RIDGE
        factor, _ = lapack.dpotrf(regular.T, lower=1)  # if it fails, the gap will tell
        self.counts["pivot"] += 1
        both = np.array([1 - margins[free], signs]).T
        to_one, reach = lapack.dpotrs(factor, both, lower=1)[0].T
        offset = (signs @ to_one) / (signs @ reach)
        return to_one - offset * reach, offset, matrix

    def _pair(self, margins, states):
        """Return the two rows that ask most for different offsets, or none."""
        kinks = self.signs * (1 - margins)
        from_below = (states == AT_ZERO) == (self.signs > 0)
        least = np.where(from_below, kinks, -np.inf)
        most = np.where(from_below, np.inf, kinks)
        pair = np.array([least.argmax(), most.argmin()])
        apart = least[pair[0]] - most[pair[1]]
        return np.sort(pair) if apart > ROUNDED * (1 + abs(margins).max()) else pair[:0]


def _nearest(target, caps, signs, total):
    """Return the point between 0 and caps, of this signed sum, that is nearest to the target.

    It is ``clip(target - shift * signs, 0, caps)`` for one shift, which is found by Newton's
    method or, where that leaves its bounds, by halves; None where rounding hides it.
    """
    low = -np.inf
    high = np.inf
    shift = 0.0
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
