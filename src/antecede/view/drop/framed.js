// The viewer in its frame: the page around it gives it the trace.
import { showTraces } from "../page/start.js";

window.showTraces = showTraces;
