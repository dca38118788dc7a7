// JSON as Python reads it: with numbers of any size, NaN and infinities, and as it writes it.
import { Literal, grouped } from "./text.js";

// Numbers that JavaScript would change: 1.0, 1e3, more than 15 digits, and those that are none.
const DELICATE =
  /[:,[\s]-?(?:\d{16}|\d+(?:\.\d+)?[eE]|\d+\.0+(?=[\s,\]}]|$)|NaN|Infinity)/;
const TOKEN = /[ \t\n\r]*(?:("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|-?Infinity)|(true|false|null)|([[\]{},:]))/y;
const DEEPEST = 900;

// A text as a value; a number that JavaScript would change is a `Literal`. Throws if it is no JSON, or
// if an object has a name twice.
export function parseJson(text) {
  if (DELICATE.test(text)) return new Parser(text).whole();
  const value = JSON.parse(text);
  return countColons(text) === countNames(value) ? value : new Parser(text).whole();
}

// The colons that may stand behind a name, which are no fewer than the names.
function countColons(text) {
  let count = 0;
  for (let at = text.indexOf(":"); at >= 0; at = text.indexOf(":", at + 1)) {
    const before = text.charCodeAt(at - 1);
    if (before === 34 || before <= 32) count++;
  }
  return count;
}

// The names in a value; one that an object has twice is there once.
function countNames(value) {
  let count = 0;
  if (Array.isArray(value)) {
    for (const one of value) if (one !== null && typeof one === "object") count += countNames(one);
  } else if (value !== null && typeof value === "object")
    for (const name in value) {
      const one = value[name];
      count += one !== null && typeof one === "object" ? 1 + countNames(one) : 1;
    }
  return count;
}

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.next();
  }

  next() {
    TOKEN.lastIndex = this.at;
    this.token = TOKEN.exec(this.text);
    if (this.token) this.at = TOKEN.lastIndex;
  }

  wrong() {
    return new SyntaxError(`unexpected text at character ${grouped(this.at + 1)}`);
  }

  whole() {
    const value = this.value(0);
    if (this.token || /[^ \t\n\r]/.test(this.text.slice(this.at))) throw this.wrong();
    return value;
  }

  isMark(mark) {
    return this.token?.[4] === mark;
  }

  take(mark) {
    if (!this.isMark(mark)) throw this.wrong();
    this.next();
  }

  value(depth) {
    if (!this.token || depth > DEEPEST) throw this.wrong();
    const [, text, number, word, mark] = this.token;
    if (mark === "[") return this.list(depth + 1);
    if (mark === "{") return this.object(depth + 1);
    if (mark) throw this.wrong();
    this.next();
    if (text) return JSON.parse(text);
    if (word) return word === "null" ? null : word === "true";
    const plain = Number(number);
    return String(plain) === number ? plain : new Literal(number);
  }

  list(depth) {
    const found = [];
    this.next();
    while (!this.isMark("]")) {
      if (found.length) this.take(",");
      found.push(this.value(depth));
    }
    this.next();
    return found;
  }

  object(depth) {
    const found = {};
    this.next();
    for (let first = true; !this.isMark("}"); first = false) {
      if (!first) this.take(",");
      if (!this.token?.[1]) throw this.wrong();
      const name = JSON.parse(this.token[1]);
      if (Object.hasOwn(found, name)) throw new SyntaxError(`an object has '${name}' twice`);
      this.next();
      this.take(":");
      Object.defineProperty(found, name, {
        value: this.value(depth),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    this.next();
    return found;
  }
}

// A value as Python's json.dumps writes it.
export function writeJson(value) {
  if (typeof value === "string") return asciiText(value);
  if (value instanceof Literal) return value.text();
  if (Array.isArray(value)) return `[${value.map(writeJson).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.entries(value);
    return `{${fields.map(([name, one]) => `${asciiText(name)}: ${writeJson(one)}`).join(", ")}}`;
  }
  return String(value);
}

function asciiText(text) {
  return JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
