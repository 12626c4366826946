"""The relevance vector machine: its evidence, its statistics, where it ends, what it refuses."""

import inspect
import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from conftest import quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from fsnotes import load, make_twonorm
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.rivals import rvm
from fsnotes.rivals.rvm import RVM, Model

LEAST, MOST = 1e-6, 1e12  # of precisions, for columns of unit deviation


def laplace(F, ones, zeros, alpha, start=None):
    """Minus the log evidence, and the mode with its offset first, by plain Newton steps."""
    T = np.column_stack([np.ones(len(F)), F])
    penalty = np.append(0.0, alpha)
    x = np.zeros(T.shape[1]) if start is None else np.array(start)

    def value(x):
        scores = T @ x
        loss = ones @ np.logaddexp(0, -scores) + zeros @ np.logaddexp(0, scores)
        return loss + penalty @ x**2 / 2

    for _ in range(500):
        scores = T @ x
        curvature = (ones + zeros) * expit(scores) * expit(-scores)
        slope = T.T @ (ones * expit(-scores) - zeros * expit(scores)) - penalty * x
        hessian = (T.T * curvature) @ T + np.diag(penalty)
        step = np.linalg.solve(hessian, slope)
        if slope @ step < 1e-22:
            break
        part = 1.0
        while part > 1e-16 and not value(x + part * step) <= value(x) * (1 + 1e-14):
            part /= 2
        x = x + part * step
    log_determinant = np.linalg.slogdet(hessian)[1] - np.log(curvature.sum())
    return value(x) + log_determinant / 2 - np.log(alpha).sum() / 2, x


def evidence_of(*args, **more):
    return -laplace(*args, **more)[0]


