"""Robust feature selection: rows of residuals and rows of weights, each by its length."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.mm import Result, stages
from fsnotes.core.validation import check_bool, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.l2p import Rows, only, refitted

__all__ = ["RFS", "RowSums", "SmoothedRowSums"]

FIRST, SMALLER = 0.1, 0.1  # smoothing, as part of the objective, and what is left of it each time
STAGES = 25  # at most
CONCERNS = 0.1  # part of what smoothing costs, from which on there has to be less of it
SETTLED = 0.5  # of what it costs, the duality gap at which a stage ends
IDLE = 5  # steps that do not lower the objective, after which a stage ends
STILL, STUCK = 0.5, 3  # of the gap of a stage, what is left after so many where rounding rules
PRODUCTS = 100  # of the curvature with a direction, in a step at most
INEXACT = 0.1  # of the slope, what a direction may leave
SEARCHES = 20  # Newton steps in the plane of two directions
RIDGES = (0, 1e-14, 1e-12, 1e-10, 1e-8)  # of the largest entry of a matrix
HALVINGS = 20  # of such a step that goes too far
NO_GAIN = 1e-13  # part of the objective that is rounding
DEAD = 1e-6  # of the largest row of weights, what counts as zero
FADING = (100, 10)  # times the smoothing, what is tried as zero
NO_RISE = 1e-9  # part of the objective that zeros may cost by rounding
BISECTIONS = 25


def lengths(rows, eps=0.0):
    """Length of each row, smoothed."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows) + eps**2)


def _slack(rows, smoothed):
    """What lengths lack of being products with their own directions, as these are smoothed."""
    plain = lengths(rows)
    return plain * (smoothed - plain) / smoothed


class RowSums:
    """``shares @ lengths(X W - Y) + lam * sum of lengths(W)``, and lower bounds of its minimum.

    Whatever Theta has rows no longer than the shares and ``X' Theta`` rows no longer than lam,
    the minimum is at least ``-<Theta, Y>``.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    Y : ndarray of shape (n_rows, n_targets)
    shares : ndarray of shape (n_rows,)
    lam : float
    """

    def __init__(self, X, Y, shares, lam):
        self.X, self.Y, self.shares, self.lam = X, Y, shares, lam
        self.lower = 0.0
        self.counts = {"factorisation": 0, "product": 0}
        self.known = None

    def residuals(self, W):
        if self.known is None or self.known[0] is not W:
            self.known = W, self.X @ W - self.Y
        return self.known[1]

    def value(self, W):
        return float(self.shares @ lengths(self.residuals(W)) + self.lam * lengths(W).sum())

    def gap(self, W):
        value = self.value(W)
        return max(0.0, (value - self.lower) / value)

    def feasible(self, theta, pulls):
        """A bound, the factor that makes Theta feasible, and lengths of its rows and pulls."""
        longest, pulling = lengths(theta), lengths(pulls)
        excess = max(1.0, (longest / self.shares).max(), pulling.max() / self.lam)
        bound = -float((theta * self.Y).sum()) / excess
        self.lower = max(self.lower, bound)
        return bound, longest / excess, pulling / excess

    def solve(self, tol, max_iter):
        """Weights, and the result of all stages."""
        start = np.zeros((self.X.shape[1], self.Y.shape[1]))
        with warnings.catch_warnings():
            # the gap of the last stage tells what matters
            warnings.filterwarnings("ignore", "not converged in", ConvergenceWarning)
            return stages(self._stages(start, tol), start, tol=0, max_iter=max_iter)

    def _stages(self, start, tol):
        units = np.array([self.shares.sum(), self.lam * self.X.shape[1]])
        self.reached, self.smoothing = self.value(start), np.full(2, np.inf)
        gap, stuck = np.inf, 0
        for _ in range(STAGES):
            self.smoothing = np.minimum(self.smoothing, FIRST * self.reached / units)
            stage = SmoothedRowSums(self, *self.smoothing, tol)
            yield stage
            last, gap = gap, self.gap(self.known[0])
            stuck = stuck + 1 if stage.idle > IDLE and gap > STILL * last else 0
            if gap <= tol or stuck == STUCK:
                break
            concerns = stage.costs >= CONCERNS * stage.costs.sum()
            self.smoothing = self.smoothing * np.where(concerns, SMALLER, 1)


