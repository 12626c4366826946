"""What a fit promises, computed anew from the rows themselves; no solver has a part in it."""

import numpy as np

__all__ = ["certain_accuracies", "score_rounding"]

EPS = np.finfo(float).eps


def certain_accuracies(samples, scores, rounding, ridge=0.0):
    """Accuracy of each class that mean and variance of its scores guarantee, rounded down.

    By Cantelli's inequality a variable of mean m above 0 and variance v is above 0 with a
    probability of at least ``m^2 / (m^2 + v)``. It is applied to the scores themselves, each moved
    towards the other class by the most that rounding may change it. So the accuracy on these rows
    is never below the bound, in whatever order the terms of a score are added up.

    Parameters
    ----------
    samples : Samples
        Of two classes.
    scores : ndarray of shape (n_samples,)
        Above 0 for class 1, the second.
    rounding : ndarray of shape (n_samples,)
        By how much each score may differ where it is computed again.
    ridge : float
        Added to both variances.

    Returns
    -------
    bounds, unmoved : ndarray of shape (2,)
        In the order of the classes; of weights, where samples have weights that differ. The second
        are those of the scores as they are.

    Notes
    -----
    O(N) for N samples.
    """
    bounds = np.zeros(2)
    unmoved = np.zeros(2)
    for index, sign in enumerate((-1, 1)):
        mine = samples.class_index == index
        weight = samples.sample_weight[mine]
        probability = weight / weight.sum()
        own = sign * scores[mine]
        lowest = own - rounding[mine]
        unmoved[index] = _cantelli(probability, own, ridge)
        # In exact numbers the part is never less than the bound, but rounding may make it so.
        part = _part(weight, lowest > 0)
        bounds[index] = min(_cantelli(probability, lowest, ridge), unmoved[index], part)
    return bounds, unmoved


def _cantelli(probability, values, ridge):
    """The probability with which values are above 0, at least, by their mean and variance."""
    mean = probability @ values
    if not mean > 0:
        return 0.0
    variance = probability @ (values - mean) ** 2 + ridge
    return 1 / (1 + variance / mean**2)


def _part(weight, chosen):
    """The part of the weight that some samples have, rounded down where sums of weights round."""
    if chosen.all():
        return 1.0
    part = weight[chosen].sum() / weight.sum()
    sums_are_exact = (weight == np.rint(weight)).all()
    return part if sums_are_exact else part * (1 - (len(weight) + 8) * EPS)


def score_rounding(X, weights, offset, of_values=0.0):
    """By how much a score ``X @ weights + offset`` may differ where it is computed again.

    The sum of k terms differs from the exact one by at most about ``k / 2`` times the machine
    precision times the sum of their sizes, in any order; two such sums differ by twice as much.
    `of_values` is by what part the values of X themselves may differ, as those of a kernel.
    """
    sizes = abs(X) @ abs(weights) + abs(offset)
    return ((len(weights) + 8) * EPS + of_values) * sizes
