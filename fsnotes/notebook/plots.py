"""One figure style, a check of what can be read on a phone, and pictures with a text."""

import base64
import html
import io
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

__all__ = [
    "COLORS",
    "DASHES",
    "INK",
    "MARKERS",
    "FigureError",
    "Picture",
    "check",
    "figure",
    "png",
    "show",
    "style",
]

COLORS = ("#0072B2", "#B34700", "#007A5E", "#A3407F", "#8A6100")
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (6, 2, 1, 2, 1, 2)))
INK = "#222222"

SHOWN_WIDTH = 480
SMALLEST_TEXT = 10
# The box of a text is taller than its ink, so boxes that merely touch are still apart.
TOUCHING = 1.0

STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "white",
    "axes.labelcolor": INK,
    "axes.labelsize": 11,
    "axes.prop_cycle": cycler(color=COLORS) + cycler(linestyle=DASHES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.titlesize": 12,
    "axes.titleweight": "normal",
    "figure.facecolor": "white",
    "figure.titlesize": 12,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": "#DDDDDD",
    "image.cmap": "cividis",
    "legend.edgecolor": "#BBBBBB",
    "legend.fancybox": False,
    "legend.fontsize": 11,
    "legend.framealpha": 1.0,
    "legend.handlelength": 2.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "savefig.bbox": None,
    "savefig.facecolor": "white",
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": INK,
    "xtick.labelsize": 11,
    "ytick.color": INK,
    "ytick.labelsize": 11,
}


class FigureError(ValueError):
    """A figure that cannot be read on a phone.

    Attributes
    ----------
    faults : list of str
        Every fault found, one sentence each.
    """

    def __init__(self, faults, width):
        self.faults = list(faults)
        count = f"{len(self.faults)} fault" + "s" * (len(self.faults) > 1)
        lines = "\n".join(f"- {fault}" for fault in self.faults)
        super().__init__(f"{count} in the figure as shown {width} px wide:\n{lines}")


def style() -> AbstractContextManager:
    """Use the style of the notes inside a ``with`` block.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> from fsnotes.notebook import plots
    >>> with plots.style():
    ...     mpl.rcParams["font.size"]
    11.0
    """
    return mpl.rc_context(STYLE)


def figure(panels=1, **subplots):
    """Start a figure of 4.8 x 3.6 in at 200 dpi; two panels are stacked.

    Matplotlib reads most settings while it draws, so the style stays on after the call.
    Inside ``with style():`` the previous settings come back at the end of the block.

    Parameters
    ----------
    panels : int, default=1
        Number of panels, from top to bottom.
    **subplots
        Passed to ``matplotlib.pyplot.subplots``, as in ``sharex=True``.

    Returns
    -------
    fig : matplotlib.figure.Figure
    ax : matplotlib.axes.Axes or array of Axes
        One axes, or an array of them, the topmost first.

    Examples
    --------
    >>> from fsnotes.notebook import plots
    >>> with plots.style():
    ...     fig, (top, bottom) = plots.figure(panels=2, sharex=True)
    >>> [float(inches) for inches in fig.get_size_inches()]
    [4.8, 6.0]
    >>> plots.plt.close(fig)
    """
    mpl.rcParams.update(STYLE)
    size = (4.8, 3.6 if panels == 1 else 3.0 * panels)
    return plt.subplots(
        panels, **{"figsize": size, "dpi": 200, "layout": "constrained", **subplots}
    )


