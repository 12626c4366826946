"""Exact zero-norm optima: equal to enumeration, and honest where time runs out."""

import itertools
import re
import time
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import definitions
import numpy as np
import pytest

from fsnotes import L0MPM, L1MPM, MPM, ClassMoments, load, make_instance, make_wide
from fsnotes.core import certify
from fsnotes.core.certify import Certificate, exact_support
from fsnotes.errors import (
    EqualMeansError,
    InfeasibleBoundError,
    SelectionWarning,
    TrivialBoundWarning,
)


def moments_of(X, y):
    return ClassMoments.from_data(X, y)


def known_of(X, y, ridge=0.0, scale=True):
    """Gap, and covariances of the higher and the lower label, in units, with the ridge."""
    first, second, *covariances = definitions.known_of(X, y, scale, ridge)
    return first - second, *covariances


def kappas_of(sets, gap, S1, S2):
    """Of the minimax machines of sets of one size: a concave maximum over mixtures.

    ``(s1 + s2)^2`` is the least of ``s1^2 / m + s2^2 / (1 - m)``, and for each m the best weights
    solve a linear system.
    """
    at = sets[:, :, None], sets[:, None, :]
    first, second, short = S1[at], S2[at], gap[sets][:, :, None]

    def squares(m):
        # of kappa, at one m for each set
        m = m[:, None, None]
        solved = np.linalg.solve((1 - m) * first + m * second, short)
        return (m * (1 - m) * (short * solved).sum(axis=1, keepdims=True))[:, 0, 0]

    golden = (np.sqrt(5) - 1) / 2
    low, high = np.zeros(len(sets)), np.ones(len(sets))
    for _ in range(24):
        width = golden * (high - low)
        inner, outer = high - width, low + width
        left = squares(inner) > squares(outer)
        low, high = np.where(left, low, inner), np.where(left, outer, high)
    return np.sqrt(squares((low + high) / 2))


def enumerated(gap, S1, S2, level):
    """The smallest size, the best set of this size, its kappa, and the runner-up's."""
    everything = range(len(gap))
    for size in range(1, len(gap) + 1):
        sets = np.array(list(itertools.combinations(everything, size)))
        kappas = kappas_of(sets, gap, S1, S2)
        if kappas.max() >= level:
            best = kappas.argmax()
            runner_up = np.delete(kappas, best).max(initial=0)
            return size, sets[best].tolist(), kappas[best], runner_up
    raise AssertionError("the bound is infeasible")


def level_of(retain, gap, S1, S2):
    whole = kappas_of(np.arange(len(gap))[None], gap, S1, S2)[0] ** 2
    bound = retain * whole / (1 + whole)
    return np.sqrt(bound / (1 - bound))


def agree(answers, gap, S1, S2, level):
    """Hold exact answers to one enumeration; return the size."""
    size, best, kappa, runner_up = enumerated(gap, S1, S2, level)
    for found in answers:
        assert found.is_exact and found.lower == found.size == size
        assert np.isclose(found.kappa, kappa, rtol=1e-7) and found.support.sum() == size
        if runner_up < kappa * (1 - 1e-7):
            assert np.flatnonzero(found.support).tolist() == best
        assert found.visited >= 1
    return size


def everything_kept(pair, features, least_kappa):
    """A heuristic as poor as can be."""
    return features, SimpleNamespace(kappa=0.0)


# against enumeration


def test_it_is_the_best_of_all_sets(monkeypatch):
    """As it comes, and by branching alone from a heuristic as poor as can be."""
    sizes = []
    for seed in range(110):
        X, y = make_instance(seed)
        known = known_of(X, y)
        retain = [0.9, 0.7, 0.97, 0.5, 0.995][seed % 5]
        answers = [exact_support(moments_of(X, y), retain=retain)]
        with monkeypatch.context() as patched:
            patched.setattr(certify, "fewest_features", everything_kept)
            assert exact_support(moments_of(X, y), time_limit=0).size == X.shape[1]
            patched.setattr(certify, "FEW_SETS", 1)
            answers.append(exact_support(moments_of(X, y), retain=retain))
        sizes.append(agree(answers, *known, level_of(retain, *known) * (1 - 1e-9)))
    assert set(sizes) > set(range(1, 9))


