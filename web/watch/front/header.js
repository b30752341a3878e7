// Who and what: the name, the state in one word, and the facts of the configuration.
import {element, fillList, get} from "./dom.js";
import {amount, duration, nodesText} from "./format.js";
import {show} from "./compare.js";
import {graphName} from "./graph.js";
import {hasNone, lastStep, state, viewOf} from "./state.js";
import {otherLanguage, say} from "./words.js";

const GOOD_ENDS = ["", "steps", "target", "interrupted", "no samples left"];

function pill(words, kind) {
  const place = get("state");
  if (place.textContent !== words) place.textContent = words;
  place.className = "pill " + kind;
  delete place.dataset.say;
}

export function drawHeader(run) {
  get("language").textContent = otherLanguage().toUpperCase();
  get("language").lang = otherLanguage();
  get("theme").textContent = say(document.documentElement.dataset.theme === "dark" ? "Light" : "Dark");
  if (state.silent) pill(say("Not updated for {0}", duration((performance.now() - state.heard) / 1000)), "note");
  else if (state.problem) pill(say("The update could not be read: {0}", state.problem), "failed");
  else if (!run?.series) pill(hasNone() ? say("Start one: {0}", "veche train") : say("Connecting…"), "");
  else if (state.at != null && state.at < lastStep(run)) pill(say("Replay"), "note");
  else if (!run.ended) pill(say("Training"), "live");
  else pill(say(GOOD_ENDS.includes(run.series.stopped) ? "Ended" : "Failed"), GOOD_ENDS.includes(run.series.stopped) ? "" : "failed");
  if (hasNone()) get("title").textContent = say("No run here yet");
  if (!run?.about || !run.series || !run.graph) return;
  get("why").textContent = run.ended && !GOOD_ENDS.includes(run.series.stopped) ? run.series.stopped : "";
  get("title").textContent = run.name;
  const {strategy, model, data, partition, codec, engine} = run.about, {parameters} = run.series;
  fillList(get("facts"), [[say("Strategy"), strategy], [say("Graph"), graphName(run)], [say("Model"), [model || "–", ...(parameters ? [say("{0} parameters", amount(parameters))] : [])].join(", ")], [say("Data"), [data, partition].filter(Boolean).join(", ") || "–"],
    ...(codec && codec !== "none" ? [[say("Codec"), codec]] : []), [say("Engine"), `${engine && engine !== "auto" ? engine + ", " : ""}${nodesText(viewOf(run).seats.length)}`]]);
  const names = [...state.runs.keys()], key = JSON.stringify([names, state.focus]);
  get("focus-label").hidden = names.length < 2;
  if (get("focus").dataset.key !== key) {
    get("focus").dataset.key = key;
    get("focus").replaceChildren(...names.map(name => element("option", {value: name, textContent: name, selected: name === state.focus})));
  }
}

get("focus").addEventListener("change", event => show(event.target.value));
