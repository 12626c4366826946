"""What every estimator promises, once for all: a new estimator is one entry of `CONTRACTS`."""

import inspect
import pickle
import re
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import sklearn
from instances import BAD_DATA, GOOD, LABELS, draw
from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsnotes
from fsnotes import (
    AROM,
    DSO,
    FSMEMPM,
    FSV,
    FTSVM,
    L0MPM,
    L1MPM,
    L1SVM,
    MEMPM,
    MPM,
    RFS,
    RVM,
    SMPM,
    ClassMoments,
    Exponential,
    GreedyMPM,
    KernelL0MPM,
    KernelMPM,
    L1TwinSVM,
    Log,
    Power,
    ProbitEM,
    SparseKernelSVM,
    SVMRanking,
    TwinSVM,
    ZeroNormSVM,
    load,
)
from fsnotes.errors import (
    EqualMeansError,
    NotSeparableError,
    SelectionWarning,
    TrivialBoundWarning,
)


class Contract(NamedTuple):
    """What is particular to an estimator.

    Attributes
    ----------
    usual, hard : estimator
        The default, or a setting beside it, and one that is hard. Scikit-learn's checks are of
        these two.
    more : tuple of estimators
        Settings that take other ways through the code.
    refused : tuple of tuples
        Parameters that are refused together or by this estimator alone, the error, its words.
    ends : tuple of dicts
        Parameters at the ends of their ranges, which are taken.
    doubled : dict or None
        By what a parameter is multiplied so that the fit stays as it is when all weights of rows
        are doubled. None says that there is no such promise.
    exact : str
        "rows" if neither the order of rows nor that a row of weight 2 is written twice changes a
        bit, "weights" for the latter alone.
    loose : float
        What is left of a coefficient's digits, relative to the largest, after other changes.
    """

    usual: BaseEstimator
    hard: BaseEstimator
    more: tuple = ()
    refused: tuple = ()
    ends: tuple = ()
    doubled: dict | None = None
    exact: str = ""
    loose: float = 1e-3


T, V = TypeError, ValueError
NO_BASIS = (
    ({"basis": 1}, V, "basis=1; pass at least 2 points, or None for all"),
    ({"basis": [1]}, V, "basis=[1]; pass the numbers of at least 2 rows"),
    ({"basis": [3, 3]}, V, "basis=[3, 3]; pass the numbers of at least 2 rows"),
    ({"basis": np.zeros(0, int)}, V, "basis="),
    ({"basis": 2.5}, T, "basis=2.5; pass None for all points, how many, or"),
    ({"basis": [0.5, 1]}, T, "basis=[0.5, 1]; pass None for all points, how many"),
    ({"basis": True}, T, "basis=True; pass None for all points"),
    ({"basis": [[0, 1]]}, T, "basis=[[0, 1]]; pass None"),
    ({"basis": [0, 6]}, V, "basis has row numbers from 0 to 6; pass numbers from 0"),
    ({"basis": [-1, 3]}, V, "basis has row numbers from -1 to 3; pass"),
)


class Halves:
    """No surrogate: it lacks a slope."""

    concave_in = "|w|"

    def __repr__(self):
        return "Halves()"

    def value(self, sizes):
        return sizes / 2


# of a surrogate that is put in place of the number of features or points
NO_SURROGATE = (
    ({"alpha": 2.0, "surrogate": Log()}, V, "alpha=2 belongs to Exponential"),
    ({"alpha": 2.0, "surrogate": Exponential(2.0)}, V, "alpha=2 belongs to Exponential"),
    ({"surrogate": "log"}, T, "surrogate='log' has no value; pass one of fsnotes"),
    ({"surrogate": Halves()}, T, "surrogate=Halves() has no slope; pass one of fsnotes"),
    ({"surrogate": Log}, T, "surrogate=Log is a class; pass an object"),
    ({"surrogate": Power(p=0.5, eps=0.1)}, V, "surrogate=...concave in w**2 alone"),
    ({"surrogate": Power(p=2)}, V, "surrogate=...concave in w**2 alone"),
    (
        {"surrogate": Power(p=1.5), "majorizer": "reweighted"},
        V,
        "surrogate=...pass one that is concave in |w|",
    ),
    ({"surrogate": Power(p=0.5)}, V, "surrogate=...infinite slope at 0, so it is no difference"),
    ({"surrogate": Power(p=0.5)}, V, 'surrogate=...pass majorizer="reweighted"'),
    ({"majorizer": "em"}, V, 'majorizer=\'em\'; pass "dc" or "reweighted"'),
)
BOTH_ENDS_OF_C = ({"C": 1e6}, {"C": 10**6}, {"C": np.float32(1)}, {"C": np.int64(3)})
PRICES_OF_PLANES = tuple({"c_fit": c} for c in (2, np.float32(2), np.int64(2), np.array([2, 2])))
PLANES_DOUBLED = {"c_fit": 0.5, "c_hinge": 0.5}
MODERATED = "probabilities are moderated by the posterior variance of the score"

