// From what a log tells to runs: the counterpart of antecede/imports/assemble.py. Messages get
// numbers, addresses are found or taken as they are, and what does not fit together is a problem.
import { GIVEN, SEEMS, inLocalOrder } from "./local.js";
import { NEWEST_FIRST } from "./newest.js";
import { DELIVER, JOIN, KINDS, LOCAL, NONE, RECEIVE, SEND } from "./log.js";
import { Pairs } from "./pairs.js";
import { OWN, assume, mergeAssumed } from "./problems.js";

const NAMED = 3;
const NO_ADDRESSES = assume(
  "addresses",
  "the log does not say whom messages are addressed to, so each counts as addressed to those who " +
    "delivered it",
  "a message that somebody never got is invisible, and so is what overtook it",
);
const UNDELIVERED = assume(
  "undelivered",
  "messages that were not delivered where they are addressed count as not addressed there",
  "what was left out may have been the delivery",
  { doubt: false },
);
const JOINED = assume(
  "joins",
  "processes join; what is for all the others and one of them did not get counts as not for it",
  "what it missed is not seen",
);
const REUSED = assume(
  "resends",
  "a message that was sent again was delivered where nothing addresses its first send",
  "it may have been the later one",
  { unsure: true },
);
const BROADCAST = assume(
  "broadcast",
  "messages count as addressed to all others, as --broadcast says, whatever the log says",
  "",
  { doubt: false },
);

// The runs in a log, as {runs, assumed}. With `broadcast` every message is for all other processes of
// its run.
export function assemble(read, problems, broadcast) {
  const { log, assumed, isBlind = false, order = SEEMS, guessedSeq = "" } = read;
  const hasAddresses = broadcast || log.isTold;
  const told = [...assumed];
  const addressed = log.to.reduce((sum, to) => sum + (to !== null), 0);
  if (broadcast && addressed) told.push({ ...BROADCAST, count: addressed });
  if (log.kind.includes(SEND) && !hasAddresses && !isBlind) told.push(NO_ADDRESSES);
  const known = new Known(log);
  const runs = [];
  for (const [name, events] of eventsByRun(log)) {
    const { ordered, doubts } = inLocalOrder(log, events, order, guessedSeq);
    told.push(...doubts);
    const run = new Assembly(known, problems, name, ordered);
    run.countMessages();
    run.checkDeliveries();
    run.address(broadcast, hasAddresses);
    told.push(...(broadcast ? run.joined() : run.reused()));
    told.push(...run.silent(), ...run.ownOnly());
    // What is torn off the end of the only file comes after all that is in it.
    const isAtEnd =
      log.files.length === 1 &&
      order !== GIVEN &&
      !doubts.some(({ what }) => what === NEWEST_FIRST.what) &&
      events.some((event) => log.seq[event] === null);
    // Of what a span delivers, nobody may know the name.
    const unnamed = order === GIVEN ? ["unknown-sends"] : [];
    if (problems.has("bad-rows", "clocks", ...unnamed) || (problems.has("truncated") && !isAtEnd))
      told.push(...run.forgetUndelivered());
    runs.push(run);
  }
  problems.refuse(log.source);
  told.push(...problems.assumed());
  const made = runs.map((run) => run.rows()).filter((run) => run.size);
  return { runs: made, assumed: mergeAssumed(told) };
}

function eventsByRun(log) {
  const runs = new Map();
  for (let event = 0; event < log.size; event++) {
    const found = runs.get(log.run[event]);
    if (found) found.push(event);
    else runs.set(log.run[event], [event]);
  }
  return [...runs].map(([code, events]) => [log.runs.names[code], events]);
}

// What is known of events and messages, over all runs. A message is a name in a layer of a run.
class Known {
  constructor(log) {
    const { size } = log;
    this.log = log;
    this.message = new Int32Array(size).fill(NONE);
    const pairs = new Pairs(size);
    const layers = log.layers.names.length;
    for (let event = 0; event < size; event++)
      if (log.message[event] !== NONE)
        this.message[event] = pairs.id(log.run[event] * layers + log.layer[event], log.message[event]);
    this.messages = pairs.size;
    this.sendOf = new Int32Array(pairs.size).fill(NONE);
    this.number = new Int32Array(pairs.size);
    this.to = new Array(pairs.size).fill(null);
    // The arrivals of a message that count: its first, its last, and of each the next.
    this.first = new Int32Array(pairs.size).fill(NONE);
    this.last = new Int32Array(pairs.size).fill(NONE);
    this.next = new Int32Array(size).fill(NONE);
    this.isDropped = new Uint8Array(size);
    this.rowOf = new Int32Array(size).fill(NONE);
  }

