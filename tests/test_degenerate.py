"""Designs with nothing to tell apart, and weights that differ much: a fit, or words."""

import itertools
import warnings

import numpy as np
import pytest
from instances import degenerate_designs, draw, hypercube, labellings, weightings
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_contract import SETTINGS, fitted, is_further, knows_moments, takes, where

from fsnotes import (
    AROM,
    DSO,
    FSV,
    L0MPM,
    L1MPM,
    L1SVM,
    RFS,
    ClassMoments,
    GreedyMPM,
    L1TwinSVM,
    ProbitEM,
    SparseKernelSVM,
    SVMRanking,
    ZeroNormSVM,
    exact_support,
    fisher_score,
    frontier,
    mrmr,
    null_delta,
    rank_features,
    relieff,
)
from fsnotes.core.bounds import minimax
from fsnotes.errors import (
    EqualMeansError,
    InfeasibleBoundError,
    NotSeparableError,
    PromiseWarning,
    SelectionWarning,
    SubproblemError,
    TrivialBoundWarning,
)

OURS = (ConvergenceWarning, PromiseWarning, SelectionWarning, TrivialBoundWarning)
REFUSED = (EqualMeansError, InfeasibleBoundError, NotSeparableError, SubproblemError)
DESIGNS = list(degenerate_designs())
STEPS = "AROM DSO FSV FTSVM KernelL0MPM L0MPM ProbitEM RFS RVM SparseKernelSVM ZeroNormSVM".split()


def strictly(call, *arguments):
    """What a call returns where all is an error but warnings of ours; None if it says why not."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for category in OURS:
            warnings.simplefilter("ignore", category)
        try:
            return call(*arguments)
        except REFUSED as error:
            assert "pass" in str(error).lower() or "transform" in str(error)
        except ValueError as error:
            assert "pass" in str(error) or "a covariance needs at least two" in str(error)
    return None


def assert_finite(machine, X):
    scores = [machine.decision_function(X)]
    if hasattr(machine, "predict_proba"):
        scores.append(machine.predict_proba(X))
    names = "objective_ coef_ dual_coef_ intercept_ scale_ delta_ largest_delta_"
    found = [getattr(machine, name) for name in names.split() if hasattr(machine, name)]
    found += [step.objective for step in machine.result_.steps]
    for value in (*scores, *found, *getattr(machine, "worst_case_accuracy_", ())):
        assert np.isfinite(value).all()
    assert machine.result_.status in ("solved", "converged", "max_iter", "stalled")


def fit_and_score(model, X, y, weights):
    machine = clone(model).fit(X, y, weights)
    assert_finite(machine, X)
    if hasattr(machine, "summary"):
        assert machine.summary()
    return machine


@where(SETTINGS)
def test_degenerate_designs_are_fitted_or_refused_in_words(model, capfd):
    fits = 0
    for place, (_, X, y) in enumerate(DESIGNS):
        none, *others = weightings(len(y))
        # every third design with weights, too, of one kind after the other
        for weights in (none, others[place // 3 % 3])[: 1 + (place % 3 == 0)]:
            fits += strictly(fit_and_score, model, X, y, weights) is not None
    assert fits > len(DESIGNS) / 2
    assert capfd.readouterr() == ("", "")


@where({name: model for name, model in SETTINGS.items() if not is_further(name)})
def test_all_labellings_of_a_cube(model):
    fits = 0
    for y in itertools.islice(labellings(8), 0, 127, 3):
        fits += strictly(fit_and_score, model, hypercube(3), y, None) is not None
    assert fits > 20


def test_functions_of_degenerate_designs_give_numbers_or_words(capfd):
    for _, X, y in DESIGNS:
        for scores in (fisher_score, mrmr, relieff, rank_features):
            found = strictly(scores, X, y)
            found = getattr(found, "scores", found)
            assert not np.isnan(found).any() and len(found) == X.shape[1]
        strictly(null_delta, X, y, 3)
        for weights in weightings(len(y)):
            moments = ClassMoments.from_data(X, y, weights)
            certificate = strictly(exact_support, moments)
            curve = strictly(frontier, moments)
            path = strictly(L1MPM().path, X, y, [0.3, 0.9], weights)
            assert certificate is None or certificate.kappa > 0
            for mixture in (0, 0.3, 1):
                if curve is not None:
                    assert np.isfinite(curve.accuracies(mixture)).all()
                    assert np.isfinite(curve.machine(mixture)[0]).all()
            assert path is None or np.isfinite(path.coefs).all()
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- equal means, constant classes


def useless_and_good(seed):
    """A column of equal means, in which one class is constant, and one that tells classes apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [47, 25])
    useless = np.zeros(72)
    useless[:47] = rng.permutation(np.repeat([-2.0, 2, 0], [3, 3, 41]))
    return np.column_stack([useless, y + 0.3 * rng.standard_normal(72)]), y


