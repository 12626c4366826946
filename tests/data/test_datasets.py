import contextlib
import hashlib
import http.server
import importlib
import io
import json
import lzma
import re
import socket
import subprocess
import sys
import threading
import urllib.request
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from fsnotes.data import datasets
from fsnotes.data.datasets import available, class_digests, download, load

DATA = Path(datasets.__file__).parent
NAMES = list(available())
SHAPES = {
    "sonar": (208, 60),
    "ionosphere": (351, 34),
    "pima": (768, 8),
    "wisconsin": (683, 9),
    "wpbc": (194, 32),
    "titanic": (2201, 3),
    "wdbc": (569, 30),
}
COUNTS = {
    "sonar": {"M": 111, "R": 97},
    "ionosphere": {"b": 126, "g": 225},
    "pima": {"negative": 500, "positive": 268},
    "wisconsin": {"benign": 444, "malignant": 239},
    "wpbc": {"N": 148, "R": 46},
    "titanic": {"died": 1490, "survived": 711},
    "wdbc": {"malignant": 212, "benign": 357},
}


def test_every_set_is_listed_and_described():
    table = available()
    assert NAMES == [*SHAPES, *datasets.OPENML_IDS, *datasets.SUPPLIED]
    for name, shape in SHAPES.items():
        assert table[name][:3] == (*shape, 2)
        assert table[name].location in ("fsnotes", "scikit-learn")
    for name in NAMES:
        if name != "wdbc":
            assert (DATA / f"{name}.md").read_text("utf-8").startswith("# ")


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_class_counts(name):
    bunch = load(name)
    assert bunch.data.shape == SHAPES[name]
    assert len(bunch.feature_names) == SHAPES[name][1]
    names, counts = np.unique(bunch.target_names[bunch.target], return_counts=True)
    assert dict(zip(names, counts, strict=True)) == COUNTS[name]
    assert list(bunch.target_names) == list(COUNTS[name])
    assert np.isfinite(bunch.data).all()


@pytest.mark.parametrize("name", datasets.PACKAGED)
def test_files_are_those_of_the_table(name):
    content = (DATA / f"{name}.csv").read_bytes().replace(b"\r\n", b"\n")
    (row,) = re.findall(rf"^\| {name} \|.*$", (DATA / "README.md").read_text("utf-8"), re.M)
    assert hashlib.sha256(content).hexdigest() in row
    counts = datasets._registry()[name]["counts"]
    assert all(str(count) in row for count in counts)


def test_some_values_of_each_source():
    assert load("sonar").data[0, :3].tolist() == [0.02, 0.0371, 0.0428]
    assert load("ionosphere").data[0, 2:4].tolist() == [0.99539, -0.05889]
    assert not load("ionosphere").data[:, 1].any()
    assert load("pima").data[0].tolist() == [14, 175, 62, 30, 0, 33.6, 0.212, 38]
    assert load("wisconsin").data.min() == 1 and load("wisconsin").data.max() == 10
    assert load("wpbc").data[0, 0] == 18.02


@pytest.mark.parametrize("name", SHAPES)
def test_return_shapes_are_those_of_scikit_learn(name):
    ours, theirs = load(name), load_breast_cancer()
    assert set(theirs) <= set(ours)
    assert ours.frame is None
    X, y = load(name, return_X_y=True)
    assert np.array_equal(X, ours.data) and np.array_equal(y, ours.target)
    assert X.dtype == theirs.data.dtype and y.dtype == theirs.target.dtype


@pytest.mark.parametrize("name", SHAPES)
def test_frames_are_those_of_scikit_learn(name):
    pandas = pytest.importorskip("pandas")
    plain, framed, theirs = load(name), load(name, as_frame=True), load_breast_cancer(as_frame=True)
    assert type(framed.data) is type(theirs.data) and type(framed.target) is type(theirs.target)
    assert framed.target.name == theirs.target.name
    assert list(framed.data.columns) == list(plain.feature_names)
    assert np.array_equal(framed.data.to_numpy(), plain.data)
    joined = pandas.concat([framed.data, framed.target], axis=1)
    pandas.testing.assert_frame_equal(framed.frame, joined)
    X, y = load(name, return_X_y=True, as_frame=True)
    pandas.testing.assert_frame_equal(X, framed.data)
    pandas.testing.assert_series_equal(y, framed.target)


