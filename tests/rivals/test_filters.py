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
from instances import draw
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fsnotes import fisher_score, load, mrmr, relieff
from fsnotes.rivals import filters

NAMES = np.array(["pear", "apple", "fig", "nut"])
quotient = partial(mrmr, criterion="quotient")
each = pytest.mark.parametrize("score", [fisher_score, relieff, mrmr])


def drawn(seed):
    """Rows of 2 to 4 classes of unequal sizes, in any order."""
    return draw(seed, 30, 5, n_classes=2 + seed % 3)


def tied(seed):
    """Few rows of few values: equal rows, equal distances, constant columns, classes of one row."""
    rng = np.random.default_rng(seed)
    n_classes = rng.integers(2, 5)
    y = rng.permutation(np.append(np.arange(n_classes), rng.integers(0, n_classes, 7)))
    X = rng.integers(0, rng.integers(2, 5), (len(y), 4)) * rng.choice([-2, 0, 1, 3], 4)
    return X.astype(float), y


# ---------------------------------------------------------------- definitions


def brute_fisher(X, y):
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


def test_fisher_scores_are_those_of_the_definition():
    for seed in range(100):
        X, y = drawn(seed)
        scores, n_classes = fisher_score(X, y), 2 + seed % 3
        assert scores == pytest.approx(brute_fisher(X, y.tolist()), rel=1e-9)
        # F has the same two sums, each over its degrees of freedom
        degrees = (len(y) - n_classes) / (n_classes - 1)
        assert scores * degrees == pytest.approx(f_classif(X, y)[0], rel=1e-6)


def chosen(distances, count):
    """Each way to choose so many of the nearest."""
    nearest = sorted(distances)[:count]
    ways = combinations(range(len(distances)), len(nearest))
    return [way for way in ways if sorted(distances[i] for i in way) == nearest]


def brute_relieff(X, y, count):
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
            factor = -1 if label == y[i] else Fraction(sizes[label], m - sizes[y[i]])
            ways = chosen([sum(part) for part in there], count)
            for way in ways:
                for k in way:
                    for j in features:
                        scores[j] += factor * there[k][j] / (len(way) * len(ways) * m)
    return [float(score) for score in scores]


def test_relieff_is_that_of_the_definition():
    for seed in range(100):
        count = 1 + seed % 4
        for X, y in (tied(seed), draw(seed, 12, 5, n_classes=2 + seed % 3)):
            known = brute_relieff(X, y, count)
            assert relieff(X, y, n_neighbors=count) == pytest.approx(known, rel=1e-9, abs=1e-12)


def test_relieff_of_iris_is_what_others_publish():
    # the documentation of MathWorks' `relieff` prints these weights
    X, y = load_iris(return_X_y=True)
    assert relieff(X, y, n_neighbors=10).round(4).tolist() == [0.1399, 0.1226, 0.3590, 0.3754]


def information(first, second):
    """Mutual information in nats, cell by cell."""
    m, joint = len(first), Counter(zip(first, second, strict=True))
    one, two = Counter(first), Counter(second)
    return sum(c / m * math.log(c * m / (one[a] * two[b])) for (a, b), c in joint.items())


def cut(column, spread):
    """Levels by exact arithmetic."""
    # columns of up to three values are levels already
    if spread is None or len(set(column)) <= 3:
        return column
    column = [Fraction(value) for value in column]
    mean = sum(column) / len(column)
    least = Fraction(spread) ** 2 * sum((v - mean) ** 2 for v in column) / len(column)
    return [((v > mean) - (v < mean)) * ((v - mean) ** 2 > least) for v in column]


def brute_mrmr(X, y, criterion, spread):
    """The greedy order, by the definition."""
    y, columns = list(y), [cut(column, spread) for column in np.transpose(X).tolist()]
    constant = [j for j, column in enumerate(columns) if len(set(column)) == 1]
    left, order = [j for j in range(len(columns)) if j not in constant], []

    def worth(j):
        relevance = information(columns[j], y)
        if not order:
            return (0, relevance)
        redundancy = sum(information(columns[j], columns[s]) for s in order) / len(order)
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


