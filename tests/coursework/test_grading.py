"""Grading: what is handed in, however odd, ends in a mark or a clear row."""

import dataclasses
import json
import os
import stat
import sys
import zipfile
from types import SimpleNamespace

import jupytext
import numpy as np
import pytest
from conftest import ROOT
from hostile import HOSTILE, answers

pytest.importorskip("nbgrader", reason="the extra [coursework] is not installed")
sys.path.insert(0, str(ROOT / "book" / "assignments"))

from grading import collect, hand_in, release, report, sources, tables
from grading.__main__ import main
from grading.grade import Refused, grade, level_to_use, own_numbers, seed_of

LEVEL = collect.best_level()
TEXT = (ROOT / "tests" / "coursework" / "fixture.md").read_text().replace("CANARY", sources.CANARY)


@pytest.fixture(scope="module")
def fixture():
    return sources.assignment("fixture", jupytext.reads(TEXT, fmt="md:myst"))


@pytest.fixture
def course(tmp_path):
    """A private course with the fixture alone."""
    folder = tmp_path / "course"
    (folder / "assignments").mkdir(parents=True)
    (folder / "assignments" / "fixture.md").write_text(TEXT)
    return folder


def graded(folder, course, **options):
    """Rows of grades.csv by student, and the folder of what was written."""
    out = course.parent / "out"
    only_fixture = {"names": lambda overlay=None: ["fixture"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grading.grade.names", only_fixture["names"])
        rows = grade(folder, 5, out, course, isolation=LEVEL, jobs=2, **options)
    return {row["student"]: row for row in rows}, out


def put(folder, files):
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


# ---------------------------------------------------------------- hostile submissions


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """All of them handed in together, with files that are no notebooks."""
    base = tmp_path_factory.mktemp("hostile")
    course = base / "course"
    (course / "assignments").mkdir(parents=True)
    (course / "assignments" / "fixture.md").write_text(TEXT)
    folder = put(base / "in", {f"{who}/fixture.ipynb": what for who, (what, *_) in HOSTILE.items()})
    put(
        folder,
        {
            "empty/fixture.ipynb": "",
            "text/fixture.ipynb": "no json",
            "list/fixture.ipynb": "[1]",
            "odd/fixture.ipynb": '{"cells": [{"cell_type": 3, "source": {"a": 1}}]}',
            "renamed/homework.ipynb": answers(),
            "other/notes.docx": b"\0",
            "stranger/else.ipynb": json.dumps({"cells": []}),
        },
    )
    (folder / "link").mkdir()
    (folder / "link" / "fixture.ipynb").symlink_to(ROOT / "README.md")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "CALL_SECONDS", 2)
        patch.setattr(collect, "CELL_SECONDS", 3)
        patch.setattr(collect, "QUESTION_SECONDS", 3)
        patch.setattr(collect.run, "__defaults__", ("", 8))
        return graded(folder, course)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_submission_ends_in_a_mark(hostile, name):
    if LEVEL != "full" and name in ("peeks", "writes-outside"):
        pytest.skip(f"this machine reaches the isolation {LEVEL!r}, which does not promise that")
    row = hostile[0][name]
    _, double, negative, word = HOSTILE[name]
    if double is None:
        assert word in row["status"] and "total" not in row
        return
    assert row["detail"] == f"double: {double}; negative: {negative}", row
    assert word in row["notes"]
    assert row["isolation"] == LEVEL


@pytest.mark.parametrize(
    "name, status",
    [
        ("empty", "an empty file"),
        ("text", "not a notebook"),
        ("list", "not a notebook"),
        ("odd", "not a notebook"),
        ("other", "not a notebook (.ipynb)"),
        ("stranger", "not one of the assignments"),
        ("link", "a symbolic link"),
    ],
)
def test_what_cannot_be_read_is_a_row(hostile, name, status):
    row = hostile[0][name]
    assert row["status"].startswith(status)
    assert "total" not in row


def test_a_renamed_notebook_is_known_by_what_it_says(hostile):
    assert hostile[0]["renamed"]["code"] == "8"


def test_feedback_shows_no_output_no_test_and_no_canary(hostile):
    _, out = hostile
    pages = {file.name: file.read_text() for file in (out / "feedback").iterdir()}
    assert len(pages) == len(hostile[0])
    for page in pages.values():
        assert sources.CANARY not in page
        for strange in ("<b>ha</b>", "rng.normal", "allclose", "return 2", "Error: "):
            assert strange not in page
    assert "twice as much" in pages["patched.html"]
    assert "an error" in pages["error-names.html"]
    assert "Your notebook: code cell 1 is out of time" in pages["endless-loop.html"]


def test_nothing_is_left_running(hostile):
    """But what other tests run beside this one, which ends."""
    import psutil

    def probes():
        found = psutil.process_iter(["cmdline"])
        return {p for p in found if any("probe.py" in part for part in p.info["cmdline"] or [])}

    _, left = psutil.wait_procs(probes(), timeout=30)
    assert not left


# ---------------------------------------------------------------- handing in


def names_of(found):
    return {(one.student, one.assignment, bool(one.problem)) for one in found}


def test_folders_files_and_archives_give_the_same(tmp_path, fixture):
    files = {"ab1/fixture.ipynb": answers(), "cd2/fixture.ipynb": answers()}
    assignments = {"fixture": fixture}
    wanted = {("ab1", "fixture", False), ("cd2", "fixture", False)}
    folder = put(tmp_path / "folders", files)
    assert names_of(hand_in.handed_in(folder, assignments)) == wanted
    flat = put(tmp_path / "flat", {"ab1-fixture.ipynb": answers(), "fixture_cd2.ipynb": answers()})
    assert names_of(hand_in.handed_in(flat, assignments)) == wanted
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    assert names_of(hand_in.handed_in(tmp_path / "all.zip", assignments)) == wanted


def test_a_folder_that_holds_all_is_nobody(tmp_path, fixture):
    """What compressing a folder gives; but one student may have folders as well."""
    one, other = (answers(f'STUDENT = "{who}"') for who in ("ab1", "cd2"))
    every = {"ab1", "cd2"}
    for files, wanted in (
        ({"in/ab1/fixture.ipynb": one, "in/cd2/fixture.ipynb": other}, every),
        ({"in/x/ab1/fixture.ipynb": one, "in/x/cd2/fixture.ipynb": other}, every),
        ({"in/ab1-fixture.ipynb": one, "in/cd2-fixture.ipynb": other}, every),
        ({"ab1/a/fixture.ipynb": one, "ab1/b/fixture.ipynb": one}, {"ab1"}),
        ({"AB1/a/fixture.ipynb": one, "AB1/b/fixture.ipynb": other}, {"AB1"}),
        ({"in/ab1/fixture.ipynb": one, "ef3/fixture.ipynb": other}, {"in", "ef3"}),
    ):
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        found = hand_in.handed_in(tmp_path / "all.zip", {"fixture": fixture})
        assert {one.student for one in found} == wanted


def test_a_platforms_names_by_a_pattern(tmp_path, fixture):
    folder = put(tmp_path, {"Ada L_123_assignsubmission_file_/fixture.ipynb": answers()})
    found = hand_in.handed_in(folder, {"fixture": fixture}, r"_(?P<id>\d+)_assign")
    assert names_of(found) == {("123", "fixture", False)}
    assert "STUDENT" not in found[0].notes
    missing = hand_in.handed_in(folder, {"fixture": fixture}, r"^(\d+)")
    assert "--id-pattern" in missing[0].problem


@pytest.mark.parametrize(
    "name", ["../x.ipynb", "/etc/x.ipynb", "a/../../x.ipynb", "a\\..\\x.ipynb"]
)
def test_members_outside_an_archive_are_refused(tmp_path, fixture, name):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), answers())
        link = zipfile.ZipInfo("ab/fixture.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    found = hand_in.handed_in(tmp_path / "all.zip", {"fixture": fixture})
    assert ["refused" in found[i].problem or "link" in found[i].problem for i in (0, 1)] == [
        True
    ] * 2


def test_twice_handed_in_is_two_rows(tmp_path, course):
    files = {"ab/fixture.ipynb": answers(), "ab/fixture (1).ipynb": answers(double="")}
    out = tmp_path / "out"
    graded(put(tmp_path / "in", files), course)
    rows = table_of(out / "grades.csv")
    assert [row["status"] for row in rows] == ["handed in twice"] * 2
    assert {row["code"] for row in rows} == {"8", "2"}


# ---------------------------------------------------------------- marks by hand, and again


def table_of(file):
    table = tables.read_table(file)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def manual_row(out):
    return table_of(out / "manual.csv")[0]


def marked_by_hand(out, **filled):
    first, *others = table_of(out / "manual.csv")
    tables.write_table(out / "manual.csv", tuple(first | filled), [first | filled, *others])


def test_regrading_keeps_what_was_marked_by_hand(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers()})
    rows, out = graded(folder, course)
    assert rows["ab"]["total"] == "8" and rows["ab"]["to_mark"] == 1
    table = table_of(out / "manual.csv")
    assert [row["own_numbers"] for row in table] == ["letters: 2\nseed: 3"] * 2
    assert table[0]["answer"] == "A reason."
    marked_by_hand(out, points="2,5", comment="Good, but the unit", mine="ask in person")
    rows, _ = graded(folder, course)
    assert (rows["ab"]["total"], rows["ab"]["to_mark"]) == ("10.5", 0)
    assert "Good, but the unit" in (out / "feedback" / "ab.html").read_text()
    (folder / "ab" / "fixture.ipynb").unlink()
    graded(folder, course)
    kept = {row["student"]: (row["points"], row["mine"]) for row in table_of(out / "manual.csv")}
    assert kept == {"ab": ("2.5", "ask in person"), "cd": ("", "")}


