"""Direct sparsity optimisation, as Peng and Fan (2016) print it."""

import cvxpy as cp
import numpy as np

from fsnotes.literal.solving import settle, solve


def dso_step(X, Y, weights, C=None, p=1.0, sample_weight=None):
    """One step over W and all classes, (6) with (10) as its norm, of Peng and Fan (2016).

    Printed is a step over U with E fixed, and one over E with U fixed, as in `dso_algorithm1`. The
    squared margin errors are not in the paper, which names a soft margin as future work.

    Solved for the rows ``u_i = w_i / sqrt(weights_i)``, as `zero_norm_step`.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The caller appends the column of ones, whose weights are penalised as all others are.
        Printed is a row of ones.
    Y : ndarray of shape (n_rows, n_classes)
        Entries -1 and +1.
    weights : ndarray of shape (n_columns,)
        The last ``|w_i|_2 ** (2 - p)``, one over the diagonal of S; 0 where a row stays zero.
    C : float, optional
        Price of the sum of the squared margin errors; by default no margin is below 1.
    p : float, default=1.0
        Of the soft margin, where the norm has to cost as much as ``|W|_{2,p}^p`` is.
    sample_weight : ndarray of shape (n_rows,), optional
        Factors of the squared margin errors.

    Returns
    -------
    W : ndarray of shape (n_columns, n_classes)
    value : float
        ``sum |w_i|**2 / weights_i``, or, with a soft margin, ``p / 2`` of it and
        ``C sum xi**2``.
    """
    sizes = np.sqrt(weights)
    kept = sizes > 0
    U = cp.Variable((kept.sum(), Y.shape[1]))
    objective = cp.sum_squares(U)
    xi = 0
    if C is not None:
        errors, xi = squared_errors(Y, sample_weight)
        objective = p / 2 * objective + C * errors
    margins = cp.multiply(Y, (X[:, kept] * sizes[kept]) @ U)
    value = solve(cp.Minimize(objective), [margins >= 1 - xi])
    W = np.zeros((X.shape[1], Y.shape[1]))
    W[kept] = sizes[kept, None] * U.value
    return W, value


def dso(X, Y, C=None, sample_weight=None):
    """DSO-FS at ``p = 1``, where it is convex: (5) of Peng and Fan (2016), as a cone program.

    Printed is that W has sparse columns. It is its rows that are zero. The squared margin errors
    are not in the paper, which names a soft margin as future work.

    Parameters
    ----------
    X, Y, C, sample_weight
        As of `dso_step`.

    Returns
    -------
    W : ndarray of shape (n_columns, n_classes)
    value : float
        ``|W|_{2,1}``, and with a soft margin ``C sum xi**2``.
    """
    W = cp.Variable((X.shape[1], Y.shape[1]))
    objective = cp.sum(cp.norm(W, 2, axis=1))
    xi = 0
    if C is not None:
        errors, xi = squared_errors(Y, sample_weight)
        objective += C * errors
    value = solve(cp.Minimize(objective), [cp.multiply(Y, X @ W) >= 1 - xi])
    return W.value, value


def dso_algorithm1(X, Y, p, pivots=None, tol=1e-6, most=1000, floor=0.0):
    """DSO-FS by Algorithm 1 of Peng and Fan (2016), a step over U and a step over E in turns.

    Printed are ``P = [M; I]`` in (8), where ``XW = Y + E`` needs ``[-M; I]``; Sigma for its square
    S in the inverse of (11); a row of ones in X, which is a column; "sparse columns" of W, where
    rows are meant; sizes of n where the bias makes it n + 1; and D and L of m0 columns, which have
    m. Not printed are tolerance and limit, nor which columns come first; where it stops depends
    on them.

    Where m exceeds the rank, ``XW = XX^+(Y + E)``, as printed; then margins may be below 1. The
    step over E is solved for ``(LE + H) / |v_i|**(1 - p / 2)``, the same program.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The caller appends the column of ones, whose weights are penalised as all others are.
    Y : ndarray of shape (n_rows, n_classes)
        Entries -1 and +1.
    p : float
        At most 1.
    pivots : sequence of int, optional
        As many independent columns as the rank of X, which come first in (7); by default each
        column, from left to right, that does not depend on those before it.
    tol : float, default=1e-6
        W changes by so much of its largest entry.
    most : int, default=1000
        Rounds.
    floor : float, default=0.0
        Least norm of a row in Sigma and Lambda. Without one, a row of zeros gets the weight 0, as
        in footnote 2, and is free. With either, a step may raise the norm.

    Returns
    -------
    W : ndarray of shape (n_columns, n_classes)
        In the order of the columns of X.
    history : list of float
        ``|W|_{2,p}^p`` after each step over U and each step over E, in turns.
    """
    order, M, N, L = solution_space(X, Y, pivots)
    (m0, n0) = M.shape
    E = np.zeros(Y.shape)
    e_step = dso_errors(Y, L)
    P = np.vstack([-M, np.eye(n0)])
    zeros = np.zeros((n0, Y.shape[1]))
    Sigma = np.ones(m0 + n0)
    last = np.inf
    history = []
    for _ in range(most):
        U = dso_directions(M, N + L @ E, Sigma)
        V = P @ U + np.vstack([N + L @ E, zeros])
        history.append(norm_2p(V, p))
        E = e_step(N - M @ U, inverse_norms(V[:m0], p, floor))
        W = P @ U + np.vstack([N + L @ E, zeros])
        history.append(norm_2p(W, p))
        Sigma = inverse_norms(W, p, floor)
        if abs(W - last).max() <= tol * abs(W).max():
            break
        last = W
    return W[np.argsort(order)], history


