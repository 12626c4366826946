"""Bytes from outside: files that nobody vouches for are fetched and read here, and nowhere else.

The caller says which shape the table has to have. Whatever a server sends or a file announces, no
more is transferred, unpacked or held in memory than a table of that shape can need, and a transfer
has a deadline. What does not fit is refused in words.
"""

import contextlib
import csv
import hashlib
import http.client
import io
import itertools
import json
import math
import numbers
import os
import queue
import re
import socket
import tempfile
import threading
import time
import urllib.request
import zipfile
from functools import partial
from typing import NamedTuple

import numpy as np

from fsnotes.core.validation import shown

__all__ = ["WEEK", "damaged", "fetch_arrays", "parse_csv", "read_npz", "reading"]

OPENML_DESCRIPTION = "https://www.openml.org/api/v1/json/data/{id}"
SOURCE_FORMATS = (".npz", ".csv", ".arff")
# seconds without a byte after which a server is given up, even before the deadline
SILENCE = 60.0
WEEK = 604800
LARGEST_ID = 10**9  # of a data set at OpenML
# A number printed to its last digit has 24 characters.
CELL_BYTES = 32
LABEL_LENGTH = 256
# for comments and names of features, for HTTP's own lines, and for the description of a set
MARGIN_BYTES = 1 << 20
# the longest line that is no row of the table, the longest list of an archive's members, and the
# part of a file that is held at a time
BLOCK_BYTES = 1 << 16
_MAGIC = b"\x93NUMPY\x01\x00"
# The header of an array of numbers or text. It is not evaluated as Python, which `np.load` does.
_HEADER = re.compile(
    rb"\{(?:\s*(?:'descr': *'(?P<dtype>[<>|=]?[biufUS]\d+)'|'fortran_order': *(?P<order>True|False)"
    rb"|'shape': *\((?P<shape>[\d, ]*)\)),?){3}\s*\}\s*"
)
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)


def damaged(where, what, remedy):
    """Return the error to raise for a file that is not what it should be."""
    return ValueError(f"{where} is damaged or is not what it should be: {what}; {remedy}")


