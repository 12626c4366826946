"""Results: what a cell holds, how its line is written, and the file in which lines stand."""

import contextlib
import itertools
import json
import math
import os
import platform
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fsnotes.core.validation import shown
from fsnotes.errors import warn
from fsnotes.metrics import Estimate, score_interval, stability
from fsnotes.replication.declare import MEASURES, ExperimentError, check_known, find, fingerprint
from fsnotes.replication.judge import replication_interval

PACKAGED_RESULTS = Path(__file__).parent / "results"
QUICK_REPEATS = 1
QUICK_SPLITS = 2  # where a repeat is one split: of a single number nothing can be said
# the fields of a line, and those that may differ from run to run although the result is the same
FIELDS = set(
    "dataset method key protocol versions classes errors n_features supports settings facts "
    "warnings seconds".split()
)
VARYING = ("seconds", "warnings", "versions")
# No count is above it, and no array of a cell has more entries. A line that says more is damaged.
LARGEST = 10**8
MOST_NAMED = 10  # lines that a warning names for each kind of damage


class ResultsWarning(UserWarning):
    """Lines of a file of results that are damaged, and left out."""


class MissingResult(ExperimentError):
    """A cell that was not computed, or not for the declaration as it is now; `state` says which."""

    def __init__(self, message, state):
        super().__init__(message)
        self.state = state


# ---------------------------------------------------------------- a cell


@dataclass(frozen=True, eq=False)
class Cell:
    """A result: everything that the folds of one method on one data set gave.

    Attributes
    ----------
    dataset, method : str
        Names of the chapter.
    key : str
        Hash of the declaration for which it was computed.
    confusion : ndarray of shape (n_folds, n_classes, n_classes)
        Counts of test rows, by true class (rows) and predicted class (columns).
    n_features : int
        Number of columns of the data.
    masks : ndarray of shape (n_folds, n_features), or None
        Features selected in each fold, where the method selects features.
    settings : list of dict, or None
        The setting chosen in each fold, where the method is tuned.
    facts : dict of str to list
        Further numbers that the estimators tell of themselves, fold by fold.
    warnings : dict of str to int
        How many warnings of each category all folds raised.
    seconds : float
        Time that all folds took, the choice of settings included.
    protocol, versions : dict
        The protocol, and the versions of packages, with which it was computed.
    test_fraction : float
        Part of the rows on which a fold tests.
    is_stale : bool
        Whether `audit` found another first fold than stored.
    """

    dataset: str
    method: str
    key: str
    confusion: np.ndarray
    n_features: int
    masks: np.ndarray | None
    settings: list | None
    facts: dict
    warnings: dict
    seconds: float
    protocol: dict
    versions: dict
    test_fraction: float = 0.0
    is_stale: bool = False

    @property
    def name(self):
        """The data set and the method."""
        return self.dataset, self.method

    @property
    def accuracy(self):
        """Accuracy of each fold."""
        return np.trace(self.confusion, axis1=1, axis2=2) / self.confusion.sum(axis=(1, 2))

    @property
    def supports(self):
        """Selected features, one row a fold."""
        if self.masks is None:
            raise ExperimentError(
                f"{'/'.join(self.name)} selects no features, so there is nothing to count; ask "
                "for its accuracy"
            )
        return self.masks

    @property
    def n_selected(self):
        """Number of features selected in each fold."""
        return self.supports.sum(axis=1)

    @property
    def mcc(self):
        """Matthews correlation of each fold; 0 where it is undefined."""
        tables = self.confusion.astype(float)
        total = tables.sum(axis=(1, 2))
        right = np.trace(tables, axis1=1, axis2=2)
        true = tables.sum(axis=2)
        predicted = tables.sum(axis=1)
        above = right * total - (true * predicted).sum(axis=1)
        below = (total**2 - (true**2).sum(axis=1)) * (total**2 - (predicted**2).sum(axis=1))
        return np.divide(above, np.sqrt(below), out=np.zeros(len(total)), where=below > 0)

    @property
    def first_fold(self):
        """Hash of what the first fold predicted and selected."""
        return first_fold(self.confusion[0], None if self.masks is None else self.masks[0])

    def has_measure(self, measure):
        """Whether the folds have such a number."""
        return self.masks is not None if measure == "n_selected" else measure in self.facts

    def scores(self, measure):
        """One value a fold, in the units that papers print."""
        if measure == "accuracy":
            return 100 * self.accuracy
        if measure == "mcc_percent":
            return 100 * self.mcc
        if measure == "psf":
            return 100 * self.n_selected / self.n_features
        if measure in ("mcc", "n_selected"):
            return getattr(self, measure)
        if measure == "stability":
            raise ExperimentError(
                "stability has no value in a single fold; ask for another measure"
            )
        if check_known("measure", measure, MEASURES) not in self.facts:
            raise ExperimentError(
                f"{'/'.join(self.name)} has no {measure}; its machine tells "
                f"{', '.join(self.facts) or 'nothing of the kind'}"
            )
        return np.array(self.facts[measure], dtype=float)

    def estimate(self, measure):
        """Mean over the folds, corrected for their overlap; the stability of all supports.

        Returns
        -------
        fsnotes.metrics.Estimate
        """
        if measure == "stability":
            supports = self.supports
            # sets that are always all or always nothing give 0 / 0, but nothing is steadier
            if (supports == supports[0]).all():
                return Estimate(1.0, 0.0, 1.0, 1.0)
            return stability(supports)
        return score_interval(self.scores(measure), test_fraction=self.test_fraction)

    def replicated(self, measure, again=None):
        """Where the mean of so many repeats of the protocol would lie, with other splits.

        By default as many as here. Of a single repeat each fold counts as a repeat: folds of one
        repeat vary more than repeats do, so that the interval is rather too wide. Settings that
        were chosen once, for all splits, count as given.

        Returns
        -------
        fsnotes.metrics.Estimate
        """
        repeats = self.protocol["repeats"]
        means = self.scores(measure).reshape(repeats, -1).mean(axis=1)
        again = repeats if again is None else again
        if repeats == 1:
            means = self.scores(measure)
            again *= len(means)
        return replication_interval(means, again)