@pytest.mark.parametrize("criterion", ["difference", "quotient"])
@pytest.mark.parametrize("spread", [0, 0.5, 1, None])
def test_mrmr_is_that_of_the_definition(criterion, spread):
    for seed in range(50):
        for X, y in (drawn(seed), tied(seed)):
            # with copies, and edges that are values
            X = np.column_stack([X, X[:, 0], X.round(), np.full(len(y), 0.1)])
            found = mrmr(X, y, criterion=criterion, spread=spread)
            assert found.order.tolist() == brute_mrmr(X, y, criterion, spread)


# ---------------------------------------------------------------- what does not matter


@pytest.mark.parametrize("score", [fisher_score, relieff, mrmr, quotient])
def test_what_does_not_matter(score):
    """Units, signs and origins, the order of rows, names, a constant; and data are left alone."""
    for seed in range(100):
        more = {"n_neighbors": 1 + seed % 12} if score is relieff else {}
        rng = np.random.default_rng(seed)
        for X, y in (drawn(seed), tied(seed)):
            n, before = X.shape[1], X.copy()

            def found(X, y, more=more):
                answer = score(X, y, **more)
                return answer if isinstance(answer, np.ndarray) else answer.order

            scores = found(X, y)
            same = partial(pytest.approx, rel=1e-6, abs=1e-9)
            # powers of two change units and no digit
            factors = rng.choice([-1, 1], n) * 2.0 ** rng.integers(-30, 30, n)
            assert found(X * factors + rng.integers(-3, 3, n) * factors, y) == same(scores)
            rows, columns = rng.permutation(len(y)), rng.permutation(n)
            assert found(X[rows], y[rows]) == same(scores)
            assert found(X, NAMES[y]) == same(scores)
            last = 0 if score in (fisher_score, relieff) else n
            assert found(np.column_stack([X, np.full(len(y), 0.1)]), y) == same([*scores, last])
            if score in (fisher_score, relieff):
                assert found(X[:, columns], y) == same(scores[columns])
            if score is not relieff:
                assert found(np.repeat(X, 2, axis=0), np.repeat(y, 2)) == same(scores)
            assert np.array_equal(X, before)


def test_mrmr_does_not_depend_on_the_order_of_columns_that_differ():
    X, y = draw(9, 300, 12, n_classes=4)
    columns = np.random.default_rng(9).permutation(12)
    assert np.array_equal(columns[mrmr(X[:, columns], y).order], mrmr(X, y).order)


@pytest.mark.parametrize("block", [1, 50, 333])
def test_blocks_change_nothing(monkeypatch, block):
    X, y = drawn(7)
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


@pytest.mark.parametrize("constant", [0.1, 1 / 3, -1e300, 5e-324, 0.0])
def test_constant_features_have_no_score(constant):
    X, y = drawn(3)
    X[:, 2] = constant
    scores = fisher_score(X, y)
    assert scores[2] == 0 and (np.delete(scores, 2) > 0).all()


def test_features_that_vary_between_the_classes_alone_come_first():
    y = np.repeat([0, 1, 2], 7)
    X = np.array([[0.1, 0.1, 0.7], [0.0, 0.37, 1.0]])[:, y].T
    X = np.insert(X, 1, np.arange(21), axis=1)
    assert fisher_score(X, y).tolist() == [np.inf, fisher_score(X[:, [1]], y)[0], np.inf]
    # equal means
    assert fisher_score([[1], [-1], [1], [-1]], [0, 0, 1, 1]).tolist() == [0]
    # one row a class
    assert fisher_score([[1, 2], [3, 2]], [0, 1]).tolist() == [np.inf, 0]


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e300])
def test_sizes_whose_squares_overflow_or_vanish_do_no_harm(size):
    X, y = drawn(4)
    assert fisher_score(X * size, y) == pytest.approx(fisher_score(X, y), rel=1e-9)


