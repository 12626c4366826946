"""Assignments as they are written: one notebook each, with what students do not see."""

import ast
import functools
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import jupytext
import nbformat

from fsnotes.notebook.coursework import Question, Wrong

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "book" / "assignments"
CANARY = "canary" + "-5c1e9a7d"  # stands in every solution and hidden mark, and nowhere else
SOLUTION = re.compile(r"### BEGIN SOLUTION\n.*?### END SOLUTION", re.S)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)\n### END HIDDEN TESTS", re.S)
SEED = re.compile(r"^ASSIGNMENT_SEED *= *(\d+)", re.M)
HEAD = re.compile(r"\*\*(.+?) \((\d+) marks\)")
TASK = re.compile(r"^## .*\((\d+) marks\)", re.M)
SUM = re.compile(r"\*\*Marks\.\*\* (\d+): (\d+) for ")
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
    where : path-like
        Its file, for messages.
    """

    name: str
    title: str
    notebook: object
    solvers: tuple
    questions: dict
    manual: tuple
    own_numbers: object = field(repr=False)
    where: object

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


class Broken(ValueError):
    """What is wrong in the source of an assignment, where, and what to do."""


@contextmanager
def blamed(where, todo, code=None):
    """Any error in here is one of a source: say where, with the line of its code, what to do."""
    try:
        yield
    except (Broken, Wrong):
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines, said = [f.lineno for f in frames if f.filename == code], str(error)
        if isinstance(error, SyntaxError) and error.filename == code:
            lines, said = [error.lineno], error.msg
        line = f", line {lines[-1]} of the cell" if lines else ""
        said = ": ".join(filter(None, [type(error).__name__, " ".join(said.split())[:300]]))
        raise Broken(f"{where}{line}: {said}; {todo}") from error


def guarded(function, name, where):
    """A function of hidden code, whose errors say where it stands."""

    def calls(*arguments, **options):
        with blamed(f"{where}, {name}", "mend it there", where):
            found = function(*arguments, **options)
            return list(found) if isinstance(found, Iterator) else found

    return calls


def names_in(folder):
    """Names of the assignments of a folder, which may have a README beside them."""
    files = [file for file in Path(folder).glob("*.md") if file.is_file()]
    return {f.stem for f in files if f.stem.lower() != "readme" and not f.name.startswith(".")}


def own_names(overlay):
    """Names of the assignments that an overlay changes or adds."""
    return names_in(Path(overlay) / "assignments")


def names(overlay=None):
    """Names of all assignments, those of an overlay among them."""
    return sorted(names_in(SOURCES) | (own_names(overlay) if overlay else set()))


def file_of(name, overlay=None):
    """Where an assignment is written; an overlay's goes before ours."""
    own = overlay is not None and name in own_names(overlay)
    return (Path(overlay) / "assignments" if own else SOURCES) / f"{name}.md"


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
    file = file_of(name, overlay)
    if not file.is_file():
        raise ValueError(f"no assignment {name!r}; there are {', '.join(names(overlay))}")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Broken(f"{file} is not in UTF-8; save it with that encoding") from None
    with blamed(file, "mend the YAML of its head or of its cells"):
        notebook = jupytext.reads(text, fmt=".md")
    for cell in notebook.cells:
        if seed is not None:
            cell.source = SEED.sub(f"ASSIGNMENT_SEED = {seed}", cell.source)
    return assignment(name, notebook, file)


def assignment(name, notebook, file=None):
    """An assignment from its notebook."""
    where, namespace, questions, manual, ids = file or name, {}, {}, [], set()
    for cell in notebook.cells:
        if cell.cell_type == "code" and "given" in cell.metadata.get("tags", []):
            code = f"{where}, given"
            with blamed(f"{where}, cell tagged given", "mend it there", code):
                exec(compile(cell.source, code, "exec"), namespace)
        grade = grade_of(cell, where)
        grade_id = grade.get("grade_id")
        here = f"{where}, cell {grade_id}"
        if grade_id in ids:
            raise Broken(f"{here}: this grade_id comes twice; write another one")
        ids |= {grade_id} - {None}
        if grade.get("solution") and not SOLUTION.search(cell.source):
            raise Broken(
                f"{here}: no solution stands in it; write it between ### BEGIN SOLUTION and "
                "### END SOLUTION"
            )
        for hidden in HIDDEN.finditer(cell.source):
            question = question_in(cell.source, hidden, namespace, here)
            if question is not None:
                with blamed(here, "write the points of each part, as {'any': 10}"):
                    worth = question.worth
                if worth != grade.get("points"):
                    raise Broken(
                        f"{here}: the parts of {question.name} are worth {worth}, and "
                        f"its cell {grade.get('points')}; write the same number"
                    )
                questions[grade["grade_id"].removesuffix("-marks")] = question
        function = str(grade.get("grade_id")).removesuffix("-marks")
        has_points = grade.get("grade") and grade["points"]
        if cell.cell_type == "code" and has_points and function not in questions:
            raise Broken(
                f"{here}: it has points and no question; write `question = Question(...)` between "
                "### BEGIN HIDDEN TESTS and ### END HIDDEN TESTS"
            )
        if cell.cell_type == "markdown" and grade.get("grade") and grade.get("solution"):
            rubric = tuple(
                (int(points), " ".join(text.split()))
                for points, text in RUBRIC.findall(cell.source)
            )
            total = sum(points for points, _ in rubric)
            if total != grade["points"]:
                raise Broken(
                    f"{here}: its rubric has the sum {total}, and its points are "
                    f"{grade['points']}; write the same number"
                )
            title = HEAD.match(cell.source.strip())
            if title and int(title[2]) != total:
                raise Broken(f"{here}: its text says {title[2]} marks, and its points are {total}")
            title = title[1] if title else grade["grade_id"]
            manual.append(Manual(grade["grade_id"], title, grade["points"], rubric))
    check_marks_said(notebook, questions, manual, where)
    if not questions and not manual:
        raise Broken(
            f"{where} is no assignment, since no cell of it has marks; move it to another folder, "
            "or begin with a copy of a public assignment"
        )
    title = next(
        (
            line[2:]
            for cell in notebook.cells
            if cell.cell_type == "markdown"
            for line in cell.source.splitlines()
            if line.startswith("# ")
        ),
        None,
    )
    if title is None:
        raise Broken(f"{where} has no title; begin its text with a line '# TITLE'")
    about = notebook.metadata.get("coursework")
    solvers = about.get("solvers", []) if isinstance(about, dict) else []
    if not isinstance(solvers, list) or not all(isinstance(name, str) for name in solvers):
        raise Broken(f"{where}: its head has solvers: {solvers!r}; write a list, as [MPM, L1MPM]")
    own_numbers = namespace.get("own_numbers")
    if own_numbers is not None:
        own_numbers = guarded(own_numbers, "own_numbers", where)
    return Assignment(
        name, title, notebook, tuple(solvers), questions, tuple(manual), own_numbers, where
    )


