// Logs with vector clocks: the counterpart of antecede/imports/shiviz.py.
import { parseJson } from "./json.js";
import { GIVEN } from "./local.js";
import { APP, CRASH, DELIVER, LOCAL, Log, NONE, SEND, lineIn, sourceOf } from "./log.js";
import { Asked, BadLog, assume } from "./problems.js";
import { parseTime, secondsOf } from "./times.js";
import { strip, wholeOf } from "./text.js";

// A line begins and ends where Python says so, and a dot is anything else.
const TEXT_FIRST = /(?<![^\n])(?<event>[^\n]*)\r?\n(?<host>\S+) (?<clock>\{[^\n]*\})[ \t]*\r?(?![^\n])/g;
const PATTERNS = [
  /(?<![^\n])(?<host>\S+) (?<clock>\{[^\n]*\})[ \t]*\r?\n(?!(?<next>\S+) \{[^\n]*"\k<next>"\s*:\s*\d)(?<event>[^\n]*)(?![^\n])/g,
  TEXT_FIRST,
  /(?<![^\n])[^\n]*\/(?<host>[^/\s\]]+)\] (?<clock>\{[^}]*\}) (?<event>[^\n]*)(?![^\n])/g,
];
// A line with a clock, which may be torn.
const CLOCK_LINE =
  /(?<![^\n])(?:(?<host>\S+)|[^\n]*\/(?<named>[^/\s\]]+)\]) (?<clock>\{\s*"[^\n]*)(?![^\n])/g;
const BLIND = assume(
  "clocks",
  "the messages were inferred from vector clocks alone",
  "one that arrived after something that depends on it leaves no mark in a clock, so an early " +
    "delivery cannot be found in this trace",
);
const NO_MATCH = assume(
  "patterns",
  "the pattern for deliveries matches no event of the log",
  "either nothing was delivered or the pattern is wrong",
);

const HIDDEN = assume(
  "hidden",
  "by their clocks messages depend on others, and no delivery in the texts shows it",
  "what overtook them in this way is not seen",
);
const PASSED = assume(
  "lines",
  "lines that belong to no event with a clock were passed over",
  "",
  { doubt: false },
);

// The events of such logs, as {log, assumed, isAbsolute, addressesUnknown}.
export function readClocks(files, wishes, problems) {
  const { pattern, send, deliver, crash } = wishes.patterns;
  if ((send === undefined) !== (deliver === undefined))
    throw new Asked("a pattern for sends needs one for deliveries, and the other way round");
  const names = files.map((file) => file.name);
  const patterns = pattern === undefined ? PATTERNS : [compiled(pattern, ["host", "clock"])];
  const passed = [];
  const events = files.flatMap((file, index) =>
    eventsIn(names, index, file, patterns, problems, passed),
  );
  if (!events.length) {
    problems.refuse(sourceOf(names));
    const detail = "there is no event with a vector clock; --pattern says how to find them";
    throw new BadLog(sourceOf(names), [detail]);
  }
  const hosts = byHost(names, events, problems);
  const log = new Log(names);
  const run = log.runs.code(files[0].name.split(".")[0]);
  const crashes = crash === undefined ? null : compiled(crash, []);
  const put = (event, kind, message = null) =>
    log.add(
      ...[event.file, event.line, run, log.processes.code(event.host), kind],
      message === null ? NONE : log.messages.code(message),
      ...[null, null, event.time, APP, event.text || null],
    );
  let assumed = [BLIND];
  if (send === undefined) fromClocks(names, hosts, crashes, problems, put);
  else {
    const sends = compiled(send, ["message"]),
      delivers = compiled(deliver, ["message"]);
    fromTexts(hosts, sends, delivers, crashes, put);
    assumed = log.kind.includes(DELIVER) ? [] : [NO_MATCH];
    assumed.push(...hiddenIn(names, hosts, sends, delivers));
  }
  if (passed.length)
    assumed.push({ ...PASSED, count: passed.length, first: lineIn(names, ...passed[0]) });
  const isAbsolute = events.some((event) => !Number.isNaN(event.time));
  return { log, assumed, isAbsolute, isBlind: send === undefined, order: GIVEN };
}

// A regular expression in Python's words or JavaScript's.
function compiled(pattern, groups) {
  let found;
  try {
    found = new RegExp(pattern.replaceAll("(?P<", "(?<").replaceAll("(?P=", "\\k<"), "gm");
  } catch (error) {
    throw new Asked(`${pattern} is no regular expression: ${error.message}`);
  }
  const missing = groups.filter((name) => !found.source.includes(`(?<${name}>`)).sort();
  if (missing.length)
    throw new Asked(`${pattern} has no group ${missing.map((name) => `(?P<${name}>...)`).join(" and ")}`);
  return found;
}

// The pattern that finds most events; of two that find as many, the one that begins first.
function choosePattern(text, patterns) {
  let best,
    most = [-1, 0];
  for (const pattern of patterns) {
    let count = 0,
      start = 0;
    for (const match of text.matchAll(pattern)) {
      if (!count) start = match.index;
      count++;
    }
    if (count > most[0] || (count === most[0] && -start > most[1])) [best, most] = [pattern, [count, -start]];
  }
  return best;
}

// The events of a file; `passed` takes the places of lines that are in none.
function eventsIn(names, file, { text }, patterns, problems, passed) {
  const found = [];
  const hosts = new Set();
  const left = [];
  const chosen = choosePattern(text, patterns);
  let line = 1,
    counted = 0,
    end = 0;
  for (const match of text.matchAll(chosen)) {
    for (let at = text.indexOf("\n", counted); at >= 0 && at < match.index; at = text.indexOf("\n", at + 1))
      line++;
    counted = match.index;
    left.push(...clockLinesIn(text, end, match.index));
    for (const one of linesBetween(text, end, match.index, line)) passed.push([file, one]);
    end = match.index + match[0].length;
    const { host, clock: written, event, time } = match.groups;
    hosts.add(host);
    const here = line;
    const place = () => lineIn(names, file, here);
    const clock = clockOf(written);
    if (clock === null) {
      const detail = `the clock ${written.slice(0, 80)} is no JSON object of counts`;
      problems.add("bad-rows", place, detail, "clock");
    } else if (!clock.has(host))
      problems.add("bad-rows", place, `the clock has no entry for its host '${host}'`, "own");
    else if (event === "" && end === text.length && match[0].endsWith("\n"))
      problems.add("truncated", place, `the clock ${written.slice(0, 80)} has no event`, "torn");
    else
      found.push({ file, line, host, clock, own: clock.get(host), text: event ?? "", time: timeOf(time) });
  }
  left.push(...clockLinesIn(text, end, text.length));
  tellLeft(names, file, text, left, hosts, problems);
  const rest = strip(text.slice(end));
  if (chosen !== TEXT_FIRST)
    for (const one of linesBetween(text, end, text.length, lineOfPlace(text, text.length)))
      passed.push([file, one]);
  else if (!left.length && rest) {
    const place = () => lineIn(names, file, lineOfPlace(text, text.lastIndexOf(rest)));
    const detail = "the last text has no clock behind it";
    problems.add("truncated", place, detail, "torn", "--pattern says how to find events");
  }
  return found;
}

// The lines, by their numbers, that are neither empty nor part of the event that ends or the one that
// starts there, in the given line.
function linesBetween(text, end, start, line) {
  const next = text.indexOf("\n", end);
  const first = !end || text[end - 1] === "\n" ? end : next < 0 || next >= start ? 0 : next + 1;
  const last = start < text.length ? text.lastIndexOf("\n", start - 1) + 1 : start;
  if ((end && !first) || first >= last) return [];
  const found = text.slice(first, last).split("\n");
  return found
    .map((one, at) => [one, line - found.length + 1 + at])
    .filter(([one]) => strip(one) && ![...one.matchAll(CLOCK_LINE)].length)
    .map(([, number]) => number);
}

function lineOfPlace(text, at) {
  return text.slice(0, at).split("\n").length;
}

// Lines with a clock that belong to no event: half of them is missing.
function tellLeft(names, file, text, left, hosts, problems) {
  for (const { host, clock, start, stop } of left) {
    const isClosed = clock.includes("}"),
      isLast = stop === text.length;
    if (!(isClosed ? clock.includes(`"${host}"`) : isLast || hosts.has(host))) continue;
    const place = () => lineIn(names, file, lineOfPlace(text, start));
    const detail = `the clock ${clock.slice(0, 80)} ${isClosed ? "has no event" : "is not closed"}`;
    problems.add(isLast ? "truncated" : "bad-rows", place, detail, "torn");
  }
}

// The lines with a clock between two events.
function clockLinesIn(text, from, to) {
  const first = from ? text.indexOf("\n", from - 1) + 1 || to : 0;
  return [...text.slice(first, to).matchAll(CLOCK_LINE)].map((match) => ({
    host: match.groups.host ?? match.groups.named,
    clock: match.groups.clock,
    start: first + match.index,
    stop: first + match.index + match[0].length,
  }));
}

// By host the count in a clock; null if it is none.
function clockOf(written) {
  const clock = new Map();
  try {
    const found = parseJson(written);
    if (Array.isArray(found)) return null;
    for (const [name, value] of Object.entries(found)) {
      const number = wholeOf(value);
      if (number === null || number < 0) return null;
      clock.set(name, number);
    }
  } catch {
    return null;
  }
  return clock;
}

function timeOf(text) {
  const time = text ? parseTime(text) : null;
  return time ? secondsOf(time) : NaN;
}

// The events of every host by its own entry, which counts them from 1.
function byHost(names, events, problems) {
  const hosts = new Map();
  for (const event of events) {
    if (!hosts.has(event.host)) hosts.set(event.host, []);
    hosts.get(event.host).push(event);
  }
  const found = new Map();
  for (const [host, own] of hosts) {
    own.sort((one, other) => (one.own < other.own ? -1 : one.own > other.own ? 1 : 0));
    let expected = 1;
    const byEntry = new Map();
    for (const event of own) {
      if (event.own !== expected) {
        const detail = `the own entry of '${host}' is ${event.own}, expected ${expected}`;
        problems.add("clocks", () => lineIn(names, event.file, event.line), detail, "own");
      }
      expected = typeof event.own === "bigint" ? event.own + 1n : event.own + 1;
      if (!byEntry.has(event.own)) byEntry.set(event.own, event);
    }
    found.set(host, byEntry);
  }
  return found;
}

// Every growth of a clock is the delivery of a message, sent at the event it grew by.
function fromClocks(names, hosts, crash, problems, put) {
  const sources = new Map(),
    senders = new Set();
  for (const own of hosts.values()) {
    let known = new Map();
    for (const event of own.values()) {
      const found = sourcesOf(names, hosts, event, known, problems);
      sources.set(event, found);
      for (const one of found) senders.add(one);
      known = event.clock;
    }
  }
  const named = (event) => `${event.host} event ${event.own}`;
  for (const own of hosts.values())
    for (const event of own.values()) {
      for (const source of sources.get(event)) put(event, DELIVER, named(source));
      if (senders.has(event)) put(event, SEND, named(event));
      if (crash && event.text.search(crash) >= 0) put(event, CRASH);
      else if (!senders.has(event) && !sources.get(event).length) put(event, LOCAL);
    }
}

// The events elsewhere that this one learned of directly.
function sourcesOf(names, hosts, event, known, problems) {
  const grown = [];
  for (const [host, value] of event.clock) {
    if (host === event.host || value <= (known.get(host) ?? 0)) continue;
    const source = hosts.get(host)?.get(value);
    if (source) grown.push(source);
    else {
      const detail = `the log has no event ${value} of '${host}'`;
      problems.add("clocks", () => lineIn(names, event.file, event.line), detail, "unknown");
    }
  }
  return grown.filter(
    (one) => !grown.some((other) => other !== one && (other.clock.get(one.host) ?? 0) >= one.own),
  );
}

// The application's own messages, found in the texts.
function fromTexts(hosts, send, deliver, crash, put) {
  for (const own of hosts.values())
    for (const event of own.values()) {
      const sent = namedBy(send, event),
        got = namedBy(deliver, event);
      for (const one of got) put(event, DELIVER, one);
      for (const one of sent) put(event, SEND, one);
      if (crash && event.text.search(crash) >= 0) put(event, CRASH);
      else if (!sent.length && !got.length) put(event, LOCAL);
    }
}

// The messages that a pattern finds in a text.
function namedBy(pattern, { text }) {
  const found = [...text.matchAll(pattern)].map((match) => match.groups.message);
  return found.filter((one) => one !== undefined);
}

// The doubt about sends that depend on others by their clocks and not by the texts. Of every host the
// last send counts that is known: by the clock of the event, and by what was delivered before.
function hiddenIn(names, hosts, send, deliver) {
  const sizes = new Map(),
    events = [...hosts.values()].flatMap((own) => [...own.values()]);
  for (const event of events)
    sizes.set(event, [...event.clock.values()].reduce((sum, one) => sum + Number(one), 0));
  events.sort((one, other) => sizes.get(one) - sizes.get(other)); // what knows more comes later
  const sent = new Map();
  for (const event of events)
    if (namedBy(send, event).length) {
      if (!sent.has(event.host)) sent.set(event.host, []);
      sent.get(event.host).push(event.own);
    }
  const told = new Map([...hosts.keys()].map((host) => [host, new Map()])),
    carried = new Map(),
    found = [];
  for (const event of events) {
    const known = told.get(event.host);
    for (const name of namedBy(deliver, event))
      for (const [host, value] of carried.get(name) ?? [])
        if (value > (known.get(host) ?? 0)) known.set(host, value);
    const own = namedBy(send, event);
    if (!own.length) continue;
    const isHidden = [...sent].some(
      ([host, values]) =>
        host !== event.host &&
        values.some(
          (value) => (known.get(host) ?? 0) < value && value <= (event.clock.get(host) ?? 0),
        ),
    );
    if (isHidden) found.push(event);
    known.set(event.host, event.own);
    for (const name of own) if (!carried.has(name)) carried.set(name, new Map(known));
  }
  if (!found.length) return [];
  return [{ ...HIDDEN, count: found.length, first: lineIn(names, found[0].file, found[0].line) }];
}
