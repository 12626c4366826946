"""The assignments: right, unchanged and wrong answers get the marks and hints that are stated."""

import ast
import dataclasses
import functools
import importlib
import itertools
import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
from types import SimpleNamespace

import nbformat
import pytest
from borders import each
from conftest import ROOT, SITE

pytest.importorskip("nbgrader", reason="the extra [coursework] is not installed")
sys.path.insert(0, str(ROOT / "book" / "assignments"))

from grading import collect, compare, hand_in, release, sources

NAMES = sources.names()
SEED = 20260101
LEVEL = collect.best_level()
LARGEST_TOLERANCE = 1e-2


@pytest.fixture(params=NAMES)
def name(request):
    """Of each assignment."""
    return request.param


@functools.cache
def read(name):
    return sources.read(name)


def catalogue(name):
    return importlib.import_module(f"wrong_answers.{name}")


@functools.cache
def wrong(name):
    """Wrong answers by label: their cells by grade id, and the hint of each part that is lost."""
    found = {}
    for label, (code, lost) in catalogue(name).WRONG.items():
        hints = {(q, part): hint for (q, parts), hint in lost.items() for part in each(parts)}
        found[label] = cells_of(name, code), hints
    return found


def cells_of(name, code):
    """Functions by the grade id of their cell, each with the helpers above it."""
    cells = {}
    above = ""
    for function in re.split(r"^(?=def )", code, flags=re.M):
        above += function
        grade_id = function.removeprefix("def ").partition("(")[0]
        if grade_id in read(name).questions:
            cells[grade_id] = above
            above = ""
    return cells


def handed_in(name, kind, replaced=None):
    """Code cells of a notebook as they are handed in, solutions replaced by grade id."""
    found = nbformat.reads(release.notebook_text(read(name), kind), as_version=4)
    for cell in found.cells:
        if kind == "instructor":
            cell.source = sources.HIDDEN.sub("", cell.source)
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = (replaced or {}).get(grade_id, cell.source)
    content = nbformat.writes(found).encode()
    return hand_in.one(f"ab/{name}.ipynb", content, {name: read(name)}, None)


@functools.cache
def drawn(name):
    return {q.name: q.drawn(SEED) for q in read(name).questions.values()}


def truths_of(assignment, cases):
    return {
        question.name: [question.truth(**arguments) for _, arguments in cases[question.name]]
        for question in assignment.questions.values()
    }


@functools.cache
def truths(name):
    return truths_of(read(name), drawn(name))


@functools.cache
def collected(name, label):
    """What the cells of the reference, of the unchanged notebook or of a wrong answer return."""
    if label in ("reference", "unchanged"):
        one = handed_in(name, "instructor" if label == "reference" else "student")
    else:
        one = handed_in(name, "instructor", wrong(name)[label][0])
    return collect.collected(read(name), one.cells, drawn(name), LEVEL)


def lost(given):
    return {(q, part): hint for q, hints in given.hints.items() for part, hint in hints.items()}


@functools.cache
def marked(name, label):
    return compare.marks(read(name), drawn(name), truths(name), collected(name, label))


# ---------------------------------------------------------------- marks


def test_the_reference_gets_full_marks(name):
    found = collected(name, "reference")
    assert not found["errors"] and not found["flags"] and not found["ended"]
    assert lost(marked(name, "reference")) == {}
    assert marked(name, "reference").total == sum(q.worth for q in read(name).questions.values())


def test_the_unchanged_notebook_gets_nothing_and_ends(name):
    found = collected(name, "unchanged")
    assert not found["ended"] and not found["flags"]
    assert set(found["errors"].values()) == {"NotImplementedError"}
    assert marked(name, "unchanged").total == 0
    assert set(lost(marked(name, "unchanged")).values()) == {"it raises NotImplementedError"}


