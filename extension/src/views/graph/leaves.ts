// Leaves in the drawing: what operators read from around the net, with the gradient that it gets, and what the net ends in.
// Each stands at the operator that reads or writes it, where the drawing has room.

import { endsOf, looseWires } from "../../lesson/wires";
import { gradientAt, normOf } from "../../model/filters/code";
import { shortName } from "../../formula/steps";
import { endOf } from "../../model/recording/lookup";
import { blobOf, valueAt } from "../../model/recording/values";
import type { Line, Trace } from "../../model/schema";
import { svgElement } from "../elements/dom";
import { DIGITS, glance, quantity } from "../elements/numbers";
import type { Navigation } from "../elements/navigation";
import type { Box } from "./drawing/levels";
import type { Drawing } from "./drawing/svg";
import { FONT, LINE, measured, namesIn, overlay, taking, WIDTH } from "./labels";

/** Drawings of more nodes, edges and ports show operators alone. */
const MOST = 400;
/** So many leaves of one operator have a line of their own; more are counted. */
const APART = 3;
/** Characters of a name. */
const LONGEST = 12;
const PADDING = 5;
/** Between leaves in a line. */
const GAP = 10;
/** Between a leaf and its operator. */
const ARROW = 6;
/** Of the line in the middle of an operator, along which others flow. */
const CLEAR = 8;

/** Leaves of one line that stand together, each with the blob whose number it shows, and the characters that it can take. */
interface Leaves {
  line: Line;
  kind: "input" | "output" | "gradient";
  rows: { name: string; blob: string; length: number }[];
}

/** Draws the leaves of the outermost net into a drawing; `show` gives them the numbers of a position. */
export function createLeaves(trace: Trace, drawing: Drawing, navigation: Navigation) {
  if (drawing.parts.length > MOST) return null;
  for (const part of drawing.parts) part.fill();
  const scene = measured(trace, drawing);
  const take = taking([...scene.boxes, ...namesIn(drawing)], scene.paths);
  const drawn: (Leaves & { group: SVGElement; texts: SVGElement[] })[] = [];
  const boxes: Box[] = [];
  for (const leaves of leavesOf(trace)) {
    const node = scene.nodes.get(leaves.line.id);
    const box = node && spots(node, leaves).find(take);
    if (!box) continue;
    boxes.push(box);
    const { group, texts } = draw(leaves, node, box);
    group.addEventListener("click", (event) => {
      event.stopPropagation();
      navigation.select(leaves.line.id);
    });
    drawn.push({ ...leaves, group, texts });
  }
  overlay(drawing, svgElement("g", { class: "gv-leaves" }, ...drawn.map(({ group }) => group)), boxes);

  return {
    show(position: number): void {
      for (const { line, kind, rows, group, texts } of drawn) {
        group.toggleAttribute("data-future", line.role !== "forward" && line.made > position);
        rows.forEach(({ blob }, index) => {
          const number = texts[index]?.lastElementChild;
          const text = numberAt(trace, kind, blob, position);
          if (number && number.textContent !== text) number.textContent = text;
        });
      }
    },
  };
}

/** " 1.39": the norm of a gradient, the value of what the net ends in; none at an input. */
function numberAt(trace: Trace, kind: Leaves["kind"], blob: string, position: number): string {
  if (kind === "input" || blob === "") return "";
  const value = kind === "gradient" ? gradientAt(trace, { subnet: null, gradient: blob }, position) : valueAt(trace, { blob, subnet: null, frame: null }, position);
  if (!value) return "";
  const norm = normOf(value);
  const text = kind === "output" && value.size === 1 ? glance(value) : norm === null ? "" : quantity(norm, DIGITS);
  return text && ` ${text}`;
}

