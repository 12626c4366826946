"""Stand-ins for the zero norm: steps that descend, and machines as small as can be."""

import warnings
from functools import partial

import numpy as np
import pytest
from definitions import kappa_at, known_of, pooled_deviation
from optimality import weighted_l1
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel

from fsnotes import (
    L0MPM,
    L1,
    L1MPM,
    MCP,
    MPM,
    SCAD,
    CappedL1,
    ClassMoments,
    Exponential,
    KernelL0MPM,
    KernelMPM,
    Log,
    Power,
    dc,
    literal,
    load,
    make_instance,
)
from fsnotes.core.bounded import NormPath
from fsnotes.core.certify import exact_support
from fsnotes.core.moments import MomentPair
from fsnotes.core.pruning import fewest_features, remove_features
from fsnotes.dc import SurrogateProgram, fill_up
from fsnotes.errors import SelectionWarning, SubproblemError, TrivialBoundWarning
from fsnotes.solvers.cone import ConeProblem

# by name: parameters, the steepest slope, and the value, written down a second time
SURROGATES = {
    "exponential": ({}, 5, lambda t: 1 - np.exp(-5 * t)),
    "steep": ({"alpha": 50.0}, 50, lambda t: 1 - np.exp(-50 * t)),
    "log": ({"surrogate": Log(eps=0.1)}, 10, lambda t: np.log(1 + t / 0.1)),
    "capped": ({"surrogate": CappedL1(a=0.5)}, 2, lambda t: np.minimum(2 * t, 1)),
    "mcp": ({"surrogate": MCP(a=1.0)}, 1, lambda t: np.where(t < 1, t - t**2 / 2, 0.5)),
    "scad": (
        {"surrogate": SCAD(b=0.3, a=3.7)},
        1,
        lambda t: np.where(t <= 0.3, t, 0.705 - np.maximum(1.11 - t, 0) ** 2 / 1.62),
    ),
    "root": ({"surrogate": Power(p=0.5)}, 1, np.sqrt),
    "l1": ({"surrogate": L1()}, 1, lambda t: t),
}
SLOPES = {"exponential": lambda t: 5 * np.exp(-5 * t), "log": lambda t: 1 / (0.1 + t)}
DESCENTS = [(name, "dc") for name in SURROGATES if name != "root"]
DESCENTS += [(name, "reweighted") for name in SURROGATES]


def excess(w, known, need, normalization="margin"):
    """How far the constraints of the program are from being met, relative."""
    mu1, mu2, S1, S2 = known
    s1, s2 = np.sqrt([w @ S1 @ w, w @ S2 @ w])
    if normalization == "gap":
        return max(abs(w @ (mu1 - mu2) - 1), need * (s1 + s2) - 1)
    return (max(1, need * s1) + max(1, need * s2)) / (w @ (mu1 - mu2)) - 1


def watched(machine, X, y, monkeypatch):
    """The machine fitted, and the weights at each step."""
    seen, loop = [], dc.majorize_minimize
    with monkeypatch.context() as patched:
        patched.setattr(
            dc,
            "majorize_minimize",
            partial(loop, callback=lambda step, weights: seen.append((step, weights.copy()))),
        )
        machine.fit(X, y)
    return machine, seen


# steps


