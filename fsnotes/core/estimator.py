"""What every estimator shares: one `fit`, validation, support, decision function and summary."""

import contextlib
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fsnotes.core.moments import ClassMoments
from fsnotes.core.promises import Planes, Solved, keep_the_worse
from fsnotes.core.samples import FeatureScaling, Samples, feature_units, range_exponents
from fsnotes.core.tables import (
    ONE_CHECK,
    check_finite,
    check_table,
    check_weights,
    labels_of_one_kind,
)
from fsnotes.core.validation import with_plain_numbers

__all__ = ["BaseClassifier", "SparseClassifier", "check_labels", "require_numbers"]


def check_labels(y, wanted="two classes or more"):
    """Return the classes, and the number of the class of each label; raise if there is but one."""
    with ONE_CHECK, np.errstate(invalid="ignore"):
        check_classification_targets(y)
    classes, class_index = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(f"y holds one class, {classes.tolist()[0]!r}; pass rows of {wanted}")
    return classes, class_index


def require_numbers(scores):
    """Return the scores of some rows; raise where one is no finite number."""
    no_number = ~np.isfinite(scores).reshape(len(scores), -1).any(axis=1)
    if no_number.any():
        raise ValueError(
            f"{np.count_nonzero(no_number)} rows have no score, row {no_number.argmax()} first: "
            "their values are so large that sums of them overflow; leave these rows out"
        )
    return scores


