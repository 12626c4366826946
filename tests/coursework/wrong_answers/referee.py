"""Answers to the assignment of the referee that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost. Then
answers beside the borders of tolerances, and lines of the grader whose constants are free.
"""

import numpy as np
from borders import Near, either_side, until

MEANS_PARTS = "few rows", "many rows", "most mistakes"
PAIR_PARTS = "three features", "more features", "a large gain"
START_PARTS = "two weights", "more weights", "p near 1"
FOUND_NONE = "there are counter-examples to this one"
OTHER_MEANS = "the means of the second feature differ"
TOO_EASY = "some threshold on the first feature gets fewer rows wrong"
NO_LINE = "no line is right everywhere by 0.01"
NO_COVARIANCE = "cov should be symmetric, with eigenvalues of at least 0.001"
NOT_BEST = "features 0 and 1 should be the best alone, by 0.01"
NO_BETTER = "the last two should be the better pair, by the gain"
TOO_SMALL = "the entries should be at least 0.01"
AT_ITS_BEST = "from there it ends less than 0.01 above the least value: which weight wins, and why?"
NOT_ONE = "that is no counter-example: is w optimal, and are both values computed alike?"

WRONG = {
    "all claims believed": (
        {
            name: f"\ndef {name}({arguments}):\n    return None\n"
            for name, arguments in {
                "equal_means": "rows, wrong",
                "best_pair": "size, gain",
                "bad_start": "a, p",
            }.items()
        },
        {("equal_means", part): FOUND_NONE for part in MEANS_PARTS}
        | {("best_pair", part): FOUND_NONE for part in PAIR_PARTS}
        | {("bad_start", part): FOUND_NONE for part in START_PARTS},
    ),
    "no claim believed, both means equal, a correlation of the wrong pair, a start at its best": (
        {
            "equal_means": """
def equal_means(rows, wrong):
    steps = np.arange(rows) - (rows - 1) / 2
    return np.column_stack([steps, steps]), np.column_stack([steps, -steps])
""",
            "zero_weights": """
def zero_weights(rows, size, C):
    X = np.ones((rows, size))
    y = np.where(np.arange(rows) % 2, 1, -1)
    return X, y, np.zeros(size)
""",
            "best_pair": """
def best_pair(size, gain):
    diff, cov = np.full(size, 0.8), np.eye(size)
    diff[:2] = 1.2, 1.0
    cov[0, 1] = cov[1, 0] = -0.9
    return diff, cov
""",
            "bad_start": """
def bad_start(a, p):
    return 1 / a
""",
        },
        {("equal_means", part): NO_LINE for part in MEANS_PARTS}
        | {
            ("zero_weights", part): NOT_ONE
            for part in ("more rows than features", "more features than rows")
        }
        | {("best_pair", part): NO_BETTER for part in PAIR_PARTS}
        | {("bad_start", part): AT_ITS_BEST for part in START_PARTS}
        | {("bad_start", "p = 1"): "for p = 1, which weight grows most from step to step?"},
    ),
    "a first feature that does alone, a pair that is best alone, and a start with zeros": (
        {
            "equal_means": """
def equal_means(rows, wrong):
    noise = np.arange(rows)
    return np.column_stack([noise + 50, noise]), np.column_stack([noise - 50, noise])
""",
            "best_pair": """
def best_pair(size, gain):
    diff = np.ones(size)
    diff[-2:] = 8.0
    return diff, np.eye(size)
""",
            "bad_start": """
def bad_start(a, p):
    return None if p == 1 else np.eye(len(a))[np.argmin(a)]
""",
        },
        {("equal_means", part): TOO_EASY for part in MEANS_PARTS}
        | {("best_pair", part): NOT_BEST for part in PAIR_PARTS}
        | {("bad_start", part): TOO_SMALL for part in START_PARTS},
    ),
    "noise that does not balance, and a covariance that is none": (
        {
            "equal_means": """
def equal_means(rows, wrong):
    noise = 3.0 * np.arange(rows)
    return np.column_stack([noise + 1, noise]), np.column_stack([noise - 1, noise + 1])
""",
            "best_pair": """
def best_pair(size, gain):
    diff, cov = np.full(size, 0.8), np.eye(size)
    diff[:2] = 1.2, 1.0
    cov[-1, -2] = cov[-2, -1] = -1.0
    return diff, cov
""",
        },
        {("equal_means", part): OTHER_MEANS for part in MEANS_PARTS}
        | {("best_pair", part): NO_COVARIANCE for part in PAIR_PARTS},
    ),
}