@pytest.mark.parametrize(("name", "majorizer"), DESCENTS)
def test_the_objective_never_rises(name, majorizer, monkeypatch):
    """Recomputed from the weights at each step, by a second formula, and the weights keep to it."""
    moved = 0
    parameters, steepest, value = SURROGATES[name]
    model = L0MPM(majorizer=majorizer, **parameters)
    floor = 1e-6 * steepest
    data = [make_instance(seed) for seed in range(0, 24, 2)]
    data += [load(which, return_X_y=True) for which in ("pima", "wdbc")]
    for number, (X, y) in enumerate(data):
        normalization = ["margin", "gap"][number % 2]
        model.set_params(normalization=normalization)
        machine, seen = watched(clone(model), X, y, monkeypatch)
        found = np.array([(value(abs(w)) + floor * abs(w)).sum() for _, w in seen])
        assert np.allclose(found, [step.objective for step, _ in seen], rtol=1e-9)
        assert (np.diff(found) <= 1e-7 * found[:-1]).all()
        moved += found[-1] < 0.99 * found[0]
        known = known_of(X, y)
        need = kappa_at(machine.delta_)
        assert max(excess(w, known, need, normalization) for _, w in seen) < 1e-6
        assert np.isclose(machine.objective_, value(abs(seen[-1][1])).sum(), rtol=1e-9)
        assert tuple(step for step, _ in seen) == machine.result_.steps
        assert machine.result_.status == "converged"
        for (_, before), (step, after) in zip(seen[:-1], seen[1:], strict=True):
            assert np.isclose(step.change, abs(after - before).max() / abs(after).max())
            assert step.n_selected == np.count_nonzero(after) and step.stage == 0
        assert machine.n_iter_ == len(seen) - 1
        assert machine.result_.step_gap <= 1e-6 and machine.result_.violation <= 1e-7
    assert moved > 1 or name == "l1"


def start_of(X, y, scale=True):
    machine = L1MPM(refit=False, scale=scale).fit(X, y)
    return machine.coef_[0] * machine.scale_


def test_it_is_the_printed_algorithm():
    for seed in range(12):
        X, y = make_instance(seed)
        alpha, scale = [5.0, 1.0, 20.0][seed % 3], seed % 4 > 0
        machine = L0MPM(alpha=alpha, prune=False, refit=False, scale=scale).fit(X, y)
        known, start = known_of(X, y, scale), start_of(X, y, scale)
        *_, value, _ = literal.l0mpm(*known, machine.delta_, alpha, start)
        assert np.isclose(machine.objective_, value, rtol=1e-6)


@pytest.mark.parametrize("name", ["pima", "wdbc", "sonar"])
def test_it_is_the_printed_algorithm_on_real_data(name):
    X, y = load(name, return_X_y=True)
    machine = L0MPM().fit(X, y)
    *_, value, _ = literal.l0mpm(*known_of(X, y), machine.delta_, 5.0, start_of(X, y))
    assert np.isclose(machine.objective_, value, rtol=1e-6)


def test_each_step_solves_its_cone_program(monkeypatch):
    """The program (42) at the weights of each step, solved by other means."""
    compared = 0
    for seed in (0, 3, 5, 8):
        X, y = make_instance(seed)
        machine, seen = watched(L0MPM(), X, y, monkeypatch)
        for (_, before), (_, after) in list(zip(seen[:-1], seen[1:], strict=True))[:4]:
            v = 5 * np.sign(before) * (1 - np.exp(-5 * abs(before)))
            theirs, *_ = literal.l0mpm(*known_of(X, y), machine.delta_, 5.0, before, most=1)
            # the part of the surrogate that the program leaves out is common to both
            part = (1 - np.exp(-5 * abs(before)) - 5 * np.exp(-5 * abs(before)) * abs(before)).sum()
            ours, optimum = (5 * abs(w).sum() - v @ w + part for w in (after, theirs))
            assert np.isclose(ours, optimum, rtol=2e-5) and ours > optimum * (1 - 1e-6)
            compared += 1
    assert compared > 8


