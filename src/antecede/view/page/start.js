// Shows traces: from columns to a running application, once a page.
import { Trace, unifyProcesses } from "./data.js";
import { App } from "./app.js";
import { Surface } from "./surface.js";
import { openAt } from "./navigate.js";

// `unpacked` are one or two traces as {header, columns}. `window.antecede` becomes the application,
// for whoever opens the console.
export function showTraces(unpacked) {
  if (unpacked.length > 1) unifyProcesses(unpacked);
  const traces = unpacked.map((one) => new Trace(one));
  tellApart(traces);
  document.title = `${traces.map((trace) => trace.title).join(" and ")} – Antecede`;
  document.getElementById("title").textContent = traces.map((trace) => trace.title).join(" and ");
  document.getElementById("runName").textContent = [...new Set(traces.map((trace) => trace.run))]
    .filter(Boolean)
    .join(" and ");
  const surface = new Surface(traces);
  const app = new App(traces, surface);
  surface.attach(app);
  document.body.classList.toggle(
    "empty",
    traces.every((trace) => trace.size === 0),
  );
  app.isReady = true;
  app.paint();
  const wanted = decoded(location.hash.slice(1)) || traces[0].header.open_at;
  if (wanted) openAt(app, wanted);
  window.antecede = app;
  performance.mark("antecede-first-picture");
  document.body.dataset.ready = "yes";
}

// Two runs of one file, or of two files of the same name, are called by their runs, too.
function tellApart(traces) {
  if (new Set(traces.map((trace) => trace.title)).size === traces.length) return;
  for (const trace of traces) trace.title = `${trace.title} ${trace.run}`.trim();
}

// A part of an address as it was meant; one that was never encoded, as it is.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
