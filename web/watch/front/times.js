// A table of the nodes' times with bars (computing, waiting, communicating) and the staleness of
// applied updates.
import {rowsOf} from "./rows.js";

const PARTS = ["computing", "waiting", "communicating"];

export function drawTimes(parent, run) {
  const rows = rowsOf(run);
  if (rows.length === 0) {
    parent.textContent = "No data about the nodes yet.";
    return;
  }
  const wrap = Object.assign(document.createElement("div"), {className: "wide", tabIndex: 0});
  wrap.setAttribute("role", "region");
  wrap.setAttribute("aria-labelledby", "time-title");
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const label of ["node", "computing, waiting, communicating", ...PARTS.map(part => part + " s"), "staleness", "steps", "sent MB", ""])
    head.append(Object.assign(document.createElement("th"), {textContent: label, scope: "col"}));
  const body = table.createTBody();
  const longest = Math.max(...rows.map(row => PARTS.reduce((sum, part) => sum + (row[part] ?? 0), 0)), 1e-9);
  for (const row of rows.slice(0, 200)) {
    const line = body.insertRow();
    line.append(Object.assign(document.createElement("th"), {textContent: row.node, scope: "row"}));
    const bar = Object.assign(document.createElement("span"), {className: "bar"});
    bar.setAttribute("aria-hidden", "true");
    for (const part of PARTS) bar.append(Object.assign(document.createElement("span"), {className: part, style: `width:${100 * (row[part] ?? 0) / longest}%`}));
    line.insertCell().append(bar);
    for (const part of PARTS) line.insertCell().textContent = row[part]?.toFixed(2) ?? "";
    line.insertCell().textContent = row.staleness ?? "";
    line.insertCell().textContent = row.steps ?? "";
    line.insertCell().textContent = row.bytes == null ? "" : (row.bytes / 1e6).toFixed(2);
    line.insertCell().textContent = row.lost ? "lost" : row.joined ? "joined" : "";
  }
  wrap.append(table);
  parent.replaceChildren(wrap);
}
