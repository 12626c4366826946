"""What has been handed in: folders, files or a platform's archive, each file with its student."""

import json
import re
import unicodedata
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from grading.sources import HEAD, seed_in

LARGEST = 20_000_000  # bytes of a notebook
LONGEST_CODE = 500_000  # characters, of all code of a notebook
LONGEST_NAME = 100
STUDENT = re.compile(r"""^STUDENT\s*=\s*(["'])(.+?)\1""", re.M)
COPY = re.compile(r"\s*\(\d+\)$|-Copy\d*$")
WHOLE_CELL = re.compile(r"\A\s*%%(time|capture)\b.*\n")
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
KINDS = ("code", "markdown", "raw")
IGNORED = ("__MACOSX", ".ipynb_checkpoints", ".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class HandedIn:
    """A file, and what could be read from it.

    Attributes
    ----------
    student, assignment : str
        Empty where it cannot be told.
    said : str
        The STUDENT of the notebook, on which the data depend; the student if there is none.
    file : str
        Its place in what was handed in.
    cells : tuple of (str, str)
        Grade id, or "", and source of each code cell.
    words : dict
        Answers in words, by grade id.
    problem : str
        Why it cannot be marked; empty if it can.
    notes : tuple of str
    """

    student: str
    assignment: str
    said: str
    file: str
    cells: tuple = ()
    words: dict = field(default_factory=dict)
    problem: str = ""
    notes: tuple = ()


def handed_in(place, assignments, id_pattern=None):
    """All files of a folder or a zip archive.

    Parameters
    ----------
    place : path-like
    assignments : dict
        By name.
    id_pattern : str, optional
        Regular expression that is searched in the place of a file; its first group, or its group
        ``id``, is the student. Otherwise that is the folder, or a file's name without that of the
        assignment, or else the STUDENT of the notebook.

    Returns
    -------
    list of HandedIn
        In the order of their names; also those that cannot be read.
    """
    place = Path(place)
    if not place.exists():
        raise ValueError(
            f"there is nothing at {place}; pass a folder or a zip of what was handed in"
        )
    if place.is_dir():
        files = of_folder(place)
    elif zipfile.is_zipfile(place):
        files = of_archive(place)
    else:
        raise ValueError(f"{place} is neither a folder nor a zip archive")
    try:
        pattern = re.compile(id_pattern) if id_pattern else None
    except re.error as error:
        raise ValueError(f"--id-pattern {id_pattern!r} is no regular expression: {error}") from None
    found, folders = [], -1
    while folders < 0 or (pattern is None and lies_too_deep(found, folders)):
        folders += 1
        found = [one(name, files[name], assignments, pattern, folders) for name in sorted(files)]
    return marked_twice(found)


def lies_too_deep(found, folders):
    """Whether all lie in one more folder, which is not named by one of several students."""
    found = [one for one in found if not one.problem]
    parts = [PurePosixPath(one.file).parts for one in found]
    tops = {same(part[folders]) if len(part) > folders + 1 else None for part in parts}
    said = {same(one.said) for one in found}
    return len(tops) == 1 and None not in tops and len(said) > 1 and not tops & said


def same(text):
    """A text by which identities are compared: neither case nor the way of writing accents."""
    return unicodedata.normalize("NFC", text).strip().lower()


def printable(text):
    """Text without what can neither be written to a file nor shown."""
    return CONTROL.sub("?", text)


def is_ignored(name):
    return any(part in IGNORED or part.startswith("._") for part in PurePosixPath(name).parts)


def of_folder(place):
    """Contents by their place in a folder; instead of content, a problem."""
    files = {}
    for file in place.rglob("*"):
        name = printable(file.relative_to(place).as_posix())
        while name in files:
            name += " (again)"
        if is_ignored(name) or (file.is_dir() and not file.is_symlink()):
            continue
        if file.is_symlink():
            files[name] = "a symbolic link, which is not followed"
        elif not file.is_file():
            files[name] = "not a file"
        elif file.stat().st_size > LARGEST:
            files[name] = f"larger than {LARGEST // 10**6} MB"
        else:
            files[name] = file.read_bytes()
    return files


def of_archive(place):
    """The same of a zip archive, of which nothing is unpacked."""
    files = {}
    with zipfile.ZipFile(place) as archive:
        for member in archive.infolist():
            name, parts = printable(member.filename), PurePosixPath(member.filename).parts
            if member.is_dir() or is_ignored(name):
                continue
            while name in files:
                name += " (again)"
            if (
                not parts
                or ".." in parts
                or name.startswith(("/", "\\"))
                or "\\" in name
                or ":" in parts[0]
            ):
                files[name] = "a place outside the archive, which is refused"
            elif (member.external_attr >> 16) & 0o170000 == 0o120000:
                files[name] = "a symbolic link, which is not followed"
            elif member.file_size > LARGEST:
                files[name] = f"larger than {LARGEST // 10**6} MB"
            else:
                try:
                    with archive.open(member) as file:
                        files[name] = file.read(LARGEST + 1)[:LARGEST]
                except Exception as error:  # of many kinds, from several ways to pack
                    files[name] = f"it cannot be unpacked ({type(error).__name__})"
    return files


def one(name, content, assignments, pattern, folders=0):
    """A file as it was handed in, below so many folders that all have in common."""
    problem = content if isinstance(content, str) else ""
    notebook, notes = {}, []
    if not problem and not name.lower().endswith(".ipynb"):
        problem = "not a notebook (.ipynb)"
        if name.lower().endswith(".zip"):
            problem = "an archive within what was handed in: pass it by itself, or unpack it"
    if not problem:
        notebook, problem = parsed(content)
    blocks, ids = [], set()
    for cell in notebook.get("cells", []):
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if grade_id in ids and grade_id:
            notes.append(f"cell {grade_id} comes twice, the last one counts")
        ids.add(grade_id)
        blocks.append((grade_id, cell["source"], cell["cell_type"] == "code"))
    assignment = which(name, notebook, ids, assignments)
    if sum(len(source) for _, source, is_code in blocks if is_code) > LONGEST_CODE:
        problem, blocks = problem or f"more than {LONGEST_CODE // 1000} kB of code", []
    cells, words = [], {}
    named = [other for other in assignments if word(other).search(PurePosixPath(name).stem)]
    if assignment and named and assignment not in named:
        notes.append(f"its name says {named[0]}, and its content {assignment}")
    if assignment and not problem:
        seed, wanted = seed_in(source for _, source, _ in blocks), assignments[assignment].seed
        if seed and seed != wanted:
            notes.append(f"ASSIGNMENT_SEED in the notebook is {seed[:20]}, and here {wanted}")
        words = answers_in_words(blocks, assignments[assignment])
        if any("](attachment:" in answer or "<img" in answer for answer in words.values()):
            notes.append("there are pictures among the answers: open the notebook")
        # an answer in words may have become code
        cells = [
            (grade_id, python_of(source))
            for grade_id, source, is_code in blocks
            if is_code and grade_id not in words
        ]
    if not problem and not assignment:
        problem = f"not one of the assignments ({', '.join(assignments)})"
    said = next((m[2].strip() for _, source, _ in blocks if (m := STUDENT.search(source))), "")
    said = printable(said)[:LONGEST_NAME]
    student = printable(who(name, assignments, said, pattern, folders))[:LONGEST_NAME]
    if not student and pattern is not None:
        problem = problem or "its student cannot be told: --id-pattern is not in its name"
    elif not student:
        problem = problem or "its student cannot be told: pass --id-pattern"
    elif said and same(said) != same(student):
        notes.append(f"STUDENT in the notebook is {said[:40]!r}")
    return HandedIn(
        student, assignment, said or student, name, tuple(cells), words, problem, tuple(notes)
    )


def parsed(content):
    """A notebook from its bytes, with sources as text; and why not."""
    if not content.strip():
        return {}, "an empty file"
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
        cells = []
        for cell in notebook["cells"]:
            source, metadata = cell["source"], cell.get("metadata", {})
            source = source if isinstance(source, str) else "".join(source)
            if cell["cell_type"] not in KINDS or isinstance(cell["source"], dict):
                raise TypeError
            source = source.encode("utf-8", "replace").decode().replace("\r\n", "\n")
            nbgrader = metadata.get("nbgrader", {})
            grade_id = nbgrader.get("grade_id", "") if isinstance(nbgrader, dict) else ""
            grade_id = grade_id if isinstance(grade_id, str) else ""
            clean = {"nbgrader": {"grade_id": grade_id}}
            cells.append({"cell_type": cell["cell_type"], "source": source, "metadata": clean})
        metadata = notebook.get("metadata", {}).get("coursework", {})
        name = metadata.get("assignment", "") if isinstance(metadata, dict) else ""
        return {"cells": cells, "assignment": name if isinstance(name, str) else ""}, ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, "not a notebook: its content cannot be read"


def which(name, notebook, ids, assignments):
    """Name of the assignment, by what the notebook says, its file's name, or its cells."""
    if notebook.get("assignment") in assignments:
        return notebook["assignment"]
    for found in assignments:
        if word(found).search(PurePosixPath(name).stem):
            return found
    shares = {a: len(ids & set(assignments[a].questions)) for a in assignments}
    best = max(shares, key=shares.get, default="")
    return best if best and shares[best] else ""


def who(name, assignments, said, pattern, folders):
    """Identity of the student."""
    path = PurePosixPath(*PurePosixPath(name).parts[folders:])
    if pattern is not None:
        found = pattern.search(name)
        if not found:
            return ""
        return (found.groupdict().get("id") or [*found.groups(), found.group()][0] or "").strip()
    if len(path.parts) > 1:
        return path.parts[0].strip()
    stem = COPY.sub("", path.stem)
    named = [word(assignment) for assignment in assignments if word(assignment).search(stem)]
    # without the name of an assignment it may be anything, as notes.txt
    if not named or (said and word(said).search(stem)):
        return said
    parts = [part.strip(" -_.()") for part in named[0].split(stem, maxsplit=1)]
    return "-".join(filter(None, parts)) or said


def word(name):
    """A name that stands by itself."""
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.I)


