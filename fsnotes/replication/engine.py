"""Cells of work: computed fold by fold, anywhere, stored line by line, and checked again."""

import contextlib
import functools
import itertools
import json
import numbers
import os
import threading
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import numpy as np

import fsnotes
from fsnotes.metrics import Estimate, score_interval, stability
from fsnotes.replication.declare import (
    PER_FOLD,
    Dataset,
    ExperimentError,
    Method,
    Protocol,
    digest_of,
    find,
    fingerprint,
    known,
)

PACKAGED_RESULTS = Path(__file__).parent / "results"
QUICK_REPEATS = 1
MANY = 8  # classes, from which on most entries of a confusion table are zero
PATIENCE = 20  # seconds for a scheduler to answer


class MissingResult(ExperimentError):
    """A cell that was not computed, or not for the declaration as it is now; `state` says which."""

    def __init__(self, message, state):
        super().__init__(message)
        self.state = state


# ---------------------------------------------------------------- one fold


@dataclass(frozen=True)
class Work:
    """What a worker has to know of a cell; it reads the data by itself."""

    name: str
    dataset: Dataset
    digest: str
    method: Method
    protocol: Protocol
    key: str
    setting: dict | None = None  # where it is chosen already


@dataclass(frozen=True)
class Fold:
    """What one fold gives."""

    confusion: list
    support: str | None
    n_features: int
    setting: dict
    seconds: float
    warned: Counter
    versions: dict
    facts: dict
    failure: str = ""

    @property
    def accuracy(self):
        return sum(row[i] for i, row in enumerate(self.confusion)) / sum(map(sum, self.confusion))

    @property
    def fingerprint(self):
        return {"accuracy": self.accuracy, "support": self.support}


def compute(work, number):
    """One fold of a cell: choose a setting by inner folds, fit, predict; or say what failed."""
    begun = time.perf_counter()
    with supervised() as warned:
        try:
            confusion, support, n_features, setting, facts = _fit_and_predict(work, number)
            failure = ""
        except Exception as error:
            confusion, support, n_features, setting, facts = [], None, 0, {}, {}
            failure = f"{work.name}, fold {number}: {type(error).__name__}: {error}"
    seconds = time.perf_counter() - begun
    return Fold(
        confusion, support, n_features, setting, seconds, warned, versions(), facts, failure
    )


def _fit_and_predict(work, number):
    X, y = _rows(work.dataset.name, work.digest, lambda: work.dataset)
    rows = work.dataset.rows
    train, test = _splits(work.dataset.name, work.digest, work.protocol, rows, lambda: y)[number]
    setting = _chosen(work, number, X, y) if work.setting is None else work.setting
    if work.method.leaks:
        from sklearn.preprocessing import StandardScaler

        X = StandardScaler().fit_transform(X)
    machine = work.method.build(setting).fit(X[train], y[train])
    labels, predicted = np.unique(y), machine.predict(X[test])
    confusion = [[int(((y[test] == a) & (predicted == b)).sum()) for b in labels] for a in labels]
    selects = hasattr(machine, "get_support")
    support = packed(machine.get_support()) if selects else None
    return confusion, support, X.shape[1], setting, _facts(machine, X[train])


def _facts(machine, X):
    """Numbers that machines of some kinds tell of themselves, and of their training rows."""
    from sklearn.pipeline import Pipeline

    machine = machine[-1] if isinstance(machine, Pipeline) else machine
    found = {
        name: getattr(machine, f"{name}_")
        for name in ("largest_delta", "n_iter", "n_live")
        if hasattr(machine, f"{name}_")
    }
    if hasattr(machine, "dual_coef_") and hasattr(machine, "support_"):
        if machine.support_.dtype == bool:
            # the support is of features, and points are kept apart from it
            found["n_kept"] = len(machine.support_vectors_)
        else:
            found["n_kept"] = len(machine.support_)
            _, places, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
            points = np.unique(places.ravel()[machine.support_])
            found |= {"n_distinct": len(points), "n_rows": counts[points].sum()}
    return {
        name: int(value) if isinstance(value, numbers.Integral) else float(value)
        for name, value in found.items()
        if isinstance(value, numbers.Real)
    }


