// OpenTelemetry spans: the counterpart of antecede/imports/otlp.py.
import { OTLP_SIGNALS } from "./detect.js";
import { parseJson } from "./json.js";
import { Lines } from "./lines.js";
import { GIVEN } from "./local.js";
import { APP, DELIVER, LOCAL, Log, NONE, RECEIVE, SEND, lineIn, sourceOf } from "./log.js";
import { BadLog, OTHERWISE, assume } from "./problems.js";
import { Literal, represent, strip, wholeOf } from "./text.js";

const SERVER = 2,
  PRODUCER = 4,
  CONSUMER = 5;
const SPAN_KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const SENDING_SPANS = new Set(["send", "publish", "create"]);
const CONSUMING_SPANS = new Set(["process", "deliver", "receive"]);
// Where the spans of a resource stand; the second is how it was called before 2022.
const SCOPES = ["scopeSpans", "instrumentationLibrarySpans"];
const INSTANCE = ["service.instance.id", "k8s.pod.name", "host.name"];
const OPERATION = ["messaging.operation.type", "messaging.operation"];
const MESSAGE = ["messaging.message.id", "messaging.message_id"];
const DESTINATION = ["messaging.destination.name", "messaging.destination"];
const NO_SPAN =
  "there is no span in it; messages are seen in spans, which the collector's file exporter writes " +
  "in a pipeline of traces";
const SAME_START = assume(
  "ties",
  "spans of a process begin at the same time and none is within the other; the one that the log has " +
    "first counts as earlier",
  OTHERWISE,
  { unsure: true },
);
const APART = assume(
  "parents",
  "spans have a parent or a link that is not in the log",
  "if that is of another process, what depends on what through it is not seen",
);
const UNKNOWN = "unknown";
const AT_ONCE = assume(
  "ties",
  "spans consume several messages at once; these count as delivered in the order of the links",
  OTHERWISE,
  { unsure: true },
);
const UNNAMED = assume(
  "unnamed",
  "spans whose resource has neither service.name nor an instance count as those of one process",
  "if they are of several, what these did counts as ordered",
  { unsure: true },
);
const NO_START = assume(
  "ties",
  "spans that do not say when they began count as the first of their process",
  OTHERWISE,
  { unsure: true },
);
const BY_CLOCK = assume(
  "clock",
  "what a process did is ordered by the start times of its spans",
  "what its threads did independently counts as ordered",
  { doubt: false },
);

// The events that spans tell of, as {log, assumed, isAbsolute}.
export function readSpans(files, broadcast, problems) {
  const names = files.map((file) => file.name);
  const ids = new Ids();
  const spans = files.flatMap((file, index) => spansIn(names, index, file, ids, problems));
  if (!spans.length) {
    problems.refuse(sourceOf(names));
    throw new BadLog(sourceOf(names), [NO_SPAN]);
  }
  nameProcesses(spans);
  const known = new Spans(spans);
  const calls = known.countCalls(spans);
  for (const span of spans) span.depth = known.around(span).length;
  spans.sort(
    (one, other) =>
      one.start[0] - other.start[0] || one.start[1] - other.start[1] || one.depth - other.depth,
  );
  const log = new Log(names);
  const run = log.runs.code("spans");
  for (const span of spans)
    known.tell(span, broadcast, (kind, message = null, to = null) =>
      log.add(
        ...[span.file, span.line, run, log.processes.code(span.process), kind],
        message === null ? NONE : log.messages.code(message),
        to && to.map((name) => log.processes.code(name)),
        ...[null, span.seconds, APP, span.name],
      ),
    );
  const assumed = [BY_CLOCK];
  const unnamed = spans.filter((span) => span.service === UNKNOWN && !span.instance);
  for (const [what, found] of [
    [SAME_START, known.tied(spans)],
    [AT_ONCE, spans.filter((one) => known.delivers(one) > 1)],
    [UNNAMED, unnamed],
    [NO_START, spans.filter((one) => !one.start[0] && !one.start[1] && (one.sends || one.consumes))],
    [APART, known.apart(spans)],
  ])
    if (found.length) {
      const first = lineIn(names, found[0].file, found[0].line);
      const processes = what.unsure ? [...new Set(found.map((span) => span.process))] : [];
      assumed.push({ ...what, count: found.length, first, processes });
    }
  if (calls)
    assumed.push(
      assume(
        "calls",
        "services call each other, which is no message here",
        "what depends on what through a call is not seen",
        { count: calls },
      ),
    );
  return { log, assumed, isAbsolute: true, order: GIVEN };
}

