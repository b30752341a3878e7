// Small helpers to make elements. Texts are always set as text: names of runs come from outside.
import {changed} from "./state.js";

const SVG = "http://www.w3.org/2000/svg";

export const get = id => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function svg(tag, attributes = {}, parent = null, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) if (value != null) made.setAttribute(key, value);
  if (text != null) made.textContent = text;
  parent?.append(made);
  return made;
}

// <dt>/<dd> pairs, replaced only where they differ, so that nothing flickers and focus stays.
export function fillList(list, pairs) {
  while (list.children.length > pairs.length) list.lastChild.remove();
  pairs.forEach(([name, value, title], i) => {
    let part = list.children[i];
    if (!part) { part = element("div", {}, element("dt"), element("dd")); list.append(part); }
    const [dt, dd] = part.children;
    if (dt.textContent !== name) dt.textContent = name;
    if (dd.textContent !== value) dd.textContent = value;
    part.title = title ?? "";
  });
}

// A row of buttons of which one is pressed; always the same ones at the same place.
export function choice(place, options, chosen, pick) {
  const key = JSON.stringify([options, chosen]);
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  if (place.children.length === options.length) {
    options.forEach(([value, label], i) => { place.children[i].textContent = label; place.children[i].setAttribute("aria-pressed", value === chosen); });
    return;
  }
  place.replaceChildren(...options.map(([value, label]) => {
    const button = element("button", {type: "button", textContent: label});
    button.dataset.value = value;
    button.setAttribute("aria-pressed", value === chosen);
    button.addEventListener("click", () => pick(value));
    return button;
  }));
}

// Width and height of an element without asking the browser, which would have to lay the page out in
// the middle of a drawing.
const sizes = new WeakMap(), watcher = new ResizeObserver(entries => {
  for (const {target} of entries) sizes.set(target, [target.clientWidth, target.clientHeight]);
  changed();
});
export function sizeOf(target) {
  if (!sizes.has(target)) { sizes.set(target, [target.clientWidth, target.clientHeight]); watcher.observe(target); }
  return sizes.get(target);
}

// A canvas as wide as its place and `height` high, in device pixels; returns its context, scaled.
export function paper(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

let colors = null;
// A colour of design.css by its name.
export function color(name) {
  colors ??= new Map();
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return colors.get(name);
}
export const forgetColors = () => { colors = null; };

export const isDark = () => document.documentElement.dataset.theme === "dark";

export function download(name, type, content) {
  const blob = content instanceof Blob ? content : new Blob([content], {type});
  const link = element("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
