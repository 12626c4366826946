"""Moments of streamed blocks against the plain product of the same blocks."""

import numpy as np

from benchmarks.harness import Comparison
from fsnotes import ClassMoments

BLOCK_ROWS = 2000
FEATURES = 50
DISTINCT_BLOCKS = 20


def comparisons(quick):
    rng = np.random.default_rng(0)
    tables = rng.standard_normal((DISTINCT_BLOCKS, BLOCK_ROWS, FEATURES))
    labels = rng.integers(0, 2, (DISTINCT_BLOCKS, BLOCK_ROWS))
    n_blocks = 250 if quick else 5000

    def stream():
        moments = ClassMoments()
        for number in range(n_blocks):
            number %= DISTINCT_BLOCKS
            moments.partial_fit(tables[number], labels[number])

    def products():
        for number in range(n_blocks):
            table = tables[number % DISTINCT_BLOCKS]
            table.T @ table

    rows = f"{n_blocks * BLOCK_ROWS:,} rows x {FEATURES}"
    # the floor is met, not exceeded: moments do more than the product that they contain
    return [Comparison(f"ClassMoments, {rows} (s)", "X.T @ X", stream, products, 1 / 3, 3)]