class Problem:
    """What a machine was fitted to, from raw data: distinct rows, counts and kernel matrix."""

    def __init__(self, machine, X, y, weights=None):
        weights = np.ones(len(y)) if weights is None else weights
        rows, places = np.unique(X, axis=0, return_inverse=True)
        places = places.ravel()
        positive = y == machine.classes_[1]
        self.ones = np.bincount(places, weights * positive)
        self.zeros = np.bincount(places, weights * ~positive)
        Z = rows / machine.scale_
        self.K = np.exp(-machine.gamma_ * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
        self.support = places[machine.support_]
        shares = (self.ones + self.zeros) / weights.sum()
        self.variances = shares @ self.K**2 - (shares @ self.K) ** 2

    def evidence(self, support, alpha):
        return evidence_of(self.K[:, support], self.ones, self.zeros, np.array(alpha))

    def best(self, support, alpha, place):
        """Largest evidence over one precision, on a grid and then between its points."""
        size = np.log(self.variances[support[place]])

        def objective(log):
            changed = np.array(alpha)
            changed[place] = np.exp(log)
            return -self.evidence(support, changed)

        grid = np.linspace(np.log(LEAST) + size + 1e-9, size + 16, 60)
        values = [objective(log) for log in grid]
        near = int(np.argmin(values))
        ends = grid[max(near - 1, 0)], grid[min(near + 1, len(grid) - 1)]
        found = minimize_scalar(objective, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return -min(found.fun, values[near])


def draw(seed, size=None):
    """A few rows of two features; every third time on a lattice, so that some are equal."""
    rng = np.random.default_rng([seed, 17])
    size = rng.integers(6, 26) if size is None else size
    X = rng.normal(size=(size, 2))
    if seed % 3 == 0:
        X = X.round(0)
    noise = rng.choice([0.0, 0.5, 3.0])
    y = (X[:, 0] * X[:, 1] + noise * rng.normal(size=size) > 0).astype(int)
    y[:2] = 0, 1
    return X, y, float(rng.choice([0.1, 0.5, 2.0]))


def some_model(seed=0, rows=30, columns=8):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(rows, columns))
    ones, zeros = rng.integers(0, 4, rows) + 0.0, rng.integers(0, 4, rows) + 0.5
    return Model(F, ones, zeros), F, ones, zeros


@pytest.fixture
def visited(monkeypatch):
    """Modes of all fits, in the order in which they were recorded."""
    modes, recorded = [], rvm.Search._record

    def record(search, change):
        modes.append((search.model, search.state))
        recorded(search, change)

    monkeypatch.setattr(rvm.Search, "_record", record)
    return modes


# ---------------------------------------------------------------- the evidence and its derivatives


@pytest.mark.parametrize("seed", range(20))
def test_modes_and_their_evidence(seed):
    model, F, ones, zeros = some_model(seed)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(8)[: seed % 6]
    alpha = np.exp(rng.normal(size=len(chosen)) * 3)
    mode = model.mode(chosen, alpha, model.intercept_alone())
    value, x = laplace(F[:, chosen], ones, zeros, alpha)
    assert mode.objective == pytest.approx(value, rel=1e-10)
    assert np.allclose([mode.offset, *mode.weights], x, rtol=1e-7, atol=1e-9)


def test_the_evidence_of_the_intercept_alone_is_the_likelihood():
    model, _, ones, zeros = some_model()
    share = ones.sum() / (ones + zeros).sum()
    expected = -ones.sum() * np.log(share) - zeros.sum() * np.log(1 - share)
    assert model.intercept_alone().objective == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_statistics_are_those_of_the_covariance_of_the_targets(seed):
    """Given the curvatures: ``s = f'Pf`` and ``q = f'Pz`` of a column that is left out of P."""
    model, F, _, _ = some_model(seed)
    chosen, alpha = np.array([2, 5, 1]), np.array([0.3, 2.0, 9.0])
    mode = model.mode(chosen, alpha, model.intercept_alone())
    scores = F[:, chosen] @ mode.weights + mode.offset
    targets = scores + mode.residuals / mode.curvatures

    def naive(column, others, precisions):
        inside = F[:, others]
        C = np.diag(1 / mode.curvatures) + (inside / precisions) @ inside.T
        inverse = np.linalg.inv(C)
        summed = inverse.sum(axis=1)
        P = inverse - np.outer(summed, summed) / summed.sum()
        return F[:, column] @ P @ F[:, column], F[:, column] @ P @ targets

    s, q = model.outside(mode)
    for column in set(range(8)) - set(chosen.tolist()):
        assert np.allclose((s[column], q[column]), naive(column, chosen, alpha), rtol=1e-8)
    s, q = model.inside(mode)
    for place, column in enumerate(chosen):
        rest = np.delete(chosen, place), np.delete(alpha, place)
        assert np.allclose((s[place], q[place]), naive(column, *rest), rtol=1e-7, atol=1e-9)


def test_shares_are_changes_of_the_evidence_of_normal_targets():
    rng = np.random.default_rng(1)
    F, z, noise = rng.normal(size=(12, 3)), rng.normal(size=12) * 3, rng.uniform(0.5, 2, 12)

    def log_evidence(columns, precisions):
        C = np.diag(noise) + (F[:, columns] / precisions) @ F[:, columns].T
        return -(np.linalg.slogdet(C)[1] + z @ np.linalg.solve(C, z)) / 2

    base = log_evidence([0, 1], np.array([1.0, 2.0]))
    C = np.diag(noise) + (F[:, :2] / [1.0, 2.0]) @ F[:, :2].T
    s, q = F[:, 2] @ np.linalg.solve(C, F[:, 2]), F[:, 2] @ np.linalg.solve(C, z)
    for precision in (0.01, 1.0, 50.0):
        gain = log_evidence([0, 1, 2], np.array([1.0, 2.0, precision])) - base
        assert rvm.share(precision, s, q) == pytest.approx(gain, rel=1e-8)


@pytest.mark.parametrize(("s", "q"), [(1.0, 3.0), (0.2, 0.5), (40.0, 7.0), (2.0, 1.0)])
def test_the_best_precision_has_the_largest_share(s, q):
    grid = np.exp(np.linspace(-12, 25, 20001))
    shares = rvm.share(grid, s, q)
    best = float(rvm.best_precision(s, q))
    if q**2 > s:
        assert rvm.share(best, s, q) >= shares.max()
        assert best == pytest.approx(grid[shares.argmax()], rel=1e-2)
        assert rvm.promised(q**2 / s - 1) == pytest.approx(rvm.share(best, s, q), rel=1e-9)
    else:
        assert best == np.inf and (shares <= 0).all() and rvm.promised(q**2 / s - 1) == 0


@pytest.mark.parametrize("seed", range(10))
def test_derivatives_of_the_evidence_know_of_the_change_of_curvatures(seed):
    model, F, ones, zeros = some_model(seed)
    chosen, alpha = np.array([2, 5, 1]), np.array([0.3, 2.0, 9.0])
    mode = model.mode(chosen, alpha, model.intercept_alone())
    shift = 1e-4
    for place, slope in enumerate(model.slopes(mode)):
        ends = []
        for sign in (1, -1):
            moved = alpha.copy()
            moved[place] *= np.exp(sign * shift)
            ends.append(laplace(F[:, chosen], ones, zeros, moved)[0])
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * shift), rel=1e-5, abs=1e-7)
    s, q, excess = model.outside(mode, exact=True)
    for column in set(range(8)) - set(chosen.tolist()):
        joined = np.append(chosen, column)
        near = [
            evidence_of(F[:, joined], ones, zeros, np.append(alpha, 1 / variance))
            for variance in (1e-5, 2e-5)
        ]
        slope = (4 * near[0] - near[1] + 3 * mode.objective) / 2e-5
        assert excess[column] / 2 == pytest.approx(slope, rel=1e-3, abs=1e-3)
        # the closed form leaves that change out
        assert abs(excess[column] - (q[column] ** 2 - s[column])) > 1e-6


