"""The relevance vector machine: few kernel functions by the evidence for their precisions."""

import time
from types import SimpleNamespace

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
from fsnotes.core.samples import first_of_equals
from fsnotes.core.tolerances import CONSTANT
from fsnotes.core.validation import check_bool, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn

__all__ = ["RVM"]

# Precisions are those of columns of unit mean square. Their logarithms are searched on a grid of
# step GRID if all are tried; together they move by at most FARTHEST at a time.
LOWEST, HIGHEST = 1e-6, 1e12
GRID = 1.0
FARTHEST = 5.0
# Gains and losses in log evidence: closed forms are followed as long as they promise COARSE, a
# deletion is tried before any addition if they promise that it loses at most CHEAP, and a joint
# move ends at first where its steps gain ROUGH times the tolerance.
COARSE, CHEAP, ROUGH = 1e-2, 0.1, 0.1
# A mode is reached where the squared Newton decrement is at most MODE_REACHED, or where it is at
# most MODE_ROUNDED and rounding keeps it from falling to a quarter.
MODE_REACHED, MODE_ROUNDED = 1e-24, 1e-12
NEWTON_STEPS = 200
PARTS = 0.5 ** np.arange(50)  # the parts of a step that are tried in turn
KINDS = {1: "add", 0: "re-estimate", -1: "delete"}  # actions by the columns that they add
NO_MODE = SimpleNamespace(objective=np.inf, used=())  # where no posterior mode was found
ROUNDED = 1e-13  # part of the loss that may be rounding
EXPLAINED = 1e-9  # part of a column's own size below which what others leave of it is rounding


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
        The parameter of the kernel; by default ``1 / n_features``.
    basis : int or array-like of int, optional
        The candidates, points whose kernel functions may be used: so many distinct ones, drawn
        with `random_state` and all alike, or rows of the training data with these numbers, at
        least 2; by default every distinct point.
    random_state : int, default=0
        Draws the candidates if `basis` is their number; the order of rows does not matter.
    tol : float, default=0.001
        No action is taken for a gain in log evidence of at most this; above 0.
    max_iter : int, default=10000
        The largest number of actions. One that moves all precisions together counts once.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation before the kernel.
    exhaustive : bool, default=False
        In the end, try every precision of every point, in use or not, on a grid, and go on from
        where the evidence is larger. Otherwise additions are tried where formulas promise a gain,
        and precisions in use move to where derivatives vanish; if classes are nearly separated,
        there may be more to gain far away.
    progress : bool, default=False
        Show a progress bar of actions.

    Attributes
    ----------
    support_ : ndarray of int
        Relevance vectors: rows of the training data. The first of equal rows of positive weight
        stands for all.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_ : ndarray of shape (1, n_support)
        Posterior mode of the weights.
    intercept_ : ndarray of shape (1,)
    alpha_ : ndarray of shape (n_support,)
        Precisions of the weights. Divided by the variance of the column at the training rows they
        are from 1e-6 to 1e12.
    covariance_ : ndarray of shape (1 + n_support, 1 + n_support)
        Posterior covariance of the intercept and the weights.
    objective_ : float
        Minus the log evidence, never below 0.
    n_iter_ : int
        Actions taken.
    basis_ : ndarray of int
        The candidates as rows of the training data, without those whose columns are constant or
        equal to another.
    gamma_ : float
        The parameter of the kernel that was used.
    scale_ : ndarray of shape (n_features,)
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which never rises; ``result_.counts``
        has the numbers of actions of each kind, of those refused, and of modes found.

    Raises
    ------
    SubproblemError
        If no mode can be found for the intercept alone, which takes weights of rows that differ
        by very many orders of magnitude.

    Notes
    -----
    At the mode w, b let the diagonal matrix B hold the variances of the labels. Measured from the
    evidence of the intercept alone given B,

    ``log evidence = log likelihood - w'Aw / 2 - log|I + A^(-1/2) F'PF A^(-1/2)| / 2``,

    where F are the columns in use and ``P = B - B11'B / 1'B1``. So the intercept has no
    penalty, and a prior that is flat in units of its own standard error (that of Jeffreys). With a
    prior flat in b itself, another ``-log(1'B1) / 2`` would be added, which has no bound if
    the classes can be separated: the precisions would go to zero.

    Given B, the log evidence depends on one precision as ``(log(alpha / (alpha + s)) + q^2 /
    (alpha + s)) / 2``, which has its maximum at ``s^2 / (q^2 - s)`` or, if ``q^2 <= s``, at
    infinity. The action of the largest gain is taken, adding a column only where those in use gain
    little, and the mode is found anew. B then differs, so that the gain foretold is not the gain
    had; an action after which the evidence itself is no larger is refused. In the end, derivatives
    of the evidence that include the change of B take the place of the closed forms: precisions
    move together, roughly at first and finally to where derivatives vanish, every deletion is
    tried, and every addition that promises a gain, at its best precision. At the end of the search
    no deletion and no small change of a precision, even from infinity, gains more than `tol`. A
    precision at an end of its range goes no further, though the evidence may still rise beyond.
    With `exhaustive`, no other precision of any one point gains more, up to what lies between the
    points of a grid; that takes some 40 modes for each of the m candidates.

    A smaller `tol` follows more additions of little promise. Each is worth nothing by itself, but
    where classes are nearly separated some lead on to other maxima, which may be better or worse,
    have more points, and take longer.

    For N distinct rows of n features, m candidates and k points in use, an action costs O(N k^2),
    one that adds a point O(N m k), beside O(N m n) for the kernel and O(N m) memory. Equal rows
    count as one row with weights of both labels, and candidates of equal columns as one.

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

    def _fit_samples(self, samples):
        self._scale_features(samples)
        self._prepare_kernel(samples)
        X = samples.X
        # The points are in an order that is theirs alone: no answer depends on that of the rows.
        _, points, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
        place = place.ravel()
        positive = np.bincount(place, samples.sample_weight * samples.positive)
        negative = np.bincount(place, samples.sample_weight * ~samples.positive)
        candidates = points[self._candidates(samples, place)]
        values = self._kernel.columns(X, X[candidates])[points]
        columns, sizes, means, kept = _standardize(values, positive + negative)
        candidates = candidates[kept]
        self.basis_ = np.sort(samples.row[candidates])
        search = Search(Data(columns, positive, negative), self)
        search.run()
        self._warn_of_end(search)
        self._set_solution(samples, candidates, sizes, means, search.state)
        self.n_iter_ = len(search.steps) - 1
        self.result_ = Result(
            search.status, self.objective_, tuple(search.steps), counts=search.counts
        )

    def _set_solution(self, samples, candidates, sizes, means, state):
        """Set the fitted attributes, in the units of the kernel functions."""
        order = np.argsort(candidates[state.used])
        used = state.used[order]
        self.support_ = samples.row[candidates[used]]
        self.support_vectors_ = samples.X[candidates[used]]
        self.alpha_ = state.precisions[used] * sizes[used] ** 2
        self.dual_coef_ = (state.weights[used] / sizes[used])[None]
        self.intercept_ = state.offset - self.dual_coef_ @ means[used]
        root = state.covariance_root()[np.append(0, order + 1)]
        root[1:] /= np.sqrt(self.alpha_)[:, None]
        root[0] -= means[used] @ root[1:]
        self._root = root
        self.objective_ = state.objective

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
        """The covariance of the intercept and the weights, in this order, in the posterior."""
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
        if not len(search.state.used):
            warn(
                "no kernel function raises the evidence, so that the intercept alone remains and "
                "the class of more weight is predicted everywhere; pass another gamma or kernel, "
                "or more rows",
                SelectionWarning,
            )


def _standardize(values, weights):
    """Columns of mean 0 and mean square 1, without constant and equal ones.

    The evidence does not depend on the units of a column, since its precision takes them up, nor
    on its origin, since the intercept does. Returned are the columns, their sizes and means before
    that, and their places among those given.
    """
    probability = weights / weights.sum()
    means = probability @ values
    first = first_of_equals(values.T)
    columns = np.asfortranarray(values - means)
    sizes = np.sqrt(np.einsum("i,ij,ij->j", probability, columns, columns))
    kept = first[sizes[first] > CONSTANT * abs(means[first])]
    return columns[:, kept] / sizes[kept], sizes[kept], means[kept], kept


class Data:
    """Columns, how often each row has either label, and how many modes have been found."""

    def __init__(self, columns, positive, negative):
        self.columns = columns
        self.positive = positive
        self.negative = negative
        self.modes = 0

    def loss(self, scores):
        """Minus the log likelihood."""
        sizes = abs(scores)
        wrong = np.where(scores > 0, self.negative, self.positive)
        return (self.positive + self.negative) @ np.log1p(np.exp(-sizes)) + wrong @ sizes

    def derivatives(self, scores):
        """Slope of the log likelihood in each score, minus its second derivative, its third."""
        one = expit(scores)
        other = expit(-scores)
        curvatures = (self.positive + self.negative) * one * other
        return self.positive * other - self.negative * one, curvatures, curvatures * (other - one)


class Posterior:
    """The posterior mode for one precision a column, and the normal approximation there.

    The unknowns are the offset and the weights in use times the roots of their precisions, so
    that their prior has unit variance and the Hessian is the identity plus another matrix.

    Parameters
    ----------
    data : Data
    precisions : ndarray of shape (n_columns,)
        Infinite for the columns that are not in use.
    near : Posterior, optional
        Another, from whose mode Newton's method starts.

    Attributes
    ----------
    used : ndarray of int
        The columns in use.
    offset, weights
        The mode; a column that is not in use has weight 0.
    objective : float
        Minus the log evidence.
    """

    def __init__(self, data, precisions, near=None):
        data.modes += 1
        self.data = data
        self.precisions = precisions
        self.used = np.flatnonzero(np.isfinite(precisions))
        roots = np.sqrt(precisions[self.used])
        self.columns = np.empty((len(data.columns), len(self.used) + 1))
        self.columns[:, 0] = 1
        self.columns[:, 1:] = data.columns[:, self.used] / roots
        if near is None:
            start = np.zeros(len(roots) + 1)
            start[0] = np.log(data.positive.sum()) - np.log(data.negative.sum())
        else:
            start = np.append(near.offset, near.weights[self.used] * roots)
        loss = self._maximize(start)
        self.offset = float(self.mode[0])
        self.weights = np.zeros(len(precisions))
        self.weights[self.used] = self.mode[1:] / roots
        # the first pivot is the root of the sum of curvatures, the others that of the rest
        self.objective = float(loss + np.log(self.factor.diagonal()[1:]).sum())

    def _maximize(self, x):
        """Find the mode by Newton's method with halved steps; minus the log posterior there."""
        prior = np.append(0.0, np.ones(len(x) - 1))
        scores = self.columns @ x
        value = self.data.loss(scores) + prior @ x**2 / 2
        decrement = np.inf
        for _ in range(NEWTON_STEPS):
            self.residuals, self.curvatures, self.skews = self.data.derivatives(scores)
            weighted = self.columns * np.sqrt(self.curvatures)[:, None]
            hessian = weighted.T @ weighted
            hessian.flat[:: len(x) + 1] += prior
            self.factor = _factor(hessian)
            slope = self.columns.T @ self.residuals - prior * x
            step = dpotrs(self.factor, slope)[0]
            last = decrement
            decrement = slope @ step
            if decrement <= MODE_REACHED or last / 4 < decrement <= MODE_ROUNDED:
                break
            moved = self.columns @ step
            for part in PARTS:
                new = x + part * step
                # far out, where curvatures vanish, a step may be too long to be squared
                with np.errstate(over="ignore", invalid="ignore"):
                    there = self.data.loss(scores + part * moved) + prior @ new**2 / 2
                if there <= value - 1e-4 * part * decrement + ROUNDED * (1 + value):
                    break
            else:
                break
            x = new
            value = there
            scores = self.columns @ x
        if not decrement <= MODE_ROUNDED:
            raise SubproblemError(
                f"the mode was not found: a Newton step still promises {decrement / 2:.1e}; pass "
                "weights of rows that differ less"
            )
        self.mode = x
        return value

    def covariance(self):
        """Posterior covariance of the unknowns."""
        return cho_solve((self.factor, False), np.eye(len(self.mode)))

    def covariance_root(self):
        """A matrix that, times its transpose, is the covariance."""
        return solve_triangular(self.factor, np.eye(len(self.mode)))

    def _determinant_slopes(self):
        """Derivative of half the log determinant in the score of each row."""
        leverages = (solve_triangular(self.factor, self.columns.T, trans="T") ** 2).sum(axis=0)
        return self.skews * (leverages - 1 / self.curvatures.sum()) / 2

    def slopes(self):
        """Derivatives of the objective in the logarithms of the precisions in use."""
        covariance = self.covariance()
        bent = covariance @ (self.columns.T @ self._determinant_slopes())
        return (self.mode**2 + covariance.diagonal() - 2 * self.mode * bent - 1)[1:] / 2

    def inside(self):
        """The statistics s and q of each column in use, computed without the column itself."""
        variances = self.covariance().diagonal()[1:]
        precisions = self.precisions[self.used]
        s = precisions * (1 - variances) / variances
        return s, np.sqrt(precisions) * self.mode[1:] / variances

    def outside(self):
        """The statistics s and q of all columns, as additions to those in use, and the excess.

        The excess is that of q^2 over s once the change of curvatures is known: twice the slope of
        the log evidence in the variance of a weight, at 0.
        """
        columns = self.data.columns
        across = columns.T @ (self.curvatures[:, None] * self.columns)
        explained = solve_triangular(self.factor, across.T, trans="T")
        own = np.einsum("ij,i,ij->j", columns, self.curvatures, columns)
        s = own - (explained**2).sum(axis=0)
        # Where those in use explain a column, what is left of it is rounding.
        s = np.where(s > EXPLAINED * own, s, np.inf)
        q = columns.T @ self.residuals
        pull = self._determinant_slopes()
        bent = cho_solve((self.factor, False), self.columns.T @ pull)
        return s, q, q**2 - s - 2 * q * (columns.T @ pull - across @ bent)


def _factor(hessian):
    """Upper Cholesky factor of the identity plus another matrix, except for its first entry."""
    factor, failed = dpotrf(hessian)
    pivots = factor.diagonal()
    # whatever is not finite spoils the pivots from there on
    if failed or not np.isfinite(pivots).all() or (pivots[1:] < 1 - 1e-6).any():
        raise SubproblemError(
            "the mode was not found: its Hessian is singular up to rounding; pass another "
            "kernel, or weights of rows that differ less"
        )
    return factor


def _contribution(precisions, s, q):
    """What columns of these statistics add to the log evidence, given the curvatures."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        added = (q**2 / (precisions + s) - np.log1p(s / precisions)) / 2
    return np.where(np.isinf(precisions), 0, added)


def _best_precision(s, q):
    """The precision of the largest contribution; infinite if the column is better left out."""
    excess = q**2 - s
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(excess > 0, np.clip(s**2 / excess, LOWEST, HIGHEST), np.inf)


def _addition_gain(surplus):
    """The gain of an addition whose ``q^2 / s`` is more than 1 by the surplus."""
    surplus = np.maximum(surplus, 0)
    return (surplus - np.log1p(surplus)) / 2


def _descending(gains, least):
    """Places of the gains above the least, the largest first."""
    order = np.argsort(-gains, kind="stable")
    return order[gains[order] > least]


class Search:
    """Actions, one after the other, as long as one raises the evidence by more than ``tol``.

    An action sets the precision of one column, to infinity for a deletion, or moves all that are
    in use.
    """

    def __init__(self, data, options):
        self.data = data
        self.tol = options.tol
        self.max_iter = options.max_iter
        self.progress = options.progress
        self.exhaustive = options.exhaustive
        self.state = Posterior(data, np.full(data.columns.shape[1], np.inf))
        self.steps = []
        self.counts = dict.fromkeys([*KINDS.values(), "refused"], 0)
        self.last_gain = np.inf
        self.status = "converged"
        self.worthwhile = {}  # objective below which a deletion that was refused is tried again

    def run(self):
        from tqdm import tqdm

        self.began = time.perf_counter()
        # matrices are small: more threads take longer, far longer where other programs run
        single = threadpool_limits(1, "blas")
        with single, tqdm(desc="RVM", unit="action", disable=not self.progress) as self.bar:
            self._record(np.inf)
            while not self._at_limit and self._follow_closed_forms():
                pass
            while not self._at_limit and self._improve():
                pass
        if self._at_limit:
            self.status = "max_iter"
        self.counts["mode"] = self.data.modes

    def _improve(self):
        """Take an action by the evidence itself, cheap ones first; False where none gains."""
        self._move_together(ROUGH * self.tol)
        if self._at_limit or self._delete(CHEAP) or self._add():
            return True
        if self._move_together(0.0) and self.last_gain > self.tol:
            return True
        return self._at_limit or self._delete() or (self.exhaustive and self._scan())

    def _record(self, change):
        elapsed = time.perf_counter() - self.began
        size = len(self.state.used)
        self.steps.append(Step(0, self.state.objective, change, size, elapsed))
        if self.progress and len(self.steps) > 1:
            self.bar.set_postfix(points=size, evidence=-self.state.objective, refresh=False)
            self.bar.update()

    @property
    def _at_limit(self):
        return len(self.steps) > self.max_iter

    def _try(self, columns, precisions, near=None):
        """The posterior for other precisions of one or several columns, if its mode is found."""
        changed = self.state.precisions.copy()
        changed[columns] = precisions
        try:
            return Posterior(self.data, changed, near or self.state)
        except SubproblemError:
            return NO_MODE

    def _take(self, new, least=0.0):
        """Go where an action leads if that gains more than the least; return whether it does.

        A deletion has to lose nothing.
        """
        kind = KINDS[np.sign(len(new.used) - len(self.state.used))]
        gain = self.state.objective - new.objective
        if not (gain >= 0 if kind == "delete" else gain > least):
            self.counts["refused"] += 1
            return False
        largest = abs(new.weights).max()
        change = float(abs(new.weights - self.state.weights).max() / largest) if largest else np.inf
        self.state = new
        self.last_gain = gain
        self.counts[kind] += 1
        self._record(change)
        return True

    def _follow_closed_forms(self):
        """Take the action of the largest gain, given the curvatures, that is one in truth."""
        least = max(COARSE, self.tol)
        return any(
            self._take(self._try(column, precision), self.tol)
            for column, precision in self._promising(least)
        )

    def _promising(self, least):
        """Changes of precisions in use, and then additions, by their gains given the curvatures."""
        state = self.state
        s, q = state.inside()
        best = _best_precision(s, q)
        gains = _contribution(best, s, q) - _contribution(state.precisions[state.used], s, q)
        for place in _descending(gains, least):
            yield state.used[place], best[place]
        s, q, _ = state.outside()
        gains = _addition_gain(q**2 / s - 1)
        gains[state.used] = 0
        for column in _descending(gains, least):
            yield column, _best_precision(s[column], q[column])

    def _move_together(self, least):
        """Move all precisions until steps gain no more than the least; return whether they gain.

        If the least is 0, they move until derivatives vanish as far as rounding allows.
        """
        near = self.state
        used = near.used
        if not len(used):
            return False

        def objective(logs):
            nonlocal near
            new = self._try(used, np.exp(logs), near)
            if new is NO_MODE:
                return np.inf, np.zeros(len(used))
            near = new
            return new.objective, new.slopes()

        logs = np.log(near.precisions[used])
        ends = np.clip([logs - FARTHEST, logs + FARTHEST], np.log(LOWEST), np.log(HIGHEST)).T
        ftol = max(least / max(near.objective, 1), 1e-15)
        options = {"gtol": 1e-9, "ftol": ftol, "maxcor": 30}
        found = minimize(objective, logs, jac=True, method="L-BFGS-B", bounds=ends, options=options)
        return self._take(self._try(used, np.exp(found.x), near))

    def _delete(self, loss=np.inf):
        """Take the first deletion that does not lower the evidence, of those foretold to lose less.

        Where losses are limited, one that was tried is left out as long as the evidence has not
        gained what it lost then.
        """
        state = self.state
        losses = _contribution(state.precisions[state.used], *state.inside())
        for place in _descending(-losses, -loss):
            column = state.used[place]
            if np.isfinite(loss) and state.objective > self.worthwhile.get(column, np.inf):
                continue
            new = self._try(column, np.inf)
            if self._take(new):
                return True
            self.worthwhile[column] = 2 * state.objective - new.objective
        return False

    def _add(self):
        """Take the first addition, at its best precision, that gains more than the tolerance."""
        s, q, excess = self.state.outside()
        with np.errstate(invalid="ignore"):
            gains = _addition_gain(np.fmax(q**2 / s - 1, excess / s))
        gains[self.state.used] = 0
        # the best precision is near s or beyond
        return any(
            self._take(self._best(column, np.log(s[column]) + [-8.0, 14.0]), self.tol)
            for column in _descending(gains, self.tol)
        )

    def _best(self, column, ends):
        """The posterior of the largest evidence, with the log precision of a column in a range."""

        def objective(log):
            return self._try(column, np.exp(log)).objective

        bounds = np.clip(ends, np.log(LOWEST), np.log(HIGHEST))
        found = minimize_scalar(objective, bounds=bounds, options={"xatol": 1e-3})
        return self._try(column, np.exp(found.x))

    def _scan(self):
        """Take the first column with a precision on a grid that gains more than the tolerance."""
        grid = np.arange(np.log(LOWEST), np.log(HIGHEST), GRID)
        for column in range(self.data.columns.shape[1]):
            best = np.argmin([self._try(column, p).objective for p in np.exp(grid)])
            # where the least is flat, its neighbours are not far
            if self._take(self._best(column, grid[best] + [-GRID, GRID]), self.tol):
                return True
        return False