def test_frames_without_pandas_say_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        load("sonar", as_frame=True)
    load("sonar")


def test_raw_wpbc_has_every_row_and_the_time():
    complete, raw = load("wpbc"), load("wpbc", raw=True)
    assert raw.data.shape == (198, 33)
    assert raw.feature_names[0] == "time" and "time" not in complete.feature_names
    missing = np.argwhere(np.isnan(raw.data))
    assert missing.tolist() == [[6, 32], [28, 32], [85, 32], [196, 32]]
    kept = np.delete(raw.data[:, 1:], missing[:, 0], axis=0)
    assert np.array_equal(kept, complete.data)
    assert np.bincount(raw.target).tolist() == [151, 47]


@pytest.mark.parametrize("name", ["sonar", "wdbc", "madelon"])
def test_raw_has_no_meaning_elsewhere(name):
    with pytest.raises(ValueError, match="only 'wpbc' has a rawer form"):
        load(name, raw=True)


def test_titanic_has_the_published_margins():
    bunch = load("titanic")
    counts = bunch.counts
    assert counts.shape == (14,)
    people = counts["died"] + counts["survived"]
    assert people.sum() == 2201

    def margin(field):
        return {
            int(value): (int(people[cell].sum()), int(counts["survived"][cell].sum()))
            for value in np.unique(counts[field])
            for cell in [counts[field] == value]
        }

    assert margin("class") == {1: (325, 203), 2: (285, 118), 3: (706, 178), 4: (885, 212)}
    assert margin("child") == {0: (2092, 654), 1: (109, 57)}
    assert margin("male") == {0: (470, 344), 1: (1731, 367)}
    rows, index = np.unique(bunch.data, axis=0, return_inverse=True)
    cells = np.column_stack([counts["class"], counts["child"], counts["male"]])
    assert np.array_equal(rows, cells)
    assert np.array_equal(np.bincount(index[bunch.target == 1], minlength=14), counts["survived"])


def test_titanic_counts_as_frame():
    pytest.importorskip("pandas")
    counts = load("titanic", as_frame=True).counts
    assert list(counts.columns) == ["class", "child", "male", "died", "survived"]
    assert counts[["died", "survived"]].to_numpy().sum() == 2201


def test_wdbc_is_scikit_learns():
    ours, theirs = load("wdbc"), load_breast_cancer()
    assert np.array_equal(ours.data, theirs.data) and np.array_equal(ours.target, theirs.target)


@pytest.mark.parametrize(
    ("wrong", "guess"), [("sonnar", "sonar"), ("Madelon", "madelon"), ("wdbcc", "wdbc")]
)
def test_unknown_name_suggests_the_nearest(wrong, guess):
    for call in (load, download):
        with pytest.raises(ValueError, match=f"Did you mean '{guess}'") as caught:
            call(wrong)
        assert all(name in str(caught.value) for name in NAMES)


def test_nameless_things_are_refused():
    with pytest.raises(ValueError, match="unknown data set 3"):
        load(3)


# corrupt files


def damaged_resource(monkeypatch, filename, change):
    original = datasets._read_resource

    def read(name):
        text = original(name)
        return change(text) if name == filename else text

    monkeypatch.setattr(datasets, "_read_resource", read)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("0.0371", "0.0372", 1),
        lambda text: text.replace(",R\n", ",M\n", 1),
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.0371", "zero", 1),
        lambda text: "",
    ],
    ids=["value", "label", "truncated", "letters", "empty"],
)
def test_damaged_packaged_file_is_refused(monkeypatch, change):
    damaged_resource(monkeypatch, "sonar.csv", change)
    with pytest.raises(ValueError, match=r"fsnotes/data/sonar\.csv is damaged.*reinstall"):
        load("sonar")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("118,57", "117,58"),
        lambda text: text.replace("118,57", "118"),
        lambda text: "class,child,male,died,survived\n",
        lambda text: "",
    ],
    ids=["counts", "ragged", "header", "empty"],
)
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_damaged_titanic_is_refused(monkeypatch, change):
    damaged_resource(monkeypatch, "titanic.csv", change)
    with pytest.raises(ValueError, match=r"titanic\.csv is damaged.*reinstall"):
        load("titanic")


