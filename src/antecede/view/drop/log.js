// What a log tells, before it is a trace: columns, as long as the log has events.
export const SEND = 0,
  RECEIVE = 1,
  DELIVER = 2,
  CRASH = 3,
  JOIN = 4,
  LOCAL = -1;
export const KINDS = ["send", "receive", "deliver", "crash", "join", "leave", "view"];
export const APP = 0,
  HOP = 1;
export const LAYERS = ["app", "hop"];
export const NONE = -1;

// Names and their codes, counted in the order in which they come.
export class Names {
  constructor(names = []) {
    this.names = [...names];
    this.codes = new Map(names.map((name, code) => [name, code]));
  }

  code(name) {
    let code = this.codes.get(name);
    if (code === undefined) {
      code = this.names.length;
      this.names.push(name);
      this.codes.set(name, code);
    }
    return code;
  }
}

export class Log {
  constructor(files) {
    this.files = files;
    this.runs = new Names();
    this.processes = new Names();
    this.messages = new Names();
    this.layers = new Names(LAYERS);
    this.size = 0;
    for (const name of COLUMNS_OF_LOG) this[name] = [];
    this.to = [];
    this.isTold = false;
  }

  // `to` are the codes of its addresses, or null where none are given.
  add(file, line, run, process, kind, message, to, seq, time, layer, text, scale = null) {
    this.file.push(file);
    this.line.push(line);
    this.run.push(run);
    this.process.push(process);
    this.kind.push(kind);
    this.message.push(message);
    this.seq.push(seq);
    this.time.push(time);
    this.layer.push(layer);
    this.text.push(text);
    this.scale.push(scale);
    this.to.push(to);
    if (to) this.isTold = true;
    this.size++;
  }

  placeOf(event) {
    return lineIn(this.files, this.file[event], this.line[event]);
  }

  // Each assumption that concerns some events, with how many, the first, and whose.
  assumed(found) {
    return [...found]
      .filter(([, events]) => events.length)
      .map(([what, events]) => ({
        ...what,
        count: events.length,
        first: this.placeOf(events[0]),
        processes: [...new Set(events.map((event) => this.processes.names[this.process[event]]))],
      }));
  }

  get source() {
    return sourceOf(this.files);
  }
}

const COLUMNS_OF_LOG = [
  ...["file", "line", "run", "process", "kind", "message", "seq", "time", "layer", "text", "scale"],
];

export function lineIn(files, file, line) {
  return files.length > 1 ? `${files[file]} line ${line}` : `line ${line}`;
}

export function sourceOf(files) {
  return files.length === 1 ? files[0] : `${files[0]} and ${files.length - 1} more`;
}

// What follows another event of its process, or of its process in its file, which is not the same one
// again: calls found(event, before).
export function eachNext({ process, file, kind, message }, events, found, isByFile = false) {
  const last = new Map();
  for (const event of events) {
    if (kind[event] === LOCAL) continue;
    const key = isByFile ? `${process[event]} ${file[event]}` : process[event];
    const before = last.get(key) ?? event;
    last.set(key, event);
    if (kind[before] !== kind[event] || message[before] !== message[event]) found(event, before);
  }
}