def squared_errors(Y, sample_weight):
    """Their weighted sum, and the errors, of which a square leaves none below 0."""
    xi = cp.Variable(Y.shape)
    roots = np.ones(len(Y)) if sample_weight is None else np.sqrt(sample_weight)
    return cp.sum_squares(cp.multiply(roots[:, None] * np.ones(Y.shape), xi)), xi


def solution_space(X, Y, pivots=None):
    """Columns in the order of (7) of Peng and Fan (2016), by Gauss elimination; M, N and L."""
    m, q = X.shape
    rows = np.hstack([X, np.eye(m)])
    first = []
    for j in range(q) if pivots is None else pivots:
        k = len(first)
        if k == m:
            break
        best = k + abs(rows[k:, j]).argmax()
        if abs(rows[best, j]) <= 1e-9 * abs(X[:, j]).max():
            continue
        rows[[k, best]] = rows[[best, k]]
        rows[k] /= rows[k, j]
        others = np.arange(m) != k
        rows[others] -= np.outer(rows[others, j], rows[k])
        first.append(j)
    rank = np.linalg.matrix_rank(X)
    if len(first) != rank or (pivots is not None and len(pivots) != rank):
        raise ValueError(f"the rank of X is {rank}: pivots has to name {rank} independent columns")
    rest = [j for j in range(q) if j not in first]
    M = rows[:rank, rest]
    D = rows[:rank, q:]
    L = D @ X @ np.linalg.pinv(X)
    return first + rest, M, L @ Y, L


def dso_directions(M, K, Sigma):
    """(12) of Peng and Fan (2016), solved for the rows of W times Sigma, where it is not 0."""
    m0 = len(M)
    free = Sigma == 0
    columns = np.hstack([np.eye(m0), M])
    W = np.zeros((len(Sigma), K.shape[1]))
    live = columns[:, ~free] / Sigma[~free]
    loose = columns[:, free]
    left = np.eye(m0) - loose @ np.linalg.pinv(loose)
    Z = np.linalg.lstsq(left @ live, left @ K)[0]
    W[~free], W[free] = Z / Sigma[~free, None], np.linalg.pinv(loose) @ (K - live @ Z)
    return W[m0:]


def dso_errors(Y, L):
    """The step over E of Peng and Fan (2016), as a function of H and the diagonal of Lambda."""
    shape = len(L), Y.shape[1]
    H = cp.Parameter(shape)
    scales = cp.Parameter(shape)
    penalties = cp.Parameter(shape)
    E = cp.Variable(Y.shape)
    Z = cp.Variable(shape)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(cp.multiply(penalties, Z))),
        [L @ E + H == cp.multiply(scales, Z), cp.multiply(Y, E) >= 0],
    )

    def solved(now, Lambda):
        free = Lambda == 0
        whole = np.ones(shape)
        H.value = now
        penalties.value = ~free[:, None] * whole
        scales.value = 1 / np.where(free, 1, Lambda)[:, None] * whole
        settle(problem)
        return E.value

    return solved


def inverse_norms(A, p, floor):
    """Diagonal of Sigma in (10) of Peng and Fan (2016), and 0 for a row of zeros."""
    sizes = np.maximum(np.linalg.norm(A, axis=1), floor) ** (1 - p / 2)
    return np.divide(1, sizes, out=np.zeros(len(A)), where=sizes > 0)


def norm_2p(A, p):
    return float((np.linalg.norm(A, axis=1) ** p).sum())
