// What happened, as shapes that differ in form and colour: on the run bar, above charts and in the
// list of events.
import {color, element, get, svg} from "./dom.js";
import {count, nodesText} from "./format.js";
import {focused, graphNodes, isNamed, nodeName, shownStep} from "./state.js";
import {resultText} from "./measure.js";
import {say} from "./words.js";

const SHAPES = {
  start: ["accent", "M0-5L5 0L0 5L-5 0Z", true], view: ["accent", "M0-5L5 0L0 5L-5 0Z", false],
  lost: ["bad", "M-4-4L4 4M4-4L-4 4", false], back: ["ok", "M0-5V5M-5 0H5", false], joined: ["ok", "M0-5V5M-5 0H5", false],
  checkpoint: ["muted", "M-4-4H4V4H-4Z", false], best: ["note", "M0-6L1.6-2L6-2L2.5 .8L3.8 5L0 2.5L-3.8 5L-2.5 .8L-6-2L-1.6-2Z", true], end: ["muted", "M-4-4H4V4H-4Z", true],
};
export const NAMES_OF_MARKS = {view: "view", lost: "lost", joined: "joined", checkpoint: "checkpoint", best: "best model"};

const who = mark => isNamed(focused(), mark.node) ? nodeName(focused(), mark.node) : say("Node {0}", mark.node);
const words = {
  lost: mark => say("{0} is lost", who(mark)), back: mark => say("{0} is back", who(mark)), joined: mark => say("{0} has joined", who(mark)),
  view: mark => say("View: {0}", nodesText(mark.nodes)), best: () => say("Best averaged model"), checkpoint: () => say("Checkpoint"), end: () => say("Run ended"), start: () => say("Run started"),
};
const details = {
  lost: mark => say(mark.gone ? "the others continue without it" : "it made no step since the last measurement"), best: mark => say("{0} on the test set", resultText(focused(), mark.value)), end: mark => mark.why ?? "", start: mark => nodesText(mark.nodes),
};

export const nameOf = mark => (words[mark.kind] ?? (() => mark.kind))(mark);

// What all charts show: a view is not told again where its cause is.
export function marksOf(run) {
  const key = marksKey(run);
  if (run.marks?.key !== key) {
    const causes = new Set(run.series.marks.filter(({kind}) => ["lost", "back", "joined"].includes(kind)).map(({step}) => step));
    run.marks = {key, list: run.series.marks.filter(({kind, step}) => kind !== "view" || !causes.has(step))};
  }
  return run.marks.list;
}
// Changes when the marks of a run do.
export const marksKey = run => [run.name, run.progress, run.ended, run.nodesVersion].join();

export function markSvg(kind) {
  const [ink, path, full] = SHAPES[kind] ?? SHAPES.view;
  const drawing = svg("svg", {viewBox: "-8 -8 16 16", width: 16, height: 16, class: "mark", "aria-hidden": "true"});
  svg("path", {d: path, fill: full ? color(ink) : "none", stroke: color(ink), "stroke-width": full ? 0 : 2}, drawing);
  return drawing;
}
// As text, for a drawing that is saved.
export const markPath = kind => { const [ink, path, full] = SHAPES[kind] ?? SHAPES.view; return {ink: color(ink), path, full}; };

export function drawMark(context, kind, x, y) {
  const [ink, path, full] = SHAPES[kind] ?? SHAPES.view, shape = new Path2D(path);
  context.save();
  context.translate(x, y);
  context.fillStyle = context.strokeStyle = color(ink);
  context.lineWidth = 2;
  if (full) context.fill(shape); else context.stroke(shape);
  context.restore();
}

export function drawEvents(run) {
  const place = get("events"), key = [marksKey(run), graphNodes(run), run.graphVersion, document.documentElement.lang, document.documentElement.dataset.theme].join();
  if (place.dataset.key !== key) {
    place.dataset.key = key;
    const all = [{kind: "start", step: 0, nodes: run.graph.views[0].seats.length}, ...run.series.marks].reverse().slice(0, 100);
    place.replaceChildren(...all.map(mark => {
      const item = element("li", {}, markSvg(mark.kind),
        element("div", {}, element("b", {textContent: nameOf(mark)}), element("div", {className: "muted", textContent: (details[mark.kind] ?? (() => ""))(mark)})), element("span", {className: "muted", textContent: say("step {0}", count(mark.step))}));
      item.dataset.step = mark.step;
      return item;
    }));
  }
  for (const item of place.children) item.classList.toggle("later", Number(item.dataset.step) > shownStep(run));
}
