"""The support vector machine with the l1 norm, by linear programming."""

from collections import Counter
from dataclasses import replace

import numpy as np

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.mm import Result
from fsnotes.core.reweighting import heaviest
from fsnotes.core.validation import check_bool, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.hinge import LARGEST_C, HingeData, best_offset
from fsnotes.solvers.hinge_programs import HingeProgram
from fsnotes.solvers.margin import SoftMargin

__all__ = ["L1SVM"]


class L1SVM(SparseClassifier):
    """Few features by a linear program: minimise ``|w|_1 + C`` times the mean hinge loss.

    This is problem (2) of Xu, King and Lyu (2007), who compare with it. The offset has no penalty.
    If there are more than two classes, each has a program of its own against all others, with the
    same C, and the features are those of any: the usual way. Peng and Fan (2016) do not say theirs.

    Parameters
    ----------
    C : float, default=10.0
        Cost of the mean over rows of the hinge losses ``max(0, 1 - margin)``; at most 1e6. If it
        is too small, no feature is selected, and a warning names the C at which the first enters.
        If there are many classes, the warning names those without a feature.
    n_features : int, optional
        Select at most so many: those whose weights, in the units that `scale` sets, are largest by
        their Euclidean norm over the classes. Only features that have a weight at this C count.
    refit : bool, default=True
        Return the soft-margin machine of the features selected, which minimises ``|w|_2^2 / 2 +
        C`` times the mean hinge loss; otherwise return the solution of the linear program itself.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features), or (n_classes, n_features) for more than two
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,), or (n_classes,)
        The middle one if several have the same loss.
    objective_ : float
        ``|w|_1 + C`` times the mean hinge loss, before features are chosen by number and before
        the refit; the sum over the classes if there are many.
    support_, n_selected_, scale_, classes_, n_features_in_, feature_names_in_, result_
        ``result_.duality_gap`` is the largest of all programs, ``step_gap`` that of the refit.

    Notes
    -----
    The simplex method works on the dual, one variable a row and one constraint a feature, and is
    given a feature only once its constraint is violated. So N rows, n features and k features in
    the program cost O(N n) for each hundred that join and O(N k) a pivot, beside O(N n^2) for
    units, or O(N^2 n) if there are fewer rows than features. The refit takes 10 to 40 steps of O(N
    k^2), or of O(N^3) if N <= k. If there are many classes, their programs are solved one after the
    other. On the 7,797 rows of isolet, classes that are hard to tell from the rest take some ten
    seconds each. `SubproblemError` is raised if a solution cannot be verified, which takes a large
    C and columns of very different sizes without `scale`.

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, Feature selection via concave minimization and support
    vector machines, International Conference on Machine Learning, 82-90, 1998.

    Examples
    --------
    >>> from fsnotes import L1SVM, load
    >>> X, y = load("wdbc", return_X_y=True)
    >>> [L1SVM(C=C).fit(X, y).n_selected_ for C in (2, 10, 100)]
    [3, 6, 12]
    """

    many_classes = True

    def __init__(self, *, C=10.0, n_features=None, refit=True, scale=True):
        self.C = C
        self.n_features = n_features
        self.refit = refit
        self.scale = scale

    def _check_parameters(self):
        check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        check_count("n_features", self.n_features, optional=True)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        # The columns are always scaled, which the solver needs; the units are in the costs.
        costs = features.unit / features.deviations
        features = replace(features, unit=features.deviations)
        probability = samples.sample_weight / samples.sample_weight.sum()
        Z = features.apply(samples.X)
        places = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(samples.class_index == place, 1.0, -1.0) for place in places]
        solutions = []
        counts = Counter()
        Z_over_costs = Z / costs  # columns in which every weight costs 1
        for own in signs:
            program = HingeProgram(HingeData(Z_over_costs, own, probability))
            solutions.append(program.solve(np.ones(len(costs)), self.C))
            counts.update(program.counts)
        weights = np.array([solution.weights / costs for solution in solutions])
        gap = max(solution.duality_gap for solution in solutions)
        refit_gaps = [0.0]
        found = [
            best_offset(own - Z @ w, own, probability)
            for own, w in zip(signs, weights, strict=True)
        ]
        self._set_solved(features, weights, found)
        idle = np.flatnonzero(~weights.any(axis=1))
        chosen = self._choose(weights * costs)
        weights[:, ~chosen] = 0
        offsets = np.zeros(len(signs))
        for k, own in enumerate(signs):
            if self.refit and chosen.any():
                # a column over its cost is the column in the units that `scale` sets
                machine = SoftMargin(Z[:, chosen], own, probability)
                margin = machine.solve(1 / costs[chosen], 2 * self.C)
                weights[k, chosen] = margin.weights
                refit_gaps.append(float(margin.duality_gap))
            offsets[k] = best_offset(own - Z @ weights[k], own, probability)
        if chosen.any() and len(idle):
            self._warn_of_classes(idle)
        elif len(costs) and len(idle):
            rows = (HingeData(Z_over_costs, own, probability) for own in signs)
            self._warn_of_small_C(map(HingeProgram, rows))
        self._set_planes(features, weights, offsets)
        self.objective_ = float(sum(solution.objective for solution in solutions))
        self.result_ = Result.solved(
            self.objective_, duality_gap=gap, step_gap=max(refit_gaps), counts=dict(counts)
        )

    def _definition(self, planes):
        mean_hinge = planes.hinge() / planes.sample_weight.sum()
        return np.append(abs(planes.weights), self.C * mean_hinge)

    def _choose(self, sizes):
        """The features that have a weight, or as many as are asked for of the largest norms."""
        chosen = sizes.any(axis=0)
        if self.n_features is None:
            return chosen
        found = np.count_nonzero(chosen)
        if 0 < found < self.n_features:
            warn(
                f"n_features={self.n_features}, but only {found} have a weight at "
                f"C={self.C:g}; {found} are returned",
                SelectionWarning,
            )
        return chosen & (heaviest(np.linalg.norm(sizes, axis=0), int(self.n_features)) > 0)

    def _warn_of_classes(self, idle):
        """Name the classes that have no feature of their own."""
        names = ", ".join(repr(label) for label in self.classes_[idle[:5]].tolist())
        names += ", ..." * (len(idle) > 5)
        warn(
            f"C={self.C:g} is too small to select a feature for class {names}; the features are "
            "those of the others",
            SelectionWarning,
        )

    def _warn_of_small_C(self, programs):
        """Name the C at which a feature enters first."""
        first = None  # the least C, of those of the classes so far, at which a feature enters
        most = 0.0
        try:
            for program in programs:
                most = max(most, min(LARGEST_C, 1e4 * max(self.C, program.too_small())))
                first = program.entry(most if first is None else first) or first
        except SubproblemError:
            known = "the C at which the first one enters was not found"
        else:
            known = f"none up to C={most:g}"
            if first is not None:
                known = f"the first one enters at C={first:.6g}"
        warn(f"C={self.C:g} is too small to select a feature; {known}", SelectionWarning)

    def _summary_lines(self):
        at = f"{self.objective_:.6g} at C={self.C:g}"
        return [f"|w|_1 + C (mean hinge loss) before the refit: {at}"]
