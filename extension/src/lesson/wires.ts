// What the wires of a graph carry at a position: a value one way, its gradient the other.

import { shortName } from "../formula/steps";
import { blobOf, forwardRun, gradientsOf, isComplete, valueAt, type GradientSince } from "../model/recording/values";
import { addTo, allLines, bare, forwardOf, linesById, linesNamed, memoized, numberIn, subnetOf } from "../model/recording/lookup";
import type { Line, Scalar, Trace, Value } from "../model/schema";
import { currentEvent, hasRun } from "../model/recording/cursor";

/** A blob on its way from a line to those that read it; null: it comes from around the net; none: nobody reads it. */
export interface Wire {
  blob: string;
  subnet: string | null;
  from: string | null;
  to: readonly string[];
  isBackward: boolean;
}

/** Of several: how many are computed, of how many, and the norm of all that are; null: it is open. */
export interface Several {
  there: number;
  of: number;
  norm: Scalar | null;
}

/** What a wire carries, or several that share an edge: a value, or its gradient. */
export interface WireValue {
  what: "value" | "gradient";
  /** "p", "∂p", "5 blobs". */
  name: string;
  /** "none" where the whole pass has no gradient; "not kept" where an operator ran and the engine kept nothing of what it
   * made; null: not computed yet. Of a sparse gradient it is its rows. */
  value: Value | Several | "none" | "not kept" | null;
}

/** A blob that a line reads or writes, in its net. */
const keyOf = (line: Line, blob: string): string => `${subnetOf(line.id) ?? ""} ${blob}`;

/** The wires from lines to others of the same net, one for each blob. */
export function wiresBetween(trace: Trace, tails: Iterable<Line>, heads: Iterable<Line>, isBackward: boolean): Wire[] {
  const readers = new Map<string, Line[]>();
  for (const head of heads) for (const blob of new Set(head.inputs)) addTo(readers, keyOf(head, blob), head);
  const wires = new Map<string, Wire>();
  for (const tail of tails) {
    const isMaker = isBackward && tail.kind !== "passed";
    for (const blob of tail.kind === "passed" ? tail.inputs : tail.outputs) {
      const to = (readers.get(keyOf(tail, blob)) ?? []).filter((head) => !isMaker || !isHandedOn(trace, head, blob)).map(({ id }) => id);
      if (to.length > 0) wires.set(blob, { blob, subnet: subnetOf(tail.id), from: tail.id, to, isBackward });
    }
  }
  return [...wires.values()];
}

/** The operators that a gradient passes through unchanged, by net and gradient. */
const passing = memoized((trace) => {
  const lines = new Map<string, Line[]>();
  for (const line of allLines(trace).filter(({ kind }) => kind === "passed")) {
    for (const blob of line.inputs) addTo(lines, keyOf(line, blob), line);
  }
  return lines;
});

/** The blobs whose gradient a line of the backward pass reads or adds up. */
function gradedBy(trace: Trace, line: Line): string[] {
  if (line.role === "accumulation") return line.outputs.map((total) => blobOf(trace, subnetOf(line.id), total) ?? "");
  return forwardOf(trace, line)?.outputs ?? [];
}

/** Whether a line gets a gradient from operators that it passed through alone, and not from its maker. */
export function isHandedOn(trace: Trace, line: Line, gradient: string): boolean {
  const through = passing(trace).get(keyOf(line, gradient));
  if (!through) return false;
  const blobs = gradedBy(trace, line);
  const ways = through.filter(({ id, outputs }) => id !== line.id && outputs.some((blob) => blobs.includes(blob)));
  return ways.length >= line.inputs.filter((blob) => blob === gradient).length;
}

/** The workspaces that a loop leaves for its gradient are no value of the program. */
const isStack = (trace: Trace, blob: string): boolean => (trace.values[blob]?.stack ?? null) !== null;

/** What the forward operators of the outermost net read from around it, and what they write for nobody in it. */
export function looseWires(trace: Trace): Wire[] {
  const written = new Set(trace.forward.flatMap(({ outputs }) => outputs));
  const read = new Set(trace.forward.flatMap(({ inputs }) => inputs));
  const loose = (blob: string, from: string | null, to: string[]): Wire => ({ blob, subnet: null, from, to, isBackward: false });
  return trace.forward.flatMap((line) => [
    ...[...new Set(line.inputs)].filter((blob) => !written.has(blob)).map((blob) => loose(blob, null, [line.id])),
    ...line.outputs.filter((blob) => !read.has(blob) && !isStack(trace, blob)).map((blob) => loose(blob, line.id, [])),
  ]);
}

/** The versions that the net ends in: the last ones of its ys. */
export function endsOf(trace: Trace): Set<string | undefined> {
  const last = new Map(trace.forward.flatMap(({ outputs }) => outputs.map((blob) => [bare(blob), blob])));
  return new Set((Array.isArray(trace.ys) ? trace.ys : Object.keys(trace.ys)).map((name) => last.get(name)));
}

