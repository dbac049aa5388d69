// Which blob a gradient is of, and which gradient a blob has, as the events of a recording tell it.

import type { Trace, TraceEvent } from "../schema";
import { bare } from "./lines";
import { addTo, memoized } from "./lookup";

/** A gradient that a blob version has from one position on. */
export interface GradientSince {
  at: number;
  /** The blob version that holds it; of a sparse one, its rows. */
  values: string;
  /** The forward operator that it comes through, an index into its net's lines; null: a sum, or the one that a y starts with. */
  through: number | null;
  /** Whether gradients that came before are added up in it. */
  isSum: boolean;
}

const TELL = new Set<TraceEvent["kind"]>(["Seeded", "GeneratorAdded", "Accumulated"]);
const keyOf = (subnet: string | null, version: string): string => `${subnet ?? ""} ${version}`;

const gradientsIn = memoized((trace) => {
  const completed = trace.events.findIndex(({ kind, subnet }) => kind === "Completed" && subnet === null);
  const gradients = {
    /** The blob versions that a gradient version is of, the first one first. */
    blobs: new Map<string, string[]>(),
    /** The gradients of a blob version, as they came. */
    since: new Map<string, GradientSince[]>(),
    /** Behind the event that completes the pass of the outermost net; infinity where none does. */
    complete: completed < 0 ? Infinity : completed + 1,
  };
  trace.events.forEach((event, index) => {
    if (!TELL.has(event.kind)) return;
    const blob = `${String(event.detail["blob"] ?? event.detail["y"])}@${String(event.detail["version"])}`;
    const end = event.blobs.indexOf(blob);
    if (end < 1) return;
    // Of an accumulation the sum stands first, its terms behind the blob.
    const parts = event.blobs.slice(0, end);
    for (const part of parts) addTo(gradients.blobs, keyOf(event.subnet, part), blob);
    const values = valuesAmong(parts, event.detail["gradient"]);
    addTo(gradients.since, keyOf(event.subnet, blob), { at: index + 1, values, through: event.kind === "GeneratorAdded" ? event.forward : null, isSum: event.kind === "Accumulated" });
  });
  return gradients;
});

/** Of the parts of a gradient, whose name an event tells, the one with its values. */
function valuesAmong(parts: readonly string[], name: unknown): string {
  const values = typeof name === "object" && name !== null ? (name as Record<string, unknown>)["values"] : null;
  return parts.find((part) => bare(part) === values) ?? parts[0] ?? "";
}

/** The blob version that a gradient version is of, one of `among` where it is of several; undefined: it is no gradient. */
export function blobOf(trace: Trace, subnet: string | null, gradient: string, among: readonly string[] = []): string | undefined {
  const blobs = gradientsIn(trace).blobs.get(keyOf(subnet, gradient)) ?? [];
  return blobs.find((blob) => among.includes(blob)) ?? blobs[0];
}

/** All gradients that a blob version gets, as they come: contributions, then their sum. */
export function gradientsOf(trace: Trace, subnet: string | null, blob: string): readonly GradientSince[] {
  return gradientsIn(trace).since.get(keyOf(subnet, blob)) ?? [];
}

/** Whether all gradients are made at a position: a blob that has none gets none. */
export function isComplete(trace: Trace, position: number): boolean {
  return position >= gradientsIn(trace).complete;
}
