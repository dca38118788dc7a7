// The proof of an early delivery: the counterpart of antecede/verify/witness.py.
import { DELIVER, NONE, SEND } from "./log.js";
import { copyOf } from "./judge.js";

// The earliest sent message that an early copy overtook, found on the way back from its send.
export function overtakenBy(joined, early, marks) {
  const { process, kind, message, send, column, rank } = joined;
  const second = message[joined.delivery[early]],
    q = column[early];
  const mark = ++marks.count;
  marks.process[process[send[second]]] = mark;
  const stop = send[firstLater(joined, q, rank[early])];
  let found = NONE;
  for (let at = send[second] - 1; at >= stop; at--) {
    const p = process[at],
      m = message[at];
    if (kind[at] === SEND) {
      if (marks.message[m] === mark) marks.process[p] = mark;
      if (marks.process[p] !== mark) continue;
      const copy = copyOf(joined, m, q);
      if (copy !== NONE && rank[copy] > rank[early]) found = m;
    } else if (kind[at] === DELIVER && joined.copy[at] !== NONE && marks.process[p] === mark)
      marks.message[m] = mark;
  }
  return found;
}

export function makeMarks(run, joined) {
  return {
    count: 0,
    process: new Int32Array(run.processes.length),
    message: new Int32Array(joined.send.length),
  };
}

// The first message to a process that is delivered after this rank, or never.
function firstLater({ column, rank, start }, q, own) {
  let copy = 0;
  while (column[copy] !== q || rank[copy] <= own) copy++;
  let low = 0,
    high = start.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (start[middle] <= copy) low = middle;
    else high = middle - 1;
  }
  return low;
}

// A shortest causal path from one message to another that depends on it, both included.
export function shortestPath(joined, processes, first, second) {
  const { process, kind, message, send } = joined;
  const previous = new Int32Array(second - first + 1).fill(NONE),
    steps = new Int32Array(second - first + 1),
    nearest = new Int32Array(processes).fill(NONE),
    away = new Int32Array(processes);
  for (let at = send[first]; at <= send[second]; at++) {
    const p = process[at],
      m = message[at];
    if (kind[at] === SEND) {
      if (m === first) {
        nearest[p] = m;
        away[p] = 0;
      } else if (nearest[p] !== NONE) {
        previous[m - first] = nearest[p];
        steps[m - first] = away[p] + 1;
      }
    } else if (kind[at] === DELIVER && joined.copy[at] !== NONE && m >= first) {
      const isReached = m === first || previous[m - first] !== NONE;
      if (isReached && (nearest[p] === NONE || steps[m - first] < away[p])) {
        nearest[p] = m;
        away[p] = steps[m - first];
      }
    }
  }
  const path = [second];
  while (path.at(-1) !== first) path.push(previous[path.at(-1) - first]);
  return path.reverse();
}
