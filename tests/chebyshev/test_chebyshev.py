"""Minimax probability machines: equal to their literal statements, and as good as they say."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from definitions import bounds_of, kappa_of, known_of
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import GOOD, LABELS
from sklearn.base import clone

from fsnotes import (
    L0MPM,
    L1MPM,
    MPM,
    SMPM,
    ClassMoments,
    literal,
    load,
    make_instance,
    make_wide,
    null_delta,
)
from fsnotes.errors import InfeasibleBoundError, SelectionWarning, TrivialBoundWarning
from fsnotes.solvers.cone import ConeProblem

# against the literal statements


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_mpm_is_its_literal_statement(scale, ridge):
    for seed in range(30):
        X, y = make_instance(seed)
        machine = MPM(scale=scale, ridge=ridge).fit(X, y)
        w, b, value = literal.mpm(*known_of(X, y, scale, ridge))
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        assert np.isclose(machine.largest_delta_, 1 / (1 + value**2), rtol=1e-6)
        assert machine.delta_ == machine.largest_delta_
        ours = machine.coef_[0] * machine.scale_
        assert np.allclose(ours, w, atol=1e-3 * abs(w).max())
        assert np.isclose(-machine.intercept_[0], b, atol=1e-3 * (1 + abs(b)))


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_l1mpm_is_its_literal_statement(normalization, ridge, scale):
    sparse_ones = 0
    for seed in range(24):
        X, y = make_instance(seed)
        retain = 0.3 + 0.69 * seed / 23
        machine = L1MPM(
            retain=retain, normalization=normalization, refit=False, ridge=ridge, scale=scale
        ).fit(X, y)
        known = known_of(X, y, scale, ridge)
        *_, top = literal.mpm(*known)
        assert np.isclose(machine.largest_delta_, 1 / (1 + top**2), rtol=1e-6)
        assert np.isclose(machine.delta_, retain * machine.largest_delta_, rtol=1e-12)
        w, b, value = literal.l1mpm(*known, machine.delta_, normalization)
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        ours = machine.coef_[0] * machine.scale_
        assert np.isclose(abs(ours).sum(), value, rtol=1e-5)
        assert np.allclose(ours, w, atol=2e-3 * abs(w).max())
        sparse_ones += machine.n_selected_ < X.shape[1]
        assert machine.result_.status == "solved" and machine.result_.duality_gap <= 1e-6
    assert sparse_ones > 5


@pytest.mark.parametrize("name", ["sonar", "pima", "wdbc"])
@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_l1mpm_is_its_literal_statement_on_real_data(normalization, name):
    X, y = load(name, return_X_y=True)
    machine = L1MPM(normalization=normalization, refit=False).fit(X, y)
    _, _, value = literal.l1mpm(*known_of(X, y), machine.delta_, normalization)
    assert np.isclose(machine.objective_, value, rtol=1e-6)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_smpm_is_its_literal_statement(scale, ridge):
    counts = set()
    for seed in range(24):
        X, y = make_instance(seed)
        lam = 10 ** (-2 + 3 * seed / 23)
        machine = SMPM(lam=lam, refit=False, ridge=ridge, scale=scale).fit(X, y)
        w, b, value = literal.smpm(*known_of(X, y, scale, ridge), lam)
        assert np.isclose(machine.objective_, value, rtol=1e-6)
        ours = machine.coef_[0] * machine.scale_
        assert np.allclose(ours, w, atol=2e-3 * abs(w).max())
        assert np.isclose(-machine.intercept_[0], b, atol=2e-3 * (1 + abs(b)))
        counts.add(machine.n_selected_)
    assert len(counts) > 4


# what theory says


@pytest.mark.parametrize("normalization", ["margin", "gap"])
@pytest.mark.parametrize("refit", [True, False])
def test_the_whole_bound_is_the_minimax_machine(normalization, refit):
    for seed in range(20):
        X, y = make_instance(seed)
        dense = MPM().fit(X, y)
        machine = L1MPM(retain=1, normalization=normalization, refit=refit).fit(X, y)
        assert machine.delta_ == machine.largest_delta_ == dense.largest_delta_
        ratio = machine.coef_[0] / dense.coef_[0]
        assert np.allclose(ratio, ratio[0], rtol=1e-6)
        assert np.allclose(machine.worst_case_accuracy_, dense.worst_case_accuracy_, rtol=1e-8)
        # the norm is that of the shortest such weights
        w = dense.coef_[0] * dense.scale_
        mean1, mean2, S1, S2 = known_of(X, y)
        s = np.sqrt([w @ S1 @ w, w @ S2 @ w])
        length = s.sum() / s.min() if normalization == "margin" else 1
        gap = (mean1 - mean2) @ w
        assert np.isclose(machine.objective_, abs(w).sum() * length / gap, rtol=1e-6)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_loose_bound_gives_the_feature_of_the_largest_gap(seed):
    """Up to kappa = |d_j| / (2 max sd_j) with "margin", and up to |d_j| / sum sd_j with "gap"."""
    X, y = make_instance(seed)
    mean1, mean2, *covariances = known_of(X, y)
    gap = abs(mean1 - mean2)
    j = gap.argmax()
    s1, s2 = (np.sqrt(S[j, j]) for S in covariances)
    largest = MPM().fit(X, y).largest_delta_
    for normalization, level, norm in (
        ("margin", gap[j] / (2 * max(s1, s2)), 2 / gap[j]),
        ("gap", gap[j] / (s1 + s2), 1 / gap[j]),
    ):
        edge = level**2 / (1 + level**2)
        for part in (0.2, 0.9, 1 - 1e-6):
            machine = L1MPM(delta=part * edge, normalization=normalization, refit=False).fit(X, y)
            assert np.flatnonzero(machine.support_).tolist() == [j]
            assert np.isclose(machine.objective_, norm, rtol=1e-9)
            assert np.isclose(abs(machine.coef_[0, j]) * machine.scale_[j], norm, rtol=1e-5)
        above = edge + 0.2 * (largest - edge)
        if above > edge * (1 + 1e-4):
            machine = L1MPM(delta=above, normalization=normalization, refit=False).fit(X, y)
            assert machine.objective_ > norm * (1 + 1e-7)


def test_gap_and_penalty_trace_one_path():
    compared = 0
    for seed in range(40):
        X, y = make_instance(seed)
        penalised = SMPM(lam=10 ** (-1.5 + 2 * seed / 39), refit=False).fit(X, y)
        w = penalised.coef_[0]
        bounded = L1MPM(delta=penalised.delta_, normalization="gap", refit=False).fit(X, y)
        v = bounded.coef_[0]
        angle = (
            abs(v * bounded.scale_ - w * penalised.scale_).max() / abs(w * penalised.scale_).max()
        )
        if penalised.n_selected_ > 1:
            assert angle < 1e-4
            compared += 1
        assert np.isclose(
            penalised.objective_,
            np.sqrt(1 / penalised.delta_ - 1) + penalised.lam * bounded.objective_,
            rtol=1e-6,
        )
    assert compared > 20


@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_the_norm_grows_with_the_bound(normalization):
    for name in ("sonar", "wdbc", "pima"):
        X, y = load(name, return_X_y=True)
        path = L1MPM(normalization=normalization).path(X, y)
        assert (np.diff(path.objectives) >= -1e-7 * path.objectives[1:]).all()
        assert path.objectives[-1] > 1.5 * path.objectives[0]
        assert (path.bounds >= path.deltas * (1 - 1e-6)).all()
        assert (np.diff(path.deltas) > 0).all() and len(path.retains) == 50


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_a_path_is_made_of_fits(normalization, refit):
    rng = np.random.default_rng(0)
    for name in ("sonar", "wdbc"):
        X, y = load(name, return_X_y=True)
        retains = rng.permutation(np.append(np.linspace(0.05, 1, 14), [0.5, 0.5]))
        model = L1MPM(normalization=normalization, refit=refit)
        before = model.get_params()
        path = model.path(X, y, retains)
        assert model.get_params() == before and not hasattr(model, "coef_")
        assert np.array_equal(path.retains, retains)
        for row, retain in enumerate(retains):
            machine = clone(model).set_params(retain=retain).fit(X, y)
            assert np.isclose(path.objectives[row], machine.objective_, rtol=1e-6)
            assert np.isclose(path.deltas[row], machine.delta_, rtol=1e-12)
            assert np.array_equal(path.supports[row], machine.support_)
            size = abs(machine.coef_).max()
            assert np.allclose(path.coefs[row], machine.coef_[0], atol=1e-4 * size, rtol=1e-3)
            assert np.isclose(
                path.intercepts[row], machine.intercept_[0], rtol=1e-3, atol=1e-3 * size
            )
            assert np.isclose(path.bounds[row], machine.worst_case_accuracy_.min(), rtol=1e-5)
        assert np.array_equal(path.supports, path.coefs != 0)
        by_moments = model.path_moments(ClassMoments.from_data(X, y), retains)
        assert np.allclose(by_moments.coefs, path.coefs, rtol=1e-9, atol=1e-12)


def test_a_path_prunes_weighs_and_ends_below_a_trivial_bound():
    X, y = load("wdbc", return_X_y=True)
    retains = [0.5, 0.95]
    pruned = L1MPM(prune=True).path(X, y, retains)
    for row, retain in enumerate(retains):
        machine = L1MPM(prune=True, retain=retain).fit(X, y)
        assert np.array_equal(pruned.supports[row], machine.support_)
    weights = np.arange(len(y)) % 3
    weighted = L1MPM().path(X, y, [0.8], sample_weight=weights)
    repeated = L1MPM().path(np.repeat(X, weights, axis=0), np.repeat(y, weights), [0.8])
    assert np.isclose(weighted.objectives[0], repeated.objectives[0], rtol=1e-9)
    assert not np.isclose(weighted.objectives[0], L1MPM().path(X, y, [0.8]).objectives[0])
    X, y = make_wide(20, 60)
    with pytest.warns(TrivialBoundWarning):
        path = L1MPM().path(X, y)
    # a bound of 1 cannot be promised, so that the last of the usual 50 is left out
    assert path.retains[-1] < 1 and len(path.retains) == 49
    for bad, words in (
        ([], "shape"),
        ([[0.1]], "shape"),
        ([0.5, 1.1], r"retains=\[0.5, 1.1\]; pass"),
        ([0], r"=\[0\]; pass numbers from 0 to 1, 0 excl"),
    ):
        with pytest.raises(ValueError, match=words):
            L1MPM(ridge=1).path(X, y, bad)


# selection


@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_pruning_leaves_no_feature_that_could_go(normalization):
    shorter = 0
    for seed in range(25):
        X, y = make_instance(seed)
        retain = 0.5 + 0.02 * seed
        plain = L1MPM(retain=retain, normalization=normalization).fit(X, y)
        machine = L1MPM(retain=retain, normalization=normalization, prune=True).fit(X, y)
        assert (plain.support_ | ~machine.support_).all()
        shorter += machine.n_selected_ < plain.n_selected_
        need = np.sqrt(machine.delta_ / (1 - machine.delta_))
        known = known_of(X, y)
        chosen = np.flatnonzero(machine.support_)
        assert kappa_of(chosen, known) >= need * (1 - 1e-8)
        for drop in chosen if len(chosen) > 1 else []:
            assert kappa_of(chosen[chosen != drop], known) < need
        assert machine.objective_ == plain.objective_
    assert shorter > 5


@pytest.mark.parametrize("normalization", ["margin", "gap"])
@pytest.mark.parametrize("prune", [True, False])
def test_so_many_features_as_asked_for(normalization, prune):
    for name, wanted in {"pima": [1, 2, 8], "wdbc": [1, 7, 15, 30], "sonar": [10, 30]}.items():
        X, y = load(name, return_X_y=True)
        for r in wanted:
            machine = L1MPM(n_features=r, normalization=normalization, prune=prune).fit(X, y)
            assert machine.n_selected_ == r
            assert np.isclose(machine.delta_, machine.worst_case_accuracy_.min(), rtol=1e-5)
            chosen = MPM().fit(X[:, machine.support_], y)
            assert np.isclose(machine.delta_, chosen.largest_delta_, rtol=1e-8)
    X, y = make_wide(20, 60)  # the largest bound is 1, which nothing reaches
    with pytest.warns(SelectionWarning, match="n_features=59"), pytest.warns(TrivialBoundWarning):
        machine = L1MPM(n_features=59).fit(X, y)
    assert 0 < machine.n_selected_ < 59


@pytest.mark.parametrize("normalization", ["margin", "gap"])
@pytest.mark.parametrize("refit", [True, False])
def test_the_heaviest_of_features_that_join_together(normalization, refit):
    """Three features of equal worth join at once; the one that is heavier stays."""
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T.astype(float)
    X, y = np.vstack([signs, signs + [0.5, 0.5, 1, 0.5]]), np.repeat([0, 1], 16)
    whole = L1MPM(retain=0.9, normalization=normalization, refit=False).fit(X, y)
    assert whole.n_selected_ == 4 and abs(whole.coef_[0]).argmax() == 2
    two = L1MPM(n_features=2, normalization=normalization, refit=refit).fit(X, y)
    assert two.n_selected_ == 2 and two.support_[2]


def test_a_small_weight_that_the_bound_needs_comes_back():
    """Two columns that nearly agree have weights beside which all others are negligible."""
    rng = np.random.default_rng(0)
    y, z = np.arange(400) % 2, rng.normal(size=400)
    other = z + 3e-7 * (rng.normal(size=400) + 1.5 * y)
    X = np.column_stack([z, other, rng.normal(size=400) + 0.8 * y])
    dense = MPM().fit(X, y)
    units = abs(dense.coef_[0] * dense.scale_)
    assert units[2] < 1e-6 * units.max()
    machine = L1MPM(retain=1).fit(X, y)
    assert machine.support_.all()
    assert machine.worst_case_accuracy_.min() > MPM().fit(X[:, :2], y).largest_delta_ + 0.01


@pytest.mark.parametrize("normalization", ["margin", "gap"])
def test_so_many_features_without_a_refit(normalization):
    X, y = load("wdbc", return_X_y=True)
    machine = L1MPM(n_features=5, refit=False, normalization=normalization).fit(X, y)
    assert machine.n_selected_ == 5
    assert np.isclose(machine.delta_, bounds_of(machine, X, y).min(), rtol=1e-6)
    # from the smallest bound with so many features, so that none is left out
    assert np.isclose(abs(machine.coef_[0] * machine.scale_).sum(), machine.objective_, rtol=1e-6)
    # balanced: both classes get the same bound
    assert np.allclose(machine.worst_case_accuracy_, machine.delta_, rtol=1e-6)


@pytest.mark.parametrize("name", ["sonar", "wdbc", "pima"])
@pytest.mark.parametrize("model", [L1MPM(retain=0.8), SMPM(lam=0.5)], ids=["l1", "s"])
def test_refit_is_the_minimax_machine_of_the_selected(model, name):
    X, y = load(name, return_X_y=True)
    machine = clone(model).fit(X, y)
    raw = clone(model).set_params(refit=False).fit(X, y)
    assert np.array_equal(machine.support_, raw.support_)
    assert machine.objective_ == raw.objective_
    dense = MPM().fit(X[:, machine.support_], y)
    assert np.allclose(machine.coef_[0, machine.support_], dense.coef_[0], rtol=1e-6)
    assert np.isclose(machine.intercept_[0], dense.intercept_[0], rtol=1e-6)
    assert np.allclose(machine.worst_case_accuracy_, dense.worst_case_accuracy_, rtol=1e-9)
    assert machine.worst_case_accuracy_.min() >= raw.worst_case_accuracy_.min() - 1e-12
    if isinstance(model, SMPM):
        assert np.isclose(machine.delta_, dense.delta_)
        assert np.isclose(raw.delta_, raw.worst_case_accuracy_.min(), rtol=1e-6)


def test_an_absolute_bound_overrides_the_relative_one():
    X, y = load("sonar", return_X_y=True)
    machine = L1MPM(delta=0.4, retain=0.9).fit(X, y)
    assert machine.delta_ == 0.4
    other = L1MPM(retain=0.4 / machine.largest_delta_).fit(X, y)
    assert np.isclose(other.objective_, machine.objective_, rtol=1e-6)
    assert not np.isclose(machine.objective_, L1MPM(retain=0.9).fit(X, y).objective_)
    assert L1MPM(n_features=3, delta=0.999).fit(X, y).n_selected_ == 3


# bounds that cannot be


def test_an_infeasible_bound_is_refused_before_any_solver_runs(monkeypatch):
    X, y = load("sonar", return_X_y=True)
    largest = MPM().fit(X, y).largest_delta_

    def explode(*_, **__):
        raise AssertionError("a solver ran")

    monkeypatch.setattr(ConeProblem, "solve", explode)
    for normalization in ("margin", "gap"):
        with pytest.raises(InfeasibleBoundError) as caught:
            L1MPM(delta=0.9, normalization=normalization).fit(X, y)
        assert np.isclose(caught.value.largest, largest, rtol=1e-12)
        text = str(caught.value)
        assert "delta=0.9 is infeasible" in text and "0.62" in text and "retain=" in text
        below = float(re.search(r"pass delta<=([0-9.]+)", text)[1])
        assert largest - 1e-3 < below <= largest
        with pytest.raises(InfeasibleBoundError):
            L1MPM(delta=largest * (1 + 1e-6)).fit(X, y)
    with pytest.raises(AssertionError, match="a solver ran"):
        L1MPM(delta=below / 2).fit(X, y)
    monkeypatch.undo()
    for bound in (below, caught.value.largest):
        assert np.isclose(L1MPM(delta=bound).fit(X, y).delta_, bound)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.largest == caught.value.largest and str(again) == str(caught.value)


def test_wide_data_admits_every_bound_and_says_so():
    X, y = make_wide(20, 60)
    for model in (MPM(), L1MPM(), L1MPM(normalization="gap"), SMPM(), L0MPM()):
        with pytest.warns(TrivialBoundWarning, match="no variance within either class.*ridge"):
            machine = clone(model).fit(X, y)
        assert machine.largest_delta_ == 1
        ridged = clone(model).set_params(ridge=0.1).fit(X, y)  # without a warning
        assert 0 < ridged.largest_delta_ < 1
    for model in (L1MPM, L0MPM):
        with pytest.warns(TrivialBoundWarning):
            with pytest.raises(InfeasibleBoundError, match="retain=1.*ridge="):
                model(retain=1).fit(X, y)
        with pytest.warns(TrivialBoundWarning):
            machine = model(delta=0.99).fit(X, y)
        assert (machine.worst_case_accuracy_ >= 0.99 - 1e-9).all()
        assert machine.n_selected_ < 20
    ridges = [MPM(ridge=r).fit(X, y).largest_delta_ for r in (0.01, 0.1, 1, 10)]
    assert (np.diff(ridges) < 0).all()


def test_a_class_of_equal_samples():
    X, y = load("pima", return_X_y=True)
    X = np.where((y == 1)[:, None], X.mean(axis=0) + X.std(axis=0), X)
    for model in (MPM(), L1MPM(), SMPM()):
        with pytest.warns(TrivialBoundWarning, match="samples of class 1 are all equal.*ridge"):
            machine = clone(model).fit(X, y)
        assert machine.worst_case_accuracy_[1] > 0.99
        assert np.isclose(machine.worst_case_accuracy_[0], bounds_of(machine, X, y)[0])


def test_a_column_that_separates_perfectly():
    X, y = load("pima", return_X_y=True)
    X = np.column_stack([X, 5.0 * y - 2])
    for model in (MPM(), L1MPM(), L1MPM(normalization="gap"), SMPM()):
        with pytest.warns(TrivialBoundWarning):
            machine = clone(model).fit(X, y)
        assert machine.largest_delta_ == 1
        assert (machine.worst_case_accuracy_ >= 0.9 - 1e-9).all() or isinstance(model, SMPM)
    for model in (MPM(), L1MPM(), SMPM()):
        with pytest.warns(TrivialBoundWarning):
            machine = clone(model).fit(X[:, -1:], y)
        assert machine.score(X[:, -1:], y) == 1
        assert np.isclose(-machine.intercept_[0] / machine.coef_[0, 0], 0.5)


def test_fit_moments_takes_moments_of_two_classes():
    with pytest.raises(TypeError, match=r"ndarray; pass ClassMoments.from_data\(X, y\), or"):
        MPM().fit_moments(GOOD)
    for moments in (ClassMoments.from_data(GOOD, [0, 0, 1, 1, 2, 2]), ClassMoments()):
        with pytest.raises(ValueError, match="moments of exactly two classes"):
            MPM().fit_moments(moments)
    with pytest.raises(ValueError, match="class 1 has no rows"):
        MPM().fit_moments(ClassMoments.from_data(GOOD, [0] * 6, classes=[0, 1]))
    frame = pd.DataFrame(GOOD, columns=["a", "b"])
    machine = MPM().fit(frame, LABELS)
    machine.fit_moments(ClassMoments.from_data(GOOD, LABELS))
    assert not hasattr(machine, "feature_names_in_")


def test_units_matter_where_they_are_not_scaled():
    X, y = load("pima", return_X_y=True)
    for j in range(X.shape[1]):
        unit = np.where(np.arange(X.shape[1]) == j, 1000.0, 1)
        raw = L1MPM(scale=False, retain=0.01).fit(X * unit, y)
        mean1, mean2, *_ = known_of(X * unit, y, scale=False)
        assert np.flatnonzero(raw.support_).tolist() == [abs(mean1 - mean2).argmax()]
        assert (raw.scale_ == 1).all()
        scaled = L1MPM(retain=0.01).fit(X * unit, y)
        assert scaled.n_selected_ == 1 and scaled.support_[1]
    assert np.isclose(
        MPM(scale=False).fit(X, y).largest_delta_, MPM().fit(X, y).largest_delta_, rtol=1e-9
    )


@pytest.mark.parametrize("scale", [True, False])
def test_mpm_moves_along_with_affine_maps(scale):
    for seed in range(20):
        X, y = make_instance(seed)
        rng = np.random.default_rng(seed)
        n = X.shape[1]
        A = np.linalg.qr(rng.normal(size=(n, n)))[0] * 10 ** rng.uniform(-1, 1, n)
        machine = MPM(scale=scale).fit(X, y)
        mapped = MPM(scale=scale).fit(X @ A + rng.normal(size=n), y)
        assert np.isclose(mapped.largest_delta_, machine.largest_delta_, rtol=1e-8)
        assert np.allclose(mapped.coef_ @ A.T, machine.coef_, atol=1e-6 * abs(machine.coef_).max())


@pytest.mark.parametrize("model", [L1MPM(), L1MPM(normalization="gap"), SMPM()], ids=repr)
def test_duplicated_columns_change_no_bound(model):
    X, y = load("pima", return_X_y=True)
    machine = clone(model).fit(X, y)
    double = clone(model).fit(np.hstack([X, X]), y)
    assert np.isclose(double.largest_delta_, machine.largest_delta_, rtol=1e-6)
    assert np.isclose(double.objective_, machine.objective_, rtol=1e-5)
    assert np.allclose(double.worst_case_accuracy_, machine.worst_case_accuracy_, rtol=1e-3)


# permuted labels


def test_noise_reaches_the_level_of_its_dimension():
    """About n / (N - 3), that of the multiple correlation of n columns with a label."""
    rng = np.random.default_rng(0)
    n, N = 10, 200
    X, y = rng.normal(size=(N, n)), np.arange(N) % 2
    levels = null_delta(X, y, 200, random_state=0)
    error = levels.std() / np.sqrt(len(levels))
    # four standard errors; the covariances of the halves differ by chance, which adds a little
    assert abs(levels.mean() - n / (N - 3)) < 4 * error + 0.04 * n / (N - 3)
    assert error < 0.04 * n / (N - 3)


def test_null_levels_repeat_by_seed_and_follow_the_parameters():
    X, y = load("sonar", return_X_y=True)
    first = null_delta(X, y, 5, random_state=3)
    assert first.shape == (5,)
    assert np.array_equal(first, null_delta(X, y, 5, random_state=3))
    assert not np.array_equal(first, null_delta(X, y, 5, random_state=4))
    assert len(np.unique(first)) == 5
    assert first.max() < 0.4 < 0.62 < MPM().fit(X, y).largest_delta_
    ridged = null_delta(X, y, 5, ridge=1.0, random_state=3)
    assert (ridged < first).all()
    # without a ridge no unit matters, with one they do
    assert np.allclose(null_delta(X, y, 5, scale=False, random_state=3), first, rtol=1e-6)
    assert not np.allclose(null_delta(X, y, 5, scale=False, ridge=1, random_state=3), ridged)
    expected = MPM().fit(X, np.random.RandomState(3).permutation(y)).largest_delta_
    assert first[0] == expected
    for count in (0, 2.5):
        with pytest.raises(ValueError, match=f"n_permutations={count}; pass"):
            null_delta(X, y, count)


def test_null_levels_warn_once_and_count_equal_means_as_nothing():
    X, y = make_wide(12, 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        levels = null_delta(np.insert(X, 3, 7.0, axis=1), y, 4, random_state=0)
    assert (levels == 1).all()
    assert [w.category for w in caught] == [SelectionWarning, TrivialBoundWarning]
    assert {w.filename for w in caught} == {__file__}
    levels = null_delta(np.array([[0.0], [1], [1], [2]]), [0, 0, 1, 1], 20, random_state=0)
    assert levels.min() == 0 and levels.max() > 0


# ---------------------------------------------------------------- what data of others brought up


def test_a_column_that_varies_by_rounding_alone_is_constant():
    rng = np.random.default_rng(0)
    shares, y = rng.dirichlet(np.ones(7), 60), np.repeat([0, 1], 30)
    signal = rng.normal(size=(60, 2)) + y[:, None]
    # seconds since 1970, microseconds apart: floats of this size are 2.4e-7 apart
    stamps = 1.7e9 + rng.integers(0, 5, 60) * 1e-6
    X = np.column_stack([signal, shares.sum(axis=1), stamps])
    assert (np.ptp(X, axis=0) > 0).all()
    with pytest.warns(SelectionWarning, match="there are 2: 2, 3"):
        machine = L1MPM().fit(X, y)
    assert np.array_equal(machine.support_, [True, True, False, False])
    assert machine.worst_case_accuracy_.min() >= machine.delta_ * (1 - 1e-9)
