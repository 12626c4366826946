"""Answers to the assignment on hierarchical Bayes EM that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import numpy as np
from borders import Near, either_side, until

# the right functions, under other names, where another question shall not be lost as well
RIGHT_STEP = """
def right_step(X, y, C, lam):
    sizes = 1 / np.sqrt(lam)
    u, b = cp.Variable(X.shape[1]), cp.Variable()
    losses = cp.pos(1 - cp.multiply(y, (X * sizes) @ u + b))
    cp.Problem(cp.Minimize(cp.sum_squares(u) + C * cp.sum(losses))).solve(solver=cp.CLARABEL)
    return sizes * u.value, float(b.value)
"""
RIGHT_LOOP = (
    RIGHT_STEP
    + """

def reweighted(X, y, C, p, floor, steps):
    lam = np.ones(X.shape[1])
    for _ in range(steps):
        w, b = right_step(X, y, C, lam)
        live = abs(w) > floor
        w = np.where(live, w, 0)
        lam = np.where(live, np.where(live, abs(w), 1) ** (p - 2), np.inf)
    return w, b
"""
)
PRICES = "logarithm", "other powers", "dead weights"
STEPS = "equal prices", "own prices", "prices far apart", "infinite prices"
LOOPS = "logarithm", "other powers", "few machines", "nothing is left"
ENDS = "logarithm", "below 1", "p is 1", "above 1"

WRONG = {
    "the slope by the weight in place of that by its square": (
        {
            "prices": """
def prices(v, p, floor):
    live = abs(v) > floor
    return np.where(live, 2 * np.where(live, abs(v), 1) ** (p - 1), np.inf)
""",
            "reweighted": RIGHT_LOOP,
        },
        {
            ("prices", part): "that goes as the slope by |w|: the step charges the square"
            for part in PRICES
        },
    ),
    "a factor of two in all prices, and one half before the squares": (
        {
            "prices": """
def prices(v, p, floor):
    live = abs(v) > floor
    return np.where(live, 2 * np.where(live, abs(v), 1) ** (p - 2), np.inf)
""",
            "weighted_step": """
def weighted_step(X, y, C, lam):
    sizes = 1 / np.sqrt(lam)
    u, b = cp.Variable(X.shape[1]), cp.Variable()
    losses = cp.pos(1 - cp.multiply(y, (X * sizes) @ u + b))
    cp.Problem(cp.Minimize(cp.sum_squares(u) / 2 + C * cp.sum(losses))).solve(solver=cp.CLARABEL)
    return sizes * u.value, float(b.value)
""",
            "reweighted": RIGHT_LOOP,
        },
        {
            ("prices", part): "these prices are right but for a factor that all have in common"
            for part in PRICES
        }
        | {
            ("weighted_step", part): "less is lost than is worth its price: are the weights "
            "charged too little?"
            for part in STEPS
        },
    ),
    "a floor in place of death, the mean of the losses, and no loop": (
        {
            "prices": """
def prices(v, p, floor):
    return np.maximum(abs(v), floor) ** (p - 2.0)
""",
            "weighted_step": """
def weighted_step(X, y, C, lam):
    sizes = 1 / np.sqrt(lam)
    u, b = cp.Variable(X.shape[1]), cp.Variable()
    losses = cp.pos(1 - cp.multiply(y, (X * sizes) @ u + b))
    cp.Problem(cp.Minimize(cp.sum_squares(u) + C * cp.sum(losses) / len(y))).solve(
        solver=cp.CLARABEL
    )
    return sizes * u.value, float(b.value)
""",
            "reweighted": RIGHT_STEP
            + """

def reweighted(X, y, C, p, floor, steps):
    w, b = right_step(X, y, C, np.ones(X.shape[1]))
    return np.where(abs(w) > floor, w, 0), b
