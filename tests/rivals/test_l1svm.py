"""The l1 machine: equal to its literal statement, and as good as it says."""

import pickle
import re

import cvxpy as cp
import highspy
import numpy as np
import pytest
from conftest import (
    GOOD,
    LABELS,
    pooled_deviation,
    quiet,
    units,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.svm import SVC

from fsnotes import (
    L1SVM,
    load,
    make_instance,
    make_wide,
)
from fsnotes.errors import (
    SelectionWarning,
    SubproblemError,
)
from fsnotes.literal import l1svm
from fsnotes.solvers import highs, hinge_programs
from fsnotes.solvers.hinge import HingeData

SETS = ["sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic", "wdbc"]
PRICES = [0.5, 3, 10, 100, 1000]


def printed(X, y, C, scale=True):
    """Weights in the caller's units, offset and value of the literal statement."""
    unit, center = units(X, y, scale), X.mean(axis=0)
    Z = (X - center) / unit
    w, b, value = l1svm(Z[y == y.max()], Z[y == y.min()], C)
    return w / unit, -b - w / unit @ center, value


def value_of(machine, X, y, weights=None):
    """The objective, from the coefficients as they are."""
    weights = np.ones(len(y)) if weights is None else weights
    margins = np.where(y == machine.classes_[1], 1, -1) * (
        X @ machine.coef_[0] + machine.intercept_[0]
    )
    loss = np.average(np.maximum(0, 1 - margins), weights=weights)
    return abs(machine.coef_[0] * machine.scale_).sum() + machine.C * loss


# ---------------------------------------------------------------- optimality


def test_the_literal_statement_is_what_another_solver_finds():
    for seed in range(12):
        X, y = make_instance(seed)
        X = X / X.std(axis=0)
        C = [3, 10, 30][seed % 3]
        w, b, value = l1svm(X[y == 1], X[y == 0], C)
        direction, offset = cp.Variable(X.shape[1]), cp.Variable()
        margins = cp.multiply(2 * y - 1, X @ direction - offset)
        objective = cp.norm1(direction) + C / len(y) * cp.sum(cp.pos(1 - margins))
        best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
        assert np.isclose(value, best, rtol=1e-6)
        slacks = np.maximum(0, 1 - (2 * y - 1) * (X @ w - b))
        assert np.isclose(abs(w).sum() + C * slacks.mean(), value, rtol=1e-9)


@pytest.mark.parametrize("scale", [True, False])
def test_l1svm_is_its_literal_statement(scale):
    worst, sizes = 0, set()
    for seed in range(100):
        X, y = make_instance(seed)
        C = PRICES[seed % 5]
        machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
        w, b, value = printed(X, y, C, scale)
        assert np.isclose(machine.objective_, value, rtol=1e-8)
        assert np.isclose(value_of(machine, X, y), value, rtol=1e-8)
        assert np.allclose(machine.scale_, units(X, y, scale), rtol=1e-9)
        assert machine.result_.duality_gap <= 1e-9
        if machine.n_selected_:
            unit = machine.scale_
            close = dict(atol=1e-5 * abs(w * unit).max())
            assert np.allclose(machine.coef_[0] * unit, w * unit, **close)
        worst = max(worst, machine.result_.duality_gap)
        sizes.add(machine.n_selected_)
    assert worst > 0 and 0 in sizes and len(sizes) > 6


@pytest.mark.parametrize("name", SETS)
def test_l1svm_is_its_literal_statement_on_real_data(name):
    X, y = load(name, return_X_y=True)
    for C in (0.1, 10, 1000):
        for scale in (True, False):
            machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
            *_, value = printed(X, y, C, scale)
            assert np.isclose(machine.objective_, value, rtol=1e-7)
            assert np.isclose(value_of(machine, X, y), value, rtol=1e-7)
            assert machine.result_.duality_gap <= 1e-7


@given(st.integers(0, 10**6))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_degenerate_data_too(seed):
    """Few values, equal rows and columns, ties of all kinds, more features than rows."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = rng.integers(2, 20), rng.integers(1, 12)
    X = rng.integers(-1, 2, (n_rows, n_features)).astype(float)
    X = np.hstack([X, X[:, : n_features // 2]])
    y = rng.permutation(np.append([0, 1], rng.integers(0, 2, n_rows - 2)))
    C, scale = float(10 ** rng.uniform(-1, 4)), bool(rng.integers(2))
    machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
    *_, value = printed(X, y, C, scale)
    assert np.isclose(machine.objective_, value, rtol=1e-6)
    assert np.isclose(value_of(machine, X, y), value, rtol=1e-6)
    assert machine.result_.duality_gap <= 1e-7


@pytest.mark.parametrize("name", ["sonar", "pima", "wdbc", "titanic"])
@pytest.mark.parametrize("C", [8, 30, 1000])
def test_conditions_of_optimality(C, name):
    """Multipliers exist that answer for the margins and for the weights."""
    X, y = load(name, return_X_y=True)
    machine = L1SVM(C=C, refit=False).fit(X, y)
    signs = 2.0 * y - 1
    Z = (X - X.mean(axis=0)) / units(X, y)
    margins = signs * machine.decision_function(X)
    assert np.isclose(margins, 1, atol=1e-9).sum() >= machine.n_selected_
    price = C / len(y)
    low = np.where(margins < 1 - 1e-9, price, 0)
    high = np.where(margins > 1 + 1e-9, 0, price)
    multipliers, off = cp.Variable(len(y)), cp.Variable()
    pulls = (Z * signs[:, None]).T @ multipliers
    slopes = np.sign(machine.coef_[0])
    conditions = [
        multipliers >= low,
        multipliers <= high,
        signs @ multipliers == 0,
        pulls <= np.where(slopes == 0, 1, slopes) + off,
        pulls >= np.where(slopes == 0, -1, slopes) - off,
    ]
    assert cp.Problem(cp.Minimize(off), conditions).solve(solver=cp.HIGHS) <= 1e-7


def test_many_features_join_in_batches():
    X, y = make_wide(40, 700)
    for C in (3, 10, 300):
        machine = L1SVM(C=C, refit=False).fit(X, y)
        *_, value = printed(X, y, C)
        assert np.isclose(machine.objective_, value, rtol=1e-7)
        assert 1 <= machine.n_selected_ <= 40 + 1
    # a batch for each feature, and the last features matter
    rng = np.random.default_rng(0)
    X = X + 0.5 * rng.normal(size=(len(y), 1))
    whole = L1SVM(refit=False).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(highs, "BATCH", 1)
        single = L1SVM(refit=False).fit(X, y)
    assert np.isclose(single.objective_, whole.objective_, rtol=1e-9)
    assert np.array_equal(single.support_, whole.support_)


def test_the_offset_is_the_middle_of_the_best():
    X, y = np.array([[0.0], [0], [1], [1]]), np.array([0, 1, 0, 1])
    machine = quiet(L1SVM(), X, y)
    assert machine.intercept_ == [0]
    for seed in range(20):
        X, y = make_instance(seed)
        machine = L1SVM(C=50, refit=False).fit(X, y)
        best = value_of(machine, X, y)
        for move in (-1e-3, 1e-3):
            moved = pickle.loads(pickle.dumps(machine))
            moved.intercept_ += move
            assert value_of(moved, X, y) > best - 1e-9


def test_the_bound_is_one_whatever_the_multipliers():
    """What verifies an answer never exceeds the optimum, and reaches it at the best multipliers."""
    for seed in range(40):
        X, y = make_instance(seed)
        rng = np.random.default_rng(seed)
        Z = (X - X.mean(axis=0)) / units(X, y)
        costs, C = 10 ** rng.uniform(-1, 1, X.shape[1]), 30.0
        shares = rng.dirichlet(np.ones(len(y)))
        program = hinge_programs.HingeProgram(HingeData(Z / costs, 2.0 * y - 1, shares))
        ones = np.ones(len(costs))
        solution = program.solve(ones, C)
        prices = C * shares
        for scale in (1e-4, 1e-3, 0.01, 0.1, 1, 2):
            tried = scale * prices * rng.uniform(-0.2, 1.5, len(y))
            assert program.feasible(tried, ones)[1] <= solution.objective * (1 + 1e-9)
            lopsided = np.where(y == rng.integers(2), tried, prices)
            assert program.feasible(lopsided, ones)[1] <= solution.objective * (1 + 1e-9)
        # where weights are too dear, the offset alone limits the multipliers
        lighter = min(shares[y == 0].sum(), shares[y == 1].sum())
        bound = program.feasible(prices, 1e6 * ones)[1]
        assert np.isclose(bound, 2 * C * lighter, rtol=1e-12)
        assert solution.duality_gap <= 1e-9


# ---------------------------------------------------------------- many classes


WINE = load_wine(return_X_y=True)


def many(seed):
    """A small problem of three to five classes."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    n_rows, n_features = int(rng.integers(count, 30)), int(rng.integers(1, 10))
    y = rng.permutation(np.append(np.arange(count), rng.integers(0, count, n_rows - count)))
    X = rng.normal(size=(n_rows, n_features)) + 2 * rng.normal(size=(count, n_features))[y]
    return (X.round() if seed % 2 else X), y


def in_units_of_all(X, y, scale=True):
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    deviation = pooled_deviation(X, y)
    unit = np.where(deviation > 1e-9, deviation, np.ptp(means, axis=0))
    unit = np.where((unit > 1e-9) & scale, unit, 1)
    return (X - means.mean(axis=0)) / unit, unit


def test_many_classes_are_the_literal_statement_of_each():
    problems = [(*many(seed), [0.5, 5, 50][seed % 3], bool(seed % 5)) for seed in range(50)]
    for X, y, C, scale in [*problems, (*WINE, 3, True)]:
        Z, unit = in_units_of_all(X, y, scale)
        values = [l1svm(Z[y == label], Z[y != label], C)[-1] for label in np.unique(y)]
        machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
        scores = X @ machine.coef_.T + machine.intercept_
        losses = np.maximum(0, 1 - np.where(y[:, None] == np.unique(y), 1, -1) * scores)
        found = abs(machine.coef_ * unit).sum(axis=1) + C * losses.mean(axis=0)
        assert np.allclose(found, values, rtol=1e-6)
        assert np.isclose(machine.objective_, np.sum(values), rtol=1e-6)
        assert machine.result_.counts["linear program"] == len(values)
        assert machine.result_.duality_gap <= 1e-7


@pytest.mark.parametrize("refit", [True, False])
def test_a_class_is_what_its_program_alone_makes_of_it(refit):
    X, y = WINE
    machine = L1SVM(C=20, refit=refit).fit(X, y)
    assert machine.coef_.shape == (3, 13) and machine.intercept_.shape == (3,)
    assert machine.score(X, y) > 0.97
    alone = [L1SVM(C=20, refit=False, scale=False) for _ in range(3)]
    Z, unit = in_units_of_all(X, y)
    supports = [quiet(one, Z, y == k).support_ for k, one in enumerate(alone)]
    assert np.array_equal(machine.support_, np.any(supports, axis=0))
    for k, one in enumerate(alone):
        if not refit:
            assert np.allclose(machine.coef_[k] * unit, one.coef_[0], atol=1e-7)
            continue
        chosen = machine.support_
        shares = np.full(len(y), 1 / len(y))
        other = SVC(kernel="linear", C=20, tol=1e-8).fit(Z[:, chosen], y == k, shares)
        assert np.allclose((machine.coef_[k] * unit)[chosen], other.coef_[0], atol=1e-4)


def test_names_and_order_of_many_classes_do_not_matter():
    X, y = WINE
    rows = np.random.default_rng(0).permutation(len(y))
    machine = L1SVM(C=20).fit(X, y)
    names = np.array([2, 0, 1])
    moved = L1SVM(C=20).fit(X[rows], names[y][rows])
    assert np.isclose(moved.objective_, machine.objective_, rtol=1e-9)
    assert np.allclose(moved.coef_[names], machine.coef_, atol=1e-4 * abs(machine.coef_).max())
    words = np.array(["p", "q", "r"])
    assert np.array_equal(L1SVM(C=20).fit(X, words[y]).predict(X), words[machine.predict(X)])
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = L1SVM(C=20).fit(X, y, sample_weight=weights)
    repeated = L1SVM(C=20).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.coef_, repeated.coef_)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("refit", [True, False])