@pytest.mark.parametrize("name, label", [(name, label) for name in NAMES for label in wrong(name)])
def test_a_wrong_answer_gets_its_marks_and_hints(name, label):
    _, hints = wrong(name)[label]
    given = marked(name, label)
    assert lost(given) == hints
    worth = {(q.name, p): n for q in read(name).questions.values() for p, n in q.parts.items()}
    assert given.total == sum(worth.values()) - sum(worth[place] for place in hints)


def test_marks_do_not_depend_on_the_seed(name):
    """The reference and the oracle agree on cases of other seeds."""
    questions = read(name).questions.values()
    cases = {q.name: [case for seed in (1, 2, 3) for case in q.drawn(seed)] for q in questions}
    found = collect.collected(read(name), handed_in(name, "instructor").cells, cases, LEVEL)
    given = compare.marks(read(name), cases, truths_of(read(name), cases), found)
    assert lost(given) == {}


def test_answers_in_words_are_found_without_grade_ids(name):
    found = nbformat.reads(release.notebook_text(read(name), "student"), as_version=4)
    wanted = {}
    for cell in found.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in {manual.grade_id for manual in read(name).manual}:
            wanted[grade_id] = f"About {grade_id}."
            cell.source = cell.source.replace("YOUR ANSWER HERE", wanted[grade_id])
        cell.metadata = {}
    one = hand_in.one(f"ab/{name}.ipynb", nbformat.writes(found).encode(), {name: read(name)}, None)
    assert len(wanted) == 3 and one.words == wanted


# ---------------------------------------------------------------- the graders


@functools.cache
def borders(name):
    """Answers beside borders: the place of the case, the answer, and arguments that are other."""
    found = []
    for near in catalogue(name).BORDERS:
        cases, true = drawn(name)[near.question], truths(name)[near.question]
        parts = each(near.parts)
        places = [place for place, (part, _) in enumerate(cases) if part in parts]
        assert {cases[place][0] for place in places} == set(parts)
        for place in places:
            right = compare.answer(collected(name, "reference")["answers"][near.question][place])
            known = right, true[place], SimpleNamespace(**cases[place][1])
            found.append((near, place, near.alter(*known), near.other(*known)))
    return found


def misplaced(name, question, cases, truths):
    """Answers beside borders that get another hint than they should."""
    part = next(iter(question.parts))
    for near, place, answer, other in borders(name):
        if near.question == question.name:
            arguments = cases[place][1] | other
            hints = question.marks([(part, arguments)], [truths[place]], [answer])[1]
            if hints.get(part) != near.hint:
                yield cases[place][0], near, hints.get(part)


def test_an_answer_beside_a_border_is_on_its_side(name):
    for question in read(name).questions.values():
        cases, true = drawn(name)[question.name], truths(name)[question.name]
        assert list(misplaced(name, question, cases, true)) == []


