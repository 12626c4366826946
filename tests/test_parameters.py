"""Odd values of every parameter: each ends in an answer, or in words that name the parameter."""

import datetime
import faulthandler
import fractions
import re
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from instances import draw
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from test_contract import CONTRACTS, assert_same_bits, fitted

import fsnotes
from fsnotes import FSMEMPM, L1MPM, MPM, ClassMoments, Log, frontier, metrics
from fsnotes.core import surrogates
from fsnotes.core.mm import majorize_minimize
from fsnotes.errors import PromiseWarning, SelectionWarning, SubproblemError, TrivialBoundWarning

X, Y = draw(3, 14, 3)
SECONDS = 120  # of a test; then it ends the process, with what it was at
LONGEST = 500  # letters of a message
REMEDY = re.compile("pass |return |leave |divide |score |fit|Known", re.IGNORECASE)


def failing(*names):
    """An object of which these methods raise an error of no particular kind."""

    def fail(*given, **named):
        raise RuntimeError("it fails")

    return type("Failing", (), dict.fromkeys(names, fail))()


class Deceptive(float):
    """A number that converts to none and cannot be shown."""

    def __float__(self):
        raise RuntimeError("it fails")

    __repr__ = __float__


HALF = fractions.Fraction(1, 2)
KINDS = (np.int8, np.uint8, np.uint64, np.float16, np.float32, np.longdouble)
ODD = [
    *(kind(3) for kind in KINDS),
    *(kind(0.5) for kind in KINDS[3:]),
    *(np.int8(-3), np.uint8(101), np.bool_(True), np.complex128(1), np.str_("a"), np.bytes_(b"a")),
    *(np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.void(b"ab"), np.array(None)),
    *(np.array(0.5), np.array(3), np.array([0.5]), np.array([0.5, 0.25]), np.eye(3), np.array([])),
    *(np.zeros(2000), np.zeros(2, dtype=[("a", float)]), np.ma.masked, np.array([np.nan, 1])),
    *(fractions.Fraction(3), HALF, fractions.Fraction(1, 10**400), Decimal("0.5")),
    *(0, 1, 2, -1, 1.5, 2**31, 2**53 + 1, 2**64, -(2**64), 10**400, -(10**400), 10**5000),
    *(-0.0, 5e-324, 1e-310, 1e-300, 1e-100, 1e-50, 1e-12, 1e-9, 0.99, 1 - 2**-53),
    *(1e7, 1e9, 1e12, 1e50, 1e100, 1e160, 1e300, sys.float_info.max, np.nan, np.inf, -np.inf),
    *([1], [0.5, 0.25], [[1], [1, 2]], (), (1, 2), (HALF, 2), (10**400, 1), (1, 2, 3), {"a": 1}),
    *({0: 1, 1: 2}, {1, 2}, range(2), "1", "no such thing", "x" * 10**5, "", b"rbf", bytearray(2)),
    *(None, True, False, 1 + 0j, datetime.datetime(2020, 1, 1), datetime.timedelta(1)),
    *(pd.NA, pd.NaT, pd.Series([1.0, 2.0]), pd.DataFrame([[1.0]]), pd.Timestamp("2020")),
    *(failing("__eq__", "__ne__", "__bool__"), failing("__repr__", "__str__"), Deceptive(0.5)),
    *(failing("__float__", "__int__", "__index__", "__array__"), failing("__len__", "__iter__")),
    *(lambda: 1, lambda a, b: 1.0, lambda a, b: None, lambda a, b: 1 / 0, lambda a, b, c: 1.0),
    *(lambda *a: HALF, lambda *a: 10**400, lambda a, b: 1e200 * (a @ b), int, fractions.Fraction),
    *(np, ..., NotImplemented, object(), MPM(), Log(), Log, np.random.default_rng(0)),
]
# what is no value of any parameter of an estimator
NEVER = (dict, set, complex, bytes, bytearray, Decimal, type(np), datetime.date, datetime.timedelta)
NEVER += (np.datetime64, np.timedelta64, pd.DataFrame)


