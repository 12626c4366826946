#!/usr/bin/env python3
"""Every command of Feature Selection Notes: `python3 tasks.py COMMAND --help`.

Needs nothing but Python 3.11 or newer. The first command that needs packages makes
the folder .venv and installs the versions locked in requirements.txt.
"""

import argparse
import contextlib
import hashlib
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed.txt"
VERSION = "fsnotes/__init__.py"
BUILD = ROOT / "_build"
SITE = BUILD / "html"
DIST = ROOT / "dist"
LOCK = ROOT / "requirements.txt"
OLDEST_PYTHON = (3, 11)

# pip's names for what a wheel may be built for, most specific first
PLATFORMS = {
    "linux": [f"manylinux_2_{n}_x86_64" for n in (39, 34, 28, 27, 24, 17, 12, 5)]
    + ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"],
    "linux-arm": [f"manylinux_2_{n}_aarch64" for n in (39, 34, 28, 27, 24, 17)]
    + ["manylinux2014_aarch64"],
    "macos": ["macosx_15_0_arm64", "macosx_15_0_universal2"],
    "windows": ["win_amd64"],
}
MARKERS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
MACHINES = {"linux": "x86_64", "linux-arm": "aarch64", "macos": "arm64", "windows": "AMD64"}


def fail(message):
    sys.exit(f"tasks.py: {message}")


def python():
    return str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def clean_environment():
    """What child processes see: nothing of the user's own Python, Jupyter or matplotlib set-up."""
    foreign = ("PYTHON", "JUPYTER", "IPYTHON", "MPL")
    env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    # matrices are small here, and two threads on two busy cores take three times as long
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    env.update(
        PYTHONNOUSERSITE="1",
        PYTHONUTF8="1",
        JUPYTER_PREFER_ENV_PATH="1",
        JUPYTER_PLATFORM_DIRS="1",
        IPYTHONDIR=str(BUILD / "ipython"),
        MPLCONFIGDIR=str(BUILD / "matplotlib"),
        PIP_DISABLE_PIP_VERSION_CHECK="1",
    )
    return env


@contextlib.contextmanager
def alone():
    """Wait until no other command installs or builds in this folder."""
    with open(ROOT / ".tasks.lock", "w") as file:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def exit_code(*arguments, interpreter=None):
    """Run the environment's Python, or another one."""
    command = [interpreter or python(), *map(str, arguments)]
    try:
        return subprocess.run(command, cwd=ROOT, env=clean_environment()).returncode
    except KeyboardInterrupt:
        return 130


def run(*arguments):
    """Run the environment's Python, and leave with its exit code if it fails."""
    code = exit_code(*arguments)
    if code:
        sys.exit(code)


# ---------------------------------------------------------------- installing


def stamp(*parts):
    return hashlib.sha256(b"\0".join(parts)).hexdigest().encode()


def install(offline=None):
    """Make .venv with the locked packages, unless it is there and up to date."""
    packages = stamp(LOCK.read_bytes(), sys.version.encode(), str(ROOT).encode())
    package = stamp(*((ROOT / name).read_bytes() for name in ("pyproject.toml", VERSION)))
    with alone():
        installed = STAMP.read_bytes().split() if STAMP.is_file() else []
        if installed[:1] != [packages]:
            install_packages(offline)
        if installed != [packages, package]:
            local = ["--no-index", "--no-deps", "--no-build-isolation", "-e", str(ROOT)]
            pip_install(0, local, offline)
            STAMP.write_bytes(packages + b"\n" + package + b"\n")


def install_packages(offline):
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        fail("this Python has no venv and pip: on Debian and Ubuntu, apt install python3-venv")
    source = []
    if offline is not None:
        wheels = Path(offline).resolve()
        if not any(wheels.glob("*.whl")):
            fail(f"no wheels in {wheels}: make them where there is a network, with wheelhouse DIR")
        source = ["--no-index", "--find-links", str(wheels)]
    if Path(sys.prefix).resolve() == VENV.resolve():
        fail("the packages have changed: leave the environment (deactivate) and run this again")
    started = time.monotonic()
    if VENV.is_file():
        fail(f"{VENV.name} is a file: delete it")
    make = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    if subprocess.run(make, env=clean_environment()).returncode:
        fail(f"{VENV} cannot be made: is there room on the disk, and may you write there?")
    locked = sum("==" in line for line in LOCK.read_text().splitlines())
    pip_install(locked, [*source, "--require-hashes", "-r", str(LOCK)], offline)
    print(f"Installed in {time.monotonic() - started:.0f} s.")


