"""The relevance vector machine: few kernel functions by the evidence for their precisions."""

import threading
import time

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.kernels import BasisClassifier
from fsnotes.core.mm import Result, Step
from fsnotes.core.progress import ProgressBar
from fsnotes.core.samples import first_of_equals
from fsnotes.core.threads import one_thread
from fsnotes.core.tolerances import CONSTANT
from fsnotes.core.validation import MOST_STEPS, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn

__all__ = ["RVM"]

LOWEST, HIGHEST = 1e-6, 1e12  # precisions of columns of unit mean square
COARSE = 1e-2  # gain in log evidence that closed forms have to promise at first
ROUGH = 1e-2  # part of the tolerance at whose gain a joint move ends
FARTHEST = 5.0  # most that a joint move changes the logarithm of a precision
MODE_REACHED = 1e-20  # squared Newton decrement at a mode
NEWTON_STEPS = 200
PARTS = 0.5 ** np.arange(50)  # the parts of a step that are tried in turn
ROUNDED = 1e-13  # part of the loss that may be rounding
EXPLAINED = 1e-9  # part of a column's own size below which what others leave of it is rounding
ONE_SEARCH = threading.RLock()  # at a time: several in threads take as long, and share a limit
KINDS = {1: "add", 0: "re-estimate", -1: "delete"}  # actions by the columns that they add


