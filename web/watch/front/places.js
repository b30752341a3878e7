// Where the nodes of a graph stand: by its family; forces only where no family is known. Returns
// places in a box of 1 x 1, and how wrapped edges bend.
import {forceSimulation, forceManyBody, forceLink, forceX, forceY, forceCollide} from "d3-force";

const circle = nodes => Array.from({length: nodes}, (_, i) => [0.5 + 0.5 * Math.sin(2 * Math.PI * i / nodes), 0.5 - 0.5 * Math.cos(2 * Math.PI * i / nodes)]);

// A few nodes on a circle leave a part of it empty: stretched to the whole box.
function filled(places) {
  const [xs, ys] = [0, 1].map(axis => places.map(place => place[axis])), stretch = (value, all) => { const low = Math.min(...all), high = Math.max(...all); return high > low + 1e-9 ? (value - low) / (high - low) : 0.5; };
  return places.map(([x, y]) => [stretch(x, xs), stretch(y, ys)]);
}

function lattice(rows, columns) {
  return Array.from({length: rows * columns}, (_, i) => [columns > 1 ? (i % columns) / (columns - 1) : 0.5, rows > 1 ? Math.floor(i / columns) / (rows - 1) : 0.5]);
}

const nearSquare = nodes => { let rows = Math.floor(Math.sqrt(nodes)); while (nodes % rows) --rows; return [rows, nodes / rows]; };

// Bits of a node's number: half of them across, half down, in Gray code, so that neighbours of one
// bit are near.
function hypercube(nodes) {
  const bits = Math.round(Math.log2(nodes)), across = Math.ceil(bits / 2);
  if (2 ** bits !== nodes) return null;
  const order = gray => { let value = 0; for (; gray; gray >>= 1) value ^= gray; return value; };
  const [columns, rows] = [2 ** across, 2 ** (bits - across)];
  return Array.from({length: nodes}, (_, i) => [(order(i % columns) + 0.5) / columns, (order(Math.floor(i / columns)) + 0.5) / rows]);
}

// By levels from the node that has the most others near.
function tree(nodes, edges) {
  const near = Array.from({length: nodes}, () => []);
  for (const [i, j] of edges) { near[i].push(j); near[j].push(i); }
  const level = Array(nodes).fill(-1), levels = [[0]];
  level[0] = 0;
  for (let depth = 0; levels[depth].length; ++depth) {
    levels.push([]);
    for (const i of levels[depth]) for (const j of near[i]) if (level[j] < 0) { level[j] = depth + 1; levels[depth + 1].push(j); }
  }
  levels.pop();
  const places = Array.from({length: nodes}, () => [0.5, 0.5]);
  levels.forEach((list, depth) => list.forEach((i, at) => { places[i] = [(at + 0.5) / list.length, levels.length > 1 ? depth / (levels.length - 1) : 0.5]; }));
  return places;
}

function forces(nodes, edges) {
  const points = circle(nodes).map(([x, y], id) => ({id, x: 300 * x, y: 300 * y}));
  forceSimulation(points).force("charge", forceManyBody().strength(-220)).force("link", forceLink(edges.map(([source, target]) => ({source, target}))).distance(50).strength(0.6))
    .force("x", forceX(150).strength(0.04)).force("y", forceY(150).strength(0.06)).force("apart", forceCollide(18)).stop().tick(300);
  return filled(points.map(({x, y}) => [x, y]));
}

// Layers of lattices, one behind the other: each further one a little to the right and up.
function layered([deep, rows, columns]) {
  const wide = columns - 1 + (deep - 1) / deep, high = rows - 1 + (deep - 1) / deep;
  return Array.from({length: deep * rows * columns}, (_, i) => {
    const layer = Math.floor(i / (rows * columns)), row = Math.floor(i / columns) % rows;
    return [(i % columns + layer / deep) / wide, (row + (deep - 1 - layer) / deep) / high];
  });
}

// The sides of a lattice of so many nodes: those in "torus:3x4", or the nearest to a square.
export function sidesOf(family, nodes) {
  const [kind, size] = family.split(":");
  if (kind !== "torus" && kind !== "grid") return null;
  const given = size?.match(/^\d+(x\d+)*$/)?.[0].split("x").map(Number);
  return given?.length > 1 && given.reduce((all, side) => all * side, 1) === nodes ? given : nearSquare(nodes);
}

// `family` as in the configuration: "torus:3x4", "ring", "star", ...
export function placesOf(family, nodes, edges) {
  const [kind] = family.split(":"), straight = () => false, sides = sidesOf(family, nodes);
  if (sides && sides.every(side => side > 1) && sides.length <= 3) {
    const at = node => { let rest = node; return sides.toReversed().map(side => { const one = rest % side; rest = (rest - one) / side; return one; }); };
    const wrapped = (i, j) => { const other = at(j); return at(i).some((one, axis) => Math.abs(one - other[axis]) > 1); };
    return {places: sides.length === 3 ? layered(sides) : lattice(...sides), bends: wrapped};
  }
  if (kind === "path") return {places: snake(...nodes > 12 ? nearSquare(nodes) : [1, nodes]), bends: straight};
  if (kind === "star") return {places: [[0.5, 0.5], ...circle(nodes - 1)].slice(0, nodes), bends: straight, round: true};
  if (kind === "tree") return {places: tree(nodes, edges), bends: straight};
  if (kind === "hypercube" && hypercube(nodes)) { const places = hypercube(nodes); return {places, bends: (i, j) => far(places[i], places[j], nodes)}; }
  if (edges.length === 0 || sides || ["ring", "complete", "chords", "circulant", "exponential", "hypercube"].includes(kind)) return {places: filled(circle(nodes)), bends: straight, round: true};
  return {places: forces(nodes, edges), bends: straight};
}

// In a hypercube, neighbours that are not next to each other in the drawing.
const far = ([x, y], [u, v], nodes) => Math.hypot(x - u, y - v) > 1.6 / Math.sqrt(nodes);
const snake = (rows, columns) => lattice(rows, columns).map(([x, y], i) => [Math.floor(i / columns) % 2 ? 1 - x : x, y]);
