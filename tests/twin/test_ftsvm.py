"""Features that two planes share: what flips gain, where they end, and how far from the optimum."""

import functools
import itertools
import warnings

import instances
import numpy as np
import pytest
from definitions import quiet, units
from instances import GOOD, LABELS
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics.pairwise import pairwise_kernels

from fsnotes import FTSVM, L1TwinSVM, literal, load, make_instance, make_wide, rank_features
from fsnotes.core.mm import majorize_minimize
from fsnotes.core.surrogates import Exponential
from fsnotes.errors import SelectionWarning
from fsnotes.solvers.planes import PlaneProgram
from fsnotes.twin.objective import ConcaveObjective, objective_of

SIGMAS = [0.003, 0.03, 0.3]
PUBLISHED = {"init": "score", "search": "greedy"}
AS_PRINTED = {"sigma_absolute": True, "scale": False, "refit": False}


def draw(seed, m0=13, m1=11, n=5, **more):
    """Samples, labels and parameters: pairs of penalties, sigma and balance, and more of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m0 + m1, n)) + rng.uniform(-1, 1, n)
    y = rng.permutation(np.repeat([0, 1], [m0, m1]))
    X[y == 1] += rng.uniform(-2, 2, n)
    c_fit, c_hinge = (tuple((10 ** rng.uniform(-1, 0.3, 2)).tolist()) for _ in range(2))
    sigma, balance = 10 ** rng.uniform(-2, 0), rng.uniform(0.2, 0.8)
    return X, y, {"c_fit": c_fit, "c_hinge": c_hinge, "sigma": sigma, "balance": balance, **more}


def planes_of(options):
    """The parameters of the planes alone."""
    return {name: options[name] for name in ("c_fit", "c_hinge", "balance")}


def flipped(mask, j):
    return mask ^ (np.arange(len(mask)) == j)


def matrix(kernel, gamma):
    """A kernel between rows, as the literal statements take it."""
    if kernel is None:
        return None
    options = {"metric": kernel, "gamma": gamma, "filter_params": True}
    return lambda a, b: pairwise_kernels(a, b, **options)


class Values:
    """Of both planes together on sets of features, each by programs of its own; and weights."""

    def __init__(self, X, y, c_fit, c_hinge, balance, kernel=None, gamma=None, sample_weight=None):
        self.X, self.y, self.kernel = X, y, matrix(kernel, gamma)
        self.weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.c_fit, self.c_hinge = np.broadcast_to(c_fit, 2), np.broadcast_to(c_hinge, 2)
        self.shares, self.known = np.array([1 - balance, balance]), {}
        self.nothing = self(np.zeros(X.shape[1], dtype=bool))[0]

    def __call__(self, mask):
        key = np.asarray(mask).tobytes()
        if key not in self.known:
            self.known[key] = self.solved(mask)
        return self.known[key]

    def programs(self, rows):
        for k in (0, 1):
            mine = self.y == k
            fit = self.c_fit[k] * self.weights[mine]
            hinge = self.c_hinge[k] * self.weights[~mine]
            yield PlaneProgram(rows[mine], rows[~mine], fit, hinge)

    def solved(self, mask):
        masked = np.where(mask, self.X, 0)
        rows = self.X[:, mask] if self.kernel is None else self.kernel(masked, masked)
        planes = [program.solve(np.ones(rows.shape[1])) for program in self.programs(rows)]
        sizes = np.zeros(self.X.shape[1])
        if self.kernel is None:
            sizes[mask] = abs(np.array([plane.weights for plane in planes])).sum(axis=0)
        return self.shares @ [plane.value for plane in planes], sizes

    def objective(self, mask, sigma):
        return sigma * np.count_nonzero(mask) + self(mask)[0]

    def of_all_sets(self, sigma):
        sets = map(np.array, itertools.product((False, True), repeat=self.X.shape[1]))
        return min(self.objective(mask, sigma) for mask in sets)


@functools.cache
def of_instance(seed):
    X, y = make_instance(seed)
    return Values(X / units(X, y), y, 0.1, 0.1, 0.5)


def values_of(machine, X, y, sample_weight=None):
    """The values that a machine is about; a column that is constant is none to a kernel."""
    X = X * (np.ptp(X, axis=0) > 0) / machine.scale_
    options = {"kernel": machine.kernel, "gamma": getattr(machine, "gamma_", None)}
    return Values(X, y, **planes_of(vars(machine)), **options, sample_weight=sample_weight)


def checked(machine, X, y, values=None, sample_weight=None, flips=None):
    """Objectives are those of masks along the history, and no flip gains where flips were tried.

    Returned are the values, and the masks that were visited.
    """
    values = values_of(machine, X, y, sample_weight) if values is None else values
    steps, sigma = machine.result_.steps, machine.sigma_
    mask = machine.support_.copy()
    for move in reversed(machine.moves_):
        assert mask[move.feature] == move.selected
        mask = flipped(mask, move.feature)
    assert steps[0].n_selected == mask.sum()
    visited = [(mask, steps[0].objective)]
    for move in machine.moves_:
        mask = flipped(mask, move.feature)
        if len(visited) > 1 and visited[-1][1] == move.objective:  # accepted together
            visited.pop()
        visited.append((mask, move.objective))
    for mask, found in visited:
        assert np.isclose(found, values.objective(mask, sigma), rtol=1e-8)
    assert np.array_equal(mask, machine.support_)
    assert np.isclose(found, machine.objective_, rtol=1e-12)
    assert machine.objective_ == machine.result_.objective == steps[-1].objective
    assert steps[0].change == np.inf and all(step.change >= 0 for step in steps)
    assert [step.stage for step in steps] == sorted(step.stage for step in steps)
    for before, after in itertools.pairwise(steps):
        assert before.stage < after.stage or after.objective <= before.objective * (1 + 1e-7)
    assert machine.result_.status == "converged" and machine.result_.step_gap <= 1e-7
    if not machine.refit and machine.kernel is None:  # a feature is on where it has a weight
        assert np.array_equal(machine.support_, (machine.coef_ != 0).any(axis=0))
    if machine.search == "flip" and machine.n_features is None:
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        for j in varying if flips is None else flips:
            after = values.objective(flipped(machine.support_, j), sigma)
            assert after >= machine.objective_ - (machine.tol + 1e-8) * values.nothing
    return values, [mask for mask, _ in visited]


# ---------------------------------------------------------------- the published algorithm


@pytest.mark.parametrize("tol", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_published_search_is_algorithm_1(kernel, tol):
    moved = 0
    for seed in range(15):
        X, y, options = draw(seed, kernel=kernel, gamma=0.1, **AS_PRINTED, **PUBLISHED)
        nothing = Values(X, y, **planes_of(options)).nothing
        machine = quiet(FTSVM(tol=tol / nothing, **options), X, y)
        # the paper's first class is 1
        pairs = options["c_fit"][::-1], options["c_hinge"][::-1]
        rest = options["sigma"], options["balance"]
        E, planes, value, history = literal.ftsvm(
            X[y == 1], X[y == 0], *pairs, *rest, matrix(kernel, 0.1), tol=tol
        )
        if kernel is None:  # here features without a weight are dropped, though it gains little
            idle = E & (abs(planes[0][0]) + abs(planes[1][0]) < 1e-9)
            E, value = E & ~idle, value - options["sigma"] * idle.sum()
        assert np.array_equal(E, machine.support_)
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        assert machine.sigma_ == options["sigma"]
        objectives = [step.objective for step in machine.result_.steps]
        if kernel is None and idle.any():
            objectives.pop()
        assert np.allclose(objectives, history[1 : 1 + len(objectives)], rtol=1e-6)
        if kernel is None:
            for k, (w, b) in ((1, planes[0]), (0, planes[1])):
                assert np.allclose(machine.coef_[k], w, atol=1e-6)
                assert np.isclose(machine.intercept_[k], b, atol=1e-5)
        moved += len(objectives) > 1
    assert moved > 2 or tol > 0.1


def test_scores_that_are_all_zero_or_equal_keep_every_feature():
    X, y = np.repeat([[0.0], [1.0]], 2, axis=0), [0, 0, 1, 1]
    machine = FTSVM(c_fit=10, c_hinge=10, init="score").fit(X, y)
    assert machine.n_selected_ == 1 and machine.score(X, y) == 1
    assert rank_features(X, y, by="score", c_fit=10, c_hinge=10).scores.tolist() == [1]
    same = np.column_stack([GOOD[:, 0]] * 3)
    machine = quiet(FTSVM(c_fit=1e-6, c_hinge=1e-6, init="score"), same, LABELS)
    assert machine.result_.steps[0].n_selected == 3


# ---------------------------------------------------------------- objective, history, and ends


@pytest.mark.parametrize("tol", [0, 1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("search", ["flip", "greedy"])
@pytest.mark.parametrize("init", ["all", "score", "weights", "mm"])
def test_objectives_are_those_of_masks_and_no_single_flip_improves(init, search, tol):
    moves = 0
    for seed in range(20 if tol == 1e-6 else 4):
        X, y = make_instance(seed)
        machine = FTSVM(sigma=SIGMAS[seed % 3], init=init, search=search, tol=tol, refit=False)
        values, visited = checked(quiet(machine, X, y), X, y, of_instance(seed))
        assert np.isclose(machine.sigma_, machine.sigma * values.nothing)
        assert init != "all" or visited[0].all()
        moves += len(machine.moves_)
    assert moves > 2 or tol > 0.01


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("search", ["flip", "greedy"])
def test_with_a_kernel_they_are_too(kernel, search):
    moves = kept = 0
    for seed in range(8):
        X, y, options = draw(seed, search=search, kernel=kernel, refit=False)
        machine = quiet(FTSVM(**options | {"sigma": SIGMAS[seed % 3]}), X, y)
        _, visited = checked(machine, X, y)
        assert visited[0].all()
        moves += len(visited) - 1
        kept += machine.n_selected_
    assert kept > 4 and moves > 2 * (search == "flip")


def test_without_a_price_it_is_the_l1_twin_machine():
    for seed in range(12):
        X, y = make_instance(seed)
        for balance in (0.5, 0.2):
            options = {"c_fit": 0.05, "c_hinge": 0.05, "refit": False}
            machine = quiet(FTSVM(sigma=0, balance=balance, **options), X, y)
            twin = quiet(L1TwinSVM(**options), X, y)
            assert np.allclose(machine.coef_, twin.coef_, atol=1e-9)
            assert np.array_equal(machine.support_, twin.support_)
            assert machine.sigma_ == 0
            if balance == 0.5:
                assert np.isclose(2 * machine.objective_, twin.objective_, rtol=1e-9)


def test_sigma_is_a_part_of_the_objective_without_features():
    for seed in range(8):
        X, y, options = draw(seed)
        options["sigma"] = 0.05
        machine = quiet(FTSVM(**options), X, y)
        nothing = 0
        for k, share in ((0, 1 - options["balance"]), (1, options["balance"])):
            near, far = (y == k).sum(), (y != k).sum()
            nothing += share * min(options["c_fit"][k] * near, options["c_hinge"][k] * far)
        assert np.isclose(machine.sigma_, 0.05 * nothing, rtol=1e-12)
        absolute = options | {"sigma": machine.sigma_, "sigma_absolute": True}
        assert np.array_equal(quiet(FTSVM(**absolute), X, y).coef_, machine.coef_)
        huge = quiet(FTSVM(**options | {"sigma": 1.001}), X, y)
        assert huge.n_selected_ == 0 and np.isclose(huge.objective_, nothing, rtol=1e-12)


def test_near_the_optimum_on_the_fixed_instances():
    searches = [{}, PUBLISHED, {"search": "greedy"}]
    gaps = [[], [], []]
    for seed in range(0, 100, 4):
        X, y = make_instance(seed)
        for sigma in (0.003, 0.01, 0.03, 0.1, 0.3):
            exact = quiet(FTSVM(sigma=sigma, refit=False, exact=True), X, y)
            for found, options in zip(gaps, searches, strict=True):
                machine = quiet(FTSVM(sigma=sigma, refit=False, **options), X, y)
                assert machine.objective_ >= exact.bound_ * (1 - 1e-8)
                found.append(machine.objective_ / exact.objective_ - 1)
    flips, published, from_all = np.mean(gaps, axis=1)
    assert flips <= 0.005 and published > 0.05
    assert 10 * flips < published and flips < from_all < published


# ---------------------------------------------------------------- exact


def test_branch_and_bound_is_enumeration():
    better = 0
    for seed in range(20):
        X, y, options = draw(seed, n=6, **AS_PRINTED)
        sigma = options["sigma"]
        values = Values(X, y, **planes_of(options))
        least = values.of_all_sets(sigma)
        exact = quiet(FTSVM(exact=True, **options), X, y)
        assert np.isclose(exact.objective_, least, rtol=1e-6)
        assert least * (1 - 2e-6) <= exact.bound_ <= least * (1 + 1e-7)
        assert exact.bound_ <= exact.objective_
        found = quiet(FTSVM(**options), X, y)
        assert found.objective_ >= least * (1 - 1e-9) and found.bound_ == -np.inf
        greedy = quiet(FTSVM(exact=True, **PUBLISHED, **options), X, y)
        assert np.isclose(greedy.objective_, least, rtol=1e-6)
        checked(greedy, X, y, values)
        published = quiet(FTSVM(**PUBLISHED, **options), X, y)
        better += greedy.objective_ < published.objective_ * (1 - 1e-6)
    assert better > 3


def test_a_feature_that_is_idle_among_all_may_be_the_best_alone():
    """Features 0 and 1 together leave their sum without a weight, until a feature is expensive."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    parts = rng.standard_normal((40, 2)) * 0.3 + 2 * y[:, None]
    X = np.column_stack([parts, 0.4 * parts.sum(axis=1)])
    options = {"c_fit": 1, "c_hinge": 1, "scale": False, "refit": False}
    assert not FTSVM(sigma=0, **options).fit(X, y).support_[2]
    values = Values(X, y, 1, 1, 0.5)
    for sigma in (0.01, 0.02, 0.05):
        exact = FTSVM(sigma=sigma, exact=True, **options).fit(X, y)
        assert np.isclose(exact.bound_, values.of_all_sets(exact.sigma_), rtol=1e-6)
        assert exact.support_[2]


