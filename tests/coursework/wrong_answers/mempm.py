"""Answers to the assignment on unequal bounds that are not right, and what they cost."""

import numpy as np
from borders import Near, either_side

PROMISED = "both guaranteed", "alpha of zero", "no variance"
PLANES = "both guaranteed", "classes swapped"
PAIRS = "far apart", "close together", "an end beside a hill", "classes swapped"
NARROW = "one class narrow"
NOT_ACCURACY = "that is the kappa of class 2, and its accuracy is asked for"
TOO_MUCH = "no plane leaves class 2 so much: what does class 1 need of the distance w'd?"
MORE_BETA = "more is possible: may w have any direction, and kappa(beta) any size?"
NO_ALPHA = "class 1 cannot have this alpha, and something is returned"
ZERO = "this w is zero, or does not tell the means apart: is its length fixed?"
SIDE = "class 1 should lie where w'x >= b"
OTHER_B = "this w would do, but not with this b: what does each class need?"
NO_B = "no b makes this w keep both promises: does w depend on both alpha and beta?"
NO_PLANE = "no plane keeps both promises, and something is returned"
NOT_PROMISED = "alpha and beta are accuracies that can be promised"
NOT_BOTH = "no plane promises so much to both classes"
THETA = "theta is the weight of class 1, which alpha belongs to"
EQUAL = "equal bounds are one point of the frontier, and another one is worth more"
BELOW = "both numbers can be raised: this pair is not on the frontier"
OTHER_POINT = (
    "another point of the frontier is worth more: does your search reach all of it, in small "
    "steps of alpha and beta?"
)

BETA = """
def best_beta(mean1, cov1, mean2, cov2, alpha):
    w, spreads = cp.Variable(len(mean1)), []
    for cov in (cov1, cov2):
        values, vectors = np.linalg.eigh(cov)
        spreads.append(cp.norm((vectors * np.sqrt(np.maximum(values, 0))).T @ w))
    left = w @ (mean1 - mean2) - np.sqrt(alpha / (1 - alpha)) * spreads[0]
    problem = cp.Problem(cp.Minimize(spreads[1]), [left >= 1])
    problem.solve(solver=cp.CLARABEL)
    return 1 / (1 + problem.value**2) if problem.status == "optimal" else None
"""
PAIR = """
def pair(m, mean1, cov1, mean2, cov2):
    w = np.linalg.solve(m * cov1 + (1 - m) * cov2, mean1 - mean2)
    squares = np.array([m**2 * (w @ cov1 @ w), (1 - m) ** 2 * (w @ cov2 @ w)])
    return squares / (1 + squares)
"""
EVEN_STEPS = (
    PAIR
    + """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    pairs = [pair(m, mean1, cov1, mean2, cov2) for m in np.linspace(0, 1, 2001)]
    return max(pairs, key=lambda bounds: bounds @ [theta, 1 - theta])
"""
)
ALL_STEPS = "np.concatenate([[0, 1], 1 / (1 + np.exp(-np.linspace(-20, 20, 2001)))])"
WRONG = {
    "kappa in place of beta, the plane in the middle, theta for the other class": (
        BETA.replace("(1 + problem.value**2)", "problem.value")
        + """
def plane_for(mean1, cov1, mean2, cov2, alpha, beta):
    w, needs = cp.Variable(len(mean1)), []
    for cov, bound in ((cov1, alpha), (cov2, beta)):
        kappa = np.sqrt(bound / (1 - bound))
        needs.append(kappa * cp.norm(np.linalg.cholesky(cov).T @ w))
    problem = cp.Problem(cp.Minimize(sum(needs)), [w @ (mean1 - mean2) == 1])
    problem.solve(solver=cp.CLARABEL)
    return None if problem.value > 1 else (w.value, w.value @ (mean1 + mean2) / 2)
"""
        + EVEN_STEPS.replace("[theta, 1 - theta]", "[1 - theta, theta]").replace(
            "np.linspace(0, 1, 2001)", ALL_STEPS
        ),
        {
            ("best_beta", PROMISED): NOT_ACCURACY,
            ("plane_for", (*PLANES, "nothing for one")): OTHER_B,
            ("best_weighted", PAIRS): THETA,
        },
    ),
    "nothing taken from the distance for class 1, the line between the means, equal bounds": (
        BETA.replace("    left = w @ (mean1 - mean2) -", "    needed =")
        .replace("[left >= 1]", "[needed <= 1, w @ (mean1 - mean2) == 1]")
        .replace(' if problem.status == "optimal" else None', "")
        + """
def plane_for(mean1, cov1, mean2, cov2, alpha, beta):
    gap = mean1 - mean2
    w = gap / (gap @ gap)
    first = np.sqrt(alpha / (1 - alpha) * (w @ cov1 @ w))
    second = np.sqrt(beta / (1 - beta) * (w @ cov2 @ w))
    return w, w @ mean1 - first / (first + second)
"""
        + PAIR
        + """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    steps = 1 / (1 + np.exp(-np.linspace(-20, 20, 4001)))
    best = max(min(pair(m, mean1, cov1, mean2, cov2)) for m in steps)
    return best, best
""",
        {
            ("best_beta", ("both guaranteed", "no variance")): TOO_MUCH,
            ("best_beta", "out of reach"): NO_ALPHA,
            ("plane_for", (*PLANES, "nothing for one")): NO_B,
            ("plane_for", "out of reach"): NO_PLANE,
            ("best_weighted", (*PAIRS, NARROW)): EQUAL,
        },
    ),
    "covariances that must be regular, and even steps of m": (
        BETA.replace("(vectors * np.sqrt(np.maximum(values, 0)))", "np.linalg.cholesky(cov)")
        + EVEN_STEPS,
        {
            ("best_beta", "no variance"): "it raises LinAlgError",
            ("best_weighted", NARROW): OTHER_POINT,
        },
    ),
    "one climb from the middle": (
        PAIR
        + """
def best_weighted(mean1, cov1, mean2, cov2, theta):
    from scipy.optimize import minimize_scalar

    def loss(m):
        return -pair(m, mean1, cov1, mean2, cov2) @ [theta, 1 - theta]

    m = minimize_scalar(loss, bounds=(0, 1), method="bounded").x
    return pair(m, mean1, cov1, mean2, cov2)
""",
        {("best_weighted", ("an end beside a hill", "classes swapped")): OTHER_POINT},
    ),
}