def test_so_many_features_of_a_linear_program(refit, scale):
    for X, y in (WINE, load("sonar", return_X_y=True)):
        full = L1SVM(C=20, refit=False, scale=scale).fit(X, y)
        order = np.argsort(-np.linalg.norm(full.coef_ * full.scale_, axis=0))
        assert full.n_selected_ > 3
        for size in (1, 3):
            machine = L1SVM(C=20, n_features=size, refit=refit, scale=scale).fit(X, y)
            assert set(np.flatnonzero(machine.support_)) == set(order[:size])
            assert machine.objective_ == full.objective_
            if not refit:
                chosen = order[:size]
                assert np.array_equal(machine.coef_[:, chosen], full.coef_[:, chosen])
                signs = np.where(y == y.max(), 1, -1)
                scores = X @ machine.coef_[-1] + machine.intercept_[-1]
                at, before, after = (
                    np.maximum(0, 1 - signs * (scores + moved)).sum() for moved in (0, -0.01, 0.01)
                )
                assert at <= min(before, after) * (1 + 1e-12)
        same = L1SVM(C=20, n_features=full.n_selected_, refit=False, scale=scale).fit(X, y)
        assert np.array_equal(same.coef_, full.coef_)
        assert np.array_equal(same.intercept_, full.intercept_)
        few = full.n_selected_
        with pytest.warns(SelectionWarning, match=f"={few + 1}, but only {few} have a weight"):
            assert L1SVM(C=20, n_features=few + 1, scale=scale).fit(X, y).n_selected_ == few