def test_a_short_time_leaves_a_bound_and_a_warning():
    X, y = make_wide(60, 60, seed=1)
    options = {"sigma": 0.03, "c_fit": 1, "c_hinge": 1}
    words = r"after 0\.01 seconds .* at most .*% above the least; raise time_limit"
    with pytest.warns(ConvergenceWarning, match=words):
        machine = FTSVM(exact=True, time_limit=0.01, **options).fit(X, y)
    found = FTSVM(**options).fit(X, y)
    assert 0 < machine.bound_ < machine.objective_ <= found.objective_
    # an easier problem of as many features is proven, in which the search has missed the best set
    proven = FTSVM(exact=True, sigma=0.01).fit(X, y)
    assert np.isclose(proven.bound_, proven.objective_, rtol=1e-6)


def test_nothing_to_select_is_proven_at_once():
    X, y = make_instance(0)
    for sigma in (0, 1.5, 1e9):
        machine = quiet(FTSVM(exact=True, sigma=sigma), X, y)
        assert np.isclose(machine.bound_, machine.objective_, rtol=1e-6)
        assert machine.bound_ <= machine.objective_
    machine = quiet(FTSVM(exact=True), np.full((6, 2), 0.5), [0, 1] * 3)
    assert np.isclose(machine.bound_, machine.objective_)
    # a search that ends above the objective without features
    machine = quiet(FTSVM(exact=True, sigma=1.5, tol=1e9, search="greedy"), X, y)
    assert machine.n_selected_ == 0 and len(machine.moves_) == 12
    assert np.isclose(machine.objective_, of_instance(0).nothing, rtol=1e-12)


