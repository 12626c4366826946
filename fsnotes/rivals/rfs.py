"""Robust feature selection: rows of residuals and rows of weights, each by its length."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.joint import REFIT_C, JointClassifier
from fsnotes.core.mm import Result, stages
from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT, NO_RISE
from fsnotes.core.validation import check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn

__all__ = ["RFS", "RowSums", "SmoothedRowSums"]

STAGES = 25  # most values of the smoothing
FIRST = 0.1  # part of the objective that the first smoothing may cost
SMALLER = 0.1  # part of a smoothing that is left in the next stage
CONCERNS = 0.1  # part of the cost of both smoothings from which on one of them is lowered
SETTLED = 0.5  # duality gap at which a stage ends, relative to what the smoothing costs
IDLE = 5  # steps without a gain, after which a stage ends
NO_GAIN = 1e-13  # part of the objective that is rounding
PRODUCTS = 100  # most products with the curvature in a step
INEXACT = 0.1  # part of the slope that Newton's step may leave
HALVINGS = 10  # how often Newton's step is halved, at most
RIDGES = (0, 1e-14, 1e-12, 1e-10, 1e-8)  # added where rounding needs it, of the largest entry
FADING = (np.inf, 100, 10)  # lengths that are tried as zero, relative to the smoothing
BISECTIONS = 25  # for the lam above which no feature is selected


def lengths(rows, eps=0.0):
    """Length of each row, smoothed."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows) + eps**2)


class RowSums:
    """``sample_weight @ lengths(X W - Y) + lam * sum of lengths(W)``, and bounds of its minimum.

    If Theta has rows no longer than the sample weights and ``X' Theta`` rows no longer than lam,
    the minimum is at least ``-<Theta, Y>``.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    Y : ndarray of shape (n_rows, n_targets)
    sample_weight : ndarray of shape (n_rows,)
    lam : float
    """

    def __init__(self, X, Y, sample_weight, lam):
        self.X = X
        self.Y = Y
        self.sample_weight = sample_weight
        self.lam = lam
        self.lower = 0.0
        self.theta = np.zeros(Y.shape)
        self.n_steps = 0

    def value(self, W, eps_rows=0.0, eps=0.0):
        """The objective, with smoothed lengths of residuals and of weights."""
        residuals = lengths(self.X @ W - self.Y, eps_rows)
        return float(self.sample_weight @ residuals + self.lam * lengths(W, eps).sum())

    def gap(self, W):
        """Distance of the objective to the largest lower bound met, relative."""
        value = self.value(W)
        return max(0.0, float((value - self.lower) / value))

    def bound(self, theta, eps_rows=0.0, eps=0.0):
        """A lower bound of the smoothed objective; the best one of the objective is kept."""
        longest, pulls = lengths(theta), lengths(self.X.T @ theta)
        excess = max(1.0, (longest / self.sample_weight).max(), pulls.max() / self.lam)
        bound = -float((theta * self.Y).sum()) / excess
        if bound >= self.lower:
            self.lower, self.theta = bound, theta / excess
        slack = np.sqrt(np.maximum(self.sample_weight**2 - (longest / excess) ** 2, 0)).sum()
        slack_of_pulls = np.sqrt(np.maximum(self.lam**2 - (pulls / excess) ** 2, 0)).sum()
        return bound + eps_rows * slack + eps * slack_of_pulls

    def solve(self, tol, max_iter):
        """Weights, and the result of all stages."""
        self.W = np.zeros((self.X.shape[1], self.Y.shape[1]))
        # No stage need converge: what counts is the gap at the end of the last one.
        return stages(self._stages(tol), self.W, tol=0, max_iter=max_iter, warn_of=("rose",))

    def _stages(self, tol):
        units = np.array([self.sample_weight.sum(), self.lam * self.X.shape[1]])
        smoothing = np.full(2, np.inf)
        for _ in range(STAGES):
            smoothing = np.minimum(smoothing, FIRST * self.value(self.W) / units)
            self.smoothing = smoothing
            stage = SmoothedRowSums(self, *smoothing, tol)
            yield stage
            self.W = stage.W
            costs = stage.costs
            if self.gap(self.W) <= tol:
                break
            smoothing = np.where(costs >= CONCERNS * costs.sum(), SMALLER, 1) * smoothing


