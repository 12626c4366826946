"""Assignments of a course: what is wrong in them is said in one line, before anything is graded."""

import dataclasses
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from course import LEVEL, TEXT, Course, answers, assignment, put
from grading import collect, release, sources

HEAD = "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n"


@pytest.fixture
def course(tmp_path):
    """A private course with the fixture, and what one student has handed in."""
    found = Course(tmp_path)
    found.hand_in({"ab": answers()})
    return found


def said(course, command):
    """What a command says in the end: its one line, or nothing."""
    try:
        course.run(command)
    except SystemExit as error:
        assert "\n" not in str(error)
        return str(error).replace(str(course.folder / "assignments"), "")
    return ""


def written(course, old, new):
    assert old in TEXT
    put(course.folder, {"assignments/fixture.md": TEXT.replace(old, new, 1)})


# ---------------------------------------------------------------- what cannot be read

# what stands in the source, what takes its place, and what is said, dots where it may be anything
DOUBLE = ", cell double-marks"
HIDDEN = ", cell '### BEGIN HIDDEN TESTS...': ..."
TRUTH = f"{DOUBLE}, truth of double, line 12 of the cell: "
GIVEN = ", cell tagged given, line 1 of the cell"
MARKS = "grade: true, grade_id: double-marks, locked: true, points: 6, "
SOLVERS = "coursework:\n  solvers"
LOSES = ": its own solution loses the part"
SINCE = "; mend it there, since its own solution loses the part 'small' of double"
MISSING = "there is no such function; code cell 3 raises ZeroDivisionError"
UNREADABLE = [
    (TEXT, "", " is no assignment, since no cell of it has marks; move it"),
    (TEXT, "Remarks about the course.\n", " is no assignment"),
    ("# A fixture", "", " has no title; begin its text with"),
    ("# A", f"{HEAD}  a: [\n---\n# A", ": ParserError: ...; mend the YAML of its head"),
    ("{grade: false", "{grade: [,", ": MystMetadataParsingError: Code cell 3 at line ...; mend"),
    ("# A", f"{HEAD}{SOLVERS}: MPM\n---\n# A", ": its head has solvers: 'MPM'; write a list"),
    ("# A", f"{HEAD}{SOLVERS}: [[MPM]]\n---\n# A", ": its head has solvers: [['MPM']]; write a"),
    ("points: 6, ", "", ", cell 'double-marks': its nbgrader metadata have no points; add `po"),
    ('"points": 4, ', "", ", cell 'words': ... have no points; add"),
    ("grade_id: double-marks, ", "", f"{HIDDEN} have no grade_id; add"),
    (MARKS, "", f"{HIDDEN} have no grade_id and no points; add"),
    ("points: 6", "points: 7", f"{DOUBLE}: the parts of double are worth 6, and its cell 7; write"),
    ("points: 6", "points: six", f"{DOUBLE}: points: 'six'; write a number"),
    ("grade_id: double-marks", "grade_id: 5", ": grade_id: 5 of a cell; write a name"),
    ("negative-marks", "double-marks", f"{DOUBLE}: this grade_id comes twice; write another one"),
    ('"large": 2}', '"large": "2"}', f"{DOUBLE}: TypeError: ...; write the points of each part"),
    ("(4 marks)", "(5 marks)", ", cell words: its text says 5 marks, and its points are 4"),
    ("# A", "**Marks.** 13: 8 for f.\n\n# A", ": its text says 13 marks, 8 of them for functions,"),
    ("# A", "## 1. (6 marks)\n\n# A", ": its headings say [6] marks, and its cells [6, 2, 4]; w"),
    ("import numpy as np", "raise SystemExit", f"{GIVEN}: SystemExit; mend it there"),
    ("import numpy", "import nump", f"{GIVEN}: ModuleNotFoundError: ...; mend it"),
    ("- (3)", "- (2)", ", cell words: its rubric has the sum 3, and"),
    ("END HIDDEN TESTS", "END", f"{DOUBLE}: it has points and no question; write `question ="),
    ("x + x", "x +", f"{DOUBLE}, line 12 of the cell: SyntaxError: invalid syntax; mend"),
    ("Question(", "Questions(", f"{DOUBLE}, line 20 of the cell: NameError: ...; mend its hidden"),
]
# what the own solution would lose
HIDDEN_ERRORS = [
    ("    return x + x", "    raise SystemExit", f"{TRUTH}SystemExit; mend it"),
    ("x + x", "y", f"{TRUTH}NameError: name 'y' is not defined; mend it there"),
    ("mal(size", "m(size", f"{DOUBLE}, cases of double, line 8 of the cell: Attribute...; mend it"),
    ('yield "any"', 'yield "one"', ": ValueError: negative: parts without cases, or cases without"),
    ("float(rng.normal())", "{1, 2}", ": TypeError: ... not JSON serializable; mend its parts and"),
    ("len(student)", "y", ", cell negative-marks, own_numbers, line 16 of the cell: NameError: "),
    ('return {"letters"', 'return 3, {"letters"', ": AttributeError: 'tuple' object"),
    ("len(x)", "len(z)", f"{DOUBLE}, judge of double, line 16 of the cell: NameError...{SINCE}"),
    ("true, rtol", "2 * true, rtol", f"{LOSES} 'small' of double (twice as much); run the note"),
    ("-x\n    ###", "x\n    ###", f"{LOSES} 'any' of negative (on the other side of zero"),
    ("def double(", "1 / 0\ndef double(", f"{LOSES} 'small' of double ({MISSING}); run"),
]


