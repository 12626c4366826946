"""Weighted l1 norms under the bounds of two classes: a second-order cone problem.

All problems are ``minimise sum_j (c_j |w_j| - q_j w_j)`` with one of three normalisations, where
``s_i = sqrt(w' S_i w)`` and ``d`` is the gap of the means:

- ``"margin"``: ``d'w >= max(1, kappa_1 s_1) + max(1, kappa_2 s_2)``, the two cones and the two
  rows ">= 1" of the papers once the offset is eliminated;
- ``"gap"``: ``d'w = 1`` and ``kappa_1 s_1 + kappa_2 s_2 <= 1``;
- ``"penalty"``: ``d'w = 1``, and ``kappa_1 s_1 + kappa_2 s_2`` is added to the objective.

Only features of a working set enter the problem that is solved; the others are priced with its
multipliers, and those that would lower the objective join. The optimality conditions on the
features selected are equations, which Newton's method solves from a guess of the selected
features and their signs; where it does not arrive, Clarabel solves the working set. Whatever
the way, an answer is returned only with a duality gap that is computed from it.
"""

from dataclasses import dataclass, field
from functools import cached_property

import clarabel
import numpy as np
from scipy import linalg, sparse

from fsnotes.errors import SubproblemError

__all__ = ["ConeProblem", "Solution"]

PRICED_OUT = 1e-9  # relative excess of |slope| over cost up to which a feature stays out
FIRST_FEATURES, MOST_FIRST_FEATURES, MORE_FEATURES = 16, 256, 16
ROUGH, FINE = 1e-4, 1e-9
FEW_FEATURES = 128  # that join together
SETTLED = 1e-7  # relative distance of slopes from costs where selected
GROWTH = 2
CLOSE, CLOSER = 1e-5, 1e-8  # last step of Newton's method, which squares it
REMEDIES = {
    "margin": "a bound further from the largest",
    "gap": "a bound further from the largest",
    "penalty": "a larger price of the weights",
}
LARGEST_GAP, LARGEST_VIOLATION = 1e-6, 1e-7
SMALL = 32
BOLD_TURNS, CAUTIOUS_TURNS, MAX_ROUNDS = 12, 60, 200
# steps of one turn; where it arrives, 10 or 30 are enough, besides those in which a feature leaves
BOLD_NEWTON, CAUTIOUS_NEWTON = 12, 40
MAY_WEIGH, MAY_BIND = 1e-3, 0.9  # parts of the largest weight and of the cost, in a rough answer


@dataclass(frozen=True)
class Solution:
    """Weights, and the proof that they are optimal.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
    objective : float
    duality_gap : float
        Between the objective and a lower bound from feasible multipliers, relative.
    violation : float
        Of the constraints, relative.
    slopes : ndarray of shape (n_features,)
        Of tilt and constraints; within ``[-c, c]`` at an optimum, at an end where selected.
    deviations : ndarray of shape (2,)
        Of both classes along the weights.
    counts : dict
        Newton steps, cone problems, and products with all features.
    """

    weights: np.ndarray
    objective: float
    duality_gap: float = 0.0
    violation: float = 0.0
    slopes: np.ndarray | None = None
    deviations: np.ndarray | None = None
    counts: dict = field(default_factory=dict)
    point: "_Point | None" = field(default=None, repr=False)

    def holds_at(self, kappas):
        """Whether no bound binds, neither here nor at these kappas: the answer is the same."""
        if self.point is None or set(self.point.states) - {"floor", "slack"}:
            return False
        spread = np.asarray(kappas) * self.deviations
        return (spread.sum() if "slack" in self.point.states else spread.max()) <= 1


