// How far the run is; the same bar replays it. What is done is solid, what is not yet done hatched.
import {element, fillList, get, svg} from "./dom.js";
import {count, duration, fixed, percent} from "./format.js";
import {markSvg, marksKey, marksOf, nameOf} from "./marks.js";
import {allSteps, changed, last, lastStep, shownStep, shownValue, state} from "./state.js";
import {languageNow, say} from "./words.js";

let slider, done, seen, marks, playing = null;

function make() {
  const track = get("track"), bar = element("div", {className: "bar"});
  done = element("div", {className: "done"});
  seen = element("div", {className: "seen"});
  bar.append(done, seen);
  marks = element("div");
  slider = element("input", {type: "range", min: 0, id: "slider"});
  slider.addEventListener("input", () => { state.at = Number(slider.value) >= Number(slider.max) ? null : Number(slider.value); changed(); });
  track.append(bar, marks, slider);
  get("play").addEventListener("click", () => playing ? pause() : play());
}

function pause() {
  clearInterval(playing);
  playing = null;
  changed();
}

// The whole run in some twelve seconds.
function play() {
  const run = state.runs.get(state.focus);
  if (!run?.series) return;
  const end = lastStep(run);
  let at = state.at ?? 0;
  playing = setInterval(() => {
    at += Math.max(end / 120, 1);
    state.at = at >= end ? null : Math.round(at);
    if (state.at === null) pause();
    changed();
  }, 100);
  changed();
}

export function drawRunBar(run) {
  if (!slider) make();
  const now = lastStep(run), all = allSteps(run) ?? now, at = shownStep(run), share = step => 100 * Math.min(step / Math.max(all, 1), 1);
  done.style.width = share(now) + "%";
  seen.style.width = share(at) + "%";
  slider.style.width = `calc(${share(now)}% + 9px)`;
  slider.max = now;
  slider.value = at;
  slider.setAttribute("aria-label", say("Step shown"));
  slider.setAttribute("aria-valuetext", say("Step {0}", count(at)));
  const key = [marksKey(run), all, run.graphVersion, document.documentElement.dataset.theme, document.documentElement.lang].join();
  if (marks.dataset.key !== key) {
    marks.dataset.key = key;
    marks.replaceChildren(...[{kind: "start", step: 0}, ...marksOf(run)].slice(-80).map(mark => {
      const shape = markSvg(mark.kind);
      shape.style.left = share(mark.step) + "%";
      shape.dataset.step = mark.step;
      svg("title", {}, shape, nameOf(mark));
      return shape;
    }));
  }
  for (const shape of marks.children) shape.style.opacity = Number(shape.dataset.step) > at ? 0.4 : 1;
  get("far").replaceChildren(element("b", {textContent: say("Step {0}", count(at))}), " " + (all > at ? say("of {0}", count(all)) : ""));
  const epoch = shownValue(run, "epoch");
  get("part").textContent = (epoch == null ? "" : say("epoch {0}", fixed(epoch, 2)) + " · ") + percent(at / Math.max(all, 1));
  get("play").textContent = playing ? "❚❚" : "▶";
  get("play").setAttribute("aria-label", say(playing ? "Pause" : "Play"));
  const seconds = elapsed(run), left = run.ended || !(now > 0) ? null : seconds * (all - now) / now;
  const clock = new Date(Date.now() + 1000 * (left ?? 0)).toLocaleTimeString(languageNow(), {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  fillList(get("times"), [[say("Elapsed"), duration(state.at == null ? seconds : shownValue(run, "seconds"))], ...(run.ended ? [] : [[say("Remaining"), duration(left)], [say("Ends about"), left == null ? "–" : clock]])]);
}

// Seconds of training until now: of the last measurement, and since then by the speed until there.
export function elapsed(run) {
  const {step, seconds} = run.series.measurements;
  if (step.length) return last(seconds) * Math.max(lastStep(run), 1) / Math.max(last(step), 1);
  const times = (run.now?.nodes ?? []).map(node => (node.computing ?? 0) + (node.waiting ?? 0) + (node.communicating ?? 0));
  return times.length ? Math.max(...times) : null;
}
