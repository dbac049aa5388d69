// The formula of each step, with the net's own blobs in it: of Tanh "y" is a, and "dx" of TanhGradient the gradient of h.

import { currentEvent, forwardLine, namesAt, visitedBy } from "../model/recording/cursor";
import { blobOf } from "../model/recording/values";
import { allLines, bare, forwardOf, innerWords, linesById, linesNamed, memoized, original, subnetOf } from "../model/recording/lookup";
import type { Contribution, EventKind, Formula, Ledger, Line, Names, Trace, TraceEvent } from "../model/schema";
import { joinedBy, markup, named, noun, nounText, numeral, print, row, sign, words, type Naming, type Noun, type Printed } from "./mathml";

/** Longer names of blobs are cut; the program has them whole. */
const LONGEST = 24;

/** What inputs and outputs are called in a formula. */
export function namesIn({ inputs, outputs }: Formula): Set<string> {
  return new Set([...inputs, ...outputs].map((name) => name.replace(/[?.]+$/, "")));
}

/** What the names in the formula of a line's type stand for at a position. */
function namingOf(trace: Trace, line: Line, position: number): Naming {
  const forward = forwardOf(trace, line);
  const around = forward ? slots(trace, forward, forward) : new Map<string, string>();
  const own = slots(trace, line, namesAt(line, position));
  const subnet = subnetOf(line.id);
  const near = forward ? [...forward.outputs, ...forward.inputs] : [];
  return (name) => {
    const of = name.startsWith("d") ? around.get(name.slice(1)) : undefined;
    if (of !== undefined) return gradientOf(trace, of);
    const blob = own.get(name);
    if (blob !== undefined) return nounOf(trace, subnet, blob, near);
    const above = name.startsWith("∂") ? own.get(name.slice(1)) : undefined;
    return above === undefined ? null : gradientOf(trace, above);
  };
}

/** The gradient of a blob version. */
export const gradientOf = (trace: Trace, blob: string): Noun => ({ blob: shortName(trace, blob), isGradient: true });

/** A blob version as a formula writes it: gradients by what they are of. */
export function nounOf(trace: Trace, subnet: string | null, blob: string, near: readonly string[] = []): Noun {
  const of = blobOf(trace, subnet, blob, near);
  return of === undefined ? { blob: shortName(trace, blob), isGradient: false } : gradientOf(trace, of);
}

