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
        with pytest.raises(AssertionError, match="infeasible"):
            literal.l1mpm(mu1, mu2, S1, S2, above, normalization)
    with pytest.raises(AssertionError, match="infeasible"):
        literal.mpm(mu1, mu1, S1, S2)
    with pytest.raises(AssertionError, match="infeasible"):
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
    assert len(asked) >= 3
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
