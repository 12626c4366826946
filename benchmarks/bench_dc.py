"""DCA against its literal statement, and what it costs where features are many."""

import time

from benchmarks.bench_chebyshev import given, scaled_moments
from benchmarks.harness import Comparison
from fsnotes import L0MPM, L1MPM, ClassMoments, literal, load, make_wide

RETAIN = 0.8


def per_problem(name, moments, floor, repeats, most):
    """Seconds for each cone program, from the same start; the whole run where `most` allows."""
    known = given(moments)
    plain = {"retain": RETAIN, "prune": False, "refit": False}
    machine = L0MPM(**plain)
    first = L1MPM(retain=RETAIN, refit=False).fit_moments(moments)
    start = first.coef_[0] * first.scale_

    def ours():
        return machine.fit_moments(moments)

    def theirs():
        return literal.l0mpm(*known, first.delta_, machine.alpha, start, most=most)

    *_, value, n_steps = theirs()
    if n_steps < most:
        assert abs(ours().objective_ / value - 1) < 1e-6, (ours().objective_, value)

    def cost(function):
        began = time.perf_counter()
        found = function()
        # ours pays for the moments, the start and the selection as well
        steps = found.n_iter_ if function is ours else found[-1]
        return (time.perf_counter() - began) / steps

    return Comparison(name, "literal CVXPY", ours, theirs, floor, repeats, cost)


def within(name, moments, seconds):
    """A whole fit, pruning included, against a budget."""

    def cost(function):
        began = time.perf_counter()
        function()
        return time.perf_counter() - began if function is ours else seconds

    def ours():
        L0MPM(retain=RETAIN).fit_moments(moments)

    return Comparison(f"{name} (s)", f"budget of {seconds} s", ours, lambda: None, 1, 5, cost)


def comparisons(quick):
    sonar = scaled_moments(*load("sonar", return_X_y=True))
    size = 200 if quick else 1000
    wide = scaled_moments(*make_wide(50, size))
    found = [
        per_problem("L0MPM, sonar (s a problem)", sonar, 3, 1 if quick else 5, 500),
        per_problem(f"L0MPM, 50 x {size} (s a problem)", wide, 10 if quick else 1000, 1, 2),
        within("L0MPM, 96 x 4000", ClassMoments.from_data(*make_wide(96, 4000)), 0.5),
    ]
    if not quick:
        large = ClassMoments.from_data(*make_wide(100, 20_000))
        found.append(within("L0MPM, 100 x 20,000", large, 1.0))
    return found