def python_of(source):
    """A cell as Python, with the notebook's own commands as calls."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(WHOLE_CELL.sub("\n", source))
    except Exception:  # it is no Python then, which running it will tell
        return source


def answers_in_words(blocks, assignment):
    """What was written by grade id: all that was not handed out, also in cells that follow.

    Parameters
    ----------
    blocks : list of (str, str, bool)
        Grade id, source, and whether it is code, of all cells in their order.
    assignment : Assignment
    """
    handed_out = {line.strip() for text in assignment.texts for line in text.splitlines()}
    manual = [answer.grade_id for answer in assignment.manual]
    titles = {answer.title: answer.grade_id for answer in assignment.manual}
    found, last = {grade_id: [] for grade_id in manual}, None
    for grade_id, text, is_code in blocks:
        # some programs drop the grade ids of a notebook that they save
        head = HEAD.match(text.strip())
        grade_id = grade_id or titles.get(head and head[1], "")
        if grade_id in found:
            last = grade_id
        elif is_code and (last is None or grade_id):
            continue
        own = [
            line for line in text.splitlines() if not line.strip() or line.strip() not in handed_out
        ]
        answer = re.sub(r"\n{3,}", "\n\n", "\n".join(own)).strip()
        if answer and manual:
            found[last or manual[0]].append(answer)
    return {grade_id: "\n\n".join(parts) for grade_id, parts in found.items()}


def marked_twice(found):
    """The same, with a note where a student has handed in an assignment more than once."""
    groups = {}
    for one in found:
        if not one.problem:
            groups.setdefault((same(one.student), one.assignment), []).append(one)
    result = []
    for one in found:
        alike = groups.get((same(one.student), one.assignment), [])
        if not one.problem and len(alike) > 1:
            others = ", ".join(other.file for other in alike if other is not one)
            is_copy = all((o.cells, o.words) == (one.cells, one.words) for o in alike)
            said = "the same notebook as" if is_copy else "handed in more than once: also"
            notes = (*one.notes, f"{said} {others}")
            one = HandedIn(**{**one.__dict__, "notes": notes})
        result.append(one)
    return result