// A service, or its instances where it has several.
function nameProcesses(spans) {
  const instances = new Map();
  for (const { service, instance } of spans) {
    if (!instances.has(service)) instances.set(service, new Set());
    instances.get(service).add(instance);
  }
  for (const span of spans) {
    const alone = instances.get(span.service).size === 1;
    span.process = alone ? span.service : `${span.service}/${span.instance}`;
  }
}

const isSameStart = (one, other) => one.start[0] === other.start[0] && one.start[1] === other.start[1];
const messageKey = ({ destination, message }) => `${destination}\n${message}`;

// What the spans say together.
class Spans {
  constructor(spans) {
    this.byId = new Map(spans.map((span) => [span.id, span]));
    this.byMessage = new Map();
    this.consumers = new Map();
    this.processed = new Set();
    // By the span that sends a batch, those that created its messages; it sends none of its own.
    this.batches = new Map();
    for (const span of spans) {
      const links = span.parent ? span.causes.slice(0, -1) : span.causes;
      const created = links.filter((one) => this.byId.get(one)?.sends);
      if (span.sends && created.length && !created.includes(span.id)) this.batches.set(span.id, created);
    }
    for (const span of spans) {
      if (span.sends && span.message && !this.batches.has(span.id)) this.byMessage.set(messageKey(span), span);
      if (span.consumes) {
        if (!this.consumers.has(span.destination)) this.consumers.set(span.destination, new Set());
        this.consumers.get(span.destination).add(span.process);
      }
    }
    for (const span of spans)
      if (span.consumes && span.operation !== "receive")
        for (const one of this.producers(span)) this.processed.add(`${span.process}\n${one}`);
  }

  // The producers of what a span consumes, by their ids; one that is unknown counts.
  producers(span) {
    let found = span.causes.filter((one) => this.byId.get(one)?.sends);
    if (!found.length) {
      const sent = this.byMessage.get(messageKey(span));
      if (sent) found = [sent.id];
    }
    if (!found.length) found = span.causes.filter((one) => !this.byId.has(one));
    if (!found.length) found = [`of ${span.id}`];
    return [...new Set(found.flatMap((one) => this.batches.get(one) ?? [one]))];
  }

  // A message as people know it: by its own id, else by what sent it.
  messageName(producer) {
    const sent = this.byId.get(producer);
    if (!sent) return `span ${producer}`;
    return sent.message ? strip(`${sent.destination} ${sent.message}`) : `${sent.name} ${sent.id}`;
  }

  tell(span, broadcast, put) {
    if (span.sends && !this.batches.has(span.id)) {
      const readers = [...(this.consumers.get(span.destination) ?? [])];
      const others = readers.filter((name) => name !== span.process);
      put(SEND, this.messageName(span.id), broadcast ? others : null);
    } else if (span.consumes)
      for (const producer of this.producers(span))
        put(this.isLater(span, producer) ? RECEIVE : DELIVER, this.messageName(producer));
    else put(LOCAL);
  }

  // How many messages a span delivers of which the log has the sends.
  delivers(span) {
    const producers = span.consumes ? this.producers(span) : [];
    return producers.filter((one) => this.byId.has(one) && !this.isLater(span, one)).length;
  }