def test_relieff_takes_all_rows_of_a_class_that_has_fewer():
    X, y = drawn(6)
    everything = relieff(X, y, n_neighbors=len(y))
    assert np.array_equal(everything, relieff(X, y, n_neighbors=max(np.bincount(y))))
    assert (abs(everything) <= 1).all()
    # one row a class: no hits
    assert relieff([[0, 1], [1, 1], [3, 1]], [2, 0, 1]) == pytest.approx([2 / 3, 0])


def test_relieff_sees_what_only_two_features_together_tell():
    X = np.random.default_rng(0).integers(0, 2, (200, 6)).astype(float)
    y = X[:, 2] != X[:, 4]
    assert set(np.argsort(-relieff(X, y))[:2]) == {2, 4}
    assert not {2, 4} & set(np.argsort(-fisher_score(X, y))[:2])


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


@each
def test_they_serve_scikit_learn(score):
    X, y = load("sonar", return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"band {j}" for j in range(X.shape[1])])
    machine = make_pipeline(SelectKBest(score, k=5), SVC()).fit(frame, NAMES[y])
    assert machine.score(frame, NAMES[y]) > 0.7
    scores = score(X, y).scores if score is mrmr else score(X, y)
    assert machine[0].scores_ == pytest.approx(scores, rel=1e-9)
    best = set(np.argsort(-scores)[:5])
    assert set(machine[0].get_feature_names_out()) == {f"band {j}" for j in best}


@each
@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[1, np.nan], [2, 3]], [0, 1], "X has NaN or infinity"),
        ([[1, np.inf], [2, 3]], [0, 1], "X has NaN or infinity"),
        ([[1, 2], [2, 3]], [1, 1], "y holds one class, 1; pass rows of two classes or more"),
        ([[1, 2], [2, 3]], [0.5, 0.7], "Unknown label type: continuous"),
        ([[1, 2], [2, 3]], [0, 1, 1], "inconsistent numbers of samples"),
        ([1, 2], [0, 1], "Expected 2D array"),
        ([[1e308], [-1e308]], [0, 1], "overflow; divide the features first"),
        ([[0], [1e308], [-1e308]], [0, 1, 1], "overflow; divide the features first"),
        (csr_array(np.eye(2)), [0, 1], "dense data are required"),
    ],
)
def test_data_that_are_refused(score, X, y, said):
    with pytest.raises((ValueError, TypeError), match=said):
        score(X, y)


@pytest.mark.parametrize(
    ("score", "parameters", "error", "said"),
    [
        (relieff, {"n_neighbors": 0}, ValueError, "^n_neighbors=0; pass a whole number from 1"),
        (relieff, {"n_neighbors": 2.5}, ValueError, "^n_neighbors=2.5; pass a whole number"),
        (relieff, {"n_neighbors": "3"}, TypeError, "^n_neighbors='3' is str; pass a whole"),
        (mrmr, {"n_features": 0}, ValueError, "^n_features=0; pass a whole number from 1"),
        (mrmr, {"n_features": 6}, ValueError, "^n_features=6; X has 5: pass at most as many"),
        (mrmr, {"criterion": "mid"}, ValueError, '^criterion=\'mid\'; pass "difference" or "quo'),
        (mrmr, {"criterion": None}, ValueError, '^criterion=None; pass "difference" or "quotient"'),
        (mrmr, {"spread": -1}, ValueError, "^spread=-1; pass a number from 0"),
        (mrmr, {"spread": True}, TypeError, "^spread=True is bool; pass a number from 0"),
    ],
)
def test_parameters_that_are_refused(score, parameters, error, said):
    with pytest.raises(error, match=said):
        score(*drawn(8), **parameters)


def test_values_that_are_no_levels_are_refused():
    X, y = np.arange(514.0).reshape(257, 2), np.arange(257) % 2
    X[0, 0] = X[1, 0]
    assert filters._to_levels(X[:, :1], None).max() == 255
    assert mrmr(X[:, :1], y, spread=None).order.tolist() == [0]
    with pytest.raises(ValueError, match="^spread=None .* feature 1 has 257 values; pass a number"):
        mrmr(X, y, spread=None)
