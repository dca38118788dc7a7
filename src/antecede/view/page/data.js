// A trace in the browser: typed arrays, taken from the packed text of the page.
// What the columns mean is told in antecede/view/dataset.py; this file is its counterpart.

export const SEND = 0,
  RECEIVE = 1,
  DELIVER = 2,
  CRASH = 3,
  JOIN = 4,
  LEAVE = 5,
  VIEW = 6,
  LOCAL = 7;
export const KINDS = ["send", "receive", "deliver", "crash", "join", "leave", "view", "local"];
export const APP = 0,
  HOP = 1,
  EVERY = 2; // crashes, joins and views concern every layer
export const LAYERS = ["app", "hop", ""];
export const NOTHING = -1,
  NEVER = -2,
  REPEATED = -3;

// The header and the columns of a packed trace, as {header, columns}.
export async function unpack(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const columns = {};
  let at = 4 + size;
  for (const { name, length, planes, float } of header.columns) {
    const cut = bytes.subarray(at, at + length * planes);
    columns[name] = float ? joinFloats(cut, length) : joinPlanes(cut, length, planes);
    at += length * planes;
  }
  return { header, columns };
}

function joinPlanes(cut, length, planes) {
  const values = new Uint32Array(length);
  for (let plane = 0; plane < planes; plane++) {
    const shift = 8 * plane,
      first = plane * length;
    for (let i = 0; i < length; i++) values[i] |= cut[first + i] << shift;
  }
  return values;
}

function joinFloats(cut, length) {
  const cells = new Uint8Array(8 * length);
  for (let plane = 0; plane < 8; plane++)
    for (let i = 0; i < length; i++) cells[8 * i + plane] = cut[plane * length + i];
  return new Float64Array(cells.buffer);
}

function unfoldSign(value) {
  return (value >>> 1) ^ -(value & 1);
}

// One run: events as parallel arrays, in a linear extension of happened-before. Messages are
// counted from 0 in the order of their sends.
export class Trace {
  constructor({ header, columns }) {
    this.header = header;
    this.title = header.title;
    this.run = header.run;
    this.processes = header.processes;
    this.groupings = header.groupings;
    this.size = columns.what.length;
    this.readEvents(columns);
    this.readTimes(header, columns);
    this.fileByProcess();
    this.fileByMessage(columns);
    this.findTwins();
    this.readWaits(columns);
    this.stampEntries = Int32Array.from(columns.stamp_entries, (value) => value - 1);
    this.stampBytes = Int32Array.from(columns.stamp_bytes, (value) => value - 1);
    this.hasHops = this.layer.includes(HOP);
    this.hasApp = this.layer.includes(APP) || !this.hasHops;
  }

  readEvents({ what, process, age }) {
    const size = this.size;
    this.kind = new Uint8Array(size);
    this.layer = new Uint8Array(size);
    this.process = new Int32Array(size);
    this.message = new Int32Array(size).fill(NOTHING);
    let at = 0,
      current = 0,
      latest = NOTHING,
      sent = 0;
    const sends = [];
    for (let i = 0; i < size; i++) {
      const kind = what[i] & 7;
      this.kind[i] = kind;
      this.layer[i] = kind > DELIVER ? EVERY : what[i] >> 3;
      if (process[i] !== 0) current = process[i] - 1;
      this.process[i] = current;
      if (kind === SEND) {
        latest = sent++;
        sends.push(i);
      } else if (kind <= DELIVER) {
        const passed = age[at++];
        if (passed !== 0) latest = sent - passed;
      } else {
        latest = NOTHING;
        continue;
      }
      this.message[i] = latest;
    }
    this.sendOf = Int32Array.from(sends);
    this.messages = sent;
  }

  readTimes(header, { time, untimed }) {
    this.isTimed = time.length > 0;
    if (!header.per_second) {
      this.time = time;
      return;
    }
    this.time = new Float64Array(this.size);
    let ticks = 0;
    for (let i = 0; i < this.size; i++) {
      ticks += unfoldSign(time[i]);
      this.time[i] = header.origin + ticks / header.per_second;
    }
    for (const i of untimed ?? []) this.time[i] = NaN;
  }

