"""Answers to the assignment of the referee that are not right, and what they cost.

Each: the code in place of solutions, by grade id, and the hint of each part that is lost.
"""

MEANS_PARTS = "few rows", "many rows", "most mistakes"
PAIR_PARTS = "three features", "more features", "a large gain"
START_PARTS = "two weights", "more weights", "p near 1"
FOUND_NONE = "there are counter-examples to this one"
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
        {("equal_means", part): "no line is right everywhere by 0.01" for part in MEANS_PARTS}
        | {
            ("zero_weights", part): NOT_ONE
            for part in ("more rows than features", "more features than rows")
        }
        | {
            ("best_pair", part): "the last two should be the better pair, by the gain"
            for part in PAIR_PARTS
        }
        | {
            (
                "bad_start",
                part,
            ): "from there it ends at the least value: which weight wins, and why?"
            for part in START_PARTS
        }
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
        {
            ("equal_means", part): "some threshold on the first feature gets fewer rows wrong"
            for part in MEANS_PARTS
        }
        | {
            ("best_pair", part): "features 0 and 1 should be the best alone, by 0.01"
            for part in PAIR_PARTS
        }
        | {("bad_start", part): "the entries should be at least 0.01" for part in START_PARTS},
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
        {("equal_means", part): "the means of the second feature differ" for part in MEANS_PARTS}
        | {
            ("best_pair", part): "cov should be symmetric, with eigenvalues of at least 0.001"
            for part in PAIR_PARTS
        },
    ),
}
