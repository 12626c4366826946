"""What solvers report: the steps they took and how they ended."""

from dataclasses import dataclass, field

__all__ = ["Result", "Step"]


@dataclass(frozen=True)
class Step:
    """One step of an iteration.

    Attributes
    ----------
    stage : int
        Counts the problems of a continuation; within a stage the objective never rises.
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
        ``"solved"`` where the answer is verified.
    objective : float
    steps : tuple of Step
        Empty for methods that do not iterate over machines.
    duality_gap : float
        Relative; 0 for a closed form.
    violation : float
        Largest violation of a constraint, relative.
    counts : dict
        Of the work done, by kind.
    """

    status: str
    objective: float
    steps: tuple[Step, ...] = ()
    duality_gap: float = 0.0
    violation: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
