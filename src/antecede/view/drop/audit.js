// From dropped files to a verdict: the counterpart of antecede/imports/logs.py and `antecede audit`.
import { assemble } from "./assemble.js";
import { readClocks } from "./clocks.js";
import { FORMATS, findDelimiter, onlyFormat } from "./detect.js";
import { guessReading } from "./guess.js";
import { looseRows, withoutPadding } from "./csv.js";
import { headOf, textOf, unpacked } from "./lines.js";
import { IN_FILE } from "./local.js";
import { DELIVER, RECEIVE } from "./log.js";
import { Asked, BadLog, Problems } from "./problems.js";
import { checkedDelimiter, csvRows, doubtfulWords, jsonRows, makeReading, readEvents, recordingRows } from "./reading.js";
import { readSpans } from "./spans.js";
import { grouped, quotedText, splitLines, strip } from "./text.js";
import { judgeRun, verdictOn } from "./verdict.js";

const NAMED_DELIMITERS = { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars" };

// `given` are [{name, bytes}]. Gives {verdict, lines, judged, assumed, isAbsolute}; throws a BadLog or
// what has to be Asked.
export async function auditFiles(given, wishes) {
  const files = [];
  for (const { name, bytes } of given) {
    const found = await unpacked(name, bytes);
    files.push({ name, ...found, head: headOf(found.bytes) });
  }
  return auditTexts(files, wishes);
}

function auditTexts(files, wishes) {
  const format = wishes.format ?? onlyFormat(files);
  if (!FORMATS.includes(format)) throw new Asked(`--format is one of ${FORMATS.join(", ")}`);
  for (const file of files) file.text = textOf(file.name, file.bytes);
  const what = files.length === 1 ? files[0].name : `${files.length} files`;
  const problems = new Problems(wishes.tolerate);
  const { told, lines } = read(files, format, wishes, problems, what);
  for (const { name, isCut } of files)
    if (isCut)
      problems.add("truncated", () => `the end of ${name}`, "the compressed file is cut off", "packed");
  const { runs, assumed } = assemble(told, problems, wishes.broadcast && format !== "otlp");
  if (!runs.length) throw new BadLog(told.log.source, ["there is no event in it"]);
  const judged = runs
    .map((run) => judgeRun(run, told.isAbsolute))
    .sort((one, other) => (fileName(one.run.name) < fileName(other.run.name) ? -1 : 1));
  const verdict = verdictOn(judged, assumed);
  return { verdict, lines, judged, assumed, isAbsolute: told.isAbsolute };
}

// As a run's file in a trace of several is called: they are judged in that order.
function fileName(run) {
  const escape = (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
  return `${encodeURIComponent(run).replace(/[!'()*]|^[._]/g, escape)}.parquet`;
}

// Refuse what the caller says of logs of another format: nobody would heed it.
function refuseUnused(format, { columns, kinds, patterns, separator, delimiter }) {
  const isTable = format === "csv" || format === "jsonl";
  if (!isTable && (Object.keys(columns).length || Object.keys(kinds).length))
    throw new Asked(`--column and --kind are for tables; this is ${format}`);
  if (!isTable && separator) throw new Asked(`--separator is for tables; this is ${format}`);
  if (delimiter !== undefined && format !== "csv")
    throw new Asked(`--delimiter is for CSV; this is ${format}`);
  const named = Object.keys(patterns).map((name) => `--${name}`);
  if (named.length && format !== "shiviz")
    throw new Asked(`${named.join(", ")}: that is for logs with vector clocks; this is ${format}`);
}

function read(files, format, wishes, problems, what) {
  refuseUnused(format, wishes);
  if (format === "csv" || format === "jsonl")
    return readTable(files, format, wishes, problems, what);
  if (format === "recording") {
    // A process that was killed may have been at its last line.
    problems.tolerated = new Set([...problems.tolerated, "truncated"]);
    const found = readEvents(files, recordingRows, makeReading({}, {}), problems);
    const told = { ...found, order: IN_FILE };
    return { told, lines: [`${what}: recorded by antecede.recorder`] };
  }
  if (format === "shiviz") {
    const how = wishes.patterns.send ? "messages by --send and --deliver" : "clocks alone";
    const lines = [`${what}: a log with vector clocks, ${how}`];
    return { told: readClocks(files, wishes, problems), lines };
  }
  const told = readSpans(files, wishes.broadcast, problems);
  return { told, lines: [`${what}: OpenTelemetry spans`] };
}

function readTable(files, format, wishes, problems, what) {
  const isCsv = format === "csv";
  const reader = isCsv ? csvRows : jsonRows;
  const delimiter = isCsv ? checkedDelimiter(wishes.delimiter || findDelimiter(files[0].head) || ",") : ",";
  const fields = isCsv ? headerOf(files[0].head, delimiter) : [];
  if (fields.length === 1)
    throw new Asked(
      `which character stands between fields? The first line is ${quotedText(fields[0].slice(0, 80))}.\n` +
        "  --delimiter CHARACTER says it",
    );
  const each = (found, counted = new Problems()) => {
    let goesOn = true,
      header = null;
    const take = (row) => (goesOn = found(header ? tableRow(header, row) : objectRow(row)));
    for (const file of files)
      if (goesOn)
        reader(file, delimiter, counted, (line) => `line ${line}`, take, (one) => (header = one));
  };
  const refuse = () => {
    const unread = new Problems();
    each(() => true, unread);
    unread.refuse(files[0].name);
  };
  const guess = guessReading(each, wishes, delimiter, fields, refuse);
  const how = isCsv ? `CSV with ${NAMED_DELIMITERS[delimiter] ?? delimiter}` : "JSON lines";
  const told = readEvents(files, reader, guess.reading, problems);
  const areMoved = guess.words.settle();
  if (areMoved) told.log.kind = told.log.kind.map((kind) => (kind === RECEIVE ? DELIVER : kind));
  told.assumed.push(...doubtfulWords(told.log, told.mentions, areMoved, wishes));
  const rows = told.rows === 1 ? "1 row" : `${grouped(told.rows)} rows`;
  return { told, lines: [`${what}: ${how}, ${rows}`, ...guess.lines()] };
}

function tableRow(header, fields) {
  const row = new Map();
  header.forEach((name, at) => row.has(name) || row.set(name, fields[at]));
  return row;
}

function objectRow(object) {
  return new Map(Object.entries(object));
}

function headerOf(head, delimiter) {
  const first = splitLines(head).find((line) => strip(line)) ?? "";
  return (looseRows(first, delimiter)?.[0] ?? []).map(withoutPadding);
}