def judging(trees, wanted):
    """Of what stands at the top, what is wanted by name, or what that uses, directly or not."""
    known = {}
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.FunctionDef):
            known.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known.setdefault(node.targets[0].id, []).append(node)
    reached = []
    while found := [node for name in wanted for node in known.get(name, []) if node not in reached]:
        reached += found
        nodes = [node for one in found for node in ast.walk(one)]
        wanted = {node.id for node in nodes if isinstance(node, ast.Name)}
    return reached


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A place of the hidden code where one constant is another."""

    cell: int
    block: str
    node: ast.Constant
    value: float
    in_truth: bool  # else only the judge uses it

    @property
    def line(self):
        return self.block.splitlines()[self.node.lineno - 1].strip()

    def __str__(self):
        return f"{self.node.value} -> {self.value:g} in: {self.line}"


def mutants(name):
    """Each constant by which answers are judged, one larger; tolerances ten times wider, or less.

    The constants that only draw cases are left alone: with other cases the grader is as right.
    """
    blocks = [
        (place, block, ast.parse(block))
        for place, cell in enumerate(read(name).notebook.cells)
        for block in sources.HIDDEN.findall(cell.source)
    ]
    trees = [tree for *_, tree in blocks]
    in_truth, judges = judging(trees, {"truth"}), judging(trees, {"truth", "judge"})
    for place, block, tree in blocks:
        for top in (node for node in tree.body if node in judges):
            for node in ast.walk(top):
                if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                    values = [node.value + 1]
                    if 0 < node.value <= LARGEST_TOLERANCE:
                        values = [10 * node.value, node.value / 10]
                    for value in values:
                        yield Mutant(place, block, node, value, top in in_truth)


def mutated(name, mutant):
    """The assignment with another constant in one place of what judges."""
    tree = ast.parse(mutant.block)
    where = mutant.node.lineno, mutant.node.col_offset
    for other in ast.walk(tree):
        if isinstance(other, ast.Constant) and (other.lineno, other.col_offset) == where:
            other.value = mutant.value
    notebook = nbformat.from_dict(read(name).notebook)
    notebook.cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    source = notebook.cells[mutant.cell].source
    notebook.cells[mutant.cell].source = source.replace(mutant.block, ast.unparse(tree))
    return sources.assignment(name, notebook)


def is_noticed(name, mutant):
    """Whether an answer of the catalogues gets another hint, or the grader fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = read(name).notebook.cells
        own = cells[mutant.cell].metadata["nbgrader"]["grade_id"].removesuffix("-marks")
        questions = mutated(name, mutant).questions.items()
        later = itertools.dropwhile(lambda one: one[0] != own, questions)
        return any(differs(name, question, mutant.in_truth) for _, question in later)


@functools.cache
def answered(name, question):
    """What was answered to a question, each answer once, with the points and hints it gets."""
    found = {}
    for label in ("reference", *wrong(name)):
        answers, given = collected(name, label)["answers"][question], marked(name, label)
        found[json.dumps(answers)] = (
            [compare.answer(one) for one in answers],
            (given.points[question], given.hints[question]),
        )
    return list(found.values())


def differs(name, question, anew):
    """Whether a question gives other hints than it should; what is right is found anew or not."""
    cases, true = drawn(name)[question.name], truths(name)[question.name]
    if anew:
        try:
            true = [question.truth(**arguments) for _, arguments in cases]
        except Exception:
            return True
    return any(misplaced(name, question, cases, true)) or any(
        question.marks(cases, true, answers) != marks
        for answers, marks in answered(name, question.name)
    )


def test_a_wrong_constant_in_a_grader_is_noticed(name):
    """All of them, but for those that are catalogued, with the reason why no mark depends on it."""
    found = list(mutants(name))
    assert not is_noticed(name, dataclasses.replace(found[0], value=found[0].node.value))
    unnoticed = [mutant for mutant in found if not is_noticed(name, mutant)]
    free = catalogue(name).FREE
    assert [str(mutant) for mutant in unnoticed if mutant.line not in free] == []
    assert free.keys() == {mutant.line for mutant in unnoticed}


# ---------------------------------------------------------------- what is handed out


def test_marks_add_up_and_words_are_two_fifths(name):
    assignment = read(name)
    words = sum(manual.points for manual in assignment.manual)
    assert assignment.worth == 100 and words >= 40
    text = "\n".join(cell.source for cell in assignment.notebook.cells)
    assert re.search(r"Oral questions: \(1\).*\(2\).*\(3\)", text, re.S)
    for said in ("AI tools", "Reading", "The picture in words", "Hand in"):
        assert said in text
    minutes = [int(n) for n in re.findall(r"Reading (\d+) minutes, working (\d+)", text)[0]]
    assert sum(minutes) == assignment.notebook.metadata["coursework"]["minutes"]