@pytest.mark.parametrize("points", ["5", "-1", "many", "nan"])
def test_points_that_make_no_sense_are_named(tmp_path, course, points):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    before = (out / "grades.csv").read_text()
    marked_by_hand(out, points=points)
    with pytest.raises(ValueError, match="ab, fixture, words: .* from 0 to 4"):
        graded(folder, course)
    assert (out / "grades.csv").read_text() == before


def test_a_mark_for_another_answer_is_kept_aside(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    marked_by_hand(out, points="3", comment="Yes")
    put(folder, {"ab/fixture.ipynb": answers().replace('"A reason."', '"Another reason."')})
    rows, _ = graded(folder, course)
    row = manual_row(out)
    assert (row["points"], row["comment"], row["earlier"]) == ("", "", "3 Yes")
    assert row["answer"] == "Another reason." and rows["ab"]["to_mark"] == 1
    assert "3,Yes" in (out / "manual-before.csv").read_text(encoding="utf-8-sig")


def test_handing_in_twice_loses_no_mark(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    marked_by_hand(out, points="3", comment="Yes")
    put(folder, {"ab-fixture.ipynb": answers()})
    rows, _ = graded(folder, course)
    assert (rows["ab"]["status"], rows["ab"]["words"]) == ("graded", "3")
    assert rows["ab"]["notes"] == "the same notebook as ab-fixture.ipynb"
    put(folder, {"ab-fixture.ipynb": answers().replace('"A reason."', '"Another reason."')})
    graded(folder, course)
    assert manual_row(out)["earlier"] == "3 Yes"
    both = "Another reason.\n[also handed in:]\nA reason."
    assert manual_row(out)["answer"] == both
    page = (out / "feedback" / "ab.html").read_text()
    assert "this is ab/fixture.ipynb" in page and "this is ab-fixture.ipynb" in page


def test_two_rows_for_one_answer_lose_no_mark(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    row = manual_row(out)

    def put_rows(*points):
        rows = [row | {"points": one} for one in points]
        tables.write_table(out / "manual.csv", tuple(row), rows)

    for points in (("3", ""), ("", "3"), ("3", "3")):
        put_rows(*points)
        assert graded(folder, course)[0]["ab"]["words"] == "3"
    put_rows("3", "2")
    with pytest.raises(ValueError, match="ab, fixture, words: two rows .* keep one"):
        graded(folder, course)
    rows = [row | {"points": "3"}, row | {"answer": "Another reason."}]
    tables.write_table(out / "manual.csv", tuple(row), rows)
    with pytest.raises(ValueError, match="ab, fixture, words: two rows .* keep one"):
        graded(folder, course)


def test_a_table_with_semicolons_stays_one(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    first, second = table_of(out / "manual.csv")
    rows = [first | {"points": 2.5}, second]
    tables.write_table(out / "manual.csv", tuple(first), rows, ";")
    for only in (None, "cd"):
        rows, _ = graded(folder, course, only=only)
        assert rows["ab"]["total"] == "10.5" and manual_row(out)["points"] == "2,5"
        assert table_of(out / "grades.csv")[0]["total"] == "10,5"
        heads = [file.read_text("utf-8-sig").split(";")[0] for file in out.glob("*.csv")]
        assert heads == ["student"] * 3


def test_numbers_of_others_keep_their_points_beside_semicolons(tmp_path, course):
    text = answers().replace('"A reason."', '"3.14"')
    folder = put(tmp_path / "in", {"12.345/fixture.ipynb": text})
    _, out = graded(folder, course)
    row = manual_row(out) | {"points": "2,5", "mine": "1.10"}
    tables.write_table(out / "manual.csv", tuple(row), [row], ";")
    for _ in range(3):
        rows, _ = graded(folder, course)
        assert rows["12.345"]["words"] == "2.5"
        found = manual_row(out)
        assert [found[name] for name in ("student", "answer", "points", "mine")] == [
            *("12.345", "3.14", "2,5", "1.10")
        ]


def test_what_was_written_into_a_column_of_ones_own_is_kept(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    marked_by_hand(out, mine="ask in person")
    (folder / "ab").rename(tmp_path / "ab")
    graded(folder, course)
    (tmp_path / "ab").rename(folder / "ab")
    graded(folder, course)
    found = {row["student"]: row["mine"] for row in table_of(out / "manual.csv")}
    assert found == {"ab": "ask in person", "cd": ""}


@pytest.mark.parametrize(
    "first, second",
    [("m\u00fcller", "m\u00f6ller"), ("\u674e\u5a1c", "\u738b\u4f1f"), ("7", "007")],
)
def test_a_later_batch_takes_no_mark(tmp_path, course, first, second):
    folder = put(tmp_path / "in", {f"{first}/fixture.ipynb": answers(f'STUDENT = "{first}"')})
    _, out = graded(folder, course)
    marked_by_hand(out, points="3")
    other = put(tmp_path / "late", {f"{second}/fixture.ipynb": answers(f'STUDENT = "{second}"')})
    assert graded(other, course)[0][second]["words"] == "0"
    assert graded(folder, course)[0][first]["words"] == "3"


def test_marks_in_an_encoding_of_signs_go_to_nobody_else(tmp_path, course):
    names = "\u674e\u5a1c", "\u6b27\u9633\u5a1c\u5a1c"
    folder = put(tmp_path / "in", {f"{who}/fixture.ipynb": answers() for who in names})
    _, out = graded(folder, course)
    rows = table_of(out / "manual.csv")
    for row, points in zip(rows, "31", strict=True):
        row["points"] = points
    tables.write_table(out / "manual.csv", tuple(rows[0]), rows)
    text = (out / "manual.csv").read_text("utf-8-sig")
    (out / "manual.csv").write_bytes(text.encode("gbk"))
    assert {row["words"] for row in graded(folder, course)[0].values()} == {"0"}
    kept = [row["points"] for row in table_of(out / "manual.csv")]
    assert sorted(kept) == ["", "", "1", "3"]


def test_pages_of_what_is_there_no_more_go(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    (folder / "cd" / "fixture.ipynb").unlink()
    graded(folder, course)
    assert [file.name for file in (out / "feedback").iterdir()] == ["ab.html"]


def test_own_numbers_that_fail_stop_no_other(tmp_path, course):
    text = (course / "assignments" / "fixture.md").read_text()
    changed = text.replace('"letters": len(student)', '"letters": 1 / (len(student) - 3)')
    assert changed != text
    (course / "assignments" / "fixture.md").write_text(changed)
    folder = put(tmp_path / "in", {"abc/fixture.ipynb": answers(), "ab/fixture.ipynb": answers()})
    rows, out = graded(folder, course)
    assert {row["code"] for row in rows.values()} == {"8"}
    found = {row["student"]: row["own_numbers"] for row in table_of(out / "manual.csv")}
    assert found["ab"].startswith("letters: -1")
    assert found["abc"].startswith("could not be computed") and "ZeroDiv" in found["abc"]


def test_numbers_are_shown_with_four_digits():
    found = SimpleNamespace(
        own_numbers=lambda student: {
            "a": -0.0,
            "b": [1 / 3, {"c": np.float64(2e-9)}],
            "d": (1, "e"),
        }
    )
    assert own_numbers(found, "ab") == "a: 0\nb: [0.3333, c: 2e-09]\nd: [1, e]"


def test_who_pickles_a_class_of_a_notebook_is_graded(tmp_path, course):
    before = "import pickle\nclass A: pass\nassert type(pickle.loads(pickle.dumps(A()))) is A"
    rows, _ = graded(put(tmp_path / "in", {"ab/fixture.ipynb": answers(before)}), course)
    assert (rows["ab"]["code"], rows["ab"]["notes"]) == ("8", "")


def test_a_comment_on_another_answer_is_kept_aside(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    marked_by_hand(out, comment="The unit?")
    put(folder, {"ab/fixture.ipynb": answers().replace('"A reason."', '"A reason, in metres."')})
    graded(folder, course)
    row = manual_row(out)
    assert (row["points"], row["comment"], row["earlier"]) == ("", "", "The unit?")


@pytest.mark.parametrize("names", [("李娜", "王伟"), ("Иван", "Олег"), ("007", "7")])
def test_students_whose_names_look_alike_to_a_spreadsheet_are_two(tmp_path, course, names):
    other = answers().replace('"A reason."', '"A season."')
    files = {
        f"{who}/fixture.ipynb": text for who, text in zip(names, (answers(), other), strict=True)
    }
    folder = put(tmp_path / "in", files)
    _, out = graded(folder, course)
    marked_by_hand(out, points="3")
    first = manual_row(out)["student"]
    rows, _ = graded(folder, course)
    assert {who: row["words"] for who, row in rows.items()} == {
        who: "3" if who == first else "0" for who in names
    }


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "mac_roman", "ascii", "utf-16"])
def test_a_table_in_the_encoding_of_a_spreadsheet_loses_no_mark(tmp_path, course, encoding):
    text = answers().replace('"A reason."', '"Because \u00e4, \u00f6 and \u00fc."')
    folder = put(tmp_path / "in", {"J\u00f6rg/fixture.ipynb": text, "007/fixture.ipynb": text})
    _, out = graded(folder, course)
    for row in (rows := table_of(out / "manual.csv")):
        row["student"] = row["student"].lstrip("0")
        row["points"] = "3"
    columns = [name for name in rows[0] if name != "own_numbers" or encoding != "ascii"]
    tables.write_table(out / "manual.csv", columns, rows, ";")
    text = (out / "manual.csv").read_text("utf-8-sig")
    (out / "manual.csv").write_bytes(text.encode(encoding, "replace"))
    rows, _ = graded(folder, course)
    assert {who: row["words"] for who, row in rows.items()} == {"J\u00f6rg": "3", "007": "3"}


@pytest.mark.parametrize("file, column", [("manual.csv", "answer"), ("grades.csv", "to_mark")])
def test_a_column_that_is_needed_is_asked_for(tmp_path, course, file, column):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    rows = [{k: v for k, v in row.items() if k != column} for row in table_of(out / file)]
    tables.write_table(out / file, tuple(rows[0]), rows)
    with pytest.raises(ValueError, match=f"{file} has no column {column}; put them back"):
        graded(folder, course, only="ab")


def test_what_was_collected_in_part_is_collected_again(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    first, out = graded(folder, course)
    for file in (out / "collected").glob("*.json"):
        file.write_text("")
    assert graded(folder, course)[0] == first


def test_a_picture_among_the_answers_is_noted(tmp_path, course):
    text = answers().replace('"A reason."', '"![a](attachment:a.png)"')
    rows, _ = graded(put(tmp_path / "in", {"ab/fixture.ipynb": text}), course)
    assert rows["ab"]["notes"] == "there are pictures among the answers: open the notebook"


def test_who_is_not_graded_yet_gets_no_page(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers()})
    rows, out = graded(folder, course, only="cd")
    assert rows["ab"]["status"] == "not graded yet"
    assert [file.name for file in (out / "feedback").iterdir()] == ["cd.html"]


def test_another_seed_of_the_assignment_is_noted(tmp_path, course):
    files = {
        "ab/fixture.ipynb": answers("ASSIGNMENT_SEED = 4"),
        "cd/fixture.ipynb": answers("ASSIGNMENT_SEED = 3"),
    }
    rows, _ = graded(put(tmp_path / "in", files), course)
    assert rows["ab"]["notes"] == "ASSIGNMENT_SEED in the notebook is 4, and here 3"
    assert rows["cd"]["notes"] == ""


def test_paragraphs_of_an_answer_stay_apart(tmp_path, course):
    text = answers().replace('"A reason."', '"First.\\n\\nSecond."')
    _, out = graded(put(tmp_path / "in", {"ab/fixture.ipynb": text}), course)
    assert manual_row(out)["answer"] == "First.\n\nSecond."


def test_a_long_answer_says_that_it_is_cut(tmp_path, course):
    text = answers().replace('"A reason."', json.dumps("A reason. " * 4000))
    _, out = graded(put(tmp_path / "in", {"ab/fixture.ipynb": text}), course)
    assert manual_row(out)["answer"].endswith("[... and 9999 characters more]")


def test_no_answer_is_no_work_to_mark(tmp_path, course):
    text = answers().replace('"A reason."', '"YOUR ANSWER HERE"')
    rows, out = graded(put(tmp_path / "in", {"ab/fixture.ipynb": text}), course)
    assert manual_row(out)["answer"] == "" and manual_row(out)["points"] == "0"
    assert rows["ab"]["to_mark"] == 0
    marked_by_hand(out, points="1")
    assert graded(tmp_path / "in", course)[0]["ab"]["words"] == "1"
    assert manual_row(out)["comment"] == ""
    put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    assert graded(tmp_path / "in", course)[0]["ab"]["to_mark"] == 1


def test_a_table_that_a_spreadsheet_saved_in_another_encoding(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    marked_by_hand(out, points="1", comment="für die Zahl")
    text = (out / "manual.csv").read_text(encoding="utf-8-sig")
    (out / "manual.csv").write_bytes(text.encode("cp1252"))
    assert graded(folder, course)[0]["ab"]["words"] == "1"
    assert manual_row(out)["comment"] == "für die Zahl"


@pytest.mark.parametrize(
    "handed",
    [
        "- (1) A reason, as a point of its own",
        "A reason above.\n\n- (3) A reason.",
        "- (1) A number,\n  with its unit.\n  A reason that goes on",
        "Причина",
    ],
)
def test_answers_in_words_are_found_wherever_they_stand(fixture, handed):
    released = "\n".join(text for text in fixture.texts if "(4 marks)" in text)
    for blocks in (
        [("words", f"{released}\n{handed}", False)],
        [("words", released, False), ("", handed, False)],
        [("words", released, True), ("", handed, True)],
    ):
        found = hand_in.answers_in_words(blocks, fixture)["words"]
        assert found and found.splitlines()[-1].strip() in handed
    assert hand_in.answers_in_words([("words", released, False)], fixture) == {"words": ""}


@pytest.mark.parametrize(
    "name, student",
    [
        ("emma-fixture.ipynb", "emma"),
        ("fixture_fixture.ipynb", "fixture"),
        ("afixture-fixture.ipynb", "afixture"),
        ("FIXTURE (ab).ipynb", "ab"),
        ("ab-fixture (1).ipynb", "ab"),
        ("ab-fixture-Copy1.ipynb", "ab"),
        ("ab-fixture-1.ipynb", "ab-1"),
        ("ab-o'neill-fixture-1.ipynb", "o'neill"),
        ("notes.ipynb", "o'neill"),
        ("fixture-12.ipynb", "12"),
        ("fixture (1).ipynb", "o'neill"),
        ("'t Hooft/fixture.ipynb", "'t Hooft"),
        ("fixture.ipynb", "o'neill"),
    ],
)
def test_a_name_is_what_remains(fixture, name, student):
    text = answers('STUDENT = "o\'neill"').encode()
    assert hand_in.one(name, text, {"fixture": fixture}, None).student == student


def test_a_table_that_a_person_worked_on(tmp_path, course):
    """Empty rows, remarks, columns without a head, identities as numbers, other signs."""
    folder = put(tmp_path / "in", {"007/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    text = answers().replace('"A reason."', '"\u03b1 = -0.31 \u2265 1"')
    put(folder, {"007/fixture.ipynb": text})
    graded(folder, course)
    marked_by_hand(out, points="3", student="7", mine="a")
    lines = (out / "manual.csv").read_text(encoding="utf-8-sig").splitlines()
    lines[0] = lines[0].replace(",mine", ",mine,,mine,")
    lines[-1] = lines[-1].removesuffix(",a") + ",b,c,d,e"
    text_of_table = "\n".join([*lines, "", "my remark", ""])
    (out / "manual.csv").write_bytes(text_of_table.encode("cp1252", "replace"))
    rows, _ = graded(folder, course)
    assert rows["007"]["words"] == "3"
    own = [v for k, v in manual_row(out).items() if k.startswith(("mine", "column"))]
    assert own == ["b", "c", "d", "e"]
    put(folder, {"007/fixture.ipynb": text.replace("-0.31", "0.31")})
    assert graded(folder, course)[0]["007"]["to_mark"] == 1


def test_an_apostrophe_is_no_formula(tmp_path, course):
    rows, out = graded(put(tmp_path / "in", {"'t Hooft/fixture.ipynb": answers()}), course)
    marked_by_hand(out, points="2", comment="- unit")
    rows, _ = graded(tmp_path / "in", course)
    assert rows["'t Hooft"]["words"] == "2"
    assert "<td>- unit" in (out / "feedback" / report.file_name("'t Hooft")).read_text()


def test_what_cannot_be_run_is_a_row(tmp_path, course, monkeypatch):
    def fails(assignment, cells, *others):
        if "bad" in cells[0][1]:
            raise MemoryError
        return run(assignment, cells, *others)

    run = collect.collected
    monkeypatch.setattr("grading.grade.collected", fails)
    files = {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers("bad = 1")}
    rows, _ = graded(put(tmp_path / "in", files), course)
    assert rows["ab"]["code"] == "8"
    assert rows["cd"]["status"] == "it could not be run (MemoryError)"


def test_a_second_run_collects_nothing_anew(tmp_path, course, monkeypatch):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers()})
    first, _ = graded(folder, course)
    monkeypatch.setattr("grading.grade.collected", None)
    assert graded(folder, course)[0] == first


def test_only_one_student_is_run(tmp_path, course):
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers()})
    rows, _ = graded(folder, course, only="AB")
    assert [rows[who]["status"] for who in ("ab", "cd")] == ["graded", "not graded yet"]
    assert {row["status"] for row in graded(folder, course)[0].values()} == {"graded"}
    put(folder, {"cd/fixture.ipynb": answers(double="")})
    assert graded(folder, course, only="ab")[0]["cd"]["code"] == "8"
    with pytest.raises(Refused, match="nobody is 'ef'"):
        graded(folder, course, only="ef")


def test_a_formula_in_a_name_stays_text(tmp_path, course):
    folder = put(tmp_path / "in", {"=1+1/fixture.ipynb": answers()})
    _, out = graded(folder, course)
    assert "'=1+1,fixture" in (out / "grades.csv").read_text(encoding="utf-8-sig")
    marked_by_hand(out, points="1")
    assert graded(folder, course)[0]["=1+1"]["words"] == "1"


# ---------------------------------------------------------------- seeds and levels


def test_a_seed_in_the_repository_is_refused():
    with pytest.raises(Refused, match="public"):
        seed_of(ROOT / "README.md")


def test_a_course_has_seeds_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tasks.py", "new-course", str(tmp_path / "course")])
    main()
    seed = seed_of(tmp_path / "course" / "GRADING_SEED")
    assert seed > 0
    assert (
        os.name == "nt"
        or stat.S_IMODE((tmp_path / "course" / "GRADING_SEED").stat().st_mode) == 0o600
    )
    with pytest.raises(SystemExit, match="not empty"):
        main()
    monkeypatch.setattr(sys, "argv", ["tasks.py", "new-course", str(ROOT / "book" / "new")])
    with pytest.raises(SystemExit, match="public"):
        main()


def test_the_archives_of_a_course_are_beside_its_seed(course, tmp_path, monkeypatch, capsys):
    (course / "ASSIGNMENT_SEED").write_text("77\n")
    (tmp_path / "fsnotes-1-any.whl").write_bytes(b"")
    command = ["tasks.py", "assignments", "--overlay", str(course)]
    command += ["--wheel", str(tmp_path / "fsnotes-1-any.whl")]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(sources, "names", lambda overlay=None: ["fixture"])
    main()
    assert f"{course}, with its seed 77" in capsys.readouterr().out
    with zipfile.ZipFile(course / "assignments-instructor.zip") as archive:
        texts = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    assert "ASSIGNMENT_SEED = 77" in texts["source/fixture/fixture.ipynb"]
    assert "`source/fixture/fixture.ipynb`: A fixture" in texts["README.md"]


def test_the_command_grades_a_course_into_its_folder(course, tmp_path, monkeypatch, capsys):
    (course / "GRADING_SEED").write_text("5\n")
    folder = put(tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/else.ipynb": "no json"})
    put(folder, {"ab/fixture (1).ipynb": answers()})  # the same answers, to be marked once
    (tmp_path / "book.csv").write_text("id,Fixture\nab,\n")
    command = ["tasks.py", "grade", str(folder), "--overlay", str(course), "--isolation", LEVEL]
    command += ["--fill", str(tmp_path / "book.csv"), "--key", "id"]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr("grading.grade.names", lambda overlay=None: ["fixture"])
    main()
    said = capsys.readouterr().out
    assert "2 graded, 1 not; 1 answer to mark by hand" in said
    assert "not all answers are marked yet, of ab" in said
    out = course / "grades"
    assert table_of(out / "book-filled.csv") == [{"id": "ab", "Fixture": "8"}]
    assert [row["status"].split(":")[0] for row in table_of(out / "grades.csv")] == [
        "graded",
        "graded",
        "not a notebook",
    ]
    monkeypatch.setattr(sys, "argv", command[:-2])
    with pytest.raises(SystemExit, match="belong together"):
        main()


def test_other_seeds_are_other_cases(fixture):
    question = fixture.questions["double"]
    first, same, other = (question.drawn(seed)[0][1]["x"] for seed in (1, 1, 2))
    assert np.array_equal(first, same) and not np.allclose(first, other)


def test_below_full_isolation_is_refused_unless_told(monkeypatch):
    monkeypatch.setattr("grading.grade.best_level", lambda: "limits")
    with pytest.raises(Refused, match="--isolation limits"):
        level_to_use(None)
    with pytest.raises(Refused, match="does not reach"):
        level_to_use("full")
    assert [level_to_use(level) for level in ("limits", "time")] == ["limits", "time"]


@pytest.mark.parametrize("level", [level for level in collect.LEVELS if level != LEVEL])
def test_lower_levels_give_the_same_marks(tmp_path, course, level, monkeypatch):
    if collect.LEVELS.index(level) < collect.LEVELS.index(LEVEL):
        pytest.skip(f"this machine does not reach {level!r}")
    folder = put(
        tmp_path / "in", {"ab/fixture.ipynb": answers(), "cd/fixture.ipynb": answers(double="")}
    )
    monkeypatch.setattr(sys.modules[__name__], "LEVEL", level)
    rows, _ = graded(folder, course)
    assert [(rows[who]["code"], rows[who]["isolation"]) for who in ("ab", "cd")] == [
        ("8", level),
        ("2", level),
    ]


def test_an_overlay_takes_the_place_of_a_public_assignment(course, tmp_path):
    text = TEXT.replace("A fixture", "Another chebyshev")
    (course / "assignments" / "chebyshev.md").write_text(text)
    assert sources.read("chebyshev", course).title == "Another chebyshev"
    assert sources.read("chebyshev").title != "Another chebyshev"
    assert "fixture" in sources.names(course) and "fixture" not in sources.names()
    assert "ASSIGNMENT_SEED = 77" in str(sources.read("fixture", course, seed=77).notebook)


@pytest.mark.parametrize(
    "before, body, flags",
    [
        ("from fsnotes import MPM", "return 2 * x", []),
        ("from fsnotes import MPM as M", "M\n    return 2 * x", ["MPM"]),
        ("import fsnotes", "fsnotes.MPM\n    return 2 * x", ["MPM"]),
        ("", "MPM = 2\n    return MPM * x", []),
        (
            "import fsnotes",
            "getattr(fsnotes, 'M' + 'PM')().fit(np.eye(4)[:, :2], [0, 0, 1, 1])\n    return 2 * x",
            ["MPM"],
        ),
    ],
)
def test_who_calls_the_solver_is_flagged_and_not_failed(fixture, before, body, flags):
    flagged = dataclasses.replace(fixture, solvers=("MPM",))
    drawn = {q.name: q.drawn(1) for q in fixture.questions.values()}
    cells = [("", "import numpy as np\n" + before), ("double", f"def double(x):\n    {body}")]
    found = collect.collected(flagged, cells, drawn, LEVEL)
    assert found["flags"] == flags
    assert all("answer" in one for one in found["answers"]["double"])


def test_a_source_that_does_not_add_up_is_refused():
    with pytest.raises(ValueError, match="worth 6, and its cell 7"):
        sources.assignment(
            "x", jupytext.reads(TEXT.replace("points: 6", "points: 7"), fmt="md:myst")
        )
    with pytest.raises(ValueError, match="rubric"):
        sources.assignment("x", jupytext.reads(TEXT.replace("- (3)", "- (2)"), fmt="md:myst"))


def test_the_student_version_has_no_solution(fixture):
    text = release.notebook_text(fixture, "student")
    for secret in (sources.CANARY, "return 2 * x", "def cases", "Because"):
        assert secret not in text
        assert secret in release.notebook_text(fixture, "instructor")
    assert release.notebook_text(fixture, "student") == text
