"""The zero-norm machine in a kernel's columns: its steps, what they descend, what is counted."""

import itertools
import warnings
from functools import partial

import cvxpy as cp
import numpy as np
import optimality
import pytest
from definitions import Losses, descended, falls_of, least_loss, objective_of, quiet
from instances import GOOD, LABELS
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fsnotes import SparseKernelSVM, ZeroNormSVM, load, make_instance
from fsnotes.core.reweighting import Run, SoftMargins, descending
from fsnotes.em.kernel import TwoNormMargins, TwoNorms, root_of
from fsnotes.em.zero_norm import ZeroNorm
from fsnotes.errors import SubproblemError
from fsnotes.literal import sparse_kernel_step
from fsnotes.solvers.hinge import HingeData
from fsnotes.solvers.margin import SoftMargin

PRICES = [0.3, 1, 3, 10, 50]
# powers near 1 and above take thousands of steps
pytestmark = pytest.mark.filterwarnings("ignore:not converged in")
each_two_norm = pytest.mark.parametrize("C0", [0.0, 0.02, 1.0])


def said_by(call):
    """Warnings of a call, all of which point at this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(w.filename == __file__ for w in caught), [w.filename for w in caught]
    return " / ".join(str(w.message) for w in caught)


def rbf(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))


def small(seed, n_rows=40):
    """Some rows, in units of the machine, labels -1 and +1, and the kernel matrix of all."""
    X, y = make_instance(seed)
    X, y = X[:n_rows], y[:n_rows]
    machine = quiet(SparseKernelSVM(C=1.0), X, y)
    K = rbf(X / machine.scale_, X / machine.scale_, 1 / X.shape[1])
    return X, y, K, np.where(y == y.max(), 1.0, -1.0)


def solver_of(columns, gram, signs, C0):
    """The solver of the steps."""
    data = HingeData(columns, signs, np.ones(len(signs)))
    return TwoNormMargins(data, root_of(gram, "rbf"), C0) if C0 else SoftMargins(data)


def wanted(machine, X, y, weights=None):
    """Points, the two-norm and C times the losses, from the machine's own answers."""
    V, alpha = machine.support_vectors_ / machine.scale_, machine.dual_coef_[0]
    square = alpha @ rbf(V, V, machine.gamma_) @ alpha if machine.C0 else 0
    return machine.C0 * square + objective_of(machine, X, y, weights)


# ---------------------------------------------------------------- the steps


@each_two_norm
def test_a_step_is_its_literal_statement(C0):
    for seed in range(15):
        X, y, K, signs = small(seed)
        rng = np.random.default_rng(seed)
        basis = np.sort(rng.permutation(len(y))[: 10 + seed])
        columns, gram, C = K[:, basis], K[np.ix_(basis, basis)], PRICES[seed % 5]
        solver = solver_of(columns, gram, signs, C0)
        sizes = rng.uniform(0.1, 2, len(basis)) * (rng.uniform(size=len(basis)) < 0.8)
        if seed % 3 == 0:  # the first of all
            sizes = np.ones(len(basis))
        alpha = solver.solve(sizes, C).weights if seed % 3 else solver.first(C)
        with np.errstate(divide="ignore"):
            Lambda = 1 / sizes**2
        known, _, value = sparse_kernel_step(columns, signs, C, Lambda, C0, gram)
        live = sizes > 0
        assert not alpha[~live].any()
        own = (alpha[live] ** 2 * Lambda[live]).sum() + C0 * alpha @ gram @ alpha
        own += C * least_loss(columns, signs, alpha)
        assert np.isclose(own, value, rtol=1e-6)
        assert np.allclose(alpha, known, rtol=1e-3, atol=1e-4 * abs(known).max())
        assert solver.largest_gap <= 1e-6


