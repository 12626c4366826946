"""What a chapter declares: methods, data sets, protocol, printed tables and claims. Data only."""

import difflib
import functools
import hashlib
import importlib
import itertools
import json
import pkgutil
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from fsnotes.core.validation import shown

OURS = "ours"  # the place of a table whose experiment is not the paper's
# Each measure has a name in tables, and a number of digits there.
MEASURES = {
    "accuracy": ("accuracy (%)", 1),
    "mcc": ("Matthews correlation", 3),
    "mcc_percent": ("Matthews correlation (%)", 1),
    "n_selected": ("features", 2),
    "psf": ("features (%)", 1),
    "n_iter": ("steps", 1),
    "largest_delta": ("largest bound", 3),
    "n_kept": ("points kept", 1),
    "n_distinct": ("distinct points kept", 1),
    "n_rows": ("rows at points kept", 1),
    "n_live": ("features alive", 1),
    "stability": ("stability", 2),
}


class ExperimentError(ValueError):
    """A name, a declaration or a result that cannot be used, and what to do about it."""


@dataclass(frozen=True)
class Method:
    """An estimator with its parameters, and the settings among which inner folds choose.

    Parameters
    ----------
    estimator : str
        Dotted name, ``"fsnotes.MPM"``; imported where it runs. The class's name is part of the key
        of results, and the module where it stands is not.
    parameters : mapping
        Keyword arguments; what is no JSON value is told apart by its ``repr``.
    grid : mapping of str to sequence
        Values of the tuned parameters; every combination is a candidate, the last name varying
        fastest. Among candidates that predict equally many inner rows the first one wins, so
        begin with the sparsest.
    scaled : bool
        Standardise the columns first, inside each fold, for estimators that do not scale.
    paper : str
        What the paper calls it.
    datasets : sequence of str, optional
        The data sets for which it is meant; by default all of the chapter.
    tuning : mapping, optional
        Parameters that take the place of others while settings are chosen.
    leaks : bool
        Standardise the columns by all rows, those to test on too, before anything is split, as
        papers do; settings are chosen without that.
    group : str
        Methods of one group are computed one after the other where they run, split by split, so
        that they can share what takes long.
    """

    estimator: str
    parameters: Mapping = field(default_factory=dict)
    grid: Mapping = field(default_factory=dict)
    scaled: bool = False
    paper: str = ""
    datasets: tuple = ()
    tuning: Mapping = field(default_factory=dict)
    leaks: bool = False
    group: str = ""

    def candidates(self):
        """The settings among which inner folds choose; a single empty one if nothing is tuned."""
        combined = itertools.product(*self.grid.values())
        return [dict(zip(self.grid, values, strict=True)) for values in combined]

    def build(self, setting, tuning=False):
        """A fresh estimator with a setting of the grid."""
        module, _, name = self.estimator.rpartition(".")
        parameters = {**self.parameters, **(self.tuning if tuning else {}), **setting}
        machine = getattr(importlib.import_module(module), name)(**parameters)
        if not self.scaled:
            return machine
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), machine)


@dataclass(frozen=True)
class Dataset:
    """A data set by name; ``make`` returns ``X, y`` if `~fsnotes.data.datasets.load` does not.

    With ``rows``, each repeat of the cross-validation draws so many of its own, with the classes in
    their proportions, so that intervals allow for which rows were drawn.
    """

    name: str
    make: Callable | None = None
    label: str = ""
    rows: int | None = None

    def __post_init__(self):
        if self.rows is not None and (not isinstance(self.rows, int) or self.rows < 1):
            raise ExperimentError(f"{self.name}: rows={self.rows!r}; pass a whole number from 1")

    def read(self):
        """Rows and labels in an order that depends on their values alone."""
        if self.make is None:
            from fsnotes.data.datasets import load

            X, y = load(self.name, return_X_y=True)
        else:
            X, y = self.make()
        # adding zero turns -0.0, which some formats keep, into 0.0
        X = np.asarray(X, dtype=float) + 0.0
        y = np.asarray(y)
        order = np.lexsort((*X.T[::-1], y))
        return X[order], y[order]

    def digest(self):
        """Fingerprint of the content, known without the file for the larger sets, and of rows."""
        from fsnotes.data.datasets import OPENML_IDS, class_digests

        if not self.is_present:
            return fingerprint(["not available", self.name])
        if self.make is None and self.name in OPENML_IDS:
            folder = importlib.resources.files("fsnotes.data")
            registry = json.loads((folder / "registry.json").read_text(encoding="utf-8"))
            content = registry[self.name]["digests"]
        else:
            content = list(class_digests(*self.read()).values())
        return fingerprint(content if self.rows is None else [content, self.rows])

    @property
    def travels(self):
        """Whether it is at hand wherever the package is installed."""
        from fsnotes.data.datasets import OPENML_IDS

        return self.make is not None or not (self.is_supplied or self.name in OPENML_IDS)

    @property
    def is_supplied(self):
        """Whether only users can supply it, since no copy is known."""
        from fsnotes.data.datasets import SUPPLIED

        return self.make is None and self.name in SUPPLIED

    @property
    def is_present(self):
        """False where it is for the user to supply, and is not there."""
        from fsnotes.data.datasets import available

        return not self.is_supplied or available()[self.name].location is not None


