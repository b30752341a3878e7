// The page of a model of tables: a form made from its columns.
import {element, get} from "../../watch/front/dom.js";
import {count, three} from "../../watch/front/format.js";
import {say} from "../../watch/front/words.js";
import {askAll, scrollToAnswer} from "./answers.js";
import {addressOf, chooseSample, describeModel, offerSamples, onSpeak, showCommand} from "./common.js";

const fields = new Map();  // by column

function fieldOf(column) {
  if (column.kind === "categories")
    return element("select", {}, element("option", {value: ""}), ...column.categories.map(name => element("option", {value: name, textContent: name})));
  return column.kind === "dates" ? element("input", {type: "date"}) : element("input", {type: "number", step: "any"});
}

function buildForm(columns) {
  for (const column of columns) {
    const field = fieldOf(column);
    fields.set(column.name, {column, field});
    get("fields").append(element("label", {className: "field"}, element("span", {textContent: column.name}), field));
  }
  onSpeak(() => {
    for (const {column, field} of fields.values())
      if (column.kind === "categories") field.options[0].textContent = say("missing");
      else if (column.kind === "numbers") field.placeholder = say("missing; mean {0}", three(column.mean));
  });
}

function fill(row) {
  for (const [name, {column, field}] of fields) {
    const text = row[name] ?? "";
    if (column.kind === "dates") field.type = text.includes("T") ? "datetime-local" : "date";
    if (field.type === "datetime-local") field.step = 1;
    field.value = text;
  }
}

// What stands in the form, as POST /predict takes it; empty fields are missing values.
function rowNow() {
  const row = {};
  for (const [name, {column, field}] of fields) row[name] = field.value === "" ? null : column.kind === "numbers" ? Number(field.value) : field.value;
  return row;
}

function showRow() { showCommand(`curl -d '${JSON.stringify(rowNow()).replaceAll("'", "'\\''")}' ${addressOf("predict")}`); }

function askRow(sample = null) {
  showRow();
  if (!get("form").reportValidity()) return null;  // a number that is none would be sent as missing
  if (!sample) chooseSample(null);
  return askAll(JSON.stringify(rowNow()), sample?.label ?? sample?.value, sample?.class);
}

async function start() {
  const about = await describeModel(({columns, classes, target}) => [
    [say("Columns"), count(columns.length)], [say("Answers with"), target], ...classes.length ? [[say("Classes"), count(classes.length)]] : []]);
  if (!about) return;
  buildForm(about.columns);
  get("form").addEventListener("submit", event => { event.preventDefault(); askRow(); });
  get("form").addEventListener("change", () => askRow());
  get("clear").addEventListener("click", () => { fill({}); askRow(); });
  const samples = await offerSamples(20, (button, sample) => { button.append(element("b", {textContent: sample.class ?? three(sample.value)}), `# ${count(sample.index)}`); },
                                     sample => { fill(sample.row); askRow(sample)?.then(scrollToAnswer); });
  if (samples.length) fill(samples[0].row);
  showRow();
}
start();
