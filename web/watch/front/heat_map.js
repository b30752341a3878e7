// Nodes over time: a row per node, coloured by the chosen measure; with more nodes than rows, the
// mean of several. What does not move is drawn once; pointer and replay lie over it.
import {choice, color, element, get, isDark} from "./dom.js";
import {follow, groupsOf, hatch, losses, mean, isComing, moving, movePointer, overTime, still, BOTTOM, TOP} from "./over_time.js";
import {attention, NAMES, rampColor, rampLegend} from "./ramp.js";
import {take} from "./api.js";
import {changed, choose, columnOf, graphNodes, isNamed, nodeName, state, valueAt} from "./state.js";
import {say} from "./words.js";

const MOST_ROWS = 300, HEIGHT = 390;
const CHOICES = [["distance", "Distance"], ["accuracy", "Accuracy"], ["loss", "Loss"], ["waiting", "Waiting"], ["staleness", "Staleness"]];

function canvasOf(place, run) {
  let canvas = place.querySelector("canvas");
  if (!canvas) {
    canvas = element("canvas", {tabIndex: 0});
    canvas.setAttribute("role", "img");
    follow(canvas);
    canvas.addEventListener("click", event => { const node = canvas.nodeAt?.(event.offsetY); if (node != null) { choose(node); take(); } });
    canvas.addEventListener("keydown", event => {
      const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], node = {ArrowUp: -1, ArrowDown: 1}[event.key];
      if (by) movePointer(canvas.run, by);
      if (node) { state.nodes = [Math.min(Math.max((state.nodes.at(-1) ?? -node) + node, 0), graphNodes(canvas.run) - 1)]; changed(); take(); }
      if (event.key === "Escape") { state.pointer = null; state.nodes = []; changed(); }
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
  const key = [run.columns.get(state.measure).version, state.measure, groups.length, isDark()].join();
  if (run.picture?.key === key) return run.picture.canvas;
  const rows = run.nodes.step.length, canvas = element("canvas", {width: rows, height: groups.length}), context = canvas.getContext("2d");
  const image = context.createImageData(rows, groups.length);
  groups.forEach(([from, to], y) => {
    for (let i = 0; i < rows; ++i) {
      const need = attention(run, state.measure, mean(from, to, node => valueAt(run, state.measure, node, i)));
      if (need == null) continue;  // a gap stays open
      const [red, green, blue] = rampColor(need), at = 4 * (y * rows + i);
      image.data[at] = red; image.data[at + 1] = green; image.data[at + 2] = blue; image.data[at + 3] = 255;
    }
  });
  context.putImageData(image, 0, 0);
  run.picture = {key, canvas};
  return canvas;
}

export function drawMap(run) {
  choice(get("measure"), CHOICES.map(([value, words]) => [value, say(words)]), state.measure, value => { state.measure = value; changed(); take(); });
  const count = run.nodes?.count ?? 0;
  get("map").classList.toggle("coming", isComing(run) && !columnOf(run, state.measure));
  if (count === 0 || !columnOf(run, state.measure)) {
    if (!get("map").querySelector(".empty")) get("map").replaceChildren(element("p", {className: "empty"}));
    get("map").firstChild.textContent = isComing(run) ? "" : say("No measurement yet.");
    get("map-legend").replaceChildren();
    delete get("map-legend").dataset.key;
    return;
  }
  const groups = groupsOf(count, MOST_ROWS), canvas = canvasOf(get("map"), run), names = isNamed(run, 0);
  const over = overTime(run, canvas, HEIGHT, names ? 64 : 34, 8), row = (HEIGHT - TOP - BOTTOM) / groups.length;
  still(over, run, [run.columns.get(state.measure).version, state.measure, count, state.nodes], layer => { drawRows(layer, run, groups, row); drawChosen(layer, groups, row); });
  moving(over);
  canvas.nodeAt = y => { const group = groups[Math.floor((y - TOP) / row)]; return group ? group[0] : null; };
  const key = [state.measure, run.nodesVersion, run.columns.get(state.measure).version, count, isDark(), document.documentElement.lang].join(), legend = get("map-legend");
  if (legend.dataset.key === key) return;
  legend.dataset.key = key;
  legend.replaceChildren(...rampLegend(run), element("span", {textContent: groups.length < count ? say("each row is the mean of {0} nodes", groups[0][1]) : say("{0} rows, one per node; click one to outline it", count)}));
}

function drawRows({context, span, steps, left, wide, x, most}, run, groups, row) {
  const made = picture(run, groups);
  context.imageSmoothingEnabled = false;
  for (let i = 0; i < steps.length; ++i) {
    const [from, to] = span(i);
    context.drawImage(made, i, 0, 1, groups.length, from, TOP, Math.max(to - from, 1) + 0.5, HEIGHT - TOP - BOTTOM);
  }
  if (row >= 12) { context.fillStyle = color("panel"); for (let y = 1; y < groups.length; ++y) context.fillRect(left, TOP + y * row - 1, wide, 2); }
  const size = groups[0][1];
  if (size === 1) for (const [node, from, to] of losses(run, most)) hatch(context, x(from), TOP + node * row, x(to) - x(from), row);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillStyle = color("muted");
  const every = Math.ceil(14 / row);
  groups.forEach(([from], y) => { if (y % every === 0) context.fillText(short(nodeName(run, from)), left - 8, TOP + y * row + Math.min(row / 2 + 4, 10 + row / 2)); });
}

const short = name => name.length > 9 ? name.slice(0, 8) + "…" : name;

function drawChosen({context, left, wide}, groups, row) {
  context.strokeStyle = color("text");
  context.lineWidth = 2;
  for (const node of state.nodes) context.strokeRect(left, TOP + Math.floor(node / groups[0][1]) * row, wide, Math.max(row, 3));
}
