// The page as a whole: what is selected, what is shown, and what every control does.
import { DELIVER, NOTHING } from "./data.js";
import { Axis } from "./axis.js";
import { Cone } from "./causality.js";
import { pathEvents } from "./emphasis.js";
import { explainCopy, sentencesOf } from "./explain.js";
import { Lanes } from "./lanes.js";
import { readPalette } from "./marks.js";
import { Overview, drawMinimap } from "./minimap.js";
import { drawPlot, Picture } from "./plot.js";
import { Scene } from "./scene.js";
import { findEvents } from "./search.js";
import { tableText } from "./table.js";

// Which layers are seen: the application's, that of hops, and what concerns both.
const SHOWN = { app: [true, false, true], hop: [false, true, true], both: [true, true, true] };
const EASE = 0.3;
const CLOSE_UP_EVENTS = 60;
const OVERVIEW_COLUMNS = 600;

export class App {
  constructor(traces, surface) {
    this.traces = traces;
    this.surface = surface;
    const hasApp = traces.some((trace) => trace.hasApp);
    this.shown = hasApp ? SHOWN.app : SHOWN.hop;
    this.axisKind = traces.every((trace) => trace.isTimed) ? "time" : "position";
    this.isFolding = true;
    this.showsCone = true;
    this.selection = { index: 0, event: NOTHING };
    this.history = [];
    this.query = "";
    this.notes = [];
    this.lanes = new Lanes(traces);
    this.axis = this.makeAxis();
    this.scene = new Scene(this.axis, this.lanes);
    this.rebuild();
  }

  makeAxis() {
    const isShown = (trace, i) =>
      this.shown[trace.layer[i]] && this.lanes.rowOf[trace.process[i]] >= 0;
    return new Axis(this.axisKind, this.traces, { fold: this.isFolding, isShown });
  }

  // After the layers have changed: everything but the selection.
  rebuild() {
    this.pictures = this.traces.map(
      (trace, at) => new Picture(trace, this.axis.places[at], this.axis, this.shown),
    );
    this.overviews = this.pictures.map(
      (picture) => new Overview(picture, this.axis, OVERVIEW_COLUMNS),
    );
    this.recolour();
    this.search(this.query);
    this.highlight();
  }

  // After the axis has changed: the same events stay in the middle.
  changeAxis() {
    const middle = this.eventInTheMiddle();
    const share = (this.scene.to - this.scene.from) / (this.axis.max - this.axis.min);
    this.axis = this.scene.axis = this.makeAxis();
    this.pictures.forEach((picture, at) => picture.follow(this.axis.places[at], this.axis));
    this.overviews = this.pictures.map(
      (picture) => new Overview(picture, this.axis, OVERVIEW_COLUMNS),
    );
    const span = share * (this.axis.max - this.axis.min);
    if (middle !== NOTHING) {
      const place = this.pictures[this.selection.index].places[middle];
      Object.assign(this.scene, { from: place - span / 2, to: place + span / 2 });
    } else this.scene.fitAll();
    this.target = null;
    this.scene.clamp();
    this.draw();
  }

  eventInTheMiddle() {
    if (this.selection.event !== NOTHING) return this.selection.event;
    const { places, trace } = this.pictures[this.selection.index];
    const middle = (this.scene.from + this.scene.to) / 2;
    let nearest = NOTHING,
      away = Infinity;
    for (let i = 0; i < trace.size; i++) {
      if (Math.abs(places[i] - middle) < away) {
        away = Math.abs(places[i] - middle);
        nearest = i;
      }
    }
    return nearest;
  }

  recolour() {
    this.palette = readPalette(document.documentElement);
    for (const picture of this.pictures) picture.palette = this.palette;
    this.draw();
  }

  // Selection

  select(index, event, { move = true, remember = true } = {}) {
    if (remember && this.selection.event !== NOTHING) this.history.push({ ...this.selection });
    this.selection = { index, event };
    this.highlight();
    if (move && event !== NOTHING) this.bringIntoView(index, event);
    this.surface.selected(this);
    this.draw();
  }

  // What follows from the selection: its cone, its copy, and its counterpart in the other trace.
  highlight() {
    for (const picture of this.pictures)
      Object.assign(picture, { selected: NOTHING, cone: null, copy: null });
    const { index, event } = this.selection;
    if (event === NOTHING) return;
    this.mark(index, event);
    const other = this.counterpart();
    if (other && other.event !== NOTHING) this.mark(other.index, other.event);
  }

