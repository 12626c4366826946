"""Filters: scores of features by what they tell of the classes, without a classifier."""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import xlogy
from sklearn.utils.validation import check_X_y

from fsnotes.core.estimator import check_labels
from fsnotes.core.ranking import Ranking
from fsnotes.core.tables import ONE_CHECK, check_finite, check_table, labels_of_one_kind
from fsnotes.core.tolerances import EQUAL
from fsnotes.core.validation import check_count, check_one_of, check_real

__all__ = ["fisher_score", "mrmr", "relieff"]

BLOCK = 2**20  # numbers in an array at most, where several of them are held at once
MOST_LEVELS = 256  # values of a feature that are taken as levels


def fisher_score(X, y):
    """Fisher score of each feature: variance between the classes over variance within them.

    Feature j has ``sum_k n_k (mean_kj - mean_j)^2 / sum_k n_k var_kj``, for n_k rows of class k:
    from 0, for equal class means, to infinity, if a feature varies between the classes alone.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), of two classes or more

    Notes
    -----
    The score does not change when a feature is shifted or scaled. With m rows and K classes it is
    the F statistic of the analysis of variance, over ``(m - K) / (K - 1)``; for two classes it is
    ``n_0 n_1 / m^2`` times the squared distance of the means, in units of the pooled standard
    deviation. Features are looked at one by one: two equal columns have the same score, and
    features that tell something only together have none. The cost is O(m n) for n features.

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
    X, class_index = _validate(X, y)
    Z = _to_unit_range(X)
    probability = np.bincount(class_index) / len(Z)
    parts = [Z[class_index == k] for k in range(len(probability))]
    means = np.array([part.mean(axis=0) for part in parts])
    # measured from a row of the class, equal rows have a variance of exactly 0
    variances = np.array([(part - part[0]).var(axis=0) for part in parts])
    between = probability @ (means - probability @ means) ** 2
    within = probability @ variances
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = between / within
    return np.where(between > 0, scores, 0.0)


def relieff(X, y, *, n_neighbors=10):
    """ReliefF: how much more a feature differs between near rows of two classes than of one.

    The score of a feature is the mean over all rows of ``sum_c P(c) / (1 - P(own class)) miss_c -
    hit``: hit is the mean difference to the nearest others of the row's own class, miss_c to those
    of another class c, and P the part of the rows that a class has. Scores are from -1 to 1, the
    larger the better. A constant feature has 0.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), of two classes or more
    n_neighbors : int, default=10
        How many of each class; all rows of a class that has fewer, and without any a hit is 0.

    Notes
    -----
    A difference is a part of the range of the feature, and a distance is the sum of the differences
    of all features. So the score does not change when a feature is shifted or scaled, but depends
    on what other features there are: what two features tell only together counts in both, as long
    as not too many others hide which rows are near. Rows whose distances are equal up to rounding
    share the remaining places equally, which is the mean over all ways to choose. The order of rows
    and of features is of no consequence.
    O(m^2 n) for m rows and n features, in bounded memory; if there are very many, pass a sample.

    References
    ----------
    I. Kononenko, Estimating attributes: analysis and extensions of RELIEF, ECML, 1994.

    M. Robnik-Sikonja and I. Kononenko, Theoretical and empirical analysis of ReliefF and RReliefF,
    Machine Learning 53, 2003.

    Examples
    --------
    >>> from fsnotes import relieff
    >>> relieff([[0, 5, 1], [2, 5, 1], [6, 5, 2], [8, 5, 2]], ["a", "a", "b", "b"]).tolist()
    [0.5, 0.0, 1.0]
    """
    n_neighbors = check_count("n_neighbors", n_neighbors)
    X, class_index = _validate(X, y)
    by_class = np.argsort(class_index, kind="stable")
    Z = _to_unit_range(X)[by_class]
    class_index = class_index[by_class]
    probability = np.bincount(class_index) / len(Z)
    scores = np.zeros(Z.shape[1])
    for block in _blocks(len(Z), len(Z)):
        own = class_index[block]
        distances = cdist(Z[block], Z, "cityblock")
        np.fill_diagonal(distances[:, block], np.inf)
        for k, part in enumerate(probability):
            members = slice(*np.searchsorted(class_index, [k, k + 1]))
            weights = np.where(own == k, -1, part / (1 - probability[own]))
            parts = _divide_among_nearest(distances[:, members], n_neighbors)
            distances[:, members] = weights[:, None] * parts
        scores += _weighted_differences(Z[block], Z, distances)
    return scores / len(Z)


def mrmr(X, y, *, n_features=None, criterion="difference", spread=0.5):
    """Rank features that tell much of the classes and little of each other: mRMR.

    The first feature has the largest mutual information with the classes, its relevance. After it
    comes always the one whose relevance is largest against its redundancy, the mean of its mutual
    information with the features chosen before. The answer is a `Ranking`, which suits
    `SelectKBest`, of ``scores`` and ``order``. The scores tell the order alone: n for the first of
    n features, one less for each that follows, and 0 for those not ranked.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), of two classes or more
    n_features : int, optional
        How many features to rank; by default all.
    criterion : {"difference", "quotient"}, default="difference"
        Relevance minus redundancy, MID, or divided by it, MIQ. Without redundancy a quotient is
        infinite; among several of these the largest relevance comes first.
    spread : float or None, default=0.5
        Features of more than three values are cut into three levels, at so many standard deviations
        below and above their mean. None is for discrete features: each value is a level.

    Notes
    -----
    Mutual information is that of the table of counts, in nats; less than 1e-9 counts as none.
    Features that are equally good up to rounding keep the order of the columns, and those of one
    level come last, even after redundant ones. Neither the names of labels nor shift, scale and
    sign of a feature matter.
    With m rows, n features of L levels and r features ranked O(r m n L^2), in bounded memory.

    References
    ----------
    H. Peng, F. Long and C. Ding, Feature selection based on mutual information: criteria of
    max-dependency, max-relevance, and min-redundancy, IEEE PAMI 27, 2005.

    C. Ding and H. Peng, Minimum redundancy feature selection from microarray gene expression data,
    Journal of Bioinformatics and Computational Biology 3, 2005, for the levels.

    Examples
    --------
    >>> from fsnotes import load, mrmr
    >>> X, y = load("wdbc", return_X_y=True)
    >>> mrmr(X, y, n_features=3).order.tolist()
    [22, 24, 27]
    """
    n_features = check_count("n_features", n_features, optional=True)
    check_one_of("criterion", criterion, ("difference", "quotient"))
    spread = check_real("spread", spread, 0, optional=True)
    X, class_index = _validate(X, y)
    n = X.shape[1]
    wanted = n if n_features is None else n_features
    if wanted > n:
        raise ValueError(f"n_features={n_features}; X has {n}: pass at most as many")
    levels = _to_levels(X, spread)
    left = np.ptp(levels, axis=0) > 0
    constant = np.flatnonzero(~left)
    relevance = _mutual_information(class_index, levels)
    redundancy = np.zeros(n)
    order = []
    while left.any() and len(order) < wanted:
        mean = redundancy / max(1, len(order))
        alone = (mean == 0) & (relevance > 0)
        if criterion == "difference":
            worth = relevance - mean
        elif alone.any():
            worth = np.where(alone, relevance, -np.inf)
        else:
            worth = relevance / np.where(mean > 0, mean, 1)
        worth = np.where(left, worth, -np.inf)
        best = worth.max()
        order.append(np.flatnonzero(worth >= best - EQUAL * max(1, abs(best)))[0])
        left[order[-1]] = False
        redundancy += _mutual_information(levels[:, order[-1]], levels)
    order = np.append(np.array(order, dtype=int), constant)[:wanted]
    scores = np.zeros(n)
    scores[order] = n - np.arange(len(order))
    return Ranking(scores, order)


def _validate(X, y):
    """Rows as floats, and the number of the class of each."""
    names = getattr(X, "columns", None)
    with ONE_CHECK, np.errstate(over="ignore", invalid="ignore"):
        check_table(X)
        y = labels_of_one_kind(y)
        X, y = check_X_y(X, y, dtype=np.float64, ensure_all_finite=False)
    check_finite(X, names)
    return X, check_labels(y)[1]


def _to_unit_range(X):
    """Features from 0 to 1, whose squares do not overflow; constant ones are exactly 0."""
    with np.errstate(over="ignore"):
        Z = X - X.min(axis=0)
    ranges = Z.max(axis=0)
    if not np.isfinite(ranges).all():
        raise ValueError("the differences of the features overflow; divide the features first")
    return Z / np.where(ranges > 0, ranges, 1)


def _blocks(count, size):
    """Slices of 0 to `count` such that `size` numbers for each index of one fit into a block."""
    step = max(1, BLOCK // size)
    return (slice(start, start + step) for start in range(0, count, step))


def _divide_among_nearest(distances, count):
    """Divide one among the `count` nearest of each row; an infinite distance is no neighbour."""
    count = min(count, distances.shape[1])
    last = np.partition(distances, count - 1, axis=1)[:, [count - 1]]
    nearer = distances < last * (1 - EQUAL)
    tied = ~nearer & (distances <= last * (1 + EQUAL))
    places = count - nearer.sum(axis=1, keepdims=True)
    parts = nearer + tied * (places / tied.sum(axis=1, keepdims=True))
    parts[np.isinf(distances)] = 0
    return parts / np.maximum(parts.sum(axis=1, keepdims=True), 1)


def _weighted_differences(rows, others, weights):
    """Sum over all pairs of their differences in each feature, times the weight of the pair."""
    total = np.zeros(others.shape[1])
    first, second = np.nonzero(weights)
    for pairs in _blocks(len(first), others.shape[1]):
        i = first[pairs]
        j = second[pairs]
        total += weights[i, j] @ abs(rows[i] - others[j])
    return total


def _to_levels(X, spread):
    """Features as whole numbers from 0, which only tell equal from unequal."""
    levels = np.empty(X.shape, dtype=int)
    for column, values in enumerate(X.T):
        levels[:, column] = np.unique(values, return_inverse=True)[1]
    counts = levels.max(axis=0) + 1
    if spread is None:
        most = counts.argmax()
        if counts[most] > MOST_LEVELS:
            raise ValueError(
                f"spread=None takes each value as a level, but feature {most} has {counts[most]} "
                f"values; pass a number, or features of at most {MOST_LEVELS}"
            )
    else:
        Z = _to_unit_range(X)
        beyond = Z - Z.mean(axis=0)
        edge = (spread + EQUAL) * Z.std(axis=0)
        cut = 1 + (beyond > edge).astype(int) - (beyond < -edge)
        levels = np.where(counts > 3, cut, levels)
    return levels.astype(np.int16)


def _mutual_information(given, levels):
    """Mutual information, in nats, of one discrete column and each of several."""
    m, n = levels.shape
    indicators = (given == np.arange(given.max() + 1)[:, None]).astype(float)
    terms = xlogy(np.arange(m + 1), np.arange(m + 1))
    found = np.full(n, terms[m])
    for columns in _blocks(n, m):
        totals = np.zeros((len(indicators), found[columns].size), dtype=int)
        for level in range(levels.max() + 1):
            counts = (indicators @ (levels[:, columns] == level).astype(float)).astype(int)
            found[columns] += terms[counts].sum(axis=0) - terms[counts.sum(axis=0)]
            totals += counts
        found[columns] -= terms[totals].sum(axis=0)
    found /= m
    return np.where(found > EQUAL, found, 0.0)
