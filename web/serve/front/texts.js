// The page of a language model: the beginning of a text, and its continuation as it is written.
import {element, get} from "../../watch/front/dom.js";
import {count, three} from "../../watch/front/format.js";
import {say} from "../../watch/front/words.js";
import {asked, chooseSample, describeModel, offerSamples, pill, showCommand, tell} from "./common.js";

const SETTINGS = ["tokens", "temperature", "top_k", "seed"];
const settings = () => Object.fromEntries(SETTINGS.map(key => [key, get(key).value]));

// The events of a stream, as [name, data].
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const events = (left + value).split("\n\n");
    left = events.pop();
    for (const event of events) {
      const [head, data] = event.split("\n");
      yield [head.slice("event: ".length), JSON.parse(data.slice("data: ".length))];
    }
  }
}

let stopped = null;
async function write() {
  const prompt = get("prompt").value, began = performance.now();
  stopped = new AbortController();
  get("go").disabled = true;
  get("stop").disabled = false;
  get("text").replaceChildren(element("b", {textContent: prompt}));
  pill("Writing…", "note");
  tell("");
  get("pace").textContent = "";
  try {
    const reply = await asked("generate", {method: "POST", body: prompt, signal: stopped.signal}, settings());
    for await (const [name, told] of eventsOf(reply.body)) {
      if (name === "text") get("text").append(told.text);
      if (name === "failed") throw new Error(told.error);
      if (name !== "done") continue;
      pill("Ready", "right");
      get("pace").textContent = say("{0} tokens, {1} per second", count(told.tokens), three(told.tokens / (performance.now() - began) * 1000));
      return tell(get("pace").textContent);
    }
    throw new Error(say("The service has ended the text."));
  } catch (error) {
    if (error.name === "AbortError") { pill("Stopped"); return; }
    pill("No answer", "failed");
    tell(error.message, true);
  } finally {
    get("go").disabled = false;
    get("stop").disabled = true;
  }
}

function showCall() {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(settings())) query.set(key, value);
  showCommand(`curl -N --data-binary '${get("prompt").value.replaceAll("'", "'\\''")}' '${location.origin}/generate?${query}'`);
}

async function start() {
  get("form").addEventListener("submit", event => { event.preventDefault(); write(); });
  get("form").addEventListener("input", showCall);
  get("prompt").addEventListener("input", () => chooseSample(null));
  get("stop").addEventListener("click", () => stopped?.abort());
  showCall();
  const about = await describeModel(({context, tokenizer, vocabulary}) => [
    [say("Sees"), say("{0} tokens", count(context))], [say("Vocabulary"), say("{0} symbols", count(vocabulary))], [say("Tokenizer"), tokenizer]]);
  if (!about) return;
  await offerSamples(6, (button, sample) => button.append(sample.text), sample => { get("prompt").value = sample.text; showCall(); get("prompt").focus(); });
}
start();
