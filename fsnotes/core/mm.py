"""The one loop behind DCA, EM and reweighting: minimise what lies above and touches, again."""

import time
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.validation import MOST_STEPS, check_count, check_real
from fsnotes.errors import warn

__all__ = ["Result", "Step", "majorize_minimize", "rises", "stages", "warn_of_max_iter"]

# An objective that rises by more than this part of it has not risen by rounding alone.
ROSE = 1e-7
# Where an objective falls to 0, this part of the largest one met may be left of it by rounding.
ROUNDED = 2e-15


@dataclass(frozen=True)
class Step:
    """One step of an iteration.

    Attributes
    ----------
    stage : int
        Counts the problems of a continuation; within a stage the objective never rises, but by
        rounding: at most 1e-7 of it.
    objective : float
    change : float
        Largest change of a variable over the largest variable.
    n_selected : int
    seconds : float
        Since the start.
    """

    stage: int
    objective: float
    change: float
    n_selected: int
    seconds: float


@dataclass(frozen=True)
class Result:
    """How a fit ended, in plain data.

    Attributes
    ----------
    status : str
        ``"solved"`` where the answer is verified; of an iteration ``"converged"``,
        ``"max_iter"``, ``"rose"`` where a step made the objective larger, or ``"stalled"`` where
        one could not be verified.
    objective : float
    steps : tuple of Step
        Empty for methods that do not iterate over machines.
    duality_gap : float or None
        Distance of `objective` to a lower bound that is certain, relative to it; None where no
        bound is known, as for local minima and closed forms.
    violation : float or None
        The largest of a constraint, or of a condition of optimality; None where none is measured.
    step_gap : float or None
        The largest duality gap of the convex problems that were solved on the way and for a refit.
    counts : dict
        Of the work done, by kind.
    """

    status: str
    objective: float
    steps: tuple[Step, ...] = ()
    duality_gap: float | None = None
    violation: float | None = None
    step_gap: float | None = None
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def solved(cls, objective, **more):
        """Return the result of a problem that was solved to verified accuracy in one go."""
        return cls("solved", float(objective), **more)


def majorize_minimize(
    problem, start, tol=1e-6, max_iter=100, callback=None, stage=0, warn_of=("rose", "max_iter")
):
    """Minimise by tangents that lie above the objective and touch it at the current point.

    Parameters
    ----------
    problem : object
        With three methods: ``value(x)``, the objective; ``tangent(x)``, whatever describes the
        majoriser at x; ``minimize(tangent, x)``, a minimiser of it, found from x. It may have
        ``size(x)``, the number of features selected, if that is not of the nonzero variables.
    start : ndarray
    tol : float, default=1e-6
        Stop when the largest change of a variable is at most so much of the largest variable.
    max_iter : int, default=100
    callback : callable, optional
        Called with each `Step` and the point it reached.
    stage : int, default=0
    warn_of : tuple of str, default=("rose", "max_iter")
        The statuses that a warning tells. A caller who leaves one out looks at the result.

    Returns
    -------
    x : ndarray
        The best point.
    result : Result
        Its first step is the start. The status is ``"rose"`` if a step made the objective larger
        by more than rounding, which is a part of the objective, or, near 0, of the largest met.

    Examples
    --------
    The median of five numbers, by means with weights: the root of a square lies below its tangent.

    >>> import numpy as np
    >>> from fsnotes.core.mm import majorize_minimize
    >>> numbers = np.array([0.0, 1, 5, 6, 40])
    >>> class Median:
    ...     def value(self, x):
    ...         return np.hypot(x - numbers, 0.01).sum()
    ...     def tangent(self, x):
    ...         return 1 / np.hypot(x - numbers, 0.01)
    ...     def minimize(self, weights, x):
    ...         return np.array([weights @ numbers / weights.sum()])
    >>> x, result = majorize_minimize(Median(), np.array([numbers.mean()]))
    >>> x.round(2).tolist(), result.status
    ([5.0], 'converged')
    """
    tol = check_real("tol", tol, 0)
    max_iter = check_count("max_iter", max_iter, most=MOST_STEPS)
    began = time.perf_counter()
    x = best = start
    lowest = float(problem.value(start))
    largest_met = abs(lowest) if np.isfinite(lowest) else 0.0
    steps = []
    size = getattr(problem, "size", np.count_nonzero)

    def record(x, objective, change):
        elapsed = time.perf_counter() - began
        steps.append(Step(stage, objective, change, int(size(x)), elapsed))
        if callback is not None:
            callback(steps[-1], x)

    record(x, lowest, np.inf)
    for _ in range(max_iter):
        new = problem.minimize(problem.tangent(x), x)
        value = float(problem.value(new))
        if rises(value, lowest, ROUNDED * largest_met):
            if "rose" in warn_of:
                message = (
                    f"the objective rose from {lowest:.9g} to {value:.9g}: the tangent does not "
                    "lie above it, or the step is not accurate; the better point is kept"
                )
                warn(message, ConvergenceWarning)
            return best, Result("rose", lowest, tuple(steps))
        moved = abs(new - x).max(initial=0)
        largest = abs(new).max(initial=0)
        change = float(moved / largest) if largest > 0 else float(moved and np.inf)
        x = new
        largest_met = max(largest_met, abs(value) if np.isfinite(value) else 0.0)
        if value <= lowest:
            best, lowest = x, value
        record(x, value, change)
        if change <= tol:
            return best, Result("converged", lowest, tuple(steps))
    if "max_iter" in warn_of:
        warn_of_max_iter(steps[-1].change, tol, max_iter, "variables")
    return best, Result("max_iter", lowest, tuple(steps))


def rises(value, lowest, rounding=0.0):
    """Whether a value is above the lowest by more than its rounding; what is no number is, too."""
    return not value <= lowest + max(ROSE * abs(lowest), rounding)


def warn_of_max_iter(change, tol, max_iter, variables="weights", remedy=""):
    """Warn that the last of so many steps changed the variables by more than the tolerance."""
    warn(
        f"not converged in {max_iter} steps: the last changed the {variables} by {change:.1e}, "
        f"more than tol={tol:g}; raise max_iter or tol{remedy}",
        ConvergenceWarning,
    )


def stages(problems, start, **options):
    """Run a continuation: each problem from the solution of the one before.

    Parameters are those of `majorize_minimize`; a problem may have a ``tol`` of its own. The result
    is that of the last stage, with the steps of all, and ``"rose"`` if any stage did.
    """
    x = start
    steps = []
    rose = False
    for stage, problem in enumerate(problems):
        own = {"tol": problem.tol} if hasattr(problem, "tol") else {}
        elapsed = steps[-1].seconds if steps else 0.0
        x, result = majorize_minimize(problem, x, stage=stage, **options | own)
        steps += [replace(step, seconds=elapsed + step.seconds) for step in result.steps]
        rose = rose or result.status == "rose"
    if not steps:
        raise ValueError("there are no problems; pass at least one stage")
    return x, replace(result, steps=tuple(steps), status="rose" if rose else result.status)
