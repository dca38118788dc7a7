// The order in which each process did things, as far as a log tells it, and where it does not: the
// counterpart of antecede/imports/local_order.py.
import { LOCAL, eachNext } from "./log.js";
import { oldestFirst } from "./newest.js";
import { BadLog, OTHERWISE, advised, assume } from "./problems.js";
import { FROM_START, UNZONED } from "./times.js";

const TIES = assume(
  "ties",
  "a process has events at the same time in several files; the file that is named first counts as earlier",
  OTHERWISE,
  { unsure: true },
);
const STARTS = assume(
  "ties",
  "a process has events in several files, whose times count from some start, taken for the same",
  OTHERWISE,
  { unsure: true },
);
const SAME_SEQ = assume(
  "ties",
  "a process has events with the same seq; the one that the log has first counts as earlier",
  OTHERWISE,
  { unsure: true },
);
const AGAINST_SEQ = assume(
  "ties",
  "some events have no seq, so those of a process count in the order of the log, which is not that of seq",
  OTHERWISE,
  { unsure: true },
);
const BACKWARDS = assume(
  "backwards",
  "times of a process run backwards in the log, whose order counts",
  "if the times are right, the order is not: sort the log by time, or number its rows (seq)",
  { unsure: true },
);
const AGAINST = assume(
  "ties",
  "events of a process count in the order of their numbers, which is not that of the times or, where " +
    "these say nothing, of the log",
  "",
  { unsure: true },
);
const MIXED = assume(
  "ties",
  "a process has events in several files, whose times are not written alike (unit, zone)",
  "how they lie to each other is a guess: write them alike, or number the events (seq)",
  { unsure: true },
);
const GRAIN = assume(
  "ties",
  "a process has events in several files, at times that differ by less than the coarser tells",
  OTHERWISE,
  { unsure: true },
);
const SET_BACK = assume(
  "ties",
  "a process has events in several files, at times without a zone in a night in which clocks may have " +
    "been set back, less than an hour apart",
  OTHERWISE,
  { unsure: true },
);
const FOLDING = [2, 3, 4, 9, 10, 11];
const GRAINS = [86400, 60, 1];
const MILLISECOND = 1e-3;
// What the difference of two times may lack, for numbers have no more digits.
const ROUNDED = 5e-7;
// How sure it is that the events of a process stand in its order: they seem to in each file, they do
// in each file whatever times say, or they do.
export const SEEMS = 0,
  IN_FILE = 1,
  GIVEN = 2;

// By `seq` if all have one, else as the file has them, and by time where a process is in several
// files. Gives {ordered, doubts}. `guessedSeq` is the column for `seq`, if nobody but its name says
// that it numbers events.
export function inLocalOrder(log, events, order, guessedSeq) {
  if (order === GIVEN) return { ordered: events, doubts: [] };
  if (events.every((event) => log.seq[event] !== null)) {
    const ordered = bySeq(log, events);
    const against = guessedSeq ? doubtsAboutNumbers(log, ordered, guessedSeq) : [];
    return { ordered, doubts: [...doubtsAbout(log, ordered), ...against] };
  }
  const told = [];
  if (order === SEEMS) events = oldestFirst(log, events, told);
  const split = splitProcesses(log, events);
  // Where files are joined by time, each one's own order has no say.
  const backwards = backwardsIn(log, events).filter(
    (event) => order === SEEMS || split.has(log.process[event]),
  );
  const ordered = byTimeAcrossFiles(log, events, split);
  told.push(...doubtsAbout(log, ordered));
  told.push(...log.assumed([[BACKWARDS, backwards], ...acrossFiles(log, ordered, split)]));
  return { ordered, doubts: told };
}

// The processes that have events in several files.
function splitProcesses({ process, file, files }, events) {
  const firstFile = new Map(),
    split = new Set();
  if (files.length === 1) return split;
  for (const event of events) {
    const p = process[event];
    if (!firstFile.has(p)) firstFile.set(p, file[event]);
    else if (firstFile.get(p) !== file[event]) split.add(p);
  }
  return split;
}

// What a process did later by the file than by the clock.
function backwardsIn(log, events) {
  const { time, seq } = log,
    found = [];
  const note = (event, before) => {
    if (seq[event] === null && time[event] < time[before]) found.push(event);
  };
  eachNext(log, events, note, log.files.length > 1);
  return found;
}

// Where the times of several files do not order what a process did: they count from a start, which
// may be another in each, are written in several ways, or tell too little.
function acrossFiles(log, ordered, split) {
  const { process, file, time, scale } = log;
  if (!split.size) return [];
  const joined = ordered.filter((event) => split.has(process[event]));
  const times = new Map(),
    scales = new Map();
  const key = (event) => `${process[event]} ${file[event]}`;
  for (const event of joined) {
    if (!times.has(key(event))) times.set(key(event), []);
    times.get(key(event)).push(time[event]);
    if (!scales.has(process[event])) scales.set(process[event], new Set());
    scales.get(process[event]).add(scale[event]);
  }
  const grains = new Map([...times].map(([one, found]) => [one, grainOf(found)]));
  const coarse = [],
    folded = [];
  eachNext(log, joined, (event, before) => {
    const grain = Math.max(grains.get(key(event)), grains.get(key(before)));
    const apart = time[event] - time[before];
    if (file[before] === file[event]) return;
    if (0 < apart && apart < grain) coarse.push(event);
    if (apart <= 3600 && isFolded(log, before) && isFolded(log, event)) folded.push(event);
  });
  return [
    [STARTS, joined.filter((event) => scale[event] === FROM_START)],
    [MIXED, joined.filter((event) => scales.get(process[event]).size > 1)],
    [GRAIN, coarse],
    [SET_BACK, folded],
  ];
}