def _chosen(work, number, X, y):
    candidates = work.method.candidates()
    if len(candidates) == 1:
        return candidates[0]
    outer = _splits(work.dataset.name, work.digest, work.protocol, work.dataset.rows, lambda: y)
    rows, splits = work.protocol.tuning(y, outer, number)
    X, y, build = X[rows], y[rows], functools.partial(work.method.build, tuning=True)
    # whole numbers, so that a tie is a tie, and goes to the first
    right = [
        sum(int((build(c).fit(X[a], y[a]).predict(X[b]) == y[b]).sum()) for a, b in splits)
        for c in candidates
    ]
    return candidates[int(np.argmax(right))]


class Kept:
    """The last few results of a slow function, by the arguments that tell them apart."""

    def __init__(self, function, most=3):
        self.function, self.most = function, most
        self.results, self.lock = {}, threading.Lock()

    def __call__(self, *key_and_source):
        *key, source = key_and_source
        with self.lock:
            if (found := self.results.get(tuple(key))) is None:
                found = self.results[tuple(key)] = self.function(*key, source())
                while len(self.results) > self.most:
                    del self.results[next(iter(self.results))]
            return found


def _read(name, digest, dataset):
    if digest != digest_of(dataset):
        raise ExperimentError(
            f"the data set {name!r} has other content here than where the run began; install the "
            "same versions on all machines"
        )
    return dataset.read()


_rows = Kept(_read)
_splits = Kept(lambda name, digest, protocol, rows, y: protocol.splits(y, rows))


class _Supervision:
    """One thread for linear algebra, and warnings counted by thread, while any fold runs here.

    Both are properties of the process, so the first fold to begin sets them and the last to end
    puts back what was there.
    """

    def __init__(self):
        self.lock, self.running = threading.Lock(), 0
        self.local = threading.local()

    def begin(self):
        # what is loaded later would not be limited
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_limits

        with self.lock:
            if not self.running:
                self.stack = contextlib.ExitStack()
                self.stack.enter_context(threadpool_limits(1))
                self.stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("always")
                warnings.showwarning = self.count
            self.running += 1

    def end(self):
        with self.lock:
            self.running -= 1
            if not self.running:
                self.stack.close()

    def count(self, message, category, *place, **more):
        if (counts := getattr(self.local, "counts", None)) is not None:
            counts[category.__name__] += 1


_SUPERVISION = _Supervision()


@contextlib.contextmanager
def supervised():
    """Run with one thread for linear algebra; yields a counter of the warnings by category."""
    _SUPERVISION.begin()
    _SUPERVISION.local.counts = counts = Counter()
    try:
        yield counts
    finally:
        _SUPERVISION.local.counts = None
        _SUPERVISION.end()


@functools.cache
def versions():
    """Versions that decide bits."""
    return {
        "fsnotes": fsnotes.__version__,
        "highspy": version("highspy"),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "scipy": version("scipy"),
    }


def packed(mask):
    """A mask as hexadecimal digits."""
    return np.packbits(np.asarray(mask, dtype=bool)).tobytes().hex()


