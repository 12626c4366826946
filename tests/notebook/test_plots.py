"""The figure style: colours, the phone check, and pictures with a text."""

import base64
import io
from html.parser import HTMLParser
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
    return fig, top, bottom


def test_colours_read_on_white():
    for color in (*plots.COLORS, plots.INK):
        assert 1.05 / (luminance(color) + 0.05) > 5, color


@pytest.mark.parametrize("kind", COLOUR_BLINDNESS)
def test_colours_differ_to_every_eye_or_come_with_another_cue(kind):
    seen = [lab(np.clip(COLOUR_BLINDNESS[kind] @ linear(color), 0, 1)) for color in plots.COLORS]
    distance = {
        (a, b): np.linalg.norm(seen[a] - seen[b]) for a, b in combinations(range(len(seen)), 2)
    }
    print({pair: round(float(value), 1) for pair, value in distance.items()})
    for (a, b), value in distance.items():
        has_other_cue = plots.MARKERS[a] != plots.MARKERS[b] and plots.DASHES[a] != plots.DASHES[b]
        assert value > NOTICEABLE or has_other_cue
    if kind == "none":
        assert min(distance.values()) > 2 * NOTICEABLE


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


def test_two_panels_are_stacked_and_taller():
    fig, (top, bottom) = plots.figure(panels=2)
    fig.draw_without_rendering()
    assert top.get_position().y0 > bottom.get_position().y1
    assert fig.get_size_inches()[1] > 3.6


def test_style_ends_with_its_block_and_figure_keeps_it():
    with mpl.rc_context({"font.size": 7.0}):
        with plots.style():
            plots.figure()
            assert mpl.rcParams["font.size"] == 11
        assert mpl.rcParams["font.size"] == 7
        plots.figure()
        assert mpl.rcParams["font.size"] == 11


def test_check_passes_a_good_figure():
    plots.check(good_figure()[0])


def shrink(fig, top, bottom):
    bottom.xaxis.label.set_fontsize(9)


def shrink_ticks(fig, top, bottom):
    bottom.tick_params(labelsize=8)


def shrink_legend(fig, top, bottom):
    top.legend(fontsize=8)


def shrink_offset(fig, top, bottom):
    bottom.yaxis.get_offset_text().set_fontsize(6)


def push_off(fig, top, bottom):
    bottom.text(34, 1e10, "far too long a remark", in_layout=False)


def long_title(fig, top, bottom):
    top.set_title("A title that says far more than a line of this width can ever hold on a phone")


def cover_text(fig, top, bottom):
    bottom.text(15, 3.2e9, "also here")


def cover_with_panel(fig, top, bottom):
    fig.text(0.02, 0.3, "over the label")


def cover_with_legend(fig, top, bottom):
    top.legend(loc="upper right")
    top.text(0.73, 0.8, "x", transform=top.transAxes)


def crowd_ticks(fig, top, bottom):
    bottom.set_xticks(np.arange(10, 30), [f"round {i}" for i in range(10, 30)])


def drop_x_label(fig, top, bottom):
    bottom.set_xlabel("")


def drop_y_label(fig, top, bottom):
    top.set_ylabel(" ")


def drop_y_label_and_ticks(fig, top, bottom):
    top.set(ylabel="", yticks=[])


@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (shrink, "'round' is 8.9 px high, under 10 px: use fontsize=10.2 or more"),
        (shrink_ticks, "'10' is 7.9 px high"),
        (shrink_legend, "'power 1' is 7.9 px high"),
        (shrink_offset, "'1e10' is 5.9 px high"),
        (push_off, "'far too long a remark' leaves the canvas"),
        (long_title, "at its right edge"),
        (cover_text, "'cheap' and 'also here' overlap"),
        (cover_with_panel, "'over the label' overlap"),
        (cover_with_legend, "'x' lies under a legend"),
        (crowd_ticks, "'round 10' and 'round 11' overlap"),
        (drop_x_label, "axes 2 has no x label"),
        (drop_y_label, "axes 1 has no y label"),
        (drop_y_label_and_ticks, "axes 1 has no y label"),
    ],
)
def test_check_finds_a_planted_fault(plant, message):
    fig, top, bottom = good_figure()
    plant(fig, top, bottom)
    with pytest.raises(plots.FigureError) as caught:
        plots.check(fig)
    assert any(message in fault for fault in caught.value.faults), caught.value


def test_check_lists_every_fault():
    fig, top, bottom = good_figure()
    shrink(fig, top, bottom)
    push_off(fig, top, bottom)
    drop_y_label(fig, top, bottom)
    with pytest.raises(plots.FigureError, match="3 faults in the figure as shown 340 px") as caught:
        plots.check(fig)
    assert all(fault in str(caught.value) for fault in caught.value.faults)
    assert isinstance(caught.value, ValueError) and len(caught.value.faults) == 3


def hide_text(fig, top, bottom):
    bottom.text(34, 1e10, "far too long a remark", visible=False)


def blank_text(fig, top, bottom):
    bottom.text(15, 3e9, " ", fontsize=2)


def annotate_outside(fig, top, bottom):
    bottom.annotate("not drawn, since its point is not", (50, 1e9))


