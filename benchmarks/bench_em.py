"""The zero-norm support vector machine: its literal statement, libsvm, and other selectors."""

import importlib
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE
from sklearn.svm import SVC, LinearSVC

from benchmarks.harness import Comparison
from fsnotes import AROM, FSV, SVMRanking, ZeroNormSVM, literal, load, make_wide
from fsnotes.em.refit import SupportSearch
from fsnotes.errors import SelectionWarning
from fsnotes.solvers.hinge import HingeData

C = 10.0  # at which some features are left on every set


def cpu_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def scaled(X, y):
    """Rows in units of selection, and labels -1 and +1."""
    unit = np.sqrt(sum(X[y == label].var(axis=0) * np.mean(y == label) for label in (0, 1)))
    return (X - X.mean(axis=0)) / unit, 2.0 * y - 1


def value(Z, signs, w, floor):
    """What the steps descend, at the best offset, which is where some row's loss begins."""
    scores = Z @ w
    losses = np.maximum(0, 1 - signs * (scores + (signs - scores)[:, None])).sum(axis=1)
    return C * losses.min() + 2 * np.log(np.maximum(abs(w), floor)).sum()


def converged(name, X, y, floor, repeats):
    """Both run from equal penalties until no weight changes."""
    Z, signs = scaled(X, y)
    machine = ZeroNormSVM(C=C, start="identity", refit=False)

    def theirs():
        return literal.zero_norm_svm(Z, signs, C)

    w, *_ = theirs()
    machine.fit(X, y)
    assert np.array_equal(w != 0, machine.support_)
    # each has a floor of its own, from its first machine
    least = 1e-6 * abs(w).max()
    values = [value(Z, signs, v, least) for v in (machine.coef_[0] * machine.scale_, w)]
    assert abs(values[0] / values[1] - 1) < 1e-6, values
    return Comparison(
        f"ZeroNormSVM, {name} (CPU s)",
        "literal CVXPY",
        lambda: machine.fit(X, y),
        theirs,
        floor,
        repeats,
        cpu_seconds,
    )


def multiple(name, X, y, size, most):
    """A run for so many features, of which one libsvm fit may be no less than one part in most."""
    machine = ZeroNormSVM(C=C, start="identity", refit=False, n_features=size)
    assert machine.fit(X, y).n_selected_ == size
    return in_libsvm_fits(f"{name}, {size} features", machine, X, y, 1 / most, 15)


def as_it_comes(name, X, y):
    """Everything that the machine does unless told otherwise; nothing is promised."""
    return in_libsvm_fits(f"{name}, as it comes", ZeroNormSVM(C=C), X, y, 0, 5)


def in_libsvm_fits(name, machine, X, y, floor, repeats):
    Z, signs = scaled(X, y)
    # (7) has no 1/2
    theirs = SVC(kernel="linear", C=C / 2)

    def ours():
        with warnings.catch_warnings():
            # at this price nothing is dropped on wisconsin
            warnings.simplefilter("ignore", SelectionWarning)
            machine.fit(X, y)

    return Comparison(
        f"ZeroNormSVM, {name} (CPU s)",
        "one libsvm fit",
        ours,
        lambda: theirs.fit(Z, signs),
        floor,
        repeats,
        cpu_seconds,
    )


