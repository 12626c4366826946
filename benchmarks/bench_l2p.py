"""Direct sparsity: a joint step against its literal statement, whole fits, and their growth."""

import time

import numpy as np

from benchmarks.harness import Comparison, Curve
from fsnotes import DSO, literal, load
from fsnotes.core.joint import MarginData
from fsnotes.l2p import JointStep

P = 0.9  # what the machine does unless told otherwise


def instance(n_rows, n_columns, n_classes, apart=1.5):
    """Normal noise, in which some features of each class are shifted."""
    rng = np.random.default_rng([n_rows, n_columns, n_classes])
    X = rng.standard_normal((n_rows, n_columns))
    y = np.arange(n_rows) % n_classes
    for label in range(n_classes):
        X[y == label, 5 * label : 5 * label + 5] += apart
    return X, y


def prepared(X, y):
    return MarginData(X, y, np.ones(len(X)), y.max() + 1)


def later(rows):
    """Sizes after some steps, and a step whose active rows are those of the last of them."""
    step = JointStep(rows)
    W = step.solve(np.ones(rows.X.shape[1]))
    largest = np.linalg.norm(W, axis=1).max()
    for _ in range(4):
        sizes = (np.linalg.norm(W, axis=1) ** 2 + (0.01 * largest) ** 2) ** (1 - P / 2)
        W = step.solve(sizes)
    return sizes, step, W


def one_step(shape, floor, repeats):
    """The same matrices, and the objective by the benchmark."""
    rows = prepared(*instance(*shape))
    sizes, step, _ = later(rows)

    def value(W):
        return ((W**2).sum(axis=1) / sizes).sum()

    def theirs():
        return literal.dso_step(rows.X, rows.signs, sizes)[0]

    ours = step.solve(sizes)
    assert rows.margins(ours).min() >= 1 - 1e-9
    assert abs(value(ours) / value(theirs()) - 1) < 1e-6
    name = " x ".join(map(str, shape))
    return Comparison(
        f"DSO, a joint step, {name} (s)",
        "literal CVXPY",
        lambda: JointStep(rows).solve(sizes),
        theirs,
        floor,
        repeats,
    )


def in_products(shape, repeats):
    """A step from the active rows of the last, in times that its matrix alone takes."""
    rows = prepared(*instance(*shape))
    sizes, solver, W = later(rows)
    following = (np.linalg.norm(W, axis=1) ** 2 + 1e-12) ** (1 - P / 2)
    active = solver.programs.active.copy()

    def step():
        solver.programs.active = active.copy()
        solver.solve(following)

    def five_products():
        for _ in range(5):
            columns = rows.X * np.sqrt(following)
            columns @ columns.T

    name = " x ".join(map(str, shape))
    return Comparison(
        f"DSO, a warm step, {name} (s)", "5 products X S X'", step, five_products, 1, repeats
    )


def at_p_1(shape, floor, repeats):
    X, y = instance(*shape)
    machine = DSO(p=1, scale=False, refit=False)
    ones = np.hstack([X, np.ones((len(X), 1))])
    signs = prepared(X, y).signs

    def theirs():
        return literal.dso(ones, signs)[1]

    assert abs(machine.fit(X, y).objective_ / theirs() - 1) < 1e-5
    name = " x ".join(map(str, shape))
    return Comparison(
        f"DSO at p = 1, {name} (s)",
        "literal cone program",
        lambda: machine.fit(X, y),
        theirs,
        floor,
        repeats,
    )


def within(name, machine, data, budget):
    """A whole fit, once: it is long."""

    def ours():
        if not seconds:
            start = time.perf_counter()
            machine.fit(*data())
            seconds.append(time.perf_counter() - start)
        return seconds[0]

    seconds = []
    return Comparison(
        f"DSO, {name} (s)",
        f"budget of {budget:g} s",
        ours,
        lambda: budget,
        1,
        1,
        lambda function: function(),
    )


def isolet():
    """As many rows as the paper trains on; of its size where the data are absent."""
    try:
        X, y = load("isolet", return_X_y=True)
    except FileNotFoundError:
        return instance(4678, 617, 26, 1.0)
    rows = np.random.default_rng(0).permutation(len(y))[:4678]
    return X[rows], y[rows]


def comparisons(quick):
    if quick:
        return [
            one_step((78, 800, 10), 500, 1),
            in_products((78, 2400, 10), 9),
            at_p_1((40, 200, 4), 2, 3),
        ]
    return [
        one_step((78, 2400, 10), 500, 1),
        in_products((78, 2400, 10), 21),
        in_products((1000, 20_000, 10), 3),
        at_p_1((40, 200, 4), 2, 3),
        within("ISOLET, soft", DSO(C=1.0), isolet, 40),
        within("1000 x 20000 x 10", DSO(), lambda: instance(1000, 20_000, 10), 25),
    ]


def curves(quick):
    def fitted(*shape):
        X, y = instance(*shape)
        machine = DSO()
        return lambda: machine.fit(X, y)

    rows, columns = (
        ([50, 100, 200], [500, 1000]) if quick else ([50, 100, 200, 400], [500, 1000, 2000, 4000])
    )
    return [
        Curve("DSO, n = 1000, 5 classes", "m", rows, lambda size: fitted(size, 1000, 5)),
        Curve("DSO, m = 100, 5 classes", "n", columns, lambda size: fitted(100, size, 5)),
    ]