CONTRACTS = {
    "MPM": Contract(
        MPM(),
        MPM(ridge=0.2, scale=False),
        ends=({"ridge": 0}, {"ridge": np.float32(1), "scale": np.bool_(False)}),
        doubled={},
    ),
    "L1MPM": Contract(
        L1MPM(),
        L1MPM(normalization="gap", retain=0.97, prune=True),
        (
            L1MPM(retain=1, ridge=1e-3),
            L1MPM(refit=False),
            L1MPM(normalization="gap", retain=0.6, refit=False, scale=False),
            L1MPM(n_features=3, refit=False),
            L1MPM(n_features=2, prune=True, ridge=0.2),
        ),
        refused=(({"prune": True, "refit": False}, V, "prune=True refits at every step; pass"),),
        ends=(
            {"retain": 1, "n_features": np.int64(2)},
            {"retain": 1e-9},
            {"delta": 1e-9},
            {"n_features": 2.0},
        ),
        doubled={},
    ),
    "SMPM": Contract(
        SMPM(),
        SMPM(lam=3, refit=False, ridge=0.1),
        (SMPM(refit=False, scale=False), SMPM(lam=30)),
        refused=(({"lam": 0}, V, "lam=0; pass a number from 1e-09 to 1e+100"),),
        ends=({"lam": 1}, {"lam": 1e-6}, {"lam": 1e9}),
        doubled={},
    ),
    "MEMPM": Contract(
        MEMPM(), MEMPM(theta=0.2, ridge=0.1), (MEMPM(theta=0.95, scale=False),), doubled={}
    ),
    "FSMEMPM": Contract(
        FSMEMPM(),
        FSMEMPM(criterion="log", grid=3, theta=0.3, refit=False),
        (
            FSMEMPM(criterion="bound", grid=4, refit=False),
            FSMEMPM(criterion="bound", equal_bounds=True, refit=False),
            FSMEMPM(criterion="bound", grid=2, search="bisection"),
        ),
        refused=(
            ({"bounds": 0.5}, V, "bounds=0.5; pass a pair of numbers, in the order of"),
            ({"bounds": (0.5,)}, V, "bounds=(0.5,); pass a pair of numbers"),
            ({"bounds": "ab"}, V, "bounds='ab'; pass a pair of numbers"),
            ({"bounds": (-0.1, 0.2)}, V, "bounds=-0.1; pass a number from 0 to 1"),
            ({"bounds": (0.1, 1.2)}, V, "bounds=1.2; pass a number from 0 to 1"),
            ({"bounds": (0.1, np.nan)}, V, "bounds=nan"),
            ({"bounds": ("a", 0.1)}, T, "bounds='a' is str"),
            ({"bounds": (0.1, 1)}, V, "bounds=(0.1, 1); a bound of 1 cannot be promised"),
            ({"bounds": (1.0, 0)}, V, "bounds=(1.0, 0); a bound of 1 cannot be promised"),
            ({"bounds": (0.1, 0.2), "equal_bounds": True}, V, "bounds=(0.1, 0.2) differ; pass eq"),
        ),
        ends=(
            {"theta": 0, "grid": 1},
            {"theta": 1, "grid": np.int64(3)},
            {"bounds": (0, 0), "equal_bounds": True},
            {"bounds": [0.1, np.float32(0.2)], "refit": np.bool_(False)},
            {"bounds": np.array([0.3, 0.1])},
            {"grid": 1, "equal_bounds": True},
        ),
        doubled={},
    ),
    "GreedyMPM": Contract(
        GreedyMPM(),
        GreedyMPM(direction="backward", retain=0.7, ridge=0.1),
        (GreedyMPM(n_features=3, scale=False),),
        ends=({"retain": 1}, {"delta": 1e-9}),
        doubled={},
    ),
    "L0MPM": Contract(
        L0MPM(),
        L0MPM(prune=False, refit=False),
        (
            L0MPM(surrogate=Log(), majorizer="reweighted"),
            L0MPM(ridge=0.2, retain=0.6, normalization="gap"),
            L0MPM(n_features=2, scale=False),
        ),
        refused=(
            *NO_SURROGATE,
            ({"prune": True, "refit": False}, V, "prune=True refits at every step; pass"),
        ),
        doubled={},
    ),
    "KernelMPM": Contract(
        KernelMPM(),
        KernelMPM(kernel="poly", gamma=0.1, ridge=0.1, scale=False),
        (KernelMPM(kernel="laplacian"),),
        doubled={},
        loose=1e-2,
    ),
    "KernelL0MPM": Contract(
        KernelL0MPM(retain=0.6),
        KernelL0MPM(retain=0.5, refit=False, majorizer="reweighted"),
        (KernelL0MPM(retain=0.5, prune=True),),
        refused=NO_SURROGATE,
        doubled={},
        loose=1e-2,
    ),
    "ZeroNormSVM": Contract(
        ZeroNormSVM(),
        ZeroNormSVM(C=10.0, start="identity", refit=False, scale=False),
        (ZeroNormSVM(C=0.3, p=0.5), ZeroNormSVM(p=np.inf), ZeroNormSVM(C=2, n_features=2)),
        refused=(({"p": -np.inf}, V, "p=-inf; pass"),),
        ends=(*BOTH_ENDS_OF_C, {"p": 0}, {"p": 2}, {"p": np.inf}, {"p": np.float32(0.5)}),
        doubled={"C": 0.5},
        exact="rows",
    ),
    "SparseKernelSVM": Contract(
        SparseKernelSVM(),
        SparseKernelSVM(C0=0.1, refit=False, basis=20, start="identity"),
        (SparseKernelSVM(kernel="laplacian", C=3.0),),
        refused=(*NO_BASIS, ({"p": np.inf}, V, "p=inf; pass a number from 0 to 2")),
        ends=(*BOTH_ENDS_OF_C, {"p": 0}, {"p": 2}, {"C0": 0}, {"C0": 1e6}),
        doubled={"C": 0.5},
    ),
    "ProbitEM": Contract(
        ProbitEM(),
        ProbitEM(kernel="rbf", prior="laplace", alpha=0.1),
        (
            ProbitEM(prior="laplace", alpha=0.7, refit=True),
            ProbitEM(solver="em", tol=1e-3),
            ProbitEM(kernel="rbf", scale=False),
        ),
        exact="weights",
    ),
    "DSO": Contract(
        # a hard margin refuses rows that no plane separates, as in most of what is tried here
        DSO(C=1.0),
        DSO(p=0.5, C=10.0, refit=False, scale=False),
        (DSO(C=0.3, n_features=2), DSO(p=1, C=3.0)),
        refused=(
            ({"method": "alternating", "C": 1.0}, V, 'method="alternating" has hard margins; pass'),
        ),
        ends=BOTH_ENDS_OF_C,
        doubled={"C": 0.5},
        exact="rows",
    ),
    "TwinSVM": Contract(
        TwinSVM(),
        TwinSVM(kernel="rbf", c_fit=(0.3, 2.0), c_hinge=(1.0, 0.1)),
        (TwinSVM(c_fit=5.0, c_hinge=(0.2, 3.0), scale=False),),
        ends=PRICES_OF_PLANES,
        doubled=PLANES_DOUBLED,
        exact="rows",
    ),
    "L1TwinSVM": Contract(
        L1TwinSVM(),
        L1TwinSVM(c_fit=0.1, c_hinge=0.2, refit=False),
        (
            L1TwinSVM(kernel="rbf", c_fit=(1, 3), c_hinge=2),
            L1TwinSVM(c_fit=5.0, c_hinge=5.0, scale=False),
        ),
        ends=PRICES_OF_PLANES,
        doubled=PLANES_DOUBLED,
        exact="rows",
    ),
    "FTSVM": Contract(
        FTSVM(),
        FTSVM(search="greedy", init="weights", c_fit=(1.0, 0.5), c_hinge=1.0, balance=0.3),
        (
            FTSVM(kernel="rbf", c_fit=2.0, c_hinge=1.0),
            FTSVM(init="mm", refit=False, scale=False),
            FTSVM(n_features=2, refit=False),
        ),
        refused=(
            ({"init": "mm", "kernel": "rbf"}, V, "init='mm' looks at weights"),
            ({"init": "weights", "kernel": "rbf"}, V, "init='weights' looks at weights"),
            ({"exact": True, "kernel": "rbf"}, V, "exact=True searches for planes"),
            ({"exact": True, "n_features": 2}, V, "exact=True is about any number of features"),
        ),
        ends=PRICES_OF_PLANES,
        doubled=PLANES_DOUBLED,
        exact="rows",
    ),
    "L1SVM": Contract(
        L1SVM(),
        L1SVM(C=100.0, refit=False, scale=False),
        (L1SVM(C=20, refit=False), L1SVM(C=30, n_features=2)),
        ends=BOTH_ENDS_OF_C,
        doubled={},
        exact="rows",
    ),
    "FSV": Contract(
        FSV(C=1.0),
        FSV(C=0.5, refit=False, scale=False),
        (FSV(C=1.0, alpha=1.0, n_features=3),),
        ends=BOTH_ENDS_OF_C,
        doubled={"C": 0.5},
        exact="rows",
    ),
    "AROM": Contract(
        AROM(),
        AROM(norm=1, C=0.5, refit=False, scale=False),
        (AROM(norm=1), AROM(C=0.3, n_features=3, refit=False)),
        refused=(
            ({"norm": 3}, V, "norm=3; pass a whole number from 1 to 2"),
            ({"norm": 1.5}, V, "norm=1.5; pass a whole number"),
            ({"norm": True}, T, "norm=True is bool"),
        ),
        ends=BOTH_ENDS_OF_C,
        doubled={"C": 0.5},
        exact="rows",
    ),
    "SVMRanking": Contract(
        SVMRanking(C=0.3),
        SVMRanking(C=0.5, n_features=2, refit=False, scale=False),
        (SVMRanking(n_features=3),),
        ends=BOTH_ENDS_OF_C,
        doubled={"C": 0.5},
        exact="rows",
    ),
    "RFS": Contract(
        RFS(),
        RFS(lam=5.0, n_features=2),
        (RFS(lam=0.5, refit=False, scale=False), RFS(lam=4.0, refit=False)),
        doubled={"lam": 2},
        exact="weights",
    ),
    "RVM": Contract(
        RVM(),
        RVM(basis=12, kernel="laplacian", scale=False),
        refused=(*NO_BASIS, ({"tol": 0}, V, "tol=0; pass a number from 0 to 1e+100, 0 excluded")),
    ),
}
# by class: name of the check of scikit-learn, and why it fails; at most two each
EXPECTED_FAILURES = {"RVM": {"check_decision_proba_consistency": MODERATED}}

