// What the heat map and the timeline share: a canvas over the steps of the run, with marks above,
// an axis below, the pointer, and a veil over what comes after a replayed step.
import {color, element, isDark, paper, sizeOf} from "./dom.js";
import {labels, ticks} from "./format.js";
import {drawMark, marksKey, marksOf} from "./marks.js";
import {changed, indexAt, lastStep, state} from "./state.js";

export const TOP = 18, BOTTOM = 20;

// `left`, `right`: room for words beside the rows.
export function overTime(run, canvas, height, left, right) {
  const width = Math.max(sizeOf(canvas.parentElement)[0] - 32, 120);
  const most = Math.max(lastStep(run), 1), wide = width - left - right;
  const x = step => left + wide * Math.min(Math.max(step / most, 0), 1);
  canvas.stepAt = offset => Math.round(Math.min(Math.max((offset - left) / wide, 0), 1) * most);
  // A column of rows, one per measurement: from the measurement before to this one.
  const steps = run.nodes?.step ?? [];
  const span = i => [x(i === 0 ? 0 : steps[i - 1]), x(steps[i])];
  return {canvas, width, height, left, right, wide, most, x, span, steps};
}

// What does not move with the pointer is drawn on the canvas, only when something changed. `key`: what
// it depends on.
export function still(over, run, key, draw) {
  const {canvas} = over, whole = [key, marksKey(run), run.graphVersion, over.width, over.height, over.left, over.most, devicePixelRatio, isDark(), document.documentElement.lang].join();
  if (canvas.drawn === whole) return;
  canvas.drawn = whole;
  const context = paper(canvas, over.width, over.height);
  canvas.corner = [canvas.offsetLeft, canvas.offsetTop];
  draw({...over, context});
  marks({...over, context}, run);
}

function marks({context, width, height, left, right, most, x}, run) {
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("faint");
  context.textAlign = "center";
  const at = ticks(0, most, Math.max(2, Math.floor(width / 140)));
  labels(at).forEach((label, i) => context.fillText(label, Math.min(Math.max(x(at[i]), left + 4), width - right - 8), height - 5));
  for (const mark of marksOf(run)) {
    context.globalAlpha = 0.5;
    context.setLineDash([2, 3]);
    if (mark.kind !== "end") line(context, x(mark.step), TOP, height - BOTTOM, color("text"));
    context.setLineDash([]);
    context.globalAlpha = 1;
    drawMark(context, mark.kind, x(mark.step), 9);
  }
}

// The veil and the pointer lie over the canvas, so that moving them draws nothing anew.
export function moving({canvas, width, height, right, most, x}) {
  canvas.over ??= ["veil", "hair"].map(className => { const made = element("div", {className}); canvas.after(made); return made; });
  const [veil, hair] = canvas.over, [left, top] = canvas.corner, replay = state.at != null && state.at < most;
  place(veil, replay, left + x(state.at), top, width - right - x(state.at) + 8, height - BOTTOM);
  place(hair, state.pointer != null, left + x(state.pointer), top + TOP - 4, 1, height - BOTTOM - TOP + 4);
}

function place({style}, shown, left, top, width, height) {
  style.display = shown ? "block" : "none";
  if (!shown) return;
  style.transform = `translate(${left}px, ${top}px)`;
  style.width = width + "px";
  style.height = height + "px";
}

function line(context, x, from, to, ink) {
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, from);
  context.lineTo(Math.round(x) + 0.5, to);
  context.stroke();
}

// Stripes over a part of a row: its node was lost.
export function hatch(context, x, y, wide, high) {
  context.save();
  context.beginPath();
  context.rect(x, y, wide, high);
  context.clip();
  context.fillStyle = color("panel");
  context.fill();
  context.strokeStyle = color("line2");
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - high; at < x + wide; at += 6) { context.moveTo(at, y + high); context.lineTo(at + high, y); }
  context.stroke();
  context.restore();
}

// Whether there are measurements, so that a column that is not here yet will be.
export const isComing = run => run.nodes.step.length > 0;

// [[node, from, to], ..]: the steps between which nodes were lost.
export function losses(run, end) {
  const since = new Map(), all = [];
  for (const mark of run.series.marks) {
    if (mark.kind === "lost") since.set(mark.node, mark.step);
    if ((mark.kind === "back" || mark.kind === "joined") && since.has(mark.node)) { all.push([mark.node, since.get(mark.node), mark.step]); since.delete(mark.node); }
  }
  return [...all, ...[...since].map(([node, from]) => [node, from, end])];
}

// Groups of nodes where there are more than rows: all but the last have the same size.
export function groupsOf(count, most) {
  const size = Math.ceil(count / most);
  return Array.from({length: Math.ceil(count / size)}, (_, i) => [i * size, Math.min((i + 1) * size, count)]);
}

export function mean(from, to, value) {
  let sum = 0, there = 0;
  for (let node = from; node < to; ++node) { const one = value(node); if (one != null) { sum += one; ++there; } }
  return there ? sum / there : null;
}

// Pointer and arrow keys move the step that all parts of the page show.
export function follow(canvas) {
  canvas.addEventListener("pointermove", event => { state.pointer = canvas.stepAt?.(event.offsetX) ?? null; changed(); });
  canvas.addEventListener("pointerleave", () => { state.pointer = null; changed(); });
}

export function movePointer(run, by) {
  const steps = run.series.measurements.step;
  if (!steps.length) return;
  const at = state.pointer == null ? (by > 0 ? -1 : steps.length) : indexAt(steps, state.pointer);
  state.pointer = steps[Math.min(Math.max(at + by, 0), steps.length - 1)];
  changed();
}
