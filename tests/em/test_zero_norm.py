"""The zero-norm support vector machine: what it descends, where it ends, and how far from exact."""

import itertools
import re
import warnings
from functools import partial

import cvxpy as cp
import numpy as np
import optimality
import pytest
from definitions import (
    Losses,
    descended,
    exact,
    falls_of,
    in_units,
    least_loss,
    objective_of,
    quiet,
    scaled,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from fsnotes import L1SVM, ZeroNormSVM, load, make_instance, make_wide
from fsnotes.core.reweighting import DESCENT, Run, SoftMargins, descending
from fsnotes.em.zero_norm import ZeroNorm
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.literal import zero_norm_svm
from fsnotes.solvers import highs
from fsnotes.solvers.hinge import HingeData
from fsnotes.solvers.margin import SoftMargin

SETS = ["sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic", "wdbc"]
PRICES = [0.1, 0.5, 2, 10, 50]


# ---------------------------------------------------------------- what the steps descend


@pytest.mark.parametrize("start", ["large_C", "identity"])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0, 1.7])
def test_the_objective_never_rises_within_a_stage(p, start):
    falls = 0
    below = []
    in_stages = start == "large_C" and p < 1
    for seed in range(25):
        X, y = make_instance(seed)
        Z, signs = scaled(X, y)
        C = PRICES[seed % 5]
        solver = SoftMargins(HingeData(Z, signs, np.ones(len(signs))))
        run = Run(solver.data, solver, partial(ZeroNorm, p=p))
        run.descend(run.begin(descending(C) if in_stages else [C]), 1e-6, 5000)
        points = [w for _, w in run.visited]
        assert run.result.status == "converged"
        assert run.result.steps[-1].stage == (len(DESCENT) - 1 if in_stages else 0)
        assert np.isclose(run.floor, 1e-6 * abs(points[0]).max())
        own = [descended(Z, signs, w, at, p, run.floor) for at, w in run.visited]
        falls += falls_of(run, own, 1e-9)
        below.extend(x for w in points for x in abs(w[w != 0]) <= run.floor)
        machine = ZeroNormSVM(C=C, p=p, start=start, refit=False, max_iter=5000)
        quiet(machine, X, y)
        assert np.allclose(in_units(machine), points[-1], rtol=1e-5, atol=1e-8)
        assert abs(machine.n_iter_ - len(points)) <= 3  # rows are in another order
        counts = [step.n_selected for step in machine.result_.steps]
        assert counts == sorted(counts, reverse=True)
    assert falls > 50
    assert np.mean(below) < 0.02  # where dropping them would cost more than it gains


