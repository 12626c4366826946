"""Direct sparsity: few rows of weights that are used by all classes, by reweighting."""

import warnings
from dataclasses import replace

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.mm import stages
from fsnotes.core.surrogates import Power
from fsnotes.core.validation import check_bool, check_count, check_one_of, check_real
from fsnotes.errors import NotSeparableError, SelectionWarning, SubproblemError, warn
from fsnotes.solvers.squared_hinge import SquaredHinge, Unbounded

__all__ = ["DSO", "JointSteps", "Rows", "only", "refitted"]

LARGEST_C = 1e6
SMOOTHING = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)  # of the largest row of the first machine
ROUGH = 3e-2  # change of the weights at which a stage on the way ends
STRIDE = 10  # most by which the length of a row is taken on, in one step
REACH, FARTHER, NEARER = 2, 1.5, 4  # steps by which rows are taken on, and how that changes
DEAD = 1e-6  # of the largest row, what counts as zero
GAIN = 1e-12  # of an objective, the least for which sizes are taken on
NO_RISE = 1e-9  # of an objective, what a row that is dropped may cost by rounding
LOST = 1e-9  # of a margin or an objective, what a row that is left out may cost
MISSING = 1e-4  # of a margin, what rounding may lack
DEPENDENT = 1e-10  # of a column, what is left of one that is a sum of others
ROUNDS = 30  # exchanges for each row, before least squares are given up
REFIT_C = 1.0  # of the refit, where the margin is hard


class Rows:
    """Rows with a column of ones, their one-versus-rest signs, and their shares of the loss."""

    def __init__(self, Z, of_class, shares, n_classes):
        self.X = np.hstack([Z, np.ones((len(Z), 1))])
        self.signs = np.where(of_class[:, None] == np.arange(n_classes), 1.0, -1.0)
        self.shares = shares

    def margins(self, W):
        live = np.flatnonzero(W.any(axis=1))
        return self.signs * (self.X[:, live] @ W[live])

    def loss(self, W):
        """Weighted sum of squares of what the margins lack of 1."""
        return float(self.shares @ (np.maximum(0, 1 - self.margins(W)) ** 2).sum(axis=1))


class JointMachine:
    """The machine of least ``sum |w_i|^2 / sizes_i``, of all classes, with its last blocks."""

    def __init__(self, rows):
        self.rows = rows
        self.programs = SquaredHinge(rows.signs)

    def solve(self, sizes, softness=0.0):
        """Weights; rows whose size is zero have none.

        ``softness`` is the price of a sum of squares of weights over that of the squares of what
        margins lack; at 0, none may lack anything.
        """
        X, signs = self.rows.X, self.rows.signs
        live = np.flatnonzero(sizes > 0)
        columns = X if len(live) == X.shape[1] else X[:, live]
        roots = np.sqrt(sizes[live])
        found = self.programs.solve(columns * roots, softness / self.rows.shares)
        W = np.zeros((X.shape[1], signs.shape[1]))
        W[live] = roots[:, None] * found.weights
        if softness == 0:  # what is missing of 1 by rounding
            least = (signs * (columns @ W[live])).min(axis=0)
            if (least < 1 - MISSING).any():
                raise SubproblemError(f"a margin is {least.min():.3g} instead of 1, by rounding")
            W /= np.minimum(1, least)
        return W


def refitted(rows, chosen, C=REFIT_C):
    """The machine of some features that minimises ``|W|^2 + C`` times the loss.

    Parameters
    ----------
    rows : Rows
    chosen : ndarray of int
    C : float

    Returns
    -------
    W : ndarray of shape (n_features + 1, n_classes)
        Zero where not chosen; the last row are the offsets.
    """
    sizes = np.zeros(rows.X.shape[1])
    sizes[chosen] = sizes[-1] = 1
    # with blocks of its own, since those of steps before it are far from them
    return JointMachine(rows).solve(sizes, 1 / C)


def only(W, chosen):
    """Weights of some features, and the offsets."""
    kept = np.zeros_like(W)
    places = np.append(chosen, -1)
    kept[places] = W[places]
    return kept


