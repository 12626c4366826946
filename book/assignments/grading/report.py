"""What is to be marked by hand, and what students are told."""

import html
import itertools
import operator
import re
import unicodedata
from collections import Counter

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
        if (key := key_of(row)) in found and row["answer"] != found[key]["answer"]:
            # handed in twice: whoever marks sees both
            answer = f"{found[key]['answer']}\n[also handed in:]\n{row['answer']}"
            found[key]["answer"] = shortened(answer)
        else:
            found.setdefault(key, row)
    return found


def pop_matches(wanted, old, is_unicode):
    """For each row its earlier one: of the same key, or the only one that it may be; or {}."""
    found = {key: old.pop(key) for key in wanted if key in old}
    pairs = [
        (key, other)
        for key in wanted.keys() - found.keys()
        for other in old
        if is_damaged(other, key, is_unicode)
        and all(
            may_be(old[other][name], wanted[key][name], is_unicode)
            for name in ("answer", "own_numbers")
            if name in old[other]
        )
    ]
    keys, others = map(Counter, zip(*pairs, strict=True)) if pairs else ({}, {})
    for key, other in pairs:
        if keys[key] == others[other] == 1:
            found[key] = old.pop(other)
    return {key: found.get(key, {}) for key in wanted}


def is_damaged(kept, key, is_unicode):
    """Whether a spreadsheet may have made one key of another: zeros lost, or letters."""
    (student, *question), (before, *wanted) = kept, key
    if question != wanted:
        return False
    if before.isdigit():
        return before.lstrip("0") == student
    return may_be(student, before, is_unicode)


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
    for key, kept in pop_matches(merged, old, is_unicode).items():
        row = merged[key]
        row |= filled_in(kept, row["answer"], is_unicode)
        row |= {name: value for name, value in kept.items() if name not in row}
    found = merged | {key: row for key, row in old.items() if has_writing(row)}
    for row in found.values():
        row["points"] = checked_points(row)
    return found


def has_writing(row):
    """Whether somebody has written something into a row."""
    own = [text for name, text in row.items() if name not in (*MANUAL, *FILLED[:2])]
    filled = [row[name] for name in FILLED[:2] if row["comment"] != NO_ANSWER]
    return any(text.strip() for text in [*own, *filled])


def one_of(first, second):
    """Of two rows for one answer, the one that is filled in; an error if they differ."""
    marks = [[row[name].strip() for name in FILLED[:2]] for row in (first, second)]
    if (all(map(any, marks)) and marks[0] != marks[1]) or first["answer"] != second["answer"]:
        raise ValueError(
            f"manual.csv, {first['student']}, {first['assignment']}, {first['grade_id']}: two rows "
            "with other points, comments or answers; keep one, with the student's whole identity"
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
        if now == before or before.isascii():
            return now == before
        # a letter of an alphabet is one byte in many encodings; others are not
        is_letter = unicodedata.east_asian_width(before) not in "WF"
        return now == "?" or (is_letter and not is_unicode and not now.isascii())

    return len(kept) == len(answer) and all(map(fits, kept, answer))


def checked_points(row):
    """Points as filled in, or an error that says where they make no sense."""
    text = row["points"].strip()
    if not text:
        return ""
    points, most = as_number(text), as_number(row.get("most", ""))
    if points is None or not 0 <= points <= (float("inf") if most is None else most):
        raise ValueError(
            f"manual.csv, {row['student']}, {row['assignment']}, {row['grade_id']}: {text!r} "
            f"points; write a number from 0 to {row.get('most')}"
        )
    return short(points)


def as_number(text):
    """A number as it is written with a point or a comma, or None."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


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
