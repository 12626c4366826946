"""Estimators of the tables: some features by one method, then a machine of these alone.

A ranking or selection takes long, and does not depend on the settings of the machine that follows,
so that the last few are kept.
"""

import hashlib
import importlib
import warnings

import numpy as np

from fsnotes.replication.declare import Method
from fsnotes.replication.engine import Kept

# most rows that rank the features in `RankedLinearSVM`; with all 4678 of the training part of
# ISOLET L1-SVM takes an hour
RANKING_ROWS = 1560
# of more rows than the first number, so many as the second says rank the features by the
# alternation of DSO: with more rows than features, a half-step on ISOLET takes minutes
MANY_ROWS = 1000
FEW_ROWS = 520
DRAW_SEED = 2016
LONGEST_LIST = 100  # features that mRMR puts in order, as many as any table takes


class SelectedMachine:
    """A machine of some of the features; the base of the others.

    Those that inherit define ``_select(X, y)``, which returns a mask, and ``_new_machine()``, which
    returns the machine that is fitted to the columns selected.
    """

    def fit(self, X, y):
        """Select features, and fit the machine to them."""
        from sklearn.dummy import DummyClassifier

        X = self._scale(X)
        self._support = self._select(X, y)
        # without features the machine says the most frequent class everywhere
        machine = self._new_machine() if self._support.any() else DummyClassifier()
        self._machine = machine.fit(self._columns(X), y)
        return self

    def predict(self, X):
        """Class of each row."""
        return self._machine.predict(self._columns(self._scale(X)))

    def get_support(self):
        """Mask of the features selected."""
        return self._support

    def _scale(self, X):
        return X

    def _columns(self, X):
        return X[:, self._support] if self._support.any() else X


