// The time that a message is held: a bar below its lane from reception to delivery, in up to three
// parts. What causality forced is thin, what was inherited is higher, what the protocol added
// itself has the full height. The label names what the message waits for.
import { RECEIVE, NOTHING, NEVER } from "./data.js";
import { explainCopy } from "./explain.js";
import { FONT } from "./scene.js";
import { isHeld } from "./search.js";

const PARTS = [
  ["forced", 0.5],
  ["inherited", 0.75],
  ["own", 1],
];
const LABEL_ROOM = 54,
  LABEL_HEIGHT = 7;
const ASKED_AT_ONCE = 20_000; // events up to which every label may ask for the past of its message

// Draw the bars of these messages; where they are is noted in `picture.bars`, for the mouse.
export function drawBars(context, scene, picture, messages, isSparse) {
  const { trace, cone, palette, shown } = picture;
  picture.bars = [];
  const parts = { forced: [], inherited: [], own: [] },
    labels = [],
    endless = [];
  for (const m of messages) {
    for (let at = trace.messageStart[m]; at < trace.messageStart[m + 1]; at++) {
      const i = trace.messageEvents[at],
        p = trace.process[i],
        row = scene.lanes.rowOf[p];
      if (trace.kind[i] !== RECEIVE || trace.twin[i] < NOTHING || row < 0 || !isSparse[p]) continue;
      if (!shown[trace.layer[i]] || trace.sender[m] === p) continue;
      if (trace.twin[i] !== NOTHING && !isHeld(trace, trace.twin[i])) continue;
      const bar = barOf(scene, picture, i, row);
      if (bar.right - bar.left < 1.5 || bar.right < scene.gutter || bar.left > scene.width)
        continue;
      const isPale =
        cone !== null &&
        !cone.isPast(i) &&
        !cone.isFuture(i) &&
        cone.event !== trace.twin[i] &&
        cone.event !== i;
      if (bar.delivery === NOTHING) endless.push({ ...bar, isPale });
      else cutBar(scene, picture, bar, parts, isPale);
      picture.bars.push(bar);
      if (bar.height >= LABEL_HEIGHT && !isPale) labels.push(bar);
    }
  }
  for (const [name] of PARTS) {
    for (const isPale of [true, false]) {
      context.fillStyle = palette[name];
      context.globalAlpha = isPale ? 0.25 : 1;
      for (const [left, top, width, height, pale] of parts[name]) {
        if (pale === isPale) context.fillRect(left, top, width, height);
      }
    }
  }
  context.globalAlpha = 1;
  drawEndless(context, scene, palette, endless);
  drawBarLabels(context, scene, picture, labels);
}

function barOf(scene, { trace, places, counts, crashedAt }, reception, row) {
  const crash = crashedAt.get(trace.process[reception]);
  const end = crash === undefined ? scene.axis.max : places[crash];
  const delivery = trace.twin[reception];
  const tracks = Math.max(1, counts.tracks[trace.process[reception]]);
  const y = scene.lineY(row),
    isRoomy = scene.laneHeight >= 22;
  const top = isRoomy ? y + Math.min(8, scene.laneHeight * 0.16) : y - scene.laneHeight * 0.25;
  const room = isRoomy ? scene.y(row) + scene.laneHeight / 2 - 2 - top : scene.laneHeight * 0.5;
  const height = Math.min(14, room / tracks);
  return {
    reception,
    delivery,
    left: scene.x(places[reception]),
    right: delivery === NOTHING ? scene.x(end) : scene.x(places[delivery]),
    top: top + counts.track[reception] * height,
    height: Math.max(1.5, height - (height > 4 ? 1 : 0)),
  };
}

function cutBar(scene, { trace, places }, bar, parts, isPale) {
  const until = (event) => {
    if (event === NEVER) return bar.right;
    return event === NOTHING
      ? bar.left
      : Math.min(bar.right, Math.max(bar.left, scene.x(places[event])));
  };
  // Where times are known they decide: on other axes, what takes no time still takes place.
  const delay = trace.delayOf(bar.delivery);
  const allowed = delay && delay.own <= 0 ? bar.right : until(trace.waitDelivered[bar.delivery]);
  const possible =
    delay && delay.inherited <= 0
      ? allowed
      : Math.min(allowed, until(trace.waitArrived[bar.delivery]));
  let from = bar.left;
  for (const [at, end] of [possible, allowed, bar.right].entries()) {
    const [name, share] = PARTS[at];
    const left = Math.max(scene.gutter - 2, from),
      right = Math.min(scene.width + 2, end);
    if (right > left)
      parts[name].push([left, bar.top, right - left, Math.max(1.5, bar.height * share), isPale]);
    from = Math.max(from, end);
  }
}

// Held to the end of the run and never delivered: pale, and open to the right.
function drawEndless(context, scene, palette, bars) {
  context.fillStyle = palette.early;
  for (const bar of bars) {
    const left = Math.max(scene.gutter - 5, bar.left);
    const right = Math.min(scene.width + 5, bar.right);
    context.globalAlpha = bar.isPale ? 0.07 : 0.2;
    context.fillRect(left, bar.top, right - left, bar.height);
    context.globalAlpha = bar.isPale ? 0.3 : 1;
    context.fillRect(bar.left, bar.top, 2.5, bar.height);
  }
  context.globalAlpha = 1;
}

// Where bars share a track, the first label stays.
function drawBarLabels(context, scene, { trace, palette }, bars) {
  const taken = new Map();
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const bar of bars) {
    const left = Math.max(bar.left, scene.gutter) + 4;
    const right = Math.min(bar.right, scene.width);
    if (right - left < LABEL_ROOM || left < (taken.get(bar.top) ?? 0)) continue;
    taken.set(bar.top, right);
    const size = Math.min(10, bar.height + 2);
    const text = barText(trace, bar);
    const most = Math.floor((right - left - 4) / (size * 0.56));
    context.font = `${size}px system-ui, sans-serif`;
    context.fillStyle = bar.delivery === NOTHING ? palette.early : palette.ink;
    context.fillText(
      text.length > most ? `${text.slice(0, most - 1)}…` : text,
      left,
      bar.top + bar.height / 2 + 0.5,
    );
  }
  context.font = FONT;
}

// What a held message waits for, in a few words.
export function barText(trace, { delivery, reception }) {
  const name = trace.messageName(trace.message[reception]);
  if (delivery === NOTHING) {
    const first = trace.size > ASKED_AT_ONCE ? undefined : missingBefore(trace, reception)[0];
    return first
      ? `${name} waits for ${trace.messageName(first.message)}, never delivered`
      : `${name} is never delivered`;
  }
  const awaited = trace.waitDelivered[delivery];
  if (awaited >= 0 && awaited < delivery)
    return `${name} waits for ${trace.messageName(trace.message[awaited])}`;
  return `${name} waits for no message${trace.header.excerpt ? " of this excerpt" : ""}`;
}

const asked = new WeakMap();

// What is missing at its process before a message that is never delivered there.
export function missingBefore(trace, reception) {
  if (!asked.has(trace)) asked.set(trace, new Map());
  const known = asked.get(trace);
  if (!known.has(reception))
    known.set(
      reception,
      explainCopy(trace, trace.message[reception], trace.process[reception]).missing,
    );
  return known.get(reception);
}

// The bar at a point of the screen, or null.
export function barAt(picture, x, y) {
  const bars = picture.bars ?? [];
  return (
    bars.findLast(
      (bar) => x >= bar.left && x <= bar.right && y >= bar.top - 1 && y <= bar.top + bar.height + 1,
    ) ?? null
  );
}
