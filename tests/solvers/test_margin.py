"""The soft-margin program: equal to a literal statement, and optimal by a duality of its own."""

import tracemalloc
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimality import soft_margin
from scipy.optimize import linprog

from fsnotes import load, make_wide
from fsnotes.errors import SubproblemError
from fsnotes.solvers import margin as svm
from fsnotes.solvers.margin import SoftMargin

EXACT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


class Instance:
    """Rows, labels, weights, sizes and C; regimes by whether rows or columns are more."""

    def __init__(self, Z, y, weights=None, sizes=None, C=1.0):
        self.Z, self.y, self.C = np.asarray(Z, dtype=float), np.asarray(y, dtype=float), C
        self.weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
        self.sizes = np.ones(self.Z.shape[1]) if sizes is None else np.asarray(sizes, dtype=float)

    def solve(self, **more):
        return SoftMargin(self.Z, self.y, self.weights).solve(self.sizes, self.C, **more)

    def margins(self, w, b):
        return self.y * (self.Z @ w + b)

    def hinge(self, w, b):
        return self.weights @ np.maximum(0, 1 - self.margins(w, b))

    def primal(self, w, b):
        live = self.sizes != 0
        u = w[live] / self.sizes[live]
        return u @ u + self.C * self.hinge(w, b)

    def dual(self, a):
        return a.sum() - self.pull(a) @ self.pull(a) / 4

    def pull(self, a):
        return self.sizes * (self.Z.T @ (self.y * a))

    def literal(self):
        """Weights, offset and value of the problem as it is stated."""
        u, b, slack = cp.Variable(len(self.sizes)), cp.Variable(), cp.Variable(len(self.y))
        rows = self.Z * self.sizes
        value = cp.sum_squares(u) + self.C * self.weights @ slack
        margins = cp.multiply(self.y, rows @ u + b)
        problem = cp.Problem(cp.Minimize(value), [margins >= 1 - slack, slack >= 0])
        problem.solve(solver=cp.CLARABEL, **EXACT)
        assert problem.status == cp.OPTIMAL
        return self.sizes * u.value, float(b.value), float(problem.value)


def draw(seed, wide=None):
    """A random instance: odd seeds wide; ties, opposite twins, weights and separability random."""
    rng = np.random.default_rng([seed, 11])
    wide = seed % 2 if wide is None else wide
    n_rows = int(rng.integers(2, 40))
    n = int(rng.integers(n_rows, 90) if wide else rng.integers(1, max(2, n_rows)))
    kind = rng.integers(5)
    Z = rng.normal(size=(n_rows, n)) if kind < 3 else rng.integers(-2, 3, (n_rows, n)) * 1.0
    if kind == 1:
        Z = Z[rng.integers(0, n_rows, n_rows)]
    if kind == 2:
        Z += rng.normal(size=n)
        Z[:, rng.integers(n)] = 3.0
    y = np.where(rng.random(n_rows) < rng.uniform(0.2, 0.8), 1.0, -1.0)
    y[:2] = 1, -1
    if rng.random() < 0.4:
        Z[:, 0] += y * rng.uniform(0, 4)
    weights = [np.ones(n_rows), rng.integers(1, 6, n_rows), 10 ** rng.uniform(-1, 1, n_rows)]
    weights = weights[rng.integers(3)].astype(float)
    if rng.random() < 0.2:
        weights[2:] *= rng.random(n_rows - 2) < 0.7
    sizes = rng.uniform(0.1, 1, n) if rng.random() < 0.5 else 10 ** rng.uniform(-3, 1, n)
    if rng.random() < 0.2:
        sizes *= rng.random(n) < 0.6
    return Instance(Z, y, weights, sizes, 10 ** rng.uniform(-2, 3))


def certificate(case, found):
    data = case.Z, case.y, case.weights, case.sizes, case.C
    return soft_margin(*data, found.weights, found.offset, found.multipliers)


def violations(case, found):
    return certificate(case, found).violations


def middle_offset(case, w):
    """The middle of the offsets of least loss, by trying all at which a margin is 1."""
    counted = case.weights > 0
    kinks = np.sort((case.y - case.Z @ w)[counted])
    losses = np.array([case.hinge(w, b) for b in kinks])
    least = kinks[losses <= losses.min() * (1 + 1e-10)]
    return (least[0] + least[-1]) / 2