function leavesOf(trace: Trace): Leaves[] {
  const wires = looseWires(trace);
  const inputs = new Set(wires.flatMap(({ blob, from }) => (from === null ? [blob] : [])));
  const ends = endsOf(trace);
  const own = (name: string): string => shortened(shortName(trace, name));
  const together = (line: Line, kind: Leaves["kind"], all: { name: string; blob: string }[]): Leaves => {
    const rows = all.length <= APART ? all : [...all.slice(0, APART - 1), { name: `and ${all.length - APART + 1} more`, blob: "" }];
    return { line, kind, rows: rows.map((row) => ({ ...row, length: row.name.length + numberAt(trace, kind, row.blob, endOf(trace)).length })) };
  };
  const leaves: Leaves[] = trace.forward.flatMap((line) => [
    together(line, "input", wires.filter(({ to }) => to.includes(line.id)).map(({ blob }) => ({ name: own(blob), blob }))),
    together(line, "output", wires.filter(({ blob, from }) => from === line.id && ends.has(blob)).map(({ blob }) => ({ name: own(blob), blob }))),
  ]);
  for (const line of trace.backward) {
    // One that reads nothing else, as a sum of indices, would stand alone.
    if (line.inputs.every((blob) => inputs.has(blob))) leaves.push(together(line, "input", [...new Set(line.inputs)].map((blob) => ({ name: own(blob), blob }))));
    const gradients = line.kind === "passed" ? [] : line.outputs.map((blob) => ({ blob, of: blobOf(trace, null, blob) }));
    leaves.push(together(line, "gradient", gradients.flatMap(({ blob, of }) => (of !== undefined && inputs.has(of) ? [{ name: `∂${own(of)}`, blob }] : []))));
  }
  return leaves.filter(({ rows }) => rows.length > 0);
}

const shortened = (name: string): string => (name.length > LONGEST ? `…${name.slice(1 - LONGEST)}` : name);

/** Where leaves stand: in columns one below the other, or in a line. */
type Spot = Box & { isLine: boolean };

/** Whether leaves stand below their node: the forward pass goes down, and the backward pass up. */
const isBelow = ({ kind, line }: Leaves): boolean => (kind === "input" ? line.role !== "forward" : kind === "output");

/** Where leaves can stand at their node, the best spot first: what goes into and comes out of it stands above or below. */
function spots(node: Box, leaves: Leaves): Spot[] {
  const widths = widthsOf(leaves.rows);
  const middle = node.x + node.width / 2;
  return (widths.length > 1 ? [false, true] : [false]).flatMap((isLine) => {
    const width = 2 * PADDING + (isLine ? widths.reduce((sum, one) => sum + one) + (widths.length - 1) * GAP : Math.max(...widths));
    const height = (isLine ? 1 : widths.length) * LINE + 2;
    const y = isBelow(leaves) ? node.y + node.height + ARROW : node.y - ARROW - height;
    const [left, right] = [middle - CLEAR - width, middle + CLEAR];
    return [middle - width / 2, left, right, left - LINE, right + LINE].map((x) => ({ x, y, width, height, isLine }));
  });
}

const widthsOf = (rows: Leaves["rows"]): number[] => rows.map(({ length }) => WIDTH * length);

function draw(leaves: Leaves, node: Box, { x, y, width, height, isLine }: Spot): { group: SVGElement; texts: SVGElement[] } {
  const { kind, rows } = leaves;
  const widths = widthsOf(rows);
  const texts = rows.map(({ name }, index) => {
    const before = isLine ? widths.slice(0, index).reduce((sum, one) => sum + one + GAP, 0) : 0;
    const at = { x: x + PADDING + before, y: y + 1 + ((isLine ? 0 : index) + 0.78) * LINE };
    return svgElement("text", { ...at, "font-size": FONT }, svgElement("tspan", {}, name), svgElement("tspan", { class: "gv-number" }));
  });
  const middle = Math.min(Math.max(x + width / 2, node.x + CLEAR), node.x + node.width - CLEAR);
  const [near, far] = isBelow(leaves) ? [node.y + node.height, y] : [node.y, y + height];
  const [from, to] = kind === "input" ? [far, near] : [near, far];
  const way = to > from ? 1 : -1;
  const arrow = svgElement("path", { class: "gv-arrow", d: `M${middle},${from}V${to}m-3,${-4 * way}l3,${4 * way}l3,${-4 * way}` });
  const heading = { input: "The net is given:", output: "The net ends in", gradient: "Gradients of what the net is given:" }[kind];
  const title = svgElement("title", {}, `${heading} ${rows.map(({ blob, name }) => blob || name).join(", ")}`);
  return { group: svgElement("g", { class: `gv-leaf gv-${kind}` }, title, svgElement("rect", { x, y, width, height, rx: 5 }), arrow, ...texts), texts };
}