@dataclass(frozen=True)
class Protocol:
    """Repeated stratified cross-validation, and the inner folds that choose settings."""

    repeats: int = 10
    folds: int = 10
    inner: int = 5
    seed: int = 0

    tunes_once = False

    @property
    def n_splits(self):
        return self.repeats * self.folds

    @property
    def test_fraction(self):
        return 1 / self.folds

    def splits(self, y, rows=None):
        """Pairs of row numbers, to train and to test; the same for every method.

        With ``rows``, each repeat splits so many rows of its own.
        """
        from sklearn.model_selection import (
            RepeatedStratifiedKFold,
            StratifiedKFold,
            StratifiedShuffleSplit,
        )

        if rows is None:
            folds = RepeatedStratifiedKFold(
                n_splits=self.folds, n_repeats=self.repeats, random_state=self.seed
            )
            return list(folds.split(np.zeros(len(y)), y))
        draws = StratifiedShuffleSplit(self.repeats, train_size=rows, random_state=self.seed)
        folds = StratifiedKFold(self.folds, shuffle=True, random_state=self.seed)
        return [
            (drawn[train], drawn[test])
            for drawn, _ in draws.split(np.zeros(len(y)), y)
            for train, test in folds.split(drawn, y[drawn])
        ]

    def inner_splits(self, y, number):
        """Splits of the training rows of one fold; the same for every method."""
        from sklearn.model_selection import StratifiedKFold

        seed = np.random.SeedSequence([self.seed, number]).generate_state(1)[0]
        folds = StratifiedKFold(self.inner, shuffle=True, random_state=int(seed))
        return list(folds.split(np.zeros(len(y)), y))

    def tuning(self, y, splits, number):
        """Rows by which the settings of a split are chosen, and the inner splits of these."""
        rows = splits[number][0]
        return rows, self.inner_splits(y[rows], number)

    def __str__(self):
        return f"{self.repeats} times {self.folds}-fold cross-validation, seed {self.seed}"


@dataclass(frozen=True)
class RandomSplits(Protocol):
    """Random stratified splits, of which each sets a part aside to test."""

    folds: int = 1
    test_size: float = 0.2

    @property
    def test_fraction(self):
        return self.test_size

    def splits(self, y, rows=None):
        """Pairs of row numbers, to train and to test; the same for every method."""
        from sklearn.model_selection import StratifiedShuffleSplit

        if rows is not None:
            raise ExperimentError(f"rows={rows}; random splits take all rows")
        draws = StratifiedShuffleSplit(
            self.repeats, test_size=self.test_size, random_state=self.seed
        )
        return list(draws.split(np.zeros(len(y)), y))

    def __str__(self):
        part = f"{100 * self.test_size:g} percent"
        return f"{self.repeats} random splits that test on {part}, seed {self.seed}"


