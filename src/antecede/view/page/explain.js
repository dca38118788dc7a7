// Why was a message held at a process, or how did it break order? The sentences are those of
// `antecede explain`, and a test holds them to it.
import { NOTHING } from "./data.js";
import { predecessorsAt, shortestPath } from "./causality.js";
import { momentText, sixDigits, timeOf } from "./words.js";

// What happened to a message at one of its destinations other than its sender.
export function explainCopy(trace, message, process) {
  let received = NOTHING,
    delivered = NOTHING;
  for (const i of trace.eventsOf(message)) {
    if (trace.process[i] !== process || i === trace.sendOf[message]) continue;
    if (trace.kind[i] === 2) delivered = i;
    else if (received === NOTHING && delivered === NOTHING) received = i;
  }
  const before = predecessorsAt(trace, message, process);
  const isDelivered = delivered !== NOTHING;
  const waited = !isDelivered
    ? []
    : before
        .filter(
          (copy) => copy.delivered > received && copy.delivered < delivered && received !== NOTHING,
        )
        .sort((a, b) => a.delivered - b.delivered);
  const missing = before.filter(
    (copy) => copy.delivered === NOTHING || (isDelivered && copy.delivered > delivered),
  );
  const isEarly = isDelivered && missing.length > 0;
  const path = isEarly ? shortestPath(trace, missing[0].message, message) : [];
  const delay = isDelivered ? trace.delayOf(delivered) : null;
  // What still has to come before it, seen from the moment it arrived: what its bar is labelled with.
  const from = received === NOTHING ? delivered : received;
  const awaited = before.filter((copy) => copy.delivered === NOTHING || copy.delivered > from);
  return {
    trace,
    message,
    process,
    received,
    delivered,
    waited,
    missing,
    awaited,
    isEarly,
    path,
    delay,
  };
}

// At most `most` messages are listed in a sentence.
export function sentencesOf(copy, most = Infinity) {
  const { trace, process, waited, delay } = copy;
  const name = trace.processes[process];
  const told = [whatHappened(copy)];
  const held = delay === null ? 0 : delay.held;
  if (waited.length) {
    const names = listedCopies(trace, waited, most);
    told.push(`While it waited, ${name} delivered what it depends on: ${names}.`);
  } else if (held) told.push("It waited for no other message.");
  if (held) {
    told.push(
      `Of the wait, ${sixDigits(delay.forced)} s was forced: a message that it depends on had ` +
        `not arrived. ${sixDigits(delay.inherited)} s was inherited from messages that were held ` +
        `longer than needed. ${sixDigits(delay.own)} s was its own: causality did not require it.`,
    );
  }
  if (copy.isEarly) told.push(`${brokenText(trace, copy)}: ${violationOf(copy)}.`);
  const more = copy.isEarly ? copy.missing.slice(1) : copy.missing;
  if (more.length) {
    const names = listedCopies(trace, more, most);
    told.push(
      `${copy.isEarly ? "It also overtook" : "It depends on what is missing there:"} ${names}.`,
    );
  }
  return told;
}

// Whether something that came too early proves that order was broken: not if that rests on a process
// at which the order of events is unsure.
export function isProof({ trace, process, path }) {
  const { unsure = [] } = trace.header;
  const used = [process, ...path.slice(1).map((m) => trace.sender[m])];
  return unsure !== null && !used.some((p) => unsure.includes(trace.processes[p]));
}

// Without a copy: of one whose path is not known.
export function brokenText(trace, copy = null) {
  const { unsure = [] } = trace.header;
  const isSure = copy ? isProof(copy) : unsure !== null && !unsure.length;
  return `${isSure ? "Causal" : "Perhaps causal"} order was BROKEN`;
}

// The witness of an early delivery as a phrase.
export function violationOf({ trace, process, message, delivered, missing, path }) {
  const first = trace.messageName(missing[0].message),
    second = trace.messageName(message);
  const through = path
    .slice(1, -1)
    .map((m) => trace.messageName(m))
    .join(", ");
  const how = through ? `depends on through ${through}` : "directly depends on";
  return (
    `${trace.processes[process]} delivered ${second}${atTime(trace, timeOf(trace, delivered))} without ${first}, ` +
    `which ${second} ${how}`
  );
}

function whatHappened({ trace, message, process, received, delivered, delay }) {
  const name = trace.processes[process],
    which = trace.messageName(message);
  const receivedAt = timeOf(trace, received),
    isNoted = !Number.isNaN(receivedAt);
  const subject = isNoted
    ? `${name} received ${which}${atTime(trace, receivedAt)}`
    : `Nobody noted when ${name} received ${which}`;
  const verb = isNoted ? " and" : "; it";
  if (delivered === NOTHING && trace.unread.behind)
    return `${subject}${verb} did not deliver it in the rows that were read.`;
  if (delivered === NOTHING) return `${subject}${verb} never delivered it.`;
  const end = atTime(trace, timeOf(trace, delivered));
  if (delay === null) return `${subject}${verb} delivered it${end}.`;
  return `${subject} and delivered it${end}: ${delay.held ? `held for ${sixDigits(delay.held)} s.` : "at once."}`;
}

function listedCopies(trace, copies, most) {
  const left = copies.length - most;
  return (
    copies
      .slice(0, most)
      .map((copy) => describedCopy(trace, copy))
      .join(", ") + (left > 0 ? ` and ${left} more` : "")
  );
}

function describedCopy(trace, copy) {
  const times = [];
  for (const [verb, event] of [
    ["arrived", copy.received],
    ["delivered", copy.delivered],
  ]) {
    const time = timeOf(trace, event);
    if (!Number.isNaN(time)) times.push(`${verb}${atTime(trace, time)}`);
  }
  return trace.messageName(copy.message) + (times.length ? ` (${times.join(", ")})` : "");
}

function atTime(trace, time) {
  return Number.isNaN(time) ? "" : ` at ${momentText(trace, time)}`;
}