def first_fold(table, mask):
    """Hash of the confusion table and the support of one fold."""
    return fingerprint([np.asarray(table), mask])


# ---------------------------------------------------------------- its line


def encode(cell):
    """The line of a cell, and the parts that the line names by their hashes.

    Nothing is written that follows from the rest: of a confusion table, the sizes of the classes
    and the errors. What cells have in common, from versions to supports, is a part.

    Returns
    -------
    (dict, dict of str to value)
    """
    parts = {}

    def share(value):
        name = checksum(value)
        parts[name] = value
        return name

    supports = None if cell.masks is None else deduplicate([pack(mask) for mask in cell.masks])
    line = {
        "dataset": cell.dataset,
        "method": cell.method,
        "key": cell.key,
        "protocol": share(cell.protocol),
        "versions": share(cell.versions),
        "classes": share(cell.confusion.sum(axis=2).tolist()),
        "errors": [squeeze(table[_apart(len(table))].tolist()) for table in cell.confusion],
        "n_features": cell.n_features,
        "supports": None if supports is None else share(supports),
        "settings": None if cell.settings is None else deduplicate(cell.settings),
        "facts": {name: share(values) for name, values in cell.facts.items()},
        "warnings": cell.warnings,
        "seconds": cell.seconds,
    }
    return line, parts