class Smoothed:
    """``sum (|w_i|^2 + eps^2)^(p/2) - eps^p``, and C times the loss; for `majorize_minimize`."""

    def __init__(self, rows, p, C, eps, tol):
        self.rows, self.C, self.tol = rows, C, tol
        self.power = Power(p, eps)

    def value(self, W):
        penalty = self.power.value(np.linalg.norm(W, axis=1)).sum()
        return penalty + (self.C * self.rows.loss(W) if self.C is not None else 0)

    def tangent(self, W):
        """Sizes, ``|w_i|^(2 - p)`` but for the smoothing, after (10) of Peng and Fan (2016)."""
        norms = np.linalg.norm(W, axis=1)
        return self.power.p / 2 / self.power.slope_of_square(norms)

    def size(self, W):
        return np.count_nonzero(W[:-1].any(axis=1))


class JointSteps(Smoothed):
    """Each step is the machine of least ``sum |w_i|^2 / sizes_i`` under all constraints."""

    def __init__(self, machine, p, C, eps, tol):
        super().__init__(machine.rows, p, C, eps, tol)
        self.machine = machine
        self.softness = 0.0 if C is None else p / (2 * C)
        self.last, self.reach, self.is_rough = None, REACH, tol >= ROUGH

    def minimize(self, sizes, W):
        norms = np.linalg.norm(W, axis=1)
        if not norms.any():
            return W
        dead = norms <= DEAD * norms.max()
        value = self.value(W)
        further = self._further(norms)
        self.last = norms
        if further is not None:
            new = self._tried(np.where(dead, 0, sizes * further), value * (1 - GAIN))
            if new is not None:
                # the next step is one as it comes, by which the direction is seen again
                self.last, self.reach = None, self.reach * FARTHER
                return new
            self.reach = max(REACH, self.reach / NEARER)
        if dead.any():
            new = self._tried(np.where(dead, 0, sizes), value * (1 + NO_RISE))
            if new is not None:
                return new
        return self.machine.solve(sizes, self.softness)

    def _further(self, norms):
        """Factors that take sizes on in the direction of the last step, in the last stage alone.

        As far as so many such steps would go, more of them each time that the objective falls.
        """
        last = self.last
        if self.is_rough or last is None or abs(norms - last).max() <= self.tol * norms.max():
            return None
        ratios = np.divide(norms, last, out=np.ones(len(norms)), where=(last > 0) & (norms > 0))
        return np.clip(ratios**self.reach, 1 / STRIDE, STRIDE) ** (2 - self.power.p)

    def _tried(self, sizes, limit):
        try:
            new = self.machine.solve(sizes, self.softness)
        except (Unbounded, SubproblemError):
            return None
        return new if self.value(new) <= limit else None


class Alternation(Smoothed):
    """Each step of Algorithm 1 of Peng and Fan (2016): first U for E, then E for U.

    Where rows are more than their rank, ``X W = X X^+ (Y + E)`` stands for ``X W = Y + E``.
    """

    def __init__(self, elimination, p, eps, tol):
        super().__init__(elimination.rows, p, None, eps, tol)
        self.elimination = elimination

    def minimize(self, sizes, W):
        V = self.elimination.free_step(sizes)
        return self.elimination.slack_step(self.tangent(V), V)


class Elimination:
    """Equations whose pivots, the first columns that depend on no others, follow from the rest."""

    def __init__(self, rows):
        self.rows = rows
        X = rows.X
        self.pivots = first_independent(X)
        self.exact = len(self.pivots) == len(X)
        self.base = np.eye(len(X)) if self.exact else qr(X[:, self.pivots], mode="economic")[0]
        self.equations = X if self.exact else self.base.T @ X
        self.others = np.setdiff1d(np.arange(X.shape[1]), self.pivots)
        self.slacks = np.zeros(rows.signs.shape)
        self.programs = SquaredHinge(rows.signs)

    def start(self):
        return self.free_step(np.ones(self.rows.X.shape[1]))

    def free_step(self, sizes):
        """Least ``sum |w_i|^2 / sizes_i`` for these slacks, (12) without its inverses."""
        roots = np.sqrt(sizes)
        wanted = self.base.T @ (self.rows.signs + self.slacks)
        Q, R = qr((self.equations * roots).T, mode="economic")
        return roots[:, None] * (Q @ solve_triangular(R, wanted, trans="T"))

    def slack_step(self, sizes, W):
        """Least ``sum |w_i|^2 / sizes_i`` over the pivots and the slacks, others fixed."""
        signs, pivots = self.rows.signs, self.pivots
        W = W.copy()
        fixed = self.equations[:, self.others] @ W[self.others]
        columns = self.equations[:, pivots]
        if self.exact:
            roots = np.sqrt(sizes[pivots])
            found = self.programs.solve(columns * roots, np.zeros(len(signs)), 1 - signs * fixed)
            W[pivots] = roots[:, None] * found.weights
            self.slacks = self.rows.X @ W - signs
            return W
        roots = np.sqrt(sizes[pivots])[:, None]
        given = np.linalg.solve(columns, self.base.T @ signs - fixed) / roots
        moved = (np.linalg.solve(columns, self.base.T) / roots).T
        # Columns of length 1 keep non-negative least squares from going round in circles sooner.
        lengths, size = np.linalg.norm(moved, axis=1), np.linalg.norm(given, axis=0)
        unit = (moved / lengths[:, None]).T
        for k, sign in enumerate(signs.T):
            try:
                found, _ = nnls(unit * sign, -given[:, k] / size[k], maxiter=ROUNDS * len(signs))
                slacks = found * size[k] / lengths
            except RuntimeError:
                program = SquaredHinge(sign[:, None])
                targets = -sign[:, None] * (moved @ given[:, [k]])
                slacks = program.solve(moved, np.zeros(len(signs)), targets).multipliers[:, 0]
            self.slacks[:, k] = sign * slacks
        W[pivots] = roots * (given + moved.T @ self.slacks)
        return W


