"""The figure style: colours, the phone check, and pictures with a text."""

import base64
import io
import re
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from fsnotes.notebook import plots

# Machado, Oliveira & Fernandes (2009), "A physiologically-based model for simulation of color
# vision deficiency", severity 1.0, for linear RGB.
COLOUR_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# CIE 1976: about the smallest difference that one notices between thin lines.
NOTICEABLE = 10


@pytest.fixture(autouse=True)
def own_style():
    with plots.style():
        yield
    plt.close("all")


def linear(color):
    srgb = np.array(to_rgb(color))
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def luminance(color):
    return linear(color) @ [0.2126, 0.7152, 0.0722]


def lab(rgb):
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]] @ rgb
    t = xyz / [0.9505, 1.0, 1.089]
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def good_figure():
    fig, (top, bottom) = plots.figure(panels=2, sharex=True)
    rounds = np.arange(1.0, 41.0)
    for power in (1, 2, 3):
        top.plot(rounds, rounds**-power / 3, label=f"power {power}")
    top.set(ylabel="error", yscale="log")
    top.set_title("Errors fall faster\nwith a higher power")
    top.legend()
    bottom.plot(rounds, rounds * 1e9)
    bottom.set(xlabel="round", ylabel="cost (flop)", xlim=(5, 35))
    bottom.annotate("cheap", (10, 1e10), (15, 3e9), arrowprops={"arrowstyle": "->"})
    return fig


def refuses(fig, words, **more):
    with pytest.raises(plots.FigureError, match=words):
        plots.check(fig, **more)


def test_colours_read_on_white():
    for color in (*plots.COLORS, plots.INK):
        assert 1.05 / (luminance(color) + 0.05) > 5, color


@pytest.mark.parametrize("kind", COLOUR_BLINDNESS)
def test_colours_differ_to_every_eye_or_come_with_another_cue(kind):
    seen = [lab(np.clip(COLOUR_BLINDNESS[kind] @ linear(color), 0, 1)) for color in plots.COLORS]
    for a, b in combinations(range(len(seen)), 2):
        distance = np.linalg.norm(seen[a] - seen[b])
        has_other_cue = plots.MARKERS[a] != plots.MARKERS[b] and plots.DASHES[a] != plots.DASHES[b]
        assert distance > NOTICEABLE or has_other_cue
        assert distance > 2 * NOTICEABLE or kind != "none"


def test_lines_cycle_through_colours_and_dashes_together():
    fig, ax = plots.figure()
    lines = [ax.plot([0, 1], [0, i])[0] for i in range(5)]
    assert tuple(line.get_color() for line in lines) == plots.COLORS
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 5
    assert len(set(plots.MARKERS)) == len(set(map(str, plots.DASHES))) == len(plots.COLORS)


def test_figure_has_the_house_style():
    fig, ax = plots.figure()
    ax.set_title("Finding")
    assert fig.get_size_inches().tolist() == [4.8, 3.6] and fig.dpi == 200
    assert fig.get_facecolor() == ax.get_facecolor() == (1, 1, 1, 1)
    assert not ax.spines["top"].get_visible() and not ax.spines["right"].get_visible()
    assert ax.get_title(loc="left") == "Finding" and ax.get_title(loc="center") == ""
    texts = [ax.text(0, 0, "word"), ax.xaxis.label, ax.get_xticklabels()[0], ax._left_title]
    assert min(text.get_fontsize() for text in texts) >= 11
    assert fig.get_layout_engine() is not None


def test_style_ends_with_its_block_and_figure_keeps_it():
    with mpl.rc_context({"font.size": 7.0}):
        with plots.style():
            plots.figure()
            assert mpl.rcParams["font.size"] == 11
        assert mpl.rcParams["font.size"] == 7
        plots.figure()
        assert mpl.rcParams["font.size"] == 11


def test_check_passes_a_good_figure():
    plots.check(good_figure())


def text_at(fig, x, y, text, **more):
    fig.axes[1].text(x, y, text, **more)


def small_ticks(fig):
    fig.axes[1].tick_params(labelsize=8)


def cover_with_legend(fig):
    top = fig.axes[0]
    top.legend(loc="upper right")
    top.text(0.73, 0.8, "x", transform=top.transAxes)


