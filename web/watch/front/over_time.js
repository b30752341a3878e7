// What the heat map and the timeline share: a canvas over the steps of the run, with marks above,
// an axis below, the pointer, and a veil over what comes after a replayed step.
import {color, paper} from "./dom.js";
import {labels, ticks} from "./format.js";
import {drawMark} from "./marks.js";
import {changed, indexAt, lastStep, state} from "./state.js";

export const TOP = 18, BOTTOM = 20;

// `left`, `right`: room for words beside the rows.
export function overTime(run, canvas, height, left, right) {
  const width = Math.max(canvas.parentElement.clientWidth - 32, 120), context = paper(canvas, width, height);
  const most = Math.max(lastStep(run), 1), wide = width - left - right;
  const x = step => left + wide * Math.min(Math.max(step / most, 0), 1);
  canvas.stepAt = offset => Math.round(Math.min(Math.max((offset - left) / wide, 0), 1) * most);
  // A column of rows, one per measurement: from the measurement before to this one.
  const steps = run.nodes?.step ?? [];
  const span = i => [x(i === 0 ? 0 : steps[i - 1]), x(steps[i])];
  return {context, width, height, left, right, wide, most, x, span, steps};
}

export function axes({context, width, height, left, right, most, x}, run) {
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("faint");
  context.textAlign = "center";
  const at = ticks(0, most, Math.max(2, Math.floor(width / 140)));
  labels(at).forEach((label, i) => context.fillText(label, Math.min(Math.max(x(at[i]), left + 4), width - right - 8), height - 5));
  if (state.at != null && state.at < most) {
    context.fillStyle = color("veil");
    context.fillRect(x(state.at), TOP, width - right - x(state.at), height - TOP - BOTTOM);
    line(context, x(state.at), TOP, height - BOTTOM, color("accent"));
  }
  for (const mark of run.series.marks) drawMark(context, mark.kind, x(mark.step), 9, state.at != null && mark.step > state.at);
  if (state.pointer != null) line(context, x(state.pointer), TOP - 4, height - BOTTOM, color("text"));
}

function line(context, x, from, to, ink) {
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, from);
  context.lineTo(Math.round(x) + 0.5, to);
  context.stroke();
}

// Groups of nodes where there are more than rows.
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
