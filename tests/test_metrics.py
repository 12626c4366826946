"""Measures against their definitions, and intervals against what they promise."""

import math
import subprocess
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.feature_selection import SelectKBest

from fsnotes.metrics import (
    accuracy_interval,
    compare_paired,
    mcc,
    mcc_ceiling,
    psf,
    score_interval,
    stability,
    tsa,
)

LEVELS = [0.5, 0.9, 0.95, 0.99]
fractions = st.floats(0.01, 0.99)
score = st.integers(0, 100).map(lambda n: n / 100)
scores = st.lists(score, min_size=2, max_size=12)


def printed_mcc(tp, tn, fp, fn):
    """Equation (60) of the paper on the zero-norm machine."""
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(np.maximum(product, 1))


def labels(tp, tn, fp, fn):
    return np.repeat([1, 0, 0, 1], [tp, tn, fp, fn]), np.repeat([1, 0, 1, 0], [tp, tn, fp, fn])


def confusions(n_samples):
    """All confusion matrices of two classes, as columns TP, TN, FP, FN."""
    grid = np.indices((n_samples + 1,) * 3).reshape(3, -1)
    last = n_samples - grid.sum(axis=0)
    return np.vstack([grid, last])[:, last >= 0]


@st.composite
def mask_tables(draw, min_sets=2):
    shape = draw(st.integers(min_sets, 8)), draw(st.integers(1, 10))
    masks = draw(arrays(bool, shape))
    assume(0 < masks.sum() < masks.size)
    return masks


@pytest.mark.parametrize("n_samples", range(1, 9))
def test_tsa_and_mcc_follow_the_printed_formulas(n_samples):
    """Also where (60) is 0 / 0, which counts as 0."""
    for tp, tn, fp, fn in confusions(n_samples).T.tolist():
        y_true, y_pred = labels(tp, tn, fp, fn)
        assert tsa(y_true, y_pred) == (tp + tn) / n_samples
        assert math.isclose(mcc(y_true, y_pred), printed_mcc(tp, tn, fp, fn), abs_tol=1e-12)


def test_labels_of_any_kind():
    y_true, y_pred = np.array(["a", "b", "c", "c"]), np.array(["a", "b", "c", "b"])
    # 3 of 4 are right; labels occur 1, 1, 2 times and answers 1, 2, 1: 4 * 3 - 5 over 16 - 6
    expected = 7 / np.sqrt(10 * 10)
    for kind in (list, np.array, pd.Series, lambda y: y.astype(object)):
        assert tsa(kind(y_true), kind(y_pred)) == 0.75
        assert math.isclose(mcc(kind(y_true), kind(y_pred)), expected)
    assert tsa([1.0, 2.0], np.array([True, False])) == 0.5
    assert tsa(pd.Series(["1", "0", "1"], dtype=object), ["1", "0", "0"]) == 2 / 3
    assert isinstance(tsa([1], [1]), float) and isinstance(mcc(y_true, y_pred), float)


@pytest.mark.parametrize("n_samples", range(1, 25))
def test_mcc_ceiling_is_the_maximum_over_all_confusion_matrices(n_samples):
    table = confusions(n_samples)
    right = table[:2].sum(axis=0)
    reached = np.full(n_samples + 1, -np.inf)
    np.maximum.at(reached, right, printed_mcc(*table))
    ceiling = mcc_ceiling(np.arange(n_samples + 1) / n_samples)
    assert (reached <= ceiling + 1e-12).all()
    # TP = TN needs an even number of right answers
    assert np.allclose(reached[::2], ceiling[::2])
    # and is reached by no other matrix, unless all answers are right or none is
    tight = np.isclose(printed_mcc(*table), ceiling[right]) & (0 < right) & (right < n_samples)
    assert (table[0, tight] == table[1, tight]).all()
    assert (table[2:, tight].min(axis=0) == 0).all()


def test_mcc_ceiling_bounds_neither_means_over_folds_nor_three_classes():
    folds = [labels(2, 2, 0, 0), labels(1, 1, 0, 2)]
    mean = np.mean([mcc(*fold) for fold in folds])
    assert mean > mcc_ceiling(np.mean([tsa(*fold) for fold in folds])) + 0.05
    pooled = np.hstack(folds)
    assert mcc(*pooled) <= mcc_ceiling(tsa(*pooled)) + 1e-12
    y_true, y_pred = [0, 1, 1], [0, 2, 2]
    assert mcc(y_true, y_pred) > mcc_ceiling(tsa(y_true, y_pred)) + 0.2


