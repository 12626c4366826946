"""What may come into a fit: tables, labels and weights that are no numbers, and very large ones."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from instances import draw
from sklearn.base import clone
from test_contract import (
    SETTINGS,
    USUAL,
    assert_not_fitted,
    each,
    fitted,
    selects_features,
    where,
)

from fsnotes import (
    MPM,
    ClassMoments,
    ProbitEM,
    ZeroNormSVM,
    fisher_score,
    mrmr,
    rank_features,
    relieff,
)
from fsnotes.errors import SelectionWarning

T, V = TypeError, ValueError
X, Y = draw(0, 12, 3)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def frame_with(column):
    """A frame whose middle column is another."""
    return FRAME.assign(b=column)


def of_objects(value):
    table = X.astype(object)
    table[3, 1] = value
    return table


# a table, the error, and its words, with "column" for the name that a table gives its middle one
TABLES = {
    "complex": (X + 1j, V, "Complex data not supported"),
    "dates": (np.full(X.shape, "2020-01-01", dtype="M8[D]"), T, "X holds dates, such as"),
    "times": (np.ones(X.shape, dtype="m8[s]"), T, "X holds dates"),
    "masked": (np.ma.masked_array(X, mask=X > 0), T, "X is a masked array; fill what is"),
    "text": (X.astype(str), T, "X holds text, such as .*OneHotEncoder"),
    "bytes": (X.astype("S"), T, "X holds text"),
    "records": (np.zeros(12, dtype=[("a", float), ("b", float)]), T, "pass a table of real"),
    "text object": (of_objects("3"), T, "column 1 of X holds text, such as '3'"),
    "missing object": (of_objects(None), V, "column 1 of X has a missing value, None, in row 3"),
    "set object": (of_objects({1}), T, r"column 1 of X has \{1\} in row 3.*but a number"),
    "complex object": (of_objects(1j), T, "column 1 of X has 1j in row 3"),
    "huge object": (of_objects(10**400), T, "column 1 of X has 1000.*beyond floating point"),
    "NaN": (np.where(X == X[3, 1], np.nan, X), V, r"NaN or infinity in 1 .*: 1 \(1 rows\)"),
    "NaN in frame": (
        FRAME.where(FRAME != X[3, 1], np.nan),
        V,
        r"infinity in 1 .*: 'b' \(1 rows\); impute them",
    ),
    "nullable": (
        frame_with(pd.array([None, *range(11)], dtype="Int64")),
        V,
        r"column 'b' of X has missing values \(NaN\) in 1 of its rows; impute",
    ),
    "category": (frame_with(pd.Categorical(list("xy") * 6)), T, "'b' of X holds categories.*One"),
    "words": (frame_with(list("xy") * 6), T, "'b' of X holds text, such as 'x'; encode"),
    "string": (frame_with(pd.array(list("xy") * 6, dtype="string")), T, "'b' of X holds text"),
    "days": (frame_with(pd.date_range("2020", periods=12)), T, "'b' of X holds dates.*drop it"),
    "zone": (frame_with(pd.date_range("2020", periods=12, tz="UTC")), T, "'b' of X holds dates"),
    "period": (frame_with(pd.period_range("2020", periods=12)), T, "'b' of X holds period"),
    "interval": (frame_with(pd.interval_range(0, 12)), T, "'b' of X holds interval"),
    "sparse": (frame_with(pd.arrays.SparseArray(X[:, 1])), T, "'b' of X is sparse; pass X.sparse"),
    "no columns": (FRAME[[]], V, "X has 0 features: its frame has no columns"),
    "copy": (pd.concat([FRAME, FRAME[["b"]]], axis=1), V, "more than one column named 'b'; rename"),
    "objects": (frame_with(of_objects(None)[:, 1]), V, "'b' .*missing value"),
    "lengths": ([[1, 2], [3]] * 6, V, "X has rows of several lengths; pass a table"),
    "set": ({1, 2}, T, "X is a set; pass a table"),
    "mapping": ({"a": [1]}, T, "X is a dict; pass a table"),
    "word": ("abc", T, "X is a str; pass a table"),
}
ALIKE = {
    "objects": X.astype(object),
    "Fractions": np.array([[Fraction(v) for v in row] for row in X], dtype=object),
    "Decimals": np.array([[Decimal(v) for v in row] for row in X], dtype=object),
    "big endian": X.astype(">f8"),
    "list": X.tolist(),
    "frame": FRAME,
    "frame of objects": FRAME.astype(object),
    "nullable": FRAME.astype("Float64"),
}
MISSING = pd.Series(pd.array([None, *[0, 1] * 5, 1], dtype="Int64"))
LABELS = {
    "NA": (MISSING, V, "y has 1 missing labels"),
    "NA objects": ([pd.NA, *[0, 1] * 5, 1], V, "y has missing labels"),
    "NaT": (np.array(["2020", "NaT"] * 6, dtype="M8[D]"), V, "y has missing labels"),
    "None": (np.array([None, *[0, 1] * 5, 1], dtype=object), V, "y has missing labels"),
    "NaN": (np.array([np.nan, *"abababababa"], dtype=object), V, "y has missing labels"),
    "mixed": (np.array(["a", 1] * 6, dtype=object), T, "y mixes labels of types int, str"),
    "complex": (Y + 0j, V, "Complex data not supported: y"),
    "masked": (np.ma.masked_array(Y, mask=Y > 0), T, "y is a masked array"),
    "lengths": ([[1], [2, 3]] * 6, V, "y has rows of several lengths; pass a label a row"),
    "set": ({0, 1}, T, "y is a set; pass a label a row"),
    "word": ("abababababab", T, "y is a str; pass a label a row"),
    "beyond integers": ([10**30, 10**31] * 6, V, "y holds objects of type int; make them text"),
    "Fractions": ([Fraction(1), Fraction(1, 3)] * 6, V, "y holds objects of type Fraction"),
    "pairs": (pd.MultiIndex.from_tuples([(0, 1), (1, 0)] * 6), V, "y holds objects of type tuple"),
    "other text": (np.array(["a", "b"] * 6, np.dtypes.StringDType()), T, "pass y.astype"),
}
WEIGHTS = {
    "complex": (np.ones(12) + 0j, T, "holds complex; pass real numbers"),
    "text": (np.full(12, "1"), T, "holds text"),
    "list of text": (["1"] * 12, T, "holds text"),
    "times": (np.ones(12, dtype="m8[s]"), T, "holds dates"),
    "masked": (np.ma.masked_array(np.ones(12), mask=Y > 0), T, "is a masked array"),
    "objects": ([{}] * 12, T, "holds dict"),
    "long": (np.full(12, np.longdouble("1e4000")), V, "infinite"),
    "None": ([None] * 12, T, "holds NoneType"),
    "huge": ([10**400] * 12, T, "holds int"),
    "lengths": ([[1], [2, 3]] * 6, V, "has rows of several lengths; pass real numbers"),
    "set": ({1}, T, "is a set; pass real numbers"),
    "too large": (np.full(12, 1e300), V, "from 1e-50 to 1e\\+50"),
    "too small": ([1e-300, *[1.0] * 11], V, "from 1e-50 to 1e\\+50"),
}


@each
def test_what_is_no_number_is_refused_in_words(model):
    machine = fitted(model, X, Y)
    for table, error, words in TABLES.values():
        with pytest.raises(error, match=words):
            machine.fit(table, Y)
        assert_not_fitted(machine)
    for labels, error, words in LABELS.values():
        with pytest.raises(error, match=words):
            machine.fit(X, labels)
    for weights, error, words in WEIGHTS.values():
        with pytest.raises(error, match=f"^sample_weight .*{words}"):
            machine.fit(X, Y, weights)


@each
def test_what_is_no_number_has_no_class(model):
    machine = fitted(model, X, Y)
    named = fitted(model, FRAME, Y)
    methods = ["predict", "decision_function", "predict_proba"]
    for table, error, words in TABLES.values():
        estimator = named if isinstance(table, pd.DataFrame) else machine
        for method in filter(lambda name: hasattr(estimator, name), methods):
            with pytest.raises(error, match=words):
                getattr(estimator, method)(table)


def test_functions_refuse_what_is_no_number():
    for table, error, words in TABLES.values():
        for function in (fisher_score, relieff, mrmr, rank_features, ClassMoments.from_data):
            with pytest.raises(error, match=words):
                function(table, Y)


@each
def test_numbers_of_any_kind_are_numbers(model):
    expected = fitted(model, X, Y).decision_function(X)
    for table in ALIKE.values():
        machine = fitted(model, table, Y)
        assert np.allclose(machine.decision_function(table), expected, rtol=1e-9, atol=1e-12)


@where(USUAL, selects_features)
def test_sparse_tables_are_refused_everywhere(model):
    from scipy import sparse

    machine = fitted(model, X, Y)
    for method in (machine.predict, machine.transform):
        with pytest.raises(TypeError, match="[Ss]parse"):
            method(sparse.csr_array(X))


UNITS = {
    "tiny": 2.0**-990,
    "huge": 2.0**990,
    "one": np.array([1, 2.0**-990, 1, 2.0**990, 2.0**-560]),
}


@where(SETTINGS, lambda model: model.scale)
def test_features_of_any_size_have_the_answer_of_ordinary_ones(model):
    table, y = draw(3, 30, 5)
    plain = fitted(model, table, y)
    for unit in UNITS.values():
        machine = fitted(model, table * unit, y)
        assert np.isclose(machine.objective_, plain.objective_, rtol=1e-9)
        scores = machine.decision_function(table * unit)
        expected = plain.decision_function(table)
        assert np.allclose(scores, expected, rtol=1e-6, atol=1e-6 * abs(expected).max())
        if hasattr(machine, "coef_"):
            assert np.array_equal(machine.coef_ != 0, plain.coef_ != 0)
        assert np.allclose(machine.scale_ / unit, plain.scale_)
    for decimal in (1e-300, 1e300):
        machine = fitted(model, table * decimal, y)
        assert np.isclose(machine.objective_, plain.objective_, rtol=1e-6)
        assert np.array_equal(machine.predict(table * decimal), plain.predict(table))


@where(SETTINGS, lambda model: not model.scale)
def test_features_as_they_are_must_not_be_too_large_to_be_squared(model):
    for unit in UNITS.values():
        with pytest.raises(ValueError, match="the squares of feature . are beyond .*scale=True"):
            fitted(model, draw(3, 30, 5)[0] * unit, draw(3, 30, 5)[1])


@each
def test_what_lies_at_the_end_of_floating_point_is_refused(model):
    for unit in (1e-310, 1e305):
        with pytest.raises(ValueError, match="feature 0 has values of a size of .*in a unit"):
            fitted(model, X * unit, Y)
        with pytest.raises(ValueError, match="feature 'a' has values of a size of"):
            fitted(model, FRAME * unit, Y)


@each
def test_a_score_that_is_no_number_has_no_class(model):
    machine = fitted(model, X, Y)
    rows = np.vstack([X, np.full(3, 1e308), [1e308, -1e308, 1e308]])
    try:
        classes = machine.predict(rows)
    except ValueError as error:
        assert re.search(
            "rows have no score, row 1[23] first|rows are so far from those of the fit", str(error)
        )
    else:
        assert np.isfinite(machine.decision_function(rows)).all()
        assert np.array_equal(classes[:12], machine.predict(X))


def test_moments_of_what_cannot_be_squared_are_refused():
    for unit in (1e-200, 1e200):
        with pytest.raises(ValueError, match="squares of column 1 of X, .*fit.X, y. takes them"):
            ClassMoments.from_data(X * [1, unit, 1], Y)
        with pytest.raises(ValueError, match="squares of column 'b'"):
            ClassMoments.from_data(FRAME * [1, unit, 1], Y)


@where(USUAL, lambda model: selects_features(model) and model.scale)
def test_constant_features_of_any_size_are_left_out(model):
    table = np.column_stack([X, np.full(12, 1e290), np.full(12, -1e-290)])
    with pytest.warns(SelectionWarning, match="constant features .* there are 2: 3, 4"):
        machine = model.__class__(**model.get_params()).fit(table, Y)
    assert not machine.get_support()[3:].any()


@where(SETTINGS, lambda model: model.scale and getattr(model, "kernel", None) is not None)
def test_constant_features_have_no_part_in_a_kernel(model):
    """They have no unit, so that their own would count."""
    table, y = draw(3, 30, 5)
    for kernel in ("rbf", "cosine"):
        machine = clone(model).set_params(kernel=kernel, gamma=0.2)
        scores = fitted(machine, table, y).decision_function(table)
        for constant in (1e-3, 40.0, 1e200):
            wider = np.insert(table, 2, constant, axis=1)
            found = fitted(machine, wider, y)
            here = found.decision_function(wider)
            elsewhere = found.decision_function(np.insert(table, 2, 2 * constant, axis=1))
            assert np.allclose(here, scores, rtol=1e-6, atol=1e-6 * abs(scores).max())
            assert np.array_equal(here, elsewhere)


@where(USUAL, lambda model: getattr(model, "kernel", None) is not None)
def test_a_kernel_of_whole_numbers_is_one_of_numbers(model):
    """A match kernel, as for categories, counts: its values are ints, bools or of few bits."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (30, 5)).astype(float)
    y = np.arange(30) % 2
    table[:, 0] += y
    scores = [
        fitted(clone(model).set_params(kernel=kernel), table, y).decision_function(table)
        for kernel in (
            lambda a, b: float((a == b).sum()),
            lambda a, b: int((a == b).sum()),
            lambda a, b: (a == b).sum().astype(np.int8),
            lambda a, b: np.float32((a == b).sum()),
        )
    ]
    assert all(np.array_equal(scores[0], other) for other in scores[1:])


