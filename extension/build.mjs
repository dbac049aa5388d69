// Bundles the notebook widget: one ES module and one style sheet, written where the Python package serves them from.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL("../gradviz/notebook/static/", import.meta.url));

const shared = { bundle: true, minify: true, target: "es2021", logLevel: "info", legalComments: "none" };

await build({ ...shared, entryPoints: { widget: "src/widget.ts" }, format: "esm", charset: "utf8", outdir: folder });
await build({ ...shared, entryPoints: { widget: "src/style.css" }, charset: "utf8", outdir: folder });