@pytest.mark.parametrize(("ridge", "scale"), [(0.5, True), (0.5, False), (0.0, False)])
def test_it_is_the_best_of_all_sets_with_a_ridge_and_in_raw_units(ridge, scale, monkeypatch):
    for seed in range(20):
        X, y = make_instance(seed)
        X = X * 2.0 ** np.arange(-3, X.shape[1] - 3)
        known = known_of(X, y, ridge, scale)
        answers = []
        for few_sets in (1, 30):
            monkeypatch.setattr(certify, "FEW_SETS", few_sets)
            answers.append(exact_support(moments_of(X, y), ridge=ridge, scale=scale))
        agree(answers, *known, level_of(0.9, *known) * (1 - 1e-9))


def test_the_kappa_is_that_of_the_machine_of_the_support():
    for name in ("pima", "wdbc", "wisconsin"):
        X, y = load(name, return_X_y=True)
        found = exact_support(moments_of(X, y), retain=0.9)
        machine = MPM().fit(X[:, found.support], y)
        assert np.isclose(found.kappa**2 / (1 + found.kappa**2), machine.largest_delta_)
        assert machine.largest_delta_ >= 0.9 * MPM().fit(X, y).largest_delta_ * (1 - 1e-8)
        assert found.size <= L0MPM(retain=0.9).fit(X, y).n_selected_


def test_branching_spares_most_sets(monkeypatch):
    monkeypatch.setattr(certify, "FEW_SETS", 1)
    X, y = load("wpbc", return_X_y=True)
    found = exact_support(moments_of(X, y), retain=0.97)
    assert found.is_exact and found.size > 20
    # 32 choose 20 alone are 2e8
    assert found.visited < 1e5


# what theory says


def test_order_labels_and_units_do_not_matter():
    rng = np.random.default_rng(0)
    for seed in range(8):
        X, y = make_instance(seed)
        found = exact_support(moments_of(X, y))
        columns, unit = rng.permutation(X.shape[1]), 10 ** rng.uniform(-2, 2, X.shape[1])
        for other in (
            exact_support(moments_of(X[:, columns], y)),
            exact_support(moments_of(X[:, columns], 1 - y)),
            exact_support(moments_of((X * unit)[:, columns], y)),
            exact_support(moments_of((X * unit)[:, columns], y), scale=False),
        ):
            assert np.array_equal(other.support, found.support[columns])
            assert np.isclose(other.kappa, found.kappa, rtol=1e-8)


def test_an_absolute_bound_overrides_the_relative_one():
    X, y = make_instance(3)
    moments, largest = moments_of(X, y), MPM().fit(X, y).largest_delta_
    relative = exact_support(moments, retain=0.8)
    absolute = exact_support(moments, retain=0.1, delta=0.8 * largest)
    assert np.array_equal(relative.support, absolute.support)
    assert relative.size > exact_support(moments, retain=0.1).size
    assert exact_support(moments, retain=1).size == X.shape[1]
    assert exact_support(moments, delta=largest).size == X.shape[1]


def test_a_bound_that_is_just_attained_is_kept():
    for seed in range(30):
        moments = moments_of(*make_instance(seed))
        found = exact_support(moments)
        bound = found.kappa**2 / (1 + found.kappa**2)
        again = exact_support(moments, delta=bound)
        assert np.array_equal(again.support, found.support) and again.is_exact
        # and no more: of sets of this size it was the best
        assert exact_support(moments, delta=bound * (1 + 1e-6)).size > found.size


# degenerate data


def test_a_column_that_separates_is_enough():
    X, y = make_instance(2)
    X = np.column_stack([X[:, :3], 5.0 * y - 2, X[:, 3:]])
    with pytest.warns(TrivialBoundWarning):
        found = exact_support(moments_of(X, y), delta=0.999)
    assert np.flatnonzero(found.support).tolist() == [3] and found.kappa == np.inf
    assert found.is_exact
    assert np.isfinite(exact_support(moments_of(X, y), delta=0.5, ridge=0.5).kappa)


