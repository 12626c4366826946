"""Linear programs that pick among supports: the least hinge loss on some of the features."""

import numpy as np

from fsnotes.errors import SubproblemError
from fsnotes.solvers.highs import DualModel
from fsnotes.solvers.margin import SoftMargin

__all__ = ["Candidate", "Unpenalized"]

NO_LESS = 1e-9  # part of an objective by which another has to be less
NEARLY = 0.99  # a margin that is lengthened to 1
HARD = 1e8  # a price of errors that allows none, where there need be none
REFINEMENTS = 3  # of multipliers, where weights are large
EXCHANGED = 5  # features tried in the place of one
GAP = 1e-6  # relative duality gap of an answer that counts as verified
SAME = 1e-9  # of a row's loss, a difference that may be rounding


class Candidate:
    """A machine, its best offset, and the number of features plus C times the hinge losses."""

    def __init__(self, rows, C, weights):
        self.rows, self.C, self.weights = rows, C, weights
        self.size = int(np.count_nonzero(weights))
        self.offset = rows.offset(weights)
        self.hinge = rows.hinge(weights, self.offset)
        self.objective = self.size + C * self.hinge

    def pays_from(self):
        """The C from which the machine is better than none."""
        saved = self.rows.hinge_of_nothing() - self.hinge
        return self.size / saved if saved > 0 else np.inf


class Unpenalized:
    """Machines of least hinge loss on some of the features."""

    def __init__(self, rows):
        self.rows = rows
        self.counts = {"linear program": 0, "pivot": 0}
        self.gap = 0.0

    def chain(self):
        return Chain(self)

    def fewer(self, best):
        """A candidate without features that do not pay, left out one by one."""
        while best.size:
            chosen = np.flatnonzero(best.weights)
            chain = self.chain()
            chain.solve(chosen)
            losses = np.array([chain.loss_without(j) for j in chosen])
            least = np.flatnonzero(losses <= losses.min() + SAME * self.rows.count)
            if len(least) > 1:
                # as where rows can be separated: the lightest where the margin is widest
                sizes = abs((self.least(chosen, best.C) or best).weights[chosen[least]])
                least = least[sizes.argmin()]
            found = Candidate(best.rows, best.C, self.chain().solve(np.delete(chosen, least)))
            if found.objective >= (1 - NO_LESS) * best.objective:
                break
            best = found
        return best

    def exchanged(self, best, chosen):
        """Features each exchanged for another, as long as one exchange lowers the loss.

        Of the others those are tried that the multipliers without the feature ask for most.
        """
        rows, turn, kept = self.rows, 0, 0
        while kept < len(chosen) and best.hinge > SAME * rows.count:
            rest = np.delete(chosen, turn)
            chain = self.chain()
            chain.solve(rest)
            pulls = abs(rows.Z.T @ (chain.model.columns() * rows.signs))
            pulls[chosen] = -1
            others = np.argsort(-pulls, kind="stable")[: min(EXCHANGED, len(pulls) - len(chosen))]
            sets = [np.sort(np.append(rest, other)) for other in others]
            found = [Candidate(rows, best.C, self.chain().solve(s)) for s in sets]
            k = min(range(len(found)), key=lambda k: found[k].hinge, default=None)
            if k is not None and found[k].hinge < best.hinge - SAME * rows.count:
                best, chosen, kept = found[k], sets[k], 0
                turn = int(np.searchsorted(chosen, others[k]))
            else:
                kept += 1
            turn = (turn + 1) % len(chosen)
        return chosen

    def widest(self, candidate, chosen):
        """Weights of least loss on the chosen features; of several, those of least norm.

        There are several where rows can be separated, or fewer features than chosen have a weight.
        """
        rows = self.rows
        if candidate.hinge >= (1 - NO_LESS) * rows.hinge_of_nothing():
            candidate = Candidate(rows, candidate.C, np.zeros(rows.n_features))
        elif candidate.hinge <= SAME * rows.count or candidate.size < len(chosen):
            found = self.least(chosen, candidate.C)
            if found is not None and found.hinge <= candidate.hinge + 1e-8 * rows.count:
                candidate = found
        self.verify(candidate, chosen)
        return candidate.weights

    def least(self, chosen, C):
        """The machine with a price of errors that allows none but where it has to, or None."""
        rows, sizes = self.rows, np.zeros(self.rows.n_features)
        sizes[chosen] = 1
        try:
            program = SoftMargin(rows.Z, rows.signs, rows.sample_weight)
            margin = program.solve(sizes, HARD)
        except SubproblemError:
            return None
        scores = rows.scores(margin.weights) + margin.offset
        shortest = (rows.signs * scores).min() - 8 * np.finfo(float).eps * abs(scores).max()
        longer = 1 / shortest if NEARLY < shortest < 1 else 1.0
        return Candidate(rows, C, longer * margin.weights)

    def verify(self, candidate, chosen):
        """Raise unless the loss is the least on the chosen features, up to a small part of it."""
        chain = self.chain()
        chain.solve(chosen)
        lack = candidate.C * max(candidate.hinge - chain.bound(candidate), 0.0)
        gap = float(lack / candidate.objective) if lack > 0 else 0.0
        self.gap = max(self.gap, gap)
        if not gap <= GAP:
            raise SubproblemError(
                f"the refit was not solved: duality gap {gap:.1e}, more than {GAP:g}; pass a "
                f"smaller C than {candidate.C:g}, scale=True or refit=False"
            )


