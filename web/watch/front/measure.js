// The main measure of a run's task, as the program declares it: accuracy, perplexity or RMSE.
import {percent, signed, three} from "./format.js";
import {say} from "./words.js";

const ACCURACY = {name: "accuracy", title: "accuracy", unit: "%", up: true};
const measureOf = run => run?.series?.measure ?? ACCURACY;
export const isUp = run => measureOf(run).up;
export const isShare = run => measureOf(run).unit === "%";
export const resultName = run => { const {title} = measureOf(run); return say(title[0].toUpperCase() + title.slice(1)); };
export const resultText = (run, value) => isShare(run) ? percent(value) : three(value);
export const resultSigned = (run, mean, std) => isShare(run) ? signed(mean, std) : mean == null ? three(null) : `${three(mean)} \u00b1 ${three(std)}`;
export const resultScaled = (run, value) => value == null ? null : isShare(run) ? 100 * value : value;
export const speedName = run => say(run?.series?.things === "tokens" ? "Tokens per second" : "Samples per second");
