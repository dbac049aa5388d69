// What each event of a recording writes, as rows: what conditions ask about.
//
// An event has a row for each blob that it writes, and one for the first blob that it is about where it writes none.

import { forwardLine } from "../recording/cursor";
import { allLines, bare, linesById, linesNamed, subnetOf } from "../recording/lines";
import { behind } from "../recording/lists";
import { memoized } from "../recording/memoized";
import { pathOf } from "../recording/places";
import { loopAround, valueOf } from "../recording/values";
import type { Line, Trace, TraceEvent, Value } from "../schema";
import type { Context, Result } from "./conditions/evaluate";
import { isBlob } from "./conditions/nodes";

export interface Row {
  /** After the event. */
  position: number;
  /** A version; empty where the event is about no blob. */
  blob: string;
  /** What the event computed, if it did. */
  value: Value | undefined;
  isWritten: boolean;
  isGradient: boolean;
}

/** When a blob got values, and which. */
interface Computed {
  positions: number[];
  values: [version: string, value: Value][];
}

export interface Writings {
  trace: Trace;
  rows: Row[];
  /** Of each position the first of its rows; one more for the end. */
  first: Int32Array;
  /** By name and by version; what was fed is at position 0. */
  computed: Map<string, Computed>;
  /** Every blob by its name, and every version of it. */
  blobs: Set<string>;
}

/** The rows of a trace. */
export const writingsOf = memoized((trace): Writings => {
  const rows: Row[] = [];
  const first = new Int32Array(trace.events.length + 2);
  const gradients = gradientsOf(trace);
  trace.events.forEach((event, index) => {
    first[index + 1] = rows.length;
    rows.push(...rowsOf(trace, event, index + 1, gradients));
  });
  first[trace.events.length + 1] = rows.length;
  return { trace, rows, first, computed: computedIn(trace, rows), blobs: blobsIn(trace, rows) };
});

/** What backward operators write, behind the nested net that they are in. */
function gradientsOf(trace: Trace): Set<string> {
  const lines = [trace, ...trace.subnets].flatMap((net) => net.backward).filter((line) => line.kind === "operator");
  return new Set(lines.flatMap((line) => line.outputs.map((blob) => `${subnetOf(line.id) ?? ""} ${blob}`)));
}

function rowsOf(trace: Trace, event: TraceEvent, position: number, gradients: Set<string>): Row[] {
  const isGradient = (blob: string): boolean => event.kind === "GradWritten" || gradients.has(`${event.subnet ?? ""} ${blob}`);
  const written = writtenBy(trace, event, position);
  if (written.length === 0) {
    const blob = event.blobs[0] ?? "";
    return [{ position, blob, value: undefined, isWritten: false, isGradient: event.kind !== "GradWritten" && isGradient(blob) }];
  }
  const computes = event.kind === "Ran" || event.kind === "GradWritten";
  return written.map((blob) => ({ position, blob, value: computes ? valueOf(trace, event.frame, blob) : undefined, isWritten: true, isGradient: isGradient(blob) }));
}

function writtenBy(trace: Trace, event: TraceEvent, position: number): string[] {
  if (event.kind === "GradWritten") return event.blobs.slice(0, 1).filter((blob) => blob === event.detail["after"]);
  return linesNamed(trace, event.lines).filter((line) => line.kind === "operator" && (event.kind === "Ran" || line.made === position)).flatMap((line) => line.outputs);
}

function computedIn(trace: Trace, rows: Row[]): Map<string, Computed> {
  const found = new Map<string, Computed>();
  const add = (position: number, blob: string, value: Value): void => {
    for (const name of [blob, bare(blob)]) {
      const computed = found.get(name) ?? { positions: [], values: [] };
      found.set(name, computed);
      computed.positions.push(position);
      computed.values.push([blob, value]);
    }
  };
  const written = new Set(rows.filter((row) => row.isWritten).map((row) => row.blob));
  for (const [blob, value] of Object.entries(trace.values)) if (!written.has(blob)) add(0, blob, value);
  for (const { position, blob, value } of rows) if (value) add(position, blob, value);
  return found;
}