@where(SETTINGS, lambda model: knows_moments(model) and takes("n_features")(model))
def test_a_column_of_equal_means_is_not_taken_where_one_class_is_constant(model):
    for seed in range(40):
        X, y = useless_and_good(seed)
        machine = strictly(fit_and_score, clone(model).set_params(n_features=1), X, y, None)
        assert machine.support_.tolist() == [False, True]
        assert 0.5 < machine.delta_ < 1


def test_subsets_of_equal_means_have_a_kappa_of_zero():
    X, y = useless_and_good(10)
    problem = GreedyMPM()._moment_problem(ClassMoments.from_data(X, y))
    assert minimax(problem.pair, np.array([0])).kappa == 0
    assert minimax(problem.pair, np.array([0, 1])).kappa > 1
    assert exact_support(problem.moments).support.tolist() == [False, True]
    with pytest.raises(EqualMeansError, match="rounding alone"):
        minimax(problem.pair.subset([0]))


def test_equal_class_means_leave_no_weight():
    X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 0, 0, 1]
    with pytest.warns(SelectionWarning, match="lam=1 is too large to select a feature"):
        machine = RFS().fit(X, y)
    assert machine.result_.status == "converged" and machine.result_.duality_gap <= 1e-6
    assert not machine.coef_.any() and not machine.intercept_.any()
    assert np.isclose(machine.objective_, 4 * 2**0.5)


@pytest.mark.parametrize("lam", 10.0 ** np.array([-100, -12, -3, 3, 100]))
def test_any_lam_is_solved_or_refused_in_words(lam):
    X, y = draw(3, 40, 4)
    if lam < 1e-30:
        with pytest.raises(ValueError, match="^lam=.* is nothing beside .*; pass a lam of 1e-30"):
            RFS(lam=lam).fit(X, y)
        return
    model = RFS(lam=lam, refit=False)
    machine = strictly(fit_and_score, model, X, y, None)
    assert machine.result_.status == "converged" and machine.result_.duality_gap <= 1e-6
    # one unit for the weights of samples and for lam changes nothing
    for unit in (2.0**-100, 2.0**100):
        if lam * unit <= 1e100:
            other = clone(model).set_params(lam=lam * unit)
            other = strictly(fit_and_score, other, X, y, np.full(40, unit))
            assert np.array_equal(other.coef_, machine.coef_)
            assert other.objective_ == unit * machine.objective_


# ---------------------------------------------------------------- no objective rises


def test_a_heavy_sample_is_met_without_a_rise():
    X, y = draw(0, 60, 12)
    for weight in (1e8, 1e10, 1e12):
        weights = np.append(weight, np.ones(59))
        machine = fitted(RFS(), X, y, weights)
        assert machine.result_.status == "converged" and machine.result_.duality_gap <= 1e-6


@where({name: SETTINGS[name] for name in SETTINGS if name.partition("-")[0] in STEPS})
def test_nothing_rises_whatever_samples_weigh(model):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        options = {"integer": seed % 2 > 0, "repeated": seed % 3 > 0}
        X, y = draw(rng, **options) if seed % 4 else DESIGNS[seed][1:]
        weights = 10 ** rng.uniform(-12, 12, len(y))
        if seed % 3 == 0:
            weights[1:] = 1
        if seed % 3 == 1:
            weights[:] = weights[0]
        machine = strictly(fit_and_score, model, X, y, weights)
        if machine is None:
            continue
        for before, after in itertools.pairwise(machine.result_.steps):
            if before.stage == after.stage:
                rise = after.objective - before.objective
                assert rise <= 1e-7 * abs(before.objective)


