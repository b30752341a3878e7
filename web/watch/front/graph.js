// Who talks to whom: nodes in the places of their family, what goes over each edge, and who needs
// attention. Above 200 nodes a tile per node and no edges (tiles.js).
import {color, element, get, sizeOf, svg} from "./dom.js";
import {bytes, count as number, duration, rate, three} from "./format.js";
import {drawCard, show} from "./node_card.js";
import {edgesOf, nodesNow, slowest, traffic} from "./nodes.js";
import {placesOf} from "./places.js";
import {attention, css, inkOn, rampColor, rampLegend, written} from "./ramp.js";
import {choose, focused, graphNodes, isNamed, isReplay, nodeName, shownRow, shownStep, state, viewOf} from "./state.js";
import {drawTiles} from "./tiles.js";
import {resultName, resultText} from "./measure.js";
import {say} from "./words.js";
import {take} from "./api.js";

const MOST_DRAWN = 200;

// Nodes never move: the places are those of the view with the most nodes, and stay while no further
// node joins.
function placed(run, nodes) {
  const {family, views} = run.graph;
  if (run.placed?.nodes !== nodes || run.placed.family !== family) {
    const largest = views.reduce((best, view) => view.edges.length >= best.edges.length ? view : best);
    run.placed = {nodes, family, ...placesOf(family, nodes, family ? largest.edges : [])};
  }
  return run.placed;
}

// "ring:4, metropolis": the family with its size, whatever is drawn of it.
export function graphName(run) {
  const {family, weights, of_groups} = run.graph;
  if (!family) return say("no graph, everybody may talk to everybody");
  const sized = family.includes(":") || family.includes("@") ? family : `${family}:${viewOf(run).seats.length}`;
  return `${of_groups ? family : sized}, ${weights}` + (of_groups ? "; " + say("a graph of groups of nodes") : "");
}

export function drawGraph(run) {
  const place = get("graph"), count = graphNodes(run), tiles = count > MOST_DRAWN;
  const told = isNamed(run, 0) && viewOf(run).seats.length < count ? say("lost ones keep their place") : tiles ? say("one tile per node") : run.placed && viewOf(run).edges.some(([i, j]) => run.placed.bends(i, j)) ? say("arcs are the wrapped edges") : "";
  get("graph-about").textContent = graphName(run) + (told ? "; " + told : "");
  if (count === 0) { delete place.dataset.key; place.replaceChildren(element("p", {className: "empty", textContent: say("No measurement yet.")})); return; }
  // Drawn anew only if it changed, so that what has the focus or the pointer stays.
  const versions = [...run.columns.values()].map(({version}) => version);
  const key = [run.name, run.nodesVersion, run.nowVersion, run.graphVersion, run.progress, versions, shownStep(run), isReplay(run), sizeOf(place), state.nodes, state.measure, document.documentElement.dataset.theme, document.documentElement.lang].join("|");
  if (place.dataset.key !== key) {
    place.dataset.key = key;
    run.shownNodes = nodesNow(run);
    run.slow = slowest(run.shownNodes);
    if (tiles) drawTiles(run, place, run.shownNodes); else drawEdges(run, place, run.shownNodes);
    drawLegend(run, tiles);
  }
  drawCard(run, place, run.shownNodes, run.slow);
}

function drawLegend(run, tiles) {
  const edges = edgesOf(run), words = text => element("span", {textContent: text});
  const {rates, live} = traffic(run, edges);
  get("graph-legend").replaceChildren(...rampLegend(run), ...(tiles ? perEdge(run, rates).map(words) : [words(say("Ring: time computing")), words(say(live && !isReplay(run) ? "Line: bytes per second" : "Line: bytes, mean of the run"))]));
}

