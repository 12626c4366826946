"""Pages as files: links that lead somewhere, code that is short, checks that can fail."""

import ast
import collections
import contextlib
import copy
import functools
import io
import multiprocessing
import os
import re
import statistics
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from unittest import mock
from urllib.parse import unquote, urldefrag, urlsplit

import jupytext
import jupytext.config
import matplotlib.pyplot
import nbformat
import numpy as np
import pytest
from conftest import ROOT, SHARE, SITE, wanted
from threadpoolctl import threadpool_limits

import fsnotes
from fsnotes.replication import Results

NOTEBOOKS = sorted(
    path.stem
    for path in (ROOT / "book").glob("*.md")
    if "```{code-cell}" in path.read_text(encoding="utf-8")
)
PROMPT = "Show the plotting code"


# ---------------------------------------------------------------- files


class Anchors(HTMLParser):
    """The ids of a page and the addresses that it names."""

    LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            elif key in ("href", "src") and not value.startswith("data:"):
                self.links.append(value)
                if (tag, key) in self.LOADED:
                    self.loaded.append(value)


def faults_of_links(site):
    # themes leave templates among their static files
    files = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages = {path.resolve(): Anchors(path) for path in files}
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        for one in {one for one in page.ids if page.ids.count(one) > 1}:
            yield f"{name}: the id {one} stands more than once"
        for link in page.links:
            if urlsplit(link).scheme or link.startswith("//"):
                if link in page.loaded:
                    yield f"{name}: loads {link}"
                continue
            file, anchor = urldefrag(link)
            target = (path.parent / unquote(urlsplit(file).path)).resolve() if file else path
            if not target.is_file():
                yield f"{name}: {link} leads to no file"
            elif anchor and unquote(anchor) not in pages[target].ids:
                yield f"{name}: {link} leads to no place"
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        for url in re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", text):
            yield f"{path.name}: loads {url}"


def test_links_lead_to_a_place_and_nothing_comes_from_elsewhere():
    faults = list(faults_of_links(SITE))
    assert not faults, "\n".join(faults)


def test_dead_links_are_noticed(tmp_path):
    (tmp_path / "style.css").write_text("@import '//a.b/c'; a { background: url(http://d.e/f) }")
    (tmp_path / "index.html").write_text(
        "<p id=a><p id=a><a href=lost.html></a><a href=#b></a><a href=#a></a>"
        "<a href=https://a.b/></a><img src=http://g.h/>"
    )
    assert sorted(fault.partition(": ")[2] for fault in faults_of_links(tmp_path)) == [
        "#b leads to no place",
        "loads //a.b/c",
        "loads http://d.e/f",
        "loads http://g.h/",
        "lost.html leads to no file",
        "the id a stands more than once",
    ]


def test_pages_weigh_at_most_three_megabytes():
    weights = {path.name: path.stat().st_size for path in SITE.rglob("*.html")}
    assert weights and {name: size for name, size in weights.items() if size > 3e6} == {}


def test_api_page_has_an_entry_for_every_public_name():
    page = Anchors(SITE / "book" / "api.html")
    missing = [name for name in fsnotes.__all__ if f"fsnotes.{name}" not in page.ids]
    assert not missing


# ---------------------------------------------------------------- code in pages


@functools.cache
def code_cells(source):
    notebook = jupytext.read(ROOT / "book" / f"{source}.md", fmt="md:myst")
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_notebook_is_offered_without_outputs(source):
    page = SITE / "book" / f"{source}.html"
    [link] = {link for link in Anchors(page).links if link.endswith(".ipynb")}
    notebook = nbformat.read((page.parent / link).resolve(), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.source for cell in code] == [cell.source for cell in code_cells(source)]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.findall(r"\{(?:cite|doc|eq|numref)[^}]*\}`", words)


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_saving_in_jupyterlab_changes_nothing(source):
    settings = jupytext.config.load_jupytext_configuration_file(str(ROOT / "pyproject.toml"))
    path = ROOT / "book" / f"{source}.md"
    notebook = jupytext.read(path, config=settings)
    assert notebook.metadata.kernelspec.display_name == "Python 3 (ipykernel)"
    # what JupyterLab adds when a kernel has started
    notebook.metadata.language_info = {"name": "python", "pygments_lexer": "ipython3"}
    saved = jupytext.writes(notebook, fmt="md:myst", config=settings)
    assert saved == path.read_text(encoding="utf-8")