@dataclass(frozen=True)
class Curved:
    """The majoriser at a point, the slope, and what is known of the curvature."""

    slope: np.ndarray
    row_parts: tuple
    weight_parts: tuple


class SmoothedRowSums:
    """The same with lengths ``sqrt(length^2 + eps^2)``, for `majorize_minimize`.

    The majoriser, with ``length^2 / (2 smoothed)`` for each length, is a ridge regression that
    has the same weights of rows for all targets, hence one matrix. Its step is refined: conjugate
    gradients, with this matrix for preconditioner, approach Newton's step for the equations
    ``smoothed * theta = residual``, in which the dual variables are kept (Chan, Golub and Mulet),
    and the best point of the plane of both directions is taken.

    Parameters
    ----------
    sums : RowSums
    eps_rows, eps : float
        Of lengths of residuals, and of weights.
    target : float
        Duality gap at which it is all over.
    """

    def __init__(self, sums, eps_rows, eps, target):
        self.sums, self.target = sums, target
        self.eps_rows, self.eps = eps_rows, eps
        self.duals, self.gap, self.lowest, self.idle = None, np.inf, np.inf, 0

    def value(self, W):
        return self._value(self.sums.residuals(W), W)

    def _value(self, residuals, W):
        sums = self.sums
        rows = sums.shares @ lengths(residuals, self.eps_rows)
        return float(rows + sums.lam * lengths(W, self.eps).sum())

    def size(self, W):
        sizes = lengths(W[:-1])
        return int(np.count_nonzero(sizes > DEAD * sizes.max(initial=0)))

    def tangent(self, W):
        """Slope and curvatures, and whether a lower bound is near enough to end the stage."""
        sums = self.sums
        residuals = sums.residuals(W)
        row_lengths, sizes = lengths(residuals, self.eps_rows), lengths(W, self.eps)
        theta = residuals * (sums.shares / row_lengths)[:, None]
        xi = W * (sums.lam / sizes)[:, None]
        pulls = sums.X.T @ theta
        bound = self._bound(theta, pulls)
        if self.duals is not None:
            bound = max(bound, self._bound(self.duals[0], sums.X.T @ self.duals[0]))
        self.gap = sums.gap(W)
        smoothed = self._value(residuals, W)
        self.costs = np.array(
            [
                sums.shares @ _slack(residuals, row_lengths),
                sums.lam * _slack(W, sizes).sum(),
            ]
        )
        self.idle = 0 if smoothed < self.lowest * (1 - NO_GAIN) else self.idle + 1
        self.lowest = min(self.lowest, smoothed)
        enough = SETTLED * max(self.costs.sum(), self.target * smoothed)
        near = self.gap <= self.target or smoothed - bound <= enough
        self.over = near or self.idle > IDLE
        kept = (theta, xi) if self.duals is None else self._clipped()
        return Curved(
            pulls + xi,
            (row_lengths, sums.shares / row_lengths, theta, kept[0], residuals),
            (sizes, sums.lam / sizes, xi, kept[1], W),
        )

    def _bound(self, theta, pulls):
        """Of the smoothed objective; that of the objective itself is kept."""
        sums = self.sums
        bound, longest, pulling = self.sums.feasible(theta, pulls)
        slack = np.sqrt(np.maximum(sums.shares**2 - longest**2, 0)).sum()
        slack_of_pulls = np.sqrt(np.maximum(sums.lam**2 - pulling**2, 0)).sum()
        return bound + self.eps_rows * slack + self.eps * slack_of_pulls

    def _clipped(self):
        theta, xi = self.duals
        return (
            theta / np.maximum(1, lengths(theta) / self.sums.shares)[:, None],
            xi / np.maximum(1, lengths(xi) / self.sums.lam)[:, None],
        )

    def minimize(self, curved, W):
        """A better point than the minimiser of the majoriser, or W itself to end the stage."""
        if self.over:
            return W
        inverse = self._factored(curved)
        direction, plain = self._directions(curved, inverse)
        # the multipliers to which Newton's step takes the dual variables
        self.duals = tuple(
            dual + self._bent(parts, moved)
            for dual, parts, moved in zip(
                (curved.row_parts[2], curved.weight_parts[2]),
                (curved.row_parts, curved.weight_parts),
                direction[::-1],
                strict=True,
            )
        )
        new = self._best(W, direction, plain)
        self.sums.reached = min(self.sums.reached, self.sums.value(new))
        return new

    def _factored(self, curved):
        """The inverse of the majoriser's matrix, from one of the smaller dimension."""
        self.sums.counts["factorisation"] += 1
        X, (weights, units) = self.sums.X, (curved.row_parts[1], 1 / curved.weight_parts[1])
        roots = np.sqrt(units)[:, None]
        B = X * np.sqrt(weights)[:, None] * roots.T
        wide = X.shape[1] > X.shape[0]
        square = B @ B.T if wide else B.T @ B
        square.flat[:: len(square) + 1] += 1
        # a ridge against rounding, since the matrix serves as a preconditioner only
        for ridge in RIDGES:
            softened = square + ridge * square.diagonal().max() * np.eye(len(square))
            lower, failed = dpotrf(softened, lower=1, overwrite_a=1)
            if not failed:
                break
        else:
            raise SubproblemError("weights cannot be found by floating point; pass a larger lam")

        def inverse(slope):
            scaled = roots * slope
            if wide:
                scaled -= B.T @ dpotrs(lower, B @ scaled, lower=1)[0]
            else:
                scaled = dpotrs(lower, scaled, lower=1)[0]
            return roots * scaled

        return inverse

    def _directions(self, curved, inverse):
        """Newton's direction, nearly, and the majoriser's, each with the move of residuals."""
        X = self.sums.X
        left = -curved.slope
        plain = conjugate = inverse(left)
        moved, moved_rows, plain_rows = None, None, None
        first = power = float((left * conjugate).sum())
        for _ in range(PRODUCTS):
            self.sums.counts["product"] += 1
            rows = X @ conjugate
            plain_rows = rows if plain_rows is None else plain_rows
            bent = X.T @ self._curved(curved.row_parts, rows)
            bent += self._curved(curved.weight_parts, conjugate)
            curvature = float((conjugate * bent).sum())
            if not curvature > NO_GAIN * power:
                break
            length = power / curvature
            if moved is None:
                moved, moved_rows = length * conjugate, length * rows
            else:
                moved, moved_rows = moved + length * conjugate, moved_rows + length * rows
            left = left - length * bent
            preconditioned = inverse(left)
            last, power = power, float((left * preconditioned).sum())
            # where the value stands still, multipliers may yet become better
            if not power > (INEXACT ** (1 + self.idle)) ** 2 * first:
                break
            conjugate = preconditioned + power / last * conjugate
        plain = plain, plain_rows
        return (plain if moved is None else (moved, moved_rows)), plain

    @staticmethod
    def _curved(parts, moved):
        """Product with the curvature, which is made symmetric."""
        size, weight, _, kept, at = parts
        along = np.einsum("ij,ij->i", at, moved) / size
        across = np.einsum("ij,ij->i", kept, moved)
        both = kept * along[:, None] + at * (across / size)[:, None]
        return weight[:, None] * moved - both / (2 * size)[:, None]

    @staticmethod
    def _bent(parts, moved):
        """How Newton's step moves dual variables."""
        size, weight, _, kept, at = parts
        along = np.einsum("ij,ij->i", at, moved) / size
        return weight[:, None] * moved - kept * (along / size)[:, None]

    def _best(self, W, direction, plain):
        """The lowest point of the plane, from the better one of both ends; never above W."""
        residuals, sums = self.sums.residuals(W), self.sums
        moves = np.array([direction[0], plain[0]])
        row_moves = np.array([direction[1], plain[1]])

        def at(t):
            V = residuals + t[0] * row_moves[0] + t[1] * row_moves[1]
            U = W + t[0] * moves[0] + t[1] * moves[1]
            return V, U, self._value(V, U)

        before = self.value(W)
        rounding = NO_GAIN * before
        t, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        (V, U, value), end = at(t), at(other)
        if end[2] < value - rounding:
            t, (V, U, value) = other, end
        for _ in range(SEARCHES):
            slope, hessian = np.zeros(2), np.zeros((2, 2))
            for D, points, eps, prices in (
                (row_moves, V, self.eps_rows, sums.shares),
                (moves, U, self.eps, np.full(len(W), sums.lam)),
            ):
                size = lengths(points, eps)
                along = np.einsum("kij,ij->ki", D, points) / size
                slope += along @ prices
                weighted = (D * np.sqrt(prices / size)[:, None]).reshape(2, -1)
                hessian += weighted @ weighted.T - (along * (prices / size)) @ along.T
            step = -np.linalg.lstsq(hessian, slope, rcond=1e-12)[0]
            foretold, part = -float(slope @ step), 1.0
            if not foretold > rounding:
                break
            for _ in range(HALVINGS):
                further = at(t + part * step)
                if further[2] <= value - 1e-4 * part * foretold:
                    break
                part /= 2
            else:
                break
            t, gained = t + part * step, value - further[2]
            V, U, value = further
            if gained <= INEXACT**2 * foretold:
                break
        # near the end the slope still falls where the value can no more
        return U if self._value(V, U) <= before + rounding else W


