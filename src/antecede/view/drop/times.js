// Times as logs write them: the counterpart of antecede/imports/times.py.
import { Literal, strip, toFloat } from "./text.js";

// From when a time counts, and in which unit.
export const FROM_START = "from some start",
  ZONED = "with a zone",
  UNZONED = "without a zone";
const RELATIVE_BELOW = 1e8,
  LATEST = 7.3e9;
const UNITS = [
  [1e11, "seconds", 1],
  [1e14, "milliseconds", 1e3],
  [1e17, "microseconds", 1e6],
  [Infinity, "nanoseconds", 1e9],
];
const A_SECOND = new Map(UNITS.map(([, scale, count]) => [scale, count]));
const OF_DAY = /^\s*\d\d?:\d\d(:\d\d([.,]\d+)?)?\s*$/;
const ISO =
  /^(?<year>\d{4})(?:(?<dash>-?)(?<month>\d\d)\k<dash>(?<day>\d\d)|(?<dash2>-?)W(?<week>\d\d)(?:\k<dash2>(?<weekday>[1-7]))?)(?:[^](?<clock>.*))?$/u;
const CLOCK =
  /^(?<hour>\d\d)(?:(?<colon>:?)(?<minute>\d\d)(?:\k<colon>(?<second>\d\d)(?:[.,](?<part>\d+))?)?)?(?<zone>Z|[+-]\d\d(?::?\d\d(?::?\d\d(?:\.\d+)?)?)?)?$/;

// A value as {number, scale}; null if it is no time.
export function parseTime(value) {
  let number = null;
  if (typeof value === "number") number = value;
  else if (value instanceof Literal) number = value.number();
  else if (typeof value !== "string") return null;
  else number = toFloat(value);
  if (number === null) return parseIso(strip(value));
  if (!Number.isFinite(number)) return null;
  const size = Math.abs(number);
  const [, scale, count] = UNITS.find(([limit]) => size < limit);
  const isNear = RELATIVE_BELOW <= size && size <= LATEST * count;
  return { number, scale: isNear ? scale : FROM_START };
}

export function secondsOf({ number, scale }) {
  return number / (A_SECOND.get(scale) ?? 1);
}

// Whether nothing but the day is missing.
export function isTimeOfDay(value) {
  return typeof value === "string" && OF_DAY.test(value);
}

// Times in seconds, once all are known: numbers have one unit in a file. Where a file has several, or
// some count from a start, the unit is not known, and numbers count as they are.
export function settleTimes({ file, time, scale }) {
  const isNumber = (event) => scale[event] === FROM_START || A_SECOND.has(scale[event]);
  const numbers = new Map(),
    all = new Set();
  for (let event = 0; event < time.length; event++) {
    if (!isNumber(event)) continue;
    if (!numbers.has(file[event])) numbers.set(file[event], new Set());
    numbers.get(file[event]).add(scale[event]);
    all.add(scale[event]);
  }
  const isClear =
    [...numbers.values()].every((one) => one.size === 1) && (all.size === 1 || !all.has(FROM_START));
  for (let event = 0; event < time.length; event++) {
    if (!isNumber(event)) continue;
    if (!isClear) scale[event] = FROM_START;
    time[event] = secondsOf({ number: time[event], scale: scale[event] });
  }
}

function parseIso(text) {
  const date = ISO.exec(text)?.groups;
  if (!date) return null;
  const days = date.week ? weekDays(date) : monthDays(date);
  const clock = date.clock === undefined ? { hour: 0 } : CLOCK.exec(date.clock)?.groups;
  if (days === null || !clock) return null;
  const [hour, minute, second] = [clock.hour, clock.minute ?? 0, clock.second ?? 0].map(Number);
  if (hour > 23 || minute > 59 || second > 59) return null;
  const micros = Number((clock.part ?? "").slice(0, 6).padEnd(6, "0"));
  const seconds = days * 86400 + hour * 3600 + minute * 60 + second - zoneSeconds(clock.zone);
  const scale = clock.zone === undefined ? UNZONED : ZONED;
  return { number: (seconds * 1e6 + micros) / 1e6, scale };
}

// Days from 1970, or null where the calendar has no such day.
function monthDays({ year, month, day }) {
  const date = new Date(Date.UTC(2000, Number(month) - 1, Number(day)));
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (Number(year) < 1 || date.getUTCMonth() !== Number(month) - 1) return null;
  return date.getUTCDate() === Number(day) ? Math.round(date.getTime() / 864e5) : null;
}

function weekDays({ year, week, weekday }) {
  const january4 = monthDays({ year, month: 1, day: 4 });
  const monday = january4 - ((((january4 + 3) % 7) + 7) % 7);
  const next = monthDays({ year: Number(year) + 1, month: 1, day: 4 });
  const found = monday + 7 * (Number(week) - 1) + Number(weekday ?? 1) - 1;
  const end = next - ((((next + 3) % 7) + 7) % 7);
  return Number(week) >= 1 && found < end ? found : null;
}

function zoneSeconds(zone) {
  if (!zone || zone === "Z") return 0;
  const [hours, minutes = 0, seconds = 0] = zone.slice(1).match(/\d\d/g).map(Number);
  return (zone[0] === "-" ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}
