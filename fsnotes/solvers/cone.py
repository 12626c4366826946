"""Weighted l1 norms under the bounds of two classes: a second-order cone problem.

All problems are ``minimise sum_j (c_j |w_j| - q_j w_j)`` with one of three normalisations, where
``s_i = sqrt(w' S_i w)`` and ``d`` is the difference of the means:

- ``"margin"``: ``d'w >= max(1, kappa_1 s_1) + max(1, kappa_2 s_2)``, the two cones and the two
  constraints ">= 1" of the papers once the offset is eliminated;
- ``"gap"``: ``d'w = 1`` and ``kappa_1 s_1 + kappa_2 s_2 <= 1``;
- ``"penalty"``: ``d'w = 1``, and ``kappa_1 s_1 + kappa_2 s_2`` is added to the objective.

Only features of a working set enter the problem that is solved. The multipliers of its answer tell
which others would lower the objective, and these join. The optimality conditions on the features
selected are equations, which Newton's method solves from a guess of the selected features and
their signs. Where it does not arrive, Clarabel solves the problem of the working set. Whatever the
way, an answer is returned only with a duality gap that is computed from it.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import clarabel
import numpy as np
from scipy import linalg, sparse

from fsnotes.core.moments import MomentPair
from fsnotes.core.tolerances import VERIFIED_GAP
from fsnotes.errors import SubproblemError

__all__ = ["ConeProblem", "Program", "Solution"]

# The constraints of an answer may be violated by this part of the margin.
LARGEST_VIOLATION = 1e-7

# A feature stays out while its slope exceeds its cost by no more than this part of the cost; the
# multipliers of the cone solver are less exact.
STAYS_OUT = 1e-9
STAYS_OUT_OF_CONES = 1e-6
# Features of the first working set; then at least so many join at once, or all where they are few.
FIRST_FEATURES = 32
MORE_FEATURES = 16
FEW_FEATURES = 128

# Accuracies of the cone solver: one from which Newton's method goes on, and one that is enough.
ROUGH = 1e-4
FINE = 1e-9
# An answer of the cone solver that uses so much of the feasible weights lacks features.
LACKS_FEATURES = 1e-3

# Newton's method ends at a step of this part of the weights, since the next squares the error.
LAST_STEP = 1e-8
# Steps from one guess of signs and binding constraints, and such guesses. Where the method arrives,
# it is within these; where it does not, a cone problem costs less than many small steps.
MOST_STEPS = 50
MOST_CHANGES = 12
# A deviation below this part of what its terms add up to is what rounding leaves of them.
CANCELLED = 1e-6
# A bound is met at kappa s = 1; a state changes where this is missed by more than so much, and a
# multiplier is out of its range by more than this part of the multiplier of the margin.
SAME_STATE = 1e-10
# What may bind at weights that are feasible, where features nearly depend on each other, and the
# part of the margin that each class has there.
GUESSES = [
    ("both", "cone"),
    ("cone", "both"),
    ("both", "both"),
    ("floor", "both"),
    ("both", "floor"),
]
LEAST_PART = 0.5


@dataclass(frozen=True)
class Solution:
    """Weights, and the proof that they are optimal.

    Attributes
    ----------
    weights, objective
    duality_gap, violation : float
        Relative: of the objective and a lower bound from feasible multipliers, None where there is
        none, and of constraints.
    slopes : ndarray of shape (n_features,)
        Of tilt and constraints; within ``[-c, c]`` at an optimum, at an end where selected.
    deviations : ndarray of shape (2,)
        Of both classes along the weights.
    counts : dict
        Newton steps, cone problems, and products with all features.
    """

    weights: np.ndarray
    objective: float
    duality_gap: float | None = None
    violation: float = 0.0
    slopes: np.ndarray | None = None
    deviations: np.ndarray | None = None
    counts: dict = field(default_factory=dict)
    point: "Point | None" = field(default=None, repr=False)

    def holds_at(self, kappas):
        """Whether no bound binds, neither here nor at these kappas: the answer is the same."""
        if self.point is None or set(self.point.states) - {"floor", "slack"}:
            return False
        spread = np.asarray(kappas) * self.deviations
        return (spread.sum() if "slack" in self.point.states else spread.max()) <= 1


@dataclass
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

    pair: MomentPair
    normalization: str

    # Newton's method may leave the range of numbers, and what is not finite is never verified.
    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def solve(self, kappas, costs=None, tilt=None, *, constant=0.0, feasible=None, start=None):
        """Return the `Solution` for these bounds, costs and tilt, or raise a `SubproblemError`.

        Parameters
        ----------
        kappas : pair of float
            Of class 1 and class 2, positive; 0 is allowed for ``"margin"``.
        costs, tilt : ndarray of shape (n_features,), optional
            ``c > 0``, by default 1, and ``q`` with ``|q| < c``, by default 0.
        constant : float, default=0.0
            What the objective is part of. The duality gap is relative to the whole.
        feasible : ndarray of shape (n_features,), optional
            Weights that some length makes feasible. Not needed for ``"penalty"``.
        start : Solution, optional
            Of a problem nearby.
        """
        size = len(self.pair.mean_diff)
        costs = np.ones(size) if costs is None else costs
        tilt = np.zeros(size) if tilt is None else tilt
        program = Program(self.pair, self.normalization, kappas, costs, tilt, feasible, constant)
        return program.verify(program.solve(None if start is None else start.point))


@dataclass(frozen=True)
class Point:
    """Weights and multipliers on a working set."""

    features: np.ndarray
    weights: np.ndarray
    # The slope of the constraints is ``multiplier * d - sum_i S_i pulls_i``, with pulls along the
    # weights; they have a column more, for the feasible weights.
    multiplier: float
    pulls: np.ndarray
    betas: np.ndarray  # multipliers of the deviations, the lengths of the pulls
    states: tuple  # which constraint of each class binds
    feasible_part: float = 0.0  # how much of the feasible weights is added to the weights
    accuracy: float = 0.0  # what was asked of the cone solver; 0 from Newton's method
    # Where the pair needs its factors, the slope is ``multiplier * d - sum_i factor_i' images_i``,
    # with images as long as the betas.
    images: list | None = None
    covariances: np.ndarray | None = None  # kept of the features, to be used again


class Program:
    """One problem of the family: its data, the working set's growth, and the proof at the end."""

    def __init__(self, pair, kind, kappas, costs, tilt, direction=None, constant=0.0):
        self.pair = pair
        self.kind = kind
        self.mean_diff = pair.mean_diff
        self.kappas = np.array(kappas, dtype=float)
        self.costs = costs
        self.tilt = tilt
        self.direction = direction
        self.constant = constant
        self.counts = {"newton": 0, "cone": 0, "products": 0}

    @cached_property
    def feasible(self):
        """The multiple of the feasible direction whose margin is 1."""
        return self.direction / (self.mean_diff @ self.direction)

    @cached_property
    def feasible_products(self):
        """Both covariances times the feasible weights."""
        features = np.flatnonzero(self.feasible)
        self.counts["products"] += 1
        return [self.pair.times(i, features, self.feasible[features]) for i in (0, 1)]

    def solve(self, start=None):
        """An optimal `Point`, from that of a problem nearby where one is given."""
        guess = self.one_feature() if start is None else start
        working_set = WorkingSet(self, guess.features, guess.covariances)
        point = self.extend(working_set.newton(guess))
        if point is None and self.pair.needs_factors and self.direction is not None:
            # The cone solver has few digits here, and Newton's method has all.
            points = (WorkingSet(self, p.features).newton(p) for p in self.feasible_points())
            point = next((point for point in points if point is not None), None)
        return self.solve_by_cones(start) if point is None else point

    def one_feature(self):
        """A guess: the feature that is enough where no bound binds."""
        costs = self.costs - np.sign(self.mean_diff) * self.tilt
        best = np.argmax(abs(self.mean_diff) / costs)
        weights = 1 / self.mean_diff[[best]]
        states = ({"margin": "floor", "gap": "slack", "penalty": "cone"}[self.kind],) * 2
        return Point(np.array([best]), weights, 0.0, np.zeros((2, 2)), np.zeros(2), states)

    def feasible_points(self):
        """Guesses: the feasible weights, for each way in which bounds may bind."""
        everything = np.arange(len(self.mean_diff))
        weights = self.feasible / LEAST_PART
        pairs = zip(self.pair.factors(everything), self.kappas, strict=True)
        spread = np.array([k * np.linalg.norm(factor @ weights) for factor, k in pairs])
        slack = max(self.mean_diff @ weights - spread.sum(), 1e-9)
        betas = self.kappas * (self.costs @ abs(weights) / slack)
        pulls = np.zeros((2, len(everything) + 1))
        ways = GUESSES if self.kind == "margin" else [("cone", "cone")]
        return [Point(everything, weights, 0.0, pulls, betas, states) for states in ways]

    def extend(self, point):
        """Newton's method, with features that join until none would; None where that fails."""
        while point is not None:
            entering = self.entering(point)
            if len(entering) == 0:
                break
            point = WorkingSet(self, np.append(point.features, entering)).newton(point)
        return point

    def solve_by_cones(self, start):
        """Clarabel on a working set that grows, and Newton's method from each of its answers."""
        features = self.first_features(start)
        accuracy = ROUGH
        while True:  # each round adds features or digits
            working_set = WorkingSet(self, features)
            point = working_set.cone(accuracy)
            if point.feasible_part < LACKS_FEATURES:
                point = self.extend(working_set.newton(point)) or point
            if point.accuracy == 0:
                return point
            entering = self.entering(point)
            if len(entering) == 0:
                if accuracy == FINE:
                    return point
                accuracy = FINE
            features = np.union1d(features, entering)

    def entering(self, point):
        """Features outside the working set that would lower the objective."""
        n_features = len(self.mean_diff)
        if len(point.features) == n_features:
            return np.array([], dtype=int)
        excess = abs(self.slopes(point)) / self.costs - 1
        excess[point.features] = 0
        outside = np.flatnonzero(excess > (STAYS_OUT_OF_CONES if point.accuracy else STAYS_OUT))
        if len(outside) and n_features <= FEW_FEATURES:
            return np.setdiff1d(np.arange(n_features), point.features)
        most = max(MORE_FEATURES, len(point.features) // 2)
        return outside[np.argsort(-excess[outside], kind="stable")[:most]]

    def first_features(self, start):
        """All features if they are few; else the promising ones, and those of a start.

        Promising are those whose means differ most, or which weigh most in the feasible weights.
        """
        n_features = len(self.mean_diff)
        if n_features <= 2 * FIRST_FEATURES:  # a larger part saves nothing
            return np.arange(n_features)
        weights = self.mean_diff if self.direction is None else self.direction
        by_mean = np.argsort(-abs(self.mean_diff) / self.costs, kind="stable")
        by_weight = np.argsort(-abs(weights) * self.costs, kind="stable")
        found = np.union1d(by_mean[: FIRST_FEATURES // 2], by_weight[: FIRST_FEATURES // 2])
        return found if start is None else np.union1d(found, start.features[start.weights != 0])

    def slopes(self, point):
        """Slopes of the tilt and the constraints at a point, for all features."""
        self.counts["products"] += 1
        slopes = self.tilt + point.multiplier * self.mean_diff
        if point.images is not None:
            pairs = zip(self.pair.factors(slice(None)), point.images, strict=True)
            return slopes - sum(factor.T @ image for factor, image in pairs)
        for index in (0, 1):
            pulls = point.pulls[index, :-1]
            used = pulls != 0
            slopes -= self.pair.times(index, point.features[used], pulls[used])
            if point.pulls[index, -1]:
                slopes -= point.pulls[index, -1] * self.feasible_products[index]
        return slopes

    def verify(self, point):
        """The `Solution` of a point, with its duality gap; raises if it is no solution."""
        slopes = self.slopes(point)
        weights = np.zeros(len(self.mean_diff))
        weights[point.features] = point.weights
        if point.feasible_part > 0:
            weights += point.feasible_part * self.feasible
        features = np.flatnonzero(weights)
        deviations = self.pair.deviations(features, weights[features])
        spread = self.kappas * deviations
        margin = self.mean_diff @ weights
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
        if not (gap <= VERIFIED_GAP and violation <= LARGEST_VIOLATION):
            far = "a bound further from the largest, or fewer features"
            remedy = "a larger penalty of the weights" if self.kind == "penalty" else far
            found = "no answer was found that comes near to one"
            if np.isfinite(gap) and np.isfinite(violation):
                found = (
                    f"the best answer found has a duality gap of {max(gap, 0):.1e} and violates a "
                    f"constraint by {max(violation, 0):.1e}, more than {VERIFIED_GAP:.0e} and "
                    f"{LARGEST_VIOLATION:.0e}"
                )
            raise SubproblemError(f"{found}; pass another ridge, or {remedy}")
        missed = max(gap, 0.0), max(violation, 0.0)
        return Solution(weights, objective, *missed, slopes, deviations, self.counts, point)

    def lower_bound(self, point, slopes):
        """A lower bound on the objective, from multipliers shrunk until they are feasible."""
        limit = 1.0
        if self.kind == "penalty":
            value = point.multiplier
            limit = min(1.0, (self.kappas / np.maximum(point.betas, 1e-300)).min())
        elif self.kind == "gap":
            value = point.multiplier - (point.betas / self.kappas).max()
        else:
            bounded = self.kappas > 0
            multipliers = np.divide(point.betas, self.kappas, out=np.zeros(2), where=bounded)
            excess = max(multipliers.max() - point.multiplier, 0)
            slopes = slopes + excess * self.mean_diff
            value = 2 * (point.multiplier + excess) - multipliers.sum()
        change = slopes - self.tilt
        room = self.costs - np.sign(change) * self.tilt
        return min(limit, (room / np.maximum(abs(change), 1e-300)).min()) * value


class WorkingSet:
    """The problem restricted to some features."""

    def __init__(self, program, features, covariances=None):
        self.program = program
        self.features = features
        self.mean_diff = program.mean_diff[features]
        self.costs = program.costs[features]
        self.tilt = program.tilt[features]
        if covariances is None:
            covariances = np.array([program.pair.block(index, features) for index in (0, 1)])
        self.covariances = covariances
        # Where features nearly depend on each other, no product of the factors is relied on.
        self.factors = program.pair.factors(features) if program.pair.needs_factors else None

    # Newton's method on the features selected

    def newton(self, start):
        """Find an optimum from a guess, or None. Features join and leave until none would."""
        weights = np.zeros(len(self.features))
        weights[: len(start.weights)] = start.weights
        if start.accuracy:
            # Where a weight is near zero and its slope near an end, the nearer one is taken for it.
            room = 1 - abs(self.program.slopes(start)[self.features] / self.costs)
            weights[abs(weights) < room * abs(weights).max()] = 0
        signs = np.sign(weights)
        states = start.states
        betas = start.betas
        for _ in range(MOST_CHANGES):
            found = self.solve_conditions(weights, signs, states, betas)
            if found is None:
                return None
            weights, signs, multipliers, betas, images = found
            if images is None:
                chosen = np.flatnonzero(weights)
                products = self.covariances[:, :, chosen] @ weights[chosen]
                squares = np.maximum(products[:, chosen] @ weights[chosen], 1e-300)
                deviations = np.sqrt(squares)
            else:
                pairs = zip(self.factors, images, strict=True)
                products = np.array([factor.T @ image for factor, image in pairs])
                deviations = np.maximum([np.linalg.norm(image) for image in images], 1e-150)
            new_states = self.update_states(states, multipliers, self.program.kappas * deviations)
            if new_states != states:
                states = new_states
                continue
            factors = np.divide(betas, deviations, where=betas > 0, out=np.zeros(2))
            slopes = self.tilt + multipliers[0] * self.mean_diff - factors @ products
            excess = np.where(signs == 0, abs(slopes) / self.costs - 1, 0)
            if excess.max() <= STAYS_OUT:
                pulls = np.zeros((2, len(weights) + 1))
                pulls[:, :-1] = factors[:, None] * weights
                if images is not None:
                    images = [part * image for part, image in zip(factors, images, strict=True)]
                found = Point(self.features, weights, multipliers[0], pulls, betas, states)
                return replace(found, covariances=self.covariances, images=images)
            join = excess > max(excess.max() / 4, STAYS_OUT)
            signs[join] = np.sign(slopes[join])
        return None

    def directions(self, chosen):
        """Directions along which both covariances of some features add up to the identity.

        Returned are a matrix with a direction in each column, its inverse, and the images of the
        directions by both factors; None where a direction is nothing but rounding.
        """
        stacked = np.vstack([factor[:, chosen] for factor in self.factors])
        left, sizes, right = np.linalg.svd(stacked, full_matrices=False)
        rounding = len(stacked) * np.finfo(float).eps * sizes[0]
        if len(sizes) < len(chosen) or sizes[-1] <= rounding:
            return None
        return right.T / sizes, sizes[:, None] * right, np.split(left, [len(self.factors[0])])

    def solve_conditions(self, weights, signs, states, betas):
        """Solve the optimality conditions for these signs. A step ends where a feature leaves.

        For the features selected, with A the slopes of the binding constraints, the equations are
        ``tilt - costs * signs - sum_i beta_i S_i w / s_i + multiplier * d = 0`` and those of the
        constraints. A step of Newton's method for weights and multipliers is one linear system.
        Where features nearly depend on each other, it is one for coordinates along directions that
        do not.
        """
        constraints, in_objective = self.constraints(states)
        needed = (constraints[:, 2:] != 0).any(axis=0) | (in_objective > 0)
        weights = weights.copy()
        signs = signs.copy()
        chosen = None
        for _ in range(MOST_STEPS):
            if chosen is None:
                chosen = np.flatnonzero(signs)
                if not len(chosen):
                    return None
                size = len(chosen)
                order = size + len(constraints)
                blocks = self.covariances[:, chosen][:, :, chosen]
                mean_diff = self.mean_diff[chosen]
                fixed = self.tilt[chosen] - self.costs[chosen] * signs[chosen]
                place = weights[chosen]  # the weights, or their coordinates along directions
                if self.factors is not None:
                    found = self.directions(chosen)
                    if found is None:
                        return None
                    directions, inverse, along = found
                    blocks = np.array([part.T @ part for part in along])
                    mean_diff = mean_diff @ directions
                    fixed = fixed @ directions
                    place = inverse @ place
                flat = blocks.reshape(2, -1)
                least_units = CANCELLED * np.sqrt(blocks.diagonal(axis1=1, axis2=2).sum(axis=0))
                system = np.zeros((order, order), order="F")
                right = np.empty(order)
            self.program.counts["newton"] += 1
            old = weights[chosen]
            products = blocks @ place
            deviations = np.sqrt(np.maximum(products @ place, 1e-300))
            if (needed & (deviations < least_units @ abs(place))).any():
                return None
            pushes = products / deviations[:, None]  # the gradients of both deviations
            curvature = betas / deviations
            bends = (curvature @ flat).reshape(size, size)
            system[:size, :size] = bends - (pushes.T * curvature) @ pushes
            slopes = constraints[:, 1:2] * mean_diff - constraints[:, 2:] @ pushes
            system[:size, size:] = -slopes.T
            system[size:, :size] = slopes
            right[:size] = fixed - in_objective @ pushes
            right[size:] = constraints[:, 2:] @ deviations - constraints[:, 0]
            right[size:] -= constraints[:, 1] * (mean_diff @ place)
            *_, answer, failed = linalg.lapack.dgesv(system, right)
            if failed or not np.isfinite(answer.sum()):
                return None
            multipliers = answer[size:]
            step = answer[:size]
            place = place + step
            if self.factors is not None:
                step = directions @ step
            before = betas
            betas = np.maximum(in_objective + multipliers @ constraints[:, 2:], 0)
            leaving = (old + step) * signs[chosen] <= 0
            if leaving.any():  # the step goes as far as the first feature leaves
                parts = np.full(size, np.inf)
                np.divide(old, np.where(step != 0, -step, 1), where=leaving, out=parts)
                step *= parts.min()
                leaving = parts == parts.min()
            new = old + step
            new[leaving] = 0
            signs[chosen[leaving]] = 0
            weights[chosen] = new
            if leaving.any():
                chosen = None
                continue
            # near the largest bound weights hardly move while multipliers still do
            if abs(step).max() <= LAST_STEP * abs(new).max():
                if abs(betas - before).max() <= LAST_STEP * betas.max():
                    images = None
                    if self.factors is not None:
                        images = [part @ place for part in along]
                    return weights, signs, multipliers, betas, images
        return None

    def constraints(self, states):
        """Binding constraints (e, f, g1, g2) of ``e + f d'w - g's = 0``, and g of the objective."""
        k1, k2 = self.program.kappas
        if self.program.kind == "penalty":
            return np.array([[-1.0, 1, 0, 0]]), np.array([k1, k2])
        if self.program.kind == "gap":
            constraints = np.array([[-1, 1, 0, 0], [1, 0, k1, k2]])
            return constraints[: 1 if "slack" in states else 2], np.zeros(2)
        constraints = [[0.0, 1, 0, 0]]
        for column, (state, kappa) in enumerate(zip(states, (k1, k2), strict=True), start=2):
            if state == "cone":
                constraints[0][column] = kappa
            else:
                constraints[0][0] -= 1
            if state == "both":
                constraints.append([1.0, 0, 0, 0])
                constraints[-1][column] = kappa
        return np.array(constraints), np.zeros(2)

    def update_states(self, states, multipliers, spread):
        """A better guess of what binds: of each class the cone, the constraint ">= 1", or both."""
        if self.program.kind == "penalty":
            return states
        if self.program.kind == "gap":
            if "slack" in states:
                return ("cone", "cone") if spread.sum() > 1 + SAME_STATE else states
            return ("slack", "slack") if multipliers[1] < 0 else states
        states = list(states)
        others = iter(multipliers[1:])
        for index, state in enumerate(states):
            if state == "both":
                multiplier = next(others)
                if multiplier < -SAME_STATE * multipliers[0]:
                    states[index] = "floor"
                elif multiplier > multipliers[0] * (1 + SAME_STATE):
                    states[index] = "cone"
            elif (spread[index] - 1) * (1 if state == "floor" else -1) > SAME_STATE:
                states[index] = "both"
        return tuple(states)

    # Clarabel

    def cone(self, accuracy):
        """Solve by Clarabel. The feasible weights, at their cost, keep the problem feasible.

        A rough answer allows each weight one sign alone, which halves the problem; Newton's
        method lets a feature of the other sign join.
        """
        program = self.program
        size = len(self.features)
        covariances = self.covariances
        mean_diff = self.mean_diff
        costs = self.costs
        # where all features take part, the feasible weights are already among the candidates
        if program.kind != "penalty" and size < len(program.mean_diff):
            feasible = program.feasible
            covariances = [
                np.block([[c, p[self.features][:, None]], [p[self.features], feasible @ p]])
                for c, p in zip(covariances, program.feasible_products, strict=True)
            ]
            mean_diff = np.append(mean_diff, program.mean_diff @ feasible)
            costs = np.append(costs, program.costs @ abs(feasible) - program.tilt @ feasible)
        roots = [_root(covariance) for covariance in covariances]
        bases = None
        if self.factors is not None:
            columns = self.factors
            if len(mean_diff) > size:
                ends = [factor @ feasible for factor in program.pair.factors(slice(None))]
                columns = [np.column_stack(pair) for pair in zip(columns, ends, strict=True)]
            bases, roots = zip(*map(np.linalg.qr, columns), strict=True)
            images = [np.zeros(len(base)) for base in bases]
        columns = np.arange(len(mean_diff))
        signs = np.append(self.likely_signs(), np.ones(len(mean_diff) - size))
        if accuracy < ROUGH:
            columns = np.append(columns, columns[:size])
            signs = np.append(signs, -signs[:size])
        tilt = np.append(self.tilt, np.zeros(len(mean_diff) - size))  # their cost holds its own
        linear = costs[columns] - signs * tilt[columns]
        signed_roots = [root[:, columns] * signs for root in roots]
        statement = self.statement(mean_diff[columns] * signs, signed_roots, linear)
        found = self.run_clarabel(*statement, accuracy)
        amounts = np.array(found.x)[: len(columns)]
        weights = np.bincount(columns, amounts * signs)
        dual = np.array(found.z)
        pulls = np.zeros((2, size + 1))
        betas = np.zeros(2)
        end = len(dual)
        for index in np.flatnonzero(program.kappas)[::-1]:
            root = roots[index]
            part = -dual[end - len(root) : end]
            if bases is None:
                pulls[index, : len(mean_diff)] = _solve_root(root, part)
            else:
                images[index] = bases[index] @ part
            betas[index] = np.linalg.norm(part)
            end -= len(root) + 1
        spread = program.kappas * [np.linalg.norm(root @ weights) for root in roots]
        states = self.guess_states(spread)
        part = max(weights[size:].sum(), 0.0)
        found = Point(self.features, weights[:size], -dual[0], pulls, betas, states, part, accuracy)
        return found if bases is None else replace(found, images=images)

    def likely_signs(self):
        """The signs of the feasible weights, or of the difference of means."""
        signs = np.sign(self.mean_diff)
        if self.program.kind != "penalty":
            feasible = self.program.direction[self.features]
            signs = np.where(feasible == 0, signs, np.sign(feasible))
        return np.where(signs == 0, 1, signs)

    def guess_states(self, spread):
        """What binds in an answer of the cone solver."""
        if self.program.kind == "penalty":
            return ("cone",) * 2  # both deviations are always in the objective
        if self.program.kind == "gap":
            return ("cone" if spread.sum() > 1 - 1e-5 else "slack",) * 2
        return tuple("both" if abs(s - 1) < 1e-4 else "cone" if s > 1 else "floor" for s in spread)

    def statement(self, mean_diff, roots, costs):
        """The problem in Clarabel's form: minimise ``p'x`` where ``b - A x`` lies in cones.

        The variables are the amounts of the columns and the margins of both classes.
        """
        size = len(mean_diff)
        kind = self.program.kind
        margin = np.append(mean_diff, [0.0, 0.0])
        of_classes = np.repeat([0.0, 1.0], [size, 2])
        options = {"margin": [margin - of_classes], "gap": [margin, of_classes]}
        equal = options.get(kind, [margin])
        above = np.eye(size + 2)[: size + 2 * (kind == "margin")]
        cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(above))]
        parts = [*equal, -above]
        for index in np.flatnonzero(self.program.kappas):
            part = np.zeros((1 + len(roots[index]), size + 2))
            part[0, size + index] = -1 / self.program.kappas[index]
            part[1:, :size] = -roots[index]
            parts.append(part)
            cones.append(clarabel.SecondOrderConeT(len(part)))
        matrix = sparse.csc_matrix(np.vstack(parts))
        right = np.zeros(matrix.shape[0])
        if kind == "margin":
            right[len(equal) + size : len(equal) + len(above)] = -1
        else:
            right[: len(equal)] = 1
        linear = np.append(costs, [float(kind == "penalty")] * 2)
        return linear, matrix, right, cones

    def run_clarabel(self, linear, matrix, right, cones, accuracy):
        """Clarabel's answer, whatever it says of it, since the duality gap decides."""
        self.program.counts["cone"] += 1
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        if accuracy == ROUGH:  # Newton's method does the rest
            settings.iterative_refinement_enable = False
            settings.equilibrate_max_iter = 3
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
        quadratic = sparse.csc_matrix((len(linear), len(linear)))
        solver = clarabel.DefaultSolver(quadratic, linear, matrix, right, cones, settings)
        found = solver.solve()
        if not (np.isfinite(found.x).all() and np.isfinite(found.z).all()):
            words = "the cone solver found nothing; scale the features, or pass ridge="
            raise SubproblemError(words)
        return found


def _root(covariance):
    """Triangular matrix R, of no more rows than the rank, with R'R the covariance."""
    try:
        root = np.linalg.cholesky(covariance).T
        if np.diag(root).min() > 1e-7 * np.sqrt(np.diag(covariance).max()):
            return root
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-14 * max(values[-1], 1e-300)
    return np.linalg.qr(np.sqrt(values[kept])[:, None] * vectors[:, kept].T, mode="r")


def _solve_root(root, right):
    """The shortest x with ``root @ x == right``."""
    if root.shape[0] == root.shape[1]:
        return linalg.solve_triangular(root, right, check_finite=False)
    return np.linalg.lstsq(root, right)[0]
