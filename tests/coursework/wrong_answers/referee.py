"""Answers to the assignment of the referee that are not right, and what they cost."""

import numpy as np
from borders import Near, either_side, scaled, until

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
TOO_LARGE = "all numbers should lie between -100 and 100"
AT_ITS_BEST = "from there it ends less than 0.01 above the least value: which weight wins, and why?"
NOT_ONE = "that is no counter-example: is w optimal, and are both values computed alike?"

WRONG = {
    "all claims believed": (
        """
def equal_means(rows, wrong):
    return None

def best_pair(size, gain):
    return None

def bad_start(a, p):
    return None
""",
        {
            ("equal_means", MEANS_PARTS): FOUND_NONE,
            ("best_pair", PAIR_PARTS): FOUND_NONE,
            ("bad_start", START_PARTS): FOUND_NONE,
        },
    ),
    "no claim believed, both means equal, a correlation of the wrong pair, a start at its best": (
        """
def equal_means(rows, wrong):
    steps = np.arange(rows) - (rows - 1) / 2
    return np.column_stack([steps, steps]), np.column_stack([steps, -steps])

def zero_weights(rows, size, C):
    X = np.ones((rows, size))
    y = np.where(np.arange(rows) % 2, 1, -1)
    return X, y, np.zeros(size)

def best_pair(size, gain):
    diff, cov = np.full(size, 0.8), np.eye(size)
    diff[:2] = 1.2, 1.0
    cov[0, 1] = cov[1, 0] = -0.9
    return diff, cov

def bad_start(a, p):
    return 1 / a
""",
        {
            ("equal_means", MEANS_PARTS): NO_LINE,
            ("zero_weights", ("more rows than features", "more features than rows")): NOT_ONE,
            ("best_pair", PAIR_PARTS): NO_BETTER,
            ("bad_start", START_PARTS): AT_ITS_BEST,
            ("bad_start", "p = 1"): "for p = 1, which weight grows most from step to step?",
        },
    ),
    "a first feature that does alone, a pair that is best alone, and a start with zeros": (
        """
def equal_means(rows, wrong):
    noise = np.arange(rows)
    return np.column_stack([noise + 50, noise]), np.column_stack([noise - 50, noise])

def best_pair(size, gain):
    diff = np.ones(size)
    diff[-2:] = 8.0
    return diff, np.eye(size)

def bad_start(a, p):
    return None if p == 1 else np.eye(len(a))[np.argmin(a)]
""",
        {
            ("equal_means", MEANS_PARTS): TOO_EASY,
            ("best_pair", PAIR_PARTS): NOT_BEST,
            ("bad_start", START_PARTS): TOO_SMALL,
        },
    ),
    "noise that does not balance, and a covariance that is none": (
        """
def equal_means(rows, wrong):
    noise = 3.0 * np.arange(rows)
    return np.column_stack([noise + 1, noise]), np.column_stack([noise - 1, noise + 1])

def best_pair(size, gain):
    diff, cov = np.full(size, 0.8), np.eye(size)
    diff[:2] = 1.2, 1.0
    cov[-1, -2] = cov[-2, -1] = -1.0
    return diff, cov
""",
        {("equal_means", MEANS_PARTS): OTHER_MEANS, ("best_pair", PAIR_PARTS): NO_COVARIANCE},
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


def second_best(excess):
    return excess.argsort()[1]


def best_beyond_the_border(excess):
    return np.where(excess < 0.01, np.inf, excess).argmin()


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
    *either_side("bad_start", START_PARTS, -1e-6, scaled, TOO_SMALL),
    Near("bad_start", START_PARTS, lambda answer, true, given: answer * 1.005, TOO_LARGE),
    Near("bad_start", "more weights", ends_at(second_best), AT_ITS_BEST),
    Near("bad_start", START_PARTS, ends_at(best_beyond_the_border)),
]
FREE = {}