def unpacked(text, n_features):
    """The mask that `packed` wrote."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8), count=n_features) == 1


# ---------------------------------------------------------------- cells and their file


@dataclass(frozen=True)
class Cell:
    """A result: everything that the folds of one method on one data set gave.

    Attributes
    ----------
    line : dict
        As stored: accuracy, confusion (rows: true class), n_selected, supports (hexadecimal),
        settings, facts, fold by fold; seconds, warnings, versions, fingerprint and key.
    test_fraction : float
    is_stale : bool
        Whether `audit` found another first fold than stored.
    """

    line: dict
    test_fraction: float
    is_stale: bool = False

    @property
    def accuracy(self):
        """Accuracy of each fold."""
        return np.array(self.line["accuracy"])

    @property
    def supports(self):
        """Selected features, one row a fold."""
        return np.array([unpacked(s, self.line["n_features"]) for s in self._packed()])

    @property
    def n_selected(self):
        """Number of features selected in each fold."""
        self._packed()
        return np.array(self.line["n_selected"])

    @property
    def mcc(self):
        """Matthews correlation of each fold; 0 where it is undefined."""
        tables = np.array(self.line["confusion"], dtype=float)
        total, right = tables.sum(axis=(1, 2)), np.trace(tables, axis1=1, axis2=2)
        true, predicted = tables.sum(axis=2), tables.sum(axis=1)
        above = right * total - (true * predicted).sum(axis=1)
        below = (total**2 - (true**2).sum(axis=1)) * (total**2 - (predicted**2).sum(axis=1))
        return np.divide(above, np.sqrt(below), out=np.zeros(len(total)), where=below > 0)

    def tells(self, measure):
        """Whether the folds have such a number."""
        if measure == "n_selected":
            return self.line["supports"] is not None
        return measure in self.line.get("facts", {})

    def scores(self, measure):
        """One value a fold, in the units that papers print."""
        if measure == "accuracy":
            return 100 * self.accuracy
        if measure == "mcc_percent":
            return 100 * self.mcc
        if measure == "psf":
            return 100 * self.n_selected / self.line["n_features"]
        if measure == "stability":
            raise ExperimentError(
                "stability has no value in a single fold; ask for another measure"
            )
        if measure in ("accuracy", "mcc", "n_selected"):
            return getattr(self, measure)
        facts = self.line.get("facts", {})
        if known("measure", measure, PER_FOLD) not in facts:
            raise ExperimentError(
                f"{self.line['dataset']}/{self.line['method']} has no {measure}; its machine "
                f"tells {', '.join(facts) or 'nothing of the kind'}"
            )
        return np.array(facts[measure], dtype=float)

    def estimate(self, measure):
        """Mean over the folds, corrected for their overlap; the stability of all supports.

        Returns
        -------
        fsnotes.metrics.Estimate
        """
        if measure == "stability":
            supports = self.supports
            # all or nothing, always: 0 / 0, but nothing is steadier
            if (supports == supports[0]).all():
                return Estimate(1.0, 0.0, 1.0, 1.0)
            return stability(supports)
        return score_interval(self.scores(measure), test_fraction=self.test_fraction)

    def _packed(self):
        if self.line["supports"] is None:
            raise ExperimentError(
                f"{self.line['dataset']}/{self.line['method']} selects no features, so there is "
                "nothing to count; ask for its accuracy"
            )
        return self.line["supports"]


def line_of(chapter, dataset, method, work, folds):
    """What is stored of a cell."""
    warned = sum((fold.warned for fold in folds), Counter())
    supports = None if folds[0].support is None else [fold.support for fold in folds]
    width = folds[0].n_features
    return {
        "chapter": chapter.name,
        "dataset": dataset,
        "method": method,
        "key": work.key,
        "protocol": asdict(work.protocol),
        "fingerprint": folds[0].fingerprint,
        "accuracy": [fold.accuracy for fold in folds],
        "confusion": [fold.confusion for fold in folds],
        "n_features": width,
        "n_selected": supports and [int(unpacked(s, width).sum()) for s in supports],
        "supports": supports,
        "settings": [fold.setting for fold in folds] if work.method.grid else None,
        "facts": {name: [fold.facts[name] for fold in folds] for name in folds[0].facts},
        "warnings": dict(sorted(warned.items())),
        "seconds": round(sum(fold.seconds for fold in folds), 3),
        "versions": folds[0].versions,
    }


def thinned(table):
    """A square table of many rows as ``[rows, gap, count, gap, count, ...]``, without its zeros.

    A gap is the way from the last count to the next, row by row.
    """
    if len(table) < MANY:
        return table
    counts = np.ravel(table)
    places = np.flatnonzero(counts)
    pairs = np.column_stack([np.diff(places, prepend=0), counts[places]])
    return [len(table), *pairs.ravel().tolist()]


def filled(table):
    """The table that `thinned` wrote."""
    if not table or isinstance(table[0], list):
        return table
    counts = np.zeros(table[0] ** 2, dtype=int)
    counts[np.cumsum(table[1::2])] = table[2::2]
    return counts.reshape(table[0], -1).tolist()


class Results:
    """The stored cells of a chapter.

    Parameters
    ----------
    chapter : Chapter
    folder : path, optional
        Where they are. By default those that travel with the package, and, where these cannot be
        added to, those in the user's cache, which come first.
    quick : bool
        Those of runs with ``--quick``.
    """

    def __init__(self, chapter, folder=None, quick=False):
        self.chapter = chapter
        self.protocol = replace(chapter.protocol, repeats=QUICK_REPEATS)
        self.protocol = self.protocol if quick else chapter.protocol
        name = f"{chapter.name}.quick.jsonl" if quick else f"{chapter.name}.jsonl"
        self.path = (Path(folder) if folder is not None else default_folder(quick)) / name
        sources = [self.path]
        if folder is None and not quick and self.path.parent != PACKAGED_RESULTS:
            sources.insert(0, PACKAGED_RESULTS / name)
        self._lines, self._stored, names = {}, set(), set(chapter.cells())
        for source in sources:
            for line in read_lines(source):
                name = line["dataset"], line["method"]
                self._stored.add(name)
                if name in names and line["key"] == self.key(*name):
                    self._lines[name] = line
        self._quick = quick

    def key(self, dataset, method):
        """Hash of the cell's declaration."""
        return self.chapter.key(dataset, method, self.protocol)

    def has(self, dataset, method):
        """Whether the cell is there, for the declaration as it is now."""
        return (dataset, method) in self._lines

    def cell(self, dataset, method):
        """The result of a cell.

        Raises
        ------
        MissingResult
        """
        known("data set", dataset, self.chapter.datasets)
        known("method", method, self.chapter.methods)
        name = dataset, method
        if name in self._lines:
            line = self._lines[name]
            is_stale = (line["key"], json.dumps(line["fingerprint"])) in _STALE
            return Cell(line, self.protocol.test_fraction, is_stale)
        if not self.chapter.datasets[dataset].is_present:
            raise MissingResult(
                f"{dataset} is not available: supply {dataset}.npz, then {self.remedy()}",
                "not available",
            )
        state = "stale" if name in self._stored else "not run"
        reason = "is of another declaration" if state == "stale" else "is missing"
        raise MissingResult(f"the result of {'/'.join(name)} {reason}; {self.remedy()}", state)

    def remedy(self):
        """The command that makes the results."""
        quick = " --quick" if self._quick else ""
        return f"run `python -m fsnotes.replication run {self.chapter.name}{quick}` first"

    def append(self, line):
        """Add a finished cell, all of it or nothing."""
        thin = {"confusion": [thinned(table) for table in line["confusion"]]}
        append_line(self.path, line | thin)
        self._lines[line["dataset"], line["method"]] = line


