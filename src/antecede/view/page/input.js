// Mouse, touch and keyboard.
import { DELIVER, LOCAL, SEND, NOTHING } from "./data.js";
import { barAt, barText, missingBefore } from "./bars.js";
import { explainCopy, isProof } from "./explain.js";
import {
  back,
  crossOver,
  followBar,
  followSelection,
  nextEarly,
  nextHit,
  nextOfMessage,
  nextWait,
  stepTo,
} from "./navigate.js";
import { stepsBetween } from "./axis.js";
import { briefly, momentText, phraseOf, timeOf } from "./words.js";

const REACH = 9;
const CLICK_SLACK = 5;

export const KEYS = [
  [
    "← → ↑ ↓",
    "with a selection: the event before or after, the nearest in the lane above or below; without one, or with Shift: move",
  ],
  ["+ −", "zoom"],
  ["[ ]", "lower or higher lanes"],
  ["0", "the whole run"],
  ["Enter", "go to what the selected message waits for, or to its send"],
  ["M", "the next event of the same message"],
  ["B", "back to what was selected before"],
  ["E  W", "next early delivery; next longest wait"],
  ["P", "highlight past and future, or not"],
  ["/", "search; then N and Shift N for the next and the one before"],
  ["A  F", "another axis; fold empty stretches or not"],
  ["G  S  L", "another grouping, sorting, layer"],
  ["C", "with two traces: the same event in the other"],
  ["T", "light or dark"],
  ["Esc", "select nothing"],
  ["?", "this help"],
];

// The events at a point, the one most likely meant first.
export function eventsAt(scene, { trace, places, shown }, x, y) {
  const row = scene.rowAt(y);
  const process = row < 0 ? undefined : scene.lanes.rows[row].process;
  if (process === undefined || x < scene.gutter) return [];
  // Where there is room for bars below the line, they are not to be mistaken for marks.
  if (Math.abs(y - scene.lineY(row)) > (scene.laneHeight < 22 ? scene.laneHeight / 2 : REACH - 2))
    return [];
  const [first, last] = stepsBetween(
    trace,
    places,
    process,
    scene.place(x - REACH),
    scene.place(x + REACH),
  );
  const found = [];
  for (let at = first; at < last && found.length < 4000; at++) {
    const i = trace.laneEvents[at];
    if (shown[trace.layer[i]]) found.push(i);
  }
  const away = (i) => Math.abs(scene.x(places[i]) - x);
  const rank = (i) => (trace.kind[i] === DELIVER ? 0 : trace.kind[i] === SEND ? 1 : 2);
  return found.sort(
    (a, b) => Math.round(away(a)) - Math.round(away(b)) || rank(a) - rank(b) || b - a,
  );
}

export function listen(app, canvas, index) {
  const pointers = new Map();
  let pressed = null;

  const spot = (event) => {
    const frame = canvas.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = spot(event),
        unit = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey) app.move((event.deltaY || event.deltaX) * unit, 0);
      else if (event.altKey || x < app.scene.gutter) app.move(0, event.deltaY * unit);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) app.move(event.deltaX * unit, 0);
      else
        app.zoomAt(
          Math.exp(
            Math.max(-120, Math.min(120, event.deltaY * unit)) * (event.ctrlKey ? 0.01 : 0.0022),
          ),
          x,
          y,
        );
    },
    { passive: false },
  );

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    const at = spot(event);
    pointers.set(event.pointerId, at);
    pressed =
      pointers.size === 1 ? { ...at, first: at, moved: false, boxed: event.shiftKey } : null;
  });

  canvas.addEventListener("pointermove", (event) => {
    const at = spot(event);
    if (!pointers.has(event.pointerId)) {
      hover(app, index, at, canvas);
      return;
    }
    const before = pointers.get(event.pointerId);
    pointers.set(event.pointerId, at);
    if (pointers.size === 2) pinch(app, pointers, event.pointerId, before);
    else if (pressed) {
      if (Math.hypot(at.x - pressed.first.x, at.y - pressed.first.y) > CLICK_SLACK)
        pressed.moved = true;
      if (pressed.boxed) app.showBox(index, pressed.first.x, at.x);
      else if (pressed.moved) app.move(before.x - at.x, before.y - at.y);
    }
  });

  const release = (event) => {
    pointers.delete(event.pointerId);
    if (pressed?.boxed && pressed.moved) app.zoomToBox();
    else if (pressed && !pressed.moved && event.type === "pointerup")
      click(app, index, spot(event));
    app.hideBox();
    pressed = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => app.hover(index, NOTHING, null));
  canvas.addEventListener("dblclick", (event) => {
    const { x, y } = spot(event);
    if (!eventsAt(app.scene, app.pictures[index], x, y).length) app.zoomAt(0.4, x, y, true);
  });
}

function pinch(app, pointers, moved, before) {
  const [a, b] = [...pointers.values()];
  const now = pointers.get(moved),
    other = now === a ? b : a;
  const old = Math.hypot(before.x - other.x, before.y - other.y),
    size = Math.hypot(now.x - other.x, now.y - other.y);
  app.zoomAt(Math.max(0.5, Math.min(2, old / Math.max(1, size))), (a.x + b.x) / 2, (a.y + b.y) / 2);
  app.move((before.x - now.x) / 2, (before.y - now.y) / 2);
}

