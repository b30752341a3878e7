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
import {changed, focused, onChange, state} from "./state.js";
import {drawTimeline} from "./timeline.js";
import {drawWaited} from "./waited.js";
import {otherLanguage, sayPage, speak} from "./words.js";

onChange(() => {
  sayPage();
  const run = focused();
  drawHeader(run);
  const known = run?.series && run.about && run.graph && run.nodes && run.now;
  document.body.classList.toggle("loading", !known && !state.problem && !(state.connected && state.runs.size === 0));
  if (!known) return;
  drawRunBar(run);
  drawCards(run);
  drawGraph(run);
  drawMap(run);
  drawTimeline(run);
  drawEvents(run);
  drawWaited(run);
  const runs = [...state.runs.values()].filter(one => one.series && one.about && (state.chosen.has(one.name) || one === run));
  drawCurves(runs, run);
  drawRuns(run);
  drawMultiples(runs, run);
  drawSample(run);
  if (!performance.getEntriesByName("first-drawing").length) performance.mark("first-drawing");  // a test reads when
  if (get("config").textContent !== run.about.config) get("config").textContent = run.about.config;
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
