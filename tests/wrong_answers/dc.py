"""Answers to the assignment on differences of convex functions that are not right.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost.
"""

STEP = """
def dca_step(w, gap, cov1, cov2, delta, alpha):
    v = alpha * np.sign(w) * (1 - np.exp(-alpha * np.abs(w)))
    kappa = np.sqrt(delta / (1 - delta))
    u = cp.Variable(len(gap))
    spreads = [cp.norm(np.linalg.cholesky(cov).T @ u) for cov in (cov1, cov2)]
    rows = [gap @ u == 1, kappa * sum(spreads) <= 1]
    problem = cp.Problem(cp.Minimize(alpha * cp.norm(u, 1) - v @ u), rows)
    problem.solve(solver=cp.CLARABEL)
    return u.value if problem.status == "optimal" else None
"""
HALVED = (
    STEP.replace("dca_step", "whole_step")
    + """

def descend(start, gap, cov1, cov2, delta, alpha, tol):
    points = [start]
    while len(points) < 100:
        new = (points[-1] + whole_step(points[-1], gap, cov1, cov2, delta, alpha)) / 2
        fall = np.sum(np.exp(-alpha * abs(new)) - np.exp(-alpha * abs(points[-1])))
        if fall <= tol:
            break
        points.append(new)
    return np.array(points)
"""
)
IN_LOOP = "from the minimax plane", "from the least norm", "classes swapped"

WRONG = {
    "the slope of f in place of that of h, and a last step too many": (
        {
            "surrogate": """
def surrogate(w, alpha):
    left = np.exp(-alpha * np.abs(w))
    return np.sum(-np.expm1(-alpha * np.abs(w))), alpha * np.sign(w) * left
""",
            "dca_step": STEP,
            "descend": """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    points, fall = [start], np.inf
    while fall > tol:
        points.append(dca_step(points[-1], gap, cov1, cov2, delta, alpha))
        fall = surrogate(points[-2], alpha)[0] - surrogate(points[-1], alpha)[0]
    return np.array(points)
""",
        },
        {
            ("surrogate", part): "that is the slope of f, and the gradient of h = g - f is asked "
            "for"
            for part in ("any weights", "weights of zero", "tiny weights")
        }
        | {
            ("descend", part): "a step is among the rows that lowers f by no more than tol"
            for part in (*IN_LOOP, "at rest")
        },
    ),
    "digits lost, the least norm at every point, only the end of the loop": (
        {
            "surrogate": """
def surrogate(w, alpha):
    prices = 1 - np.exp(-alpha * np.abs(w))
    return np.sum(prices), alpha * np.sign(w) * prices
""",
            "dca_step": STEP.replace(" - v @ u", ""),
            "descend": """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    return np.array([start + 1.0])
""",
        },
        {
            ("surrogate", "tiny weights"): "the value is nearly right: which digits does "
            "1 - exp(-x) lose?",
        }
        | {
            ("dca_step", part): "that is the least sum of absolute values: where does the point w "
            "enter?"
            for part in ("any point", "weights of zero", "classes swapped")
        }
        | {
            ("descend", part): "the first row should be the start, which was passed in"
            for part in (*IN_LOOP, "at rest")
        },
    ),
    "signs lost, delta in place of kappa, no step at all": (
        {
            "surrogate": """
def surrogate(w, alpha):
    prices = -np.expm1(-alpha * np.abs(w))
    return np.sum(prices), alpha * prices
""",
            "dca_step": STEP.replace("np.sqrt(delta / (1 - delta))", "delta"),
            "descend": """
def descend(start, gap, cov1, cov2, delta, alpha, tol):
    return np.array([start])
""",
        },
        {
            ("surrogate", part): "for w < 0, does h rise or fall with w?"
            for part in ("any weights", "weights of zero", "tiny weights")
        }
        | {
            ("dca_step", part): "the guarantees do not hold: is it the root of u'Su, and kappa of "
            "delta?"
            for part in ("any point", "weights of zero", "classes swapped")
        }
        | {("dca_step", "F is empty"): "F is empty, and something is returned"}
        | {
            ("descend", part): "from the last row, one more step lowers f by more than tol"
            for part in IN_LOOP
        },
    ),
    "weights of absolute values in place of a tangent, and steps that stop halfway": (
        {
            "dca_step": STEP.replace(
                "alpha * cp.norm(u, 1) - v @ u", "cp.norm(cp.multiply(alpha - abs(v), u), 1)"
            ),
            "descend": HALVED,
        },
        {
            ("dca_step", part): "only where u has the signs of w: what does -v'u cost a weight "
            "that changes sign?"
            for part in ("any point", "weights of zero", "classes swapped")
        }
        | {
            ("descend", part): "a row does not make D smallest, linearised at the row before"
            for part in IN_LOOP
        },
    ),
}
