"""One plane by either problem: its value, its proof, and what it costs to change."""

import dataclasses

import numpy as np
import optimality
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fsnotes import make_wide
from fsnotes.errors import SubproblemError
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.margin import SoftMargin
from fsnotes.solvers.planes import Plane, PlaneProgram, flat_plane, l2_plane

# numbers of samples near by, of others, and of features; the last two are wide
SHAPES = [(7, 9, 3), (4, 15, 6), (12, 5, 1), (5, 6, 40), (3, 3, 80)]


def draw(seed, m1=7, m2=9, n=4):
    """Samples near by and far off, their penalties, and costs of weights."""
    rng = np.random.default_rng(seed)
    near, far = rng.standard_normal((m1, n)), rng.standard_normal((m2, n)) + rng.uniform(-1, 1, n)
    fit, hinge = (10 ** rng.uniform(-1, 1) * rng.uniform(0.5, 2, m) for m in (m1, m2))
    far[:, 0] -= 2
    return near, far, fit, hinge, rng.uniform(0.5, 2, n)


def by_primal(near, far, fit, hinge, costs):
    """The least value, by the primal program in another form; weights of infinite cost are out."""
    near, far, costs = (part[..., np.isfinite(costs)] for part in (near, far, costs))
    (m1, n), m2 = near.shape, len(far)
    # parts of the weights above and below 0, offset, distances, losses
    zero, one = np.zeros, np.ones
    rows = np.block(
        [
            [near, -near, one((m1, 1)), -np.eye(m1), zero((m1, m2))],
            [-near, near, -one((m1, 1)), -np.eye(m1), zero((m1, m2))],
            [far, -far, one((m2, 1)), zero((m2, m1)), -np.eye(m2)],
        ]
    )
    found = linprog(
        np.concatenate([costs, costs, [0], fit, hinge]),
        rows,
        np.concatenate([zero(2 * m1), -one(m2)]),
        bounds=[(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * (m1 + m2),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    assert found.status == 0
    return found.fun


def worth(near, far, *more):
    return optimality.plane(near, far, *more, np.zeros(len(near) + len(far))).value


def proves(program, multipliers, costs):
    """The bound of multipliers, once their constraints are seen to hold but for a last digit."""
    data = program.near, program.far, program.fit, program.hinge, costs
    certificate = optimality.plane(*data, np.zeros(len(costs)), 0.0, multipliers)
    assert not any(certificate.violations.values()), certificate.violations
    return certificate.bound


# ---------------------------------------------------------------- value and proof


@pytest.mark.parametrize("shape", SHAPES)
def test_the_plane_is_the_best_and_proven(shape):
    heavy = 0
    for seed in range(30):
        *rest, costs = problem = draw(seed, *shape)
        program = PlaneProgram(*rest)
        plane = program.solve(costs)
        assert np.isclose(plane.value, by_primal(*problem), rtol=1e-8)
        assert np.isclose(plane.value, worth(*problem, plane.weights, plane.offset), rtol=1e-12)
        assert plane.bound <= plane.value * (1 + 1e-12) and plane.duality_gap <= 1e-7
        multipliers, bound = program.feasible(plane.multipliers, costs)
        assert np.isclose(proves(program, multipliers, costs), bound, rtol=1e-12, atol=1e-15)
        assert np.isclose(bound, plane.bound, rtol=1e-12, atol=1e-15)
        assert np.isclose(program.value(costs), plane.value, rtol=1e-9)
        heavy += plane.weights.any()
    assert heavy > 3


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_prices_may_be_tiny_or_huge(scale):
    for seed in range(20):
        near, far, fit, hinge, costs = draw(seed, 9, 11, 5)
        for prices in [(fit * scale, hinge * scale), (fit, hinge * scale), (fit * scale, hinge)]:
            plane = PlaneProgram(near, far, *prices).solve(costs)
            assert plane.duality_gap <= 1e-7
            found = worth(near, far, *prices, costs, plane.weights, plane.offset)
            assert np.isclose(plane.value, found, rtol=1e-9)
            # without weights an offset of -1 costs the first sum, and an offset of 0 the second
            assert plane.value <= min(prices[0].sum(), prices[1].sum()) * (1 + 1e-12)
            # the reference has digits to lose, too
            assert plane.value <= by_primal(near, far, *prices, costs) * (1 + 1e-6)


def test_the_offset_is_the_best_and_the_middle_one():
    for seed in range(40):
        near, far, fit, hinge, _ = draw(seed, 5, 6, 3)
        program = PlaneProgram(near, far, fit, hinge)
        weights = np.random.default_rng(seed).standard_normal(3) * (seed % 4 != 0)
        kinks = np.concatenate([-near @ weights, -1 - far @ weights])
        losses = [worth(near, far, fit, hinge, np.zeros(3), weights, kink) for kink in kinks]
        loss, offset = program.least_loss(weights)
        assert np.isclose(loss, min(losses), rtol=1e-12)
        found = worth(near, far, fit, hinge, np.zeros(3), weights, offset)
        assert np.isclose(loss, found, rtol=1e-12)
    program = PlaneProgram(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2), np.ones(2))
    assert program.least_loss(np.zeros(1))[1] == -0.5  # all from -1 to 0 are as good


def test_without_weights_an_offset_of_0_or_of_minus_1_is_best():
    for seed in range(20):
        near, far, fit, hinge, _ = draw(seed)
        flat = flat_plane(4, fit, hinge)
        nothing = near, far, fit, hinge, np.full(4, np.inf), np.zeros(4)
        assert np.isclose(flat.value, worth(*nothing, flat.offset))
        assert np.isclose(flat.value, min(worth(*nothing, b) for b in (0, -1)))
        assert np.isclose(flat.value, by_primal(*nothing[:5]))
        empty = PlaneProgram(near[:, :0], far[:, :0], fit, hinge).solve(np.zeros(0))
        assert np.isclose(flat.value, empty.value) and empty.duality_gap <= 1e-12


# ---------------------------------------------------------------- bounds

number = st.integers(-3, 3).map(float)
price = st.sampled_from([1e-6, 0.1, 1.0, 3.0, 1e4])


@st.composite
def programs(draw):
    """Small ones, with equal rows and columns, and columns that are constant or zero."""
    m1, m2, n = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    values = st.lists(number, min_size=n, max_size=n)
    near, far = (np.array(draw(st.lists(values, min_size=m, max_size=m))) for m in (m1, m2))
    fit, hinge = (np.array(draw(st.lists(price, min_size=m, max_size=m))) for m in (m1, m2))
    costs = np.array(
        draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, np.inf]), min_size=n, max_size=n))
    )
    return near, far, fit, hinge, costs


