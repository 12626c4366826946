"""Twin machines: the published search against its literal statement, and the search by flips."""

import time
import warnings

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Comparison, Curve
from fsnotes import FTSVM, literal, load, make_wide
from fsnotes.errors import SelectionWarning

# at which some features are kept and others are not
PRICE = 1.0
SIGMA = 0.5


def scaled(X, y):
    """Rows in units of selection."""
    unit = np.sqrt(sum(X[y == label].var(axis=0) * np.mean(y == label) for label in (0, 1)))
    varies = unit > 0
    return (X[:, varies] - X[:, varies].mean(axis=0)) / unit[varies]


def published(name, X, y, floor, repeats, kernel=None):
    """Algorithm 1, to the letter."""
    Z = scaled(X, y)
    machine = FTSVM(
        c_fit=PRICE,
        c_hinge=PRICE,
        sigma=SIGMA,
        sigma_absolute=True,
        init="score",
        search="greedy",
        kernel=kernel,
        refit=False,
        scale=False,
    )

    def values(rows, points):
        return rbf_kernel(rows, points, 1 / Z.shape[1])

    def theirs():
        prices = (PRICE, PRICE), (PRICE, PRICE)
        matrix = values if kernel else None
        return literal.ftsvm(Z[y == 1], Z[y == 0], *prices, SIGMA, 0.5, kernel=matrix)

    E, _, value, _ = theirs()
    machine.fit(Z, y)
    assert np.array_equal(E, machine.support_)
    assert abs(machine.objective_ / value - 1) < 1e-6
    return Comparison(
        f"FTSVM, published search, {kernel or 'linear'}, {name} (s)",
        "literal CVXPY",
        lambda: machine.fit(Z, y),
        theirs,
        floor,
        repeats,
    )


def within(name, X, y, budget):
    """The search by flips, with what the machine does unless told otherwise."""
    machine = FTSVM()

    def ours():
        start = time.perf_counter()
        machine.fit(X, y)
        return time.perf_counter() - start

    return Comparison(
        f"FTSVM, flips, {name} (s)",
        f"budget of {budget:g} s",
        ours,
        lambda: budget,
        1,
        3,
        lambda function: function(),
    )


def comparisons(quick):
    repeats = 3 if quick else 7
    sets = {name: load(name, return_X_y=True) for name in ("sonar", "ionosphere", "wdbc")}
    found = [published(name, *data, 8, repeats) for name, data in sets.items()]
    found += [published(name, *sets[name], 10, 3, "rbf") for name in ("sonar", "ionosphere")]
    found.append(within("sonar", *sets["sonar"], 0.5))
    if not quick:
        found.append(within("62 x 2000", *make_wide(62, 2000), 10))
    return found


def curves(quick):
    def rows(size):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((size, 30))
        y = (X[:, :5].sum(axis=1) + 2 * rng.standard_normal(size) > 0).astype(int)
        return fitted(X, y)

    def columns(size):
        return fitted(*make_wide(60, size))

    def fitted(X, y):
        def fit():
            with warnings.catch_warnings():
                # of noise alone few features pay
                warnings.simplefilter("ignore", SelectionWarning)
                FTSVM().fit(X, y)

        return fit

    many = [200, 400, 800] if quick else [200, 400, 800, 1600]
    wide = [250, 500] if quick else [250, 500, 1000, 2000]
    return [
        Curve("FTSVM, n = 30", "m", many, rows),
        Curve("FTSVM, m = 60", "n", wide, columns),
    ]
