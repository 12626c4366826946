"""One figure style, a check of what can be read on a phone, and pictures with a text."""

import base64
import html
import io
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.axis import Axis
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

__all__ = ["COLORS", "DASHES", "INK", "MARKERS", "FigureError", "figure", "show", "style"]

COLORS = ("#0072B2", "#B34700", "#007A5E", "#A3407F", "#8A6100")
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (6, 2, 1, 2, 1, 2)))
INK = "#222222"

SHOWN_WIDTH = 480
SMALLEST_TEXT = 10
# The box of a text is taller than its ink, so boxes that merely touch are still apart.
TOUCHING = 1.0

STYLE = {
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "axes.titlecolor"), INK),
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color"), INK),
    "axes.axisbelow": True,
    "axes.facecolor": "white",
    "axes.prop_cycle": cycler(color=COLORS) + cycler(linestyle=DASHES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.titlesize": 12,
    "figure.facecolor": "white",
    "figure.titlesize": 12,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": "#DDDDDD",
    "image.cmap": "cividis",
    "legend.edgecolor": "#BBBBBB",
    "legend.fancybox": False,
    "legend.framealpha": 1.0,
    "legend.handlelength": 2.8,
    "lines.linewidth": 1.8,
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


def style():
    """Use the style of the notes inside a ``with`` block."""
    return mpl.rc_context(STYLE)


def figure(panels=1, **subplots):
    """Start a figure of 4.8 x 3.6 in at 200 dpi, with one panel or more, stacked.

    Matplotlib reads most settings while it draws, so the style stays on after the call.
    Inside ``with style():`` the previous settings come back at the end of the block.

    Parameters
    ----------
    panels : int, default=1
    **subplots
        Passed to ``matplotlib.pyplot.subplots``, as in ``sharex=True``, whose figure and axes are
        returned, the topmost first.

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
    options = {"figsize": size, "dpi": 200, "layout": "constrained"}
    return plt.subplots(panels, **options | subplots)


def check(fig, width=340):
    """Refuse a figure with a text that is small, cut off or covered, or an axis without label.

    The figure is laid out for good, and measured as shown so many pixels wide, as on a phone. No
    text may have a font size under 10 px, leave the canvas, overlap another text or lie under a
    legend, and axes with data need an x and a y label. A `FigureError` names all faults.

    Boxes may touch by 1 px. A slanted text counts as its upright bounding box. A super- or
    subscript counts with the size of the text it belongs to. An axis whose tick labels are
    hidden may leave its label to an axes that shares it.
    """
    fig.draw_without_rendering()
    scale = width / fig.bbox.width
    boxes = [(text, _box(text, scale)) for text in _texts(fig) if _is_drawn(text)]
    faults = [
        *_small(boxes, fig.dpi * scale / 72),
        *_cut_off(boxes, Bbox(fig.bbox.get_points() * scale)),
        *_overlapping(boxes),
        *_under_legend(fig, boxes, scale),
        *_unlabelled(fig),
    ]
    if faults:
        raise FigureError(faults, width)
    fig.set_layout_engine(None)  # what was laid out and checked is what will be drawn


def png(fig, dpi=200, colors=64):
    """Draw a figure as a PNG of so many colours at most; figures of one size give one size."""
    drawn = io.BytesIO()
    with mpl.rc_context({"savefig.bbox": None}):
        # what is packed below is not compressed before
        fast = {"compress_level": 0}
        fig.savefig(drawn, format="png", dpi=dpi, facecolor="white", pil_kwargs=fast)
    small = Image.open(drawn).convert("RGB").quantize(colors, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    small.save(packed, format="png", optimize=True)
    return packed.getvalue()


class Picture:
    """A finished figure with its alternative text, which notebooks and the book display.

    `data` is a PNG, and `alt` says what the figure shows, in words and numbers.
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


def show(fig, alt):
    """Check a figure, close it, and return it as a picture with an alternative text.

    The text says what the figure shows, with the numbers that the caller has computed.

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


def _texts(artist):
    if not artist.get_visible():
        return
    if isinstance(artist, Text):
        yield artist
    for child in artist.get_children():
        yield from _axis_texts(child) if isinstance(child, Axis) else _texts(child)


def _axis_texts(axis):
    if axis.get_visible() and axis.axes.axison:
        yield from _texts(axis.label)
        yield from _texts(axis.get_offset_text())
        yield from _tick_labels(axis)


def _tick_labels(axis):
    low, high = sorted(axis.get_transform().transform(axis.get_view_interval()))
    slack = 1e-6 * (high - low)
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if low - slack <= axis.get_transform().transform(tick.get_loc()) <= high + slack:
            yield from _texts(tick)


def _is_drawn(text):
    if not text.get_text().strip():
        return False
    # An annotation of a point outside its axes, or a text clipped away, has no tight box.
    box = text.get_tightbbox()
    return box is not None and box.width > 0 and box.height > 0


def _box(artist, scale):
    # The method of an annotation would add its arrow.
    own = Text if isinstance(artist, Text) else type(artist)
    return Bbox(own.get_window_extent(artist).get_points() * scale)


def _common(one, other):
    """What two boxes have in common, if that is more than a touch."""
    common = Bbox.intersection(one, other)
    return common if common and min(common.width, common.height) > TOUCHING else None


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
        if common := _common(one, other):
            yield (
                f"texts {first.get_text()!r} and {second.get_text()!r} overlap by "
                f"{common.width:.0f} x {common.height:.0f} px: move or shorten one"
            )


def _under_legend(fig, boxes, scale):
    for legend in fig.findobj(Legend):
        own = {legend.get_title(), *legend.get_texts()}
        for text, box in boxes:
            if legend.get_visible() and text not in own and _common(_box(legend, scale), box):
                yield f"text {text.get_text()!r} lies under a legend: move one of them"


def _unlabelled(fig):
    for number, ax in enumerate(fig.axes, start=1):
        if ax.get_visible() and ax.axison and ax.has_data():
            for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
                if axis.get_visible() and not _is_named(ax, name, axis):
                    label = f'call ax.set_{name}label("name (unit)")'
                    yield f"axes {number} has no {name} label: {label}"


def _is_named(ax, name, axis):
    if axis.label.get_text().strip() or getattr(ax.figure, f"get_sup{name}label")():
        return True
    if any(text.get_text() for text in _tick_labels(axis)):
        return False
    sharing = getattr(ax, f"get_shared_{name}_axes")().get_siblings(ax)
    by_another = any(getattr(other, f"{name}axis").label.get_text() for other in sharing)
    return by_another or ax.get_label() == "<colorbar>"