def test_damaged_registry_is_refused(monkeypatch):
    damaged_resource(monkeypatch, "registry.json", lambda text: text[:100])
    datasets._registry.cache_clear()
    with pytest.raises(ValueError, match=r"registry\.json is damaged.*reinstall"):
        load("sonar")


def test_line_ends_of_the_packaged_files_do_not_matter(monkeypatch):
    plain = load("wpbc", raw=True).data
    damaged_resource(monkeypatch, "wpbc.csv", lambda text: text.replace("\n", "\r\n"))
    assert np.array_equal(load("wpbc", raw=True).data, plain, equal_nan=True)


# a small stand-in for the larger sets


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Register a small content as madelon (which has an OpenML id) and colon (which has none)."""
    rng = np.random.default_rng(5)
    X = rng.integers(-9, 10, (40, 3)) / 8
    y = np.where(np.arange(40) < 25, "no", "yes")
    entry = {
        "shape": [40, 3],
        "classes": ["no", "yes"],
        "counts": [25, 15],
        "digests": list(class_digests(X, y).values()),
    }
    registry = datasets._registry() | {"madelon": entry, "colon": entry}
    monkeypatch.setattr(datasets, "_registry", lambda: registry)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("FSNOTES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "cache"))
    return X, y


@pytest.fixture
def own_file(tmp_path):
    return tmp_path / "data" / "madelon.npz"


def test_own_file_comes_before_the_cache(stand_in, own_file, tmp_path):
    X, y = stand_in
    (tmp_path / "cache").mkdir()
    cached = tmp_path / "cache" / "madelon.npz"
    np.savez(cached, X=X[::-1], y=y[::-1])
    assert load("madelon").filename == str(cached)
    np.savez(own_file, X=X, y=y)
    bunch = load("madelon")
    assert bunch.filename == available()["madelon"].location == str(own_file)
    assert np.array_equal(bunch.data, X)
    assert np.array_equal(bunch.target_names[bunch.target], y)


@given(seed=st.integers(0, 2**32 - 1), names=st.sampled_from([(1, 2), (1, -1), ("b", "a")]))
@settings(max_examples=30, deadline=None)
def test_order_and_label_names_do_not_enter_the_digests(seed, names):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 2)).round(1)
    y = np.arange(12) % 2
    order = rng.permutation(12)
    renamed = np.array(names)[y[order]]
    expected = list(class_digests(X, y).values())
    found = class_digests(X[order], renamed)
    assert [found[name] for name in names] == expected


@given(row=st.integers(0, 11), column=st.integers(0, 1))
@settings(max_examples=20, deadline=None)
def test_one_unit_in_the_last_place_changes_a_digest(row, column):
    X = np.random.default_rng(0).standard_normal((12, 2))
    y = np.arange(12) % 2
    other = X.copy()
    other[row, column] = np.nextafter(X[row, column], np.inf)
    before, after = class_digests(X, y), class_digests(other, y)
    assert before[row % 2] != after[row % 2]
    assert before[1 - row % 2] == after[1 - row % 2]


def test_zero_and_missing_have_one_digest():
    nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    one, other = class_digests([[0.0, np.nan]], [0]), class_digests([[-0.0, nan]], [0])
    assert one == other


def test_other_order_and_label_names_load_alike(stand_in, own_file):
    X, y = stand_in
    order = np.random.default_rng(1).permutation(40)
    np.savez(own_file, X=X, y=y)
    first = load("madelon")
    np.savez(own_file, X=X[order].astype(np.float32), y=np.where(y == "no", 2, 1)[order])
    second = load("madelon")
    assert np.array_equal(second.data, X[order])
    assert np.array_equal(second.target, first.target[order])
    for key in ("data", "target"):
        assert np.array_equal(
            first[key][first.canonical_order], second[key][second.canonical_order]
        )


def one_value(X, y):
    X[3, 1] += 1 / 1024
    return {"X": X, "y": y}


def one_pair_of_labels(X, y):
    y[[0, 39]] = y[[39, 0]]
    return {"X": X, "y": y}


def one_label(X, y):
    y[0] = "yes"
    return {"X": X, "y": y}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (one_value, "values of class no differ"),
        (one_pair_of_labels, "values of class no, yes differ"),
        (one_label, "classes of 25, 15 rows, found 24, 16"),
        (lambda X, y: {"X": X[:, :2], "y": y}, r"X \(40, 3\).*found \(40, 2\)"),
        (lambda X, y: {"X": X, "y": y[:, None]}, r"y \(40,\), found .*\(40, 1\)"),
        (lambda X, y: {"X": X}, "no array named y"),
        (lambda X, y: {"X": X, "y": np.where(y == "no", 0.0, np.nan)}, r"missing \(NaN\)"),
        (lambda X, y: {"X": X.astype(object), "y": y}, "not a readable .npz"),
        (lambda X, y: {"X": X.astype(str) + "?", "y": y}, "not a readable .npz"),
    ],
    ids=["value", "labels", "label", "shape", "column", "array", "NaN", "pickle", "strings"],
)
def test_wrong_content_is_refused(stand_in, own_file, change, complaint):
    X, y = stand_in
    np.savez(own_file, **change(X.copy(), y.copy()))
    with pytest.raises(ValueError, match=complaint) as caught:
        load("madelon")
    assert str(own_file) in str(caught.value) and "unset FSNOTES_DATA" in str(caught.value)
    assert "unsafe" not in str(caught.value)


def test_a_home_that_does_not_exist_is_a_folder_without_the_file(stand_in, monkeypatch):
    monkeypatch.setenv("FSNOTES_DATA", "~nobody-of-that-name/data")
    with pytest.raises(FileNotFoundError, match="nobody-of-that-name"):
        load("madelon")


def test_a_complete_copy_takes_its_place_in_one_step(stand_in, tmp_path, monkeypatch):
    X, y = stand_in
    moves = []

    def replace(source, target):
        moves.append((Path(source).parent.parent, Path(target)))
        with np.load(source) as arrays:
            assert np.array_equal(arrays["X"], X)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(datasets.os, "replace", replace)
    with serving({"/x.npz": npz_of(X, y)}) as (base, _):
        with pytest.raises(OSError, match="Input/output error"):
            download("colon", base + "/x.npz")
    # from within the cache folder, since only there a move is one step
    assert moves == [(tmp_path / "cache", tmp_path / "cache" / "colon.npz")]
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("share", [0, 0.3, 0.9], ids=["empty", "third", "most"])
def test_truncated_file_is_refused(stand_in, own_file, share):
    X, y = stand_in
    np.savez_compressed(own_file, X=X, y=y)
    content = own_file.read_bytes()
    own_file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="not a readable .npz") as caught:
        load("madelon")
    assert str(own_file) in str(caught.value)


def test_damaged_cache_file_names_the_remedy_and_is_replaced(stand_in, tmp_path):
    X, y = stand_in
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "madelon.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"fsnotes\.download\('madelon'\) to replace it"):
        load("madelon")
    with serving(openml_pages(X, y)) as (base, _), openml_at(base):
        download("madelon")
    assert np.array_equal(load("madelon").data, X)


def test_missing_file_says_what_to_put_where(stand_in, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load("madelon")
    message = str(caught.value)
    for part in (
        str(tmp_path / "data" / "madelon.npz"),
        str(tmp_path / "cache" / "madelon.npz"),
        "fsnotes.download('madelon')",
        "FSNOTES_DATA",
        "X, 40 x 3 numbers",
    ):
        assert part in message
    with pytest.raises(FileNotFoundError, match=r"download\('colon', source=ADDRESS\)"):
        load("colon")


def test_sets_without_openml_copy_ask_for_an_address(stand_in):
    for call in (download, lambda name: load(name, download=True)):
        with pytest.raises(ValueError, match="source=ADDRESS.*FSNOTES_DATA"):
            call("colon")


@pytest.mark.parametrize(
    "source", ["file:///etc/x.npz", "ftp://a/b.npz", "http://a/b.zip", "b.npz", -1, True, 2.0]
)
def test_odd_sources_are_refused(stand_in, source):
    with pytest.raises(ValueError, match="neither an OpenML id"):
        download("madelon", source)


def test_an_address_that_is_none_is_refused(stand_in):
    with pytest.raises(ConnectionError, match="could not be fetched from http://"):
        download("madelon", "http://[::1.npz")


def test_load_never_touches_the_network(stand_in, own_file, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in SHAPES:
        load(name)
    with pytest.raises(FileNotFoundError):
        load("madelon")
    X, y = stand_in
    np.savez(own_file, X=X, y=y)
    load("madelon", download=True)
    own_file.unlink()
    # the guard works: asking for a download does reach for the network
    with pytest.raises(AssertionError, match="a socket was opened"):
        load("madelon", download=True)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/fsnotes")),
        ("linux", {"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache/fsnotes"),
        ("darwin", {}, Path.home() / "Library/Caches/fsnotes"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/fsnotes")),
        ("win32", {"FSNOTES_CACHE": "/own"}, Path("/own")),
    ],
)
def test_cache_folder(monkeypatch, platform, variables, expected):
    for name in ("FSNOTES_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert datasets.cache_folder() == expected


# downloads, from a server on this machine


@contextlib.contextmanager
def serving(pages, announce=None):
    """Serve {path: bytes}; `announce` overrides Content-Length, as a cut connection does."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = pages.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(announce or len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        for path, content in list(pages.items()):
            pages[path] = content.replace(b"BASE", base.encode())
        try:
            yield base, asked
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def openml_at(base):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "OPENML_DESCRIPTION", base + "/api/v1/json/data/{id}")
        yield


