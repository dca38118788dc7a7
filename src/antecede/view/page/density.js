// What a lane shows when its events stand closer than marks can: how many there are, how many of
// them are sends, and how many messages are held, column by column.
import { SEND, RECEIVE, DELIVER, NOTHING } from "./data.js";

const LINEAR_STEPS = 24;
const TRACKS = 5;

// Running counts along the lanes, one trace at one choice of layers.
export class Counts {
  constructor(trace, shown) {
    const size = trace.size;
    this.sends = new Int32Array(size + 1);
    this.events = new Int32Array(size + 1);
    this.held = new Int32Array(size);
    this.track = new Uint8Array(size);
    this.tracks = new Uint8Array(trace.processes.length);
    for (let p = 0; p < trace.processes.length; p++) this.countLane(trace, p, shown);
  }

  countLane(trace, process, shown) {
    let held = 0;
    const taken = new Int32Array(TRACKS);
    for (let at = trace.laneStart[process]; at < trace.laneStart[process + 1]; at++) {
      const i = trace.laneEvents[at],
        isShown = shown[trace.layer[i]],
        twin = trace.twin[i];
      this.events[at + 1] = this.events[at] + (isShown ? 1 : 0);
      this.sends[at + 1] = this.sends[at] + (isShown && trace.kind[i] === SEND ? 1 : 0);
      if (
        isShown &&
        trace.kind[i] === RECEIVE &&
        twin >= NOTHING &&
        trace.sender[trace.message[i]] !== process
      ) {
        // Of the tracks below the lane line it takes the first that is free; the last is shared.
        let track = 0;
        while (track < TRACKS - 1 && taken[track]) track++;
        taken[track]++;
        this.track[i] = track;
        if (twin === NOTHING || trace.step[twin] - trace.step[i] > 1) {
          this.tracks[process] = Math.max(this.tracks[process], track + 1);
        }
        held++;
      } else if (
        isShown &&
        trace.kind[i] === DELIVER &&
        twin >= 0 &&
        trace.sender[trace.message[i]] !== process
      ) {
        taken[this.track[twin]]--;
        held--;
      }
      this.held[at] = held;
    }
  }
}

// Draw the lanes that are too dense for marks. `dense` lists them as {row, process, first, last}.
export function drawDensity(context, scene, picture, dense) {
  if (!dense.length) return;
  const { trace, places, counts, palette } = picture;
  const columns = Math.ceil(scene.plotWidth / 2);
  const step = (scene.to - scene.from) / columns;
  const found = new Int32Array(dense.length * columns * 3);
  let most = 1,
    mostHeld = 1;
  dense.forEach((lane, index) => {
    let at = lane.first;
    for (let column = 0; column < columns && at < lane.last; column++) {
      const next = advance(trace, places, at, lane.last, scene.from + (column + 1) * step);
      if (next > at) {
        const cell = (index * columns + column) * 3;
        found[cell] = counts.events[next] - counts.events[at];
        found[cell + 1] = counts.sends[next] - counts.sends[at];
        found[cell + 2] = counts.held[next - 1];
        if (found[cell] > most) most = found[cell];
        if (found[cell + 2] > mostHeld) mostHeld = found[cell + 2];
      }
      at = next;
    }
  });
  paintCells(context, scene, palette, dense, { found, columns, most, mostHeld });
}

function advance(trace, places, at, last, until) {
  for (let steps = 0; steps < LINEAR_STEPS; steps++, at++) {
    if (at >= last || places[trace.laneEvents[at]] >= until) return at;
  }
  let low = at,
    high = last;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[trace.laneEvents[middle]] < until) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Thousands of small rectangles: pixel by pixel on a canvas, as shapes in an SVG.
function paintCells(context, scene, palette, dense, { found, columns, most, mostHeld }) {
  const height = Math.max(2, Math.round(scene.laneHeight * (scene.laneHeight > 8 ? 0.66 : 1)));
  const surface = context.isVector
    ? vectorSurface(context)
    : pixelSurface(context, scene, columns, dense.length * height);
  const [all, sends, held] = ["deliver", "send", "inherited"].map((name) =>
    surface.colour(palette[name]),
  );
  const heldRoom = height >= 6 ? Math.max(2, Math.round(height * 0.28)) : 0;
  dense.forEach((lane, index) => {
    const top = densityTop(scene, lane.row, height, heldRoom);
    for (let column = 0; column < columns; column++) {
      const cell = (index * columns + column) * 3,
        count = found[cell];
      if (count === 0) continue;
      const room = height - heldRoom;
      const full = Math.max(1, Math.round(room * (Math.log1p(count) / Math.log1p(most))));
      const part = Math.round(full * (found[cell + 1] / count));
      surface.fill(index, column, top, room - full, full - part, all, height);
      if (part) surface.fill(index, column, top, room - part, part, sends, height);
      if (found[cell + 2] && heldRoom) {
        const depth = Math.max(1, Math.round(heldRoom * (found[cell + 2] / mostHeld)));
        surface.fill(index, column, top, room, depth, held, height);
      }
    }
  });
  surface.finish(dense, height, heldRoom);
}

// Events stand on the line of the lane, what is held hangs below it.
function densityTop(scene, row, height, heldRoom) {
  return Math.max(scene.y(row) - scene.laneHeight / 2, scene.lineY(row) - (height - heldRoom));
}

function vectorSurface(context) {
  return {
    colour: (text) => text,
    fill(_, column, top, from, size, colour) {
      context.fillStyle = colour;
      context.fillRect(context.left + column * 2, top + from, 2, size);
    },
    finish() {},
  };
}

let scratch = null;

function pixelSurface(context, scene, columns, rows) {
  scratch ??= document.createElement("canvas");
  scratch.width = columns;
  scratch.height = Math.max(1, rows);
  const own = scratch.getContext("2d");
  const image = own.createImageData(columns, Math.max(1, rows));
  const pixels = new Uint32Array(image.data.buffer);
  return {
    colour: pixelOf,
    fill(index, column, _, from, size, colour, height) {
      let at = (index * height + from) * columns + column;
      for (let row = 0; row < size; row++, at += columns) pixels[at] = colour;
    },
    finish(dense, height, heldRoom) {
      own.putImageData(image, 0, 0);
      context.imageSmoothingEnabled = false;
      dense.forEach((lane, index) => {
        context.drawImage(
          scratch,
          0,
          index * height,
          columns,
          height,
          scene.gutter,
          Math.round(densityTop(scene, lane.row, height, heldRoom)),
          scene.plotWidth,
          height,
        );
      });
    },
  };
}

const pixelCache = new Map();

// A colour of the style sheet as it stands in the memory of a canvas.
function pixelOf(text) {
  if (!pixelCache.has(text)) {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    pixelCache.set(text, new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0]);
  }
  return pixelCache.get(text);
}
