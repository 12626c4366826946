"""Explorers: the static page, the live widget on a real kernel, and the script in a browser."""

import base64
import inspect
import itertools
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from fsnotes.notebook import explore, plots

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "book" / "_static"
VOID = {"img", "input"}
RATES = [float(f"{rate:.3g}") for rate in np.geomspace(0.01, 10, 10)]
KERNELS = ["linear", "a < b </script>", "rbf"]


def draw(**point):
    fig, ax = plots.figure(figsize=(2.4, 1.8), layout=None)
    ax.axis("off")
    ax.text(0, 0.5, "\n".join(f"{name} = {value}" for name, value in point.items()))
    return fig


def describe(**point):
    return "Shown: " + ", ".join(f"{name} is <{value}>" for name, value in point.items())


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("FSNOTES_STATIC", "1")
    yield
    assert not plt.get_fignums(), "an explorer leaves no figure open"


@pytest.fixture
def live(monkeypatch):
    monkeypatch.setattr(explore, "_is_live", lambda: True)


def explored(dpi=50, **more):
    return explore.explore(draw, **{"alt": describe, "dpi": dpi, "k": range(1, 25), **more})


@pytest.fixture(scope="module")
def one_parameter():
    return explore.Explorer(draw, describe, explore._dials({"k": range(1, 25)}, {}, {}, {}), 60)


@pytest.fixture(scope="module")
def two_parameters():
    grids = {"rate": RATES, "kernel": KERNELS}
    options = {"rate": "learning rate"}, {"rate": "per s"}, {"kernel": "rbf"}
    return explore.Explorer(draw, describe, explore._dials(grids, *options), 60)


class Page(HTMLParser):
    """Elements as (tag, attributes, text), refusing tags that do not close."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        element = [tag, dict(attrs), ""]
        assert len(attrs) == len(element[1]), "an attribute comes twice"
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            self.open[-1][2] += data

    def all(self, tag):
        return [(attrs, text) for name, attrs, text in self.elements if name == tag]

    def alt(self):
        [(attributes, _)] = self.all("img")
        return attributes["alt"]

    def frames(self):
        [(attributes, text)] = self.all("script")
        assert attributes == {"type": "application/json", "class": "fsn-frames"}
        return json.loads(text)


def run_notebook(cells, **environment):
    """Execute cells on a kernel of its own; return outputs of each cell, and states of widgets."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    inherited = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    client = NotebookClient(notebook, timeout=60, kernel_name="python3")
    client.execute(env={**inherited, "PYTHONPATH": path, **environment})
    widgets = notebook.metadata.get("widgets", {}).values()
    states = [widget for kind in widgets for widget in kind["state"].values()]
    return [cell.outputs for cell in notebook.cells], states


SETUP = (
    "import numpy as np\n"
    "from fsnotes.notebook import plots\nfrom fsnotes.notebook.explore import explore\n"
    + inspect.getsource(draw)
    + inspect.getsource(describe)
)


def test_static_on_a_kernel_gives_html_alone():
    build = "explore(draw, alt=describe, dpi=60, k=range(1, 25))"
    show = "plots.show(draw(k=1), alt='one')"
    (_, [built], [shown]), _ = run_notebook([SETUP, build, show], FSNOTES_STATIC="1")
    assert set(built.data) == {"text/html", "text/plain"}
    assert built.data["text/html"] == explored(dpi=60).html()
    assert set(shown.data) == {"text/html", "text/plain", "image/png"}


def test_live_on_a_kernel_solves_between_grid_points():
    cells = [
        SETUP,
        "explorer = explore(draw, alt=describe, k=np.linspace(1, 3, 21))\nexplorer",
        "explorer.sliders['k'].value = 1.234",
        "print(explorer.value)",
    ]
    (_, [displayed], nothing, [printed]), states = run_notebook(cells, FSNOTES_STATIC="0")
    assert set(displayed.data) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert nothing == [] and printed.text == "{'k': 1.234}\n"
    # What a notebook displays is the widgets' state, which the client collects.
    [state] = [widget["state"] for widget in states if widget["model_name"] == "HTMLModel"]
    assert Page(state["value"]).alt() == "Shown: k is <1.234>"


