// The averaged model's answer, and every node's beside it.
import {element, get} from "../../watch/front/dom.js";
import {count, percent, three} from "../../watch/front/format.js";
import {say} from "../../watch/front/words.js";
import {asked, onSpeak, pill, tell, whoIs} from "./common.js";

const MOST_CLASSES = 10;  // shown
const MOST_ASKED = 20;    // of every node, so that its line stands also where it thinks otherwise

// A bar from 0 to `share`, and a line for each of `marks`, all in 0 .. 1.
function bar(share, marks = []) {
  const made = element("div", {className: "bar"}), at = part => `${100 * Math.min(1, Math.max(0, part))}%`;
  if (share != null) made.append(element("i"));
  if (share != null) made.firstChild.style.width = at(share);
  for (const mark of marks) { const line = element("b"); line.style.left = at(mark); made.append(line); }
  made.setAttribute("aria-hidden", "true");
  return made;
}

function head(place, words) {
  place.replaceChildren(element("tr", {}, ...words.map(([word, className]) => element("th", {textContent: word, className, scope: "col"}))));
}

function row(name, values, drawn, other = false) {
  const made = element("tr", {className: other ? "other" : ""}, element("th", {textContent: name, className: "word", scope: "row"}));
  for (const [value, className] of values) made.append(element("td", {textContent: value, className}));
  made.append(element("td", {}, drawn));
  return made;
}

function drawClasses({served, nodes}) {
  const inClass = (answer, label) => answer.classes.find(one => one.label === label)?.probability;
  head(get("classes-head"), [[say("class"), "word"], [say("probability"), ""], ["0 – 100 %", ""]]);
  get("classes").replaceChildren(...served.classes.slice(0, MOST_CLASSES).map(one =>
    row(one.class, [[percent(one.probability), ""]], bar(one.probability, nodes.map(node => inClass(node, one.label)).filter(share => share != null)))));
  head(get("nodes-head"), [[say("node"), "word"], [say("class"), "word"], [say("probability"), ""], ["0 – 100 %", ""]]);
  get("nodes").replaceChildren(...nodes.map(one =>
    row(String(one.node), [[one.class, "word"], [percent(one.probability), ""]], bar(one.probability), one.label !== served.label)));
  get("best").textContent = served.class;
  get("share").textContent = percent(served.probability);
  get("agree").textContent = nodes.length ? say("{0} of {1} nodes say the same", count(nodes.filter(one => one.label === served.label).length), count(nodes.length)) : "";
}

// Numbers stand on a scale from the smallest to the largest of all.
function drawValues({served, nodes}, truth) {
  const all = [served, ...nodes].map(one => one.value), least = Math.min(...all), most = Math.max(...all);
  const on = value => most > least ? (value - least) / (most - least) : 0.5;
  const scale = `${three(least)} – ${three(most)}`;
  head(get("classes-head"), [[say("value"), "word"], [scale, ""]]);
  get("classes").replaceChildren(row(three(served.value), [], bar(on(served.value), nodes.map(one => on(one.value)))));
  head(get("nodes-head"), [[say("node"), "word"], [say("value"), ""], [scale, ""]]);
  get("nodes").replaceChildren(...nodes.map(one => row(String(one.node), [[three(one.value), ""]], bar(on(one.value)))));
  get("best").textContent = three(served.value);
  get("share").textContent = truth == null ? "" : say("in the test set: {0}", three(truth));
  get("agree").textContent = nodes.length ? say("nodes from {0} to {1}", three(least), three(most)) : "";
}

function drawVerdict(served, truth) {
  const known = truth != null && served.class != null, right = known && truth === served.label;
  get("verdict").hidden = !known;
  get("verdict").className = "pill " + (right ? "right" : "failed");
  get("verdict").textContent = known ? say(right ? "right" : "wrong, labelled {0}", last.truthName) : "";
}

let last = null;  // what is shown
function draw() {
  get("answer").hidden = get("legend").hidden = last === null;
  get("nothing").hidden = last !== null;
  if (last === null) return;
  const {served, nodes} = last.found;
  get("who").textContent = whoIs(served.who);
  get("nodes-part").hidden = get("tick-legend").hidden = nodes.length === 0;
  get("nodes-title").textContent = say("Every node, at step {0}", count(last.found.nodes_step));
  get("other-legend").hidden = nodes.every(one => one.label === served.label);
  if (served.value == null) drawClasses(last.found); else drawValues(last.found, last.truth);
  drawVerdict(served, last.truth);
  tell(served.value == null ? `${served.class}, ${percent(served.probability)}` : three(served.value));
}
onSpeak(draw);

// On a phone the answer stands below the samples: scrolls to it where nothing of it is seen.
export function scrollToAnswer() {
  const panel = get("answer").closest("section");
  if (panel.getBoundingClientRect().top > innerHeight - 100) panel.scrollIntoView();
}

let questions = 0;
// Asks all models about a picture or a row. `truth`: the label or value of a sample of the test set.
export async function askAll(body, truth = null, truthName = "") {
  const mine = ++questions;
  pill("Asking…", "note");
  try {
    const found = await (await asked("nodes", {method: "POST", body}, {top: MOST_ASKED})).json();
    if (mine !== questions) return;
    last = {found, truth, truthName};
    pill("Ready", "right");
    draw();
  } catch (error) {
    if (mine !== questions) return;
    last = null;
    draw();
    get("nothing").hidden = true;
    pill("No answer", "failed");
    tell(error.message, true);
  }
}
