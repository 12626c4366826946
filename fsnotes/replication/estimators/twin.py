"""Estimators of Bai et al. (2014): the first features of a ranking, then a machine."""

import numpy as np

from fsnotes.replication.estimators.selected import SelectedMachine, kept, mask_of, scaled_svm


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


def end_from(mask, X, y, **options):
    """The objective in which the published search ends from the features of a mask."""
    from fsnotes import FTSVM

    class Started(FTSVM):
        def _first_mask(self, objective):
            return mask

    return Started(search="greedy", refit=False, **options).fit(X, y).objective_