def test_static_page_is_accessible_html(one_parameter):
    page = Page(one_parameter.html())
    [(figure, _)] = page.all("figure")
    assert figure["class"] == "fsn-explorer"
    [(label, name)] = page.all("label")
    [(output, value)] = page.all("output")
    [(control, _)] = page.all("input")
    assert control["id"] == label["for"] == output["for"]
    assert control["type"] == "range" and control["autocomplete"] == "off"
    assert [control[key] for key in ("min", "max", "step", "value")] == ["0", "23", "1", "0"]
    assert (name, value, control["aria-valuetext"]) == ("k", "1", "1")
    [(image, _)] = page.all("img")
    assert (image["alt"], image["width"], image["height"]) == (describe(k=1), "144", "108")
    hidden = [attrs["class"] for tag, attrs, _ in page.elements if "hidden" in attrs]
    assert hidden == ["fsn-controls"]
    assert page.all("noscript") and page.all("span") == [({}, "1")]


def test_frames_are_what_draw_and_alt_give(one_parameter):
    page = Page(one_parameter.html())
    frames = page.frames()
    assert frames["alt"] == [describe(k=k) for k in range(1, 25)]
    assert frames["values"] == [[str(k) for k in range(1, 25)]]
    first = page.all("img")[0][0]["src"].removeprefix("data:image/png;base64,")
    assert frames["src"][0] == ""
    for k, data in enumerate([first, *frames["src"][1:]], start=1):
        with plots.style():
            fig = draw(k=k)
            plots.check(fig)
            expected = plots.png(fig, dpi=60)
            plt.close(fig)
        assert base64.b64decode(data) == expected


def test_two_parameters_run_row_by_row_from_the_start_values(two_parameters):
    html = two_parameters.html()
    page = Page(html)
    frames = page.frames()
    assert frames["alt"] == [describe(rate=r, kernel=k) for r in RATES for k in KERNELS]
    assert frames["values"][0][:4] == ["0.01 per s", "0.0215 per s", "0.0464 per s", "0.1 per s"]
    assert frames["values"][1] == KERNELS
    assert frames["src"].index("") == 2
    assert page.all("img")[0][0]["alt"] == frames["alt"][2]
    assert [text for _, text in page.all("label")] == ["learning rate", "kernel"]
    assert [text for _, text in page.all("output")] == ["0.01 per s", "rbf"]
    assert [a["aria-valuetext"] for a, _ in page.all("input")] == ["0.01 per s", "rbf"]
    assert html.count("</script>") == 1
    assert two_parameters.value == {"rate": 0.01, "kernel": "rbf"}


def test_ids_are_unique_on_a_page_and_the_same_in_every_build(one_parameter, two_parameters):
    assert explored(dpi=60).html() == one_parameter.html()
    moved = explored(dpi=60, start={"k": 3})
    pages = [Page(e.html()) for e in (one_parameter, two_parameters, moved)]
    ids = [attrs["id"] for page in pages for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids)) == 3 + 4


@pytest.mark.parametrize(
    ("value", "grid", "expected"),
    [
        (0.1 + 0.2, [0, 0.1 + 0.2], "0.3"),
        (1 / 3, [0, 1 / 3], "0.333"),
        (0.99912, [0.99911, 0.99912], "0.99912"),
        (1234.5, [1, 1234.5], "1234"),
        (250.0, [1, 250.0], "250"),
        (0.00002, [0, 0.00002], "0.00002"),
        (1e-7, [0, 1e-7], "1e-7"),
        (-2.50, [-2.5, 0], "-2.5"),
        (7, [7, 123456789], "7"),
        (0.0, [0.0, 1.0], "0"),
    ],
)
def test_numbers_are_written_shortly(value, grid, expected):
    [dial] = explore._dials({"k": grid}, {}, {}, {})
    texts = dict(zip(dial.values, dial.texts(), strict=True))
    assert texts[value] == expected


