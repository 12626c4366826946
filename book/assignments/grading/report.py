"""Tables of marks, what is to be marked by hand, feedback, and a platform's gradebook."""

import csv
import html
import io
import itertools
import operator
import re
from pathlib import Path

from grading.hand_in import same, word

MANUAL = ("student", "assignment", "grade_id", "most", "rubric", "own_numbers", "answer")
# the last one is what was given to an answer that has changed since
FILLED = ("points", "comment", "earlier")
NO_ANSWER = "no answer"
GRADES = (
    "student",
    "assignment",
    "file",
    "status",
    "isolation",
    "code",
    "code_most",
    "words",
    "words_most",
    "total",
    "most",
    "to_mark",
    "flags",
    "notes",
    "detail",
)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
csv.field_size_limit(2**31 - 1)  # an answer in words is longer than what is usual in a table
FORMULA = ("=", "+", "-", "@", "\t", "\r")
LONGEST = 30_000  # characters of an answer in words; a spreadsheet's cell holds 32767

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>{title}</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem;
         margin: 2rem auto; padding: 0 1rem; }}
  table {{ border-collapse: collapse; width: 100%; overflow-wrap: break-word; }}
  th[colspan] {{ padding-top: 1.2rem; }}
  th, td {{ text-align: left; padding: .3rem .4rem; vertical-align: top;
            border-bottom: 1px solid #8888; }}
  td.points {{ text-align: right; white-space: nowrap; }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def harmless(text):
    """Text that a spreadsheet does not take for a formula."""
    text = str(text)
    return f"'{text}" if text.startswith(FORMULA) else text


def short(number):
    return f"{number:g}"


def shortened(answer):
    """An answer that fits into a cell of a table, and says so where it had to be cut."""
    more = len(answer) - LONGEST
    return answer if more <= 0 else f"{answer[:LONGEST]} [... and {more} characters more]"


def write_table(file, columns, rows, separator=","):
    """Write a table, in whole or not at all; where semicolons separate, numbers have commas."""

    def cell(value):
        text = harmless(value)
        is_number = separator == ";" and re.fullmatch(r"\d+\.\d+", text)
        return text.replace(".", ",") if is_number else text

    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", delimiter=separator)
    table.writeheader()
    table.writerows({key: cell(value) for key, value in row.items()} for row in rows)
    scratch = file.with_name(file.name + ".new")
    scratch.write_text(text.getvalue(), encoding="utf-8-sig", newline="")
    scratch.replace(file)


def separator_of(file):
    """What a table is separated by that a spreadsheet may have saved; a comma if there is none."""
    return read_table(file)[2] if file.is_file() else ","


def read_table(file):
    """Rows of a table and its head, whatever it is separated by and a spreadsheet made of it."""
    content = file.read_bytes()
    try:
        text = content.decode("utf-16" if content[:2] in UTF_16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    first, *rows = [row for row in table if any(row)] or [[]]
    return [row + [""] * (len(first) - len(row)) for row in rows], first, separator


# ---------------------------------------------------------------- marked by hand


def as_written(text):
    """Text from a table, without what kept a spreadsheet from taking it for a formula."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text


def key(student, assignment, grade_id):
    """What tells answers apart, whatever a spreadsheet did to the identity of a student."""
    student = same(as_written(student))
    student = student.lstrip("0") if student.isdigit() else student
    return student.encode("cp1252", "replace"), assignment, grade_id


def key_of(row):
    return key(row["student"], row["assignment"], row["grade_id"])


def told_apart(columns, count):
    """Heads of so many columns, with a number where one is empty or comes again."""
    found = []
    for place in range(count):
        head = columns[place] if place < len(columns) else ""
        found.append(f"{head or 'column'} {place + 1}" if not head or head in found else head)
    return found


def merge_manual(file, wanted):
    """Rows to be marked by hand, with what has been filled in; none of that is ever lost.

    Parameters
    ----------
    file : Path
        It need not exist.
    wanted : list of dict
        Rows for what has been handed in.

    Returns
    -------
    dict
        By `key`.
    """
    old = {}
    if file.is_file():
        rows, columns, _ = read_table(file)
        missing = [name for name in (*MANUAL[:3], *FILLED[:2]) if name not in columns]
        if missing:
            raise ValueError(f"{file} has no column {', '.join(missing)}; put them back")
        columns = told_apart(columns, max(map(len, [columns, *rows])))
        rows = [dict(zip(columns, map(as_written, row), strict=False)) for row in rows]
        old = {}
        for row in rows:
            old[key_of(row)] = one_of(old.get(key_of(row), row), row)
        file.with_name("manual-before.csv").write_bytes(file.read_bytes())
    merged = {}
    for row in wanted:
        row = {name: str(value) for name, value in row.items()}
        key = key_of(row)
        if key in merged:
            # handed in twice: whoever marks sees both
            answer = f"{merged[key]['answer']}\n[also handed in:]\n{row['answer']}"
            merged[key]["answer"] = shortened(answer)
        else:
            merged[key] = row
    for key, row in merged.items():
        kept = old.pop(key, {})
        row |= filled_in(kept, row["answer"])
        row |= {name: value for name, value in kept.items() if name not in row}
    filled = {k: row for k, row in old.items() if any(row.get(name, "").strip() for name in FILLED)}
    for row in [*merged.values(), *filled.values()]:
        row["points"] = checked_points(row)
    return merged | filled


def one_of(first, second):
    """Of two rows for one answer, the one that is filled in; an error if both are, differently."""
    marks = [[row.get(name, "").strip() for name in FILLED[:2]] for row in (first, second)]
    if all(map(any, marks)) and marks[0] != marks[1]:
        raise ValueError(
            f"manual.csv, {first['student']}, {first['grade_id']}: two rows with other points or "
            "comments; keep one"
        )
    return second if any(marks[1]) else first


def filled_in(old, answer):
    """What a person has filled in, unless the answer is another one by now."""
    points, comment, earlier = (old.get(name, "").strip() for name in FILLED)
    if comment == NO_ANSWER and points not in ("", "0"):
        comment = ""
    if not points and not answer:
        return {"points": "0", "comment": comment or NO_ANSWER, "earlier": earlier}
    if points and "answer" in old and essence(old["answer"]) != essence(answer):
        mark = f"{points} {comment}".strip()
        earlier = f"{earlier} | {mark}".strip(" |") if comment != NO_ANSWER else earlier
        points = comment = ""
    return {"points": points, "comment": comment, "earlier": earlier}


def essence(text):
    """A text without what a spreadsheet may change."""
    return re.sub(r"[\s']", "", text).encode("cp1252", "replace")


def checked_points(row):
    """Points as filled in, or an error that says where they make no sense."""
    text = row["points"].strip().replace(",", ".")
    if not text:
        return ""
    try:
        points = float(text)
    except ValueError:
        points = float("nan")
    if not 0 <= points <= float(row.get("most") or "inf"):
        raise ValueError(
            f"manual.csv, {row['student']}, {row['grade_id']}: {row['points']!r} points; write a "
            f"number from 0 to {row.get('most')}"
        )
    return short(points)


# ---------------------------------------------------------------- feedback


def feedback(student, entries):
    """A page for one student: marks and hints, nothing that the student wrote, and no test.

    Parameters
    ----------
    student : str
    entries : list of dict
        With the title of an assignment, what happened to the notebook, its lines of code and of
        words, and its total.
    """
    body = []
    for entry in entries:
        body.append(f"<h2>{html.escape(entry['title'])}</h2>")
        if entry["problem"]:
            body.append(f"<p>Not marked: {html.escape(entry['problem'])}.</p>")
            continue
        if entry["twice"]:
            body.append(f"<p>Handed in more than once; this is {html.escape(entry['file'])}.</p>")
        if entry["told"]:
            body.append(f"<p>Your notebook: {html.escape('; '.join(entry['told']))}.</p>")
        open_ = "" if entry["whole"] else ", so far"
        body.append(f"<p>{short(entry['total'])} of {short(entry['most'])} points{open_}.</p>")
        body.append("<table><tr><th>Part<th>Points<th>Hint or comment</tr>")
        for task, lines in itertools.groupby(entry["lines"], operator.itemgetter(0)):
            body.append(f'<tr><th colspan="3">{html.escape(task)}</tr>')
            for _, part, points, most, hint in lines:
                given = "not yet" if points is None else f"{short(points)} of {short(most)}"
                cells = html.escape(part), f'<td class="points">{given}', html.escape(hint)
                body.append("<tr><td>{}{}<td>{}</tr>".format(*cells))
        body.append("</table>")
    return PAGE.format(title=f"Marks of {html.escape(student)}", body="\n".join(body))


def file_name(student):
    """A name of a file that is safe and tells students apart."""
    plain = re.sub(r"[^A-Za-z0-9_.@-]", "_", student).lstrip(".")[:60]
    if plain == student and plain == plain.lower() and not re.search(r"-[0-9a-f]{8}$", plain):
        return f"{plain}.html"
    import zlib

    return f"{plain}-{zlib.crc32(student.encode()):08x}.html"


# ---------------------------------------------------------------- a platform's gradebook


def fill(exported, key, totals, titles, out):
    """Write marks into a copy of a gradebook that a platform exported.

    Parameters
    ----------
    exported : Path
    key : str
        Column that names the student.
    totals : dict
        Points by student and assignment.
    titles : dict
        Of assignments; a column with one, or with an assignment's name, takes its points, and
        otherwise a new one does.
    out : Path

    Returns
    -------
    list of str
        What could not be filled in.
    """
    rows, columns, separator = read_table(exported)
    if columns.count(key) != 1:
        raise ValueError(
            f"{exported.name} has {columns.count(key)} columns {key!r}; pass --key, one of "
            f"{columns}"
        )
    # where commas are in numbers, a table is separated by something else
    points = any(re.fullmatch(r"\s*\d+\.\d+\s*", cell) for row in rows for cell in row)
    point = "," if separator == ";" and not points else "."
    places, said = {}, []
    for name in sorted({name for _, name in totals}):
        fits = [
            place
            for place, column in enumerate(columns)
            if (titles[name].lower() in column.lower() or word(name).search(column))
            and column != key
        ]
        others = [columns[at] for at in fits if not all(is_mark(row[at]) for row in rows)]
        fits = [at for at in fits if columns[at] not in others]
        # one platform exports each mark as a number, as a share and as a letter
        fits = [at for at in fits if columns[at].endswith("(Real)")][:1] or fits
        if len(fits) != 1:
            why = f"{len(fits)} columns fit {name}"
            if others:
                why += f" ({', '.join(others)}: left alone, since not all in it are numbers)"
            head = titles[name] if titles[name] not in columns else f"{titles[name]} (points)"
            columns.append(head)
            said.append(f"{why}; a new one is added, {head!r}")
            rows = [[*row, ""] for row in rows]
            fits = [len(columns) - 1]
        places[name] = fits[0]
    ids = [same(row[columns.index(key)]) for row in rows]
    for (student, name), points in sorted(totals.items()):
        if ids.count(same(student)) == 1:
            rows[ids.index(same(student))][places[name]] = short(points).replace(".", point)
        else:
            times = ids.count(same(student))
            where = f"is {times} times in" if times else "is not in"
            said += [line for line in [f"{student} {where} {exported.name}"] if line not in said]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows([columns, *rows])
    Path(out).write_text(text.getvalue(), encoding="utf-8-sig", newline="")
    return said


def is_mark(text):
    """Whether a cell of a gradebook is empty or holds a number."""
    return not text.strip().strip("-") or re.fullmatch(r"\s*\d+([.,]\d+)?\s*", text) is not None
