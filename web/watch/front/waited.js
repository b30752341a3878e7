// Who is waited for: the nodes that compute for most of their time, which the others wait for.
import {element, get} from "./dom.js";
import {percent} from "./format.js";
import {indexAt, graphNodes, isNamed, nodeName, shownStep, state, valueAt} from "./state.js";
import {say} from "./words.js";

const MOST = 3;

export function drawWaited(run) {
  const row = indexAt(run.nodes.step, shownStep(run)), place = get("waited");
  const all = row < 0 ? [] : Array.from({length: graphNodes(run)}, (_, node) => [node, valueAt(run, "computing", node, row)]).filter(([, share]) => share != null).sort((a, b) => b[1] - a[1]);
  place.hidden = all.length < 2;
  const key = [run.name, row, run.columns.get("computing")?.version, state.focus, document.documentElement.lang].join();
  if (place.hidden || place.dataset.key === key) return;
  place.dataset.key = key;
  get("waited-list").replaceChildren(...all.slice(0, MOST).map(([node, share]) => {
    const bar = element("i");
    bar.style.width = 100 * share + "%";
    return element("li", {}, element("span", {textContent: isNamed(run, node) ? nodeName(run, node) : say("node {0}", node)}), element("span", {className: "bar"}, bar), element("b", {textContent: percent(share)}));
  }));
}
