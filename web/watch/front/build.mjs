// Makes ../page.html: the page with its style and script inline, nothing to fetch. Run by hand when
// a file here changes (npm ci && npm run build). The result is committed, so that building Veche
// needs no Node.js.
import {build} from "esbuild";
import {copyFileSync, readFileSync, writeFileSync} from "node:fs";

const made = await build({entryPoints: ["main.js"], bundle: true, minify: true, format: "iife", target: "es2020", charset: "ascii",
                          legalComments: "none", write: false});
const script = made.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = readFileSync("node_modules/uplot/dist/uPlot.min.css", "utf8") + readFileSync("../../design.css", "utf8") + readFileSync("style.css", "utf8");
// Replacement by functions, since the texts may contain replacement patterns such as $&.
const page = readFileSync("page.html", "utf8").replace("/* style */", () => style).replace("/* script */", () => script);
// The build puts the page into a C++ literal that ends with this.
if (page.includes(')VECHE"')) throw new Error("the page ends its own literal");
writeFileSync("../page.html", page);
// Used by the browser test to check accessibility.
copyFileSync("node_modules/axe-core/axe.min.js", "../../../tests/browser/axe.min.js");