def factorisations(found):
    return sum(found.counts.values())


# ---------------------------------------------------------------- optimality


@pytest.mark.parametrize("wide", [False, True])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_it_is_the_literal_statement(wide, seed):
    case = draw(seed, wide)
    found, (w, _, value) = case.solve(), case.literal()
    assert np.isclose(found.objective, value, rtol=1e-6)
    assert np.isclose(found.objective, case.primal(found.weights, found.offset), rtol=1e-9)
    assert np.isclose(found.hinge, case.hinge(found.weights, found.offset), rtol=1e-7, atol=1e-9)
    # the primal is strongly convex: as close as the values let the literal answer be
    live = case.sizes != 0
    apart = (found.weights - w)[live] / case.sizes[live]
    assert apart @ apart <= 1e-6 * found.objective
    assert not found.weights[~live].any()


@pytest.mark.parametrize("wide", [False, True])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_optimality_conditions(wide, seed):
    case = draw(seed, wide)
    found = case.solve()
    worst = violations(case, found)
    assert max(worst.values()) < 1e-7, worst
    assert (found.multipliers >= 0).all()
    assert (found.multipliers <= case.C * case.weights).all()
    assert np.isclose(certificate(case, found).value, found.objective, rtol=1e-9)
    gap = certificate(case, found).check(1e-7).gap
    assert abs(gap - found.duality_gap) < 1e-9 and found.duality_gap <= 1e-9
    assert np.isclose(found.offset, middle_offset(case, found.weights), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_conditions_notice_what_is_wrong(wide):
    """Each is broken by the slip that it is there for."""
    seen = dict.fromkeys(["box", "sum", "machine", "at zero", "free", "at cap"], 0)
    for seed in range(100):
        case = draw(seed, wide)
        case.sizes = np.maximum(case.sizes, 1e-3)  # a machine that shrinks is another
        found = case.solve()
        a, most = found.multipliers, case.C * case.weights
        moved = a.copy()
        moved[0] += 1e-3 * a.sum()
        slips = {
            "box": replace(found, multipliers=a - 1e-3 * most.max()),
            "sum": replace(found, multipliers=moved),
            "machine": replace(found, weights=1.001 * found.weights),
            "at zero": replace(found, offset=found.offset - 50 * case.y[0]),
            "free": replace(found, offset=found.offset + 1e-3),
            "at cap": replace(found, weights=50 * found.weights, offset=50 * found.offset),
        }
        for name, slip in slips.items():
            seen[name] += violations(case, slip)[name] > 1e-7
    assert all(count >= 20 for count in seen.values()), seen


def test_weak_duality_at_random_points():
    rng = np.random.default_rng(0)
    for seed in range(100):
        case = draw(seed)
        found = case.solve()
        positive = case.y > 0
        for _ in range(5):
            w = case.sizes * rng.normal(size=len(case.sizes))
            near = found.weights + 1e-3 * w
            assert case.primal(w, rng.normal()) >= found.objective * (1 - 1e-9)
            assert case.primal(near, found.offset) >= found.objective * (1 - 1e-9)
            a = case.C * case.weights * rng.random(len(case.y))
            sums = a[positive].sum(), a[~positive].sum()
            a *= np.where(positive, min(sums) / sums[0], min(sums) / sums[1])
            assert case.dual(a) <= found.objective * (1 + 1e-9)


def test_conditions_of_the_fixed_point():
    """Where ``sizes = |w|`` does not change, each weight times its pull is 2."""
    Z, y = standardized("sonar")
    found, kept, _ = reweighted(Z, y, 100.0, tol=1e-12)
    pulls = found.weights * (Z.T @ (y * found.multipliers))
    assert 10 < len(kept) < 60
    assert np.allclose(pulls[kept], 2, rtol=1e-6)


def reweighted(Z, y, C, tol=1e-6):
    """The machine that is left after ``sizes = |w|`` again and again, and factorisations."""
    program, found, sizes, spent = SoftMargin(Z, y, np.ones(len(y))), None, np.ones(Z.shape[1]), []
    for _ in range(200):
        sizes = np.where(sizes > 1e-6 * sizes.max(), sizes, 0)
        found = program.solve(sizes, C, start=found)
        spent.append(factorisations(found))
        before, sizes = sizes, abs(found.weights)
        if abs(sizes - before).max() <= tol * sizes.max():
            break
    return found, np.flatnonzero(sizes > 1e-6 * sizes.max()), spent


# ---------------------------------------------------------------- real data, starts, counts


def standardized(name):
    X, y = load(name, return_X_y=True) if isinstance(name, str) else make_wide(*name)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == y.max(), 1.0, -1.0)


