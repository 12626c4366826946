"""The frontier, MEMPM and FS-MEMPM against line search, eigenvalues and the printed algorithm."""

from scipy import linalg

from benchmarks.bench_chebyshev import given, noise, scaled_moments
from benchmarks.harness import Comparison
from fsnotes import FSMEMPM, MEMPM, ClassMoments, literal, load


def line_search(moments, floor, repeats):
    """Ours finds the maximum, the line search the best of a hundred alphas."""
    known = given(moments)
    machine = MEMPM(theta=0.5)
    *_, value = literal.mempm(*known, 0.5)
    assert 0 <= machine.fit_moments(moments).objective_ - value < 1e-3
    return Comparison(
        "MEMPM, sonar (s)",
        "line search in CVXPY",
        lambda: machine.fit_moments(moments),
        lambda: literal.mempm(*known, 0.5),
        floor,
        repeats,
    )


def eigenvalues(n_features):
    """Both machines and a thousand points of the frontier, beside two eigendecompositions."""
    moments = ClassMoments.from_data(*noise(5 * n_features, n_features))
    first, second = moments.covariance(1), moments.covariance(0)

    def ours():
        curve = MEMPM().fit_moments(moments).frontier_
        curve.machine(curve.balanced_mixture)
        curve.points(1000)

    def theirs():
        for _ in range(2):
            linalg.eigh(first, first + second)

    return Comparison(
        f"MPM, MEMPM, 1000 points, n = {n_features} (s)",
        "2 x eigh(S1, S1 + S2)",
        ours,
        theirs,
        1,
        7,
    )


def printed_algorithm(moments, floor, repeats):
    known = given(moments)
    machine = FSMEMPM(criterion="ratio", search="bisection", refit=False)

    def theirs():
        return literal.algorithm1(*known, 0.5, criterion=2)

    (_, bounds, value) = theirs()
    ours = machine.fit_moments(moments)
    assert bounds == tuple(ours.bounds_[::-1]), (bounds, ours.bounds_)
    assert abs(ours.objective_ / value - 1) < 1e-6
    return Comparison(
        "Algorithm 1, sonar (s)",
        "literal CVXPY",
        lambda: machine.fit_moments(moments),
        theirs,
        floor,
        repeats,
    )


def comparisons(quick):
    sonar = scaled_moments(*load("sonar", return_X_y=True))
    return [
        line_search(sonar, 300, 3 if quick else 5),
        eigenvalues(300),
        printed_algorithm(sonar, 10, 1 if quick else 5),
    ]
