"""What a choice of features is worth to both planes of a twin machine, and what a flip changes."""

from dataclasses import dataclass

import numpy as np

from fsnotes.solvers.planes import plane_loss
from fsnotes.twin.planes import TwinProblem

__all__ = ["KernelProblem", "LinearProblem", "State", "Surrogate"]

SWEEPS = 1000  # of the published greedy search through all features, at most


@dataclass(frozen=True)
class State:
    """A mask of features, the best planes on them, and the objective (21).

    With a kernel, what is kept of its matrix, too.
    """

    mask: np.ndarray
    planes: list
    value: float
    memory: object = None


def portions(values):
    """Parts of their sum; equal ones if all are 0."""
    values = values if values.any() else np.ones(len(values))
    return values / values.sum()


class FeatureProblem:
    """The objective (21) of masks: ``sigma |E| + shares @ values of both planes``."""

    def __init__(self, data, sigma, shares):
        self.data, self.sigma, self.shares = data, sigma, shares
        self.n = data.n_features

    def state(self, mask, planes, memory=None):
        return State(mask, planes, self.total(mask, [plane.value for plane in planes]), memory)

    def total(self, mask, values):
        return float(self.sigma * np.count_nonzero(mask) + self.shares @ values)

    def change(self, old, new):
        """Largest change of a weight over the largest weight."""
        before, after = (np.array([plane.weights for plane in s.planes]) for s in (old, new))
        largest = abs(after).max(initial=0)
        return float(abs(after - before).max(initial=0) / largest) if largest > 0 else np.inf

    def idle(self, state):
        """Features that are on and do without a weight; a kernel hides them."""
        return np.zeros(self.n, dtype=bool)

    def is_idle(self, state, added):
        """Whether the features added do nothing; with a kernel, whether both surfaces are flat."""
        return not any(plane.weights.any() for plane in state.planes)

    def elsewhere(self):
        """Where to look for so many features if none alone does anything: from all, or nowhere."""
        everything = self.solve(np.ones(self.n, dtype=bool))
        return None if self.is_idle(everything, everything.mask) else everything

    def loss_now(self, state):
        """(24) of a state: the price of its features, and what the rows cost."""
        norms = [abs(plane.weights).sum() for plane in state.planes]
        return state.value - float(self.shares @ norms)

    def gap(self, state):
        """Of the planes, together."""
        lack = self.shares @ [plane.value - plane.bound for plane in state.planes]
        return float(max(0.0, lack / state.value)) if state.value > 0 else 0.0


