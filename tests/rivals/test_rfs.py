"""Robust feature selection: equal to its literal statement, certified, and the same for all."""

import warnings

import numpy as np
import pytest
from conftest import pooled_deviation, quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from fsnotes import RFS, literal, load
from fsnotes.errors import SelectionWarning
from fsnotes.rivals import rfs
from fsnotes.rivals.rfs import RowSums, SmoothedRowSums

WINE, IRIS = load_wine(return_X_y=True), load_iris(return_X_y=True)
both = pytest.mark.parametrize("refit", [True, False])


def classes(seed, n_rows=None, n_features=None, count=None):
    """A small problem of some classes, with equal values, rows and columns among others."""
    rng = np.random.default_rng(seed)
    count = count or int(rng.integers(2, 5))
    n_rows, n_features = n_rows or int(rng.integers(count, 25)), n_features or rng.integers(1, 12)
    y = rng.permutation(np.append(np.arange(count), rng.integers(0, count, n_rows - count)))
    X = rng.normal(size=(n_rows, n_features)) + rng.normal(size=(count, n_features))[y]
    return (X.round() if rng.integers(2) else X), y


def matrices(machine, X, y):
    """Rows with a column of ones in units of selection, and labels, from raw data."""
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    center = means.mean(axis=0) if machine.scale else np.zeros(X.shape[1])
    deviation = pooled_deviation(X, y)
    gap = np.ptp(means, axis=0)
    unit = np.where(deviation > 1e-9 * (1 + gap), deviation, gap)
    varies = unit > 1e-9
    unit = unit[varies] if machine.scale else np.ones(varies.sum())
    Z = (X[:, varies] - center[varies]) / unit
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    return np.hstack([Z, np.ones((len(Z), 1))]), Y, unit, center, varies


def weights_of(machine, X, y):
    """W in units of selection, from the coefficients as they are."""
    A, Y, unit, center, varies = matrices(machine, X, y)
    coef, intercept = machine.coef_, machine.intercept_
    if len(coef) == 1:
        coef, intercept = np.vstack([-coef, coef]), np.append(-intercept, intercept)
    return np.vstack([coef[:, varies].T * unit[:, None], intercept + coef @ center])


def value_of(W, A, Y, lam, sample_weight=1.0):
    lengths = np.sqrt(((A @ W - Y) ** 2).sum(axis=1))
    return (sample_weight * lengths).sum() + lam * np.sqrt((W**2).sum(axis=1)).sum()


# ---------------------------------------------------------------- optimality


@pytest.mark.parametrize("scale", [True, False])
def test_rfs_is_its_literal_statement(scale):
    sizes = set()
    for seed in range(25):
        X, y = classes(seed)
        lam = [0.01, 0.3, 1, 3, 30][seed % 5]
        machine = quiet(RFS(lam=lam, refit=False, scale=scale, tol=1e-8), X, y)
        A, Y, *_ = matrices(machine, X, y)
        _, value = literal.rfs(A, Y, lam)
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        assert np.isclose(value_of(weights_of(machine, X, y), A, Y, lam), value, rtol=1e-6)
        assert machine.result_.duality_gap <= 1e-8
        sizes.add(machine.n_selected_)
    assert 0 in sizes and len(sizes) > 4


@pytest.mark.parametrize(("X", "y"), [WINE, IRIS, load("sonar", return_X_y=True)])
def test_rfs_is_its_literal_statement_on_real_data(X, y):
    for lam in (0.1, 10, 30):
        machine = RFS(lam=lam, refit=False).fit(X, y)
        A, Y, *_ = matrices(machine, X, y)
        W, value = literal.rfs(A, Y, lam)
        assert value * (1 - 1e-7) <= machine.objective_ <= value * (1 + 2e-6)
        found = weights_of(machine, X, y)
        assert np.isclose(value_of(found, A, Y, lam), machine.objective_, rtol=1e-9)
        assert np.allclose(found, W, atol=1e-2 * abs(W).max())