def test_classes_without_a_feature_are_named():
    X, y = WINE
    with pytest.warns(SelectionWarning, match=r"C=1e-05 is too small.*enters at C=") as caught:
        nothing = L1SVM(C=1e-5).fit(X, y)
    assert len(caught) == 1 and not nothing.coef_.any()
    assert (nothing.intercept_ == -1).all()
    entry = named(caught)
    Z, _ = in_units_of_all(X, y)
    firsts = [entry_by_definition(Z / pooled_deviation(Z, y == k), y == k) for k in range(3)]
    assert 0 < entry < 10 * min(firsts)
    with pytest.warns(SelectionWarning):
        assert L1SVM(C=entry * (1 - 1e-3)).fit(X, y).n_selected_ == 0
    words = np.array(["p", "q", "r"])
    with pytest.warns(SelectionWarning, match="for class '[pqr]'(, '[pqr]')?; the features") as c:
        machine = L1SVM(C=entry * (1 + 1e-3), refit=False).fit(X, words[y])
    idle = [
        repr(word) for word, row in zip(words.tolist(), machine.coef_, strict=True) if not row.any()
    ]
    assert idle and f"class {', '.join(idle)};" in str(c[0].message)
    assert machine.n_selected_ >= 1


# ---------------------------------------------------------------- refit


