"""Answers to the assignment on l2,p reweighting that are not right, and what they cost."""

import numpy as np
from borders import either_side, scaled, until

NOT_ZERO = "lengths", "classes turned"
PRICES = (*NOT_ZERO, "rows of zeros")
EMPTY = "a class without rows"
FEASIBLE = "equal prices", "own prices", "dear biases", EMPTY
NO_PLANE = "no plane", "one row in two classes"
LATER = "below 1", "p is 1", "a column of zeros"  # with more than one step
LOOPS = (*LATER, "one step")
BY_LENGTH = "that is a slope by the length of a row, and not by its square"
HIGHEST = "every row has a price above 0, and a row of zeros the highest"
IN_COMMON = "these prices are right but for a factor that all have in common"
ENTRIES = "each entry has a price of its own, and a row should have one"
OTHER_SLOPE = "that is not the slope of this penalty: is it smoothed in the same way?"
FREE_BIASES = "all margins hold, and less is possible: what do the biases cost?"
DEARER = "all margins hold, and less is possible: what does each row cost?"
NO_MARGIN = "a margin is below 1: is it each class against all others?"
NO_WEIGHTS = "no weights have these margins, and something is returned"
OTHER_SUM = "the shares of the class, or of the others, do not add up to 1"
OTHER_MIXTURE = "the two mixtures are not the same point"
A_PLANE = "a plane separates this class, so that nothing can be a certificate"
NO_CERTIFICATE = "no plane separates this class, and None is returned"
LAST_MARGIN = "a margin of the last weights is below 1"
FIRST_VALUE = "the first value is not the penalty after the step with equal prices"
LATER_VALUE = "the first value is right, and a later one is not: which prices has its step?"
RISES = "the penalty rises in a step, which these prices do not allow"
OTHER_WEIGHTS = "the values are right, and the weights are not those of the last one"