// What goes over one of very many edges: the median, or the mean where bytes are not kept by peer.
function perEdge(run, rates) {
  const both = new Map(), {edge_count: edges} = viewOf(run);
  for (const [pair, {rate: there}] of rates) { const key = pair.split(",").sort().join(); if (there > 0) both.set(key, (both.get(key) ?? 0) + there); }
  const all = [...both.values()].sort((a, b) => a - b), of = edges ? [say("{0} edges", number(edges))] : [];
  if (all.length) return [say("Edge: {0}, median", rate(all[all.length >> 1])), ...of];
  const {bytes: sent, seconds} = run.series.measurements, i = shownRow(run), time = seconds[i] - (seconds[i - 1] ?? 0);
  return edges && time > 0 ? [say("Edge: {0}, mean", rate((sent[i] - (sent[i - 1] ?? 0)) / time / edges)), ...of] : of;
}

function drawEdges(run, place, nodes) {
  const edges = edgesOf(run), {rates} = traffic(run, edges), {slow} = run;
  const [inside, tall] = sizeOf(place), width = Math.max(inside, 200), height = tall || 408, count = nodes.length;
  const {places, bends, round} = placed(run, count), named = isNamed(run, 0);
  const radius = Math.max(8, Math.min(26, Math.sqrt(width * height / count) * 0.16));
  const pad = Math.max(radius + 26, edges.some(([i, j]) => bends(i, j)) ? roomOf(radius) + 16 : 0), side = round ? Math.min(width, height) - 2 * pad : 0;
  const [wide, high] = round ? [Math.min(width - 2 * pad - (named ? 80 : 0), side * 1.5), side] : [width - 2 * pad, height - 2 * pad];
  const at = places.map(([x, y]) => [(width - wide) / 2 + x * wide, (height - high) / 2 + y * high]);
  run.at = at;
  run.radius = radius;
  const drawing = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": say("Who talks to whom") + "; " + say("arrow keys go to neighbours, Enter chooses")});
  const of = (i, j) => rates.get(i + "," + j) ?? {bytes: 0, rate: 0};
  const both = edges.map(([i, j]) => (of(i, j).rate ?? of(i, j).bytes) + (of(j, i).rate ?? of(j, i).bytes));
  const most = Math.max(...both, 1e-9), labelled = edges.length <= 24 && !isReplay(run), spots = [];
  const gone = new Set(nodes.filter(node => node.lost || !node.there).map(node => node.node));
  const labels = svg("g", {"aria-hidden": "true"});
  // Whether a label or a node is there already; else it is taken from now on.
  const taken = ([a, b]) => {
    const full = spots.some(([c, d]) => Math.abs(a - c) < 62 && Math.abs(b - d) < 12) || at.some(([c, d]) => Math.abs(a - c) < radius + 30 && Math.abs(b - d) < radius + 4);
    if (!full) spots.push([a, b]);
    return full;
  };
  edges.forEach(([i, j, weight, narrowest, latency], k) => {
    const [[x, y], [u, v]] = [at[i], at[j]];
    const middle = bends(i, j) ? outward([(x + u) / 2, (y + v) / 2], [u - x, v - y], [width / 2, height / 2], radius) : [(x + u) / 2, (y + v) / 2];
    const label = `${nodeName(run, i)} – ${nodeName(run, j)}: ${weight == null ? "" : three(weight) + ", "}` + say("{0} there, {1} back", bytes(of(i, j).bytes), bytes(of(j, i).bytes)) + (narrowest ? say(", link of {0} and {1}", rate(narrowest), duration(latency)) : "");
    const line = svg("path", {class: "edge", "data-edge": `${i},${j}`, "data-there": of(i, j).bytes, "data-back": of(j, i).bytes, fill: "none",
      d: `M${x} ${y}Q${2 * middle[0] - (x + u) / 2} ${2 * middle[1] - (y + v) / 2} ${u} ${v}`, stroke: weight < 0 ? color("bad") : color("line2"), "stroke-width": (1.5 + 3 * both[k] / most).toFixed(2),
      "stroke-dasharray": weight < 0 ? "6 3" : null, opacity: gone.has(i) || gone.has(j) ? 0.35 : null}, drawing);
    svg("title", {}, line, label);
    if (!labelled || gone.has(i) || gone.has(j) || !((of(i, j).rate ?? 0) > 0)) return;
    if (bends(i, j)) return labelArc(labels, middle, [u - x, v - y], rate(both[k]), width, taken);
    // Where the middles of two edges meet, the second label stands nearer to one end.
    let [a, b] = middle;
    if (taken([a, b])) [a, b] = [x + (u - x) * 0.28, y + (v - y) * 0.28];
    svg("text", {class: "edge-label", x: a, y: b + (Math.abs(u - x) < 4 ? 4 : -5), "text-anchor": "middle"}, labels, rate(both[k]));
  });
  drawing.append(labels);
  // Words lie apart: the name of a node's button is its description, not what is written on it.
  const words = svg("g", {"aria-hidden": "true", "pointer-events": "none"});
  for (const node of nodes) drawNode(run, drawing, words, node, at[node.node], radius, slow, named && [width / 2, height / 2, round]);
  drawing.append(words);
  if (named && round && count >= 3) {
    svg("text", {x: width / 2, y: height / 2, "text-anchor": "middle", "font-size": 20, "font-weight": 650, fill: color("text")}, words, say("{0} members", number(viewOf(run).seats.length)));
    svg("text", {x: width / 2, y: height / 2 + 20, "text-anchor": "middle", "font-size": 12, fill: color("muted")}, words, say("since step {0}", number(viewOf(run).step)));
  }
  const focus = place.querySelector(".node:focus")?.dataset.node;
  const card = place.querySelector(".pop");
  place.replaceChildren(drawing, ...(card ? [card] : []));
  if (focus != null) { quiet = true; drawing.querySelector(`.node[data-node="${focus}"]`)?.focus(); quiet = false; }
}

