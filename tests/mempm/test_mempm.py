"""Unequal bounds: the frontier, its certified best point, and few features for every pair."""

import re
import warnings

import cvxpy as cp
import numpy as np
import pytest
from definitions import bounds_of, known_of, pooled_deviation, promised
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import draw
from scipy import special
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from fsnotes import (
    FSMEMPM,
    L1MPM,
    MEMPM,
    MPM,
    ClassMoments,
    frontier,
    literal,
    load,
    make_cross_planes,
    make_instance,
    make_wide,
)
from fsnotes.core.bounds import Frontier, kappa
from fsnotes.core.moments import MomentPair
from fsnotes.errors import (
    EqualMeansError,
    InfeasibleBoundError,
    PromiseWarning,
    SelectionWarning,
    SubproblemError,
    TrivialBoundWarning,
)
from fsnotes.mempm import BoundTrace, best_mixture
from fsnotes.solvers.cone import ConeProblem


def reach(kappas, gap, S1, S2):
    """Largest multiple of both kappas that some weights keep, by a duality of the test's own.

    The least ``k1 s1 + k2 s2`` with ``d'w = 1`` squares to the largest over t in (0, 1) of
    ``1 / d'(k1^2 S1 / t + k2^2 S2 / (1 - t))^-1 d``, whose denominator is concave in t.
    """
    k1, k2 = kappas
    if k1 == 0 or k2 == 0:
        S, k = (S2, k2) if k1 == 0 else (S1, k1)
        return np.inf if k == 0 else np.sqrt(gap @ np.linalg.solve(S, gap)) / k

    def value(logit):
        t = special.expit(logit)
        both = k1**2 * S1 / t + k2**2 * S2 / special.expit(-logit)
        return -gap @ np.linalg.solve(both, gap)

    found = minimize_scalar(value, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10})
    return np.sqrt(-found.fun)


def kappa_pairs(logits, gap, S1, S2):
    """Columns kappa1, kappa2 at mixtures, from linear systems."""
    m, rest = special.expit(logits), special.expit(-logits)
    w = np.linalg.solve(m[:, None, None] * S1 + rest[:, None, None] * S2, gap[:, None])[..., 0]
    squares = [np.einsum("ij,jk,ik->i", w, S, w) for S in (S1, S2)]
    return np.column_stack([m * np.sqrt(squares[0]), rest * np.sqrt(squares[1])])


def accuracy(kappas):
    return kappas**2 / (1 + kappas**2)


def best_by_scan(theta, known, reach=34.0, points=5001):
    """Largest mean of the accuracies, and how many local maxima lie inside, by a dense scan."""

    def mean(logits):
        return accuracy(kappa_pairs(np.atleast_1d(logits), *known)) @ [theta, 1 - theta]

    logits = np.linspace(-reach, reach, points)
    values = mean(logits)
    rising = np.diff(values)
    peaks = np.flatnonzero((rising[:-1] > 1e-10) & (rising[1:] < -1e-10)) + 1
    best = values.max()
    for peak in peaks:
        around = logits[peak - 1], logits[peak + 1]
        close = {"method": "bounded", "options": {"xatol": 1e-12}}
        best = max(best, -minimize_scalar(lambda x: -mean(x)[0], bounds=around, **close).fun)
    return best, len(peaks)