def test_a_prior_flat_in_the_intercept_has_no_best_precision():
    """Why the intercept is measured in its own standard error: two rows, one of each class."""
    F, ones, zeros = np.array([[1.0], [-1.0]]), np.array([1.0, 0]), np.array([0, 1.0])
    flat, ours = [], []
    for alpha in 10.0 ** -np.arange(1, 9):
        value, x = laplace(F, ones, zeros, np.array([alpha]))
        scores = F[:, 0] * x[1] + x[0]
        flat.append(-value - np.log((expit(scores) * expit(-scores)).sum()) / 2)
        ours.append(-value)
    assert (np.diff(flat) > 0.5).all() and flat[-1] > 3
    assert max(ours) < 0 and np.argmax(ours) < 7 and (np.diff(ours)[-2:] < 0).all()


# ---------------------------------------------------------------- where it ends


@pytest.mark.parametrize("exhaustive", [False, True])
def test_the_recorded_objective_is_the_evidence_and_never_rises(visited, exhaustive):
    for seed in range(0, 40, 8 if exhaustive else 1):
        X, y, gamma = draw(seed)
        visited.clear()
        machine = quiet(RVM(gamma=gamma, exhaustive=exhaustive), X, y)
        recorded = [step.objective for step in machine.result_.steps]
        assert len(recorded) == len(visited) == machine.n_iter_ + 1
        found = []
        for model, state in visited:
            F = model.columns[:, state.chosen]
            near = [state.offset, *state.weights]
            found.append(
                laplace(F, model.positive, model.negative, state.precisions, start=near)[0]
            )
        assert np.allclose(found, recorded, rtol=1e-8)
        assert (np.diff(recorded) <= 0).all()
        assert [step.n_selected for step in machine.result_.steps] == [
            len(state.chosen) for _, state in visited
        ]
        assert machine.objective_ == recorded[-1] >= 0
        assert machine.result_.status == "converged"


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_no_small_action_and_no_deletion_raises_the_evidence(seed, weighted):
    X, y, gamma = draw(seed, size=6 + seed % 9)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.5, 1, 3], len(y)) if weighted else np.ones(len(y))
    machine = quiet(RVM(gamma=gamma), X, y, sample_weight=weights)
    problem = Problem(machine, X, y, weights)
    support, alpha = problem.support, machine.alpha_
    value, x = laplace(problem.K[:, support], problem.ones, problem.zeros, alpha)
    assert machine.objective_ == pytest.approx(value, rel=1e-8, abs=1e-9)
    assert np.allclose([*machine.intercept_, *machine.dual_coef_[0]], x, rtol=1e-4, atol=1e-5)
    reached = -value + machine.tol + 1e-8
    for place in range(len(support)):
        rest = np.delete(support, place), np.delete(alpha, place)
        assert problem.evidence(*rest) <= reached
        lowest = LEAST * problem.variances[support[place]]
        for factor in (0.8, 0.98, 1.02, 1.25):
            moved = alpha.copy()
            moved[place] = max(moved[place] * factor, lowest)
            assert problem.evidence(support, moved) <= reached
    for column in np.setdiff1d(np.arange(len(problem.K)), support):
        for precision in (1e5,):
            joined = np.append(support, column), np.append(alpha, precision)
            assert problem.evidence(*joined) <= reached


@pytest.mark.parametrize("start", range(0, 12, 4))
def test_exhaustive_search_leaves_no_action_that_gains(start):
    for seed in range(start, start + 4):
        X, y, gamma = draw(seed, size=8 + seed % 8)
        machine = quiet(RVM(gamma=gamma, exhaustive=True), X, y)
        problem = Problem(machine, X, y)
        support, alpha = problem.support, machine.alpha_
        reached = -machine.objective_ + machine.tol + 1e-8
        for column in range(len(problem.K)):
            inside = np.flatnonzero(support == column)
            if len(inside):
                rest = np.delete(support, inside), np.delete(alpha, inside)
                assert problem.evidence(*rest) <= reached
                assert problem.best(support, alpha, inside[0]) <= reached
            elif problem.variances[column] > 1e-12:
                joined = np.append(support, column), np.append(alpha, 1.0)
                assert problem.best(*joined, len(support)) <= reached


def best_of_all_supports(problem):
    """The largest evidence over all supports, from several starts each."""
    best = problem.evidence(np.zeros(0, dtype=int), [])
    usable = np.flatnonzero(problem.variances > 1e-12)
    for size in range(1, len(usable) + 1):
        for support in map(np.array, itertools.combinations(usable, size)):
            logs = np.log(problem.variances[support])
            ends = np.column_stack([logs + np.log(LEAST) + 1e-9, logs + 20])
            for start in (-9.0, -2.0):
                found = minimize(
                    lambda log, support=support: -problem.evidence(support, np.exp(log)),
                    logs + start,
                    bounds=ends,
                    method="L-BFGS-B",
                )
                best = max(best, -found.fun)
    return best


