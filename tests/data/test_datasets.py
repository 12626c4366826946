import contextlib
import hashlib
import http.server
import io
import json
import lzma
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from fsnotes.data import datasets, fetching, rebuild
from fsnotes.data.datasets import available, class_digests, download, load

DATA = Path(datasets.__file__).parent
NAMES = list(available())
DAMAGES = 100  # files that are damaged, of each kind
# features, and the samples of each class
SETS = {
    "sonar": (60, {"M": 111, "R": 97}),
    "ionosphere": (34, {"b": 126, "g": 225}),
    "pima": (8, {"negative": 500, "positive": 268}),
    "wisconsin": (9, {"benign": 444, "malignant": 239}),
    "wpbc": (32, {"N": 148, "R": 46}),
    "titanic": (3, {"died": 1490, "survived": 711}),
    "wdbc": (30, {"malignant": 212, "benign": 357}),
}


def test_every_set_is_listed_and_described():
    table = available()
    assert NAMES == [*SETS, *datasets.OPENML_IDS, *datasets.SUPPLIED]
    for name, (n_features, counts) in SETS.items():
        assert table[name][:3] == (sum(counts.values()), n_features, 2)
        assert table[name].location in ("fsnotes", "scikit-learn")
    for name in NAMES:
        if name != "wdbc":
            assert (DATA / f"{name}.md").read_text("utf-8").startswith("# ")


@pytest.mark.parametrize("name", SETS)
def test_sets_have_their_size_and_the_form_of_scikit_learns(name):
    ours, theirs = load(name), load_breast_cancer()
    n_features, counts = SETS[name]
    assert ours.data.shape == available()[name][:2]
    assert len(ours.feature_names) == n_features and np.isfinite(ours.data).all()
    assert list(ours.target_names) == list(counts)
    assert np.bincount(ours.target).tolist() == list(counts.values())
    assert set(theirs) <= set(ours)
    assert ours.frame is None
    X, y = load(name, return_X_y=True)
    assert np.array_equal(X, ours.data) and np.array_equal(y, ours.target)
    assert X.dtype == theirs.data.dtype and y.dtype == theirs.target.dtype
    if name == "wdbc":
        assert np.array_equal(X, theirs.data) and np.array_equal(y, theirs.target)


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


@pytest.mark.parametrize("name", SETS)
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


def test_raw_wpbc_has_every_row_and_the_time():
    complete, raw = load("wpbc"), load("wpbc", raw=True)
    assert raw.data.shape == (198, 33)
    assert raw.feature_names[0] == "time" and "time" not in complete.feature_names
    missing = np.argwhere(np.isnan(raw.data))
    assert missing.tolist() == [[6, 32], [28, 32], [85, 32], [196, 32]]
    kept = np.delete(raw.data[:, 1:], missing[:, 0], axis=0)
    assert np.array_equal(kept, complete.data)
    assert np.bincount(raw.target).tolist() == [151, 47]


def test_raw_has_no_meaning_elsewhere():
    for name in ("sonar", "wdbc", "madelon"):
        with pytest.raises(ValueError, match="only 'wpbc' has a rawer form"):
            load(name, raw=True)


def test_titanic_has_the_published_margins():
    bunch = load("titanic")
    counts = bunch.counts
    assert counts.shape == (14,)
    people = counts["died"] + counts["survived"]
    for field, margin in {
        "class": {1: (325, 203), 2: (285, 118), 3: (706, 178), 4: (885, 212)},
        "child": {0: (2092, 654), 1: (109, 57)},
        "male": {0: (470, 344), 1: (1731, 367)},
    }.items():
        for value, expected in margin.items():
            cells = counts[field] == value
            assert (people[cells].sum(), counts["survived"][cells].sum()) == expected
    rows, index = np.unique(bunch.data, axis=0, return_inverse=True)
    cells = np.column_stack([counts["class"], counts["child"], counts["male"]])
    assert np.array_equal(rows, cells)
    assert np.array_equal(np.bincount(index[bunch.target == 1], minlength=14), counts["survived"])
    pytest.importorskip("pandas")
    frame = load("titanic", as_frame=True).counts
    assert list(frame.columns) == ["class", "child", "male", "died", "survived"]
    assert frame[["died", "survived"]].to_numpy().sum() == 2201


