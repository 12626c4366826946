"""Weighted l1 norms under two bounds: optimal by a duality of the test's own, and as CVXPY says."""

import itertools
import warnings
from dataclasses import replace
from types import SimpleNamespace

import clarabel
import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimality import weighted_l1

from fsnotes import ClassMoments, make_instance, make_wide
from fsnotes.core.bounds import Frontier
from fsnotes.core.moments import MomentPair
from fsnotes.errors import SubproblemError
from fsnotes.solvers.cone import FINE, ConeProblem, Program, WorkingSet

KINDS = ["margin", "gap", "penalty"]
PARTS = [0.05, 0.3, 0.7, 0.9, 0.99, 0.9999]  # of the largest bounds


class Instance:
    """Data, bounds, costs and tilt, with covariances computed from the definition."""

    def __init__(self, X, y, ridge=0.0, rng=None, mixture=0.5, part=0.7):
        n = X.shape[1]
        pooled = [X[y == c] - X[y == c].mean(axis=0) for c in (1, 0)]
        self.gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        floor = np.sqrt(ridge) * np.eye(n)
        self.factors = [np.vstack([rows / np.sqrt(len(rows)), floor]) for rows in pooled]
        self.covariances = [factor.T @ factor for factor in self.factors]
        moments = ClassMoments.from_data(X, y)
        self.pair = MomentPair.from_moments(moments, np.arange(n), np.ones(n), ridge)
        frontier = Frontier(self.pair)
        if frontier.separating is None:
            self.feasible = frontier.point(mixture).weights
            self.kappas = part * frontier.kappas(mixture)
        else:
            # along a separating direction no class varies, so that all kappas are feasible
            self.feasible = frontier.separating
            self.kappas = 10 * part * np.array([mixture, 1 - mixture])
        self.costs, self.tilt = np.ones(n), np.zeros(n)
        if rng is not None:
            self.costs = 10 ** rng.uniform(-1, 1, n)
            # tilts are smaller than the costs, or weights could grow for ever
            self.tilt = self.costs * rng.uniform(-0.95, 0.95, n) * (rng.random(n) < 0.7)

    def solve(self, kind, start=None):
        feasible = None if kind == "penalty" else self.feasible
        return ConeProblem(self.pair, kind).solve(
            self.kappas, self.costs, self.tilt, feasible=feasible, start=start
        )

    def program(self, kind):
        feasible = None if kind == "penalty" else self.feasible
        return Program(self.pair, kind, self.kappas, self.costs, self.tilt, feasible)

    def by_cones_alone(self, kind):
        """The answer of the cone solver on all features, without Newton's method."""
        program = self.program(kind)
        return program.verify(WorkingSet(program, np.arange(len(self.gap))).cone(FINE))


