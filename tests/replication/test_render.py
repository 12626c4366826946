"""What readers see: tables, verdicts on claims, commands."""

import re
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from tiny import MPM, TINY, copy_fixture, declared, done_fixture, named_fixture, quietly  # noqa: F401

from fsnotes.replication import Claim, Method, Table, claims, compare, engine, printed
from fsnotes.replication.__main__ import main
from fsnotes.replication.declare import ExperimentError, digest_of
from fsnotes.replication.render import comparison_table, replication_table
from fsnotes.replication.store import MissingResult, Results
from fsnotes.replication.verdicts import verdict_list, word_table


def columns(html):
    return [len(re.findall(r"<t[hd]\b", row)) for row in re.findall(r"<tr>.*?</tr>", html)]


def test_a_replication_table_has_all_that_a_reader_needs(named, done, tmp_path):
    shown = replication_table("tiny/one", folder=done)
    html = shown._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 2
    assert set(columns(html)) == {5}
    assert "<caption>Xu, King and Lyu (2007), Table 1: pima</caption>" in html
    assert '<th scope="row">MPM &lt;all&gt;: accuracy (%)</th>' in html and "<all>" not in html
    assert "less of everything" in html and "2 times 4-fold" in html
    cell = Results(TINY, done).cell("pima", "mpm")
    replicated = cell.replicated("accuracy")
    near = f"{replicated.value:.1f} ± {replicated.high - replicated.value:.1f}"
    new = cell.estimate("accuracy")
    both = rf"{near} \(± {new.high - new.value:.1f}\)"
    line = rf"accuracy \(%\) +75\.0 +{both} +agrees +–"
    assert re.search(line, repr(shown))
    assert re.search(r"L1: accuracy \(%\) +10\.5 .*differs", repr(shown))
    beside = Results(TINY, done).cell("pima", "l1-raw").estimate("accuracy")
    assert f"{beside.value:.1f} ± " in repr(shown)
    only = replication_table("tiny/one", dataset="pima", measure="n_selected", folder=done)
    assert [len(grid.rows) for grid in only.grids] == [1]
    # the reasons are those of what is shown
    assert "misprint" not in repr(only)
    contradicted = repr(replication_table("tiny/two", folder=done))
    assert re.search(r"17\.0 .*misprint", contradicted) and "Table 1 prints 75.0" in contradicted
    assert "refitted" not in contradicted
    empty = repr(replication_table("tiny/one", folder=tmp_path))
    assert empty.count("not run") == 5 and "agrees" not in empty


def test_refused_tables(named, done):
    with pytest.raises(ExperimentError, match="'tiny' is a chapter.*tiny/one, tiny/two"):
        replication_table("tiny", folder=done)
    with pytest.raises(ExperimentError, match="did you mean tiny/one"):
        replication_table("tiny/on", folder=done)
    for table in ("tiny/one", "tiny/three"):
        with pytest.raises(ExperimentError, match="data set"):
            replication_table(table, dataset="sonar", folder=done)


def test_a_figure_shows_what_is_measured(named, done):
    [grid] = replication_table("tiny/three", folder=done).grids
    assert grid.header == ("", "accuracy (%)", "features")
    cell = Results(TINY, done).cell("pima", "l1")
    [(name, accuracy, features)] = grid.rows
    assert name == "L1" and accuracy.startswith(f"{cell.estimate('accuracy').value:.1f} ")
    assert features.startswith(f"{cell.estimate('n_selected').value:.2f} ")
    [grid] = replication_table("tiny/three", measure="psf", folder=done).grids
    assert grid.header == ("", "features (%)") and len(grid.rows[0]) == 2


