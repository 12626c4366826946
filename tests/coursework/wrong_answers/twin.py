"""Answers to the assignment on two planes that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import numpy as np
from borders import Near, either_side, until

PLANE_PARTS = "any", "moved origin", "equal means", "one row each"
STOPS = "one more flip would lower the value: when may the search stop?"

WRONG = {
    "an offset that may not be negative, and a single sweep over the features": (
        {
            "plane": """
def plane(A, B, c_fit, c_hinge):
    n, m = A.shape[1], len(A)
    cost = np.concatenate([np.ones(2 * n), [0], np.full(2 * m, c_fit), np.full(len(B), c_hinge)])
    near = np.hstack([A, -A, np.ones((m, 1)), np.eye(m), -np.eye(m), np.zeros((m, len(B)))])
    far = np.hstack([B, -B, np.ones((len(B), 1)), np.zeros((len(B), 2 * m)), -np.eye(len(B))])
    x = linprog(cost, A_ub=far, b_ub=-np.ones(len(B)), A_eq=near, b_eq=np.zeros(m)).x
    return x[:n] - x[n:2 * n], x[2 * n]
""",
            "selection_value": """
def selection_value(A, B, chosen, c_fit, c_hinge, sigma, share):
    total = sigma * sum(chosen)
    for part, F, H in ((share, A * chosen, B * chosen), (1 - share, B * chosen, A * chosen)):
        w, b = cp.Variable(A.shape[1]), cp.Variable()
        losses = c_fit * cp.norm1(F @ w + b) + c_hinge * cp.sum(cp.pos(1 + H @ w + b))
        total += part * cp.Problem(cp.Minimize(cp.norm1(w) + losses)).solve(solver=cp.CLARABEL)
    return total
