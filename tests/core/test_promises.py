"""Bounds of accuracy hold exactly on the rows, and objectives are what the rows show."""

import ast
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from instances import draw
from sklearn.base import clone

from fsnotes import (
    AROM,
    DSO,
    FSMEMPM,
    FSV,
    FTSVM,
    L0MPM,
    L1MPM,
    L1SVM,
    MEMPM,
    MPM,
    RFS,
    SMPM,
    ClassMoments,
    GreedyMPM,
    KernelL0MPM,
    KernelMPM,
    L1TwinSVM,
    Log,
    ProbitEM,
    SVMRanking,
    TwinSVM,
    ZeroNormSVM,
    load,
)
from fsnotes.core import estimator, promises
from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.moment_classifier import MomentProblem
from fsnotes.core.promises import certain_accuracies, keep_the_worse, score_rounding
from fsnotes.core.samples import Samples
from fsnotes.errors import (
    EqualMeansError,
    PromiseWarning,
    SubproblemError,
    TrivialBoundWarning,
)

MODELS = [
    MPM(),
    MPM(ridge=1e-9),
    L1MPM(retain=0.999),
    L1MPM(retain=0.9, normalization="gap", prune=True),
    L1MPM(retain=0.99, refit=False),
    L0MPM(retain=0.99),
    L0MPM(prune=False, refit=False),
    SMPM(lam=0.01),
    SMPM(refit=False),
    MEMPM(),
    MEMPM(theta=0.3),
    FSMEMPM(criterion="bound", grid=3),
    FSMEMPM(bounds=(0.2, 0.3), refit=False),
    GreedyMPM(retain=0.999),
    GreedyMPM(direction="backward"),
    KernelMPM(kernel="linear", ridge=0),
    KernelMPM(gamma=1.0, ridge=1e-12),
    KernelL0MPM(kernel="linear", ridge=1e-9, retain=0.9),
]
FITS = 20_000
BATCHES = 8


def draw_tight(rng):
    """Rows along which Cantelli's inequality is an equality, if the boundary is where it should be.

    In the direction that separates, a class takes two values, one of them at the boundary. The
    columns that make this direction nearly depend on each other, down to a part of 1e-9.
    """
    wrong = int(rng.integers(1, 4))
    right = int(rng.integers(wrong + 1, 9))
    values = np.tile([0.0] * wrong + [1.0] * right, int(rng.integers(1, 4)))
    n_features = int(rng.integers(1, 4))
    shared = rng.standard_normal((len(values), n_features - 1))
    apart = 10.0 ** rng.uniform(-9, 0) if n_features > 1 else 1.0
    first = shared[:, 0] if n_features > 1 else 0.0
    parts = [np.column_stack([shared, first + sign * apart * values]) for sign in (1, -1)]
    X = (np.vstack(parts) + rng.choice([0, 1, 1e3, 1e6])) * 10.0 ** rng.uniform(-3, 3, n_features)
    order = rng.permutation(len(X))
    y = np.repeat([1, -1], len(values))[order]
    weights = [
        None,
        np.full(len(X), 0.1),
        rng.integers(0, 4, len(X)).astype(float),
        rng.uniform(0, 1, len(X)),
        10.0 ** rng.uniform(-6, 6, len(X)),
    ]
    return X[order], y, weights[rng.integers(len(weights))]


def shares(machine, right, y, weights):
    """The part of each class that is right, by count or by weight."""
    if weights is None:
        return np.array([right[y == label].mean() for label in machine.classes_])
    return np.array(
        [np.average(right[y == label], weights=weights[y == label]) for label in machine.classes_]
    )


@pytest.mark.parametrize(
    "batch", [0, *(pytest.param(k, marks=pytest.mark.further) for k in range(1, BATCHES))]
)
def test_accuracy_is_never_below_the_bound_not_even_by_rounding(batch):
    rng = np.random.default_rng([7, batch])
    fits = refused = exact = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while fits + refused < FITS // BATCHES:
            X, y, weights = draw_tight(rng)
            # kernel machines, the last three, take as long as all others
            models = MODELS if rng.random() < 0.2 else MODELS[:-3]
            model = clone(models[rng.integers(len(models))])
            try:
                machine = model.fit(X, y, weights)
            except (EqualMeansError, SubproblemError):
                refused += 1
                continue
            except ValueError as error:
                assert "class" in str(error) or "retain=1" in str(error)
                continue
            fits += 1
            bound = machine.worst_case_accuracy_
            found = shares(machine, machine.predict(X) == y, y, weights)
            assert (found >= bound).all(), (model, found - bound)
            if fits % 20 == 0:  # a row alone is added up in another order than among others
                alone = np.concatenate([machine.predict(row[None]) for row in X])
                assert (shares(machine, alone == y, y, weights) >= bound).all()
            exact += ((found - bound).min() < 1e-9) & (bound.min() > 0)
    assert refused < fits / 5 and exact > fits / 20  # otherwise nothing tight has been tried