@where(USUAL, lambda model: hasattr(model, "ridge") and model.scale)
def test_a_ridge_that_would_be_none_is_refused(model):
    if getattr(model, "kernel", None) is None:
        with pytest.raises(ValueError, match="ridge=1e-60 is next to 0; pass 0 or a number from"):
            fitted(clone(model).set_params(ridge=1e-60), X, Y)


def test_a_feature_beside_a_large_mean_is_told_from_a_constant():
    with pytest.warns(SelectionWarning, match="there are 1: 3; some vary by less than 1e-10"):
        fitted_aloud(np.column_stack([X, 1e12 + X[:, 0]]))
    with pytest.warns(SelectionWarning, match="there are 1: 3$"):
        fitted_aloud(np.column_stack([X, np.full(12, 1e12)]))


def fitted_aloud(table):
    return MPM(ridge=0.1).fit(table, Y)


@pytest.mark.parametrize("model", [MPM(), ZeroNormSVM(), ProbitEM()], ids=repr)
def test_score_and_inverse_transform_refuse_what_fit_does(model):
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = np.arange(30) % 2
    X[:, 0] += 2 * y
    machine = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"y has missing labels \(NaN\)"):
        machine.score(X, np.where(y, 1, np.nan))
    with pytest.raises(ValueError, match="y has missing labels"):
        machine.score(X, np.array([*y[:-1], None], dtype=object))
    with pytest.raises(ValueError, match="sample_weight has NaN, negative"):
        machine.score(X, y, sample_weight=-np.ones(30))
    selected = machine.transform(X)
    assert machine.inverse_transform(selected).shape == X.shape
    with pytest.raises(TypeError, match="is sparse; pass X.sparse.to_dense"):
        machine.inverse_transform(pd.DataFrame(selected).astype(pd.SparseDtype(float)))
    twice = pd.DataFrame(np.column_stack([selected, selected])).rename(columns=lambda name: "a")
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        machine.inverse_transform(twice)
