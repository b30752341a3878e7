// The one scale of colours for all measures of nodes: the further from the background, the more
// attention a node needs. For accuracy that is a low one.
import {element, isDark} from "./dom.js";
import {endsOf, focused, state} from "./state.js";
import {fine, three} from "./format.js";
import {isUp, resultText} from "./measure.js";
import {say} from "./words.js";

const STOPS = [[236, 245, 240], [142, 208, 189], [71, 160, 166], [46, 98, 150], [58, 40, 106], [30, 12, 48]];

// Of a share 0 to 1.
export function rampColor(share) {
  const at = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1), i = Math.min(Math.floor(at), STOPS.length - 2), part = at - i;
  const mixed = STOPS[i].map((value, channel) => value + (STOPS[i + 1][channel] - value) * part);
  if (!isDark()) return mixed;
  // The same steps, mirrored in lightness: the dark end lies near the background.
  const other = STOPS[STOPS.length - 1 - i].map((value, channel) => value + (STOPS[STOPS.length - 2 - i][channel] - value) * part);
  return other;
}

export const css = ([red, green, blue]) => `rgb(${red | 0} ${green | 0} ${blue | 0})`;
export const inkOn = ([red, green, blue]) => 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10171f" : "#fff";

// How much attention a value needs, 0 to 1; null without a value.
export function attention(run, measure, value) {
  const ends = endsOf(run, measure);
  if (value == null || !ends) return null;
  const share = ends[1] > ends[0] ? (value - ends[0]) / (ends[1] - ends[0]) : 0;
  return measure === "accuracy" && isUp(run) ? 1 - share : share;
}

export const NAMES = {distance: "Distance from the mean", accuracy: "Accuracy of the node", loss: "Training loss", waiting: "Share of time waiting", staleness: "Staleness in steps"};
export function written(measure, value) {
  return measure === "accuracy" ? resultText(focused(), value) : measure === "waiting" ? fine(value) : three(value);
}

export function rampLegend(run) {
  const ends = endsOf(run, state.measure);
  if (!ends) return [];
  const bar = element("i");
  const stops = Array.from({length: 9}, (_, i) => css(rampColor(i / 8)));
  bar.style.background = `linear-gradient(90deg, ${stops.join(",")})`;
  const [low, high] = state.measure === "accuracy" && isUp(run) ? [ends[1], ends[0]] : ends;
  return [element("span", {className: "ramp"}, element("div", {textContent: say(NAMES[state.measure])}), bar,
    element("b", {}, ...[low, (low + high) / 2, high].map(value => element("span", {textContent: written(state.measure, value)}))))];
}