def test_the_bound_is_that_of_the_rows_where_moments_have_lost_digits():
    rng = np.random.default_rng(169)
    values = np.tile([0.0, 1, 1], 4)
    shared = np.tile(rng.standard_normal(12), 2)
    X = 1e7 + np.column_stack([shared, shared + 1e-6 * np.append(values, -values)])
    y = np.repeat([1, -1], 12)
    with pytest.warns(PromiseWarning, match="moments promise class .* a bound of .*which is kept"):
        machine = MPM().fit(X, y)
    assert (shares(machine, machine.predict(X) == y, y, None) >= machine.worst_case_accuracy_).all()
    assert machine.worst_case_accuracy_.min() < machine.delta_ - 1e-6


@pytest.mark.filterwarnings("ignore")  # that a bound is 1, and digits are lost
@pytest.mark.parametrize("model", [MPM(), MEMPM()])
def test_bounds_of_moments_allow_for_what_rounding_hides(model):
    for seed in range(1_003_000, 1_003_300):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(12, 60))
        y = np.zeros(n_rows, dtype=int)
        offset = float(rng.choice([0, 2000, 1e5, 1e6]))
        y[: int(rng.choice([2, 3, n_rows // 2]))] = 1
        X = rng.standard_normal((n_rows, 3))
        X[:, 1] = X[:, 0] + 10 ** rng.uniform(-5, -3) * rng.standard_normal(n_rows)
        X += offset
        machine = clone(model).fit_moments(ClassMoments.from_data(X, y))
        right = machine.predict(X) == y
        assert (shares(machine, right, y, None) >= machine.worst_case_accuracy_).all(), seed


@pytest.mark.parametrize("size", [1e-6, 1e-4, 3e-3])
def test_what_is_not_solved_names_features_that_depend_on_each_other(size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:, 4] = X[:, 0] - X[:, 2] + size * rng.normal(size=60)
    problem = MomentProblem.from_moments(
        ClassMoments.from_data(X, np.arange(60) % 2), ridge=1e-8, scale=True
    )
    said = str(problem.explain(SubproblemError("no luck"), list("abcde")))
    assert re.fullmatch(
        r"no luck\. Features '[ace]', '[ace]', '[ace]' nearly.* drop '[ace]'.*", said
    )


@pytest.mark.filterwarnings("ignore")  # of digits that rounding takes, and steps not taken
@pytest.mark.parametrize("size", [1e-8, 1e-7, 1e-5, 1e-4, 1e-3])
def test_near_copies_are_solved_where_features_are_more_than_samples(size):
    y = np.arange(10) % 2
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, 7))
        X[:, 0] += 2 * y
        X = np.column_stack([X, X + size * rng.normal(size=(10, 7))])
        for model in (L1MPM(), L0MPM()):
            machine = model.fit(X, y)
            right = machine.predict(X) == y
            assert (shares(machine, right, y, None) >= machine.worst_case_accuracy_).all()
        assert (L1MPM(scale=False).path(X, y, [0.5, 0.9]).bounds > 0).all()


def test_what_is_not_solved_in_units_far_apart_says_so():
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 1e-9, 1]
    moments = ClassMoments.from_data(X, np.arange(30) % 2)
    for scale, is_said in ((False, True), (True, False)):
        problem = MomentProblem.from_moments(moments, ridge=0.0, scale=scale)
        assert ("pass scale=True" in str(problem.explain("no luck"))) == is_said


@pytest.mark.parametrize(
    ("n_features", "ridge", "may"), [(40, 0.0, True), (40, 1e-3, False), (2001, 0.0, False)]
)
def test_no_matrix_of_very_many_features_is_formed_where_a_wide_table_is_not_solved(
    n_features, ridge, may
):
    X = np.random.default_rng(0).normal(size=(8, n_features))
    moments = ClassMoments.from_data(X, np.arange(8) % 2)
    problem = MomentProblem.from_moments(moments, ridge=ridge, scale=True)
    assert problem.pair.is_wide and problem.may_be_in_factors() == may
    assert ("pass a ridge" in str(problem.explain("no luck"))) == (ridge == 0)


def test_what_is_not_solved_names_near_copies_where_features_are_more_than_samples():
    X = np.random.default_rng(0).normal(size=(6, 9))
    X[:, 7] = -X[:, 2] + 1e-4 * X[:, 0]
    moments = ClassMoments.from_data(X, np.arange(6) % 2)
    said = str(MomentProblem.from_moments(moments, ridge=0.0, scale=True).explain("no luck"))
    assert "features are more than samples: pass a ridge" in said
    assert "Features 2, 7 nearly depend on each other: drop 2, or another" in said


@pytest.mark.parametrize(("size", "is_lost"), [(0, False), (3e-7, True), (1e-3, False)])
def test_moments_that_have_lost_digits_say_so(size, is_lost):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    X = np.column_stack([X, X[:, 1] + size * rng.normal(size=60)])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        MPM().fit_moments(ClassMoments.from_data(X, y))
    assert [w.category for w in said] == [PromiseWarning] * is_lost
    assert all("moments have lost digits" in str(w.message) for w in said)


def test_nothing_is_proved_where_a_difference_is_taken_for_rounding():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    shared = rng.normal(size=40) + y
    apart = rng.normal(size=40)
    for size, is_proved in ((1e-8, False), (1e-5, True)):
        X = np.column_stack([shared, shared + size * (apart + y)])
        result = L1MPM(retain=0.5, refit=False).fit(X, y).result_
        assert (result.duality_gap is not None) == is_proved


def test_a_bound_that_rounding_takes_is_missed():
    X = 1e9 + np.array([[1.0], [1], [0], [-1], [-1]])
    with (
        pytest.warns(TrivialBoundWarning),
        pytest.warns(PromiseWarning, match="rows show 0, which"),
    ):
        machine = MPM().fit(X, [1, 1, 1, 0, 0])
    assert machine.worst_case_accuracy_[0] == 0 < machine.worst_case_accuracy_[1]


def test_the_path_promises_what_its_rows_show():
    X, y = draw(3, 30, 6)
    path = L1MPM().path(X, y, [0.5, 0.9, 1.0])
    for coef, intercept, bound in zip(path.coefs, path.intercepts, path.bounds, strict=True):
        right = (X @ coef + intercept > 0) == (y == 1)
        assert min(right[y == 0].mean(), right[y == 1].mean()) >= bound > 0


def test_scores_far_away_from_their_terms_move_by_their_rounding():
    """With terms of 1e9, scores are known to about 1e-6, and a bound must not use more of them."""
    terms = np.array([[1e9, 1e9 + 1], [1e9, 1e9 + 2], [1e9 + 2, 1e9], [1e9 + 1, 1e9]])
    weights = np.array([-1.0, 1])
    rounding = score_rounding(terms, weights, 0.0)
    assert (rounding > 1e-6).all() and (rounding < 1e-5).all()
    samples = Samples(terms, np.array([1, 1, 0, 0]), np.ones(4), np.arange(4), 4)
    scores = terms @ weights
    bounds, unmoved = certain_accuracies(samples, scores, rounding)
    assert np.allclose(unmoved, 0.9, rtol=1e-12) and (bounds < unmoved).all()
    assert np.allclose(bounds, unmoved, atol=1e-5)
    none, _ = certain_accuracies(samples, scores, np.full(4, 10.0))
    assert (none == 0).all()


def test_a_ridge_lowers_the_bound():
    samples = Samples(np.zeros((4, 1)), np.array([0, 0, 1, 1]), np.ones(4), np.arange(4), 4)
    scores = np.array([-1.0, -3, 2, 4])
    plain, _ = certain_accuracies(samples, scores, np.zeros(4))
    ridged, _ = certain_accuracies(samples, scores, np.zeros(4), ridge=1.0)
    assert np.allclose(plain, [4 / 5, 9 / 10]) and np.allclose(ridged, [4 / 6, 9 / 11])


@pytest.mark.parametrize("model", [MPM(), L1MPM(), FSMEMPM()], ids=lambda m: type(m).__name__)
def test_the_summary_says_of_what_the_bound_is(model):
    X, y = load("sonar", return_X_y=True)
    X = X[:, :8]
    line = "accuracy of each class is at least: 0 0."
    assert f"\ntraining {line}" in model.fit(X, y).summary()
    assert f"\ntraining {line}" in model.fit(X, y, np.full(len(y), 2.0)).summary()
    weights = np.random.default_rng(0).uniform(size=len(y))
    assert f"\nweighted training {line}" in model.fit(X, y, weights).summary()
    moments = ClassMoments.from_data(X, y)
    assert "\naccuracy of each class of the moments is" in model.fit_moments(moments).summary()


# ---------------------------------------------------------------- objectives

# every estimator whose objective can be told from planes, with each kind of penalty
OBJECTIVES = [
    ZeroNormSVM(),
    ZeroNormSVM(p=0.5, refit=False, scale=False),
    ProbitEM(),
    ProbitEM(prior="laplace", refit=True),
    DSO(C=1.0),
    DSO(C=0.5, p=0.2, n_features=2, scale=False),
    RFS(),
    RFS(lam=3.0, n_features=2, refit=False, scale=False),
    L1SVM(),
    L1SVM(C=5.0, n_features=2, scale=False),
    FSV(C=0.5),
    FSV(alpha=1.0, n_features=2, refit=False),
    AROM(C=2.0),
    AROM(norm=1, n_features=3, scale=False),
    SVMRanking(),
    SVMRanking(refit=False, scale=False),
    TwinSVM(),
    TwinSVM(c_fit=(0.5, 2.0), c_hinge=3.0, scale=False),
    L1TwinSVM(),
    L1TwinSVM(c_fit=(0.5, 2.0), refit=False, scale=False),
    FTSVM(sigma=0.003, balance=0.3),
    FTSVM(n_features=2, refit=False),
    MPM(ridge=0.1),
    MPM(scale=False),
    SMPM(),
    SMPM(lam=0.02, refit=False, ridge=0.1, scale=False),
    L1MPM(prune=True),
    L1MPM(normalization="gap", scale=False),
    L0MPM(),
    L0MPM(surrogate=Log(eps=0.1), n_features=3),
]
by_name = pytest.mark.parametrize("model", OBJECTIVES, ids=lambda m: repr(m).replace("\n", ""))


def overlapping():
    """Classes that no plane separates, so that all terms of an objective count."""
    X, y = draw(4, 60, 5)
    return X, np.where(np.arange(60) % 7 == 0, 1 - y, y)


def far_draw(seed, model):
    """Small problems of all kinds; if features are scaled, some are very large or very small."""
    rng = np.random.default_rng([seed, 5])
    kinds = ("integer", "repeated", "scaled") if model.scale else ("integer", "repeated")
    options = {kind: bool(rng.integers(2)) for kind in kinds}
    n_classes = int(rng.integers(2, 5)) if model.many_classes else 2
    X, y, weights = draw(seed, n_classes=n_classes, weighted=True, **options)
    if model.scale and rng.integers(2):
        X = np.ldexp(X, rng.choice([-900, 0, 900], X.shape[1]))
    return X, y, weights if rng.integers(2) else None


@by_name
def test_ordinary_objectives_agree_with_the_rows(model, monkeypatch):
    checked = []

    def check(told, definition, planes):
        terms = definition(planes)
        assert abs(terms.sum() - told) <= 1e-9 * abs(terms).sum()
        checked.append(told)
        kept = keep_the_worse(told, definition, planes)
        assert kept is told
        return kept

    monkeypatch.setattr(estimator, "keep_the_worse", check)
    for seed in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", PromiseWarning)
            machine = clone(model).fit(*far_draw(seed, model))
        assert len(checked) == seed + 1 and machine.objective_ is checked[-1]
        assert not {"_solved_", "_unselected_"} & set(vars(machine))


@by_name
@pytest.mark.parametrize("part", [-1e-3, 1e-3])
def test_a_slip_in_the_objective_is_noticed_and_the_worse_kept(model, part, monkeypatch):
    X, y = overlapping()
    honest = clone(model).fit(X, y)
    fit_samples = type(model)._fit_samples

    def slip(machine, samples):
        fit_samples(machine, samples)
        told = machine.objective_ + part * abs(machine.objective_)
        if machine.result_.objective == machine.objective_:
            machine.result_ = replace(machine.result_, objective=told)
        machine.objective_ = told

    monkeypatch.setattr(type(model), "_fit_samples", slip)
    told = honest.objective_ + part * abs(honest.objective_)
    with pytest.warns(PromiseWarning) as caught:
        machine = clone(model).fit(X, y)
    (message,) = [str(w.message) for w in caught if w.category is PromiseWarning]
    shown = f"objective is {told:.10g} by the solver and "
    assert message.startswith(f"the {shown}") and "the larger is kept" in message
    assert machine.objective_ == pytest.approx(max(told, honest.objective_), rel=1e-9)
    assert (machine.coef_ == honest.coef_).all()
    if part < 0 and honest.result_.objective == honest.objective_:
        assert machine.result_.objective == machine.objective_
        if honest.result_.duality_gap is not None:  # its lower bound is lower by a thousandth
            assert machine.result_.duality_gap >= 0.999e-3
    elif part < 0:
        assert machine.result_.objective == honest.result_.objective
        assert machine.result_.duality_gap == honest.result_.duality_gap


@by_name
def test_a_slip_in_the_planes_is_noticed(model, monkeypatch):
    """A weight that the solver takes for larger than it is."""
    X, y = overlapping()
    verify = SparseClassifier._verify_objective

    def slip(machine, samples):
        solved = machine._solved_
        weights = np.array(solved.weights)
        weights[abs(weights) == abs(weights).max()] *= 1.3
        if isinstance(machine, ZeroNormSVM):  # of which the number counts
            weights[:, 0] += 1.0
        machine._solved_ = solved._replace(weights=weights)
        return verify(machine, samples)

    monkeypatch.setattr(SparseClassifier, "_verify_objective", slip)
    with pytest.warns(PromiseWarning, match="by the rows; the larger is kept"):
        clone(model).fit(X, y)


def test_a_larger_objective_than_its_proof_widens_the_gap():
    """The lower bound that a gap proves stays where it was."""
    X, y = overlapping()
    machine = L1SVM().fit(X, y)
    bound = machine.objective_ * (1 - machine.result_.duality_gap)
    samples = machine._check_data(X, y, None)
    machine._fit_samples(samples)
    machine.objective_ *= 0.9
    machine.result_ = replace(machine.result_, objective=machine.objective_)
    machine._solved_ = machine._solved_._replace(weights=machine._solved_.weights * 2)
    with pytest.warns(PromiseWarning):
        machine._verify_objective(samples)
    known = machine.objective_ * (1 - machine.result_.duality_gap)
    assert known == pytest.approx(0.9 * bound)


@pytest.mark.parametrize("scale", [True, False])
def test_hard_margins_are_measured_on_the_rows(scale, monkeypatch):
    X, y = load("wdbc", return_X_y=True)
    X, y = X[:30, :20], y[:30]
    model = DSO(scale=scale)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PromiseWarning)
        clone(model).fit(X, y)
    set_solved = DSO._set_solved

    def slip(machine, features, weights, offsets):
        set_solved(machine, features, 0.99 * weights, 0.99 * offsets)

    monkeypatch.setattr(DSO, "_set_solved", slip)
    with pytest.warns(PromiseWarning) as caught:
        clone(model).fit(X, y)
    messages = [str(warning.message) for warning in caught]
    assert any(m.startswith("a margin is 0.99 by the rows instead of 1: ") for m in messages)


