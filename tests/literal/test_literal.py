"""The problems as printed, against computations that share nothing with them."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
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


def best_angle(value):
    """Least value over directions of the plane, by grids that close in on the best of the last."""
    angles = np.linspace(0, 2 * np.pi, 2001)
    found = np.array([value(a) for a in angles])
    best = np.inf
    for k in np.argsort(found)[:3]:
        middle, reach = angles[k], angles[1]
        for _ in range(5):
            near = np.linspace(middle - reach, middle + reach, 81)
            values = [value(a) for a in near]
            middle, reach = near[np.argmin(values)], reach / 20
        best = min(best, *values)
    return best


def unit(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def shortest(w, mu1, mu2, S1, S2, kappa, normalization):
    """Length of the direction that just meets the constraints; infinite where none does."""
    gap, (s1, s2) = w @ (mu1 - mu2), spreads(w, S1, S2)
    if gap <= kappa * (s1 + s2):
        return np.inf
    if normalization == "gap":
        return 1 / gap
    # where t gap = max(1, t kappa s1) + max(1, t kappa s2), which is convex in t
    lengths = [2 / gap, 1 / (gap - kappa * s1), 1 / (gap - kappa * s2)]
    fits = [t for t in lengths if meets(t, gap, kappa * s1, kappa * s2)]
    return min(fits)


def meets(t, gap, first, second):
    return t * gap * (1 + 1e-12) >= max(1, t * first) + max(1, t * second)


@pytest.mark.parametrize("seed", range(6))
def test_mpm_in_one_dimension(seed):
    mu1, mu2, S1, S2 = draw(seed, 1)
    w, b, value = literal.mpm(mu1, mu2, S1, S2)
    gap, s1, s2 = (mu1 - mu2)[0], np.sqrt(S1[0, 0]), np.sqrt(S2[0, 0])
    assert np.isclose(w[0], 1 / gap, rtol=1e-7)
    assert np.isclose(value, (s1 + s2) / abs(gap), rtol=1e-7)
    # the boundary has the same number of deviations to both means
    boundary = b / w[0]
    assert np.isclose(abs(mu1[0] - boundary) / s1, abs(mu2[0] - boundary) / s2, rtol=1e-6)
    assert (mu1[0] - boundary) * (mu2[0] - boundary) < 0


@pytest.mark.parametrize("seed", range(12))
def test_mpm_in_the_plane(seed):
    mu1, mu2, S1, S2 = known = draw(seed, 2)
    w, b, value = literal.mpm(*known)

    def of(angle):
        v = unit(angle)
        return sum(spreads(v, S1, S2)) / max(v @ (mu1 - mu2), 1e-9)

    assert np.isclose(value, best_angle(of), rtol=1e-6)
    s1, s2 = spreads(w, S1, S2)
    assert np.isclose(w @ (mu1 - mu2), 1, rtol=1e-8) and np.isclose(s1 + s2, value, rtol=1e-7)
    assert np.isclose((w @ mu1 - b) / s1, 1 / value, rtol=1e-6)
    assert np.isclose((b - w @ mu2) / s2, 1 / value, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_mpm_of_equal_covariances_is_fishers(seed):
    mu1, mu2, S, _ = draw(seed, 5)
    w, b, value = literal.mpm(mu1, mu2, S, S)
    direction = np.linalg.solve(S, mu1 - mu2)
    distance = np.sqrt((mu1 - mu2) @ direction)
    assert np.isclose(value, 2 / distance, rtol=1e-7)
    assert np.allclose(w, direction / distance**2, rtol=1e-4, atol=1e-5 * abs(w).max())
    assert np.isclose(b, w @ (mu1 + mu2) / 2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalization", ["margin", "gap"])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("n", [1, 2])
def test_l1mpm_by_brute_force(n, part, normalization):
    for seed in range(8):
        mu1, mu2, S1, S2 = known = draw(seed, n)
        top = 1 / literal.mpm(*known)[2]
        delta = part * top**2 / (1 + top**2)
        kappa = np.sqrt(delta / (1 - delta))
        w, b, value = literal.l1mpm(*known, delta, normalization)

        def norm(v, known=known, kappa=kappa):
            return abs(v).sum() * shortest(v, *known, kappa, normalization)

        if n == 1:
            expected = min(norm(np.array([1.0])), norm(np.array([-1.0])))
        else:
            corners = [norm(v) for v in np.vstack([np.eye(2), -np.eye(2)])]
            expected = min(best_angle(lambda a, norm=norm: norm(unit(a))), *corners)
        assert np.isclose(value, expected, rtol=1e-6)
        assert np.isclose(abs(w).sum(), value, rtol=1e-6)
        s1, s2 = spreads(w, S1, S2)
        margin1, margin2 = w @ mu1 - b, b - w @ mu2
        assert margin1 >= kappa * s1 - 1e-6 and margin2 >= kappa * s2 - 1e-6
        if normalization == "margin":
            assert min(margin1, margin2) >= 1 - 1e-6
        else:
            assert np.isclose(margin1 + margin2, 1, rtol=1e-7)


def test_normalization_is_the_margin_unless_said():
    known = draw(0, 3)
    assert literal.l1mpm(*known, 0.1)[2] == literal.l1mpm(*known, 0.1, "margin")[2]
    assert not np.isclose(literal.l1mpm(*known, 0.1, "gap")[2], literal.l1mpm(*known, 0.1)[2])


@pytest.mark.parametrize("lam", [0.01, 0.3, 10])
def test_smpm_by_brute_force(lam):
    for seed in range(8):
        mu1, mu2, S1, S2 = known = draw(seed, 2)
        w, b, value = literal.smpm(*known, lam)

        def of(v, known=known):
            mu1, mu2, S1, S2 = known
            return (sum(spreads(v, S1, S2)) + lam * abs(v).sum()) / max(v @ (mu1 - mu2), 1e-9)

        corners = [of(v) for v in np.vstack([np.eye(2), -np.eye(2)])]
        assert np.isclose(value, min(best_angle(lambda a, of=of: of(unit(a))), *corners), rtol=1e-6)
        assert np.isclose(w @ (mu1 - mu2), 1, rtol=1e-8)
        s1, s2 = spreads(w, S1, S2)
        assert np.isclose(s1 + s2 + lam * abs(w).sum(), value, rtol=1e-6)
        assert np.isclose((w @ mu1 - b) / s1, (b - w @ mu2) / s2, rtol=1e-5)
        one = literal.smpm(mu1[:1], mu2[:1], S1[:1, :1], S2[:1, :1], lam)[2]
        expected = (np.sqrt(S1[0, 0]) + np.sqrt(S2[0, 0]) + lam) / abs(mu1[0] - mu2[0])
        assert np.isclose(one, expected, rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_all_by_sequential_quadratic_programs(seed):
    """In more dimensions, with |w| split into two parts that are not negative."""
    n = 5
    mu1, mu2, S1, S2 = known = draw(seed, n)
    gap = mu1 - mu2
    start = np.linalg.solve(S1 + S2, gap)
    start = start / (gap @ start)
    parts = np.append(np.maximum(start, 0), np.maximum(-start, 0)) + 1e-3

    def weights(x):
        return x[:n] - x[n:]

    def both(x):
        return sum(spreads(weights(x), S1, S2))

    fixed = {"type": "eq", "fun": lambda x: gap @ weights(x) - 1}
    options = {"ftol": 1e-13, "maxiter": 1000}

    def solved(value, *constraints):
        found = minimize(
            value,
            parts,
            bounds=[(0, None)] * (2 * n),
            constraints=[fixed, *constraints],
            method="SLSQP",
            options=options,
        )
        return found.fun

    top = literal.mpm(*known)[2]
    assert np.isclose(top, solved(both), rtol=1e-6)
    lam = 0.2
    assert np.isclose(
        literal.smpm(*known, lam)[2], solved(lambda x: both(x) + lam * x.sum()), rtol=1e-6
    )
    delta = 0.7 / (1 + top**2)
    kappa = np.sqrt(delta / (1 - delta))
    cone = {"type": "ineq", "fun": lambda x: 1 - kappa * both(x)}
    assert np.isclose(
        literal.l1mpm(*known, delta, "gap")[2], solved(lambda x: x.sum(), cone), rtol=1e-6
    )


def test_singular_covariances():
    mu1, mu2, S1, S2 = draw(3, 3)
    S1, S2 = np.diag([1.0, 0, 0]), np.diag([0, 2.0, 1.0])
    # along the plane of w1, w2: s1 + s2 = |w1| + sqrt(2) |w2| where w3 = 0
    gap = np.array([1.0, 1, 0])
    _, _, value = literal.mpm(gap, 0 * gap, S1, S2)
    assert np.isclose(value, 1, rtol=1e-6)


def test_an_answer_that_is_not_optimal_is_none(monkeypatch):
    mu1, mu2, S1, S2 = draw(0, 3)
    top = 1 / literal.mpm(mu1, mu2, S1, S2)[2] ** 2
    above = top / (1 + top) + 0.01
    for normalization in ("margin", "gap"):
        with pytest.raises(AssertionError, match="does not call its answer optimal"):
            literal.l1mpm(mu1, mu2, S1, S2, above, normalization)
    with pytest.raises(AssertionError, match="does not call its answer optimal"):
        literal.mpm(mu1, mu1, S1, S2)
    with pytest.raises(AssertionError, match="does not call its answer optimal"):
        literal.smpm(mu1, mu1, S1, S2, 1)


def test_tolerances_are_tight(monkeypatch):
    asked = []
    original = cp.Problem.solve

    def solve(problem, **options):
        asked.append(options)
        return original(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", solve)
    known = draw(0, 3)
    literal.mpm(*known)
    literal.l1mpm(*known, 0.1)
    literal.smpm(*known, 1)
    literal.fsmempm(*known, 0.1, 0)
    literal.mempm(*known, 0.5, steps=2)
    assert len(asked) >= 6
    for options in asked:
        assert options["tol_gap_abs"] == options["tol_gap_rel"] == options["tol_feas"] == 1e-9


def reach(kappa1, kappa2, gap, S1, S2):
    """Largest multiple of both kappas that some direction of the plane keeps."""
    return 1 / best_angle(
        lambda angle: (kappa1 * np.sqrt(unit(angle) @ S1 @ unit(angle))
        + kappa2 * np.sqrt(unit(angle) @ S2 @ unit(angle)))
        / max(unit(angle) @ gap, 1e-9)
    )  # fmt: skip


def kappa(delta):
    return np.sqrt(delta / (1 - delta))


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0), (0, 0.3), (0.2, 0), (0.1, 0.3), (0.25, 0.05)])
def test_fsmempm_by_brute_force(alpha, beta):
    solved = 0
    for seed in range(8):
        mu1, mu2, S1, S2 = known = draw(seed, 2)
        gap = mu1 - mu2
        if (alpha or beta) and reach(kappa(alpha), kappa(beta), gap, S1, S2) < 1.05:
            continue
        solved += 1
        w, b, value = literal.fsmempm(*known, alpha, beta)

        def norm(v, gap=gap, S1=S1, S2=S2):
            distance, first, second = (
                v @ gap,
                *np.multiply([kappa(alpha), kappa(beta)], spreads(v, S1, S2)),
            )
            if distance <= first + second or distance <= 0:
                return np.inf
            lengths = [2 / distance, 1 / (distance - first), 1 / (distance - second)]
            return abs(v).sum() * min(t for t in lengths if meets(t, distance, first, second))

        corners = [norm(v) for v in np.vstack([np.eye(2), -np.eye(2)])]
        expected = min(best_angle(lambda a, norm=norm: norm(unit(a))), *corners)
        assert np.isclose(value, expected, rtol=1e-6)
        assert np.isclose(abs(w).sum(), value, rtol=1e-6)
        s1, s2 = spreads(w, S1, S2)
        assert w @ mu1 - b >= max(1, kappa(alpha) * s1) - 1e-6
        assert b - w @ mu2 >= max(1, kappa(beta) * s2) - 1e-6
    assert solved >= 4


def test_fsmempm_of_equal_bounds_is_l1mpm():
    for seed in range(8):
        known = draw(seed, 5)
        top = 1 / literal.mpm(*known)[2] ** 2
        bound = 0.8 * top / (1 + top)
        w, b, value = literal.fsmempm(*known, bound, bound)
        v, c, other = literal.l1mpm(*known, bound)
        assert np.isclose(value, other, rtol=1e-7)
        assert np.allclose(w, v, atol=1e-4 * abs(w).max()) and np.isclose(b, c, atol=1e-3)


def test_fsmempm_takes_alpha_for_the_first_class():
    mu1, mu2, S1, S2 = draw(1, 3)
    first = literal.fsmempm(mu1, mu2, S1, S2, 0.4, 0.1)
    turned = literal.fsmempm(mu2, mu1, S2, S1, 0.1, 0.4)
    assert np.isclose(first[2], turned[2], rtol=1e-8)
    assert np.allclose(first[0], -turned[0], atol=1e-5)
    assert not np.isclose(first[2], literal.fsmempm(mu1, mu2, S1, S2, 0.1, 0.4)[2], rtol=1e-3)
    with pytest.raises(AssertionError, match="does not call its answer optimal"):
        literal.fsmempm(mu1, mu2, S1, S2, 0.9999, 0.9999)


@pytest.mark.parametrize("theta", [0, 0.3, 0.5, 1])
def test_mempm_by_brute_force(theta):
    for seed in range(5):
        mu1, mu2, S1, S2 = known = draw(seed, 2)
        gap = mu1 - mu2
        steps = 12
        w, b, value = literal.mempm(*known, theta, steps)
        expected = 0
        for alpha in np.arange(steps) / steps:

            def s2(angle, alpha=alpha, gap=gap, S1=S1, S2=S2):
                s1, s2 = spreads(unit(angle), S1, S2)
                left = unit(angle) @ gap - kappa(alpha) * s1
                return s2 / left if left > 0 else np.inf

            least = best_angle(s2)
            if least < np.inf:
                expected = max(expected, theta * alpha + (1 - theta) / (1 + least**2))
        assert np.isclose(value, expected, rtol=1e-6, atol=1e-9)
        s1, s2 = spreads(w, S1, S2)
        accuracies = [
            1 / (1 + (s / max(margin, 1e-12)) ** 2)
            for s, margin in ((s1, w @ mu1 - b), (s2, b - w @ mu2))
        ]
        assert np.isclose([theta, 1 - theta] @ np.array(accuracies), value, atol=1e-6)
        assert np.isclose(b - w @ mu2, 1)


def test_mempm_in_one_dimension_takes_a_hundred_steps():
    mu1, mu2, S1, S2 = known = draw(2, 1)
    gap, s1, s2 = abs(mu1 - mu2)[0], np.sqrt(S1[0, 0]), np.sqrt(S2[0, 0])
    alphas = np.arange(100) / 100
    left = gap - kappa(alphas) * s1
    betas = left**2 / (left**2 + s2**2)
    means = np.where(left > 0, 0.5 * alphas + 0.5 * betas, 0)
    assert np.isclose(literal.mempm(*known, 0.5)[2], means.max(), rtol=1e-7)


@pytest.mark.parametrize("criterion", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_algorithm1_by_bisections_of_ones_own(seed, criterion):
    mu1, mu2, S1, S2 = known = draw(seed, 2)
    gap, best = mu1 - mu2, (-1,)
    for step in range(4):
        alpha, low, high = step / 4, 0.0, 1.0
        while high - low > 0.05:
            beta = (low + high) / 2
            if reach(kappa(alpha), kappa(beta), gap, S1, S2) < 1:
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


def test_algorithm1_ends_within_epsilon_and_begins_anew(monkeypatch):
    asked, limits = [], {0: 0.9, 0.5: 0.6}

    def feasible(mu1, mu2, S1, S2, alpha, beta):
        asked.append((alpha, beta))
        assert beta <= limits[alpha]
        return np.array([1.0, 1e-4, 2e-3]), 0.0, 1.0

    monkeypatch.setattr(literal.xu2007, "fsmempm", feasible)
    w, bounds, value = literal.algorithm1(0, 0, 0, 0, 0.5, 2, steps=2, epsilon=0.01)
    for alpha, limit in limits.items():
        mine = [beta for a, beta in asked if a == alpha]
        assert mine[0] == 0.5 and len(mine) == 7  # 2^-7 is the first below 0.01
        fits = [beta for beta in mine if beta <= limit]
        assert 0 <= limit - max(fits) < 0.01
    assert bounds[0] == 0.5 and value == (0.25 + 0.5 * bounds[1]) / 2
    asked.clear()
    literal.algorithm1(0, 0, 0, 0, 0.5, 1, steps=2, epsilon=0.3)
    assert len(asked) == 4


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


def inner(rows, points):
    return rows @ points.T


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
        errors = np.maximum(0, 1 + G @ z).sum()
        primal = z[:-1] @ z[:-1] / 2 + z[-1] ** 2 + fit * ((H @ z) ** 2).sum() + hinge * errors
        assert np.isclose(primal, expected, rtol=1e-9)


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


def plane_value(F, H, plane, fit, hinge, side):
    """(7) for side -1, (8) for side 1, row by row."""
    w, b = plane
    value = sum(abs(weight) for weight in w)
    for row in F:
        value += fit * abs(row @ w + b)
    for row in H:
        value += hinge * max(0, 1 - side * (row @ w + b))
    return value


@pytest.mark.parametrize("kernel", [None, rbf])
@pytest.mark.parametrize("seed", range(10))
def test_l1_twin_svm_by_the_split_programs(seed, kernel):
    A1, A2, c_fit, c_hinge = draw_twins(seed, n=4)
    F1, F2 = mapped(A1, A2, kernel)
    planes, values = literal.l1_twin_svm(F1, F2, c_fit, c_hinge)
    first, second = (F1, F2), (F2, F1)
    for rows, plane, value, fit, hinge, side in (
        (first, planes[0], values[0], c_fit[0], c_hinge[0], -1),
        (second, planes[1], values[1], c_fit[1], c_hinge[1], 1),
    ):
        assert np.isclose(value, split_program(*rows, fit, hinge, side), rtol=1e-8)
        assert np.isclose(value, plane_value(*rows, plane, fit, hinge, side), rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_l1_twin_svm_by_its_corners(seed):
    """(7) and (8) are convex and piecewise linear: least where n + 1 of the pieces meet."""
    A1, A2, c_fit, c_hinge = draw_twins(seed, n=2, rows=(4, 5))
    planes, values = literal.l1_twin_svm(A1, A2, c_fit, c_hinge)
    for F, H, plane, value, fit, hinge, side in (
        (A1, A2, planes[0], values[0], c_fit[0], c_hinge[0], -1),
        (A2, A1, planes[1], values[1], c_fit[1], c_hinge[1], 1),
    ):
        kinks = np.vstack([np.eye(3)[:2], with_ones(F), with_ones(H)])
        at = np.concatenate([np.zeros(2 + len(F)), np.full(len(H), side)])
        best = (np.inf, None)
        for chosen in map(list, itertools.combinations(range(len(kinks)), 3)):
            if abs(np.linalg.det(kinks[chosen])) > 1e-9:
                z = np.linalg.solve(kinks[chosen], at[chosen])
                found = plane_value(F, H, (z[:-1], z[-1]), fit, hinge, side)
                best = min(best, (found, list(z)))
        assert np.isclose(value, best[0], rtol=1e-8)
        assert np.allclose([*plane[0], plane[1]], best[1], atol=1e-6)


@pytest.mark.parametrize("solver", [literal.twin_svm, literal.l1_twin_svm])
def test_twins_change_places_and_signs_with_the_classes(solver):
    A1, A2, c_fit, c_hinge = draw_twins(0)
    planes, values = solver(A1, A2, c_fit, c_hinge)
    turned, others = solver(A2, A1, c_fit[::-1], c_hinge[::-1])
    assert np.allclose(values, others[::-1], rtol=1e-7)
    assert not np.isclose(values[0], values[1], rtol=1e-2)
    for (w, b), (v, c) in zip(planes, turned[::-1], strict=True):
        assert np.allclose(w, -v, atol=1e-5) and np.isclose(b, -c, atol=1e-5)


def feature_loss(A1, A2, i, planes, c_fit, c_hinge, balance, kernel):
    """(22), entry by entry."""
    (w1, b1), (w2, b2) = planes
    points = [*A1[:, i], *A2[:, i]]

    def seen(value, w):
        if kernel is None:
            return value * w[i]
        return sum(
            kernel(np.array([[value]]), np.array([[point]]))[0, 0] * weight
            for point, weight in zip(points, w, strict=True)
        )

    loss = 0
    for value in A1[:, i]:
        loss += balance * c_fit[0] * abs(seen(value, w1) + b1)
        loss += (1 - balance) * c_hinge[1] * max(0, 1 - seen(value, w2) - b2)
    for value in A2[:, i]:
        loss += balance * c_hinge[0] * max(0, seen(value, w1) + b1 + 1)
        loss += (1 - balance) * c_fit[1] * abs(seen(value, w2) + b2)
    return loss


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


@pytest.mark.parametrize("kernel", [None, rbf, inner])
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
    A1, A2, *prices = draw_twins(3, n=5)
    E, _, value, history = literal.ftsvm(A1, A2, *prices, 0.3, 0.5, tol=0)
    assert history[-1] == history[-2] == value
    large = literal.ftsvm(A1, A2, *prices, 0.3, 0.5, tol=1e9)
    assert len(large[3]) == 3 and large[3][1] == large[3][2]


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
            exact, flat, least = literal.ftsvm_exact(*given)
            assert not exact.any() and not any(w.any() for w, _ in flat)
            assert np.isclose(value, least, rtol=1e-9)


def test_the_linear_case_is_not_that_of_a_linear_kernel():
    different = []
    for seed in range(5):
        A1, A2, *prices = draw_twins(seed)
        linear = literal.l1_twin_svm(A1, A2, *prices)[1]
        kernel = literal.l1_twin_svm(*mapped(A1, A2, inner), *prices)[1]
        assert not np.isclose(linear, kernel, rtol=1e-3).any()
        values = [literal.ftsvm(A1, A2, *prices, 0.02, 0.5, k)[2] for k in (None, inner)]
        different.append(not np.isclose(*values, rtol=1e-3))
    assert sum(different) >= 3


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


def test_tolerances_of_the_twins_are_tight(monkeypatch):
    asked, original = [], cp.Problem.solve

    def solve(problem, **options):
        asked.append(options)
        return original(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", solve)
    A1, A2, *prices = draw_twins(0, n=2)
    literal.twin_svm(A1, A2, *prices)
    smooth = len(asked)
    literal.ftsvm(A1, A2, *prices, 0.1, 0.5)
    literal.ftsvm_exact(A1, A2, *prices, 0.1, 0.5)
    literal.rtsvm(A1, A2, np.ones(2), *prices, 0.5)
    assert smooth >= 2 and len(asked) >= smooth + 16
    for options in asked[:smooth]:
        assert options["tol_gap_abs"] == options["tol_gap_rel"] == options["tol_feas"] == 1e-9
    for options in asked[smooth:]:
        tolerances = options["primal_feasibility_tolerance"], options["dual_feasibility_tolerance"]
        assert options["solver"] == cp.HIGHS and tolerances == (1e-9, 1e-9)


def draw_classes(seed, m=8, n=14, c=3):
    """Columns, the last of ones, and a -1 or +1 for each row and class."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(m) % c)
    return with_ones(rng.normal(size=(m, n))), coded(labels, c)


