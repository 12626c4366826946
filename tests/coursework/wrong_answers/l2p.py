"""Answers to the assignment on l2,p reweighting that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import numpy as np
from borders import either_side, until

# the right functions, under other names, where another question shall not be lost as well
RIGHT_STEP = """
def right_step(X, labels, n_classes, lam):
    Z = np.column_stack([X, np.ones(len(X))]) / np.sqrt(lam)
    Y = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    U = cp.Variable((Z.shape[1], n_classes))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(U)), [cp.multiply(Y, Z @ U) >= 1])
    problem.solve(solver=cp.CLARABEL)
    return U.value / np.sqrt(lam)[:, None]
"""
RIGHT_LOOP = (
    RIGHT_STEP
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
PRICES = "lengths", "classes turned", "rows of zeros"
FEASIBLE = "equal prices", "own prices", "dear biases", "a class without rows"
LOOPS = "below 1", "p is 1", "one step", "a column of zeros"

WRONG = {
    "the slope by the length, biases that cost nothing, and no ones": (
        {
            "row_prices": """
def row_prices(W, p, eps):
    lengths = np.linalg.norm(W, axis=1)
    return p * lengths * (lengths**2 + eps**2) ** (p / 2 - 1)
""",
            "joint_step": """
def joint_step(X, labels, n_classes, lam):
    Y = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    W = cp.Variable((X.shape[1] + 1, n_classes))
    margins = cp.multiply(Y, np.column_stack([X, np.ones(len(X))]) @ W)
    rows = cp.multiply(np.sqrt(lam)[:-1, None] * np.ones((1, n_classes)), W[:-1])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(rows)), [margins >= 1])
    problem.solve(solver=cp.CLARABEL)
    return W.value if problem.status == "optimal" else None
""",
            "certificate": """
def certificate(X, labels, k):
    signs, r = np.where(labels == k, 1.0, -1.0), cp.Variable(len(X), nonneg=True)
    mixtures = [X.T @ cp.multiply(signs, r) == 0, cp.sum(r) == 1]
    problem = cp.Problem(cp.Minimize(0), mixtures)
    problem.solve(solver=cp.CLARABEL)
    return r.value if problem.status == "optimal" else None
""",
            "reweighted_rows": RIGHT_LOOP,
        },
        {
            ("row_prices", part): "that is a slope by the length of a row, and not by its square"
            for part in ("lengths", "classes turned")
        }
        | {
            ("row_prices", "rows of zeros"): "every row has a price above 0, and a row of zeros "
            "the highest"
        }
        | {
            ("joint_step", part): "all margins hold, and less is possible: what do the biases cost?"
            for part in FEASIBLE
        }
        | {
            ("certificate", part): "the shares of the class, or of the others, do not add up to 1"
            for part in ("no plane", "one row in two classes")
        },
    ),
    "a factor in the prices, scores against each other, and answers where there are none": (
        {
            "row_prices": """
def row_prices(W, p, eps):
    return ((W**2).sum(axis=1) + eps**2) ** (p / 2 - 1)
""",
            "joint_step": """
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
""",
            "certificate": """
def certificate(X, labels, k):
    own = labels == k
    return np.where(own, 1 / own.sum(), 1 / (~own).sum())
""",
            "reweighted_rows": RIGHT_LOOP,
        },
        {
            ("row_prices", part): "these prices are right but for a factor that all have in common"
            for part in PRICES
        }
        | {
            ("joint_step", part): "a margin is below 1: is it each class against all others?"
            for part in FEASIBLE
        }
        | {("joint_step", "no margins"): "no weights have these margins, and something is returned"}
        | {
            ("certificate", part): "the two mixtures are not the same point"
            for part in ("no plane", "one row in two classes")
        }
        | {
            ("certificate", "a plane"): "a plane separates this class, so that nothing can be a "
            "certificate"
        },
    ),
    "a price for each entry, classes by their labels, and never a certificate": (
        {
            "row_prices": """