def test_on_tiny_problems_the_best_of_all_supports_is_mostly_reached():
    reached = []
    for seed in range(8):
        X, y, gamma = draw(1 + 3 * seed, size=4)
        machine = quiet(RVM(gamma=gamma, exhaustive=True), X, y)
        best = best_of_all_supports(Problem(machine, X, y))
        reached.append(-machine.objective_ >= best - 1e-4)
    assert np.mean(reached) >= 0.75


def test_predictions_too_bold_are_refused(monkeypatch):
    """Whatever the closed forms say, the evidence itself decides."""
    X, y = make_moons(60, noise=0.3, random_state=0)
    right = RVM(gamma=2).fit(X, y)
    best = rvm.best_precision
    monkeypatch.setattr(rvm, "best_precision", lambda s, q: best(s, q) * 1e-5)
    wrong = RVM(gamma=2).fit(X, y)
    assert wrong.result_.counts["refused"] > right.result_.counts["refused"]
    assert (np.diff([step.objective for step in wrong.result_.steps]) <= 0).all()
    problem = Problem(wrong, X, y)
    for place in range(len(wrong.support_)):
        rest = np.delete(problem.support, place), np.delete(wrong.alpha_, place)
        assert problem.evidence(*rest) <= -wrong.objective_ + 1e-7


def test_every_deletion_is_tried_in_the_end_whatever_is_foretold(monkeypatch):
    X, y = make_moons(60, noise=0.3, random_state=0)
    monkeypatch.setattr(rvm, "CHEAP", -np.inf)
    tried, without = [], rvm.Search._without

    def recorded(search, place):
        tried.append((tuple(search.state.chosen), place))
        return without(search, place)

    monkeypatch.setattr(rvm.Search, "_without", recorded)
    RVM(gamma=2).fit(X, y)
    last = tried[-1][0]
    assert sorted(place for chosen, place in tried if chosen == last) == list(range(len(last)))


def test_modes_have_no_slope_on_real_data():
    for name in ("pima", "titanic"):
        X, y = load(name, return_X_y=True)
        machine = RVM().fit(X, y)
        residuals = (y == machine.classes_[1]) - expit(machine.decision_function(X))
        K = machine._kernel(X, machine.support_vectors_)
        pulls = K.T @ residuals
        assert np.allclose(pulls, machine.alpha_ * machine.dual_coef_[0], rtol=1e-6, atol=1e-6)
        assert abs(residuals.sum()) < 1e-7
        assert 0 < len(machine.support_) < 40


def test_an_action_costs_as_stated(monkeypatch):
    """All columns are looked at for additions alone, not for every action."""
    calls, outside = [], Model.outside

    def counted(model, mode, exact=False):
        calls.append(exact)
        return outside(model, mode, exact)

    monkeypatch.setattr(Model, "outside", counted)
    X, y = make_twonorm(1000)
    machine = RVM(basis=200, gamma=0.02).fit(X, y)
    counts = machine.result_.counts
    assert len(calls) <= counts["add"] + counts["delete"] + counts["refused"] + 2
    assert calls.count(False) <= counts["add"] + 5 < counts["re-estimate"] + 10
    assert counts["add"] + counts["re-estimate"] + counts["delete"] == machine.n_iter_
    assert counts["add"] - counts["delete"] == len(machine.support_) < 20
    assert machine.score(*make_twonorm(2000, seed=1)) > 0.96


def test_few_modes_are_found_where_there_are_many_features():
    """Polishing after each action, and trying every deletion anew, took 28920."""
    X, y = load("sonar", return_X_y=True)
    machine = RVM().fit(X, y)
    assert machine.result_.status == "converged"
    assert machine.result_.counts["mode"] < 3000
    assert machine.objective_ < 41.5 and len(machine.support_) < 45


@pytest.mark.parametrize("seed", range(10))
def test_modes_are_found_from_others_in_few_steps(monkeypatch, seed):
    """Without a column, from where the others go in the quadratic model; or else from there."""
    model, F, ones, zeros = some_model(seed)
    alpha = np.full(8, 1e-3)
    whole = model.mode(np.arange(8), alpha, model.intercept_alone())
    starts, mode = [], Model._mode

    def recorded(model, chosen, precisions, *found):
        starts.append(found)
        return mode(model, chosen, precisions, *found)

    monkeypatch.setattr(Model, "_mode", recorded)
    for place in range(8):
        rest = np.delete(np.arange(8), place)
        value, x = laplace(F[:, rest], ones, zeros, alpha[rest])
        less = model.mode(rest, alpha[rest], whole)
        assert less.objective == pytest.approx(value, rel=1e-10)
        units = np.append(1.0, np.sqrt(alpha[rest]))
        plain, moved = starts[-1] / units
        assert np.allclose(plain, np.delete([whole.offset, *whole.weights], place + 1))
        # of the least loss in normal terms, by plain algebra
        T = np.column_stack([np.ones(len(F)), F])
        hessian = (T.T * whole.curvatures) @ T + np.diag(np.append(0, alpha))
        inside = np.delete(np.arange(9), place + 1)
        across = hessian[inside, place + 1] * whole.weights[place]
        shift = np.linalg.solve(hessian[np.ix_(inside, inside)], across)
        assert np.allclose(moved, plain + shift, rtol=1e-6, atol=1e-8)