# ---------------------------------------------------------------- bounds that rule flips out


def objective_for(X, y, options):
    """The objective (21) of a machine, as it is made in a fit, and values of its sets."""
    values = Values(X, y, **{k: v for k, v in options.items() if k != "sigma"})
    machine = FTSVM(scale=False, **options)
    machine._check_parameters()
    data = machine._twin_data(machine._check_data(X, y, None))
    return objective_of(data, machine.sigma * values.nothing, values.shares), values


def test_no_flip_gains_more_than_its_bound():
    tight = 0
    for seed in range(20):
        X, y, options = draw(seed, n=7)
        problem, values = objective_for(X, y, options | {"sigma": 0.01})
        rng = np.random.default_rng(seed)
        for _ in range(5):
            mask = rng.random(7) < 0.5
            state = problem.solve(mask)
            assert np.isclose(state.value, values.objective(mask, problem.sigma), rtol=1e-8)
            hopes = problem.largest_gains(state)
            for j in np.flatnonzero(~mask):
                gained = values(mask)[0] - values(flipped(mask, j))[0]
                assert gained <= hopes[j] + 1e-8 * values.nothing
                tight += mask.any() and hopes[j] < 1e-6 * values.nothing
    assert tight > 20


@pytest.mark.parametrize("kernel, n, steps", [(None, 6, 12), ("rbf", 4, 4), ("poly", 4, 4)])
def test_flips_are_found_if_and_only_if_they_gain(kernel, n, steps):
    """Along a random walk, in which features come back, against values solved from scratch."""
    found = 0
    for seed in range(15 if kernel is None else 5):
        X, y, options = draw(seed, n=n, kernel=kernel, gamma=0.3)
        options["sigma"] = [0.003, 0.02, 0.1][seed % 3]
        objective, values = objective_for(X, y, options)
        little = 1e-7 * values.nothing
        rng = np.random.default_rng(seed)
        state = objective.solve(np.ones(n, dtype=bool))
        for _ in range(steps):
            for j in rng.permutation(n).tolist():
                mask = flipped(state.mask, j)
                after = values.objective(mask, objective.sigma)
                gain = state.value - after
                # what is expensive stays out, and what gains is found, however little is asked
                assert objective.try_switch(state, j, gain + little) is None
                new = objective.try_switch(state, j, gain - little)
                assert np.array_equal(new.mask, mask) and np.isclose(new.value, after, rtol=1e-7)
                if abs(gain) > little:
                    assert (objective.try_switch(state, j, 0.0) is not None) == (gain > 0)
                    found += gain > 0
            mask = state.mask.copy()
            mask[rng.integers(n, size=2)] ^= True
            state = objective.solve(mask)
    assert found > 10