def without_fading(sums, W):
    """Weights of which rows next to zero are zero, where that costs no more than rounding."""
    sizes = lengths(W[:-1])
    limit = sums.value(W) * (1 + NO_RISE)
    if sums.value(0 * W) <= limit:
        return 0 * W
    for most in (
        np.inf,
        *(times * sums.smoothing[1] for times in FADING),
        DEAD * sizes.max(initial=0),
    ):
        fewer = W.copy()
        fewer[:-1][sizes <= most] = 0
        if sums.value(fewer) <= limit:
            return fewer
    return W


class RFS(SparseClassifier):
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
        Price of the lengths of rows of weights, above 0, where each row of the data counts 1. Where
        it is too large for any feature to pay, the machine has none, and a warning names a
        smaller one.
    n_features : int, optional
        Select so many at most: those with the longest rows of weights. No more than are alive.
    refit : bool, default=True
        Return the machine of the features selected that minimises ``|W|^2`` plus the squares of
        what the margins of each class against the others lack of 1; otherwise the solution itself,
        of the features selected.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation, from the middle of
        the class means. The bias is the weight of a column of ones and costs as any other, so that
        both matter.
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
    classes, and goes on from there: their step alone has a linear rate that is near 1 wherever a
    multiplier is near its limit, and often stays at a gap of 1e-4 for hundreds of steps. With the
    same factor as preconditioner, conjugate gradients approach Newton's step, and the lowest
    point of both directions is taken, so that the objective never rises and a step gains no less
    than theirs. Three to ten steps a stage are usual, and five to eight stages.

    For N rows, n features and c classes a step costs O(N n min(N, n)) for the matrix, and O(N n c)
    for each of at most 100 products, beside O(N n) for units. Equal rows are one row, of the sum
    of their weights. The minimum may have more than one solution, as where columns are equal, of
    which one is returned.

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

    many_classes = True

    def __init__(self, *, lam=1.0, n_features=None, refit=True, scale=True, tol=1e-6, max_iter=100):
        self.lam = lam
        self.n_features = n_features
        self.refit = refit
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self):
        check_real("lam", self.lam, 0, open_at=0)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        if not self.scale:
            features = features.from_origin()
        Z = features.apply(samples.X)
        of_class, weights = samples.class_index, samples.sample_weight
        W = self._solved(Z, of_class, weights)
        norms = lengths(W[:-1])
        self.row_norms_ = np.zeros(self.n_features_in_)
        self.row_norms_[features.used] = norms
        self.n_live_ = int(np.count_nonzero(norms))
        size = self.n_live_ if self.n_features is None else min(self.n_live_, int(self.n_features))
        chosen = np.sort(np.argsort(-norms, kind="stable")[:size])
        self._warn_of_number(Z, of_class, weights)
        if self.refit and size:
            W = refitted(Rows(Z, of_class, weights, len(self.classes_)), chosen)
        W = only(W, chosen)
        self._set_planes(features, W[:-1].T, W[-1])

    def _solved(self, Z, of_class, weights):
        """Weights and offsets of all classes; sets objective and result."""
        X = np.hstack([Z, np.ones((len(Z), 1))])
        Y = np.where(of_class[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        # of two classes one column tells all, and both are the root of 2 times as long
        both = len(self.classes_) == 2
        sums = RowSums(X, Y[:, 1:] if both else Y, weights, self.lam)
        W, result = sums.solve(self.tol, self.max_iter)
        W = without_fading(sums, W)
        gap, self.n_iter_ = sums.gap(W), sums.counts["factorisation"]
        self.objective_ = sums.value(W) * (np.sqrt(2) if both else 1)
        status = "converged" if gap <= self.tol else "max_iter"
        status = "rose" if result.status == "rose" else status
        self.result_ = Result(status, self.objective_, result.steps, gap, counts=dict(sums.counts))
        if status == "max_iter":
            warn(
                f"not converged: the duality gap is {gap:.1e} of the objective, more than "
                f"tol={self.tol:g}; raise max_iter, tol or lam",
                ConvergenceWarning,
            )
        return np.hstack([-W, W]) if both else W

    def _warn_of_number(self, Z, of_class, weights):
        if self.n_features is not None and self.n_features > self.n_live_:
            words = (
                f"n_features={self.n_features}, but only {self.n_live_} are alive at "
                f"lam={self.lam:g}; {self.n_live_} are returned"
            )
        elif Z.shape[1] and not self.n_live_:
            known = self._none_above(Z, of_class, weights)
            words = (
                f"lam={self.lam:g} is too large to select a feature; none is selected above "
                f"lam={known:.6g}, so pass a smaller one"
            )
        else:
            return
        warn(words, SelectionWarning)

    def _none_above(self, Z, of_class, weights):
        """The lam at which multipliers that are equal in each class pull some feature enough."""
        count = len(self.classes_)
        counts = np.bincount(of_class, weights, count)
        means = np.array([np.bincount(of_class, weights * z, count) for z in Z.T]) / counts
        Y = 2 * np.eye(count) - 1

        def pull(lam):
            sums = RowSums(np.ones((count, 1)), Y, counts, lam)
            W, _ = sums.solve(1e-6, 100)
            residuals = sums.residuals(W)
            theta = residuals * (counts / lengths(residuals, 1e-12))[:, None]
            return lengths(means @ theta).max()

        low, high = 0.0, min(self.lam, (abs(means) @ counts).max())
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if pull(middle) > middle else (low, middle)
        return high

    def _summary_lines(self):
        return [
            f"|XW - Y|_2,1 + lam |W|_2,1 before the refit: {self.objective_:.6g} at "
            f"lam={self.lam:g}",
            "no promise for new data",
        ]