def check(fig, width=340):
    """Refuse a figure with a text that is small, cut off or covered, or an axis without label.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
    width : int, default=340
        Width in pixels at which the figure is shown, that of a phone.

    Raises
    ------
    FigureError
        With all faults: a text whose font size is under 10 px, that leaves the canvas,
        overlaps another text or lies under a legend, and an axes with data that lacks an
        x or a y label.

    Notes
    -----
    Boxes may touch by 1 px. A slanted text counts as its upright bounding box. A super- or
    subscript counts with the size of the text it belongs to. An axis whose tick labels are
    hidden may leave its label to an axes that shares it.

    Examples
    --------
    >>> from fsnotes.notebook import plots
    >>> with plots.style():
    ...     fig, ax = plots.figure()
    ...     _ = ax.plot([1, 2, 4])
    ...     _ = ax.set(xlabel="round", ylabel="error (%)")
    ...     plots.check(fig)
    ...     _ = ax.set_ylabel("")
    ...     plots.check(fig)
    Traceback (most recent call last):
    fsnotes.notebook.plots.FigureError: 1 fault in the figure as shown 340 px wide:
    - axes 1 has no y label: call ax.set_ylabel("name (unit)")
    >>> plots.plt.close(fig)
    """
    fig.draw_without_rendering()
    scale = width / fig.bbox.width
    boxes = [(text, _box(text, scale)) for text in _texts(fig) if _is_drawn(text)]
    faults = [
        *_small(boxes, fig.dpi * scale / 72),
        *_cut_off(boxes, _scaled(fig.bbox, scale)),
        *_overlapping(boxes),
        *_under_legend(fig, boxes, scale),
        *_unlabelled(fig),
    ]
    if faults:
        raise FigureError(faults, width)


