// What numbers say in the drawing: beside an edge the norm of the gradient that flows along it, which is also how thick the
// edge is, and a mark at operators that made NaN, infinities or nothing but zeros, or that pass no gradient on.

import { gradientAt, normOf } from "../../model/filters/code";
import { forwardLine } from "../../model/recording/cursor";
import { beginOf, endOf, groupsAround, groupsOf, memoized, memoizedByText, subnetOf } from "../../model/recording/lookup";
import { blobOf, isIndices } from "../../model/recording/values";
import type { Line, Scalar, Trace } from "../../model/schema";
import { svgElement } from "../elements/dom";
import { counted, DIGITS, quantity } from "../elements/numbers";
import { classValue, outlineOf } from "./drawing/levels";
import { pathOf, type Drawing, type Point } from "./drawing/svg";
import { linesAt, pointsOf } from "./labels";

/** Between the lines of a label. */
const LINE = 13;

interface NormedEdge {
  element: SVGElement;
  subnet: string | null;
  gradients: string[];
  /** The line of its label that says the norm; undefined until it is computed. */
  text?: SVGElement;
}

/** The edges along which gradients flow, with their norms. */
export function createNorms(trace: Trace, drawing: Drawing) {
  const edges = new Map<Element, NormedEdge>();
  for (const [id, element] of drawing.byId) {
    const edge = id.startsWith("edge-") && element.classList.contains("backward") ? flowing(trace, element) : undefined;
    if (edge && edge.gradients.length > 0) edges.set(element, { element, ...edge });
  }
  const scale = memoized(() => scaleOf([...edges.values()].flatMap((edge) => norms(trace, edge, endOf(trace)))));

  /** Shows the gradient of an edge at a position. */
  function show(element: Element, position: number): void {
    const edge = edges.get(element);
    if (!edge) return;
    const gradientNorms = norms(trace, edge, position);
    drawing.whenFilled(element, () => {
      if (gradientNorms.length > 0) edge.text ??= line(edge.element);
      if (edge.text) edge.text.textContent = gradientNorms.map((norm) => quantity(norm, DIGITS)).join(", ");
    });
    edge.element.toggleAttribute("data-normed", gradientNorms.length > 0);
    edge.element.style.setProperty("--gv-size", String(Math.max(0, ...gradientNorms.map(scale(trace)))));
    edge.element.toggleAttribute("data-odd", gradientNorms.some((norm) => typeof norm !== "number"));
  }

  return { show };
}

/** The gradients that flow along an edge: what the lines at its one end write, or let pass, and those at the other read. */
function flowing(trace: Trace, element: Element): Omit<NormedEdge, "element"> {
  const [from, to] = [endAt(trace, classValue(element, "from")), endAt(trace, classValue(element, "to"))];
  return { subnet: from.subnet, gradients: [...from.sent].filter((blob) => to.read.has(blob) && !isIndices(trace, from.subnet, blob)) };
}

/** An end of edges, which can stand for the thousands of lines of a group and be drawn again and again. */
const endAt = memoizedByText((trace, end) => {
  const lines = linesAt(trace, end, true);
  return {
    subnet: subnetOf(lines[0]?.id ?? ""),
    sent: new Set(lines.flatMap(({ role, inputs, outputs }) => (role === "passed" ? inputs : outputs))),
    read: new Set(lines.flatMap(({ inputs }) => inputs)),
  };
});

function norms(trace: Trace, { subnet, gradients }: Omit<NormedEdge, "element">, position: number): Scalar[] {
  const values = gradients.map((gradient) => gradientAt(trace, { subnet, gradient }, position));
  return values.flatMap((value) => (value ? (normOf(value) ?? []) : []));
}

/** From 0 for the smallest of some norms to 1 for the greatest, by their logarithms. */
function scaleOf(all: Scalar[]): (norm: Scalar) => number {
  const sizes = all.flatMap((norm) => (typeof norm === "number" && norm > 0 ? [Math.log10(norm)] : []));
  const [least, most] = [sizes.reduce((a, b) => Math.min(a, b), Infinity), sizes.reduce((a, b) => Math.max(a, b), -Infinity)];
  return (norm) => {
    if (typeof norm !== "number") return 1;
    if (norm === 0) return 0;
    return most - least < 0.1 ? 0.5 : (Math.log10(norm) - least) / (most - least);
  };
}

/** A line below those of an edge's label. */
function line(edge: Element): SVGElement | undefined {
  const last = [...edge.querySelectorAll("text")].at(-1);
  if (!last) return undefined;
  const at = { x: last.getAttribute("x") ?? 0, y: Number(last.getAttribute("y")) + LINE };
  const text = svgElement("text", { class: "gv-edge-norm", ...at, "text-anchor": last.getAttribute("text-anchor") ?? "start" });
  last.after(text);
  edge.toggleAttribute("data-level", isCrossed(pointsOf(pathOf(edge)), Number(at.x), at.y));
  return text;
}

/** Whether an edge runs level where the line of text would stand that begins at a point. */
function isCrossed(points: Point[], x: number, y: number): boolean {
  return points.some(([end, height], index) => {
    const [begin, before] = points[index - 1] ?? [end, NaN];
    return height === before && Math.abs(height - (y - LINE / 2)) < LINE && Math.min(begin, end) <= x + LINE && x <= Math.max(begin, end);
  });
}

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
    for (const { id } of groupsAround(groupsOf(trace), line.id)) {
      const node = line.role === "forward" ? id : `${id}.backward`;
      if (!firstByNode.has(node)) firstByNode.set(node, line);
    }
  }
  return firstByNode;
});

/** Since when a forward operator is seen to pass no gradient on. */
const cutsOf = memoized((trace) => {
  const cuts = new Map<string, number>();
  trace.events.forEach((event, index) => {
    const given = event.kind === "RuleApplied" ? event.detail["g_input"] : undefined;
    const isCut = event.kind === "Skipped" || (Array.isArray(given) && given.length > 0 && given.every((one) => one === null));
    const line = isCut ? forwardLine(event) : undefined;
    if (line !== undefined && !cuts.has(line)) cuts.set(line, beginOf(trace) + index + 1);
  });
  return cuts;
});

/** The mark of something odd, on the left upper corner of a node, above its title. */
export function oddMark(node: SVGElement, { sign, words }: Odd): SVGElement {
  const { x, y } = outlineOf(node) ?? { x: 0, y: 0 };
  const width = 10 + 8 * sign.length;
  return svgElement(
    "g", { class: "gv-odd" },
    svgElement("title", {}, words),
    svgElement("rect", { x: x - 6, y: y - 13, width, height: 17, rx: 8 }),
    svgElement("text", { x: x - 6 + width / 2, y, "text-anchor": "middle", "font-size": 11.5 }, sign),
  );
}
