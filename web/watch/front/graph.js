// Who talks to whom: nodes in the places of their family, what goes over each edge, and who needs
// attention. Above 200 nodes a tile per node and no edges.
import {color, element, get, paper, svg} from "./dom.js";
import {bytes, rate, three} from "./format.js";
import {edgesOf, nodesNow, slowest, traffic} from "./nodes.js";
import {placesOf} from "./places.js";
import {attention, css, inkOn, rampColor, rampLegend, written} from "./ramp.js";
import {changed, focused, graphNodes, state} from "./state.js";
import {resultName, resultText} from "./measure.js";
import {say} from "./words.js";

const MOST_DRAWN = 200;

function placed(run, nodes, edges) {
  if (run.placed?.nodes !== nodes || run.placed.edges !== edges.length) run.placed = {nodes, edges: edges.length, ...placesOf(run.about.graph.edges.length ? run.about.topology : "", nodes, edges)};
  return run.placed;
}

export function drawGraph(run) {
  const place = get("graph"), nodes = nodesNow(run), edges = edgesOf(run), count = graphNodes(run);
  get("graph-about").textContent = run.about.graph.edges.length ? `${run.about.topology}, ${run.about.weights}` : say(run.about.graph.about.replace(/^[^:]*: (?=no graph)/, ""));
  if (count === 0) { delete place.dataset.key; place.replaceChildren(element("p", {className: "empty", textContent: say("No measurement yet.")})); return; }
  const slow = slowest(nodes), {rates, live} = traffic(run, edges);
  // Drawn anew only if it changed, so that what has the focus or the pointer stays.
  const key = JSON.stringify([run.name, nodes, [...rates], place.clientWidth, state.node, state.measure, state.at, run.columns.get(state.measure)?.version, document.documentElement.dataset.theme, document.documentElement.lang]);
  if (place.dataset.key !== key) {
    place.dataset.key = key;
    if (count > MOST_DRAWN) drawTiles(run, place, nodes); else drawEdges(run, place, nodes, edges, rates, slow);
  }
  drawCard(run, place, nodes, slow);
  const now = live && state.at == null;
  get("graph-legend").replaceChildren(...rampLegend(run), ...(count > MOST_DRAWN ? [element("span", {textContent: say("one tile per node")})] :
    [element("span", {textContent: say("Ring: time computing")}), element("span", {textContent: say(now ? "Line: bytes per second" : "Line: bytes, mean of the run")})]));
}

function drawEdges(run, place, nodes, edges, rates, slow) {
  const width = Math.max(place.clientWidth, 200), height = place.clientHeight || 408, count = nodes.length;
  const {places, bends, round} = placed(run, count, edges);
  const radius = Math.max(8, Math.min(24, Math.sqrt(width * height / count) * 0.16));
  const pad = radius + 30 + (edges.some(([i, j]) => bends(i, j)) ? 0.1 * height : 0), side = round ? Math.min(width, height) - 2 * pad : 0;
  const [wide, high] = round ? [Math.min(width - 2 * pad, side * 1.7), side] : [width - 2 * pad, height - 2 * pad];
  const at = places.map(([x, y]) => [(width - wide) / 2 + x * wide, (height - high) / 2 + y * high]);
  run.at = at;
  run.radius = radius;
  const drawing = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": say("Who talks to whom") + "; " + say("arrow keys go to neighbours, Enter chooses")});
  const of = (i, j) => rates.get(i + "," + j) ?? {bytes: 0, rate: 0};
  const both = edges.map(([i, j]) => (of(i, j).rate ?? of(i, j).bytes) + (of(j, i).rate ?? of(j, i).bytes));
  const most = Math.max(...both, 1e-9), labelled = edges.length <= 24 && state.at == null;
  const gone = new Set(nodes.filter(node => node.lost || !node.there).map(node => node.node));
  edges.forEach(([i, j, weight], k) => {
    const [[x, y], [u, v]] = [at[i], at[j]];
    const middle = bends(i, j) ? outward([(x + u) / 2, (y + v) / 2], [u - x, v - y], [width / 2, height / 2]) : [(x + u) / 2, (y + v) / 2];
    const label = `${i} – ${j}: ${weight == null ? "" : three(weight) + ", "}` + say("{0} there, {1} back", bytes(of(i, j).bytes), bytes(of(j, i).bytes));
    const line = svg("path", {class: "edge", "data-edge": `${i},${j}`, "data-there": of(i, j).bytes, "data-back": of(j, i).bytes, fill: "none",
      d: `M${x} ${y}Q${2 * middle[0] - (x + u) / 2} ${2 * middle[1] - (y + v) / 2} ${u} ${v}`, stroke: weight < 0 ? color("bad") : color("line2"), "stroke-width": (1 + 3.5 * both[k] / most).toFixed(2),
      "stroke-dasharray": weight < 0 ? "6 3" : null, opacity: gone.has(i) || gone.has(j) ? 0.35 : null}, drawing);
    svg("title", {}, line, label);
    if (labelled && !gone.has(i) && !gone.has(j) && (of(i, j).rate ?? 0) > 0)
      svg("text", {class: "edge-label", x: middle[0], y: middle[1] + (Math.abs(u - x) < 4 ? 3 : -5), "text-anchor": "middle", "aria-hidden": "true"}, drawing, rate(both[k]));
  });
  // Words lie apart: the name of a node's button is its description, not what is written on it.
  const words = svg("g", {"aria-hidden": "true", "pointer-events": "none"});
  for (const node of nodes) drawNode(run, drawing, words, node, at[node.node], radius, slow);
  drawing.append(words);
  const focus = place.querySelector(".node:focus")?.dataset.node;
  const card = place.querySelector(".pop");
  place.replaceChildren(drawing, ...(card ? [card] : []));
  if (focus != null) { quiet = true; drawing.querySelector(`.node[data-node="${focus}"]`)?.focus(); quiet = false; }
}

