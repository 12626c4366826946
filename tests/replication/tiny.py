"""Two small chapters, and what the tests of the replication share."""

import contextlib
import functools
import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fsnotes import load
from fsnotes.metrics import Estimate
from fsnotes.replication import Chapter, Claim, Method, Misprint, declare, printed, run
from fsnotes.replication.declare import Covered, Printed, Protocol, Table
from fsnotes.replication.judge import Verdict
from fsnotes.replication.store import File, encode


def l1_mean(read):
    return read("pima", "l1").n_selected.mean()


def selects_fewer(read):
    """In the mean."""
    return l1_mean(read) < 8


MPM = "fsnotes.MPM"
L1MPM = "fsnotes.L1MPM"
TUNED = Method(L1MPM, {"refit": False}, {"retain": [0.3, 0.6, 0.9]}, paper="tuned")
TINY = Chapter(
    "tiny",
    papers={"xu2007": "Xu, King and Lyu (2007)"},
    datasets=("ionosphere", "pima"),
    methods={
        "mpm": Method(MPM, paper="MPM <all>"),
        "l1": Method(L1MPM, {"retain": 0.5}, paper="L1"),
        "l1-raw": Method(L1MPM, {"retain": 0.5, "refit": False}),
        "tuned": TUNED,
        "svc": Method("sklearn.svm.SVC", {}, {"C": [0.3, 0.5, 1]}, scaled=True),
    },
    protocol=Protocol(repeats=2, folds=4, inner=3, seed=1),
    tables=(
        Table(
            *("one", "xu2007", "Table 1", "A title"),
            printed=printed("""
                            ionosphere  pima
                mpm accuracy    85.0    75.0
                l1  accuracy    10.5    75.0
                l1  n_selected     -    2
            """),
            reduced="less of everything",
            beside={"refitted": {"l1": "l1-raw"}},
        ),
        Table("two", "xu2007", "Table 2", "Another", printed("pima\n mpm accuracy 17.0")),
        Table("three", "xu2007", "Figure 1", "A figure", reads=(("pima", "l1"),)),
    ),
    claims=(
        Claim("xu2007", "Section 1", "L1 selects fewer", selects_fewer, "size", lesson="few"),
        Claim("xu2007", "Section 2", "L1 selects them all", lambda read: l1_mean(read) == 8),
        Claim("xu2007", "Section 3", "two is two", lambda read: 2 == 2),
        Claim("xu2007", "Section 4", "it is so", lambda read: False, proof=True),
        Claim(
            "xu2007",
            "Section 5",
            "[it cannot be]",
            lambda read: Verdict("infeasible", "nobody has it"),
        ),
        Misprint("xu2007", "(3)", "less is printed", "more", "bounds"),
        Covered("xu2007", "(4)", "what is told"),
    ),
)
# enough work to be killed in the middle
SLOW = replace(
    TINY,
    name="slow",
    datasets=("pima",),
    methods={
        str(C): Method("sklearn.svm.SVC", {"C": C, "kernel": "linear"}, scaled=True)
        for C in np.linspace(0.1, 1, 40).tolist()
    },
    protocol=Protocol(repeats=2, folds=6, seed=3),
    tables=(),
    claims=(),
)
AROUND_80 = Estimate(80.0, 1.0, 78.0, 82.0)

quietly = partial(run, progress=False)


def of_pima(methods, **changes):
    """A chapter of one data set, without tables and claims."""
    changes = {"tables": (), "claims": ()} | changes
    return replace(TINY, datasets=("pima",), methods=methods, **changes)


@contextlib.contextmanager
def declared(chapter):
    """Lets a chapter be found by its name, and no other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(declare, "chapter_names", lambda: [chapter.name])
        patch.setattr(declare, "get_chapter", {chapter.name: chapter}.get)
        yield


def stored(path):
    """Lines of cells by name, without the time they took."""
    lines = {cell.name: encode(cell)[0] for cell in File(path).read()}
    assert len(lines) == sum("dataset" in json.loads(t) for t in path.read_bytes().splitlines())
    for line in lines.values():
        assert line.pop("seconds") > 0
    return lines


def canonical(name):
    """Rows sorted by class, then by their columns from the first."""
    X, y = load(name, return_X_y=True)
    order = sorted(range(len(y)), key=lambda i: (y[i], *X[i]))
    return X[order], y[order]


def entry(text, measure="accuracy", **more):
    """A printed number."""
    return Printed("pima", "mpm", measure, text, **more)


# ---------------------------------------------------------------- fixtures, to be imported


@functools.cache
def complete_run():
    """A folder that lasts as long as the process, with the results of the small chapter."""
    folder = tempfile.TemporaryDirectory()
    quietly(TINY, jobs=1, folder=folder.name)
    return folder


@pytest.fixture(name="done")
def done_fixture():
    """The folder of a complete run by a single worker."""
    return Path(complete_run().name)


@pytest.fixture(name="copy")
def copy_fixture(done, tmp_path):
    """Results that a test may damage."""
    (tmp_path / "tiny.jsonl").write_bytes((done / "tiny.jsonl").read_bytes())
    return tmp_path


@pytest.fixture(name="named")
def named_fixture():
    """Lets the small chapter be called by name."""
    with declared(TINY):
        yield
