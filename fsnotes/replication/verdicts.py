"""What becomes of what the papers say: claims, tables, misprints, and what needs no verdict."""

import functools
import html
import inspect
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from fsnotes.replication import declare
from fsnotes.replication.declare import Claim, Covered, Misprint, check_known, find
from fsnotes.replication.judge import WORDS, Verdict, compare, replication_interval
from fsnotes.replication.render import (
    Grid,
    Rendered,
    judge_entries,
    label_of,
    paper_name,
    text_of,
)
from fsnotes.replication.store import MissingResult, Results

COVERED = "covered"
MANY = 3  # data sets or methods that a line names, at most
ENOUGH = 10  # repeats of a cell, to judge one half by the other
LARGEST_FAMILY = 6  # methods that the audit compares with one another


class Judgement(NamedTuple):
    """What a paper says, with a verdict, the evidence for it, and what to take from it."""

    paper: str  # its key in the bibliography
    place: str
    text: str
    verdict: str  # one of `WORDS`, of a table how many of its numbers agree, or "covered"
    topic: str  # by which a book finds the passage
    rule: str = ""  # how it is judged
    evidence: str = ""  # what was measured for it
    departures: str = ""  # of what was measured from the paper's protocol
    lesson: str = ""
    kind: str = "statement"  # or "table", or "number": one of a table, which is counted with it
    words: tuple = ()  # all verdicts that it holds, of a table one a number; of a number none


def claims(chapter=None, *, paper=None, folder=None, quick=False):
    """What the papers say, with verdicts by rule.

    Parameters
    ----------
    chapter : str or Chapter, optional
        By default all chapters.
    paper : str, optional
        A key of the bibliography; by default all papers.
    folder, quick
        As in `Results`.

    Returns
    -------
    list of Judgement
        Tables, claims, misprints and what is covered without a verdict. No number speaks for a
        table: its verdict says how many agree. Misprints and impossible values follow on lines of
        their own. The topic is ``"chapter"`` or ``"chapter-topic"``.
    """
    chapters = declare.all_chapters().values() if chapter is None else [find(chapter)[0]]
    found = []
    for chapter in chapters:
        if paper is not None and paper not in chapter.papers:
            continue
        results = Results(chapter, folder, quick)
        for table in chapter.tables.values():
            if table.printed:
                found += _of_table(chapter, table, results)
        found += [_of_statement(chapter, statement, results) for statement in chapter.claims]
    return [line for line in found if paper in (None, line.paper)]


def topic_of(chapter, topic=""):
    """The name by which a book finds the passage on a topic of a chapter, or on its tables."""
    return "-".join([chapter.name.replace("_", "-"), *([topic] if topic else [])])


def _of_table(chapter, table, results):
    everything = judge_entries(chapter, table, results)
    words = Counter(found.verdict.word for found in everything)
    topic = topic_of(chapter)
    counts = ", ".join(f"{word} {words[word]}" for word in WORDS if word in words)
    rule = f"Number by number: {counts}."
    for title, reading in table.readings.items():
        judged = judge_entries(chapter, table, results, reading)
        here = {found.entry.quantity for found in judged if found.verdict.word == "agrees"}
        usual = {found.entry.quantity for found in everything if found.verdict.word == "agrees"}
        among = usual & {found.entry.quantity for found in judged}
        rule += f" With {title}, {len(here)} of {len(judged)} agree, instead of {len(among)}."
    yield Judgement(
        table.source,
        table.place,
        table.title,
        _agreement(words),
        topic,
        rule=rule,
        evidence=_evidence({found.entry.quantity[:2] for found in everything}, chapter, results),
        departures=table.reduced or "",
        lesson=table.lesson,
        kind="table",
        words=tuple(words.elements()),
    )
    for entry, _, _, judgement in everything:
        if judgement.word in ("misprint", "impossible"):
            name = paper_name(chapter, entry.method)
            text = f"{entry.dataset}, {name}, {label_of(entry.measure)}: {entry.text}"
            yield Judgement(
                table.source,
                table.place,
                text,
                judgement.word,
                topic,
                rule=judgement.reason,
                kind="number",
            )


