"""Answers to the assignment on differences of convex functions that are not right."""

import cvxpy as cp
import numpy as np
from borders import Near, either_side, scaled, until

WEIGHTS = "any weights", "weights of zero"
TINY = "tiny weights"
POINTS = "any point", "weights of zero", "classes swapped"
IN_LOOP = "from the minimax plane", "from the least norm", "classes swapped"
STARTS = (*IN_LOOP, "at rest")
VALUE = "the value is the sum of the prices, each from 0 to 1, of sizes of weights"
DIGITS = "the value is nearly right: which digits does 1 - exp(-x) lose?"
GRADIENT = "the gradient of h differs: write h for one positive weight, then for a negative"
GRADIENT_DIGITS = DIGITS.replace("value", "gradient")
SLOPE_OF_F = "that is the slope of f, and the gradient of h = g - f is asked for"
NO_SIGN = "for w < 0, does h rise or fall with w?"
ELSEWHERE = "u is in F, and D is smaller elsewhere: is v the gradient of h at w?"
LEAST_SUM = "that is the least sum of absolute values: where does the point w enter?"
NO_ROOT = "the guarantees do not hold: is it the root of u'Su, and kappa of delta?"
LENGTH = "the length of u is not fixed by gap'u = 1"
ONLY_SIGNS = "only where u has the signs of w: what does -v'u cost a weight that changes sign?"
NO_START = "the first row should be the start, which was passed in"
TOO_EARLY = "from the last row, one more step lowers f by more than tol"

STEP = """
def dca_step(w, gap, cov1, cov2, delta, alpha):
    v = alpha * np.sign(w) * (1 - np.exp(-alpha * np.abs(w)))
    kappa = np.sqrt(delta / (1 - delta))
    u = cp.Variable(len(gap))
    spreads = [cp.norm(np.linalg.cholesky(cov).T @ u) for cov in (cov1, cov2)]
    rows = [gap @ u == 1, kappa * sum(spreads) <= 1]
    problem = cp.Problem(cp.Minimize(alpha * cp.norm(u, 1) - v @ u), rows)
    problem.solve(solver=cp.CLARABEL)
    return u.value if problem.status == "optimal" else None
"""
WRONG = {
    "the slope of f in place of that of h, and a last step too many": (
        """
def surrogate(w, alpha):
    left = np.exp(-alpha * np.abs(w))
    return np.sum(-np.expm1(-alpha * np.abs(w))), alpha * np.sign(w) * left
"""
        + STEP
        + """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    points, fall = [start], np.inf
    while fall > tol:
        points.append(dca_step(points[-1], gap, cov1, cov2, delta, alpha))
        fall = surrogate(points[-2], alpha)[0] - surrogate(points[-1], alpha)[0]
    return np.array(points)
""",
        {
            ("surrogate", (*WEIGHTS, TINY)): SLOPE_OF_F,
            ("descend", STARTS): "a step is among the rows that lowers f by no more than tol",
        },
    ),
    "digits lost, the least norm at every point, only the end of the loop": (
        """
def surrogate(w, alpha):
    prices = 1 - np.exp(-alpha * np.abs(w))
    return np.sum(prices), alpha * np.sign(w) * prices
"""
        + STEP.replace(" - v @ u", "")
        + """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    return np.array([start + 1.0])
""",
        {
            ("surrogate", TINY): DIGITS,
            ("dca_step", POINTS): LEAST_SUM,
            ("descend", STARTS): NO_START,
        },
    ),
    "signs lost, delta in place of kappa, no step at all": (
        """
def surrogate(w, alpha):
    prices = -np.expm1(-alpha * np.abs(w))
    return np.sum(prices), alpha * prices
"""
        + STEP.replace("np.sqrt(delta / (1 - delta))", "delta")
        + """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    return np.array([start])
""",
        {
            ("surrogate", (*WEIGHTS, TINY)): NO_SIGN,
            ("dca_step", POINTS): NO_ROOT,
            ("dca_step", "F is empty"): "F is empty, and something is returned",
            ("descend", IN_LOOP): TOO_EARLY,
        },
    ),
    "weights of absolute values in place of a tangent, and steps that stop halfway": (
        STEP.replace("alpha * cp.norm(u, 1) - v @ u", "cp.norm(cp.multiply(alpha - abs(v), u), 1)")
        + STEP.replace("dca_step", "whole_step")
        + """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    points = [start]
    while len(points) < 100:
        new = (points[-1] + whole_step(points[-1], gap, cov1, cov2, delta, alpha)) / 2
        fall = np.sum(np.exp(-alpha * abs(new)) - np.exp(-alpha * abs(points[-1])))
        if fall <= tol:
            break
        points.append(new)
    return np.array(points)
""",
        {
            ("dca_step", POINTS): ONLY_SIGNS,
            ("descend", IN_LOOP): "a row does not make D smallest, linearised at the row before",
        },
    ),
}


