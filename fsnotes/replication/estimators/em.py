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


class EveryRowSVM:
    """The steps of (10) as published, with every row a candidate, copies of others among them.

    Copies share the weight of their point in equal parts, hence are kept all or none. So a point
    pays as many times as it has rows, of either class, and one column a point is enough.

    Parameters
    ----------
    C, gamma : float
        Cost of the sum of hinge losses, and of the Gaussian kernel of the columns as they come.
    """

    FLOOR = 1e-6  # part of the largest weight of the first machine; smaller ones are zero
    STEPS = 100

    def __init__(self, C, gamma):
        self.C = C
        self.gamma = gamma

    def fit(self, X, y):
        """Step from equal penalties until the weights no longer change."""
        from fsnotes.solvers.margin import SoftMargin

        self.classes_ = np.unique(y)
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        points, place, rows = np.unique(X, axis=0, return_inverse=True, return_counts=True)
        labelled = np.column_stack([place.ravel(), signs])
        cells, counts = np.unique(labelled, axis=0, return_counts=True)
        values = self._kernel(points[cells[:, 0].astype(int)], points)
        program = SoftMargin(values, cells[:, 1], counts.astype(float))
        weights = rows.astype(float)
        floor = None
        for _ in range(self.STEPS):
            found = program.solve(abs(weights) / np.sqrt(rows), self.C)
            each = abs(found.weights) / rows
            floor = self.FLOOR * each.max() if floor is None else floor
            last = weights
            weights = np.where(each > floor, found.weights, 0.0)
            if abs(weights - last).max() <= 1e-6 * abs(weights).max():
                break
        kept = np.flatnonzero(weights)
        self.support_ = np.flatnonzero(np.isin(place.ravel(), kept))
        self.support_vectors_ = points[kept]
        self.dual_coef_ = weights[kept][None]
        self.offset_ = found.offset
        return self

    def predict(self, X):
        """Class of each row."""
        scores = self._kernel(X, self.support_vectors_) @ self.dual_coef_[0] + self.offset_
        return self.classes_[(scores > 0).astype(int)]

    def _kernel(self, rows, points):
        squares = ((rows[:, None] - points) ** 2).sum(axis=2)
        return np.exp(-self.gamma * squares)


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
