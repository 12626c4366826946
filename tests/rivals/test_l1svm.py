"""The l1 machine: equal to its literal statement, and as good as it says."""

import re

import cvxpy as cp
import highspy
import numpy as np
import pytest
from definitions import pooled_deviation, quiet, units
from instances import GOOD, LABELS, draw
from sklearn.datasets import load_wine

from fsnotes import L1SVM, load, make_instance, make_wide
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.literal import l1svm
from fsnotes.solvers import highs, hinge_programs
from fsnotes.solvers.hinge import HingeData

SETS = ["sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic", "wdbc"]
WINE = load_wine(return_X_y=True)


def printed(X, y, C, scale=True):
    """Weights in units of selection, and value, of the literal statement."""
    Z = (X - X.mean(axis=0)) / units(X, y, scale)
    w, _, value = l1svm(Z[y == y.max()], Z[y == y.min()], C)
    return w, value


def value_of(machine, X, y):
    """The objective, from the coefficients as they are."""
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    loss = np.maximum(0, 1 - margins).mean()
    return abs(machine.coef_[0] * machine.scale_).sum() + machine.C * loss


# ---------------------------------------------------------------- optimality


def test_the_literal_statement_is_what_another_solver_finds():
    for seed in range(12):
        X, y = make_instance(seed)
        X, signs, C = X / X.std(axis=0), 2 * y - 1, [3, 10, 30][seed % 3]
        w, b, value = l1svm(X[y == 1], X[y == 0], C)
        direction, offset = cp.Variable(X.shape[1]), cp.Variable()
        loss = cp.sum(cp.pos(1 - cp.multiply(signs, X @ direction - offset))) / len(y)
        problem = cp.Problem(cp.Minimize(cp.norm1(direction) + C * loss))
        assert np.isclose(value, problem.solve(solver=cp.CLARABEL), rtol=1e-6)
        losses = np.maximum(0, 1 - signs * (X @ w - b))
        assert np.isclose(abs(w).sum() + C * losses.mean(), value, rtol=1e-9)


@pytest.mark.parametrize("scale", [True, False])
def test_l1svm_is_its_literal_statement(scale):
    worst, sizes = 0, set()
    for seed in range(100):
        X, y = make_instance(seed)
        C = [0.5, 3, 10, 100, 1000][seed % 5]
        machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
        w, value = printed(X, y, C, scale)
        assert np.isclose(machine.objective_, value, rtol=1e-8)
        assert np.isclose(value_of(machine, X, y), value, rtol=1e-8)
        assert np.allclose(machine.scale_, units(X, y, scale), rtol=1e-9)
        assert machine.result_.duality_gap <= 1e-9
        if machine.n_selected_:
            assert np.allclose(machine.coef_[0] * machine.scale_, w, atol=1e-5 * abs(w).max())
        worst = max(worst, machine.result_.duality_gap)
        sizes.add(machine.n_selected_)
    assert worst > 0 and 0 in sizes and len(sizes) > 6


@pytest.mark.parametrize("name", SETS)
def test_l1svm_is_its_literal_statement_on_real_data(name):
    X, y = load(name, return_X_y=True)
    for C in (0.1, 10, 1000, 1e6):
        for scale in (True, False):
            machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
            _, value = printed(X, y, C, scale)
            assert np.isclose(machine.objective_, value, rtol=1e-7)
            assert np.isclose(value_of(machine, X, y), value, rtol=1e-7)
            assert machine.result_.duality_gap <= 1e-7


def test_degenerate_data_too():
    """Few values, equal rows and columns, ties of all kinds, more features than rows."""
    for seed in range(100):
        X, y = draw(seed, integer=True, repeated=True)
        rng = np.random.default_rng(seed)
        C, scale = float(10 ** rng.uniform(-1, 4)), bool(rng.integers(2))
        machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
        _, value = printed(X, y, C, scale)
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        assert np.isclose(value_of(machine, X, y), value, rtol=1e-6)
        assert machine.result_.duality_gap <= 1e-7