def test_the_loop_of_the_start_descends_what_it_should():
    kept = 0
    for seed in range(10):
        X, y, options = draw(seed, n=7)
        objective, values = objective_for(X, y, options | {"sigma": 0.02})
        problem = ConcaveObjective(objective, Exponential(3.0))
        visited = []
        start = objective.solve(np.ones(7, dtype=bool)).weights.ravel()
        weights, result = majorize_minimize(
            problem, start, callback=lambda step, point, seen=visited: seen.append((step, point))
        )
        assert result.status == "converged" and len(visited) >= 2
        kept += np.count_nonzero(weights)

        def parts(point, values=values):
            """Weights, program and share of each plane."""
            return zip(np.split(point, 2), values.programs(values.X), values.shares, strict=True)

        for step, point in visited:
            sizes = abs(point[:7]) + abs(point[7:])
            value = objective.sigma * (1 - np.exp(-3 * sizes)).sum()
            for w, program, share in parts(point):
                value += share * (program.least_loss(w)[0] + abs(w).sum())
            assert np.isclose(step.objective, value, rtol=1e-9)
        # the tangent is the slope by the size of a feature
        point = visited[0][1]
        slopes = problem.tangent(point)
        sizes = abs(point[:7]) + abs(point[7:])
        assert np.allclose(slopes, objective.sigma * 3 * np.exp(-3 * sizes), rtol=1e-9)
        # what lies above is minimised, with costs of the weights for each plane
        for w, program, share in parts(problem.minimize(slopes, point)):
            costs = 1 + slopes / share
            value = costs @ abs(w) + program.least_loss(w)[0]
            assert np.isclose(value, program.solve(costs).value, rtol=1e-8)
    assert kept