  // The events of process p are laneEvents[laneStart[p]] to laneEvents[laneStart[p + 1] - 1];
  // step[i] is the place of event i among them.
  fileByProcess() {
    const count = this.processes.length;
    this.laneStart = new Int32Array(count + 1);
    for (let i = 0; i < this.size; i++) this.laneStart[this.process[i] + 1]++;
    for (let p = 0; p < count; p++) this.laneStart[p + 1] += this.laneStart[p];
    const filled = this.laneStart.slice();
    this.laneEvents = new Int32Array(this.size);
    this.step = new Int32Array(this.size);
    for (let i = 0; i < this.size; i++) {
      const p = this.process[i];
      this.step[i] = filled[p] - this.laneStart[p];
      this.laneEvents[filled[p]++] = i;
    }
  }

  // The receptions and deliveries of each message, and the number that its sender gave it.
  fileByMessage({ number }) {
    this.messageStart = new Int32Array(this.messages + 1);
    for (let i = 0; i < this.size; i++) {
      if (this.message[i] >= 0 && this.kind[i] !== SEND) this.messageStart[this.message[i] + 1]++;
    }
    for (let m = 0; m < this.messages; m++) this.messageStart[m + 1] += this.messageStart[m];
    const filled = this.messageStart.slice();
    this.messageEvents = new Int32Array(this.messageStart[this.messages]);
    this.number = new Int32Array(this.messages);
    this.sender = new Int32Array(this.messages);
    const counts = [new Int32Array(this.processes.length), new Int32Array(this.processes.length)];
    for (let i = 0; i < this.size; i++) {
      const m = this.message[i];
      if (m < 0) continue;
      if (this.kind[i] === SEND) {
        this.sender[m] = this.process[i];
        this.number[m] = number?.[m] ?? ++counts[this.layer[i]][this.process[i]];
      } else this.messageEvents[filled[m]++] = i;
    }
  }

  // The delivery of a reception and the first reception of a delivery, or NOTHING; REPEATED for
  // further receptions of the same message.
  findTwins() {
    const twin = (this.twin = new Int32Array(this.size).fill(NOTHING));
    const first = new Int32Array(this.processes.length).fill(NOTHING);
    for (let m = 0; m < this.messages; m++) {
      const from = this.messageStart[m],
        to = this.messageStart[m + 1];
      for (let place = from; place < to; place++) {
        const i = this.messageEvents[place],
          p = this.process[i];
        if (this.kind[i] === RECEIVE) {
          if (first[p] === NOTHING) first[p] = i;
          else twin[i] = REPEATED;
        } else if (first[p] !== NOTHING && this.kind[first[p]] === RECEIVE) {
          twin[i] = first[p];
          twin[first[p]] = i;
        } else first[p] = i;
      }
      for (let place = from; place < to; place++)
        first[this.process[this.messageEvents[place]]] = NOTHING;
    }
  }

  readWaits(columns) {
    this.waitDelivered = new Int32Array(this.size).fill(NOTHING);
    this.waitArrived = new Int32Array(this.size).fill(NOTHING);
    const early = [];
    let at = 0;
    for (let i = 0; i < this.size; i++) {
      if (this.kind[i] !== DELIVER) continue;
      this.waitDelivered[i] = this.stepsBack(i, columns.wait_delivered[at]);
      this.waitArrived[i] = this.stepsBack(i, columns.wait_arrived[at++]);
      if (this.waitDelivered[i] === NEVER || this.waitDelivered[i] > i) early.push(i);
    }
    this.early = Int32Array.from(early);
    this.missingProcess = columns.missing_process;
    this.missingMessage = new Int32Array(this.missingProcess.length);
    for (let i = 0, m = 0; i < this.missingMessage.length; i++) {
      this.missingMessage[i] = m += columns.missing_message[i];
    }
  }

  stepsBack(event, code) {
    if (code < 2) return code === 0 ? NOTHING : NEVER;
    return this.laneEvents[
      this.laneStart[this.process[event]] + this.step[event] - unfoldSign(code - 2)
    ];
  }

