"""Answers to the assignment on differences of convex functions that are not right.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import cvxpy as cp
import numpy as np
from borders import Near, either_side, until

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
HALVED = (
    STEP.replace("dca_step", "whole_step")
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
"""
)
IN_LOOP = "from the minimax plane", "from the least norm", "classes swapped"

WRONG = {
    "the slope of f in place of that of h, and a last step too many": (
        {
            "surrogate": """
def surrogate(w, alpha):
    left = np.exp(-alpha * np.abs(w))
    return np.sum(-np.expm1(-alpha * np.abs(w))), alpha * np.sign(w) * left
""",
            "dca_step": STEP,
            "descend": """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    points, fall = [start], np.inf
    while fall > tol:
        points.append(dca_step(points[-1], gap, cov1, cov2, delta, alpha))
        fall = surrogate(points[-2], alpha)[0] - surrogate(points[-1], alpha)[0]
    return np.array(points)
""",
        },
        {
            ("surrogate", part): "that is the slope of f, and the gradient of h = g - f is asked "
            "for"
            for part in ("any weights", "weights of zero", "tiny weights")
        }
        | {
            ("descend", part): "a step is among the rows that lowers f by no more than tol"
            for part in (*IN_LOOP, "at rest")
        },
    ),
    "digits lost, the least norm at every point, only the end of the loop": (
        {
            "surrogate": """
def surrogate(w, alpha):
    prices = 1 - np.exp(-alpha * np.abs(w))
    return np.sum(prices), alpha * np.sign(w) * prices
""",
            "dca_step": STEP.replace(" - v @ u", ""),
            "descend": """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    return np.array([start + 1.0])
""",
        },
        {
            ("surrogate", "tiny weights"): "the value is nearly right: which digits does "
            "1 - exp(-x) lose?",
        }
        | {
            ("dca_step", part): "that is the least sum of absolute values: where does the point w "
            "enter?"
            for part in ("any point", "weights of zero", "classes swapped")
        }
        | {
            ("descend", part): "the first row should be the start, which was passed in"
            for part in (*IN_LOOP, "at rest")
        },
    ),
    "signs lost, delta in place of kappa, no step at all": (
        {
            "surrogate": """
def surrogate(w, alpha):
    prices = -np.expm1(-alpha * np.abs(w))
    return np.sum(prices), alpha * prices
""",
            "dca_step": STEP.replace("np.sqrt(delta / (1 - delta))", "delta"),
            "descend": """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    return np.array([start])
""",
        },
        {
            ("surrogate", part): "for w < 0, does h rise or fall with w?"
            for part in ("any weights", "weights of zero", "tiny weights")
        }
        | {
            ("dca_step", part): "the guarantees do not hold: is it the root of u'Su, and kappa of "
            "delta?"
            for part in ("any point", "weights of zero", "classes swapped")
        }
        | {("dca_step", "F is empty"): "F is empty, and something is returned"}
        | {
            ("descend", part): "from the last row, one more step lowers f by more than tol"
            for part in IN_LOOP
        },
    ),
    "weights of absolute values in place of a tangent, and steps that stop halfway": (
        {
            "dca_step": STEP.replace(
                "alpha * cp.norm(u, 1) - v @ u", "cp.norm(cp.multiply(alpha - abs(v), u), 1)"
            ),
            "descend": HALVED,
        },
        {
            ("dca_step", part): "only where u has the signs of w: what does -v'u cost a weight "
            "that changes sign?"
            for part in ("any point", "weights of zero", "classes swapped")
        }
        | {
            ("descend", part): "a row does not make D smallest, linearised at the row before"
            for part in IN_LOOP
        },
    ),
}


WEIGHTS = "any weights", "weights of zero"
POINTS = "any point", "weights of zero", "classes swapped"
VALUE = "the value is the sum of the prices, each from 0 to 1, of sizes of weights"
GRADIENT = "the gradient of h differs: write h for one positive weight, then for a negative"
ELSEWHERE = "u is in F, and D is smaller elsewhere: is v the gradient of h at w?"
NO_ROOT = "the guarantees do not hold: is it the root of u'Su, and kappa of delta?"


def tangent(w, alpha):
    return alpha * np.sign(w) * -np.expm1(-alpha * abs(w))


def careless(given):
    """Prices that have lost their last digits."""
    return 1 - np.exp(-given.alpha * abs(given.w))


def least_in_F(up, down, given, kappa=None):
    """The point of F with the least up'max(u, 0) + down'max(-u, 0)."""
    u = cp.Variable(len(given.gap))
    roots = [np.linalg.cholesky(cov).T for cov in (given.cov1, given.cov2)]
    kappa = kappa or np.sqrt(given.delta / (1 - given.delta))
    costs = up @ cp.pos(u) + down @ cp.neg(u)
    rows = [given.gap @ u == 1, kappa * sum(cp.norm(root @ u) for root in roots) <= 1]
    cp.Problem(cp.Minimize(costs), rows).solve(solver=cp.CLARABEL)
    return u.value


