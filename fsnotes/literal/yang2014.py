"""The minimax probability machine and its sparse forms, as Yang and Ju (2014) print them."""

import cvxpy as cp
import numpy as np

from fsnotes.literal.solving import root_of, solve


def mpm(mu1, mu2, S1, S2):
    """Minimax probability machine: minimise ``s1 + s2`` with ``w'(mu1 - mu2) = 1``.

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Of the boundary ``w'x = b``.
    value : float
        ``s1 + s2``, one over the largest kappa.
    """
    w = cp.Variable(len(mu1))
    s1, s2 = cp.norm(root_of(S1) @ w), cp.norm(root_of(S2) @ w)
    value = solve(cp.Minimize(s1 + s2), [w @ (mu1 - mu2) == 1])
    b = mu1 @ w.value - s1.value / (s1.value + s2.value)
    return w.value, b, value


def l1mpm(mu1, mu2, S1, S2, delta, normalization="margin"):
    """L1-MPM, (12)-(15) of Yang and Ju (2014).

    With (22)-(23), or with ``w'(mu1 - mu2) = 1`` instead of (23).

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)
    delta : float
        Accuracy bound of both classes.
    normalization : {"margin", "gap"}
        The rows ">= 1" of the paper, or the distance of the means.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
    value : float
        ``|w|_1``.
    """
    w = cp.Variable(len(mu1))
    b = cp.Variable()
    kappa = np.sqrt(delta / (1 - delta))
    margin1, margin2 = w @ mu1 - b, b - w @ mu2
    constraints = [
        margin1 >= kappa * cp.norm(root_of(S1) @ w),
        margin2 >= kappa * cp.norm(root_of(S2) @ w),
    ]
    if normalization == "margin":
        constraints += [margin1 >= 1, margin2 >= 1]
    else:
        constraints += [w @ (mu1 - mu2) == 1]
    value = solve(cp.Minimize(cp.norm1(w)), constraints)
    return w.value, float(b.value), value


def l0mpm(mu1, mu2, S1, S2, delta, alpha, start, epsilon=1e-9, most=500):
    """L0-MPM by Algorithm 1 of Yang and Ju (2014), (42)-(46).

    Printed are no start, tolerance or limit. The surrogate of the offset, which (37) and (38)
    contain, is left out, as it is in (40) and (42).

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)
    delta : float
        Accuracy bound of both classes.
    alpha : float
        Of the surrogate ``1 - exp(-alpha |w_j|)``.
    start : ndarray of shape (n_features,)
        Weights of a feasible machine.
    epsilon : float, default=1e-9
        The objective has to fall by so much.
    most : int, default=500
        Steps.

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
    value : float
        Sum of the surrogate.
    n_steps : int
        Cone programs solved.
    """
    root1, root2 = root_of(S1), root_of(S2)
    kappa = np.sqrt(delta / (1 - delta))
    now = start
    value = np.sum(1 - np.exp(-alpha * abs(start)))
    n_steps = 0
    while n_steps < most:
        n_steps += 1
        v = alpha * np.sign(now) * (1 - np.exp(-alpha * abs(now)))
        w = cp.Variable(len(mu1))
        b = cp.Variable()
        margin1, margin2 = w @ mu1 - b, b - w @ mu2
        constraints = [
            margin1 >= kappa * cp.norm(root1 @ w),
            margin2 >= kappa * cp.norm(root2 @ w),
            margin1 >= 1,
            margin2 >= 1,
        ]
        solve(cp.Minimize(alpha * cp.norm1(w) - v @ w), constraints)
        now = w.value
        offset = float(b.value)
        before = value
        value = np.sum(1 - np.exp(-alpha * abs(now)))
        if value >= before - epsilon:
            break
    return now, offset, float(value), n_steps


def smpm(mu1, mu2, S1, S2, lam):
    """S-MPM, reconstructed: maximise ``w'(mu1 - mu2) / (s1 + s2 + lam |w|_1)``.

    The papers name it without printing it. The quotient does not change with the length of w, so
    the numerator is 1 here.

    Parameters
    ----------
    mu1, mu2, S1, S2 : ndarray of shape (n_features,) and (n_features, n_features)
    lam : float

    Returns
    -------
    w, b : ndarray of shape (n_features,) and float
        Both classes get the same bound.
    value : float
        ``s1 + s2 + lam |w|_1``, one over the quotient.
    """
    w = cp.Variable(len(mu1))
    s1, s2 = cp.norm(root_of(S1) @ w), cp.norm(root_of(S2) @ w)
    value = solve(cp.Minimize(s1 + s2 + lam * cp.norm1(w)), [w @ (mu1 - mu2) == 1])
    b = mu1 @ w.value - s1.value / (s1.value + s2.value)
    return w.value, b, value
