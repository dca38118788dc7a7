// The text in a file, and its lines: the counterpart of antecede/imports/reading.py.
import { BadLog } from "./problems.js";
import { grouped } from "./text.js";

const LONGEST = 2 ** 26;
const LARGEST = 2 ** 29 - 25; // characters of a text in Chromium
const HEAD = 2 ** 16;

// The bytes of a file, unpacked, and whether it was cut off. Nothing but gzip can be unpacked by a
// browser.
export async function unpacked(name, bytes) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipped(name, bytes);
  if (startsWith(bytes, [0x28, 0xb5, 0x2f, 0xfd]))
    throw new BadLog(name, ["a browser does not unpack zstd: unpack it first, zstd -d FILE"]);
  if (startsWith(bytes, [0x50, 0x41, 0x52, 0x31]))
    throw new BadLog(name, [
      "this page does not read Parquet; the page about it has a command that makes JSON lines of it",
    ]);
  return { bytes, isCut: false };
}

// Of a file that is cut off, its whole lines.
async function gunzipped(name, packed) {
  const parts = [];
  let isCut = false;
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    for (const reader = stream.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
    }
  } catch (error) {
    if (!/truncated/.test(error.message))
      throw new BadLog(name, [`cannot be read: this is damaged gzip (${error.message})`]);
    isCut = true;
  }
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return { bytes: isCut ? bytes.subarray(0, bytes.lastIndexOf(10) + 1) : bytes, isCut };
}

function startsWith(bytes, magic) {
  return magic.every((byte, at) => bytes[at] === byte);
}

function encodingOf(bytes) {
  if (startsWith(bytes, [0xff, 0xfe])) return "utf-16le";
  return startsWith(bytes, [0xfe, 0xff]) ? "utf-16be" : "utf-8";
}

export function headOf(bytes) {
  return new TextDecoder(encodingOf(bytes)).decode(bytes.subarray(0, HEAD));
}

export function textOf(name, bytes) {
  if (bytes.length > LARGEST)
    throw new BadLog(name, ["is too large for a browser; antecede audit reads it"]);
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new BadLog(name, [
      `cannot be read: this is not ${encodingOf(bytes)}; iconv -f latin1 -t utf-8 FILE makes UTF-8 of it, if it is Latin 1`,
    ]);
  }
}

// Goes over the lines of a text. They end with \n, \r\n or \r; `end` is with what.
export class Lines {
  constructor(name, text) {
    this.name = name;
    this.text = text;
    this.at = 0;
    this.number = 0;
    this.feed = this.find("\n");
    this.carriage = this.find("\r");
  }

  find(letter) {
    const found = this.text.indexOf(letter, this.at);
    return found < 0 ? this.text.length : found;
  }

  // The next line without its end, or null.
  next() {
    const { text } = this;
    if (this.at >= text.length) return null;
    if (this.feed < this.at) this.feed = this.find("\n");
    if (this.carriage < this.at) this.carriage = this.find("\r");
    const stop = Math.min(this.feed, this.carriage);
    const line = text.slice(this.at, stop);
    const both = stop === this.carriage && text[stop + 1] === "\n";
    this.end = both ? "\r\n" : text.slice(stop, stop + 1);
    this.at = stop + this.end.length;
    this.number++;
    if (line.length >= LONGEST)
      throw new BadLog(this.name, [
        `line ${this.number} is longer than ${grouped(LONGEST)} characters`,
      ]);
    return line;
  }
}