def default_folder(quick=False):
    """The package's own folder in a clone where it can be written, else the user's cache."""
    is_clone = (PACKAGED_RESULTS.parents[2] / "pyproject.toml").is_file()
    if is_clone and not quick and os.access(PACKAGED_RESULTS.parent, os.W_OK):
        return PACKAGED_RESULTS
    from fsnotes.data.datasets import cache_folder

    return cache_folder() / "experiments"


def read_lines(path):
    """The complete lines of a results file; what a killed run left behind is no line."""
    if not path.is_file():
        return []
    found = []
    for text in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            line = json.loads(text)
            if isinstance(line, dict) and isinstance(line.get("confusion"), list):
                line["confusion"] = [filled(table) for table in line["confusion"]]
            if _is_whole(line):
                found.append(line)
    return found


def _is_whole(line):
    """Whether a line has what a cell needs, for every fold, as `line_of` writes it."""
    if not isinstance(line, dict) or not FIELDS <= line.keys():
        return False
    if not all(isinstance(line[name], str) for name in ("dataset", "method", "key")):
        return False
    folds = [line[name] for name in ("accuracy", "confusion", "n_selected", "supports")]
    if not all(isinstance(fold, list) or fold is None for fold in folds):
        return False
    counts = {len(fold) for fold in folds if fold is not None}
    right = [np.trace(table) / np.sum(table) for table in line["confusion"]]
    return len(counts) == 1 and np.allclose(right, line["accuracy"], atol=1e-9)


def append_line(path, line):
    """Write a line at the end by a single call, and see it on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    with open(path, "ab", buffering=0) as file:
        written = file.write(text)
        if written != len(text):
            raise OSError(f"{path}: {written} of {len(text)} bytes were written; is the disk full?")
        os.fsync(file.fileno())


def check_writable(path):
    """Raise before anything is computed that could not be stored."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab"):
            pass
    except OSError as error:
        raise ExperimentError(
            f"{path} cannot be written ({error.strerror}); pass --results FOLDER"
        ) from error


def mend(path):
    """Cut off a last line that a killed run left incomplete; end a complete one."""
    if not path.is_file() or not (content := path.read_bytes()) or content.endswith(b"\n"):
        return
    whole = content.rfind(b"\n") + 1
    with open(path, "r+b") as file:
        try:
            json.loads(content[whole:])
        except ValueError:
            file.truncate(whole)
        else:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        file.flush()
        os.fsync(file.fileno())