def diagonal(seed, decades=5):
    """Gap and covariances of independent features, whose frontier may have several best points."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    variances = 10 ** rng.uniform(-decades, decades, (2, n))
    return 10 ** rng.uniform(-3, 3, n), *map(np.diag, variances)


def curve_of(X, y, **more):
    return frontier(ClassMoments.from_data(X, y), **more)


# the frontier, as the reader sees it


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("scale", [True, False])
def test_machines_of_the_frontier_promise_its_accuracies(scale, ridge):
    for seed in range(15):
        X, y = make_instance(seed)
        curve = curve_of(X, y, scale=scale, ridge=ridge)
        mixtures = np.array([0, 1e-4, 0.1, 0.5, 0.8, 1 - 1e-4, 1])
        rows = curve.accuracies(mixtures)
        assert rows.shape == (7, 2)
        unit = pooled_deviation(X, y) if scale else 1.0
        for mixture, row in zip(mixtures, rows, strict=True):
            w, b = curve.machine(mixture)
            assert w.shape == (X.shape[1],) and isinstance(b, float)
            means = [X[y == c].mean(axis=0) @ w + b for c in (1, 0)]
            assert np.isclose(means[0] - means[1], 1, rtol=1e-9)
            extra = ridge * ((w * unit) ** 2).sum()
            beta, alpha = promised(X, y, w, b, extra)
            assert np.allclose(row, [alpha, beta], rtol=1e-8, atol=1e-12)
            assert np.allclose(curve.accuracies(mixture), row, rtol=1e-12, atol=1e-15)


def test_a_machine_in_the_callers_units_leaves_constant_columns_alone():
    X, y = load("pima", return_X_y=True)
    wider = np.insert(X, 3, 7.0, axis=1)
    with pytest.warns(SelectionWarning, match="constant"):
        curve = curve_of(wider, y)
    w, b = curve.machine(0.4)
    plain, offset = curve_of(X, y).machine(0.4)
    assert w[3] == 0 and np.allclose(np.delete(w, 3), plain) and np.isclose(b, offset)


def test_points_lie_on_the_frontier_and_evenly():
    for name in ("sonar", "pima", "wdbc", "ionosphere"):
        X, y = load(name, return_X_y=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SelectionWarning)
            curve = curve_of(X, y)
        alphas, betas, mixtures = curve.points(50)
        end = name == "ionosphere"
        assert len(alphas) == len(betas) == len(mixtures) == 50 + 2 * end
        curved = slice(0, 50)
        assert np.allclose(curve.accuracies(mixtures[curved]).T, [alphas[curved], betas[curved]])
        steps = np.hypot(np.diff(alphas[curved]), np.diff(betas[curved]))
        assert steps.max() < 1.1 * steps.min()
        assert mixtures[0] == 0 and mixtures[49] == 1
        assert (np.diff(alphas) >= 0).all() and (np.diff(betas) <= 0).all()
        if end:
            alpha, beta = curve.accuracies(1)
            assert alphas[-2:].tolist() == [1, 1] and betas[-2:].tolist() == [beta, 0]
            assert mixtures[-2:].tolist() == [1, 1] and 0.9 < alpha < 1
        else:
            assert alphas[0] == betas[-1] == 0
    assert len(curve_of(*load("pima", return_X_y=True)).points()[0]) == 200


def test_points_of_the_other_end_and_of_separating_directions():
    X, y = load("ionosphere", return_X_y=True)
    X = np.delete(X, 1, axis=1)
    there, back = curve_of(X, y).points(30), curve_of(X, 1 - y).points(30)
    assert np.allclose(there[0], back[1][::-1]) and np.allclose(there[1], back[0][::-1])
    assert np.allclose(there[2], 1 - back[2][::-1])
    assert back[0][:2].tolist() == [0, back[0][2]] and back[1][:2].tolist() == [1, 1]
    X, y = make_wide(20, 60)
    curve = curve_of(X, y)
    assert [part.tolist() for part in curve.points()] == [[0, 1, 1], [1, 1, 0], [0, 0.5, 1]]
    assert curve.beta_max(0.999) == 1 and curve.is_feasible(0.999, 0.999)
    for mixture in (0, 0.5, 1):
        assert curve.accuracies(mixture).tolist() == [1, 1]
        w, b = curve.machine(mixture)
        assert (promised(X, y, w, b) > 1 - 1e-12).all()


@pytest.mark.parametrize("bad", [-0.1, 1.2, np.nan, [0.3, -0.1], "x", None])
def test_the_frontier_takes_numbers_in_range(bad):
    curve = curve_of(*make_instance(0))
    error = ValueError if np.asarray(bad).dtype.kind == "f" else TypeError
    for name, ask in (
        ("alpha", curve.beta_max),
        ("alpha", lambda alpha: curve.is_feasible(alpha, 0.1)),
        ("beta", lambda beta: curve.is_feasible(0.1, beta)),
        ("mixture", curve.accuracies),
    ):
        with pytest.raises(
            error, match=rf"{name}={re.escape(repr(bad))}.*; pass numbers from 0 to 1"
        ):
            ask(bad)
    if bad != 1.2:
        with pytest.raises(error, match=rf"kappa1={re.escape(repr(bad))}.*; pass numbers from 0"):
            curve.kappa2_max(bad)
    assert curve.kappa2_max(np.inf) == -np.inf and np.isnan(curve.beta_max(1))
    with pytest.raises((ValueError, TypeError), match="mixture=.*from 0 to 1"):
        curve.machine(bad)
    for n_points in (0, 2.5, "3", True):
        with pytest.raises((ValueError, TypeError), match="n_points="):
            curve.points(n_points)


def test_frontier_takes_moments_of_two_classes():
    X, y = make_instance(0)
    with pytest.raises(TypeError, match="ndarray; pass ClassMoments"):
        frontier(X)
    for more, error in (({"ridge": -1}, ValueError), ({"scale": 1}, TypeError)):
        with pytest.raises(error, match=f"^{next(iter(more))}="):
            curve_of(X, y, **more)
    with pytest.raises(ValueError, match="exactly two classes"):
        frontier(ClassMoments.from_data(X, np.arange(len(y)) % 3))
    assert curve_of(X, np.where(y == 1, "b", "a")).classes_.tolist() == ["a", "b"]


@given(seed=st.integers(0, 10**6), alpha=st.floats(0.01, 0.99))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_feasible_is_what_the_duality_says(seed, alpha):
    X, y = make_instance(seed)
    mu1, mu2, S1, S2 = known_of(X, y)
    curve = curve_of(X, y)
    beta = curve.beta_max(alpha)
    if np.isnan(beta):
        assert curve.kappa2_max(kappa(alpha)) == -np.inf
        assert reach([kappa(alpha), 0], mu1 - mu2, S1, S2) < 1
        assert not curve.is_feasible(alpha, 0)
        return
    for factor in (1 - 1e-7, 1 + 1e-7):
        near = accuracy(factor * kappa(beta))
        inside = reach([kappa(alpha), kappa(near)], mu1 - mu2, S1, S2) > 1
        assert inside == (factor < 1) == curve.is_feasible(alpha, near)
    assert np.isclose(reach([kappa(alpha), kappa(beta)], mu1 - mu2, S1, S2), 1, rtol=1e-9)


def test_the_frontier_takes_arrays():
    curve = curve_of(*load("sonar", return_X_y=True))
    alphas = np.array([[0.0, 0.3, 0.6], [0.9, 0.98, 1.0]])
    betas = curve.beta_max(alphas)
    assert betas.shape == (2, 3)
    assert [curve.beta_max(a) for a in alphas.ravel()][:4] == betas.ravel()[:4].tolist()
    assert np.isnan(betas[1, 1:]).all() and (np.diff(betas.ravel()[:4]) < 0).all()
    assert isinstance(curve.beta_max(0.3), float)
    feasible = curve.is_feasible(alphas, 0.5)
    assert feasible.tolist() == (np.nan_to_num(betas, nan=-1) >= 0.5).tolist()
    assert curve.is_feasible(alphas[:, :1], [0.1, 0.2, 0.3, 0.4]).shape == (2, 4)


# MEMPM


@given(seed=st.integers(0, 10**6), theta=st.sampled_from([0, 0.1, 0.5, 0.77, 1]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_mean_is_the_global_maximum(seed, theta):
    X, y = make_instance(seed)
    mu1, mu2, S1, S2 = known_of(X, y)
    machine = MEMPM(theta=theta).fit(X, y)
    best, _ = best_by_scan(theta, (mu1 - mu2, S1, S2), 20, 1501)
    assert machine.objective_ >= best - 1e-12
    # nothing is claimed that no machine reaches
    assert np.isclose([1 - theta, theta] @ machine.worst_case_accuracy_, machine.objective_)
    assert 0 <= machine.result_.duality_gap <= 2e-12
    assert 75 <= machine.result_.counts["points"] < 1000
    assert np.allclose(
        machine.frontier_.accuracies(machine.mixture_)[::-1], machine.worst_case_accuracy_
    )
    w, b = machine.frontier_.machine(machine.mixture_)
    assert np.allclose(w, machine.coef_[0]) and np.isclose(b, machine.intercept_[0])
    assert machine.objective_ >= max(theta, 1 - theta) * max(
        machine.frontier_.accuracies([0, 1]).max(axis=0)[int(theta < 0.5)], 0
    )


@given(seed=st.integers(0, 10**6), theta=st.floats(0, 1))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_branch_and_bound_is_honest(seed, theta):
    gap, S1, S2 = diagonal(seed, 1.5)
    core = Frontier(MomentPair(gap, [S1, S2]))
    mixture, value, claimed, evaluations = best_mixture(core, theta)
    best, _ = best_by_scan(theta, (gap, S1, S2))
    assert best - 1e-12 <= value
    assert best <= value + claimed
    assert claimed <= 2e-12 and evaluations >= 75
    assert np.isclose(accuracy(core.kappas(mixture)) @ [theta, 1 - theta], value, atol=1e-12)
    # the same for the other label
    turned = Frontier(MomentPair(-gap, [S2, S1]))
    assert np.isclose(best_mixture(turned, 1 - theta)[1], value, rtol=1e-11)


# seeds found by a scan of 4000: so many local maxima inside
@pytest.mark.parametrize(
    ("seed", "theta", "peaks"),
    [(0, 0.7, 1), (0, 0.3, 2), (13, 0.5, 2), (543, 0.3, 3), (543, 0.5, 3), (719, 0.3, 3),
     (2625, 0.5, 4), (2625, 0.7, 4)],
)  # fmt: skip
def test_of_several_local_maxima_the_largest_is_found(seed, theta, peaks):
    gap, S1, S2 = diagonal(seed)
    core = Frontier(MomentPair(gap, [S1, S2]))
    best, found = best_by_scan(theta, (gap, S1, S2), points=20001)
    assert found == peaks
    mixture, value, claimed, _ = best_mixture(core, theta)
    assert best - 1e-12 <= value <= best + 1e-12
    # at the best mixture the slope of the mean vanishes, whatever the digits of the value
    logit = special.logit(mixture)
    around = kappa_pairs(logit + np.array([-1e-4, 0, 1e-4]), gap, S1, S2)
    low, middle, high = accuracy(around) @ [theta, 1 - theta]
    assert middle >= max(low, high)


def test_the_mixture_is_found_to_more_digits_than_the_value():
    for seed in range(20):
        X, y = make_instance(seed)
        machine = MEMPM().fit(X, y)
        if not 0 < machine.mixture_ < 1:
            continue
        k1, k2 = machine.frontier_._core.kappas(machine.mixture_)
        w, s = machine.coef_[0], [X[y == c] @ machine.coef_[0] for c in (1, 0)]
        # along the frontier d kappa2 / d kappa1 = -s1 / s2
        slope = k1 / (1 + k1**2) ** 2 - k2 / (1 + k2**2) ** 2 * s[0].std() / s[1].std()
        assert abs(slope) < 1e-9 and w.any()


def test_mempm_is_its_literal_statement():
    for seed, theta in ((0, 0.5), (3, 0.3), (7, 0.5), (11, 0.8), (20, 0), (21, 1)):
        X, y = make_instance(seed)
        known = known_of(X, y)
        w, b, value = literal.mempm(*known, theta, steps=50)
        machine = MEMPM(theta=theta).fit(X, y)
        assert value <= machine.objective_ + 1e-7
        assert machine.objective_ - value <= 1 / 50  # alpha can be rounded down
        # at the same alpha the line search has the same beta
        margin1, margin2 = w @ known[0] - b, b - w @ known[1]
        alpha, beta = (
            accuracy(margin / np.sqrt(w @ S @ w))
            for margin, S in ((margin1, known[2]), (margin2, known[3]))
        )
        step = round(alpha * 50) / 50
        assert abs(alpha - step) < 1e-6 or step == 0
        assert np.isclose(machine.frontier_.beta_max(step), beta, rtol=1e-6)
        assert np.isclose(value, theta * step + (1 - theta) * beta, rtol=1e-6)


def test_extreme_weights_of_a_class():
    for name in ("pima", "wdbc", "sonar"):
        X, y = load(name, return_X_y=True)
        all_beta, all_alpha = MEMPM(theta=0).fit(X, y), MEMPM(theta=1).fit(X, y)
        assert all_beta.mixture_ == 0 and all_alpha.mixture_ == 1
        mu1, mu2, S1, S2 = known_of(X, y)
        for machine, S in ((all_beta, S2), (all_alpha, S1)):
            distance = (mu1 - mu2) @ np.linalg.solve(S, mu1 - mu2)
            assert np.isclose(machine.objective_, distance / (1 + distance), rtol=1e-8)
        assert all_beta.worst_case_accuracy_[1] == pytest.approx(0, abs=1e-20)
        assert all_alpha.worst_case_accuracy_[0] == pytest.approx(0, abs=1e-20)


def test_a_class_that_is_as_good_as_certain_at_the_end():
    X, y = load("ionosphere", return_X_y=True)
    X = np.delete(X, 1, axis=1)
    for theta, labels, index in ((0.95, y, 1), (0.05, 1 - y, 0)):
        with pytest.warns(TrivialBoundWarning, match=rf"class {index} does not vary.*ridge=1e-3"):
            machine = MEMPM(theta=theta).fit(X, labels)
        assert machine.mixture_ == index
        bounds = machine.worst_case_accuracy_
        assert bounds[index] == 1
        # one feature that does not vary within the class; a millionth of the margin is its own
        flat = np.flatnonzero(X[labels == index].std(axis=0) == 0)
        assert flat.tolist() == [0] and np.flatnonzero(abs(machine.coef_[0]) > 1e-9).tolist() == [0]
        other = X[labels != index, 0]
        distance = (X[labels == index, 0].mean() - other.mean()) ** 2 / other.var()
        assert np.isclose(bounds[1 - index], distance / (1 + distance), rtol=1e-5)
        assert np.isclose(machine.objective_, 0.95 + 0.05 * distance / (1 + distance), rtol=1e-9)
        ridged = MEMPM(theta=theta, ridge=1e-3).fit(X, labels)
        assert 0 < ridged.mixture_ < 1 and ridged.objective_ < machine.objective_
    # where the end is not best nothing is said
    assert 0 < MEMPM(theta=0.5).fit(X, y).mixture_ < 1


def test_wide_data_admit_every_pair():
    X, y = make_wide(20, 60)
    with pytest.warns(TrivialBoundWarning):
        machine = MEMPM(theta=0.3).fit(X, y)
    assert machine.objective_ == 1 and (machine.worst_case_accuracy_ > 1 - 1e-12).all()
    assert machine.largest_delta_ == 1
    ridged = MEMPM(theta=0.3, ridge=0.1).fit(X, y)
    known = known_of(X, y, ridge=0.1)
    best, _ = best_by_scan(0.3, (known[0] - known[1], *known[2:]), 8, 401)
    assert best - 1e-12 <= ridged.objective_ < 1
    assert np.isclose([0.7, 0.3] @ ridged.worst_case_accuracy_, ridged.objective_, rtol=1e-9)
    with pytest.warns(TrivialBoundWarning):
        few = FSMEMPM(criterion="bound", grid=5, refit=False).fit(X, y)
    assert few.bounds_.tolist() == [0.8, 0.8] and len(few.trace_.alphas) == 25
    assert (few.worst_case_accuracy_ >= 0.8 - 1e-9).all() and few.n_selected_ < 60


# FSMEMPM: every pair

LITERAL = {
    "pima": {},
    "titanic": {},
    "wdbc": {"grid": 5},
    "sonar": {"grid": 4, "search": "bisection"},
    "wpbc": {"grid": 4, "ridge": 0.2, "scale": False},
    "ionosphere": {"grid": 4, "ridge": 0.1},
}


@pytest.mark.parametrize("name", LITERAL)
def test_every_pair_is_its_literal_statement(name):
    X, y = load(name, return_X_y=True)
    X = X[:, np.ptp(X, axis=0) > 0]
    machine = FSMEMPM(**LITERAL[name]).fit(X, y)
    known = known_of(X, y, machine.scale, machine.ridge)
    same_as_stated(machine.trace_, known, 36)
    assert machine.result_.step_gap <= 1e-6 and machine.result_.violation <= 1e-7


def same_as_stated(trace, known, most):
    """Norms and supports; at most so many pairs, the first and the last among them."""
    rows = np.unique(np.linspace(0, len(trace.alphas) - 1, most).astype(int))
    for row in rows:
        w, _, value = literal.fsmempm(*known, trace.alphas[row], trace.betas[row])
        assert np.isclose(trace.norms[row], value, rtol=1e-6)
        # what an interior point leaves of zero is far below what is selected
        assert np.array_equal(trace.supports[row], abs(w) > 1e-5 * abs(w).max())


def test_pairs_of_small_instances_are_their_literal_statements():
    sizes = set()
    for seed in range(16):
        X, y = make_instance(seed)
        scale, ridge = bool(seed % 2), 0.3 * (seed % 3 == 0)
        machine = FSMEMPM(grid=4, scale=scale, ridge=ridge).fit(X, y)
        same_as_stated(machine.trace_, known_of(X, y, scale, ridge), 16)
        sizes |= set(machine.trace_.n_selected.tolist())
        zeros = (machine.trace_.alphas == 0) | (machine.trace_.betas == 0)
        assert zeros.sum() >= 3
    assert len(sizes) > 5


@pytest.mark.parametrize("bounds", [(0.0, 0.0), (0.0, 0.4), (0.4, 0.0), (0.3, 0.5)])
@pytest.mark.parametrize("scale", [True, False])
def test_the_solution_itself_is_returned_without_a_refit(scale, bounds):
    for seed in range(6):
        X, y = make_instance(seed)
        known = known_of(X, y, scale)
        machine = FSMEMPM(bounds=bounds, refit=False, scale=scale).fit(X, y)
        w, b, value = literal.fsmempm(*known, *bounds[::-1])
        ours = machine.coef_[0] * machine.scale_
        assert np.isclose(abs(ours).sum(), value, rtol=1e-6)
        assert np.allclose(ours, w, atol=2e-3 * abs(w).max())
        assert machine.trace_.norms.tolist() == pytest.approx([value], rel=1e-6)
        # the boundary gives both classes what they need, and half of what is to spare
        margins = ours @ known[0] + machine.intercept_[0], -ours @ known[1] - machine.intercept_[0]
        need = [
            max(kappa(bound) * np.sqrt(ours @ S @ ours), 1)
            for bound, S in zip(bounds[::-1], known[2:], strict=True)
        ]
        spare = np.subtract(margins, need)
        assert np.isclose(*spare, atol=1e-7) and spare.min() > -1e-7


def test_the_grid_is_of_whole_numbers():
    X, y = load("wdbc", return_X_y=True)
    curve = curve_of(X, y)
    for grid in (1, 3, 7, 10.0):
        machine = FSMEMPM(grid=grid).fit(X, y)
        trace = machine.trace_
        pairs = [(i / grid, j / grid) for i in range(int(grid)) for j in range(int(grid))]
        wanted = [pair for pair in pairs if curve.is_feasible(*pair)]
        assert list(zip(trace.alphas.tolist(), trace.betas.tolist(), strict=True)) == wanted
        assert machine.result_.counts["infeasible"] == len(pairs) - len(wanted)


@pytest.mark.parametrize("name", ["wdbc", "sonar", "pima"])
def test_equal_bounds_are_those_of_the_l1_machine(name):
    X, y = load(name, return_X_y=True)
    for search in ("grid", "bisection"):
        machine = FSMEMPM(
            equal_bounds=True, search=search, criterion="bound", refit=False, grid=8
        ).fit(X, y)
        trace = machine.trace_
        assert np.array_equal(trace.alphas, trace.betas) and machine.bounds_[0] == trace.betas.max()
        for row in np.flatnonzero(trace.alphas):
            other = L1MPM(delta=trace.alphas[row], refit=False).fit(X, y)
            assert np.isclose(other.objective_, trace.norms[row], rtol=1e-6)
            assert np.array_equal(other.support_, trace.supports[row])
            if trace.alphas[row] == machine.bounds_[0]:
                close = dict(rtol=1e-4, atol=1e-5 * abs(machine.coef_).max())
                assert np.allclose(other.coef_, machine.coef_, **close)
                assert np.allclose(other.intercept_, machine.intercept_, **close)
        if search == "bisection":
            assert machine.largest_delta_ - trace.alphas.max() < 0.01
            assert all((alpha * 128).is_integer() for alpha in trace.alphas)
        else:
            assert len(trace.alphas) == np.ceil(machine.largest_delta_ * 8)
        refitted = clone(machine).set_params(refit=True).fit(X, y)
        dense = MPM().fit(X[:, refitted.support_], y)
        assert np.allclose(refitted.coef_[0, refitted.support_], dense.coef_[0], rtol=1e-6)
        assert np.isclose(refitted.intercept_[0], dense.intercept_[0], rtol=1e-6)


@pytest.mark.parametrize("name", ["sonar", "pima", "titanic"])
def test_bisection_is_the_published_algorithm(name, monkeypatch):
    X, y = load(name, return_X_y=True)
    known, original, answers = known_of(X, y), literal.fsmempm, {}

    def remembered(*arguments):
        """Both criteria ask for the same problems."""
        pair = arguments[-2:]
        if pair not in answers:
            try:
                answers[pair] = original(*arguments)
            except (AssertionError, cp.SolverError) as error:
                answers[pair] = error
        if isinstance(answers[pair], Exception):
            raise answers[pair]
        return answers[pair]

    monkeypatch.setattr(literal.xu2007, "fsmempm", remembered)
    for number, criterion, theta in ((1, "bound", 0.5), (2, "ratio", 0.5), (2, "ratio", 0.3)):
        w, (alpha, beta), value = literal.algorithm1(*known, theta, number, steps=5)
        machine = FSMEMPM(
            search="bisection", criterion=criterion, theta=theta, grid=5, refit=False
        ).fit(X, y)
        assert machine.bounds_.tolist() == [beta, alpha]
        assert np.isclose(machine.objective_, value, rtol=1e-12)
        assert np.allclose(machine.coef_[0] * machine.scale_, w, atol=2e-3 * abs(w).max())
        # the same pairs were feasible
        solved = {pair for pair, found in answers.items() if not isinstance(found, Exception)}
        trace = machine.trace_
        assert set(zip(trace.alphas.tolist(), trace.betas.tolist(), strict=True)) == solved
        assert machine.result_.counts["infeasible"] == len(answers) - len(solved)


# criteria and ties


def random_trace(seed, n_pairs=40, n_features=6):
    rng = np.random.default_rng(seed)
    supports = rng.random((n_pairs, n_features)) < 0.5
    supports[:, 0] = True
    alphas, betas = rng.integers(0, 10, (2, n_pairs)) / 10
    return BoundTrace(alphas, betas, rng.random(n_pairs), supports)


@pytest.mark.parametrize("theta", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize("criterion", ["bound", "ratio", "log", "mine"])
def test_the_best_row_by_an_order_of_ones_own(criterion, theta):
    for seed in range(30):
        trace = random_trace(seed)
        chosen = (lambda a, b, n: a * b - n / 100) if criterion == "mine" else criterion
        rows = []
        for a, b, n in zip(trace.alphas, trace.betas, trace.supports.sum(axis=1), strict=True):
            mean = theta * a + (1 - theta) * b
            value = {
                "bound": mean,
                "ratio": mean / n,
                "log": mean * np.log(n) / n,
                "mine": a * b - n / 100,
            }[criterion]
            rows.append((round(value, 11), -n, min(a, b), a))
        values = trace.values(theta, chosen)
        assert np.allclose(values, [row[0] for row in rows], atol=1e-10)
        assert rows[trace.best(theta, chosen)] == max(rows)
        assert np.array_equal(trace.n_selected, trace.supports.sum(axis=1))


def test_ties_go_to_fewer_features_then_to_the_larger_smaller_bound_then_to_alpha():
    few, many = [True, False, False], [True, True, False]

    def best(pairs, supports, theta=0.5, criterion="bound"):
        alphas, betas = np.array(pairs).T
        trace = BoundTrace(alphas, betas, np.ones(len(pairs)), np.array(supports))
        return trace.best(theta, criterion)

    assert best([(0.5, 0.5), (0.4, 0.6)], [many, few]) == 1
    assert best([(0.3, 0.5), (0.4, 0.4), (0.5, 0.3)], [few] * 3) == 1
    assert best([(0.3, 0.5), (0.5, 0.3)], [few] * 2) == 1
    assert best([(0.5, 0.3), (0.3, 0.5)], [few] * 2) == 0
    # 0.1 + 0.2 is not 0.3, but a tie nevertheless
    assert best([(0.1 + 0.2, 0.3), (0.3, 0.3 + 1e-17)], [many, few]) == 1
    assert best([(0.3, 0.3 + 1e-9), (0.3, 0.3)], [many, few]) == 0
    # one feature counts as nothing
    assert best([(0.9, 0.9), (0.1, 0.1)], [few, many], criterion="log") == 1
    assert best([(0.9, 0.9), (0.1, 0.1)], [few, many], criterion="ratio") == 0


@pytest.mark.parametrize("criterion", ["bound", "ratio", "log"])
def test_the_fit_is_the_best_row_of_its_trace(criterion):
    for name in ("wdbc", "pima"):
        X, y = load(name, return_X_y=True)
        for theta in (0, 0.4, 1):
            machine = FSMEMPM(criterion=criterion, theta=theta, grid=5, refit=False).fit(X, y)
            trace = machine.trace_
            row = trace.best(theta, criterion)
            assert machine.objective_ == trace.values(theta, criterion).max()
            assert machine.bounds_.tolist() == [trace.betas[row], trace.alphas[row]]
            assert np.array_equal(machine.support_, trace.supports[row])
            # the weight that `bounds` would give
            given = FSMEMPM(bounds=machine.bounds_, refit=False).fit(X, y)
            assert np.allclose(given.coef_, machine.coef_, rtol=1e-4, atol=1e-6)


def test_a_criterion_of_ones_own():
    X, y = load("wdbc", return_X_y=True)
    seen = []

    def criterion(alpha, beta, n_selected):
        seen.append((alpha, beta, n_selected))
        return min(alpha, beta) - 0.01 * n_selected

    machine = FSMEMPM(criterion=criterion, grid=5).fit(X, y)
    trace = machine.trace_
    assert {type(value) for row in seen for value in row} == {float, int}
    rows = np.minimum(trace.alphas, trace.betas) - 0.01 * trace.n_selected
    assert np.isclose(machine.objective_, rows.max()) and machine.bounds_.min() == 0.6
    for bad in (np.nan, np.inf, -np.inf, [1, 2], "much", None, True + 0j):
        words = re.escape(f"the criterion returned {bad!r}; return a finite number for any")
        with pytest.raises(ValueError, match=words):
            FSMEMPM(criterion=lambda a, b, n, bad=bad: bad if n > 3 else a, grid=5).fit(X, y)
    with pytest.raises(ValueError, match="criterion='size'; pass .*ratio.* or a function"):
        trace.best(criterion="size")
    with pytest.raises(ValueError, match="theta=2"):
        trace.values(2)


# given bounds


def test_bounds_on_the_frontier_and_just_inside():
    for name in ("pima", "wdbc", "sonar"):
        X, y = load(name, return_X_y=True)
        curve = curve_of(X, y)
        for mixture in (0.2, 0.5, 0.8):
            alpha, beta = curve.accuracies(mixture)
            w, _ = curve.machine(mixture)
            for part in (1 - 1e-12, 1 - 1e-7, 1 - 1e-4):
                for refit in (True, False):
                    machine = FSMEMPM(bounds=(beta * part, alpha), refit=refit).fit(X, y)
                    assert machine.bounds_.tolist() == [beta * part, alpha]
                    assert (machine.worst_case_accuracy_ >= machine.bounds_ - 1e-9).all()
                    if part > 1 - 1e-10:
                        assert np.allclose(
                            machine.coef_[0] / machine.coef_[0, 0], w / w[0], rtol=1e-4, atol=1e-8
                        )
                        # the shortest length at which both margins are 1
                        scale = pooled_deviation(X, y)
                        share = min(-w @ X[y == 0].mean(axis=0) - curve.machine(mixture)[1], 1)
                        length = 1 / min(share, 1 - share)
                        assert np.isclose(
                            machine.trace_.norms[0], abs(w * scale).sum() * length, rtol=1e-6
                        )
                        assert machine.result_.counts["cone"] == 0
    with pytest.raises(InfeasibleBoundError):
        FSMEMPM(bounds=(beta * (1 + 1e-7), alpha)).fit(X, y)


def test_infeasible_bounds_are_refused_before_any_solver_runs(monkeypatch):
    def explode(*_, **__):
        raise AssertionError("a solver ran")

    monkeypatch.setattr(ConeProblem, "solve", explode)
    X, y = load("sonar", return_X_y=True)
    words = np.where(y == 1, "rock", "mine")
    curve = curve_of(X, y)
    for equal in (False, True):
        with pytest.raises(InfeasibleBoundError) as caught:
            FSMEMPM(bounds=(0.8, 0.8), equal_bounds=equal).fit(X, words)
        text = str(caught.value)
        assert caught.value.largest == curve.beta_max(0.8)
        assert "0.8 for class 'mine' and 0.8 for class 'rock' are infeasible together" in text
        assert f"beside 0.8 the largest for class 'mine' is {curve.beta_max(0.8):.4g}" in text
    with pytest.raises(InfeasibleBoundError) as caught:
        FSMEMPM(bounds=(0, 0.99)).fit(X, words)
    assert caught.value.largest == curve.accuracies(1)[0]
    assert re.search(
        f"0.99 for class 'rock' is out of reach.*{caught.value.largest:.4g}.*class 'mine'",
        str(caught.value),
    )
    with pytest.raises(AssertionError, match="a solver ran"):
        FSMEMPM(bounds=(0.5, 0.5)).fit(X, words)


def test_the_largest_bound_named_is_feasible():
    for name in ("pima", "wdbc", "sonar", "ionosphere"):
        X, y = load(name, return_X_y=True)
        X = X[:, np.ptp(X, axis=0) > 0]
        curve = curve_of(X, y)
        most = curve.accuracies(1)[0]
        for alpha in [0, 0.1, 0.3, 0.5, most / 2] + [most] * (name != "ionosphere"):
            largest = curve.beta_max(alpha)
            assert curve.is_feasible(alpha, largest)
            assert not curve.is_feasible(alpha, largest + 1e-9)
            machine = FSMEMPM(bounds=(largest, alpha)).fit(X, y)
            # at an end one class gets a millionth of the margin
            assert (machine.worst_case_accuracy_ >= machine.bounds_ - 1e-6).all()
            if 0 < alpha < most:
                assert (machine.worst_case_accuracy_ >= machine.bounds_ - 1e-9).all()
            with pytest.raises(InfeasibleBoundError) as caught:
                FSMEMPM(bounds=(largest + 1e-6, alpha)).fit(X, y)
            assert caught.value.largest == largest
        if name != "ionosphere":
            with pytest.raises(InfeasibleBoundError, match="out of reach") as caught:
                FSMEMPM(bounds=(0, most + 1e-6)).fit(X, y)
            given = FSMEMPM(bounds=(0, caught.value.largest)).fit(X, y)
            assert given.worst_case_accuracy_[1] >= most - 1e-6
            near = FSMEMPM(bounds=(0, most * (1 - 1e-12))).fit(X, y)
            assert near.worst_case_accuracy_[1] >= most - 1e-6
            assert near.result_.counts["cone"] == 0


def test_weights_that_the_bounds_need_come_back():
    """Beside the end of the frontier, where one weight exceeds all others by far."""
    X, y = load("ionosphere", return_X_y=True)
    X = np.delete(X, 1, axis=1)
    other = curve_of(X, y).accuracies(1)[1]
    for part, alpha in ((1 - 1e-6, 0.995), (1 - 1e-5, 0.995), (1 - 1e-5, 0.9999)):
        machine = FSMEMPM(bounds=(other * part, alpha), refit=False).fit(X, y)
        # the margin is a million times what class 1 needs, and verified to 1e-7
        assert (machine.worst_case_accuracy_ >= machine.bounds_ - 1e-6).all()


def test_a_bisection_that_meets_nothing_feasible_asks_for_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.repeat([0, 1], 100)
    X -= np.array([X[y == c].mean(axis=0) for c in (0, 1)])[y]
    X[y == 1] += [0.01, 0.02, 0.01]
    for equal_bounds in (False, True):
        machine = FSMEMPM(search="bisection", equal_bounds=equal_bounds).fit(X, y)
        assert machine.largest_delta_ < 1 / 128 and machine.bounds_.tolist() == [0, 0]
        assert machine.n_selected_ == 1 and machine.support_[1] and machine.objective_ == 0
        assert machine.result_.counts["pairs"] == 1
        assert machine.result_.counts["infeasible"] == 7 * (1 if equal_bounds else 10)


def test_a_pair_without_a_verified_solution_is_left_out_and_said(monkeypatch):
    X, y = load("wdbc", return_X_y=True)
    original, whole = ConeProblem.solve, FSMEMPM(grid=5, criterion="bound").fit(X, y)

    def fails(problem, kappas, *arguments, **more):
        if np.allclose(kappas, kappa(np.array([0.8, 0.4]))) or kappas[1] > kappa(0.7):
            raise SubproblemError("no luck")
        return original(problem, kappas, *arguments, **more)

    monkeypatch.setattr(ConeProblem, "solve", fails)
    lost = (whole.trace_.betas > 0.7) | ((whole.trace_.alphas == 0.8) & (whole.trace_.betas == 0.4))
    first = whole.trace_.alphas[lost][0], whole.trace_.betas[lost][0]
    with pytest.warns(
        SelectionWarning,
        match=rf"{lost.sum()} feasible pairs .* left out, such as alpha={first[0]:g}, "
        rf"beta={first[1]:g}: no luck",
    ):
        machine = FSMEMPM(grid=5, criterion="bound").fit(X, y)
    assert len(machine.trace_.alphas) == len(whole.trace_.alphas) - lost.sum() > 5
    assert np.allclose(machine.trace_.norms, whole.trace_.norms[~lost], rtol=1e-6)
    assert machine.result_.counts["infeasible"] == whole.result_.counts["infeasible"]
    # a bisection goes on upwards
    with pytest.warns(SelectionWarning, match=r"^\d+ feasible pairs .*alpha=0, beta=0.75: no luck"):
        FSMEMPM(search="bisection", grid=1).fit(X, y)
    monkeypatch.setattr(ConeProblem, "solve", lambda *_, **__: fails(None, (0, 9)))
    for search in ("grid", "bisection"):
        with pytest.raises(SubproblemError, match="no luck"):
            FSMEMPM(search=search).fit(X, y)
    with pytest.raises(SubproblemError, match="no luck"):
        FSMEMPM(bounds=(0.3, 0.3)).fit(X, y)


@pytest.mark.parametrize("name", ["wdbc", "sonar", "pima"])
def test_refit_is_the_largest_beta_for_the_alpha_chosen(name):
    X, y = load(name, return_X_y=True)
    for criterion in ("bound", "ratio", lambda a, b, n: a + b if 0 < a < 0.5 else -1):
        machine = FSMEMPM(criterion=criterion).fit(X, y)
        raw = FSMEMPM(criterion=criterion, refit=False).fit(X, y)
        assert np.array_equal(machine.support_, raw.support_)
        assert machine.objective_ == raw.objective_
        assert machine.bounds_.tolist() == raw.bounds_.tolist()
        beta, alpha = machine.worst_case_accuracy_
        assert np.isclose(alpha, machine.bounds_[1], atol=1e-9)
        assert beta >= machine.bounds_[0]
        mine = known_of(X[:, machine.support_], y)
        if alpha > 0:
            at_alpha = reach([kappa(alpha), kappa(beta)], mine[0] - mine[1], *mine[2:])
            assert np.isclose(at_alpha, 1, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:class .* does not vary along")
def test_a_class_of_equal_samples():
    X, y = load("pima", return_X_y=True)
    for label in (0, 1):
        Z = np.where((y == label)[:, None], X.mean(axis=0) + X.std(axis=0) * (label - 0.5), X)
        for model in (MEMPM(), FSMEMPM(grid=4, criterion="bound"), FSMEMPM(grid=4, refit=False)):
            with pytest.warns(TrivialBoundWarning, match=f"class {label} are all equal"):
                machine = clone(model).fit(Z, y)
            bounds = machine.worst_case_accuracy_
            assert bounds[label] > 0.99
            assert np.isclose(bounds[1 - label], bounds_of(machine, Z, y)[1 - label])


def test_one_feature_alone():
    X = np.array([[0.0], [1], [2], [4], [6], [9]])
    gap, s1, s2 = 19 / 3 - 1, np.sqrt(38 / 9), np.sqrt(2 / 3)
    y = np.array([0, 0, 0, 1, 1, 1])
    curve = curve_of(X, y)
    for alpha in (0, 0.2, 0.7, 0.85):
        # in one dimension kappa1 s1 + kappa2 s2 = d
        assert np.isclose(curve.kappa2_max(kappa(alpha)), (gap - kappa(alpha) * s1) / s2)
    assert np.isnan(curve.beta_max(accuracy(gap / s1) + 1e-6))
    trace = FSMEMPM(grid=8).fit(X, y).trace_
    for a, b, norm in zip(trace.alphas, trace.betas, trace.norms, strict=True):
        first, second = kappa(a) * s1, kappa(b) * s2
        lengths = [2 / gap, 1 / (gap - first), 1 / (gap - second)]
        fits = [
            t
            for t in lengths
            if t > 0 and t * gap >= (1 - 1e-12) * (max(1, t * first) + max(1, t * second))
        ]
        unit = np.sqrt((3 * 38 / 9 + 3 * 2 / 3) / 6)
        assert np.isclose(norm, unit * min(fits), rtol=1e-7)
    assert (trace.n_selected == 1).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_column_repeated_in_other_units_promises_nothing_more(seed):
    """In single precision the copy differs by rounding, in a direction of next to no variance."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)) + rng.choice([0, 1, 2, 4]), np.arange(60) % 2
    X[y == 1] += 0.6
    X = X.astype(np.float32)
    doubled = np.hstack([X, X[:, :1] * np.float32(2.54)]).astype(float)
    alone, both = MPM().fit(X, y), MPM().fit(doubled, y)
    assert np.isclose(alone.largest_delta_, both.largest_delta_, rtol=1e-3)
    machine = MEMPM().fit(doubled, y)
    assert np.isclose(machine.objective_, machine.worst_case_accuracy_.mean(), rtol=1e-3)


