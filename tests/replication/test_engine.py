"""The engine of the recomputed tables: folds are right, the same bits anywhere, nothing lost."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tiny
from joblib import parallel_config
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_info
from tiny import TINY, copy_fixture, done_fixture, of_pima, quietly, stored  # noqa: F401

from fsnotes import FTSVM, KernelL0MPM, SelectionWarning, TwinSVM, load, make_cross_planes
from fsnotes import MPM as MPMachine
from fsnotes.metrics import Estimate, mcc, stability
from fsnotes.replication import engine
from fsnotes.replication.declare import Dataset, ExperimentError, Method, TunedOnce
from fsnotes.replication.engine import audit
from fsnotes.replication.render import comparison_table, replication_table, supports
from fsnotes.replication.store import STALE, File, Results, seal


def pipeline_of(**parameters):
    return make_pipeline(StandardScaler(), SVC(**parameters))


@pytest.fixture
def cell(done):
    """A cell of the complete run."""
    return Results(TINY, done).cell


# ---------------------------------------------------------------- a fold is what it should be


@pytest.mark.parametrize("name", ["ionosphere", "pima"])
@pytest.mark.parametrize("method", ["mpm", "l1"])
def test_folds_are_those_of_scikit_learn(cell, name, method):
    X, y = tiny.canonical(name)
    splits = TINY.protocol.splits(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cross_val_score(TINY.methods[method].build({}), X, y, cv=splits)
        fitted = [TINY.methods[method].build({}).fit(X[a], y[a]) for a, _ in splits]
    found = cell(name, method)
    assert np.array_equal(found.accuracy, expected)
    assert np.array_equal(found.supports, [machine.get_support() for machine in fitted])
    assert np.array_equal(found.n_selected, found.supports.sum(axis=1))
    parts = [(y[b], m.predict(X[b])) for m, (_, b) in zip(fitted, splits, strict=True)]
    for correlation in (mcc, matthews_corrcoef):
        assert found.mcc == pytest.approx([correlation(*part) for part in parts])
    truth = [np.bincount(true, minlength=2) for true, _ in parts]
    assert np.array_equal(found.confusion.sum(axis=2), truth)


def test_settings_are_chosen_and_columns_scaled_inside_each_fold(cell):
    X, y = tiny.canonical("pima")
    svc = cell("pima", "svc")
    for number, (train, test) in enumerate(TINY.protocol.splits(y)):
        inner = TINY.protocol.inner_splits(y[train], number)
        search = GridSearchCV(pipeline_of(), {"svc__C": [0.3, 0.5, 1]}, cv=inner)
        search.fit(X[train], y[train])
        # the search weighs inner folds alike, we weigh rows alike: the same but for ties
        sizes = [len(b) for _, b in inner]
        scores = [search.cv_results_[f"split{i}_test_score"] for i in range(len(inner))]
        right = np.rint(np.transpose(scores) @ sizes).astype(int)
        chosen = [0.3, 0.5, 1][int(np.argmax(right))]
        assert svc.settings[number] == {"C": chosen}
        best = pipeline_of(C=chosen).fit(X[train], y[train])
        assert svc.accuracy[number] == best.score(X[test], y[test])
    assert len({line["C"] for line in svc.settings}) > 1
    assert svc.masks is None


def reordered(name, seed):
    X, y = load(name, return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    return np.where(X[order] == 0, -0.0, X[order]), y[order]


def test_any_copy_of_the_data_gives_the_same_cell(tmp_path):
    kept = []
    for seed in (0, 1):
        dataset = Dataset("copy", partial(reordered, "pima", seed))
        chapter = replace(of_pima({"tuned": tiny.TUNED}), datasets=(dataset,))
        quietly(chapter, folder=tmp_path / str(seed))
        [line] = stored(tmp_path / str(seed) / "tiny.jsonl").values()
        kept.append(line)
    assert {"key", "errors", "supports"} < kept[0].keys()
    # how the data were made is part of no result
    assert kept[0] == kept[1]


def test_measures_are_those_of_the_metrics(cell, done):
    l1 = cell("ionosphere", "l1")
    assert l1.estimate("stability") == stability(l1.supports)
    assert l1.estimate("psf").value == pytest.approx(100 * l1.supports.mean())
    assert l1.estimate("accuracy").value == pytest.approx(100 * l1.accuracy.mean())
    frequencies = supports(TINY, "ionosphere", "l1", folder=done)
    assert frequencies.tolist() == l1.supports.mean(axis=0).tolist()
    assert np.allclose(l1.scores("mcc_percent"), 100 * l1.mcc)
    assert cell("pima", "mpm").estimate("stability") == Estimate(1, 0, 1, 1)
    with pytest.raises(ExperimentError, match="pima/mpm has no n_iter; its machine tells largest_"):
        cell("pima", "mpm").scores("n_iter")
    with pytest.raises(ExperimentError, match="selects no features"):
        cell("pima", "svc").estimate("n_selected")
    with pytest.raises(ExperimentError, match="single fold"):
        l1.scores("stability")


def test_machines_tell_facts(cell):
    X, y = Dataset("pima").read()
    train, _ = TINY.protocol.splits(y)[3]
    largest = cell("pima", "mpm").scores("largest_delta")
    assert largest[3] == MPMachine().fit(X[train], y[train]).largest_delta_
    kernel = KernelL0MPM(delta=0.3, gamma=0.1).fit(X[train], y[train])
    told = engine._facts(kernel, X[train])
    assert told["n_kept"] == len(kernel.support_) and told["n_iter"] == kernel.n_iter_


def test_points_are_counted_with_and_without_duplicates():
    X, y = Dataset("titanic").read()
    machine = pipeline_of().fit(X, y)
    told = engine._facts(machine, X)
    kept = {tuple(row) for row in X[machine[-1].support_]}
    # an SVC has an array of the name n_iter_
    assert told.keys() == {"n_kept", "n_distinct", "n_rows"}
    assert told["n_kept"] == len(machine[-1].support_) > 100
    assert told["n_distinct"] == len(kept) <= 14
    assert told["n_rows"] == sum(tuple(row) in kept for row in X)


def test_twin_machines_keep_points_with_a_kernel():
    X, y = make_cross_planes(40, 4, center=0.5)
    for machine in (TwinSVM(kernel="rbf"), FTSVM(kernel="rbf", c_fit=1, c_hinge=1, sigma=0.1)):
        told = engine._facts(machine.fit(X, y), X)
        assert told["n_kept"] == machine.dual_coef_.shape[1] and "n_rows" not in told
    assert "n_kept" not in engine._facts(TwinSVM().fit(X, y), X)


# ---------------------------------------------------------------- the same bits anywhere


@pytest.mark.parametrize("where", ["two processes", "joblib's default", "threads"])
def test_cells_do_not_depend_on_what_computes_them(done, tmp_path, where):
    with parallel_config("threading" if where == "threads" else "loky", n_jobs=2):
        quietly(TINY, jobs=2 if where == "two processes" else None, folder=tmp_path)
    assert stored(tmp_path / "tiny.jsonl") == stored(done / "tiny.jsonl")


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("dask.distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as local:
            yield local


def wait_for_cells(path, count):
    """Until a file of results has so many cells."""
    deadline = time.monotonic() + 60
    while not path.is_file() or path.read_bytes().count(b'"dataset"') < count:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_cluster_changes_nothing_even_if_a_worker_is_killed(cluster, done, tmp_path):
    quietly(TINY, dask=cluster.scheduler_address, folder=tmp_path)
    assert stored(tmp_path / "tiny.jsonl") == stored(done / "tiny.jsonl")
    path = tmp_path / "cluster" / "slow.jsonl"
    before = {worker.pid for worker in cluster.workers.values()}
    left = []

    def kill():
        wait_for_cells(path, 2)
        os.kill(min(before), getattr(signal, "SIGKILL", signal.SIGTERM))
        left.append(len(tiny.SLOW.methods) - len(File(path).read()))

    killer = threading.Thread(target=kill)
    killer.start()
    quietly(tiny.SLOW, dask=cluster.scheduler_address, folder=path.parent)
    killer.join()
    # killed before the end, and not replaced by itself
    assert left[0] > 0
    assert min(before) not in {worker.pid for worker in cluster.workers.values()}
    quietly(tiny.SLOW, jobs=2, folder=tmp_path / "here")
    assert stored(path) == stored(tmp_path / "here/slow.jsonl")


@pytest.mark.usefixtures("two_threads")
def test_runs_at_once_change_nothing_and_leave_nothing_behind(done, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelectionWarning)
        with ThreadPoolExecutor(2) as pool, parallel_config("threading", n_jobs=2):
            before = list(warnings.filters), warnings.showwarning, threadpool_info()
            runs = [pool.submit(quietly, TINY, folder=tmp_path / str(i)) for i in range(2)]
            assert all(len(run.result().computed) == 10 for run in runs)
            assert (list(warnings.filters), warnings.showwarning, threadpool_info()) == before
    for i in range(2):
        assert stored(tmp_path / str(i) / "tiny.jsonl") == stored(done / "tiny.jsonl")


@pytest.mark.usefixtures("two_threads")
def test_a_fold_has_one_thread_for_linear_algebra(tmp_path):
    method = Method(f"{__name__}.Counting", {"place": str(tmp_path / "log")})
    with parallel_config("threading", n_jobs=2):
        quietly(of_pima({"counting": method}), folder=tmp_path)
    assert set((tmp_path / "log").read_text().split()) == {"1"}


def test_warnings_are_counted_not_shown(cell, capfd):
    # a constant column of ionosphere, once a fit: 8 folds, or 8 * (3 * 3 + 1) fits
    assert cell("ionosphere", "mpm").warnings["SelectionWarning"] == 8
    assert cell("ionosphere", "tuned").warnings["SelectionWarning"] == 80
    assert cell("pima", "mpm").warnings == {}
    assert capfd.readouterr().err == ""


# ---------------------------------------------------------------- nothing lost, nothing stale


def test_a_recomputation_that_changes_nothing_changes_no_byte(copy, done):
    path = copy / "tiny.jsonl"
    before = path.read_bytes()
    nothing = quietly(TINY, folder=copy)
    assert nothing.computed == [] and len(nothing.kept) == 10 and path.read_bytes() == before
    again = quietly(TINY, folder=copy, again=True, jobs=2)
    assert len(again.computed) == 10 and again.kept == []
    assert path.read_bytes() == before
    # another result takes the place of its line, and of no other
    *lines, last = before.splitlines()
    planted = json.loads(last)
    planted["errors"][0][0] += 1
    del planted["sum"]
    path.write_bytes(b"\n".join([*lines, json.dumps(seal(planted)).encode(), b""]))
    quietly(TINY, folder=copy, again=True)
    assert path.read_bytes().splitlines()[:-1] == lines
    assert stored(path) == stored(done / "tiny.jsonl")


def test_cells_of_several_versions_stand_in_one_file(copy, monkeypatch):
    path = copy / "tiny.jsonl"
    kept = File(path).read()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    other = engine.versions() | {"numpy": "0"}
    monkeypatch.setattr(engine, "versions", lambda: other)
    quietly(TINY, folder=copy)
    cells = File(path).read()
    assert [cell.name for cell in cells] == [cell.name for cell in kept]
    assert [cell.versions["numpy"] == "0" for cell in cells] == 9 * [False] + [True]


RUN = """
import signal, sys, tiny
# what was begun in the background of a script ignores interrupts, and so do its children
signal.signal(signal.SIGINT, signal.default_int_handler)
from fsnotes.replication.__main__ import main
with tiny.declared(tiny.SLOW):
    sys.exit(main(["run", "slow", "--jobs", sys.argv[2], "--results", sys.argv[1]]))
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A folder with the results of a run from its beginning to its end."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    quietly(tiny.SLOW, folder=folder)
    return folder


