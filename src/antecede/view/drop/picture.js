// A judged run as the viewer takes it: the counterpart of antecede/view/dataset.py, waits.py and
// words.py. What the columns mean is told there.
import { DELIVER, HOP, NONE, SEND } from "./log.js";
import { NEVER, joinLayer, lastPredecessors } from "./judge.js";
import { assumedSentence } from "./problems.js";
import { doubtsOf, unsureAt } from "./verdict.js";

export const MOST_EVENTS = 2_000_000;
const LOCAL_KIND = 7;
const LONGEST_TEXT = 300;
const NEVER_CAME = -2;

// {header, columns, placeOf}: what the viewer's Trace is made of, and where each row stands; null if
// the run has more events than the viewer holds.
export function pictureOf(judged, title, assumed, isAbsolute) {
  const { run } = judged;
  const places = placesOf(judged);
  if (places.size > MOST_EVENTS) return null;
  const { log } = run;
  const waits = waitsOf(judged);
  const lanes = lanesOf(judged);
  const events = listEvents(judged, places, lanes);
  const { time, epoch } = timesOf(log, events.source, isAbsolute);
  let deliveries = 0,
    own = 0;
  for (let row = 0; row < run.size; row++) {
    if (run.kind[row] !== DELIVER) continue;
    deliveries++;
    own += run.process[row] === run.process[run.send[row]] ? 1 : 0;
  }
  const doubts = doubtsOf(deliveries, own, assumed);
  const header = {
    title,
    run: run.name,
    processes: [...lanes.keys()].sort((one, other) => lanes[one] - lanes[other]).map((p) => run.processes[p]),
    groupings: {},
    early: judged.counts.violations,
    excerpt: null,
    open_at: "",
    doubts: doubts.map(assumedSentence),
    unsure: unsureAt(doubts),
    epoch,
    per_second: 0,
    origin: 0,
  };
  const columns = {
    what: events.what,
    process: changesOf(events.process),
    time,
    ...messageColumns(judged, events, waits, places.placeOf, lanes),
  };
  return { header, columns, texts: events.texts, names: namesOf(judged), placeOf: places.placeOf };
}

// The lane of each process: in the order in which they do something, then are addressed.
function lanesOf({ run, order }) {
  const lanes = new Int32Array(run.processes.length).fill(NONE);
  let count = 0;
  const see = (process) => {
    if (lanes[process] === NONE) lanes[process] = count++;
  };
  for (const row of order) see(run.process[row]);
  for (const row of order)
    for (let at = run.start[row]; at < run.start[row + 1]; at++) see(run.destination[at]);
  return lanes;
}

// Where each row stands in the picture, with local events around it.
function placesOf({ run, order }) {
  const placeOf = new Int32Array(run.size);
  let size = 0;
  for (const row of order) {
    size += run.before.get(row)?.length ?? 0;
    placeOf[row] = size++;
    size += run.after.get(row)?.length ?? 0;
  }
  return { placeOf, size };
}

// The events of the picture: their kinds, processes, what the log says, and their rows or NONE.
function listEvents({ run, order }, { size }, lanes) {
  const { log } = run;
  const events = {
    what: new Uint32Array(size),
    process: new Int32Array(size),
    source: new Int32Array(size),
    row: new Int32Array(size).fill(NONE),
    texts: [],
  };
  let at = 0;
  const put = (event, what, process, row) => {
    events.what[at] = what;
    events.process[at] = process;
    events.row[at] = row;
    // A join that was made up, for a process with nothing but local events, says nothing.
    const isMadeUp = row !== NONE && log.kind[event] !== run.kind[row];
    events.source[at] = isMadeUp ? NONE : event;
    const text = isMadeUp ? null : log.text[event];
    if (text) events.texts[at] = text.slice(0, LONGEST_TEXT);
    at++;
  };
  for (const row of order) {
    const process = lanes[run.process[row]];
    for (const event of run.before.get(row) ?? []) put(event, LOCAL_KIND, process, NONE);
    put(run.event[row], run.kind[row] + 8 * run.layer[row], process, row);
    for (const event of run.after.get(row) ?? []) put(event, LOCAL_KIND, process, NONE);
  }
  return events;
}

function timesOf(log, source, isAbsolute) {
  const time = new Float64Array(source.length);
  let first = Infinity;
  for (let at = 0; at < time.length; at++) {
    time[at] = source[at] === NONE ? NaN : log.time[source[at]];
    if (time[at] < first) first = time[at];
  }
  if (first === Infinity) return { time: new Float64Array(0), epoch: null };
  if (!isAbsolute) return { time, epoch: null };
  for (let at = 0; at < time.length; at++) time[at] -= first;
  return { time, epoch: first };
}