def test_mcc_ceiling_keeps_shapes():
    assert isinstance(mcc_ceiling(0.5), float) and mcc_ceiling(1) == 1 and mcc_ceiling(0) == 0
    assert mcc_ceiling([[0.5], [1.0]]).shape == (2, 1)


@given(mask_tables(min_sets=1))
def test_psf_is_a_percentage(masks):
    assert math.isclose(psf(masks), 100 * masks.sum() / masks.size)
    assert math.isclose(psf(list(masks)), np.mean([psf(mask) for mask in masks]))


def test_masks_come_as_selectors_too():
    X, y = np.random.default_rng(0).normal(size=(12, 5)), np.arange(12) % 2
    fitted = [SelectKBest(k=k).fit(X[k:], y[k:]) for k in (1, 2, 3)]
    masks = np.array([selector.get_support() for selector in fitted])
    assert psf(fitted[1]) == 40 and psf(fitted) == 40 == psf((fitted[0], masks[1], fitted[2]))
    assert stability(fitted) == stability(masks) == stability(pd.DataFrame(masks))


@given(mask_tables())
def test_stability_is_a_mean_over_pairs(masks):
    """The unbiased variance is half the mean squared difference of two draws."""
    pairs = [np.mean(a != b) / 2 for a, b in combinations(masks, 2)]
    value = stability(masks).value
    assert math.isclose(value, 1 - np.mean(pairs) / masks.mean() / (1 - masks.mean()), abs_tol=1e-9)


@given(mask_tables(), st.sampled_from(LEVELS))
def test_stability_error_follows_the_authors_formula(masks, level):
    n_sets, n_features = masks.shape
    p, sizes = masks.mean(axis=0), masks.sum(axis=1)
    size = sizes.mean()
    chance = size / n_features * (1 - size / n_features)
    found = stability(masks, level=level)
    phi = [
        np.mean(row * p)
        - k * size / n_features**2
        + found.value / 2 * (2 * k * size / n_features**2 - (k + size) / n_features + 1)
        for row, k in zip(masks, sizes, strict=True)
    ]
    error = np.sqrt(4 / n_sets**2 * np.sum((np.array(phi) / chance - np.mean(phi) / chance) ** 2))
    assert math.isclose(found.standard_error, error, abs_tol=1e-9)
    low, high = found.value + error * np.array(stats.norm.interval(level))
    assert np.allclose([found.low, found.high], [low, high], atol=1e-9)


def draw_masks(rng, n_sets, probabilities):
    """Draw sets of uneven size: each from one of several distributions of independent features."""
    chosen = rng.integers(len(probabilities), size=n_sets)
    return rng.random((n_sets, probabilities.shape[1])) < probabilities[chosen]


SOURCES = np.array([[0.9] * 6 + [0.1] * 24, [0.9] * 3 + [0.3] * 27, [0.5] * 2 + [0.05] * 28])


@pytest.mark.parametrize(
    ("n_sets", "level", "expected"),
    [(10, 0.95, 0.89), (100, 0.95, 0.95), (200, 0.8, 0.8), (200, 0.95, 0.95)],
)
def test_stability_interval_covers(n_sets, level, expected):
    """As the docstring promises, that of ten sets less often than its level says."""
    rng = np.random.default_rng(1)
    p = SOURCES.mean(axis=0)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    found = [stability(draw_masks(rng, n_sets, SOURCES), level=level) for _ in range(1500)]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert abs(covered - expected) < 0.03
    if n_sets > 10:
        assert abs(np.mean([one.value for one in found]) - truth) < 0.005


def test_stability_of_equal_full_and_empty_sets():
    one = vars(stability([[True, False, True, False, False]] * 7))
    assert one == {"value": 1.0, "standard_error": 0.0, "low": 1.0, "high": 1.0}
    for trivial in (np.zeros((4, 3), bool), np.ones((4, 3), bool)):
        assert all(math.isnan(number) for number in vars(stability(trivial)).values())
    assert stability([[True], [False]]).value == -1


