// How good: the accuracy large enough to be read from three metres, and six others beside it.
// Curves are drawn once per version of the data; a replay only moves what covers them.
import {color, element, get, sizeOf, svg} from "./dom.js";
import {bytes, count, fine, labels, rate, three, ticks} from "./format.js";
import {markPath, marksKey, marksOf} from "./marks.js";
import {graphNodes, isReplay, lastStep, newest, shownRow, shownStep, shownValue} from "./state.js";
import {isShare, resultName, resultScaled, resultSigned, resultText, speedName} from "./measure.js";
import {say} from "./words.js";

// Name, value, unit, words below, columns of the small curve. `fill`: from zero on.
function cardsOf(run) {
  const nodes = graphNodes(run), speed = newest(run, "targets_per_second"), row = shownRow(run), {measurements} = run.series;
  const since = row > 0 ? measurements.seconds[row] - measurements.seconds[row - 1] : measurements.seconds[0];
  const traffic = row >= 0 && since > 0 ? (measurements.bytes[row] - (measurements.bytes[row - 1] ?? 0)) / since : null;
  const present = shownValue(run, "present"), staleness = shownValue(run, "staleness");
  return [
    ["accuracy", say("{0} of the averaged model", resultName(run)), resultText(run, shownValue(run, "accuracy")), shownValue(run, "accuracy_mean") == null ? "" : say("single nodes {0}", resultSigned(run, shownValue(run, "accuracy_mean"), shownValue(run, "accuracy_std"))), () => measurements.accuracy],
    ["loss", say("Loss"), three(newest(run, "loss")), say("training, mean of all nodes"), () => measurements.loss],
    ["disagreement", say("Disagreement"), fine(newest(run, "cv")), say("spread of the parameters"), () => measurements.cv],
    ["speed", speedName(run), three(speed), say("{0} per node", three(speed == null ? null : speed / Math.max(present ?? nodes, 1))), () => measurements.targets_per_second],
    ["traffic", say("Traffic"), rate(traffic), say("{0} in total", bytes(shownValue(run, "bytes"))), () => trafficOf(measurements)],
    ["present", say("Nodes present"), count(present ?? nodes), present != null && present < nodes ? say("of {0} nodes", count(nodes)) + ", " + say("{0} lost", count(nodes - present)) : say("none lost"), () => measurements.present],
    ["staleness", say("Staleness"), staleness == null ? "0\u00a0" + say("steps") : three(staleness) + "\u00a0" + say("steps"), staleness == null ? say("synchronous") : say("mean of what was applied"), () => measurements.staleness.map(value => value ?? 0)],
  ];
}

function trafficOf({seconds, bytes: sent}) {
  return sent.map((value, i) => { const time = seconds[i] - (seconds[i - 1] ?? 0); return time > 0 ? (value - (sent[i - 1] ?? 0)) / time : null; });
}

const pathOf = (points, x, y) => points.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
const there = ([, value]) => value != null;

// From zero on, without axes.
function smallCurve(place, run, list) {
  const steps = run.series.measurements.step, most = Math.max(lastStep(run), 1), points = list.map((value, i) => [steps[i], value]).filter(there), high = 44;
  place.replaceChildren();
  place.setAttribute("viewBox", `0 0 200 ${high}`);
  place.setAttribute("preserveAspectRatio", "none");
  if (points.length < 2) return;
  const top = points.reduce((best, [, value]) => Math.max(best, value), 1e-12), x = step => 200 * step / most, y = value => high - 3 - (high - 6) * value / top, path = pathOf(points, x, y);
  svg("path", {d: `${path}L${x(points.at(-1)[0])} ${high}L${x(points[0][0])} ${high}Z`, fill: color("accent-bg")}, place);
  svg("path", {d: path, fill: "none", stroke: color("accent"), "stroke-width": 1.5, "vector-effect": "non-scaling-stroke"}, place);
}

