// Files in which the newest line stands first: the counterpart of antecede/imports/newest_first.py.
import { eachNext } from "./log.js";
import { OTHERWISE, assume } from "./problems.js";

export const NEWEST_FIRST = assume(
  "newest-first",
  "times fall from line to line, so the log was read from its end",
  "",
  { doubt: false },
);
const FEW_FALLS = assume(
  "newest-first",
  "the few times of a file fall from line to line, so it was read from its end",
  "if its clock was set back, it stands in order: number its rows (seq)",
  { unsure: true },
);
const ANY_ORDER = assume(
  "ties",
  "the times of a file fall, so what a process did there at the same time, or at none, may stand in any order",
  OTHERWISE,
  { unsure: true },
);
const FALLS = 3;

// Each file from its end if the newest stands first there. Sorted like that, what happened at the
// same time may stand in any order, also in a file that has no more than one time.
export function oldestFirst(log, events, told) {
  const files = byFile(log, events).map((own) => ({ own, steps: stepsOf(log, own) }));
  let few = [],
    any = [],
    turned = 0;
  const isTurnedSomewhere = files.some(({ steps }) => steps.isTurned);
  for (const { own, steps } of files) {
    if (steps.isTurned) {
      own.reverse();
      if (steps.falls < FALLS) few = few.concat(own);
      else turned += own.length;
    }
    if (steps.isFalling || (steps.isFlat && isTurnedSomewhere)) any = any.concat(withoutOrder(log, own));
  }
  if (turned) told.push({ ...NEWEST_FIRST, count: turned });
  told.push(...log.assumed([[FEW_FALLS, few], [ANY_ORDER, any]]));
  return isTurnedSomewhere ? files.flatMap(({ own }) => own) : events;
}

function byFile({ file, files }, events) {
  if (files.length === 1) return [events];
  const found = new Map();
  for (const event of events) {
    if (!found.has(file[event])) found.set(file[event], []);
    found.get(file[event]).push(event);
  }
  return [...found.values()];
}

// How often times rise and fall in a file: at its processes, and from line to line.
function stepsOf({ process, time, scale }, events) {
  const last = new Map(),
    scales = new Set();
  let before = NaN,
    rises = 0,
    falls = 0,
    risesInAll = 0,
    fallsInAll = 0;
  for (const event of events) {
    const now = time[event];
    if (Number.isNaN(now)) continue;
    const own = last.get(process[event]) ?? now;
    if (own < now) rises++;
    if (own > now) falls++;
    if (before < now) risesInAll++;
    if (before > now) fallsInAll++;
    last.set(process[event], now);
    before = now;
    scales.add(scale[event]);
  }
  return {
    falls,
    isTurned: falls > 0 && risesInAll === 0 && scales.size === 1,
    isFalling: falls > 0 || (fallsInAll > 0 && risesInAll === 0),
    isFlat: rises === 0 && falls === 0,
  };
}

// What a process did at the same time as something else, or at no time.
function withoutOrder(log, events) {
  const { time } = log,
    found = [];
  eachNext(log, events, (event, before) => {
    if (!(time[event] < time[before] || time[event] > time[before])) found.push(event);
  });
  return found;
}
