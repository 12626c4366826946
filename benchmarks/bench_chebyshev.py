"""Minimax probability machines against their literal statements, and what they cost at scale."""

import multiprocessing
import sys
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import Comparison, Curve
from fsnotes import L1MPM, MPM, ClassMoments, literal, load, make_wide
from fsnotes.errors import TrivialBoundWarning

RETAIN = 0.9
# wide data admit every bound; here only the cost matters
warnings.simplefilter("ignore", TrivialBoundWarning)


def scaled_moments(X, y):
    """Moments of the columns over their units, so that both sides solve in the same units."""
    unit = MPM().fit(X, y).scale_
    return ClassMoments.from_data(X / unit, y)


def given(moments):
    """What the literal statements take: class 1, of the higher label, first."""
    means = moments.means_
    return means[1], means[0], moments.covariance(1), moments.covariance(0)


def agreeing(ours, theirs):
    """The objective of both sides, equal or it is no comparison."""
    machine = ours()
    (*_, value) = theirs()
    assert abs(machine.objective_ / value - 1) < 1e-6, (machine.objective_, value)


def against_literal(name, moments, floor, repeats, machine, statement):
    known = given(moments)

    def ours():
        return machine.fit_moments(moments)

    def theirs():
        return statement(known, machine)

    agreeing(ours, theirs)
    return Comparison(f"{name} (s)", "literal CVXPY", ours, theirs, floor, repeats)


def l1_statement(known, machine):
    return literal.l1mpm(*known, machine.delta_)


def mpm_statement(known, machine):
    return literal.mpm(*known)


def noise(n_samples, n_features, informative=20, shift=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    y = np.arange(n_samples) % 2
    X[y == 1, :informative] += shift
    return X, y


def wide_fit(pipe):
    """Seconds of a fit and peak memory of its process, data included, in GiB."""
    import resource

    X, y = make_wide(100, 100_000)
    start = time.perf_counter()
    L1MPM(retain=RETAIN).fit(X, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pipe.send((seconds, peak / (2**30 if sys.platform == "darwin" else 2**20)))


def in_process():
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=wide_fit, args=(theirs,))
    process.start()
    cost = ours.recv()
    process.join()
    return cost


def path_against_hardest(name, moments, quick):
    """Fifty machines along the bound, and the dearest of them fitted by itself, six times."""
    machine = L1MPM()
    retains = machine.path_moments(moments).retains

    def cost(retain):
        start = time.perf_counter()
        L1MPM(retain=retain).fit_moments(moments)
        return time.perf_counter() - start

    with threadpool_limits(1, "blas"):
        hardest = max(retains, key=lambda retain: min(cost(retain) for _ in range(5)))

    def six():
        for _ in range(6):
            L1MPM(retain=hardest).fit_moments(moments)

    def path():
        machine.path_moments(moments)

    return Comparison(
        f"50-point path, {name} (s)", "6 hardest fits", path, six, 1, 3 if quick else 7
    )


def comparisons(quick):
    sonar = scaled_moments(*load("sonar", return_X_y=True))
    repeats = 5 if quick else 31
    small = scaled_moments(*make_wide(50, 200 if quick else 1000))
    X, y = make_wide(96, 4000)
    wide = ClassMoments.from_data(X, y)

    plain = L1MPM(retain=RETAIN, refit=False)  # as the literal statement

    def grams():
        for _ in range(30):
            X @ X.T

    found = [
        against_literal("MPM, sonar", sonar, 8, repeats, MPM(), mpm_statement),
        against_literal("L1MPM, sonar", sonar, 3, repeats, plain, l1_statement),
        against_literal(
            f"L1MPM, 50 x {small.n_features_in_}",
            small,
            10 if quick else 1000,
            1,
            plain,
            l1_statement,
        ),
        Comparison(
            "L1MPM, 96 x 4000 (s)",
            "30 products X @ X.T",
            lambda: L1MPM(retain=RETAIN).fit_moments(wide),
            grams,
            1,
            7,
        ),
        path_against_hardest("sonar", sonar, quick),
        path_against_hardest("50 x 1000", scaled_moments(*make_wide(50, 1000)), quick),
    ]
    if sys.platform != "win32":  # no peak memory there without another package
        costs = in_process()
        for cost, name, budget in zip(costs, ("s", "GiB"), (3.0, 1.0), strict=True):
            found.append(
                Comparison(
                    f"L1MPM, 100 x 100,000 ({name})",
                    f"budget of {budget:g} {name}",
                    lambda cost=cost: cost,
                    lambda budget=budget: budget,
                    1,
                    1,
                    lambda function: function(),
                )
            )
    return found


def curves(quick):
    features = [25, 50, 100, 200] if quick else [25, 50, 100, 200, 400]
    wide = [250, 500, 1000, 2000] if quick else [1000, 2000, 4000, 8000, 16000]
    rows = [2_000, 4_000, 8_000] if quick else [4_000, 8_000, 16_000, 32_000, 64_000]

    def square(machine):
        def prepare(size):
            moments = ClassMoments.from_data(*noise(5 * size, size, size // 4, 1 / np.sqrt(size)))
            return lambda: machine.fit_moments(moments)

        return prepare

    def flat(size):
        moments = ClassMoments.from_data(*make_wide(50, size))
        return lambda: L1MPM().fit_moments(moments)

    def tall(size):
        X, y = noise(size, 50)
        return lambda: L1MPM().fit(X, y)

    return [
        Curve("MPM from moments, N = 5 n", "n", features, square(MPM())),
        Curve("L1MPM from moments, N = 5 n", "n", features, square(L1MPM())),
        Curve("L1MPM from moments, N = 50", "n", wide, flat),
        Curve("L1MPM from data, n = 50", "N", rows, tall),
    ]
