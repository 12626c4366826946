"""The import rule: who may lean on whom inside the package."""

import ast
from pathlib import Path

import pytest

import fsnotes

PACKAGE = Path(fsnotes.__file__).parent
# A module may import from its own floor and from those below it.
FLOORS = [
    {"errors", "core.tolerances", "core.tables", "core.validation", "core.moments"},
    {"solvers"},
    {"core"},
    {"chebyshev", "mempm", "dc", "em", "twin", "l2p"},
    {"rivals"},
    {"replication", "notebook"},
]
FORMULATIONS = FLOORS[3]
# These import nothing of the rest, so that they can check it, and be read without it. Data and
# measures alone have the words for parameters, and the progress bar.
APART = {"literal", "data", "metrics"}
WORDS = ("core.validation", "core.progress")


def floor_of(module):
    """The floor of "core.mm": the first that names the module or its room."""
    for number, floor in enumerate(FLOORS):
        if module in floor or module.partition(".")[0] in floor:
            return number
    raise AssertionError(f"fsnotes.{module} stands in no room: add it to the import rule")


def imports(path):
    """The modules of the package, and the names in them, that a file imports at any depth."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if (PACKAGE.parent / f"{module}.{name}".replace(".", "/")).with_suffix(".py").exists():
                module = f"{module}.{name}"
            if module.startswith("fsnotes."):
                yield module.removeprefix("fsnotes."), name


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


def faults_of(name, imported):
    room = name.partition(".")[0]
    for module, what in imported:
        other = module.partition(".")[0]
        if room in APART or other in APART:
            # everybody may read data and measures; tables and pages may use the printed problems
            if room in APART and other != room and (room == "literal" or module not in WORDS):
                yield f"{name} imports {module}, but {room} imports nothing of the rest"
            elif other == "literal" and room not in ("literal", *FLOORS[-1]):
                yield f"{name} imports {module}: a solver must not lean on the printed problem"
            continue
        if floor_of(module) > floor_of(name):
            yield f"{name} imports {module}, which stands above it"
        if {room, other} <= FORMULATIONS and room != other and what.startswith("_"):
            yield f"{name} imports the private {what} of {module}"


@pytest.mark.parametrize("name, path", [pytest.param(*m, id=m[0]) for m in modules()])
def test_modules_lean_on_what_stands_below_them(name, path):
    if name != "__init__":  # which only says where the public names live
        assert list(faults_of(name, imports(path))) == []


@pytest.mark.parametrize(
    ("name", "imported"),
    [
        ("solvers.cone", ("core.bounds", "delta")),
        ("core.mm", ("l2p", "DSO")),
        ("dc", ("chebyshev", "_solve")),
        ("twin.ftsvm", ("rivals.filters", "mrmr")),
        ("rivals.rvm", ("replication.engine", "run")),
        ("literal.bai2014", ("errors", "SubproblemError")),
        ("metrics", ("core.bounds", "delta")),
        ("em.zero_norm", ("literal", "zero_norm_svm")),
    ],
)
def test_a_fault_is_noticed(name, imported):
    assert len(list(faults_of(name, [imported]))) == 1
