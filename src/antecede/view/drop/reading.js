// Tables: rows of CSV or JSON lines as events. The counterpart of antecede/imports/tables.py and cells.py.
import { CsvError, readCsv } from "./csv.js";
import { parseJson, writeJson } from "./json.js";
import { Lines } from "./lines.js";
import { APP, DELIVER, KINDS, LAYERS, LOCAL, Log, NONE, RECEIVE, SEND, lineIn } from "./log.js";
import { Asked, BadLog, advised, assume } from "./problems.js";
import { FROM_START, UNZONED, isTimeOfDay, parseTime, settleTimes } from "./times.js";
import { Literal, grouped, isWritable, represent, shown, strip, toWhole } from "./text.js";

export const COLUMNS = [
  ...["run", "process", "kind", "seq", "message", "sender", "number"],
  ...["destinations", "time", "layer", "text"],
];
export const WORDS = Object.fromEntries([
  ...KINDS.map((word, code) => [word, code]),
  ["local", LOCAL],
]);
export const ANY_WORD = "*";
// Stands for the field of a column that the log shall not have.
const NO_FIELD = "\0";
const NESTED = 5;
const RECORDING_VERSION = 1;
const WHOLE_FLOAT = /^([+-]?[0-9]+)\.0+$/;
const NO_TIME = { number: NaN, scale: null };
const MOST_SETS = 100_000;
const PLAIN_TEXT = /^[!-~]*$/;
const LARGEST_NUMBER = 2n ** 63n - 1n;
const NO_ZONE = assume("zone", "times without a zone were taken for UTC", "", { doubt: false });

// A mapping, checked. `kinds` gives for a kind a word of the file, or several with commas.
export function makeReading(columns, kinds, separator = " ", delimiter = ",") {
  const named = {};
  for (const [name, field] of Object.entries(columns)) {
    if (!COLUMNS.includes(name))
      throw new Asked(`no column '${name}' in a trace; there are ${COLUMNS.join(", ")}`);
    if ((name === "process" || name === "kind") && !field)
      throw new Asked(`--column ${name}=: every event needs its ${name}`);
    named[name] = field || NO_FIELD;
  }
  const words = new Map(Object.entries(WORDS));
  for (const [kind, given] of Object.entries(kinds)) {
    if (!(kind in WORDS))
      throw new Asked(`no kind '${kind}' in a trace; there are ${Object.keys(WORDS).join(", ")}`);
    for (const word of wordsIn(given)) words.set(word, WORDS[kind]);
  }
  if (!separator) throw new Asked("the separator of destinations must not be empty");
  const mapping = Object.fromEntries(COLUMNS.map((name) => [name, name]));
  const kindOf = (word) => words.get(word) ?? words.get(ANY_WORD);
  return { columns: { ...mapping, ...named }, kindOf, separator, delimiter: checkedDelimiter(delimiter) };
}

// The words that a flag names: with commas between them, or one with commas in it.
export function wordsIn(given) {
  return [given, ...given.split(",")];
}

// What stands between fields; a tab may be written as in a program.
export function checkedDelimiter(delimiter) {
  const found = delimiter.replaceAll("\\t", "\t");
  if (found.length !== 1 || '"\r\n'.includes(found))
    throw new Asked("the delimiter of a CSV file is one character and no quote; a tab is \\t");
  return found;
}

// Readers: each calls `found(row, line)` for every row of a file: a list of fields, of which `begin`
// has seen the header, or an object. `found` says false when it has seen enough.

