"""Direct sparsity: exact steps, descent, margins that hold, and what the published steps do."""

import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from definitions import quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from fsnotes import DSO, l2p, literal, load
from fsnotes.core.joint import MarginData
from fsnotes.core.mm import stages
from fsnotes.errors import NotSeparableError, SelectionWarning, SubproblemError
from fsnotes.l2p import Elimination, JointStep, JointSteps


def wide(seed, N=12, n=30, K=3):
    """Rows that a plane separates, whichever their classes: columns are more."""
    return drawn(seed, N, n, K, 1.5)


def tall(seed, N=40, n=6, K=3, apart=1.0):
    return drawn([seed, 5], N, n, K, apart)


def drawn(seed, N, n, K, apart):
    rng = np.random.default_rng(seed)
    y = np.arange(N) % K
    X = rng.standard_normal((N, n)) * rng.uniform(0.5, 2, n)
    X[:, :K] += apart * (y[:, None] == np.arange(K))
    return X, y


def data_of(X, y, weights=None):
    """Samples as they are."""
    return MarginData(X, y, np.ones(len(X)) if weights is None else weights, y.max() + 1)


def signs_of(machine, y):
    return np.where(np.asarray(y)[:, None] == machine.classes_, 1.0, -1.0)


def both(machine):
    """One column of weights, and one offset, for each class."""
    if len(machine.classes_) > 2:
        return machine.coef_.T, machine.intercept_
    w, b = machine.coef_.T, machine.intercept_
    return np.hstack([-w, w]), np.append(-b, b)


def margins(machine, X, y):
    W, b = both(machine)
    return signs_of(machine, y) * (X @ W + b)


def middle(X, y):
    return np.mean([X[y == c].mean(axis=0) for c in np.unique(y)], axis=0)


def worth(machine, X, y):
    """Objective of the coefficients, in the units that `scale` sets."""
    W, b = both(machine)
    center = middle(X, y) if machine.scale else np.zeros(X.shape[1])
    inside = np.vstack([W * machine.scale_[:, None], b + center @ W])
    norms = np.linalg.norm(inside, axis=1)
    # at p = 1e-3 a bias that is rounding would count as another feature does
    value = (norms[norms > 1e-12 * norms.max()] ** machine.p).sum()
    if machine.C is not None:
        value += machine.C * (np.maximum(0, 1 - margins(machine, X, y)) ** 2).sum()
    return value


def smoothed(W, p, eps, C=None, missing=0.0):
    norms = np.sqrt((W**2).sum(axis=1))
    value = ((norms**2 + eps**2) ** (p / 2) - eps**p).sum()
    return value + (0 if C is None else C * missing)


# ---------------------------------------------------------------- one step


@pytest.mark.parametrize("C", [None, 0.5, 30.0])
def test_a_step_is_that_of_the_literal_program(C):
    for seed in range(10):
        rng = np.random.default_rng([seed, 1])
        X, y = wide(seed) if seed % 2 else tall(seed, 24, 5, apart=20.0)
        weights = rng.uniform(0.3, 3, len(X))
        sizes = 10 ** rng.uniform(-2, 1, X.shape[1] + 1)
        if seed % 3 == 0 and seed % 2:
            sizes[rng.random(len(sizes)) < 0.3] = 0
        p = rng.uniform(0.1, 1)
        rows = data_of(X, y, weights)
        W = JointStep(rows).solve(sizes, 0.0 if C is None else p / (2 * C))
        wanted, value = literal.dso_step(rows.X, rows.signs, sizes, C, p, weights)
        # the oracle's gap of 1e-9 leaves its weights the root of that
        assert np.allclose(W, wanted, rtol=1e-4, atol=1e-4 * abs(wanted).max())
        live = sizes > 0
        assert not W[~live].any()
        found = ((W[live] ** 2).sum(axis=1) / sizes[live]).sum()
        if C is not None:
            found = p / 2 * found + C * rows.loss(W)
        assert np.isclose(found, value, rtol=1e-6)
        if C is None:
            assert rows.margins(W).min() >= 1 - 1e-12


