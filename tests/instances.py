"""Small problems for tests: one generator of random ones, and data that no estimator takes."""

import itertools

import numpy as np
from scipy import sparse
from scipy.linalg import hadamard

from fsnotes import ClassMoments
from fsnotes.core.moments import MomentPair

# six rows that every estimator can be fitted to
GOOD = np.array([[0.0, 1], [1, 0], [2, 5], [3, 1], [5, 2], [6, 8]])
LABELS = [0, 0, 0, 1, 1, 1]
# what `fit` is given, the error, and its words
BAD_DATA = [
    ((GOOD, [0] * 6), ValueError, "one class, 0; pass rows of two"),
    ((GOOD, ["a"] * 6), ValueError, "one class, 'a'; pass rows of two"),
    ((GOOD, [0, 0, 1, 1, 2, 2]), ValueError, r"3 classes, \[0, 1, 2\].*OneVsRest"),
    ((np.where(GOOD == 3, np.nan, GOOD), LABELS), ValueError, "NaN"),
    ((np.where(GOOD == 3, np.inf, GOOD), LABELS), ValueError, "infinity"),
    ((sparse.csr_array(GOOD), LABELS), TypeError, "[Ss]parse"),
    ((GOOD[:, 0], LABELS), ValueError, "2D array"),
    ((GOOD, LABELS[:5]), ValueError, r"inconsistent numbers of samples: \[6, 5\]"),
    ((GOOD, [0.5, 1.5, 2.5, 0.1, 0.2, 0.3]), ValueError, "continuous"),
    ((GOOD, np.ones((6, 2), dtype=int)), ValueError, "1d|y"),
    ((GOOD, LABELS, [1, 1, 1, 1, 1]), ValueError, "6 rows.*sample_weight.*5"),
    ((GOOD, LABELS, [1, 1, 1, 1, 1, -1]), ValueError, "negative"),
    ((GOOD, LABELS, -1), ValueError, "negative"),
    ((GOOD, LABELS, [1, 1, 1, 1, 1, np.nan]), ValueError, "^sample_weight .*finite"),
    ((GOOD, LABELS, [1, 1, 1, 1, 1, np.inf]), ValueError, "finite"),
    (
        (GOOD, LABELS, [1, 1, 1, 0, 0, 0]),
        ValueError,
        "^class 1 has (no rows, or )?only rows of weight zero; pass positive weights",
    ),
    ((GOOD, LABELS, [0] * 6), ValueError, "^class 0 has .*only rows of weight zero"),
]


