"""Moments of classes: equal to a two-pass computation however the rows came."""

import operator
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import GOOD, LABELS
from scipy import sparse

from fsnotes import ClassMoments
from fsnotes.core.moments import MomentPair, _Part


def two_pass(X, y, weights=None):
    """Weights, means and covariances of each class by the definition."""
    weights = np.ones(len(y)) if weights is None else weights
    found = []
    for label in np.unique(y):
        mine = y == label
        rows = X[mine] - X[mine][0]  # or a single row would have a variance, of rounding
        mean = np.average(rows, axis=0, weights=weights[mine])
        centered = rows - mean
        covariance = (weights[mine, None] * centered).T @ centered / weights[mine].sum()
        found.append((weights[mine].sum(), mean + X[mine][0], covariance))
    return found


def agree(moments, expected, tolerance=1e-10):
    """Compare with weights, means and covariances, in units of the standard deviations."""
    for index, (weight, mean, covariance) in enumerate(expected):
        sd = np.sqrt(np.diag(covariance))
        sd = np.where(sd > 0, sd, 1)
        assert np.isclose(moments.weights_[index], weight, rtol=1e-12)
        assert abs((moments.means_[index] - mean) / sd).max() < tolerance
        assert abs((moments.covariance(index) - covariance) / np.outer(sd, sd)).max() < tolerance
        factor = moments.factor(index)
        assert factor.shape[0] <= max(len(mean), moments.counts_[index])
        assert abs((factor.T @ factor - covariance) / np.outer(sd, sd)).max() < tolerance
        assert np.allclose(moments.variances()[index], np.diag(covariance), rtol=1e-10, atol=1e-14)


def same(first, second):
    covariances = [second.covariance(index) for index in range(len(second.classes_))]
    agree(first, zip(second.weights_, second.means_, covariances, strict=True))
    assert np.array_equal(first.counts_, second.counts_)


def blocks_of(X, y, weights, edges):
    """Rows from one edge to the next, as arguments of `partial_fit`."""
    for start, stop in pairwise(edges):
        block = slice(start, stop)
        yield X[block], y[block], None if weights is None else weights[block]


def streamed(X, y, weights, edges):
    moments = ClassMoments()
    for block in blocks_of(X, y, weights, edges):
        moments.partial_fit(*block, classes=[0, 1])
    return moments


def draw(seed, n_samples, n_features, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)) @ rng.standard_normal((n_features,) * 2)
    X = X * 10.0 ** rng.uniform(-3, 3, n_features) + rng.normal(scale=100, size=n_features)
    y = np.arange(n_samples) % n_classes
    return X, rng.permutation(y), rng


@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(4, 60),
    n_features=st.integers(1, 30),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_any_data_in_two_passes(seed, n_samples, n_features, n_classes, weighted):
    X, y, rng = draw(seed, n_samples, n_features, n_classes)
    weights = rng.uniform(0.1, 5, n_samples) if weighted else None
    agree(ClassMoments.from_data(X, y, weights), two_pass(X, y, weights))


@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(6, 80),
    n_features=st.integers(1, 30),
    cuts=st.lists(st.integers(0, 80), max_size=6),
    weighted=st.booleans(),
    data=st.data(),
)
@settings(max_examples=120, deadline=None)
def test_any_order_and_grouping_gives_the_batch(seed, n_samples, n_features, cuts, weighted, data):
    X, y, rng = draw(seed, n_samples, n_features)
    weights = rng.uniform(0.1, 5, n_samples) if weighted else None
    batch = ClassMoments.from_data(X, y, weights)
    edges = [0, *sorted(min(cut, n_samples) for cut in cuts), n_samples]
    same(streamed(X, y, weights, edges), batch)
    blocks = blocks_of(X, y, weights, edges)
    parts = [ClassMoments.from_data(*block, classes=[0, 1]) for block in blocks]
    while len(parts) > 1:  # two of them at a time, in any order
        first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        second = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        held = pickle.dumps(first), pickle.dumps(second)
        parts.append(first + second)
        assert held == (pickle.dumps(first), pickle.dumps(second))
    same(parts[0], batch)


