const RELAY = `
  0 send p a
  1 receive q a
  2 send q b
  3 deliver q a
  4 send q c
  5 receive r c
  6 deliver r c
  7 receive r a
  8 deliver r a
  9 deliver r b`;

check("a reception alone brings no past", () => {
  const trace = traceOf(RELAY);
  equal(pastOf(trace, 2), [0, 1, 0], "past of the send of b");
  equal(pastOf(trace, 4), [1, 3, 0], "past of the send of c");
});

check("a reception depends on its own send", () => {
  equal(pastOf(traceOf(RELAY), 1), [1, 0, 0]);
});

check("future is the converse of past", () => {
  const trace = traceOf(RELAY);
  for (let i = 0; i < trace.size; i++) {
    const cone = new Cone(trace, i);
    for (let j = 0; j < trace.size; j++) {
      if (i === j) continue;
      equal(cone.isFuture(j), new Cone(trace, j).isPast(i), `${i} before ${j}`);
    }
    const { past, future, concurrent } = cone.counts();
    equal(past + future + concurrent, trace.size - 1, "events in all three");
  }
});

check("lists agree with counts", () => {
  const cone = new Cone(traceOf(RELAY), 4);
  for (const which of ["past", "future", "concurrent"])
    equal(cone.list(which).length, cone.counts()[which], which);
});

check("a layer that is not shown carries nothing", () => {
  const trace = traceOf(RELAY);
  trace.layer[3] = 1;
  equal(pastOf(trace, 4, [true, false, true]), [0, 3, 0]);
});

check("predecessors are found in the order of sends", () => {
  const trace = traceOf(RELAY);
  equal(
    predecessorsAt(trace, 2, 2).map((copy) => copy.message),
    [0, 1],
  );
  equal(predecessorsAt(trace, 1, 2), []);
});

check("the shortest path goes from message to message", () => {
  const trace = traceOf(RELAY);
  equal(shortestPath(trace, 0, 2), [0, 2]);
  equal(shortestPath(trace, 0, 1), []);
});
