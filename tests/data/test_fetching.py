import bz2
import contextlib
import io
import itertools
import json
import queue
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from fsnotes.data import fetching

SHAPE = (40, 3)
X = np.random.default_rng(5).integers(-9, 10, SHAPE) / 8
Y = np.where(np.arange(40) < 25, "no", "yes")
SMALL = 3e6  # bytes that reading may need beside the table
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BLOCK = bytes(1 << 16)


def npz_of(save=np.savez, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


@contextlib.contextmanager
def talking(pieces, pause=0.0):
    """A server that sends these pieces to whoever connects, whatever is asked."""
    over = threading.Event()

    def answer(connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            for piece in pieces:
                connection.sendall(piece)
                if over.wait(pause):
                    return

    def serve():
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = server.accept()
                connection.settimeout(5)
                answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.02)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def fetch(folder, base, path="/x.npz", timeout=20):
    return fetching.fetch_arrays("colon", base + path, SHAPE, folder, timeout, "ask for help")


def check_not_fetched(folder, said, pieces, pause=0.0, timeout=20.0):
    """It is refused in words, and within the timeout; nothing remains."""
    with talking(pieces, pause) as base:
        begun = time.monotonic()
        with pytest.raises(ConnectionError, match=f"'colon' could not.*{said}.*ask for help"):
            fetch(folder, base, timeout=timeout)
    assert time.monotonic() - begun < timeout + 1
    assert not list(folder.iterdir())


# too much


@pytest.mark.parametrize(
    "pieces",
    [
        [HEAD + b"\r\n", itertools.repeat(BLOCK)],
        [HEAD + b"Content-Length: 1000000\r\n\r\n", [BLOCK], itertools.repeat(BLOCK)],
        [CHUNKED, itertools.repeat(b"10000\r\n" + BLOCK + b"\r\n")],
        [CHUNKED + b"0\r\n", itertools.repeat(b"a: b\r\n" * 9999)],
        [b"HTTP/1.1 302 Found\r\nLocation: /y.npz\r\n\r\n", itertools.repeat(BLOCK)],
        [b"", itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 999)],
    ],
    ids=["body", "beyond what is announced", "chunks", "trailers", "redirection", "continue"],
)
def test_an_endless_answer_is_cut_off(tmp_path, pieces, request):
    head, *rest = pieces
    pieces = itertools.chain([head], *rest)
    if "announced" in request.node.name:
        # what was announced is read, and it is no table
        with talking(pieces) as base, pytest.raises(ValueError, match="damaged.*ask for help"):
            fetch(tmp_path, base)
    else:
        check_not_fetched(tmp_path, "more bytes come, the table .* at most 1053696", pieces)


def test_what_is_announced_too_large_is_not_even_begun(tmp_path):
    pieces = [HEAD + b"Content-Length: 1000000000000\r\n\r\n"]
    check_not_fetched(tmp_path, "1000000000000 bytes are announced.*at most", pieces)


def test_the_limit_follows_from_the_shape(tmp_path):
    row = "{:031.20f},{:+031.20f},{:31.20e},{}\r\n"
    rows = "".join(row.format(*x, y) for x, y in zip(X, Y, strict=True))
    with talking([HEAD + b"\r\n" + rows.encode()]) as base:
        found, labels, address = fetch(tmp_path, base, "/x.csv")
    assert np.array_equal(found, X) and np.array_equal(labels, Y)
    assert address == base + "/x.csv" and not list(tmp_path.iterdir())


# too slow


