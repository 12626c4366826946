"""The hinge loss: its value on rows of data, and the offset and the multipliers that suit it."""

import numpy as np

from fsnotes.errors import SubproblemError

__all__ = ["LARGEST_C", "LESS", "HingeData", "balance", "best_offset", "require_verified"]

# The largest C of a loss; beyond it rounding of the margins costs more than a gap allows.
LARGEST_C = 1e6
# What to pass where digits are lost.
LESS = "a smaller C, scale=True if it is False, or sample_weight that differ less if there are some"


class HingeData:
    """Rows of data in units of selection, and the sum of the hinge losses of a classifier on them.

    The sign of a row, -1 or 1, is its class.
    """

    def __init__(self, Z, signs, sample_weight):
        # Columns are stored one after the other, since most steps need a few of them.
        self.Z = np.asfortranarray(Z)
        self.signs = signs
        self.sample_weight = sample_weight
        self.n_features = Z.shape[1]

    @property
    def count(self):
        """The number of rows, where a row of weight 2 counts as two."""
        return self.sample_weight.sum()

    def scores(self, weights):
        """Return the score of each row without the offset, from the weights that are not zero."""
        live = np.flatnonzero(weights)
        return self.Z[:, live] @ weights[live]

    def offset(self, weights):
        """Return the offset of least loss; the middle one if there are several."""
        return best_offset(self.signs - self.scores(weights), self.signs, self.sample_weight)

    def hinge(self, weights, offset):
        """Return the weighted sum of ``max(0, 1 - margin)``."""
        margins = self.signs * (self.scores(weights) + offset)
        return float(self.sample_weight @ np.maximum(0, 1 - margins))

    def least_hinge(self, weights):
        """Return the hinge losses of these weights with the best offset."""
        return self.hinge(weights, self.offset(weights))

    def hinge_of_nothing(self):
        """Return the hinge losses without weights: 2 for each row of the lighter class."""
        positive = self.sample_weight @ (self.signs > 0)
        return 2 * float(min(positive, self.count - positive))


def best_offset(kinks, signs, sample_weight):
    """Return the offset of least hinge loss; the middle one if there are several.

    At its kink, an offset, the margin of a row is 1.
    """
    # The loss is piecewise linear in the offset: each row adds its weight to the slope.
    order = np.argsort(kinks, kind="stable")
    slopes = np.cumsum(sample_weight[order]) - sample_weight @ (signs > 0)
    slack = 1e-12 * sample_weight.sum()
    ends = np.searchsorted(slopes, [-slack, slack]).clip(max=len(order) - 1)
    return float(kinks[order[ends]].mean())


def balance(multipliers, signs):
    """Shrink the multipliers of one class, so that both classes have the same sum."""
    sums = np.array([multipliers @ (signs == sign) for sign in (-1, 1)])
    parts = sums.min() / np.where(sums > 0, sums, 1)
    return multipliers * np.where(signs > 0, parts[1], parts[0])


def require_verified(gap, most, what, remedy, heaviest=0.0):
    """Raise an error that says what to pass, unless a duality gap is small enough."""
    if gap <= most:
        return
    if heaviest > LARGEST_C:
        remedy = f"a smaller sample_weight: a row weighs {heaviest:.3g}"
    raise SubproblemError(
        f"{what} was not solved: duality gap {gap:.1e}, more than {most:g}. Pass {remedy}"
    )
