"""Removal and exchange of features under a bound, against kappas from the definition."""

import numpy as np
import pytest
from definitions import kappa_of, known_of
from instances import draw_unlike, pair_of

from fsnotes import make_instance, make_wide
from fsnotes.core.bounds import minimax
from fsnotes.core.moments import MomentPair
from fsnotes.core.pruning import (
    NEWCOMERS,
    _largest,
    _losses,
    _newcomers,
    fewest_features,
    remove_features,
)

# removal


@pytest.mark.parametrize("part", [0.3, 0.7, 0.9, 0.999])
def test_removal_ends_where_no_feature_can_go(part):
    removed = 0
    for seed in range(25):
        X, y = make_instance(seed)
        pair, everything = pair_of(X, y), np.arange(X.shape[1])
        need = part * minimax(pair).kappa
        features, point = remove_features(pair, everything, need)
        known = known_of(X, y, scale=False)
        assert kappa_of(features, known) >= need * (1 - 1e-9)
        assert np.isclose(point.kappa, kappa_of(features, known), rtol=1e-7)
        assert len(point.weights) == len(features)
        removed += len(everything) - len(features)
        if len(features) > 1:
            for drop in features:
                assert kappa_of(features[features != drop], known) < need
    assert removed > 10


def test_the_first_to_go_costs_least_by_the_bound_that_comes_free():
    """The loss at a fixed mixture bounds the loss from above, and orders the candidates."""
    for seed in range(20):
        X, y = make_instance(seed)
        pair, everything = pair_of(X, y), np.arange(X.shape[1])
        point = minimax(pair)
        m = point.mixture
        bound = m * (1 - m) * _losses(pair, everything, point)
        left = [minimax(pair, np.delete(everything, j)).kappa for j in everything]
        assert (point.kappa**2 - np.square(left) <= bound + 1e-9).all()
        # tight where covariances are equal
        same = MomentPair(pair.mean_diff, [pair.block(0, everything)] * 2)
        point = minimax(same)
        bound = 0.25 * _losses(same, everything, point)
        left = [minimax(same, np.delete(everything, j)).kappa for j in everything]
        assert np.allclose(point.kappa**2 - np.square(left), bound, rtol=1e-5, atol=1e-8)
        assert remove_features(same, everything, 0, len(everything) - 1)[0].tolist() == (
            np.delete(everything, bound.argmin()).tolist()
        )


def test_removal_down_to_so_many():
    for seed in range(10):
        X, y = make_instance(seed)
        pair = pair_of(X, y)
        for r in (1, 2, 4):
            features, point = remove_features(pair, np.arange(X.shape[1]), 0.0, r)
            assert len(features) == r == len(point.weights)
            assert np.isclose(point.kappa, minimax(pair, features).kappa)
        features, point = remove_features(pair, [3, 1], 0.0, 5)
        assert list(features) == [3, 1]
        assert len(remove_features(pair, [2, 4, 0], 0.0, 0)[0]) == 1


def test_removal_from_copies_and_features_without_a_difference():
    X, y = make_instance(1)
    n = X.shape[1]
    pair = pair_of(np.hstack([X, X]), y)
    features, point = remove_features(pair, np.arange(2 * n), (1 - 1e-7) * minimax(pair).kappa)
    assert len(features) == n and sorted(features % n) == list(range(n))
    assert np.isclose(point.kappa, minimax(pair).kappa, rtol=1e-6)
    # the only feature whose means differ stays, whatever is asked for
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    S = A @ A.T + np.eye(3)
    features, _ = remove_features(MomentPair([0.0, 1, 0], [S, 2 * S]), np.arange(3), 0.0, 1)
    assert list(features) == [1]
    # nor is it tried where no other can go
    pair = MomentPair([0.0, 1, 0], [S, 2 * S])
    features, _ = remove_features(pair, np.arange(3), minimax(pair).kappa * (1 - 1e-9))
    assert list(features) == [0, 1, 2]


def worth(matrix, mean_diff, features):
    """The squared length of the difference of means, in units of the matrix."""
    block = matrix[np.ix_(features, features)]
    return mean_diff[features] @ np.linalg.lstsq(block, mean_diff[features], rcond=1e-12)[0]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("copies", [False, True])