NO_NUMBER = [("1", T, "is str; pass"), (True, T, "is bool; pass"), (np.nan, V, "; pass")]
ABOVE_ZERO = [(0, V, "; pass a number from "), (-1, V, "; pass"), (np.inf, V, "; pass")]
FROM_ZERO = [(-1, V, "; pass a number from 0"), (np.inf, V, "; pass")]
PART = [(-0.1, V, "; pass a number from 0 to 1"), (1.01, V, "; pass a number from 0 to 1")]
WHOLE = [(0, V, "; pass a whole number from 1"), (1.5, V, "; pass a whole number")]
FLAG = [(1, T, "; pass True or False")]
UP_TO_A_MILLION = [
    *ABOVE_ZERO,
    (0, V, "; pass a number from 0 to 1e+06, 0 excluded"),
    (1e7, V, "; pass a number from 0 to 1e+06"),
]
PAIR = [
    *((value, V, "; pass a number from 1e-12 to 1e+06") for value in (0, -1, np.inf, 1e7)),
    ((1, 2, 3), V, "; pass a number, or two in the order of classes_"),
    ((1, 0), V, " holds "),
    ((1, "2"), T, " holds "),
    ((1, np.nan), V, " holds "),
]


def one_of(*words):
    """Values beside these words, which the message names."""
    named = "; pass " + ", ".join(f'"{word}"' for word in words[:-1])
    return [("such", V, named)]


# what a parameter of this name refuses in every estimator that has it: value, error, words
REFUSED = {
    "C": [*UP_TO_A_MILLION, *NO_NUMBER],
    "C0": [(-1, V, "; pass a number from 0 to 1e+06"), (None, T, "is NoneType")],
    "alpha": [*ABOVE_ZERO, (0, V, ", 0 excluded")],
    "balance": [(1, V, "; pass a number above 0 and below 1"), (0, V, "0 excluded")],
    "c_fit": [*PAIR, ("1", T, "is str; pass"), (True, T, "is bool; pass"), (None, V, "; pass a ")],
    "c_hinge": [*PAIR, ("1", T, "is str; pass"), (None, V, "; pass a number, or two in the order")],
    "criterion": one_of("bound", "ratio", "log"),
    "delta": [
        (0, V, "; pass a number from 0 to 1, 0 excluded"),
        (1, V, "; a bound of 1 cannot be promised: pass delta<1"),
        (1.5, V, "; pass"),
        (-0.5, V, "; pass"),
    ],
    "direction": one_of("forward", "backward"),
    "equal_bounds": FLAG,
    "exact": FLAG,
    "gamma": [(0, V, "; pass a number from 0 to 1e+100, 0 excluded"), (-1, V, "; pass")],
    "grid": [*WHOLE, (2.5, V, "; pass a whole number")],
    "init": one_of("all", "score", "weights", "mm"),
    "kernel": [(value, V, "; pass ") for value in ("gauss", "precomputed")],
    "lam": [(0, V, "; pass a number from "), (-2, V, "; pass a number from ")],
    "max_iter": WHOLE,
    "method": one_of("joint", "alternating"),
    "n_features": [*WHOLE, ("all", T, "is str; pass")],
    "norm": [(0, V, "; pass")],
    "normalization": one_of("margin", "gap"),
    "p": [(value, V, "; pass a number from 0 to ") for value in (-0.1, 2.1)],
    "prior": one_of("jeffreys", "laplace"),
    "progress": FLAG,
    "prune": FLAG,
    "random_state": [(-1, V, "; pass a whole number from 0"), (0.5, V, "; pass a whole")],
    "refit": FLAG,
    "retain": [(0, V, "; pass a number from 0 to 1, 0 excluded"), *PART],
    "ridge": [*FROM_ZERO],
    "scale": FLAG,
    "search": [("such", V, '; pass "')],
    "sigma": [*FROM_ZERO],
    "sigma_absolute": FLAG,
    "solver": one_of("newton", "em"),
    "start": one_of("large_C", "identity"),
    "theta": [*PART, (None, T, "is NoneType; pass")],
    "time_limit": [(0, V, "0 excluded"), *FROM_ZERO],
    "tol": [*FROM_ZERO],
}


SETTINGS = {
    f"{name}-{place}": setting
    for name, contract in CONTRACTS.items()
    for place, setting in enumerate((contract.usual, contract.hard, *contract.more))
}
USUAL = {name: contract.usual for name, contract in CONTRACTS.items()}
TWO_EACH = [setting for contract in CONTRACTS.values() for setting in contract[:2]]


def where(models, condition=lambda model: True):
    """Models of which the condition holds, as values of a test's parameter.

    Settings beyond the usual one are marked, so that the quick tests leave them out.
    """
    chosen = [
        pytest.param(model, id=name, marks=pytest.mark.further if is_further(name) else ())
        for name, model in models.items()
        if condition(model)
    ]
    return pytest.mark.parametrize("model", chosen)


def is_further(name):
    """Whether "L1MPM-2" names another setting than the usual one, which is number 0."""
    return name.partition("-")[2] not in ("", "0")


def contract_of(model):
    return CONTRACTS[type(model).__name__]


def takes(name):
    return lambda model: name in model.get_params()


def selects_features(model):
    return hasattr(model, "transform")


def knows_moments(model):
    return hasattr(model, "fit_moments")


