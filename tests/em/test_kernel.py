"""The zero-norm machine in a kernel's columns: its steps, what they descend, what is counted."""

import itertools
import warnings
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from conftest import GOOD, LABELS, least_loss
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fsnotes import ZeroNormSVM, load, make_instance, make_twonorm
from fsnotes.core.reweighting import Run, SoftMargins, descending
from fsnotes.core.samples import Samples
from fsnotes.em.kernel import Combined, Distinct, SparseKernelSVM, TwoNormMargins, root_of
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.literal import sparse_kernel_step
from fsnotes.solvers.hinge import HingeData
from fsnotes.solvers.margin import SoftMargin

PRICES = [0.3, 1, 3, 10, 50]
TWO_NORMS = [0.0, 0.02, 1.0]


def quiet(machine, X, y, **more):
    """Fit where warnings of constant columns, of none and of all points are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        # powers near 1 and above take thousands of steps
        if machine.p >= 0.4:
            warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(X, y, **more)


def rbf(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))


def small(seed, n_rows=40):
    """Some rows, in units of the machine, labels -1 and +1, and the kernel matrix of all."""
    X, y = make_instance(seed)
    X, y = X[:n_rows], y[:n_rows]
    machine = quiet(SparseKernelSVM(C=1.0), X, y)
    K = rbf(X / machine.scale_, X / machine.scale_, 1 / X.shape[1])
    return X, y, K, np.where(y == y.max(), 1.0, -1.0)


def descended(K, gram, signs, alpha, C, C0, p, floor):
    """What the steps descend, by its definition."""
    if p == 0:
        penalty = 2 * np.log(np.maximum(abs(alpha), floor)).sum()
    else:
        penalty = 2 / p * (abs(alpha) ** p).sum()
    return C * least_loss(K, signs, alpha) + C0 * alpha @ gram @ alpha + penalty


def alpha_of(machine, candidates):
    """Weights of all candidates."""
    alpha = np.zeros(len(candidates))
    alpha[np.searchsorted(candidates, machine.support_)] = machine.dual_coef_[0]
    return alpha


def wanted(machine, X, y, weights=None):
    """Points, the two-norm and C times the losses, from the machine's own answers."""
    weights = np.ones(len(y)) if weights is None else weights
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    alpha = machine.dual_coef_[0]
    square = 0.0
    if machine.C0 > 0 and len(alpha):
        V = machine.support_vectors_ / machine.scale_
        square = alpha @ rbf(V, V, machine.gamma_) @ alpha
    loss = weights @ np.maximum(0, 1 - margins)
    return np.count_nonzero(alpha) + machine.C0 * square + machine.C * loss


def losses_and_points(machine, X, y):
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    return len(machine.support_) + machine.C * np.maximum(0, 1 - margins).sum()


# ---------------------------------------------------------------- one step


@pytest.mark.parametrize("C0", TWO_NORMS)
def test_a_step_is_its_literal_statement(C0):
    for seed in range(15):
        X, y, K, signs = small(seed)
        rng = np.random.default_rng(seed)
        basis = np.sort(rng.permutation(len(y))[: 10 + seed])
        columns, gram, C = K[:, basis], K[np.ix_(basis, basis)], PRICES[seed % 5]
        sizes = rng.uniform(0.1, 2, len(basis)) * (rng.uniform(size=len(basis)) < 0.8)
        root = root_of(gram, "rbf") if C0 else None
        data = HingeData(columns, signs, np.ones(len(y)))
        solver = TwoNormMargins(data, root, C0) if C0 else SoftMargins(data)
        alpha = solver.solve(sizes, C).weights
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


