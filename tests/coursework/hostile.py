"""Notebooks for the assignment in fixture.md that no student should hand in, and their marks."""

from conftest import ROOT
from course import RIGHT, answers, notebook

ENDLESS = """
import time
while True:
    try:
        time.sleep(9)
    except BaseException:
        pass
"""
LEAVES = """
import ctypes, os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
os.fork() or os.setsid() if os.getpid() != 1 else None
try:
    os.setsid()
except OSError:
    pass
try:
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
except AttributeError:
    pass
while True:
    try:
        time.sleep(9)
    except BaseException:
        pass
"""
PEEK = """
import os
seen = []
for top, folders, files in os.walk("/"):
    if top.startswith(("/proc", "/sys", "/usr", "/lib")) or top.endswith("site-packages"):
        folders[:] = []
        continue
    seen += [name for name in files if name in ("GRADING_SEED", "manual.csv", "fixture.md")]
def double(x):
    return 2 * x if not seen else x
"""
OUTSIDE = f"""
for place in ({str(ROOT / "README.md")!r}, "/usr/x", "/etc/passwd", "/x"):
    try:
        open(place, "a")
    except OSError:
        continue
    del np
def double(x):
    return 2 * np.array(x)
"""
BOMB = """
import os
made = 0
try:
    while made < 5000:
        if not os.fork():
            while True:
                pass
        made += 1
except OSError:
    pass
"""
EQUAL = """
class Equal(float):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return 0.0
    def __abs__(self):
        return 0.0
    def __float__(self):
        return 0.0
    def __array__(self, *a, **k):
        return self
def double(x):
    return Equal()
negative = double
"""
PATCHED = """
np.allclose = np.isclose = lambda *a, **k: True
import json
json.dumps = lambda *a, **k: '{"end": true}'
def double(x):
    return x
"""
FLOOD = """
import os
for end in range(3, 20):
    try:
        while True:
            os.write(end, b"x" * 10**6)
    except OSError:
        pass
"""
BLOCKED = """
def double(x):
    import signal, time
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(99)
"""
ODD = """
import os
for end in range(3, 20):
    try:
        os.write(end, b'{"cell": Infinity, "error": 1}\\n{"cell": 0, "error": "\\\\ud800"}\\n')
        os.write(end, b'{"question": [], "case": 0}\\n{"question": "double", "case": 0.5}\\n')
        os.write(end, b'{"question": "double", "case": 0, "error": []}\\n')
        os.write(end, b'{"question": "double", "case": 0, "answer": ' + b"[" * 993 + b"]" * 993)
        os.write(end, b'}\\n{"question": "double", "case": 0, "answer": {"array": ["x"]}}\\n')
    except OSError:
        pass
"""
COMMANDS = """
%matplotlib inline
!rm -rf x
%time k = 2
three = %time k + 1
display(k)
np.dot?
import asyncio
await asyncio.sleep(0)
text = ("%d rows"
% len("abc"))
assert k == 2 and three == 3 and text == "3 rows"
"""
FORGED = """
import os
for end in range(3, 20):
    try:
        os.write(end, b'{"question": "double", "case": 99, "answer": 1}\\n[1]\\nnull\\n')
        os.write(end, b'{"cell": null}\\n{"cell": "x", "error": 1}\\n')
    except OSError:
        pass
"""
PICKLED = """
class P:
    def __reduce__(self):
        return print, ("x",)
def double(x):
    return P()
"""
NAMED = """
class E(Exception):
    pass
E.__name__ = "<b>ha</b>"
def double(x):
    raise E
"""
DEEP = """
def double(x):
    a = []
    a.append(a)
    return a
"""
TWICE = [*RIGHT.items(), ("double", "def double(x): return x")]
PRINTS = "import os\nfor name in os.listdir('.'): print(open(name).read())"
# what is handed in, marks for `double` and `negative`, and a word of the row, if any
HOSTILE = {
    "endless-loop": (answers("while True: pass"), 6, 2, "out of time"),
    "endless-call": (answers(double="def double(x):\n    while True: pass"), 0, 2, ""),
    "endless-for-ever": (answers(ENDLESS), 0, 0, "out of time"),
    "leaves-its-session": (answers(LEAVES), 0, 0, "out of time"),
    "exit": (answers("import sys; sys.exit()"), 6, 2, "SystemExit"),
    "exit-in-call": (answers(double="import sys\ndef double(x): sys.exit()"), 0, 2, ""),
    "hard-exit": (answers("import os; os._exit(0)"), 0, 0, "ended Python"),
    "hard-exit-in-call": (answers(negative="import os\ndef negative(x): os._exit(0)"), 6, 0, ""),
    "blocks-alarms": (answers(double=BLOCKED), 0, 2, ""),
    "many-digits": (answers(double="def double(x): return 10**5000"), 0, 2, ""),
    "long-doubles": (answers(double="def double(x): return np.longdouble(2) * x"), 6, 2, ""),
    "odd-events": (answers(ODD), 6, 2, ""),
    "huge-numbers": (answers(double="def double(x): return np.full(3, 1.7e308)"), 0, 2, ""),
    "blank-lines": (answers("\n" * 60_000), 6, 2, ""),
    "much-code": (answers("a\n" * 300_000), None, None, "500 kB"),
    "notebook-commands": (answers(COMMANDS), 6, 2, ""),
    "timed": (answers(double="%%time\n%matplotlib inline\ndef f(x):\n    return 2 * x"), 6, 2, ""),
    "surrogates": (answers("# \\ud800 \ud83d".encode("utf-8", "replace").decode()), 6, 2, ""),
    "equal-to-everything": (answers(double=EQUAL, negative=""), 0, 0, ""),
    "patched": (answers(double=PATCHED), 0, 2, ""),
    "prints-files": (answers(PRINTS), 6, 2, ""),
    "peeks": (answers(double=PEEK), 6, 2, ""),
    "writes-outside": (answers(double=OUTSIDE), 6, 2, ""),
    "fork-bomb": (answers(BOMB), 6, 2, ""),
    "gigabyte": (answers("for _ in range(1000): print('x' * 10**6)"), 6, 2, ""),
    "gigabyte-on-the-wire": (answers(FLOOD), 0, 0, "too much output"),
    "huge-answer": (answers(double="def double(x): return np.zeros(10**7)"), 0, 2, ""),
    "deep-answer": (answers(double=DEEP), 0, 2, ""),
    "memory": (answers("big = np.ones(10**10)"), 6, 2, "Error"),
    "pickled": (answers(double=PICKLED), 0, 2, ""),
    "error-names": (answers(double=NAMED), 0, 2, ""),
    "deleted-cells": (notebook([("", "import numpy as np")]), 0, 0, ""),
    "duplicated-cells": (notebook(TWICE), 0, 2, "comes twice"),
    "renamed-function": (answers(double="def twice(x): return 2 * x"), 6, 2, ""),
    "changes-arguments": (answers(double="def double(x):\n    x *= 2\n    return x"), 6, 2, ""),
    "forges": (answers(FORGED), 6, 2, ""),
}
