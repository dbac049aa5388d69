// Reads a trace document from text.

import type { Trace } from "../schema";
import { messageOf, refuse, text, whole, type Reader } from "../schema/json";
import { readTrace, type Parts } from "../schema/reader";
import { checkReferences } from "./references";
import { lengthened, valuesOf } from "./rows";

const FORMAT: Trace["format"] = "gradviz-trace";
const VERSION: Trace["version"] = 1;

/**
 * Reads a trace document from JSON text that may come from anywhere.
 * Throws an Error whose message says what is wrong, where, and the way out.
 */
export function parseTrace(source: string): Trace {
  const document = parseJson(source);
  checkFormat(document);
  const written = readTrace(document, partsOf(document));
  const trace: Trace = { ...written, events: lengthened(written.events), arrays: valuesOf(written.arrays) };
  checkReferences(trace);
  return trace;
}

function parseJson(source: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch (error) {
    const reason = messageOf(error);
    if (source.trim() === "") throw new Error("this gradviz trace is empty: nothing was recorded, or the file was not written");
    if (!source.trimEnd().endsWith("}")) {
      throw new Error(`this gradviz trace is truncated: its JSON stops after ${source.length} characters (${reason}); save it again`);
    }
    throw new Error(`this is not a gradviz trace: it is no JSON (${reason})`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new Error(`this is not a gradviz trace: its JSON is no object with "format": "${FORMAT}"`);
  }
  return parsed as Record<string, unknown>;
}

function checkFormat(document: Record<string, unknown>): void {
  if (document["format"] !== FORMAT) {
    throw new Error(`this is not a gradviz trace: its "format" is ${JSON.stringify(document["format"]) ?? "missing"}, not "${FORMAT}"`);
  }
  const version = whole(0)(document["version"], "version");
  if (version === VERSION) return;
  const wayOut = version > VERSION ? "update gradviz" : "record it again with this gradviz";
  throw new Error(`this is a gradviz trace of version ${version}; this gradviz reads version ${VERSION}: ${wayOut}`);
}

/** What the rules of the schema are about, by their names, before it is known whether all is as it should be. */
function partsOf(document: unknown): Parts {
  const inside = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null | undefined)?.[name];
  const listAt = (value: unknown, name: string): unknown[] => {
    const found = inside(value, name);
    return Array.isArray(found) ? (found as unknown[]) : [];
  };
  const count = (value: unknown, name: string): number => {
    const found = inside(value, name) ?? [];
    return Array.isArray(found) ? found.length : Infinity;
  };
  const subnets = listAt(document, "subnets");
  const lines = new Set<unknown>();
  for (const net of [document, ...subnets]) {
    for (const part of ["forward", "backward"]) for (const line of listAt(net, part)) lines.add(inside(line, "id"));
  }
  return {
    counts: {
      count: Infinity,
      positions: count(document, "events") + 1,
      arrays: count(inside(document, "arrays"), "rows"),
      shapes: count(inside(document, "graph"), "shapes"),
      operators: count(document, "forward"),
      frames: count(document, "frames"),
      ledgers: count(document, "ledgers"),
      stacks: count(document, "stacks"),
    },
    names: {
      lines: among(lines, "and there is no such line"),
      subnets: among(new Set(subnets.map((net) => inside(net, "id"))), "and there is no such nested net"),
      versions: (value, path) => (VERSIONED.test(text(value, path)) ? (value as string) : refuse(path, `is ${JSON.stringify(value)}, which is no blob version`)),
    },
  };
}

/** How a blob version is written. */
const VERSIONED = /^[^]+@\d{1,9}$/;

const among =
  (names: Set<unknown>, otherwise: string): Reader<string> =>
  (value, path) =>
    names.has(text(value, path)) ? (value as string) : refuse(path, `is ${JSON.stringify(value)}, ${otherwise}`);