STEP = """
def joint_step(X, labels, n_classes, lam):
    Z = np.column_stack([X, np.ones(len(X))]) / np.sqrt(lam)
    Y = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    U = cp.Variable((Z.shape[1], n_classes))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(U)), [cp.multiply(Y, Z @ U) >= 1])
    problem.solve(solver=cp.CLARABEL)
    return U.value / np.sqrt(lam)[:, None] if problem.status == "optimal" else None
"""
# the right functions, under other names, where another question shall not be lost as well
RIGHT_LOOP = (
    STEP.replace("joint_step", "right_step")
    + """
def reweighted_rows(X, labels, n_classes, p, eps, steps):
    lam, values = np.ones(X.shape[1] + 1), []
    for _ in range(steps):
        W = right_step(X, labels, n_classes, lam)
        smooth = (W**2).sum(axis=1) + eps**2
        values.append((smooth ** (p / 2)).sum())
        lam = p / 2 * smooth ** (p / 2 - 1)
    return W, np.array(values)
"""
)
WRONG = {
    "the slope by the length, biases that cost nothing, and no ones": (
        """
def row_prices(W, p, eps):
    lengths = np.linalg.norm(W, axis=1)
    return p * lengths * (lengths**2 + eps**2) ** (p / 2 - 1)

def joint_step(X, labels, n_classes, lam):
    Y = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    W = cp.Variable((X.shape[1] + 1, n_classes))
    margins = cp.multiply(Y, np.column_stack([X, np.ones(len(X))]) @ W)
    rows = cp.multiply(np.sqrt(lam)[:-1, None] * np.ones((1, n_classes)), W[:-1])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(rows)), [margins >= 1])
    problem.solve(solver=cp.CLARABEL)
    return W.value if problem.status == "optimal" else None

def certificate(X, labels, k):
    signs, r = np.where(labels == k, 1.0, -1.0), cp.Variable(len(X), nonneg=True)
    mixtures = [X.T @ cp.multiply(signs, r) == 0, cp.sum(r) == 1]
    problem = cp.Problem(cp.Minimize(0), mixtures)
    problem.solve(solver=cp.CLARABEL)
    return r.value if problem.status == "optimal" else None
"""
        + RIGHT_LOOP,
        {
            ("row_prices", NOT_ZERO): BY_LENGTH,
            ("row_prices", "rows of zeros"): HIGHEST,
            ("joint_step", FEASIBLE): FREE_BIASES,
            ("certificate", NO_PLANE): OTHER_SUM,
        },
    ),
    "a factor in the prices, scores against each other, and answers where there are none": (
        """
def row_prices(W, p, eps):
    return ((W**2).sum(axis=1) + eps**2) ** (p / 2 - 1)

def joint_step(X, labels, n_classes, lam):
    Z = np.column_stack([X, np.ones(len(X))]) / np.sqrt(lam)
    U = cp.Variable((Z.shape[1], n_classes))
    scores = Z @ U
    own = np.eye(n_classes)[labels]
    gaps = cp.sum(cp.multiply(own, scores), axis=1, keepdims=True) - scores
    problem = cp.Problem(cp.Minimize(cp.sum_squares(U)), [gaps >= 1 - own])
    problem.solve(solver=cp.CLARABEL)
    if problem.status != "optimal":
        return np.zeros((Z.shape[1], n_classes))
    return U.value / np.sqrt(lam)[:, None]

def certificate(X, labels, k):
    own = labels == k
    return np.where(own, 1 / own.sum(), 1 / (~own).sum())
"""
        + RIGHT_LOOP,
        {
            ("row_prices", PRICES): IN_COMMON,
            ("joint_step", FEASIBLE): NO_MARGIN,
            ("joint_step", "no margins"): NO_WEIGHTS,
            ("certificate", NO_PLANE): OTHER_MIXTURE,
            ("certificate", "a plane"): A_PLANE,
        },
    ),
    "a price for each entry, classes by their labels, and never a certificate": (
        """
def row_prices(W, p, eps):
    return p / 2 * (W**2 + eps**2) ** (p / 2 - 1)
"""
        + STEP.replace("np.arange(n_classes)", "np.unique(labels)")
        .replace("n_classes))", "Y.shape[1]))")
        .replace("return U.value", "W = U.value")
        + """\
    if W is None or W.shape[1] == n_classes:
        return W
    return np.hstack([np.zeros((len(W), 1)), W])

def certificate(X, labels, k):
    return None

def reweighted_rows(X, labels, n_classes, p, eps, steps):
    W = joint_step(X, labels, n_classes, np.ones(X.shape[1] + 1))
    return W, np.full(steps, (((W**2).sum(axis=1) + eps**2) ** (p / 2)).sum())
""",
        {
            ("row_prices", PRICES): ENTRIES,
            ("joint_step", EMPTY): NO_MARGIN,
            ("certificate", NO_PLANE): NO_CERTIFICATE,
            ("reweighted_rows", LATER): LATER_VALUE,
        },
    ),
    "prices of another smoothing, all rows at one price, and values without smoothing": (
        """
def row_prices(W, p, eps):
    return p / 2 * np.maximum(np.linalg.norm(W, axis=1), eps) ** (p - 2.0)
"""
        + STEP.replace(
            "    Z =", "    lam = np.append(np.full(X.shape[1], lam[0]), lam[-1])\n    Z ="
        )
        + RIGHT_LOOP.replace("(smooth ** (p / 2))", "(np.linalg.norm(W, axis=1) ** p)"),
        {
            ("row_prices", PRICES): OTHER_SLOPE,
            ("joint_step", ("own prices", "dear biases", EMPTY)): DEARER,
            ("reweighted_rows", LOOPS): FIRST_VALUE,
        },
    ),
    "the values of the loop, with the weights of its first step": (
        RIGHT_LOOP.replace("W, np", "right_step(X, labels, n_classes, np.ones(len(lam))), np"),
        {("reweighted_rows", LATER): OTHER_WEIGHTS},
    ),
}