class RVM(BasisClassifier):
    """Few kernel functions: the relevance vector machine, by its fast marginal likelihood.

    Labels are Bernoulli variables of logit ``b + sum_j w_j k(x, x_j)``, and a weight has a normal
    prior of mean 0 and precision alpha_j. The precisions are those of the greatest evidence, in
    Laplace's approximation; most are infinite, so that their points drop out.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in `KernelMPM`.
    gamma : float, optional
        Of the kernel; by default ``1 / n_features``.
    basis : int or array-like of int, optional
        The candidates, at least 2: so many distinct points, drawn with `random_state`, or rows of
        the training data with these numbers; by default every distinct point.
    random_state : int, default=0
        Of the candidates, where `basis` is their number.
    tol : float, default=0.001
        No action is taken for a gain in log evidence of at most this; above 0.
    max_iter : int, default=10000
        The largest number of actions, up to 1e6. One that moves all precisions together is one.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation before the kernel, and
        leave constant ones out.
    progress : bool, default=False
        Show a progress bar of actions.

    Attributes
    ----------
    support_ : ndarray of int
        Relevance vectors: rows of the training data. The first of equal rows stands for all.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_ : ndarray of shape (1, n_support)
        Posterior mode.
    intercept_ : ndarray of shape (1,)
    alpha_ : ndarray of shape (n_support,)
        Precisions; 1e-6 to 1e12 times the variance of the column at the training rows.
    covariance_ : ndarray of shape (1 + n_support, 1 + n_support)
        Posterior covariance of the intercept and the weights, in this order.
    objective_ : float
        Minus the log evidence, never below 0.
    n_iter_ : int
        Actions taken.
    basis_ : ndarray of int
        The candidates whose columns are neither constant nor equal to another.
    gamma_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the objective, which rises by rounding alone;
        ``result_.counts`` has the numbers of actions of each kind, of those refused, and of modes
        found.

    Notes
    -----
    At the mode w, b let the diagonal matrix B hold the variances of the labels. Measured from the
    evidence of the intercept alone given B,

    ``log evidence = log likelihood - w'Aw / 2 - log|I + A^(-1/2) F'PF A^(-1/2)| / 2``,

    where F are the columns in use and ``P = B - B11'B / 1'B1``. So the prior of the intercept is
    flat in units of its standard error. One flat in b would add ``-log(1'B1) / 2``, which has no
    bound if the classes can be separated.

    Given B, one precision adds ``(log(alpha / (alpha + s)) + q^2 / (alpha + s)) / 2``, which has
    its maximum at ``s^2 / (q^2 - s)`` or, if ``q^2 <= s``, at infinity. The action of the largest
    gain is taken, and the mode is found anew. B then differs: for an addition the derivative of
    the evidence takes the place of ``q^2 - s``, and an action that does not raise the evidence
    itself is refused. Where closed forms end, all precisions move along the derivatives. At the
    end no deletion, and no action that closed forms or derivatives promise, gains more than `tol`;
    a larger change may.

    For N distinct rows of n features, m candidates and k points in use, an action costs O(N k^2),
    one that adds a point O(N m k), beside O(N m n) for the kernel and O(N m) memory.

    The probability of ``classes_[1]`` is the logistic function of ``score / sqrt(1 + pi v / 8)``
    (MacKay, 1992), where v is the variance of the score in the posterior, so that probabilities do
    not have the order of the scores.

    References
    ----------
    D. J. C. MacKay, The evidence framework applied to classification networks, Neural Computation
    4(5), 720-736, 1992.

    M. E. Tipping and A. C. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
    Proceedings of the 9th International Workshop on Artificial Intelligence and Statistics, 2003.

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
        progress=False,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.progress = progress

    def _check_parameters(self):
        super()._check_parameters()
        check_real("tol", self.tol, 0, open_at=0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)

    def _fit_samples(self, samples):
        features = self._scale_features(samples)
        self._prepare_kernel(samples, features)
        X = samples.X
        # The points are in an order that is theirs alone: no answer depends on that of the rows.
        _, points, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
        place = place.ravel()
        positive = np.bincount(place, samples.sample_weight * samples.positive)
        negative = np.bincount(place, samples.sample_weight * ~samples.positive)
        candidates = points[self._candidates(samples, place)]
        # matrices are small: more threads take longer, far longer where other programs run
        with ONE_SEARCH, one_thread(wait=False):
            values = self._kernel_.columns(X, X[candidates])[points]
            columns, sizes, means, kept = _standardize(values, positive + negative)
            search = Search((columns, positive, negative), self)
            search.run()
        candidates = candidates[kept]
        self.basis_ = np.sort(samples.row[candidates])
        state = search.state
        order = np.argsort(candidates[state.used])
        used = state.used[order]
        self.support_ = samples.row[candidates[used]]
        self.support_vectors_ = X[candidates[used]]
        self.alpha_ = state.precisions[used] * sizes[used] ** 2
        self.dual_coef_ = (state.weights[used] / sizes[used])[None]
        self.intercept_ = state.offset - self.dual_coef_ @ means[used]
        root = solve_triangular(state.factor, np.eye(len(used) + 1))[np.append(0, order + 1)]
        root[1:] /= np.sqrt(self.alpha_)[:, None]
        # of the weights beside kernel values less their means, which keep digits where these do not
        self._root_ = root.copy()
        self._means_ = means[used]
        root[0] -= means[used] @ root[1:]
        self.covariance_ = root @ root.T
        self.objective_ = state.objective
        self.n_iter_ = len(search.steps) - 1
        steps = tuple(search.steps)
        self.result_ = Result(search.status, self.objective_, steps, counts=search.counts)
        if search.status == "max_iter":
            gain = steps[-2].objective - steps[-1].objective
            warn(
                f"not converged in {self.max_iter} actions: the last gained {gain:.1e} in log "
                f"evidence, more than tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
            )
        if not len(used):
            warn(
                "no kernel function raises the evidence, so that the intercept alone remains and "
                "the class of more weight is predicted everywhere; pass another gamma or kernel, "
                "or more rows",
                SelectionWarning,
            )

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
        X = self._check_rows(X)
        values = self._kernel_(X, self.support_vectors_) - self._means_
        variances = np.square(self._root_[0] + values @ self._root_[1:]).sum(axis=1)
        moderated = scores / np.sqrt(1 + np.pi / 8 * variances)
        return np.column_stack([expit(-moderated), expit(moderated)])


def _standardize(values, weights):
    """Columns of mean 0 and mean square 1, their sizes and means before, and their places.

    The evidence does not depend on the units of a column, since its precision takes them up, nor
    on its origin, since the intercept does. Constant columns and copies are left out.
    """
    probability = weights / weights.sum()
    means = probability @ values
    first = first_of_equals(values.T)
    columns = np.asfortranarray(values - means)
    sizes = np.sqrt(np.einsum("i,ij,ij->j", probability, columns, columns))
    kept = first[sizes[first] > CONSTANT * abs(means[first])]
    return columns[:, kept] / sizes[kept], sizes[kept], means[kept], kept


class Posterior:
    """The mode for given precisions, infinite for columns not in use, and its covariance.

    The unknowns are the offset and the weights in use times the roots of their precisions, so
    that their prior has unit variance and the Hessian is the identity plus another matrix.
    Newton's method starts from an offset and weights. The data are all columns, and how often each
    row has either label.
    """

    def __init__(self, data, precisions, offset, weights):
        self.all_columns, self.positive, self.negative = data
        self.precisions = precisions
        self.used = np.flatnonzero(np.isfinite(precisions))
        roots = np.sqrt(precisions[self.used])
        self.columns = np.ones((len(self.positive), len(roots) + 1))
        self.columns[:, 1:] = self.all_columns[:, self.used] / roots
        value = self._find_mode(np.append(offset, weights[self.used] * roots))
        self.offset = float(self.mode[0])
        self.weights = np.zeros(len(precisions))
        self.weights[self.used] = self.mode[1:] / roots
        # the first pivot is the root of the sum of curvatures, the others that of the rest
        self.objective = float(value + np.log(self.factor.diagonal()[1:]).sum())

    def _value(self, x):
        """Minus the log posterior."""
        scores = self.columns @ x
        sizes = abs(scores)
        wrong = np.where(scores > 0, self.negative, self.positive)
        losses = (self.positive + self.negative) @ np.log1p(np.exp(-sizes))
        return losses + wrong @ sizes + x[1:] @ x[1:] / 2

    # far out, where curvatures vanish, a step may be too long to be squared
    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def _find_mode(self, x):
        """Find the mode by Newton's method with halved steps; minus the log posterior there."""
        prior = np.append(0.0, np.ones(len(x) - 1))
        value = self._value(x)
        for _ in range(NEWTON_STEPS):
            scores = self.columns @ x
            one = expit(scores)
            other = expit(-scores)
            self.residuals = self.positive * other - self.negative * one
            self.curvatures = (self.positive + self.negative) * one * other
            self.skews = self.curvatures * (other - one)
            hessian = (self.columns.T * self.curvatures) @ self.columns + np.diag(prior)
            try:
                self.factor, _ = cho_factor(hessian)
            except (LinAlgError, ValueError):  # singular, or not finite
                break
            slope = self.columns.T @ self.residuals - prior * x
            step = cho_solve((self.factor, False), slope)
            decrement = slope @ step
            if decrement <= MODE_REACHED:
                self.mode = x
                return value
            for part in PARTS:
                there = self._value(x + part * step)
                if there <= value - 1e-4 * part * decrement + ROUNDED * (1 + value):
                    break
            x = x + part * step
            value = there
        raise SubproblemError("the mode was not found; pass weights of rows that differ less")

    def _covariance(self):
        return cho_solve((self.factor, False), np.eye(len(self.mode)))

    def _determinant_slopes(self):
        """Derivative of half the log determinant in the score of each row."""
        leverages = (solve_triangular(self.factor, self.columns.T, trans="T") ** 2).sum(axis=0)
        return self.skews * (leverages - 1 / self.curvatures.sum()) / 2

    def slopes(self):
        """Derivatives of the objective in the logarithms of the precisions in use."""
        covariance = self._covariance()
        bent = covariance @ (self.columns.T @ self._determinant_slopes())
        return (self.mode**2 + covariance.diagonal() - 2 * self.mode * bent - 1)[1:] / 2

    def inside(self):
        """The statistics s and q^2 - s of each column in use, computed without the column."""
        variances = self._covariance().diagonal()[1:]
        precisions = self.precisions[self.used]
        s = precisions * (1 - variances) / variances
        return s, precisions * (self.mode[1:] / variances) ** 2 - s

    def outside(self):
        """The statistics s and q^2 - s of all columns, as additions to those in use.

        The latter is corrected for the change of curvatures: it is twice the slope of the log
        evidence in the variance of a weight, at 0.
        """
        columns = self.all_columns
        across = columns.T @ (self.curvatures[:, None] * self.columns)
        explained = solve_triangular(self.factor, across.T, trans="T")
        own = np.einsum("ij,i,ij->j", columns, self.curvatures, columns)
        s = own - (explained**2).sum(axis=0)
        # Where those in use explain a column, what is left of it is rounding.
        s = np.where(s > EXPLAINED * own, s, np.inf)
        q = columns.T @ self.residuals
        pull = self._determinant_slopes()
        bent = cho_solve((self.factor, False), self.columns.T @ pull)
        return s, q**2 - s - 2 * q * (columns.T @ pull - across @ bent)