def draw(seed, wide=None, plain=False, most=1):
    """A random instance: odd seeds wide, half of these ridged; everything else random."""
    rng = np.random.default_rng([seed, 7])
    if seed % 2 if wide is None else wide:
        n = int(rng.integers(20, 60))
        sizes, ridge = rng.integers(4, n // 3, 2), rng.choice([0, 0.05])
    else:
        n = int(rng.integers(1, 40))
        sizes, ridge = rng.integers(n + 5, 3 * n + 30, 2), rng.choice([0, 0, 0.1])
    gap = rng.uniform(-1, 1, n) * (rng.random(n) < 0.7)
    # some features have no true difference of means, but never all
    gap[0] += 0.5
    rows = [rng.normal(size=(size, n)) @ mixing(rng, n) for size in sizes]
    X, y = np.vstack([rows[0], rows[1] + gap]), np.repeat([0, 1], sizes)
    mixture, part = rng.uniform(0.15, 0.85), min(most, rng.choice(PARTS))
    return Instance(X, y, ridge, None if plain else rng, mixture, part)


def mixing(rng, n):
    return np.eye(n) + rng.normal(size=(n, n)) * rng.uniform(0, 0.7)


def objective(case, kind, weights):
    value = case.costs @ abs(weights) - case.tilt @ weights
    return value + (case.kappas @ deviations(case, weights) if kind == "penalty" else 0)


def deviations(case, weights):
    return np.array([np.linalg.norm(factor @ weights) for factor in case.factors])


def violation(case, kind, weights):
    """Of the constraints, where a length of one is that of the margin."""
    margin, spread = case.gap @ weights, case.kappas * deviations(case, weights)
    if kind == "margin":
        return (np.maximum(1, spread).sum() - margin) / abs(margin)
    return max(abs(margin - 1), spread.sum() - 1 if kind == "gap" else 0)


def stated(case, kind):
    """The problem as the module's first lines state it, in CVXPY."""
    w = cp.Variable(len(case.gap))
    spread = []
    for k, factor in zip(case.kappas, case.factors, strict=True):
        spread.append(k * cp.norm(np.linalg.qr(factor, mode="r") @ w))
    cost = case.costs @ cp.abs(w) - case.tilt @ w
    margin = case.gap @ w
    if kind == "margin":
        constraints = [margin >= cp.maximum(1, spread[0]) + cp.maximum(1, spread[1])]
    else:
        constraints = [margin == 1]
        if kind == "gap":
            constraints.append(spread[0] + spread[1] <= 1)
        else:
            cost = cost + spread[0] + spread[1]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    for accuracy in (1e-9, 1e-8, 1e-7):  # the best that it calls accurate
        # CVXPY warns of inaccurate answers, and the status refuses them below
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tight = dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], accuracy)
            problem.solve(solver=cp.CLARABEL, **tight)
        if problem.status == cp.OPTIMAL:
            return problem.value
    raise AssertionError(problem.status)


def is_flat(case, weights):
    """Whether a class has no variance along the weights but that of rounding."""
    length = np.sqrt(sum(np.diag(S) for S in case.covariances)) @ abs(weights)
    return (deviations(case, weights) < 1e-6 * length).any()


