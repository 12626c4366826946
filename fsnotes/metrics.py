"""How good and how stable a selection is: the papers' measures, and intervals for them."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fsnotes.core.validation import LARGEST, array_of, check_count, check_real, check_reals

__all__ = [
    "Comparison",
    "Estimate",
    "accuracy_interval",
    "compare_paired",
    "mcc",
    "mcc_ceiling",
    "psf",
    "score_interval",
    "stability",
    "tsa",
]


MOST_ROWS = 2**53  # of which a float tells each from the next


@dataclass(frozen=True)
class Estimate:
    """A value, its standard error, and the ends of its confidence interval."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison(Estimate):
    """The estimate of a mean difference, with the t test that it is zero (two-sided)."""

    t: float
    p_value: float


def tsa(y_true, y_pred):
    """Test-set accuracy: the fraction of labels that are right (the papers print percent).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels and predicted labels, of any number of classes.

    Examples
    --------
    >>> from fsnotes.metrics import tsa
    >>> tsa([0, 0, 1, 1], [0, 1, 1, 1])
    0.75
    """
    y_true, y_pred = _labels(y_true, y_pred)
    return float(np.mean(y_true == y_pred))


def mcc(y_true, y_pred):
    """Matthews correlation coefficient, in scikit-learn's form: from -1 to 1.

    It is undefined (0 / 0) where all labels, or all predicted labels, are equal. That gives 0.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels and predicted labels, of any number of classes.

    Examples
    --------
    >>> from fsnotes.metrics import mcc
    >>> mcc([0, 0, 1, 1], [0, 0, 1, 1]), mcc([0, 0, 1, 1], [1, 1, 1, 1])
    (1.0, 0.0)
    """
    y_true, y_pred = _labels(y_true, y_pred)
    # scikit-learn gives 0 too, but warns where both hold a single label
    if (y_pred == y_pred[0]).all():
        return 0.0
    from sklearn.metrics import matthews_corrcoef

    # numbers of the labels, since scikit-learn does not take labels of every kind that has an order
    codes = np.unique(np.concatenate([y_true, y_pred]), return_inverse=True)[1]
    return float(matthews_corrcoef(*np.split(codes, 2)))


def mcc_ceiling(accuracy):
    """Largest Matthews correlation of two classes that an accuracy a allows: a / (2 - a).

    Parameters
    ----------
    accuracy : float or array-like, from 0 to 1
        An array has an array of ceilings.

    Notes
    -----
    Given TP, TN and the number e of errors, the numerator of the coefficient, TP TN - FN FP, falls
    in FN FP and its denominator rises, so the errors are best all of one kind. Then the square of
    the coefficient is TP TN / ((TP + e) (TN + e)), largest at TP = TN. This holds for one confusion
    matrix. The ceiling is convex in the accuracy, so a mean of coefficients over folds can exceed
    the ceiling of the mean accuracy. Three classes obey no such bound.

    Examples
    --------
    >>> from fsnotes.metrics import mcc_ceiling
    >>> mcc_ceiling(0.75), float(mcc_ceiling([0.5, 1.0]).mean())
    (0.6, 0.6666666666666666)
    """
    accuracy = check_reals("accuracy", accuracy, 0, most=1)
    ceiling = accuracy / (2 - accuracy)
    return ceiling if ceiling.ndim else float(ceiling)


def psf(support):
    """Percentage of selected features, from 0 to 100, the mean over several selections.

    Parameters
    ----------
    support : bool array-like, fitted selector, or sequence of either
        A selector is whatever has ``get_support()``.

    Examples
    --------
    >>> from fsnotes.metrics import psf
    >>> psf([True, False, False, False]), psf([[True, False], [True, True]])
    (25.0, 75.0)
    """
    return float(100 * _masks("support", support).mean())