@pytest.mark.filterwarnings("ignore::fsnotes.errors.TrivialBoundWarning")
def test_of_two_classes_that_are_as_good_as_certain_the_better_end_is_taken():
    for seed in range(20):
        X, y = make_cross_planes(200, noise=0, center=0.5, seed=seed)
        for theta in (0.05, 0.2, 0.5, 0.8, 0.95):
            machine = MEMPM(theta=theta).fit(X, y)
            alphas, betas, _ = machine.frontier_.points()
            best = (theta * alphas + (1 - theta) * betas).max()
            assert np.isclose(machine.objective_, best, rtol=1e-6)


@pytest.mark.parametrize("sd", [1e-6, 1e-8, 1e-9])
def test_a_class_that_hardly_varies_is_not_taken_for_one_that_does_not(sd):
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3))
    X[:, 0] -= X[y == 0, 0].mean()
    X[y == 1, 0] = 10 * sd + sd * rng.normal(size=200)
    for columns in ([0], [0, 1, 2]):
        machine = MEMPM(theta=1).fit(X[:, columns], y)
        single = (X[y == 1, 0].mean() - X[y == 0, 0].mean()) ** 2 / X[y == 1, 0].var()
        assert single / (1 + single) - 1e-6 <= machine.objective_ < 1
        assert np.isclose(machine.worst_case_accuracy_[1], machine.objective_, rtol=1e-6)