def test_many_features_join_in_batches(monkeypatch):
    X, y = make_wide(40, 700)
    for C in (3, 10, 300):
        machine = L1SVM(C=C, refit=False).fit(X, y)
        assert np.isclose(machine.objective_, printed(X, y, C)[1], rtol=1e-7)
        assert 1 <= machine.n_selected_ <= 40 + 1
    # a batch for each feature, and the last features matter
    X = X + 0.5 * np.random.default_rng(0).normal(size=(len(y), 1))
    whole = L1SVM(refit=False).fit(X, y)
    monkeypatch.setattr(highs, "BATCH", 1)
    single = L1SVM(refit=False).fit(X, y)
    assert np.isclose(single.objective_, whole.objective_, rtol=1e-9)
    assert np.array_equal(single.support_, whole.support_)


def test_the_bound_is_one_whatever_the_multipliers():
    """What verifies an answer never exceeds the optimum, and reaches it at the best multipliers."""
    for seed in range(40):
        X, y = make_instance(seed)
        rng = np.random.default_rng(seed)
        Z = (X - X.mean(axis=0)) / units(X, y)
        costs, C = 10 ** rng.uniform(-1, 1, X.shape[1]), 30.0
        weights = rng.dirichlet(np.ones(len(y)))
        program = hinge_programs.HingeProgram(HingeData(Z / costs, 2.0 * y - 1, weights))
        ones = np.ones(len(costs))
        solution = program.solve(ones, C)
        caps = C * weights
        for scale in (1e-4, 1e-3, 0.01, 0.1, 1, 2):
            tried = scale * caps * rng.uniform(-0.2, 1.5, len(y))
            lopsided = np.where(y == rng.integers(2), tried, caps)
            for multipliers in (tried, lopsided):
                assert program.feasible(multipliers, ones)[1] <= solution.objective * (1 + 1e-9)
        # where weights are too expensive, the offset alone limits the multipliers
        lighter = min(weights[y == 0].sum(), weights[y == 1].sum())
        assert np.isclose(program.feasible(caps, 1e6 * ones)[1], 2 * C * lighter, rtol=1e-12)
        assert solution.duality_gap <= 1e-9


def test_copies_of_columns_and_numbers_far_from_zero_change_no_value():
    for name in ("pima", "sonar"):
        X, y = load(name, return_X_y=True)
        for C in (10, 1000):
            machine = L1SVM(C=C, refit=False).fit(X, y)
            double = L1SVM(C=C, refit=False).fit(np.hstack([X, X]), y)
            assert np.isclose(double.objective_, machine.objective_, rtol=1e-9)
            # at a vertex only one of two equal columns has a weight
            halves = np.split(double.coef_[0], 2)
            assert not np.logical_and(*halves).any()
            assert np.allclose(np.sum(halves, axis=0), machine.coef_[0], rtol=1e-5, atol=1e-9)
            far = L1SVM(C=C, refit=False).fit(X + 1e6, y)
            assert np.isclose(far.objective_, machine.objective_, rtol=1e-7)


# ---------------------------------------------------------------- many classes, refit, number


def test_many_classes_are_the_literal_statement_of_each():
    problems = [(*WINE, 3, True)]
    for seed in range(50):
        data = draw(seed, n_classes=3 + seed % 3, integer=bool(seed % 2))
        problems.append((*data, [0.5, 5, 50][seed % 3], bool(seed % 5)))
    for X, y, C, scale in problems:
        unit = units(X, y, scale)
        Z = (X - X.mean(axis=0)) / unit
        values = [l1svm(Z[y == label], Z[y != label], C)[-1] for label in np.unique(y)]
        machine = quiet(L1SVM(C=C, refit=False, scale=scale), X, y)
        scores = machine.decision_function(X)
        losses = np.maximum(0, 1 - np.where(y[:, None] == np.unique(y), 1, -1) * scores)
        found = abs(machine.coef_ * unit).sum(axis=1) + C * losses.mean(axis=0)
        assert np.allclose(found, values, rtol=1e-6)
        assert np.isclose(machine.objective_, np.sum(values), rtol=1e-6)
        assert machine.result_.counts["linear program"] == len(values)
        assert machine.result_.duality_gap <= 1e-7