@given(programs())
@settings(max_examples=250, deadline=None, derandomize=True)
def test_any_small_program(problem):
    *rest, costs = problem
    program = PlaneProgram(*rest)
    plane = program.solve(costs)
    assert plane.duality_gap <= 1e-7 and plane.bound <= plane.value * (1 + 1e-9)
    assert np.isclose(plane.value, worth(*problem, plane.weights, plane.offset), rtol=1e-9)
    assert np.isclose(plane.value, by_primal(*problem), rtol=1e-6, atol=1e-9)


@given(programs(), st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=8))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_bounds_hold_for_whatever_multipliers(problem, numbers):
    *rest, costs = problem
    program = PlaneProgram(*rest)
    multipliers, bound = program.feasible(np.array(numbers)[: len(program.upper)], costs)
    assert np.isclose(proves(program, multipliers, costs), bound, rtol=1e-9, atol=1e-12)
    assert bound <= program.solve(costs).value * (1 + 1e-9)


# ---------------------------------------------------------------- changes


def test_one_program_serves_every_choice_and_starts_from_the_last():
    warm = cold = 0
    for seed in range(10):
        near, far, fit, hinge, _ = draw(seed, 20, 25, 10)
        kept = PlaneProgram(near, far, fit, hinge)
        mask, rng = np.ones(10, dtype=bool), np.random.default_rng(seed)
        kept.solve(np.ones(10))
        before = kept.counts["pivot"]
        for _ in range(15):
            j = rng.integers(10)
            mask[j] = not mask[j]
            costs = np.where(mask, 1.0, np.inf)
            fresh = PlaneProgram(near, far, fit, hinge)
            assert np.isclose(kept.solve(costs).value, fresh.solve(costs).value, rtol=1e-9)
            cold += fresh.counts["pivot"]
        warm += kept.counts["pivot"] - before
        assert kept.counts["linear program"] == 16
    assert warm < 0.4 * cold


def test_a_trial_can_be_taken_back():
    back = again = 0
    for seed in range(10):
        near, far, fit, hinge, costs = draw(seed, 20, 25, 10)
        for restored in (True, False):
            program = PlaneProgram(near, far, fit, hinge)
            value = program.solve(costs).value
            basis = program.basis()
            program.value(np.where(np.arange(10) < 6, np.inf, 1.0))
            if restored:
                program.restore(basis, costs)
            pivots = program.counts["pivot"]
            assert np.isclose(program.value(costs), value, rtol=1e-9)
            spent = program.counts["pivot"] - pivots
            back, again = (back + spent, again) if restored else (back, again + spent)
    # a restored basis is optimal at once, and from any other there are pivots
    assert back == 0 < again


def test_a_basis_serves_another_program_of_the_same_size():
    warm = cold = 0
    for seed in range(10):
        near, far, fit, hinge, _ = draw(seed, 20, 25, 10)
        first = PlaneProgram(near, far, fit, hinge)
        first.solve(np.ones(10))
        others = [PlaneProgram(near * 1.02, far + 0.02, fit, hinge) for _ in range(2)]
        others[0].begin_at(first.basis())
        values = [program.solve(np.ones(10)).value for program in others]
        assert np.isclose(*values, rtol=1e-9)
        warm, cold = warm + others[0].counts["pivot"], cold + others[1].counts["pivot"]
    assert warm < 0.5 * cold


