// What is selected, in plain sentences, with links to everything that the sentences speak of.
import { KINDS, SEND, DELIVER, LOCAL, NOTHING } from "./data.js";
import { brokenText, explainCopy, sentencesOf } from "./explain.js";
import { pathEvents } from "./emphasis.js";
import { briefly, counted, grouped, inSeconds, momentText, phraseOf, timeOf } from "./words.js";
import { make, button, linkTo, section, delayBar, tableSection } from "./elements.js";

const SHOWN_LINKS = 12;

// The tab `Selection`.
export function selectionPanel(app) {
  const { index, event } = app.selection;
  if (event === NOTHING) {
    return [
      make("p", {
        className: "quiet",
        textContent:
          "Click a mark to see what happened and why, what it depends on and what depends on it. A click on a bar goes to what the message waits for.",
      }),
    ];
  }
  const trace = app.traces[index],
    kind = trace.kind[event];
  const parts = [
    make("h2", { className: `event ${KINDS[kind]}`, textContent: phraseOf(trace, event) }),
    make("p", { className: "quiet", textContent: whereText(app, index, event) }),
  ];
  if (trace.textOf(event))
    parts.push(make("p", { className: "log", textContent: trace.textOf(event) }));
  if (kind === SEND) parts.push(...sendParts(app, index, event));
  else if (kind <= DELIVER) parts.push(...copyParts(app, index, event));
  else parts.push(make("p", { textContent: memberSentence(trace, event) }));
  if (trace.header.excerpt)
    parts.push(
      make("p", {
        className: "quiet",
        textContent: "This page holds a part of the run; what lies outside counts nowhere here.",
      }),
    );
  parts.push(conePart(app), ...comparedParts(app), messageTable(app, index, event));
  return parts;
}

function whereText(app, index, event) {
  const trace = app.traces[index],
    time = timeOf(trace, event);
  const parts = [];
  if (app.traces.length > 1) parts.push(trace.title);
  if (!Number.isNaN(time)) parts.push(`at ${momentText(trace, time)}`);
  if (!trace.header.excerpt)
    parts.push(
      `position ${grouped(event)}`,
      `event ${trace.step[event]} of ${trace.processes[trace.process[event]]}`,
    );
  return parts.join(" · ");
}

function memberSentence(trace, event) {
  const name = trace.processes[trace.process[event]],
    time = timeOf(trace, event);
  if (trace.kind[event] === LOCAL) return "It concerns nobody else.";
  const what = { crash: "crashed", join: "joined", leave: "left", view: "installed a new view" }[
    KINDS[trace.kind[event]]
  ];
  return `${name} ${what}${Number.isNaN(time) ? "" : ` at ${momentText(trace, time)}`}.`;
}

function sendParts(app, index, event) {
  const trace = app.traces[index],
    m = trace.message[event];
  const lost = trace.missingOf(m),
    reached = new Map();
  for (const i of trace.eventsOf(m).slice(1)) {
    if (trace.kind[i] === DELIVER || !reached.has(trace.process[i]))
      reached.set(trace.process[i], i);
  }
  const delivered = [...reached.values()].filter((i) => trace.kind[i] === DELIVER);
  const others = reached.size + lost.length;
  const told = [
    `${trace.messageName(m)} went to ${counted(others, "process", "processes")}; ${delivered.length} delivered it.`,
  ];
  if (trace.stampBytes[m] >= 0) {
    told.push(
      `It carries ${counted(trace.stampBytes[m], "byte")} of ordering information (${counted(trace.stampEntries[m], "element")}).`,
    );
  }
  if (lost.length)
    told.push(
      `It ${trace.unread.behind ? "did not reach" : "never reached"} ${lost
        .map((p) => trace.processes[p])
        .slice(0, 8)
        .join(", ")}${lost.length > 8 ? " …" : ""}${trace.unread.behind ? " in the rows that were read" : ""}.`,
    );
  const slowest = delivered
    .map((i) => ({ i, held: trace.delayOf(i)?.held ?? 0 }))
    .sort((a, b) => b.held - a.held)[0];
  const parts = told.map((textContent) => make("p", { textContent }));
  if (slowest && slowest.held > 0) {
    parts.push(
      make("p", {}, `Held longest, for ${briefly(slowest.held)}: `, linkTo(app, index, slowest.i)),
    );
  }
  return parts;
}

