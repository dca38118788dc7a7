// The side panel: what is selected in plain sentences, what is worth a look, and the processes.
// Everything becomes text nodes: nothing that stands in a trace is ever read as markup.
import { KINDS, SEND, DELIVER, NOTHING, NEVER } from "./data.js";
import { explainCopy, sentencesOf } from "./explain.js";
import { pathEvents } from "./emphasis.js";
import { briefly, counted, grouped, inSeconds, phraseOf, sixDigits, timeOf } from "./words.js";
import { rowOf, usedColumns } from "./table.js";
import { longestWaits, statisticsOf } from "./statistics.js";

const SHOWN_ROWS = 300;
const SHOWN_LINKS = 12;

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function button(text, onclick, properties = {}) {
  return make("button", { type: "button", textContent: text, onclick, ...properties });
}

function linkTo(app, index, event, text) {
  const own = text ?? phraseOf(app.traces[index], event);
  return button(own, () => app.select(index, event), { className: "link" });
}

function section(title, ...children) {
  return make("section", {}, make("h3", { textContent: title }), ...children);
}

// The tab `Selection`.
export function selectionPanel(app) {
  const { index, event } = app.selection;
  if (event === NOTHING) {
    return [make("p", { className: "quiet", textContent: "Click a mark to see what happened and why, what it depends on and what depends on it. A click on a bar goes to what the message waits for." })];
  }
  const trace = app.traces[index], kind = trace.kind[event];
  const parts = [
    make("h2", { className: `event ${KINDS[kind]}`, textContent: phraseOf(trace, event) }),
    make("p", { className: "quiet", textContent: whereText(app, index, event) }),
  ];
  if (kind === SEND) parts.push(...sendParts(app, index, event));
  else if (kind <= DELIVER) parts.push(...copyParts(app, index, event));
  else parts.push(make("p", { textContent: memberSentence(trace, event) }));
  parts.push(conePart(app), ...comparedParts(app), messageTable(app, index, event));
  return parts;
}

function whereText(app, index, event) {
  const trace = app.traces[index], time = timeOf(trace, event);
  const parts = [];
  if (app.traces.length > 1) parts.push(trace.title);
  if (!Number.isNaN(time)) parts.push(`at ${sixDigits(time)} s`);
  if (!trace.header.excerpt) parts.push(`position ${grouped(event)}`, `event ${trace.step[event]} of ${trace.processes[trace.process[event]]}`);
  return parts.join(" · ");
}

function memberSentence(trace, event) {
  const name = trace.processes[trace.process[event]], time = timeOf(trace, event);
  const what = { crash: "crashed", join: "joined", leave: "left", view: "installed a new view" }[KINDS[trace.kind[event]]];
  return `${name} ${what}${Number.isNaN(time) ? "" : ` at ${sixDigits(time)} s`}.`;
}

function sendParts(app, index, event) {
  const trace = app.traces[index], m = trace.message[event];
  const lost = trace.missingOf(m), reached = new Map();
  for (const i of trace.eventsOf(m).slice(1)) {
    if (trace.kind[i] === DELIVER || !reached.has(trace.process[i])) reached.set(trace.process[i], i);
  }
  const delivered = [...reached.values()].filter((i) => trace.kind[i] === DELIVER);
  const others = reached.size + lost.length;
  const told = [`${trace.messageName(m)} went to ${counted(others, "process", "processes")}; ${delivered.length} delivered it.`];
  if (trace.stampBytes[m] >= 0) {
    told.push(`It carries ${counted(trace.stampBytes[m], "byte")} of ordering information (${counted(trace.stampEntries[m], "element")}).`);
  }
  if (lost.length) told.push(`It never reached ${lost.map((p) => trace.processes[p]).slice(0, 8).join(", ")}${lost.length > 8 ? " …" : ""}.`);
  const slowest = delivered.map((i) => ({ i, held: trace.delayOf(i)?.held ?? 0 })).sort((a, b) => b.held - a.held)[0];
  const parts = told.map((textContent) => make("p", { textContent }));
  if (slowest && slowest.held > 0) {
    parts.push(make("p", {}, `Held longest, for ${briefly(slowest.held)}: `, linkTo(app, index, slowest.i)));
  }
  return parts;
}

