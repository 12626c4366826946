"""Filters: what a feature tells of the classes by itself, without a machine."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_X_y

__all__ = ["fisher_score"]


def fisher_score(X, y):
    """Fisher score of each feature: variance between the classes over variance within them.

    Of feature j it is ``sum_k n_k (mean_kj - mean_j)^2 / sum_k n_k var_kj``, where class k has n_k
    rows, and in feature j the mean and the variance (over n_k) of these.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes or more.

    Returns
    -------
    ndarray of shape (n_features,)
        From 0, where all class means are equal or the feature is constant, to infinity, where it
        varies between the classes alone.

    Notes
    -----
    The score does not change when a feature is shifted or scaled. With m rows and K classes it is
    the F statistic of the analysis of variance, over ``(m - K) / (K - 1)``; for two classes it is
    ``n_0 n_1 / m^2`` times the squared distance of the means, in units of the pooled standard
    deviation. Features are looked at one by one: of two equal columns both have the same score, and
    what only two together tell has none.

    O(m n) for n features.

    References
    ----------
    R. O. Duda, P. E. Hart and D. G. Stork, Pattern Classification, second edition, Wiley, 2001.

    Q. Gu, Z. Li and J. Han, Generalized Fisher score for feature selection, arXiv:1202.3725.

    Examples
    --------
    >>> from fsnotes import fisher_score, load
    >>> from sklearn.feature_selection import SelectKBest
    >>> fisher_score([[0, 5, 1], [2, 5, 1], [6, 5, 2], [8, 5, 2]], ["a", "a", "b", "b"]).tolist()
    [9.0, 0.0, inf]
    >>> X, y = load("wdbc", return_X_y=True)
    >>> SelectKBest(fisher_score, k=3).fit(X, y).get_support(indices=True).tolist()
    [7, 22, 27]
    """
    X, y = check_X_y(X, y, dtype=np.float64)
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y is {kind}; pass one label for each row")
    classes, of_class = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(
            f"y holds one class, {classes.tolist()[0]!r}; pass rows of two classes or more"
        )
    # differences of equal numbers are exactly zero, and in units of the largest no square overflows
    with np.errstate(over="ignore"):
        Z = X - X[0]
    largest = abs(Z).max(axis=0)
    if not np.isfinite(largest).all():
        raise ValueError("the differences of the features overflow; divide the features first")
    Z /= np.where(largest > 0, largest, 1)
    shares = np.bincount(of_class) / len(y)
    means, variances = np.zeros((2, len(classes), Z.shape[1]))
    for k in range(len(classes)):
        rows = Z[of_class == k]
        beyond = rows - rows[0]
        means[k] = rows[0] + beyond.mean(axis=0)
        variances[k] = beyond.var(axis=0)
    between = shares @ (means - shares @ means) ** 2
    within = shares @ variances
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = between / within
    return np.where(between > 0, scores, 0.0)
