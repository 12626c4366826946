"""Figures with sliders: solved live in a notebook, made beforehand in the book."""

import base64
import hashlib
import html
import json
import math
import os
import time
from dataclasses import dataclass
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from fsnotes.notebook import plots

__all__ = ["Explorer", "explore"]

FRAMES_AT_DPI = {200: 30, 150: 45}
FEWEST_FRAMES = 20
QUICK = 0.15


def explore(draw, *, alt, labels=None, units=None, start=None, dpi=None, **grids):
    """Let the reader move one or two parameters of a figure: the `Explorer` to display.

    With a kernel, sliders draw again at any value between the ends of a grid, while they move if
    that takes less than 0.15 s, else when they are let go. In the book, where the environment
    variable ``FSNOTES_STATIC`` is set, and wherever no kernel or no ipywidgets is at hand, the
    figures of all grid points are made at once and travel with the page.

    Parameters
    ----------
    draw : callable
        ``draw(**parameters)`` returns a matplotlib figure.
    alt : callable
        ``alt(**parameters)`` returns the alternative text with the numbers in it. Where both need
        the same solution, decorate what solves with ``functools.lru_cache``.
    labels, units : dict of str, optional
        What to call a parameter, and the unit to print after its value.
    start : dict, optional
        Grid values to begin with; the first of each grid by default.
    dpi : int, optional
        Resolution of the pictures: by default 200 for up to 30 of them, else 150 for up to 45.
    **grids
        One or two parameters, each with its values: increasing numbers or different strings.
        Whole numbers stay whole; the live slider of a geometric grid of other numbers is
        logarithmic. In the page at least 20 frames must have texts that differ.

    Examples
    --------
    >>> from fsnotes.notebook import plots
    >>> from fsnotes.notebook.explore import explore
    >>> def draw(n):
    ...     fig, ax = plots.figure()
    ...     ax.plot([0, n], [0, n**2])
    ...     ax.set(xlabel="n", ylabel="square")
    ...     return fig
    >>> def describe(n):
    ...     return f"The square of {n} is {n**2}."
    >>> explore(draw, alt=describe, n=range(1, 21))
    Explorer(n=1)
    """
    for role, function in (("draw", draw), ("alt", alt)):
        if not callable(function):
            raise TypeError(f"{role}={function!r}; pass a function of the parameters")
    explorer = Explorer(draw, alt, _dials(grids, labels or {}, units or {}, start or {}), dpi)
    if _is_live():
        explorer._go_live()
    else:
        explorer.html()
    return explorer


