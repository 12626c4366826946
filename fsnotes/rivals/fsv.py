"""FSV: feature selection by a concave penalty on the weights, in a sequence of linear programs."""

from functools import partial

import numpy as np

from fsnotes.core.surrogates import Exponential
from fsnotes.core.validation import check_real
from fsnotes.rivals.hinge_selector import Linearized, LinearSteps, SteppingSelector

__all__ = ["FSV"]

LEAST_COST = 1e-7  # of a weight, as a part of its cost at 0


class LinearizedExponential(Linearized):
    """Minimise ``C * hinge losses + sum (1 - exp(-alpha |w|))`` by weighted l1 norms.

    The slope of the penalty is nowhere less than a least one.
    """

    def __init__(self, *given, alpha):
        super().__init__(*given)
        self.surrogate = Exponential(alpha)
        self.slope = LEAST_COST * alpha
        self.edge = -np.log(LEAST_COST) / alpha

    def penalties(self, weights):
        sizes = abs(weights)
        beyond = np.maximum(sizes - self.edge, 0)
        return self.surrogate.value(sizes - beyond) + self.slope * beyond

    def tangent(self, weights):
        """Return one over the costs of the weights."""
        costs = np.maximum(self.surrogate.slope(abs(weights)), self.slope)
        self.rest = float(self.penalties(weights).sum() - costs @ abs(weights))
        return 1 / costs


class FSV(SteppingSelector):
    """Few features by a concave penalty: ``sum (1 - exp(-alpha |w_i|)) + C`` times hinge losses.

    This is the method of Bradley and Mangasarian (1998), a sequence of linear programs: in each,
    the cost of a weight is the slope of the penalty at the last one, ``alpha exp(-alpha |w_i|)``,
    so that its objective lies above the penalty and touches it. Huang, King and Lyu (2008), who
    compare with it, print ``1 - exp{1 - alpha |w_i|}``, which is negative at 0.

    Parameters
    ----------
    C : float, default=0.1
        Cost of the sum over rows of the hinge losses ``max(0, 1 - margin)``; at most 1e6. If it
        is too small, no feature is selected, and a warning says what to change.
    alpha : float, default=5.0
        For a large one the penalty is the number of features; over a small one, the l1 norm.
    n_features : int, optional
        Select exactly so many: C is raised until the first program has enough, steps end before
        fewer are left, C is halved while more are, and those of the largest weights are taken.
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
        Penalty plus C times the sum of hinge losses where the steps end, before the refit.
    n_iter_ : int
        Linear programs on the way, without those at a C that had to be raised.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which rises by rounding alone at one C.

    Notes
    -----
    The published method starts at random. Here the first program is that of the l1 norm, in which
    each weight costs 1, or alpha if that is less, as it would from weights of equal size. From
    weights of zero they would cost alpha, and since the steps end at zero once they reach it, often
    nothing would be selected. Every program has the same constraints, and its solution is one of
    their vertices. Since these are finitely many and each step goes to a better one, the steps come
    to an end; where they do depends on the start.

    No weight costs less than ``1e-7 alpha``, in the history too: without a cost no solution would
    be best if longer weights separate more rows, and the program would be unbounded.

    Each step solves the dual program of N rows, as `L1SVM`: O(N n) for each hundred of n features
    that join, and O(N k) a pivot with k features in the program. `SubproblemError` is raised if the
    first program or the refit is not verified. A later step that is not is skipped, with a warning.

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, Feature selection via concave minimization and support
    vector machines, International Conference on Machine Learning, 82-90, 1998.

    K. Huang, I. King and M. R. Lyu, Direct zero-norm optimization for feature selection,
    IEEE International Conference on Data Mining, 2008.

    Examples
    --------
    >>> from fsnotes import FSV, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [FSV(C=C).fit(X, y).n_selected_ for C in (0.1, 0.3)]
    [3, 7]
    """

    _remedies = ("a smaller alpha",)

    def __init__(
        self, *, C=0.1, alpha=5.0, n_features=None, refit=True, tol=1e-6, max_iter=100, scale=True
    ):
        self.C = C
        self.alpha = alpha
        self.n_features = n_features
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale

    def _check_parameters(self):
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, open_at=0)

    def _make_run(self, data, least):
        kind = partial(LinearizedExponential, alpha=float(self.alpha))
        return LinearSteps(data, kind, least, min(1.0, float(self.alpha)))

    def _penalty(self, weights, floor):
        return Exponential(float(self.alpha)).value(abs(weights)).sum()

    def _definition(self, planes):
        penalties = -np.expm1(-self.alpha * abs(planes.weights[0]))
        return np.append(penalties, self.C * planes.hinge())

    def _summary_lines(self):
        at = f"{self.objective_:.6g} at C={self.C:g}"
        return [f"sum of 1 - exp(-alpha |w|) + C (hinge losses) before the refit: {at}"]
