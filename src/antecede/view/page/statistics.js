// A run in a few numbers, and what is worth looking at first.
import { SEND, DELIVER, RECEIVE, NOTHING } from "./data.js";

// Sums over the layers that are shown. Copies to oneself count nowhere but as deliveries.
export function statisticsOf(trace, shown) {
  const found = {
    events: 0,
    messages: 0,
    deliveries: 0,
    early: 0,
    unjudged: 0,
    undelivered: 0,
    held: 0,
    timed: 0,
    forced: 0,
    inherited: 0,
    own: 0,
    stamps: 0,
    stampBytes: 0,
    largest: 0,
  };
  for (let i = 0; i < trace.size; i++) {
    if (!shown[trace.layer[i]]) continue;
    found.events++;
    const m = trace.message[i];
    if (trace.kind[i] === SEND) {
      found.messages++;
      if (trace.stampBytes[m] < 0) continue;
      found.stamps++;
      found.stampBytes += trace.stampBytes[m];
      found.largest = Math.max(found.largest, trace.stampBytes[m]);
    } else if (trace.kind[i] === DELIVER) {
      found.deliveries++;
      if (trace.sender[m] === trace.process[i]) continue;
      if (trace.isEarly(i)) found.early++;
      if (trace.isUnjudged(i)) found.unjudged++;
      const delay = trace.delayOf(i);
      if (!delay) continue;
      found.timed++;
      found.held += delay.held > 0 ? 1 : 0;
      found.forced += delay.forced;
      found.inherited += delay.inherited;
      found.own += delay.own;
    } else if (
      trace.kind[i] === RECEIVE &&
      trace.twin[i] === NOTHING &&
      trace.sender[m] !== trace.process[i]
    ) {
      found.undelivered++;
    }
  }
  for (const m of trace.missingMessage)
    if (shown[trace.layer[trace.sendOf[m]]]) found.undelivered++;
  return found;
}

// The deliveries that waited longest, longest first.
export function longestWaits(trace, shown, count) {
  const found = [];
  let least = 0;
  for (let i = 0; i < trace.size; i++) {
    if (trace.kind[i] !== DELIVER || trace.twin[i] < 0 || !shown[trace.layer[i]]) continue;
    const delay = trace.delayOf(i);
    const held = delay ? delay.held : trace.step[i] - trace.step[trace.twin[i]] - 1;
    if (held <= least) continue;
    found.push({ event: i, held });
    if (found.length >= 4 * count) {
      found.sort((a, b) => b.held - a.held).length = count;
      least = found[count - 1].held;
    }
  }
  return found.sort((a, b) => b.held - a.held).slice(0, count);
}
