"""Pages as files: links that lead somewhere, code that is short, checks that have slips."""

import ast
import re
import statistics
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit

import jupytext
import jupytext.config
import nbformat
import pytest
from conftest import ROOT, SITE
from page_sources import NOTEBOOKS, code_cells

import fsnotes

PROMPT = "Show the plotting code"
FEW_CELLS = 5  # fewer have no length in common


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
    if len(lines) >= FEW_CELLS and not 3 <= median <= 7:
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