  // Who got a message, each once.
  gotBy(message) {
    const found = [];
    for (let event = this.first[message]; event !== NONE; event = this.next[event])
      if (!found.includes(this.log.process[event])) found.push(this.log.process[event]);
    return found;
  }
}

// One run under way.
class Assembly {
  constructor(known, problems, name, events) {
    this.known = known;
    this.log = known.log;
    this.problems = problems;
    this.name = name;
    this.events = events;
    this.arrivals = 0;
    this.again = new Set(); // the messages that are sent again
    for (const event of events) this.arrivals += this.isArrival(event);
  }

  messageName(event) {
    return this.log.messages.names[this.log.message[event]];
  }

  processName(event) {
    return this.log.processes.names[this.log.process[event]];
  }

  drop(event, name, detail) {
    this.problems.add(name, () => this.log.placeOf(event), detail);
    this.known.isDropped[event] = 1;
  }

  isArrival(event) {
    return this.log.kind[event] === DELIVER || this.log.kind[event] === RECEIVE;
  }

  // Messages are counted by their senders, in the order of their sends.
  countMessages() {
    const counts = new Map(),
      processes = this.log.processes.names.length,
      { message, sendOf, number, isDropped } = this.known;
    this.leaveOutSharedNames();
    for (const event of this.events) {
      if (this.log.kind[event] !== SEND || isDropped[event]) continue;
      const m = message[event];
      if (sendOf[m] !== NONE) {
        this.drop(event, "resends", `message '${this.messageName(event)}' is sent again`);
        this.again.add(m);
        continue;
      }
      const sender = this.log.process[event] + this.log.layer[event] * processes;
      const count = (counts.get(sender) ?? 0) + 1;
      counts.set(sender, count);
      sendOf[m] = event;
      number[m] = count;
    }
  }

  // Where several send something of one name, nothing says whose was delivered.
  leaveOutSharedNames() {
    const { log } = this,
      { message, isDropped } = this.known;
    const senders = new Map(),
      shared = new Set();
    for (const event of this.events) {
      if (log.kind[event] !== SEND) continue;
      const m = message[event],
        sender = log.process[event];
      if (!senders.has(m)) senders.set(m, sender);
      if (senders.get(m) === sender) continue;
      shared.add(m);
      const detail = `message '${this.messageName(event)}' is sent by '${this.processName(event)}', too`;
      this.problems.add("resends", () => log.placeOf(event), detail);
    }
    if (shared.size)
      for (const event of this.events) if (shared.has(message[event])) isDropped[event] = 1;
  }

  // Every message that arrives was sent, and arrives once.
  checkDeliveries() {
    const { log, known } = this;
    const seen = new Pairs(this.arrivals);
    for (const event of this.events) {
      if (!this.isArrival(event) || known.isDropped[event]) continue;
      const m = known.message[event];
      const before = seen.size;
      seen.id(m, 2 * log.process[event] + (log.kind[event] === DELIVER ? 1 : 0));
      if (known.sendOf[m] === NONE)
        this.drop(event, "unknown-sends", `nobody sends the message '${this.messageName(event)}'`);
      else if (seen.size === before) {
        const verb = KINDS[log.kind[event]];
        const detail = `'${this.processName(event)}' ${verb}s '${this.messageName(event)}' again`;
        this.drop(event, "duplicates", detail);
      } else {
        if (known.first[m] === NONE) known.first[m] = event;
        else known.next[known.last[m]] = event;
        known.last[m] = event;
      }
    }
  }