def test_sum_adds_up_and_leaves_its_terms_alone():
    X, y, _ = draw(0, 40, 3)
    whole = ClassMoments.from_data(X, y)
    before = pickle.dumps(whole)
    same(sum(ClassMoments.from_data(X[i::4], y[i::4], classes=[0, 1]) for i in range(4)), whole)
    lacking = ClassMoments.from_data(X[y == 0], y[y == 0], classes=[0, 1])
    for total in (lacking + whole, ClassMoments() + whole, whole + ClassMoments(), sum([whole])):
        total.partial_fit(X, y)
        assert pickle.dumps(whole) == before


@pytest.mark.parametrize("n_samples", [40, 3000])
@pytest.mark.parametrize("block", [1, 7, 5000])
@pytest.mark.parametrize("n_features", [4, 50])
def test_a_large_offset_costs_no_digits(n_samples, block, n_features):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] += 1e8
    X[:, 1] -= 3e8
    y = rng.permutation(np.arange(n_samples) % 2)
    moments = streamed(X, y, None, [*range(0, n_samples, block), n_samples])
    for index in (0, 1):
        # the same data in exact arithmetic: a shift by a float near the data is exact
        shifted = X[y == index] - X[0]
        expected = np.cov(shifted.T, ddof=0)
        sd = np.sqrt(np.diag(expected))
        found = moments.covariance(index)
        assert abs((found - expected) / np.outer(sd, sd)).max() < 1e-10
    sums = [
        [sum(map(Fraction, X[y == index, column])) / int((y == index).sum()) for column in (0, 1)]
        for index in (0, 1)
    ]
    gap = [float(b - a) for a, b in zip(*sums, strict=True)]
    assert abs(moments.gap()[:2] - gap).max() < 1e-10
    assert np.array_equal(moments.gap(0, 1), -moments.gap())


def test_a_first_row_far_off_and_drifting_blocks_cost_no_digits():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((2000, 3)) + np.linspace(0, 1e5, 2000)[:, None]
    X[:2] = 1e7
    y = np.arange(2000) % 2
    moments = streamed(X, y, None, range(0, 2001, 100))
    agree(moments, two_pass(X, y))


@pytest.mark.parametrize("n_features", [3, 50])
@pytest.mark.parametrize("block", [1, 10, 400])
def test_a_far_row_of_tiny_weight_costs_no_digits(n_features, block):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((400, n_features)), np.arange(400) % 2
    X[:20], weights = 1e8, np.ones(400)
    weights[:20] = 1e-20
    moments = streamed(X, y, weights, [*range(0, 400, block), 400])
    expected = [X[20:][y[20:] == index] for index in (0, 1)]
    for index in (0, 1):
        assert abs(moments.means_[index] - expected[index].mean(axis=0)).max() < 1e-7
        # the far rows add 10 x 1e-20 x 1e16 / 190 to each variance, which is true
        apart = moments.covariance(index) - np.cov(expected[index].T, ddof=0)
        assert abs(apart).max() < 1e-5


@pytest.mark.parametrize("n_samples", [30, 300])
def test_weights_count_rows(n_samples):
    X, y, rng = draw(3, n_samples, 20)
    times = rng.integers(0, 4, n_samples)
    weighted = ClassMoments.from_data(X, y, times)
    repeated = ClassMoments.from_data(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.array_equal(weighted.weights_, repeated.weights_)
    assert weighted.counts_.sum() == np.count_nonzero(times)
    agree(weighted, two_pass(np.repeat(X, times, axis=0), np.repeat(y, times)))


def test_wide_data_never_make_a_square_matrix(monkeypatch):
    X, y, _ = draw(4, 40, 3000)
    moments = streamed(X, y, None, [*range(0, 40, 7), 40])
    both = moments + ClassMoments.from_data(X, y)
    for found in (moments, both):
        assert all(part.scatter is None for part in found._parts)
        assert found.factor(0).shape == (found.counts_[0], 3000)
        # pickled, all of it takes what the rows take
        assert len(pickle.dumps(found)) < 1.2 * found.counts_.sum() * 3000 * 8 + 1e5


def test_rows_become_a_scatter_when_there_are_enough():
    X, y, _ = draw(5, 30, 8)
    assert all(part.scatter is None for part in ClassMoments.from_data(X[:10], y[:10])._parts)
    moments = streamed(X, y, None, [0, 10, 30])
    assert all(part.scatter is not None and not part.chunks for part in moments._parts)
    agree(moments, two_pass(X, y))


def test_constant_columns_and_single_rows_have_no_variance():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [7.0, 5.0]])
    moments = ClassMoments.from_data(X, ["a", "a", "b"])
    assert moments.variances().tolist() == [[0.25, 0.0], [0.0, 0.0]]
    assert moments.factor(1).tolist() == [[0.0, 0.0]]
    assert np.array_equal(moments.gap(), [5.5, 0.0])


