"""What the shell costs: importing the package, and the weight of an explorer's frame."""

import io
import subprocess
import sys

import matplotlib

from benchmarks.harness import Comparison

matplotlib.use("Agg")


def importing(module):
    return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


def frame():
    import numpy as np

    from fsnotes.notebook import plots

    fig, ax = plots.figure()
    x = np.linspace(0, 1, 200)
    for power in range(1, 6):
        ax.plot(x, x**power)
    ax.set(xlabel="x", ylabel="power of x")
    return fig, plots


def few_colours():
    fig, plots = frame()
    return plots.png(fig)


def all_colours():
    fig, _ = frame()
    file = io.BytesIO()
    fig.savefig(file, dpi=200)
    return file.getvalue()


def weight(function):
    from matplotlib import pyplot as plt

    data = function()
    plt.close("all")
    return len(data) / 1000


def comparisons(quick):
    repeats = 3 if quick else 7
    return [
        Comparison(
            "import fsnotes (s)", "import cvxpy", importing("fsnotes"), importing("cvxpy"), 2,
            repeats,
        ),
        Comparison(
            "explorer frame (kB)", "plain savefig", few_colours, all_colours, 1.3, 1, weight,
        ),
    ]  # fmt: skip
