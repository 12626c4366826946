/* Moves the static explorers of the book: every frame is already in the page. */
(() => {
  "use strict";

  function start(figure) {
    const frames = JSON.parse(figure.querySelector("script.fsn-frames").textContent);
    const picture = figure.querySelector("img");
    const inputs = [...figure.querySelectorAll("input")];
    const outputs = figure.querySelectorAll("output");
    const printed = figure.querySelectorAll(".fsn-shown > span");
    const firstSource = picture.src;

    function update() {
      // Frames are stored row by row: the last slider moves fastest.
      const index = inputs.reduce((row, input) => row * (+input.max + 1) + +input.value, 0);
      const data = frames.src[index];
      picture.src = data ? "data:image/png;base64," + data : firstSource;
      picture.alt = frames.alt[index];
      inputs.forEach((input, which) => {
        const text = frames.values[which][+input.value];
        outputs[which].textContent = text;
        printed[which].textContent = text;
        input.setAttribute("aria-valuetext", text);
      });
    }

    inputs.forEach((input) => input.addEventListener("input", update));
    // A browser may have put a slider back where the reader left it.
    window.addEventListener("pageshow", update);
    update();
    figure.querySelector(".fsn-controls").hidden = false;
    figure.classList.add("fsn-ready");
  }

  document.querySelectorAll("figure.fsn-explorer:not(.fsn-ready)").forEach(start);
})();