def coded(labels, c):
    return np.where(labels[:, None] == np.arange(c), 1.0, -1.0)


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


@pytest.mark.parametrize("seed", range(6))
def test_dso_step_is_stationary(seed):
    rng = np.random.default_rng(seed)
    X, Y = draw_classes(seed)
    weights, shares = 10 ** rng.uniform(-1, 1, size=15), rng.uniform(0.2, 3, size=8)
    W, value = literal.dso_step(X, Y, weights)
    b = np.linalg.lstsq(X.T, W / weights[:, None])[0]
    margins = Y * (X @ W)
    assert np.allclose(X.T @ b, W / weights[:, None], atol=1e-7)
    assert (Y * b).min() > -1e-7 and margins.min() > 1 - 1e-7
    assert abs(b * (margins - 1)).max() < 1e-7
    assert np.isclose(value, abs(b).sum(), rtol=1e-7)
    assert np.isclose(value, (W**2 / weights[:, None]).sum(), rtol=1e-7)
    W, value = literal.dso_step(X, Y, weights, 0.8, 0.3, shares)
    errors = np.maximum(0, 1 - Y * (X @ W))
    b = 2 * 0.8 * shares[:, None] * Y * errors
    assert np.allclose(0.3 * W / weights[:, None], X.T @ b, atol=1e-4)
    norm = (W**2 / weights[:, None]).sum()
    loss = (shares[:, None] * errors**2).sum()
    assert np.isclose(value, 0.15 * norm + 0.8 * loss, rtol=1e-7) and loss > 1e-3


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


