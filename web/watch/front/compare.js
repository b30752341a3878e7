// Several runs beside each other: what reaching a goal has cost, and what they have in common.
import {element, get} from "./dom.js";
import {bytes, duration, fine} from "./format.js";
import {colorOf} from "./curves.js";
import {changed, last, state} from "./state.js";
import {take} from "./api.js";
import {isShare, isUp, resultName, resultText} from "./measure.js";
import {configurationOf, differing, settingsOf} from "./settings.js";
import {say} from "./words.js";

const MOST_OTHERS = 3;  // settings of a run in the table; the rest by the pointer

let sorted = {by: "accuracy", down: true};
// The larger, the better, for every measure.
const merit = (run, value) => value == null ? null : isUp(run) ? value : -value;
const best = run => Math.max(...run.series.measurements.accuracy.filter(value => value != null).map(value => merit(run, value)), -Infinity);

// The report's rule: what more than half of the configurations, and at least two, have reached with
// all their seeds; per cent in steps of five up to 95, or two digits of another measure.
function goal(runs) {
  const worst = new Map();
  for (const run of runs) worst.set(configurationOf(run), Math.min(worst.get(configurationOf(run)) ?? Infinity, best(run)));
  const all = [...worst.values()].filter(Number.isFinite).sort((a, b) => b - a), enough = Math.max(1, Math.floor(worst.size / 2));
  const reached = all[Math.min(enough, all.length - 1)] ?? 0;
  if (isShare(runs[0])) return Math.min(Math.floor(reached * 20 + 1e-9) / 20, 0.95) || null;
  if (reached === 0) return null;
  const ten = 10 ** (Math.floor(Math.log10(Math.abs(reached))) - 1);
  return Math.floor(reached / ten + 1e-9) * ten;
}

function cost(run, what, at) {
  const {accuracy, [what]: list} = run.series.measurements, i = at == null ? -1 : accuracy.findIndex(value => value != null && merit(run, value) >= at);
  return i < 0 ? null : list[i];
}