function blobsIn(trace: Trace, rows: Row[]): Set<string> {
  const versions = allLines(trace).flatMap((line) => [line, ...line.history].flatMap(({ inputs, outputs }) => [...inputs, ...outputs]));
  versions.push(...Object.keys(trace.values), ...rows.map((row) => row.blob).filter((blob) => blob !== ""));
  return new Set(versions.flatMap((version) => [version, bare(version)]));
}

/** The version and the value of a blob that were computed last, by a position. */
export function latest(writings: Writings, blob: string, position: number): [version: string, value: Value] | undefined {
  const computed = writings.computed.get(blob);
  return computed?.values[behind(computed.positions, position) - 1];
}

/** What a condition finds in a row. */
export function rowContext(writings: Writings, row: Row): Context {
  const { trace } = writings;
  const event = trace.events[row.position - 1];
  return {
    field(thing, attribute) {
      if (thing === "x") return blobField(row.blob, row.value, attribute);
      if (thing === "g") return row.isGradient ? blobField(row.blob, row.value, attribute) : null;
      if (isBlob(thing)) {
        const found = latest(writings, thing.slice(1), row.position);
        return found ? blobField(found[0], found[1], attribute) : null;
      }
      if (!event) return null;
      if (thing === "event") return ofEvent(trace, event, row.position, attribute || "kind");
      return thing === "op" ? ofOperator(trace, event, attribute || "type") : ofInputs(trace, event, attribute);
    },
  };
}

/** A field of a blob version of which a value is known, or nothing. */
export function blobField(blob: string, value: Value | undefined, attribute: string): Result {
  if (blob === "") return null;
  if (attribute === "") return blob;
  if (attribute === "name") return bare(blob);
  if (attribute === "version") return /@[0-9]+$/.test(blob) ? Number(blob.slice(blob.lastIndexOf("@") + 1)) : null;
  const found = value?.[attribute as keyof Value] ?? null;
  return typeof found === "string" && attribute !== "dtype" && attribute !== "device" ? WORDS[found] ?? null : (found as Result);
}

/** NaN and the infinities are words in a document. */
export const WORDS: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

function ofEvent(trace: Trace, event: TraceEvent, position: number, attribute: string): Result {
  switch (attribute) {
    case "kind":
      return event.kind;
    case "phase":
      return event.phase;
    case "step":
      return position;
    case "seconds":
      return event.seconds;
    case "path":
      return event.frame === null && event.subnet === null ? "" : pathOf(trace, event);
    case "iteration":
      return event.frame === null ? null : (loopAround(trace, event.frame)?.iteration ?? null);
    default:
      return ofSum(event, attribute);
  }
}

/** Of an accumulation how many gradients are added, and how many of them are sparse and dense. */
function ofSum(event: TraceEvent, attribute: string): number | null {
  const contributions = event.detail["contributions"];
  if (event.kind !== "Accumulated" || !Array.isArray(contributions)) return null;
  const dense = (contributions as ({ gradient?: unknown } | null)[]).filter((one) => typeof one?.gradient === "string").length;
  return attribute === "n" ? contributions.length : attribute === "dense" ? dense : contributions.length - dense;
}

/** The operator that an event is about: the one that ran, else the forward one, else the last one made. */
function lineOf(trace: Trace, event: TraceEvent): Line | undefined {
  const lines = linesById(trace);
  const forward = event.kind === "Ran" ? undefined : forwardLine(event);
  return lines.get(forward ?? event.lines[event.lines.length - 1] ?? "");
}

function ofOperator(trace: Trace, event: TraceEvent, attribute: string): Result {
  if (attribute === "index") return event.forward;
  const line = lineOf(trace, event);
  if (!line) return null;
  if (attribute === "device") return String(event.detail["device"] ?? line.device ?? "") || null;
  return line[attribute as "type" | "role" | "name"];
}

function ofInputs(trace: Trace, event: TraceEvent, attribute: string): number | null {
  const line = lineOf(trace, event);
  if (event.kind !== "Ran" || !line) return null;
  const values = (blobs: string[]): Value[] => blobs.map((blob) => valueOf(trace, event.frame, blob)).filter((value) => value !== undefined);
  const read = values(line.inputs);
  if (attribute === "devices") return new Set([...read, ...values(line.outputs)].map((value) => value.device)).size;
  const counts = read.map((value) => value[attribute as "nan" | "inf" | "subnormal"]);
  return counts.reduce<number | null>((sum, count) => (sum === null || count === null ? null : sum + count), 0);
}
