"""The posterior of a probit model with a sparse prior, and the steps that maximise it."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import erfcx, log_ndtr, ndtri

from fsnotes.core.mm import rises
from fsnotes.core.tolerances import NEGLIGIBLE_WEIGHT

__all__ = ["Lasso", "ProbitData", "Reweighted", "curvature", "ratio", "ridge"]

# The conditions of an optimum hold up to this part of the slope of the penalty.
OPTIMAL = 1e-6
# Below this margin the second derivative is 1 up to rounding.
SMALLEST_MARGIN = -1e4
# Newton's method takes a few steps within a step of the loop; more than this many never help.
MAX_NEWTON = 100
# A step of EM that changes the weights by less than this part of the largest ends those of EM.
SLOW = 1e-3
# After a step that was foreseen to gain this part of the value, the next one gains nothing.
SMALL_GAIN = 1e-10
# A step has to make this part of the gain that is foreseen, and is halved until it does.
SUFFICIENT = 1e-4
SHORTEST = 1e-12
# So many weights of the lasso may leave zero at a time.
JOINING = 10
# This part of a value is its rounding.
ROUNDED = 1e-14
# What keeps a singular matrix from having no factor: a part of its diagonal, and the curve below
# which the likelihood counts as flat.
SHIFT = 1e-12
SMALLEST_CURVE = 1e-100


def ratio(margins):
    """Return density over distribution function of a standard normal variable, at any margin."""
    return np.sqrt(2 / np.pi) / erfcx(-margins / np.sqrt(2))


def curvature(margins, ratios):
    """Return the second derivative of minus the log distribution function, from 0 to 1."""
    return np.where(margins > SMALLEST_MARGIN, ratios * (ratios + margins), 1.0)


class ProbitData:
    """The rows of a fit, and the probit model on them.

    The columns of Z are features in units of selection, or values of a kernel; the sign of a row is
    its class, -1 or 1. A point x is an array of the weights of the columns and, last, the weight
    of one more column, whose values are all `one`: the offset.
    """

    def __init__(self, Z, signs, sample_weight):
        self.Z = Z
        self.signs = signs
        self.sample_weight = sample_weight
        self.n_columns = Z.shape[1]
        # A column of equal values tells nothing, whatever its weight.
        self.deviations = np.maximum(Z.std(axis=0), np.finfo(float).tiny)
        self.is_constant = self.deviations == np.finfo(float).tiny
        self.one = max(1.0, self.deviations.max(initial=0))
        self.counts = {"linear system": 0}

    def scores(self, x):
        """Return the score of each row, in standard deviations of the noise."""
        live = np.flatnonzero(x[:-1])
        return self.Z[:, live] @ x[live] + self.one * x[-1]

    def spread(self, x):
        """Return the sizes of the weights in standard deviations of their columns."""
        return abs(x[:-1]) * self.deviations

    def loss(self, x):
        """Return minus the logarithm of the likelihood."""
        return -float(self.sample_weight @ log_ndtr(self.signs * self.scores(x)))

    def score_slopes(self, x):
        """Return the derivative of the log likelihood by the score of each row."""
        return self.sample_weight * self.signs * ratio(self.signs * self.scores(x))

    def best_offset(self):
        """Return the point of the largest likelihood without weights."""
        parts = [self.sample_weight @ (self.signs * sign > 0) for sign in (1, -1)]
        positive, negative = np.array(parts) / self.sample_weight.sum()
        # A part that rounds to 1 has an offset nevertheless, by that of the others.
        offset = ndtri(positive) if positive < 1 else -ndtri(negative)
        return np.append(np.zeros(self.n_columns), offset / self.one)

    def expected(self, x):
        """Return the means of the hidden variables, (4) of Figueiredo (2003)."""
        scores = self.scores(x)
        return scores + self.signs * ratio(self.signs * scores)

    def em_step(self, sizes, x):
        """Return the M-step (6) for ``w = sizes * u`` with the penalty ``|u|_2^2``."""
        live = np.flatnonzero(sizes)
        self.counts["linear system"] += 1
        u, offset = ridge(self.Z[:, live] * sizes[live], self.expected(x), self.sample_weight)
        return self.point(live, sizes[live] * u, offset)

    def point(self, live, weights, offset):
        """Return the point of these weights, and of no others, and of the offset."""
        x = np.zeros(self.n_columns + 1)
        x[live] = weights
        x[-1] = offset / self.one
        return x

    def minimize_ridge(self, sizes, x):
        """Minimise ``loss + |u|_2^2 / 2`` for ``w = sizes * u``, by Newton's method from x."""
        live = np.flatnonzero(sizes)
        A = self.Z[:, live] * sizes[live]
        u = np.append(x[live] / sizes[live], self.one * x[-1])

        def value(u):
            margins = self.signs * (A @ u[:-1] + u[-1])
            return -self.sample_weight @ log_ndtr(margins) + u[:-1] @ u[:-1] / 2

        before = value(u)
        for _ in range(MAX_NEWTON):
            scores = A @ u[:-1] + u[-1]
            margins = self.signs * scores
            ratios = ratio(margins)
            curves = np.maximum(curvature(margins, ratios), SMALLEST_CURVE)
            # The target is where the tangent of the slope is 0, unless the curve is flat already.
            targets = scores + self.signs * ratios / curves
            self.counts["linear system"] += 1
            step = np.append(*ridge(A, targets, self.sample_weight * curves)) - u
            slopes = self.sample_weight * self.signs * ratios
            foreseen = slopes @ (A @ step[:-1] + step[-1]) - u[:-1] @ step[:-1]
            length = 1.0
            after = value(u + step)
            while after > before - SUFFICIENT * length * foreseen and length > SHORTEST:
                length /= 2
                after = value(u + length * step)
            if after >= before:
                break
            u = u + length * step
            before = after
            if foreseen <= SMALL_GAIN * before:
                break
        return self.point(live, sizes[live] * u[:-1], u[-1])