def test_without_two_norm_it_is_the_zero_norm_machine_on_the_columns():
    for seed in range(8):
        X, y, K, signs = small(seed)
        for start, p in itertools.product(("large_C", "identity"), (0.0, 0.5, 2.0)):
            options = dict(C=PRICES[seed % 5], p=p, start=start, refit=False)
            machine = quiet(SparseKernelSVM(**options), X, y)
            known = quiet(ZeroNormSVM(scale=False, **options), K, y)
            assert np.array_equal(machine.support_, np.flatnonzero(known.coef_[0]))
            assert np.isclose(machine.result_.objective, known.result_.objective, rtol=1e-6)
            assert np.isclose(machine.objective_, known.objective_, rtol=1e-5)
            scores = K @ known.coef_[0] + known.intercept_[0]
            off = abs(machine.decision_function(X) - scores).max()
            assert off <= 1e-4 * abs(scores).max()


@each_two_norm
@pytest.mark.parametrize("p", [0.0, 0.4, 1.0, 1.7])
def test_the_objective_never_rises_within_a_stage(p, C0):
    falls = 0
    for seed in range(9):
        X, y, K, signs = small(seed)
        C = PRICES[seed % 5]
        in_stages = seed % 2 == 0 and p < 1
        solver = solver_of(K, K, signs, C0)
        run = Run(solver.data, solver, partial(TwoNorms if C0 else ZeroNorm, p=p))
        run.descend(run.begin(descending(C) if in_stages else [C]), 1e-6, 150)
        points = [alpha for _, alpha in run.visited]
        assert run.result.status in ("converged", "max_iter" if p else "converged")
        assert run.result.steps[-1].stage == (7 if in_stages else 0)
        assert np.isclose(run.floor, 1e-6 * abs(points[0]).max())
        own = [descended(K, signs, w, at, p, run.floor) + C0 * w @ K @ w for at, w in run.visited]
        falls += falls_of(run, own, 1e-8)
        start = ["large_C", "identity"][seed % 2]
        machine = SparseKernelSVM(C=C, C0=C0, p=p, start=start, refit=False, max_iter=150)
        quiet(machine, X, y)
        assert np.array_equal(machine.support_, np.flatnonzero(points[-1]))
        assert np.isclose(machine.result_.objective, run.result.objective, rtol=1e-6)
    assert falls > 20


@each_two_norm
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_what_is_left_meets_the_conditions_of_a_fixed_point(p, C0):
    """Multipliers from 0 to C exist that pull each weight as hard as its penalties do."""
    kept = 0
    for seed in range(8):
        X, y, K, signs = small(seed)
        C = PRICES[seed % 5]
        start = ["identity", "large_C"][seed % 2]
        machine = SparseKernelSVM(
            C=C, C0=C0, p=p, start=start, refit=False, tol=1e-9, max_iter=2000
        )
        quiet(machine, X, y)
        if not len(machine.support_) or machine.result_.status != "converged":
            continue
        kept += len(machine.support_)
        alpha = machine.dual_coef_[0]
        columns = K[:, machine.support_]
        due = 2 * abs(alpha) ** p + 2 * C0 * alpha * (columns[machine.support_] @ alpha)
        margins = signs * machine.decision_function(X)
        assert optimality.balance(columns * alpha, signs, C, margins, due) <= 1e-4
    assert kept > 20


# ---------------------------------------------------------------- the two-norm


def test_a_dear_two_norm_leaves_the_usual_machine():
    """As C0 grows with C, of all penalties ``alpha' K alpha`` is left; half of it is printed."""
    for seed in range(6):
        X, y, K, signs = small(seed)
        machine = quiet(SparseKernelSVM(C=1e6, C0=1e6, p=2, start="identity"), X, y)
        known = SVC(C=0.5, kernel="precomputed", tol=1e-9).fit(K, signs)
        scores = known.decision_function(K)
        off = machine.decision_function(X) - scores
        assert abs(off - np.median(off)).max() < 1e-3 * abs(scores).max()