@pytest.fixture(autouse=True)
def nothing_hangs():
    faulthandler.dump_traceback_later(SECONDS, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


def fault(name, answer):
    """What is wrong with the answer to an odd value of this parameter, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (PromiseWarning, SelectionWarning, TrivialBoundWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", kind)
            return None if answer() else "not finite"
    except (TypeError, ValueError, SubproblemError) as error:
        words = str(error)
        is_named = re.search(rf"\b{name}\b", words) or isinstance(error, NotFittedError)
        if not is_named or not REMEDY.search(words) or len(words) > LONGEST:
            return f"{type(error).__name__}: {words[:LONGEST]}"
    except Exception as error:
        return repr(error)
    return None


def faults(name, answer):
    """Faults of all odd values, of which `answer` makes something, by their places in the list."""
    found = {place: fault(name, lambda v=value: answer(v)) for place, value in enumerate(ODD)}
    return {place: words for place, words in found.items() if words is not None}


def is_finite(machine):
    machine.predict(X)
    if hasattr(machine, "summary"):
        machine.summary()
    names = ("coef_", "dual_coef_", "intercept_", "objective_")
    found = [getattr(machine, name) for name in names if hasattr(machine, name)]
    return all(np.isfinite(part).all() for part in [*found, machine.decision_function(X)])


def settings():
    for name, contract in CONTRACTS.items():
        for place, model in enumerate((contract.usual, contract.hard)):
            for parameter in model.get_params(deep=False):
                marks = pytest.mark.further if place else ()
                yield pytest.param(model, parameter, id=f"{name}-{place}-{parameter}", marks=marks)


@pytest.mark.parametrize(("model", "parameter"), list(settings()))
def test_odd_parameters_end_in_a_fit_or_in_words(model, parameter):
    def answer(value):
        machine = clone(model).set_params(**{parameter: value}).fit(X, Y)
        return is_finite(machine) and not isinstance(value, NEVER)

    assert faults(parameter, answer) == {}


MOMENTS = ClassMoments.from_data(X, Y)
FRONTIER = frontier(MOMENTS)
TRACE = FSMEMPM(grid=3).fit(X, Y).trace_
TWIN = {"c_fit": 0.1, "c_hinge": 0.1, "balance": 0.5, "gamma": None, "scale": True, "kernel": None}
ROWS = {"n_samples": 20, "n_features": 30, "seed": 0}
SPLITS = {"test_fraction": 0.1, "level": 0.9}
TABLE = {"X": X, "y": Y}
BOUND = {"retain": 0.9, "delta": None, "ridge": 0.1, "scale": True, "time_limit": 1}


class Halving:
    def value(self, x):
        return float(x @ x)

    def tangent(self, x):
        return None

    def minimize(self, tangent, x):
        return x / 2


def taken_at(kind):
    """What a surrogate of this kind makes of some sizes, for its parameters."""

    def answer(**parameters):
        surrogate = kind(**parameters)
        sizes = np.array([0, 1e-9, 0.5, 1.0, 10])
        return surrogate.value(sizes), surrogate.slope(sizes)[1:]

    return answer


# functions, arguments that they need and that stay, and those of which odd values are tried
CALLS = {
    "frontier": (frontier, {}, {"moments": MOMENTS, "ridge": 0.1, "scale": True}),
    "exact_support": (fsnotes.exact_support, {}, {"moments": MOMENTS, **BOUND}),
    "null_delta": (
        fsnotes.null_delta,
        TABLE,
        {"n_permutations": 2, "ridge": 0.1, "scale": True, "random_state": 0},
    ),
    "rank_features": (fsnotes.rank_features, TABLE, {"by": "drop", "support": None, **TWIN}),
    "mrmr": (fsnotes.mrmr, TABLE, {"n_features": 2, "criterion": "difference", "spread": 0.5}),
    "relieff": (fsnotes.relieff, TABLE, {"n_neighbors": 3}),
    "path": (L1MPM().path, TABLE, {"retains": [0.5]}),
    "path_moments": (L1MPM().path_moments, {}, {"moments": MOMENTS, "retains": [0.5]}),
    "fit_moments": (MPM().fit_moments, {}, {"moments": MOMENTS}),
    "make_twonorm": (fsnotes.make_twonorm, {}, ROWS),
    "make_cross_planes": (fsnotes.make_cross_planes, {}, {**ROWS, "noise": 0.1, "center": 0.1}),
    "make_moments": (fsnotes.make_moments, {}, {**ROWS, "n_informative": 3, "law": "meant"}),
    "make_wide": (
        fsnotes.make_wide,
        {},
        {**ROWS, "n_informative": 3, "block_size": 3, "correlation": 0.1},
    ),
    "make_instance": (fsnotes.make_instance, {}, {"seed": 0}),
    "load": (
        fsnotes.load,
        {},
        {"name": "titanic", **dict.fromkeys(["return_X_y", "as_frame", "raw", "download"], False)},
    ),
    "download": (fsnotes.download, {}, {"name": "sonar"}),
    "covariance": (MOMENTS.covariance, {}, {"index": 0}),
    "factor": (MOMENTS.factor, {}, {"index": 0}),
    "gap": (MOMENTS.gap, {}, {"plus": 1, "minus": 0}),
    "accuracies": (FRONTIER.accuracies, {}, {"mixture": 0.5}),
    "machine": (FRONTIER.machine, {}, {"mixture": 0.5}),
    "points": (FRONTIER.points, {}, {"n_points": 5}),
    "kappa2_max": (FRONTIER.kappa2_max, {}, {"kappa1": 0.1}),
    "beta_max": (FRONTIER.beta_max, {}, {"alpha": 0.1}),
    "is_feasible": (FRONTIER.is_feasible, {}, {"alpha": 0.1, "beta": 0.1}),
    "values": (TRACE.values, {}, {"theta": 0.5, "criterion": "ratio"}),
    "best": (TRACE.best, {}, {"theta": 0.5, "criterion": "ratio"}),
    "tsa": (metrics.tsa, {}, {"y_true": [0, 1], "y_pred": [0, 1]}),
    "mcc": (metrics.mcc, {}, {"y_true": [0, 1], "y_pred": [0, 1]}),
    "mcc_ceiling": (metrics.mcc_ceiling, {}, {"accuracy": 0.5}),
    "psf": (metrics.psf, {}, {"support": [True]}),
    "stability": (metrics.stability, {}, {"supports": [[True, False]] * 2, "level": 0.9}),
    "score_interval": (metrics.score_interval, {}, {"scores": [0.1, 0.2], **SPLITS}),
    "compare_paired": (
        metrics.compare_paired,
        {},
        {"scores_a": [0.1, 0.2], "scores_b": [0.2, 0.4], **SPLITS},
    ),
    "accuracy_interval": (
        metrics.accuracy_interval,
        {},
        {"n_right": 1, "n_total": 2, "level": 0.9},
    ),
    "majorize_minimize": (
        majorize_minimize,
        {"problem": Halving(), "start": np.ones(2)},
        {"tol": 1e-6, "max_iter": 10},
    ),
    **{
        kind.__name__: (taken_at(kind), {}, vars(kind()))
        for kind in (getattr(surrogates, name) for name in surrogates.__all__)
        if isinstance(kind, type) and vars(kind()).keys() - {"concave_in"}
    },
}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(name, parameter) for name, (_, _, given) in CALLS.items() for parameter in given],
)
def test_odd_arguments_end_in_an_answer_or_in_words(name, parameter):
    call, needed, given = CALLS[name]

    def answer(value):
        call(**needed, **given | {parameter: value})
        return True

    assert faults(parameter, answer) == {}


@pytest.mark.parametrize("name", CONTRACTS)
def test_all_kinds_of_numbers_give_the_same_fit(name):
    model = clone(CONTRACTS[name].usual)
    for parameter in {"C", "lam", "ridge", "sigma", "theta"} & model.get_params().keys():
        plain = fitted(clone(model).set_params(**{parameter: 0.5}), X, Y)
        for half in (HALF, *(kind(0.5) for kind in KINDS[3:])):
            machine = fitted(model.set_params(**{parameter: half}), X, Y)
            assert_same_bits(plain, machine)
            assert getattr(model, parameter) is half
            if hasattr(machine, "summary"):
                assert machine.summary() == plain.summary()