def other_means(answer, true, given, error):
    A, B = answer
    return A + [0, error], B


def with_mistakes(fewer):
    """Where the best threshold on the first feature gets as many wrong as asked for, or fewer."""

    def alter(answer, true, given):
        steps, mistakes = np.arange(given.rows), given.wrong - fewer
        second = steps + 50
        return (
            np.column_stack([steps + given.rows - mistakes - 0.5, second]),
            np.column_stack([steps, second]),
        )

    return alter


def nearly_touching(sign):
    """Classes kept apart by little: the best w is (1/2, -1) or (1/2, 1), an end of its range."""

    def alter(answer, true, given, error):
        steps, off = np.arange(given.rows), 0.02 * (1 - error)
        return tuple(np.column_stack([2 * steps + way, sign * steps]) for way in (off, -off))

    return alter


def asymmetric(answer, true, given, error):
    diff, cov = answer[0], answer[1].copy()
    cov[0, 1] += error
    return diff, cov


def nearly_singular(answer, true, given, error):
    diff, cov = answer[0], answer[1].copy()
    cov[-1, -2] = cov[-2, -1] = 0.001 * (1 - error) - 1
    return diff, cov


def nearly_as_good_alone(answer, true, given, error):
    diff, cov = answer[0].copy(), answer[1]
    diff[2:] = np.sqrt(diff[1] ** 2 - 0.01 * (1 - error))
    return diff, cov


def less_correlated(answer, true, given, error):
    """So that the last two gain what they should, but for the error."""
    diff, cov = answer

    def worth(cov):
        return diff[-2:] @ np.linalg.solve(cov[-2:, -2:], diff[-2:])

    target = diff[:2] @ diff[:2] + given.gain * (1 - error)
    return diff, until(worth, np.eye(given.size), cov, target)


def ends_at(choose):
    """Starts from which one weight wins, chosen by how much more than the least value it costs."""

    def alter(answer, true, given):
        start = np.full(len(given.a), 0.01)
        start[choose(given.a**-given.p - true)] = 100
        return start

    return alter


BORDERS = [
    *either_side("equal_means", MEANS_PARTS, 1e-9, other_means, OTHER_MEANS),
    Near("equal_means", MEANS_PARTS, with_mistakes(fewer=0)),
    Near("equal_means", MEANS_PARTS, with_mistakes(fewer=1), TOO_EASY),
    *either_side("equal_means", MEANS_PARTS, 1e-6, nearly_touching(-1), NO_LINE),
    *either_side("equal_means", MEANS_PARTS, 1e-6, nearly_touching(1), NO_LINE),
    *either_side("best_pair", PAIR_PARTS, 1e-9, asymmetric, NO_COVARIANCE),
    *either_side("best_pair", PAIR_PARTS, 1e-6, nearly_singular, NO_COVARIANCE),
    *either_side("best_pair", PAIR_PARTS, 1e-6, nearly_as_good_alone, NOT_BEST),
    *either_side("best_pair", PAIR_PARTS, 1e-6, less_correlated, NO_BETTER),
    *either_side(
        "bad_start",
        START_PARTS,
        1e-6,
        lambda answer, true, given, error: answer * (1 - error),
        TOO_SMALL,
    ),
    Near(
        "bad_start",
        START_PARTS,
        lambda answer, true, given: answer * 1.005,
        "all numbers should lie between -100 and 100",
    ),
    Near("bad_start", "more weights", ends_at(lambda excess: excess.argsort()[1]), AT_ITS_BEST),
    Near(
        "bad_start",
        START_PARTS,
        ends_at(lambda excess: np.where(excess < 0.01, np.inf, excess).argmin()),
    ),
]
FREE = {}