def test_rows_fewer_than_features():
    """Enough of 14 features separate 6 + 6 rows; fewer are enough for a bound."""
    X, y = make_wide(12, 14, n_informative=6)
    with pytest.warns(TrivialBoundWarning) as caught:
        found = exact_support(moments_of(X, y), delta=0.9)
    assert [w.filename for w in caught] == [__file__] * len(caught)
    assert agree([found], *known_of(X, y), 3 * (1 - 1e-9)) in range(2, 10)
    known = known_of(X, y, 0.3)
    ridged = exact_support(moments_of(X, y), ridge=0.3)
    agree([ridged], *known, level_of(0.9, *known) * (1 - 1e-9))


def test_copies_change_nothing():
    X, y = load("pima", return_X_y=True)
    single = exact_support(moments_of(X, y))
    double = exact_support(moments_of(np.hstack([X, X]), y))
    assert double.size == single.size and double.is_exact
    assert np.isclose(double.kappa, single.kappa, rtol=1e-6)
    assert np.array_equal(double.support[:8] | double.support[8:], single.support)


def test_nearly_equal_columns_are_told_apart(monkeypatch):
    """Their difference, of size 3e-7, is what tells the classes apart."""
    # so that the search has to find them
    monkeypatch.setattr(certify, "fewest_features", everything_kept)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y, z = np.arange(200) % 2, rng.normal(size=200)
        difference = rng.normal(size=200) + 1.5 * y
        noise = rng.normal(size=(200, 2)) + 0.3 * y[:, None]
        X = np.column_stack([z, noise[:, 0], z + 3e-7 * difference, noise[:, 1]])
        found = exact_support(moments_of(X, y), retain=0.9)
        apart = np.column_stack([z, noise[:, 0], difference, noise[:, 1]])
        assert found.is_exact and found.support[[0, 2]].all()
        same = MPM().fit(apart[:, found.support], y).largest_delta_
        # its square, 1e-13 of the variances, is left with three digits in the covariances
        assert np.isclose(found.kappa, np.sqrt(same / (1 - same)), rtol=1e-2)
        # of the columns apart, the first of both is needed for nothing else
        assert found.size <= exact_support(moments_of(apart, y), retain=0.9).size + 1


def test_many_sets_are_compared_at_once_only_where_that_is_safe():
    near = np.array([[4.0, 2 - 1e-9, 0], [2 - 1e-9, 1, 0], [0, 0, 1]])
    for singular in (near, np.diag([1.0, 0, 1]), np.ones((2, 2))):
        assert not certify._is_regular(singular)
    rng = np.random.default_rng(0)
    for _ in range(20):
        root = rng.normal(size=(5, 5)) * 10 ** rng.uniform(-9, 9, 5)
        assert certify._is_regular(root.T @ root)


def test_columns_of_equal_means_beside_copies():
    """Sets without any gap occur where all sets are looked at one by one."""
    X, y = load("pima", return_X_y=True)
    rows = np.append(np.flatnonzero(y == 0)[:256], np.flatnonzero(y == 1)[:256])
    coin, X, y = np.arange(512) % 2, X[rows][:, [1, 5, 7]], y[rows]
    assert moments_of(np.column_stack([coin, X]), y).gap()[0] == 0
    found = exact_support(moments_of(np.column_stack([coin, X, X]), y), retain=0.95)
    single = exact_support(moments_of(X, y), retain=0.95)
    assert found.is_exact and found.size <= single.size


