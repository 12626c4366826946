"""What the estimators of the tables share: a machine of some features, and a memory.

A ranking or selection takes long, and does not depend on the settings of the machine that follows,
so that the last few are kept.
"""

import hashlib

import numpy as np

from fsnotes.replication.engine import Kept


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


def mask_of(places, size):
    """A mask that is True at some places."""
    mask = np.zeros(size, dtype=bool)
    mask[places] = True
    return mask


# so many serve all settings that are tried one after the other on the same inner folds
_KEPT = Kept(lambda function, declared, content, rows: function(*rows, *declared), most=12)


def kept(function, X, y, *declared):
    """``function(X, y, *declared)``, from memory if it was called for the same lately."""
    content = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    return _KEPT(function, declared, content, lambda: (X, y))
