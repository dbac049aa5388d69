// The rows of a recording: what each event writes, or else is about, and what conditions find in them.

import { allLines, bare, linesById } from "../recording/lines";
import { addTo, behind, memoized } from "../recording/lookup";
import { pathOf } from "../recording/cursor";
import { loopAround, valueOf } from "../recording/values";
import type { Trace, TraceEvent, Value } from "../schema";
import { blobOf, type Context, type Result } from "./conditions/conditions";

/** A blob that an event writes; of one that writes none the first that it is about. */
export interface Row {
  /** After the event. */
  position: number;
  /** A version; empty where the event is about no blob. */
  blob: string;
  /** What the event computed, if it did. */
  value: Value | undefined;
}

/** A version that got a value. */
type Computed = Row & { value: Value };

export interface Rows {
  trace: Trace;
  rows: Row[];
  /** Of each position the first of its rows; one more for the end. */
  first: Int32Array;
  /** By name and by version, in their order; what was fed is at position 0. */
  computed: Map<string, Computed[]>;
  /** Every blob by its name, and every version of it. */
  names: Set<string>;
}

/** The rows of a trace. */
export const rowsOf = memoized((trace): Rows => {
  const rows: Row[] = [];
  const first = new Int32Array(trace.events.length + 2);
  trace.events.forEach(({ kind, frame, blobs, row: { writes } }, index) => {
    first[index + 1] = rows.length;
    const computes = writes.length > 0 && (kind === "Ran" || kind === "GradWritten");
    for (const blob of writes.length > 0 ? writes : [blobs[0] ?? ""]) {
      rows.push({ position: index + 1, blob, value: computes ? valueOf(trace, frame, blob) : undefined });
    }
  });
  first[trace.events.length + 1] = rows.length;
  const lines = allLines(trace).flatMap((line) => [line, ...line.history]).flatMap(({ inputs, outputs }) => [...inputs, ...outputs]);
  const versions = [...lines, ...Object.keys(trace.values), ...rows.map(({ blob }) => blob).filter(Boolean)];
  return { trace, rows, first, computed: computedIn(trace, rows), names: new Set([...versions, ...versions.map(bare)]) };
});

function computedIn(trace: Trace, rows: Row[]): Rows["computed"] {
  const written = new Set(trace.events.flatMap(({ row }) => row.writes));
  const fed = Object.entries(trace.values).filter(([blob]) => !written.has(blob)).map(([blob, value]) => ({ position: 0, blob, value }));
  const found: Rows["computed"] = new Map();
  for (const row of [...fed, ...rows]) {
    if (row.value) for (const name of [row.blob, bare(row.blob)]) addTo(found, name, row as Computed);
  }
  return found;
}

/** Every position at which one of these blobs gets a value. */
export function computedAt({ computed }: Rows, names: readonly string[]): number[] {
  const positions = new Set(names.flatMap((name) => computed.get(name)?.map(({ position }) => position) ?? []));
  return [...positions].sort((a, b) => a - b);
}

/** What was computed last of a blob, by a position. */
export function latest({ computed }: Rows, blob: string, position: number): Computed | undefined {
  const found = computed.get(blob);
  return found?.[behind(found, position, (row) => row.position) - 1];
}

/** A field of what was computed last of the blob that a condition names. */
export function namedField(rows: Rows, blob: string, position: number, attribute: string): Result {
  const found = latest(rows, blob, position);
  return found ? blobField(found, attribute) : null;
}

/** What a condition finds in a row. */
export function rowContext(rows: Rows, row: Row): Context {
  const { trace } = rows;
  const event = trace.events[row.position - 1] as TraceEvent;
  return {
    field(thing, attribute) {
      const blob = blobOf(thing);
      if (blob !== null) return namedField(rows, blob, row.position, attribute);
      if (thing === "x" || thing === "g") return thing === "x" || event.row.is_gradient ? blobField(row, attribute) : null;
      if (thing === "event") return ofEvent(trace, event, row.position, attribute || "kind");
      return thing === "op" ? ofOperator(trace, event, attribute || "type") : ofInputs(trace, event, attribute);
    },
  };
}

/** NaN and the infinities are words in a document. */
export const WORDS: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** A field of a blob version, of which a value may be known. */
function blobField({ blob, value }: Row, attribute: string): Result {
  if (attribute === "") return blob || null;
  if (attribute === "name") return bare(blob) || null;
  if (attribute === "version") return /@[0-9]+$/.test(blob) ? Number(blob.slice(blob.lastIndexOf("@") + 1)) : null;
  const found = (value?.[attribute as keyof Value] ?? null) as Result;
  return typeof found === "string" && attribute !== "dtype" && attribute !== "device" ? (WORDS[found] ?? null) : found;
}

function ofEvent(trace: Trace, event: TraceEvent, position: number, attribute: string): Result {
  const { added } = event.row;
  const fields: Record<string, () => Result> = {
    step: () => position,
    path: () => pathOf(trace, event),
    iteration: () => (event.frame === null ? null : (loopAround(trace, event.frame)?.iteration ?? null)),
    n: () => added && added[0] + added[1],
    sparse: () => added && added[0],
    dense: () => added && added[1],
  };
  return fields[attribute]?.() ?? ((event[attribute as "kind" | "phase" | "seconds"] ?? null) as Result);
}

function ofOperator(trace: Trace, event: TraceEvent, attribute: string): Result {
  if (attribute === "index") return event.forward;
  const line = linesById(trace).get(event.row.operator ?? "");
  if (!line) return null;
  if (attribute === "device") return String(event.detail["device"] ?? line.device ?? "") || null;
  return line[attribute as "type" | "role" | "name"];
}

function ofInputs(trace: Trace, event: TraceEvent, attribute: string): number | null {
  const line = linesById(trace).get(event.row.operator ?? "");
  if (event.kind !== "Ran" || !line) return null;
  const values = (blobs: string[]): Value[] => blobs.map((blob) => valueOf(trace, event.frame, blob)).filter((value) => value !== undefined);
  const read = values(line.inputs);
  if (attribute === "devices") return new Set([...read, ...values(line.outputs)].map((value) => value.device)).size;
  const counts = read.map((value) => value[attribute as "nan" | "inf" | "subnormal"]);
  return counts.reduce<number | null>((sum, count) => (sum === null || count === null ? null : sum + count), 0);
}