def arff_of(X, y, names=("1", "2")):
    """An ARFF file as OpenML has them: quoted names, the label neither first nor last."""
    rows = [
        f"{i},{row[0]},'{names[int(label == 'yes')]}',{row[1]},{row[2]}"
        for i, (row, label) in enumerate(zip(X, y, strict=True))
    ]
    head = [
        "% a comment",
        "@RELATION 'stand in'",
        "@ATTRIBUTE id NUMERIC",
        "@ATTRIBUTE 'V 1' REAL",
        f"@ATTRIBUTE 'Class' {{'{names[0]}','{names[1]}'}}",
        "@ATTRIBUTE V2 NUMERIC",
        "@ATTRIBUTE V3 NUMERIC",
        "@DATA",
    ]
    return "\n".join([*head, *rows, ""]).encode()


def openml_pages(X, y, **changes):
    arff = arff_of(X, y)
    about = {
        "id": "1485",
        "name": "madelon",
        "format": "ARFF",
        "url": "BASE/data/download/1485/stand_in.arff",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
        "default_target_attribute": "Class",
        "row_id_attribute": "id",
    }
    about = {key: value for key, value in (about | changes).items() if value is not None}
    return {
        "/api/v1/json/data/1485": json.dumps({"data_set_description": about}).encode(),
        "/data/download/1485/stand_in.arff": arff,
    }


