// What the names in the formula of a line stand for: "y" of Tanh is a, "dx" of TanhGradient is the gradient of h.

import { namesAt } from "../model/recording/cursor";
import { blobOf } from "../model/recording/gradients";
import { allLines, bare, forwardOf, original, subnetOf } from "../model/recording/lines";
import { memoized } from "../model/recording/memoized";
import type { Formula, Line, Names, Trace } from "../model/schema";
import type { Naming, Noun } from "./mathml";

/** Longer names of blobs are cut; the program has them whole. */
const LONGEST = 24;

/** What inputs and outputs are called in a formula. */
export function namesIn({ inputs, outputs }: Formula): Set<string> {
  return new Set([...inputs, ...outputs].map((name) => name.replace(/[?.]+$/, "")));
}

/** What the names in the formula of a line's type stand for at a position. */
export function namingOf(trace: Trace, line: Line, position: number): Naming {
  const forward = forwardOf(trace, line);
  const around = forward ? slots(trace, forward, forward) : new Map<string, string>();
  const own = slots(trace, line, namesAt(line, position));
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

/** A blob version as a formula writes it: gradients by what they are of. */
export function nounOf(trace: Trace, subnet: string | null, blob: string, near: readonly string[] = []): Noun {
  const of = blobOf(trace, subnet, blob, near);
  return of === undefined ? { blob: shortName(trace, blob), isGradient: false } : { blob: shortName(trace, of), isGradient: true };
}

/** "a" for a@0, where the recording has no other version of it; what is kept of a version is called as that. */
export function shortName(trace: Trace, version: string): string {
  const seen = original(version);
  const name = bare(seen);
  const shown = seen === `${name}@0` && !rewritten(trace).has(name) ? name : seen;
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
}

/** The names that are written again: of these a version says which one is meant. */
const rewritten = memoized((trace) => new Set(allLines(trace).flatMap(({ outputs }) => outputs.filter((blob) => blob.endsWith("@1")).map(bare))));

/** Blobs by the names of their slots, as a line reads and writes them at some time. */
export function slots(trace: Trace, line: Line, { inputs, outputs }: Names): Map<string, string> {
  const formula = trace.formulas[line.type];
  if (!formula) return new Map();
  const forward = forwardOf(trace, line);
  const missing = forward ? missingSlots(trace, forward) : new Set<string>();
  return new Map([...paired(formula.inputs, inputs, missing), ...paired(formula.outputs, outputs, missing)]);
}

/** What a forward line leaves out, which its gradient operators then have no use for: "b", and "db". */
function missingSlots(trace: Trace, forward: Line): Set<string> {
  const formula = trace.formulas[forward.type];
  const there = formula ? new Set(paired(formula.inputs, forward.inputs, new Set()).map(([name]) => name)) : new Set<string>();
  const missing = (formula?.inputs ?? []).filter((name) => name.endsWith("?")).map((name) => name.slice(0, -1)).filter((name) => !there.has(name));
  return new Set(missing.flatMap((name) => [name, `d${name}`]));
}

/**
 * Names with their blobs. Of optional ones, which may stand before others, the first are there; which of many a repeated
 * slot means, its formula says by an index.
 */
function paired(names: string[], blobs: string[], missing: ReadonlySet<string>): [name: string, blob: string][] {
  if (names.some((name) => name.endsWith("..."))) return [];
  const isOptional = (name: string): boolean => name.endsWith("?");
  const possible = names.filter((name) => !isOptional(name) || !missing.has(name.slice(0, -1)));
  let spare = blobs.length - possible.filter((name) => !isOptional(name)).length;
  const present = possible.filter((name) => !isOptional(name) || spare-- > 0);
  return present.flatMap((name, index) => {
    const blob = blobs[index];
    return blob === undefined ? [] : [[name.replace(/\?$/, ""), blob]];
  });
}
