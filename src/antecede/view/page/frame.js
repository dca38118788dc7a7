// What stands around the marks: axis, bands, lane lines and names.
import { TOP } from "./scene.js";

const LETTER = 6.2; // the width of most letters, in pixels

export function drawGrid(context, scene, palette) {
  const [firstRow, lastRow] = scene.seenRows();
  context.fillStyle = palette.band;
  for (let row = firstRow; row < lastRow; row++) {
    const isGroup = scene.lanes.rows[row].group !== undefined;
    if (isGroup || (row % 2 === 1 && scene.laneHeight > 8)) {
      const top = Math.max(TOP, scene.y(row) - scene.laneHeight / 2);
      context.fillRect(
        isGroup ? 0 : scene.gutter,
        top,
        scene.width,
        scene.y(row) + scene.laneHeight / 2 - top,
      );
    }
  }
  let labelled = -Infinity;
  for (const fold of scene.axis.foldedPlaces()) {
    const left = scene.x(fold.from),
      right = scene.x(fold.to);
    if (right < scene.gutter || left > scene.width) continue;
    context.fillStyle = palette.grid;
    context.fillRect(
      Math.max(left, scene.gutter),
      TOP,
      Math.min(right, scene.width) - Math.max(left, scene.gutter),
      scene.height - TOP,
    );
    if (
      left > scene.gutter &&
      right - left > 3 &&
      left > labelled + 70 &&
      right < scene.width - 30
    ) {
      labelled = left;
      context.fillStyle = palette.faint;
      context.textAlign = "center";
      context.textBaseline = "bottom";
      context.fillText(`⋯ ${fold.text}`, (left + right) / 2, scene.height - 3);
    }
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const { place, text } of scene.axis.ticks(scene.from, scene.to, scene.plotWidth / 110)) {
    const x = Math.round(scene.x(place)) + 0.5;
    if (x < scene.gutter) continue;
    context.strokeStyle = palette.grid;
    context.beginPath();
    context.moveTo(x, TOP - 5);
    context.lineTo(x, scene.height);
    context.stroke();
    context.fillStyle = palette.faint;
    if (x > scene.gutter + 20 && x < scene.width - 20) context.fillText(text, x, TOP / 2);
  }
}

export function drawLaneLines(context, scene, { places, crashedAt, palette }) {
  const [firstRow, lastRow] = scene.seenRows();
  if (scene.laneHeight < 6) return;
  context.lineWidth = 1;
  context.strokeStyle = palette.line;
  const lost = [];
  context.beginPath();
  for (let row = firstRow; row < lastRow; row++) {
    const p = scene.lanes.rows[row].process;
    if (p === undefined) continue;
    const y = Math.round(scene.lineY(row)) + 0.5;
    let end = scene.width;
    if (crashedAt.has(p)) {
      end = Math.min(end, scene.x(places[crashedAt.get(p)]));
      lost.push([end, y]);
    }
    context.moveTo(scene.gutter, y);
    context.lineTo(Math.max(scene.gutter, end), y);
  }
  context.stroke();
  context.setLineDash([2, 5]);
  context.beginPath();
  for (const [from, y] of lost) {
    context.moveTo(Math.max(scene.gutter, from), y);
    context.lineTo(scene.width, y);
  }
  context.stroke();
  context.setLineDash([]);
}

export function drawLabels(context, scene, { palette }) {
  const [firstRow, lastRow] = scene.seenRows();
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, scene.gutter, scene.height);
  context.strokeStyle = palette.grid;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(scene.gutter - 0.5, TOP);
  context.lineTo(scene.gutter - 0.5, scene.height);
  context.stroke();
  const every = Math.max(1, Math.ceil(12 / scene.laneHeight));
  context.textBaseline = "middle";
  context.textAlign = "left";
  // The name of a group has its row for itself, that of a process ends where the plot begins.
  for (let row = firstRow; row < lastRow; row++) {
    const { group, size } = scene.lanes.rows[row];
    if (group === undefined) continue;
    context.fillStyle = palette.faint;
    context.fillText(
      `${scene.lanes.folded.has(group) ? "▸" : "▾"} ${group} (${size})`,
      8,
      scene.y(row),
    );
  }
  context.save();
  context.beginPath();
  context.rect(0, TOP, scene.gutter - 4, scene.height - TOP);
  context.clip();
  context.fillStyle = palette.ink;
  const most = Math.floor((scene.gutter - 12) / LETTER);
  const labels = scene.lanes.labelsOf(Math.max(most, 4));
  for (let row = firstRow; row < lastRow; row++) {
    const { process } = scene.lanes.rows[row];
    if (process !== undefined && row % every === 0)
      context.fillText(labels[process], 8, scene.lineY(row));
  }
  context.restore();
}
