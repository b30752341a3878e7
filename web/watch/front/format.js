// How this page writes figures: three significant digits, decimal units, one decimal for accuracy.
import {languageNow, say} from "./words.js";

const SPACE = "\u00a0";
export const NOTHING = "\u2013";
const there = value => value != null && Number.isFinite(value);
// Makers of numbers are kept: making one takes longer than using it.
const made = new Map();
function local(value, options = {}) {
  const key = languageNow() + JSON.stringify(options);
  if (!made.has(key)) made.set(key, new Intl.NumberFormat(languageNow(), options));
  return made.get(key).format(value);
}

export function count(value) {
  return there(value) ? local(Math.round(value)) : NOTHING;
}

// 0.487, 3.56, 61,600; powers of ten below a millionth.
export function three(value) {
  if (!there(value)) return NOTHING;
  if (value !== 0 && Math.abs(value) < 1e-6) return value.toExponential(2);
  return local(Number(value.toPrecision(3)), value === 0 ? {} : {minimumSignificantDigits: 3, maximumSignificantDigits: 3});
}

export function fixed(value, digits) {
  return there(value) ? local(value, {minimumFractionDigits: digits, maximumFractionDigits: digits}) : NOTHING;
}

// Of a share: 0.88 is 88.0 %.
export const percent = value => there(value) ? fixed(100 * value, 1) + SPACE + "%" : NOTHING;
export const fine = value => there(value) ? three(100 * value) + SPACE + "%" : NOTHING;

// Of something large that is counted: 1.48 M, 270 k.
export function amount(value) {
  if (!there(value) || value < 10_000) return count(value);
  const [unit, size] = value >= 1e9 ? ["G", 1e9] : value >= 1e6 ? ["M", 1e6] : ["k", 1e3];
  return three(value / size) + SPACE + unit;
}

export function bytes(value) {
  if (!there(value)) return NOTHING;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (Number(value.toPrecision(3)) >= 1000 && unit + 1 < units.length) { value /= 1000; ++unit; }
  return (unit === 0 ? count(value) : three(value)) + SPACE + units[unit];
}

export const nodesText = value => value === 1 ? say("1 node") : say("{0} nodes", count(value));

export const rate = value => there(value) ? bytes(value) + "/s" : NOTHING;

// 38.7 s, 2 min 01 s, 1 h 04 min.
export function duration(seconds) {
  if (!there(seconds)) return NOTHING;
  const [h, min, s] = languageNow() === "ru" ? ["ч", "мин", "с"] : ["h", "min", "s"];
  const two = value => String(value).padStart(2, "0");
  if (seconds < 59.95) return three(seconds) + SPACE + s;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
  if (whole < 3600) return minutes + SPACE + min + SPACE + two(whole % 60) + SPACE + s;
  return Math.floor(minutes / 60) + SPACE + h + SPACE + two(minutes % 60) + SPACE + min;
}

export const signed = (mean, std) => there(mean) ? fixed(100 * mean, 1) + SPACE + "±" + SPACE + fixed(100 * std, 1) + SPACE + "%" : NOTHING;

// Round steps of an axis: four or five ticks, and their decimals.
export function ticks(low, high, most = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most, ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(one => one * ten).find(one => one >= rough * 0.999);
  const made = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) made.push(Number((i * step).toPrecision(12)));
  return made;
}

// Labels of ticks that differ: as many decimals as their distance needs.
export function labels(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0] ?? 1);
  if (step !== 0 && step < 1e-5) return values.map(value => value === 0 ? "0" : value.toExponential(1));
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) ++decimals;
  return values.map(value => fixed(value, decimals));
}
