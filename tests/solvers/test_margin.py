"""The soft-margin program: equal to a literal statement, and optimal by a duality of its own."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimality import soft_margin

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

    def hinge(self, w, b):
        return self.weights @ np.maximum(0, 1 - self.y * (self.Z @ w + b))

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
        # the first two rows keep their weights, so that no class is without
        weights[2:] *= rng.random(n_rows - 2) < 0.7
    sizes = rng.uniform(0.1, 1, n) if rng.random() < 0.5 else 10 ** rng.uniform(-3, 1, n)
    if rng.random() < 0.2:
        sizes *= rng.random(n) < 0.6
    return Instance(Z, y, weights, sizes, 10 ** rng.uniform(-2, 3))


def certificate(case, found):
    data = case.Z, case.y, case.weights, case.sizes, case.C
    return soft_margin(*data, found.weights, found.offset, found.multipliers)


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
def test_optimality_conditions(wide):
    """Of many draws by a duality of the test's own, of some by the literal statement, too."""
    for seed in range(150):
        case = draw(seed, wide)
        found = case.solve()
        assert (found.multipliers >= 0).all()
        assert (found.multipliers <= case.C * case.weights).all()
        proof = certificate(case, found).check(1e-7)
        assert np.isclose(proof.value, found.objective, rtol=1e-9)
        assert abs(proof.gap - found.duality_gap) < 1e-9 and found.duality_gap <= 1e-9
        assert np.isclose(found.offset, middle_offset(case, found.weights), rtol=1e-6, atol=1e-6)
        hinge = case.hinge(found.weights, found.offset)
        assert np.isclose(found.hinge, hinge, rtol=1e-7, atol=1e-9)
        live = case.sizes != 0
        assert not found.weights[~live].any()
        if seed < 60:
            w, _, value = case.literal()
            assert np.isclose(found.objective, value, rtol=1e-6)
            # the primal is strongly convex: as close as the values let the literal answer be
            apart = (found.weights - w)[live] / case.sizes[live]
            assert apart @ apart <= 1e-6 * found.objective


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
    assert found.duality_gap <= 1e-9
    certificate(case, found).check(1e-7)


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
        assert max(certificate(case, warm).violations.values()) < 1e-7
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
        # the squares of such sizes are zero
        sizes = 1e-200 * sizes
    found = SoftMargin(Z, y, np.ones(8)).solve(sizes, 7.0)
    assert not found.weights.any() and found.weights.shape == sizes.shape
    assert found.offset == offset
    assert found.objective == 7 * found.hinge == 7 * 2 * min(counts)
    assert found.duality_gap <= 1e-15
    assert factorisations(found) == 0
    assert np.isclose(found.multipliers.sum(), found.objective)


def test_two_rows_by_hand():
    """Apart by 4, the margin is as wide as C is large enough to pay."""
    Z, y = [[1.0], [5.0]], [-1, 1]
    free = SoftMargin(Z, y, [1, 1]).solve(np.ones(1), 10.0)
    # scores are -1 at 1 and +1 at 5, so both margins are 1, and no loss is left
    assert np.allclose(free.weights, 0.5) and np.isclose(free.offset, -1.5)
    assert np.allclose(free.multipliers, 0.25) and list(free.states) == [1, 1]
    assert np.isclose(free.objective, 0.25) and abs(free.hinge) < 1e-12
    # u = w / 2 for the size 2: half as dear for each unit of weight
    sized = SoftMargin(Z, y, [1, 1]).solve(np.array([2.0]), 10.0)
    assert np.allclose(sized.weights, 0.5) and np.isclose(sized.objective, 0.0625)


@pytest.mark.parametrize("wide", [False, True])
def test_a_large_price_of_separable_rows(wide):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(30, 60) if wide else (30, 4))
    y = np.where(Z[:, 0] > 0, 1.0, -1.0)
    Z[:, 0] += 0.3 * y
    for C in (1e4, 1e6):
        case = Instance(Z, y, C=C)
        found = case.solve()
        assert certificate(case, found).gap < 1e-6 and found.hinge < 1e-9
        assert found.duality_gap <= 1e-9


def test_a_large_price_of_other_rows():
    rng = np.random.default_rng(4)
    for _ in range(10):
        Z = rng.normal(size=(40, 3))
        y = np.where(Z[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
        for C in (1e5, 1e6):
            case = Instance(Z, y, rng.integers(1, 4, 40), C=C)
            found = case.solve()
            assert certificate(case, found).gap <= 1e-6 and found.hinge > 1
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
        assert certificate(case, found).gap <= 1e-4
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
