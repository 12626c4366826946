"""Tables as spreadsheet programs save them, and gradebooks that platforms export."""

import pytest
from course import put
from grading import gradebook, tables

TOTALS = {("ab", "fixture"): 2.5}
TITLES = {"fixture": "A fixture"}


def filled(folder, text, totals=TOTALS, key="id", titles=TITLES):
    """What is said when a gradebook of such a text is filled, and the new one."""
    put(folder, {"book.csv": text})
    said = gradebook.fill(folder / "book.csv", key, totals, titles, folder / "out.csv")
    return said, folder / "out.csv"


def dicts(file):
    return tables.read_table(file).dicts()


@pytest.mark.parametrize(
    "content, separator, columns",
    [
        ("id,a;b,c\nx,1,2\n", ",", ["id", "a;b", "c"]),
        ("id;Two, and;One, two, three\nx;1;2\n", ";", ["id", "Two, and", "One, two, three"]),
        ("id\tb\nx\t1,5\n", "\t", ["id", "b"]),
        ("sep=;\nid;b,c,d\nx;1\n", ";", ["id", "b,c,d"]),
        ('id,answer\nx,"a;b;c\nd;e;f"\n', ",", ["id", "answer"]),
        ("id,b\nx\n", ",", ["id", "b"]),
        ("id\nx\n", ",", ["id"]),
        ("", ",", []),
    ],
)
def test_what_separates_a_table_is_found(tmp_path, content, separator, columns):
    (tmp_path / "a.csv").write_text(content)
    table = tables.read_table(tmp_path / "a.csv")
    assert (table.separator, table.columns) == (separator, columns)


def test_a_workbook_is_refused(tmp_path):
    with pytest.raises(ValueError, match="book.csv is a spreadsheet's own file; save it as CSV"):
        filled(tmp_path, b"PK\x03\x04...")


def test_heads_that_are_alike_are_told_apart(tmp_path):
    (tmp_path / "a.csv").write_text("a,a,\n1,2,3,4\n")
    assert dicts(tmp_path / "a.csv") == [{"a": "1", "a 2": "2", "column 3": "3", "column 4": "4"}]


@pytest.mark.parametrize(
    "encoding, name",
    [
        *(("utf-8-sig", "Jörg"), ("utf-8", "李娜"), ("utf-16", "李娜"), ("cp1252", "Jörg")),
        *(("cp1250", "Łukasz"), ("gbk", "李娜"), ("shift_jis", "山田")),
    ],
)
def test_a_gradebook_keeps_its_letters_and_its_form(tmp_path, encoding, name):
    """Whatever the encoding is, even if it cannot be told."""
    _, out = filled(tmp_path, f"sep=;\nid;name;fixture\nab;{name};\n".encode(encoding))
    lines = out.read_bytes().decode(encoding).splitlines()
    assert lines == ["sep=;", "id;name;fixture", f"ab;{name};2,5"]


@pytest.mark.parametrize(
    "rows, mark",
    [
        ("id;group;fixture\nab;1.2;\ncd;1.3;55,5", "2,5"),
        ("id;date;fixture\nab;12.05;\ncd;13.05;55.5", "2.5"),
        ("id\tfixture\tother\nab\t\t3,5\n", "2,5"),
        ("id\tfixture\nab\t\ncd\t55,5", "2,5"),
        ("id,fixture\nab,\ncd,4", "2.5"),
        ("id;fixture\nab;\ncd;4", "2,5"),
    ],
)
def test_marks_have_the_decimal_sign_of_their_column(tmp_path, rows, mark):
    _, out = filled(tmp_path, rows)
    assert dicts(out)[0]["fixture"] == mark


def test_a_decimal_sign_that_was_guessed_is_told(tmp_path):
    said, _ = filled(tmp_path, "id;group;fixture\nab;1.2;\n")
    assert said == ["marks are written with a decimal point"]


