"""What is to be marked by hand, and what students are told."""

import html
import itertools
import operator
import re
import unicodedata

from grading.hand_in import same
from grading.tables import need, read_table

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
NUMBERS = ("code", "code_most", "words", "words_most", "total", "most", "points")
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


def short(number):
    return f"{number:g}"


def shortened(answer):
    """An answer that fits into a cell of a table, and says so where it had to be cut."""
    more = len(answer) - LONGEST
    return answer if more <= 0 else f"{answer[:LONGEST]} [... and {more} characters more]"


# ---------------------------------------------------------------- marked by hand


def key(student, assignment, grade_id):
    """What tells answers apart."""
    return same(student), assignment, grade_id


def key_of(row):
    return key(row["student"], row["assignment"], row["grade_id"])


def blurred(key):
    """A key by what no spreadsheet changes: neither leading zeros nor letters beyond ASCII."""
    student, *rest = key
    student = student.lstrip("0") if student.isdigit() else student
    return re.sub(r"[^\x00-\x7f]", "?", student), *rest


def rows_kept(file):
    """Rows of an earlier table by `key`, and whether its letters are as they were."""
    if not file.is_file():
        return {}, True
    table = read_table(file)
    need(table.columns, (*MANUAL[:3], "answer", *FILLED[:2]), file)
    found = {}
    for row in table.dicts():
        found[key_of(row)] = one_of(found.get(key_of(row), row), row)
    file.with_name("manual-before.csv").write_bytes(file.read_bytes())
    return found, table.is_unicode


def rows_by_key(wanted):
    """Rows by `key`, those of one student for one question together."""
    found = {}
    for row in wanted:
        row = {name: str(value) for name, value in row.items()}
        if (key := key_of(row)) in found:
            # handed in twice: whoever marks sees both
            answer = f"{found[key]['answer']}\n[also handed in:]\n{row['answer']}"
            found[key]["answer"] = shortened(answer)
        else:
            found[key] = row
    return found


def pop_matches(wanted, old):
    """For each key its earlier row: of the same key, or of the only one alike, or {}."""
    found = {key: old.pop(key) for key in wanted if key in old}
    alike = {}
    for key in [*old, *wanted.keys() - found.keys()]:
        alike.setdefault(blurred(key), []).append(key)
    for one in alike.values():
        if len(one) == 2 and one[0] in old and one[1] in wanted:
            found[one[1]] = old.pop(one[0])
    return {key: found.get(key, {}) for key in wanted}


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
    old, is_unicode = rows_kept(file)
    merged = rows_by_key(wanted)
    for key, kept in pop_matches(merged, old).items():
        row = merged[key]
        row |= filled_in(kept, row["answer"], is_unicode)
        row |= {name: value for name, value in kept.items() if name not in row}
    found = merged | {key: row for key, row in old.items() if has_writing(row)}
    for row in found.values():
        row["points"] = checked_points(row)
    return found


def has_writing(row):
    """Whether somebody has written something into a row."""
    own = [text for name, text in row.items() if name not in (*MANUAL, *FILLED)]
    filled = [row.get(name, "") for name in FILLED if row["comment"] != NO_ANSWER]
    return any(text.strip() for text in [*own, *filled])


def one_of(first, second):
    """Of two rows for one answer, the one that is filled in; an error if they differ."""
    marks = [[row[name].strip() for name in FILLED[:2]] for row in (first, second)]
    if (all(map(any, marks)) and marks[0] != marks[1]) or first["answer"] != second["answer"]:
        raise ValueError(
            f"manual.csv, {first['student']}, {first['grade_id']}: two rows with other points, "
            "comments or answers; keep one, with the student's whole identity"
        )
    return second if any(marks[1]) else first


def filled_in(old, answer, is_unicode):
    """What a person has filled in, unless the answer is another one by now."""
    points, comment, earlier = (old.get(name, "").strip() for name in FILLED)
    if comment == NO_ANSWER and points not in ("", "0"):
        comment = ""
    if not points and not answer:
        return {"points": "0", "comment": comment or NO_ANSWER, "earlier": earlier}
    if (points or comment) and not may_be(old["answer"], answer, is_unicode):
        mark = f"{points} {comment}".strip()
        earlier = f"{earlier} | {mark}".strip(" |") if comment != NO_ANSWER else earlier
        points = comment = ""
    return {"points": points, "comment": comment, "earlier": earlier}


def may_be(kept, answer, is_unicode):
    """Whether a spreadsheet may have made the one text of the other."""
    kept, answer = (re.sub(r"[\s']", "", unicodedata.normalize("NFC", t)) for t in (kept, answer))

    def fits(now, before):
        lost = now == "?" or not is_unicode and not now.isascii()
        return now == before or (lost and not before.isascii())

    return len(kept) == len(answer) and all(map(fits, kept, answer))


def checked_points(row):
    """Points as filled in, or an error that says where they make no sense."""
    text = row["points"].strip().replace(",", ".")
    if not text:
        return ""
    try:
        points = float(text)
    except ValueError:
        points = float("nan")
    if not 0 <= points <= float(row.get("most", "").replace(",", ".") or "inf"):
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