""",
            "flip_search": """
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
        },
        {
            ("plane", part): "b is 0, and should not be: is it chosen, and which bounds does a "
            "solver set by itself?"
            for part in PLANE_PARTS
        }
        | {("flip_search", part): STOPS for part in ("from nothing", "from everything")},
    ),
    "the other class on the positive side, shares exchanged, and only the end of the search": (
        {
            "plane": """
def plane(A, B, c_fit, c_hinge):
    w, b = cp.Variable(A.shape[1]), cp.Variable()
    losses = c_fit * cp.norm1(A @ w + b) + c_hinge * cp.sum(cp.pos(1 - B @ w - b))
    cp.Problem(cp.Minimize(cp.norm1(w) + losses)).solve(solver=cp.CLARABEL)
    return w.value, float(b.value)
""",
            "selection_value": """
def selection_value(A, B, chosen, c_fit, c_hinge, sigma, share):
    total = sigma * sum(chosen)
    for part, F, H in ((1 - share, A * chosen, B * chosen), (share, B * chosen, A * chosen)):
        w, b = plane(F, H, c_fit, c_hinge)
        total += part * (abs(w).sum() + c_fit * abs(F @ w + b).sum()
                         + c_hinge * np.maximum(0, 1 - H @ w - b).sum())
    return total
""",
            "flip_search": """
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
        },
        {
            ("plane", part): "which sign should w'x + b have at the rows of B?"
            for part in PLANE_PARTS
        }
        | {
            ("selection_value", part): "which plane has the share, and which one the rest?"
            for part in ("some features", "classes exchanged", "no feature", "a useless column")
        }
        | {
            ("flip_search", part): "a row should differ from the one before in one feature"
            for part in ("from nothing", "from everything", "nothing to gain", "dear features")
        },
    ),
    "squares in place of moduli": (
        {
            "plane": """
def plane(A, B, c_fit, c_hinge):
    w, b = cp.Variable(A.shape[1]), cp.Variable()
    losses = c_fit * cp.sum_squares(A @ w + b) + c_hinge * cp.sum(cp.pos(1 + B @ w + b))
    cp.Problem(cp.Minimize(cp.norm1(w) + losses)).solve(solver=cp.CLARABEL)
    return w.value, float(b.value)
""",
            "selection_value": """
def selection_value(A, B, chosen, c_fit, c_hinge, sigma, share):
    if not chosen.any():
        return 0.0
    total = 0
    for part, F, H in ((share, A * chosen, B * chosen), (1 - share, B * chosen, A * chosen)):
        w, b = cp.Variable(A.shape[1]), cp.Variable()
        losses = c_fit * cp.norm1(F @ w + b) + c_hinge * cp.sum(cp.pos(1 + H @ w + b))
        price = cp.Problem(cp.Minimize(cp.norm1(w) + losses)).solve(solver=cp.CLARABEL)
        total += part * price + sigma * sum(chosen)
    return total
""",
            "flip_search": """
def flip_search(A, B, start, c_fit, c_hinge, sigma, share):
    return start
""",
        },
        {
            ("plane", part): "another plane costs less: which three terms are paid, and is there "
            "a square?"
            for part in PLANE_PARTS
        }
        | {
            ("selection_value", part): "how often is a feature paid for?"
            for part in ("some features", "classes exchanged", "a useless column")
        }
        | {
            ("selection_value", "no feature"): "without features there is an offset left, and "
            "rows that pay"
        }
        | {
            ("flip_search", part): "a row for each set on the way is asked for, and the first is "
            "the start"
            for part in ("from nothing", "from everything", "nothing to gain", "dear features")
        },
    ),
}


WITH_FEATURES = "some features", "classes exchanged", "a useless column"
SEARCHES = "from nothing", "from everything", "nothing to gain", "dear features"


def dearer_offset(answer, true, given, error):
    """The same weights, with an offset by which the plane costs more."""
    w, b = answer

    def price(b):
        near, lacks = abs(given.A @ w + b), np.maximum(0, 1 + given.B @ w + b)
        return abs(w).sum() + given.c_fit * near.sum() + given.c_hinge * lacks.sum()

    return w, until(price, b, b + 1, true * (1 + error))


def one_flip_more(path, place):
    flipped = np.where(np.arange(path.shape[1]) == place, 1 - path[-1], path[-1])
    return np.vstack([path, flipped])


BORDERS = [
    *either_side(
        "plane",
        ("any", "moved origin", "one row each"),
        1e-4,
        dearer_offset,
        "another plane costs less: which three terms are paid, and is there a square?",
    ),
    *either_side(
        "selection_value",
        WITH_FEATURES,
        1e-4,
        lambda answer, true, given, error: answer * (1 - error),
        "it costs more: are both planes paid in full, and all features that are on?",
    ),
    *either_side(
        "selection_value",
        WITH_FEATURES,
        1e-4,
        lambda answer, true, given, error: answer * (1 + error),
        "it costs less: is each plane the best one on the columns that are on?",
    ),
    *either_side(
        "selection_value",
        "no feature",
        1e-4,
        lambda answer, true, given, error: answer * (1 + error),
        "without features there is an offset left, and rows that pay",
    ),
    Near(
        "selection_value",
        WITH_FEATURES,
        lambda answer, true, given: answer - given.sigma * given.chosen.sum(),
        "how often is a feature paid for?",
    ),
    Near(
        "flip_search",
        SEARCHES,
        lambda answer, true, given: (answer[0], answer[0][1:]),
        "a row for each set on the way is asked for, and the first is the start",
    ),
    Near(
        "flip_search",
        SEARCHES,
        lambda answer, true, given: answer / 2,
        "a feature is on or off: 1 or 0",
    ),
    Near(
        "flip_search",
        ("from nothing", "from everything", "dear features"),
        lambda answer, true, given: answer[1:],
        "the first row should be the start",
    ),
    Near(
        "flip_search",
        SEARCHES,
        lambda answer, true, given: one_flip_more(answer, 0),
        "the value should fall from row to row, with both planes solved anew",
    ),
]
FREE = {}
