"""What every estimator shares: validation, classes, support, decision function, summary."""

import numbers
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from fsnotes.core.bounds import delta
from fsnotes.core.mm import Result
from fsnotes.core.moments import ClassMoments, MomentPair
from fsnotes.core.validation import check_bool, check_real
from fsnotes.errors import (
    EqualMeansError,
    InfeasibleBoundError,
    SelectionWarning,
    TrivialBoundWarning,
    warn,
)

__all__ = [
    "ScoringClassifier",
    "MomentClassifier",
    "Prepared",
    "SparseClassifier",
    "feasible_bound",
    "solved",
]


ROUNDED = 1e-10  # of an offset, what may be nothing but rounding


class ScoringClassifier(ClassifierMixin, BaseEstimator):
    """A machine with a `decision_function`: for two classes, unless ``many_classes``."""

    many_classes = False

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

    def _clear_fit(self):
        """Drop what an earlier fit left, or a fit that fails would leave a mixture of both."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _units(self, moments, variances):
        """Gap of the means and unit of each feature, 0 where it is constant; sets ``scale_``.

        Of more than two classes the gap is the distance of the outermost means.
        """
        means = moments.means_
        gap = moments.gap() if len(means) == 2 else np.ptp(means, axis=0)
        unit = np.sqrt(moments.weights_ / moments.weights_.sum() @ variances)
        if not (np.isfinite(unit) & np.isfinite(gap)).all():
            raise ValueError("the squares of the features overflow; divide the features first")
        # what is left of a constant by rounding is neither variance nor gap
        offset = abs(means).max(axis=0)
        constant = (unit <= ROUNDED * offset) & (abs(gap) <= ROUNDED * offset)
        # a feature that varies between the classes alone has no deviation to be measured in
        unit = np.where(constant, 0, np.where(unit > 0, unit, abs(gap)))
        self._warn_of_constant(np.flatnonzero(unit == 0))
        self.scale_ = np.where(unit > 0, unit, 1) if self.scale else np.ones(len(unit))
        return np.where(constant, 0, gap), unit

    def _warn_of_constant(self, columns):
        if len(columns):
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
            shown = ", ".join(str(name) for name in names[columns[:5]])
            more = ", ..." if len(columns) > 5 else ""
            warn(
                f"constant features are never selected; there are {len(columns)}: {shown}{more}",
                SelectionWarning,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.many_classes
        tags.input_tags.sparse = False
        return tags

    def _validated(self, X, y, sample_weight):
        """Rows, labels and weights, checked; sets ``classes_``."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"y is {kind}; pass one label for each row")
        classes = np.unique(y)
        if len(classes) == 1:
            raise ValueError(
                f"y holds one class, {classes.tolist()[0]!r}; pass rows of two classes"
                + (" or more" if self.many_classes else "")
            )
        if len(classes) > 2 and not self.many_classes:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(classes)} classes, {classes.tolist()[:5]}; drop some, use DSO, RFS or "
                "L1SVM, or wrap the machine in sklearn.multiclass.OneVsRestClassifier"
            )
        self.classes_ = classes
        if isinstance(sample_weight, numbers.Real):
            sample_weight = np.full(len(y), sample_weight)
        return X, y, sample_weight


