// What the wires of a graph carry at a position: a value one way, its gradient the other.

import { forwardOf, shortName } from "../formula/naming";
import { blobOf, gradientsOf, isComplete } from "../gradients";
import { linesById, subnetOf, type Trace, type Value } from "../trace";
import { valueAt } from "../values";

/** A blob on its way from a line to another one; null: it comes from around the net, or nobody reads it. */
export interface Wire {
  blob: string;
  subnet: string | null;
  from: string | null;
  to: string | null;
  isBackward: boolean;
}

/** What a wire carries: a blob's value, or its gradient. */
export interface Told {
  what: "value" | "gradient";
  /** "p", "∂p". */
  name: string;
  /** "none" where the whole pass has made no gradient; null: not computed yet. A sparse gradient is told by its rows. */
  value: Value | "none" | null;
}

/** The wires between two lines of a drawing. */
export function wiresBetween(trace: Trace, from: string, to: string, isBackward: boolean): Wire[] {
  const [tail, head] = [linesById(trace).get(from), linesById(trace).get(to)];
  if (!tail || !head || subnetOf(from) !== subnetOf(to)) return [];
  const carried = tail.kind === "passed" ? tail.inputs : tail.outputs;
  const read = new Set(head.inputs);
  return carried.filter((blob) => read.has(blob)).map((blob) => ({ blob, subnet: subnetOf(from), from, to, isBackward }));
}

/** What the forward operators of the outermost net read from around it, and what they write for nobody in it. */
export function looseWires(trace: Trace): Wire[] {
  const made = new Set(trace.forward.flatMap(({ outputs }) => outputs));
  const read = new Set(trace.forward.flatMap(({ inputs }) => inputs));
  const loose = (blob: string, from: string | null, to: string | null): Wire => ({ blob, subnet: null, from, to, isBackward: false });
  return trace.forward.flatMap((line) => [
    ...[...new Set(line.inputs)].filter((blob) => !made.has(blob)).map((blob) => loose(blob, null, line.id)),
    ...line.outputs.filter((blob) => !read.has(blob)).map((blob) => loose(blob, line.id, null)),
  ]);
}

/** What is known of a wire at a position. */
export function toldAt(trace: Trace, wire: Wire, position: number): Told[] {
  const { blob, subnet } = wire;
  const frame = frameOf(trace, subnet, position);
  const value = valueAt(trace, { blob, subnet, frame }, position) ?? null;
  if (wire.isBackward) return [{ what: "gradient", name: gradientName(trace, wire), value }];
  const name = shortName(trace, blob);
  return [
    { what: "value", name, value },
    { what: "gradient", name: `∂${name}`, value: gradientAt(trace, wire, frame, position) },
  ];
}

/** "∂p" for p_grad@0; of a gradient that is one of several blobs, by the operator that the wire leads to. */
function gradientName(trace: Trace, { blob, subnet, to }: Wire): string {
  const head = linesById(trace).get(to ?? "");
  const near = head?.role === "accumulation" ? head.outputs.map((total) => blobOf(trace, subnet, total) ?? "") : head && forwardOf(trace, head)?.outputs;
  const of = blobOf(trace, subnet, blob, near);
  return of === undefined ? shortName(trace, blob) : `∂${shortName(trace, of)}`;
}

/** The gradient of the wire's blob that comes through its reader; where none reads it, all of it. */
function gradientAt(trace: Trace, { blob, subnet, to }: Wire, frame: number | null, position: number): Told["value"] {
  const all = gradientsOf(trace, subnet, blob);
  if (all.length === 0) return isComplete(trace, position) ? "none" : null;
  const reader = to === null ? null : Number(to.slice(to.lastIndexOf("f") + 1));
  const made = all.filter(({ at }) => at <= position);
  const own = made.find(({ through }) => through === reader) ?? made[made.length - 1];
  // Of a sparse gradient the last part has the values, a row for each index.
  const part = own?.parts[own.parts.length - 1];
  return part === undefined ? null : (valueAt(trace, { blob: part, subnet, frame }, position) ?? null);
}

/** The run of a nested net that a position is in; null: in none. */
function frameOf(trace: Trace, subnet: string | null, position: number): number | null {
  let frame = subnet === null ? null : (trace.events[position - 1]?.frame ?? null);
  while (frame !== null && trace.frames[frame]?.subnet !== subnet) frame = trace.frames[frame]?.around ?? null;
  return frame;
}
