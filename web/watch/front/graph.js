// A force-directed layout, computed once per graph: only colours and widths change afterwards.
import {forceSimulation, forceManyBody, forceLink, forceCenter, forceCollide} from "d3-force";
import {edgesOf, rowsOf, trafficOf} from "./rows.js";

const WIDTH = 640, HEIGHT = 420, SVG = "http://www.w3.org/2000/svg";
const MOST_DRAWN = 500;
const megabytes = bytes => (bytes / 1e6).toFixed(2) + " MB";

function element(kind, attributes, parent) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent?.append(made);
  return made;
}

function places(edges, count) {
  const nodes = Array.from({length: count}, (_, id) => ({id, x: WIDTH / 2 + 150 * Math.cos(2 * Math.PI * id / count), y: HEIGHT / 2 + 150 * Math.sin(2 * Math.PI * id / count)}));
  const links = edges.map(([source, target]) => ({source, target}));
  forceSimulation(nodes).force("charge", forceManyBody().strength(-220)).force("link", forceLink(links).distance(50).strength(0.6))
    .force("centre", forceCenter(WIDTH / 2, HEIGHT / 2)).force("apart", forceCollide(16)).stop().tick(300);
  const [left, right, top, bottom] = [Math.min(...nodes.map(n => n.x)), Math.max(...nodes.map(n => n.x)), Math.min(...nodes.map(n => n.y)), Math.max(...nodes.map(n => n.y))];
  const scale = Math.min((WIDTH - 60) / Math.max(right - left, 1), (HEIGHT - 60) / Math.max(bottom - top, 1), 2);
  return nodes.map(n => [WIDTH / 2 + (n.x - (left + right) / 2) * scale, HEIGHT / 2 + (n.y - (top + bottom) / 2) * scale]);
}

export function drawGraph(parent, about, run) {
  const {graph} = run.about, rows = rowsOf(run), edges = edgesOf(run, rows);
  const count = Math.max(graph.nodes, rows.length);
  about.textContent = graph.about;
  if (count === 0 || count > MOST_DRAWN) return parent.replaceChildren();
  if (run.places?.length !== count || run.placedEdges !== edges.length) {
    run.places = places(edges, count);
    run.placedEdges = edges.length;
  }
  const sent = trafficOf(rows, edges);
  const there = edges.map(([from, to]) => sent.get(from + "," + to) ?? 0), back = edges.map(([from, to]) => sent.get(to + "," + from) ?? 0);
  const traffic = there.map((bytes, i) => bytes + back[i]);
  const most = Math.max(...traffic, 1), farthest = Math.max(...rows.map(row => row.distance ?? 0), 1e-30);
  const svg = element("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img"});
  const lost = rows.filter(row => row.lost).map(row => row.node);
  element("title", {}, svg).textContent = `${count} nodes, ${edges.length} edges` + (lost.length ? `; lost: ${lost.join(", ")}` : "");
  edges.forEach(([from, to, weight], i) => {
    const [a, b] = [run.places[from], run.places[to]];
    const line = element("line", {"data-edge": `${from},${to}`, "data-there": there[i], "data-back": back[i], x1: a[0], y1: a[1], x2: b[0], y2: b[1], stroke: weight < 0 ? "#d55e00" : "#888", "stroke-width": 0.8 + 5 * traffic[i] / most}, svg);
    if (weight < 0) line.setAttribute("stroke-dasharray", "6 3");
    element("title", {}, line).textContent = `${from} – ${to}: ${weight == null ? "" : `weight ${Number(weight.toPrecision(4))}, `}${megabytes(there[i])} there, ${megabytes(back[i])} back`;
  });
  for (let node = 0; node < count; ++node) {
    const [x, y] = run.places[node], row = rows[node] ?? {};
    const far = (row.distance ?? 0) / farthest;
    const group = element("g", {class: row.lost ? "node lost" : row.joined ? "node joined" : "node", "data-node": node}, svg);
    element("title", {}, group).textContent = `node ${node}: ${row.lost ? "lost, " : ""}${row.joined ? "joined, " : ""}` +
      `distance ${row.distance ?? "unknown"}, steps ${row.steps ?? "unknown"}` + (row.accuracy != null ? `, accuracy ${(100 * row.accuracy).toFixed(2)} %` : "");
    element("circle", {cx: x, cy: y, r: 13, fill: row.lost ? "#fff" : `hsl(205 80% ${92 - 42 * far}%)`, stroke: row.lost ? "#b00020" : "#333", "stroke-width": row.lost ? 3 : 1.5, ...(row.lost ? {"stroke-dasharray": "4 3"} : {})}, group);
    if (row.joined) element("circle", {cx: x, cy: y, r: 17, fill: "none", stroke: "#00795a", "stroke-width": 2}, group);
    if (row.lost) element("path", {d: `M${x - 9} ${y - 9}L${x + 9} ${y + 9}M${x + 9} ${y - 9}L${x - 9} ${y + 9}`, stroke: "#b00020", "stroke-width": 2}, group);
    element("text", {x, y: y + 4}, group).textContent = node;
  }
  parent.replaceChildren(svg);
}
