"""Answers to the assignment on Chebyshev's bound that are not right, and what they cost."""

import numpy as np
from borders import Near, added, either_side, until

from fsnotes.literal import mpm

NORMS = "Euclidean norm", "sum of absolute values"
PLANES = (*NORMS, "classes swapped")
UNITS = "any", "other units"
BELOW = "some distribution has less: is the variance that of w'x, and d^2 in both places?"
ABOVE = "that is a bound, but not the greatest: is it the variance around the mean?"
WRONG_SIDE = "with the mean on the wrong side, what can a distribution do with all its mass?"
LESS = (
    "a class has less than its guarantee: is the length of w fixed, and is it the root of w'Sw, "
    "times kappa?"
)
NO_PLANE = "there is no plane with these guarantees, and something is returned"
LONGER = "the guarantees hold, and another plane has a smaller norm of w"
ZERO = "this w is zero, or does not tell the means apart: is its length fixed?"
TURNED = "the plane should be w'x = b, and here it is w'x = -b"
TOO_MUCH = "no plane guarantees as much to both classes"
TOO_LITTLE = "more is possible: is b free, and any search fine enough?"
NOT_ALPHA = "that depends on kappa, but is not alpha: how is one found from the other?"

CONES = """
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
WRONG = {
    "the second moment in place of the variance": (
        """
def worst_case(w, b, mean, cov):
    d = w @ mean - b
    s = w @ cov @ w
    return s / (s + d**2)
""",
        {
            ("worst_case", "right side"): BELOW,
            ("worst_case", "wrong side"): WRONG_SIDE,
            ("worst_case", "no variance"): "where w'x does not vary, it equals w'mean always",
        },
    ),
    "no variance, and no look at the side": (
        """
def worst_case(w, b, mean, cov):
    d, s = w @ mean - b, w @ cov @ w
    if s == 0:
        return 1.0
    return d**2 / (d**2 + s) if d > 0 else 0.0
""",
        {("worst_case", "no variance"): WRONG_SIDE},
    ),
    "alpha in place of kappa, so that the guarantees are too weak": (
        CONES,
        {("two_cones", PLANES): LESS, ("two_cones", "no plane"): NO_PLANE},
    ),
    "kappa in place of alpha, and always the same norm": (
        CONES.replace("alpha *", "np.sqrt(alpha / (1 - alpha)) *").replace(", norm))", ", 1))")
        + """
def largest_alpha(mean1, cov1, mean2, cov2):
    w = cp.Variable(len(mean1))
    spread = sum(cp.norm(np.linalg.cholesky(cov).T @ w) for cov in (cov1, cov2))
    problem = cp.Problem(cp.Minimize(spread), [w @ (mean1 - mean2) == 1])
    problem.solve(solver=cp.CLARABEL)
    return 1 / problem.value
""",
        {
            ("two_cones", ("Euclidean norm", "classes swapped")): LONGER,
            ("largest_alpha", (*UNITS, "classes swapped")): NOT_ALPHA,
        },
    ),
}


def less_of_its_guarantee(answer, true, given, error):
    """The same w, where class 1 has less of its kappa."""
    w, b = answer
    return w, b + error * (w @ given.mean1 - b)


def longer(answer, true, given, error):
    """Both guarantees, in between two planes, but a larger norm of w."""
    w = answer[0] / (answer[0] @ (given.mean1 - given.mean2))
    best = mpm(given.mean1, given.mean2, given.cov1, given.cov2)[0]
    end = best / (best @ (given.mean1 - given.mean2))
    w = until(lambda w: np.linalg.norm(w, given.norm), w, end, true * (1 + error))
    spread = [np.sqrt(w @ cov @ w) for cov in (given.cov1, given.cov2)]
    return w, w @ given.mean1 - spread[0] / sum(spread)


def factors(w_factor, b_factor):
    return lambda answer, true, given: (w_factor * answer[0], b_factor * answer[1])


def kappa(answer, true, given, error):
    return np.sqrt(true / (1 - true)) + error


def share_of_kappa(answer, true, given):
    return 1 / (1 + np.sqrt((1 - true) / true))


BORDERS = [
    *either_side("worst_case", "right side", 1e-6, added, BELOW),
    *either_side("worst_case", "right side", -1e-6, added, ABOVE),
    *either_side("two_cones", NORMS, 1e-4, less_of_its_guarantee, LESS),
    *either_side("two_cones", NORMS, 1e-4, longer, LONGER),
    Near("two_cones", NORMS, factors(0, 1), ZERO),
    Near("two_cones", NORMS, factors(-1, -1), "class 1 should lie where w'x >= b"),
    Near("two_cones", NORMS, factors(1, -1), TURNED),
    *either_side("largest_alpha", UNITS, 1e-5, added, TOO_MUCH),
    *either_side("largest_alpha", UNITS, -1e-5, added, TOO_LITTLE),
    *either_side("largest_alpha", "any", 1e-5, kappa, TOO_MUCH, within=NOT_ALPHA),
    Near("largest_alpha", "any", share_of_kappa, NOT_ALPHA),
    Near("largest_alpha", "any", lambda answer, true, given: 1 - true, NOT_ALPHA),
    Near("largest_alpha", "any", lambda answer, true, given: true / (1 - true), NOT_ALPHA),
]
FREE = {}
