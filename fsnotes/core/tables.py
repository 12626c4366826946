"""Data that come in: tables, labels and weights are numbers, or are refused in words."""

import decimal
import numbers
import reprlib
import threading

import numpy as np

__all__ = [
    "ONE_CHECK",
    "are_surely_within",
    "check_finite",
    "check_table",
    "check_weights",
    "labels_of_one_kind",
]

# Before Python 3.14, scikit-learn's checks of data set the warning filters of the whole process and
# put them back: two at a time would leave those of one to the other.
ONE_CHECK = threading.RLock()

NAMED = 5  # Columns that a message names, at most.
LIGHTEST, HEAVIEST = 1e-50, 1e50  # weights of samples
LOOKED_AT = 16  # Rows in which most columns have a value that is not 0.
REAL = "biuf"  # Kinds of numpy that are real numbers.
ENCODE = "encode it, with OneHotEncoder for example, or drop it"
REMEDIES = {"categories": ENCODE, "text": ENCODE}
KINDS = {"c": "complex", "M": "dates", "m": "dates", "U": "text", "S": "text", "T": "text"}


def check_table(X):
    """Raise unless X may be a table of real numbers; the message names a column and a remedy.

    Its shape is looked at elsewhere, and so are missing values, but for those of pandas. An array
    of objects is a table of numbers where all of them are real numbers.
    """
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse, but dense data are required; pass X.toarray()")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array; fill what is masked, as in X.filled(0), or drop it")
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns"):
        _check_frame(X)
    else:
        _check_array(X)


def _check_frame(frame):
    names = list(frame.columns)
    if not names:
        raise ValueError("X has 0 features: its frame has no columns; pass at least one of numbers")
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(
            f"X has more than one column named {repeated[0]!r}; rename or drop all but one, as in "
            "X.loc[:, ~X.columns.duplicated()]"
        )
    for place, (name, dtype) in enumerate(zip(names, frame.dtypes, strict=True)):
        if isinstance(dtype, np.dtype) and dtype.kind in REAL:
            continue
        column = frame.iloc[:, place]
        words = str(dtype).lower()
        kind = KINDS.get(dtype.kind)
        if words.startswith("sparse"):
            raise TypeError(f"column {name!r} of X is sparse; pass X.sparse.to_dense()")
        if words == "category":
            kind = "categories"
        elif words.startswith("str"):
            kind = "text"
        elif not isinstance(dtype, np.dtype) and dtype.kind not in REAL:
            kind = kind or words
        if kind is not None:
            _refuse(repr(name), kind, column)
        missing = np.count_nonzero(column.isna()) if not isinstance(dtype, np.dtype) else 0
        if missing:
            raise ValueError(
                f"column {name!r} of X has missing values (NaN) in {missing} of its rows; impute "
                "them, with SimpleImputer for example, or drop them first"
            )
        if words == "object":
            _check_objects(column.to_numpy()[:, None], [name])


