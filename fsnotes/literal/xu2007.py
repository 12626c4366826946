"""Unequal bounds and the rival they are compared with, as Xu, King and Lyu (2007) print them."""

import cvxpy as cp
import numpy as np

from fsnotes.literal.solving import attempt, root_of, solve, solve_linear


def fsmempm(mu1, mu2, S1, S2, alpha, beta):
    """FS-MEMPM at one pair of bounds, (6) of Xu, King and Lyu (2007).

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)
    alpha, beta : float
        Accuracy bounds of class 1 and class 2.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
    value : float
        ``|w|_1``.
    """
    u, v = cp.Variable(len(mu1), nonneg=True), cp.Variable(len(mu1), nonneg=True)
    w = u - v
    b = cp.Variable()
    kappa1, kappa2 = np.sqrt([alpha / (1 - alpha), beta / (1 - beta)])
    margin1, margin2 = w @ mu1 - b, b - w @ mu2
    constraints = [
        margin1 >= kappa1 * cp.norm(root_of(S1) @ w),
        margin2 >= kappa2 * cp.norm(root_of(S2) @ w),
        margin1 >= 1,
        margin2 >= 1,
    ]
    value = solve(cp.Minimize(cp.sum(u + v)), constraints)
    return w.value, float(b.value), value


def mempm(mu1, mu2, S1, S2, theta, steps=100):
    """MEMPM, (5) of Xu, King and Lyu (2007), by a line search over alpha.

    The rows of (5) hold for ``w = 0`` and any bounds, so the margin that class 2 is left with is
    made 1: beta is largest where ``s2`` is smallest.

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)
    theta : float
    steps : int, default=100
        Alpha is ``0, 1 / steps, 2 / steps, ...`` as long as a machine exists.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
    value : float
        ``theta alpha + (1 - theta) beta``.
    """
    best = None
    for step in range(steps):
        alpha = step / steps
        w = cp.Variable(len(mu1))
        s1, s2 = cp.norm(root_of(S1) @ w), cp.norm(root_of(S2) @ w)
        left = w @ (mu1 - mu2) - np.sqrt(alpha / (1 - alpha)) * s1
        if attempt(cp.Problem(cp.Minimize(s2), [left >= 1])) is None:
            break
        beta = 1 / (1 + s2.value**2)
        value = theta * alpha + (1 - theta) * beta
        if best is None or value > best[2]:
            best = w.value, float(w.value @ mu2 + 1), value
    return best


def algorithm1(mu1, mu2, S1, S2, theta, criterion, steps=10, epsilon=0.01):
    """FS-MEMPM by Algorithm 1 of Xu, King and Lyu (2007), corrected where it cannot run.

    Printed are a loop that ends when it should begin (``|beta_0 - beta_n| < epsilon``), a lower
    end of beta that is not set anew for each alpha, and sums of steps, which drift.

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)
    theta : float
    criterion : {1, 2}
        The mean of the bounds, or the mean over the number of selected features.
    steps : int, default=10
        Alpha is ``0, 1 / steps, ...``.
    epsilon : float, default=0.01
        Of the bisection.

    Returns
    -------
    w : ndarray of shape (n_features,)
    bounds : tuple of float
        Alpha and beta.
    value : float
        Of the criterion.
    """
    best = None
    for step in range(steps):
        alpha = step / steps
        low = 0.0
        high = 1.0
        while high - low > epsilon:
            beta = (low + high) / 2
            try:
                w, _, _ = fsmempm(mu1, mu2, S1, S2, alpha, beta)
            except AssertionError:
                high = beta
                continue
            low = beta
            n_selected = (abs(w) > 1e-3 * abs(w).max()).sum()
            value = (theta * alpha + (1 - theta) * beta) / (1 if criterion == 1 else n_selected)
            if best is None or value > best[2]:
                best = w, (alpha, beta), value
    return best


def l1svm(x, y, C):
    """L1-SVM, (2) of Xu, King and Lyu (2007).

    Minimises ``|w|_1 + C`` times the mean of the margin errors.

    Parameters
    ----------
    x, y : ndarray of shape (n_rows, n_features)
        Samples of class 1 and of class 2.
    C : float

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the boundary ``w'x = b``.
    value : float
    """
    u, v = cp.Variable(x.shape[1], nonneg=True), cp.Variable(x.shape[1], nonneg=True)
    b = cp.Variable()
    xi = cp.Variable(len(x) + len(y), nonneg=True)
    objective = cp.sum(u + v) + C * cp.sum(xi) / xi.size
    constraints = [x @ (u - v) - b >= 1 - xi[: len(x)], -(y @ (u - v)) + b >= 1 - xi[len(x) :]]
    value = solve_linear(cp.Minimize(objective), constraints)
    return u.value - v.value, float(b.value), value
