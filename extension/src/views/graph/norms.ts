// Beside an edge the norm of the gradient that flows along it, which is also how thick the edge is.

import { isHandedOn } from "../../lesson/wires";
import { gradientAt, normOf } from "../../model/filters/code";
import { endOf, memoized, memoizedByText, subnetOf } from "../../model/recording/lookup";
import { isIndices, makerOf } from "../../model/recording/values";
import type { Scalar, Trace } from "../../model/schema";
import { attribute } from "../elements/dom";
import { DIGITS, quantity } from "../elements/numbers";
import { classValue } from "./drawing/levels";
import { pathOf, type Drawing, type Point } from "./drawing/svg";
import { linesAt, pointsOf } from "./labels";

/** Between the lines of a label. */
const LINE = 13;

interface NormedEdge {
  subnet: string | null;
  gradients: string[];
  /** The line of its label that says the norm; undefined until it is computed. */
  text?: SVGElement;
}

/** The edges along which gradients flow, with their norms. */
export function createNorms(trace: Trace, drawing: Drawing) {
  const backward = [...drawing.named.edge.values()].filter((element) => element.classList.contains("backward"));
  const edges = new Map(backward.map((element) => [element, flowing(trace, element)]));
  const scale = memoized(() => scaleOf([...edges.values()].flatMap((edge) => norms(trace, edge, endOf(trace)))));

  /** Shows the gradient of an edge at a position. */
  function show(element: SVGElement, position: number): void {
    const edge = edges.get(element);
    if (!edge || edge.gradients.length === 0) return;
    const gradientNorms = norms(trace, edge, position);
    drawing.whenFilled(element, () => {
      if (gradientNorms.length > 0) edge.text ??= line(element);
      if (edge.text) edge.text.textContent = gradientNorms.map((norm) => quantity(norm, DIGITS)).join(", ");
    });
    element.toggleAttribute("data-normed", gradientNorms.length > 0);
    element.style.setProperty("--gv-size", String(Math.max(0, ...gradientNorms.map(scale(trace)))));
    element.toggleAttribute("data-odd", gradientNorms.some((norm) => typeof norm !== "number"));
  }

  return {
    show,
    /** The lines that compute what flows along an edge; none where it comes from around their net. */
    makers(element: SVGElement): string[] {
      const { subnet, gradients } = edges.get(element) ?? { subnet: null, gradients: [] };
      return gradients.flatMap((gradient) => makerOf(trace, gradient, subnet)?.id ?? []);
    },
  };
}

/** The gradients that flow along an edge: what the lines at its one end write, or let pass, and those at the other get from there. */
function flowing(trace: Trace, element: Element): NormedEdge {
  const [from, to] = [endAt(trace, classValue(element, "from")), endAt(trace, classValue(element, "to"))];
  const gradients = new Set([...from.passed].filter((blob) => to.read.has(blob)));
  for (const blob of from.written) if (to.taken.has(blob)) gradients.add(blob);
  return { subnet: from.subnet, gradients: [...gradients].filter((blob) => !isIndices(trace, from.subnet, blob)) };
}

/** An end of edges, which can stand for the thousands of lines of a group and be drawn again and again; `taken` is what it gets from its makers. */
const endAt = memoizedByText((trace, end) => {
  const lines = linesAt(trace, end, true);
  const [passing, writing] = [true, false].map((isPassed) => lines.filter(({ kind }) => (kind === "passed") === isPassed));
  return {
    subnet: subnetOf(lines[0]?.id ?? ""),
    passed: new Set(passing?.flatMap(({ inputs }) => inputs)),
    written: new Set(writing?.flatMap(({ outputs }) => outputs)),
    read: new Set(lines.flatMap(({ inputs }) => inputs)),
    taken: new Set(lines.flatMap((line) => line.inputs.filter((blob) => !isHandedOn(trace, line, blob)))),
  };
});

function norms(trace: Trace, { subnet, gradients }: NormedEdge, position: number): Scalar[] {
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
  const [x, y] = [Number(last.getAttribute("x")), Number(last.getAttribute("y")) + LINE];
  const text = last.cloneNode() as SVGElement; // of its font: a drawing can have that at each text
  for (const [name, value] of Object.entries({ class: "gv-edge-norm", y })) attribute(text, name, value);
  last.after(text);
  edge.toggleAttribute("data-level", isCrossed(pointsOf(pathOf(edge)), x, y));
  return text;
}

/** Whether an edge runs level where the line of text would stand that begins at a point. */
function isCrossed(points: Point[], x: number, y: number): boolean {
  return points.some(([end, height], index) => {
    const [begin, before] = points[index - 1] ?? [end, NaN];
    const below = height - (y - LINE / 2);
    return height === before && below > -LINE && below < LINE / 4 && Math.min(begin, end) <= x + LINE && x <= Math.max(begin, end);
  });
}