  // Whether what a span receives is processed, and so delivered, by another.
  isLater(span, producer) {
    return span.operation === "receive" && this.processed.has(`${span.process}\n${producer}`);
  }

  // The spans that this one is within and that begin with it, at the same process.
  around(span) {
    const found = [];
    let outer = this.byId.get(span.parent);
    while (outer && outer !== span && outer.process === span.process && isSameStart(outer, span)) {
      if (found.includes(outer)) break;
      found.push(outer);
      outer = this.byId.get(outer.parent);
    }
    return found;
  }

  // Spans that could as well stand before the one that stands before them.
  tied(inOrder) {
    const last = new Map(),
      found = [];
    for (const span of inOrder) {
      if (!span.sends && !span.consumes) continue;
      const before = last.get(span.process);
      last.set(span.process, span);
      if (before && isSameStart(before, span) && !this.around(span).includes(before)) found.push(span);
    }
    return found;
  }

  // Spans that refer to one that is not there, which is told in no other way: neither as a call from
  // elsewhere nor as a message that nobody sends.
  apart(spans) {
    return spans.filter((span) => {
      const told = span.consumes ? this.producers(span) : span.kind === SERVER ? [span.parent] : [];
      return span.causes.some((one) => !this.byId.has(one) && !told.includes(one));
    });
  }

  // Spans that refer to one of another process, and that is no message. Who is called by somebody
  // unknown is called from elsewhere.
  countCalls(spans) {
    return spans.filter((span) => {
      const near = [span.process];
      if (span.consumes) for (const one of this.producers(span)) near.push(this.byId.get(one)?.process);
      else if (span.kind === SERVER && span.parent && !this.byId.has(span.parent)) return true;
      return span.causes.some((one) => this.byId.has(one) && !near.includes(this.byId.get(one).process));
    }).length;
  }
}

function spansIn(names, file, { name, text }, ids, problems) {
  const found = [];
  const take = (line, request) => {
    try {
      for (const span of ofRequest(file, line, ids, request)) found.push(span);
    } catch (error) {
      const detail = `this is no OTLP: ${error.message}`;
      problems.add("bad-rows", () => lineIn(names, file, line), detail, "otlp");
    }
  };
  const lines = new Lines(name, text);
  let request;
  const first = lines.next() ?? "";
  try {
    request = parseJson(first);
  } catch {
    try {
      request = parseJson(text);
    } catch (error) {
      throw new BadLog(name, [`this is no JSON: ${error.message}`]);
    }
    take(1, request);
    return found;
  }
  take(1, request);
  for (let content = lines.next(); content !== null; content = lines.next()) {
    if (!strip(content)) continue;
    const line = lines.number;
    try {
      request = parseJson(content);
    } catch (error) {
      const kind = lines.end.endsWith("\n") ? "bad-rows" : "truncated";
      problems.add(kind, () => lineIn(names, file, line), `this is no JSON: ${error.message}`);
      continue;
    }
    take(line, request);
  }
  return found;
}

function wrong(what) {
  return new TypeError(what);
}

// What Python would take a field out of, or go over.
function fieldsOf(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Literal)
    throw wrong("an object is expected");
  return value;
}

function listOf(value) {
  if (value === undefined || value === null) return []; // as in protocol buffers
  if (Array.isArray(value)) return value;
  if (value !== null && typeof value === "object" && !(value instanceof Literal)) return Object.keys(value);
  if (typeof value === "string") return [...value];
  throw wrong("a list is expected");
}

function needed(holder, name) {
  if (!Object.hasOwn(fieldsOf(holder), name)) throw wrong(`'${name}' is missing`);
  return holder[name];
}

// Names for spans, whose own ids tell them apart within a trace alone: the id itself for the trace in
// which it comes first, and so for a link without a trace.
class Ids {
  traces = new Map();

