// Nodes over time: a row per node, coloured by the chosen measure; with more nodes than rows, the
// mean of several. The picture is made once per version of the data; pointer and replay lie over it.
import {choice, color, element, get, isDark} from "./dom.js";
import {choose} from "./graph.js";
import {axes, BOTTOM, follow, groupsOf, mean, movePointer, overTime, TOP} from "./over_time.js";
import {attention, NAMES, rampColor, rampLegend} from "./ramp.js";
import {take} from "./api.js";
import {changed, columnOf, graphNodes, state, valueAt} from "./state.js";
import {say} from "./words.js";

const MOST_ROWS = 300, HEIGHT = 390;
const CHOICES = [["distance", "Distance"], ["accuracy", "Accuracy"], ["loss", "Loss"], ["waiting", "Waiting"], ["staleness", "Staleness"]];

function canvasOf(place, run) {
  let canvas = place.querySelector("canvas");
  if (!canvas) {
    canvas = element("canvas", {tabIndex: 0});
    canvas.setAttribute("role", "img");
    follow(canvas);
    canvas.addEventListener("click", event => { const node = canvas.nodeAt?.(event.offsetY); if (node != null) choose(node); });
    canvas.addEventListener("keydown", event => {
      const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], node = {ArrowUp: -1, ArrowDown: 1}[event.key];
      if (by) movePointer(canvas.run, by);
      if (node) { state.node = Math.min(Math.max((state.node ?? -node) + node, 0), graphNodes(canvas.run) - 1); changed(); }
      if (event.key === "Escape") { state.pointer = state.node = null; changed(); }
      if (by || node) event.preventDefault();
    });
    place.replaceChildren(canvas);
  }
  canvas.run = run;
  canvas.setAttribute("aria-label", `${say("Nodes over time")}: ${say(NAMES[state.measure])}`);
  return canvas;
}

// The picture without axes, one pixel row per group and one column per measurement.
function picture(run, groups) {
  const key = [run.nodes.version, state.measure, groups.length, isDark()].join();
  if (run.picture?.key === key) return run.picture.canvas;
  const rows = run.nodes.step.length, canvas = element("canvas", {width: rows, height: groups.length}), context = canvas.getContext("2d");
  const image = context.createImageData(rows, groups.length);
  groups.forEach(([from, to], y) => {
    for (let i = 0; i < rows; ++i) {
      const need = attention(run, state.measure, mean(from, to, node => valueAt(run, state.measure, node, i)));
      if (need == null) continue;  // a gap stays open
      image.data.set([...rampColor(need), 255], 4 * (y * rows + i));
    }
  });
  context.putImageData(image, 0, 0);
  run.picture = {key, canvas};
  return canvas;
}

export function drawMap(run) {
  choice(get("measure"), CHOICES.map(([value, words]) => [value, say(words)]), state.measure, value => { state.measure = value; changed(); take(); });
  const count = run.nodes?.count ?? 0;
  if (count === 0 || !columnOf(run, state.measure)) {
    if (!get("map").querySelector(".empty")) get("map").replaceChildren(element("p", {className: "empty"}));
    get("map").firstChild.textContent = say("No measurement yet.");
    get("map-legend").replaceChildren();
    return;
  }
  const groups = groupsOf(count, MOST_ROWS), canvas = canvasOf(get("map"), run);
  const over = overTime(run, canvas, HEIGHT, 34, 8), {context, span, steps, left, wide} = over;
  const row = (HEIGHT - TOP - BOTTOM) / groups.length, made = picture(run, groups);
  context.imageSmoothingEnabled = false;
  for (let i = 0; i < steps.length; ++i) {
    const [from, to] = span(i);
    context.drawImage(made, i, 0, 1, groups.length, from, TOP, Math.max(to - from, 1) + 0.5, HEIGHT - TOP - BOTTOM);
  }
  if (row >= 12) { context.fillStyle = color("panel"); for (let y = 1; y < groups.length; ++y) context.fillRect(left, TOP + y * row - 1, wide, 2); }
  drawLost(over, run, groups, row);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillStyle = color("muted");
  const every = Math.ceil(14 / row);
  groups.forEach(([from], y) => { if (y % every === 0) context.fillText(from, left - 8, TOP + y * row + Math.min(row / 2 + 4, 10 + row / 2)); });
  if (state.node != null) { const y = groups.findIndex(([from, to]) => state.node >= from && state.node < to); context.strokeStyle = color("text"); context.lineWidth = 2; context.strokeRect(left, TOP + y * row, wide, Math.max(row, 3)); }
  axes(over, run);
  canvas.nodeAt = y => { const group = groups[Math.floor((y - TOP) / row)]; return group ? group[0] : null; };
  get("map-legend").replaceChildren(...rampLegend(run), element("span", {textContent: groups.length < count ? say("each row is the mean of {0} nodes", groups[0][1]) : say("{0} rows, one per node; click one to outline it", count)}));
}

// A row is hatched from the step at which its node was lost.
function drawLost({context, x, most}, run, groups, row) {
  const since = new Map();
  const hatch = (node, from, to) => {
    const y = groups.findIndex(([first, end]) => node >= first && node < end);
    if (y < 0 || groups[y][1] - groups[y][0] > 1) return;
    context.save();
    context.beginPath();
    context.rect(x(from), TOP + y * row, x(to) - x(from), row);
    context.clip();
    context.fillStyle = color("panel");
    context.fill();
    context.strokeStyle = color("line2");
    for (let at = x(from) - row; at < x(to); at += 6) { context.beginPath(); context.moveTo(at, TOP + (y + 1) * row); context.lineTo(at + row, TOP + y * row); context.stroke(); }
    context.restore();
  };
  for (const mark of run.series.marks) {
    if (mark.kind === "lost") since.set(mark.node, mark.step);
    if ((mark.kind === "back" || mark.kind === "joined") && since.has(mark.node)) { hatch(mark.node, since.get(mark.node), mark.step); since.delete(mark.node); }
  }
  for (const [node, step] of since) hatch(node, step, most);
}