export function csvRows(file, delimiter, problems, place, found, begin) {
  let header = null;
  try {
    readCsv(file.name, file.text, delimiter, (one, line, isWhole) => {
      if (header === null) {
        header = one;
        begin(header);
        return true;
      }
      if (one.length === header.length) return found(one, line);
      if (one.length === 1 && !strip(one[0])) return true;
      const detail = `there are ${grouped(one.length)} fields, but ${grouped(header.length)} in the header`;
      problems.add(isWhole ? "bad-rows" : "truncated", () => place(line), detail, "length");
      return true;
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const open = "a quote is opened there and never closed, or closed in the middle of a field";
    const detail = `${place(error.line)}: this is no CSV: ${error.message}; ${open}`;
    throw new BadLog(file.name, [detail]);
  }
}

export function jsonRows(file, _delimiter, problems, place, found) {
  const lines = new Lines(file.name, file.text);
  for (let text = lines.next(); text !== null; text = lines.next()) {
    if (!strip(text)) continue;
    const line = lines.number;
    let object;
    try {
      object = parseJson(text);
    } catch (error) {
      const name = lines.end.endsWith("\n") ? "bad-rows" : "truncated";
      problems.add(name, () => place(line), `this is no JSON: ${error.message}`, "json");
      continue;
    }
    if (!isObject(object)) {
      problems.add("bad-rows", () => place(line), "this is no JSON object", "object");
      continue;
    }
    const { row, twice } = withNested(object);
    if (twice) problems.add("bad-rows", () => place(line), twice, "twice");
    else if (found(row, line) === false) return;
  }
}

export function isObject(value) {
  return (
    value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Literal)
  );
}

// An object with the fields of those within it, too, by their ways: `a.b`; or what is wrong where two
// ways lead to one name, and nothing says which is meant.
function withNested(object, depth = NESTED) {
  if (!depth || !Object.values(object).some(isObject)) return { row: object };
  const found = { ...object };
  for (const [name, value] of Object.entries(object)) {
    if (!isObject(value)) continue;
    const { row, twice } = withNested(value, depth - 1);
    if (twice) return { twice };
    for (const [inner, of] of Object.entries(row)) {
      const way = `${name}.${inner}`;
      if (Object.hasOwn(found, way)) return { twice: `there are two fields '${way}', one within '${name}'` };
      found[way] = of;
    }
  }
  return { row: found };
}

// A file of `antecede.recorder`, without the lines that begin a recording.
export function recordingRows(file, delimiter, problems, place, found) {
  jsonRows(file, delimiter, problems, place, (row, line) => {
    if (!Object.hasOwn(row, "antecede")) return found(row, line);
    if (row.version === RECORDING_VERSION) return true;
    const told = `this recording has version ${writeJson(row.version ?? null)}, and ${RECORDING_VERSION} is known`;
    throw new BadLog(file.name, [`${place(line)}: ${told}; a newer antecede reads it`]);
  });
}

// Refuse a table without the columns that every row needs, or that the caller names.
function checkColumns(name, fields, { columns }, first) {
  const missing = COLUMNS.filter(
    (one) =>
      (one === "process" || one === "kind" || ![one, NO_FIELD].includes(columns[one])) &&
      !fields.includes(columns[one]),
  );
  if (!missing.length) return refuseTwice(name, fields, Object.values(columns));
  const told = fields.slice(0, 20).join(", ") + (fields.length > 20 ? " ..." : "");
  throw new BadLog(
    name,
    missing.map(
      (one) =>
        `there is no column '${columns[one]}' among ${told}; ${adviceFor(one, first)}`,
    ),
  );
}

// Refuse a table in which it is not clear which column is meant.
function refuseTwice(name, fields, used) {
  const count = (one) => fields.reduce((sum, field) => sum + (field === one), 0);
  const twice = [...new Set(used)].filter((one) => count(one) > 1);
  if (!twice.length) return;
  throw new BadLog(
    name,
    twice.map((one) => `there are ${grouped(count(one))} columns '${one}'; rename one`),
  );
}

// What helps where the field for a column is missing, in a file that is read as the first was.
function adviceFor(column, first) {
  if (first) return `${first} has it: logs that are audited together need the same names`;
  return `--column ${column}=FIELD names another`;
}

// The events in files of one format, as {log, assumed, isAbsolute}.
export function readEvents(files, reader, how, problems) {
  const names = files.map((file) => file.name);
  const log = new Log(names);
  const rows = new RowReader(log, how);
  files.forEach((file, index) => {
    const place = (line) => lineIn(names, index, line);
    const run = files.length === 1 ? file.name.split(".")[0] : "log";
    rows.first = index ? names[0] : "";
    const begin = (header) => {
      checkColumns(file.name, header, how, rows.first);
      rows.begin(header);
    };
    reader(
      file,
      how.delimiter,
      problems,
      place,
      (row, line) => {
        try {
          rows.read(index, line, row, run);
        } catch (wrong) {
          if (!(wrong instanceof Wrong)) throw wrong;
          problems.add("bad-rows", () => place(line), wrong.message, wrong.group, wrong.advice);
        }
        return true;
      },
      begin,
    );
  });
  rows.tellWords(problems);
  settleTimes(log);
  const assumed = log.scale.includes(UNZONED) ? [NO_ZONE] : [];
  const isAbsolute = log.scale.some((one) => one !== null && one !== FROM_START);
  const { guessedSeq } = how,
    { mentions } = rows;
  return { log, assumed, isAbsolute, rows: rows.rows, guessedSeq, mentions };
}

// The doubts about rows that name a message in a word of which nobody says what it means: one that
// their process should have delivered, and did not; one that nobody sends; or one that their own
// process sent, and that somebody did not deliver. `isMoved`: what is received is delivered.
export function doubtfulWords(log, mentions, isMoved, { broadcast, tolerate }) {
  const rows = mentions.filter((one) => !(isMoved && one.kind === RECEIVE));
  if (!rows.length) return [];
  const { codes } = log.messages,
    key = (...parts) => parts.join(" ");
  const sent = new Map(),
    got = new Set(),
    everybody = new Map();
  for (let event = 0; event < log.size; event++) {
    const { run, message, process, kind } = log;
    if (!everybody.has(run[event])) everybody.set(run[event], new Set());
    everybody.get(run[event]).add(process[event]);
    if (kind[event] === SEND) sent.set(key(run[event], message[event]), event);
    if (kind[event] === DELIVER) got.add(key(run[event], message[event], process[event]));
  }
  const sendOf = ({ run, message }) => sent.get(key(run, codes.get(message)));
  const isUnsent = (one) =>
    (one.isAddressed || broadcast) && one.kind === LOCAL && sendOf(one) === undefined;
  const isForAny = broadcast || tolerate.has("unaddressed");
  // Who did not deliver what the process of this row has sent.
  const lacking = (one) => {
    const send = sendOf(one),
      { run, process } = one,
      message = codes.get(one.message);
    if (send === undefined || log.process[send] !== process || got.has(key(run, message, process)))
      return [];
    const to = broadcast ? [...everybody.get(run)] : (log.to[send] ?? []);
    return to.filter((q) => q !== process && !got.has(key(run, message, q)));
  };
  const found = rows.filter((one) => {
    const send = sendOf(one),
      { run, message, process } = one;
    if (send === undefined || got.has(key(run, codes.get(message), process))) return false;
    if (log.process[send] === process) return false;
    return log.to[send] === null || isForAny || log.to[send].includes(process);
  });
  const lost = rows.map((one) => ({ ...one, lacks: lacking(one) })).filter((one) => one.lacks.length);
  return [
    ...perhapsDelivered(log, found),
    ...perhapsSent(log, rows.filter(isUnsent)),
    ...perhapsFailed(log, lost),
  ];
}

function perhapsFailed(log, found) {
  if (!found.length) return [];
  const { word, file, line } = found[0];
  return [
    assume(
      "words",
      `rows with '${word}' name messages of their processes that somebody did not deliver`,
      "if they were not sent after all, nobody had to wait for them; " +
        `${advised("--kind", "local", word)} says that they were`,
      {
        count: found.filter((one) => one.word === word).length,
        first: lineIn(log.files, file, line),
        unsure: true,
        processes: [...new Set(found.flatMap((one) => one.lacks.map((q) => log.processes.names[q])))],
      },
    ),
  ];
}

function perhapsSent(log, found) {
  if (!found.length) return [];
  const { word, file, line } = found[0];
  return [
    assume(
      "words",
      `rows with '${word}' name a message for somebody that nobody sends`,
      `${advised("--kind", "send", word)} says that these are sends, ` +
        `${advised("--kind", "local", word)} that they are not`,
      { count: found.filter((one) => one.word === word).length, first: lineIn(log.files, file, line) },
    ),
  ];
}

function perhapsDelivered(log, found) {
  if (!found.length) return [];
  const { word, kind, file, line } = found[0];
  const other = kind === LOCAL ? "local" : KINDS[kind];
  return [
    assume(
      "words",
      `rows with '${word}' name messages that their processes do not deliver`,
      `${advised("--kind", "deliver", word)} says that these are deliveries, ` +
        `${advised("--kind", other, word)} that they are not`,
      {
        count: found.filter((one) => one.word === word).length,
        first: lineIn(log.files, file, line),
        unsure: true,
        processes: [...new Set(found.map((one) => log.processes.names[one.process]))],
      },
    ),
  ];
}

// What is wrong with a row; those of one group are told together.
class Wrong extends Error {
  constructor(group, detail, advice = "") {
    super(detail);
    this.group = group;
    this.advice = advice;
  }
}

class RowReader {
  constructor(log, how) {
    this.log = log;
    this.how = how;
    this.rows = 0;
    this.words = new Map();
    this.mentions = [];
    this.sets = new Map();
    this.keys = { ...how.columns };
  }

  // In a table columns have places, the first of a name counts; in objects they have names.
  begin(header) {
    const { columns } = this.how;
    for (const name of COLUMNS) this.keys[name] = header.indexOf(columns[name]);
  }

  value(row, name) {
    const key = this.keys[name];
    if (key === NONE) return null;
    const found = row[key];
    // What every object inherits is a function, and no field of JSON is one.
    return found === "" || found === undefined || typeof found === "function" ? null : found;
  }

  required(row, name) {
    const found = this.value(row, name);
    if (found === null) {
      const column = this.how.columns[name];
      throw new Wrong(`no ${name}`, `field '${column}' is missing`, adviceFor(name, this.first));
    }
    return found;
  }

  // The code of a text among names that came before, or will.
  named(names, found, name) {
    return names.codes.get(found) ?? names.code(checkedText(found, this.how.columns[name]));
  }

  read(file, line, row, ownRun) {
    const { log, how } = this;
    this.rows++;
    const word = this.required(row, "kind");
    const spoken = typeof word === "string" ? word : writeJson(word);
    const kind = this.kind(spoken);
    checkedText(word, how.columns.kind);
    const process = this.named(log.processes, this.required(row, "process"), "process");
    const message = kind >= SEND && kind <= DELIVER ? this.message(row, process, kind) : NONE;
    const to = kind === SEND ? this.destinations(this.value(row, "destinations")) : null;
    const text = this.value(row, "text");
    const run = this.value(row, "run");
    const named = run === null ? log.runs.code(ownRun) : this.named(log.runs, run, "run");
    if ((kind === LOCAL || kind === RECEIVE) && this.how.isGuessed?.(spoken))
      this.mention(spoken, kind, named, process, row, file, line);
    const seq = wholeNumber(this.value(row, "seq"), how.columns.seq);
    const time = this.time(this.value(row, "time"));
    const layer = this.value(row, "layer");
    const inLayer = layer === null ? APP : this.layer(checkedText(layer, how.columns.layer));
    const said = text === null ? null : written(text);
    log.add(file, line, named, process, kind, message, to, seq, time.number, inLayer, said, time.scale);
  }

  // Of a row that may be a delivery or a send.
  mention(word, kind, run, process, row, file, line) {
    const found = this.value(row, "message");
    if (found === null) return;
    const message = typeof found === "string" ? found : writeJson(found);
    const isAddressed = this.value(row, "destinations") !== null;
    this.mentions.push({ word, kind, run, process, message, file, line, isAddressed });
  }

  kind(word) {
    const { columns } = this.how;
    const found = this.how.kindOf(word);
    if (found !== undefined) return found;
    this.words.set(word, (this.words.get(word) ?? 0) + 1);
    const told = Object.keys(WORDS).join(", ");
    throw new Wrong("words", `field '${columns.kind}' is '${word}', none of ${told}`);
  }

  message(row, process, kind) {
    const { log } = this;
    const found = this.value(row, "message");
    const sender = this.value(row, "sender"),
      number = this.value(row, "number");
    if (found !== null || sender === null || number === null)
      return this.named(log.messages, this.required(row, "message"), "message");
    const { columns } = this.how;
    const name = checkedText(sender, columns.sender);
    const whole = wholeNumber(number, columns.number);
    const own = log.processes.names[process];
    if (kind === SEND && name !== own)
      throw new Wrong("sender", `'${own}' sends, but field '${columns.sender}' is '${name}'`);
    return log.messages.code(`${name}:${whole}`);
  }

  destinations(found) {
    if (found === null) return null;
    const known = this.sets.get(found);
    if (known) return known;
    const { columns, separator } = this.how;
    let names = found;
    if (typeof found === "string") names = namesIn(found, separator);
    else if (typeof found === "number" || found instanceof Literal) names = [found];
    else if (!Array.isArray(found))
      throw new Wrong("destinations", `field '${columns.destinations}' is no list of names`);
    const texts = names.map((one) => checkedText(one, columns.destinations));
    const codes = [...new Set(texts.map((one) => this.log.processes.code(one)))];
    if (typeof found === "string" && this.sets.size < MOST_SETS) this.sets.set(found, codes);
    return codes;
  }

  time(found) {
    if (found === null) return NO_TIME;
    const time = parseTime(found);
    if (time !== null) return time;
    const told = isTimeOfDay(found) ? "has a time of day without its date" : "is no time";
    throw new Wrong(
      "time",
      `field '${this.how.columns.time}' ${told}: ${shown(found)}`,
      "--column time= goes on without times",
    );
  }

  layer(found) {
    if (LAYERS.includes(found)) return LAYERS.indexOf(found);
    const detail = `field '${this.how.columns.layer}' is ${shown(found)}, none of ${LAYERS.join(", ")}`;
    throw new Wrong("layer", detail, "--column layer= goes on without layers");
  }

  // Words for kinds that nobody knows are told together, by how often they come.
  tellWords(problems) {
    if (!this.words.size) return;
    const often = [...this.words].sort(
      ([word, count], [other, more]) => more - count || (word < other ? -1 : 1),
    );
    const listed = often.slice(0, 10).map(([word, count]) => `'${word}' (${grouped(count)})`);
    problems.advise(
      "words",
      `the words are ${listed.join(", ")}: say which deliver and which send, ` +
        `${advised("--kind", "deliver", often[0][0])}; --kind local=${ANY_WORD} keeps all others as local events`,
    );
  }
}

function namesIn(text, separator) {
  const names = text.split(separator);
  return (PLAIN_TEXT.test(text) ? names : names.map(strip)).filter(Boolean);
}

// A whole number, or null where there is none.
function wholeNumber(found, name) {
  if (found === null) return null;
  let number = null;
  if (typeof found === "string") number = toWhole(found.replace(WHOLE_FLOAT, "$1"));
  else if (typeof found === "number" && Number.isInteger(found)) number = found;
  else if (typeof found === "boolean") number = Number(found);
  else if (found instanceof Literal)
    number = found.isWhole ? found.whole() : Number.isInteger(found.number()) ? found.number() : null;
  const size = number === null ? 0 : number < 0 ? -number : number;
  if (number === null || size > LARGEST_NUMBER)
    throw new Wrong(`${name} number`, `field '${name}' is no number: ${shown(found)}`);
  return number;
}

// A value as a name: text that can be written, on one line.
function checkedText(found, name) {
  const text = written(found);
  if (text.includes("\n") || text.includes("\r"))
    throw new Wrong(
      `${name} lines`,
      `field '${name}' has a line break in it: ${shown(text)}`,
      "is a quote not closed?",
    );
  return text;
}

function written(found) {
  const text = typeof found === "string" ? found : writeJson(found);
  if (isWritable(text)) return text;
  throw new Wrong("characters", `${shown(text)} has a character that is none`);
}

// A value as Python's str gives it.
export function plainText(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "None";
  return represent(value);
}
