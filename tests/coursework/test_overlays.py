"""Assignments of a course: what is wrong in them is said in one line, before anything is graded."""

import dataclasses
import os
import re
import subprocess
import sys

import jupytext
import pytest
from conftest import ROOT
from hostile import answers

pytest.importorskip("nbgrader", reason="the extra [coursework] is not installed")
sys.path.insert(0, str(ROOT / "book" / "assignments"))

from grading import collect, release, sources
from grading.__main__ import main

LEVEL = collect.best_level()
TEXT = (ROOT / "tests" / "coursework" / "fixture.md").read_text().replace("CANARY", sources.CANARY)
HEAD = "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n"


@pytest.fixture
def course(tmp_path):
    """A private course with the fixture, and what one student has handed in."""
    folder = tmp_path / "course"
    (folder / "assignments").mkdir(parents=True)
    (folder / "GRADING_SEED").write_text("5\n")
    (folder / "assignments" / "fixture.md").write_text(TEXT)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ab-fixture.ipynb").write_text(answers())
    (tmp_path / "fsnotes-1-any.whl").write_bytes(b"")
    return folder


@pytest.fixture
def said(course, monkeypatch, capsys):
    """What a command says in the end, with the fixture alone: its one line, or nothing."""
    monkeypatch.setattr(sources, "names", lambda overlay=None: ["fixture"])
    monkeypatch.setattr("grading.grade.names", lambda overlay=None: ["fixture"])

    def run(command):
        place = [str(course.parent / "in"), "--isolation", LEVEL]
        options = {"grade": place, "assignments": ["--wheel", f"{course.parent}/fsnotes-1-any.whl"]}
        command = ["tasks.py", command, *options[command], "--overlay", str(course)]
        monkeypatch.setattr(sys, "argv", command)
        try:
            main()
        except SystemExit as error:
            assert "\n" not in str(error)
            return str(error).replace(str(course / "assignments"), "")
        return ""

    return run


def written(course, old, new, text=TEXT):
    assert text.count(old) >= 1
    (course / "assignments" / "fixture.md").write_text(text.replace(old, new, 1))


