"""The problems as printed, against computations that share nothing with them."""

import ast
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

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


def test_it_imports_nothing_else_of_the_package():
    tree = ast.parse(Path(literal.__file__).read_text())
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.append(node.module)
    tops = {module.split(".")[0] for module in modules}
    assert {"cvxpy", "numpy"} <= tops <= {"cvxpy", "numpy", *sys.stdlib_module_names}


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

    monkeypatch.setattr(literal, "fsmempm", feasible)
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