def clip_away(fig, top, bottom):
    bottom.text(60, 1e9, "not drawn", clip_on=True)


def hide_legend(fig, top, bottom):
    top.legend(fontsize=3).set_visible(False)


def hide_axes(fig, top, bottom):
    fig.add_axes((0.2, 0.2, 0.4, 0.4), visible=False).plot([1, 2])


def switch_axis_off(fig, top, bottom):
    inset = top.inset_axes((0.05, 0.05, 0.2, 0.2))
    inset.plot([1, 2])
    inset.axis("off")


def tick_outside_view(fig, top, bottom):
    bottom.set_xticks([10, 20, 35.01, 36, 400])
    bottom.set_xlim(5, 35)


@pytest.mark.parametrize(
    "plant",
    [
        hide_text,
        blank_text,
        annotate_outside,
        clip_away,
        hide_legend,
        hide_axes,
        switch_axis_off,
        tick_outside_view,
    ],
)
def test_check_ignores_what_nobody_sees(plant):
    fig, top, bottom = good_figure()
    plant(fig, top, bottom)
    plots.check(fig)


def test_check_lets_boxes_touch():
    fig, ax = plots.figure()
    upper = ax.text(0.3, 0.5, "upper", va="bottom")
    lower = ax.text(0.3, 0.5, "lower", va="top")
    plots.check(fig)
    lower.set_y(0.53)
    with pytest.raises(plots.FigureError, match="'upper' and 'lower' overlap"):
        plots.check(fig)
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
    with pytest.raises(plots.FigureError, match=r"(?s)300 px.*'word' is 6.9 px"):
        plots.check(fig, width=300)


def test_check_accepts_a_colorbar_and_a_twin_axis_once_labelled():
    fig, ax = plots.figure()
    mesh = ax.pcolormesh(np.arange(12).reshape(3, 4))
    ax.set(xlabel="column", ylabel="row")
    bar = fig.colorbar(mesh)
    with pytest.raises(plots.FigureError, match="axes 2 has no y label"):
        plots.check(fig)
    bar.set_label("value (mm)")
    plots.check(fig)
    fig, ax = plots.figure()
    ax.plot([1, 2])
    ax.set(xlabel="round", ylabel="error")
    other = ax.twinx()
    other.plot([2, 1])
    with pytest.raises(plots.FigureError, match="axes 2 has no y label"):
        plots.check(fig)
    other.set_ylabel("cost (s)")
    plots.check(fig)


def test_check_accepts_labels_of_the_whole_figure():
    fig, panels = plots.figure(panels=2)
    for ax in panels:
        ax.plot([1, 2])
    fig.supxlabel("round")
    with pytest.raises(plots.FigureError, match="y label"):
        plots.check(fig)
    fig.supylabel("error")
    plots.check(fig)


def test_png_has_few_colours_and_keeps_the_palette():
    fig, ax = plots.figure()
    ax.imshow(np.random.default_rng(0).random((30, 30)), aspect="auto", alpha=0.3)
    for color in plots.COLORS:
        ax.axhline(5 * plots.COLORS.index(color) + 3, color=color, linestyle="-")
    image = Image.open(io.BytesIO(plots.png(fig))).convert("RGB")
    colors = np.array([color for _, color in image.getcolors(64)])
    assert 32 < len(colors) <= 64
    assert (colors == 255).all(axis=1).any()
    fig, ax = plots.figure()
    for number in range(5):
        ax.plot([0, 1], [0, number])
    colors = np.array(
        [c for _, c in Image.open(io.BytesIO(plots.png(fig))).convert("RGB").getcolors()]
    )
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


def test_png_is_the_same_every_time():
    assert plots.png(good_figure()[0]) == plots.png(good_figure()[0])


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_show_returns_a_picture_and_closes_the_figure():
    fig, *_ = good_figure()
    plots.check(fig)
    expected = plots.png(fig)
    fig, *_ = good_figure()
    picture = plots.show(fig, alt='Error < 0.1 & "falls"')
    assert not plt.fignum_exists(fig.number)
    [(tag, attributes)] = Tags(picture._repr_html_()).tags
    assert tag == "img" and attributes["alt"] == 'Error < 0.1 & "falls"'
    assert (attributes["width"], attributes["height"]) == ("480", "600")
    head, data = attributes["src"].split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == picture._repr_png_() == expected
    assert attributes["class"] == "fsn-picture" and "falls" in repr(picture)


def test_show_does_not_enlarge_a_small_figure():
    fig, _ = plots.figure(figsize=(1.5, 1))
    picture = plots.Picture(plots.png(fig), "small")
    assert 'width="300" height="200"' in picture._repr_html_()


@pytest.mark.parametrize("alt", ["", "  ", "\u200b", "...", None])
def test_show_refuses_an_empty_text(alt):
    with pytest.raises(ValueError, match="needs a non-empty alternative text"):
        plots.show(good_figure()[0], alt=alt)
    assert not plt.get_fignums()


def test_show_checks_and_closes_a_bad_figure():
    fig, top, bottom = good_figure()
    drop_y_label(fig, top, bottom)
    with pytest.raises(plots.FigureError):
        plots.show(fig, alt="text")
    assert not plt.get_fignums()