/** "a" for a@0, where the recording has no other version of it; what is kept of a version is called as that. */
export function shortName(trace: Trace, version: string): string {
  const seen = original(version);
  const name = bare(seen);
  const shown = innerWords(seen === `${name}@0` && !rewritten(trace).has(name) ? name : seen);
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
 * slot means, its formula says by an index: of these those before it have blobs.
 */
function paired(names: string[], blobs: string[], missing: ReadonlySet<string>): [name: string, blob: string][] {
  const repeated = names.findIndex((name) => name.endsWith("..."));
  if (repeated >= 0) return names.slice(0, repeated).some((name) => name.endsWith("?")) ? [] : paired(names.slice(0, repeated), blobs, missing);
  const isOptional = (name: string): boolean => name.endsWith("?");
  const possible = names.filter((name) => !isOptional(name) || !missing.has(name.slice(0, -1)));
  let spare = blobs.length - possible.filter((name) => !isOptional(name)).length;
  const present = possible.filter((name) => !isOptional(name) || spare-- > 0);
  return present.flatMap((name, index) => {
    const blob = blobs[index];
    return blob === undefined ? [] : [[name.replace(/\?$/, ""), blob]];
  });
}

/** So many terms of a sum are written out, and so many lines of an event. */
const TERMS = 6;
const LINES = 3;

/** What the step to a position computes, or will; null where there is nothing to compute. */
export function stepFormula(trace: Trace, position: number): Printed | null {
  const event = currentEvent(trace, position);
  if (!event) return null;
  if (event.kind === "Seeded") return seedFormula(trace, event);
  if (event.kind === "GeneratorAdded" && event.lines.length === 0) return handedOn(trace, event);
  if (event.kind === "Played" || event.kind === "Visited") return together(linesNamed(trace, [forwardLine(event) ?? ""]), trace, position);
  return COMPUTING.includes(event.kind) ? together(linesOf(trace, event), trace, position) : null;
}

/** The kinds of events whose lines are computed, or will be. */
const COMPUTING: EventKind[] = ["RuleApplied", "InputChecked", "GeneratorAdded", "Accumulated", "Ran"];

/** The lines of an event; of an accumulation only those that add. */
function linesOf(trace: Trace, event: TraceEvent): Line[] {
  const lines = linesNamed(trace, event.lines);
  const sums = lines.filter((line) => line.role === "accumulation");
  return sums.length > 0 ? sums : lines;
}

function together(lines: Line[], trace: Trace, position: number): Printed | null {
  const printed = lines.slice(0, LINES).map((line) => lineFormula(trace, line, position));
  const formulas = printed.filter((one) => one !== null);
  return formulas.length === 0 ? null : joinedBy(";", formulas);
}

/** The formula of a line with its blobs; null: it has none. */
export function lineFormula(trace: Trace, line: Line, position: number): Printed | null {
  const subnet = subnetOf(line.id);
  const { inputs, outputs } = namesAt(line, position);
  if (line.kind === "passed") return passedFormula(trace, line);
  if (line.role === "seed") return seed(gradientOf(trace, inputs[0] ?? ""), line.args["value"] ?? 1);
  const ledger = line.role === "accumulation" ? trace.ledgers.find(({ total, subnet: net }) => net === subnet && outputs.includes(total)) : undefined;
  if (ledger) return throughReaders(trace, ledger);
  if (line.type === "Sum") return sum(nounOf(trace, subnet, outputs[0] ?? ""), inputs.map((blob) => named(nounOf(trace, subnet, blob))));
  const formula = trace.formulas[line.type];
  if (formula) return print(formula.formula, namesIn(formula), namingOf(trace, line, position));
  return derivativeOf(trace, line) ?? (line.formula ? print(line.formula, new Set(), () => null) : null);
}

/** For a gradient operator of somebody's own: what the operator that it comes from says of its derivative. */
function derivativeOf(trace: Trace, line: Line): Printed | null {
  const forward = line.role === "gradient" ? forwardOf(trace, line) : undefined;
  const formula = forward && trace.formulas[forward.type];
  if (!forward || !formula?.derivative) return null;
  const naming = namingOf(trace, forward, forward.made);
  return print(formula.derivative, namesIn(formula), (name) => {
    const replacement = naming(name) ?? (name.startsWith("d") ? naming(name.slice(1)) : null);
    return replacement && { ...replacement, isGradient: naming(name) === null };
  });
}

/** "∂g = ∂a = ∂s": one gradient for several blobs. */
function passedFormula(trace: Trace, line: Line): Printed {
  const forward = forwardOf(trace, line);
  const [y, ...others] = forward?.outputs ?? [];
  const passing = y !== undefined && others.length === 0 ? [gradientOf(trace, y)] : line.inputs.map((blob) => nounOf(trace, subnetOf(line.id), blob, forward?.outputs));
  return joinedBy("=", [...line.outputs.map((blob) => gradientOf(trace, blob)), ...passing].map(named));
}

/** One blob gets the gradient that passed through an operator. */
function handedOn(trace: Trace, event: TraceEvent): Printed | null {
  const [gradient, blob] = event.blobs;
  const forward = visitedBy(trace, event);
  if (gradient === undefined || blob === undefined || !forward) return null;
  return joinedBy("=", [named(gradientOf(trace, blob)), named(nounOf(trace, event.subnet, gradient, forward.outputs))]);
}

function seedFormula(trace: Trace, event: TraceEvent): Printed | null {
  const [gradient, y] = event.blobs;
  const line = linesById(trace).get(event.lines[0] ?? "");
  if (line) return lineFormula(trace, line, line.made);
  if (gradient === undefined || y === undefined) return null;
  return joinedBy("=", [named(gradientOf(trace, y)), named({ blob: shortName(trace, gradient), isGradient: false })]);
}

/** "∂loss / ∂loss = 1". */
function seed(of: Noun, value: unknown): Printed {
  const fraction = markup("mfrac", noun(of), noun(of));
  return joinedBy("=", [{ markup: [fraction], text: `${nounText(of)} / ${nounText(of)}` }, numeral(String(value))]);
}

/** The gradients that are added, by the operators that they come through: "∂a = ∂a via #2 + ∂a via #3". */
function throughReaders(trace: Trace, { blob, contributions }: Ledger): Printed {
  const total = gradientOf(trace, blob);
  const term = ({ of, how, producer }: Contribution): Printed => {
    const way = of !== null ? `via #${of}` : how === "generated" ? producer : "from outside";
    return { markup: [markup("msub", row(noun(total)), words(way))], text: `${nounText(total)} ${way}` };
  };
  return sum(total, contributions.map(term));
}

function sum(total: Noun, terms: Printed[]): Printed {
  const shown = terms.length > TERMS ? [...terms.slice(0, TERMS - 1), { markup: [sign("…")], text: "…" }] : terms;
  return joinedBy("=", [named(total), joinedBy("+", shown)]);
}
