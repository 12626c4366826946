"""Features ranked by their weights in one soft-margin machine."""

import numpy as np

from fsnotes.core.mm import Result
from fsnotes.core.reweighting import SoftMargins
from fsnotes.rivals.hinge_selector import HingeSelector

__all__ = ["SVMRanking"]


class SVMRanking(HingeSelector):
    """The features of the largest weights in one soft-margin machine of all features.

    It minimises ``|w|_2^2 + C`` times hinge losses. Nothing in it asks for few features: all are
    weighed once, and those of the largest weights are taken.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the sum over rows of the hinge losses ``max(0, 1 - margin)``; at most 1e6.
    n_features : int, optional
        Select so many; by default half of those that vary. A warning says if fewer have a weight.
    refit : bool, default=True
        Return the soft-margin machine of the features selected, with the same C; otherwise keep
        the weights that they have in the machine of all.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        The middle one if several have the same loss.
    objective_ : float
        ``|w|_2^2 + C`` times the sum of hinge losses, for the machine of all features.
    order_ : ndarray of int
        The features that vary, that of the largest weight first.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_

    Notes
    -----
    Two quadratic programs of N rows, O(N^2 n + N^3), or O(N n^2) if rows are more than the n
    features, for each of their 10 to 40 steps; one that is not verified raises `SubproblemError`.

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill and V. Vapnik, Gene selection for cancer classification using
    support vector machines, Machine Learning 46, 389-422, 2002.

    Examples
    --------
    >>> from fsnotes import SVMRanking, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> machine = SVMRanking(n_features=3).fit(X, y)
    >>> machine.n_selected_, machine.order_[:3].tolist()
    (3, [26, 10, 21])
    """

    def __init__(self, *, C=1.0, n_features=None, refit=True, scale=True):
        self.C = C
        self.n_features = n_features
        self.refit = refit
        self.scale = scale

    def _most_features(self, data):
        return max(1, data.n_features // 2) if self.n_features is None else int(self.n_features)

    def _weigh(self, data, used):
        machines = SoftMargins(data)
        weights = machines.first(self.C)
        self.order_ = used[np.argsort(-abs(weights), kind="stable")]
        self.objective_ = machines.last.objective
        self.result_ = Result.solved(
            self.objective_, duality_gap=machines.largest_gap, counts=machines.counts
        )
        return weights

    def _definition(self, planes):
        return np.append(planes.weights**2, self.C * planes.hinge())

    def _summary_lines(self):
        at = f"{self.objective_:.6g} at C={self.C:g}"
        return [f"|w|^2 + C (sum of hinge losses) of all features: {at}"]
