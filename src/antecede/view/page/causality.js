// Who may have influenced whom: sweeps over the events, which stand in a linear extension of
// happened-before. Local order counts, and a message from its send to its delivery. A reception by
// itself tells the application nothing: it depends on its send, and nothing depends on it but what
// comes later at its process.
//
// What an event depends on is a beginning of every process, so one number a process says it all.
import { SEND, RECEIVE, DELIVER, NOTHING } from "./data.js";

const ALL_LAYERS = [true, true, true];

// How many steps of each process lie in the past of an event, as an array.
export function pastOf(trace, event, shown = ALL_LAYERS) {
  const { kind, process, message, layer, step } = trace;
  const reach = new Int32Array(trace.processes.length);
  const wanted = new Uint8Array(trace.messages);
  const filter = !(shown[0] && shown[1]);
  reach[process[event]] = step[event];
  if (kind[event] === RECEIVE || kind[event] === DELIVER) wanted[message[event]] = 1;
  for (let i = event - 1; i >= 0; i--) {
    if (filter && !shown[layer[i]]) continue;
    const p = process[i];
    if (reach[p] > 0) {
      if (kind[i] === DELIVER) wanted[message[i]] = 1;
    } else if (kind[i] === SEND && wanted[message[i]]) reach[p] = step[i] + 1;
  }
  return reach;
}

// From which step on each process lies in the future of an event, and which messages do; of those
// the receptions belong to the future, too.
export function futureOf(trace, event, shown = ALL_LAYERS) {
  const { kind, process, message, layer, step } = trace;
  const from = trace.laneStart.slice(1).map((end, p) => end - trace.laneStart[p]);
  const known = new Uint8Array(trace.messages);
  const filter = !(shown[0] && shown[1]);
  from[process[event]] = step[event] + 1;
  if (kind[event] === SEND) known[message[event]] = 1;
  for (let i = event + 1; i < trace.size; i++) {
    if (filter && !shown[layer[i]]) continue;
    const p = process[i],
      m = message[i];
    if (step[i] >= from[p]) {
      if (kind[i] === SEND) known[m] = 1;
    } else if (kind[i] === DELIVER && known[m]) from[p] = step[i];
  }
  return { from, known };
}

// An event with its past and its future; whatever is in neither is concurrent with it.
export class Cone {
  constructor(trace, event, shown = ALL_LAYERS) {
    this.trace = trace;
    this.event = event;
    this.shown = shown;
    this.past = pastOf(trace, event, shown);
    const future = futureOf(trace, event, shown);
    this.from = future.from;
    this.known = future.known;
  }

  isPast(i) {
    return this.trace.step[i] < this.past[this.trace.process[i]];
  }

  isFuture(i) {
    const { trace } = this;
    if (trace.step[i] >= this.from[trace.process[i]]) return true;
    return trace.kind[i] === RECEIVE && this.known[trace.message[i]] === 1 && i !== this.event;
  }

  // How many events are in the past, in the future and in neither.
  counts() {
    const { trace, shown } = this;
    const found = { past: 0, future: 0, concurrent: 0 };
    for (let i = 0; i < trace.size; i++) {
      if (i === this.event || !shown[trace.layer[i]]) continue;
      if (this.isPast(i)) found.past++;
      else if (this.isFuture(i)) found.future++;
      else found.concurrent++;
    }
    return found;
  }

  // The events in one of the three, at most `limit`.
  list(which, limit = Infinity) {
    const { trace, shown } = this,
      found = [];
    for (let i = 0; i < trace.size && found.length < limit; i++) {
      if (i === this.event || !shown[trace.layer[i]]) continue;
      const where = this.isPast(i) ? "past" : this.isFuture(i) ? "future" : "concurrent";
      if (where === which) found.push(i);
    }
    return found;
  }
}

// The copies to a process of all messages in the past of one, in the order of their sends: message,
// first reception and delivery there, or NOTHING.
export function predecessorsAt(trace, message, process) {
  const send = trace.sendOf[message],
    layer = trace.layer[send];
  const reach = pastOf(trace, send, [layer === 0, layer === 1, true]);
  const isBefore = (m) => {
    const sent = trace.sendOf[m];
    return (
      m !== message &&
      trace.layer[sent] === layer &&
      trace.sender[m] !== process &&
      trace.step[sent] < reach[trace.sender[m]]
    );
  };
  const copies = new Map();
  for (let place = trace.laneStart[process]; place < trace.laneStart[process + 1]; place++) {
    const i = trace.laneEvents[place],
      m = trace.message[i];
    if (m < 0 || trace.kind[i] === SEND || !isBefore(m)) continue;
    const copy = copies.get(m) ?? { message: m, received: NOTHING, delivered: NOTHING };
    if (trace.kind[i] === DELIVER) copy.delivered = i;
    else if (copy.received === NOTHING && copy.delivered === NOTHING) copy.received = i;
    copies.set(m, copy);
  }
  for (let at = 0; at < trace.missingProcess.length; at++) {
    const m = trace.missingMessage[at];
    if (trace.missingProcess[at] === process && isBefore(m)) {
      copies.set(m, { message: m, received: NOTHING, delivered: NOTHING });
    }
  }
  return [...copies.values()].sort((a, b) => a.message - b.message);
}

// A shortest causal path from one message to another that depends on it: each was sent by a process
// after it had sent or delivered the one before. The same search as antecede.verify.witness.
export function shortestPath(trace, first, second) {
  const { kind, process, message } = trace;
  const layer = trace.layer[trace.sendOf[first]];
  const previous = new Map([[first, NOTHING]]),
    away = new Map([[first, 0]]);
  const nearest = new Int32Array(trace.processes.length).fill(NOTHING);
  for (let i = trace.sendOf[first]; i <= trace.sendOf[second]; i++) {
    const p = process[i],
      m = message[i];
    if (m < 0 || trace.layer[i] !== layer || kind[i] === RECEIVE) continue;
    if (m === first && kind[i] === SEND) nearest[p] = m;
    else if (kind[i] === SEND) {
      if (nearest[p] === NOTHING) continue;
      previous.set(m, nearest[p]);
      away.set(m, away.get(nearest[p]) + 1);
    } else if (away.has(m) && trace.sender[m] !== p) {
      if (nearest[p] === NOTHING || away.get(m) < away.get(nearest[p])) nearest[p] = m;
    }
  }
  if (!previous.has(second)) return [];
  const path = [second];
  while (path[0] !== first) path.unshift(previous.get(path[0]));
  return path;
}