# ---------------------------------------------------------------- running


@dataclass(frozen=True)
class Run:
    """What `run` did: names of cells computed, of those that were there, and the file.

    Those whose data the user would have to supply, and has not, are ``absent``.
    """

    computed: list
    kept: list
    path: Path
    absent: list


def run(target, *, jobs=None, quick=False, only=None, dask=None, folder=None, progress=True):
    """Compute what is missing of a chapter or table, and store each cell when it is complete.

    Parameters
    ----------
    target : str or Chapter
        ``"chapter"`` or ``"chapter/table"``.
    jobs : int, optional
        Worker processes, -1 for one a core. By default as ``joblib.parallel_config`` says, else 1.
    quick : bool
        One repeat, stored apart.
    only : str, optional
        Cells to compute, ``"data set/method"``; ``*`` and ``?`` stand for other letters.
    dask : str, optional
        Address of the scheduler of a cluster.
    folder : path, optional
        Where results are, if not where `Results` looks.
    progress : bool

    Returns
    -------
    Run

    Raises
    ------
    ExperimentError
        If a name is unknown, dask is missing, or folds failed: then cells without failures are
        stored all the same.
    """
    if jobs is not None and jobs < 1 and jobs != -1:
        raise ExperimentError(f"jobs={jobs}; pass 1 or more, or -1 for one a core")
    chapter, table = find(target)
    results = Results(chapter, folder, quick)
    names = chapter.cells() if table is None else table.cells()
    if only is not None:
        written = {"/".join(name): name for name in names}
        chosen = [name for text, name in written.items() if fnmatchcase(text, only)]
        names = chosen or known("cell", only, written)
    kept = [name for name in names if results.has(*name)]
    absent = [name for name in names if not chapter.datasets[name[0]].is_present]
    missing = [name for name in names if name not in kept and name not in absent]
    works = [_work(results, *name) for name in missing]
    check_writable(results.path)
    mend(results.path)
    if works:
        _compute_all(chapter, missing, works, results, jobs, dask, progress)
    return Run(missing, kept, results.path, absent)


def _work(results, dataset, method):
    chapter = results.chapter
    declared = chapter.datasets[dataset], chapter.methods[method]
    return Work(
        f"{chapter.name}/{dataset}/{method}",
        declared[0],
        digest_of(declared[0]),
        declared[1],
        results.protocol,
        results.key(dataset, method),
    )


def _compute_all(chapter, names, works, results, jobs, dask, progress):
    from tqdm import tqdm

    def outcomes(tasks):
        return _on_dask(tasks, dask) if dask else _on_joblib(tasks, jobs)

    n_splits = results.protocol.n_splits
    failures, works = {}, list(works)
    if results.protocol.tunes_once:
        _choose(works, failures, outcomes, progress)
    groups = {}
    for index, work in enumerate(works):
        name = (work.dataset.name, work.method.group) if work.method.group else index
        groups.setdefault(name, []).append(index)
    tasks = (
        (_numbered, ([(index, works[index]) for index in left], number))
        for indices in groups.values()
        for number in range(n_splits)
        if (left := [index for index in indices if index not in failures])
    )
    found = {index: {} for index in range(len(works))}
    bar = tqdm(
        total=len(works) * n_splits,
        desc=chapter.name,
        unit="fold",
        disable=not progress,
        smoothing=0.05,
    )
    with bar, contextlib.closing(outcomes(tasks)) as done:
        for index, number, fold in itertools.chain.from_iterable(done):
            bar.update()
            if fold.failure:
                failures.setdefault(index, fold.failure)
                continue
            if fold.versions != versions():
                raise ExperimentError(
                    f"a worker has {fold.versions}, but here there is {versions()}; install the "
                    "same versions on all machines"
                )
            found[index][number] = fold
            if len(found[index]) == n_splits:
                folds = found.pop(index)
                folds = [folds[number] for number in range(n_splits)]
                results.append(line_of(chapter, *names[index], works[index], folds))
    if failures:
        raise ExperimentError(
            f"{len(failures)} of {len(works)} cells failed, the others are stored in "
            f"{results.path}:\n" + "\n".join(failures.values())
        )


def _numbered(works, number):
    return [(index, number, compute(work, number)) for index, work in works]