// The middle of a wrapped edge: away from the centre of the drawing, by a fifth of its length or as far
// as a node needs.
const roomOf = radius => 1.2 * radius + 16;
function outward([x, y], [dx, dy], [centreX, centreY], radius) {
  const bend = Math.min(0.2, roomOf(radius) / Math.max(Math.hypot(dx, dy), 1)), side = (x - centreX) * dy - (y - centreY) * dx >= 0 ? 1 : -1;
  return [x + side * dy * bend, y - side * dx * bend];
}

// Beside the arc where there is room, else not at all: the node's card has it.
function labelArc(labels, [a, b], [dx, dy], words, width, taken) {
  const upright = Math.abs(dx) < Math.abs(dy), left = Math.min(Math.max(a, 36), width - 36), top = upright ? b + 4 : b - 5;
  if (!taken([left, top])) svg("text", {class: "edge-label", x: left, y: top, "text-anchor": "middle"}, labels, words);
}

let quiet = false;
const told = node => { if (!quiet) show(node); };
const pick = node => { choose(node); take(); };

// `around`: of named nodes the middle of the drawing, away from which the name stands.
function drawNode(run, drawing, words, node, [x, y], radius, slow, around) {
  const need = attention(run, state.measure, node[state.measure] ?? null), fill = need == null || node.lost ? null : rampColor(need);
  const classes = ["node", node.lost && "lost", node.joined && "joined", state.nodes.includes(node.node) && "chosen"].filter(Boolean).join(" ");
  const group = svg("g", {class: classes, "data-node": node.node, tabindex: node.node === (state.nodes.at(-1) ?? 0) ? 0 : -1, role: "button", "aria-label": described(run, node), opacity: node.there ? null : 0.25}, drawing);
  svg("circle", {class: "frame", cx: x, cy: y, r: radius + 7}, group);
  svg("circle", {cx: x, cy: y, r: radius, fill: fill ? css(fill) : color("panel"), stroke: node.lost ? color("bad") : color("line2"), "stroke-width": node.lost ? 2 : 1, "stroke-dasharray": node.lost ? "4 3" : null}, group);
  if (!node.lost && node.computing != null) {
    const length = 2 * Math.PI * (radius + 4);
    svg("circle", {cx: x, cy: y, r: radius + 4, fill: "none", stroke: color("line"), "stroke-width": 3}, group);
    svg("circle", {cx: x, cy: y, r: radius + 4, fill: "none", stroke: color("compute"), "stroke-width": 3, "stroke-dasharray": `${length * node.computing} ${length}`, transform: `rotate(-90 ${x} ${y})`}, group);
  }
  if (node.joined) svg("circle", {cx: x, cy: y, r: radius + 8, fill: "none", stroke: color("ok"), "stroke-width": 2}, group);
  const ink = fill ? inkOn(fill) : color("text"), figure = radius >= 16 && !node.lost && node[state.measure] != null;
  if (!node.lost) svg("text", {x, y: y + (figure ? -1 : 4), "text-anchor": "middle", fill: ink, "font-size": radius >= 16 ? 13 : 10, "font-weight": 650}, words, node.node);
  if (figure) svg("text", {x, y: y + 11, "text-anchor": "middle", fill: ink, "font-size": 10}, words, written(state.measure, node[state.measure]).replace(/\s*%$/, ""));
  const half = radius * 0.45;
  if (node.lost) svg("path", {d: `M${x - half} ${y - half}l${2 * half} ${2 * half}m0 ${-2 * half}l${-2 * half} ${2 * half}`, stroke: color("bad"), "stroke-width": 2.5}, group);
  const badge = !node.there ? null : node.lost ? "lost" : node.joined ? "joined" : node.node === slow ? "slowest" : null, badgeInk = color(badge === "lost" ? "bad" : badge === "joined" ? "ok" : "note");
  if (around) {
    const [middle, level, round] = around, side = !round || Math.abs(x - middle) < radius ? 0 : Math.sign(x - middle), name = nodeName(run, node.node), short = name.length > 14 ? name.slice(0, 13) + "…" : name;
    const [left, top, anchor] = side ? [x + side * (radius + 12), y, side > 0 ? "start" : "end"] : [x, !round || y > level ? y + radius + 20 : y - radius - (badge ? 26 : 12), "middle"];
    svg("text", {x: left, y: top, "text-anchor": anchor, "font-size": 12, "font-weight": 650, fill: color(node.lost ? "bad" : "text")}, words, short);
    if (badge) svg("text", {x: left, y: top + 14, "text-anchor": anchor, "font-size": 11, "font-weight": 600, fill: badgeInk}, words, say(badge));
  } else if (badge && radius >= 14) svg("text", {x, y: y + radius + 20, "text-anchor": "middle", "font-size": 11, "font-weight": 600, fill: badgeInk}, words, say(badge));
  group.addEventListener("pointerenter", () => told(node.node));
  group.addEventListener("pointerleave", () => told(null));
  group.addEventListener("focus", () => told(node.node));
  group.addEventListener("blur", () => told(null));
  group.addEventListener("click", () => pick(node.node));
  group.addEventListener("keydown", event => onKey(run, node.node, event));
}

// Arrow keys go to the node that lies nearest in that direction.
function onKey(run, from, event) {
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); return pick(from); }
  const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
  if (!way) return;
  event.preventDefault();
  let best = null, least = Infinity;
  run.at.forEach(([x, y], node) => {
    const [dx, dy] = [x - run.at[from][0], y - run.at[from][1]], along = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
    if (node !== from && along > 0 && along + 2 * aside < least) { least = along + 2 * aside; best = node; }
  });
  if (best != null) get("graph").querySelector(`.node[data-node="${best}"]`).focus();
}

const described = (run, node) => `${isNamed(run, node.node) ? nodeName(run, node.node) : say("Node {0}", node.node)}${node.lost ? ", " + say("lost") : node.joined ? ", " + say("joined") : ""}: ${say("Distance")} ${three(node.distance)}, ${resultName(focused())} ${resultText(focused(), node.accuracy)}`;
