// The curves, by uPlot: several runs over the selected axis, and the chosen nodes of the run shown.
// One pointer for all of them and for the rest of the page; its values stand in one strip.
import uPlot from "uplot";
import {choice, color, element, fillList, get} from "./dom.js";
import {bytes, count, duration, fine, fixed, labels, NOTHING, three, ticks} from "./format.js";
import {drawMark, marksKey, marksOf} from "./marks.js";
import {movePointer} from "./over_time.js";
import {saveCsv, savePng, saveSvg} from "./save.js";
import {changed, focused, indexAt, isNamed, isReplay, lastStep, nodeName, shownStep, state, valueAt} from "./state.js";
import {isShare, resultName, resultScaled, resultSigned, resultText, speedName} from "./measure.js";
import {say} from "./words.js";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 5]];
const HEIGHT = 212, ROOM = 18;  // above the curves, for marks
export const colorOf = run => color("c" + (run.index % 6 + 1));
const dashOf = run => DASHES[run.index % DASHES.length];
const hundred = list => list.map(value => value == null ? null : 100 * value);
const results = (run, list) => list.map(value => resultScaled(run, value));
const percents = () => "%", resultUnit = () => isShare(focused()) ? "%" : "";

const CHARTS = [
  {id: "accuracy", title: () => resultName(focused()), unit: resultUnit, from: "seen", lines: accuracyLines},
  {id: "loss", title: () => say("Training loss"), lines: run => [between(run, "loss"), ...nodeLines(run, "loss")]},
  {id: "disagreement", title: () => say("Disagreement"), unit: percents, lines: run => [between(run, "cv", hundred)]},
  {id: "speed", title: () => speedName(focused()), lines: run => [between(run, "targets_per_second")]},
  {id: "rate", title: () => say("Learning rate"), lines: run => [line(run, run.name, axis(run), run.series.measurements.learning_rate)]},
  {id: "bytes", title: () => say("{0} over bytes", resultName(focused())), unit: resultUnit, from: "seen", across: "bytes", lines: run => [line(run, run.name, run.series.measurements.bytes, results(run, run.series.measurements.accuracy))]},
  {id: "distance", title: () => say("Distance from the mean"), lines: run => nodeLines(run, "distance")},
  {id: "waiting", title: () => say("Share of time waiting"), unit: percents, lines: run => nodeLines(run, "waiting", value => 100 * value)},
  {id: "steps", title: () => say("Steps per second"), lines: run => nodeLines(run, "speed")},
];
const ACROSS = {step: "Step", seconds: "Seconds", bytes: "Bytes", epoch: "Epoch"};
const kindOf = chart => chart.across ?? state.across;
const axis = run => run.series.measurements[state.across];
const line = (run, name, x, y, look = {}) => ({run, name, x, y, ink: colorOf(run), dash: dashOf(run), ...look});

function accuracyLines(run) {
  const {accuracy, accuracy_mean, accuracy_std} = run.series.measurements, made = [line(run, run.name, axis(run), results(run, accuracy))];
  if (run.name !== state.focus) return made;
  if (accuracy_mean.some(value => value != null)) {
    const nodes = `${run.name}, ${say("mean of the nodes")}`, around = sign => results(run, accuracy_mean.map((value, i) => value == null ? null : value + sign * accuracy_std[i]));
    made.push(line(run, nodes, axis(run), results(run, accuracy_mean), {dash: [3, 3]}), line(run, nodes + " + std", axis(run), around(1), {edge: true}), line(run, nodes + " - std", axis(run), around(-1), {edge: true}));
  }
  return [...made, ...nodeLines(run, "accuracy", value => resultScaled(run, value))];
}

// The chosen nodes of the run shown.
function nodeLines(run, what, change = value => value) {
  if (run.name !== state.focus || !run.nodes || !run.columns.has(what)) return [];
  return state.nodes.map((node, i) => {
    const values = run.nodes.step.map((_, row) => { const value = valueAt(run, what, node, row); return value == null ? null : change(value); });
    return line(run, isNamed(run, node) ? nodeName(run, node) : say("node {0}", node), run.nodes[state.across], values, {ink: color("c" + (i % 5 + 2)), dash: []});
  });
}

