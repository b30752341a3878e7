// The last measurement of every node, with later data (api/now); `to` lists the bytes sent to each
// peer.
export function rowsOf(run) {
  const last = run.nodes?.last ?? [], now = run.now?.nodes ?? [];
  const measured = run.nodes?.step.at(-1) ?? -1;
  const newer = run.now && run.now.step >= measured;
  return Array.from({length: Math.max(last.length, now.length)}, (_, node) =>
    ({node, lost: false, joined: false, ...last[node], ...(newer ? now[node] : {}), to: now[node]?.to ?? []}));
}

// Bytes from one node to another, by "from,to". If a node's bytes are not known by peer (engines
// that exchange without messages send the same to every neighbour), they are divided evenly over
// its edges.
export function trafficOf(rows, edges) {
  const sent = new Map(), neighbours = rows.map(() => []);
  for (const [from, to] of edges) { neighbours[from]?.push(to); neighbours[to]?.push(from); }
  rows.forEach((row, node) => {
    const told = row.to.length > 0 ? row.to : neighbours[node].map(peer => [peer, (row.bytes ?? 0) / neighbours[node].length]);
    for (const [peer, bytes] of told) sent.set(node + "," + peer, bytes);
  });
  return sent;
}

// The graph of the run; for strategies without one, the pairs that exchanged data.
export function edgesOf(run, rows) {
  if (run.about.graph.edges.length > 0) return run.about.graph.edges;
  const pairs = new Map();
  rows.forEach((row, node) => row.to.forEach(([peer]) => pairs.set(Math.min(node, peer) + "," + Math.max(node, peer), [Math.min(node, peer), Math.max(node, peer), null])));
  return [...pairs.values()];
}
