"""Assignments as they are written: one notebook each, with what students do not see."""

import ast
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat

from fsnotes.coursework import Question

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "book" / "assignments"
CANARY = "canary" + "-5c1e9a7d"  # stands in every solution and hidden mark, and nowhere else
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)\n### END HIDDEN TESTS", re.S)
SEED = re.compile(r"^ASSIGNMENT_SEED *= *(\d+)", re.M)
HEAD = re.compile(r"\*\*(.+?) \(\d+ marks\)")
RUBRIC = re.compile(r"^- \((\d+)\) (.*(?:\n  .*)*)", re.M)


@dataclass(frozen=True)
class Manual:
    """An answer in words, which a person marks by a rubric."""

    grade_id: str
    title: str
    points: float
    rubric: tuple


@dataclass(frozen=True)
class Assignment:
    """One assignment.

    Attributes
    ----------
    name, title : str
    notebook : NotebookNode
        With solutions and hidden marks.
    solvers : tuple of str
        Names of the package that the tasks ask to write.
    questions : dict
        By the grade id of the cell in which the function is to be written.
    manual : tuple of Manual
    own_numbers : callable or None
        From the identity of a student, what is right in the answers in words, a dict.
    """

    name: str
    title: str
    notebook: object
    solvers: tuple
    questions: dict
    manual: tuple
    own_numbers: object = field(repr=False)

    @functools.cached_property
    def seed(self):
        """What ASSIGNMENT_SEED is, as text; empty if there is none."""
        return seed_in(cell.source for cell in self.notebook.cells)

    @functools.cached_property
    def texts(self):
        """Sources of the cells of the student version."""
        return [cell.source for cell in student_version(self).cells]

    @property
    def worth(self):
        marks = [q.worth for q in self.questions.values()] + [m.points for m in self.manual]
        return sum(marks)


def seed_in(texts):
    return next((found[1] for text in texts if (found := SEED.search(text))), "")


def names(overlay=None):
    """Names of all assignments, those of an overlay among them."""
    folders = [SOURCES, *([Path(overlay) / "assignments"] if overlay else [])]
    return sorted({file.stem for folder in folders for file in folder.glob("*.md")})


def read(name, overlay=None, seed=None):
    """An assignment by its name; an overlay's goes before ours.

    Parameters
    ----------
    name : str
    overlay : path-like, optional
    seed : int, optional
        In place of the ASSIGNMENT_SEED that is written in the source.

    Returns
    -------
    Assignment
    """
    file = SOURCES / f"{name}.md"
    if overlay is not None and (Path(overlay) / "assignments" / f"{name}.md").is_file():
        file = Path(overlay) / "assignments" / f"{name}.md"
    if not file.is_file():
        raise ValueError(f"no assignment {name!r}; there are {', '.join(names(overlay))}")
    notebook = jupytext.read(file)
    for cell in notebook.cells:
        if seed is not None:
            cell.source = SEED.sub(f"ASSIGNMENT_SEED = {seed}", cell.source)
    return assignment(name, notebook)


def assignment(name, notebook):
    """An assignment from its notebook."""
    namespace, questions, manual = {}, {}, []
    for cell in notebook.cells:
        grade = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and "given" in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}, given", "exec"), namespace)
        for block in HIDDEN.findall(cell.source):
            hidden = ast.parse(block)
            # its last line is for those who grade with nbgrader, and calls what a student wrote
            if isinstance(hidden.body[-1], ast.Expr):
                hidden.body.pop()
            exec(compile(hidden, f"{name}, {grade.get('grade_id')}", "exec"), namespace)
            question = namespace.pop("question", None)
            if isinstance(question, Question):
                if question.worth != grade["points"]:
                    raise ValueError(
                        f"{name}: the parts of {question.name} are worth {question.worth}, and its "
                        f"cell {grade['points']}"
                    )
                questions[grade["grade_id"].removesuffix("-marks")] = question
        if cell.cell_type == "markdown" and grade.get("grade") and grade.get("solution"):
            rubric = tuple(
                (int(points), " ".join(text.split()))
                for points, text in RUBRIC.findall(cell.source)
            )
            if sum(points for points, _ in rubric) != grade["points"]:
                raise ValueError(f"{name}: the rubric of {grade['grade_id']} has another sum")
            title = HEAD.match(cell.source.strip())
            title = title[1] if title else grade["grade_id"]
            manual.append(Manual(grade["grade_id"], title, grade["points"], rubric))
    title = next(
        line[2:]
        for cell in notebook.cells
        for line in cell.source.splitlines()
        if line.startswith("# ")
    )
    solvers = tuple(notebook.metadata.get("coursework", {}).get("solvers", ()))
    own_numbers = namespace.get("own_numbers")
    return Assignment(name, title, notebook, solvers, questions, tuple(manual), own_numbers)


def student_version(assignment):
    """The notebook without solutions and hidden marks, as nbgrader makes it."""
    from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, ClearSolutions, LockCells
    from traitlets.config import Config

    found = nbformat.from_dict(assignment.notebook)
    found = nbformat.reads(nbformat.writes(found), as_version=4)
    quiet = Config({"ClearSolutions": {"enforce_metadata": True}})
    for step in (LockCells, ClearSolutions, ClearHiddenTests, ClearOutput):
        found, _ = step(config=quiet).preprocess(found, {})
    found.metadata["coursework"] = {"assignment": assignment.name}
    found.metadata.pop("jupytext", None)
    return found
