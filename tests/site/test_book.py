"""The built site as a reader meets it: on phones and desks, light and dark, from a folder too."""

import collections
import functools
import http.server
import importlib.resources
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from conftest import ROOT, SHARE, SITE, launched, wanted

PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if path.relative_to(SITE).parts[0] != "_static" and path != SITE / "index.html"
)
SCREENS = [(width, mode) for mode in ("light", "dark") for width in (360, 400, 1280)]
FOLDED_WIDTH = 400  # of the phone on which folds stay closed
LOADED_EACH_TIME = "book/how-to-read.html"
HELPERS = Path(__file__).with_name("page_checks.js").read_text(encoding="utf-8")
AXE = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
# axe reads the same few colours again for each of thousands of words
AXE += """
    const { prototype } = axe.commons.color.Color, read = prototype.parseString, known = new Map();
    prototype.parseString = function (text) {
        if (!known.has(text)) known.set(text, read.call(new axe.commons.color.Color(), text));
        const { r, g, b, alpha } = known.get(text);
        return Object.assign(this, { r, g, b, alpha });
    };
"""

# what axe may report: {"rule": ..., "target": part of the selector, "reason": why it is harmless}
AXE_EXCEPTIONS = []


# ---------------------------------------------------------------- pages in a browser


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def served():
    """The address of the site on a server of this machine."""
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(params=["http", "file"])
def address(request, served):
    return served if request.param == "http" else SITE.as_uri() + "/"


@pytest.fixture(scope="module")
def reader(browser):
    """Gives a page for a screen; all checks of one screen share it."""
    pages = {}

    def give(width=1280, mode="light", **options):
        key = (width, mode, *options.items())
        if key not in pages:
            pages[key] = screen(browser, width, mode, **options)
        return pages[key]

    yield give
    for page in pages.values():
        page.context.close()


def screen(browser, width, mode, **options):
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=mode, **options)
    context.add_init_script(HELPERS)
    page = context.new_page()
    page.log = []
    listen(page)
    return page