def decode(line, parts, test_fraction=0.0):
    """The cell that `encode` wrote.

    Raises
    ------
    ValueError
        If something is missing, or does not fit the rest; nothing large is allocated before.
    """

    def part(name):
        if type(name) is not str or name not in parts:
            raise ValueError("a part that it needs is not there")
        return parts[name]

    _require("fields", line.keys() == FIELDS)
    names = [line["dataset"], line["method"], line["key"]]
    _require("names", _is_list(names, _is_text))
    protocol = part(line["protocol"])
    _require("protocol", _is_table(protocol))
    versions = part(line["versions"])
    _require("versions", _is_table(versions, _is_text))

    sizes = part(line["classes"])
    _require("classes", _is_list(sizes, _is_list) and sizes)
    n_folds = len(sizes)
    n_classes = len(sizes[0])
    _require("classes", all(_is_list(fold, _is_count, n_classes) for fold in sizes))
    _require("classes", n_classes > 1 and all(map(any, sizes)))
    _require("number of classes", n_folds * n_classes**2 <= LARGEST)
    errors = line["errors"]
    _require("errors", _is_list(errors, _is_list, n_folds))
    _require("errors", all(_is_list(fold, _is_whole) for fold in errors))
    n_places = n_classes * (n_classes - 1)
    lengths = [sum(max(1, -count) for count in fold) for fold in errors]
    _require("errors", lengths == [n_places] * n_folds)
    confusion = np.zeros((n_folds, n_classes, n_classes), dtype=int)
    confusion[:, _apart(n_classes)] = [stretch(fold) for fold in errors]
    confusion[:, range(n_classes), range(n_classes)] = np.array(sizes) - confusion.sum(axis=2)
    _require("errors", confusion.min() >= 0)

    n_features = line["n_features"]
    _require("n_features", _is_count(n_features) and 0 < n_folds * n_features <= LARGEST)
    masks = settings = None
    if line["supports"] is not None:
        packed = restore(part(line["supports"]), n_folds)
        masks = np.array([unpack(support, n_features) for support in packed])
    if line["settings"] is not None:
        settings = restore(line["settings"], n_folds)
        _require("settings", _is_list(settings, _is_table))
    _require("facts", _is_table(line["facts"]))
    facts = {name: part(values) for name, values in line["facts"].items()}
    _require("facts", all(_is_list(values, _is_number, n_folds) for values in facts.values()))
    _require("warnings", _is_table(line["warnings"], _is_count))
    _require("seconds", _is_number(line["seconds"]) and 0 <= line["seconds"] < math.inf)
    return Cell(
        *names,
        confusion,
        n_features,
        masks,
        settings,
        facts,
        line["warnings"],
        line["seconds"],
        protocol,
        versions,
        test_fraction,
    )


def _require(what, fits):
    if not fits:
        raise ValueError(f"the format does not allow its {what}")


def _is_whole(value):
    return type(value) is int and abs(value) <= LARGEST


def _is_count(value):
    return _is_whole(value) and value >= 0


def _is_number(value):
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def _is_text(value):
    return type(value) is str


def _is_list(value, is_item=None, length=None):
    fits = type(value) is list and length in (None, len(value))
    return fits and (is_item is None or all(map(is_item, value)))


def _is_table(value, is_item=None):
    return type(value) is dict and (is_item is None or all(map(is_item, value.values())))


def _apart(n_classes):
    """The places of errors in a confusion table."""
    return ~np.eye(n_classes, dtype=bool)


def squeeze(counts):
    """Counts in which several zeros in a row are written as minus their number."""
    found = []
    for is_zero, run in itertools.groupby(counts, key=lambda count: count == 0):
        run = list(run)
        found += [-len(run)] if is_zero and len(run) > 1 else run
    return found


def stretch(counts):
    """The counts that `squeeze` wrote."""
    found = []
    for count in counts:
        found += [count] if count >= 0 else [0] * -count
    return found


def pack(mask):
    """A mask as hexadecimal digits, or as a list of places where that is shorter."""
    digits = np.packbits(np.asarray(mask, dtype=bool)).tobytes().hex()
    places = np.flatnonzero(mask).tolist()
    return places if len(compact(places)) < len(compact(digits)) else digits


