"""The book's Sphinx extension: pages true to the code, and no script that asks a server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import fsnbook  # noqa: E402

MODULE = '''"""Said by the module."""


def answer():
    """Return the answer."""
    return 41  # so far
'''
PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A page

## Its section

```{code-cell} python
from fsnotes.module import answer

with open("runs.txt", "a") as file:
    file.write("x")
print("the answer is", answer())
```
"""


@pytest.fixture
def project(tmp_path):
    for name in ("_config.yml", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for folder in ("_ext", "_static"):
        shutil.copytree(ROOT / "book" / folder, tmp_path / "book" / folder)
    shutil.copy(ROOT / "book" / "references.bib", tmp_path / "book")
    toc = "format: jb-book\nroot: book/index\nchapters: [{file: book/page}]\n"
    (tmp_path / "_toc.yml").write_text(toc)
    (tmp_path / "book" / "index.md").write_text("# The start\n\n## A section\n\nText.\n")
    (tmp_path / "book" / "page.md").write_text(PAGE)
    (tmp_path / "fsnotes").mkdir()
    (tmp_path / "fsnotes" / "__init__.py").write_text("")
    (tmp_path / "fsnotes" / "module.py").write_text(MODULE)
    (tmp_path / "fsnotes" / "data.csv").write_text("a,b\n1,2\n")
    return tmp_path


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


# ------------------------------------------------------- the key of the execution cache


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# so far", "# not yet 42"),
        ("Return the answer.", "Return the answer to the question."),
        ("Said by the module.", "Said again."),
        ("\n\n\ndef", "\n\ndef"),
    ],
    ids=["comment", "docstring", "module docstring", "layout"],
)
def test_words_about_the_code_leave_the_key(project, old, new):
    before = fsnbook.package_key(project)
    edit(project / "fsnotes" / "module.py", old, new)
    assert fsnbook.package_key(project) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("fsnotes/module.py", "41", "42"),
        ("fsnotes/module.py", "def answer():", "def answer(x=1):"),
        ("fsnotes/data.csv", "1,2", "1,3"),
        ("requirements.txt", "\nnumpy==", "\nnumpy==0"),
    ],
    ids=["value", "signature", "data", "lock"],
)
def test_what_a_page_may_print_changes_the_key(project, file, old, new):
    before = fsnbook.package_key(project)
    edit(project / file, old, new)
    assert fsnbook.package_key(project) != before


def test_a_new_or_renamed_module_changes_the_key(project):
    before = fsnbook.package_key(project)
    (project / "fsnotes" / "other.py").write_text("")
    added = fsnbook.package_key(project)
    (project / "fsnotes" / "other.py").rename(project / "fsnotes" / "another.py")
    assert len({before, added, fsnbook.package_key(project)}) == 3


# ------------------------------------------------------- whole builds


def build(project):
    code = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", code, "build", ".", "-W", "-n", "--keep-going"]
    environment = {**os.environ, "PYTHONPATH": str(project)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    html = (project / "_build" / "html" / "book" / "page.html").read_text()
    runs = len((project / "book" / "runs.txt").read_text())
    return html, runs, re.findall(r"^  (book/\S+)$", done.stdout, re.M)


def test_pages_follow_the_code_and_only_the_code(project):
    html, runs, read = build(project)
    assert "the answer is 41" in html and runs == 1
    assert read == ["book/index", "book/page"]

    html, runs, read = build(project)
    assert "the answer is 41" in html and runs == 1 and read == []

    edit(project / "fsnotes" / "module.py", "Return the answer.", "Return what is asked.")
    html, runs, _ = build(project)
    assert "the answer is 41" in html and runs == 1

    edit(project / "fsnotes" / "module.py", "return 41", "return 42")
    html, runs, _ = build(project)
    assert "the answer is 42" in html and runs == 2
    assert len(list((project / "_build" / "executed").iterdir())) == 1

    site = project / "_build" / "html"
    (project / "book" / "_static" / "fsn.css").write_text("body { color: #123456 }")
    html, runs, _ = build(project)
    assert "#123456" in (site / "_static" / "fsn.css").read_text() and runs == 2

    # a page dropped from the contents is deleted
    (project / "book" / "more.md").write_text("# More\n\n## Section\n\nText.\n")
    edit(project / "_toc.yml", "{file: book/page}", "{file: book/page}, {file: book/more}")
    build(project)
    assert (site / "book" / "more.html").exists()

    edit(project / "_toc.yml", ", {file: book/more}", "")
    build(project)
    assert not list(site.rglob("more.*"))


def test_an_edit_during_the_build_is_not_lost(project):
    page = project / "book" / "page.md"
    hasty = "if len(open('runs.txt').read()) == 1:\n"
    hasty += "    open('page.md', 'a').write('\\nWritten meanwhile.\\n')\n"
    edit(page, "print(", hasty + "print(")
    html, _, _ = build(project)
    assert "<p>Written meanwhile.</p>" not in html
    html, _, read = build(project)
    assert "<p>Written meanwhile.</p>" in html and read == ["book/page"]


def test_scripts_are_loaded_once_and_none_asks_a_server(project):
    html, _, _ = build(project)
    assert html.count("togglebutton.js") == html.count("let toggleHintShow") == 1
    assert "thebe" not in html.lower()
    mathjax = project / "_build" / "html" / "_static" / "mathjax"
    size = sum(file.stat().st_size for file in mathjax.rglob("*") if file.is_file())
    assert size < 2e6


def commanded(project, call):
    """Let a copy of the commands work in a project, with the environment of the tests."""
    for name in ("tasks.py", "pyproject.toml"):
        shutil.copy(ROOT / name, project)
    code = "import sys, tasks; tasks.install = lambda offline=None: None; "
    code += "tasks.python = lambda: sys.executable; "
    code += f"parsed = tasks.parser().parse_args(['book']); {call}"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=120
    )


def write_cell(project, code):
    header, _, _ = PAGE.partition("```{code-cell}")
    cell = f"```{{code-cell}} python\n{code}\n```\n"
    (project / "book" / "page.md").write_text(header + cell)


def test_a_failing_cell_is_named_with_its_reason(project):
    write_cell(project, "assert 1 > 2, 'not the answer'")
    done = commanded(project, "tasks.book(parsed)")
    assert done.returncode == 1
    assert "page: AssertionError: not the answer" in done.stderr


def test_nothing_of_the_user_s_set_up_reaches_a_page(project, monkeypatch):
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    monkeypatch.setenv("PYTHONPATH", str(project / "nowhere"))
    monkeypatch.setenv("MPLBACKEND", "nonsense")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(project))
    write_cell(project, "import matplotlib.pyplot\nassert 1 > 2")
    done = commanded(project, "tasks.book(parsed)")
    assert "page: AssertionError" in done.stderr


def test_a_warning_fails_the_next_build_too(project):
    page = "# Page\n\n## Part\n\n{ref}`nowhere` {py:func}`no.such`\n"
    (project / "book" / "page.md").write_text(page)
    for _ in range(2):
        done = commanded(project, "tasks.book(parsed)")
        assert done.returncode == 1
        assert "undefined label: 'nowhere'" in done.stderr
        assert "reference target not found: no.such" in done.stderr
        assert "not built cleanly" in done.stderr
