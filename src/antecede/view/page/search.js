// Finding events: words that must all fit.
//
//   p3          events at the process of this name or, if there is none, at those that contain it
//   p3:17       a message
//   deliver     a kind (send, receive, deliver, crash, join, leave, view, local)
//   order       what the log says, or calls a message, where the trace was made from one
//   held early lost   deliveries that waited; that broke order; messages that did not arrive
//   held>0.5    deliveries that waited for longer, in seconds; bytes>40 for stamps
//   hop app     a layer
import { KINDS, SEND, RECEIVE, DELIVER, NOTHING } from "./data.js";

const COMPARISON = /^(held|own|forced|inherited|bytes|entries)([<>])(\d*\.?\d+(?:e[+-]?\d+)?)$/i;

// The events that fit, in order.
export function findEvents(trace, query) {
  const named = [0, 1].map((layer) => trace.findMessage(query.trim(), layer)).filter((m) => m >= 0);
  if (named.length) return named.flatMap((m) => trace.eventsOf(m)).sort((a, b) => a - b);
  const tests = query
    .trim()
    .split(/\s+/u)
    .filter(Boolean)
    .map((word) => testOf(trace, word));
  const found = [];
  if (!tests.length) return found;
  for (let i = 0; i < trace.size; i++) if (tests.every((fits) => fits(i))) found.push(i);
  return found;
}

function testOf(trace, word) {
  const { kind, process, message, layer } = trace;
  const lower = word.toLowerCase(),
    named = KINDS.indexOf(lower);
  const comparison = COMPARISON.exec(word);
  if (comparison)
    return comparisonOf(trace, comparison[1].toLowerCase(), comparison[2], Number(comparison[3]));
  if (named >= 0) return (i) => kind[i] === named;
  if (lower === "held") return (i) => kind[i] === DELIVER && isHeld(trace, i);
  if (lower === "early") return (i) => kind[i] === DELIVER && trace.isEarly(i);
  if (lower === "lost") {
    const lost = new Set(trace.missingMessage);
    return (i) =>
      (kind[i] === SEND && lost.has(message[i])) ||
      (kind[i] === RECEIVE && trace.twin[i] === NOTHING);
  }
  if (lower === "hop" || lower === "app") return (i) => layer[i] === (lower === "hop" ? 1 : 0);
  const names = trace.processes.map((name) => name.toLowerCase()),
    isName = names.includes(lower);
  const fitting = Uint8Array.from(names, (name) =>
    (isName ? name === lower : name.includes(lower)) ? 1 : 0,
  );
  const colon = lower.lastIndexOf(":"),
    number = Number(lower.slice(colon + 1));
  if (colon > 0 && Number.isInteger(number) && number > 0) {
    const sender = lower.slice(0, colon);
    const senders = Uint8Array.from(names, (name) => (name === sender ? 1 : 0));
    return (i) =>
      fitting[process[i]] === 1 ||
      (message[i] >= 0 &&
        trace.number[message[i]] === number &&
        senders[trace.sender[message[i]]] === 1);
  }
  const called = Uint8Array.from(trace.header.names ?? [], (name) =>
    name?.toLowerCase().includes(lower) ? 1 : 0,
  );
  return (i) =>
    fitting[process[i]] === 1 ||
    (message[i] >= 0 && called[message[i]] === 1) ||
    trace.textOf(i).toLowerCase().includes(lower);
}

function comparisonOf(trace, field, sign, bound) {
  const compare = sign === ">" ? (value) => value > bound : (value) => value < bound;
  if (field === "bytes" || field === "entries") {
    const sizes = field === "bytes" ? trace.stampBytes : trace.stampEntries;
    return (i) =>
      trace.kind[i] === SEND && sizes[trace.message[i]] >= 0 && compare(sizes[trace.message[i]]);
  }
  return (i) => {
    const delay = trace.kind[i] === DELIVER ? trace.delayOf(i) : null;
    return delay !== null && compare(delay[field]);
  };
}

// Whether time passed between the reception of a message and its delivery or, where times are
// unknown, whether something happened.
export function isHeld(trace, delivery) {
  const reception = trace.twin[delivery];
  if (reception < 0) return false;
  const held = trace.isTimed ? trace.time[delivery] - trace.time[reception] : NaN;
  return Number.isNaN(held) ? trace.step[delivery] - trace.step[reception] > 1 : held > 0;
}
