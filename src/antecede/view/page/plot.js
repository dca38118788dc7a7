// Drawing a run: on a canvas, or into an SVG, which understands the same calls.
import { SEND, RECEIVE, DELIVER, CRASH, NOTHING } from "./data.js";
import { stepsBetween } from "./axis.js";
import { Counts, drawDensity } from "./density.js";
import { Flights } from "./flights.js";
import { drawBars } from "./bars.js";
import { drawEmphasis } from "./emphasis.js";
import { drawGrid, drawLabels, drawLaneLines } from "./frame.js";
import { colourOf, isFilled, traceMark } from "./marks.js";
import { FONT, TOP } from "./scene.js";

const MARKS_PER_PIXEL = 1 / 4,
  MOST_MARKS = 9000;
const MOST_LINES = 2000,
  LINES_OVER_DENSITY = 500,
  MOST_BARS = 40_000;

// A run as it is to be drawn: the trace and what is highlighted in it.
export class Picture {
  constructor(trace, places, axis, shown) {
    this.trace = trace;
    this.shown = shown;
    this.counts = new Counts(trace, shown);
    this.largestStamp = trace.stampBytes.reduce((most, size) => Math.max(most, size), 1);
    this.isLost = new Uint8Array(trace.messages);
    for (const m of trace.missingMessage) this.isLost[m] = 1;
    this.crashedAt = new Map();
    // A process that comes back goes on with its line.
    for (let p = 0; p < trace.processes.length; p++) {
      const last = trace.laneEvents[trace.laneStart[p + 1] - 1];
      if (trace.laneStart[p + 1] > trace.laneStart[p] && trace.kind[last] === CRASH) {
        this.crashedAt.set(p, last);
      }
    }
    this.cone = null;
    this.selected = NOTHING;
    this.copy = null;
    this.hovered = NOTHING;
    this.hits = null;
    this.follow(places, axis);
  }

  // Take another axis.
  follow(places, axis) {
    this.places = places;
    this.flights = new Flights(this.trace, places, axis.max);
  }
}

// Draw everything. Gives what was left out: of how many messages, early deliveries and search results
// one is drawn, and how many lanes show only how much happens.
export function drawPlot(context, scene, picture) {
  const { palette } = picture;
  context.font = FONT;
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, scene.width, scene.height);
  drawGrid(context, scene, palette);
  context.save();
  context.beginPath();
  context.rect(scene.gutter, TOP, scene.plotWidth, scene.height - TOP);
  context.clip();
  const { sparse, dense } = seenLanes(scene, picture);
  drawCone(context, scene, picture);
  drawLaneLines(context, scene, picture);
  drawDensity(context, scene, picture, dense);
  const most = dense.length > sparse.length ? LINES_OVER_DENSITY : MOST_LINES;
  const flying = picture.flights.between(scene.from, scene.to, most, picture.shown);
  drawLines(context, scene, picture, flying);
  drawLost(context, scene, picture, flying.some);
  const isSparse = new Uint8Array(picture.trace.processes.length);
  for (const lane of sparse) isSparse[lane.process] = 1;
  drawBars(context, scene, picture, flying.copies > MOST_BARS ? flying.some : flying.all, isSparse);
  drawMarks(context, scene, picture, sparse);
  const { early, hits } = drawEmphasis(context, scene, picture, isSparse);
  context.restore();
  drawLabels(context, scene, picture);
  return { stride: flying.stride, messages: flying.all.length, dense: dense.length, early, hits };
}

// The lanes that can be seen, with their events that can, apart by how close these stand; where
// there are many marks in all, only quiet lanes show theirs.
function seenLanes(scene, { trace, places, counts }) {
  const lanes = [];
  const [firstRow, lastRow] = scene.seenRows();
  const air = ((scene.to - scene.from) / scene.plotWidth) * 10;
  for (let row = firstRow; row < lastRow; row++) {
    const { process } = scene.lanes.rows[row];
    if (process === undefined) continue;
    const [first, last] = stepsBetween(trace, places, process, scene.from - air, scene.to + air);
    lanes.push({ row, process, first, last, count: counts.events[last] - counts.events[first] });
  }
  const most = scene.plotWidth * MARKS_PER_PIXEL;
  const marks = lanes.reduce((sum, { count }) => sum + (count > most ? 0 : count), 0);
  const fewer = marks > MOST_MARKS ? (most * MOST_MARKS) / marks / 2 : most;
  return {
    sparse: lanes.filter(({ count }) => count <= fewer),
    dense: lanes.filter(({ count }) => count > fewer),
  };
}

// The past of the selected event is a beginning of every lane, its future an end.
function drawCone(context, scene, { trace, places, cone, palette }) {
  if (!cone) return;
  const [firstRow, lastRow] = scene.seenRows();
  context.globalAlpha = 0.2;
  for (let row = firstRow; row < lastRow; row++) {
    const p = scene.lanes.rows[row].process;
    if (p === undefined) continue;
    const start = trace.laneStart[p],
      size = trace.laneStart[p + 1] - start;
    const top = scene.y(row) - scene.laneHeight / 2;
    if (cone.past[p] > 0) {
      const until = scene.x(places[trace.laneEvents[start + cone.past[p] - 1]]);
      context.fillStyle = palette.past;
      context.fillRect(
        scene.gutter,
        top,
        Math.min(scene.width, until) - scene.gutter,
        scene.laneHeight,
      );
    }
    if (cone.from[p] < size) {
      const from = Math.max(scene.gutter, scene.x(places[trace.laneEvents[start + cone.from[p]]]));
      context.fillStyle = palette.future;
      context.fillRect(from, top, Math.max(0, scene.width - from), scene.laneHeight);
    }
  }
  context.globalAlpha = 1;
}