def _choose(works, failures, outcomes, progress):
    """Settings that serve all splits, each chosen once; works that are tuned alike share them."""
    from tqdm import tqdm

    alike = {}
    for index, work in enumerate(works):
        method = work.method
        if len(method.candidates()) > 1:
            parameters = {**method.parameters, **method.tuning}
            declared = [work.digest, method.estimator, parameters, list(method.grid.items())]
            alike.setdefault(fingerprint([*declared, method.scaled]), []).append(index)
    tasks = [(_tuned, (key, works[indices[0]])) for key, indices in alike.items()]
    if not tasks:
        return
    with contextlib.closing(outcomes(tasks)) as done:
        for key, setting, failure in tqdm(
            done, total=len(tasks), desc="settings", disable=not progress
        ):
            for index in alike[key]:
                works[index] = replace(works[index], setting=setting)
                if failure:
                    failures[index] = failure


def _tuned(key, work):
    """The setting for all splits; or what failed."""
    with supervised():
        try:
            X, y = _rows(work.dataset.name, work.digest, lambda: work.dataset)
            return key, _chosen(work, 0, X, y), ""
        except Exception as error:
            return key, None, f"{work.name}, settings: {type(error).__name__}: {error}"


def _called(function, arguments):
    return function(*arguments)


def _on_joblib(tasks, jobs):
    from joblib import Parallel, delayed

    # a task may take minutes: none waits behind another
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from parallel(delayed(_called)(*task) for task in tasks)


def _on_dask(tasks, address):
    try:
        from dask.distributed import Client, KilledWorker, as_completed
    except ImportError:
        raise ExperimentError(
            "--dask needs dask.distributed: pip install 'fsnotes[dask]', or leave --dask out"
        ) from None
    # not through joblib, which waits forever for a fold whose workers were killed
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ExperimentError(
            f"no dask scheduler answers at {address!r} ({error}); start one with `dask scheduler` "
            "and workers with `dask worker ADDRESS`"
        ) from error
    with client:
        futures = client.map(_called, *zip(*tasks, strict=True), pure=False)
        try:
            for future in as_completed(futures):
                yield future.result()
                future.release()
        except KilledWorker as error:
            raise ExperimentError(
                f"workers died again and again ({error}); give them more memory, and run the same "
                "command again: finished cells are kept"
            ) from error


# ---------------------------------------------------------------- auditing


FIELDS = {
    "dataset",
    "method",
    "key",
    "fingerprint",
    "accuracy",
    "confusion",
    "n_features",
    "n_selected",
    "supports",
}
_STALE = set()


@dataclass(frozen=True)
class Audit:
    """Cells whose first fold was computed again, and those among them that came out differently."""

    checked: list
    stale: list

    def __repr__(self):
        found = f"first folds of {len(self.checked)} cells computed again, {len(self.stale)} differ"
        return found + "".join(f"\n  stale: {'/'.join(name)}" for name in self.stale)


def audit(chapter, *, sample=4, seed=0, within=np.inf, folder=None, quick=False):
    """Compute the first folds of some cells again; tables show those that differ as stale.

    Parameters
    ----------
    chapter : str or Chapter
    sample : int
        How many cells, of those that are stored and whose data travel with the package.
    seed : int
        Of the sample.
    within : float
        Leave out cells of which a fold took more seconds than that.

    Returns
    -------
    Audit
    """
    chapter, _ = find(chapter)
    results = Results(chapter, folder, quick)
    stored = [
        name
        for name in chapter.cells()
        if results.has(*name)
        and chapter.datasets[name[0]].travels
        and results.cell(*name).line["seconds"] <= within * results.protocol.n_splits
    ]
    if not isinstance(sample, numbers.Integral) or sample < 0:
        raise ExperimentError(f"sample={sample!r}; pass a whole number from 0")
    drawn = np.random.default_rng(seed).permutation(len(stored))[:sample]
    checked, stale = [stored[i] for i in sorted(drawn)], []
    for name in checked:
        fold = compute(_work(results, *name), 0)
        line = results.cell(*name).line
        mark = line["key"], json.dumps(line["fingerprint"])
        if fold.failure or fold.fingerprint != line["fingerprint"]:
            _STALE.add(mark)
            stale.append(name)
        else:
            _STALE.discard(mark)
    return Audit(checked, stale)
