"""Stored results: nothing that follows from the rest, nothing lost, nothing changed in between."""

import copy as copying
import json
import os
import random
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import MPM, TINY, copy_fixture, declared, done_fixture, quietly, stored  # noqa: F401

from fsnotes.replication import ExperimentError, comparison_table, store, supports
from fsnotes.replication.__main__ import main
from fsnotes.replication.store import (
    Cell,
    File,
    MissingResult,
    Results,
    ResultsWarning,
    compact,
    decode,
    encode,
    seal,
)


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_supports_are_packed_without_loss(mask):
    packed = store.pack(mask)
    assert store.unpack(json.loads(json.dumps(packed)), len(mask)).tolist() == mask
    assert len(json.dumps(packed)) <= 2 * len(mask) / 8 + 4


@given(st.lists(st.sampled_from([0, 0, 0, 1, 7]), max_size=40))
def test_counts_are_squeezed_without_loss(counts):
    squeezed = store.squeeze(counts)
    assert store.stretch(squeezed) == counts and len(squeezed) <= len(counts)
    assert store.restore(store.deduplicate(counts), len(counts)) == counts


def drawn(n_classes, n_folds=4, n_features=300, seed=0):
    """A cell of random numbers."""
    rng = np.random.default_rng(seed)
    few = rng.random((n_folds, n_classes, n_classes)) < 0.1
    tables = few * rng.integers(1, 9, few.shape) + np.eye(n_classes, dtype=int)
    masks = rng.random((n_folds, n_features)) < 0.02
    settings = [{"C": float(C)} for C in rng.normal(size=n_folds)]
    facts = {"n_iter": rng.integers(9, size=n_folds).tolist()}
    facts["delta"] = rng.random(n_folds).tolist()
    rest = {"SelectionWarning": 3}, 1.5, {"seed": 1}, {"numpy": "1"}
    return Cell("pima", "a", "key", tables, n_features, masks, settings, facts, *rest)


def full(cell):
    """All that a cell says, what follows from the rest included."""
    measured = cell.accuracy, cell.mcc, cell.n_selected, cell.supports, cell.confusion
    rest = cell.settings, cell.facts, cell.warnings, cell.seconds, cell.protocol, cell.versions
    return [part.tolist() for part in measured], *rest, cell.name, cell.key, cell.n_features


@pytest.mark.parametrize("n_classes", [2, 3, 7, 26])
def test_a_stored_cell_says_all_that_it_said(n_classes, tmp_path):
    cells = [replace(drawn(n_classes, seed=seed), method=str(seed)) for seed in range(5)]
    file = File(tmp_path / "deep" / "a.jsonl")
    with file.alone():
        for cell in cells:
            file.append(cell)
    for found, cell in zip(File(file.path).read(), cells, strict=True):
        assert full(found) == full(cell)
        assert cell.accuracy.tolist() == [np.trace(t) / np.sum(t) for t in cell.confusion.tolist()]
        assert not {"accuracy", "n_selected", "confusion", "fingerprint"} & encode(cell)[0].keys()
    # what all have in common stands there once
    assert file.path.read_bytes().count(b'"numpy":"1"') == 1


# ---------------------------------------------------------------- damage


def with_part(field, value):
    """A change of a line: another part where this field names one."""

    def change(line, parts):
        parts["other"] = value
        line[field] = "other"

    return change


def with_fact(values):
    def change(line, parts):
        parts["other"] = values
        line["facts"] = {"n_iter": "other"}

    return change


