// What the page says, in the language of the browser or the one that was chosen. The English
// sentences are the keys.
import {russian} from "./russian.js";

const LANGUAGES = ["en", "ru"];
const kept = key => { try { return localStorage.getItem(key); } catch { return null; } };

let language = LANGUAGES.find(one => one === kept("veche-language")) ??
  LANGUAGES.find(one => navigator.language.toLowerCase().startsWith(one)) ?? "en";

export const languageNow = () => language;
export const otherLanguage = () => language === "en" ? "ru" : "en";

export function speak(other) {
  language = other;
  try { localStorage.setItem("veche-language", other); } catch { /* the choice lasts until the page is left */ }
  document.documentElement.lang = other;
}

// Sentences that had no Russian; a test looks here.
const unsaid = globalThis.unsaid = new Set();

// `{0}`, `{1}` in a sentence are replaced by the further arguments.
export function say(sentence, ...values) {
  if (language === "ru" && !(sentence in russian)) unsaid.add(sentence);
  const words = language === "ru" ? russian[sentence] ?? sentence : sentence;
  return words.replace(/\{(\d)\}/g, (_, i) => values[i]);
}

let said = null;

// The fixed texts of page.html.
export function sayPage() {
  if (said === language) return;
  said = language;
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-say]")) {
    const words = say(element.dataset.say);
    if (element.textContent !== words) element.textContent = words;
  }
}
