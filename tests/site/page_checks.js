/* What a reader would stumble over, measured in the page; each check returns a list of faults. */
"use strict";

globalThis.pageChecks = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const article = () => document.querySelector("article, .bd-search-container");
  const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const CODE = "pre, code, .sig";

  /*
   * Code is thousands of words in few looks, each of which axe measures as if it were the first.
   * Take the tags off all words but the first of each look; returns what puts them back, a block of
   * code at a time, since for each single change the browser looks through the whole page.
   */
  function unwrapTwins() {
    const seen = new Set();
    const look = (word) => {
      const { fontSize, fontWeight, opacity } = getComputedStyle(word);
      const classes = [word.className, word.parentElement.className];
      return [...classes, contrast(word), fontSize, fontWeight, opacity].join("|");
    };
    const isBare = (word) =>
      word.childNodes.length && !word.children.length && word.getAttributeNames().join() === "class";
    const isTwin = (word, key = look(word)) => seen.has(key) || !seen.add(key);
    const words = all(CODE.split(", ").map((block) => `${block} span`).join());
    const twins = new Set(words.filter((word) => isBare(word) && isTwin(word)));
    const blocks = all(CODE).filter((block) => !block.parentElement.closest(CODE));
    const kept = blocks.map((block) => [...block.childNodes]);
    blocks.forEach((block) => {
      const copy = block.cloneNode(true);
      const originals = all("span", block);
      all("span", copy).forEach((word, k) => {
        if (twins.has(originals[k])) word.replaceWith(...word.childNodes);
      });
      block.replaceChildren(...copy.childNodes);
    });
    return () => blocks.forEach((block, k) => block.replaceChildren(...kept[k]));
  }

  function isShown(element) {
    const isVisible = element.checkVisibility({ visibilityProperty: true });
    return isVisible && element.getClientRects().length > 0;
  }

  function name(element) {
    const text = (element.ariaLabel || element.textContent || element.alt || "").trim();
    const tag = element.tagName.toLowerCase() + (element.id ? "#" + element.id : "");
    const kind = element.classList.length ? "." + element.classList[0] : "";
    return `<${tag}${kind}> "${text.slice(0, 40)}"`;
  }

  const seen = new Map(); // a page has a handful of colours, and asks for them thousands of times

  function rgba(text) {
    if (!seen.has(text)) seen.set(text, measured(text));
    return seen.get(text);
  }

  function measured(text) {
    const options = { willReadFrequently: true };
    const canvas = (measured.canvas ??= new OffscreenCanvas(1, 1).getContext("2d", options));
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  const over = (top, below) =>
    [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);

  /* The colour behind an element: the backgrounds of its ancestors laid over one another. */
  function backdrop(element) {
    const layers = [];
    for (let e = element; e; e = e.parentElement)
      layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  }

  function luminance(color) {
    const [r, g, b] = color.slice(0, 3).map((value) => {
      const c = value / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(element) {
    const ground = backdrop(element);
    const ink = over(rgba(getComputedStyle(element).color), ground);
    const [dark, light] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  /* Text nodes that a reader sees as prose: no code, no formulas, no scripts. */
  function prose() {
    const skip = "code, pre, script, style, noscript, mjx-container, dl.py dt, kbd";
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.data.trim() && !node.parentElement.closest(skip)) found.push(node);
    }
    return found;
  }

  return {
    overflow() {
      const root = document.documentElement;
      if (root.scrollWidth <= innerWidth) return [];
      const wide = all("body *")
        .filter((e) => isShown(e) && e.getBoundingClientRect().right > innerWidth + 1)
        .filter((e) => !e.closest("pre, .fsn-table, mjx-container"));
      const widest = wide.slice(0, 3).map(name).join(", ");
      return [`the document is ${root.scrollWidth} px wide in ${innerWidth}: ${widest}`];
    },

    formulas() {
      const faults = [];
      for (const box of all("div.math").filter(isShown)) {
        const formula = box.querySelector("mjx-container");
        if (!formula) continue; // not typeset: another check says so
        const spill = formula.scrollWidth - formula.clientWidth;
        if (innerWidth <= 400 && spill > 1)
          faults.push(`${name(box)} is ${spill} px wider than its box`);
        const number = box.querySelector(".eqno");
        if (innerWidth >= 576 || !number) continue;
        if (number.getBoundingClientRect().top < formula.getBoundingClientRect().bottom - 1)
          faults.push(`the number of ${name(box)} is not under the formula`);
      }
      return faults;
    },

    tables() {
      const faults = [];
      for (const table of all("table", article())) {
        const columns = Math.max(0, ...[...table.rows].map((row) => row.cells.length));
        if (columns > 6) faults.push(`${name(table)} has ${columns} columns, six are allowed`);
        const box = table.parentElement;
        if (box.tabIndex !== 0 || getComputedStyle(box).overflowX !== "auto" || !box.ariaLabel)
          faults.push(`${name(table)} is not in a labelled box that scrolls and takes the focus`);
      }
      return faults;
    },

    /* A long text in a column of a few letters. */
    slivers() {
      return all("td, dt, dd, p, li", article()).flatMap((element) => {
        const width = element.getBoundingClientRect().width;
        const words = element.textContent.trim().length;
        const isSliver = isShown(element) && words > 40 && width < 80;
        return isSliver ? [`${name(element)} is squeezed into ${width.toFixed()} px`] : [];
      });
    },

    marginNotes() {
      if (innerWidth > 400) return [];
      const kinds = "aside.margin, div.margin, figure.margin, .cell.tag_margin";
      const notes = all(`${kinds}, span.sidenote, span.marginnote`);
      return notes.flatMap((note) => {
        const style = getComputedStyle(note);
        const missing = article().clientWidth - 32 - note.getBoundingClientRect().width;
        const isBlock = style.display === "block" && style.float === "none" && missing <= 2;
        return isBlock
          ? []
          : [`${name(note)} is ${style.display}, float ${style.float}, ${missing} px too narrow`];
      });
    },

    captions() {
      const color = getComputedStyle(document.body).color;
      const kinds = "figcaption, caption, p.caption, .caption-text, figcaption .caption-number";
      return all(kinds, article()).flatMap((caption) => {
        const { fontWeight, color: ink } = getComputedStyle(caption);
        return fontWeight === "400" && ink === color
          ? []
          : [`${name(caption)} has weight ${fontWeight} and colour ${ink}, the text ${color}`];
      });
    },

    links() {
      const links = all("a[href]").filter((link) => isShown(link) && link.textContent.trim());
      return links
        .filter((link) => contrast(link) <= 4.5)
        .map((link) => `${name(link)} has a contrast of ${contrast(link).toFixed(2)}`);
    },

    /* Controls 44 px; other targets 24 px, except links in running text (WCAG 2.5.8, "inline"). */
    targets() {
      const menus = all(".dropdown-menu:not(.show)");
      menus.forEach((menu) => menu.classList.add("show"));
      const text = "article, .bd-search-container";
      const control = "button, input, select, textarea, summary, [role=button], .dropdown-item";
      const faults = all(`${control}, a[href], [role=link]`).flatMap((target) => {
        const isHeaderLink = target.matches("a.headerlink"); // invisible until one points at it
        if (!isShown(target) && !(isHeaderLink && target.checkVisibility())) return [];
        const isControl = target.matches(control);
        const isInline = getComputedStyle(target).display === "inline" && target.closest(text);
        if (target.closest(".skip-link") || (!isControl && isInline && !isHeaderLink)) return [];
        const { width, height } = target.getBoundingClientRect();
        const least = isControl ? 44 : 24;
        return Math.min(width, height) > least - 0.1
          ? []
          : [`${name(target)} is ${width.toFixed()} x ${height.toFixed()} px, ${least} is needed`];
      });
      menus.forEach((menu) => menu.classList.remove("show"));
      return faults;
    },

    head() {
      const faults = [];
      const headings = all("h1").filter(isShown).length;
      if (headings !== 1) faults.push(`${headings} first-level headings`);
      // the search page has no sections; its script does not look for any
      if (!all("article h2").some(isShown) && !document.querySelector(".bd-search-container"))
        faults.push("no second-level heading");
      if (!document.querySelector("link[rel=icon][href]")) faults.push("no favicon");
      if (!document.title.trim()) faults.push("no title");
      if (document.documentElement.lang !== "en") faults.push("the language is not declared");
      return faults;
    },

    maths() {
      const faults = all("mjx-merror").map(
        (error) => `MathJax failed: ${error.getAttribute("data-mjx-error") || error.textContent}`,
      );
      for (const part of all("mjx-container [style]"))
        if (/red|yellow/.test(part.getAttribute("style")))
          faults.push(`red maths in ${name(part.closest("mjx-container").parentElement)}`);
      for (const box of all("span.math, div.math"))
        if (!box.querySelector("mjx-container")) faults.push(`${name(box)} is not typeset`);
      return faults;
    },

    markup() {
      const raw = /\$|\\\(|\\\[|\\begin\{|\{[a-z]+(:[a-z]+)*\}[`\s]|\{[#.]?\w+=|^\s*:::|\]\(|\*\*|``/;
      return prose()
        .filter((node) => raw.test(node.data))
        .map((node) => `raw markup: "${node.data.trim().slice(0, 60)}"`);
    },

    column() {
      const text = document.querySelector("article > section");
      if (!text) return [];
      const faults = [];
      const { left, right, width } = text.getBoundingClientRect();
      if (left < 0 || right > innerWidth) faults.push(`the text runs from ${left} to ${right} px`);
      if (innerWidth === 1280 && (width < 640 || width > 720))
        faults.push(`the text is ${width} px wide`);
      const style = getComputedStyle(text.querySelector("p") || text);
      if (style.fontSize !== "16px") faults.push(`the text has ${style.fontSize}`);
      if (Math.abs(parseFloat(style.lineHeight) - 25.6) > 0.1)
        faults.push(`lines are ${style.lineHeight} high`);
      return faults;
    },

    contents() {
      const list = (items) => items.map((item) => item.textContent.replace(/#$/, "").trim());
      const sections = all("article h2").filter(isShown);
      const entries = all(".bd-sidebar-secondary li.toc-h2 > a");
      if (!sections.length || list(entries).join() === list(sections).join()) return [];
      return [`"On this page" lists [${list(entries)}], the sections are [${list(sections)}]`];
    },

    searchBoxes() {
      const boxes = all(".search-button__button, input[type=search]").filter(isShown);
      return boxes.length === 1 ? [] : [`${boxes.length} search boxes: ${boxes.map(name)}`];
    },

    pictures() {
      return all("img", article()).flatMap((image) => {
        const faults = [];
        const style = getComputedStyle(image);
        const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
        const shown = image.clientWidth - padding;
        const isCover = image.src.includes("cover");
        const alt = image.alt.trim();
        if (!alt || /\.(png|svg|jpe?g)$/.test(alt))
          faults.push(`a picture has the alternative text "${alt}"`);
        if (!image.naturalWidth) faults.push(`${alt} shows nothing`);
        if (style.backgroundColor !== "rgb(255, 255, 255)")
          faults.push(`${alt} stands on ${style.backgroundColor}`);
        if (style.filter !== "none") faults.push(`${alt} is filtered: ${style.filter}`);
        if (shown > 480.5 && !isCover) faults.push(`${alt} is ${shown} px wide`);
        return faults;
      });
    },

    /* Code, captions, tables and menus included. */
    letters() {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const small = new Set();
      while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        const isFormula = parent.closest("mjx-container, script, style, noscript");
        if (!walker.currentNode.data.trim() || isFormula || !isShown(parent)) continue;
        const size = parseFloat(getComputedStyle(parent).fontSize);
        if (size < 11.5) small.add(`${name(parent)} has letters of ${size} px`);
      }
      return [...small];
    },

    /* What printing shows of text: dark ink on white, whatever the screen's mode. */
    ink() {
      const found = prose().map((node) => node.parentElement).concat(all("pre span, pre"));
      return found
        .filter((element) => isShown(element) && contrast(element) < 4.5)
        .map((element) => `${name(element)} has a contrast of ${contrast(element).toFixed(2)}`);
    },

    folds() {
      return all("details.hide > summary", article()).flatMap((summary) => {
        const text = summary.ariaLabel || summary.querySelector(".collapsed")?.textContent;
        return text === "Show the plotting code" ? [] : [`a fold is called "${text}"`];
      });
    },

    async axe(exceptions) {
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
      // the rest does not depend on colours, and has been seen in the light
      const runOnly = isDark() ? ["color-contrast", "link-in-text-block"] : tags;
      const options = { resultTypes: ["violations"], preload: false };
      // the text of a phone is that of a desk, in the same colours: only what depends on the width
      // is looked at again
      const isPhone = innerWidth < 600;
      const frame = isPhone ? { exclude: [article()] } : document;
      const wrapAgain = unwrapTwins();
      const { violations } = await axe.run(frame, { ...options, runOnly });
      if (isPhone && !isDark()) {
        const ofWidth = ["target-size", "scrollable-region-focusable"];
        const text = await axe.run(article(), { ...options, runOnly: ofWidth });
        violations.push(...text.violations);
      }
      wrapAgain();
      const places = violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => [id, target.join(" "), failureSummary]),
      );
      const isAllowed = ([rule, target]) =>
        exceptions.some((known) => known.rule === rule && target.includes(known.target));
      return places
        .filter((place) => !isAllowed(place))
        .map(([rule, target, why]) => `${rule}: ${target} ${why.split("\n")[1]?.trim()}`);
    },

    /* Open every fold and every solution. */
    async unfold() {
      all("details").forEach((details) => (details.open = true));
      all("button.toggle-button-hidden").forEach((button) => button.click());
      await this.settled();
    },

    /* The theme lets the keyboard reach what scrolls a moment after the window has another width. */
    async reachable() {
      const isWaiting = () =>
        all("pre").some((pre) => pre.scrollWidth > pre.clientWidth && pre.tabIndex < 0);
      for (let tries = 0; tries < 20 && isWaiting(); tries++)
        await new Promise((done) => setTimeout(done, 50));
    },

    async settled() {
      await window.MathJax?.startup?.promise;
      await document.fonts.ready;
      await Promise.all(all("img").map((image) => image.decode().catch(() => {})));
      const moves = document.getAnimations().map((animation) => animation.finished);
      await Promise.allSettled(moves);
    },
  };
})();
