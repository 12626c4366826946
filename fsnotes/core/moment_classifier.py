"""What the moment family shares: estimators that know means and covariances alone."""

from dataclasses import dataclass, replace

import numpy as np

from fsnotes.core.bounds import delta
from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.moments import ClassMoments, MomentPair
from fsnotes.core.promises import Solved, certain_accuracies, score_rounding
from fsnotes.core.samples import feature_units, require_finite
from fsnotes.core.validation import check_bool, check_real, with_plain_numbers
from fsnotes.errors import (
    EqualMeansError,
    InfeasibleBoundError,
    PromiseWarning,
    SubproblemError,
    TrivialBoundWarning,
    warn,
)

__all__ = [
    "MomentClassifier",
    "MomentProblem",
    "check_ridge",
    "feasible_bound",
    "keep_the_less",
    "largest_bound",
]

# A difference of means up to this part of mean and deviation may be rounding.
EQUAL_MEANS = 1e-13
# A bound from moments that exceeds that of the rows by more than this has lost digits.
LOST_DIGITS = 1e-6
SMALLEST_RIDGE = 1e-20  # beside variances of about 1; a smaller one would be none
MUCH = 1e-3  # of a bound; rounding may lower it by more only with a warning
# Features are said to depend on each other where others leave less than this part of the deviation
# of one; of the combination left, those count whose part is at least so much of the largest.
DEPENDENT = 1e-2
CONCERNED = 0.1
FAR_APART = 1e3  # costs of weights, which are all 1 with ``scale=True``
NAMED = 5  # such features that a message names, at most
MOST_SQUARED = 2000  # features of a wide table, of which a matrix has the square
# Moments alone, which hold squares, have lost digits of a combination of features that varies by so
# small a part of their variances; by a smaller one that of a sum that is exact varies, too.
LOST_SQUARES = (1e-14, 1e-10)


