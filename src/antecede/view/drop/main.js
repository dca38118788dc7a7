// The page: takes files, asks the worker, tells the verdict and shows the picture.
import { advisedFlags, parseFlags } from "./flags.js";

const find = (id) => document.getElementById(id);
const SHOWN_WITNESSES = 20;
const ANSWERS = {
  kept: "Causal order was kept.",
  broken: "Causal order was broken.",
  "cannot tell": "Whether causal order was kept cannot be told.",
};
const BROADCAST_HINT = "If every message is for all the others, --broadcast says so.";

const judgeAddress = URL.createObjectURL(
  new Blob([JSON.parse(find("judge").textContent)], { type: "text/javascript" }),
);
const viewerPage = JSON.parse(find("viewer").textContent);

let worker = null,
  frame = null,
  files = [],
  current = null,
  isBusy = false;

function make(tag, fields = {}, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// A worker that is not busy; one that is, is let go.
function freshWorker() {
  if (worker && !isBusy) return;
  worker?.terminate();
  worker = new Worker(judgeAddress);
  worker.onmessage = ({ data }) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    worker = null;
    isBusy = false;
    hear({ error: { mistakes: ["this is too much for a browser; antecede audit reads it"] } });
  };
}

// The viewer is loaded before it is needed, and each picture gets a new one.
function freshFrame() {
  frame?.remove();
  frame = make("iframe", { title: "Space-time diagram", srcdoc: viewerPage });
  frame.isLoaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  find("picture").append(frame);
}

function audit(given) {
  if (given.length) files = given;
  if (!files.length) return;
  let wishes;
  try {
    wishes = parseFlags(find("flags").value);
  } catch (error) {
    hear({ error: { asked: error.message } });
    return;
  }
  performance.clearMarks();
  performance.mark("antecede-drop");
  freshWorker();
  isBusy = true;
  current = null;
  document.body.dataset.state = "busy";
  const names = files.map(({ name }) => name).join(" ");
  find("name").textContent = names;
  find("told").replaceChildren(make("p", { className: "busy", textContent: `Reading ${names} …` }));
  worker.postMessage({ files, wishes });
}

function hear(data) {
  if (data.error) {
    isBusy = false;
    tellError(data.error);
  } else if (data.verdict) tellVerdict(data);
  else showPicture(data);
}

function tellError({ file, mistakes, asked }) {
  document.body.dataset.state = "error";
  const parts = asked
    ? [make("pre", { textContent: asked })]
    : [
        make("p", { textContent: `${file ?? "The log"} cannot be read:` }),
        make("ul", {}, ...mistakes.map((one) => make("li", { textContent: one }))),
      ];
  const advised = advisedFlags(asked ?? mistakes.join("\n"));
  find("told").replaceChildren(
    make("h2", { className: "error", textContent: asked ? "One question" : "No verdict" }),
    ...parts,
    ...advised.map(flagButton),
  );
}

function flagButton(flag) {
  const button = make("button", { type: "button", textContent: `go on with ${flag}` });
  button.onclick = () => {
    find("flags").value = `${find("flags").value} ${flag}`.trim();
    audit([]);
  };
  return button;
}

function tellVerdict({ verdict, lines, runs }) {
  current = { runs, verdict };
  document.body.dataset.state = "told";
  document.body.dataset.answer = verdict.answer;
  const notes = verdict.assumed.filter(
    (one) => verdict.answer === "broken" || !one.doubt,
  );
  const asksBroadcast = verdict.answer !== "broken" && verdict.doubts.includes("addresses");
  find("told").replaceChildren(
    make("h2", { className: verdict.answer.replace(" ", "-"), textContent: ANSWERS[verdict.answer] }),
    make("p", { className: "counts", textContent: countsText(verdict) }),
    verdict.answer === "cannot tell" ? list("reasons", verdict.reasons) : null ?? "",
    asksBroadcast ? make("p", {}, BROADCAST_HINT, " ", flagButton("--broadcast")) : "",
    verdict.witnesses.length ? witnessList(verdict) : "",
    notes.length ? make("details", {}, make("summary", { textContent: "Assumed from the log" }), list("", notes.map((one) => one.sentence))) : "",
    make(
      "details",
      {},
      make("summary", { textContent: "How the log was understood" }),
      make("pre", { textContent: lines.join("\n") }),
    ),
    runs.length > 1 ? runChoice(runs) : "",
    make("p", { id: "drawing", textContent: "Drawing …" }),
  );
}

