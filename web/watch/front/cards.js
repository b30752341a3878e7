// How good: the accuracy large enough to be read from three metres, and six others beside it.
import {color, element, get, svg} from "./dom.js";
import {bytes, count, fine, rate, three} from "./format.js";
import {graphNodes, newest, shownRow, shownStep, shownValue} from "./state.js";
import {resultName, resultSigned, resultText, speedName} from "./measure.js";
import {say} from "./words.js";

// Name, value, unit, words below, columns of the small curve. `fill`: from zero on.
function cardsOf(run) {
  const nodes = graphNodes(run), speed = newest(run, "targets_per_second"), row = shownRow(run), {measurements} = run.series;
  const since = row > 0 ? measurements.seconds[row] - measurements.seconds[row - 1] : measurements.seconds[0];
  const traffic = row >= 0 && since > 0 ? (measurements.bytes[row] - (measurements.bytes[row - 1] ?? 0)) / since : null;
  const present = shownValue(run, "present"), staleness = shownValue(run, "staleness");
  return [
    ["accuracy", say("{0} of the averaged model", resultName(run)), resultText(run, shownValue(run, "accuracy")), shownValue(run, "accuracy_mean") == null ? "" : say("single nodes {0}", resultSigned(run, shownValue(run, "accuracy_mean"), shownValue(run, "accuracy_std"))), measurements.accuracy, false],
    ["loss", say("Loss"), three(newest(run, "loss")), say("training, mean of all nodes"), measurements.loss, true],
    ["disagreement", say("Disagreement"), fine(newest(run, "cv")), say("spread of the parameters"), measurements.cv, true],
    ["speed", speedName(run), three(speed), say("{0} per node", three(speed == null ? null : speed / Math.max(present ?? nodes, 1))), measurements.targets_per_second, true],
    ["traffic", say("Traffic"), rate(traffic), say("{0} in total", bytes(shownValue(run, "bytes"))), measurements.bytes.map((value, i) => { const time = measurements.seconds[i] - (measurements.seconds[i - 1] ?? 0); return time > 0 ? (value - (measurements.bytes[i - 1] ?? 0)) / time : null; }), true],
    ["present", say("Nodes present"), count(present ?? nodes), present != null && present < nodes ? say("of {0} nodes", count(nodes)) + ", " + say("{0} lost", count(nodes - present)) : say("none lost"), measurements.present, true],
    ["staleness", say("Staleness"), staleness == null ? "0 " + say("steps") : three(staleness) + " " + say("steps"), staleness == null ? say("synchronous") : say("mean of what was applied"), measurements.staleness.map(value => value ?? 0), true],
  ];
}

function curve(place, run, list, fromZero, high, ends) {
  const steps = run.series.measurements.step, most = Math.max(...steps, 1), shown = shownStep(run);
  const points = list.map((value, i) => [steps[i], value]).filter(([step, value]) => value != null && step <= shown);
  place.replaceChildren();
  place.setAttribute("viewBox", `0 0 200 ${high}`);
  place.setAttribute("preserveAspectRatio", "none");
  if (points.length < 2) return;
  const all = list.filter(value => value != null), low = fromZero ? 0 : Math.min(...all), top = Math.max(...all, low + 1e-12);
  const x = step => 200 * step / most, y = value => high - 3 - (high - 6) * (value - low) / (top - low);
  const path = points.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  svg("path", {d: `${path}L${x(points.at(-1)[0])} ${high}L${x(points[0][0])} ${high}Z`, fill: color("accent-bg")}, place);
  if (ends) {
    const {accuracy_mean: mean, accuracy_std: std} = run.series.measurements, band = steps.map((step, i) => [step, mean[i], std[i]]).filter(([step, value]) => value != null && step <= shown);
    if (band.length > 1) svg("path", {d: band.map(([step, value, by], i) => `${i ? "L" : "M"}${x(step)} ${y(value + by)}`).join("") + band.reverse().map(([step, value, by]) => `L${x(step)} ${y(value - by)}`).join("") + "Z", fill: color("accent"), opacity: 0.25}, place);
  }
  svg("path", {d: path, fill: "none", stroke: color("accent"), "stroke-width": 2, "vector-effect": "non-scaling-stroke"}, place);
}

export function drawCards(run) {
  const place = get("cards");
  cardsOf(run).forEach(([id, name, value, told, list, fromZero], i) => {
    let card = place.children[i];
    if (!card) {
      card = element("section", {className: "panel card" + (i === 0 ? " hero" : "")}, element("h2"), element("div", {className: "value"}), element("p", {className: "told"}), svg("svg", {"aria-hidden": "true"}));
      card.id = "card-" + id;
      place.append(card);
    }
    const [head, figure, words, drawing] = card.children, [, number, unit] = value.match(/^(.*?)(?:[\u00a0 ](\D+))?$/);
    head.textContent = name;
    figure.replaceChildren(number, ...(unit ? [element("small", {textContent: " " + unit})] : []));
    words.textContent = i === 0 && shownRow(run) < 0 ? say("No test yet: the first one comes with the first measurement.") : told;
    curve(drawing, run, list, fromZero, i === 0 ? 160 : 44, i === 0);
  });
}
