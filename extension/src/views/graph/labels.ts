// Teaching mode in the graph: the value above and the gradient below each wire, as far as they are computed.
//
// Where in a drawing the labels of wires can stand, so that nothing lies over anything: each takes the first of its spots
// that is free.

import { endsOf, isSeveral, looseWires, severalAt, wiresBetween, wireValuesAt, type Several, type Wire, type WireValue } from "../../lesson/wires";
import { addTo, endOf, groupOfNode, lengthOf, linesById, memoizedByText, netOf, subnetOf } from "../../model/recording/lookup";
import { placesOf } from "../../model/recording/cursor";
import { elementsOf } from "../../model/recording/values";
import type { Line, Trace } from "../../model/schema";
import { DIGITS, glance, NOT_COMPUTED, NOT_YET, NOT_YET_IN_SHORT, quantity } from "../elements/numbers";
import { svgElement } from "../elements/dom";
import { classValue, PORT, segmentsOf, type Box } from "./drawing/levels";
import { boxOf, offset, pathOf, type Drawing, type Point } from "./drawing/svg";
import { markBox, oddAt } from "./odd";

/** A spot for a label: whether its text ends at the wire, and what is drawn of the wire where the drawing has none. */
interface Spot extends Box {
  isBefore: boolean;
  stub: string;
}

/** A label that stands at wires, where it can: the best spot first. */
interface Planned {
  wires: Wire[];
  /** Whether the wires have one label. */
  isTogether: boolean;
  spots: Spot[];
}

/** How large a label becomes. */
type Size = Pick<Box, "width" | "height">;

export const GAP = 6;
/** How long a wire is that leads nowhere, and how far off the column of those that come from nowhere stands. */
const STUB = 28;
const LEAD = 34;
/** So many blobs between two lines have a label each. */
const APART = 2;
/** Between wires that enter one node. */
const ENTRY = 11;

type Scene = ReturnType<typeof measured>;

/** What labels must not cover, and the left edge of all. */
export function measured(trace: Trace, { named }: Drawing) {
  const scene = { nodes: new Map<string, Box>(), boxes: [] as Box[], paths: [...named.edge.values()].map((edge) => pointsOf(pathOf(edge))), left: 0 };
  const headings = [...named.net.values()].map((net) => net.querySelector(":scope > text"));
  scene.boxes.push(...headings.flatMap((heading) => (heading ? [boxOfText(heading)] : [])), ...[...named.lane.values()].flatMap((lane) => boxOf(lane) ?? []));
  for (const [id, element] of named.node) {
    const box = boxOf(element);
    if (!box) continue;
    scene.boxes.push(box);
    scene.nodes.set(id, box);
    const line = linesById(trace).get(id);
    const odd = line && oddAt(trace, [line], endOf(trace));
    if (odd) scene.boxes.push(markBox(box, odd));
  }
  scene.left = [...scene.boxes.map(({ x }) => x), ...scene.paths.flat().map(([x]) => x)].reduce((least, x) => Math.min(least, x), Infinity);
  return scene;
}

/** Where a drawing has names at edges, with room for a norm below each; a label hides those of its edge. */
export function namesIn({ named }: Drawing): Box[] {
  const edges = [...named.edge.values()].filter((edge) => !edge.hasAttribute("data-labelled"));
  return edges.flatMap((edge) => [...edge.querySelectorAll("text")].map(boxOfText));
}

/** Of a text that the drawing has, with room for a line below it. */
function boxOfText(text: Element): Box {
  const [x, y] = [Number(text.getAttribute("x")), Number(text.getAttribute("y"))];
  const width = (text.textContent ?? "").length * WIDTH;
  const anchor = text.getAttribute("text-anchor");
  return { x: anchor === "end" ? x - width : anchor === "middle" ? x - width / 2 : x, y: y - LINE, width, height: 2 * LINE };
}

/**
 * Labels at the edges that the drawing has, which lose the names that they had. Between two lines one or two blobs
 * have a label each; more, and those between closed groups, one together.
 */
