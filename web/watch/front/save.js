// Curves as files. PNG: what is on the screen; SVG: drawn again as lines; CSV: every number.
import {color, download, element} from "./dom.js";
import {labels, ticks} from "./format.js";
import {markPath, marksOf} from "./marks.js";
import {focused, indexAt, state} from "./state.js";

const shown = made => made.filter(({section}) => !section.hidden);
const headOf = ({title, unit}) => unit ? `${title}, ${unit}` : title;

export function saveCsv(made) {
  const rows = [["chart", "unit", "line", "across", "x", "y"]];
  for (const {title, unit, across, lines} of shown(made)) for (const {name, x, y} of lines) y.forEach((value, i) => { if (value != null) rows.push([title, unit, name, across, x[i], value]); });
  const cell = value => /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  download("veche.csv", "text/csv", rows.map(row => row.map(cell).join(",") + "\r\n").join(""));
}

export function savePng(made) {
  const all = shown(made).map(entry => ({canvas: entry.plot.ctx.canvas, name: headOf(entry)})), ratio = devicePixelRatio || 1;
  const wide = Math.max(...all.map(({canvas}) => canvas.width)), high = Math.max(...all.map(({canvas}) => canvas.height)) + 28 * ratio;
  const sheet = element("canvas", {width: 2 * wide, height: Math.ceil(all.length / 2) * high}), context = sheet.getContext("2d");
  context.fillStyle = color("panel");
  context.fillRect(0, 0, sheet.width, sheet.height);
  context.fillStyle = color("text");
  context.font = `650 ${13 * ratio}px system-ui, sans-serif`;
  all.forEach(({canvas, name}, i) => {
    const [x, y] = [(i % 2) * wide, Math.floor(i / 2) * high];
    context.fillText(name, x + 12 * ratio, y + 18 * ratio);
    context.drawImage(canvas, x, y + 26 * ratio);
  });
  sheet.toBlob(blob => download("veche.png", "image/png", blob));
}

const escaped = text => text.replace(/[&<>"]/g, one => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[one]);
const WIDE = 560, HIGH = 300;

function chartSvg(entry, place) {
  const {lines, plot, across} = entry, {x: {min: left, max: right}, y: {min: low, max: top}} = plot.scales, log = state.log && low > 0, of = value => log ? Math.log(value) : value;
  const x = value => 60 + (WIDE - 80) * (value - left) / Math.max(right - left, 1e-12), y = value => HIGH - 40 - (HIGH - 100) * (of(value) - of(low)) / Math.max(of(top) - of(low), 1e-12);
  const point = (value, k, xs) => `${x(xs[k]).toFixed(1)} ${y(value).toFixed(1)}`, drawn = value => value != null && (!log || value > 0);
  const at = log ? [low, top] : ticks(low, top), words = labels(at);
  const grid = at.map((value, k) => `<path d="M60 ${y(value)}H${WIDE - 20}" stroke="#e1e6eb"/><text x="54" y="${y(value) + 4}" text-anchor="end">${words[k]}</text>`);
  const below = ticks(left, right, 4), numbers = labels(below), feet = below.map((value, k) => `<text x="${x(value)}" y="${HIGH - 22}" text-anchor="middle">${numbers[k]}</text>`);
  const curves = lines.filter(({edge}) => !edge).map(({name, x: xs, y: ys, ink, dash}) => {
    let path = "", open = false;
    ys.forEach((value, k) => { if (!drawn(value)) { open = false; return; } path += (open ? "L" : "M") + point(value, k, xs); open = true; });
    return `<path d="${path}" fill="none" stroke="${ink}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"><title>${escaped(name)}</title></path>`;
  });
  const legend = lines.filter(({edge}) => !edge).slice(0, 6).map(({name, ink}, k) => `<text x="${70 + (k % 3) * 160}" y="${34 + 12 * Math.floor(k / 3)}" fill="${ink}">${escaped(name)}</text>`);
  return `<g transform="translate(${(place % 2) * WIDE} ${Math.floor(place / 2) * HIGH})"><text x="60" y="20" font-weight="650" font-size="13">${escaped(headOf(entry))}</text>${grid.join("")}${feet.join("")}${bandSvg(lines, point, drawn)}${marksSvg(across, x, left, right)}${curves.join("")}${legend.join("")}<text x="${WIDE - 20}" y="${HIGH - 6}" text-anchor="end">${escaped(across)}</text></g>`;
}

// The deviation of the nodes around their mean.
function bandSvg(lines, point, drawn) {
  const [high, low] = lines.filter(({edge}) => edge);
  if (!low) return "";
  const there = high.y.flatMap((value, k) => drawn(value) && drawn(low.y[k]) ? [k] : []);
  return there.length < 2 ? "" : `<path class="band" d="M${there.map(k => point(high.y[k], k, high.x)).join("L")}L${there.toReversed().map(k => point(low.y[k], k, low.x)).join("L")}Z" fill="${high.ink}" opacity="0.15"/>`;
}

function marksSvg(across, x, left, right) {
  const {measurements} = focused().series;
  return marksOf(focused()).map(mark => {
    const value = across === "step" ? mark.step : measurements[across][indexAt(measurements.step, mark.step)], {ink, path, full} = markPath(mark.kind);
    return value == null || value < left || value > right ? "" : `<path d="M${x(value)} 60V${HIGH - 40}" stroke="#8e9baa" stroke-dasharray="2 3"/><path transform="translate(${x(value)} 52)" d="${path}" fill="${full ? ink : "none"}" stroke="${ink}" stroke-width="${full ? 0 : 2}"/>`;
  }).join("");
}

export function saveSvg(made) {
  const all = shown(made);
  download("veche.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * WIDE} ${Math.ceil(all.length / 2) * HIGH}" font-family="sans-serif" font-size="11" fill="#10171f"><rect width="100%" height="100%" fill="#fff"/>${all.map(chartSvg).join("")}</svg>`);
}
