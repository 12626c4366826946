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
from scipy.optimize import linprog
from sklearn.feature_selection import SelectKBest

from fsnotes.metrics import (
    accuracy_interval,
    compare_paired,
    mcc,
    mcc_ceiling,
    mcc_spread,
    psf,
    score_interval,
    stability,
    tsa,
)

LEVELS = [0.5, 0.9, 0.95, 0.99]
counts = st.integers(0, 30)
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


@given(counts, counts, counts, counts)
@settings(deadline=None)
def test_tsa_and_mcc_follow_the_printed_formulas(tp, tn, fp, fn):
    total = tp + tn + fp + fn
    assume(total)
    y_true, y_pred = labels(tp, tn, fp, fn)
    assert tsa(y_true, y_pred) == (tp + tn) / total
    assert math.isclose(mcc(y_true, y_pred), printed_mcc(tp, tn, fp, fn), abs_tol=1e-12)
    assert math.isclose(mcc(y_pred, y_true), mcc(y_true, y_pred), abs_tol=1e-12)
    assert math.isclose(mcc(y_true, 1 - y_pred), -mcc(y_true, y_pred), abs_tol=1e-12)


def test_labels_of_any_kind():
    y_true, y_pred = np.array(["a", "b", "c", "c"]), np.array(["a", "b", "c", "b"])
    expected = 7 / np.sqrt(10 * 10)
    for kind in (list, np.array, pd.Series, lambda y: y.astype(object)):
        assert tsa(kind(y_true), kind(y_pred)) == 0.75
        assert math.isclose(mcc(kind(y_true), kind(y_pred)), expected)
    assert tsa([1.0, 2.0], np.array([True, False])) == 0.5
    assert isinstance(tsa([1], [1]), float) and isinstance(mcc(y_true, y_pred), float)


@pytest.mark.parametrize("y_pred", [[1, 1, 1], [0, 0, 0], [0, 1, 1]])
def test_mcc_is_zero_where_undefined(y_pred):
    assert mcc([1, 1, 1], y_pred) == 0
    assert mcc(y_pred, [1, 1, 1]) == 0


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


