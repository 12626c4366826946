"""Results for pages and terminals: tables of few columns, in HTML and in plain text."""

import html
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

from fsnotes.core.validation import shown
from fsnotes.replication.declare import (
    MEASURES,
    OURS,
    ExperimentError,
    Printed,
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
        return "\n\n".join([*map(text_of, self.grids), "\n".join(self.notes)]).strip()


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


def text_of(grid):
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

    entry: Printed
    estimate: object  # the mean, with the interval of new data
    replicated: object  # the mean, with the interval of a replication
    verdict: object


def judge_entries(chapter, table, results, reading=None):
    """Every printed value of a table with what we measure (None without a result) and verdict.

    A reading maps methods to those that read what the paper leaves open in another way, and whose
    results are taken; what it does not name is left out.
    """
    rivals = {}
    for other in chapter.tables.values():
        for entry in other.printed:
            if other.source == table.source:
                rivals.setdefault(entry.quantity, []).append((other.place, entry))
    found = []
    for entry in table.printed:
        if reading is not None and entry.method not in reading:
            continue
        method = entry.method if reading is None else reading[entry.method]
        quantity = entry.dataset, method, entry.measure
        estimate, state = _estimate(results, *quantity)
        replicated = None
        if entry.measure == "stability":  # a number that all folds have together, and no repeat
            state = state or "not comparable"
        elif estimate is not None:
            replicated = results.cell(*quantity[:2]).replicated(entry.measure, table.repeats)
        against = [(place, e) for place, e in rivals[entry.quantity] if e is not entry]
        judgement = verdict(entry, replicated, state=state, rivals=against)
        found.append(Judged(entry, estimate, replicated, judgement))
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
    value = f"{estimate.value:.{digits}f}".replace("-", "\u2212")
    return f"{value} {_half(estimate, measure)}"


def _half(estimate, measure):
    """Half of an interval, with its sign."""
    if estimate is None:
        return MISSING
    return f"\u00b1 {estimate.high - estimate.value:.{MEASURES[measure][1]}f}"


def _format_p_value(p_value):
    return f"{p_value:.3f}" if p_value >= 0.0005 else "< 0.001"


def source_of(chapter, table):
    """Whose experiment a table is, and where it stands."""
    if table.place == OURS:
        return "Ours"
    return f"{chapter.papers[table.source]}, {table.place}"


def paper_name(chapter, method):
    """What the paper calls a method."""
    return chapter.methods[method].paper or method


def replication_table(name, *, dataset=None, measure=None, reading=None, folder=None, quick=False):
    """Printed values of a table beside ours, one table for each data set.

    Of a figure without printed values, ours alone.

    Parameters
    ----------
    name : str
        ``"chapter/table"``.
    dataset, measure : str, optional
        Only these.
    reading : str, optional
        What the paper leaves open, read in this of the ways that the table names; only the numbers
        that depend on it.
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
    if reading is not None:
        check_known("reading", reading, table.readings)
    results = Results(chapter, folder, quick)
    chosen = [
        found
        for found in judge_entries(chapter, table, results, table.readings.get(reading))
        if dataset in (None, found.entry.dataset) and measure in (None, found.entry.measure)
    ]
    in_order = sorted(chosen, key=lambda found: list(chapter.datasets).index(found.entry.dataset))
    source = source_of(chapter, table)
    source += f", {reading}" if reading else ""
    grids = []
    for key, part in groupby(in_order, key=lambda found: found.entry.dataset):
        part = list(part)
        beside = {
            title: others
            for title, others in table.beside.items()
            if any(found.entry.method in others for found in part)
        }
        header = ("", "printed", "replicated (new data)", "verdict", *beside)
        rows = []
        for entry, estimate, replicated, judgement in part:
            row = [f"{paper_name(chapter, entry.method)}: {label_of(entry.measure)}", entry.text]
            measured = _format_estimate(replicated, entry.measure)
            if replicated is not None:
                measured += f" ({_half(estimate, entry.measure)})"
            row += [measured, judgement.word]
            for others in beside.values():
                found, state = None, ""
                if entry.method in others:
                    quantity = entry.dataset, others[entry.method], entry.measure
                    found, state = _estimate(results, *quantity)
                shown = _format_estimate(found, entry.measure)
                row.append(f"{shown} {state}".rstrip() if found else shown)
            rows.append(tuple(row))
        label = chapter.datasets[key].label or key
        grids.append(Grid(f"{source}: {label}", header, tuple(rows)))
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
                paper_name(chapter, m),
                *(_format_estimate(_estimate(results, name, m, k)[0], k) for k in measures),
            )
            for m in methods
        ]
        label = chapter.datasets[name].label or name
        header = ("", *(label_of(k) for k in measures))
        grids.append(Grid(f"{source_of(chapter, table)}: {label}", header, tuple(rows)))
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


def _notes(table, results, chosen):
    how = f"Measured: mean of {results.protocol}"
    if chosen:
        how += (
            ". Replicated: with the interval in which 99 of 100 replications lie, of these data "
            "and other splits, by which the verdict goes. New data, in brackets: half the 95 "
            "percent interval of a mean over other data, corrected for overlapping splits"
        )
    else:
        how += ", \u00b1 half its 95 percent interval, corrected for overlapping splits"
    yield f"{table.title}. {how}."
    if table.reduced:
        yield f"Against the paper: {table.reduced}."
    reasons = {}
    for found in chosen:
        if found.verdict.reason:
            reasons.setdefault(found.verdict, []).append(found.entry)
    for judgement, entries in reasons.items():
        first = entries[0]
        which = f"{first.dataset}, {paper_name(results.chapter, first.method)}, {first.text}"
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
            paper_name(chapter, pair.second)
            if against
            else f"{paper_name(chapter, pair.first)} less {paper_name(chapter, pair.second)}",
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
    what = f"{paper_name(chapter, against)}, less another method" if against else "Differences"
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


def summary(chapter, table, results):
    """A line for lists of tables."""
    names = table.cells()
    done = sum(results.has(*name) for name in names)
    return f"{chapter.name}/{table.name}  {done}/{len(names)} cells  {table.title}"