  mark(index, event) {
    const picture = this.pictures[index],
      { trace } = picture,
      m = trace.message[event];
    picture.selected = event;
    const layers = this.shown[trace.layer[event]] ? this.shown : SHOWN.both;
    if (this.showsCone) picture.cone = new Cone(trace, event, layers);
    if (trace.kind[event] !== DELIVER || !trace.isEarly(event)) return;
    // In an excerpt the way from one message to the other may lie outside.
    const copy = explainCopy(trace, m, trace.process[event]);
    if (copy.isEarly) picture.copy = copy;
  }

  // The whole story of a reception or a delivery, for whoever asks from the console.
  explain(index, event) {
    const trace = this.traces[index];
    return sentencesOf(explainCopy(trace, trace.message[event], trace.process[event]));
  }

  coneCounts() {
    const { index, event } = this.selection,
      picture = this.pictures[index];
    return (picture.cone ?? new Cone(picture.trace, event, this.shown)).counts();
  }

  counterpart() {
    const { index, event } = this.selection;
    if (this.traces.length < 2 || event === NOTHING) return null;
    const own = this.traces[index],
      trace = this.traces[1 - index];
    if (own.message[event] < 0) return null;
    const m = trace.findMessage(own.messageName(own.message[event]), own.layer[event]);
    const found = m < 0 ? NOTHING : trace.eventAt(m, own.process[event], own.kind[event]);
    return { index: 1 - index, event: found };
  }

  clear() {
    this.select(this.selection.index, NOTHING);
  }

  // Move so that an event can be seen, with its message around it, and no closer than needed.
  bringIntoView(index, event) {
    const { places, trace } = this.pictures[index],
      { scene } = this;
    const row = this.lanes.rowOf[trace.process[event]];
    if (row < 0) this.setHidden(trace.process[event], false);
    scene.showRow(this.lanes.rowOf[trace.process[event]]);
    const x = scene.x(places[event]),
      margin = scene.plotWidth * 0.12;
    const span = scene.to - scene.from,
      closeUp =
        ((scene.axis.max - scene.axis.min) * CLOSE_UP_EVENTS) /
        Math.max(CLOSE_UP_EVENTS, trace.size / Math.sqrt(trace.processes.length));
    if (x > scene.gutter + margin && x < scene.width - margin && span < closeUp * 8) return;
    const others = this.companions(index, event);
    const wanted = scene.around(
      others.map((i) => places[i]),
      Math.min(span, closeUp * 3),
    );
    this.glideTo(wanted);
  }

  // What should be seen together with an event: its path, if it came too early; else the other end of
  // its wait.
  companions(index, event) {
    const { trace, copy } = this.pictures[index];
    if (copy)
      return [...pathEvents(trace, copy), copy.missing[0].delivered].filter((i) => i !== NOTHING);
    return trace.twin[event] >= 0 ? [event, trace.twin[event]] : [event];
  }

  hover(index, event, tip) {
    const changed = this.pictures[index].hovered !== event;
    for (const picture of this.pictures) picture.hovered = NOTHING;
    this.pictures[index].hovered = event;
    this.surface.tell(index, tip);
    if (changed) this.draw();
  }

  search(query) {
    this.query = query;
    for (const picture of this.pictures) {
      picture.hits = query
        ? findEvents(picture.trace, query).filter((i) => this.shown[picture.trace.layer[i]])
        : null;
    }
    this.draw();
  }

  listCone(which) {
    const { index, event } = this.selection;
    const cone = this.pictures[index].cone ?? new Cone(this.traces[index], event, this.shown);
    this.surface.listEvents(this, index, cone.list(which), `${which} of the selection`);
  }

  toggleCone() {
    this.showsCone = !this.showsCone;
    this.highlight();
    this.draw();
  }

  copyTable(index, events) {
    this.surface.copy(tableText(this.traces[index], events));
  }

  // What is seen

