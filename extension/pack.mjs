// Packs an ES module: kernels send it to the browser, and notebooks keep it, in half the size.
import { readFile, writeFile } from "node:fs/promises";
import { gunzipSync, gzipSync } from "node:zlib";

const PACKED = /^const packed = "([^"]*)";/;

/** Writes a module that unpacks `source`, a module with a default export, and exports the same. */
export async function writePacked(path, source) {
  // Other versions of zlib find other bytes for the same source: what says the same stays as it is.
  if ((await unpacked(path)) === source) return;
  const packed = gzipSync(source, { level: 9 }).toString("base64");
  await writeFile(path, `const packed = "${packed}";\n${UNPACK}`);
}

/** The source in a packed module; null where there is none. */
async function unpacked(path) {
  const found = PACKED.exec(await readFile(path, "utf8").catch(() => ""));
  return found && gunzipSync(Buffer.from(found[1], "base64")).toString();
}

const UNPACK = `const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const url = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: "text/javascript" }));
const module = await import(url);
URL.revokeObjectURL(url);
export default module.default;
`;
