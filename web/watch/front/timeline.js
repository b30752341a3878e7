// How every node spends its time: computing, communicating and waiting as a band per node, of
// groups where there are more than bands.
import {color, element, get, sizeOf} from "./dom.js";
import {percent} from "./format.js";
import {lostNow} from "./nodes.js";
import {markSvg, marksOf, NAMES_OF_MARKS} from "./marks.js";
import {BOTTOM, follow, groupsOf, hatch, losses, mean, moving, movePointer, overTime, still, TOP} from "./over_time.js";
import {columnOf, indexAt, isNamed, nodeName, shownStep, state, valueAt} from "./state.js";
import {say} from "./words.js";

const MOST_BANDS = 25;
const bandOf = groups => groups.length <= 6 ? 44 : 26;
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
  const place = get("line"), count = run.nodes?.count ?? 0;
  if (count === 0 || !PARTS.every(([what]) => columnOf(run, what))) {
    place.replaceChildren(element("p", {className: "empty", textContent: say("No measurement yet.")}));
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
  const groups = groupsOf(count, MOST_BANDS), band = bandOf(groups), narrow = sizeOf(place)[0] < 480, grouped = groups.length < count;
  const over = overTime(run, canvas, TOP + BOTTOM + groups.length * band, narrow ? 30 : grouped ? 124 : 84, narrow ? 4 : 92), {context, steps, right, width} = over;
  const shown = indexAt(steps, shownStep(run)), lost = lostNow(run);
  run.bands ??= {};
  still(over, run, run.bands, PARTS.map(([what]) => run.columns.get(what).version), layer => drawBands(layer, run, groups));
  groups.forEach(([from, to], y) => {
    const middle = TOP + y * band + (band - 4) / 2 + 4;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = color(state.nodes.some(node => node >= from && node < to) ? "text" : "muted");
    context.textAlign = "left";
    context.fillText(to - from > 1 ? narrow ? from : say("nodes {0} to {1}", from, to - 1) : isNamed(run, from) ? short(nodeName(run, from), narrow ? 4 : 11) : narrow ? from : say("node {0}", from), 0, middle);
    const waits = shown >= 0 ? mean(from, to, node => valueAt(run, "waiting", node, shown)) : null;
    const gone = to - from === 1 && lost.has(from);
    if (gone) context.fillStyle = color("bad");
    if (!narrow && (gone || waits != null)) { context.textAlign = "right"; context.fillText(gone ? say("lost") : say("waits {0}", percent(waits)), width - right + 88, middle); }
  });
  moving(over);
  drawLegend(run);
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
