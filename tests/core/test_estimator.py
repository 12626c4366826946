"""What every estimator shares: classes, scores, names, errors, the summary."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

import fsnotes
from fsnotes import L1MPM, L1SVM, MPM, SMPM, KernelMPM, ProbitEM, TwinSVM, errors, load
from fsnotes.core.estimator import BaseClassifier, SparseClassifier
from fsnotes.core.samples import Samples
from fsnotes.core.validation import check_bool, check_real
from fsnotes.errors import (
    InfeasibleBoundError,
    NotSeparableError,
    SelectionWarning,
    SubproblemError,
    TrivialBoundWarning,
)

MODELS = [MPM(), L1MPM(retain=0.7), SMPM(lam=1)]
each_model = pytest.mark.parametrize("model", MODELS, ids=["mpm", "l1", "s"])


@each_model
@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [5, 2], ["b", "a"], [True, False], [2.0, 1.0]])
def test_scores_above_zero_are_the_second_class(model, labels):
    X, y = load("wdbc", return_X_y=True)
    named = np.array(labels)[y]
    machine = clone(model).fit(X, named)
    assert machine.classes_.tolist() == sorted(labels)
    scores = machine.decision_function(X)
    assert scores.shape == (len(X),)
    assert np.allclose(scores, X @ machine.coef_[0] + machine.intercept_[0])
    assert np.array_equal(machine.predict(X) == machine.classes_[1], scores > 0)
    second = named == machine.classes_[1]
    assert scores[second].mean() > 0 > scores[~second].mean()
    assert machine.predict(X).dtype == named.dtype
    assert machine.score(X, named) > 0.8


def test_a_score_of_zero_is_the_first_class():
    machine = MPM().fit([[0.0], [1], [4], [5]], [0, 0, 1, 1])
    machine.coef_, machine.intercept_ = np.array([[1.0]]), np.array([-2.0])
    assert machine.predict([[2.0], [2.1], [1.9]]).tolist() == [0, 1, 0]


@each_model
def test_support_is_where_weights_are_not_zero(model):
    X, y = load("wdbc", return_X_y=True)
    machine = clone(model).fit(X, y)
    assert machine.support_.dtype == bool and machine.support_.shape == (X.shape[1],)
    assert np.array_equal(machine.support_, machine.coef_[0] != 0)
    assert np.array_equal(machine.get_support(), machine.support_)
    assert np.array_equal(machine.get_support(indices=True), np.flatnonzero(machine.support_))
    assert machine.n_selected_ == machine.support_.sum()
    assert np.array_equal(machine.transform(X), X[:, machine.support_])
    back = machine.inverse_transform(machine.transform(X))
    assert np.array_equal(back, np.where(machine.support_, X, 0))


@each_model
def test_nothing_works_before_fit(model):
    X, _ = load("pima", return_X_y=True)
    fresh = clone(model)
    from sklearn.exceptions import NotFittedError

    for call in (
        lambda: fresh.predict(X),
        lambda: fresh.decision_function(X),
        lambda: fresh.transform(X),
        lambda: fresh.get_support(),
        lambda: fresh.summary(),
    ):
        with pytest.raises(NotFittedError):
            call()


@each_model
def test_other_names_and_widths_are_refused(model):
    X, y = load("pima", return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
    machine = clone(model).fit(frame, y)
    assert machine.feature_names_in_.tolist() == list(frame.columns)
    names = machine.get_feature_names_out()
    assert names.tolist() == [f"f{j}" for j in np.flatnonzero(machine.support_)]
    for wrong in (frame[frame.columns[::-1]], frame.rename(columns={"f0": "g0"})):
        for method in (machine.predict, machine.decision_function, machine.transform):
            with pytest.raises(ValueError, match="feature names should match"):
                method(wrong)
    unnamed = clone(model).fit(X, y)
    assert not hasattr(unnamed, "feature_names_in_")
    with pytest.warns(UserWarning, match="feature names"):
        unnamed.predict(frame)
    for method in (unnamed.predict, unnamed.decision_function, unnamed.transform):
        with pytest.raises(ValueError, match="8 features"):
            method(X[:, :7])
    refitted = machine.fit(X, y)
    assert not hasattr(refitted, "feature_names_in_")


@each_model
def test_bad_rows_are_refused_at_prediction(model):
    X, y = load("pima", return_X_y=True)
    machine = clone(model).fit(X, y)
    X = X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        machine.predict(X)
    with pytest.raises(ValueError, match="2D"):
        machine.predict(X[0])


@each_model
def test_summary_without_names(model):
    X, y = load("pima", return_X_y=True)
    machine = clone(model).fit(X, y)
    lines = machine.summary().splitlines()
    assert lines[0].endswith(f"{machine.n_selected_} of 8 features")
    heaviest = abs(machine.coef_[0] * machine.scale_).argmax()
    assert lines[5].split()[0] == f"x{heaviest}"
    assert len(lines) == 5 + machine.n_selected_
    assert lines[3].startswith(f"a positive weight favours class {machine.classes_.tolist()[1]!r}")
    assert lines[4].split() == ["feature", "weight", "weight", "x", "sd"]
    # columns stand below one another
    assert len({len(line) for line in lines[4:]}) == 1


def test_summary_names_the_classes():
    X, y = load("pima", return_X_y=True)
    text = MPM().fit(X, np.array(["well", "ill"])[y]).summary()
    assert "'ill' 0." in text and "'well' 0." in text


def test_lists_integers_and_read_only_arrays_will_do():
    X, y = load("titanic", return_X_y=True)
    whole = X.astype(int)
    machine = MPM().fit(X, y)
    for other in (whole.tolist(), whole, X.astype(np.float32), np.asfortranarray(X)):
        assert np.allclose(MPM().fit(other, y.tolist()).coef_, machine.coef_, rtol=1e-6)
    X.setflags(write=False)
    y.setflags(write=False)
    held = X.copy()
    assert np.array_equal(MPM().fit(X, y).coef_, machine.coef_)
    assert np.array_equal(X, held)


@each_model
def test_one_weight_for_all_rows(model):
    X, y = load("pima", return_X_y=True)
    plain, weighted = clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=3)
    assert np.allclose(plain.coef_, weighted.coef_, rtol=1e-5, atol=1e-8)
    with pytest.raises(ValueError, match="negative"):
        clone(model).fit(X, y, sample_weight=-1)


def test_errors_are_of_kinds_that_callers_expect():
    assert set(errors.__all__) == {
        "EqualMeansError",
        "InfeasibleBoundError",
        "NotSeparableError",
        "SelectionWarning",
        "SubproblemError",
        "TrivialBoundWarning",
    }
    assert issubclass(InfeasibleBoundError, ValueError)
    assert issubclass(NotSeparableError, ValueError)
    assert issubclass(SubproblemError, RuntimeError)
    assert issubclass(SelectionWarning, UserWarning)
    assert issubclass(TrivialBoundWarning, UserWarning)
    assert not issubclass(SelectionWarning, TrivialBoundWarning)
    error = InfeasibleBoundError("too much", 0.25)
    assert str(error) == "too much" and error.largest == 0.25
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(twin) == "too much" and twin.largest == 0.25
        assert type(twin) is InfeasibleBoundError
    error = NotSeparableError("mixed", {"a": [1.0, 1.0]})
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(twin) == "mixed" and twin.certificates == {"a": [1.0, 1.0]}
        assert type(twin) is NotSeparableError


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.25), np.int64(1)])
def test_real_numbers_in_range(value):
    check_real("a", value, 0, most=1)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (-1e-9, ValueError),
        (1.5, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        (True, TypeError),
        (np.bool_(True), TypeError),
        ("1", TypeError),
        (None, TypeError),
        (1j, TypeError),
        ([1], TypeError),
    ],
    ids=str,
)
def test_other_values_are_refused(value, error):
    with pytest.raises(error, match="a=.*pass a number from 0 to 1"):
        check_real("a", value, 0, most=1)


def test_open_ends_and_flags():
    with pytest.raises(ValueError, match="a=0; pass a number from 0, 0 excluded"):
        check_real("a", 0, 0, open_at=0)
    check_real("a", 1e-300, 0, open_at=0)
    for flag in (True, False, np.bool_(True)):
        check_bool("a", flag)
    for other in (0, 1, None, "True"):
        with pytest.raises(TypeError, match="a=.*pass True or False"):
            check_bool("a", other)


def test_tags_say_what_is_taken():
    tags = MPM().__sklearn_tags__()
    assert tags.estimator_type == "classifier"
    assert not tags.classifier_tags.multi_class and not tags.input_tags.sparse
    assert issubclass(MPM, SparseClassifier)


def test_equal_samples_become_one_whichever_columns_differ():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 12)).astype(float)
    y, weights = rng.integers(0, 2, 60), np.ones(60)
    weights[7] = 0
    for n_equal in (None, 0, 4, 11):
        table = X.copy() if n_equal is not None else rng.normal(size=X.shape)
        table[:, len(X[0]) - (n_equal or 0) :] = 7.0
        samples = Samples.drop_zero_weight(table, y, weights)
        assert len(samples.X) == 59 and samples.n_passed == 60 and 7 not in samples.row
        unique = samples.deduplicate()
        labelled = np.column_stack([table, y])
        _, first, counts = np.unique(
            labelled[samples.row], axis=0, return_index=True, return_counts=True
        )
        assert unique.sample_weight.sum() == 59
        assert sorted(unique.row) == sorted(samples.row[first])
        assert sorted(unique.sample_weight) == sorted(counts)
        assert np.array_equal(unique.X, table[unique.row])
        assert np.array_equal(unique.class_index, y[unique.row])
        order = rng.permutation(60)
        moved = Samples.drop_zero_weight(table[order], y[order], weights[order]).deduplicate()
        for name in ("X", "class_index", "sample_weight"):
            assert np.array_equal(getattr(moved, name), getattr(unique, name))
        assert np.array_equal(table[order][moved.row], unique.X)


def test_a_warning_is_issued_at_the_line_that_called_the_package():
    X, y = load("pima", return_X_y=True)
    X[:, 0] = 3
    for estimator in (MPM(), L1SVM(), KernelMPM(), TwinSVM(kernel="rbf"), ProbitEM()):
        with pytest.warns(SelectionWarning, match="constant features .* are 1: 0$") as caught:
            estimator.fit(X, y)
        assert {w.filename for w in caught} == {__file__}
        assert len(caught) == 1


def test_there_is_one_fit_and_each_hook_has_one_signature():
    hooks = ("fit", "_check_parameters", "_clear_fit", "_check_data", "_fit_samples", "_solve")
    estimators = [getattr(fsnotes, name) for name in fsnotes.__all__]
    estimators = [e for e in estimators if inspect.isclass(e) and issubclass(e, BaseEstimator)]
    assert len(estimators) > 20
    for name in hooks:
        found = {
            base.__dict__[name] for e in estimators for base in e.__mro__ if name in vars(base)
        }
        assert len({tuple(inspect.signature(hook).parameters) for hook in found}) == 1, name
    assert {e.fit for e in estimators} == {BaseClassifier.fit}