def left_behind(tmp_path):
    return sorted(str(path) for path in (tmp_path / "cache").rglob("*"))


def test_openml_route(stand_in, tmp_path, capsys):
    X, y = stand_in
    with serving(openml_pages(X, y)) as (base, asked), openml_at(base):
        bunch = load("madelon", download=True)
        assert len(asked) == 2
        final = tmp_path / "cache" / "madelon.npz"
        assert download("madelon") == final
        load("madelon", download=True)
        assert len(asked) == 2, "a verified copy is not fetched again"
    assert np.array_equal(bunch.data, X)
    assert np.array_equal(bunch.target_names[bunch.target], y)
    assert left_behind(tmp_path) == [str(final)]
    out, err = capsys.readouterr()
    assert out == "" and "madelon" in err


@pytest.mark.parametrize(
    ("changes", "error", "complaint"),
    [
        ({"md5_checksum": "0" * 32}, ConnectionError, "md5 checksum"),
        ({"url": None}, ConnectionError, "did not answer with the description"),
        ({"url": "file:///etc/hosts"}, ConnectionError, "no http"),
        ({"url": "BASE/nowhere.arff"}, ConnectionError, "Not Found"),
        ({"row_id_attribute": None}, ValueError, r"found \(40, 4\)"),
        ({"default_target_attribute": "V2"}, ValueError, "damaged"),
        ({"default_target_attribute": "Klasse"}, ValueError, "not a readable .arff"),
    ],
)
def test_openml_failures(stand_in, tmp_path, changes, error, complaint):
    with serving(openml_pages(*stand_in, **changes)) as (base, _), openml_at(base):
        with pytest.raises(error, match=complaint):
            download("madelon")
    assert left_behind(tmp_path) == []


