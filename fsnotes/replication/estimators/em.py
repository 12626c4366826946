"""Estimators of Huang, King and Lyu (2008): features or points by one method, then a machine."""

import importlib

import numpy as np

from fsnotes.replication.declare import Method
from fsnotes.replication.estimators.selected import SelectedMachine, kept, scaled_svm


class SelectorThenSVM(SelectedMachine):
    """So many features by a selector of the package, then a soft-margin machine of these alone.

    Parameters
    ----------
    selector : str
        Name of an estimator of the package.
    parameters : dict
        Of the selector.
    n_features : int
        Number of features.
    select_C : float
        The selector's C.
    C : float
        That of the machine that classifies.
    """

    def __init__(self, selector, parameters, n_features, select_C, C):
        self.selector = selector
        self.parameters = parameters
        self.n_features = n_features
        self.select_C = select_C
        self.C = C

    def _select(self, X, y):
        options = tuple(self.parameters.items())
        return kept(select, X, y, self.selector, options, self.n_features, self.select_C)

    def _new_machine(self):
        return scaled_svm(kernel="linear", C=self.C)


def select(X, y, selector, options, n_features, C):
    """Mask of the features that an estimator of the package selects."""
    machine = getattr(importlib.import_module("fsnotes"), selector)
    return machine(**dict(options), n_features=n_features, C=C).fit(X, y).get_support()


def kernel_machines(costs, widths, basis=None):
    """Kernel machines that keep some of the training points, at equal numbers of settings.

    RVM has no C, and chooses among as many widths of a finer row.
    """
    grid = {"C": costs, "gamma": widths}
    count = len(costs) * len(widths)
    finer = [float(f"{width:.3g}") for width in np.geomspace(widths[0], widths[-1], count)]
    sparse = "fsnotes.SparseKernelSVM"
    return {
        "em": Method(sparse, {"basis": basis, "refit": False}, grid, paper="zero-norm"),
        "refitted": Method(sparse, {"basis": basis}, grid, paper="zero-norm, refitted"),
        "svm": Method("sklearn.svm.SVC", {}, grid, scaled=True, paper="SVM"),
        "rvm": Method("fsnotes.RVM", {"basis": basis}, {"gamma": finer}, paper="RVM"),
    }