@dataclass(frozen=True)
class TunedOnce(RandomSplits):
    """Random splits with the settings that are chosen by the training rows of the first of them.

    At most ``tuning_rows`` of these are used, with the classes in their proportions.
    """

    tuning_rows: int = 10**9

    tunes_once = True

    def tuning(self, y, splits, number):
        """Rows by which the settings of any split are chosen, and the inner splits of these."""
        from sklearn.model_selection import StratifiedShuffleSplit

        rows = splits[0][0]
        if len(rows) > self.tuning_rows:
            draw = StratifiedShuffleSplit(1, train_size=self.tuning_rows, random_state=self.seed)
            rows = rows[next(draw.split(rows, y[rows]))[0]]
        return rows, self.inner_splits(y[rows], 0)


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it.

    Parameters
    ----------
    dataset, method, measure : str
        Names of the chapter; the measure is accuracy, psf or mcc_percent (in percent), mcc,
        n_selected, n_iter, largest_delta, n_kept (training points with a weight, as the machine
        counts them), n_distinct (those of them that differ), n_rows (training rows equal to one of
        them), n_live (features that the machine that ranks leaves alive) or stability.
    text : str
        As printed, since the last digit says how it was rounded.
    incomparable : str, optional
        Why no cell of ours can be compared with it.
    infeasible : str, optional
        Why nobody can have measured it with the settings printed.
    proof : callable, optional
        ``proof(value)`` returns why such a value is impossible, or None if it is not.
    """

    dataset: str
    method: str
    measure: str
    text: str
    incomparable: str | None = None
    infeasible: str | None = None
    proof: Callable | None = None

    @property
    def value(self):
        return float(self.text)

    @property
    def quantity(self):
        return self.dataset, self.method, self.measure


def printed(block, *, incomparable=None, proofs=None):
    """Numbers of a table from a block of text.

    Parameters
    ----------
    block : str
        The first line names data sets. Each further line names a method and a measure, then gives
        one number for each data set, or ``-``.
    incomparable, proofs : dict, optional
        From ``(dataset, method, measure)`` to what `Printed` takes under these names.

    Returns
    -------
    tuple of Printed

    Examples
    --------
    >>> from fsnotes.replication import printed
    >>> found = printed('''
    ...                 sonar  pima
    ... mpm  accuracy    75.3     -
    ... ''')
    >>> [(p.quantity, p.text) for p in found]
    [(('sonar', 'mpm', 'accuracy'), '75.3')]
    """
    header, *lines = [line.split() for line in block.splitlines() if line.strip()]
    reasons = dict(incomparable or {})
    proofs = dict(proofs or {})
    found = []
    for method, measure, *texts in lines:
        if len(texts) != len(header):
            raise ExperimentError(
                f"the line of {method} {measure} has {len(texts)} numbers for the {len(header)} "
                "data sets of the first line; write - where nothing is printed"
            )
        for dataset, text in zip(header, texts, strict=True):
            if text != "-":
                if not re.fullmatch(r"-?\d+(\.\d+)?", text):
                    raise ExperimentError(f"the line of {method} {measure} has {text}, no number")
                key = dataset, method, measure
                why = reasons.pop(key, None)
                found.append(Printed(*key, text, why, proof=proofs.pop(key, None)))
    if reasons or proofs:
        raise ExperimentError(f"notes on {[*reasons, *proofs]}, where the block prints nothing")
    return tuple(found)


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        ``"table4"``; commands and pages call it ``chapter/table4``.
    source : str
        Key in the bibliography.
    place : str
        ``"Table 4"``, with the page where it is known; `OURS` if the experiment is not the paper's.
    title : str
        What it shows, in our words.
    printed : tuple of Printed
        May be empty, for a figure.
    reduced : str, optional
        What the protocol leaves out of the paper's.
    beside : mapping of str to mapping, optional
        From titles of further columns to mappings from methods of the table to those whose results
        stand there.
    readings : mapping of str to mapping, optional
        As `beside`, for what the paper leaves open: from titles to mappings from methods of the
        table to those that read it in another way. Printed numbers are judged by each.
    reads : tuple of (str, str), optional
        Further cells, (data set, method), for a figure.
    repeats : int, optional
        Of how many repeats of the protocol the printed numbers are means; by default as many as
        ours.
    lesson : str
        What a reader of the paper should take from its verdicts.
    """

    name: str
    source: str
    place: str
    title: str
    printed: tuple = ()
    reduced: str | None = None
    beside: Mapping = field(default_factory=dict)
    readings: Mapping = field(default_factory=dict)
    reads: tuple = ()
    repeats: int | None = None
    lesson: str = ""

    def cells(self):
        """Names of the cells that it reads, each once."""
        found = [(p.dataset, p.method) for p in self.printed]
        for others in [*self.beside.values(), *self.readings.values()]:
            found += [(p.dataset, others[p.method]) for p in self.printed if p.method in others]
        return list(dict.fromkeys([*found, *self.reads]))


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, in its words, that results of ours can refute; `Claims` declares it.

    Parameters
    ----------
    paper : str
        A key of the bibliography.
    place, quote : str
        Where the paper says it, and its words; where it says it in a formula or in a picture, ours,
        in square brackets.
    check : callable
        ``check(read)`` returns whether it holds, None where results cannot tell, or a `Verdict`;
        its docstring says how it is judged. ``read(dataset, method)`` is a `Cell`. A check that
        needs no results takes no notice of its argument.
    topic : str
        A name of our own for what it is about, by which a book finds the passage to link to, which
        bears the label ``claims-chapter-topic``; without a topic that is where the chapter's tables
        are shown, with the label ``claims-chapter``.
    lesson : str
        What a reader of the paper should take from the verdict.
    proof : bool
        Whether the check is a proof or a counterexample: what it refutes is false, where measured
        results only differ.
    departures : str or None
        Where what was measured departs from the paper; by default what is said of the tables whose
        results are read.
    """

    paper: str
    place: str
    quote: str
    check: Callable
    topic: str = ""
    lesson: str = ""
    proof: bool = False
    departures: str | None = None

    @property
    def rule(self):
        """How it is judged, in a line."""
        return " ".join((self.check.__doc__ or "").split())


@dataclass(frozen=True)
class Misprint:
    """What a paper prints by mistake, and what is right; the topic is as in `Claim`."""

    paper: str
    place: str
    text: str
    right: str
    topic: str = ""


@dataclass(frozen=True)
class Covered:
    """What of a paper needs no verdict, and where a book treats it; the topic is as in `Claim`."""

    paper: str
    place: str
    text: str
    topic: str = ""


class Claims(list):
    """The claims of a paper, each declared where it is checked.

    Parameters
    ----------
    paper : str
        A key of the bibliography.

    Examples
    --------
    >>> from fsnotes.replication.declare import Claims
    >>> claim = Claims("xu2007")
    >>> @claim("Section 1", "selects fewer features than the others")
    ... def selects_fewer(read):
    ...     '''In the mean it has fewer features.'''
    ...     return read("sonar", "it").n_selected.mean() < read("sonar", "other").n_selected.mean()
    >>> [(c.place, c.rule) for c in claim]
    [('Section 1', 'In the mean it has fewer features.')]
    """

    def __init__(self, paper):
        super().__init__()
        self.paper = paper

    def __call__(self, place, quote, topic="", **more):
        """Declare the function that follows as the check of a claim; arguments as in `Claim`."""

        def declare(check):
            self.append(Claim(self.paper, place, quote, check, topic, **more))
            return check

        return declare


def entries_of(block):
    """Place, topic and text of each entry of a block of text.

    An entry has a line with the place and, in brackets, the topic if it has one. Below it, further
    to the right, stands the text.
    """
    entries = []
    for line in textwrap.dedent(block).strip().splitlines():
        if line.startswith(" "):
            entries[-1].append(line.strip())
        else:
            entries.append([line])
    for head, *lines in entries:
        place, _, topic = head.partition(" [")
        yield place, topic.removesuffix("]"), " ".join(lines)


def misprints(paper, block):
    """Misprints of a paper from a block of text.

    Parameters
    ----------
    paper : str
        A key of the bibliography.
    block : str
        Entries as in `entries_of`; their text is what the paper prints, and after an arrow what is
        right.

    Returns
    -------
    tuple of Misprint

    Examples
    --------
    >>> from fsnotes.replication.declare import misprints
    >>> [found] = misprints("xu2007", '''
    ... (5) [bounds]
    ...     the inequalities hold for w = 0
    ...     -> the length of w has to be fixed
    ... ''')
    >>> found.place, found.right, found.topic
    ('(5)', 'the length of w has to be fixed', 'bounds')
    """
    found = []
    for place, topic, both in entries_of(block):
        text, _, right = both.partition(" -> ")
        found.append(Misprint(paper, place, text, right, topic))
    return tuple(found)


def covered(paper, block):
    """What of a paper is covered without a verdict, from a block of text as in `entries_of`."""
    return tuple(Covered(paper, place, text, topic) for place, topic, text in entries_of(block))


@dataclass(frozen=True)
class Chapter:
    """Everything of one chapter; see ``fsnotes/replication/chapters/mempm.py`` for an example.

    Parameters
    ----------
    name : str
        Also the name of the module and of the results file.
    papers : mapping
        From keys of the bibliography to authors and year.
    datasets : tuple of Dataset or str
    methods : mapping of str to Method
    protocol : Protocol
    tables : tuple of Table
    claims : tuple of Claim, Misprint or Covered
    """

    name: str
    papers: Mapping
    datasets: tuple
    methods: Mapping
    protocol: Protocol
    tables: tuple = ()
    claims: tuple = ()

    def __post_init__(self):
        named = (Dataset(d) if isinstance(d, str) else d for d in self.datasets)
        object.__setattr__(self, "datasets", {d.name: d for d in named})
        object.__setattr__(self, "tables", {table.name: table for table in self.tables})
        sizes = {name: len(m.candidates()) for name, m in self.methods.items() if m.grid}
        if len(set(sizes.values())) > 1:
            raise ExperimentError(
                f"{self.name}: tuned methods have unequal numbers of candidate settings, {sizes}; "
                "give each the same number, or the comparison favours some"
            )
        for table in self.tables.values():
            for dataset, method in table.cells():
                check_known("data set", dataset, self.datasets)
                check_known("method", method, self.methods)
                check_known("cell", f"{dataset}/{method}", [f"{d}/{m}" for d, m in self.cells()])
            for entry in table.printed:
                check_known("measure", entry.measure, MEASURES)
        for entry in [*self.tables.values(), *self.claims]:
            check_known("paper", getattr(entry, "source", None) or entry.paper, self.papers)

    def cells(self):
        """Names of all cells of work, (data set, method)."""
        return [
            (dataset, name)
            for dataset, (name, method) in itertools.product(self.datasets, self.methods.items())
            if dataset in (method.datasets or self.datasets)
        ]

    def key(self, dataset, method, protocol):
        """Hash of what a cell's result depends on, as far as it is declared."""
        # not asdict, which would forget the kind of a parameter that is a dataclass
        declared = dict(vars(self.methods[method]))
        del declared["paper"], declared["datasets"], declared["group"]  # these change no result
        declared = {k: v for k, v in declared.items() if v or k not in ("tuning", "leaks")}
        # a class may move to another module, which changes no result
        declared["estimator"] = declared["estimator"].rpartition(".")[2]
        declared["grid"] = list(declared["grid"].items())  # their order decides ties
        return fingerprint([declared, digest_of(self.datasets[dataset]), asdict(protocol)])


