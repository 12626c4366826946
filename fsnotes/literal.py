"""The problems of the papers as printed, in CVXPY: slow on purpose, and independent of the rest.

Class 1 comes first, as in the papers. Every function asserts that the solver calls its answer
optimal at a tolerance of 1e-9, and returns what the paper asks for.
"""

import warnings

import cvxpy as cp
import numpy as np

__all__ = ["l1mpm", "mpm", "smpm"]


def mpm(mu1, mu2, S1, S2):
    """Minimax probability machine: minimise ``s1 + s2`` with ``w'(mu1 - mu2) = 1``.

    Parameters
    ----------
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
        Of the boundary ``w'x = b``.
    value : float
        ``s1 + s2``, one over the largest kappa.
    """
    w = cp.Variable(len(mu1))
    s1, s2 = cp.norm(_root(S1) @ w), cp.norm(_root(S2) @ w)
    value = _solve(cp.Minimize(s1 + s2), [w @ (mu1 - mu2) == 1])
    b = mu1 @ w.value - s1.value / (s1.value + s2.value)
    return w.value, b, value


def l1mpm(mu1, mu2, S1, S2, delta, normalization="margin"):
    """L1-MPM, (12)-(15) of paper 000 with (22)-(23), or with ``w'(mu1 - mu2) = 1`` instead of (23).

    Parameters
    ----------
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)
    delta : float
        Accuracy bound of both classes.
    normalization : {"margin", "gap"}
        The rows ">= 1" of the paper, or the distance of the means.

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
    value : float
        ``|w|_1``.
    """
    w, b = cp.Variable(len(mu1)), cp.Variable()
    kappa = np.sqrt(delta / (1 - delta))
    margin1, margin2 = w @ mu1 - b, b - w @ mu2
    constraints = [
        margin1 >= kappa * cp.norm(_root(S1) @ w),
        margin2 >= kappa * cp.norm(_root(S2) @ w),
    ]
    if normalization == "margin":
        constraints += [margin1 >= 1, margin2 >= 1]
    else:
        constraints += [w @ (mu1 - mu2) == 1]
    value = _solve(cp.Minimize(cp.norm1(w)), constraints)
    return w.value, float(b.value), value


def smpm(mu1, mu2, S1, S2, lam):
    """S-MPM, reconstructed: maximise ``w'(mu1 - mu2) / (s1 + s2 + lam |w|_1)``.

    The papers name it without printing it. The quotient does not change with the length of w, so
    the numerator is 1 here.

    Parameters
    ----------
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)
    lam : float

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
        Both classes get the same bound.
    value : float
        ``s1 + s2 + lam |w|_1``, one over the quotient.
    """
    w = cp.Variable(len(mu1))
    s1, s2 = cp.norm(_root(S1) @ w), cp.norm(_root(S2) @ w)
    value = _solve(cp.Minimize(s1 + s2 + lam * cp.norm1(w)), [w @ (mu1 - mu2) == 1])
    b = mu1 @ w.value - s1.value / (s1.value + s2.value)
    return w.value, b, value


def _root(covariance):
    """The C' of ``S = C C'``, triangular, with which the solver reaches its tolerance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.linalg.qr(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T, mode="r")


def _solve(objective, constraints):
    problem = cp.Problem(objective, constraints)
    tight = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    for shift in (1e-8, 1e-10, 1e-12):  # of its linear systems: the first that is accurate enough
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL, static_regularization_constant=shift, **tight)
        if problem.status == cp.OPTIMAL:
            break
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)
