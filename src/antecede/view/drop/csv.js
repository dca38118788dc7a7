// CSV, parsed as strictly as Python's csv module with `strict`.
import { Lines } from "./lines.js";

// Calls `found(fields, line, isWhole)` for every row: its fields, the line it begins on, and whether
// the last line of it had an end. Throws an Error that says what is wrong.
export function readCsv(name, text, delimiter, found) {
  const lines = new Lines(name, text);
  const padding = [` ${delimiter}`, `${delimiter} `];
  const isPadded = (line) => line[0] === " " || line.endsWith(" ") || padding.some((one) => line.includes(one));
  let quote = text.indexOf('"');
  for (let line = lines.next(); line !== null; line = lines.next()) {
    const first = lines.number;
    if (line === "") continue;
    let fields;
    if (quote < 0 || quote >= lines.at) {
      fields = line.split(delimiter);
      if (isPadded(line)) fields = fields.map(withoutPadding);
    } else {
      try {
        fields = quotedFields(line, lines, delimiter).map(withoutPadding);
      } catch (error) {
        throw Object.assign(error, { line: first });
      }
      quote = text.indexOf('"', lines.at);
    }
    if (found(fields, first, lines.end !== "") === false) return;
  }
}

// Spaces around a field, which may align columns, are none of it.
export function withoutPadding(field) {
  return field.replace(/^ +| +$/g, "");
}

// The fields of a row that has quotes, which may go over several lines.
function quotedFields(line, lines, delimiter) {
  const fields = [];
  let at = 0;
  for (;;) {
    if (line[at] !== '"') {
      const stop = line.indexOf(delimiter, at);
      if (stop < 0) return [...fields, line.slice(at)];
      fields.push(line.slice(at, stop));
      at = stop + 1;
      continue;
    }
    let field = "";
    at++;
    for (;;) {
      const stop = line.indexOf('"', at);
      if (stop < 0) {
        field += line.slice(at) + lines.end;
        line = lines.next();
        if (line === null) throw new CsvError("unexpected end of data");
        at = 0;
      } else if (line[stop + 1] === '"') {
        field += line.slice(at, stop + 1);
        at = stop + 2;
      } else {
        field += line.slice(at, stop);
        at = stop + 1;
        break;
      }
    }
    fields.push(field);
    if (at === line.length) return fields;
    if (line[at] !== delimiter) throw new CsvError(`'${delimiter}' expected after '"'`);
    at++;
  }
}

export class CsvError extends Error {}

// The same without being strict, of a few lines: their rows, or null if there is a line end where
// none may be.
export function looseRows(text, delimiter) {
  const rows = [];
  let fields = [],
    field = "",
    state = "start";
  const end = () => {
    if (state !== "start" || fields.length) rows.push([...fields, field]);
    [fields, field, state] = [[], "", "start"];
  };
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (state === "quoted") {
      if (letter === '"') state = "closed";
      else field += letter;
    } else if (letter === '"' && state === "closed") {
      field += letter;
      state = "quoted";
    } else if (letter === '"' && (state === "start" || state === "next")) state = "quoted";
    else if (letter === delimiter) {
      fields.push(field);
      [field, state] = ["", "next"];
    } else if (letter === "\n" || letter === "\r") {
      end();
    } else {
      field += letter;
      state = "plain";
    }
  }
  end();
  return rows;
}
