"""Answers to the assignment on Chebyshev's bound that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import numpy as np
from borders import Near, either_side, until

from fsnotes.literal import mpm

LESS = (
    "a class has less than its guarantee: is the length of w fixed, and is it the root of w'Sw, "
    "times kappa?"
)
NO_PLANE = "there is no plane with these guarantees, and something is returned"
NOT_ALPHA = "that depends on kappa, but is not alpha: how is one found from the other?"

WRONG = {
    "the second moment in place of the variance": (
        {
            "worst_case": """
def worst_case(w, b, mean, cov):
    d = w @ mean - b
    s = w @ cov @ w
    return s / (s + d**2)
"""
        },
        {
            ("worst_case", "right side"): "some distribution has less: is the variance that of "
            "w'x, and d^2 in both places?",
            ("worst_case", "wrong side"): "with the mean on the wrong side, what can a "
            "distribution do with all its mass?",
            ("worst_case", "no variance"): "where w'x does not vary, it equals w'mean always",
        },
    ),
    "no variance, and no look at the side": (
        {
            "worst_case": """
def worst_case(w, b, mean, cov):
    d, s = w @ mean - b, w @ cov @ w
    if s == 0:
        return 1.0
    return d**2 / (d**2 + s) if d > 0 else 0.0
"""
        },
        {
            ("worst_case", "no variance"): "with the mean on the wrong side, what can a "
            "distribution do with all its mass?"
        },
    ),
    "alpha in place of kappa, so that the guarantees are too weak": (
        {
            "two_cones": """
def two_cones(mean1, cov1, mean2, cov2, alpha, norm):
    w, b = cp.Variable(len(mean1)), cp.Variable()
    roots = [np.linalg.cholesky(cov).T for cov in (cov1, cov2)]
    problem = cp.Problem(cp.Minimize(cp.norm(w, norm)), [
        w @ mean1 - b >= alpha * cp.norm(roots[0] @ w),
        b - w @ mean2 >= alpha * cp.norm(roots[1] @ w),
        w @ (mean1 - mean2) == 1,
    ])
    problem.solve(solver=cp.CLARABEL)
    return (w.value, float(b.value)) if problem.status == "optimal" else None
"""
        },
        {
            ("two_cones", part): LESS
            for part in ("Euclidean norm", "sum of absolute values", "classes swapped")
        }
        | {("two_cones", "no plane"): NO_PLANE},
    ),
    "no cone, and an offset by the spreads": (
        {
            "two_cones": """
def two_cones(mean1, cov1, mean2, cov2, alpha, norm):
    w = cp.Variable(len(mean1))
    length = [w @ (mean1 - mean2) == 1]
    cp.Problem(cp.Minimize(cp.norm(w, norm)), length).solve(solver=cp.CLARABEL)
    w = w.value
    spreads = [np.sqrt(w @ cov @ w) for cov in (cov1, cov2)]
    return w, w @ mean1 - spreads[0] / sum(spreads)
"""
        },
        {
            ("two_cones", part): LESS
            for part in ("Euclidean norm", "sum of absolute values", "classes swapped")
        }
        | {("two_cones", "no plane"): NO_PLANE},
    ),
    "kappa in place of alpha, and always the same norm": (
        {
            "two_cones": """
def two_cones(mean1, cov1, mean2, cov2, alpha, norm):
    kappa = np.sqrt(alpha / (1 - alpha))
    w, b = cp.Variable(len(mean1)), cp.Variable()
    roots = [np.linalg.cholesky(cov).T for cov in (cov1, cov2)]
    problem = cp.Problem(cp.Minimize(cp.norm(w, 1)), [
        w @ mean1 - b >= kappa * cp.norm(roots[0] @ w),
        b - w @ mean2 >= kappa * cp.norm(roots[1] @ w),
        w @ (mean1 - mean2) == 1,
    ])
    problem.solve(solver=cp.CLARABEL)
    return (w.value, float(b.value)) if problem.status == "optimal" else None
