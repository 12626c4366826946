"""How the printed problems are solved: tight tolerances, and an answer only if it is optimal."""

import itertools

import cvxpy as cp
import numpy as np


def largest(w, n_features):
    """Weights of which all but so many, if a number is given, are zero."""
    n_features = len(w) if n_features is None else n_features
    return np.where(np.argsort(np.argsort(-abs(w), kind="stable")) < n_features, w, 0)


def root_of(covariance):
    """The C' of ``S = C C'``, triangular, with which the solver reaches its tolerance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.linalg.qr(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T, mode="r")


def solve(objective, constraints):
    return settle(cp.Problem(objective, constraints))


def settle(problem):
    value = attempt(problem)
    assert value is not None, "the solver does not call its answer optimal"
    return value


def solve_linear(objective, constraints):
    """By the simplex method: interior points lose digits where errors cost much."""
    return simplex(cp.Problem(objective, constraints))


def simplex(problem):
    tight = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    problem.solve(solver=cp.HIGHS, **tight)
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)


def attempt(problem):
    """The optimal value, or None."""
    options = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    # nothing less accurate is an answer, of which CVXPY would warn
    options |= {f"reduced_{name}": options[name] for name in options if name.startswith("tol")}
    options |= {"reduced_tol_infeas_abs": 1e-8, "reduced_tol_infeas_rel": 1e-8}
    # the first shift of its linear systems and scaling of its data that are accurate enough
    for shift, scaled in itertools.product((1e-8, 1e-10, 1e-12), (True, False)):
        options |= {"static_regularization_constant": shift, "equilibrate_enable": scaled}
        try:
            problem.solve(**options)
        except cp.SolverError:
            continue
        if problem.status in (cp.OPTIMAL, cp.INFEASIBLE):
            return float(problem.value) if problem.status == cp.OPTIMAL else None
    return None
