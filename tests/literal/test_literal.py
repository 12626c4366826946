"""The problems as printed, against computations that share nothing with them."""

import itertools
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.solving_chain import SolvingChain
from scipy.optimize import linprog, minimize, nnls

from fsnotes import literal


def draw(seed, n):
    """Means and covariances of class 1 and class 2."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(2, n, n)) + np.eye(n)
    mu1, mu2 = rng.normal(size=(2, n))
    return mu1, mu2, factors[0] @ factors[0].T / n, factors[1] @ factors[1].T / n


def spreads(w, S1, S2):
    return np.sqrt(w @ S1 @ w), np.sqrt(w @ S2 @ w)


def kappa(delta):
    return np.sqrt(delta / (1 - delta))


def least(known, deviations, norm, *conditions):
    """Least ``deviations (s1, s2)' + norm |w|_1``, by sequential quadratic programs.

    The size of a weight is the sum of two parts that are not negative. A condition says of both
    margins and s1 and s2 what is zero, or in a tuple what is not negative.
    """
    mu1, mu2, S1, S2 = known
    n = len(mu1)
    start = np.linalg.solve(S1 + S2, mu1 - mu2)
    start *= 3 / (start @ (mu1 - mu2))
    parts = np.append(np.maximum(start, 0), np.maximum(-start, 0)) + 1e-3

    def value(x):
        return deviations @ np.array(spreads(x[:n] - x[n:-1], S1, S2)) + norm * x[:-1].sum()

    def seen(condition):
        def of(x):
            w, b = x[:n] - x[n:-1], x[-1]
            return condition(w @ mu1 - b, b - w @ mu2, *spreads(w, S1, S2))

        return {"type": "eq" if np.ndim(of(first)) == 0 else "ineq", "fun": of}

    first = np.append(parts, start @ (mu1 + mu2) / 2)
    return minimize(
        value,
        first,
        method="SLSQP",
        bounds=[(0, None)] * (2 * n) + [(None, None)],
        constraints=[seen(condition) for condition in conditions],
        options={"ftol": 1e-14, "maxiter": 1000},
    ).fun


def gap_is_one(margin1, margin2, s1, s2):
    return margin1 + margin2 - 1


def margins_are_one(margin1, margin2, s1, s2):
    return margin1 - 1, margin2 - 1


def leaves_one(alpha, margin1, margin2, s1, s2):
    """To class 2, what class 1 does not need of the distance."""
    return (margin1 + margin2 - kappa(alpha) * s1 - 1,)


def keeps(kappa1, kappa2):
    return lambda margin1, margin2, s1, s2: (margin1 - kappa1 * s1, margin2 - kappa2 * s2)


SEEDS = [(seed, n) for n in (1, 2, 5) for seed in range(12)]


@pytest.mark.parametrize("seed, n", SEEDS)
def test_minimax_machines_are_the_best(seed, n):
    mu1, mu2, S1, S2 = known = draw(seed, n)
    for lam in (0, 0.01, 0.3, 10):
        w, b, value = literal.smpm(*known, lam) if lam else literal.mpm(*known)
        assert np.isclose(value, least(known, [1, 1], lam, gap_is_one), rtol=1e-6)
        s1, s2 = spreads(w, S1, S2)
        assert np.isclose(w @ (mu1 - mu2), 1, rtol=1e-8)
        assert np.isclose(s1 + s2 + lam * abs(w).sum(), value, rtol=1e-6)
        # both means have the same number of deviations to the boundary
        assert np.allclose([(w @ mu1 - b) / s1, (b - w @ mu2) / s2], 1 / (s1 + s2), rtol=1e-5)


def check_bounds(found, known, kappa1, kappa2, *conditions):
    """That weights keep two bounds and have the least norm."""
    (w, b, value), (mu1, mu2, S1, S2) = found, known
    expected = least(known, [0, 0], 1, keeps(kappa1, kappa2), *conditions)
    assert np.isclose(value, expected, rtol=1e-6)
    assert np.isclose(abs(w).sum(), value, rtol=1e-6)
    margins = w @ mu1 - b, b - w @ mu2
    s1, s2 = spreads(w, S1, S2)
    assert margins[0] >= kappa1 * s1 - 1e-6 and margins[1] >= kappa2 * s2 - 1e-6
    for condition in conditions:
        assert np.min(condition(*margins, s1, s2)) > -1e-6


@pytest.mark.parametrize("seed, n", SEEDS)
def test_l1mpm_has_the_least_norm(seed, n):
    """With the margins of the paper, unless said."""
    known = draw(seed, n)
    top = 1 / literal.mpm(*known)[2] ** 2
    for part in (0.05, 0.5, 0.95):
        delta = part * top / (1 + top)
        known_kappas = known, kappa(delta), kappa(delta)
        check_bounds(literal.l1mpm(*known, delta), *known_kappas, margins_are_one)
        check_bounds(literal.l1mpm(*known, delta, "gap"), *known_kappas, gap_is_one)


def reach(alpha, beta, mu1, mu2, S1, S2):
    """Largest multiple of both kappas that some direction keeps."""
    return 1 / literal.mpm(mu1, mu2, kappa(alpha) ** 2 * S1, kappa(beta) ** 2 * S2)[2]


@pytest.mark.parametrize("alpha, beta", [(0, 0), (0, 0.3), (0.2, 0), (0.1, 0.3), (0.25, 0.05)])
def test_fsmempm_has_the_least_norm(alpha, beta):
    kept = [draw(*each) for each in SEEDS]
    kept = [known for known in kept if alpha + beta == 0 or reach(alpha, beta, *known) > 1.05]
    assert len(kept) >= 18
    for known in kept:
        found = literal.fsmempm(*known, alpha, beta)
        check_bounds(found, known, kappa(alpha), kappa(beta), margins_are_one)


def test_singular_covariances():
    # along the plane of w1, w2: s1 + s2 = |w1| + sqrt(2) |w2| where w3 = 0
    gap = np.array([1.0, 1, 0])
    _, _, value = literal.mpm(gap, 0 * gap, np.diag([1.0, 0, 0]), np.diag([0, 2.0, 1.0]))
    assert np.isclose(value, 1, rtol=1e-6)


def test_an_answer_that_is_not_optimal_is_none():
    mu1, mu2, S1, S2 = known = draw(0, 3)
    top = 1 / literal.mpm(*known)[2] ** 2
    above = top / (1 + top) + 0.01
    for call in (
        partial(literal.l1mpm, *known, above, "margin"),
        partial(literal.l1mpm, *known, above, "gap"),
        partial(literal.fsmempm, *known, 0.9999, 0.9999),
        partial(literal.mpm, mu1, mu1, S1, S2),
        partial(literal.smpm, mu1, mu1, S1, S2, 1),
    ):
        with pytest.raises(AssertionError, match="does not call its answer optimal"):
            call()


def test_tolerances_are_tight(monkeypatch):
    """Of the two functions that call a solver, which are all that do."""
    programs = []
    cones = []
    solve = cp.Problem.solve
    solve_via_data = SolvingChain.solve_via_data

    def simplex(problem, **options):
        programs.append(options)
        return solve(problem, **options)

    def interior(chain, problem, data, solver_opts):
        cones.append(solver_opts)
        return solve_via_data(chain, problem, data, solver_opts=solver_opts)

    monkeypatch.setattr(cp.Problem, "solve", simplex)
    literal.l1_twin_svm(*draw_twins(0, n=2))
    monkeypatch.setattr(SolvingChain, "solve_via_data", interior)
    literal.mpm(*draw(0, 3))
    assert len(programs) == 2
    cone = cones[0]
    assert cone["tol_gap_abs"] == cone["tol_gap_rel"] == cone["tol_feas"] == 1e-9
    for options in programs:
        tolerances = options["primal_feasibility_tolerance"], options["dual_feasibility_tolerance"]
        assert options["solver"] == cp.HIGHS and tolerances == (1e-9, 1e-9)
    for file in Path(literal.__file__).parent.glob("*.py"):
        text = file.read_text().replace("np.linalg.solve(", "")
        expected = 1 if file.name == "solving.py" else 0
        assert text.count(".solve(") == text.count(".solve_via_data(") == expected


@pytest.mark.parametrize("theta", [0, 0.3, 0.5, 1])
def test_mempm_is_the_best_of_its_steps(theta):
    """A hundred, unless said."""
    for seed, n, steps in [(2, 1, None), *((seed, 2, 12) for seed in range(5))]:
        known = draw(seed, n)
        w, b, value = literal.mempm(*known, theta, steps) if steps else literal.mempm(*known, theta)
        alphas = np.arange(steps or 100) / (steps or 100)
        alphas = alphas[[alpha == 0 or reach(alpha, 0, *known) > 1 for alpha in alphas]]
        deviations = [least(known, [0, 1], 0, partial(leaves_one, alpha)) for alpha in alphas]
        betas = 1 / (1 + np.array(deviations) ** 2)
        assert np.isclose(value, (theta * alphas + (1 - theta) * betas).max(), rtol=1e-6)
        mu1, mu2, *covariances = known
        margins = np.array([w @ mu1 - b, b - w @ mu2])
        accuracies = 1 / (1 + (spreads(w, *covariances) / np.maximum(margins, 1e-12)) ** 2)
        assert np.isclose([theta, 1 - theta] @ accuracies, value, atol=1e-6)
        assert np.isclose(margins[1], 1)


@pytest.mark.parametrize("criterion", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_algorithm1_by_bisections_of_ones_own(seed, criterion):
    known = draw(seed, 2)
    best = (-1,)
    for step in range(4):
        alpha, low, high = step / 4, 0.0, 1.0
        while high - low > 0.05:
            beta = (low + high) / 2
            if reach(alpha, beta, *known) < 1:
                high = beta
                continue
            low = beta
            weights = abs(literal.fsmempm(*known, alpha, beta)[0])
            count = (weights > 1e-3 * weights.max()).sum()
            value = (0.4 * alpha + 0.6 * beta) / (count if criterion == 2 else 1)
            best = max(best, (value, alpha, beta), key=lambda row: row[0])
    w, bounds, value = literal.algorithm1(*known, 0.4, criterion, steps=4, epsilon=0.05)
    assert (value, *bounds) == best
    assert np.allclose(w, literal.fsmempm(*known, *bounds)[0])


def test_algorithm1_counts_weights_above_a_thousandth(monkeypatch):
    found = np.array([1.0, 5e-4, 2e-3]), 0.0, 1.0
    monkeypatch.setattr(literal.xu2007, "fsmempm", lambda *given: found)
    _, bounds, value = literal.algorithm1(0, 0, 0, 0, 0.5, 2, steps=1, epsilon=0.6)
    assert (bounds, value) == ((0, 0.5), 0.25 / 2)


def draw_twins(seed, n=3, rows=(7, 9)):
    """Samples of the positive and of the negative class, and prices."""
    rng = np.random.default_rng(seed)
    shift, scale1, scale2 = rng.normal(size=n), *rng.uniform(0.2, 1, size=(2, n))
    A1 = rng.normal(size=(rows[0], n)) * scale1 + shift
    A2 = rng.normal(size=(rows[1], n)) * scale2 - shift
    c_fit, c_hinge = 10 ** rng.uniform(-0.5, 0.5, size=2), 10 ** rng.uniform(0, 1, size=2)
    return A1, A2, c_fit, c_hinge


def rbf(rows, points):
    return np.exp(-((rows[:, None] - points) ** 2).sum(axis=2) / 4)


def mapped(A1, A2, kernel):
    """The rows that a plane sees."""
    return (A1, A2) if kernel is None else [kernel(A, np.vstack([A1, A2])) for A in (A1, A2)]


def with_ones(A):
    return np.column_stack([A, np.ones(len(A))])


def twin_dual(H, G, fit, hinge):
    """Of min z'Mz + hinge e'xi with -Gz + xi >= e, one multiplier at a time."""
    M = np.diag(np.append(np.full(H.shape[1] - 1, 0.5), 1)) + fit * H.T @ H
    Q = G @ np.linalg.solve(M, G.T) / 2
    a = np.zeros(len(G))
    for _ in range(20000):
        last = a.copy()
        for i in range(len(a)):
            a[i] = np.clip(a[i] + (1 - Q[i] @ a) / Q[i, i], 0, hinge)
        if abs(a - last).max() < 1e-13 * hinge:
            break
    return -np.linalg.solve(M, G.T @ a) / 2, a.sum() - a @ Q @ a / 2


@pytest.mark.parametrize("kernel", [None, rbf])
@pytest.mark.parametrize("seed", range(8))
def test_twin_svm_by_its_dual(seed, kernel):
    A1, A2, c_fit, c_hinge = draw_twins(seed)
    F1, F2 = mapped(A1, A2, kernel)
    planes, values = literal.twin_svm(F1, F2, c_fit, c_hinge)
    G1, G2 = with_ones(F1), with_ones(F2)
    for (w, b), value, H, G, fit, hinge in (
        (planes[0], values[0], G1, G2, c_fit[0], c_hinge[0]),
        (planes[1], values[1], G2, -G1, c_fit[1], c_hinge[1]),
    ):
        z, expected = twin_dual(H, G, fit, hinge)
        assert np.isclose(value, expected, rtol=1e-7)
        assert np.allclose(np.append(w, b), z, atol=1e-5)


def split_program(F, H, fit, hinge, side):
    """Value of (9) for side -1, of (10) for side 1: p, q, s, t, xi not negative, and b."""
    (m, n), k = F.shape, len(H)
    costs = np.concatenate([np.ones(2 * n), np.full(2 * m, fit), np.full(k, hinge), [0]])
    equal = np.hstack([F, -F, -np.eye(m), np.eye(m), np.zeros((m, k)), np.ones((m, 1))])
    most = -side * np.hstack([H, -H, np.zeros((k, 2 * m)), -side * -np.eye(k), np.ones((k, 1))])
    bounds = [(0, None)] * (2 * n + 2 * m + k) + [(None, None)]
    found = linprog(costs, most, -np.ones(k), equal, np.zeros(m), bounds)
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("kernel", [None, rbf])
@pytest.mark.parametrize("seed", range(10))
def test_l1_twin_svm_by_the_split_programs(seed, kernel):
    A1, A2, c_fit, c_hinge = draw_twins(seed, n=4)
    F1, F2 = mapped(A1, A2, kernel)
    planes, values = literal.l1_twin_svm(F1, F2, c_fit, c_hinge)
    for F, H, (w, b), value, fit, hinge, side in (
        (F1, F2, planes[0], values[0], c_fit[0], c_hinge[0], -1),
        (F2, F1, planes[1], values[1], c_fit[1], c_hinge[1], 1),
    ):
        assert np.isclose(value, split_program(F, H, fit, hinge, side), rtol=1e-8)
        errors = np.maximum(0, 1 - side * (H @ w + b)).sum()
        own = abs(w).sum() + fit * abs(F @ w + b).sum() + hinge * errors
        assert np.isclose(value, own, rtol=1e-8)


def all_loss(A1, A2, E, planes, c_fit, c_hinge, sigma, balance, kernel, norms):
    """(21), or (24), row by row."""
    kept = [j for j in range(len(E)) if E[j]]
    (w1, b1), (w2, b2) = planes
    points = np.vstack([A1, A2])[:, kept]

    def seen(row, w):
        if kernel is None:
            return sum(row[j] * w[j] for j in kept)
        return kernel(row[None, kept], points)[0] @ w

    loss = sigma * len(kept)
    for row in A1:
        loss += balance * c_fit[0] * abs(seen(row, w1) + b1)
        loss += (1 - balance) * c_hinge[1] * max(0, 1 - seen(row, w2) - b2)
    for row in A2:
        loss += balance * c_hinge[0] * max(0, seen(row, w1) + b1 + 1)
        loss += (1 - balance) * c_fit[1] * abs(seen(row, w2) + b2)
    return loss + norms * (balance * abs(w1).sum() + (1 - balance) * abs(w2).sum())


def feature_loss(A1, A2, i, planes, c_fit, c_hinge, balance, kernel):
    """(22): what a feature loses alone."""
    if kernel is None:
        planes = [(w[[i]], b) for w, b in planes]
    alone = A1[:, [i]], A2[:, [i]], [True]
    return all_loss(*alone, planes, c_fit, c_hinge, 0, balance, kernel, False)


@pytest.mark.parametrize("kernel", [None, rbf])
@pytest.mark.parametrize("seed", range(5))
def test_value_and_scores_by_loops(seed, kernel):
    A1, A2, *prices = draw_twins(seed, n=4)
    rng = np.random.default_rng(seed)
    E = rng.random(4) < 0.6
    size = 4 if kernel is None else len(A1) + len(A2)
    planes = tuple((rng.normal(size=size), rng.normal()) for _ in range(2))
    for norms in (True, False):
        value = literal.ftsvm_value(A1, A2, E, planes, *prices, 0.4, 0.3, norms, kernel)
        assert np.isclose(value, all_loss(A1, A2, E, planes, *prices, 0.4, 0.3, kernel, norms))
    scores = literal.ftsvm_scores(A1, A2, planes, *prices, 0.3, kernel)
    losses = [feature_loss(A1, A2, i, planes, *prices, 0.3, kernel) for i in range(4)]
    assert np.allclose(scores, np.array(losses) / sum(losses), rtol=1e-10)
    assert np.isclose(scores.sum(), 1)


def test_scores_where_nothing_is_lost():
    A1, A2 = np.zeros((3, 2)), np.ones((4, 2))
    planes = (np.array([-1.0, -1]), 0.0), (np.array([-1.0, -1]), 1.0)
    assert np.array_equal(literal.ftsvm_scores(A1, A2, planes, (1, 1), (1, 1), 0.5), [0.5, 0.5])


@pytest.mark.parametrize("n", [5, 10, 11, 13, 40])
def test_scores_that_are_equal_drop_nothing(n):
    A1, A2, *_ = draw_twins(0, n)
    E, planes, _, history = literal.ftsvm(A1, A2, (0.1, 0.1), (7e-3, 7e-3), 0, 0.5)
    assert not any(w.any() for w, _ in planes)
    assert E.all() and np.allclose(history, history[0], rtol=1e-12)


def gotos(A1, A2, E, planes, prices, sigma, balance, kernel, sweeps):
    """Step 5 as printed, with "goto 6" in (d)."""
    E, n, gains = E.copy(), len(E), []
    for step in range(sweeps * n):
        j = step % n
        changed = E.copy()
        changed[j] = not E[j]
        before, after = (
            all_loss(A1, A2, e, planes, *prices, sigma, balance, kernel, False)
            for e in (E, changed)
        )
        kept = before - after > 1e-6
        gains.append(before - after if kept else 0)
        if kept:
            E = changed
        elif j < n - 1:
            continue
        if sum(gains[-n:]) <= 1e-6:
            break
    return E


@pytest.fixture
def solves(monkeypatch):
    """What `l1_twin_svm` was given and gave."""
    seen, original = [], literal.l1_twin_svm

    def recorded(A1, A2, c_fit, c_hinge):
        planes, values = original(A1, A2, c_fit, c_hinge)
        seen.append((A1, A2, planes, values))
        return planes, values

    monkeypatch.setattr(literal.bai2014, "l1_twin_svm", recorded)
    return seen


@pytest.mark.parametrize("kernel", [None, rbf])
def test_ftsvm_by_gotos(solves, kernel):
    sizes = []
    for seed in range(30 if kernel is None else 10):
        A1, A2, *prices = draw_twins(seed, n=5)
        rng = np.random.default_rng(seed)
        sigma, balance = 10 ** rng.uniform(-2, 0), rng.uniform(0.2, 0.8)
        sweeps = rng.choice([1, 1000])
        given = (*prices, sigma, balance)
        solves.clear()
        E, planes, value, history = literal.ftsvm(A1, A2, *given, kernel, sweeps=sweeps)
        masks = [np.ones(5, dtype=bool)]
        losses = [feature_loss(A1, A2, i, solves[0][2], *prices, balance, kernel) for i in range(5)]
        masks.append(np.array(losses) / sum(losses) >= (1 - 1e-9) / 5)
        for *_, found, _ in solves[1:-1]:
            masks.append(gotos(A1, A2, masks[-1], found, prices, sigma, balance, kernel, sweeps))
        assert len(masks) == len(solves) == len(history)
        for mask, (first, second, found, (v1, v2)), known in zip(
            masks, solves, history, strict=True
        ):
            for rows, A in zip((first, second), (A1, A2), strict=True):
                points = np.vstack([A1, A2])[:, mask]
                expected = A * mask if kernel is None else kernel(A[:, mask], points)
                assert np.allclose(rows, expected, rtol=1e-12)
            both = balance * v1 + (1 - balance) * v2
            assert np.isclose(known, sigma * mask.sum() + both, rtol=1e-8)
            assert np.isclose(known, all_loss(A1, A2, mask, found, *given, kernel, True))
        assert np.array_equal(E, masks[-1]) and E.dtype == bool
        assert value == history[-1] and planes is solves[-1][2]
        falls = -np.diff(history[1:])
        assert (falls[:-1] > 1e-6).all() and -1e-7 * value <= falls[-1] <= 1e-6
        if kernel is None:  # what a solution leaves out does not return
            for before, after in itertools.pairwise(masks[1:]):
                assert not (after & ~before).any()
        sizes.append(E.sum())
    assert len(set(sizes)) > 2


def test_a_feature_may_return_before_the_next_solution():
    """One row, at planes given by hand: |1 - x1 / 2 - 2.6 x2| is 2.1, 1.6, 1, and then 0.5."""
    A1, A2 = np.ones((1, 2)), np.zeros((1, 2))
    planes = (np.array([-0.5, -2.6]), 1.0), (np.zeros(2), 0.0)
    start = np.array([True, True])
    prices = (1, 1), (1e-9, 1e-9)

    def step(sweeps):
        return literal.bai2014.greedy_step(
            A1, A2, start, planes, *prices, 0.1, 0.9, None, 1e-6, sweeps
        ).tolist()

    assert step(1) == [False, False] and step(2) == step(9) == [True, False]
    assert start.all()


def test_ftsvm_of_a_tolerance_of_zero_ends():
    twins = draw_twins(3, n=5)
    _, _, value, history = literal.ftsvm(*twins, 0.3, 0.5, tol=0)
    assert history[-1] == history[-2] == value
    *_, history = literal.ftsvm(*twins, 0.3, 0.5, tol=1e9)
    assert len(history) == 3 and history[1] == history[2]


@pytest.mark.parametrize("kernel", [None, rbf])
def test_features_that_are_too_dear(kernel):
    """Without features, plane 1 has its offset at 0 or -1, and plane 2 at 0 or 1."""
    for seed in range(4):
        A1, A2, c_fit, c_hinge = draw_twins(seed)
        (m1, m2), balance = (len(A1), len(A2)), 0.3
        value1 = min(c_fit[0] * m1, c_hinge[0] * m2)
        value2 = min(c_fit[1] * m2, c_hinge[1] * m1)
        given = A1, A2, c_fit, c_hinge, 1e4, balance
        E, planes, value, _ = literal.ftsvm(*given, kernel)
        assert not E.any() and not any(w.any() for w, _ in planes)
        assert np.isclose(value, balance * value1 + (1 - balance) * value2, rtol=1e-9)
        if kernel is None:
            assert np.isclose(value, literal.ftsvm_exact(*given)[2], rtol=1e-9)


def test_ftsvm_exact_by_linear_programs():
    met, sizes = 0, []
    for seed in range(6):
        A1, A2, c_fit, c_hinge = draw_twins(seed, n=4)
        sigma, balance = 10.0 ** -(seed % 3), 0.2 + 0.1 * seed
        given = A1, A2, c_fit, c_hinge, sigma, balance
        best = np.inf
        for count in range(5):
            for kept in map(list, itertools.combinations(range(4), count)):
                F1, F2 = A1[:, kept], A2[:, kept]
                value1 = split_program(F1, F2, c_fit[0], c_hinge[0], -1)
                value2 = split_program(F2, F1, c_fit[1], c_hinge[1], 1)
                best = min(best, sigma * count + balance * value1 + (1 - balance) * value2)
        E, planes, value = literal.ftsvm_exact(*given)
        assert np.isclose(value, best, rtol=1e-8)
        known = literal.ftsvm_value(A1, A2, E, planes, c_fit, c_hinge, sigma, balance)
        assert np.isclose(known, value, rtol=1e-8)
        # E drops out: the features are those that have a weight in one plane or in both
        assert np.array_equal(E, (planes[0][0] != 0) | (planes[1][0] != 0))
        found = literal.ftsvm(*given)[2]
        assert found >= value - 1e-7 * value
        met += np.isclose(found, value, rtol=1e-6)
        sizes.append(E.sum())
    assert 0 < met < 6 and len(set(sizes)) > 2


def test_ftsvm_exact_takes_the_fewest_of_equals_and_twelve_at_most():
    A1, A2, *prices = draw_twins(0, n=2)
    twice = [np.column_stack([A, A[:, 0], np.ones(len(A))]) for A in (A1, A2)]
    E, _, value = literal.ftsvm_exact(*twice, *prices, 0, 0.5)
    assert E[1] and E[0] != E[2] and not E[3]
    assert np.isclose(value, literal.ftsvm_exact(A1, A2, *prices, 0, 0.5)[2], rtol=1e-9)
    with pytest.raises(ValueError, match="at most 12"):
        literal.ftsvm_exact(np.ones((2, 13)), np.zeros((2, 13)), *prices, 1, 0.5)


@pytest.mark.parametrize("kernel", [None, rbf])
@pytest.mark.parametrize("seed", range(5))
def test_rtsvm_by_loops(solves, seed, kernel):
    A1, A2, *prices = draw_twins(seed, n=5)
    E = np.array([True, False, True, True, False])
    scores = literal.rtsvm(A1, A2, E, *prices, 0.6, kernel)
    (first, _, planes, _), points = solves[0], np.vstack([A1, A2])[:, E]
    assert np.allclose(first, A1 * E if kernel is None else kernel(A1[:, E], points))
    losses = [feature_loss(A1, A2, i, planes, *prices, 0.6, kernel) for i in range(5)]
    assert len(solves) == 1 and np.allclose(scores, np.array(losses) / sum(losses), rtol=1e-10)
    if kernel is None:  # all that is left of a feature outside E are the offsets
        assert np.isclose(scores[1], scores[4]) and (scores > 0).all()


def draw_classes(seed, m=8, n=14, c=3):
    """Columns, the last of ones, and a -1 or +1 for each row and class."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(m) % c)
    X = with_ones(rng.normal(size=(m, n)))
    return X, np.where(labels[:, None] == np.arange(c), 1.0, -1.0)