// A click on a mark selects it, the next click on the same spot the next one there; a click on a bar
// goes to what the message waits for.
function click(app, index, { x, y }) {
  const picture = app.pictures[index],
    row = app.scene.rowAt(y);
  if (x < app.scene.gutter) {
    const label = row < 0 ? undefined : app.scene.lanes.rows[row].group;
    if (label !== undefined) app.toggleGroup(label);
    return;
  }
  const found = eventsAt(app.scene, picture, x, y);
  if (found.length) {
    const again = app.selection.index === index ? found.indexOf(app.selection.event) : -1;
    const spots = found.filter(
      (i) => Math.abs(app.scene.x(picture.places[i]) - app.scene.x(picture.places[found[0]])) < 2,
    );
    app.select(
      index,
      again >= 0 && spots.length > 1
        ? spots[(spots.indexOf(found[again]) + 1) % spots.length]
        : found[0],
      { move: false },
    );
    return;
  }
  const bar = barAt(picture, x, y);
  if (bar) followBar(app, index, bar);
  else app.clear();
}

function hover(app, index, { x, y }, canvas) {
  const picture = app.pictures[index],
    { trace } = picture;
  const [event] = eventsAt(app.scene, picture, x, y);
  const bar = event === undefined ? barAt(picture, x, y) : null;
  canvas.style.cursor =
    event !== undefined || bar ? "pointer" : x < app.scene.gutter ? "default" : "grab";
  if (event !== undefined) app.hover(index, event, { x, y, lines: markLines(trace, event) });
  else if (bar)
    app.hover(index, NOTHING, { x, y, lines: [barText(trace, bar), ...barLines(trace, bar)] });
  else app.hover(index, NOTHING, null);
}

function markLines(trace, event) {
  const lines = [phraseOf(trace, event)],
    time = timeOf(trace, event),
    m = trace.message[event];
  if (!Number.isNaN(time)) lines.push(`at ${momentText(trace, time)}`);
  const text = trace.textOf(event);
  if (text && trace.kind[event] !== LOCAL) lines.push(text.length > 80 ? `${text.slice(0, 79)}…` : text);
  if (trace.kind[event] === SEND && trace.stampBytes[m] >= 0)
    lines.push(`stamp: ${trace.stampBytes[m]} bytes, ${trace.stampEntries[m]} elements`);
  if (trace.kind[event] === DELIVER) {
    const delay = trace.delayOf(event);
    if (delay && delay.held > 0) lines.push(`held for ${briefly(delay.held)}`);
    if (trace.isEarly(event)) lines.push(earlyLine(trace, event));
  }
  return lines;
}

function earlyLine(trace, event) {
  const { unsure = [] } = trace.header;
  const isAnywhere = unsure === null;
  const copy = unsure?.length ? explainCopy(trace, trace.message[event], trace.process[event]) : null;
  const isSure = copy ? copy.isEarly && isProof(copy) : !isAnywhere;
  return isSure
    ? "too early: causal order is broken here"
    : "perhaps too early: the order of events is unsure";
}

function barLines(trace, { reception, delivery }) {
  if (delivery === NOTHING) {
    const missing = missingBefore(trace, reception);
    if (!missing.length) return ["nothing that it depends on is missing", "click: select it"];
    const more = missing.length > 1 ? ` and ${missing.length - 1} more` : "";
    const first = trace.messageName(missing[0].message);
    return [`it depends on ${first}${more}, not delivered there`, "click: go there"];
  }
  const delay = trace.delayOf(delivery);
  const lines = delay
    ? [
        `held ${briefly(delay.held)}: forced ${briefly(delay.forced)}, inherited ${briefly(delay.inherited)}, own ${briefly(delay.own)}`,
      ]
    : [];
  return [...lines, trace.waitDelivered[delivery] >= 0 ? "click: go there" : "click: select it"];
}

// What a key does; gives whether it did something.
export function pressKey(app, { key, shiftKey }) {
  const { scene } = app,
    middle = scene.gutter + scene.plotWidth / 2;
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (steps[key]) {
    const [along, across] = steps[key];
    if (app.selection.event === NOTHING || shiftKey)
      app.move(along * scene.plotWidth * 0.15, across * scene.laneHeight * 2);
    else stepTo(app, along, across);
    return true;
  }
  const actions = {
    "+": () => app.zoomAt(0.6, app.anchor() ?? middle, 0, true),
    "=": () => app.zoomAt(0.6, app.anchor() ?? middle, 0, true),
    "-": () => app.zoomAt(1 / 0.6, app.anchor() ?? middle, 0, true),
    "]": () => app.stretch(1.25),
    "[": () => app.stretch(0.8),
    0: () => app.fit(),
    Enter: () => followSelection(app),
    m: () => nextOfMessage(app, shiftKey ? -1 : 1),
    b: () => back(app),
    e: () => nextEarly(app, shiftKey ? -1 : 1),
    w: () => nextWait(app),
    p: () => app.toggleCone(),
    n: () => nextHit(app, shiftKey ? -1 : 1),
    a: () => app.cycle("axis"),
    f: () => app.cycle("fold"),
    g: () => app.cycle("grouping"),
    s: () => app.cycle("sort"),
    l: () => app.cycle("layer"),
    c: () => crossOver(app),
    t: () => app.cycle("theme"),
    "/": () => app.focusSearch(),
    "?": () => app.showHelp(),
    Escape: () => app.clear(),
  };
  const action = actions[key] ?? actions[key.toLowerCase()];
  if (action) action();
  return Boolean(action);
}
