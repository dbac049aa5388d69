// Bundles the notebook widget, one ES module and one style sheet, and the same for a page without a server, where the
// module is a plain script; written where the Python package finds them. The widget's module is packed.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { writePacked } from "./pack.mjs";

const folder = fileURLToPath(new URL("../gradviz/notebook/static/", import.meta.url));

const shared = { bundle: true, minify: true, target: "es2021", logLevel: "info", legalComments: "none" };

const widget = await build({ ...shared, entryPoints: ["src/widget.ts"], format: "esm", charset: "utf8", write: false });
await writePacked(`${folder}widget.js`, widget.outputFiles[0].text);
await build({ ...shared, entryPoints: { page: "src/page.ts" }, format: "iife", charset: "utf8", outdir: folder });
await build({ ...shared, entryPoints: { widget: "src/style.css", page: "src/page.css" }, charset: "utf8", outdir: folder });
