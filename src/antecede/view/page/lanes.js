// Which processes are shown, in which order and in which groups: the rows of the picture.
import { SEND, DELIVER } from "./data.js";

export const SORTS = ["as recorded", "by name", "by activity", "by first event", "by time held"];
const natural = new Intl.Collator("en", { numeric: true });

export class Lanes {
  constructor(traces) {
    this.traces = traces;
    this.names = traces[0].processes;
    this.groupings = this.findGroupings();
    this.hidden = new Set();
    this.folded = new Set();
    this.sort = SORTS[0];
    this.grouping = "";
    this.arrange();
  }

  // Under the name of each grouping the label of each process: what the recorder noted, what the
  // names say, and who takes part in the application.
  findGroupings() {
    const found = {};
    for (const trace of this.traces) Object.assign(found, trace.groupings);
    const prefixes = this.names.map(
      (name) => /^(.*[^\s/.:_-])[/.:_-]+[^/.:_-]*$/u.exec(name)?.[1] ?? "",
    );
    const distinct = new Set(prefixes.filter(Boolean));
    if (distinct.size > 0 && distinct.size < this.names.length) found["name"] = prefixes;
    if (this.traces.some((trace) => trace.hasHops)) {
      const isApplication = new Uint8Array(this.names.length);
      for (const trace of this.traces)
        for (let i = 0; i < trace.size; i++)
          if (trace.layer[i] === 0) isApplication[trace.process[i]] = 1;
      found["role"] = this.names.map((_, p) => (isApplication[p] ? "application" : "router"));
    }
    return found;
  }

  // What stands before each lane, in at most so many letters.
  labelsOf(most) {
    if (this.labelled !== most) this.labels = distinctLabels(this.names, most);
    this.labelled = most;
    return this.labels;
  }

  // Rows from top to bottom: {process} or {group, size}.
  arrange() {
    const order = this.sorted(this.names.map((_, p) => p)).filter((p) => !this.hidden.has(p));
    const labels = this.groupings[this.grouping];
    this.rows = [];
    if (!labels) this.rows = order.map((process) => ({ process }));
    else {
      const groups = Map.groupBy ? Map.groupBy(order, (p) => labels[p]) : groupedBy(order, labels);
      for (const label of [...groups.keys()].sort(natural.compare)) {
        const members = groups.get(label);
        this.rows.push({ group: label || "(none)", size: members.length });
        if (!this.folded.has(label || "(none)"))
          this.rows.push(...members.map((process) => ({ process })));
      }
    }
    this.rowOf = new Int32Array(this.names.length).fill(-1);
    this.rows.forEach((row, at) => {
      if (row.process !== undefined) this.rowOf[row.process] = at;
    });
  }

  sorted(processes) {
    const keys = new Float64Array(this.names.length);
    if (this.sort === "by name")
      return processes.sort((a, b) => natural.compare(this.names[a], this.names[b]));
    if (this.sort === "as recorded") return processes;
    for (const trace of this.traces) {
      for (let i = trace.size - 1; i >= 0; i--) {
        const p = trace.process[i];
        if (this.sort === "by activity") keys[p]--;
        else if (this.sort === "by first event") keys[p] = i - trace.size;
        else if (trace.kind[i] === DELIVER && trace.twin[i] >= 0)
          keys[p] -= trace.delayOf(i)?.held ?? 0;
      }
    }
    return processes.sort((a, b) => keys[a] - keys[b] || a - b);
  }

  setHidden(process, isHidden) {
    if (isHidden) this.hidden.add(process);
    else this.hidden.delete(process);
    this.arrange();
  }

  // Only those that exchange messages with one process.
  showOnlyPartnersOf(process) {
    const partners = new Set([process]);
    for (const trace of this.traces) {
      for (let i = 0; i < trace.size; i++) {
        if (trace.message[i] < 0 || trace.kind[i] === SEND) continue;
        const sender = trace.sender[trace.message[i]];
        if (sender === process) partners.add(trace.process[i]);
        if (trace.process[i] === process) partners.add(sender);
      }
    }
    this.hidden = new Set(this.names.map((_, p) => p).filter((p) => !partners.has(p)));
    this.arrange();
  }

  showAll() {
    this.hidden.clear();
    this.folded.clear();
    this.arrange();
  }

  toggleGroup(label) {
    if (!this.folded.delete(label)) this.folded.add(label);
    this.arrange();
  }
}

function groupedBy(order, labels) {
  const groups = new Map();
  for (const p of order) groups.set(labels[p], [...(groups.get(labels[p]) ?? []), p]);
  return groups;
}

// Names of at most so many letters, and still distinct: what is too long loses its middle or, where
// names then look the same, its start; where that does not help, a number tells them apart.
export function distinctLabels(names, most) {
  const start = (name) => `${name.slice(0, Math.ceil((most - 1) / 2))}…${ending(name, (most - 1) >> 1)}`;
  const end = (name) => `…${ending(name, most - 1)}`;
  for (const shorten of [start, end]) {
    const labels = names.map((name) => (name.length > most ? shorten(name) : name));
    if (new Set(labels).size === new Set(names).size) return labels;
  }
  return names.map((name, p) => (name.length > most ? `${p + 1} ${end(name)}` : name));
}

function ending(name, letters) {
  return letters > 0 ? name.slice(-letters) : "";
}