@contextlib.contextmanager
def reading(where, suffix, remedy):
    """Turn what goes wrong with a file of this format into the words of `damaged`."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        # zip, zlib and codecs raise many kinds of exception, with as much text as the file has
        what = f"not a readable {suffix} file ({str(error)[:200] or type(error).__name__})"
        raise damaged(where, what, remedy) from error


def read_npz(path, shape, remedy):
    """Return X, of this shape and in float64, and y, one label a row, of an .npz file."""
    with reading(path, ".npz", remedy), open(path, "rb") as file:
        return _read_npz(file, shape)


def fetch_arrays(name, source, shape, folder, timeout, hint):
    """Fetch a table into a nameless file of this folder, which no kill of the process can leave.

    Returns X, of this shape and in float64, y, and the address that they came from. `hint` says
    what to do without a network.
    """
    web = _Web(name, float(timeout), hint)
    found = _find_source(web, source)
    with tempfile.TemporaryFile(dir=folder) as file:
        most = CELL_BYTES * shape[0] * (shape[1] + 1) + MARGIN_BYTES
        web.copy(found.address, file, most, found.md5)
        file.seek(0)
        remedy = f"nothing was saved; name another source, or {hint}"
        with reading(found.address, found.suffix, remedy):
            is_npz = found.suffix == ".npz"
            X, y = _read_npz(file, shape) if is_npz else _read_text(file, shape, found)
    return X, y, found.address


class _Source(NamedTuple):
    address: str
    suffix: str
    md5: str | None = None
    target: str | None = None
    dropped: tuple = ()


def _find_source(web, source):
    is_id = isinstance(source, numbers.Integral) and not isinstance(source, bool)
    if is_id and 0 < source <= LARGEST_ID:
        return _find_at_openml(web, OPENML_DESCRIPTION.format(id=source))
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        suffix = os.path.splitext(source.split("?")[0].split("#")[0])[1].lower()
        if suffix in SOURCE_FORMATS:
            return _Source(source, suffix)
    raise ValueError(
        f"source={shown(source)} is neither an OpenML id (a positive int) nor an http(s) address "
        f"that ends in {', '.join(SOURCE_FORMATS)}; to use a file on this machine, {web.hint}"
    )


def _find_at_openml(web, page):
    content = io.BytesIO()
    web.copy(page, content, MARGIN_BYTES)
    try:
        about = json.loads(content.getvalue())["data_set_description"]
        dropped = []
        for key in ("row_id_attribute", "ignore_attribute"):
            value = about.get(key) or []
            dropped += value.split(",") if isinstance(value, str) else value
        target = about.get("default_target_attribute")
        found = _Source(about["url"], ".arff", about["md5_checksum"], target, tuple(dropped))
        if not all(isinstance(text, str) for text in (*found[:3], target or "", *dropped)):
            raise TypeError("a field is no text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConnectionError(
            f"{page} did not answer with the description of a data set ({error!r:.200}); "
            f"try again later, name another source, or {web.hint}"
        ) from error
    if not found.address.startswith(("http://", "https://")):
        raise ConnectionError(f"{page} names no http(s) address but {found.address!r:.200}")
    return found


class _Web(urllib.request.AbstractHTTPHandler):
    """The transfers of one download: one deadline for them all, a limit in bytes for each.

    A name server, a connection and a proxy wait in a thread that is given up at the deadline. Each
    read from a socket then waits no longer than the deadline, so neither lines of a header nor a
    body can take more time, however slowly they come.
    """

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_

    def __init__(self, name, timeout, hint):
        super().__init__()
        self.name = name
        self.hint = hint
        self.timeout = timeout
        self.deadline = time.monotonic() + timeout
        self.response = None
        self.opener = urllib.request.OpenerDirector()
        # no handler of other schemes, to which an answer could redirect
        for handler in (
            self,
            urllib.request.ProxyHandler(),
            urllib.request.UnknownHandler(),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPRedirectHandler(),
            urllib.request.HTTPErrorProcessor(),
        ):
            self.opener.add_handler(handler)

    def copy(self, address, file, most, md5=None):
        """Save at most so many bytes, with a progress bar; refuse a short or altered answer."""
        from fsnotes.core.progress import ProgressBar

        self.most = most
        self.bytes_left = most
        received = 0
        digest = hashlib.md5(usedforsecurity=False)
        try:
            answer = self.ask(address)
            announced = answer.headers.get("Content-Length")
            if announced and not re.fullmatch("[0-9]{1,18}", announced):
                raise ValueError(f"its length is announced as {announced[:50]!r}")
            announced = int(announced) if announced else None
            if announced is not None and announced > most:
                raise self.too_much(f"{announced} bytes are announced")
            with ProgressBar(total=announced, unit="B", unit_scale=True, desc=self.name) as bar:
                while block := answer.read(BLOCK_BYTES):
                    file.write(block)
                    digest.update(block)
                    received += len(block)
                    bar.update(len(block))
            if announced is not None and received < announced:
                raise ValueError(f"broke off after {received} of {announced} bytes")
            if md5 and digest.hexdigest() != md5:
                raise ValueError(
                    f"the md5 checksum is {digest.hexdigest()}, announced was {md5:.200}"
                )
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
            code = f"HTTP status {error.code}, " if hasattr(error, "code") else ""
            said = str(getattr(error, "reason", None) or error)[:500]
            reason = code + "".join(c if c.isprintable() else repr(c)[1:-1] for c in said)
            raise ConnectionError(
                f"{self.name!r} could not be fetched from {address}: {reason}. Nothing was saved. "
                f"Try again later, name another source, or {self.hint}"
            ) from error
        finally:
            if self.response is not None:
                with contextlib.suppress(OSError):
                    self.sock.shutdown(socket.SHUT_RDWR)  # a thread that still reads gives up
                self.response.close()

    def ask(self, address):
        """Return the answer of an address, with its headers read."""
        request = urllib.request.Request(address, headers={"User-Agent": "fsnotes"})
        outcome = queue.SimpleQueue()

        def answer():
            try:
                outcome.put(self.opener.open(request, timeout=self.seconds_left()))
            except BaseException as error:
                outcome.put(error)

        threading.Thread(target=answer, daemon=True).start()
        try:
            found = outcome.get(timeout=max(0, self.deadline - time.monotonic()))
        except queue.Empty:
            raise self.too_late() from None
        if isinstance(found, BaseException):
            raise found
        return found

    def http_open(self, request):
        return self.do_open(partial(self.connect, http.client.HTTPConnection), request)

    def https_open(self, request):
        return self.do_open(partial(self.connect, http.client.HTTPSConnection), request)

    def connect(self, kind, host, **settings):
        connection = kind(host, **settings)
        connection.response_class = self.respond
        return connection

    def respond(self, sock, **settings):
        response = http.client.HTTPResponse(sock, **settings)
        response.fp = io.BufferedReader(_Limited(self, sock, response.fp.detach()))
        self.sock = sock
        self.response = response
        return response

    def seconds_left(self):
        """Return how long to wait for the next byte."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise self.too_late()
        return min(left, SILENCE)

    def too_late(self):
        if time.monotonic() < self.deadline:
            return TimeoutError(f"timed out: no byte came for {SILENCE:g} seconds")
        return TimeoutError(f"timed out: not complete after timeout={self.timeout:g} seconds")

    def too_much(self, found):
        return ValueError(f"{found}, the table that is looked for needs at most {self.most}")


