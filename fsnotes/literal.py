"""The problems of the papers as printed, in CVXPY: slow on purpose, and independent of the rest.

Class 1 comes first, as in the papers. Every function asserts that the solver calls its answer
optimal at a tolerance of 1e-9, and returns what the paper asks for.
"""

import itertools
import math
import warnings

import cvxpy as cp
import numpy as np

__all__ = [
    "algorithm1",
    "arom",
    "arom_step",
    "dso",
    "dso_algorithm1",
    "dso_step",
    "fsmempm",
    "fsv",
    "fsv_step",
    "ftsvm",
    "ftsvm_exact",
    "ftsvm_scores",
    "ftsvm_value",
    "l0mpm",
    "l1_twin_svm",
    "l1mpm",
    "l1svm",
    "mempm",
    "mpm",
    "probit_em",
    "rfs",
    "rtsvm",
    "smpm",
    "sparse_kernel_step",
    "twin_svm",
    "zero_norm_step",
    "zero_norm_svm",
]


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
    """L1-MPM, (12)-(15) of Yang and Ju (2014).

    With (22)-(23), or with ``w'(mu1 - mu2) = 1`` instead of (23).

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


def fsmempm(mu1, mu2, S1, S2, alpha, beta):
    """FS-MEMPM at one pair of bounds, (6) of Xu, King and Lyu (2007).

    Parameters
    ----------
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)
    alpha, beta : float
        Accuracy bounds of class 1 and class 2.

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
    value : float
        ``|w|_1``.
    """
    u, v = cp.Variable(len(mu1), nonneg=True), cp.Variable(len(mu1), nonneg=True)
    w, b = u - v, cp.Variable()
    kappa1, kappa2 = np.sqrt([alpha / (1 - alpha), beta / (1 - beta)])
    margin1, margin2 = w @ mu1 - b, b - w @ mu2
    constraints = [
        margin1 >= kappa1 * cp.norm(_root(S1) @ w),
        margin2 >= kappa2 * cp.norm(_root(S2) @ w),
        margin1 >= 1,
        margin2 >= 1,
    ]
    value = _solve(cp.Minimize(cp.sum(u + v)), constraints)
    return w.value, float(b.value), value


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
    w : ndarray of shape (n_features,)
    b : float
        Of the boundary ``w'x = b``.
    value : float
    """
    n_x, n_y = len(x), len(y)
    u, v = cp.Variable(x.shape[1], nonneg=True), cp.Variable(x.shape[1], nonneg=True)
    b, xi = cp.Variable(), cp.Variable(n_x + n_y, nonneg=True)
    objective = cp.sum(u + v) + C * cp.sum(xi) / (n_x + n_y)
    constraints = [
        x @ (u - v) - b >= 1 - xi[:n_x],
        -(y @ (u - v)) + b >= 1 - xi[n_x:],
    ]
    value = _solve_linear(cp.Minimize(objective), constraints)
    return u.value - v.value, float(b.value), value


def mempm(mu1, mu2, S1, S2, theta, steps=100):
    """MEMPM, (5) of Xu, King and Lyu (2007), by a line search over alpha.

    The rows of (5) hold for ``w = 0`` and any bounds, so the margin that class 2 is left with is
    made 1: beta is largest where ``s2`` is smallest.

    Parameters
    ----------
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)
    theta : float
    steps : int, default=100
        Alpha is ``0, 1 / steps, 2 / steps, ...`` as long as a machine exists.

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
    value : float
        ``theta alpha + (1 - theta) beta``.
    """
    best = None
    for step in range(steps):
        alpha = step / steps
        w = cp.Variable(len(mu1))
        s1, s2 = cp.norm(_root(S1) @ w), cp.norm(_root(S2) @ w)
        left = w @ (mu1 - mu2) - np.sqrt(alpha / (1 - alpha)) * s1
        if _attempt(cp.Problem(cp.Minimize(s2), [left >= 1])) is None:
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
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)
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
        alpha, low, high = step / steps, 0.0, 1.0
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