def test_most_flips_are_ruled_out_by_bounds_and_others_start_from_the_last_solution():
    X, y = make_wide(60, 500, seed=2)
    machine = FTSVM(sigma=0.01).fit(X, y)
    counts = machine.result_.counts
    assert counts.keys() == {"linear program", "pivot", "trial"}
    assert 0 < counts["trial"] < 500
    assert len(machine.moves_) > 450
    assert counts["pivot"] < 6 * counts["linear program"]


# ---------------------------------------------------------------- scores and rankings


def ranked(X, y, **options):
    """The ranking, also where all scores are equal."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "all scores are equal", SelectionWarning)
        return rank_features(X, y, **options)


@pytest.mark.parametrize("kernel", [None, "rbf", "poly"])
def test_scores_are_those_of_algorithm_2(kernel):
    for seed in range(6):
        X, y, options = draw(seed)
        pairs = options["c_fit"][::-1], options["c_hinge"][::-1]
        for support in (np.arange(5) >= 0, np.arange(5) % 2 == 0):
            expected = literal.rtsvm(
                X[y == 1], X[y == 0], support, *pairs, options["balance"], matrix(kernel, 0.2)
            )
            more = planes_of(options) | {"kernel": kernel, "gamma": 0.2, "scale": False}
            found = ranked(X, y, by="score", support=support, **more)
            assert np.allclose(found.scores, expected, rtol=1e-5)
            assert np.array_equal(found.order, np.argsort(-found.scores, kind="stable"))
            backwards = ranked(X, y, by="reversed", support=support, **more)
            assert np.allclose(backwards.scores, 1 - found.scores)


@pytest.mark.parametrize("kernel", [None, "rbf", "laplacian"])
def test_a_drop_is_what_the_losses_rise_by_for_the_planes_as_they_are(kernel):
    for seed in range(6):
        X, y, _ = draw(seed)
        options = {"c_fit": (5.0, 3.0), "c_hinge": (4.0, 5.0), "kernel": kernel, "gamma": 0.2}
        mask = flipped(np.arange(5) != seed % 5, (seed + 2) % 5)
        twin = quiet(L1TwinSVM(refit=False, scale=False, **options), np.where(mask, X, 0), y)

        def lost(support, mask=mask, X=X, y=y, twin=twin):
            """What samples cost in these planes, with the features of another support."""
            rows = np.where(support, X, 0)
            values = twin.plane_values(rows) if kernel is None else None
            if kernel is not None:  # the points change with the features, too
                known = np.where(mask, X, 0)
                places = [np.argmax((known == p).all(axis=1)) for p in twin.support_vectors_]
                values = matrix(kernel, 0.2)(rows, rows[places]) @ twin.dual_coef_.T
                values += twin.intercept_
            total = 0
            for k in (0, 1):
                far = np.maximum(0, 1 + (2 * k - 1) * values[y != k, k]).sum()
                near = abs(values[y == k, k]).sum()
                total += (twin.c_fit[k] * near + twin.c_hinge[k] * far) / 2
            return total

        scores = rank_features(X, y, support=mask, scale=False, **options).scores
        for j in range(5):
            rise = lost(flipped(mask, j)) - lost(mask)
            assert np.isclose(scores[j], rise if mask[j] else -rise, rtol=1e-6, atol=1e-6)


def test_weights_are_sizes_in_both_planes():
    X, y = make_instance(5)
    found = rank_features(X, y, by="weights", balance=0.3)
    machine = quiet(L1TwinSVM(c_fit=0.1, c_hinge=0.1, refit=False), X, y)
    sizes = abs(machine.coef_ * machine.scale_)
    assert np.allclose(found.scores, 0.7 * sizes[0] + 0.3 * sizes[1])
    constant = np.column_stack([np.full(len(X), 2.0), X])
    with pytest.warns(SelectionWarning, match="constant"):
        wider = rank_features(constant, y, by="weights", balance=0.3)
    assert wider.scores[0] == -np.inf and wider.order[-1] == 0
    assert np.allclose(wider.scores[1:], found.scores)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"by": "best"}, '^by=\'best\'; pass "drop", "weights", "score" or "reversed"'),
        ({"by": "weights", "kernel": "rbf"}, "needs weights, which kernel='rbf' has not"),
        ({"support": [0, 1]}, "^support has type .*; pass one bool for each of 2"),
        ({"support": [[True, False]]}, "^support has type .*; pass one bool for each of 2"),
        ({"balance": 1}, "^balance="),
        ({"c_fit": -1}, "^c_fit="),
    ],
)
def test_rankings_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        rank_features(GOOD, LABELS, **options)


def test_a_ranking_suits_select_k_best():
    X, y = load("wdbc", return_X_y=True)
    found = rank_features(X, y)
    kept = SelectKBest(rank_features, k=3).fit(X, y).get_support(indices=True)
    assert set(kept) == set(found.order[:3])
    with pytest.raises(ValueError, match="one class"):
        rank_features(X, np.zeros(len(X)))
    with pytest.warns(SelectionWarning, match="all scores are equal.*larger c_fit"):
        nothing = rank_features(GOOD, LABELS, support=[False, False])
    assert np.isfinite(nothing.scores).all()


def test_flat_surfaces_select_nothing_by_their_order():
    X, y = load("pima", return_X_y=True)
    cheap = {"kernel": "rbf", "c_fit": 1e-3, "c_hinge": 1e-3}
    for part in (X[::6], X[::6, ::-1]):
        with pytest.warns(SelectionWarning) as said:
            machine = FTSVM(n_features=3, **cheap).fit(part, y[::6])
        assert machine.n_selected_ == 0
        assert "n_features=3, but no other gets a weight; 0" in str(said[0].message)
        with pytest.warns(SelectionWarning, match="all scores are equal"):
            rank_features(part, y[::6], **cheap)


def test_features_that_do_nothing_alone_are_found_among_all():
    """Of two that matter together only, as in a checkerboard."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 4))
    y = (X[:, 1] * X[:, 2] > 0).astype(int)
    options = {"kernel": "rbf", "gamma": 0.5, "c_fit": 0.3, "c_hinge": 0.3, "sigma": 0.5}
    with pytest.warns(SelectionWarning, match="no feature is selected"):
        FTSVM(**options).fit(X, y)
    machine = FTSVM(n_features=2, **options).fit(X, y)
    assert np.flatnonzero(machine.support_).tolist() == [1, 2]


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("sigma", [0, 0.01, 5])
def test_so_many_features_as_asked_for(kernel, sigma):
    X, y, _ = draw(2, 20, 20, 6)
    options = {"c_fit": 2, "c_hinge": 2, "sigma": sigma, "kernel": kernel, "refit": False}
    for size in (1, 3, 5):
        machine = quiet(FTSVM(n_features=size, **options), X, y)
        assert machine.n_selected_ == size
        _, visited = checked(machine, X, y)
        assert visited[0].all()