def literal_run(K, signs, C, C0, most=300):
    """From ``Lambda = I``, with the floor."""
    alpha, _, _ = sparse_kernel_step(K, signs, C, np.ones(len(K)), C0)
    floor = 1e-6 * abs(alpha).max()
    alpha = np.where(abs(alpha) > floor, alpha, 0)
    for _ in range(most):
        if not alpha.any():
            break
        with np.errstate(divide="ignore"):
            new, _, _ = sparse_kernel_step(K, signs, C, 1 / alpha**2, C0)
        new = np.where(abs(new) > floor, new, 0)
        change = abs(new - alpha).max()
        alpha = new
        if change <= 1e-6 * abs(alpha).max():
            break
    return alpha, floor


@pytest.mark.parametrize("C0", TWO_NORMS)
def test_the_run_is_its_literal_statement(C0):
    sizes = []
    for seed in range(6):
        X, y, K, signs = small(seed, 25)
        C = PRICES[seed % 5]
        alpha, floor = literal_run(K, signs, C, C0)
        machine = SparseKernelSVM(C=C, C0=C0, start="identity", refit=False, max_iter=300)
        quiet(machine, X, y)
        assert np.array_equal(machine.support_, np.flatnonzero(alpha))
        known = alpha[machine.support_]
        assert np.allclose(machine.dual_coef_[0], known, rtol=1e-3, atol=1e-4)
        value = descended(K, K, signs, alpha, C, C0, 0, floor)
        assert np.isclose(machine.result_.objective, value, rtol=1e-4, atol=1e-3)
        sizes.append(len(machine.support_))
    assert len(set(sizes)) > 2


def test_without_two_norm_it_is_the_zero_norm_machine_on_the_columns():
    for seed in range(8):
        X, y, K, signs = small(seed)
        for start in ("large_C", "identity"):
            for p in (0.0, 0.5, 2.0):
                options = dict(C=PRICES[seed % 5], p=p, start=start, refit=False)
                machine = quiet(SparseKernelSVM(**options), X, y)
                known = quiet(ZeroNormSVM(scale=False, **options), K, y)
                assert np.array_equal(machine.support_, np.flatnonzero(known.coef_[0]))
                assert np.isclose(machine.result_.objective, known.result_.objective, rtol=1e-6)
                assert np.isclose(machine.objective_, known.objective_, rtol=1e-5)
                scores = K @ known.coef_[0] + known.intercept_[0]
                off = abs(machine.decision_function(X) - scores).max()
                assert off <= 1e-4 * abs(scores).max()


# ---------------------------------------------------------------- what the steps descend


@pytest.mark.parametrize("C0", TWO_NORMS)
@pytest.mark.parametrize("p", [0.0, 0.4, 1.0, 1.7])
def test_the_objective_never_rises_within_a_stage(p, C0):
    falls = 0
    for seed in range(9):
        X, y, K, signs = small(seed)
        C = PRICES[seed % 5]
        in_stages = seed % 2 == 0 and p < 1
        data = HingeData(K, signs, np.ones(len(y)))
        solver = TwoNormMargins(data, root_of(K, "rbf"), C0) if C0 else SoftMargins(data)
        run = Run(data, solver, partial(Combined, p=p))
        run.descend(run.begin(descending(C) if in_stages else [C]), 1e-6, 150)
        points = [alpha for _, alpha in run.visited]
        assert run.result.status in ("converged", "max_iter" if p else "converged")
        assert run.result.steps[-1].stage == (7 if in_stages else 0)
        assert np.isclose(run.floor, 1e-6 * abs(points[0]).max())
        values = np.array([step.objective for step in run.result.steps])
        for at, alpha in run.visited:
            own = descended(K, K, signs, alpha, at, C0, p, run.floor)
            assert min(abs(values - own)) <= 1e-8 * (1 + abs(own))
        for before, after in itertools.pairwise(points):
            assert not after[before == 0].any()  # dropped points stay dropped
        for before, after in itertools.pairwise(run.result.steps):
            if before.stage == after.stage:
                assert after.objective <= before.objective + 1e-7 * abs(before.objective)
                falls += after.objective < before.objective - 1e-6 * abs(before.objective)
        start = ["large_C", "identity"][seed % 2]
        machine = SparseKernelSVM(C=C, C0=C0, p=p, start=start, refit=False, max_iter=150)
        quiet(machine, X, y)
        assert np.array_equal(machine.support_, np.flatnonzero(points[-1]))
        assert np.isclose(machine.result_.objective, values[-1], rtol=1e-6)
    assert falls > 20


