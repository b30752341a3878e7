// What the server tells (service.h): events announce versions, and what is on display is fetched.
import {state, changed, graphNodes} from "./state.js";

const SHARES = ["computing", "communicating", "waiting"];  // the timeline
const OF_A_NODE = ["distance", "accuracy", "loss", "staleness", "bytes", "speed"];  // its card and its curves
const FEW = 200;  // up to here every measure of every node is fetched at once

function address(path, words = {}) {
  const query = new URLSearchParams(location.search);  // the token stays
  for (const [key, value] of Object.entries(words)) query.set(key, value);
  const text = query.toString();
  return path + (text ? "?" + text : "");
}
async function fetched(path, words) {
  const reply = await fetch(address(path, words));
  if (!reply.ok) throw new Error((await reply.json()).error);
  return reply;
}
const json = async (path, run) => (await fetched(path, {run})).json();

async function column(run, what) {
  if (run.columns.get(what)?.version === run.nodes.version) return;
  const reply = await fetched("api/columns", {run: run.name, what});
  run.columns.set(what, {version: run.nodes.version, values: new Float32Array(await reply.arrayBuffer())});
}

// All at once, since every answer takes its time on a slow connection.
async function details(run, [progress, nodes, ended, now, graph], shown) {
  const parts = {
    about: run.about ? null : json("api/about", run.name),
    series: run.progress !== progress || run.ended !== ended ? json("api/series", run.name) : null,
    graph: shown && run.graphVersion !== graph ? json("api/graph", run.name) : null,
    now: shown && run.nowVersion !== now ? json("api/now", run.name) : null,
    nodes: shown && run.nodesVersion !== nodes ? json("api/nodes", run.name) : null,
  };
  const names = Object.keys(parts).filter(name => parts[name]), answers = await Promise.all(names.map(name => parts[name]));
  if (parts.now) run.before = run.now;
  names.forEach((name, i) => { run[name] = answers[i]; });
  Object.assign(run, {progress, ended});
  if (shown) Object.assign(run, {nodesVersion: nodes, nowVersion: now, graphVersion: graph});
}

async function columns(run) {
  if (!run.nodes.step.length) return;
  changed();  // what is there is drawn while the columns come
  const cards = graphNodes(run) <= FEW || state.nodes.length || state.hovered != null ? OF_A_NODE : [];
  await Promise.all([...new Set([state.measure, ...SHARES, ...cards])].map(what => column(run, what)));
}

// [progress, nodes, ended, now, graph] of every run.
async function update(versions) {
  for (const [name, told] of Object.entries(versions)) {
    let run = state.runs.get(name);
    if (!run) {
      run = {name, index: state.runs.size, about: null, graph: null, series: null, nodes: null, now: null, before: null, columns: new Map(), progress: -1, ended: null};
      state.runs.set(name, run);
      if (state.chosen.size < 6) state.chosen.add(name);
      state.focus ??= name;
    }
    const shown = name === state.focus;
    await details(run, told, shown);
    if (shown) await columns(run);
  }
  changed();
}

// One update at a time; of those that arrive meanwhile, only the last counts.
let busy = false, next = null, latest = {};
export async function take(versions = latest) {
  next = latest = versions;
  if (busy) return;
  busy = true;
  try {
    while (next) { const now = next; next = null; await update(now); }
    state.problem = null;
  } catch (error) {
    state.problem = error.message;
    changed();
  } finally {
    busy = false;
  }
}

export function listen() {
  const events = new EventSource(address("api/events"));
  state.heard = performance.now();
  events.addEventListener("message", event => { state.heard = performance.now(); state.silent = false; state.connected = true; take(JSON.parse(event.data)); });
  events.addEventListener("open", () => { state.silent = false; changed(); });
  events.addEventListener("error", () => { state.silent = true; changed(); });
  setInterval(() => { if (state.silent) changed(); }, 1000);
}
