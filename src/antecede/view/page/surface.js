// What the page is made of: canvases, controls and panels, and how they are kept up to date.
import { AXES } from "./axis.js";
import { SORTS } from "./lanes.js";
import { KEYS, listen, pressKey } from "./input.js";
import { make, tableSection } from "./elements.js";
import { findPanel, overviewPanel, processesPanel } from "./panel.js";
import { selectionPanel } from "./story.js";
import { drawPlot } from "./plot.js";
import { FONT } from "./scene.js";
import { shivizLog } from "./shiviz.js";
import { SvgContext } from "./svg.js";
import { grouped } from "./words.js";
import { nextHit } from "./navigate.js";

const find = (id) => document.getElementById(id);
const LARGEST_LOG = 300_000;

export class Surface {
  constructor(traces) {
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.tab = "overview";
    this.plots = traces.map((trace, index) => {
      const canvas = make("canvas", {
        tabIndex: 0,
        role: "application",
        "aria-label": `Space-time diagram of ${trace.title}. Press ? for keys.`,
      });
      const caption = make("figcaption", { textContent: traces.length > 1 ? trace.title : "" });
      const box = make("div", { className: "box", hidden: true });
      const figure = make("figure", {}, canvas, caption, box);
      find("plots").append(figure);
      return { canvas, figure, box, context: canvas.getContext("2d", { alpha: false }), index };
    });
    find("plots").classList.toggle("two", traces.length > 1);
    this.contexts = this.plots.map(({ context }) => context);
    const canvas = find("minimap");
    this.minimap = {
      canvas,
      context: canvas.getContext("2d", { alpha: false }),
      width: 0,
      height: 0,
    };
    this.tip = find("tip");
  }