class Chain:
    """The same for supports that grow, each from the solution of the last."""

    def __init__(self, program):
        self.program, self.joined, self.model = program, [], None

    def solve(self, chosen):
        rows = self.program.rows
        if self.model is None or not set(self.joined) <= set(chosen.tolist()):
            self.model, self.joined = DualModel(rows.sample_weight), []
            self.model.add(rows.signs[None], np.zeros(1))
        new = np.setdiff1d(chosen, self.joined)
        self.model.add((rows.Z[:, new] * rows.signs[:, None]).T, np.zeros(len(new)))
        self.joined += new.tolist()
        self.run()
        weights = np.zeros(rows.n_features)
        weights[self.joined] = -self.model.duals()[1:]
        large = abs(weights) > 1e-9 * abs(weights).max(initial=0)
        return np.where(large, weights, 0)

    def loss_without(self, feature):
        """Least hinge loss if a feature of the support has no weight."""
        place = 1 + self.joined.index(feature)
        self.model.highs.changeRowBounds(place, -np.inf, np.inf)
        self.run()
        loss = self.model.columns().sum()
        self.model.highs.changeRowBounds(place, 0.0, 0.0)
        return loss

    def bound(self, candidate):
        """What no machine nearby gets below, from the multipliers; nor does any get below 0.

        Nearby are machines of at most ten times the size of the candidate, since the equations of
        the multipliers hold but for rounding.
        """
        shares = self.program.rows.sample_weight
        multipliers = np.clip(self.model.columns(), 0, shares)
        bound = self.bound_from(multipliers, candidate)
        for _ in range(REFINEMENTS):
            if bound >= candidate.hinge * (1 - GAP):
                break
            multipliers = np.clip(self.refined(multipliers), 0, shares)
            bound = max(bound, self.bound_from(multipliers, candidate))
        return bound

    def bound_from(self, multipliers, candidate):
        rows = self.program.rows
        multipliers = multipliers * rows.signs
        pulls = abs(rows.Z[:, self.joined].T @ multipliers) @ abs(candidate.weights[self.joined])
        off = pulls + abs(multipliers.sum() * candidate.offset)
        return max(abs(multipliers).sum() - 10 * off, 0.0)

    def refined(self, multipliers):
        """Multipliers that meet their equations more closely, those between their ends moved."""
        rows = self.program.rows
        signed = (np.column_stack([rows.Z[:, self.joined], np.ones(len(rows.Z))]).T) * rows.signs
        free = (multipliers > 0) & (multipliers < rows.sample_weight)
        off = signed @ multipliers
        moved = multipliers.copy()
        moved[free] -= np.linalg.lstsq(signed[:, free], off)[0]
        return moved

    def run(self):
        before = self.model.pivots
        self.model.run()
        self.program.counts["linear program"] += 1
        self.program.counts["pivot"] += self.model.pivots - before