def test_labels_do_not_enter_the_two_norm():
    """The printed matrix of ``y_i y_j k_ij`` gives another machine; K gives the usual one."""
    X, y, K, signs = small(3)
    # with penalties next to nothing, the two-norm is all that is minimised beside the losses
    tiny = np.full(len(y), 1e-8)
    known = SVC(C=0.5, kernel="precomputed", tol=1e-9).fit(K, signs)
    right, *_ = sparse_kernel_step(K, signs, 1.0, tiny, 1.0)
    wrong, *_ = sparse_kernel_step(K, signs, 1.0, tiny, 1.0, signs[:, None] * signs * K)
    own = known.decision_function(K) - known.intercept_[0]
    assert abs(K @ right - own).max() < 1e-2 * abs(own).max()
    assert abs(K @ wrong - own).max() > 0.1 * abs(own).max()


def test_a_two_norm_asks_for_a_kernel_that_has_one():
    X, y, *_ = small(0)
    for kernel in ("sigmoid", lambda a, b: -float(a @ b)):
        with pytest.raises(ValueError, match="^C0= asks for the two-norm.*pass C0=0"):
            SparseKernelSVM(kernel=kernel, gamma=2.0, C0=0.1).fit(X, y)
    assert len(quiet(SparseKernelSVM(kernel="sigmoid", C=3.0), X, y).support_)
    assert len(quiet(SparseKernelSVM(kernel="linear", C=3.0, C0=0.1), X, y).support_)


# ---------------------------------------------------------------- the refit


@each_two_norm
def test_the_refit_is_the_best_machine_of_its_points(C0):
    found = 0
    for seed in range(10):
        X, y, K, signs = small(seed)
        C = PRICES[seed % 5]
        plain = quiet(SparseKernelSVM(C=C, C0=C0, refit=False), X, y)
        machine = quiet(SparseKernelSVM(C=C, C0=C0), X, y)
        S = plain.support_
        assert set(machine.support_) <= set(S)
        if not len(S):
            continue
        root = np.linalg.cholesky(K[np.ix_(S, S)] + 1e-14 * np.eye(len(S))).T
        alpha, b = cp.Variable(len(S)), cp.Variable()
        loss = cp.sum(cp.pos(1 - cp.multiply(signs, K[:, S] @ alpha + b)))
        value = cp.Minimize(C * loss + C0 * cp.sum_squares(root @ alpha))
        best = cp.Problem(value).solve(solver=cp.CLARABEL)
        ours = machine.objective_ - len(machine.support_)
        assert np.isclose(ours, best, rtol=1e-5, atol=1e-5 * C)
        assert ours <= plain.objective_ - len(S) + 1e-6 * C
        assert np.isclose(machine.objective_, wanted(machine, X, y), rtol=1e-9)
        found += 1
    assert found > 5


def test_the_refit_is_never_worse_and_its_gap_is_its_own():
    verified, better = 0, 0
    for seed in (0, 3, 4, 6, 8, 10, 12, 13, 14, 17):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 1)), (rng.random(30) > 0.5).astype(int)
        machine, plain = SparseKernelSVM(C=20), SparseKernelSVM(C=20, refit=False)
        said = said_by(lambda both=(machine, plain), X=X, y=y: [m.fit(X, y) for m in both])
        assert machine.objective_ <= plain.objective_ * (1 + 1e-9)
        assert set(machine.support_) <= set(plain.support_)
        better += machine.objective_ < plain.objective_ * (1 - 1e-3)
        gap = machine.result_.step_gap
        assert (gap > 1e-6) == (said.count("not verified:") == 1)
        if gap > 1e-6:
            assert f"not verified: duality gap {gap:.1e}" in said
            continue
        columns = machine._kernel_.columns(X, plain.support_vectors_)
        best = Losses(columns, 2.0 * y - 1)(range(columns.shape[1]))[0]
        assert np.isclose((machine.objective_ - len(machine.support_)) / 20, best, rtol=2e-6)
        verified += 1
    assert verified >= 6 and better >= 5