@given(st.floats(0.05, 0.95), st.floats(0.01, 1))
def test_mcc_spread_is_the_least_of_all_laws(accuracy, part):
    """No law on a grid of accuracies has the mean correlation at a smaller variance."""
    wanted = mcc_ceiling(accuracy) + part * (accuracy - mcc_ceiling(accuracy))
    spread = mcc_spread(accuracy, wanted)
    other = max(accuracy - spread**2 / (1 - accuracy), 0)  # the law that reaches it
    x = np.unique([*np.linspace(0, 1, 201), accuracy, other])
    least = linprog(
        (x - accuracy) ** 2,
        A_ub=[-mcc_ceiling(x)],
        b_ub=[-wanted + 1e-12],
        A_eq=[np.ones_like(x), x],
        b_eq=[1, accuracy],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert least.status == 0 and np.isclose(least.fun, spread**2, rtol=1e-5, atol=1e-9)


def test_mcc_spread_at_its_ends():
    assert mcc_spread(0.8, mcc_ceiling(0.8)) == 0 == mcc_spread(0.8, -1) == mcc_spread(1, 1)
    assert np.isclose(mcc_spread(0.8, 0.8), 0.4)  # right or wrong everywhere
    assert mcc_spread(0.8, 0.81) == mcc_spread(0.8, 1) == np.inf


@given(st.floats(0.01, 0.99))
def test_mcc_spread_begins_at_the_ceiling(accuracy):
    assert 0 <= mcc_spread(accuracy, np.nextafter(mcc_ceiling(accuracy), 2)) < 1e-6


@pytest.mark.parametrize("wrong", [66, -3, np.nan])
def test_mcc_spread_takes_fractions(wrong):
    with pytest.raises(ValueError, match=f"mcc={wrong} is not allowed; pass fractions from -1"):
        mcc_spread(0.75, wrong)


def test_mcc_ceiling_keeps_shapes():
    assert isinstance(mcc_ceiling(0.5), float) and mcc_ceiling(1) == 1 and mcc_ceiling(0) == 0
    assert mcc_ceiling([[0.5], [1.0]]).shape == (2, 1)


@given(mask_tables(min_sets=1))
def test_psf_is_a_percentage(masks):
    assert math.isclose(psf(masks), 100 * masks.sum() / masks.size)
    assert math.isclose(psf(list(masks)), np.mean([psf(mask) for mask in masks]))
    assert math.isclose(psf(~masks), 100 - psf(masks), abs_tol=1e-9)


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
    assert -1 / (len(masks) - 1) - 1e-9 <= value <= 1 + 1e-12
    assert math.isclose(value, 1) == bool((masks == masks[0]).all())


@given(st.integers(2, 6), st.integers(2, 9), st.data())
def test_stability_of_sets_of_one_size_is_kunchevas_index(n_sets, n_features, data):
    size = data.draw(st.integers(1, n_features - 1))
    order = st.permutations(range(n_features))
    masks = np.array([np.array(data.draw(order)) < size for _ in range(n_sets)])
    chance = size**2 / n_features
    index = [((a & b).sum() - chance) / (size - chance) for a, b in combinations(masks, 2)]
    assert math.isclose(stability(masks).value, np.mean(index), abs_tol=1e-9)


@given(mask_tables(), st.randoms(use_true_random=False))
def test_stability_ignores_order_complement_and_copies(masks, random):
    rows, columns = list(range(len(masks))), list(range(masks.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    expected = vars(stability(masks))
    for same in (masks[rows][:, columns], ~masks, np.tile(masks, 3)):
        found = vars(stability(same))
        assert all(math.isclose(found[key], expected[key], abs_tol=1e-9) for key in expected)


@given(mask_tables())
def test_stability_error_follows_the_authors_formula(masks):
    n_sets, n_features = masks.shape
    p, sizes = masks.mean(axis=0), masks.sum(axis=1)
    size = sizes.mean()
    chance = size / n_features * (1 - size / n_features)
    found = stability(masks)
    phi = [
        np.mean(row * p)
        - k * size / n_features**2
        + found.value / 2 * (2 * k * size / n_features**2 - (k + size) / n_features + 1)
        for row, k in zip(masks, sizes, strict=True)
    ]
    variance = 4 / n_sets**2 * np.sum((np.array(phi) / chance - np.mean(phi) / chance) ** 2)
    assert math.isclose(found.standard_error, np.sqrt(variance), abs_tol=1e-9)


def draw_masks(rng, n_sets, probabilities):
    """Sets of uneven size: each from one of several laws, features independent given the law."""
    law = rng.integers(len(probabilities), size=n_sets)
    return rng.random((n_sets, probabilities.shape[1])) < probabilities[law]


LAWS = np.array([[0.9] * 6 + [0.1] * 24, [0.9] * 3 + [0.3] * 27, [0.5] * 2 + [0.05] * 28])


def test_stability_error_is_that_of_the_jackknife():
    masks = draw_masks(np.random.default_rng(0), 300, LAWS)
    left_out = [stability(np.delete(masks, i, axis=0)).value for i in range(300)]
    jackknife = np.sqrt(299**2 / 300) * np.std(left_out, ddof=1)
    assert math.isclose(stability(masks).standard_error, jackknife, rel_tol=0.02)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_stability_interval_covers(level):
    rng = np.random.default_rng(1)
    p = LAWS.mean(axis=0)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    found = [stability(draw_masks(rng, 200, LAWS), level=level) for _ in range(1500)]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert abs(covered - level) < 0.03
    assert abs(np.mean([one.value for one in found]) - truth) < 0.005


def test_stability_of_random_sets_is_zero_on_average():
    rng = np.random.default_rng(2)
    ranks = rng.random((2000, 5, 20)).argsort(axis=2)
    assert abs(np.mean([stability(one < 6).value for one in ranks])) < 0.01


def test_stability_of_equal_full_and_empty_sets():
    one = vars(stability([[True, False, True]] * 7))
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
    low, high = stats.t(n_splits - 1, found.value).interval(level)
    for end, expected in ((found.low, low), (found.high, high)):
        expected = found.value + (expected - found.value) * found.standard_error
        assert math.isclose(end, expected, rel_tol=1e-9, abs_tol=1e-12)


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
    # the interval and the test are one
    assume(abs(found.p_value - (1 - level)) > 1e-9)
    assert (found.low <= 0 <= found.high) == (found.p_value > 1 - level)
    swapped = compare_paired(scores_b, scores_a, **options)
    assert math.isclose(swapped.t, -found.t) and math.isclose(swapped.p_value, found.p_value)


def test_compare_paired_without_spread():
    same = compare_paired([0.1, 0.7, 0.9], [0.1, 0.7, 0.9], test_fraction=0.1)
    assert vars(same) == {
        "value": 0.0, "standard_error": 0.0, "low": 0.0, "high": 0.0, "t": 0.0, "p_value": 1.0
    }  # fmt: skip
    for sign in (1, -1):
        found = compare_paired([sign * 0.1] * 10, [0] * 10, test_fraction=0.1)
        assert (found.value, found.low, found.high) == (sign * 0.1,) * 3
        assert (found.t, found.p_value) == (sign * math.inf, 0)


def resampled_accuracies(rng, gaps, n_rows=60, n_splits=15, n_test=12):
    """Accuracies of two nearest-centroid rules on resampled splits of one data set.

    Each rule sees a feature of its own; equal gaps make the two exchangeable.
    """
    y = rng.permutation(np.arange(n_rows) % 2)
    X = rng.normal(size=(2, n_rows)) + np.array(gaps)[:, None] * y
    test = rng.random((n_splits, n_rows)).argsort(axis=1) < n_test
    in_class = [~test & (y == label) for label in (0, 1)]
    zero, one = (X @ rows.T / rows.sum(axis=1) for rows in in_class)
    above = X[:, None] > ((zero + one) / 2)[..., None]
    right = (above == (one > zero)[..., None]) == y
    return (right & test).sum(axis=2) / n_test


def test_correction_restores_the_error_of_the_first_kind():
    rng = np.random.default_rng(0)
    naive, corrected, power = [], [], []
    for _ in range(1500):
        a, b = resampled_accuracies(rng, gaps=(1.0, 1.0))
        naive.append(compare_paired(a, b, test_fraction=1e-9).p_value < 0.05)
        corrected.append(compare_paired(a, b, test_fraction=12 / 60).p_value < 0.05)
    for _ in range(200):
        a, b = resampled_accuracies(rng, gaps=(2.5, 0.0))
        power.append(compare_paired(a, b, test_fraction=12 / 60).p_value < 0.05)
    naive, corrected = np.mean(naive), np.mean(corrected)
    assert naive > 0.25 and 0.02 < corrected < 0.09
    assert abs(corrected - 0.05) < abs(naive - 0.05) / 5
    assert np.mean(power) > 0.9


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
    # Wilson's ends are the accuracies whose own standard error just reaches the one observed
    quantile = stats.norm.ppf((1 + level) / 2)
    for end in {low, high} - {0.0, 1.0}:
        reach = quantile * np.sqrt(end * (1 - end) / n_total)
        assert math.isclose(abs(n_right / n_total - end), reach, rel_tol=1e-6, abs_tol=1e-9)


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
        (lambda: mcc_ceiling(75.1), "accuracy=75.1 is not allowed; pass fractions .* / 100"),
        (lambda: mcc_ceiling([0.5, -0.1]), "accuracy=-0.1"),
        (lambda: mcc_ceiling(np.nan), "accuracy=nan"),
        (lambda: psf([]), r"support has shape \(0,\) and dtype float64; pass boolean masks"),
        (lambda: psf(np.zeros((0, 3), bool)), r"support has shape \(0, 3\) and dtype bool; pass"),
        (lambda: psf([0, 2]), r"support has shape \(2,\) and dtype int64; pass boolean masks"),
        (lambda: psf([[[True]]]), r"support has shape \(1, 1, 1\)"),
        (lambda: psf([[True], [True, False]]), "support holds masks of different lengths; pass"),
        (lambda: psf(None), "support has shape .* dtype object"),
        (lambda: stability([True, False]), "supports holds 1 set; pass those of at least 2"),
        (lambda: stability([[1, 0], [0, 1]]), "supports has shape .* dtype int64; pass boolean"),
        (lambda: stability(MASKS, level=95), "level=95 is not allowed; pass a number between 0"),
        (lambda: score_interval([0.5], test_fraction=0.1), r"scores has shape \(1,\) .* 2 splits"),
        (lambda: score_interval(["a", "b"], test_fraction=0.1), "dtype <U1; pass one number"),
        (lambda: score_interval([TWO, TWO], test_fraction=0.1), r"scores has shape \(2, 2\)"),
        (lambda: score_interval([0.1, np.nan], test_fraction=0.1), r"scores\[1\] is nan; leave"),
        (lambda: score_interval(TWO, test_fraction=1), "test_fraction=1 is not allowed; pass"),
        (lambda: score_interval(TWO, test_fraction=0.1, level=0), "level=0 is not allowed"),
        (lambda: compare_paired(TWO, [1], test_fraction=0.1), r"scores_b has shape \(1,\)"),
        (lambda: compare_paired([np.inf, 1], TWO, test_fraction=0.1), r"scores_a\[0\] is inf"),
        (lambda: compare_paired(TWO, [1, 2, 3], test_fraction=0.1), "2 splits and scores_b 3; sc"),
        (lambda: compare_paired(TWO, TWO, test_fraction="0.1"), "test_fraction='0.1'"),
        (lambda: compare_paired(TWO, TWO, test_fraction=0.1, level=np.nan), "level=nan"),
        (lambda: accuracy_interval(3, 0), "n_total=0 is not allowed; pass an int of at least 1"),
        (lambda: accuracy_interval(-1, 3), "n_right=-1 is not allowed; pass an int of at least 0"),
        (lambda: accuracy_interval(0.9, 10), "n_right=0.9"),
        (lambda: accuracy_interval(True, 10), "n_right=True"),
        (lambda: accuracy_interval(4, 3), "n_right=4 exceeds n_total=3; pass right, then total"),
        (lambda: accuracy_interval(1, 3, level=1.0), "level=1.0"),
    ],
)
def test_metrics_refuse_what_they_cannot_measure(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


def test_import_is_light():
    code = (
        "import sys; import numpy; before = set(sys.modules); import fsnotes.metrics; "
        "print({name.split('.')[0] for name in set(sys.modules) - before} & {'scipy', 'sklearn'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_text_as_pandas_holds_it_is_text():
    text = pd.Series(["1", "0", "1"], dtype=object)
    assert tsa(text, ["1", "0", "0"]) == 2 / 3
    with pytest.raises(ValueError, match="none can agree"):
        tsa(text, [1, 0, 1])
    with pytest.raises(ValueError, match="or None"):
        tsa(pd.Series(["a", None, "b"], dtype=object), ["a", "b", "b"])
