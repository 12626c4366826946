"""Hard margins: equal to the literal statement, and of least norm where some errors are needed."""

import cvxpy as cp
import numpy as np
import pytest

from fsnotes.errors import SubproblemError
from fsnotes.solvers.hard_margin import least_norm
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.hinge import HingeData

# a squared norm is flat at its least, so that weights have half the digits of its value
EXACT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def draw(seed, separable):
    """Rows that a line separates or not, with weights, equal columns, or more columns than rows."""
    rng = np.random.default_rng([seed, 7])
    n_rows = int(rng.integers(4, 40))
    n = int(rng.integers(1, 50) if separable else rng.integers(2, 6))
    Z = rng.normal(size=(n_rows, n)).round(int(rng.integers(1, 4)))
    signs = np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)
    signs[:2] = 1, -1
    if separable:
        Z[:, 0] += 4 * signs
    else:
        Z[:, -1] = Z[:, 0]  # the norm tells these apart, the loss does not
    return HingeData(Z, signs, rng.integers(1, 4, n_rows).astype(float))


def solve(data):
    """Return the weights, and the least hinge loss by the dual linear program."""
    model = DualModel(data.sample_weight)
    model.add(data.signs[None], np.zeros(1))
    model.add((data.Z * data.signs[:, None]).T, np.zeros(data.n_features))
    model.run()
    multipliers = np.clip(model.columns(), 0, data.sample_weight)
    return least_norm(data.Z, data.signs, multipliers, data.sample_weight), multipliers.sum()


@pytest.mark.parametrize("separable", [True, False])
def test_it_is_its_literal_statement(separable):
    for seed in range(50):
        data = draw(seed, separable)
        found, least = solve(data)
        assert (least <= 1e-9) == separable or not separable
        assert np.isclose(data.least_hinge(found), least, rtol=1e-9, atol=1e-9)
        w, b = cp.Variable(data.n_features), cp.Variable()
        margins = cp.multiply(data.signs, data.Z @ w + b)
        limits = [data.sample_weight @ cp.pos(1 - margins) <= least] if least else [margins >= 1]
        known = cp.Problem(cp.Minimize(cp.sum_squares(w)), limits)
        known.solve(solver=cp.CLARABEL, **EXACT)
        assert np.isclose(found @ found, known.value, rtol=1e-4, atol=1e-7)
        assert np.allclose(found, w.value, atol=1e-3 * max(1, abs(found).max()))


def test_two_rows_by_hand():
    """Apart by 4, the margin is 2 on each side."""
    Z = np.array([[1.0], [5.0]])
    found = least_norm(Z, np.array([-1.0, 1]), np.zeros(2), np.ones(2))
    assert np.allclose(found, 0.5, rtol=1e-12)


def test_rows_that_cannot_be_separated_are_refused():
    """Multipliers of zero say that they can be."""
    Z = np.array([[0.0], [0.0], [1.0]])
    with pytest.raises(SubproblemError, match="hard-margin program was not solved: .*violation"):
        least_norm(Z, np.array([-1.0, 1, 1]), np.zeros(3), np.ones(3))
