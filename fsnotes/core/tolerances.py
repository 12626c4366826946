"""Tolerances that several modules share, each with what it is relative to."""

# A weight counts as zero up to this part of the largest weight, in the units of selection.
NEGLIGIBLE_WEIGHT = 1e-6

# A kappa counts as reached from this part of it on; the rest is rounding.
KAPPA_REACHED = 1 - 1e-9

# A solution counts as verified up to this duality gap, relative to its objective; a constraint
# may be violated by as much.
VERIFIED_GAP = 1e-6
