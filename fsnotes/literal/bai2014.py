"""Twin planes and the search for shared features, as Bai et al. (2014) print them."""

import itertools

import cvxpy as cp
import numpy as np

from fsnotes.literal.solving import simplex, solve


def twin_svm(A1, A2, c_fit, c_hinge):
    """L2-TWSVM, (2)-(3) of Bai et al. (2014).

    Neither ``b_i**2`` nor ``|A_i w_i + b_i e|_2^2`` has a half, as printed. For ``K(A1, A)`` and
    ``K(A2, A)`` in place of A1 and A2, where A is A1 above A2, these are (5)-(6) exactly, with
    ``u_i`` and ``gamma_i`` as the planes.

    Parameters
    ----------
    A1, A2 : ndarray of shape (n_rows, n_features)
        Samples of the positive and of the negative class.
    c_fit, c_hinge : tuple of float
        c11 and c21, and c12 and c22, of planes 1 and 2.

    Returns
    -------
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``: plane 1, ``x w1 + b1 = 0``, fits A1, and plane 2 fits A2.
    values : tuple of float
        Of (2) and of (3).
    """
    planes = []
    values = []
    for fitted, others, side, fit, hinge in (
        (A1, A2, -1, c_fit[0], c_hinge[0]),  # (2)
        (A2, A1, 1, c_fit[1], c_hinge[1]),  # (3)
    ):
        w = cp.Variable(fitted.shape[1])
        b = cp.Variable()
        xi = cp.Variable(len(others), nonneg=True)
        objective = cp.sum_squares(w) / 2 + cp.square(b)
        objective += fit * cp.sum_squares(fitted @ w + b) + hinge * cp.sum(xi)
        values.append(solve(cp.Minimize(objective), [side * (others @ w + b) + xi >= 1]))
        planes.append((w.value, float(b.value)))
    return tuple(planes), tuple(values)


def l1_twin_svm(A1, A2, c_fit, c_hinge):
    """L1-TWSVM, (7)-(8) of Bai et al. (2014), as the linear programs (11)-(12).

    For ``K(A1, A)`` and ``K(A2, A)`` in place of A1 and A2, where A is A1 above A2, these are
    (13)-(14) exactly, with ``u_i`` and ``gamma_i`` as the planes.

    Parameters
    ----------
    A1, A2, c_fit, c_hinge
        As of `twin_svm`.

    Returns
    -------
    planes, values : tuple
        As of `twin_svm`; the values are those of (7) and of (8).
    """
    programs = _l1_twin_programs(A1, A2, c_fit, c_hinge)
    values = tuple(simplex(problem) for problem, _, _ in programs)
    return tuple((w.value, float(b.value)) for _, w, b in programs), values


def ftsvm_value(A1, A2, E, planes, c_fit, c_hinge, sigma, balance, norms=True, kernel=None):
    """The objective of FTSVM, (21) of Bai et al. (2014), or (24), at given planes and features.

    Parameters
    ----------
    A1, A2, c_fit, c_hinge
        As of `twin_svm`.
    E : ndarray of shape (n_features,)
        Diagonal of the feature selection matrix.
    planes : tuple
        ``(w1, b1)`` and ``(w2, b2)``; with a kernel, ``(u1, gamma1)`` and ``(u2, gamma2)``.
    sigma, balance : float
        Price of a feature, and the paper's lambda, of plane 1.
    norms : bool, default=True
        Without ``|w1|_1`` and ``|w2|_1``, the value is (24).
    kernel : callable, optional
        ``kernel(rows, points)`` is the matrix K. By default the planes are linear.

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
    A1, A2, planes, c_fit, c_hinge, balance, kernel
        As of `ftsvm_value`.

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
    A1, A2, c_fit, c_hinge, sigma, balance, kernel
        As of `ftsvm_value`.
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
    costs = c_fit, c_hinge

    def solved(E):
        planes, _ = l1_twin_svm(*_twin_rows(A1, A2, E, kernel), *costs)
        history.append(ftsvm_value(A1, A2, E, planes, *costs, sigma, balance, kernel=kernel))
        return planes

    n = A1.shape[1]
    history = []
    planes = solved(np.ones(n, dtype=bool))  # step 1
    scores = ftsvm_scores(A1, A2, planes, *costs, balance, kernel)
    E = scores >= (1 - 1e-9) / n  # step 2
    planes = solved(E)  # step 3
    while True:
        E = greedy_step(A1, A2, E, planes, *costs, sigma, balance, kernel, tol, sweeps)
        planes = solved(E)  # step 6
        if history[-2] - history[-1] <= tol:
            return E, planes, history[-1], history


def ftsvm_exact(A1, A2, c_fit, c_hinge, sigma, balance):
    """Linear FTSVM to the optimum: (21) of Bai et al. (2014), by enumeration over all E.

    The paper has no such algorithm. Each E has its two programs (11)-(12), which are compiled
    once, with ``A1 E`` and ``A2 E`` as parameters.

    Parameters
    ----------
    A1, A2, c_fit, c_hinge, sigma, balance
        As of `ftsvm_value`; of at most 12 features.

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
        value1, value2 = (simplex(problem) for problem, _, _ in programs)
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
    A1, A2, E, c_fit, c_hinge, balance, kernel
        As of `ftsvm_value`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        They sum to 1.
    """
    planes, _ = l1_twin_svm(*_twin_rows(A1, A2, E, kernel), c_fit, c_hinge)
    return ftsvm_scores(A1, A2, planes, c_fit, c_hinge, balance, kernel)


def _l1_twin_programs(A1, A2, c_fit, c_hinge):
    """(11) and (12), each with its w and b, for arrays or parameters."""
    programs = []
    for fitted, others, side, fit, hinge in (
        (A1, A2, -1, c_fit[0], c_hinge[0]),  # (11)
        (A2, A1, 1, c_fit[1], c_hinge[1]),  # (12)
    ):
        m, n = fitted.shape
        p, q = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
        b = cp.Variable()
        t = cp.Variable(m, nonneg=True)
        xi = cp.Variable(others.shape[0], nonneg=True)
        objective = cp.sum(p + q) + fit * cp.sum(fitted @ (p - q) + 2 * t) + fit * m * b
        objective += hinge * cp.sum(xi)
        near = -(fitted @ (p - q)) - b - t <= 0
        apart = -side * (others @ (p - q) + b) - xi <= -1
        programs.append((cp.Problem(cp.Minimize(objective), [near, apart]), p - q, b))
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
    fits = abs(first @ w1 + b1).sum(), abs(second @ w2 + b2).sum()
    hinge1 = np.maximum(1 + second @ w1 + b1, 0).sum()
    hinge2 = np.maximum(1 - first @ w2 - b2, 0).sum()
    loss1 = c_fit[0] * fits[0] + c_hinge[0] * hinge1
    loss2 = c_fit[1] * fits[1] + c_hinge[1] * hinge2
    return balance * loss1 + (1 - balance) * loss2


def greedy_step(A1, A2, E, planes, c_fit, c_hinge, sigma, balance, kernel, tol, sweeps):
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
