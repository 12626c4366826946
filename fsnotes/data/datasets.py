"""Data sets of the book: small ones that travel along, larger ones on request.

`load` reads a set by name, `available` lists the names, and `download` fetches a larger set into
the cache. Whatever way a set came, its shape, its class counts and its content are compared with
registered values before it is returned. Only of three sets that users have to supply nothing but
the shape and the number of classes is known.

The route to OpenML has been tested against a local server only, not against OpenML itself.
"""

import contextlib
import difflib
import functools
import hashlib
import importlib.resources
import json
import os
import shutil
import string
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fsnotes.core.validation import check_bool, check_real, shown
from fsnotes.data.fetching import (
    WEEK,
    damaged,
    fetch_arrays,
    parse_csv,
    read_npz,
    reading,
)

__all__ = ["DatasetInfo", "available", "download", "load"]

PACKAGED = ("sonar", "ionosphere", "pima", "wisconsin", "wpbc", "titanic")
# None: OpenML has no faithful copy, so a file or an address is needed
OPENML_IDS = {
    "spambase": 44,
    "madelon": 1485,
    "isolet": 300,
    "semeion": 1501,
    "colon": None,
    "umist": None,
}
# rows, features, classes: files of the user, of whose content nothing is known
SUPPLIED = {"lung": (203, 3312, 5), "cll-sub-111": (111, 11340, 3), "ar": (130, 2400, 10)}
_ORIGINS = {
    "sonar": "UCI, Connectionist Bench (Sonar, Mines vs. Rocks)",
    "ionosphere": "UCI, Ionosphere",
    "pima": "National Institute of Diabetes and Digestive and Kidney Diseases",
    "wisconsin": "UCI, Breast Cancer Wisconsin (Original)",
    "wpbc": "UCI, Breast Cancer Wisconsin (Prognostic)",
    "titanic": "R, datasets::Titanic",
    "wdbc": "UCI, Breast Cancer Wisconsin (Diagnostic), through scikit-learn",
    "spambase": "UCI, Spambase; OpenML 44",
    "madelon": "UCI, Madelon; OpenML 1485",
    "isolet": "UCI, ISOLET; OpenML 300",
    "semeion": "UCI, Semeion Handwritten Digit; OpenML 1501",
    "colon": "Alon et al. (1999)",
    "umist": "UMIST (Sheffield) Face Database, 28 x 23 pixels",
    "lung": "Bhattacharjee et al. (2001); supplied by the user",
    "cll-sub-111": "Arizona State University, CLL-SUB-111; supplied by the user",
    "ar": "AR Face Database, 10 people; supplied by the user",
}
HOUR = 3600
_TARGET_NAMES = {"isolet": tuple(string.ascii_uppercase)}


class DatasetInfo(NamedTuple):
    """One line of `available`; ``location`` is None where the set has to be fetched first."""

    n_samples: int
    n_features: int
    n_classes: int
    origin: str
    location: str | None


def available():
    """List the data sets by name.

    Returns
    -------
    dict of str to DatasetInfo
        Shape, number of classes, canonical origin, and ``location``: ``"fsnotes"`` or
        ``"scikit-learn"`` for sets that travel with a package, the path of the file for a larger
        set that is present, None for one that is not. Nothing is read or fetched.

    Examples
    --------
    >>> from fsnotes.data.datasets import available
    >>> available()["sonar"]
    DatasetInfo(n_samples=208, n_features=60, n_classes=2, origin='UCI, Connectionist Bench \
(Sonar, Mines vs. Rocks)', location='fsnotes')
    """
    table = {}
    for name in _names():
        if name == "wdbc":
            shape = (569, 30)
            n_classes = 2
            location = "scikit-learn"
        elif name in SUPPLIED:
            *shape, n_classes = SUPPLIED[name]
            path = _present_file(name)
            location = None if path is None else str(path)
        else:
            shape = _registry()[name]["shape"]
            n_classes = len(_registry()[name]["classes"])
            if name == "wpbc":
                shape = (194, 32)
            path = None if name in PACKAGED else _present_file(name)
            location = "fsnotes" if name in PACKAGED else None if path is None else str(path)
        table[name] = DatasetInfo(*shape, n_classes, _ORIGINS[name], location)
    return table