  name(trace, span) {
    const found = textOfValue(span);
    if (trace === undefined || trace === null) return found;
    const where = textOfValue(trace);
    if (!this.traces.has(found)) this.traces.set(found, where);
    return this.traces.get(found) === where ? found : `${found} of trace ${where}`;
  }
}

function* ofRequest(file, line, ids, request) {
  const isOther = OTLP_SIGNALS.slice(1).some((name) => Object.hasOwn(fieldsOf(request), name));
  const spans = isOther && !Object.hasOwn(request, "resourceSpans") ? [] : needed(request, "resourceSpans");
  for (const resourceSpans of listOf(spans)) {
    const resource = attributesOf(fieldsOf(resourceSpans).resource ?? {});
    const service = resource.has("service.name") ? textOfValue(resource.get("service.name")) : UNKNOWN;
    const instance = firstOf(resource, INSTANCE);
    for (const name of Object.keys(resourceSpans))
      if (name.toLowerCase().includes("spans") && !SCOPES.includes(name))
        throw wrong(`spans are in scopeSpans, not in ${name}`);
    for (const scope of SCOPES.flatMap((name) => listOf(resourceSpans[name])))
      for (const span of listOf(fieldsOf(scope).spans)) yield spanOf(file, line, ids, service, instance, span);
  }
}

function spanOf(file, line, ids, service, instance, found) {
  const attributes = attributesOf(found);
  const trace = Object.hasOwn(found, "traceId") ? found.traceId : "";
  const id = ids.name(trace, needed(found, "spanId"));
  const links = listOf(found.links).map((link) => ids.name(fieldsOf(link).traceId || null, needed(link, "spanId")));
  const parent = found.parentSpanId ? ids.name(trace, found.parentSpanId) : "";
  const start = nanoseconds(needed(found, "startTimeUnixNano"));
  const span = {
    file,
    line,
    id,
    service,
    instance,
    kind: spanKind(found.kind),
    name: Object.hasOwn(found, "name") ? textOfValue(found.name) : "",
    start,
    seconds: (start[0] * 1e9 + start[1]) / 1e9,
    causes: parent ? [...links, parent] : links,
    parent,
    operation: firstOf(attributes, OPERATION),
    destination: firstOf(attributes, DESTINATION),
    message: firstOf(attributes, MESSAGE),
  };
  span.sends = span.kind === PRODUCER || (SENDING_SPANS.has(span.operation) && Boolean(span.destination));
  span.consumes =
    !span.sends &&
    (span.kind === CONSUMER || (CONSUMING_SPANS.has(span.operation) && Boolean(span.destination)));
  return span;
}

function spanKind(kind) {
  if (kind === undefined || kind === null) return 0;
  const code = typeof kind === "string" ? null : wholeOf(kind);
  if (code !== null) return code;
  const named = SPAN_KINDS.findIndex((name) => kind === `SPAN_KIND_${name}`);
  if (named < 0) throw wrong(`there is no kind ${represent(kind)}`);
  return named;
}

// Seconds and nanoseconds, which one number could not hold.
function nanoseconds(value) {
  const whole = wholeOf(value);
  if (whole === null) throw wrong("startTimeUnixNano is no number");
  const exact = BigInt(whole);
  if (exact >= 2n ** 64n || exact <= -(2n ** 64n)) throw wrong("startTimeUnixNano has too many digits");
  return [Number(exact / 1_000_000_000n), Number(exact % 1_000_000_000n)];
}

function attributesOf(holder) {
  const found = new Map();
  for (const one of listOf(fieldsOf(holder).attributes)) {
    const value = one?.value === undefined ? {} : fieldsOf(one.value);
    found.set(textOfValue(needed(one, "key")), Object.values(value)[0] ?? null);
  }
  return found;
}

function firstOf(attributes, names) {
  const found = names.map((name) => attributes.get(name)).find(Boolean);
  return found === undefined ? "" : textOfValue(found);
}

function textOfValue(value) {
  return typeof value === "string" ? value : represent(value);
}
