"""The project's own promises: commands, packaging, versions in one place."""

import contextlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from types import SimpleNamespace

import conftest
import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

import fsnotes

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]

# what the in-browser kernel of the day offers: floors must not exceed it
IN_BROWSER = {
    "numpy": "2.4.6",
    "scipy": "1.18.0",
    "scikit-learn": "1.8.0",
    "matplotlib": "3.10.8",
    "clarabel": "0.11.1",
    "cvxpy-base": "1.8.2",
    "highspy": "1.13.1",
}


def lock_entries():
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return [e for e in text.replace("\\\n", " ").splitlines() if "==" in e]


LOCKED = {
    Requirement(entry.partition(" --hash")[0]).name.lower().replace("_", "-"): Version(
        re.search(r"==([^ ;]+)", entry)[1]
    )
    for entry in lock_entries()
}


def wanted(names):
    for name in names:
        requirement = Requirement(name)
        if requirement.name != "fsnotes":
            yield requirement


def run(*command, **options):
    options.setdefault("cwd", ROOT)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_import_is_light():
    heavy = ["cvxpy", "matplotlib", "ipywidgets", "pandas", "IPython"]
    code = f"import sys, fsnotes; print(*[m for m in {heavy} if m in sys.modules])"
    done = run(sys.executable, "-c", code)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done


def test_lock_holds_what_is_asked_for():
    asked = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    for requirement in map(Requirement, (a for a in asked if a and not a.startswith("#"))):
        assert LOCKED[requirement.name.replace("_", "-")] in requirement.specifier, requirement


