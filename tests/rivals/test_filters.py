"""Filters: by brute force, what they do not depend on, and what they refuse."""

import math
import tracemalloc
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fsnotes import fisher_score, load, mrmr, relieff
from fsnotes.rivals import filters

seeds = st.integers(0, 2**32 - 1)


def brute_force(X, y):
    """The definition, number by number."""
    scores = []
    for column in np.transpose(X).tolist():
        center = sum(column) / len(column)
        between = within = 0.0
        for label in set(y):
            part = [value for value, other in zip(column, y, strict=True) if other == label]
            mean = sum(part) / len(part)
            between += len(part) * (mean - center) ** 2
            within += sum((value - mean) ** 2 for value in part)
        scores.append(between / within)
    return scores


def drawn(seed, most_classes=4):
    """Rows of 2 to 4 classes of unequal sizes, in any order."""
    rng = np.random.default_rng(seed)
    n_classes = rng.integers(2, most_classes + 1)
    y = rng.permutation(np.append(np.arange(n_classes), rng.integers(0, n_classes, 25)))
    X = rng.normal(size=(len(y), 5)) * rng.uniform(0.1, 10, 5) + rng.normal(size=(n_classes, 5))[y]
    return rng, X, y


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_scores_are_those_of_the_definition(seed):
    _, X, y = drawn(seed)
    assert fisher_score(X, y) == pytest.approx(brute_force(X, y.tolist()), rel=1e-9)


def test_a_changed_formula_would_be_seen():
    _, X, y = drawn(0)
    right = fisher_score(X, y)
    assert right == pytest.approx(brute_force(X, y.tolist()))
    # classes weighed alike, or variances over one less than the rows
    means = np.array([X[y == k].mean(axis=0) for k in np.unique(y)])
    variances = [[X[y == k].var(axis=0, ddof=d) for k in np.unique(y)] for d in (0, 1)]
    for ddof in (0, 1):
        alike = means.var(axis=0) / np.mean(variances[ddof], axis=0)
        assert abs(alike / right - 1).min() > 1e-3


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_what_scores_do_not_depend_on(seed):
    rng, X, y = drawn(seed)
    scores = fisher_score(X, y)
    factors = rng.choice([-1, 1], 5) * 10.0 ** rng.uniform(-3, 3, 5)
    assert fisher_score(X * factors + rng.normal(size=5), y) == pytest.approx(scores, rel=1e-6)
    rows, columns = rng.permutation(len(y)), rng.permutation(5)
    assert fisher_score(X[rows][:, columns], y[rows]) == pytest.approx(scores[columns], rel=1e-9)
    names = np.array(["pear", "apple", "fig", "nut"])[y]
    assert fisher_score(X, names) == pytest.approx(scores, rel=1e-9)
    # every row twice changes no share
    assert fisher_score(np.repeat(X, 2, axis=0), np.repeat(y, 2)) == pytest.approx(scores, rel=1e-9)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_it_is_the_f_statistic_over_its_degrees_of_freedom(seed):
    _, X, y = drawn(seed)
    n_classes = len(np.unique(y))
    factor = (len(y) - n_classes) / (n_classes - 1)
    assert fisher_score(X, y) * factor == pytest.approx(f_classif(X, y)[0], rel=1e-6)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_two_classes_are_the_distance_of_their_means(seed):
    _, X, y = drawn(seed, most_classes=2)
    first, second = X[y == 0], X[y == 1]
    sizes = len(first), len(second)
    pooled = (first.var(axis=0) * sizes[0] + second.var(axis=0) * sizes[1]) / len(y)
    distance = (second.mean(axis=0) - first.mean(axis=0)) ** 2 / pooled
    shares = sizes[0] * sizes[1] / len(y) ** 2
    assert fisher_score(X, y) == pytest.approx(shares * distance, rel=1e-9)


@pytest.mark.parametrize("constant", [0.1, 1 / 3, -1e300, 5e-324, 0.0])
def test_constant_features_have_no_score(constant):
    _, X, y = drawn(3)
    X[:, 2] = constant
    scores = fisher_score(X, y)
    assert scores[2] == 0 and (np.delete(scores, 2) > 0).all()


