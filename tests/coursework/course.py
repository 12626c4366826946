"""The assignment in fixture.md, notebooks that answer it, and a private course that has it."""

import sys
import zipfile
from pathlib import Path

import jupytext
import nbformat
import pytest
from conftest import ROOT

pytest.importorskip("nbgrader", reason="the extra [coursework] is not installed")
sys.path.insert(0, str(ROOT / "book" / "assignments"))

from grading import collect, sources, tables
from grading.__main__ import main
from grading.grade import grade

LEVEL = collect.best_level()
TEXT = (ROOT / "tests" / "coursework" / "fixture.md").read_text().replace("CANARY", sources.CANARY)
RIGHT = {
    "double": "def double(x):\n    return 2 * x",
    "negative": "def negative(x):\n    return -x",
}
WORDS = """**Why (4 marks).** Say why.

- (3) A reason.
- (1) A number,
  with its unit.

"""


def assignment(text=TEXT):
    return sources.assignment("fixture", jupytext.reads(text, fmt="md:myst"))


def notebook(cells, words="A reason."):
    """The text of a notebook with code cells, by their grade id, and an answer in words."""
    found = nbformat.v4.new_notebook(metadata={"coursework": {"assignment": "fixture"}})
    for grade_id, source in cells:
        cell = nbformat.v4.new_code_cell(source, metadata={"nbgrader": {"grade_id": grade_id}})
        found.cells.append(cell)
    metadata = {"nbgrader": {"grade_id": "words"}}
    found.cells.append(nbformat.v4.new_markdown_cell(WORDS + words, metadata=metadata))
    return nbformat.writes(found)


def answers(before="", words="A reason.", **replaced):
    """The same with right answers, some of them replaced, and code that runs before them."""
    return notebook([("", "import numpy as np\n" + before), *(RIGHT | replaced).items()], words)


def put(folder, files):
    """Files with such contents, or links to such paths."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            file.symlink_to(content)
        else:
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def zipped(file, files):
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


def rows_of(file):
    """Rows of a table as they are written, by head."""
    table = tables.read_table(file)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


class Course:
    """A private course with the fixture, what is handed in, and what comes of it."""

    def __init__(self, base):
        self.base, self.folder, self.out = base, base / "course", base / "out"
        self.names = ["fixture"]  # of its assignments
        put(self.folder, {"assignments/fixture.md": TEXT, "GRADING_SEED": "5\n"})
        put(base, {"fsnotes-1-any.whl": b""})

    def hand_in(self, files, place="in"):
        """By the name of a file, or of a student."""
        names = [name if "." in Path(name).suffix else f"{name}/fixture.ipynb" for name in files]
        return put(self.base / place, dict(zip(names, files.values(), strict=True)))

    def grade(self, files=(), place="in", level=LEVEL, **options):
        """Hand in more, and return rows of grades.csv by student."""
        folder = self.hand_in(dict(files), place)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("grading.grade.names", lambda overlay=None: self.names)
            rows = grade(folder, 5, self.out, self.folder, isolation=level, jobs=2, **options)
        return {row["student"]: row for row in rows}

    def run(self, command, *options):
        """A command of tasks.py, with this course and the wheel that lies beside it."""
        place = {"grade": [self.base / "in", "--isolation", LEVEL]}
        place["assignments"] = ["--wheel", self.base / "fsnotes-1-any.whl"]
        line = ["tasks.py", command, *place[command], "--overlay", self.folder, *options]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", list(map(str, line)))
            patch.setattr(sources, "names", lambda overlay=None: self.names)
            patch.setattr("grading.grade.names", lambda overlay=None: self.names)
            main()

    def manual(self):
        return rows_of(self.out / "manual.csv")

    def mark(self, **filled):
        """Fill in the first row of manual.csv."""
        first, *others = self.manual()
        self.write([first | filled, *others])

    def write(self, rows, separator=","):
        tables.write_table(self.out / "manual.csv", tuple(rows[0]), rows, separator)

    def save_as(self, encoding):
        """As a spreadsheet saves manual.csv."""
        text = (self.out / "manual.csv").read_text("utf-8-sig")
        (self.out / "manual.csv").write_bytes(text.encode(encoding, "replace"))
