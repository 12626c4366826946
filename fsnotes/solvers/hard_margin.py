"""The hard-margin machine, and what is left of it where rows cannot be separated.

Minimise ``|u|_2^2`` over u and b, where the margins ``y_i (z_i'u + b)`` are at least 1. Where no
machine has such margins, some have the least sum of hinge losses, and a solution of that linear
program's dual tells which: those whose margins are at least 1 where the multiplier is 0, at most 1
where it is as large as allowed, and 1 where it is in between. Of these the one of least norm is
wanted, so that both problems are one.
"""

import clarabel
import numpy as np
from scipy import sparse

from fsnotes.core.tolerances import VERIFIED_GAP
from fsnotes.errors import SubproblemError

__all__ = ["least_norm"]

AT_END = 1e-9  # part of a multiplier's largest value by which it may miss its end by rounding
ACCURACY = 1e-10  # asked of the solver; what it finds is made more accurate afterwards


def least_norm(Z, signs, multipliers, caps):
    """Return the weights of least norm among those of least hinge loss, verified by a duality gap.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
    signs : ndarray of shape (n_rows,)
        -1 or 1.
    multipliers : ndarray of shape (n_rows,)
        A solution of the dual of ``minimise caps @ hinge losses``; zero where rows are separable.
    caps : ndarray of shape (n_rows,)
        The largest values of the multipliers.
    """
    constraints = np.column_stack([Z, np.ones(len(Z))]) * signs[:, None]
    low = multipliers <= AT_END * caps
    high = multipliers >= (1 - AT_END) * caps
    constraints[high] *= -1  # a margin of at most 1 is a negative one of at least -1
    order = np.argsort(low | high, kind="stable")  # those that hold with equality come first
    constraints = constraints[order]
    limits = np.where(high, -1.0, 1.0)[order]
    count = np.count_nonzero(~(low | high))
    with np.errstate(all="ignore"):
        found = [
            (_distance(x, duals, constraints, limits, count), x)
            for x, duals in _solutions(constraints, limits, count)
        ]
    best = min(found, key=lambda pair: pair[0])
    if not best[0] <= VERIFIED_GAP:
        raise SubproblemError(
            f"the hard-margin program was not solved: duality gap or violation {best[0]:.1e}, "
            f"more than {VERIFIED_GAP:g}. Pass columns of similar sizes"
        )
    return best[1][:-1]


def _solutions(constraints, limits, count):
    """Yield the solver's answer, weights and offset with multipliers, and more accurate ones."""
    width = constraints.shape[1]
    squares = np.append(np.ones(width - 1), 0.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = ACCURACY
    cones = [clarabel.ZeroConeT(count), clarabel.NonnegativeConeT(len(limits) - count)]
    quadratic = sparse.csc_matrix(sparse.diags(squares))
    matrix = sparse.csc_matrix(-constraints)
    given = quadratic, np.zeros(width), matrix, -limits, cones, settings
    found = clarabel.DefaultSolver(*given).solve()
    duals = np.array(found.z)
    yield np.array(found.x), duals
    # The constraints that hold with equality make a linear system of the conditions of optimality.
    active = (duals > np.array(found.s)) | (np.arange(len(limits)) < count)
    part = constraints[active]
    system = np.block([[np.diag(squares), -part.T], [part, np.zeros((len(part), len(part)))]])
    right = np.append(np.zeros(width), limits[active])
    solution = np.linalg.lstsq(system, right)[0]
    duals = np.zeros(len(limits))
    duals[active] = solution[width:]
    yield solution[:width], duals
    # Where nothing is gained by any weight, the offset alone will do.
    yield np.append(np.zeros(width - 1), solution[width - 1]), np.zeros(len(limits))


def _distance(x, duals, constraints, limits, count):
    """Return the relative duality gap, or the largest violation of a constraint if that is more.

    The bound is one for all solutions whose offset is at most ten times as large, since the
    multipliers of the two classes have the same sum up to rounding.
    """
    duals = np.where(np.arange(len(duals)) < count, duals, np.maximum(duals, 0))
    slopes = duals @ constraints
    norm = x[:-1] @ x[:-1] / 2
    bound = duals @ limits - slopes[:-1] @ slopes[:-1] / 2 - 10 * abs(slopes[-1] * x[-1])
    lacks = limits - constraints @ x
    violation = max(abs(lacks[:count]).max(initial=0), lacks[count:].max(initial=0))
    gap = (norm - bound) / norm if norm > 0 else 0.0
    found = max(gap, violation / (1 + abs(constraints @ x).max()))
    return found if np.isfinite(found) else np.inf