def test_weights_join_when_they_are_needed():
    X, y = make_wide(60, 2000, seed=1)
    near, far = X[y == 1], X[y == 0]
    fit, hinge, costs = np.full(len(near), 0.3), np.full(len(far), 0.3), np.ones(2000)
    program = PlaneProgram(near, far, fit, hinge)
    found = program.solve(costs)
    assert np.isclose(found.value, by_primal(near, far, fit, hinge, costs), rtol=1e-9)
    assert 0 < np.count_nonzero(found.weights) <= len(program.joined) < 400
    # what joins after a basis leaves again where it is restored
    basis = program.basis()
    fewer = np.where(found.weights != 0, np.inf, 1.0)
    value = program.value(fewer)
    assert np.isclose(value, by_primal(near, far, fit, hinge, fewer), rtol=1e-9)
    joined = len(program.joined)
    program.restore(basis, costs)
    assert len(program.joined) < joined
    assert np.isclose(program.value(costs), found.value, rtol=1e-9)


# ---------------------------------------------------------------- least squares


def dual_of_squares(near, far, fit, multipliers):
    """The bound of multipliers of (2), by a dual in other coordinates."""
    F, H = (np.column_stack([part, np.ones(len(part))]) for part in (near, far))
    quadratic = np.diag(np.append(np.full(near.shape[1], 0.5), 1)) + (F.T * fit) @ F
    pull = H.T @ multipliers
    return multipliers.sum() - pull @ np.linalg.solve(quadratic, pull) / 4


@pytest.mark.parametrize("c_fit", [1e-6, 1e-2, 1, 1e3, 1e6])
@pytest.mark.parametrize("c_hinge", [1e-6, 1e-2, 1, 1e3, 1e6])
def test_planes_of_least_squares_are_proven(c_fit, c_hinge):
    for seed in range(6):
        near, far, *_ = draw(seed, 20, 15, [3, 8, 60][seed % 3])
        fit, hinge = c_fit * np.linspace(1, 2, 20), c_hinge * np.linspace(2, 1, 15)
        plane = l2_plane(near, far, fit, hinge)
        w, b = plane.weights, plane.offset
        value = w @ w / 2 + b**2 + fit @ (near @ w + b) ** 2
        value += hinge @ np.maximum(0, 1 + far @ w + b)
        assert np.isclose(plane.value, value, rtol=1e-7)
        alpha, beta = np.split(plane.multipliers, [20])
        assert not alpha.any() and (beta >= 0).all() and (beta <= hinge).all()
        bound = dual_of_squares(near, far, fit, beta)
        assert plane.duality_gap <= 1e-6 and value - bound <= 2e-6 * value
        assert plane.bound <= bound + 1e-6 * value


# ---------------------------------------------------------------- what fails


@pytest.mark.parametrize(
    "kind, name, factor",
    [(DualModel, "duals", 0.9), (DualModel, "columns", 1.1), (SoftMargin, "solve", 0.9)],
)
def test_a_plane_that_is_not_verified_is_refused(monkeypatch, kind, name, factor):
    """Weights that are not the best, or multipliers that prove nothing."""
    near, far, fit, hinge, costs = draw(1)
    true = getattr(kind, name)

    def wrong(*args):
        found = true(*args)
        if kind is DualModel:
            return factor * found
        return dataclasses.replace(found, multipliers=factor * found.multipliers)

    monkeypatch.setattr(kind, name, wrong)
    with pytest.raises(SubproblemError, match=r"duality gap .* more than 1e-06.*c_fit.*scale=True"):
        if kind is DualModel:
            PlaneProgram(near, far, 10 * fit, 10 * hinge).solve(costs)
        else:
            l2_plane(near, far, fit, hinge)


def test_a_value_whose_status_is_no_success_is_verified(monkeypatch):
    near, far, fit, hinge, costs = draw(1)
    known = PlaneProgram(near, far, fit, hinge).value(costs)
    true_run = DualModel.run
    monkeypatch.setattr(DualModel, "run", lambda model: (true_run(model), "Unknown")[1])
    assert np.isclose(PlaneProgram(near, far, fit, hinge).value(costs), known, rtol=1e-9)


def test_numbers_beyond_the_solvers_are_refused_by_name():
    near, far, fit, hinge, costs = draw(1)
    with pytest.raises(SubproblemError, match="scale=True if it is False"):
        PlaneProgram(near * 1e100, far, fit, hinge).solve(costs)
    with pytest.raises(SubproblemError, match="up to 1.*. Pass a smaller .* or sample_weight"):
        PlaneProgram(near * 1e100, far, fit * 1e12, hinge).solve(costs)
    with (
        np.errstate(all="ignore"),
        pytest.raises(SubproblemError, match="digits are lost.*scale=True"),
    ):
        l2_plane(near * 1e155, far, fit, hinge)


def test_a_value_of_zero_has_no_gap():
    for value, bound, gap in [(0.0, 0.0, 0), (2.0, 1.5, 0.25), (2.0, 2.1, 0)]:
        assert Plane(np.zeros(1), 0.0, value, bound, np.zeros(2)).duality_gap == gap
