const SPARSE = `
  0 send p a
  1 deliver q a
  100 send p b
  101 deliver q b
  ? crash p`;

check("empty stretches are folded, and places lead back to times", () => {
  const axis = new Axis("time", [traceOf(SPARSE)]);
  equal(axis.folds.length, 1, "folds");
  equal(axis.max - axis.min < 5, true, "the whole is short");
  for (const time of [0, 0.5, 1, 30, 99, 100, 100.7, 101])
    near(axis.value(axis.place(time)), time, `time ${time}`);
  const open = new Axis("time", [traceOf(SPARSE)], { fold: false });
  near(open.max, 101, "end without folding");
});

check("ticks are round, in order and not inside a fold", () => {
  const axis = new Axis("time", [traceOf(SPARSE)]);
  const ticks = axis.ticks(axis.min, axis.max, 6);
  equal(
    ticks.every((tick, at) => at === 0 || tick.place > ticks[at - 1].place),
    true,
    "order",
  );
  const [fold] = axis.foldedPlaces();
  equal(
    ticks.some(({ place }) => place > fold.from + 1e-9 && place < fold.to - 1e-9),
    false,
    "inside",
  );
  equal(ticks.length > 1 && ticks.length < 20, true, `count ${ticks.length}`);
});

check("an unknown time stands where the one before stands", () => {
  const axis = new Axis("time", [traceOf(SPARSE)]);
  equal(axis.places[0][4], axis.places[0][3]);
});

check("a clock that runs backwards does not turn events around", () => {
  const axis = new Axis("time", [traceOf("5 send p a\n3 send p b\n6 deliver q a")]);
  equal(axis.places[0], [5, 5, 6]);
});

check("positions count what is shown, depths the longest way", () => {
  const trace = traceOf("0 send p a\n0 send q b\n1 deliver q a\n1 deliver p b");
  equal(new Axis("position", [trace]).places[0], [0, 1, 2, 3]);
  equal(new Axis("position", [trace], { isShown: (_, i) => i !== 1 }).places[0], [0, 0, 1, 2]);
  equal(new Axis("depth", [trace]).places[0], [1, 1, 2, 2]);
});

check("two traces share one axis", () => {
  const axis = new Axis("time", [
    traceOf("0 send p a\n1 deliver q a"),
    traceOf("0 send p a\n90 deliver q a"),
  ]);
  near(axis.value(axis.max), 90, "end");
  equal(axis.places[0][0], axis.places[1][0], "start");
});

check("an axis without events has a length", () => {
  const axis = new Axis("position", [traceOf("0 view p")]);
  equal(axis.max > axis.min, true);
});
