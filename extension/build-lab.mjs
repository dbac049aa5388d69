// Bundles the JupyterLab plugin's own modules and styles into lib/lab, from where jupyter-builder packs the labextension.
import { build } from "esbuild";

await build({
  entryPoints: ["src/lab/index.ts", "src/lab/style.css"],
  bundle: true,
  format: "esm",
  target: "es2021",
  charset: "utf8",
  legalComments: "none",
  // JupyterLab brings these; there must be one of each in a page.
  external: ["@jupyterlab/*", "@lumino/*", "@codemirror/*"],
  outdir: "lib/lab",
  logLevel: "info",
});