@given(scores, fractions, st.sampled_from(LEVELS))
@settings(deadline=None)
def test_score_interval_widens_the_naive_one(scores, test_fraction, level):
    found = score_interval(scores, test_fraction=test_fraction, level=level)
    n_splits, naive = len(scores), np.std(scores, ddof=1) / np.sqrt(len(scores))
    ratio = np.sqrt(1 + n_splits * test_fraction / (1 - test_fraction))
    assert math.isclose(found.value, np.mean(scores), abs_tol=1e-12)
    assert math.isclose(found.standard_error, naive * ratio, abs_tol=1e-12)
    reach = stats.t.ppf((1 + level) / 2, n_splits - 1) * found.standard_error
    assert np.allclose([found.value - found.low, found.high - found.value], reach, 1e-9, 1e-12)


@given(scores, st.data(), fractions, st.sampled_from(LEVELS))
@settings(deadline=None)
def test_compare_paired_is_the_corrected_t_test(scores_a, data, test_fraction, level):
    n_splits = len(scores_a)
    scores_b = data.draw(st.lists(score, min_size=n_splits, max_size=n_splits))
    options = {"test_fraction": test_fraction, "level": level}
    found = compare_paired(scores_a, scores_b, **options)
    difference = np.subtract(scores_a, scores_b)
    single = score_interval(difference, **options)
    assert {key: getattr(found, key) for key in vars(single)} == vars(single)
    assume(np.ptp(difference) > 1e-9)
    naive = stats.ttest_rel(scores_a, scores_b)
    expected = naive.statistic / np.sqrt(1 + n_splits * test_fraction / (1 - test_fraction))
    assert math.isclose(found.t, expected, abs_tol=1e-9)
    assert math.isclose(found.p_value, 2 * stats.t.sf(abs(expected), n_splits - 1), abs_tol=1e-9)


def test_compare_paired_without_spread():
    same = compare_paired([0.1, 0.7, 0.9], [0.1, 0.7, 0.9], test_fraction=0.1)
    assert vars(same) == dict.fromkeys(vars(same), 0.0) | {"p_value": 1.0}
    for sign in (1, -1):
        found = compare_paired([sign * 0.1] * 3, [0] * 3, test_fraction=0.1)
        assert (found.value, found.low, found.high) == (sign * 0.1,) * 3
        assert (found.t, found.p_value) == (sign * math.inf, 0)


@given(st.integers(0, 200), st.integers(1, 200), st.sampled_from(LEVELS))
@settings(deadline=None)
def test_accuracy_interval_is_wilsons(n_right, n_total, level):
    assume(n_right <= n_total)
    low, high = accuracy_interval(n_right, n_total, level=level)
    expected = stats.binomtest(n_right, n_total).proportion_ci(level, method="wilson")
    assert np.allclose([low, high], [expected.low, expected.high], rtol=1e-12, atol=1e-14)
    assert 0 <= low <= n_right / n_total <= high <= 1
    assert (low == 0) == (n_right == 0) and (high == 1) == (n_right == n_total)
    assert accuracy_interval(np.uint8(n_right), np.uint8(n_total), level=level) == (low, high)