def test_a_block_counts_as_a_whole_or_not_at_all(monkeypatch):
    X, y, _ = draw(0, 60, 3)
    moments = ClassMoments.from_data(X[:30], y[:30], classes=[0, 1])
    before = moments.counts_.tolist(), moments.means_.tolist(), moments.covariance(1).tolist()
    merge = _Part._merge
    calls = []

    def interrupted(part, *summary):
        calls.append(part)
        if len(calls) == 2:
            raise KeyboardInterrupt
        merge(part, *summary)

    monkeypatch.setattr(_Part, "_merge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        moments.partial_fit(X[30:], y[30:])
    after = moments.counts_.tolist(), moments.means_.tolist(), moments.covariance(1).tolist()
    assert after == before
    moments.partial_fit(X[30:], y[30:])
    assert moments.counts_.sum() == 60


def test_no_variance_is_negative_whatever_rows_weigh():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = 1e12 + rng.normal(size=(8, 1))
        moments = ClassMoments.from_data(X, np.arange(8) % 2, 10 ** rng.uniform(-50, 50, 8))
        assert (moments.variances() >= 0).all()


@given(
    value=st.floats(-1e6, 1e6, allow_subnormal=False),
    n_samples=st.integers(4, 50),
    block=st.integers(1, 20),
    weighted=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_a_constant_column_has_no_variance_at_all(value, n_samples, block, weighted):
    X, y, rng = draw(n_samples, n_samples, 8)
    X[:, 3] = value
    weights = rng.uniform(0.1, 5, n_samples) if weighted else None
    blocks = blocks_of(X, y, weights, [*range(0, n_samples, block), n_samples])
    parts = [ClassMoments.from_data(*block, classes=[0, 1]) for block in blocks]
    for moments in (ClassMoments.from_data(X, y, weights), sum(parts)):
        assert moments.variances()[:, 3].tolist() == [0.0, 0.0]
        assert moments.means_[:, 3].tolist() == [value, value]
        assert moments.gap()[3] == 0.0
        assert not moments.covariance(0)[3].any() and not moments.factor(1)[:, 3].any()


def test_any_labels_and_frames():
    X, y, _ = draw(6, 30, 3)
    names = np.array(["late", "early"])[y]
    moments = ClassMoments.from_data(pd.DataFrame(X), pd.Series(names))
    assert moments.classes_.tolist() == ["early", "late"]
    same(moments, ClassMoments.from_data(X, 1 - y))
    assert repr(moments) == "ClassMoments('early': 15, 'late': 15; 3 features)"
    assert repr(ClassMoments()) == "ClassMoments(nothing yet)"


def test_callers_arrays_are_left_alone():
    X, y, rng = draw(8, 50, 3)
    weights = rng.uniform(1, 2, 50)
    copies = X.copy(), y.copy(), weights.copy()
    ClassMoments.from_data(X, y, weights).partial_fit(X, y, weights)
    assert all(np.array_equal(a, b) for a, b in zip(copies, (X, y, weights), strict=True))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((GOOD, [0] * 6), ValueError, r"have the classes \[0\].*classes="),
        ((GOOD[0], [0]), ValueError, r"X has shape \(2,\)"),
        ((GOOD, LABELS[:4]), ValueError, r"X has shape \(6, 2\) and y \(4,\)"),
        (
            (np.where(GOOD == 8, np.nan, GOOD), LABELS),
            ValueError,
            r"in 1 of its columns: 1 \(1 rows\)",
        ),
        ((np.where(GOOD == 3, np.inf, GOOD), LABELS), ValueError, "NaN or infinity"),
        (([["a", "b"]] * 6, LABELS), TypeError, "X holds text, such as 'a'; encode it"),
        ((GOOD, [0.0, 0, 0, 1, 1, np.nan]), ValueError, "y has missing labels .NaN"),
        ((sparse.csr_array(GOOD), LABELS), TypeError, "X is sparse.*toarray"),
        ((GOOD, LABELS, [1, 1, 1, 1, 1]), ValueError, "6 rows, but sample_weight has shape"),
        ((GOOD, LABELS, [1, 1, 1, 1, 1, -1]), ValueError, "NaN, negative or infinite"),
        ((GOOD, LABELS, [1, 1, 1, 1, 1, np.nan]), ValueError, "NaN, negative or infinite"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, error, message):
    with pytest.raises(error, match=message):
        ClassMoments.from_data(*arguments)


def test_later_blocks_must_fit():
    moments = ClassMoments.from_data(GOOD, LABELS)
    with pytest.raises(ValueError, match="3 columns, but these moments began with 2"):
        moments.partial_fit(np.ones((2, 3)), [0, 1])
    with pytest.raises(ValueError, match=r"y holds \[7\], but the classes are \[0, 1\]"):
        moments.partial_fit(GOOD, [0, 0, 0, 1, 1, 7])
    with pytest.raises(ValueError, match=r"classes \[0, 2\], but these moments began with"):
        moments.partial_fit(GOOD, LABELS, classes=[0, 2])
    with pytest.raises(ValueError, match=r"classes \[3, 4\], but these .* with \[0, 1\]"):
        operator.add(moments, ClassMoments.from_data(GOOD, np.array(LABELS) + 3))
    with pytest.raises(ValueError, match="1 columns, but these moments began with 2"):
        operator.add(moments, ClassMoments.from_data(GOOD[:, :1], LABELS))
    with pytest.raises(TypeError):
        operator.add(moments, 1)
    same(moments, ClassMoments.from_data(GOOD, LABELS))


def test_what_is_not_there_yet_is_said():
    with pytest.raises(ValueError, match="no moments yet"):
        ClassMoments().gap()
    half = ClassMoments.from_data(GOOD, ["a"] * 6, classes=["a", "b"])
    assert half.counts_.tolist() == [6, 0]
    with pytest.raises(ValueError, match="class 'b' has no rows yet"):
        half.covariance(1)
    half.partial_fit(GOOD + 1, ["b"] * 6)
    assert np.allclose(half.gap(), [1.0, 1.0], rtol=1e-14)
    empty = half.partial_fit(GOOD[:0], LABELS[:0])
    assert empty.counts_.tolist() == [6, 6]


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("n_rows", [8, 60])
def test_a_pair_is_that_of_the_covariances(n_rows, ridge):
    """As a matrix where a class has enough rows, and from its rows where it has not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 12)), np.arange(n_rows) % 3 == 0
    unit = rng.uniform(0.5, 2, 12)
    moments = ClassMoments.from_data(X, y.astype(int))
    pair = MomentPair.from_moments(moments, np.arange(12), unit, ridge)
    for index, label in ((0, True), (1, False)):
        covariance = np.cov((X[y == label] / unit).T, ddof=0) + ridge * np.eye(12)
        assert np.allclose(pair.variances()[index], np.diag(covariance), rtol=1e-12)
        for features in ([3], [7, 2, 9], np.arange(12), np.array([], dtype=int)):
            features = np.asarray(features, dtype=int)
            before = pair.block(index).copy()
            rows = pair.covariance_rows(index, features)
            assert rows.shape == (len(features), 12)
            assert np.allclose(rows, covariance[features], rtol=1e-12, atol=1e-14)
            rows += 1  # a copy
            assert np.array_equal(pair.block(index), before)
            few = pair.subset(features).variances()[index]
            assert np.allclose(few, np.diag(covariance)[features], rtol=1e-12)
    assert pair.variances() is pair.variances()


def test_a_first_block_that_is_refused_leaves_nothing():
    moments = ClassMoments()
    with pytest.raises(ValueError, match="y holds"):
        moments.partial_fit(GOOD, LABELS, classes=[5, 6])
    assert not vars(moments).get("classes_") and repr(moments) == "ClassMoments(nothing yet)"
    with pytest.raises(ValueError, match="classes has missing labels"):
        moments.partial_fit(GOOD, LABELS, classes=(1, None))
    moments.partial_fit(GOOD, LABELS)
    assert moments.counts_.tolist() == [3, 3]


def test_integers_and_booleans_may_stand_in_arrays_of_objects():
    expected = ClassMoments.from_data(GOOD, LABELS)
    for labels in (np.array(LABELS, dtype=object), np.array(LABELS, dtype=bool).astype(object)):
        moments = ClassMoments.from_data(GOOD, labels)
        assert moments.classes_.dtype.kind in "bi"
        assert np.array_equal(moments.means_, expected.means_)
    assert ClassMoments.from_data(GOOD, LABELS, 2).weights_.tolist() == [6, 6]