def test_the_objective_is_that_of_the_bounds_which_the_rows_show():
    X = 1e9 + np.array([[1.0], [1], [0], [-1], [-1]])
    with pytest.warns(PromiseWarning), pytest.warns(TrivialBoundWarning):
        machine = MEMPM().fit(X, [1, 1, 1, 0, 0])
    assert machine.objective_ == machine.result_.objective
    assert machine.objective_ == pytest.approx(machine.worst_case_accuracy_.mean())
    # a gap no less than what the bounds lack of what the moments promise
    assert machine.objective_ + machine.result_.duality_gap > 0.95


@pytest.mark.parametrize("refit", [True, False])
def test_a_machine_has_the_features_that_its_trace_counts(refit):
    for seed in range(12):
        X, y = draw(seed, 30, 5, repeated=bool(seed % 2))
        try:
            machine = FSMEMPM(criterion="bound", refit=refit).fit(X, y)
        except EqualMeansError:
            continue
        best = machine.trace_.best(criterion="bound")
        assert machine.trace_.n_selected[best] == machine.n_selected_


def test_the_objective_is_that_of_the_bounds_where_the_frontier_is_not_attained():
    for seed in range(1020, 1040):
        X = np.random.default_rng(seed).integers(0, 2, (8, 4)).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                machine = MEMPM(theta=0.8).fit(X, np.arange(8) % 2)
            except EqualMeansError:
                continue
        attained = machine.worst_case_accuracy_ @ [0.2, 0.8]
        assert machine.objective_ == pytest.approx(attained, abs=2e-6)
        assert machine.result_.objective == machine.objective_
