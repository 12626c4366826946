"""Answers to the assignment on hierarchical Bayes EM that are not right, and what they cost."""

import numpy as np
from borders import Near, either_side, scaled, until

PRICES = "logarithm", "other powers", "dead weights"
STEPS = "equal prices", "own prices", "prices far apart", "infinite prices"
KEPT = "logarithm", "other powers", "few machines"
LOOPS = (*KEPT, "nothing is left")
DYING = "logarithm", "below 1", "p is 1"
BY_MODULUS = "that goes as the slope by |w|: the step charges the square"
IN_COMMON = "these prices are right but for a factor that all have in common"
NOT_THE_SLOPE = "that is not the slope by the square: does it depend on p, and not on the sign?"
DEAD = "a weight at or below the floor is dead, and has another price"
INFINITE = "a weight above the floor has an infinite price"
LESS_LOST = "less is lost than is worth its price: are the weights charged too little?"
MORE_LOST = "more is lost than need be: are the weights, or the offset, too dear?"
NO_OFFSET = "this machine has no offset, and one with an offset has a lower value"
NOT_ZERO = "a weight of infinite price is not zero"
FORGOTTEN = "a weight is alive that the loop forgets"
OTHER_WEIGHTS = "the right features with other weights: count the machines, and is each exact?"
OTHER_OFFSET = "the weights are right, and the offset is not that of the last machine"
NOT_CUT = "a small weight of the last machine is not set to zero"
ALIVE = (
    "a weight is declared alive that dies: where does the first machine leave it, and where do all?"
)
LIVES = "a weight is declared dead that lives: is it on the right side of the border?"
FLAT = "can a weight die where the penalty is flat at zero?"
OTHER_ENDS = "the right ones live, and not with the right weights"

STEP = """
def weighted_step(X, y, C, lam):
    sizes = 1 / np.sqrt(lam)
    u, b = cp.Variable(X.shape[1]), cp.Variable()
    losses = cp.pos(1 - cp.multiply(y, (X * sizes) @ u + b))
    cp.Problem(cp.Minimize(cp.sum_squares(u) + C * cp.sum(losses))).solve(solver=cp.CLARABEL)
    return sizes * u.value, float(b.value)
"""
# the right functions, under other names, where another question shall not be lost as well
RIGHT_STEP = STEP.replace("weighted_step", "right_step")
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
TWICE = """
def prices(v, p, floor):
    live = abs(v) > floor
    return np.where(live, 2 * np.where(live, abs(v), 1) ** (p - 2), np.inf)
"""
WRONG = {
    "the slope by the weight in place of that by its square": (
        TWICE.replace("p - 2", "p - 1") + RIGHT_LOOP,
        {("prices", PRICES): BY_MODULUS},
    ),
    "a factor of two in all prices, and one half before the squares": (
        TWICE + STEP.replace("squares(u)", "squares(u) / 2") + RIGHT_LOOP,
        {("prices", PRICES): IN_COMMON, ("weighted_step", STEPS): LESS_LOST},
    ),
    "a floor in place of death, the mean of the losses, and no loop": (
        """
def prices(v, p, floor):
    return np.maximum(abs(v), floor) ** (p - 2.0)
"""
        + STEP.replace("cp.sum(losses)", "cp.sum(losses) / len(y)")
        + RIGHT_STEP
        + """
def reweighted(X, y, C, p, floor, steps):
    w, b = right_step(X, y, C, np.ones(X.shape[1]))
    return np.where(abs(w) > floor, w, 0), b
""",
        {
            ("prices", "dead weights"): DEAD,
            ("weighted_step", STEPS): MORE_LOST,
            ("reweighted", ("logarithm", "nothing is left")): FORGOTTEN,
            ("reweighted", ("other powers", "few machines")): OTHER_WEIGHTS,
        },
    ),
    "no offset": (
        STEP.replace(", b = cp.Variable(X.shape[1]), cp.Variable()", " = cp.Variable(X.shape[1])")
        .replace("@ u + b", "@ u")
        .replace("float(b.value)", "0.0")
        + RIGHT_LOOP.replace("return w, b", "return w, 0.0"),
        {("weighted_step", STEPS): NO_OFFSET, ("reweighted", LOOPS): OTHER_OFFSET},
    ),
    "by hand, without the first machine, and with a division by zero": (
        """
def ends(m, k, C, p):
    pull = C * k * m**p
    if p < 1:
        return np.where(pull > 1, 1 / m, 0)
    return np.minimum(1, pull ** (1 / (p - 1))) / m
""",
        {
            ("ends", ("logarithm", "below 1")): ALIVE,
            ("ends", "p is 1"): "it raises ZeroDivisionError",
        },
    ),
    "the last weights as they are, and a hundred machines in place of a formula": (
        """
def reweighted(X, y, C, p, floor, steps):
    lam = np.ones(X.shape[1])
    for _ in range(steps):
        w, b = weighted_step(X, y, C, lam)
        lam = prices(w, p, floor)
    return w, b

def ends(m, k, C, p):
    w = np.ones(len(m))
    for _ in range(100):
        w = np.minimum(1 / m, C * k * m * w ** (2 - p))
    return w
""",
        {("reweighted", "logarithm"): NOT_CUT, ("ends", "p is 1"): ALIVE},
    ),
    "by hand, where every weight can die": (
        """
def ends(m, k, C, p):
    return np.where((C * k * m**p > 1) & (C * k * m > 1), 1 / m, 0)
""",
        {("ends", "above 1"): FLAT},
    ),
    "by hand, scores in place of weights": (
        """
def ends(m, k, C, p):
    pull = C * k * m**p
    if p <= 1:
        return np.where((pull > 1) & (C * k * m > 1), 1.0, 0.0)
    return np.minimum(1, pull ** (1 / (p - 1)))
""",
        {("ends", (*DYING, "above 1")): OTHER_ENDS},
    ),
}