def short_for_class_1(answer, true, given, error):
    """The same w, with an offset that leaves class 1 less than it needs."""
    w = answer[0] / (answer[0] @ (given.mean1 - given.mean2))
    need = np.sqrt(given.alpha / (1 - given.alpha) * (w @ given.cov1 @ w))
    return w, w @ given.mean1 - need + error


def beta(answer, true, given, error):
    return true + error


def kappa(answer, true, given, error):
    return np.sqrt(true / (1 - true)) + error


def worth(value, given):
    """The pair of such a value with an alpha of zero, as the best one has here."""
    return np.array([0, value / (1 - given.theta)])


def more_alpha(answer, true, given, error):
    return worth(true, given) + [error, 0]


def more_beta(answer, true, given, error):
    return worth(true, given) + [0, error]


def worth_less(answer, true, given, error):
    return worth(true - error, given)


def worth_less_for_the_other(answer, true, given, error):
    return worth(true - error, given)[::-1]


def nearly_equal(answer, true, given, error):
    return 0.01, 0.01 + error


BORDERS = [
    Near("plane_for", PLANES[0], lambda answer, true, given: (0 * answer[0], answer[1]), ZERO),
    Near("plane_for", PLANES[0], lambda answer, true, given: (-answer[0], answer[1]), SIDE),
    *either_side("best_beta", PROMISED, 1e-4, beta, TOO_MUCH),
    *either_side("best_beta", PROMISED[0], -1e-4, beta, MORE_BETA),
    *either_side("best_beta", PROMISED[0], 1e-3, kappa, TOO_MUCH, within=NOT_ACCURACY),
    *either_side("plane_for", PLANES, 1e-4, short_for_class_1, OTHER_B),
    *either_side("best_weighted", "close together", 1e-4, more_alpha, NOT_BOTH),
    *either_side("best_weighted", "close together", 1e-4, more_beta, NOT_BOTH),
    *either_side("best_weighted", "close together", 1e-4, worth_less, OTHER_POINT),
    *either_side("best_weighted", "close together", -2e-3, more_beta, BELOW, within=OTHER_POINT),
    *either_side("best_weighted", PAIRS[:2], 1e-4, nearly_equal, BELOW, within=EQUAL),
    *either_side(
        "best_weighted", "close together", 1e-4, worth_less_for_the_other, OTHER_POINT, THETA
    ),
    Near("best_weighted", PAIRS[0], lambda answer, true, given: (1.5, answer[1]), NOT_PROMISED),
    Near("best_weighted", PAIRS[0], lambda answer, true, given: (answer[0], 1.5), NOT_PROMISED),
]
FREE = {
    "FAR = 30.0  # the logit of a weight that is 1 but for rounding": "farther is rounding as well",
    "return np.where(parts < 1e-10, 0, parts), vectors.T @ (mean1 - mean2)": "a part is zero but "
    "for rounding, or much larger",
    "LOGITS = np.linspace(-FAR, FAR, 60001)": "so small are the steps",
}
