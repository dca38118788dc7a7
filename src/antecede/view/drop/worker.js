// Reads and judges, away from the page. It is told {files, wishes}, and later {draw: run}.
import { auditFiles } from "./audit.js";
import { pictureOf } from "./picture.js";
import { Asked, BadLog } from "./problems.js";

let audited = null,
  title = "";

self.onmessage = async ({ data }) => {
  try {
    if (data.files) await auditGiven(data);
    else sendPicture(data.draw);
  } catch (error) {
    self.postMessage({ error: explained(error) });
  }
};

async function auditGiven({ files, wishes }) {
  const given = [];
  for (const file of files) given.push({ name: file.name, bytes: await bytesOf(file) });
  title = given.length === 1 ? given[0].name : `${given.length} files`;
  audited = await auditFiles(given, wishes);
  const { verdict, lines, judged } = audited;
  const runs = judged.map(({ run, counts }) => ({ name: run.name, early: counts.violations }));
  const witnesses = verdict.witnesses.map(({ run, row, sentence, isSure }) => ({ run, row, sentence, isSure }));
  self.postMessage({ verdict: { ...verdict, witnesses }, lines, runs });
  const first = witnesses.length ? runs.findIndex(({ name }) => name === witnesses[0].run) : 0;
  sendPicture(first);
}

async function bytesOf(file) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new BadLog(file.name, ["cannot be read; of a folder, drop the files"]);
  }
}

// Names and texts cross as one text each: a thousand times fewer things to copy.
function sendPicture(index) {
  const { judged, assumed, isAbsolute } = audited;
  const picture = pictureOf(judged[index], title, assumed, isAbsolute);
  if (picture === null) {
    self.postMessage({ picture: null, index });
    return;
  }
  const { header, columns, texts, names, placeOf } = picture;
  const places = Object.keys(texts).map(Number);
  const said = {
    places: Int32Array.from(places),
    texts: places.map((place) => texts[place].replaceAll("\0", " ")).join("\0"),
    names: names.join("\n"),
  };
  const buffers = Object.values(columns).map(({ buffer }) => buffer);
  self.postMessage({ picture: { header, columns, said, placeOf }, index }, buffers);
}

function explained(error) {
  if (error instanceof BadLog) return { file: error.file, mistakes: error.mistakes };
  if (error instanceof Asked) return { asked: error.message };
  return { mistakes: [`this page cannot judge it: ${error.message}; antecede audit may`] };
}
