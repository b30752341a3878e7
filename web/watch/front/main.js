// The live page: draws what the server reports (service.h). One state, one `draw`; events only
// announce new versions.
import {makeCharts, drawCharts, forgetCharts, shownRows} from "./charts.js";
import {drawGraph} from "./graph.js";
import {drawTimes} from "./times.js";

const get = id => document.getElementById(id);
const state = {runs: new Map(), chosen: new Set(), focus: null, across: "step", smooth: 0, messages: []};

const address = (path, run) => {
  const query = new URLSearchParams(location.search);
  if (run !== undefined) query.set("run", run);
  const text = query.toString();
  return path + (text ? "?" + text : "");
};
async function fetched(path, run) {
  const reply = await fetch(address(path, run));
  if (!reply.ok) throw new Error((await reply.json()).error);
  return reply.json();
}

function message(text) {
  if (state.messages[0] === text) return;
  state.messages.unshift(text);
  state.messages.length = Math.min(state.messages.length, 50);
  get("messages").replaceChildren(...state.messages.map(words => Object.assign(document.createElement("li"), {textContent: words})));
}

// [progress, nodes, ended, now] of every run: fetches what is newer, for the parts on display.
async function update(versions) {
  for (const [name, [progress, nodes, ended, now]] of Object.entries(versions)) {
    let run = state.runs.get(name);
    if (!run) {
      run = {name, about: null, progress: -1, nodesVersion: -1, nowVersion: -1, ended: null};
      state.runs.set(name, run);
      if (state.chosen.size < 4) state.chosen.add(name);
      state.focus ??= name;
      listRuns();
    }
    if (name !== state.focus && !state.chosen.has(name)) continue;
    run.about ??= await fetched("api/about", name);
    if (run.progress !== progress || run.ended !== ended) {
      run.series = await fetched("api/series", name);
      run.progress = progress;
      if (ended && run.ended !== ended) message(`${name} has ended${run.series.stopped ? ": " + run.series.stopped : ""}`);
      run.ended = ended;
    }
    if (name !== state.focus) continue;
    if (run.nowVersion !== now) {
      run.now = await fetched("api/now", name);
      run.nowVersion = now;
    }
    if (run.nodesVersion !== nodes) {
      const lost = new Set((run.nodes?.last ?? []).filter(node => node.lost).map(node => node.node));
      run.nodes = await fetched("api/nodes", name);
      run.nodesVersion = nodes;
      for (const node of run.nodes.last) {
        if (node.lost && !lost.has(node.node)) message(`${name}: node ${node.node} is lost, it made no step since the last measurement`);
        if (node.joined) message(`${name}: node ${node.node} has joined`);
      }
    }
  }
  draw();
}

function listRuns() {
  get("runs").replaceChildren(...[...state.runs.keys()].map(name => {
    const box = Object.assign(document.createElement("input"), {type: "checkbox", checked: state.chosen.has(name)});
    box.addEventListener("change", () => { box.checked ? state.chosen.add(name) : state.chosen.delete(name); take(latest); });
    const label = document.createElement("label");
    label.append(box, " " + name);
    return label;
  }));
  get("focus").replaceChildren(...[...state.runs.keys()].map(name => new Option(name, name, false, name === state.focus)));
}

function draw() {
  const runs = [...state.runs.values()].filter(run => state.chosen.has(run.name) && run.series);
  const focus = state.runs.get(state.focus);
  drawCharts(runs, focus, state);
  if (!focus?.series || !focus.about) return;
  drawGraph(get("graph"), get("graph-about"), focus);
  drawTimes(get("times"), focus);
  get("config").textContent = focus.about.config;
  get("config-of").textContent = focus.name;
  const {measurements, progress} = focus.series;
  const last = list => list[list.length - 1];
  const step = Math.max(last(measurements.step) ?? 0, last(progress.step) ?? 0);
  const speed = last(progress.images_per_second) ?? last(measurements.images_per_second);
  get("title").textContent = state.runs.size === 1 ? focus.name : `${state.runs.size} runs`;
  get("state").textContent = `${focus.name}: ${focus.about.strategy}, ${focus.about.model}; step ${step}` +
    (speed ? `, ${Math.round(speed)} images/s` : "") + (focus.ended ? ", ended" : ", under way");
}

get("across").addEventListener("change", event => { state.across = event.target.value; draw(); });
get("focus").addEventListener("change", event => { state.focus = event.target.value; take(latest); });
get("smooth").addEventListener("input", event => { state.smooth = Number(event.target.value); get("smooth-value").textContent = event.target.value; draw(); });
get("choices").addEventListener("submit", event => event.preventDefault());
get("csv").addEventListener("click", () => {
  const cell = value => /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");
  const text = shownRows().map(row => row.map(cell).join(",") + "\r\n").join("");
  const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(new Blob([text], {type: "text/csv"})), download: "veche.csv"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

makeCharts(get("charts"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { forgetCharts(); draw(); });
// One update at a time; of those that arrive meanwhile, only the last counts.
let busy = false, next = null, latest = {};
async function take(versions) {
  next = latest = versions;
  if (busy) return;
  busy = true;
  try {
    while (next) { const now = next; next = null; await update(now); }
  } catch (error) {
    get("state").textContent = "The update could not be read: " + error.message;
  } finally {
    busy = false;
  }
}
const events = new EventSource(address("api/events"));
events.addEventListener("message", event => take(JSON.parse(event.data)));
events.addEventListener("error", () => { get("state").textContent = "The program that serves this page does not answer; trying again…"; });
