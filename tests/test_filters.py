"""Filters: by brute force, what they do not depend on, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fsnotes import fisher_score, load

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
    ],
)
def test_refusals(X, y, said):
    with pytest.raises(ValueError, match=said):
        fisher_score(X, y)


def test_input_is_left_as_it_was():
    _, X, y = drawn(5)
    before = X.copy()
    fisher_score(X, y)
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