function edgeLabels(trace: Trace, { named }: Drawing): Planned[] {
  const labels: Planned[] = [];
  for (const edge of named.edge.values()) {
    if (edge.classList.contains("saved")) continue;
    const isBackward = edge.classList.contains("backward");
    const [tails, heads] = ["from", "to"].map((word) => linesAt(trace, classValue(edge, word), isBackward));
    const wires = wiresBetween(trace, tails ?? [], heads ?? [], isBackward);
    if (wires.length === 0) continue;
    edge.setAttribute("data-labelled", "");
    const isTogether = wires.length > (tails?.length === 1 && heads?.length === 1 ? APART : 1);
    labels.push({ wires, isTogether, spots: along(pointsOf(pathOf(edge)), extentOf(trace, wires, isTogether)) });
  }
  return labels;
}

/** The lines that an end of an edge stands for: one, those in a group or, at a port in a group's border, those around it. */
export function linesAt(trace: Trace, end: string, isBackward: boolean): Line[] {
  const line = linesById(trace).get(end);
  if (line) return [line];
  const port = PORT.exec(end);
  const group = groupOfNode(trace, port?.[1] ?? end);
  if (!group) return [];
  const inside = isBackward ? group.backward : group.forward;
  if (!port) return inside;
  const own = new Set(inside);
  return (netOf(trace, subnetOf(group.id))?.[isBackward ? "backward" : "forward"] ?? []).filter((one) => !own.has(one));
}

/** Spots beside a path, from its middle outward. */
function along(points: Point[], { width, height }: Size): Spot[] {
  const at = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map((share) => points[Math.floor(share * (points.length - 1))]);
  return at.flatMap((point) => {
    if (!point) return [];
    const box = { y: point[1] - height / 2, width, height, stub: "" };
    return [{ ...box, x: point[0] + GAP, isBefore: false }, { ...box, x: point[0] - GAP - width, isBefore: true }];
  });
}

/** Labels of what comes from around the net, in a column before it, and of what nobody reads, at its maker: what the net ends in, and the rest. */
function looseLabels(trace: Trace, scene: Scene): Planned[] {
  const wires = looseWires(trace);
  const ends = endsOf(trace);
  return trace.forward.flatMap(({ id }) => {
    const node = scene.nodes.get(id);
    if (!node) return [];
    const inputs = wires.filter(({ to }) => to.includes(id));
    const outputs = wires.filter(({ from, blob }) => from === id && ends.has(blob));
    const unread = wires.filter(({ from, blob }) => from === id && !ends.has(blob));
    return [
      ...inputs.map((wire, index) => inputLabel(trace, scene.left - LEAD, node, wire, index - (inputs.length - 1) / 2)),
      ...outputs.map((wire) => outputLabel(trace, node, [wire])),
      ...(unread.length > APART ? [outputLabel(trace, node, unread)] : unread.map((wire) => outputLabel(trace, node, [wire]))),
    ];
  });
}

/** How far up or down a label in the column may stand, the least first. */
const SHIFTS = [0, ...Array.from({ length: 40 }, (_, index) => 4 * (index + 1)).flatMap((shift) => [shift, -shift])];

/** `slot` is how many labels it stands below the middle of the node. */
function inputLabel(trace: Trace, end: number, node: Box, wire: Wire, slot: number): Planned {
  const { width, height } = extentOf(trace, [wire], false);
  const middle = node.y + node.height / 2;
  const enters = Math.min(node.y + node.height - 5, Math.max(node.y + 5, middle + slot * ENTRY));
  const spot = (shift: number): Spot => {
    const y = middle + slot * (height + 2) + shift;
    return { x: end - width, y: y - height / 2, width, height, isBefore: true, stub: `M${end + 3},${y}h8L${node.x - 12},${enters}H${node.x - 1}` };
  };
  return { wires: [wire], isTogether: false, spots: SHIFTS.map(spot) };
}