  attach(app) {
    this.app = app;
    this.fillControls(app);
    this.measure();
    new ResizeObserver(() => {
      this.measure();
      app.paint();
    }).observe(find("plots"));
    for (const { canvas, index } of this.plots) listen(app, canvas, index);
    this.listenToMinimap(app);
    document.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.recolour());
    this.refresh(app);
  }

  // Sizes of canvases follow the window, their pixels those of the screen.
  measure() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const fit = (canvas, context) => {
      const { clientWidth: width, clientHeight: height } = canvas;
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      return { width, height };
    };
    const sizes = this.plots.map(({ canvas, context }) => fit(canvas, context));
    Object.assign(this.minimap, fit(this.minimap.canvas, this.minimap.context));
    this.app.scene.resize(
      sizes[0].width,
      Math.min(...sizes.map(({ height }) => height)),
      this.gutter(sizes[0].width),
    );
  }

  // As wide as the longest name, within reason.
  gutter(width) {
    const [context] = this.contexts;
    context.font = FONT;
    const names = this.app.lanes.names.slice(0, 2000);
    const longest = names.reduce(
      (most, name) => Math.max(most, context.measureText(name.slice(0, 60)).width),
      30,
    );
    return Math.round(Math.min(longest + 20, width * 0.25, 220));
  }

  fillControls(app) {
    const layers = [
      app.traces.some((trace) => trace.hasApp) && "app",
      app.traces.some((trace) => trace.hasHops) && "hop",
    ].filter(Boolean);
    if (layers.length > 1) layers.push("both");
    const timed = app.traces.every((trace) => trace.isTimed);
    this.choices = {
      axis: timed ? AXES : AXES.slice(1),
      sort: SORTS,
      grouping: ["", ...Object.keys(app.lanes.groupings)],
      layer: layers,
    };
    for (const [name, choices] of Object.entries(this.choices)) {
      const select = find(name);
      select.replaceChildren(
        ...choices.map((value) => make("option", { value, textContent: value || "none" })),
      );
      select.parentElement.hidden = choices.length < 2;
      select.onchange = () => app.set(name, select.value);
    }
    find("fold").onclick = () => app.set("fold", !app.isFolding);
    find("arrange").hidden = app.traces.length < 2;
    find("arrange").onclick = () => {
      const isBeside = find("plots").classList.toggle("beside");
      find("arrange").setAttribute("aria-pressed", String(isBeside));
      this.measure();
      app.paint();
    };
    find("query").oninput = () => this.searchFor(find("query").value);
    find("query").addEventListener("keydown", (event) => {
      if (event.key === "Enter") nextHit(app, event.shiftKey ? -1 : 1);
    });
    for (const tab of document.querySelectorAll("[data-tab]"))
      tab.onclick = () => this.showTab(tab.dataset.tab);
    find("fit").onclick = () => app.fit();
    find("theme").onclick = () => this.cycle(app, "theme");
    find("helpButton").onclick = () => this.showHelp();
    find("svg").onclick = () => this.saveSvg(app);
    find("shiviz").onclick = () => this.saveLog(app);
    find("keys").replaceChildren(
      ...KEYS.flatMap(([keys, text]) => [
        make("dt", {}, make("kbd", { textContent: keys })),
        make("dd", { textContent: text }),
      ]),
    );
    find("sheet").onclick = () => document.body.classList.toggle("open");
  }

  searchFor(query) {
    this.app.search(query);
    this.showTab("find");
  }

  // Everything beside the plot that shows a state.
  refresh(app) {
    const layer = app.shown[0] ? (app.shown[1] ? "both" : "app") : "hop";
    const values = {
      axis: app.axisKind,
      sort: app.lanes.sort,
      grouping: app.lanes.grouping,
      layer,
    };
    for (const [name, value] of Object.entries(values)) find(name).value = value;
    find("fold").setAttribute("aria-pressed", String(app.isFolding));
    find("fold").hidden = app.axisKind !== "time" || (app.isFolding && !app.axis.folds.length);
    const panel = find("panel"),
      scrolled = panel.scrollTop,
      place = stopsIn(panel).indexOf(document.activeElement);
    this.showTab(this.tab);
    panel.scrollTop = scrolled;
    stopsIn(panel)[place]?.focus({ preventScroll: true });
  }

  showTab(tab) {
    this.tab = tab;
    for (const button of document.querySelectorAll("[data-tab]"))
      button.setAttribute("aria-selected", String(button.dataset.tab === tab));
    const panels = {
      overview: overviewPanel,
      selection: selectionPanel,
      processes: processesPanel,
      find: findPanel,
    };
    const panel = find("panel"),
      hadFocus = panel.contains(document.activeElement);
    panel.setAttribute("aria-label", tab);
    panel.replaceChildren(...panels[tab](this.app));
    panel.scrollTop = 0;
    // Whoever came by keyboard goes on from here, not from the top of the page.
    if (hadFocus) panel.focus({ preventScroll: true });
  }

  selected(app) {
    this.showTab(app.selection.event < 0 && this.tab !== "selection" ? this.tab : "selection");
    document.body.classList.toggle("open", app.selection.event >= 0);
  }

  listEvents(app, index, events, title) {
    find("panel").append(tableSection(app, index, events, title));
    find("panel").lastChild.scrollIntoView({ block: "nearest" });
  }

  // After every frame: what is seen, and what of it is not drawn.
  painted(app) {
    const { scene, axis } = app;
    const parts = [
      `${axis.describe(Math.max(axis.min, scene.from))} to ${axis.describe(Math.min(axis.max, scene.to))}`,
    ];
    const stride = Math.max(...app.notes.map((note) => note.stride));
    const messages = app.notes.reduce((sum, note) => sum + note.messages, 0);
    parts.push(
      stride > 1
        ? `${grouped(messages)} messages in view, lines drawn for about 1 in ${stride}`
        : `${grouped(messages)} messages in view`,
    );
    for (const [name, what] of [
      ["early", "early deliveries"],
      ["hits", "search results"],
    ]) {
      const one = Math.max(...app.notes.map((note) => note[name]));
      if (one > 1) parts.push(`of the ${what} about 1 in ${one} is marked`);
    }
    if (app.notes.some((note) => note.dense))
      parts.push("crowded lanes show how much happens; zoom in for marks");
    const excerpt = app.traces.find((trace) => trace.header.excerpt)?.header.excerpt;
    if (excerpt)
      parts.push(`an excerpt: ${grouped(excerpt.kept)} of ${grouped(excerpt.events)} events`);
    const text = parts.join(" · ");
    if (find("status").textContent !== text) find("status").textContent = text;
  }

  tell(index, tip) {
    this.tip.hidden = !tip;
    if (!tip) return;
    this.tip.replaceChildren(...tip.lines.map((textContent) => make("div", { textContent })));
    const frame = this.plots[index].canvas.getBoundingClientRect();
    const left = Math.min(frame.left + tip.x + 14, innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${Math.min(frame.top + tip.y + 16, innerHeight - this.tip.offsetHeight - 8)}px`;
  }

  showBox(index, range) {
    for (const { box } of this.plots) box.hidden = true;
    if (!range) return;
    const { box } = this.plots[index];
    box.hidden = false;
    box.style.left = `${range[0]}px`;
    box.style.width = `${range[1] - range[0]}px`;
  }

  cycle(app, control) {
    if (control === "theme") {
      const root = document.documentElement;
      const isDark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      app.recolour();
    } else if (control === "fold") app.set("fold", !app.isFolding);
    else {
      const choices = this.choices[control],
        now = choices.indexOf(find(control).value);
      app.set(control, choices[(now + 1) % choices.length]);
    }
  }

  key(event) {
    if (find("help").open) return;
    if (
      /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) &&
      event.target.type !== "checkbox"
    ) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const onButton =
      event.target.closest("button, tr, summary") && (event.key === "Enter" || event.key === " ");
    if (event.ctrlKey || event.metaKey || event.altKey || onButton) return;
    if (pressKey(this.app, event)) event.preventDefault();
  }

  focusSearch() {
    find("query").focus();
    find("query").select();
  }

  showHelp() {
    find("help").showModal();
  }

  listenToMinimap(app) {
    const { canvas } = this.minimap;
    const go = (event) =>
      event.buttons &&
      app.centreOn((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth);
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    canvas.addEventListener("pointermove", go);
  }

  // Exports

  svgText(app) {
    const { scene } = app;
    return app.pictures.map((picture) => {
      const context = new SvgContext(scene.width, scene.height, scene.gutter);
      drawPlot(context, scene, picture);
      return context.text();
    });
  }

  saveSvg(app) {
    this.svgText(app).forEach((text, at) =>
      save(text, `${baseName(app.traces[at])}.svg`, "image/svg+xml"),
    );
  }

  saveLog(app) {
    const trace = app.traces[app.selection.index];
    if (trace.size > LARGEST_LOG)
      this.announce(
        `A log of ${grouped(trace.size)} events would fill the memory; 'antecede view TRACE --shiviz FILE' writes it.`,
      );
    else save(shivizLog(trace, app.shown[0] ? 0 : 1), `${baseName(trace)}.log`, "text/plain");
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.announce("Copied.");
    } catch {
      // No permission, or no such interface: select the text, so that the person can copy it.
      const area = make("textarea", { value: text, className: "copied", readOnly: true });
      find("panel").prepend(area);
      area.select();
      this.announce("Press Ctrl+C to copy the selected text.");
    }
  }

  announce(text) {
    const notice = find("notice");
    notice.textContent = text;
    notice.classList.add("shown");
    clearTimeout(this.fading);
    this.fading = setTimeout(() => notice.classList.remove("shown"), 3500);
  }
}

// Where the keyboard stops in an element.
function stopsIn(element) {
  return [...element.querySelectorAll("button, input, tr[tabindex]")];
}

function save(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function baseName(trace) {
  return trace.title.replace(/\.parquet$/, "").replace(/[^\p{L}\p{N}._-]+/gu, "_") || "trace";
}