# lines of a cell of four folds, three classes and 300 features, whose checksum fits
UNFIT = {
    "not all fields": lambda line, parts: line.pop("seconds"),
    "further fields": lambda line, parts: line.update(confusion=[5]),
    "a name that is a number": lambda line, parts: line.update(method=5),
    "a part that is not there": lambda line, parts: line.update(classes="lost"),
    "a part with a list for a name": lambda line, parts: line.update(classes=[[1]]),
    "a protocol that is none": with_part("protocol", [5]),
    "versions that are numbers": with_part("versions", {"numpy": 2.0}),
    "no folds": with_part("classes", []),
    "one class": with_part("classes", [[9]] * 4),
    "a fold without rows": with_part("classes", [[0, 0, 0]] * 4),
    "classes that are numbers": with_part("classes", [5] * 4),
    "classes that are tables": with_part("classes", [{"a": 1}] * 4),
    "classes by text": with_part("classes", [["9", "9", "9"]] * 4),
    "parts of rows": with_part("classes", [[9.5, 9, 9]] * 4),
    "fewer classes in a fold": with_part("classes", [[9, 9, 9]] * 3 + [[9, 9]]),
    "fewer folds": with_part("classes", [[9, 9, 9]] * 3),
    "a million million rows": with_part("classes", [[10**12, 9, 9]] * 4),
    "more errors than rows": with_part("classes", [[1, 0, 0]] * 4),
    "more errors than places": lambda line, parts: line["errors"][0].append(1),
    "seven tebibytes of zeros": lambda line, parts: line.update(errors=[[-(10**12)]] * 4),
    "a hundred million zeros": lambda line, parts: line.update(errors=[[-(10**8)]] * 4),
    "errors that are numbers": lambda line, parts: line.update(errors=[5] * 4),
    "errors that are triples": lambda line, parts: line.update(errors=[[[10**6, 0, 1]]] * 4),
    "true errors": lambda line, parts: line.update(errors=[[True] + [0] * 5] * 4),
    "no features": lambda line, parts: line.update(n_features=0),
    "half a feature": lambda line, parts: line.update(n_features=300.5),
    "a million million features": lambda line, parts: line.update(n_features=10**12),
    "fewer features": lambda line, parts: line.update(n_features=8),
    "a feature beyond": with_part("supports", [[[300]], [0] * 4]),
    "a feature from behind": with_part("supports", [[[-1]], [0] * 4]),
    "too short a support": with_part("supports", [["00"], [0] * 4]),
    "bits beyond": with_part("supports", [["f" * 76], [0] * 4]),
    "no hexadecimal": with_part("supports", [["x" * 76], [0] * 4]),
    "a support that is a number": with_part("supports", [[5], [0] * 4]),
    "supports of fewer folds": with_part("supports", [[[1]], [0] * 3]),
    "supports that are no pair": with_part("supports", [5]),
    "a place beyond": lambda line, parts: line.update(settings=[[{}], [0, 0, 0, 1]]),
    "a place from behind": lambda line, parts: line.update(settings=[[{}], [0, 0, 0, -1]]),
    "settings of fewer folds": lambda line, parts: line.update(settings=[[{}], [0]]),
    "settings that are none": lambda line, parts: line.update(settings=[[5], [0] * 4]),
    "facts that are a list": lambda line, parts: line.update(facts=["n_iter"]),
    "facts of fewer folds": with_fact([1]),
    "facts by text": with_fact(["1", "2", "3", "4"]),
    "facts above all numbers": with_fact([10**400] * 4),
    "warnings that are no counts": lambda line, parts: line.update(warnings={"a": -1}),
    "seconds that are none": lambda line, parts: line.update(seconds=None),
    "seconds without end": lambda line, parts: line.update(seconds=float("inf")),
}


def lines_of(line, parts):
    """Lines of a file, whose checksums fit."""
    names = {name: store.checksum(value) for name, value in parts.items()}

    def renamed(value):
        return names.get(value, value) if isinstance(value, str) else value

    line = {field: renamed(value) for field, value in line.items()}
    if isinstance(line.get("facts"), dict):
        line["facts"] = {fact: renamed(value) for fact, value in line["facts"].items()}
    found = [{"part": names[name], "value": value} for name, value in parts.items()]
    return "".join(f"{compact(entry)}\n" for entry in [*found, seal(line)]).encode()