# ---------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize(
    "content, line",
    [
        ("", "fixture.md is no assignment, since no cell of it has marks; move it"),
        ("Remarks about the course.\n", "fixture.md is no assignment"),
        (TEXT.removeprefix("# A fixture"), "fixture.md has no title; begin its text with"),
        (f"{HEAD}  a: [\n---\n{TEXT}", "fixture.md: ParserError: .*; mend the YAML of its head"),
        (
            TEXT.replace("{grade: false, grade_id: double,", "{grade: [,"),
            "fixture.md: MystMetadataParsingError: Code cell 3 at line .*; mend the YAML",
        ),
        (
            f"{HEAD}coursework:\n  solvers: MPM\n---\n{TEXT}",
            "fixture.md: its head has solvers: 'MPM'; write a list",
        ),
        (
            TEXT.replace("points: 6, ", ""),
            "fixture.md, cell 'double-marks': its nbgrader metadata have no points; add `points:",
        ),
        (TEXT.replace('"points": 4, ', ""), "fixture.md, cell 'words': .* have no points; add"),
        (
            TEXT.replace("grade_id: double-marks, ", ""),
            "fixture.md, cell '### BEGIN HIDDEN TESTS.*': .* have no grade_id; add",
        ),
        (
            TEXT.replace("points: 6", "points: 7"),
            "fixture.md, cell double-marks: the parts of double are worth 6, and its cell 7; write",
        ),
        (
            TEXT.replace("points: 6", "points: six"),
            "fixture.md, cell double-marks: points: 'six'; write a number",
        ),
        (
            TEXT.replace("grade_id: double-marks", "grade_id: 5"),
            "fixture.md: grade_id: 5 of a cell; write a name",
        ),
        (
            TEXT.replace("grade_id: negative-marks", "grade_id: double-marks"),
            "fixture.md, cell double-marks: this grade_id comes twice; write another one",
        ),
        (
            TEXT.replace("grade: true, grade_id: double-marks, locked: true, points: 6, ", ""),
            "fixture.md, cell '### BEGIN HIDDEN TESTS.*': .* have no grade_id and no points; add",
        ),
        (
            TEXT.replace('{"small": 4, "large": 2}', '{"small": "4", "large": 2}'),
            "fixture.md, cell double-marks: TypeError: .*; write the points of each part",
        ),
        (
            TEXT.replace("**Why (4 marks).**", "**Why (5 marks).**"),
            "fixture.md, cell words: its text says 5 marks, and its points are 4",
        ),
        (
            TEXT.replace("# A fixture", "# A fixture\n\n**Marks.** 13: 8 for functions."),
            "fixture.md: its text says 13 marks, 8 of them for functions, and there are 12 and 8;",
        ),
        (
            TEXT.replace("# A fixture", "# A fixture\n\n## 1. Double (6 marks)"),
            r"fixture.md: its headings say \[6\] marks, and its cells \[6, 2, 4\]; write the same",
        ),
        (
            f"{HEAD}coursework:\n  solvers: [[MPM]]\n---\n{TEXT}",
            r"fixture.md: its head has solvers: \[\['MPM'\]\]; write a list",
        ),
        (
            TEXT.replace("import numpy as np", "raise SystemExit"),
            "fixture.md, cell tagged given, line 1 of the cell: SystemExit; mend it there",
        ),
        (TEXT.replace("- (3)", "- (2)"), "fixture.md, cell words: its rubric has the sum 3, and"),
        (
            TEXT.replace("### END HIDDEN TESTS", "### END HIDDEN TEST", 1),
            "fixture.md, cell double-marks: it has points and no question; write `question =",
        ),
        (
            TEXT.replace("import numpy as np", "import nump as np"),
            "fixture.md, cell tagged given, line 1 of the cell: ModuleNotFoundError: .*; mend it",
        ),
        (
            TEXT.replace("def truth(x):\n    return x + x", "def truth(x):\n    return x +"),
            "fixture.md, cell double-marks, line 12 of the cell: SyntaxError: invalid syntax; mend",
        ),
        (
            TEXT.replace('question = Question("double"', 'question = Questions("double"'),
            "fixture.md, cell double-marks, line 20 of the cell: NameError: .*; mend its hidden",
        ),
    ],
)
def test_a_source_that_cannot_be_read_is_named(course, said, content, line):
    (course / "assignments" / "fixture.md").write_text(content)
    found = said("grade")
    assert re.match(rf"tasks\.py: /{line}", found), found
    assert not (course / "grades").exists()


def test_a_source_in_another_encoding_is_named(course, said):
    file = course / "assignments" / "fixture.md"
    file.write_bytes(TEXT.replace("Say why.", "Für wen?").encode("cp1252"))
    assert said("grade") == "tasks.py: /fixture.md is not in UTF-8; save it with that encoding"
    file.write_bytes(TEXT.replace("Say why.", "Für wen?").encode("utf-8-sig"))
    assert said("grade") == ""


def test_what_is_no_assignment_lies_beside_them(course):
    for name in ("README.md", "._fixture.md"):
        (course / "assignments" / name).write_text("Remarks.\n")
    (course / "assignments" / "old.md").mkdir()
    assert sources.own_names(course) == {"fixture"}
    assert set(sources.names(course)) == {"fixture", *sources.names()}


def test_lines_that_do_not_pair_are_named(course, said):
    written(course, "    ### END SOLUTION\n", "")
    line = "/fixture.md, cell double: no solution stands in it; write it between ### BEGIN"
    assert said("assignments").startswith(f"tasks.py: {line}")


# ---------------------------------------------------------------- what is tried out