class LinearProblem(FeatureProblem):
    """Planes in the features: one linear program each, in which a feature is a constraint."""

    def __init__(self, data, sigma, shares):
        super().__init__(data, sigma, shares)
        self.problem = data.linear
        self.programs = self.problem.programs
        self.counts = [program.counts for program in self.programs]
        self.trials = 0
        # of each plane the value without a feature, in some trial with no fewer features than now
        self.without = np.zeros((2, self.n))
        self.tried = np.ones(self.n, dtype=bool)  # the features in the last one
        self.hopes = None, None  # the last state that was asked for these, and they

    @property
    def work(self):
        return {kind: sum(c[kind] for c in self.counts) for kind in self.counts[0]}

    def costs(self, mask):
        return np.where(mask, 1.0, np.inf)

    def solve(self, mask):
        """The best planes on these features, verified; features without a weight stay."""
        if not mask.any():
            return self.state(mask, [self.problem.flat(k) for k in (0, 1)])
        costs = self.costs(mask)
        return self.state(mask, [program.solve(costs) for program in self.programs])

    def idle(self, state):
        """Features that are on and have no weight in either plane."""
        return state.mask & ~np.any([plane.weights != 0 for plane in state.planes], axis=0)

    def is_idle(self, state, added):
        return bool(self.idle(state)[added].any())

    def elsewhere(self):
        return None

    def joint_sizes(self, weights):
        """Of features in both planes, whose weights are given one after the other."""
        return abs(weights).reshape(2, -1).sum(axis=0)

    def sizes(self, state):
        """What the features weigh in both planes, by which they are tried in turn."""
        return self.shares @ abs(np.array([plane.weights for plane in state.planes]))

    def order(self, state):
        """Features to switch off by what that costs at most, then those to switch on by hope."""
        on, off = np.flatnonzero(state.mask), np.flatnonzero(~state.mask)
        costs = (self.after_switching(state) - self.sizes(state))[on]
        hopes = self.most_gained(state)[off]
        return [*on[np.argsort(costs, kind="stable")], *off[np.argsort(-hopes, kind="stable")]]

    def most_gained(self, state):
        """By how much each feature could at most lower the values of the planes."""
        if self.hopes[0] is not state:
            self.hopes = state, self._most_gained(state)
        return self.hopes[1]

    def _most_gained(self, state):
        if not state.mask.any():
            return np.full(self.n, np.inf)
        gains = np.zeros(self.n)
        costs = self.costs(state.mask)
        for program, plane, share in zip(self.programs, state.planes, self.shares, strict=True):
            multipliers, bound = program.feasible(plane.multipliers, costs)
            pulls = program.pulls(multipliers)
            # multipliers made so small that they respect one more constraint prove a bound
            gains += share * (plane.value - bound / np.maximum(1, pulls))
        return gains

    def flipped(self, state, j, least):
        """The state with a feature switched, if it is better by so much; else None."""
        if (state.mask & ~self.tried).any():
            self.without[:] = 0
        self.tried = state.mask
        mask = state.mask.copy()
        mask[j] = not mask[j]
        limit = state.value - least
        values = np.array([plane.value for plane in state.planes])
        live = np.array([plane.weights[j] != 0 for plane in state.planes])
        if not mask[j]:
            if not live.any():
                return self.state(mask, state.planes) if self.total(mask, values) < limit else None
            values = np.maximum(values, self.without[:, j])
            if self.total(mask, values) >= limit:
                return None
        elif state.value + self.sigma - self.most_gained(state)[j] >= limit:
            return None
        return self._tried(state, mask, j, values, limit)

    def _tried(self, state, mask, j, values, limit):
        if not mask.any():
            new = self.solve(mask)
            return new if new.value < limit else None
        self.trials += 1
        costs, bases = self.costs(mask), {}
        weights = [abs(plane.weights[j]) for plane in state.planes]
        for k in np.argsort(weights)[::-1].tolist():
            if not mask[j] and not weights[k]:
                continue
            bases[k] = self.programs[k].basis()
            values[k] = self.programs[k].value(costs)
            if not mask[j]:
                self.without[k, j] = values[k]
            hopes = values if not mask[j] else np.where([i in bases for i in (0, 1)], values, 0)
            if self.total(mask, hopes) >= limit:
                break
        else:
            new = self.solve(mask)
            if new.value < limit:
                return new
        for k, basis in bases.items():
            self.programs[k].restore(basis, self.costs(state.mask))
        return None

    def terms(self, state):
        """For each plane what the features add to its values at both kinds of rows, one a row."""
        for k, plane in enumerate(state.planes):
            near, far, fit, hinge = self.problem.parts(k)
            weights = plane.weights[:, None]
            yield near.T * weights, far.T * weights, plane.offset, fit, hinge

    def scores(self, state):
        """(23): the part of each feature in the losses of planes with this feature alone."""
        values = np.zeros(self.n)
        for share, (near, far, offset, fit, hinge) in zip(
            self.shares, self.terms(state), strict=True
        ):
            losses = abs(near + offset) @ fit + np.maximum(0, 1 + far + offset) @ hinge
            values += share * losses
        return portions(values)

    def after_switching(self, state):
        """(24) with each feature switched, for the planes as they are."""
        signs = np.where(state.mask, -1, 1)
        found = self.sigma * (np.count_nonzero(state.mask) + signs)
        for share, (near, far, offset, fit, hinge) in zip(
            self.shares, self.terms(state), strict=True
        ):
            sums = [part[state.mask].sum(axis=0) + offset for part in (near, far)]
            moved = [
                total + signs[:, None] * part for total, part in zip(sums, (near, far), strict=True)
            ]
            found = found + share * (abs(moved[0]) @ fit + np.maximum(0, 1 + moved[1]) @ hinge)
        return found

    def swept(self, state, tol):
        """Mask after flips, in order and again and again, that lower (24) for fixed planes."""
        mask, parts = state.mask.copy(), list(self.terms(state))
        sums = [
            [part[mask].sum(axis=0) + offset for part in (near, far)]
            for near, far, offset, _, _ in parts
        ]
        value = self.loss_now(state)
        for _ in range(SWEEPS):
            before = value
            for j in range(self.n):
                sign = -1.0 if mask[j] else 1.0
                moved, after = [], self.sigma * (np.count_nonzero(mask) + sign)
                for share, total, (near, far, _, *prices) in zip(
                    self.shares, sums, parts, strict=True
                ):
                    moved.append([total[0] + sign * near[j], total[1] + sign * far[j]])
                    after += share * plane_loss(*moved[-1], *prices)
                if value - after > tol:
                    mask[j], value, sums = not mask[j], after, moved
            if before - value <= tol:
                break
        return mask


