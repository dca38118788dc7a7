// Which column is which, and which word sends: the counterpart of antecede/imports/guess.py.
import { DELIVER, KINDS, LOCAL, RECEIVE, SEND } from "./log.js";
import { Asked, advised } from "./problems.js";
import { ANY_WORD, COLUMNS, WORDS, isObject, makeReading, plainText, wordsIn } from "./reading.js";
import { grouped } from "./text.js";
import { FROM_START, isTimeOfDay, parseTime } from "./times.js";

const SAMPLE = 200;
const MOST_WORDS = 50;
// Rows of which each may be of another process.
const FEW = 5;
const SYNONYMS = {
  process:
    "process host hostname node nodeid service servicename pod podname instance actor " +
    "member replica component worker pid who at",
  kind: "kind event eventtype type action op operation what direction verb evt",
  message: "messageid msgid mid message msg id uuid key correlationid eventid",
  destinations:
    "destinations destination to dst dest receivers receiver recipients recipient " +
    "targets target addressees",
  sender: "sender from src source origin",
  number: "number msgno seqno sequencenumber",
  time: "time timestamp t ts when date datetime at eventtime unixtime",
  run: "run",
  seq: "seq",
  layer: "layer",
  text: "text log line body description detail details comment",
};
const SENDING = words("send sent sends snd publish published pub produce produced emit emitted out tx");
const DELIVERING = words("deliver delivered delivers dlv consume consumed handle handled processed apply");
const RECEIVING = words("receive received receives recv rcv rcvd recvd got in rx");
const SEPARATORS = ";|,";
const NO_HEADER =
  "If that is a first row and no names, put a line with names before it. " +
  "Free text has to be written as CSV or JSON lines first.";

function words(text) {
  return new Set(text.split(" "));
}

// How to read tables, given what the caller says of them. `each(found)` goes over rows with all their
// fields, as maps from names to values; `fields` are those of a header. What words mean is known when
// all rows have been read.
export function guessReading(each, wishes, delimiter, fields, refuse) {
  makeReading(wishes.columns, wishes.kinds, wishes.separator || " ", delimiter);
  const sample = [];
  each((row) => sample.push(row) < SAMPLE);
  if (!sample.length && !fields.length) refuse();
  const plain = sample.flatMap((one) => [...one].filter(([, value]) => !isObject(value)));
  const names = fields.length ? fields : [...new Set(plain.map(([name]) => name))];
  const rows = sample.map((one) => (name) => one.get(name));
  const found = findColumns(names, rows, wishes.columns);
  for (const name of ["process", "kind"])
    if (!(name in found)) throw askColumn(name, names, rows, found);
  if (!("message" in found) && !("sender" in found && "number" in found))
    throw askColumn("message", names, rows, found);
  const separator = wishes.separator || findSeparator(rows, found.destinations);
  const words = new Words(wishes.kinds, found.kind);
  const off = Object.fromEntries(Object.entries(wishes.columns).filter(([, field]) => !field));
  const reading = {
    ...makeReading({ ...found, ...off }, {}, separator, delimiter),
    kindOf: (word) => words.kindOf(word),
    isGuessed: (word) => words.isGuessed(word),
    guessedSeq: "seq" in found && !("seq" in wishes.columns) ? found.seq : "",
  };
  return { reading, words, lines: () => understood(reading, names, words, wishes.kinds) };
}

// The words for kinds, and what each means: as the caller says, else as people use it.
class Words {
  constructor(given, column) {
    this.column = column;
    this.said = new Map();
    for (const [kind, text] of Object.entries(given)) {
      if (!(kind in WORDS)) continue;
      for (const word of wordsIn(text)) this.said.set(word, WORDS[kind]);
    }
    this.counts = new Map();
    this.kinds = new Map();
  }

  kindOf(word) {
    const before = this.counts.get(word);
    if (before === undefined) {
      const kind = this.said.get(word) ?? spokenKind(word);
      const isFew = this.counts.size < 10 * MOST_WORDS;
      if (!isFew && !this.said.has(word) && spokenKind(word) === LOCAL) return kind;
      this.kinds.set(word, kind);
    }
    this.counts.set(word, (before ?? 0) + 1);
    return this.kinds.get(word);
  }