def test_each_step_to_a_size_is_the_best():
    X, y = make_instance(4)
    values = of_instance(4)
    for sigma, change in ((0.003, -1), (0.3, 1)):
        machine = quiet(FTSVM(sigma=sigma, refit=False), X, y)
        size = machine.n_selected_ + change
        other = quiet(FTSVM(sigma=sigma, n_features=size, refit=False), X, y)
        others = np.flatnonzero(machine.support_ == (change < 0))
        rest = [values(flipped(machine.support_, j))[0] for j in others]
        assert np.isclose(values(other.support_)[0], min(rest), rtol=1e-9)


def test_more_features_than_there_are_is_told():
    X, y = make_instance(0)
    words = "n_features=12, but no other gets a weight.* 7 are ret"
    with pytest.warns(SelectionWarning, match=words):
        machine = FTSVM(n_features=12).fit(X, y)
    assert machine.n_selected_ == 7
    with pytest.warns(SelectionWarning, match="n_features=50, but only 2 vary; 2 are returned"):
        machine = FTSVM(n_features=50, kernel="rbf", c_fit=1, c_hinge=1).fit(X[:, :2], y)
    assert machine.n_selected_ == 2


# ---------------------------------------------------------------- invariances


@pytest.mark.parametrize("kernel", [None, "rbf", "laplacian"])
def test_without_scaling_the_origin_does_not_matter(kernel):
    for seed in range(6):
        X, y, options = draw(seed)
        options |= {"sigma": 0.02, "kernel": kernel, "scale": False, "refit": False}
        here, there = (quiet(FTSVM(**options), X + shift, y) for shift in (0, 2))
        assert np.array_equal(here.support_, there.support_)
        assert np.isclose(here.objective_, there.objective_, rtol=1e-8)