def test_cells_beyond_the_head_stay(tmp_path):
    totals = TOTALS | {("cd", "fixture"): 3.0}
    _, out = filled(tmp_path, 'id,name\nab,Ada,extra\n"=""cd""",Bob\n', totals)
    lines = ["id,name,,A fixture", "ab,Ada,extra,2.5", '"=""cd""",Bob,,3']
    assert out.read_text().splitlines() == lines


# ---------------------------------------------------------------- where marks go


@pytest.mark.parametrize(
    "separator, half, more",
    [(",", "7.5", []), (";", "7,5", ["marks are written with a decimal comma"])],
)
def test_marks_are_filled_into_a_gradebook(tmp_path, separator, half, more):
    mark = "Assignment: A fixture (Real)"
    lines = [
        ["Name", "ID number", mark],
        ["Ada", "AB", ""],
        ['"Lovelace, B"', "cd", "3"],
        ["Eve", "ef", ""],
    ]
    text = "\ufeff" + "\n".join(map(separator.join, lines))
    totals = {("ab", "fixture"): 7.5, ("cd", "fixture"): 8.0, ("gh", "fixture"): 1.0}
    said, out = filled(tmp_path, text, totals, "ID number")
    rows = dicts(out)
    assert [row[mark] for row in rows] == [half, "8", ""]
    assert list(rows[0]) == lines[0] and rows[1]["Name"] == "Lovelace, B"
    assert said == ["gh is not in book.csv", f"marks replaced in '{mark}': 1", *more]
    with pytest.raises(ValueError, match="--key"):
        filled(tmp_path, text, totals, "Nobody")


def test_marks_are_written_to_nobody_else(tmp_path):
    """Nor into a column whose head contains the name of the assignment by chance."""
    text = "Name,Email address,Note,Note\nM,ma,a,b\nE,emma,c,d\nN,emma,e,f\n"
    totals = {("ma", "em"): 2.0, ("emma", "em"): 3.0}
    said, out = filled(tmp_path, text, totals, "Email address", {"em": "Forgets"})
    head, *rows = out.read_text(encoding="utf-8-sig").splitlines()
    assert head == "Name,Email address,Note,Note,Forgets"
    assert rows == ["M,ma,a,b,2", "E,emma,c,d,", "N,emma,e,f,"]
    assert said[1:] == ["emma is 2 times in book.csv"]


def test_of_a_mark_in_three_forms_the_number_is_filled_in(tmp_path):
    text = "id,Fixture (Percentage),Fixture (Real),Fixture (Letter)\nab,,,\n"
    said, out = filled(tmp_path, text)
    assert said == [] and out.read_text("utf-8-sig").splitlines()[1] == "ab,,2.5,"


@pytest.mark.parametrize(
    "table, wanted, line",
    [
        ("id\nab\n", "id,A fixture\nab,2.5\n", "no columns fit fixture; a new one"),
        ("id;x\nab;1.5\n", "id;x;A fixture\nab;1.5;2.5\n", "no columns fit fixture; a new one"),
        (
            "id,Fixture (percent)\nab,85 %\n",
            "id,Fixture (percent),A fixture\nab,85 %,2.5\n",
            "no columns fit fixture (Fixture (percent): left alone, since not all in it are",
        ),
        (
            "id,A fixture\nab,B+\n",
            "id,A fixture,A fixture (points)\nab,B+,2.5\n",
            "no columns fit fixture (A fixture: left alone",
        ),
        (
            "id,Fixture,Fixture (late)\nab,,\n",
            "id,Fixture,Fixture (late),A fixture\nab,,,2.5\n",
            "2 columns fit fixture; a new one is added, 'A fixture'",
        ),
    ],
)
def test_a_gradebook_without_one_column_that_fits_gets_a_new_one(tmp_path, table, wanted, line):
    (told, *more), out = filled(tmp_path, table)
    assert told.startswith(line)
    assert more == (["marks are written with a decimal point"] if ";" in table else [])
    assert out.read_text(encoding="utf-8-sig") == wanted
