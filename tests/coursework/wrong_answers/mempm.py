"""Answers to the assignment on unequal bounds that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import numpy as np
from borders import Near, either_side

WRONG = {
    "kappa in place of beta, the plane in the middle, theta for the other class": (
        {
            "best_beta": """
def best_beta(mean1, cov1, mean2, cov2, alpha):
    w, spreads = cp.Variable(len(mean1)), []
    for cov in (cov1, cov2):
        values, vectors = np.linalg.eigh(cov)
        spreads.append(cp.norm((vectors * np.sqrt(np.maximum(values, 0))).T @ w))
    left = w @ (mean1 - mean2) - np.sqrt(alpha / (1 - alpha)) * spreads[0]
    problem = cp.Problem(cp.Minimize(spreads[1]), [left >= 1])
    problem.solve(solver=cp.CLARABEL)
    return 1 / problem.value if problem.status == "optimal" else None
""",
            "plane_for": """
def plane_for(mean1, cov1, mean2, cov2, alpha, beta):
    w, needs = cp.Variable(len(mean1)), []
    for cov, bound in ((cov1, alpha), (cov2, beta)):
        kappa = np.sqrt(bound / (1 - bound))
        needs.append(kappa * cp.norm(np.linalg.cholesky(cov).T @ w))
    problem = cp.Problem(cp.Minimize(sum(needs)), [w @ (mean1 - mean2) == 1])
    problem.solve(solver=cp.CLARABEL)
    return None if problem.value > 1 else (w.value, w.value @ (mean1 + mean2) / 2)
""",
            "best_weighted": """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    best, pair = -1, None
    for m in np.concatenate([[0, 1], 1 / (1 + np.exp(-np.linspace(-20, 20, 2001)))]):
        w = np.linalg.solve(m * cov1 + (1 - m) * cov2, mean1 - mean2)
        squares = np.array([m**2 * (w @ cov1 @ w), (1 - m) ** 2 * (w @ cov2 @ w)])
        bounds = squares / (1 + squares)
        value = theta * bounds[1] + (1 - theta) * bounds[0]
        if value > best:
            best, pair = value, bounds
    return pair
""",
        },
        {
            ("best_beta", part): "that is the kappa of class 2, and its accuracy is asked for"
            for part in ("both guaranteed", "alpha of zero", "no variance")
        }
        | {
            ("plane_for", part): "this w would do, but not with this b: what does each class need?"
            for part in ("both guaranteed", "classes swapped", "nothing for one")
        }
        | {
            ("best_weighted", part): "theta is the weight of class 1, which alpha belongs to"
            for part in (
                "far apart",
                "close together",
                "an end beside a hill",
                "classes swapped",
            )
        },
    ),
    "nothing taken from the distance for class 1, the line between the means, equal bounds": (
        {
            "best_beta": """
def best_beta(mean1, cov1, mean2, cov2, alpha):
    w, spreads = cp.Variable(len(mean1)), []
    for cov in (cov1, cov2):
        values, vectors = np.linalg.eigh(cov)
        spreads.append(cp.norm((vectors * np.sqrt(np.maximum(values, 0))).T @ w))
    needed = np.sqrt(alpha / (1 - alpha)) * spreads[0]
    rows = [needed <= 1, w @ (mean1 - mean2) == 1]
    problem = cp.Problem(cp.Minimize(spreads[1]), rows)
    problem.solve(solver=cp.CLARABEL)
    return 1 / (1 + problem.value**2)
""",
            "plane_for": """
def plane_for(mean1, cov1, mean2, cov2, alpha, beta):
    gap = mean1 - mean2
    w = gap / (gap @ gap)
    first = np.sqrt(alpha / (1 - alpha) * (w @ cov1 @ w))
    second = np.sqrt(beta / (1 - beta) * (w @ cov2 @ w))
    return w, w @ mean1 - first / (first + second)
""",
            "best_weighted": """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    best = 0
    for m in 1 / (1 + np.exp(-np.linspace(-20, 20, 4001))):
        w = np.linalg.solve(m * cov1 + (1 - m) * cov2, mean1 - mean2)
        square = min(m**2 * (w @ cov1 @ w), (1 - m) ** 2 * (w @ cov2 @ w))
        best = max(best, square / (1 + square))
    return best, best
""",
        },
        {
            ("best_beta", "both guaranteed"): "no plane leaves class 2 so much: what does class 1 "
            "need of the distance w'd?",
            ("best_beta", "out of reach"): "class 1 cannot have this alpha, and something is "
            "returned",
            ("best_beta", "no variance"): "no plane leaves class 2 so much: what does class 1 "
            "need of the distance w'd?",
            (
                "plane_for",
                "out of reach",
            ): "no plane keeps both promises, and something is returned",
        }
        | {
            ("plane_for", part): "no b makes this w keep both promises: does w depend on both "
            "alpha and beta?"
            for part in ("both guaranteed", "classes swapped", "nothing for one")
        }
        | {
            ("best_weighted", part): "equal bounds are one point of the frontier, and another one "
            "is worth more"
            for part in (
                "far apart",
                "close together",
                "an end beside a hill",
                "classes swapped",
                "one class narrow",
            )
        },
    ),
    "covariances that must be regular, and even steps of m": (
        {
            "best_beta": """
def best_beta(mean1, cov1, mean2, cov2, alpha):
    w = cp.Variable(len(mean1))
    spreads = [cp.norm(np.linalg.cholesky(cov).T @ w) for cov in (cov1, cov2)]
    left = w @ (mean1 - mean2) - np.sqrt(alpha / (1 - alpha)) * spreads[0]
    problem = cp.Problem(cp.Minimize(spreads[1]), [left >= 1])
    problem.solve(solver=cp.CLARABEL)
    return 1 / (1 + problem.value**2) if problem.status == "optimal" else None