@given(st.integers(0, 10**6))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_random_problems_are_certified(seed):
    X, y = classes(seed)
    X = np.hstack([X, X[:, : X.shape[1] // 2]])
    rng = np.random.default_rng(seed)
    lam, scale = float(10 ** rng.uniform(-3, 2)), bool(rng.integers(2))
    weights = rng.integers(1, 3, len(y)).astype(float)
    machine = quiet(RFS(lam=lam, scale=scale, refit=False), X, y, sample_weight=weights)
    assert machine.result_.status == "converged" and 0 <= machine.result_.duality_gap <= 1e-6
    for stage in range(machine.result_.steps[-1].stage + 1):
        values = np.array([s.objective for s in machine.result_.steps if s.stage == stage])
        assert (values[1:] <= values[:-1] * (1 + 1e-12)).all()


def test_the_gap_is_one_to_a_bound_that_holds():
    """A bound is below the value anywhere, for multipliers that have nothing to do with it."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        X, y = classes(seed)
        A = np.hstack([X, np.ones((len(X), 1))])
        Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
        sample_weight, lam = rng.uniform(0.5, 2, len(A)), 10 ** rng.uniform(-2, 1)
        sums = RowSums(A, Y, sample_weight, lam)
        W, result = sums.solve(1e-8, 100)
        best = value_of(W, A, Y, lam, sample_weight)
        assert np.isclose(sums.value(W), best, rtol=1e-12)
        assert sums.lower <= best and sums.gap(W) <= 1e-8
        for _ in range(5):
            theta = rng.normal(size=Y.shape) * rng.choice([0.1, 1, 10])
            assert sums.bound(theta) <= best * (1 + 1e-12)
            nearby = W + 1e-3 * rng.normal(size=W.shape)
            assert value_of(nearby, A, Y, lam, sample_weight) >= best * (1 - 1e-8)


def test_conditions_of_optimality():
    """Pulls of the residuals' directions are lam along rows of weights, and less elsewhere."""
    X, y = WINE
    machine = RFS(lam=20, refit=False, tol=1e-10, max_iter=1000).fit(X, y)
    A, Y, *_ = matrices(machine, X, y)
    W = weights_of(machine, X, y)
    residuals = A @ W - Y
    sizes = np.linalg.norm(residuals, axis=1)
    assert sizes.min() > 1e-4
    pulls = A.T @ (residuals / sizes[:, None])
    live = W.any(axis=1)
    assert 0 < live[:-1].sum() < len(W) - 1
    wanted = -20 * W[live] / np.linalg.norm(W[live], axis=1)[:, None]
    assert np.allclose(pulls[live], wanted, atol=1e-3)
    assert (np.linalg.norm(pulls[~live], axis=1) < 20).all()


def test_a_step_gains_no_less_than_the_reweighted_ridge_regression():
    X, y = WINE
    A = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones((len(X), 1))])
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    sums = RowSums(A, Y, np.ones(len(A)), 5.0)
    stage = SmoothedRowSums(sums, 1e-2, 1e-3, 0.0)
    W = np.random.default_rng(0).normal(size=(A.shape[1], 3))
    for _ in range(10):
        rows = 1 / np.sqrt(((A @ W - Y) ** 2).sum(axis=1) + 1e-4)
        sizes = np.sqrt((W**2).sum(axis=1) + 1e-6)
        H = A.T @ (A * rows[:, None]) + np.diag(5 / sizes)
        plain = np.linalg.solve(H, A.T @ (Y * rows[:, None]))
        new = stage.minimize(stage.tangent(W), W)
        assert stage.value(new) <= stage.value(plain) * (1 + 1e-9)
        W = new


def test_slope_and_curvature_are_derivatives():
    """Of the plain dual variables, the curvature is the second derivative."""
    rng = np.random.default_rng(3)
    A, Y = rng.normal(size=(9, 4)), rng.normal(size=(9, 3))
    stage = SmoothedRowSums(RowSums(A, Y, rng.uniform(1, 2, 9), 0.7), 0.1, 0.2, 0.0)
    W, D = rng.normal(size=(2, 4, 3))

    def slope(W):
        residuals, weights = stage.tangent(W)
        return A.T @ residuals.theta + weights.theta

    residuals, weights = stage.tangent(W)
    h = 1e-5
    second = (slope(W + h * D) - slope(W - h * D)) / (2 * h)
    for curve in ("bend", "turn"):
        bent = A.T @ getattr(residuals, curve)(A @ D) + getattr(weights, curve)(D)
        assert np.allclose(second, bent, rtol=1e-6, atol=1e-7)
    change = (stage.value(W + h * D) - stage.value(W - h * D)) / (2 * h)
    assert np.isclose((slope(W) * D).sum(), change, rtol=1e-7)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 20.0, 1e3])