@functools.lru_cache(maxsize=100)
def digest_of(dataset):
    """`Dataset.digest`, which reads the data, once."""
    return dataset.digest()


def fingerprint(content):
    """Short hash of what JSON can write; other objects count by their ``repr``."""
    text = json.dumps(content, sort_keys=True, default=_faithful)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _faithful(value):
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if " at 0x" in repr(value):
        raise ExperimentError(
            f"{value!r} cannot be told from others by its repr; declare numbers, strings or "
            "objects whose repr shows what they hold"
        )
    return repr(value)


def check_known(kind, name, names):
    """Raise unless `name` is among `names`, offering those that look alike."""
    if name in names:
        return name
    close = difflib.get_close_matches(str(name), list(names), cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names)}"
    raise ExperimentError(f"no {kind} is called {name!r}; {hint}")


def chapter_names():
    """Names of the declared chapters, in alphabetical order; none of them is imported."""
    package = importlib.import_module("fsnotes.replication.chapters")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def get_chapter(name):
    """The declared chapter of a name; no other is imported.

    Parameters
    ----------
    name : str

    Returns
    -------
    Chapter
    """
    check_known("chapter", name, chapter_names())
    return importlib.import_module(f"fsnotes.replication.chapters.{name}").CHAPTER


def all_chapters():
    """The declared chapters by name, in alphabetical order.

    Returns
    -------
    dict of str to Chapter
    """
    return {name: get_chapter(name) for name in chapter_names()}


def find(target):
    """Chapter and table of ``"chapter/table"``; the table is None for a chapter.

    Only the module of this chapter is imported.

    Parameters
    ----------
    target : str or Chapter

    Returns
    -------
    (Chapter, Table or None)
    """
    if isinstance(target, Chapter):
        return target, None
    if not isinstance(target, str):
        raise ExperimentError(f"chapter={shown(target)}; pass one of {', '.join(chapter_names())}")
    name, slash, table = target.partition("/")
    found = get_chapter(name) if name in chapter_names() else None
    if found is None or (slash and table not in found.tables):
        declared = all_chapters()
        everything = [f"{c.name}/{t}" for c in declared.values() for t in c.tables]
        check_known("chapter or table", target, [*declared, *everything])
    return found, found.tables[table] if slash else None