def cost(u, up, down):
    return up @ np.maximum(u, 0) + down @ np.maximum(-u, 0)


def inside(given):
    """A point of F with room on all sides: that of the least sum of spreads."""
    u = cp.Variable(len(given.gap))
    roots = [np.linalg.cholesky(cov).T for cov in (given.cov1, given.cov2)]
    spreads = sum(cp.norm(root @ u) for root in roots)
    cp.Problem(cp.Minimize(spreads), [given.gap @ u == 1]).solve(solver=cp.CLARABEL)
    return u.value


def dearer(answer, true, given, error):
    """In F, and a little dearer than the least."""
    v = tangent(given.w, given.alpha)
    costs = given.alpha - v, given.alpha + v
    return until(
        lambda u: cost(u, *costs), answer, inside(given), (1 + error) * cost(answer, *costs)
    )


def dearer_of_the_flat(answer, true, given, error):
    """The same, where what is least is the sum of absolute values."""
    costs = np.ones(len(given.w)), np.ones(len(given.w))
    least = least_in_F(*costs, given)
    return until(lambda u: cost(u, *costs), least, inside(given), (1 + error) * cost(least, *costs))


def beyond_the_cones(answer, true, given, error):
    """What is least where the cones are wider."""
    v = tangent(given.w, given.alpha)
    kappa = np.sqrt(given.delta / (1 - given.delta)) / (1 + error)
    return least_in_F(given.alpha - v, given.alpha + v, given, kappa)


def without_the_last(answer, true, given):
    return answer[:-1]


def gain_of_the_last(answer, given):
    """By how much the last step lowers the surrogate, linearised at the row before."""
    v = tangent(answer[-2], given.alpha)
    now, new = (cost(u, given.alpha - v, given.alpha + v) for u in answer[-2:])
    return now - new


BORDERS = [
    Near(
        "surrogate",
        "tiny weights",
        lambda answer, true, given: (0.0, 0 * given.w),
        VALUE,
    ),
    Near(
        "dca_step",
        POINTS,
        lambda answer, true, given: None,
        "F has a point, and None is returned",
    ),
    Near(
        "descend",
        "at rest",
        lambda answer, true, given: [],
        "the first row should be the start, which was passed in",
    ),
    *either_side(
        "surrogate",
        WEIGHTS,
        1e-6,
        lambda answer, true, given, error: ((1 + error) * answer[0], answer[1]),
        VALUE,
    ),
    *either_side(
        "surrogate",
        "tiny weights",
        1e-15,
        lambda answer, true, given, error: (np.sum(careless(given)) + error, answer[1]),
        VALUE,
        within="the value is nearly right: which digits does 1 - exp(-x) lose?",
    ),
    *either_side(
        "surrogate",
        WEIGHTS,
        1e-6,
        lambda answer, true, given, error: (answer[0], (1 + error) * answer[1]),
        GRADIENT,
    ),
    *either_side(
        "surrogate",
        WEIGHTS,
        1e-6,
        lambda answer, true, given, error: (answer[0], -(1 + error) * answer[1]),
        GRADIENT,
        within="for w < 0, does h rise or fall with w?",
    ),
    *either_side(
        "surrogate",
        WEIGHTS,
        1e-4,
        lambda answer, true, given, error: (
            answer[0],
            (1 + error) * given.alpha * np.sign(given.w) * np.exp(-given.alpha * abs(given.w)),
        ),
        GRADIENT,
        within="that is the slope of f, and the gradient of h = g - f is asked for",
    ),
    *either_side(
        "surrogate",
        "tiny weights",
        1e-15,
        lambda answer, true, given, error: (
            answer[0],
            given.alpha * np.sign(given.w) * careless(given) + error,
        ),
        GRADIENT,
        within="the gradient is nearly right: which digits does 1 - exp(-x) lose?",
    ),
    *either_side("dca_step", POINTS, 1e-4, dearer, ELSEWHERE),
    *either_side(
        "dca_step",
        "any point",
        1e-4,
        dearer_of_the_flat,
        ELSEWHERE,
        within="that is the least sum of absolute values: where does the point w enter?",
    ),
    *either_side("dca_step", POINTS, 1e-4, beyond_the_cones, NO_ROOT),
    *either_side(
        "dca_step",
        POINTS,
        1e-4,
        lambda answer, true, given, error: (1 - error) * answer,
        "the length of u is not fixed by gap'u = 1",
    ),
    *either_side(
        "descend",
        "at rest",
        1e-9,
        lambda answer, true, given, error: np.array([given.start + error, *answer[1:]]),
        "the first row should be the start, which was passed in",
    ),
    Near(
        "descend",
        "from the minimax plane",
        without_the_last,
        other=lambda answer, true, given: {"tol": gain_of_the_last(answer, given) / 1.05},
    ),
    Near(
        "descend",
        "from the minimax plane",
        without_the_last,
        "from the last row, one more step lowers f by more than tol",
        other=lambda answer, true, given: {"tol": gain_of_the_last(answer, given) / 1.2},
    ),
]
FREE = {}
