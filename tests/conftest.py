"""Processes that share the tests, a browser, the built site, the slowest pages; small problems."""

import contextlib
import functools
import itertools
import json
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from instances import BAD_DATA, GOOD, LABELS  # noqa: F401
from scipy.optimize import linprog

from fsnotes import make_instance
from fsnotes.errors import SelectionWarning

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
PAGE_SECONDS = ROOT / "_build" / "page-seconds.json"

# ---------------------------------------------------------------- several processes

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
# how many of them are left to this process where several share the tests
SHARE = max(1, CORES // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))
# files that would keep the others waiting if they were begun last
LONGEST = {"test_book.py", "test_downloads.py", "test_pages.py"}


def pytest_xdist_auto_num_workers():
    """What `-n auto` stands for: not many, as each has browsers or kernels; 0 is none but this."""
    return min(CORES, 4) if CORES > 1 else 0


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)


# ---------------------------------------------------------------- the built site

BROWSERS = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
]
# no sandbox, since containers run as root; and nothing that looks for a network by itself
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(autouse=True)
def built_site(request):
    """Say what is missing where a test reads the site and there is none."""
    if hasattr(request.module, "SITE") and not (SITE / "index.html").is_file():
        pytest.fail("the site is not built: run  python3 tasks.py book")


@pytest.fixture(scope="session")
def browser_path():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        message = "no Chromium, Chrome or Edge found: install one, on Debian apt install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


@contextlib.contextmanager
def launched(path):
    """A running browser, for the thread that asks."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=BROWSER_FLAGS)
        yield running
        running.close()


# a module's scope, since a running playwright holds the event loop that notebook kernels need
@pytest.fixture(scope="module")
def browser(browser_path):
    with launched(browser_path) as running:
        yield running


def wanted(session, name):
    """The parameters with which this run calls a test."""
    found = (item for item in session.items if getattr(item, "originalname", None) == name)
    return [item.callspec.params for item in found]


def pytest_terminal_summary(terminalreporter):
    if PAGE_SECONDS.is_file():
        terminalreporter.section("slowest 10 pages")
        for page, seconds in list(json.loads(PAGE_SECONDS.read_text()).items())[:10]:
            terminalreporter.write_line(f"{seconds:.2f}s {page}")


# ---------------------------------------------------------------- small problems


def quiet(machine, X, y, **more):
    """Fit where warnings of constant columns, of nothing and of all selected are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        return machine.fit(X, y, **more)


def pooled_deviation(X, y):
    total = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in np.unique(y))
    return np.sqrt(total / len(y))


def units(X, y, scale=True):
    """Units of selection; where nothing varies within the classes, the distance of the means."""
    if not scale:
        return np.ones(X.shape[1])
    gap = np.ptp([X[y == c].mean(axis=0) for c in np.unique(y)], axis=0)
    deviation = pooled_deviation(X, y)
    unit = np.where(deviation > 1e-9 * (1 + gap), deviation, gap)
    return np.where(unit > 1e-9, unit, 1)


def scaled(X, y):
    """Rows in units of selection, without constant columns, and labels -1 and +1."""
    varies = X.std(axis=0) > 0
    Z = (X - X.mean(axis=0)) / units(X, y)
    return Z[:, varies], np.where(y == y.max(), 1.0, -1.0)


def in_units(machine):
    return machine.coef_[0] * machine.scale_


def least_loss(Z, signs, w):
    """Sum of hinge losses at the best offset, which is where some row's loss begins."""
    scores = Z @ w
    offsets = signs - scores
    return np.maximum(0, 1 - signs * (scores + offsets[:, None])).sum(axis=1).min()


def descended(Z, signs, w, C, p, floor):
    """What the steps of a zero-norm machine descend, by its definition."""
    if p == 0:
        return C * least_loss(Z, signs, w) + 2 * np.log(np.maximum(abs(w), floor)).sum()
    return C * least_loss(Z, signs, w) + 2 / p * (abs(w) ** p).sum()


def falls_of(run, values, close):
    """Steps record these values of the points, and never rise; return how often they fall."""
    recorded = np.array([step.objective for step in run.result.steps])
    for value in values:
        assert min(abs(recorded - value)) <= close * (1 + abs(value))
    for (_, before), (_, after) in itertools.pairwise(run.visited):
        assert not after[before == 0].any()  # dropped weights stay dropped
    falls = 0
    for before, after in itertools.pairwise(run.result.steps):
        if before.stage == after.stage:
            assert after.objective <= before.objective + 1e-7 * abs(before.objective)
            falls += after.objective < before.objective - 1e-6 * abs(before.objective)
    return falls


def objective_of(machine, X, y, weights=None):
    """What is selected plus C times the sum of hinge losses, from the machine's own answers."""
    weights = np.ones(len(y)) if weights is None else weights
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    chosen = machine.coef_ if hasattr(machine, "coef_") else machine.dual_coef_
    return np.count_nonzero(chosen) + machine.C * weights @ np.maximum(0, 1 - margins)


class Losses:
    """Least sum of hinge losses on some of the features, each program solved once."""

    def __init__(self, Z, signs):
        self.Z, self.signs, self.known = Z, signs, {}

    def __call__(self, features):
        key = tuple(sorted(int(j) for j in features))
        if key not in self.known:
            w = np.zeros(self.Z.shape[1])
            if key:
                N, k = len(self.signs), len(key)
                rows = np.hstack([self.Z[:, key], np.ones((N, 1))]) * self.signs[:, None]
                found = linprog(
                    np.append(np.zeros(k + 1), np.ones(N)),
                    np.hstack([-rows, -np.eye(N)]),
                    -np.ones(N),
                    bounds=[(None, None)] * (k + 1) + [(0, None)] * N,
                    method="highs",
                )
                w[list(key)] = found.x[:k]
            self.known[key] = least_loss(self.Z, self.signs, w), w
        return self.known[key]


@functools.cache
def exact(seed, C):
    """Least ``card + C * hinge losses`` of an instance, and the losses of its sets of features.

    Features never hurt, which prunes.
    """
    losses = Losses(*scaled(*make_instance(seed)))
    best, open_sets = np.inf, [((), tuple(range(losses.Z.shape[1])))]
    while open_sets:
        kept, free = open_sets.pop()
        loss, w = losses(kept + free)
        if len(kept) + C * loss >= best - 1e-9:
            continue
        best = min(best, np.count_nonzero(w) + C * loss)
        if free:
            heavy = max(free, key=lambda j: abs(w[j]))
            rest = tuple(j for j in free if j != heavy)
            open_sets += [(kept, rest), ((*kept, heavy), rest)]
    return best, losses
