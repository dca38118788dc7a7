// What must not be overlooked: early deliveries, the selected event, search results, causal paths.
import { DELIVER, SEND, NOTHING } from "./data.js";
import { traceEarly, traceMark } from "./marks.js";

const MOST_EMPHASISED = 800,
  MOST_ARCS = 60,
  PATH_MARKS = 10; // a path of thousands of shapes that overlap takes far longer than many small ones

// Gives of how many early deliveries, and of how many search results, one is drawn.
export function drawEmphasis(context, scene, picture, isSparse) {
  const hits = drawHits(context, scene, picture);
  if (picture.selected !== NOTHING) drawSelected(context, scene, picture);
  if (picture.copy) drawPath(context, scene, picture);
  const early = drawEarly(context, scene, picture, isSparse);
  if (picture.hovered !== NOTHING) {
    const message = picture.trace.message[picture.hovered];
    drawMessage(context, scene, picture, message, picture.palette.faint, 1.6);
    ring(context, scene, picture, picture.hovered, picture.palette.faint, 1.5);
  }
  if (picture.selected !== NOTHING)
    ring(context, scene, picture, picture.selected, picture.palette.select, 3);
  return { early, hits };
}

// Those of the events that are in view; of too many one in `stride`, over the whole width.
function seenOf(scene, { trace, places, shown }, events) {
  const seen = [];
  for (const i of events) {
    const x = scene.x(places[i]);
    if (x < scene.gutter - 9 || x > scene.width + 9 || !shown[trace.layer[i]]) continue;
    if (scene.lanes.rowOf[trace.process[i]] >= 0) seen.push(i);
  }
  const stride = Math.max(1, Math.ceil(seen.length / MOST_EMPHASISED));
  const some = stride === 1 ? seen : seen.filter((_, at) => at % stride === 0);
  return { stride, some: some.map((i) => [i, ...pointOf(scene, { trace, places }, i)]) };
}

// Every early delivery, paired with the delivery of what it overtook.
function drawEarly(context, scene, picture, isSparse) {
  const { trace, places, palette } = picture;
  const size = scene.markSize * 0.9,
    { stride, some: seen } = seenOf(scene, picture, trace.early);
  context.strokeStyle = palette.early;
  context.lineWidth = 1.6;
  context.beginPath();
  const isPaired = (i) =>
    trace.waitDelivered[i] >= 0 &&
    isSparse[trace.process[i]] &&
    (seen.length <= MOST_ARCS || i === picture.selected);
  for (const [i, x, y] of seen) {
    const later = trace.waitDelivered[i];
    if (!isPaired(i)) continue;
    const end = scene.x(places[later]);
    context.moveTo(x, y);
    context.quadraticCurveTo((x + end) / 2, y - Math.min(scene.laneHeight * 0.6, 22), end, y);
  }
  context.stroke();
  context.fillStyle = palette.paper;
  for (let first = 0; first < seen.length; first += PATH_MARKS) {
    context.beginPath();
    for (const [i, x, y] of seen.slice(first, first + PATH_MARKS)) {
      traceEarly(context, x, y, size);
      if (!isPaired(i)) continue;
      const end = scene.x(places[trace.waitDelivered[i]]);
      context.moveTo(end + size * 1.4, y);
      context.arc(end, y, size * 1.4, 0, 2 * Math.PI);
    }
    context.globalAlpha = 0.75;
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
  }
  return stride;
}

// The way from the overtaken message to the one that overtook it, and where both arrived.
function drawPath(context, scene, picture) {
  const { trace, palette, copy } = picture;
  if (!copy.path.length) return;
  const points = pathEvents(trace, copy)
    .map((i) => pointOf(scene, picture, i))
    .filter(Boolean);
  const overtaken = copy.missing[0];
  const missed = [trace.sendOf[overtaken.message], overtaken.delivered].filter(
    (i) => i !== NOTHING,
  );
  context.lineJoin = "round";
  for (const [colour, width] of [
    [palette.paper, 6],
    [palette.early, 3],
  ]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    polyline(context, points);
  }
  context.lineWidth = 2;
  context.setLineDash([6, 4]);
  polyline(context, missed.map((i) => pointOf(scene, picture, i)).filter(Boolean));
  context.setLineDash([]);
}

// The events along the path of an early delivery: each message from its send to its delivery where
// the next one is sent, the last to where it came too early.
export function pathEvents(trace, { path, process }) {
  const events = [];
  path.forEach((m, at) => {
    events.push(trace.sendOf[m]);
    const next = at + 1 < path.length ? trace.sender[path[at + 1]] : process;
    const arrived = trace.eventAt(m, next, DELIVER);
    if (next !== trace.sender[m] && arrived !== NOTHING) events.push(arrived);
  });
  return events;
}

function polyline(context, points) {
  context.beginPath();
  points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function pointOf(scene, { trace, places }, event) {
  const row = scene.lanes.rowOf[trace.process[event]];
  return row < 0 ? null : [scene.x(places[event]), scene.lineY(row)];
}

function ring(context, scene, picture, event, colour, width) {
  const point = pointOf(scene, picture, event);
  if (!point) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.arc(...point, scene.markSize + 4.5, 0, 2 * Math.PI);
  context.stroke();
}

// The selected event and all others of its message.
function drawSelected(context, scene, picture) {
  const { trace, palette, selected } = picture;
  const message = trace.message[selected];
  drawMessage(context, scene, picture, message, palette.select, 2);
  const events = message < 0 ? [selected] : trace.eventsOf(message);
  for (const i of events) emphasise(context, scene, picture, i);
}

// The lines of one message, from its send to where it arrived.
function drawMessage(context, scene, picture, message, colour, width) {
  const { trace } = picture;
  const send = message < 0 ? null : pointOf(scene, picture, trace.sendOf[message]);
  if (!send) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  for (const i of trace.eventsOf(message).slice(1)) {
    const point = pointOf(scene, picture, i);
    if (!point || (trace.kind[i] === DELIVER && trace.twin[i] >= 0)) continue;
    context.moveTo(...send);
    context.lineTo(...point);
  }
  context.stroke();
}

function emphasise(context, scene, picture, event) {
  const point = pointOf(scene, picture, event),
    { trace, palette } = picture;
  if (!point) return;
  context.beginPath();
  traceMark(context, trace.kind[event], ...point, scene.markSize * 1.15);
  context.fillStyle = context.strokeStyle = palette.select;
  context.lineWidth = 2;
  if (trace.kind[event] === SEND || trace.kind[event] === DELIVER) context.fill();
  else context.stroke();
}

function drawHits(context, scene, picture) {
  const { stride, some } = seenOf(scene, picture, picture.hits ?? []);
  const size = scene.markSize + 3;
  context.strokeStyle = picture.palette.hit;
  context.lineWidth = 2;
  context.beginPath();
  for (const [, x, y] of some) context.rect(x - size, y - size, 2 * size, 2 * size);
  context.stroke();
  return stride;
}
