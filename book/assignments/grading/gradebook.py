"""A platform's gradebook, with marks written into a copy of what it exported."""

import csv
import io
import re
from collections import Counter
from pathlib import Path

from grading.hand_in import same, word
from grading.tables import read_table

NUMBER = re.compile(r"\s*\d+(?:([.,])\d+)?\s*")


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
        What could not be filled in, and what was decided.
    """
    table = read_book(exported, key)
    columns, rows, said = table.columns, table.rows, []
    places, signs = {}, {}
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
            why = f"{len(fits) or 'no'} columns fit {name}"
            if others:
                why += f" ({', '.join(others)}: left alone, since not all in it are numbers)"
            head = titles[name] if titles[name] not in columns else f"{titles[name]} (points)"
            columns.append(head)
            said.append(f"{why}; a new one is added, {head!r}")
            for row in rows:
                row.append("")
            fits = [len(columns) - 1]
        places[name] = fits[0]
        signs[name] = decimal_sign([row[fits[0]] for row in rows])
    sign = decimal_sign(
        cell for column in zip(*rows, strict=True) if all(map(is_mark, column)) for cell in column
    )
    sign = sign or ("," if table.separator == ";" else ".")
    ids = [identity(row[columns.index(key)]) for row in rows]
    guessed, replaced = False, Counter()
    for (student, name), points in sorted(totals.items()):
        if ids.count(same(student)) == 1:
            text = f"{points:g}".replace(".", signs[name] or sign)
            row = rows[ids.index(same(student))]
            replaced[columns[places[name]]] += row[places[name]].strip() not in ("", "-", text)
            row[places[name]] = text
            guessed |= not signs[name] and points % 1 > 0
        else:
            times = ids.count(same(student))
            where = f"is {times} times in" if times else "is not in"
            said += [line for line in [f"{student} {where} {exported.name}"] if line not in said]
    said += [f"marks replaced in {column!r}: {n}" for column, n in replaced.items() if n]
    if guessed and table.separator != ",":
        said.append(f"marks are written with a decimal {'comma' if sign == ',' else 'point'}")
    text = io.StringIO()
    text.write(table.first_line)
    csv.writer(text, delimiter=table.separator).writerows([columns, *rows])
    try:
        content = text.getvalue().encode(table.encoding)
    except UnicodeEncodeError:  # a title has letters that are not in the table's own encoding
        content = text.getvalue().encode("utf-8-sig")
    Path(out).write_bytes(content)
    return said


def read_book(exported, key):
    """A gradebook with the column that is named, all rows as long as the head."""
    if not exported.is_file():
        raise ValueError(
            f"there is no file {exported}; pass --fill the gradebook that you exported"
        )
    table = read_table(exported)
    if table.columns.count(key) != 1:
        raise ValueError(
            f"{exported.name} has {table.columns.count(key)} columns {key!r}; pass --key, one of "
            f"{table.columns}"
        )
    longest = max(map(len, [table.columns, *table.rows]))
    for row in (table.columns, *table.rows):
        row += [""] * (longest - len(row))
    return table


def identity(cell):
    """A student's, also where it is kept from becoming a number."""
    return same(re.sub(r'^="(.*)"$', r"\1", cell.strip()))


def is_mark(text):
    """Whether a cell of a gradebook is empty or holds a number."""
    return not text.strip().strip("-") or NUMBER.fullmatch(text) is not None


def decimal_sign(cells):
    """The sign that numbers have, or None if there is none, or both."""
    signs = {found[1] for cell in cells if (found := NUMBER.fullmatch(cell))} - {None}
    return signs.pop() if len(signs) == 1 else None