def load(name, *, return_X_y=False, as_frame=False, raw=False, download=False):
    """Load a data set by name.

    Packaged sets: sonar, ionosphere, pima, wisconsin, wpbc, titanic; wdbc is scikit-learn's
    `load_breast_cancer`. Larger sets: spambase, madelon, isolet, semeion, colon, umist. A larger
    set is read from ``<name>.npz`` (arrays ``X`` and ``y``) in the folder that the environment
    variable ``FSNOTES_DATA`` names, then from the cache folder (``FSNOTES_CACHE``, or ``fsnotes``
    in the user's cache folder). The network is used only if `download` is true.

    The sets lung, cll-sub-111 and ar have to be supplied: put such a file there. Of these only the
    shape and the number of classes are verified, not the content.

    Parameters
    ----------
    name : str
        Name of the set, see `available`.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.
    as_frame : bool, default=False
        Return pandas objects: ``data`` a DataFrame, ``target`` a Series, ``frame`` both joined.
    raw : bool, default=False
        For wpbc only: all 198 rows, with the column ``time`` and NaN for missing values, instead
        of the 194 complete rows without it. Any other set has no rawer form: a ValueError.
    download : bool, default=False
        Fetch a larger set that is not on this machine, as `download` does.

    Returns
    -------
    sklearn.utils.Bunch or (data, target)
        With ``data``, ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR``,
        ``filename``, and ``data_module`` for packaged sets. For titanic also ``counts``: the 14
        distinct cells with the number of people who died and who survived, by field name. For a
        larger set also ``canonical_order``: ``data[canonical_order]`` is the same array whichever
        copy was read, while ``data`` itself is in the order of the file.

    Raises
    ------
    ValueError
        If the name is unknown, or if the file is damaged or is not the registered data set.
    FileNotFoundError
        If a larger set is not on this machine and `download` is false.
    ConnectionError
        If a download fails.

    Notes
    -----
    As in scikit-learn, ``target`` holds integer codes and ``target_names[target]`` the names.
    Names are in sorted order (wdbc: in scikit-learn's order), so a classifier fitted on the codes
    and one fitted on the names number the classes alike. The positive class, ``classes_[1]``, is

    ==========  ===========================  =================================
    set         code 0                       code 1, the positive class
    ==========  ===========================  =================================
    sonar       M, mine (111)                R, rock (97)
    ionosphere  b, bad radar return (126)    g, good radar return (225)
    pima        negative (500)               positive, diabetes (268)
    wisconsin   benign (444)                 malignant (239)
    wpbc        N, no recurrence (148)       R, recurrence (46)
    titanic     died (1490)                  survived (711)
    wdbc        malignant (212)              benign (357)
    spambase    nonspam (2788)               spam (1813)
    madelon     -1 (1300)                    1 (1300)
    colon       normal (22)                  tumor (40)
    ==========  ===========================  =================================

    Mind that wdbc and wisconsin differ in which class is positive. isolet has 26 classes (A to
    Z), semeion 10 (the digits) and umist 20 (people); lung has 5, cll-sub-111 3 and ar 10. Rows
    are not shuffled: many files are sorted by class.

    Examples
    --------
    >>> from fsnotes.data.datasets import load
    >>> X, y = load("sonar", return_X_y=True)
    >>> X.shape
    (208, 60)
    >>> load("sonar").target_names.tolist()
    ['M', 'R']
    """
    _check_name(name)
    flags = {"return_X_y": return_X_y, "as_frame": as_frame, "raw": raw, "download": download}
    for flag, value in flags.items():
        check_bool(flag, value)
    if raw and name != "wpbc":
        raise ValueError(
            f"raw=True was asked for {name!r}, but only 'wpbc' has a rawer form (198 rows with "
            "missing values and the column 'time'); leave raw out"
        )
    if as_frame:
        _import_pandas()
    if name == "wdbc":
        from sklearn.datasets import load_breast_cancer

        return load_breast_cancer(return_X_y=return_X_y, as_frame=as_frame)
    if name in PACKAGED:
        fields = _read_packaged(name, raw)
    elif name in SUPPLIED:
        fields = _read_supplied(name)
    else:
        fields = _read_large(name, download)
    if return_X_y and not as_frame:
        return fields["data"], fields["target"]
    if as_frame:
        fields |= _framed(fields)
    if return_X_y:
        return fields["data"], fields["target"]
    from sklearn.utils import Bunch

    return Bunch(DESCR=_describe(name), **fields)


