// Text and numbers as Python reads and writes them, so that both tell the same story.

// How Python cuts a text into lines, and what it takes for space.
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const SPACE = "[\\s\\x1c-\\x1f\\x85]";
const STRIPPED = new RegExp(`^(?:(?!\\ufeff)${SPACE})+|(?:(?!\\ufeff)${SPACE})+$`, "g");
const FLOAT = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/;
const DECIMAL = /^\d+(?:\.\d+)?$/;
const WHOLE = /^[+-]?\d+(?:_\d+)*$/;
const ENDLESS = /^[+-]?(?:inf|infinity|nan)$/i;

export function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function strip(text) {
  return text.replace(STRIPPED, "");
}

export function splitLines(text) {
  const lines = text.split(LINE_ENDS);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

// A text as a floating-point number, or null. NaN and infinities are numbers, too.
export function toFloat(text) {
  if (DECIMAL.test(text)) return Number(text);
  const plain = strip(text);
  if (FLOAT.test(plain)) return Number(plain.replaceAll("_", ""));
  return ENDLESS.test(plain) ? NaN : null;
}

// A text as a whole number, of whatever size, or null.
export function toWhole(text) {
  const plain = strip(text);
  if (!WHOLE.test(plain)) return null;
  const digits = plain.replaceAll("_", "").replace("+", "");
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

export function isWritable(text) {
  return text.isWellFormed?.() ?? true;
}

// A floating-point number as Python writes it.
export function floatText(number) {
  if (!Number.isFinite(number))
    return Number.isNaN(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return padExponent(number.toExponential());
  const text = Object.is(number, -0) ? "-0" : String(number);
  return text.includes(".") ? text : `${text}.0`;
}

function padExponent(text) {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

// With at most six digits, as Python's `.6g`.
export function briefNumber(number) {
  if (number === 0) return "0";
  const exact = number.toPrecision(6);
  const exponent = Math.floor(Math.log10(Math.abs(Number(exact))));
  if (exponent >= -4 && exponent < 6) return String(Number(exact));
  const [mantissa, power] = Number(exact).toExponential().split("e");
  return padExponent(`${mantissa}e${power}`);
}

// A value as Python's repr shows it, cut to 80 characters.
export function shown(value) {
  const text = represent(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

// The same, whole.
export function represent(value) {
  if (typeof value === "string") return quotedText(value);
  if (value === null || value === undefined) return "None";
  if (value === true || value === false) return value ? "True" : "False";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : floatText(value);
  if (value instanceof Literal) return value.isWhole ? value.text() : floatText(value.number()).replace("Infinity", "inf").replace("NaN", "nan");
  if (Array.isArray(value)) return `[${value.map(represent).join(", ")}]`;
  const fields = Object.entries(value).map(([name, one]) => `${quotedText(name)}: ${represent(one)}`);
  return `{${fields.join(", ")}}`;
}

export function quotedText(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
  const escaped = text.replace(/[\\\p{C}\p{Zl}\p{Zp}']|(?! )\p{Zs}/gu, (letter) => {
    if (named[letter]) return named[letter];
    if (letter === "'") return quote === "'" ? "\\'" : "'";
    const code = letter.codePointAt(0), hex = code.toString(16);
    if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
  return quote + escaped + quote;
}

// A count: a whole number, or the digits of one, from JSON; null if it is none.
export function wholeOf(value) {
  if (typeof value === "string") return toWhole(value);
  if (value instanceof Literal && value.isWhole) return value.whole();
  const number = value instanceof Literal ? value.number() : value;
  return Number.isInteger(number) ? number : null;
}

// A number as it stands in JSON: JavaScript's own numbers forget digits, and 1.0.
export class Literal {
  constructor(source) {
    this.source = source;
    this.isWhole = /^-?\d+$/.test(source);
  }

  number() {
    return this.source === "NaN" ? NaN : Number(this.source);
  }

  whole() {
    const number = Number(this.source);
    return Number.isSafeInteger(number) ? number : BigInt(this.source);
  }

  text() {
    return this.isWhole ? String(this.whole()) : floatText(this.number());
  }
}
