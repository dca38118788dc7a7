// Events as a table, to look at and to copy.
import { KINDS, SEND, DELIVER, LAYERS, NOTHING } from "./data.js";
import { sixDigits } from "./words.js";

export const COLUMNS = [
  "process",
  "seq",
  "position",
  "kind",
  "layer",
  "message",
  "time_s",
  "held_s",
  "forced_s",
  "inherited_s",
  "own_s",
  "waits_for",
  "early",
  "stamp_entries",
  "stamp_bytes",
];

// One row: texts by column.
export function rowOf(trace, event) {
  const kind = trace.kind[event],
    message = trace.message[event];
  const delay = kind === DELIVER ? trace.delayOf(event) : null;
  const awaited = kind === DELIVER ? trace.waitDelivered[event] : NOTHING;
  const isWhole = !trace.header.excerpt;
  const time = trace.isTimed ? trace.time[event] : NaN;
  const size = (sizes) => (kind === SEND && sizes[message] >= 0 ? String(sizes[message]) : "");
  return {
    process: trace.processes[trace.process[event]],
    seq: isWhole ? String(trace.step[event]) : "",
    position: isWhole ? String(event) : "",
    kind: KINDS[kind],
    layer: LAYERS[trace.layer[event]],
    message: message < 0 ? "" : trace.messageName(message),
    time_s: Number.isNaN(time) ? "" : sixDigits(time),
    held_s: delay ? sixDigits(delay.held) : "",
    forced_s: delay ? sixDigits(delay.forced) : "",
    inherited_s: delay ? sixDigits(delay.inherited) : "",
    own_s: delay ? sixDigits(delay.own) : "",
    waits_for: awaited >= 0 && awaited < event ? trace.messageName(trace.message[awaited]) : "",
    early: kind === DELIVER ? judgedText(trace, event) : "",
    stamp_entries: size(trace.stampEntries),
    stamp_bytes: size(trace.stampBytes),
  };
}

function judgedText(trace, event) {
  if (trace.isUnjudged(event)) return "cannot tell";
  return trace.isEarly(event) ? "early" : "";
}

// The table as text that spreadsheets take.
export function tableText(trace, events) {
  const clean = (text) => text.replace(/[\t\r\n]/g, " ");
  const lines = [COLUMNS.join("\t")];
  for (const event of events) {
    const row = rowOf(trace, event);
    lines.push(COLUMNS.map((column) => clean(row[column])).join("\t"));
  }
  return `${lines.join("\n")}\n`;
}

// Columns that say something about these events.
export function usedColumns(trace, events) {
  const rows = events.map((event) => rowOf(trace, event));
  const several = new Set(rows.map((row) => row.layer).filter(Boolean)).size > 1;
  return COLUMNS.filter((column) => {
    if (column === "layer") return several;
    return rows.some((row) => row[column] !== "");
  });
}