def test_openml_with_another_content_is_refused(stand_in, tmp_path):
    X, y = stand_in
    pages = openml_pages(X + 1 / 1024, y)
    with serving(pages) as (base, _), openml_at(base):
        with pytest.raises(ValueError, match="differ from the registered ones; nothing was saved"):
            download("madelon")
    assert left_behind(tmp_path) == []


def npz_of(X, y):
    stream = io.BytesIO()
    np.savez(stream, X=X, y=y)
    return stream.getvalue()


def csv_of(X, y, header):
    rows = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, y, strict=True)]
    return "\r\n".join([*header, *rows]).encode()


@pytest.mark.parametrize(
    ("path", "make"),
    [
        ("/x.npz", npz_of),
        ("/x.csv", lambda X, y: csv_of(X, y, ["a,b,c,label"])),
        ("/x.CSV?raw=1", lambda X, y: csv_of(X, y, [])),
        (
            "/x.arff",
            lambda X, y: b"\n".join(
                [b"@relation r", *(b"@attribute v%d real" % i for i in range(3))]
                + [b"@attribute class {no,yes}", b"@data", csv_of(X, y, []).replace(b"\r", b"")]
            ),
        ),
    ],
)
def test_addresses_in_each_format(stand_in, path, make):
    X, y = stand_in
    with serving({path: make(X, y)}) as (base, _):
        download("colon", base + path)
    bunch = load("colon")
    assert np.array_equal(bunch.data, X)
    assert np.array_equal(bunch.target_names[bunch.target], y)


def test_missing_cells_of_a_table_are_read_as_such():
    X, y = datasets._parse_csv([",1,,a", "2, 3 ,,b", "4,,6,a"], "here", "")
    assert np.array_equal(X, [[np.nan, 1, np.nan], [2, 3, np.nan], [4, np.nan, 6]], equal_nan=True)
    assert y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize("path", ["/x.npz", "/x.csv", "/x.arff"])
@pytest.mark.parametrize("content", [b"", b"<html>sorry</html>", b"\xff\xfe\x00"])
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_nonsense_is_refused_and_leaves_nothing(stand_in, tmp_path, path, content):
    with serving({path: content}) as (base, _):
        with pytest.raises(ValueError, match="nothing was saved") as caught:
            download("colon", base + path)
    assert base + path in str(caught.value)
    assert left_behind(tmp_path) == []


def test_download_that_breaks_off_leaves_nothing(stand_in, tmp_path):
    content = npz_of(*stand_in)
    with serving({"/x.npz": content}, announce=2 * len(content)) as (base, _):
        with pytest.raises(ConnectionError, match=f"after {len(content)} of {2 * len(content)}"):
            download("colon", base + "/x.npz")
    assert left_behind(tmp_path) == []


def test_failed_download_keeps_the_good_copy(stand_in, tmp_path):
    X, y = stand_in
    (tmp_path / "cache").mkdir()
    cached = tmp_path / "cache" / "colon.npz"
    np.savez(cached, X=X, y=y)
    before = cached.read_bytes()
    with serving({"/x.npz": npz_of(X + 1, y)}) as (base, _):
        with pytest.raises(ValueError, match="differ from the registered"):
            download("colon", base + "/x.npz")
    assert cached.read_bytes() == before and left_behind(tmp_path) == [str(cached)]


def test_full_disk_keeps_the_good_copy(stand_in, tmp_path, monkeypatch):
    X, y = stand_in
    (tmp_path / "cache").mkdir()
    cached = tmp_path / "cache" / "colon.npz"
    np.savez(cached, X=X, y=y)
    before = cached.read_bytes()

    def half_a_file(path, **_arrays):
        Path(path).write_bytes(before[:99])
        raise OSError(28, "No space left on device")

    with serving({"/x.npz": before}) as (base, _):
        for name in ("savez", "savez_compressed"):
            monkeypatch.setattr(np, name, half_a_file)
        with pytest.raises(OSError, match="No space left.*FSNOTES_CACHE"):
            download("colon", base + "/x.npz")
    assert cached.read_bytes() == before and left_behind(tmp_path) == [str(cached)]


