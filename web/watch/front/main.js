// The live page: draws what the server reports (service.h). One state, one drawing of all parts.
import {listen} from "./api.js";
import {drawCards} from "./cards.js";
import {drawRuns} from "./compare.js";
import {drawCurves, forgetCurves} from "./curves.js";
import {forgetColors, get} from "./dom.js";
import {drawGraph} from "./graph.js";
import {drawHeader} from "./header.js";
import {drawMap} from "./heat_map.js";
import {drawEvents} from "./marks.js";
import {drawRunBar} from "./run_bar.js";
import {drawSample} from "./sample.js";
import {drawMultiples} from "./multiples.js";
import {changed, focused, hasNone, onChange, state} from "./state.js";
import {drawTimeline} from "./timeline.js";
import {drawWaited} from "./waited.js";
import {otherLanguage, sayPage, speak} from "./words.js";

const chosenRuns = run => [...state.runs.values()].filter(one => one.series && one.about && (state.chosen.has(one.name) || one === run));
const PARTS = [drawRunBar, drawCards, drawGraph, drawMap, drawTimeline, drawEvents, drawWaited, run => drawCurves(chosenRuns(run), run), drawRuns,
  run => drawMultiples(chosenRuns(run), run), drawSample, drawConfig];
// The first time a part is added per frame, so that the page answers and scrolls meanwhile.
let ready = 1;

function drawConfig(run) {
  if (get("config").textContent !== run.about.config) get("config").textContent = run.about.config;
}

onChange(() => {
  sayPage();
  const run = focused(), known = run?.series && run.about && run.graph && run.nodes && run.now;
  drawHeader(run);
  if (known) {
    for (const draw of PARTS.slice(0, ready)) draw(run);
    if (!performance.getEntriesByName("first-drawing").length) performance.mark("first-drawing");  // a test reads when
    if (ready < PARTS.length) { ++ready; changed(); return; }
  }
  document.body.classList.toggle("loading", !known && !state.problem && !hasNone());
});

const system = matchMedia("(prefers-color-scheme: dark)");
let theme = null;  // chosen on the page; null: as the system
function paint() {
  document.documentElement.dataset.theme = theme ?? (system.matches ? "dark" : "light");
  forgetColors();
  forgetCurves();
  changed();
}
system.addEventListener("change", () => { theme = null; paint(); });
get("theme").addEventListener("click", () => { theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; paint(); });
get("language").addEventListener("click", () => { speak(otherLanguage()); forgetCurves(); changed(); });
for (const kind of ["input", "change"]) get("filter").addEventListener(kind, changed);
addEventListener("resize", changed);
addEventListener("keydown", event => { if (event.key === "Escape" && (state.pointer != null || state.at != null)) { state.pointer = state.at = null; changed(); } });

sayPage();
paint();
listen();
