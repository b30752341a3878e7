// The page of a model of pictures: a sample, a drawing or a file is asked about.
import {choice, element, get} from "../../watch/front/dom.js";
import {count} from "../../watch/front/format.js";
import {say} from "../../watch/front/words.js";
import {askAll, scrollToAnswer} from "./answers.js";
import {addressOf, chooseSample, describeModel, offerSamples, onSpeak, showCommand, tell} from "./common.js";
import {drawingPaper, lookOf, pictureOf, reachOf} from "./paper.js";

const MOST_SAMPLES = 20, MOST_BYTES = 2 ** 20;  // as in samples.cc
const pictures = new Map();  // of the samples
const WAYS = [["samples", "Samples"], ["draw", "Draw"], ["choose", "File"]];
let way = "samples";
function showWay() {
  choice(get("ways"), WAYS.map(([key, words]) => [key, say(words)]), way, picked => { way = picked; showWay(); });
  for (const [key] of WAYS) get(key + "-way").hidden = key !== way;
}

// What the model is shown, beside its answer.
function showSeen(canvas) {
  canvas.id = "seen";
  canvas.setAttribute("role", "img");
  get("seen-place").replaceChildren(canvas);
  onSeen();
}
const onSeen = () => { get("seen")?.setAttribute("aria-label", say("what the model sees")); };
onSpeak(onSeen);

// The middle of a picture in the size of the model's input.
function middleOf(picture, look) {
  const canvas = element("canvas", {width: look.width, height: look.height}), pen = canvas.getContext("2d");
  const [wide, high] = [picture.naturalWidth, picture.naturalHeight], scale = Math.max(look.width / wide, look.height / high);
  if (!look.colored) pen.filter = "grayscale(1)";
  pen.imageSmoothingQuality = "high";
  pen.drawImage(picture, (look.width - scale * wide) / 2, (look.height - scale * high) / 2, scale * wide, scale * high);
  return canvas;
}

function askSample(sample, picture, look) {
  showSeen(middleOf(picture, look));
  const bytes = Uint8Array.from(atob(sample.picture.split(",")[1]), letter => letter.charCodeAt(0));
  askAll(new Blob([bytes], {type: "image/png"}), sample.label, sample.class).then(scrollToAnswer);
}

async function askFile(file, look) {
  if (!file) return;
  chooseSample(null);
  const picture = element("img", {src: URL.createObjectURL(file)});
  get("seen-place").replaceChildren();
  picture.decode().then(() => showSeen(middleOf(picture, look)), () => { /* the service says what is wrong with it */ })
    .finally(() => URL.revokeObjectURL(picture.src));
  askAll(file).then(scrollToAnswer);
}

function askDrawing(strokes, look) {
  if (!strokes.length) return tell(say("Draw something first."));
  chooseSample(null);
  if (look.colored) look.ink = get("ink").value;
  else if (pictures.size) look.reach ??= reachOf([...pictures.values()], look);
  const canvas = pictureOf(strokes, look);
  showSeen(canvas);
  canvas.toBlob(blob => askAll(blob), "image/png");
}

function takeFiles(look) {
  const drop = get("drop");
  get("file").addEventListener("change", () => askFile(get("file").files[0], look));
  for (const kind of ["dragover", "dragenter"]) drop.addEventListener(kind, event => { event.preventDefault(); drop.className = "over"; });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => { drop.className = ""; });
  drop.addEventListener("drop", event => { event.preventDefault(); askFile(event.dataTransfer.files[0], look); });
}

async function start() {
  showCommand(`curl --data-binary @photo.jpg ${addressOf("predict")}`);
  onSpeak(showWay);
  const about = await describeModel(({shape: [channels, height, width], classes}) => [
    [say("Sees"), `${width} × ${height}, ${say(channels === 3 ? "colour" : "grey")}`], [say("Classes"), count(classes.length)]]);
  if (!about) return;
  const look = lookOf(about);
  takeFiles(look);
  const sheet = drawingPaper(look, strokes => askDrawing(strokes, look));
  get("ink-label").hidden = !look.colored;
  get("ink").value = look.ink;
  get("ink").addEventListener("input", () => { look.ink = get("ink").value; sheet.draw(); });
  const pixels = about.shape.reduce((all, one) => all * one), expected = Math.min(MOST_SAMPLES, Math.max(1, Math.floor(MOST_BYTES / pixels)));
  await offerSamples(expected, (button, sample) => {
    const picture = element("img", {src: sample.picture, alt: "", width: 56, height: 56});
    pictures.set(sample, picture);
    button.append(picture, sample.class);
  }, sample => askSample(sample, pictures.get(sample), look));
}
start();