class SparseClassifier(SelectorMixin, ScoringClassifier):
    """A linear machine that uses few features.

    A subclass sets ``coef_``, ``intercept_``, ``objective_`` and ``result_`` in `fit`.
    """

    def decision_function(self, X):
        """Score of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes one score, which speaks for ``classes_[1]`` above 0; of more one each,
            of which the largest decides.
        """
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = X @ self.coef_.T + self.intercept_
        return scores if len(self.coef_) > 1 else scores[:, 0]

    @property
    def support_(self):
        """Mask of the selected features, those whose weight is not zero."""
        return (self.coef_ != 0).any(axis=0)

    @property
    def n_selected_(self):
        """Number of selected features."""
        return int(self.support_.sum())

    def _get_support_mask(self):
        check_is_fitted(self, "coef_")
        return self.support_

    def summary(self):
        """The selected features, heaviest first, and what the machine promises.

        Returns
        -------
        str
        """
        check_is_fitted(self, "coef_")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        scaled = self.coef_ * self.scale_
        sizes = abs(scaled[0]) if len(scaled) == 1 else np.linalg.norm(scaled, axis=0)
        chosen = np.flatnonzero(self.support_)
        chosen = chosen[np.argsort(-sizes[chosen], kind="stable")]
        width = max([len("feature"), *(len(str(names[j])) for j in chosen)])
        labels = self.classes_.tolist()
        lines = [
            f"{type(self).__name__}: {len(chosen)} of {self.n_features_in_} features",
            *self._summary_lines(),
        ]
        if len(labels) > 2:
            lines.append("norm: of weight x sd over the classes; sd: within the classes")
            lines.append(f"{'feature':{width}}  {'norm':>12}  speaks most for")
            most = scaled.argmax(axis=0)
            lines += [f"{names[j]:{width}}  {sizes[j]:12.5g}  {labels[most[j]]!r}" for j in chosen]
            return "\n".join(lines)
        lines.append(f"positive weights speak for {labels[1]!r}; sd: within the classes")
        lines.append(f"{'feature':{width}}  {'weight':>12}  {'weight x sd':>12}")
        lines += [
            f"{names[j]:{width}}  {self.coef_[0, j]:12.5g}  {scaled[0, j]:12.5g}" for j in chosen
        ]
        return "\n".join(lines)

    def _summary_lines(self):
        return []


@dataclass(frozen=True)
class Prepared:
    """What a machine of moments is solved from, and what takes its weights back to the data.

    Attributes
    ----------
    moments : ClassMoments
    used : ndarray of int
        Features that vary.
    unit : ndarray
        Of each of them.
    pair : MomentPair
        Of these features in these units.
    costs : ndarray
        Of their weights in a norm.
    """

    moments: ClassMoments
    used: np.ndarray
    unit: np.ndarray
    pair: MomentPair
    costs: np.ndarray