// The middle of a wrapped edge: a sixth of its length away from the centre of the drawing.
function outward([x, y], [dx, dy], [centreX, centreY]) {
  const side = (x - centreX) * dy - (y - centreY) * dx >= 0 ? 1 : -1;
  return [x + side * dy * 0.14, y - side * dx * 0.14];
}

let hovered = null, quiet = false;
function show(node) { if (quiet || hovered === node) return; hovered = node; changed(); }
export const choose = node => { state.node = state.node === node ? null : node; changed(); };

function drawNode(run, drawing, words, node, [x, y], radius, slow) {
  const need = attention(run, state.measure, node[state.measure] ?? null), fill = need == null || node.lost ? null : rampColor(need);
  const classes = ["node", node.lost && "lost", node.joined && "joined", state.node === node.node && "chosen"].filter(Boolean).join(" ");
  const group = svg("g", {class: classes, "data-node": node.node, tabindex: node.node === (state.node ?? 0) ? 0 : -1, role: "button", "aria-label": described(node)}, drawing);
  svg("circle", {class: "frame", cx: x, cy: y, r: radius + 7}, group);
  svg("circle", {cx: x, cy: y, r: radius, fill: fill ? css(fill) : color("panel"), stroke: node.lost ? color("bad") : color("line2"), "stroke-width": node.lost ? 2 : 1, "stroke-dasharray": node.lost ? "4 3" : null}, group);
  if (!node.lost && node.computing != null) {
    const around = 2 * Math.PI * (radius + 4);
    svg("circle", {cx: x, cy: y, r: radius + 4, fill: "none", stroke: color("line"), "stroke-width": 3}, group);
    svg("circle", {cx: x, cy: y, r: radius + 4, fill: "none", stroke: color("compute"), "stroke-width": 3, "stroke-dasharray": `${around * node.computing} ${around}`, transform: `rotate(-90 ${x} ${y})`}, group);
  }
  if (node.joined) svg("circle", {cx: x, cy: y, r: radius + 8, fill: "none", stroke: color("ok"), "stroke-width": 2}, group);
  const ink = fill ? inkOn(fill) : color("text"), figure = radius >= 16 && !node.lost && node[state.measure] != null;
  svg("text", {x, y: y + (figure ? -1 : 4), "text-anchor": "middle", fill: ink, "font-size": radius >= 16 ? 13 : 10, "font-weight": 650}, words, node.node);
  if (figure) svg("text", {x, y: y + 11, "text-anchor": "middle", fill: ink, "font-size": 10}, words, written(state.measure, node[state.measure]).replace(/\s*%$/, ""));
  if (node.lost) svg("path", {d: `M${x - radius * 0.7} ${y - radius * 0.7}l${radius * 1.4} ${radius * 1.4}m0 ${-radius * 1.4}l${-radius * 1.4} ${radius * 1.4}`, stroke: color("bad"), "stroke-width": 2, opacity: 0.6}, group);
  const badge = node.lost ? "lost" : node.joined ? "joined" : node.node === slow ? "slowest" : null;
  if (badge && radius >= 14) svg("text", {x, y: y + radius + 20, "text-anchor": "middle", "font-size": 11, "font-weight": 600, fill: color(badge === "lost" ? "bad" : badge === "joined" ? "ok" : "note")}, words, say(badge));
  group.addEventListener("pointerenter", () => show(node.node));
  group.addEventListener("pointerleave", () => show(null));
  group.addEventListener("focus", () => show(node.node));
  group.addEventListener("blur", () => show(null));
  group.addEventListener("click", () => choose(node.node));
  group.addEventListener("keydown", event => onKey(run, node.node, event));
}