def sizes(W):
    return np.sqrt((W**2).sum(axis=1))


def least_distance(G):
    """The shortest z with Gz >= 1, of Lawson and Hanson."""
    target = np.append(np.zeros(G.shape[1]), 1)
    a, _ = nnls(np.vstack([G.T, np.ones(len(G))]), target)
    residual = np.append(G.T @ a, a.sum() - 1)
    return -residual[:-1] / residual[-1]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_dso_step_by_least_distances(seed, soft):
    """A class is a machine of its own, and a margin error a column of its own."""
    rng = np.random.default_rng(seed)
    X, Y = draw_classes(seed)
    weights, shares = 10 ** rng.uniform(-2, 1, size=15), rng.uniform(0.2, 3, size=8)
    C, p = 10 ** rng.uniform(-1, 1), rng.uniform(0.1, 1)
    found, value = literal.dso_step(X, Y, weights, *([C, p, shares] if soft else []))
    expected = 0
    for y, w in zip(Y.T, found.T, strict=True):
        scale = np.sqrt(weights / (p / 2 if soft else 1))
        G = y[:, None] * X * scale
        if soft:
            G = np.hstack([G, np.diag(1 / np.sqrt(C * shares))])
        z = least_distance(G)
        expected += z @ z
        assert np.allclose(w, scale * z[:15], atol=1e-6 * abs(found).max())
    assert np.isclose(value, expected, rtol=1e-8)