function list(className, sentences) {
  return make("ul", { className }, ...sentences.map((textContent) => make("li", { textContent })));
}

function countsText({ runs, messages, deliveries, violations, undelivered, undelivered_at_crashed }) {
  const counted = (count, one, more) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
  const told = [
    counted(runs, "run", "runs"),
    counted(messages, "message", "messages"),
    counted(deliveries, "delivery", "deliveries"),
    `${violations.toLocaleString("en")} early`,
    `${undelivered.toLocaleString("en")} undelivered`,
  ];
  const crashed = undelivered_at_crashed.toLocaleString("en");
  return told.join(", ") + (undelivered_at_crashed ? ` (${crashed} at processes that crashed)` : "");
}

function witnessList({ answer, witnesses, violations, runs }) {
  const shown = answer === "broken" ? witnesses.filter((one) => one.isSure) : witnesses;
  const told = shown.slice(0, SHOWN_WITNESSES).map((witness) => {
    const link = make("button", {
      type: "button",
      className: "witness",
      textContent: (runs > 1 ? `${witness.run}: ` : "") + witness.sentence,
    });
    link.onclick = () => showWitness(witness);
    return make("li", {}, link);
  });
  const more = violations - told.length,
    perhaps = witnesses.every((one) => one.isSure) ? "" : "perhaps ";
  if (more > 0)
    told.push(make("li", { textContent: `and ${perhaps}${more.toLocaleString("en")} more, in the picture` }));
  return make("ol", { className: "witnesses" }, ...told);
}

function runChoice(runs) {
  const select = make(
    "select",
    { id: "run" },
    ...runs.map(({ name, early }, value) =>
      make("option", { value, textContent: early ? `${name} (${early.toLocaleString("en")} early)` : name }),
    ),
  );
  select.onchange = () => worker.postMessage({ draw: Number(select.value) });
  return make("label", {}, "Run ", select);
}

async function showPicture({ picture, index }) {
  isBusy = false;
  if (find("run")) find("run").value = index;
  if (picture === null) {
    find("drawing").textContent =
      "The run has more events than the viewer holds; antecede audit draws what happened around the first early delivery.";
    return;
  }
  if (frame.isUsed) freshFrame();
  frame.isUsed = true;
  await frame.isLoaded;
  const { header, columns, said, placeOf } = picture;
  header.names = said.names.split("\n");
  header.texts = {};
  if (said.places.length)
    said.texts.split("\0").forEach((text, at) => (header.texts[said.places[at]] = text));
  current.placeOf = placeOf;
  current.drawn = current.runs[index].name;
  document.body.dataset.state = "shown";
  find("drawing")?.remove();
  frame.contentWindow.showTraces([{ header, columns }]);
  performance.mark("antecede-picture");
  document.body.dataset.pictures = Number(document.body.dataset.pictures ?? 0) + 1;
  if (current.wanted) showWitness(current.wanted);
}

function showWitness(witness) {
  if (witness.run !== current.drawn) {
    current.wanted = witness;
    worker.postMessage({ draw: current.runs.findIndex(({ name }) => name === witness.run) });
    return;
  }
  current.wanted = null;
  frame.contentWindow.antecede?.select(0, current.placeOf[witness.row]);
}

function listenForFiles() {
  find("files").onchange = () => audit([...find("files").files]);
  find("again").onclick = () => audit([]);
  find("flags").onkeydown = (event) => event.key === "Enter" && audit([]);
  find("example").onclick = () =>
    audit([new File([find("orders").textContent.trimStart()], "orders.csv")]);
  for (const name of ["dragenter", "dragover"])
    document.addEventListener(name, (event) => {
      event.preventDefault();
      document.body.classList.add("over");
    });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    audit([...event.dataTransfer.files]);
  });
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (text && event.target !== find("flags")) audit([new File([text], "pasted")]);
  });
}

listenForFiles();
freshWorker();
freshFrame();
document.body.dataset.ready = "yes";