def test_features_that_vary_between_the_classes_alone_come_first():
    y = np.repeat([0, 1, 2], 3)
    X = np.column_stack(
        [np.array([0.1, 0.1, 0.7])[y], np.arange(9.0), np.array([0.3, 0.2, 0.1])[y]]
    )
    assert fisher_score(X, y).tolist() == [np.inf, fisher_score(X[:, [1]], y)[0], np.inf]
    # equal means
    assert fisher_score([[1], [-1], [1], [-1]], [0, 0, 1, 1]).tolist() == [0]
    # one row a class
    assert fisher_score([[1, 2], [3, 2]], [0, 1]).tolist() == [np.inf, 0]


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e300])
def test_sizes_whose_squares_overflow_or_vanish_do_no_harm(size):
    _, X, y = drawn(4)
    assert fisher_score(X * size, y) == pytest.approx(fisher_score(X, y), rel=1e-9)


@pytest.mark.parametrize("score", [fisher_score, relieff, mrmr])
@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[1, np.nan], [2, 3]], [0, 1], "Input X contains NaN"),
        ([[1, np.inf], [2, 3]], [0, 1], "Input X contains infinity"),
        ([[1, 2], [2, 3]], [1, 1], "y holds one class, 1; pass rows of two classes or more"),
        ([[1, 2], [2, 3]], [0.5, 0.7], "Unknown label type: continuous"),
        ([[1, 2], [2, 3]], [0, 1, 1], "inconsistent numbers of samples"),
        ([1, 2], [0, 1], "Expected 2D array"),
        ([[1e308], [-1e308]], [0, 1], "overflow; divide the features first"),
        ([[0], [1e308], [-1e308]], [0, 1, 1], "overflow; divide the features first"),
    ],
)
def test_refusals(score, X, y, said):
    with pytest.raises(ValueError, match=said):
        score(X, y)


@pytest.mark.parametrize("score", [fisher_score, relieff, mrmr])
def test_sparse_input_is_refused(score):
    with pytest.raises(TypeError, match="dense data is required"):
        score(csr_array(np.eye(2)), [0, 1])


@pytest.mark.parametrize("score", [fisher_score, relieff, mrmr])
def test_input_is_left_as_it_was(score):
    _, X, y = drawn(5)
    before = X.copy()
    score(X, y)
    assert np.array_equal(X, before)


def test_it_serves_scikit_learn():
    X, y = load("sonar", return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"band {j}" for j in range(X.shape[1])])
    best = SelectKBest(fisher_score, k=5).fit(frame, y)
    order = np.argsort(-fisher_score(X, y))
    assert set(np.flatnonzero(best.get_support())) == set(order[:5])
    assert set(best.get_feature_names_out()) == {f"band {j}" for j in order[:5]}
    machine = make_pipeline(SelectKBest(fisher_score, k=5), SVC()).fit(X, y)
    assert machine.score(X, y) > 0.7


def chosen(distances, count):
    """Each way to choose so many of the nearest."""
    nearest = sorted(distances)[:count]
    return [
        ways
        for ways in combinations(range(len(distances)), len(nearest))
        if sorted(distances[i] for i in ways) == nearest
    ]


def brute_relieff(X, y, count, weight=lambda share, own: share / (1 - own)):
    """The definition in exact fractions, as the mean over all ways to break ties."""
    X, y = [[Fraction(value) for value in row] for row in np.asarray(X).tolist()], list(y)
    features, m = range(len(X[0])), len(X)
    ranges = [max(row[j] for row in X) - min(row[j] for row in X) for j in features]
    sizes = Counter(y)

    def differences(one, other):
        return [abs(one[j] - other[j]) / ranges[j] if ranges[j] else 0 for j in features]

    scores = [Fraction(0) for _ in features]
    for i in range(m):
        for label in sizes:
            there = [differences(X[i], X[k]) for k in range(m) if k != i and y[k] == label]
            own = Fraction(sizes[y[i]], m)
            factor = -1 if label == y[i] else weight(Fraction(sizes[label], m), own)
            ways = chosen([sum(part) for part in there], count)
            for way in ways:
                for k in way:
                    for j in features:
                        scores[j] += factor * there[k][j] / (len(way) * len(ways) * m)
    return [float(score) for score in scores]


def tied(seed):
    """Few rows of few values: equal rows, equal distances, constant columns, classes of one row."""
    rng = np.random.default_rng(seed)
    n_classes = rng.integers(2, 5)
    y = rng.permutation(np.append(np.arange(n_classes), rng.integers(0, n_classes, 7)))
    X = rng.integers(0, rng.integers(2, 5), (len(y), 4)) * rng.choice([-2, 0, 1, 3], 4)
    return rng, X.astype(float), y


