"""The bound and its frontier: what means and covariances promise, against their definitions."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from definitions import kappa_of
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import draw_unlike, pair_of
from optimality import deviations_along, minimax_residual

from fsnotes import literal, make_instance, make_wide
from fsnotes.core.bounds import LEAST_SPLIT, Frontier, _minimax_by_newton, delta, kappa, minimax
from fsnotes.core.moments import MomentPair


def draw(seed, wide=False, ridge=0.0):
    """Rows, labels, and a ridge in units of the rows."""
    X, y = draw_unlike(seed, wide=wide)
    return X, y, ridge * X.std(axis=0).mean() ** 2


def definition(X, y, ridge=0.0):
    """Gap of the means, and covariances of class 1 and class 2."""
    gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    covariances = [np.cov(X[y == c].T, ddof=0).reshape(2 * X.shape[1:]) for c in (1, 0)]
    return gap, *(S + ridge * np.eye(len(gap)) for S in covariances)


# kappa and delta


@given(st.floats(0, 1 - 1e-9))
def test_kappa_and_delta_are_inverse(d):
    k = kappa(d)
    assert k >= 0 and np.isclose(k**2, d / (1 - d), rtol=1e-12)
    assert np.isclose(delta(k), d, rtol=1e-12, atol=1e-300)


def test_ends_and_arrays():
    assert kappa(0) == 0 and delta(0) == 0 and np.isinf(kappa(1)) and delta(np.inf) == 1
    # kappa^2 is delta / (1 - delta): 0.8 / 0.2 is 4, and 0.9 / 0.1 is 9
    assert np.isclose(kappa(0.8), 2) and np.isclose(delta(3), 0.9)
    grid = np.linspace(0, 0.99, 12).reshape(3, 4)
    assert np.allclose(delta(kappa(grid)), grid) and kappa(grid).shape == (3, 4)
    assert (np.diff(kappa(grid.ravel())) > 0).all()


# the frontier


def scaled_errors(machine, kappas, mixture, gap, S1, S2):
    """Of the weights, the deviations and the kappas, from the definition of the frontier."""
    w = np.linalg.solve(mixture * S1 + (1 - mixture) * S2, gap)
    s1, s2 = deviations_along(w, [S1, S2])
    # features differ in size by up to 1e4, so weights are compared in units of deviations
    unit = np.sqrt(np.diag(S1) + np.diag(S2))
    wanted = w / (gap @ w)
    return (
        abs((machine.weights - wanted) * unit).max() / abs(wanted * unit).max(),
        abs(kappas / [mixture * s1, (1 - mixture) * s2] - 1).max(),
        abs(machine.deviations / (np.array([s1, s2]) / (gap @ w)) - 1).max(),
    )


@pytest.mark.parametrize("wide", [False, True], ids=["dense", "wide"])
@given(seed=st.integers(0, 10**6), mixture=st.floats(0.01, 0.99))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_points_of_the_frontier(wide, seed, mixture):
    # random wide data have a separating direction unless a ridge takes it away
    X, y, ridge = draw(seed, wide, 0.1 if wide else 0)
    gap, S1, S2 = definition(X, y, ridge)
    pair = pair_of(X, y, ridge)
    assert pair.is_wide == wide
    frontier = Frontier(pair)
    assert frontier.separating is None
    machine = frontier.point(mixture)
    errors = scaled_errors(machine, frontier.kappas(mixture), mixture, gap, S1, S2)
    assert max(errors) < 1e-6
    assert np.isclose(gap @ machine.weights, 1, rtol=1e-9)
    # what each class gets is what is promised: share of the margin over deviation
    promised = machine.margin_split / machine.deviations
    assert np.isclose(machine.margin_split.sum(), 1)
    assert np.isclose(promised[0] / promised[1], np.divide(*frontier.kappas(mixture)), rtol=1e-6)
    assert np.isclose(machine.kappa, 1 / machine.deviations.sum())


def test_rows_and_matrices_know_a_separating_direction():
    """Fewer rows than features, through the factors and through covariances."""
    for seed in range(25):
        X, y, _ = draw(seed, True)
        gap, S1, S2 = definition(X, y)
        for pair in (pair_of(X, y), MomentPair(gap, [S1, S2])):
            found = Frontier(pair).separating
            assert np.isclose(gap @ found, 1)
            assert deviations_along(found, [S1, S2]).max() < 1e-5
        assert minimax(pair_of(X, y)).kappa == np.inf


def test_rows_of_a_gap_that_they_span():
    """As wide as can be, but with a gap inside the range of the covariances: nothing separates."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, N = 30, 8
        rows = rng.normal(size=(2, N, n))
        rows -= rows.mean(axis=1, keepdims=True)
        gap = np.concatenate(rows).T @ rng.normal(size=2 * N)
        X = np.vstack([rows[0], rows[1] + gap])
        y = np.repeat([0, 1], N)
        frontier = Frontier(pair_of(X, y))
        assert frontier.separating is None
        gap, S1, S2 = definition(X, y)
        for m in (0.3, 0.6):
            w = np.linalg.pinv(m * S1 + (1 - m) * S2, rtol=1e-10, hermitian=True) @ gap
            s1, s2 = deviations_along(w, [S1, S2])
            assert np.allclose(frontier.kappas(m), [m * s1, (1 - m) * s2], rtol=1e-6)
            # the weights themselves are free where nothing varies
            found = frontier.point(m).weights
            assert np.isclose(gap @ found, 1)
            assert np.allclose(
                deviations_along(found, [S1, S2]), np.array([s1, s2]) / (gap @ w), rtol=1e-6
            )
        dense = Frontier(MomentPair(gap, [S1, S2]))
        assert dense.separating is None
        assert np.isclose(dense.balanced().kappa, frontier.balanced().kappa, rtol=1e-6)