def test_the_summary_names_the_objective_and_the_bound():
    X, y = load("wdbc", return_X_y=True, as_frame=True)
    text = FTSVM(sigma=0.03).fit(X, y).summary()
    assert "objective (21), before a refit: " in text and "proven" not in text
    exact = FTSVM(sigma=0.03, exact=True).fit(X.iloc[:, :6], y)
    assert f"proven to be at least {exact.bound_:.6g}" in exact.summary()


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_kernel_sees_the_selected_features_alone(kernel):
    for seed in range(5):
        X, y, options = draw(seed, kernel=kernel)
        machine = quiet(FTSVM(**options | {"c_fit": 2, "c_hinge": 2, "sigma": 0.02}), X, y)
        noise = np.random.default_rng(0).standard_normal(X.shape) * 100
        changed = np.where(machine.support_, X, noise)
        assert np.allclose(machine.decision_function(changed), machine.decision_function(X))
        assert machine.gamma_ == 1 / 5


@pytest.mark.parametrize("search", ["flip", "greedy"])
def test_rounds_are_counted(search):
    X, y = make_instance(0)
    with pytest.warns(ConvergenceWarning, match="not converged in 1 rounds: .*max_iter or tol"):
        machine = FTSVM(max_iter=1, search=search).fit(X, y)
    assert machine.result_.status == "max_iter" and machine.n_iter_ == 1
    assert 2 <= FTSVM(search=search).fit(X, y).n_iter_ < 10
    # where nothing is left to gain, one round is enough
    assert quiet(FTSVM(max_iter=1, search=search, sigma=0), X, y).n_iter_ == 1


# ---------------------------------------------------------------- degenerate data