@given(seeds, st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_relieff_is_that_of_the_definition(seed, count):
    _, X, y = tied(seed)
    assert relieff(X, y, n_neighbors=count) == pytest.approx(
        brute_relieff(X, y, count), rel=1e-9, abs=1e-12
    )
    _, X, y = drawn(seed)
    X, y = X[:12], y[:12]
    if len(set(y)) > 1:
        assert relieff(X, y, n_neighbors=count) == pytest.approx(
            brute_relieff(X, y, count), rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize(
    "weight",
    [
        lambda share, own: share,
        lambda share, own: 1 / (1 - own),
        lambda share, own: share / own,
        lambda share, own: -share / (1 - own),
    ],
)
def test_another_weight_of_the_misses_would_be_seen(weight):
    _, X, y = drawn(1)
    X, y = X[:14], y[:14]
    assert len(set(y)) > 2
    right, other = relieff(X, y, n_neighbors=2), brute_relieff(X, y, 2, weight)
    assert right == pytest.approx(brute_relieff(X, y, 2))
    assert abs(right - other).min() > 1e-3


def test_relieff_of_iris_is_what_others_publish():
    # the documentation of MathWorks' `relieff` prints these weights
    X, y = load_iris(return_X_y=True)
    assert relieff(X, y, n_neighbors=10).round(4).tolist() == [0.1399, 0.1226, 0.3590, 0.3754]


@given(seeds, st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_what_relieff_does_not_depend_on(seed, count):
    for rng, X, y in (drawn(seed), tied(seed)):
        score, n = partial(relieff, n_neighbors=count), X.shape[1]
        scores = score(X, y)
        assert (abs(scores) <= 1 + 1e-12).all()
        same = partial(pytest.approx, rel=1e-6, abs=1e-9)
        factors = rng.choice([-1, 1], n) * 2.0 ** rng.integers(-30, 30, n)
        assert score(X * factors + rng.integers(-3, 3, n) * factors, y) == same(scores)
        rows, columns = rng.permutation(len(y)), rng.permutation(n)
        assert score(X[rows][:, columns], y[rows]) == same(scores[columns])
        assert score(X, np.array(["pear", "apple", "fig", "nut"])[y]) == same(scores)
        # a feature that is constant
        assert score(np.column_stack([X, np.full(len(y), 0.1)]), y) == same([*scores, 0])


def test_relieff_takes_all_rows_of_a_class_that_has_fewer():
    _, X, y = drawn(6)
    everything = relieff(X, y, n_neighbors=len(y))
    assert np.array_equal(everything, relieff(X, y, n_neighbors=max(np.bincount(y))))
    # one row a class: no hits
    assert relieff([[0, 1], [1, 1], [3, 1]], [2, 0, 1]) == pytest.approx([2 / 3, 0])


def test_relieff_sees_what_only_two_features_together_tell():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 6)).astype(float)
    y = X[:, 2] != X[:, 4]
    assert set(np.argsort(-relieff(X, y))[:2]) == {2, 4}
    assert not {2, 4} & set(np.argsort(-fisher_score(X, y))[:2])


@pytest.mark.parametrize("block", [1, 50, 333])
def test_blocks_change_nothing(monkeypatch, block):
    _, X, y = drawn(7)
    whole = relieff(X, y, n_neighbors=3), mrmr(X, y).order
    monkeypatch.setattr(filters, "BLOCK", block)
    assert relieff(X, y, n_neighbors=3) == pytest.approx(whole[0], rel=1e-12)
    assert np.array_equal(mrmr(X, y).order, whole[1])


def peak_of(run, *data):
    """Most numbers held at once."""
    tracemalloc.start()
    run(*data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 8


def test_memory_is_bounded(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(filters, "BLOCK", 6000)
    X, y = rng.normal(size=(600, 8)), rng.integers(0, 3, 600)
    assert peak_of(relieff, X, y) < 10 * filters.BLOCK + 5 * X.size < len(X) ** 2
    # as where all rows are tied
    X, weights = rng.normal(size=(80, 40)), np.ones((80, 80))
    most = 10 * filters.BLOCK + 5 * weights.size
    assert peak_of(filters._weighted_differences, X, X, weights) < most < weights.size * 40


def information(first, second):
    """Mutual information in nats, cell by cell."""
    m, joint = len(first), Counter(zip(first, second, strict=True))
    one, two = Counter(first), Counter(second)
    return sum(c / m * math.log(c * m / (one[a] * two[b])) for (a, b), c in joint.items())


def cut(column, spread):
    """Levels by exact arithmetic."""
    if spread is None or len(set(column)) <= 3:
        return column
    column = [Fraction(value) for value in column]
    mean = sum(column) / len(column)
    least = Fraction(spread) ** 2 * sum((v - mean) ** 2 for v in column) / len(column)
    return [((v > mean) - (v < mean)) * ((v - mean) ** 2 > least) for v in column]


def brute_mrmr(X, y, criterion="difference", spread=0.5, total=lambda parts: sum(parts)):
    """The greedy order, by the definition."""
    y, columns = list(y), [cut(column, spread) for column in np.transpose(X).tolist()]
    constant = [j for j, column in enumerate(columns) if len(set(column)) == 1]
    left, order = [j for j in range(len(columns)) if j not in constant], []

    def worth(j):
        relevance = information(columns[j], y)
        if not order:
            return (0, relevance)
        redundancy = total([information(columns[j], columns[s]) for s in order]) / len(order)
        if criterion == "difference":
            return (0, relevance - redundancy)
        if redundancy > 1e-9:
            return (0, relevance / redundancy)
        return (1, relevance) if relevance > 1e-9 else (0, 0)

    while left:
        values = [worth(j) for j in left]
        kind, best = max(values)
        near = [j for j, v in zip(left, values, strict=True) if v[0] == kind and v[1] > best - 1e-9]
        order.append(near[0])
        left.remove(near[0])
    return order + constant


criteria = st.sampled_from(["difference", "quotient"])


@given(seeds, criteria, st.sampled_from([0, 0.5, 1, None]))
@settings(max_examples=200, deadline=None)
def test_mrmr_is_that_of_the_definition(seed, criterion, spread):
    for _, X, y in (drawn(seed), tied(seed)):
        X = np.column_stack([X, X[:, 0], X.round()])  # with equal columns and edges that are values
        found = mrmr(X, y, criterion=criterion, spread=spread)
        assert found.order.tolist() == brute_mrmr(X, y, criterion, spread)


def orders(rank):
    """Of fifty instances."""
    return [list(rank(*drawn(seed)[1:])) for seed in range(50)]


def test_another_criterion_or_edge_would_be_seen():
    right = orders(lambda X, y: mrmr(X, y).order)
    assert right == orders(brute_mrmr)
    for other in (
        partial(brute_mrmr, criterion="quotient"),
        partial(brute_mrmr, spread=0.6),
        partial(brute_mrmr, total=max),
        partial(brute_mrmr, total=lambda parts: -sum(parts)),
        partial(brute_mrmr, total=lambda parts: len(parts) * sum(parts)),
    ):
        assert sum(a != b for a, b in zip(right, orders(other), strict=True)) > 10


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_mutual_information_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, rng.integers(1, 6), (40, 8))
    given = rng.integers(0, 30, 40)
    found = filters._mutual_information(given, levels)
    assert found == pytest.approx([mutual_info_score(given, c) for c in levels.T], abs=1e-12)


@given(seeds, criteria)
@settings(max_examples=100, deadline=None)
def test_what_mrmr_does_not_depend_on(seed, criterion):
    rank = partial(mrmr, criterion=criterion)
    for rng, X, y in (drawn(seed), tied(seed)):
        n = X.shape[1]
        order = rank(X, y).order.tolist()
        factors = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-3, 3, n)
        assert rank(X * factors + rng.normal(size=n), y).order.tolist() == order
        rows = rng.permutation(len(y))
        assert rank(X[rows], y[rows]).order.tolist() == order
        assert rank(X, np.array(["pear", "apple", "fig", "nut"])[y]).order.tolist() == order
        assert rank(np.repeat(X, 2, axis=0), np.repeat(y, 2)).order.tolist() == order


def test_mrmr_does_not_depend_on_the_order_of_columns_that_differ():
    rng, X, y = drawn(9)
    X = rng.normal(size=(300, 12)) + rng.normal(size=(4, 12))[np.arange(300) % 4]
    columns = rng.permutation(12)
    order = mrmr(X, np.arange(300) % 4).order
    assert np.array_equal(columns[mrmr(X[:, columns], np.arange(300) % 4).order], order)


def test_mrmr_leaves_copies_and_constants_for_the_end():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    X = y[:, None] + rng.normal(size=(200, 3)) * [0.5, 1, 1]
    X = np.column_stack([np.full(200, 0.1), X[:, 0], X, X[:, 0] * -3 + 1])
    for criterion in ("difference", "quotient"):
        order = mrmr(X, y, criterion=criterion).order.tolist()
        assert order[0] == 1 and set(order[1:3]) == {3, 4} and order[3:] == [2, 5, 0]


def test_features_of_three_values_keep_them():
    # the two larger ones lie above the same edge
    X = np.repeat([[0.0], [10.0], [11.0]], [6, 3, 3], axis=0)
    other = np.append(np.tile([0.0, 1.0], 5), [0, 0])[:, None]
    y = np.repeat([0, 1, 2], [6, 3, 3])
    assert filters._to_levels(X, 0.5).ravel().tolist() == y.tolist()
    assert mrmr(np.column_stack([other, X]), y).order.tolist() == [1, 0]


@pytest.mark.parametrize("criterion", ["difference", "quotient"])
def test_fewer_features_are_the_first(criterion):
    X, y = load("sonar", return_X_y=True)
    full = mrmr(X, y, criterion=criterion)
    assert sorted(full.order) == list(range(60))
    assert full.scores[full.order].tolist() == list(range(60, 0, -1))
    for n_features in (1, 7, 60):
        some = mrmr(X, y, n_features=n_features, criterion=criterion)
        assert np.array_equal(some.order, full.order[:n_features])
        assert np.array_equal(some.scores[some.order], full.scores[some.order])
        assert np.count_nonzero(some.scores) == n_features
        best = SelectKBest(partial(mrmr, n_features=30, criterion=criterion), k=min(n_features, 30))
        support = best.fit(X, y).get_support(indices=True)
        assert set(support) == set(full.order[: min(n_features, 30)])


@pytest.mark.parametrize(
    ("score", "parameters", "error", "said"),
    [
        (relieff, {"n_neighbors": 0}, ValueError, "^n_neighbors=0; pass a number from 1"),
        (relieff, {"n_neighbors": 2.5}, ValueError, "^n_neighbors=2.5; pass a whole number"),
        (relieff, {"n_neighbors": "3"}, TypeError, "^n_neighbors='3' is str; pass a number"),
        (mrmr, {"n_features": 0}, ValueError, "^n_features=0; pass a number from 1"),
        (mrmr, {"n_features": 6}, ValueError, "^n_features=6; X has 5: pass at most as many"),
        (mrmr, {"criterion": "mid"}, ValueError, '^criterion=\'mid\'; pass "difference" or "quo'),
        (mrmr, {"criterion": None}, ValueError, '^criterion=None; pass "difference" or "quotient"'),
        (mrmr, {"spread": -1}, ValueError, "^spread=-1; pass a number from 0"),
        (mrmr, {"spread": True}, TypeError, "^spread=True is bool; pass a number from 0"),
    ],
)
def test_parameters_that_are_refused(score, parameters, error, said):
    _, X, y = drawn(8)
    with pytest.raises(error, match=said):
        score(X, y, **parameters)


def test_values_that_are_no_levels_are_refused():
    X, y = np.arange(514.0).reshape(257, 2), np.arange(257) % 2
    X[0, 0] = X[1, 0]
    assert filters._to_levels(X[:, :1], None).max() == 255
    assert mrmr(X[:, :1], y, spread=None).order.tolist() == [0]
    with pytest.raises(ValueError, match="^spread=None .* feature 1 has 257 values; pass a number"):
        mrmr(X, y, spread=None)


@pytest.mark.parametrize("score", [relieff, mrmr])
def test_the_others_serve_scikit_learn_too(score):
    X, y = load("sonar", return_X_y=True)
    machine = make_pipeline(SelectKBest(score, k=5), SVC()).fit(X, np.where(y == y[0], "a", "b"))
    assert machine[0].get_support().sum() == 5
    scores = score(X, y) if score is relieff else score(X, y).scores
    assert machine[0].scores_ == pytest.approx(scores, rel=1e-9)