  draw() {
    if (this.isAsked || !this.isReady) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.paint();
    });
  }

  paint() {
    if (this.target) this.glide();
    this.notes = this.surface.contexts.map((context, at) =>
      drawPlot(context, this.scene, this.pictures[at]),
    );
    const { context, width, height } = this.surface.minimap;
    drawMinimap(context, this.scene, this.overviews, this.palette, width, height);
    this.surface.painted(this);
    if (this.target) this.draw();
  }

  glideTo(target) {
    if (this.surface.isStill) {
      Object.assign(this.scene, target);
      this.scene.clamp();
    } else this.target = target;
    this.draw();
  }

  glide() {
    const { scene, target } = this;
    const isThere =
      Math.abs(target.from - scene.from) + Math.abs(target.to - scene.to) <
      (target.to - target.from) * 0.004;
    const part = isThere ? 1 : EASE;
    scene.from += (target.from - scene.from) * part;
    scene.to += (target.to - scene.to) * part;
    const { from, to } = scene;
    scene.clamp();
    if (isThere || (from !== scene.from && to !== scene.to)) this.target = null;
  }

  zoomAt(factor, x, _y, smoothly = false) {
    const before = { from: this.scene.from, to: this.scene.to };
    this.target = null;
    this.scene.zoom(factor, Math.max(this.scene.gutter, x));
    if (smoothly) {
      const after = { from: this.scene.from, to: this.scene.to };
      Object.assign(this.scene, before);
      this.glideTo(after);
    } else this.draw();
  }

  anchor() {
    const { index, event } = this.selection;
    if (event === NOTHING) return null;
    const x = this.scene.x(this.pictures[index].places[event]);
    return x > this.scene.gutter && x < this.scene.width ? x : null;
  }

  move(pixels, down) {
    this.target = null;
    this.scene.pan(pixels, down);
    this.draw();
  }

  stretch(factor) {
    this.scene.stretchLanes(factor, this.scene.height / 2);
    this.draw();
  }

  fit() {
    this.scene.fitLanes();
    this.glideTo(this.scene.whole());
  }

  centreOn(share) {
    const span = this.scene.to - this.scene.from,
      middle = this.axis.min + share * (this.axis.max - this.axis.min);
    this.target = null;
    Object.assign(this.scene, { from: middle - span / 2, to: middle + span / 2 });
    this.scene.clamp();
    this.draw();
  }

  showBox(index, from, to) {
    this.box = [Math.min(from, to), Math.max(from, to)];
    this.surface.showBox(index, this.box);
  }

  hideBox() {
    this.surface.showBox(0, null);
  }

  zoomToBox() {
    this.glideTo({ from: this.scene.place(this.box[0]), to: this.scene.place(this.box[1]) });
  }

  // Rows

  setHidden(process, isHidden) {
    this.lanes.setHidden(process, isHidden);
    this.rowsChanged();
  }

  showPartners(process) {
    this.lanes.showOnlyPartnersOf(process);
    this.rowsChanged();
  }

  showAllProcesses() {
    this.lanes.showAll();
    this.rowsChanged();
  }

  hideIdle() {
    this.lanes.names.forEach((_, p) => {
      if (this.traces.every((trace) => trace.laneStart[p] === trace.laneStart[p + 1]))
        this.lanes.hidden.add(p);
    });
    this.lanes.arrange();
    this.rowsChanged();
  }

  toggleGroup(label) {
    this.lanes.toggleGroup(label);
    this.rowsChanged();
  }

  rowsChanged() {
    if (this.axisKind !== "time") this.changeAxis();
    if (this.scene.isFitting) this.scene.fitLanes();
    this.scene.clamp();
    this.surface.refresh(this);
    this.draw();
  }

  // Controls: one name, one value.

  set(control, value) {
    if (control === "axis") this.axisKind = value;
    if (control === "fold") this.isFolding = value;
    if (control === "grouping") this.lanes.grouping = value;
    if (control === "sort") this.lanes.sort = value;
    if (control === "layer") this.shown = SHOWN[value];
    if (control === "axis" || control === "fold") this.changeAxis();
    else if (control === "layer") {
      this.rebuild();
      if (this.axisKind !== "time") this.changeAxis();
    } else {
      this.lanes.arrange();
      this.rowsChanged();
    }
    this.surface.refresh(this);
    this.draw();
  }

  cycle(control) {
    this.surface.cycle(this, control);
  }

  focusSearch() {
    this.surface.focusSearch();
  }

  showHelp() {
    this.surface.showHelp();
  }
}
