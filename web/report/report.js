"use strict";
// The theme and the language of the reader. Without scripts the report is light and English.
const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => { root.dataset.theme = dark.matches ? "dark" : "light"; };
paint();
dark.addEventListener("change", paint);

const UNITS = {s: "с", min: "мин", h: "ч"};
const inRussian = figure => figure.replace(/[.,]/g, sign => sign === "." ? "," : "\u00a0").replace(/\u00a0(s|min|h)(?![a-z])/g, (_, unit) => "\u00a0" + UNITS[unit]);

function speak(language) {
  root.lang = language;
  for (const one of document.querySelectorAll(".n")) {
    one.figure ??= one.textContent;
    one.textContent = language === "ru" ? inRussian(one.figure) : one.figure;
  }
  const button = document.getElementById("language"), other = language === "ru" ? "en" : "ru";
  button.textContent = other === "ru" ? "Русский" : "English";
  button.lang = other;
  button.onclick = () => speak(other);
  button.hidden = false;
}

addEventListener("DOMContentLoaded", () => speak(navigator.language.toLowerCase().startsWith("ru") ? "ru" : "en"));