class ConeProblem:
    """A family of problems over one pair of classes.

    Parameters
    ----------
    pair : MomentPair
    normalization : {"margin", "gap", "penalty"}

    Notes
    -----
    A product with all features costs O(N n) in factor form, else O(n k) for k features selected;
    there is about one for each dozen features selected. A Newton step costs O(k^3), and there are
    a few for each feature that joins or leaves.
    """

    def __init__(self, pair, normalization):
        self.pair = pair
        self.normalization = normalization

    def solve(self, kappas, costs=None, tilt=None, *, constant=0.0, feasible=None, start=None):
        """Solve for these bounds, costs and tilt.

        Parameters
        ----------
        kappas : pair of float
            Of class 1 and class 2, positive; 0 is allowed for ``"margin"``.
        costs, tilt : ndarray of shape (n_features,), optional
            ``c > 0``, by default 1, and ``q`` with ``|q| < c``, by default 0.
        constant : float, default=0.0
            What the objective is part of; the duality gap is relative to the whole.
        feasible : ndarray of shape (n_features,), optional
            Weights that some length makes feasible. Not needed for ``"penalty"``.
        start : Solution, optional
            Of a problem nearby.

        Returns
        -------
        Solution

        Raises
        ------
        SubproblemError
            If no answer can be verified.
        """
        size = len(self.pair.mean_diff)
        costs = np.ones(size) if costs is None else costs
        tilt = np.zeros(size) if tilt is None else tilt
        task = _Task(self, np.array(kappas, dtype=float), costs, tilt, feasible, constant)
        return task.run(None if start is None else start.point)


@dataclass
class _Point:
    """Weights and multipliers on a working set.

    The slope of the constraints is ``lift * gap - sum_i S_i pulls_i``; the pulls have a column
    more for the feasible machine.
    """

    features: np.ndarray
    weights: np.ndarray
    lift: float
    pulls: np.ndarray
    betas: np.ndarray  # multipliers of the deviations, the lengths of the pulls
    states: tuple
    share: float = 0.0  # of the feasible machine
    accuracy: float = 0.0  # of the cone solver; 0 from Newton's method
    covariances: np.ndarray | None = None  # of the features, to be used again