@pytest.mark.parametrize("sigma", [1, 1e9])
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("search", ["flip", "greedy"])
def test_dear_features_are_none(search, kernel, sigma):
    X, y, _ = draw(0)
    words = "no feature is selected: both.*smaller sigma, a larger c_fit"
    with pytest.warns(SelectionWarning, match=words):
        machine = FTSVM(sigma=sigma, search=search, kernel=kernel).fit(X, y)
    assert machine.n_selected_ == 0 and machine.norms_.tolist() == [0, 0]
    assert np.isclose(machine.objective_, values_of(machine, X, y).nothing)
    assert (machine.predict(X) == 0).all()  # 13 rows, against 11
    assert np.isinf(machine.distances(X)).all()
    assert "0 of 5 features" in machine.summary()


@pytest.mark.parametrize("c", [1e-6, 1e6])
def test_prices_at_their_ends(c):
    for seed in range(4):
        X, y = make_instance(seed)
        machine = quiet(FTSVM(c_fit=c, c_hinge=c, refit=False), X, y)
        checked(machine, X, y)
        assert (machine.n_selected_ == 0) == (c < 1)


def test_columns_that_are_equal_or_constant_are_not_paid_twice():
    X, y = make_instance(0)
    machine = FTSVM().fit(X, y)
    with pytest.warns(SelectionWarning, match="constant features are never selected.*: 24"):
        other = FTSVM().fit(np.column_stack([X, X, np.full(len(X), 1e9)]), y)
    assert other.n_selected_ == machine.n_selected_
    assert np.isclose(other.objective_, machine.objective_, rtol=1e-9)
    assert not (other.support_[:12] & other.support_[12:24]).any()
    # the place of a feature among those that vary is not its place among all
    wider = np.column_stack([np.ones(len(X)), X])
    first = quiet(FTSVM(refit=False), wider, y)
    _, visited = checked(first, wider, y)
    assert visited[0].tolist() == [False] + [True] * 12
    assert np.array_equal(first.support_[1:], machine.support_)


def test_wide_data():
    X, y = make_wide(60, 800, seed=3)
    machine = FTSVM(c_fit=0.3, c_hinge=0.3, sigma=0.02, refit=False).fit(X, y)
    assert 0 < machine.n_selected_ < 30 and machine.score(X, y) > 0.9
    checked(machine, X, y, flips=range(60))


def small(seed):
    """Samples with ties, their weights, and parameters; a greedy search in every other one."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(4, 9), rng.integers(1, 4)
    X, y = instances.draw(seed, *shape, integer=True, repeated=seed % 3 == 0)
    options = {name: tuple(rng.choice([0.01, 0.5, 1.0, 30.0], 2)) for name in ("c_fit", "c_hinge")}
    options["sigma"] = rng.choice([0, 1e-8, 0.01, 0.2, 3])
    options["balance"] = rng.choice([0.1, 0.5, 0.7])
    options["init"] = str(rng.choice(["all", "score", "weights", "mm"]))
    options["search"] = ["flip", "greedy"][seed % 2]
    return X, y, rng.integers(1, 4, len(y)).astype(float), options | {"scale": seed % 4 > 1}


@pytest.mark.parametrize("part", range(3))
def test_any_small_data(part):
    for seed in range(part, 150, 3):
        X, y, weights, options = small(seed)
        machine = quiet(FTSVM(refit=False, **options), X, y, sample_weight=weights)
        values, _ = checked(machine, X, y, sample_weight=weights)
        least = values.of_all_sets(machine.sigma_)
        assert machine.objective_ >= least * (1 - 1e-8)
        exact = quiet(FTSVM(exact=True, **options), X, y, sample_weight=weights)
        assert np.isclose(exact.objective_, least, rtol=2e-6)
        assert exact.bound_ <= least * (1 + 1e-7)
        assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("size", [None, 1, 2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_any_small_data_with_a_kernel(kernel, size):
    for seed in range(7):
        X, y, weights, options = small(seed)
        options["init"] = "all" if seed % 3 else "score"
        machine = FTSVM(refit=False, kernel=kernel, gamma=0.5, n_features=size, **options)
        quiet(machine, X, y, sample_weight=weights)
        checked(machine, X, y, sample_weight=weights)
        if size is not None:
            most = min(size, np.count_nonzero(np.ptp(X, axis=0)))
            flat = (machine.norms_ == 0).all()
            assert machine.n_selected_ == most or (machine.n_selected_ < most and flat)
        assert np.isfinite(machine.decision_function(X)).all()