  // Whether nobody but the word itself says what it means.
  isGuessed(word) {
    return word !== "local" && !this.said.has(word) && !this.said.has(ANY_WORD);
  }

  // After the last row. Who receives and never delivers delivers. Says whether that is so, and asks
  // where no word sends or delivers.
  settle() {
    const spoken = new Set(this.kinds.values());
    const isMoved =
      !spoken.has(DELIVER) && spoken.has(RECEIVE) && ![...this.said.values()].includes(RECEIVE);
    if (isMoved) {
      for (const [word, kind] of this.kinds) if (kind === RECEIVE) this.kinds.set(word, DELIVER);
      spoken.add(DELIVER);
    }
    // Where every word is known to mean something else, the log has no such event.
    for (const kind of [SEND, DELIVER])
      if (!spoken.has(kind) && spoken.has(LOCAL)) throw this.ask(kind);
    return isMoved;
  }

  // The words, the most frequent first.
  often() {
    return [...this.counts].sort((one, other) => other[1] - one[1]);
  }

  ask(kind) {
    const free = this.often().filter(([word]) => this.kinds.get(word) === LOCAL);
    const listed = free.slice(0, 10).map(([word, count]) => `'${word}' (${grouped(count)})`);
    const [guess, count] = free[0];
    const isSend = kind === SEND;
    return new Asked(
      `which word in column '${this.column}' ${isSend ? "sends" : "delivers"} a message? ` +
        `There are ${listed.join(", ")}.\n` +
        `  ${advised("--kind", KINDS[kind], guess)} would take ${grouped(count)} row${count === 1 ? "" : "s"} ` +
        `with '${guess}' for ${isSend ? "sends" : "deliveries"}`,
    );
  }
}

// In which way a table was understood, a line a column.
function understood(reading, fields, words, kinds) {
  const told = [];
  const used = new Set(Object.values(reading.columns));
  for (const name of COLUMNS) {
    const column = reading.columns[name];
    if (!fields.includes(column)) continue;
    let more = "";
    if (name === "kind") {
      const spoken = words
        .often()
        .slice(0, MOST_WORDS)
        .map(([word, count]) => `${printable(word)} = ${kindName(words.kinds.get(word))} (${grouped(count)})`);
      more = `: ${spoken.join(", ")}`;
    } else if (name === "destinations" && reading.separator !== " ")
      more = `, with '${reading.separator}' between names`;
    told.push(`  ${name.padEnd(13)}${column}${more}`);
  }
  const unused = fields.filter((name) => !used.has(name));
  if (unused.length) told.push(`  ${"not used".padEnd(13)}${unused.slice(0, 10).join(", ")}`);
  for (const [kind, text] of Object.entries(kinds))
    for (const word of words.counts.has(text) ? [] : new Set(text.split(",")))
      if (word !== ANY_WORD && !words.counts.has(word))
        told.push(`  ${"not found".padEnd(13)}${printable(word)}, which --kind ${kind} names`);
  return told;
}

function printable(word) {
  return word.toWellFormed().replaceAll("\ufffd", "?");
}

function kindName(kind) {
  return kind === LOCAL ? "local" : KINDS[kind];
}