""",
        },
        {
            (
                "prices",
                "dead weights",
            ): "a weight at or below the floor is dead, and has another price"
        }
        | {
            ("weighted_step", part): "more is lost than need be: are the weights, or the offset, "
            "too dear?"
            for part in STEPS
        }
        | {
            ("reweighted", part): "a weight is alive that the loop forgets"
            for part in ("logarithm", "nothing is left")
        }
        | {
            ("reweighted", part): "the right features with other weights: count the machines, and "
            "is each exact?"
            for part in ("other powers", "few machines")
        },
    ),
    "no offset": (
        {
            "weighted_step": """
def weighted_step(X, y, C, lam):
    sizes = 1 / np.sqrt(lam)
    u = cp.Variable(X.shape[1])
    losses = cp.pos(1 - cp.multiply(y, (X * sizes) @ u))
    cp.Problem(cp.Minimize(cp.sum_squares(u) + C * cp.sum(losses))).solve(solver=cp.CLARABEL)
    return sizes * u.value, 0.0
""",
            "reweighted": RIGHT_LOOP.replace("return w, b", "return w, 0.0"),
        },
        {
            ("weighted_step", part): "this machine has no offset, and one with an offset has a "
            "lower value"
            for part in STEPS
        }
        | {
            ("reweighted", part): "the weights are right, and the offset is not that of the last "
            "machine"
            for part in LOOPS
        },
    ),
    "by hand, without the first machine, and with a division by zero": (
        {
            "ends": """
def ends(m, k, C, p):
    pull = C * k * m**p
    if p < 1:
        return np.where(pull > 1, 1 / m, 0)
    return np.minimum(1, pull ** (1 / (p - 1))) / m
"""
        },
        {
            ("ends", part): "a weight is declared alive that dies: where does the first machine "
            "leave it, and where do all?"
            for part in ("logarithm", "below 1")
        }
        | {("ends", "p is 1"): "it raises ZeroDivisionError"},
    ),
    "the last weights as they are, and a hundred machines in place of a formula": (
        {
            "reweighted": """
def reweighted(X, y, C, p, floor, steps):
    lam = np.ones(X.shape[1])
    for _ in range(steps):
        w, b = weighted_step(X, y, C, lam)
        lam = prices(w, p, floor)
    return w, b
""",
            "ends": """
def ends(m, k, C, p):
    w = np.ones(len(m))
    for _ in range(100):
        w = np.minimum(1 / m, C * k * m * w ** (2 - p))
    return w
""",
        },
        {
            ("reweighted", "logarithm"): "a small weight of the last machine is not set to zero",
            ("ends", "p is 1"): "a weight is declared alive that dies: where does the first "
            "machine leave it, and where do all?",
        },
    ),
    "by hand, where every weight can die": (
        {
            "ends": """
def ends(m, k, C, p):
    return np.where((C * k * m**p > 1) & (C * k * m > 1), 1 / m, 0)
"""
        },
        {("ends", "above 1"): "can a weight die where the penalty is flat at zero?"},
    ),
    "by hand, scores in place of weights": (
        {
            "ends": """
def ends(m, k, C, p):
    pull = C * k * m**p
    if p <= 1:
        return np.where((pull > 1) & (C * k * m > 1), 1.0, 0.0)
    return np.minimum(1, pull ** (1 / (p - 1)))
