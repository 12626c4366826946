"""Tables that spreadsheet programs and platforms save: read what came, write what they can read."""

import csv
import io
import re
from dataclasses import dataclass

FORMULA = ("=", "+", "-", "@", "\t", "\r")
SEPARATORS = ",;\t"
SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
UTF_8_MARK, UTF_16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
csv.field_size_limit(2**31 - 1)  # an answer in words is longer than what is usual in a table


@dataclass
class Table:
    """Cells as text, each row at least as long as the head, and the form that they came in."""

    columns: list
    rows: list
    separator: str = ","
    encoding: str = "utf-8-sig"
    first_line: str = ""  # by which some programs say what separates

    @property
    def is_unicode(self):
        return self.encoding.startswith("utf")

    def dicts(self):
        """Rows by head, as they were before `write_table`."""
        columns = told_apart(self.columns, max(map(len, [self.columns, *self.rows])))
        rows = [list(map(as_written, row)) for row in self.rows]
        return [dict(zip(columns, row, strict=False)) for row in rows]


def read_table(file):
    """A table, whatever it is separated by and a spreadsheet made of it."""
    content = file.read_bytes()
    if content.startswith(SPREADSHEETS):
        raise ValueError(f"{file} is a spreadsheet's own file; save it as CSV, and pass that")
    text, encoding = decoded(content)
    said = re.match(r"sep=(.)\r?\n", text, re.I)
    first_line = said[0] if said else ""
    body = io.StringIO(text[len(first_line) :], newline="")
    found = []
    for separator in said[1] if said else SEPARATORS:
        body.seek(0)
        rows = [row for row in csv.reader(body, delimiter=separator) if any(row)] or [[]]
        # commas may be in a title too: then the rows have others than the head
        fit = sum(len(row) == len(rows[0]) for row in rows[1:]) if len(rows[0]) > 1 else 0
        found.append(((fit, len(rows[0])), separator, rows))
    _, separator, (columns, *rows) = max(found, key=lambda one: one[0])
    rows = [row + [""] * (len(columns) - len(row)) for row in rows]
    return Table(columns, rows, separator, encoding, first_line)


def decoded(content):
    """Text, and the encoding by which it becomes the same bytes again."""
    if content.startswith(UTF_16_MARKS):
        return content.decode("utf-16", "replace"), "utf-16"
    for encoding in ("utf-8-sig" if content.startswith(UTF_8_MARK) else "utf-8", "cp1252"):
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1"), "latin-1"


def write_table(file, columns, rows, separator=",", numbers=()):
    """Write a table, in whole or not at all; beside semicolons, numbers of ours have commas."""

    def cell(name, value):
        text = harmless(value)
        return text.replace(".", ",") if separator == ";" and name in numbers else text

    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", delimiter=separator)
    table.writeheader()
    table.writerows({name: cell(name, value) for name, value in row.items()} for row in rows)
    scratch = file.with_name(file.name + ".new")
    scratch.write_text(text.getvalue(), encoding="utf-8-sig", newline="")
    scratch.replace(file)


def harmless(text):
    """Text that a spreadsheet does not take for a formula."""
    text = str(text)
    return f"'{text}" if text.startswith(FORMULA) else text


def as_written(text):
    """Text from a table, without what kept a spreadsheet from taking it for a formula."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text


def told_apart(columns, count):
    """Heads of so many columns, with a number where one is empty or comes again."""
    found = []
    for place in range(count):
        head = columns[place] if place < len(columns) else ""
        found.append(f"{head or 'column'} {place + 1}" if not head or head in found else head)
    return found


def need(columns, wanted, file):
    """Raise an error if a column is not there."""
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise ValueError(f"{file} has no column {', '.join(missing)}; put them back")
