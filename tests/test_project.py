"""The project's own promises: commands, packaging, versions in one place."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import fsnotes

ROOT = Path(__file__).resolve().parents[1]
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


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) < 60


def test_makefile_forwards_every_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^COMMANDS = (.+)$", makefile, re.M)[1].split())
    help_text = run(sys.executable, "tasks.py", "--help").stdout
    commands = set(re.findall(r"^    (\w+)\b", help_text, re.M))
    assert {"book", "test", "serve", "lab", "bench", "dist", "wheelhouse", "clean"} <= commands
    assert targets == commands - {"wheelhouse"}  # which needs an argument


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
