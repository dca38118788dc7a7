// A drawing context that writes an SVG: as much of the canvas' interface as the plot uses.
export class SvgContext {
  constructor(width, height, left) {
    this.isVector = true;
    this.left = left;
    this.size = [width, height];
    this.parts = [];
    this.clips = 0;
    this.depth = 0;
    this.stack = [];
    this.state = {
      fillStyle: "#000",
      strokeStyle: "#000",
      lineWidth: 1,
      globalAlpha: 1,
      font: "11px sans-serif",
      textAlign: "left",
      textBaseline: "alphabetic",
      dash: [],
    };
    for (const name of Object.keys(this.state)) {
      Object.defineProperty(this, name, {
        get: () => this.state[name],
        set: (value) => {
          this.state[name] = value;
        },
      });
    }
    this.lineJoin = "round";
    this.path = "";
  }

  setLineDash(dash) {
    this.state.dash = dash;
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${short(x)} ${short(y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  quadraticCurveTo(a, b, x, y) {
    this.path += `Q${short(a)} ${short(b)} ${short(x)} ${short(y)}`;
  }

  // Whole circles, which is all that the plot draws.
  arc(x, y, radius) {
    const [r, width] = [short(radius), short(2 * radius)];
    this.path += `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${width} 0a${r} ${r} 0 1 0 -${width} 0Z`;
  }

  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }

  fill() {
    this.add("path", `d="${this.path}" fill="${escaped(this.fillStyle)}"`);
  }

  stroke() {
    this.add("path", `d="${this.path}" ${this.pen()}`);
  }

  fillRect(x, y, width, height) {
    if (width > 0 && height > 0)
      this.add("rect", `${box(x, y, width, height)} fill="${escaped(this.fillStyle)}"`);
  }

  strokeRect(x, y, width, height) {
    if (width > 0 && height > 0) this.add("rect", `${box(x, y, width, height)} ${this.pen()}`);
  }

  fillText(text, x, y) {
    const anchor = { center: "middle", right: "end" }[this.textAlign] ?? "start";
    const shift = { middle: 4, top: 10, bottom: -2 }[this.textBaseline] ?? 0;
    const size = /([\d.]+)px/.exec(this.font)?.[1] ?? "11";
    this.add(
      "text",
      `x="${short(x)}" y="${short(y + shift)}" text-anchor="${anchor}" font-size="${size}" fill="${escaped(this.fillStyle)}"`,
      escaped(text),
    );
  }

  save() {
    this.stack.push([{ ...this.state }, this.depth]);
  }

  restore() {
    const [state, depth] = this.stack.pop();
    Object.assign(this.state, state);
    while (this.depth > depth) {
      this.parts.push("</g>");
      this.depth--;
    }
  }

  clip() {
    const id = `clip${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`,
    );
    this.depth++;
  }

  pen() {
    const dash = this.state.dash.length ? ` stroke-dasharray="${this.state.dash.join(" ")}"` : "";
    return `fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"${dash}`;
  }

  add(tag, attributes, content = "") {
    if (attributes.startsWith('d=""')) return;
    const opacity = this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : "";
    this.parts.push(`<${tag} ${attributes}${opacity}${content ? `>${content}</${tag}>` : "/>"}`);
  }

  text() {
    const [width, height] = this.size;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `font-family="system-ui, sans-serif">\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}

function short(value) {
  return String(Math.round(value * 100) / 100);
}

function box(x, y, width, height) {
  return `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

// Text as XML may carry it: control characters have no place there at all.
function escaped(text) {
  return String(text)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "�")
    .replace(/[&<>"']/g, (letter) => ENTITIES[letter]);
}
