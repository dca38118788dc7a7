// The other tabs of the side panel: what is worth a look, the processes, what was found.
import { APP, NEVER } from "./data.js";
import { briefly, counted, grouped, phraseOf } from "./words.js";
import { longestWaits, statisticsOf } from "./statistics.js";
import { make, button, linkTo, section, tableSection } from "./elements.js";

// The tab `Overview`.
export function overviewPanel(app) {
  const parts = [statisticsTable(app)];
  if (hasOtherTraffic(app.traces))
    parts.unshift(
      make("p", {
        className: "note",
        textContent:
          "The two runs do not have the same traffic: some process sends more messages in one of them.",
      }),
    );
  app.traces.forEach((trace, index) => {
    const of = app.traces.length > 1 ? ` in ${trace.title}` : "";
    if (trace.header.excerpt)
      parts.unshift(make("p", { className: "note", textContent: excerptText(trace) }));
    const early = Array.from(trace.early).filter((i) => app.shown[trace.layer[i]]);
    parts.push(
      section(
        `Early deliveries${of}`,
        early.length
          ? make(
              "ol",
              { className: "findings" },
              ...early
                .slice(0, 50)
                .map((i) => make("li", {}, linkTo(app, index, i, earlyText(trace, i)))),
            )
          : make("p", {
              className: isKept(trace) ? "good" : "note",
              textContent: noneText(trace),
            }),
        doubtsOf(trace).length
          ? make(
              "ul",
              { className: "doubts" },
              ...doubtsOf(trace).map((doubt) => make("li", { textContent: doubt })),
            )
          : null,
        early.length > 50
          ? make("p", {
              className: "quiet",
              textContent: `and ${grouped(early.length - 50)} more; press E to go from one to the next`,
            })
          : null,
      ),
    );
    const waits = longestWaits(trace, app.shown, 10);
    if (waits.length) {
      parts.push(
        section(
          `Longest waits${of}`,
          make(
            "ol",
            { className: "findings" },
            ...waits.map(({ event, held }) =>
              make(
                "li",
                {},
                linkTo(app, index, event),
                ` ${trace.isTimed ? briefly(held) : `${held} events`}`,
              ),
            ),
          ),
        ),
      );
    }
  });
  return parts;
}

// Whether two runs, both held as a whole, differ in how many messages a process sends.
function hasOtherTraffic(traces) {
  if (traces.length < 2 || traces.some((trace) => trace.header.excerpt)) return false;
  const [ours, theirs] = traces.map((trace) => {
    const sent = new Int32Array(trace.processes.length);
    for (const i of trace.sendOf) if (trace.layer[i] === APP) sent[trace.process[i]]++;
    return sent;
  });
  return ours.some((count, p) => count !== theirs[p]);
}

function noneText(trace) {
  if (!trace.size) return "The trace is empty: there is nothing to judge.";
  if (doubtsOf(trace).length) return "None was found, but whether order was kept cannot be told:";
  return trace.header.excerpt ? "None in this excerpt." : "None: causal order was kept.";
}

// Why order cannot be said to have been kept.
function doubtsOf(trace) {
  return trace.header.doubts ?? [];
}

function isKept(trace) {
  return trace.size && !doubtsOf(trace).length;
}

function excerptText(trace) {
  const { kept, events, around } = trace.header.excerpt;
  return (
    `This page holds ${grouped(kept)} of the ${grouped(events)} events of the run: those of every message to which something happened around ${around}. ` +
    (trace.header.early === null
      ? "How many early deliveries the whole run has, antecede verify says."
      : `The whole run has ${counted(trace.header.early, "early delivery", "early deliveries")}.`)
  );
}

function earlyText(trace, i) {
  const awaited = trace.waitDelivered[i];
  const unknown = trace.header.excerpt
    ? "something that never came, or is not in this excerpt"
    : "something that never came";
  const over = awaited === NEVER ? unknown : trace.messageName(trace.message[awaited]);
  return `${phraseOf(trace, i)} before ${over}`;
}