class BaseClassifier(ClassifierMixin, BaseEstimator):
    """A classifier; its `fit` is the only one of the package.

    The life of a fit, in the order of the calls:

    1. ``_check_parameters()`` raises unless every parameter is in range.
    2. ``_clear_fit()`` drops what an earlier fit has left.
    3. ``_check_data(X, y, sample_weight)`` checks the data, sets ``classes_``, ``n_features_in_``
       and ``feature_names_in_``, and returns `Samples`: the rows of positive weight.
    4. ``_fit_samples(samples)`` solves the problem and sets all other fitted attributes. Most begin
       with ``samples.deduplicate()`` and ``_scale_features(samples)``, which sets ``scale_`` and
       returns a `FeatureScaling`.
    5. ``_verify_objective(samples)`` computes the objective anew, from the rows as they came and
       the planes that ``_set_solved`` has kept, where there are some, by ``_definition(planes)``.

    A subclass writes the first and the last. A `MomentClassifier` writes ``_solve(problem)``
    instead of the last; a `KernelClassifier` calls ``_prepare_kernel(samples)`` next. Nobody but
    the estimator itself writes its attributes: what solves a problem returns a solution.

    Two classes are allowed, or any number where ``many_classes`` is set.
    """

    many_classes = False

    def fit(self, X, y, sample_weight=None):
        """Fit to data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of one kind: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._fitting():
            self._clear_fit()
            machine = with_plain_numbers(self)
            samples = machine._check_data(X, y, sample_weight)
            machine._fit_samples(samples)
            machine._verify_objective(samples)
            self._take_fit(machine)
        return self

    @contextlib.contextmanager
    def _fitting(self):
        """Leave nothing behind where a fit fails or is interrupted; numbers too small are zero."""
        try:
            with np.errstate(under="ignore"):
                yield
        except BaseException:
            self._clear_fit()
            raise

    def _verify_objective(self, samples):
        """Keep the objective that the rows show, if it is worse; drop the planes that it is of.

        Returns these planes at the rows, or None where none are known.
        """
        solved = vars(self).pop("_solved_", None)
        if solved is None:
            return None
        planes = Planes(samples, solved, self.scale_, self.scale)
        told = self.objective_
        self.objective_ = worse = keep_the_worse(told, self._definition, planes)
        result = self.result_
        if worse > told and result.objective == told:
            self.result_ = result = replace(result, objective=worse)
            if result.duality_gap is not None:  # the lower bound that it proves is as it was
                bound = told * (1 - result.duality_gap)
                self.result_ = replace(result, duality_gap=float(1 - bound / worse))
        return planes

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def score(self, X, y, sample_weight=None):
        """Accuracy on some rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if y is not None:  # of which scikit-learn says that it is missing
            y = labels_of_one_kind(y)
            if sample_weight is not None:
                sample_weight = check_weights(sample_weight, len(y))
        with ONE_CHECK:
            return super().score(X, y, sample_weight)

    def _clear_fit(self):
        """Drop what an earlier fit left, or a fit that fails would leave a mixture of both."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _take_fit(self, machine):
        """Take over what was fitted with the same parameters as plain numbers."""
        if machine is self:
            return
        given = self.get_params(deep=False)
        vars(self).update({n: value for n, value in vars(machine).items() if n not in given})

    def _check_data(self, X, y, sample_weight):
        """Check the data and return the samples of positive weight; sets ``classes_``."""
        options = {"dtype": np.float64, "ensure_min_samples": 2, "ensure_all_finite": False}
        # a number too large for a float becomes infinite, and is refused below
        with ONE_CHECK, np.errstate(over="ignore", invalid="ignore"):
            check_table(X)
            X, y = validate_data(self, X, labels_of_one_kind(y), **options)
        names = getattr(self, "feature_names_in_", None)
        check_finite(X, names)
        wanted = "two classes or more" if self.many_classes else "two classes"
        classes, class_index = check_labels(y, wanted)
        if len(classes) > 2 and not self.many_classes:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(classes)} classes, {classes.tolist()[:5]}; drop some, use DSO, RFS or "
                "L1SVM, or wrap the machine in sklearn.multiclass.OneVsRestClassifier"
            )
        self.classes_ = classes
        samples = Samples.drop_zero_weight(X, class_index, sample_weight)
        for place in np.setdiff1d(np.arange(len(classes)), samples.class_index):
            raise ValueError(
                f"class {classes.tolist()[place]!r} has only rows of weight zero; pass positive "
                "weights for some"
            )
        exponents = range_exponents(samples.X, names)
        if exponents.any() and not self.scale:
            column = np.flatnonzero(exponents)[0]
            name = column if names is None else repr(names[column])
            raise ValueError(
                f"the squares of feature {name} are beyond floating point, and scale=False takes "
                "features as they are; pass scale=True, or the feature in another unit"
            )
        return replace(samples, exponents=exponents)

    def _check_rows(self, X):
        """Check the rows that are to be classified, and return them as an array."""
        with ONE_CHECK, np.errstate(over="ignore", invalid="ignore"):
            check_table(X)
            X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _class_moments(self, samples, X=None):
        """The moments of the classes, of the features or of other columns at the same samples.

        Features are measured in the powers of two that ``samples.exponents`` holds.
        """
        X = samples.in_range() if X is None else X
        weights = samples.sample_weight
        return ClassMoments.of_samples(X, samples.class_index, weights, self.classes_)

    def _scale_features(self, samples):
        """How the features that vary are measured, from a point amid the classes.

        Sets ``scale_``, by which ``coef_`` is multiplied to have weights in units of selection.
        """
        moments = self._class_moments(samples)
        _, unit = feature_units(moments, getattr(self, "feature_names_in_", None))
        used = np.flatnonzero(unit)
        unit = np.ldexp(unit, samples.exponents)
        center = np.ldexp(moments.means_.mean(axis=0), samples.exponents)[used]
        self.scale_ = np.where(unit > 0, unit, 1) if self.scale else np.ones(len(unit))
        return FeatureScaling(used, center, self.scale_[used], unit[used], len(unit))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.many_classes
        return tags


class DenseTables:
    """A selector of dense tables; it stands before `SelectorMixin`, which takes sparse ones."""

    def transform(self, X):
        """The selected features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_selected)
        """
        with ONE_CHECK, np.errstate(over="ignore", invalid="ignore"):
            check_table(X)
            return super().transform(X)

    def inverse_transform(self, X):
        """The selected columns in their places, and zeros elsewhere.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_selected)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        with ONE_CHECK:
            check_table(X)
            return super().inverse_transform(X)