def test_tables_say_what_is_left_out_and_what_stands_beside(done):
    beside = {"refitted": {"l1": "l1-raw"}, "tuned": {"l1": "tuned", "mpm": "tuned"}}
    one = replace(TINY.tables["one"], beside=beside)
    three = replace(TINY.tables["three"], reduced="fewer of them")
    with declared(replace(TINY, tables=(one, three), claims=())):
        shown = replication_table("tiny/three", folder=done)
        several = replication_table("tiny/one", dataset="pima", measure="accuracy", folder=done)
    assert shown.notes[0].startswith("A figure. Measured") and len(shown.notes) == 2
    assert shown.notes[1] == "Against the paper: fewer of them."
    [grid] = several.grids
    new = "replicated (new data)"
    assert grid.header == ("", "printed", new, "verdict", "refitted", "tuned")
    assert all(re.fullmatch(r"[\d.]+ ± [\d.]+ \(± [\d.]+\)", row[2]) for row in grid.rows)
    tuned = f"{Results(TINY, done).cell('pima', 'tuned').estimate('accuracy').value:.1f} ±"
    assert grid.rows[0][4] == "–" and all(row[5].startswith(tuned) for row in grid.rows)


def test_a_comparison_table_shows_corrected_p_values(done):
    shown = comparison_table(TINY, "pima", methods=["mpm", "l1", "svc"], folder=done)
    [grid] = shown.grids
    assert len(grid.rows) == 3 and set(columns(shown._repr_html_())) == {5}
    cells = Results(TINY, done)
    scores = {m: cells.cell("pima", m).scores("accuracy") for m in ("mpm", "l1", "svc")}
    pairs = compare(scores, test_fraction=0.25)
    assert [row[3] for row in grid.rows] == [f"{pair.p_adjusted:.3f}" for pair in pairs]
    assert grid.rows[0][0] == "MPM <all> less L1"
    against = comparison_table(TINY, "pima", against="mpm", folder=done)
    assert len(against.grids[0].rows) == 4
    counts = comparison_table(
        TINY, "pima", measure="n_selected", methods=["mpm", "l1"], folder=done
    )
    assert counts.grids[0].rows[0][4] == "different"


def test_readings_are_judged_beside_the_table(done):
    """Printed numbers are judged by each reading of what the paper leaves open."""
    read_as = {"raw columns": {"l1": "l1-raw"}}
    one = replace(TINY.tables["one"], readings=read_as)
    with declared(replace(TINY, tables=(one,), claims=())):
        shown = replication_table("tiny/one", reading="raw columns", folder=done)
        [line, *_] = claims(folder=done)
        with pytest.raises(ExperimentError, match="reading"):
            replication_table("tiny/one", reading="raw", folder=done)
    cell = Results(TINY, done).cell("pima", "l1-raw")
    near = f"{cell.replicated('accuracy').value:.1f} ± "
    assert all(row[0].startswith("L1: ") for grid in shown.grids for row in grid.rows)
    assert "raw columns" in shown.grids[0].caption and near in repr(shown)
    assert re.search(r"With raw columns, \d of \d agree, instead of \d", line.rule)


def test_claims_get_verdicts_by_rule(named, done, tmp_path):
    found = claims(folder=done)
    lines = {line.text: line for line in found}
    assert lines["\u201cL1 selects fewer\u201d"].verdict == "agrees"
    assert lines["\u201cL1 selects them all\u201d"].verdict == "differs"
    assert lines["\u201cit is so\u201d"].verdict == "false"
    assert lines["[it cannot be]"].verdict == "infeasible"
    assert lines["[it cannot be]"].evidence == "nobody has it"
    assert lines["less is printed; right: more"].verdict == "misprint"
    assert lines["what is told"].verdict == "covered"
    table = lines["A title"]
    assert table.verdict == "3 of 5 agree" and table.words.count("differs") == 2
    assert "agrees 3, differs 2" in table.rule and "less of everything" in table.departures
    assert lines["Another"].verdict == "misprint" and lines["Another"].kind == "table"
    fewer = lines["\u201cL1 selects fewer\u201d"]
    assert "pima" in fewer.evidence and "4-fold" in fewer.evidence and fewer.lesson == "few"
    assert fewer.departures == "less of everything" and fewer.rule == "Agrees if in the mean."
    [misprint] = [line for line in found if line.text.endswith("17.0")]
    assert misprint.verdict == "misprint" and "Table 1 prints 75.0" in misprint.rule
    assert claims("tiny", folder=done) == found
    words = {line.text: line.verdict for line in claims(folder=tmp_path)}
    assert words["\u201cL1 selects fewer\u201d"] == "not run"
    assert words["\u201ctwo is two\u201d"] == "agrees" and words["A title"] == "not run"