export function drawRuns(focus) {
  const runs = [...state.runs.values()].filter(run => run.series && run.about);
  get("runs-panel").hidden = runs.length < 2;
  if (runs.length < 2) return;
  const key = JSON.stringify([runs.map(run => [run.name, run.progress, run.ended]), state.focus, [...state.chosen], sorted, get("filter").value, document.documentElement.lang, document.documentElement.dataset.theme]);
  if (get("runs").dataset.key === key) return;
  get("runs").dataset.key = key;
  const others = differing(runs), at = goal(runs), height = resultText(focus, at == null ? null : merit(focus, at));
  get("runs-about").textContent = at == null ? "" : say("cost of reaching {0}; marked cells differ from the run shown", height);
  const columns = [
    ["run", say("Run"), run => run.name, run => run.name], ["state", say("State"), run => say(run.ended ? "ended" : "training"), run => run.ended],
    ...["strategy", "topology", "codec"].map(key => [key, say({strategy: "Strategy", topology: "Graph", codec: "Codec"}[key]), run => run.about[key] || "–", run => run.about[key]]),
    ...(others.length ? [["others", say("Other settings"), run => othersOf(run), run => others.map(key => settingsOf(run).get(key) ?? "").join()]] : []),
    ["accuracy", resultName(focus), run => resultText(run, last(run.series.measurements.accuracy)), best], ["cv", say("Disagreement"), run => fine(last(run.series.measurements.cv)), run => last(run.series.measurements.cv) ?? -1],
    ["bytes", say("Bytes to {0}", height), run => amount(run, "bytes", bytes), run => cost(run, "bytes", at) ?? Infinity], ["seconds", say("Seconds to {0}", height), run => amount(run, "seconds", duration), run => cost(run, "seconds", at) ?? Infinity],
  ];
  const wordy = others.length ? 6 : 5, most = {bytes: 0, seconds: 0}, least = {bytes: Infinity, seconds: Infinity};
  for (const run of runs) for (const what of ["bytes", "seconds"]) { const value = cost(run, what, at); if (value != null) { most[what] = Math.max(most[what], value); least[what] = Math.min(least[what], value); } }
  function amount(run, what, write) {
    const value = cost(run, what, at);
    if (value == null) return say("not reached");
    const bar = element("i", {className: "amount wide-only" + (value === least[what] ? " least" : "")});
    bar.style.width = 4 + 60 * value / Math.max(most[what], 1e-12) + "px";
    return element("span", {}, bar, write(value));
  }
  // Every setting in which any two runs differ; marked where this run differs from the one shown.
  function othersOf(run) {
    const all = others.map(key => ({key, value: settingsOf(run).get(key) ?? "–", differs: settingsOf(run).get(key) !== settingsOf(focus).get(key)})).sort((a, b) => b.differs - a.differs), shown = all.slice(0, MOST_OTHERS);
    const chips = shown.map(({key, value, differs}) => element("span", {className: differs ? "differs" : "muted", textContent: `${key.split(".").at(-1)} ${value.length > 18 ? value.slice(0, 17) + "…" : value}`, title: `${key} = ${value}`}));
    if (all.length > shown.length) chips.push(element("span", {className: "muted", textContent: say("{0} more", all.length - shown.length), title: all.slice(MOST_OTHERS).map(({key, value}) => `${key} = ${value}`).join("\n")}));
    return element("span", {className: "chips"}, ...chips);
  }
  const by = columns.find(([key]) => key === sorted.by), words = get("filter").value.toLowerCase();
  const rows = runs.filter(run => [run.name, run.about.strategy, run.about.topology, run.about.codec, run.about.model, ...others.map(key => settingsOf(run).get(key))].join(" ").toLowerCase().includes(words))
    .sort((a, b) => { const [x, y] = [by[3](a), by[3](b)]; return (x < y ? -1 : x > y ? 1 : 0) * (sorted.down ? -1 : 1); });
  const head = element("tr", {}, ...columns.map(([key, name], i) => {
    const button = element("button", {type: "button", textContent: name + (key === sorted.by ? sorted.down ? " ↓" : " ↑" : "")});
    button.addEventListener("click", () => { sorted = {by: key, down: key === sorted.by ? !sorted.down : true}; changed(); });
    const cell = element("th", {scope: "col", className: (i < wordy ? "word" : "") + (["topology", "codec", "cv", "state", "others"].includes(key) ? " side" : "")}, button);
    cell.setAttribute("aria-sort", key === sorted.by ? sorted.down ? "descending" : "ascending" : "none");
    return cell;
  }));
  const body = rows.map(run => element("tr", {className: run === focus ? "chosen" : ""}, ...columns.map(([key, , write], i) => {
    const cell = element("td", {className: (i < wordy ? "word" : "") + (["topology", "codec", "cv", "state", "others"].includes(key) ? " side" : "")});
    if (key === "run") return cell.append(switchOf(run)), cell;
    const value = write(run), differs = ["strategy", "topology", "codec"].includes(key) && run.about[key] !== focus.about[key];
    cell.append(differs ? element("span", {className: "differs", textContent: value}) : value);
    return cell;
  })));
  const focusAt = document.activeElement?.dataset?.run ?? null;
  get("runs").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  if (focusAt) [...get("runs").querySelectorAll("[data-run]")].find(one => one.dataset.run === focusAt)?.focus();
}

// Whether a run is among the curves; its name makes it the run shown.
function switchOf(run) {
  const box = element("input", {type: "checkbox", checked: state.chosen.has(run.name)}), name = element("button", {type: "button", className: "button", textContent: run.name});
  box.setAttribute("aria-label", run.name);
  box.dataset.run = run.name;
  box.addEventListener("change", () => { box.checked ? state.chosen.add(run.name) : state.chosen.delete(run.name); changed(); });
  name.addEventListener("click", () => show(run.name));
  const swatch = element("i", {className: "swatch"});
  swatch.style.background = colorOf(run);
  return element("span", {className: "controls"}, box, swatch, name);
}

export function show(name) {
  Object.assign(state, {focus: name, at: null, pointer: null, nodes: [], hovered: null});
  changed();
  take();
}