@pytest.mark.parametrize("scale", [True, False])
def test_the_refit_is_the_soft_margin_machine_of_the_support(scale):
    problems = [(*make_instance(seed), [20, 50, 100][seed % 3]) for seed in range(15)]
    for X, y, C in [(*WINE, 20), *problems]:
        raw = L1SVM(C=C, refit=False, scale=scale).fit(X, y)
        machine = L1SVM(C=C, scale=scale).fit(X, y)
        assert np.array_equal(machine.support_, raw.support_)
        assert machine.objective_ == raw.objective_
        assert not np.allclose(machine.coef_, raw.coef_, rtol=1e-3)
        assert machine.result_.duality_gap <= 1e-6
        moved = L1SVM(C=C, scale=scale).fit(X[::-1], y[::-1])
        assert np.isclose(moved.objective_, machine.objective_, rtol=1e-9)
        assert np.allclose(moved.coef_, machine.coef_, atol=1e-4 * abs(machine.coef_).max())
        Z = X[:, machine.support_] / machine.scale_[machine.support_]
        Z = Z - Z.mean(axis=0)
        scores = machine.decision_function(X).reshape(len(y), -1)
        labels = machine.classes_[-len(machine.coef_) :]
        for row, own, label in zip(machine.coef_, scores.T, labels, strict=True):
            signs = np.where(y == label, 1, -1)
            w, b = cp.Variable(Z.shape[1]), cp.Variable()
            loss = cp.sum(cp.pos(1 - cp.multiply(signs, Z @ w + b))) / len(y)
            problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * loss))
            value = np.sum((row * machine.scale_) ** 2) / 2
            value += C * np.maximum(0, 1 - signs * own).mean()
            assert np.isclose(value, problem.solve(solver=cp.CLARABEL), rtol=1e-6)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("refit", [True, False])
def test_so_many_features_of_a_linear_program(refit, scale):
    for X, y in (WINE, load("sonar", return_X_y=True)):
        full = L1SVM(C=20, refit=False, scale=scale).fit(X, y)
        order = np.argsort(-np.linalg.norm(full.coef_ * full.scale_, axis=0))
        found = full.n_selected_
        for size in (1, 3, found):
            machine = L1SVM(C=20, n_features=size, refit=refit, scale=scale).fit(X, y)
            assert set(np.flatnonzero(machine.support_)) == set(order[:size])
            assert machine.objective_ == full.objective_
            if refit:
                continue
            assert np.array_equal(machine.coef_[:, order[:size]], full.coef_[:, order[:size]])
            signs = np.where(y == y.max(), 1, -1)
            scores = X @ machine.coef_[-1] + machine.intercept_[-1]
            at, before, after = (
                np.maximum(0, 1 - signs * (scores + moved)).sum() for moved in (0, -0.01, 0.01)
            )
            assert at <= min(before, after) * (1 + 1e-12)
        assert refit or np.array_equal(machine.intercept_, full.intercept_)
        with pytest.warns(SelectionWarning, match=f"={found + 1}, but only {found} have a weight"):
            more = L1SVM(C=20, n_features=found + 1, scale=scale).fit(X, y)
        assert more.n_selected_ == found > 3


# ---------------------------------------------------------------- a small C


def entry_by_definition(X, y):
    """One over the least t that multipliers can hold all features' pulls to without weights.

    Rows of the lighter class are inside the margin, so their multipliers are at the cap; those
    of the heavier class are on the margin, and add up to the same.
    """
    Z = (X - X.mean(axis=0)) / units(X, y)
    light = min((0, 1), key=lambda label: np.sum(y == label))
    free, t = cp.Variable(np.sum(y != light)), cp.Variable()
    pulls = Z[y == light].sum(axis=0) / len(y) - Z[y != light].T @ free
    limits = [free >= 0, free <= 1 / len(y), cp.sum(free) == np.mean(y == light)]
    return 1 / cp.Problem(cp.Minimize(t), [*limits, pulls <= t, pulls >= -t]).solve(solver=cp.HIGHS)


def named(caught):
    return float(re.search(r"first one enters at C=([\d.e+-]+)", str(caught[0].message))[1])


