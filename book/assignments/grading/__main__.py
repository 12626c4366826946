"""Command line of `tasks.py assignments`, `tasks.py grade` and `tasks.py new-course`."""

import argparse
import secrets
import sys
from pathlib import Path

from grading import gradebook, sources
from grading.collect import LEVELS, best_level
from grading.grade import MEANINGS, Refused, grade, level_to_use, seed_of
from grading.hand_in import handed_in

COURSE = """# A private course

`GRADING_SEED` decides on which data answers are tried out: keep it to yourself, and give no one
this folder. `ASSIGNMENT_SEED` decides on the data of the students; change both for each course.

A file `assignments/NAME.md` takes the place of the public assignment of this name, or adds one.
Copy one of the repository's `book/assignments/*.md` there to begin with.

    python3 tasks.py assignments --overlay {folder}
    python3 tasks.py grade SUBMISSIONS --overlay {folder}
"""


def new_course(arguments):
    """Make a folder with seeds of its own, outside the repository."""
    folder = Path(arguments.dir).resolve()
    if folder == sources.ROOT or sources.ROOT in folder.parents:
        raise Refused(f"{folder} lies in the repository, whose files are public; choose another")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} is there already, and is not empty")
    (folder / "assignments").mkdir(parents=True)
    seed = folder / "GRADING_SEED"
    seed.touch(mode=0o600)
    seed.write_text(f"{secrets.randbits(60)}\n")
    (folder / "ASSIGNMENT_SEED").write_text(f"{secrets.randbelow(10**6)}\n")
    (folder / "README.md").write_text(COURSE.format(folder=folder))
    print(f"A new course is in {folder}. Its README says what to do.")


def assignment_seed(overlay):
    """Of a course, or None for the public one."""
    file = Path(overlay or "", "ASSIGNMENT_SEED")
    if overlay is None:
        return None
    if not Path(overlay).is_dir():
        raise Refused(f"there is no folder {overlay}; make one with new-course DIR")
    if not file.is_file():
        return None
    text = file.read_text(encoding="utf-8").strip()
    if not text.isdecimal():
        raise Refused(f"{file} holds {text[:40]!r}; write a whole number, 0 or more")
    return int(text)


def assignments(arguments):
    """Write the archives for students and instructors."""
    from grading import release

    overlay, seed = arguments.overlay, assignment_seed(arguments.overlay)
    if overlay is None:
        print("The public assignments, with the public seed; for a course pass --overlay DIR:")
    else:
        which = "the public seed" if seed is None else f"its seed {seed}"
        print(f"The assignments of {overlay}, with {which}:")
    found = [sources.read(n, overlay, seed) for n in sources.names(overlay)]
    own = sources.own_names(overlay) if overlay else ()
    for one in (one for one in found if one.name in own):
        print(f"  {one.name}: trying out its own solution")
        file = Path(overlay, "GRADING_SEED")
        release.try_out(one, seed_of(file) if file.is_file() else 0, best_level())
    version = arguments.wheel.name.split("-")[1]
    for kind in release.SECTIONS:
        file = Path(arguments.out or overlay or "dist") / f"assignments-{kind}.zip"
        release.archive(file, kind, found, arguments.wheel, version)
        print(f"  {file}  {file.stat().st_size / 1e6:.1f} MB")


def try_out_overlay(arguments, seed, out):
    """Try out what an overlay changes or adds, if it was handed in."""
    from grading import release

    overlay, place = arguments.overlay, Path(arguments.submissions).resolve()
    if place in (out.resolve(), *out.resolve().parents):
        return  # it will be refused, and nothing should be written there
    data_seed = assignment_seed(overlay)
    own = {n: sources.read(n, overlay, data_seed) for n in sorted(sources.own_names(overlay))}
    found = handed_in(place, own, arguments.id_pattern) if own else ()
    for name in sorted({one.assignment for one in found if not one.problem}):
        release.try_out(own[name], seed, level_to_use(arguments.isolation), out / "collected")