@pytest.mark.parametrize("change", UNFIT)
def test_a_line_of_another_format_costs_itself_alone(change, tmp_path):
    file = File(tmp_path / "a.jsonl")
    line, parts = encode(drawn(3))
    UNFIT[change](line, parts)
    file.path.write_bytes(lines_of(line, parts))
    number = len(file.path.read_bytes().splitlines())
    file.append(replace(drawn(3), method="b"))
    with pytest.warns(ResultsWarning, match=rf"a\.jsonl .* left out: {number} \(.*\)\. The"):
        [left] = file.read()
    assert full(left) == full(replace(drawn(3), method="b"))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_is_read_says_the_same_when_it_is_written_again(data):
    line, parts = encode(drawn(3))
    simple = st.none() | st.booleans() | st.integers(-2, 301) | st.floats() | st.text(max_size=3)
    nested = st.recursive(
        simple, lambda s: st.lists(s, max_size=4) | st.dictionaries(st.text(max_size=2), s)
    )
    changed = copying.deepcopy([line, parts])
    place = changed
    # any value anywhere in the line, or in a part of it
    while isinstance(place, list | dict) and place:
        holder = place
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        place = holder[key]
        if data.draw(st.booleans()) and holder is not changed:
            break
    holder[key] = data.draw(nested)
    try:
        cell = decode(*changed)
    except ValueError:
        return
    written = encode(cell)
    assert compact(encode(decode(*written))) == compact(written)