def test_lock_has_hashes_and_no_addresses():
    assert len(lock_entries()) > 100
    assert all("--hash=sha256:" in entry for entry in lock_entries())
    assert "://" not in (ROOT / "requirements.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("group", ["dependencies", "build", *EXTRAS])
def test_lock_satisfies_what_the_package_declares(group):
    declared = {
        "dependencies": PYPROJECT["project"]["dependencies"],
        "build": PYPROJECT["build-system"]["requires"],
        **EXTRAS,
    }[group]
    for requirement in wanted(declared):
        name = requirement.name.lower().replace("_", "-")
        assert LOCKED[name] in requirement.specifier, requirement


def test_floors_allow_the_in_browser_kernel():
    everything = [*PYPROJECT["project"]["dependencies"], *EXTRAS["book"]]
    checked = set()
    for requirement in wanted(everything):
        if requirement.name in IN_BROWSER:
            assert IN_BROWSER[requirement.name] in requirement.specifier, requirement
            checked.add(requirement.name)
    assert checked == set(IN_BROWSER)


def test_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == fsnotes.__version__
    assert re.search(r"^## (\S+)", changelog, re.M)[1] == fsnotes.__version__
    assert "version" in PYPROJECT["project"]["dynamic"]


def test_code_is_clean():
    for command in (["check"], ["format", "--check"]):
        done = run(sys.executable, "-m", "ruff", *command, ".")
        assert done.returncode == 0, done.stdout + done.stderr


def test_makefile_forwards_every_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^COMMANDS = (.+)$", makefile, re.M)[1].split())
    help_text = run(sys.executable, "tasks.py", "--help").stdout
    commands = set(re.findall(r"^    ([\w-]+)\b", help_text, re.M))
    assert {"book", "test", "serve", "lab", "bench", "dist", "wheelhouse", "clean"} <= commands
    assert targets == commands - {"wheelhouse", "grade", "new-course"}  # which need an argument


# ---------------------------------------------------------------- clear refusals


def copy_of_the_commands(folder):
    for name in ("tasks.py", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    (folder / "fsnotes").mkdir()
    shutil.copy(ROOT / "fsnotes" / "__init__.py", folder / "fsnotes")
    return folder


def refusal(folder, *arguments, preamble=""):
    """Exit code and the one line that a command leaves behind."""
    code = (
        f"import sys; sys.argv = {['tasks.py', *arguments]!r}; {preamble}import tasks; tasks.main()"
    )
    done = run(sys.executable, "-c", code, cwd=folder)
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_old_python_is_refused_in_one_line(tmp_path):
    copy_of_the_commands(tmp_path)
    line = refusal(tmp_path, "book", preamble="sys.version_info = (3, 10, 1); ")
    assert "3.10 is too old" in line and "3.11" in line


def test_python_without_venv_is_refused_in_one_line(tmp_path):
    copy_of_the_commands(tmp_path)
    line = refusal(tmp_path, "book", preamble="sys.modules['ensurepip'] = None; ")
    assert "apt install python3-venv" in line


def test_empty_wheelhouse_is_refused_in_one_line(tmp_path):
    copy_of_the_commands(tmp_path)
    line = refusal(tmp_path, "book", "--offline", "nowhere")
    assert "nowhere" in line and "wheelhouse" in line


def test_serving_before_building_is_refused_in_one_line(tmp_path):
    copy_of_the_commands(tmp_path)
    assert "tasks.py book" in refusal(tmp_path, "serve")


def test_unknown_words_are_refused_in_one_line(tmp_path):
    copy_of_the_commands(tmp_path)
    assert "--fast" in refusal(tmp_path, "book", "--fast")


def test_no_network_is_said_with_the_remedy(tmp_path):
    copy_of_the_commands(tmp_path)
    # a port where nobody listens stands for the missing network
    env = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
    env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
    env.pop("PIP_FIND_LINKS", None)
    done = run(sys.executable, "tasks.py", "book", cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "book --offline DIR" in done.stderr
    # the next attempt starts again instead of trusting half an environment
    assert not (tmp_path / ".venv" / "installed.txt").exists()


# ---------------------------------------------------------------- an environment of its own


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The commands in a folder of their own, with pip and venv replaced by a note of the call."""
    copy_of_the_commands(tmp_path)
    specification = importlib.util.spec_from_file_location("toy_tasks", tmp_path / "tasks.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.calls = []
    monkeypatch.setattr(module, "install_packages", lambda offline: module.calls.append("all"))
    monkeypatch.setattr(module, "pip_install", lambda *args: module.calls.append("package"))
    module.VENV.mkdir()
    return module


def calls_of_install(module):
    module.calls.clear()
    module.install()
    return module.calls


def test_packages_are_installed_once_and_again_when_something_changed(toy, monkeypatch):
    assert calls_of_install(toy) == ["all", "package"]
    assert calls_of_install(toy) == []
    (toy.ROOT / "pyproject.toml").write_text("[project]")
    assert calls_of_install(toy) == ["package"]
    toy.LOCK.write_text("numpy==1")
    assert calls_of_install(toy) == ["all", "package"]
    monkeypatch.setattr(sys, "version", "3.99")
    assert calls_of_install(toy) == ["all", "package"]
    toy.STAMP.write_bytes(b"\xff\xfe")
    assert calls_of_install(toy) == ["all", "package"]


def test_a_moved_project_is_installed_again(toy, monkeypatch):
    calls_of_install(toy)
    monkeypatch.setattr(toy, "ROOT", toy.ROOT / "." / ".." / toy.ROOT.name)
    assert calls_of_install(toy) == ["all", "package"]


def test_commands_see_nothing_of_the_user_s_set_up(toy, monkeypatch):
    for name in ("PYTHONPATH", "PYTHONOPTIMIZE", "MPLBACKEND", "JUPYTER_PATH", "IPYTHONDIR"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("PIP_CERT", "kept")
    environment = toy.clean_environment()
    assert "theirs" not in environment.values()
    assert environment["PYTHONNOUSERSITE"] == "1" and environment["PIP_CERT"] == "kept"


def test_two_commands_wait_for_each_other(tmp_path):
    copy_of_the_commands(tmp_path)
    code = "import tasks, time; "
    code += (
        "exec('with tasks.alone():\\n print(1, flush=True); time.sleep(.4); print(2, flush=True)')"
    )
    command = [sys.executable, "-c", code]
    with open(tmp_path / "log", "a") as log:
        pair = [subprocess.Popen(command, cwd=tmp_path, stdout=log) for _ in range(2)]
        assert [process.wait(timeout=60) for process in pair] == [0, 0]
    assert (tmp_path / "log").read_text().split() == ["1", "2", "1", "2"]


def calls_of_testing(module, monkeypatch, *arguments, codes=(0, 0)):
    """What `tasks.py test` runs if that ends with these codes, and its own code."""
    calls, codes = [], iter(codes)

    def exit_code(*command):
        calls.append(command)
        return next(codes)

    monkeypatch.setattr(module, "book", lambda arguments: calls.append("book"))
    monkeypatch.setattr(module, "exit_code", exit_code)
    monkeypatch.setattr(sys, "argv", ["tasks.py", "test", *arguments])
    try:
        module.main()
    except SystemExit as left:
        return calls, left.code
    return calls, 0


@pytest.mark.parametrize("words", [["tests/core", "--pdb"], ["-k", "one"], ["-x"]])
def test_some_tests_are_run_by_pytest_and_nothing_is_built(toy, monkeypatch, words):
    called = calls_of_testing(toy, monkeypatch, *words)
    assert called == ([("-m", "pytest", *words)], 0)


def test_quick_tests_are_those_of_what_all_share(toy, monkeypatch):
    [command], code = calls_of_testing(toy, monkeypatch, "quick", "-x")
    assert code == 0 and command[-1] == "-x"
    paths = [word for word in command if word.startswith("tests/")]
    assert paths == ["tests/core", "tests/solvers", "tests/test_contract.py"]
    assert all((ROOT / path).exists() for path in paths)


def test_tests_without_a_network_know_where_the_wheels_are(toy, monkeypatch, tmp_path):
    monkeypatch.setenv("FSNOTES_WHEELHOUSE", "unset by the end of this test")
    calls_of_testing(toy, monkeypatch, "--offline", str(tmp_path), "-x")
    assert os.environ["FSNOTES_WHEELHOUSE"] == str(tmp_path)


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 0), 0), ((1, 0), 1), ((0, 1), 1), ((1, 5), 1), ((2,), 2), ((-9,), -9)]
)
def test_all_tests_share_the_cores_but_those_alone(toy, monkeypatch, codes, code):
    shared = ("-m", "pytest", "-n", "auto", "-m", "not alone", "--durations=10")
    alone = ("-m", "pytest", "-m", "alone")
    called = calls_of_testing(toy, monkeypatch, codes=codes)
    # failures do not keep the second part from running, an interruption does
    assert called == (["book", shared, alone][: 1 + len(codes)], code)


@pytest.mark.parametrize(("cores", "processes"), [(1, 0), (2, 2), (64, 4)])
def test_one_core_is_not_shared_and_of_many_some_are_left(monkeypatch, cores, processes):
    monkeypatch.setattr(conftest, "CORES", cores)
    assert conftest.pytest_xdist_auto_num_workers() == processes


def test_long_files_are_begun_first():
    items = [SimpleNamespace(path=path) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    conftest.pytest_collection_modifyitems(items)
    assert {item.path.name for item in items[: len(conftest.LONGEST)]} == conftest.LONGEST


def test_clean_removes_what_was_built_and_nothing_else(toy):
    built = ["_build/html/index.html", "dist/a.whl", ".pytest_cache/a", ".hypothesis/a"]
    built += ["__pycache__/a.pyc", "fsnotes/__pycache__/a.pyc", "book/_ext/__pycache__/a.pyc"]
    for name in built + [".venv/pyvenv.cfg"]:
        (toy.ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (toy.ROOT / name).touch()
    kept = {"fsnotes/__init__.py", "pyproject.toml", "requirements.txt", "tasks.py"}
    toy.clean(toy.parser().parse_args(["clean"]))
    left = {p.relative_to(toy.ROOT).as_posix() for p in toy.ROOT.rglob("*") if p.is_file()}
    assert left == kept | {".venv/pyvenv.cfg"}
    toy.clean(toy.parser().parse_args(["clean", "--all"]))
    assert not toy.VENV.exists()


def test_interruption_and_full_disks_are_said_in_one_line(toy, monkeypatch, capsys):
    for error, words in [
        (KeyboardInterrupt(), "interrupted"),
        (OSError(28, "No space left on device"), "No space left"),
    ]:

        def break_off(arguments, error=error):
            raise error

        break_off.__name__ = "clean"
        monkeypatch.setattr(toy, "clean", break_off)
        monkeypatch.setattr(sys, "argv", ["tasks.py", "clean"])
        with pytest.raises(SystemExit) as left:
            toy.main()
        assert words in str(left.value) and "\n" not in str(left.value)


# ---------------------------------------------------------------- lock and wheelhouse


@pytest.mark.parametrize(
    ("platform", "has", "lacks"),
    [
        ("windows", {"colorama", "pywinpty"}, {"appnope", "pexpect"}),
        ("linux", {"pexpect"}, {"appnope", "colorama", "pywinpty"}),
        ("macos", {"appnope", "pexpect"}, {"colorama", "pywinpty"}),
    ],
)
def test_wheelhouse_lists_what_a_platform_needs(platform, has, lacks, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    import tasks

    entries = tasks.locked_for(platform, "3.12")
    names = {entry.partition("==")[0] for entry in entries}
    assert has <= names and not lacks & names
    assert all(";" not in entry and " --hash=sha256:" in entry for entry in entries)


# ---------------------------------------------------------------- commands that stay running


@contextlib.contextmanager
def running(*command):
    """A command that stays running; yields the first address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "tasks.py", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=os.name != "nt",
    )
    try:
        seen = []
        for line in process.stdout:
            seen.append(line)
            if found := re.search(r"http://(?:127\.0\.0\.1|localhost):\d+", line):
                break
        else:
            pytest.fail("".join(seen))
        yield found[0]
    finally:
        # Jupyter is a child of the command
        os.killpg(process.pid, signal.SIGTERM) if os.name != "nt" else process.terminate()
        process.wait(timeout=30)
        process.stdout.close()


def fetch(address, patience=20):
    # Jupyter prints its address a moment before it listens
    deadline = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_serve_shows_the_site():
    with running("serve", "--port", "0") as address:
        assert "Feature Selection Notes" in fetch(f"{address}/book/index.html")


def test_a_busy_port_is_refused_in_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run(sys.executable, "tasks.py", "serve", "--port", str(port))
    assert done.returncode == 1 and "--port" in done.stderr and done.stderr.count("\n") == 1


def test_lab_opens_pages_as_notebooks():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=t", "--allow-root"]
    with running("lab", *options) as address:
        page = "book/how-to-read.md"
        notebook = json.loads(fetch(f"{address}/api/contents/{page}?type=notebook&token=t"))
        for source in sorted((ROOT / "book").glob("*.md")):
            fetch(f"{address}/api/contents/book/{source.name}?type=notebook&token=t")
        kinds = {cell["cell_type"] for cell in notebook["content"]["cells"]}
        assert kinds == {"code", "markdown"}
        plugin = "@jupyterlab/docmanager-extension:plugin"
        settings = json.loads(fetch(f"{address}/lab/api/settings/{plugin}?token=t"))
        viewers = settings["schema"]["properties"]["defaultViewers"]["default"]
        assert viewers["markdown"] == "Jupytext Notebook"


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("true", "1 error")])
def test_browser_tests_may_be_skipped_only_outside_ci(tmp_path, ci, outcome):
    environment = {**os.environ, "CI": ci, "PATH": str(tmp_path)}
    only = "tests/site/test_book.py::test_search_dialog_opens_by_key"
    done = run(sys.executable, "-m", "pytest", "-q", only, env=environment)
    assert outcome in done.stdout and "no Chromium, Chrome or Edge found" in done.stdout