def test_the_tangent_touches_and_lies_above():
    rng = np.random.default_rng(0)
    rows = data_of(*wide(0))
    for p in (0.01, 0.5, 1.0):
        step = JointSteps(JointStep(rows), p, 2.0, 0.05, 1e-5)
        W = rng.standard_normal((31, 3)) * rng.uniform(0, 1, (31, 1))
        sizes = step.tangent(W)

        def above(V, W=W, sizes=sizes, p=p, step=step):
            squares = ((V**2).sum(axis=1) - (W**2).sum(axis=1)) / sizes
            return step.value(W) + p / 2 * squares.sum() + 2 * (rows.loss(V) - rows.loss(W))

        for size in (1e-6, 1e-2, 1.0, 10.0):
            V = W + size * rng.standard_normal(W.shape)
            assert step.value(V) <= above(V) * (1 + 1e-12)
        V = W + 1e-7 * rng.standard_normal(W.shape)
        assert np.isclose(step.value(V), above(V), rtol=1e-12)


def test_a_margin_that_rounding_has_lost_is_no_solution(monkeypatch):
    step = JointStep(data_of(*wide(0)))
    solve = step.programs.solve

    def poor(*args):
        found = solve(*args)
        return replace(found, weights=0.9 * found.weights)

    monkeypatch.setattr(step.programs, "solve", poor)
    with pytest.raises(SubproblemError, match="a margin is 0.9"):
        step.solve(np.ones(31))


# ---------------------------------------------------------------- all steps


@pytest.mark.parametrize("C", [None, 0.3, 10.0])
def test_at_p_1_the_end_is_the_optimum_of_the_cone_program(C):
    for seed in range(8):
        X, y = wide(seed) if seed % 2 else tall(seed, 25, 5, apart=8.0)
        if C is None and not seed % 2:
            X, y = wide(seed, 14, 20, 4)
        machine = quiet(DSO(p=1, C=C, scale=False, refit=False, tol=1e-7, max_iter=5000), X, y)
        ones = np.hstack([X, np.ones((len(X), 1))])
        _, value = literal.dso(ones, signs_of(machine, y), C)
        assert np.isclose(machine.objective_, value, rtol=1e-5)
        assert machine.objective_ >= value * (1 - 1e-7)


@pytest.mark.parametrize(("p", "C"), [(1, None), (0.5, None), (0.1, 2.0), (0.9, 0.1), (1e-3, None)])
def test_the_objective_never_rises_and_is_that_of_the_weights(p, C):
    for seed in range(6):
        X, y = wide(seed) if seed % 2 or C is None else tall(seed)
        rows = data_of(X, y)
        machine, met = JointStep(rows), []
        start = machine.solve(np.ones(rows.X.shape[1]), 0.0 if C is None else p / (2 * C))
        epsilons = 0.1, 1e-3, 1e-6
        problems = [JointSteps(machine, p, C, eps, 1e-4) for eps in epsilons]
        record = {"callback": lambda *pair, met=met: met.append(pair)}
        _, result = stages(problems, start, tol=1e-5, max_iter=300, **record)
        assert result.status == "converged" and len(met) == len(result.steps)
        last = {}
        for step, W in met:
            missing = np.maximum(0, 1 - rows.signs * (rows.X @ W)) ** 2
            value = smoothed(W, p, epsilons[step.stage], C, missing.sum())
            assert np.isclose(step.objective, value, rtol=1e-9, atol=1e-12)
            assert value <= last.get(step.stage, np.inf) * (1 + 2e-9)
            last[step.stage] = value
            assert step.n_selected == np.count_nonzero(W[:-1].any(axis=1))
            if C is None:
                assert missing.max() < 1e-18


