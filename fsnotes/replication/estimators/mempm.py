"""Estimators of Xu, King and Lyu (2007): features are counted by the size of their weight."""

from fsnotes import FSMEMPM

__all__ = ["CountedFSMEMPM"]


class CountedFSMEMPM(FSMEMPM):
    """`FSMEMPM` without the features that the paper's footnote b does not count.

    A feature counts if its weight exceeds a part of the largest. The sizes are those of the weights
    in the units in which the problem is solved, hence of the columns as they come with
    ``scale=False``.
    """

    PART = 0.001

    def fit(self, X, y, sample_weight=None):
        """Fit, and drop the weights that do not count."""
        super().fit(X, y, sample_weight)
        sizes = abs(self.coef_[0] * self.scale_)
        self.coef_[0, sizes <= self.PART * sizes.max()] = 0
        return self
