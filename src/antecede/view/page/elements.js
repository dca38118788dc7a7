// Pieces of the side panel. Everything becomes text nodes: nothing that stands in a trace is ever read
// as markup.
import { briefly, grouped, inSeconds, phraseOf } from "./words.js";
import { rowOf, usedColumns } from "./table.js";

const SHOWN_ROWS = 300;

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function button(text, onclick, properties = {}) {
  return make("button", { type: "button", textContent: text, onclick, ...properties });
}

export function linkTo(app, index, event, text) {
  const own = text ?? phraseOf(app.traces[index], event);
  return button(own, () => app.select(index, event), { className: "link" });
}

export function section(title, ...children) {
  return make("section", {}, make("h3", { textContent: title }), ...children);
}

export function delayBar(delay) {
  const bar = make("div", {
    className: "delay",
    role: "img",
    "aria-label": `forced ${inSeconds(delay.forced)}, inherited ${inSeconds(delay.inherited)}, own ${inSeconds(delay.own)}`,
  });
  for (const part of ["forced", "inherited", "own"]) {
    const share = delay[part] / delay.held;
    if (share <= 0) continue;
    const piece = make("span", {
      className: part,
      title: `${part}: ${inSeconds(delay[part])}`,
      textContent: share > 0.2 ? `${part} ${briefly(delay[part])}` : "",
    });
    piece.style.flexGrow = String(share);
    bar.append(piece);
  }
  return bar;
}

// A table of events that can be copied.
export function tableSection(app, index, events, title) {
  const trace = app.traces[index],
    shown = events.slice(0, SHOWN_ROWS);
  const columns = usedColumns(trace, shown);
  const body = make(
    "tbody",
    {},
    ...shown.map((event) => {
      const row = rowOf(trace, event);
      const line = make(
        "tr",
        { tabIndex: 0, onclick: () => app.select(index, event) },
        ...columns.map((column) => make("td", { textContent: row[column] })),
      );
      line.addEventListener("keydown", (press) => {
        if (press.key === "Enter") app.select(index, event);
      });
      line.classList.toggle(
        "current",
        app.selection.index === index && app.selection.event === event,
      );
      return line;
    }),
  );
  const head = make(
    "tr",
    {},
    ...columns.map((column) =>
      make("th", { textContent: column.replace("_s", " s").replace("_", " ") }),
    ),
  );
  const more =
    events.length > shown.length
      ? ` (${grouped(shown.length)} of ${grouped(events.length)} shown)`
      : "";
  return make(
    "section",
    { className: "listing" },
    make(
      "h3",
      {},
      title + more,
      button("copy", () => app.copyTable(index, events), {
        className: "small",
        title: "Copy the whole table, with tabs between columns",
      }),
    ),
    make("div", { className: "scroll" }, make("table", {}, make("thead", {}, head), body)),
  );
}