def soft_margin_value(w, b, Z, signs, C):
    return w @ w / 2 + C * np.maximum(0, 1 - signs * (Z @ w + b)).mean()


@pytest.mark.parametrize("scale", [True, False])
def test_the_refit_is_the_soft_margin_machine_of_the_support(scale):
    for seed in range(15):
        X, y = make_instance(seed)
        C = [20, 50, 100][seed % 3]
        raw = L1SVM(C=C, refit=False, scale=scale).fit(X, y)
        machine = L1SVM(C=C, scale=scale).fit(X, y)
        assert np.array_equal(machine.support_, raw.support_)
        assert machine.objective_ == raw.objective_
        assert not np.allclose(machine.coef_, raw.coef_, rtol=1e-3)
        chosen, signs = machine.support_, 2 * y - 1
        unit = units(X, y, scale)[chosen]
        Z = (X[:, chosen] - X[:, chosen].mean(axis=0)) / unit
        w, b = cp.Variable(chosen.sum()), cp.Variable()
        loss = cp.sum(cp.pos(1 - cp.multiply(signs, Z @ w + b))) / len(y)
        best = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * loss)).solve(solver=cp.CLARABEL)
        ours = machine.coef_[0, chosen] * unit
        offset = machine.intercept_[0] + machine.coef_[0] @ X.mean(axis=0)
        value = soft_margin_value(ours, offset, Z, signs, C)
        assert np.isclose(value, best, rtol=1e-6)
        assert machine.result_.duality_gap <= 1e-6