def row_prices(W, p, eps):
    return p / 2 * (W**2 + eps**2) ** (p / 2 - 1)
""",
            "joint_step": """
def joint_step(X, labels, n_classes, lam):
    Z = np.column_stack([X, np.ones(len(X))]) / np.sqrt(lam)
    Y = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)
    U = cp.Variable((Z.shape[1], Y.shape[1]))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(U)), [cp.multiply(Y, Z @ U) >= 1])
    problem.solve(solver=cp.CLARABEL)
    if problem.status != "optimal":
        return None
    W = U.value / np.sqrt(lam)[:, None]
    return W if W.shape[1] == n_classes else np.hstack([np.zeros((len(W), 1)), W])
""",
            "certificate": """
def certificate(X, labels, k):
    return None
""",
            "reweighted_rows": """
def reweighted_rows(X, labels, n_classes, p, eps, steps):
    W = joint_step(X, labels, n_classes, np.ones(X.shape[1] + 1))
    return W, np.full(steps, (((W**2).sum(axis=1) + eps**2) ** (p / 2)).sum())
""",
        },
        {
            ("row_prices", part): "each entry has a price of its own, and a row should have one"
            for part in PRICES
        }
        | {
            (
                "joint_step",
                "a class without rows",
            ): "a margin is below 1: is it each class against all others?"
        }
        | {
            ("certificate", part): "no plane separates this class, and None is returned"
            for part in ("no plane", "one row in two classes")
        }
        | {
            ("reweighted_rows", part): "the first value is right, and a later one is not: which "
            "prices has its step?"
            for part in ("below 1", "p is 1", "a column of zeros")
        },
    ),
    "prices of another smoothing, all rows at one price, and values without smoothing": (
        {
            "row_prices": """
def row_prices(W, p, eps):
    return p / 2 * np.maximum(np.linalg.norm(W, axis=1), eps) ** (p - 2.0)
""",
            "joint_step": """
def joint_step(X, labels, n_classes, lam):
    Z = np.column_stack([X, np.ones(len(X))])
    Z[:, -1] /= np.sqrt(lam[-1])
    Y = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    U = cp.Variable((Z.shape[1], n_classes))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(U[:-1]) * lam[0] + cp.sum_squares(U[-1])),
                         [cp.multiply(Y, Z @ U) >= 1])
    problem.solve(solver=cp.CLARABEL)
    if problem.status != "optimal":
        return None
    return np.vstack([U.value[:-1], U.value[-1:] / np.sqrt(lam[-1])])