def l0mpm(mu1, mu2, S1, S2, delta, alpha, start, epsilon=1e-9, most=500):
    """L0-MPM by Algorithm 1 of Yang and Ju (2014), (42)-(46).

    Printed are no start, tolerance or limit. The surrogate of the offset, which (37) and (38)
    contain, is left out, as it is in (40) and (42).

    Parameters
    ----------
    mu1, mu2 : ndarray of shape (n_features,)
    S1, S2 : ndarray of shape (n_features, n_features)
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
    w : ndarray of shape (n_features,)
    b : float
    value : float
        Sum of the surrogate.
    n_steps : int
        Cone programs solved.
    """
    root1, root2 = _root(S1), _root(S2)
    kappa = np.sqrt(delta / (1 - delta))
    now, offset, value = start, None, np.sum(1 - np.exp(-alpha * abs(start)))
    n_steps = 0
    while n_steps < most:
        n_steps += 1
        v = alpha * np.sign(now) * (1 - np.exp(-alpha * abs(now)))
        w, t, b = cp.Variable(len(mu1)), cp.Variable(len(mu1)), cp.Variable()
        margin1, margin2 = w @ mu1 - b, b - w @ mu2
        constraints = [
            margin1 >= kappa * cp.norm(root1 @ w),
            margin2 >= kappa * cp.norm(root2 @ w),
            margin1 >= 1,
            margin2 >= 1,
            -t <= w,
            w <= t,
        ]
        _solve(cp.Minimize(alpha * cp.sum(t) - v @ w), constraints)
        now, offset = w.value, float(b.value)
        before, value = value, np.sum(1 - np.exp(-alpha * abs(now)))
        if value >= before - epsilon:
            break
    return now, offset, float(value), n_steps


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