def test_every_solution_and_hidden_mark_has_the_canary(name):
    text = "\n\n".join(cell.source for cell in read(name).notebook.cells)
    secret = re.findall(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", text, re.S)
    assert len(secret) >= 2 * len(read(name).questions) + len(read(name).manual)
    assert all(sources.CANARY in part for part in secret)


def test_own_numbers_are_plain_and_belong_to_the_student(name):
    first, again, other = (read(name).own_numbers(who) for who in ("ab123", " AB123", "cd"))
    assert first == again != other
    assert json.loads(json.dumps(first)).keys() == first.keys()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-index", "--no-deps", "--no-build-isolation", "-q", "-w", folder, ROOT]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def archives(wheel, tmp_path_factory):
    """The archives for students and instructors."""
    folder = tmp_path_factory.mktemp("archives")
    for kind in release.SECTIONS:
        assignments = [read(name) for name in NAMES]
        release.archive(folder / f"{kind}.zip", kind, assignments, wheel, wheel.name.split("-")[1])
    return folder


def texts_of(archive):
    with zipfile.ZipFile(archive) as zipped:
        return {name: zipped.read(name).decode("utf-8", "replace") for name in zipped.namelist()}


def test_students_get_no_solution(archives, wheel):
    student = texts_of(archives / "student.zip")
    names = {name.partition("/")[2] for name in student}
    assert names == {"README.md", "check_setup.py", wheel.name, *(f"{n}.ipynb" for n in NAMES)}
    assert not [name for name, text in student.items() if sources.CANARY in text]
    instructor = texts_of(archives / "instructor.zip")
    assert sum(sources.CANARY in text for text in instructor.values()) == len(NAMES)


def test_no_canary_leaves_the_repository(wheel, tmp_path):
    """Neither with the site, its sources and its search index, nor with wheel and sdist."""
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built")
    code = (
        "from flit_core.buildapi import build_sdist; print(build_sdist(__import__('sys').argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=True)
    sdist = next(tmp_path.glob("*.tar.gz"))
    subprocess.run(["tar", "-xzf", sdist, "-C", tmp_path], check=True)
    with zipfile.ZipFile(wheel) as zipped:
        zipped.extractall(tmp_path / "wheel")
    files = [file for folder in (SITE, tmp_path) for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 200
    secret = sources.CANARY.encode()
    assert not [file for file in files if secret in file.read_bytes()]
    assert (SITE / "searchindex.js") in files
    assert any("_sources" in file.parts for file in files)


def test_the_setup_check_says_ok(archives, tmp_path):
    with zipfile.ZipFile(archives / "student.zip") as zipped:
        zipped.extractall(tmp_path)
    script = next(tmp_path.rglob("check_setup.py"))
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"OK: fsnotes \S+, Python \S+\n", said.stdout)
    script.write_text(script.read_text().replace("WANTED = '", "WANTED = '9"))
    said = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert said.returncode == 1 and said.stdout.startswith("NOT YET: fsnotes is")


# ---------------------------------------------------------------- for those who run nbgrader


NBGRADER = """
import shutil, sys
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

api = NbGraderAPI(config=Config({
    "CourseDirectory": {"course_id": "course", "root": "."},
    "ClearSolutions": {"enforce_metadata": True},
    "NbGrader": {"log_level": "ERROR"},
}))
name = sys.argv[1]


def succeed(done):
    done["success"] or sys.exit(done["log"] + done["error"])


succeed(api.generate_assignment(name))
for student, folder in (("right", "source"), ("idle", "release")):
    shutil.copytree(f"{folder}/{name}", f"submitted/{student}/{name}")
    succeed(api.autograde(name, student))
"""


def test_nbgrader_generates_and_grades(name, tmp_path, monkeypatch):
    # it calls a program of the environment by name
    beside = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", os.pathsep.join([beside, os.environ.get("PATH", "")]))
    source = tmp_path / "source" / name
    source.mkdir(parents=True)
    (source / f"{name}.ipynb").write_text(release.notebook_text(read(name), "instructor"))
    command = [sys.executable, "-W", "ignore", "-c", NBGRADER, name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    student = (tmp_path / "release" / name / f"{name}.ipynb").read_text()
    assert sources.CANARY not in student and "YOUR CODE HERE" in student
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        scores = {
            s.student.id: sum(n.code_score for n in s.notebooks)
            for s in book.assignment_submissions(name)
        }
    code = sum(question.worth for question in read(name).questions.values())
    assert scores == {"right": code, "idle": 0}