@pytest.mark.parametrize("name", SLOPES)
def test_steps_of_both_kinds_end_where_no_direction_helps(name, monkeypatch):
    """Stationary points: the linearised problem has no smaller value."""
    parameters, steepest, _ = SURROGATES[name]
    moved = 0
    for seed in range(8):
        X, y = make_instance(seed)
        mean1, mean2, *covariances = known_of(X, y)
        factors, counts = [np.linalg.cholesky(S).T for S in covariances], []
        for majorizer in ("dc", "reweighted"):
            model = L0MPM(majorizer=majorizer, tol=1e-8, max_iter=1000, **parameters)
            machine, seen = watched(model, X, y, monkeypatch)
            (_, first), (_, w) = seen[0], seen[-1]
            costs = SLOPES[name](abs(w)) + 1e-6 * steepest
            kappas = np.full(2, kappa_at(machine.delta_))
            weighted_l1("margin", mean1 - mean2, factors, kappas, costs, 0 * w, w).check(1e-4)
            moved += abs(w - first).max() > 0.01 * abs(first).max()
            counts.append(len(seen))
        # the one that lies closer needs fewer steps
        assert counts[1] <= counts[0]
    assert moved > 8


# what theory says


@pytest.mark.parametrize("majorizer", ["dc", "reweighted"])
@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_the_l1_norm_gives_l1mpm(normalization, majorizer):
    for seed in range(15):
        X, y = make_instance(seed)
        for refit in (True, False):
            same = {"retain": 0.8, "normalization": normalization, "refit": refit}
            ours = L0MPM(surrogate=L1(), majorizer=majorizer, prune=False, **same).fit(X, y)
            theirs = L1MPM(**same).fit(X, y)
            assert np.isclose(ours.objective_, theirs.objective_, rtol=1e-9)
            assert np.array_equal(ours.support_, theirs.support_)
            size = abs(theirs.coef_).max()
            assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9 * size)
            assert np.allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9 * size)
            assert ours.delta_ == theirs.delta_ and ours.n_iter_ <= 2


@pytest.mark.parametrize("majorizer", ["dc", "reweighted"])
def test_a_small_alpha_gives_l1mpm(majorizer):
    for name in ("pima", "wdbc"):
        X, y = load(name, return_X_y=True)
        theirs = L1MPM(refit=False).fit(X, y)
        apart = []
        for alpha in (1e-2, 1e-4, 1e-6):
            model = L0MPM(alpha=alpha, majorizer=majorizer, prune=False, refit=False)
            ours = model.fit(X, y)
            apart.append(abs(ours.objective_ / alpha / theirs.objective_ - 1))
        assert apart[2] < 1e-4 and apart[0] > apart[2]
        assert np.array_equal(ours.support_, theirs.support_)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3 * abs(theirs.coef_).max())


def test_the_default_is_the_exponential_with_its_alpha():
    X, y = load("wdbc", return_X_y=True)
    for alpha in (5.0, 2.0):
        by_alpha = L0MPM(alpha=alpha).fit(X, y)
        given = L0MPM(surrogate=Exponential(alpha=alpha)).fit(X, y)
        assert by_alpha.objective_ == given.objective_
        assert np.array_equal(by_alpha.coef_, given.coef_)
    assert by_alpha.objective_ != L0MPM().fit(X, y).objective_


def test_a_larger_alpha_counts():
    """Towards infinity the sum of the surrogate is the number of features at its end."""
    X, y = load("wdbc", return_X_y=True)
    machine = L0MPM(alpha=1e3, prune=False, refit=False).fit(X, y)
    assert np.isclose(machine.objective_, machine.n_selected_, rtol=1e-2)
    assert not np.isclose(L0MPM(alpha=1.0).fit(X, y).objective_, machine.n_selected_, rtol=0.1)


@pytest.mark.parametrize("majorizer", ["dc", "reweighted"])
def test_the_whole_bound_is_the_minimax_machine(majorizer):
    for seed in range(10):
        X, y = make_instance(seed)
        dense = MPM().fit(X, y)
        for refit in (True, False):
            model = L0MPM(retain=1, majorizer=majorizer, prune=refit, refit=refit)
            machine = model.fit(X, y)
            assert machine.delta_ == machine.largest_delta_ == dense.largest_delta_
            assert np.allclose(machine.worst_case_accuracy_, dense.delta_, rtol=1e-8)
            ratio = machine.coef_[0] / dense.coef_[0]
            assert np.allclose(ratio, ratio[0], rtol=1e-6)
            assert machine.n_iter_ == 0 and machine.result_.status == "converged"