def ridge(A, targets, sample_weight):
    """Return the u and the b that minimise ``sample_weight @ (targets - A u - b)**2 + u @ u``."""
    total = sample_weight.sum()
    center = sample_weight @ A / total
    level = sample_weight @ targets / total
    B = np.sqrt(sample_weight)[:, None] * (A - center)
    r = np.sqrt(sample_weight) * (targets - level)
    # The smaller system is solved, of as many equations as columns or as rows.
    if B.shape[1] <= B.shape[0]:
        u = positive_solve(np.eye(B.shape[1]) + B.T @ B, B.T @ r)
    else:
        u = B.T @ positive_solve(np.eye(B.shape[0]) + B @ B.T, r)
    return u, level - center @ u


def positive_solve(matrix, right):
    """Solve a system whose matrix is positive definite up to rounding."""
    if not len(right):
        return right
    try:
        units = np.sqrt(matrix.diagonal())
        return cho_solve(cho_factor(matrix / np.outer(units, units)), right / units) / units
    except LinAlgError:
        return np.linalg.lstsq(matrix, right)[0]


class Reweighted:
    """Minus the logarithm of the posterior, by squares that lie above it, for `majorize_minimize`.

    The penalty is ``alpha |w|_1`` or, where `alpha` is None, ``sum log(|w| / floor)`` over the
    weights above their floors, so that it is 0 without weights. The first `published` steps are
    those of EM, which puts squares above the likelihood, too; in later steps Newton's method
    minimises the likelihood itself.
    """

    def __init__(self, data, alpha, floors, published=np.inf):
        self.data = data
        self.alpha = alpha
        self.floors = floors
        self.published = published
        self.lowest = np.inf
        self.rose = False
        self.measured = None, np.nan

    def value(self, x):
        """Return minus the log likelihood plus the penalty."""
        if self.measured[0] is not x:
            self.measured = x, self.data.loss(x) + self.penalty(abs(x[:-1]))
        return self.measured[1]

    def size(self, x):
        """Return the number of features, of which the offset is none."""
        return np.count_nonzero(x[:-1])

    def penalty(self, sizes):
        """Return the penalty of weights of these sizes."""
        if self.alpha is not None:
            return self.alpha * float(sizes.sum())
        larger = sizes > self.floors
        return float(np.log(sizes[larger] / self.floors[larger]).sum())

    def tangent(self, x):
        """Return the sizes of columns for ``|u|_2^2 / 2``: ``1 / sqrt(E[1 / tau])``, by (5)."""
        sizes = abs(x[:-1])
        return sizes if self.alpha is None else np.sqrt(sizes / self.alpha)

    def minimize(self, sizes, x):
        """Return the next point, in which weights below their floors are zero.

        Where samples weigh so much that the system of the step has lost its digits, Newton's method
        goes on, and no weight is dropped; the point stays where that does not gain, either.
        """
        self.lowest = min(self.lowest, self.value(x))
        new = self.data.em_step(sizes, x) if self.published > 0 else x
        self.published -= 1
        if abs(new - x).max() <= SLOW * abs(new).max() and self.published < np.inf:
            self.published = 0
            new = self.data.minimize_ridge(sizes, x)
        new = self.finish(new)
        self.rose = rises(self.value(new), self.lowest)
        if self.rose:
            new = self.data.minimize_ridge(sizes, x)
        return x if rises(self.value(new), self.lowest) else new

    def finish(self, x):
        """Return the point without weights below their floors, but for one that has to return."""
        x[:-1] = np.where(abs(x[:-1]) > self.floors, x[:-1], 0)
        return x if self.alpha is None else self.revive(x)

    def revive(self, x):
        """Let the weight at zero whose slope exceeds alpha most, if one does, leave zero.

        No step leaves zero by itself, and a weight may have been on its way to the other sign.
        """
        zeros = np.flatnonzero(x[:-1] == 0)
        slopes = self.data.score_slopes(x) @ self.data.Z[:, zeros]
        excess = abs(slopes) - self.alpha
        if excess.max(initial=0) > OPTIMAL * self.alpha:
            best = excess.argmax()
            # The second derivative of the loss is at most this.
            curve = self.data.sample_weight @ self.data.Z[:, zeros[best]] ** 2
            x[zeros[best]] = np.sign(slopes[best]) * excess[best] / curve
        return x

    def drop_negligible(self, x):
        """Return the point without the weights that only come near zero."""
        spread = self.data.spread(x)
        kept = spread > NEGLIGIBLE_WEIGHT * spread.max(initial=0)
        return np.append(np.where(kept, x[:-1], 0), x[-1])

    def violation(self, x, among=slice(None)):
        """Return the largest part of a slope that the slope of the penalty does not balance.

        A weight may be zero where the slope is at most alpha, and with the logarithm anywhere.
        """
        weights = x[:-1]
        score_slopes = self.data.score_slopes(x)
        slopes = score_slopes @ self.data.Z
        live = weights != 0
        size = abs(score_slopes).sum()
        offset = abs(score_slopes.sum()) / size if size > 0 else 0.0
        if self.alpha is None:
            off = np.where(live, abs(weights * slopes - 1), 0)
        else:
            off = np.maximum(abs(slopes) / self.alpha - 1, 0)
            off[live] = abs(slopes[live] / self.alpha - np.sign(weights[live]))
        return float(off[among].max(initial=offset))