@pytest.mark.parametrize(
    ("grids", "options", "message"),
    [
        ({}, {}, r"0 parameters \(none\).*one or two"),
        ({"a": [1, 2], "b": [1, 2], "c": [1, 2]}, {}, r"3 parameters \(a, b, c\)"),
        ({"k": range(31)}, {"dpi": 200}, "31 frames at 200 dpi; .*30 at 200 dpi or 45 at 150"),
        ({"k": range(46)}, {}, "46 frames at 50 dpi; .*: use a coarser grid$"),
        ({"k": range(20)}, {"dpi": 300}, "20 frames at 300 dpi"),
        ({"k": range(19)}, {}, "19 frames have 19 different alternative texts; at least 20"),
        ({"k": range(24)}, {"alt": lambda k: f"near {k // 3}"}, "24 frames have 8 different"),
        ({"k": range(20)}, {"alt": lambda k: ""}, "non-empty alternative text"),
        ({"k": [2, 1]}, {}, r"k=\[2, 1\]; a grid takes .*increasing"),
        ({"k": [1]}, {}, "at least two values"),
        ({"k": []}, {}, "at least two values"),
        ({"k": [0.0, np.inf]}, {}, "finite"),
        ({"k": ["a", "a"]}, {}, "different strings"),
        ({"k": "abc"}, {}, "k='abc'; a grid takes"),
        ({"k": 3}, {}, "k=3; a grid takes"),
        ({"k": np.ones((3, 3))}, {}, "a grid takes"),
        ({"k": ["a", 1]}, {}, "increasing finite numbers, or different strings"),
        ({"k": range(20)}, {"start": {"k": 0.5}}, "start has k=0.5; take one of the grid"),
        ({"k": range(20)}, {"labels": {"q": "Q"}}, r"labels names \['q'\]; the parameters are"),
        ({"k": range(20)}, {"units": {"q": "Q"}}, r"units names \['q'\]"),
    ],
)
def test_errors_say_what_came_and_what_is_allowed(grids, options, message):
    with pytest.raises(ValueError, match=message):
        explore.explore(draw, **{"alt": describe, "dpi": 50, **options, **grids})


@pytest.mark.parametrize("functions", [{"draw": "f"}, {"alt": "text"}])
def test_what_is_no_function_is_refused(functions):
    with pytest.raises(TypeError, match="pass a function of the parameters"):
        explore.explore(**{"draw": draw, "alt": describe, **functions}, k=range(20))


def test_markup_in_names_and_values_stays_text():
    nasty = '<b title="x">&'
    values = [f"{number} {nasty}" for number in range(20)]
    page = explored(labels={"k": nasty}, units={"k": nasty}, k=values).html()
    assert "<b" not in page.replace("&lt;b", "")
    assert page.count("&lt;b title=&quot;x&quot;&gt;&amp;") >= 6


@pytest.mark.parametrize(("count", "dpi"), [(30, 200), (31, 150), (45, 150)])
def test_default_resolution_follows_the_number_of_frames(monkeypatch, count, dpi):
    with plots.style():
        fig = draw(k=0)
        data = plots.png(fig, dpi=10)
        plt.close(fig)
    asked = []
    monkeypatch.setattr(plots, "png", lambda fig, dpi: asked.append(dpi) or data)
    explore.explore(draw, alt=describe, k=range(count))
    assert asked == [dpi] * count


def test_frames_of_different_sizes_are_refused():
    def growing(k):
        fig = draw(k=k)
        fig.set_size_inches(2.4, 1.8 + k / 100)
        return fig

    with pytest.raises(ValueError, match="frames have sizes .* give every figure the same"):
        explore.explore(growing, alt=describe, dpi=100, k=range(20))


def test_every_frame_is_checked():
    def fading(k):
        fig = draw(k=k)
        fig.text(0.1, 0.1, "note", fontsize=4 if k == 17 else 11)
        return fig

    with pytest.raises(plots.FigureError, match="'note'") as caught:
        explore.explore(fading, alt=describe, dpi=50, k=range(20))
    assert "in the frame at {'k': 17}" in caught.value.__notes__