// 0 where a value is that of the event before, else the value and 1.
function changesOf(values) {
  const changes = new Uint32Array(values.length);
  let before = NONE;
  for (let at = 0; at < values.length; at++) {
    changes[at] = values[at] === before ? 0 : values[at] + 1;
    before = values[at];
  }
  return changes;
}

function namesOf({ run, order }) {
  const { log } = run;
  const sends = order.filter((row) => run.kind[row] === SEND);
  return Array.from(sends, (row) => log.messages.names[log.message[run.event[row]]]);
}

function foldSign(value) {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}

function messageColumns({ run }, events, waits, placeOf, lanes) {
  const size = events.row.length;
  const numberOf = new Int32Array(run.size).fill(NONE);
  const steps = new Int32Array(size),
    counts = new Int32Array(run.processes.length);
  for (let at = 0; at < size; at++) steps[at] = counts[events.process[at]]++;
  const ages = [],
    delivered = [],
    arrived = [];
  const code = (at, waited) => {
    if (waited === NONE) return 0;
    return waited === NEVER_CAME ? 1 : foldSign(steps[at] - steps[placeOf[waited]]) + 2;
  };
  let sent = 0,
    before = NONE;
  for (let at = 0; at < size; at++) {
    const row = events.row[at];
    const kind = row === NONE ? LOCAL_KIND : run.kind[row];
    if (kind > DELIVER) {
      before = NONE;
      continue;
    }
    if (kind === SEND) numberOf[row] = sent++;
    const message = numberOf[run.send[row]];
    if (kind !== SEND) ages.push(message === before ? 0 : sent - message);
    if (kind === DELIVER) {
      delivered.push(code(at, waits.delivered[row]));
      arrived.push(code(at, waits.arrived[row]));
    }
    before = message;
  }
  return {
    age: Uint32Array.from(ages),
    wait_delivered: Uint32Array.from(delivered),
    wait_arrived: Uint32Array.from(arrived),
    ...missingColumns(waits.missing, numberOf, lanes),
    stamp_entries: new Uint32Array(sent),
    stamp_bytes: new Uint32Array(sent),
  };
}

// Pairs of a message and a process that it never reached, by message.
function missingColumns(missing, numberOf, lanes) {
  const sorted = missing
    .map(([row, process]) => [numberOf[row], lanes[process]])
    .sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  let before = 0;
  return {
    missing_message: Uint32Array.from(sorted, ([message]) => {
      const step = message - before;
      before = message;
      return step;
    }),
    missing_process: Uint32Array.from(sorted, ([, process]) => process),
  };
}

// Of every row what it waited for: a row, NONE or NEVER_CAME.
function waitsOf({ run, order, joined: application, last }) {
  const waits = {
    delivered: new Int32Array(run.size).fill(NONE),
    arrived: new Int32Array(run.size).fill(NONE),
    missing: [],
  };
  for (let layer = 0; layer <= HOP; layer++) {
    if (layer !== 0 && !run.layer.includes(layer)) continue;
    const joined = layer === 0 ? application : joinLayer(run, order, layer);
    const count = run.processes.length;
    const delivered = layer === 0 ? last : lastPredecessors(joined, joined.rank, count);
    point(joined, order, delivered, joined.rank, joined.delivery, waits.delivered, count);
    const arrived = joined.hasReceptions
      ? lastPredecessors(joined, joined.arrival, count)
      : delivered;
    point(joined, order, arrived, joined.arrival, joined.arrived, waits.arrived, count);
    for (let m = 0; m < joined.send.length; m++)
      for (let copy = joined.start[m]; copy < joined.start[m + 1]; copy++)
        if (joined.arrival[copy] === NEVER)
          waits.missing.push([order[joined.place[joined.send[m]]], joined.column[copy]]);
  }
  return waits;
}

function point(joined, order, last, rank, event, waits, processes) {
  const byRank = Array.from({ length: processes }, () => []);
  for (let copy = 0; copy < rank.length; copy++)
    if (rank[copy] !== NEVER) byRank[joined.column[copy]][rank[copy]] = event[copy];
  const rowAt = (at) => order[joined.place[at]];
  for (let copy = 0; copy < rank.length; copy++) {
    const own = joined.delivery[copy];
    if (own === NONE || last[copy] === 0) continue;
    if (last[copy] === NEVER) waits[rowAt(own)] = NEVER_CAME;
    else {
      const found = byRank[joined.column[copy]][last[copy]];
      if (found > joined.arrived[copy]) waits[rowAt(own)] = rowAt(found);
    }
  }
}