def sparse_kernel_step(K, y, C, Lambda, C0=0.0, gram=None):
    """One step in the dual space, (10) of Huang, King and Lyu (2008), and with the two-norm.

    Printed beside ``alpha' Lambda alpha`` is ``alpha' H alpha`` with ``h_ij = y_i y_j k_ij``. As
    ``w = sum alpha_i phi(x_i)`` in (10), ``|w|**2`` is ``alpha' K alpha``, without labels. And
    printed is C0 as the price of the first of these terms, at 1 for the second; here it is the
    price of the second, so that 0 is (10).

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
    u, b = cp.Variable(kept.sum()), cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    scores = (K[:, kept] * sizes[kept]) @ u + b
    objective = cp.sum_squares(u) + C * cp.sum(xi)
    if C0 > 0:
        root = _root(K if gram is None else gram)
        objective += C0 * cp.sum_squares((root[:, kept] * sizes[kept]) @ u)
    value = _solve(cp.Minimize(objective), [cp.multiply(y, scores) >= 1 - xi])
    alpha = np.zeros(K.shape[1])
    alpha[kept] = sizes[kept] * u.value
    return alpha, float(b.value), value


def zero_norm_step(X, y, C, Lambda):
    """One step of the zero-norm SVM, (7)-(8) of Huang et al. (2008).

    Solved for ``u = sqrt(Lambda) w``, the same program: entries of Lambda differ by twelve orders.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
        Price of the sum of the margin errors.
    Lambda : ndarray of shape (n_features,)
        Diagonal; infinite where a weight stays zero.

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + w' Lambda w``.
    """
    sizes = 1 / np.sqrt(Lambda)
    kept = sizes > 0
    u, b = cp.Variable(kept.sum()), cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    scores = (X[:, kept] * sizes[kept]) @ u + b
    value = _solve(
        cp.Minimize(C * cp.sum(xi) + cp.sum_squares(u)), [cp.multiply(y, scores) >= 1 - xi]
    )
    w = np.zeros(X.shape[1])
    w[kept] = sizes[kept] * u.value
    return w, float(b.value), value


def zero_norm_svm(X, y, C, n_features=None, epsilon=1e-6, most=500):
    """The zero-norm SVM, (7)-(9) of Huang et al. (2008), from ``Lambda = I``.

    Printed are, in (7) and (9) together, weights of two steps ago, so that two sequences take
    turns; a run for r features that ends at the last step with *at most* r of them, of which the r
    largest cannot be chosen; and ``1 / w**2`` without a floor. Here (9) takes the weights of the
    last step, the run ends at the last step with at least r, and a weight of at most a millionth
    of the largest of the first step is zero from then on. Not printed are start and tolerance.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
    n_features : int, optional
        The r of section 3.1; by default the steps end where the weights no longer change.
    epsilon : float, default=1e-6
        A weight changes by so much of the largest.
    most : int, default=500
        Steps.

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + 2 sum log |w_i|``, with the floor in place of smaller weights: what the steps
        descend. Before the r largest are chosen.
    n_steps : int
        Quadratic programs solved.
    """
    w, b, _ = zero_norm_step(X, y, C, np.ones(X.shape[1]))
    floor = 1e-6 * abs(w).max()
    w, n_steps, change = np.where(abs(w) > floor, w, 0), 1, np.inf
    while n_steps < most and change > epsilon and w.any():
        with np.errstate(divide="ignore"):
            Lambda = 1 / abs(w) ** 2  # (9)
        new, offset, _ = zero_norm_step(X, y, C, Lambda)
        new = np.where(abs(new) > floor, new, 0)
        n_steps += 1
        if n_features is not None and np.count_nonzero(new) < n_features:
            break
        change = abs(new - w).max() / max(abs(new).max(), floor)
        w, b = new, offset
    errors = np.maximum(0, 1 - y * (X @ w + b))
    value = C * errors.sum() + 2 * np.log(np.maximum(abs(w), floor)).sum()
    if n_features is not None:
        w = np.where(np.argsort(np.argsort(-abs(w), kind="stable")) < n_features, w, 0)
    return w, b, float(value), n_steps


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


def fsv_step(X, y, C, costs):
    """One linear program of FSV, of Bradley and Mangasarian (1998).

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
        Price of the sum of the margin errors.
    costs : ndarray of shape (n_features,)
        Slopes of the penalty at the last weights.

    Returns
    -------
    w : ndarray of shape (n_features,)
    b : float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + costs'|w|``.
    """
    w, size, b = cp.Variable(X.shape[1]), cp.Variable(X.shape[1]), cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    constraints = [cp.multiply(y, X @ w + b) >= 1 - xi, -size <= w, w <= size]
    value = _solve_linear(cp.Minimize(C * cp.sum(xi) + costs @ size), constraints)
    return w.value, float(b.value), value


def fsv(X, y, C, alpha, start, n_features=None, epsilon=1e-9, most=500):
    """FSV of Bradley and Mangasarian (1998), by successive linearisation.

    Paper 002 prints its penalty as ``1 - exp{1 - alpha |w|}``; it is ``1 - exp(-alpha |w|)``. The
    start is random in the original. A slope that rounds to zero would make the program unbounded,
    so the least is a ten-millionth of the largest.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
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
    w : ndarray of shape (n_features,)
    b : float
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
        w, b = new, offset
    errors = np.maximum(0, 1 - y * (X @ w + b))
    value = C * errors.sum() + np.sum(1 - np.exp(-alpha * abs(w)))
    return _largest(w, n_features), b, float(value), n_steps


