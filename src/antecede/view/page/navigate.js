// Ways from the selected event to others.
import { SEND, DELIVER, NOTHING } from "./data.js";
import { missingBefore } from "./bars.js";
import { longestWaits } from "./statistics.js";

// The event before or after it at its process, or the nearest in the lane above or below.
export function stepTo(app, along, across) {
  const { index, event } = app.selection,
    { trace, places } = app.pictures[index];
  const process = trace.process[event];
  if (along) {
    for (let step = trace.step[event] + along; ; step += along) {
      const at = trace.laneStart[process] + step;
      if (step < 0 || at >= trace.laneStart[process + 1]) return;
      if (app.shown[trace.layer[trace.laneEvents[at]]])
        return void app.select(index, trace.laneEvents[at], { remember: false });
    }
  }
  for (
    let row = app.lanes.rowOf[process] + across;
    row >= 0 && row < app.lanes.rows.length;
    row += across
  ) {
    const nearest = nearestIn(app, index, app.lanes.rows[row].process, places[event]);
    if (nearest !== NOTHING) return void app.select(index, nearest, { remember: false });
  }
}

function nearestIn(app, index, process, place) {
  const { trace, places } = app.pictures[index];
  let found = NOTHING;
  if (process === undefined) return found;
  for (let at = trace.laneStart[process]; at < trace.laneStart[process + 1]; at++) {
    const i = trace.laneEvents[at];
    if (!app.shown[trace.layer[i]]) continue;
    if (found === NOTHING || Math.abs(places[i] - place) < Math.abs(places[found] - place))
      found = i;
  }
  return found;
}

// To what a message waits for; a message that waits for nothing leads to its send.
export function followSelection(app) {
  const { index, event } = app.selection;
  if (event === NOTHING) return;
  const trace = app.traces[index],
    m = trace.message[event];
  if (m < 0) return;
  const delivery = trace.kind[event] === DELIVER ? event : trace.twin[event];
  const awaited = delivery >= 0 ? trace.waitDelivered[delivery] : NOTHING;
  app.select(index, awaited >= 0 ? awaited : trace.sendOf[m]);
}

// The same from a bar; the way back leads to the message that is held.
export function followBar(app, index, { reception, delivery }) {
  const trace = app.traces[index];
  if (delivery === NOTHING) {
    const [first] = missingBefore(trace, reception);
    app.select(index, reception, { move: false });
    if (first) app.select(index, trace.sendOf[first.message]);
    return;
  }
  app.select(index, delivery, { move: false });
  if (trace.waitDelivered[delivery] >= 0) app.select(index, trace.waitDelivered[delivery]);
}

export function nextOfMessage(app, by) {
  const { index, event } = app.selection,
    trace = app.traces[index];
  if (event === NOTHING || trace.message[event] < 0) return;
  const events = trace.eventsOf(trace.message[event]);
  app.select(index, events[(events.indexOf(event) + by + events.length) % events.length]);
}

export function nextEarly(app, by) {
  const places = app.traces.flatMap((trace, index) =>
    Array.from(trace.early, (event) => ({ index, event })),
  );
  nextAmong(
    app,
    places.filter(({ index, event }) => app.shown[app.traces[index].layer[event]]),
    by,
  );
}

export function nextWait(app) {
  const { index } = app.selection;
  nextAmong(
    app,
    longestWaits(app.traces[index], app.shown, 25).map(({ event }) => ({ index, event })),
    1,
  );
}

export function nextHit(app, by) {
  nextAmong(
    app,
    app.pictures.flatMap((picture, index) =>
      Array.from(picture.hits ?? [], (event) => ({ index, event })),
    ),
    by,
  );
}

function nextAmong(app, spots, by) {
  if (!spots.length) return;
  const at = spots.findIndex(
    ({ index, event }) => index === app.selection.index && event === app.selection.event,
  );
  const next =
    spots[at < 0 ? (by > 0 ? 0 : spots.length - 1) : (at + by + spots.length) % spots.length];
  app.select(next.index, next.event);
}

export function crossOver(app) {
  const other = app.counterpart();
  if (other && other.event !== NOTHING) app.select(other.index, other.event);
}

export function back(app) {
  const before = app.history.pop();
  if (before) app.select(before.index, before.event, { remember: false });
}

// Open at what an address or the command line asks for: `early`, `worst`, or a message with the
// process that is meant, such as p3:17@q.
export function openAt(app, wanted) {
  if (wanted === "early") return nextEarly(app, 1);
  if (wanted === "worst") return nextWait(app);
  const at = wanted.lastIndexOf("@");
  for (const [name, process] of [
    [wanted, ""],
    [wanted.slice(0, at), wanted.slice(at + 1)],
  ]) {
    for (const layer of [0, 1]) {
      const trace = app.traces[0],
        m = trace.findMessage(name, layer);
      if (m < 0 || !app.shown[layer]) continue;
      const p = trace.processes.indexOf(process);
      const event =
        p < 0
          ? trace.sendOf[m]
          : [DELIVER, 1].map((kind) => trace.eventAt(m, p, kind)).find((i) => i >= 0);
      return app.select(0, event ?? trace.eventAt(m, trace.sender[m], SEND));
    }
  }
  return undefined;
}
