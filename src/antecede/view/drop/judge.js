// Early deliveries, and what every delivery waited for: the counterpart of antecede/verify/kernel.py.
import { CRASH, DELIVER, NONE, RECEIVE, SEND } from "./log.js";

export const NEVER = 2 ** 31 - 1;
const MOST_CELLS = 2 ** 28;

// One layer of a run in its order, joined. Events are its sends, receptions and deliveries; messages
// are counted in the order of their sends. A copy is a message and one destination other than its
// sender; the copies of message m are those from start[m] to start[m + 1], by destination.
export function joinLayer(run, order, layer) {
  const places = [];
  for (let at = 0; at < order.length; at++)
    if (run.layer[order[at]] === layer && run.kind[order[at]] <= DELIVER) places.push(at);
  const joined = {
    place: Int32Array.from(places),
    process: new Int32Array(places.length),
    kind: new Uint8Array(places.length),
    message: new Int32Array(places.length),
  };
  const numbers = new Int32Array(run.size).fill(NONE),
    sends = [],
    starts = [0],
    columns = [];
  for (let at = 0; at < places.length; at++) {
    const row = order[places[at]];
    joined.process[at] = run.process[row];
    joined.kind[at] = run.kind[row];
    if (run.kind[row] === SEND) {
      numbers[row] = sends.length;
      sends.push(at);
      const to = run.destination.slice(run.start[row], run.start[row + 1]).sort();
      for (const one of to) if (one !== run.process[row]) columns.push(one);
      starts.push(columns.length);
    }
    joined.message[at] = numbers[run.send[row]];
  }
  joined.send = Int32Array.from(sends);
  joined.start = Int32Array.from(starts);
  joined.column = Int32Array.from(columns);
  return rankCopies(joined, run.processes.length);
}

// The copy of a message for a process, or NONE.
export function copyOf({ start, column }, message, process) {
  let low = start[message],
    high = start[message + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < process) low = middle + 1;
    else high = middle;
  }
  return low < start[message + 1] && column[low] === process ? low : NONE;
}

// The deliveries at a process have ranks 1, 2, 3 ..., and so have arrivals: a reception, or the
// delivery if there was none before.
function rankCopies(joined, processes) {
  const { process, kind, message, send, column } = joined;
  const copies = column.length;
  Object.assign(joined, {
    rank: new Int32Array(copies).fill(NEVER),
    arrival: new Int32Array(copies).fill(NEVER),
    delivery: new Int32Array(copies).fill(NONE),
    arrived: new Int32Array(copies).fill(NONE),
    copy: new Int32Array(process.length).fill(NONE),
    deliveries: new Int32Array(send.length),
    delivered: 0,
    hasReceptions: false,
  });
  const ranks = new Int32Array(processes),
    arrivals = new Int32Array(processes);
  for (let at = 0; at < process.length; at++) {
    if (kind[at] === SEND) continue;
    joined.delivered += kind[at] === DELIVER ? 1 : 0;
    const copy = copyOf(joined, message[at], process[at]);
    if (copy === NONE) continue;
    joined.copy[at] = copy;
    if (kind[at] === RECEIVE) joined.hasReceptions = true;
    if (joined.arrived[copy] === NONE) {
      joined.arrived[copy] = at;
      joined.arrival[copy] = ++arrivals[process[at]];
    }
    if (kind[at] === DELIVER) {
      joined.delivery[copy] = at;
      joined.rank[copy] = ++ranks[process[at]];
      joined.deliveries[message[at]]++;
    }
  }
  return joined;
}

// For each copy the rank of the last of its message's predecessors at its destination. For every
// process there is a row of cells: the cell of q is the largest rank, at q, of all messages to q whose
// send is in the past of p. A message carries a copy of its sender's row.
export function lastPredecessors(joined, rank, processes) {
  const { process, kind, message, start, column } = joined;
  const { cellOf, width } = cellsOf(column, processes);
  const rows = new Array(processes).fill(null),
    carried = new Array(joined.send.length).fill(null),
    left = joined.deliveries.slice(),
    spare = [];
  let made = 0;
  const rowFor = () => {
    if (spare.length) return spare.pop();
    if (++made * width > MOST_CELLS)
      throw new RangeError("too much is under way at once for a browser; antecede audit reads it");
    return new Int32Array(width);
  };
  const last = new Int32Array(column.length);
  for (let at = 0; at < process.length; at++) {
    const p = process[at],
      m = message[at];
    if (kind[at] === SEND) {
      const row = (rows[p] ??= new Int32Array(width));
      for (let copy = start[m]; copy < start[m + 1]; copy++) {
        const q = cellOf[column[copy]];
        if (rank[copy] !== NEVER) last[copy] = row[q];
        if (rank[copy] > row[q]) row[q] = rank[copy];
      }
      if (left[m] > 0) (carried[m] = rowFor()).set(row);
    } else if (kind[at] === DELIVER && joined.copy[at] !== NONE) {
      const row = (rows[p] ??= new Int32Array(width)),
        other = carried[m];
      for (let q = 0; q < width; q++) if (other[q] > row[q]) row[q] = other[q];
      if (--left[m] === 0) {
        spare.push(other);
        carried[m] = null;
      }
    }
  }
  return last;
}

// Only destinations have cells.
function cellsOf(column, processes) {
  const cellOf = new Int32Array(processes).fill(NONE);
  let width = 0;
  for (const q of column) if (cellOf[q] === NONE) cellOf[q] = width++;
  return { cellOf, width };
}

// The early copies of a layer, those first that were delivered first.
export function earlyCopies(joined, last) {
  const early = [];
  for (let copy = 0; copy < last.length; copy++)
    if (joined.rank[copy] !== NEVER && last[copy] > joined.rank[copy]) early.push(copy);
  return early.sort((one, other) => joined.delivery[one] - joined.delivery[other]);
}

// What the verdict on a run counts; of the application's layer.
export function countsOf(run, joined, early) {
  const crashed = new Uint8Array(run.processes.length);
  for (let row = 0; row < run.size; row++) if (run.kind[row] === CRASH) crashed[run.process[row]] = 1;
  let undelivered = 0,
    atCrashed = 0;
  for (let copy = 0; copy < joined.column.length; copy++)
    if (joined.rank[copy] === NEVER) {
      undelivered++;
      atCrashed += crashed[joined.column[copy]];
    }
  return {
    runs: 1,
    messages: joined.send.length,
    deliveries: joined.delivered,
    violations: early.length,
    undelivered,
    undelivered_at_crashed: atCrashed,
    own_only: joined.deliveries.some((count) => count > 0) ? 0 : joined.delivered,
  };
}