def test_two_has_nothing_to_refit():
    X, y, *_ = small(1)
    machines = [quiet(SparseKernelSVM(p=2, C0=0.1, refit=r), X, y) for r in (True, False)]
    assert np.array_equal(machines[0].dual_coef_, machines[1].dual_coef_)
    assert machines[0].n_iter_ == 1 and len(machines[0].support_) == len(y)


# ---------------------------------------------------------------- points


def test_distinct_points_are_counted():
    X, y = load("titanic", return_X_y=True)
    table = np.unique(X, axis=0)
    few, times = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    for C0 in (0.0, 0.3):
        machine = quiet(SparseKernelSVM(C=1.0, C0=C0, gamma=1.0), X, y)
        assert len(machine.basis_) == len(table) and 1 <= len(machine.support_) <= len(table)
        assert np.array_equal(machine.support_vectors_, X[machine.support_])
        # the first of its equals, whatever its label
        for row in machine.basis_:
            assert row == np.flatnonzero((X == X[row]).all(axis=1))[0]
        # as the few rows with their numbers
        short = SparseKernelSVM(C=1.0, C0=C0, gamma=1.0)
        quiet(short, few[:, :-1], few[:, -1], sample_weight=times.astype(float))
        assert np.isclose(machine.objective_, short.objective_, rtol=1e-7)
        pair = np.sort(machine.dual_coef_[0]), np.sort(short.dual_coef_[0])
        assert np.allclose(*pair, rtol=1e-3, atol=1e-4)


def test_equal_columns_are_one_point():
    X, y, *_ = small(2)
    noisy = np.column_stack([np.round(X[:, 0], 1), np.arange(len(y))])

    def first_alone(a, b):
        return float(np.exp(-((a[0] - b[0]) ** 2)))

    machine = quiet(SparseKernelSVM(kernel=first_alone, C=10.0), noisy, y)
    assert len(machine.basis_) == len(np.unique(noisy[:, 0])) < len(y)


