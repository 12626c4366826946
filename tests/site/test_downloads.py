"""What people take away: the wheel, the zipped site, and each page's notebook run elsewhere.

Check cells are run with their slips beside it, in the same kernel. Where these alone are asked
for, the page is run here, from its source.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, SHARE, SITE, wanted
from page_sources import NOTEBOOKS, code_cells, notebook_of

WHEELHOUSE = os.environ.get("FSNOTES_WHEELHOUSE")

# runs a command where there is a loopback, through which a kernel is reached, and no network
ISOLATED = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "isolated"]

SLIPS = Path(__file__).with_name("slips.py")
RUN_ELSEWHERE = "test_notebook_runs_in_a_fresh_folder_with_the_wheel_alone"


def run(*command, timeout=600, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout, **options
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
    pip = [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
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


@pytest.fixture(scope="module")
def executed(request, tmp_path_factory):
    """By page, a future of what `slips.py` prints; as many pages at a time as cores."""
    numbers = collections.defaultdict(list)
    for params in wanted(request.session, "test_check_cell_notices_slips"):
        numbers[params["source"]].append(params["number"])
    run_elsewhere = [params["source"] for params in wanted(request.session, RUN_ELSEWHERE)]
    there = []
    if run_elsewhere:
        there = [*request.getfixturevalue("isolated"), request.getfixturevalue("elsewhere")]

    def execute(source, folder):
        slips = {n: code_cells(source)[n].metadata["mutations"] for n in numbers[source]}
        if source in run_elsewhere:
            return run_page(there, downloaded(source), slips, folder)
        return run_page([sys.executable], notebook_of(source), slips, folder)

    with ThreadPoolExecutor(SHARE) as pool:
        yield {
            source: pool.submit(execute, source, tmp_path_factory.mktemp(source))
            for source in sorted({*numbers, *run_elsewhere})
        }
        pool.shutdown(cancel_futures=True)


def downloaded(source):
    """The notebook that the page offers."""
    notebook = nbformat.read(SITE / "_sources" / "book" / f"{source}.ipynb", as_version=4)
    offered = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    is_of_source = offered == [cell.source for cell in code_cells(source)]
    assert is_of_source, f"the site is older than {source}.md: run  python3 tasks.py book"
    return notebook


def run_page(python, notebook, slips, folder):
    nbformat.write(notebook, folder / "page.ipynb")
    (folder / "slips.json").write_text(json.dumps(slips))
    hidden = ("PYTHONPATH", "FSNOTES_STATIC", "FSNOTES_DATA")
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    # one thread, since matrices here are small and the machine may be busy
    environment["OPENBLAS_NUM_THREADS"] = "1"
    return json.loads(
        run(*python, SLIPS, "page.ipynb", "slips.json", timeout=1800, cwd=folder, env=environment)
    )


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_notebook_runs_in_a_fresh_folder_with_the_wheel_alone(executed, source):
    answer = executed[source].result()
    assert Path(answer["prefix"]).resolve() != Path(sys.prefix).resolve()
    explorers = re.findall(r"^explore\(", "\n".join(c.source for c in code_cells(source)), re.M)
    assert answer["widgets"] == len(explorers)


@pytest.mark.parametrize(
    "source, number",
    [
        pytest.param(source, number, id=f"{source}-cell{number + 1}")
        for source in NOTEBOOKS
        for number, cell in enumerate(code_cells(source))
        if cell.metadata.get("mutations")
    ],
)
def test_check_cell_notices_slips(executed, source, number):
    faults = executed[source].result()["faults"][str(number)]
    assert not faults, "\n".join(faults)


def test_slips_that_go_unnoticed_are_reported(tmp_path):
    cells = {
        "x = [1]": [],
        "x.append(2); assert len(x) == 2 and max(x) > 1": ["2 -> 2.5", "> 1 -> > 2"],
        "assert len(x) == 2, x": ["== 2 -> == 3", "x) -> xx)", "== 2 -> < 9", "2 - 3"],
        "assert x == [1, 2]": ["1 -> 3"],
        "def last(): return x[-1]": [],
        "x.append(3); assert last() == 3": ["append(3) -> append(4)", "x.append(3) -> x = [3]"],
        "assert x == [1, 2, 3] and 'display' not in globals()": ["3 -> 4"],
    }
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    slips = {number: found for number, found in enumerate(cells.values()) if found}
    faults = run_page([sys.executable], notebook, slips, tmp_path)["faults"]
    assert {n: [line.splitlines()[0] for line in found] for n, found in faults.items()} == {
        "1": ["2 has to stand once in the cell"],
        "2": [
            "x) -> xx) ends in another error",
            "the check does not notice == 2 -> < 9",
            "2 - 3 has to stand once in the cell",
        ],
        "3": [],
        "5": ["the check does not notice x.append(3) -> x = [3]"],
        "6": [],
    }


def test_page_that_fails_as_it_stands_has_no_answer(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 == 2")])
    with pytest.raises(AssertionError, match="assert 1 == 2"):
        run_page([sys.executable], notebook, {}, tmp_path)


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
    offered = (SITE / "_sources").rglob("*.ipynb")
    assert {p.stem for p in sources} == {p.stem for p in offered} == set(NOTEBOOKS)