def test_newcomers_are_those_that_add_largest(wide, copies):
    """At the point's mixture, by the definition; a copy among the features leaves freely."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = make_wide(40, 60, seed=seed) if wide else draw_unlike(seed)
        n = X.shape[1]
        features = rng.permutation(n)[: int(rng.integers(1, max(2, min(n, 7))))]
        if copies:
            X = np.hstack([X, X[:, features[:1]]])
            features = np.append(features, n)
        pair = pair_of(X, y)
        point = minimax(pair, features)
        mean1, mean2, S1, S2 = known_of(X, y, scale=False)
        mean_diff = mean1 - mean2
        matrix = point.mixture * S1 + (1 - point.mixture) * S2
        newcomers = _newcomers(pair, features, point)
        assert len(newcomers) == len(features)
        outside = np.setdiff1d(np.arange(X.shape[1]), features)
        for leaver, found in enumerate(newcomers):
            rest = np.delete(features, leaver)
            alone = worth(matrix, mean_diff, rest)
            gains = {j: worth(matrix, mean_diff, np.append(rest, j)) - alone for j in outside}
            assert len(found) == min(len(outside), NEWCOMERS) and set(found) <= set(outside)
            best = sorted(gains.values(), reverse=True)[: len(found)]
            close = {"rtol": 1e-4, "atol": 1e-6 * (alone + max(best, default=0))}
            assert np.allclose([gains[j] for j in found], best, **close)


def test_equal_values_come_in_their_order():
    values = np.array([1.0, 3, 0, 3, 1, 2, 1, 0])
    assert _largest(values, 2).tolist() == [1, 3]
    assert _largest(values, 4).tolist() == [1, 3, 5, 0]
    assert _largest(values, 7).tolist() == _largest(values, 20).tolist() == [1, 3, 5, 0, 4, 6]
    assert _largest(np.zeros(3), 2).tolist() == []


# exchanges


def test_exchanges_never_leave_more_than_removals():
    shorter = 0
    for seed in range(40):
        X, y = make_instance(seed)
        known = known_of(X, y, scale=False)
        pair = pair_of(X, y)
        everything = np.arange(X.shape[1])
        for part in (0.5, 0.85, 0.97):
            need = part * kappa_of(everything, known)
            removed, _ = remove_features(pair, everything, need)
            features, point = fewest_features(pair, everything, need)
            assert len(features) <= len(removed)
            assert (np.diff(features) > 0).all()
            assert np.isclose(point.kappa, kappa_of(features, known), rtol=1e-8)
            assert np.isclose(pair.mean_diff[features] @ point.weights, 1)
            assert point.kappa >= need
            for leaver in features if len(features) > 1 else []:
                assert kappa_of(features[features != leaver], known) < need
            shorter += len(features) < len(removed)
    assert shorter > 0


def test_exchanges_raise_kappa_at_a_given_number():
    """What was not selected may come in for what was."""
    raised = came = 0
    for seed in range(40):
        X, y = make_instance(seed)
        known = known_of(X, y, scale=False)
        pair = pair_of(X, y)
        everything = np.arange(X.shape[1])
        half = everything[: len(everything) // 2]
        for start, r in ((everything, 1), (everything, 4), (half, 2)):
            removed, before = remove_features(pair, start, 0.0, r)
            features, after = fewest_features(pair, start, 0.0, r)
            assert len(features) == len(removed) == r
            assert after.kappa >= before.kappa * (1 - 1e-12)
            raised += after.kappa > before.kappa * (1 + 1e-6)
            assert np.isclose(after.kappa, kappa_of(features, known), rtol=1e-8)
            came += bool(set(features) - set(start))
        # of the last, and where so few are outside that all of them are tried
        for leaver in features if len(everything) <= 10 else []:
            for newcomer in np.setdiff1d(everything, features):
                tried = np.append(features[features != leaver], newcomer)
                assert kappa_of(tried, known) <= after.kappa * (1 + 1e-6)
    assert raised > 3 and came > 5
