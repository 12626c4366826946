"""Run a submission apart from everything else, and keep the numbers that its functions return."""

import ast
import builtins
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import fsnotes
from grading import jail, probe
from grading.sources import ROOT

HERE = Path(__file__).resolve().parent
LEVELS = ("full", "limits", "time")  # the best one first
# of everything, of all cells, of one, of a question and of a call
SECONDS, CELLS_SECONDS, CELL_SECONDS, QUESTION_SECONDS, CALL_SECONDS = 300, 120, 60, 40, 10
MOST_BYTES = 5_000_000
ENDED = ("time", "early")
# whatever else an error calls itself may hold what no one should read
ERRORS = {
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
ERRORS |= {"OutOfTime", "NotNumbers", "missing", "LinAlgError", "SolverError", "DCPError"}
LIMITS = {
    "AS": 4 << 30,
    "NPROC": 64,
    "FSIZE": 20 << 20,
    "NOFILE": 256,
    "CORE": 0,
    "CPU": SECONDS,
}
TRIAL = """
import os, socket
assert not os.listdir(".")
for place in ("/x", "/usr/x"):
    try:
        open(place, "w")
    except OSError:
        continue
    raise SystemExit("the file system can be written")
try:
    socket.create_connection(("127.0.0.1", 9), 1)
except ConnectionRefusedError:
    raise SystemExit("there is a network")
except OSError:
    print("apart")
"""


def environment(level, folder):
    """What the program sees of our environment: nothing but what Python needs."""
    home = jail.WORK if level == "full" else str(folder)
    found = {"PATH": os.defpath, "HOME": home, "TMPDIR": "/tmp" if level == "full" else home}
    found |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}
    found |= {"MPLBACKEND": "Agg", "MPLCONFIGDIR": found["TMPDIR"]}
    if os.name == "nt":
        found["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return found


def run(program, level, text="", seconds=SECONDS):
    """Run Python with some arguments at a level of isolation.

    Returns
    -------
    bytes, str
        What it wrote, up to `MOST_BYTES`, and how it ended: "", or "time", or "output".
    """
    folder = Path(tempfile.mkdtemp(prefix="grading-")).resolve()
    folder.chmod(0o755)
    command = [sys.executable, "-I", *program]
    if level != "time" or os.name != "nt":
        settings = {
            "level": level,
            "root": str(folder),
            "paths": [sys.prefix, sys.base_prefix, str(ROOT / "fsnotes"), str(HERE / "probe.py")],
            "limits": LIMITS,
            "environment": environment(level, folder),
        }
        command = [sys.executable, "-I", str(HERE / "jail.py"), json.dumps(settings), *command]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment("time", folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    found, ended = bytearray(), []

    def stop(why):
        ended.append(why)
        try:
            if level == "full":
                process.terminate()  # which the jail passes on to what runs in it
                process.wait(5)
            os.killpg(process.pid, 9) if hasattr(os, "killpg") else process.kill()
        except (ProcessLookupError, subprocess.TimeoutExpired):
            process.kill()

    def read():
        while piece := process.stdout.read1(65536):
            found.extend(piece)
            if len(found) > MOST_BYTES:
                stop("output")
                break

    def write():
        try:
            process.stdin.write(text.encode())
            process.stdin.close()
        except OSError:
            pass  # it has ended

    threads = [threading.Thread(target=job, daemon=True) for job in (read, write)]
    for thread in threads:
        thread.start()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        stop("time")
    stop("")  # whatever it has started
    process.wait()
    for thread in threads:
        thread.join(2)
    if not threads[0].is_alive():  # where what it has started lives on, it keeps the other end
        process.stdout.close()
    if not threads[1].is_alive():
        process.stdin.close()
    shutil.rmtree(folder, ignore_errors=True)
    return bytes(found[:MOST_BYTES]), next(filter(None, ended), "")


@functools.cache
def best_level():
    """The best level of isolation that this machine reaches, tried out."""
    if sys.platform == "linux" and run(["-c", TRIAL], "full", seconds=30)[0].strip() == b"apart":
        return "full"
    # elsewhere limits of memory are not kept
    return "limits" if sys.platform == "linux" else "time"


def plain(value):
    """Arguments as JSON."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def decoded(value, depth=0):
    """An answer from JSON: numbers, arrays, and tuples of these; raises for anything else."""
    if isinstance(value, dict):
        return np.array(numbers(value.get("array")), dtype=float)
    if isinstance(value, list) and depth <= probe.DEEPEST:
        return tuple(decoded(one, depth + 1) for one in value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return float(value)
    raise TypeError


def numbers(value, depth=0):
    """Nested lists of numbers as they are; raises for anything else."""
    if isinstance(value, list) and depth <= probe.DEEPEST:
        return [numbers(one, depth + 1) for one in value]
    if isinstance(value, int | float):
        return float(value)
    raise TypeError


def functions_of(source):
    """Names of the functions that a cell defines, outermost ones."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in body if isinstance(node, ast.FunctionDef)]


def nodes_of(source):
    """All nodes of a cell, none if it cannot be read."""
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


@functools.cache
def solvers():
    """Names of what solves something in the package, by module; by a room what stands in it."""
    found = {}
    for file in sorted((ROOT / "fsnotes").rglob("[a-z]*.py")):
        module = ".".join(file.relative_to(ROOT / "fsnotes").with_suffix("").parts)
        if probe.is_given(module):
            continue
        body = ast.parse(file.read_text(encoding="utf-8")).body
        names = {n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        names = {name for name in names if not name.startswith("_")}
        found[f"fsnotes.{module}"] = names
        room = found.setdefault(f"fsnotes.{module}".rpartition(".")[0], set())
        room |= names
    found["fsnotes"] = set(fsnotes.__all__) & set().union(*found.values())
    return found


def solvers_named(sources, listed):
    """Solvers that some cells use: names that they import, and listed ones as attributes."""
    nodes = [node for source in sources for node in nodes_of(source)]
    own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    imported = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in solvers():
            names = solvers()[node.module]
            for alias in node.names:
                if alias.name == "*":
                    imported |= {name: name for name in names - own}
                elif alias.name in names:
                    imported[alias.asname or alias.name] = alias.name
    names = {imported[n.id] for n in nodes if isinstance(n, ast.Name) and n.id in imported}
    return names | {n.attr for n in nodes if isinstance(n, ast.Attribute) and n.attr in listed}


def known(error):
    """A name of an error, as it may be shown."""
    return error if isinstance(error, str) and error in ERRORS else "an error of its own"


def checked(event):
    """An answer that is made of numbers, or what was wrong."""
    if "answer" not in event:
        return {"error": known(event.get("error"))}
    try:
        decoded(event["answer"])
    except (ValueError, TypeError, OverflowError, RecursionError):
        return {"error": "NotNumbers"}
    return {"answer": event["answer"]}


def collected(assignment, cells, drawn, level):
    """Answers of a submission to the cases of each question.

    Parameters
    ----------
    assignment : Assignment
    cells : list of (str, str)
        Grade id, or "", and source of each code cell.
    drawn : dict
        Cases by the name of the question.
    level : str
        Of isolation.

    Returns
    -------
    dict
        Plain data: ``answers`` by question and case, ``errors`` of cells, ``flags``, ``ended``.
    """
    questions = []
    for grade_id, question in assignment.questions.items():
        theirs = [name for i, source in cells if i == grade_id for name in functions_of(source)]
        cases = [
            [plain(value) for value in arguments.values()] for _, arguments in drawn[question.name]
        ]
        names = [question.name, *reversed(theirs)]
        questions.append({"name": question.name, "names": names, "cases": cases})
    request = {
        "cells": [source for _, source in cells],
        "handed_out": assignment.texts,
        "questions": questions,
        "cells_seconds": CELLS_SECONDS,
        "cell_seconds": CELL_SECONDS,
        "question_seconds": QUESTION_SECONDS,
        "call_seconds": CALL_SECONDS,
    }
    started = time.monotonic()
    said, ended = run([str(HERE / "probe.py")], level, json.dumps(request))
    answers = {q["name"]: [None] * len(q["cases"]) for q in questions}
    errors, flags, whole, stopped = {}, set(), False, {}
    known_solvers = set().union(*solvers().values())
    for line in said.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue  # not ours
        if not isinstance(event, dict):
            continue
        name, case, place = (event.get(key) for key in ("question", "case", "cell"))
        if isinstance(name, str) and name in answers:
            if type(case) is int and 0 <= case < len(answers[name]):
                answers[name][case] = checked(event)
            elif event.get("ended") in ENDED:
                stopped[name] = event["ended"]
        elif type(place) is int and 0 <= place < len(cells) and event.get("error"):
            errors[place] = known(event["error"])
        elif isinstance(event.get("solver"), str) and event["solver"] in known_solvers:
            flags.add(event["solver"])
        whole = whole or event.get("end") is True
    ended = ended or ("" if whole else "early")
    for name, found in answers.items():
        why = {"error": stopped.get(name) or ended or "missing"}
        answers[name] = [why if one is None else one for one in found]
    theirs = [source for _, source in cells]
    listed = set(assignment.solvers)
    flags |= solvers_named(theirs, listed) - solvers_named(assignment.texts, listed)
    return {
        "answers": answers,
        "errors": errors,
        # where no task asks to write a solver, all of them may be called
        "flags": sorted(flags) if listed else [],
        "ended": ended,
        "level": level,
        "seconds": round(time.monotonic() - started, 1),
    }
