// Compiles the tests with esbuild into a folder of their own and runs them with node's test runner.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "gradviz-tests-"));
const names = readdirSync(here, { recursive: true }).filter((name) => name.endsWith(".test.ts")).sort();

try {
  await build({
    entryPoints: names.map((name) => join(here, name)),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  const compiled = names.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
  const result = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...compiled], { stdio: "inherit" });
  process.exitCode = result.status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
