// The curves, by uPlot: several runs, or all nodes of one, over the selected axis; a table behind
// each.
import uPlot from "uplot";

const COLORS = ["#0072b2", "#d55e00", "#00795a", "#cc79a7", "#b8860b", "#56b4e9", "#7a7f87"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const look = i => ({stroke: COLORS[i % COLORS.length], width: 2, dash: DASHES[(Math.floor(i / COLORS.length) + i) % DASHES.length], spanGaps: true});
const percent = list => list.map(value => value == null ? null : 100 * value);
const MOST_LINES = 64, MOST_IN_LEGEND = 12;

const beside = ({accuracy_mean, accuracy_std}, sign) => accuracy_mean.map((mean, i) => mean == null ? null : mean + sign * accuracy_std[i]);

// What is drawn of a run: [x, y] by name of the line.
const CHARTS = [
  {id: "accuracy", title: "Accuracy of the averaged model and of the nodes, per cent", lines: (run, across) => [
    [run.name, run.series.measurements[across], percent(run.series.measurements.accuracy)],
    ...(run.series.measurements.accuracy_mean.some(value => value != null) ? [
      [run.name + ", nodes' mean", run.series.measurements[across], percent(run.series.measurements.accuracy_mean)],
      [run.name + ", mean - std", run.series.measurements[across], percent(beside(run.series.measurements, -1))],
      [run.name + ", mean + std", run.series.measurements[across], percent(beside(run.series.measurements, 1))]] : [])]},
  {id: "loss", title: "Loss while training", lines: (run, across) => between(run, across, "loss")},
  {id: "disagreement", title: "Disagreement of the nodes, per cent", lines: (run, across) => between(run, across, "cv").map(([name, x, y]) => [name, x, percent(y)])},
  {id: "nodes-distance", title: "Distance of every node from the mean", nodes: true, lines: (run, across) => ofNodes(run, across, run.nodes.distance)},
  {id: "nodes-accuracy", title: "Accuracy of every node, per cent", nodes: true, lines: (run, across) => ofNodes(run, across, run.nodes.accuracy.map(percent))},
  {id: "bytes", title: "Bytes against accuracy: per cent over gigabytes", across: "gigabytes", lines: run =>
    [[run.name, run.series.measurements.bytes.map(value => value / 1e9), percent(run.series.measurements.accuracy)]]},
  {id: "speed", title: "Images per second", lines: (run, across) => between(run, across, "images_per_second")},
  {id: "rate", title: "Learning rate", lines: (run, across) => [[run.name, run.series.measurements[across], run.series.measurements.learning_rate]]},
];

// Over steps, most runs have progress between measurements; over other axes only measurements.
function between(run, across, what) {
  const {measurements, progress} = run.series;
  const fine = across === "step" && progress.step.length > measurements.step.length;
  return [[run.name, fine ? progress.step : measurements[across], fine ? progress[what] : measurements[what]]];
}

function ofNodes(run, across, values) {
  return values.slice(0, MOST_LINES).map((list, node) => ["node " + node, run.nodes[across], list]);
}

function smoothed(list, by) {
  let mean = null;
  return list.map(value => value == null ? null : (mean = mean == null ? value : by * mean + (1 - by) * value));
}

const made = [];

export function makeCharts(parent) {
  for (const chart of CHARTS) {
    const section = document.createElement("section");
    section.className = "chart";
    section.id = "chart-" + chart.id;
    const heading = Object.assign(document.createElement("h2"), {textContent: chart.title, id: "title-" + chart.id});
    const place = document.createElement("div");
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", chart.title + "; arrow keys move along the curve, the values are below; drag or Shift with arrows zooms, Escape shows all");
    const told = Object.assign(document.createElement("p"), {className: "legend"});
    told.setAttribute("aria-live", "polite");
    const details = document.createElement("details");
    const summary = Object.assign(document.createElement("summary"), {textContent: "Table"});
    const table = Object.assign(document.createElement("div"), {className: "wide"});
    table.tabIndex = 0;
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", "Table: " + chart.title);
    details.append(summary, table);
    details.addEventListener("toggle", () => fillTable(entry));
    section.append(heading, place, told, details);
    parent.append(section);
    const entry = {chart, section, place, told, details, table, plot: null, names: "", data: [[]], labels: []};
    place.addEventListener("keydown", event => onKey(entry, event));
    made.push(entry);
  }
  new ResizeObserver(() => made.forEach(({plot, place}) => plot?.setSize({width: place.clientWidth, height: 260}))).observe(parent);
}

function onKey({plot, data, told, labels}, event) {
  if (!plot || data[0].length === 0) return;
  if (event.key === "Escape") return plot.setScale("x", {min: data[0][0], max: data[0][data[0].length - 1]});
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  const by = event.key === "ArrowRight" ? 1 : -1;
  const {min, max} = plot.scales.x;
  if (event.shiftKey) {
    const quarter = (max - min) / 4 * by;
    return plot.setScale("x", {min: min + quarter, max: max - quarter});
  }
  const at = Math.min(Math.max((plot.cursor.idx ?? (by > 0 ? -1 : data[0].length)) + by, 0), data[0].length - 1);
  plot.setCursor({left: plot.valToPos(data[0][at], "x"), top: 10});
  told.textContent = `${labels[0]} ${data[0][at]}: ` + data.slice(1).map((list, i) => list[at] == null ? "" : `${labels[i + 1]} ${Number(list[at].toPrecision(5))}`).filter(Boolean).join(", ");
}

// With too many lines for a legend: shows the line nearest to the pointer.
function tellNearest({data, told, labels}, plot) {
  const {idx, top} = plot.cursor;
  if (idx == null || top < 0) return;
  let nearest = 0, least = Infinity;
  for (let i = 1; i < data.length; ++i) {
    const apart = data[i][idx] == null ? Infinity : Math.abs(plot.valToPos(data[i][idx], "y") - top);
    if (apart < least) { least = apart; nearest = i; }
  }
  if (nearest > 0) told.textContent = `${labels[0]} ${data[0][idx]}: ${labels[nearest]} ${Number(data[nearest][idx].toPrecision(5))}`;
}

// Axes keep the colours of the colour scheme they were created in.
export function forgetCharts() {
  for (const entry of made) entry.names = "";
}

function fillTable({details, table, data, labels}) {
  if (!details.open) return;
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  for (const label of labels) head.append(Object.assign(document.createElement("th"), {textContent: label, scope: "col"}));
  const body = made.createTBody();
  const step = Math.max(1, Math.ceil(data[0].length / 100));
  for (let i = data[0].length - 1; i >= 0; i -= step) {
    const row = body.insertRow();
    for (const list of data) row.insertCell().textContent = list[i] == null ? "" : Number(list[i].toPrecision(6));
  }
  table.replaceChildren(made);
}

export function drawCharts(runs, focus, {across, smooth}) {
  for (const entry of made) {
    const {chart} = entry;
    const lines = (chart.nodes ? (focus?.nodes ? [focus] : []) : runs).flatMap(run => chart.lines(run, across)).filter(([, x]) => x.length > 0);
    const seen = lines.some(([, , y]) => y.some(value => value != null));
    entry.section.hidden = !seen;
    if (!seen) continue;
    const data = lines.length === 1 ? [lines[0][1], lines[0][2]] : uPlot.join(lines.map(([, x, y]) => [x, y]));
    entry.data = [data[0], ...data.slice(1).map(list => smooth > 0 ? smoothed(list, smooth) : list)];
    entry.labels = [chart.across ?? across, ...lines.map(([name]) => name)];
    const names = JSON.stringify(entry.labels);
    if (entry.plot && entry.names === names) {
      const zoomed = entry.plot.zoomed;
      entry.plot.setData(entry.data, !zoomed);
      if (zoomed) entry.plot.redraw();
    } else {
      entry.plot?.destroy();
      entry.names = names;
      const ink = getComputedStyle(document.body).color;
      const axis = {stroke: ink, grid: {stroke: "#8886"}, ticks: {stroke: "#8886"}};
      entry.plot = new uPlot({
        width: entry.place.clientWidth || 500, height: 260, scales: {x: {time: false}},
        legend: {show: lines.length <= MOST_IN_LEGEND}, axes: [{...axis, label: entry.labels[0]}, {...axis, size: 60}],
        series: [{label: entry.labels[0]}, ...lines.map(([name], i) => ({label: name, ...look(i), points: {show: data[0].length < 30}}))],
        hooks: {setCursor: lines.length > MOST_IN_LEGEND ? [plot => tellNearest(entry, plot)] : [], setScale: [plot => { plot.zoomed = plot.scales.x.min > entry.data[0][0] || plot.scales.x.max < entry.data[0][entry.data[0].length - 1]; }]},
      }, entry.data, entry.place);
    }
    fillTable(entry);
  }
}

// Every visible chart, one row per point of each line.
export function shownRows() {
  const rows = [["chart", "line", "across", "x", "y"]];
  for (const {chart, section, data, labels} of made)
    if (!section.hidden)
      data.slice(1).forEach((list, line) => list.forEach((value, i) => { if (value != null) rows.push([chart.title, labels[line + 1], labels[0], data[0][i], value]); }));
  return rows;
}
