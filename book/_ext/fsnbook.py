"""What the book asks of Sphinx beyond the extensions that _config.yml names.

Keeps executed pages true to the package's code, makes the site work without a network,
and mends what the theme leaves unreadable on a phone or to a screen reader.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import create_nb_reader
from page_keys import PageKeys
from sphinx.util import logging

logger = logging.getLogger(__name__)

MATHJAX = "mathjax/tex-chtml-full.js"
MATHJAX_FONTS = "mathjax/output/chtml/fonts/woff-v2"

# on a phone the theme leaves the page's contents open over the section that one has chosen
CLOSE_CONTENTS = """addEventListener("click", (event) =>
  event.target.closest("dialog a[href^='#']")?.closest("dialog").close());"""


# ------------------------------------------------------- when a page is executed again

# how many states of each page the cache remembers, so that branches can be switched for free
STATES_KEPT = 8
FENCE = "```{code-cell}"
DISPLAY_NAME = re.compile(r"(?<=display_name: )[^,}\n]+")


def folder_key(*folders):
    digest = hashlib.sha256()
    for path in sorted(p for folder in folders for p in folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def choose_execution_cache(app, config):
    """One cache for all states of the package; the oldest pages in it are dropped."""
    root = Path(app.srcdir)
    folder = Path(app.outdir).parent / "executed"
    config.nb_execution_cache_path = str(folder)
    pages = len(list((root / "book").rglob("*.md")))
    get_cache(folder).change_cache_limit(STATES_KEPT * pages)
    # a value that Sphinx compares with the last build's: a change rereads every page
    config.fsn_look_key = folder_key(root / "book" / "_static", root / "book" / "_ext")


class Keys:
    """Puts into each page the key of what it depends on, and says which keys have changed.

    The cache recognises a page by its code and its kernel, so the key becomes part of the name
    under which the kernel is shown; `offer_notebook` takes it out again.
    """

    def begin(self, app):
        self.keys = PageKeys(Path(app.srcdir))
        if not hasattr(app.env, "fsn_keys"):
            app.env.fsn_keys = {}

    def changed(self, app, env, added, changed, removed):
        known = env.fsn_keys
        return [
            page
            for page in known.keys() & env.found_docs
            if known[page] != self.keys.key(Path(env.doc2path(page)).read_text(encoding="utf-8"))
        ]

    def mark(self, app, page, source):
        if FENCE in source[0]:
            app.env.fsn_keys[page], source[0] = self.marked(source[0])

    def marked(self, text):
        """The key of a page, and its text with the key."""
        key = self.keys.key(text)
        header, fence, rest = text.partition(FENCE)
        header = DISPLAY_NAME.sub(lambda name: f"{name[0]} <{key}>", header, count=1)
        return key, header + fence + rest

    def execute_ahead(self, app, env, pages):
        """Execute the pages that the cache lacks, as many at once as there are cores.

        Reading a page would execute it, too, but one after the other. A page that fails is left
        to its reading, which reports it.
        """
        cache = get_cache(app.config.nb_execution_cache_path)
        timeout = app.config.nb_execution_timeout
        notebooks = {page: self._notebook(env, page) for page in pages}
        unknown = [
            page for page in pages if notebooks[page] and not is_cached(cache, notebooks[page])
        ]
        # the longest first, lest it keeps one core busy in the end
        unknown.sort(key=lambda page: -len(notebooks[page].cells))

        def execute(page):
            folder = Path(env.doc2path(page)).parent
            return single_nb_execution(notebooks[page], str(folder), timeout, allow_errors=False)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            running = {pool.submit(execute, page): page for page in unknown}
            for done in as_completed(running):
                page = running[done]
                result = done.result()
                if result.err is None:
                    print(f"  {page}: executed in {result.time:.0f} s", flush=True)
                    seconds = {"execution_seconds": result.time}
                    bundle = CacheBundleIn(result.nb, env.doc2path(page), data=seconds)
                    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

    def _notebook(self, env, page):
        """A page as its reading will execute it; None if there is nothing to execute."""
        path = env.doc2path(page)
        text = Path(path).read_text(encoding="utf-8")
        if FENCE not in text:
            return None
        _, text = self.marked(text)
        return create_nb_reader(path, env.myst_config, env.mystnb_config, text).read(text)


def is_cached(cache, notebook):
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True


class Reading:
    """Says which page is being read, and remembers when its reading began."""

    def __init__(self):
        self.begun = {}

    def start(self, app, page, source):
        print(f"  {page}", flush=True)
        self.begun[page] = time.time_ns() // 1000

    def finish(self, app, env):
        # Sphinx notes when reading ended, and would miss what was edited meanwhile
        env.all_docs.update(self.begun)


# ------------------------------------------------------- a site without a network


def silence_thebe(app, config):
    """jupyter-book always loads the launcher that fetches scripts and a kernel from servers."""
    for listeners in list(app.events.listeners.values()):
        for listener in list(listeners):
            if listener.handler.__module__ == "sphinx_thebe":
                app.disconnect(listener.id)


def copy_mathjax(app, error):
    if error or app.builder.format != "html":
        return
    package = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    for part in (MATHJAX, MATHJAX_FONTS):
        source, target = package / "static" / part, Path(app.outdir) / "_static" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)


def tidy_scripts(app, page, template, context, doctree):
    """Drop scripts registered twice, as the theme's extensions do when built by jupyter-book."""
    kept, seen = [], set()
    for script in context["script_files"]:
        attributes = getattr(script, "attributes", {})
        identity = (str(getattr(script, "filename", "") or ""), attributes.get("body"))
        if identity not in seen:
            seen.add(identity)
            kept.append(script)
    context["script_files"] = kept
    context["css_files"] = [css for css in context["css_files"] if "thebe" not in str(css)]