def download(name, source=None, *, timeout=600.0):
    """Fetch a larger data set into the cache folder.

    The file is verified before it takes its place in the cache; on failure nothing is left
    behind. A verified copy that is already in the cache is kept if no source is named.

    Parameters
    ----------
    name : str
        spambase, madelon, isolet, semeion, colon or umist.
    source : int or str, optional
        An OpenML id, or the http(s) address of an .npz file (arrays ``X`` and ``y``), of a .csv
        file (label in the last column, with or without a header) or of an .arff file (label in
        the last attribute). By default the registered OpenML id; colon and umist have none.
    timeout : float, default=600
        Seconds that the whole transfer may take, from the first look-up of a name to the last
        byte; a slow line may need more. A server that is silent for a minute is given up before.

    Returns
    -------
    pathlib.Path
        The file in the cache.

    Raises
    ------
    ValueError
        If the source or the timeout is not of these forms, or if the source does not hold the
        registered data. A timeout that is no number is a TypeError.
    ConnectionError
        If the source cannot be reached, the transfer breaks off or takes too long, or more is sent
        than the registered table can need (32 bytes a number, and a megabyte).

    Notes
    -----
    The route to OpenML has been tested against a local server only.

    Examples
    --------
    >>> from fsnotes.data.datasets import download
    >>> download("sonar")
    Traceback (most recent call last):
        ...
    ValueError: 'sonar' needs no download: it travels with a package; call load('sonar')
    """
    _check_name(name)
    check_real("timeout", timeout, 0, open_at=0, most=WEEK)
    if name in SUPPLIED:
        raise ValueError(
            f"{name!r} cannot be fetched, since nothing tells a right copy; {_placing_hint(name)}"
        )
    if name not in OPENML_IDS:
        raise ValueError(
            f"{name!r} needs no download: it travels with a package; call load({name!r})"
        )
    return _download(name, source, timeout)


def _download(name, source=None, timeout=600.0):
    final = cache_folder() / f"{name}.npz"
    if source is None:
        if os.path.isfile(final) and _is_valid(name, final):
            return final
        source = OPENML_IDS[name]
        if source is None:
            raise ValueError(
                f"{name!r} has no registered source: OpenML has no faithful copy. Call "
                f"download({name!r}, source=ADDRESS) with the address of an .npz, .csv or .arff "
                f"file, or {_placing_hint(name)}"
            )
    folder = final.parent
    hint = _placing_hint(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        X, y, address = fetch_arrays(name, source, _shape(name), folder, timeout, hint)
        remedy = f"nothing was saved; name another source, or {hint}"
        codes, _ = _verify(name, X, y, address, remedy)
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as scratch:
            complete = Path(scratch, "complete.npz")
            np.savez_compressed(complete, X=X, y=_target_names(name)[codes])
            os.replace(complete, final)
    except ConnectionError:
        raise
    except OSError as error:
        raise OSError(
            f"cannot write into the cache folder {folder} ({error}); set the environment "
            "variable FSNOTES_CACHE to a folder in which you may write"
        ) from error
    return final


def _remove_leftovers(folder):
    """Remove what a download has left that was killed while it saved, which takes seconds."""
    for name in OPENML_IDS:
        for scratch in folder.glob(f".{name}-*"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - scratch.stat().st_mtime > HOUR:
                    shutil.rmtree(scratch, ignore_errors=True)


def cache_folder():
    """Return the folder of downloaded sets: FSNOTES_CACHE, or the platform's user cache."""
    if chosen := os.environ.get("FSNOTES_CACHE"):
        return Path(os.path.expanduser(chosen))
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        xdg = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    return base / "fsnotes"


def class_digests(X, y):
    """Fingerprint the content of each class, whatever the file format or the order of rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers; compared as little-endian float64, with one zero and one NaN.
    y : array-like of shape (n_samples,)
        Labels. Their names do not enter the digests.

    Returns
    -------
    dict
        Hexadecimal digest by label, in the order of ``np.unique(y)``.

    Examples
    --------
    >>> from fsnotes.data.datasets import class_digests
    >>> a = class_digests([[1, 2], [3, 4], [5, 6]], ["no", "no", "yes"])
    >>> b = class_digests([[5, 6], [3, 4], [1, 2]], [1, 0, 0])
    >>> a["no"] == b[0] and a["yes"] == b[1]
    True
    """
    return _digest_classes(_digest_rows(X), y)


def digest_of_lines(lines):
    """The hexadecimal digest of lines of text, whatever ends them."""
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def digest_of_entries(registry):
    """The hexadecimal digest of what the registry says of all data sets."""
    return digest_of_lines([json.dumps(registry, sort_keys=True)])


def _digest_rows(X):
    digests = []
    for begin in range(0, len(X), 500):
        # adding zero turns -0.0 into 0.0, of which a file format may keep either
        rows = np.ascontiguousarray(X[begin : begin + 500], dtype="<f8") + 0.0
        rows[np.isnan(rows)] = np.nan
        digests += [hashlib.blake2b(row, digest_size=16).hexdigest() for row in rows]
    return np.array(digests, dtype="U32")


def _digest_classes(row_digests, y):
    # numpy drops an interrupt while it walks through an array of text, or compares it
    labels, places = np.unique(np.asarray(y), return_inverse=True)
    return {
        label: hashlib.blake2b(
            "".join(np.sort(row_digests[places == place]).tolist()).encode(), digest_size=8
        ).hexdigest()
        for place, label in enumerate(labels.tolist())
    }


def _names():
    return (*PACKAGED, "wdbc", *OPENML_IDS, *SUPPLIED)


def _check_name(name):
    is_text = isinstance(name, str)
    if is_text and name in _names():
        return
    guess = difflib.get_close_matches(name.lower() if is_text else "", _names(), n=1, cutoff=0.5)
    suggestion = f" Did you mean {guess[0]!r}?" if guess else ""
    raise ValueError(f"name={shown(name)} is no data set.{suggestion} Known: {', '.join(_names())}")


@functools.cache
def _registry():
    try:
        found = json.loads(_read_resource("registry.json"))
        said = found.pop("digest")
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise damaged("fsnotes/data/registry.json", str(error), "reinstall fsnotes") from error
    if said != digest_of_entries(found):
        raise damaged("fsnotes/data/registry.json", "its digest is another", "reinstall fsnotes")
    return found


def _read_resource(filename):
    try:
        return (importlib.resources.files("fsnotes.data") / filename).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"fsnotes/data/{filename} cannot be read ({error}); reinstall fsnotes"
        ) from error


def _describe(name):
    return _read_resource(f"{name}.md")


def _target_names(name):
    return np.array(_TARGET_NAMES.get(name) or _registry()[name]["classes"])


def _import_pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed; run `pip install pandas`, or "
            "leave as_frame out"
        ) from error
    return pandas