def stability(supports, *, level=0.95):
    """Stability of a feature selection over resamples, an `Estimate`.

    One minus the mean variance of a feature's selection (with the divisor M - 1), relative to its
    value for random choices, q (1 - q) for a fraction q of features. It is 1 if all M sets are
    equal, about 0 for random sets of one size, and at least -1 / (M - 1).

    Parameters
    ----------
    supports : bool array-like of shape (M, n_features), or sequence of fitted selectors
    level : float, default=0.95

    Notes
    -----
    The standard error is asymptotic. The interval is normal, so its ends may lie outside [0, 1].
    All are nan if every set is empty, or every set is full: 0 / 0.

    The interval takes the sets for independent draws, as those of bootstrap samples are, given the
    data set, and those of cross-validation are not. It covers less than promised for few sets: in
    our simulations at 95 percent about 89 times in 100 for ten sets, and as promised for a hundred.
    Sets that are all equal give an interval of length zero. The cost is O(M n_features).

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown, On the stability of feature selection algorithms, Journal of
    Machine Learning Research 18 (174), 1-54, 2018.

    Examples
    --------
    >>> from fsnotes.metrics import stability
    >>> stability([[True, False, False], [True, False, False]]).value
    1.0
    """
    masks = _masks("supports", supports)
    level = _fraction("level", level)
    n_sets, n_features = masks.shape
    if n_sets < 2:
        raise ValueError("supports holds 1 set; pass those of at least 2 resamples")
    frequency = masks.mean(axis=0)
    sizes = masks.mean(axis=1)
    mean_size = masks.mean()
    if mean_size in (0, 1):
        return Estimate(math.nan, math.nan, math.nan, math.nan)
    chance = mean_size * (1 - mean_size)
    value = 1 - np.mean(frequency * (1 - frequency)) * n_sets / (n_sets - 1) / chance
    # half the influence of each set on the value, up to a constant
    influence = masks @ frequency / n_features - sizes * (mean_size + value * (0.5 - mean_size))
    error = 2 * np.std(influence - influence[0]) / chance / np.sqrt(n_sets)
    return _estimate(value, error, NormalDist().inv_cdf((1 + level) / 2))


def score_interval(scores, *, test_fraction, level=0.95):
    """Confidence interval of a mean score over resampled splits of one data set, an `Estimate`.

    The training sets overlap, so the scores are correlated, and their variance divided by their
    number J is far too small for the mean. Nadeau and Bengio multiply it by 1 / J + n_test /
    n_train instead, with J - 1 degrees of freedom: approximate, not a theorem.

    Parameters
    ----------
    scores : array-like of shape (J,), one for each split
    test_fraction : float
        Fraction of the rows in a test set, between 0 and 1: 1 / k for k folds, repeated or not.
    level : float, default=0.95

    References
    ----------
    C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> from fsnotes.metrics import score_interval
    >>> found = score_interval([0.8, 0.9, 1.0], test_fraction=0.5)
    >>> round(found.value, 3), round(found.standard_error, 3)
    (0.9, 0.115)
    """
    from scipy.special import stdtrit

    scores = _scores("scores", scores)
    test_fraction = _fraction("test_fraction", test_fraction)
    level = _fraction("level", level)
    # from the first score, or equal scores would have a variance, of rounding
    offsets = scores - scores[0]
    ratio = 1 / len(scores) + test_fraction / (1 - test_fraction)
    error = np.sqrt(ratio) * offsets.std(ddof=1)
    return _estimate(scores[0] + offsets.mean(), error, stdtrit(len(scores) - 1, (1 + level) / 2))


def compare_paired(scores_a, scores_b, *, test_fraction, level=0.95):
    """Compare two methods on the same resampled splits of one data set.

    The `Comparison` is the `score_interval` of ``scores_a - scores_b``, positive where the first
    method scores higher, with the corrected resampled t test. If all differences are equal, t is
    infinite and the p value 0. If all are zero, they are 0 and 1.

    Parameters
    ----------
    scores_a, scores_b : array-like of shape (J,), split by split
    test_fraction, level : float
        As for `score_interval`.

    Examples
    --------
    >>> from fsnotes.metrics import compare_paired
    >>> found = compare_paired([0.9, 0.8, 0.9, 0.8], [0.7, 0.8, 0.8, 0.7], test_fraction=0.25)
    >>> round(found.value, 3), round(found.t, 3), round(found.p_value, 3)
    (0.1, 1.604, 0.207)
    """
    from scipy.special import stdtr

    scores_a, scores_b = _scores("scores_a", scores_a), _scores("scores_b", scores_b)
    if len(scores_a) != len(scores_b):
        raise ValueError(
            f"scores_a has {len(scores_a)} splits and scores_b {len(scores_b)}; score both "
            "methods on the same splits, in the same order"
        )
    found = score_interval(scores_a - scores_b, test_fraction=test_fraction, level=level)
    if found.standard_error > 0:
        t = found.value / found.standard_error
    else:
        t = math.copysign(math.inf, found.value) if found.value else 0.0
    return Comparison(**vars(found), t=t, p_value=float(2 * stdtr(len(scores_a) - 1, -abs(t))))


