"""The book's Sphinx extension: pages true to the code, and no script that asks a server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import fsnbook  # noqa: E402
from page_keys import PageKeys, code_cells  # noqa: E402

MODULE = '''"""Said by the module."""


def answer():
    """Return the answer."""
    from fsnotes.rooms.helper import doubled

    return doubled(20) + 1  # so far
'''
# what the toy package holds: `module` is imported by the page, `helper` by the module when it is
# called, `named` by a string, and `other` by nobody
FILES = {
    "__init__.py": '_HOMES = {"module": ["answer"], "named": ["Solver"], "other": ["Idle"]}\n',
    "module.py": MODULE,
    "rooms/__init__.py": "",
    "rooms/helper.py": "def doubled(x):\n    return 2 * x\n",
    "named.py": "class Solver:\n    pass\n",
    "other.py": "class Idle:\n    pass\n",
    "data.csv": "a,b\n1,2\n",
    "asides/__init__.py": "",
    "asides/idle.csv": "1\n",
    "replication/__init__.py": "",
    "replication/chapters/__init__.py": "",
    "replication/chapters/dc.py": 'METHOD = "fsnotes.Solver"\n',
    "replication/chapters/em.py": "METHOD = None\n",
    "replication/results/dc.jsonl": "{}\n",
    "replication/results/em.jsonl": "{}\n",
}
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
    for name, text in FILES.items():
        (tmp_path / "fsnotes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fsnotes" / name).write_text(text)
    return tmp_path


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


# ------------------------------------------------------- the key of a page


def key(project, code=None):
    page = PAGE if code is None else f"```{{code-cell}} python\n{code}\n```\n"
    return PageKeys(project).key(page)


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
    before = key(project)
    edit(project / "fsnotes" / "module.py", old, new)
    assert key(project) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("fsnotes/module.py", "20", "21"),
        ("fsnotes/module.py", "def answer():", "def answer(x=1):"),
        ("fsnotes/rooms/helper.py", "2 * x", "3 * x"),
        ("fsnotes/rooms/__init__.py", "", "x = 1"),
        ("fsnotes/__init__.py", "other", "module"),
        ("fsnotes/data.csv", "1,2", "1,3"),
        ("requirements.txt", "\nnumpy==", "\nnumpy==0"),
    ],
    ids=["value", "signature", "imported when called", "room", "package", "data", "lock"],
)
def test_what_a_page_may_print_changes_the_key(project, file, old, new):
    before = key(project)
    path = project / file
    edit(path, old, new) if old else path.write_text(new)
    assert key(project) != before


@pytest.mark.parametrize(
    "file", ["other.py", "named.py", "asides/idle.csv", "replication/results/dc.jsonl"]
)
def test_what_a_page_does_not_import_leaves_the_key(project, file):
    before = key(project)
    (project / "fsnotes" / file).write_text("changed = 1\n")
    (project / "fsnotes" / "new.py").write_text("")
    assert key(project) == before


@pytest.mark.parametrize(
    "code",
    [
        "from fsnotes.named import Solver",
        "from fsnotes import Solver",
        "from fsnotes import *",
        "import fsnotes.named as n",
        "import fsnotes\n%matplotlib inline\nfsnotes.Solver()",
        "import importlib\nimportlib.import_module('fsnotes.named')",
        "---\ntags: [hide-input]\n---\nfrom fsnotes import answer, Solver",
        ":tags: [hide-input]\n\nfrom fsnotes import Solver",
        "import fsnotes.replication as r\nr.table('dc/table3')",
        "import fsnotes.replication as r\nr.everything()",
    ],
)
def test_a_module_is_found_however_it_is_named(project, code):
    before = key(project, code), key(project, "import fsnotes.replication as r\nr.table('em')")
    (project / "fsnotes" / "named.py").write_text("changed = 1\n")
    after = key(project, code), key(project, "import fsnotes.replication as r\nr.table('em')")
    assert before[0] != after[0] and before[1] == after[1]


@pytest.mark.parametrize(("target", "differs"), [("dc", True), ("dc/table3", True), ("em", False)])
def test_stored_results_belong_to_their_chapter(project, target, differs):
    code = f"from fsnotes.replication import table\ntable({target!r})"
    before = key(project, code)
    (project / "fsnotes" / "replication" / "results" / "dc.jsonl").write_text("changed\n")
    assert (key(project, code) != before) == differs


def test_a_relative_import_is_refused(project):
    (project / "fsnotes" / "module.py").write_text("from .rooms import helper\n")
    with pytest.raises(ValueError, match="fsnotes.module has a relative import"):
        key(project)


def test_every_import_of_a_page_is_known():
    """What a page has imported when it has run is what its key covers, or more."""
    keys = PageKeys(ROOT)
    text = (ROOT / "book" / "mm.md").read_text(encoding="utf-8")
    imports = [line for cell in code_cells(text) for line in cell.splitlines()]
    code = "\n".join(
        line for line in imports if line.startswith(("from fsnotes", "import fsnotes"))
    )
    code += "\nimport sys; print(*[m for m in sys.modules if m.startswith('fsnotes')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert set(done.stdout.split()) <= keys.modules_of(text)


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

    edit(project / "fsnotes" / "other.py", "pass", "value = 1")
    html, runs, read = build(project)
    assert runs == 1 and read == []

    # a module behind the one that the page imports; and back again, which executes nothing
    edit(project / "fsnotes" / "rooms" / "helper.py", "2 * x", "2 * x + 1")
    html, runs, read = build(project)
    assert "the answer is 42" in html and runs == 2 and read == ["book/page"]
    edit(project / "fsnotes" / "rooms" / "helper.py", "2 * x + 1", "2 * x")
    html, runs, read = build(project)
    assert "the answer is 41" in html and runs == 2 and read == ["book/page"]
    notebook = (project / "_build" / "html" / "_sources" / "book" / "page.ipynb").read_text()
    assert '"display_name": "Python 3"' in notebook

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
    """Neither one made while pages are executed, nor one made while they are read."""
    page = project / "book" / "page.md"
    hasty = "run = len(open('runs.txt').read())\n"
    hasty += "cell = f'\\n```{{code-cell}} python\\nprint(\"written in run\", {run})\\n```\\n'\n"
    hasty += "if run < 3:\n    open('page.md', 'a').write(cell)\n"
    edit(page, "print(", hasty + "print(")
    html, runs, _ = build(project)
    assert runs == 2 and "written in run 1" in html and "written in run 2" not in html
    html, runs, read = build(project)
    assert runs == 3 and "written in run 2" in html and read == ["book/page"]


def test_rules_of_claims_are_printed_on_pages(project):
    code = "import fsnotes.replication as r\nr.claims('em')"
    before = key(project, code)
    declaration = project / "fsnotes" / "replication" / "chapters" / "em.py"
    declaration.write_text('"""The rule in other words."""\n' + declaration.read_text())
    assert key(project, code) != before


def test_claims_lead_to_the_passages_that_bear_their_topics():
    labels = {"claims-em-times": ("book/em", "claims-em-times")}
    app = SimpleNamespace(
        env=SimpleNamespace(get_domain=lambda name: SimpleNamespace(anonlabels=labels)),
        builder=SimpleNamespace(get_relative_uri=lambda page, target: f"{target[5:]}.html"),
    )
    context = {"body": '<a data-topic="em-times">3.2</a> <a data-topic="em-lost">4</a>'}
    fsnbook.link_topics(app, "book/verdicts", "page.html", context, None)
    assert context["body"] == '<a href="em.html#claims-em-times">3.2</a> <a>4</a>'


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