@pytest.mark.parametrize("old, new, line", UNREADABLE + HIDDEN_ERRORS)
def test_a_source_that_cannot_be_used_is_named(course, old, new, line):
    written(course, old, new)
    for command in ("grade", "assignments"):
        found = said(course, command)
        pattern = ".*".join(map(re.escape, line.split("...")))
        assert re.match(rf"tasks\.py: /fixture\.md{pattern}", found), found
    assert not list(course.folder.rglob("*.zip")) and not list(course.folder.rglob("*.csv"))


def test_a_source_in_another_encoding_is_named(course):
    text = TEXT.replace("Say why.", "Für wen?")
    line = "tasks.py: /fixture.md is not in UTF-8; save it with that encoding"
    for encoding, wanted in (("cp1252", line), ("utf-8-sig", "")):
        put(course.folder, {"assignments/fixture.md": text.encode(encoding)})
        assert said(course, "grade") == wanted


def test_what_is_no_assignment_lies_beside_them(course):
    place = put(course.folder / "assignments", {"README.md": "Hi.\n", "._fixture.md": "Hi.\n"})
    (place / "old.md").mkdir()
    assert sources.own_names(course.folder) == {"fixture"}
    assert set(sources.names(course.folder)) == {"fixture", *sources.names()}


def test_lines_that_do_not_pair_are_named(course):
    written(course, "    ### END SOLUTION\n", "")
    line = "/fixture.md, cell double: no solution stands in it; write it between ### BEGIN"
    assert said(course, "assignments").startswith(f"tasks.py: {line}")


# ---------------------------------------------------------------- what is tried out


def test_what_was_not_handed_in_is_not_tried_out(course):
    text = TEXT.replace("    return -x\n    ### END", "    return x\n    ### END")
    put(course.folder, {"assignments/other.md": text})
    course.names = ["fixture", "other"]
    assert said(course, "grade") == ""


def test_own_solutions_are_run_once(course, monkeypatch):
    assert said(course, "grade") == ""
    run = collect.collected
    runs = []

    def counted(assignment, cells, *others):
        runs.append(any("x + x" in source for _, source in cells))
        return run(assignment, cells, *others)

    monkeypatch.setattr("grading.grade.collected", counted)
    assert said(course, "grade") == "" and runs == []
    written(course, "true, rtol=1e-9)", "2 * true, rtol=1e-9)")
    assert "twice as much" in said(course, "grade") and runs == []
    written(course, "    return 2 * x", "    return x + x")
    assert said(course, "grade") == "" and runs == [True]
    put(course.folder, {"GRADING_SEED": "6\n"})
    assert said(course, "grade") == "" and sum(runs) == 2
    for file in (course.folder / "grades" / "collected").glob("*.json"):
        file.write_text("{")
    assert said(course, "grade") == "" and sum(runs) == 3


