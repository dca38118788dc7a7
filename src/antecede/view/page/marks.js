// The marks and their colours. Every kind has a shape of its own; colours (after Okabe and Ito, told
// apart by colour-blind people) only help.
import { SEND, RECEIVE, DELIVER, CRASH, JOIN, LEAVE, LOCAL } from "./data.js";

const COLOURS = [
  "paper",
  "band",
  "grid",
  "line",
  "ink",
  "faint",
  "send",
  "receive",
  "deliver",
  "message",
  "forced",
  "inherited",
  "own",
  "early",
  "past",
  "future",
  "select",
  "hit",
  "member",
];

// The colours of the theme that is in force, from the style sheet.
export function readPalette(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(
    COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

// Add the shape of a kind to the path that is under construction.
export function traceMark(context, kind, x, y, size) {
  switch (kind) {
    case SEND: // a triangle
      context.moveTo(x, y - size * 1.15);
      context.lineTo(x + size * 1.05, y + size * 0.8);
      context.lineTo(x - size * 1.05, y + size * 0.8);
      context.closePath();
      break;
    case RECEIVE: // a ring, drawn as a line
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 2 * Math.PI);
      break;
    case DELIVER: // a disc, which fits into the ring
      context.moveTo(x + size * 0.66, y);
      context.arc(x, y, size * 0.66, 0, 2 * Math.PI);
      break;
    case CRASH: // a cross
      for (const turn of [1, -1]) {
        context.moveTo(x - size * 1.2, y - size * 1.2 * turn);
        context.lineTo(x + size * 1.2, y + size * 1.2 * turn);
      }
      break;
    case JOIN: // an arrow head into the lane
    case LEAVE: {
      // and out of it
      const tip = kind === JOIN ? size * 1.2 : -size * 1.2;
      context.moveTo(x - tip, y - size * 1.2);
      context.lineTo(x + tip, y);
      context.lineTo(x - tip, y + size * 1.2);
      break;
    }
    case LOCAL: // a short stroke across the lane
      context.moveTo(x, y - size * 0.8);
      context.lineTo(x, y + size * 0.8);
      break;
    default: // a view: a diamond
      context.moveTo(x, y - size * 1.5);
      context.lineTo(x + size * 1.2, y);
      context.lineTo(x, y + size * 1.5);
      context.lineTo(x - size * 1.2, y);
      context.closePath();
  }
}

// Whether a kind is drawn as an area; the others are lines.
export function isFilled(kind) {
  return kind === SEND || kind === DELIVER;
}

export function colourOf(kind, palette) {
  if (kind === SEND) return palette.send;
  if (kind === RECEIVE) return palette.receive;
  if (kind === LOCAL) return palette.faint;
  return kind === DELIVER ? palette.deliver : palette.member;
}

// An early delivery: a square standing on its corner with a cross in it.
export function traceEarly(context, x, y, size) {
  context.moveTo(x, y - size * 1.6);
  context.lineTo(x + size * 1.6, y);
  context.lineTo(x, y + size * 1.6);
  context.lineTo(x - size * 1.6, y);
  context.closePath();
  for (const turn of [1, -1]) {
    context.moveTo(x - size * 0.55, y - size * 0.55 * turn);
    context.lineTo(x + size * 0.55, y + size * 0.55 * turn);
  }
}