class MomentClassifier(SparseClassifier):
    """A machine that knows means and covariances alone.

    A subclass has the parameters ``ridge`` and ``scale`` and a method ``_solve(prepared)`` that
    returns weights in the units of the pair, the margin of class 1, objective and result.
    """

    def fit(self, X, y, sample_weight=None):
        """Fit to data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels of one kind: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._clear_fit()
        X, y, sample_weight = self._validated(X, y, sample_weight)
        moments = ClassMoments.from_data(X, y, sample_weight, classes=self.classes_)
        return self._fit(moments)

    def fit_moments(self, moments):
        """Fit to the moments of two classes; the cost does not depend on the number of samples.

        Parameters
        ----------
        moments : ClassMoments

        Returns
        -------
        self
        """
        self._check_parameters()
        self._clear_fit()
        self._take_moments(moments)
        return self._fit(moments)

    def _take_moments(self, moments):
        if not isinstance(moments, ClassMoments):
            raise TypeError(
                f"moments is {type(moments).__name__}; pass ClassMoments.from_data(X, y), or call "
                "fit(X, y) of a machine"
            )
        if len(getattr(moments, "classes_", ())) != 2:
            raise ValueError(f"{moments!r}; pass the moments of exactly two classes")
        self.classes_, self.n_features_in_ = moments.classes_, moments.n_features_in_

    def _check_parameters(self):
        check_real("ridge", self.ridge, 0)
        check_bool("scale", self.scale)

    def _fit(self, moments):
        prepared = self._prepared(moments)
        weights, share, objective, result = self._solve(prepared)
        self.coef_, self.intercept_, bounds = self._machines(prepared, [weights], [share])
        self.worst_case_accuracy_ = bounds[0]
        self.objective_, self.result_ = float(objective), result
        return self

    def _prepared(self, moments):
        """Features that vary, their units, the pair in these units, and the costs of weights."""
        sizes = zip(moments.classes_.tolist(), moments.counts_, moments.weights_, strict=True)
        for label, count, weight in sizes:
            if count == 0:
                raise ValueError(
                    f"class {label!r} has no rows, or only rows of weight zero; pass positive "
                    "weights for some"
                )
            # one row of weight 2 stands for two equal rows
            if max(count, weight) < 2:
                raise ValueError(f"class {label!r} has 1 sample; a covariance needs at least two")
        variances = moments.variances()
        for label, spread in zip(moments.classes_.tolist(), variances, strict=True):
            if not spread.any():
                warn(
                    f"the samples of class {label!r} are all equal, so its bound is 1 and says "
                    "nothing; pass more samples, or ridge=1e-3",
                    TrivialBoundWarning,
                )
        gap, unit = self._units(moments, variances)
        if not (abs(gap) > 1e-13 * (abs(moments.means_).max(axis=0) + unit)).any():
            raise EqualMeansError(
                "the class means are equal up to rounding, so no linear machine tells the "
                "classes apart by moments; transform the features, by squares for example"
            )
        used = np.flatnonzero(unit)
        unit = unit[used]
        ridge = self.ridge if self.scale else self.ridge / unit**2
        pair = MomentPair.from_moments(moments, used, unit, ridge)
        costs = np.ones(len(used)) if self.scale else 1 / unit
        return Prepared(moments, used, unit, pair, costs)

    def _set_largest(self, kappa):
        self.largest_delta_ = float(delta(kappa))
        if self.largest_delta_ == 1:
            warn(
                "some direction has no variance within either class, or next to none, so the "
                "largest bound is 1 and says nothing; pass ridge=1e-3, or more rows than features",
                TrivialBoundWarning,
            )

    def _machines(self, prepared, weights, shares):
        """Coefficients in the caller's units, intercepts, and the bounds that both classes get.

        Class 1 gets its share of the distance of the means. The bounds are those of the machines
        as they stand, one row each, in the order of ``classes_``.
        """
        moments = prepared.moments
        coefs = np.zeros((len(weights), self.n_features_in_))
        coefs[:, prepared.used] = np.array(weights) / prepared.unit
        places = coefs @ moments.means_.T
        intercepts = np.array(shares) * (coefs @ moments.gap()) - places[:, 1]
        margins = (places + intercepts[:, None]) * [-1, 1]
        ridged = np.sqrt(self.ridge) * np.linalg.norm(coefs * self.scale_, axis=1)
        deviations = np.hypot(moments.deviations(coefs), ridged[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = delta(np.maximum(margins, 0) / deviations)
        return coefs, intercepts, np.where(margins > 0, bounds, 0.0)

    def _summary_lines(self):
        bounds = zip(self.classes_.tolist(), self.worst_case_accuracy_.tolist(), strict=True)
        shown = ", ".join(f"{label!r} {bound:.4f}" for label, bound in bounds)
        return [f"training accuracy of each class is at least: {shown}", "no promise for new data"]


def feasible_bound(largest, retain, absolute=None):
    """The bound asked for, once it is known that the moments admit it."""
    if absolute is not None and absolute > largest:
        below = np.floor(largest * 1e3) / 1e3
        raise InfeasibleBoundError(
            f"delta={absolute:g} is infeasible: the largest bound these moments admit is "
            f"{largest:.4g}; pass delta<={below:g} or retain=0.9",
            largest,
        )
    if absolute is None and retain == 1 and largest == 1:
        raise InfeasibleBoundError(
            "retain=1 asks for a bound of 1, since some direction has no variance within "
            "either class, or next to none; pass retain<1 or ridge=1e-3",
            largest,
        )
    return retain * largest if absolute is None else float(absolute)


def solved(objective, **more):
    """Result of a problem solved to verified accuracy."""
    return Result(status="solved", objective=float(objective), **more)
