"""Conditions of optimality, from data and an answer alone: what each solver's answers are held to.

Each function takes a problem as its definition states it, and an answer. It says by how much the
answer misses each condition, relative to what the condition is made of, and what a bound proves.
Nothing here is shared with the solvers.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog


class Certificate(NamedTuple):
    """What an answer is worth.

    Attributes
    ----------
    value : float
        Of the primal problem.
    bound : float
        What no answer gets below, proven by multipliers.
    violations : dict
        By how much each condition is missed.
    """

    value: float
    bound: float
    violations: dict

    @property
    def gap(self):
        """Value over bound, relative to the value."""
        return (self.value - self.bound) / max(abs(self.value), 1e-300)

    def check(self, tolerance):
        """Fail unless all conditions hold and the bound meets the value; return the certificate."""
        assert max(self.violations.values()) <= tolerance, self.violations
        assert -tolerance <= self.gap <= tolerance, self.gap
        return self


def deviations_along(weights, covariances):
    """Standard deviation of each class along some weights."""
    return np.array([np.sqrt(max(weights @ S @ weights, 0)) for S in covariances])


def minimax_residual(weights, mean_diff, covariances):
    """How far weights are from minimal ``s1 + s2`` where ``d'w = 1``.

    The condition is ``S1 w / s1 + S2 w / s2 = (s1 + s2) d``, here in units of the deviations,
    since features have any scale.
    """
    deviations = deviations_along(weights, covariances)
    unit = np.sqrt(sum(np.diag(S) for S in covariances))
    slopes = sum(S @ weights / s for S, s in zip(covariances, deviations, strict=True))
    missed = slopes - deviations.sum() * mean_diff
    return abs(missed / unit).max() / (deviations.sum() * abs(mean_diff / unit).max())


def weighted_l1(kind, mean_diff, factors, kappas, costs, tilt, weights):
    """Least ``costs |w| - tilt w`` under two bounds on deviations, each a length ``|F w|``.

    With t for the distance of the means and a_i for the cones, the slope is
    ``q + t d - sum a_i kappa_i S_i w / s_i``: no more than the costs, and equal to them, with the
    sign of the weight, where a weight is not zero. The multipliers are those that come closest;
    the bound is the value of the Lagrangian once they are shrunk until no slope is too large.
    No class may be without variance along the weights.
    """
    s = np.array([np.linalg.norm(factor @ weights) for factor in factors])
    spread, margin = kappas * s, mean_diff @ weights
    pushes = [k * F.T @ (F @ weights) / v for k, F, v in zip(kappas, factors, s, strict=True)]
    value = costs @ abs(weights) - tilt @ weights
    # one column for each multiplier, with what it adds to the Lagrangian
    columns, values, known = [mean_diff], [1.0], 0 * mean_diff
    primal = max(abs(margin - 1), spread.sum() - 1 if kind == "gap" else 0)
    if kind == "penalty":
        known, value = -sum(pushes), value + spread.sum()
    elif kind == "gap" and spread.sum() > 1 - 1e-6:
        columns, values = [mean_diff, -sum(pushes)], [1.0, -1.0]
    elif kind == "margin":
        primal = (np.maximum(1, spread).sum() - margin) / abs(margin)
        # of the distance, which is that of the cone plus that of the constraint ">= 1"
        values[0] = 2.0
        for length, push in zip(spread, pushes, strict=True):
            if length > 1 + 1e-7:
                columns[0] = columns[0] - push
                values[0] -= 1
            elif length > 1 - 1e-7:
                columns.append(-push)
                values.append(-1.0)
    columns = np.array(columns).T / costs[:, None]
    fixed = (tilt + known) / costs
    size = len(values)
    chosen = abs(weights) > 1e-7 * abs(weights).max()  # a cone solver leaves others near zero
    signs = np.sign(weights[chosen])
    rows = np.vstack([columns, -columns, columns[chosen], -columns[chosen]])
    right = [1 - fixed, 1 + fixed, signs - fixed[chosen], fixed[chosen] - signs]
    above = np.concatenate(right)
    if size > 1 and kind == "margin":  # none of a cone above that of the distance
        rows = np.vstack([rows, np.eye(size)[1:] - np.eye(size)[0]])
        above = np.append(above, np.zeros(size - 1))
    slack = np.append(-np.ones(2 * len(fixed) + 2 * chosen.sum()), np.zeros(len(rows)))
    cost = np.append(np.zeros(size), 1)
    found = linprog(cost, np.column_stack([rows, slack[: len(rows)]]), above)
    assert found.success
    pull = (columns @ found.x[:-1]) * costs + known
    room = costs - np.sign(pull) * tilt
    shrink = min(1, (room / np.maximum(abs(pull), 1e-300)).min())
    bound = shrink * (values @ found.x[:-1])
    return Certificate(value, bound, {"primal": max(primal, 0), "slopes": found.x[-1]})


def soft_margin(Z, signs, sample_weight, sizes, C, weights, offset, multipliers):
    """Least ``sum (w / sizes)**2 + C sum sample_weight hinge``, with one multiplier a sample."""
    a, most = multipliers, C * sample_weight
    margins, tiny = signs * (Z @ weights + offset), 1e-9 * most
    pull = sizes * (Z.T @ (signs * a))
    usual = max(1, abs(margins).max())
    # where classes pull alike, the weights are what rounding leaves of the parts
    parts = (sizes**2 * (abs(Z).T @ a)).max()
    live = sizes > 0
    value = ((weights[live] / sizes[live]) ** 2).sum() + most @ np.maximum(0, 1 - margins)
    violations = {
        "box": max((-a).max(), (a - most).max(), 0) / most.max(),
        "sum": abs(signs @ a) / a.sum(),
        "machine": abs(sizes * pull / 2 - weights).max()
        / max(abs(weights).max(), 1e-4 * parts, 1e-300),
        "at zero": (1 - margins[(a <= tiny) & (most > 0)]).max(initial=0) / usual,
        "free": abs(1 - margins[(a > tiny) & (a < most - tiny)]).max(initial=0) / usual,
        "at cap": (margins[(a >= most - tiny) & (most > 0)] - 1).max(initial=0) / usual,
    }
    return Certificate(value, a.sum() - pull @ pull / 4, violations)


def squared_hinge(Z, signs, softness, targets, multipliers, weights):
    """Violations of least ``r'(Q + diag(softness))r / 2 - targets'r`` over ``r >= 0``.

    ``Q`` holds the inner products of the rows times the signs of the program, of which there is
    one a column.
    """
    r, size = multipliers, abs(targets).max(axis=0)
    slacks = signs * (Z @ weights) + softness[:, None] * r - targets
    parts = abs(Z) @ (abs(Z).T @ r)
    apart = abs(Z @ (weights - Z.T @ (signs * r)))
    value = np.maximum((abs(targets) * r).sum(axis=0), 1e-300)
    return {
        "negative": max(-r.min(), 0),
        "short": (np.maximum(-slacks, 0).max(axis=0) / size).max(),
        "complementary": (abs((r * slacks).sum(axis=0)) / value).max(),
        "sum": (apart.max(axis=0) / np.maximum(parts.max(axis=0), 1e-300)).max(),
    }


def plane(near, far, fit, hinge, costs, weights, offset, multipliers):
    """Least ``costs |w| + fit |near w + b| + hinge max(0, 1 + far w + b)``, sample by sample.

    Weights of infinite cost are none. Multipliers stand for samples near by, then for others.
    """
    value = sum(c * abs(w) for c, w in zip(costs, weights, strict=True) if w != 0)
    value += sum(c * abs(row @ weights + offset) for c, row in zip(fit, near, strict=True))
    value += sum(c * max(0, 1 + row @ weights + offset) for c, row in zip(hinge, far, strict=True))
    alpha, beta = multipliers[: len(fit)], multipliers[len(fit) :]
    # what rounding leaves of sums of so many
    size = 1e-13 * (1 + abs(multipliers).sum())
    largest = 1 + max(abs(near).max(), abs(far).max())
    beyond = abs(near.T @ alpha + far.T @ beta) - costs - size * largest
    violations = {
        "slopes": max(beyond.max(initial=-np.inf), 0),
        "offset": max(abs(alpha.sum() + beta.sum()) - size, 0),
        "fit": max((abs(alpha) - fit * (1 + 1e-12)).max(initial=0), 0),
        "hinge": max((-beta).max(initial=0), (beta - hinge * (1 + 1e-12)).max(initial=0), 0),
    }
    return Certificate(value, beta.sum(), violations)


def balance(pulls, signs, C, margins, due):
    """How far the pulls of rows are from what is due, with the best multipliers from 0 to C.

    A multiplier is C where its row's margin is below 1, and 0 where it is above. `pulls` has a row
    a sample and a column a weight: the column of the weight times the weight.
    """
    N, k = pulls.shape
    bounds = [(C if m < 1 - 1e-6 else 0, 0 if m > 1 + 1e-6 else C) for m in margins]
    signed = (pulls * signs[:, None]).T
    off = np.ones((k, 1))
    found = linprog(
        np.append(np.zeros(N), 1),
        np.vstack([np.hstack([signed, -off]), np.hstack([-signed, -off])]),
        np.append(due, -due),
        np.append(signs, 0)[None],
        [0],
        bounds=[*bounds, (0, None)],
    )
    assert found.success
    return found.x[-1]