def test_without_network_the_error_says_what_to_put_where(stand_in, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}"
        with openml_at(base), pytest.raises(ConnectionError) as caught:
            load("madelon", download=True)
    for part in ("madelon.npz", str(tmp_path / "cache"), "FSNOTES_DATA", base, "refused"):
        assert part in str(caught.value)
    assert left_behind(tmp_path) == []


def test_server_that_never_answers_times_out(stand_in, tmp_path, monkeypatch):
    limits, urlopen = [], urllib.request.urlopen

    def recording(*args, timeout, **kwargs):
        limits.append(timeout)
        return urlopen(*args, timeout=timeout, **kwargs)

    monkeypatch.setattr(urllib.request, "urlopen", recording)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x.npz"
        with pytest.raises(ConnectionError, match="timed out"):
            download("colon", address, timeout=0.1)
    assert limits == [0.1]
    assert left_behind(tmp_path) == []


def test_unwritable_cache_names_the_variable(stand_in, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="FSNOTES_CACHE"):
        download("colon", "http://127.0.0.1:9/x.npz")


def test_packaged_sets_need_no_download():
    with pytest.raises(ValueError, match=r"load\('wdbc'\)"):
        download("wdbc")


@pytest.mark.parametrize("name", datasets.OPENML_IDS)
def test_real_files(name, monkeypatch, tmp_path):
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path))
    path = datasets._present_file(name)
    if path is None:
        pytest.skip(f"FSNOTES_DATA has no {name}.npz")
    bunch = load(name)
    info = available()[name]
    assert bunch.data.shape == (info.n_samples, info.n_features)
    names, counts = np.unique(bunch.target, return_counts=True)
    assert counts.tolist() == datasets._registry()[name]["counts"]
    assert len(bunch.target_names) == len(names) == info.n_classes
    with np.load(path, allow_pickle=False) as arrays:
        assert np.array_equal(bunch.data, arrays["X"])


