"""What a comparison is, and how it is measured: medians, side by side, one BLAS thread."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Comparison:
    """Ours against a yardstick, in the same run; `floor` is the least ratio allowed."""

    name: str
    yardstick: str
    ours: Callable
    theirs: Callable
    floor: float
    repeats: int = 5
    measure: Callable | None = None  # of a call's cost; wall-clock seconds by default


@dataclass(frozen=True)
class Curve:
    """What a method costs as one size grows; `prepare(size)` returns what is timed."""

    name: str
    size: str
    sizes: list
    prepare: Callable


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def ratio(comparison, quick=False):
    """Median costs of ours and of the yardstick, alternating so that both see the same machine.

    A quick comparison is repeated three times, or once if a repetition takes a second.
    """
    measure = comparison.measure or seconds
    repeats = comparison.repeats
    ours = []
    theirs = []
    with threadpool_limits(1, "blas"):
        began = time.perf_counter()
        measure(comparison.ours)
        measure(comparison.theirs)
        if quick:
            repeats = min(repeats, 1 if time.perf_counter() - began > 1 else 3)
        for _ in range(repeats):
            ours.append(measure(comparison.ours))
            theirs.append(measure(comparison.theirs))
    return statistics.median(ours), statistics.median(theirs)


def report(comparisons, quick):
    """Print one table; return the names of the comparisons below their floor."""
    width = max(len(f"{c.name} / {c.yardstick}") for c in comparisons)
    print("The ratio is what the yardstick costs over what ours does; below its floor it fails.")
    print(f"{'ours / yardstick':{width}}  {'ours':>10}  {'yardstick':>10}  {'ratio':>7}  floor")
    slow = []
    for comparison in comparisons:
        floor = comparison.floor / 2 if quick else comparison.floor
        ours, theirs = ratio(comparison, quick)
        failed = theirs < floor * ours
        slow += [comparison.name] * failed
        label = f"{comparison.name} / {comparison.yardstick}"
        line = f"{label:{width}}  {ours:10.4g}  {theirs:10.4g}  {theirs / ours:7.2f}  {floor:g}"
        print(line + ("  BELOW" if failed else ""), flush=True)
    return slow


def report_curves(curves, repeats=5):
    """Print the median time at each size, and the exponent of the power law fitted to them."""
    for curve in curves:
        medians = []
        with threadpool_limits(1, "blas"):
            for size in curve.sizes:
                function = curve.prepare(size)
                function()
                medians.append(statistics.median(seconds(function) for _ in range(repeats)))
        logs = [[math.log(value) for value in values] for values in (curve.sizes, medians)]
        exponent = statistics.linear_regression(*logs).slope
        points = zip(curve.sizes, medians, strict=True)
        shown = ", ".join(f"{size}: {median:.2g}" for size, median in points)
        print(f"{curve.name}: seconds at {curve.size} = {shown}; about {curve.size}^{exponent:.1f}")