def test_a_direction_without_variance_separates():
    X, y, _ = draw(3)
    X = np.column_stack([X, X[:, 0] * 2 + y])  # the last less twice the first does not vary
    machine = minimax(pair_of(X, y))
    assert machine.kappa == np.inf and (machine.deviations == 0).all()
    gap, S1, S2 = definition(X, y)
    assert (
        np.isclose(gap @ machine.weights, 1)
        and deviations_along(machine.weights, [S1, S2]).max() < 1e-5
    )
    ridged = minimax(pair_of(X, y, 0.01))
    assert np.isfinite(ridged.kappa)


def test_a_direction_without_variance_and_without_gap_does_not():
    for seed in range(10):
        X, y, _ = draw(seed)
        double = np.hstack([X, 3 * X, np.ones((len(X), 1))])
        frontier, plain = Frontier(pair_of(double, y)), Frontier(pair_of(X, y))
        assert frontier.separating is None
        assert np.isclose(frontier.balanced().kappa, plain.balanced().kappa, rtol=1e-7)
        for m in (0.2, 0.8):
            assert np.allclose(frontier.kappas(m), plain.kappas(m), rtol=1e-7)


# the minimax machine


@pytest.mark.parametrize("wide", [False, True], ids=["dense", "wide"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_minimax_machine_is_optimal(wide, seed):
    X, y, ridge = draw(seed, wide, 0.1 if wide else 0)
    gap, S1, S2 = definition(X, y, ridge)
    machine = minimax(pair_of(X, y, ridge))
    w, s = machine.weights, deviations_along(machine.weights, [S1, S2])
    assert np.isclose(gap @ w, 1, rtol=1e-9)
    assert np.allclose(machine.deviations, s, rtol=1e-6)
    assert np.isclose(machine.kappa, 1 / s.sum(), rtol=1e-6)
    assert minimax_residual(w, gap, [S1, S2]) < 1e-6
    assert np.allclose(machine.margin_split / s, machine.kappa, rtol=1e-5)
    unit = np.sqrt(np.diag(S1) + np.diag(S2))
    scaled = gap / unit, 0 * gap, S1 / np.outer(unit, unit), S2 / np.outer(unit, unit)
    assert np.isclose(machine.kappa, kappa_of(np.arange(len(gap)), scaled), rtol=1e-8)


def test_the_minimax_machine_is_the_statement():
    for seed in range(100):
        X, y = make_instance(seed)
        gap, S1, S2 = definition(X, y)
        machine = minimax(pair_of(X, y))
        w, _, value = literal.mpm(X[y == 1].mean(axis=0), X[y == 0].mean(axis=0), S1, S2)
        assert np.isclose(machine.deviations.sum(), value, rtol=1e-6)
        assert np.allclose(machine.weights, w, atol=1e-3 * abs(w).max())
        assert minimax_residual(machine.weights, gap, [S1, S2]) < 1e-8


def test_a_class_that_varies_in_no_direction():
    """One class of zero variance: all of the margin but a millionth goes to the other."""
    X, y, _ = draw(5)
    gap, S, _ = definition(X, y)
    for index, covariances in enumerate([[0 * S, S], [S, 0 * S]]):
        machine = minimax(MomentPair(gap, covariances))
        assert np.isclose(machine.kappa, np.sqrt(gap @ np.linalg.solve(S, gap)), rtol=1e-6)
        assert 0 < machine.margin_split[index] < 1e-5 and np.isclose(machine.margin_split.sum(), 1)


def test_one_class_without_variance_along_some_direction():
    """The direction costs this class nothing, and the other what it varies there."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 4
        A, B = rng.normal(size=(2, n, n))
        S1, S2, gap = A @ A.T, B @ B.T, rng.normal(size=n)
        lost = np.linalg.qr(rng.normal(size=(n, n)))[0][:, 0]
        flat = np.eye(n) - np.outer(lost, lost)
        S1 = flat @ S1 @ flat
        for pair in ([S1, S2], [S2, S1]):
            machine = minimax(MomentPair(gap, pair))
            _, _, value = literal.mpm(gap, 0 * gap, *pair)
            assert np.isclose(machine.deviations.sum(), value, rtol=1e-6)
            assert np.isclose(gap @ machine.weights, 1)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_singular_covariances_and_copies(seed):
    X, y, _ = draw(seed)
    rng = np.random.default_rng(seed)
    plain = minimax(pair_of(X, y))
    mixed = X @ rng.normal(size=(X.shape[1], 3))
    for more in (X[:, :1], X, mixed):
        machine = minimax(pair_of(np.hstack([X, more]), y))
        assert np.isclose(machine.kappa, plain.kappa, rtol=1e-5)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_short_way_is_the_frontiers(seed):
    X, y, ridge = draw(seed, ridge=0.1 * (seed % 2))
    pair = pair_of(X, y, ridge)
    short, long = _minimax_by_newton(pair), Frontier(pair).balanced()
    if short is None:
        # it gives up only where one class has more than three quarters of the mixture
        assert abs(long.mixture - 0.5) > 0.25
        return
    assert np.isclose(short.kappa, long.kappa, rtol=1e-9)
    assert np.isclose(short.mixture, long.mixture, atol=1e-6)
    assert np.allclose(short.margin_split, long.margin_split, rtol=1e-6)
    assert np.allclose(short.weights, long.weights, rtol=1e-5, atol=1e-6 * abs(long.weights).max())


def test_the_short_way_leaves_the_rest_to_the_frontier():
    X, y, _ = draw(3)
    gap, S1, S2 = definition(X, y)
    none = np.zeros_like(S1)
    singular = np.block([[S1, S1], [S1, S1]]), np.block([[S2, S2], [S2, S2]])
    # a class without variance, or deviations that differ by a factor of a thousand
    for covariances in [(S1, none), (none, S2), (S1, 1e6 * S2), (1e6 * S1, S2)]:
        assert _minimax_by_newton(MomentPair(gap, covariances)) is None
    assert _minimax_by_newton(MomentPair(np.append(gap, gap), singular)) is None
    assert _minimax_by_newton(pair_of(*draw(3, True)[:2])) is None
    lopsided = minimax(MomentPair(gap, (S1, 1e6 * S2)))
    assert lopsided.kappa == Frontier(MomentPair(gap, (S1, 1e6 * S2))).balanced().kappa


# the frontier as a whole: what one class leaves to the other


def stated_kappa2(kappa1, gap, S1, S2):
    """Largest kappa2 beside a kappa1: one over the least s2 with ``d'w - kappa1 s1 >= 1``."""
    unit = np.sqrt(np.diag(S1) + np.diag(S2))
    gap, roots = gap / unit, [np.linalg.cholesky(S / np.outer(unit, unit)).T for S in (S1, S2)]
    w = cp.Variable(len(gap))
    s1, s2 = (cp.norm(root @ w) for root in roots)
    problem = cp.Problem(cp.Minimize(s2), [gap @ w - kappa1 * s1 >= 1])
    tight = dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], 1e-9)
    for shift in (1e-8, 1e-10, 1e-12):  # of its linear systems
        # CVXPY warns of inaccurate answers, and the status refuses them below
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL, static_regularization_constant=shift, **tight)
        if problem.status == cp.OPTIMAL:
            return 1 / problem.value
        if problem.status == cp.INFEASIBLE:
            return -np.inf
    raise AssertionError(problem.status)


