// The card of the node under the pointer or with the focus.
import {element} from "./dom.js";
import {bytes, count, three} from "./format.js";
import {take} from "./api.js";
import {changed, focused, isNamed, nodeName, state} from "./state.js";
import {resultName, resultText} from "./measure.js";
import {say} from "./words.js";

export function show(node) {
  if (state.hovered === node) return;
  state.hovered = node;
  changed();
  if (node != null) take();  // of many nodes, what the card tells is not fetched before
}

export function drawCard(run, place, nodes, slow) {
  place.querySelector(".pop")?.remove();
  const node = nodes[state.hovered];
  if (!node || !run.at?.[node.node]) return;
  const title = isNamed(run, node.node) ? nodeName(run, node.node) : say("Node {0}", node.node), status = node.lost ? "lost" : node.joined ? "joined" : node.node === slow ? "slowest" : null;
  const list = [[say("Distance"), three(node.distance)], [resultName(focused()), resultText(focused(), node.accuracy)], [say("Loss"), three(node.loss)], [say("Steps/s"), three(node.speed)], [say("Staleness"), three(node.staleness)], [say("Sent"), bytes(node.bytes)],
    ...(node.steps == null ? [] : [[say("Steps"), count(node.steps)]])];
  const stack = element("div", {className: "stack"});
  for (const [what, name] of [["computing", "compute"], ["waiting", "wait"], ["communicating", "communicate"]]) {
    const part = element("span");
    part.style.cssText = `width:${100 * (node[what] ?? 0)}%;background:var(--${name})`;
    stack.append(part);
  }
  const share = what => node[what] == null ? "–" : String(Math.round(100 * node[what]));
  const card = element("div", {className: "pop"},
    element("h3", {textContent: title}, element("span", {textContent: status ? say(status) : ""})), stack,
    element("p", {className: "muted", textContent: say("computes {0}, waits {1}, communicates {2} %", share("computing"), share("waiting"), share("communicating"))}),
    element("dl", {}, ...list.map(([name, value]) => element("div", {}, element("dt", {textContent: name}), element("dd", {textContent: value})))));
  const [x, y] = run.at[node.node], above = y > place.clientHeight / 2;
  card.style.left = Math.min(Math.max(x - 122, 4), Math.max(place.clientWidth - 248, 4)) + "px";
  card.style[above ? "bottom" : "top"] = (above ? place.clientHeight - y : y) + run.radius + 12 + "px";
  place.append(card);
}