  // Whom every message is for.
  address(broadcast, hasAddresses) {
    const { log, known } = this;
    const others = broadcast ? this.others() : null;
    for (const event of this.events) {
      if (log.kind[event] !== SEND || known.isDropped[event]) continue;
      const m = known.message[event],
        sender = log.process[event];
      if (broadcast) known.to[m] = others(sender);
      else if (log.to[event] !== null) known.to[m] = log.to[event];
      else {
        const got = known.gotBy(m).filter((one) => one !== sender);
        known.to[m] = got;
        if (!hasAddresses) continue;
        const detail = `nothing says whom '${this.messageName(event)}' is addressed to`;
        const advice = got.length ? "" : "an empty list says nobody";
        this.problems.add("no-addresses", () => log.placeOf(event), detail, "", advice);
      }
    }
    this.addUnaddressed();
  }

  // For a process all others of the run.
  others() {
    const everybody = [...new Set(this.events.map((event) => this.log.process[event]))];
    const found = new Map();
    return (sender) => {
      if (!found.has(sender))
        found.set(
          sender,
          everybody.filter((one) => one !== sender),
        );
      return found.get(sender);
    };
  }

  addUnaddressed() {
    const { log, known } = this;
    for (const event of this.events) {
      if (!this.isArrival(event) || known.isDropped[event]) continue;
      const m = known.message[event],
        process = log.process[event];
      if (known.to[m].includes(process) || process === log.process[known.sendOf[m]]) continue;
      const verb = KINDS[log.kind[event]];
      const detail =
        `'${this.processName(event)}' ${verb}s '${this.messageName(event)}', ` +
        "which is not addressed to it";
      this.problems.add("unaddressed", () => log.placeOf(event), detail);
      known.to[m] = [...known.to[m], process];
    }
  }

  // The doubt about names that a sender uses again: whether what is delivered is the first.
  reused() {
    const { log, known, again } = this;
    if (!again.size) return [];
    const found = this.events.filter((event) => {
      const m = known.message[event];
      if (log.kind[event] !== DELIVER || known.isDropped[event] || !again.has(m)) return false;
      const send = known.sendOf[m],
        process = log.process[event];
      return process !== log.process[send] && !(log.to[send] ?? []).includes(process);
    });
    return log.assumed([[REUSED, found]]);
  }

  // Take messages for all as not addressed to a process that joins and did not get them: it may have
  // joined later. Leaves a doubt.
  joined() {
    const { log, known } = this;
    const joins = new Set();
    for (const event of this.events) if (log.kind[event] === JOIN) joins.add(log.process[event]);
    if (!joins.size) return [];
    let count = 0;
    for (const event of this.sends()) {
      const m = known.message[event],
        got = known.gotBy(m);
      const left = known.to[m].filter((one) => !joins.has(one) || got.includes(one));
      count += known.to[m].length - left.length;
      known.to[m] = left;
    }
    return count ? [{ ...JOINED, count }] : [];
  }

  // The sends that count, in the order of the run.
  *sends() {
    for (const event of this.events)
      if (this.log.kind[event] === SEND && !this.known.isDropped[event]) yield event;
  }

  // The doubt about processes that are addressed but not heard of.
  silent() {
    const { names } = this.log.processes;
    const heard = new Uint8Array(names.length);
    for (const event of this.events) heard[this.log.process[event]] = 1;
    const silent = [];
    for (const event of this.sends())
      for (const one of this.known.to[this.known.message[event]])
        if (!heard[one]) {
          heard[one] = 1;
          silent.push(names[one]);
        }
    if (!silent.length) return [];
    const listed = silent.slice(0, NAMED).join(", ") + (silent.length > NAMED ? " ..." : "");
    const happened = `processes are addressed, but the log has no event of theirs: ${listed}`;
    return [assume("silent", happened, "what they delivered is not known", { count: silent.length })];
  }

  // The doubt about a run in which nobody delivers what another sent.
  ownOnly() {
    const { log, known } = this;
    let got = 0;
    for (const event of this.events) {
      if (!this.isArrival(event) || known.isDropped[event]) continue;
      if (log.process[event] !== log.process[known.sendOf[known.message[event]]]) return [];
      got++;
    }
    if (!got) return [];
    return [{ ...OWN }];
  }

