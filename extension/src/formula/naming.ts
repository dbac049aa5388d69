// What the names in the formula of a line stand for: "y" of Tanh is a, "dx" of TanhGradient is the gradient of h.

import { namesAt } from "../cursor";
import { blobOf } from "../gradients";
import { allLines, linesById, subnetOf, type Formula, type Line, type Trace } from "../trace";
import type { Naming, Noun } from "./mathml";

/** Longer names of blobs are cut; the program has them whole. */
const LONGEST = 24;

/** What inputs and outputs are called in a formula. */
export function namesIn({ inputs, outputs }: Formula): Set<string> {
  return new Set([...inputs, ...outputs].map((name) => name.replace(/[?.]+$/, "")));
}

/** What the names in the formula of a line's type stand for at a position. */
export function namingOf(trace: Trace, line: Line, position: number): Naming {
  const own = slots(trace.formulas[line.type], namesAt(line, position));
  const forward = forwardOf(trace, line);
  const around = forward ? slots(trace.formulas[forward.type], forward) : new Map<string, string>();
  const subnet = subnetOf(line.id);
  const near = forward ? [...forward.outputs, ...forward.inputs] : [];
  return (name) => {
    const of = name.startsWith("d") ? around.get(name.slice(1)) : undefined;
    if (of !== undefined) return { blob: shortName(trace, of), isGradient: true };
    const blob = own.get(name);
    if (blob !== undefined) return nounOf(trace, subnet, blob, near);
    const above = name.startsWith("∂") ? own.get(name.slice(1)) : undefined;
    return above === undefined ? null : { blob: shortName(trace, above), isGradient: true };
  };
}

/** The forward line that a backward one comes from. */
export function forwardOf(trace: Trace, line: Line): Line | undefined {
  if (line.role === "forward" || line.of === null) return undefined;
  const subnet = subnetOf(line.id);
  return linesById(trace).get(`${subnet === null ? "" : `${subnet}.`}f${line.of}`);
}

/** A blob version as a formula writes it: gradients by what they are of. */
export function nounOf(trace: Trace, subnet: string | null, blob: string, near: readonly string[] = []): Noun {
  const of = blobOf(trace, subnet, blob, near);
  return of === undefined ? { blob: shortName(trace, blob), isGradient: false } : { blob: shortName(trace, of), isGradient: true };
}

/** "a" for a@0, where the recording has no other version of it. */
export function shortName(trace: Trace, version: string): string {
  const name = version.slice(0, version.lastIndexOf("@"));
  const shown = version === `${name}@0` && !rewritten(trace).has(name) ? name : version;
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
}

const known = new WeakMap<Trace, Set<string>>();

/** The names that are written again: of these a version says which one is meant. */
function rewritten(trace: Trace): Set<string> {
  const found = known.get(trace) ?? new Set<string>();
  if (!known.has(trace)) {
    known.set(trace, found);
    for (const line of allLines(trace)) for (const blob of line.outputs) if (blob.endsWith("@1")) found.add(blob.slice(0, -2));
  }
  return found;
}

/** Blobs by the names of their slots; which of many a repeated slot means, its formula says by an index. */
function slots(formula: Formula | undefined, { inputs, outputs }: { inputs: string[]; outputs: string[] }): Map<string, string> {
  const found = new Map<string, string>();
  if (!formula) return found;
  const pair = (names: string[], blobs: string[]): void => {
    if (names.some((name) => name.endsWith("..."))) return;
    names.forEach((name, index) => {
      const blob = blobs[index];
      if (blob !== undefined) found.set(name.replace(/\?$/, ""), blob);
    });
  };
  pair(formula.inputs, inputs);
  pair(formula.outputs, outputs);
  return found;
}