@pytest.mark.parametrize(
    "head, drop",
    [
        (b"", b"H"),
        (HEAD, b"a"),
        (HEAD, b"a: b\r\n"),
        (HEAD + b"\r\n", b"0"),
        (HEAD + b"Content-Length: 999\r\n\r\n", b"0"),
        (CHUNKED, b"0"),
        (CHUNKED, b"1\r\n0\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEAD, b""),
        (HEAD + b"Content-Length: 999\r\n\r\n", b""),
    ],
)
def test_no_drip_outlasts_the_deadline(tmp_path, head, drop):
    pieces = itertools.chain([head], itertools.repeat(drop))
    said = "not complete after timeout=0.4 seconds"
    check_not_fetched(tmp_path, said, pieces, pause=0.03, timeout=0.4)


@pytest.mark.parametrize(
    "head, said",
    [
        (HEAD + b"Content-Length: abc\r\n\r\n", "its length is announced as 'abc'"),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", "announced as '999"),
        (b"HTTP/1.1 401 x\r\n\r\n", "HTTP status 401, x"),
        (b"HTTP/1.1 500 \x1b[31m\r\n\r\n", r"HTTP status 500, \\x1b\[31m"),
    ],
)
def test_what_a_server_says_is_told_in_plain_words(tmp_path, head, said):
    check_not_fetched(tmp_path, said, [head])


def test_a_slow_answer_is_complete_in_the_end(tmp_path):
    content = npz_of(X=X, y=Y)
    parts = [content[i : i + 200] for i in range(0, len(content), 200)]
    with talking([HEAD + b"\r\n", *parts], pause=0.02) as base:
        assert np.array_equal(fetch(tmp_path, base)[0], X)


def test_silence_ends_a_transfer_before_the_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "SILENCE", 0.2)
    begun = time.monotonic()
    pieces = itertools.chain([HEAD], itertools.repeat(b""))
    check_not_fetched(tmp_path, "no byte came for 0.2", pieces, pause=0.05, timeout=60)
    assert time.monotonic() - begun < 20


def test_a_name_server_that_never_answers_is_given_up(tmp_path, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: [over.wait(30)][1:])
    begun = time.monotonic()
    with pytest.raises(ConnectionError, match="timed out: not complete after timeout=0.2"):
        fetch(tmp_path, "http://nowhere.invalid", timeout=0.2)
    assert time.monotonic() - begun < 1.2
    over.set()


def test_an_interrupt_does_not_wait_for_the_server(tmp_path, monkeypatch):
    class Interrupted(queue.SimpleQueue):
        def get(self, timeout):
            time.sleep(0.3)
            raise KeyboardInterrupt

    monkeypatch.setattr(fetching.queue, "SimpleQueue", Interrupted)
    begun = time.monotonic()
    with talking(itertools.chain([HEAD], itertools.repeat(b"a")), pause=0.05) as base:
        with pytest.raises(KeyboardInterrupt):
            fetch(tmp_path, base, timeout=60)
        assert time.monotonic() - begun < 5
    assert not list(tmp_path.iterdir())


# answers of other kinds


@pytest.mark.parametrize("target", ["ftp://127.0.0.1:9/x", "file:///etc/hosts", "data:,x"])
def test_no_answer_leads_to_another_scheme(tmp_path, target):
    pieces = [b"HTTP/1.1 302 Found\r\nLocation: " + target.encode() + b"\r\n\r\n"]
    check_not_fetched(tmp_path, "not allowed|unknown url type", pieces)


@pytest.mark.parametrize(
    "page",
    [
        "[]",
        "3",
        "null",
        '{"data_set_description": []}',
        '{"data_set_description": "text"}',
        '{"data_set_description": null}',
        "[" * 100_000,
        "1" * 5000,
        *(
            json.dumps({"data_set_description": {"url": "http://a", "md5_checksum": "0"} | wrong})
            for wrong in (
                {"ignore_attribute": 3},
                {"ignore_attribute": [3]},
                {"row_id_attribute": {"a": [1]}} | {"ignore_attribute": True},
                {"default_target_attribute": 3},
                {"default_target_attribute": ["a"]},
                {"url": 3},
                {"url": ["http://a"]},
                {"md5_checksum": 3},
                {"md5_checksum": None},
            )
        ),
    ],
)
def test_descriptions_of_other_types_are_refused_in_words(tmp_path, monkeypatch, page):
    with talking([HEAD + b"\r\n" + page.encode()]) as base:
        monkeypatch.setattr(fetching, "OPENML_DESCRIPTION", base + "/{id}")
        with pytest.raises(ConnectionError, match="did not answer with the description of a data"):
            fetching.fetch_arrays("colon", 3, SHAPE, tmp_path, 20, "")


