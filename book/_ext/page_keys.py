"""What a page's execution depends on: the modules it imports, their data, and the lock.

A page is executed again when its key changes. The key covers the code of every module of the
package that the page imports, directly or through other modules, the data files beside these
modules, and `requirements.txt`. Comments, docstrings and layout of modules do not count, except
the docstrings in declarations of tables: they are the rules of claims, which pages print.
"""

import ast
import functools
import hashlib
import re
import sys

PACKAGE = "fsnotes"
CHAPTERS = f"{PACKAGE}.replication.chapters"
RESULTS = "replication/results"
CODE_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.S | re.M)
CELL_OPTIONS = re.compile(r"\A(?:---\n.*?^---\n|(?::[^\n]*\n)+)", re.S | re.M)
DOTTED = re.compile(rf"{PACKAGE}(?:\.\w+)+")


class PageKeys:
    """The keys of pages, for one state of the package.

    Parameters
    ----------
    root : Path
        The folder that holds the package and `requirements.txt`.
    """

    def __init__(self, root):
        self.root = root
        self.folder = root / PACKAGE
        self.modules = {self._dotted(path): path for path in self.folder.rglob("*.py")}
        self.trees = {
            name: ast.parse(path.read_bytes()) if name.startswith(CHAPTERS) else syntax(path)
            for name, path in self.modules.items()
        }
        self.homes = homes_of(self.trees[PACKAGE])
        self.files = sorted(
            path
            for path in self.folder.rglob("*")
            if path.is_file() and path.suffix not in (".py", ".pyc")
        )

    def key(self, text):
        """Name of everything that may change the outputs of a page but does not stand on it."""
        digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
        digest.update((self.root / "requirements.txt").read_bytes())
        modules = self.modules_of(text)
        for name in sorted(modules):
            digest.update(name.encode() + b"\0" + self._code(name))
        for path in self.files:
            if self._owner(path) in modules:
                digest.update(path.relative_to(self.root).as_posix().encode() + b"\0")
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()[:16]

    def modules_of(self, text):
        """Names of the modules that a page imports, directly or through others."""
        tree = ast.parse("\n".join(code_cells(text)))
        found, waiting = set(), self._named_in(tree, PACKAGE) | self._chapters_named_in(tree)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting |= self._imported_by(name)
        return found

    # the caches live as long as these keys, which is one build
    @functools.cache  # noqa: B019
    def _imported_by(self, name):
        package = {name.rpartition(".")[0]} & self.modules.keys()
        return package | self._named_in(self.trees[name], name)

    @functools.cache  # noqa: B019
    def _code(self, name):
        return ast.dump(self.trees[name]).encode()

    def _named_in(self, tree, importer):
        """Modules that some code imports, or names in a string such as "fsnotes.MPM"."""
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {self._module(alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                if node.level:
                    raise ValueError(f"{importer} has a relative import; write the whole name")
                names = [alias.name for alias in node.names]
                if node.module == PACKAGE and "*" in names:
                    names = list(self.homes)
                found |= {self._module(f"{node.module}.{name}") for name in names}
            elif isinstance(node, ast.Attribute) and root_of(node) == PACKAGE:
                found.add(self._module(ast.unparse(node)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                if DOTTED.fullmatch(node.value):
                    found.add(self._module(node.value))
        return found - {None}

    def _module(self, dotted):
        """The module that a dotted name stands for or stands in."""
        first, _, rest = dotted.partition(".")
        if first != PACKAGE:
            return None
        name = rest.partition(".")[0]
        if name in self.homes:
            return f"{PACKAGE}.{self.homes[name]}"
        while dotted not in self.modules:
            dotted = dotted.rpartition(".")[0]
            if not dotted:
                return None
        return dotted

    def _chapters_named_in(self, tree):
        """Declarations of tables, which are imported by name: "dc", "dc/table3".

        A page that uses the replication without naming a chapter depends on all of them.
        """
        every = {name for name in self.modules if name.startswith(CHAPTERS + ".")}
        strings = {
            node.value.partition("/")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        named = {name for name in every if name.rpartition(".")[2] in strings}
        uses_replication = any(
            name.startswith(f"{PACKAGE}.replication") for name in self._named_in(tree, PACKAGE)
        )
        return named or every if uses_replication else set()

    def _owner(self, path):
        """The module to which a data file belongs: its chapter, or the package it lies in."""
        if path.is_relative_to(self.folder / RESULTS):
            return f"{CHAPTERS}.{path.name.partition('.')[0]}"
        folder = path.parent
        while not (folder / "__init__.py").exists():
            folder = folder.parent
        return self._dotted(folder / "__init__.py")

    def _dotted(self, path):
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def code_cells(text):
    """The code of a page's cells, without their options and lines that only IPython knows."""
    for cell in CODE_CELL.findall(text):
        lines = CELL_OPTIONS.sub("", cell).splitlines()
        yield "\n".join("" if re.match(r"\s*[%!]", line) else line for line in lines)


def homes_of(tree):
    """Where the names live that the package offers, as its `_HOMES` says."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            homes = ast.literal_eval(node.value)
            return {name: module for module, names in homes.items() for name in names}
    return {}


def root_of(node):
    """The name with which a chain of attributes begins, if it begins with one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def syntax(path):
    """A module's syntax without comments, layout and docstrings."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and is_docstring(body[0]):
            del body[0]
    return tree


def is_docstring(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