function outputLabel(trace: Trace, node: Box, wires: Wire[]): Planned {
  const isTogether = wires.length > 1;
  const size = extentOf(trace, wires, isTogether);
  const [x, right] = [node.x + node.width / 2, node.x + node.width + GAP];
  const [bottom, middle] = [node.y + node.height, node.y + node.height / 2];
  const below = { ...size, y: bottom + GAP, stub: `M${x},${bottom + 1}v${STUB}` };
  const beside = { ...size, x: right, isBefore: false, stub: "" };
  return {
    wires,
    isTogether,
    spots: [
      { ...below, x: x + GAP, isBefore: false },
      { ...below, x: x - GAP - size.width, isBefore: true },
      { ...beside, y: middle - size.height - 2 },
      { ...beside, y: middle + 2 },
    ],
  };
}

const MARGIN = 2;
/** Points of an edge lie no further apart than this. */
const STEP = 5;
/** What is taken is looked for in strips of this height. */
const STRIP = 40;

/** What takes a box, if nothing lies there, and says whether it did. */
export function taking(boxes: readonly Box[], lines: readonly Point[][]): (box: Box) => boolean {
  const strips = new Map<number, Box[]>();
  const stripsOf = ({ y, height }: Box): number[] => {
    const first = Math.floor(y / STRIP);
    return Array.from({ length: Math.floor((y + height) / STRIP) - first + 1 }, (_, index) => first + index);
  };
  const take = (box: Box): void => stripsOf(box).forEach((strip) => addTo(strips, strip, box));
  const isTaken = (box: Box): boolean => stripsOf(box).some((strip) => strips.get(strip)?.some((other) => overlaps(box, other)));
  for (const box of boxes) take(box);
  for (const [x, y] of lines.flat()) take({ x, y, width: 0, height: 0 });
  return (box) => {
    if (isTaken(box)) return false;
    take(box);
    return true;
  };
}

