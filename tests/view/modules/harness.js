// What the tests of the page's modules stand on. They run in the page's own scope.
const checks = [];

function check(name, body) {
  checks.push({ name, body });
}

function equal(found, expected, what = "value") {
  const [a, b] = [found, expected].map((value) =>
    JSON.stringify(value, (_, one) =>
      ArrayBuffer.isView(one)
        ? Array.from(one)
        : typeof one === "number" && !Number.isFinite(one)
          ? String(one)
          : one,
    ),
  );
  if (a !== b) throw new Error(`${what}: found ${a}, expected ${b}`);
}

function near(found, expected, what = "value") {
  if (!(Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected)))) {
    throw new Error(`${what}: found ${found}, expected ${expected}`);
  }
}

// A trace from lines such as `0 send p 1` (time, kind, process, message), in a linear extension.
// Messages are named by letters; waits are left out.
function traceOf(text) {
  const rows = text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const processes = [...new Set(rows.map((row) => row[2]))],
    messages = [];
  const columns = {
    what: [],
    process: [],
    age: [],
    time: [],
    wait_delivered: [],
    wait_arrived: [],
    missing_message: [],
    missing_process: [],
    stamp_entries: [],
    stamp_bytes: [],
  };
  for (const [time, kind, process, message] of rows) {
    columns.time.push(time === "?" ? NaN : Number(time));
    columns.what.push(KINDS.indexOf(kind));
    columns.process.push(processes.indexOf(process) + 1);
    if (kind === "send") {
      messages.push(message);
      columns.stamp_entries.push(1);
      columns.stamp_bytes.push(1 + messages.length);
    } else if (kind === "receive" || kind === "deliver") {
      columns.age.push(messages.length - messages.indexOf(message));
      if (kind === "deliver") {
        columns.wait_delivered.push(0);
        columns.wait_arrived.push(0);
      }
    }
  }
  const header = {
    title: "t",
    run: "r",
    processes,
    groupings: {},
    early: 0,
    excerpt: null,
    per_second: 0,
    origin: 0,
  };
  const typed = Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [
      name,
      name === "time" ? Float64Array.from(values) : Uint32Array.from(values),
    ]),
  );
  return new Trace({ header, columns: typed });
}

async function runChecks() {
  const failures = [];
  for (const { name, body } of checks) {
    try {
      await body();
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  return { count: checks.length, failures };
}