def test_the_list_of_verdicts_can_be_filtered_and_says_why(named, done):
    shown = verdict_list(folder=done)
    html = shown._repr_html_()
    # the book says where these lead
    assert '<th scope="row"><a data-topic="tiny-size">Section 1</a></th>' in html
    assert '<a data-topic="tiny">Section 2</a>' in html and "href" not in html
    assert set(columns(html)) == {3} and "<caption>Xu, King and Lyu (2007)</caption>" in html
    assert len(shown.found) == len(claims(folder=done))
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(ids) == len(set(ids)) and "fsn-word-agrees" in ids
    assert "fsn-paper-all" not in ids  # there is but one paper
    # each choice but all has a rule that hides the other lines
    hidden = html[html.index("<style>") : html.index("</style>")]
    assert all(f"#{name}:checked" in hidden for name in ids if not name.endswith("-all"))
    table = re.search(r'<tr data-words="([^"]+)"><th scope="row"><a[^>]*>Table 1</a>', html)
    assert set(table[1].split()) == {"agrees", "differs"}
    assert "<dt>To take away</dt><dd>few</dd>" in html and html.count("<details>") >= 3
    assert verdict_list(paper="xu2007", folder=done) == shown
    assert "3 of 5 agree" in repr(shown) and "<" not in repr(shown).replace("<all>", "")
    with pytest.raises(ExperimentError, match="paper"):
        verdict_list(paper="xu2008", folder=done)


def test_the_table_of_words_counts_statements_and_numbers(named, done):
    [grid] = word_table(folder=done).grids
    counts = {word: count for word, count in grid.rows}
    assert counts["agrees"] == "2 + 3" and counts["differs"] == "1 + 2"
    assert counts["false"] == "1 + 0" and counts["infeasible"] == "1 + 0"
    # one slip; and a number of a table, which has a line of its own and counts once
    assert counts["misprint"] == "1 + 1"


# ---------------------------------------------------------------- commands