@given(st.just(0.0) | st.floats(1e-3, 2), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_squares_lie_above_the_penalty_and_touch(p, size, other):
    def penalty(t):
        return 2 * np.log(t) if p == 0 else 2 / p * t**p

    column = ZeroNorm(None, None, 1.0, 0.0, p=p).tangent(np.array([size]))[0]
    above = penalty(size) + (other**2 - size**2) / column**2
    assert above >= penalty(other) - 1e-9 * (1 + abs(above) + abs(penalty(size)))
    slope = (penalty(size * (1 + 1e-6)) - penalty(size * (1 - 1e-6))) / (2e-6 * size)
    assert np.isclose(slope, 2 * size / column**2, rtol=1e-3)


# ---------------------------------------------------------------- where they end


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("start", ["large_C", "identity"])
def test_what_is_left_meets_the_conditions_of_a_fixed_point(start, p):
    """Multipliers from 0 to C exist, with ``w_j sum_i a_i y_i x_ij = 2 |w_j|**p``."""
    kept = 0
    for seed in range(20):
        X, y = make_instance(seed)
        C = PRICES[seed % 5]
        machine = ZeroNormSVM(C=C, p=p, start=start, refit=False, tol=1e-9, max_iter=1000)
        quiet(machine, X, y)
        assert machine.result_.status == "converged"
        Z, signs = scaled(X, y)
        live = machine.support_
        if not live.any():
            continue
        kept += live.sum()
        w = in_units(machine)[live]
        margins = signs * machine.decision_function(X)
        assert optimality.balance(Z[:, live] * w, signs, C, margins, 2 * abs(w) ** p) <= 1e-5
        # any set of them would cost 2 each in hinge losses
        if p == 0:
            without = np.zeros(Z.shape[1])
            without[live] = w
            loss = least_loss(Z, signs, without)
            for j in np.flatnonzero(live):
                less = np.where(np.arange(len(without)) == j, 0, without)
                assert C * (least_loss(Z, signs, less) - loss) >= 2 - 1e-4
    assert kept > 20


def assert_literal(X, y, C, scale=True):
    """Without a refit it is the literal statement; return the machine, and weights of that.

    Values are those to 1e-6 once the floors are: each solver's own depends on its first machine.
    """
    machine = quiet(ZeroNormSVM(C=C, start="identity", refit=False, scale=scale), X, y)
    Z, signs = scaled(X, y) if scale else (X - X.mean(axis=0), 2.0 * y - 1)
    w, _, value, _ = zero_norm_svm(Z, signs, C)
    assert np.array_equal(w != 0, machine.support_[X.std(axis=0) > 0])
    first = SoftMargin(Z, signs, np.ones(len(signs))).solve(np.ones(Z.shape[1]), C)
    own = descended(Z, signs, w, C, 0, 1e-6 * abs(first.weights).max())
    assert np.isclose(machine.result_.objective, own, rtol=1e-6, atol=1e-6)
    assert np.isclose(value, own, rtol=1e-4, atol=1e-3)
    return machine, w


def test_it_is_its_literal_statement():
    sizes = []
    for seed in range(48):  # without units the numbers are taken as they are
        machine, w = assert_literal(*make_instance(seed), PRICES[seed % 5], scale=seed < 40)
        assert np.allclose(in_units(machine), w, rtol=1e-3, atol=1e-4)
        sizes.append(machine.n_selected_)
    assert min(sizes) == 0 and len(set(sizes)) > 5


@pytest.mark.parametrize("name", SETS)
def test_it_is_its_literal_statement_on_real_data(name):
    for C in (0.3, 1, 10):
        assert_literal(*load(name, return_X_y=True), C)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_so_many_features_as_in_the_literal_statement(size):
    for seed in range(12):
        X, y = make_instance(seed)
        machine = ZeroNormSVM(C=0.3, start="identity", refit=False, n_features=size)
        quiet(machine, X, y)
        w, *_ = zero_norm_svm(*scaled(X, y), 0.3, n_features=size)
        assert machine.n_selected_ == size
        assert np.array_equal(w != 0, machine.support_)
        assert np.allclose(in_units(machine), w, rtol=1e-2, atol=1e-3)


def test_more_features_than_rows():
    X, y = make_wide(40, 600)
    assert 1 <= assert_literal(X, y, 10)[0].n_selected_ < 20
    found = ZeroNormSVM().fit(X, y)
    assert 1 <= found.n_selected_ <= 6 and np.isclose(found.objective_, objective_of(found, X, y))


# ---------------------------------------------------------------- other penalties


@pytest.mark.parametrize("p", [2, np.inf])
def test_two_and_infinity_are_one_convex_program(p):
    for seed in range(15):
        X, y = make_instance(seed)
        Z, signs = scaled(X, y)
        C = PRICES[seed % 5]
        w, b = cp.Variable(Z.shape[1]), cp.Variable()
        loss = cp.sum(cp.pos(1 - cp.multiply(signs, Z @ w + b)))
        penalty = cp.sum_squares(w) if p == 2 else cp.norm_inf(w)
        best = cp.Problem(cp.Minimize(penalty + C * loss)).solve(solver=cp.CLARABEL)
        for start in ("large_C", "identity"):
            machine = quiet(ZeroNormSVM(C=C, p=p, start=start, refit=False), X, y)
            ours = in_units(machine)
            size = ours @ ours if p == 2 else abs(ours).max()
            assert np.isclose(machine.result_.objective, best, rtol=1e-6)
            assert np.isclose(size + C * least_loss(Z, signs, ours), best, rtol=1e-6)
            assert machine.result_.duality_gap <= 1e-6 and machine.n_iter_ == 1


def test_one_is_twice_the_one_norm():
    """The penalty is convex, so that the steps reach the optimum from anywhere."""
    for seed in range(10):
        X, y = make_instance(seed)
        Z, signs = scaled(X, y)
        known = quiet(L1SVM(C=2.0 * len(y) / 2, refit=False), X, y).objective_ * 2
        for start in ("large_C", "identity"):
            machine = ZeroNormSVM(C=2.0, p=1.0, start=start, refit=False, max_iter=1000)
            quiet(machine, X, y)
            w = in_units(machine)
            value = 2 * abs(w).sum() + 2.0 * least_loss(Z, signs, w)
            assert np.isclose(value, known, rtol=1e-7)


def test_small_powers_come_near_the_logarithm():
    X, y = make_instance(8)
    machine = quiet(ZeroNormSVM(C=2, start="identity", refit=False), X, y)
    near = quiet(ZeroNormSVM(C=2, p=1e-4, start="identity", refit=False), X, y)
    assert machine.n_selected_ > 1 and np.array_equal(machine.support_, near.support_)
    assert np.allclose(machine.coef_, near.coef_, rtol=1e-2, atol=1e-3)


# ---------------------------------------------------------------- how far from exact


def test_distance_from_the_exact_optimum():
    seeds, hits, excess = range(30), {}, {}
    for seed in seeds:
        X, y = make_instance(seed)
        C = [0.1, 0.3, 1.0][seed % 3]
        best, _ = exact(seed, C)
        for way in itertools.product(("large_C", "identity"), (True, False)):
            machine = quiet(ZeroNormSVM(C=C, start=way[0], refit=way[1]), X, y)
            value = machine.objective_
            assert np.isclose(value, objective_of(machine, X, y), rtol=1e-9)
            assert value >= best * (1 - 1e-7)
            hits[way] = hits.get(way, 0) + (value <= best * (1 + 1e-6))
            excess[way] = excess.get(way, 0) + (value / best - 1) / len(seeds)
    # plain steps pay for unrefitted weights, and for features that save less than 2
    assert hits["large_C", True] >= 20 and excess["large_C", True] < 0.03
    assert hits["identity", True] >= 15 and excess["identity", True] < 0.05
    for start in ("large_C", "identity"):
        assert hits[start, False] <= hits[start, True] and excess[start, False] > 0.1


# ---------------------------------------------------------------- refit


def test_the_refit_is_the_best_machine_of_its_support():
    for seed in range(15):
        X, y = make_instance(seed)
        machine = quiet(ZeroNormSVM(C=0.3), X, y)
        Z, signs = scaled(X, y)
        chosen = np.flatnonzero(machine.support_)
        loss = Losses(Z, signs)(chosen)[0]
        assert np.isclose(machine.objective_, len(chosen) + 0.3 * loss, rtol=1e-8)
        for j in chosen:
            less = len(chosen) - 1 + 0.3 * Losses(Z, signs)(np.setdiff1d(chosen, [j]))[0]
            assert less >= machine.objective_ * (1 - 1e-9)


def test_where_rows_can_be_separated_the_margin_is_the_widest():
    X, y = make_wide(40, 600)
    machine = ZeroNormSVM().fit(X, y)
    chosen, signs = machine.support_, 2 * y - 1
    assert machine.objective_ == machine.n_selected_
    Z = scaled(X, y)[0][:, chosen]
    w, b = cp.Variable(chosen.sum()), cp.Variable()
    hard = [cp.multiply(signs, Z @ w + b) >= 1]
    best = cp.Problem(cp.Minimize(cp.sum_squares(w)), hard).solve(solver=cp.CLARABEL)
    ours = in_units(machine)[chosen]
    assert np.isclose(ours @ ours, best, rtol=1e-5)
    assert (signs * machine.decision_function(X)).min() >= 1 - 1e-9


@pytest.mark.parametrize("start", ["large_C", "identity"])
@pytest.mark.parametrize("refit", [True, False])
def test_exactly_so_many_features(refit, start):
    for name, sizes in {"sonar": (1, 2, 7, 59), "wisconsin": (1, 2, 9), "wdbc": (3, 10)}.items():
        X, y = load(name, return_X_y=True)
        for size in sizes:
            machine = ZeroNormSVM(n_features=size, refit=refit, start=start).fit(X, y)
            assert machine.n_selected_ == size
            assert np.isclose(machine.objective_, objective_of(machine, X, y), rtol=1e-9)
    X, y = make_wide(40, 600)
    for size in (1, 5, 20, 100):
        machine = ZeroNormSVM(C=10, n_features=size, refit=refit, start=start).fit(X, y)
        assert machine.n_selected_ == size
        assert machine.score(X, y) > (0.9 if size >= 5 else 0.6)


def test_features_are_exchanged_as_long_as_that_lowers_the_loss():
    """Of 30 pairs of features most are then the best of all pairs; before, 22 are."""
    best = 0
    for seed in range(30):
        X, y = make_instance(seed)
        Z, signs = scaled(X, y)
        pairs, losses = itertools.combinations(range(Z.shape[1]), 2), Losses(Z, signs)
        least = min(losses(pair)[0] for pair in pairs)
        found = ZeroNormSVM(C=1, n_features=2).fit(X, y).objective_ - 2
        assert least - 1e-7 <= found
        best += found <= least + 1e-7
    assert best >= 25


def test_of_sets_without_losses_that_of_the_widest_margin_is_taken():
    """Which of them has the least by rounding is chance."""
    wider = 0
    for seed in range(5):
        X, y = make_wide(40, 300, seed=seed)
        Z, signs = scaled(X, y)
        machine = ZeroNormSVM(n_features=15).fit(X, y)
        assert machine.objective_ == machine.n_selected_ == 15
        norm = np.linalg.norm(in_units(machine))
        norms = [norm]
        for C in (1, 0.1):  # two of the sets met, where the weights end
            met = ZeroNormSVM(C=C, n_features=15, refit=False).fit(X, y).support_
            hard = SVC(kernel="linear", C=1e6, tol=1e-9).fit(Z[:, met], signs)
            norms.append(np.linalg.norm(hard.coef_))
        assert norm <= min(norms) * (1 + 1e-6)
        wider += norm < max(norms) * 0.99
    assert wider


def test_the_price_is_lowered_until_few_enough_are_left():
    X, y = load("sonar", return_X_y=True)
    for refit in (True, False):
        machine = ZeroNormSVM(C=10, n_features=2, refit=refit).fit(X, y)
        last = machine.result_.steps[-1]
        assert last.stage >= len(DESCENT) and 2 <= last.n_selected <= 5
    assert ZeroNormSVM(C=10, n_features=2).fit(X, y).score(X, y) > 0.7


# ---------------------------------------------------------------- none, and all


@pytest.mark.parametrize("start", ["large_C", "identity"])
def test_a_small_price_selects_nothing_and_says_so(start):
    for name in SETS:
        X, y = load(name, return_X_y=True)
        X = X[:, X.std(axis=0) > 0]
        share = np.bincount(y)
        with pytest.warns(SelectionWarning, match="C=1e-05 is too small.*pass a larger C") as seen:
            machine = ZeroNormSVM(C=1e-5, start=start).fit(X, y)
        assert not machine.coef_.any() and machine.n_selected_ == 0
        assert np.isclose(machine.objective_, 2e-5 * share.min())
        assert (machine.predict(X) == share.argmax()).all()
        with pytest.warns(SelectionWarning, match="weights have gone to zero.*refit=True"):
            machine = ZeroNormSVM(C=1e-5, start=start, refit=False).fit(X, y)
        assert not machine.coef_.any() and machine.result_.status == "converged"
        assert ('start="large_C"' in str(seen[0].message)) == (start == "identity")


def test_the_price_that_is_named_pays():
    """It is the size of some set over what this saves of the losses."""
    sizes = []
    for seed in range(10):
        X, y = make_instance(seed)
        with pytest.warns(SelectionWarning, match="does from C=") as seen:
            ZeroNormSVM(C=1e-3).fit(X, y)
        assert seen[0].filename == __file__
        named = re.search(r"of (\d+) features, does from C=([\d.e+-]+)", str(seen[0].message))
        size, price = int(named[1]), float(named[2])
        losses = Losses(*scaled(X, y))
        nothing = losses(())[0]
        if size <= 2:
            sets = itertools.combinations(range(X.shape[1]), size)
            saved = np.array([nothing - losses(s)[0] for s in sets])
            assert np.isclose(size / saved[saved > 1e-9], price, rtol=1e-3).any()
        sizes.append(size)
    assert 1 <= min(sizes) <= 2


def test_where_nothing_is_dropped_it_says_so():
    X, y = load("pima", return_X_y=True)
    with pytest.warns(SelectionWarning, match="none of 8 features is dropped at C=100; .*smaller"):
        assert ZeroNormSVM(C=100).fit(X, y).n_selected_ == 8
    for start in ("large_C", "identity"):
        with pytest.warns(SelectionWarning, match="none of 8.*smaller C, refit=True or n_feat"):
            ZeroNormSVM(C=100, refit=False, start=start).fit(X, y)
    with pytest.warns(SelectionWarning, match="none of 8.*smaller C, p=0"):
        ZeroNormSVM(p=2, refit=False).fit(X, y)


def test_where_no_line_gains_no_price_selects():
    X, y = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
    words = "no feature is selected: no weights, at any C"
    for start, refit in itertools.product(("large_C", "identity"), (True, False)):
        with pytest.warns(SelectionWarning, match=words):
            machine = ZeroNormSVM(C=1000, start=start, refit=refit).fit(X, y)
        assert not machine.coef_.any() and np.isclose(machine.objective_, 4000)


# ---------------------------------------------------------------- other data


@pytest.mark.parametrize("options", [{}, {"start": "identity"}, {"n_features": 8}], ids=str)
def test_where_rows_can_be_separated_the_order_of_columns_does_not_matter(options):
    """Many sets have no loss but for rounding, which is another in another order."""
    for seed in range(12):
        X, y = make_wide(40, 120, seed=seed)
        columns = np.random.default_rng(seed).permutation(X.shape[1])
        machine = ZeroNormSVM(C=2, **options).fit(X, y)
        moved = ZeroNormSVM(C=2, **options).fit(X[:, columns], y)
        assert machine.objective_ == machine.n_selected_
        assert np.array_equal(moved.support_, machine.support_[columns])


def test_fewer_features_than_asked_for():
    X, y = load("pima", return_X_y=True)
    with pytest.warns(SelectionWarning, match="n_features=9, but only 8 vary; 8 are returned"):
        assert ZeroNormSVM(n_features=9).fit(X, y).n_selected_ == 8


@pytest.mark.parametrize("refit", [True, False])
def test_where_no_machine_has_so_many_the_most_are_returned(refit):
    for seed in range(8):
        X = np.random.default_rng(seed).integers(0, 3, (40, 8)).astype(float)
        y = (X[:, 0] > 0).astype(int)
        with pytest.warns(SelectionWarning, match="n_features=3, but only . have a weight in the"):
            machine = ZeroNormSVM(n_features=3, refit=refit).fit(X, y)
        assert 1 <= machine.n_selected_ < 3 and machine.support_[0]
        assert machine.score(X, y) == 1


def test_a_heavy_class_leaves_no_weight_to_rounding():
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        X[:3] *= 0.1
        y = np.append(np.ones(3, dtype=int), np.zeros(57, dtype=int))
        assert np.isclose(Losses(*scaled(X, y))((0, 1))[0], 6)
        for options in ({}, {"refit": False}, {"start": "identity", "refit": False}):
            for size, words in ((None, "no feature is selected: no"), (1, "n_features=1, but no")):
                with pytest.warns(SelectionWarning, match=words + " weights, at any C"):
                    machine = ZeroNormSVM(C=10, n_features=size, **options).fit(X, y)
                assert machine.n_selected_ == 0 and np.isclose(machine.objective_, 60)


def test_a_refit_that_gains_nothing_has_no_weight():
    """As that of `SVMRanking`, which is of least norm."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(16, 5)), np.arange(16) % 4 == 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine = ZeroNormSVM(C=16, n_features=1).fit(X, y)
        said = "".join(str(warning.message) for warning in caught)
        if np.isclose(machine.objective_ - machine.n_selected_, 16 * 8, rtol=1e-9):
            why = "refit has a weight for 0 of them, and refit=False for 1"
            assert machine.n_selected_ == 0 and (why in said or "at any C" in said)
            found += 1
        else:
            assert machine.n_selected_ == 1 and not said
    assert found >= 1


def test_no_price_above_the_largest_is_asked_for():
    X, y = make_instance(0)
    for refit in (True, False):
        assert quiet(ZeroNormSVM(C=1e-300, refit=refit), X, y).n_selected_ == 0
    for C, asked in ((1e6, False), (1e5, True)):
        with pytest.warns(SelectionWarning, match="is too small.*n_features=") as seen:
            ZeroNormSVM(C=C).fit(X, y, sample_weight=1e-12)
        assert ("a larger C" in str(seen[0].message)) == asked


@pytest.mark.parametrize("seed", range(100))
def test_degenerate_data_too(seed):
    """Few values, equal rows and columns, ties of all kinds, more features than rows."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = rng.integers(2, 20), rng.integers(1, 12)
    X = rng.integers(-1, 2, (n_rows, n_features)).astype(float)
    X = np.hstack([X, X[:, : n_features // 2]])
    y = rng.permutation(np.append([0, 1], rng.integers(0, 2, n_rows - 2)))
    machine = ZeroNormSVM(
        C=float(10 ** rng.uniform(-2, 4)),
        p=[0.0, 0.0, 0.0, 0.5, 1.0, 1.5, 2.0, np.inf][rng.integers(8)],
        start=["large_C", "identity"][rng.integers(2)],
        refit=bool(rng.integers(2)),
        scale=bool(rng.integers(2)),
        n_features=[None, None, 1, 2][rng.integers(4)],
        max_iter=1000,
    )
    weights = rng.integers(1, 4, n_rows)
    quiet(machine, X, y, sample_weight=weights)
    known = objective_of(machine, X, y, weights)
    assert np.isclose(machine.objective_, known, rtol=1e-7, atol=1e-9)
    assert machine.result_.status in ("solved", "converged")
    assert (machine.result_.step_gap or 0) <= 1e-6
    if machine.n_features is not None:
        assert machine.n_selected_ <= machine.n_features
    elif machine.refit:
        # never worse than the machine without features
        nothing = 2 * machine.C * min(np.bincount(y, weights))
        assert machine.objective_ <= nothing * (1 + 1e-9)


# ---------------------------------------------------------------- what is refused, and said


def test_a_refit_that_is_not_verified_is_none():
    X, y = load("pima", return_X_y=True)
    for what, part in (("columns", 0.999), ("duals", 1.01)):
        with pytest.MonkeyPatch.context() as patch:
            true = getattr(highs.DualModel, what)
            patch.setattr(highs.DualModel, what, lambda m, true=true, part=part: part * true(m))
            with pytest.raises(SubproblemError, match="refit was not solved: duality gap.*refit=F"):
                ZeroNormSVM(C=0.3).fit(X, y)


def test_a_large_price_that_is_not_solved_is_passed_over(monkeypatch):
    X, y = load("wdbc", return_X_y=True)
    true = SoftMargin.solve

    def solve(self, sizes, C, **kwargs):
        if C > 100:
            raise SubproblemError("no answer")
        return true(self, sizes, C, **kwargs)

    monkeypatch.setattr(SoftMargin, "solve", solve)
    machine = ZeroNormSVM(refit=False).fit(X, y)
    assert machine.result_.status == "converged"
    assert machine.result_.steps[-1].stage == sum(C <= 100 for C in DESCENT) - 1


def test_steps_start_from_the_last():
    """Without that, each would take a dozen interior points."""
    X, y = load("sonar", return_X_y=True)
    counts = ZeroNormSVM(start="identity", refit=False).fit(X, y).result_.counts
    assert counts["quadratic program"] >= 20
    assert counts["interior point"] <= 2 * counts["quadratic program"]


def test_summary_names_the_objective_and_the_price():
    X, y = load("wdbc", return_X_y=True)
    machine = ZeroNormSVM(C=0.25).fit(X, y)
    assert f"{machine.objective_:.6g} at C=0.25" in machine.summary()


def test_a_step_that_would_rise_is_refused():
    rng = np.random.default_rng(1)
    x = rng.normal(size=33)
    X = np.column_stack([x, 1e6 * x, rng.normal(size=33)])
    y = (rng.random(33) < 0.4).astype(int)
    for C in (1, 5, 12.8, 100):
        model = ZeroNormSVM(C=C, scale=False, refit=False, n_features=1)
        assert quiet(model, X, y).result_.status in ("converged", "stalled")
