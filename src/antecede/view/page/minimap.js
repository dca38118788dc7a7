// The whole run in a strip: how much happens when, where messages are held and where order breaks,
// and which part is seen. Dragging moves that part.
import { DELIVER } from "./data.js";
import { isHeld } from "./search.js";

// What happens when, in so many columns over the axis.
export class Overview {
  constructor({ trace, places, shown }, axis, columns) {
    this.columns = columns;
    this.events = new Int32Array(columns);
    this.held = new Int32Array(columns);
    const scale = columns / (axis.max - axis.min);
    const columnOf = (i) =>
      Math.min(columns - 1, Math.max(0, Math.floor((places[i] - axis.min) * scale)));
    for (let i = 0; i < trace.size; i++) {
      if (!shown[trace.layer[i]]) continue;
      const column = columnOf(i);
      this.events[column]++;
      if (trace.kind[i] === DELIVER && isHeld(trace, i)) this.held[column]++;
    }
    this.early = new Set();
    for (const i of trace.early) if (shown[trace.layer[i]]) this.early.add(columnOf(i));
    this.most = this.events.reduce((most, count) => Math.max(most, count), 1);
  }
}

export function drawMinimap(context, scene, overviews, palette, width, height) {
  context.fillStyle = palette.band;
  context.fillRect(0, 0, width, height);
  const room = height / overviews.length;
  overviews.forEach((overview, at) => {
    const bottom = room * (at + 1) - 2,
      step = width / overview.columns;
    for (const [values, colour] of [
      [overview.events, palette.deliver],
      [overview.held, palette.inherited],
    ]) {
      context.fillStyle = colour;
      context.beginPath();
      for (let column = 0; column < overview.columns; column++) {
        const size = (room - 5) * Math.sqrt(values[column] / overview.most);
        if (size > 0) context.rect(column * step, bottom - size, step, size);
      }
      context.fill();
    }
    context.fillStyle = palette.early;
    for (const column of overview.early)
      context.fillRect(column * step - 0.5, room * at + 1, Math.max(2, step), 5);
  });
  const [left, right] = windowOf(scene, width);
  context.fillStyle = palette.paper;
  context.globalAlpha = 0.55;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = palette.select;
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(2, right - left - 2), height - 2);
}

function windowOf(scene, width) {
  const { min, max } = scene.axis;
  const scale = width / (max - min);
  const left = Math.max(0, (scene.from - min) * scale),
    right = Math.min(width, (scene.to - min) * scale);
  const missing = Math.max(0, 6 - (right - left)) / 2;
  return [Math.max(0, left - missing), Math.min(width, right + missing)];
}