def changed(values, place, value):
    return np.where(np.arange(len(values)) == place, value, values)


def one_price_more(answer, true, given, error):
    return changed(answer, 0, answer[0] * (1 + error))


def thrice_but_one(answer, true, given, error):
    return 3 * one_price_more(answer, true, given, error)


def slopes_but_one(answer, true, given, error):
    return one_price_more(answer * np.maximum(abs(given.v), given.floor), true, given, error)


def losses(given, w, b):
    return np.maximum(0, 1 - given.y * (given.X @ w + b)).sum()


def dearer_offset(answer, true, given, error):
    """The same weights, with an offset by which the objective of task 2 is higher."""
    (w, b), (least, _) = answer, true
    live = np.isfinite(given.lam)
    paid = given.lam[live] @ w[live] ** 2
    highest = (least * (1 + error) - paid) / given.C
    return w, until(lambda b: losses(given, w, b), b, b + 1, highest)


def alive_at_infinite_price(answer, true, given):
    return np.where(np.isinf(given.lam), 1e-9, answer[0]), answer[1]


def one_weight_more(answer, true, given, error):
    w, place = true[0], abs(true[0]).argmax()
    return changed(w, place, w[place] + error), answer[1]


def without_the_largest(answer, true, given):
    return changed(answer[0], abs(true[0]).argmax(), 0), answer[1]


def worse_offset(answer, true, given, error):
    (w, b), (_, best) = answer, true
    highest = losses(given, w, best) + error
    return w, until(lambda b: losses(given, w, b), b, b + 1, highest)


def negative_where_infinite(answer, true, given):
    return np.where(np.isinf(answer), -np.inf, answer)


def dead_ones_alive(answer, true, given, error):
    return np.where(true == 0, error, answer)


BORDERS = [
    *either_side("prices", PRICES, 1e-6, one_price_more, NOT_THE_SLOPE),
    *either_side("prices", PRICES, -1e-6, scaled, IN_COMMON),
    *either_side("prices", PRICES, 1e-6, thrice_but_one, NOT_THE_SLOPE, within=IN_COMMON),
    *either_side("prices", PRICES, 1e-6, slopes_but_one, NOT_THE_SLOPE, within=BY_MODULUS),
    *either_side("weighted_step", STEPS, 1e-4, dearer_offset, MORE_LOST),
    Near("weighted_step", "infinite prices", alive_at_infinite_price, NOT_ZERO),
    *either_side("reweighted", KEPT, 1e-3, one_weight_more, OTHER_WEIGHTS),
    *either_side("reweighted", LOOPS, 1e-3, worse_offset, OTHER_OFFSET),
    Near("prices", "dead weights", negative_where_infinite, "a price is above 0"),
    Near("prices", PRICES, lambda answer, true, given: changed(answer, 0, np.inf), INFINITE),
    Near("reweighted", KEPT, without_the_largest, "a weight is lost that the loop keeps"),
    *either_side("ends", (*DYING, "above 1"), 1e-6, scaled, OTHER_ENDS),
    *either_side("ends", DYING, 1e-6, dead_ones_alive, ALIVE),
    Near("ends", DYING, lambda answer, true, given: changed(answer, true.argmax(), 0), LIVES),
]
FREE = {
    "for _ in range(300):": "so many machines are enough for the cases that are drawn",
    "w = (C * k * m) ** 1e6": "so many machines are enough beside borders 1e-4 away",
    "return np.where(w > 1e-9, w, 0)": "then what dies is below 1e-99, and what lives above 1e-4",
}