  // Take messages as not addressed to those who did not deliver them, so that what seems to have
  // overtaken them is not taken for early; what is early then was overtaken in the log.
  forgetUndelivered() {
    const { log, known } = this;
    const delivered = new Map();
    for (const event of this.events) {
      if (log.kind[event] !== DELIVER || known.isDropped[event]) continue;
      const m = known.message[event];
      if (!delivered.has(m)) delivered.set(m, new Set());
      delivered.get(m).add(log.process[event]);
    }
    const has = (m, process) => delivered.get(m)?.has(process) ?? false;
    let count = 0;
    for (const event of this.sends()) {
      const m = known.message[event];
      const left = known.to[m].filter((one) => has(m, one));
      count += known.to[m].length - left.length;
      known.to[m] = left;
    }
    for (const event of this.events)
      if (log.kind[event] === RECEIVE && !has(known.message[event], log.process[event]))
        known.isDropped[event] = 1;
    return count ? [{ ...UNDELIVERED, count }] : [];
  }

  // What is left, as the rows of a trace: columns, with local events hung onto the rows before them,
  // and among these what is left out.
  rows() {
    const { log, known } = this;
    const rows = new Rows(known, this.name);
    for (const event of this.events) {
      const kind = log.kind[event];
      if (known.isDropped[event]) {
        const told = `${KINDS[kind]} ${this.messageName(event)}, left out`;
        log.text[event] = log.text[event] ? `${told}: ${log.text[event]}` : told;
      }
      if (kind === LOCAL || known.isDropped[event]) rows.local(event);
      else rows.add(event, kind);
    }
    return rows.finish();
  }
}

class Rows {
  constructor(known, name) {
    this.known = known;
    this.log = known.log;
    this.name = name;
    this.codes = new Map();
    this.processes = [];
    this.columns = { event: [], process: [], kind: [] };
    this.last = [];
    this.early = new Map();
    this.before = new Map();
    this.after = new Map();
  }

  process(code) {
    let own = this.codes.get(code);
    if (own === undefined) {
      own = this.processes.length;
      this.codes.set(code, own);
      this.processes.push(this.log.processes.names[code]);
    }
    return own;
  }

  add(event, kind) {
    const { event: events, process, kind: kinds } = this.columns;
    const code = this.log.process[event],
      own = this.process(code),
      row = events.length;
    if (this.last[own] === undefined && this.early.has(code)) {
      this.before.set(row, this.early.get(code));
      this.early.delete(code);
    }
    if (kind === SEND) this.known.rowOf[event] = row;
    events.push(event);
    process.push(own);
    kinds.push(kind);
    this.last[own] = row;
  }

  local(event) {
    const code = this.log.process[event];
    const row = this.last[this.codes.get(code)];
    const list = row === undefined ? this.early : this.after,
      key = row === undefined ? code : row;
    if (list.has(key)) list.get(key).push(event);
    else list.set(key, [event]);
  }

  // A process with nothing but local events begins with a join. Destinations that do nothing are
  // processes, too, after all others.
  finish() {
    for (const events of [...this.early.values()]) this.add(events[0], JOIN);
    const { known, log } = this;
    const event = Int32Array.from(this.columns.event);
    const kind = Int8Array.from(this.columns.kind);
    const send = new Int32Array(event.length).fill(NONE);
    const number = new Int32Array(event.length).fill(NONE);
    const start = new Int32Array(event.length + 1);
    const layer = new Uint8Array(event.length);
    const destination = [];
    for (let row = 0; row < event.length; row++) {
      layer[row] = log.layer[event[row]];
      if (kind[row] <= DELIVER) {
        const m = known.message[event[row]];
        send[row] = known.rowOf[known.sendOf[m]];
        number[row] = known.number[m];
        if (kind[row] === SEND) for (const code of known.to[m]) destination.push(this.process(code));
      }
      start[row + 1] = destination.length;
    }
    return {
      name: this.name,
      log,
      size: event.length,
      processes: this.processes,
      event,
      process: Int32Array.from(this.columns.process),
      kind,
      layer,
      number,
      send,
      start,
      destination: Int32Array.from(destination),
      before: this.before,
      after: this.after,
    };
  }
}