class SmoothedRowSums:
    """`RowSums` with lengths ``sqrt(length^2 + eps^2)``, for `majorize_minimize`.

    The majoriser has ``length^2 / (2 smoothed)`` for each length: a ridge regression that has the
    same weights of rows for all targets, hence one matrix. Its minimiser is the step of Nie et al.
    (2010). With this matrix for preconditioner, conjugate gradients approach Newton's step for the
    equations ``smoothed * theta = residual``, in which the dual variables are kept (Chan, Golub
    and Mulet), and the lower one of both points is taken.

    Parameters
    ----------
    sums : RowSums
    eps_rows, eps : float
        Smoothing of the lengths of residuals, and of weights.
    target : float
        Duality gap at which all is done.
    """

    def __init__(self, sums, eps_rows, eps, target):
        self.sums = sums
        self.eps_rows = eps_rows
        self.eps = eps
        self.target = target
        self.theta = self.xi = None
        self.lowest = np.inf
        self.idle = 0

    def value(self, W):
        return self.sums.value(W, self.eps_rows, self.eps)

    def size(self, W):
        sizes = lengths(W[:-1])
        return int(np.count_nonzero(sizes > NEGLIGIBLE_WEIGHT * sizes.max(initial=0)))

    def tangent(self, W):
        """Rows of residuals and of weights, each with its dual variables and its curvature."""
        sums = self.sums
        residuals = SmoothedRows(sums.X @ W - sums.Y, self.eps_rows, sums.sample_weight, self.theta)
        return residuals, SmoothedRows(W, self.eps, np.full(len(W), sums.lam), self.xi)

    def minimize(self, tangent, W):
        """A point no higher than the minimiser of the majoriser, or W itself to end the stage."""
        residuals, weights = tangent
        self.W = W
        if self.is_over(residuals, weights):
            return W
        X = self.sums.X
        slope = X.T @ residuals.theta + weights.theta
        inverse = self.factor(residuals.curvature, weights.curvature)
        plain = W - inverse(slope)

        def curve(move):
            move = move.reshape(W.shape)
            return X.T @ residuals.bend(X @ move) + weights.bend(move)

        linear = LinearOperator((W.size, W.size), matvec=curve, dtype=float)
        preconditioner = LinearOperator(
            linear.shape, matvec=lambda rows: inverse(rows.reshape(W.shape)), dtype=float
        )
        # Where the value stands still, the dual variables may yet become better.
        accuracy = INEXACT ** (1 + self.idle)
        move, _ = cg(linear, -slope.ravel(), rtol=accuracy, maxiter=PRODUCTS, M=preconditioner)
        move = move.reshape(W.shape)
        self.theta = residuals.theta + residuals.turn(X @ move)
        self.xi = weights.theta + weights.turn(move)
        limit = self.value(plain)
        for part in 0.5 ** np.arange(HALVINGS):
            if self.value(W + part * move) <= limit:
                return W + part * move
        return plain if limit <= self.value(W) else W

    def is_over(self, residuals, weights):
        """Whether a lower bound is near enough, or the value has stood still for some steps."""
        sums = self.sums
        bound = sums.bound(residuals.theta, self.eps_rows, self.eps)
        if self.theta is not None:
            bound = max(bound, sums.bound(self.theta, self.eps_rows, self.eps))
        value = self.value(self.W)
        self.idle = 0 if value < self.lowest * (1 - NO_GAIN) else self.idle + 1
        self.lowest = min(self.lowest, value)
        self.costs = np.array([residuals.cost(), weights.cost()])
        enough = SETTLED * max(self.costs.sum(), self.target * value)
        return sums.gap(self.W) <= self.target or value - bound <= enough or self.idle > IDLE

    def factor(self, row_weights, penalties):
        """A function that inverts the majoriser's matrix, by the smaller dimension."""
        self.sums.n_steps += 1
        X, roots = self.sums.X, np.sqrt(1 / penalties)[:, None]
        B = X * np.sqrt(row_weights)[:, None] * roots.T
        is_wide = X.shape[1] > X.shape[0]
        square = B @ B.T if is_wide else B.T @ B
        square.flat[:: len(square) + 1] += 1
        for ridge in RIDGES:
            try:
                lower = cho_factor(square + ridge * square.diagonal().max() * np.eye(len(square)))
                break
            except LinAlgError:
                continue
        else:
            raise SubproblemError("weights cannot be found by floating point; pass a larger lam")

        def inverse(slope):
            scaled = roots * slope
            if is_wide:
                return roots * (scaled - B.T @ cho_solve(lower, B @ scaled))
            return roots * cho_solve(lower, scaled)

        return inverse