def test_dear_errors_are_no_errors():
    X, Y = draw_classes(2)
    weights = np.linspace(0.5, 2, 15)

    def step(X, Y, C=None):
        return literal.dso_step(X, Y, weights, C, 2.0)

    for solver in (literal.dso, step):
        (W, hard), (V, soft) = solver(X, Y), solver(X, Y, 1e7)
        assert np.isclose(soft, hard, rtol=1e-6) and np.allclose(W, V, atol=1e-4)
        assert solver(X, Y, 1)[1] < 0.99 * hard


def test_soft_margins_of_more_columns():
    X, Y = draw_classes(0, m=40, n=120, c=4)
    W, value = literal.dso(X, Y, 1)
    errors = np.maximum(0, 1 - Y * (X @ W))
    assert np.isclose(value, sizes(W).sum() + (errors**2).sum(), rtol=1e-7)
    b = X.T @ (2 * Y * errors)
    used = sizes(W) > 1e-4
    assert np.allclose(b[used], W[used] / sizes(W)[used, None], atol=1e-2)
    assert sizes(b).max() < 1 + 1e-4 and 0 < used.sum() < 121


def test_shares_are_rows_that_repeat():
    X, Y = draw_classes(3)
    times = np.array([1, 2, 3, 1, 1, 2, 1, 4])
    more = np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)
    weights = np.linspace(0.5, 2, 15)
    values = [literal.dso(X, Y, 0.3, times)[1], literal.dso_step(X, Y, weights, 0.3, 0.5, times)[1]]
    others = [literal.dso(*more, 0.3)[1], literal.dso_step(*more, weights, 0.3, 0.5)[1]]
    assert np.allclose(values, others, rtol=1e-8)


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
    assert np.array_equal(
        literal.peng2016.inverse_norms(np.array([[0, 0], [3, 4]]), 1, 0), [0, 5**-0.5]
    )
    assert np.allclose(
        literal.peng2016.inverse_norms(np.array([[0, 0], [3, 4]]), 0.5, 1), [1, 5**-0.75]
    )


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


def test_tolerances_of_many_classes_are_tight(monkeypatch):
    asked, original = [], cp.Problem.solve

    def solve(problem, **options):
        asked.append(options)
        return original(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", solve)
    X, Y = draw_classes(0)
    literal.dso(X, Y)
    literal.dso_step(X, Y, np.ones(15))
    literal.rfs(X, Y, 1)
    literal.dso_algorithm1(X, Y, 1, most=3)
    assert len(asked) >= 6
    for options in asked:
        assert options["tol_gap_abs"] == options["tol_gap_rel"] == options["tol_feas"] == 1e-9
