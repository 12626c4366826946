"""Answers to the assignment on two planes that are not right, and what they cost."""

import numpy as np
from borders import Near, either_side, scaled, until

PLANES = "any", "moved origin", "one row each"
WITH_FEATURES = "some features", "classes exchanged", "a useless column"
MOVES = "from nothing", "from everything", "dear features"
SEARCHES = (*MOVES, "nothing to gain")
NO_OFFSET = "b is 0, and should not be: is it chosen, and which bounds does a solver set by itself?"
SIGN = "which sign should w'x + b have at the rows of B?"
PLANE_COSTS = "another plane costs less: which three terms are paid, and is there a square?"
COSTS_MORE = "it costs more: are both planes paid in full, and all features that are on?"
COSTS_LESS = "it costs less: is each plane the best one on the columns that are on?"
SHARES = "which plane has the share, and which one the rest?"
OFTEN = "how often is a feature paid for?"
ROWS_PAY = "without features there is an offset left, and rows that pay"
STOPS = "one more flip would lower the value: when may the search stop?"
ONE_FEATURE = "a row should differ from the one before in one feature"
EACH_SET = "a row for each set on the way is asked for, and the first is the start"
NOT_FALLING = "the value should fall from row to row, with both planes solved anew"

PLANE = """
def plane(A, B, c_fit, c_hinge):
    w, b = cp.Variable(A.shape[1]), cp.Variable()
    losses = c_fit * cp.norm1(A @ w + b) + c_hinge * cp.sum(cp.pos(1 + B @ w + b))
    cp.Problem(cp.Minimize(cp.norm1(w) + losses)).solve(solver=cp.CLARABEL)
    return w.value, float(b.value)
"""
VALUE = """
def selection_value(A, B, chosen, c_fit, c_hinge, sigma, share):
    total = sigma * sum(chosen)
    for part, F, H in ((share, A * chosen, B * chosen), (1 - share, B * chosen, A * chosen)):
        w, b = cp.Variable(A.shape[1]), cp.Variable()
        losses = c_fit * cp.norm1(F @ w + b) + c_hinge * cp.sum(cp.pos(1 + H @ w + b))
        total += part * cp.Problem(cp.Minimize(cp.norm1(w) + losses)).solve(solver=cp.CLARABEL)
    return total
"""
WRONG = {
    "an offset that may not be negative, and a single sweep over the features": (
        """
def plane(A, B, c_fit, c_hinge):
    n, m = A.shape[1], len(A)
    cost = np.concatenate([np.ones(2 * n), [0], np.full(2 * m, c_fit), np.full(len(B), c_hinge)])
    near = np.hstack([A, -A, np.ones((m, 1)), np.eye(m), -np.eye(m), np.zeros((m, len(B)))])
    far = np.hstack([B, -B, np.ones((len(B), 1)), np.zeros((len(B), 2 * m)), -np.eye(len(B))])
    x = linprog(cost, A_ub=far, b_ub=-np.ones(len(B)), A_eq=near, b_eq=np.zeros(m)).x
    return x[:n] - x[n:2 * n], x[2 * n]
"""
        + VALUE
        + """
def flip_search(A, B, start, c_fit, c_hinge, sigma, share):
    prices = c_fit, c_hinge, sigma, share
    path, now = [start], selection_value(A, B, start, *prices)
    for j in range(len(start)):
        tried = path[-1].copy()
        tried[j] = 1 - tried[j]
        value = selection_value(A, B, tried, *prices)
        if value < now - 1e-6:
            path, now = path + [tried], value
    return np.array(path)
""",
        {
            ("plane", (*PLANES, "equal means")): NO_OFFSET,
            ("flip_search", MOVES[:2]): STOPS,
        },
    ),
    "the other class on the positive side, shares exchanged, and only the end of the search": (
        PLANE.replace("1 + B @ w + b", "1 - B @ w - b")
        + """
def selection_value(A, B, chosen, c_fit, c_hinge, sigma, share):
    total = sigma * sum(chosen)
    for part, F, H in ((1 - share, A * chosen, B * chosen), (share, B * chosen, A * chosen)):
        w, b = plane(F, H, c_fit, c_hinge)
        total += part * (abs(w).sum() + c_fit * abs(F @ w + b).sum()
                         + c_hinge * np.maximum(0, 1 - H @ w - b).sum())
    return total

def flip_search(A, B, start, c_fit, c_hinge, sigma, share):
    prices = c_fit, c_hinge, sigma, 1 - share
    now = start.copy()
    while True:
        flips = [np.where(np.arange(len(now)) == j, 1 - now, now) for j in range(len(now))]
        values = [selection_value(A, B, flip, *prices) for flip in flips]
        if min(values) >= selection_value(A, B, now, *prices) - 1e-7:
            return np.array([start, now])
        now = flips[np.argmin(values)]
""",
        {
            ("plane", (*PLANES, "equal means")): SIGN,
            ("selection_value", (*WITH_FEATURES, "no feature")): SHARES,
            ("flip_search", SEARCHES): ONE_FEATURE,
        },
    ),
    "squares in place of moduli": (
        PLANE.replace("norm1(A", "sum_squares(A")
        + VALUE.replace(
            "    total = s", "    if not chosen.any():\n        return 0.0\n    total = s"
        )
        .replace("sigma * sum(chosen)", "0")
        .replace("CLARABEL)", "CLARABEL) + sigma * sum(chosen)")
        + """
def flip_search(A, B, start, c_fit, c_hinge, sigma, share):
    return start
""",
        {
            ("plane", (*PLANES, "equal means")): PLANE_COSTS,
            ("selection_value", WITH_FEATURES): OFTEN,
            ("selection_value", "no feature"): ROWS_PAY,
            ("flip_search", SEARCHES): EACH_SET,
        },
    ),
}


def dearer_offset(answer, true, given, error):
    """The same weights, with an offset by which the plane costs more."""
    w, b = answer

    def price(b):
        near, lacks = abs(given.A @ w + b), np.maximum(0, 1 + given.B @ w + b)
        return abs(w).sum() + given.c_fit * near.sum() + given.c_hinge * lacks.sum()

    return w, until(price, b, b + 1, true * (1 + error))


def features_for_nothing(answer, true, given):
    return answer - given.sigma * given.chosen.sum()


def ragged(path, true, given):
    return path[0], path[0][1:]


def halved(path, true, given):
    return path / 2


def one_flip_more(path, true, given):
    flipped = np.where(np.arange(path.shape[1]) == 0, 1 - path[-1], path[-1])
    return np.vstack([path, flipped])


def without_the_start(path, true, given):
    return path[1:]


BORDERS = [
    *either_side("plane", PLANES, 1e-4, dearer_offset, PLANE_COSTS),
    *either_side("selection_value", WITH_FEATURES, -1e-4, scaled, COSTS_MORE),
    *either_side("selection_value", WITH_FEATURES, 1e-4, scaled, COSTS_LESS),
    *either_side("selection_value", "no feature", 1e-4, scaled, ROWS_PAY),
    Near("selection_value", WITH_FEATURES, features_for_nothing, OFTEN),
    Near("flip_search", SEARCHES, ragged, EACH_SET),
    Near("flip_search", SEARCHES, halved, "a feature is on or off: 1 or 0"),
    Near("flip_search", MOVES, without_the_start, "the first row should be the start"),
    Near("flip_search", SEARCHES, one_flip_more, NOT_FALLING),
]
FREE = {}
