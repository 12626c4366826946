"""Grading: what is handed in, however odd, ends in a mark or a clear row."""

import os
import stat
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT
from course import LEVEL, TEXT, Course, answers, assignment, put, rows_of, zipped
from grading import collect, hand_in, report, sources
from grading.__main__ import main
from grading.grade import Refused, level_to_use, own_numbers, seed_of
from hostile import HOSTILE


@pytest.fixture(scope="module")
def fixture():
    return assignment()


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


# ---------------------------------------------------------------- hostile submissions

UNREADABLE = {
    "empty/fixture.ipynb": ("", "an empty file"),
    "text/fixture.ipynb": ("no json", "not a notebook"),
    "list/fixture.ipynb": ("[1]", "not a notebook"),
    "odd/fixture.ipynb": (
        '{"cells": [{"cell_type": 3, "source": {"a": 1}}]}',
        "not a notebook",
    ),
    "other/notes.docx": (b"\0", "not a notebook (.ipynb)"),
    "stranger/else.ipynb": ('{"cells": []}', "not one of the assignments"),
    "link/fixture.ipynb": (ROOT / "README.md", "a symbolic link"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """All of them handed in together, with files that are no notebooks."""
    course = Course(tmp_path_factory.mktemp("hostile"))
    course.hand_in({name: content for name, (content, _) in UNREADABLE.items()})
    course.hand_in({"renamed/homework.ipynb": answers()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "CALL_SECONDS", 2)
        patch.setattr(collect, "CELL_SECONDS", 3)
        patch.setattr(collect, "QUESTION_SECONDS", 3)
        patch.setattr(collect.run, "__defaults__", ("", 8))
        return course.grade({who: what for who, (what, *_) in HOSTILE.items()}), course.out


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


@pytest.mark.parametrize("file", UNREADABLE)
def test_what_cannot_be_read_is_a_row(hostile, file):
    row = hostile[0][file.partition("/")[0]]
    assert row["status"].startswith(UNREADABLE[file][1])
    assert "total" not in row


def test_a_renamed_notebook_is_known_by_what_it_says(hostile):
    assert hostile[0]["renamed"]["code"] == "8"


def test_feedback_shows_no_output_no_test_and_no_canary(hostile):
    rows, out = hostile
    pages = {file.name: file.read_text() for file in (out / "feedback").iterdir()}
    assert len(pages) == len(rows)
    for page in pages.values():
        for strange in (
            sources.CANARY,
            "<b>ha</b>",
            "rng.normal",
            "allclose",
            "return 2",
            "Error: ",
        ):
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


def handed_in(place, pattern=None):
    return hand_in.handed_in(place, {"fixture": assignment()}, pattern)


def test_folders_files_and_archives_give_the_same(tmp_path):
    files = {"ab1/fixture.ipynb": answers(), "cd2/fixture.ipynb": answers()}
    flat = {"ab1-fixture.ipynb": answers(), "fixture_cd2.ipynb": answers()}
    places = put(tmp_path / "folders", files), put(tmp_path / "flat", flat)
    for place in (*places, zipped(tmp_path / "all.zip", files)):
        found = {(one.student, one.assignment, one.problem) for one in handed_in(place)}
        assert found == {("ab1", "fixture", ""), ("cd2", "fixture", "")}


@pytest.mark.parametrize(
    "names, students",
    [
        ("in/ab1/fixture.ipynb in/cd2/fixture.ipynb", "ab1 cd2"),
        ("in/x/ab1/fixture.ipynb in/x/cd2/fixture.ipynb", "ab1 cd2"),
        ("in/ab1-fixture.ipynb in/cd2-fixture.ipynb", "ab1 cd2"),
        ("ab1/a/fixture.ipynb ab1/b/fixture.ipynb", "ab1"),
        ("AB1/a/fixture.ipynb AB1/b/fixture.ipynb", "AB1"),
        ("in/ab1/fixture.ipynb ef3/fixture.ipynb", "in ef3"),
    ],
)
def test_a_folder_that_holds_all_is_nobody(tmp_path, names, students):
    """What compressing a folder gives; but one student may have folders as well."""
    first, second = names.split()
    other = "ab1" if second.startswith("ab1") else "cd2"
    texts = (answers(f'STUDENT = "{who}"') for who in ("ab1", other))
    place = zipped(tmp_path / "all.zip", dict(zip((first, second), texts, strict=True)))
    assert {one.student for one in handed_in(place)} == set(students.split())


def test_a_platforms_names_by_a_pattern(tmp_path):
    put(tmp_path, {"Ada L_123_assignsubmission_file_/fixture.ipynb": answers()})
    [found] = handed_in(tmp_path, r"_(?P<id>\d+)_assign")
    assert (found.student, found.assignment, found.problem) == ("123", "fixture", "")
    assert "STUDENT" not in found.notes
    [missing] = handed_in(tmp_path, r"^(\d+)")
    assert "--id-pattern" in missing.problem


@pytest.mark.parametrize(
    "name", ["../x.ipynb", "/etc/x.ipynb", "a/../../x.ipynb", "a\\..\\x.ipynb"]
)
def test_members_outside_an_archive_are_refused(tmp_path, name):
    link = zipfile.ZipInfo("ab/fixture.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    place = zipped(tmp_path / "all.zip", {zipfile.ZipInfo(name): answers(), link: "/etc/passwd"})
    outside, linked = handed_in(place)
    assert "refused" in outside.problem or "link" in outside.problem
    assert "refused" in linked.problem or "link" in linked.problem


def test_twice_handed_in_is_two_rows(course):
    course.grade({"ab/fixture.ipynb": answers(), "ab/fixture (1).ipynb": answers(double="")})
    rows = rows_of(course.out / "grades.csv")
    assert [row["status"] for row in rows] == ["handed in twice"] * 2
    assert {row["code"] for row in rows} == {"8", "2"}


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


# ---------------------------------------------------------------- marks by hand, and again


def test_regrading_keeps_what_was_marked_by_hand(course):
    rows = course.grade({"ab": answers(), "cd": answers()})
    assert rows["ab"]["total"] == "8" and rows["ab"]["to_mark"] == 1
    table = course.manual()
    assert [row["own_numbers"] for row in table] == ["letters: 2\nseed: 3"] * 2
    assert table[0]["answer"] == "A reason."
    course.mark(points="2,5", comment="Good, but the unit", mine="ask in person")
    row = course.grade()["ab"]
    assert (row["total"], row["to_mark"]) == ("10.5", 0)
    assert "Good, but the unit" in (course.out / "feedback" / "ab.html").read_text()


@pytest.mark.parametrize("filled", [{"points": "2.5", "mine": "in person"}, {"mine": "in person"}])
def test_what_was_written_stays_while_a_notebook_is_away(course, filled):
    """What is in a column of one's own alone, too."""
    course.grade({"ab": answers(), "cd": answers()})
    course.mark(**filled)
    there = course.base / "in" / "ab"
    away = there.rename(course.base / "ab")
    course.grade()
    assert [file.name for file in (course.out / "feedback").iterdir()] == ["cd.html"]
    away.rename(there)
    for _ in range(2):
        found = {row["student"]: row for row in course.manual()}
        assert found["ab"] == found["ab"] | filled
        assert not found["cd"]["points"] + found["cd"]["mine"]
        course.grade()


@pytest.mark.parametrize("points", ["5", "-1", "many", "nan"])
def test_points_that_make_no_sense_are_named(course, points):
    course.grade({"ab": answers()})
    before = (course.out / "grades.csv").read_text()
    course.mark(points=points)
    with pytest.raises(ValueError, match="ab, fixture, words: .* from 0 to 4"):
        course.grade()
    assert (course.out / "grades.csv").read_text() == before


@pytest.mark.parametrize(
    "filled, earlier",
    [({"points": "3", "comment": "Yes"}, "3 Yes"), ({"comment": "The unit?"}, "The unit?")],
)
def test_what_was_said_of_another_answer_is_kept_aside(course, filled, earlier):
    course.grade({"ab": answers()})
    course.mark(**filled)
    rows = course.grade({"ab": answers(words="A reason, in metres.")})
    [row] = course.manual()
    assert (row["points"], row["comment"], row["earlier"]) == ("", "", earlier)
    assert row["answer"] == "A reason, in metres." and rows["ab"]["to_mark"] == 1
    before = (course.out / "manual-before.csv").read_text(encoding="utf-8-sig")
    assert ",".join([filled.get("points", ""), filled["comment"]]) in before


def test_handing_in_twice_loses_no_mark(course):
    course.grade({"ab": answers()})
    course.mark(points="3", comment="Yes")
    row = course.grade({"ab-fixture.ipynb": answers()})["ab"]
    assert (row["status"], row["words"]) == ("graded", "3")
    assert row["notes"] == "the same notebook as ab-fixture.ipynb"
    course.grade({"ab-fixture.ipynb": answers(words="Another reason.")})
    [row] = course.manual()
    assert row["earlier"] == "3 Yes"
    assert row["answer"] == "Another reason.\n[also handed in:]\nA reason."
    page = (course.out / "feedback" / "ab.html").read_text()
    assert "this is ab/fixture.ipynb" in page and "this is ab-fixture.ipynb" in page


def test_two_rows_for_one_answer_lose_no_mark(course):
    course.grade({"ab": answers()})
    [row] = course.manual()
    for points in (("3", ""), ("", "3"), ("3", "3")):
        course.write([row | {"points": one} for one in points])
        assert course.grade()["ab"]["words"] == "3"
    for second in ({"points": "2"}, {"answer": "Another reason."}):
        course.write([row | {"points": "3"}, row | second])
        with pytest.raises(ValueError, match="ab, fixture, words: two rows .* keep one"):
            course.grade()


def test_a_table_with_semicolons_stays_one(course):
    course.grade({"ab": answers(), "cd": answers()})
    first, second = course.manual()
    course.write([first | {"points": 2.5}, second], ";")
    for only in (None, "cd"):
        assert course.grade(only=only)["ab"]["total"] == "10.5"
        assert course.manual()[0]["points"] == "2,5"
        assert rows_of(course.out / "grades.csv")[0]["total"] == "10,5"
        heads = [file.read_text("utf-8-sig").split(";")[0] for file in course.out.glob("*.csv")]
        assert heads == ["student"] * 3


def test_numbers_of_others_keep_their_points_beside_semicolons(course):
    course.grade({"12.345/fixture.ipynb": answers(words="3.14")})
    [row] = course.manual()
    filled = row | {"points": "2,5", "mine": "1.10"}
    course.write([filled], ";")
    for _ in range(3):
        assert course.grade()["12.345"]["words"] == "2.5"
        [found] = course.manual()
        assert found == filled and (found["student"], found["answer"]) == ("12.345", "3.14")


def alone(student):
    return {f"{student}/fixture.ipynb": answers(f'STUDENT = "{student}"')}


@pytest.mark.parametrize("first, second", [("müller", "möller"), ("李娜", "王伟"), ("7", "007")])
def test_a_later_batch_takes_no_mark(course, first, second):
    course.grade(alone(first))
    course.mark(points="3")
    assert course.grade(alone(second), place="late")[second]["words"] == "0"
    assert course.grade()[first]["words"] == "3"


def test_marks_in_an_encoding_of_signs_go_to_nobody_else(course):
    course.grade({"李娜": answers(), "欧阳娜娜": answers()})
    course.write([r | {"points": p} for r, p in zip(course.manual(), "31", strict=True)])
    course.save_as("gbk")
    assert {row["words"] for row in course.grade().values()} == {"0"}
    assert sorted(row["points"] for row in course.manual()) == ["", "", "1", "3"]


@pytest.mark.parametrize("names", [("李娜", "王伟"), ("Иван", "Олег"), ("007", "7")])
def test_students_whose_names_look_alike_to_a_spreadsheet_are_two(course, names):
    texts = answers(), answers(words="A season.")
    course.grade(dict(zip(names, texts, strict=True)))
    course.mark(points="3")
    first = course.manual()[0]["student"]
    words = {who: row["words"] for who, row in course.grade().items()}
    assert words == dict.fromkeys(names, "0") | {first: "3"}


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "mac_roman", "ascii", "utf-16"])
def test_a_table_in_the_encoding_of_a_spreadsheet_loses_no_mark(course, encoding):
    text = answers(words="Because ä, ö and ü.")
    course.grade({"Jörg": text, "007": text})
    filled = {"points": "3", "comment": "für die Zahl"}
    rows = [row | filled | {"student": row["student"].lstrip("0")} for row in course.manual()]
    for row in rows:
        if encoding == "ascii":
            del row["own_numbers"]
    course.write(rows, ";")
    course.save_as(encoding)
    found = course.grade()
    assert {who: row["words"] for who, row in found.items()} == {"Jörg": "3", "007": "3"}
    if encoding in ("cp1252", "utf-16"):
        assert {row["comment"] for row in course.manual()} == {"für die Zahl"}


@pytest.mark.parametrize("file, column", [("manual.csv", "answer"), ("grades.csv", "to_mark")])
def test_a_column_that_is_needed_is_asked_for(course, file, column):
    course.grade({"ab": answers()})
    text = (course.out / file).read_text("utf-8-sig")
    (course.out / file).write_text(text.replace(column, "other", 1))
    with pytest.raises(ValueError, match=f"{file} has no column {column}; put them back"):
        course.grade(only="ab")


def test_a_table_that_a_person_worked_on(course):
    """Empty rows, remarks, columns without a head, identities as numbers, other signs."""
    course.grade({"007": answers()})
    course.grade({"007": answers(words="α = -0.31 ≥ 1")})
    course.mark(points="3", student="7", mine="a")
    lines = (course.out / "manual.csv").read_text(encoding="utf-8-sig").splitlines()
    lines[0] = lines[0].replace(",mine", ",mine,,mine,")
    lines[-1] = lines[-1].removesuffix(",a") + ",b,c,d,e"
    table = "\n".join([*lines, "", "my remark", ""])
    (course.out / "manual.csv").write_bytes(table.encode("cp1252", "replace"))
    assert course.grade()["007"]["words"] == "3"
    [row] = course.manual()
    assert [v for k, v in row.items() if k.startswith(("mine", "column"))] == ["b", "c", "d", "e"]
    assert course.grade({"007": answers(words="α = 0.31 ≥ 1")})["007"]["to_mark"] == 1


@pytest.mark.parametrize(
    "student, written", [("=1+1", "'=1+1,fixture"), ("'t Hooft", "'t Hooft,fixture")]
)
def test_a_name_is_no_formula_and_loses_no_mark(course, student, written):
    course.grade({student: answers()})
    assert written in (course.out / "grades.csv").read_text(encoding="utf-8-sig")
    course.mark(points="2", comment="- unit")
    assert course.grade()[student]["words"] == "2"
    assert "<td>- unit" in (course.out / "feedback" / report.file_name(student)).read_text()


# ---------------------------------------------------------------- rows and pages


def test_own_numbers_that_fail_stop_no_other(course):
    changed = TEXT.replace('"letters": len(student)', '"letters": 1 / (len(student) - 3)')
    assert changed != TEXT
    put(course.folder, {"assignments/fixture.md": changed})
    rows = course.grade({"abc": answers(), "ab": answers()})
    assert {row["code"] for row in rows.values()} == {"8"}
    found = {row["student"]: row["own_numbers"] for row in course.manual()}
    assert found["ab"].startswith("letters: -1")
    assert found["abc"].startswith("could not be computed") and "ZeroDiv" in found["abc"]


def test_numbers_are_shown_with_four_digits():
    numbers = {"a": -0.0, "b": [1 / 3, {"c": np.float64(2e-9)}], "d": (1, "e")}
    found = SimpleNamespace(own_numbers=lambda student: numbers)
    assert own_numbers(found, "ab") == "a: 0\nb: [0.3333, c: 2e-09]\nd: [1, e]"


def test_who_pickles_a_class_of_a_notebook_is_graded(course):
    before = "import pickle\nclass A: pass\nassert type(pickle.loads(pickle.dumps(A()))) is A"
    row = course.grade({"ab": answers(before)})["ab"]
    assert (row["code"], row["notes"]) == ("8", "")


def test_notes_on_what_was_handed_in(course):
    rows = course.grade(
        {
            "picture": answers(words="![a](attachment:a.png)"),
            "seed": answers("ASSIGNMENT_SEED = 4"),
            "same": answers("ASSIGNMENT_SEED = 3"),
        }
    )
    assert {who: row["notes"] for who, row in rows.items()} == {
        "picture": "there are pictures among the answers: open the notebook",
        "seed": "ASSIGNMENT_SEED in the notebook is 4, and here 3",
        "same": "",
    }


@pytest.mark.parametrize(
    "words, end",
    [
        ("First.\n\nSecond.", "First.\n\nSecond."),  # paragraphs stay apart
        ("A reason. " * 4000, "[... and 9999 characters more]"),
    ],
)
def test_an_answer_is_shown_whole_or_says_that_it_is_cut(course, words, end):
    course.grade({"ab": answers(words=words)})
    assert course.manual()[0]["answer"].endswith(end)


def test_no_answer_is_no_work_to_mark(course):
    assert course.grade({"ab": answers(words="YOUR ANSWER HERE")})["ab"]["to_mark"] == 0
    assert course.manual()[0]["answer"] == "" and course.manual()[0]["points"] == "0"
    course.mark(points="1")
    assert course.grade()["ab"]["words"] == "1"
    assert course.manual()[0]["comment"] == ""
    assert course.grade({"ab": answers()})["ab"]["to_mark"] == 1


def test_what_cannot_be_run_is_a_row(course, monkeypatch):
    def fails(assignment, cells, *others):
        if "bad" in cells[0][1]:
            raise MemoryError
        return run(assignment, cells, *others)

    run = collect.collected
    monkeypatch.setattr("grading.grade.collected", fails)
    rows = course.grade({"ab": answers(), "cd": answers("bad = 1")})
    assert rows["ab"]["code"] == "8"
    assert rows["cd"]["status"] == "it could not be run (MemoryError)"


def test_a_second_run_collects_only_what_is_not_whole(course, monkeypatch):
    first = course.grade({"ab": answers()})
    with monkeypatch.context() as patch:
        patch.setattr("grading.grade.collected", None)
        assert course.grade() == first
    for file in (course.out / "collected").glob("*.json"):
        file.write_text("")
    assert course.grade() == first


def test_only_one_student_is_run(course):
    rows = course.grade({"ab": answers(), "cd": answers()}, only="AB")
    assert [rows[who]["status"] for who in ("ab", "cd")] == ["graded", "not graded yet"]
    assert [file.name for file in (course.out / "feedback").iterdir()] == ["ab.html"]
    assert {row["status"] for row in course.grade().values()} == {"graded"}
    assert course.grade({"cd": answers(double="")}, only="ab")["cd"]["code"] == "8"
    with pytest.raises(Refused, match="nobody is 'ef'"):
        course.grade(only="ef")


# ---------------------------------------------------------------- seeds and levels


def test_a_seed_in_the_repository_is_refused():
    with pytest.raises(Refused, match="public"):
        seed_of(ROOT / "README.md")


def test_a_course_has_seeds_of_its_own(tmp_path, monkeypatch, capsys):
    file = tmp_path / "course" / "GRADING_SEED"
    monkeypatch.setattr(sys, "argv", ["tasks.py", "new-course", str(file.parent)])
    main()
    assert seed_of(file) > 0
    assert os.name == "nt" or stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(SystemExit, match="not empty"):
        main()
    monkeypatch.setattr(sys, "argv", ["tasks.py", "new-course", str(ROOT / "book" / "new")])
    with pytest.raises(SystemExit, match="public"):
        main()


def test_the_archives_of_a_course_are_beside_its_seed(course, capsys):
    put(course.folder, {"ASSIGNMENT_SEED": "77\n"})
    course.run("assignments")
    assert f"{course.folder}, with its seed 77" in capsys.readouterr().out
    with zipfile.ZipFile(course.folder / "assignments-instructor.zip") as archive:
        texts = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    assert "ASSIGNMENT_SEED = 77" in texts["source/fixture/fixture.ipynb"]
    assert "`source/fixture/fixture.ipynb`: A fixture" in texts["README.md"]


def test_the_command_grades_a_course_into_its_folder(course, capsys):
    course.hand_in({"ab": answers(), "cd/else.ipynb": "no json"})
    course.hand_in({"ab/fixture (1).ipynb": answers()})  # the same answers, to be marked once
    book = course.base / "book.csv"
    book.write_text("id,Fixture\nab,\n")
    course.run("grade", "--fill", book, "--key", "id")
    said = capsys.readouterr().out
    assert "2 graded, 1 not; 1 answer to mark by hand" in said
    assert "not all answers are marked yet, of ab" in said
    out = course.folder / "grades"
    assert rows_of(out / "book-filled.csv") == [{"id": "ab", "Fixture": "8"}]
    statuses = [row["status"].split(":")[0] for row in rows_of(out / "grades.csv")]
    assert statuses == ["graded", "graded", "not a notebook"]
    with pytest.raises(SystemExit, match="belong together"):
        course.run("grade", "--fill", book)


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
def test_lower_levels_give_the_same_marks(course, level):
    if collect.LEVELS.index(level) < collect.LEVELS.index(LEVEL):
        pytest.skip(f"this machine does not reach {level!r}")
    rows = course.grade({"ab": answers(), "cd": answers(double="")}, level=level)
    found = {who: (row["code"], row["isolation"]) for who, row in rows.items()}
    assert found == {"ab": ("8", level), "cd": ("2", level)}


# ---------------------------------------------------------------- sources


def test_an_overlay_takes_the_place_of_a_public_assignment(course):
    text = TEXT.replace("A fixture", "Another chebyshev")
    put(course.folder, {"assignments/chebyshev.md": text})
    assert sources.read("chebyshev", course.folder).title == "Another chebyshev"
    assert sources.read("chebyshev").title != "Another chebyshev"
    assert "fixture" in sources.names(course.folder) and "fixture" not in sources.names()
    assert "ASSIGNMENT_SEED = 77" in str(sources.read("fixture", course.folder, seed=77).notebook)