"""
        },
        {("ends", part): "the right ones live, and not with the right weights" for part in ENDS},
    ),
}


IN_COMMON = "these prices are right but for a factor that all have in common"
BY_MODULUS = "that goes as the slope by |w|: the step charges the square"
NOT_THE_SLOPE = "that is not the slope by the square: does it depend on p, and not on the sign?"
DEARER = "more is lost than need be: are the weights, or the offset, too dear?"
KEPT = "logarithm", "other powers", "few machines"


def changed(values, place, value):
    return np.where(np.arange(len(values)) == place, value, values)


def one_price_more(prices, error):
    return changed(prices, 0, prices[0] * (1 + error))


def losses(given, w, b):
    return np.maximum(0, 1 - given.y * (given.X @ w + b)).sum()


def dearer_offset(answer, true, given, error):
    """The same weights, with an offset by which the objective of task 2 is higher."""
    (w, b), (least, _) = answer, true
    live = np.isfinite(given.lam)
    paid = given.lam[live] @ w[live] ** 2
    highest = (least * (1 + error) - paid) / given.C
    return w, until(lambda b: losses(given, w, b), b, b + 1, highest)


def one_weight_more(answer, true, given, error):
    w, place = true[0], abs(true[0]).argmax()
    return changed(w, place, w[place] + error), answer[1]


def worse_offset(answer, true, given, error):
    (w, b), (_, best) = answer, true
    highest = losses(given, w, best) + error
    return w, until(lambda b: losses(given, w, b), b, b + 1, highest)


BORDERS = [
    *either_side(
        "prices",
        PRICES,
        1e-6,
        lambda answer, true, given, error: one_price_more(answer, error),
        NOT_THE_SLOPE,
    ),
    *either_side(
        "prices",
        PRICES,
        1e-6,
        lambda answer, true, given, error: answer * (1 - error),
        IN_COMMON,
    ),
    *either_side(
        "prices",
        PRICES,
        1e-6,
        lambda answer, true, given, error: 3 * one_price_more(answer, error),
        NOT_THE_SLOPE,
        within=IN_COMMON,
    ),
    *either_side(
        "prices",
        PRICES,
        1e-6,
        lambda answer, true, given, error: one_price_more(
            answer * np.maximum(abs(given.v), given.floor), error
        ),
        NOT_THE_SLOPE,
        within=BY_MODULUS,
    ),
    *either_side("weighted_step", STEPS, 1e-4, dearer_offset, DEARER),
    Near(
        "weighted_step",
        "infinite prices",
        lambda answer, true, given: (np.where(np.isinf(given.lam), 1e-9, answer[0]), answer[1]),
        "a weight of infinite price is not zero",
    ),
    *either_side(
        "reweighted",
        KEPT,
        1e-3,
        one_weight_more,
        "the right features with other weights: count the machines, and is each exact?",
    ),
    *either_side(
        "reweighted",
        LOOPS,
        1e-3,
        worse_offset,
        "the weights are right, and the offset is not that of the last machine",
    ),
    Near(
        "prices",
        "dead weights",
        lambda answer, true, given: np.where(np.isinf(answer), -np.inf, answer),
        "a price is above 0",
    ),
    Near(
        "prices",
        PRICES,
        lambda answer, true, given: changed(answer, 0, np.inf),
        "a weight above the floor has an infinite price",
    ),
    Near(
        "reweighted",
        KEPT,
        lambda answer, true, given: (changed(answer[0], abs(true[0]).argmax(), 0), answer[1]),
        "a weight is lost that the loop keeps",
    ),
    *either_side(
        "ends",
        ENDS,
        1e-6,
        lambda answer, true, given, error: answer * (1 + error),
        "the right ones live, and not with the right weights",
    ),
    *either_side(
        "ends",
        ("logarithm", "below 1", "p is 1"),
        1e-6,
        lambda answer, true, given, error: np.where(true == 0, error, answer),
        "a weight is declared alive that dies: where does the first machine leave it, and where do "
        "all?",
    ),
    Near(
        "ends",
        ("logarithm", "below 1", "p is 1"),
        lambda answer, true, given: changed(answer, true.argmax(), 0),
        "a weight is declared dead that lives: is it on the right side of the border?",
    ),
]
FREE = {
    "for _ in range(300):": "so many machines are enough for the cases that are drawn",
    "w = (C * k * m) ** 1e6": "so many machines are enough beside borders 1e-4 away",
    "return np.where(w > 1e-9, w, 0)": "then what dies is below 1e-99, and what lives above 1e-4",
}