def test_a_start_far_out_is_not_taken(monkeypatch):
    model, F, ones, zeros = some_model()
    alpha = np.full(4, 0.1)
    near = model.mode(np.arange(4), alpha, model.intercept_alone())
    monkeypatch.setattr(rvm.Mode, "without", lambda mode, whitened, place: whitened + 1e12)
    found = model.mode(np.arange(3), alpha[:3], near)
    expected = laplace(F[:, :3], ones, zeros, alpha[:3])[0]
    assert found.objective == pytest.approx(expected, rel=1e-10)


def test_the_search_takes_one_thread(monkeypatch, crescents):
    seen, record = [], rvm.Search._record

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    def recorded(search, change):
        seen.append(threads())
        record(search, change)

    monkeypatch.setattr(rvm.Search, "_record", recorded)
    with threadpool_limits(2, "blas"):
        machine = RVM(gamma=1.0).fit(*crescents)
        assert seen == [{1}] * (machine.n_iter_ + 1) and threads() == {2}


# ---------------------------------------------------------------- what it must not depend on


def same(first, second, X, rtol=1e-5):
    """Whether two machines are one: evidence and scores."""
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-7)
    scores = first.decision_function(X)
    assert np.allclose(second.decision_function(X), scores, atol=rtol * abs(scores).max())


@pytest.fixture
def crescents():
    return make_moons(80, noise=0.35, random_state=1)


def test_equal_rows_are_weights(crescents):
    X, y = crescents
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weights[:4] = 1
    machine = RVM(gamma=1.0).fit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(y)), weights)
    again = RVM(gamma=1.0).fit(X[repeated], y[repeated])
    same(machine, again, X)
    assert np.array_equal(np.sort(machine.support_), np.sort(repeated[again.support_]))
    assert (weights[machine.support_] > 0).all()
    problem = Problem(machine, X[weights > 0], y[weights > 0], weights[weights > 0])
    places = np.searchsorted(np.flatnonzero(weights), machine.support_)
    rows = np.unique(X[weights > 0], axis=0, return_inverse=True)[1].ravel()
    value = -problem.evidence(rows[places], machine.alpha_)
    assert machine.objective_ == pytest.approx(value, rel=1e-8)


def test_rows_with_both_labels_are_one_point():
    X = np.repeat([[0.0], [1.0], [2.0]], [40, 30, 50], axis=0)
    y = np.r_[np.arange(40) % 4 == 0, np.arange(30) % 2 == 0, np.arange(50) % 5 != 0].astype(int)
    machine = RVM(gamma=1.0).fit(X, y)
    assert len(machine.support_) <= 3 and set(machine.support_) <= {0, 40, 70}
    moderate = expit(machine.decision_function([[0.0], [1.0], [2.0]]))
    assert np.allclose(moderate, [0.25, 0.5, 0.8], atol=0.06)


def test_order_of_rows_and_columns_names_of_labels_and_units(crescents):
    X, y = crescents
    machine = RVM(gamma=1.0).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = RVM(gamma=1.0).fit(X[order], y[order])
    same(machine, shuffled, X)
    assert set(order[shuffled.support_]) == set(machine.support_)
    mirrored = RVM(gamma=1.0).fit(X[:, ::-1], y)
    assert mirrored.objective_ == pytest.approx(machine.objective_, rel=1e-7)
    swapped = RVM(gamma=1.0).fit(X, 1 - y)
    assert swapped.objective_ == pytest.approx(machine.objective_, rel=1e-7)
    scores = machine.decision_function(X)
    assert np.allclose(swapped.decision_function(X), -scores, atol=1e-5 * abs(scores).max())
    for unit in (np.array([1e8, 1e-8]), np.array([1e-100, 1e50])):
        scaled = RVM(gamma=1.0).fit(X * unit, y)
        assert scaled.objective_ == pytest.approx(machine.objective_, rel=1e-6)
    raw = RVM(gamma=1.0, scale=False).fit(X / machine.scale_, y)
    assert raw.objective_ == pytest.approx(machine.objective_, rel=1e-6)
    assert (raw.scale_ == 1).all()


def test_units_and_origins_of_columns_do_not_matter(crescents):
    X, y = crescents
    known = RVM(kernel=lambda a, b: np.exp(-((a - b) ** 2).sum())).fit(X, y)
    larger = RVM(kernel=lambda a, b: 7 + 100 * np.exp(-((a - b) ** 2).sum())).fit(X, y)
    same(known, larger, X)
    assert np.allclose(larger.alpha_, known.alpha_ * 1e4, rtol=1e-3)
    same(known, RVM(gamma=1.0).fit(X, y), X)


