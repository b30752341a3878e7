// What is known of every node at the step that is shown.
import {state, shownStep, indexAt, lastStep, graphNodes, valueAt, columnOf} from "./state.js";

// [{node, there, lost, joined, accuracy, distance, loss, staleness, computing, waiting,
// communicating, bytes}, ..]
export function nodesNow(run) {
  const count = graphNodes(run), steps = run.nodes?.step ?? [];
  const row = indexAt(steps, shownStep(run)), replay = state.at != null && state.at < lastStep(run);
  const lost = new Set(), joined = new Set();
  for (const mark of run.series.marks) {
    if (mark.step > shownStep(run)) break;
    if (mark.kind === "lost") { lost.add(mark.node); joined.delete(mark.node); }
    if (mark.kind === "back" || mark.kind === "joined") { lost.delete(mark.node); joined.add(mark.node); }
  }
  return Array.from({length: count}, (_, node) => {
    const told = {node, lost: lost.has(node), joined: joined.has(node) && row >= 0 && recently(run, node, row)};
    for (const measure of run.columns.keys()) told[measure] = row >= 0 ? valueAt(run, measure, node, row) : null;
    if (!replay && run.now?.nodes[node]) {
      const now = run.now.nodes[node];
      told.steps = now.steps;
      told.bytes = now.bytes ?? told.bytes;
      if (now.staleness != null) told.staleness = now.staleness;
    }
    told.there = row < 0 || !columnOf(run, "bytes") || told.bytes != null;
    return told;
  });
}

// A ring around a newcomer is shown until the next measurement.
function recently(run, node, row) {
  const mark = run.series.marks.findLast(one => (one.kind === "joined" || one.kind === "back") && one.node === node);
  return mark && indexAt(run.nodes.step, mark.step) >= row - 1;
}

// Bytes per second from `from` to `to`, by "from,to": of the last half second while the run goes
// on, else the mean of the run. Where an engine counts no peers, a node's bytes are divided evenly
// over its edges.
export function traffic(run, edges) {
  const rates = new Map(), now = run.now?.nodes ?? [], before = run.before?.nodes ?? [];
  const seconds = row => (row.computing ?? 0) + (row.waiting ?? 0) + (row.communicating ?? 0);
  const near = new Map();
  for (const [i, j] of edges) { near.set(i, [...near.get(i) ?? [], j]); near.set(j, [...near.get(j) ?? [], i]); }
  let live = false;
  now.forEach((row, i) => {
    const was = before[i] && seconds(row) > seconds(before[i]) && row.bytes >= before[i].bytes ? before[i] : null;
    live ||= was !== null;
    const time = Math.max(seconds(row) - (was ? seconds(was) : 0), 1e-9);
    const known = was && seconds(row) > 0 || seconds(row) > 0 ? time : null;
    const to = row.to.length ? row.to : (near.get(i) ?? []).map(j => [j, (row.bytes ?? 0) / near.get(i).length]);
    const earlier = new Map(was?.to.length ? was.to : was ? (near.get(i) ?? []).map(j => [j, (was.bytes ?? 0) / near.get(i).length]) : []);
    for (const [j, sent] of to) rates.set(i + "," + j, {bytes: sent, rate: known == null ? null : (sent - (earlier.get(j) ?? 0)) / known});
  });
  return {rates, live};
}

// The edges of the configured graph; of strategies without one, the pairs that have communicated.
export function edgesOf(run) {
  if (run.about.graph.edges.length > 0) return run.about.graph.edges;
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