@pytest.mark.parametrize("C0", TWO_NORMS)
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
        alpha = alpha_of(machine, np.arange(len(y)))
        live = alpha != 0
        kept += live.sum()
        margins = signs * machine.decision_function(X)
        low = np.where(margins < 1 - 1e-6, C, 0)
        high = np.where(margins > 1 + 1e-6, 0, C)
        a, off = cp.Variable(len(y)), cp.Variable()
        pulls = cp.multiply(alpha[live], (K[:, live] * signs[:, None]).T @ a)
        due = 2 * abs(alpha[live]) ** p + 2 * C0 * alpha[live] * (K @ alpha)[live]
        limits = [a >= low, a <= high, signs @ a == 0, pulls <= due + off, pulls >= due - off]
        assert cp.Problem(cp.Minimize(off), limits).solve(solver=cp.HIGHS) <= 1e-4
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
    tiny = np.full(len(y), 1e-8)
    known = SVC(C=0.5, kernel="precomputed", tol=1e-9).fit(K, signs)
    right, _, value = sparse_kernel_step(K, signs, 1.0, tiny, 1.0)
    H = signs[:, None] * signs * K
    wrong, _, printed = sparse_kernel_step(K, signs, 1.0, tiny, 1.0, H)
    both = [K @ alpha for alpha in (right, wrong)]
    own = known.decision_function(K) - known.intercept_[0]
    assert abs(both[0] - own).max() < 1e-2 * abs(own).max()
    assert abs(both[1] - own).max() > 0.1 * abs(own).max()
    # the usual machine's value is known from its multipliers
    alpha = known.dual_coef_[0]
    square = alpha @ K[np.ix_(known.support_, known.support_)] @ alpha
    assert np.isclose(value, square + least_loss(own[:, None], signs, np.ones(1)), rtol=1e-3)
    assert abs(printed - value) > 0.05 * value


def test_a_two_norm_asks_for_a_kernel_that_has_one():
    X, y, *_ = small(0)
    for kernel in ("sigmoid", lambda a, b: -float(a @ b)):
        with pytest.raises(ValueError, match="^C0= asks for the two-norm.*pass C0=0"):
            SparseKernelSVM(kernel=kernel, gamma=2.0, C0=0.1).fit(X, y)
    assert len(quiet(SparseKernelSVM(kernel="sigmoid", C=3.0), X, y).support_)
    assert len(quiet(SparseKernelSVM(kernel="linear", C=3.0, C0=0.1), X, y).support_)


# ---------------------------------------------------------------- the refit


@pytest.mark.parametrize("C0", TWO_NORMS)
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
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine = SparseKernelSVM(C=20).fit(X, y)
            plain = SparseKernelSVM(C=20, refit=False).fit(X, y)
        assert machine.objective_ <= plain.objective_ * (1 + 1e-9)
        assert set(machine.support_) <= set(plain.support_)
        better += machine.objective_ < plain.objective_ * (1 - 1e-3)
        gap = machine.result_.duality_gap
        said = [str(w.message) for w in caught if "not verified:" in str(w.message)]
        assert (gap > 1e-6) == (len(said) == 1)
        if gap > 1e-6:
            assert f"not verified: duality gap {gap:.1e}" in said[0]
            assert all(w.filename == __file__ for w in caught)
            continue
        columns = machine._kernel.columns(X, plain.support_vectors_)
        best = best_loss(columns, 2.0 * y - 1)
        assert np.isclose((machine.objective_ - len(machine.support_)) / 20, best, rtol=2e-6)
        verified += 1
    assert verified >= 6 and better >= 5


