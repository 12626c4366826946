"""The wrapper of HiGHS: linear programs that grow, each solved from the basis of the last."""

import highspy
import numpy as np

__all__ = ["DualModel"]


class DualModel:
    """Maximise the sum of variables between their bounds, under symmetric constraints.

    Lower bounds are 0, and each unit of a variable gains 1, unless others are given.
    """

    def __init__(self, bounds, lower=None, gains=None):
        count = len(bounds)
        lower = np.zeros(count) if lower is None else lower
        gains = np.ones(count) if gains is None else gains
        self.pivots = 0
        self.places = np.arange(count, dtype=np.int32)
        self.highs = highspy.Highs()
        # The option "threads" is left alone: it fails where the process has begun with another
        # number of threads.
        for name, value in {
            "output_flag": False,
            "presolve": "off",
            "solver": "simplex",
            "simplex_strategy": 1,  # the dual method: every variable at its bound is a start
            "parallel": "off",
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
        }.items():
            self.highs.setOptionValue(name, value)
        self.highs.addVars(count, lower, bounds)
        self.highs.changeColsCost(count, self.places, -gains)

    def add(self, constraints, limits):
        """Add constraints ``|constraint @ variables| <= limit``, one a row."""
        count, width = constraints.shape
        starts = np.arange(0, constraints.size, width, dtype=np.int32)
        places = np.tile(self.places, count)
        values = constraints.ravel()
        self.highs.addRows(count, -limits, limits, constraints.size, starts, places, values)

    def run(self):
        """Solve the program as it stands, and return the solver's word on how that ended."""
        self.highs.run()
        self.pivots += max(0, self.highs.getInfo().simplex_iteration_count)
        return self.highs.modelStatusToString(self.highs.getModelStatus())

    def columns(self):
        """Return the values of the variables."""
        return np.array(self.highs.getSolution().col_value)

    def duals(self):
        """Return the multipliers of the constraints."""
        return np.array(self.highs.getSolution().row_dual)