def sparse_linear(Z, signs, size):
    """Features of the l1 machine of the least C on a grid that has so many; the heaviest."""
    machine = LinearSVC(penalty="l1", dual=False, tol=1e-3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for price in np.geomspace(1e-4, 10, 26):
            weights = abs(machine.set_params(C=price).fit(Z, signs).coef_[0])
            if np.count_nonzero(weights) >= size:
                break
    return np.argsort(-weights, kind="stable")[:size]


def eliminated(Z, signs, size):
    machine = SVC(kernel="linear", C=C / 2)
    return np.flatnonzero(RFE(machine, n_features_to_select=size, step=0.1).fit(Z, signs).support_)


def of_ours(model):
    def features(Z, signs, size):
        model.set_params(n_features=size, refit=False, scale=False)
        return np.flatnonzero(model.fit(Z, signs).support_)

    return features


def best_subset(Z, signs, size):
    """Splicing for the logistic loss."""
    machine = importlib.import_module("abess.linear").LogisticRegression(support_size=size)
    return np.flatnonzero(machine.fit(Z, signs > 0).coef_)


def folded(Z, signs, size):
    """Features of a logistic loss with a concave penalty, the strongest that has enough."""
    skglm = importlib.import_module("skglm")
    parts = [importlib.import_module(f"skglm.{part}") for part in ("datafits", "penalties")]
    strongest = abs(Z.T @ signs).max() / len(signs)
    for alpha in strongest * np.geomspace(1, 1e-3, 26):
        penalty = parts[1].MCPenalty(alpha, gamma=3.0)
        machine = skglm.GeneralizedLinearEstimator(parts[0].Logistic(), penalty)
        weights = abs(np.ravel(machine.fit(Z, signs).coef_))
        if np.count_nonzero(weights) >= size:
            break
    return np.argsort(-weights, kind="stable")[:size]


# not required by the project; what is not there is listed with its error. Others that price the
# number of features stop earlier: l0bnb, for squares, at NumPy 2, and L0Learn is a package of R
ELSEWHERE = {
    "abess": best_subset,
    "skglm": folded,
}
PEERS = {
    "LinearSVC l1": sparse_linear,
    "RFE of SVC": eliminated,
    "SVMRanking": of_ours(SVMRanking(C=C)),
    "AROM 2": of_ours(AROM(norm=2, C=C)),
    "AROM 1": of_ours(AROM(norm=1, C=C)),
    "FSV": of_ours(FSV(C=C)),
}


def quality(Z, signs, chosen):
    """Number of features plus C times the least sum of hinge losses on them."""
    rows = HingeData(Z, signs, np.ones(len(signs)))
    return len(chosen) + C * SupportSearch(rows, C).fit(np.sort(chosen)).hinge


def selectors(name, X, y, size):
    """Equal sizes and, for everybody, the same machine of least loss on what is selected."""
    Z, signs = scaled(X, y)
    ours = ZeroNormSVM(C=C, n_features=size, scale=False)
    mine = quality(Z, signs, np.flatnonzero(ours.fit(Z, signs).support_))
    peers = dict(PEERS)
    for package, features in ELSEWHERE.items():
        try:
            importlib.import_module(package)
            peers[package] = features
        except ImportError as error:
            print(f"{name}: {package} is not compared: {type(error).__name__}: {error}")
    for peer, features in peers.items():
        theirs = quality(Z, signs, features(Z, signs, size))
        yield Comparison(
            f"ZeroNormSVM, {name}, {size} features, {mine:.4g} (CPU s)",
            f"{peer}, {theirs:.4g}",
            lambda: ours.fit(Z, signs),
            lambda features=features: features(Z, signs, size),
            0,  # nothing is promised: some are faster
            3,
            cpu_seconds,
        )


def comparisons(quick):
    sonar = load("sonar", return_X_y=True)
    wisconsin = load("wisconsin", return_X_y=True)
    colon = make_wide(62, 2000)
    found = [
        converged("sonar", *sonar, 7, 5),
        converged("wisconsin", *wisconsin, 2, 5),
        converged("62 x 2000", *colon, 30, 3),
        multiple("sonar", *sonar, 2, 8),
        multiple("wisconsin", *wisconsin, 2, 6),
        multiple("62 x 2000", *colon, 20, 6),
        as_it_comes("sonar", *sonar),
        as_it_comes("wisconsin", *wisconsin),
        as_it_comes("62 x 2000", *colon),
    ]
    found += selectors("sonar", *sonar, 2)
    found += selectors("wisconsin", *wisconsin, 2)
    if not quick:
        found += selectors("62 x 2000", *colon, 3)
        lymphoma = make_wide(96, 4026)
        found.append(converged("96 x 4026", *lymphoma, 50, 1))
        found.append(multiple("96 x 4026", *lymphoma, 20, 6))
        found.append(as_it_comes("96 x 4026", *lymphoma))
        found += selectors("96 x 4026", *lymphoma, 3)
    return found