@pytest.mark.parametrize("C", [None, 2])
def test_rows_of_no_weight_stay_zero(C):
    X, Y = draw_classes(1)
    weights = np.linspace(0.5, 2, 15)
    weights[[2, 7, 14]] = 0
    W, value = literal.dso_step(X, Y, weights, C)
    assert np.array_equal(np.flatnonzero(~W.any(axis=1)), [2, 7, 14])
    kept = weights > 0
    V, other = literal.dso_step(X[:, kept], Y, weights[kept], C)
    assert np.isclose(value, other, rtol=1e-9) and np.allclose(W[kept], V, atol=1e-8)


@pytest.mark.parametrize("C", [None, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_dso_is_where_the_steps_end(seed, C):
    X, Y = draw_classes(seed)
    shares = np.random.default_rng(seed).uniform(0.2, 3, size=8)
    W, value = literal.dso(X, Y, C, shares)

    def of(W):
        errors = np.maximum(0, 1 - Y * (X @ W))
        return sizes(W).sum() + (0 if C is None else C * (shares[:, None] * errors**2).sum())

    assert np.isclose(value, of(W), rtol=1e-7)
    again, stepped = literal.dso_step(X, Y, sizes(W), C, 1.0, shares)
    assert np.isclose(of(again), value, rtol=1e-7) and np.allclose(again, W, atol=1e-4)
    assert np.isclose(stepped + (0 if C is None else sizes(W).sum() / 2), value, rtol=1e-7)
    V, values = np.ones((15, 3)), []
    for _ in range(60):
        V, _ = literal.dso_step(X, Y, sizes(V), C, 1.0, shares)
        values.append(of(V))
    assert (np.diff(values) < 1e-8).all() and value * (1 - 1e-7) < values[-1] < value * (1 + 1e-3)
    dead = sizes(W) < 1e-5
    assert 0 < dead.sum() < 14 and sizes(V)[dead].max() < 0.05


def test_classes_that_nothing_separates():
    X, Y = draw_classes(0)
    X[1], Y[1] = X[0], -Y[0]
    with pytest.raises(AssertionError, match="does not call its answer optimal"):
        literal.dso(X, Y)
    with pytest.raises(AssertionError, match="does not call its answer optimal"):
        literal.dso_step(X, Y, np.ones(15))
    assert literal.dso(X, Y, 1)[1] > 0 and literal.dso_step(X, Y, np.ones(15), 1)[1] > 0


def both_parts(M, N, L, U, E, sign):
    """(8), with M in P as it is or turned."""
    zeros = np.zeros((M.shape[1], N.shape[1]))
    P = np.vstack([sign * M, np.eye(M.shape[1])])
    return P @ U + np.vstack([N, zeros]) + np.vstack([L @ E, zeros])


@pytest.mark.parametrize("shape", [(8, 14), (6, 5), (10, 4)])
def test_the_solution_space_and_its_sign(shape):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, Y = draw_classes(seed, *shape)
        X[:, 1] = 2 * X[:, 0]
        rank, projected = min(shape[0], shape[1]), X @ np.linalg.pinv(X)
        pivots = rng.permutation([j for j in range(X.shape[1]) if j != 1])[:rank].tolist()
        for chosen in (None, pivots):
            order, M, N, L = literal.peng2016.solution_space(X, Y, chosen)
            first = [0, *range(2, rank + 1)] if chosen is None else chosen
            assert order[:rank] == first and sorted(order) == list(range(X.shape[1]))
            assert np.allclose(X[:, first] @ M, X[:, order[rank:]])
            U, E = rng.normal(size=(M.shape[1], 3)), rng.normal(size=Y.shape)
            W = both_parts(M, N, L, U, E, -1)
            assert np.allclose(X[:, order] @ W, projected @ (Y + E))
            printed = both_parts(M, N, L, U, E, 1)
            assert abs(X[:, order] @ printed - projected @ (Y + E)).max() > 0.1
        if shape[0] < shape[1]:
            assert np.allclose(projected, np.eye(shape[0]))


@pytest.mark.parametrize("pivots", [range(7), range(9), [0, 1, *range(2, 8)], [2] * 8])
def test_pivots_that_do_not_do(pivots):
    X, Y = draw_classes(0)
    X[:, 1] = 2 * X[:, 0]
    with pytest.raises(ValueError, match="rank of X is 8: pivots has to name 8 independent"):
        literal.dso_algorithm1(X, Y, 1, pivots)


@pytest.mark.parametrize("m", [4, 8])
def test_the_step_over_directions_by_its_formulas(m):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        M, K, Sigma = rng.normal(size=(m, 6)), rng.normal(size=(m, 3)), rng.uniform(0.3, 3, m + 6)
        U = literal.peng2016.dso_directions(M, K, Sigma)
        P, G, S = np.vstack([-M, np.eye(6)]), np.vstack([K, np.zeros((6, 3))]), np.diag(Sigma**2)
        S1, S2 = S[:m, :m], S[m:, m:]
        T = np.linalg.inv(S2) @ M.T @ S1
        assert np.allclose(U, -np.linalg.inv(P.T @ S @ P) @ P.T @ S @ G)  # (11)
        assert np.allclose(U, np.linalg.inv(M.T @ S1 @ M + S2) @ M.T @ S1 @ K)  # (12)
        assert np.allclose(U, T @ np.linalg.inv(M @ T + np.eye(m)) @ K)  # (13)
        printed = -np.linalg.inv(P.T @ np.diag(Sigma) @ P) @ P.T @ S @ G
        assert not np.allclose(U, printed, rtol=1e-2)


def test_rows_of_zeros_are_free_in_both_steps():
    rng = np.random.default_rng(0)
    M, K, Sigma = rng.normal(size=(5, 7)), rng.normal(size=(5, 3)), rng.uniform(0.3, 3, size=12)
    Sigma[[1, 6, 9]] = 0
    P, G = np.vstack([-M, np.eye(7)]), np.vstack([K, np.zeros((7, 3))])

    def cost(U):
        return ((Sigma[:, None] * (P @ U + G)) ** 2).sum()

    U = literal.peng2016.dso_directions(M, K, Sigma)
    least = np.linalg.lstsq(Sigma[:, None] * P, -Sigma[:, None] * G)[0]
    assert np.isclose(cost(U), cost(least), rtol=1e-9)
    assert sizes(P @ U + G)[[1, 6, 9]].min() > 0.1
    W = np.array([[0, 0], [3, 4]])
    assert np.array_equal(literal.peng2016.inverse_norms(W, 1, 0), [0, 5**-0.5])
    assert np.allclose(literal.peng2016.inverse_norms(W, 0.5, 1), [1, 5**-0.75])


@pytest.mark.parametrize("shape", [(8, 14), (10, 4)])
def test_the_step_over_errors_by_least_squares(shape):
    X, Y = draw_classes(0, *shape)
    _, M, N, L = literal.peng2016.solution_space(X, Y)
    step = literal.peng2016.dso_errors(Y, L)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        H, Lambda = N + rng.normal(size=N.shape), 10 ** rng.uniform(-1, 2, size=len(N))
        Lambda[seed % 2 * 3 : seed % 2 * 4] = 0
        E = step(H, Lambda)
        expected = 0
        for y, h in zip(Y.T, H.T, strict=True):
            expected += nnls(Lambda[:, None] * L * y, -Lambda * h)[1] ** 2
        assert np.isclose(((Lambda[:, None] * (L @ E + H)) ** 2).sum(), expected, rtol=1e-7)
        assert (Y * E).min() > -1e-7


@pytest.mark.parametrize("p", [1, 0.6])
@pytest.mark.parametrize("shape", [(8, 14), (10, 4)])
def test_dso_algorithm1_by_its_steps(shape, p):
    for seed in range(3):
        X, Y = draw_classes(seed, *shape)
        pivots = np.random.default_rng(seed).permutation(X.shape[1])[: min(len(X), X.shape[1])]
        rest = np.setdiff1d(np.arange(X.shape[1]), pivots)
        M = np.linalg.pinv(X[:, pivots]) @ X[:, rest]
        L = np.linalg.pinv(X[:, pivots])
        P, E = np.vstack([-M, np.eye(len(rest))]), np.zeros(Y.shape)
        S, expected, zeros = np.eye(X.shape[1]), [], np.zeros((len(rest), 3))
        for _ in range(4):
            G = np.vstack([L @ (Y + E), zeros])
            U = -np.linalg.pinv(P.T @ S @ P) @ P.T @ S @ G
            V = P @ U + G
            expected.append((sizes(V) ** p).sum())
            Lambda = sizes(V[: len(M)])[:, None] ** (p / 2 - 1)
            for k, y in enumerate(Y.T):
                h = (L @ Y - M @ U)[:, k]
                E[:, k] = y * nnls(Lambda * L * y, -Lambda[:, 0] * h)[0]
            W = P @ U + np.vstack([L @ (Y + E), zeros])
            expected.append((sizes(W) ** p).sum())
            S = np.diag(sizes(W) ** (p - 2))
        found, history = literal.dso_algorithm1(X, Y, p, pivots, most=4)
        assert np.allclose(history, expected, rtol=1e-5)
        assert np.allclose(found[[*pivots, *rest]], W, atol=1e-4)


def test_dso_algorithm1_stops_above_the_optimum():
    """At p = 1, and where it does depends on the columns that come first."""
    above, apart = [], []
    for seed in range(8):
        X, Y = draw_classes(seed)
        least, ends = literal.dso(X, Y)[1], []
        for pivots in (None, range(14, 6, -1)):
            W, history = literal.dso_algorithm1(X, Y, 1, pivots, tol=1e-4, most=120)
            assert (np.diff(history) < 1e-7).all() and (Y * (X @ W)).min() > 1 - 1e-6
            assert np.isclose(history[-1], sizes(W).sum(), rtol=1e-12)
            joint = sizes(literal.dso_step(X, Y, sizes(W))[0]).sum()
            assert least * (1 - 1e-7) < joint < history[-1] * (1 - 1e-6)
            above.append(history[-1] / least - 1)
            ends.append(history[-1])
        apart.append(abs(ends[0] / ends[1] - 1))
    assert np.median(above) > 3e-3 and max(above) > 0.05
    assert np.median(apart) > 1e-3


def test_a_freed_row_raises_the_norm():
    """At p = 1, too: a row falls until its square is 0, and is then free by footnote 2."""
    rises = []
    for seed in (3, 6, 8, 12):
        X, Y = draw_classes(seed, m=6, n=18, c=2)
        for floor in (0, 1e-6):
            _, history = literal.dso_algorithm1(X, Y, 1, tol=0, most=130, floor=floor)
            rises.append((np.diff(history) / history[:-1]).max())
    assert sum(np.array(rises[::2]) > 5e-4) >= 2 and max(rises[1::2]) < 1e-5


def test_columns_of_zeros_change_nothing():
    X, Y = draw_classes(0)
    W, history = literal.dso_algorithm1(X, Y, 1, most=20)
    V, other = literal.dso_algorithm1(np.insert(X, [0, 9], 0, axis=1), Y, 1, most=20)
    assert np.allclose(history, other, rtol=1e-6)
    assert np.allclose(np.insert(W, [0, 9], 0, axis=0), V, atol=1e-4)
    assert not V[[0, 10]].any()


@pytest.mark.parametrize("p", [0.5, 0.1])
def test_dso_algorithm1_with_a_floor(p):
    for seed in range(4):
        X, Y = draw_classes(seed)
        W, history = literal.dso_algorithm1(X, Y, p, tol=1e-4, floor=1e-4, most=60)
        assert (Y * (X @ W)).min() > 1 - 1e-6 and (sizes(W) > 1e-3).sum() < 12
        assert history[-1] < 0.9 * history[0] and len(history) <= 120


def test_the_projection_leaves_margins_below_one():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = with_ones(rng.normal(size=(12, 5)))
        Y = np.sign(X @ rng.normal(size=(6, 3)))
        W, history = literal.dso_algorithm1(X, Y, 1, most=60)
        V, other = literal.dso_algorithm1(X, Y, 1, range(5, -1, -1), most=60)
        assert np.allclose(history, other, rtol=1e-6) and np.allclose(W, V, atol=1e-5)
        assert history[-1] < 0.9 * literal.dso(X, Y)[1] and (Y * (X @ W)).min() < 0.5
    X, Y = draw_classes(0, m=12, n=3)
    with pytest.raises(AssertionError, match="does not call its answer optimal"):
        literal.dso(X, Y)
    assert abs(literal.dso_algorithm1(X, Y, 1, most=5)[0]).max() < 1e-6


def test_dso_algorithm1_ends_by_tolerance_or_limit():
    X, Y = draw_classes(0)
    rounds = [len(literal.dso_algorithm1(X, Y, 1, tol=tol)[1]) for tol in (1e-2, 1e-4, 1e-6)]
    assert 4 < rounds[0] < rounds[1] < rounds[2] < 1000 and all(k % 2 == 0 for k in rounds)
    assert len(literal.dso_algorithm1(X, Y, 1, most=3)[1]) == 6


@pytest.mark.parametrize("lam", [0.3, 1, 3])
def test_rfs_is_stationary(lam):
    """By the dual: rows of at most 1, columns of X that see at most lam of them."""
    fitted = live = 0
    for seed in range(6):
        X, Y = draw_classes(seed, m=10, n=8)
        W, value = literal.rfs(X, Y, lam)
        R = Y - X @ W
        assert np.isclose(value, sizes(R).sum() + lam * sizes(W).sum(), rtol=1e-7)
        exact, used = sizes(R) < 1e-5, sizes(W) > 1e-5
        Theta = np.zeros(Y.shape)
        Theta[~exact] = R[~exact] / sizes(R)[~exact, None]
        slopes = lam * W[used] / sizes(W)[used, None]
        left = slopes - X[:, used].T @ Theta
        Theta[exact] = np.linalg.lstsq(X[exact][:, used].T, left)[0]
        assert np.allclose(X[:, used].T @ Theta, slopes, atol=1e-3)
        assert sizes(X.T @ Theta).max() < lam + 1e-3 and sizes(Theta).max() < 1 + 1e-3
        assert np.isclose((Theta * Y).sum(), value, rtol=1e-4)
        fitted += exact.sum()
        live += used.sum()
    assert 0 < live < 54 and (fitted > 0 or lam == 3)


def test_rfs_of_a_dear_norm_and_of_a_free_one():
    X, Y = draw_classes(0, m=10, n=8)
    W, value = literal.rfs(X, Y, 1e3)
    assert np.isclose(value, 10 * np.sqrt(3)) and abs(W).max() < 1e-6
    X, Y = draw_classes(0)
    W, value = literal.rfs(X, Y, 1e-3)
    assert np.allclose(X @ W, Y, atol=1e-5) and np.isclose(value, 1e-3 * sizes(W).sum(), rtol=1e-4)
