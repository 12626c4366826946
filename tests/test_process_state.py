"""A fit leaves the process as it was, whatever runs beside it, and gives the same bits."""

import ast
import contextlib
import ctypes
import inspect
import locale
import os
import random
import select
import signal
import sys
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from instances import draw
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from test_contract import CONTRACTS
from threadpoolctl import threadpool_info
from tqdm import tqdm

import fsnotes
from fsnotes import (
    L1MPM,
    MPM,
    ClassMoments,
    SelectionWarning,
    exact_support,
    fisher_score,
    frontier,
    mrmr,
    null_delta,
    rank_features,
    relieff,
)
from fsnotes.core.threads import one_thread
from fsnotes.errors import collecting

PACKAGE = Path(fsnotes.__file__).parent
THREADS = 8
USUAL = {name: contract.usual for name, contract in CONTRACTS.items()}
pytestmark = pytest.mark.usefixtures("two_threads")
each = pytest.mark.parametrize("name", USUAL)

# ---------------------------------------------------------------- the state of the process


@pytest.fixture
def filters_of_scikit_learn(monkeypatch):
    """Let scikit-learn's own searches in threads leave Python's filters alone.

    Its checks and workers switch them for a moment, which before Python 3.14 mixes those of several
    threads up. In our fits such checks are made one at a time.
    """
    kept = SimpleNamespace(**vars(warnings))
    kept.catch_warnings = contextlib.nullcontext
    kept.simplefilter = kept.filterwarnings = kept.resetwarnings = lambda *_, **__: None
    for module in ("utils.validation", "utils.multiclass", "utils.parallel"):
        monkeypatch.setattr(f"sklearn.{module}.warnings", kept)


def state():
    """What belongs to the whole process, and a fit might change."""
    return {
        "filters": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "threads": sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info()),
        "floating point": (np.geterr(), np.geterrcall()),
        "environment": dict(os.environ),
        "random numbers": (random.getstate(), repr(np.random.get_state())),  # noqa: NPY002
        "locale": locale.setlocale(locale.LC_ALL),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "streams": (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook),
        "folder": os.getcwd(),
        "monitor of progress bars": tqdm.monitor,
    }