def test_a_missing_figure_is_refused():
    with pytest.raises(TypeError, match=r"draw returned NoneType at .*`return fig`"):
        explore.explore(lambda k: plt.close(draw(k=k)), alt=describe, dpi=50, k=range(20))


@pytest.mark.parametrize(
    ("grid", "kind", "ends", "between"),
    [
        (range(2, 40, 2), "IntSlider", (2, 38), 5),
        ([1, 2, 4, 8], "IntSlider", (1, 8), 7),
        (np.linspace(0, 0.9, 10), "FloatSlider", (0, 0.9), 0.123),
        ([1, 2.5, 3], "FloatSlider", (1, 3), 2.7),
        (np.geomspace(1e-3, 1e3, 7), "FloatLogSlider", (1e-3, 1e3), 0.02),
        ([0.1, 0.2, 0.5, 1, 2, 5], "FloatLogSlider", (0.1, 5), 0.3),
        ([100.0, 101.0, 102.0], "FloatSlider", (100, 102), 100.7),
        (["linear", "rbf"], "SelectionSlider", ("linear", "rbf"), "rbf"),
    ],
)
def test_live_slider_fits_the_grid(live, grid, kind, ends, between):
    points = []

    def recorded(k):
        points.append(k)
        return draw(k=k)

    words = {"labels": {"k": "steepness"}, "units": {"k": "mm"}}
    explorer = explore.explore(recorded, alt=describe, dpi=50, k=grid, **words)
    slider = explorer.sliders["k"]
    assert type(slider).__name__ == kind and slider.description == "steepness (mm)"
    for value in (between, ends[1], ends[0]):
        slider.value = value
        if kind == "FloatLogSlider":
            value = pytest.approx(value, rel=1e-12)
        assert points[-1] == value
        assert type(points[-1]) is type(explorer.value["k"])
        if kind != "SelectionSlider":
            assert ends[0] <= points[-1] <= ends[1]
        assert describe(k=points[-1]) == Page(explorer.picture.value).alt()
    assert isinstance(points[-1], int) == (kind == "IntSlider")
    if kind.startswith("Float"):
        assert 20 <= (slider.max - slider.min) / slider.step <= 1000
    assert explorer._repr_html_() is None
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()


def test_live_range_ends_exactly_at_the_grid(live):
    explorer = explored(k=[0.3, 3, 30, 300])
    slider = explorer.sliders["k"]
    slider.value = 1e9
    assert slider.value > 300 and explorer.value == {"k": 300}
    slider.value = 1e-9
    assert slider.value < 0.3 and explorer.value == {"k": 0.3}
    assert Page(explorer.picture.value).alt() == describe(k=0.3)


def test_live_moves_two_parameters(live):
    grids = {"rate": RATES, "kernel": KERNELS}
    explorer = explore.explore(draw, alt=describe, dpi=50, start={"rate": RATES[3]}, **grids)
    assert Page(explorer.picture.value).alt() == describe(rate=RATES[3], kernel="linear")
    explorer.sliders["rate"].value = 0.5
    explorer.sliders["kernel"].value = "rbf"
    assert explorer.value == {"rate": 0.5, "kernel": "rbf"}
    assert Page(explorer.picture.value).alt() == describe(rate=0.5, kernel="rbf")
    assert Page(explorer.html()).frames()["alt"][0] == describe(rate=0.01, kernel="linear")


def test_live_shows_an_error_closes_the_figure_and_recovers(live):
    def fragile(k):
        fig = draw(k=k)
        if k == 7:
            raise RuntimeError("no <solution>")
        return fig

    explorer = explore.explore(fragile, alt=describe, k=range(1, 25))
    explorer.sliders["k"].value = 7
    [(attributes, text)] = Page(explorer.picture.value).all("pre")
    assert attributes["role"] == "alert" and text == "RuntimeError: no <solution>"
    assert not plt.get_fignums()
    explorer.sliders["k"].value = 8
    assert Page(explorer.picture.value).alt() == describe(k=8)


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_live_follows_the_hand_only_if_quick(live, monkeypatch, seconds):
    clock = itertools.count(0.0, seconds)
    monkeypatch.setattr(explore.time, "perf_counter", lambda: next(clock))
    assert explored().sliders["k"].continuous_update == (seconds < 0.15)


