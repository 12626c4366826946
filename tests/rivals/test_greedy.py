"""Greedy search: that of its definition."""

import itertools

import numpy as np
import pytest
from definitions import quiet

from fsnotes import MPM, GreedyMPM, load, make_instance, make_wide
from fsnotes.core.bounds import kappa
from fsnotes.errors import InfeasibleBoundError, SelectionWarning, TrivialBoundWarning
from fsnotes.literal import mpm

each = pytest.mark.parametrize("direction", ["forward", "backward"])


def literal_kappa(X, y, features):
    classes = [X[y == label][:, features] for label in (y.max(), y.min())]
    means = [rows.mean(axis=0) for rows in classes]
    covariances = [np.atleast_2d(np.cov(rows.T, ddof=0)) for rows in classes]
    return 1 / mpm(*means, *covariances)[-1]


def printed_greedy(X, y, need, direction):
    """The definition, with CVXPY for each set of features."""
    everything = list(range(X.shape[1]))
    chosen = [] if direction == "forward" else everything
    while True:
        if direction == "forward":
            tries = [[*chosen, j] for j in everything if j not in chosen]
        else:
            tries = [[k for k in chosen if k != j] for j in chosen] if len(chosen) > 1 else []
        kappas = [literal_kappa(X, y, sorted(features)) for features in tries]
        if direction == "backward" and max(kappas, default=0) < need:
            return sorted(chosen)
        chosen = tries[int(np.argmax(kappas))]
        if direction == "forward" and max(kappas) >= need:
            return sorted(chosen)


@each
@pytest.mark.parametrize("seed", range(4))
def test_greedy_search_is_that_of_the_definition(direction, seed):
    X, y = make_instance(seed)
    # the definition solves a cone program for each set that it tries, so features are few
    X = X[:, :7]
    machine = GreedyMPM(direction=direction, retain=0.8).fit(X, y)
    # kappas of CVXPY have fewer digits than those of the search
    need = float(kappa(machine.delta_)) * (1 - 1e-6)
    assert np.flatnonzero(machine.support_).tolist() == printed_greedy(X, y, need, direction)
    assert machine.objective_ == machine.n_selected_


@each
def test_greedy_machines_are_the_minimax_machines_of_what_they_select(direction):
    for name in ("wdbc", "ionosphere", "pima"):
        X, y = load(name, return_X_y=True)
        machine = quiet(GreedyMPM(direction=direction), X, y)
        plain = MPM().fit(X[:, machine.support_], y)
        assert np.allclose(machine.coef_[:, machine.support_], plain.coef_, rtol=1e-6)
        assert np.allclose(machine.worst_case_accuracy_, plain.largest_delta_, atol=1e-9)
        assert machine.worst_case_accuracy_.min() >= machine.delta_ - 1e-9
        assert machine.delta_ == 0.9 * machine.largest_delta_


def test_the_order_of_greedy_search_nests_by_number():
    X, y = load("sonar", return_X_y=True)
    machine = GreedyMPM(n_features=8).fit(X, y)
    for size in (1, 3, 8):
        smaller = GreedyMPM(n_features=size).fit(X, y)
        assert smaller.n_selected_ == size
        assert (smaller.order_ == machine.order_[:size]).all()
        assert GreedyMPM(delta=smaller.delta_).fit(X, y).n_selected_ == size
        assert smaller.delta_ == pytest.approx(smaller.worst_case_accuracy_.min(), abs=1e-9)
    left = GreedyMPM(n_features=8, direction="backward").fit(X, y)
    assert sorted([*left.order_, *np.flatnonzero(left.support_)]) == list(range(60))


@each
def test_greedy_search_at_its_ends(direction):
    X, y = load("pima", return_X_y=True)
    with pytest.raises(InfeasibleBoundError, match="delta=0.9 is infeasible"):
        GreedyMPM(direction=direction, delta=0.9).fit(X, y)
    with pytest.warns(SelectionWarning, match="n_features=9, but only 8 vary"):
        assert GreedyMPM(direction=direction, n_features=9).fit(X, y).n_selected_ == 8
    assert GreedyMPM(direction=direction, retain=1).fit(X, y).n_selected_ == 8
    assert GreedyMPM(direction=direction, delta=1e-9).fit(X, y).n_selected_ == 1


@each
def test_greedy_search_where_features_exceed_rows(direction):
    X, y = make_wide(30, 60)
    with pytest.warns(TrivialBoundWarning):
        machine = GreedyMPM(direction=direction).fit(X, y)
        assert GreedyMPM(direction=direction, n_features=40).fit(X, y).n_selected_ == 40
    assert machine.largest_delta_ == 1 and 1 <= machine.n_selected_ < 30
    assert machine.worst_case_accuracy_.min() >= 0.9 - 1e-9


def test_the_order_of_greedy_search_counts_all_columns():
    X, y = load("pima", return_X_y=True)
    wider = np.insert(X, 0, 1.0, axis=1)
    plain = GreedyMPM(n_features=3).fit(X, y)
    assert (quiet(GreedyMPM(n_features=3), wider, y).order_ == plain.order_ + 1).all()


@pytest.mark.filterwarnings("ignore::fsnotes.errors.TrivialBoundWarning")
def test_a_feature_whose_weight_is_rounding_is_not_selected():
    cube = np.array(list(itertools.product((-1.0, 1), repeat=3)))
    rows = np.append(np.arange(8), [0, 1, 6, 7, 4, 0, 5, 6])
    for n_features in (2, 3):
        with pytest.warns(SelectionWarning, match=f"{n_features} .* but only 1 have a weight"):
            machine = GreedyMPM(n_features=n_features).fit(cube[rows], cube[rows, 0] > 0)
        assert machine.n_selected_ == machine.objective_ == 1
