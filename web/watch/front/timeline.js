// How every node spends its time: computing, communicating and waiting as a band per node, of
// groups where there are more than bands.
import {color, element, get, sizeOf} from "./dom.js";
import {percent} from "./format.js";
import {lostNow} from "./nodes.js";
import {markSvg, marksOf, NAMES_OF_MARKS} from "./marks.js";
import {BOTTOM, follow, groupsOf, hatch, isComing, losses, mean, moving, movePointer, overTime, still, TOP} from "./over_time.js";
import {columnOf, indexAt, isNamed, nodeName, shownStep, state, valueAt} from "./state.js";
import {say} from "./words.js";

const MOST_BANDS = 25;
const bandOf = groups => groups.length <= 6 ? 44 : 26;
const heightOf = groups => TOP + BOTTOM + groups.length * bandOf(groups);
const PARTS = [["computing", "compute"], ["communicating", "communicate"], ["waiting", "wait"]];

function drawBands({context, span, steps, x, most}, run, groups) {
  const band = bandOf(groups);
  groups.forEach(([from, to], y) => {
    for (let i = 0; i < steps.length; ++i) {
      const shares = PARTS.map(([what]) => mean(from, to, node => valueAt(run, what, node, i)));
      if (shares.some(share => share == null)) continue;  // a gap stays open
      const [start, end] = span(i);
      let down = TOP + y * band + band - 4;
      PARTS.forEach(([, ink], part) => {
        const high = shares[part] * (band - 4);
        down -= high;
        context.fillStyle = color(ink);
        context.fillRect(start, down, Math.max(end - start, 1) + 0.5, high + 0.5);
      });
    }
  });
  if (groups[0][1] === 1) for (const [node, from, to] of losses(run, most)) hatch(context, x(from), TOP + node * band, x(to) - x(from), band - 4);
}

export function drawTimeline(run) {
  const place = get("line"), count = run.nodes?.count ?? 0, known = PARTS.every(([what]) => columnOf(run, what));
  place.classList.toggle("coming", isComing(run) && !known);
  place.style.minHeight = count > 0 ? 24 + heightOf(groupsOf(count, MOST_BANDS)) + "px" : "";  // with its padding
  if (count === 0 || !known) {
    place.replaceChildren(element("p", {className: "empty", textContent: isComing(run) ? "" : say("No measurement yet.")}));
    return;
  }
  let canvas = place.querySelector("canvas");
  if (!canvas) {
    canvas = element("canvas", {tabIndex: 0});
    canvas.setAttribute("role", "img");
    follow(canvas);
    canvas.addEventListener("keydown", event => { const by = {ArrowLeft: -1, ArrowRight: 1}[event.key]; if (by) { event.preventDefault(); movePointer(canvas.run, by); } });
    place.replaceChildren(canvas);
  }
  canvas.run = run;
  canvas.setAttribute("aria-label", `${say("Timeline")}: ${say("how every node spends its time")}`);
  const groups = groupsOf(count, MOST_BANDS), narrow = sizeOf(place)[0] < 480, grouped = groups.length < count;
  const over = overTime(run, canvas, heightOf(groups), narrow ? 30 : grouped ? 124 : 84, narrow ? 4 : 92);
  still(over, run, [PARTS.map(([what]) => run.columns.get(what).version), state.nodes], layer => { drawBands(layer, run, groups); drawNames(layer, run, groups, narrow); });
  if (!narrow) drawWaits(over, run, groups);
  moving(over);
  drawLegend(run);
}

const middleOf = (y, band) => TOP + y * band + (band - 4) / 2 + 4;

function drawNames({context}, run, groups, narrow) {
  const one = node => isNamed(run, node) ? short(nodeName(run, node), narrow ? 4 : 11) : narrow ? node : say("node {0}", node);
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  groups.forEach(([from, to], y) => {
    context.fillStyle = color(state.nodes.some(node => node >= from && node < to) ? "text" : "muted");
    context.fillText(to - from === 1 ? one(from) : narrow ? from : say("nodes {0} to {1}", from, to - 1), 0, middleOf(y, bandOf(groups)));
  });
}

// What changes with the step that is shown: only its strip is drawn again.
function drawWaits({canvas, width, height, right, steps}, run, groups) {
  const shown = indexAt(steps, shownStep(run)), lost = lostNow(run), key = [canvas.drawn, shown, [...lost]].join();
  if (canvas.waits === key) return;
  canvas.waits = key;
  const context = canvas.getContext("2d");
  context.clearRect(width - right + 10, TOP, right, height - TOP);
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "right";
  groups.forEach(([from, to], y) => {
    const waits = shown >= 0 ? mean(from, to, node => valueAt(run, "waiting", node, shown)) : null, gone = to - from === 1 && lost.has(from);
    context.fillStyle = color(gone ? "bad" : "muted");
    if (gone || waits != null) context.fillText(gone ? say("lost") : say("waits {0}", percent(waits)), width - right + 88, middleOf(y, bandOf(groups)));
  });
}

const short = (name, most) => name.length > most ? name.slice(0, most - 1) + "…" : name;

function drawLegend(run) {
  const kinds = Object.keys(NAMES_OF_MARKS).filter(kind => marksOf(run).some(mark => mark.kind === kind)), legend = get("line-legend");
  const key = [kinds, document.documentElement.lang, document.documentElement.dataset.theme].join();
  if (legend.dataset.key === key) return;
  legend.dataset.key = key;
  legend.replaceChildren(...PARTS.map(([what, ink]) => {
    const swatch = element("i", {className: "swatch"});
    swatch.style.background = `var(--${ink})`;
    return element("span", {}, swatch, say(what));
  }), element("span", {className: "space"}), ...kinds.map(kind => element("span", {}, markSvg(kind), say(NAMES_OF_MARKS[kind]))));
}