def crowd_ticks(fig):
    fig.axes[1].set_xticks(np.arange(10, 30), [f"round {i}" for i in range(10, 30)])


LONG = "A title that says far more than a line of this width can ever hold on a phone"
FAULTS = {
    "'round' is 8.9 px high, under 10 px: use fontsize=10.2 or more": lambda fig: fig.axes[
        1
    ].xaxis.label.set_fontsize(9),
    "'10' is 7.9 px high": small_ticks,
    "'power 1' is 7.9 px high": lambda fig: fig.axes[0].legend(fontsize=8),
    "'1e10' is 5.9 px high": lambda fig: fig.axes[1].yaxis.get_offset_text().set_fontsize(6),
    "'far too long a remark' leaves the canvas": lambda fig: text_at(
        fig, 34, 1e10, "far too long a remark", in_layout=False
    ),
    "at its right edge": lambda fig: fig.axes[0].set_title(LONG),
    "'cheap' and 'also here' overlap": lambda fig: text_at(fig, 15, 3.2e9, "also here"),
    "'over the label' overlap": lambda fig: fig.text(0.02, 0.3, "over the label"),
    "'x' lies under a legend": cover_with_legend,
    "'round 10' and 'round 11' overlap": crowd_ticks,
    "axes 2 has no x label": lambda fig: fig.axes[1].set_xlabel(""),
    "axes 1 has no y label: call": lambda fig: fig.axes[0].set_ylabel(" "),
    "axes 1 has no y label": lambda fig: fig.axes[0].set(ylabel="", yticks=[]),
}


@pytest.mark.parametrize("message", FAULTS)
def test_check_finds_a_planted_fault(message):
    fig = good_figure()
    FAULTS[message](fig)
    refuses(fig, re.escape(message))


def test_check_lists_every_fault():
    fig = good_figure()
    small_ticks(fig)
    text_at(fig, 34, 1e10, "far too long a remark", in_layout=False)
    fig.axes[0].set_ylabel("")
    with pytest.raises(plots.FigureError, match=r"\d faults in the figure as shown 340") as caught:
        plots.check(fig)
    assert all(fault in str(caught.value) for fault in caught.value.faults)
    for words in ("7.9 px", "leaves the canvas", "no y label"):
        assert words in str(caught.value)


def hide_axes(fig):
    fig.add_axes((0.2, 0.2, 0.4, 0.4), visible=False).plot([1, 2])


def switch_axis_off(fig):
    inset = fig.axes[0].inset_axes((0.05, 0.05, 0.2, 0.2))
    inset.plot([1, 2])
    inset.axis("off")


def tick_outside_view(fig):
    fig.axes[1].set_xticks([10, 20, 35.01, 36, 400])
    fig.axes[1].set_xlim(5, 35)


UNSEEN = {
    "hidden text": lambda fig: text_at(fig, 34, 1e10, "far too long a remark", visible=False),
    "blank text": lambda fig: text_at(fig, 15, 3e9, " ", fontsize=2),
    "note on a point outside": lambda fig: fig.axes[1].annotate("not drawn", (50, 1e9)),
    "clipped text": lambda fig: text_at(fig, 60, 1e9, "not drawn", clip_on=True),
    "hidden legend": lambda fig: fig.axes[0].legend(fontsize=3).set_visible(False),
    "hidden axes": hide_axes,
    "axis off": switch_axis_off,
    "tick outside": tick_outside_view,
}


@pytest.mark.parametrize("what", UNSEEN)
def test_check_ignores_what_nobody_sees(what):
    fig = good_figure()
    UNSEEN[what](fig)
    plots.check(fig)


def test_check_lets_boxes_touch():
    fig, ax = plots.figure()
    upper = ax.text(0.3, 0.5, "upper", va="bottom")
    lower = ax.text(0.3, 0.5, "lower", va="top")
    plots.check(fig)
    lower.set_y(0.53)
    refuses(fig, "'upper' and 'lower' overlap")
    upper.set_x(0.7)
    plots.check(fig)


def test_check_lets_an_arrow_pass_by_a_text():
    fig, ax = plots.figure()
    ax.annotate("note", (0.9, 0.9), (0.1, 0.1), arrowprops={"arrowstyle": "->"})
    ax.text(0.7, 0.3, "word")
    plots.check(fig)


