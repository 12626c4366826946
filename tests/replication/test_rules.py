"""Rules of claims against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from fsnotes.metrics import mcc_ceiling
from fsnotes.replication.rules import mcc_spread


@given(st.floats(0.05, 0.95), st.floats(0.01, 1))
def test_mcc_spread_is_the_least_of_all_distributions(accuracy, part):
    """No distribution on a grid of accuracies has the mean correlation at a smaller variance."""
    wanted = mcc_ceiling(accuracy) + part * (accuracy - mcc_ceiling(accuracy))
    spread = mcc_spread(accuracy, wanted)
    other = max(accuracy - spread**2 / (1 - accuracy), 0)  # the distribution that reaches it
    x = np.unique([*np.linspace(0, 1, 201), accuracy, other])
    least = linprog(
        (x - accuracy) ** 2,
        A_ub=[-mcc_ceiling(x)],
        b_ub=[-wanted + 1e-12],
        A_eq=[np.ones_like(x), x],
        b_eq=[1, accuracy],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert least.status == 0 and np.isclose(least.fun, spread**2, rtol=1e-5, atol=1e-9)


@given(st.floats(0.01, 0.99))
def test_mcc_spread_at_its_ends(accuracy):
    ceiling = mcc_ceiling(accuracy)
    assert mcc_spread(accuracy, ceiling) == 0 == mcc_spread(accuracy, -1)
    assert 0 <= mcc_spread(accuracy, np.nextafter(ceiling, 2)) < 1e-6
    # right or wrong everywhere
    assert np.isclose(mcc_spread(accuracy, accuracy), np.sqrt(accuracy * (1 - accuracy)))
    assert mcc_spread(accuracy, np.nextafter(accuracy, 2)) == np.inf == mcc_spread(accuracy, 1)
    assert mcc_spread(1, 1) == 0


@pytest.mark.parametrize("mcc", [66, np.nan])
def test_percentages_are_refused(mcc):
    with pytest.raises(ValueError, match="is not allowed; pass fractions from -1"):
        mcc_spread(0.75, mcc)
