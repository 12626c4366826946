"""What a fit promises, computed anew from the rows themselves; no solver has a part in it."""

import copy
from typing import NamedTuple

import numpy as np

from fsnotes.errors import PromiseWarning, warn

__all__ = ["Planes", "Solved", "certain_accuracies", "keep_the_worse", "score_rounding"]

EPS = np.finfo(float).eps
SAME = 1e-6  # part of the terms of an objective by which it may differ from the solver's word


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


def score_rounding(X, weights, offset):
    """By how much a score ``X @ weights + offset`` may differ where it is computed again.

    The sum of k terms differs from the exact one by at most about ``k / 2`` times the machine
    precision times the sum of their sizes, in any order; two such sums differ by twice as much.
    """
    sizes = abs(X) @ abs(weights) + abs(offset)
    return (len(weights) + 8) * EPS * sizes


class Solved(NamedTuple):
    """The planes that an objective is about, one a row, before pruning and refit."""

    used: np.ndarray  # the numbers of the features that vary
    weights: np.ndarray  # in units of ``scale_``
    intercepts: np.ndarray  # at the origin of the caller's units
    floors: np.ndarray | float = 0.0  # sizes that smaller weights count as in a logarithm


class Planes:
    """Planes at the rows of a fit as they were passed, and losses by their definitions.

    Biases are the scores at the middle of the class means or, if not `from_middle`, at the origin.
    The cost is that of a few products with the rows, for scores, rounding and class means; each
    loss takes O(N k) more for N rows and k planes.
    """

    def __init__(self, samples, solved, scale, from_middle):
        live = solved.weights.any(axis=0)
        used = solved.used[live]
        rows = samples.columns(used)
        weights = (solved.weights[:, live] / scale[used]).T
        self.weights = solved.weights
        self.floors = solved.floors
        self.class_index = samples.class_index
        self.sample_weight = samples.sample_weight
        self.parts = self._parts_of_classes()
        self.scores = rows @ weights + solved.intercepts
        self.rounding = score_rounding(rows, weights, solved.intercepts)
        origin = np.zeros(len(used))
        if from_middle:
            origin = np.mean([part @ rows for part in self.parts], axis=0)
        self.biases = origin @ weights + solved.intercepts
        self.bias_rounding = score_rounding(origin, weights, solved.intercepts)
        self.by = 0

    def moved(self, by):
        """The same planes, with losses as large or, by -1, as small as rounding may make them."""
        other = copy.copy(self)
        other.by = by
        return other

    def _parts_of_classes(self):
        """Of each class, the part of its weight that each row has."""
        weights = (
            self.sample_weight * (self.class_index == k) for k in range(self.class_index.max() + 1)
        )
        return [weight / weight.sum() for weight in weights]

    @property
    def signs(self):
        """One column a plane, with 1 for its class and -1 for others; of one plane, the second."""
        count = self.scores.shape[1]
        places = np.arange(count) if count > 1 else 1
        return np.where(self.class_index[:, None] == places, 1.0, -1.0)

    def missing(self, signs):
        """What each margin misses of 1."""
        return np.maximum(0, 1 - signs * self.scores + self.by * self.rounding)

    def hinge(self):
        """Weighted sum of the hinge losses of all planes."""
        return self.sample_weight @ self.missing(self.signs).sum(axis=1)

    def distances(self, targets=0.0):
        """Sizes of the differences of scores and targets."""
        return np.maximum(0, abs(self.scores - targets) + self.by * self.rounding)

    def sizes_of_biases(self):
        """Size of the bias of each plane."""
        return np.maximum(0, abs(self.biases) + self.by * self.bias_rounding)

    def row_lengths(self):
        """Length of the weights of each feature over all planes, and that of the biases."""
        biases = np.linalg.norm(self.sizes_of_biases())
        return np.append(np.linalg.norm(self.weights, axis=0), biases)

    def gap(self):
        """The distance of the mean scores of two classes."""
        difference = self.parts[1] - self.parts[0]
        return (difference @ self.scores - self.by * abs(difference) @ self.rounding)[0]

    def spreads(self, ridge):
        """Deviations of the scores of two classes, with a ridge, where the means are 1 apart."""
        scores = self.scores[:, 0]
        spreads = []
        for part in self.parts:
            deviation = np.sqrt(part @ (scores - part @ scores) ** 2)
            moved = deviation + self.by * np.sqrt(part @ self.rounding[:, 0] ** 2)
            spreads.append(np.hypot(max(0, moved), np.sqrt(ridge) * np.linalg.norm(self.weights)))
        return np.array(spreads) / self.gap()


def keep_the_worse(told, definition, planes):
    """The objective told or, where the rows show another, the larger of both, with a warning.

    `definition` returns the terms whose sum the objective is. It may differ from what is told by
    `SAME`, as a part of the sum of their sizes, and by what rounding of the scores makes of it.
    """
    with np.errstate(all="ignore"):  # rounding may be all that there is of a distance
        terms = definition(planes)
        moved = [abs(definition(planes.moved(by)) - terms).sum() for by in (-1, 1)]
    found = float(terms.sum())
    if abs(found - told) <= SAME * abs(terms).sum() + max(moved):
        return told
    worse = float(np.fmax(told, found))
    warn(
        f"the objective is {told:.10g} by the solver and {found:.10g} by the rows; the larger is "
        "kept: digits are lost where features nearly depend on each other, or have means far "
        "larger than their deviations; leave some out, subtract the means, or pass scale=True",
        PromiseWarning,
    )
    return worse
