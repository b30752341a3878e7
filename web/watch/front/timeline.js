// How every node spends its time: computing, communicating and waiting as a band per node, of
// groups where there are more than bands.
import {color, element, get, isDark} from "./dom.js";
import {percent} from "./format.js";
import {axes, BOTTOM, follow, groupsOf, mean, movePointer, overTime, TOP} from "./over_time.js";
import {columnOf, indexAt, shownStep, state, valueAt} from "./state.js";
import {say} from "./words.js";

const MOST_BANDS = 25, BAND = 26;
const PARTS = [["computing", "compute"], ["communicating", "communicate"], ["waiting", "wait"]];

// The bands alone; made again only when the data, the size or the colours change.
function picture(run, {width, height, span, steps, most}, groups) {
  const ratio = devicePixelRatio || 1, key = [run.nodes.version, width, groups.length, most, ratio, isDark()].join();
  if (run.bands?.key === key) return run.bands.canvas;
  const canvas = element("canvas", {width: Math.round(width * ratio), height: Math.round(height * ratio)}), context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  groups.forEach(([from, to], y) => {
    for (let i = 0; i < steps.length; ++i) {
      const shares = PARTS.map(([what]) => mean(from, to, node => valueAt(run, what, node, i)));
      if (shares.some(share => share == null)) continue;  // a gap stays open
      const [x, end] = span(i);
      let down = TOP + y * BAND + BAND - 4;
      PARTS.forEach(([, ink], part) => {
        const high = shares[part] * (BAND - 4);
        down -= high;
        context.fillStyle = color(ink);
        context.fillRect(x, down, Math.max(end - x, 1) + 0.5, high + 0.5);
      });
    }
  });
  run.bands = {key, canvas};
  return canvas;
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
  const groups = groupsOf(count, MOST_BANDS), narrow = place.clientWidth < 480, grouped = groups.length < count;
  const over = overTime(run, canvas, TOP + BOTTOM + groups.length * BAND, narrow ? 30 : grouped ? 124 : 84, narrow ? 4 : 92), {context, steps, right, width} = over;
  const shown = indexAt(steps, shownStep(run));
  context.drawImage(picture(run, over, groups), 0, 0, over.width, over.height);
  groups.forEach(([from, to], y) => {
    const middle = TOP + y * BAND + 15;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = color(state.node != null && state.node >= from && state.node < to ? "text" : "muted");
    context.textAlign = "left";
    context.fillText(narrow ? from : to - from > 1 ? say("nodes {0} to {1}", from, to - 1) : say("node {0}", from), 0, middle);
    const waits = shown >= 0 ? mean(from, to, node => valueAt(run, "waiting", node, shown)) : null;
    if (!narrow && waits != null) { context.textAlign = "right"; context.fillText(say("waits {0}", percent(waits)), width - right + 88, middle); }
  });
  axes(over, run);
  get("line-legend").replaceChildren(...PARTS.map(([what, ink]) => {
    const swatch = element("i", {className: "swatch"});
    swatch.style.background = `var(--${ink})`;
    return element("span", {}, swatch, say(what));
  }));
}