/** Whether two boxes lie over each other, or so close that they would be read as one. */
export function overlaps(a: Box, b: Box): boolean {
  return a.x < b.x + b.width + MARGIN && b.x < a.x + a.width + MARGIN && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** How many numbers each command of a path takes. */
const SIZES: Record<string, number> = { M: 2, L: 2, H: 1, V: 1, Q: 4, C: 6 };

/** Points along the path of an edge, which has straight lines and curves of Bézier's. */
export function pointsOf(path: string): Point[] {
  const points: Point[] = [];
  let from: Point = [0, 0];
  for (const [command, numbers] of segmentsOf(path)) {
    const size = SIZES[command] ?? 2;
    for (let index = 0; index + size <= numbers.length; index += size) {
      const through = controls(command, numbers.slice(index, index + size), from);
      points.push(...(command === "M" ? through : curve([from, ...through])));
      from = through.at(-1) ?? from;
    }
  }
  return points;
}

function controls(command: string, numbers: number[], [x, y]: Point): Point[] {
  const [first = 0] = numbers;
  if (command === "H") return [[first, y]];
  if (command === "V") return [[x, first]];
  return Array.from({ length: numbers.length / 2 }, (_, index) => [numbers[2 * index] ?? 0, numbers[2 * index + 1] ?? 0]);
}

/** Points of the curve with these control points, behind the first of them. */
function curve(through: Point[]): Point[] {
  const length = through.reduce((sum, point, index) => sum + distance(through[index - 1] ?? point, point), 0);
  const count = Math.min(400, Math.max(1, Math.ceil(length / STEP)));
  return Array.from({ length: count }, (_, index) => pointAt(through, (index + 1) / count));
}

const distance = (a: Point, b: Point): number => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** De Casteljau's construction. */
function pointAt(through: Point[], share: number): Point {
  const [first, ...rest] = through;
  if (!first || rest.length === 0) return first ?? [0, 0];
  const between = (a: number, b: number): number => a + share * (b - a);
  return pointAt(rest.map(([x, y], index) => [between(through[index]?.[0] ?? x, x), between(through[index]?.[1] ?? y, y)]), share);
}

export const FONT = 11;
export const LINE = 12;
/** Of a character of the font for code. */
export const WIDTH = 0.62 * FONT;
/** Characters of a label in a nested net, whose values change from run to run. */
const NESTED = 18;
/** Characters by which a label of several grows longer, while not all of them are computed. */
const COUNTING = 9;
/** Labels without room of their own that lie one below the other. */
const LOWER = 8;

type Drawn = ReturnType<typeof draw>;

/** Writes labels into a drawing, which becomes wider where it has to. */
export function labelled(trace: Trace, drawing: Drawing) {
  const scene = measured(trace, drawing);
  const planned = [...looseLabels(trace, scene), ...edgeLabels(trace, drawing)];
  const layer = svgElement("g", { class: "gv-wires" });
  const boxes = [...scene.boxes, ...namesIn(drawing)];
  const take = taking(boxes, scene.paths);
  const chosen = new Map(planned.map((label) => [label, label.spots.find(take)]));
  const places = [...chosen.values()].filter((spot) => spot !== undefined);
  // What is shown all the same lies over edges, if need be over operators, and over no label.
  const [takeBesideNodes, takeBesideLabels] = [taking(boxes, []), taking(places, [])];
  const crowded = new Map<Planned, Spot>();
  for (const label of planned.filter((one) => !chosen.get(one))) {
    const spots = [...label.spots, ...lower(label.spots)];
    const spot = spots.find((one) => takeBesideNodes(one) && takeBesideLabels(one)) ?? spots.find(takeBesideLabels) ?? spots[0];
    if (spot) crowded.set(label, spot);
  }
  const drawn = new Map<Planned, Drawn>();
  overlay(drawing, layer, [...places, ...crowded.values()]);

  return {
    /** Tells what the wires carry; labels without a place of their own only where they touch one of the lines `near`. */
    show(position: number, near: ReadonlySet<string>) {
      for (const [label, spot] of chosen) {
        const isShown = spot !== undefined || label.wires.some(({ from, to }) => [from, ...to].some((line) => line !== null && near.has(line)));
        const entry = drawn.get(label) ?? (isShown ? draw(layer, label, spot ?? crowded.get(label), spot === undefined) : null);
        if (!entry) continue;
        drawn.set(label, entry);
        if (!spot) entry.group.toggleAttribute("data-hidden", !isShown);
        if (isShown) tell(trace, label, entry, position);
      }
    },
    placeless: planned.filter((label) => !chosen.get(label)).length,
  };
}

function wireValuesOf(trace: Trace, wires: readonly Wire[], isTogether: boolean, position: number): WireValue[] {
  return isTogether ? severalAt(trace, wires, position) : wires.flatMap((wire) => wireValuesAt(trace, wire, position));
}

/** The last position inside of a nested net; for one that never ran, and the outermost, the end. */
const lastIn = memoizedByText((trace, subnet) => placesOf(trace).of(trace.frames.map((frame) => frame.subnet).lastIndexOf(subnet))?.end ?? lengthOf(trace));

/** How large a label can become at any position: it stays where it is. */
function extentOf(trace: Trace, wires: Wire[], isTogether: boolean): Size {
  const last = wireValuesOf(trace, wires, isTogether, lastIn(trace, wires[0]?.subnet ?? ""));
  const grows = (row: WireValue): number => (isSeveral(row.value) ? COUNTING : 0);
  const characters = last.map((row) => row.name.length + 3 + Math.max(NOT_YET_IN_SHORT.length, wordsFor(row, undefined, true).length + grows(row)));
  if (wires.some(({ subnet }) => subnet !== null)) characters.push(NESTED);
  return { width: Math.max(...characters) * WIDTH, height: last.length * LINE };
}

/** Places one below the other under the best of some spots. */
function lower([best]: Spot[]): Spot[] {
  return best ? Array.from({ length: LOWER }, (_, index) => ({ ...best, y: best.y + (index + 1) * best.height })) : [];
}

function draw(layer: SVGElement, { wires, isTogether }: Planned, spot: Spot | undefined, isCrowded: boolean) {
  const group = svgElement("g", { class: isCrowded ? "gv-wire gv-crowded" : "gv-wire" });
  const { x = 0, y = 0, width = 0, isBefore = false, stub = "" } = spot ?? {};
  if (stub !== "") group.append(svgElement("path", { d: stub, class: "gv-stub" }));
  const rows = (isTogether ? wires.slice(0, 1) : wires).flatMap(({ isBackward }) => (isBackward ? ["gradient"] : ["value", "gradient"]));
  const texts = rows.map((what, index) => {
    const from = { x: isBefore ? x + width : x, y: y + (index + 0.8) * LINE, "text-anchor": isBefore ? "end" : "start" };
    const text = svgElement("text", { class: `gv-${what}`, ...from });
    const [title, name, value] = [svgElement("title", {}), svgElement("tspan", { class: "gv-name" }), svgElement("tspan", {})];
    text.append(title, name, value);
    group.append(text);
    return { element: text, title, name, value, shown: "" };
  });
  layer.append(group);
  return { group, texts };
}

function tell(trace: Trace, { wires, isTogether }: Planned, { texts }: Drawn, position: number): void {
  const values = wireValuesOf(trace, wires, isTogether, position);
  // In a nested net values are those of a run, and behind the last event we are in none.
  const isOver = position === lengthOf(trace) && wires.every(({ subnet }) => subnet === null);
  texts.forEach((text, index) => {
    const one = values[index];
    if (!one) return;
    const shown = wordsFor(one, values[index - 1], isOver);
    const key = `${one.name} ${shown}`;
    if (key === text.shown) return;
    text.shown = key;
    text.name.textContent = shown === "" ? "" : `${one.name} ${isExact(one.value) ? "= " : ""}`;
    text.value.textContent = shown;
    text.title.textContent = !isMissing(one.value) ? "" : isOver ? NOT_COMPUTED : NOT_YET;
    text.element.classList.toggle("gv-unknown", isMissing(one.value) || typeof one.value === "string");
  });
}

/** Whether there is no value yet. */
function isMissing(value: WireValue["value"]): boolean {
  return value === null || (isSeveral(value) && value.there === 0);
}

/** Whether all elements of a value are shown. */
function isExact(value: WireValue["value"]): boolean {
  return value !== null && typeof value !== "string" && !isSeveral(value) && elementsOf(value) !== null;
}

/** Of a wire of which nothing is computed this is said once; behind the last event nothing will be. */
function wordsFor({ what, value }: WireValue, before?: WireValue, isOver = false): string {
  if (isMissing(value)) return what === "gradient" && before?.what === "value" && isMissing(before.value) ? "" : isOver ? NOT_COMPUTED : NOT_YET_IN_SHORT;
  if (value === null || typeof value === "string") return value ?? "none";
  return isSeveral(value) ? wordsForSeveral(value) : glance(value);
}

/** "3 of 5 ‖·‖ 2.31", of all "‖·‖ 2.31". */
function wordsForSeveral({ there, of, norm }: Several): string {
  const size = norm === null ? [] : [`‖·‖ ${quantity(norm, DIGITS)}`];
  return [...(there < of || norm === null ? [`${there} of ${of}`] : []), ...size].join(" ");
}

/** Puts a layer on a drawing, which gets room for its boxes where they lie outside. */
export function overlay({ svg }: Drawing, layer: SVGElement, boxes: Box[]): void {
  const graph = svg.querySelector("g.graph") ?? svg;
  graph.append(layer);
  const { width, height } = svg.viewBox.baseVal;
  const [dx, dy] = offset(graph);
  const left = Math.min(0, ...boxes.map(({ x }) => x + dx - GAP));
  const top = Math.min(0, ...boxes.map(({ y }) => y + dy - GAP));
  const right = Math.max(width, ...boxes.map((box) => box.x + box.width + dx + GAP));
  const bottom = Math.max(height, ...boxes.map((box) => box.y + box.height + dy + GAP));
  svg.setAttribute("viewBox", [left, top, right - left, bottom - top].join(" "));
}
