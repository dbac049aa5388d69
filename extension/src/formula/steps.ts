// The formula of each step, with the net's own blobs in it.

import { currentEvent, forwardLine, namesAt } from "../model/recording/cursor";
import { forwardOf, linesById, linesNamed, subnetOf } from "../model/recording/lines";
import type { Contribution, Ledger, Line, Trace, TraceEvent } from "../model/schema";
import { joinedBy, markup, named, noun, nounText, print, row, sign, words, type Noun, type Printed } from "./mathml";
import { namesIn, namingOf, nounOf, shortName } from "./naming";

/** So many terms of a sum are written out, and so many lines of an event. */
const TERMS = 6;
const LINES = 3;

/** What the step to a position computes, or will; null where there is nothing to compute. */
export function stepFormula(trace: Trace, position: number): Printed | null {
  const event = currentEvent(trace, position);
  if (!event) return null;
  switch (event.kind) {
    case "Seeded":
      return seedFormula(trace, event);
    case "Played":
    case "Visited":
      return together(linesNamed(trace, [forwardLine(event) ?? ""]), trace, position);
    case "GeneratorAdded":
      return event.lines.length > 0 ? together(linesOf(trace, event), trace, position) : handedOn(trace, event);
    case "RuleApplied":
    case "InputChecked":
    case "Accumulated":
    case "Ran":
      return together(linesOf(trace, event), trace, position);
    default:
      return null;
  }
}

/** The lines of an event; of an accumulation only those that add. */
function linesOf(trace: Trace, event: TraceEvent): Line[] {
  const lines = linesNamed(trace, event.lines);
  const sums = lines.filter((line) => line.role === "accumulation");
  return sums.length > 0 ? sums : lines;
}

function together(lines: Line[], trace: Trace, position: number): Printed | null {
  const printed = lines.slice(0, LINES).map((line) => lineFormula(trace, line, position));
  const found = printed.filter((one) => one !== null);
  if (found.length === 0) return null;
  return joinedBy(";", found);
}

/** The formula of a line with its blobs; null: none is known. */
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
    const found = naming(name) ?? (name.startsWith("d") ? naming(name.slice(1)) : null);
    return found && { ...found, isGradient: naming(name) === null };
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
  const forward = linesById(trace).get(forwardLine(event) ?? "");
  if (gradient === undefined || blob === undefined || !forward) return null;
  return joinedBy("=", [named(gradientOf(trace, blob)), named(nounOf(trace, event.subnet, gradient, forward.outputs))]);
}

const gradientOf = (trace: Trace, blob: string): Noun => ({ blob: shortName(trace, blob), isGradient: true });

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
  return joinedBy("=", [{ markup: [fraction], text: `${nounText(of)} / ${nounText(of)}` }, { markup: [markup("mn", String(value))], text: String(value) }]);
}

/** The gradients that are added, by the operators that they come through: "∂a = ∂a via #2 + ∂a via #3". */
function throughReaders(trace: Trace, { blob, contributions }: Ledger): Printed {
  const total = gradientOf(trace, blob);
  const term = ({ of }: Contribution): Printed => {
    const way = of === null ? "from outside" : `via #${of}`;
    return { markup: [markup("msub", row(noun(total)), words(way))], text: `${nounText(total)} ${way}` };
  };
  return sum(total, contributions.map(term));
}

function sum(total: Noun, terms: Printed[]): Printed {
  const shown = terms.length > TERMS ? [...terms.slice(0, TERMS - 1), { markup: [sign("…")], text: "…" }] : terms;
  return joinedBy("=", [named(total), joinedBy("+", shown)]);
}