def merged(Z, y):
    rows, counts = np.unique(np.column_stack([Z, y]), axis=0, return_counts=True)
    return rows[:, :-1], rows[:, -1], counts.astype(float)


@pytest.mark.parametrize("name", ["sonar", "wisconsin", "ionosphere", (30, 300)])
@pytest.mark.parametrize("C", [0.02, 2, 200])
def test_real_data(name, C):
    case = Instance(*merged(*standardized(name)), C=C)
    found = case.solve()
    assert np.isclose(found.objective, case.literal()[-1], rtol=1e-6)
    assert found.duality_gap <= 1e-9
    assert max(violations(case, found).values()) < 1e-7


@pytest.mark.parametrize("name", ["sonar", "wisconsin", "ionosphere", (62, 500)])
def test_a_start_nearby_saves_factorisations_and_changes_nothing(name):
    Z, y, weights = merged(*standardized(name))
    program, rng = SoftMargin(Z, y, weights), np.random.default_rng(1)
    sizes = rng.uniform(0.5, 1, Z.shape[1])
    found, warm, cold = program.solve(sizes, 2.0), 0, 0
    for _ in range(8):
        sizes = sizes * np.exp(0.03 * rng.normal(size=len(sizes)))
        new, found = program.solve(sizes, 2.0), program.solve(sizes, 2.0, start=found)
        assert np.isclose(found.objective, new.objective, rtol=1e-9)
        assert np.allclose(found.weights, new.weights, atol=1e-6 * abs(new.weights).max())
        assert np.isclose(found.offset, new.offset, atol=1e-6)
        warm, cold = warm + factorisations(found), cold + factorisations(new)
    assert warm <= cold / 2, (warm, cold)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_any_start_leads_to_the_same(seed):
    """Of another C, of other sizes, of fewer columns: all far from nearby."""
    case, rng = draw(seed), np.random.default_rng([seed, 2])
    program = SoftMargin(case.Z, case.y, case.weights)
    cold = program.solve(case.sizes, case.C)
    other = program.solve(rng.uniform(0, 1, len(case.sizes)), case.C * 10 ** rng.uniform(-2, 2))
    none = program.solve(0 * case.sizes, case.C)
    for start in (cold, other, none):
        before = start.multipliers.copy(), start.states.copy()
        warm = program.solve(case.sizes, case.C, start=start)
        assert np.isclose(warm.objective, cold.objective, rtol=1e-8)
        assert max(violations(case, warm).values()) < 1e-7
        assert all(map(np.array_equal, before, (start.multipliers, start.states)))
    assert factorisations(program.solve(case.sizes, case.C, start=cold)) <= 3


@pytest.mark.parametrize(
    "name, C, each", [("sonar", 2, 14), ("wisconsin", 2, 9), ((62, 2000), 100, 3)]
)
def test_a_run_of_starts_takes_few_factorisations(name, C, each):
    _, kept, spent = reweighted(*standardized(name), C)
    assert 10 < len(spent) < 60 and len(kept) < 30
    assert np.mean(spent) <= each, spent


@pytest.mark.parametrize("name, most", [("sonar", 24), ("wisconsin", 38), ((62, 2000), 2)])
def test_a_cold_solve_takes_few_factorisations(name, most):
    program = SoftMargin(*merged(*standardized(name)))
    for C in (0.02, 2, 200):
        found = program.solve(np.ones(program.columns.shape[0]), C)
        assert factorisations(found) <= most, (C, found.counts)


