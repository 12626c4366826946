"""Robust feature selection: rows of residuals and rows of weights, each by its length."""

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.joint import REFIT_C, JointClassifier
from fsnotes.core.mm import Result, stages
from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT, NO_RISE
from fsnotes.core.validation import check_real
from fsnotes.errors import SelectionWarning, warn

__all__ = ["RFS", "RowSums"]

SMALLEST_LAM = 1e-30  # relative to the largest weight of a sample; proofs need about 1e-12
STAGES = 25  # most values of the smoothing
FIRST = 0.1  # part of the objective that the first smoothing may cost
SMALLER = 0.1  # part of a smoothing that is left in the next stage
CONCERNS = 0.1  # part of the cost of both smoothings from which on one of them is lowered
SETTLED = 0.5  # duality gap at which a stage ends, relative to what the smoothing costs
IDLE = 5  # steps without a gain, after which a stage ends
NO_GAIN = 1e-13  # part of the objective that is rounding
PRODUCTS = 100  # most products with the curvature in a step
INEXACT = 0.1  # part of the slope that Newton's step may leave
PARTS = 0.5 ** np.arange(10)  # the parts of Newton's step that are tried in turn
FADING = (np.inf, 100, 10)  # lengths that are tried as zero, relative to the smoothing


def lengths(rows, eps=0.0):
    """Length of each row, smoothed."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows) + eps**2)


class RowSums:
    """``factors @ lengths(rows)`` of residuals ``X W - Y`` and weights W, for `majorize_minimize`.

    The factors are the sample weights and lam. If Theta has rows no longer than the sample weights
    and ``X' Theta`` rows no longer than lam, the minimum is at least ``-<Theta, Y>``.

    A stage smooths lengths, ``sqrt(length^2 + eps^2)``. The majoriser has ``length^2 / (2
    smoothed)`` for each: a ridge regression that has the same weights of rows for all targets,
    hence one matrix. Its minimiser is the step of Nie et al. (2010). With this matrix for
    preconditioner, conjugate gradients approach Newton's step for the equations ``smoothed * theta
    = factor * row``, in which the dual variables are kept (Chan, Golub and Mulet), and the lower
    one of both points is taken.
    """

    def __init__(self, X, Y, sample_weight, lam):
        self.X = X
        self.targets = np.vstack([Y, np.zeros((X.shape[1], Y.shape[1]))])
        self.factors = np.append(sample_weight, np.full(X.shape[1], lam))
        self.lower = 0.0
        self.n_steps = 0
        self.start(np.zeros(2), 0.0)

    def start(self, smoothing, tol):
        """Begin a stage, with one smoothing for residuals and one for weights."""
        self.smoothing = smoothing
        self.eps = np.repeat(smoothing, self.X.shape)
        self.target = tol
        self.theta = None
        self.lowest = np.inf
        self.idle = 0

    def apply(self, W):
        """Scores and weights, one below the other."""
        return np.vstack([self.X @ W, W])

    def adjoint(self, theta):
        return self.X.T @ theta[: len(self.X)] + theta[len(self.X) :]

    def objective(self, W):
        return float(self.factors @ lengths(self.apply(W) - self.targets))

    def value(self, W):
        """The objective with smoothed lengths."""
        return float(self.factors @ lengths(self.apply(W) - self.targets, self.eps))

    def gap(self, W):
        """Distance of the objective to the largest lower bound met, relative."""
        objective = self.objective(W)
        return max(0.0, float((objective - self.lower) / objective))

    def bound(self, theta):
        """A lower bound of the smoothed objective; the best one of the objective is kept."""
        theta = theta[: len(self.X)]
        theta = np.vstack([theta, -self.X.T @ theta])
        theta = theta / max(1.0, (lengths(theta) / self.factors).max())
        bound = -float((theta * self.targets).sum())
        self.lower = max(self.lower, bound)
        return bound + self.eps @ np.sqrt(np.maximum(self.factors**2 - lengths(theta) ** 2, 0))

    def solve(self, tol, max_iter):
        """Weights, and the result of all stages."""
        self.W = np.zeros((self.X.shape[1], self.targets.shape[1]))
        # No stage need converge: what counts is the gap at the end of the last one.
        return stages(self._stages(tol), self.W, tol=0, max_iter=max_iter, warn_of=("rose",))

    def _stages(self, tol):
        units = np.add.reduceat(self.factors, [0, len(self.X)])
        smoothing = np.full(2, np.inf)
        for _ in range(STAGES):
            self.start(np.minimum(smoothing, FIRST * self.objective(self.W) / units), tol)
            yield self
            if self.gap(self.W) <= tol:
                break
            costs = np.add.reduceat(self.costs, [0, len(self.X)])
            lowered = costs >= CONCERNS * costs.sum()
            smoothing = np.where(lowered, SMALLER, 1) * self.smoothing

    def size(self, W):
        sizes = lengths(W[:-1])
        return int(np.count_nonzero(sizes > NEGLIGIBLE_WEIGHT * sizes.max(initial=0)))

    def tangent(self, W):
        """The rows at a point, and their smoothed lengths."""
        rows = self.apply(W) - self.targets
        return rows, lengths(rows, self.eps)

    # what is not finite is no step
    @np.errstate(all="ignore")
    def minimize(self, tangent, W):
        """A point no higher than the minimiser of the majoriser, or W itself to end the stage."""
        self.W = W
        rows, smoothed = tangent
        curvature = self.factors / smoothed
        theta = rows * curvature[:, None]
        if self.is_over(rows, smoothed, theta):
            return W
        kept = theta if self.theta is None else self.theta
        kept = kept / np.maximum(1, lengths(kept) / self.factors)[:, None]

        def along(directions, moved):
            return (np.einsum("ij,ij->i", directions, moved) / smoothed**2)[:, None]

        def turn(moved):
            """How Newton's step changes the dual variables."""
            return curvature[:, None] * moved - kept * along(rows, moved)

        def curve(move):
            """The product with the curvature: `turn`, made symmetric."""
            moved = self.apply(move.reshape(W.shape))
            change = turn(moved) + kept * along(rows, moved) / 2 - rows * along(kept, moved) / 2
            return self.adjoint(change)

        slope = self.adjoint(theta)
        inverse = self.factorize(curvature)
        if inverse is None:
            return W
        linear = LinearOperator((W.size, W.size), matvec=curve, dtype=float)
        preconditioner = LinearOperator(
            linear.shape, matvec=lambda rows: inverse(rows.reshape(W.shape)), dtype=float
        )
        # Where the value stands still, the dual variables may yet become better.
        accuracy = INEXACT ** (1 + self.idle)
        move, _ = cg(linear, -slope.ravel(), rtol=accuracy, maxiter=PRODUCTS, M=preconditioner)
        move = move.reshape(W.shape)
        if np.isfinite(move).all():
            self.theta = theta + turn(self.apply(move))
        plain = W - inverse(slope)
        before = self.value(W)
        reached = self.value(plain)
        # Where samples weigh so much that their residuals are rounding, even this may rise.
        limit = min(reached, before * (1 + NO_GAIN))
        for part in PARTS:
            if self.value(W + part * move) <= limit:
                return W + part * move
        return plain if reached <= before else W

    def is_over(self, rows, smoothed, theta):
        """Whether a lower bound is near enough, or the value has stood still for some steps."""
        bound = self.bound(theta)
        if self.theta is not None:
            bound = max(bound, self.bound(self.theta))
        value = self.factors @ smoothed
        self.idle = 0 if value < self.lowest * (1 - NO_GAIN) else self.idle + 1
        self.lowest = min(self.lowest, value)
        # what the smoothing costs beyond what it has to
        plain = lengths(rows)
        self.costs = self.factors * plain * (smoothed - plain) / smoothed
        enough = SETTLED * max(self.costs.sum(), self.target * value)
        return self.gap(self.W) <= self.target or value - bound <= enough or self.idle > IDLE

    def factorize(self, curvature):
        """A function that inverts the majoriser's matrix, by the smaller dimension; else None."""
        self.n_steps += 1
        N, n = self.X.shape
        roots = np.sqrt(1 / curvature[N:])[:, None]
        B = self.X * np.sqrt(curvature[:N])[:, None] * roots.T
        square = B @ B.T if n > N else B.T @ B
        square.flat[:: len(square) + 1] += 1
        if not np.isfinite(square).all():
            return None
        try:
            factor = cho_factor(square)
        except LinAlgError:
            # Its digits are lost where samples weigh too much or columns depend on each other.
            base = qr(B.T, mode="r")[0][:N] if n > N else B
            rows = np.vstack([base, np.eye(len(square))])
            heaviest = np.argsort(-abs(rows).max(axis=1), kind="stable")
            factor = qr(rows[heaviest], mode="r")[0][: len(square)], False

        def inverse(slope):
            scaled = roots * slope
            if n > N:
                return roots * (scaled - B.T @ cho_solve(factor, B @ scaled, check_finite=False))
            return roots * cho_solve(factor, scaled, check_finite=False)

        return inverse


