"""The objective (21) of a set of features, and what a switch of one feature changes.

A set E of features is a boolean mask. (21) of Bai et al. (2014) is ``sigma |E|`` plus the values of
(7) and (8) on these features, weighted with lambda and 1 - lambda: `FeatureSetObjective`. It is
solved in planes by `LinearObjective`, in surfaces of a kernel by `KernelObjective`. `FixedPlanes`
and `FixedSurfaces` stay while features are switched: the paper's formulas (22) to (24) are theirs.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

__all__ = ["ConcaveObjective", "objective_of"]

SWEEPS = 1000  # through all features in the published search, at most: the paper's k


@dataclass(frozen=True)
class FeatureSet:
    """A set of features, the best planes on it, its objective (21), and what a kernel keeps."""

    mask: np.ndarray
    planes: list  # in the order of ``classes_``
    value: float
    memory: object = None

    @property
    def weights(self):
        """Weights of both planes, one row each."""
        return np.array([plane.weights for plane in self.planes])

    @property
    def offsets(self):
        """Offsets of both planes, one row each."""
        return np.array([[plane.offset] for plane in self.planes])


class FeatureSetObjective:
    """(21) of sets of features: ``sigma |E| + balance @ values of both planes``.

    The balance is 1 - lambda and lambda, in the order of ``classes_``.
    """

    def __init__(self, data, sigma, balance):
        self.data = data
        self.sigma = sigma
        self.balance = balance
        self.n = len(data.features.used)
        # Penalties in (24) of the distance and of the loss of each sample, one row a plane.
        problem = data.problem
        own = np.array([~problem.positive, problem.positive])
        self.fit_penalty = (balance * problem.c_fit)[:, None] * problem.sample_weight * own
        self.hinge_penalty = (balance * problem.c_hinge)[:, None] * problem.sample_weight * ~own
        self.counts = problem.counts
        self.counts["trial"] = 0

    # ------------------------------------------------------------ planes that follow: (21)

    def total(self, mask, values):
        """(21), for the values of both planes on these features."""
        return float(self.sigma * np.count_nonzero(mask) + self.balance @ values)

    def feature_set(self, mask, planes, memory=None):
        """The set of a mask, with planes that are the best on it."""
        value = self.total(mask, [plane.value for plane in planes])
        return FeatureSet(mask, planes, value, memory)

    def duality_gap(self, state):
        """How far the value of a set may be above (21), as a part of it."""
        lack = self.balance @ [plane.value - plane.bound for plane in state.planes]
        return float(max(0.0, lack / state.value)) if state.value > 0 else 0.0

    def change(self, old, new):
        """Largest change of a weight over the largest weight."""
        largest = abs(new.weights).max(initial=0)
        moved = abs(new.weights - old.weights).max(initial=0)
        return float(moved / largest) if largest > 0 else np.inf

    def try_switch(self, state, j, gain):
        """Return the set with feature j switched if that gains more than `gain`, else None."""
        mask = state.mask ^ (np.arange(self.n) == j)
        limit = state.value - gain
        new = self.solve_below(limit, state, mask, j) if mask.any() else self.solve(mask)
        return new if new is not None and new.value < limit else None

    def without_weight(self, state):
        """Features of a set that have no weight: none are known of a kernel, which hides them."""
        return np.zeros(self.n, dtype=bool)

    def elsewhere(self):
        """Return a larger set where no single feature adds anything, or None."""
        return None

    # ------------------------------------------------------------ planes that stay: (22) to (24)

    def losses(self, values):
        """The losses in (24), without ``sigma |E|``, for values of both planes at all samples."""
        return sum(
            abs(value) @ fit + np.maximum(0, 1 + value) @ hinge
            for value, fit, hinge in zip(values, self.fit_penalty, self.hinge_penalty, strict=True)
        )

    def fixed_loss(self, state):
        """(24) of a set."""
        norms = [abs(plane.weights).sum() for plane in state.planes]
        return state.value - float(self.balance @ norms)

    def losses_of_switches(self, state):
        """(24) with each feature switched, one by one, for the planes as they are."""
        sizes = np.count_nonzero(state.mask) + np.where(state.mask, -1, 1)
        return self.sigma * sizes + self.losses(self.fixed(state).switches(state.mask))

    def scores(self, state):
        """(23): the part of each feature in (22), the losses of planes with this feature alone."""
        nothing = np.zeros(self.n, dtype=bool)
        losses = self.losses(self.fixed(state).switches(nothing))
        losses = losses if losses.any() else np.ones(self.n)
        return losses / losses.sum()

    def sweep(self, state, tol):
        """Step 5 of Algorithm 1: return the mask after switches that lower (24), in order.

        The sweeps end where one of them lowers it by no more than the tolerance.
        """
        fixed = self.fixed(state)
        mask = state.mask.copy()
        value = self.fixed_loss(state)
        memory = fixed.begin(mask)
        for _ in range(SWEEPS):
            before = value
            for j in range(self.n):
                switched, values = fixed.switch(memory, mask, j)
                size = np.count_nonzero(mask) + (-1 if mask[j] else 1)
                after = self.sigma * size + self.losses(values)
                if value - after > tol:
                    mask[j] = not mask[j]
                    memory = switched
                    value = after
            if before - value <= tol:
                break
        return mask


class FixedPlanes:
    """Planes (15) that stay while features are switched."""

    def __init__(self, Z, state):
        self.offsets = state.offsets
        # Each feature adds these terms to the values of both planes at all samples.
        self.terms = state.weights[:, :, None] * Z.T

    def begin(self, mask):
        """Values of both planes at all samples, which is what `switch` remembers."""
        return self.terms[:, mask].sum(axis=1) + self.offsets

    def switch(self, values, mask, j):
        """Return the values after feature j of a mask is switched, as memory and as values."""
        values = values - self.terms[:, j] if mask[j] else values + self.terms[:, j]
        return values, values

    def switches(self, mask):
        """Values of both planes with each feature switched: planes, features, samples."""
        signs = np.where(mask, -1, 1)
        return self.begin(mask)[:, None] + signs[:, None] * self.terms


class LinearObjective(FeatureSetObjective):
    """(21) of planes: one linear program each, of which a feature is a constraint of the dual."""

    def __init__(self, data, sigma, balance):
        super().__init__(data, sigma, balance)
        self.programs = data.problem.programs
        self.bounded = None, None  # the last set of which gains were bounded, and these bounds

    def costs(self, mask):
        """Costs of the weights: infinite for features that are off."""
        return np.where(mask, 1.0, np.inf)

    def solve(self, mask):
        """The best planes on these features, verified. Features without a weight stay."""
        if not mask.any():
            return self.feature_set(mask, self.data.problem.flat_planes())
        costs = self.costs(mask)
        return self.feature_set(mask, [program.solve(costs) for program in self.programs])

    def fixed(self, state):
        """The planes of a set, for features that are switched."""
        return FixedPlanes(self.data.problem.X, state)

    def without_weight(self, state):
        """Features of a set that have no weight in either plane."""
        return state.mask & ~state.weights.any(axis=0)

    def adds_nothing(self, state, added):
        """Whether one of the features added to a set has no weight."""
        return bool(self.without_weight(state)[added].any())

    def joint_sizes(self, weights):
        """Sizes of features in both planes, whose weights are given one after the other."""
        return abs(weights).reshape(2, -1).sum(axis=0)

    def sizes(self, state):
        """Sizes of features in both planes, weighted as in (21)."""
        return self.balance @ abs(state.weights)

    def order(self, state):
        """Features to switch off, by what that costs at most; then those to switch on, by hope."""
        on = np.flatnonzero(state.mask)
        off = np.flatnonzero(~state.mask)
        costs = (self.losses_of_switches(state) - self.sizes(state))[on]
        gains = self.largest_gains(state)[off]
        return [*on[np.argsort(costs, kind="stable")], *off[np.argsort(-gains, kind="stable")]]

    def largest_gains(self, state):
        """Bound by how much each feature could lower the values of both planes, as in (21)."""
        if self.bounded[0] is not state:
            self.bounded = state, self.bound_gains(state)
        return self.bounded[1]

    def bound_gains(self, state):
        """Bound what each feature gains by the multipliers of the planes without it."""
        if not state.mask.any():
            return np.full(self.n, np.inf)
        gains = np.zeros(self.n)
        costs = self.costs(state.mask)
        for program, plane, part in zip(self.programs, state.planes, self.balance, strict=True):
            multipliers, bound = program.feasible(plane.multipliers, costs)
            # made so small that they respect one more constraint, they still prove a bound
            gains += part * (plane.value - bound / np.maximum(1, program.pulls(multipliers)))
        return gains

    def solve_below(self, limit, state, mask, j):
        """Return the best planes after feature j is switched, or None at a limit or above.

        One plane is solved after the other, as long as lower bounds of their values allow: none
        falls when a feature is taken away.
        """
        weights = abs(state.weights[:, j])
        if mask[j]:
            least = state.value + self.sigma - self.largest_gains(state)[j]
            values = np.zeros(2)
        else:
            least = state.value - self.sigma
            values = np.array([plane.value for plane in state.planes])
        if least >= limit:
            return None
        if not mask[j] and not weights.any():
            return self.feature_set(mask, state.planes)
        self.counts["trial"] += 1
        costs = self.costs(mask)
        bases = {}
        # A plane in which the feature has no weight stays as it is without it.
        for k in [k for k in np.argsort(weights)[::-1].tolist() if mask[j] or weights[k]]:
            bases[k] = self.programs[k].basis()
            values[k] = self.programs[k].value(costs)
            if self.total(mask, values) >= limit:
                break
        else:
            new = self.solve(mask)
            if new.value < limit:
                return new
        for k, basis in bases.items():
            self.programs[k].restore(basis, self.costs(state.mask))
        return None


class ConcaveObjective:
    """(21) with a concave function of a feature's size in both planes in place of their number.

    It is a problem for `majorize_minimize`, in the weights of both planes one after the other.
    """

    def __init__(self, objective, surrogate):
        self.objective = objective
        self.surrogate = surrogate

    def value(self, weights):
        """The objective, at the best offsets."""
        objective = self.objective
        values = [
            abs(w).sum() + program.least_loss(w)[0]
            for program, w in zip(objective.programs, weights.reshape(2, -1), strict=True)
        ]
        number = self.surrogate.value(objective.joint_sizes(weights)).sum()
        return float(objective.balance @ values + objective.sigma * number)

    def tangent(self, weights):
        """The slope by the size of each feature."""
        sizes = self.objective.joint_sizes(weights)
        return self.objective.sigma * self.surrogate.slope(sizes)

    def minimize(self, slopes, weights):
        """Both planes, with costs of the weights that the tangent sets."""
        parts = zip(self.objective.programs, self.objective.balance, strict=True)
        return np.concatenate([program.solve(1 + slopes / part).weights for program, part in parts])


class KernelMemory(NamedTuple):
    """What a set of features keeps of its kernel."""

    distances: np.ndarray | None  # squared, of a Gaussian kernel
    values: np.ndarray
    bases: list | None  # where the solvers of both surfaces stand


class MaskedKernel:
    """Values of a kernel on sets of features, at all samples and some of the points.

    A Gaussian kernel keeps squared distances, to which a feature adds its own.
    """

    def __init__(self, data, columns=slice(None)):
        self.data = data
        self.columns = columns
        self.places = data.points[columns]
        self.additive = data.kernel.function == "rbf"

    def squares(self, j):
        """Squared distances in feature j."""
        z = self.data.problem.X[:, j]
        return np.subtract.outer(z, z[self.places]) ** 2

    def of_distances(self, distances):
        """Squared distances, and the Gaussian kernel of them. Rounding may leave them below 0."""
        return distances, np.exp(-self.data.kernel.gamma * np.maximum(distances, 0))

    def on(self, mask):
        """Squared distances, if they are kept, and values on these features."""
        if not self.additive:
            return None, self.data.kernel_values(mask)[:, self.columns]
        nothing = np.zeros((len(self.data.X), len(self.places)))
        return self.of_distances(sum(map(self.squares, np.flatnonzero(mask)), nothing))

    def switch(self, distances, mask, j):
        """Return what `on` does after feature j of the mask is switched, from its distances."""
        if not self.additive:
            return self.on(mask ^ (np.arange(len(mask)) == j))
        sign = -1 if mask[j] else 1
        return self.of_distances(distances + sign * self.squares(j))


class FixedSurfaces:
    """Surfaces (19) that stay while features are switched, which changes the kernel."""

    def __init__(self, data, state):
        # the points of which either surface is made
        live = np.flatnonzero(state.weights.any(axis=0))
        self.weights = state.weights[:, live]
        self.offsets = state.offsets
        self.kernel = MaskedKernel(data, live)

    def begin(self, mask):
        """Squared distances, if they are kept, which is what `switch` remembers."""
        return self.kernel.on(mask)[0]

    def switch(self, distances, mask, j):
        """Return distances, and values of both surfaces, after feature j is switched."""
        distances, kernel_values = self.kernel.switch(distances, mask, j)
        return distances, self.weights @ kernel_values.T + self.offsets

    def switches(self, mask):
        """Values of both surfaces with each feature switched: surfaces, features, samples."""
        distances = self.begin(mask)
        values = np.empty((2, len(mask), len(self.kernel.data.X)))
        for j in range(len(mask)):
            values[:, j] = self.switch(distances, mask, j)[1]
        return values


class KernelObjective(FeatureSetObjective):
    """(21) of surfaces of a kernel: each set of features has linear programs of its own."""

    def __init__(self, data, sigma, balance):
        super().__init__(data, sigma, balance)
        self.kernel = MaskedKernel(data)

    def solve(self, mask, memory=None, programs=None):
        """The best surfaces on these features, verified."""
        distances, values = self.kernel.on(mask) if memory is None else memory
        problem = replace(self.data.problem, X=values)
        if not mask.any():
            memory = KernelMemory(distances, values, None)
            return self.feature_set(mask, problem.flat_planes(), memory)
        programs = problem.programs if programs is None else programs
        costs = np.ones(values.shape[1])
        planes = [program.solve(costs) for program in programs]
        bases = [program.basis() for program in programs]
        return self.feature_set(mask, planes, KernelMemory(distances, values, bases))

    def fixed(self, state):
        """The surfaces of a set, for features that are switched."""
        return FixedSurfaces(self.data, state)

    def adds_nothing(self, state, added):
        """Whether both surfaces are flat."""
        return not state.weights.any()

    def elsewhere(self):
        """The set of all features, if its surfaces are not flat: features may matter together."""
        everything = self.solve(np.ones(self.n, dtype=bool))
        return everything if everything.weights.any() else None

    def order(self, state):
        """Features by (24) after they are switched, the least first."""
        return np.argsort(self.losses_of_switches(state), kind="stable").tolist()

    def solve_below(self, limit, state, mask, j):
        """Return the best surfaces after feature j is switched, or None at a limit or above."""
        memory = self.kernel.switch(state.memory.distances, state.mask, j)
        programs = replace(self.data.problem, X=memory[1]).programs
        for program, basis in zip(programs, state.memory.bases or (), strict=False):
            program.begin_at(basis)
        self.counts["trial"] += 1
        values = np.zeros(2)
        for k in (0, 1):
            values[k] = programs[k].value(np.ones(memory[1].shape[1]))
            if self.total(mask, values) >= limit:
                return None
        return self.solve(mask, memory, programs)


def objective_of(data, sigma, balance):
    """Return (21) for planes, or for surfaces where the data have a kernel."""
    kind = LinearObjective if data.kernel is None else KernelObjective
    return kind(data, sigma, balance)