def _contribution(precisions, s, excess):
    """What columns of these statistics add to the log evidence, given the curvatures."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        added = ((excess + s) / (precisions + s) - np.log1p(s / precisions)) / 2
    return np.where(np.isinf(precisions), 0, added)


def _best_precision(s, excess):
    """The precision of the largest contribution; infinite if the column is better left out."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(excess > 0, np.clip(s**2 / excess, LOWEST, HIGHEST), np.inf)


def _descending(gains, least):
    """Places of the gains above the least, the largest first."""
    order = np.argsort(-gains, kind="stable")
    return order[gains[order] > least]


class Search:
    """Actions, one after the other, as long as one raises the evidence by more than ``tol``.

    An action sets the precision of one column, to infinity for a deletion, or moves all in use.
    """

    def __init__(self, data, options):
        self.data = data
        self.options = options
        columns, positive, negative = data
        none = np.zeros(columns.shape[1])
        odds = positive.sum() / negative.sum()
        self.state = Posterior(data, none + np.inf, np.log(odds), none)
        self.began = time.perf_counter()
        self.steps = [Step(0, self.state.objective, np.inf, 0, 0.0)]
        self.counts = dict.fromkeys([*KINDS.values(), "refused"], 0) | {"mode": 1}
        self.status = "max_iter"

    def run(self):
        with ProgressBar(desc="RVM", unit="action", disable=not self.options.progress) as bar:
            while len(self.steps) <= self.options.max_iter:
                if not self._act():
                    self.status = "converged"
                    break
                bar.update()

    def _act(self):
        """Take one action; False where none gains."""
        # Additions of little promise wait until precisions fit: made at once, they lead to maxima
        # of less evidence more often than not.
        return (
            self._follow_closed_forms(max(COARSE, self.options.tol))
            or self._move_together()
            or self._follow_closed_forms(self.options.tol)
            or any(self._take(self._try(column, np.inf)) for column in self.state.used)
        )

    def _try(self, columns, precisions):
        """The posterior for other precisions of one or several columns; None without a mode."""
        changed = self.state.precisions.copy()
        changed[columns] = precisions
        self.counts["mode"] += 1
        try:
            return Posterior(self.data, changed, self.state.offset, self.state.weights)
        except SubproblemError:
            return None

    def _take(self, new):
        """Go where an action leads if it gains more than ``tol``, or deletes and loses nothing."""
        old = self.state
        gain = -np.inf if new is None else old.objective - new.objective
        added = 0 if new is None else np.sign(len(new.used) - len(old.used))
        taken = gain > self.options.tol or (added < 0 and gain >= 0)
        self.counts[KINDS[added] if taken else "refused"] += 1
        if taken:
            largest = abs(new.weights).max()
            moved = abs(new.weights - old.weights).max()
            change = float(moved / largest) if largest > 0 else np.inf
            elapsed = time.perf_counter() - self.began
            self.steps.append(Step(0, new.objective, change, len(new.used), elapsed))
            self.state = new
        return taken

    def _follow_closed_forms(self, least):
        """Take the action of the largest gain, given the curvatures, that is one in truth."""
        return any(self._take(self._try(column, best)) for column, best in self._promising(least))

    def _promising(self, least):
        """Changes of precisions in use, and then additions, that promise to gain more than this."""
        state = self.state
        now = state.precisions[state.used]
        statistics = state.inside()
        best = _best_precision(*statistics)
        gains = _contribution(best, *statistics) - _contribution(now, *statistics)
        for place in _descending(gains, least):
            yield state.used[place], best[place]
        statistics = state.outside()
        best = _best_precision(*statistics)
        gains = _contribution(best, *statistics)
        gains[state.used] = 0
        for column in _descending(gains, least):
            yield column, best[column]

    def _move_together(self):
        """Move all precisions in use along the derivatives of the evidence."""
        used = self.state.used
        if not len(used):
            return False

        def objective(logs):
            new = self._try(used, np.exp(logs))
            return (np.inf, 0 * logs) if new is None else (new.objective, new.slopes())

        logs = np.log(self.state.precisions[used])
        # Far away, modes may not be found, and a line search cannot use an infinite value.
        ends = np.clip([logs - FARTHEST, logs + FARTHEST], np.log(LOWEST), np.log(HIGHEST)).T
        options = {"ftol": ROUGH * self.options.tol / max(self.state.objective, 1)}
        found = minimize(objective, logs, jac=True, method="L-BFGS-B", bounds=ends, options=options)
        return self._take(self._try(used, np.exp(found.x)))