// Over steps most runs have progress between measurements; over other axes only measurements.
function between(run, what, change = list => list) {
  const {measurements, progress} = run.series, dense = state.across === "step" && progress.step.length > measurements.step.length;
  return line(run, run.name, dense ? progress.step : axis(run), change(dense ? progress[what] : measurements[what]));
}

function smoothed(list) {
  let mean = null;
  return state.smooth > 0 ? list.map(value => value == null ? null : (mean = mean == null ? value : state.smooth * mean + (1 - state.smooth) * value)) : list;
}

const made = [];

function make() {
  for (const chart of CHARTS) {
    const section = element("section", {id: "chart-" + chart.id}), head = element("h3"), place = element("div", {className: "curve", tabIndex: 0});
    place.setAttribute("role", "group");
    section.append(head, place);
    get("curves").append(section);
    const entry = {chart, section, head, place, plot: null, veil: element("div", {className: "veil"}), look: "", key: "", lines: [], data: [[]]};
    place.addEventListener("keydown", event => onKey(entry, event));
    made.push(entry);
  }
  new ResizeObserver(() => made.forEach(({plot, place}) => { if (plot && place.clientWidth) plot.setSize({width: place.clientWidth, height: HEIGHT}); })).observe(get("curves"));
  const controls = get("controls");
  const log = element("button", {type: "button", className: "button", id: "log"}), smooth = element("input", {type: "range", id: "smooth", min: 0, max: 0.95, step: 0.05, value: 0});
  log.addEventListener("click", () => { state.log = !state.log; changed(); });
  smooth.addEventListener("input", () => { state.smooth = Number(smooth.value); changed(); });
  controls.append(element("div", {className: "choice", id: "across"}), log, element("label", {}, element("span"), " ", smooth, " ", element("output", {id: "smooth-value"})),
    element("span", {className: "joined"}, ...[["PNG", () => savePng(made)], ["SVG", () => saveSvg(made)], ["CSV", () => saveCsv(made)]].map(([name, save]) => element("button", {type: "button", className: "button", id: name.toLowerCase(), textContent: name, onclick: save}))));
}

function drawControls() {
  choice(get("across"), Object.entries(ACROSS).map(([value, name]) => [value, say(name)]), state.across, value => { state.across = value; changed(); });
  get("log").textContent = say("Log scale");
  get("log").setAttribute("aria-pressed", state.log);
  get("smooth").previousElementSibling.textContent = say("Smoothing");
  get("smooth-value").textContent = fixed(state.smooth, 2);
  for (const id of ["png", "svg", "csv"]) get(id).setAttribute("aria-label", `${say("Save")} ${id.toUpperCase()}`);
}

function onKey({plot, data}, event) {
  if (!plot || data[0].length === 0) return;
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], zoom = {"+": 0.5, "-": 2}[event.key];
  if (by) movePointer(focused(), by);
  else if (zoom) {
    const {min, max} = plot.scales.x, middle = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : (min + max) / 2, half = (max - min) / 2 * zoom;
    plot.setScale("x", {min: Math.max(middle - half, data[0][0]), max: Math.min(middle + half, data[0].at(-1))});
  } else if (event.key === "Escape") { state.pointer = null; plot.setScale("x", {min: data[0][0], max: data[0].at(-1)}); changed(); } else return;
  event.preventDefault();
}

// The value of an axis at a step of the run shown, and back.
function across(run, kind, step) {
  const {measurements} = run.series, i = indexAt(measurements.step, step);
  return kind === "step" ? step : i < 0 ? null : measurements[kind][i];
}
function stepOf(run, kind, value) {
  const {measurements} = run.series;
  return kind === "step" ? Math.min(Math.max(Math.round(value), 0), lastStep(run)) : measurements.step[Math.max(indexAt(measurements[kind], value), 0)] ?? null;
}

