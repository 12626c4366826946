"""Exact zero-norm optima: the fewest features that keep a bound, and the proof that fewer do not.

The minimax probability machine of some features reaches a kappa that never falls when a feature
is added. So the features of a set that does not reach a bound need not be looked at any further.
"""

import itertools
import math
import time
from dataclasses import dataclass

import numpy as np

from fsnotes.core.bounds import SURELY_REGULAR, kappa, minimax
from fsnotes.core.moment_classifier import (
    MomentProblem,
    check_two_classes,
    feasible_bound,
    largest_bound,
)
from fsnotes.core.pruning import fewest_features
from fsnotes.core.tolerances import KAPPA_REACHED
from fsnotes.core.validation import check_bool, check_bound, check_real

__all__ = ["Certificate", "exact_support"]

# A kappa counts as larger than another from this multiple of it on.
LARGER = 1 + 1e-9
# Kappas of many sets at once are raised by this, since their matrices may be ill-conditioned.
ROUNDING = 1 + 1e-6
# So few sets are compared without branching, and so many numbers are held at once.
FEW_SETS = 1000
BLOCK_ELEMENTS = 10**6
# Mixtures that are tried for each set, where the bound falls with every one.
ROUNDS = 4
# Features of largest weight from which the heuristic starts, more where these do not suffice.
FIRST_FEATURES = 16


@dataclass(frozen=True)
class Certificate:
    """A small set of features that keeps a bound, and how small one can be.

    Attributes
    ----------
    support : ndarray of bool, of shape (n_features,)
        The set.
    size : int
        Number of features in it.
    lower : int
        No set of fewer features than this keeps the bound.
    is_exact : bool
        Whether the search is complete: then ``lower == size``, and no set of this size has a
        larger kappa. Otherwise time ran out, and the smallest size lies from `lower` to `size`.
    kappa : float
        The kappa of the minimax probability machine of the set.
    visited : int
        The number of sets whose kappa was computed or bounded.
    """

    support: np.ndarray
    size: int
    lower: int
    is_exact: bool
    kappa: float
    visited: int

    def __str__(self):
        size = f"{self.size} feature{'s' if self.size > 1 else ''}"
        if self.is_exact:
            return f"{size}, and no fewer keep the bound"
        return f"{size}; time ran out, and {self.lower} may be enough"


def exact_support(moments, *, retain=0.9, delta=None, ridge=0.0, scale=True, time_limit=None):
    """The smallest set of features whose minimax probability machine keeps a bound.

    Branch and bound. Of several such sets it is the one with the largest kappa. An infeasible
    bound is an `InfeasibleBoundError`, as of `L1MPM`.

    Parameters
    ----------
    moments : ClassMoments
        Of two classes.
    retain : float, default=0.9
        In (0, 1]. The bound asked for, as a part of the largest that the moments admit.
    delta : float, optional
        In (0, 1). The bound itself; overrides ``retain``.
    ridge : float, default=0.0
        Added to the variances, in the units that `scale` sets; lowers the bounds.
    scale : bool, default=True
        Measure features in their pooled within-class standard deviation.
    time_limit : float, optional
        Seconds of the search; the heuristic from which it starts is not interrupted. Where they
        are not enough, the `Certificate` holds bounds, ``lower`` and ``size``.

    Notes
    -----
    Exponential in the number n of features at worst: all sets up to the smallest size, O(k^3) for
    a set of k features. The hard bounds are those in the middle.

    References
    ----------
    P. M. Narendra and K. Fukunaga, A branch and bound algorithm for feature subset selection,
    IEEE Transactions on Computers C-26, 917-922, 1977.

    Examples
    --------
    >>> from fsnotes import ClassMoments, load
    >>> from fsnotes.core.certify import exact_support
    >>> moments = ClassMoments.from_data(*load("wdbc", return_X_y=True))
    >>> print(exact_support(moments, retain=0.9))
    3 features, and no fewer keep the bound
    """
    ridge = check_real("ridge", ridge, 0)
    check_bool("scale", scale)
    retain, delta = check_bound(retain, delta)
    time_limit = check_real("time_limit", time_limit, 0, optional=True)
    check_two_classes(moments)
    problem = MomentProblem.from_moments(moments, ridge=ridge, scale=scale)
    largest = largest_bound(minimax(problem.pair).kappa)
    bound = feasible_bound(largest, retain, delta)
    search = _Search(problem.pair, kappa(bound) * KAPPA_REACHED, time_limit)
    search.run()
    features, reached = search.best
    support = np.zeros(moments.n_features_in_, dtype=bool)
    support[problem.used[features]] = True
    return Certificate(
        support, len(features), search.lower, search.finished, float(reached), search.visited
    )