/** The values of a wire at a position. */
export function wireValuesAt(trace: Trace, wire: Wire, position: number): WireValue[] {
  const name = wire.isBackward ? gradientName(trace, wire) : shortName(trace, wire.blob);
  const value: WireValue = { what: wire.isBackward ? "gradient" : "value", name, value: carriedAt(trace, wire, position) };
  if (wire.isBackward) return [value];
  const gradient = gradientAt(trace, wire, position);
  return [value, { what: "gradient", name: isSeveral(gradient) ? `∂${name}, ${gradient.of} parts,` : `∂${name}`, value: gradient }];
}

export function isSeveral(value: WireValue["value"]): value is Several {
  return value !== null && typeof value !== "string" && "there" in value;
}

/** The values of several wires together. */
export function severalAt(trace: Trace, wires: readonly Wire[], position: number): WireValue[] {
  const carried = several(wires.map((wire) => carriedAt(trace, wire, position)));
  if (wires[0]?.isBackward) return [{ what: "gradient", name: `${wires.length} gradients`, value: carried }];
  const gradients = several(wires.map((wire) => gradientAt(trace, wire, position)));
  return [{ what: "value", name: `${wires.length} blobs`, value: carried }, { what: "gradient", name: "∂ of these", value: gradients }];
}

function several(values: WireValue["value"][]): Several | "none" | "not kept" {
  const possible = values.filter((value) => value !== "none");
  if (possible.length > 0 && possible.every((value) => value === "not kept")) return "not kept";
  const computed = possible.flatMap((value) => (value === null || typeof value === "string" || (isSeveral(value) && value.there < value.of) ? [] : [value]));
  return possible.length === 0 ? "none" : { there: computed.length, of: possible.length, norm: normOf(computed.map(({ norm }) => norm)) };
}

/** The norm of arrays as if they were one. */
function normOf(norms: (Scalar | null)[]): Scalar | null {
  if (norms.length === 0 || norms.includes(null)) return null;
  if (norms.includes("nan")) return "nan";
  return norms.every((norm) => typeof norm === "number") ? Math.hypot(...norms) : "inf";
}

/** The value of the wire's blob; while a backward pass goes back through a run, that which the run had. */
function carriedAt(trace: Trace, { blob, subnet, from }: Wire, position: number): Value | "not kept" | null {
  const here = frameOf(trace, subnet, position);
  const value = valueAt(trace, { blob, subnet, frame: here }, position);
  if (value) return value;
  if (here !== null) return valueAt(trace, { blob, subnet, frame: forwardRun(trace, here) }, position) ?? null;
  const maker = linesById(trace).get(from ?? "");
  return maker && hasRun(maker, position) ? "not kept" : null;
}

/** "∂p" for p_grad@0; of a gradient that is one of several blobs, by the operators that the wire leads to. */
function gradientName(trace: Trace, { blob, subnet, to }: Wire): string {
  const heads = linesNamed(trace, to);
  const of = blobOf(trace, subnet, blob, heads.flatMap((head) => gradedBy(trace, head)));
  return of === undefined ? shortName(trace, blob) : `∂${shortName(trace, of)}`;
}

/** The gradient of the wire's blob that comes through those that read it; where nobody does, or these are all, all of it. */
function gradientAt(trace: Trace, { blob, subnet, to }: Wire, position: number): WireValue["value"] {
  const all = gradientsOf(trace, subnet, blob);
  const readers = new Set(to.map(numberIn));
  const own = all.filter(({ through }) => through !== null && readers.has(through));
  const isWhole = to.length === 0 || (own.length > 1 && all.every((one) => one.isSum || own.includes(one)));
  const sums = all.filter(({ isSum }) => isSum);
  const wanted = isWhole ? (sums.length > 0 ? sums : all).slice(-1) : own;
  if (wanted.length === 0) return isComplete(trace, position) ? "none" : null;
  const frame = frameOf(trace, subnet, position);
  const valueOfPart = ({ at, values }: GradientSince): Value | null => (at <= position ? (valueAt(trace, { blob: values, subnet, frame }, position) ?? null) : null);
  const [only, ...more] = wanted;
  return only && more.length === 0 ? valueOfPart(only) : { ...(several(wanted.map(valueOfPart)) as Several), norm: null };
}

/** The run of a nested net that a position is in; null: in none. */
function frameOf(trace: Trace, subnet: string | null, position: number): number | null {
  let frame = subnet === null ? null : (currentEvent(trace, position)?.frame ?? null);
  while (frame !== null && trace.frames[frame]?.subnet !== subnet) frame = trace.frames[frame]?.around ?? null;
  return frame;
}
