// Very many nodes: a tile for each, in the rows of its lattice where there is one. Lost ones are
// crossed, and the region whose nodes lag most is outlined.
import {color, element, paper, sizeOf} from "./dom.js";
import {count} from "./format.js";
import {show} from "./node_card.js";
import {sidesOf} from "./places.js";
import {attention, css, rampColor} from "./ramp.js";
import {choose, focused, nodeName, state} from "./state.js";
import {take} from "./api.js";
import {say} from "./words.js";

const REGION = 4;  // the side of the square that is compared, in tiles

function canvasOf(place) {
  let canvas = place.querySelector("canvas");
  if (canvas) return canvas;
  canvas = element("canvas", {tabIndex: 0});
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", say("nodes as tiles"));
  const at = event => focused()?.tile?.(event.offsetX, event.offsetY) ?? null;
  canvas.addEventListener("pointermove", event => show(at(event)));
  canvas.addEventListener("pointerleave", () => show(null));
  canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) show(state.nodes.at(-1) ?? 0); });
  canvas.addEventListener("blur", () => show(null));
  canvas.addEventListener("click", event => { const node = at(event); if (node != null) { choose(node); take(); } });
  canvas.addEventListener("keydown", event => {
    const run = focused(), by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -run.columnsOfTiles, ArrowDown: run.columnsOfTiles}[event.key], from = state.hovered ?? state.nodes.at(-1) ?? 0;
    if (by && run.at[from + by]) show(from + by);
    else if (event.key === "Enter" || event.key === " ") { choose(from); take(); }
    else if (!by) return;
    event.preventDefault();
  });
  place.replaceChildren(canvas);
  return canvas;
}

export function drawTiles(run, place, nodes) {
  const canvas = canvasOf(place), lost = nodes.filter(node => node.lost).length, sides = sidesOf(run.graph.family, nodes.length);
  canvas.setAttribute("aria-label", `${say("{0} nodes", count(nodes.length))}, ${say("{0} lost", count(lost))}; ${say("arrow keys go to neighbours, Enter chooses")}`);
  const [width, height] = sizeOf(place), columns = columnsOf(sides, nodes.length, width - 56, height - 40), rows = Math.ceil(nodes.length / columns);
  const size = Math.min((width - 56) / columns, (height - 40) / rows), gap = size > 5 ? 1 : 0, left = (width - columns * size) / 2 + 8, top = (height - rows * size) / 2 - 6;
  const context = paper(canvas, width, height), corner = node => [left + (node % columns) * size, top + Math.floor(node / columns) * size];
  const needs = nodes.map(node => node.lost ? null : attention(run, state.measure, node[state.measure] ?? null));
  for (const node of nodes) {
    const [x, y] = corner(node.node), need = needs[node.node];
    context.fillStyle = need == null ? color("sunk") : css(rampColor(need));
    context.fillRect(x, y, size - gap, size - gap);
    if (node.lost) cross(context, x, y, size - gap);
  }
  outline(context, needs, columns, rows, left, top, size);
  context.strokeStyle = color("text");
  context.lineWidth = 2;
  for (const node of state.nodes) { const [x, y] = corner(node); context.strokeRect(x - 1, y - 1, size + 1, size + 1); }
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("faint");
  context.textAlign = "right";
  const every = Math.ceil(rows / 5);
  for (let row = 0; row < rows; row += every) context.fillText(sides ? row : nodeName(run, row * columns), left - 8, top + row * size + Math.max(size - 1, 9));
  context.textAlign = "center";
  const across = Math.ceil(columns / 5);
  if (sides) for (let column = 0; column < columns; column += across) context.fillText(column, left + (column + 0.5) * size, top + rows * size + 14);
  run.at = nodes.map(node => corner(node.node).map(value => value + size / 2));
  run.radius = size / 2;
  run.columnsOfTiles = columns;
  run.tile = (x, y) => { const column = Math.floor((x - left) / size), node = Math.floor((y - top) / size) * columns + column; return column >= 0 && column < columns && node >= 0 && node < nodes.length ? node : null; };
}

// The rows of a lattice; else so many that the tiles are as large as possible.
function columnsOf(sides, nodes, width, height) {
  if (sides && sides.at(-1) > 1 && nodes / sides.at(-1) > 1) return sides.at(-1);
  return Math.min(nodes, Math.max(1, Math.ceil(Math.sqrt(nodes * width / height))));
}

function cross(context, x, y, size) {
  context.strokeStyle = color("bad");
  context.lineWidth = 1.5;
  context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  context.beginPath();
  context.moveTo(x + size * 0.25, y + size * 0.25); context.lineTo(x + size * 0.75, y + size * 0.75);
  context.moveTo(x + size * 0.75, y + size * 0.25); context.lineTo(x + size * 0.25, y + size * 0.75);
  context.stroke();
}

// The square of tiles that needs the most attention, where it stands out: its mean lies more than
// three deviations of such means above the mean of all.
function outline(context, needs, columns, rows, left, top, size) {
  if (columns < 2 * REGION || rows < 2 * REGION) return;
  const means = [];
  for (let row = 0; row + REGION <= rows; ++row)
    for (let column = 0; column + REGION <= columns; ++column) {
      let sum = 0, there = 0;
      for (let i = 0; i < REGION * REGION; ++i) {
        const need = needs[(row + Math.floor(i / REGION)) * columns + column + i % REGION];
        if (need != null) { sum += need; ++there; }
      }
      if (there > REGION) means.push([sum / there, column, row]);
    }
  if (!means.length) return;
  const mean = means.reduce((sum, [value]) => sum + value, 0) / means.length, deviation = Math.sqrt(means.reduce((sum, [value]) => sum + (value - mean) ** 2, 0) / means.length);
  const [most, column, row] = means.reduce((best, one) => one[0] > best[0] ? one : best);
  if (!(most > mean + 3 * deviation)) return;
  const [x, y] = [left + column * size, top + row * size], words = say("lags most");
  context.strokeStyle = color("text");
  context.lineWidth = 2;
  context.strokeRect(x - 1, y - 1, REGION * size + 1, REGION * size + 1);
  context.font = "600 11px system-ui, sans-serif";
  const wide = context.measureText(words).width + 12, start = Math.max(x + REGION * size / 2 - wide / 2, 4), level = y > 22 ? y - 20 : y + REGION * size + 2;
  context.fillStyle = color("text");
  context.fillRect(start, level, wide, 17);
  context.fillStyle = color("panel");
  context.textAlign = "center";
  context.fillText(words, start + wide / 2, level + 12.5);
}