def asserts(source):
    return any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))


def faults_of_code(cells):
    for number, cell in enumerate(cells, 1):
        lines, tags = cell.source.splitlines(), set(cell.metadata.get("tags", []))
        is_plot = bool(re.search(r"\bplots\.figure\(|\bplt\.", cell.source))
        is_check = "check" in tags or asserts(cell.source)
        is_folded = "hide-input" in tags
        if max(map(len, lines)) > 72:
            yield f"cell {number} has a line of {max(map(len, lines))} characters"
        if len(lines) > 15:
            yield f"cell {number} has {len(lines)} lines"
        if is_plot and not is_folded:
            yield f"cell {number} plots and is not folded"
        if is_folded and (is_check or not is_plot):
            yield f"cell {number} is folded, but is there to be read"
        if is_folded and cell.metadata.get("mystnb", {}).get("code_prompt_show") != PROMPT:
            yield f'cell {number} is not folded under "{PROMPT}"'
        if removed := [tag for tag in tags if re.match("remove-|hide-(?!input)", tag)]:
            yield f"cell {number} is out of the reader's sight: {removed}"
        if is_check and not cell.metadata.get("mutations"):
            yield f"cell {number} asserts, and no mutation shows that it can fail"
    visible = [cell for cell in cells if "hide-input" not in cell.metadata.get("tags", [])]
    lines = [sum(map(bool, cell.source.splitlines())) for cell in visible]  # blank ones aside
    median = statistics.median(lines)
    if not 3 <= median <= 7:
        yield f"the median of the visible cells is {median} lines, not about five"


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_code_is_short_visible_and_checked(source):
    faults = list(faults_of_code(code_cells(source)))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_each_theorem_is_followed_by_its_check(source):
    text = (ROOT / "book" / f"{source}.md").read_text(encoding="utf-8")
    for theorem in text.split("{prf:theorem}")[1:]:
        assert re.search(r"^:?mutations: ", theorem, re.MULTILINE), theorem[:80]


def test_bad_cells_are_noticed():
    def cell(source, **metadata):
        return nbformat.v4.new_code_cell(source, metadata=metadata)

    cells = [
        cell("x = 1" + " + 1" * 20),
        cell("pass\n" * 16),
        cell("fig, ax = plots.figure()"),
        cell("x = 1", tags=["hide-input"], mystnb={"code_prompt_show": PROMPT}),
        cell("plots.figure()", tags=["hide-input"]),
        cell("x = 1", tags=["remove-cell"]),
        cell("if x:\n    assert True"),
    ]
    faults = list(faults_of_code(cells))
    assert [fault.split()[1] for fault in faults] == [*"1234567", "median"], faults


def mutants(source):
    for number, cell in enumerate(code_cells(source)):
        if cell.metadata.get("mutations"):
            yield pytest.param(source, number, id=f"{source}-cell{number + 1}")


@pytest.fixture(scope="module")
def faults_of_checks(request):
    """By page, a future of the faults of its check cells; as many processes as cores run pages."""
    numbers = collections.defaultdict(list)
    for params in wanted(request.session, "test_check_cell_notices_slips"):
        numbers[params["source"]].append(params["number"])
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(SHARE, len(numbers)), mp_context=fresh) as pool:
        yield {source: pool.submit(run_page, source, numbers[source]) for source in numbers}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("source, number", [m for source in NOTEBOOKS for m in mutants(source)])