""",
            "reweighted_rows": RIGHT_LOOP.replace(
                "values.append((smooth ** (p / 2)).sum())",
                "values.append((np.linalg.norm(W, axis=1) ** p).sum())",
            ),
        },
        {
            ("row_prices", part): "that is not the slope of this penalty: is it smoothed in the "
            "same way?"
            for part in PRICES
        }
        | {
            ("joint_step", part): "all margins hold, and less is possible: what does each row cost?"
            for part in ("own prices", "dear biases", "a class without rows")
        }
        | {
            ("reweighted_rows", part): "the first value is not the penalty after the step with "
            "equal prices"
            for part in LOOPS
        },
    ),
    "the values of the loop, with the weights of its first step": (
        {
            "reweighted_rows": RIGHT_LOOP.replace(
                "return W, np.array(values)",
                "return right_step(X, labels, n_classes, np.ones(X.shape[1] + 1)), values",
            )
        },
        {
            ("reweighted_rows", part): "the values are right, and the weights are not those of the "
            "last one"
            for part in ("below 1", "p is 1", "a column of zeros")
        },
    ),
}


NO_PLANE = "no plane", "one row in two classes"
LATER = "below 1", "p is 1", "a column of zeros"  # with more than one step
OTHER_SLOPE = "that is not the slope of this penalty: is it smoothed in the same way?"
LATER_VALUE = "the first value is right, and a later one is not: which prices has its step?"


def one_price_off(prices, place, error):
    """In one row only, so that it is no factor of them all."""
    return prices * (1 + error * (np.arange(len(prices)) == place))


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


def weights_of_another_penalty(answer, true, given, error):
    """Longer ones, which have the margins too."""
    W, values = answer
    target = values[-1] * (1 + error)
    return until(lambda W: penalty(W, given), W, 2 * W, target), values


def one_value_off(answer, place, error):
    W, values = answer
    return W, values * (1 + error * (np.arange(len(values)) == place))


def a_last_rise(answer, true, given, error):
    """All values as the first one, but for the last, which is above it."""
    W, values = answer
    return one_value_off((W, np.full(len(values), values[0])), len(values) - 1, error)


BORDERS = [
    *either_side(
        "row_prices",
        PRICES,
        1e-6,
        lambda answer, true, given, error: one_price_off(answer, 0, error),
        OTHER_SLOPE,
    ),
    *either_side(
        "row_prices",
        PRICES,
        1e-6,
        lambda answer, true, given, error: one_price_off(2 * answer, 0, error),
        OTHER_SLOPE,
        within="these prices are right but for a factor that all have in common",
    ),
    *either_side(
        "row_prices",
        ("lengths", "classes turned"),
        1e-6,
        lambda answer, true, given, error: one_price_off(
            2 * np.linalg.norm(given.W, axis=1) * answer, 0, error
        ),
        OTHER_SLOPE,
        within="that is a slope by the length of a row, and not by its square",
    ),
    *either_side(
        "joint_step",
        FEASIBLE,
        1e-4,
        lambda answer, true, given, error: answer * (1 - error),
        "a margin is below 1: is it each class against all others?",
    ),
    *either_side(
        "joint_step",
        FEASIBLE,
        1e-4,
        lambda answer, true, given, error: answer * np.sqrt(1 + error),
        "all margins hold, and less is possible: what does each row cost?",
    ),
    *either_side(
        "certificate",
        "one row in two classes",
        1e-6,
        negative_share,
        "a share is below 0",
    ),
    *either_side(
        "certificate",
        NO_PLANE,
        1e-5,
        lambda answer, true, given, error: answer * (1 + error),
        "the shares of the class, or of the others, do not add up to 1",
    ),
    *either_side(
        "certificate",
        NO_PLANE,
        1e-5,
        other_mixture,
        "the two mixtures are not the same point",
    ),
    *either_side(
        "reweighted_rows",
        LOOPS,
        1e-4,
        lambda answer, true, given, error: (answer[0] * (1 - error), answer[1]),
        "a margin of the last weights is below 1",
    ),
    *either_side(
        "reweighted_rows",
        LOOPS,
        1e-3,
        lambda answer, true, given, error: one_value_off(answer, 0, error),
        "the first value is not the penalty after the step with equal prices",
    ),
    *either_side(
        "reweighted_rows",
        LATER,
        1e-3,
        lambda answer, true, given, error: one_value_off(answer, given.steps - 1, -error),
        LATER_VALUE,
    ),
    *either_side(
        "reweighted_rows",
        LATER,
        1e-3,
        a_last_rise,
        "the penalty rises in a step, which these prices do not allow",
        within=LATER_VALUE,
    ),
    *either_side(
        "reweighted_rows",
        LOOPS,
        1e-3,
        weights_of_another_penalty,
        "the values are right, and the weights are not those of the last one",
    ),
]
FREE = {
    "shares, distance = nnls(E, goal, maxiter=100 * len(A))": "a limit of iterations, of which "
    "fewer than three for each row of A are needed",
    "if distance < 1e-6:  # a mixture of the rows of A is zero": "in every case the distance is "
    "nothing but rounding, below 1e-14, or more than 0.1",
}