def test_check_measures_at_the_width_shown():
    fig, ax = plots.figure()
    ax.text(0.3, 0.5, "word", fontsize=8)
    plots.check(fig, width=480)
    refuses(fig, r"(?s)300 px.*'word' is 6.9 px", width=300)


def test_check_accepts_a_colorbar_and_a_twin_axis_once_labelled():
    fig, ax = plots.figure()
    mesh = ax.pcolormesh(np.arange(12).reshape(3, 4))
    ax.set(xlabel="column", ylabel="row")
    bar = fig.colorbar(mesh)
    refuses(fig, "axes 2 has no y label")
    bar.set_label("value (mm)")
    plots.check(fig)
    fig, ax = plots.figure()
    ax.plot([1, 2])
    ax.set(xlabel="round", ylabel="error")
    other = ax.twinx()
    other.plot([2, 1])
    refuses(fig, "axes 2 has no y label")
    other.set_ylabel("cost (s)")
    plots.check(fig)


def test_check_accepts_labels_of_the_whole_figure():
    fig, panels = plots.figure(panels=2)
    for ax in panels:
        ax.plot([1, 2])
    fig.supxlabel("round")
    refuses(fig, "y label")
    fig.supylabel("error")
    plots.check(fig)


def colors_of(fig):
    image = Image.open(io.BytesIO(plots.png(fig))).convert("RGB")
    return np.array([color for _, color in image.getcolors()])


def test_png_has_few_colours_and_keeps_the_palette():
    fig, ax = plots.figure()
    ax.imshow(np.random.default_rng(0).random((30, 30)), aspect="auto", alpha=0.3)
    for color in plots.COLORS:
        ax.axhline(5 * plots.COLORS.index(color) + 3, color=color, linestyle="-")
    colors = colors_of(fig)
    assert 32 < len(colors) <= 64
    assert (colors == 255).all(axis=1).any()
    fig, ax = plots.figure()
    for number in range(5):
        ax.plot([0, 1], [0, number])
    colors = colors_of(fig)
    for color in plots.COLORS:
        assert np.abs(colors - np.array(to_rgb(color)) * 255).max(axis=1).min() < 4, color


def test_png_is_of_one_size_whatever_is_drawn_and_set():
    empty, _ = plots.figure()
    full, ax = plots.figure()
    ax.set(xlabel="x\nx", ylabel="a long label")
    with mpl.rc_context({"savefig.bbox": "tight", "savefig.dpi": 50}):
        sizes = {Image.open(io.BytesIO(plots.png(fig))).size for fig in (empty, full)}
    assert sizes == {(960, 720)}
    assert Image.open(io.BytesIO(plots.png(empty, dpi=150))).size == (720, 540)


def test_show_returns_a_picture_and_closes_the_figure():
    fig = good_figure()
    plots.check(fig)
    expected = plots.png(fig)
    fig = good_figure()
    picture = plots.show(fig, alt='Error < 0.1 & "falls"')
    assert not plt.fignum_exists(fig.number)
    shown = picture._repr_html_()
    assert shown.startswith('<img class="fsn-picture" width="480" height="600"')
    assert 'alt="Error &lt; 0.1 &amp; &quot;falls&quot;"' in shown
    [data] = re.findall(r'src="data:image/png;base64,(.*)">$', shown)
    assert base64.b64decode(data) == picture._repr_png_() == expected
    assert "falls" in repr(picture)


def test_show_does_not_enlarge_a_small_figure():
    fig, _ = plots.figure(figsize=(1.5, 1))
    picture = plots.Picture(plots.png(fig), "small")
    assert 'width="300" height="200"' in picture._repr_html_()


@pytest.mark.parametrize("alt", ["", "  ", "\u200b", "...", None])
def test_show_refuses_an_empty_text(alt):
    with pytest.raises(ValueError, match="needs a non-empty alternative text"):
        plots.show(good_figure(), alt=alt)
    assert not plt.get_fignums()


def test_show_checks_and_closes_a_bad_figure():
    fig = good_figure()
    fig.axes[0].set_ylabel("")
    with pytest.raises(plots.FigureError):
        plots.show(fig, alt="text")
    assert not plt.get_fignums()