// Arrow keys go to the node that lies nearest in that direction.
function onKey(run, from, event) {
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); return choose(from); }
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

const described = node => `${say("Node {0}", node.node)}${node.lost ? ", " + say("lost") : node.joined ? ", " + say("joined") : ""}: ${say("Distance")} ${three(node.distance)}, ${resultName(focused())} ${resultText(focused(), node.accuracy)}`;

function drawTiles(run, place, nodes) {
  let canvas = place.querySelector("canvas");
  if (!canvas) {
    canvas = element("canvas", {tabIndex: 0});
    canvas.setAttribute("role", "img");
    canvas.addEventListener("pointermove", event => show(run.tile?.(event.offsetX, event.offsetY) ?? null));
    canvas.addEventListener("pointerleave", () => show(null));
    canvas.addEventListener("click", event => { const node = run.tile?.(event.offsetX, event.offsetY); if (node != null) choose(node); });
    place.replaceChildren(canvas);
  }
  canvas.setAttribute("aria-label", `${say("{0} nodes", nodes.length)}, ${say("{0} lost", nodes.filter(node => node.lost).length)}`);
  const width = place.clientWidth, height = place.clientHeight || 408, side = Math.floor(Math.sqrt((width - 32) * (height - 16) / nodes.length) * 100) / 100;
  let columns = Math.max(1, Math.floor((width - 32) / side));
  while (Math.ceil(nodes.length / columns) * ((width - 32) / columns) > height - 16) ++columns;
  const size = (width - 32) / columns, context = paper(canvas, width, height);
  const corner = node => [16 + (node % columns) * size, 8 + Math.floor(node / columns) * size];
  for (const node of nodes) {
    const [x, y] = corner(node.node), need = attention(run, state.measure, node[state.measure] ?? null);
    context.fillStyle = need == null || node.lost ? color("sunk") : css(rampColor(need));
    context.fillRect(x, y, size - 1, size - 1);
    if (node.lost) { context.strokeStyle = color("bad"); context.beginPath(); context.moveTo(x, y); context.lineTo(x + size - 1, y + size - 1); context.moveTo(x + size - 1, y); context.lineTo(x, y + size - 1); context.stroke(); }
    if (state.node === node.node) { context.strokeStyle = color("text"); context.lineWidth = 2; context.strokeRect(x - 1, y - 1, size + 1, size + 1); context.lineWidth = 1; }
  }
  run.at = nodes.map(node => corner(node.node).map(value => value + size / 2));
  run.radius = size / 2;
  run.tile = (x, y) => { const node = Math.floor((y - 8) / size) * columns + Math.floor((x - 16) / size); return x >= 16 && x < 16 + columns * size && node >= 0 && node < nodes.length ? node : null; };
}

// The card of the node under the pointer or with the focus.
function drawCard(run, place, nodes, slow) {
  place.querySelector(".pop")?.remove();
  const node = nodes[hovered];
  if (!node || !run.at?.[hovered]) return;
  const list = [["Distance", three(node.distance)], [resultName(focused()), resultText(focused(), node.accuracy)], ["Loss", three(node.loss)], ["Staleness", three(node.staleness)], ["Steps", node.steps == null ? "–" : String(node.steps)], ["Sent", bytes(node.bytes)]];
  const stack = element("div", {className: "stack"});
  for (const [what, name] of [["computing", "compute"], ["waiting", "wait"], ["communicating", "communicate"]]) {
    const part = element("span");
    part.style.cssText = `width:${100 * (node[what] ?? 0)}%;background:var(--${name})`;
    stack.append(part);
  }
  const share = what => node[what] == null ? "–" : String(Math.round(100 * node[what]));
  const card = element("div", {className: "pop"},
    element("h3", {textContent: say("Node {0}", hovered)}, element("span", {textContent: node.lost ? say("lost") : node.joined ? say("joined") : hovered === slow ? say("slowest") : ""})), stack,
    element("p", {className: "muted", textContent: say("computes {0}, waits {1}, communicates {2} %", share("computing"), share("waiting"), share("communicating"))}),
    element("dl", {}, ...list.map(([name, value]) => element("div", {}, element("dt", {textContent: say(name)}), element("dd", {textContent: value})))));
  const [x, y] = run.at[hovered], above = y > place.clientHeight / 2;
  card.style.left = Math.min(Math.max(x - 122, 4), Math.max(place.clientWidth - 248, 4)) + "px";
  card.style[above ? "bottom" : "top"] = (above ? place.clientHeight - y : y) + run.radius + 12 + "px";
  place.append(card);
}