function copyParts(app, index, event) {
  const trace = app.traces[index], m = trace.message[event], p = trace.process[event];
  if (trace.sender[m] === p) return [make("p", { textContent: "A copy to itself: it orders nothing and waits for nothing." })];
  const copy = explainCopy(trace, m, p);
  const parts = sentencesOf(copy, 5).map((textContent) => make("p", { textContent, className: textContent.includes("BROKEN") ? "broken" : "" }));
  if (copy.delay && copy.delay.held > 0) parts.splice(1, 0, delayBar(copy.delay));
  parts.push(make("p", {}, linkTo(app, index, trace.sendOf[m], "↖ its send"), " ",
    ...otherEnds(app, index, copy, event)));
  if (copy.isEarly) {
    parts.push(section("How it broke order", make("ol", { className: "path" },
      ...pathEvents(trace, copy).map((i) => make("li", {}, linkTo(app, index, i))))));
  }
  if (copy.awaited.length) {
    const links = copy.awaited.slice(0, SHOWN_LINKS).map((other) => make("li", {}, linkTo(app, index,
      other.delivered !== NOTHING ? other.delivered : trace.sendOf[other.message], awaitedText(trace, other))));
    const more = copy.awaited.length - links.length;
    parts.push(section(`When it arrived, ${counted(copy.awaited.length, "message")} had to come first`,
      make("ul", { className: "awaited" }, ...links), more > 0 ? make("p", { className: "quiet", textContent: `and ${grouped(more)} more` }) : null));
  }
  return parts;
}

function otherEnds(app, index, { trace, received, delivered }, event) {
  if (received !== NOTHING && event === delivered) return [linkTo(app, index, received, "← its reception")];
  if (delivered !== NOTHING && event !== delivered) return [linkTo(app, index, delivered, "its delivery →")];
  return [];
}

function awaitedText(trace, { message, received, delivered }) {
  const name = trace.messageName(message);
  if (delivered !== NOTHING) return `${name}, delivered${trace.isTimed ? ` at ${inSeconds(trace.time[delivered])}` : ""}`;
  return `${name}, ${received === NOTHING ? "which never arrived" : "which was never delivered"}`;
}

function delayBar(delay) {
  const bar = make("div", { className: "delay", role: "img", "aria-label": `forced ${inSeconds(delay.forced)}, inherited ${inSeconds(delay.inherited)}, own ${inSeconds(delay.own)}` });
  for (const part of ["forced", "inherited", "own"]) {
    const share = delay[part] / delay.held;
    if (share <= 0) continue;
    const piece = make("span", { className: part, title: `${part}: ${inSeconds(delay[part])}`, textContent: share > 0.2 ? `${part} ${briefly(delay[part])}` : "" });
    piece.style.flexGrow = String(share);
    bar.append(piece);
  }
  return bar;
}

function conePart(app) {
  const counts = app.coneCounts();
  const list = make("div", { className: "cone" });
  for (const which of ["past", "future", "concurrent"]) {
    list.append(make("button", { type: "button", className: which, onclick: () => app.listCone(which), title: `list them` },
      make("b", { textContent: grouped(counts[which]) }), which));
  }
  return list;
}

// The same copy in the other trace.
function comparedParts(app) {
  const other = app.counterpart();
  if (!other) return [];
  const trace = app.traces[other.index];
  if (other.event === NOTHING) return [section(`In ${trace.title}`, make("p", { className: "quiet", textContent: "there is no such event." }))];
  const own = app.traces[app.selection.index], times = [timeOf(own, app.selection.event), timeOf(trace, other.event)];
  const later = times[1] - times[0];
  const told = Number.isNaN(later) ? "" : later === 0 ? "at the same time" : `${briefly(Math.abs(later))} ${later > 0 ? "later" : "earlier"}`;
  const delay = trace.kind[other.event] === DELIVER ? trace.delayOf(other.event) : null;
  return [section(`In ${trace.title}`, make("p", {}, linkTo(app, other.index, other.event), ` ${told}`),
    delay ? make("p", { textContent: delay.held ? `held for ${inSeconds(delay.held)}` : "delivered at once" }) : null,
    delay && delay.held ? delayBar(delay) : null)];
}

function messageTable(app, index, event) {
  const trace = app.traces[index], m = trace.message[event];
  return tableSection(app, index, m < 0 ? [event] : trace.eventsOf(m), m < 0 ? "The event" : "All events of this message");
}

// A table of events that can be copied.
export function tableSection(app, index, events, title) {
  const trace = app.traces[index], shown = events.slice(0, SHOWN_ROWS);
  const columns = usedColumns(trace, shown);
  const body = make("tbody", {}, ...shown.map((event) => {
    const row = rowOf(trace, event);
    const line = make("tr", { tabIndex: 0, onclick: () => app.select(index, event) }, ...columns.map((column) => make("td", { textContent: row[column] })));
    line.addEventListener("keydown", (press) => {
      if (press.key === "Enter") app.select(index, event);
    });
    line.classList.toggle("current", app.selection.index === index && app.selection.event === event);
    return line;
  }));
  const head = make("tr", {}, ...columns.map((column) => make("th", { textContent: column.replace("_s", " s").replace("_", " ") })));
  const more = events.length > shown.length ? ` (${grouped(shown.length)} of ${grouped(events.length)} shown)` : "";
  return make("section", { className: "listing" },
    make("h3", {}, title + more, button("copy", () => app.copyTable(index, events), { className: "small", title: "Copy the whole table, with tabs between columns" })),
    make("div", { className: "scroll" }, make("table", {}, make("thead", {}, head), body)));
}