class Explorer:
    """What `explore` returns; a notebook or the book displays it.

    With a kernel, `sliders` holds the live sliders by parameter name, and `picture` the live
    picture with its alternative text.
    """

    def __init__(self, draw, alt, dials, dpi=None):
        self._draw = draw
        self._alt = alt
        self._dials = dials
        self._start = {dial.name: dial.start for dial in dials}
        self._dpi = dpi
        self._html = None
        self._widget = None
        self.sliders = {}
        self.picture = None

    def __repr__(self):
        return f"Explorer({', '.join(f'{k}={v!r}' for k, v in self.value.items())})"

    def _repr_html_(self):
        return None if self._widget else self.html()

    def _repr_mimebundle_(self, **selection):
        return self._widget._repr_mimebundle_(**selection) if self._widget else {}

    @property
    def value(self):
        """The current parameters."""
        if self.sliders:
            return {dial.name: dial.clip(self.sliders[dial.name].value) for dial in self._dials}
        return self._start

    def html(self):
        """The explorer as HTML with all its frames, which are checked; needs no kernel."""
        if self._html is None:
            dpi = self._resolution()
            names = [dial.name for dial in self._dials]
            grid = product(*(dial.values for dial in self._dials))
            points = [dict(zip(names, point, strict=True)) for point in grid]
            pictures = [self._frame(point, dpi, checked=True) for point in points]
            _refuse_frames(pictures)
            self._html = _page(self._dials, pictures, first=points.index(self._start))
        return self._html

    def _go_live(self):
        import ipywidgets

        self.sliders = {dial.name: dial.slider() for dial in self._dials}
        self.picture = ipywidgets.HTML()
        self._redraw()
        for slider in self.sliders.values():
            slider.observe(self._redraw, names="value")
        self._widget = ipywidgets.VBox([*self.sliders.values(), self.picture])

    def _redraw(self, _change=None):
        begun = time.perf_counter()
        try:
            self.picture.value = self._frame(self.value, self._dpi or 150)._repr_html_()
        except Exception as error:
            message = html.escape(f"{type(error).__name__}: {error}")
            self.picture.value = f'<pre role="alert" style="white-space:pre-wrap">{message}</pre>'
        is_quick = time.perf_counter() - begun < QUICK
        for slider in self.sliders.values():
            slider.continuous_update = is_quick

    def _frame(self, point, dpi, checked=False):
        opened = set(plt.get_fignums())
        try:
            with plots.style():
                fig = self._draw(**point)
                if not isinstance(fig, Figure):
                    kind = type(fig).__name__
                    raise TypeError(f"draw returned {kind} at {point}; end it with `return fig`")
                if checked:
                    plots.check(fig)
                return plots.Picture(plots.png(fig, dpi=dpi), self._alt(**point))
        except Exception as error:
            error.add_note(f"in the frame at {point}")
            raise
        finally:
            for number in set(plt.get_fignums()) - opened:
                plt.close(number)

    def _resolution(self):
        count = math.prod(len(dial.values) for dial in self._dials)
        dpi = self._dpi or (200 if count <= FRAMES_AT_DPI[200] else 150)
        most = max((n for limit, n in FRAMES_AT_DPI.items() if dpi <= limit), default=0)
        if count > most:
            limits = " or ".join(f"{n} at {limit} dpi" for limit, n in FRAMES_AT_DPI.items())
            raise ValueError(
                f"{count} frames at {dpi} dpi; a page takes at most {limits}: use a coarser grid"
            )
        return dpi


@dataclass
class Dial:
    """One parameter: its grid, how its values are written, and its live slider."""

    name: str
    values: list
    start: object
    label: str
    unit: str

    @property
    def is_number(self):
        return not isinstance(self.values[0], str)

    @property
    def is_geometric(self):
        if not self.is_number or self.values[0] <= 0:
            return False
        steps = np.diff(self.values)
        factors = np.diff(np.log(self.values))
        unevenness = factors.max() / factors.min()
        return unevenness < 1.5 and 1.001 * unevenness < steps.max() / steps.min()

    def clip(self, value):
        """Bring a value back into the range that rounding in a slider has left."""
        return min(max(value, self.values[0]), self.values[-1]) if self.is_number else value

    def texts(self):
        """The grid values as written, with unit, with the fewest digits that tell them apart."""
        texts = self.values
        if self.is_number:
            for digits in range(3, 18):
                texts = [_number(value, digits) for value in self.values]
                if len(set(texts)) == len(texts):
                    break
        return [f"{text} {self.unit}".strip() for text in texts]

    def slider(self):
        """The ipywidgets slider over the range of the grid."""
        import ipywidgets

        shared = {
            "value": self.start,
            "description": f"{self.label} ({self.unit})" if self.unit else self.label,
            "style": {"description_width": "initial"},
            "layout": {"width": "100%", "max_width": "480px"},
        }
        if not self.is_number:
            return ipywidgets.SelectionSlider(options=self.values, **shared)
        low, high = self.values[0], self.values[-1]
        if isinstance(low, int):
            return ipywidgets.IntSlider(min=low, max=high, **shared)
        slider = ipywidgets.FloatSlider
        if self.is_geometric:
            low, high = math.log10(low), math.log10(high)
            slider = ipywidgets.FloatLogSlider
        # A power of ten that crosses the range in 50 to 500 presses of a key.
        digits = -math.floor(math.log10((high - low) / 50))
        written = ".3g" if self.is_geometric else f".{max(0, digits)}f"
        return slider(min=low, max=high, step=10.0**-digits, readout_format=written, **shared)