def test_the_frontier_is_the_cone_program_on_the_instances_of_the_book():
    for seed in range(100):
        X, y = make_instance(seed)
        gap, S1, S2 = definition(X, y)
        frontier = Frontier(pair_of(X, y))
        most = np.sqrt(gap @ np.linalg.solve(S1, gap))
        kappa1 = most * (seed % 20) / 20
        found = frontier.kappa2_max(kappa1)
        assert np.isclose(found, stated_kappa2(kappa1, gap, S1, S2), rtol=1e-6)
        if seed % 20 == 0:
            assert np.isclose(found, np.sqrt(gap @ np.linalg.solve(S2, gap)), rtol=1e-8)
            beyond = most * (1 + 1e-3)
            assert frontier.kappa2_max(beyond) == stated_kappa2(beyond, gap, S1, S2) == -np.inf
            assert frontier.kappa2_max(most * (1 + 1e-9)) == -np.inf
            assert frontier.kappa2_max(most * (1 - 1e-9)) > 0


@given(seed=st.integers(0, 10**6), part=st.floats(0.01, 0.97), wide=st.booleans())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_frontier_is_the_cone_program(seed, part, wide):
    X, y, ridge = draw(seed, wide, 0.1 if wide else 0)
    gap, S1, S2 = definition(X, y, ridge)
    frontier = Frontier(pair_of(X, y, ridge))
    kappa1 = part * frontier.kappas(1)[0]
    stated = stated_kappa2(kappa1, gap, S1, S2)
    assert np.isclose(frontier.kappa2_max(kappa1), stated, rtol=1e-6)
    # the machine there keeps both
    machine = frontier.point(frontier.mixture_at(kappa1))
    s1, s2 = deviations_along(machine.weights, [S1, S2])
    assert kappa1 * s1 + stated * s2 <= (gap @ machine.weights) * (1 + 1e-6)
    assert np.allclose(machine.margin_split, [kappa1 * s1, stated * s2], rtol=1e-6)