HIDDEN_ERRORS = [
    (
        "    return x + x",
        "    raise SystemExit",
        "/fixture.md, cell double-marks, truth of double, line 12 of the cell: SystemExit; mend it",
    ),
    (
        "    return x + x",
        "    return y",
        "/fixture.md, cell double-marks, truth of double, line 12 of the cell: NameError: name 'y' "
        "is not defined; mend it there",
    ),
    (
        'yield part, {"x": factor * rng.normal(size=3)}',
        'yield part, {"x": factor * rng.norm(size=3)}',
        "/fixture.md, cell double-marks, cases of double, line 8 of the cell: AttributeError: "
        "'numpy.random._generator.Generator' object has no attribute 'norm'; mend it there",
    ),
    (
        'yield "any"',
        'yield "one"',
        "/fixture.md: ValueError: negative: parts without cases, or cases without parts: ",
    ),
    (
        "float(rng.normal())",
        "{1, 2}",
        "/fixture.md: TypeError: Object of type set is not JSON serializable; mend its parts and",
    ),
    (
        '"letters": len(student)',
        '"letters": students',
        "/fixture.md, cell negative-marks, own_numbers, line 16 of the cell: NameError: name ",
    ),
    ('return {"letters"', 'return 3, {"letters"', "/fixture.md: AttributeError: 'tuple' object"),
    (
        "vector(answer, len(x))",
        "vector(answer, len(z))",
        "/fixture.md, cell double-marks, judge of double, line 16 of the cell: NameError: name 'z' "
        "is not defined; mend it there, since its own solution loses the part 'small' of double",
    ),
    (
        "true, rtol=1e-9)",
        "2 * true, rtol=1e-9)",
        "/fixture.md: its own solution loses the part 'small' of double (twice as much); run the "
        "notebook, and mend the solution, or what judges it",
    ),
    (
        "    return -x\n    ### END",
        "    return x\n    ### END",
        "/fixture.md: its own solution loses the part 'any' of negative (on the other side of zero",
    ),
    (
        "def double(x):\n    ### BEGIN SOLUTION",
        "1 / 0\ndef double(x):\n    ### BEGIN SOLUTION",
        "/fixture.md: its own solution loses the part 'small' of double (there is no such function"
        "; code cell 3 raises ZeroDivisionError); run",
    ),
]


@pytest.mark.parametrize("command", ["grade", "assignments"])
@pytest.mark.parametrize("old, new, line", HIDDEN_ERRORS)
def test_marks_that_the_own_solution_does_not_get_are_named(course, said, command, old, new, line):
    written(course, old, new)
    found = said(command)
    assert found.startswith(f"tasks.py: {line}"), found
    assert not list(course.rglob("*.zip")) and not list(course.rglob("*.csv"))


def test_what_was_not_handed_in_is_not_tried_out(course, said):
    text = TEXT.replace("    return -x\n    ### END", "    return x\n    ### END")
    (course / "assignments" / "other.md").write_text(text)
    assert said("grade") == ""


def test_own_solutions_are_run_once(course, said, monkeypatch):
    assert said("grade") == ""
    run, runs = collect.collected, []

    def counted(assignment, cells, *others):
        runs.append(any("x + x" in source for _, source in cells))
        return run(assignment, cells, *others)

    monkeypatch.setattr("grading.grade.collected", counted)
    assert said("grade") == "" and runs == []
    written(course, "true, rtol=1e-9)", "2 * true, rtol=1e-9)")
    assert "twice as much" in said("grade") and runs == []
    written(course, "    return 2 * x", "    return x + x")
    assert said("grade") == "" and runs == [True]
    (course / "GRADING_SEED").write_text("6\n")
    assert said("grade") == "" and sum(runs) == 2
    for file in (course / "grades" / "collected").glob("*.json"):
        file.write_text("{")
    assert said("grade") == "" and sum(runs) == 3


def test_public_assignments_are_not_tried_out(course, said, monkeypatch):
    (course / "assignments" / "fixture.md").rename(course / "else.md")
    monkeypatch.setattr(release, "collected", None)
    monkeypatch.setattr(sources, "names", lambda overlay=None: ["chebyshev"])
    assert said("assignments") == ""
    assert (course / "assignments-student.zip").is_file()


