// The user's code: which of its lines an event is about, and the gradient of what each line computed. A script has the same by
// `Session.code`.

import { currentEvent, forwardLine, placesOf } from "../recording/cursor";
import { endOf, forwardOf, linesById, linesNamed, memoized, subnetOf, subnetsById } from "../recording/lookup";
import { valueAt } from "../recording/values";
import type { CodeLine, Line, Scalar, Trace, Value } from "../schema";

/** The line of code that called the operator of a line, or the one that it came from, or else the one that runs its net. */
export function codeOf(trace: Trace, line: Line): CodeLine | null {
  const own = line.code ?? forwardOf(trace, line)?.code;
  if (own) return own;
  const net = subnetsById(trace).get(subnetOf(line.id) ?? "");
  const owner = linesById(trace).get(net?.owner ?? net?.backward_owner ?? "");
  return owner ? codeOf(trace, owner) : null;
}

/** The lines of code of the operators that the event before a position is about, that of the current operator first. */
export function codesAt(trace: Trace, position: number): CodeLine[] {
  const event = currentEvent(trace, position);
  const ids = [forwardLine(event), ...[...(event?.lines ?? [])].reverse()].filter((id) => id !== undefined);
  const codes = linesNamed(trace, ids).map((line) => codeOf(trace, line)).filter((code) => code !== null);
  return [...new Map(codes.map((code) => [placeOf(code), code])).values()];
}

/** What breakpoints and "run to" call a line of code: "cell 4:17". */
export function placeOf({ file, number }: Pick<CodeLine, "file" | "number">): string {
  return `${file}:${number}`;
}

/** A line of code that called operators. */
export interface Called {
  code: CodeLine;
  /** The net that the operators are in. */
  subnet: string | null;
  /** The gradient of the result of the last of them that gets one; null: none gets any. */
  gradient: string | null;
}

/** The lines of code that called operators, by what "run to" calls them. Of operators in several nets the outermost count. */
export const calledIn = memoized((trace) => {
  const byPlace = new Map<string, Called>();
  for (const { id: subnet, forward } of [{ id: null, forward: trace.forward }, ...trace.subnets]) {
    const own = new Map<string, Called>();
    for (const line of forward) {
      const { code, gradient } = line;
      if (code && (gradient !== null || !own.has(placeOf(code)))) own.set(placeOf(code), { code, subnet, gradient });
    }
    for (const [place, one] of own) if (!byPlace.has(place)) byPlace.set(place, one);
  }
  return byPlace;
});

/** The gradient of what a line of code wrote, once it is computed; in a loop that of the last run by then. */
export function gradientAt(trace: Trace, { subnet, gradient }: Pick<Called, "subnet" | "gradient">, position: number): Value | undefined {
  if (gradient === null) return undefined;
  if (subnet === null) return valueAt(trace, { blob: gradient, subnet, frame: null }, position);
  const places = placesOf(trace);
  for (let frame = trace.frames.length - 1; frame >= 0; frame--) {
    const isBegun = trace.frames[frame]?.subnet === subnet && (places.of(frame)?.entered ?? -1) < position;
    const value = isBegun ? valueAt(trace, { blob: gradient, subnet, frame }, position) : undefined;
    if (value) return value;
  }
  return undefined;
}

/** The norm of a gradient, or which of NaN and the infinities is in it. */
export function normOf({ nan, inf, norm }: Value): Scalar | null {
  return nan > 0 ? "nan" : inf > 0 ? "inf" : norm;
}

/** The greatest of all norms beside the code, of which the bars are parts. */
export const greatestNorm = memoized((trace) => {
  const values = [...calledIn(trace).values()].map((one) => gradientAt(trace, one, endOf(trace)));
  return Math.max(0, ...values.map((value) => value && normOf(value)).filter((norm) => typeof norm === "number"));
});

/** The place of the rule that was applied to the operator of a line, or to the one that it came from: "gradviz/operators/linear.py:95". */
export function ruleOf(trace: Trace, line: Line): string | null {
  const forward = line.role === "forward" ? line : forwardOf(trace, line);
  return (forward && rulesIn(trace).get(forward.id)) ?? null;
}

const rulesIn = memoized((trace) => {
  const applied = trace.events.filter(({ kind, detail }) => kind === "RuleApplied" && typeof detail["rule"] === "string" && detail["rule"] !== "");
  return new Map(applied.map((event) => [forwardLine(event) ?? "", event.detail["rule"] as string]));
});