def _array_of(values, name, wanted):
    """The values as an array of any kind; raise where they make none."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} has rows of several lengths; pass {wanted}") from error
    is_weight = name == "sample_weight" and isinstance(values, (numbers.Number, np.generic))
    # None is refused by scikit-learn, which has words of its own where y is missing
    if array.ndim == 0 and values is not None and not is_weight:
        raise TypeError(f"{name} is a {type(values).__name__}; pass {wanted}")
    return array


def _check_array(X):
    array = _array_of(X, "X", "a table of numbers: an array, a list of equal rows or a data frame")
    if array.ndim == 0:
        return
    if array.dtype.kind == "O":
        _check_objects(array, None)
    elif array.dtype.kind not in REAL:
        first = array.reshape(-1)[:1].tolist()
        if array.dtype.kind == "V" or not first:
            raise TypeError(f"X holds {array.dtype}; pass a table of real numbers")
        _refuse(None, KINDS[array.dtype.kind], first)


def _refuse(name, kind, values):
    """Raise, since a column, or all of X if it has no name, holds what is no number."""
    where = "X holds" if name is None else f"column {name} of X holds"
    if kind == "complex":
        raise ValueError(f"Complex data not supported: {where} them; pass real numbers")
    example = reprlib.repr(next(iter(values), None))
    remedy = REMEDIES.get(kind, "drop it, or turn it into numbers")
    raise TypeError(f"{where} {kind}, such as {example}; {remedy}")


def _check_objects(array, names):
    """Raise unless all objects are real numbers; the message names column and row of another."""
    is_real = np.frompyfunc(_is_real, 1, 1)(array).astype(bool)
    if is_real.all():
        return
    place = tuple(np.argwhere(~is_real)[0])
    value = array[place]
    column = int(place[1]) if len(place) > 1 else 0
    name = repr(column if names is None else names[column])
    if isinstance(value, (str, bytes)):
        _refuse(name, "text", [value])
    if _is_missing(value):
        raise ValueError(
            f"column {name} of X has a missing value, {value!r}, in row {place[0]}; impute "
            "missing values, as NaN with SimpleImputer for example, or drop them first"
        )
    kind = type(value).__name__
    # scikit-learn's checks of estimators look for words of this kind
    why = f"the argument must be no {kind} and no string, but a number"
    if isinstance(value, numbers.Real):
        why = "it is beyond floating point"
    raise TypeError(f"column {name} of X has {reprlib.repr(value)} in row {place[0]}: {why}")


def _is_missing(value):
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _is_real(value):
    if not isinstance(value, (numbers.Real, decimal.Decimal, np.bool_)):
        return False
    try:
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def are_surely_within(X, least, most):
    """Whether the largest values of all columns are in this range, as a look at the table shows.

    The look is at its extremes and at its first rows, and not at every column.
    """
    return bool(
        abs(X[:LOOKED_AT]).max(axis=0).min() >= least and X.max() <= most and X.min() >= -most
    )


def check_finite(X, names=None):
    """Raise if there is NaN or infinity in a table of numbers; the message names the columns."""
    # A sum is finite only if all terms are; the other way round it may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()) or np.isfinite(X).all():
            return
    counts = np.count_nonzero(~np.isfinite(X), axis=0)
    columns = np.flatnonzero(counts)
    shown = ", ".join(
        f"{column if names is None else repr(names[column])} ({counts[column]} rows)"
        for column in columns[:NAMED]
    )
    more = ", ..." if len(columns) > NAMED else ""
    raise ValueError(
        f"X has NaN or infinity in {len(columns)} of its columns: {shown}{more}; impute them, with "
        "SimpleImputer for example, or drop them first"
    )


def labels_of_one_kind(y, name="y"):
    """The labels, as they are or, of integers or booleans in an array of objects, as one of these.

    Raises where they are masked, missing, complex or of kinds that have no order.
    """
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; drop the rows whose label is masked")
    if hasattr(y, "isna") and not hasattr(y, "levels"):  # a MultiIndex has none that can be called
        missing = int(np.asarray(y.isna()).sum())
        if missing:
            raise ValueError(f"{name} has {missing} missing labels (NaN); drop those rows first")
    array = _array_of(y, name, "a label a row, in an array or a list")
    if array.dtype.kind == "T":
        raise TypeError(f"{name} holds {array.dtype}; pass {name}.astype(str)")
    if array.dtype.kind in "mM" and np.isnat(array).any():
        raise ValueError(f"{name} has missing labels (NaT); drop those rows first")
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds them; pass other labels")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{name} has missing labels (NaN); drop those rows first")
    if array.dtype.kind != "O" or array.ndim == 0:
        return y
    labels = array.ravel().tolist()
    kinds = set(map(type, labels))
    is_text = [issubclass(kind, str) for kind in kinds]
    if all(is_text):
        return y
    if any(map(_is_missing, labels)):
        raise ValueError(f"{name} has missing labels (None, NaN or NA); drop those rows first")
    named = ", ".join(sorted(kind.__name__ for kind in kinds))
    if any(is_text):
        one = f"{name}.astype(str)"
        raise TypeError(f"{name} mixes labels of types {named}; make them one, as in {one}")
    plain = np.array(labels) if len(kinds) == 1 and kinds <= {int, bool} else array
    if plain.dtype.kind in "bui":
        return plain.reshape(array.shape)
    raise ValueError(
        f"Unknown label type: {name} holds objects of type {named}; make them text, numbers or "
        f"booleans, as in np.array({name}, dtype=str)"
    )


def check_weights(sample_weight, n_rows):
    """The weights of so many rows as an array; raise unless they are finite and not negative."""
    if isinstance(sample_weight, np.ma.MaskedArray):
        raise TypeError("sample_weight is a masked array; fill what is masked, as in filled(0)")
    array = _array_of(sample_weight, "sample_weight", "real numbers, in an array or a list")
    if array.dtype.kind == "O":
        for value in array.flat:
            if not _is_real(value):
                kind = type(value).__name__
                given = reprlib.repr(value)
                raise TypeError(f"sample_weight holds {kind}, {given}; pass real numbers")
    elif array.dtype.kind not in REAL:
        kind = KINDS.get(array.dtype.kind, str(array.dtype))
        raise TypeError(f"sample_weight holds {kind}; pass real numbers")
    with np.errstate(over="ignore"):  # a number too large for a float is infinite, and refused
        weights = array.astype(np.float64, copy=False)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"{n_rows} rows, but sample_weight has shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "sample_weight has NaN, negative or infinite values; pass finite ones >= 0"
        )
    positive = weights[weights > 0]
    if len(positive) and not LIGHTEST <= positive.min() <= positive.max() <= HEAVIEST:
        raise ValueError(
            f"sample_weight has values from {positive.min():.2g} to {positive.max():.2g}; pass "
            f"weights from {LIGHTEST:g} to {HEAVIEST:g}, or 0 for rows that do not count"
        )
    return weights