def best_loss(columns, signs):
    """Least sum of hinge losses, by a general method."""
    N, k = columns.shape
    margins = np.hstack([columns, np.ones((N, 1))]) * signs[:, None]
    found = linprog(
        np.append(np.zeros(k + 1), np.ones(N)),
        -np.hstack([margins, np.eye(N)]),
        -np.ones(N),
        bounds=[(None, None)] * (k + 1) + [(0, None)] * N,
        method="highs",
    )
    return found.fun


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
    for value, kind in (("x", "str"), (X[0], "ndarray"), (1j, "complex"), ([1, [2]], "list")):
        with pytest.raises(TypeError, match=f"^kernel=.* gives {kind} for two rows; pass a func"):
            SparseKernelSVM(kernel=lambda a, b, value=value: value).fit(X, y)
    with pytest.raises(TypeError, match=r"^basis=\[1, \[2, 3\]\]; pass None"):
        SparseKernelSVM(basis=[1, [2, 3]]).fit(X, y)
    with pytest.raises(ValueError, match="^sample_weight contains NaN"):
        SparseKernelSVM().fit(X, y, sample_weight=np.where(np.arange(len(y)) == 1, np.nan, 1))


def test_the_smallest_price_selects_no_point():
    X, y, *_ = small(0)
    for C0 in (0, 1e-300, 1e6):
        assert len(quiet(SparseKernelSVM(C=1e-300, C0=C0), X, y).support_) == 0


def test_rows_of_both_labels_ask_for_no_larger_price():
    X, y, *_ = small(0)
    X, y = np.vstack([X, X]), np.repeat([0, 1], len(X))
    for options in ({}, {"refit": False}, {"C0": 0.1}, {"C": 1e6}):
        words = line_of(lambda options=options: SparseKernelSVM(**options).fit(X, y))
        assert words == (
            "no point is selected: no weights, at any C, have smaller hinge losses than none; "
            "pass another kernel or gamma"
        )


def test_two_has_nothing_to_refit():
    X, y, *_ = small(1)
    machines = [quiet(SparseKernelSVM(p=2, C0=0.1, refit=r), X, y) for r in (True, False)]
    assert np.array_equal(machines[0].dual_coef_, machines[1].dual_coef_)
    assert machines[0].n_iter_ == 1 and len(machines[0].support_) == len(y)


# ---------------------------------------------------------------- points