@contextlib.contextmanager
def same_state(capfd):
    """Nothing changes and nothing is printed, by C either; yields a list of what is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = state()
        yield caught
        after = state()
    for name, value in before.items():
        assert after[name] == value, name
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- what is run


def data(warns):
    """Rows and labels of which most estimators warn, by constant features, or do not."""
    X, y = draw(2, 30, 6)
    return (np.insert(X, [1, 3], 7.0, axis=1) if warns else X), y


def bits(fitted):
    """All numbers that a fit has found, but for the time that it took."""
    names = ("coef_", "dual_coef_", "intercept_", "objective_", "support_", "scale_")
    return [np.asarray(getattr(fitted, name)).tobytes() for name in names if hasattr(fitted, name)]


def fit(name, warns):
    """What a fit finds, and what the fitted machine does; the data are an array or a frame."""
    X, y = data(warns)
    if not warns:
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    machine = clone(USUAL[name]).fit(X, y)
    found = bits(machine)
    for method in ("predict", "decision_function", "transform"):
        if hasattr(machine, method):
            found.append(np.asarray(getattr(machine, method)(X)).tobytes())
    return [*found, machine.score(X, y)]


def moments_of(X, y):
    return ClassMoments.from_data(X, y)


FUNCTIONS = {
    "exact_support": lambda X, y: exact_support(moments_of(X, y)).support,
    "fisher_score": fisher_score,
    "fit_moments": lambda X, y: MPM().fit_moments(moments_of(X, y)).coef_,
    "frontier": lambda X, y: frontier(moments_of(X, y)).beta_max(0.1),
    "mrmr": lambda X, y: mrmr(X, y).order,
    "null_delta": lambda X, y: null_delta(X, y, 2, random_state=0),
    "path": lambda X, y: L1MPM().path(X, y, [0.3, 0.9]).coefs,
    "rank_features": lambda X, y: rank_features(X, y).order,
    "relieff": relieff,
}


def call(name, warns):
    return np.asarray(FUNCTIONS[name](*data(warns))).tobytes()


def told(caught):
    return Counter((warning.category, str(warning.message)) for warning in caught)


def in_threads(run, *arguments):
    """Run at once in several threads, half of them on data that are warned of."""
    barrier = threading.Barrier(THREADS)

    def wait_and_run(number):
        barrier.wait()
        return run(*arguments, bool(number % 2))

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(wait_and_run, range(THREADS)))


def assert_threads_change_nothing(capfd, run, *arguments):
    with same_state(capfd) as alone:
        expected = [run(*arguments, warns) for warns in (False, True)]
    with same_state(capfd) as caught:
        assert in_threads(run, *arguments) == expected * (THREADS // 2)
    # none is silenced by another
    assert told(caught) == {key: n * THREADS // 2 for key, n in told(alone).items()}


@each
def test_fits_in_threads_leave_everything_as_it_was(capfd, name):
    assert_threads_change_nothing(capfd, fit, name)


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("call", ["fit", "predict", "transform", "score", "from_data"])
def test_filters_are_as_they_were_after_many_calls_at_once(kind, call):
    """pandas and scikit-learn switch them for a moment, in some calls."""
    X, y = data(False)
    if kind == "frame":
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    machine = L1MPM().fit(X, y)
    run = {
        "fit": lambda: MPM().fit(X, y),
        "predict": lambda: machine.predict(X),
        "transform": lambda: machine.transform(X),
        "score": lambda: machine.score(X, y),
        "from_data": lambda: ClassMoments.from_data(X, pd.Series(y)),
    }
    before = list(warnings.filters)
    left = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in range(10):
                list(pool.map(lambda _: [run[call]() for _ in range(5)], range(THREADS)))
                left.append(list(warnings.filters))
                warnings.filters[:] = before
    finally:
        sys.setswitchinterval(interval)
    assert left == [before] * 10


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_threads_leave_everything_as_it_was(capfd, name):
    assert_threads_change_nothing(capfd, call, name)


def test_fits_of_all_kinds_at_once_are_those_of_one_thread(capfd):
    tasks = [(name, warns) for name in USUAL for warns in (True, False)]
    with same_state(capfd) as alone:
        expected = [fit(*task) for task in tasks]
    with same_state(capfd) as caught, ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(fit, *zip(*tasks, strict=True))) == expected
    assert told(caught) == told(alone)


def search(name, n_jobs):
    found = GridSearchCV(
        USUAL[name], {"scale": [True, False]}, cv=2, n_jobs=n_jobs, error_score="raise"
    )
    found.fit(*data(True))
    return [found.cv_results_["mean_test_score"].tolist(), bits(found.best_estimator_)]


@pytest.mark.usefixtures("filters_of_scikit_learn")
@each
def test_a_grid_search_in_threads_leaves_everything_as_it_was(capfd, name):
    with same_state(capfd) as alone:
        expected = search(name, 1)
    with same_state(capfd) as caught, parallel_config(backend="threading"):
        assert search(name, THREADS) == expected
    assert told(caught) == told(alone)


def test_without_a_seed_permutations_leave_the_global_generator_alone(capfd):
    X, y = data(False)
    with same_state(capfd):
        first, second = null_delta(X, y, 3), null_delta(X, y, 3)
    assert first.tolist() != second.tolist()


# ---------------------------------------------------------------- other processes


def fit_all():
    """The bits of all fits, and how many warnings there were."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [fit(name, warns) for name in USUAL for warns in (True, False)]
    return found, len(caught)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_finds_the_same_bits():
    expected = fit_all()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        try:
            os.write(writer, b"same" if fit_all() == expected else b"differs")
        finally:
            os._exit(0)
    try:
        ready, _, _ = select.select([reader], [], [], 60)
        assert ready, "the child hangs"
        assert os.read(reader, 10) == b"same"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)


