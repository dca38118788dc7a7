// Numbers and events in words, as the command line spells them.
import { KINDS, HOP, LOCAL } from "./data.js";

// A number with six significant digits, as Python's format `.6g` writes it.
export function sixDigits(value) {
  if (value === 0 || !Number.isFinite(value)) return Object.is(value, -0) ? "-0" : String(value);
  const [digits, exponent] = value.toExponential(5).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 6) {
    const sign = power < 0 ? "-" : "+";
    return `${trimZeros(digits)}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return trimZeros(value.toFixed(Math.max(0, 5 - power)));
}

function trimZeros(digits) {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

export function inSeconds(value) {
  return value === null || Number.isNaN(value) ? "unknown" : `${sixDigits(value)} s`;
}

// A duration for a narrow place: 12 µs, 3.5 ms, 2.1 s.
export function briefly(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${threeDigits(seconds * 1e6)} µs`;
  if (size < 1) return `${threeDigits(seconds * 1e3)} ms`;
  return `${threeDigits(seconds)} s`;
}

function threeDigits(value) {
  return String(Number(value.toPrecision(3)));
}

export function counted(count, noun, plural = `${noun}s`) {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

export function grouped(count) {
  return count.toLocaleString("en-GB");
}

// A moment of a trace: seconds since its start or, where the recorder knew it, the time of the day.
export function momentText(trace, time) {
  const { epoch } = trace.header;
  if (epoch === null || epoch === undefined) return `${sixDigits(time)} s`;
  const micros = Math.round((epoch % 1 + time) * 1e6), whole = Math.floor(micros / 1e6);
  const day = new Date((Math.floor(epoch) + whole) * 1000).toISOString();
  const rest = String(micros - whole * 1e6).padStart(6, "0");
  return `${day.slice(0, 10)} ${day.slice(11, 19)}${rest === "000000" ? "" : `.${rest}`}Z`;
}

// An event as a short phrase: `q delivers p:1`.
export function phraseOf(trace, event) {
  const process = trace.processes[trace.process[event]],
    kind = KINDS[trace.kind[event]];
  if (trace.kind[event] === LOCAL) {
    const text = trace.textOf(event) || "a local event";
    return `${process}: ${text.length > 80 ? `${text.slice(0, 79)}…` : text}`;
  }
  if (trace.message[event] < 0) return `${process}: ${kind === "view" ? "new view" : kind}`;
  const hop = trace.layer[event] === HOP ? "hop " : "";
  return `${process} ${kind}s ${hop}${trace.messageName(trace.message[event])}`;
}

export function timeOf(trace, event) {
  return trace.isTimed && event >= 0 ? trace.time[event] : NaN;
}