@pytest.mark.parametrize("name", datasets.SUPPLIED)
def test_sets_of_the_user_are_verified_by_their_shape(name, monkeypatch, tmp_path):
    monkeypatch.setenv("FSNOTES_DATA", str(tmp_path))
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "cache"))
    n_samples, n_features, n_classes = datasets.SUPPLIED[name]
    assert available()[name][:3] == datasets.SUPPLIED[name] and available()[name].location is None
    hint = rf"{name}\.npz .arrays X, {n_samples} x {n_features} numbers"
    for call in (load, lambda name: load(name, download=True)):
        with pytest.raises(FileNotFoundError, match=f"not available .*{hint}"):
            call(name)
    with pytest.raises(ValueError, match=f"cannot be fetched.*{hint}"):
        download(name)
    X = np.random.default_rng(0).normal(size=(n_samples, n_features)).astype(np.float32)
    y = np.array([f"class {k}" for k in range(n_classes)])[np.arange(n_samples) % n_classes]
    path = tmp_path / f"{name}.npz"
    np.savez(path, X=X, y=y)
    bunch = load(name)
    assert np.array_equal(bunch.data, X) and bunch.data.dtype == np.float64
    assert np.array_equal(bunch.target_names[bunch.target], y)
    assert bunch.filename == available()[name].location == str(path)
    assert "only the shape" in " ".join(bunch.DESCR.split())
    assert len(bunch.feature_names) == n_features
    hole = np.where(np.arange(n_features) == 3, np.nan, X)
    for arrays, said in [
        ({"X": X[:, :-1], "y": y}, rf"{name} has X .*found \({n_samples}, {n_features - 1}\)"),
        ({"X": X, "y": y[:-1]}, rf"found .*\({n_samples - 1},\)"),
        ({"X": X, "y": np.where(y == "class 0", "class 1", y)}, f"found {n_classes - 1}"),
        ({"X": hole, "y": y}, "missing or infinite"),
        ({"X": X}, "no array named y"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(ValueError, match=said) as caught:
            load(name)
        assert str(path) in str(caught.value)


def test_import_is_light():
    package = str(Path(datasets.__file__).parents[1])
    code = f"""
import sys, types
# the package's own __init__ imports the solvers, which are not in question here
sys.modules["fsnotes"] = types.ModuleType("fsnotes")
sys.modules["fsnotes"].__path__ = [{package!r}]
import fsnotes.data.datasets
fsnotes.data.datasets.available()
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "matplotlib", "tqdm", "sklearn", "scipy"} & set(done.stdout.split())


# making the files again


@pytest.fixture(scope="module")
def rebuild():
    return importlib.import_module("fsnotes.data.rebuild")


def test_rebuild_writes_numbers_that_read_back(rebuild):
    for number in (0.1, 1 / 3, 5e-324, 1e22, -0.0371, 12.0, 1013.0):
        assert float(rebuild.number_text(number)) == number
    assert rebuild.number_text(12.0) == "12"
    assert rebuild.number_text(np.nan) == "" and rebuild.number_text("R") == "R"


def test_rebuild_inflates_each_kind_of_record(rebuild):
    plain = b"abc" * 100
    size = len(plain).to_bytes(4, "big")
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    packed = lzma.compress(plain, lzma.FORMAT_RAW, filters=filters)
    assert rebuild.inflate(size + zlib.compress(plain)) == plain
    assert rebuild.inflate(size + b"Z" + packed) == plain
    with pytest.raises(SystemExit, match="announced"):
        rebuild.inflate((5).to_bytes(4, "big") + zlib.compress(plain))


def test_rebuild_counts_keels_standardised_titanic(rebuild):
    text = "-1.87,-0.228,0.521,-1.0\n-1.87,-0.228,0.521,1.0\n0.965,-0.228,-1.92,1.0\n"
    cells = rebuild.keel_titanic_cells(rebuild.parse_rows(3 * text))
    assert cells == [["1", "0", "1", "3", "3"], ["4", "0", "0", "0", "3"]]


def test_rebuild_refuses_sources_that_disagree(rebuild):
    rows = [["0.50", "1", "a"], ["2", "3", "b"]]
    rebuild.agree_as_sets("x", rows, [["2.0", "3", "b"], ["0.5", "1", "a"]])
    for other in ([["2", "3", "b"], ["0.5", "1", "b"]], rows[:1], [*rows, rows[0]]):
        with pytest.raises(SystemExit, match="disagree"):
            rebuild.agree_as_sets("x", rows, other)


def test_rebuild_refuses_altered_packages(rebuild, tmp_path, monkeypatch):
    monkeypatch.setattr(
        rebuild, "PACKAGES", {"a==1": ("a.whl", hashlib.sha256(b"right").hexdigest())}
    )
    with pytest.raises(SystemExit, match=r"a\.whl is not in"):
        rebuild.verify_packages(tmp_path)
    (tmp_path / "a.whl").write_bytes(b"wrong")
    with pytest.raises(SystemExit, match="sha256"):
        rebuild.verify_packages(tmp_path)
    (tmp_path / "a.whl").write_bytes(b"right")
    rebuild.verify_packages(tmp_path)


def test_rebuild_registers_what_the_registry_holds(rebuild):
    lines = (DATA / "wisconsin.csv").read_text("ascii").splitlines()
    rows = rebuild.parse_rows("\n".join(lines[1:]))
    assert rebuild.register(*rebuild.rows_to_arrays(rows)) == datasets._registry()["wisconsin"]
    content = rebuild.write_csv(lines[0].split(","), rows)
    assert content.decode() == "\n".join([*lines, ""])


def test_rebuild_says_whether_files_agree(rebuild, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rebuild, "HERE", tmp_path)
    monkeypatch.setattr(rebuild, "verify_packages", lambda folder: None)
    monkeypatch.setattr(rebuild, "build", lambda *_args: ({"a.csv": b"1\n"}, None))
    arguments = ["--packages", str(tmp_path)]
    assert rebuild.main(arguments) == 1
    assert "DIFFERENT" in capsys.readouterr().out
    assert rebuild.main([*arguments, "--write"]) == 0
    assert rebuild.main(arguments) == 0
    assert "same" in capsys.readouterr().out