def forget_failures(app):
    shutil.rmtree(Path(app.outdir) / "reports", ignore_errors=True)


def remove_leftovers(app, error):
    """Delete what earlier builds left, and what only a debugger would load."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for folder in (site / "book", site / "_sources" / "book"):
        for file in folder.rglob("*.*"):
            page = "book" / file.relative_to(folder).with_suffix("")
            if page.as_posix() not in app.env.found_docs:
                file.unlink()
    for file in (site / "_static").rglob("*.map"):
        file.unlink()


# ------------------------------------------------------- what the reader gets


def spell_out(env, page, text):
    """Write out what only the book resolves: citations, numbers and titles of pages."""
    entries = env.domaindata["cite"]["bibdata"].data.entries
    numbers = {
        label.removeprefix("equation-"): (kind, ".".join(map(str, number)))
        for kind, labelled in env.toc_fignumbers.get(page, {}).items()
        for label, number in labelled.items()
    }
    words = {"figure": "Fig. {}", "table": "Table {}", "displaymath": "({})"}

    def written(match):
        role, target = match.groups()
        if role.startswith("cite") and entries.keys() >= set(target.split(",")):
            works = [cited(entries[key]) for key in target.split(",")]
            if role == "cite:t":
                return ", ".join(f"{names} ({year})" for names, year in works)
            return "({})".format("; ".join(f"{names}, {year}" for names, year in works))
        if role == "doc":
            path = (Path(page).parent / target).as_posix()
            return env.titles[path].astext() if path in env.titles else match[0]
        kind, number = numbers.get(target, (None, None))
        return match[0] if kind is None else words.get(kind, kind.title() + " {}").format(number)

    return re.sub(r"\{(cite:t|cite|doc|eq|numref|prf:ref)\}`([^`<>]+)`", written, text)


def cited(entry):
    """Names and year of a work."""
    names = [" ".join(person.last_names) for person in entry.persons["author"]]
    shown = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return shown, entry.fields["year"]


def is_included(node):
    return isinstance(node, nodes.literal_block) and "source" in node


def include_code(text, included):
    """Put lines that the page shows from a module where the notebook would only name them."""

    def written(match):
        return f"```python\n{included.pop(0)}\n```"

    return re.sub(r"```\{literalinclude\}.*?\n```", written, text, flags=re.S)


def offer_notebook(app, page, template, context, doctree):
    """Put the page's notebook, without outputs, behind the theme's download button."""
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{page}.ipynb"
    if doctree is None or page not in app.env.nb_metadata or not executed.is_file():
        return
    notebook = nbformat.read(executed, as_version=4)
    kernel = notebook.metadata.kernelspec
    kernel.display_name = kernel.display_name.partition(" <")[0]
    included = [block.astext().rstrip() for block in doctree.findall(is_included)]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        else:
            text = TARGET.sub("", cell.source)  # labels, which a notebook shows as they are
            cell.source = include_code(spell_out(app.env, page, text), included)
    target = Path(app.outdir) / "_sources" / f"{page}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)
    context["ipynb_source"] = f"{page}.ipynb"


TOPIC = re.compile(r'<a data-topic="([\w-]+)">')
TARGET = re.compile(r"^\([\w-]+\)=\n+", re.M)


def link_topics(app, page, template, context, doctree):
    """Lead from a claim in a table to the passage that bears the label of its topic."""
    labels = app.env.get_domain("std").anonlabels

    def linked(match):
        label = f"claims-{match[1]}"
        if label not in labels:
            logger.warning("no passage bears the label (%s)=", label, location=page)
            return "<a>"
        target, anchor = labels[label]
        return f'<a href="{app.builder.get_relative_uri(page, target)}#{anchor}">'

    if "body" in context:
        context["body"] = TOPIC.sub(linked, context["body"])


def wrap_tables(app, page, template, context, doctree):
    """Let wide tables scroll in a box of their own, reachable by keyboard."""
    if "body" not in context:
        return
    box = '<div class="fsn-table" tabindex="0" role="group" aria-label="Table">'
    body = re.sub(r'<div class="pst-scrollable-table-container">', "<div>", context["body"])
    body = re.sub(r"<table\b", box + "<table", body)
    context["body"] = re.sub(r"</table>", "</table></div>", body)


def mend_markup(app, page, template, context, doctree):
    """Repair what extensions write alike into every page."""
    if "body" not in context:
        return
    # a name that hides what the fold says of itself, and ids that every proof repeats
    body = context["body"].replace(' aria-label="Toggle hidden content"', "")
    for opening in (
        '<div class="proof admonition" id="proof">',
        '<section id="exercise-content">',
        '<section id="solution-content">',
    ):
        body = body.replace(opening, opening.partition(" id=")[0] + ">")
    body = re.sub(r'(<section class="[a-z]+-content") id="proof-content"', r"\1", body)
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')  # a deprecated role
    body = re.sub(r"(Solution to)(<a [^>]*>) ", r"\1 \2", body)  # the space was underlined
    # no line ends with the bracket before a formula or begins with the full stop after it
    formula = r'<span class="math notranslate nohighlight">[^<]*</span>'
    closing = "[.,;:!?)\u201d]"
    formula = rf"([(\u201c]{formula}{closing}*|{formula}{closing}+)"
    context["body"] = re.sub(formula, r'<span class="fsn-unbroken">\1</span>', body)


def search_without_summaries(app, page, template, context, doctree):
    """From a folder the browser forbids the search to read pages: list them without extracts."""
    if page == "search":
        option = "DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY"
        app.add_js_file(None, body=f"if (location.protocol === 'file:') {option} = false;")


def write_timings(app, error):
    """Seconds that each page took to execute, slowest first, for the test report."""
    if error:
        return
    seconds = {
        page: data["exec_data"]["runtime"]
        for page, data in app.env.nb_metadata.items()
        if data.get("exec_data") and data["exec_data"]["runtime"] is not None
    }
    ordered = dict(sorted(seconds.items(), key=lambda item: -item[1]))
    (Path(app.outdir).parent / "page-seconds.json").write_text(json.dumps(ordered, indent=1))


def setup(app):
    os.environ["FSNOTES_STATIC"] = "1"  # kernels inherit it: explorers draw all their frames
    app.add_config_value("fsn_look_key", "", "env")
    app.config.mathjax_path = MATHJAX
    app.add_js_file(None, body=CLOSE_CONTENTS)
    app.connect("config-inited", choose_execution_cache)
    app.connect("config-inited", silence_thebe)
    app.connect("builder-inited", forget_failures)
    keys = Keys()
    app.connect("builder-inited", keys.begin)
    app.connect("env-get-outdated", keys.changed)
    app.connect("env-before-read-docs", keys.execute_ahead)
    app.connect("source-read", keys.mark)
    reading = Reading()
    app.connect("source-read", reading.start)
    app.connect("env-updated", reading.finish)
    app.connect("html-page-context", offer_notebook, priority=400)
    app.connect("html-page-context", link_topics, priority=900)
    app.connect("html-page-context", wrap_tables, priority=900)
    app.connect("html-page-context", mend_markup, priority=900)
    app.connect("html-page-context", search_without_summaries, priority=400)
    app.connect("html-page-context", tidy_scripts, priority=900)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", remove_leftovers)
    app.connect("build-finished", write_timings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