def test_workers_find_the_same_bits_and_leave_everything_as_it_was(capfd):
    expected = fit_all()
    with same_state(capfd):
        assert Parallel(n_jobs=2)(delayed(fit_all)() for _ in range(2)) == [expected] * 2
        assert fit_all() == expected


# ---------------------------------------------------------------- one thread for linear algebra


def thread_counts():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_and_gets_its_threads_back():
    barrier = threading.Barrier(THREADS)
    counts = []

    def overlap(number):
        barrier.wait()
        for _ in range(10):
            with contextlib.suppress(ZeroDivisionError), one_thread(), one_thread():
                counts.append(thread_counts())
                1 / (number % 2)
            with one_thread(wait=False):
                pass

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(overlap, range(THREADS)))
    assert counts == [{1}] * 10 * THREADS
    assert thread_counts() == {2}


def test_threads_inside_one_that_has_the_limit_do_not_wait_for_it():
    with one_thread(), ThreadPoolExecutor(THREADS) as pool:
        found = [pool.submit(fit, "RVM", False) for _ in range(THREADS)]
        assert [f.result(timeout=60) for f in found] == [fit("RVM", False)] * THREADS
    assert thread_counts() == {2}


# ---------------------------------------------------------------- where a warning points


def line_of(caught):
    """The file and line that all warnings name."""
    (place,) = {(warning.filename, warning.lineno) for warning in caught}
    return place


def here(offset=0):
    frame = inspect.currentframe().f_back
    return frame.f_code.co_filename, frame.f_lineno + offset


@contextlib.contextmanager
def all_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@each
def test_a_warning_names_the_line_that_calls(name):
    X, y = data(True)
    model = clone(USUAL[name])
    pipeline = make_pipeline(FunctionTransformer(), clone(model))
    grid = GridSearchCV(model, {"scale": [True]}, cv=2, error_score="raise")
    calls = (
        lambda: model.fit(X, y),
        lambda: pipeline.fit(X, y),
        lambda: grid.fit(X, y),
        lambda: cross_val_score(pipeline, X, y, cv=2, error_score="raise"),
    )
    for run in calls:
        with all_warnings() as caught:
            run()
        assert line_of(caught) == (__file__, run.__code__.co_firstlineno)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) & {"fit_moments", "null_delta", "path"}))
def test_a_warning_of_a_function_names_the_line_that_calls(name):
    with all_warnings() as caught:
        call(name, True)
    assert line_of(caught) == (__file__, FUNCTIONS[name].__code__.co_firstlineno)


class Inherited(MPM):
    pass


class Overridden(MPM):
    def fit(self, X, y):
        return super().fit(X, y)


def test_a_class_of_the_user_is_outside():
    X, y = data(True)
    with all_warnings() as caught:
        Inherited().fit(X, y)
    assert line_of(caught) == here(-1)
    with all_warnings() as caught:
        Overridden().fit(X, y)
    _, first = inspect.getsourcelines(Overridden.fit)
    assert line_of(caught) == (__file__, first + 1)


@pytest.mark.parametrize("names", [{"__name__": "cell"}, {}])
def test_code_without_a_file_is_outside(names):
    X, y = data(True)
    with all_warnings() as caught:
        exec(compile("\nMPM().fit(X, y)", "<cell>", "exec"), {**names, "MPM": MPM, "X": X, "y": y})
    assert line_of(caught) == ("<cell>", 2)


def test_a_package_compiled_elsewhere_is_inside(monkeypatch):
    X, y = data(True)
    code = MPM.fit.__code__.replace(co_filename="/elsewhere/estimator.py")
    monkeypatch.setattr(MPM.fit, "__code__", code)
    with all_warnings() as caught:
        MPM().fit(X, y)
    assert line_of(caught) == here(-1)


