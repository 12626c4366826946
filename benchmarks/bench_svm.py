"""One soft-margin machine against libsvm and a literal statement, and what it costs at scale."""

import time
import warnings

import cvxpy as cp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from benchmarks.harness import Comparison, Curve
from fsnotes import load, make_wide
from fsnotes.solvers.margin import SoftMargin

C = 2.0


def standardized(X, y):
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == y.max(), 1.0, -1.0)


def processor_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def compared(name, Z, y, floors, repeats):
    """A cold solve and a warm one of columns that change by 5%, each against both."""
    rows, counts = np.unique(np.column_stack([Z, y]), axis=0, return_counts=True)
    sizes = np.ones(Z.shape[1])
    changed = np.random.default_rng(0).uniform(0.95, 1.05, Z.shape[1])
    given = np.ascontiguousarray(rows[:, :-1]), rows[:, -1], counts.astype(float)
    program = SoftMargin(*given)
    start = program.solve(sizes, C)

    def cold():
        return SoftMargin(*given).solve(sizes, C).objective

    def warm():
        return program.solve(changed, C, start=start).objective

    def libsvm():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return SVC(kernel="linear", C=C / 2, tol=1e-6).fit(Z, y)

    def literal():
        u = cp.Variable(Z.shape[1])
        b = cp.Variable()
        slack = cp.Variable(len(y))
        margins = cp.multiply(y, Z @ u + b)
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(u) + C * cp.sum(slack)), [margins >= 1 - slack, slack >= 0]
        )
        tight = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
        return problem.solve(solver=cp.CLARABEL, **tight)

    theirs = libsvm()
    errors = np.maximum(0, 1 - y * theirs.decision_function(Z)).sum()
    value = cold()
    assert abs(value / literal() - 1) < 1e-6
    # libsvm leaves margins that are short by its tolerance
    assert value * (1 - 1e-9) <= theirs.coef_[0] @ theirs.coef_[0] + C * errors
    return [
        Comparison(
            f"soft margin, {state}, {name} (CPU s)",
            yardstick,
            ours,
            their,
            floor,
            repeats,
            processor_seconds,
        )
        for state, ours, yardstick, their, floor in (
            ("cold", cold, "libsvm", libsvm, floors[0]),
            ("cold", cold, "literal CVXPY", literal, floors[1]),
            ("warm", warm, "libsvm", libsvm, floors[2]),
        )
    ]


def comparisons(quick):
    repeats = 5 if quick else 21
    sets = [
        ("sonar", load("sonar", return_X_y=True), (1.2, 4, 6)),
        ("wisconsin", load("wisconsin", return_X_y=True), (0.4, 3, 3)),
        ("62 x 2000", make_wide(62, 2000), (1, 40, 1.5)),
    ]
    if not quick:
        sets.append(("96 x 4026", make_wide(96, 4026), (1, 100, 2)))
    return [
        comparison
        for name, data, floors in sets
        for comparison in compared(name, *standardized(*data), floors, repeats)
    ]


def curves(quick):
    def drawn(n_rows, n_features):
        rng = np.random.default_rng(0)
        Z = rng.standard_normal((n_rows, n_features))
        y = np.where(Z[:, :5].sum(axis=1) + 2 * rng.standard_normal(n_rows) > 0, 1.0, -1.0)
        program = SoftMargin(Z, y, np.ones(n_rows))
        return lambda: program.solve(np.ones(n_features), 0.1)

    rows = [1000, 2000, 4000] if quick else [2000, 4000, 8000, 16000]
    columns = [1000, 2000, 4000] if quick else [2000, 4000, 8000, 16000, 32000]
    return [
        Curve("soft margin, cold, n = 50", "N", rows, lambda size: drawn(size, 50)),
        Curve("soft margin, cold, N = 60", "n", columns, lambda size: drawn(60, size)),
    ]
