// The chain rule at a gradient operator: local derivative · gradient that arrives = gradient that it gives.

import type { Noun } from "../formula/mathml";
import { gradientOf, namesIn, nounOf, slots } from "../formula/steps";
import { parse, FUNCTIONS, type Part } from "../formula/parser";
import { currentEvent } from "../model/recording/cursor";
import { forwardOf, linesNamed } from "../model/recording/lookup";
import { numbersOf, valueAt } from "../model/recording/values";
import type { Line, Trace, Value } from "../model/schema";

export interface Link {
  /** The blob that the gradient which arrives is of, and that of the gradient given. */
  y: Noun;
  x: Noun;
  /** Null: not computed yet. */
  upstream: Value | null;
  result: Value | null;
  /** By elements; a null among them: it is not defined by what was recorded. Null: only the formula tells it. */
  local: (number | null)[] | null;
}

/** A link for each gradient that the operator of the event gives; none where several gradients arrive. */
export function chainAt(trace: Trace, position: number): Link[] {
  const event = currentEvent(trace, position);
  const line = linesNamed(trace, event?.lines ?? []).reverse().find((one) => one.role === "gradient" && one.kind === "operator");
  const forward = line && forwardOf(trace, line);
  if (!event || !line || !forward) return [];
  const arriving = line.inputs.filter((blob) => nounOf(trace, event.subnet, blob).isGradient);
  const [gradient] = arriving;
  if (gradient === undefined || arriving.length > 1) return [];
  const valueOf = (blob: string): Value | null => valueAt(trace, { blob, subnet: event.subnet, frame: event.frame }, position) ?? null;
  const upstream = valueOf(gradient);
  return line.outputs.flatMap((blob) => {
    const x = givenFor(trace, line, forward, blob);
    if (x === undefined) return [];
    const result = valueOf(blob);
    const local = upstream && result ? localDerivative(trace, line, upstream, result) : null;
    const y = nounOf(trace, event.subnet, gradient, forward.outputs).blob;
    return [{ y: { blob: y, isGradient: true }, x: gradientOf(trace, x), upstream, result, local }];
  });
}

export type Sum = NonNullable<ReturnType<typeof sumAt>>;

/**
 * The sum of gradients that the event is about; null: it is about none. Its terms, where they are arrays like the total; of a
 * sparse one, whose rows are joined, there are none.
 */
export function sumAt(trace: Trace, position: number) {
  const event = currentEvent(trace, position);
  const lines = linesNamed(trace, event?.lines ?? []).filter((one) => one.role === "accumulation");
  // Of a sparse sum the rows count, not their indices: an accumulation names its total first.
  const line = lines.find((one) => one.outputs.includes(event?.blobs[0] ?? "")) ?? lines[0];
  const [blob] = line?.outputs ?? [];
  if (!event || !line || blob === undefined) return null;
  const valueOf = (one: string): Value | undefined => valueAt(trace, { blob: one, subnet: event.subnet, frame: event.frame }, position);
  const [result, terms] = [valueOf(blob) ?? null, line.inputs.map(valueOf)];
  const isOfOneShape = result !== null && terms.every((term) => term?.shape.join() === result.shape.join());
  return { total: nounOf(trace, event.subnet, blob), result, terms: isOfOneShape ? (terms as Value[]) : [] };
}

/** The blob whose gradient an output of a gradient operator is, by the name of the output's slot. */
function givenFor(trace: Trace, line: Line, forward: Line, output: string): string | undefined {
  const own = [...slots(trace, line, line)].find(([name, blob]) => blob === output && name.startsWith("d"));
  return own && slots(trace, forward, forward).get(own[0].slice(1));
}

/**
 * The quotient of what was recorded: right where a single number arrives, and element by element where the operator
 * works so. Where a 0 arrives it says nothing.
 */
function localDerivative(trace: Trace, line: Line, upstream: Value, result: Value): Link["local"] {
  const [above, below] = [numbersOf(result), numbersOf(upstream)];
  if (!above || !below) return null;
  const isSame = result.shape.join() === upstream.shape.join() && isElementwise(trace, line);
  if (below.length > 1 && !isSame) return null;
  return above.map((one, index) => {
    const by = below[below.length === 1 ? 0 : index] ?? 0;
    return by === 0 ? null : one / by;
  });
}

/** Whether a formula is about each element alone: no indices, sums, transpositions or products of matrices, and no words. */
function isElementwise(trace: Trace, line: Line): boolean {
  const formula = trace.formulas[line.type];
  const parts = formula && parse(formula.formula, namesIn(formula));
  return parts ? parts.every(isAlone) : false;
}

const WORDS = new Set(["where", "else"]);
const OF_MANY = new Set(["max", "min", "argmax", "argmin", "softmax", "mean"]);

function isAlone(part: Part): boolean {
  if (part.kind === "big") return false;
  if (part.kind === "sign") return part.text !== "·" || part.gap;
  if (part.kind === "word") return WORDS.has(part.text) || (FUNCTIONS.has(part.text) && !OF_MANY.has(part.text));
  if (part.kind === "group") return part.open === "(" && part.items.every(isAlone);
  if (part.kind === "root") return isAlone(part.of);
  if (part.kind === "script") return part.sub === "" && !/T|′/.test(part.sup) && isAlone(part.base);
  return part.kind !== "fraction" || [...part.top, ...part.bottom].every(isAlone);
}
