// The trace as a log for ShiViz: the same text as antecede.view.shiviz writes.
import { SEND, DELIVER, LOCAL, KINDS } from "./data.js";

// The log of one layer; crashes and views belong to every layer.
export function shivizLog(trace, layer = 0) {
  const hosts = hostNames(trace.processes);
  const clocks = hosts.map(() => new Map()),
    sent = new Map();
  const lines = [];
  for (let i = 0; i < trace.size; i++) {
    const kind = trace.kind[i],
      p = trace.process[i],
      m = trace.message[i];
    if (kind <= DELIVER && trace.layer[i] !== layer) continue;
    const clock = clocks[p];
    if (kind === DELIVER) {
      for (const [other, count] of sent.get(m))
        clock.set(other, Math.max(clock.get(other) ?? 0, count));
    }
    clock.set(p, (clock.get(p) ?? 0) + 1);
    if (kind === SEND) sent.set(m, new Map(clock));
    const told = [...clock]
      .sort((a, b) => a[0] - b[0])
      .map(([other, count]) => `"${hosts[other]}":${count}`);
    const text =
      kind > DELIVER ? (kind === LOCAL && trace.textOf(i).replace(/\s+/g, " ")) || KINDS[kind] : `${KINDS[kind]} ${hosts[trace.sender[m]]}:${trace.number[m]}`;
    lines.push(`${hosts[p]} {${told.join(", ")}}\n${text}\n`);
  }
  return lines.join("");
}

// Names without spaces, quotes, backslashes and control characters, and still distinct.
function hostNames(processes) {
  const taken = new Set();
  return processes.map((name) => {
    let host = name.replace(/[\s"\\\u0000-\u001f]/gu, "_") || "_";
    while (taken.has(host)) host += "_";
    taken.add(host);
    return host;
  });
}