def scaled_svm(**parameters):
    """A soft-margin machine of standardised columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(**parameters))


class SelectorThenSVM(SelectedMachine):
    """So many features by a selector of the package, then a soft-margin machine of these alone.

    Parameters
    ----------
    selector : str
        Name of an estimator of the package.
    parameters : dict
        Of the selector.
    n_features : int
        Number of features.
    select_C : float
        The selector's C.
    C : float
        That of the machine that classifies.
    """

    def __init__(self, selector, parameters, n_features, select_C, C):
        self.selector = selector
        self.parameters = parameters
        self.n_features = n_features
        self.select_C = select_C
        self.C = C

    def _select(self, X, y):
        options = tuple(self.parameters.items())
        return kept(select, X, y, self.selector, options, self.n_features, self.select_C)

    def _new_machine(self):
        return scaled_svm(kernel="linear", C=self.C)


class RankedSVM(SelectedMachine):
    """The first features of a ranking, and a soft-margin machine of these alone.

    Parameters
    ----------
    C : float
        Cost of errors, also of the machines that rank.
    share : float
        Part of the features.
    ranking : {"rfe", "fisher"}, optional
        The elimination of Guyon et al. (2002), one feature at a time, or the Fisher score; by
        default all features are taken.
    kernel, gamma
        As in scikit-learn's SVC.
    """

    def __init__(self, C, share=1.0, ranking=None, kernel="linear", gamma="scale"):
        self.C = C
        self.share = share
        self.ranking = ranking
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X, y):
        """Rank and fit."""
        super().fit(X, y)
        if self.kernel != "linear":
            machine = self._machine[-1]
            self.dual_coef_ = machine.dual_coef_
            self.support_ = machine.support_
        return self

    def _select(self, X, y):
        mask = np.ones(X.shape[1], dtype=bool)
        if self.ranking is not None:
            order = kept(order_for_svm, X, y, self.ranking, self.C)
            mask[order[max(1, round(self.share * len(order))) :]] = False
        return mask

    def _new_machine(self):
        return scaled_svm(kernel=self.kernel, C=self.C, gamma=self.gamma)


class RankedTwin(SelectedMachine):
    """The first features of a ranking, and the twin machine `TwinSVM` of these alone.

    Parameters
    ----------
    by : str
        As in `rank_features`, or "fisher".
    n_features : int
        Number of features.
    c_fit, c_hinge, kernel, gamma
        Of the machine that ranks, and of that which classifies.
    """

    def __init__(self, by, n_features, c_fit, c_hinge, kernel=None, gamma=None):
        self.by = by
        self.n_features = n_features
        self.parameters = {"c_fit": c_fit, "c_hinge": c_hinge, "kernel": kernel, "gamma": gamma}

    def _select(self, X, y):
        from fsnotes import fisher_score, rank_features

        if self.by == "fisher":
            order = np.argsort(-fisher_score(X, y), kind="stable")
        else:
            order = rank_features(X, y, by=self.by, **self.parameters).order
        return mask_of(order[: self.n_features], X.shape[1])

    def _new_machine(self):
        from fsnotes import TwinSVM

        return TwinSVM(**self.parameters)


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


def mask_of(places, size):
    """A mask that is True at some places."""
    mask = np.zeros(size, dtype=bool)
    mask[places] = True
    return mask


# ---------------------------------------------------------------- what takes long

# so many serve all settings that are tried one after the other on the same inner folds
_KEPT = Kept(lambda function, declared, content, rows: function(*rows, *declared), most=12)


def kept(function, X, y, *declared):
    """``function(X, y, *declared)``, from memory if it was called for the same lately."""
    content = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    return _KEPT(function, declared, content, lambda: (X, y))


def select(X, y, selector, options, n_features, C):
    """Mask of the features that an estimator of the package selects."""
    machine = getattr(importlib.import_module("fsnotes"), selector)
    return machine(**dict(options), n_features=n_features, C=C).fit(X, y).get_support()


def order_for_svm(X, y, ranking, C):
    """Order of the features for `RankedSVM`."""
    from sklearn.feature_selection import RFE
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from fsnotes import fisher_score

    if ranking == "fisher":
        return np.argsort(-fisher_score(X, y), kind="stable")
    machine = RFE(SVC(kernel="linear", C=C), n_features_to_select=1)
    return np.argsort(machine.fit(StandardScaler().fit_transform(X), y).ranking_, kind="stable")


def order_by(Z, y, ranking, options):
    """Order of the features that a ranking leaves alive, for `RankedLinearSVM`."""
    if len(Z) > RANKING_ROWS:
        Z, y = draw_rows(Z, y, RANKING_ROWS)
    with warnings.catch_warnings():
        # a step without a rise may be the last that is allowed while settings are chosen
        warnings.simplefilter("ignore")
        return RANKINGS[ranking](Z, y, **dict(options))


def draw_rows(Z, y, count):
    """So many rows, by lot, with the classes in their proportions."""
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

    if method == "alternating" and len(Z) > MANY_ROWS:
        Z, y = draw_rows(Z, y, FEW_ROWS)
    machine = DSO(p=p, C=price, method=method, max_iter=max_iter, refit=False, scale=False)
    return rank_live(machine.fit(Z, y).row_norms_)


def rank_live(norms):
    """Features whose row is not zero, the largest first."""
    return np.argsort(-norms, kind="stable")[: np.count_nonzero(norms)]


RANKINGS = {
    "mrmr": rank_by_mrmr,
    "relieff": rank_by_relieff,
    "l1svm": rank_by_l1svm,
    "rfs": rank_by_rfs,
    "dso": rank_by_dso,
}
FILTERS = ("mrmr", "relieff")  # these leave all features alive


def kernel_machines(costs, widths, basis=None):
    """Kernel machines that keep some of the training points, at equal numbers of settings.

    RVM has no C, and chooses among as many widths of a finer row.
    """
    grid = {"C": costs, "gamma": widths}
    count = len(costs) * len(widths)
    finer = [float(f"{width:.3g}") for width in np.geomspace(widths[0], widths[-1], count)]
    sparse = "fsnotes.SparseKernelSVM"
    return {
        "em": Method(sparse, {"basis": basis, "refit": False}, grid, paper="zero-norm"),
        "refitted": Method(sparse, {"basis": basis}, grid, paper="zero-norm, refitted"),
        "svm": Method("sklearn.svm.SVC", {}, grid, scaled=True, paper="SVM"),
        "rvm": Method("fsnotes.RVM", {"basis": basis}, {"gamma": finer}, paper="RVM"),
    }
