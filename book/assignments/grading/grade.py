"""Grade what was handed in: collect, then compare, then write tables and feedback."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from grading import collect, jail, probe, report, tables
from grading.collect import CELL_SECONDS, CELLS_SECONDS, LEVELS, best_level, collected, plain
from grading.compare import marks
from grading.hand_in import handed_in, same
from grading.sources import ROOT, names, read

MEANINGS = {
    "full": "no network, nothing of this machine but Python, limits of time, memory and processes",
    "limits": "limits of time, memory and processes; it can read your files and use the network",
    "time": "a limit of time; it can do what you can do",
}


OUT_OF_TIME = f"is out of time ({CELL_SECONDS} s for one, {CELLS_SECONDS} s for all)"
ENDED = {"time": "stopped: out of time", "output": "stopped: too much output"}


class Refused(Exception):
    """Something is missing or not allowed, and what to do."""


def seed_of(file):
    """The grading seed in a file outside the repository."""
    file = Path(file).resolve()
    if ROOT in file.parents:
        raise Refused(f"{file} lies in the repository, whose files are public; keep it elsewhere")
    try:
        return int(file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        raise Refused(
            f"no whole number could be read from {file}; make one with new-course DIR"
        ) from None


def level_to_use(wanted):
    """The level of isolation, the best one of this machine unless a lower one is asked for."""
    best = best_level()
    if wanted is None:
        if best != LEVELS[0]:
            raise Refused(
                f"this machine reaches only the isolation {best!r} ({MEANINGS[best]}), since it "
                f"has no user namespaces; to grade all the same, pass --isolation {best}"
            )
        return best
    if LEVELS.index(wanted) < LEVELS.index(best):
        raise Refused(f"this machine does not reach the isolation {wanted!r}, but {best!r}")
    return wanted


def grade(submissions, seed, out, overlay=None, assignment_seed=None, **options):
    """Grade a folder or archive, and write ``grades.csv``, ``manual.csv`` and ``feedback/``.

    Parameters
    ----------
    submissions : path-like
    seed : int
        Of the cases.
    out : Path
    overlay : path-like, optional
    assignment_seed : int, optional
    options
        ``only``, ``jobs``, ``isolation``, ``id_pattern``.

    Returns
    -------
    list of dict
        Rows of ``grades.csv``.
    """
    if (
        out.resolve() == Path(submissions).resolve()
        or Path(submissions).resolve() in out.resolve().parents
    ):
        raise Refused(f"{out} lies in {submissions}: pass --out with another folder")
    assignments = {name: read(name, overlay, assignment_seed) for name in names(overlay)}
    found = handed_in(submissions, assignments, options.get("id_pattern"))
    if not found:
        raise Refused(f"there is no file in {submissions}")
    only = same(options.get("only") or "")
    if only and only not in {same(one.student) for one in found}:
        raise Refused(f"nobody is {options['only']!r}; there are {students_of(found)}")
    level = level_to_use(options.get("isolation"))
    used = {one.assignment for one in found if not one.problem}
    drawn = {a: {q.name: q.drawn(seed) for q in assignments[a].questions.values()} for a in used}
    truths = {
        a: {
            q.name: [q.truth(**arguments) for _, arguments in drawn[a][q.name]]
            for q in assignments[a].questions.values()
        }
        for a in used
    }
    (out / "collected").mkdir(parents=True, exist_ok=True)
    (out / "feedback").mkdir(exist_ok=True)

    def answers_of(one):
        key = fingerprint(one, assignments[one.assignment], drawn[one.assignment], level)
        file = out / "collected" / f"{key}.json"
        if only and same(one.student) != only and not file.is_file():
            return None
        try:
            return kept(file, assignments[one.assignment], one.cells, drawn[one.assignment], level)
        except Exception as error:  # of one, which must not stop the others
            return f"it could not be run ({type(error).__name__})"

    readable = [one for one in found if not one.problem]
    with ThreadPoolExecutor(options.get("jobs") or 1) as pool:
        jobs = pool.map(answers_of, readable)
        results = dict(
            zip(
                [one.file for one in readable],
                tqdm(jobs, total=len(readable), desc="grading", unit="notebook"),
                strict=True,
            )
        )
    wanted = words_to_mark(readable, assignments)
    handed_in_keys = {report.key_of(row) for row in wanted}
    manual = report.merge_manual(out / "manual.csv", wanted)
    columns = dict.fromkeys(
        (*report.MANUAL, *report.FILLED, *(n for r in manual.values() for n in r))
    )
    file = out / "manual.csv"
    separator = tables.read_table(file).separator if file.is_file() else ","
    tables.write_table(file, tuple(columns), list(manual.values()), separator, report.NUMBERS)
    nobody = [row for k, row in manual.items() if k not in handed_in_keys]
    if nobody:
        print(f"{len(nobody)} marked rows of manual.csv belong to nothing that was handed in:")
        for row in nobody[:10]:
            print(f"  {row['student']} {row['assignment']} {row['grade_id']}")
    rows, pages = [], {}
    before = grades_before(out / "grades.csv") if only else {}
    for one in found:
        result = results.get(one.file)
        if result is None and not one.problem and one.file in before:
            rows.append(before[one.file])
            continue
        if not isinstance(result, dict):
            status = one.problem or result or "not graded yet"
            rows.append(
                {
                    "student": one.student,
                    "assignment": one.assignment,
                    "file": one.file,
                    "status": status,
                    "notes": "; ".join(one.notes),
                }
            )
            title = assignments[one.assignment].title if one.assignment else one.file
            entry = {"title": title, "problem": status}
        else:
            a = one.assignment
            given = marks(assignments[a], drawn[a], truths[a], result)
            row, entry = marked(one, assignments[a], given, result, manual)
            rows.append(row)
        if one.student and (one.problem or result is not None):
            pages.setdefault(one.student, []).append(entry)
    tables.write_table(out / "grades.csv", report.GRADES, rows, separator, report.NUMBERS)
    written = set()
    for student, entries in pages.items():
        file = out / "feedback" / report.file_name(student)
        file.write_text(report.feedback(student, entries), encoding="utf-8")
        written.add(file)
    if not only:
        for file in set((out / "feedback").glob("*.html")) - written:
            file.unlink()  # of files that are there no more
    return rows


def grades_before(file):
    """Rows of the table that an earlier run wrote, by file."""
    if not file.is_file():
        return {}
    table = tables.read_table(file)
    tables.need(table.columns, report.GRADES, file)
    rows = table.dicts()
    for row in rows:
        if table.separator == ";":
            row |= {name: row[name].replace(",", ".") for name in report.NUMBERS if name in row}
        row["to_mark"] = int(row["to_mark"] or 0)
    return {row["file"]: row for row in rows}


def students_of(found):
    return ", ".join(sorted({one.student for one in found if one.student})[:20])


def fingerprint(one, assignment, drawn, level):
    """Of everything on which answers and flags depend, the grader itself among it."""
    cases = {name: [plain(list(a.values())) for _, a in found] for name, found in drawn.items()}
    about = [one.assignment, assignment.solvers, assignment.texts, one.cells, cases, level]
    grader = [
        Path(module.__file__).read_text(encoding="utf-8") for module in (collect, jail, probe)
    ]
    text = json.dumps([*about, *grader])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def kept(file, *submission):
    """What was collected before and is in a file, or what is collected now and put there."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass  # not there, or not whole
    result = collected(*submission)
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(f".{id(submission)}")
    scratch.write_text(json.dumps(result), encoding="utf-8")
    scratch.replace(file)
    return result