def test_a_description_has_a_limit_of_its_own(tmp_path, monkeypatch):
    with talking(itertools.chain([HEAD + b"\r\n"], itertools.repeat(b" " * 9999))) as base:
        monkeypatch.setattr(fetching, "OPENML_DESCRIPTION", base + "/{id}")
        with pytest.raises(ConnectionError, match="more bytes come, .* at most 1048576"):
            fetching.fetch_arrays("colon", 3, (10**6, 10**6), tmp_path, 20, "")


def test_a_killed_download_leaves_nothing(tmp_path):
    code = "import sys; from fsnotes.data import fetching\n"
    code += "fetching.fetch_arrays('colon', sys.argv[1], (40, 3), sys.argv[2], 60, '')"
    sent = threading.Event()

    def pieces():
        yield HEAD + b"\r\n" + BLOCK
        yield from itertools.repeat(b"0", 5)
        sent.set()
        yield from itertools.repeat(b"0")

    with talking(pieces(), pause=0.02) as base:
        child = subprocess.Popen(
            [sys.executable, "-c", code, base + "/x.npz", tmp_path], stderr=subprocess.DEVNULL
        )
        try:
            assert sent.wait(60)
        finally:
            child.kill()
            child.wait()
    assert not list(tmp_path.iterdir())
    with talking([HEAD + b"\r\n" + npz_of(X=X, y=Y)]) as base:
        assert np.array_equal(fetch(tmp_path, base)[0], X)


# archives


def read(content, shape=SHAPE, suffix=".npz", **found):
    """Read a file with the guards of a download, and say how many bytes that took."""
    file = io.BytesIO(content)
    tracemalloc.start()
    try:
        with fetching.reading("there", suffix, "so ask"):
            if suffix == ".npz":
                return *fetching._read_npz(file, shape), tracemalloc.get_traced_memory()[1]
            source = fetching._Source("there", suffix, **found)
            return *fetching._read_text(file, shape, source), tracemalloc.get_traced_memory()[1]
    finally:
        read.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def check_refused(said, content, **how):
    """It is refused in words, at once, and without memory for more than the table."""
    begun = time.monotonic()
    with pytest.raises(ValueError, match=f"there is damaged.*{said}.*so ask") as caught:
        read(content, **how)
    assert time.monotonic() - begun < 5
    assert read.peak < SMALL
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "dtype", ["<f8", ">f8", "<f4", ">f4", "<f2", "i1", "<i2", ">i8", "u1", ">u4", "?", "g"]
)
def test_arrays_of_numbers_are_read_whatever_their_type_and_order(dtype, order, save):
    values = np.asarray(X * 8, dtype=dtype, order=order)
    for labels in (Y, Y == "no", np.arange(40, dtype=">i2"), Y.astype("S"), np.arange(40) / 2):
        found, y, _ = read(npz_of(save, X=values, y=labels, other=np.ones(5)))
        assert np.array_equal(found, values) and found.dtype == np.float64
        assert np.array_equal(y, labels) and y.dtype == labels.dtype
        assert found.flags.f_contiguous == (order == "F")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype, order", [("<f8", "C"), (">f8", "F"), ("<f4", "C"), ("i1", "F")])
def test_reading_needs_little_more_memory_than_the_table(dtype, order, save):
    values = np.asarray(np.arange(10**6).reshape(5000, 200) % 99, dtype=dtype, order=order)
    content = npz_of(save, X=values, y=np.arange(5000))
    assert read(content, shape=(5000, 200))[2] < values.size * 8 + SMALL


def header_of(shape, descr="<f8"):
    stream = io.BytesIO()
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()