@pytest.mark.parametrize("call", [load, download])
def test_unknown_names_are_refused(call):
    for wrong, guess in (("sonnar", "sonar"), ("Madelon", "madelon"), ("wdbcc", "wdbc")):
        with pytest.raises(ValueError, match=f"Did you mean '{guess}'") as caught:
            call(wrong)
        assert all(name in str(caught.value) for name in NAMES)
    with pytest.raises(ValueError, match="^name=3 is no data set"):
        call(3)


# corrupt files


def swap_lines(text, first, second):
    lines = text.split("\n")
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def damage(monkeypatch, filename, change):
    original = datasets._read_resource

    def read(name):
        text = original(name)
        return change(text) if name == filename else text

    monkeypatch.setattr(datasets, "_read_resource", read)


@pytest.mark.parametrize(
    "file, change",
    [
        ("sonar.csv", lambda text: text.replace("0.0371", "0.0372", 1)),
        ("sonar.csv", lambda text: text.replace(",R\n", ",M\n", 1)),
        ("sonar.csv", lambda text: text[: len(text) // 2]),
        ("sonar.csv", lambda text: text.replace("0.0371", "zero", 1)),
        ("sonar.csv", lambda text: ""),
        ("sonar.csv", lambda text: text.partition(",")[2]),
        ("sonar.csv", lambda text: text.replace("band_1,band_2", "band_2,band_1", 1)),
        ("sonar.csv", lambda text: text.replace("band_54", "oand_54", 1)),
        ("titanic.csv", lambda text: text.replace("118,57", "117,58")),
        ("titanic.csv", lambda text: text.replace("118,57", "118")),
        ("titanic.csv", lambda text: text.replace("class,child", "class,class")),
        ("titanic.csv", lambda text: "class,child,male,died,survived\n"),
        ("titanic.csv", lambda text: ""),
        ("sonar.csv", lambda text: swap_lines(text, 1, 2)),
        ("registry.json", lambda text: text[:100]),
        ("registry.json", lambda text: text.replace('"R"', '"S"', 1)),
        ("registry.json", lambda text: text.replace('"lines"', '"limes"', 1)),
        ("registry.json", lambda text: text.replace('"digest":', '"digesu":', 1)),
        ("registry.json", lambda text: "[]"),
    ],
)
def test_damaged_packaged_files_are_refused(monkeypatch, file, change):
    damage(monkeypatch, file, change)
    datasets._registry.cache_clear()
    with pytest.raises(ValueError, match=rf"fsnotes/data/{file} is damaged.*reinstall"):
        load("titanic" if file == "titanic.csv" else "sonar")


def test_line_ends_of_the_packaged_files_do_not_matter(monkeypatch):
    plain = load("wpbc", raw=True).data
    damage(monkeypatch, "wpbc.csv", lambda text: text.replace("\n", "\r\n"))
    assert np.array_equal(load("wpbc", raw=True).data, plain, equal_nan=True)


# a small stand-in for the larger sets


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Register a small content as madelon (which has an OpenML id) and colon (which has none)."""
    X = np.random.default_rng(5).integers(-9, 10, (40, 3)) / 8
    y = np.where(np.arange(40) < 25, "no", "yes")
    digests = list(class_digests(X, y).values())
    entry = {"shape": [40, 3], "classes": ["no", "yes"], "counts": [25, 15], "digests": digests}
    registry = datasets._registry() | {"madelon": entry, "colon": entry}
    monkeypatch.setattr(datasets, "_registry", lambda: registry)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("FSNOTES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "cache"))
    return X, y


@pytest.fixture
def own_file(tmp_path):
    return tmp_path / "data" / "madelon.npz"


def check_same(bunch, X, y):
    assert np.array_equal(bunch.data, X)
    assert np.array_equal(bunch.target_names[bunch.target], y)


def test_own_file_comes_before_the_cache(stand_in, own_file, tmp_path):
    X, y = stand_in
    cached = put(tmp_path / "cache" / "madelon.npz", npz_of(X[::-1], y[::-1]))
    assert load("madelon").filename == str(cached)
    np.savez(own_file, X=X, y=y)
    bunch = load("madelon")
    assert bunch.filename == available()["madelon"].location == str(own_file)
    check_same(bunch, X, y)


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
    for key in ("data", "target"):
        assert np.array_equal(second[key], first[key][order])
        canonical = first[key][first.canonical_order]
        assert np.array_equal(second[key][second.canonical_order], canonical)


def altered(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda X, y: npz_of(altered(X, (3, 1), 9.5), y), "values of class no differ"),
        (lambda X, y: npz_of(X, altered(y, [0, 39], y[[39, 0]])), "values of class no, yes differ"),
        (lambda X, y: npz_of(X, altered(y, 0, "yes")), "classes of 25, 15 rows, found 24, 16"),
        (lambda X, y: npz_of(X[:, :2], y), r"X \(40, 3\).*found \(40, 2\)"),
        (lambda X, y: npz_of(X, y[:, None]), r"y \(40,\), found .*\(40, 1\)"),
        (lambda X, y: npz_of(X), "no array named y"),
        (lambda X, y: npz_of(X, np.where(y == "no", 0.0, np.nan)), r"missing \(NaN\)"),
        (lambda X, y: npz_of(X.astype(object), y), "not a readable .npz"),
        (lambda X, y: npz_of(X.astype(str) + "?", y), "not a readable .npz"),
        (lambda X, y: b"", "not a readable .npz"),
        (lambda X, y: npz_of(X, y)[:600], "not a readable .npz"),
        (lambda X, y: npz_of(X, y)[:-200], "not a readable .npz"),
    ],
)
def test_wrong_content_is_refused(stand_in, own_file, make, complaint):
    own_file.write_bytes(make(*stand_in))
    with pytest.raises(ValueError, match=complaint) as caught:
        load("madelon")
    assert str(own_file) in str(caught.value) and "unset FSNOTES_DATA" in str(caught.value)
    assert "unsafe" not in str(caught.value)


def test_a_home_that_does_not_exist_is_a_folder_without_the_file(stand_in, monkeypatch):
    monkeypatch.setenv("FSNOTES_DATA", "~nobody-of-that-name/data")
    with pytest.raises(FileNotFoundError, match="nobody-of-that-name"):
        load("madelon")


def test_damaged_cache_file_names_the_remedy_and_is_replaced(stand_in, tmp_path):
    put(tmp_path / "cache" / "madelon.npz", b"nonsense")
    with pytest.raises(ValueError, match=r"fsnotes\.download\('madelon'\) to replace it"):
        load("madelon")
    with serving(openml_pages(*stand_in)) as (base, _), openml_at(base):
        download("madelon")
    check_same(load("madelon"), *stand_in)


def test_missing_file_says_what_to_put_where(stand_in, own_file, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load("madelon")
    message = str(caught.value)
    for part in (own_file, tmp_path / "cache" / "madelon.npz", "fsnotes.download('madelon')"):
        assert str(part) in message
    assert "FSNOTES_DATA" in message and "X, 40 x 3 numbers" in message
    with pytest.raises(FileNotFoundError, match=r"download\('colon', source=ADDRESS\)"):
        load("colon")


def test_sets_without_openml_copy_ask_for_an_address(stand_in):
    for call in (download, partial(load, download=True)):
        with pytest.raises(ValueError, match="source=ADDRESS.*FSNOTES_DATA"):
            call("colon")


def test_odd_sources_are_refused(stand_in):
    for source in ("file:///etc/x.npz", "ftp://a/b.npz", "http://a/b.zip", "b.npz", -1, True, 2.0):
        with pytest.raises(ValueError, match="neither an OpenML id"):
            download("madelon", source)
    with pytest.raises(ConnectionError, match="could not be fetched from http://"):
        download("madelon", "http://[::1.npz")


def test_load_never_touches_the_network(stand_in, own_file, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    for name in SETS:
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
        patch.setattr(fetching, "OPENML_DESCRIPTION", base + "/api/v1/json/data/{id}")
        yield


def arff_of(X, y):
    """An ARFF file as OpenML has them: quoted names, the label neither first nor last."""
    head = """% a comment
@RELATION 'stand in'
@ATTRIBUTE id NUMERIC
@ATTRIBUTE 'V 1' REAL
@ATTRIBUTE 'Class' {'1','2'}
@ATTRIBUTE V2 NUMERIC
@ATTRIBUTE V3 NUMERIC
@DATA
"""
    table = zip(range(len(X)), X[:, 0], np.where(y == "yes", 2, 1), X[:, 1], X[:, 2], strict=True)
    return (head + "".join("{},{},'{}',{},{}\n".format(*row) for row in table)).encode()


def openml_pages(X, y, **changes):
    arff = arff_of(X, y)
    about = {"id": "1485", "name": "madelon", "format": "ARFF", "url": "BASE/stand_in.arff"}
    about |= {"default_target_attribute": "Class", "row_id_attribute": "id"}
    about |= {"md5_checksum": hashlib.md5(arff).hexdigest()} | changes
    about = {key: value for key, value in about.items() if value is not None}
    page = json.dumps({"data_set_description": about}).encode()
    return {"/api/v1/json/data/1485": page, "/stand_in.arff": arff}


def npz_of(X, y=None):
    stream = io.BytesIO()
    np.savez(stream, **{"X": X} | ({} if y is None else {"y": y}))
    return stream.getvalue()


def csv_of(X, y, header="", end="\r\n"):
    rows = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, y, strict=True)]
    return (header + end.join(rows)).encode()


def put(file, content):
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return file


def check_refused(folder, error, complaint, pages, path=None, announce=None):
    """What is served at a path, or at OpenML's, is refused, and the cache stays as it was."""
    before = {file: file.read_bytes() for file in (folder / "cache").rglob("*")}
    with serving(pages, announce) as (base, _), openml_at(base):
        with pytest.raises(error, match=complaint):
            download(*["madelon"] if path is None else ["colon", base + path])
    assert {file: file.read_bytes() for file in (folder / "cache").rglob("*")} == before


def test_openml_route(stand_in, tmp_path, capsys):
    with serving(openml_pages(*stand_in)) as (base, asked), openml_at(base):
        bunch = load("madelon", download=True)
        assert len(asked) == 2
        final = tmp_path / "cache" / "madelon.npz"
        assert download("madelon") == final
        load("madelon", download=True)
        assert len(asked) == 2, "a verified copy is not fetched again"
    check_same(bunch, *stand_in)
    assert list((tmp_path / "cache").iterdir()) == [final]
    out, err = capsys.readouterr()
    assert out == "" and "madelon" in err


@pytest.mark.parametrize(
    "changes, error, complaint",
    [
        ({"md5_checksum": "0" * 32}, ConnectionError, "md5 checksum"),
        ({"url": None}, ConnectionError, "did not answer with the description"),
        ({"url": "file:///etc/hosts"}, ConnectionError, "no http"),
        ({"url": "BASE/nowhere.arff"}, ConnectionError, "Not Found"),
        ({"row_id_attribute": None}, ValueError, "3 features and a label are wanted, found more"),
        ({"default_target_attribute": "V2"}, ValueError, "damaged"),
        ({"default_target_attribute": "Klasse"}, ValueError, "not a readable .arff"),
    ],
)
def test_openml_failures(stand_in, tmp_path, changes, error, complaint):
    check_refused(tmp_path, error, complaint, openml_pages(*stand_in, **changes))


def test_openml_with_another_content_is_refused(stand_in, tmp_path):
    X, y = stand_in
    said = "differ from the registered ones; nothing was saved"
    check_refused(tmp_path, ValueError, said, openml_pages(X + 1 / 1024, y))


ARFF_HEAD = "@relation r\n@attribute a real\n@attribute b real\n@attribute c real\n"
ARFF_HEAD += "@attribute class {no,yes}\n@data\n"


@pytest.mark.parametrize(
    "path, make",
    [
        ("/x.npz", npz_of),
        ("/x.csv", partial(csv_of, header="a,b,c,label\r\n")),
        ("/x.CSV?raw=1", csv_of),
        ("/x.arff", partial(csv_of, header=ARFF_HEAD, end="\n")),
    ],
)
def test_addresses_in_each_format(stand_in, path, make):
    with serving({path: make(*stand_in)}) as (base, _):
        download("colon", base + path)
    check_same(load("colon"), *stand_in)


def test_missing_cells_of_a_table_are_read_as_such():
    X, y = fetching.parse_csv([",1,,a", "2, 3 ,,b", "4,,6,a"], (3, 3))
    assert np.array_equal(X, [[np.nan, 1, np.nan], [2, 3, np.nan], [4, np.nan, 6]], equal_nan=True)
    assert y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize("path", ["/x.npz", "/x.csv", "/x.arff"])
@pytest.mark.parametrize("content", [b"", b"<html>sorry</html>", b"\xff\xfe\x00"])
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_nonsense_is_refused_and_leaves_nothing(stand_in, tmp_path, path, content):
    said = f"http://127.*{path}.*nothing was saved"
    check_refused(tmp_path, ValueError, said, {path: content}, path)


def test_download_that_breaks_off_leaves_nothing(stand_in, tmp_path):
    content = npz_of(*stand_in)
    said = f"after {len(content)} of {2 * len(content)}"
    pages = {"/x.npz": content}
    check_refused(tmp_path, ConnectionError, said, pages, "/x.npz", announce=2 * len(content))


def test_failed_download_keeps_the_good_copy(stand_in, tmp_path):
    X, y = stand_in
    put(tmp_path / "cache" / "colon.npz", npz_of(X, y))
    pages = {"/x.npz": npz_of(X + 1, y)}
    check_refused(tmp_path, ValueError, "differ from the registered", pages, "/x.npz")


def test_full_disk_keeps_the_good_copy(stand_in, tmp_path, monkeypatch):
    content = npz_of(*stand_in)
    put(tmp_path / "cache" / "colon.npz", content)

    def half_a_file(path, **_arrays):
        Path(path).write_bytes(content[:99])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", half_a_file)
    monkeypatch.setattr(np, "savez_compressed", half_a_file)
    said = "No space left.*FSNOTES_CACHE"
    check_refused(tmp_path, OSError, said, {"/x.npz": content}, "/x.npz")


def test_a_complete_copy_takes_its_place_in_one_step(stand_in, tmp_path, monkeypatch):
    X, y = stand_in
    cache = tmp_path / "cache"
    moves = []

    def replace(source, target):
        moves.append((Path(source).parent.parent, Path(target)))
        with np.load(source) as arrays:
            assert np.array_equal(arrays["X"], X)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(datasets.os, "replace", replace)
    check_refused(tmp_path, OSError, "Input/output error", {"/x.npz": npz_of(X, y)}, "/x.npz")
    # from within the cache folder, since only there a move is one step
    assert moves == [(cache, cache / "colon.npz")]


def test_without_network_the_error_says_what_to_put_where(stand_in, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}"
        with openml_at(base), pytest.raises(ConnectionError) as caught:
            load("madelon", download=True)
    for part in ("madelon.npz", str(tmp_path / "cache"), "FSNOTES_DATA", base, "refused"):
        assert part in str(caught.value)
    assert not list((tmp_path / "cache").rglob("*"))


def test_server_that_never_answers_times_out(stand_in, tmp_path):
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x.npz"
        with pytest.raises(ConnectionError, match="timed out"):
            download("colon", address, timeout=0.1)
    assert time.monotonic() - begun < 30  # the default is a minute
    assert not list((tmp_path / "cache").rglob("*"))


@pytest.mark.parametrize("timeout", ["x", None, True, 0, -1, np.inf, np.nan])
def test_a_timeout_is_checked_before_anything_is_read(stand_in, tmp_path, timeout):
    put(tmp_path / "cache" / "colon.npz", npz_of(*stand_in))
    with pytest.raises((TypeError, ValueError), match=rf"timeout={timeout!r}.*pass a number"):
        download("colon", timeout=timeout)


def test_downloads_at_once_do_not_disturb_each_other(stand_in, tmp_path):
    X, y = stand_in
    with serving({"/x.npz": npz_of(X, y), "/x.csv": csv_of(X, y)}) as (base, _):
        with ThreadPoolExecutor(6) as pool:
            sources = [base + "/x.npz", base + "/x.csv"] * 6
            finals = list(pool.map(partial(download, "colon"), sources))
    check_same(load("colon"), X, y)
    assert list((tmp_path / "cache").iterdir()) == list(set(finals))


def test_a_download_removes_what_a_killed_one_left_but_nothing_alive(stand_in, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    left, alive, other = (cache / f".{name}" for name in ("colon-a1", "madelon-b2", "mine-c3"))
    also = cache / ".umist-d4"
    for folder in (left, alive, other, also):
        folder.mkdir()
        put(folder / "complete.npz", b"half a file")
    long_ago = time.time() - 2 * datasets.HOUR
    for folder in (left, other, also):
        os.utime(folder, (long_ago, long_ago))
    with serving({"/x.npz": npz_of(*stand_in)}) as (base, _):
        final = download("colon", base + "/x.npz")
    assert set(cache.iterdir()) == {final, alive, other}
    assert (alive / "complete.npz").exists()


def damage_bytes(content, rng):
    """Change some bytes of a file as disks, lines and programs do."""
    content = bytearray(content)
    kind = rng.choice(["flip", "flips", "truncate", "extend", "swap", "erase", "drop", "repeat"])
    place, other = sorted(rng.integers(len(content), size=2))
    if kind == "flip":
        content[place] ^= 1 << rng.integers(8)
    elif kind == "flips":
        for place in rng.integers(len(content), size=20):
            content[place] = rng.integers(256)
    elif kind == "truncate":
        del content[place:]
    elif kind == "extend":
        content += rng.bytes(rng.integers(1, 999))
    elif kind == "swap":
        content[place], content[other] = content[other], content[place]
    elif kind == "erase":
        content[place : place + 16] = bytes(len(content[place : place + 16]))
    elif kind == "drop":
        del content[place : place + rng.integers(1, 50)]
    else:
        content[place:place] = content[place:other]
    return bytes(content)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".arff", "supplied"])
def test_damaged_files_are_refused_in_words_or_have_the_right_content(
    stand_in, tmp_path, monkeypatch, suffix
):
    X, y = stand_in
    monkeypatch.setattr(datasets, "SUPPLIED", {"ar": (40, 3, 2)})
    packed = io.BytesIO()
    np.savez_compressed(packed, X=X, y=y)
    whole = {
        ".npz": npz_of(X, y),
        ".csv": csv_of(X, y, header="a,b,c,label\r\n"),
        ".arff": csv_of(X, y, header=ARFF_HEAD, end="\n"),
        "supplied": packed.getvalue(),
    }[suffix]
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(DAMAGES):
        content = damage_bytes(whole, rng)
        try:
            if suffix in (".csv", ".arff"):
                source = fetching._Source("there", suffix)
                with fetching.reading("there", suffix, "so ask"):
                    data, labels = fetching._read_text(io.BytesIO(content), X.shape, source)
                target, _ = datasets._verify("colon", data, labels, "there", "so ask")
            else:
                name = "ar" if suffix == "supplied" else "colon"
                put(tmp_path / "data" / f"{name}.npz", content)
                data, target = load(name, return_X_y=True)
        except ValueError as error:
            assert "damaged or is not what it should be" in str(error)
            assert len(str(error)) < 900
            refused += 1
        else:
            found = np.column_stack([data, target]).tolist()
            assert sorted(found) == sorted(np.column_stack([X, y == "yes"]).tolist())
    assert 0.5 * DAMAGES < refused < DAMAGES


def test_unwritable_cache_names_the_variable(stand_in, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="FSNOTES_CACHE"):
        download("colon", "http://127.0.0.1:9/x.npz")


def test_packaged_sets_need_no_download():
    with pytest.raises(ValueError, match=r"load\('wdbc'\)"):
        download("wdbc")


@pytest.mark.parametrize("name", datasets.SUPPLIED)
def test_sets_of_the_user_are_verified_by_their_shape(name, monkeypatch, tmp_path):
    monkeypatch.setenv("FSNOTES_DATA", str(tmp_path))
    monkeypatch.setenv("FSNOTES_CACHE", str(tmp_path / "cache"))
    n_samples, n_features, n_classes = datasets.SUPPLIED[name]
    assert available()[name][:3] == datasets.SUPPLIED[name] and available()[name].location is None
    hint = rf"{name}\.npz .arrays X, {n_samples} x {n_features} numbers"
    for call in (load, partial(load, download=True)):
        with pytest.raises(FileNotFoundError, match=f"not available .*{hint}"):
            call(name)
    with pytest.raises(ValueError, match=f"cannot be fetched.*{hint}"):
        download(name)
    X = np.random.default_rng(0).normal(size=(n_samples, n_features)).astype(np.float32)
    y = np.array([f"class {k}" for k in range(n_classes)])[np.arange(n_samples) % n_classes]
    path = tmp_path / f"{name}.npz"
    np.savez(path, X=X, y=y)
    bunch = load(name)
    check_same(bunch, X, y)
    assert bunch.data.dtype == np.float64
    assert bunch.filename == available()[name].location == str(path)
    assert "only the shape" in " ".join(bunch.DESCR.split())
    assert len(bunch.feature_names) == n_features
    hole = np.where(np.arange(n_features) == 3, np.nan, X)
    fewer = np.where(y == "class 0", "class 1", y)
    for content, said in [
        (npz_of(X[:, :-1], y), rf"should have X .*found \({n_samples}, {n_features - 1}\)"),
        (npz_of(X, y[:-1]), rf"found .*\({n_samples - 1},\)"),
        (npz_of(X, fewer), f"found {n_classes - 1}"),
        (npz_of(hole, y), "missing or infinite"),
        (npz_of(X, np.where(y == "class 0", np.inf, 1.0)), "missing or infinite"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=said) as caught:
            load(name)
        assert str(path) in str(caught.value)


def test_import_is_light():
    code = "import sys; from fsnotes.data import datasets as d; d.available(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "matplotlib", "tqdm", "sklearn", "scipy"} & set(done.stdout.split())


# making the files again


def test_rebuild_writes_numbers_that_read_back():
    for number in (0.1, 1 / 3, 5e-324, 1e22, -0.0371, 12.0, 1013.0):
        assert float(rebuild.number_text(number)) == number
    assert rebuild.number_text(12.0) == "12"
    assert rebuild.number_text(np.nan) == "" and rebuild.number_text("R") == "R"


def test_rebuild_inflates_each_kind_of_record():
    plain = b"abc" * 100
    size = len(plain).to_bytes(4, "big")
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    packed = lzma.compress(plain, lzma.FORMAT_RAW, filters=filters)
    assert rebuild.inflate(size + zlib.compress(plain)) == plain
    assert rebuild.inflate(size + b"Z" + packed) == plain
    with pytest.raises(SystemExit, match="announced"):
        rebuild.inflate((5).to_bytes(4, "big") + zlib.compress(plain))


def test_rebuild_counts_keels_standardised_titanic():
    text = "-1.87,-0.228,0.521,-1.0\n-1.87,-0.228,0.521,1.0\n0.965,-0.228,-1.92,1.0\n"
    cells = rebuild.keel_titanic_cells(rebuild.parse_rows(3 * text))
    assert cells == [["1", "0", "1", "3", "3"], ["4", "0", "0", "0", "3"]]


def test_rebuild_refuses_sources_that_disagree():
    rows = [["0.50", "1", "a"], ["2", "3", "b"]]
    rebuild.agree_as_sets("x", rows, [["2.0", "3", "b"], ["0.5", "1", "a"]])
    for other in ([["2", "3", "b"], ["0.5", "1", "b"]], rows[:1], [*rows, rows[0]]):
        with pytest.raises(SystemExit, match="disagree"):
            rebuild.agree_as_sets("x", rows, other)


def test_rebuild_refuses_altered_packages(tmp_path, monkeypatch):
    digest = hashlib.sha256(b"right").hexdigest()
    monkeypatch.setattr(rebuild, "PACKAGES", {"a==1": ("a.whl", digest)})
    with pytest.raises(SystemExit, match=r"a\.whl is not in"):
        rebuild.verify_packages(tmp_path)
    put(tmp_path / "a.whl", b"wrong")
    with pytest.raises(SystemExit, match="sha256"):
        rebuild.verify_packages(tmp_path)
    put(tmp_path / "a.whl", b"right")
    rebuild.verify_packages(tmp_path)


def test_rebuild_registers_what_the_registry_holds():
    lines = (DATA / "wisconsin.csv").read_text("ascii").splitlines()
    rows = rebuild.parse_rows("\n".join(lines[1:]))
    registered = dict(datasets._registry()["wisconsin"])
    assert registered.pop("lines") == datasets.digest_of_lines(lines)
    assert rebuild.register(*rebuild.rows_to_arrays(rows)) == registered
    content = rebuild.write_csv(lines[0].split(","), rows)
    assert content.decode() == "\n".join([*lines, ""])


def test_rebuild_says_whether_files_agree(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rebuild, "HERE", tmp_path)
    monkeypatch.setattr(rebuild, "verify_packages", lambda folder: None)
    monkeypatch.setattr(rebuild, "build", lambda *_args: ({"a.csv": b"1\n"}, None))
    arguments = ["--packages", str(tmp_path)]
    assert rebuild.main(arguments) == 1
    assert "DIFFERENT" in capsys.readouterr().out
    assert rebuild.main([*arguments, "--write"]) == 0
    assert rebuild.main(arguments) == 0
    assert "same" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers of signals here")
# an interrupt between the opening of a file and its `with` leaves it to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_while_data_are_read_is_not_lost():
    fired = []
    caught = 0

    def interrupt(number, frame):
        fired.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for pause in np.random.default_rng(0).uniform(1e-4, 8e-3, 150):
            try:
                signal.setitimer(signal.ITIMER_REAL, pause)
                for _ in range(100):
                    load("titanic")
            except KeyboardInterrupt:
                caught += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caught == len(fired) > 100


def test_a_folder_of_any_length_may_be_named(monkeypatch):
    monkeypatch.setenv("FSNOTES_DATA", "a" * 5000)
    assert load("sonar").data.shape == (208, 60) and available()