def takes_many_classes(model):
    return model.__sklearn_tags__().classifier_tags.multi_class


each = where(USUAL)
each_setting = where(SETTINGS)
each_selector = where(USUAL, selects_features)


def seeds_of(model):
    """Kernel matrices take the time of several small problems."""
    return (0, 1) if selects_features(model) else (0,)


def fitted(model, X, y, *weights):
    """A copy, fitted where warnings of the package's kind are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        warnings.simplefilter("ignore", TrivialBoundWarning)
        return clone(model).fit(X, y, *weights)


def scores_of(machine, X):
    return machine.decision_function(X)


def assert_same_bits(first, second):
    """Two fits do not differ by a bit."""
    for name in ("coef_", "dual_coef_", "intercept_", "objective_"):
        assert hasattr(first, name) == hasattr(second, name)
        if hasattr(first, name):
            assert np.array_equal(getattr(first, name), getattr(second, name)), name


def assert_same(first, second, X, other=None, *, columns=None, unit=1.0, sign=1, times=1.0):
    """Two fits are one up to rounding, where the second is to `other` data.

    These are rows `X` with their columns in another order, or in another unit each; the sign of
    scores and the size of the objective may be others, too.
    """
    other = X if other is None else other
    loose = contract_of(first).loose
    assert np.isclose(second.objective_, times * first.objective_, rtol=1e-5, atol=1e-9)
    expected, found = first.decision_function(X), second.decision_function(other)
    assert np.allclose(sign * found, expected, rtol=loose, atol=loose * abs(expected).max())
    if hasattr(first, "coef_") and len(first.coef_) == 1:
        coef = first.coef_ if columns is None else first.coef_[:, columns]
        close = {"rtol": loose, "atol": loose * abs(coef).max()}
        assert np.allclose(sign * second.coef_ * unit, coef, **close)


def test_every_estimator_is_under_contract():
    public = {
        name
        for name in fsnotes.__all__
        if inspect.isclass(member := getattr(fsnotes, name)) and issubclass(member, BaseEstimator)
    }
    assert set(CONTRACTS) == public
    for name, contract in CONTRACTS.items():
        for setting in (contract.usual, contract.hard, *contract.more):
            assert type(setting).__name__ == name
        assert len(EXPECTED_FAILURES.get(name, ())) <= 2


# ---------------------------------------------------------------- scikit-learn's checks

LEFT_OUT = [
    "check_dataframe_column_names_consistency",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_n_features_in_after_fitting",
    "check_estimator_sparse_tag",
]


# some checks fit data that are wide, have equal rows, or only a few rows and no signal, and say
# nothing else of warnings
@pytest.mark.filterwarnings("ignore::fsnotes.errors.TrivialBoundWarning")
@pytest.mark.filterwarnings("ignore::fsnotes.errors.SelectionWarning")
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    TWO_EACH, expected_failed_checks=lambda model: EXPECTED_FAILURES.get(type(model).__name__, {})
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# one of them predicts from an array after a fit to a frame; others have no signal to select by
@pytest.mark.filterwarnings("ignore:X .* feature names")
@pytest.mark.filterwarnings("ignore::fsnotes.errors.SelectionWarning")
@pytest.mark.filterwarnings("ignore:No features were selected")
@each_selector
@pytest.mark.parametrize("name", LEFT_OUT)
def test_checks_that_are_left_out(model, name):
    getattr(estimator_checks, name)(type(model).__name__, clone(model))


# ---------------------------------------------------------------- parameters and data


@each
def test_parameters_out_of_range_are_refused_in_words(model):
    for name in model.get_params():
        for value, error, words in REFUSED.get(name, ()):
            bad = clone(model).set_params(**{name: value})
            calls = [lambda bad=bad: bad.fit(GOOD, LABELS)]
            if knows_moments(model):
                moments = ClassMoments.from_data(GOOD, LABELS)
                calls.append(lambda bad=bad, moments=moments: bad.fit_moments(moments))
            if hasattr(model, "path"):
                calls.append(lambda bad=bad: bad.path(GOOD, LABELS))
            for call in calls:
                with pytest.raises(error, match=f"^{name}=.*{re.escape(words)}"):
                    call()
    for parameters, error, words in contract_of(model).refused:
        bad = clone(model).set_params(**parameters)
        with pytest.raises(error, match="^" + re.escape(words).replace(re.escape("..."), ".*")):
            bad.fit(GOOD, LABELS)


@each
def test_parameters_at_the_ends_are_taken(model):
    X, y = draw(3, 30, 5)
    for parameters in contract_of(model).ends:
        machine = fitted(clone(model).set_params(**parameters), X, y)
        assert np.isfinite(machine.decision_function(X)).all() and np.isfinite(machine.objective_)
        assert machine.score(X, y) > 0.5 or not machine.support_.any()
    plain, flagged = fitted(model, X, y), clone(model).set_params(scale=np.bool_(model.scale))
    assert_same_bits(plain, fitted(flagged, X, y))


@each
@pytest.mark.parametrize("small", [False, True])
def test_numbers_of_numpy_are_numbers(model, small):
    X, y = draw(3, 30, 5)
    model = clone(model)
    if small:  # where little or nothing is selected, and a warning says what to pass
        penalties = {"C", "c_fit", "c_hinge"} & model.get_params().keys()
        model.set_params(**dict.fromkeys(penalties, 1e-4))
    kinds = {float: np.float64, int: np.int64, bool: np.bool_}
    given = {name: value for name, value in model.get_params().items() if type(value) in kinds}
    same = clone(model).set_params(**{n: kinds[type(value)](value) for n, value in given.items()})
    assert_same_bits(fitted(model, X, y), fitted(same, X, y))


def assert_not_fitted(machine):
    rows = dict.fromkeys(
        ["predict", "decision_function", "predict_proba", "transform", "plane_values"], [GOOD]
    )
    for method, arguments in (rows | {"get_support": [], "summary": []}).items():
        if hasattr(machine, method):
            with pytest.raises(NotFittedError):
                getattr(machine, method)(*arguments)


@each
@pytest.mark.parametrize(("arguments", "error", "message"), BAD_DATA)
def test_bad_data_is_refused_in_words(model, arguments, error, message):
    if "OneVsRest" in message and takes_many_classes(model):
        pytest.skip("takes many classes")
    machine = fitted(model, GOOD, LABELS)
    with pytest.raises(error, match=message):
        machine.fit(*arguments)
    assert_not_fitted(machine)  # nothing is left of the fit before


@where(USUAL, knows_moments)
def test_moments_that_say_nothing_are_refused_in_words(model):
    for arguments, error, words in (
        ((GOOD, [0, 0, 0, 0, 0, 1]), ValueError, "class 1 has 1 sample.*at least two"),
        ((GOOD, ["b", "a", "b", "b", "b", "b"]), ValueError, "class 'a' has 1 sample"),
        ((GOOD, LABELS, [1, 1, 1, 1, 0, 0]), ValueError, "class 1 has 1 sample"),
        (([[-1.0], [1], [0], [-2], [2], [0]], LABELS), EqualMeansError, "means are equal.*trans"),
        ((np.ones((6, 2)), LABELS), EqualMeansError, "means are equal"),
    ):
        with pytest.raises(error, match=words):
            fitted(model, *arguments)


@each_setting
def test_before_a_fit_there_is_nothing(model):
    assert_not_fitted(clone(model))


# ---------------------------------------------------------------- what does not matter


@each_setting
def test_a_weight_is_a_number_of_rows(model):
    contract = contract_of(model)
    changed = 0
    for seed in seeds_of(model):
        X, y, weights = draw(seed, 30, 6, weighted=True)
        # some rows occur twice, with other weights
        X, y = np.vstack([X, X[:5]]), np.append(y, y[:5])
        weights = np.append(weights, [3.0, 0, 1, 2, 3])
        machine, plain = fitted(model, X, y, weights), fitted(model, X, y)
        again = np.repeat(np.arange(len(y)), weights.astype(int))
        if not takes("basis")(model) or model.basis is None:
            repeated = fitted(model, X[again], y[again])
            assert np.allclose(machine.scale_, repeated.scale_, rtol=1e-9)
            assert_same(repeated, machine, X)
            if contract.exact and hasattr(machine, "coef_"):
                assert_same_bits(repeated, machine)
            # rows of weight zero are none
            counted = weights > 0
            assert_same(fitted(model, X[counted], y[counted], weights[counted]), machine, X)
        if hasattr(machine, "dual_coef_") and machine.support_.dtype != bool:
            assert (weights[machine.support_] > 0).all()
        scores = plain.decision_function(X)
        changed += not np.allclose(machine.decision_function(X), scores, rtol=1e-4)
        assert_same_bits(plain, fitted(model, X, y, [1.0, np.ones(len(y))][seed]))
        if contract.doubled is not None:
            factors = contract.doubled
            times = max([1, *factors.values()])
            if times > 1:  # a refit has a cost of its own
                model = clone(model).set_params(refit=False)
                machine = fitted(model, X, y, weights)
            params = {name: np.multiply(getattr(model, name), f) for name, f in factors.items()}
            double = fitted(clone(model).set_params(**params), X, y, 2 * weights)
            assert_same(machine, double, X, times=times)
    assert changed


def mirrored(model):
    """The setting for classes that have changed places."""
    params = {name: 1 - getattr(model, name) for name in ("theta", "balance") if takes(name)(model)}
    for name in ("c_fit", "c_hinge"):
        if takes(name)(model) and np.ndim(getattr(model, name)):
            params[name] = getattr(model, name)[::-1]
    return clone(model).set_params(**params)


@each_setting
def test_units_order_and_labels_do_not_matter(model):
    exact = contract_of(model).exact == "rows"
    distances = getattr(model, "kernel", None) in (None, "rbf", "laplacian")
    for seed in seeds_of(model):
        X, y = draw(seed, 30, 6)
        rng = np.random.default_rng(seed)
        machine = fitted(model, X, y)
        rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
        moved = fitted(model, X[rows], y[rows])
        assert_same(machine, moved, X)
        if exact:
            assert_same_bits(machine, moved)
        if getattr(model, "basis", None) is None:  # points are drawn in the order of their values
            turned = fitted(model, X[:, columns], y)
            assert_same(machine, turned, X, X[:, columns], columns=columns)
        if model.scale:
            unit = 10 ** rng.uniform(-3, 3, X.shape[1])
            shift = rng.normal(size=X.shape[1]) if distances else np.zeros(X.shape[1])
            other = (X + shift) * unit
            assert_same(machine, fitted(model, other, y), X, other, unit=unit)
        else:
            assert (machine.scale_ == 1).all()
        for labels in ([["a", "b"], [2.0, 7.0]], [[False, True], [-1, 1]])[seed]:
            words = np.array(labels)[y]
            named = fitted(model, X, words)
            assert_same_bits(machine, named)
            assert named.classes_.tolist() == sorted(labels)
            assert np.array_equal(named.predict(X), np.array(labels)[machine.predict(X)])
            assert named.predict(X).dtype == words.dtype
        if isinstance(model, FSMEMPM) and (model.search == "bisection" or model.refit):
            continue  # alpha is kept while beta is made larger
        swapped = fitted(mirrored(model), X, np.array(["b", "a"])[y])
        assert_same(machine, swapped, X, sign=-1)
        if hasattr(machine, "worst_case_accuracy_"):
            there, back = machine.worst_case_accuracy_, swapped.worst_case_accuracy_
            assert np.allclose(there, back[::-1], rtol=1e-4)


@each_setting
def test_however_the_data_come_the_answer_is_one(model):
    """Arrays in either order, lists, integers, frames, or read-only: and they are left alone."""
    X, y = draw(4, 30, 5, integer=True)
    machine = fitted(model, X, y)
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(100, 130))
    held, before = X.copy(), clone(model).get_params()
    X.setflags(write=False)
    y.setflags(write=False)
    for other, labels in (
        (X, y),
        (np.asfortranarray(X), y),
        (X.astype(np.float32), y),
        (X.astype(int), y.tolist()),
        (X.tolist(), pd.Series(y)),
        (frame, pd.Series(y, index=frame.index)),
    ):
        again = fitted(model, other, labels)
        assert_same(machine, again, X, other)
        if hasattr(machine, "coef_"):
            assert_same_bits(machine, again)
        # functions and surrogates are cloned
        assert repr(again.get_params()) == repr(before)
    assert np.array_equal(X, held)
    assert again.feature_names_in_.tolist() == list(frame.columns)


# ---------------------------------------------------------------- what a fit leaves


def assert_plain(machine, X, y):
    """Types and shapes of what is fitted, and exact zeros beside the support."""
    result = machine.result_
    assert type(machine.objective_) is float and type(result.objective) is float
    for name in ("duality_gap", "step_gap", "violation"):
        value = getattr(result, name)
        assert value is None or (type(value) is float and value >= 0)
    assert all(type(count) is int for count in result.counts.values())
    if hasattr(machine, "n_iter_"):
        assert type(machine.n_iter_) is int
    for name in ("delta_", "largest_delta_"):
        assert not hasattr(machine, name) or type(getattr(machine, name)) is float
    assert machine.scale_.shape == (X.shape[1],) and (machine.scale_ > 0).all()
    scores = machine.decision_function(X)
    assert scores.shape == (len(X),) and np.isfinite(scores).all()
    assert np.array_equal(machine.predict(X), machine.classes_[(scores > 0).astype(int)])
    if hasattr(machine, "coef_"):
        planes = len(machine.coef_)
        assert machine.coef_.shape == (planes, X.shape[1])
        assert machine.intercept_.shape == (planes,)
        if planes == 1:
            assert np.allclose(scores, X @ machine.coef_[0] + machine.intercept_[0])
        assert np.array_equal((machine.coef_ != 0).any(axis=0), machine.support_)
    else:
        planes, points = machine.dual_coef_.shape
        assert machine.support_vectors_.shape == (points, X.shape[1])
        assert (machine.dual_coef_ != 0).any(axis=0).all()
        assert machine.intercept_.shape == (planes,)
    if selects_features(machine):
        assert machine.support_.dtype == bool and machine.support_.shape == (X.shape[1],)
        assert type(machine.n_selected_) is int and machine.n_selected_ == machine.support_.sum()
    else:
        assert machine.support_.dtype.kind == "i" and (np.diff(machine.support_) > 0).all()
        assert np.array_equal(machine.support_vectors_, X[machine.support_])


def assert_descends(result):
    """The objective never rises by more than rounding within a stage, and seconds go by."""
    assert result.status in ("solved", "converged")
    for before, after in zip(result.steps, result.steps[1:], strict=False):
        assert after.stage >= before.stage and after.seconds >= before.seconds
        if after.stage == before.stage:
            assert after.objective <= before.objective + 1e-7 * abs(before.objective)
    for step in result.steps:
        assert type(step.n_selected) is int and type(step.stage) is int
        assert type(step.objective) is float


CONVEX = {"L1MPM", "SMPM", "MEMPM", "TwinSVM", "L1TwinSVM", "L1SVM", "SVMRanking", "RFS"}


def is_proved(model):
    """Whether a lower bound of the objective is known: the problem is convex, or certified."""
    convex_power = getattr(model, "p", None) in (2, np.inf) and not isinstance(model, DSO)
    return type(model).__name__ in CONVEX and getattr(model, "retain", 0) != 1 or convex_power


@each_setting
def test_results_are_plain_data(model):
    for seed in (0, 2):
        X, y = draw(seed, 30, 6)
        machine = fitted(model, X, y)
        assert_plain(machine, X, y)
        assert_descends(machine.result_)
        if is_proved(model):
            assert 0 <= machine.result_.duality_gap <= 1e-6
        else:
            assert machine.result_.duality_gap is None
        assert machine.result_.step_gap is None or 0 <= machine.result_.step_gap <= 1e-6
        if knows_moments(machine) and takes("prune")(machine):
            assert 0 < machine.delta_ <= machine.largest_delta_


@each_setting
def test_copies_are_equal(model):
    X, y = draw(2, 30, 6)
    machine = fitted(model, X, y)
    thawed, again = pickle.loads(pickle.dumps(machine)), fitted(machine, X, y)
    fresh = clone(machine)
    assert not [name for name in vars(fresh) if name.endswith("_")]
    for other in (thawed, again):
        assert_same_bits(machine, other)
        assert repr(other.get_params()) == repr(machine.get_params())
        assert np.array_equal(other.decision_function(X), machine.decision_function(X))
        assert np.array_equal(other.support_, machine.support_)
    assert thawed.result_ == machine.result_
    if hasattr(machine, "predict_proba"):
        assert np.array_equal(thawed.predict_proba(X), machine.predict_proba(X))
    if hasattr(machine, "summary"):
        assert thawed.summary() == machine.summary()


@each_setting
def test_a_fit_forgets_the_one_before(model):
    X, y = draw(5, 30, 5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    machine = fitted(model, X[:, :3], y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = clone(model).fit(frame, np.array(["u", "v"])[y]).fit(X[:, :3], y)
    assert_same_bits(machine, other)
    assert vars(machine).keys() == vars(other).keys()
    assert other.n_features_in_ == 3 and other.classes_.tolist() == [0, 1]


@each_setting
def test_names_go_in_and_out(model):
    X, y = draw(2, 30, 6)
    frame = pd.DataFrame(X, columns=["the " + name for name in "abcdef"])
    machine = fitted(model, frame, y)
    for wrong in (frame[frame.columns[::-1]], frame.rename(columns={"the a": "the g"})):
        for method in ("predict", "decision_function", "transform"):
            if hasattr(machine, method):
                with pytest.raises(ValueError, match="feature names should match"):
                    getattr(machine, method)(wrong)
    unnamed = fitted(model, X, y)
    with pytest.warns(UserWarning, match="feature names"):
        unnamed.predict(frame)
    for method in ("predict", "decision_function", "transform"):
        if hasattr(machine, method):
            with pytest.raises(ValueError, match="6 features"):
                getattr(unnamed, method)(X[:, :5])
            with pytest.raises(ValueError, match="NaN"):
                getattr(unnamed, method)(np.where(X > X[0, 0], np.nan, X))
            with pytest.raises(ValueError, match="2D"):
                getattr(unnamed, method)(X[0])
    if not selects_features(machine):
        return
    chosen = frame.columns[machine.support_].tolist()
    assert chosen
    assert machine.get_feature_names_out().tolist() == chosen
    assert np.array_equal(machine.get_support(indices=True), np.flatnonzero(machine.support_))
    assert np.array_equal(unnamed.transform(X), X[:, unnamed.support_])
    back = unnamed.inverse_transform(unnamed.transform(X))
    assert np.array_equal(back, np.where(unnamed.support_, X, 0))
    selected = machine.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(selected, frame.loc[:, machine.support_])


@each_setting
def test_the_summary_names_what_is_selected(model):
    X, y = draw(2, 30, 6)
    frame = pd.DataFrame(X, columns=["the " + name for name in "abcdef"])
    words = np.array(["well", "ill"])[y]
    machine = fitted(model, frame, words)
    if not selects_features(machine):
        return
    text, count = machine.summary(), machine.n_selected_
    lines = text.splitlines()
    assert lines[0] == f"{type(model).__name__}: {count} of 6 features"
    assert "no promise for new data" in text
    table = [re.split("  +", line.strip()) for line in lines[len(lines) - count :]]
    scaled = machine.coef_ * machine.scale_ if hasattr(machine, "coef_") else np.zeros((1, 6))
    order = np.argsort(-abs(scaled).sum(axis=0), kind="stable")
    names = [name for name in frame.columns[order] if machine.support_[frame.columns == name][0]]
    assert [row[0] for row in table] == names
    if hasattr(machine, "coef_") and len(machine.coef_) == 1:
        assert "positive weight favours class 'well'" in text
        known = np.column_stack([machine.coef_[0], scaled[0]])[order][:count]
        assert np.allclose([[float(cell) for cell in row[1:]] for row in table], known, rtol=1e-4)
        # columns stand below one another
        assert len({len(line) for line in lines[len(lines) - count - 1 :]}) == 1
    for bound in getattr(machine, "worst_case_accuracy_", ()):
        assert f"{bound:.4f}" in text
    unnamed = fitted(model, X, words).summary()
    for j in np.flatnonzero(machine.support_):
        assert re.search(rf"^x{j} ?", unnamed, re.MULTILINE)


# ---------------------------------------------------------------- what is selected


@where(SETTINGS, takes("n_features"))
def test_so_many_features_as_asked_for(model):
    X, y = draw(2, 60, 6)
    for size in (1, 2, 4):
        machine = clone(model).set_params(n_features=size)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine.fit(X, y)
        said = any(f"n_features={size}, but" in str(w.message) for w in caught)
        assert machine.n_selected_ == size or (said and size == 4)
    machine = clone(model).set_params(n_features=7)
    with pytest.warns(SelectionWarning, match="n_features=7, but"):
        machine.fit(X, y)
    assert machine.n_selected_ <= 6


@each_setting
def test_constant_columns_are_named_and_left_out(model):
    X, y = draw(6, 40, 4)
    constant = [1, 4]
    wide = np.insert(X, [1, 3], [7.0, 0.1 + 1e-17], axis=1)
    frame = pd.DataFrame(wide, columns=["a", "dull", "b", "c", "rounded", "d"])
    plain = clone(model)
    if takes("gamma")(model) and model.gamma is None:
        plain.set_params(gamma=1 / 6)
    if getattr(model, "kernel", None) == "poly":
        return  # a constant column adds to its values
    machine = fitted(plain, X, y)
    many = np.hstack([wide, np.zeros((len(y), 10))])
    for data, names in ((many, "1, 4, 6, 7, 8, ..."), (wide, "1, 4"), (frame, "dull, rounded")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            more = clone(model).fit(data, y)
        line = inspect.currentframe().f_lineno - 1
        mine = [w for w in caught if "constant features" in str(w.message)]
        assert len(mine) == 1 and mine[0].category is SelectionWarning
        assert str(mine[0].message).endswith(f"there are {2 if data is not many else 12}: {names}")
        # every warning points to the line that calls
        assert {(w.filename, w.lineno) for w in caught} == {(__file__, line)}
    expected = machine.decision_function(X)
    assert np.isclose(machine.objective_, more.objective_, rtol=1e-5)
    found = more.decision_function(frame)
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-3 * abs(expected).max())
    if selects_features(more):
        assert not more.support_[constant].any()
    if hasattr(more, "coef_"):
        assert not more.coef_[:, constant].any()
    if knows_moments(model):
        with pytest.warns(SelectionWarning, match="2: 1, 4") as caught:
            clone(model).fit_moments(ClassMoments.from_data(wide, y))
        assert caught[0].filename == __file__


@where(SETTINGS, selects_features)
def test_one_informative_feature_is_found(model):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 8))
    X[:, 5] += 8 * y
    if takes("n_features")(model):
        model = clone(model).set_params(n_features=1)
    machine = fitted(model, X, y)
    scaled = machine.coef_ * machine.scale_ if hasattr(machine, "coef_") else machine.support_[None]
    assert machine.support_[5] and machine.score(X, y) > 0.9
    assert abs(scaled[:, 5]).min() >= abs(scaled).max() / 2
    if takes("n_features")(model):
        assert machine.n_selected_ == 1


# ---------------------------------------------------------------- the edge


@each_setting
def test_two_rows_are_enough(model):
    X, y = [[1.0, 5.0], [3.0, 5.5]], ["a", "b"]
    if takes("ridge")(model):  # a covariance needs two of each
        X, y = X * 2, y * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = clone(model).fit(X, y)
    if machine.support_.any() and getattr(machine, "norms_", np.ones(2)).all():
        assert machine.predict(X).tolist() == y
    if model.scale:
        assert machine.scale_.tolist() == [2, 0.5]


@each_setting
@pytest.mark.parametrize("kind", ["integer", "repeated", "wide", "one column", "huge", "tiny"])
def test_degenerate_data_are_fitted_or_refused_in_words(model, kind):
    if kind in ("huge", "tiny") and not model.scale:
        pytest.skip("numbers are taken as they are")
    for seed in seeds_of(model):
        X, y = draw(
            seed,
            n_rows=8 if kind == "wide" else 16,
            n_features={"wide": 14, "one column": 1}.get(kind, 5),
            integer=kind in ("integer", "repeated"),
            repeated=kind == "repeated",
        )
        X = X * {"huge": 1e100, "tiny": 1e-100}.get(kind, 1.0)
        try:
            machine = fitted(model, X, y)
        except (EqualMeansError, NotSeparableError) as error:
            assert "pass" in str(error) or "transform" in str(error)
            continue
        assert_plain(machine, X, y)
        assert_descends(machine.result_)
        assert np.isfinite(machine.objective_)
        if hasattr(machine, "worst_case_accuracy_"):
            assert_bounds_hold(machine, X, y)


def assert_bounds_hold(machine, X, y):
    for label, bound in zip(machine.classes_, machine.worst_case_accuracy_, strict=True):
        mine = y == label
        assert 0 <= bound <= 1
        assert np.mean(machine.predict(X[mine]) == label) >= bound - 1e-12


# ---------------------------------------------------------------- what is promised of the data


def bounds_of(machine, X, y):
    """What Chebyshev and Cantelli promise, from rows, labels and coefficients alone."""
    ridge = machine.ridge_ * (machine.dual_coef_**2).sum() if hasattr(machine, "ridge_") else 0
    if hasattr(machine, "coef_"):
        ridge = machine.ridge * ((machine.coef_ * machine.scale_) ** 2).sum()
    found, scores = [], machine.decision_function(X)
    for label, sign in zip(machine.classes_, (-1, 1), strict=True):
        margin = max(sign * scores[y == label].mean(), 0)
        found.append(margin**2 / (margin**2 + scores[y == label].var() + ridge))
    return np.array(found)


@pytest.mark.parametrize("name", ["pima", "wisconsin", "wpbc", "titanic", "sonar", "ionosphere"])
@where(SETTINGS, takes("ridge"))
def test_training_accuracy_is_never_below_the_bound(model, name):
    X, y = load(name, return_X_y=True)
    if "Kernel" in type(model).__name__:  # a column a row
        X, y = X[::6], y[::6]
    X = X[:, :: 1 + X.shape[1] // 20]
    labels = np.where(y == 1, "a", "b") if name in ("pima", "sonar") else y
    machine = fitted(model, X, labels)
    promised = machine.worst_case_accuracy_
    assert promised.shape == (2,) and (promised > 0).any()
    if hasattr(machine, "largest_delta_"):
        assert (promised <= machine.largest_delta_ + 1e-9).any()
    assert np.allclose(promised, bounds_of(machine, X, labels), rtol=1e-6, atol=1e-9)
    assert_bounds_hold(machine, X, labels)
    if takes("retain")(model) and model.get_params().get("n_features") is None:
        assert (promised >= machine.delta_ * (1 - 1e-5)).all()
        assert np.isclose(machine.delta_, model.retain * machine.largest_delta_, rtol=1e-9)


# ---------------------------------------------------------------- what is said


@where(SETTINGS, takes("max_iter"))
def test_too_few_steps_are_said_at_the_callers_line(model):
    X, y = load("sonar", return_X_y=True)
    X, y = X[::4], y[::4]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine = clone(model).set_params(max_iter=1).fit(X, y)
    line = inspect.currentframe().f_lineno - 1
    assert {(w.filename, w.lineno) for w in caught} <= {(__file__, line)}
    told = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    if machine.result_.status == "max_iter":
        assert len(told) == 1 and "not converged" in told[0] and "raise max_iter" in told[0]
    else:
        assert machine.result_.status in ("solved", "converged") and not told
    assert_plain(machine, X, y)


@where(USUAL, takes("progress"))
def test_progress_is_shown_where_it_is_asked_for(model, capsys):
    X, y = draw(2, 30, 6)
    silent = fitted(model, X, y)
    assert capsys.readouterr() == ("", "")
    shown = fitted(clone(model).set_params(progress=True), X, y)
    out, err = capsys.readouterr()
    assert out == "" and "/s" in err
    assert_same_bits(silent, shown)


def broken_kernels():
    return (
        (lambda a, b: np.nan, ValueError, "not finite on these rows"),
        (lambda a, b: a, TypeError, "gives ndarray for two rows; pass a function that gives"),
        (lambda a, b: "0", TypeError, "gives str for two rows"),
    )


@where(USUAL, takes("kernel"))
def test_a_kernel_may_be_a_function_that_gives_numbers(model):
    X, y = draw(2, 20, 3)
    named = fitted(clone(model).set_params(kernel="rbf", gamma=0.3), X, y)
    function = clone(model).set_params(kernel=lambda a, b: np.exp(-0.3 * ((a - b) ** 2).sum()))
    assert_same(named, fitted(function, X, y), X)
    for kernel, error, words in broken_kernels():
        with pytest.raises(error, match=words):
            fitted(clone(model).set_params(kernel=kernel), X, y)


@where(USUAL, takes_many_classes)
def test_many_classes_have_a_plane_each(model):
    X, y = draw(1, 60, 6, n_classes=3)
    machine = fitted(model, X, y)
    scores = machine.decision_function(X)
    assert machine.coef_.shape == (3, 6) and machine.intercept_.shape == (3,)
    assert np.allclose(scores, X @ machine.coef_.T + machine.intercept_)
    assert np.array_equal(machine.predict(X), scores.argmax(axis=1))
    assert np.array_equal(machine.support_, (machine.coef_ != 0).any(axis=0))
    names = np.array(["b", "c", "a"])
    renamed = fitted(model, X, names[y])
    assert np.allclose(renamed.coef_[[1, 2, 0]], machine.coef_, rtol=1e-3, atol=1e-3)
    assert renamed.classes_.tolist() == ["a", "b", "c"]
    assert np.isclose(renamed.objective_, machine.objective_, rtol=1e-5)
    assert np.array_equal(renamed.predict(X), names[machine.predict(X)])
    X, y, weights = draw(1, 60, 6, n_classes=3, weighted=True)
    again = np.repeat(np.arange(60), weights.astype(int))
    assert_same_bits(fitted(model, X[again], y[again]), fitted(model, X, y, weights))
    with pytest.raises(ValueError, match="^class 2 has only rows of weight zero"):
        fitted(model, X, y, y != 2)
    text, chosen = machine.summary(), np.flatnonzero(machine.support_)
    assert "no promise for new data" in text
    table = {row[0]: row[-1] for row in map(str.split, text.splitlines()[-len(chosen) :])}
    favoured = (machine.coef_ * machine.scale_).argmax(axis=0)
    assert table == {f"x{j}": str(favoured[j]) for j in chosen}


# ---------------------------------------------------------------- how it reads


@each
def test_parameters_are_passed_by_name(model):
    kinds = {p.kind for p in inspect.signature(type(model)).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def described(entries):
    """Names of a section; several may share a line, "a, b"."""
    return {name.strip() for entry in entries for name in entry.name.split(",")}


@each
def test_docstrings_are_complete(model):
    doc = ClassDoc(type(model), config={"show_class_members": False})
    assert doc["Summary"] and doc["Examples"]
    order = list(inspect.signature(type(model)).parameters)
    assert [entry.name for entry in doc["Parameters"]] == order
    for entry in doc["Parameters"]:
        assert entry.type and entry.desc
        default = type(model)().get_params()[entry.name]
        stated = entry.type.split("default=")
        if default is None:
            assert "optional" in entry.type
        else:
            assert stated[1] in (repr(default), f'"{default}"')
    X, y = draw(2, 30, 6)
    machine = fitted(model, pd.DataFrame(X, columns=list("abcdef")), y)
    public = {name for name in vars(machine) if name.endswith("_") and not name.startswith("_")}
    assert public <= described(doc["Attributes"])
    for name in described(doc["Attributes"]):
        assert hasattr(machine, name)
    # what a fit costs, in samples and features
    assert any("O(" in line or line.startswith("As `") for line in doc["Notes"])


@each
def test_methods_have_docstrings(model):
    for name in dir(model):
        method = getattr(type(model), name, None)
        ours = str(getattr(method, "__module__", "")).startswith("fsnotes")
        if name.startswith("_") or not inspect.isfunction(method) or not ours:
            continue
        doc = FunctionDoc(method)
        assert doc["Summary"], name
        accepted = [p for p in inspect.signature(method).parameters if p != "self"]
        assert described(doc["Parameters"]) == set(accepted), name
        assert doc["Returns"], name


# ---------------------------------------------------------------- at work in scikit-learn


@each_selector
def test_pipelines_searches_and_frames(model):
    X, y = load("wdbc", return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    frame.index = np.arange(1000, 1000 + len(frame))
    pipeline = make_pipeline(StandardScaler(), clone(model))
    pipeline.set_output(transform="pandas").fit(frame, y)
    machine = pipeline[-1]
    selected = pipeline.transform(frame)
    assert list(selected.columns) == list(frame.columns[machine.support_])
    assert selected.index.equals(frame.index)
    scaled = pipeline[:-1].transform(frame)
    pd.testing.assert_frame_equal(selected, scaled.loc[:, machine.support_])
    scores = cross_val_score(clone(model), frame, y, cv=StratifiedKFold(3))
    assert scores.shape == (3,) and (scores > 0.8).all()
    words = np.where(y == 1, "benign", "malignant")
    assert set(pipeline.fit(frame, words).predict(frame)) == {"benign", "malignant"}


def test_the_bound_can_be_searched():
    X, y = load("wdbc", return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    grid = {"l1mpm__retain": [0.3, 0.6, 0.95], "l1mpm__normalization": ["margin", "gap"]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), fsnotes.L1MPM()), grid, cv=3, error_score="raise"
    ).fit(frame, y)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(np.unique(search.cv_results_["mean_test_score"])) > 1
    best = search.best_estimator_[-1]
    assert best.retain == search.best_params_["l1mpm__retain"]
    assert search.score(frame, y) > 0.9


@each_selector
def test_weights_can_be_routed(model):
    X, y = load("wdbc", return_X_y=True)
    weights = np.where(np.arange(len(y)) % 2, 1.0, 0.25)
    with sklearn.config_context(enable_metadata_routing=True):
        machine = clone(model).set_fit_request(sample_weight=True)
        routed = make_pipeline(machine).fit(X, y, sample_weight=weights)
    direct = clone(model).fit(X, y, sample_weight=weights)
    assert np.array_equal(routed[-1].coef_, direct.coef_)