def _agreement(words):
    """How many numbers agree of those that can be compared; if none can, the word of most."""
    comparable = words["agrees"] + words["differs"]
    if not comparable:
        return max(words, key=lambda word: (words[word], -WORDS.index(word)))
    return f"{words['agrees']} of {comparable} agree"


def _of_statement(chapter, statement, results):
    topic = topic_of(chapter, statement.topic)
    if isinstance(statement, Misprint):
        text = f"{statement.text}; right: {statement.right}"
        found = Judgement(statement.paper, statement.place, text, "misprint", topic)
    elif isinstance(statement, Covered):
        found = Judgement(statement.paper, statement.place, statement.text, COVERED, topic)
    else:
        found = _of_claim(chapter, statement, results, topic)
    return found._replace(words=(found.verdict,))


def _of_claim(chapter, claim, results, topic):
    assert isinstance(claim, Claim)
    asked = {}

    def read(dataset, method):
        asked[dataset, method] = cell = results.cell(dataset, method)
        return cell

    reason = ""
    try:
        answer = claim.check(read) if _reads(claim.check) else _answer_of(claim.check)
    except MissingResult as error:
        word = error.state
    else:
        word = "false" if claim.proof else "differs"
        if isinstance(answer, Verdict):
            word, reason = answer
        elif answer is None or answer:
            word = "undecided" if answer is None else "agrees"
    if any(cell.is_stale for cell in asked.values()):
        word = "stale"
    return Judgement(
        claim.paper,
        claim.place,
        quoted(claim.quote),
        word,
        topic,
        rule=_criterion(claim.rule),
        evidence=reason or _evidence(asked, chapter, results),
        departures=_departures(asked, chapter) if claim.departures is None else claim.departures,
        lesson=claim.lesson,
    )


def _reads(check):
    """Whether a check needs results: it takes them by an argument that has no default."""
    [read, *_] = inspect.signature(check).parameters.values()
    return read.default is read.empty


@functools.cache
def _answer_of(check):
    """What a check finds that needs no results, and finds the same each time."""
    return check()


def _criterion(rule):
    """What is asked, which need not be what was found."""
    if rule.startswith("Not "):
        return rule
    is_word = rule[:1].isupper() and not rule[1:2].isupper() and not rule[1:2].isdigit()
    return "Agrees if " + (rule[:1].lower() + rule[1:] if is_word else rule)


def quoted(words):
    """The words of a paper in quotation marks; those in square brackets are ours."""
    return words if words.startswith("[") else f"\u201c{words}\u201d"


def _evidence(names, chapter, results):
    """What was measured: data sets, methods and protocol."""
    if not names:
        return ""
    datasets = list(dict.fromkeys(dataset for dataset, _ in sorted(names)))
    methods = list(dict.fromkeys(paper_name(chapter, m) for _, m in sorted(names)))
    sets = ", ".join(datasets) if len(datasets) <= 2 * MANY else f"{len(datasets)} data sets"
    machines = ", ".join(methods) if len(methods) <= MANY else f"{len(methods)} settings"
    return f"{sets}; {machines}; {results.protocol}"


def _departures(names, chapter):
    """What the tables whose cells are read leave out of the paper's protocol."""
    found = [
        table.reduced
        for table in chapter.tables.values()
        if table.reduced and not set(table.cells()).isdisjoint(names)
    ]
    return "; ".join(dict.fromkeys(part for text in found for part in text.split("; ")))


# ---------------------------------------------------------------- what readers see


def papers():
    """Authors and year of each paper, by its key, the oldest first."""
    found = {key: name for c in declare.all_chapters().values() for key, name in c.papers.items()}
    return dict(sorted(found.items(), key=lambda item: (item[0][-4:], item[0])))


