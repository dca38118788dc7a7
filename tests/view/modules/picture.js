const RUN = `
  0 send p1 a
  1 send p2 b
  2 receive p2 a
  3 deliver p2 a
  4 receive p10 a
  5 deliver p10 a
  9 crash p10`;

function sceneOf(trace) {
  const axis = new Axis("time", [trace], { fold: false });
  const scene = new Scene(axis, new Lanes([trace]));
  scene.resize(900, 400, 100);
  const picture = new Picture(trace, axis.places[0], axis, [true, true, true]);
  picture.palette = readPalette(document.documentElement);
  return { scene, picture };
}

check("zooming keeps what is under the cursor", () => {
  const { scene } = sceneOf(traceOf(RUN));
  const place = scene.place(400);
  scene.zoom(0.3, 400);
  near(scene.place(400), place);
  scene.zoom(1e-30, 400);
  equal(scene.to > scene.from, true, "it never collapses");
  scene.zoom(1e30, 400);
  equal([scene.from, scene.to], Object.values(scene.whole()), "it never leaves the run");
});

check("screen and place are each other's converse", () => {
  const { scene } = sceneOf(traceOf(RUN));
  for (const x of [100, 333, 900]) near(scene.x(scene.place(x)), x);
  scene.lanes.rows.forEach((_, row) => equal(scene.rowAt(scene.y(row)), row));
});

check("sorting knows that 10 follows 2, hiding takes a row away", () => {
  const lanes = new Lanes([traceOf(RUN)]);
  lanes.sort = "by name";
  lanes.arrange();
  equal(
    lanes.rows.map(({ process }) => lanes.names[process]),
    ["p1", "p2", "p10"],
  );
  lanes.setHidden(1, true);
  equal([lanes.rows.length, lanes.rowOf[1]], [2, -1]);
  lanes.showAll();
  equal(lanes.rows.length, 3);
  lanes.showOnlyPartnersOf(1);
  equal(
    lanes.rows.map(({ process }) => lanes.names[process]),
    ["p1", "p2"],
  );
});

check("groups come from names, and fold", () => {
  const lanes = new Lanes([traceOf("0 send a/1 x\n0 send b/1 y\n0 send a/2 z")]);
  lanes.grouping = "name";
  lanes.arrange();
  equal(
    lanes.rows.map((row) => row.group ?? lanes.names[row.process]),
    ["a", "a/1", "a/2", "b", "b/1"],
  );
  lanes.toggleGroup("a");
  equal(lanes.rows.length, 3);
});

check("messages in flight are found wherever one looks", () => {
  const { picture } = sceneOf(traceOf(RUN));
  const seen = (from, to) => picture.flights.between(from, to, 100, [true, true, true]).all;
  equal(seen(2.5, 2.6), [0], "in the middle of a flight");
  equal(seen(0.9, 1.1), [0, 1]);
  equal(seen(6, 7), []);
  equal(
    picture.flights.between(0, 9, 1, [true, true, true]).stride > 1,
    true,
    "many are thinned out",
  );
});

check("the SVG is well-formed and draws the same marks", () => {
  const { scene, picture } = sceneOf(traceOf(RUN));
  const context = new SvgContext(scene.width, scene.height, scene.gutter);
  picture.selected = 0;
  picture.cone = new Cone(picture.trace, 0);
  drawPlot(context, scene, picture);
  const parsed = new DOMParser().parseFromString(context.text(), "image/svg+xml");
  equal(parsed.querySelector("parsererror")?.textContent ?? "", "");
  equal(parsed.querySelectorAll("path").length > 5, true);
  equal(
    [...parsed.querySelectorAll("text")].some((text) => text.textContent === "p10"),
    true,
  );
});

check("crowded lanes are drawn as density, on a canvas and as SVG", () => {
  const lines = [];
  for (let i = 0; i < 4000; i++) lines.push(`${i} send p m${i}`);
  const { scene, picture } = sceneOf(traceOf(lines.join("\n")));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [scene.width, scene.height];
  for (const context of [canvas.getContext("2d"), new SvgContext(900, 400, 100)])
    equal(drawPlot(context, scene, picture).dense, 1);
});

check("a search is words that must all fit", () => {
  const trace = traceOf(RUN);
  equal(findEvents(trace, "deliver"), [3, 5]);
  equal(findEvents(trace, "deliver p10"), [5]);
  equal(findEvents(trace, "p1:1"), [0, 2, 3, 4, 5]);
  equal(findEvents(trace, "crash"), [6]);
  equal(findEvents(trace, "p1"), [0], "p10 is another");
  equal(findEvents(trace, "p deliver"), [3, 5], "a part of a name");
  equal(findEvents(trace, "held"), [3, 5]);
  equal(findEvents(trace, "held>5"), []);
  equal(findEvents(trace, "bytes>1"), [1]);
  equal(findEvents(trace, "  "), []);
});

check("numbers are written as Python writes them", () => {
  const pairs = [
    [0, "0"],
    [1, "1"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [123456, "123456"],
    [1234567, "1.23457e+06"],
    [0.1 + 0.2, "0.3"],
    [100.5, "100.5"],
    [-2.5, "-2.5"],
    [999999.5, "1e+06"],
  ];
  for (const [value, text] of pairs) equal(sixDigits(value), text);
});

check("a table keeps its columns whatever names contain", () => {
  const trace = traceOf(RUN);
  trace.processes[0] = "a\tb\nc";
  const lines = tableText(trace, [0, 3]).replace(/\n$/, "").split("\n");
  equal(
    lines.map((line) => line.split("\t").length),
    [COLUMNS.length, COLUMNS.length, COLUMNS.length],
  );
});
