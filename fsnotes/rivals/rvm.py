"""The relevance vector machine: few kernel functions by the evidence for their precisions."""

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from fsnotes.core.kernels import BasisClassifier
from fsnotes.core.mm import Result, Step
from fsnotes.core.rows import counted, first_of_equals
from fsnotes.core.validation import check_bool, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn

__all__ = ["RVM"]

SETTLED = 1e-24  # squared Newton decrement of a mode
NEARLY = 1e-12  # the same, where rounding allows no further step
HALVES = 50  # of a Newton step at most
NEWTON = 200  # steps to a mode at most
ROUGH = 0.1  # of the tolerance, the gain of a step at which precisions cease to move at first
CHEAP = 0.1  # loss in evidence foretold for a deletion that is tried before additions
COARSE = 1e-2  # gain in evidence that the closed forms go for; exact ones take the rest
WIDE = 5.0  # how far the logarithm of a precision moves in one go
LIMITS = 1e-6, 1e12  # of precisions, for columns of unit mean square
BELOW, ABOVE = 8.0, 14.0  # of the logarithm of a candidate's s, where its precision is sought
ROUNDED = 1e-13  # of an objective, what may be rounding
GRID = 1.0  # step of the logarithm of a precision where all are tried
CONSTANT = 1e-10  # deviation of a column, as part of its mean, that may be rounding
EXPLAINED = 1e-9  # part of a column's own size, below which what is left of it is rounding