def test_equal_columns_are_one_point(crescents):
    X, y = crescents
    signs = np.sign(X[:, 0])

    def sign_kernel(a, b):
        return float(np.sign(a[0]) == np.sign(b[0]))

    machine = quiet(RVM(kernel=sign_kernel, scale=False), X, y)
    assert len(machine.support_) == 1 and len(np.unique(signs)) == 2
    # the column of one sign is 1 less that of the other, but not equal
    assert len(machine.basis_) == 2


# ---------------------------------------------------------------- degenerate data


def test_the_intercept_alone_remains_where_nothing_is_gained():
    X, y = np.ones((9, 2)), np.array([0, 1, 1] * 3)
    with pytest.warns(SelectionWarning) as caught:
        machine = RVM().fit(X, y)
    mine = [w for w in caught if "the intercept alone remains" in str(w.message)]
    assert len(mine) == 1 and mine[0].filename == __file__
    assert machine.support_.tolist() == [] and machine.dual_coef_.shape == (1, 0)
    assert machine.alpha_.shape == (0,) and machine.covariance_.shape == (1, 1)
    assert machine.intercept_[0] == pytest.approx(np.log(2))
    assert (machine.predict(X[:3]) == 1).all()
    expected = expit(np.log(2) / np.sqrt(1 + np.pi / 8 / 2))
    assert np.allclose(machine.predict_proba(X[:2])[:, 1], expected)
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.warns(SelectionWarning, match="pass another gamma or kernel"):
        RVM(gamma=1e-6, kernel=lambda a, b: 1.0).fit(noise, labels)


def test_separable_rows_have_a_finite_machine():
    for distance in (1e-3, 1.0, 1e3):
        X = np.array([[-distance], [-distance / 2], [distance / 2], [distance]])
        machine = quiet(RVM(gamma=1.0), X, np.array([0, 0, 1, 1]))
        assert np.isfinite(machine.dual_coef_).all() and np.isfinite(machine.objective_)
        assert machine.score(X, [0, 0, 1, 1]) == 1
        assert (machine.alpha_ > 0).all()
    X, y = make_moons(100, noise=0.05, random_state=0)
    assert RVM(gamma=3.0).fit(X, y).score(X, y) == 1


def test_labels_far_from_even_do_not_overflow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for heavy in (1e3, 1e6):
            machine = quiet(RVM(), X, y, sample_weight=np.where(y == 1, heavy, 1.0))
            assert np.isfinite(machine.decision_function(X)).all()
            assert np.isfinite(machine.objective_)
            assert (np.diff([s.objective for s in machine.result_.steps]) <= 0).all()


def test_near_duplicates_do_no_harm(crescents):
    X, y = crescents
    close = np.vstack([X, X + 1e-9])
    machine = RVM(gamma=1.0).fit(close, np.r_[y, y])
    weighted = RVM(gamma=1.0).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert machine.objective_ == pytest.approx(weighted.objective_, rel=1e-3)
    assert len(machine.support_) <= len(weighted.support_) + 2


def test_constant_features_are_named(crescents):
    X, y = crescents
    with pytest.warns(SelectionWarning, match="constant features are never selected"):
        wider = RVM(gamma=1.0).fit(np.column_stack([X, np.full(len(y), 3.0)]), y)
    plain = RVM(gamma=1.0).fit(X, y)
    assert wider.objective_ == pytest.approx(plain.objective_, rel=1e-8)


def test_more_features_than_rows_and_one_feature():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(12, 200))
    y = np.arange(12) % 2
    wide[:, 0] += 6 * y
    for X in (wide, wide[:, :1]):
        machine = quiet(RVM(), X, y)
        assert machine.dual_coef_.shape == (1, len(machine.support_))
        assert machine.support_vectors_.shape == (len(machine.support_), X.shape[1])
    assert machine.score(wide[:, :1], y) > 0.9


# ---------------------------------------------------------------- candidates


def test_a_basis_of_so_many_points(crescents):
    X, y = crescents
    rng = np.random.default_rng(3)
    order = rng.permutation(len(y))
    machine = RVM(gamma=1.0, basis=12).fit(X, y)
    same(machine, RVM(gamma=1.0, basis=12).fit(X[order], y[order]), X)
    others = [RVM(gamma=1.0, basis=12, random_state=seed).fit(X, y) for seed in range(6)]
    assert others[0].objective_ == machine.objective_
    assert len({other.objective_ for other in others}) > 1
    for other in others:
        assert len(other.basis_) == 12 and set(other.support_) <= set(other.basis_)
    whole = RVM(gamma=1.0).fit(X, y)
    assert RVM(gamma=1.0, basis=10**6).fit(X, y).objective_ == whole.objective_