def word_table(*, folder=None, quick=False):
    """How many statements and printed numbers of each paper have which verdict.

    Returns
    -------
    Rendered
        One table, with a row for each word and a column for each paper.
    """
    everything = claims(folder=folder, quick=quick)
    names = papers()
    counts = {}
    for key in names:
        mine = [found for found in everything if found.paper == key]
        numbers = Counter(w for found in mine if found.kind == "table" for w in found.words)
        statements = Counter(found.verdict for found in mine if found.kind == "statement")
        counts[key] = statements, numbers
    rows = []
    for word in WORDS:
        pairs = [(statements[word], numbers[word]) for statements, numbers in counts.values()]
        if any(map(any, pairs)):
            rows.append((word, *(f"{a} + {b}" if a or b else "\u2013" for a, b in pairs)))
    caption = "Statements and printed numbers, by verdict"
    note = "The first of two counts statements in words and slips, the second numbers of tables."
    return Rendered((Grid(caption, ("", *names.values()), tuple(rows)),), (note,))


@dataclass(frozen=True)
class Verdicts:
    """The statements of the papers as a list that a page filters by paper and word."""

    found: tuple

    def _repr_html_(self):
        names = papers()
        keys = list(dict.fromkeys(line.paper for line in self.found))
        words = [w for w in (*WORDS, COVERED) if any(w in line.words for line in self.found)]
        parts = ['<div class="fsn-verdicts">', _style(keys, words)]
        if len(keys) > 1:
            parts.append(_choice("paper", "Paper", {key: names[key] for key in keys}))
        parts.append(_choice("word", "Verdict", {word.replace(" ", "-"): word for word in words}))
        for key, lines in groupby(self.found, key=lambda line: line.paper):
            rows = "\n".join(map(_row, lines))
            parts.append(
                f'<table data-paper="{key}">\n<caption>{html.escape(names[key])}</caption>\n'
                '<thead><tr><th scope="col">place</th><th scope="col">what it says</th>'
                f'<th scope="col">verdict</th></tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'
            )
        return "\n".join([*parts, "</div>"])

    def __repr__(self):
        names = papers()
        grids = []
        for key, lines in groupby(self.found, key=lambda line: line.paper):
            rows = tuple((line.place, line.text, line.verdict) for line in lines)
            grids.append(Grid(names[key], ("place", "what it says", "verdict"), rows))
        return "\n\n".join(map(text_of, grids))


def verdict_list(*, paper=None, folder=None, quick=False):
    """All that the papers say, with verdicts, evidence and lessons.

    In HTML the list can be filtered by paper and by verdict, and the place of each statement bears
    its topic, which a book turns into a link.

    Parameters
    ----------
    paper : str, optional
        A key of the bibliography; only what this paper says.

    Returns
    -------
    Verdicts
    """
    names = papers()
    if paper is not None:
        check_known("paper", paper, names)
    order = list(names)
    found = claims(paper=paper, folder=folder, quick=quick)
    return Verdicts(tuple(sorted(found, key=lambda line: order.index(line.paper))))


def _style(keys, words):
    """Rules by which what is not chosen is hidden; without them everything is shown."""
    rules = [
        f".fsn-verdicts:has(#fsn-paper-{key}:checked) table:not([data-paper={key}])" for key in keys
    ]
    for word in words:
        name = word.replace(" ", "-")
        chosen = f".fsn-verdicts:has(#fsn-word-{name}:checked)"
        rules.append(f'{chosen} tr[data-words]:not([data-words~="{name}"])')
    return "<style>" + ",\n".join(rules) + " { display: none }</style>"


