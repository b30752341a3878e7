// Makes ../page.html: the page with its style and script inside, and nothing to fetch. Run by hand when a file here
// changes (npm ci && npm run build); what it makes is committed, so that building Veche needs no node.
import {build} from "esbuild";
import {copyFileSync, readFileSync, writeFileSync} from "node:fs";

const made = await build({entryPoints: ["main.js"], bundle: true, minify: true, format: "iife", target: "es2020", charset: "ascii",
                          legalComments: "none", write: false});
const script = made.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = readFileSync("node_modules/uplot/dist/uPlot.min.css", "utf8") + readFileSync("style.css", "utf8");
// By functions: texts may hold what means something in a replacement.
const page = readFileSync("page.html", "utf8").replace("/* style */", () => style).replace("/* script */", () => script);
// The build puts it into a C++ literal that ends with this.
if (page.includes(')VECHE"')) throw new Error("the page ends its own literal");
writeFileSync("../page.html", page);
// What the browser test asks whether people can use it.
copyFileSync("node_modules/axe-core/axe.min.js", "../../../tests/browser/axe.min.js");
