// Where an event stands from left to right: by time, by its place in the linear extension, or by
// its depth (Lamport's clock). Stretches of time in which nothing happens are folded.
import { RECEIVE, DELIVER } from "./data.js";
import { briefly, grouped, sixDigits } from "./words.js";

export const AXES = ["time", "position", "depth"];
const LONGEST_GAP = 0.03;
const TYPICAL_GAPS = 8;
const FOLDED_TO = 0.006;

// An axis over one trace or two: `places[k][i]` is where event i of trace k stands.
export class Axis {
  constructor(kind, traces, { fold = true, isShown = () => true } = {}) {
    this.kind = kind;
    this.folds = [];
    this.places = traces.map((trace) => {
      if (kind === "time") return timesOf(trace);
      return kind === "depth" ? depthsOf(trace, isShown) : positionsOf(trace, isShown);
    });
    if (kind === "time" && fold) this.foldGaps();
    this.places.forEach((places, at) => keepLocalOrder(traces[at], places));
    let min = Infinity,
      max = -Infinity;
    for (const places of this.places) {
      for (let i = 0; i < places.length; i++) {
        if (places[i] < min) min = places[i];
        if (places[i] > max) max = places[i];
      }
    }
    this.min = max < min ? 0 : min;
    this.max = max < min ? 1 : max > min ? max : min + 1;
  }

  // Shrink every gap of more than a few hundredths of the whole.
  foldGaps() {
    const times = sortedTimes(this.places);
    if (times.length < 2) return;
    const span = times[times.length - 1] - times[0];
    let gone = 0;
    for (let i = 1; i < times.length; i++) {
      const gap = times[i] - times[i - 1];
      const typical = (span - gap) / Math.max(1, times.length - 2);
      if (gap <= span * LONGEST_GAP || gap <= TYPICAL_GAPS * typical) continue;
      const kept = span * FOLDED_TO;
      this.folds.push({ from: times[i - 1], to: times[i], before: gone, kept });
      gone += gap - kept;
    }
    if (!this.folds.length) return;
    for (const places of this.places)
      for (let i = 0; i < places.length; i++) places[i] = this.place(places[i]);
  }

  // From a time to its place, and back.
  place(time) {
    let gone = 0;
    for (const fold of this.folds) {
      if (time <= fold.from) break;
      if (time < fold.to)
        return fold.from - fold.before + fold.kept * ((time - fold.from) / (fold.to - fold.from));
      gone = fold.before + fold.to - fold.from - fold.kept;
    }
    return time - gone;
  }

  value(place) {
    let gone = 0;
    for (const fold of this.folds) {
      const start = fold.from - fold.before;
      if (place <= start) break;
      if (place < start + fold.kept)
        return fold.from + (fold.to - fold.from) * ((place - start) / fold.kept);
      gone = fold.before + fold.to - fold.from - fold.kept;
    }
    return place + gone;
  }

  // Folded stretches as places, with how long each is.
  foldedPlaces() {
    return this.folds.map(({ from, to, before, kept }) => ({
      from: from - before,
      to: from - before + kept,
      text: briefly(to - from),
    }));
  }

  // Round values between two places, about so many, as {place, text}.
  ticks(from, to, count) {
    const first = this.value(from),
      last = this.value(to);
    const inside = this.folds.reduce(
      (sum, fold) =>
        fold.from >= first && fold.to <= last ? sum + fold.to - fold.from - fold.kept : sum,
      0,
    );
    const step = roundStep(
      Math.max((last - first - inside) / Math.max(1, count), Number.EPSILON),
      this.kind !== "time",
    );
    const found = [];
    let tick = Math.ceil(first / step - 1e-9) * step;
    for (let guard = 0; tick <= last && guard < 400; guard++) {
      const fold = this.folds.find(({ from: a, to: b }) => tick > a && tick < b);
      if (fold) {
        tick = Math.ceil(fold.to / step) * step;
        continue;
      }
      found.push({
        place: this.place(tick),
        text: this.kind === "time" ? timeText(tick, step) : grouped(Math.round(tick)),
      });
      tick += step;
    }
    return found;
  }

  describe(place) {
    const value = this.value(place);
    return this.kind === "time"
      ? `${sixDigits(value)} s`
      : `${this.kind} ${grouped(Math.round(value))}`;
  }
}

function roundStep(least, whole) {
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= least) * power;
  return whole ? Math.max(1, Math.round(step)) : step;
}

function timeText(time, step) {
  const unit = step >= 0.5 ? [1, "s"] : step >= 5e-4 ? [1e3, "ms"] : [1e6, "µs"];
  const digits = Math.max(0, -Math.floor(Math.log10(step * unit[0]) + 1e-9));
  return `${(time * unit[0]).toFixed(Math.min(6, digits))} ${unit[1]}`;
}

function timesOf(trace) {
  const places = new Float64Array(trace.size);
  let latest = trace.time.find((time) => !Number.isNaN(time)) ?? 0;
  for (let i = 0; i < trace.size; i++) {
    if (!Number.isNaN(trace.time[i])) latest = trace.time[i];
    places[i] = latest;
  }
  return places;
}

function positionsOf(trace, isShown) {
  const places = new Float64Array(trace.size);
  let count = -1;
  for (let i = 0; i < trace.size; i++) {
    if (isShown(trace, i)) count++;
    places[i] = Math.max(0, count);
  }
  return places;
}

function depthsOf(trace, isShown) {
  const places = new Float64Array(trace.size),
    here = new Float64Array(trace.processes.length);
  for (let i = 0; i < trace.size; i++) {
    const p = trace.process[i],
      kind = trace.kind[i];
    let depth = here[p];
    if (kind === RECEIVE || kind === DELIVER)
      depth = Math.max(depth, places[trace.sendOf[trace.message[i]]]);
    if (isShown(trace, i)) depth++;
    places[i] = here[p] = depth;
  }
  return places;
}

// A clock may run backwards at a process; its events still stand in their order.
function keepLocalOrder(trace, places) {
  const latest = new Float64Array(trace.processes.length).fill(-Infinity);
  for (let i = 0; i < trace.size; i++) {
    const p = trace.process[i];
    if (places[i] < latest[p]) places[i] = latest[p];
    else latest[p] = places[i];
  }
}

function sortedTimes(allPlaces) {
  const times = new Float64Array(allPlaces.reduce((sum, places) => sum + places.length, 0));
  let at = 0;
  for (const places of allPlaces) {
    times.set(places, at);
    at += places.length;
  }
  for (let i = 1; i < times.length; i++) if (times[i] < times[i - 1]) return times.sort();
  return times;
}

// The events of a process between two places: from which step up to which.
export function stepsBetween(trace, places, process, from, to) {
  const start = trace.laneStart[process],
    end = trace.laneStart[process + 1];
  return [
    firstAtOrAfter(trace, places, start, end, from),
    firstAtOrAfter(trace, places, start, end, to),
  ];
}

function firstAtOrAfter(trace, places, low, high, wanted) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[trace.laneEvents[middle]] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