def test_kernel_and_environment_choose_the_mode(monkeypatch):
    monkeypatch.delenv("FSNOTES_STATIC")
    assert not explore._is_live()
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    assert explore._is_live()
    for value, is_live in (("1", False), ("yes", False), ("0", True), ("", True)):
        monkeypatch.setenv("FSNOTES_STATIC", value)
        assert explore._is_live() == is_live


@pytest.fixture
def page_on_disk(tmp_path, one_parameter, two_parameters):
    body = one_parameter.html() + two_parameters.html()
    page = tmp_path / "page.html"
    page.write_text(
        '<!doctype html><html lang="en" data-theme="dark"><meta charset="utf-8"><title>t</title>'
        f"<style>{(STATIC / 'fsn-explorer.css').read_text('utf-8')}"
        'html[data-theme="dark"] .bd-content img:not(.dark-light){filter:brightness(.8)}</style>'
        f"<script defer src='fsn-explorer.js'></script><body class='bd-content'>{body}",
        "utf-8",
    )
    (tmp_path / "fsn-explorer.js").write_bytes((STATIC / "fsn-explorer.js").read_bytes())
    return page.as_uri()


def seen(figure):
    image = figure.locator("img")
    return {
        "alt": image.get_attribute("alt"),
        "src": image.get_attribute("src"),
        "output": figure.locator("output").all_text_contents(),
        "spoken": [i.get_attribute("aria-valuetext") for i in figure.locator("input").all()],
    }


def test_script_moves_pictures_by_key_and_by_mouse(browser, page_on_disk):
    page = browser.new_page(viewport={"width": 360, "height": 900})
    faults = []
    page.on("pageerror", lambda error: faults.append(error))
    page.goto(page_on_disk)
    one, two = page.locator("figure").all()
    start = seen(one)
    one.locator("input").focus()
    page.keyboard.press("ArrowRight")
    second = seen(one)
    assert second["alt"] == describe(k=2) and second["src"] != start["src"]
    assert second["output"] == second["spoken"] == ["2"]
    page.keyboard.press("Home")
    assert seen(one) == start
    box = one.locator("input").bounding_box()
    assert box["height"] >= 44 and box["width"] > 300
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    assert seen(one)["alt"] == describe(k=24)
    two.locator("input").nth(0).focus()
    page.keyboard.press("ArrowRight")
    two.locator("input").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    assert seen(two)["alt"] == describe(rate=RATES[1], kernel=KERNELS[1])
    assert seen(two)["output"] == ["0.0215 per s", KERNELS[1]]
    assert one.locator("img").evaluate("img => getComputedStyle(img).filter") == "none"
    assert not one.locator("figcaption").is_visible()
    page.emulate_media(media="print")
    assert not two.locator("input").first.is_visible()
    shown = f"Shown: learning rate = 0.0215 per s, kernel = {KERNELS[1]}."
    assert two.locator("figcaption").inner_text().startswith(shown)
    assert not faults
    page.close()


def test_script_follows_sliders_that_the_browser_put_back(browser, page_on_disk):
    page = browser.new_page()
    page.goto(page_on_disk)
    page.evaluate(
        "document.querySelector('input').value = 5; window.dispatchEvent(new Event('pageshow'))"
    )
    assert seen(page.locator("figure").first)["alt"] == describe(k=6)
    page.close()


def test_first_picture_shows_without_scripts(browser, page_on_disk):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_on_disk)
    figure = page.locator("figure").first
    assert figure.locator("img").is_visible()
    assert not figure.locator("input").is_visible()
    assert re.match(r"Shown: k = 1\.\s+.*JavaScript", figure.locator("figcaption").inner_text())
    context.close()