def arom_step(X, y, C, sizes, norm):
    """One machine of AROM, of Weston, Elisseeff, Schoelkopf and Tipping (2003).

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
        Price of the sum of the margin errors.
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
    u, size, b = cp.Variable(kept.sum()), cp.Variable(kept.sum()), cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    constraints = [cp.multiply(y, (X[:, kept] * sizes[kept]) @ u + b) >= 1 - xi]
    if norm == 2:
        value = _solve(cp.Minimize(C * cp.sum(xi) + cp.sum_squares(u)), constraints)
    else:
        constraints += [-size <= u, u <= size]
        value = _solve_linear(cp.Minimize(C * cp.sum(xi) + cp.sum(size)), constraints)
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
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels -1 and +1.
    C : float
    norm : {1, 2}
    n_features : int, optional
        By default the steps end where the weights no longer change.
    epsilon : float, default=1e-6
        A weight changes by so much of the largest.
    most : int, default=500
        Steps.

    Returns
    -------
    w : ndarray of shape (n_features,)
        Of the columns themselves.
    b : float
        Of the score ``w'x + b``.
    value : float
        ``C sum xi + norm sum log |w_i|``, with the floor in place of smaller weights: what the
        steps descend. Before the r largest are chosen.
    n_steps : int
        Machines.
    """
    w, b, _ = arom_step(X, y, C, np.ones(X.shape[1]), norm)
    floor = 1e-6 * abs(w).max()
    w, n_steps, change = np.where(abs(w) > floor, w, 0), 1, np.inf
    while n_steps < most and change > epsilon and w.any():
        u, offset, _ = arom_step(X, y, C, abs(w), norm)
        new = abs(w) * u
        new = np.where(abs(new) > floor, new, 0)
        n_steps += 1
        if n_features is not None and np.count_nonzero(new) < n_features:
            break
        change = abs(new - w).max() / max(abs(new).max(), floor)
        w, b = new, offset
    errors = np.maximum(0, 1 - y * (X @ w + b))
    logs = np.log(np.maximum(abs(w), floor)) if floor > 0 else np.zeros(1)
    value = C * errors.sum() + norm * logs.sum()
    return _largest(w, n_features), b, float(value), n_steps


def dso_step(X, Y, weights, C=None, p=1.0, shares=None):
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
        Of the soft margin, where the norm has to be as dear as ``|W|_{2,p}^p`` is.
    shares : ndarray of shape (n_rows,), optional
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
    objective, xi = cp.sum_squares(U), 0
    if C is not None:
        errors, xi = _squared_errors(Y, shares)
        objective = p / 2 * objective + C * errors
    margins = cp.multiply(Y, (X[:, kept] * sizes[kept]) @ U)
    value = _solve(cp.Minimize(objective), [margins >= 1 - xi])
    W = np.zeros((X.shape[1], Y.shape[1]))
    W[kept] = sizes[kept, None] * U.value
    return W, value


def dso(X, Y, C=None, shares=None):
    """DSO-FS at ``p = 1``, where it is convex: (5) of Peng and Fan (2016), as a cone program.

    Printed is that W has sparse columns; it is its rows that are zero. The squared margin errors
    are not in the paper, which names a soft margin as future work.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The caller appends the column of ones, whose weights are penalised as all others are.
        Printed is a row of ones.
    Y : ndarray of shape (n_rows, n_classes)
        Entries -1 and +1.
    C : float, optional
        Price of the sum of the squared margin errors; by default no margin is below 1.
    shares : ndarray of shape (n_rows,), optional
        Factors of the squared margin errors.

    Returns
    -------
    W : ndarray of shape (n_columns, n_classes)
    value : float
        ``|W|_{2,1}``, and with a soft margin ``C sum xi**2``.
    """
    W = cp.Variable((X.shape[1], Y.shape[1]))
    objective, xi = cp.sum(cp.norm(W, 2, axis=1)), 0
    if C is not None:
        errors, xi = _squared_errors(Y, shares)
        objective += C * errors
    value = _solve(cp.Minimize(objective), [cp.multiply(Y, X @ W) >= 1 - xi])
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
    order, M, N, L = _solution_space(X, Y, pivots)
    (m0, n0), E = M.shape, np.zeros(Y.shape)
    e_step = _dso_errors(Y, L)
    P, Q = np.vstack([-M, np.eye(n0)]), np.vstack([N, np.zeros((n0, Y.shape[1]))])
    Sigma, last, history = np.ones(m0 + n0), np.inf, []
    for _ in range(most):
        F = np.vstack([L @ E, np.zeros((n0, Y.shape[1]))])
        U = _dso_directions(M, N + L @ E, Sigma)
        V = P @ U + Q + F
        history.append(_norm_2p(V, p))
        E = e_step(N - M @ U, _inverse_norms(V[:m0], p, floor))
        F = np.vstack([L @ E, np.zeros((n0, Y.shape[1]))])
        W = P @ U + Q + F
        history.append(_norm_2p(W, p))
        Sigma = _inverse_norms(W, p, floor)
        if abs(W - last).max() <= tol * abs(W).max():
            break
        last = W
    return W[np.argsort(order)], history


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
    value = _solve(cp.Minimize(loss + lam * cp.sum(cp.norm(W, 2, axis=1))), [])
    return W.value, value