class Surrogate:
    """(21) with ``1 - exp(-alpha size)`` of a feature's size in both planes, for the loop."""

    def __init__(self, problem, surrogate):
        self.problem, self.surrogate = problem, surrogate

    def value(self, weights):
        problem = self.problem
        values = [
            abs(w).sum() + program.loss(w, program.best_offset(w))
            for program, w in zip(problem.programs, weights.reshape(2, -1), strict=True)
        ]
        stand_in = self.surrogate.value(self.problem.joint_sizes(weights)).sum()
        return float(problem.shares @ values + problem.sigma * stand_in)

    def tangent(self, weights):
        return self.problem.sigma * self.surrogate.slope(self.problem.joint_sizes(weights))

    def minimize(self, slopes, weights):
        """Both planes with prices of the weights that the tangent sets."""
        planes = [
            program.solve(1 + slopes / share)
            for program, share in zip(self.problem.programs, self.problem.shares, strict=True)
        ]
        return np.concatenate([plane.weights for plane in planes])


class KernelProblem(FeatureProblem):
    """Surfaces of a kernel in some of the features: a linear program of its own for each mask."""

    def __init__(self, data, sigma, shares):
        super().__init__(data, sigma, shares)
        self.additive = data.kernel.function == "rbf"
        self.Z, self.points = data.Z, data.points
        self.work = {"linear program": 0, "pivot": 0}
        self.trials = 0

    def solve(self, mask, memory=None, start=None):
        """The best surfaces on these features, verified."""
        distances, values = self.values(mask) if memory is None else memory
        problem = TwinProblem(values, *self.data.rest)
        if not mask.any():
            return self.state(mask, [problem.flat(k) for k in (0, 1)], (distances, values, None))
        costs = np.ones(values.shape[1])
        programs = problem.programs if start is None else start
        planes = []
        for program in programs:
            before = dict(program.counts)
            planes.append(program.solve(costs))
            for kind, count in program.counts.items():
                self.work[kind] += count - before[kind]
        bases = [program.basis() for program in programs]
        return self.state(mask, planes, (distances, values, bases))

    def values(self, mask, columns=slice(None)):
        """Squared distances, where they are what the kernel depends on, and its values."""
        if not self.additive:
            return None, self.data.kernel_columns(mask)[:, columns]
        places = self.points[columns]
        distances = np.zeros((len(self.Z), len(places)))
        for j in np.flatnonzero(mask):
            distances += self.squares(j, places)
        return distances, self.of_distances(distances)

    def squares(self, j, places):
        column = self.Z[:, j]
        return np.subtract.outer(column, column[places]) ** 2

    def of_distances(self, distances):
        return np.exp(-self.data.kernel.gamma * np.maximum(distances, 0))

    def switched(self, mask, j, distances, columns=slice(None)):
        """The same as `values` after feature j of the mask is switched."""
        if not self.additive:
            other = mask.copy()
            other[j] = not other[j]
            return self.values(other, columns)
        squares = self.squares(j, self.points[columns])
        distances = distances - squares if mask[j] else distances + squares
        return distances, self.of_distances(distances)

    def order(self, state):
        """Features by what (24) becomes if they are switched, the least first."""
        return np.argsort(self.after_switching(state), kind="stable").tolist()

    def live(self, state):
        """Points of which either surface is made, and the weights of both."""
        weights = np.array([plane.weights for plane in state.planes])
        columns = np.flatnonzero(weights.any(axis=0))
        return columns, weights[:, columns]

    def losses(self, values, weights, offsets):
        """What the rows cost, for given surfaces."""
        problem = TwinProblem(values, *self.data.rest)
        found = []
        for k in (0, 1):
            near, far, fit, hinge = problem.parts(k)
            found.append(
                plane_loss(
                    near @ weights[k] + offsets[k], far @ weights[k] + offsets[k], fit, hinge
                )
            )
        return found

    def after_switching(self, state):
        """(24) with each feature switched, for the surfaces as they are."""
        columns, weights = self.live(state)
        offsets = [plane.offset for plane in state.planes]
        distances = None if not self.additive else state.memory[0][:, columns]
        count, found = np.count_nonzero(state.mask), np.zeros(self.n)
        for j in range(self.n):
            _, values = self.switched(state.mask, j, distances, columns)
            size = count - 1 if state.mask[j] else count + 1
            losses = self.losses(values, weights, offsets)
            found[j] = self.sigma * size + self.shares @ losses
        return found

    def scores(self, state):
        """(23): the part of each feature in the losses of surfaces with this feature alone."""
        columns, weights = self.live(state)
        offsets = [plane.offset for plane in state.planes]
        values = np.zeros(self.n)
        for j in range(self.n):
            _, alone = self.values(np.arange(self.n) == j, columns)
            values[j] = self.shares @ self.losses(alone, weights, offsets)
        return portions(values)

    def flipped(self, state, j, least):
        """The state with a feature switched, if it is better by so much; else None."""
        mask = state.mask.copy()
        mask[j] = not mask[j]
        limit = state.value - least
        if not mask.any():
            new = self.solve(mask)
            return new if new.value < limit else None
        distances, values = self.switched(state.mask, j, state.memory[0])
        memory = distances, values
        programs = TwinProblem(values, *self.data.rest).programs
        upper = [
            abs(plane.weights).sum() + program.loss(plane.weights, plane.offset)
            for program, plane in zip(programs, state.planes, strict=True)
        ]
        if self.total(mask, upper) >= limit:
            if not self._may_pay(state, mask, programs, limit):
                return None
        else:
            self._begin(state, programs)
        new = self.solve(mask, memory, programs)
        return new if new.value < limit else None

    def _begin(self, state, programs):
        """Start from where the solver stood, if it was asked at all."""
        for program, basis in zip(programs, state.memory[2] or (), strict=False):
            program.begin_at(basis)

    def _may_pay(self, state, mask, programs, limit):
        """Whether bounds, and then one surface after the other, leave it open."""
        costs = np.ones(programs[0].rows.shape[0])
        bounds = [
            max(0.0, program.feasible(plane.multipliers, costs)[1]) if state.mask.any() else 0.0
            for program, plane in zip(programs, state.planes, strict=True)
        ]
        if self.total(mask, bounds) >= limit:
            return False
        self._begin(state, programs)
        self.trials += 1
        for k in (0, 1):
            before = dict(programs[k].counts)
            bounds[k] = programs[k].value(costs)
            for kind, count in programs[k].counts.items():
                self.work[kind] += count - before[kind]
            if self.total(mask, bounds) >= limit:
                return False
        return True

    def swept(self, state, tol):
        """Mask after flips, in order and again and again, that lower (24) for fixed surfaces."""
        columns, weights = self.live(state)
        offsets = [plane.offset for plane in state.planes]
        mask = state.mask.copy()
        distances, values = self.values(mask, columns)
        value = self.total(mask, self.losses(values, weights, offsets))
        for _ in range(SWEEPS):
            before = value
            for j in range(self.n):
                moved, values = self.switched(mask, j, distances, columns)
                size = np.count_nonzero(mask) + (-1 if mask[j] else 1)
                after = self.sigma * size + self.shares @ self.losses(values, weights, offsets)
                if value - after > tol:
                    mask[j], value, distances = not mask[j], float(after), moved
            if before - value <= tol:
                break
        return mask
