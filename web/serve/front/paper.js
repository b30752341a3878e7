// Drawing with the pointer or the keys, and what becomes of it: strokes are kept as points, and the
// model is shown a picture that looks like those of its training set in size, ground, place, scale,
// brightness and softness.
import {element, get} from "../../watch/front/dom.js";

const PEN = 0.07;                // width on the paper, of its side
const THIN = 0.05, THICK = 0.2;  // widths in the picture, of its shorter side
const REACH = 20 / 28;           // the part of a picture that its thing fills, where it is not known: MNIST's
const LARGE = 64;                // pixels: beyond, nothing is softened

const grey = level => `rgb(${level}, ${level}, ${level})`;
const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);

// What the pictures of a set have in common. `about`: of GET /model.
export function lookOf(about) {
  const [channels, height, width] = about.shape, mean = sum(about.mean, one => one) / about.mean.length;
  const colored = channels === 3;
  const [red, green, blue] = about.mean.length === 3 ? about.mean : [mean, mean, mean];
  return {width, height, colored, mean: mean < 0.5 ? mean : 1 - mean,
          ground: colored ? `rgb(${[red, green, blue].map(one => Math.round(255 * one)).join(", ")})` : grey(mean < 0.5 ? 0 : 255),
          ink: mean < 0.5 ? "#ffffff" : "#000000", reach: null};
}

// The part of a picture that its thing fills, from decoded samples on a plain ground.
export function reachOf(pictures, look) {
  const canvas = element("canvas", {width: look.width, height: look.height}), pen = canvas.getContext("2d", {willReadFrequently: true});
  const dark = look.ink === "#ffffff";
  return sum(pictures, picture => {
    pen.drawImage(picture, 0, 0, look.width, look.height);
    const {data} = pen.getImageData(0, 0, look.width, look.height);
    let left = look.width, right = -1, top = look.height, bottom = -1;
    for (let y = 0; y < look.height; ++y)
      for (let x = 0; x < look.width; ++x) {
        const level = data[4 * (y * look.width + x)];
        if (dark ? level < 64 : level > 191) continue;
        left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
      }
    return Math.min(1, Math.max(0.3, (right - left + 1) / look.width, (bottom - top + 1) / look.height));
  }) / pictures.length;
}

function trace(pen, strokes, place, width) {
  pen.lineWidth = width;
  pen.lineCap = pen.lineJoin = "round";
  for (const stroke of strokes) {
    pen.beginPath();
    stroke.forEach((point, i) => { const [x, y] = place(point); if (i === 0) pen.moveTo(x, y); pen.lineTo(x, y); });
    pen.stroke();
  }
}

// The strokes as the model sees them: a canvas of the size of its input.
export function pictureOf(strokes, look) {
  const reach = look.reach ?? REACH, points = strokes.flat(), side = Math.min(look.width, look.height), fine = side <= LARGE ? 4 : 1;
  const [left, right] = [Math.min(...points.map(one => one[0])), Math.max(...points.map(one => one[0]))];
  const [top, bottom] = [Math.min(...points.map(one => one[1])), Math.max(...points.map(one => one[1]))];
  const canvas = element("canvas", {width: look.width * fine, height: look.height * fine}), pen = canvas.getContext("2d", {willReadFrequently: true});
  pen.strokeStyle = "#fff";
  // The coverage of each pixel, with lines of a width in pixels and moved from the middle.
  const covered = (width, [x, y]) => {
    const room = reach * side - width, length = Math.max(right - left, bottom - top);
    const scale = fine * (length > 0.05 ? room / length : side);  // a dot stays a dot
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    trace(pen, strokes, point => [canvas.width / 2 + x * fine + scale * (point[0] - (left + right) / 2), canvas.height / 2 + y * fine + scale * (point[1] - (top + bottom) / 2)], width * fine);
    return soften(pen.getImageData(0, 0, canvas.width, canvas.height).data, look, fine);
  };
  // As bright in the mean as the set, if lines of a usual width can be.
  let [thin, thick] = [THIN * side, THICK * side];
  for (let i = 0; i < 6; ++i) {
    const width = (thin + thick) / 2;
    if (sum(covered(width, [0, 0]), one => one) / (look.width * look.height) < look.mean) thin = width; else thick = width;
  }
  const middle = covered(thin, [0, 0]), ink = sum(middle, one => one);
  const most = side * (1 - reach) / 2, clamp = value => Math.max(-most, Math.min(most, value));
  const shift = [clamp(look.width / 2 - middle.reduce((all, one, i) => all + one * (i % look.width + 0.5), 0) / ink),
                 clamp(look.height / 2 - middle.reduce((all, one, i) => all + one * (Math.floor(i / look.width) + 0.5), 0) / ink)];
  return paintInk(covered(thin, shift), look);
}