def test_the_ways_agree(monkeypatch):
    """Pivots alone, and the interior point alone."""
    cases = [draw(seed) for seed in range(60)]
    found = [case.solve() for case in cases]
    monkeypatch.setattr(svm, "COLD_PIVOTS", 0)
    monkeypatch.setattr(svm, "STAGES", ((1e-11, 0),))
    inner = [case.solve() for case in cases]
    used = [new.counts["interior point"] > 3 for new in inner]
    assert sum(used) > 55  # of the others, the live columns are constant
    for case, one, other in zip(cases, found, inner, strict=True):
        assert np.isclose(one.objective, other.objective, rtol=1e-7)
        assert 0 <= other.duality_gap <= 1e-6
        start = SoftMargin(case.Z, case.y, case.weights).solve(0 * case.sizes, case.C)
        with monkeypatch.context() as only:
            only.setattr(svm, "WARM_PIVOTS", 1000)
            pivoted = case.solve(start=start)
        if pivoted.counts["interior point"] == 0:
            assert np.isclose(one.objective, pivoted.objective, rtol=1e-8)


def test_pivots_never_lower_the_dual():
    """From the middle, and from nothing."""
    rises = 0
    for seed in range(60):
        case = draw(seed)
        columns = (case.Z * case.sizes).T * case.y / 10
        gram = columns.T @ columns if seed % 2 else None
        program = svm._Dual(columns, gram, case.y, case.C * case.weights + 0.1)
        nothing = np.zeros(len(case.y)), np.zeros(len(case.y), dtype=int)
        middle = program._largest_multiple(1.0), np.ones(len(case.y), dtype=int)
        for a, states in (middle, nothing):
            duals = [a.sum() - (columns @ a) @ (columns @ a) / 2]
            for most in range(1, 25):
                now, *_ = program.pivot(a.copy(), states.copy(), most)
                duals.append(now.sum() - (columns @ now) @ (columns @ now) / 2)
                assert abs(case.y @ now) <= 1e-9 * now.sum()
                assert (now >= 0).all() and (now <= program.caps).all()
            assert (np.diff(duals) >= -1e-9 * max(duals)).all(), seed
            rises += np.count_nonzero(np.diff(duals) > 1e-9 * max(duals))
            answer = program.answer(*program.pivot(a.copy(), states.copy(), 1000))
            assert answer.gap <= 1e-9
    assert rises > 500


# ---------------------------------------------------------------- invariances


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_invariances(seed):
    case, rng = draw(seed), np.random.default_rng([seed, 3])
    found = case.solve()
    size = 1e-6 * max(abs(found.weights).max(), 1e-4 * case.sizes.max())

    def same(other, w, b=found.offset):
        assert np.isclose(other.objective, found.objective, rtol=1e-8)
        assert np.allclose(other.weights, w, atol=size)
        assert np.isclose(other.offset, b, atol=1e-5 * (1 + abs(b)))

    rows, columns = rng.permutation(len(case.y)), rng.permutation(len(case.sizes))
    y, weights, sizes, C = case.y, case.weights, case.sizes, case.C
    same(Instance(case.Z[rows], y[rows], weights[rows], sizes, C).solve(), found.weights)
    same(
        Instance(case.Z[:, columns], y, weights, sizes[columns], C).solve(), found.weights[columns]
    )
    same(Instance(case.Z, -y, weights, sizes, C).solve(), -found.weights, -found.offset)
    shift = rng.normal(size=len(sizes))
    moved = Instance(case.Z + shift, y, weights, sizes, C).solve()
    same(moved, found.weights, found.offset - shift @ found.weights)
    factors = 2.0 ** rng.integers(-3, 4, len(sizes))
    scaled = Instance(case.Z * factors, y, weights, sizes / factors, C).solve()
    same(replace(scaled, weights=scaled.weights * factors), found.weights)
    same(Instance(case.Z, y, weights / C, sizes, C**2).solve(), found.weights)
    signs = rng.choice([-1, 1], len(sizes))
    same(Instance(case.Z, y, weights, sizes * signs, C).solve(), found.weights)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_as_many_rows(seed):
    case, rng = draw(seed), np.random.default_rng([seed, 4])
    counts = rng.integers(0, 4, len(case.y))
    counts[:2] = 1, 2  # both classes
    weighted = Instance(case.Z, case.y, counts, case.sizes, case.C)
    repeated = np.repeat(np.arange(len(counts)), counts)
    rows = Instance(case.Z[repeated], case.y[repeated], None, case.sizes, case.C)
    one, other = weighted.solve(), rows.solve()
    assert np.isclose(one.objective, other.objective, rtol=1e-8)
    assert np.isclose(one.hinge, other.hinge, rtol=1e-6, atol=1e-9)
    size = max(abs(one.weights).max(), 1e-4 * case.sizes.max())
    assert np.allclose(one.weights, other.weights, atol=1e-6 * size)
    assert np.isclose(one.offset, other.offset, atol=1e-5 * (1 + abs(one.offset)))
    assert not one.multipliers[counts == 0].any()