def test_distinct_points_are_counted():
    X, y = load("titanic", return_X_y=True)
    table, times = np.unique(X, axis=0, return_counts=True)
    machine = quiet(SparseKernelSVM(C=1.0, gamma=1.0), X, y)
    assert len(machine.basis_) == len(table) and 1 <= len(machine.support_) <= len(table)
    assert np.array_equal(machine.support_vectors_, X[machine.support_])
    # the first of its equals, whatever its label
    for row in machine.basis_:
        assert row == np.flatnonzero((X == X[row]).all(axis=1))[0]
    repeated = sum((X == v).all(axis=1).sum() for v in machine.support_vectors_)
    chosen = [times[(table == v).all(axis=1)][0] for v in machine.support_vectors_]
    assert repeated == sum(chosen) > len(machine.support_)
    # as the few rows with their numbers
    few, which = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    weights = np.bincount(which.ravel()).astype(float)
    for C0 in (0.0, 0.3):
        whole = quiet(SparseKernelSVM(C=1.0, C0=C0, gamma=1.0), X, y)
        short = quiet(
            SparseKernelSVM(C=1.0, C0=C0, gamma=1.0), few[:, :-1], few[:, -1], sample_weight=weights
        )
        assert np.isclose(whole.objective_, short.objective_, rtol=1e-7)
        assert np.allclose(
            np.sort(whole.dual_coef_[0]), np.sort(short.dual_coef_[0]), rtol=1e-3, atol=1e-4
        )


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_distinct_rows_points_and_places(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 30)
    X = rng.integers(0, 3, (n, rng.integers(1, 4))).astype(float)
    positive = rng.integers(0, 2, n).astype(bool)
    weights = None if seed % 2 else rng.integers(0, 3, n).astype(float)
    shares = np.ones(n) if weights is None else weights
    if not shares.any():
        return
    samples = Samples.drop_zero_weight(X, positive.astype(int), weights)
    data = Distinct(samples)
    seen = np.column_stack([data.rows, data.positive])
    assert len(np.unique(seen, axis=0)) == len(seen)
    for row, label, weight, number in zip(
        data.rows, data.positive, data.weights, data.numbers, strict=True
    ):
        equal = (X == row).all(axis=1)
        assert weight == shares[equal & (positive == label)].sum() > 0
        assert number == np.flatnonzero(equal & (shares > 0))[0]
    assert len(np.unique(data.rows, axis=0)) == len(data.points)
    assert len(np.unique(data.rows[data.points], axis=0)) == len(data.points)
    assert np.array_equal(data.rows[data.points[data.group]], samples.X)
    order = rng.permutation(n)
    weights = None if weights is None else weights[order]
    moved = Distinct(Samples.drop_zero_weight(X[order], positive[order].astype(int), weights))
    for name in ("rows", "positive", "weights", "points"):
        assert np.array_equal(getattr(moved, name), getattr(data, name)), name


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
    for C0 in TWO_NORMS:
        machine = quiet(SparseKernelSVM(C=10, C0=C0, basis=rows, refit=False), X, y)
        assert sorted(machine.basis_) == sorted(set(rows)) and set(machine.support_) <= set(rows)
        alpha = np.zeros(len(y))
        alpha[machine.support_] = machine.dual_coef_[0]
        assert np.allclose(machine.decision_function(X), K @ alpha + machine.intercept_)
        assert machine.result_.steps[0].n_selected == 7
    same = quiet(SparseKernelSVM(C=10, basis=rows.tolist(), refit=False), X, y)
    again = quiet(SparseKernelSVM(C=10, basis=np.sort(rows), refit=False), X, y)
    assert np.array_equal(same.dual_coef_, again.dual_coef_)
    every = quiet(SparseKernelSVM(C=10, basis=np.arange(len(y))), X, y)
    none = quiet(SparseKernelSVM(C=10), X, y)
    assert np.array_equal(every.dual_coef_, none.dual_coef_)


def test_so_many_candidates():
    X, y = load("pima", return_X_y=True)
    machine = quiet(SparseKernelSVM(basis=60), X, y)
    assert len(machine.basis_) == 60 and set(machine.support_) <= set(machine.basis_)
    again = quiet(SparseKernelSVM(basis=60), X, y)
    assert np.array_equal(machine.dual_coef_, again.dual_coef_)
    other = quiet(SparseKernelSVM(basis=60, random_state=1), X, y)
    assert 30 < len(np.setdiff1d(other.basis_, machine.basis_)) < 60
    # the same points, in whatever order the rows come
    order = np.random.default_rng(0).permutation(len(y))
    moved = quiet(SparseKernelSVM(basis=60), X[order], y[order])
    assert set(order[moved.basis_]) == set(machine.basis_)
    assert set(order[moved.support_]) == set(machine.support_)
    more = quiet(SparseKernelSVM(basis=10**6), X[:100], y[:100])
    assert len(more.basis_) == 100


def test_thousands_of_rows():
    X, y = make_twonorm(2000, seed=3)
    machine = SparseKernelSVM(C=0.3, basis=120).fit(X[:1500], y[:1500])
    assert 1 <= len(machine.support_) < 30
    assert machine.score(X[1500:], y[1500:]) > 0.96
    # the best machine there is has 0.977
    assert machine.result_.status == "converged"


# ---------------------------------------------------------------- invariances


# ---------------------------------------------------------------- degenerate data