def test_a_basis_of_rows(crescents):
    X, y = crescents
    machine = RVM(gamma=1.0, basis=[5, 17, 3, 40, 5]).fit(X, y)
    assert machine.basis_.tolist() == [3, 5, 17, 40]
    assert set(machine.support_) <= {3, 5, 17, 40} and len(machine.support_)
    assert machine.support_.dtype.kind == "i" and (np.diff(machine.support_) > 0).all()
    every = RVM(gamma=1.0, basis=np.arange(len(y))).fit(X, y)
    same(RVM(gamma=1.0).fit(X, y), every, X)
    # the first of equal rows that counts stands for them
    twice, labels = np.vstack([X, X]), np.r_[y, y]
    repeated = RVM(gamma=1.0, basis=np.arange(len(y), 2 * len(y))).fit(twice, labels)
    assert np.array_equal(repeated.basis_, np.arange(len(y)))
    weights = np.where(np.arange(len(labels)) == 5, 0, 1)
    weighted = RVM(gamma=1.0, basis=[5, 17, 3]).fit(twice, labels, sample_weight=weights)
    assert weighted.basis_.tolist() == [3, 17, 5 + len(y)]
    with pytest.raises(ValueError, match="^basis has row numbers from 0 to 80; .* 0 to 79"):
        RVM(basis=np.array([0, 80])).fit(X, y)
    with pytest.raises(ValueError, match="^basis has row numbers from -1 to 3"):
        RVM(basis=np.array([-1, 3])).fit(X, y)
    with pytest.raises(ValueError, match="^all rows of basis have weight zero"):
        RVM(basis=[5, 6]).fit(X, y, sample_weight=np.where(np.isin(np.arange(80), [5, 6]), 0, 1))


# ---------------------------------------------------------------- a good member of the package


def test_scores_and_probabilities(crescents):
    X, y = crescents
    machine = RVM(gamma=1.0).fit(X, y)
    new = make_moons(30, noise=0.4, random_state=5)[0]
    K = np.exp(-(((new[:, None] - machine.support_vectors_[None]) / machine.scale_) ** 2).sum(2))
    scores = K @ machine.dual_coef_[0] + machine.intercept_[0]
    assert np.allclose(machine.decision_function(new), scores, rtol=1e-9)
    assert np.array_equal(machine.predict(new), machine.classes_[(scores > 0).astype(int)])
    problem = Problem(machine, X, y)
    T = np.column_stack([np.ones(len(problem.K)), problem.K[:, problem.support]])
    fitted = T @ np.append(machine.intercept_, machine.dual_coef_[0])
    curvature = (problem.ones + problem.zeros) * expit(fitted) * expit(-fitted)
    hessian = (T.T * curvature) @ T + np.diag(np.append(0, machine.alpha_))
    covariance = np.linalg.inv(hessian)
    assert np.allclose(machine.covariance_, covariance, rtol=1e-5)
    values = np.column_stack([np.ones(len(K)), K])
    variances = np.einsum("ij,jk,ik->i", values, covariance, values)
    found = machine.predict_proba(new)
    assert np.allclose(found[:, 1], expit(scores / np.sqrt(1 + np.pi * variances / 8)), rtol=1e-5)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.array_equal(found[:, 1] > 0.5, scores > 0)


def test_moderated_probabilities_are_better_on_new_rows():
    X, y = make_twonorm(300)
    new, labels = make_twonorm(2000, seed=1)
    machine = RVM().fit(X, y)
    signs = np.where(labels == machine.classes_[1], 1, -1)
    plain = np.logaddexp(0, -signs * machine.decision_function(new)).mean()
    right = machine.predict_proba(new)[np.arange(len(new)), (signs > 0).astype(int)]
    assert -np.log(right).mean() < plain / 2