@pytest.mark.parametrize("name", SETS)
def test_a_small_C_selects_nothing_and_names_the_first_that_does(name):
    X, y = load(name, return_X_y=True)
    X = X[:, pooled_deviation(X, y) > 0]
    known = entry_by_definition(X, y)
    with pytest.warns(SelectionWarning, match="C=0.001 is too small") as caught:
        machine = L1SVM(C=0.001).fit(X, y)
    assert np.isclose(named(caught), known, rtol=1e-5)
    assert machine.n_selected_ == 0
    parts = np.bincount(y) / len(y)
    # each row of the lighter class has a loss of 2 where there are no weights
    assert np.isclose(machine.objective_, 0.002 * parts.min())
    assert machine.intercept_ == [1 if parts[1] > parts[0] else -1]
    assert L1SVM(C=known * (1 + 1e-3)).fit(X, y).n_selected_ >= 1
    with pytest.warns(SelectionWarning):
        assert L1SVM(C=known * (1 - 1e-3)).fit(X, y).n_selected_ == 0


def test_the_first_C_of_random_instances():
    for seed in range(30):
        X, y = make_instance(seed)
        with pytest.warns(SelectionWarning) as caught:
            L1SVM(C=1e-6).fit(X, y)
        assert np.isclose(named(caught), entry_by_definition(X, y), rtol=1e-5)


def test_classes_without_a_feature_are_named():
    X, y = WINE
    with pytest.warns(SelectionWarning, match=r"C=1e-05 is too small.*enters at C=") as caught:
        nothing = L1SVM(C=1e-5).fit(X, y)
    assert len(caught) == 1 and not nothing.coef_.any()
    assert (nothing.intercept_ == -1).all()
    entry = named(caught)
    with pytest.warns(SelectionWarning):
        assert L1SVM(C=entry * (1 - 1e-3)).fit(X, y).n_selected_ == 0
    words = np.array(["p", "q", "r"])
    with pytest.warns(SelectionWarning, match="for class '[pqr]'(, '[pqr]')?; the features") as c:
        machine = L1SVM(C=entry * (1 + 1e-3), refit=False).fit(X, words[y])
    idle = [repr(word) for word in words[~machine.coef_.any(axis=1)].tolist()]
    assert idle and f"class {', '.join(idle)};" in str(c[0].message)
    assert machine.n_selected_ >= 1


def test_the_heavier_class_counts_weights():
    X, y = np.array([[0.0], [1], [2], [3]]), np.array([0, 0, 0, 1])
    assert quiet(L1SVM(C=0.01), X, y).predict([[3.0]]) == [0]
    machine = quiet(L1SVM(C=0.01), X, y, sample_weight=[1, 1, 1, 4])
    assert machine.predict([[0.0]]) == [1]
    for tiny in (1e-3, 1e-6, 1e-9, 1e-14, 1e-18):
        for heavy in (0, 1):
            weights = np.where(np.array(LABELS) == heavy, 1, tiny)
            machine = quiet(L1SVM(), GOOD, LABELS, sample_weight=weights)
            assert machine.n_selected_ == 0 and (machine.predict(GOOD) == heavy).all()


def test_where_no_line_gains_no_C_selects():
    X, y = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
    with pytest.warns(SelectionWarning, match=r"none up to C=1e\+06"):
        machine = L1SVM(C=1000).fit(X, y)
    # of all offsets from -1 to 1, which are as good, the middle one
    assert not machine.coef_.any() and machine.intercept_ == [0]
    assert np.isclose(machine.objective_, 1000)


def test_a_warning_never_fails(monkeypatch):
    def fail(*_):
        raise SubproblemError("no answer")

    monkeypatch.setattr(hinge_programs.HingeProgram, "entry", fail)
    with pytest.warns(SelectionWarning, match="C=0.1 is too small.* was not found"):
        assert L1SVM(C=0.1).fit(*load("pima", return_X_y=True)).n_selected_ == 0


@pytest.mark.parametrize("what", ["columns", "duals"])
def test_an_answer_that_is_not_verified_is_none(monkeypatch, what):
    true = getattr(highs.DualModel, what)
    monkeypatch.setattr(highs.DualModel, what, lambda model: 0.999 * true(model))
    with pytest.raises(SubproblemError, match="duality gap .* more than 1e-07.*Pass a smaller C"):
        L1SVM().fit(*load("wdbc", return_X_y=True))


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