class SmoothedRows:
    """Rows whose smoothed lengths cost, at a point, and the dual variables kept for them."""

    def __init__(self, rows, eps, factor, kept):
        self.rows, self.factor = rows, factor
        self.lengths = lengths(rows, eps)
        self.curvature = factor / self.lengths
        self.theta = rows * self.curvature[:, None]
        self.kept = self.theta
        if kept is not None:
            self.kept = kept / np.maximum(1, lengths(kept) / factor)[:, None]

    def cost(self):
        """What the smoothing costs beyond what it has to."""
        plain = lengths(self.rows)
        return self.factor @ (plain * (self.lengths - plain) / self.lengths)

    def turn(self, moved):
        """How Newton's step changes the dual variables."""
        along = np.einsum("ij,ij->i", self.rows, moved) / self.lengths**2
        return self.curvature[:, None] * moved - self.kept * along[:, None]

    def bend(self, moved):
        """The product with the curvature: `turn`, made symmetric."""
        across = np.einsum("ij,ij->i", self.kept, moved) / self.lengths**2
        along = np.einsum("ij,ij->i", self.rows, moved) / self.lengths**2
        both = self.kept * along[:, None] + self.rows * across[:, None]
        return self.curvature[:, None] * moved - both / 2


def drop_fading(sums, W):
    """Weights with zeros for rows that are all but zero, where that costs only rounding."""
    sizes = lengths(W[:-1])
    limit = sums.value(W) * (1 + NO_RISE)
    if sums.value(0 * W) <= limit:
        return 0 * W
    most = [times * sums.smoothing[1] for times in FADING]
    for longest in (*most, NEGLIGIBLE_WEIGHT * sizes.max(initial=0)):
        fewer = W.copy()
        fewer[:-1][sizes <= longest] = 0
        if sums.value(fewer) <= limit:
            return fewer
    return W