@pytest.mark.parametrize("wide", [True, False])
def test_both_dimensions(wide, lam):
    X, y = classes(5, 40, 90, 3) if wide else classes(5, 90, 40, 3)
    machine = quiet(RFS(lam=lam, refit=False), X, y)
    assert machine.result_.duality_gap <= 1e-6
    A, Y, *_ = matrices(machine, X, y)
    assert np.isclose(machine.objective_, literal.rfs(A, Y, lam)[1], rtol=2e-6)


# ---------------------------------------------------------------- what is returned


@both
def test_a_fit_to_many_classes(refit):
    X, y = WINE
    names = np.array(["red", "white", "rose"])[y]
    machine = RFS(lam=30, refit=refit).fit(X, names)
    assert machine.coef_.shape == (3, 13) and machine.intercept_.shape == (3,)
    assert machine.classes_.tolist() == ["red", "rose", "white"]
    assert machine.decision_function(X).shape == (len(X), 3)
    assert machine.score(X, names) > 0.93
    assert np.array_equal(machine.support_, machine.row_norms_ > 0)
    assert machine.n_selected_ == machine.n_live_ == 9
    counts = machine.result_.counts
    assert machine.n_iter_ == counts["factorisation"] <= 60
    assert machine.result_.objective == machine.objective_


def test_two_classes_have_one_row():
    X, y = load("wdbc", return_X_y=True)
    machine = RFS(lam=50, refit=False).fit(X, y)
    assert machine.coef_.shape == (1, 30) and machine.intercept_.shape == (1,)
    assert machine.score(X, y) > 0.93
    scores = machine.decision_function(X)
    assert scores[y == 1].mean() > 0 > scores[y == 0].mean()
    W = weights_of(machine, X, y)
    assert np.allclose(
        machine.row_norms_[machine.support_], abs(W[:-1]).max(1)[machine.support_] * 2**0.5
    )
    other = RFS(lam=50, refit=False).fit(X, 1 - y)
    assert np.allclose(other.coef_, -machine.coef_, atol=1e-3 * abs(machine.coef_).max())


@pytest.mark.parametrize("name", ["wine", "sonar"])
def test_the_refit_is_the_squared_hinge_machine_of_the_support(name):
    X, y = WINE if name == "wine" else load(name, return_X_y=True)
    raw, machine = RFS(lam=10, refit=False).fit(X, y), RFS(lam=10).fit(X, y)
    assert machine.objective_ == raw.objective_
    assert np.array_equal(machine.support_, raw.support_)
    assert not np.allclose(machine.coef_, raw.coef_, rtol=1e-2)
    A, *_ = matrices(machine, X, y)
    columns = np.append(machine.support_, True)
    # its C is of |w|^2 / 2
    other = LinearSVC(C=0.5, dual=False, tol=1e-10, fit_intercept=False).fit(A[:, columns], y)
    found = weights_of(machine, X, y)[columns]
    found = found[:, 1:] if len(machine.classes_) == 2 else found
    assert np.allclose(found, other.coef_.T, atol=1e-5)