class _Limited(io.RawIOBase):
    """What comes through a socket, as long as its transfer has seconds and bytes left."""

    def __init__(self, web, sock, raw):
        self._web = web
        self._sock = sock
        self._raw = raw

    def readable(self):
        return True

    def readinto(self, buffer):
        self._sock.settimeout(self._web.seconds_left())
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError:
            raise self._web.too_late() from None
        self._web.bytes_left -= count
        if self._web.bytes_left < 0:
            raise self._web.too_much("more bytes come")
        return count

    def close(self):
        self._raw.close()
        super().close()


class _SmallReads:
    """A file of which no large part is read at once, such as an endless list of members."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def read(self, size=-1):
        if size > BLOCK_BYTES:
            raise ValueError(f"its list of members has {size} bytes")
        return self._file.read(size)


def _read_npz(file, shape):
    with zipfile.ZipFile(_SmallReads(file)) as archive:
        if missing := {"X.npy", "y.npy"} - set(archive.namelist()):
            names = " or ".join(name.removesuffix(".npy") for name in sorted(missing))
            raise ValueError(f"no array named {names}")
        X = _Member(archive, "X.npy")
        y = _Member(archive, "y.npy")
        if X.shape != shape or y.shape != shape[:1]:
            raise ValueError(
                f"it should have X {shape} and y {shape[:1]}, found {X.shape} and {y.shape}"
            )
        if X.dtype.kind in "US" or not 0 < y.dtype.itemsize <= 4 * LABEL_LENGTH:
            raise ValueError(
                f"X has to hold numbers, and y numbers or labels of at most {LABEL_LENGTH} "
                f"characters, found {X.dtype} and {y.dtype}"
            )
        labels = y.read(y.dtype)
        labels.tolist()  # raises where a number stands for no character
        return X.read(np.float64), labels


class _Member:
    """An array of an archive; until it is read, no more than its header is unpacked."""

    def __init__(self, archive, name):
        self.name = name
        self.info = archive.getinfo(name)
        # the other kinds unpack without a limit
        if self.info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed in another way than numpy's")
        self.stream = archive.open(self.info)
        start = self.stream.read(len(_MAGIC) + 2)
        header = self.stream.read(int.from_bytes(start[len(_MAGIC) :], "little"))
        found = _HEADER.fullmatch(header)
        if not start.startswith(_MAGIC) or not found or None in found.groups():
            raise ValueError(f"{name} is no plain array of numbers or text")
        self.dtype = np.dtype(found["dtype"].decode())
        self.is_by_column = found["order"] == b"True"
        self.shape = tuple(int(size) for size in found["shape"].split(b",") if size.strip())

    def read(self, dtype):
        """Unpack the values, a block at a time, into an array of this type."""
        announced = self.info.file_size - self.stream.tell()
        if announced != math.prod(self.shape) * self.dtype.itemsize:
            raise ValueError(f"{self.name} announces {announced} bytes for {self.shape} values")
        array = np.empty(self.shape, dtype, order="F" if self.is_by_column else "C")
        flat = array.T.reshape(-1) if self.is_by_column else array.reshape(-1)
        step = BLOCK_BYTES // self.dtype.itemsize
        for begin in range(0, flat.size, step):
            part = flat[begin : begin + step]
            block = self.stream.read(part.size * self.dtype.itemsize)
            with np.errstate(invalid="ignore"):  # of a damaged number, which is found out later
                part[:] = np.frombuffer(block, self.dtype, part.size)  # raises if bytes are missing
        return array


def _read_text(file, shape, source):
    lines = _read_lines(file, CELL_BYTES * (shape[1] + 1) + BLOCK_BYTES)
    return parse_csv(lines, shape) if source.suffix == ".csv" else _parse_arff(lines, shape, source)


def _read_lines(file, longest):
    with io.TextIOWrapper(file, "utf-8-sig") as text:
        while line := text.readline(longest):
            if len(line) == longest:
                raise ValueError(f"a line has more than {longest} characters")
            yield line


def parse_csv(lines, shape):
    """Return X and y of lines with the label in the last column; the first may hold names."""
    rows = (_split(line) for line in lines if line.strip())
    first = next(rows, None)
    if first is None:
        raise ValueError("it is empty")
    with contextlib.suppress(ValueError):
        _as_number(first[0])
        rows = itertools.chain([first], rows)
    return _fill(rows, shape, shape[1] + 1, range(shape[1]), shape[1])


def _parse_arff(lines, shape, source):
    lines = (line.strip() for line in lines)
    lines = (line for line in lines if line and not line.startswith("%"))
    wanted = f"{shape[1]} features and a label are wanted"
    names = []
    for line in itertools.takewhile(lambda line: not line.lower().startswith("@data"), lines):
        if found := _ATTRIBUTE.match(line):
            names.append(found[1].strip("'\""))
        if len(names) > shape[1] + 1 + len(source.dropped):
            raise ValueError(f"{wanted}, found more attributes")
    dropped = set(source.dropped) - {source.target}
    kept = [column for column, name in enumerate(names) if name not in dropped]
    if len(kept) != shape[1] + 1:
        raise ValueError(f"{wanted}, found {len(kept)} attributes")
    label = kept[-1] if source.target is None else names.index(source.target)
    features = [column for column in kept if column != label]
    return _fill(map(_split, lines), shape, len(names), features, label)


def _fill(rows, shape, width, features, label):
    """Return X and y of rows of so many cells, given the columns of the features and the label."""
    X = np.empty(shape)
    labels = []
    for cells in rows:
        if len(labels) == shape[0]:
            raise ValueError(f"{shape[0]} rows are wanted, found more")
        if len(cells) != width:
            raise ValueError(f"row {len(labels) + 1} has {len(cells)} values instead of {width}")
        X[len(labels)] = [_as_number(cells[column]) for column in features]
        labels.append(cells[label].strip(" \"'"))
        if len(labels[-1]) > LABEL_LENGTH:
            raise ValueError(f"a label has more than {LABEL_LENGTH} characters")
    if len(labels) < shape[0]:
        raise ValueError(f"{shape[0]} rows are wanted, found {len(labels)}")
    return X, np.array(labels)


def _split(line):
    """Return the cells of a line, between commas or tabs that stand in no quotes."""
    delimiter = "," if "," in line else "\t"
    quote = '"' if '"' in line else "'"
    return next(csv.reader([line], delimiter=delimiter, quotechar=quote, skipinitialspace=True))


def _as_number(cell):
    return float(cell) if cell.strip(" ?") else math.nan