def test_names_words_pickles_and_repeats(crescents):
    X, y = crescents
    machine = RVM(gamma=1.0).fit(X, y)
    frame = pd.DataFrame(X, columns=["length", "width"], index=range(100, 100 + len(X)))
    words = pd.Series(np.where(y == 1, "upper", "lower"), index=frame.index)
    named = RVM(gamma=1.0).fit(frame, words)
    assert named.feature_names_in_.tolist() == ["length", "width"]
    assert named.classes_.tolist() == ["lower", "upper"]
    assert np.array_equal(named.predict(frame) == "upper", machine.predict(X) == 1)
    thawed = pickle.loads(pickle.dumps(named))
    assert np.array_equal(thawed.predict_proba(frame), named.predict_proba(frame))
    again = clone(machine).fit(X, y)
    assert np.array_equal(again.dual_coef_, machine.dual_coef_)
    assert np.array_equal(again.alpha_, machine.alpha_)
    with pytest.raises(NotFittedError):
        RVM().predict_proba(X)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"kernel": "nope"}, ValueError, "kernel='nope'; pass"),
        ({"gamma": 0}, ValueError, "gamma=0; pass a number from 0, 0 excluded"),
        ({"basis": 1}, ValueError, "basis=1; pass at least 2 points"),
        ({"basis": 2.5}, TypeError, "basis=2.5; pass None for all points, how many, or"),
        ({"basis": True}, TypeError, "basis=True; pass None for all points"),
        ({"basis": [1]}, ValueError, "basis=[1]; pass the numbers of at least 2 rows"),
        ({"basis": [1, 1]}, ValueError, "basis=[1, 1]; pass the numbers of at least 2 rows"),
        ({"basis": np.zeros((2, 2), int)}, TypeError, "basis="),
        ({"basis": np.array([0.5, 2])}, TypeError, "basis=array([0.5, 2. ]); pass"),
        ({"basis": np.zeros(0, int)}, ValueError, "basis="),
        ({"random_state": -1}, ValueError, "random_state=-1; pass a number from 0"),
        ({"random_state": 0.5}, ValueError, "random_state=0.5; pass a whole number"),
        ({"tol": 0}, ValueError, "tol=0; pass a number from 0, 0 excluded"),
        ({"max_iter": 0}, ValueError, "max_iter=0; pass a number from 1"),
        ({"scale": "no"}, TypeError, "scale='no'; pass True or False"),
        ({"exhaustive": 1}, TypeError, "exhaustive=1; pass True or False"),
        ({"progress": None}, TypeError, "progress=None; pass True or False"),
    ],
    ids=str,
)
def test_parameters_are_refused_in_words(parameters, error, message, crescents):
    with pytest.raises(error, match="^" + re.escape(message)):
        RVM(**parameters).fit(*crescents)


def test_bad_data_are_refused_in_words(crescents):
    X, y = crescents
    with pytest.raises(ValueError, match="NaN"):
        RVM().fit(np.where(X > 1.5, np.nan, X), y)
    with pytest.raises(ValueError, match="one class"):
        RVM().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="3 classes"):
        RVM().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="class 1 has no rows, or only rows of weight zero"):
        RVM().fit(X, y, sample_weight=1 - y)
    with pytest.raises(ValueError, match="not finite"):
        RVM(kernel=lambda a, b: np.nan).fit(X, y)


def test_too_few_actions_are_told(crescents):
    with pytest.warns(
        ConvergenceWarning, match="not converged in 3 actions: .* raise max_iter"
    ) as w:
        machine = RVM(gamma=1.0, max_iter=3).fit(*crescents)
    assert w[0].filename == __file__
    assert machine.n_iter_ == 3 and machine.result_.status == "max_iter"


def test_a_constant_column_is_told_at_the_callers_line(crescents):
    X, y = crescents
    X = np.column_stack([X, np.ones(len(y))])
    with pytest.warns(SelectionWarning, match="constant features") as caught:
        RVM(gamma=1.0).fit(X, y)
    line = inspect.currentframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]


def test_a_hessian_that_is_singular_is_told(monkeypatch):
    with pytest.raises(SubproblemError, match="its Hessian is singular"):
        rvm._factor(np.array([[1.0, 0.0], [0.0, -1.0]]))
    with pytest.raises(SubproblemError, match="its Hessian is singular"):
        rvm._factor(np.array([[1.0, 0.0], [0.0, 0.5]]))
    with pytest.raises(SubproblemError, match="its Hessian is singular"):
        rvm._factor(np.array([[1.0, 0.0], [0.0, np.inf]]))
    assert rvm._factor(np.diag([0.1, 1.0, 4.0]))[2, 2] == 2
    # an action without a mode is refused
    model, *_ = some_model()
    mode = Model.mode

    def failing(self, chosen, precisions, near):
        if len(chosen) > 1:
            raise SubproblemError("none")
        return mode(self, chosen, precisions, near)

    monkeypatch.setattr(Model, "mode", failing)
    machine = RVM(gamma=1.0).fit(*make_moons(60, noise=0.3, random_state=0))
    assert len(machine.support_) == 1 and machine.result_.counts["refused"] > 0


def test_a_mode_that_is_not_reached_is_told(monkeypatch):
    model, *_ = some_model()
    monkeypatch.setattr(rvm, "NEWTON", 1)
    with pytest.raises(SubproblemError, match="a Newton step still promises"):
        model.mode(np.array([1, 2]), np.array([0.1, 0.1]), model.intercept_alone())


def test_progress_is_shown_where_asked(crescents, capsys):
    RVM(gamma=1.0).fit(*crescents)
    assert capsys.readouterr().err == ""
    machine = RVM(gamma=1.0, progress=True).fit(*crescents)
    shown = capsys.readouterr().err
    assert "RVM" in shown and f"points={len(machine.support_)}" in shown
    assert f"{machine.n_iter_}action" in shown


def not_in_order(estimator):
    reason = "probabilities are moderated by the posterior variance of the score"
    return {"check_decision_proba_consistency": reason}


@parametrize_with_checks([RVM()], expected_failed_checks=not_in_order)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