# the fixed instances


def test_the_smallest_set_is_found_on_nearly_all_instances():
    models = {
        "L0MPM": L0MPM(),
        "plain DCA": L0MPM(prune=False),
        "L1MPM": L1MPM(),
        "L1MPM pruned": L1MPM(prune=True),
    }
    counts = {name: [] for name in ["exact", *models]}
    for seed in range(100):
        X, y = make_instance(seed)
        counts["exact"].append(exact_support(ClassMoments.from_data(X, y), retain=0.9).size)
        for name, model in models.items():
            machine = clone(model).fit(X, y)  # without a warning that steps do not converge
            assert machine.result_.status in ("converged", "solved")
            counts[name].append(machine.n_selected_)
    counts = {name: np.array(sizes) for name, sizes in counts.items()}
    exact = counts["exact"]
    assert all((sizes >= exact).all() for sizes in counts.values())
    assert (counts["L0MPM"] == exact).sum() >= 95
    assert (exact > 1).sum() >= 80
    assert counts["L0MPM"].sum() <= counts["plain DCA"].sum() < counts["L1MPM"].sum()


# pruning and exchanges


def test_l0mpm_prunes_with_exchanges():
    matters = 0
    for seed in range(60):
        X, y = make_instance(seed)
        known = known_of(X, y)
        pair = MomentPair(known[0] - known[1], known[2:])
        retain = [0.9, 0.7][seed % 2]
        plain = L0MPM(retain=retain, prune=False).fit(X, y)
        pruned = L0MPM(retain=retain).fit(X, y)
        start = np.flatnonzero(plain.support_)
        need = kappa_at(plain.delta_) * (1 - 1e-9)
        features, _ = fewest_features(pair, start, need)
        assert np.array_equal(np.flatnonzero(pruned.support_), features)
        matters += len(features) < len(remove_features(pair, start, need)[0])
    assert matters > 0


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("pima", [1, 5, 8]), ("wdbc", [2, 7, 15, 30]), ("ionosphere", [3, 9])],
)
@pytest.mark.filterwarnings("ignore:constant features")
def test_so_many_features_as_asked_for(name, wanted, prune):
    X, y = load(name, return_X_y=True)
    for r in wanted:
        machine = L0MPM(n_features=r, prune=prune).fit(X, y)
        assert machine.n_selected_ == r
        assert np.isclose(machine.delta_, machine.worst_case_accuracy_.min(), rtol=1e-6)
        dense = MPM().fit(X[:, machine.support_], y)
        assert np.isclose(machine.delta_, dense.largest_delta_, rtol=1e-8)


def test_an_infinite_slope_is_for_reweighting():
    for name in ("sonar", "wdbc"):
        X, y = load(name, return_X_y=True)
        model = L0MPM(surrogate=Power(p=0.5), majorizer="reweighted", prune=False, retain=0.95)
        machine = model.fit(X, y)
        assert machine.result_.status == "converged"
        assert 0 < machine.n_selected_ < L1MPM(retain=0.95).fit(X, y).n_selected_


def test_a_step_that_is_not_verified_is_not_taken(monkeypatch):
    X, y = load("wdbc", return_X_y=True)
    solve, calls = ConeProblem.solve, []

    def failing(self, *arguments, **more):
        calls.append(1)
        if len(calls) >= 4:  # after the start and two steps
            raise SubproblemError("no answer")
        return solve(self, *arguments, **more)

    with pytest.warns(ConvergenceWarning, match="not converged"):
        two = L0MPM(max_iter=2, prune=False, refit=False).fit(X, y)
    monkeypatch.setattr(ConeProblem, "solve", failing)
    message = "step 3 was not solved to verified accuracy.*is kept: no answer"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        machine = L0MPM(prune=False, refit=False).fit(X, y)
    assert caught[0].filename == __file__
    assert machine.result_.status == "stalled" and machine.n_iter_ == 2
    assert np.array_equal(machine.coef_, two.coef_) and machine.objective_ == two.objective_
    assert (machine.worst_case_accuracy_ >= machine.delta_ * (1 - 1e-6)).all()
    calls[:] = [1, 1, 1]
    with pytest.raises(SubproblemError):  # the start itself
        L0MPM().fit(X, y)