def unpack(packed, n_features):
    """The mask that `pack` wrote."""
    if type(packed) is str:
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8)) == 1
        mask = bits[:n_features]
        _require("supports", len(bits) == 8 * math.ceil(n_features / 8))
        _require("supports", not bits[n_features:].any())
    else:
        mask = np.zeros(n_features, dtype=bool)
        _require("supports", _is_list(packed, _is_count) and max(packed, default=0) < n_features)
        mask[packed] = True
    return mask


def deduplicate(values):
    """The different ones among some values, and which of them stands at each place."""
    texts = [compact(value) for value in values]
    different = list(dict.fromkeys(texts))
    return [[json.loads(text) for text in different], [different.index(text) for text in texts]]


def restore(pair, length):
    """The values that `deduplicate` wrote, one for each fold."""
    _require("values of folds", _is_list(pair, _is_list, 2))
    different, places = pair
    _require("values of folds", _is_list(places, _is_count, length))
    _require("values of folds", max(places, default=-1) < len(different))
    return [different[place] for place in places]


def compact(value):
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def checksum(value):
    """Twelve hexadecimal digits that tell a value of JSON from others."""
    return fingerprint(value)[:12]


def seal(line):
    """The line of a cell with the checksum of all that it says."""
    return line | {"sum": checksum(line)}


def unseal(text):
    """What a line of a file says: the name of a part, which is its checksum, or None, and content.

    Raises
    ------
    ValueError
        If no checksum fits.
    """
    try:
        content = json.loads(text)
        name = content.pop("part", None)
        if name is None:
            expected = content.pop("sum")
        else:
            expected = name
            content = content["value"]
        is_whole = checksum(content) == expected
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        is_whole = False
    if not is_whole:
        raise ValueError("no checksum fits; if it is not damaged, it is of an older format")
    return name, content


# ---------------------------------------------------------------- a file of lines