// Whether an hour may have come twice: on Sundays in spring and autumn, before 4.
function isFolded({ time, scale }, event) {
  if (scale[event] !== UNZONED) return false;
  const date = new Date(Math.floor(time[event]) * 1000);
  return date.getUTCDay() === 0 && date.getUTCHours() < 4 && FOLDING.includes(date.getUTCMonth() + 1);
}

// What times tell at least apart; nothing if it is less than a millisecond.
function grainOf(times) {
  for (const grain of GRAINS) if (times.every((time) => time % grain === 0)) return grain - ROUNDED;
  const isWhole = times.every((time) => Math.abs(1000 * time - Math.floor(1000 * time + 0.5)) < 1e-3);
  return isWhole ? MILLISECOND - ROUNDED : 0;
}

function byTimeAcrossFiles(log, events, split) {
  const { process, file, time } = log;
  if (!split.size) return events;
  for (const event of events)
    if (split.has(process[event]) && Number.isNaN(time[event])) {
      const first = file[events.find((one) => process[one] === process[event])];
      const detail =
        `${log.placeOf(event)}: '${log.processes.names[process[event]]}' has events in several files ` +
        `(${log.files[first]} is the first) and no time here, so nothing says ` +
        "what came first; --column time=FIELD or --column seq=FIELD says it";
      throw new BadLog(log.source, [detail]);
    }
  const key = (event) => (split.has(process[event]) ? time[event] : 0);
  return events.sort((one, other) => key(one) - key(other));
}

// What a process did at the same time by several files, or under the same number: nothing says in
// which order.
function doubtsAbout(log, events) {
  const { process, file, time, kind, message, seq } = log;
  const last = new Map(),
    numbered = new Map(),
    found = new Map([TIES, SAME_SEQ, AGAINST_SEQ].map((what) => [what, []]));
  for (const event of events) {
    if (kind[event] === LOCAL) continue;
    const p = process[event];
    const before = last.get(p) ?? event;
    last.set(p, event);
    const largest = numbered.get(p) ?? -Infinity;
    if (seq[event] !== null && seq[event] >= largest) numbered.set(p, seq[event]);
    if (kind[before] === kind[event] && message[before] === message[event]) continue;
    if (seq[event] !== null) {
      const isSame = seq[before] !== null && seq[before] <= seq[event] && seq[before] >= seq[event];
      if (seq[event] <= largest) found.get(isSame ? SAME_SEQ : AGAINST_SEQ).push(event);
    } else if (time[event] === time[before] && file[event] !== file[before])
      found.get(TIES).push(event);
  }
  if (found.get(AGAINST_SEQ).length)
    for (const event of events)
      if (seq[event] === null && kind[event] !== LOCAL) found.get(AGAINST_SEQ).push(event);
  return log.assumed(found);
}

// Numbers may be those of messages, or begin anew.
function doubtsAboutNumbers(log, events, column) {
  const { file, line, time } = log;
  const found = [];
  eachNext(log, events, (event, before) => {
    const isLater = time[event] > time[before];
    const isInFile = file[event] === file[before] && line[event] > line[before];
    if (time[event] < time[before] || (!isLater && !isInFile && file[event] === file[before]))
      found.push(event);
  });
  const meaning =
    `${advised("--column", "seq", column)} says that they number the events of each process, --column seq= ` +
    "that they do not";
  return log.assumed([[{ ...AGAINST, meaning }, found]]);
}

// By process, in the order that Python sorts names in, and by `seq` within.
function bySeq({ seq, process, processes }, events) {
  const lists = new Map();
  for (const event of events) {
    const list = lists.get(process[event]);
    if (list) list.push(event);
    else lists.set(process[event], [event]);
  }
  const codes = [...lists.keys()].sort((one, other) =>
    compareNames(processes.names[one], processes.names[other]),
  );
  const isBefore = (one, other) => seq[one] < seq[other];
  return codes.flatMap((code) => {
    const list = lists.get(code);
    const isSorted = list.every((event, at) => at === 0 || !isBefore(event, list[at - 1]));
    return isSorted
      ? list
      : list.sort((one, other) => (isBefore(one, other) ? -1 : isBefore(other, one) ? 1 : 0));
  });
}

function compareNames(one, other) {
  const [a, b] = [[...one], [...other]];
  for (let at = 0; at < Math.min(a.length, b.length); at++)
    if (a[at] !== b[at]) return a[at].codePointAt(0) - b[at].codePointAt(0);
  return a.length - b.length;
}