def test_features_without_a_gap_may_still_help():
    """Noise that two features share is taken out by one whose means are equal."""
    S = np.array([[1.0, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    root = np.linalg.cholesky(S)
    signs = np.array(list(itertools.product([-1, 1], repeat=3))).astype(float)
    rows = signs @ root.T
    X = np.vstack([rows, rows + [1.0, 0, 0]])
    y = np.repeat([0, 1], 8)
    found = exact_support(moments_of(X, y), retain=0.99)
    assert found.support.tolist() == [True, True, False]
    assert np.isclose(found.kappa, 0.5 / np.sqrt(1 - 0.9**2))
    assert exact_support(moments_of(X, y), delta=0.1).support.tolist() == [True, False, False]


def test_constant_columns_are_named_and_never_selected():
    X, y = make_instance(5)
    wider = np.insert(X, [1, 4], [7.0, -3.0], axis=1)
    with pytest.warns(SelectionWarning, match="there are 2: 1, 5") as caught:
        found = exact_support(moments_of(wider, y))
    assert caught[0].filename == __file__
    without = exact_support(moments_of(X, y))
    assert np.array_equal(np.delete(found.support, [1, 5]), without.support)
    assert not found.support[[1, 5]].any() and found.kappa == pytest.approx(without.kappa)


# time


class Clock:
    """One second for each look at it."""

    def __init__(self):
        self.now = 0

    def monotonic(self):
        self.now += 1
        return self.now


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_bounds_hold_whenever_time_runs_out(seed, monkeypatch):
    monkeypatch.setattr(certify, "FEW_SETS", 3)
    X, y = make_instance(seed)
    moments = moments_of(X, y)
    exact = exact_support(moments)
    answers = []
    for seconds in [*range(0, 12), *np.geomspace(12, 4000, 20)]:
        monkeypatch.setattr(certify, "time", Clock())
        found = exact_support(moments, time_limit=seconds)
        assert found.lower <= exact.size <= found.size == found.support.sum()
        assert found.kappa <= exact.kappa or found.size > exact.size
        if found.is_exact:
            assert found.lower == found.size
            assert np.array_equal(found.support, exact.support)
        answers.append(found)
    assert not answers[0].is_exact and answers[0].lower == 1
    assert (np.diff([a.lower for a in answers]) >= 0).all()
    assert (np.diff([a.size for a in answers]) <= 0).all()
    assert len({a.lower for a in answers}) > 1 and answers[-1].is_exact


@pytest.mark.alone
def test_a_limit_in_seconds_is_kept():
    X, y = load("sonar", return_X_y=True)
    began = time.perf_counter()
    found = exact_support(moments_of(X, y), retain=0.9, time_limit=0.4)
    assert time.perf_counter() - began < 3
    assert not found.is_exact and 1 < found.lower < found.size
    assert str(found) == f"{found.size} features; time ran out, and {found.lower} may be enough"
    machine = MPM().fit(X[:, found.support], y)
    assert machine.largest_delta_ >= 0.9 * MPM().fit(X, y).largest_delta_ * (1 - 1e-8)


# what is said


def test_bounds_that_cannot_be_are_refused_in_the_words_of_l1mpm():
    X, y = make_instance(0)
    with pytest.raises(InfeasibleBoundError) as ours:
        exact_support(moments_of(X, y), delta=0.99)
    with pytest.raises(InfeasibleBoundError) as theirs:
        L1MPM(delta=0.99).fit(X, y)
    assert str(ours.value) == str(theirs.value)
    assert ours.value.largest == theirs.value.largest == MPM().fit(X, y).largest_delta_


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"retain": 0}, ValueError, "retain=0; pass a number from 0 to 1, 0 excluded"),
        ({"delta": 1}, ValueError, "delta=1; a bound of 1 cannot be promised: pass delta<1"),
        ({"delta": -0.5}, ValueError, "delta=-0.5; pass"),
        ({"ridge": -1}, ValueError, "ridge=-1; pass"),
        ({"scale": 1}, TypeError, "scale=1; pass True or False"),
        ({"time_limit": -1}, ValueError, "time_limit=-1; pass a number from 0"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_in_words(parameters, error, message):
    with pytest.raises(error, match=re.escape(message)):
        exact_support(moments_of(*make_instance(0)), **parameters)


def test_moments_of_two_classes_are_asked_for():
    X, y = make_instance(0)
    with pytest.raises(TypeError, match="ndarray; pass ClassMoments"):
        exact_support(X)
    with pytest.raises(TypeError, match="positional"):
        exact_support(moments_of(X, y), 0.9)
    with pytest.raises(ValueError, match="exactly two classes"):
        exact_support(moments_of(X, np.arange(len(y)) % 3))
    with pytest.raises(EqualMeansError):
        exact_support(moments_of(np.array([[-1.0], [1], [-2], [2]]), [0, 0, 1, 1]))


def test_certificates_are_plain_and_frozen():
    found = exact_support(moments_of(*make_instance(0)))
    assert isinstance(found, Certificate) and found.support.dtype == bool
    assert [type(v) for v in (found.size, found.lower, found.visited)] == [int] * 3
    assert type(found.is_exact) is bool and type(found.kappa) is float
    assert str(found) == f"{found.size} features, and no fewer keep the bound"
    with pytest.raises(FrozenInstanceError):
        found.size = 1