def twin_svm(A1, A2, c_fit, c_hinge):
    """L2-TWSVM, (2)-(3) of Bai et al. (2014).

    Neither ``b_i**2`` nor ``|A_i w_i + b_i e|_2^2`` has a half, as printed. For ``K(A1, A)`` and
    ``K(A2, A)`` in place of A1 and A2, where A is A1 above A2, these are (5)-(6) exactly, with
    ``u_i`` and ``gamma_i`` as the planes.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.

    Returns
    -------
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``: plane 1, ``x w1 + b1 = 0``, fits A1, and plane 2 fits A2.
    values : tuple of float
        Of (2) and of (3).
    """
    planes, values = [], []
    for fitted, others, side, fit, hinge in (
        (A1, A2, -1, c_fit[0], c_hinge[0]),  # (2)
        (A2, A1, 1, c_fit[1], c_hinge[1]),  # (3)
    ):
        w, b = cp.Variable(fitted.shape[1]), cp.Variable()
        xi = cp.Variable(len(others), nonneg=True)
        objective = cp.sum_squares(w) / 2 + cp.square(b)
        objective += fit * cp.sum_squares(fitted @ w + b) + hinge * cp.sum(xi)
        values.append(_solve(cp.Minimize(objective), [side * (others @ w + b) + xi >= 1]))
        planes.append((w.value, float(b.value)))
    return tuple(planes), tuple(values)


def l1_twin_svm(A1, A2, c_fit, c_hinge):
    """L1-TWSVM, (7)-(8) of Bai et al. (2014), as the linear programs (11)-(12).

    For ``K(A1, A)`` and ``K(A2, A)`` in place of A1 and A2, where A is A1 above A2, these are
    (13)-(14) exactly, with ``u_i`` and ``gamma_i`` as the planes.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.

    Returns
    -------
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``: plane 1, ``x w1 + b1 = 0``, fits A1, and plane 2 fits A2.
    values : tuple of float
        Of (7) and of (8).
    """
    planes, values = [], []
    for problem, w, b in _l1_twin_programs(A1, A2, c_fit, c_hinge):
        values.append(_simplex(problem))
        planes.append((w.value, float(b.value)))
    return tuple(planes), tuple(values)


def ftsvm_value(A1, A2, E, planes, c_fit, c_hinge, sigma, balance, norms=True, kernel=None):
    """The objective of FTSVM, (21) of Bai et al. (2014), or (24), at given planes and features.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    E : ndarray of shape (n_features,)
        Diagonal of the feature selection matrix.
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``; with a kernel, ``(u1, gamma1)`` and ``(u2, gamma2)``.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.
    sigma : float
        Price of a feature.
    balance : float
        The paper's lambda, of plane 1.
    norms : bool, default=True
        Without ``|w1|_1`` and ``|w2|_1``, the value is (24).
    kernel : callable, optional
        ``kernel(rows, points)`` is the matrix K; by default the planes are linear.

    Returns
    -------
    value : float
    """
    first, second = _twin_rows(A1, A2, E, kernel)
    value = sigma * np.sum(E) + _twin_loss(first, second, planes, c_fit, c_hinge, balance)
    if norms:
        (w1, _), (w2, _) = planes
        value += balance * abs(w1).sum() + (1 - balance) * abs(w2).sum()
    return float(value)


