// What is known of the runs and what was chosen on the page. One state; whoever changes it calls
// `changed`, and everything is drawn once before the next frame.
export const state = {
  runs: new Map(),  // by name: {about, graph, series, nodes, now, before, columns, ended}
  focus: null,      // the run shown
  chosen: new Set(),  // runs among the curves
  at: null,         // the step of a replay; null: now
  pointer: null,    // the step under the pointer, on any part of the page
  nodes: [],        // the nodes that were chosen, the newest last
  hovered: null,    // the node whose card is shown
  measure: "distance",
  across: "step", log: false, smooth: 0,
};

// The server was heard, and knows of no run.
export const hasNone = () => state.connected && state.runs.size === 0;
export const focused = () => state.runs.get(state.focus);

let draw = () => {}, waiting = false;
export const onChange = made => { draw = made; };
export function changed() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

// As many as have colours of their own among the curves.
const MOST_CHOSEN = 4;
export function choose(node) {
  state.nodes = state.nodes.includes(node) ? state.nodes.filter(one => one !== node) : [...state.nodes, node].slice(-MOST_CHOSEN);
  changed();
}

export const last = list => list?.length ? list[list.length - 1] : null;

// The last index whose step is not later; -1 if all are.
export function indexAt(steps, step) {
  let from = 0, to = steps.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (steps[middle] <= step) from = middle + 1; else to = middle;
  }
  return from - 1;
}

// The last step that is known of a run, and the step that is shown of it.
export function lastStep(run) {
  const {measurements, progress} = run.series;
  return Math.max(last(measurements.step) ?? 0, last(progress.step) ?? 0, run.now?.step ?? 0);
}
export const isReplay = run => state.at != null && state.at < lastStep(run);
export const shownStep = run => state.at ?? lastStep(run);

// The row of a column of measurements that is shown: -1 before the first.
export const shownRow = run => indexAt(run.series.measurements.step, shownStep(run));
export const shownValue = (run, name) => run.series.measurements[name][shownRow(run)] ?? null;

// Between measurements progress is newer.
export function newest(run, name) {
  const step = shownStep(run), {measurements, progress} = run.series;
  const i = indexAt(progress.step, step), j = indexAt(measurements.step, step);
  if (i >= 0 && (j < 0 || progress.step[i] > measurements.step[j]) && progress[name]?.[i] != null) return progress[name][i];
  return measurements[name]?.[j] ?? null;
}

// Steps the run will make, as far as its configuration tells.
export function allSteps(run) {
  const {epochs, steps} = run.about, {measurements} = run.series;
  if (run.ended) return lastStep(run);
  if (steps) return steps;
  const epoch = last(measurements.epoch);
  return epochs && epoch > 0 ? Math.max(Math.round(last(measurements.step) / epoch * epochs), lastStep(run)) : null;
}

// The nodes that took part at the step that is shown, and their edges.
export function viewOf(run) {
  const {views} = run.graph, step = shownStep(run);
  return views.findLast(view => view.step <= step) ?? views[0];
}
// Places of all nodes that ever took part.
export function graphNodes(run) {
  if (run.places?.version !== run.graphVersion || run.places.of !== run.nodes?.count) {
    const seats = run.graph.views.flatMap(view => view.seats);
    run.places = {version: run.graphVersion, of: run.nodes?.count, count: seats.reduce((most, seat) => Math.max(most, seat + 1), run.nodes?.count ?? 0)};
  }
  return run.places.count;
}
// What a node is called: its member on a grid, else its number.
export const nodeName = (run, node) => run.graph.names[node] ?? String(node);
export const isNamed = (run, node) => run.graph.names[node] != null;

// A measure of all nodes, [node * rows + row]; null until it was fetched.
export const columnOf = (run, measure) => run.columns.get(measure)?.values ?? null;
export function valueAt(run, measure, node, row) {
  const values = columnOf(run, measure), rows = run.nodes?.step.length ?? 0;
  const value = values?.[node * rows + row];
  return value === undefined || Number.isNaN(value) ? null : value;
}

// Low and high of a measure over the whole run, so that a replay never rescales.
export function endsOf(run, measure) {
  const column = run.columns.get(measure);
  if (!column) return null;
  if (column.ends === undefined) {
    let low = Infinity, high = -Infinity;
    for (const value of column.values) if (value === value) { if (value < low) low = value; if (value > high) high = value; }
    column.ends = high >= low ? [measure === "accuracy" ? low : Math.min(low, 0), high] : null;
  }
  return column.ends;
}
