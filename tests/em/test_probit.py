"""The probit machine of EM: what its steps descend, where they end, and its probabilities."""

import itertools
import re

import numpy as np
import pytest
from definitions import in_units, quiet, units
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm, truncnorm
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics.pairwise import rbf_kernel

from fsnotes import load, make_instance, make_wide
from fsnotes.em import posterior
from fsnotes.em import probit as em_probit
from fsnotes.em.probit import ProbitEM
from fsnotes.errors import SelectionWarning
from fsnotes.literal import probit_em

SETS = ["sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic", "wdbc"]
PRICES = [0.05, 0.5, 1, 3, 10]
pytestmark = pytest.mark.filterwarnings("ignore:not converged in")


def ratio_of(margins):
    """Density over distribution function of a standard normal variable."""
    return np.exp(norm.logpdf(margins) - norm.logcdf(margins))


def slopes(machine, X, y):
    """Of the log likelihood, by weights in units and by the offset."""
    signs = np.where(y == machine.classes_[1], 1, -1)
    pulls = signs * ratio_of(signs * machine.decision_function(X))
    return pulls @ ((X - X.mean(axis=0)) / machine.scale_), pulls.sum()


def traced(machine, X, y):
    """The problem, and the points and objectives of the steps that the machine takes."""
    problems, points = [], []
    true = em_probit.majorize_minimize

    def run(problem, *args, **options):
        def record(step, x):
            points.append((x, step.objective))

        problems.append(problem)
        return true(problem, *args, callback=record, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(em_probit, "majorize_minimize", run)
        quiet(machine, X, y)
    return problems[0], points


def separable(seed, n_rows=40, n_features=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[:, 0] += np.where(y, 0.5, -0.5)
    return X, y


# ---------------------------------------------------------------- expectations


@given(st.floats(-30, 30))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_ratio_is_density_over_distribution(margin):
    assert np.isclose(posterior.ratio(margin), ratio_of(margin), rtol=1e-9)


def test_the_tails_are_those_of_their_series():
    far = -np.logspace(2, 150, 50)
    ratios = posterior.ratio(far)
    # at -100 the next term of the series is 2e-8 of the ratio
    assert np.allclose(ratios, -far + -1 / far, rtol=1e-7)
    curves = posterior.curvature(far, ratios)
    assert np.allclose(curves, 1 - 1 / far**2, rtol=1e-7)
    near = np.linspace(-30, 8, 77)
    h = 1e-5
    rise = (posterior.ratio(near - h) - posterior.ratio(near + h)) / (2 * h)
    assert np.allclose(posterior.curvature(near, posterior.ratio(near)), rise, rtol=1e-5, atol=1e-9)
    # a density so far out is smaller than the smallest float
    assert (posterior.ratio(np.array([40.0, 1e3, 1e200])) == 0).all()


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("score", [-6.0, -1.3, 0.0, 0.4, 5.0, 12.0])
def test_the_hidden_variable_has_the_mean_of_a_truncated_one(score, sign):
    ends = (-score, np.inf) if sign > 0 else (-np.inf, -score)
    rows = posterior.ProbitData(np.array([[1.0]]), np.array([sign]), np.ones(1))
    assert rows.one == 1
    found = rows.expected(np.array([score, 0.0]))[0]
    assert np.isclose(found, truncnorm(*ends, loc=score).mean(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weight", [0.03, 0.7, 5.0])
@pytest.mark.parametrize("alpha", [None, 0.4, 3.0])
def test_the_mean_of_one_over_tau(alpha, weight):
    """(5), by an integral over the logarithm of tau."""

    def density(u):
        prior = 1.0 if alpha is None else np.exp(u - alpha**2 * np.exp(u) / 2)
        return prior * norm.pdf(weight, scale=np.exp(u / 2))

    ends = -60, 60
    points = [2 * np.log(weight)]
    above = quad(lambda u: np.exp(-u) * density(u), *ends, points=points, limit=500)[0]
    mean = above / quad(density, *ends, points=points, limit=500)[0]
    problem = posterior.Reweighted(None, alpha, np.array([1e-6]))
    size = problem.tangent(np.array([-weight, 7.0]))[0]
    assert np.isclose(1 / size**2, mean, rtol=1e-5)


@given(st.sampled_from([None, 0.3, 2.0]), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_squares_lie_above_the_penalty_and_touch(alpha, size, other):
    problem = posterior.Reweighted(None, alpha, np.array([1e-6]))

    def penalty(t):
        return np.log(t / 1e-6) if alpha is None else alpha * t

    column = problem.tangent(np.array([size, 0.0]))[0]
    above = penalty(size) + (other**2 - size**2) / (2 * column**2)
    assert above >= penalty(other) - 1e-9 * (1 + abs(above))
    for t in (size, other):
        assert np.isclose(problem.penalty(np.array([t])), penalty(t), rtol=1e-12)
    slope = (penalty(size * (1 + 1e-6)) - penalty(size * (1 - 1e-6))) / (2e-6 * size)
    assert np.isclose(slope, size / column**2, rtol=1e-3)


# ---------------------------------------------------------------- what the steps descend


@pytest.mark.parametrize("solver", ["newton", "em"])
@pytest.mark.parametrize("prior", ["jeffreys", "laplace"])
def test_the_objective_never_rises(prior, solver):
    falls = 0
    for seed in range(40 if solver == "newton" else 20):
        X, y = make_instance(seed) if seed % 4 else separable(seed)
        alpha = PRICES[seed % 5]
        machine = ProbitEM(prior=prior, alpha=alpha, solver=solver)
        problem, points = traced(machine, X, y)
        steps = machine.result_.steps
        assert machine.result_.status in ("converged", solver == "em" and "max_iter")
        Z, signs = (X - X.mean(axis=0)) / units(X, y), np.where(y == y.max(), 1, -1)
        Z = Z[:, X.std(axis=0) > 0]
        Z = Z - (Z[signs < 0].mean(axis=0) + Z[signs > 0].mean(axis=0)) / 2
        floor = problem.floors
        if prior == "jeffreys":
            spread = abs(points[0][0][:-1]) * problem.data.Z.std(axis=0)
            assert np.allclose(floor * problem.data.Z.std(axis=0), 1e-6 * spread.max())
        for (x, found), step in zip(points, steps, strict=True):
            w = x[:-1]
            loss = -norm.logcdf(signs * (Z @ w + problem.data.one * x[-1])).sum()
            if prior == "laplace":
                own = loss + alpha * abs(w).sum()
            else:
                own = loss + (np.log(np.maximum(abs(w), floor)) - np.log(floor)).sum()
                assert (abs(w) > floor)[w != 0].all()
            assert np.isclose(found, own, rtol=1e-9, atol=1e-9)
            assert step.objective == found and step.n_selected == np.count_nonzero(w)
        for (x, before), (new, after) in itertools.pairwise(points):
            assert after <= before * (1 + 1e-9) + 1e-12
            falls += after < before * (1 - 1e-6)
            if prior == "jeffreys":  # dropped weights stay dropped
                assert not new[x == 0].any()
        assert np.isclose(machine.objective_, found, rtol=1e-5)
        assert machine.n_iter_ == len(steps) - 1
    assert falls > 50


@pytest.mark.parametrize("alpha", [None, 0.2, 3.0])
def test_the_published_steps_are_the_literal_statement(alpha):
    """Step by step, where no margin is so large that (4) is 0 / 0."""
    compared = 0
    prior = "jeffreys" if alpha is None else "laplace"
    for seed in range(30):
        X, y = make_instance(seed)
        model = ProbitEM(prior=prior, alpha=alpha or 1.0, solver="em", max_iter=12)
        problem, points = traced(model, X, y)
        gamma = None if alpha is None else alpha**2
        H = np.column_stack([problem.data.Z, np.full(len(problem.data.Z), problem.data.one)])
        H = np.repeat(H, problem.data.sample_weight.astype(int), axis=0)
        signs = np.repeat(problem.data.signs, problem.data.sample_weight.astype(int))
        known = points[0][0]
        for x, _ in points[1:]:
            if (known[:-1] == 0).any() or abs(H @ known).max() > 5:
                break
            known = probit_em(H, signs, known, 1, gamma, free=[-1])[0]
            floored = np.append(
                np.where(abs(known[:-1]) > problem.floors, known[:-1], 0), known[-1]
            )
            if alpha is not None and (floored[:-1] == 0).any():
                break  # which the published steps do not leave
            assert np.allclose(x, floored, rtol=1e-8, atol=1e-8 * abs(known).max())
            known = np.where(floored != 0, known, 0)
            compared += 1
    assert compared > 50


def test_newton_begins_as_published():
    X, y = load("sonar", return_X_y=True)
    _, published = traced(ProbitEM(solver="em"), X, y)
    _, mixed = traced(ProbitEM(), X, y)
    n = em_probit.PUBLISHED + 1
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(published[:n], mixed[:n], strict=True))
    assert not np.allclose(published[n][0], mixed[n][0], rtol=1e-3)
    assert len(mixed) < len(published) / 3


def test_a_step_of_newton_minimises_what_lies_above():
    """Without weights or with, in data or in columns."""
    for seed in range(12):
        X, y = make_instance(seed) if seed % 3 else make_wide(20, 40, seed=seed)
        problem, points = traced(ProbitEM(), X, y)
        x = points[0][0]
        data, sizes = problem.data, abs(x[:-1])
        data.sample_weight = np.random.default_rng(seed).uniform(0.5, 3, len(data.signs))
        new = data.minimize_ridge(sizes, x)
        slopes = data.score_slopes(new)
        assert abs(slopes.sum()) <= 1e-5 * data.sample_weight.sum()
        assert np.allclose(slopes @ data.Z * sizes, new[:-1] / sizes, atol=1e-4)


# ---------------------------------------------------------------- where they end


def assert_optimal(machine, X, y, tol=1e-5):
    """The conditions of the optimum of a convex problem, with ``alpha |w|_1``."""
    w, (by_weight, by_offset) = in_units(machine), slopes(machine, X, y)
    live = w != 0
    alpha = machine.alpha
    first = np.array([not (X[:, :j].T == X[:, j]).all(axis=1).any() for j in range(X.shape[1])])
    assert not live[X.std(axis=0) == 0].any() and not live[~first].any()
    assert (abs(by_weight) <= alpha * (1 + tol)).all()
    assert np.allclose(by_weight[live], alpha * np.sign(w[live]), rtol=tol)
    assert abs(by_offset) <= tol * max(alpha, 1e-3 * len(y))
    signs = np.where(y == machine.classes_[1], 1, -1)
    loss = -norm.logcdf(signs * machine.decision_function(X)).sum()
    assert np.isclose(machine.objective_, loss + alpha * abs(w).sum(), rtol=1e-9)


def test_laplace_meets_the_conditions_of_the_optimum():
    sizes = []
    for seed in range(110):  # of the last the classes are separated
        X, y = make_instance(seed) if seed < 100 else separable(seed)
        alphas = PRICES[seed % 5] * np.array([1, 10])
        for alpha, scale in itertools.product(alphas, (True, False)):
            machine = quiet(ProbitEM(prior="laplace", alpha=alpha, scale=scale), X, y)
            assert_optimal(machine, X, y)
            assert machine.result_.violation <= 1e-6
            sizes.append(machine.n_selected_)
    assert min(sizes) == 0 and max(sizes) >= 8


@pytest.mark.parametrize("name", SETS)
def test_laplace_is_optimal_on_real_data(name):
    X, y = load(name, return_X_y=True)
    for alpha in (0.01, 1, 10):
        assert_optimal(quiet(ProbitEM(prior="laplace", alpha=alpha), X, y), X, y, tol=1e-4)


def test_both_solvers_find_the_optimum_of_laplace():
    for seed in range(12):
        X, y = make_instance(seed)
        alpha = (0.5, 1, 3, 10)[seed % 4]
        model = ProbitEM(prior="laplace", alpha=alpha, max_iter=10**5, tol=1e-8)
        newton = quiet(clone(model), X, y)
        published = quiet(clone(model).set_params(solver="em"), X, y)
        assert np.isclose(newton.objective_, published.objective_, rtol=1e-6)
        assert newton.objective_ <= published.objective_ * (1 + 1e-9)
        largest = abs(in_units(newton)).max()
        assert np.allclose(in_units(newton), in_units(published), atol=1e-3 * largest)
        assert newton.n_iter_ <= 20


def test_a_weight_may_pass_zero_to_the_other_sign():
    """Where its floor would hold it, though the optimum needs it."""
    X, y = make_instance(0)
    newton = ProbitEM(prior="laplace", alpha=0.05).fit(X, y)
    published = ProbitEM(prior="laplace", alpha=0.05, solver="em", max_iter=10**4)
    points = traced(published, X, y)[1]
    assert (points[0][0][:-1] * points[-1][0][:-1] < 0).any()
    assert np.array_equal(newton.support_, published.support_)
    assert np.isclose(newton.objective_, published.objective_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "em"])
def test_what_jeffreys_leaves_is_a_local_optimum(solver):
    """Each weight times its slope is 1, and on the support the curvature is positive."""
    kept = 0
    for seed in range(60 if solver == "newton" else 12):
        X, y = make_instance(seed) if seed % 3 else separable(seed)
        # units matter to the start alone: the conditions are the same
        model = ProbitEM(solver=solver, tol=1e-8, max_iter=10000, scale=seed % 2 == 0)
        machine = quiet(model, X, y)
        assert machine.result_.status == "converged" and abs(in_units(machine)).max() < 20
        live = machine.support_
        w, (by_weight, by_offset) = in_units(machine), slopes(machine, X, y)
        assert np.allclose(w[live] * by_weight[live], 1, atol=1e-4)
        assert abs(by_offset) <= 1e-4
        assert machine.result_.violation <= 1e-4
        signs = np.where(y == y.max(), 1, -1)
        margins = signs * machine.decision_function(X)
        ratios = ratio_of(margins)
        A = np.column_stack([((X - X.mean(axis=0)) / machine.scale_)[:, live], np.ones(len(y))])
        curve = (A * (ratios * (ratios + margins))[:, None]).T @ A
        curve -= np.diag(np.append(1 / w[live] ** 2, 0))
        assert np.linalg.eigvalsh(curve)[0] >= -1e-6 * np.trace(abs(curve))
        assert live.sum() <= 0.295 * len(y)
        assert np.isclose((margins * ratios).sum(), live.sum(), rtol=1e-4, atol=1e-3)
        kept += live.sum()
    assert kept > 20


@pytest.mark.parametrize("solver", ["newton", "em"])
def test_a_feature_alone_survives_at_two_standard_errors(solver):
    """The square of the estimate over its error has to be 4, as far as curves are parabolas."""
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for _ in range(60):
        x, offset = rng.normal(size=(2000, 1)), rng.normal()
        y = (x[:, 0] * rng.uniform(0, 0.15) + offset + rng.normal(size=2000) > 0).astype(int)
        signs = 2 * y - 1
        H = np.column_stack([x[:, 0] / units(x, y), np.ones(2000)])
        v = minimize(lambda v, H=H, s=signs: -norm.logcdf(s * (H @ v)).sum(), np.zeros(2)).x
        margins = signs * (H @ v)
        ratios = ratio_of(margins)
        error = np.sqrt(np.linalg.inv((H * (ratios * (ratios + margins))[:, None]).T @ H)[0, 0])
        z = abs(v[0]) / error
        if abs(z - 2) >= 0.05:
            machine = quiet(ProbitEM(solver=solver, max_iter=20000), x, y)
            assert machine.support_[0] == (z > 2)
            seen[bool(z > 2)] += 1
    assert min(seen.values()) > 10


def test_more_features_than_rows():
    sizes = []
    for seed in range(6):
        X, y = make_wide(62, 2000, seed=seed)
        machine = ProbitEM().fit(X, y)
        assert machine.result_.status == "converged"
        w, (by_weight, _) = in_units(machine), slopes(machine, X, y)
        assert np.allclose((w * by_weight)[machine.support_], 1, atol=1e-3)
        sizes.append(machine.n_selected_)
        machine = ProbitEM(prior="laplace", alpha=5).fit(X, y)
        assert_optimal(machine, X, y)
        assert 5 <= machine.n_selected_ < 62
    assert min(sizes) >= 1 and max(sizes) <= 18


# ---------------------------------------------------------------- refit


@pytest.mark.parametrize("prior", ["jeffreys", "laplace"])
def test_the_refit_is_the_machine_of_the_support_with_squares(prior):
    for seed in range(15):
        X, y = make_instance(seed) if seed % 3 else separable(seed)
        model = ProbitEM(prior=prior, alpha=2)
        machine, refitted = quiet(clone(model), X, y), quiet(model.set_params(refit=True), X, y)
        assert np.array_equal(machine.support_, refitted.support_)
        assert machine.objective_ == refitted.objective_
        assert machine.result_.violation == refitted.result_.violation
        live = machine.support_
        by_weight, by_offset = slopes(refitted, X, y)
        assert np.allclose(by_weight[live], in_units(refitted)[live], atol=1e-4)
        assert abs(by_offset) <= 1e-4
        if live.any():
            assert not np.array_equal(machine.coef_, refitted.coef_)


# ---------------------------------------------------------------- probabilities


def test_probabilities_are_those_of_the_model():
    X, y = load("wdbc", return_X_y=True)
    for model in (ProbitEM(), ProbitEM(kernel="rbf"), ProbitEM(refit=True)):
        machine = model.fit(X, np.where(y == 1, "b", "a"))
        scores, found = machine.decision_function(X), machine.predict_proba(X)
        assert found.shape == (len(X), 2)
        assert np.allclose(found[:, 1], norm.cdf(scores), rtol=1e-12)
        assert np.allclose(found.sum(axis=1), 1, rtol=1e-12)
        assert np.array_equal(machine.predict(X), machine.classes_[found.argmax(axis=1)])
        logs = machine.predict_log_proba(X)
        assert np.allclose(logs[:, 0], norm.logcdf(-scores), rtol=1e-12)


def test_tails_are_finite_and_ordered():
    machine = ProbitEM().fit(*load("wdbc", return_X_y=True))
    machine.coef_ = np.eye(1, 30)
    machine.intercept_ = np.zeros(1)
    scores = np.concatenate([[-1e6], np.linspace(-40, 40, 161), [1e6]])
    X = np.eye(1, 30) * scores[:, None]
    with np.errstate(all="raise", under="ignore"):
        found, logs = machine.predict_proba(X), machine.predict_log_proba(X)
    for values in (found, logs):
        assert np.isfinite(values).all()
        assert (np.diff(values[:, 1]) >= 0).all() and (np.diff(values[:, 0]) <= 0).all()
    assert (np.diff(logs[:100, 1]) > 0).all()
    small = scores == -37
    assert np.isclose(found[small, 1], ndtr(-37.0), rtol=1e-12) and found[small, 1] > 0
    assert np.isclose(logs[scores == -40, 1], -804.608442, rtol=1e-6)
    assert found.min() >= 0 and found.max() <= 1 and logs.max() <= 0


# ---------------------------------------------------------------- points


def moons():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 120)
    y = np.arange(120) % 2
    X = np.column_stack([np.cos(angle) + y, np.where(y, -1, 1) * np.sin(angle) + 0.4 * y])
    return X + 0.25 * rng.normal(size=X.shape), y


@pytest.mark.parametrize(
    "options", [{"solver": "newton"}, {"solver": "em"}, {"alpha": 0.1}, {"alpha": 5.0}], ids=str
)
def test_a_machine_of_points_is_that_of_the_columns_of_the_kernel(options):
    X, y = moons()
    prior = "laplace" if "alpha" in options else "jeffreys"
    model = ProbitEM(prior=prior, tol=1e-8, max_iter=20000).set_params(**options)
    machine = clone(model).set_params(kernel="rbf", gamma=1.5).fit(X, y)
    K = rbf_kernel(X / units(X, y), gamma=1.5)
    known = model.set_params(scale=False).fit(K, y)
    assert 1 <= machine.n_selected_ <= 40 and machine.score(X, y) > 0.85
    assert np.array_equal(machine.support_, np.flatnonzero(known.support_))
    assert np.allclose(machine.dual_coef_, known.coef_[:, machine.support_], rtol=1e-4)
    assert np.allclose(machine.decision_function(X), known.decision_function(K), atol=1e-5)
    assert np.isclose(machine.objective_, known.objective_, rtol=1e-9)


def test_a_machine_of_points_is_no_selector_of_features():
    X, y = moons()
    machine, features = ProbitEM(kernel="rbf").fit(X, y), ProbitEM().fit(X, y)
    assert machine.support_.dtype.kind == "i" and len(machine.support_) == machine.n_selected_
    names = "transform fit_transform inverse_transform get_support get_feature_names_out summary"
    for name in [*names.split(), "set_output", "coef_"]:
        assert hasattr(features, name) and not hasattr(machine, name), name
    assert machine.__sklearn_tags__().transformer_tags is None
    assert isinstance(features, SelectorMixin) and features.support_.dtype == bool
    again = machine.set_params(kernel=None).fit(X, y)
    assert np.array_equal(again.coef_, features.coef_)
    for name in ("dual_coef_", "support_vectors_", "gamma_"):
        assert not hasattr(again, name)


def test_equal_rows_are_one_point():
    machine = quiet(ProbitEM(kernel="rbf"), *load("titanic", return_X_y=True))
    points = np.unique(machine.support_vectors_, axis=0)
    assert 1 <= machine.n_selected_ <= 14 and len(points) == machine.n_selected_


def test_no_points_are_a_machine_too():
    X, _ = moons()
    with pytest.warns(SelectionWarning, match="no points were selected: alpha=1000 is too large"):
        machine = ProbitEM(kernel="rbf", prior="laplace", alpha=1000).fit(X, X[:, 0] > 1)
    assert machine.n_selected_ == 0 and machine.support_vectors_.shape == (0, 2)
    assert np.allclose(machine.predict_proba(X[:3])[:, 1], np.mean(X[:, 0] > 1))


# ---------------------------------------------------------------- invariances


@pytest.mark.parametrize(
    "model",
    [ProbitEM(), ProbitEM(prior="laplace", alpha=0.7), ProbitEM(solver="em", max_iter=200)],
    ids=["jeffreys", "laplace", "em"],
)
def test_of_equal_columns_the_first_may_be_selected(model):
    X, y = load("wdbc", return_X_y=True)
    machine = quiet(clone(model), X, y)
    more = quiet(clone(model), np.hstack([X, X[:, ::-1]]), y)
    assert np.allclose(more.coef_[:, :30], machine.coef_, rtol=1e-6, atol=1e-9)
    assert np.array_equal(more.support_, np.append(machine.support_, np.zeros(30, bool)))


@pytest.mark.parametrize("prior", ["jeffreys", "laplace"])
def test_huge_and_tiny_units_without_scaling(prior):
    X, y = load("wdbc", return_X_y=True)
    for factor in (1e-8, 1e8):
        machine = quiet(ProbitEM(prior=prior, scale=False, tol=1e-9, max_iter=5000), X * factor, y)
        assert np.isfinite(machine.coef_).all() and machine.result_.status == "converged"
        assert machine.result_.violation <= 1e-3
        scores = machine.decision_function(X * factor)
        assert np.isfinite(scores).all()


@given(st.integers(0, 10**6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_degenerate_data_too(seed):
    """Few values, equal rows and columns, ties of all kinds, more features than rows."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = rng.integers(2, 20), rng.integers(1, 12)
    X = rng.integers(-1, 2, (n_rows, n_features)).astype(float)
    X = np.hstack([X, X[:, : n_features // 2], -X[:, : n_features // 3]])
    y = rng.permutation(np.append([0, 1], rng.integers(0, 2, n_rows - 2)))
    machine = ProbitEM(
        prior=["jeffreys", "laplace"][rng.integers(2)],
        alpha=float(10 ** rng.uniform(-3, 1)),
        solver=["newton", "newton", "em"][rng.integers(3)],
        scale=bool(rng.integers(2)),
        kernel=[None, None, "rbf"][rng.integers(3)],
        max_iter=500,
    )
    quiet(machine, X, y)
    assert machine.result_.status in ("converged", machine.solver == "em" and "max_iter")
    values = [step.objective for step in machine.result_.steps]
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:]) + 1e-12).all()
    assert np.isfinite(machine.predict_proba(X)).all()
    # a start is no worse than what follows, and nothing beats what all rows have in common
    share = y.mean()
    nothing = -len(y) * (share * np.log(share) + (1 - share) * np.log(1 - share))
    if machine.prior == "laplace":
        assert machine.objective_ <= nothing * (1 + 1e-6)
        if machine.solver == "newton":
            assert machine.result_.violation <= 1e-6
    if machine.prior == "laplace" and machine.kernel is None and machine.solver == "newton":
        assert_optimal(machine, X, y)


# ---------------------------------------------------------------- what is refused, and said


def test_a_price_that_is_too_large_is_named():
    for seed in range(10):
        X, y = make_instance(seed)
        with pytest.warns(SelectionWarning, match="no features were selected: alpha=") as caught:
            machine = ProbitEM(prior="laplace", alpha=1e4).fit(X, y)
        assert len(caught) == 1 and caught[0].filename == __file__
        assert not machine.support_.any()
        assert np.allclose(machine.predict_proba(X[:1])[0, 1], np.mean(y == y.max()))
        first = float(re.search("below (.*)", str(caught[0].message))[1])
        assert quiet(ProbitEM(prior="laplace", alpha=first * 0.999), X, y).n_selected_ >= 1
        assert quiet(ProbitEM(prior="laplace", alpha=first * 1.001), X, y).n_selected_ == 0


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_collapse_is_said(kernel):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 5)), np.arange(12) % 2
    what = "features" if kernel is None else "points"
    with pytest.warns(SelectionWarning, match=f'no {what} were selected.*prior="lap') as caught:
        machine = ProbitEM(kernel=kernel).fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert machine.n_selected_ == 0 and np.allclose(machine.predict_proba(X), 0.5)
    assert np.isclose(machine.objective_, 12 * np.log(2))


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("prior", ["laplace", "jeffreys"])
def test_rows_of_both_labels_ask_for_no_other_prior(prior, kernel):
    X = np.random.default_rng(0).normal(size=(30, 3))
    X, y = np.vstack([X, X]), np.repeat([0, 1], 30)
    with pytest.warns(SelectionWarning, match="selected: no weights, of any prior, make") as seen:
        machine = ProbitEM(prior=prior, kernel=kernel).fit(X, y)
    assert machine.n_selected_ == 0 and len(seen) == 1
    assert "alpha" not in str(seen[0].message)


def test_few_linear_systems_are_solved():
    X, y = load("sonar", return_X_y=True)
    assert ProbitEM().fit(X, y).result_.counts["linear system"] <= 200
    for alpha in (0.1, 1, 10):
        machine = ProbitEM(prior="laplace", alpha=alpha).fit(X, y)
        assert machine.result_.counts["linear system"] <= 150


def test_summary_names_the_objective_and_the_price():
    X, y = load("wdbc", return_X_y=True)
    machine = ProbitEM(prior="laplace", alpha=2.5).fit(X, y)
    line = machine.summary().splitlines()[1]
    assert "2.5 |w|_1" in line and f"{machine.objective_:.6g}" in line
    assert "sum log (|w| / floor)" in ProbitEM().fit(X, y).summary()
