"""Results for pages and terminals: tables of few columns, in HTML and in plain text."""

import html
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

from fsnotes.core.validation import shown
from fsnotes.replication import declare
from fsnotes.replication.declare import (
    MEASURES,
    Claim,
    ExperimentError,
    Misprint,
    check_known,
    find,
)
from fsnotes.replication.judge import compare, verdict
from fsnotes.replication.store import MissingResult, Results

MISSING = "\u2013"


@dataclass(frozen=True)
class Grid:
    """One table: a caption, a header, rows of texts, and the topic to which each row belongs."""

    caption: str
    header: tuple
    rows: tuple
    topics: tuple = ()


@dataclass(frozen=True)
class Rendered:
    """What the functions of this module return; pages show HTML, terminals text.

    Attributes
    ----------
    grids : tuple of Grid
    notes : tuple of str
        What holds for all of them.
    """

    grids: tuple
    notes: tuple = ()

    def _repr_html_(self):
        parts = [_html_of(grid) for grid in self.grids]
        parts += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        return "\n".join(parts)

    def __repr__(self):
        return "\n\n".join([*map(_text_of, self.grids), "\n".join(self.notes)]).strip()


def _html_of(grid):
    header = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in grid.header)
    rows = []
    for (name, *texts), topic in zip_longest(grid.rows, grid.topics, fillvalue=""):
        name = html.escape(name)
        # the book says where this leads; elsewhere it is no link
        name = f'<a data-topic="{html.escape(topic)}">{name}</a>' if topic else name
        # no line begins with a plus-minus sign
        texts = [html.escape(text).replace(" \u00b1 ", "\u00a0\u00b1\u00a0") for text in texts]
        cells = "".join(f"<td>{text}</td>" for text in texts)
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    return "\n".join(
        [
            f"<table>\n<caption>{html.escape(grid.caption)}</caption>",
            f"<thead><tr>{header}</tr></thead>\n<tbody>",
            *rows,
            "</tbody>\n</table>",
        ]
    )