# steps whose digits heavy samples take: model, options of the data, the weights of samples
HEAVY = [
    (RFS(), {}, "one", dict.fromkeys((14, 23, 27, 37), 1e12)),
    (L0MPM(prune=False, refit=False), {"repeated": True}, "one", dict.fromkeys((14, 33), 10**9.7)),
    (ProbitEM(kernel="rbf", scale=False), {"n_features": 1}, "all", dict.fromkeys((0, 2, 3), 1e9)),
    (DSO(C=1.0), {}, "all", dict.fromkeys((0, 1, 2, 4), 1e30)),
    (DSO(method="alternating", p=0.1), {}, "apart", dict.fromkeys((1, 24, 63, 115), 1e40)),
    (SparseKernelSVM(kernel="poly"), {"integer": True}, "one", dict.fromkeys(range(6), 1e12)),
]


@pytest.mark.parametrize(("model", "options", "which", "sizes"), HEAVY, ids=lambda v: str(v)[:30])
def test_a_step_that_has_lost_its_digits_is_not_taken(model, options, which, sizes):
    fits = []
    for seed, size in sizes.items():
        X, y = draw(seed, **options)
        weights = np.where((np.arange(len(y)) == 0) | (which == "all"), size, 1.0)
        if which == "apart":
            weights = size ** np.random.default_rng(seed).uniform(-1, 1, len(y))
        fits.append(strictly(fit_and_score, model, X, y, weights))
    # these kernel machines are refused in words
    assert any(fit is not None for fit in fits) != isinstance(model, SparseKernelSVM)


def test_a_linear_program_that_is_not_solved_says_what_to_pass():
    X = np.random.default_rng(9).normal(size=(60, 1))
    y = np.append(np.ones(2), np.zeros(58))
    with pytest.raises(SubproblemError, match="not solved; pass a smaller C, .*sample_weight"):
        ZeroNormSVM(p=np.inf, C=9e5).fit(X, y, np.full(60, 5e11))


def test_a_value_next_to_nothing_does_not_overflow():
    X = np.array([[-1.0, -1, 0], [0, -2, 1], [1, 1, 1]])
    y = np.array([2, 0, 0, 1, 1, 2])
    for apart in 10.0 ** -np.arange(6, 12, 0.25):
        for weights in np.random.default_rng(0).uniform(0.2, 1, (3, 6)):
            strictly(fit_and_score, DSO(p=0.5), np.vstack([X, X + apart]), y, weights)


def test_a_point_keeps_the_value_that_it_had():
    X = hypercube(3)
    y = np.array([1, 1, 1, 1, 0, 1, 0, 0])
    model = AROM(C=0.3, n_features=3, refit=False)
    assert strictly(fit_and_score, model, X, y, np.append(1e12, np.ones(7))) is not None


# ---------------------------------------------------------------- without a refit


def hinge(machine, X, y, weights):
    margins = np.where(y == 1, 1, -1) * machine.decision_function(X)
    return weights @ np.maximum(0, 1 - margins)


def joint_rows(machine, X, y, weights):
    """Lengths of the rows of W, the bias last. One of its two columns is minus the other."""
    moments = ClassMoments.from_data(X, y, weights)
    offset = machine.intercept_[0]
    if machine.scale:
        offset += machine.coef_[0] @ moments.means_.mean(axis=0)
    return 2**0.5 * abs(np.append(machine.coef_[0] * machine.scale_, offset))


def of_joint_margins(machine, X, y, weights):
    margins = np.where(y == 1, 1, -1) * machine.decision_function(X)
    loss = 2 * weights @ np.maximum(0, 1 - margins) ** 2
    return (joint_rows(machine, X, y, weights) ** machine.p).sum() + machine.C * loss


def of_row_sums(machine, X, y, weights):
    residuals = abs(machine.decision_function(X) - np.where(y == 1, 1, -1))
    return 2**0.5 * weights @ residuals + machine.lam * joint_rows(machine, X, y, weights).sum()


def of_twin_planes(machine, X, y, weights):
    values = machine.plane_values(X)
    total = abs(machine.coef_ * machine.scale_).sum()
    for k, sign in enumerate((1, -1)):
        total += machine.c_fit * weights[y == k] @ abs(values[y == k, k])
        misses = np.maximum(0, 1 - sign * values[y != k, k])
        total += machine.c_hinge * weights[y != k] @ misses
    return total


def sizes_of(machine):
    return abs(machine.coef_[0] * machine.scale_)