def _choice(name, legend, options):
    """A group of radio buttons, the first of which hides nothing."""
    buttons = [
        f'<label><input type="radio" name="fsn-{name}" id="fsn-{name}-{key}"'
        f"{' checked' * (key == 'all')}> {html.escape(text)}</label>"
        for key, text in ({"all": "all"} | options).items()
    ]
    return f"<fieldset><legend>{legend}</legend>{' '.join(buttons)}</fieldset>"


def _row(line):
    words = " ".join(w.replace(" ", "-") for w in dict.fromkeys(line.words or (line.verdict,)))
    details = [
        ("Judged", line.rule),
        ("Measured", line.evidence),
        ("Departs from the paper", line.departures),
        ("To take away", line.lesson),
    ]
    shown = "".join(f"<dt>{name}</dt><dd>{with_code(text)}</dd>" for name, text in details if text)
    text = html.escape(line.text)
    if shown:
        text = f"<details><summary>{text}</summary><dl>{shown}</dl></details>"
    place = f'<a data-topic="{html.escape(line.topic)}">{html.escape(line.place)}</a>'
    return (
        f'<tr data-words="{words}"><th scope="row">{place}</th><td>{text}</td>'
        f"<td>{html.escape(line.verdict)}</td></tr>"
    )


def with_code(text):
    """Text as HTML, with what stands in backticks as code."""
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", html.escape(text))


# ---------------------------------------------------------------- do the rules judge rightly?


def rules_audit(*, draws=200, shift=3.0, folder=None):
    """How often the rules are right about results of which the answer is known.

    Half of the repeats of a stored cell stand for ours, and the other half for what a paper prints:
    such numbers should agree. Moved by some points, they should differ, wherever the interval
    reaches no farther than two thirds of that. And methods that are the same should not be called
    different: they are made the same by exchanging them at random, in each repeat anew. Cells of
    ten repeats and more are asked.

    Parameters
    ----------
    draws : int, default=200
        Of random exchanges.
    shift : float, default=3.0
        Points of accuracy.
    folder
        As in `Results`.

    Returns
    -------
    Rendered
    """
    agreed, moved = [], []
    families = []
    for chapter in declare.all_chapters().values():
        results = Results(chapter, folder)
        repeats = results.protocol.repeats
        if repeats < ENOUGH:
            continue
        scores = {}
        for dataset, method in chapter.cells():
            if results.has(dataset, method):
                found = results.cell(dataset, method).scores("accuracy").reshape(repeats, -1)
                scores.setdefault(dataset, []).append(found)
                interval = replication_interval(found[::2].mean(axis=1), repeats // 2)
                other = found[1::2].mean()
                agreed.append(interval.low <= other <= interval.high)
                if interval.high - interval.low <= 4 / 3 * shift:
                    moved.append(not interval.low <= other + shift <= interval.high)
        fraction = results.protocol.test_fraction
        families += [(some, fraction) for some in scores.values() if len(some) > 1]
    rng = np.random.default_rng(0)
    alarms = []
    if families:
        turns = itertools.islice(itertools.cycle(families), draws)
        alarms = [_is_alarmed(*family, rng) for family in turns]
    rows = [
        ("replications that agree", agreed),
        (f"numbers moved by {shift:g} points that differ", moved),
        ("families of identical methods called different", alarms),
    ]
    shown = tuple(
        (name, str(len(found)), f"{100 * np.mean(found):.1f}%") for name, found in rows if found
    )
    return Rendered((Grid("The rules, where the answer is known", ("", "cases", "part"), shown),))


def _is_alarmed(scores, test_fraction, rng):
    """Whether some of a few methods, made the same by exchanges, are called different."""
    some = rng.permutation(len(scores))[:LARGEST_FAMILY]
    table = np.array([scores[k] for k in some])  # by method, repeat and split
    for repeat in range(table.shape[1]):
        table[:, repeat] = rng.permutation(table[:, repeat])
    methods = dict(enumerate(table.reshape(len(table), -1)))
    return any(pair.is_different for pair in compare(methods, test_fraction=test_fraction))