@dataclass(frozen=True)
class MomentProblem:
    """What a machine of moments is solved from, and what takes its weights back to the data."""

    moments: ClassMoments  # of two classes
    used: np.ndarray  # the numbers of the features that vary
    unit: np.ndarray  # the pooled within-class standard deviation of each of them
    pair: MomentPair  # the moments of these features in these units
    costs: np.ndarray  # what a weight, in these units, costs in a norm; 1 with ``scale=True``
    scale: np.ndarray  # the ``scale_`` of an estimator: units of all features, or 1
    exponents: np.ndarray | int = 0  # the powers of two that the moments have for units

    @classmethod
    def from_moments(cls, moments, *, ridge, scale, names=None, quiet=False, exponents=0):
        """Check the moments of two classes and measure the features that vary.

        Warnings, which take `names` of the features, are left out if `quiet`. Moments may be those
        of features divided by powers of two, whose `exponents` are then given.
        """
        check_two_classes(moments)
        labels = moments.classes_.tolist()
        for label, count, weight in zip(labels, moments.counts_, moments.weights_, strict=True):
            if count == 0:
                raise ValueError(
                    f"class {label!r} has no rows, or only rows of weight zero; pass positive "
                    "weights for some"
                )
            # One row of weight 2 stands for two equal rows.
            if max(count, weight) < 2:
                raise ValueError(
                    f"class {label!r} has 1 sample of positive weight; a covariance needs at least "
                    "two, or one of a weight of 2 or more: pass more rows"
                )
        for label, variances in zip(labels, moments.variances(), strict=True):
            if not (variances.any() or quiet):
                warn(
                    f"the samples of class {label!r} are all equal, so its bound is 1 and says "
                    "nothing; pass more samples, or ridge=1e-3",
                    TrivialBoundWarning,
                )
        mean_diff, unit = feature_units(moments, names, quiet)
        least = EQUAL_MEANS * (abs(moments.means_).max(axis=0) + unit)
        if not (abs(mean_diff) > least).any():
            raise EqualMeansError(
                "the class means are equal up to rounding, so no linear machine tells the "
                "classes apart by moments; transform the features, by squares for example"
            )
        used = np.flatnonzero(unit)
        scales = np.where(unit > 0, unit, 1) if scale else np.ones(len(unit))
        unit = unit[used]
        costs = scales[used] / unit
        pair = MomentPair.from_moments(moments, used, unit, ridge * costs**2)
        scales = np.ldexp(scales, exponents)
        return cls(moments, used, unit, pair, costs, scales, exponents)

    def in_factors(self, samples):
        """The same problem from the rows, in which features may nearly depend on each other."""
        rows = samples.in_range()[:, self.used] / self.unit
        parts = [samples.centred(rows, index) for index in (1, 0)]
        return replace(self, pair=self.pair.with_factors(parts))

    def may_be_in_factors(self):
        """Whether factors may help, and take no more than matrices of moderate size.

        With a ridge no feature depends on others. Without one those of a wide table take matrices
        of features by features.
        """
        if self.pair.needs_factors:
            return False
        is_moderate = len(self.used) <= MOST_SQUARED and not self.pair.ridge.any()
        return not self.pair.is_wide or is_moderate

    def explain(self, error, names=None):
        """The same error with the features that nearly depend on each other, if some do."""
        said = str(error)
        if self.costs.max() > FAR_APART * self.costs.min():
            said += "; columns have units that are far apart: pass scale=True"
        if len(self.used) >= self.moments.counts_.sum():  # all depend on each other, then
            remedy = "fewer features" if self.pair.ridge.any() else "a ridge, or fewer features"
            said += f"; features are more than samples: pass {remedy}"
            labels = self._nearest(names)
        else:
            labels = self._dependent(-np.inf, DEPENDENT**2, names)
        if labels:
            said += (
                f". Features {', '.join(labels)} nearly depend on each other: drop {labels[0]}, or "
                "another one of them"
            )
        return SubproblemError(said)

    def warn_of_lost_digits(self, names=None):
        """Say of moments without rows that features depend on each other too nearly for them."""
        if self.pair.is_regular():
            return
        labels = self._dependent(*LOST_SQUARES, names)
        if labels:
            warn(
                f"features {', '.join(labels)} nearly depend on each other, so that their moments "
                "have lost digits, and bounds and objective may be wrong: fit the rows, drop "
                f"{labels[0]} or another one of them, or pass ridge=1e-6",
                PromiseWarning,
            )

    def _nearest(self, names):
        """Labels of the two features nearest to copies of one another; none if they are far.

        All pairs are looked at, of features up to a number.
        """
        if len(self.used) > MOST_SQUARED:
            return []
        rows = np.vstack(self.pair.factors(slice(None)))
        sizes = np.linalg.norm(rows, axis=0)
        rows = rows / np.where(sizes > 0, sizes, 1)
        cosines = abs(rows.T @ rows)
        np.fill_diagonal(cosines, 0)
        pair = np.unravel_index(cosines.argmax(), cosines.shape)
        if 1 - cosines[pair] ** 2 > DEPENDENT**2:
            return []
        return self._labels(pair, names)

    def _labels(self, features, names):
        """Names or numbers of features, as they are quoted."""
        given = self.used[list(features)].tolist()
        return [str(j) if names is None else repr(names[j]) for j in given]

    def _dependent(self, low, high, names):
        """Labels of features of which a combination has a part of their variances in this range.

        They are those that count most in the combination that varies least; none if there is none.
        """
        total = self.pair.block(0) + self.pair.block(1)
        unit = np.sqrt(np.maximum(total.diagonal(), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(total / unit / unit[:, None])
        found = np.flatnonzero((low <= values) & (values < high))
        if not len(found):
            return []
        sizes = abs(vectors[:, found[0]])
        largest = np.argsort(-sizes, kind="stable")[:NAMED]
        shown = largest[sizes[largest] > CONCERNED * sizes.max()]
        return self._labels(shown, names) if len(shown) > 1 else []

    def restore(self, coef):
        """Coefficients in the caller's units, one row each, from those for the moments."""
        with np.errstate(over="ignore"):
            restored = np.ldexp(coef, -self.exponents)
        require_finite(restored)
        return restored


class MomentClassifier(SparseClassifier):
    """A classifier that knows means and covariances alone, so that `fit_moments` will do.

    A subclass has the parameters ``ridge`` and ``scale``, and a method ``_solve(problem)`` that
    takes a `MomentProblem` and returns weights in the units of its pair, the part of the margin
    that class 1 gets, the objective and the result. Where it has a ``_definition(planes)`` of the
    objective, ``_solve`` sets ``_unselected_`` to the weights that this is of.
    """

    def __init__(self, *, ridge=0.0, scale=True):
        self.ridge = ridge
        self.scale = scale

    def _check_parameters(self):
        check_bool("scale", self.scale)
        check_ridge(self.ridge, self.scale)

    def fit_moments(self, moments):
        """Fit to the moments of two classes. The cost does not depend on the number of samples.

        Parameters
        ----------
        moments : ClassMoments

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._fitting():
            self._clear_fit()
            machine = with_plain_numbers(self)
            problem = machine._fit_moments(moments)
            problem.warn_of_lost_digits(getattr(machine, "feature_names_in_", None))
            self._take_fit(machine)
            self._promised_ = "accuracy of each class of the moments"
        return self

    def _fit_samples(self, samples):
        self._fit_moments(self._class_moments(samples), samples)
        self._verify_bounds(samples)
        kind = "weighted training accuracy" if samples.is_weighted else "training accuracy"
        self._promised_ = f"{kind} of each class"

    def _fit_moments(self, moments, samples=None, *, is_verified=False):
        """Solve, set all fitted attributes, and return the problem.

        The samples are those of the moments, if known. Without them bounds allow for rounding,
        unless they are to be verified on rows.
        """
        problem = self._moment_problem(moments, samples)
        self.classes_ = moments.classes_
        self.n_features_in_ = moments.n_features_in_
        self.scale_ = problem.scale
        answer, problem = self._answer(problem, samples, self._solve)
        weights, split, objective, self.result_ = answer
        if not problem.pair.is_whole:  # what is proved is about the features without such a part
            self.result_ = replace(self.result_, duality_gap=None)
        solved = vars(self).pop("_unselected_", None)
        if solved is not None and samples is not None:
            self._solved_ = Solved(problem.used, [solved] * problem.costs, np.zeros(1))
        self.objective_ = float(objective)
        is_of_moments = samples is None and not is_verified
        planes = self._planes(problem, [weights], [split], is_of_moments=is_of_moments)
        self.coef_, self.intercept_, bounds = planes
        self.worst_case_accuracy_ = bounds[0]
        if "delta_" not in vars(self):  # no bound was asked for
            self.delta_ = float(bounds[0].min())
        return problem

    def _answer(self, problem, samples, solve):
        """What `solve` finds, and the problem that it has solved.

        One that is not solved is tried again in factors, which have more digits where features
        nearly depend on each other; what is not solved says which do.
        """
        try:
            return solve(problem), problem
        except SubproblemError as error:
            failure = error
        if samples is not None and problem.may_be_in_factors():
            problem = problem.in_factors(samples)
            try:
                return solve(problem), problem
            except SubproblemError as error:
                failure = error
        raise problem.explain(failure, getattr(self, "feature_names_in_", None)) from failure

    def _moment_problem(self, moments, samples=None, **options):
        """The problem of moments, in factors where features nearly depend on each other."""
        names = getattr(self, "feature_names_in_", None)
        options |= {"names": names, "ridge": self.ridge, "scale": self.scale}
        if samples is None:
            return MomentProblem.from_moments(moments, **options)
        problem = MomentProblem.from_moments(moments, exponents=samples.exponents, **options)
        return problem if problem.pair.is_regular() else problem.in_factors(samples)

    def _verify_bounds(self, samples):
        """Keep of each bound what the rows show, if that is less."""
        found = self._bounds_of_rows(samples, self.coef_[0], self.intercept_[0])
        told = self.worst_case_accuracy_
        asked = self._asked_bounds()
        self.worst_case_accuracy_ = keep_the_less(told, asked, *found, self.classes_)

    def _bounds_of_rows(self, samples, coef, intercept):
        """The bounds that mean and variance of the scores of both classes give."""
        used = np.flatnonzero(coef)
        X = samples.columns(used)
        weights = coef[used]
        rounding = score_rounding(X, weights, intercept)
        ridge = self.ridge * ((coef * self.scale_) ** 2).sum()
        return certain_accuracies(samples, X @ weights + intercept, rounding, ridge)

    def _asked_bounds(self):
        """The bounds that the weights were to keep, in the order of the classes."""
        return np.full(2, self.delta_)

    def _planes(self, problem, weights, splits, is_of_moments=True):
        """Coefficients in the caller's units, intercepts, and the bounds that both classes get.

        Class 1 gets its part, the split, of the distance of the means. The bounds are recomputed
        from the coefficients as they are, one row each, in the order of ``classes_``. Those of
        moments allow for the rounding of scores, as those of rows do.
        """
        moments = problem.moments
        coefs = np.zeros((len(weights), moments.n_features_in_))
        coefs[:, problem.used] = np.array(weights) / problem.unit
        places = coefs @ moments.means_.T
        intercepts = np.array(splits) * (coefs @ moments.gap()) - places[:, 1]
        margins = (places + intercepts[:, None]) * [-1, 1]
        pair = problem.pair
        supports = [np.flatnonzero(row) for row in weights]
        pairs = zip(supports, weights, strict=True)
        # class 1, the first of the pair, is the second of ``classes_``
        deviations = np.array([pair.deviations(used, row[used])[::-1] for used, row in pairs])
        if is_of_moments:
            spreads = np.sqrt(moments.variances())
            sizes = abs(coefs) @ (abs(moments.means_) + spreads).T + abs(intercepts)[:, None]
            digit = (len(problem.used) + 8) * np.finfo(float).eps
            margins = margins - digit * sizes
            # a covariance is known to a digit of the squares that cancel in it
            hidden = np.sqrt(digit) * (abs(coefs) @ spreads.T)
            deviations = np.hypot(deviations, hidden) + digit * sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = delta(np.maximum(margins, 0) / deviations)
        return problem.restore(coefs), intercepts, np.where(margins > 0, bounds, 0.0)

    def _summary_lines(self):
        bounds = zip(self.classes_.tolist(), self.worst_case_accuracy_.tolist(), strict=True)
        shown = ", ".join(f"{label!r} {bound:.4f}" for label, bound in bounds)
        return [f"{self._promised_} is at least: {shown}"]


def keep_the_less(told, asked, found, unmoved, classes):
    """The bounds that moments tell, or those found in the rows where they are less.

    `found` allows for the rounding of scores, and `unmoved` does not. A warning says so where the
    rows show less than the moments told. It says so, too, where they show less than was asked for,
    and where rounding alone takes more than `MUCH`.
    """
    unmoved = np.where(unmoved - found > MUCH, found, unmoved)
    lacking = np.maximum(told, asked) - unmoved
    if lacking.max() > LOST_DIGITS:
        worst = lacking.argmax()
        warn(
            f"the moments promise class {classes.tolist()[worst]!r} a bound of "
            f"{unmoved[worst] + lacking[worst]:.6g}, but its rows show {unmoved[worst]:.6g}, which "
            "is kept: digits are lost where features nearly depend on each other, or have means "
            "far larger than their deviations; leave some out, subtract the means, or pass "
            "ridge=1e-6",
            PromiseWarning,
        )
    return np.minimum(told, found)


def check_ridge(ridge, scale):
    """The ridge as a plain number; raise unless it is in range, and no rounding beside variances.

    These are about 1 with ``scale=True``, and of any size without it.
    """
    more = {"smallest": SMALLEST_RIDGE} if scale else {}
    return check_real("ridge", ridge, 0, **more)


def check_two_classes(moments):
    """Raise unless these are the moments of exactly two classes."""
    if not isinstance(moments, ClassMoments):
        raise TypeError(
            f"moments is {type(moments).__name__}; pass ClassMoments.from_data(X, y), or call "
            "fit(X, y) of a machine"
        )
    if len(getattr(moments, "classes_", ())) != 2:
        raise ValueError(f"{moments!r}; pass the moments of exactly two classes")


def largest_bound(kappa):
    """The largest bound that moments admit, given the largest kappa. Warn where it is 1."""
    largest = float(delta(kappa))
    if largest == 1:
        warn(
            "some direction has no variance within either class, or next to none, so the "
            "largest bound is 1 and says nothing; pass ridge=1e-3, or more rows than features",
            TrivialBoundWarning,
        )
    return largest


def feasible_bound(largest, retain, absolute=None):
    """The bound that `retain` or `absolute` asks for. Raise unless the moments admit it."""
    if absolute is not None and absolute > largest:
        below = np.floor(largest * 1e3) / 1e3
        less = f"delta<={below:g} or " if below else ""
        raise InfeasibleBoundError(
            f"delta={absolute:g} is infeasible: the largest bound these moments admit is "
            f"{largest:.4g}; pass {less}retain=0.9",
            largest,
        )
    if absolute is None and retain == 1 and largest == 1:
        raise InfeasibleBoundError(
            "retain=1 asks for a bound of 1, since some direction has no variance within "
            "either class, or next to none; pass retain<1 or ridge=1e-3",
            largest,
        )
    bound = retain * largest if absolute is None else absolute
    return max(float(bound), np.finfo(float).tiny)  # above 0, whatever rounding makes of it