""",
            "largest_alpha": """
def largest_alpha(mean1, cov1, mean2, cov2):
    w = cp.Variable(len(mean1))
    spread = sum(cp.norm(np.linalg.cholesky(cov).T @ w) for cov in (cov1, cov2))
    problem = cp.Problem(cp.Minimize(spread), [w @ (mean1 - mean2) == 1])
    problem.solve(solver=cp.CLARABEL)
    return 1 / problem.value
""",
        },
        {
            ("two_cones", part): "the guarantees hold, and another plane has a smaller norm of w"
            for part in ("Euclidean norm", "classes swapped")
        }
        | {
            ("largest_alpha", part): NOT_ALPHA for part in ("any", "classes swapped", "other units")
        },
    ),
}


NORMS = "Euclidean norm", "sum of absolute values"


def less_of_its_guarantee(answer, true, given, error):
    """The same w, where class 1 has less of its kappa."""
    w, b = answer
    return w, b + error * (w @ given.mean1 - b)


def longer(answer, true, given, error):
    """Both guarantees, in between two planes, but a larger norm of w."""
    w = answer[0] / (answer[0] @ (given.mean1 - given.mean2))
    best = mpm(given.mean1, given.mean2, given.cov1, given.cov2)[0]
    w = until(
        lambda w: np.linalg.norm(w, given.norm),
        w,
        best / (best @ (given.mean1 - given.mean2)),
        true * (1 + error),
    )
    spread = [np.sqrt(w @ cov @ w) for cov in (given.cov1, given.cov2)]
    share = spread[0] / sum(spread)
    return w, w @ given.mean1 - share


BORDERS = [
    *either_side(
        "worst_case",
        "right side",
        1e-6,
        lambda answer, true, given, error: answer + error,
        "some distribution has less: is the variance that of w'x, and d^2 in both places?",
    ),
    *either_side(
        "worst_case",
        "right side",
        1e-6,
        lambda answer, true, given, error: answer - error,
        "that is a bound, but not the greatest: is it the variance around the mean?",
    ),
    *either_side(
        "two_cones",
        NORMS,
        1e-4,
        less_of_its_guarantee,
        LESS,
    ),
    *either_side(
        "two_cones",
        NORMS,
        1e-4,
        longer,
        "the guarantees hold, and another plane has a smaller norm of w",
    ),
    Near(
        "two_cones",
        NORMS,
        lambda answer, true, given: (0 * answer[0], answer[1]),
        "this w is zero, or does not tell the means apart: is its length fixed?",
    ),
    Near(
        "two_cones",
        NORMS,
        lambda answer, true, given: (-answer[0], -answer[1]),
        "class 1 should lie where w'x >= b",
    ),
    Near(
        "two_cones",
        NORMS,
        lambda answer, true, given: (answer[0], -answer[1]),
        "the plane should be w'x = b, and here it is w'x = -b",
    ),
    *either_side(
        "largest_alpha",
        ("any", "other units"),
        1e-5,
        lambda answer, true, given, error: answer + error,
        "no plane guarantees as much to both classes",
    ),
    *either_side(
        "largest_alpha",
        ("any", "other units"),
        1e-5,
        lambda answer, true, given, error: answer - error,
        "more is possible: is b free, and any search fine enough?",
    ),
    *either_side(
        "largest_alpha",
        "any",
        1e-5,
        lambda answer, true, given, error: np.sqrt(true / (1 - true)) + error,
        "no plane guarantees as much to both classes",
        within=NOT_ALPHA,
    ),
    Near(
        "largest_alpha",
        "any",
        lambda answer, true, given: 1 / (1 + np.sqrt((1 - true) / true)),
        NOT_ALPHA,
    ),
    Near("largest_alpha", "any", lambda answer, true, given: 1 - true, NOT_ALPHA),
    Near("largest_alpha", "any", lambda answer, true, given: true / (1 - true), NOT_ALPHA),
]
FREE = {}