def check_marks_said(notebook, questions, manual, where):
    """Raise an error where a text names other marks than there are."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    tasks = [int(marks) for marks in TASK.findall(text)]
    code = [question.worth for question in questions.values()]
    words = sum(answer.points for answer in manual)
    if tasks and tasks != [*code, *[words] * bool(manual)]:
        raise Broken(
            f"{where}: its headings say {tasks} marks, and its cells {[*code, words]}; write the "
            "same numbers"
        )
    for total, for_code in SUM.findall(text):
        if (int(total), int(for_code)) != (sum(code) + words, sum(code)):
            raise Broken(
                f"{where}: its text says {total} marks, {for_code} of them for functions, and "
                f"there are {sum(code) + words:g} and {sum(code):g}; write the same numbers"
            )


def grade_of(cell, where):
    """What nbgrader says of a cell, as it is needed here."""
    grade = cell.metadata.get("nbgrader") or {}
    if not isinstance(grade, dict):
        raise Broken(f"{where}: nbgrader: {grade!r} of a cell; write {{grade_id: ..., ...}}")
    is_marked = grade.get("grade") or HIDDEN.search(cell.source)
    missing = [key for key in ("grade_id", "points") if key not in grade]
    if is_marked and missing:
        raise Broken(
            f"{where}, cell {grade.get('grade_id', cell.source[:40])!r}: its nbgrader metadata "
            f"have no {' and no '.join(missing)}; add `{missing[0]}: ...`"
        )
    if not isinstance(grade.get("grade_id", ""), str):
        raise Broken(f"{where}: grade_id: {grade['grade_id']!r} of a cell; write a name")
    if is_marked and type(grade["points"]) not in (int, float):
        raise Broken(
            f"{where}, cell {grade['grade_id']}: points: {grade['points']!r}; write a number"
        )
    return grade


def question_in(source, hidden, namespace, where):
    """The question that hidden code leaves, if any; its functions say where they stand."""
    before = namespace.get("own_numbers")
    with blamed(where, "mend its hidden marks", where):
        # line numbers as in the cell
        tree = ast.parse("\n" * source.count("\n", 0, hidden.start(1)) + hidden[1], where)
        # its last line is for those who grade with nbgrader, and calls what a student wrote
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            tree.body.pop()
        exec(compile(tree, where, "exec"), namespace)
    own_numbers = namespace.get("own_numbers")
    if own_numbers is not before:
        namespace["own_numbers"] = guarded(own_numbers, "own_numbers", where)
    question = namespace.pop("question", None)
    if not isinstance(question, Question):
        return None
    return replace(
        question,
        cases=guarded(question.cases, f"cases of {question.name}", where),
        truth=guarded(question.truth, f"truth of {question.name}", where),
        judge=guarded(question.judge, f"judge of {question.name}", where),
    )


def student_version(assignment):
    """The notebook without solutions and hidden marks, as nbgrader makes it."""
    from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, ClearSolutions, LockCells
    from traitlets.config import Config

    found = nbformat.from_dict(assignment.notebook)
    found = nbformat.reads(nbformat.writes(found), as_version=4)
    quiet = Config({"ClearSolutions": {"enforce_metadata": True}})
    with blamed(assignment.where, "mend its lines ### BEGIN ... and ### END ..."):
        for step in (LockCells, ClearSolutions, ClearHiddenTests, ClearOutput):
            found, _ = step(config=quiet).preprocess(found, {})
    found.metadata["coursework"] = {"assignment": assignment.name}
    found.metadata.pop("jupytext", None)
    return found