def _framed(fields):
    pandas = _import_pandas()
    data = pandas.DataFrame(fields["data"], columns=np.asarray(fields["feature_names"]).tolist())
    target = pandas.Series(fields["target"], name="target")
    framed = {"data": data, "target": target, "frame": pandas.concat([data, target], axis=1)}
    if "counts" in fields:
        framed["counts"] = pandas.DataFrame(fields["counts"])
    return framed


def _read_packaged(name, raw):
    filename = f"{name}.csv"
    remedy = "reinstall fsnotes"
    where = f"fsnotes/data/{filename}"
    lines = _read_resource(filename).splitlines()
    if len(lines) < 2:
        raise damaged(where, "it has no rows", remedy)
    if digest_of_lines(lines) != _registry()[name]["lines"]:
        raise damaged(where, "its lines are not the registered ones", remedy)
    names = np.array(lines[0].split(","))
    extra = {}
    if name == "titanic":
        with reading(where, ".csv", remedy):
            # in Python, since an interrupt may be lost while NumPy walks through lines
            counts = np.array([[int(cell) for cell in line.split(",")] for line in lines[1:]])
            X = np.repeat(counts[:, :3].astype(np.float64), counts[:, 3:].sum(axis=1), axis=0)
            y = np.repeat(np.tile(names[3:], len(counts)), counts[:, 3:].ravel())
        extra["counts"] = np.rec.fromarrays(counts.T, names=names.tolist())
        names = names[:3]
    else:
        with reading(where, ".csv", remedy):
            X, y = parse_csv(lines, _shape(name))
        names = names[:-1]
    target, _ = _verify(name, X, y, where, remedy)
    if name == "wpbc" and not raw:
        complete = ~np.isnan(X).any(axis=1)
        X = X[complete, 1:]
        target = target[complete]
        names = names[1:]
    return {
        "data": X,
        "target": target,
        "frame": None,
        "feature_names": names,
        "target_names": _target_names(name),
        "filename": filename,
        "data_module": "fsnotes.data",
        **extra,
    }