def pip_install(expected, arguments, offline):
    """Run pip with one line of progress; its own words go to a log that a failure shows."""
    BUILD.mkdir(exist_ok=True)
    log = BUILD / "install.log"
    # modules are compiled when they are first imported, and most never are
    command = [python(), "-m", "pip", "install", "--no-input", "--no-compile", *arguments]
    seen = 0
    lively = sys.stdout.isatty()
    if expected:
        print(f"Installing {expected} packages in .venv, about a minute with a good line ...")
    pip = subprocess.Popen(
        command,
        cwd=ROOT,
        env=clean_environment(),
        text=True,
        encoding="utf-8",
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with pip, open(log, "w", encoding="utf-8") as file:
        for line in pip.stdout:
            file.write(line)
            if line.startswith("Collecting "):
                seen += 1
                if lively:
                    print(f"\r  {seen}/{expected}  {line.split()[1]:40.40}", end="", flush=True)
    if lively and expected:
        print("\r" + 60 * " " + "\r", end="")
    if pip.returncode:
        print(*log.read_text(encoding="utf-8").splitlines()[-12:], sep="\n")
        where = log.relative_to(ROOT)
        if offline is not None:
            fail(f"the wheels in {offline} do not suffice ({where} has all that pip said)")
        fail(
            f"the packages could not be installed ({where} has all that pip said); without a "
            "network, use book --offline DIR"
        )


# ---------------------------------------------------------------- the book


def book(arguments):
    install(arguments.offline)
    started = time.monotonic()
    kernel = BUILD / "ipython" / "profile_default" / "ipython_kernel_config.py"
    with alone():
        kernel.parent.mkdir(parents=True, exist_ok=True)
        kernel.write_text("c.IPKernelApp.log_level = 40\n")  # no advice on transport each time
        clean_build = build_site()
        if not clean_build:
            # a page that warned is written all the same: forget it, or the next build would pass
            shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
    if not clean_build:
        for log in sorted((SITE / "reports").rglob("*.err.log")):
            plain = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8"))
            reason = plain.strip().splitlines()[-1]
            print(f"{log.name.partition('.')[0]}: {reason}", file=sys.stderr)
        fail("the book was not built cleanly: see the warnings above")
    print(f"The book is built ({time.monotonic() - started:.0f} s). Open it:")
    print(f"  {SITE / 'index.html'}")


def build_site():
    """Run jupyter-book, showing its pages and warnings; its own closing words only on failure."""
    program = "from jupyter_book.cli.main import main; main()"
    options = ["build", ".", "-W", "-n", "--keep-going", "-q"]
    command = [python(), "-c", program, *options]
    said = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as building:
        for line in building.stdout:
            if line.startswith("  book/"):
                print(line, end="", flush=True)
            else:
                said.append(line)
    if building.returncode:
        print("".join(said), file=sys.stderr)
    return building.returncode == 0


def serve(arguments):
    if not (SITE / "index.html").is_file():
        fail("there is no book yet: run  python3 tasks.py book")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(SITE))

        def log_message(self, *args):
            pass

    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    except (OSError, OverflowError) as error:
        fail(f"port {arguments.port} cannot be used ({error}): choose another with --port")
    print(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


def lab(arguments):
    install(arguments.offline)
    # double-click on a page opens the notebook, not its text
    # and leaves its text alone until it is saved
    viewers = {"markdown": "Jupytext Notebook", "myst": "Jupytext Notebook"}
    settings = VENV / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    overrides = {
        "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": viewers, "autosave": False},
        "@jupyterlab/apputils-extension:notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
        },
    }
    (settings / "overrides.json").write_text(json.dumps(overrides))
    command = ["-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}"]
    command += ["--LabApp.default_url=/lab/tree/book", *arguments.rest]
    if os.name == "nt":
        run(*command)
    # in this process, so that a signal to end reaches the server
    os.chdir(ROOT)
    os.execve(python(), [python(), *command], clean_environment())


# ---------------------------------------------------------------- checking

# the numerics of what all formulations share, and their contract, which is most of the time: so
# here cores share files, too
QUICK = ["-n", "auto", "--dist=worksteal", "-m", "not alone and not further"]
QUICK += ["tests/core", "tests/solvers", "tests/test_contract.py"]
# all tests: those that bear company on all cores, then those that measure time or build the site
EVERYTHING = [["-n", "auto", "-m", "not alone", "--durations=10"], ["-m", "alone"]]
TESTS_FAILED = 1  # what pytest exits with, unless it broke off


