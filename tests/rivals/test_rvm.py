"""The relevance vector machine: its evidence, its statistics, where it ends."""

import numpy as np
import pytest
from definitions import quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from fsnotes import load, make_twonorm
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.rivals import rvm
from fsnotes.rivals.rvm import RVM, Posterior

LEAST, MOST = 1e-6, 1e12  # of precisions, for columns of unit deviation


def laplace(F, ones, zeros, alpha):
    """Minus the log evidence, and the mode with its offset first, by plain Newton steps."""
    T = np.column_stack([np.ones(len(F)), F])
    penalty = np.append(0.0, alpha)
    x = np.zeros(T.shape[1])

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
        return -laplace(self.K[:, support], self.ones, self.zeros, np.array(alpha))[0]


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


def some_data(seed=0, rows=30, columns=8):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(rows, columns))
    ones, zeros = rng.integers(0, 4, rows) + 0.0, rng.integers(0, 4, rows) + 0.5
    return F, ones, zeros


def posterior_of(data, chosen, alpha, near=0.0):
    """The posterior where these columns are in use, in order, with these precisions."""
    precisions = np.full(data[0].shape[1], np.inf)
    precisions[chosen] = alpha
    return Posterior(data, precisions, near, near + np.zeros(len(precisions)))


# ---------------------------------------------------------------- the evidence and its derivatives


@pytest.mark.parametrize("seed", range(20))
def test_modes_and_their_evidence(seed):
    F, ones, zeros = data = some_data(seed)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(8)[: seed % 6])
    alpha = np.exp(rng.normal(size=len(chosen)) * 3)
    value, x = laplace(F[:, chosen], ones, zeros, alpha)
    for near in (0.0, 3.0):  # the start does not matter
        found = posterior_of(data, chosen, alpha, near)
        assert found.objective == pytest.approx(value, rel=1e-10)
        mode = [found.offset, *found.weights[chosen]]
        assert np.allclose(mode, x, rtol=1e-7, atol=1e-9)
        assert np.count_nonzero(found.weights) == len(chosen)
    if not len(chosen):
        share = ones.sum() / (ones + zeros).sum()
        known = -ones.sum() * np.log(share) - zeros.sum() * np.log(1 - share)
        assert found.objective == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_statistics_are_those_of_the_covariance_of_the_targets(seed):
    """Given the curvatures: ``s = f'Pf`` and ``q = f'Pz`` of a column that is left out of P."""
    F, *_ = data = some_data(seed)
    chosen, alpha = np.array([1, 2, 5]), np.array([9.0, 0.3, 2.0])
    found = posterior_of(data, chosen, alpha)
    scores = F @ found.weights + found.offset
    targets = scores + found.residuals / found.curvatures

    def naive(column, others, precisions):
        inside = F[:, others]
        C = np.diag(1 / found.curvatures) + (inside / precisions) @ inside.T
        inverse = np.linalg.inv(C)
        summed = inverse.sum(axis=1)
        P = inverse - np.outer(summed, summed) / summed.sum()
        return F[:, column] @ P @ F[:, column], F[:, column] @ P @ targets

    s, _ = found.outside()
    for column in set(range(8)) - set(chosen.tolist()):
        assert np.isclose(s[column], naive(column, chosen, alpha)[0], rtol=1e-8)
    s, excess = found.inside()
    for place, column in enumerate(chosen):
        rest = np.delete(chosen, place), np.delete(alpha, place)
        known_s, known_q = naive(column, *rest)
        assert np.isclose(s[place], known_s, rtol=1e-7)
        assert np.isclose(excess[place], known_q**2 - known_s, rtol=1e-7, atol=1e-8)


def test_contributions_are_changes_of_the_evidence_of_normal_targets():
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
        assert rvm._contribution(precision, s, q**2 - s) == pytest.approx(gain, rel=1e-8)


@pytest.mark.parametrize(("s", "q"), [(1.0, 3.0), (0.2, 0.5), (40.0, 7.0), (2.0, 1.0)])
def test_the_best_precision_has_the_largest_contribution(s, q):
    grid = np.exp(np.linspace(-12, 25, 20001))
    added = rvm._contribution(grid, s, q**2 - s)
    best = rvm._best_precision(s, q**2 - s)
    if q**2 > s:
        assert rvm._contribution(best, s, q**2 - s) >= added.max()
        assert best == pytest.approx(grid[added.argmax()], rel=1e-2)
    else:
        assert best == np.inf and (added <= 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_derivatives_of_the_evidence_know_of_the_change_of_curvatures(seed):
    F, ones, zeros = data = some_data(seed)
    chosen, alpha = np.array([1, 2, 5]), np.array([9.0, 0.3, 2.0])
    found = posterior_of(data, chosen, alpha)
    shift = 1e-4
    for place, slope in enumerate(found.slopes()):
        ends = []
        for sign in (1, -1):
            moved = alpha.copy()
            moved[place] *= np.exp(sign * shift)
            ends.append(laplace(F[:, chosen], ones, zeros, moved)[0])
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * shift), rel=1e-5, abs=1e-7)
    _, excess = found.outside()
    for column in set(range(8)) - set(chosen.tolist()):
        joined = np.append(chosen, column)
        near = [
            -laplace(F[:, joined], ones, zeros, np.append(alpha, 1 / variance))[0]
            for variance in (1e-5, 2e-5)
        ]
        # a one-sided difference of second order, since a variance is never negative
        slope = (4 * near[0] - near[1] + 3 * found.objective) / 2e-5
        assert excess[column] / 2 == pytest.approx(slope, rel=1e-3, abs=1e-3)


# ---------------------------------------------------------------- where it ends


