// What the judge says, in numbers and in sentences: the counterpart of antecede/verify/verdict.py.
import { APP } from "./log.js";
import { countsOf, earlyCopies, joinLayer, lastPredecessors } from "./judge.js";
import { orderOf } from "./order.js";
import { OWN, assume, assumedSentence } from "./problems.js";
import { briefNumber } from "./text.js";
import { makeMarks, overtakenBy, shortestPath } from "./witness.js";

export const WITNESS_LIMIT = 100;
const NO_DELIVERY = assume(
  "nothing",
  "there is no delivery to judge",
  "either nothing was delivered or the deliveries were not recorded",
);

// A run judged: its order, its application's layer joined, and what was found.
export function judgeRun(run, isAbsolute) {
  const order = orderOf(run);
  const joined = joinLayer(run, order, APP);
  const last = lastPredecessors(joined, joined.rank, run.processes.length);
  const early = earlyCopies(joined, last);
  const judged = { run, order, joined, last, counts: countsOf(run, joined, early) };
  judged.witnesses = witnessesOf(judged, early.slice(0, WITNESS_LIMIT), isAbsolute);
  return judged;
}

function witnessesOf({ run, order, joined }, early, isAbsolute) {
  const { log } = run,
    marks = makeMarks(run, joined);
  const rowAt = (at) => order[joined.place[at]];
  return early.map((copy) => {
    const delivery = rowAt(joined.delivery[copy]),
      event = run.event[delivery];
    const second = joined.message[joined.delivery[copy]];
    const steps = shortestPath(joined, run.processes.length, overtakenBy(joined, copy, marks), second);
    const rows = steps.map((message) => rowAt(joined.send[message]));
    const path = rows.map((row) => `${run.processes[run.process[row]]}:${run.number[row]}`);
    const names = rows.map((row) => log.messages.names[log.message[run.event[row]]]);
    const witness = {
      run: run.name,
      process: run.processes[run.process[delivery]],
      first: path[0],
      second: path.at(-1),
      path,
      time: Number.isNaN(log.time[event]) ? null : log.time[event],
      names,
      place: log.placeOf(event),
      row: delivery,
    };
    return { ...witness, sentence: witnessSentence(witness, isAbsolute) };
  });
}

function witnessSentence({ process, names, time, place }, isAbsolute) {
  const when = time === null ? "" : ` at ${timeText(time, isAbsolute)}`;
  const through = names.slice(1, -1).join(", ");
  const how = through ? `depends on through ${through}` : "directly depends on";
  const second = names.at(-1);
  return `${process} delivered ${second}${when} (${place}) without ${names[0]}, which ${second} ${how}`;
}

// A time for a person: of the day, or in seconds.
function timeText(seconds, isAbsolute) {
  const whole = Math.floor(Number(seconds.toFixed(6)));
  const micros = Math.round((Number(seconds.toFixed(6)) - whole) * 1e6);
  const date = new Date(whole * 1e3);
  const year = isAbsolute ? date.getUTCFullYear() : NaN;
  if (!(year >= 1 && year <= 9999)) return `${briefNumber(seconds)} s`;
  const [day, clock] = date.toISOString().slice(0, 19).split("T");
  return `${day} ${clock}${micros ? `.${String(micros).padStart(6, "0")}` : ""}Z`;
}

// Why order cannot be said to have been kept, after so many deliveries, so many of them in runs in
// which each is at the sender itself.
export function doubtsOf(deliveries, own, assumed) {
  const isOwn = deliveries > 0 && deliveries === own && !assumed.some((one) => one.what === OWN.what);
  const nothing = isOwn ? [OWN] : deliveries ? [] : [NO_DELIVERY];
  return [...nothing, ...assumed.filter((one) => one.doubt)];
}

// Whether a proof rests on no process at which the order of events is unsure.
function isSure({ process, path }, unsure) {
  const used = [process, ...path.slice(1).map((message) => message.slice(0, message.lastIndexOf(":")))];
  return unsure !== null && !used.some((one) => unsure.includes(one));
}

// The processes at which the order of events is unsure; null where it may be anywhere.
export function unsureAt(doubts) {
  const found = doubts.filter((one) => one.unsure);
  if (found.some((one) => !one.processes.length)) return null;
  return [...new Set(found.flatMap((one) => one.processes))];
}

// The verdict on all runs together, as `verify --json` prints it, but for delays.
export function verdictOn(judged, assumed) {
  const total = { runs: 0, messages: 0, deliveries: 0, violations: 0 };
  Object.assign(total, { undelivered: 0, undelivered_at_crashed: 0 });
  for (const { counts } of judged) for (const name in total) total[name] += counts[name];
  const own = judged.reduce((sum, { counts }) => sum + counts.own_only, 0);
  const doubts = doubtsOf(total.deliveries, own, assumed);
  const unsure = unsureAt(doubts);
  const witnesses = judged
    .flatMap((one) => one.witnesses)
    .slice(0, WITNESS_LIMIT)
    .map((one) => ({ ...one, isSure: isSure(one, unsure) }));
  const isBroken = total.violations && witnesses.some((one) => one.isSure);
  const answer = isBroken ? "broken" : doubts.length ? "cannot tell" : "kept";
  return {
    answer,
    doubts: doubts.map((one) => one.what),
    reasons: doubts.map(assumedSentence),
    assumed: assumed.map((one) => ({
      what: one.what,
      count: one.count || null,
      first: one.first || null,
      doubt: one.doubt,
      ...(one.unsure ? { "unsure at": one.processes.length ? one.processes : null } : {}),
      sentence: assumedSentence(one),
    })),
    ...total,
    witnesses,
  };
}