class _Task:
    """One call of `ConeProblem.solve`."""

    def __init__(self, problem, kappas, costs, tilt, feasible, constant=0.0):
        self.pair, self.kind = problem.pair, problem.normalization
        self.gap, self.kappas, self.costs, self.tilt = self.pair.mean_diff, kappas, costs, tilt
        self.counts = {"newton": 0, "cone": 0, "products": 0}
        self._direction, self.constant = feasible, constant

    @cached_property
    def feasible(self):
        """A multiple of the feasible direction that meets the constraints."""
        weights = self._direction
        features = np.flatnonzero(weights)
        margin = self.gap[features] @ weights[features]
        if self.kind == "gap":
            return weights / margin
        spread = self.kappas * self.pair.deviations(features, weights[features]) / margin
        # where both cones bind no length is enough, but for a bound that is just attained
        lengths = (
            [2.0] + [1 / (1 - s) for s in spread if s < 1] + [1 / np.clip(spread.min(), 1e-9, 0.5)]
        )
        excess = [np.maximum(1, t * spread).sum() / t - 1 for t in lengths]
        fit = [t for t, e in zip(lengths, excess, strict=True) if e <= 1e-9]
        return weights * (min(fit) if fit else lengths[np.argmin(excess)]) / margin

    @cached_property
    def pushes(self):
        """Both covariances times the feasible machine."""
        features = np.flatnonzero(self.feasible)
        self.counts["products"] += 1
        return [self.pair.times(i, features, self.feasible[features]) for i in (0, 1)]

    def run(self, start):
        point = (
            None
            if start is None
            else self.settled(_Block(self, start.features, start.covariances).newton(start))
        )
        return self.verified(self.settled_by_cones(start) if point is None else point)

    def settled(self, point):
        """Newton's method, with features that join until none would; None where that fails."""
        for _ in range(MAX_ROUNDS):
            if point is None:
                return None
            entering = self.entering(point)
            if len(entering) == 0:
                return point
            point = _Block(self, np.append(point.features, entering)).newton(point)
        return None

    def settled_by_cones(self, start):
        working, accuracy = self.first_features(start), ROUGH
        aside = np.array([], dtype=int)
        for _ in range(MAX_ROUNDS):
            block = _Block(self, working)
            point = block.cone(accuracy)
            if point.share < 1e-3:
                point = self.settled(block.newton(point)) or point
            if point.accuracy == 0:
                return point
            entering = self.entering(point)
            if len(entering) == 0:
                if accuracy == FINE and len(aside) == 0:
                    return point
                if accuracy == ROUGH:
                    aside = block.unlikely(point)
                    working = np.setdiff1d(working, aside)
                else:  # Newton's method did not arrive, and multipliers have to suit all features
                    entering, aside = aside, aside[:0]
                accuracy = FINE
            working = np.union1d(working, entering)
        raise SubproblemError(
            f"features still enter after {MAX_ROUNDS} rounds; pass ridge= to make the covariances "
            "better conditioned"
        )

    def entering(self, point):
        """Features outside the working set that would lower the objective."""
        if len(point.features) == len(self.gap):
            return np.array([], dtype=int)
        excess = abs(self.slopes(point)) / self.costs - 1
        excess[point.features] = 0
        outside = np.flatnonzero(excess > (1e-6 if point.accuracy else PRICED_OUT))
        if len(outside) and len(self.gap) <= FEW_FEATURES:
            return np.setdiff1d(np.arange(len(self.gap)), point.features)
        more = max(MORE_FEATURES, len(point.features) // 2)
        return outside[np.argsort(-excess[outside], kind="stable")[:more]]

    def first_features(self, start):
        """All features if they are few; else the promising ones, enough to reach the bounds.

        A start has reached bounds nearby, so that few more than its own are needed.
        """
        size, everything = FIRST_FEATURES, len(self.gap)
        while size * GROWTH < everything:  # a larger part saves nothing
            found = self.promising(size)
            if start is not None:
                return np.union1d(start.features[start.weights != 0], found)
            if self.kind == "penalty" or size >= MOST_FIRST_FEATURES or self.reach(found) > 1.2:
                return found
            size *= GROWTH
        return np.arange(everything)

    def reach(self, features):
        """A lower bound on how many times the bounds these features could keep, squared."""
        first, second = (
            kappa**2 * self.pair.block(index, features) for index, kappa in enumerate(self.kappas)
        )
        gap = self.gap[features]
        try:
            return gap @ np.linalg.solve(first + second, gap) / 2
        except np.linalg.LinAlgError:
            return np.inf

    def promising(self, size):
        """Features of large gap, and those that weigh most in the feasible machine."""
        found = np.argsort(-abs(self.gap) / self.costs, kind="stable")[: size // 2]
        worth = abs(self.gap if self._direction is None else self._direction) * self.costs
        worth[found] = -1
        return np.append(found, np.argsort(-worth, kind="stable")[: size - len(found)])

    def slopes(self, point):
        self.counts["products"] += 1
        slopes = self.tilt + point.lift * self.gap
        for index in (0, 1):
            pulls = point.pulls[index, :-1]
            used = pulls != 0
            slopes -= self.pair.times(index, point.features[used], pulls[used])
            if point.pulls[index, -1]:
                slopes -= point.pulls[index, -1] * self.pushes[index]
        return slopes

    def verified(self, point):
        slopes = self.slopes(point)
        weights = np.zeros(len(self.gap))
        weights[point.features] = point.weights
        if point.share > 0 and point.accuracy:
            weights += point.share * self.feasible
        features = np.flatnonzero(weights)
        deviations = self.pair.deviations(features, weights[features])
        spread = self.kappas * deviations
        margin = self.gap @ weights
        objective = self.costs @ abs(weights) - self.tilt @ weights
        if self.kind == "margin":
            violation = np.maximum(1, spread).sum() / margin - 1 if margin > 0 else np.inf
        elif self.kind == "gap":
            violation = max(abs(margin - 1), spread.sum() - 1)
        else:
            violation = abs(margin - 1)
            objective += spread.sum()
        whole = objective + self.constant
        gap = (objective - self.lower_bound(point, slopes)) / whole if whole > 0 else np.inf
        if not (gap <= LARGEST_GAP and violation <= LARGEST_VIOLATION):
            raise SubproblemError(
                f"the best answer found has a duality gap of {gap:.1e} and violates a constraint "
                f"by {violation:.1e}, more than {LARGEST_GAP:.0e} and {LARGEST_VIOLATION:.0e}; "
                f"pass a ridge, or {REMEDIES[self.kind]}"
            )
        return Solution(
            weights,
            objective,
            max(gap, 0.0),
            max(violation, 0.0),
            slopes,
            deviations,
            self.counts,
            point,
        )

    def lower_bound(self, point, slopes):
        """Of the objective, from multipliers that are shrunk until they are feasible."""
        lengths = point.betas
        if self.kind == "penalty":
            value, limit = point.lift, (self.kappas / np.maximum(lengths, 1e-300)).min()
        elif self.kind == "gap":
            value, limit = point.lift - (lengths / self.kappas).max(), 1.0
        else:
            prices = np.divide(lengths, self.kappas, out=np.zeros(2), where=self.kappas > 0)
            excess = max(prices.max() - point.lift, 0)
            slopes = slopes + excess * self.gap
            value, limit = 2 * (point.lift + excess) - prices.sum(), 1.0
        change = slopes - self.tilt
        room = self.costs - np.sign(change) * self.tilt
        shrink = min(1.0, limit, (room / np.maximum(abs(change), 1e-300)).min())
        return shrink * value


class _Block:
    """The problem restricted to a working set."""

    def __init__(self, task, features, covariances=None):
        self.task, self.features = task, features
        self.gap, self.costs = task.gap[features], task.costs[features]
        self.tilt = task.tilt[features]
        # a tilt takes nearly all of some costs, so that slopes have to be known more closely
        self.close = CLOSER if task.tilt.any() or np.ptp(task.costs) else CLOSE
        if covariances is None:
            covariances = np.array([task.pair.block(i, features) for i in (0, 1)])
        self.covariances = covariances

    def constraints(self, states):
        """Rows (e, f, g1, g2) of ``e + f d'w - g's``, and the part of ``g`` in the objective."""
        if self.task.kind == "penalty":
            return np.array([[-1.0, 1, 0, 0]]), self.task.kappas
        if self.task.kind == "gap":
            k1, k2 = self.task.kappas
            rows = np.array([[-1, 1, 0, 0], [1, 0, k1, k2]])
            return rows[: 1 if "slack" in states else 2], np.zeros(2)
        rows = [[0.0, 1, 0, 0]]
        for column, state in enumerate(states):
            if state == "cone":
                rows[0][2 + column] = self.task.kappas[column]
            else:
                rows[0][0] -= 1
            if state == "both":
                rows.append([1.0, 0, 0, 0])
                rows[-1][2 + column] = self.task.kappas[column]
        return np.array(rows), np.zeros(2)

    def newton(self, start):
        """From a guess of features, signs and states to an optimum of the working set, or None."""
        found = self.pivoted(start, bold=True)
        # from the answer of another problem, a cone problem costs less than many small steps
        if found is None and (start.accuracy or len(self.features) <= SMALL):
            return self.pivoted(start, bold=False)
        return found

    def pivoted(self, start, bold):
        """Features join and leave in blocks, if `bold`, or one at a time."""
        weights = np.zeros(len(self.features))
        weights[: len(start.weights)] = start.weights
        if start.accuracy:
            weights[abs(weights) < (1 - abs(self.block_slopes(start))) * abs(weights).max()] = 0
        signs, states, betas = np.sign(weights), list(start.states), start.betas
        refined = 0
        for _ in range(BOLD_TURNS if bold else CAUTIOUS_TURNS):
            found = self.stationary(weights, signs, states, betas, bold)
            if found is None:
                return None
            weights, signs, multipliers, betas, spread, pushes = found
            if self.switched(states, multipliers, spread):
                continue
            slopes = self.tilt + multipliers[0] * self.gap - betas @ pushes
            apart = abs(slopes / self.costs - signs)[signs != 0].max()
            if apart > SETTLED and refined < 2:
                refined += 1
                continue
            excess = np.where(signs == 0, abs(slopes) / self.costs - 1, 0)
            worst = excess.argmax()
            if excess[worst] <= PRICED_OUT:
                pulls = np.zeros((2, len(weights) + 1))
                factors = np.divide(
                    betas * self.task.kappas, spread, where=betas > 0, out=np.zeros(2)
                )
                pulls[:, :-1] = factors[:, None] * weights
                return _Point(
                    self.features,
                    weights,
                    multipliers[0],
                    pulls,
                    betas,
                    tuple(states),
                    covariances=self.covariances,
                )
            join = excess > max(excess[worst] / 4, PRICED_OUT) if bold else worst
            signs[join] = np.sign(slopes[join])
        return None

    def stationary(self, weights, signs, states, betas, bold):
        """Solve the optimality conditions for these signs; features that change sign leave."""
        rows, in_objective = self.constraints(states)
        needed = (rows[:, 2:] != 0).any(axis=0) | (in_objective > 0)
        weights, signs, chosen = weights.copy(), signs.copy(), None
        count = len(rows)
        for _ in range(BOLD_NEWTON if bold else CAUTIOUS_NEWTON + np.count_nonzero(signs)):
            if chosen is None:
                chosen = np.flatnonzero(signs)
                size = len(chosen)
                if size == 0:
                    return None
                blocks = self.covariances[:, chosen[:, None], chosen]
                least_units = 1e-6 * np.sqrt(blocks.sum(axis=0).diagonal())
                gap = self.gap[chosen]
                fixed = self.tilt[chosen] - self.costs[chosen] * signs[chosen]
                system, right = np.zeros((size + count,) * 2, order="F"), np.empty(size + count)
            self.task.counts["newton"] += 1
            short = weights[chosen]
            products = blocks @ short
            deviations = np.sqrt(np.maximum(products @ short, 1e-300))
            # what is left of these by cancellation is rounding
            if (needed & (deviations < least_units @ abs(short))).any():
                return None
            pushes = products / deviations[:, None]
            curvature = betas / deviations
            system[:size, :size] = curvature[0] * blocks[0] + curvature[1] * blocks[1]
            system[:size, :size] -= (pushes.T * curvature) @ pushes
            slopes = rows[:, 1:2] * gap - rows[:, 2:] @ pushes
            system[:size, size:], system[size:, :size] = -slopes.T, slopes
            right[:size] = fixed - in_objective @ pushes
            right[size:] = rows[:, 2:] @ deviations - rows[:, 0] - rows[:, 1] * (gap @ short)
            *_, solved, failed = linalg.lapack.dgesv(system, right)
            if failed or not np.isfinite(solved.sum()):
                return None
            step, multipliers = solved[:size], solved[size:]
            before, betas = betas, np.maximum(in_objective + multipliers @ rows[:, 2:], 0)
            ends = short + step
            leaving = ends * signs[chosen] <= 0
            if leaving.any():
                if not bold:
                    fractions = np.ones(size)
                    np.divide(abs(short), abs(step), out=fractions, where=leaving)
                    fraction = fractions.min()
                    ends = short + fraction * step
                    leaving = fractions <= fraction
                ends[leaving] = 0
                weights[chosen] = ends
                signs[chosen[leaving]] = 0
                chosen = None
                continue
            weights[chosen] = ends
            # near the largest bound weights hardly move while multipliers still do
            still = abs(betas - before).max() <= self.close * betas.max()
            if still and abs(step).max() <= self.close * abs(ends).max():
                products = self.covariances[:, :, chosen] @ ends
                deviations = np.sqrt(np.maximum(products[:, chosen] @ ends, 1e-300))
                spread, pushes = self.task.kappas * deviations, products / deviations[:, None]
                return weights, signs, multipliers, betas, spread, pushes
        return None

    def block_slopes(self, point):
        """Slopes of a point of this block over costs, from its pulls."""
        slopes = self.tilt + point.lift * self.gap
        for covariance, pulls in zip(self.covariances, point.pulls, strict=True):
            slopes -= covariance @ pulls[:-1]
        if point.pulls[:, -1].any():
            for pulls, push in zip(point.pulls, self.task.pushes, strict=True):
                slopes -= pulls[-1] * push[self.features]
        return slopes / self.costs

    def unlikely(self, point):
        """Features that a rough answer all but rules out."""
        sizes, slopes = abs(point.weights), abs(self.block_slopes(point))
        return self.features[(slopes < MAY_BIND) & (sizes < MAY_WEIGH * sizes.max())]

    def switched(self, states, multipliers, spread):
        """Correct the guess of what binds: a cone, a row ">= 1", or both."""
        if self.task.kind == "penalty":
            return False
        if self.task.kind == "gap":
            before = list(states)
            if "slack" not in states and multipliers[1] < 0:
                states[:] = ["slack", "slack"]
            elif "slack" in states and spread.sum() > 1 + 1e-10:
                states[:] = ["cone", "cone"]
            return states != before
        changed, position = False, 1
        for index in (0, 1):
            state = states[index]
            if state == "both":
                multiplier = multipliers[position]
                position += 1
                if multiplier < -1e-10 * multipliers[0]:
                    states[index] = "floor"
                elif multiplier > multipliers[0] * (1 + 1e-10):
                    states[index] = "cone"
            elif (spread[index] - 1) * (1 if state == "floor" else -1) > 1e-10:
                states[index] = "both"
            changed |= states[index] != state
        return changed

    def cone(self, accuracy):
        """Solve by Clarabel; the feasible machine, at its cost, keeps the problem feasible.

        A rough answer allows each weight one sign alone, which halves the problem; Newton's
        method lets a feature of the other sign join.
        """
        task, size = self.task, len(self.features)
        covariances, gap, cost = self.covariances, self.gap, self.costs
        # where all features take part, the feasible machine is already among the candidates
        if task.kind != "penalty" and size < len(task.gap):
            feasible = task.feasible
            covariances = [
                np.block([[c, p[self.features][:, None]], [p[self.features], feasible @ p]])
                for c, p in zip(covariances, task.pushes, strict=True)
            ]
            gap = np.append(gap, task.gap @ feasible)
            cost = np.append(cost, task.costs @ abs(feasible) - task.tilt @ feasible)
        roots = [_root(covariance) for covariance in covariances]
        columns, signs = np.arange(len(gap)), np.ones(len(gap))
        signs[:size] = self.likely_signs()
        if accuracy < ROUGH:
            columns, signs = np.append(columns, columns[:size]), np.append(signs, -signs[:size])
        tilt = np.append(self.tilt, np.zeros(len(gap) - size))  # a cost already holds its own
        linear = cost[columns] - signs * tilt[columns]
        signed_roots = [root[:, columns] * signs for root in roots]
        found = self.attempt(*self.program(gap[columns] * signs, signed_roots, linear), accuracy)
        amounts, dual = np.array(found.x)[: len(columns)], np.array(found.z)
        weights = np.bincount(columns, amounts * signs)
        pulls, betas, end = np.zeros((2, size + 1)), np.zeros(2), len(dual)
        for index in (1, 0):
            root = roots[index]
            if task.kappas[index] == 0:
                continue
            part = -dual[end - len(root) : end]
            pulls[index, : len(gap)] = _solved(root, part)
            betas[index] = np.linalg.norm(part)
            end -= len(root) + 1
        spread = task.kappas * [np.linalg.norm(root @ weights) for root in roots]
        share = max(weights[size:].sum(), 0.0)
        return _Point(
            self.features,
            weights[:size],
            -dual[0],
            pulls,
            betas,
            self.guessed_states(spread),
            share,
            accuracy,
        )

    def likely_signs(self):
        signs = np.sign(self.gap)
        if self.task.kind != "penalty":
            feasible = self.task._direction[self.features]
            signs = np.where(feasible == 0, signs, np.sign(feasible))
        return np.where(signs == 0, 1, signs)

    def guessed_states(self, spread):
        if self.task.kind == "penalty":
            return ("cone",) * 2  # their price is always paid
        if self.task.kind == "gap":
            return ("cone" if spread.sum() > 1 - 1e-5 else "slack",) * 2
        return tuple("both" if abs(s - 1) < 1e-4 else "cone" if s > 1 else "floor" for s in spread)

    def program(self, gap, roots, costs):
        """The problem in Clarabel's form: minimise ``p'x`` where ``b - A x`` lies in cones.

        The variables are the amounts of the columns, not negative, and the margins of both
        classes.
        """
        size, kind = len(gap), self.task.kind
        linear = np.append(costs, [float(kind == "penalty")] * 2)
        heights = [2 if kind == "gap" else 1, size + 2 * (kind == "margin")]
        bound = [index for index in (0, 1) if self.task.kappas[index] > 0]
        heights += [1 + len(roots[index]) for index in bound]
        columns, right = np.zeros((size + 2, sum(heights))), np.zeros(sum(heights))
        columns[:size, 0], right[0] = gap, kind != "margin"
        if kind == "margin":
            columns[size:, 0] = -1
        elif kind == "gap":
            columns[size:, 1], right[1] = 1, 1
        start = heights[0] + heights[1]
        amounts = columns[: heights[1], heights[0] : start]
        amounts[np.arange(heights[1]), np.arange(heights[1])] = -1
        right[heights[0] + size : start] = -1
        for index in bound:
            root = roots[index]
            columns[size + index, start] = -1 / self.task.kappas[index]
            columns[:size, start + 1 : start + 1 + len(root)] = -root.T
            start += 1 + len(root)
        cones = [clarabel.ZeroConeT(heights[0]), clarabel.NonnegativeConeT(heights[1])]
        cones += [clarabel.SecondOrderConeT(height) for height in heights[2:]]
        return linear, _by_columns(columns), right, cones

    def attempt(self, linear, matrix, right, cones, accuracy):
        quadratic = sparse.csc_matrix((len(linear), len(linear)))
        best = None
        for equilibrate in (True, False):
            self.task.counts["cone"] += 1
            settings = clarabel.DefaultSettings()
            settings.verbose = False
            settings.max_threads = 1
            settings.equilibrate_enable = equilibrate
            if accuracy == ROUGH:  # Newton's method does the rest
                settings.iterative_refinement_enable = False
                settings.equilibrate_max_iter = 3
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
            found = clarabel.DefaultSolver(
                quadratic, linear, matrix, right, cones, settings
            ).solve()
            if found.status == clarabel.SolverStatus.Solved:
                return found
            if np.isfinite(found.x).all() and np.isfinite(found.z).all():
                if best is None or found.r_prim + found.r_dual < best.r_prim + best.r_dual:
                    best = found
        if best is None:
            raise SubproblemError(
                "the cone solver found nothing; scale the features, or pass ridge="
            )
        return best  # the duality gap decides whether it is good enough


def _by_columns(columns):
    """The sparse matrix with these columns, in half the time that scipy takes for a dense one."""
    count, height = columns.shape
    places = np.flatnonzero(columns)
    starts = np.searchsorted(places, height * np.arange(count + 1))
    return sparse.csc_matrix(
        (columns.ravel()[places], places % height, starts), shape=(height, count)
    )


def _root(covariance):
    """Triangular matrix R, with no more rows than the rank, with R'R the covariance."""
    try:
        root = np.linalg.cholesky(covariance).T
        if np.diag(root).min() > 1e-7 * np.sqrt(np.diag(covariance).max()):
            return root
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-14 * max(values[-1], 1e-300)
    return np.linalg.qr(np.sqrt(values[kept])[:, None] * vectors[:, kept].T, mode="r")


def _solved(root, right):
    if root.shape[0] == root.shape[1]:
        return linalg.solve_triangular(root, right, check_finite=False)
    return np.linalg.lstsq(root, right)[0]
