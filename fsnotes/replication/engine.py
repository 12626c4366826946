"""Cells of work: computed fold by fold, anywhere, and checked again."""

import contextlib
import functools
import itertools
import multiprocessing
import numbers
import os
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import numpy as np

import fsnotes
from fsnotes.core.threads import one_thread
from fsnotes.core.validation import shown
from fsnotes.errors import collecting
from fsnotes.replication.declare import (
    Dataset,
    ExperimentError,
    Method,
    Protocol,
    check_known,
    digest_of,
    find,
    fingerprint,
)
from fsnotes.replication.store import STALE, Cell, Results, first_fold

PATIENCE = 20  # seconds for a scheduler to answer
MOST_JOBS = 256


# ---------------------------------------------------------------- one fold


@dataclass(frozen=True)
class Work:
    """What a worker has to know of a cell, ``(data set, method)``; it reads the data by itself."""

    chapter: str
    cell: tuple
    dataset: Dataset
    digest: str
    method: Method
    protocol: Protocol
    key: str
    setting: dict | None = None  # where it is chosen already

    @property
    def name(self):
        """What messages call the cell."""
        return "/".join([self.chapter, *self.cell])

    def read(self):
        """Rows and labels, read once by each process."""
        return _rows(self.dataset.name, self.digest, lambda: self.dataset)

    def splits(self, y):
        """Outer splits of the rows, drawn once by each process."""
        rows = self.dataset.rows
        return _splits(self.dataset.name, self.digest, self.protocol, rows, lambda: y)


@dataclass(frozen=True)
class Fold:
    """What one fold gives: of a fold that failed, the reason alone."""

    confusion: list | None = None
    mask: np.ndarray | None = None
    n_features: int = 0
    setting: dict | None = None
    facts: dict | None = None
    seconds: float = 0.0
    warned: Counter | None = None
    versions: dict | None = None
    failure: str = ""


def compute(work, number):
    """One fold of a cell: choose a setting by inner folds, fit, predict; or say what failed.

    Warnings of the package are counted; those of others, none with the methods declared, are not.
    """
    begun = time.perf_counter()
    with one_thread(), collecting() as collected:
        try:
            fold = _fit_and_predict(work, number)
        except Exception as error:
            fold = Fold(failure=f"{work.name}, fold {number}: {type(error).__name__}: {error}")
    seconds = time.perf_counter() - begun
    warned = Counter(category.__name__ for category, _ in collected)
    return replace(fold, seconds=seconds, warned=warned, versions=versions())


def _fit_and_predict(work, number):
    X, y = work.read()
    train, test = work.splits(y)[number]
    setting = _choose_setting(work, number, X, y) if work.setting is None else work.setting
    if work.method.leaks:
        from sklearn.preprocessing import StandardScaler

        X = StandardScaler().fit_transform(X)
    machine = work.method.build(setting).fit(X[train], y[train])
    labels = np.unique(y)
    predicted = machine.predict(X[test])
    confusion = [[int(((y[test] == a) & (predicted == b)).sum()) for b in labels] for a in labels]
    mask = machine.get_support() if hasattr(machine, "get_support") else None
    return Fold(confusion, mask, X.shape[1], setting, _facts(machine, X[train]))


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


def _choose_setting(work, number, X, y):
    """The setting of a split that is right about most rows of its inner folds."""
    candidates = work.method.candidates()
    if len(candidates) == 1:
        return candidates[0]
    rows, splits = work.protocol.tuning(y, work.splits(y), number)
    X, y = X[rows], y[rows]
    build = functools.partial(work.method.build, tuning=True)
    # these are whole numbers, so that a tie is a tie, and goes to the first
    right = [
        sum(int((build(c).fit(X[a], y[a]).predict(X[b]) == y[b]).sum()) for a, b in splits)
        for c in candidates
    ]
    return candidates[int(np.argmax(right))]


class Kept:
    """The last few results of a slow function, by the arguments that tell them apart."""

    def __init__(self, function, most=3):
        self.function = function
        self.most = most
        self.results = {}
        self.lock = threading.Lock()

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