def test_nothing_is_written_to_what_was_handed_in(course, said):
    (course / "in").mkdir()
    (course.parent / "in").rename(course / "in" / "in")
    (course.parent / "in").symlink_to(course)
    assert "pass --out with another folder" in said("grade")
    assert not (course / "grades").exists()


def test_the_command_gives_no_traceback(course):
    written(course, "points: 6, ", "")
    command = [sys.executable, "-m", "grading", "grade", course.parent / "in", "--overlay", course]
    env = os.environ | {"PYTHONPATH": str(ROOT / "book" / "assignments")}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "fixture.md" in done.stderr
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- flags


def flags(before, body, solvers=("MPM",)):
    """Flags of a notebook, whose answers are there all the same."""
    fixture = sources.assignment("fixture", jupytext.reads(TEXT, fmt="md:myst"))
    fixture = dataclasses.replace(fixture, solvers=solvers)
    drawn = {q.name: q.drawn(1) for q in fixture.questions.values()}
    cells = [("", "import numpy as np\n" + before), ("double", f"def double(x):\n    {body}")]
    found = collect.collected(fixture, cells, drawn, LEVEL)
    assert not found["errors"] and all("answer" in one for one in found["answers"]["double"])
    return found["flags"]


PLANES = "(np.eye(2), 3 + np.eye(2), (1, 1), (1, 1))\n    return 2 * x"


@pytest.mark.parametrize(
    "before, body, wanted",
    [
        ("from fsnotes.literal import *", f"l1_twin_svm{PLANES}", ["l1_twin_svm"]),
        ("from fsnotes.literal import *", "rfs\n    return 2 * x", ["rfs"]),
        ("from fsnotes import *", "SMPM\n    return 2 * x", ["SMPM"]),
        ("from fsnotes.solvers.planes import l2_plane", "l2_plane\n    return 2 * x", ["l2_plane"]),
        (
            "import fsnotes.literal as papers",
            f"getattr(papers, 'l1_' + 'twin_svm'){PLANES}",
            ["l1_twin_svm"],
        ),
        (
            "from fsnotes import literal\nplane = vars(literal)['l1_twin_svm']",
            f"plane{PLANES}",
            ["l1_twin_svm"],
        ),
        ("import fsnotes.rivals.rfs\nd = fsnotes.rivals.rfs", "d.RFS()\n    return 2 * x", ["RFS"]),
        ("from fsnotes.core.bounds import kappa", "kappa(0.5)\n    return 2 * x", []),
        (
            "import fsnotes.core.surrogates\nvars(fsnotes.core.surrogates)['L1']()",
            "return 2 * x",
            ["L1"],
        ),
        ("from fsnotes import *\nload('pima')", "fisher_score\n    return 2 * x", []),
        ("from fsnotes import *\ndef frontier(): 1", "frontier()\n    return 2 * x", []),
        (
            "from fsnotes import ClassMoments, load\nfrom fsnotes.notebook.coursework import *\n"
            "from fsnotes.metrics import tsa\nown_rng('ab', 1)",
            "return 2 * x",
            [],
        ),
    ],
)
def test_a_solver_is_flagged_however_it_is_called(before, body, wanted):
    assert flags(before, body) == wanted


def test_what_a_cell_that_was_handed_out_calls_is_not_the_students():
    fit = "MPM().fit(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)"
    fitted = f"from fsnotes import MPM\n{fit}"
    text = TEXT.replace("import numpy as np\n", f"import numpy as np\n{fitted}\n")
    fixture = sources.assignment("fixture", jupytext.reads(text, fmt="md:myst"))
    fixture = dataclasses.replace(fixture, solvers=("MPM",))
    drawn = {q.name: q.drawn(1) for q in fixture.questions.values()}
    cells = [("", source) for source in fixture.texts if fitted in source]
    for more, wanted in (("x = 1", []), (fit, ["MPM"])):
        found = collect.collected(fixture, [*cells, ("", more)], drawn, LEVEL)
        assert not found["errors"] and found["flags"] == wanted


def test_where_no_solver_is_to_be_written_all_may_be_called():
    assert flags("from fsnotes import *", "MPM\n    return 2 * x", solvers=()) == []