def drop_fading(sums, W):
    """Weights with zeros for rows that are all but zero, where that costs only rounding."""
    sizes = lengths(W[:-1])
    limit = sums.objective(W) * (1 + NO_RISE)
    most = [times * sums.smoothing[1] for times in FADING]
    for longest in (*most, NEGLIGIBLE_WEIGHT * sizes.max(initial=0)):
        fewer = W.copy()
        fewer[:-1][sizes <= longest] = 0
        if sums.objective(fewer) <= limit:
            return fewer
    return W


class RFS(JointClassifier):
    """Few features for all classes at once: robust feature selection by joint l2,1 norms.

    Minimise ``sum |x_i W - y_i|_2 + lam sum |w_j|_2`` over rows of W, one for each feature, with
    one weight a class. The labels ``y_i`` are 1 for the class of the row and -1 for all others. A
    residual counts by its length, not by its square, so that outliers matter less, and a feature
    costs nothing only if no class uses it. The method is that of Nie, Huang, Cai and Ding (2010);
    Peng and Fan (2016), who compare with it, do not print the labels and the bias that they gave
    it, which are taken from its own paper here.

    Parameters
    ----------
    lam : float, default=1.0
        Penalty of the lengths of rows of weights, above 0, where each row of the data counts 1; at
        least 1e-30 of the largest ``sample_weight``. A warning says where it is too large to select
        a feature.
    n_features : int, optional
        Select so many at most: those with the longest rows of weights. No more than are alive.
    refit : bool, default=True
        Return the solution for the features selected that minimises ``|W|^2`` plus the squares of
        what margins miss of 1; otherwise the weights that the problem itself gives them.
    scale : bool, default=True
        Measure features in units of their pooled within-class standard deviation, from the middle
        of the class means. The bias is a weight that costs as any other, so that both matter.
    tol : float, default=1e-06
        Relative duality gap at which the steps end.
    max_iter : int, default=100
        Most steps of a stage, up to 1e6.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Exactly zero where not selected.
    intercept_ : ndarray of shape (n_classes,), or (1,)
    objective_ : float
        Of the problem, the bias row included, in the units that `scale` sets, before features are
        chosen by number and before the refit. Two classes have two columns, one minus the other.
    n_live_ : int
        Features whose row of weights is not zero at the solution.
    row_norms_ : ndarray of shape (n_features,)
        Lengths of the rows there, in the same units; they rank the features. The bias has no rank.
    n_iter_ : int
        Steps of all stages.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.duality_gap`` is the relative distance of `objective_` to a lower bound that is
        certain; ``result_.steps`` is the history of the smoothed objective.

    Notes
    -----
    A length is smoothed, ``sqrt(length^2 + eps^2)``, and eps goes to zero in stages. The reweighted
    ridge regressions of Nie et al. (2010) alone often stay at a gap of 1e-4 for hundreds of steps.
    So conjugate gradients, with their matrix for preconditioner, approach Newton's step, and the
    lower point is taken: the objective never rises, and a step gains no less than theirs.

    For N rows, n features and c classes a step costs O(N n min(N, n)) for the matrix, and O(N n c)
    for each of at most 100 products. Of several minima, for example if columns are equal, one is
    returned. Rows of weights that are small beside the smoothing, or at most 1e-6 of the largest,
    become zero where the objective does not rise.

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
        if self.n_features is not None and self.n_features > self.n_live_:
            warn(
                f"n_features={self.n_features}, but only {self.n_live_} are alive at "
                f"lam={self.lam:g}; {self.n_live_} are returned",
                SelectionWarning,
            )
        elif data.X.shape[1] > 1 and not self.n_live_:
            words = f"lam={self.lam:g} is too large to select a feature; pass a smaller one"
            warn(words, SelectionWarning)

    def _definition(self, planes):
        residuals = np.linalg.norm(planes.distances(planes.signs), axis=1)
        return np.append(self.lam * planes.row_lengths(), planes.sample_weight @ residuals)

    def _minimize(self, data):
        """Weights and offsets of all classes; sets objective and result."""
        # With two classes one column tells all; rows of both are longer by the root of 2.
        both = len(self.classes_) == 2
        Y = data.signs[:, 1:] if both else data.signs
        heaviest = float(data.sample_weight.max())
        if self.lam < SMALLEST_LAM * heaviest:
            raise ValueError(
                f"lam={self.lam:g} is nothing beside a sample of weight {heaviest:g}; pass a lam "
                f"of {SMALLEST_LAM * heaviest:g} or more, or a smaller sample_weight"
            )
        # A lam beyond this leaves no weight, as this one does.
        lam = min(self.lam, heaviest / SMALLEST_LAM)
        # With a power of four as unit, whose root is exact, no digit changes and squares exist.
        _, exponent = math.frexp(max(lam, heaviest))
        unit = 4.0 ** ((exponent - 1) // 2)
        sums = RowSums(data.X, Y, data.sample_weight / unit, lam / unit)
        W, result = sums.solve(self.tol, self.max_iter)
        W = drop_fading(sums, W)
        gap = sums.gap(W)
        self.n_iter_ = sums.n_steps
        self.objective_ = unit * sums.objective(W) * (2**0.5 if both else 1)
        steps = tuple(replace(step, objective=unit * step.objective) for step in result.steps)
        status = "converged" if gap <= self.tol else "max_iter"
        status = "rose" if result.status == "rose" else status
        counts = {"factorisation": sums.n_steps}
        self.result_ = Result(status, self.objective_, steps, gap, counts=counts)
        if status == "max_iter":
            warn(
                f"not converged: the duality gap is {gap:.1e} of the objective, more than "
                f"tol={self.tol:g}; raise max_iter, tol or lam, or pass sample_weight that "
                "differ less",
                ConvergenceWarning,
            )
        return np.hstack([-W, W]) if both else W

    def _summary_lines(self):
        at = f"{self.objective_:.6g} at lam={self.lam:g}"
        return [f"|XW - Y|_2,1 + lam |W|_2,1 before the refit: {at}"]