@pytest.mark.skipif(os.name != "posix", reason="children are listed in /proc")
def test_a_worker_that_is_killed_is_told_in_a_line(tmp_path):
    command = [sys.executable, "-c", RUN, str(tmp_path), "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=Path(__file__).parent, text=True, **pipes)
    wait_for_cells(tmp_path / "slow.jsonl", 1)
    killed = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            parent = (entry.parent / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == process.pid and b"loky" in entry.read_bytes():
                killed.append(int(entry.parent.name))
    os.kill(max(killed), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert (
        process.returncode == 1 and "Traceback" not in said.rpartition("fsnotes.replication: ")[0]
    )
    assert "a worker was ended from outside" in said


# Windows sends no such signal to one process alone
@pytest.mark.parametrize("how", ["kill", *["interrupt"] * (os.name != "nt")])
def test_a_run_that_is_stopped_leaves_no_worker_and_resumes(tmp_path, uninterrupted, how):
    command = [sys.executable, "-c", RUN, str(tmp_path), "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=Path(__file__).parent, text=True, **pipes)
    path = tmp_path / "slow.jsonl"
    wait_for_cells(path, 2)
    process.send_signal(signal.SIGINT) if how == "interrupt" else process.kill()
    # the pipes end with the last process that has them, and an idle worker lives for minutes
    _, said = process.communicate(timeout=60)
    if how == "interrupt":
        assert process.returncode == 130 and "the same command resumes" in said
    assert process.returncode != 0
    whole = [cell.name for cell in File(path).read()]
    resumed = quietly(tiny.SLOW, folder=tmp_path)
    # two workers may end cells in another order
    assert set(resumed.kept) == set(whole) and 2 <= len(whole) < len(tiny.SLOW.methods)
    assert len(resumed.computed) == len(tiny.SLOW.methods) - len(whole)
    assert stored(path) == stored(uninterrupted / "slow.jsonl")


def test_an_audit_marks_what_comes_out_differently(copy):
    sound = audit(TINY, sample=10, folder=copy)
    assert len(sound.checked) == 10 and sound.stale == []
    file = File(copy / "tiny.jsonl")
    planted = {cell.name: cell for cell in file.read()}
    table = planted["pima", "mpm"].confusion.copy()
    table[0, 0] += [1, -1]
    planted["pima", "mpm"] = replace(planted["pima", "mpm"], confusion=table)
    l1 = planted["ionosphere", "l1"]
    planted["ionosphere", "l1"] = replace(l1, masks=~l1.masks)
    file.path.unlink()
    for cell in planted.values():
        File(file.path).append(cell)
    found = audit(TINY, sample=10, folder=copy)
    assert set(found.stale) == {("pima", "mpm"), ("ionosphere", "l1")}
    assert "stale: pima/mpm" in repr(found)
    with tiny.declared(TINY):
        shown = repr(replication_table("tiny/one", folder=copy))
    assert re.search(r"MPM <all>: accuracy.*75\.0.*stale", shown)
    assert re.search(r"MPM <all>: accuracy.*85\.0.*agrees", shown)
    compared = comparison_table(TINY, "pima", methods=["mpm", "l1", "svc"], folder=copy)
    assert [row[4] == "stale" for row in compared.grids[0].rows] == [True, True, False]
    drawn = [audit(TINY, sample=3, seed=seed, folder=copy).checked for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == 3
    assert not audit(TINY, sample=3, within=0, folder=copy).checked
    for seed in (-1, 0.5, "a"):
        with pytest.raises(ExperimentError, match=f"seed={seed!r}; pass a whole number from 0"):
            audit(TINY, seed=seed, folder=copy)
    STALE.clear()


@pytest.mark.parametrize("wrong", [None, 1, ["mempm"]])
def test_what_is_no_name_or_folder_is_named(wrong):
    for call in (Results, audit):
        with pytest.raises(ExperimentError, match="^chapter=.*; pass one of dc"):
            call(wrong)
    if wrong is not None:
        with pytest.raises(ExperimentError, match="^folder="):
            Results("mempm", folder=wrong)


def test_quick_results_stand_apart(copy):
    before = (copy / "tiny.jsonl").read_bytes()
    found = quietly(TINY, quick=True, folder=copy, only="pima/mpm")
    assert found.path == copy / "tiny.quick.jsonl" and found.computed == [("pima", "mpm")]
    assert (copy / "tiny.jsonl").read_bytes() == before
    few = Results(TINY, copy, quick=True).cell("pima", "mpm")
    full = Results(TINY, copy).cell("pima", "mpm")
    # the repeats that there are, are the same
    assert few.accuracy.tolist() == full.accuracy[:4].tolist() and few.key != full.key


# ---------------------------------------------------------------- refusals


def test_a_failing_cell_is_named_and_costs_no_other(tmp_path):
    bad = of_pima({"bad": Method(tiny.L1MPM, {"delta": 0.999}), "mpm": TINY.methods["mpm"]})
    with pytest.raises(ExperimentError, match="1 of 2 cells failed") as caught:
        quietly(bad, folder=tmp_path)
    assert "tiny/pima/bad, fold 0: InfeasibleBoundError" in str(caught.value)
    assert set(stored(tmp_path / "tiny.jsonl")) == {("pima", "mpm")}


def test_workers_of_other_versions_or_data_are_refused(tmp_path, monkeypatch):
    work = engine._work(Results(TINY, tmp_path), "pima", "mpm")
    assert "other content" in engine.compute(replace(work, digest="other"), 0).failure
    compute = engine.compute

    def elsewhere(work, number):
        return replace(compute(work, number), versions={"numpy": "0"})

    monkeypatch.setattr(engine, "compute", elsewhere)
    with pytest.raises(ExperimentError, match="same versions on all machines"):
        quietly(TINY, folder=tmp_path, only="pima/mpm")


# ---------------------------------------------------------------- one setting, groups, units


ONCE = TunedOnce(repeats=3, test_size=0.4, inner=3, seed=5, tuning_rows=200)


@dataclass
class Noted(SVC):
    """A machine that writes down what it is given."""

    C: float = 1.0
    kernel: str = "linear"
    place: str = ""

    def __post_init__(self):
        super().__init__(C=self.C, kernel=self.kernel)

    def fit(self, X, y):
        with open(self.place, "a") as file:
            file.write(f"{os.getpid()} {self.kernel} {len(y)} {X[:, 1].std():.6f}\n")
        return super().fit(X, y)


class Counting(MPMachine):
    """A machine that writes down how many threads linear algebra takes."""

    def __init__(self, *, place=""):
        super().__init__()
        self.place = place

    def fit(self, X, y):
        counts = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        with open(self.place, "a") as file:
            file.write("".join(f"{count}\n" for count in counts))
        return super().fit(X, y)


def noted(place, **more):
    return Method(f"{__name__}.Noted", {"place": str(place)}, {"C": [0.01, 1.0]}, **more)


def test_settings_are_chosen_once_where_the_protocol_says_so(tmp_path):
    method = noted(tmp_path / "log", tuning={"kernel": "rbf"}, scaled=True)
    chapter = of_pima({"a": method, "b": replace(method, paper="the same")}, protocol=ONCE)
    quietly(chapter, folder=tmp_path)
    X, y = tiny.canonical("pima")
    splits = ONCE.splits(y)
    rows, inner = ONCE.tuning(y, splits, 2)
    again, same = ONCE.tuning(y, splits, 0)
    assert len(rows) == 200 and set(rows) <= set(splits[0][0]) and np.array_equal(rows, again)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(inner, same, strict=True))
    shares = np.bincount(y[rows]) / 200 - np.bincount(y[splits[0][0]]) / len(splits[0][0])
    assert abs(shares).max() < 0.01
    whole, _ = replace(ONCE, tuning_rows=10**6).tuning(y, splits, 1)
    assert np.array_equal(whole, splits[0][0])
    # two prices on three inner folds, once for both cells, then three fits of each
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert [kernel for _, kernel, *_ in log] == 6 * ["rbf"] + 6 * ["linear"]
    X_drawn, y_drawn = X[rows], y[rows]
    right = {0.01: 0, 1.0: 0}
    for C in right:
        for a, b in inner:
            found = pipeline_of(C=C).fit(X_drawn[a], y_drawn[a]).predict(X_drawn[b])
            right[C] += np.sum(found == y_drawn[b])
    chosen = max(right, key=right.get)
    for name in ("a", "b"):
        cell = Results(chapter, tmp_path).cell("pima", name)
        assert cell.settings == [{"C": chosen}] * 3
        best = pipeline_of(C=chosen, kernel="linear")
        scores = [best.fit(X[a], y[a]).score(X[b], y[b]) for a, b in splits]
        assert cell.accuracy.tolist() == scores
    # an audit has to choose anew, and finds the same
    assert audit(chapter, folder=tmp_path).stale == []


def test_settings_that_cannot_be_chosen_cost_their_cells_alone(tmp_path):
    broken = Method(tiny.L1MPM, {"refit": False}, {"retain": [7.0, 8.0]})
    chapter = of_pima({"broken": broken, "mpm": Method(tiny.MPM)}, protocol=ONCE)
    with pytest.raises(ExperimentError, match=r"1 of 2 cells failed.*\n.*pima/broken, settings"):
        quietly(chapter, folder=tmp_path)
    assert list(stored(tmp_path / "tiny.jsonl")) == [("pima", "mpm")]


def test_columns_may_be_scaled_before_the_split(tmp_path):
    plain = noted(tmp_path / "log")
    chapter = of_pima({"plain": plain, "leak": replace(plain, leaks=True)}, protocol=ONCE)
    quietly(chapter, folder=tmp_path)
    X, y = tiny.canonical("pima")
    Z = StandardScaler().fit_transform(X)
    results = Results(chapter, tmp_path)
    chosen = results.cell("pima", "leak").settings[0]["C"]
    expected = [
        SVC(kernel="linear", C=chosen).fit(Z[a], y[a]).score(Z[b], y[b]) for a, b in ONCE.splits(y)
    ]
    assert results.cell("pima", "leak").accuracy.tolist() == expected
    # settings are those of the rows as they are
    assert results.cell("pima", "plain").settings[0]["C"] == chosen
    logged = (tmp_path / "log").read_text().splitlines()
    assert len(logged) == 6 + 3 + 3


def test_what_is_shared_runs_in_one_place_and_changes_no_result(tmp_path):
    found = []
    for name, jobs in (("alone", None), ("together", 2)):
        methods = {
            f"{kernel}{C}": replace(
                noted(tmp_path / name, scaled=True, group=kernel if name == "together" else ""),
                parameters={"place": str(tmp_path / name), "C": C, "kernel": kernel},
                grid={},
            )
            for C in (0.01, 1.0)
            for kernel in ("linear", "rbf")
        }
        quietly(of_pima(methods), jobs=jobs, folder=tmp_path / f"{name}-results")
        lines = stored(tmp_path / f"{name}-results" / "tiny.jsonl")
        for line in lines.values():
            del line["key"]  # which holds the place
        found.append(lines)
    assert found[0] == found[1]
    log = [line.split() for line in (tmp_path / "together").read_text().splitlines()]
    # split by split, each worker has both prices of a kernel one after the other
    for process in {pid for pid, *_ in log}:
        mine = [rest for pid, *rest in log if pid == process]
        assert mine[::2] == mine[1::2]


def test_the_last_results_are_kept_and_no_others():
    calls = []
    kept = engine.Kept(lambda key, value: calls.append(key) or value, most=2)
    assert [kept(key, lambda key=key: -key) for key in (1, 2, 1, 3, 1)] == [-1, -2, -1, -3, -1]
    assert calls == [1, 2, 3, 1]


def test_jobs_are_a_number(tmp_path):
    with pytest.raises(ExperimentError, match="jobs=True; pass a whole number"):
        engine.run(TINY, jobs=True, folder=tmp_path)
