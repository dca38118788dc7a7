// An order of a run's rows that respects happened-before: the counterpart of
// antecede/trace/extension.py, event for event.
import { KINDS, NONE } from "./log.js";
import { BadLog } from "./problems.js";

const NO_CYCLE = "happened-before has no cycle";

// The rows in such an order. Processes take turns; an event comes after the one before it at its
// process, and after the send of its message. Throws an error that shows a cycle, if there is one.
export function orderOf(run) {
  const { size, processes, process, send } = run;
  const follower = new Int32Array(size).fill(NONE),
    latest = new Int32Array(processes.length).fill(NONE),
    starters = new Int32Array(processes.length).fill(NONE);
  for (let row = 0; row < size; row++) {
    const p = process[row];
    if (latest[p] === NONE) starters[p] = row;
    else follower[latest[p]] = row;
    latest[p] = row;
  }
  const ring = starters.filter((row) => row !== NONE),
    turns = ring.length;
  const order = new Int32Array(size),
    done = new Uint8Array(size),
    waitsFor = new Int32Array(size).fill(NONE);
  const first = new Int32Array(size).fill(NONE),
    final = new Int32Array(size).fill(NONE),
    following = new Int32Array(size).fill(NONE);
  let head = 0,
    ready = turns,
    scheduled = 0;
  while (ready > 0) {
    const row = ring[head];
    head = (head + 1) % turns;
    ready--;
    const needed = send[row];
    if (needed !== NONE && needed !== row && !done[needed]) {
      waitsFor[row] = needed;
      if (first[needed] === NONE) first[needed] = row;
      else following[final[needed]] = row;
      final[needed] = row;
      following[row] = NONE;
      continue;
    }
    waitsFor[row] = NONE;
    done[row] = 1;
    order[scheduled++] = row;
    if (follower[row] !== NONE) ring[(head + ready++) % turns] = follower[row];
    for (let waiting = first[row]; waiting !== NONE; waiting = following[waiting])
      ring[(head + ready++) % turns] = waiting;
  }
  if (scheduled < size) throw cycleIn(run, waitsFor);
  return order;
}

// At a process that is stuck, the next event waits for a send further on at another process that is
// stuck, and so on until one comes round again.
function cycleIn(run, waitsFor) {
  const { process, kind, number, send, log, event } = run;
  const stuckAt = new Map();
  waitsFor.forEach((needed, row) => needed !== NONE && stuckAt.set(process[row], row));
  const walk = [waitsFor.findIndex((needed) => needed !== NONE)];
  let following;
  while (!walk.includes((following = stuckAt.get(process[waitsFor[walk.at(-1)]])))) walk.push(following);
  const cycle = walk.slice(walk.indexOf(following));
  const seq = placesIn(run);
  const messageOf = (row) => `${run.processes[process[send[row]]]}:${number[row]}`;
  const steps = cycle.map((row, at) => {
    const sent = waitsFor[cycle.at(at - 1)];
    return (
      `${run.processes[process[row]]} has the ${KINDS[kind[row]]} of ${messageOf(row)} ` +
      `(seq ${seq[row]}) before the send of ${messageOf(sent)} (seq ${seq[sent]})`
    );
  });
  const where = `run '${run.name}', process '${run.processes[process[cycle[0]]]}', ${log.placeOf(event[cycle[0]])}`;
  return new BadLog(log.source, [`${where}: ${steps.join(", ")} (rule: ${NO_CYCLE})`]);
}

// The place of each row among those of its process.
function placesIn({ size, process, processes }) {
  const counts = new Int32Array(processes.length);
  return Int32Array.from({ length: size }, (_, row) => counts[process[row]]++);
}
