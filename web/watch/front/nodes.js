// What is known of every node at the step that is shown.
import {state, shownStep, indexAt, isReplay, graphNodes, valueAt, viewOf} from "./state.js";

// [{node, there, lost, joined, accuracy, distance, loss, staleness, computing, waiting,
// communicating, bytes, speed}, ..]; `there`: it takes part now, or did.
export function nodesNow(run) {
  const count = graphNodes(run), steps = run.nodes?.step ?? [], step = shownStep(run);
  const row = indexAt(steps, step), now = isReplay(run) || isOlder(run) ? null : run.now;
  const lost = new Set(), joined = new Map();
  for (const mark of run.series.marks) {
    if (mark.step > step) break;
    if (mark.kind === "lost") { lost.add(mark.node); joined.delete(mark.node); }
    if (mark.kind === "back" || mark.kind === "joined") { lost.delete(mark.node); joined.set(mark.node, mark.step); }
  }
  const seated = new Set(viewOf(run).seats), measures = [...run.columns.keys()];
  return Array.from({length: count}, (_, node) => {
    // A ring around a newcomer is shown until the next measurement.
    const told = {node, lost: lost.has(node), joined: joined.has(node) && indexAt(steps, joined.get(node)) >= row - 1};
    for (const measure of measures) told[measure] = row >= 0 ? valueAt(run, measure, node, row) : null;
    const newer = now?.nodes[node];
    if (newer?.steps != null) {
      told.steps = newer.steps;
      told.bytes = newer.bytes ?? told.bytes;
      if (newer.staleness != null) told.staleness = newer.staleness;
    }
    told.there = told.lost || seated.has(node);
    return told;
  });
}

// The lost nodes at the step that is shown.
export function lostNow(run) {
  const lost = new Set();
  for (const mark of run.series.marks) {
    if (mark.step > shownStep(run)) break;
    if (mark.kind === "lost") lost.add(mark.node);
    if (mark.kind === "back" || mark.kind === "joined") lost.delete(mark.node);
  }
  return lost;
}

// Of a run that ended soon after its last report the measurements know more than the report.
const isOlder = run => run.series.ended && (run.now?.step ?? 0) < (run.nodes?.step.at(-1) ?? 0);

// Bytes per second from `from` to `to`, by "from,to": of the last half second while the run goes
// on, else the mean of the run. Where an engine counts no peers, a node's bytes are divided evenly
// over its edges.
export function traffic(run, edges) {
  const rates = new Map(), now = run.now?.nodes ?? [], before = run.before?.nodes ?? [];
  const seconds = row => (row.computing ?? 0) + (row.waiting ?? 0) + (row.communicating ?? 0);
  const near = new Map();
  for (const [i, j] of edges) { near.set(i, [...near.get(i) ?? [], j]); near.set(j, [...near.get(j) ?? [], i]); }
  let live = false;
  if (isOlder(run)) {
    // Each node's bytes, divided as in its report.
    const last = run.nodes.step.length - 1, time = run.series.measurements.seconds.at(-1);
    now.forEach((row, i) => {
      const sent = valueAt(run, "bytes", i, last), sum = row.to.reduce((all, [, bytes]) => all + bytes, 0);
      const to = sum > 0 ? row.to.map(([j, bytes]) => [j, bytes / sum]) : (near.get(i) ?? []).map(j => [j, 1 / near.get(i).length]);
      if (sent != null) for (const [j, part] of to) rates.set(i + "," + j, {bytes: sent * part, rate: time > 0 ? sent * part / time : null});
    });
    return {rates, live};
  }
  now.forEach((row, i) => {
    const was = before[i] && seconds(row) > seconds(before[i]) && row.bytes >= before[i].bytes ? before[i] : null;
    live ||= was !== null;
    const time = seconds(row) > 0 ? Math.max(seconds(row) - (was ? seconds(was) : 0), 1e-9) : null;
    const evenly = from => (near.get(i) ?? []).map(j => [j, (from.bytes ?? 0) / near.get(i).length]);
    const to = row.to.length ? row.to : evenly(row), earlier = new Map(was?.to.length ? was.to : was ? evenly(was) : []);
    for (const [j, sent] of to) rates.set(i + "," + j, {bytes: sent, rate: time == null ? null : (sent - (earlier.get(j) ?? 0)) / time});
  });
  return {rates, live};
}

// The edges of the configured graph among those who take part; of strategies without one, the pairs
// that have communicated.
export function edgesOf(run) {
  const {edges} = viewOf(run);
  if (edges.length > 0 || run.graph.family) return edges;
  const pairs = new Map();
  (run.now?.nodes ?? []).forEach((row, i) => row.to.forEach(([j]) => pairs.set(Math.min(i, j) + "," + Math.max(i, j), [Math.min(i, j), Math.max(i, j), null])));
  return [...pairs.values()];
}

// The node that computes for most of its time while the others wait for it.
export function slowest(nodes) {
  const known = nodes.filter(node => !node.lost && node.computing != null);
  if (known.length < 2) return null;
  const most = known.reduce((best, node) => node.computing > best.computing ? node : best);
  const mean = known.reduce((sum, node) => sum + node.computing, 0) / known.length;
  return most.computing > 1.3 * mean ? most.node : null;
}