def _read_large(name, fetch):
    path = _present_file(name)
    if path is None and fetch:
        path = _download(name)
    if path is None:
        looked = ", ".join(str(candidate) for candidate in _candidate_files(name))
        source = "" if OPENML_IDS[name] else ", source=ADDRESS"
        raise FileNotFoundError(
            f"{name!r} is not on this machine (looked for {looked}). Fetch it with "
            f"fsnotes.download({name!r}{source}), or {_placing_hint(name)}"
        )
    remedy = _file_remedy(name, path)
    X, y = read_npz(path, _shape(name), remedy)
    target, row_digests = _verify(name, X, y, path, remedy)
    names = _registry()[name].get("feature_names") or [f"x{i}" for i in range(X.shape[1])]
    return {
        "data": X,
        "target": target,
        "frame": None,
        "feature_names": np.array(names),
        "target_names": _target_names(name),
        "filename": str(path),
        "canonical_order": np.lexsort((target, row_digests)),
    }


def _read_supplied(name):
    path = _present_file(name)
    if path is None:
        looked = ", ".join(str(candidate) for candidate in _candidate_files(name))
        raise FileNotFoundError(
            f"{name!r} is not available (looked for {looked}): {_placing_hint(name)}"
        )
    remedy = "replace it by a faithful copy, or remove it"
    X, y = read_npz(path, _shape(name), remedy)
    n_classes = SUPPLIED[name][2]
    if not np.isfinite(X).all() or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        raise damaged(path, "some values are missing or infinite", remedy)
    labels, target = np.unique(y, return_inverse=True)
    if len(labels) != n_classes:
        raise damaged(path, f"{name} has {n_classes} classes, found {len(labels)}", remedy)
    return {
        "data": X,
        "target": target,
        "frame": None,
        "feature_names": np.array([f"x{i}" for i in range(X.shape[1])]),
        "target_names": labels,
        "filename": str(path),
        "canonical_order": np.lexsort((target, _digest_rows(X))),
    }


def _candidate_files(name):
    # expanduser of os.path keeps a name that it does not know, that of Path raises
    folder = os.environ.get("FSNOTES_DATA")
    folders = [Path(os.path.expanduser(folder))] if folder else []
    return [folder / f"{name}.npz" for folder in [*folders, cache_folder()]]


def _present_file(name):
    return next((path for path in _candidate_files(name) if os.path.isfile(path)), None)


def _shape(name):
    return tuple(SUPPLIED[name][:2] if name in SUPPLIED else _registry()[name]["shape"])


def _placing_hint(name):
    n_samples, n_features = _shape(name)
    return (
        f"put the file {name}.npz (arrays X, {n_samples} x {n_features} numbers, and y, "
        f"{n_samples} labels) into {cache_folder()} or into the folder that the environment "
        "variable FSNOTES_DATA names"
    )


def _file_remedy(name, path):
    if path.parent == cache_folder():
        source = "" if OPENML_IDS[name] else ", source=ADDRESS"
        return f"call fsnotes.download({name!r}{source}) to replace it, or delete it"
    return "replace it by a faithful copy, or unset FSNOTES_DATA"


def _is_valid(name, path):
    try:
        _verify(name, *read_npz(path, _shape(name), ""), path, "")
    except ValueError:
        return False
    return True


def _verify(name, X, y, where, remedy):
    """Return the codes of the labels and the digests of the rows, or refuse the data."""
    entry = _registry()[name]
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise damaged(where, "some labels are missing (NaN)", remedy)
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if sorted(counts) != sorted(entry["counts"]):
        raise damaged(
            where,
            f"{name} has classes of {_shorten(entry['counts'])} rows, found {_shorten(counts)}",
            remedy,
        )
    row_digests = _digest_rows(X)
    # lists, since an interrupt may be lost where NumPy's own texts are compared
    digests = list(_digest_classes(row_digests, y).values())
    labels = labels.tolist()
    # the content of a class tells which one it is, so label names need no table
    code_of = {digest: code for code, digest in enumerate(entry["digests"])}
    pairs = zip(labels, digests, strict=True)
    unknown = [str(label) for label, digest in pairs if digest not in code_of]
    if unknown:
        raise damaged(
            where,
            f"shape and class counts of {name} are right, but the values of class "
            f"{_shorten(unknown)} differ from the registered ones",
            remedy,
        )
    return np.array([code_of[digest] for digest in digests])[codes], row_digests


def _shorten(items):
    shown = ", ".join(str(item) for item in items[:5])
    return shown if len(items) <= 5 else f"{shown}, ... ({len(items)} in all)"