def test_candidates_by_row_number():
    X, y, K, signs = small(4)
    rows = np.array([7, 3, 30, 12, 3, 25, 18, 1])
    for C0 in (0.0, 0.02, 1.0):
        machine = quiet(SparseKernelSVM(C=10, C0=C0, basis=rows, refit=False), X, y)
        assert sorted(machine.basis_) == sorted(set(rows)) and set(machine.support_) <= set(rows)
        scores = K[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_
        assert np.allclose(machine.decision_function(X), scores)
        assert machine.result_.steps[0].n_selected == 7
    same = quiet(SparseKernelSVM(C=10, basis=rows.tolist(), refit=False), X, y)
    again = quiet(SparseKernelSVM(C=10, basis=np.sort(rows), refit=False), X, y)
    assert np.array_equal(same.dual_coef_, again.dual_coef_)
    every = quiet(SparseKernelSVM(C=10, basis=np.arange(len(y))), X, y)
    assert np.array_equal(every.dual_coef_, quiet(SparseKernelSVM(C=10), X, y).dual_coef_)


def test_candidates_of_weight_zero_are_none():
    weights = [1, 0, 1, 1, 0, 1]
    machine = quiet(SparseKernelSVM(basis=[0, 1, 3]), GOOD, LABELS, sample_weight=weights)
    assert machine.basis_.tolist() == [0, 3]
    with pytest.raises(ValueError, match="all rows of basis have weight zero"):
        SparseKernelSVM(basis=[1, 4]).fit(GOOD, LABELS, sample_weight=weights)


def test_so_many_candidates():
    X, y = load("pima", return_X_y=True)
    machine = quiet(SparseKernelSVM(basis=60), X, y)
    assert len(machine.basis_) == 60 and set(machine.support_) <= set(machine.basis_)
    other = quiet(SparseKernelSVM(basis=60, random_state=1), X, y)
    assert 30 < len(np.setdiff1d(other.basis_, machine.basis_)) < 60
    # the same points, in whatever order the rows come
    order = np.random.default_rng(0).permutation(len(y))
    moved = quiet(SparseKernelSVM(basis=60), X[order], y[order])
    assert set(order[moved.basis_]) == set(machine.basis_)
    assert set(order[moved.support_]) == set(machine.support_)
    assert len(quiet(SparseKernelSVM(basis=10**6), X[:100], y[:100]).basis_) == 100


# ---------------------------------------------------------------- degenerate data


@pytest.mark.parametrize("seed", range(120))
def test_degenerate_data_too(seed):
    """Few values, equal rows of both classes, ties of all kinds, more features than rows."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = rng.integers(2, 25), rng.integers(1, 6)
    X = rng.integers(-1, 2, (n_rows, n_features)) * 10.0 ** rng.integers(-100, 100)
    y = rng.permutation(np.append([0, 1], rng.integers(0, 2, n_rows - 2)))
    weights = rng.integers(0, 3, n_rows).astype(float)
    weights[[np.argmin(y), np.argmax(y)]] = 1
    machine = SparseKernelSVM(
        C=float(10 ** rng.uniform(-2, 4)),
        C0=[0.0, 0.0, 0.001, 1.0, 100.0][rng.integers(5)],
        p=[0.0, 0.0, 0.5, 1.0, 2.0][rng.integers(5)],
        start=["large_C", "identity"][rng.integers(2)],
        refit=bool(rng.integers(2)),
        basis=[None, 5][rng.integers(2)],
        max_iter=200,
    )
    quiet(machine, X, y, sample_weight=weights)
    known = wanted(machine, X, y, weights)
    assert np.isclose(machine.objective_, known, rtol=1e-6, atol=1e-9)
    assert machine.result_.status in ("solved", "converged") or machine.p > 0
    assert (machine.result_.step_gap or 0) <= 1e-6
    # candidates are the first of their equals that have a weight, each once
    for row in machine.basis_:
        assert row == np.flatnonzero((X == X[row]).all(axis=1) & (weights > 0))[0]
    assert len(set(machine.basis_)) == len(machine.basis_)
    assert set(machine.support_) <= set(machine.basis_)
    assert machine.dual_coef_.shape == (1, len(machine.support_)) and machine.dual_coef_.all()


@pytest.mark.parametrize("options", [{}, {"refit": False}, {"C0": 0.1}, {"p": 2}], ids=str)
def test_rows_that_are_all_equal(options):
    machine = SparseKernelSVM(**options)
    said = said_by(lambda: machine.fit(np.ones((5, 2)), [0, 1, 1, 1, 0]))
    assert "constant features" in said and "no point is selected: no weights, at any C" in said
    assert len(machine.support_) == 0 and machine.objective_ == 4
    assert (machine.predict(np.zeros((3, 2))) == 1).all()


@pytest.mark.parametrize(
    "kernel", ["rbf", "laplacian", "poly", "sigmoid", "cosine", "linear", lambda a, b: float(a @ b)]
)
def test_each_kernel(kernel):
    X, y = load("wdbc", return_X_y=True)
    X, y = X[::4], y[::4]
    gamma = 1e-3 if kernel == "sigmoid" else None
    machine = quiet(SparseKernelSVM(kernel=kernel, gamma=gamma, C=3.0), X, y)
    assert 1 <= len(machine.support_) < 40 and machine.score(X, y) > 0.9
    assert machine.result_.status == "converged"
    assert np.isclose(machine.objective_, wanted(machine, X, y), rtol=1e-9)


# ---------------------------------------------------------------- what is refused, and said


def test_kernels_that_are_none_are_named():
    X, y, *_ = small(0)
    X = np.column_stack([X, X[:, :1] ** 2])
    for options in ({}, {"C0": 0.1}):
        with pytest.raises(ValueError, match="^kernel=.* is not symmetric.*pass a kernel with k"):
            SparseKernelSVM(kernel=lambda a, b: a[0] * b[1] - a[1] * b[0], **options).fit(X, y)
        with pytest.raises(ValueError, match="^kernel=.* has values up to .*overflow; divide"):
            SparseKernelSVM(kernel=lambda a, b: 1e200 * (a @ b), **options).fit(X, y)
    with pytest.raises(SubproblemError, match="pass a smaller C0, or divide the kernel"):
        SparseKernelSVM(kernel=lambda a, b: 1e40 * (a @ b), C0=1.0).fit(X, y)
    for value, kind in ((1j, "complex"), ([1, [2]], "list")):
        with pytest.raises(TypeError, match=f"^kernel=.* gives {kind} for two rows; pass a func"):
            SparseKernelSVM(kernel=lambda a, b, value=value: value).fit(X, y)
    with pytest.raises(TypeError, match=r"^basis=\[1, \[2, 3\]\]; pass None"):
        SparseKernelSVM(basis=[1, [2, 3]]).fit(X, y)


def test_the_smallest_price_selects_no_point():
    X, y, *_ = small(0)
    for C0 in (0, 1e-300, 1e6):
        assert len(quiet(SparseKernelSVM(C=1e-300, C0=C0), X, y).support_) == 0


def test_rows_of_both_labels_ask_for_no_larger_price():
    X, y, *_ = small(0)
    X, y = np.vstack([X, X]), np.repeat([0, 1], len(X))
    for options in ({}, {"refit": False}, {"C0": 0.1}, {"C": 1e6}):
        assert said_by(lambda options=options: SparseKernelSVM(**options).fit(X, y)) == (
            "no point is selected: no weights, at any C, have smaller hinge losses than none; "
            "pass another kernel or gamma"
        )


def test_warnings_say_what_to_do_at_the_callers_line():
    X, y = load("sonar", return_X_y=True)
    X, y = X[::2], y[::2]
    for options, words in (
        ({"C": 0.001}, "C=0.001 is too small to select a point; pass a larger C"),
        ({"C": 0.001, "start": "identity"}, 'larger C, start="large_C"'),
        ({"p": 2.0}, f"none of {len(y)} points is dropped at C=1; pass a smaller C, p=0 if"),
        ({"max_iter": 2}, "not converged in 2 steps"),
        ({"max_iter": 2, "start": "identity"}, "not converged in 2 steps"),
    ):
        said = said_by(lambda options=options: SparseKernelSVM(**options).fit(X, y))
        assert said.count(words) == 1


@pytest.mark.parametrize(
    "model",
    [ZeroNormSVM(start="identity"), SparseKernelSVM(start="identity", C0=0.1)],
    ids=["features", "points"],
)
def test_a_step_that_is_not_verified_is_not_taken(monkeypatch, model):
    X, y = load("wdbc", return_X_y=True)
    true, calls = SoftMargin.solve, []

    def solve(self, *args, **kwargs):
        calls.append(0)
        if len(calls) > 3:
            raise SubproblemError("no answer")
        return true(self, *args, **kwargs)

    monkeypatch.setattr(SoftMargin, "solve", solve)
    with pytest.warns(ConvergenceWarning, match="not solved to verified accuracy.*no answer"):
        machine = model.set_params(refit=False).fit(X, y)
    assert machine.result_.status == "stalled" and machine.n_iter_ == 3
    objective = objective_of if model.get_params().get("C0") is None else wanted
    assert np.isclose(machine.objective_, objective(machine, X, y))
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if hasattr(machine, "dual_coef_"):
            with pytest.raises(SubproblemError, match="refit.*no answer.*refit=False"):
                model.set_params(refit=True).fit(X, y)
    calls.extend([0] * 3)
    with pytest.raises(SubproblemError, match="no answer"):
        model.fit(X, y)