class _Search:
    """Branch and bound over sets of one size after the other, the smallest first."""

    def __init__(self, pair, target, time_limit):
        self.pair = pair
        self.target = target
        self.ends = math.inf  # of the heuristic, which is not interrupted
        self.visited = 0
        self.lower = 1
        self.finished = False
        covariances = np.array([pair.block(0), pair.block(1)])
        self.covariances = covariances if _is_regular(covariances.sum(axis=0)) else None
        self.best = self.heuristic()
        if time_limit is not None:
            self.ends = time.monotonic() + time_limit

    def heuristic(self):
        """A small set that keeps the bound, and its kappa."""
        weights = minimax(self.pair).weights * np.sqrt(self.pair.variances().sum(axis=0))
        heaviest = np.argsort(-abs(weights), kind="stable")
        count = FIRST_FEATURES
        while count < len(heaviest) and self.kappa(np.sort(heaviest[:count])) < self.target:
            count *= 2
        features, point = fewest_features(self.pair, np.sort(heaviest[:count]), self.target)
        return features, point.kappa

    def run(self):
        most = len(self.best[0])
        try:
            for self.lower in range(1, most + 1):
                self.need = self.target if self.lower < most else self.best[1] * LARGER
                self.search(np.arange(0), np.arange(len(self.pair.mean_diff)))
                if len(self.best[0]) == self.lower:
                    break
            self.finished = True
        except TimeoutError:
            pass

    def search(self, kept, free):
        """All sets of the size that hold what is kept, and otherwise only what is free."""
        wanted = self.lower - len(kept)
        if math.comb(len(free), wanted) <= FEW_SETS:
            self.look(kept, free, wanted)
            return
        lacking_one = np.array(list(itertools.combinations(free, len(free) - 1)))
        uppers = self.uppers(kept, lacking_one[::-1])
        order = np.argsort(uppers, kind="stable")
        for place in range(wanted + 1):
            # all sets that lack this feature, and hold those before it
            if uppers[order[place]] >= self.need:
                self.search(np.append(kept, free[order[:place]]), free[order[place + 1 :]])

    def look(self, kept, free, wanted):
        """Compare all sets, since they are few."""
        chosen = list(itertools.combinations(free, wanted))
        chosen = np.array(chosen, dtype=int).reshape(len(chosen), wanted)
        uppers = self.uppers(kept, chosen)
        for place in np.argsort(-uppers, kind="stable"):
            if uppers[place] < self.need:
                break
            features = np.sort(np.append(kept, chosen[place]))
            found = self.kappa(features)
            if found >= self.need:
                self.best = features, found
                self.need = found * LARGER

    def kappa(self, features):
        self.count(1)
        return minimax(self.pair, features).kappa

    def uppers(self, kept, others):
        """For each row of others, with what is kept, a kappa that is not exceeded.

        The balanced kappa lies between the kappas of both classes at any mixture, and a mixture
        that is not balanced tells where to look next. Where this has shown that a set does not
        reach what is needed, the rest is spared.
        """
        sets = np.hstack([np.broadcast_to(kept, (len(others), len(kept))), others])
        sets = np.sort(sets, axis=1)
        if self.covariances is None:
            return np.array([self.kappa(features) for features in sets])
        n_blocks = math.ceil(sets.size * sets.shape[1] / BLOCK_ELEMENTS)
        blocks = np.array_split(sets, max(n_blocks, 1))
        return np.concatenate([self.uppers_of_block(block) for block in blocks])

    def uppers_of_block(self, sets):
        self.count(len(sets))
        covariances = self.covariances[:, sets[:, :, None], sets[:, None, :]]
        mean_diffs = self.pair.mean_diff[sets][:, :, None]
        uppers = np.full(len(sets), np.inf)
        mixtures = np.full(len(sets), 0.5)
        going = np.arange(len(sets))
        for _ in range(ROUNDS):
            both = np.array([mixtures[going], 1 - mixtures[going]])
            mixed = np.einsum("ib,ibjk->bjk", both, covariances[:, going])
            weights = np.linalg.solve(mixed, mean_diffs[going])
            squares = (weights * (covariances[:, going] @ weights)).sum(axis=(2, 3))
            deviations = np.sqrt(np.maximum(squares, 0))
            kappas = (both * deviations).max(axis=0) * ROUNDING
            uppers[going] = np.minimum(uppers[going], kappas)
            still = uppers[going] >= self.need
            going = going[still]
            deviations = deviations[:, still]
            mixtures[going] = np.clip(deviations[1] / deviations.sum(axis=0), 0.01, 0.99)
        return uppers

    def count(self, number):
        if time.monotonic() > self.ends:
            raise TimeoutError
        self.visited += number


def _is_regular(matrix):
    """Whether no feature is nearly a sum of others; if so, neither is one of any smaller set."""
    unit = np.sqrt(np.diag(matrix))
    if not unit.all():
        return False
    return np.linalg.eigvalsh(matrix / unit / unit[:, None])[0] > SURELY_REGULAR**2
