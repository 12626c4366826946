"""DSO, direct sparsity optimisation: few rows of weights that all classes use.

The formulation is that of H. Peng and Y. Fan (2016), whose equations are cited by their numbers.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.joint import REFIT_C, JointClassifier
from fsnotes.core.mm import rises, stages, warn_of_max_iter
from fsnotes.core.progress import ProgressBar
from fsnotes.core.surrogates import Power
from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT, NO_RISE
from fsnotes.core.validation import check_bool, check_one_of, check_real, shown
from fsnotes.errors import (
    NotSeparableError,
    PromiseWarning,
    SelectionWarning,
    SubproblemError,
    warn,
)
from fsnotes.solvers.squared_hinge import SquaredHinge, Unbounded

__all__ = ["DSO", "Alternation", "Elimination", "JointStep", "JointSteps"]

LARGEST_C = 1e6  # with more, the margins are hard up to rounding
SMOOTHING = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)  # relative to the first W's longest row
ROUGH = 3e-2  # change of W at which a stage on the way ends, relative to its largest entry
MISSING = 1e-4  # part of a margin that rounding may take away
DEPENDENT = 1e-10  # part of a column outside of the span of others, if it depends on them
ROUNDS = 30  # exchanges for each row, before non-negative least squares are given up
SHORTEST = 1e-130  # length of the first W's longest row that the smoothing is a part of, at least
LOST = 1e-9  # part of a margin or of an objective that rows dropped at the end may cost
GAIN = 1e-12  # part of an objective by which a longer step has to lower it
REACH = 2  # number of steps by which a longer step goes ahead at first, and at least
FARTHER = 1.5  # factor of this number after a longer step that gained
NEARER = 4  # divisor of this number after one that did not
STRIDE = 10  # largest factor by which a longer step changes the length of a row


# ------------------------------------------------------------ the problem, and the weights (10)
class Smoothed:
    """``sum (|w_i|^2 + eps^2)^(p/2) - eps^p``, and C times the loss; for `majorize_minimize`.

    At ``eps = 0`` it is ``|W|_{2,p}^p`` of (1), whose minimum under margins is (5).
    """

    def __init__(self, data, p, C, eps, tol):
        self.data = data
        self.C = C
        self.tol = tol
        self.power = Power(p, eps)
        self.lowest = np.inf
        self.is_refused = False  # whether the last step has lost its digits, and would rise

    def value(self, W):
        penalty = self.power.value(np.linalg.norm(W, axis=1)).sum()
        return penalty + (self.C * self.data.loss(W) if self.C is not None else 0)

    def tangent(self, W):
        """Sizes ``(|w_i|^2 + eps^2)^(1 - p/2)``: (10) has ``Sigma_ii^2 = 1 / s_i`` at eps = 0."""
        norms = np.linalg.norm(W, axis=1)
        return self.power.p / 2 / self.power.slope_of_square(norms)

    def size(self, W):
        return np.count_nonzero(W[:-1].any(axis=1))

    def take(self, new, W, value):
        """The point that a step leads to or, where it would rise, the one before, of this value."""
        self.lowest = min(self.lowest, value)
        self.is_refused = rises(self.value(new), self.lowest)
        return W if self.is_refused else new


# ------------------------------------------------------------ the joint step over U and E
class JointStep:
    """Least ``|Sigma W|_F^2 = sum |w_i|^2 / s_i`` over all of W under the margins of (5).

    It is the step over U and E together, which (11) and its sequel take one after the other.
    """

    def __init__(self, data):
        self.data = data
        self.programs = SquaredHinge(data.signs)

    def solve(self, sizes, softness=0.0):
        """Weights of least ``sum |w_i|^2 / sizes_i``; rows whose size is zero are zero.

        With a softness above 0, one over it is the cost of the loss; at 0 the margins are hard.
        """
        X, signs = self.data.X, self.data.signs
        live = np.flatnonzero(sizes > 0)
        columns = X if len(live) == X.shape[1] else X[:, live]
        roots = np.sqrt(sizes[live])
        found = self.programs.solve(columns * roots, softness / self.data.sample_weight)
        W = np.zeros((X.shape[1], signs.shape[1]))
        W[live] = roots[:, None] * found.weights
        if softness == 0:  # rounding may have taken a part of the margins
            least = (signs * (columns @ W[live])).min(axis=0)
            if (least < 1 - MISSING).any():
                raise SubproblemError(f"a margin is {least.min():.3g} instead of 1, by rounding")
            W /= np.minimum(1, least)
        return W


class JointSteps(Smoothed):
    """Steps over all of W.

    Longer steps are tried first, and steps without the rows that are all but zero. They are taken
    where they lower the objective; the step itself does in any case.
    """

    def __init__(self, step, p, C, eps, tol):
        super().__init__(step.data, p, C, eps, tol)
        self.step = step
        self.softness = 0.0 if C is None else p / (2 * C)
        self.last = None
        self.reach = REACH
        self.is_rough = tol >= ROUGH

    def minimize(self, sizes, W):
        norms = np.linalg.norm(W, axis=1)
        if not norms.any():
            return W
        dead = norms <= NEGLIGIBLE_WEIGHT * norms.max()
        value = self.value(W)
        factors = self._factors(norms)
        self.last = norms
        if factors is not None:
            new = self._try(np.where(dead, 0, sizes * factors), value * (1 - GAIN))
            if new is not None:
                self.last = None  # the next step is a plain one, which shows the direction again
                self.reach *= FARTHER
                return new
            self.reach = max(REACH, self.reach / NEARER)
        if dead.any():
            new = self._try(np.where(dead, 0, sizes), value * (1 + NO_RISE))
            if new is not None:
                return new
        return self.take(self.step.solve(sizes, self.softness), W, value)

    def _factors(self, norms):
        """Factors of the sizes that go on in the direction of the last step; None on the way."""
        last = self.last
        if self.is_rough or last is None or abs(norms - last).max() <= self.tol * norms.max():
            return None
        ratios = np.divide(norms, last, out=np.ones(len(norms)), where=(last > 0) & (norms > 0))
        return np.clip(ratios**self.reach, 1 / STRIDE, STRIDE) ** (2 - self.power.p)

    def _try(self, sizes, limit):
        try:
            new = self.step.solve(sizes, self.softness)
        except (Unbounded, SubproblemError):
            return None
        return new if self.value(new) <= limit else None


# ------------------------------------------------------------ the published Algorithm 1
class Alternation(Smoothed):
    """A round of Algorithm 1: the step over U at the slacks E, then the step over E at this U."""

    def __init__(self, elimination, p, eps, tol):
        super().__init__(elimination.data, p, None, eps, tol)
        self.elimination = elimination

    def minimize(self, sizes, W):
        V = self.elimination.u_step(sizes)
        return self.take(self.elimination.e_step(self.tangent(V), V), W, self.value(W))


class Elimination:
    """The equations ``X W = Y + E`` of (6), solved as in (7) for the rows of W at the pivots.

    Pivots are the first columns of X that depend on no others; the rows of W elsewhere are U. (8)
    has ``[I M]`` at the left and ``N + L E`` at the right; here both are multiplied by the pivot
    columns, so that nothing is inverted. Where X has more rows than its rank, ``X X^+ (Y + E)``
    stands for ``Y + E``, by an orthonormal base of the pivot columns.
    """

    def __init__(self, data):
        self.data = data
        X = data.X
        self.pivots = first_independent(X)
        self.others = np.setdiff1d(np.arange(X.shape[1]), self.pivots)
        self.is_exact = len(self.pivots) == len(X)
        columns = X[:, self.pivots]
        self.base = np.eye(len(X)) if self.is_exact else qr(columns, mode="economic")[0]
        self.equations = self.base.T @ X
        self.E = np.zeros(data.signs.shape)
        self.programs = SquaredHinge(data.signs)

    def start(self):
        """The first step over U, from ``E = 0`` and ``Sigma = I``."""
        return self.u_step(np.ones(self.data.X.shape[1]))

    def u_step(self, sizes):
        """Least ``sum |w_i|^2 / sizes_i`` for the slacks E, as (12) and (13), without inverses."""
        roots = np.sqrt(sizes)
        wanted = self.base.T @ (self.data.signs + self.E)
        Q, R = qr((self.equations * roots).T, mode="economic")
        return roots[:, None] * (Q @ solve_triangular(R, wanted, trans="T"))

    def e_step(self, sizes, W):
        """Least ``sum |w_i|^2 / sizes_i`` over E and the pivots, ``|Lambda (L E + H)|_F^2``.

        The other rows of W are as they are. With ``X W = Y + E`` the slacks are what the margins
        exceed 1 by, hence the pivots solve a joint step; otherwise E is what is solved for.
        """
        signs, pivots = self.data.signs, self.pivots
        W = W.copy()
        fixed = self.equations[:, self.others] @ W[self.others]
        columns = self.equations[:, pivots]
        roots = np.sqrt(sizes[pivots])[:, None]
        if self.is_exact:
            targets = 1 - signs * fixed
            hard = np.zeros(len(signs))
            found = self.programs.solve(columns * roots.T, hard, targets, is_feasible=True)
            W[pivots] = roots * found.weights
            self.E = self.data.X @ W - signs
            return W
        H = np.linalg.solve(columns, self.base.T @ signs - fixed) / roots
        L = np.linalg.solve(columns, self.base.T) / roots
        for k, sign in enumerate(signs.T):
            self.E[:, k] = sign * least_slacks(L * sign, H[:, k])
        W[pivots] = roots * (H + L @ self.E)
        return W


def least_slacks(L, H):
    """Least ``|L e + H|^2`` over ``e >= 0``."""
    # Columns of length 1 keep non-negative least squares from going round in circles sooner.
    lengths = np.linalg.norm(L, axis=0)
    size = np.linalg.norm(H) or 1.0
    try:
        return nnls(L / lengths, -H / size, maxiter=ROUNDS * L.shape[1])[0] * size / lengths
    except RuntimeError:
        program = SquaredHinge(np.ones((L.shape[1], 1)))
        targets = -L.T @ H[:, None]
        return program.solve(L.T, np.zeros(L.shape[1]), targets).multipliers[:, 0]


def first_independent(X):
    """Places of the first columns of which none is a sum of those before it."""
    pivots = []
    basis = np.zeros((len(X), 0))
    for j, column in enumerate(X.T):
        if len(pivots) == len(X):
            break
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > DEPENDENT * max(np.linalg.norm(column), 1e-300):
            pivots.append(j)
            basis = np.column_stack([basis, left / size])
    return np.array(pivots)


# ------------------------------------------------------------ the estimator
class DSO(JointClassifier):
    """Few features for all classes at once: direct sparsity optimisation under margins.

    Each class gets a plane that separates it from all others. With a row of weights ``w_i`` for
    each feature, one weight a class, minimise ``sum |w_i|_2^p`` where each margin is at least 1,
    problem (5) of Peng and Fan (2016), or add `C` times the squares of what margins miss of 1. A
    feature costs nothing only if no class uses it.

    Parameters
    ----------
    p : float, default=0.9
        Above 0 and at most 1, where the problem is convex. A smaller p leaves fewer features.
    n_features : int, optional
        Select at most so many: those alive with the largest `row_norms_`.
    C : float, optional
        Cost of the sum over rows and classes of ``max(0, 1 - margin)**2``, up to 1e6. It counts
        rows, so with ten times as many try a tenth. Without it the margins are hard, and classes
        that no plane separates are an error.
    method : {"joint", "alternating"}, default="joint"
        Solve each reweighted step exactly; or by the two half-steps of the published algorithm,
        which has no ``C``, may stall above the optimum even at ``p=1``, depends on the order of the
        features, and where rows are more than their rank does not keep the margins.
    refit : bool, default=True
        Return the solution for the features selected that minimises ``|W|^2 + C`` times the
        squares of what margins miss, with a C of 1 where they are hard; else the end of the steps.
    scale : bool, default=True
        Measure features in units of their pooled within-class standard deviation, from the middle
        of the class means. The bias is a weight that costs as any other, so that both matter.
    tol : float, default=1e-05
        The last stage ends when no weight changes by more than this part of the largest.
    max_iter : int, default=500
        Most steps of a stage, up to 1e6.
    progress : bool, default=False
        Show a progress bar over the stages, with the number of features left.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        With one row for two classes; exactly zero where not selected.
    objective_ : float
        ``sum |w_i|^p``, the bias row included, and C times the squares of what margins miss, in
        the units that `scale` sets, at the end of the steps. Two classes have two columns.
    n_live_ : int
        Features alive at the end of the steps: those whose row is more than 1e-6 of the largest.
    row_norms_ : ndarray of shape (n_features,)
        Sizes of the rows there, in the same units; they rank the features.
    n_iter_ : int
        Steps of all stages.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the smoothed objective, over all features that vary.

    Notes
    -----
    A row of weights costs ``(|w_i|^2 + eps^2)^(p/2) - eps^p``, and eps goes to 1e-8 of the largest
    row in six stages. A step is a quadratic program for each class. All share the matrix
    ``X diag(sizes) X'``, which takes O(N^2 k) for N rows and k features alive; each adds a few
    factors of O(s^3) for s multipliers above zero. Where rows are more than features, only the
    products of these s rows are formed, or matrices of size k. Equal rows are one row, which has
    the sum of their weights. `NotSeparableError` is raised without `C` if some class cannot be
    separated from the others; `SubproblemError`, if a step cannot be verified.

    Published misprints, put right: the matrix P of (8) begins with -M, (11) has the square of
    Sigma both times, and the ones stand in a column of X.

    References
    ----------
    H. Peng and Y. Fan, Direct sparsity optimization based feature selection for multi-class
    classification, Proceedings of the 25th International Joint Conference on Artificial
    Intelligence, 1918-1924, 2016.

    Examples
    --------
    >>> from fsnotes import DSO
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> [DSO(p=p).fit(X, y).n_live_ for p in (0.5, 0.1)]
    [10, 9]
    """

    def __init__(
        self,
        *,
        p=0.9,
        n_features=None,
        C=None,
        method="joint",
        refit=True,
        scale=True,
        tol=1e-5,
        max_iter=500,
        progress=False,
    ):
        self.p = p
        self.n_features = n_features
        self.C = C
        self.method = method
        self.refit = refit
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    def _check_parameters(self):
        check_real("p", self.p, 0, open_at=0, most=1)
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C, optional=True)
        check_one_of("method", self.method, ("joint", "alternating"))
        if self.method == "alternating" and self.C is not None:
            raise ValueError(
                f'method="alternating" has hard margins; pass C=None instead of {shown(self.C)}, '
                'or method="joint"'
            )
        super()._check_parameters()
        check_bool("progress", self.progress)

    def _fit_samples(self, samples):
        samples, features, data = self._margin_data(samples)
        try:
            W = self._descend(data)
        except Unbounded as error:
            raise self._not_separable(error.certificates, samples) from None
        C = REFIT_C if self.C is None else self.C
        self._select_and_refit(features, data, W, C, self.refit)
        self._warn(len(features.used), data.margins(W).min())

    def _definition(self, planes):
        squares = planes.missing(planes.signs) ** 2
        losses = (self.C or 0.0) * (planes.sample_weight @ squares)
        return np.append(planes.row_lengths() ** self.p, losses)

    def _verify_objective(self, samples):
        planes = super()._verify_objective(samples)
        missing = planes.moved(-1).missing(planes.signs).max()
        if self.C is None and self.method == "joint" and missing > MISSING:
            warn(
                f"a margin is {1 - missing:.6g} by the rows instead of 1: digits are lost where "
                "features have means far larger than their deviations; subtract them, or pass C",
                PromiseWarning,
            )
        return planes

    def _descend(self, data):
        """The weights in which the steps end, without those that are rounding."""
        step = JointStep(data)
        softness = 0.0 if self.C is None else self.p / (2 * self.C)
        first = step.solve(np.ones(data.X.shape[1]), softness)
        longest = max(np.linalg.norm(first, axis=1).max(), SHORTEST)
        if self.method == "joint":
            start, family, options = first, JointSteps, (step, self.p, self.C)
        else:
            elimination = Elimination(data)
            start, family, options = elimination.start(), Alternation, (elimination, self.p)
        tols = [ROUGH] * (len(SMOOTHING) - 1) + [self.tol]
        levels = zip(SMOOTHING, tols, strict=True)
        problems = [family(*options, eps * longest, tol) for eps, tol in levels]
        W, result = self._run(problems, start)
        self.n_iter_ = len(result.steps) - len(problems)
        W = self._drop_rounding(data, W, SMOOTHING[-1] * longest)
        self.objective_ = float(Smoothed(data, self.p, self.C, 0.0, self.tol).value(W))
        self.result_ = replace(result, counts=dict(step.programs.counts))
        return W

    def _run(self, problems, start):
        with ProgressBar(total=len(problems), desc="DSO", disable=not self.progress) as bar:

            def show(step, W):
                bar.n = step.stage
                bar.set_postfix(features=step.n_selected, change=f"{step.change:.0e}")

            # A stage on the way need not converge.
            options = {"tol": self.tol, "max_iter": self.max_iter, "warn_of": ("rose",)}
            W, result = stages(problems, start, callback=show, **options)
            bar.n = len(problems)
        if result.status == "max_iter":
            warn_of_max_iter(result.steps[-1].change, self.tol, self.max_iter)
        elif getattr(problems[-1], "is_refused", False):
            result = replace(result, status="stalled")
            warn(
                "a step has lost its digits and would rise, so the point before it is kept; pass "
                "sample_weight that differ less, or a smaller C",
                ConvergenceWarning,
            )
        return W, result

    def _drop_rounding(self, data, W, eps):
        """Weights without the rows that are all but zero, unless margins need them."""
        norms = np.linalg.norm(W, axis=1)
        if norms.max() <= eps:
            return np.zeros(W.shape)
        dead = norms <= NEGLIGIBLE_WEIGHT * norms.max()
        dead[-1] = False  # the bias is no feature, whatever the units
        kept = np.where(dead[:, None], 0, W)
        # Hard margins are restored below, by weights that are larger by as much as is missing.
        allowed = NEGLIGIBLE_WEIGHT if self.C is None else LOST * (norms**self.p).sum()
        needed = self._missing(data, W) + allowed
        for j in np.flatnonzero(dead)[np.argsort(-norms[dead], kind="stable")]:
            if self._missing(data, kept) <= needed:
                break
            kept[j] = W[j]
        if self.C is None and (data.margins(W) >= 1 - LOST).all():
            kept /= np.minimum(1, data.margins(kept).min(axis=0))
        return kept

    def _missing(self, data, W):
        """What the margins miss: the most of a hard one, or C times the loss."""
        if self.C is None:
            return max(0, 1 - data.margins(W).min())
        return self.C * data.loss(W)

    def _warn(self, count, least_margin):
        if self.C is None and least_margin < 1 - MISSING:
            warn(
                f'method="alternating" has not kept the margins, the smallest is '
                f'{least_margin:.2g}: rows are more than their rank; pass method="joint"',
                SelectionWarning,
            )
        if self.n_features is not None and self.n_features > self.n_live_:
            words = (
                f"n_features={self.n_features}, but only {self.n_live_} are alive, others are "
                f"rounding; {self.n_live_} are returned"
            )
            if self.p < 1 and self.n_live_ < count:
                words += "; a larger p leaves more"
        elif count and not self.n_live_:
            words = 'method="alternating" has lost all weights; pass method="joint"'
            if self.C is not None:
                words = f"C={self.C:g} is too small to select a feature; pass a larger C"
        else:
            return
        warn(words, SelectionWarning)

    def _summary_lines(self):
        loss = "" if self.C is None else f" + C (squares of what margins miss) at C={self.C:g}"
        return [f"sum |w|^p{loss}, at p={self.p:g}, before the refit: {self.objective_:.6g}"]

    def _not_separable(self, certificates, samples):
        """The error, with a certificate for the rows as they were passed."""
        labels = self.classes_.tolist()
        found = {labels[k]: np.zeros(samples.n_passed) for k in certificates}
        for k, multipliers in certificates.items():
            found[labels[k]][samples.row] = multipliers
        names = ", ".join(repr(label) for label in list(found)[:5]) + ", ..." * (len(found) > 5)
        return NotSeparableError(
            f"no plane separates the rows of class {names} from all others, so there is no hard "
            "margin; pass C=1 for a soft one. The .certificates of this NotSeparableError prove it",
            found,
        )