@given(st.integers(0, 10**6))
@settings(max_examples=120, deadline=None, derandomize=True)
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
    assert machine.result_.duality_gap <= 1e-6
    assert len(machine.support_) <= len(np.unique(X[weights > 0], axis=0))
    assert machine.support_vectors_.shape == (len(machine.support_), n_features)
    assert machine.dual_coef_.shape == (1, len(machine.support_)) and machine.dual_coef_.all()
    assert (np.diff(machine.support_) > 0).all() and weights[machine.support_].all()


@pytest.mark.parametrize("options", [{}, {"refit": False}, {"C0": 0.1}, {"p": 2}], ids=str)
def test_rows_that_are_all_equal(options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine = SparseKernelSVM(**options).fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    words = [str(w.message) for w in caught]
    assert any("constant features" in w for w in words)
    assert any("no point is selected: no weights, at any C" in w for w in words)
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
    assert np.isclose(machine.objective_, losses_and_points(machine, X, y), rtol=1e-9)


# ---------------------------------------------------------------- what is refused, and said


def test_candidates_of_weight_zero_are_none():
    weights = [1, 0, 1, 1, 0, 1]
    machine = quiet(SparseKernelSVM(basis=[0, 1, 3]), GOOD, LABELS, sample_weight=weights)
    assert machine.basis_.tolist() == [0, 3]
    with pytest.raises(ValueError, match="all rows of basis have weight zero"):
        SparseKernelSVM(basis=[1, 4]).fit(GOOD, LABELS, sample_weight=weights)


def line_of(call):
    """Warnings of a call, and that each points at this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(w.filename == __file__ for w in caught), [w.filename for w in caught]
    return " / ".join(str(w.message) for w in caught)


def test_warnings_say_what_to_do_at_the_callers_line():
    X, y = load("sonar", return_X_y=True)
    X, y = X[::2], y[::2]
    assert "C=0.001 is too small to select a point; pass a larger C" in line_of(
        lambda: SparseKernelSVM(C=0.001).fit(X, y)
    )
    assert 'larger C, start="large_C"' in line_of(
        lambda: SparseKernelSVM(C=0.001, start="identity").fit(X, y)
    )
    words = line_of(lambda: SparseKernelSVM(p=2.0).fit(X, y))
    assert f"none of {len(y)} points is dropped at C=1; pass a smaller C, p=0 if" in words
    for start in ("large_C", "identity"):
        words = line_of(lambda start=start: SparseKernelSVM(max_iter=2, start=start).fit(X, y))
        assert words.count("not converged in 2 steps") == 1
    X = np.column_stack([X, np.ones(len(y))])
    assert line_of(lambda: SparseKernelSVM().fit(X, y)).startswith("constant features")


@pytest.mark.parametrize("C0", [0.0, 0.1])
def test_a_step_that_is_not_verified_is_not_taken(monkeypatch, C0):
    X, y = load("wdbc", return_X_y=True)
    true, calls = SoftMargin.solve, []

    def solve(self, *args, **kwargs):
        calls.append(0)
        if len(calls) > 3:
            raise SubproblemError("no answer")
        return true(self, *args, **kwargs)

    monkeypatch.setattr(SoftMargin, "solve", solve)
    options = dict(start="identity", C0=C0)
    with pytest.warns(ConvergenceWarning, match="not solved to verified accuracy.*no answer"):
        machine = SparseKernelSVM(refit=False, **options).fit(X, y)
    assert machine.result_.status == "stalled" and machine.n_iter_ == 3
    assert np.isclose(machine.objective_, wanted(machine, X, y))
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if C0 == 0:  # the linear program is left
            refitted = SparseKernelSVM(**options).fit(X, y)
            assert refitted.objective_ <= machine.objective_
            assert refitted.result_.duality_gap <= 1e-6
        else:
            with pytest.raises(SubproblemError, match="refit.*no answer.*refit=False"):
                SparseKernelSVM(**options).fit(X, y)
    calls.extend([0] * 3)
    with pytest.raises(SubproblemError, match="no answer"):
        SparseKernelSVM(**options).fit(X, y)
