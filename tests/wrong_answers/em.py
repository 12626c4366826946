"""Answers to the assignment on hierarchical Bayes EM that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost.
"""

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
            "their prices"
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
            "leave it?"
            for part in ("logarithm", "below 1")
        }
        | {("ends", "p is 1"): "it raises ZeroDivisionError"},
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