def accepted(path):
    """Cells of a damaged file as text, by name, and the warning, if there was one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cells = File(path).read()
    assert len(caught) <= 1 and all(w.category is ResultsWarning for w in caught)
    return {cell.name: compact(encode(cell)) for cell in cells}, bool(caught)


def test_no_damage_gives_another_result(copy):
    path = copy / "tiny.jsonl"
    whole = path.read_bytes()
    expected, _ = accepted(path)
    drawing = random.Random(0)
    n_left_out = 0
    for _ in range(300):
        place = drawing.randrange(len(whole))
        bit = 1 << drawing.randrange(8)
        changed = bytearray(whole)
        changed[place] = drawing.choice([changed[place] ^ bit, drawing.randrange(256)])
        path.write_bytes(changed)
        found, is_said = accepted(path)
        assert found.items() <= expected.items()
        assert is_said or len(found) == len(expected)
        n_left_out += len(found) < len(expected)
    assert n_left_out > 250
    for _ in range(50):
        cut = drawing.randrange(len(whole))
        path.write_bytes(whole[:cut])
        found, is_said = accepted(path)
        assert list(found.items()) == list(expected.items())[: len(found)]
        assert is_said or whole[:cut].endswith(b"\n") or whole[cut : cut + 1] == b"\n" or not cut


@pytest.mark.parametrize("cut", [1, 2, 200, 1000])
def test_a_torn_end_is_written_again_and_nothing_else(copy, done, cut):
    path = copy / "tiny.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    left, is_said = accepted(path)
    # without its line end a line is whole all the same
    assert is_said == (len(left) < 10) == (cut > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResultsWarning)
        resumed = quietly(TINY, folder=copy)
    assert len(resumed.computed) == 10 - len(left)
    kept = whole[: whole[:-cut].rfind(b"\n") + 1]
    assert path.read_bytes().startswith(kept)
    assert stored(path) == stored(done / "tiny.jsonl")


def test_a_damaged_line_costs_itself_alone(copy, done):
    path = copy / "tiny.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    place = [k for k, line in enumerate(lines) if "part" not in json.loads(line)][3]
    name = json.loads(lines[place])["dataset"], json.loads(lines[place])["method"]
    damaged = [b'{"half": \n', b"\xff\n", b"[1]\n", b"7\n", b"null\n", b'{"confusion": [5]}\n']
    damaged += [b"[" * 100_000 + b"\n", b'{"a":' * 100_000 + b"\n", b"9" * 10_000 + b"\n"]
    path.write_bytes(b"".join([*lines[:place], *damaged, *lines[place + 1 :]]))
    with pytest.warns(ResultsWarning) as caught:
        assert quietly(TINY, folder=copy).computed == [name]
    # one warning names each, in words
    numbers = ", ".join(str(place + k) for k in range(1, 10))
    assert len(caught) == 1 and f"left out: {numbers} (no checksum fits" in str(caught[0].message)
    assert stored(path) == stored(done / "tiny.jsonl")
    assert b"half" not in path.read_bytes()
    # a part that is lost costs the cells that name it, which here are all
    path.write_bytes(b"".join(lines[1:]))
    with pytest.warns(ResultsWarning, match="a part that it needs is not there"):
        assert len(quietly(TINY, folder=copy).computed) == 10
    assert stored(path) == stored(done / "tiny.jsonl")


def test_a_damaged_line_stops_no_table_and_no_command(copy, capsys):
    path = copy / "tiny.jsonl"
    path.write_bytes(b'{"confusion": [5]}\n' + path.read_bytes())
    with declared(TINY), pytest.warns(ResultsWarning, match="left out: 1 "):
        for command in ("list", "show tiny/one", "run tiny"):
            assert main([*command.split(), "--results", str(copy)]) == 0
    assert "6/6 cells" in capsys.readouterr().out
    # the run, which had nothing to compute, has put the file right
    assert accepted(path)[1] is False


def test_a_line_without_a_checksum_is_of_an_older_format(copy, monkeypatch):
    monkeypatch.setattr(store, "MOST_NAMED", 3)
    path = copy / "tiny.jsonl"
    lines = [json.loads(text) for text in path.read_bytes().splitlines()]
    for line in lines:
        line.pop("sum", None)
    path.write_bytes("".join(f"{compact(line)}\n" for line in lines).encode())
    with pytest.warns(ResultsWarning, match=r": 6, 8, 9 and 7 more \(.* of an older format"):
        assert quietly(TINY, folder=copy, only="pima/mpm").computed == [("pima", "mpm")]
    assert accepted(path)[0].keys() == {("pima", "mpm")} and not accepted(path)[1]


def test_results_of_another_number_of_folds_are_outdated(copy):
    file = File(copy / "tiny.jsonl")
    cell = file.read()[0]
    fewer = {name: values[:3] for name, values in cell.facts.items()}
    file.append(replace(cell, confusion=cell.confusion[:3], masks=cell.masks[:3], facts=fewer))
    results = Results(TINY, copy)
    assert results.has(*cell.name) and len(results.cell(*cell.name).confusion) == 8
    assert cell.name in results._outdated


def test_nothing_is_written_that_could_not_be_read(tmp_path):
    file = File(tmp_path / "a.jsonl")
    for change in ({"seconds": float("inf")}, {"settings": [{"kernel": len}] * 4}):
        with pytest.raises(ExperimentError, match="the result of pima/a cannot be stored: "):
            file.append(replace(drawn(3), **change))
    assert not file.path.exists()


# ---------------------------------------------------------------- one writer at a time

HOLDER = """
import sys
from pathlib import Path
from fsnotes.replication.store import File
with File(Path(sys.argv[1])).alone():
    print("it has the file", flush=True)
    sys.stdin.read()
"""
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_store import drawn
from fsnotes.replication.store import File
file = File(Path(sys.argv[1]))
for number in range(50):
    file.append(replace(drawn(3, seed=number), method=f"{sys.argv[2]}{number}"))
"""