# ---------------------------------------------------------------- degenerate cases


@pytest.mark.parametrize("counts, offset", [((3, 5), 1), ((5, 3), -1), ((4, 4), 0)])
@pytest.mark.parametrize("what", ["no columns", "no sizes", "constant", "too small"])
def test_nothing_to_tell_rows_apart(counts, offset, what):
    """The heavier class everywhere; every row of the other costs 2, or 1 of all if equal."""
    y = np.repeat([-1.0, 1.0], counts)
    Z = np.random.default_rng(0).normal(size=(8, 3))
    sizes = np.ones(3)
    if what == "no columns":
        Z, sizes = Z[:, :0], sizes[:0]
    elif what == "no sizes":
        sizes = 0 * sizes
    elif what == "constant":
        Z = np.ones((8, 3)) * [1, 2, 3]
    else:
        sizes = 1e-200 * sizes
    found = SoftMargin(Z, y, np.ones(8)).solve(sizes, 7.0)
    assert not found.weights.any() and found.weights.shape == sizes.shape
    assert found.offset == offset
    assert found.objective == 7 * found.hinge == 7 * 2 * min(counts)
    assert found.duality_gap <= 1e-15
    assert factorisations(found) == 0
    assert np.isclose(found.multipliers.sum(), found.objective)


def test_offsets_that_are_as_good():
    """Both multipliers at their ends: any offset with margins up to 1 is as good."""
    found = SoftMargin([[1.0], [-2.0]], [1, -1], [1, 1]).solve(np.ones(1), 0.1)
    assert np.allclose(found.weights, 0.15) and np.allclose(found.multipliers, 0.1)
    # 1 - (w + b) >= 0 and 1 - (2 w - b) >= 0
    assert np.isclose(found.offset, (1 - 0.15 + 2 * 0.15 - 1) / 2)
    assert list(found.states) == [2, 2]


def test_two_rows_by_hand():
    """Apart by 4, the margin is as wide as C is large enough to pay."""
    Z, y = [[1.0], [5.0]], [-1, 1]
    free = SoftMargin(Z, y, [1, 1]).solve(np.ones(1), 10.0)
    assert np.allclose(free.weights, 0.5) and np.isclose(free.offset, -1.5)
    assert np.allclose(free.multipliers, 0.25) and list(free.states) == [1, 1]
    assert np.isclose(free.objective, 0.25) and abs(free.hinge) < 1e-12
    # u = w / 2 for the size 2: half as dear for each unit of weight
    sized = SoftMargin(Z, y, [1, 1]).solve(np.array([2.0]), 10.0)
    assert np.allclose(sized.weights, 0.5) and np.isclose(sized.objective, 0.0625)