# ---------------------------------------------------------------- small prices


def entry_by_definition(X, y):
    """One over the least t that multipliers can hold all features' pulls to without weights.

    Rows of the lighter class are inside the margin, so their multipliers are at the price; those
    of the heavier class are on the margin, and add up to the same.
    """
    Z = (X - X.mean(axis=0)) / units(X, y)
    light = min((0, 1), key=lambda label: np.sum(y == label))
    free, t = cp.Variable(np.sum(y != light)), cp.Variable()
    pulls = Z[y == light].sum(axis=0) / len(y) - Z[y != light].T @ free
    limits = [free >= 0, free <= 1 / len(y), cp.sum(free) == np.mean(y == light)]
    return 1 / cp.Problem(cp.Minimize(t), [*limits, pulls <= t, pulls >= -t]).solve(solver=cp.HIGHS)


def named(caught):
    found = re.search(r"first one enters at C=([\d.e+-]+)", str(caught[0].message))
    return float(found[1])


@pytest.mark.parametrize("name", SETS)
def test_a_small_price_selects_nothing_and_names_the_first_that_does(name):
    X, y = load(name, return_X_y=True)
    X = X[:, pooled_deviation(X, y) > 0]
    known = entry_by_definition(X, y)
    with pytest.warns(SelectionWarning, match="C=0.001 is too small") as caught:
        machine = L1SVM(C=0.001).fit(X, y)
    assert np.isclose(named(caught), known, rtol=1e-5)
    assert not machine.coef_.any() and machine.n_selected_ == 0
    share = np.bincount(y) / len(y)
    assert np.isclose(machine.objective_, 0.002 * share.min())
    assert machine.intercept_ == [1 if share[1] > share[0] else -1]
    assert (machine.predict(X) == share.argmax()).all()
    assert L1SVM(C=known * (1 + 1e-3)).fit(X, y).n_selected_ >= 1
    with pytest.warns(SelectionWarning):
        assert L1SVM(C=known * (1 - 1e-3)).fit(X, y).n_selected_ == 0


def test_the_first_price_of_random_instances():
    for seed in range(30):
        X, y = make_instance(seed)
        with pytest.warns(SelectionWarning) as caught:
            L1SVM(C=1e-6).fit(X, y)
        assert np.isclose(named(caught), entry_by_definition(X, y), rtol=1e-5)


def test_the_heavier_class_counts_weights():
    X, y = np.array([[0.0], [1], [2], [3]]), np.array([0, 0, 0, 1])
    assert quiet(L1SVM(C=0.01), X, y).predict([[3.0]]) == [0]
    machine = quiet(L1SVM(C=0.01), X, y, sample_weight=[1, 1, 1, 4])
    assert machine.predict([[0.0]]) == [1]


def test_a_class_of_hardly_any_weight_is_the_lighter():
    for tiny in (1e-3, 1e-6, 1e-9, 1e-14, 1e-18):
        machine = quiet(L1SVM(), GOOD, LABELS, sample_weight=[1, 1, 1, tiny, tiny, tiny])
        assert machine.n_selected_ == 0 and (machine.predict(GOOD) == 0).all()
        machine = quiet(L1SVM(), GOOD, LABELS, sample_weight=[tiny, tiny, tiny, 1, 1, 1])
        assert machine.n_selected_ == 0 and (machine.predict(GOOD) == 1).all()