// The mean over squares twice as wide as a pixel: as soft as pictures that were scaled down.
function soften(data, look, fine) {
  const wide = look.width * fine, reach = fine > 1 ? fine / 2 : 0, made = new Float32Array(look.width * look.height);
  for (let y = 0; y < look.height; ++y)
    for (let x = 0; x < look.width; ++x) {
      let all = 0, seen = 0;
      for (let v = y * fine - reach; v < (y + 1) * fine + reach; ++v)
        for (let u = x * fine - reach; u < (x + 1) * fine + reach; ++u, ++seen)
          if (u >= 0 && v >= 0 && u < wide && v < look.height * fine) all += data[4 * (v * wide + u) + 3];
      made[y * look.width + x] = all / (255 * seen);
    }
  return made;
}

function paintInk(coverage, look) {
  const canvas = element("canvas", {width: look.width, height: look.height}), pen = canvas.getContext("2d");
  pen.fillStyle = look.ground;
  pen.fillRect(0, 0, look.width, look.height);
  pen.fillStyle = look.ink;
  coverage.forEach((share, i) => { pen.globalAlpha = share; pen.fillRect(i % look.width, Math.floor(i / look.width), 1, 1); });
  return canvas;
}

// The paper on the page. `done` is called with the strokes after each, with none when it is cleared.
export function drawingPaper(look, done) {
  const sheet = get("paper"), side = 560 / Math.max(look.width, look.height);
  sheet.width = Math.round(side * look.width);
  sheet.height = Math.round(side * look.height);
  const pen = sheet.getContext("2d");
  let strokes = [], drawing = false, at = [0.5, 0.5], byKeys = false;
  const scale = Math.min(sheet.width, sheet.height), place = ([x, y]) => [x * scale, y * scale];
  function draw() {
    pen.fillStyle = look.ground;
    pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.strokeStyle = look.ink;
    trace(pen, strokes, place, PEN * scale);
    if (!byKeys) return;
    const [x, y] = place(at);
    pen.strokeStyle = drawing ? "#d55e00" : "#0b62b8";
    trace(pen, [[[x - 14, y], [x + 14, y]], [[x, y - 14], [x, y + 14]]], point => point, 4);
  }
  const move = to => { at = to; if (drawing) strokes.at(-1).push(to); draw(); };
  const lower = () => { drawing = true; strokes.push([at]); draw(); };
  const lift = () => { if (drawing) { drawing = false; draw(); done(strokes); } };
  const clear = () => { strokes = []; drawing = false; draw(); done(strokes); };

  const pointed = event => { const box = sheet.getBoundingClientRect(); return [(event.clientX - box.left) / box.width * sheet.width / scale, (event.clientY - box.top) / box.height * sheet.height / scale]; };
  sheet.addEventListener("pointerdown", event => { byKeys = false; sheet.setPointerCapture(event.pointerId); at = pointed(event); lower(); });
  sheet.addEventListener("pointermove", event => { if (drawing && !byKeys) move(pointed(event)); });
  for (const end of ["pointerup", "pointercancel"]) sheet.addEventListener(end, lift);
  const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  sheet.addEventListener("keydown", event => {
    const step = steps[event.key], stride = event.shiftKey ? 0.01 : 0.04;
    if (!step && event.key !== " " && event.key !== "Delete") return;
    event.preventDefault();
    byKeys = true;
    if (step) move([0, 1].map(i => Math.min([sheet.width, sheet.height][i] / scale, Math.max(0, at[i] + stride * step[i]))));
    else if (event.key === "Delete") clear();
    else if (drawing) lift();
    else lower();
  });
  sheet.addEventListener("blur", () => { if (byKeys) lift(); byKeys = false; draw(); });
  get("clear").addEventListener("click", clear);
  get("ask").addEventListener("click", () => done(strokes));
  draw();
  return {draw};
}
