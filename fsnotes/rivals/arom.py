"""AROM: an approximation of zero-norm minimisation by columns multiplied with weights."""

import numpy as np

from fsnotes.core.reweighting import SoftMargins, logarithms
from fsnotes.core.validation import check_count
from fsnotes.em.zero_norm import ZeroNorm
from fsnotes.rivals.hinge_selector import Linearized, LinearSteps, SteppingSelector, Steps

__all__ = ["AROM"]


class AROM(SteppingSelector):
    """Few features by multiplying columns with their weights, again and again.

    This is the approximation of the zero-norm minimisation by Weston, Elisseeff, Schoelkopf and
    Tipping (2003). Each step minimises ``|u|_2^2``, or ``|u|_1``, plus C times hinge losses on
    columns that are multiplied by the last weights. What the steps provably descend is ``norm * sum
    log |w_i| + C`` times hinge losses, of the weights w of the columns themselves. With ``norm=2``
    the steps are those of `ZeroNormSVM` from equal penalties.

    Parameters
    ----------
    norm : {2, 1}, default=2
        With 2 each step is a quadratic program, with 1 a linear one.
    C : float, default=1.0
        Cost of the sum over rows of the hinge losses ``max(0, 1 - margin)``; at most 1e6. If it
        is too small, no feature is selected, and a warning says what to change.
    n_features : int, optional
        Select exactly so many: steps end before fewer are left, C is halved while more are, and
        those of the largest weights are taken. With ``norm=1``, C is first raised if it is small.
    refit : bool, default=True
        Return the soft-margin machine of the features selected, which minimises ``|w|_2^2 + C``
        times the sum of hinge losses; otherwise return the point at which the steps end.
    tol : float, default=1e-06
        Steps end when no weight changes by more than this part of the largest.
    max_iter : int, default=100
        The largest number of steps, for each C, up to 1e6.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,)
        The middle one if several have the same loss.
    objective_ : float
        What is descended, over all features that vary, where the steps end, before the refit. A
        weight below a floor, 1e-6 of the largest of the first solution, counts as the floor.
    n_iter_ : int
        Solutions on the way, the first one included.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which rises by rounding alone at one C.

    Notes
    -----
    A weight that vanishes stays zero, since its column has become zero. Without the floor the
    objective has no least value, so that the start decides where the steps end; only these two
    depend on units. There each weight that is left meets ``w_j sum_i a_i y_i x_ij = norm``, with
    multipliers a from 0 to C. So ``norm=1`` drops what ``norm=2`` would at half the C. Solutions of
    its linear programs are vertices of the same constraints, and its steps come to an end.

    Each step costs what it does in `ZeroNormSVM`, O(N^2 k + N^3) or O(N k^2) for N rows and k
    features left, or in `L1SVM`, O(N k) a pivot. `SubproblemError` is raised if the first solution
    or the refit cannot be verified. A later step that cannot be is not taken, with a warning.

    References
    ----------
    J. Weston, A. Elisseeff, B. Schoelkopf and M. Tipping, Use of the zero norm with linear models
    and kernel methods, Journal of Machine Learning Research 3, 1439-1461, 2003.

    Examples
    --------
    >>> from fsnotes import AROM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [AROM(norm=norm, C=0.3).fit(X, y).n_selected_ for norm in (1, 2)]
    [4, 3]
    """

    def __init__(
        self, *, norm=2, C=1.0, n_features=None, refit=True, tol=1e-6, max_iter=100, scale=True
    ):
        self.norm = norm
        self.C = C
        self.n_features = n_features
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_count("norm", self.norm, most=2)

    def _make_run(self, data, least):
        if self.norm == 1:
            return LinearSteps(data, Linearized, least)
        return Steps(data, SoftMargins(data), ZeroNorm, least)

    def _penalty(self, weights, floor):
        return self.norm * logarithms(weights, floor).sum()

    def _definition(self, planes):
        penalties = 0.0
        if planes.floors > 0:
            sizes = np.maximum(abs(planes.weights[0]), planes.floors)
            penalties = self.norm * np.log(sizes)
        return np.append(penalties, self.C * planes.hinge())

    def _summary_lines(self):
        return [f"{self.n_iter_} machines with the norm {self.norm}, at C={self.C:g}"]
