"""Least loss on some of the features, and the search for the support that pays.

The reweighted steps pass many supports. Here each is judged by what is really wanted, the number
of features plus C times the least sum of hinge losses on them, which is a linear program.
"""

from collections import Counter

import numpy as np

from fsnotes.core.tolerances import VERIFIED_GAP
from fsnotes.errors import SubproblemError
from fsnotes.solvers.hard_margin import least_norm
from fsnotes.solvers.highs import DualModel

__all__ = ["LeastLoss", "SupportSearch", "drop_rounding"]

NO_LESS = 1e-9  # part of an objective by which another has to be less
SAME = 1e-9  # part of the loss of a row at a margin of 0, a difference that may be rounding
ADDED = 1e-8  # part of that by which a machine of least norm may have more loss
ZERO = 1e-9  # part of the largest weight that counts as zero
NEARLY = 0.99  # a margin that is lengthened to 1
EXCHANGED = 5  # features tried in the place of one


class LeastLoss:
    """Weights of least hinge loss on some of the features; where these grow, from the last.

    The program is the dual one: maximise the sum of multipliers from 0 to the weights of the rows,
    with 0 for the sum of sign * multiplier * feature of each feature, and of sign * multiplier.
    Linear programs and pivots are added to `counts`, which several of these objects may share.
    """

    def __init__(self, data, counts):
        self.data = data
        self.counts = counts
        self.model = None
        self.joined = []  # the features of the last solution
        self.multipliers = None  # those of the last solution

    def solve(self, chosen):
        """Return weights of least hinge loss, of which those next to the largest are zero."""
        data = self.data
        if self.model is None or not set(self.joined) <= set(chosen.tolist()):
            self.model = DualModel(data.sample_weight)
            self.model.add(data.signs[None], np.zeros(1))
            self.joined = []
        new = np.setdiff1d(chosen, self.joined)
        self.model.add((data.Z[:, new] * data.signs[:, None]).T, np.zeros(len(new)))
        self.joined += new.tolist()
        self._run()
        self.multipliers = np.clip(self.model.columns(), 0, data.sample_weight)
        weights = np.zeros(data.n_features)
        weights[self.joined] = -self.model.duals()[1:]
        return drop_rounding(weights)

    def loss_without(self, feature):
        """Return the least hinge loss where one of the features has no weight."""
        place = 1 + self.joined.index(feature)
        self.model.highs.changeRowBounds(place, -np.inf, np.inf)
        self._run()
        loss = self.model.columns().sum()
        self.model.highs.changeRowBounds(place, 0.0, 0.0)
        return loss

    def least_norm(self, turn=None):
        """Return weights ``turn @ v`` of least loss, with the least norm of v.

        None if they are not verified; `turn` is the identity if it is not given.
        """
        data = self.data
        turn = np.eye(len(self.joined)) if turn is None else turn
        columns = data.Z[:, self.joined] @ turn
        weights = np.zeros(data.n_features)
        try:
            least = least_norm(columns, data.signs, self.multipliers, data.sample_weight)
        except SubproblemError:
            return None
        weights[self.joined] = turn @ least
        margins = data.signs * (data.scores(weights) + data.offset(weights))
        shortest = margins.min() - 8 * np.finfo(float).eps * abs(margins).max()
        return weights / shortest if NEARLY < shortest < 1 else weights

    def bound(self, weights):
        """Return what no machine nearby gets below, from the multipliers; nor does any below 0.

        Nearby are machines of at most ten times the size of these weights, since the equations of
        the multipliers hold up to rounding.
        """
        signed = self.multipliers * self.data.signs
        off = abs(self.data.Z[:, self.joined].T @ signed) @ abs(weights[self.joined])
        off += abs(signed.sum() * self.data.offset(weights))
        return max(self.multipliers.sum() - 10 * off, 0.0)

    def _run(self):
        before = self.model.pivots
        self.model.run()
        self.counts.update({"linear program": 1, "pivot": self.model.pivots - before})


def drop_rounding(weights):
    """Return the weights with zero in the place of those that are nothing beside the largest."""
    return np.where(abs(weights) > ZERO * abs(weights).max(initial=0), weights, 0)


class Candidate:
    """Weights, and the number of features plus C times the hinge losses at the best offset."""

    def __init__(self, data, C, weights):
        self.weights = weights
        self.size = int(np.count_nonzero(weights))
        self.hinge = data.least_hinge(weights)
        self.objective = self.size + C * self.hinge
        saved = data.hinge_of_nothing() - self.hinge
        # The C from which the candidate is better than no features.
        self.pays_from = self.size / saved if saved > 0 else np.inf