def test_rounding_far_from_the_origin_is_allowed_for():
    """Where means are many deviations, the last digits of scores are noise, and no slip."""
    X, y = overlapping()
    for model in OBJECTIVES:
        if model.scale:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", PromiseWarning)
                clone(model).fit(X + 1e8, y)


def test_a_prior_without_weights_costs_nothing():
    """Rows that weigh next to nothing leave neither weights nor a floor to measure them by."""
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PromiseWarning)
        machine = ProbitEM().fit(X, y, 1e-39)
    assert machine.n_selected_ == 0 and 0 < machine.objective_ < 1e-36


@pytest.mark.parametrize("model", [KernelMPM(gamma=100), KernelL0MPM(gamma=100)])
def test_distances_without_digits_promise_nothing(model):
    """Squares of 1e8 leave a difference of 1 few digits, and a Gaussian magnifies what is lost."""
    X = np.array([[99999999.97, 2.02, 1.69], [100000000.86, 0.7, -1.67]])
    X = np.vstack([X, [[-0.14, -0.19, 0.47], [0.02, 0.07, 0.32]]])
    y = np.array([1, 1, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = clone(model).fit(X, y)
    for rows in (X, X[:1], X[1:2], X[2:3], X[3:]):
        labels = [y[np.flatnonzero((X == row).all(axis=1))[0]] for row in rows]
        right = machine.predict(rows) == labels
        for label in np.unique(labels):
            assert right[np.array(labels) == label].mean() >= machine.worst_case_accuracy_[label]


def test_an_outlier_takes_no_bound_from_the_other_rows():
    X = np.random.default_rng(3).normal(size=(40, 3))
    y = np.arange(40) % 2
    X[:, 0] += y
    X[5, 0] = 1e6
    machine = KernelMPM(scale=False).fit(X, y)
    assert machine.worst_case_accuracy_.min() > machine.delta_ - 1e-3 > 0.7


def test_the_gate_shares_nothing_with_any_solver():
    found = set()
    for node in ast.walk(ast.parse(Path(promises.__file__).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    assert found == {"copy", "typing", "numpy", "fsnotes.errors"}
