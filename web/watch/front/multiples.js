// Small multiples: each chosen run in a drawing of its own, before the others in grey, all on one
// scale.
import {element, get, svg} from "./dom.js";
import {labels, ticks} from "./format.js";
import {marksKey} from "./marks.js";
import {colorOf} from "./curves.js";
import {last, state} from "./state.js";
import {isShare, resultName, resultScaled, resultText} from "./measure.js";
import {say} from "./words.js";

const WIDE = 260, HIGH = 120, LEFT = 34, RIGHT = 8, TOP = 8, BOTTOM = 20;

export function drawMultiples(runs, focus) {
  const place = get("multiples"), shown = runs.filter(run => run.series.measurements.accuracy.some(value => value != null));
  place.hidden = shown.length < 2;
  if (place.hidden) return;
  const key = JSON.stringify([shown.map(marksKey), state.across, focus.name, document.documentElement.dataset.theme, document.documentElement.lang]);
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const curves = shown.map(run => ({run, points: run.series.measurements[state.across].map((at, i) => [at, resultScaled(run, run.series.measurements.accuracy[i])]).filter(([at, value]) => at != null && value != null)}));
  const all = curves.flatMap(({points}) => points), low = Math.min(...all.map(([, value]) => value)), high = Math.max(...all.map(([, value]) => value), low + 1e-9), most = Math.max(...all.map(([at]) => at), 1e-9);
  const x = at => LEFT + (WIDE - LEFT - RIGHT) * at / most, y = value => HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * (value - low) / (high - low), path = points => points.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const levels = ticks(low, high, 3), words = labels(levels);
  place.replaceChildren(...curves.map(({run, points}) => {
    const drawing = svg("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${run.name}: ${resultName(run)} ${resultText(run, last(run.series.measurements.accuracy))}`});
    levels.forEach((value, i) => {
      svg("path", {d: `M${LEFT} ${y(value)}H${WIDE - RIGHT}`, class: "grid-line"}, drawing);
      svg("text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", class: "tick"}, drawing, words[i]);
    });
    svg("text", {x: WIDE - RIGHT, y: HIGH - 6, "text-anchor": "end", class: "tick"}, drawing, say({step: "Step", seconds: "Seconds", bytes: "Bytes", epoch: "Epoch"}[state.across]));
    for (const other of curves) if (other.run !== run) svg("path", {d: path(other.points), class: "other"}, drawing);
    svg("path", {d: path(points), fill: "none", stroke: colorOf(run), "stroke-width": 2.5}, drawing);
    const swatch = element("i", {className: "swatch"});
    swatch.style.background = colorOf(run);
    return element("figure", {}, element("figcaption", {}, swatch, element("b", {textContent: run.name}), element("span", {className: "muted", textContent: resultText(run, last(run.series.measurements.accuracy))})), drawing);
  }));
  place.setAttribute("aria-label", `${resultName(focus)}${isShare(focus) ? ", %" : ""}`);
}