class SupportSearch:
    """The search among supports for the least number of features plus C times the hinge losses."""

    def __init__(self, data, C):
        self.data = data
        self.C = C
        self.counts = Counter({"linear program": 0, "pivot": 0})
        self.gap = 0.0  # the largest relative duality gap of the machines returned
        self.same = SAME * data.count  # a difference of losses that may be rounding

    def fit(self, chosen):
        """Return the candidate of least loss on these features."""
        return self.candidate(LeastLoss(self.data, self.counts).solve(chosen))

    def candidate(self, weights):
        return Candidate(self.data, self.C, weights)

    def best_met(self, runs):
        """Return the best candidate among the supports met, or without features if none pays.

        And the least C from which one of them pays, with its size, where any was tried.
        """
        best = self.candidate(np.zeros(self.data.n_features))
        pays_from = np.inf
        size = 0
        for run in runs:
            program = LeastLoss(self.data, self.counts)
            for chosen in run.supports():
                if len(chosen) >= best.objective and pays_from < np.inf:
                    break
                found = self.candidate(program.solve(chosen))
                pays_from, size = min((pays_from, size), (found.pays_from, found.size))
                # Of sets that are as good up to rounding the first is kept; of one size, it is
                # the one that the run has met last.
                if found.objective < (1 - NO_LESS) * best.objective:
                    best = found
        if best.size:
            best = self.drop_what_does_not_pay(best)
            best = self.candidate(self.widest(best, np.flatnonzero(best.weights)))
        return best, pays_from, size

    def drop_what_does_not_pay(self, best):
        """Return the candidate without features that do not pay, left out one by one."""
        while best.size:
            chosen = np.flatnonzero(best.weights)
            program = LeastLoss(self.data, self.counts)
            program.solve(chosen)
            losses = np.array([program.loss_without(j) for j in chosen])
            least = np.flatnonzero(losses <= losses.min() + self.same)
            if len(least) > 1:
                # Several losses are equal, as they are where rows can be separated: then the
                # feature of the least weight in the widest margin is left out.
                weights = program.least_norm()
                sizes = abs(best.weights if weights is None else weights)[chosen[least]]
                least = least[sizes.argmin()]
            found = self.fit(np.delete(chosen, least))
            if found.objective >= (1 - NO_LESS) * best.objective:
                break
            best = found
        return best

    def best_of_size(self, size, runs):
        """Return the weights of least loss on so many of the features that the runs have met.

        The sets are those of the largest weights at each point. Each feature of the best is
        exchanged for others while this lowers the loss; of several sets that are as good, that
        of the widest margin is taken.
        """
        met = [np.count_nonzero(weights) for run in runs for _, weights in run.visited]
        size = min(size, max(met, default=0))
        sets = dict.fromkeys(s for run in runs for s in run.supports_of(size) if s)
        found = {s: self.fit(np.array(s)) for s in sets}
        least = min((candidate.hinge for candidate in found.values()), default=0)
        if least > self.same:
            first = next(s for s in found if found[s].hinge == least)
            best, exchanged = self.exchange(found[first], np.array(first))
            found[tuple(exchanged)] = best
            least = best.hinge
        tied = [s for s, candidate in found.items() if candidate.hinge <= least + self.same]
        widest = [self.widest(found[s], np.array(s)) for s in tied]
        nothing = np.zeros(self.data.n_features)
        return min(widest, key=lambda w: (-np.count_nonzero(w), w @ w), default=nothing)

    def exchange(self, best, chosen):
        """Return a candidate, and features of which no exchange of one for a few lowers its loss.

        Of the others those are tried of which the loss without the feature has the largest slope.
        """
        data = self.data
        turn = 0
        kept = 0
        while kept < len(chosen) and best.hinge > self.same:
            rest = np.delete(chosen, turn)
            program = LeastLoss(data, self.counts)
            program.solve(rest)
            slopes = abs(data.Z.T @ (program.multipliers * data.signs))
            slopes[chosen] = -1
            count = min(EXCHANGED, len(slopes) - len(chosen))
            kept += 1
            for other in np.argsort(-slopes, kind="stable")[:count]:
                tried = np.sort(np.append(rest, other))
                found = self.fit(tried)
                if found.hinge < best.hinge - self.same:
                    best = found
                    chosen = tried
                    kept = 0
                    turn = int(np.searchsorted(chosen, other))
            turn = (turn + 1) % len(chosen)
        return best, chosen

    def widest(self, candidate, chosen):
        """Return weights of least loss on the chosen features; of several, those of least norm.

        There are several where rows can be separated, or fewer features than chosen have a weight.
        A `SubproblemError` says that the loss is not the least, up to a small part of it.
        """
        program = LeastLoss(self.data, self.counts)
        program.solve(chosen)
        if candidate.hinge >= (1 - NO_LESS) * self.data.hinge_of_nothing():
            candidate = self.candidate(np.zeros(self.data.n_features))
        elif candidate.hinge <= self.same or candidate.size < len(chosen):
            weights = program.least_norm()
            found = None if weights is None else self.candidate(weights)
            if found and found.hinge <= candidate.hinge + ADDED * self.data.count:
                candidate = found
        lack = self.C * max(candidate.hinge - program.bound(candidate.weights), 0.0)
        gap = float(lack / candidate.objective) if lack > 0 else 0.0
        self.gap = max(self.gap, gap)
        if not gap <= VERIFIED_GAP:
            raise SubproblemError(
                f"the refit was not solved: duality gap {gap:.1e}, more than {VERIFIED_GAP:g}; "
                f"pass a smaller C than {self.C:g}, refit=False, scale=True if it is False, or "
                "sample_weight that differ less if there are some"
            )
        return candidate.weights
