"""What is handed out, an archive for students and one for instructors; tried out before."""

import json
import zipfile

import nbformat

from fsnotes.notebook.coursework import Wrong
from grading import hand_in, sources
from grading.collect import collected
from grading.compare import answer, marks
from grading.grade import fingerprint, kept, own_numbers
from grading.sources import Broken, blamed

INSIDE = "feature-selection-assignments"
SECTIONS = {"student": sources.student_version, "instructor": lambda a: a.notebook}

CHECK_SETUP = '''"""Say in one line whether everything is in place: it begins with OK."""

import sys

WANTED = {version!r}


def check():
    if sys.version_info < (3, 11):
        return "Python {{}}.{{}} is too old: install 3.11 or newer".format(*sys.version_info)
    hint = 'run: python -m pip install "{wheel}[coursework]"'
    try:
        import cvxpy
        import fsnotes
        import jupyterlab  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        return f"{{error.name}} is missing; {{hint}}"
    if fsnotes.__version__ != WANTED:
        return f"fsnotes is {{fsnotes.__version__}}, and {{WANTED}} is wanted; {{hint}}"
    from fsnotes.notebook.coursework import own_rng

    own_rng("ab123", 1).random()
    x = cvxpy.Variable()
    value = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(x - 2)), [x <= 1]).solve(solver="CLARABEL")
    return "" if abs(value - 1) < 1e-6 else f"a small problem was solved wrongly: {{value}}"


problem = check()
python = sys.version.split()[0]
print(f"NOT YET: {{problem}}" if problem else f"OK: fsnotes {{WANTED}}, Python {{python}}")
sys.exit(bool(problem))
'''

README = """# Assignments of Feature Selection Notes

Set up, in this folder, once:

    python3 -m venv .venv
    .venv/bin/python -m pip install "{wheel}[coursework]"      (Windows: .venv\\Scripts\\python)
    .venv/bin/python check_setup.py

The last one prints a line that begins with OK. Then open an assignment with

    .venv/bin/python -m jupyterlab

{listing}

Write your identity into the cell `STUDENT = ...` first: your data depend on it. Hand in the
notebook under its name, after *Restart kernel and run all cells*.
"""


INSTRUCTOR = """# Assignments of Feature Selection Notes, with solutions

Not for students. The folder `source` is laid out as that of an nbgrader course:

{listing}

Solutions stand between `### BEGIN SOLUTION` and `### END SOLUTION`, rubrics in the answers in
words, and three questions to ask in person at the end of the last one. The word that begins with
`canary` is there so that a search for it finds a solution wherever it should not be.
"""


def notebook_text(assignment, kind):
    """A notebook as the text of a file, the same each time."""
    notebook = nbformat.from_dict(json.loads(nbformat.writes(SECTIONS[kind](assignment))))
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"{assignment.name}-{place}"
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def archive(file, kind, assignments, wheel, version):
    """Write the archive of one kind.

    Parameters
    ----------
    file : Path
    kind : {"student", "instructor"}
    assignments : list of Assignment
    wheel : Path
    version : str
    """
    # as nbgrader lays out a course, for instructors
    folder = "source/{0}/" if kind == "instructor" else ""
    files = {f"{folder.format(a.name)}{a.name}.ipynb": a for a in assignments}
    listing = "\n".join(f"- `{file}`: {a.title}" for file, a in files.items())
    readme = README if kind == "student" else INSTRUCTOR
    texts = {
        "README.md": readme.format(wheel=wheel.name, listing=listing),
        "check_setup.py": CHECK_SETUP.format(version=version, wheel=wheel.name),
    }
    texts |= {file: notebook_text(a, kind) for file, a in files.items()}
    contents = {name: text.encode() for name, text in texts.items()}
    contents[wheel.name] = wheel.read_bytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in sorted(contents.items()):
            # a fixed date, so that the same sources give the same archive
            entry = zipfile.ZipInfo(f"{INSIDE}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            zipped.writestr(entry, content)


def own_solution(assignment):
    """The notebook with its solutions, as a student would hand it in."""
    notebook = json.loads(notebook_text(assignment, "instructor"))
    for cell in notebook["cells"]:
        cell["source"] = sources.HIDDEN.sub("", "".join(cell["source"]))
    content, name = json.dumps(notebook).encode(), assignment.name
    return hand_in.one(f"own/{name}.ipynb", content, {name: assignment}, None)


def try_out(assignment, seed, level, folder=None):
    """Grade an assignment's own solution, and raise `Broken` unless it gets full marks.

    Parameters
    ----------
    assignment : Assignment
    seed : int
        Of the cases.
    level : str
        Of isolation.
    folder : Path, optional
        Where answers are kept, and taken from while nothing has changed on which they depend.
    """
    where, one = assignment.where, own_solution(assignment)
    if one.problem:
        raise Broken(f"{where}: its own solution cannot be graded, {one.problem}; mend it")
    with blamed(where, "let own_numbers return a dict"):
        own_numbers(assignment, "ab123")
    questions = {question.name: question for question in assignment.questions.values()}
    with blamed(where, "mend its parts and cases"):
        drawn = {name: question.drawn(seed) for name, question in questions.items()}
        key = fingerprint(one, assignment, drawn, level)
    truths = {
        name: [question.truth(**arguments) for _, arguments in drawn[name]]
        for name, question in questions.items()
    }
    submission = assignment, one.cells, drawn, level
    found = kept(folder / f"{key}.json", *submission) if folder else collected(*submission)
    if found["flags"]:
        print(
            f"{where}: its own solution calls {', '.join(found['flags'])}; whoever does the same "
            "is flagged"
        )
    hints = marks(assignment, drawn, truths, found).hints
    for name, part, hint in ((n, p, hint) for n in hints for p, hint in hints[n].items()):
        lost = f"its own solution loses the part {part!r} of {name}"
        for (case, arguments), true, event in zip(
            drawn[name], truths[name], found["answers"][name], strict=True
        ):
            if case == part and "answer" in event:
                try:
                    questions[name].judge(answer(event), true, **arguments)
                except Broken as error:
                    raise Broken(f"{error}, since {lost} by it") from error
                except Wrong:
                    break
        errors = "".join(f"; code cell {int(n) + 1} raises {e}" for n, e in found["errors"].items())
        raise Broken(
            f"{where}: {lost} ({hint}{errors}); run the notebook, and mend the solution, or what "
            "judges it"
        )
