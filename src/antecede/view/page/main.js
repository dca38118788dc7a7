// Starts the page with the traces that stand in it.
import { unpack } from "./data.js";
import { showTraces } from "./start.js";

async function start() {
  const blocks = [...document.querySelectorAll("script.trace")];
  showTraces(await Promise.all(blocks.map((block) => unpack(block.textContent))));
}

start().catch((error) => {
  document.getElementById("status").textContent = `This page cannot be shown: ${error.message}`;
  throw error;
});