# ---------------------------------------------------------------- benchmarks


def test_a_benchmark_below_its_floor_fails(capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.harness import Comparison, report

    def cost(function):
        return function()

    def comparison(floor):
        return Comparison("ours", "theirs", lambda: 2.0, lambda: 6.0, floor, 3, cost)

    assert report([comparison(2.9)], quick=False) == []
    assert report([comparison(3.1)], quick=False) == ["ours"]
    assert "BELOW" in capsys.readouterr().out
    assert report([comparison(5.9)], quick=True) == []
    assert report([comparison(6.1)], quick=True) == ["ours"]


@pytest.mark.alone
def test_benchmarks_stay_above_half_their_floors():
    done = run(sys.executable, "tasks.py", "bench", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "import fsnotes" in done.stdout and "explorer frame" in done.stdout


# ---------------------------------------------------------------- what the README promises


def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_lines_run_on_a_table_of_ones_own(tmp_path):
    code, exact = re.findall(r"```python\n(.*?)```", readme(), re.S)
    data = fsnotes.load("sonar", as_frame=True)
    table = data.data.assign(label=data.target_names[data.target])
    table["a perfect column"] = data.target
    table["constant"], table["name"] = 1.0, "row " + table.index.astype(str)
    table.to_csv(tmp_path / "mine.csv", index=False)
    check = """
machine = search.best_estimator_[-1]
assert list(machine.get_feature_names_out()) == ["a perfect column"]
"""
    done = run(sys.executable, "-c", code + check + exact, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 feature, and no fewer keep the bound\na perfect column\n" in done.stdout
    assert "left out: 100.0%" in done.stdout
    table.drop(columns="a perfect column").to_csv(tmp_path / "mine.csv", index=False)
    done = run(sys.executable, "-c", code + exact, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d+ features; time ran out, and \d+ may be enough\nband_", done.stdout)
    score = float(re.search(r"left out: ([\d.]+)%", done.stdout).group(1))
    assert 60 < score < 90 and "band_" in done.stdout
    lines = [line for line in code.splitlines() if line and "import" not in line]
    assert len(lines) <= 10


def test_readme_names_what_exists():
    commands = set(re.findall(r"tasks\.py (\w+)", readme()))
    help_text = run(sys.executable, "tasks.py", "--help").stdout
    assert commands <= set(re.findall(r"^    (\w+)\b", help_text, re.M))
    for path in re.findall(r"`((?:tests|fsnotes|book|\.github|\.ci)/[\w./]*)`", readme()):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\(([\w./]+)\)", readme()):
        assert (ROOT / path).exists(), path