""",
            "best_weighted": """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    best, pair = -1, None
    for m in np.linspace(0, 1, 2001):
        w = np.linalg.solve(m * cov1 + (1 - m) * cov2, mean1 - mean2)
        squares = np.array([m**2 * (w @ cov1 @ w), (1 - m) ** 2 * (w @ cov2 @ w)])
        bounds = squares / (1 + squares)
        value = theta * bounds[0] + (1 - theta) * bounds[1]
        if value > best:
            best, pair = value, bounds
    return pair
""",
        },
        {
            ("best_beta", "no variance"): "it raises LinAlgError",
            ("best_weighted", "one class narrow"): "another point of the frontier is worth more: "
            "does your search reach all of it, in small steps of alpha and beta?",
        },
    ),
    "one climb from the middle": (
        {
            "best_weighted": """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    from scipy.optimize import minimize_scalar

    def pair(m):
        w = np.linalg.solve(m * cov1 + (1 - m) * cov2, mean1 - mean2)
        squares = np.array([m**2 * (w @ cov1 @ w), (1 - m) ** 2 * (w @ cov2 @ w)])
        return squares / (1 + squares)

    found = minimize_scalar(
        lambda m: -pair(m) @ [theta, 1 - theta], bounds=(0, 1), method="bounded"
    )
    return pair(found.x)
""",
        },
        {
            (
                "best_weighted",
                part,
            ): "another point of the frontier is worth more: does your search "
            "reach all of it, in small steps of alpha and beta?"
            for part in ("an end beside a hill", "classes swapped")
        },
    ),
}


TOO_MUCH = "no plane leaves class 2 so much: what does class 1 need of the distance w'd?"
OTHER_POINT = (
    "another point of the frontier is worth more: does your search reach all of it, in small "
    "steps of alpha and beta?"
)
BELOW = "both numbers can be raised: this pair is not on the frontier"


def short_for_class_1(answer, true, given, error):
    """The same w, with an offset that leaves class 1 less than it needs."""
    w = answer[0] / (answer[0] @ (given.mean1 - given.mean2))
    need = np.sqrt(given.alpha / (1 - given.alpha) * (w @ given.cov1 @ w))
    return w, w @ given.mean1 - need + error


def all_for_class_2(true, given):
    """In these cases the best pair has an alpha of zero."""
    return true / (1 - given.theta)


BORDERS = [
    Near(
        "plane_for",
        "both guaranteed",
        lambda answer, true, given: (0 * answer[0], answer[1]),
        "this w is zero, or does not tell the means apart: is its length fixed?",
    ),
    Near(
        "plane_for",
        "both guaranteed",
        lambda answer, true, given: (-answer[0], answer[1]),
        "class 1 should lie where w'x >= b",
    ),
    *either_side(
        "best_beta",
        ("both guaranteed", "alpha of zero", "no variance"),
        1e-4,
        lambda answer, true, given, error: true + error,
        TOO_MUCH,
    ),
    *either_side(
        "best_beta",
        "both guaranteed",
        1e-4,
        lambda answer, true, given, error: true - error,
        "more is possible: may w have any direction, and kappa(beta) any size?",
    ),
    *either_side(
        "best_beta",
        "both guaranteed",
        1e-3,
        lambda answer, true, given, error: np.sqrt(true / (1 - true)) + error,
        TOO_MUCH,
        within="that is the kappa of class 2, and its accuracy is asked for",
    ),
    *either_side(
        "plane_for",
        ("both guaranteed", "classes swapped"),
        1e-4,
        short_for_class_1,
        "this w would do, but not with this b: what does each class need?",
    ),
    *either_side(
        "best_weighted",
        "close together",
        1e-4,
        lambda answer, true, given, error: (error, all_for_class_2(true, given)),
        "no plane promises so much to both classes",
    ),
    *either_side(
        "best_weighted",
        "close together",
        1e-4,
        lambda answer, true, given, error: (0, all_for_class_2(true, given) + error),
        "no plane promises so much to both classes",
    ),
    *either_side(
        "best_weighted",
        "close together",
        1e-4,
        lambda answer, true, given, error: (0, (true - error) / (1 - given.theta)),
        OTHER_POINT,
    ),
    *either_side(
        "best_weighted",
        "close together",
        2e-3,
        lambda answer, true, given, error: (0, all_for_class_2(true, given) - error),
        BELOW,
        within=OTHER_POINT,
    ),
    *either_side(
        "best_weighted",
        ("far apart", "close together"),
        1e-4,
        lambda answer, true, given, error: (0.01, 0.01 + error),
        BELOW,
        within="equal bounds are one point of the frontier, and another one is worth more",
    ),
    *either_side(
        "best_weighted",
        "close together",
        1e-4,
        lambda answer, true, given, error: (all_for_class_2(true - error, given), 0),
        OTHER_POINT,
        within="theta is the weight of class 1, which alpha belongs to",
    ),
    Near(
        "best_weighted",
        "far apart",
        lambda answer, true, given: (1.5, answer[1]),
        "alpha and beta are accuracies that can be promised",
    ),
    Near(
        "best_weighted",
        "far apart",
        lambda answer, true, given: (answer[0], 1.5),
        "alpha and beta are accuracies that can be promised",
    ),
]
FREE = {
    "FAR = 30.0  # the logit of a weight that is 1 but for rounding": "farther is rounding as well",
    "return np.where(parts < 1e-10, 0, parts), vectors.T @ (mean1 - mean2)": "a part is zero but "
    "for rounding, or much larger",
    "LOGITS = np.linspace(-FAR, FAR, 60001)": "so small are the steps",
}