def accuracy_interval(n_right, n_total, *, level=0.95):
    """Wilson's score interval, low and high, of an accuracy: n_right of n_total held-out rows.

    For a classifier fixed before it saw these rows. Resampled splits have `score_interval`.

    Parameters
    ----------
    n_right, n_total : int
    level : float, default=0.95

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22, 209-212, 1927.

    Examples
    --------
    >>> from fsnotes.metrics import accuracy_interval
    >>> low, high = accuracy_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    n_total = check_count("n_total", n_total, most=MOST_ROWS)
    n_right = check_count("n_right", n_right, least=0, most=MOST_ROWS)
    if n_right > n_total:
        raise ValueError(f"n_right={n_right} exceeds n_total={n_total}; pass right, then total")
    z = NormalDist().inv_cdf((1 + _fraction("level", level)) / 2)
    n_wrong = n_total - n_right
    half = z * math.sqrt(n_right * n_wrong / n_total + z**2 / 4)
    # each end from its own side, so that 0 and 1 are exact
    ends = [(n + z**2 / 2 - half) / (n_total + z**2) for n in (n_right, n_wrong)]
    return float(ends[0]), float(1 - ends[1])


def _estimate(value, error, quantile):
    reach = float(quantile * error)
    value = float(value)
    return Estimate(value, float(error), value - reach, value + reach)


def _labels(y_true, y_pred):
    labels = []
    for name, given in (("y_true", y_true), ("y_pred", y_pred)):
        y = _unmasked(name, given)
        items = y.ravel().tolist() if y.dtype.kind == "O" else given
        if isinstance(items, (list, tuple)):  # objects, as pandas holds text, become what they are
            is_text = [isinstance(item, str) for item in items]
            y = array_of(items) if all(is_text) or not any(is_text) else np.empty(0, object)
        if y.dtype.kind not in "biufU":
            raise ValueError(
                f"{name} holds labels of several kinds, or that are no text, numbers or booleans; "
                "pass labels of one of these, and drop samples without one"
            )
        if y.dtype.kind == "f" and not (whole := np.isfinite(y) & (y == np.round(y))).all():
            raise ValueError(
                f"{name} holds {y[~whole][0]}, which is no label; pass labels, not decision "
                "values, and drop samples without one"
            )
        labels.append(y)
    y_true, y_pred = labels
    if y_true.ndim != 1 or y_true.shape != y_pred.shape or not y_true.size:
        raise ValueError(
            f"y_true has shape {y_true.shape} and y_pred {y_pred.shape}; pass one label and one "
            "predicted label for each sample"
        )
    if (y_true.dtype.kind == "U") != (y_pred.dtype.kind == "U"):
        raise ValueError(
            f"y_true is of dtype {y_true.dtype} and y_pred of {y_pred.dtype}, so none can agree; "
            "pass labels of one kind"
        )
    return y_true, y_pred


def _masks(name, supports):
    if hasattr(supports, "get_support"):
        supports = supports.get_support()
    elif isinstance(supports, (list, tuple)):
        supports = [s.get_support() if hasattr(s, "get_support") else s for s in supports]
    masks = _unmasked(name, supports)
    if masks.dtype != bool or masks.ndim not in (1, 2) or not masks.size:
        raise ValueError(
            f"{name} has shape {masks.shape} and dtype {masks.dtype}; pass boolean masks of one "
            "length, such as get_support() returns"
        )
    return np.atleast_2d(masks)


def _scores(name, scores):
    scores = _unmasked(name, scores)
    if scores.dtype.kind not in "biuf" or scores.ndim != 1 or len(scores) < 2:
        raise ValueError(
            f"{name} has shape {scores.shape} and dtype {scores.dtype}; pass one number for each "
            "of at least 2 splits"
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {scores[bad[0]]}; leave out such splits")
    scores = scores.astype(float)
    if abs(scores).max() > LARGEST:
        raise ValueError(f"{name} holds {abs(scores).max():g}; pass scores up to {LARGEST:g}")
    return scores


def _unmasked(name, values):
    """The values as an array; raises if some are masked, which an array would forget."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; leave out what is masked, as in compressed()")
    return array_of(values)


def _fraction(name, value):
    number = check_real(name, value, 0, open_at=0, most=1)
    if (1 + number) / 2 == 1:
        raise ValueError(f"{name}={number}; pass a number above 0 and below 1")
    return number