def test_check_cell_notices_slips(faults_of_checks, source, number):
    faults = faults_of_checks[source].result()[number]
    assert not faults, "\n".join(faults)


def run_page(source, numbers):
    """Run a page as far as the last of these cells, and each of them with its slips, too.

    In a process of its own. Returns a list of faults for each of the cells.
    """
    matplotlib.use("Agg")
    static = mock.patch.dict(os.environ, FSNOTES_STATIC="1")
    still = mock.patch("fsnotes.notebook.explore.explore", lambda *args, **options: None)
    silent = contextlib.redirect_stdout(io.StringIO())
    # one thread, since matrices here are small and the machine may be busy
    with static, still, silent, warnings.catch_warnings(), threadpool_limits(1, "blas"):
        warnings.simplefilter("ignore")  # a page may show one
        return faults_by_cell(code_cells(source), numbers)


def faults_by_cell(cells, numbers):
    """Faults of the check cells; functions that a cell has made look into the one `space`."""
    space, faults = {"display": lambda *args: None}, {}
    for number, cell in enumerate(cells[: max(numbers) + 1]):
        if number in numbers:
            kept = keep(space)
            faults[number] = list(faults_of_mutations(cell, space, kept))
            space.clear()
            space.update(kept)
        try:
            exec(cell.source, space)
        except Exception:
            fault = f"cell {number + 1} fails as it stands\n{traceback.format_exc()}"
            return faults | {later: [fault] for later in numbers if later >= number}
        matplotlib.pyplot.close("all")
    return faults


def faults_of_mutations(cell, space, kept):
    for mutation in cell.metadata["mutations"]:
        old, arrow, new = mutation.partition(" -> ")
        if not arrow or cell.source.count(old) != 1:
            yield f"{old} has to stand once in the cell"
            continue
        space.clear()
        space.update(keep(kept))
        try:
            exec(cell.source.replace(old, new), space)
        except AssertionError:
            continue
        except Exception:
            yield f"{mutation} ends in another error\n{traceback.format_exc()}"
        else:
            yield f"the check does not notice {mutation}"


def test_slips_that_go_unnoticed_are_reported():
    def cell(source, *mutations):
        return nbformat.v4.new_code_cell(source, metadata={"mutations": list(mutations)})

    cells = [
        cell("x = [1]"),
        cell("x.append(2); assert len(x) == 2 and max(x) > 1", "2 -> 2.5", "> 1 -> > 2"),
        cell("assert len(x) == 2, x", "== 2 -> == 3", "x) -> xx)", "== 2 -> < 9", "2 - 3"),
        cell("assert x == [1, 2]", "1 -> 3"),
        cell("assert x == [1]", "1 -> 3"),
        cell("assert x", "x -> not x"),
    ]
    faults = faults_by_cell(cells, [1, 2, 3, 4, 5])
    told = {number: [line.splitlines()[0] for line in found] for number, found in faults.items()}
    broken = ["cell 5 fails as it stands"]
    assert told == {
        1: ["2 has to stand once in the cell"],
        2: [
            "x) -> xx) ends in another error",
            "the check does not notice == 2 -> < 9",
            "2 - 3 has to stand once in the cell",
        ],
        3: [],
        4: broken,
        5: broken,
    }


def finished(space):
    for value in space.values():
        is_grid = isinstance(value, np.ndarray) and value.dtype == object
        for one in value.flat if is_grid else value if isinstance(value, list) else [value]:
            if isinstance(one, matplotlib.artist.Artist | Results):
                yield one


def keep(space):
    """A copy of what cells have made so far, for a run must not change the next one's data.

    But for figures and stored results, which no cell changes and which take longest to copy.
    """
    copies, memo = {}, {id(one): one for one in finished(space)}
    for name, value in space.items():
        try:
            copies[name] = copy.deepcopy(value, memo)
        except TypeError:  # a module
            copies[name] = value
    return copies
