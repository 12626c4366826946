"""What people take away: the wheel, the zipped site, and each page's notebook run elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile

import nbformat
import pytest
from conftest import ROOT, SITE

NOTEBOOKS = sorted((SITE / "_sources").rglob("*.ipynb"))
WHEELHOUSE = os.environ.get("FSNOTES_WHEELHOUSE")

# runs a command where there is a loopback, through which a kernel is reached, and no network
ISOLATED = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "isolated"]

RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
assert not any(cell.get("outputs") for cell in notebook.cells)
NotebookClient(notebook, timeout=300).execute()
widgets = [o for c in notebook.cells for o in c.get("outputs", [])
           if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]
print(len(widgets), "live widgets")
"""


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def isolated():
    """What takes the network from a command, or nothing where the system does not allow it."""
    if shutil.which("unshare") and subprocess.run([*ISOLATED, "true"]).returncode == 0:
        return ISOLATED
    if WHEELHOUSE:
        pytest.fail("wheels were given, to show that pages run offline, and unshare -rn fails")
    return []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    options = ["-q", "--no-index", "--no-deps", "--no-build-isolation"]
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory):
    """Python of an environment that holds the wheel, its extra, and nothing else."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pins = re.sub(r"\s*\\\n\s*--hash=\S+", "", (ROOT / "requirements.txt").read_text())
    (folder / "pins.txt").write_text(pins)
    source = ["--no-index", "--find-links", WHEELHOUSE] if WHEELHOUSE else []
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    pip += [*source, "-c", folder / "pins.txt"]
    run(*pip, wheel)
    bare = "import fsnotes; print(fsnotes.load('sonar').data.shape)"
    assert run(python, "-c", bare, cwd=folder) == "(208, 60)\n"
    run(*pip, f"{wheel}[book]")
    return python


def test_wheel_holds_the_package_its_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"fsnotes"}
    packaged = {p for p in (ROOT / "fsnotes").rglob("*") if p.suffix in (".csv", ".md", ".py")}
    assert {p.relative_to(ROOT).as_posix() for p in packaged} <= set(names)
    assert wheel.stat().st_size < 2e6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_in_a_fresh_folder_with_the_wheel_alone(
    notebook, elsewhere, isolated, tmp_path
):
    copy = tmp_path / notebook.name
    copy.write_bytes(notebook.read_bytes())
    hidden = ("PYTHONPATH", "FSNOTES_STATIC", "FSNOTES_DATA")
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    told = run(*isolated, elsewhere, "-c", RUN, copy, cwd=tmp_path, env=environment)
    cells = [cell.source for cell in nbformat.read(copy, as_version=4).cells]
    explorers = len(re.findall(r"^explore\(", "\n".join(cells), re.M))
    assert told == f"{explorers} live widgets\n"


@pytest.mark.alone
def test_dist_writes_the_wheel_and_a_site_that_opens_anywhere():
    run(sys.executable, "tasks.py", "dist", cwd=ROOT)
    wheels = list((ROOT / "dist").glob("fsnotes-*.whl"))
    archive = ROOT / "dist" / "site.zip"
    assert len(wheels) == 1 and sorted([*wheels, archive]) == sorted((ROOT / "dist").iterdir())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = float(re.search(r"site.zip` \(about ([\d.]+) MB\)", readme)[1])
    assert 0.8 * said < archive.stat().st_size / 1e6 < 1.2 * said
    entries = zipfile.ZipFile(archive).infolist()
    # packed, and with one date, so that the same site gives the same archive
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_DEFLATED}
    names = [entry.filename for entry in entries]
    site = {p.relative_to(SITE).as_posix() for p in SITE.rglob("*") if p.is_file()}
    assert {name.partition("/")[2] for name in names} == site - {".buildinfo"}
    assert {name.partition("/")[0] for name in names} == {"feature-selection-notes"}


def test_every_executed_page_offers_its_notebook():
    sources = [p for p in (ROOT / "book").glob("*.md") if "{code-cell}" in p.read_text()]
    assert {p.stem for p in sources} == {p.stem for p in NOTEBOOKS}
