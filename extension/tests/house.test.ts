// The house of the extension: how full its rooms are, and which way imports go.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, sep } from "node:path";
import { test } from "node:test";

const SOURCES = "src";
const MOST_LOOSE = 20;

/** The rooms from the ground up: one imports itself and those below it, not those beside it. */
const FLOORS = [
  ["model/schema"],
  ["model/recording"],
  ["model/document"],
  ["model/filters/conditions"],
  ["model/filters", "model/answers"],
  ["formula"],
  ["lesson"],
  ["views/elements"],
  ["views/graph/drawing"],
  ["views/program", "views/timeline", "views/graph", "views/inspector", "views/lesson"],
  ["views/shell"],
  ["lab", "widget.ts"],
  ["page.ts"],
];

const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts")).map((name) => name.split(sep).join("/")).sort();

/** The room of a file: its folder, or for what stands loose at the top the file itself. */
const roomOf = (file: string): string => (file.includes("/") ? dirname(file) : file);
const floorOf = (file: string): number => FLOORS.findIndex((rooms) => rooms.includes(roomOf(file)));

/** The files of ours that a file imports, for their types too; of a room without a file its door. */
function importsOf(file: string): string[] {
  const found = readFileSync(join(SOURCES, file), "utf8").matchAll(/^(?:import|export)\b[^;]*?"(\.[^"]*)";/gm);
  const paths = [...found].map(([, path = ""]) => posix.join(dirname(file), path));
  return paths.map((path) => files.find((one) => one === `${path}.ts` || one === `${path}/index.ts`) ?? path);
}

test("a folder holds no more files than a newcomer can tell apart", () => {
  const folders = [...new Set(files.map((file) => dirname(file)))];
  assert.deepEqual(folders.filter((folder) => files.filter((file) => dirname(file) === folder).length > MOST_LOOSE), []);
});

test("every folder is a room, and imports go down only", () => {
  assert.deepEqual(files.filter((file) => floorOf(file) < 0), []);
  const isAllowed = (from: string, to: string): boolean => roomOf(from) === roomOf(to) || floorOf(to) < floorOf(from);
  const wrong = files.flatMap((file) => importsOf(file).filter((other) => !isAllowed(file, other)).map((other) => `${file} imports ${other}`));
  assert.deepEqual(wrong, []);
  assert.ok(files.flatMap(importsOf).every((other) => files.includes(other)));
});

test("no files import each other in a circle", () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" -> "));
    else if (!done.has(file)) {
      for (const other of importsOf(file)) visit(other, [...way, file]);
      done.add(file);
    }
  };
  for (const file of files) visit(file, []);
  assert.deepEqual(circles, []);
});