def words_to_mark(found, assignments):
    """Rows of ``manual.csv`` for what has been handed in."""
    rows = []
    for one in found:
        assignment = assignments[one.assignment]
        try:
            numbers = own_numbers(assignment, one.said)
        except Exception as error:  # for one student, who is marked all the same
            numbers = f"could not be computed: {error}"
        for manual in assignment.manual:
            rows.append(
                {
                    "student": one.student,
                    "assignment": one.assignment,
                    "grade_id": manual.grade_id,
                    "most": report.short(manual.points),
                    "rubric": " | ".join(f"({points}) {text}" for points, text in manual.rubric),
                    "own_numbers": numbers,
                    "answer": report.shortened(one.words.get(manual.grade_id, "")),
                }
            )
    return rows


def own_numbers(assignment, student):
    if assignment.own_numbers is None:
        return ""
    found = assignment.own_numbers(student)
    return "\n".join(f"{name}: {shown(value)}" for name, value in found.items())


def shown(value):
    """A number with four digits, also within lists."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)


def marked(one, assignment, given, result, manual):
    """A row of the table and an entry of the feedback."""
    lines, words, to_mark = [], 0.0, 0
    for question in assignment.questions.values():
        for part, most in question.parts.items():
            points = given.points[question.name][part]
            hint = given.hints[question.name].get(part, "")
            lines.append((question.name, part, points, most, hint))
    for answer in assignment.manual:
        row = manual[report.key(one.student, one.assignment, answer.grade_id)]
        points = float(row["points"]) if row["points"] else None
        to_mark += points is None
        words += points or 0
        lines.append(("in words", answer.title, points, answer.points, row["comment"]))
    code_most = sum(q.worth for q in assignment.questions.values())
    told = []
    if result["ended"]:
        told.append(ENDED.get(result["ended"], "it ended Python before its end"))
    for place, error in result["errors"].items():
        grade_id = one.cells[int(place)][0]
        name = grade_id.removesuffix("-form")
        what = name if grade_id == name else f"the check of {name}"
        cell = f"code cell {int(place) + 1}" + (
            f" ({what})" if name in assignment.questions else ""
        )
        told.append(f"{cell} {OUT_OF_TIME if error == 'OutOfTime' else f'raises {error}'}")
    row = {
        "student": one.student,
        "assignment": one.assignment,
        "file": one.file,
        "status": "handed in twice" if any("more than once" in n for n in one.notes) else "graded",
        "isolation": result["level"],
        "code": report.short(given.total),
        "code_most": report.short(code_most),
        "words": report.short(words),
        "words_most": report.short(assignment.worth - code_most),
        "total": report.short(given.total + words),
        "most": report.short(assignment.worth),
        "to_mark": to_mark,
        "flags": " ".join(f"calls {name}" for name in result["flags"]),
        "notes": "; ".join([*one.notes, *told]),
        "detail": "; ".join(
            f"{q}: {report.short(sum(parts.values()))}" for q, parts in given.points.items()
        ),
    }
    if same(one.said) != same(one.student):
        told = ["its STUDENT is not the identity by which it was handed in", *told]
    entry = {
        "file": one.file,
        "twice": row["status"] != "graded",
        "title": assignment.title,
        "problem": "",
        "told": told,
        "lines": lines,
        "total": given.total + words,
        "most": assignment.worth,
        "whole": not to_mark,
    }
    return row, entry