// The tab `Overview`.
export function overviewPanel(app) {
  const parts = [statisticsTable(app)];
  app.traces.forEach((trace, index) => {
    const of = app.traces.length > 1 ? ` in ${trace.title}` : "";
    if (trace.header.excerpt) parts.unshift(make("p", { className: "note", textContent: excerptText(trace) }));
    const early = Array.from(trace.early).filter((i) => app.shown[trace.layer[i]]);
    parts.push(section(`Early deliveries${of}`, early.length
      ? make("ol", { className: "findings" }, ...early.slice(0, 50).map((i) => make("li", {}, linkTo(app, index, i, earlyText(trace, i)))))
      : make("p", { className: "good", textContent: trace.size ? "None: causal order was kept." : "The trace is empty." }),
    early.length > 50 ? make("p", { className: "quiet", textContent: `and ${grouped(early.length - 50)} more; press E to go from one to the next` }) : null));
    const waits = longestWaits(trace, app.shown, 10);
    if (waits.length) {
      parts.push(section(`Longest waits${of}`, make("ol", { className: "findings" }, ...waits.map(({ event, held }) => make("li", {},
        linkTo(app, index, event), ` ${trace.isTimed ? briefly(held) : `${held} events`}`)))));
    }
  });
  return parts;
}

function excerptText(trace) {
  const { kept, events, around } = trace.header.excerpt;
  return `This page holds ${grouped(kept)} of the ${grouped(events)} events of the run: those of every message to which something happened around ${around}. `
    + `The whole run has ${counted(trace.header.early, "early delivery", "early deliveries")}.`;
}

function earlyText(trace, i) {
  const awaited = trace.waitDelivered[i];
  const over = awaited === NEVER ? "something that never came" : trace.messageName(trace.message[awaited]);
  return `${phraseOf(trace, i)} before ${over}`;
}

function statisticsTable(app) {
  const found = app.traces.map((trace) => statisticsOf(trace, app.shown));
  const mean = (sum, count) => (count ? briefly(sum / count) : "–");
  const rows = [
    ["events", (s) => grouped(s.events)],
    ["messages", (s) => grouped(s.messages)],
    ["deliveries", (s) => grouped(s.deliveries)],
    ["early deliveries", (s) => grouped(s.early)],
    ["undelivered copies", (s) => grouped(s.undelivered)],
    ["held deliveries", (s) => (s.timed ? `${grouped(s.held)} (${Math.round((100 * s.held) / s.timed)}%)` : "–")],
    ["mean wait, forced", (s) => mean(s.forced, s.timed)],
    ["mean wait, inherited", (s) => mean(s.inherited, s.timed)],
    ["mean wait, own", (s) => mean(s.own, s.timed)],
    ["mean stamp", (s) => (s.stamps ? `${(s.stampBytes / s.stamps).toFixed(1)} bytes` : "–")],
    ["largest stamp", (s) => (s.stamps ? counted(s.largest, "byte") : "–")],
  ];
  const head = app.traces.length > 1 ? make("tr", {}, make("th"), ...app.traces.map((trace) => make("th", { textContent: trace.title }))) : null;
  return make("table", { className: "statistics" }, ...(head ? [head] : []),
    ...rows.map(([name, text]) => make("tr", {}, make("th", { textContent: name }), ...found.map((s) => make("td", { textContent: text(s) })))));
}

// The tab `Processes`.
export function processesPanel(app) {
  const { lanes } = app;
  const list = make("ul", { className: "processes" });
  for (const p of lanes.sorted(lanes.names.map((_, at) => at))) {
    const box = make("input", { type: "checkbox", checked: !lanes.hidden.has(p), onchange: () => app.setHidden(p, !box.checked) });
    const label = make("label", {}, box, ` ${lanes.names[p]}`);
    const events = app.traces.reduce((sum, trace) => sum + trace.laneStart[p + 1] - trace.laneStart[p], 0);
    list.append(make("li", {}, label, make("span", { className: "quiet", textContent: grouped(events) }),
      button("partners", () => app.showPartners(p), { className: "small", title: "Show only those that it exchanges messages with" })));
  }
  return [make("p", {}, button("show all", () => app.showAllProcesses(), { className: "small" }), " ",
    button("hide those without events", () => app.hideIdle(), { className: "small" })), list];
}

// The tab `Find`.
export function findPanel(app) {
  const help = make("p", { className: "quiet", textContent: "Words that must all fit: a process, a message (p3:17), a kind (send, deliver, crash …), held, early, lost, held>0.1, bytes>40, app, hop." });
  if (!app.query) return [help];
  const parts = [help];
  app.traces.forEach((trace, index) => {
    const events = app.pictures[index].hits ?? [];
    parts.push(tableSection(app, index, Array.from(events), `${counted(events.length, "event")}${app.traces.length > 1 ? ` in ${trace.title}` : ""}`));
  });
  return parts;
}