# what `refit=False` returns has the objective that is told, also where nothing is selected
UNREFITTED = [
    *((DSO(p=p, C=C), of_joint_margins) for p in (1, 0.5) for C in (0.003, 0.03, 0.3, 10)),
    (DSO(p=1, C=0.03, scale=False), of_joint_margins),
    *((RFS(lam=lam), of_row_sums) for lam in (0.3, 10, 100)),
    (RFS(lam=3, scale=False), of_row_sums),
    *(
        (ZeroNormSVM(C=C), lambda m, *data: m.n_selected_ + m.C * hinge(m, *data))
        for C in (1e-3, 0.1, 3)
    ),
    *(
        (
            SVMRanking(C=C, n_features=4),
            lambda m, *data: sizes_of(m) @ sizes_of(m) + m.C * hinge(m, *data),
        )
        for C in (1e-3, 1)
    ),
    *(
        (L1SVM(C=C), lambda m, *data: sizes_of(m).sum() + m.C * hinge(m, *data) / data[-1].sum())
        for C in (1e-3, 1, 30)
    ),
    *(
        (FSV(C=C), lambda m, *data: -np.expm1(-m.alpha * sizes_of(m)).sum() + m.C * hinge(m, *data))
        for C in (1e-3, 0.1, 3)
    ),
    (L1MPM(), lambda m, *data: sizes_of(m).sum()),
    (L0MPM(prune=False), lambda m, *data: -np.expm1(-m.alpha * sizes_of(m)).sum()),
    *(
        (
            ProbitEM(prior="laplace", alpha=alpha),
            lambda m, X, y, weights: (
                m.alpha * sizes_of(m).sum() - weights @ m.predict_log_proba(X)[np.arange(len(y)), y]
            ),
        )
        for alpha in (0.1, 3, 100)
    ),
    *((L1TwinSVM(c_fit=c, c_hinge=c), of_twin_planes) for c in (1e-3, 0.1, 3)),
]


@pytest.mark.parametrize(
    ("model", "objective"), UNREFITTED, ids=[str(model) for model, _ in UNREFITTED]
)
@pytest.mark.filterwarnings("ignore")
def test_without_a_refit_the_objective_is_that_of_what_is_returned(model, objective):
    for seed in range(12):
        X, y, weights = draw(seed, 40, 4, weighted=True)
        rare = (np.arange(40) % 4 == 0).astype(int)
        for labels in (y, rare):
            machine = clone(model).set_params(refit=False).fit(X, labels, weights)
            expected = objective(machine, X, labels, weights)
            assert np.isclose(machine.objective_, expected, rtol=1e-6, atol=1e-9)


def test_the_end_of_the_steps_is_returned_where_no_feature_pays():
    X = np.random.default_rng(0).normal(size=(40, 4))
    y = (np.arange(40) < 10).astype(int)
    with pytest.warns(SelectionWarning, match="too small to select a feature"):
        machine = DSO(p=1, C=0.03, refit=False).fit(X, y)
    assert np.isclose(machine.objective_, of_joint_margins(machine, X, y, np.ones(40)), rtol=1e-9)
    with pytest.warns(SelectionWarning):
        refitted = DSO(p=1, C=0.03).fit(X, y)
    assert refitted.intercept_ != machine.intercept_


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("model", [ProbitEM(), ProbitEM(prior="laplace", alpha=0.1)], ids=str)
def test_a_copy_in_other_units_or_mirrored_is_no_other_feature(model):
    two = np.array([[0.0], [1.0]]), np.array([0, 1])
    for X, y in (two, *(draw(seed, 30, 3) for seed in range(5))):
        alone = fitted(model, X, y)
        for unit in (1, 2, -1, 3, -0.7, 1e-6):
            machine = fitted(model, np.hstack([X, unit * (X + (unit < 0))]), y)
            assert np.isclose(machine.objective_, alone.objective_, rtol=1e-9)
            assert np.allclose(machine.coef_[0, : X.shape[1]], alone.coef_[0], rtol=1e-6)
            assert not machine.coef_[0, X.shape[1] :].any()
        # without a scale, another unit is another feature
        if model.prior == "laplace":
            plain = clone(model).set_params(scale=False)
            larger = fitted(plain, np.hstack([X, 10 * X]), y)
            assert larger.objective_ < fitted(plain, X, y).objective_