def test_a_large_lam_selects_nothing_and_says_so():
    X, y = WINE
    with pytest.warns(SelectionWarning, match="lam=1000 is too large .* above lam=") as caught:
        machine = RFS(lam=1000).fit(X, y)
    assert not machine.coef_.any() and machine.n_live_ == 0
    known = float(str(caught[0].message).split("above lam=")[1].split(",")[0])
    assert 1 <= known < 1000
    with pytest.warns(SelectionWarning):
        assert RFS(lam=known * 1.001).fit(X, y).n_selected_ == 0
    assert RFS(lam=known * 0.99).fit(X, y).n_selected_ >= 1
    X, y = load("wdbc", return_X_y=True)
    with pytest.warns(SelectionWarning, match="too large"):
        machine = RFS(lam=1e4).fit(X, y)
    assert np.isclose(machine.objective_, len(y) * np.sqrt(2))


def test_without_any_weight_the_heaviest_class_is_said():
    y = np.array([0] * 10 + [1] * 4 + [2] * 4)
    X = np.random.default_rng(0).normal(size=(18, 3))
    machine = quiet(RFS(lam=14), X, y)
    assert machine.n_selected_ == 0 and (machine.predict(X) == 0).all()


# ---------------------------------------------------------------- the same for all


def test_units_and_origin_matter_without_scale():
    X, y = WINE
    machine = RFS(lam=10, scale=False, refit=False).fit(X, y)
    assert (machine.scale_ == 1).all()
    assert not np.isclose(RFS(lam=10, scale=False).fit(X * 2, y).objective_, machine.objective_)
    assert not np.isclose(RFS(lam=10, scale=False).fit(X + 9, y).objective_, machine.objective_)


def test_equal_columns_share_or_not_but_cost_the_same():
    X, y = WINE
    machine = RFS(lam=20, refit=False).fit(X, y)
    double = RFS(lam=20, refit=False).fit(np.hstack([X, X]), y)
    assert np.isclose(double.objective_, machine.objective_, rtol=3e-6)
    halves = double.coef_[:, :13] + double.coef_[:, 13:]
    assert np.allclose(halves, machine.coef_, atol=1e-2 * abs(machine.coef_).max())


def test_exact_zeros_cost_nothing():
    X, y = WINE
    A, Y, *_ = matrices(RFS(), X, y)
    sums = RowSums(A, Y, np.ones(len(A)), 40.0)
    W, _ = sums.solve(1e-6, 100)
    fewer = rfs.drop_fading(sums, W)
    assert (fewer == 0).all(axis=1).sum() > (W == 0).all(axis=1).sum()
    assert sums.value(fewer) <= sums.value(W) * (1 + 1e-9)


# ---------------------------------------------------------------- what is refused, and said


def test_too_few_steps_are_said():
    with pytest.warns(ConvergenceWarning, match="gap is .* more than tol=1e-06; raise") as caught:
        machine = RFS(lam=20, max_iter=1).fit(*WINE)
    assert len(caught) == 1 and machine.result_.status == "max_iter"
    assert machine.result_.duality_gap > 1e-6
    A, Y, *_ = matrices(machine, *WINE)
    best = literal.rfs(A, Y, 20)[1]
    assert machine.objective_ * (1 - machine.result_.duality_gap) <= best <= machine.objective_


def test_a_coarse_tolerance_takes_fewer_steps():
    rough, fine = RFS(lam=20, tol=1e-2).fit(*WINE), RFS(lam=20).fit(*WINE)
    assert rough.n_iter_ < fine.n_iter_ and 1e-6 < rough.result_.duality_gap <= 1e-2
    assert fine.objective_ < rough.objective_ <= fine.objective_ * 1.01


@pytest.mark.parametrize("lam", [1e-8, 1e8])
@pytest.mark.parametrize("size", [1e-6, 1, 1e6])
def test_extremes_are_solved(size, lam):
    X, y = WINE
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        machine = quiet(RFS(lam=lam, refit=False), X * size, y)
    assert machine.result_.duality_gap <= 1e-6