def listen(page):
    """Note in page.log whatever goes wrong, and whatever leaves this machine."""

    def note(kind, text):
        page.log.append(f"{kind}: {text}")

    def is_outside(url):
        parts = urlsplit(url)
        return parts.scheme not in ("file", "data", "blob") and parts.hostname != "127.0.0.1"

    page.on("console", lambda m: note("console", m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: note("script", error))
    # what the browser gives up as the page is left has not failed
    page.on(
        "requestfailed",
        lambda r: note("failed request", r.url) if r.failure != "net::ERR_ABORTED" else None,
    )
    page.on("response", lambda r: note(f"status {r.status}", r.url) if r.status >= 400 else None)
    page.on("request", lambda r: note("outside request", r.url) if is_outside(r.url) else None)


def visit(page, url):
    page.log.clear()
    page.goto(url)
    page.evaluate("pageChecks.settled()")
    return page


# ---------------------------------------------------------------- what is checked

CHECKS = {}


@dataclass
class Check:
    measure: object
    sabotage: list
    width: int


def check(*sabotage, width=400):
    """Register a check with scripts, each of which spoils a page so that this check reports."""

    def register(function):
        CHECKS[function.__name__.removeprefix("check_")] = Check(function, sabotage, width)
        return function

    return register


def append(markup):
    """A script that puts markup at the end of the page's text."""
    return (
        f"document.querySelector('article > section').insertAdjacentHTML('beforeend', `{markup}`)"
    )


def style(rules):
    return f"document.head.insertAdjacentHTML('beforeend', `<style>{rules}</style>`)"


def typeset(tex):
    return append(f'<p id="typed">{tex}</p>') + "; MathJax.typesetPromise([typed])"


@check(append('<div style="width: 2000px">a wide box</div>'))
def check_no_overflow_of_the_document(page):
    return page.evaluate("pageChecks.overflow()")


@check(
    append('<div class="math" id="typed">\\\\[' + "a + " * 40 + "b\\\\]</div>")
    + "; MathJax.typesetPromise([typed])",
    style("div.math { flex-direction: row-reverse !important }"),
)
def check_formulas_fit_a_phone(page):
    return page.evaluate("pageChecks.formulas()")


@check(
    append("<table><tr><td>no box</td></tr></table>"),
    append(
        '<div class="fsn-table" tabindex="0" aria-label="Table"><table><tr>'
        + "<td>1</td>" * 7
        + "</tr></table></div>"
    ),
)
def check_tables_scroll_and_have_at_most_six_columns(page):
    return page.evaluate("pageChecks.tables()")


@check(append("<div style='width: 60px'><p>" + "long words " * 6 + "</p></div>"))
def check_no_text_is_squeezed(page):
    return page.evaluate("pageChecks.slivers()")


@check(
    style("article aside.margin { float: right !important; width: 40% !important }")
    + ";"
    + append('<aside class="margin sidebar"><p>A note</p></aside>')
)
def check_margin_notes_fill_a_phone(page):
    return page.evaluate("pageChecks.marginNotes()")


@check(
    append("<figure><figcaption style='font-weight: 300'>thin</figcaption></figure>"),
    append("<figure><figcaption style='color: #555'>pale</figcaption></figure>"),
)
def check_captions_are_plain_text(page):
    return page.evaluate("pageChecks.captions()")


@check(
    append('<div><a href="#" style="color: #999">pale</a></div>'),
    append('<div style="background: #0007"><a href="#">on grey</a></div>'),
)
def check_links_have_contrast(page):
    return page.evaluate("pageChecks.links()")


@check(
    append('<button style="width: 10px; height: 10px" aria-label="tiny"></button>'),
    append('<a href="#" style="display: block; height: 20px">low</a>'),
    style("a.headerlink { min-width: 0 !important }"),
    width=1280,
)
def check_targets_are_large_enough(page):
    return page.evaluate("pageChecks.targets()")


@check(
    append('<input style="width: 44px; height: 44px">'),
    append('<p style="color: #999">pale</p>'),
    append('<p style="background: #777">on grey</p>'),
    "document.querySelectorAll('pre span.n')[9].style.color = '#ddd'",
    width=1280,
)
def check_axe_finds_nothing(page):
    page.evaluate(f"window.axe || (() => {{ {AXE} }})()")
    return page.evaluate("e => pageChecks.axe(e)", AXE_EXCEPTIONS)


def lose(address):
    """A script that waits for a picture which cannot be loaded."""
    return (
        "await new Promise(done => { const lost = new Image(); lost.onerror = done;"
        f" lost.src = '{address}'; }})"
    )


@check(
    lose("http://example.invalid/"),
    lose("missing.png"),
    "console.error('a script complains')",
    "setTimeout(() => { throw new Error('a script fails') })",
)
def check_nothing_fails_and_nothing_leaves_this_machine(page):
    return list(page.log)


@check(
    "document.querySelectorAll('article h2').forEach(h => h.outerHTML = `<p>${h.innerHTML}</p>`);"
    "document.querySelectorAll('li.toc-h2').forEach(item => item.remove())",
    append("<h1>Another</h1>"),
    "document.querySelector('link[rel=icon]').remove()",
    "document.title = ''",
    "document.documentElement.lang = 'de'",
)
def check_head_and_headings(page):
    return page.evaluate("pageChecks.head()")


@check(
    typeset(r"\\(\\undefinedmacro\\)"),
    typeset(r"\\(\\frac{1}\\)"),
    append('<p><span class="math">x</span></p>'),
)
def check_maths_is_typeset(page):
    return page.evaluate("pageChecks.maths()")


@check(
    *map(
        append,
        [
            "<p>{width=100%}</p>",
            "<p>$$ x</p>",
            "<p>{prf:ref}\\`a\\`</p>",
            "<p>:::{note}</p>",
            r"<p>\\(x\\)</p>",
        ],
    )
)
def check_no_raw_markup(page):
    return page.evaluate("pageChecks.markup()")


@check(
    "document.querySelector('article > section').style.width = '600px'",
    "document.querySelector('article > section').style.fontSize = '15px'",
    style("article > section > p { line-height: 1.4 !important }"),
    width=1280,
)
def check_column_of_text(page):
    return page.evaluate("pageChecks.column()")


@check("document.querySelector('.bd-sidebar-secondary li').remove()")
def check_contents_beside_the_page(page):
    return page.evaluate("pageChecks.contents()")


@check("document.querySelectorAll('.search-button__button').forEach(button => button.remove())")
def check_one_search_box(page):
    return page.evaluate("pageChecks.searchBoxes()")


DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@check(
    append(f'<img src="{DOT}" alt="_images/a1.png">'),
    "document.querySelector('.fsn-explorer img').src = 'data:image/png;base64,'",
    append(f'<img src="{DOT}" alt="grey" style="background: #eee !important">'),
    append(f'<img src="{DOT}" alt="dim" style="filter: brightness(.8) !important">'),
    append(
        f'<div style="overflow: hidden"><img src="{DOT}" alt="wide" style="width: 500px"></div>'
    ),
    width=1280,
)
def check_pictures(page):
    return page.evaluate("pageChecks.pictures()")


@check(
    style("article pre { font-size: 6px !important }"),
    style("figcaption { font-size: 6px !important }"),
)
def check_letters_are_large_enough(page):
    return page.evaluate("pageChecks.letters()")


@check("document.querySelector('details.hide .collapsed').textContent = 'Show code cell source'")
def check_folds_say_what_they_hide(page):
    return page.evaluate("pageChecks.folds()")


def faults_of(page, without=()):
    found = {name: check.measure(page) for name, check in CHECKS.items() if name not in without}
    return {name: faults for name, faults in found.items() if faults}


# ---------------------------------------------------------------- the checks on every page


def test_site_has_all_pages_and_no_others():
    assert PAGES, "there is no site yet: run  python3 tasks.py book"
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    assert PAGES == sorted(["search.html", *(f"{p}.html" for p in [toc["root"], *chapters])])


@pytest.fixture(scope="module")
def faults_on(request, browser_path, served):
    """By page, a future of its faults on each screen; as many browsers as cores look for them."""
    screens = collections.defaultdict(list)
    for params in wanted(request.session, "test_page_is_fine_on_every_screen"):
        screens[params["name"]].append((params["width"], params["mode"]))

    def look(names):
        with launched(browser_path) as browser:
            page = screen(browser, FOLDED_WIDTH, "light")
            return {name: faults_of_page(page, served + name, screens[name]) for name in names}

    names = sorted(screens)
    with ThreadPoolExecutor(SHARE) as pool:
        shares = [names[k::SHARE] for k in range(SHARE)]
        futures = [pool.submit(look, part) for part in shares]
        yield {n: future for part, future in zip(shares, futures, strict=True) for n in part}
        pool.shutdown(cancel_futures=True)


def faults_of_page(page, url, screens):
    """Faults by screen. But for one, a page is loaded once in each mode, and the window resized."""
    found = {}
    loaded = None
    for width, mode in sorted(screens, key=lambda one: (one[1], one[0] != FOLDED_WIDTH)):
        page.set_viewport_size({"width": width, "height": 900})
        if mode != loaded or url.endswith(LOADED_EACH_TIME):
            page.emulate_media(color_scheme=mode)
            visit(page, url)
            loaded = mode
        without = set()
        if width == FOLDED_WIDTH:  # axe sees all of the text where it is open
            without = {"axe_finds_nothing"}
        else:
            page.evaluate("pageChecks.unfold()")
        page.evaluate("pageChecks.reachable()")
        found[width, mode] = faults_of(page, without)
    return found


@pytest.mark.parametrize("width, mode", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_page_is_fine_on_every_screen(faults_on, name, width, mode):
    faults = faults_on[name].result()[name][width, mode]
    assert not faults, json.dumps(faults, indent=1)


@pytest.mark.parametrize(
    "name, script",
    [
        pytest.param(name, script, id=f"{name}-{number}")
        for name, check in CHECKS.items()
        for number, script in enumerate(check.sabotage)
    ],
)
def test_check_is_able_to_fail(reader, served, name, script):
    page = visit(reader(CHECKS[name].width), served + "book/how-to-read.html")
    page.evaluate(f"async () => {{ {script}; }}")
    page.evaluate("pageChecks.settled()")
    # axe sees some of the same things; it is slow, too
    assert list(faults_of(page, without={"axe_finds_nothing"} - {name})) == [name]


def test_margin_notes_fill_a_phone(reader, served):
    page = visit(reader(360), served + "book/notation.html")
    note = (
        '<aside class="margin sidebar"><p>A note</p></aside><span class="sidenote">Another</span>'
    )
    page.evaluate(append(note))
    assert page.evaluate("pageChecks.marginNotes().concat(pageChecks.overflow())") == []
    assert page.locator("aside.margin").bounding_box()["width"] > 320
    assert page.locator("span.sidenote").is_visible()


@pytest.mark.parametrize("width", [360, 1000])
def test_menus_open_and_close(reader, served, width):
    page = visit(reader(width), served + "book/how-to-read.html")
    page.click(".bd-header-article .secondary-toggle")
    page.click("#pst-secondary-sidebar-modal >> text=The bound")
    page.wait_for_url("**#the-bound")
    was_open = page.locator("nav.bd-links").is_visible()
    page.click(".bd-header-article .primary-toggle")
    page.evaluate("pageChecks.settled()")
    assert page.locator("nav.bd-links").is_visible() != was_open
    if not was_open:
        assert page.evaluate("pageChecks.targets().concat(pageChecks.links())") == []
        page.click("nav.bd-links >> text=Notation")
        page.wait_for_url("**/notation.html")


def test_search_finds_words(reader, address):
    page = visit(reader(), address + "search.html")
    page.fill(".bd-search-container input", "chebyshev")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    targets = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    assert any("how-to-read.html" in target for target in targets)
    for target in targets:
        visit(page, target)
        assert page.locator("article h1").is_visible(), target
        assert page.log == []


def test_search_dialog_opens_by_key(reader, served):
    page = visit(reader(), served + "book/notation.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("sparse")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=sparse")
    page.wait_for_selector("#search-results li a")


def test_front_door_leads_to_the_book(reader, address):
    page = reader()
    page.goto(address + "index.html")
    page.wait_for_url("**/book/index.html")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_paper_shows_the_text_alone(reader, served, mode):
    page = visit(reader(700, mode), served + "book/how-to-read.html")
    page.emulate_media(media="print")
    for part in [".bd-sidebar-primary", ".bd-header-article", ".fsn-controls", "summary"]:
        assert not page.locator(part).first.is_visible(), part
    assert page.evaluate("pageChecks.overflow().concat(pageChecks.ink())") == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")


FOCUS = """() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const place = document.activeElement.outerHTML.slice(0, 120);
    return [outlineStyle !== "none" && parseFloat(outlineWidth) >= 2, place];
}"""


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_focus_is_seen_wherever_the_tab_key_leads(reader, served, mode):
    page = visit(reader(1280, mode), served + "book/how-to-read.html")
    places = []
    for _ in range(60):
        page.keyboard.press("Tab")
        is_seen, place = page.evaluate(FOCUS)
        places.append(place)
        assert is_seen, place
    text = " ".join(places)
    for part in (
        "primary-toggle",
        "dropdown-toggle",
        "theme-switch",
        'type="range"',
        "toggle-button",
    ):
        assert part in text, part


# ---------------------------------------------------------------- explorers

EXPLORERS = [name for name in PAGES if 'class="fsn-explorer"' in (SITE / name).read_text("utf-8")]
STATE = """figure => ({
    src: figure.querySelector("img").src,
    alt: figure.querySelector("img").alt,
    outputs: [...figure.querySelectorAll("output")].map(output => output.textContent),
    spoken: [...figure.querySelectorAll("input")].map(input => input.ariaValueText),
})"""


LOADED = """async figure => {
    const image = figure.querySelector("img");
    await image.decode();
    return image.naturalWidth;
}"""


def assert_moves(figure, action):
    before = figure.evaluate(STATE)
    action()
    after = figure.evaluate(STATE)
    assert figure.evaluate(LOADED) > 0
    assert [part for part in before if before[part] == after[part]] == []
    assert after["outputs"] == after["spoken"]


@pytest.mark.parametrize("name", PAGES)
def test_page_works_from_a_folder(reader, name):
    page = visit(reader(360), f"{SITE.as_uri()}/{name}")
    assert CHECKS["maths_is_typeset"].measure(page) == []
    assert (move_all_sliders(page) > 0) == (name in EXPLORERS)
    assert page.log == []


def test_sliders_work_on_a_server(reader, served):
    page = visit(reader(360), served + "book/how-to-read.html")
    assert move_all_sliders(page) > 0
    assert page.log == []


def move_all_sliders(page):
    """Every slider moves picture and text, by keys and by mouse. Returns how many there are."""
    page.evaluate("pageChecks.unfold()")
    count = 0
    for figure in page.locator("figure.fsn-explorer").all():
        for slider in figure.locator("input[type=range]").all():
            count += 1
            slider.focus()
            page.keyboard.press("Home")
            for key in ("ArrowRight", "End", "Home"):
                assert_moves(figure, functools.partial(page.keyboard.press, key))
            assert_moves(figure, functools.partial(drag, page, slider))
    return count


def drag(page, slider):
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 8, middle, steps=4)
    page.mouse.up()


@pytest.mark.parametrize("name", EXPLORERS)
def test_first_picture_shows_without_scripts(reader, address, name):
    page = reader(java_script_enabled=False)
    page.goto(address + name)
    for figure in page.locator("figure.fsn-explorer").all():
        image = figure.locator("img")
        assert image.is_visible() and image.get_attribute("alt")
        assert image.bounding_box()["height"] > 200
        assert not figure.locator("input").first.is_visible()


@pytest.mark.parametrize("name", EXPLORERS)
def test_explorers_have_twenty_frames_that_read_differently(name):
    pattern = r'<script type="application/json" class="fsn-frames">(.*?)</script>'
    for text in re.findall(pattern, (SITE / name).read_text("utf-8"), re.DOTALL):
        frames = json.loads(text)
        assert len(frames["src"]) == len(frames["alt"])
        assert len(set(frames["alt"])) >= 20 and len(set(frames["src"])) >= 20