def ftsvm_scores(A1, A2, planes, c_fit, c_hinge, balance, kernel=None):
    """Scores of the features, (22)-(23) of Bai et al. (2014).

    The linear case of (22) is not printed: ``A1(i) w1_i`` takes the place of ``K(A1(i), A(i)) u1``,
    as (15) takes that of (19). Where every value is 0, (23) is 0 / 0, and the scores are equal.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``; with a kernel, ``(u1, gamma1)`` and ``(u2, gamma2)``.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.
    balance : float
        The paper's lambda, of plane 1.
    kernel : callable, optional
        ``kernel(rows, points)`` is the matrix K; by default the planes are linear.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        They sum to 1.
    """
    (w1, b1), (w2, b2) = planes
    values = []
    for i in range(A1.shape[1]):
        first, second = _twin_rows(A1[:, [i]], A2[:, [i]], np.ones(1), kernel)
        own = ((w1[[i]], b1), (w2[[i]], b2)) if kernel is None else planes
        values.append(_twin_loss(first, second, own, c_fit, c_hinge, balance))  # (22)
    values = np.array(values) if np.any(values) else np.ones(len(values))
    return values / values.sum()  # (23)


def ftsvm(A1, A2, c_fit, c_hinge, sigma, balance, kernel=None, tol=1e-6, sweeps=1000):
    """FTSVM by Algorithm 1 of Bai et al. (2014), for (15)-(18), or for (19)-(21) with a kernel.

    Printed are "goto 5" in step 5(d), which never ends, where "goto 6" is meant; no lambda among
    the inputs; and "no more than k times" for the evaluations of (24), of which there are up to
    kn. As step 5(c) goes on to the next j, (d) has its say at the end of a sweep: step 5 ends with
    a sweep that gains at most tol. The linear case is not, as printed, (20) with a linear kernel,
    whose ``|u|_1`` is over samples; it is (18), joined as in (21). Step 2 keeps the features of
    large score, as printed; one that is below 1/n by rounding alone is kept, too.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.
    sigma : float
        Price of a feature.
    balance : float
        The paper's lambda, of plane 1.
    kernel : callable, optional
        ``kernel(rows, points)`` is the matrix K; by default the planes are linear.
    tol : float, default=1e-6
        A change of E has to lower (24), and a round (21), by more.
    sweeps : int, default=1000
        The paper's k.

    Returns
    -------
    E : ndarray of shape (n_features,)
        Diagonal of the feature selection matrix, as a mask.
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``; with a kernel, ``(u1, gamma1)`` and ``(u2, gamma2)``.
    value : float
        Of (21).
    history : list of float
        Of (21) at the solutions of steps 1 and 3, and then of each step 6.
    """
    prices = c_fit, c_hinge

    def solved(E):
        planes, _ = l1_twin_svm(*_twin_rows(A1, A2, E, kernel), *prices)
        history.append(ftsvm_value(A1, A2, E, planes, *prices, sigma, balance, kernel=kernel))
        return planes

    n, history = A1.shape[1], []
    planes = solved(np.ones(n, dtype=bool))  # step 1
    scores = ftsvm_scores(A1, A2, planes, *prices, balance, kernel)
    E = scores >= (1 - 1e-9) / n  # step 2
    planes = solved(E)  # step 3
    while True:
        E = _greedy_step(A1, A2, E, planes, *prices, sigma, balance, kernel, tol, sweeps)
        planes = solved(E)  # step 6
        if history[-2] - history[-1] <= tol:
            return E, planes, history[-1], history


def ftsvm_exact(A1, A2, c_fit, c_hinge, sigma, balance):
    """Linear FTSVM to the optimum: (21) of Bai et al. (2014), by enumeration over all E.

    The paper has no such algorithm. Each E has its two programs (11)-(12), which are compiled
    once, with ``A1 E`` and ``A2 E`` as parameters.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class; at most 12 features.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.
    sigma : float
        Price of a feature.
    balance : float
        The paper's lambda, of plane 1.

    Returns
    -------
    E : ndarray of shape (n_features,)
        Diagonal of the feature selection matrix, as a mask; the fewest features, where some tie.
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``.
    value : float
        Of (21).
    """
    n = A1.shape[1]
    if n > 12:
        raise ValueError(f"enumeration over 2**{n} sets of features: at most 12 are allowed")
    first, second = cp.Parameter(A1.shape), cp.Parameter(A2.shape)
    programs = _l1_twin_programs(first, second, c_fit, c_hinge)
    best = None
    for E in sorted(itertools.product((False, True), repeat=n), key=sum):
        first.value, second.value = _twin_rows(A1, A2, np.array(E))
        value1, value2 = (_simplex(problem) for problem, _, _ in programs)
        value = sigma * sum(E) + balance * value1 + (1 - balance) * value2
        if best is None or value < best[2] - 1e-9 * abs(best[2]):
            planes = tuple((w.value, float(b.value)) for _, w, b in programs)
            best = np.array(E), planes, value
    return best


