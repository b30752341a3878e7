// Curves as files. PNG: what is on the screen; SVG: drawn again as lines; CSV: every number.
import {color, download, element} from "./dom.js";
import {labels, ticks} from "./format.js";
import {state} from "./state.js";
import {say} from "./words.js";

const shown = made => made.filter(({section}) => !section.hidden);

export function saveCsv(made) {
  const rows = [["chart", "line", "across", "x", "y"]];
  for (const {chart, lines} of shown(made)) for (const {name, x, y} of lines) y.forEach((value, i) => { if (value != null) rows.push([chart.name, name, chart.across ?? state.across, x[i], value]); });
  const cell = value => /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  download("veche.csv", "text/csv", rows.map(row => row.map(cell).join(",") + "\r\n").join(""));
}

export function savePng(made) {
  const all = shown(made).map(({plot, chart}) => ({canvas: plot.ctx.canvas, name: say(chart.name)})), ratio = devicePixelRatio || 1;
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

export function saveSvg(made) {
  const wide = 560, high = 300, all = shown(made);
  const parts = all.map(({chart, lines, plot}, i) => {
    const {x: {min: left, max: right}, y: {min: low, max: top}} = plot.scales, log = state.log && low > 0, of = value => log ? Math.log(value) : value;
    const x = value => 60 + (wide - 80) * (value - left) / Math.max(right - left, 1e-12), y = value => high - 40 - (high - 80) * (of(value) - of(low)) / Math.max(of(top) - of(low), 1e-12);
    const at = log ? [low, top] : ticks(low, top), words = labels(at);
    const grid = at.map((value, k) => `<path d="M60 ${y(value)}H${wide - 20}" stroke="#e1e6eb"/><text x="54" y="${y(value) + 4}" text-anchor="end">${words[k]}</text>`);
    const below = ticks(left, right, 4), marks = labels(below), feet = below.map((value, k) => `<text x="${x(value)}" y="${high - 22}" text-anchor="middle">${marks[k]}</text>`);
    const curves = lines.filter(({edge}) => !edge).map(({name, x: xs, y: ys, ink, dash}) => {
      let path = "", open = false;
      ys.forEach((value, k) => { if (value == null || (log && value <= 0)) { open = false; return; } path += `${open ? "L" : "M"}${x(xs[k]).toFixed(1)} ${y(value).toFixed(1)}`; open = true; });
      return `<path d="${path}" fill="none" stroke="${ink}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"><title>${escaped(name)}</title></path>`;
    });
    const legend = lines.filter(({edge}) => !edge).slice(0, 6).map(({name, ink}, k) => `<text x="${70 + (k % 3) * 160}" y="${36 + 13 * Math.floor(k / 3)}" fill="${ink}">${escaped(name)}</text>`);
    return `<g transform="translate(${(i % 2) * wide} ${Math.floor(i / 2) * high})"><text x="60" y="20" font-weight="650" font-size="13">${escaped(say(chart.name) + (chart.unit ? ", " + chart.unit : ""))}</text>${grid.join("")}${feet.join("")}${curves.join("")}${legend.join("")}<text x="${wide - 20}" y="${high - 6}" text-anchor="end">${escaped(chart.across ?? state.across)}</text></g>`;
  });
  download("veche.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * wide} ${Math.ceil(all.length / 2) * high}" font-family="sans-serif" font-size="11" fill="#10171f"><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>`);
}