  // The events of a message in order, its send first.
  eventsOf(message) {
    const rest = this.messageEvents.subarray(
      this.messageStart[message],
      this.messageStart[message + 1],
    );
    return [this.sendOf[message], ...rest];
  }

  // Whether a delivery broke causal order.
  isEarly(event) {
    return this.waitDelivered[event] === NEVER || this.waitDelivered[event] > event;
  }

  // Which rows the page was not made from: {before, behind} those that it was made from.
  get unread() {
    return this.header.excerpt?.unread ?? {};
  }

  // Whether a delivery may have overtaken something that was sent before all that was read.
  isUnjudged(event) {
    const isOwn = this.sender[this.message[event]] === this.process[event];
    return Boolean(this.unread.before) && !isOwn && !this.isEarly(event);
  }

  // The processes that a message never reached.
  missingOf(message) {
    let low = lowerBound(this.missingMessage, message);
    const found = [];
    while (low < this.missingMessage.length && this.missingMessage[low] === message) {
      found.push(this.missingProcess[low++]);
    }
    return found;
  }

  // Seconds from reception to delivery, with their parts; null where a time is unknown. The same
  // rule as antecede.verify.delays.
  delayOf(delivery) {
    const reception = this.twin[delivery];
    if (reception < 0 || !this.isTimed) return null;
    const received = this.time[reception],
      delivered = this.time[delivery];
    if (Number.isNaN(received) || Number.isNaN(delivered)) return null;
    const allowed = Math.min(
      this.notBefore(this.waitDelivered[delivery], received, delivered),
      delivered,
    );
    const possible = Math.min(
      this.notBefore(this.waitArrived[delivery], received, delivered),
      allowed,
    );
    return {
      held: delivered - received,
      forced: possible - received,
      inherited: allowed - possible,
      own: delivered - allowed,
    };
  }

  notBefore(event, start, end) {
    if (event === NEVER) return end;
    return event >= 0 && this.time[event] > start ? this.time[event] : start;
  }

  // As the log calls it that the trace was made from; else by its sender and number.
  messageName(message) {
    return this.header.names?.[message] || this.numberedName(message);
  }

  numberedName(message) {
    return `${this.processes[this.sender[message]]}:${this.number[message]}`;
  }

  // A message by its name and layer, or NOTHING.
  findMessage(name, layer = APP) {
    const called = this.header.names?.indexOf(name) ?? NOTHING;
    if (called >= 0 && this.layer[this.sendOf[called]] === layer) return called;
    const colon = name.lastIndexOf(":"),
      number = Number(name.slice(colon + 1));
    const process = this.processes.indexOf(name.slice(0, colon));
    if (colon < 0 || process < 0) return NOTHING;
    for (let place = this.laneStart[process]; place < this.laneStart[process + 1]; place++) {
      const i = this.laneEvents[place];
      if (
        this.kind[i] === SEND &&
        this.layer[i] === layer &&
        this.number[this.message[i]] === number
      )
        return this.message[i];
    }
    return NOTHING;
  }

  // What the log says of an event, or nothing.
  textOf(event) {
    return this.header.texts?.[event] ?? "";
  }

  // The first event of this kind of a message at a process, or NOTHING.
  eventAt(message, process, kind) {
    return (
      this.eventsOf(message).find((i) => this.process[i] === process && this.kind[i] === kind) ??
      NOTHING
    );
  }
}

// Gives both traces the same processes, so that a lane means the same in both.
export function unifyProcesses(unpacked) {
  const names = [...new Set(unpacked.flatMap(({ header }) => header.processes))];
  const index = new Map(names.map((name, at) => [name, at]));
  for (const { header, columns } of unpacked) {
    const codes = header.processes.map((name) => index.get(name));
    columns.process = columns.process.map((code) => (code === 0 ? 0 : codes[code - 1] + 1));
    columns.missing_process = columns.missing_process.map((code) => codes[code]);
    const labels = (given) => names.map((name) => given[header.processes.indexOf(name)] ?? "");
    for (const [name, given] of Object.entries(header.groupings))
      header.groupings[name] = labels(given);
    header.processes = names;
  }
}

// The first place in a sorted list whose value is not below the one wanted.
export function lowerBound(sorted, wanted, low = 0, high = sorted.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