def draw(
    seed,
    n_rows=None,
    n_features=None,
    *,
    n_classes=2,
    integer=False,
    repeated=False,
    scaled=False,
    weighted=False,
):
    """Draw rows and labels of a small problem whose classes overlap.

    Parameters
    ----------
    seed : int or Generator
    n_rows, n_features : int, optional
        From 2 rows a class to 25, and from 1 feature to 11, unless given. Fewer rows than features
        make it wide.
    n_classes : int
    integer : bool
        Whether values are small whole numbers, so that rows, columns and sums are often equal.
    repeated : bool
        Whether some rows and some columns occur twice, and others with the opposite sign.
    scaled : bool
        Whether columns have units and origins of very different sizes.
    weighted : bool
        Whether weights of rows are returned, too: whole numbers, some zero, none of which takes
        away all rows of a class.

    Returns
    -------
    X, y : ndarray
    weights : ndarray
        If asked for.
    """
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2 * n_classes, 26)) if n_rows is None else n_rows
    n_features = int(rng.integers(1, 12)) if n_features is None else n_features
    two_of_each = np.tile(np.arange(n_classes), 2)[:n_rows]
    others = rng.integers(0, n_classes, n_rows - len(two_of_each))
    y = rng.permutation(np.append(two_of_each, others))
    means = rng.normal(size=(n_classes, n_features)) * rng.choice([0.2, 1, 2], n_features)
    X = rng.normal(size=(n_rows, n_features)) * rng.uniform(0.5, 2, n_features) + means[y]
    if integer:
        X = np.clip(X.round(), -2, 2)
    if repeated:
        copies = rng.integers(0, n_rows, n_rows // 4)
        X[rng.permutation(n_rows)[: len(copies)]] = X[copies]
        X = np.hstack([X, X[:, : n_features // 2], -X[:, : n_features // 3]])
    if scaled:
        unit = 10.0 ** rng.uniform(-6, 6, X.shape[1])
        X = (X + rng.uniform(-5, 5, X.shape[1])) * unit
    if not weighted:
        return X, y
    weights = rng.integers(0, 4, n_rows).astype(float)
    for label in range(n_classes):
        weights[np.flatnonzero(y == label)[:2]] = 2
    return X, y, weights


def draw_unlike(seed, *, wide=False):
    """Draw rows and labels whose classes have covariances that have little in common.

    There are more rows than features in each class or, if wide, fewer in both together.
    """
    # the second number makes these draws others than those of `draw` from the same seed
    rng = np.random.default_rng([seed, 3])
    n = int(rng.integers(20, 50)) if wide else int(rng.integers(1, 15))
    sizes = rng.integers(3, n // 2 - 1, 2) if wide else rng.integers(n + 3, 4 * n + 20, 2)
    mixing = np.eye(n) + rng.normal(size=(2, n, n)) * rng.uniform(0, 1)
    X = np.vstack([rng.normal(size=(size, n)) @ m for size, m in zip(sizes, mixing, strict=True)])
    y = np.repeat([0, 1], sizes)
    return (X + np.outer(y, rng.normal(size=n))) * 10 ** rng.uniform(-2, 2, n), y


def pair_of(X, y, ridge=0.0):
    """The moments of two classes as a solver gets them, in the units of the rows."""
    n = X.shape[1]
    return MomentPair.from_moments(ClassMoments.from_data(X, y), np.arange(n), np.ones(n), ridge)


def hypercube(n_features):
    """All corners of a cube, a row each."""
    return np.array(list(itertools.product([-1.0, 1], repeat=n_features)))


def labellings(n_rows):
    """All labels of so many rows that have two classes."""
    for code in range(1, 2**n_rows - 1):
        yield np.array([code >> row & 1 for row in range(n_rows)])


def degenerate_designs():
    """Rows and labels, by name, in which much is equal, zero, dependent or symmetric."""
    rng = np.random.default_rng(0)
    square = hypercube(2)
    cube = hypercube(3)
    for code, y in enumerate(labellings(4)):
        yield f"square {code}", square, y
    # the number of corners of class 1, whether they touch, and whether the means are equal
    for corners in (
        [0],
        [0, 1],
        [0, 3],
        [0, 7],
        [0, 1, 2],
        [0, 3, 5, 6],
        [0, 1, 6, 7],
        [1, 2, 4, 7],
    ):
        yield f"cube {corners}", cube, np.isin(np.arange(8), corners).astype(int)
    few = rng.normal(size=(6, 3))
    y = np.array([0, 1, 0, 1, 1, 0])
    halves = np.repeat([0, 1], 6)
    yield "factorial", np.array(list(itertools.product([0.0, 1, 2], repeat=2))), np.arange(9) % 2
    yield "one-hot", np.eye(4)[np.arange(12) % 4], (np.arange(12) % 3 == 0).astype(int)
    yield "identity", np.eye(6), y
    yield "mirror images", np.vstack([few, -few]), halves
    yield "mirror images in both classes", np.vstack([few, -few]), np.tile(y, 2)
    yield "equal rows", np.vstack([few, few]), np.tile(y, 2)
    yield "equal rows in both classes", np.vstack([few, few]), np.append(y, 1 - y)
    yield "equal columns", np.hstack([few, 2 * few, -few]), y
    yield "Hadamard", hadamard(8).astype(float), np.arange(8) % 2
    yield "two points", np.array([[0.0, 1, 2], [1, 1, 5]]), np.array([0, 1])
    yield "single column", few[:, :1], y
    yield "all ties", np.repeat([[0.0, 0], [1, 1]], 4, axis=0), np.arange(8) % 2
    yield "constant", np.ones((6, 2)), y
    xor = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0], [0.5, 0.5], [0.5, 0.5]])
    yield "xor", xor, np.array([0, 0, 1, 1, 0, 1])
    spread = np.append(np.zeros(6), [-3, -2, -1, 1, 2, 3.0])
    noise = rng.normal(size=12)
    yield "a class constant in a column", np.column_stack([spread + halves, noise]), halves
    yield "and its mean that of the other", np.column_stack([spread, noise]), halves
    yield (
        "a class constant",
        np.outer(spread + halves, [1, 2]) + np.outer(spread**2, [0, 1]),
        halves,
    )
    yield "both constant in a column", np.column_stack([halves, noise]), halves
    yield "both constant", np.outer(halves, [1.0, 2]), halves
    for n_rows in (2, 3, 4):
        yield f"{n_rows} rows", rng.normal(size=(n_rows, 3)), y[:n_rows]
    yield "fewer rows than columns", rng.normal(size=(6, 12)), y
    yield "integers", rng.integers(0, 3, size=(18, 3)).astype(float), np.arange(18) % 2
    far = np.tile([0.0, 1, 1], 4)
    nearly = np.tile(noise, 2)
    apart = nearly + 3e-7 * np.append(far, -far)
    yield "nearly equal columns", np.column_stack([nearly, apart]), np.repeat([1, 0], 12)


def weightings(n_rows, seed=0):
    """No weights of rows, whole numbers, one that is more than all others, and any sizes."""
    rng = np.random.default_rng(seed)
    heavy = np.ones(n_rows)
    heavy[0] = 1e12
    return (None, rng.integers(1, 4, n_rows), heavy, 10 ** rng.uniform(-6, 6, n_rows))
