"""What every estimator shares: classes, scores, names, errors, the summary."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import fsnotes
from fsnotes import MPM, errors, load
from fsnotes.core.estimator import BaseClassifier
from fsnotes.core.samples import Samples
from fsnotes.core.validation import check_bool, check_real
from fsnotes.errors import (
    InfeasibleBoundError,
    NotSeparableError,
    PromiseWarning,
    SelectionWarning,
    SubproblemError,
    TrivialBoundWarning,
)


def test_a_score_of_zero_is_the_first_class():
    machine = MPM().fit([[0.0], [1], [4], [5]], [0, 0, 1, 1])
    machine.coef_, machine.intercept_ = np.array([[1.0]]), np.array([-2.0])
    assert machine.predict([[2.0], [2.1], [1.9]]).tolist() == [0, 1, 0]


def test_summary_names_the_classes():
    X, y = load("pima", return_X_y=True)
    text = MPM().fit(X, np.array(["well", "ill"])[y]).summary()
    assert "'ill' 0." in text and "'well' 0." in text


@pytest.mark.parametrize(
    ("error", "kind", "attribute", "value"),
    [
        (InfeasibleBoundError, ValueError, "largest", 0.25),
        (NotSeparableError, ValueError, "certificates", {"a": [1.0, 1.0]}),
    ],
)
def test_errors_are_of_kinds_that_callers_expect(error, kind, attribute, value):
    made = error("too much", value)
    for twin in (made, pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert isinstance(twin, kind) and type(twin) is error
        assert str(twin) == "too much" and getattr(twin, attribute) == value


def test_other_errors_and_warnings_are_plain():
    assert len(errors.__all__) == 7
    assert issubclass(SubproblemError, RuntimeError)
    assert issubclass(SelectionWarning, UserWarning)
    assert issubclass(TrivialBoundWarning, UserWarning)
    assert issubclass(PromiseWarning, UserWarning)
    assert not issubclass(SelectionWarning, TrivialBoundWarning)


def test_numbers_in_range_and_flags_are_taken():
    for value in (0, 0.5, 1, np.float32(0.25), np.int64(1)):
        check_real("a", value, 0, most=1)
    check_real("a", 1e-300, 0, open_at=0)
    for flag in (True, False, np.bool_(True)):
        check_bool("a", flag)


def test_other_values_are_refused():
    for value in (-1e-9, 1.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="a=.*pass a number from 0 to 1"):
            check_real("a", value, 0, most=1)
    for value in (True, np.bool_(True), "1", None, 1j, [1]):
        with pytest.raises(TypeError, match="a=.*pass a number from 0 to 1"):
            check_real("a", value, 0, most=1)
    with pytest.raises(ValueError, match="a=0; pass a number from 0 to .*, 0 excluded"):
        check_real("a", 0, 0, open_at=0)
    for other in (0, 1, None, "True"):
        with pytest.raises(TypeError, match="a=.*pass True or False"):
            check_bool("a", other)


def test_equal_samples_become_one_whichever_columns_differ():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 12)).astype(float)
    y, weights = rng.integers(0, 2, 60), np.ones(60)
    weights[7] = 0
    for n_equal in (None, 0, 4, 11):
        # so many columns are equal in all rows; with None all rows differ
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