def test_a_second_run_says_who_is_at_work(copy, done):
    path = copy / "tiny.jsonl"
    command = [sys.executable, "-c", HOLDER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "it has the file\n"
        with pytest.raises(ExperimentError, match=f"process {process.pid} on .* is writing") as no:
            quietly(TINY, folder=copy, again=True)
        assert "wait until it has ended" in str(no.value) and "--results" in str(no.value)
        # to read needs no turn
        assert stored(path) == stored(done / "tiny.jsonl")
        process.kill()
    (copy / ".tiny.jsonl.new").touch()
    assert len(quietly(TINY, folder=copy).kept) == 10
    # what the other left behind is gone; Windows keeps the empty lock
    left = {file.name for file in copy.iterdir()}
    assert left - ({".tiny.jsonl.lock"} if os.name == "nt" else set()) == {"tiny.jsonl"}


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", WRITER, str(path)]
    folder = str(Path(__file__).parent)
    writers = [subprocess.Popen([*command, name, folder]) for name in ("a", "b")]
    while any(writer.poll() is None for writer in writers):
        File(path).settle([])
    assert [writer.returncode for writer in writers] == [0, 0]
    found = {cell.method: full(cell) for cell in File(path).read()}
    assert found.keys() == {f"{name}{number}" for name in "ab" for number in range(50)}
    for name, cell in found.items():
        assert cell == full(replace(drawn(3, seed=int(name[1:])), method=name))


def test_a_file_that_cannot_be_written_is_said_before_anything_is_computed(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "tiny.jsonl").mkdir(parents=True)
    for folder in ("file", "folder"):
        with pytest.raises(ExperimentError, match="cannot be written .*; pass --results FOLDER"):
            quietly(TINY, folder=tmp_path / folder)


# ---------------------------------------------------------------- files and folders


def test_files_are_settled_in_the_order_of_the_declaration(copy):
    path = copy / "tiny.jsonl"
    before = path.read_bytes()
    cells = File(path).read()
    path.unlink()
    other = replace(cells[0], method="of an earlier declaration")
    outdated = [replace(cell, key="other") for cell in cells[:2]]
    file = File(path)
    for cell in [other, *outdated, *reversed(cells)]:
        file.append(cell)
    Results(TINY, copy).settle()
    assert [cell.name for cell in File(path).read()] == [*TINY.cells(), other.name]
    # a cell whose data set or method there is no more stays, at the end
    assert path.read_bytes().startswith(before)


def test_results_go_to_the_clone_or_to_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "cache"))
    packaged = tmp_path / "clone" / "fsnotes" / "replication" / "results"
    packaged.parent.mkdir(parents=True)
    monkeypatch.setattr(store, "PACKAGED_RESULTS", packaged)
    cache = tmp_path / "cache" / "replication"
    assert store.default_folder() == cache  # installed, not a clone
    (tmp_path / "clone" / "pyproject.toml").touch()
    assert store.default_folder() == packaged and store.default_folder(quick=True) == cache
    monkeypatch.setattr(store.os, "access", lambda path, mode: False)
    assert store.default_folder() == cache
    # what travels along counts, and what the user adds comes on top
    one = replace(TINY, methods={"mpm": TINY.methods["mpm"]}, tables=())
    quietly(one, folder=packaged, only="pima/*")
    added = quietly(one)
    assert added.kept == [("pima", "mpm")] and added.computed == [("ionosphere", "mpm")]
    assert added.path == cache / "tiny.jsonl" and Results(one).has("pima", "mpm")


def test_results_travel_with_the_package(tmp_path):
    from flit_core.common import Module

    root = Path(__file__).parents[2]
    files = {Path(f).relative_to(root).as_posix() for f in Module("fsnotes", root).iter_files()}
    results = {p.relative_to(root).as_posix() for p in store.PACKAGED_RESULTS.glob("*.jsonl")}
    assert {"fsnotes/data/sonar.csv", "fsnotes/replication/chapters/mempm.py"} | results <= files


def test_results_that_are_missing_are_named_with_the_command(tmp_path):
    results = Results(TINY, tmp_path)
    with pytest.raises(MissingResult, match="pima/mpm is missing; run `python -m .* run tiny`"):
        results.cell("pima", "mpm")
    with pytest.raises(ExperimentError, match="did you mean pima"):
        results.cell("pina", "mpm")
    with pytest.raises(MissingResult, match="no results for 'pima'"):
        comparison_table(TINY, "pima", folder=tmp_path)
    with pytest.raises(MissingResult):
        supports(TINY, "pima", "mpm", folder=tmp_path)