def tangent(given, w):
    """The gradient of h."""
    return given.alpha * np.sign(w) * -np.expm1(-given.alpha * abs(w))


def spreads(u, given):
    return sum(cp.norm(np.linalg.cholesky(cov).T @ u) for cov in (given.cov1, given.cov2))


def least_in_F(up, down, given, widened=0):
    """The point of F, or of a wider set, with the least up'max(u, 0) + down'max(-u, 0)."""
    u = cp.Variable(len(given.gap))
    kappa = np.sqrt(given.delta / (1 - given.delta)) / (1 + widened)
    rows = [given.gap @ u == 1, kappa * spreads(u, given) <= 1]
    cp.Problem(cp.Minimize(up @ cp.pos(u) + down @ cp.neg(u)), rows).solve(solver=cp.CLARABEL)
    return u.value


def cost(u, up, down):
    return up @ np.maximum(u, 0) + down @ np.maximum(-u, 0)


def costs_at(w, given):
    """What a positive and what a negative weight costs in D, linearised at w."""
    v = tangent(given, w)
    return given.alpha - v, given.alpha + v


def towards_inside(least, costs, given, error):
    """Up to a cost that is larger, towards the point of F with the least sum of spreads."""
    u = cp.Variable(len(given.gap))
    cp.Problem(cp.Minimize(spreads(u, given)), [given.gap @ u == 1]).solve(solver=cp.CLARABEL)
    target = (1 + error) * cost(least, *costs)
    return until(lambda u: cost(u, *costs), least, u.value, target)


def dearer(answer, true, given, error):
    return towards_inside(answer, costs_at(given.w, given), given, error)


def dearer_of_the_flat(answer, true, given, error):
    """The same, where what is least is the sum of absolute values."""
    costs = np.ones(len(given.w)), np.ones(len(given.w))
    return towards_inside(least_in_F(*costs, given), costs, given, error)


def beyond_the_cones(answer, true, given, error):
    """What is least where the cones are wider."""
    return least_in_F(*costs_at(given.w, given), given, error)


def without_the_last(answer, true, given):
    return answer[:-1]


def tolerance_for(factor):
    """So much of what the last step gains, where D is linearised at the row before."""

    def other(answer, true, given):
        costs = costs_at(answer[-2], given)
        return {"tol": factor * (cost(answer[-2], *costs) - cost(answer[-1], *costs))}

    return other


def value(alter):
    return lambda answer, true, given, error: (alter(answer[0], given, error), answer[1])


def gradient(alter):
    return lambda answer, true, given, error: (answer[0], alter(answer[1], given, error))


def times(number, given, error):
    return number * (1 + error)


def turned(v, given, error):
    return -v * (1 + error)


def slope_of_f(v, given, error):
    slope = given.alpha * np.sign(given.w) * np.exp(-given.alpha * abs(given.w))
    return slope * (1 + error)


def careless_value(f, given, error):
    """Prices that have lost their last digits."""
    return np.sum(1 - np.exp(-given.alpha * abs(given.w))) + error


def careless_gradient(v, given, error):
    prices = 1 - np.exp(-given.alpha * abs(given.w))
    return given.alpha * np.sign(given.w) * prices + error


def first_row_off(answer, true, given, error):
    return np.array([given.start + error, *answer[1:]])


BORDERS = [
    Near("surrogate", TINY, lambda answer, true, given: (0.0, 0 * given.w), VALUE),
    Near("dca_step", POINTS, lambda *known: None, "F has a point, and None is returned"),
    Near("descend", "at rest", lambda *known: [], NO_START),
    *either_side("surrogate", WEIGHTS, 1e-6, value(times), VALUE),
    *either_side("surrogate", TINY, 1e-15, value(careless_value), VALUE, DIGITS),
    *either_side("surrogate", WEIGHTS, 1e-6, gradient(times), GRADIENT),
    *either_side("surrogate", WEIGHTS, 1e-6, gradient(turned), GRADIENT, NO_SIGN),
    *either_side("surrogate", WEIGHTS, 1e-4, gradient(slope_of_f), GRADIENT, SLOPE_OF_F),
    *either_side("surrogate", TINY, 1e-15, gradient(careless_gradient), GRADIENT, GRADIENT_DIGITS),
    *either_side("dca_step", POINTS, 1e-4, dearer, ELSEWHERE),
    *either_side("dca_step", "any point", 1e-4, dearer_of_the_flat, ELSEWHERE, within=LEAST_SUM),
    *either_side("dca_step", POINTS, 1e-4, beyond_the_cones, NO_ROOT),
    *either_side("dca_step", POINTS, -1e-4, scaled, LENGTH),
    *either_side("descend", "at rest", 1e-9, first_row_off, NO_START),
    Near("descend", IN_LOOP[0], without_the_last, other=tolerance_for(1 / 1.05)),
    Near("descend", IN_LOOP[0], without_the_last, TOO_EARLY, other=tolerance_for(1 / 1.2)),
]
FREE = {}