def _text_of(grid):
    lines = [grid.header, *grid.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    written = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    written.insert(1, "-" * max(map(len, written)))
    return "\n".join([grid.caption, *written])


# ---------------------------------------------------------------- printed and measured


class Judged(NamedTuple):
    """A printed value, what we measure, and the verdict."""

    entry: declare.Printed
    estimate: object
    verdict: object


def judge_entries(chapter, table, results):
    """Every printed value of a table with its estimate (None without a result) and verdict."""
    rivals = {}
    for other in chapter.tables.values():
        for entry in other.printed:
            if other.source == table.source:
                rivals.setdefault(entry.quantity, []).append((other.place, entry))
    found = []
    for entry in table.printed:
        estimate, state = _estimate(results, *entry.quantity)
        against = [(place, e) for place, e in rivals[entry.quantity] if e is not entry]
        found.append(Judged(entry, estimate, verdict(entry, estimate, state=state, rivals=against)))
    return found


def _estimate(results, dataset, method, measure):
    try:
        cell = results.cell(dataset, method)
    except MissingResult as error:
        return None, error.state
    return cell.estimate(measure), "stale" if cell.is_stale else ""


def label_of(measure):
    """What tables call a measure."""
    return MEASURES[measure][0]


def _format_estimate(estimate, measure):
    if estimate is None:
        return MISSING
    digits = MEASURES[measure][1]
    return (
        f"{estimate.value:.{digits}f}".replace("-", "\u2212")
        + f" \u00b1 {estimate.high - estimate.value:.{digits}f}"
    )


def _format_p_value(p_value):
    return f"{p_value:.3f}" if p_value >= 0.0005 else "< 0.001"


def _paper_name(chapter, method):
    """What the paper calls a method."""
    return chapter.methods[method].paper or method


def replication_table(name, *, dataset=None, measure=None, folder=None, quick=False):
    """Printed values of a table beside ours, one table for each data set.

    Of a figure without printed values, ours alone.

    Parameters
    ----------
    name : str
        ``"chapter/table"``.
    dataset, measure : str, optional
        Only these.
    folder, quick
        As in `Results`.

    Returns
    -------
    Rendered
    """
    chapter, table = find(name)
    if table is None:
        raise ExperimentError(
            f"{name!r} is a chapter; pass one of its tables: "
            + ", ".join(f"{chapter.name}/{t}" for t in chapter.tables)
        )
    if not table.printed:
        return _measured_table(chapter, table, Results(chapter, folder, quick), dataset, measure)
    if dataset is not None:
        check_known("data set", dataset, {p.dataset: None for p in table.printed})
    if measure is not None:
        check_known("measure", measure, {p.measure: None for p in table.printed})
    results = Results(chapter, folder, quick)
    chosen = [
        found
        for found in judge_entries(chapter, table, results)
        if dataset in (None, found.entry.dataset) and measure in (None, found.entry.measure)
    ]
    in_order = sorted(chosen, key=lambda found: list(chapter.datasets).index(found.entry.dataset))
    paper = f"{chapter.papers[table.source]}, {table.place}"
    grids = []
    for key, part in groupby(in_order, key=lambda found: found.entry.dataset):
        part = list(part)
        beside = {
            title: others
            for title, others in table.beside.items()
            if any(found.entry.method in others for found in part)
        }
        header = ("", "printed", "measured", "verdict", *beside)
        rows = []
        for entry, estimate, judgement in part:
            row = [f"{_paper_name(chapter, entry.method)}: {label_of(entry.measure)}", entry.text]
            row += [_format_estimate(estimate, entry.measure), judgement.word]
            for others in beside.values():
                found, state = None, ""
                if entry.method in others:
                    quantity = entry.dataset, others[entry.method], entry.measure
                    found, state = _estimate(results, *quantity)
                shown = _format_estimate(found, entry.measure)
                row.append(f"{shown} {state}".rstrip() if found else shown)
            rows.append(tuple(row))
        label = chapter.datasets[key].label or key
        grids.append(Grid(f"{paper}: {label}", header, tuple(rows)))
    return Rendered(tuple(grids), tuple(_notes(table, results, chosen)))


def _measured_table(chapter, table, results, dataset, measure):
    """What we measure for a figure, whose numbers are not printed; one table for each data set."""
    if dataset is not None:
        check_known("data set", dataset, {d: None for d, _ in table.reads})
    grids = []
    for name, part in groupby(
        sorted(table.reads, key=lambda read: list(chapter.datasets).index(read[0])),
        key=lambda read: read[0],
    ):
        if dataset not in (None, name) or not chapter.datasets[name].is_present:
            continue
        methods = [method for _, method in part]
        measures = [measure] if measure else _measures_of(results, name, methods)
        rows = [
            (
                _paper_name(chapter, m),
                *(_format_estimate(_estimate(results, name, m, k)[0], k) for k in measures),
            )
            for m in methods
        ]
        label = chapter.datasets[name].label or name
        header = ("", *(label_of(k) for k in measures))
        grids.append(
            Grid(f"{chapter.papers[table.source]}, {table.place}: {label}", header, tuple(rows))
        )
    notes = list(_notes(table, results, ()))
    for name in dict.fromkeys(name for name, _ in table.reads):
        if dataset in (None, name) and not chapter.datasets[name].is_present:
            label = chapter.datasets[name].label or name
            notes.append(f"{label}: not available; supply {name}.npz to measure it.")
    return Rendered(tuple(grids), tuple(notes))


def _measures_of(results, dataset, methods):
    """Accuracy, and whichever count all methods that are there have."""
    cells = [results.cell(dataset, m) for m in methods if results.has(dataset, m)]
    counts = ("n_selected", "n_live", "n_kept", "n_distinct", "n_rows")
    shared = [k for k in counts if cells and all(cell.has_measure(k) for cell in cells)]
    return ["accuracy", *shared]


def _how(results):
    return (
        f"Measured: mean of {results.protocol}, \u00b1 half its 95 percent interval, corrected for "
        "overlapping splits."
    )


def _notes(table, results, chosen):
    yield f"{table.title}. {_how(results)}"
    if table.reduced:
        yield f"Against the paper: {table.reduced}."
    reasons = {}
    for found in chosen:
        if found.verdict.reason:
            reasons.setdefault(found.verdict, []).append(found.entry)
    for judgement, entries in reasons.items():
        first = entries[0]
        which = f"{first.dataset}, {_paper_name(results.chapter, first.method)}, {first.text}"
        if len(entries) > 1:
            which = f"{len(entries)} numbers"
        yield f"{which}: {judgement.word}; {judgement.reason}."


def comparison_table(
    chapter, dataset, *, measure="accuracy", methods=None, against=None, folder=None, quick=False
):
    """Methods compared pair by pair on the same folds, with Holm's correction.

    Parameters
    ----------
    chapter : str or Chapter
    dataset : str
    measure : str
    methods : sequence of str, optional
        By default all that have a result.
    against : str, optional
        Compare only with this one.

    Returns
    -------
    Rendered
        Its p values are those of `compare_paired` after `holm` over all rows.
    """
    chapter, _ = find(chapter)
    results = Results(chapter, folder, quick)
    if methods is None:
        methods = [m for m in chapter.methods if results.has(dataset, m)]
    elif not isinstance(methods, (list, tuple)):
        raise ExperimentError(f"methods={shown(methods)}; pass a list of names")
    cells = {m: results.cell(dataset, m) for m in methods}
    scores = {m: cell.scores(measure) for m, cell in cells.items()}
    if not scores:
        raise MissingResult(f"no results for {dataset!r}; {results.remedy()}", "not run")
    found = compare(scores, test_fraction=results.protocol.test_fraction, against=against)
    rows = tuple(
        (
            _paper_name(chapter, pair.second)
            if against
            else f"{_paper_name(chapter, pair.first)} less {_paper_name(chapter, pair.second)}",
            _format_estimate(pair.comparison, measure),
            _format_p_value(pair.comparison.p_value),
            _format_p_value(pair.p_adjusted),
            "stale"
            if cells[pair.first].is_stale or cells[pair.second].is_stale
            else "different"
            if pair.is_different
            else "not told apart",
        )
        for pair in found
    )
    label = chapter.datasets[dataset].label or dataset
    what = f"{_paper_name(chapter, against)}, less another method" if against else "Differences"
    caption = f"{what}, on {label}: {label_of(measure)}"
    header = ("", "difference", "p", "p (Holm)", "at 5 percent")
    note = f"Paired over the folds of {results.protocol}, corrected for overlapping splits."
    return Rendered((Grid(caption, header, rows),), (note,))


def supports(chapter, dataset, method, *, folder=None, quick=False):
    """How often each feature was selected, over all folds.

    Returns
    -------
    ndarray of shape (n_features,)
        From 0 to 1, in the order of the columns.
    """
    chapter, _ = find(chapter)
    return Results(chapter, folder, quick).cell(dataset, method).supports.mean(axis=0)


# ---------------------------------------------------------------- claims


class Judgement(NamedTuple):
    """A claim, a misprint or a whole table of a paper, with its verdict."""

    paper: str
    place: str
    text: str
    verdict: str
    topic: str
    rule: str = ""


def claims(chapter=None, *, folder=None, quick=False):
    """Claims, misprints and tables, with verdicts by rule.

    Parameters
    ----------
    chapter : str or Chapter, optional
        By default all chapters.
    folder, quick
        As in `Results`.

    Returns
    -------
    list of Judgement
        A table "agrees" if none of its numbers differs or is impossible; the counts stand in its
        text, and misprints and impossible values follow on lines of their own. A claim's rule says
        how it is judged, and its topic, ``"chapter"`` or ``"chapter-topic"``, what it is about.
    """
    chapters = declare.all_chapters().values() if chapter is None else [find(chapter)[0]]
    found = []
    for chapter in chapters:
        results = Results(chapter, folder, quick)
        for table in chapter.tables.values():
            if table.printed:
                found += _of_table(chapter, table, results)
        found += [_of_claim(chapter, claim, results) for claim in chapter.claims]
    return found


def _of_table(chapter, table, results):
    everything = judge_entries(chapter, table, results)
    words = [found.verdict.word for found in everything]
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    shown = ", ".join(f"{word} {count}" for word, count in counts.items())
    paper = chapter.papers[table.source]
    topic = topic_of(chapter)
    graver = ("not run", "stale", "differs", "impossible", "agrees", *counts)
    word = next(word for word in graver if word in counts)
    yield Judgement(paper, table.place, f"{table.title}: {shown}", word, topic)
    for entry, _, judgement in everything:
        if judgement.word in ("misprint", "impossible"):
            name = _paper_name(chapter, entry.method)
            text = f"{entry.dataset}, {name}, {label_of(entry.measure)}: {entry.text} is printed; "
            yield Judgement(paper, table.place, text + judgement.reason, judgement.word, topic)


def topic_of(chapter, topic=""):
    """The name by which a book finds the passage on a topic of a chapter, or on its tables."""
    return "-".join([chapter.name.replace("_", "-"), *([topic] if topic else [])])


def _of_claim(chapter, claim, results):
    paper = chapter.papers[claim.paper]
    topic = topic_of(chapter, claim.topic)
    if isinstance(claim, Misprint):
        text = f"{claim.text}; right: {claim.right}"
        return Judgement(paper, claim.place, text, "misprint", topic)
    assert isinstance(claim, Claim)
    stale = []

    def read(dataset, method):
        cell = results.cell(dataset, method)
        stale.append(cell.is_stale)
        return cell

    try:
        word = {True: "agrees", False: "differs", None: "undecided"}[claim.check(read)]
    except MissingResult as error:
        word = error.state
    word = "stale" if any(stale) else word
    return Judgement(paper, claim.place, claim.text, word, topic, claim.rule)


def verdict_table(*, paper=None, folder=None, quick=False):
    """The claims of all chapters as tables, one for each paper.

    In HTML the place of each bears the topic, which a book turns into a link.

    Parameters
    ----------
    paper : str, optional
        A key of the bibliography; only what this paper says.

    Returns
    -------
    Rendered
    """
    names = {k: name for c in declare.all_chapters().values() for k, name in c.papers.items()}
    if paper is not None:
        check_known("paper", paper, names)
    grids = []
    everything = claims(folder=folder, quick=quick)
    for name in dict.fromkeys(found.paper for found in everything):
        mine = [found for found in everything if found.paper == name]
        if paper is None or names[paper] == name:
            rows = tuple((found.place, found.text, found.verdict) for found in mine)
            topics = tuple(found.topic for found in mine)
            grids.append(Grid(name, ("place", "what it says", "verdict"), rows, topics))
    return Rendered(tuple(grids))


def summary(chapter, table, results):
    """A line for lists of tables."""
    names = table.cells()
    done = sum(results.has(*name) for name in names)
    return f"{chapter.name}/{table.name}  {done}/{len(names)} cells  {table.title}"