def cell_of(work, folds):
    """The cell that a work's folds give."""
    warned = sum((fold.warned for fold in folds), Counter())
    selects = folds[0].mask is not None
    return Cell(
        dataset=work.cell[0],
        method=work.cell[1],
        key=work.key,
        confusion=np.array([fold.confusion for fold in folds]),
        n_features=folds[0].n_features,
        masks=np.array([fold.mask for fold in folds], dtype=bool) if selects else None,
        settings=[fold.setting for fold in folds] if work.method.grid else None,
        facts={name: [fold.facts[name] for fold in folds] for name in folds[0].facts},
        warnings=dict(sorted(warned.items())),
        seconds=round(sum(fold.seconds for fold in folds), 3),
        protocol=asdict(work.protocol),
        versions=folds[0].versions,
    )


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


def run(
    target, *, jobs=None, quick=False, only=None, again=False, dask=None, folder=None, progress=True
):
    """Compute what is missing of a chapter or table, and store each cell when it is complete.

    Parameters
    ----------
    target : str or Chapter
        ``"chapter"`` or ``"chapter/table"``.
    jobs : int, optional
        Worker processes, at most 256, or -1 for one a core. By default as
        ``joblib.parallel_config`` says, else 1. A process computes one fold at a time, with one
        thread for linear algebra.
    quick : bool
        One repeat, stored apart.
    only : str, optional
        Cells to compute, ``"data set/method"``; ``*`` and ``?`` stand for other letters.
    again : bool
        Compute what is there, too. A cell that comes out equal stays in the file as it was, with
        the time that it took and the versions of packages that it was made with.
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
        If a name is unknown, dask is missing, another run writes the same file, or folds failed:
        then cells without failures are stored all the same.
    """
    is_count = isinstance(jobs, numbers.Integral) and not isinstance(jobs, bool)
    if jobs is not None and not (is_count and (1 <= jobs <= MOST_JOBS or jobs == -1)):
        raise ExperimentError(
            f"jobs={jobs!r}; pass a whole number from 1 to {MOST_JOBS}, or -1 for one a core"
        )
    chapter, table = find(target)
    results = Results(chapter, folder, quick)
    names = chapter.cells() if table is None else table.cells()
    if only is not None:
        written = {"/".join(name): name for name in names}
        chosen = [name for text, name in written.items() if fnmatchcase(text, only)]
        names = chosen or check_known("cell", only, written)
    absent = [name for name in names if not chapter.datasets[name[0]].is_present]
    with results.alone():
        kept = [name for name in names if results.has(*name) and not again]
        missing = [name for name in names if name not in kept and name not in absent]
        works = {name: _work(results, *name) for name in missing}
        failures = _compute_all(works, results, jobs, dask, progress) if works else {}
        results.settle()
    if failures:
        raise ExperimentError(
            f"{len(failures)} of {len(works)} cells failed, the others are stored in "
            f"{results.file.path}:\n" + "\n".join(failures.values())
        )
    return Run(missing, kept, results.file.path, absent)


def _work(results, dataset, method):
    chapter = results.chapter
    return Work(
        chapter.name,
        (dataset, method),
        chapter.datasets[dataset],
        digest_of(chapter.datasets[dataset]),
        chapter.methods[method],
        results.protocol,
        results.key(dataset, method),
    )


@dataclass(frozen=True)
class Folds:
    """A task: the same split of several cells, which share what takes long, one by one."""

    works: dict
    number: int

    def compute(self):
        """Name of the cell, number of the split, and fold, of each."""
        number = self.number
        return [(name, number, compute(work, number)) for name, work in self.works.items()]


@dataclass(frozen=True)
class Choice:
    """A task: one setting that serves all splits of several cells, which are tuned alike."""

    names: list
    work: Work

    def compute(self):
        """Names of the cells, the setting, and what failed."""
        with one_thread(), collecting():
            try:
                return self.names, _choose_setting(self.work, 0, *self.work.read()), ""
            except Exception as error:
                failure = f"{self.work.name}, settings: {type(error).__name__}: {error}"
                return self.names, None, failure


