"""What scikit-learn asks of every estimator of the package, and what it forgets to ask."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsnotes
from fsnotes import load
from fsnotes.core.moment_classifier import MomentClassifier

# the hard margin refuses rows that no plane separates, as in most of what is tried here
SETTINGS = {"DSO": {"C": 1.0}}
ESTIMATORS = [
    member(**SETTINGS.get(member.__name__, {}))
    for member in (getattr(fsnotes, name) for name in fsnotes.__all__)
    if inspect.isclass(member) and issubclass(member, BaseEstimator)
]
# by class: name of the check, and why it fails; at most two each
EXPECTED_FAILURES = {
    "RVM": {
        "check_decision_proba_consistency": "probabilities are moderated by the posterior variance "
        "of the score"
    },
}
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

each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
# kernel machines select points, not features
SELECTORS = [estimator for estimator in ESTIMATORS if isinstance(estimator, SelectorMixin)]
each_selector = pytest.mark.parametrize("estimator", SELECTORS, ids=lambda e: type(e).__name__)


def failures_of(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


def test_the_estimators_are_found():
    wanted = {"MPM", "L1MPM", "SMPM", "MEMPM", "FSMEMPM", "TwinSVM", "L1TwinSVM", "FTSVM"}
    assert wanted <= {type(e).__name__ for e in ESTIMATORS}


def test_few_failures_are_expected():
    assert set(EXPECTED_FAILURES) <= {type(e).__name__ for e in ESTIMATORS}
    for failures in EXPECTED_FAILURES.values():
        assert 1 <= len(failures) <= 2 and all(map(str.strip, failures.values()))


# some checks fit data that are wide, have equal rows, or only a few rows and no signal, and say
# nothing else of warnings
@pytest.mark.filterwarnings("ignore::fsnotes.errors.TrivialBoundWarning")
@pytest.mark.filterwarnings("ignore:C=.* is too small to select a")
@pytest.mark.filterwarnings("ignore:no (feature|point) is selected")
@pytest.mark.filterwarnings("ignore:none of .* is dropped")
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=failures_of)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# one of them predicts from an array after a fit to a frame; others have no signal to select by
@pytest.mark.filterwarnings("ignore:X .* feature names")
@pytest.mark.filterwarnings("ignore:C=.* is too small to select a")
@pytest.mark.filterwarnings("ignore:no (feature|point) is selected")
@pytest.mark.filterwarnings("ignore:none of .* is dropped")
@pytest.mark.filterwarnings("ignore:No features were selected")
@each_selector
@pytest.mark.parametrize("name", LEFT_OUT)
def test_checks_that_are_left_out(estimator, name):
    getattr(estimator_checks, name)(type(estimator).__name__, clone(estimator))


@each
def test_every_parameter_is_checked(estimator):
    X, y = load("pima", return_X_y=True)
    for name in estimator.get_params():
        for value in (object(), "no such thing", -7, np.nan, [1]):
            with pytest.raises((TypeError, ValueError), match=f"^{name}="):
                clone(estimator).set_params(**{name: value}).fit(X, y)


@each
def test_parameters_are_passed_by_name(estimator):
    kinds = {p.kind for p in inspect.signature(type(estimator)).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def described(entries):
    """Names of a section; several may share a line, "a, b"."""
    return {name.strip() for entry in entries for name in entry.name.split(",")}


@each
def test_docstrings_are_complete(estimator):
    doc = ClassDoc(type(estimator), config={"show_class_members": False})
    assert doc["Summary"] and doc["Examples"]
    order = list(inspect.signature(type(estimator)).parameters)
    assert [entry.name for entry in doc["Parameters"]] == order
    for entry in doc["Parameters"]:
        assert entry.type and entry.desc
        default = type(estimator)().get_params()[entry.name]
        stated = entry.type.split("default=")
        assert (
            "optional" in entry.type
            if default is None
            else stated[1]
            in (
                repr(default),
                f'"{default}"',
            )
        )
    X, y = load("pima", return_X_y=True, as_frame=True)
    fitted = clone(estimator).fit(X.set_axis(list("abcdefgh"), axis=1), y)
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert public <= described(doc["Attributes"])
    for name in described(doc["Attributes"]):
        assert hasattr(fitted, name)
    # what a fit costs, in samples and features
    assert any("O(" in line or line.startswith("As `") for line in doc["Notes"])


@each
def test_methods_have_docstrings(estimator):
    for name in dir(estimator):
        method = getattr(type(estimator), name, None)
        ours = str(getattr(method, "__module__", "")).startswith("fsnotes")
        if name.startswith("_") or not inspect.isfunction(method) or not ours:
            continue
        doc = FunctionDoc(method)
        assert doc["Summary"], name
        accepted = [p for p in inspect.signature(method).parameters if p != "self"]
        assert described(doc["Parameters"]) == set(accepted), name
        assert doc["Returns"], name


@each_selector
def test_pipelines_searches_and_frames(estimator):
    X, y = load("wdbc", return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    frame.index = np.arange(1000, 1000 + len(frame))
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    pipeline.set_output(transform="pandas").fit(frame, y)
    machine = pipeline[-1]
    selected = pipeline.transform(frame)
    assert list(selected.columns) == list(frame.columns[machine.support_])
    assert selected.index.equals(frame.index)
    scaled = pipeline[:-1].transform(frame)
    pd.testing.assert_frame_equal(selected, scaled.loc[:, machine.support_])
    scores = cross_val_score(clone(estimator), frame, y, cv=StratifiedKFold(3))
    assert scores.shape == (3,) and (scores > 0.8).all()
    words = np.where(y == 1, "benign", "malignant")
    assert set(pipeline.fit(frame, words).predict(frame)) == {"benign", "malignant"}


@each_selector
def test_transform_takes_the_support(estimator):
    X, y = load("wdbc", return_X_y=True)
    machine = clone(estimator).fit(X, y)
    assert np.array_equal(machine.transform(X), X[:, machine.support_])
    assert np.array_equal(machine.fit_transform(X, y), X[:, machine.support_])


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
def test_weights_can_be_routed(estimator):
    X, y = load("wdbc", return_X_y=True)
    weights = np.where(np.arange(len(y)) % 2, 1.0, 0.25)
    with sklearn.config_context(enable_metadata_routing=True):
        machine = clone(estimator).set_fit_request(sample_weight=True)
        routed = make_pipeline(machine).fit(X, y, sample_weight=weights)
    direct = clone(estimator).fit(X, y, sample_weight=weights)
    assert np.array_equal(routed[-1].coef_, direct.coef_)


def bounds_of(machine, X, y):
    """What Chebyshev and Cantelli promise, from rows, labels and coefficients alone."""
    found = []
    for label, sign in zip(machine.classes_, (-1, 1), strict=True):
        scores = X[y == label] @ machine.coef_[0] + machine.intercept_[0]
        margin = max(sign * scores.mean(), 0)
        found.append(margin**2 / (margin**2 + scores.var()))
    return np.array(found)


# where a class does not vary, or a column is constant, the data are at fault
@pytest.mark.filterwarnings("ignore::fsnotes.errors.TrivialBoundWarning")
@pytest.mark.filterwarnings("ignore::fsnotes.errors.SelectionWarning")
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(
    "name", ["sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic", "wdbc"]
)
@pytest.mark.parametrize(
    "estimator",
    [e for e in ESTIMATORS if isinstance(e, MomentClassifier)],
    ids=lambda e: type(e).__name__,
)
def test_training_accuracy_is_never_below_the_bound(estimator, name, scale):
    X, y = load(name, return_X_y=True)
    for labels in (y, np.where(y == 1, "a", "b")):
        machine = clone(estimator).set_params(scale=scale).fit(X, labels)
        found = machine.worst_case_accuracy_
        assert found.shape == (2,) and (found > 0).any()
        assert np.allclose(found, bounds_of(machine, X, labels), rtol=1e-7, atol=1e-9)
        for label, bound in zip(machine.classes_, found, strict=True):
            mine = labels == label
            assert np.mean(machine.predict(X[mine]) == label) >= bound - 1e-12
