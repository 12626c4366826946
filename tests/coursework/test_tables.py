"""Tables as spreadsheet programs save them, and gradebooks that platforms export."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "assignments"))
pytest.importorskip("nbgrader", reason="the extra [coursework] is not installed")

from grading import gradebook, tables

TOTALS, TITLES = {("ab", "fixture"): 2.5}, {"fixture": "A fixture"}


def dicts(file):
    return tables.read_table(file).dicts()


@pytest.mark.parametrize(
    "content, separator, columns",
    [
        ("id,a;b,c\nx,1,2\n", ",", ["id", "a;b", "c"]),
        (
            "id;Two, and more;One, two, three, four\nx;1;2\n",
            ";",
            ["id", "Two, and more", "One, two, three, four"],
        ),
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
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04...")
    with pytest.raises(ValueError, match="book.xlsx is a spreadsheet's own file; save it as CSV"):
        gradebook.fill(tmp_path / "book.xlsx", "id", TOTALS, TITLES, tmp_path / "out.csv")


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
    exported, out = tmp_path / "book.csv", tmp_path / "out.csv"
    exported.write_bytes(f"sep=;\nid;name;fixture\nab;{name};\n".encode(encoding))
    gradebook.fill(exported, "id", TOTALS, TITLES, out)
    assert out.read_bytes().decode(encoding).splitlines() == [
        *("sep=;", "id;name;fixture", f"ab;{name};2,5")
    ]


@pytest.mark.parametrize(
    "rows, filled",
    [
        ("id;group;fixture\nab;1.2;\ncd;1.3;55,5", "2,5"),
        ("id;date;fixture\nab;12.05;\ncd;13.05;55.5", "2.5"),
        ("id\tfixture\tother\nab\t\t3,5\n", "2,5"),
        ("id\tfixture\nab\t\ncd\t55,5", "2,5"),
        ("id,fixture\nab,\ncd,4", "2.5"),
        ("id;fixture\nab;\ncd;4", "2,5"),
    ],
)
def test_marks_have_the_decimal_sign_of_their_column(tmp_path, rows, filled):
    (tmp_path / "book.csv").write_text(rows)
    gradebook.fill(tmp_path / "book.csv", "id", TOTALS, TITLES, tmp_path / "out.csv")
    assert dicts(tmp_path / "out.csv")[0]["fixture"] == filled


def test_a_decimal_sign_that_was_guessed_is_told(tmp_path):
    (tmp_path / "book.csv").write_text("id;group;fixture\nab;1.2;\n")
    said = gradebook.fill(tmp_path / "book.csv", "id", TOTALS, TITLES, tmp_path / "out.csv")
    assert said == ["marks are written with a decimal point"]


def test_cells_beyond_the_head_stay(tmp_path):
    (tmp_path / "book.csv").write_text('id,name\nab,Ada,extra\n"=""cd""",Bob\n')
    totals = TOTALS | {("cd", "fixture"): 3.0}
    gradebook.fill(tmp_path / "book.csv", "id", totals, TITLES, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        *("id,name,,A fixture", "ab,Ada,extra,2.5", '"=""cd""",Bob,,3')
    ]


# ---------------------------------------------------------------- where marks go


@pytest.mark.parametrize("separator", [",", ";"])
def test_marks_are_filled_into_a_gradebook(tmp_path, separator):
    exported = tmp_path / "book.csv"
    lines = [
        "Name,ID number,Assignment: A fixture (Real)",
        "Ada,AB,",
        '"Lovelace, B",cd,3',
        "Eve,ef,",
    ]
    text = (
        "\n".join(lines)
        if separator == ","
        else "\n".join(lines).replace(",", ";", 8).replace('"Lovelace; B"', '"Lovelace, B"')
    )
    exported.write_text("\ufeff" + text, encoding="utf-8")
    totals = {("ab", "fixture"): 7.5, ("cd", "fixture"): 8.0, ("gh", "fixture"): 1.0}
    out = tmp_path / "filled.csv"
    said = gradebook.fill(exported, "ID number", totals, {"fixture": "A fixture"}, out)
    rows, columns = dicts(out), tables.read_table(out).columns
    half = "7.5" if separator == "," else "7,5"
    assert [row["Assignment: A fixture (Real)"] for row in rows] == [half, "8", ""]
    assert columns == ["Name", "ID number", "Assignment: A fixture (Real)"]
    told = ["gh is not in book.csv", "marks replaced in 'Assignment: A fixture (Real)': 1"]
    assert said[:2] == told
    assert said[2:] == (["marks are written with a decimal comma"] if separator == ";" else [])
    assert rows[1]["Name"] == "Lovelace, B"
    with pytest.raises(ValueError, match="--key"):
        gradebook.fill(exported, "Nobody", totals, {"fixture": "A fixture"}, out)


def test_marks_are_written_to_nobody_else(tmp_path):
    exported = tmp_path / "book.csv"
    exported.write_text("Name,Email address,Note,Note\nM,ma,a,b\nE,emma,c,d\nN,emma,e,f\n")
    totals = {("ma", "em"): 2.0, ("emma", "em"): 3.0}
    said = gradebook.fill(exported, "Email address", totals, {"em": "Forgets"}, tmp_path / "out")
    text = (tmp_path / "out").read_text(encoding="utf-8-sig")
    assert text.split() == [
        "Name,Email",
        "address,Note,Note,Forgets",
        "M,ma,a,b,2",
        "E,emma,c,d,",
        "N,emma,e,f,",
    ]
    assert said[1:] == ["emma is 2 times in book.csv"]


def test_of_a_mark_in_three_forms_the_number_is_filled_in(tmp_path):
    exported, out = tmp_path / "book.csv", tmp_path / "out.csv"
    exported.write_text("id,Fixture (Percentage),Fixture (Real),Fixture (Letter)\nab,,,\n")
    said = gradebook.fill(exported, "id", {("ab", "fixture"): 2.0}, {"fixture": "A fixture"}, out)
    assert said == [] and out.read_text("utf-8-sig").splitlines()[1] == "ab,,2,"


@pytest.mark.parametrize(
    "table, filled, said",
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
def test_a_gradebook_without_one_column_that_fits_gets_a_new_one(tmp_path, table, filled, said):
    exported, out = tmp_path / "book.csv", tmp_path / "out.csv"
    exported.write_text(table)
    totals = {("ab", "fixture"): 2.5}
    told, *more = gradebook.fill(exported, "id", totals, {"fixture": "A fixture"}, out)
    assert told.startswith(said)
    assert more == (["marks are written with a decimal point"] if ";" in table else [])
    assert out.read_text(encoding="utf-8-sig") == filled
