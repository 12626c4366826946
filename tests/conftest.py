"""Processes that share the tests, a browser, the built site, the slowest pages."""

import contextlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
PAGE_SECONDS = ROOT / "_build" / "page-seconds.json"

# ---------------------------------------------------------------- several processes

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
# how many of them are left to this process where several share the tests
SHARE = max(1, CORES // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))
# files that would keep the others waiting if they were begun last
LONGEST = {"test_book.py", "test_downloads.py"}


def pytest_xdist_auto_num_workers():
    """What `-n auto` stands for: not many, as each has browsers or kernels; 0 is none but this."""
    return min(CORES, 4) if CORES > 1 else 0


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="module")
def two_threads():
    """Let linear algebra take two threads, whatever the tests were begun with.

    A thread sets it that has ended, since threadpoolctl heeds no other than the one that set it.
    """
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with ThreadPoolExecutor(1) as pool:
        limits = pool.submit(threadpool_limits, 2, "blas").result()
    yield
    limits.restore_original_limits()


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
