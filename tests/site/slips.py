"""Run a notebook, and before each check cell what it has to notice: the cell with a slip.

    python slips.py NOTEBOOK SLIPS

SLIPS is a JSON file. By the number of a code cell it has slips such as "x + 1 -> x - 1", each of
which must make an assertion of that cell fail. Printed are, as JSON, the prefix of the kernel's
Python, the number of live widgets that the notebook shows, and by the number of the cell a list of
faults. The environment needs what a page needs, and nothing of these tests: the kernel imports this
file by its place.
"""

import contextlib
import copy
import io
import json
import sys
import traceback
import warnings
from pathlib import Path

WIDGET = "application/vnd.jupyter.widget-view+json"


def run(path, slips):
    """The answer that is printed. A cell that fails as it stands raises."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)
    # no line that is added defines a name, which a cell might take for one of the page's
    here = str(Path(__file__).resolve().parent)
    first = nbformat.v4.new_code_cell(
        f"__import__('sys').path.append({here!r}); print(__import__('sys').prefix)"
    )
    notebook.cells = [first]
    tried = {}
    for number, cell in enumerate(code):
        if str(number) in slips:
            call = f"__import__('slips').show_faults({cell.source!r}, {slips[str(number)]!r})"
            tried[number] = nbformat.v4.new_code_cell(call)
            notebook.cells.append(tried[number])
        notebook.cells.append(cell)
    NotebookClient(notebook, timeout=300).execute()
    outputs = [output for cell in code for output in cell.outputs]
    return {
        "prefix": printed(first).strip(),
        "widgets": sum(WIDGET in output.get("data", {}) for output in outputs),
        "faults": {number: json.loads(printed(cell)) for number, cell in tried.items()},
    }


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.get("name") == "stdout")


# ---------------------------------------------------------------- inside the kernel


def show_faults(source, slips):
    """Print the faults of a check cell; the next cell meets what this one has met."""
    from IPython import get_ipython

    shell = get_ipython()
    space = shell.user_ns
    shown = {"display": lambda *values: None}

    def replace(values):
        for name in own_names(shell):
            del space[name]
        space.update(values)

    kept = {name: space[name] for name in own_names(shell)}  # only copies meet a slip
    said = io.StringIO()
    silent = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
    with silent[0], silent[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a page may show one
        faults = list(faults_of(source, slips, space, lambda: replace(keep(kept) | shown)))
    replace(kept)
    print(json.dumps(faults))


def own_names(shell):
    """What cells have defined, without what IPython keeps among it."""
    hidden = shell.user_ns_hidden
    return [name for name in shell.user_ns if name not in hidden and not name.startswith("_")]


def faults_of(source, slips, space, begin):
    import matplotlib.pyplot

    for slip in slips:
        old, arrow, new = slip.partition(" -> ")
        if not arrow or source.count(old) != 1:
            yield f"{old} has to stand once in the cell"
            continue
        begin()
        try:
            exec(source.replace(old, new), space)
        except AssertionError:
            continue
        except Exception:
            yield f"{slip} ends in another error\n{traceback.format_exc()}"
        else:
            yield f"the check does not notice {slip}"
        finally:
            matplotlib.pyplot.close("all")


def finished(values):
    """Figures and stored results, which no cell changes and which take longest to copy."""
    import matplotlib.artist
    import numpy as np

    from fsnotes.replication import Results

    for value in values:
        is_grid = isinstance(value, np.ndarray) and value.dtype == object
        for one in value.flat if is_grid else value if isinstance(value, list) else [value]:
            if isinstance(one, matplotlib.artist.Artist | Results):
                yield one


def keep(space):
    """A copy of what cells have made so far, for a run must not change the next one's data."""
    copies = {}
    memo = {id(one): one for one in finished(space.values())}
    for name, value in space.items():
        try:
            copies[name] = copy.deepcopy(value, memo)
        except TypeError:  # a module
            copies[name] = value
    return copies


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()))))
