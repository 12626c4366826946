"""Stored results: nothing that follows from the rest, nothing lost, nothing changed in between."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import MPM, TINY, copy_fixture, done_fixture, of_pima, quietly, stored  # noqa: F401

from fsnotes.replication import ExperimentError, comparison_table, store, supports
from fsnotes.replication.store import Cell, File, MissingResult, Results, decode, encode


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_supports_are_packed_without_loss(mask):
    packed = store.pack(mask)
    assert store.unpack(json.loads(json.dumps(packed)), len(mask)).tolist() == mask
    assert len(json.dumps(packed)) <= 2 * len(mask) / 8 + 4


@given(st.lists(st.sampled_from([0, 0, 0, 1, 7]), max_size=40))
def test_counts_are_squeezed_without_loss(counts):
    squeezed = store.squeeze(counts)
    assert store.stretch(squeezed) == counts and len(squeezed) <= len(counts)
    assert store.restore(store.deduplicate(counts)) == counts


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
    for cell in cells:
        file.append(cell)
    for found, cell in zip(File(file.path).read(), cells, strict=True):
        assert full(found) == full(cell)
        assert cell.accuracy.tolist() == [np.trace(t) / np.sum(t) for t in cell.confusion.tolist()]
        assert not {"accuracy", "n_selected", "confusion", "fingerprint"} & encode(cell)[0].keys()
    # what all have in common stands there once
    assert file.path.read_bytes().count(b'"numpy":"1"') == 1


@pytest.mark.parametrize("change", ["errors", "classes", "supports", "settings", "facts"])
def test_a_line_that_does_not_fit_is_no_cell(change):
    line, parts = encode(drawn(3))
    if change == "errors":
        line["errors"][0] = line["errors"][0] + [1]
    elif change == "facts":
        parts[line["facts"]["n_iter"]] = [1]
    elif change == "settings":
        line["settings"] = [[{}], [0]]
    else:
        parts[line[change]] = parts[line[change]][:-1]
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode(line, parts)


@pytest.mark.parametrize("cut", [1, 2, 200, 1000])
def test_a_torn_end_is_written_again_and_nothing_else(copy, done, cut):
    path = copy / "tiny.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    left = File(path).read()
    resumed = quietly(TINY, folder=copy)
    # without its line end a line is whole all the same
    assert len(resumed.computed) == 10 - len(left) and (len(left) == 10) == (cut == 1)
    kept = whole[: whole[:-cut].rfind(b"\n") + 1]
    assert path.read_bytes().startswith(kept)
    assert stored(path) == stored(done / "tiny.jsonl")


def test_a_damaged_line_costs_itself_alone(copy, done):
    path = copy / "tiny.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    place = [k for k, line in enumerate(lines) if "part" not in json.loads(line)][3]
    name = json.loads(lines[place])["dataset"], json.loads(lines[place])["method"]
    damaged = [b'{"half": \n', b"\xff\n", b"[1]\n", b"7\n"]
    path.write_bytes(b"".join([*lines[:place], *damaged, *lines[place + 1 :]]))
    assert quietly(TINY, folder=copy).computed == [name]
    assert stored(path) == stored(done / "tiny.jsonl")
    assert b"half" not in path.read_bytes()
    # a part that is lost costs the cells that name it, which here are all
    path.write_bytes(b"".join(lines[1:]))
    assert len(quietly(TINY, folder=copy).computed) == 10
    assert stored(path) == stored(done / "tiny.jsonl")


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