function plain(name) {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

// What Python calls false is no word.
function wordOf(value) {
  return value === undefined || value === null || value === false || value === 0 || value === ""
    ? ""
    : plainText(value);
}

function findColumns(names, rows, given) {
  const found = Object.fromEntries(Object.entries(given).filter(([, field]) => field));
  const taken = new Set(Object.values(found));
  const byPlain = new Map();
  for (const name of names) if (!byPlain.has(plain(name))) byPlain.set(plain(name), name);
  if (!("kind" in found)) {
    const spoken = spokenColumns(names, rows, taken);
    if (spoken.length > 1) throw askColumn("kind", names, rows, found, spoken);
    if (spoken.length) taken.add((found.kind = spoken[0]));
  }
  for (const [column, synonyms] of Object.entries(SYNONYMS)) {
    if (column in found || column in given) continue;
    const named = synonyms.split(" ").map((synonym) => byPlain.get(synonym));
    let free = named.filter((name) => name !== undefined && !taken.has(name));
    if (column === "process") {
      free = free.filter((name) => mayBeProcess(name, rows));
      if (free.slice(1).some((name) => tellsApart(free[0], name, rows)))
        throw askColumn("process", names, rows, found);
    }
    if (free.length) taken.add((found[column] = free[0]));
  }
  return found;
}

// Whether it holds no times, but for small numbers, and something in it comes again.
function mayBeProcess(name, rows) {
  const values = rows.map((row) => row(name));
  const given = values.filter((value) => value !== undefined && value !== null);
  if (given.some(isTimeOfDay)) return false;
  const times = given.map((value) => parseTime(value)).filter((time) => time !== null);
  if (plain(name) === "at" ? times.length : times.some(({ scale }) => scale !== FROM_START)) return false;
  return values.length < FEW || new Set(values.map(plainText)).size < values.length;
}

// Whether two columns divide the rows differently.
function tellsApart(one, other, rows) {
  const values = [one, other].map((name) => rows.map((row) => plainText(row(name))));
  const sizes = values.map((of) => new Set(of).size);
  const pairs = new Set(rows.map((_, at) => JSON.stringify([values[0][at], values[1][at]])));
  return pairs.size !== sizes[0] || pairs.size !== sizes[1];
}

// The column in which something is said to send, and those that say otherwise.
function spokenColumns(names, rows, taken) {
  const spoken = new Map();
  let best,
    most = 0;
  for (const name of names) {
    if (taken.has(name)) continue;
    const said = rows.map((row) => spokenAs(row(name)));
    const count = said.filter(Boolean).length;
    spoken.set(name, { said, count });
    if (count > most) [best, most] = [name, count];
  }
  if (best === undefined) return [];
  const sure = spoken.get(best).said;
  const isOther = (word, at) => word !== null && sure[at] !== null && word !== sure[at];
  const others = [...spoken].filter(([, { said, count }]) => 2 * count >= most && said.some(isOther));
  return [best, ...others.map(([name]) => name)];
}

// Whether a word sends or gets; nothing if it does neither, null if there is no word.
function spokenAs(value) {
  const word = plain(wordOf(value));
  if (!word) return null;
  if (SENDING.has(word)) return "sends";
  return RECEIVING.has(word) || DELIVERING.has(word) ? "gets" : "";
}

function findSeparator(rows, column) {
  const texts = (column === undefined ? [] : rows.map((row) => row(column))).filter(
    (value) => typeof value === "string",
  );
  return [...SEPARATORS].find((one) => texts.some((text) => text.includes(one))) ?? " ";
}

function spokenKind(word) {
  const bare = plain(word);
  if (KINDS.includes(bare)) return KINDS.indexOf(bare);
  if (SENDING.has(bare)) return SEND;
  if (DELIVERING.has(bare)) return DELIVER;
  return RECEIVING.has(bare) ? RECEIVE : LOCAL;
}

// Ask for one column; the likeliest is shown with what it would mean.
function askColumn(column, names, rows, found, among = []) {
  const used = new Set(Object.values(found));
  const unused = names.filter((name) => !used.has(name));
  const free = among.length ? among.slice(0, 1) : unused.length ? unused : names;
  let best = "FIELD",
    most = -Infinity;
  for (const name of free) {
    const distinct = new Set(rows.map((row) => plainText(row(name)))).size;
    // A process comes again and again, a message is one of many.
    const likely = column === "message" ? distinct : -Math.abs(distinct - 4);
    if (likely > most) [best, most] = [name, likely];
  }
  const asked = {
    process: "says where an event happened",
    kind: "says what happened (send, deliver ...)",
    message: "names the message",
  }[column];
  const told = [
    `which column ${asked}? There are ${names.slice(0, 20).join(", ") || "none"}.`,
    `  ${advised("--column", column, best)} would mean:`,
  ];
  for (const row of rows.slice(0, 3)) {
    const shown = { ...found, [column]: best };
    const parts = Object.entries(shown)
      .filter(([, name]) => !["", null, undefined].includes(row(name)))
      .map(([name, field]) => `${name} ${plainText(row(field)).slice(0, 80)}`);
    told.push(`    ${parts.join(", ")}`);
  }
  if (names.some((name) => spokenKind(name) !== LOCAL || parseTime(name) !== null)) told.push(`  ${NO_HEADER}`);
  return new Asked(told.join("\n"));
}
