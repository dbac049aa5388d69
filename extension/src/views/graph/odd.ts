// Marks at operators that made NaN, infinities or nothing but zeros, or that pass no gradient on.

import { gradientAt } from "../../model/filters/code";
import { forwardLine } from "../../model/recording/cursor";
import { eachEvent, endOf, groupsAround, memoized, subnetOf } from "../../model/recording/lookup";
import { blobOf } from "../../model/recording/values";
import type { Line, Trace } from "../../model/schema";
import { svgElement } from "../elements/dom";
import { counted } from "../elements/numbers";
import { outlineOf, type Box } from "./drawing/levels";

/** What is odd about an operator, on its mark and in words. */
export interface Odd {
  sign: string;
  words: string;
}

/** What is odd at a position about an operator, or about one of those that are drawn folded in it; null: nothing. */
export function oddAt(trace: Trace, [own, ...folded]: [Line, ...Line[]], position: number): Odd | null {
  for (const line of [own, ...folded]) {
    const odd = oddNumbers(trace, line, position);
    // What is folded fills with zeros, and ends where nobody wants its gradient: nothing is odd about that.
    if (odd && (line === own || odd.sign !== "0")) return odd;
  }
  const cut = own.role === "forward" ? cutsOf(trace).get(own.id) : undefined;
  return cut !== undefined && cut <= position ? { sign: "✂", words: "No gradient passes" } : null;
}

/** What is odd about the values that an operator has computed. */
function oddNumbers(trace: Trace, line: Line, position: number): Odd | null {
  for (const blob of line.outputs) {
    const value = gradientAt(trace, { subnet: subnetOf(line.id), gradient: blob }, position);
    if (!value) continue;
    if (value.nan > 0) return { sign: "NaN", words: `${value.nan} NaN in ${blob}` };
    if (value.inf > 0) return { sign: "∞", words: `${value.inf} infinite in ${blob}` };
    if (line.role !== "forward" && value.size > 0 && value.zero === value.size && blobOf(trace, subnetOf(line.id), blob) !== undefined) return { sign: "0", words: `${blob} is zero: ${counted(value.size, "element")}` };
  }
  return null;
}

/** Of a group, by its node, the line in it that was the first to compute NaN or infinities in the whole recording. */
export const firstOdd = memoized((trace) => {
  const firstByNode = new Map<string, Line>();
  const end = endOf(trace);
  const odd = [...trace.forward, ...trace.backward].filter((line) => ["NaN", "∞"].includes(oddNumbers(trace, line, end)?.sign ?? ""));
  for (const line of odd.sort((one, other) => (one.ran ?? 0) - (other.ran ?? 0))) {
    for (const { id } of groupsAround(trace, line.id)) {
      const node = line.role === "forward" ? id : `${id}.backward`;
      if (!firstByNode.has(node)) firstByNode.set(node, line);
    }
  }
  return firstByNode;
});

/** Since when a forward operator is seen to pass no gradient on. */
const cutsOf = memoized((trace) => {
  const cuts = new Map<string, number>();
  eachEvent(trace, (event, position) => {
    const given = event.kind === "RuleApplied" ? event.detail["g_input"] : undefined;
    const isCut = event.kind === "Skipped" || (Array.isArray(given) && given.length > 0 && given.every((one) => one === null));
    const line = isCut ? forwardLine(event) : undefined;
    if (line !== undefined && !cuts.has(line)) cuts.set(line, position);
  });
  return cuts;
});

/** Where the mark of a node stands: on its left upper corner, above its title. */
export function markBox({ x, y }: Pick<Box, "x" | "y">, { sign }: Odd): Box {
  return { x: x - 6, y: y - 13, width: 10 + 8 * sign.length, height: 17 };
}

export function oddMark(node: SVGElement, odd: Odd): SVGElement {
  const { x, y, width, height } = markBox(outlineOf(node) ?? { x: 0, y: 0 }, odd);
  return svgElement(
    "g", { class: "gv-odd" },
    svgElement("title", {}, odd.words),
    svgElement("rect", { x, y, width, height, rx: 8 }),
    svgElement("text", { x: x + width / 2, y: y + 13, "text-anchor": "middle", "font-size": 11.5 }, odd.sign),
  );
}