def one_price_off(answer, true, given, error):
    """In one row only, so that it is no factor of them all."""
    return answer * (1 + error * (np.arange(len(answer)) == 0))


def twice_but_one(answer, true, given, error):
    return 2 * one_price_off(answer, true, given, error)


def slopes_but_one(answer, true, given, error):
    slopes = 2 * np.linalg.norm(given.W, axis=1) * answer
    return one_price_off(slopes, true, given, error)


def dearer(answer, true, given, error):
    return answer * np.sqrt(1 + error)


def negative_share(answer, true, given, error):
    """A share of nearly zero is below it; what this does to sums and mixtures is as small."""
    r = answer.copy()
    r[r.argmin()] = -error
    return r


def other_mixture(answer, true, given, error):
    """The class has another mixture, of the same sum: one row gives a little to another."""
    r, own = answer.copy(), np.flatnonzero(given.labels == given.k)
    gives = own[r[own].argmax()]
    gaps = abs(given.X[own] - given.X[gives]).max(axis=1)
    little = error * abs(given.X).max() / gaps.max()
    r[own[gaps.argmax()]] += little
    r[gives] -= little
    return r


def penalty(W, given):
    return (((W**2).sum(axis=1) + given.eps**2) ** (given.p / 2)).sum()


def smaller_weights(answer, true, given, error):
    return answer[0] * (1 - error), answer[1]


def weights_of_another_penalty(answer, true, given, error):
    """Longer ones, which have the margins too."""
    W, values = answer
    target = values[-1] * (1 + error)
    return until(lambda W: penalty(W, given), W, 2 * W, target), values


def first_value_off(answer, true, given, error):
    return answer[0], [answer[1][0] * (1 + error), *answer[1][1:]]


def last_value_off(answer, true, given, error):
    return answer[0], [*answer[1][:-1], answer[1][-1] * (1 + error)]


def a_last_rise(answer, true, given, error):
    """All values as the first one, but for the last, which is above it."""
    constant = np.full(len(answer[1]), answer[1][0])
    return last_value_off((answer[0], constant), true, given, error)


BORDERS = [
    *either_side("row_prices", PRICES, 1e-6, one_price_off, OTHER_SLOPE),
    *either_side("row_prices", PRICES, 1e-6, twice_but_one, OTHER_SLOPE, within=IN_COMMON),
    *either_side("row_prices", NOT_ZERO, 1e-6, slopes_but_one, OTHER_SLOPE, within=BY_LENGTH),
    *either_side("joint_step", FEASIBLE, -1e-4, scaled, NO_MARGIN),
    *either_side("joint_step", FEASIBLE, 1e-4, dearer, DEARER),
    *either_side("certificate", NO_PLANE[1], 1e-6, negative_share, "a share is below 0"),
    *either_side("certificate", NO_PLANE, 1e-5, scaled, OTHER_SUM),
    *either_side("certificate", NO_PLANE, 1e-5, other_mixture, OTHER_MIXTURE),
    *either_side("reweighted_rows", LOOPS, 1e-4, smaller_weights, LAST_MARGIN),
    *either_side("reweighted_rows", LOOPS, 1e-3, first_value_off, FIRST_VALUE),
    *either_side("reweighted_rows", LATER, -1e-3, last_value_off, LATER_VALUE),
    *either_side("reweighted_rows", LATER, 1e-3, a_last_rise, RISES, within=LATER_VALUE),
    *either_side("reweighted_rows", LOOPS, 1e-3, weights_of_another_penalty, OTHER_WEIGHTS),
]
FREE = {
    "shares, distance = nnls(E, goal, maxiter=100 * len(A))": "a limit of iterations, of which "
    "fewer than three for each row of A are needed",
    "if distance < 1e-6:  # a mixture of the rows of A is zero": "in every case the distance is "
    "nothing but rounding, below 1e-14, or more than 0.1",
}
