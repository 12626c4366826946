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
    tight = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    # in the steps of `problem.solve`, which would warn of answers that are less accurate
    data, chain, inverse_data = problem.get_problem_data(cp.CLARABEL, solver_opts=tight)
    # the first shift of its linear systems and scaling of its data that are accurate enough
    for shift, scaled in itertools.product((1e-8, 1e-10, 1e-12), (True, False)):
        options = {"static_regularization_constant": shift, "equilibrate_enable": scaled}
        found = chain.solve_via_data(problem, data, solver_opts=tight | options)
        solution = chain.invert(found, inverse_data)
        if solution.status in (cp.OPTIMAL, cp.INFEASIBLE):
            problem.unpack(solution)
            return float(problem.value) if problem.status == cp.OPTIMAL else None
    return None
