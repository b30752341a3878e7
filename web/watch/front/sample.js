// The last text that a language model wrote.
import {get} from "./dom.js";
import {say} from "./words.js";

export function drawSample(run) {
  const sample = run.series.sample;
  get("sample-panel").hidden = !sample;
  if (!sample) return;
  get("sample-about").textContent = say("step {0}", sample.step);
  if (get("sample").textContent !== sample.text) get("sample").textContent = sample.text;
}