def test_a_fit_records_its_steps():
    machine = DSO(p=0.5).fit(*load_wine(return_X_y=True))
    found = machine.result_
    # each of six stages records where it starts, which is not a step
    assert found.status == "converged" and machine.n_iter_ == len(found.steps) - 6
    assert [step.stage for step in found.steps if step.change == np.inf] == list(range(6))
    assert set(found.counts) == {"newton step", "proximal step"}


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.sampled_from([None, None, 1e-3, 1.0, 1e3, 1e6]),
    st.sampled_from([1e-3, 0.3, 0.9, 1.0]),
    st.booleans(),
)
def test_any_fit_is_what_it_says(seed, C, p, scale):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    N = int(rng.integers(max(4, K), 25))
    X, y = (wide if rng.random() < 0.6 else tall)(seed, N, int(rng.integers(K, 40)), K)
    kind = rng.integers(4)
    if kind == 1:
        X = X.round()
    elif kind == 2:
        X[:, -1] = X[:, 0]
    elif kind == 3:
        X = (X + 3) * 10 ** rng.uniform(-2, 2, X.shape[1])
    machine = DSO(p=p, C=C, scale=scale, refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        warnings.filterwarnings("ignore", "not converged", ConvergenceWarning)
        try:
            machine.fit(X, y)
        except NotSeparableError as error:
            assert C is None
            check_certificates(error, X, y)
            return
    assert machine.result_.status != "rose"
    if machine.n_live_:
        assert np.isclose(machine.objective_, worth(machine, X, y), rtol=1e-5)
    if C is None:
        assert margins(machine, X, y).min() >= 1 - 1e-9
    assert np.array_equal(machine.row_norms_ > 0, machine.support_)


# ---------------------------------------------------------------- what is returned


def test_row_norms_are_those_of_the_end_of_the_steps():
    X, y = wide(5, 20, 200)
    plain, refitted = DSO(p=0.5, refit=False).fit(X, y), DSO(p=0.5).fit(X, y)
    norms = np.linalg.norm(both(plain)[0] * plain.scale_[:, None], axis=1)
    assert np.allclose(plain.row_norms_, norms, rtol=1e-9)
    assert np.array_equal(plain.row_norms_, refitted.row_norms_)
    assert 0 < plain.n_selected_ == plain.n_live_ < 30
    assert norms[plain.support_].min() > 1e-6 * norms.max()


def test_the_longest_rows_are_selected():
    X, y = wide(7, 15, 60)
    whole = DSO().fit(X, y)
    order = np.argsort(-whole.row_norms_, kind="stable")
    for count in (1, 3, whole.n_live_):
        machine = DSO(n_features=count, refit=count > 1).fit(X, y)
        assert machine.n_live_ == whole.n_live_
        assert set(np.flatnonzero(machine.support_)) == set(order[:count])
    with pytest.warns(SelectionWarning, match=f"^n_features=60, but only {whole.n_live_} .*larger"):
        DSO(n_features=60).fit(X, y)
    X, y = wide(0, 8, 3)
    with pytest.warns(SelectionWarning, match="^n_features=9, but only 3 are alive") as caught:
        DSO(n_features=9, C=1.0).fit(X, y)
    assert "larger p" not in str(caught[0].message)


def test_a_refit_is_the_machine_of_the_features_selected():
    X, y = tall(2)
    for C in (0.4, None):
        if C is None:
            X, y = wide(2)
        machine = DSO(C=C, n_features=3).fit(X, y)
        Z = ((X - middle(X, y)) / machine.scale_)[:, machine.support_]
        rows = data_of(Z, y)
        cost = 1.0 if C is None else C
        W, _ = literal.dso_step(rows.X, rows.signs, np.ones(4), C=2 * cost, p=4.0)
        assert np.allclose(
            machine.coef_[:, machine.support_] * machine.scale_[machine.support_],
            W[:-1].T,
            atol=1e-6,
        )
        assert np.allclose(machine.intercept_ + machine.coef_ @ middle(X, y), W[-1], atol=1e-6)


# ---------------------------------------------------------------- the published steps


def test_half_steps_are_those_of_the_published_algorithm():
    for seed in range(6):
        rows = data_of(*wide(seed))
        ours = Elimination(rows)
        order, M, N, L = literal.peng2016.solution_space(rows.X, rows.signs)
        assert list(ours.pivots) == order[:12] and ours.is_exact
        U = literal.peng2016.dso_directions(M, N, np.ones(31))
        V = np.vstack([N - M @ U, U])[np.argsort(order)]
        start = ours.start()
        assert np.allclose(start, V, atol=1e-8)
        E = literal.peng2016.dso_errors(rows.signs, L)(
            N - M @ U, 1 / np.linalg.norm(V[order], axis=1)[:12] ** 0.5
        )
        W = np.vstack([N - M @ U + L @ E, U])[np.argsort(order)]
        found = ours.e_step(np.linalg.norm(V, axis=1), start)
        assert np.allclose(found, W, atol=1e-6)
        assert np.allclose(ours.E, E, atol=1e-6)
        sizes = np.linalg.norm(W, axis=1)
        again = literal.peng2016.dso_directions(M, N + L @ E, 1 / np.sqrt(sizes[order]))
        V = np.vstack([N + L @ E - M @ again, again])[np.argsort(order)]
        assert np.allclose(ours.u_step(sizes), V, atol=1e-6)


def test_where_rows_exceed_the_rank_smissing_are_projected_as_published():
    for seed in range(4):
        rows = data_of(*tall(seed, 20, 4, apart=3.0))
        ours = Elimination(rows)
        order, M, N, L = literal.peng2016.solution_space(rows.X, rows.signs)
        assert not ours.is_exact and M.shape == (5, 0)
        start = ours.start()
        assert np.allclose(start, N[np.argsort(order)], atol=1e-8)
        E = literal.peng2016.dso_errors(rows.signs, L)(N, 1 / np.linalg.norm(N, axis=1) ** 0.5)
        found = ours.e_step(np.linalg.norm(start, axis=1), start)
        assert np.allclose(found, (N + L @ E)[np.argsort(order)], atol=1e-5)
        assert (rows.signs * ours.E).min() >= 0


@pytest.mark.parametrize("spread", [0.1, 1, 3])
def test_half_steps_are_optimal_whatever_the_sizes(spread):
    """Non-negative least squares go round in circles where sizes differ much."""
    rng = np.random.default_rng(0)
    ours = Elimination(data_of(*tall(3, 40, 6, apart=30.0)))
    signs, start = ours.data.signs, ours.start()
    for _ in range(3):
        sizes = np.exp(spread * rng.standard_normal(len(start)))
        W = ours.e_step(sizes, start)
        # X W = X X^+ (Y + E), hence a slack e moves the sum of squares by 2 (Y e)' X^+' W / sizes
        slopes = signs * (np.linalg.pinv(ours.data.X).T @ (W / sizes[:, None]))
        smissing = signs * ours.E
        size = abs(slopes).max()
        assert smissing.min() >= 0 and slopes.min() >= -1e-7 * size
        assert abs(slopes[smissing > 1e-6 * smissing.max()]).max() <= 1e-6 * size


def test_the_published_steps_lose_margins_where_rows_exceed_the_rank():
    lost = []
    for seed in range(12):
        X, y = tall(seed, 30, 5, apart=30.0)
        try:
            DSO().fit(X, y)
        except NotSeparableError:
            continue
        with pytest.warns(SelectionWarning, match="has not kept the margins, the smallest is"):
            machine = DSO(method="alternating", refit=False, p=1).fit(X, y)
        lost.append(margins(machine, X, y).min())
    assert len(lost) > 5 and min(lost) < 0.9


def test_the_published_steps_never_rise_and_keep_the_margins_of_few_rows():
    for seed in range(6):
        X, y = wide(seed)
        for p in (1, 0.5):
            machine = DSO(method="alternating", refit=False, p=p, max_iter=100)
            with warnings.catch_warnings():  # it is slow
                warnings.filterwarnings("ignore", "not converged", ConvergenceWarning)
                machine.fit(X, y)
            assert margins(machine, X, y).min() >= 1 - 1e-7
            assert machine.result_.status != "rose"


def test_pivots_are_the_first_independent_columns():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 3))
    X = np.column_stack([A[:, 0], 2 * A[:, 0], np.zeros(4), A[:, 1], A[:, 0] - A[:, 1], A[:, 2]])
    assert l2p.first_independent(X).tolist() == [0, 3, 5]
    assert l2p.first_independent(rng.standard_normal((4, 9))).tolist() == [0, 1, 2, 3]


