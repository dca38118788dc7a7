// What a log is, found out from its first bytes: the counterpart of antecede/imports/detect.py.
import { looseRows } from "./csv.js";
import { parseJson } from "./json.js";
import { BadLog } from "./problems.js";
import { quotedText, splitLines, strip } from "./text.js";

export const FORMATS = ["csv", "jsonl", "shiviz", "otlp", "recording"];
const DELIMITERS = ",;\t|";
const CLOCKED = /(?<![^\n])(?:\S+|[^\n]*\]) \{\s*"[^"\n]*"\s*:\s*\d+/;
// What a request of OpenTelemetry can hold; messages are in spans alone.
export const OTLP_SIGNALS = ["resourceSpans", "resourceLogs", "resourceMetrics", "resourceProfiles"];
const NO_LINE = "cannot be read: the compressed file is cut off in its first line";
// How files begin that are packed in other ways than gzip and zstd: bzip2, xz, zip.
const PACKED = /^(?:BZh[1-9]1AY&SY|\ufffd7zXZ\0|PK\x03\x04)/;
// Spans that are not read, and how they begin.
const OTHER_SPANS = {
  "OTLP in the names of protocol buffers": /^\s*\{\s*"resource_spans"/,
  "spans of Jaeger": /^\s*\{\s*"data"\s*:\s*\[\s*\{\s*"traceID"/,
};
const RECORDING_START = '{"antecede":';

export function detectFormat({ name, head, isCut }) {
  const first = strip(splitLines(head).find((line) => strip(line)) ?? "");
  if (!first) throw new BadLog(name, [isCut ? NO_LINE : "there is nothing in it"]);
  if (PACKED.test(head))
    throw new BadLog(name, ["this is compressed; decompress it first, or use gzip or zstd, which are read"]);
  for (const [other, start] of Object.entries(OTHER_SPANS))
    if (start.test(head)) {
      const advice = "spans are read as OTLP JSON, which the collector's file exporter writes";
      throw new BadLog(name, [`this is JSON with ${other}; ${advice}`]);
    }
  if (first.startsWith(RECORDING_START)) return "recording";
  if (first === "{" && !isOtlp(head))
    throw new BadLog(name, ["its JSON objects go over several lines; write one a line, as jq -c . FILE does"]);
  if (first.startsWith("{")) return isOtlp(head) ? "otlp" : "jsonl";
  if (CLOCKED.test(head)) return "shiviz";
  if (first.startsWith("["))
    throw new BadLog(name, ["this is one JSON array; write one object a line, as jq -c '.[]' does"]);
  if (findDelimiter(head)) return "csv";
  const begins = quotedText(first.length <= 80 ? first : `${first.slice(0, 77)}...`);
  const before = linesBeforeTable(head);
  if (before)
    throw new BadLog(name, [`no table begins with ${begins}; tail -n +${before + 1} FILE skips to the table`]);
  const known = FORMATS.join(", ");
  throw new BadLog(name, [
    `its format is not known; it begins with ${begins}; --format names it: ${known}`,
  ]);
}

function isOtlp(text) {
  try {
    const found = parseJson(splitLines(text)[0]);
    return found !== null && typeof found === "object" && OTLP_SIGNALS.some((name) => name in found);
  } catch {
    return OTLP_SIGNALS.some((name) => text.includes(`"${name}"`));
  }
}

// Whatever gives the first lines as many fields as the header, and most; "" if there is no such.
// A quote that is never closed hides none.
export function findDelimiter(text) {
  const lines = firstLines(text, 20);
  let best = "",
    most = 1;
  for (const delimiter of DELIMITERS) {
    const counts = (looseRows(lines, delimiter) ?? []).map((fields) => fields.length);
    const even = counts.filter((count) => count === counts[0]).length >= 0.8 * counts.length;
    if (counts.length && even && counts[0] > most) [best, most] = [delimiter, counts[0]];
  }
  return best || (text.includes('"') ? findDelimiter(text.replaceAll('"', "")) : "");
}

// After how many lines, which have fewer fields, there is a table of some rows.
function linesBeforeTable(text) {
  const lines = [];
  for (let rest = text; rest && lines.length < 25; rest = rest.slice(lines.at(-1).length))
    lines.push(firstLines(rest, 1));
  for (let at = 1; at < Math.min(6, lines.length - 2); at++) {
    const delimiter = findDelimiter(lines.slice(at).join(""));
    if (!delimiter) continue;
    const fields = lines.slice(0, at + 1).map((line) => looseRows(line, delimiter)[0]?.length ?? 0);
    return Math.max(...fields.slice(0, -1)) < fields.at(-1) ? at : 0;
  }
  return 0;
}

function firstLines(text, count) {
  const ends = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
  for (let line = 0; line < count; line++) if (!ends.exec(text)) return text;
  return text.slice(0, ends.lastIndex);
}

// The format that all files have.
export function onlyFormat(files) {
  const found = files.map(detectFormat);
  const other = found.findIndex((format) => format !== found[0]);
  if (other < 0) return found[0];
  const told = `${files[0].name} is ${found[0]}, but ${files[other].name} is ${found[other]}; audit them apart`;
  throw new BadLog(files[other].name, [told]);
}
