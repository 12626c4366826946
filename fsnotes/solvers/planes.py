"""One plane of a twin machine: near the samples of one class, far from those of the other.

F holds the samples that the plane is to be near, H those that it is to be far from. The problems of
Bai et al. (2014) are, for penalties `fit` and `hinge` of single samples and `costs` of weights,

    (7)  minimise ``costs @ |w| + fit @ |F w + b| + hinge @ max(0, 1 + H w + b)``,
    (2)  minimise ``|w|^2 / 2 + b^2 + fit @ (F w + b)**2 + hinge @ max(0, 1 + H w + b)``.

Their problems (8) and (3), of the other plane, are the same with the classes exchanged and the
solution negated. `PlaneProgram` solves (7) by HiGHS, `l2_plane` solves (2) by a soft-margin solver.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, qr, solve_triangular

from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT, NO_RISE, SHORT, VERIFIED_GAP
from fsnotes.errors import SubproblemError
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.hinge import LARGEST_C, balance, best_offset
from fsnotes.solvers.margin import SoftMargin

__all__ = ["Plane", "PlaneProgram", "flat_plane", "l2_plane", "plane_loss"]

VIOLATED = 1e-9  # part of its limit by which a constraint has to be violated to join the program
BATCH = 64  # weights that join the linear program at a time: all of them in most data
# Options with which HiGHS begins again where its answer proves nothing. Of 160 such answers in
# 8,100 random programs, most of them badly scaled, the primal simplex method repairs 39 and scaling
# 17; the rest are refused. To begin again with the usual options repairs none.
RESTARTS = ({"simplex_strategy": 4}, {"simplex_scale_strategy": 2})


@dataclass(frozen=True)
class Plane:
    """Weights and offset of a plane, with their value and the proof that it is nearly the least.

    Attributes
    ----------
    weights : ndarray
    offset : float
    value : float
        The objective of the problem at this plane.
    bound : float
        No plane has a smaller value.
    multipliers : ndarray
        The dual solution that proves the bound, of the samples near by and then of the others.
    """

    weights: np.ndarray
    offset: float
    value: float
    bound: float
    multipliers: np.ndarray

    @property
    def duality_gap(self):
        """How far the value may be above the least, as a part of it."""
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else 0.0


def plane_loss(near, far, fit, hinge):
    """The loss of (7), for the values that a plane has at the samples near by and at the others."""
    return float(fit @ abs(near) + hinge @ np.maximum(0, 1 + far))


def flat_plane(n_weights, fit, hinge):
    """The best plane of (7) without weights: of the offsets 0 and -1 the better one."""
    value = float(min(fit.sum(), hinge.sum()))
    offset = 0.0 if hinge.sum() <= fit.sum() else -1.0
    return Plane(np.zeros(n_weights), offset, value, value, np.zeros(len(fit) + len(hinge)))


def require_verified(plane, fit, hinge):
    """Return the plane if its duality gap is small, or raise an error that says what to pass."""
    if plane.duality_gap <= VERIFIED_GAP:
        return plane
    largest = max(fit.max(), hinge.max())
    remedy = "pass a smaller c_fit and c_hinge, or scale=True if it is False"
    if largest > LARGEST_C:
        remedy = "pass a smaller c_fit, c_hinge or sample_weight"
    raise SubproblemError(
        f"the problem of a plane was not solved: duality gap {plane.duality_gap:.1e}, more than "
        f"{VERIFIED_GAP:g}, where samples have penalties up to {largest:.3g}; {remedy}"
    )


def no_work():
    """Counts of work, of which nothing is done."""
    return {"linear program": 0, "pivot": 0}


class PlaneProgram:
    """The linear program (7) of one plane, for costs of weights that change.

    A cost is infinite where a weight has to be zero. The dual has a variable for each sample and a
    constraint for each weight: maximise the sum of beta for ``|F'alpha + H'beta| <= costs``, ``sum
    alpha + sum beta = 0``, ``|alpha| <= fit`` and ``0 <= beta <= hinge``. An infinite cost frees a
    constraint and leaves the others as they are, so that each solution starts from the last.
    Constraints join the program when they are violated. A pivot takes O(m k) for m samples and the
    k weights that have joined.

    Parameters
    ----------
    near, far : ndarray of shape (m1, n) and (m2, n)
        F and H.
    fit, hinge : ndarray of shape (m1,) and (m2,)
        Penalties of distances and of losses.
    counts : dict, optional
        Where the linear programs and pivots are counted, for several programs together.
    """

    def __init__(self, near, far, fit, hinge, counts=None):
        self.near = near
        self.far = far
        self.fit = fit
        self.hinge = hinge
        self.XT = np.ascontiguousarray(np.vstack([near, far]).T)
        self.upper = np.concatenate([fit, hinge])
        self.lower = np.concatenate([-fit, np.zeros(len(hinge))])
        self.gains = np.concatenate([np.zeros(len(fit)), np.ones(len(hinge))])
        self.unit = min(1.0, self.upper.max())  # of the multipliers, which HiGHS gets near 1
        # HiGHS gets constraints of size 1, and need not look for better units itself
        self.sizes = abs(self.XT).max(axis=1, initial=0)
        self.sizes[self.sizes == 0] = 1
        self.joined = np.zeros(0, dtype=int)
        self.limits = np.zeros(0)
        self.counts = no_work() if counts is None else counts

    @cached_property
    def model(self):
        """The dual in HiGHS, which begins with the constraint of the offset alone."""
        model = DualModel(self.upper / self.unit, self.lower / self.unit, self.gains)
        model.highs.setOptionValue("simplex_scale_strategy", 0)
        model.add(np.ones((1, len(self.upper))), np.zeros(1))
        return model

    # ------------------------------------------------------------ the primal side

    def values_without_offset(self, weights):
        """Values of a plane through the origin at the samples near by and at the others."""
        live = np.flatnonzero(weights)
        return self.near[:, live] @ weights[live], self.far[:, live] @ weights[live]

    def loss(self, weights, offset):
        """The loss of all samples for this plane."""
        near, far = self.values_without_offset(weights)
        return plane_loss(near + offset, far + offset, self.fit, self.hinge)

    def best_offset(self, weights):
        """The offset of least loss; the middle one if there are several."""
        near, far = self.values_without_offset(weights)
        kinks = np.concatenate([-near, -near, -1 - far])
        signs = np.repeat([1.0, -1.0, -1.0], [len(near), len(near), len(far)])
        return best_offset(kinks, signs, np.concatenate([self.fit, self.fit, self.hinge]))

    # ------------------------------------------------------------ solving

    def solve(self, costs):
        """Return the best plane, once it is verified, without weights that gain nothing."""
        plane = self._solve_once(costs)
        for options in RESTARTS:
            if plane.duality_gap <= VERIFIED_GAP:
                break
            self._restart(options)
            plane = self._solve_once(costs)
        return require_verified(plane, self.fit, self.hinge)

    def value(self, costs):
        """Return the least value up to rounding, without a proof where HiGHS finds an optimum."""
        if self._run(costs) != "Optimal":
            return self.solve(costs).value
        return -self.model.highs.getInfo().objective_function_value * self.unit

    def _solve_once(self, costs):
        """Return the plane that HiGHS finds, and what is proven of it."""
        self._run(costs)
        weights = np.zeros(len(costs))
        weights[self.joined] = self.model.duals()[1:] / self.sizes[self.joined]
        weights[~np.isfinite(costs)] = 0
        multipliers = self.model.columns() * self.unit
        bound = max(0.0, self.feasible(multipliers, costs)[1])
        plane = self._plane(weights, costs, bound, multipliers)
        most = plane.value * (1 + NO_RISE)
        flat = flat_plane(len(costs), self.fit, self.hinge)
        if flat.value <= most:
            return self._plane(flat.weights, costs, bound, multipliers)
        negligible = abs(weights) <= NEGLIGIBLE_WEIGHT * abs(weights).max(initial=0)
        if weights[negligible].any():
            fewer = self._plane(np.where(negligible, 0, weights), costs, bound, multipliers)
            plane = fewer if fewer.value <= most else plane
        return plane

    def _plane(self, weights, costs, bound, multipliers):
        offset = self.best_offset(weights)
        live = np.flatnonzero(weights)
        value = float(costs[live] @ abs(weights[live])) + self.loss(weights, offset)
        return Plane(weights, offset, value, bound, multipliers)

    def _run(self, costs):
        """Run HiGHS for these costs with all constraints that matter; return how it ended."""
        self.set_costs(costs)
        pivots = self.model.pivots
        if not len(self.joined):
            pulls = self.pulls(self.gains * self.upper)
            self._join(np.flatnonzero(pulls > 0), costs, pulls)
        while True:
            status = self.model.run()
            self.counts["linear program"] += 1
            if status != "Optimal" or len(self.joined) == len(costs):
                break
            pulls = self.pulls(self.model.columns() * self.unit)
            # the limit of a cost next to nothing is met up to a part of the multipliers
            out = pulls > costs * (1 + VIOLATED) + 1e-12 * self.upper.max()
            out[self.joined] = False
            if not out.any():
                break
            self._join(np.flatnonzero(out), costs, pulls)
        self.counts["pivot"] += self.model.pivots - pivots
        return status

    def _restart(self, options):
        """Run HiGHS from the beginning with other options, which then are as before."""
        highs = self.model.highs
        highs.clearSolver()
        usual = {name: highs.getOptionValue(name)[1] for name in options}
        for name, value in options.items():
            highs.setOptionValue(name, value)
        self.model.run()
        for name, value in usual.items():
            highs.setOptionValue(name, value)

    def _join(self, features, costs, pulls):
        """Let weights join, of many those whose constraints are violated most."""
        if len(features) > BATCH:
            order = np.argsort(-pulls[features] / costs[features], kind="stable")
            features = features[order[:BATCH]]
        if len(features):
            self._add(features, costs)

    def _add(self, features, costs):
        """Add the constraints of these weights."""
        self.joined = np.append(self.joined, features)
        self.limits = np.append(self.limits, costs[features])
        sizes = self.sizes[features]
        self.model.add(self.XT[features] / sizes[:, None], costs[features] / sizes / self.unit)

    def set_costs(self, costs):
        """Move the limits of the constraints that have joined to these costs."""
        limits = costs[self.joined]
        scaled = limits / self.sizes[self.joined] / self.unit
        for k in np.flatnonzero(limits != self.limits).tolist():
            limit = float(scaled[k])
            self.model.highs.changeRowBounds(k + 1, -limit, limit)
        self.limits = limits

    # ------------------------------------------------------------ the dual side

    def pulls(self, multipliers):
        """The left-hand sides of the dual constraints, one for each weight."""
        return abs(self.XT @ multipliers)

    def feasible(self, multipliers, costs):
        """Return multipliers that meet their constraints exactly, and the bound that they prove.

        Those of HiGHS meet them up to rounding. They are clipped, balanced and made smaller. The
        bound is the sum of beta: no plane has a smaller value for these costs.
        """
        multipliers = np.clip(multipliers, self.lower, self.upper)
        signs = np.where(multipliers > 0, 1.0, -1.0)
        multipliers = signs * balance(abs(multipliers), signs)
        with np.errstate(invalid="ignore"):
            excess = (self.pulls(multipliers) / costs).max(initial=1)
        return multipliers / excess, float(multipliers[len(self.fit) :].sum() / excess)

    # ------------------------------------------------------------ trials

    def basis(self):
        """Return where the solver stands, for `restore` and `begin_at`."""
        return self.model.highs.getBasis(), self.joined

    def restore(self, basis, costs):
        """Go back to a basis of these costs, and remove the constraints that joined since."""
        saved, joined = basis
        count = len(joined)
        since = np.arange(count, len(self.joined), dtype=np.int32)
        if len(since):
            self.model.highs.deleteRows(len(since), 1 + since)
            self.joined = self.joined[:count]
            self.limits = self.limits[:count]
        self.set_costs(costs)
        self.model.highs.setBasis(saved)

    def begin_at(self, basis):
        """Start a new program from a basis of another one of the same size."""
        saved, joined = basis
        self._add(joined, np.ones(len(self.XT)))
        self.model.highs.setBasis(saved)


def l2_plane(near, far, fit, hinge):
    """Solve (2) for one plane, and verify it.

    In coordinates in which ``|w|^2 / 2 + b^2 + fit @ (F w + b)**2`` is a squared length, (2) is the
    problem of a soft-margin machine without an offset. That is a machine with an offset, if another
    sample of the other class lies at the origin and may not be on the wrong side: the offset is 1,
    so that lengths and losses double.

    Parameters
    ----------
    near, far : ndarray of shape (m1, n) and (m2, n)
        F and H.
    fit, hinge : ndarray of shape (m1,) and (m2,)
        Penalties of squared distances and of losses.

    Returns
    -------
    Plane

    Raises
    ------
    SubproblemError
        If the plane cannot be verified.
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
            "the squares of the distances overflow; pass a smaller c_fit, or scale=True"
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
    return require_verified(plane, fit, hinge)
