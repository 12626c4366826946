"""Bytes from outside: the transfer of a file, and the table that it holds."""

import hashlib
import json
import numbers
import os
import re

import numpy as np

__all__ = ["damaged", "fetch_source", "parse_csv", "read_file"]

OPENML_DESCRIPTION = "https://www.openml.org/api/v1/json/data/{id}"
SOURCE_FORMATS = (".npz", ".csv", ".arff")
_EMPTY_CELL = re.compile(r"(?:^|(?<=,))(?=,|$)")


def damaged(where, what, remedy):
    return ValueError(f"{where} is damaged or is not what it should be: {what}; {remedy}")


def read_file(path, suffix, where, remedy, target=None, dropped=()):
    if suffix == ".npz":
        return _parse_npz(path, where, remedy)
    if suffix == ".csv":
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise damaged(where, f"not a text file ({error})", remedy) from error
        return parse_csv(lines, where, remedy)
    return _parse_arff(path, where, remedy, target, dropped)


def _parse_npz(path, where, remedy):
    try:
        # opened here because np.load leaves a damaged file open
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in ("X", "y") if key in arrays.files}
        if missing := {"X", "y"} - set(found):
            raise KeyError(f"no array named {' or '.join(sorted(missing))}")
        return np.asarray(found["X"], dtype=np.float64), found["y"]
    except MemoryError:
        raise
    except Exception as error:
        # zip, zlib and numpy raise many kinds of exception for a damaged archive, some of which
        # advise to load it unsafely
        reason = "no archive of plain arrays" if "pickle" in str(error) else error
        raise damaged(where, f"not a readable .npz file ({reason})", remedy) from error


def parse_csv(lines, where, remedy):
    rows = [line.rsplit(",", 1) for line in lines if line.strip()]
    try:
        if not rows:
            raise ValueError("it is empty")
        if not _is_number(rows[0][0].split(",")[0]):
            rows = rows[1:]
        labels = np.array([label.strip(" \"'") for _, label in rows])
        filled = (_EMPTY_CELL.sub("nan", cells) for cells, _ in rows)
        X = np.loadtxt(filled, delimiter=",", ndmin=2, comments=None)
    except ValueError as error:
        raise damaged(
            where, f"not a table of numbers with a label in the last column ({error})", remedy
        ) from error
    return X, labels


def _is_number(cell):
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def _parse_arff(path, where, remedy, target, dropped):
    from scipy.io import arff

    try:
        with open(path, encoding="utf-8") as stream:
            table, _ = arff.loadarff(stream)
        names = [name for name in table.dtype.names if name not in dropped]
        target = names[-1] if target is None else target
        labels = table[target]
        X = np.column_stack([table[name].astype(np.float64) for name in names if name != target])
    except (ValueError, IndexError, NotImplementedError, StopIteration, arff.ArffError) as error:
        raise damaged(where, f"not a readable .arff file ({error!r})", remedy) from error
    return X, labels.astype(str) if labels.dtype.kind == "S" else labels


def fetch_source(name, source, fetched, timeout, hint):
    """Save the source as `fetched`; return address, format, target and columns to drop."""
    if isinstance(source, numbers.Integral) and not isinstance(source, bool) and source > 0:
        page = OPENML_DESCRIPTION.format(id=source)
        _fetch(name, page, fetched, timeout, hint)
        try:
            about = json.loads(fetched.read_bytes())["data_set_description"]
            address = about["url"]
            md5 = about["md5_checksum"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConnectionError(
                f"{page} did not answer with the description of a data set ({error!r}); "
                f"try again later, name another source, or {hint}"
            ) from error
        if not str(address).startswith(("http://", "https://")):
            raise ConnectionError(f"{page} names no http(s) address but {address!r}")
        dropped = []
        for key in ("row_id_attribute", "ignore_attribute"):
            value = about.get(key) or []
            dropped += value.split(",") if isinstance(value, str) else value
        _fetch(name, address, fetched, timeout, hint, md5)
        return address, ".arff", about.get("default_target_attribute"), tuple(dropped)
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        suffix = os.path.splitext(source.split("?")[0].split("#")[0])[1].lower()
        if suffix in SOURCE_FORMATS:
            _fetch(name, source, fetched, timeout, hint)
            return source, suffix, None, ()
    raise ValueError(
        f"source={source!r} is neither an OpenML id (a positive int) nor an http(s) address that "
        f"ends in {', '.join(SOURCE_FORMATS)}; to use a file on this machine, {hint}"
    )


def _fetch(name, address, path, timeout, hint, md5=None):
    """Stream an address into a file, with a progress bar; refuse a short or altered answer."""
    import http.client
    import urllib.request

    from tqdm import tqdm

    received = 0
    digest = hashlib.md5(usedforsecurity=False)
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "fsnotes"})
        with urllib.request.urlopen(request, timeout=timeout) as answer, open(path, "wb") as file:
            announced = answer.headers.get("Content-Length")
            announced = int(announced) if announced else None
            with tqdm(total=announced, unit="B", unit_scale=True, desc=name) as bar:
                while block := answer.read(1 << 16):
                    file.write(block)
                    digest.update(block)
                    received += len(block)
                    bar.update(len(block))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _not_fetched(name, address, hint, getattr(error, "reason", None) or error) from error
    if announced is not None and received < announced:
        raise _not_fetched(name, address, hint, f"broke off after {received} of {announced} bytes")
    if md5 and digest.hexdigest() != md5:
        raise _not_fetched(
            name, address, hint, f"the md5 checksum is {digest.hexdigest()}, announced was {md5}"
        )


def _not_fetched(name, address, hint, reason):
    return ConnectionError(
        f"{name!r} could not be fetched from {address}: {reason}. Nothing was saved. Try again "
        f"later, name another source, or {hint}"
    )
