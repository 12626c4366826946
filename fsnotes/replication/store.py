"""Results: what a cell holds, how its line is written, and the file in which lines stand."""

import contextlib
import itertools
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fsnotes.metrics import Estimate, score_interval, stability
from fsnotes.replication.declare import MEASURES, ExperimentError, check_known, find, fingerprint

PACKAGED_RESULTS = Path(__file__).parent / "results"
QUICK_REPEATS = 1
# fields that may differ from run to run although the result is the same
VARYING = ("seconds", "warnings", "versions")


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
        number = fingerprint(value)[:8]
        parts[number] = value
        return number

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
    KeyError, TypeError or ValueError
        If something is missing, or does not fit the rest.
    """
    sizes = np.array(parts[line["classes"]])
    n_folds, n_classes = sizes.shape
    confusion = np.zeros((n_folds, n_classes, n_classes), dtype=int)
    confusion[:, _apart(n_classes)] = [stretch(errors) for errors in line["errors"]]
    confusion[:, range(n_classes), range(n_classes)] = sizes - confusion.sum(axis=2)
    masks = settings = None
    if line["supports"] is not None:
        packed = restore(parts[line["supports"]])
        masks = np.array([unpack(text, line["n_features"]) for text in packed])
    if line["settings"] is not None:
        settings = restore(line["settings"])
    facts = {name: parts[number] for name, number in line["facts"].items()}
    columns = [column for column in (masks, settings, *facts.values()) if column is not None]
    if confusion.min() < 0 or any(len(column) != n_folds for column in columns):
        raise ValueError("the folds do not fit each other")
    return Cell(
        *(line[name] for name in ("dataset", "method", "key")),
        confusion,
        line["n_features"],
        masks,
        settings,
        facts,
        line["warnings"],
        line["seconds"],
        parts[line["protocol"]],
        parts[line["versions"]],
        test_fraction,
    )


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
    if isinstance(packed, str):
        return np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8), count=n_features) == 1
    mask = np.zeros(n_features, dtype=bool)
    mask[packed] = True
    return mask


def deduplicate(values):
    """The different ones among some values, and which of them stands at each place."""
    texts = [compact(value) for value in values]
    different = list(dict.fromkeys(texts))
    return [[json.loads(text) for text in different], [different.index(text) for text in texts]]


def restore(pair):
    """The values that `deduplicate` wrote."""
    different, places = pair
    return [different[place] for place in places]


def compact(value):
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


# ---------------------------------------------------------------- a file of lines


class File:
    """A file of results: a line for each cell, and before it lines of the parts that are new.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self.path = path
        self._parts = {}

    def read(self, test_fraction=0.0):
        """The cells whose lines are complete, in order; others are no cells."""
        self._parts = {}
        cells = []
        for text in self.path.read_bytes().split(b"\n") if self.path.is_file() else []:
            with contextlib.suppress(KeyError, TypeError, ValueError):
                line = json.loads(text)
                if "part" in line:
                    self._parts[line["part"]] = line["value"]
                else:
                    cells.append(decode(line, self._parts, test_fraction))
        return cells

    def append(self, cell):
        """Write a cell and its new parts at the end by a single call, and see it on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self._written(cell)
        with open(self.path, "ab", buffering=0) as file:
            written = file.write(text)
            if written != len(text):
                raise OSError(
                    f"{self.path}: {written} of {len(text)} bytes were written; is the disk full?"
                )
            os.fsync(file.fileno())

    def settle(self, names):
        """Leave one line of each cell, its last, in the order of `names`; others follow."""
        cells = {cell.name: cell for cell in self.read()}
        order = [*(name for name in names if name in cells), *cells]
        self._parts = {}
        text = b"".join(self._written(cells[name]) for name in dict.fromkeys(order))
        if text == self.path.read_bytes():
            return
        beside = self.path.with_suffix(".new")
        with open(beside, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)

    def _written(self, cell):
        line, parts = encode(cell)
        new = [{"part": k, "value": value} for k, value in parts.items() if k not in self._parts]
        self._parts |= parts
        return "".join(f"{compact(entry)}\n" for entry in [*new, line]).encode()

    def check_writable(self):
        """Raise before anything is computed that could not be stored; end a line that was torn."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab+") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    file.write(b"" if file.read() == b"\n" else b"\n")
        except OSError as error:
            raise ExperimentError(
                f"{self.path} cannot be written ({error.strerror}); pass --results FOLDER"
            ) from error


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
        self.protocol = self.chapter.protocol
        if quick:
            self.protocol = replace(self.protocol, repeats=QUICK_REPEATS)
        name = f"{self.chapter.name}.quick.jsonl" if quick else f"{self.chapter.name}.jsonl"
        self.file = File((Path(folder) if folder is not None else default_folder(quick)) / name)
        sources = [self.file]
        if folder is None and not quick and self.file.path.parent != PACKAGED_RESULTS:
            sources.insert(0, File(PACKAGED_RESULTS / name))
        self._cells = {}
        self._outdated = set()
        self._quick = quick
        names = set(self.chapter.cells())
        for source in sources:
            for cell in source.read(self.protocol.test_fraction):
                if cell.name in names and cell.key == self.key(*cell.name):
                    self._cells[cell.name] = cell
                else:
                    self._outdated.add(cell.name)

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