def rtsvm(A1, A2, E, c_fit, c_hinge, balance, kernel=None):
    """RTSVM, Algorithm 2 of Bai et al. (2014): scores of all features at the planes of a fixed E.

    Printed are no lambda among the inputs, and a sigma, which nothing depends on.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    E : ndarray of shape (n_features,)
        Diagonal of the feature selection matrix.
    c_fit : tuple of float
        c11 and c21, of planes 1 and 2.
    c_hinge : tuple of float
        c12 and c22, of planes 1 and 2.
    balance : float
        The paper's lambda, of plane 1.
    kernel : callable, optional
        ``kernel(rows, points)`` is the matrix K; by default the planes are linear.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        They sum to 1.
    """
    planes, _ = l1_twin_svm(*_twin_rows(A1, A2, E, kernel), c_fit, c_hinge)
    return ftsvm_scores(A1, A2, planes, c_fit, c_hinge, balance, kernel)


def _squared_errors(Y, shares):
    """Their weighted sum, and the errors, of which a square leaves none below 0."""
    xi = cp.Variable(Y.shape)
    roots = np.ones(len(Y)) if shares is None else np.sqrt(shares)
    return cp.sum_squares(cp.multiply(roots[:, None] * np.ones(Y.shape), xi)), xi


def _solution_space(X, Y, pivots=None):
    """Columns in the order of (7) of Peng and Fan (2016), by Gauss elimination; M, N and L."""
    m, q = X.shape
    rows, first = np.hstack([X, np.eye(m)]), []
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
    M, D = rows[:rank, rest], rows[:rank, q:]
    L = D @ X @ np.linalg.pinv(X)
    return first + rest, M, L @ Y, L


def _dso_directions(M, K, Sigma):
    """(12) of Peng and Fan (2016), solved for the rows of W times Sigma, where it is not 0."""
    m0, free = len(M), Sigma == 0
    columns, W = np.hstack([np.eye(m0), M]), np.zeros((len(Sigma), K.shape[1]))
    live, loose = columns[:, ~free] / Sigma[~free], columns[:, free]
    left = np.eye(m0) - loose @ np.linalg.pinv(loose)
    Z = np.linalg.lstsq(left @ live, left @ K)[0]
    W[~free], W[free] = Z / Sigma[~free, None], np.linalg.pinv(loose) @ (K - live @ Z)
    return W[m0:]


def _dso_errors(Y, L):
    """The step over E of Peng and Fan (2016), as a function of H and the diagonal of Lambda."""
    shape = len(L), Y.shape[1]
    H, scales, prices = cp.Parameter(shape), cp.Parameter(shape), cp.Parameter(shape)
    E, Z = cp.Variable(Y.shape), cp.Variable(shape)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(cp.multiply(prices, Z))),
        [L @ E + H == cp.multiply(scales, Z), cp.multiply(Y, E) >= 0],
    )

    def solved(now, Lambda):
        free, whole = Lambda == 0, np.ones(shape)
        H.value, prices.value = now, ~free[:, None] * whole
        scales.value = 1 / np.where(free, 1, Lambda)[:, None] * whole
        _settle(problem)
        return E.value

    return solved


def _inverse_norms(A, p, floor):
    """Diagonal of Sigma in (10) of Peng and Fan (2016), and 0 for a row of zeros."""
    sizes = np.maximum(np.linalg.norm(A, axis=1), floor) ** (1 - p / 2)
    return np.divide(1, sizes, out=np.zeros(len(A)), where=sizes > 0)


def _norm_2p(A, p):
    return float((np.linalg.norm(A, axis=1) ** p).sum())