class RFS(JointClassifier):
    """Few features for all classes at once: robust feature selection by joint l2,1 norms.

    Minimise ``sum |x_i W - y_i|_2 + lam sum |w_j|_2`` over rows of W, one for each feature, with
    one weight a class. The labels ``y_i`` are 1 for the class of the row and -1 for all others. A
    residual counts by its length, not by its square, so that outliers matter less, and a feature
    costs nothing only if no class uses it. The method is that of Nie, Huang, Cai and Ding (2010);
    Peng and Fan (2016), who compare with it, print this objective, and do not print the labels and
    the bias that they gave it, which are taken from their own method here.

    Parameters
    ----------
    lam : float, default=1.0
        Penalty of the lengths of rows of weights, above 0, where each row of the data counts 1.
        Where it is too large to select a feature, none is selected, and a warning names a smaller
        one.
    n_features : int, optional
        Select so many at most: those with the longest rows of weights. No more than are alive.
    refit : bool, default=True
        Return the solution for the features selected that minimises ``|W|^2`` plus the squares of
        what the margins of each class against the others miss of 1; otherwise the weights that the
        problem itself gives these features.
    scale : bool, default=True
        Measure features in units of their pooled within-class standard deviation, from the middle
        of the class means. The bias is the weight of a column of ones and costs as any other, so
        that both matter.
    tol : float, default=1e-06
        Relative duality gap at which the steps end.
    max_iter : int, default=100
        Most steps of a stage.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Exactly zero where not selected.
    intercept_ : ndarray of shape (n_classes,), or (1,)
    objective_ : float
        ``sum |x_i W - y_i|_2 + lam sum |w_j|_2``, the bias row included, in the units that
        `scale` sets, before features are chosen by number and before the refit. Two classes have
        two columns, one minus the other.
    n_live_ : int
        Features whose row of weights is not zero at the solution.
    row_norms_ : ndarray of shape (n_features,)
        Lengths of the rows there, in the same units; they rank the features. The bias has no rank.
    n_iter_ : int
        Steps of all stages.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.duality_gap`` is the relative distance of `objective_` to a lower bound that is
        certain; ``result_.steps`` is the history of the smoothed objective.

    Notes
    -----
    A length is smoothed, ``sqrt(length^2 + eps^2)``, and eps goes to zero in stages, divided by 10
    in each. A step solves the reweighted ridge regression of Nie et al. (2010), one matrix for all
    classes. Such steps alone have a linear rate that is near 1 wherever a multiplier is near its
    limit, and often stay at a gap of 1e-4 for hundreds of steps. So conjugate gradients, with the
    same matrix for preconditioner, approach Newton's step, and the lower point is taken: the
    objective never rises, and a step gains no less than theirs. Five to ten steps a stage are
    usual, and five to eight stages.

    For N rows, n features and c classes a step costs O(N n min(N, n)) for the matrix, and O(N n c)
    for each of at most 100 products. Equal rows are one row, which has the sum of their weights.
    The minimum may have more than one solution, for example if columns are equal; one of them is
    returned.

    Rows of weights that are small beside the smoothing, or at most 1e-6 of the largest, become
    zero where the objective does not rise. How many are left at a coarse `tol` is a matter of it.

    References
    ----------
    T. F. Chan, G. H. Golub and P. Mulet, A nonlinear primal-dual method for total variation-based
    image restoration, SIAM Journal on Scientific Computing 20(6), 1964-1977, 1999.

    F. Nie, H. Huang, X. Cai and C. Ding, Efficient and robust feature selection via joint
    l2,1-norms minimization, Advances in Neural Information Processing Systems 23, 1813-1821, 2010.

    H. Peng and Y. Fan, Direct sparsity optimization based feature selection for multi-class
    classification, Proceedings of the 25th International Joint Conference on Artificial
    Intelligence, 1918-1924, 2016.

    Examples
    --------
    >>> from fsnotes import RFS
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> [RFS(lam=lam).fit(X, y).n_selected_ for lam in (1, 30, 60)]
    [13, 9, 6]
    """

    def __init__(self, *, lam=1.0, n_features=None, refit=True, scale=True, tol=1e-6, max_iter=100):
        self.lam = lam
        self.n_features = n_features
        self.refit = refit
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self):
        check_real("lam", self.lam, 0, open_at=0)
        super()._check_parameters()

    def _fit_samples(self, samples):
        _, features, data = self._margin_data(samples)
        W = self._minimize(data)
        self._select_and_refit(features, data, W, REFIT_C, self.refit and W[:-1].any())
        self._warn_of_number(data)

    def _minimize(self, data):
        """Weights and offsets of all classes; sets objective and result."""
        # With two classes one column tells all; rows of both are longer by the root of 2.
        both = len(self.classes_) == 2
        Y = data.signs[:, 1:] if both else data.signs
        sums = RowSums(data.X, Y, data.sample_weight, self.lam)
        W, result = sums.solve(self.tol, self.max_iter)
        W = drop_fading(sums, W)
        gap = sums.gap(W)
        self.n_iter_ = sums.n_steps
        self.objective_ = sums.value(W) * (2**0.5 if both else 1)
        status = "converged" if gap <= self.tol else "max_iter"
        status = "rose" if result.status == "rose" else status
        counts = {"factorisation": sums.n_steps}
        self.result_ = Result(status, self.objective_, result.steps, gap, counts=counts)
        if status == "max_iter":
            warn(
                f"not converged: the duality gap is {gap:.1e} of the objective, more than "
                f"tol={self.tol:g}; raise max_iter, tol or lam",
                ConvergenceWarning,
            )
        return np.hstack([-W, W]) if both else W

    def _warn_of_number(self, data):
        if self.n_features is not None and self.n_features > self.n_live_:
            words = (
                f"n_features={self.n_features}, but only {self.n_live_} are alive at "
                f"lam={self.lam:g}; {self.n_live_} are returned"
            )
        elif data.X.shape[1] > 1 and not self.n_live_:
            words = (
                f"lam={self.lam:g} is too large to select a feature; none is selected above "
                f"lam={self._none_above(data):.6g}, so pass a smaller one"
            )
        else:
            return
        warn(words, SelectionWarning)

    def _none_above(self, data):
        """The lam at which multipliers that are equal in each class pull some feature enough."""
        members = (data.signs > 0) * data.sample_weight[:, None]
        totals = members.T @ data.X[:, :-1]
        counts = members.sum(axis=0)

        low, high = 0.0, min(self.lam, abs(totals).sum())
        for _ in range(BISECTIONS):
            lam = (low + high) / 2
            bias = RowSums(np.ones((len(counts), 1)), 2 * np.eye(len(counts)) - 1, counts, lam)
            bias.solve(1e-6, 100)
            pull = lengths(totals.T @ (bias.theta / counts[:, None])).max()
            low, high = (lam, high) if pull > lam else (low, lam)
        return high

    def _summary_lines(self):
        at = f"{self.objective_:.6g} at lam={self.lam:g}"
        return [f"|XW - Y|_2,1 + lam |W|_2,1 before the refit: {at}"]