@pytest.mark.parametrize("wide", [False, True], ids=["dense", "wide"])
def test_several_mixtures_at_once_and_one_at_a_time(wide):
    X, y, ridge = draw(8, wide, 0.1 if wide else 0)
    frontier = Frontier(pair_of(X, y, ridge))
    mixtures = np.linspace(0, 1, 12).reshape(3, 4)
    found = frontier.kappas(mixtures)
    assert found.shape == (3, 4, 2) and frontier.kappas(0.3).shape == (2,)
    for index in np.ndindex(3, 4):
        assert np.allclose(found[index], frontier.kappas(mixtures[index]), rtol=1e-13, atol=0)
    assert np.array_equal(frontier.kappas([0.2, 0.9]), frontier.kappas(np.array([0.2, 0.9])))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_curve_is_convex_and_falls(seed):
    X, y, _ = draw(seed)
    gap, S1, S2 = definition(X, y)
    frontier = Frontier(pair_of(X, y))
    # points that are even in the logit come close to the mixtures 0 and 1, too
    logits = np.linspace(-12, 12, 200)
    mixtures = np.concatenate([[0], 1 / (1 + np.exp(-logits)), [1]])
    kappas = frontier.kappas(mixtures)
    steps = np.diff(kappas, axis=0)
    size = kappas.max(axis=0)
    assert (steps[:, 0] >= -1e-13 * size[0]).all() and (steps[:, 1] <= 1e-13 * size[1]).all()
    assert kappas[0, 0] == 0 and kappas[-1, 1] == 0
    # turning to the left, so that every chord is above
    unit = steps / size
    turns = unit[:-1, 0] * unit[1:, 1] - unit[:-1, 1] * unit[1:, 0]
    assert turns.min() > -1e-13
    # the curve of a single feature is a straight line
    if len(gap) > 1:
        assert turns.max() > 1e-9
    # its slope is that of the deviations
    machine = frontier.point(0.37)
    (a1, a2), (b1, b2) = frontier.kappas([0.37 - 1e-5, 0.37 + 1e-5])
    s1, s2 = machine.deviations
    if b1 - a1 > 1e-7 * a1:
        assert np.isclose((b2 - a2) / (b1 - a1), -s1 / s2, rtol=1e-4)