// The accuracy with its axes, the mean and deviation of the nodes, and what happened.
function largeCurve(place, run) {
  const {step: steps, accuracy, accuracy_mean: mean, accuracy_std: std} = run.series.measurements, [wide, tall] = sizeOf(place), width = Math.max(wide, 120), height = Math.max(tall, 100);
  place.replaceChildren();
  place.setAttribute("viewBox", `0 0 ${width} ${height}`);
  run.hero = null;
  const points = accuracy.map((value, i) => [steps[i], resultScaled(run, value)]).filter(there);
  if (points.length < 2) return;
  const nodes = mean.map((value, i) => [steps[i], resultScaled(run, value), resultScaled(run, std[i])]).filter(there);
  const all = [...points.map(([, value]) => value), ...nodes.flatMap(([, value, by]) => [value - by, value + by])], low = Math.min(...all), high = Math.max(...all, low + 1e-9), most = Math.max(lastStep(run), 1);
  const right = width - 52, bottom = height - 24, top = 22, x = step => 16 + (right - 16) * step / most, y = value => bottom - (bottom - top) * (value - low) / (high - low);
  const levels = ticks(low, high, 4), words = labels(levels), feet = ticks(0, most, 4), numbers = labels(feet);
  levels.forEach((value, i) => {
    svg("path", {d: `M16 ${y(value)}H${right}`, stroke: color("grid")}, place);
    svg("text", {x: width - 12, y: y(value) + 4, "text-anchor": "end", class: "tick"}, place, words[i] + (isShare(run) ? "\u00a0%" : ""));
  });
  feet.forEach((value, i) => { if (x(value) < right - 8 || i < 2) svg("text", {x: Math.max(x(value), 16), y: height - 8, "text-anchor": i ? "middle" : "start", class: "tick"}, place, i ? numbers[i] : say("step {0}", numbers[i])); });
  const marks = marksOf(run).filter(({kind}) => kind !== "end").slice(-40);
  for (const mark of marks) svg("path", {d: `M${x(mark.step)} ${top}V${bottom}`, stroke: color("faint"), "stroke-dasharray": "2 3", opacity: 0.5}, place);
  if (nodes.length > 1) {
    const edge = sign => nodes.map(([step, value, by]) => [step, value + sign * by]);
    svg("path", {d: pathOf(edge(1), x, y) + pathOf(edge(-1).reverse(), x, y).replace("M", "L") + "Z", fill: color("accent"), opacity: 0.16}, place);
    svg("path", {d: pathOf(nodes, x, y), fill: "none", stroke: color("accent"), "stroke-width": 1.5, "stroke-dasharray": "3 3"}, place);
  }
  svg("path", {d: pathOf(points, x, y), fill: "none", stroke: color("accent"), "stroke-width": 2}, place);
  for (const mark of marks) { const {ink, path, full} = markPath(mark.kind); svg("path", {d: path, transform: `translate(${x(mark.step)} 11)`, fill: full ? ink : "none", stroke: ink, "stroke-width": full ? 0 : 2}, place); }
  const veil = svg("rect", {y: 0, height: bottom + 1, fill: color("veil")}, place), dot = svg("circle", {r: 4.5, fill: color("accent"), stroke: color("panel"), "stroke-width": 2}, place);
  run.hero = {veil, dot, x, y, right};
}

function moveHero(run) {
  if (!run.hero) return;
  const {veil, dot, x, y, right} = run.hero, row = shownRow(run), value = resultScaled(run, shownValue(run, "accuracy")), from = x(shownStep(run));
  veil.setAttribute("x", from);
  veil.setAttribute("width", isReplay(run) ? Math.max(right - from + 8, 0) : 0);
  dot.setAttribute("visibility", value == null ? "hidden" : "visible");
  if (value == null) return;
  dot.setAttribute("cx", x(run.series.measurements.step[row]));
  dot.setAttribute("cy", y(value));
}

export function drawCards(run) {
  cardsOf(run).forEach(([id, name, value, told, list], i) => {
    const [head, figure, words, drawing] = get("card-" + id).children, [, number, unit] = value.match(/^(.*?)(?:\u00a0(\D+))?$/);
    if (head.textContent !== name) head.textContent = name;
    if (figure.dataset.value !== value) { figure.dataset.value = value; figure.replaceChildren(number, ...(unit ? [element("small", {textContent: " " + unit})] : [])); }
    const below = i === 0 && shownRow(run) < 0 ? say("No test yet: the first one comes with the first measurement.") : told;
    if (words.textContent !== below) words.textContent = below;
    const key = [marksKey(run), run.series.measurements.step.length, lastStep(run), i === 0 && sizeOf(drawing), document.documentElement.dataset.theme, document.documentElement.lang].join();
    if (drawing.dataset.key !== key) { drawing.dataset.key = key; if (i === 0) largeCurve(drawing, run); else smallCurve(drawing, run, list()); }
    if (i > 0) drawing.style.clipPath = isReplay(run) ? `inset(0 ${100 - 100 * shownStep(run) / Math.max(lastStep(run), 1)}% 0 0)` : "";
  });
  moveHero(run);
}
