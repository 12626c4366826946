"""Robust feature selection: equal to its literal statement, certified, and the same for all."""

import warnings

import numpy as np
import pytest
from definitions import pooled_deviation, quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import draw
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from fsnotes import RFS, literal, load
from fsnotes.errors import SelectionWarning
from fsnotes.rivals import rfs
from fsnotes.rivals.rfs import RowSums

WINE, IRIS = load_wine(return_X_y=True), load_iris(return_X_y=True)
both = pytest.mark.parametrize("refit", [True, False])


def classes(seed, *shape, count=None):
    """A small problem of some classes, with equal values in every other one."""
    return draw(seed, *shape, n_classes=count or 2 + seed % 3, integer=seed % 2 == 1)


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
    problems = [(*classes(seed), [0.01, 0.3, 1, 3, 30][seed % 5]) for seed in range(25)]
    if scale:  # without it the cone program does not end
        for lam in (1e-3, 1, 20, 1e3):
            problems += [(*classes(5, *shape, count=3), lam) for shape in ((40, 90), (90, 40))]
    for X, y, lam in problems:
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
        assert np.allclose(weights_of(machine, X, y), W, atol=1e-2 * abs(W).max())


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
        assert np.isclose(sums.objective(W), best, rtol=1e-12)
        assert sums.lower <= best and sums.gap(W) <= 1e-8
        for _ in range(5):
            theta = rng.normal(size=Y.shape) * rng.choice([0.1, 1, 10])
            assert sums.bound(theta) <= best * (1 + 1e-12)
            nearby = W + 1e-3 * rng.normal(size=W.shape)
            assert value_of(nearby, A, Y, lam, sample_weight) >= best * (1 - 1e-8)


def test_a_step_gains_no_less_than_the_reweighted_ridge_regression():
    X, y = WINE
    A = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones((len(X), 1))])
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    sums = RowSums(A, Y, np.ones(len(A)), 5.0)
    sums.start(np.array([1e-2, 1e-3]), 0.0)
    W = np.random.default_rng(0).normal(size=(A.shape[1], 3))
    for _ in range(10):
        # `start` was told to smooth lengths of residuals by 1e-2, and those of weights by 1e-3
        rows = 1 / np.sqrt(((A @ W - Y) ** 2).sum(axis=1) + 1e-4)
        sizes = np.sqrt((W**2).sum(axis=1) + 1e-6)
        H = A.T @ (A * rows[:, None]) + np.diag(5 / sizes)
        plain = np.linalg.solve(H, A.T @ (Y * rows[:, None]))
        new = sums.minimize(sums.tangent(W), W)
        assert sums.value(new) <= sums.value(plain) * (1 + 1e-9)
        W = new


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
    # the columns of two classes are opposite, which makes a row sqrt(2) times as long as either
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
    with pytest.warns(SelectionWarning, match="lam=1000 is too large .*; pass a smaller one"):
        machine = RFS(lam=1000).fit(X, y)
    assert not machine.coef_.any() and machine.n_live_ == 0
    assert (machine.predict(X) == np.bincount(y).argmax()).all()
    X, y = load("wdbc", return_X_y=True)
    with pytest.warns(SelectionWarning, match="too large"):
        machine = RFS(lam=1e4).fit(X, y)
    # without weights each row misses two targets, -1 and 1, by 1 each
    assert np.isclose(machine.objective_, len(y) * np.sqrt(2))


def test_exact_zeros_cost_nothing():
    X, y = WINE
    A, Y, *_ = matrices(RFS(), X, y)
    sums = RowSums(A, Y, np.ones(len(A)), 40.0)
    W, _ = sums.solve(1e-6, 100)
    fewer = rfs.drop_fading(sums, W)
    assert (fewer == 0).all(axis=1).sum() > (W == 0).all(axis=1).sum()
    assert sums.objective(fewer) <= sums.objective(W) * (1 + 1e-9)


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
