// Which part of the picture is seen, and where things are on the screen, in CSS pixels. Both plots
// of a comparison share one scene.
export const TOP = 26;
export const FONT = "11px system-ui, sans-serif";
const LOWEST_LANE = 3,
  HIGHEST_LANE = 140,
  COMFORTABLE_LANE = 110;
const DEEPEST_ZOOM = 1e-9;

export class Scene {
  constructor(axis, lanes) {
    this.axis = axis;
    this.lanes = lanes;
    this.width = 800;
    this.height = 400;
    this.gutter = 90;
    this.scroll = 0;
    this.laneHeight = 40;
    this.fitAll();
  }

  get plotWidth() {
    return Math.max(1, this.width - this.gutter);
  }

  resize(width, height, gutter) {
    const wasFitting = this.isFitting;
    this.width = width;
    this.height = height;
    this.gutter = gutter;
    if (wasFitting) this.fitLanes();
    this.clamp();
  }

  // Where the whole run is seen, with a little air on both sides.
  whole() {
    const air = (this.axis.max - this.axis.min) * 0.02;
    return { from: this.axis.min - air, to: this.axis.max + air };
  }

  fitAll() {
    Object.assign(this, this.whole());
    this.fitLanes();
  }

  fitLanes() {
    const fitting = (this.height - TOP - 4) / Math.max(1, this.lanes.rows.length);
    this.laneHeight = Math.min(COMFORTABLE_LANE, Math.max(LOWEST_LANE, fitting));
    this.scroll = 0;
    this.isFitting = true;
  }

  x(place) {
    return this.gutter + ((place - this.from) / (this.to - this.from)) * this.plotWidth;
  }

  place(x) {
    return this.from + ((x - this.gutter) / this.plotWidth) * (this.to - this.from);
  }

  // The middle of a row.
  y(row) {
    return TOP + (row + 0.5) * this.laneHeight - this.scroll;
  }

  // Where the line of a lane runs: bars hang below it where there is room.
  lineY(row) {
    return this.y(row) - (this.laneHeight >= 22 ? this.laneHeight * 0.14 : 0);
  }

  get markSize() {
    return Math.min(6, Math.max(2, this.laneHeight * 0.17));
  }

  rowAt(y) {
    const row = Math.floor((y - TOP + this.scroll) / this.laneHeight);
    return y >= TOP && row >= 0 && row < this.lanes.rows.length ? row : -1;
  }

  // The first row that is seen, and the one after the last.
  seenRows() {
    const first = Math.max(0, Math.floor(this.scroll / this.laneHeight));
    const last = Math.ceil((this.scroll + this.height - TOP) / this.laneHeight);
    return [first, Math.min(this.lanes.rows.length, last)];
  }

  zoom(factor, x) {
    const fixed = this.place(x);
    this.from = fixed - (fixed - this.from) * factor;
    this.to = fixed + (this.to - fixed) * factor;
    this.clamp();
  }

  pan(pixels, down = 0) {
    const shift = (pixels / this.plotWidth) * (this.to - this.from);
    this.from += shift;
    this.to += shift;
    this.scroll += down;
    this.clamp();
  }

  stretchLanes(factor, y) {
    const row = (y - TOP + this.scroll) / this.laneHeight;
    this.laneHeight = Math.min(HIGHEST_LANE, Math.max(LOWEST_LANE, this.laneHeight * factor));
    this.scroll = row * this.laneHeight - (y - TOP);
    this.isFitting = false;
    this.clamp();
  }

  // Never further out than the whole, never off the run, never closer than numbers can tell apart.
  clamp() {
    const { from, to } = this.whole();
    const least = (to - from) * DEEPEST_ZOOM;
    const span = Math.min(to - from, Math.max(least, this.to - this.from));
    const middle = (this.from + this.to) / 2;
    this.from = span === to - from ? from : Math.min(Math.max(from, middle - span / 2), to - span);
    this.to = span === to - from ? to : this.from + span;
    const most = Math.max(0, this.lanes.rows.length * this.laneHeight - (this.height - TOP - 4));
    this.scroll = Math.min(Math.max(0, this.scroll), most);
  }

  // The span that shows these places with air around them; not closer than `least`.
  around(places, least) {
    let low = Infinity,
      high = -Infinity;
    for (const place of places) {
      low = Math.min(low, place);
      high = Math.max(high, place);
    }
    const span = Math.max((high - low) * 1.5, least, (this.axis.max - this.axis.min) * 1e-6);
    return { from: (low + high - span) / 2, to: (low + high + span) / 2 };
  }

  showRow(row) {
    if (row < 0) return;
    const y = this.y(row);
    if (y < TOP + this.laneHeight / 2) this.scroll += y - TOP - this.laneHeight;
    else if (y > this.height - this.laneHeight / 2)
      this.scroll += y - this.height + this.laneHeight;
    this.clamp();
  }
}