class File:
    """A file of results: a line for each cell, and before it lines of the parts that are new.

    Anybody may read it at any time; one process at a time writes it.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self.path = path
        self._parts = {}
        self._is_ours = False

    def read(self, test_fraction=0.0):
        """The cells, in order; a warning names the lines that are damaged, which are left out."""
        cells, damaged = self._read(test_fraction)
        named = []
        for reason, numbers in damaged.items():
            lines = ", ".join(map(str, numbers[:MOST_NAMED]))
            more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
            named.append(f"{lines}{more} ({reason})")
        if named:
            warn(
                f"{self.path} has damaged lines, which are left out: {'; '.join(named)}. The next "
                "run of the chapter removes them, and computes the cells that they held",
                ResultsWarning,
            )
        return cells

    def _read(self, test_fraction=0.0):
        """The cells, and the numbers of damaged lines by what is wrong with them."""
        self._parts = {}
        cells = []
        damaged = {}
        lines = self.path.read_bytes().split(b"\n") if self.path.is_file() else []
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            try:
                name, content = unseal(text)
                if name is None:
                    cells.append(decode(content, self._parts, test_fraction))
                else:
                    self._parts[name] = content
            except ValueError as error:
                damaged.setdefault(str(error), []).append(number)
        return cells, damaged

    @contextlib.contextmanager
    def alone(self, wait=False):
        """Keep other writers away, and put right what one that was killed left behind.

        Raises
        ------
        ExperimentError
            If the file cannot be written, or, unless this shall wait, if another process has it.
        """
        if self._is_ours:
            yield
            return
        with contextlib.ExitStack() as stack:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(lock(self.path, wait))
                self._replacement().unlink(missing_ok=True)
                with open(self.path, "ab+") as file:
                    if file.tell():
                        file.seek(-1, os.SEEK_END)
                        # end a line that was torn
                        file.write(b"" if file.read() == b"\n" else b"\n")
            except OSError as error:
                raise ExperimentError(
                    f"{self.path} cannot be written ({error.strerror}); pass --results FOLDER"
                ) from error
            self._parts = {}  # others may have changed the file since it was read
            self._is_ours = True
            try:
                yield
            finally:
                self._is_ours = False

    def append(self, cell):
        """Write a cell and its new parts at the end by a single call, and see it on the disk.

        Raises
        ------
        ExperimentError
            If the cell could not be read again.
        """
        try:
            decode(*encode(cell))
        except (TypeError, ValueError) as error:
            name = "/".join(cell.name)
            raise ExperimentError(f"the result of {name} cannot be stored: {error}") from error
        with self.alone(wait=True):
            text, parts = self._written(cell)
            with open(self.path, "ab", buffering=0) as file:
                written = file.write(text)
                if written != len(text):
                    raise OSError(
                        f"{self.path}: {written} of {len(text)} bytes were written; is the disk "
                        "full?"
                    )
                os.fsync(file.fileno())
            self._parts |= parts

    def settle(self, names):
        """Leave one line of each cell, its last, in the order of `names`; others follow."""
        with self.alone(wait=True):
            cells, _ = self._read()
            cells = {cell.name: cell for cell in cells}
            order = [*(name for name in names if name in cells), *cells]
            self._parts = {}
            lines = []
            for name in dict.fromkeys(order):
                text, parts = self._written(cells[name])
                self._parts |= parts
                lines.append(text)
            whole = b"".join(lines)
            if whole == self.path.read_bytes():
                return
            try:
                with open(self._replacement(), "wb") as file:
                    file.write(whole)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(self._replacement(), self.path)
            finally:
                self._replacement().unlink(missing_ok=True)

    def _replacement(self):
        return self.path.with_name(f".{self.path.name}.new")

    def _written(self, cell):
        line, parts = encode(cell)
        new = [{"part": k, "value": value} for k, value in parts.items() if k not in self._parts]
        return "".join(f"{compact(entry)}\n" for entry in [*new, seal(line)]).encode(), parts


@contextlib.contextmanager
def lock(path, wait):
    """Have a file to write alone, until the end of the block, or that of the process.

    A file beside it is locked, which says who has it. It is deleted at the end, but for Windows,
    which deletes no open file.

    Raises
    ------
    ExperimentError
        Unless this shall wait, if another process has it.
    """
    beside = path.with_name(f".{path.name}.lock")
    while True:
        with open(beside, "a+", encoding="utf-8", errors="replace") as file:
            if not _lock(file, wait):
                file.seek(0)
                raise ExperimentError(
                    f"{file.read() or 'another process'} is writing {path}; wait until it has "
                    "ended, then run the same command again, or pass --results FOLDER"
                )
            if _is_at(beside, file):
                try:
                    file.truncate(0)
                    file.write(f"process {os.getpid()} on {platform.node()}")
                    file.flush()
                    yield
                finally:
                    with contextlib.suppress(OSError):
                        beside.unlink()
                return


def _is_at(path, file):
    """Whether an open file was not deleted by whoever had it locked before."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _lock(file, wait):
    """Whether an open file could be locked, which ends when it is closed."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(2**30)  # what is locked there cannot be read, and the name of the owner is
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


# ---------------------------------------------------------------- the cells of a chapter

# keys and first folds of cells that came out differently when `audit` computed them again
STALE = set()


class Results:
    """The stored cells of a chapter.

    Parameters
    ----------
    chapter : str or Chapter
    folder : path, optional
        Where they are. By default those that travel with the package, and, where these cannot be
        added to, those in the user's cache, which come first.
    quick : bool
        Those of runs with ``--quick``.
    """

    def __init__(self, chapter, folder=None, quick=False):
        self.chapter, _ = find(chapter)
        if folder is not None and not isinstance(folder, (str, os.PathLike)):
            raise ExperimentError(f"folder={shown(folder)}; pass a path, or None")
        self.protocol = self.chapter.protocol
        if quick:
            is_single = self.protocol.n_splits == self.protocol.repeats
            repeats = QUICK_SPLITS if is_single else QUICK_REPEATS
            self.protocol = replace(self.protocol, repeats=repeats)
        name = f"{self.chapter.name}.quick.jsonl" if quick else f"{self.chapter.name}.jsonl"
        self.file = File((Path(folder) if folder is not None else default_folder(quick)) / name)
        sources = [self.file]
        if folder is None and not quick and self.file.path.parent != PACKAGED_RESULTS:
            sources.insert(0, File(PACKAGED_RESULTS / name))
        self._sources = sources
        self._quick = quick
        self._found = None
        self._outdated = set()

    @property
    def _cells(self):
        """Cells of the declaration as it is now, by name, read when they are first needed."""
        if self._found is None:
            self._found = self._read()
        return self._found

    def _read(self):
        names = set(self.chapter.cells())
        found = {}
        for source in self._sources:
            for cell in source.read(self.protocol.test_fraction):
                is_complete = len(cell.confusion) == self.protocol.n_splits
                if is_complete and cell.name in names and cell.key == self.key(*cell.name):
                    found[cell.name] = cell
                else:
                    self._outdated.add(cell.name)
        return found

    @contextlib.contextmanager
    def alone(self):
        """Keep other writers of the file away, and know what they wrote before."""
        with self.file.alone():
            self._found = None
            yield

    def key(self, dataset, method):
        """Hash of the cell's declaration."""
        return self.chapter.key(dataset, method, self.protocol)

    def has(self, dataset, method):
        """Whether the cell is there, for the declaration as it is now."""
        return (dataset, method) in self._cells

    def cell(self, dataset, method):
        """The result of a cell.

        Raises
        ------
        MissingResult
        """
        check_known("data set", dataset, self.chapter.datasets)
        check_known("method", method, self.chapter.methods)
        name = dataset, method
        if name in self._cells:
            cell = self._cells[name]
            return replace(cell, is_stale=bool(STALE) and (cell.key, cell.first_fold) in STALE)
        if not self.chapter.datasets[dataset].is_present:
            raise MissingResult(
                f"{dataset} is not available: supply {dataset}.npz, then {self.remedy()}",
                "not available",
            )
        state = "stale" if name in self._outdated else "not run"
        reason = "is of another declaration" if state == "stale" else "is missing"
        raise MissingResult(f"the result of {'/'.join(name)} {reason}; {self.remedy()}", state)

    def remedy(self):
        """The command that makes the results."""
        quick = " --quick" if self._quick else ""
        return f"run `python -m fsnotes.replication run {self.chapter.name}{quick}` first"

    def append(self, cell):
        """Add a finished cell, all of it or nothing; one that came out as before stays as it is."""
        before = self._cells.get(cell.name)
        if before is None or not is_same_result(before, cell):
            self.file.append(cell)
            self._cells[cell.name] = replace(cell, test_fraction=self.protocol.test_fraction)

    def settle(self):
        """Leave one line a cell in the file, in the order of the declaration."""
        self.file.settle(self.chapter.cells())


def is_same_result(first, second):
    """Whether two cells differ in nothing, or only in what varies from run to run."""
    lines = [encode(cell)[0] for cell in (first, second)]
    return all(lines[0][name] == lines[1][name] for name in lines[0] if name not in VARYING)


def default_folder(quick=False):
    """The package's own folder in a clone where it can be written, else the user's cache."""
    is_clone = (PACKAGED_RESULTS.parents[2] / "pyproject.toml").is_file()
    if is_clone and not quick and os.access(PACKAGED_RESULTS.parent, os.W_OK):
        return PACKAGED_RESULTS
    from fsnotes.data.datasets import cache_folder

    return cache_folder() / "replication"