def test_the_recorded_objective_is_the_evidence_and_never_rises():
    refused = 0
    for seed in range(0, 40, 3):
        X, y, gamma = draw(seed)
        machine = quiet(RVM(gamma=gamma), X, y)
        steps = machine.result_.steps
        recorded = np.array([step.objective for step in steps])
        assert machine.result_.status == "converged" and len(steps) == machine.n_iter_ + 1
        assert (np.diff(recorded) <= 0).all()
        assert machine.objective_ == recorded[-1] >= 0
        counts = machine.result_.counts
        assert counts["add"] + counts["re-estimate"] + counts["delete"] == machine.n_iter_
        assert counts["add"] - counts["delete"] == len(machine.support_)
        refused += counts["refused"]
        # each is that of a fit of so many actions
        for count in range(1, machine.n_iter_):
            with pytest.warns(ConvergenceWarning, match="not converged in"):
                part = quiet(RVM(gamma=gamma, max_iter=count), X, y)
            assert part.objective_ == recorded[count]
            assert len(part.support_) == steps[count].n_selected
            problem = Problem(part, X, y)
            known = -problem.evidence(problem.support, part.alpha_)
            assert part.objective_ == pytest.approx(known, rel=1e-8)
    assert refused > 20


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
        # so large a precision makes the join a small action
        joined = np.append(support, column), np.append(alpha, 1e5)
        assert problem.evidence(*joined) <= reached


def test_modes_have_no_slope_on_real_data():
    for name in ("pima", "titanic"):
        X, y = load(name, return_X_y=True)
        machine = RVM().fit(X, y)
        residuals = (y == machine.classes_[1]) - expit(machine.decision_function(X))
        K = machine._kernel_(X, machine.support_vectors_)
        pulls = K.T @ residuals
        assert np.allclose(pulls, machine.alpha_ * machine.dual_coef_[0], rtol=1e-6, atol=1e-6)
        assert abs(residuals.sum()) < 1e-7
        assert 0 < len(machine.support_) < 40


def test_few_modes_are_found():
    X, y = make_twonorm(1000)
    machine = RVM(basis=200, gamma=0.02).fit(X, y)
    assert machine.result_.counts["mode"] < 400 and len(machine.support_) < 20
    assert machine.score(*make_twonorm(2000, seed=1)) > 0.96
    machine = RVM().fit(*load("sonar", return_X_y=True))
    assert machine.result_.counts["mode"] < 3000 and machine.result_.status == "converged"
    assert machine.objective_ < 44.7 and len(machine.support_) < 35


def test_the_search_takes_one_thread(monkeypatch, crescents):
    seen, slopes = set(), Posterior.slopes

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    def recorded(posterior):
        seen.update(threads())
        return slopes(posterior)

    monkeypatch.setattr(Posterior, "slopes", recorded)
    with threadpool_limits(2, "blas"):
        RVM(gamma=1.0).fit(*crescents)
        assert seen == {1} and threads() == {2}


# ---------------------------------------------------------------- what it must not depend on


def same(first, second, X, rtol=1e-5):
    """Whether two machines are one: evidence and scores."""
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-7)
    scores = first.decision_function(X)
    assert np.allclose(second.decision_function(X), scores, atol=rtol * abs(scores).max())


@pytest.fixture
def crescents():
    return make_moons(80, noise=0.35, random_state=1)


def test_units_and_origins_of_columns_do_not_matter(crescents):
    X, y = crescents
    known = RVM(kernel=lambda a, b: np.exp(-((a - b) ** 2).sum())).fit(X, y)
    larger = RVM(kernel=lambda a, b: 7 + 100 * np.exp(-((a - b) ** 2).sum())).fit(X, y)
    same(known, larger, X)
    assert np.allclose(larger.alpha_, known.alpha_ * 1e4, rtol=1e-3)
    same(known, RVM(gamma=1.0).fit(X, y), X)


def test_equal_columns_are_one_point(crescents):
    X, y = crescents

    def sign_kernel(a, b):
        return float(np.sign(a[0]) == np.sign(b[0]))

    machine = quiet(RVM(kernel=sign_kernel, scale=False), X, y)
    assert len(machine.support_) == 1
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
    # 9 rows of probability 2/3 have a curvature of 2, so the intercept has a variance of 1/2
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
    # a point and its copy may share what one of them would have
    assert set(machine.support_ % len(y)) == set(weighted.support_)


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
    # a row of weight zero is none
    weighted = RVM(gamma=1.0, basis=[5, 17, 3]).fit(twice, labels, sample_weight=weights)
    assert weighted.basis_.tolist() == [3, 17]
    everything = RVM(gamma=1.0).fit(twice, labels, sample_weight=weights)
    assert 5 not in everything.basis_ and 5 + len(y) in everything.basis_


# ---------------------------------------------------------------- a good member of the package


@pytest.mark.filterwarnings("ignore:no kernel function raises")
@pytest.mark.parametrize(("kernel", "offset"), [("cosine", 1e4), ("linear", 1e7)])
def test_probabilities_keep_digits_where_kernel_columns_are_nearly_equal(kernel, offset):
    y = np.arange(20) % 2
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(20, 4)) + offset
        X[:, 0] += 2 * y
        machine = RVM(kernel=kernel).fit(X, y)
        with np.errstate(all="raise"):
            found = machine.predict_proba(X)
        assert ((found >= 0) & (found <= 1)).all()
        assert np.array_equal(found[:, 1] > 0.5, machine.predict(X) == 1)


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


@pytest.mark.parametrize("heavy", [1e20, 1e50])
def test_a_mode_that_is_not_reached_is_told(heavy, crescents):
    weights = np.where(np.arange(80) < 40, heavy, 2 / heavy)
    with pytest.raises(SubproblemError, match="^the mode was not found; pass weights of rows"):
        RVM(gamma=1.0).fit(*crescents, sample_weight=weights)