def _compute_all(works, results, jobs, dask, progress):
    """Compute and store cells; what failed, by the names of cells."""
    from fsnotes.core.progress import ProgressBar

    def outcomes(tasks):
        return _on_dask(tasks, dask) if dask else _on_joblib(tasks, jobs)

    n_splits = results.protocol.n_splits
    failures = {}
    if results.protocol.tunes_once:
        works = _choose_for_all_splits(works, failures, outcomes, progress)
    groups = {}
    for name, work in works.items():
        group = (work.dataset.name, work.method.group) if work.method.group else name
        groups.setdefault((bool(work.method.group), group), []).append(name)
    # what has failed meanwhile is not begun again
    tasks = (
        Folds({name: works[name] for name in left}, number)
        for group in groups.values()
        for number in range(n_splits)
        if (left := [name for name in group if name not in failures])
    )
    found = {name: {} for name in works}
    bar = ProgressBar(
        total=len(works) * n_splits,
        desc=results.chapter.name,
        unit="fold",
        disable=not progress,
        smoothing=0.05,
    )
    with bar, contextlib.closing(outcomes(tasks)) as done:
        for name, number, fold in itertools.chain.from_iterable(done):
            bar.update()
            if fold.failure:
                failures.setdefault(name, fold.failure)
                continue
            if fold.versions != versions():
                raise ExperimentError(
                    f"a worker has {fold.versions}, but here there is {versions()}; install the "
                    "same versions on all machines"
                )
            found[name][number] = fold
            if len(found[name]) == n_splits:
                folds = found.pop(name)
                folds = [folds[number] for number in range(n_splits)]
                results.append(cell_of(works[name], folds))
    return failures


def _choose_for_all_splits(works, failures, outcomes, progress):
    """Return the works with settings that serve all splits; those tuned alike share a choice."""
    from fsnotes.core.progress import ProgressBar

    alike = {}
    for name, work in works.items():
        method = work.method
        if len(method.candidates()) > 1:
            parameters = {**method.parameters, **method.tuning}
            declared = [work.digest, method.estimator, parameters, list(method.grid.items())]
            alike.setdefault(fingerprint([*declared, method.scaled]), []).append(name)
    tasks = [Choice(names, works[names[0]]) for names in alike.values()]
    if not tasks:
        return works
    with contextlib.closing(outcomes(tasks)) as done:
        for names, setting, failure in ProgressBar(
            done, total=len(tasks), desc="settings", disable=not progress
        ):
            works = works | {name: replace(works[name], setting=setting) for name in names}
            failures |= dict.fromkeys(names, failure) if failure else {}
    return works


def _compute_task(task):
    return task.compute()


def _end_with_runner():
    """Let this worker end when the process is gone that it computes for, even if it was killed."""
    runner = multiprocessing.parent_process()

    def watch():
        try:
            runner.join()
        except ValueError:
            # to wait for it is not possible in every kind of worker
            while os.getppid() == runner.pid:
                time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_joblib(tasks, jobs):
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    # a task may take minutes: none waits behind another
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", initializer=_end_with_runner)
    try:
        yield from parallel(delayed(_compute_task)(task) for task in tasks)
    except BrokenProcessPool as error:
        raise ExperimentError(
            "a worker was ended from outside, perhaps for want of memory; finished cells are kept: "
            "run the same command again, with fewer --jobs if memory is short"
        ) from error


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
            "and workers with `dask worker --nthreads 1 ADDRESS`"
        ) from error
    with client:
        futures = client.map(_compute_task, list(tasks), pure=False)
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
        and results.cell(*name).seconds <= within * results.protocol.n_splits
    ]
    if not isinstance(sample, numbers.Integral) or sample < 0:
        raise ExperimentError(f"sample={sample!r}; pass a whole number from 0")
    if not isinstance(seed, numbers.Integral) or seed < 0:
        raise ExperimentError(f"seed={shown(seed)}; pass a whole number from 0")
    drawn = np.random.default_rng(int(seed)).permutation(len(stored))[:sample]
    checked = [stored[i] for i in sorted(drawn)]
    stale = []
    for name in checked:
        fold = compute(_work(results, *name), 0)
        cell = results.cell(*name)
        mark = cell.key, cell.first_fold
        if fold.failure or first_fold(fold.confusion, fold.mask) != cell.first_fold:
            STALE.add(mark)
            stale.append(name)
        else:
            STALE.discard(mark)
    return Audit(checked, stale)