class RVM(BasisClassifier):
    """Few kernel functions: the relevance vector machine, by its fast marginal likelihood.

    Labels are Bernoulli variables of logit ``b + sum_j w_j k(x, x_j)``, each weight has a normal
    prior of mean 0 and a precision alpha_j of its own, and the precisions are those of the
    greatest evidence, which is approximated by Laplace's method. Most precisions are infinite, so
    that their points drop out.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "poly", "sigmoid", "cosine", "chi2", "linear", or a function of
        two rows.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    basis : int or array-like of int, optional
        The candidates, points whose kernel functions may be used: so many distinct ones, drawn
        with `random_state` and all alike, or rows of the training data with these numbers, at
        least 2; by default every distinct point.
    random_state : int, default=0
        Of the candidates, where `basis` is their number; the order of rows does not matter.
    tol : float, default=0.001
        No action is taken for a gain in log evidence of at most this; above 0.
    max_iter : int, default=10000
        Most actions. Re-estimating all precisions together is one.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation before the kernel.
    exhaustive : bool, default=False
        In the end, try every precision of every point, in use or not, on a grid, and go on from
        where the evidence is larger. Otherwise additions are tried where formulas promise a gain,
        and precisions in use move to where derivatives vanish; where classes are nearly separated,
        there may be more to gain far away.
    progress : bool, default=False
        Show a progress bar of actions.

    Attributes
    ----------
    support_ : ndarray of int
        Relevance vectors: rows of the training data, of equal ones the first that counts.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_ : ndarray of shape (1, n_support)
        Posterior mode of the weights.
    intercept_ : ndarray of shape (1,)
    alpha_ : ndarray of shape (n_support,)
        Precisions of the weights; divided by the variance of the column at the training rows,
        from 1e-6 to 1e12.
    covariance_ : ndarray of shape (1 + n_support, 1 + n_support)
        Of the intercept and the weights, in the posterior.
    objective_ : float
        Minus the log evidence, never below 0.
    n_iter_ : int
        Actions taken.
    basis_ : ndarray of int
        Candidates: rows of the training data, without those of constant or of equal columns.
    gamma_ : float
        As used.
    scale_ : ndarray of shape (n_features,)
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which never rises; ``result_.counts``
        tells the actions of each kind, those that were refused and the modes that were found.

    Raises
    ------
    SubproblemError
        If no mode can be found for the intercept alone, as where weights of rows differ beyond
        all measure.

    Notes
    -----
    With the modes w, b and the diagonal matrix B of the variances of the labels there, less the
    evidence of the intercept alone given B,

    ``log evidence = log likelihood - w'Aw / 2 - log|I + A^(-1/2) F'PF A^(-1/2)| / 2``,

    where F are the columns in use and ``P = B - B11'B / 1'B1``. So the intercept has no
    penalty, and a prior that is flat in units of its own standard error (that of Jeffreys). With a
    prior flat in b itself, another ``-log(1'B1) / 2`` were added, which has no bound where the
    classes can be separated: the precisions would go to zero.

    Given B, the log evidence depends on one precision as ``(log(alpha / (alpha + s)) + q^2 /
    (alpha + s)) / 2``, which has its maximum at ``s^2 / (q^2 - s)`` or, if ``q^2 <= s``, at
    infinity. The action of the largest gain is taken, adding a column only where those in use gain
    little, and the mode is found anew. B then differs, so that the gain foretold is not the gain
    had; an action after which the evidence itself is no larger is refused. Last, derivatives of
    the evidence that know of the change of B take the place of the closed forms: precisions move
    together, roughly at first and in the end to where derivatives vanish, every deletion is tried,
    and every addition that promises a gain, at its best precision. Where this ends, no deletion
    and no small change of a precision, from infinity too, gains more than `tol`, but for a
    precision at an end of its range, which goes no further, though the evidence may still rise
    beyond. With `exhaustive`, no precision whatever of one point does, but for what lies between
    the points of a grid; that takes some 40 modes for each of the m candidates.

    A smaller `tol` follows more additions of little promise. Each is worth nothing by itself, but
    where classes are nearly separated some lead on to other maxima, which may be better or worse,
    have more points, and take longer.

    For N distinct rows of n features, m candidates and k points in use, an action costs O(N k^2),
    one that adds a point O(N m k), beside O(N m n) for the kernel and O(N m) memory. Equal rows
    are one row with counts of both labels, and candidates of equal columns are one.

    The probability of ``classes_[1]`` is the logistic function of ``score / sqrt(1 + pi v / 8)``,
    where v is the variance of the score in the posterior (MacKay, 1992). So it is above 1/2 where
    the score is above 0, but does not have its order. Where few rows nearly separate the classes,
    weights are large, and the plain logistic function of the score is far too sure.

    References
    ----------
    D. J. C. MacKay, The evidence framework applied to classification networks, Neural Computation
    4(5), 720-736, 1992.

    M. E. Tipping and A. C. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
    Proceedings of the 9th International Workshop on Artificial Intelligence and Statistics, 2003.

    M. E. Tipping, Sparse Bayesian learning and the relevance vector machine, Journal of Machine
    Learning Research 1, 211-244, 2001.

    Examples
    --------
    >>> from fsnotes import RVM, load
    >>> X, y = load("titanic", return_X_y=True)
    >>> machine = RVM(gamma=1).fit(X, y)
    >>> len(machine.support_), round(machine.score(X, y), 3)
    (8, 0.791)
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        gamma=None,
        basis=None,
        random_state=0,
        tol=1e-3,
        max_iter=10000,
        scale=True,
        exhaustive=False,
        progress=False,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.exhaustive = exhaustive
        self.progress = progress

    def _check_parameters(self):
        super()._check_parameters()
        check_real("tol", self.tol, 0, open_at=0)
        check_count("max_iter", self.max_iter)
        check_bool("exhaustive", self.exhaustive)

    def _fit(self, X, y, sample_weight):
        X, y, sample_weight, points = self._take_rows(X, y, sample_weight)
        # in an order that is theirs alone, so that no answer depends on that of the rows
        points = points[np.lexsort(X[points].T[::-1])]
        counts = _counts(X, y == self.classes_[1], sample_weight)
        candidates = points[self._candidates(len(points), _points_of_rows(X, points))]
        columns = Columns(self._columns(X, candidates)[points], counts.sum(axis=0))
        search = Search(Model(columns.values, *counts), self)
        search.run()
        self._warn_of_end(search)
        self._keep(X, candidates, columns, search)
        return self

    def predict_proba(self, X):
        """Probabilities of both classes, nearer to 1/2 where the posterior leaves more open.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        scores = self.decision_function(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = np.column_stack([np.ones(len(X)), self._kernel(X, self.support_vectors_)])
        variances = ((values @ self._root) ** 2).sum(axis=1)
        moderated = scores / np.sqrt(1 + np.pi / 8 * variances)
        return np.column_stack([expit(-moderated), expit(moderated)])

    @property
    def covariance_(self):
        """Of the intercept and the weights, in this order, in the posterior."""
        check_is_fitted(self, "dual_coef_")
        return self._root @ self._root.T

    def _warn_of_end(self, search):
        if search.status == "max_iter":
            warn(
                f"not converged in {self.max_iter} actions: the last gained "
                f"{search.last_gain:.1e} in log evidence, more than tol={self.tol:g}; raise "
                "max_iter or tol",
                ConvergenceWarning,
            )
        if not len(search.state.chosen):
            warn(
                "no kernel function raises the evidence, so that the intercept alone remains and "
                "the heavier class is said everywhere; pass another gamma or kernel, or more rows",
                SelectionWarning,
            )

    def _keep(self, X, candidates, columns, search):
        state = search.state
        rows = candidates[columns.places]
        self.basis_ = np.sort(rows)
        order = np.argsort(rows[state.chosen])
        sizes, means = (part[state.chosen][order] for part in (columns.sizes, columns.means))
        self.support_ = rows[state.chosen][order]
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = (state.weights[order] / sizes)[None]
        self.intercept_ = state.offset - self.dual_coef_ @ means
        self.alpha_ = state.precisions[order] * sizes**2
        root = state.root()[np.append(0, order + 1)]
        root[1:] /= np.sqrt(self.alpha_)[:, None]
        root[0] -= means @ root[1:]
        self._root = root
        self.objective_ = state.objective
        self.n_iter_ = len(search.steps) - 1
        self.result_ = Result(
            search.status, state.objective, tuple(search.steps), counts=search.counts
        )


def _counts(X, positive, sample_weight):
    """Weights of class 1 and of class 0 at each distinct row, the rows in their own order."""
    X, positive, weights = counted(X, positive, sample_weight)
    rows = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    return np.array([np.bincount(rows, weights * label) for label in (positive, ~positive)])


def _points_of_rows(X, points):
    """Of each row the place of the point equal to it, whatever its weight, or -1 if none is."""
    alike = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    places = np.full(len(X), -1)
    places[alike[points]] = np.arange(len(points))
    return places[alike]


class Columns:
    """Kernel functions at the rows, of mean 0 and mean square 1, without constant and equal ones.

    The evidence does not depend on the units of a column, since its precision takes them up, nor
    on its origin, since the intercept does.
    """

    def __init__(self, values, weights):
        shares = weights / weights.sum()
        means = shares @ values
        first = first_of_equals(values.T)
        values = np.asfortranarray(values - means)
        sizes = np.sqrt(np.einsum("i,ij,ij->j", shares, values, values))
        varied = sizes > CONSTANT * abs(means)
        self.places = first[varied[first]]
        self.sizes, self.means = sizes[self.places], means[self.places]
        self.values = values if len(self.places) == len(sizes) else values[:, self.places]
        self.values /= self.sizes


@dataclass(frozen=True)
class Mode:
    """The posterior mode for some columns and precisions, and what is known there.

    Attributes
    ----------
    chosen : ndarray of int
    precisions : ndarray
    whitened : ndarray
        The offset, then the weights times the roots of their precisions.
    objective : float
        Minus the log evidence.
    columns : ndarray
        A column of ones, then those chosen over the roots of their precisions.
    residuals : ndarray
        Slope of the log likelihood in the score of each row.
    curvatures : ndarray
        Minus its second derivative.
    skews : ndarray
        Slope of the curvature.
    factor : ndarray
        Upper triangular factor of the Hessian of the whitened.
    """

    chosen: np.ndarray
    precisions: np.ndarray
    whitened: np.ndarray
    objective: float
    columns: np.ndarray
    residuals: np.ndarray
    curvatures: np.ndarray
    skews: np.ndarray
    factor: np.ndarray

    @property
    def weights(self):
        return self.whitened[1:] / np.sqrt(self.precisions)

    @property
    def offset(self):
        return float(self.whitened[0])

    def covariance(self):
        """Of the whitened, in the posterior."""
        return cho_solve((self.factor, False), np.eye(len(self.whitened)))

    def without(self, whitened, place):
        """The whitened, moved to where that at a place is 0, by the least loss in normal terms."""
        unit = np.zeros(len(whitened))
        unit[place] = 1
        bent = dpotrs(self.factor, unit)[0]
        return whitened - bent * (whitened[place] / bent[place])

    def root(self):
        """A matrix that, times its transpose, is the covariance."""
        return solve_triangular(self.factor, np.eye(len(self.whitened)))

    def pull(self):
        """Derivative of half the log determinant in the score of each row."""
        leverages = (solve_triangular(self.factor, self.columns.T, trans="T") ** 2).sum(axis=0)
        return self.skews * (leverages - 1 / self.curvatures.sum()) / 2


class Model:
    """Bernoulli labels in the span of some columns, each with a normal prior of its own.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
    positive, negative : ndarray of shape (n_rows,)
        How often each row has either label.
    """

    def __init__(self, columns, positive, negative):
        self.columns, self.positive, self.negative = columns, positive, negative
        self.counts = positive + negative
        self.modes = 0

    def intercept_alone(self):
        logit = np.log(self.positive.sum() / self.negative.sum())
        return self._mode(np.zeros(0, dtype=int), np.zeros(0), np.array([logit]))

    def mode(self, chosen, precisions, near):
        """The mode, found from another."""
        starts = [self._placed(near, near.whitened, chosen, precisions)]
        for place in np.flatnonzero(~np.isin(near.chosen, chosen)) + 1:
            # where the others go, in the quadratic model, as this one goes to 0
            moved = near.without(near.whitened, place)
            starts.append(self._placed(near, moved, chosen, precisions))
        return self._mode(chosen, precisions, *starts)

    def _placed(self, near, whitened, chosen, precisions):
        """The whitened of one mode in the units of another, 0 where a column is new."""
        known = np.zeros(self.columns.shape[1])
        known[near.chosen] = whitened[1:] / np.sqrt(near.precisions)
        return np.append(whitened[0], known[chosen] * np.sqrt(precisions))

    def _mode(self, chosen, precisions, *starts):
        """From the start of the least loss."""
        self.modes += 1
        columns = np.empty((len(self.columns), len(chosen) + 1))
        columns[:, 0] = 1
        columns[:, 1:] = self.columns[:, chosen] / np.sqrt(precisions)
        penalty = np.append(0.0, np.ones(len(chosen)))
        values = [self._loss(columns @ x) + penalty @ x**2 / 2 for x in starts]
        value, x = min(values), starts[np.argmin(values)]
        scores = columns @ x
        decrement = np.inf
        for _ in range(NEWTON):
            residuals, curvatures, skews = self._slopes(scores)
            weighted = columns * np.sqrt(curvatures)[:, None]
            hessian = weighted.T @ weighted
            hessian.flat[:: len(x) + 1] += penalty
            factor = _factor(hessian)
            slope = columns.T @ residuals - penalty * x
            step = dpotrs(factor, slope)[0]
            last, decrement = decrement, slope @ step
            if decrement <= SETTLED or last / 4 < decrement <= NEARLY:
                break
            moved = columns @ step
            for part in 0.5 ** np.arange(HALVES):
                new = x + part * step
                # far out, where curvatures vanish, a step may be too long to be squared
                with np.errstate(over="ignore", invalid="ignore"):
                    there = self._loss(scores + part * moved) + penalty @ new**2 / 2
                if there <= value - 1e-4 * part * decrement + ROUNDED * (1 + value):
                    break
            else:
                break
            x, value = new, there
            scores = columns @ x
        if not decrement <= NEARLY:
            raise SubproblemError(
                f"the mode was not found: a Newton step still promises {decrement / 2:.1e}; pass "
                "weights of rows that differ less"
            )
        # the first pivot is the root of the sum of curvatures, the others that of the rest
        objective = float(value + np.log(factor.diagonal()[1:]).sum())
        return Mode(chosen, precisions, x, objective, columns, residuals, curvatures, skews, factor)

    def _loss(self, scores):
        """Minus the log likelihood."""
        sizes = abs(scores)
        wrong = np.where(scores > 0, self.negative, self.positive)
        return self.counts @ np.log1p(np.exp(-sizes)) + wrong @ sizes

    def _slopes(self, scores):
        one, other = expit(scores), expit(-scores)
        curvatures = self.counts * one * other
        return self.positive * other - self.negative * one, curvatures, curvatures * (other - one)

    # ------------------------------------------------------------ changes foretold

    def inside(self, mode):
        """The statistics s and q of the columns in use, from which they are left out."""
        variances = mode.covariance().diagonal()[1:]
        s = mode.precisions * (1 - variances) / variances
        return s, np.sqrt(mode.precisions) * mode.whitened[1:] / variances

    def outside(self, mode, exact=False):
        """The statistics s and q of all columns as additions to those in use.

        With `exact`, also the excess of q^2 over s once the change of curvatures is known, which
        is twice the slope of the log evidence in the variance of a weight, at 0.
        """
        weighted = mode.curvatures[:, None] * mode.columns
        across = self.columns.T @ weighted
        explained = solve_triangular(mode.factor, across.T, trans="T")
        own = np.einsum("ij,i,ij->j", self.columns, mode.curvatures, self.columns)
        s = own - (explained**2).sum(axis=0)
        # what is left of a column that those in use explain is rounding
        s = np.where(s > EXPLAINED * own, s, np.inf)
        q = self.columns.T @ mode.residuals
        if not exact:
            return s, q
        pull = mode.pull()
        bent = cho_solve((mode.factor, False), mode.columns.T @ pull)
        return s, q, q**2 - s - 2 * q * (self.columns.T @ pull - across @ bent)

    def slopes(self, mode):
        """Derivatives of the objective in the logarithms of the precisions."""
        covariance = mode.covariance()
        bent = covariance @ (mode.columns.T @ mode.pull())
        found = 1 - mode.whitened**2 - covariance.diagonal() + 2 * mode.whitened * bent
        return -found[1:] / 2


def _factor(hessian):
    """Upper Cholesky factor of a matrix that is the identity plus another, but for its corner."""
    factor, failed = dpotrf(hessian)
    pivots = factor.diagonal()
    # whatever is not finite spoils the pivots from there on
    if failed or not np.isfinite(pivots).all() or (pivots[1:] < 1 - 1e-6).any():
        raise SubproblemError(
            "the mode was not found: its Hessian is singular but for rounding; pass another "
            "kernel, or weights of rows that differ less"
        )
    return factor


def share(precisions, s, q):
    """What a column of these statistics adds to the log evidence, given the curvatures."""
    with np.errstate(divide="ignore", over="ignore"):
        return (q**2 / (precisions + s) - np.log1p(s / precisions)) / 2


def best_precision(s, q):
    """That of the largest share; infinite where the column had better be left out."""
    excess = q**2 - s
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(excess > 0, np.clip(s**2 / excess, *LIMITS), np.inf)


def promised(surplus):
    """The gain of an addition whose ``q^2 / s`` is more than 1 by the surplus."""
    surplus = np.maximum(surplus, 0)
    return (surplus - np.log1p(surplus)) / 2


class Search:
    """Actions, one after the other, as long as one raises the evidence by more than ``tol``."""

    def __init__(self, model, options):
        self.model, self.tol, self.max_iter = model, options.tol, options.max_iter
        self.progress, self.exhaustive = options.progress, options.exhaustive
        self.counts = dict.fromkeys(["add", "re-estimate", "delete", "refused"], 0)
        self.state, self.steps = model.intercept_alone(), []
        self.status, self.last_gain = "converged", np.inf
        self.again = {}  # the objective below which a deletion that was refused is worth trying

    def run(self):
        from tqdm import tqdm

        self.began = time.perf_counter()
        # matrices are small: more threads take longer, far longer where other programs run
        single = threadpool_limits(1, "blas")
        with single, tqdm(desc="RVM", unit="action", disable=not self.progress) as self.bar:
            self._record(np.inf)
            self._by_closed_forms()
            self._by_evidence()
        self.counts["mode"] = self.model.modes

    def _record(self, change):
        elapsed = time.perf_counter() - self.began
        size = len(self.state.chosen)
        self.steps.append(Step(0, self.state.objective, change, size, elapsed))
        if self.progress and len(self.steps) > 1:
            self.bar.set_postfix(points=size, evidence=-self.state.objective, refresh=False)
            self.bar.update()

    @property
    def _spent(self):
        return len(self.steps) > self.max_iter

    def _try(self, chosen, precisions):
        """The mode after an action, or None where there is none."""
        try:
            return self.model.mode(chosen, precisions, self.state)
        except SubproblemError:
            return None

    def _take(self, kind, new, least=0.0):
        """Go where an action leads if that gains more than the least; whether it does.

        A deletion has to lose nothing.
        """
        gain = -np.inf if new is None else self.state.objective - new.objective
        if not (gain >= 0 if kind == "delete" else gain > least):
            self.counts["refused"] += 1
            return False
        before, after = np.zeros((2, self.model.columns.shape[1]))
        before[self.state.chosen], after[new.chosen] = self.state.weights, new.weights
        largest = abs(after).max(initial=0)
        change = float(abs(after - before).max() / largest) if largest > 0 else np.inf
        self.state, self.last_gain = new, gain
        self.counts[kind] += 1
        self._record(change)
        return True

    def _with(self, column, precision):
        state = self.state
        return np.append(state.chosen, column), np.append(state.precisions, precision)

    def _without(self, place):
        return np.delete(self.state.chosen, place), np.delete(self.state.precisions, place)

    # ------------------------------------------------------------ given the curvatures

    def _by_closed_forms(self):
        """The action of the largest gain foretold, as long as that is worth while."""
        least, refused = max(COARSE, self.tol), set()
        while not self._spent:
            found = self._inside(least, refused) or self._outside(least, refused)
            if found is None:
                return
            kind, column, chosen, precisions = found
            if self._take(kind, self._try(chosen, precisions), self.tol):
                refused.clear()
            else:
                refused.add((kind, column))

    def _inside(self, least, refused):
        """The best change of a precision, perhaps to infinity."""
        state = self.state
        s, q = self.model.inside(state)
        best = best_precision(s, q)
        gains = np.where(np.isinf(best), 0, share(best, s, q)) - share(state.precisions, s, q)
        for place in np.argsort(-gains, kind="stable"):
            if not gains[place] > least:
                return None
            kind = "delete" if np.isinf(best[place]) else "re-estimate"
            column = state.chosen[place]
            if (kind, column) in refused:
                continue
            if kind == "delete":
                return kind, column, *self._without(place)
            precisions = state.precisions.copy()
            precisions[place] = best[place]
            return kind, column, state.chosen, precisions

    def _outside(self, least, refused):
        """The best addition."""
        s, q = self.model.outside(self.state)
        gains = promised(q**2 / s - 1)
        gains[self.state.chosen] = 0
        for column in np.argsort(-gains, kind="stable"):
            if not gains[column] > least:
                return None
            if ("add", column) not in refused:
                precision = best_precision(s[column], q[column])
                return "add", column, *self._with(column, precision)

    # ------------------------------------------------------------ by the evidence itself

    def _by_evidence(self):
        while not self._spent:
            self._move_together(ROUGH * self.tol)
            if self._spent or self._delete() or self._add():
                continue
            # derivatives vanish where it ends
            if self._move_together(0.0) and self.last_gain > self.tol:
                continue
            if not self._spent and not (
                self._delete(everything=True) or (self.exhaustive and self._scan())
            ):
                return
        self.status = "max_iter"

    def _move_together(self, least):
        """All precisions at once, until steps gain no more than the least; whether they gain.

        If that is 0, as far as rounding allows.
        """
        if not len(self.state.chosen):
            return False
        start, met = self.state, {"last": self.state}

        def objective(logs):
            try:
                new = self.model.mode(start.chosen, np.exp(logs), met["last"])
            except SubproblemError:
                return np.inf, np.zeros(len(logs))
            met["last"] = new
            if "best" not in met or new.objective < met["best"].objective:
                met["best"] = new
            return new.objective, self.model.slopes(new)

        logs = np.log(start.precisions)
        ends = np.clip([logs - WIDE, logs + WIDE], *np.log(LIMITS))
        minimize(
            objective,
            logs,
            jac=True,
            method="L-BFGS-B",
            bounds=ends.T,
            options={
                "gtol": 1e-9,
                "ftol": max(least / max(start.objective, 1), 1e-15),
                "maxcor": 30,
            },
        )
        return self._take("re-estimate", met.get("best"))

    def _delete(self, everything=False):
        """The first deletion after which the evidence is no smaller, of all or of the promising.

        Promising is what is foretold to be cheap, unless it was tried and lost more than the
        evidence has gained since.
        """
        losses = share(self.state.precisions, *self.model.inside(self.state))
        for place in np.argsort(losses, kind="stable"):
            column = self.state.chosen[place]
            if not everything:
                if losses[place] > CHEAP:
                    return False
                if self.state.objective > self.again.get(column, np.inf):
                    continue
            new = self._try(*self._without(place))
            if self._take("delete", new):
                return True
            lost = np.inf if new is None else new.objective - self.state.objective
            self.again[column] = self.state.objective - lost
        return False

    def _add(self):
        """The first addition, at its best precision, that gains more than the tolerance."""
        s, q, excess = self.model.outside(self.state, exact=True)
        with np.errstate(invalid="ignore"):
            gains = promised(np.fmax(q**2 / s - 1, excess / s))
        gains[self.state.chosen] = 0
        for column in np.argsort(-gains, kind="stable"):
            if not gains[column] > self.tol:
                return False
            if self._take("add", self._best_addition(column, s[column]), self.tol):
                return True
        return False

    def _best_addition(self, column, s):
        """With the precision of the largest evidence, where the closed form has it or beyond."""
        ends = np.clip(np.log(s) + [-BELOW, ABOVE], *np.log(LIMITS))
        return self._best(self._joined(column), ends)

    def _best(self, action, ends):
        met = [None]

        def objective(log):
            new = self._try(*action(np.exp(log)))
            if new is None:
                return np.inf
            if met[0] is None or new.objective < met[0].objective:
                met[0] = new
            return new.objective

        minimize_scalar(objective, bounds=ends, method="bounded", options={"xatol": 1e-3})
        return met[0]

    def _scan(self):
        """The first column with a precision on a grid that gains more than the tolerance."""
        grid = np.arange(*np.log(LIMITS), GRID)
        for column in range(self.model.columns.shape[1]):
            places = np.flatnonzero(self.state.chosen == column)
            kind = "re-estimate" if len(places) else "add"
            action = self._at(places[0]) if len(places) else self._joined(column)
            objectives = [getattr(self._try(*action(p)), "objective", np.inf) for p in np.exp(grid)]
            # where the least is flat, its neighbours are not far
            best = np.argmin(objectives)
            ends = grid[[max(best - 1, 0), min(best + 1, len(grid) - 1)]]
            if self._take(kind, self._best(action, ends), self.tol):
                return True
        return False

    def _at(self, place):
        def action(precision):
            precisions = self.state.precisions.copy()
            precisions[place] = precision
            return self.state.chosen, precisions

        return action

    def _joined(self, column):
        return lambda precision: self._with(column, precision)