function copyParts(app, index, event) {
  const trace = app.traces[index],
    m = trace.message[event],
    p = trace.process[event];
  if (trace.sender[m] === p)
    return [
      make("p", { textContent: "A copy to itself: it orders nothing and waits for nothing." }),
    ];
  const copy = explainCopy(trace, m, p);
  const told = sentencesOf(copy, 5);
  if (trace.isEarly(event) && !copy.isEarly)
    told.push(`${brokenText(trace)}: what it overtook, or the way there, is not in this excerpt.`);
  if (copy.delivered !== NOTHING && trace.isUnjudged(copy.delivered))
    told.push(
      "Whether that kept causal order cannot be told: it may have overtaken a message from before the rows that were read.",
    );
  const parts = told.map((textContent) =>
    make("p", { textContent, className: textContent.includes("BROKEN") ? "broken" : "" }),
  );
  if (copy.delay && copy.delay.held > 0) parts.splice(1, 0, delayBar(copy.delay));
  parts.push(
    make(
      "p",
      {},
      linkTo(app, index, trace.sendOf[m], "↖ its send"),
      " ",
      ...otherEnds(app, index, copy, event),
    ),
  );
  if (copy.isEarly) {
    parts.push(
      section(
        "How it broke order",
        make(
          "ol",
          { className: "path" },
          ...pathEvents(trace, copy).map((i) => make("li", {}, linkTo(app, index, i))),
        ),
      ),
    );
  }
  if (copy.awaited.length) {
    const links = copy.awaited
      .slice(0, SHOWN_LINKS)
      .map((other) =>
        make(
          "li",
          {},
          linkTo(
            app,
            index,
            other.delivered !== NOTHING ? other.delivered : trace.sendOf[other.message],
            awaitedText(trace, other),
          ),
        ),
      );
    const more = copy.awaited.length - links.length;
    parts.push(
      section(
        `When it arrived, ${counted(copy.awaited.length, "message")} had to come first`,
        make("ul", { className: "awaited" }, ...links),
        more > 0
          ? make("p", { className: "quiet", textContent: `and ${grouped(more)} more` })
          : null,
      ),
    );
  }
  return parts;
}

function otherEnds(app, index, { trace, received, delivered }, event) {
  if (received !== NOTHING && event === delivered)
    return [linkTo(app, index, received, "← its reception")];
  if (delivered !== NOTHING && event !== delivered)
    return [linkTo(app, index, delivered, "its delivery →")];
  return [];
}

function awaitedText(trace, { message, received, delivered }) {
  const name = trace.messageName(message);
  if (delivered !== NOTHING)
    return `${name}, delivered${trace.isTimed ? ` at ${momentText(trace, trace.time[delivered])}` : ""}`;
  if (trace.unread.behind) return `${name}, which is not delivered in the rows that were read`;
  return `${name}, ${received === NOTHING ? "which never arrived" : "which was never delivered"}`;
}

function conePart(app) {
  const counts = app.coneCounts();
  const list = make("div", { className: "cone" });
  for (const which of ["past", "future", "concurrent"]) {
    list.append(
      make(
        "button",
        {
          type: "button",
          className: which,
          onclick: () => app.listCone(which),
          title: `list them`,
        },
        make("b", { textContent: grouped(counts[which]) }),
        which,
      ),
    );
  }
  return list;
}

// The same copy in the other trace.
function comparedParts(app) {
  const other = app.counterpart();
  if (!other) return [];
  const trace = app.traces[other.index];
  if (other.event === NOTHING)
    return [
      section(
        `In ${trace.title}`,
        make("p", { className: "quiet", textContent: "there is no such event." }),
      ),
    ];
  const own = app.traces[app.selection.index],
    times = [timeOf(own, app.selection.event), timeOf(trace, other.event)];
  const later = times[1] - times[0];
  const told = Number.isNaN(later)
    ? ""
    : later === 0
      ? "at the same time"
      : `${briefly(Math.abs(later))} ${later > 0 ? "later" : "earlier"}`;
  const delay = trace.kind[other.event] === DELIVER ? trace.delayOf(other.event) : null;
  return [
    section(
      `In ${trace.title}`,
      make("p", {}, linkTo(app, other.index, other.event), ` ${told}`),
      delay
        ? make("p", {
            textContent: delay.held ? `held for ${inSeconds(delay.held)}` : "delivered at once",
          })
        : null,
      delay && delay.held ? delayBar(delay) : null,
    ),
  ];
}

function messageTable(app, index, event) {
  const trace = app.traces[index],
    m = trace.message[event];
  return tableSection(
    app,
    index,
    m < 0 ? [event] : trace.eventsOf(m),
    m < 0 ? "The event" : "All events of this message",
  );
}