@pytest.mark.parametrize("surrogate", [MCP(), SCAD(), CappedL1()], ids=repr)
def test_flat_surrogates_near_the_largest_bound_keep_it_and_say_so(surrogate):
    """Weights that cost nothing beside huge multipliers: a step may not be provable."""
    statuses = []
    for name in ("sonar", "wdbc", "pima"):
        X, y = load(name, return_X_y=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine = L0MPM(
                surrogate=surrogate, retain=1 - 1e-6, prune=False, refit=False, max_iter=300
            ).fit(X, y)
        statuses.append(machine.result_.status)
        said = [str(w.message) for w in caught if w.category is ConvergenceWarning]
        if statuses[-1] == "stalled":
            assert len(said) == 1 and "not solved to verified accuracy" in said[0]
        else:
            assert statuses[-1] == "converged" and not said
        assert (machine.worst_case_accuracy_ >= machine.delta_ * (1 - 1e-8)).all()
    assert "converged" in statuses


def test_the_result_proves_all_its_steps(monkeypatch):
    solve, found = ConeProblem.solve, []

    def recorded(self, *arguments, **more):
        found.append(solve(self, *arguments, **more))
        return found[-1]

    monkeypatch.setattr(ConeProblem, "solve", recorded)
    X, y = load("wdbc", return_X_y=True)
    result = L0MPM().fit(X, y).result_
    gaps = [solution.duality_gap for solution in found]
    assert len(found) == len(result.steps) and max(gaps) > min(gaps)
    assert result.step_gap == max(gaps) and result.duality_gap is None
    assert result.violation == max(solution.violation for solution in found)
    for kind, count in result.counts.items():
        assert count == sum(solution.counts[kind] for solution in found)


# kernels


def moons(n=70, seed=0):
    X, y = make_moons(n, noise=0.15, random_state=seed)
    return X * [3.0, 0.2], y


def columns_of(X, y, gamma, weights=None):
    """Kernel matrix in scaled features, and the mean variance of its columns."""
    Z = X / pooled_deviation(X, y)
    K = np.exp(-gamma * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    return K, (pooled_deviation(K, y) ** 2).mean()


@pytest.mark.parametrize("gamma", [None, 0.3, 2.0])
def test_kernel_machines_are_minimax_machines_of_the_columns(gamma):
    X, y = moons()
    K, mean = columns_of(X, y, gamma or 0.5)
    for ridge in (None, 0.02):
        machine = KernelMPM(gamma=gamma, ridge=ridge).fit(X, y)
        assert machine.gamma_ == (gamma or 0.5)
        assert np.isclose(machine.ridge_, ridge or 1e-3 * mean, rtol=1e-9)
        w, b, value = literal.mpm(*known_of(K, y, scale=False, ridge=machine.ridge_))
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        assert np.isclose(machine.largest_delta_, 1 / (1 + value**2), rtol=1e-6)
        assert machine.delta_ == machine.largest_delta_
        expected = K @ w - b
        found = machine.decision_function(X)
        assert np.allclose(found, expected, atol=2e-3 * abs(expected).max())


def test_decision_functions_are_sums_over_the_support():
    X, y = moons()
    new = moons(30, seed=1)[0]
    for model in (KernelMPM(gamma=1.5), KernelL0MPM(gamma=1.5, retain=0.7)):
        machine = model.fit(X, y)
        unit = pooled_deviation(X, y)
        expected = machine.intercept_[0] + sum(
            weight * np.exp(-1.5 * (((new - point) / unit) ** 2).sum(axis=1))
            for weight, point in zip(machine.dual_coef_[0], machine.support_vectors_, strict=True)
        )
        assert np.allclose(machine.decision_function(new), expected, rtol=1e-9)
    assert len(machine.support_) < 20


def test_a_ridge_of_zero_says_nothing():
    X, y = moons()
    with pytest.warns(TrivialBoundWarning, match="ridge"):
        machine = KernelMPM(gamma=2.0, ridge=0).fit(X, y)
    assert machine.largest_delta_ > 1 - 1e-9 and machine.ridge_ == 0
    bounds = [KernelMPM(gamma=2.0, ridge=r).fit(X, y).largest_delta_ for r in (1e-4, 1e-2, 1)]
    assert 1 > bounds[0] > bounds[1] > bounds[2] > 0


@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_the_l1_norm_of_a_kernel_machine(normalization):
    X, y = moons(50)
    K, _ = columns_of(X, y, 0.5)
    machine = KernelL0MPM(surrogate=L1(), normalization=normalization, refit=False, retain=0.8).fit(
        X, y
    )
    known = known_of(K, y, scale=False, ridge=machine.ridge_)
    *_, top = literal.mpm(*known)
    assert np.isclose(machine.delta_, 0.8 / (1 + top**2), rtol=1e-6)
    w, _, value = literal.l1mpm(*known, machine.delta_, normalization)
    assert np.isclose(machine.objective_, value, rtol=1e-6)
    assert np.isclose(abs(machine.dual_coef_).sum(), value, rtol=1e-4)
    assert set(machine.support_) <= set(np.flatnonzero(abs(w) > 1e-7 * abs(w).max()))


def test_a_kernel_machine_of_few_points_is_the_printed_algorithm():
    X, y = moons(40)
    K, _ = columns_of(X, y, 1.0)
    machine = KernelL0MPM(gamma=1.0, ridge=0.01, alpha=1.0, refit=False).fit(X, y)
    known = known_of(K, y, scale=False, ridge=0.01)
    start, *_ = literal.l1mpm(*known, machine.delta_)
    *_, value, _ = literal.l0mpm(*known, machine.delta_, 1.0, start)
    assert np.isclose(machine.objective_, value, rtol=1e-5)
    assert len(machine.result_.steps) == machine.n_iter_ + 1


def test_points_are_pruned_where_asked():
    X, y = moons()
    whole = KernelL0MPM(gamma=1.5, retain=0.9, alpha=1.0).fit(X, y)
    pruned = KernelL0MPM(gamma=1.5, retain=0.9, alpha=1.0, prune=True).fit(X, y)
    assert len(pruned.support_) <= len(whole.support_)
    for machine in (whole, pruned):
        assert (machine.worst_case_accuracy_ >= machine.delta_ * (1 - 1e-7)).all()
        assert len(machine.support_) < len(KernelMPM(gamma=1.5).fit(X, y).support_)


def test_other_kernels():
    X, y = moons()
    Z = X / pooled_deviation(X, y)
    for scale, rows in ((True, Z), (False, X)):
        linear = KernelMPM(kernel="linear", ridge=0.1, scale=scale).fit(X, y)
        *_, value = literal.mpm(*known_of(rows @ rows.T, y, scale=False, ridge=0.1))
        assert np.isclose(linear.objective_, value, rtol=1e-6)
    laplace = KernelMPM(kernel="laplacian", gamma=0.7, ridge=0.1).fit(X, y)
    expected = laplacian_kernel(Z, Z, gamma=0.7)[:, laplace.support_] @ laplace.dual_coef_[0]
    assert np.allclose(laplace.decision_function(X), expected + laplace.intercept_[0])


def test_steps_may_leave_fewer_features_than_asked_and_say_so():
    X, y = load("wdbc", return_X_y=True)
    machine = L0MPM(n_features=8, refit=False, prune=False)
    with pytest.warns(SelectionWarning, match="n_features=8, but only 5 are selected"):
        machine.fit(X, y)
    assert machine.n_selected_ == 5


def test_the_default_ridge_is_a_thousandth_of_the_pooled_variance():
    X, y = make_moons((40, 15), noise=0.2, random_state=0)
    machine = KernelMPM(gamma=2).fit(X, y)
    K = machine._kernel_(X, X)
    within = np.vstack([K[y == c] - K[y == c].mean(axis=0) for c in (0, 1)])
    assert machine.ridge_ == pytest.approx(1e-3 * (within**2).mean(axis=0).mean(), rel=1e-9)


def test_features_are_filled_up_with_the_heaviest_of_the_start():
    start = np.array([0.5, -3.0, 0.0, 2.0, 1.0])
    weights = np.array([0.7, 0.0, 0.0, 0.0, 0.0])
    for count, chosen in [(1, [0]), (2, [0, 1]), (3, [0, 1, 3]), (9, [0, 1, 3, 4])]:
        assert np.flatnonzero(fill_up(weights, start, count)).tolist() == chosen
    assert weights.tolist() == [0.7, 0, 0, 0, 0]


@pytest.mark.parametrize("majorizer", ["dc", "reweighted"])
@pytest.mark.parametrize("surrogate", [Exponential(3.0), Log(0.1), MCP(2.0)])
def test_majorizers_touch_with_their_constant(surrogate, majorizer):
    X, y = load("wdbc", return_X_y=True)
    mean1, mean2, S1, S2 = known_of(X, y)
    path = NormPath(MomentPair(mean1 - mean2, [S1, S2]), np.ones(30), "margin")
    solution = path.solve(0.5)
    problem = SurrogateProgram(path, 0.5, surrogate, majorizer, solution)
    rng = np.random.default_rng(0)
    for w in [solution.weights, *rng.normal(size=(20, 30))]:
        costs, tilt, constant = problem.tangent(w)
        points = np.vstack([w, rng.normal(size=(5, 30))])
        tilted = 0 if tilt is None else points @ tilt
        above = abs(points) @ costs - tilted + constant
        values = np.array([problem.value(point) for point in points])
        assert above[0] == pytest.approx(values[0], rel=1e-9)
        assert (above >= values - 1e-9).all()


def test_a_surrogate_of_ones_own_is_checked_and_may_be_falsy():
    X, y = load("pima", return_X_y=True)

    class Wrong(Log):
        def slope(self, sizes):
            return 50 / (self.eps + sizes)

    with pytest.raises(ValueError, match="Wrong.slope"):
        L0MPM(surrogate=Wrong(0.1)).fit(X, y)

    class Falsy(Log):
        def __bool__(self):
            return False

    found = L0MPM(surrogate=Falsy(0.1), prune=False).fit(X, y)
    assert found.objective_ == L0MPM(surrogate=Log(0.1), prune=False).fit(X, y).objective_


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernels_of_distances_do_not_see_the_origin(kernel):
    X, y = make_moons(60, noise=0.2, random_state=0)
    machine = KernelMPM(kernel=kernel, gamma=2).fit(X, y)
    far = KernelMPM(kernel=kernel, gamma=2).fit(X + 2.0**27, y)
    rounded = (X + 2.0**27) - 2.0**27
    near = KernelMPM(kernel=kernel, gamma=2).fit(rounded, y)
    assert far.largest_delta_ == pytest.approx(near.largest_delta_, rel=1e-6)
    assert far.largest_delta_ == pytest.approx(machine.largest_delta_, rel=1e-4)
    assert np.allclose(
        far.decision_function(X + 2.0**27), near.decision_function(rounded), rtol=1e-4
    )
