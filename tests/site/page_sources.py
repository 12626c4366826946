"""The pages that run code, read from their sources."""

import functools

import jupytext
from conftest import ROOT

NOTEBOOKS = sorted(
    path.stem
    for path in (ROOT / "book").glob("*.md")
    if "```{code-cell}" in path.read_text(encoding="utf-8")
)


@functools.cache
def notebook_of(source):
    return jupytext.read(ROOT / "book" / f"{source}.md", fmt="md:myst")


def code_cells(source):
    return [cell for cell in notebook_of(source).cells if cell.cell_type == "code"]
