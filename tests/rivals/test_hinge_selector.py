"""FSV, AROM and the ranking: equal to literal statements, and as good as they say."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from definitions import in_units, least_loss, quiet, scaled
from instances import draw
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fsnotes import AROM, FSV, L1SVM, SVMRanking, ZeroNormSVM, load, make_instance, make_wide
from fsnotes.core.reweighting import Reweighted
from fsnotes.errors import SelectionWarning, SubproblemError
from fsnotes.literal import arom, arom_step, fsv, fsv_step
from fsnotes.solvers import highs, hinge_programs
from fsnotes.solvers.hinge import HingeData
from fsnotes.solvers.margin import SoftMargin

SETS = ["sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic", "wdbc"]
LINEAR = [FSV(), AROM(norm=1)]
STEPPING = [*LINEAR, AROM()]
SELECTING = [*STEPPING, SVMRanking()]
COSTS = [0.1, 0.5, 2, 10, 50]


def each(models):
    names = [f"{type(model).__name__}{getattr(model, 'norm', '')}" for model in models]
    return pytest.mark.parametrize("model", models, ids=names)


def problems(count):
    """Random instances, with a C for each."""
    return [(*make_instance(seed), COSTS[seed % 5]) for seed in range(count)]


def penalty(machine, w, floor, exact=True):
    """What is added to C times the losses, by its definition; what is descended if not exact."""
    if isinstance(machine, AROM):
        return machine.norm * np.log(np.maximum(abs(w), floor)).sum()
    alpha = machine.alpha
    if exact:
        return np.sum(1 - np.exp(-alpha * abs(w)))
    # the integral of a slope that is never less than 1e-7 alpha
    edge = np.log(1e7) / alpha
    inner, beyond = np.minimum(abs(w), edge), np.maximum(abs(w) - edge, 0)
    return np.sum(1 - np.exp(-alpha * inner) + 1e-7 * alpha * beyond)


def literal(model, Z, signs, C, **more):
    """Weights and objective of the literal statement."""
    if isinstance(model, FSV):
        start = np.full(Z.shape[1], np.log(5) / 5)  # where each weight costs 1
        w, _, value, _ = fsv(Z, signs, C, 5, start, **more)
    else:
        w, _, value, _ = arom(Z, signs, C, model.norm, **more)
    return w, value


def traced(machine, X, y):
    """The machine, and problem, weights and value of each point on the way."""
    calls, true = [], Reweighted.value

    def value(problem, weights):
        calls.append((problem, weights, true(problem, weights)))
        return calls[-1][-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reweighted, "value", value)
        quiet(machine, X, y)
    return machine, calls


# ---------------------------------------------------------------- steps


@each(STEPPING)
@pytest.mark.parametrize("options", [{}, {"n_features": 3}], ids=["all", "three"])
def test_what_is_descended_never_rises_at_one_C(model, options):
    falls, lowered = 0, 0
    for X, y, C in problems(25):
        machine = clone(model).set_params(C=C, refit=False, max_iter=1000, **options)
        machine, calls = traced(machine, X, y)
        Z, signs = scaled(X, y)
        steps = machine.result_.steps
        assert machine.result_.status == "converged"
        assert [found for *_, found in calls] == [step.objective for step in steps]
        floor = calls[0][0].floor
        Cs = [problem.C for problem, *_ in calls]
        if not options:
            assert set(Cs) == {C}
            first, *_ = arom_step(Z, signs, C, np.ones(Z.shape[1]), getattr(model, "norm", 1))
            assert np.isclose(floor, 1e-6 * abs(first).max(), rtol=1e-5)
        for place, (before, after) in enumerate(zip(steps, steps[1:], strict=False)):
            if before.stage == after.stage:
                assert after.objective <= before.objective + 1e-7 * abs(before.objective)
                falls += after.objective < before.objective - 1e-6 * abs(before.objective)
            else:
                assert Cs[place + 1] == Cs[place] / 2 and before.n_selected > 3
                lowered += 1
        if floor == 0:
            continue
        for problem, w, found in calls:
            own = problem.C * least_loss(Z, signs, w) + penalty(machine, w, floor, exact=False)
            assert np.isclose(found, own, rtol=1e-9, atol=1e-9)
        end = calls[-1][1]
        own = C * least_loss(Z, signs, end) + penalty(machine, end, floor)
        assert np.isclose(machine.objective_, own, rtol=1e-9, atol=1e-9)
        if not options:
            assert np.allclose(in_units(machine), end, rtol=1e-12)
            assert machine.result_.objective == min(step.objective for step in steps)
    assert falls > 40 and (lowered > 10) == bool(options)


@each(STEPPING)
def test_each_step_is_its_literal_statement(model):
    taken, norm = 0, getattr(model, "norm", 1)
    for X, y, C in problems(15):
        _, calls = traced(clone(model).set_params(C=C, refit=False), X, y)
        Z, signs = scaled(X, y)
        points = [w for _, w, _ in calls]
        # the machine from which the steps begin
        *_, known = arom_step(Z, signs, C, np.ones(Z.shape[1]), norm)
        found = C * least_loss(Z, signs, points[0]) + np.sum(abs(points[0]) ** norm)
        assert np.isclose(found, known, rtol=1e-6)
        for before, after in zip(points, points[1:], strict=False):
            if not before.any():
                continue
            found = C * least_loss(Z, signs, after)
            if isinstance(model, FSV):
                costs = 5 * np.maximum(np.exp(-5 * abs(before)), 1e-7)
                *_, known = fsv_step(Z, signs, C, costs)
                found += costs @ abs(after)
            else:
                *_, known = arom_step(Z, signs, C, abs(before), norm)
                assert not after[before == 0].any()
                found += np.sum(abs(after[before != 0] / before[before != 0]) ** norm)
            assert found >= known * (1 - 1e-6) - 1e-6
            # where weights below the floor are dropped, the statement knows them still
            if isinstance(model, FSV) or np.count_nonzero(after) == np.count_nonzero(before):
                assert np.isclose(found, known, rtol=1e-6, atol=1e-6)
                taken += 1
    assert taken > 30


def test_the_bound_of_a_program_is_one_whatever_the_multipliers():
    rng = np.random.default_rng(0)
    for seed in range(20):
        X, y = make_instance(seed)
        Z, signs = scaled(X, y)
        program = hinge_programs.HingeProgram(HingeData(Z, signs, np.ones(len(y))))
        C = [0.5, 3, 10][seed % 3]
        sizes = 10 ** rng.uniform(-4, 0) * rng.uniform(0.2, 3, X.shape[1])
        found = program.solve(sizes, C)
        best = abs(found.weights) @ (1 / sizes) + C * found.hinge
        larger = np.where(signs > 0, np.mean(signs < 0), np.mean(signs > 0))
        for spread in (0, 0, 1, 1):
            # out of range, and balanced only as long as they are
            factors = rng.uniform(1, 4) * rng.uniform(1 - spread, 1 + spread, len(y))
            for weights in (np.zeros(Z.shape[1]), found.weights):
                bound = program.bound(C * larger * factors, 1 / sizes, weights)
                assert bound <= best * (1 + 1e-9)


@each(STEPPING)
def test_all_steps_are_their_literal_statement(model):
    """Where weights are long, units are those of the data, and rows are real, too."""
    sizes = []
    for X, y, C in problems(15):
        machine = quiet(clone(model).set_params(C=C, refit=False, max_iter=1000), X, y)
        w, value = literal(model, *scaled(X, y), C)
        assert np.array_equal(abs(w) > 1e-9, machine.support_)
        assert np.allclose(in_units(machine), w, rtol=1e-3, atol=1e-4)
        # each has a floor of its own, from its first machine
        rtol = 1e-6 if isinstance(model, FSV) else 1e-5
        assert np.isclose(machine.objective_, value, rtol=rtol, atol=1e-5)
        sizes.append(machine.n_selected_)
    assert min(sizes) <= 2 and len(set(sizes)) > 4
    for name in ["sonar", "pima", "wisconsin", "wdbc", "titanic"]:
        X, y = load(name, return_X_y=True)
        machine = quiet(clone(model).set_params(C=0.3, refit=False), X, y)
        w, value = literal(model, *scaled(X, y), 0.3)
        assert np.isclose(machine.objective_, value, rtol=1e-5)
        assert np.array_equal(abs(w) > 1e-9, machine.support_)
    X, y = load("pima", return_X_y=True)
    machine = quiet(clone(model).set_params(C=0.3, scale=False), X, y)
    _, value = literal(model, X, 2.0 * y - 1, 0.3)
    assert np.isclose(machine.objective_, value, rtol=1e-6 if isinstance(model, FSV) else 1e-5)


@each(STEPPING)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_so_many_features_as_in_the_literal_statement(model, size):
    for seed in range(12):
        X, y = make_instance(seed)
        machine = clone(model).set_params(C=2.0, refit=False, n_features=size)
        assert quiet(machine, X, y).n_selected_ == size
        # where C had to be changed, no statement is literal
        if machine._raised_to is None and machine.result_.steps[-1].stage == 0:
            w, _ = literal(model, *scaled(X, y), 2.0, n_features=size)
            assert np.array_equal(w != 0, machine.support_)
            assert np.allclose(in_units(machine), w, rtol=1e-2, atol=1e-3)


def test_arom_of_the_two_norm_is_the_zero_norm_machine_from_equal_penalties():
    for X, y in [make_wide(40, 600), *(load(name, return_X_y=True) for name in SETS)]:
        for C in (0.3, 10):
            machine = quiet(AROM(C=C, refit=False), X, y)
            other = quiet(ZeroNormSVM(C=C, start="identity", refit=False), X, y)
            assert np.array_equal(machine.coef_, other.coef_)
            assert np.array_equal(machine.intercept_, other.intercept_)
            steps = [[s.objective for s in m.result_.steps] for m in (machine, other)]
            assert steps[0] == steps[1] and machine.n_iter_ == other.n_iter_
            assert machine.result_.objective == other.result_.objective


@each(LINEAR)
def test_the_steps_of_linear_programs_come_to_an_end(model):
    """At a vertex, which the last program does not leave."""
    for name in SETS:
        X, y = load(name, return_X_y=True)
        for C in (0.1, 1, 30):
            machine = quiet(clone(model).set_params(C=C, refit=False, tol=0, max_iter=200), X, y)
            steps = machine.result_.steps
            assert machine.result_.status == "converged" and steps[-1].change == 0
            if steps[0].n_selected:
                assert machine.n_iter_ == len(steps) == machine.result_.counts["linear program"]
            # a vertex has as many margins of 1 as weights
            margins = np.where(y == 1, 1, -1) * machine.decision_function(X)
            assert np.isclose(margins, 1, atol=1e-7).sum() >= machine.n_selected_


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1, 100, 1e4, 1e8])
def test_any_alpha_is_taken(alpha):
    for seed in range(8):
        X, y = make_instance(seed)
        C = 0.5 * min(1, alpha)
        machine = quiet(FSV(C=C, alpha=alpha, refit=False, max_iter=1000), X, y)
        assert machine.result_.status == "converged"
        # where a zero costs as much as that, the steps may end with none
        assert machine.n_selected_ >= 1 or alpha == 1e8
        w = in_units(machine)
        own = C * least_loss(*scaled(X, y), w) - np.expm1(-alpha * abs(w)).sum()
        assert np.isclose(machine.objective_, own, rtol=1e-9)
        if alpha <= 1e-3:  # over alpha, the l1 norm
            plain = quiet(L1SVM(C=0.5 * len(y), refit=False), X, y)
            assert np.isclose(machine.objective_ / alpha, plain.objective_, rtol=1e-2)


# ---------------------------------------------------------------- so many features


@each(SELECTING)
@pytest.mark.parametrize("refit", [True, False])
def test_exactly_so_many_features(refit, model):
    for name, sizes in {"sonar": (1, 2, 7, 59), "wisconsin": (1, 2, 9), "wdbc": (3, 10)}.items():
        X, y = load(name, return_X_y=True)
        for size in sizes:
            for C in (1e-4, 1.0):
                machine = clone(model).set_params(C=C, n_features=size, refit=refit)
                # linear programs of vertices need not have so many weights
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore" if size == 59 else "error", SelectionWarning)
                    machine.fit(X, y)
                assert machine.n_selected_ == size or size == 59


@each(LINEAR)
def test_C_is_raised_until_features_are_enough(model):
    X, y = make_wide(40, 600)
    machine, calls = traced(clone(model).set_params(C=1e-4, n_features=15), X, y)
    assert machine.n_selected_ == 15 and machine._raised_to > 1e-2
    assert calls[0][0].C == machine._raised_to
    assert machine.score(X, y) > 0.6
    for C in (1e-4, 1.0):
        machine = clone(model).set_params(C=C, n_features=100)
        with pytest.warns(SelectionWarning, match="=100, but only .* any C tried, up to") as seen:
            machine.fit(X, y)
        assert 15 < machine.n_selected_ <= 40 and seen[0].filename == __file__
        assert f"{machine.n_selected_} are returned" in str(seen[0].message)


@each(STEPPING)
def test_C_is_lowered_only_until_features_are_few_enough(model):
    X, y = load("sonar", return_X_y=True)
    steps = clone(model).set_params(C=10, n_features=2, refit=False).fit(X, y).result_.steps
    assert steps[-1].stage >= 1 and steps[-1].n_selected in (2, 3, 4, 5)
    by_stage = {step.stage: step.n_selected for step in steps}
    assert all(by_stage[stage] > 2 for stage in range(steps[-1].stage))
    # where so many are left at once, C stays
    free = clone(model).set_params(C=0.5, refit=False).fit(X, y)
    same = clone(model).set_params(C=0.5, refit=False, n_features=free.n_selected_).fit(X, y)
    assert np.array_equal(same.support_, free.support_)
    assert same.result_.steps[-1].stage == 0


# ---------------------------------------------------------------- refit and ranking


def refit_values(machine, Z, signs, scores):
    """Value of the soft-margin problem on the support, and the best one."""
    chosen, w, b = machine.support_, cp.Variable(machine.n_selected_), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(signs, Z[:, chosen] @ w + b)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) + machine.C * loss))
    best = problem.solve(solver=cp.CLARABEL)
    losses = np.maximum(0, 1 - signs * scores)
    return in_units(machine) @ in_units(machine) + machine.C * losses.sum(), best


@each(SELECTING)
def test_the_refit_is_the_soft_margin_machine_of_what_is_selected(model):
    other = 0
    for seed in range(15):
        X, y = make_instance(seed)
        Z, signs = scaled(X, y)
        for size in (None, 3):
            model = clone(model).set_params(C=[0.3, 1, 10][seed % 3], n_features=size)
            machine = quiet(clone(model), X, y)
            raw = quiet(clone(model).set_params(refit=False), X, y)
            assert np.array_equal(machine.support_, raw.support_)
            assert machine.objective_ == raw.objective_
            if machine.n_selected_:
                found, best = refit_values(machine, Z, signs, machine.decision_function(X))
                assert np.isclose(found, best, rtol=1e-6)
                other += not np.allclose(machine.coef_, raw.coef_, rtol=1e-3)
                # of the raw weights, the offset is the best
                losses = np.maximum(0, 1 - signs * raw.decision_function(X))
                assert np.isclose(losses.sum(), least_loss(Z, signs, in_units(raw)), rtol=1e-9)
    assert other > 20


# libsvm does not end on rows that are equal by the hundred
@pytest.mark.parametrize("name", [name for name in SETS if name != "titanic"])
def test_the_ranking_is_that_of_one_soft_margin_machine(name):
    X, y = load(name, return_X_y=True)
    varies = X.std(axis=0) > 0
    Z, signs = scaled(X, y)
    machine = quiet(SVMRanking(C=0.4), X, y)
    # there is no 1/2 in |w|^2
    w = SVC(kernel="linear", C=0.2, tol=1e-8).fit(Z, signs).coef_[0]
    assert np.isclose(machine.objective_, w @ w + 0.4 * least_loss(Z, signs, w), rtol=1e-6)
    sizes = np.zeros(X.shape[1])
    sizes[varies] = abs(w)
    assert sorted(machine.order_) == np.flatnonzero(varies).tolist()
    assert (np.diff(sizes[machine.order_]) <= 1e-4 * sizes.max()).all()
    half = max(1, varies.sum() // 2)
    assert set(np.flatnonzero(machine.support_)) == set(machine.order_[:half])
    raw = quiet(SVMRanking(C=0.4, refit=False, n_features=1), X, y)
    assert np.isclose(abs(in_units(raw)).max(), abs(w).max(), rtol=1e-4)


# ---------------------------------------------------------------- none, and all


@each(STEPPING)
def test_a_small_C_selects_nothing_and_says_so(model):
    for name in SETS:
        X, y = load(name, return_X_y=True)
        X = X[:, X.std(axis=0) > 0]
        counts = np.bincount(y)
        message = "C=1e-05 is too small to select a feature: the weights.*pass a larger C"
        with pytest.warns(SelectionWarning, match=message) as seen:
            machine = clone(model).set_params(C=1e-5).fit(X, y)
        assert len(seen) == 1 and seen[0].filename == __file__
        assert ("smaller alpha" in str(seen[0].message)) == isinstance(model, FSV)
        assert machine.n_selected_ == 0
        assert (machine.predict(X) == counts.argmax()).all()
        if isinstance(model, FSV):
            assert np.isclose(machine.objective_, 2e-5 * counts.min())
    # no larger C is asked for than is allowed
    for C, asked in ((1e6, False), (1e5, True)):
        with pytest.warns(SelectionWarning, match="is too small.* n_features=") as seen:
            clone(model).set_params(C=C).fit(X, y, sample_weight=1e-12)
        assert ("a larger C" in str(seen[0].message)) == asked


@each(STEPPING)
def test_where_nothing_is_dropped_the_selectors_say_so(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = rng.normal(size=(100, 3)) + 2 * y[:, None]
    with pytest.warns(SelectionWarning, match="none of 3 features is dropped at C=50; p") as seen:
        assert clone(model).set_params(C=50).fit(X, y).n_selected_ == 3
    assert len(seen) == 1 and seen[0].filename == __file__


def useless():
    """Rows on which no weights have a smaller loss than none: the parity, and a heavy class."""
    # rows, labels, and the least loss: 1 for each of four rows, or 2 for each of three
    yield np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1]), 4
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        X[:3] *= 0.1
        yield X, np.repeat([1, 0], [3, 57]), 6


@each(SELECTING)
@pytest.mark.parametrize("refit", [True, False])
def test_where_no_line_gains_nothing_is_selected(model, refit):
    for X, y, loss in useless():
        w, b = cp.Variable(2), cp.Variable()
        least = cp.sum(cp.pos(1 - cp.multiply(2 * y - 1, X @ w + b)))
        assert np.isclose(cp.Problem(cp.Minimize(least)).solve(solver=cp.CLARABEL), loss)
        for C in (10, 1000):
            model = clone(model).set_params(C=C, refit=refit)
            with pytest.warns(SelectionWarning, match="feature is selected: no weights, at any C"):
                machine = clone(model).fit(X, y)
            # rounding is no weight
            assert not machine.coef_.any() and np.isclose(machine.objective_, loss * C)
            assert machine.intercept_ == [0 if loss == 4 else -1]
            one = clone(model).set_params(n_features=1)
            words = "n_features=1, but no weights, at any C.*; 0 are r"
            with pytest.warns(SelectionWarning, match=words):
                assert not one.fit(X, y).coef_.any()
            # where all collapses, rows of weight 2 are two rows in the objective, too
            double = quiet(clone(model), np.repeat(X, 2, axis=0), np.repeat(y, 2))
            weighted = quiet(clone(model), X, y, sample_weight=2.0)
            assert weighted.objective_ == double.objective_


def test_a_refit_that_drops_what_was_selected_says_so():
    found = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(16, 7)), np.arange(16) % 3 == 0
        assert quiet(SVMRanking(C=16, n_features=1, refit=False), X, y).n_selected_ == 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine = SVMRanking(C=16, n_features=1).fit(X, y)
        words = "the refit has a weight for 0 of them, and refit=False for 1; 0 are returned"
        assert [words in str(w.message) for w in caught] == [True] * (machine.n_selected_ == 0)
        found += machine.n_selected_ == 0
    assert found >= 2


@each(SELECTING)
def test_heavy_rows_that_are_the_cause_are_named(model):
    X, y = make_instance(0)
    with pytest.raises(SubproblemError, match="Pass a smaller sample_weight: a row weighs") as seen:
        clone(model).fit(X, y, sample_weight=1e50)
    assert "smaller C" not in str(seen.value)
    # expensive errors are no rounding
    assert quiet(clone(model), X, y, sample_weight=1e10).n_selected_ >= 1


def test_degenerate_data():
    """Few values, equal rows and columns, ties of all kinds, more features than rows."""
    for seed in range(200):
        X, y = draw(seed, integer=True, repeated=True)
        rng = np.random.default_rng(seed)
        model = clone(SELECTING[seed % 4]).set_params(
            C=float(10 ** rng.uniform(-2, 4)),
            refit=bool(rng.integers(2)),
            scale=bool(rng.integers(2)),
            n_features=[None, None, 1, 2][rng.integers(4)],
        )
        if isinstance(model, FSV):
            model.set_params(alpha=float(10 ** rng.uniform(-1, 2)))
        if not isinstance(model, SVMRanking):
            model.set_params(max_iter=1000)
        machine = quiet(model, X, y)
        assert machine.result_.status in ("solved", "converged")
        assert (machine.result_.step_gap or 0) <= 1e-6
        assert np.isfinite(machine.coef_).all() and np.isfinite(machine.objective_)
        assert machine.n_selected_ <= (machine.n_features or X.shape[1])
        if machine.refit and machine.n_selected_:
            scores = machine.decision_function(X)
            found, best = refit_values(machine, X / machine.scale_, 2.0 * y - 1, scores)
            assert found <= best * (1 + 1e-5) + 1e-6
        elif machine.result_.steps and machine.n_features is None and isinstance(model, FSV):
            # never worse than the machine without features, from which l1 machines start
            first = machine.result_.steps[0].objective
            assert machine.result_.objective <= first + 1e-9 * abs(first)


@each(STEPPING)
def test_a_step_that_is_not_verified_is_not_taken(monkeypatch, model):
    X, y = load("wdbc", return_X_y=True)
    where = SoftMargin if model is STEPPING[2] else hinge_programs.HingeProgram
    true, calls = where.solve, []

    def solve(self, *args, **kwargs):
        calls.append(0)
        if len(calls) > 3:
            raise SubproblemError("no answer")
        return true(self, *args, **kwargs)

    monkeypatch.setattr(where, "solve", solve)
    model = clone(model).set_params(C=1.0, refit=False)
    with pytest.warns(ConvergenceWarning, match="not solved to verified.*no answer") as caught:
        machine = clone(model).fit(X, y)
    assert machine.result_.status == "stalled" and machine.n_iter_ == 3
    assert caught[0].filename == __file__
    with pytest.raises(SubproblemError, match="no answer"):
        clone(model).fit(X, y)


@each(LINEAR)
@pytest.mark.parametrize("what", ["columns", "duals"])
def test_a_linear_program_that_is_not_verified_is_none(monkeypatch, what, model):
    X, y = load("wdbc", return_X_y=True)
    true = getattr(highs.DualModel, what)
    monkeypatch.setattr(highs.DualModel, what, lambda program: 0.999 * true(program))
    with pytest.raises(SubproblemError, match="duality gap .* more than 1e-07.*Pass a smaller C"):
        clone(model).fit(X, y)


@each(SELECTING)
def test_a_refit_that_is_not_verified_is_none(monkeypatch, model):
    X, y = load("wdbc", return_X_y=True)
    true = SoftMargin.solve

    def solve(self, sizes, C, **kwargs):
        if set(sizes) == {0.0, 1.0}:
            raise SubproblemError("no answer")
        return true(self, sizes, C, **kwargs)

    monkeypatch.setattr(SoftMargin, "solve", solve)
    with pytest.raises(SubproblemError, match="no answer"):
        clone(model).set_params(C=0.3).fit(X, y)
    assert clone(model).set_params(C=0.3, refit=False).fit(X, y).n_selected_ >= 1