def test_where_no_line_gains_no_price_selects():
    X, y = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
    with pytest.warns(SelectionWarning, match=r"none up to C=1e\+06"):
        machine = L1SVM(C=1000).fit(X, y)
    assert not machine.coef_.any() and machine.intercept_ == [0]
    assert np.isclose(machine.objective_, 1000)


# ---------------------------------------------------------------- other data


def test_units_matter_where_they_are_not_scaled():
    X, y = load("pima", return_X_y=True)
    for j in range(X.shape[1]):
        unit = np.where(np.arange(X.shape[1]) == j, 1e5, 1)
        assert L1SVM(scale=False, refit=False).fit(X * unit, y).support_[j]
    one = L1SVM().fit(X * unit, y)
    assert not one.support_.all()
    assert np.array_equal(one.support_, L1SVM().fit(X, y).support_)


def test_separable_data_at_a_large_price_get_the_widest_margin():
    X, y = load("sonar", return_X_y=True)
    machine = L1SVM(C=1e6, refit=False).fit(X, y)
    margins = np.where(y == 1, 1, -1) * machine.decision_function(X)
    assert margins.min() > 1 - 1e-9
    Z = (X - X.mean(axis=0)) / units(X, y)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    hard = [cp.multiply(2 * y - 1, Z @ w + b) >= 1]
    least = cp.Problem(cp.Minimize(cp.norm1(w)), hard).solve(solver=cp.HIGHS)
    assert np.isclose(machine.objective_, least, rtol=1e-6)


def test_duplicated_columns_change_no_value():
    for name in ("pima", "sonar"):
        X, y = load(name, return_X_y=True)
        for C in (10, 1000):
            machine = L1SVM(C=C, refit=False).fit(X, y)
            double = L1SVM(C=C, refit=False).fit(np.hstack([X, X]), y)
            assert np.isclose(double.objective_, machine.objective_, rtol=1e-9)
            halves = np.split(double.coef_[0], 2)
            assert not np.logical_and(*halves).any()
            assert np.allclose(np.sum(halves, axis=0), machine.coef_[0], rtol=1e-5, atol=1e-9)


def test_numbers_far_from_zero_cost_no_digits():
    X, y = make_instance(4)
    machine = L1SVM(C=20, refit=False).fit(X, y)
    far = L1SVM(C=20, refit=False).fit(X + 1e6, y)
    assert np.isclose(far.objective_, machine.objective_, rtol=1e-7)


# ---------------------------------------------------------------- what is refused, and said


@pytest.mark.parametrize("what", ["columns", "duals"])
def test_an_answer_that_is_not_verified_is_none(monkeypatch, what):
    X, y = load("wdbc", return_X_y=True)
    true = getattr(highs.DualModel, what)
    monkeypatch.setattr(highs.DualModel, what, lambda model: 0.999 * true(model))
    with pytest.raises(SubproblemError, match="duality gap .* more than 1e-07.*pass a smaller C|P"):
        L1SVM().fit(X, y)


def test_a_warning_never_fails(monkeypatch):
    X, y = load("pima", return_X_y=True)

    def fail(*_):
        raise SubproblemError("no answer")

    monkeypatch.setattr(hinge_programs.HingeProgram, "entry", fail)
    with pytest.warns(SelectionWarning, match="C=0.1 is too small.* was not found"):
        assert L1SVM(C=0.1).fit(X, y).n_selected_ == 0


def test_other_uses_of_the_solver_do_not_disturb():
    X, y = load("pima", return_X_y=True)
    known = L1SVM(refit=False).fit(X, y).objective_
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVars(1, np.zeros(1), np.ones(1))
    assert other.run() == highspy.HighsStatus.kOk
    assert L1SVM(refit=False).fit(X, y).objective_ == known
    highspy.Highs.resetGlobalScheduler(True)