def png(fig, dpi=200, colors=64) -> bytes:
    """Draw a figure as a PNG with few colours; all figures of one size give one size.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
    dpi : int, default=200
    colors : int, default=64
        Largest number of colours, without dithering.

    Examples
    --------
    >>> from fsnotes.notebook import plots
    >>> with plots.style():
    ...     fig, ax = plots.figure()
    ...     plots.png(fig)[1:4]
    b'PNG'
    >>> plots.plt.close(fig)
    """
    drawn = io.BytesIO()
    with mpl.rc_context({"savefig.bbox": None}):
        fig.savefig(
            drawn, format="png", dpi=dpi, facecolor="white", pil_kwargs={"compress_level": 0}
        )
    small = Image.open(drawn).convert("RGB").quantize(colors, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    small.save(packed, format="png", optimize=True)
    return packed.getvalue()


class Picture:
    """A finished figure with its alternative text, which notebooks and the book display.

    Parameters
    ----------
    data : bytes
        The PNG.
    alt : str
        What the figure shows, in words and numbers.
    """

    def __init__(self, data, alt):
        if not isinstance(alt, str) or not any(map(str.isalnum, alt)):
            raise ValueError(
                f"alt={alt!r}: a figure needs a non-empty alternative text; "
                "say what it shows, with the numbers computed"
            )
        self.data = data
        self.alt = alt
        self.size = Image.open(io.BytesIO(data)).size

    def __repr__(self):
        return f"Picture({self.alt!r})"

    def save(self, path):
        """Write the PNG to a file, as a script may want to."""
        Path(path).write_bytes(self.data)

    def _repr_png_(self):
        return self.data

    def _repr_html_(self):
        width = min(SHOWN_WIDTH, self.size[0])
        height = round(width * self.size[1] / self.size[0])
        return (
            f'<img class="fsn-picture" width="{width}" height="{height}" '
            f'style="max-width:100%;height:auto" alt="{html.escape(self.alt)}" '
            f'src="data:image/png;base64,{base64.b64encode(self.data).decode()}">'
        )


def show(fig, alt) -> Picture:
    """Check a figure, close it, and return it as a picture with an alternative text.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
    alt : str
        What the figure shows, with the numbers computed by the caller in it.

    Examples
    --------
    >>> from fsnotes.notebook import plots
    >>> errors = [0.31, 0.12, 0.08]
    >>> with plots.style():
    ...     fig, ax = plots.figure()
    ...     _ = ax.plot(errors)
    ...     _ = ax.set(xlabel="round", ylabel="error")
    ...     plots.show(fig, alt=f"The error falls from {errors[0]} to {errors[-1]}.")
    Picture('The error falls from 0.31 to 0.08.')
    """
    try:
        check(fig)
        return Picture(png(fig), alt)
    finally:
        plt.close(fig)


def _texts(artist: Artist) -> Iterator[Text]:
    if not artist.get_visible():
        return
    if isinstance(artist, Text):
        yield artist
    for child in artist.get_children():
        if isinstance(child, Axis):
            yield from _axis_texts(child)
        else:
            yield from _texts(child)


def _axis_texts(axis: Axis) -> Iterator[Text]:
    if not axis.get_visible() or not axis.axes.axison:
        return
    yield from _texts(axis.label)
    yield from _texts(axis.get_offset_text())
    yield from _tick_labels(axis)


def _tick_labels(axis: Axis) -> Iterator[Text]:
    low, high = sorted(axis.get_transform().transform(axis.get_view_interval()))
    slack = 1e-6 * (high - low)
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if low - slack <= axis.get_transform().transform(tick.get_loc()) <= high + slack:
            yield from _texts(tick)


def _is_drawn(text: Text) -> bool:
    if not text.get_text().strip():
        return False
    # An annotation of a point outside its axes, or a text clipped away, has no tight box.
    box = text.get_tightbbox()
    return box is not None and box.width > 0 and box.height > 0


def _box(text: Text, scale: float) -> Bbox:
    # Text's own method leaves out the arrow of an annotation.
    return _scaled(Text.get_window_extent(text), scale)


def _scaled(box: Bbox, scale: float) -> Bbox:
    return Bbox(box.get_points() * scale)


def _small(boxes, pixels_per_point):
    for text, _ in boxes:
        pixels = text.get_fontsize() * pixels_per_point
        if pixels < SMALLEST_TEXT:
            points = SMALLEST_TEXT / pixels_per_point
            yield (
                f"text {text.get_text()!r} is {pixels:.1f} px high, under {SMALLEST_TEXT} px: "
                f"use fontsize={points + 0.05:.1f} or more"
            )


def _cut_off(boxes, canvas):
    for text, box in boxes:
        beyond = {
            "left": canvas.x0 - box.x0,
            "right": box.x1 - canvas.x1,
            "lower": canvas.y0 - box.y0,
            "upper": box.y1 - canvas.y1,
        }
        side = max(beyond, key=beyond.get)
        if beyond[side] > TOUCHING:
            yield (
                f"text {text.get_text()!r} leaves the canvas by {beyond[side]:.0f} px at its "
                f"{side} edge: shorten it, break the line or move it"
            )


def _overlapping(boxes):
    for (first, one), (second, other) in combinations(boxes, 2):
        common = Bbox.intersection(one, other)
        if common is not None and min(common.width, common.height) > TOUCHING:
            yield (
                f"texts {first.get_text()!r} and {second.get_text()!r} overlap by "
                f"{common.width:.0f} x {common.height:.0f} px: move or shorten one"
            )


def _under_legend(fig, boxes, scale):
    for legend in fig.findobj(lambda artist: isinstance(artist, Legend) and artist.get_visible()):
        frame = _scaled(legend.get_window_extent(), scale)
        own = {legend.get_title(), *legend.get_texts()}
        for text, box in boxes:
            common = Bbox.intersection(frame, box)
            if text not in own and common and min(common.width, common.height) > TOUCHING:
                yield f"text {text.get_text()!r} lies under a legend: move one of them"


def _unlabelled(fig: Figure):
    for number, ax in enumerate(fig.axes, start=1):
        if not (ax.get_visible() and ax.axison and ax.has_data()):
            continue
        for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            if axis.get_visible() and not _is_named(ax, name, axis):
                yield f'axes {number} has no {name} label: call ax.set_{name}label("name (unit)")'


def _is_named(ax: Axes, name: str, axis: Axis) -> bool:
    if axis.label.get_text().strip() or getattr(ax.figure, f"get_sup{name}label")():
        return True
    if any(text.get_text() for text in _tick_labels(axis)):
        return False
    sharing = getattr(ax, f"get_shared_{name}_axes")().get_siblings(ax)
    by_another = any(getattr(other, f"{name}axis").label.get_text() for other in sharing)
    return by_another or ax.get_label() == "<colorbar>"
