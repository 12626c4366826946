"""The support vector machine with the l1 norm, by linear programming."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.mm import Result
from fsnotes.core.validation import check_bool, check_count, check_real
from fsnotes.errors import SelectionWarning, SubproblemError, warn
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.hinge import LARGEST_C, best_offset
from fsnotes.solvers.hinge_programs import HingeProgram

__all__ = ["L1SVM"]

REFIT_STEPS = 10**6
LARGE = 10**6  # rows times features, from which on an interior point is faster


class InteriorProgram(HingeProgram):
    """The same, solved by an interior point and then brought to a vertex; for large programs."""

    def _solve_dual(self, C):
        caps = C * self.sample_weight
        unit = min(1.0, caps.max())
        model = DualModel(caps / unit)
        model.add(self.signs[None], np.zeros(1))
        model.add(self.signed / self.costs[:, None], np.full(len(self.costs), 1 / unit))
        model.highs.setOptionValue("solver", "ipm")
        status = model.run()
        self.counts["linear program"] += 1
        self.counts["pivot"] += model.pivots
        weights = -model.duals()[1:] / self.costs
        return weights, self._best_bound(model.columns() * unit, caps), status


class L1SVM(SparseClassifier):
    """Few features by a linear program: minimise ``|w|_1 + C`` times the mean hinge loss.

    Problem (2) of Xu, King and Lyu (2007), which it compares with. The offset has no price. Of
    more than two classes, each has a program of its own against all others, with the same C, and
    the features are those of any. Peng and Fan (2016) compare with it on many classes, too, and do
    not say how they are taken; this is the usual way.

    Parameters
    ----------
    C : float, default=10.0
        Price of the mean over all rows of the hinge losses ``max(0, 1 - margin)``; above 0 and at
        most 1e6. Where it is too small for any feature to pay, the machine has none, says the
        heavier class everywhere, and a warning names the C at which the first feature enters. Of
        many classes, those that have none are named.
    n_features : int, optional
        Select so many at most: those whose weights, in the units that `scale` sets, are largest,
        by their Euclidean norm over the classes. No more than have a weight at this C.
    refit : bool, default=True
        Return the soft-margin support vector machine of the features selected, which minimises
        ``|w|_2^2 / 2 + C`` times the mean hinge loss, with the same C and in the same units, for
        each class against the others if there are many; otherwise the solution of the linear
        program itself.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation. The norm is not
        scale free: without it, columns of large numbers are selected first.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features), or (n_classes, n_features) for more than two
        Exactly zero where not selected.
    intercept_ : ndarray of shape (1,), or (n_classes,)
        Of several that are as good, for the solution itself, the middle one.
    objective_ : float
        ``|w|_1 + C`` times the mean hinge loss, in the units that `scale` sets, before features
        are chosen by number and before the refit. Of many classes the sum.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.duality_gap`` is the largest of all programs.

    Raises
    ------
    SubproblemError
        If the solution of the linear program cannot be verified, which takes a large C and columns
        of very different sizes without `scale`.

    Notes
    -----
    The simplex method works on the dual, one variable a row and one constraint a feature, and is
    given a feature only once its constraint is violated. So N rows, n features and k features in
    the program cost O(N n) for each hundred that join and O(N k) a pivot, beside O(N n^2) for
    units, or O(N^2 n) if there are fewer rows than features. Equal rows are one row, of the sum of
    their weights. The refit takes O(N^2 k) or more, growing with C, and may end early with a
    ConvergenceWarning.

    Classes of many are solved one after the other, and where N n is more than 10^6, by an interior
    point, O(N n min(N, n)) a step, whose end is moved to a vertex. Of the 26 classes of isolet, the
    ones that are hard to tell from the rest take the simplex method many minutes each, and this
    one some seconds.

    References
    ----------
    P. S. Bradley and O. L. Mangasarian, Feature selection via concave minimization and support
    vector machines, Proceedings of the 15th International Conference on Machine Learning, 82-90,
    1998.

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
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        # The columns are always scaled, which the solver needs; the units are in the costs.
        costs = features.unit / features.deviations
        features = replace(features, unit=features.deviations)
        used, of_class, weights = features.used, samples.class_index, samples.sample_weight
        Z = features.apply(samples.X)
        two = len(self.classes_) == 2
        kind = InteriorProgram if not two and Z.size > LARGE else HingeProgram
        shares = weights / weights.sum()

        def program(place):  # made anew, since each holds a copy of the rows
            return kind(Z, np.where(of_class == place, 1.0, -1.0), shares, costs)

        places = [1] if two else list(range(len(self.classes_)))
        scaled, offsets = np.zeros((len(places), len(used))), np.zeros(len(places))
        counts, gaps, objectives = {}, [], []
        for k, place in enumerate(places):
            one = program(place)
            solution = one.solve(self.C)
            scaled[k], offsets[k] = solution.weights, solution.offset
            gaps.append(solution.duality_gap)
            objectives.append(solution.objective)
            counts = {name: counts.get(name, 0) + count for name, count in one.counts.items()}
        idle = [place for place, row in zip(places, scaled, strict=True) if not row.any()]
        chosen = np.flatnonzero(scaled.any(axis=0))
        if self.n_features is not None:
            chosen = self._heaviest(scaled * costs, chosen)
        for k, place in enumerate(places):
            if self.refit and len(chosen):
                one = program(place)
                scaled[k] = 0
                scaled[k, chosen], offsets[k] = self._refitted(one, chosen)
            elif np.count_nonzero(scaled[k]) > np.count_nonzero(scaled[k, chosen]):
                kept = np.zeros(len(used))
                kept[chosen] = scaled[k, chosen]
                signs = np.where(of_class == place, 1.0, -1.0)
                scaled[k], offsets[k] = kept, best_offset(signs - Z @ kept, signs, shares)
        if len(used) and idle:
            self._warn_of_price(program, idle, len(chosen))
        self._set_planes(features, scaled, offsets)
        self.objective_ = float(sum(objectives))
        self.result_ = Result.solved(self.objective_, duality_gap=max(gaps), counts=counts)

    def _heaviest(self, sizes, chosen):
        """So many of those chosen as are asked for."""
        if 0 < len(chosen) < self.n_features:
            warn(
                f"n_features={self.n_features}, but only {len(chosen)} have a weight at "
                f"C={self.C:g}; {len(chosen)} are returned",
                SelectionWarning,
            )
        norms = np.linalg.norm(sizes, axis=0)[chosen]
        return np.sort(chosen[np.argsort(-norms, kind="stable")[: int(self.n_features)]])

    def _refitted(self, program, chosen):
        """Weights and offset of the soft-margin machine of some features."""
        costs = program.costs[chosen]
        machine = SVC(kernel="linear", C=self.C, tol=1e-6, max_iter=REFIT_STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # a column over its cost is the column in the units that `scale` sets
            machine.fit(program.Z[:, chosen] / costs, program.signs, program.sample_weight)
        if machine.fit_status_:
            warn(
                f"the refit has not reached its tolerance, 1e-6, in {REFIT_STEPS} steps; pass a "
                f"smaller C than {self.C:g}, scale=True, or refit=False",
                ConvergenceWarning,
            )
        return machine.coef_[0] / costs, machine.intercept_[0]

    def _warn_of_price(self, program, idle, others):
        """Of classes without a feature; where all are, of the C at which the first one enters."""
        if others:
            names = ", ".join(repr(self.classes_.tolist()[place]) for place in idle[:5])
            warn(
                f"C={self.C:g} is too small to select a feature for class {names}"
                f"{', ...' * (len(idle) > 5)}; the features are those of the others",
                SelectionWarning,
            )
            return
        entry, failed, most = None, False, 0.0
        for place in idle:
            one = program(place)
            most = max(most, min(LARGEST_C, 1e4 * max(self.C, one.too_small())))
            try:
                entry = one.entry(most if entry is None else entry) or entry
            except SubproblemError:
                failed = True
        known = (
            f"none up to C={most:g}" if entry is None else f"the first one enters at C={entry:.6g}"
        )
        if failed:
            known = "the C at which the first one enters was not found"
        warn(
            f"C={self.C:g} is too small to select a feature; {known}",
            SelectionWarning,
        )

    def _summary_lines(self):
        return [
            f"|w|_1 + C (mean hinge loss) before the refit: {self.objective_:.6g} at C={self.C:g}",
            "no promise for new data",
        ]
