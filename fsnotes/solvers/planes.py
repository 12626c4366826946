"""One plane of a twin machine: near the samples of one class, far from those of the other.

F holds the samples that the plane is to be near, H those that it is to be far from. The problems of
Bai et al. (2014) are, for penalties `fit` and `hinge` of single samples and `costs` of weights,

    (7)  minimise ``costs @ |w| + fit @ |F w + b| + hinge @ max(0, 1 + H w + b)``,
    (2)  minimise ``|w|^2 / 2 + b^2 + fit @ (F w + b)**2 + hinge @ max(0, 1 + H w + b)``.

Their problems (8) and (3), of the other plane, are the same with the classes exchanged and the
solution negated. `PlaneProgram` solves (7) by HiGHS, `l2_plane` solves (2) by a soft-margin solver.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, qr, solve_triangular

from fsnotes.core.tolerances import SHORT, VERIFIED_GAP
from fsnotes.errors import SubproblemError
from fsnotes.solvers.highs import WeightProgram
from fsnotes.solvers.hinge import best_offset, require_verified
from fsnotes.solvers.margin import SoftMargin

__all__ = ["Plane", "PlaneProgram", "flat_plane", "l2_plane"]


@dataclass(frozen=True)
class Plane:
    """Weights and offset of a plane, with their value and the proof that it is nearly the least."""

    weights: np.ndarray
    offset: float
    value: float  # of the objective at this plane
    bound: float  # no plane has a smaller value
    # The dual solution that proves the bound, of the samples near by and then of the others.
    multipliers: np.ndarray

    @property
    def duality_gap(self):
        """How far the value may be above the least, as a part of it."""
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else 0.0


def flat_plane(n_weights, fit, hinge):
    """The best plane of (7) without weights: of the offsets 0 and -1 the better one."""
    value = float(min(fit.sum(), hinge.sum()))
    offset = 0.0 if hinge.sum() <= fit.sum() else -1.0
    return Plane(np.zeros(n_weights), offset, value, value, np.zeros(len(fit) + len(hinge)))


def verified(plane, fit, hinge):
    """Return the plane if its duality gap is small, or raise an error that says what to pass."""
    largest = max(fit.max(), hinge.max())
    what = f"the problem of a plane, where samples have penalties up to {largest:.3g},"
    remedy = "a smaller c_fit, c_hinge or sample_weight, or scale=True if it is False"
    require_verified(plane.duality_gap, VERIFIED_GAP, what, remedy)
    return plane


class PlaneProgram(WeightProgram):
    """The linear program (7) of one plane, for costs of weights that change.

    The dual has a variable for each sample and a constraint for each weight: maximise the sum of
    beta for ``|F'alpha + H'beta| <= costs``, ``sum alpha + sum beta = 0``, ``|alpha| <= fit`` and
    ``0 <= beta <= hinge``. A cost is infinite where a weight has to be zero: it frees a constraint
    and leaves the others as they are, so that each solution starts from the last.

    F and H are `near` and `far`, one sample a row. Several programs may share `counts`.
    """

    def __init__(self, near, far, fit, hinge, counts=None):
        self.near = near
        self.far = far
        self.fit = fit
        self.hinge = hinge
        lower = np.concatenate([-fit, np.zeros(len(hinge))])
        upper = np.concatenate([fit, hinge])
        gains = np.concatenate([np.zeros(len(fit)), np.ones(len(hinge))])
        XT = np.ascontiguousarray(np.vstack([near, far]).T)
        super().__init__(XT, np.ones(len(upper)), upper, lower, gains, True, counts)

    def least_loss(self, weights):
        """The least loss of all samples for these weights, and its offset, the middle one."""
        live = np.flatnonzero(weights)
        near = self.near[:, live] @ weights[live]
        far = self.far[:, live] @ weights[live]
        kinks = np.concatenate([-near, -near, -1 - far])
        signs = np.repeat([1.0, -1.0, -1.0], [len(near), len(near), len(far)])
        offset = best_offset(kinks, signs, np.concatenate([self.fit, self.fit, self.hinge]))
        losses = self.hinge @ np.maximum(0, 1 + far + offset)
        return float(self.fit @ abs(near + offset) + losses), offset

    def objective(self, weights, costs):
        """What (7) minimises, at the best offset."""
        live = np.flatnonzero(weights)
        return float(costs[live] @ abs(weights[live])) + self.least_loss(weights)[0]

    def solve(self, costs):
        """Return the best plane, once it is verified, without weights that gain nothing."""
        self.run(costs)
        weights, value = self.drop_negligible(self.weights(costs), costs)
        multipliers = self.multipliers()
        # No value is below 0, whatever rounding leaves of the bound.
        bound = max(0.0, self.feasible(multipliers, costs)[1])
        plane = Plane(weights, self.least_loss(weights)[1], value, bound, multipliers)
        return verified(plane, self.fit, self.hinge)

    def value(self, costs):
        """Return the least value up to rounding, without a proof where HiGHS finds an optimum."""
        self.run(costs)
        if self.status != "Optimal":
            return self.solve(costs).value
        return -self.model.highs.getInfo().objective_function_value * self.unit


def l2_plane(near, far, fit, hinge):
    """Solve (2) for one plane, and verify it.

    In coordinates in which ``|w|^2 / 2 + b^2 + fit @ (F w + b)**2`` is a squared length, (2) is the
    problem of a soft-margin machine without an offset. That is a machine with an offset, if another
    sample of the other class lies at the origin and may not be on the wrong side: the offset is 1,
    so that lengths and losses double. The arguments are those of `PlaneProgram`.
    """
    # the last coordinate is the root of 2 times the offset: half its square is that of the offset
    F = np.column_stack([near, np.full(len(near), 0.5**0.5)])
    H = np.column_stack([far, np.full(len(far), 0.5**0.5)])
    basis = None
    if F.shape[1] > len(F) + len(H):
        # the plane lies in the span of the samples, of which this is an orthonormal basis
        basis, triangle = qr(np.vstack([F, H]).T, mode="economic")
        F, H = triangle.T[: len(F)], triangle.T[len(F) :]
    size = F.shape[1]
    try:
        root = cholesky(np.eye(size) / 2 + (F.T * fit) @ F, lower=True)
    except (LinAlgError, ValueError):
        raise SubproblemError(
            "the squares of the distances differ so much that digits are lost; pass a smaller "
            "c_fit, scale=True if it is False, or sample_weight that differ less if there are some"
        ) from None
    # the soft-margin machine in coordinates root' w, with the sample at the origin
    total = hinge.sum()
    machine = SoftMargin(
        np.vstack([solve_triangular(root, H.T, lower=True).T, np.zeros(size)]),
        np.append(-np.ones(len(H)), 1.0),
        np.append(hinge, 2 * total) / total,
    )
    multipliers = machine.solve(np.ones(size), 2 * total).multipliers[:-1]
    multipliers = np.minimum(multipliers / 2, hinge)
    # the Lagrangian is least at this w, up to a slope that rounding leaves
    pull = H.T @ multipliers
    w = -cho_solve((root, True), pull) / 2
    distances = F @ w
    losses = 1 + H @ w
    squares = w @ w / 2 + fit @ distances**2
    slope = solve_triangular(root, w + 2 * F.T @ (fit * distances) + pull, lower=True)
    bound = float(squares + multipliers @ losses - slope @ slope / 4)
    value = squares + hinge @ np.maximum(0, losses)
    # where losses are expensive, a margin that rounding made short costs more than a longer normal
    short = losses[multipliers < hinge].max(initial=0)
    if 0 < short < SHORT:
        length = 1 / (1 - short - 8 * np.finfo(float).eps * (1 + abs(losses).max()))
        longer = length**2 * squares + hinge @ np.maximum(0, 1 + length * (losses - 1))
        if longer < value:
            value = longer
            w = length * w
    weights = w if basis is None else basis @ w
    multipliers = np.append(np.zeros(len(fit)), multipliers)
    offset = float(weights[-1] * 0.5**0.5)
    plane = Plane(weights[:-1], offset, float(value), bound, multipliers)
    return verified(plane, fit, hinge)
