"""The zero-norm machine, its kernel form and the probit EM of Huang, King and Lyu (2008)."""

import math

import cvxpy as cp
import numpy as np

from fsnotes.literal.solving import largest, root_of, solve


def sparse_kernel_step(K, y, C, Lambda, C0=0.0, gram=None):
    """One step in the dual space, (10) of Huang, King and Lyu (2008), and with the two-norm.

    Printed beside ``alpha' Lambda alpha`` is ``alpha' H alpha`` with ``h_ij = y_i y_j k_ij``. As
    ``w = sum alpha_i phi(x_i)`` in (10), ``|w|**2`` is ``alpha' K alpha``, without labels. And
    printed is C0 as the weight of the first of these terms, at 1 for the second; here it is the
    weight of the second, so that 0 is (10).

    Solved for ``u = sqrt(Lambda) alpha``, as `zero_norm_step`.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_points)
        The kernel at rows and points.
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
        Price of the sum of the margin errors.
    Lambda : ndarray of shape (n_points,)
        Diagonal; infinite where a weight stays zero.
    C0 : float, default=0.0
        Price of the two-norm.
    gram : ndarray of shape (n_points, n_points), optional
        The kernel at points and points; by default K.

    Returns
    -------
    alpha : ndarray of shape (n_points,)
    b : float
        Of the score ``sum_j alpha_j k(x, x_j) + b``.
    value : float
        ``alpha' Lambda alpha + C0 alpha' K alpha + C sum xi``.
    """
    sizes = 1 / np.sqrt(Lambda)
    kept = sizes > 0
    u = cp.Variable(kept.sum())
    b = cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    scores = (K[:, kept] * sizes[kept]) @ u + b
    objective = cp.sum_squares(u) + C * cp.sum(xi)
    if C0 > 0:
        root = root_of(K if gram is None else gram)
        objective += C0 * cp.sum_squares((root[:, kept] * sizes[kept]) @ u)
    value = solve(cp.Minimize(objective), [cp.multiply(y, scores) >= 1 - xi])
    alpha = np.zeros(K.shape[1])
    alpha[kept] = sizes[kept] * u.value
    return alpha, float(b.value), value


def zero_norm_step(X, y, C, Lambda):
    """One step of the zero-norm SVM, (7)-(8) of Huang et al. (2008).

    Solved for ``u = sqrt(Lambda) w``, the same program: entries of Lambda differ by twelve orders.

    Parameters
    ----------
    X, y, C, Lambda
        As of `sparse_kernel_step`, with features in place of points.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + w' Lambda w``.
    """
    return sparse_kernel_step(X, y, C, Lambda)


def zero_norm_svm(X, y, C, n_features=None, epsilon=1e-6, most=500):
    """The zero-norm SVM, (7)-(9) of Huang et al. (2008), from ``Lambda = I``.

    Printed are, in (7) and (9) together, weights of two steps ago, so that two sequences take
    turns; a run for r features that ends at the last step with *at most* r of them, of which the r
    largest cannot be chosen; and ``1 / w**2`` without a floor. Here (9) takes the weights of the
    last step, the run ends at the last step with at least r, and a weight of at most a millionth
    of the largest of the first step is zero from then on. Not printed are start and tolerance.

    Parameters
    ----------
    X, y, C
        As of `zero_norm_step`.
    n_features : int, optional
        The r of section 3.1; by default the steps end where the weights no longer change.
    epsilon : float, default=1e-6
        A weight changes by so much of the largest.
    most : int, default=500
        Steps.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + 2 sum log |w_i|``, with the floor in place of smaller weights: what the steps
        descend. Before the r largest are chosen.
    n_steps : int
        Quadratic programs solved.
    """
    return reweighted(zero_norm_step, 2, X, y, C, n_features, epsilon, most)


def reweighted(step, order, X, y, C, n_features, epsilon, most):
    """Steps from ``Lambda = I``, which descend ``C sum xi + order sum log |w_i|``."""
    w, b, _ = step(X, y, C, np.ones(X.shape[1]))
    floor = 1e-6 * abs(w).max()
    w = np.where(abs(w) > floor, w, 0)
    n_steps = 1
    change = np.inf
    while n_steps < most and change > epsilon and w.any():
        with np.errstate(divide="ignore"):
            Lambda = 1 / abs(w) ** 2  # (9)
        new, offset, _ = step(X, y, C, Lambda)
        new = np.where(abs(new) > floor, new, 0)
        n_steps += 1
        if n_features is not None and np.count_nonzero(new) < n_features:
            break
        change = abs(new - w).max() / max(abs(new).max(), floor)
        w = new
        b = offset
    errors = np.maximum(0, 1 - y * (X @ w + b))
    logs = np.log(np.maximum(abs(w), floor)) if floor > 0 else np.zeros(1)
    return largest(w, n_features), b, float(C * errors.sum() + order * logs.sum()), n_steps


def probit_em(H, y, w, steps, gamma=None, free=()):
    """Steps of the probit EM, (4)-(6) of Huang et al. (2008).

    Without CVXPY, since (6) has a closed form.
    Printed are as many entries of Lambda as there are rows; there is one for each weight. Of the
    exponential prior is printed ``1 / tau = gamma / |w|``; its mean is ``sqrt(gamma) / |w|``. In
    the tails (4) is 0 / 0, and no weight may be 0.

    Parameters
    ----------
    H : ndarray of shape (n_rows, n_weights)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    w : ndarray of shape (n_weights,)
        The start, which is not printed.
    steps : int
    gamma : float, optional
        Of the exponential prior of tau, ``gamma / 2 exp(-gamma tau / 2)``; by default it is
        ``1 / tau``, as in (3).
    free : sequence of int, optional
        Places of weights that have no prior; in print, all have one, the offset, too.

    Returns
    -------
    points : ndarray of shape (steps, n_weights)
        The weights after each step.
    """
    points = []
    for _ in range(steps):
        f = H @ w
        density = np.exp(-(f**2) / 2) / np.sqrt(2 * np.pi)
        S = np.array([(1 + math.erf(-score / math.sqrt(2))) / 2 for score in f])
        z = np.where(y == 1, f + density / (1 - S), f - density / S)  # (4)
        Lambda = 1 / abs(w) ** 2 if gamma is None else np.sqrt(gamma) / abs(w)  # (5)
        Lambda[list(free)] = 0
        w = np.linalg.solve(H.T @ H + np.diag(Lambda), H.T @ z)  # (6)
        points.append(w)
    return np.array(points)
