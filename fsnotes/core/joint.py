"""Classifiers that use a feature for all classes or for none, with the bias as one more weight."""

import numpy as np

from fsnotes.core.estimator import SparseClassifier
from fsnotes.core.validation import MOST_STEPS, check_bool, check_count, check_real
from fsnotes.solvers.squared_hinge import SquaredHinge

__all__ = ["JointClassifier", "MarginData"]

REFIT_C = 1.0  # cost of the squares of what margins miss, where the problem has no C of its own


class MarginData:
    """Samples with a last column of ones, the signs of each class against the others, and weights.

    Signs have a column for each class, with 1 for its samples and -1 for all others.
    """

    def __init__(self, Z, class_index, sample_weight, n_classes):
        self.X = np.hstack([Z, np.ones((len(Z), 1))])
        self.signs = np.where(class_index[:, None] == np.arange(n_classes), 1.0, -1.0)
        self.sample_weight = sample_weight

    def margins(self, W):
        used = np.flatnonzero(W.any(axis=1))
        return self.signs * (self.X[:, used] @ W[used])

    def loss(self, W):
        """Weighted sum of the squares of what the margins miss of 1."""
        return float(self.sample_weight @ (np.maximum(0, 1 - self.margins(W)) ** 2).sum(axis=1))


class JointClassifier(SparseClassifier):
    """A linear classifier of any number of classes that ranks features by the rows of W.

    W has a row of weights for each feature, one weight a class, and a last row for the bias. A
    subclass has the parameters ``n_features``, ``refit``, ``scale``, ``tol`` and ``max_iter``.
    """

    many_classes = True

    def _check_parameters(self):
        check_count("n_features", self.n_features, optional=True)
        check_bool("refit", self.refit)
        check_bool("scale", self.scale)
        check_real("tol", self.tol, 0)
        check_count("max_iter", self.max_iter, most=MOST_STEPS)

    def _margin_data(self, samples):
        """The samples without copies, how their features are scaled, and their margins."""
        samples = samples.deduplicate()
        features = self._scale_features(samples)
        if not self.scale:
            features = features.from_origin()
        Z, weights = features.apply(samples.X), samples.sample_weight
        return samples, features, MarginData(Z, samples.class_index, weights, len(self.classes_))

    def _select_and_refit(self, features, data, W, C, refit):
        """Select the features of the longest rows of W; sets the planes and what ranks them.

        The refit minimises ``|W|^2 + C`` times the loss.
        """
        self._set_solved(features, W[:-1].T, W[-1])
        norms = np.linalg.norm(W[:-1], axis=1)
        self.row_norms_ = np.zeros(self.n_features_in_)
        self.row_norms_[features.used] = norms
        self.n_live_ = int(np.count_nonzero(norms))
        size = self.n_live_ if self.n_features is None else min(self.n_live_, self.n_features)
        chosen = np.sort(np.argsort(-norms, kind="stable")[: int(size)])
        kept = np.append(chosen, -1)
        selected = np.zeros_like(W)
        if refit:
            softness = 1 / (C * data.sample_weight)
            selected[kept] = SquaredHinge(data.signs).solve(data.X[:, kept], softness).weights
        else:
            selected[kept] = W[kept]
        self._set_planes(features, selected[:-1].T, selected[-1])