def test_public_assignments_are_not_tried_out(course, monkeypatch):
    (course.folder / "assignments" / "fixture.md").rename(course.base / "else.md")
    monkeypatch.setattr(release, "collected", None)
    course.names = ["chebyshev"]
    assert said(course, "assignments") == ""
    assert (course.folder / "assignments-student.zip").is_file()


def test_nothing_is_written_to_what_was_handed_in(course):
    (course.base / "in").rename(course.folder / "in")
    (course.base / "in").symlink_to(course.folder)
    assert "pass --out with another folder" in said(course, "grade")
    assert not (course.folder / "grades").exists()


def test_the_command_gives_no_traceback(course):
    written(course, "points: 6, ", "")
    command = [sys.executable, "-m", "grading", "grade", course.base / "in"]
    command += ["--overlay", course.folder]
    env = os.environ | {"PYTHONPATH": str(ROOT / "book" / "assignments")}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "fixture.md" in done.stderr
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- flags


def flags(cells, text=TEXT, solvers=("MPM",)):
    """Flags of a notebook, which runs all the same."""
    fixture = dataclasses.replace(assignment(text), solvers=solvers)
    drawn = {q.name: q.drawn(1) for q in fixture.questions.values()}
    found = collect.collected(fixture, cells, drawn, LEVEL)
    assert not found["errors"]
    if "double" in dict(cells):
        assert all("answer" in one for one in found["answers"]["double"])
    return found["flags"]


def cells_of(before, body):
    double = f"def double(x):\n    {body}\n    return 2 * x"
    return [("", f"import numpy as np\n{before}"), ("double", double)]


PLANES = "(np.eye(2), 3 + np.eye(2), (1, 1), (1, 1))"
FIT = ".fit(np.eye(4)[:, :2], [0, 0, 1, 1])"
NO_SOLVER = """
from fsnotes import ClassMoments, load
from fsnotes.notebook.coursework import *
from fsnotes.metrics import tsa
own_rng('ab', 1)
"""


@pytest.mark.parametrize(
    "before, body, wanted",
    [
        ("from fsnotes import MPM", "", ""),
        ("from fsnotes import MPM as M", "M", "MPM"),
        ("import fsnotes", "fsnotes.MPM", "MPM"),
        ("", "MPM = 2", ""),
        ("import fsnotes", f"getattr(fsnotes, 'M' + 'PM')(){FIT}", "MPM"),
        ("from fsnotes.literal import *", f"l1_twin_svm{PLANES}", "l1_twin_svm"),
        ("from fsnotes.literal import *", "rfs", "rfs"),
        ("from fsnotes import *", "SMPM", "SMPM"),
        ("from fsnotes.solvers.planes import l2_plane", "l2_plane", "l2_plane"),
        ("import fsnotes.literal as p", f"getattr(p, 'l1_' + 'twin_svm'){PLANES}", "l1_twin_svm"),
        ("from fsnotes import literal", f"vars(literal)['l1_twin_svm']{PLANES}", "l1_twin_svm"),
        ("import fsnotes.rivals.rfs\nd = fsnotes.rivals.rfs", "d.RFS()", "RFS"),
        ("from fsnotes.core.bounds import kappa", "kappa(0.5)", ""),
        ("import fsnotes.core.surrogates\nvars(fsnotes.core.surrogates)['L1']()", "", "L1"),
        ("from fsnotes import *\nload('pima')", "fisher_score", ""),
        ("from fsnotes import *\ndef frontier(): 1", "frontier()", ""),
        (NO_SOLVER, "", ""),
    ],
)
def test_a_solver_is_flagged_however_it_is_called(before, body, wanted):
    assert flags(cells_of(before, body)) == wanted.split()


def test_what_a_cell_that_was_handed_out_calls_is_not_the_students():
    fit = "MPM().fit(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)"
    given = f"import numpy as np\nfrom fsnotes import MPM\n{fit}\n"
    text = TEXT.replace("import numpy as np\n", given)
    cells = [("", source) for source in assignment(text).texts if given in source]
    assert cells and flags([*cells, ("", "x = 1")], text) == []
    assert flags([*cells, ("", fit)], text) == ["MPM"]


def test_where_no_solver_is_to_be_written_all_may_be_called():
    assert flags(cells_of("from fsnotes import *", "MPM"), solvers=()) == []