def test_ends_are_fishers_machines_of_one_class():
    for seed in range(20):
        X, y, _ = draw(seed)
        gap, S1, S2 = definition(X, y)
        frontier = Frontier(pair_of(X, y))
        unit = np.sqrt(np.diag(S1) + np.diag(S2))
        for mixture, S in ((0, S2), (1, S1)):
            w = np.linalg.solve(S, gap)
            most = np.sqrt(gap @ w)
            machine = frontier.point(mixture)
            wanted = w / (gap @ w)
            assert np.allclose(machine.weights * unit, wanted * unit, rtol=1e-6, atol=1e-7)
            assert machine.margin_split.tolist() == [mixture, 1 - mixture]
            expected = [most, 0] if mixture else [0, most]
            assert np.allclose(frontier.kappas(mixture), expected, rtol=1e-8)
            assert machine.mixture == mixture


@given(seed=st.integers(0, 10**6), logit=st.floats(-20, 20))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_mixture_is_found_by_its_kappa(seed, logit):
    X, y, _ = draw(seed)
    frontier = Frontier(pair_of(X, y))
    mixture = 1 / (1 + np.exp(-logit))
    kappa1, kappa2 = frontier.kappas(mixture)
    found = frontier.mixture_at(kappa1)
    assert isinstance(found, float)
    assert np.isclose(frontier.kappas(found)[0], kappa1, rtol=1e-10)
    assert np.isclose(frontier.kappa2_max(kappa1), kappa2, rtol=1e-6)
    most = frontier.kappas(1)[0]
    assert frontier.mixture_at(0) == 0 and frontier.mixture_at(-1) == 0
    assert np.isclose(frontier.mixture_at(most), 1, rtol=1e-12)
    assert frontier.mixture_at(most * (1 + 1e-12)) == frontier.mixture_at(2 * most) == 1
    assert frontier.mixture_at(np.inf) == 1