function statisticsTable(app) {
  const found = app.traces.map((trace) => statisticsOf(trace, app.shown));
  const mean = (sum, count) => (count ? briefly(sum / count) : "–");
  const rows = [
    ["events", (s) => grouped(s.events)],
    ["messages", (s) => grouped(s.messages)],
    ["deliveries", (s) => grouped(s.deliveries)],
    ["early deliveries", (s) => (s.unjudged ? `at least ${grouped(s.early)}` : grouped(s.early))],
    ["undelivered copies", (s) => grouped(s.undelivered)],
    [
      "held deliveries",
      (s) => (s.timed ? `${grouped(s.held)} (${Math.round((100 * s.held) / s.timed)}%)` : "–"),
    ],
    ["mean wait, forced", (s) => mean(s.forced, s.timed)],
    ["mean wait, inherited", (s) => mean(s.inherited, s.timed)],
    ["mean wait, own", (s) => mean(s.own, s.timed)],
    ["mean stamp", (s) => (s.stamps ? `${(s.stampBytes / s.stamps).toFixed(1)} bytes` : "–")],
    ["largest stamp", (s) => (s.stamps ? counted(s.largest, "byte") : "–")],
  ];
  const head =
    app.traces.length > 1
      ? make(
          "tr",
          {},
          make("th"),
          ...app.traces.map((trace) => make("th", { textContent: trace.title })),
        )
      : null;
  return make(
    "table",
    { className: "statistics" },
    ...(head ? [head] : []),
    ...rows.map(([name, text]) =>
      make(
        "tr",
        {},
        make("th", { textContent: name }),
        ...found.map((s) => make("td", { textContent: text(s) })),
      ),
    ),
  );
}

// The tab `Processes`.
export function processesPanel(app) {
  const { lanes } = app;
  const list = make("ul", { className: "processes" });
  for (const p of lanes.sorted(lanes.names.map((_, at) => at))) {
    const box = make("input", {
      type: "checkbox",
      checked: !lanes.hidden.has(p),
      onchange: () => app.setHidden(p, !box.checked),
    });
    const label = make("label", {}, box, ` ${lanes.names[p]}`);
    const events = app.traces.reduce(
      (sum, trace) => sum + trace.laneStart[p + 1] - trace.laneStart[p],
      0,
    );
    list.append(
      make(
        "li",
        {},
        label,
        make("span", { className: "quiet", textContent: grouped(events) }),
        button("partners", () => app.showPartners(p), {
          className: "small",
          title: "Show only those that it exchanges messages with",
        }),
      ),
    );
  }
  const groups = lanes.rows.filter(({ group }) => group !== undefined);
  return [
    ...(groups.length ? [groupsSection(app, groups)] : []),
    make(
      "p",
      {},
      button("show all", () => app.showAllProcesses(), { className: "small" }),
      " ",
      button("hide those without events", () => app.hideIdle(), { className: "small" }),
    ),
    list,
  ];
}

function groupsSection(app, groups) {
  const folding = groups.map(({ group, size }) => {
    const isFolded = app.lanes.folded.has(group);
    return button(
      `${isFolded ? "▸" : "▾"} ${group} (${size})`,
      () => app.toggleGroup(group),
      { className: "small", "aria-expanded": String(!isFolded) },
    );
  });
  return section("Groups", make("p", { className: "groups" }, ...folding));
}

// The tab `Find`.
export function findPanel(app) {
  const help = make("p", {
    className: "quiet",
    textContent:
      "Words that must all fit: a process, a message (p3:17), a kind (send, deliver, crash …), held, early, lost, held>0.1, bytes>40, app, hop.",
  });
  if (!app.query) return [help];
  const parts = [help];
  app.traces.forEach((trace, index) => {
    const events = app.pictures[index].hits ?? [];
    parts.push(
      tableSection(
        app,
        index,
        Array.from(events),
        `${counted(events.length, "event")}${app.traces.length > 1 ? ` in ${trace.title}` : ""}`,
      ),
    );
  });
  return parts;
}
