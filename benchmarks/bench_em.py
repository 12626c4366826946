"""The zero-norm support vector machine against its literal statement, and against libsvm."""

import time

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness import Comparison
from fsnotes import ZeroNormSVM, literal, load, make_wide

C = 10.0  # at which some features are left on every set


def cpu_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def scaled(X, y):
    """Rows in units of selection, and labels -1 and +1."""
    unit = np.sqrt(sum(X[y == label].var(axis=0) * np.mean(y == label) for label in (0, 1)))
    return (X - X.mean(axis=0)) / unit, 2.0 * y - 1


def value(Z, signs, w, floor):
    """What the steps descend, at the best offset, which is where some row's loss begins."""
    scores = Z @ w
    losses = np.maximum(0, 1 - signs * (scores + (signs - scores)[:, None])).sum(axis=1)
    return C * losses.min() + 2 * np.log(np.maximum(abs(w), floor)).sum()


def converged(name, X, y, floor, repeats):
    """Both run from equal penalties until no weight changes."""
    Z, signs = scaled(X, y)
    machine = ZeroNormSVM(C=C, start="identity", refit=False)

    def theirs():
        return literal.zero_norm_svm(Z, signs, C)

    w, *_ = theirs()
    machine.fit(X, y)
    assert np.array_equal(w != 0, machine.support_)
    # each has a floor of its own, from its first machine
    least = 1e-6 * abs(w).max()
    values = [value(Z, signs, v, least) for v in (machine.coef_[0] * machine.scale_, w)]
    assert abs(values[0] / values[1] - 1) < 1e-6, values
    return Comparison(
        f"ZeroNormSVM, {name} (CPU s)",
        "literal CVXPY",
        lambda: machine.fit(X, y),
        theirs,
        floor,
        repeats,
        cpu_seconds,
    )


def multiple(name, X, y, size, most):
    """A run for so many features, of which one libsvm fit may be no less than one part in most."""
    Z, signs = scaled(X, y)
    machine = ZeroNormSVM(C=C, start="identity", refit=False, n_features=size)
    assert machine.fit(X, y).n_selected_ == size
    # (7) has no 1/2
    theirs = SVC(kernel="linear", C=C / 2)
    return Comparison(
        f"ZeroNormSVM, {name}, {size} features (CPU s)",
        "one libsvm fit",
        lambda: machine.fit(X, y),
        lambda: theirs.fit(Z, signs),
        1 / most,
        15,
        cpu_seconds,
    )


def comparisons(quick):
    sonar, wisconsin = load("sonar", return_X_y=True), load("wisconsin", return_X_y=True)
    colon = make_wide(62, 2000)
    found = [
        converged("sonar", *sonar, 7, 5),
        converged("wisconsin", *wisconsin, 2, 5),
        converged("62 x 2000", *colon, 30, 3),
        multiple("sonar", *sonar, 2, 8),
        multiple("wisconsin", *wisconsin, 2, 6),
        multiple("62 x 2000", *colon, 20, 6),
    ]
    if not quick:
        lymphoma = make_wide(96, 4026)
        found.append(converged("96 x 4026", *lymphoma, 50, 1))
        found.append(multiple("96 x 4026", *lymphoma, 20, 6))
    return found