@pytest.mark.parametrize("a", [0.5, 2])
@pytest.mark.parametrize("b", [0.3, 1])
def test_a_class_without_variance_along_one_of_two_features(a, b):
    """Class 1 does not vary along the second: kappa1 = m a, kappa2^2 = ((1 - m) a)^2 + b^2."""
    gap, flat, round_ = np.array([a, b]), np.diag([1.0, 0]), np.eye(2)
    frontier = Frontier(MomentPair(gap, [flat, round_]))
    m = np.array([0, 1e-12, 0.2, 0.9, 1])
    wanted = np.column_stack([m * a, np.hypot((1 - m) * a, b)])
    assert np.allclose(frontier.kappas(m), wanted, rtol=1e-12)
    for kappa1 in (0, a / 3, a * (1 - 1e-12)):
        assert np.isclose(frontier.kappa2_max(kappa1), np.hypot(a - kappa1, b), rtol=1e-10)
        assert np.isclose(frontier.mixture_at(kappa1), kappa1 / a, atol=1e-10)
    # beyond, class 1 is certain along the second feature alone
    for kappa1 in (a, a * (1 + 1e-12), 3 * a, np.inf):
        assert np.isclose(frontier.kappa2_max(kappa1), b, rtol=1e-12)
        assert frontier.mixture_at(kappa1) == 1
    end = frontier.point(1)
    assert np.allclose(end.weights, [0, 1 / b]) and np.allclose(end.deviations, [0, 1 / b])
    assert np.allclose(end.margin_split, [LEAST_SPLIT, 1 - LEAST_SPLIT], rtol=1e-9)
    assert np.allclose(frontier.point(0).margin_split, [0, 1])
    # the other way round
    turned = Frontier(MomentPair(gap, [round_, flat]))
    assert np.allclose(turned.kappas(1 - m), wanted[:, ::-1], rtol=1e-12)
    for kappa1 in (0, b / 2, b):
        assert turned.kappa2_max(kappa1) == np.inf and turned.mixture_at(kappa1) == 0
    kappa1 = np.hypot(a / 4, b)
    assert np.isclose(turned.kappa2_max(kappa1), 3 * a / 4, rtol=1e-10)
    assert turned.kappa2_max(np.hypot(a, b) * (1 + 1e-9)) == -np.inf
    start = turned.point(0)
    assert np.allclose(start.weights, [0, 1 / b]) and np.allclose(start.deviations, [1 / b, 0])
    assert np.allclose(start.margin_split, [1 - LEAST_SPLIT, LEAST_SPLIT], rtol=1e-9)


def test_a_separating_direction_promises_everything():
    X, y = make_wide(20, 60)
    frontier = Frontier(pair_of(X, y))
    assert frontier.separating is not None
    assert frontier.kappa2_max(0) == frontier.kappa2_max(1e9) == np.inf
    assert np.isinf(frontier.kappas(0.3)).all() and frontier.kappas(0.3).shape == (2,)
    assert np.isinf(frontier.kappas(np.zeros((2, 3)))).all()
    assert frontier.kappas(np.zeros((2, 3))).shape == (2, 3, 2)
    for mixture in (0, 0.3, 1):
        machine = frontier.point(mixture)
        assert np.array_equal(machine.weights, frontier.separating)
        assert machine.kappa == np.inf and machine.margin_split.tolist() == [0.5, 0.5]
        assert (machine.deviations == 0).all()
    ridged = Frontier(pair_of(X, y, 0.1))
    assert ridged.separating is None and ridged.kappa2_max(1e9) == -np.inf


def test_classes_that_vary_along_different_directions_are_no_case_for_newton():
    """The columns of a kernel less two, where the balance of both classes is nearly flat."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        size = rng.integers(5, 20)
        points = rng.normal(size=(size, 2))
        distances = abs(points[:, None] - points).sum(axis=2)
        K = np.exp(-rng.uniform(1, 3) * distances)[:, 2:]
        y = rng.permutation(np.arange(size) % 2)
        classes = [K[y == c] for c in (1, 0)]
        covariances = tuple(np.atleast_2d(np.cov(rows.T, ddof=0)) for rows in classes)
        pair = MomentPair(classes[0].mean(axis=0) - classes[1].mean(axis=0), covariances)
        with np.errstate(all="raise"):
            machine = minimax(pair)
        assert np.isclose(machine.kappa, Frontier(pair).balanced().kappa, rtol=1e-6)
