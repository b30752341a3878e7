// What the pages of a served model share: the facts in the header, the language, light or dark, and
// asking the service.
import {element, fillList, get} from "../../watch/front/dom.js";
import {count} from "../../watch/front/format.js";
import {languageNow, otherLanguage, say, sayPage, speak} from "../../watch/front/words.js";

// Draws what depends on the language; called again when it changes.
const drawings = [];
export const onSpeak = draw => { drawings.push(draw); draw(); };

// Throws an Error with the service's own sentence.
export async function asked(path, options, query = {}) {
  const search = new URLSearchParams(location.search);  // has the token, where there is one
  for (const [key, value] of Object.entries(query)) search.set(key, value);
  let reply;
  try {
    reply = await fetch(path + "?" + search, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(say("The service does not answer: {0}", error.message));
  }
  if (!reply.ok) throw new Error((await reply.json()).error);
  return reply;
}

export function tell(words, wrong = false) {
  get("told").textContent = words;
  get("told").className = wrong ? "wrong" : "unseen";
}

// Whose answer it is, as the service says it in English.
export function whoIs(who) {
  const [, nodes] = /^the average of (\d+) nodes$/.exec(who) ?? [], [, node] = /^node (\d+)$/.exec(who) ?? [];
  return nodes ? say("the average of {0} nodes", nodes) : node ? say("node {0}", node) : who;
}

// The state in one word: a sentence of russian.js.
export function pill(words, kind = "") {
  get("state").dataset.say = words;
  get("state").textContent = say(words);
  get("state").className = "pill " + kind;
}

// The answer of GET /model, which then stands in the header, with facts that a page adds.
export async function describeModel(more) {
  try {
    const about = await (await asked("model")).json();
    delete get("model").dataset.say;
    get("model").textContent = document.title = about.name;
    onSpeak(() => fillList(get("facts"), [
      [say("Answers"), whoIs(about.who)], [say("Step"), count(about.step)], [say("Model"), about.model], [say("Parameters"), count(about.parameters)], ...more(about)]));
    pill("Ready", "right");
    return about;
  } catch (error) {
    pill("No answer", "failed");
    tell(error.message, true);
    return null;
  } finally {
    document.body.classList.remove("loading");
  }
}

// Samples of the test set as buttons, or why there are none. `fill` puts the content of a sample into
// its button, `pick` is told the chosen one. Until they are there, as many blank places as `expected`
// are shown.
export async function offerSamples(expected, fill, pick) {
  get("samples").append(...Array.from({length: expected}, () => element("div", {className: "sample blank", textContent: "\u00a0"})));
  let found;
  try {
    found = await (await asked("samples")).json();
  } catch (error) {
    found = {samples: [], why: error.message};
  }
  const {samples, why} = found, place = get("samples");
  onSpeak(() => {
    get("samples-about").textContent = samples.length ? say("{0} of {1} test samples of {2}", count(samples.length), count(found.size), found.set) : say("There are no samples: {0}", why ?? say("the test set is empty"));
  });
  place.replaceChildren(...samples.map((sample, i) => {
    const button = element("button", {type: "button", className: "sample"});
    button.setAttribute("aria-pressed", false);
    button.addEventListener("click", () => { chooseSample(button); pick(sample); });
    fill(button, sample, i);
    return button;
  }));
  return samples;
}

// Null: what is asked is no sample.
export function chooseSample(button) {
  for (const one of get("samples").children) one.setAttribute("aria-pressed", one === button);
}

// How a program asks the same, for the last panel.
export const showCommand = words => { get("command").textContent = words; };
export const addressOf = path => `'${location.origin}/${path}${location.search}'`;

const system = matchMedia("(prefers-color-scheme: dark)");
function paint(theme) {
  document.documentElement.dataset.theme = theme;
  get("theme").dataset.say = theme === "dark" ? "Light" : "Dark";
  get("theme").textContent = say(get("theme").dataset.say);
}
system.addEventListener("change", () => paint(system.matches ? "dark" : "light"));
get("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

function speakPage() {
  sayPage();
  get("language").textContent = otherLanguage().toUpperCase();
  get("language").lang = otherLanguage();
  for (const draw of drawings) draw();
}
get("language").addEventListener("click", () => { speak(otherLanguage()); speakPage(); });
paint(document.documentElement.dataset.theme);
speakPage();