def pack(content):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)


LAST = zlib.compressobj(wbits=-15).flush()
ZEROS = pack(bytes(1 << 20))
GOOD_Y = header_of((40,), "<U3") + Y.astype("<U3").tobytes()


def archive_of(start=None, zeros=0, size=None, y=GOOD_Y, packed=None, method=8, flags=0):
    """An archive whose list of members says of X what the arguments say, not what is true."""
    start = header_of(SHAPE) + bytes(960) if start is None else start
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", packed or pack(start) + zeros * ZEROS + LAST)
        archive.writestr("y.npy", y)
        info = archive.getinfo("X.npy")
        info.CRC = zlib.crc32(start)
        info.compress_type = method
        info.file_size = size or len(start)
        info.flag_bits |= flags
    return stream.getvalue()


def header_alone(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


PLAIN = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40, 3), }"


def test_the_keys_of_a_header_may_stand_in_any_order():
    for header in (PLAIN, b"{'shape': (40,3), 'fortran_order': False,'descr':'<f8'} \n"):
        content = header_alone(header) + X.tobytes()
        assert np.array_equal(read(archive_of(content))[0], X)


@pytest.mark.parametrize(
    "said, content",
    [
        (r"announces 2000683008 bytes for \(40, 3\)", archive_of(zeros=1908, size=2000683136)),
        # here the list announces what the header does, but more, or less, is packed
        ("CRC", archive_of(header_of(SHAPE), 1908, 960 + 128)),
        ("", archive_of(header_of(SHAPE), size=960 + 128)),
        ("CRC", archive_of(header_of(SHAPE) + bytes(959), 1, size=960 + 128)),
        (r"found \(1000000000000, 100\)", archive_of(header_of((10**12, 100)), 9, 8 * 10**14)),
        (r"found \(10000", archive_of(header_of((10**999, 100)), 9, 8 * 10**14)),
        ("", archive_of(header_alone(PLAIN.replace(b"40", b"4" * 9999)))),
        ("no plain array", archive_of(header_of((-40, -3)))),
        ("no plain array", archive_of(header_of(SHAPE, "|O"))),
        ("no plain array", archive_of(header_of(SHAPE, "<c16"))),
        ("no plain array", archive_of(header_of(SHAPE, "<M8[s]"))),
        ("no plain array", archive_of(header_of(SHAPE, [("a", "<f8")]))),
        ("no plain array", archive_of(header_alone(PLAIN.replace(b"'shape'", b"'descr'")))),
        ("no plain array", archive_of(header_alone(b"{" * 65535))),
        ("no plain array", archive_of(header_alone(b"-" * 65535))),
        ("no plain array", archive_of(header_alone(b" " * 65535), zeros=9)),
        ("no plain array", archive_of(header_alone(b""))),
        ("no plain array", archive_of(header_alone(PLAIN + b"+ 1") + bytes(960))),
        ("no plain array", archive_of(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", 1908, 2 * 10**9)),
        ("no plain array", archive_of(b"\x93NUMPY")),
        ("no plain array", archive_of(b"")),
        ("X has to hold numbers", archive_of(header_of(SHAPE, "<U9"), 9, 4320 + 128)),
        ("", archive_of(header_of(SHAPE, "<f3"))),
        ("labels of", archive_of(y=header_of((40,), "<U500000000"))),
        ("labels of", archive_of(y=header_of((40,), "<U0"))),
        ("", archive_of(y=header_of((40,), "<U99999999999999999999"))),
        ("", archive_of(y=header_of((40,), "<U1") + b"\xff" * 160)),
        ("another way", archive_of(packed=bz2.compress(bytes(10**7)), size=10**7, method=12)),
        ("another way", archive_of(packed=b"\t\4\5\0]" + b"\xff" * 99, method=14)),
        ("another way", archive_of(method=99)),
        ("encrypted", archive_of(flags=1)),
        ("", archive_of(packed=b"no deflated data")),
    ],
)
def test_no_archive_takes_more_than_it_should_hold(said, content):
    check_refused(said, content)


def test_a_long_list_of_members_is_not_read():
    stream = io.BytesIO(npz_of(X=X, y=Y))
    with zipfile.ZipFile(stream, "a") as archive:
        for number in range(2000):
            archive.writestr(f"z{number}", b"")
    check_refused("list of members has", stream.getvalue())


# tables of text


def rows_of(row, count):
    return "\n".join([row] * count).encode()


ATTRIBUTES = b"@attribute a real\n@attribute b real\n@attribute c real\n@attribute d {1}\n@data\n"


@pytest.mark.parametrize(
    "said, content, suffix",
    [
        ("a line has more than", b"0," * 10**7, ".csv"),
        ("a line has more than", ATTRIBUTES + b"0," * 10**7, ".arff"),
        ("a line has more than", b"@attribute a {" + b"x," * 10**7, ".arff"),
        ("row 1 has 30000 values", b"0," * 29999 + b"a", ".csv"),
        ("40 rows are wanted, found more", rows_of("1,2,3,a", 10**6), ".csv"),
        ("40 rows are wanted, found more", ATTRIBUTES + rows_of("1,2,3,a", 10**6), ".arff"),
        ("40 rows are wanted, found 39", rows_of("1,2,3,a", 39), ".csv"),
        ("row 1 has 3 values instead of 4", rows_of("1,2,a", 40), ".csv"),
        ("row 1 has 5 values instead of 4", ATTRIBUTES + rows_of("1,2,3,4,a", 40), ".arff"),
        ("a label has more than 256", rows_of("1,2,3," + "a" * 60000, 40), ".csv"),
        ("a label has more than 256", ATTRIBUTES + rows_of(f"1,2,3,'{'a' * 999}'", 40), ".arff"),
        ("convert string to float", rows_of("1,2," + "x" * 60000 + ",a", 40), ".csv"),
        ("found more", b"@attribute a real\n" * 10**6, ".arff"),
        ("found 3 attributes", ATTRIBUTES[18:] + rows_of("1,2,a", 40), ".arff"),
        ("found 0 attributes", b"@data\n", ".arff"),
        ("found 0 attributes", b"<html>\n" * 10**5, ".arff"),
        ("it is empty", b"\n" * 10**6, ".csv"),
        ("", b"\0" * 10**5, ".csv"),
        ("codec can't decode", b"\xff\xfe1,2,3,a", ".csv"),
    ],
)
def test_no_table_takes_more_than_it_should_hold(said, content, suffix):
    check_refused(said, content, suffix=suffix)


@pytest.mark.parametrize(
    "row, end",
    [
        ("{},{},{},{}", "\n"),
        (" {} , {},\t{} , {} ", "\r\n"),
        ("{}\t{}\t{}\t{}", "\n"),
        ("{},{},{},'{}'", "\r"),
        ('{},{},{},"{}"', "\n"),
        ("'{}', '{}', '{}', '{}'", "\n\n% a comment\n"),
    ],
)
def test_arff_rows_are_read_whatever_their_quotes_and_ends(row, end):
    labels = np.array(["a b", "a, b"])[np.arange(40) % 2] if "'" in row or '"' in row else Y
    head = "\ufeff% comment\n@RELATION r\n@Attribute 'it, is' real\n@ATTRIBUTE  \"b c\" INTEGER\n"
    head += "@attribute d{1,2}\n\n@attribute class {'a b', 'a, b'}\n@DATA\n"
    rows = [row.format(*x, label) for x, label in zip(X, labels, strict=True)]
    found, y, _ = read((head + end.join(rows)).encode(), suffix=".arff")
    assert np.array_equal(found, X) and np.array_equal(y, labels)
    # the label is kept, whatever else is said of it
    said = {"target": "class", "dropped": ("class", "id")}
    assert np.array_equal(read((head + end.join(rows)).encode(), suffix=".arff", **said)[1], labels)
