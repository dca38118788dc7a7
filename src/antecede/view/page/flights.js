// Messages on their way: which of them can be seen in a part of the picture.
import { NOTHING, RECEIVE } from "./data.js";

const BLOCK = 256;

// From where to where each message reaches, and the same for blocks of messages, so that a part of
// a large run is found without asking each.
export class Flights {
  constructor(trace, places, end) {
    this.trace = trace;
    this.start = new Float64Array(trace.messages);
    this.end = new Float64Array(trace.messages);
    for (let m = 0; m < trace.messages; m++) {
      this.start[m] = places[trace.sendOf[m]];
      let last = this.start[m];
      for (let at = trace.messageStart[m]; at < trace.messageStart[m + 1]; at++) {
        const i = trace.messageEvents[at];
        const waits = trace.kind[i] === RECEIVE && trace.twin[i] === NOTHING;
        last = Math.max(last, waits ? end : places[i]);
      }
      this.end[m] = last;
    }
    const blocks = Math.ceil(trace.messages / BLOCK);
    this.blockStart = new Float64Array(blocks).fill(Infinity);
    this.blockEnd = new Float64Array(blocks).fill(-Infinity);
    for (let m = 0; m < trace.messages; m++) {
      const block = Math.floor(m / BLOCK);
      this.blockStart[block] = Math.min(this.blockStart[block], this.start[m]);
      this.blockEnd[block] = Math.max(this.blockEnd[block], this.end[m]);
    }
  }

  // The messages on their way between two places (`all`), and of many only one in `stride`, so that
  // about `most` copies are left (`some`). Which ones does not depend on the part that is seen.
  between(from, to, most, shown) {
    const { trace } = this,
      found = [];
    let copies = 0;
    for (let block = 0; block < this.blockStart.length; block++) {
      if (this.blockStart[block] > to || this.blockEnd[block] < from) continue;
      const last = Math.min(trace.messages, (block + 1) * BLOCK);
      for (let m = block * BLOCK; m < last; m++) {
        if (this.start[m] > to || this.end[m] < from || !shown[trace.layer[trace.sendOf[m]]])
          continue;
        found.push(m);
        copies += 1 + trace.messageStart[m + 1] - trace.messageStart[m];
      }
    }
    let stride = 1;
    while (copies / stride > most) stride *= 2;
    const some = stride === 1 ? found : found.filter((m) => scattered(m) % stride === 0);
    return { all: found, some, stride, copies };
  }
}

// A number that looks random but is always the same for a message.
function scattered(m) {
  let mixed = Math.imul(m ^ (m >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
