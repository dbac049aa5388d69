// Where in a drawing the labels of wires can stand, so that nothing lies over anything: each takes the first of its spots
// that is free.

import { looseWires, wiresBetween, type Wire } from "../../../lesson/wires";
import { groupOfNode, groupsOf } from "../../../model/recording/groups";
import { linesById, netOf, subnetOf } from "../../../model/recording/lines";
import { addTo } from "../../../model/recording/lists";
import type { Line, Trace } from "../../../model/schema";
import { PORT } from "../drawing/levels";
import { boxOf, pathOf, type Box, type Point } from "../drawing/parts";

/** A spot for a label: whether its text ends at the wire, and what is drawn of the wire where the drawing has none. */
interface Spot extends Box {
  isBefore: boolean;
  stub: string;
}

/** A label that stands at wires, where it can: the best spot first. */
export interface Planned {
  wires: Wire[];
  /** Whether the wires are told together. */
  isTogether: boolean;
  spots: Spot[];
}

/** How large a label becomes. */
export type Extent = (wires: Wire[], isTogether: boolean) => Pick<Box, "width" | "height">;

export const GAP = 6;
/** How long a wire is that leads nowhere, and how far off the column of those that come from nowhere stands. */
const STUB = 28;
const LEAD = 34;
/** So many blobs between two lines are told each for itself. */
const APART = 2;
/** Between wires that enter one node. */
const ENTRY = 11;

/** What labels must not cover. */
export interface Scene {
  nodes: Map<string, Box>;
  boxes: Box[];
  paths: Point[][];
  /** The left edge of all. */
  left: number;
}

export function measured(byId: Map<string, SVGElement>): Scene {
  const scene: Scene = { nodes: new Map(), boxes: [], paths: [], left: 0 };
  for (const [id, element] of byId) {
    if (id.startsWith("edge-")) scene.paths.push(pointsOf(pathOf(element)));
    const box = /^(node|lane)-/.test(id) ? boxOf(element) : null;
    if (!box) continue;
    scene.boxes.push(box);
    if (id.startsWith("node-")) scene.nodes.set(id.slice("node-".length), box);
  }
  scene.left = [...scene.boxes.map(({ x }) => x), ...scene.paths.flat().map(([x]) => x)].reduce((least, x) => Math.min(least, x), Infinity);
  return scene;
}

/**
 * Labels at the edges that the drawing has, which lose the names that they had. Between two lines one or two blobs are
 * told each for itself; more, and those between closed groups, together.
 */
export function edgeLabels(trace: Trace, byId: Map<string, SVGElement>, extent: Extent): Planned[] {
  const labels: Planned[] = [];
  for (const [id, edge] of byId) {
    if (!id.startsWith("edge-") || edge.classList.contains("saved")) continue;
    const end = (which: string): string => [...edge.classList].find((one) => one.startsWith(`${which}-`))?.slice(which.length + 1) ?? "";
    const isBackward = edge.classList.contains("backward");
    const [tails, heads] = [end("from"), end("to")].map((one) => linesAt(trace, one, isBackward));
    const wires = wiresBetween(tails ?? [], heads ?? [], isBackward);
    if (wires.length === 0) continue;
    edge.setAttribute("data-told", "");
    const isTogether = wires.length > (tails?.length === 1 && heads?.length === 1 ? APART : 1);
    labels.push({ wires, isTogether, spots: along(pointsOf(pathOf(edge)), extent(wires, isTogether)) });
  }
  return labels;
}

/** The lines that an end of an edge stands for: one, those in a group or, at a port in a group's border, those around it. */
function linesAt(trace: Trace, end: string, isBackward: boolean): Line[] {
  const line = linesById(trace).get(end);
  if (line) return [line];
  const groups = groupsOf(trace);
  const port = PORT.exec(end);
  const group = groupOfNode(groups, port?.[1] ?? end);
  if (!group) return [];
  const inside = isBackward ? group.backward : group.forward;
  if (!port) return inside;
  const net = netOf(trace, subnetOf(group.id));
  const own = new Set(inside);
  return (net?.[isBackward ? "backward" : "forward"] ?? []).filter((one) => !own.has(one));
}