# ---------------------------------------------------------------- no plane


def check_certificates(error, X, y):
    """Of rows of the class and of others, mixtures that are equal."""
    assert error.certificates
    for label, r in error.certificates.items():
        assert r.shape == (len(X),) and (r >= 0).all() and r.max() > 0
        signs = np.where(np.asarray(y) == label, r, -r)
        assert abs(signs.sum()) <= 1e-7 * r.sum()
        assert (abs(signs @ X) <= 1e-7 * (r @ abs(X)) + 1e-12 * abs(X).max() * r.sum()).all()


def test_the_error_proves_that_no_plane_separates():
    X, y = load_iris(return_X_y=True)
    for scale in (True, False):
        with pytest.raises(NotSeparableError) as caught:
            DSO(scale=scale).fit(X, y)
        assert set(caught.value.certificates) == {1, 2}
        assert re.match(r"no plane separates the rows of class 1, 2 from", str(caught.value))
        assert "pass C=1 for a soft one" in str(caught.value)
        check_certificates(caught.value, X, y)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and set(again.certificates) == {1, 2}


def test_certificates_are_for_the_rows_that_were_passed():
    """Rows of weight zero and equal rows among them."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2)).round(1)
    y = np.array(["a", "b", "c", "d"])[np.arange(40) % 4]
    X, y = np.vstack([X, X[:15]]), np.append(y, y[:15])
    weights = (np.arange(55) % 5 > 0) * rng.uniform(0.5, 2, 55)
    with pytest.raises(NotSeparableError) as caught:
        DSO().fit(X, y, weights)
    check_certificates(caught.value, X, y)
    for r in caught.value.certificates.values():
        assert not r[weights == 0].any()
    with pytest.raises(NotSeparableError) as caught:
        DSO().fit(X, y, 1.0)
    check_certificates(caught.value, X, y)


def test_many_labels_are_not_all_named():
    rng = np.random.default_rng(0)
    words = r"class 0, 1, 2, 3, 4, \.\.\. from"
    for method in ("joint", "alternating"):
        with pytest.raises(NotSeparableError, match=words):
            DSO(method=method).fit(rng.standard_normal((90, 1)), np.arange(90) % 9)


# ---------------------------------------------------------------- classes, invariances


def close(first, second, tol=1e-5):
    return np.allclose(first, second, rtol=tol, atol=tol * abs(np.asarray(second)).max())


def test_hard_margins_do_not_depend_on_orders_units_and_places_of_columns():
    X, y = wide(4)
    machine = DSO().fit(X, y)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    assert np.array_equal(DSO().fit(X[rows], y[rows]).coef_, machine.coef_)
    again = DSO().fit(X[:, columns], y)
    assert close(again.coef_, machine.coef_[:, columns])
    assert np.isclose(again.objective_, machine.objective_, rtol=1e-6)
    units = rng.choice([-1, 1], X.shape[1]) * 10 ** rng.uniform(-3, 3, X.shape[1])
    again = DSO().fit(X * units + rng.uniform(-5, 5, X.shape[1]) * abs(units), y)
    assert close(again.coef_ * units, machine.coef_)
    assert np.isclose(again.objective_, machine.objective_, rtol=1e-6)
    turned = DSO(scale=False).fit(X * np.sign(units), y)
    assert close(turned.coef_ * np.sign(units), DSO(scale=False).fit(X, y).coef_)
    X, y = wide(0, 12, 30, 2)
    machine, swapped = DSO().fit(X, y), DSO().fit(X, 1 - y)
    assert close(swapped.coef_, -machine.coef_) and close(swapped.intercept_, -machine.intercept_)


def test_a_hard_margin_knows_only_whether_a_row_counts():
    X, y = wide(3)
    weights = np.random.default_rng(0).uniform(0.1, 9, 12)
    options = {"scale": False, "refit": False}
    plain = DSO(**options).fit(X, y)
    assert close(DSO(**options).fit(X, y, weights).coef_, plain.coef_)
    doubled = DSO(**options).fit(np.vstack([X, X[:5]]), np.append(y, y[:5]))
    assert close(doubled.coef_, plain.coef_)
    weights[[0, 4]] = 0
    few = DSO(**options).fit(X, y, weights)
    assert close(few.coef_, DSO(**options).fit(X[weights > 0], y[weights > 0]).coef_)
    assert few.objective_ < plain.objective_


def test_a_large_C_is_a_hard_margin():
    for seed in range(5):
        X, y = wide(seed)
        for p in (1, 0.5):
            hard = DSO(p=p, refit=False).fit(X, y)
            soft = DSO(p=p, C=1e6, refit=False).fit(X, y)
            assert np.isclose(soft.objective_, hard.objective_, rtol=1e-4)
            assert close(soft.coef_, hard.coef_, 1e-3)


def test_one_feature_by_hand():
    """Of -2 and 2 the objective has a single local minimum other than 0."""
    machine = DSO(p=0.5, C=1.0, scale=False, refit=False).fit([[-2.0], [2.0]], [0, 1])
    grid = np.linspace(0, 0.5, 200_001)
    slope = np.diff((np.sqrt(2) * grid) ** 0.5 + 4 * (1 - 2 * grid) ** 2)
    local = grid[1:-1][(slope[:-1] < 0) & (slope[1:] > 0)]
    assert len(local) == 1 and abs(local - machine.coef_[0, 0]).max() < 1e-4


# ---------------------------------------------------------------- the edge


def test_a_small_C_selects_nothing():
    X, y = tall(0, 45)
    y[:20] = 2
    with pytest.warns(SelectionWarning, match="^C=1e-06 is too small to select a feature"):
        machine = DSO(C=1e-6, p=0.1).fit(X, y)
    assert machine.n_selected_ == machine.n_live_ == 0 and not machine.coef_.any()
    assert (machine.predict(X) == 2).all()


@pytest.mark.parametrize("p", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_extreme_parameters_of_ordinary_data(p, C):
    for X, y in (load_iris(return_X_y=True), load("sonar", return_X_y=True)):
        for scale in (True, False):
            machine = quiet(DSO(p=p, C=C, scale=scale, refit=False), X, y)
            assert machine.result_.status == "converged"
            if machine.n_live_:
                assert np.isclose(machine.objective_, worth(machine, X, y), rtol=1e-6)
            least = len(y) * len(machine.classes_) * C
            assert machine.objective_ <= least * (1 + 1e-9)
            assert C < 1 or machine.score(X, y) > 0.85


def test_rows_that_no_plane_separates_at_the_largest_C():
    X, y = load_digits(return_X_y=True)
    machine = quiet(DSO(C=1e6, refit=False), X, y)
    assert machine.result_.status == "converged" and machine.score(X, y) > 0.99


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_sizes_of_columns(size):
    X, y = wide(1)
    for C in (None, 1.0):
        machine = quiet(DSO(C=C, scale=False, refit=False), X * size, y)
        if machine.n_live_:
            assert np.isclose(machine.objective_, worth(machine, X * size, y), rtol=1e-6)
        if C is None:
            assert margins(machine, X * size, y).min() >= 1 - 1e-9
    mixed = X * np.where(np.arange(30) % 2, size, 1)
    machine = DSO(scale=False, refit=False).fit(mixed, y)
    assert margins(machine, mixed, y).min() >= 1 - 1e-9


def test_many_classes():
    X = np.random.default_rng(0).standard_normal((78, 90))
    y = list("abcdefghijklmnopqrstuvwxyz") * 3
    machine = DSO(refit=False).fit(X, y)
    assert machine.coef_.shape == (26, 90) and machine.score(X, y) == 1


def test_margins_hold_where_steps_have_not_converged():
    X, y = wide(0)
    with pytest.warns(ConvergenceWarning, match="^not converged in 40 steps"):
        machine = DSO(tol=0, max_iter=40, refit=False).fit(X, y)
    assert margins(machine, X, y).min() >= 1 - 1e-9 and machine.result_.status != "rose"
