// What is wrong with a log: one line a kind, with a count and the first place. The counterpart of
// antecede/imports/problems.py, word for word.
import { grouped } from "./text.js";

// By name: what tolerating it does, what is then said to have happened, and what that means.
export const TOLERABLE = {
  duplicates: [
    "takes the first of each",
    "the same message was delivered at the same process again; the first time counts",
    "the verdict is on first deliveries",
  ],
  resends: [
    "takes the first of each, and leaves out what several send",
    "the same message was sent again; the first time counts, and one that several send is left out",
    "what its sender learned in between may have been overtaken unseen",
  ],
  "unknown-sends": [
    "leaves them out",
    "deliveries of messages whose send is not in the log were left out",
    "what these messages depend on, and what overtook them, cannot be seen",
  ],
  "no-addresses": [
    "takes those who delivered them as addressed",
    "sends without addresses count as addressed to those who delivered them",
    "a message that somebody never got is invisible, and so is what overtook it",
  ],
  unaddressed: [
    "adds them to the addresses",
    "deliveries at processes that the message was not addressed to; they count as addressed",
    "the addresses in the log are not all there are",
  ],
  "bad-rows": [
    "leaves them out",
    "rows that could not be read were left out",
    "what they say is not known",
  ],
  truncated: [
    "leaves it out",
    "the last line is not whole and was left out",
    "what it says is not known",
  ],
  clocks: [
    "takes each host's events in the order of the log and leaves out what nobody did",
    "vector clocks do not fit together",
    "some messages between hosts were missed, and events may have been in another order",
  ],
};
const NO_DOUBT = new Set(["duplicates"]);
const UNSURE = new Set(["clocks"]);

// A log that cannot be read, with all its mistakes.
export class BadLog extends Error {
  constructor(file, mistakes) {
    super(mistakes.join("\n"));
    this.file = file;
    this.mistakes = mistakes;
  }
}

// A flag as a person can type it.
export function advised(flag, name, value) {
  const text = `${name}=${value}`;
  return `${flag} ${/[^\w@%+=./-]/.test(text) ? `'${text.replaceAll("'", `'"'"'`)}'` : text}`;
}

// Something that only the caller can know, or has said wrongly.
export class Asked extends Error {}

export class Problems {
  constructor(tolerated = new Set()) {
    this.tolerated = tolerated;
    this.kinds = new Map();
  }

  add(name, place, detail, group = "", advice = "") {
    const key = `${name} ${group}`;
    let kind = this.kinds.get(key);
    if (!kind)
      this.kinds.set(key, (kind = { name, group, count: 0, place: place(), detail, advice }));
    kind.count++;
  }

  advise(group, advice) {
    for (const kind of this.kinds.values()) if (kind.group === group) kind.advice = advice;
  }

  // Whether there is one of such a name.
  has(...names) {
    return [...this.kinds.values()].some((kind) => names.includes(kind.name));
  }

  // Throws an error that lists all that is not tolerated, if there is something.
  refuse(source) {
    const lines = [...this.kinds.values()]
      .filter((kind) => !this.tolerated.has(kind.name))
      .map(lineOf);
    if (lines.length) throw new BadLog(source, lines);
  }

  // What was tolerated, one assumption a name.
  assumed() {
    const found = new Map();
    for (const { name, count, place } of this.kinds.values()) {
      const [, happened, meaning] = TOLERABLE[name];
      const more = { first: place, doubt: !NO_DOUBT.has(name), unsure: UNSURE.has(name) };
      if (!found.has(name)) found.set(name, assume(name, happened, meaning, more));
      found.get(name).count += count;
    }
    return [...found.values()];
  }
}

function lineOf({ name, count, place, detail, advice }) {
  let told = `${place}: ${detail}`;
  if (count > 1) told += `, and ${grouped(count - 1)} more like it`;
  if (advice) told += `; ${advice}`;
  return `${told}; --tolerate ${name} ${TOLERABLE[name][0]}`;
}

// One assumption, as antecede/trace/assumed.py has it.
export function assume(what, happened, meaning = "", more = {}) {
  return { what, happened, meaning, count: 0, first: "", doubt: true, unsure: false, processes: [], ...more };
}

export const OTHERWISE = "it may have been the other way round";
// Nobody delivers what another sent.
export const OWN = assume("own", "every delivery is at the sender itself", "that orders nothing");

export function assumedSentence({ happened, meaning, count, first }) {
  const place = first ? `, the first at ${first}` : "";
  const counted = count ? ` (${grouped(count)}${place})` : "";
  return `${happened}${counted}${meaning ? `: ${meaning}` : ""}`;
}

// Each assumption once, with its counts added up.
export function mergeAssumed(assumed) {
  const merged = new Map();
  for (const one of assumed) {
    const key = `${one.what}\n${one.happened}`;
    const before = merged.get(key);
    if (before) {
      const isNamed = before.processes.length && one.processes.length;
      before.processes = isNamed ? [...new Set([...before.processes, ...one.processes])] : [];
      before.count += one.count;
    } else merged.set(key, { ...one });
  }
  return [...merged.values()];
}
