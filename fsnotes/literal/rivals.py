"""What the papers compare with, as the papers of these rivals print it."""

import cvxpy as cp
import numpy as np

from fsnotes.literal.huang2008 import reweighted
from fsnotes.literal.solving import largest, solve, solve_linear


def fsv_step(X, y, C, costs):
    """One linear program of FSV, of Bradley and Mangasarian (1998).

    Parameters
    ----------
    X, y : ndarray of shape (n_rows, n_features) and (n_rows,)
        Rows, and labels -1 and +1.
    C : float
        Price of the sum of the margin errors.
    costs : ndarray of shape (n_features,)
        Slopes of the penalty at the last weights.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + costs'|w|``.
    """
    w = cp.Variable(X.shape[1])
    b = cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    objective = C * cp.sum(xi) + costs @ cp.abs(w)
    value = solve_linear(cp.Minimize(objective), [cp.multiply(y, X @ w + b) >= 1 - xi])
    return w.value, float(b.value), value


def fsv(X, y, C, alpha, start, n_features=None, epsilon=1e-9, most=500):
    """FSV of Bradley and Mangasarian (1998), by successive linearisation.

    Paper 002 prints its penalty as ``1 - exp{1 - alpha |w|}``; it is ``1 - exp(-alpha |w|)``. The
    start is random in the original. A slope that rounds to zero would make the program unbounded,
    so the least is a ten-millionth of the largest.

    Parameters
    ----------
    X, y, C
        As of `fsv_step`.
    alpha : float
    start : ndarray of shape (n_features,)
        Weights at which the penalty is linearised first.
    n_features : int, optional
        The r of Huang et al. (2008), as in `zero_norm_svm`; by default the steps end where they
        gain nothing.
    epsilon : float, default=1e-9
        The linearised objective has to fall by such a part.
    most : int, default=500
        Steps.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + sum (1 - exp(-alpha |w_i|))``, before the r largest are chosen.
    n_steps : int
        Linear programs solved.
    """

    def slopes(w):
        return alpha * np.maximum(np.exp(-alpha * abs(w)), 1e-7)

    w, b, _ = fsv_step(X, y, C, slopes(start))
    n_steps = 1
    while n_steps < most:
        costs = slopes(w)
        new, offset, value = fsv_step(X, y, C, costs)
        n_steps += 1
        errors = np.maximum(0, 1 - y * (X @ w + b))
        before = C * errors.sum() + costs @ abs(w)
        few = n_features is not None and np.count_nonzero(new) < n_features
        if value >= before - epsilon * before or few:
            break
        w = new
        b = offset
    errors = np.maximum(0, 1 - y * (X @ w + b))
    value = C * errors.sum() + np.sum(1 - np.exp(-alpha * abs(w)))
    return largest(w, n_features), b, float(value), n_steps


def arom_step(X, y, C, sizes, norm):
    """One machine of AROM, of Weston, Elisseeff, Schoelkopf and Tipping (2003).

    Parameters
    ----------
    X, y, C
        As of `fsv_step`.
    sizes : ndarray of shape (n_features,)
        Factors of the columns.
    norm : {1, 2}

    Returns
    -------
    u : ndarray of shape (n_features,)
        Of the columns times their sizes; 0 where the size is.
    b : float
    value : float
        ``C sum xi + |u|_2^2``, or ``|u|_1``.
    """
    kept = sizes > 0
    u = cp.Variable(kept.sum())
    b = cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    constraints = [cp.multiply(y, (X[:, kept] * sizes[kept]) @ u + b) >= 1 - xi]
    if norm == 2:
        value = solve(cp.Minimize(C * cp.sum(xi) + cp.sum_squares(u)), constraints)
    else:
        value = solve_linear(cp.Minimize(C * cp.sum(xi) + cp.norm1(u)), constraints)
    whole = np.zeros(X.shape[1])
    whole[kept] = u.value
    return whole, float(b.value), value


def arom(X, y, C, norm, n_features=None, epsilon=1e-6, most=500):
    """AROM of Weston, Elisseeff, Schoelkopf and Tipping (2003): columns times their weights.

    Not printed are tolerance and floor. Here, as in `zero_norm_svm`, a weight of at most a
    millionth of the largest of the first step is zero from then on, and a run for r features ends
    at the last step with at least r.

    Parameters
    ----------
    X, y, C, norm
        As of `arom_step`.
    n_features, epsilon, most
        As of `zero_norm_svm`.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the score ``w'x + b`` of the columns themselves.
    value : float
        ``C sum xi + norm sum log |w_i|``, with the floor in place of smaller weights: what the
        steps descend. Before the r largest are chosen.
    n_steps : int
        Machines.
    """

    def step(X, y, C, Lambda):
        sizes = 1 / np.sqrt(Lambda)
        u, b, value = arom_step(X, y, C, sizes, norm)
        return sizes * u, b, value

    return reweighted(step, norm, X, y, C, n_features, epsilon, most)


def rfs(X, Y, lam):
    """RFS, robust feature selection, of Nie et al. (2010), as a cone program.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        If there is to be a bias, the caller appends the column of ones.
    Y : ndarray of shape (n_rows, n_classes)
    lam : float
        The gamma of Nie et al. (2010), and the lambda of Peng and Fan (2016).

    Returns
    -------
    W : ndarray of shape (n_columns, n_classes)
    value : float
        ``|XW - Y|_{2,1} + lam |W|_{2,1}``.
    """
    W = cp.Variable((X.shape[1], Y.shape[1]))
    loss = cp.sum(cp.norm(X @ W - Y, 2, axis=1))
    value = solve(cp.Minimize(loss + lam * cp.sum(cp.norm(W, 2, axis=1))), [])
    return W.value, value