TWO = [0.5, 0.6]
MASKS = [[True, False], [True, True]]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: tsa([], []), r"y_true has shape \(0,\) and y_pred \(0,\); pass one label"),
        (lambda: tsa([1, 2], [1]), r"shape \(2,\) and y_pred \(1,\); pass one label"),
        (lambda: mcc([[1], [0]], [[1], [0]]), r"shape \(2, 1\)"),
        (lambda: tsa([0, 1], [0.0, 0.3]), r"y_pred holds 0.3, which is no label; pass labels, not"),
        (lambda: mcc([0, np.nan], [0, 1]), "y_true holds nan, which is no label"),
        (lambda: tsa([0, 1], ["0", "1"]), "int64 and y_pred of <U1, so none can agree; pass"),
        (lambda: mcc(["0", "1"], [False, True]), "<U1 and y_pred of bool, so none"),
        (lambda: tsa(pd.Series(["1", "0"], dtype=object), [1, 0]), "none can agree"),
        (lambda: tsa(pd.Series(["a", None], dtype=object), ["a", "b"]), "without one"),
        (lambda: tsa(["a", 1], ["a", "1"]), "y_true holds labels of several kinds"),
        (lambda: mcc([b"a", b"b"], [b"a", b"a"]), "y_true holds labels of .* no text"),
        (lambda: mcc([0, 1j], [0, 1]), "y_true holds labels of .* no text, numbers or booleans"),
        (lambda: mcc([0, 1], [np.inf, 1]), "y_pred holds inf, which is no label"),
        (lambda: tsa(np.ma.array([0, 1], mask=[0, 1]), [0, 1]), "y_true is a masked array; leave"),
        (
            lambda: score_interval(np.ma.array(TWO, mask=[0, 1]), test_fraction=0.1),
            "scores is a ma",
        ),
        (lambda: psf(np.ma.array([True, False], mask=[0, 1])), "support is a masked array"),
        (lambda: mcc_ceiling(np.ma.array([0.5, 1], mask=[0, 1])), "accuracy is a masked array"),
        (lambda: score_interval([1e200, -1e200], test_fraction=0.1), r"scores holds 1e\+200; pass"),
        (lambda: mcc_ceiling(75.1), "accuracy=75.1; pass numbers from 0 to 1"),
        (lambda: mcc_ceiling([0.5, -0.1]), r"accuracy=\[0.5, -0.1\]; pass"),
        (lambda: psf([]), r"support has shape \(0,\) and dtype float64; pass boolean masks"),
        (lambda: psf(np.zeros((0, 3), bool)), r"support has shape \(0, 3\) and dtype bool; pass"),
        (lambda: psf([0, 2]), r"support has shape \(2,\) and dtype int64; pass boolean masks"),
        (lambda: psf([[[True]]]), r"support has shape \(1, 1, 1\)"),
        (lambda: psf([[True], [True, False]]), "dtype object; pass boolean masks of one length"),
        (lambda: stability([True, False]), "supports holds 1 set; pass those of at least 2"),
        (lambda: stability([[1, 0], [0, 1]]), "supports has shape .* dtype int64; pass boolean"),
        (lambda: stability(MASKS, level=95), "level=95; pass a number from 0 to 1, 0 excl"),
        (lambda: score_interval([0.5], test_fraction=0.1), r"scores has shape \(1,\) .* 2 splits"),
        (lambda: score_interval(["a", "b"], test_fraction=0.1), "dtype <U1; pass one number"),
        (lambda: score_interval([TWO, TWO], test_fraction=0.1), r"scores has shape \(2, 2\)"),
        (lambda: score_interval([0.1, np.nan], test_fraction=0.1), r"scores\[1\] is nan; leave"),
        (
            lambda: score_interval(TWO, test_fraction=1),
            "test_fraction=1; pass a number above 0 and",
        ),
        (lambda: score_interval(TWO, test_fraction=0.1, level=0), "level=0; pass"),
        (lambda: compare_paired(TWO, [1], test_fraction=0.1), r"scores_b has shape \(1,\)"),
        (lambda: compare_paired([np.inf, 1], TWO, test_fraction=0.1), r"scores_a\[0\] is inf"),
        (lambda: compare_paired(TWO, [1, 2, 3], test_fraction=0.1), "2 splits and scores_b 3; sc"),
        (lambda: compare_paired(TWO, TWO, test_fraction="0.1"), "test_fraction='0.1'"),
        (lambda: accuracy_interval(3, 0), "n_total=0; pass a whole number from 1 to"),
        (lambda: accuracy_interval(-1, 3), "n_right=-1; pass a whole number from 0"),
        (lambda: accuracy_interval(0.9, 10), "n_right=0.9"),
        (lambda: accuracy_interval(4, 3), "n_right=4 exceeds n_total=3; pass right, then total"),
        (lambda: accuracy_interval(1, 3, level=1.0), "level=1.0; pass"),
    ],
)
def test_metrics_refuse_what_they_cannot_measure(call, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        call()


def test_import_is_light():
    code = (
        "import sys; import numpy; before = set(sys.modules); import fsnotes.metrics; "
        "print({name.split('.')[0] for name in set(sys.modules) - before} & {'scipy', 'sklearn'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