def _l1_twin_programs(A1, A2, c_fit, c_hinge):
    """(11) and (12), each with its w and b, for arrays or parameters."""
    programs = []
    for fitted, others, side, fit, hinge in (
        (A1, A2, -1, c_fit[0], c_hinge[0]),  # (11)
        (A2, A1, 1, c_fit[1], c_hinge[1]),  # (12)
    ):
        (m, n), n_others = fitted.shape, others.shape[0]
        p, q, b = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable()
        t, xi = cp.Variable(m, nonneg=True), cp.Variable(n_others, nonneg=True)
        objective = cp.sum(p + q) + fit * cp.sum(fitted @ (p - q) + 2 * t) + fit * m * b
        objective += hinge * cp.sum(xi)
        constraints = [
            -(fitted @ (p - q)) - b - t <= 0,
            -side * (others @ (p - q) + b) - xi <= -1,
        ]
        programs.append((cp.Problem(cp.Minimize(objective), constraints), p - q, b))
    return programs


def _twin_rows(A1, A2, E, kernel=None):
    """``A1 E`` and ``A2 E``, or ``K(A1 E, A E)`` and ``K(A2 E, A E)``."""
    first, second = A1 * E, A2 * E
    if kernel is None:
        return first, second
    points = np.vstack([first, second])
    return kernel(first, points), kernel(second, points)


def _twin_loss(first, second, planes, c_fit, c_hinge, balance):
    """What (22) and (24) have in common, with the positive part in place of xi."""
    (w1, b1), (w2, b2) = planes
    fit1, hinge1 = abs(first @ w1 + b1), np.maximum(1 + second @ w1 + b1, 0)
    fit2, hinge2 = abs(second @ w2 + b2), np.maximum(1 - first @ w2 - b2, 0)
    loss1 = c_fit[0] * fit1.sum() + c_hinge[0] * hinge1.sum()
    loss2 = c_fit[1] * fit2.sum() + c_hinge[1] * hinge2.sum()
    return balance * loss1 + (1 - balance) * loss2


def _greedy_step(A1, A2, E, planes, c_fit, c_hinge, sigma, balance, kernel, tol, sweeps):
    """Step 5 of Algorithm 1 of Bai et al. (2014)."""

    def value(E):  # (24)
        return ftsvm_value(
            A1, A2, E, planes, c_fit, c_hinge, sigma, balance, norms=False, kernel=kernel
        )

    E, now = E.copy(), value(E)
    for _ in range(sweeps):
        before = now
        for j in range(len(E)):
            E[j] = not E[j]  # (a)
            changed = value(E)  # (b)
            if now - changed > tol:  # (c)
                now = changed
            else:
                E[j] = not E[j]
        if before - now <= tol:  # (d)
            break
    return E


def _largest(w, n_features):
    """Weights of which all but so many, if a number is given, are zero."""
    n_features = len(w) if n_features is None else n_features
    return np.where(np.argsort(np.argsort(-abs(w), kind="stable")) < n_features, w, 0)


def _root(covariance):
    """The C' of ``S = C C'``, triangular, with which the solver reaches its tolerance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.linalg.qr(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T, mode="r")


def _solve(objective, constraints):
    return _settle(cp.Problem(objective, constraints))


def _settle(problem):
    value = _attempt(problem)
    assert value is not None, "the solver does not call its answer optimal"
    return value


def _solve_linear(objective, constraints):
    """By the simplex method: interior points lose digits where the errors are dear."""
    return _simplex(cp.Problem(objective, constraints))


def _simplex(problem):
    tight = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    problem.solve(solver=cp.HIGHS, **tight)
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)


def _attempt(problem):
    """The optimal value, or None."""
    options = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    # the first shift of its linear systems and scaling of its data that are accurate enough
    for shift, scaled in itertools.product((1e-8, 1e-10, 1e-12), (True, False)):
        options |= {"static_regularization_constant": shift, "equilibrate_enable": scaled}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                problem.solve(**options)
            except cp.SolverError:
                continue
        if problem.status in (cp.OPTIMAL, cp.INFEASIBLE):
            break
    return float(problem.value) if problem.status == cp.OPTIMAL else None