// From every send to where the message arrived. Pale where it is not among what is highlighted.
function drawLines(context, scene, picture, { some: messages, stride }) {
  const { trace, places, palette, cone } = picture;
  const { rowOf } = scene.lanes;
  const paths = { plain: [], past: [], future: [] };
  for (const m of messages) {
    const send = trace.sendOf[m],
      from = rowOf[trace.process[send]];
    if (from < 0) continue;
    const x0 = scene.x(places[send]),
      y0 = scene.lineY(from);
    for (let at = trace.messageStart[m]; at < trace.messageStart[m + 1]; at++) {
      const i = trace.messageEvents[at];
      if (trace.kind[i] === DELIVER && trace.twin[i] >= 0) continue;
      const to = rowOf[trace.process[i]];
      if (to < 0 || to === from) continue;
      const which = cone ? coneOf(cone, send, trace.twin[i] >= 0 ? trace.twin[i] : i) : "plain";
      paths[which].push(x0, y0, scene.x(places[i]), scene.lineY(to));
    }
  }
  const fewer = Math.max(0.35, 1 - messages.length / 1500);
  for (const [which, points] of Object.entries(paths)) {
    if (!points.length) continue;
    context.globalAlpha = which === "plain" ? (cone ? 0.16 : 0.62 * fewer) : 0.8;
    context.strokeStyle = which === "plain" ? palette.message : palette[which];
    context.lineWidth = which === "plain" || stride > 1 ? 1 : 1.4;
    context.beginPath();
    for (let at = 0; at < points.length; at += 4) {
      context.moveTo(points[at], points[at + 1]);
      context.lineTo(points[at + 2], points[at + 3]);
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

// A copy that never arrived: a line that ends in a cross on the way.
function drawLost(context, scene, { trace, places, palette, isLost }, messages) {
  context.strokeStyle = palette.faint;
  context.lineWidth = 1.3;
  context.beginPath();
  for (const m of messages) {
    const from = scene.lanes.rowOf[trace.sender[m]];
    if (!isLost[m] || from < 0) continue;
    const x = scene.x(places[trace.sendOf[m]]),
      y = scene.lineY(from);
    for (const p of trace.missingOf(m)) {
      const to = scene.lanes.rowOf[p];
      if (to < 0 || to === from) continue;
      const [endX, endY] = [x + 16, y + Math.sign(to - from) * scene.laneHeight * 0.42];
      context.moveTo(x, y);
      context.lineTo(endX, endY);
      for (const turn of [1, -1]) {
        context.moveTo(endX - 3, endY - 3 * turn);
        context.lineTo(endX + 3, endY + 3 * turn);
      }
    }
  }
  context.stroke();
}

// A message carries the past as far as its delivery, and the future from its send on.
function coneOf(cone, send, end) {
  const isDelivery = cone.trace.kind[end] === DELIVER;
  if (end === cone.event || (isDelivery && cone.isPast(end))) return "past";
  return send === cone.event || cone.isFuture(send) ? "future" : "plain";
}

function drawMarks(context, scene, picture, sparse) {
  const { trace, places, palette, cone, shown } = picture;
  const size = scene.markSize;
  for (const faded of cone ? [true, false] : [false]) {
    const groups = new Map();
    for (const { row, first, last } of sparse) {
      const y = scene.lineY(row);
      for (let at = first; at < last; at++) {
        const i = trace.laneEvents[at];
        if (!shown[trace.layer[i]]) continue;
        const isPale = cone !== null && i !== cone.event && !cone.isPast(i) && !cone.isFuture(i);
        if (isPale !== faded) continue;
        const kind = trace.kind[i];
        if (!groups.has(kind)) groups.set(kind, []);
        groups.get(kind).push(scene.x(places[i]), y, sizeOf(picture, i, size));
      }
    }
    context.globalAlpha = faded ? 0.3 : 1;
    for (const kind of [...groups.keys()].sort((a, b) => a - b))
      paintMarks(context, kind, groups.get(kind), palette);
  }
  context.globalAlpha = 1;
}

function paintMarks(context, kind, spots, palette) {
  context.beginPath();
  for (let at = 0; at < spots.length; at += 3)
    traceMark(context, kind, spots[at], spots[at + 1], spots[at + 2]);
  context.lineWidth = kind === RECEIVE ? 1.3 : 2;
  if (isFilled(kind)) {
    context.fillStyle = colourOf(kind, palette);
    context.fill();
  } else {
    context.strokeStyle = colourOf(kind, palette);
    context.stroke();
  }
}

// A send is the larger the more ordering information its message carries.
function sizeOf({ trace, largestStamp }, event, size) {
  if (trace.kind[event] !== SEND) return size;
  const bytes = trace.stampBytes[trace.message[event]];
  return bytes < 0 ? size : size * (0.8 + 0.6 * Math.sqrt(bytes / largestStamp));
}