def test_each_line_of_the_caller_is_warned():
    X, y = data(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        MPM().fit(X, y)
        MPM().fit(X, y)
        make_pipeline(MPM()).fit(X, y)
        make_pipeline(MPM()).fit(X, y)
    _, line = here()
    assert [warning.lineno - line for warning in caught] == [-4, -3, -2, -1]


# ---------------------------------------------------------------- collecting


def test_what_is_collected_is_not_issued_and_belongs_to_its_thread():
    X, y = data(True)
    with all_warnings() as caught, ThreadPoolExecutor(1) as pool:
        assert pool.submit(str).result() == ""  # the thread begins outside
        with collecting() as outer:
            with collecting() as inner:
                MPM().fit(X, y)
            assert [category for category, _ in inner] == [SelectionWarning] and not outer
            with pytest.raises(ValueError, match="NaN"), collecting():
                MPM().fit(np.full_like(X, np.nan), y)
            MPM().fit(X, y)
            pool.submit(MPM().fit, X, y).result()
            warnings.warn("of somebody else", stacklevel=1)
        MPM().fit(X, y)
    assert outer == inner and len(outer) == 1
    assert [w.category for w in caught] == [SelectionWarning, UserWarning, SelectionWarning]


# ---------------------------------------------------------------- what the package may not name

# what changes the process, and the only module that may name it
CHANGES = {
    "catch_warnings": None,
    "filterwarnings": None,
    "simplefilter": None,
    "resetwarnings": None,
    "showwarning": None,
    "threadpool_limits": "core/threads.py",
    "ThreadpoolController": None,
    "seterr": None,
    "seterrcall": None,
    "setlocale": None,
    "putenv": None,
    "unsetenv": None,
    "chdir": None,
    "dup2": None,
    "redirect_stdout": None,
    "redirect_stderr": None,
}
# what changes the process as an attribute of these modules
OF_MODULES = {"random.seed", "random.set_state", "signal.signal", "warnings.filters"}
ONLY_ERRORS_WARNS = "warnings.warn"


def faults(source, module):
    """What a module names that changes the process, or warns beside `errors.warn`."""
    for node in ast.walk(ast.parse(source)):
        words = []
        if isinstance(node, ast.Name | ast.Attribute):
            words = [ast.unparse(node)]
        elif isinstance(node, ast.ImportFrom):
            words = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            words = [f"{ast.unparse(node.value)} changed"]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("pop", "update", "setdefault", "clear"):
                words = [f"{ast.unparse(node.func.value)} changed"]
        for word in words:
            last = word.rpartition(".")[2]
            if last in CHANGES and CHANGES[last] != module:
                yield word
            elif any(word.endswith(name) for name in OF_MODULES):
                yield word
            elif word.endswith("environ changed"):
                yield word
            elif word == ONLY_ERRORS_WARNS and module != "errors.py":
                yield word


def test_nothing_in_the_package_changes_the_process():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).as_posix()
        found[module] = list(faults(path.read_text(encoding="utf-8"), module))
    assert len(found) > 60
    assert {module: words for module, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "source",
    [
        "with warnings.catch_warnings(): pass",
        "from warnings import simplefilter",
        "warnings.showwarning = print",
        "warnings.filters.clear()",
        "warnings.warn('too few rows', stacklevel=2)",
        "from threadpoolctl import threadpool_limits",
        "np.random.seed(0)",
        "np.seterr(all='ignore')",
        "os.environ['OMP_NUM_THREADS'] = '1'",
        "del os.environ['HOME']",
        "os.environ.update(OMP_NUM_THREADS='1')",
        "signal.signal(2, print)",
        "os.dup2(1, 2)",
    ],
)
def test_a_change_of_the_process_is_noticed(source):
    assert list(faults(source, "core/mm.py"))