def proved(case, kind, solution, tolerance=2e-6, singular=False):
    """Check the answer by the definitions alone; where a cone is at its tip, by CVXPY.

    Where covariances are singular the answer is not unique, and CVXPY decides too.
    """
    w = solution.weights
    value = objective(case, kind, w)
    assert np.isclose(solution.objective, value, rtol=1e-6 if is_flat(case, w) else 1e-9)
    # the solver allows itself 1e-7, and rounding differs between its formula and this one
    assert violation(case, kind, w) < 1.1e-7
    assert solution.violation <= 1e-7 and 0 <= solution.duality_gap <= 1e-6
    if singular or is_flat(case, w):
        assert np.isclose(stated(case, kind), value, rtol=2e-6)
    else:
        data = case.gap, case.factors, case.kappas, case.costs, case.tilt
        certificate = weighted_l1(kind, *data, w).check(tolerance)
        assert np.isclose(certificate.value, value, rtol=1e-9) and certificate.gap > -1e-6
    # the slopes that come with the answer: within the costs, and with the signs of the weights
    chosen = abs(w) > 1e-6 * abs(w).max()
    assert (abs(solution.slopes) <= case.costs * (1 + 1e-5)).all()
    if singular or is_flat(case, w):
        # from an interior point, where a weight near zero and a slope near its end trade off
        assert abs(case.costs @ abs(w) - solution.slopes @ w) < 1e-6 * value
    else:
        ends = solution.slopes[chosen] / case.costs[chosen]
        assert np.allclose(ends, np.sign(w[chosen]), rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_optimal(kind):
    """No vacuous proof: among the draws are all states of the constraints, and costs that bite."""
    seen = set()
    for seed in range(150):
        case = draw(seed)
        solution = case.solve(kind)
        proved(case, kind, solution)
        w = solution.weights
        spread = case.kappas * deviations(case, w)
        seen |= {"flat" if is_flat(case, w) else "round", "sparse" if (w == 0).any() else "dense"}
        seen.add("few" if len(w) <= 16 else "many")
        if kind == "margin":
            seen |= {
                "floor" if v < 1 - 1e-6 else "cone" if v > 1 + 1e-6 else "both" for v in spread
            }
        if kind == "gap":
            seen.add("cone" if spread.sum() > 1 - 1e-6 else "slack")
    wanted = {
        "margin": {"floor", "cone", "both"},
        "gap": {"cone", "slack", "flat"},
        "penalty": {"flat"},
    }
    assert seen >= wanted[kind] | {"round", "sparse", "dense", "few", "many"}
    for seed in range(100):
        case = Instance(*make_instance(seed), mixture=0.3 + 0.004 * seed, part=0.6 + 0.0039 * seed)
        proved(case, kind, case.solve(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_the_statement(kind):
    for seed in range(36):
        case = draw(seed, most=0.99)
        expected = stated(case, kind)
        assert np.isclose(case.solve(kind).objective, expected, rtol=1e-6), seed
        # without Newton's method the cone solver gives the same, to the accuracy that is verified
        by_cones = case.by_cones_alone(kind)
        assert by_cones.counts["newton"] == 0 and by_cones.counts["cone"] >= 1
        assert np.isclose(by_cones.objective, expected, rtol=2e-6), seed


@pytest.mark.parametrize("kind", KINDS)
def test_units_order_and_names_of_classes_do_not_matter(kind):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = make_instance(seed)
        base = Instance(X, y, 0.0, rng, 0.4, 0.8)
        first = base.solve(kind)
        order = rng.permutation(X.shape[1])
        unit = 10 ** rng.uniform(-1, 1, X.shape[1])
        moved = Instance((X * unit)[:, order], y, mixture=0.4, part=0.8)
        moved.costs, moved.tilt = (base.costs * unit)[order], (base.tilt * unit)[order]
        swapped = Instance(X, 1 - y, mixture=0.6, part=0.8)
        assert np.allclose(swapped.kappas[::-1], base.kappas)
        swapped.costs, swapped.tilt = base.costs, -base.tilt
        longer = Instance(X, y, mixture=0.4, part=0.8)
        longer.costs, longer.tilt = 3 * base.costs, 3 * base.tilt
        if kind == "penalty":
            longer.kappas = 3 * longer.kappas
        factors = unit[order], -1, 1
        for case, factor, cost in zip((moved, swapped, longer), factors, (1, 1, 3), strict=True):
            found = case.solve(kind)
            assert np.isclose(found.objective, cost * first.objective, rtol=1e-6)
            # the objective is flat where weights are exchanged, so they agree to fewer digits
            expected = first.weights[order] if case is moved else first.weights
            size = abs(first.weights).max()
            assert np.allclose(found.weights * factor, expected, atol=1e-3 * size)


def work(solution):
    """Newton steps, of which a cone problem costs about as much as thirty."""
    return solution.counts["newton"] + 30 * solution.counts["cone"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_nearby_changes_the_work_and_not_the_answer(kind):
    cold_work = warm_work = 0
    for seed in range(40):
        case = draw(seed)
        cold = case.solve(kind)
        again = case.solve(kind, start=cold)
        assert np.isclose(again.objective, cold.objective, rtol=2e-6)
        case.kappas = 0.98 * case.kappas
        cold_near, warm_near = case.solve(kind), case.solve(kind, start=cold)
        assert np.isclose(cold_near.objective, warm_near.objective, rtol=2e-6)
        proved(case, kind, warm_near)
        if not is_flat(case, cold.weights):
            assert again.counts["cone"] == 0
            cold_work += work(cold_near)
            warm_work += work(warm_near)
    assert warm_work <= cold_work / 3


@pytest.mark.parametrize(
    ("kind", "factor"),
    [*itertools.product(KINDS, (0.02, 0.3, 0.5)), ("penalty", 3), ("penalty", 50)],
)
def test_a_start_far_away_does_not_mislead(kind, factor):
    """From a loose bound to a tight one and back, so that other constraints bind."""
    changed = 0
    for seed in range(16):
        case = draw(seed, most=0.9)
        ends = case.kappas, factor * case.kappas
        starts = []
        for case.kappas in ends:
            starts.append(case.solve(kind))
        for case.kappas, start in zip(ends, reversed(starts), strict=True):
            solution = case.solve(kind, start=start)
            proved(case, kind, solution)
            changed += not np.array_equal(solution.weights != 0, start.weights != 0)
    assert changed > 5


@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_binds_the_answer_stays(kind):
    """`holds_at` says so only if the answer at the other kappas is the same."""
    held = refused = 0
    for seed in range(40):
        case = draw(seed)
        case.kappas = 0.3 * case.kappas
        solution, here = case.solve(kind), case.kappas
        assert np.allclose(solution.deviations, deviations(case, solution.weights), atol=1e-7)
        for factor in (0.5, 1, 1.5, 3):
            case.kappas = factor * here
            if kind == "penalty" or not solution.holds_at(case.kappas):
                refused += 1
                assert kind != "penalty" or not solution.holds_at(case.kappas)
                continue
            held += 1
            assert violation(case, kind, solution.weights) < 1e-7
            bare = objective(case, kind, solution.weights)
            if violation(case, kind, case.feasible / (case.gap @ case.feasible)) < 1:
                assert np.isclose(case.solve(kind).objective, bare, rtol=2e-6)
    assert refused > 0 and (held > 10 or kind == "penalty")


@pytest.mark.parametrize("kind", KINDS)
def test_a_working_set_finds_what_all_features_would_give(kind):
    smaller = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = make_wide(30, 160, seed=seed)
        case = Instance(X, y, rng.choice([0.05, 0.3]), rng, part=rng.uniform(0.3, 0.95))
        for found in (case.solve(kind), by_cones(case, kind)):
            proved(case, kind, found)
            assert len(np.unique(found.point.features)) == len(found.point.features)
            smaller += len(found.point.features) < len(case.gap)
    assert smaller > 6


def broken(rng, n, size):
    """Features of which some are copies, some constant within a class or in both."""
    X, y = rng.normal(size=(2 * size, n)) @ mixing(rng, n), np.repeat([0, 1], size)
    X[:, 0] += y
    X[:, 1] = X[:, 0]
    X[y == 1, 2] = 0.3
    X[:, 3] = 2 * X[:, 0] - X[:, 4]
    return X, y


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 30),
    part=st.floats(0.05, 0.99),
    mixture=st.floats(0.2, 0.8),
    costly=st.booleans(),
    swapped=st.booleans(),
    turned=st.booleans(),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_singular_covariances(kind, seed, n, part, mixture, costly, swapped, turned):
    """Often a feature that does not vary within one class is all that is selected."""
    rng = np.random.default_rng(seed)
    X, y = broken(rng, n, n + 10)
    X[:, 2] *= -1 if turned else 1
    y = 1 - y if swapped else y
    case = Instance(X, y, 0.0, rng if costly else None, mixture, part)
    if kind == "penalty":
        case.kappas = case.kappas * 10 ** rng.uniform(-1, 1.5)
    proved(case, kind, case.solve(kind), singular=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.2, 1, 10])
def test_wide_data_where_no_class_varies_along_the_answer(kind, factor):
    flat = solved = 0
    for seed in range(12):
        case = draw(seed, wide=True)
        if Frontier(case.pair).separating is None:
            continue  # a ridge leaves no such direction
        case.kappas = factor * case.kappas
        solution = case.solve(kind)
        proved(case, kind, solution, singular=True)
        solved += 1
        flat += is_flat(case, solution.weights)
    assert solved >= 4
    # the larger the kappas, the more often such a direction is best
    assert flat > 0 or kind == "margin" or factor < 1


def largest_on_one(weights):
    return 1e-3 * abs(weights).max() * np.eye(len(weights))[0]


SPOILED = {
    "longer": lambda p: replace(p, weights=p.weights * 1.01),
    "shorter": lambda p: replace(p, weights=p.weights * 0.99),
    "one weight": lambda p: replace(p, weights=p.weights + largest_on_one(p.weights)),
    "less": lambda p: replace(p, weights=p.weights * (abs(p.weights) < abs(p.weights).max())),
    "none": lambda p: replace(p, weights=0 * p.weights),
    "opposite": lambda p: replace(p, weights=-p.weights),
    "larger multiplier": lambda p: replace(p, multiplier=1.01 * p.multiplier),
    "smaller multiplier": lambda p: replace(p, multiplier=0.99 * p.multiplier),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SPOILED)
def test_a_wrong_point_is_not_verified(kind, name):
    """Whatever the steps inside give, the check at the end lets no wrong answer pass."""
    for seed in (0, 1, 2, 4):
        case = draw(seed, plain=name == "opposite")
        program = case.program(kind)
        point = program.solve()
        right = program.verify(point).objective
        spoiled = SPOILED[name](point)
        if kind == "margin" and name == "smaller multiplier":
            # too small a multiplier of the margin is raised to what the others need
            raised = program.lower_bound(spoiled, program.slopes(spoiled))
            assert raised <= right * (1 + 1e-9)
            continue
        with pytest.raises(SubproblemError, match="(duality gap|no answer).*ridge"):
            program.verify(spoiled)


@pytest.mark.parametrize("kind", ["margin", "gap"])
def test_the_answer_to_a_looser_problem_is_refused(kind):
    """It costs less than any lower bound, so only the constraints tell."""
    refused = 0
    for seed in range(0, 40, 2):
        case = draw(seed, most=0.9)
        program, kappas = case.program(kind), case.kappas
        point = program.solve()
        right = program.verify(point)
        case.kappas = 0.9 * kappas
        loose = case.solve(kind)
        if loose.objective > right.objective * (1 - 1e-5):
            continue
        size = len(case.gap)
        pulls = np.zeros((2, size + 1))
        pulls[:, point.features] = point.pulls[:, :-1]
        with pytest.raises(SubproblemError, match="violates a constraint"):
            program.verify(
                replace(point, features=np.arange(size), weights=loose.weights, pulls=pulls)
            )
        refused += 1
    assert refused > 5


@pytest.mark.parametrize("kind", KINDS)
def test_no_multipliers_prove_more_than_the_optimum(kind):
    """The lower bound is one for multipliers that are anything but optimal, too."""
    tight = 0
    for seed in range(40):
        case = draw(seed)
        solution = case.solve(kind)
        size, rng = len(case.gap), np.random.default_rng(seed)
        program = case.program(kind)
        whole = replace(solution.point, features=np.arange(size))
        base = np.zeros((2, size + 1))
        base[:, solution.point.features] = solution.point.pulls[:, :-1]
        for noise in (0, 1e-3, 0.1, 1):
            for _ in range(6):
                scale = 1 + noise * rng.normal(size=(2, 1))
                pulls = scale * base * (1 + noise * rng.normal(size=base.shape))
                multiplier = solution.point.multiplier * (1 + noise * rng.normal())
                pairs = zip(case.factors, pulls, strict=True)
                betas = np.array([np.linalg.norm(factor @ pull[:-1]) for factor, pull in pairs])
                point = replace(
                    whole, weights=solution.weights, multiplier=multiplier, pulls=pulls, betas=betas
                )
                bound = program.lower_bound(point, program.slopes(point))
                assert bound <= solution.objective * (1 + 1e-6)
                tight += bound >= solution.objective * (1 - 1e-5)
    assert tight > 100


def fake_clarabel(monkeypatch, spoil):
    """Spoil what the cone solver returns."""
    original = clarabel.DefaultSolver

    def solver(*arguments):
        found = original(*arguments).solve()
        fake = SimpleNamespace(x=spoil(np.array(found.x)), z=spoil(np.array(found.z)))
        return SimpleNamespace(solve=lambda: fake)

    monkeypatch.setattr(clarabel, "DefaultSolver", solver)


def by_cones(case, kind, start=None):
    """The solution where Newton's method does not arrive from a guess."""
    program = case.program(kind)
    return program.verify(program.solve_by_cones(start))


@pytest.mark.parametrize("kind", KINDS)
def test_garbage_of_the_cone_solver_is_no_answer(kind, monkeypatch):
    case, rng = draw(4), np.random.default_rng(0)
    right = case.solve(kind).objective
    for spoil in (lambda v: rng.normal(size=len(v)), np.zeros_like):
        with monkeypatch.context() as patch:
            fake_clarabel(patch, spoil)
            # an answer is refused, unless it is right all the same
            try:
                assert np.isclose(by_cones(case, kind).objective, right, rtol=2e-6)
            except SubproblemError:
                continue
    fake_clarabel(monkeypatch, lambda v: np.full_like(v, np.nan))
    with pytest.raises(SubproblemError, match="found nothing.*ridge"):
        by_cones(case, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_cones_go_on_from_the_features_of_a_start(kind):
    """Where Newton's method does not lead from one answer to the next, few features enter."""
    case = Instance(*make_wide(300, 200), rng=np.random.default_rng(0), part=0.8)
    if kind == "penalty":
        case.kappas = np.ones(2)
    start = case.solve(kind)
    case.costs = case.costs * np.random.default_rng(1).uniform(0.8, 1.25, 200)
    case.tilt = np.clip(case.tilt, -0.95 * case.costs, 0.95 * case.costs)
    warm = by_cones(case, kind, start.point)
    assert len(warm.point.features) < 200
    proved(case, kind, warm)


def test_a_pair_without_units_is_the_same_as_one_of_matrices():
    case = draw(3)
    matrices = MomentPair(case.gap, case.covariances)
    case.costs, case.tilt = np.ones(len(case.gap)), np.zeros(len(case.gap))  # as by default
    for kind in KINDS:
        first = case.solve(kind).objective
        second = ConeProblem(matrices, kind).solve(tuple(case.kappas), feasible=case.feasible)
        assert np.isclose(first, second.objective, rtol=2e-6)


# bounds of nothing, which "margin" allows


@pytest.mark.parametrize("free", [[0], [1], [0, 1]], ids=["first", "second", "both"])
def test_a_class_without_a_bound(free):
    """One class, or both, have no bound but the constraint ">= 1"."""
    for seed in range(60):
        case = draw(seed, most=0.9)
        case.kappas[free] = 0
        solution = case.solve("margin")
        proved(case, "margin", solution)
        assert not solution.point.betas[free].any()
        assert all(solution.point.states[index] == "floor" for index in free)
        if seed < 30:
            expected = stated(case, "margin")
            assert np.isclose(solution.objective, expected, rtol=1e-6)
            assert np.isclose(case.by_cones_alone("margin").objective, expected, rtol=2e-6)


def test_without_any_bound_one_feature_gets_a_margin_of_two():
    """Without a tilt the cheapest is the one with the largest gap for its cost."""
    for seed in range(30):
        case = draw(seed)
        case.kappas, case.tilt = np.zeros(2), np.zeros(len(case.gap))
        solution = case.solve("margin")
        assert solution.counts["cone"] == 0
        worth = abs(case.gap) / case.costs
        assert np.flatnonzero(solution.weights).tolist() == [worth.argmax()]
        assert np.isclose(solution.objective, 2 / worth.max(), rtol=1e-9)


@pytest.mark.parametrize("kind", ["margin", "gap"])
def test_where_no_bound_binds_the_first_guess_is_the_answer(kind):
    """With a tilt the cheapest is the one with the largest gap for what is left of its cost."""
    for seed in range(30):
        case = draw(seed)
        case.kappas = 1e-6 * case.kappas
        solution = case.solve(kind)
        worth = abs(case.gap) / (case.costs - np.sign(case.gap) * case.tilt)
        assert np.flatnonzero(solution.weights).tolist() == [worth.argmax()]
        assert solution.counts["cone"] == 0


def test_bounds_come_and_go_along_a_path():
    """From nothing to a bound and back, each from the last."""
    cold = 0
    for seed in range(16):
        case = draw(seed, wide=False, most=0.9)
        kappas, last = case.kappas, None
        for factors in ([0, 0], [0, 1], [1, 1], [1, 0], [0.5, 0], [0, 0]):
            case.kappas = kappas * factors
            last = case.solve("margin", start=last)
            proved(case, "margin", last)
            cold += last.counts["cone"]
            assert last.holds_at(case.kappas) == (
                not set(last.point.states) - {"floor"}
                and (case.kappas * last.deviations).max() <= 1
            )
    # the five that follow the first need less than one call of the cone solver each
    assert cold < 16 * 5