def first_independent(X):
    """Places of the first columns of which none is a sum of those before it."""
    N, q = X.shape
    sizes = np.linalg.norm(X, axis=0)
    R = abs(np.diag(qr(X[:, :N], mode="r")[0]))
    if len(R) == N and (R > DEPENDENT * sizes[:N]).all():
        return np.arange(N)
    pivots, basis = [], np.zeros((N, 0))
    for j in range(q):
        left = X[:, j] - basis @ (basis.T @ X[:, j])
        left -= basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > DEPENDENT * max(sizes[j], 1e-300):
            pivots.append(j)
            basis = np.column_stack([basis, left / size])
            if len(pivots) == N:
                break
    return np.array(pivots)


class DSO(SparseClassifier):
    """Few features for all classes at once: direct sparsity optimisation under margins.

    Of each class a plane is sought that separates it from all others. With a row of weights
    ``w_i`` for each feature, one weight a class, minimise ``sum |w_i|_2^p`` where each margin is at
    least 1, problem (5) of Peng and Fan (2016), or with a price ``C`` of the squares of what
    margins lack. A feature costs nothing only if no class uses it.

    Parameters
    ----------
    p : float, default=0.9
        Above 0 and at most 1, where the problem is convex. A smaller p leaves fewer features, and
        its end depends more on the way.
    n_features : int, optional
        Select so many at most: those with the largest `row_norms_`, which the refit changes. No
        more than are alive.
    C : float, optional
        Price of the sum over rows and classes of ``max(0, 1 - margin)**2``, up to 1e6. A smaller
        one keeps fewer features; it counts rows, so with ten times as many try a tenth. Without it
        the margins are hard, and classes that no plane separates are an error. The refit is soft in
        any case.
    method : {"joint", "alternating"}, default="joint"
        Solve each reweighted step exactly; or by the two half-steps of the published algorithm,
        one over slacks and one over the rest, which may stall above the optimum even at ``p=1``,
        depends on the order of the features, and where rows are more than their rank does not keep
        the margins. It has no ``C``.
    refit : bool, default=True
        Return the machine of the features selected that minimises ``|W|^2 + C`` times the squares
        of what margins lack, with a C of 1 where the margins are hard; otherwise the end of the
        steps itself.
    scale : bool, default=True
        Weigh features in units of their pooled within-class standard deviation, from the middle of
        the class means. The bias is a weight that costs as any other, so that both matter.
    tol : float, default=1e-05
        The last stage ends when no weight changes by more than this part of the largest.
    max_iter : int, default=500
        Most steps of a stage.
    progress : bool, default=False
        Show a progress bar over the stages, with the number of features left.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Exactly zero where not selected.
    intercept_ : ndarray of shape (n_classes,), or (1,)
    objective_ : float
        ``sum |w_i|^p``, the bias row included, and C times the squares of what margins lack, in
        the units that `scale` sets, at the end of the steps. Two classes have two columns.
    n_live_ : int
        Features alive at the end of the steps: those whose row is more than 1e-6 of the largest.
    row_norms_ : ndarray of shape (n_features,)
        Sizes of the rows there, in the same units; they rank the features.
    n_iter_ : int
        Steps of all stages.
    support_ : ndarray of shape (n_features,)
    n_selected_ : int
    scale_ : ndarray of shape (n_features,)
        Units of the features.
    classes_, n_features_in_, feature_names_in_, result_
        ``result_.steps`` is the history of the smoothed objective, over all features that vary.

    Raises
    ------
    NotSeparableError
        Without `C`, if some class cannot be separated from the others; it carries certificates.
    SubproblemError
        If a step cannot be verified.

    Notes
    -----
    A row of weights costs ``(|w_i|^2 + eps^2)^(p/2) - eps^p``, and eps goes to 1e-8 of the largest
    row in six stages. All classes share the matrix ``X diag(sizes) X'`` of a step, which takes
    O(N^2 k) for N rows and k features alive; a quadratic program over multipliers of each class
    adds O(s^3) for s of them above zero, a few times. Where rows are more than features, the
    products of these s rows alone are formed. Equal rows are one row, of the sum of their weights.

    Published misprints, put right: the matrix P of (8) begins with -M, (11) has the square of
    Sigma both times, and the ones stand in a column of X.

    References
    ----------
    H. Peng and Y. Fan, Direct sparsity optimization based feature selection for multi-class
    classification, Proceedings of the 25th International Joint Conference on Artificial
    Intelligence, 1918-1924, 2016.

    Examples
    --------
    >>> from fsnotes import DSO
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> [DSO(p=p).fit(X, y).n_live_ for p in (0.5, 0.1)]
    [10, 9]
    """

    many_classes = True

    def __init__(
        self,
        *,
        p=0.9,
        n_features=None,
        C=None,
        method="joint",
        refit=True,
        scale=True,
        tol=1e-5,
        max_iter=500,
        progress=False,
    ):
        self.p = p
        self.n_features = n_features
        self.C = C
        self.method = method
        self.refit = refit
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    def _check_parameters(self):
        check_real("p", self.p, 0, open_at=0, most=1)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        if self.C is not None:
            check_real("C", self.C, 0, open_at=0, most=LARGEST_C)
        check_one_of("method", self.method, ("joint", "alternating"))
        if self.method == "alternating" and self.C is not None:
            raise ValueError(
                f'method="alternating" has hard margins; pass C=None instead of {self.C!r}, or '
                'method="joint"'
            )
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter)
        check_bool("progress", self.progress)

    def _fit_samples(self, samples):
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        if not self.scale:
            features = features.from_origin()
        Z = features.apply(samples.X)
        rows = Rows(Z, samples.class_index, samples.sample_weight, len(self.classes_))
        machine = JointMachine(rows)
        try:
            W = self._end(rows, machine)
        except Unbounded as error:
            raise self._not_separable(error.certificates, samples) from None
        least = rows.margins(W).min()
        norms = np.linalg.norm(W[:-1], axis=1)
        self.row_norms_ = np.zeros(self.n_features_in_)
        self.row_norms_[features.used] = norms
        self.n_live_ = int(np.count_nonzero(norms))
        chosen = np.sort(np.argsort(-norms, kind="stable")[: self._size()])
        W = self._machine(rows, W, chosen)
        self._warn_of_number(len(features.used))
        self._warn_of_margins(least)
        self._set_planes(features, W[:-1].T, W[-1])

    # ------------------------------------------------------------ the steps

    def _end(self, rows, machine):
        """Weights in which the steps end, those of rounding left out."""
        first = machine.solve(np.ones(rows.X.shape[1]), self._softness())
        largest = np.linalg.norm(first, axis=1).max()
        if self.method == "joint":
            start, family, options = first, JointSteps, (machine, self.p, self.C)
        else:
            elimination = Elimination(rows)
            start, family, options = elimination.start(), Alternation, (elimination, self.p)
        problems = [
            family(*options, eps * largest, self.tol if eps == SMOOTHING[-1] else ROUGH)
            for eps in SMOOTHING
        ]
        W, result = self._stages(problems, start)
        self.n_iter_ = len(result.steps) - len(problems)
        W = self._without_rounding(rows, W, SMOOTHING[-1] * largest)
        penalty = (np.linalg.norm(W, axis=1) ** self.p).sum()
        self.objective_ = float(penalty + (0 if self.C is None else self.C * rows.loss(W)))
        counts = {kind: int(count) for kind, count in machine.programs.counts.items()}
        self.result_ = replace(result, counts=counts)
        return W

    def _without_rounding(self, rows, W, eps):
        """Weights without the rows that are next to nothing, unless margins need them."""
        norms = np.linalg.norm(W, axis=1)
        if norms.max() <= eps:
            return np.zeros(W.shape)
        dead = norms <= DEAD * norms.max()
        dead[-1] = False  # the bias is no feature, whatever the units
        kept = np.where(dead[:, None], 0, W)
        # hard margins are restored below, by weights that are larger by as much as is missing
        allowed = DEAD if self.C is None else LOST * (norms**self.p).sum()
        needed = self._lacking(rows, W) + allowed
        for j in np.flatnonzero(dead)[np.argsort(-norms[dead], kind="stable")]:
            if self._lacking(rows, kept) <= needed:
                break
            kept[j] = W[j]
        least = rows.margins(W).min(axis=0)
        if self.C is None and (least >= 1 - LOST).all():
            kept /= np.minimum(1, rows.margins(kept).min(axis=0))
        return kept

    def _lacking(self, rows, W):
        """What the margins lack, as a part of the objective."""
        if self.C is None:
            return max(0, 1 - rows.margins(W).min())
        return self.C * rows.loss(W)

    def _softness(self):
        return 0.0 if self.C is None else self.p / (2 * self.C)

    def _stages(self, problems, start):
        from tqdm import tqdm

        with (
            tqdm(total=len(problems), desc="DSO", unit="stage", disable=not self.progress) as bar,
            warnings.catch_warnings(),
        ):
            # of a stage on the way it is nobody's concern
            warnings.filterwarnings("ignore", "not converged in", ConvergenceWarning)

            def show(step, W):
                bar.n = step.stage
                bar.set_postfix(features=step.n_selected, change=f"{step.change:.0e}")

            W, result = stages(problems, start, tol=self.tol, max_iter=self.max_iter, callback=show)
            bar.n = len(problems)
        if result.status == "max_iter":
            warn(
                f"not converged in {self.max_iter} steps: the last changed the weights by "
                f"{result.steps[-1].change:.1e}, more than tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
            )
        return W, result

    # ------------------------------------------------------------ what is returned

    def _size(self):
        return self.n_live_ if self.n_features is None else min(self.n_live_, self.n_features)

    def _machine(self, rows, W, chosen):
        """The machine of the features chosen, refitted or as the steps left it."""
        if self.refit or not len(chosen):
            return refitted(rows, chosen, REFIT_C if self.C is None else self.C)
        return only(W, chosen)

    def _warn_of_number(self, count):
        if self.n_features is not None and self.n_features > self.n_live_:
            words = (
                f"n_features={self.n_features}, but only {self.n_live_} are alive, others are "
                f"rounding; {self.n_live_} are returned"
            )
            if self.p < 1 and self.n_live_ < count:
                words += "; a larger p leaves more"
        elif count and not self.n_live_:
            words = 'method="alternating" has lost all weights; pass method="joint"'
            if self.C is not None:
                words = f"C={self.C:g} is too small to select a feature; pass a larger C"
        else:
            return
        warn(words, SelectionWarning)

    def _warn_of_margins(self, least):
        if self.C is None and least < 1 - MISSING:
            warn(
                f'method="alternating" has not kept the margins, the smallest is {least:.2g}: rows '
                'are more than their rank; pass method="joint"',
                SelectionWarning,
            )

    def _summary_lines(self):
        priced = "" if self.C is None else f" + C (squares of what margins lack) at C={self.C:g}"
        return [
            f"sum |w|^p{priced}, at p={self.p:g}, before the refit: {self.objective_:.6g}",
            "no promise for new data",
        ]

    def _not_separable(self, certificates, samples):
        """The error, with a certificate for the rows as they were passed."""
        found = {}
        for k, certificate in certificates.items():
            of_rows = np.zeros(samples.n_passed)
            of_rows[samples.row] = certificate
            found[self.classes_.tolist()[k]] = of_rows
        names = ", ".join(repr(label) for label in list(found)[:5]) + ", ..." * (len(found) > 5)
        return NotSeparableError(
            f"no plane separates the rows of class {names} from all others, so there is no hard "
            "margin; pass C=1 for a soft one. The .certificates of this NotSeparableError prove it",
            found,
        )