class Lasso(Reweighted):
    """The penalty ``alpha |w|_1``, whose optimum Newton's method finds with few weights at a time.

    Each step lets weights join whose slope is larger than alpha, and solves for those that differ
    from zero as long as their signs last.
    """

    def __init__(self, data, alpha):
        super().__init__(data, alpha, np.zeros(data.n_columns))

    def drop_negligible(self, x):
        """Return the point as it is: its zeros are exact."""
        return x

    def tangent(self, x):
        """Return the signs of the weights that are to leave zero: those of the steepest slopes."""
        slopes = self.data.score_slopes(x) @ self.data.Z
        excess = np.where(x[:-1] == 0, abs(slopes) - self.alpha * (1 + OPTIMAL / 10), 0)
        joining = np.argsort(-excess, kind="stable")[:JOINING]
        joining = joining[excess[joining] > 0]
        signs = np.zeros(len(slopes))
        signs[joining] = np.sign(slopes[joining])
        return signs

    def minimize(self, joining, x):
        """Return the point of least value among those of these signs, or one on the way there."""
        if not joining.any() and self.violation(x) <= OPTIMAL / 10:
            return x
        for _ in range(MAX_NEWTON):
            new = self.newton_step(joining, x)
            if new is x:
                break
            x = new
            joining = np.zeros(len(joining))
            if self.violation(x, x[:-1] != 0) <= OPTIMAL / 100:
                break
        return x

    def newton_step(self, joining, x):
        """Return the next point, or x itself if none nearby has a lower value."""
        before = self.value(x)
        signs = np.where(x[:-1] != 0, np.sign(x[:-1]), joining)
        while True:
            direction, foreseen = self.direction(signs, x)
            # Once others have joined, a weight may have to leave zero with the other sign.
            wrong = (x[:-1] == 0) & (direction[:-1] * signs < 0)
            if not wrong.any():
                break
            signs = np.where(wrong, 0, signs)
        length = 1.0
        while length > SHORTEST:
            new = x + length * direction
            # A weight that would change its sign ends at zero.
            new[:-1] = np.where(new[:-1] * signs > 0, new[:-1], 0)
            after = self.value(new)
            if after <= before * (1 + ROUNDED) - SUFFICIENT * length * foreseen:
                return new
            length /= 2
        return x

    def direction(self, signs, x):
        """Return Newton's direction for the weights that have a sign, and the gain it foresees."""
        data = self.data
        live = np.flatnonzero(signs)
        A = np.column_stack([data.Z[:, live], np.full(len(data.Z), data.one)])
        margins = data.signs * data.scores(x)
        ratios = ratio(margins)
        slopes = (data.sample_weight * data.signs * ratios) @ A
        slopes[:-1] -= self.alpha * signs[live]
        curves = data.sample_weight * curvature(margins, ratios)
        matrix = (A * curves[:, None]).T @ A
        # With more weights than rows, or with columns that depend on each other, it is singular.
        matrix += np.diag(SHIFT * matrix.diagonal() + SMALLEST_CURVE)
        data.counts["linear system"] += 1
        part = positive_solve(matrix, slopes)
        return data.point(live, part[:-1], data.one * part[-1]), float(slopes @ part)