def test_commands(named, tmp_path, capsys):
    def said(*command):
        """What a command prints that succeeds."""
        assert main([*command, "--results", str(tmp_path)]) == 0
        return capsys.readouterr()

    assert "tiny/one  0/6 cells  A title" in said("list").out
    assert main(["show", "tiny/one", "--results", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "no results for tiny/one; run `python -m fsnotes.replication run tiny` first" in error
    out, bar = said("run", "tiny/one", "--jobs", "1")
    assert f"6 cells computed, 0 were there: {tmp_path / 'tiny.jsonl'}" in out
    assert re.search(r"tiny:.*48/48 \[\d\d:\d\d<\d\d:\d\d", bar)
    assert "1 cells computed, 0 were there" in said("run", "tiny/two", "--again").out
    assert "agrees" in said("show", "tiny/one").out
    assert "tiny/one  6/6" in said("list").out
    assert "A title" in said("show", "tiny").out
    assert "tiny.quick.jsonl" in said("run", "tiny", "--quick", "--only", "pima/mpm").out
    assert "1 times 4-fold" in said("show", "tiny/two", "--quick").out


@pytest.mark.parametrize(
    "command, said",
    [
        ("run tini/one", "did you mean tiny/one"),
        ("show tiny/onee", "did you mean tiny/one"),
        ("run zzz", "there are: tiny, tiny/one"),
        ("run tiny --only pima/mpn", "did you mean pima/mpm"),
        ("run tiny --jobs 0", "jobs=0; pass a whole number from 1 to 256, or -1"),
        ("run tiny --jobs -5", "jobs=-5; pass a whole number"),
        ("run tiny --jobs 1000000", "jobs=1000000; pass a whole number"),
        ("run tiny --jobs 99999999999999999999", "jobs=99999999999999999999; pass a whole"),
    ],
)
def test_commands_refuse_in_one_line(named, tmp_path, capsys, command, said):
    assert main([*command.split(), "--results", str(tmp_path)]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert said in error and error.startswith("fsnotes.replication: ")


def test_a_cluster_that_is_not_there_is_said(named, tmp_path, capsys, monkeypatch):
    pytest.importorskip("dask.distributed")
    command = ["run", "tiny", "--results", str(tmp_path), "--dask", "tcp://127.0.0.1:9"]
    monkeypatch.setattr(engine, "PATIENCE", 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(command) == 1
    assert "no dask scheduler answers at 'tcp://127.0.0.1:9'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    assert main(command) == 1
    assert "pip install 'fsnotes[dask]'" in capsys.readouterr().err


def test_an_interruption_is_said(named, tmp_path, capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "run", interrupted)
    assert main(["run", "tiny"]) == 130
    assert "the same command resumes" in capsys.readouterr().err


# ---------------------------------------------------------------- data for users to supply


OWN = replace(
    TINY,
    datasets=("lung", "pima"),
    methods={"svc": Method("sklearn.svm.SVC", {"kernel": "linear"})},
    tables=(
        Table("one", "xu2007", "Table 1", "A title", printed("lung\n svc accuracy 85.0")),
        Table("two", "xu2007", "Figure 1", "A figure", reads=(("lung", "svc"), ("pima", "svc"))),
    ),
    claims=(Claim("xu2007", "Section 1", "It is", lambda read: bool(read("lung", "svc"))),),
)


@pytest.fixture
def nothing_supplied(tmp_path, monkeypatch):
    """No data sets but those of the package; those that are known are forgotten afterwards."""
    monkeypatch.setenv("FSNOTES_DATA", str(tmp_path))
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "cache"))
    digest_of.cache_clear()
    with declared(OWN):
        yield
    digest_of.cache_clear()


def test_data_for_the_user_to_supply(nothing_supplied, tmp_path, capsys):
    folder = tmp_path / "results"
    assert main(["run", "tiny", "--results", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "1 cells computed" in said and "lung is not available; supply lung.npz" in said
    assert quietly("tiny", folder=folder).absent == [("lung", "svc")]
    with pytest.raises(MissingResult, match=r"not available: supply lung\.npz") as caught:
        Results(OWN, folder).cell("lung", "svc")
    assert caught.value.state == "not available"
    row = replication_table("tiny/one", folder=folder).grids[0].rows[0]
    assert row[2:4] == ("–", "not available")
    figure = replication_table("tiny/two", folder=folder)
    assert [grid.caption[-4:] for grid in figure.grids] == ["pima"]
    assert figure.notes[-1].startswith("lung: not available; supply lung.npz")
    assert [c.verdict for c in claims(folder=folder)] == ["not available", "not available"]
    assert not OWN.datasets["lung"].travels and OWN.datasets["pima"].travels
    # once it is there it is computed as any other, and again if it changes
    for seed in (0, 1):
        X = np.random.default_rng(seed).normal(size=(203, 3312))
        np.savez(tmp_path / "lung.npz", X=X, y=np.arange(203) % 5)
        digest_of.cache_clear()
        assert quietly("tiny", folder=folder).computed == [("lung", "svc")]
    assert Results(OWN, folder).has("lung", "svc")
    assert len(replication_table("tiny/two", folder=folder).grids) == 2
