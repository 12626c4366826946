"""Estimators of Peng and Fan (2016): the first features of a ranking, then a linear machine."""

import numpy as np

from fsnotes.errors import collecting
from fsnotes.replication.estimators.selected import SelectedMachine, kept, mask_of

# Where there are more than MANY_ROWS rows, FEW_ROWS of them rank the features, for every method:
# with more rows than features, a half-step of DSO on ISOLET takes minutes.
MANY_ROWS = 1000
FEW_ROWS = 520
DRAW_SEED = 2016
FREE = 1e10  # times the largest size of a row, the size of one that costs nothing
LONGEST_LIST = 100  # features that mRMR puts in order, as many as any table takes


class RankedLinearSVM(SelectedMachine):
    """The first features of a ranking, and a linear machine of libsvm, one class against one.

    Parameters
    ----------
    ranking : str
        One of `RANKINGS`, or "all".
    n_features : int
        So many at most: never more than the ranking leaves alive.
    C : float
        Cost of errors of the machine that classifies.
    scale : bool
        Standardise the columns first, by the rows to fit.
    options
        Of the ranking.
    """

    def __init__(self, ranking, C, n_features=None, scale=True, **options):
        self.ranking = ranking
        self.C = C
        self.n_features = n_features
        self.scale = scale
        self.options = options

    def fit(self, X, y):
        """Rank and fit."""
        from sklearn.preprocessing import StandardScaler

        self._scaler = StandardScaler(with_mean=self.scale, with_std=self.scale).fit(X)
        return super().fit(X, y)

    def _scale(self, X):
        return self._scaler.transform(X)

    def _select(self, X, y):
        order = np.arange(X.shape[1])
        if self.ranking != "all":
            order = kept(order_by, X, y, self.ranking, tuple(sorted(self.options.items())))
            if self.ranking not in FILTERS:
                self.n_live_ = len(order)
        return mask_of(order[: self.n_features], X.shape[1])

    def _new_machine(self):
        from sklearn.svm import SVC

        return SVC(kernel="linear", C=self.C)


def order_by(Z, y, ranking, options):
    """Order of the features that a ranking leaves alive, for `RankedLinearSVM`."""
    if len(Z) > MANY_ROWS:
        Z, y = draw_rows(Z, y, FEW_ROWS)
    # a step without a rise may be the last that is allowed while settings are chosen
    with collecting():
        return RANKINGS[ranking](Z, y, **dict(options))


def draw_rows(Z, y, count):
    """Draw so many rows by lot, with the classes in their proportions."""
    from sklearn.model_selection import StratifiedShuffleSplit

    draw = StratifiedShuffleSplit(1, train_size=count, random_state=DRAW_SEED)
    drawn, _ = next(draw.split(Z, y))
    return Z[drawn], y[drawn]


def rank_by_mrmr(Z, y, **options):
    """Features in the order in which mRMR takes them."""
    from fsnotes import mrmr

    return mrmr(Z, y, n_features=min(LONGEST_LIST, Z.shape[1]), **options).order


def rank_by_relieff(Z, y, **options):
    """Features by their ReliefF weight."""
    from fsnotes import relieff

    return np.argsort(-relieff(Z, y, **options), kind="stable")


def rank_by_l1svm(Z, y, price):
    """Features by the norm, over the classes, of the weights of one linear program a class.

    The price multiplies the sum of the losses, and the C of `L1SVM` their mean.
    """
    from fsnotes import L1SVM
    from fsnotes.solvers.hinge import LARGEST_C

    C = min(price * len(Z), LARGEST_C)
    machine = L1SVM(C=C, refit=False, scale=False).fit(Z, y)
    return rank_live(np.linalg.norm(machine.coef_, axis=0))


def rank_by_rfs(Z, y, lam):
    """Features by the norms of the rows of RFS."""
    from fsnotes import RFS

    return rank_live(RFS(lam=lam, refit=False, scale=False).fit(Z, y).row_norms_)


def rank_by_dso(Z, y, method="joint", p=1.0, price=None, max_iter=500):
    """Features by the norms of the rows of DSO, whose C is the price."""
    from fsnotes import DSO

    machine = DSO(p=p, C=price, method=method, max_iter=max_iter, refit=False, scale=False)
    return rank_live(machine.fit(Z, y).row_norms_)


def rank_by_published(Z, y, p, rounds):
    """Features by the norms of the rows of W after so many rounds of Algorithm 1, as printed."""
    *_, (W, _) = rounds_of_algorithm_1(Z, y, p, rounds)
    return rank_live(np.linalg.norm(W[:-1], axis=1))


def rounds_of_algorithm_1(Z, y, p, rounds, frees=True):
    """W after each round of Algorithm 1 of Peng and Fan (2016), and ``|W|_{2,p}^p``.

    It begins with ``E = 0`` and ``Sigma = I``, and smooths nothing. A row of zeros has the weight 0
    in Sigma, by footnote 2, so that it is free; zero is what a pseudo-inverse takes for it. Where
    it is not freed, it stays zero.
    """
    from fsnotes.core.joint import MarginData
    from fsnotes.l2p import Elimination

    classes, class_index = np.unique(y, return_inverse=True)
    data = MarginData(Z, class_index, np.ones(len(Z)), len(classes))
    elimination = Elimination(data)
    sizes = np.ones(data.X.shape[1])
    for _ in range(rounds):
        V = elimination.u_step(sizes)
        W = elimination.e_step(sizes_of(V, p, frees), V)
        sizes = sizes_of(W, p, frees)
        yield W, float((np.linalg.norm(W, axis=1) ** p).sum())


def sizes_of(W, p, frees):
    """Of each row, 1 over the square of its weight in Sigma: (10) and footnote 2."""
    roots = np.linalg.norm(W, axis=1) ** (1 - p / 2)
    is_zero = roots <= len(roots) * np.finfo(float).eps * roots.max()
    return np.where(is_zero, FREE * roots.max() ** 2 if frees else 0.0, roots**2)


def rank_live(norms):
    """Features whose row is not zero, the largest first."""
    return np.argsort(-norms, kind="stable")[: np.count_nonzero(norms)]


RANKINGS = {
    "mrmr": rank_by_mrmr,
    "relieff": rank_by_relieff,
    "l1svm": rank_by_l1svm,
    "rfs": rank_by_rfs,
    "dso": rank_by_dso,
    "published": rank_by_published,
}
FILTERS = ("mrmr", "relieff")  # these leave all features alive
