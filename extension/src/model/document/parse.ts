// Reads a trace document from text.

import type { Trace } from "../schema";
import { graph } from "../schema/drawing";
import { event, frame, schedule } from "../schema/events";
import { dictionary, list, messageOf, optional, record, refuse, text, whole, type Reader } from "../schema/json";
import { breakpoint } from "../schema/marks";
import { formulas, gradientName, line, obstacle, subnet, ys, type Sizes } from "../schema/program";
import { FORMAT, VERSION } from "../schema/trace";
import { ledger, merge, value, workspaces } from "../schema/values";
import { checkReferences } from "./references";
import { arrays, readEvents } from "./rows";

/**
 * Reads a trace document from JSON text that may come from anywhere.
 * Throws an Error whose message says what is wrong, where, and the way out.
 */
export function parseTrace(source: string): Trace {
  const document = parseJson(source);
  checkFormat(document);
  const length = (name: string): number => {
    const found = document[name];
    return Array.isArray(found) ? found.length : refuse(name, "is missing or not a list");
  };
  const sizes: Sizes = { events: length("events"), frames: "frames" in document ? length("frames") : 0 };
  const field = <T>(name: string, reader: Reader<T>): T => reader(document[name], name);
  /** A field that documents did not always have. */
  const later = <T>(name: string, reader: Reader<T>, missing: T): T => (name in document ? field(name, reader) : missing);
  const trace: Trace = {
    format: FORMAT,
    version: VERSION,
    producer: field("producer", text),
    engine: field("engine", text),
    name: field("name", text),
    summary: field("summary", text),
    obstacle: later("obstacle", optional(obstacle), null),
    net: field("net", record),
    ys: field("ys", ys),
    skip: field("skip", whole(0)),
    forward: field("forward", list(line(sizes))),
    backward: field("backward", list(line(sizes))),
    subnets: later("subnets", list(subnet(sizes)), []),
    ledgers: field("ledgers", list(ledger(sizes))),
    merges: later("merges", list(merge(sizes)), []),
    events: field("events", readEvents(event(sizes))),
    frames: later("frames", list(frame), []),
    values: field("values", dictionary(value)),
    arrays: later("arrays", arrays, []),
    stacks: later("stacks", list(workspaces), []),
    gradients: field("gradients", dictionary(gradientName)),
    graph: field("graph", graph),
    schedule: later("schedule", optional(schedule(sizes)), null),
    formulas: later("formulas", formulas, formulas({}, "formulas")),
    breakpoints: later("breakpoints", list(breakpoint), []),
    watches: later("watches", list(text), []),
  };
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