def test(arguments):
    """Build what changed and run all tests; or run some of them, and nothing else."""
    if arguments.offline is not None:
        # tests that make an environment of their own need the wheels too
        os.environ["FSNOTES_WHEELHOUSE"] = str(Path(arguments.offline).resolve())
    if arguments.rest[:1] == ["quick"]:
        runs = [[*QUICK, *arguments.rest[1:]]]
    elif arguments.rest:
        runs = [arguments.rest]
    else:
        runs = EVERYTHING
    if runs is EVERYTHING:
        book(arguments)
    else:
        install(arguments.offline)
    failed = 0
    for options in runs:
        started = time.monotonic()
        code = exit_code("-m", "pytest", *options)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        print(f"pytest {' '.join(options)}: {minutes} min {seconds:02} s")
        failed = failed or code
        if code not in (0, TESTS_FAILED):
            break
    if failed:
        sys.exit(failed)


def bench(arguments):
    install(arguments.offline)
    run("-m", "benchmarks", *(["--quick"] if arguments.quick else []))


# ---------------------------------------------------------------- handing over


def dist(arguments):
    """Write the wheel and the zipped site to dist/."""
    book(arguments)
    shutil.rmtree(DIST, ignore_errors=True)
    wheel(DIST)
    archive = DIST / "site.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(SITE.rglob("*")):
            if file.is_file() and file.name != ".buildinfo":
                inside = Path("feature-selection-notes") / file.relative_to(SITE)
                # a fixed date, so that the same site gives the same archive
                entry = zipfile.ZipInfo(inside.as_posix(), date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                zipped.writestr(entry, file.read_bytes())
    for file in sorted(DIST.iterdir()):
        print(f"  {file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")


def wheel(folder):
    """Write the package's wheel into a folder."""
    options = ["-q", "--no-index", "--no-deps", "--no-build-isolation", "-w", folder, "."]
    run("-m", "pip", "wheel", *options)


def lock(arguments):
    """Solve requirements.in for every platform and write requirements.txt, with hashes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        subprocess.run([str(scripts / "python"), "-m", "pip", "install", "-q", "uv"], check=True)
        command = [str(scripts / "uv"), "pip", "compile", "requirements.in", "-o", LOCK.name]
        command += ["--universal", "--fork-strategy", "fewest", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-header", "--no-annotate", "--quiet"]
        command += ["--upgrade"] if arguments.upgrade else []
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    if done.returncode:
        fail("requirements.in has no solution: see above")
    print(f"{LOCK.name}: {sum('==' in line for line in LOCK.read_text().splitlines())} packages")


def locked_for(platform, version):
    """Entries of the lock that a platform needs, without their markers."""
    code = """if True:
        import json, sys
        from packaging.markers import Marker
        markers, environment = json.load(sys.stdin)
        print(json.dumps([Marker(m).evaluate(environment) for m in markers]))
    """
    entries = LOCK.read_text().replace("\\\n", " ").splitlines()
    entries = [line for line in entries if "==" in line]
    split = [entry.partition(" --hash")[0].partition(";") for entry in entries]
    markers = [marker.strip() or "os_name != ''" for _, _, marker in split]
    environment = {
        **MARKERS[platform.partition("-")[0]],
        "platform_machine": MACHINES[platform],
        "python_version": version,
        "python_full_version": version + ".0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    answer = subprocess.run(
        [python(), "-c", code],
        input=json.dumps([markers, environment]),
        capture_output=True,
        text=True,
        check=True,
        env=clean_environment(),
    )
    needed = json.loads(answer.stdout)
    return [
        name.strip() + " --hash" + entry.partition(" --hash")[2]
        for (name, _, _), entry, wanted in zip(split, entries, needed, strict=True)
        if wanted
    ]


def wheelhouse(arguments):
    """Download every locked package as wheels, for `book --offline DIR`."""
    # this interpreter's own pip, if it has one, need not wait for the environment
    pip = sys.executable
    if arguments.platform or importlib.util.find_spec("pip") is None:
        install()
        pip = python()
    folder = Path(arguments.dir).resolve()
    for platform in arguments.platform or [None]:
        with tempfile.TemporaryDirectory() as scratch:
            listing, target = LOCK, []
            if platform is not None:
                listing = Path(scratch) / "requirements.txt"
                listing.write_text("\n".join(locked_for(platform, arguments.python)))
                target = ["--no-deps", "--only-binary", ":all:", "--implementation", "cp"]
                target += ["--python-version", arguments.python]
                for tag in PLATFORMS[platform]:
                    target += ["--platform", tag]
            print(f"Downloading for {platform or 'this machine'} ...")
            download = ["-m", "pip", "download", "-q", "--require-hashes", "-r", listing]
            download += ["-d", folder, *target]
            if code := exit_code(*download, interpreter=pip):
                sys.exit(code)
    files = list(folder.iterdir())
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"{len(files)} files, {size:.0f} MB in {folder}")
    print("On the other machine: python3 tasks.py book --offline PATH, the path of its copy there")


def clean(arguments):
    folders = [BUILD, DIST, ROOT / ".hypothesis", ROOT / "__pycache__"]
    folders += [*ROOT.glob(".*_cache"), *ROOT.glob("[a-z]*/**/__pycache__")]
    for folder in folders + ([VENV] if arguments.all else []):
        if folder.is_dir():
            shutil.rmtree(folder)
            print(f"removed {folder.relative_to(ROOT)}")


# ---------------------------------------------------------------- coursework


def coursework(arguments):
    """Run a command of book/assignments/grading, with paths as the user sees them."""
    asks_help = {"-h", "--help"} & set(arguments.rest)
    install()
    with tempfile.TemporaryDirectory() as folder:
        further = []
        if arguments.command == "assignments" and not asks_help:
            wheel(folder)
            further = ["--wheel", *map(str, Path(folder).glob("*.whl"))]
        command = [python(), "-m", "grading", arguments.command, *arguments.rest, *further]
        env = clean_environment() | {"PYTHONPATH": str(ROOT / "book" / "assignments")}
        try:
            sys.exit(subprocess.run(command, env=env).returncode)
        except KeyboardInterrupt:
            sys.exit(130)


# ---------------------------------------------------------------- command line


def parser():
    top = argparse.ArgumentParser(
        prog="tasks.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function, help, offline=True):
        added = commands.add_parser(function.__name__, help=help, description=help)
        added.set_defaults(function=function)
        if offline:
            added.add_argument(
                "--offline",
                metavar="DIR",
                help="install from the wheels in DIR, without a network",
            )
        return added

    command(book, "execute every page and build the site, warnings being errors")
    command(
        test,
        "run all tests, after building what changed; `test quick` takes about a minute, and "
        "`test PATH`, like any other words, goes to pytest and builds nothing",
    )
    added = command(serve, "show the built site on localhost", offline=False)
    added.add_argument("--port", type=int, default=8000, help="default 8000; 0 takes a free one")
    command(lab, "open the pages as notebooks in JupyterLab; further arguments go to it")
    added = command(bench, "measure speed side by side, and fail below a floor")
    added.add_argument("--quick", action="store_true", help="smaller problems, half the floors")
    command(dist, "write the wheel and site.zip to dist/")
    for name, help in (
        ("assignments", "write the archives of the coursework for students and instructors"),
        ("grade", "grade what students handed in"),
        ("new-course", "make a private folder with the seeds of a course"),
    ):
        # its options are known where it is done
        added = commands.add_parser(name, help=help, add_help=False)
        added.set_defaults(function=coursework)
    added = command(wheelhouse, "download every package for machines without network", False)
    added.add_argument("dir", metavar="DIR")
    added.add_argument(
        "--platform",
        action="append",
        choices=PLATFORMS,
        help="for other machines than this one; may be repeated",
    )
    added.add_argument(
        "--python",
        default="{}.{}".format(*sys.version_info),
        metavar="3.X",
        help="their Python version, with --platform (default: this one's)",
    )
    added = command(lock, "write requirements.txt from requirements.in", False)
    added.add_argument("--upgrade", action="store_true", help="take the newest versions allowed")
    added = command(clean, "remove what was built", False)
    added.add_argument("--all", action="store_true", help="the environment .venv too")
    return top


def main():
    if sys.version_info < OLDEST_PYTHON:
        fail(
            "Python {}.{} is too old: install Python 3.11 or newer and run this command "
            "with it".format(*sys.version_info)
        )
    arguments, rest = parser().parse_known_args()
    passes_on = arguments.function in (test, lab, coursework)
    if rest and not passes_on:
        fail(f"{arguments.command} does not know {' '.join(rest)}: see {arguments.command} --help")
    arguments.rest = [argument for argument in rest if argument != "--"]
    try:
        arguments.function(arguments)
    except KeyboardInterrupt:
        fail("interrupted; the next run goes on from here")
    except (OSError, subprocess.CalledProcessError) as error:
        fail(str(error))


if __name__ == "__main__":
    main()