def test_twins_of_opposite_labels():
    """A pair in one place costs 2 whatever the machine, and pulls nowhere."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20, 3))
    only = Instance(np.vstack([Z, Z]), np.repeat([1.0, -1.0], 20), C=5.0)
    found = only.solve()
    assert abs(found.weights).max() < 1e-9 and np.isclose(found.objective, 5 * 40)
    y = np.where(Z[:, 0] > 0, 1.0, -1.0)
    both = Instance(np.vstack([Z, Z, Z]), np.concatenate([y, y, -y]), C=5.0)
    assert np.isclose(both.solve().objective, both.literal()[-1], rtol=1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_a_large_price_of_separable_rows_is_the_hard_margin(wide):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(30, 60) if wide else (30, 4))
    y = np.where(Z[:, 0] > 0, 1.0, -1.0)
    Z[:, 0] += 0.3 * y
    w, b = cp.Variable(Z.shape[1]), cp.Variable()
    hard = cp.Problem(cp.Minimize(cp.sum_squares(w)), [cp.multiply(y, Z @ w + b) >= 1])
    hard.solve(solver=cp.CLARABEL, **EXACT)
    for C in (1e4, 1e6):
        case = Instance(Z, y, C=C)
        found = case.solve()
        assert np.isclose(found.objective, hard.value, rtol=1e-6)
        assert np.allclose(found.weights, w.value, atol=1e-4 * abs(w.value).max())
        assert np.isclose(case.primal(found.weights, found.offset), hard.value, rtol=1e-5)
        assert found.duality_gap <= 1e-9


def test_a_large_price_of_other_rows_is_the_least_loss():
    rng = np.random.default_rng(4)
    for _ in range(10):
        Z, weights = rng.normal(size=(40, 3)), rng.integers(1, 4, 40) * 1.0
        y = np.where(Z[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
        rows = y[:, None] * np.column_stack([Z, np.ones(40)])
        costs = np.concatenate([np.zeros(4), weights])
        bounds = [(None, None)] * 4 + [(0, None)] * 40
        least = linprog(costs, -np.hstack([rows, np.eye(40)]), -np.ones(40), bounds=bounds).fun
        for C in (1e5, 1e6):
            found = Instance(Z, y, weights, C=C).solve()
            assert np.isclose(found.hinge, least, rtol=1e-4) and found.hinge > 1
            assert found.duality_gap <= 1e-7


def test_columns_of_very_different_sizes():
    """As late in a run, when weights fall by orders of magnitude."""
    worst = 0
    for seed in range(100):
        case, rng = draw(seed), np.random.default_rng([seed, 5])
        case.sizes, case.C = 10 ** rng.uniform(-6, 1, len(case.sizes)), 10 ** rng.uniform(-4, 5)
        worst = max(worst, case.solve().duality_gap)
    assert 0 < worst <= 1e-8


def test_prices_and_weights_of_very_different_sizes():
    """Thirteen orders of magnitude between the least price of a row and the largest."""
    gaps, steps = [], 0
    for seed in range(300):
        case, rng = draw(seed), np.random.default_rng([seed, 6])
        n_rows, n = case.Z.shape
        if seed % 3 == 0:
            case.Z = case.Z @ (rng.normal(size=(n, n)) * 10 ** rng.uniform(-3, 1, n))
        if seed % 4 == 0:
            case.sizes = 10 ** rng.uniform(-6, 1, n)
        case.weights, case.C = 10 ** rng.uniform(-3, 3, n_rows), 10 ** rng.uniform(2, 6)
        found = case.solve()
        bound = case.dual(found.multipliers)
        assert case.primal(found.weights, found.offset) <= bound * (1 + 1e-4)
        gaps.append(found.duality_gap)
        steps += factorisations(found)
    assert max(gaps) <= 1e-8 and np.mean(np.array(gaps) <= 1e-9) >= 0.99
    assert steps < 22 * 300, steps


def test_a_class_without_weight_is_refused():
    with pytest.raises(ValueError, match="class -1 has no row of positive weight; pass positive"):
        SoftMargin(np.ones((3, 1)), [1, 1, -1], [1, 1, 0])


def test_what_is_not_verified_is_not_returned(monkeypatch):
    case = draw(1)
    with pytest.raises(SubproblemError, match="duality gap inf, more than 1e-06"):
        Instance(case.Z, case.y, case.weights, case.sizes * 1e200, case.C).solve()
    monkeypatch.setattr(svm, "VERIFIED_GAP", -1.0)
    with pytest.raises(SubproblemError, match="pass a smaller C than|columns of similar sizes"):
        case.solve()


@pytest.mark.parametrize("shape", [(30, 20_000), (20_000, 6)])
def test_nothing_is_as_large_as_rows_or_columns_squared(shape):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=shape)
    y = np.where(Z[:, :3].sum(axis=1) + rng.normal(size=shape[0]) > 0, 1.0, -1.0)
    program = SoftMargin(Z, y, np.ones(shape[0]))
    tracemalloc.start()
    found = program.solve(np.ones(shape[1]), 0.01)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.duality_gap <= 1e-9
    assert peak < 20 * Z.nbytes  # the square would be 500 times the rows or more
