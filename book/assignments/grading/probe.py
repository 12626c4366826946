"""Run the cells of one submission, call the functions asked for, and write what they return.

Started by `collect` in a folder and namespaces of its own. Knows cases, and nothing of what is
right. Reads one JSON object from standard input, and writes one for each event to standard output.
"""

import ast
import asyncio
import functools
import inspect
import json
import os
import signal
import sys
import time
from importlib.machinery import SourceFileLoader
from types import FunctionType, ModuleType

import numpy as np

LARGEST = 100_000  # numbers in an answer
DEEPEST = 4
# rooms and modules of the package that solve nothing that a task asks for
GIVEN = {
    "core.bounds",
    "core.estimator",
    "core.kernels",
    "core.moment_classifier",
    "core.moments",
    "core.ranking",
    "core.samples",
    "core.tolerances",
    "core.validation",
    "data",
    "errors",
    "metrics",
    "notebook",
    "replication",
    "rivals.filters",
}


def is_given(module):
    """Whether "core.bounds" or the room in which it stands solves nothing."""
    return module in GIVEN or module.partition(".")[0] in GIVEN


class OutOfTime(BaseException):
    """A cell or a call has taken too long."""


class NotNumbers(Exception):
    """An answer is made of something else."""


def limited_time(seconds, function, *arguments):
    """Call a function, and interrupt it where the system can."""
    if not hasattr(signal, "setitimer"):
        return function(*arguments)

    def stop(*_):
        raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def plain(value, depth=0):
    """An answer as JSON: numbers, None, arrays and sequences of these, and nothing else."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, np.ndarray) and value.ndim:
        if value.size > LARGEST:
            raise NotNumbers
        return {"array": np.asarray(value).astype(float).tolist()}
    if isinstance(value, list | tuple):
        if len(value) > LARGEST or depth == DEEPEST:
            raise NotNumbers
        return [plain(one, depth + 1) for one in value]
    if hasattr(value, "__array__") and getattr(value, "ndim", 0):  # of pandas
        return plain(np.asarray(value), depth)
    return float(value)


def given(value):
    """Arguments from JSON."""
    if isinstance(value, dict):
        return np.array(value["array"])
    return [given(one) for one in value] if isinstance(value, list) else value


class Shell:
    """What a notebook's own commands call here: nothing happens but what runs code."""

    def __init__(self, execute, evaluate):
        self.execute, self.evaluate = execute, evaluate

    def run_line_magic(self, name, line, *_):
        if name != "time":
            return None
        try:
            compile(line, "line", "eval")
        except SyntaxError:
            self.execute(line)
            return None
        return self.evaluate(line)

    def __getattr__(self, name):
        return lambda *arguments, **options: None


def main():
    request = json.load(sys.stdin)
    out, nothing = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(nothing, end)
    write, dumps = os.write, json.dumps

    def tell(**event):
        text = memoryview((dumps(event) + "\n").encode())
        while text:
            text = text[write(out, text) :]

    def attempt(seconds, function, *arguments):
        try:
            return limited_time(seconds, function, *arguments), None
        except BaseException as error:
            return None, "OutOfTime" if isinstance(error, OutOfTime) else type(error).__name__[:40]

    handed_out = set(request["handed_out"])
    watching = watch(lambda name: tell(solver=name))
    # so that classes and functions of a notebook can be found by their names, as there
    sys.modules["__main__"] = ModuleType("__main__")
    namespace = vars(sys.modules["__main__"])

    def execute(source, place="?"):
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        found = eval(compile(source, f"cell {place}", "exec", flags, True), namespace)
        if inspect.iscoroutine(found):
            asyncio.run(found)

    shell = Shell(execute, lambda line: eval(line, namespace))
    namespace |= {"get_ipython": lambda: shell, "display": lambda *a, **k: None}
    started = time.monotonic()
    for place, source in enumerate(request["cells"]):
        watching(source not in handed_out)
        left = request["cells_seconds"] - (time.monotonic() - started)
        _, error = attempt(max(1, min(request["cell_seconds"], left)), execute, source, place)
        tell(cell=place, error=error)
    watching(True)
    end_others()

    def called(function, arguments):
        answer = function(*given(arguments))
        try:
            text = dumps(plain(answer))
        except Exception:
            raise NotNumbers from None
        return text

    def answer(question):
        functions = [namespace.get(name) for name in question["names"]]
        functions = [function for function in functions if callable(function)]
        for place, arguments in enumerate(question["cases"]):
            event = {"question": question["name"], "case": place}
            if not functions:
                tell(**event, error="missing")
                continue
            text, error = attempt(request["call_seconds"], called, functions[0], arguments)
            tell(**event, error=error) if error else tell(**event, answer=json.loads(text))

    for question in request["questions"]:
        ended = apart(request["question_seconds"], answer, question)
        if ended:
            tell(question=question["name"], ended=ended)
    tell(end=True)
    os._exit(0)


def end_others():
    """End what cells have started, where nothing but that is there."""
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)
            while True:
                os.waitpid(-1, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def apart(seconds, function, *arguments):
    """Call a function in a process of its own where there is such a thing; say how it ended."""
    try:
        child = os.fork()
    except (AttributeError, OSError):  # there are none, or no more
        return function(*arguments) or ""
    if not child:
        function(*arguments)
        os._exit(17)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "" if os.waitstatus_to_exitcode(status) == 17 else "early"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time"


def watch(tell):
    """Tell the name of each solver of the package that is entered from outside, once.

    Returns a function that switches this off and on.
    """
    load, told, entered, off = SourceFileLoader.exec_module, set(), [], [""]

    def watched(function, name):
        function = getattr(function, "unwatched", function)

        @functools.wraps(function)
        def calls(*arguments, **options):
            if not (entered or off or name in told):
                told.add(name)
                tell(name)
            entered.append(name)
            try:
                return function(*arguments, **options)
            finally:
                entered.pop()

        calls.unwatched = function
        return calls

    def loaded(loader, module):
        load(loader, module)
        package, _, rest = module.__name__.partition(".")
        if package != "fsnotes" or not rest or is_given(rest):
            return
        for name, found in list(vars(module).items()):
            if name.startswith("_") or getattr(found, "__module__", "") != module.__name__:
                continue
            if isinstance(found, FunctionType):
                setattr(module, name, watched(found, name))
            for method in ("__init__", "fit") if isinstance(found, type) else ():
                if isinstance(getattr(found, method, None), FunctionType):
                    setattr(found, method, watched(getattr(found, method), name))

    # before anything of the package is loaded, so that no copy of a name escapes
    SourceFileLoader.exec_module = loaded

    def watching(wanted):
        off[:] = [] if wanted else [""]

    return watching


if __name__ == "__main__":
    main()