class SparseClassifier(DenseTables, SelectorMixin, BaseClassifier):
    """A linear classifier that uses few features.

    A subclass has the parameter ``scale``, and its ``_fit_samples`` sets ``coef_``,
    ``intercept_``, ``objective_`` and ``result_``.
    """

    def decision_function(self, X):
        """Score of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score, which is above 0 for ``classes_[1]``; with more one for
            each class, of which the largest decides.
        """
        check_is_fitted(self, "coef_")
        X = self._check_rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = require_numbers(X @ self.coef_.T + self.intercept_)
        return scores if len(self.coef_) > 1 else scores[:, 0]

    @property
    def support_(self):
        """Mask of the selected features, those whose weight is not zero."""
        return (self.coef_ != 0).any(axis=0)

    @property
    def n_selected_(self):
        """Number of selected features."""
        return int(self.support_.sum())

    def _set_planes(self, features, weights, offsets):
        """Set ``coef_`` and ``intercept_`` from planes in units of selection, one a row.

        With two classes, and a plane for each, that of ``classes_[1]`` is kept.
        """
        first = -1 if len(self.classes_) == 2 else 0
        coef, intercept = features.undo(weights, offsets)
        self.coef_ = coef[first:]
        self.intercept_ = intercept[first:]

    def _set_solved(self, features, weights, offsets, floors=0.0):
        """Keep the planes that `objective_` is about, one a row, until it is verified."""
        weights = np.asarray(weights)
        intercepts = np.asarray(offsets) - weights @ (features.center / features.unit)
        weights = weights * (self.scale_[features.used] / features.unit)
        self._solved_ = Solved(features.used, weights, intercepts, floors)

    def _get_support_mask(self):
        check_is_fitted(self, "objective_")
        return self.support_

    def summary(self):
        """The selected features, those of the largest weight first, and what is guaranteed.

        Returns
        -------
        str
        """
        check_is_fitted(self, "objective_")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        note, sizes, columns = self._summary_table()
        chosen = np.flatnonzero(self.support_)
        chosen = chosen[np.argsort(-sizes[chosen], kind="stable")]
        width = max([len("feature"), *(len(str(names[j])) for j in chosen)])
        rows = [["feature", *columns]]
        for j in chosen:
            values = (column[j] for column in columns.values())
            numbers = (v if isinstance(v, str) else f"{v:.5g}" for v in values)
            rows.append([str(names[j]), *numbers])
        widths = [max(12, len(name)) for name in columns]
        lines = [
            f"{type(self).__name__}: {len(chosen)} of {self.n_features_in_} features",
            *with_plain_numbers(self)._summary_lines(),
            "no promise for new data",
            note,
        ]
        for name, *numbers in rows:
            lines.append("  ".join([f"{name:{width}}", *map(str.rjust, numbers, widths)]))
        return "\n".join(lines)

    def _summary_table(self):
        """A note on the table of the summary, the sizes that order it, and its columns by name."""
        scaled = self.coef_ * self.scale_
        sizes = np.linalg.norm(scaled, axis=0)
        labels = self.classes_.tolist()
        if len(labels) > 2:
            largest = [repr(labels[place]) for place in scaled.argmax(axis=0)]
            note = "norm of weight x sd over the classes; sd is within the classes"
            return note, sizes, {"norm": sizes, "largest for": largest}
        note = f"a positive weight favours class {labels[1]!r}; sd is within the classes"
        return note, sizes, {"weight": self.coef_[0], "weight x sd": scaled[0]}

    def _summary_lines(self):
        """Lines of the summary about objective and guarantees, between its head and its table."""
        return []