/** Spots beside a path, from its middle outward. */
function along(points: Point[], { width, height }: ReturnType<Extent>): Spot[] {
  const at = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map((share) => points[Math.floor(share * (points.length - 1))]);
  return at.flatMap((point) => {
    if (!point) return [];
    const box = { y: point[1] - height / 2, width, height, stub: "" };
    return [{ ...box, x: point[0] + GAP, isBefore: false }, { ...box, x: point[0] - GAP - width, isBefore: true }];
  });
}

/** Labels of what comes from around the net, in a column before it, and of what nobody reads, at its maker. */
export function looseLabels(trace: Trace, scene: Scene, extent: Extent): Planned[] {
  const wires = looseWires(trace);
  return trace.forward.flatMap(({ id }) => {
    const node = scene.nodes.get(id);
    if (!node) return [];
    const inputs = wires.filter(({ to }) => to.includes(id));
    const outputs = wires.filter(({ from }) => from === id);
    return [...inputs.map((wire, index) => inputLabel(scene.left - LEAD, node, wire, index - (inputs.length - 1) / 2, extent)), ...outputs.map((wire) => outputLabel(node, wire, extent))];
  });
}

/** `slot` is how many labels it stands below the middle of the node. */
function inputLabel(end: number, node: Box, wire: Wire, slot: number, extent: Extent): Planned {
  const { width, height } = extent([wire], false);
  const middle = node.y + node.height / 2;
  const enters = Math.min(node.y + node.height - 5, Math.max(node.y + 5, middle + slot * ENTRY));
  const spot = (shift: number): Spot => {
    const y = middle + slot * (height + 2) + shift;
    return { x: end - width, y: y - height / 2, width, height, isBefore: true, stub: `M${end + 3},${y}h8L${node.x - 12},${enters}H${node.x - 1}` };
  };
  return { wires: [wire], isTogether: false, spots: [0, 4, -4, 8, -8, 12, -12].map(spot) };
}

function outputLabel(node: Box, wire: Wire, extent: Extent): Planned {
  const size = extent([wire], false);
  const [x, right] = [node.x + node.width / 2, node.x + node.width + GAP];
  const [bottom, middle] = [node.y + node.height, node.y + node.height / 2];
  const below = { ...size, y: bottom + GAP, stub: `M${x},${bottom + 1}v${STUB}` };
  const beside = { ...size, x: right, isBefore: false, stub: "" };
  return {
    wires: [wire],
    isTogether: false,
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

/** For each label the number of the place that it takes; null: all are taken. */
export function place(labels: readonly Box[][], boxes: readonly Box[], lines: readonly Point[][]): (number | null)[] {
  const taken = new Strips();
  for (const box of boxes) taken.add(box);
  for (const [x, y] of lines.flat()) taken.add({ x, y, width: 0, height: 0 });
  return labels.map((places) => {
    const found = places.findIndex((one) => !taken.isTaken(one));
    const chosen = places[found];
    if (!chosen) return null;
    taken.add(chosen);
    return found;
  });
}

/** Boxes by their height in the drawing. */
class Strips {
  private readonly strips = new Map<number, Box[]>();

  add(box: Box): void {
    for (const strip of this.of(box)) addTo(this.strips, strip, box);
  }

  isTaken(box: Box): boolean {
    return this.of(box).some((strip) => this.strips.get(strip)?.some((other) => overlaps(box, other)) ?? false);
  }

  private of({ y, height }: Box): number[] {
    const first = Math.floor(y / STRIP);
    return Array.from({ length: Math.floor((y + height) / STRIP) - first + 1 }, (_, index) => first + index);
  }
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
  for (const [, command = "", rest = ""] of path.matchAll(/([MLHVQC])([^MLHVQC]*)/g)) {
    const numbers = (rest.match(/-?[\d.]+/g) ?? []).map(Number);
    const size = SIZES[command] ?? 2;
    for (let index = 0; index + size <= numbers.length; index += size) {
      const through = controls(command, numbers.slice(index, index + size), from);
      points.push(...(command === "M" ? through : curve([from, ...through])));
      from = through[through.length - 1] ?? from;
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