const written = {step: values => values.map(count), seconds: values => values.map(duration), bytes: values => values.map(bytes), epoch: labels};

// Marks of the run shown, above the curves and as lines through them.
function paintMarks(plot, chart) {
  const run = focused(), {ctx: context, bbox: {left, top, width, height}} = plot, ratio = uPlot.pxRatio;
  if (!run?.series) return;
  context.save();
  for (const mark of marksOf(run)) {
    const value = across(run, kindOf(chart), mark.step), x = value == null ? -1 : plot.valToPos(value, "x", true);
    if (x < left - 1 || x > left + width + 1) continue;
    context.strokeStyle = color("faint");
    context.globalAlpha = 0.5;
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawMark(context, mark.kind, x / ratio, top / ratio - 9);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }
  context.restore();
}

function options(entry, lines) {
  const {chart, place} = entry, grid = {stroke: color("grid"), width: 1}, ink = color("faint"), font = "11px system-ui, sans-serif";
  const edges = lines.flatMap(({edge}, i) => edge ? [i + 1] : []), kind = kindOf(chart);
  return {
    width: place.clientWidth || 500, height: HEIGHT, padding: [ROOM, 20, 0, 0], legend: {show: false}, cursor: {drag: {x: true, y: false}, points: {size: 7}},
    scales: {x: {time: false}, y: {distr: state.log ? 3 : 1, range: state.log ? undefined : (_, low, high) => low == null ? [0, 1] : rangeOf(chart, low, high)}},
    axes: [{stroke: ink, font, grid: {show: false}, ticks: {show: false}, values: (_, values) => written[kind](values), space: place.clientWidth < 420 ? 55 : 90, size: 32},
      {stroke: ink, font, grid, ticks: {show: false}, size: 52, ...(state.log ? {} : {splits: (_, axis, low, high) => ticks(low, high), values: (_, values) => labels(values)})}],
    series: [{}, ...lines.map(({ink: stroke, dash, edge}) => ({stroke: edge ? "transparent" : stroke, width: 2, dash, spanGaps: false, points: {show: entry.data[0].length < 30 && !edge}}))],
    bands: edges.length === 2 ? [{series: edges, fill: color("accent-bg") + "b0"}] : [],
    hooks: {
      ready: [plot => plot.over.append(entry.veil)],
      drawAxes: [plot => paintMarks(plot, chart)],
      setCursor: [plot => { if (entry.moving || plot.cursor.left < 0 || !focused()) return; state.pointer = stepOf(focused(), kind, plot.posToVal(plot.cursor.left, "x")); changed(); }],
      setScale: [plot => { plot.zoomed = entry.data[0].length > 0 && (plot.scales.x.min > entry.data[0][0] || plot.scales.x.max < entry.data[0].at(-1)); }],
    },
  };
}

// Zero is included but for accuracy, whose axis starts where the curve starts.
function rangeOf(chart, low, high) {
  const from = chart.from === "seen" ? low - (high - low) * 0.05 : Math.min(low, 0), to = high > from ? high + (high - from) * 0.05 : from + 1;
  return [from, to];
}

function drawStrip(run) {
  const {measurements} = run.series, step = state.pointer ?? shownStep(run), i = indexAt(measurements.step, step), at = name => measurements[name][i] ?? null;
  const pairs = [[say(state.pointer == null ? "Now" : "At the pointer"), `${say("step {0}", count(step))} · ${duration(at("seconds"))} · ${bytes(at("bytes"))}`], [say("averaged model"), resultText(run, at("accuracy"))],
    [say("mean of the nodes"), resultSigned(run, at("accuracy_mean"), at("accuracy_std"))], [say("Training loss"), three(at("loss"))], [say("Disagreement"), fine(at("cv"))], [speedName(run), three(at("targets_per_second"))]];
  fillList(get("strip"), pairs.filter(([, value]) => value !== NOTHING));
}

