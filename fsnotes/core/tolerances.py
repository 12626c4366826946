"""Tolerances that several modules share, each with what it is relative to."""

# A weight counts as zero up to this part of the largest weight, in the units of selection.
NEGLIGIBLE_WEIGHT = 1e-6

# A kappa counts as reached from this part of it on; the rest is rounding.
KAPPA_REACHED = 1 - 1e-9

# A solution counts as verified up to this duality gap, relative to its objective; a constraint
# may be violated by as much.
VERIFIED_GAP = 1e-6

# A weight that is found by reweighting is zero for good from this part of the largest weight of the
# start on, in the units of selection.
FLOOR = 1e-6

# A sum counts as the rounding of its terms up to this part of the sum of their sizes.
CANCELLED = 1e-12

# A column counts as constant up to this deviation, relative to its mean.
CONSTANT = 1e-10

# An objective may rise by this part of it where weights that are nearly zero are dropped.
NO_RISE = 1e-9

# A margin counts as a margin of 1 that rounding has made short where it misses 1 by less.
SHORT = 1e-6

# Two numbers count as equal where they differ by no more than this part of them.
EQUAL = 1e-9
