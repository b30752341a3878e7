// What is known of the runs and what was chosen on the page. One state; whoever changes it calls
// `changed`, and everything is drawn once before the next frame.
export const state = {
  runs: new Map(),  // by name: {about, series, nodes, now, before, columns, ended}
  focus: null,      // the run shown
  chosen: new Set(),  // runs among the curves
  hidden: new Set(),
  at: null,         // the step of a replay; null: now
  pointer: null,    // the step under the pointer, on any part of the page
  node: null,       // the node that was chosen
  measure: "distance",
  across: "step", log: false, smooth: 0,
};

export const focused = () => state.runs.get(state.focus);

let draw = () => {}, waiting = false;
export const onChange = made => { draw = made; };
export function changed() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
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

export const graphNodes = run => Math.max(run.about.graph.nodes, run.nodes?.count ?? 0, run.now?.nodes.length ?? 0);

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
  if (!column.ends) {
    let low = Infinity, high = -Infinity;
    for (const value of column.values) if (value === value) { if (value < low) low = value; if (value > high) high = value; }
    column.ends = high >= low ? [measure === "accuracy" ? low : Math.min(low, 0), high] : null;
  }
  return column.ends;
}