def run_grade(arguments):
    """Grade, and say where everything is."""
    overlay = arguments.overlay
    if (overlay is None) == (arguments.seed is None):
        raise Refused(
            "pass --overlay DIR of a course made by new-course, or --seed FILE with the number "
            "that decides on the cases"
        )
    if (arguments.fill is None) != (arguments.key is None):
        raise Refused("--fill EXPORTED.csv and --key COLUMN belong together")
    if arguments.fill is not None:
        gradebook.read_book(Path(arguments.fill), arguments.key)
    out = Path(arguments.out or Path(overlay or "", "grades"))
    seed = seed_of(arguments.seed or Path(overlay) / "GRADING_SEED")
    if overlay is not None:
        try_out_overlay(arguments, seed, out)
    rows = grade(
        arguments.submissions,
        seed,
        out,
        overlay,
        assignment_seed(overlay),
        only=arguments.only,
        jobs=arguments.jobs,
        isolation=arguments.isolation,
        id_pattern=arguments.id_pattern,
    )
    graded = [row for row in rows if row["status"] in ("graded", "handed in twice")]
    others = [row for row in rows if row not in graded]
    # copies of a notebook share their answers
    to_mark = sum({(r["student"], r["assignment"]): r["to_mark"] for r in graded}.values())
    answers = "1 answer" if to_mark == 1 else f"{to_mark} answers"
    print(f"{len(graded)} graded, {len(others)} not; {answers} to mark by hand")
    for row in others[:20]:
        print(f"  {row['file']}: {row['status']}")
    levels = {row["isolation"] for row in graded}
    for level in levels - {LEVELS[0]}:
        print(f"  isolation {level}: {MEANINGS[level]}")
    for name in ("grades.csv", "manual.csv", "feedback"):
        print(f"  {out / name}")
    if arguments.fill is not None:
        once = [row for row in graded if row["status"] == "graded"]
        unfinished = sorted({row["student"] for row in once if row["to_mark"]})
        twice = sorted({(r["student"], r["assignment"]) for r in graded if r not in once})
        totals = {(row["student"], row["assignment"]): float(row["total"]) for row in once}
        titles = {n: sources.read(n, overlay).title for n in {row["assignment"] for row in once}}
        exported = Path(arguments.fill)
        file = out / f"{exported.stem}-filled.csv"
        said = gradebook.fill(exported, arguments.key, totals, titles, file)
        if unfinished:
            said.append(f"not all answers are marked yet, of {', '.join(unfinished)}")
        said += [
            f"{who} has handed in {what} more than once, and is left out" for who, what in twice
        ]
        print(f"  {file}")
        for line in said:
            print(f"    {line}")


def parser():
    top = argparse.ArgumentParser(prog="tasks.py", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser("new-course", help=new_course.__doc__)
    one.add_argument("dir", metavar="DIR")
    one.set_defaults(function=new_course)
    one = commands.add_parser("assignments", help=assignments.__doc__)
    one.add_argument("--overlay", metavar="DIR", help="a course made by new-course")
    one.add_argument("--out", metavar="DIR", help="where to write, default the course, or dist")
    one.add_argument("--wheel", type=Path, help=argparse.SUPPRESS)
    one.set_defaults(function=assignments)
    one = commands.add_parser("grade", help=run_grade.__doc__)
    one.add_argument("submissions", metavar="SUBMISSIONS", help="a folder, or a zip archive")
    one.add_argument("--overlay", metavar="DIR", help="a course made by new-course")
    one.add_argument("--seed", metavar="FILE", help="the grading seed, where there is no course")
    one.add_argument(
        "--out", metavar="DIR", help="where to write, default the folder grades of the course"
    )
    one.add_argument("--only", metavar="ID", help="run this student alone; others as they were")
    one.add_argument("--jobs", type=int, default=1, metavar="N", help="notebooks at a time")
    one.add_argument("--isolation", choices=LEVELS, help="accept this level of isolation")
    one.add_argument("--id-pattern", metavar="REGEX", help="group 1 of it is the student")
    one.add_argument(
        "--fill", metavar="EXPORTED.csv", help="write marks into a copy of a gradebook"
    )
    one.add_argument("--key", metavar="COLUMN", help="its column that names the student")
    one.set_defaults(function=run_grade)
    return top


def main():
    arguments = parser().parse_args()
    try:
        arguments.function(arguments)
    except (Refused, ValueError, OSError) as error:
        sys.exit(f"tasks.py: {error}")
    except KeyboardInterrupt:
        sys.exit("tasks.py: interrupted; the next run goes on from here")


if __name__ == "__main__":
    main()