def _number(value, digits):
    if isinstance(value, int):
        return str(value)
    if value != 0 and not 1e-5 <= abs(value) < 1e7:
        return np.format_float_scientific(value, precision=digits - 1, trim="-", exp_digits=1)
    before_point = len(str(int(abs(value))))
    precision = max(digits, before_point)
    return np.format_float_positional(value, precision, fractional=False, trim="-")


def _dials(grids, labels, units, start):
    if not 1 <= len(grids) <= 2:
        raise ValueError(
            f"{len(grids)} parameters ({', '.join(grids) or 'none'}); an explorer takes one or "
            "two: pass each as name=values"
        )
    for option, given in (("labels", labels), ("units", units), ("start", start)):
        if unknown := sorted(set(given) - set(grids)):
            raise ValueError(f"{option} names {unknown}; the parameters are {list(grids)}")
    dials = []
    for name, grid in grids.items():
        values = _grid(name, grid)
        first = start.get(name, values[0])
        if first not in values:
            raise ValueError(f"start has {name}={first!r}; take one of the grid: {values}")
        first = values[values.index(first)]
        dials.append(Dial(name, values, first, labels.get(name, name), units.get(name, "")))
    return dials


def _grid(name, grid):
    allowed = "at least two values: increasing finite numbers, or different strings"
    if isinstance(grid, str) or np.ndim(grid) > 1 or not np.iterable(grid):
        raise ValueError(f"{name}={grid!r}; a grid takes {allowed}")
    values = [value.item() if hasattr(value, "item") else value for value in grid]
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        values = [float(value) for value in values]
    if kinds == {str}:
        is_fine = len(set(values)) == len(values)
    else:
        is_rising = kinds <= {int, float} and (np.diff(values) > 0).all()
        is_fine = is_rising and np.isfinite(values).all()
    if not is_fine or len(values) < 2:
        raise ValueError(f"{name}={values}; a grid takes {allowed}")
    return values


def _is_live():
    if os.environ.get("FSNOTES_STATIC", "0") not in ("", "0"):
        return False
    try:
        import ipywidgets  # noqa: F401
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def _refuse_frames(pictures):
    texts = len({picture.alt for picture in pictures})
    if texts < FEWEST_FRAMES:
        raise ValueError(
            f"{len(pictures)} frames have {texts} different alternative texts; at least "
            f"{FEWEST_FRAMES} are needed: use a finer grid, or put more numbers into alt"
        )
    sizes = sorted({picture.size for picture in pictures})
    if len(sizes) > 1:
        raise ValueError(f"frames have sizes {sizes} px; give every figure the same figsize")


def _page(dials, pictures, first):
    frames = [base64.b64encode(picture.data).decode() for picture in pictures]
    # The first frame is in the page already, as a plain image.
    frames[first] = ""
    texts = [dial.texts() for dial in dials]
    data = json.dumps({"src": frames, "alt": [p.alt for p in pictures], "values": texts})
    data = data.replace("<", "\\u003c")
    name = "fsn-" + hashlib.sha256((data + repr(dials)).encode()).hexdigest()[:10]
    controls = []
    shown = []
    for dial, written in zip(dials, texts, strict=True):
        index = dial.values.index(dial.start)
        label = html.escape(dial.label)
        value = html.escape(written[index])
        shown.append(f"{label} = <span>{value}</span>")
        controls.append(
            f'<div class="fsn-control"><label for="{name}-{dial.name}">{label}</label>'
            f'<output for="{name}-{dial.name}">{value}</output>'
            f'<input type="range" id="{name}-{dial.name}" min="0" max="{len(written) - 1}" '
            f'step="1" value="{index}" autocomplete="off" aria-valuetext="{value}"></div>'
        )
    return (
        f'<figure class="fsn-explorer" id="{name}">\n{pictures[first]._repr_html_()}\n'
        f'<div class="fsn-controls" hidden>\n{chr(10).join(controls)}\n</div>\n'
        f'<figcaption class="fsn-shown">Shown: {", ".join(shown)}.'
        "<noscript> The other values need JavaScript.</noscript></figcaption>\n"
        f'<script type="application/json" class="fsn-frames">{data}</script>\n</figure>'
    )