// Axes keep the colours of the theme in which they were made.
export function forgetCurves() { for (const entry of made) entry.look = entry.key = ""; }

// Lines are computed again only when the data or a choice changed, not when the pointer moved.
function update(entry, runs) {
  const {chart} = entry, lines = runs.flatMap(run => chart.lines(run)).filter(({x, y}) => x.length > 0 && y.some(value => value != null));
  entry.title = chart.title();
  entry.unit = chart.unit?.() ?? "";
  entry.across = kindOf(chart);
  entry.section.hidden = lines.length === 0;
  if (!lines.length) return;
  entry.lines = lines.map(one => ({...one, y: smoothed(one.y)}));
  entry.data = entry.lines.length === 1 ? [entry.lines[0].x, entry.lines[0].y] : uPlot.join(entry.lines.map(({x, y}) => [x, y]));
  entry.place.setAttribute("aria-label", `${entry.title}; ${say("arrow keys move the pointer, plus and minus zoom, Escape ends it")}`);
  const look = JSON.stringify([lines.map(({name, ink}) => [name, ink]), state.across, state.log, entry.title, document.documentElement.lang, entry.data[0].length < 30]);
  if (entry.plot && entry.look === look) {
    entry.plot.setData(entry.data, !entry.plot.zoomed);
    if (entry.plot.zoomed) entry.plot.redraw();
    return;
  }
  entry.plot?.destroy();
  entry.look = look;
  entry.plot = new uPlot(options(entry, lines), entry.data, entry.place);
  drawHead(entry, lines.filter(({edge}) => !edge));
}

export function drawCurves(runs, focus) {
  if (!made.length) make();
  drawControls();
  drawStrip(focus);
  const key = JSON.stringify([runs.map(run => [marksKey(run), [...run.columns].map(([what, {version}]) => [what, version])]), state.focus, state.nodes, state.across, state.log, state.smooth, document.documentElement.lang]);
  if (get("curves-legend").dataset.key !== key) {
    get("curves-legend").dataset.key = key;
    get("curves-legend").replaceChildren(...(runs.length < 2 ? [] : runs.map(run => entryOf(run.name, colorOf(run), dashOf(run)))));
  }
  let making = false;
  for (const entry of made) {
    if (entry.key !== key) {
      // A new chart is much work: one per frame.
      if (!entry.plot && making) { changed(); break; }
      making ||= !entry.plot;
      entry.key = key;
      update(entry, runs);
    }
    if (entry.section.hidden || !entry.plot) continue;
    const {plot} = entry, at = step => { const value = across(focus, entry.across, Math.min(step, lastStep(focus))); return value == null ? null : plot.valToPos(value, "x"); };
    const left = state.pointer == null ? null : at(state.pointer), from = isReplay(focus) ? at(state.at) : null;
    entry.moving = true;
    plot.setCursor(left == null ? {left: -10, top: -10} : {left, top: 10});
    entry.moving = false;
    entry.veil.style.display = from == null ? "none" : "block";
    if (from != null) entry.veil.style.left = Math.max(from, 0) + "px";
  }
}

function entryOf(name, ink, dash) {
  const stroke = element("i");
  stroke.style.cssText = `border-top-color:${ink};border-top-style:${dash.length ? "dashed" : "solid"}`;
  return element("span", {}, stroke, name);
}

// Runs are named once, above all charts; here only what one chart has besides.
function drawHead({head, title, unit}, lines) {
  const own = lines.filter(({name, run}) => name !== run.name), alone = own.length > 0 && lines.length > own.length;
  const shown = own.map(one => ({...one, name: one.name.startsWith(one.run.name + ", ") ? say("mean of the nodes") : one.name}));
  head.replaceChildren(title, ...(unit ? [element("small", {textContent: unit})] : []), ...(alone ? [entryOf(say("averaged model"), lines[0].ink, [])] : []).filter(() => shown.some(({name}) => name === say("mean of the nodes"))), ...shown.map(({name, ink, dash}) => entryOf(name, ink, dash)));
}
