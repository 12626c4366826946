"""Declarations: names, keys, splits, and what is imported for a target."""

import subprocess
import sys
from dataclasses import make_dataclass, replace
from functools import partial

import numpy as np
import pytest
import tiny
from tiny import L1MPM, MPM, TINY, TUNED, done_fixture, of_pima, quietly  # noqa: F401

from fsnotes import load
from fsnotes.replication import Method, MissingResult, Results, get_chapter, printed
from fsnotes.replication.declare import (
    Dataset,
    ExperimentError,
    Printed,
    Protocol,
    RandomSplits,
    Table,
    chapter_names,
    find,
    fingerprint,
)


def key_of(method, protocol=TINY.protocol):
    """The key of the method's cell on pima."""
    return of_pima({"a": method}).key("pima", "a", protocol)


CHANGES = {
    "parameters": {"methods": TINY.methods | {"l1": Method(L1MPM, {"retain": 0.6})}},
    "estimator": {"methods": TINY.methods | {"l1": Method("fsnotes.SMPM")}},
    "seed": {"protocol": replace(TINY.protocol, seed=2)},
    "repeats": {"protocol": replace(TINY.protocol, repeats=3)},
    "folds": {"protocol": replace(TINY.protocol, folds=5)},
    "inner": {"protocol": replace(TINY.protocol, inner=4)},
    "data": {"datasets": (Dataset("pima", partial(load, "wdbc", return_X_y=True)), "ionosphere")},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_result_of_another_declaration_is_not_used(done, change):
    changed = replace(TINY, tables=(), **CHANGES[change])
    assert Results(TINY, done).has("pima", "l1") and not Results(changed, done).has("pima", "l1")
    with pytest.raises(MissingResult, match="another declaration.*run tiny`") as caught:
        Results(changed, done).cell("pima", "l1")
    assert caught.value.state == "stale"
    if change in ("parameters", "estimator"):
        assert Results(changed, done).has("pima", "mpm")


One, Other = (make_dataclass(name, [("size", float)], frozen=True) for name in ("One", "Other"))


def test_what_changes_no_result_enters_no_key():
    method = Method(MPM)
    same = [
        replace(method, paper="x"),
        replace(method, group="one"),
        replace(method, tuning={}, leaks=False),
        replace(method, datasets=("pima",)),
        # a class may move to another module
        replace(method, estimator="somewhere.else.MPM"),
    ]
    assert {key_of(m) for m in same} == {key_of(method)}
    surrogates = [replace(method, parameters={"surrogate": s}) for s in (One(1), Other(1), One(2))]
    others = [replace(method, tuning={"tol": 1}), replace(method, leaks=True), *surrogates]
    # the order of settings decides ties
    others += [replace(TUNED, grid={"retain": values}) for values in ([0.3, 0.6], [0.6, 0.3])]
    assert len({key_of(m) for m in [method, *others]}) == 8
    # what does not show what it holds is refused
    with pytest.raises(ExperimentError, match="repr"):
        fingerprint({"a": object()})
    assert fingerprint(np.float64(2)) == fingerprint(2.0)


def test_declarations_with_unknown_names_are_refused():
    for place, said in (
        (("pimo", "mpm", "accuracy"), "data set .*'pimo'.*pima"),
        (("pima", "mpn", "accuracy"), "method .*'mpn'.*mpm"),
        (("pima", "mpm", "acuracy"), "measure .*'acuracy'.*accuracy"),
    ):
        table = Table("t", "xu2007", "Table 9", "T", (Printed(*place, "1"),))
        with pytest.raises(ExperimentError, match=said):
            replace(TINY, tables=(table,))


def test_declarations_that_are_unfair_or_incomplete_are_refused():
    with pytest.raises(ExperimentError, match=r"'tuned': 3, 'less': 2.*same number"):
        of_pima({"tuned": TUNED, "less": replace(TUNED, grid={"retain": [0.3, 0.6]})})
    pairs = replace(TUNED, grid={"prune": [False, True], "retain": [0.3, 0.6]})
    assert len(of_pima({"pairs": pairs}).methods["pairs"].candidates()) == 4
    with pytest.raises(ExperimentError, match="paper .*'xu2008'.*xu2007"):
        replace(TINY, tables=(Table("t", "xu2008", "Table 9", "T"),))
    for text in ("x", "nan", "1e400", "1_0"):
        with pytest.raises(ExperimentError, match=f"line of m accuracy has {text}, no number"):
            printed(f"a b\nm accuracy 1 {text}")
    with pytest.raises(ExperimentError, match="3 numbers for the 2"):
        printed("a b\n m accuracy 1 2 3")
    with pytest.raises(ExperimentError, match="prints nothing"):
        printed("a b\n m accuracy 1 -", incomparable={("b", "m", "accuracy"): "why"})


def test_methods_may_be_for_some_data_sets(tmp_path):
    methods = {"mpm": Method(MPM), "l1": Method(L1MPM, datasets=("pima",))}
    chapter = replace(TINY, methods=methods, tables=(), claims=())
    assert chapter.cells() == [("ionosphere", "mpm"), ("pima", "mpm"), ("pima", "l1")]
    table = Table("one", "xu2007", "Table 1", "A title", reads=(("ionosphere", "l1"),))
    with pytest.raises(ExperimentError, match="no cell is called 'ionosphere/l1'"):
        replace(chapter, tables=(table,))


# ---------------------------------------------------------------- what is imported


def imported_by(code):
    """Modules of interest that a fresh interpreter has loaded after some code."""
    heavy = ["matplotlib", "pandas", "ipywidgets", "cvxpy", "dask", "distributed", "sklearn"]
    code += f"; import sys; print(*[m for m in sys.modules if m in {heavy} or '.chapters.' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


def test_one_chapter_is_imported_for_its_tables_and_nothing_heavy_for_all():
    find_one = "from fsnotes.replication.declare import find; find('twin/linear')"
    assert imported_by(find_one) == ["fsnotes.replication.chapters.twin"]
    every = imported_by("import fsnotes.replication as r; r.all_chapters()")
    assert sorted(every) == [f"fsnotes.replication.chapters.{name}" for name in chapter_names()]


def test_chapters_are_called_by_the_names_of_their_files():
    assert all(get_chapter(name).name == name for name in chapter_names())
    with pytest.raises(ExperimentError, match="did you mean em"):
        get_chapter("emm")
    with tiny.declared(TINY):
        assert find("tiny") == (TINY, None) and find("tiny/two") == (TINY, TINY.tables["two"])
        assert find(TINY) == (TINY, None)
        with pytest.raises(ExperimentError, match="did you mean tiny/one"):
            find("tiny/on")


# ---------------------------------------------------------------- splits


def test_methods_share_outer_and_inner_splits_of_which_no_two_are_equal():
    _, y = tiny.canonical("pima")
    protocol = TINY.protocol
    outer = protocol.splits(y)
    again = protocol.splits(y)
    assert all((a[1] == b[1]).all() for a, b in zip(outer, again, strict=True))
    train = outer[0][0]
    inner = [protocol.inner_splits(y[train], number)[0][1] for number in (0, 0, 1)]
    assert np.array_equal(inner[0], inner[1]) and not np.array_equal(inner[0], inner[2])
    for repeat in (outer[:4], outer[4:]):
        assert np.array_equal(np.sort(np.concatenate([b for _, b in repeat])), np.arange(len(y)))
    assert not np.array_equal(outer[0][1], replace(protocol, seed=2).splits(y)[0][1])


def test_each_repeat_draws_rows_of_its_own():
    y = np.repeat([0, 1], [300, 100])
    protocol = Protocol(repeats=3, folds=5, seed=2)
    splits = protocol.splits(y, rows=80)
    again = protocol.splits(y, rows=80)
    assert all((a == b).all() for a, b in zip(sum(splits, ()), sum(again, ()), strict=True))
    assert len(splits) == protocol.n_splits == 15
    draws = [{*np.hstack([test for _, test in splits[i : i + 5]])} for i in (0, 5, 10)]
    assert draws[0] != draws[1] != draws[2]
    for number, (train, test) in enumerate(splits):
        drawn = draws[number // 5]
        assert {*train, *test} == drawn and len(train) + len(test) == len(drawn) == 80
        assert y[list(drawn)].sum() == 20 and y[test].sum() == 4


def test_a_sample_is_another_data_set(tmp_path):
    with pytest.raises(ExperimentError, match=r"pima: rows=0.5; pass a whole number from 1"):
        Dataset("pima", rows=0.5)
    digests = {Dataset("pima", rows=rows).digest() for rows in (None, 100, 200)}
    assert len(digests) == 3
    assert Dataset("madelon", rows=200).digest() != Dataset("madelon").digest()
    chapter = of_pima({"mpm": Method(MPM)})
    chapter = replace(chapter, datasets=(Dataset("pima", rows=100),))
    quietly(chapter, folder=tmp_path)
    sizes = np.sum(Results(chapter, tmp_path).cell("pima", "mpm").confusion, axis=(1, 2))
    assert set(sizes) == {25}


def test_random_splits():
    y = np.repeat([0, 1], [30, 70])
    protocol = RandomSplits(repeats=4, test_size=0.2, seed=1)
    splits = protocol.splits(y)
    assert len(splits) == protocol.n_splits == 4 and protocol.test_fraction == 0.2
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(100)) and y[test].sum() == 14
    assert len({tuple(sorted(test)) for _, test in splits}) == 4
    assert str(protocol) == "4 random splits that test on 20 percent, seed 1"
    other = replace(protocol, test_size=0.1)
    assert other.test_fraction == 0.1 and other != protocol
    assert TINY.key("pima", "mpm", other) != TINY.key("pima", "mpm", protocol)
    with pytest.raises(ExperimentError, match="rows=50; random splits take all rows"):
        protocol.splits(y, rows=50)
