// Closing clusters. A drawing has everything open; what is closed is left out of it, and with it the room that it took:
// all that lies below moves up, all that lies outside moves in, and edges become shorter. Nothing is laid out anew.
//
// Drawings in drawings: what a group of a large net shows when it opens is a drawing of its own. It is put below the
// node of its group in the drawing around it, where what lies below moves down, and what lies beside moves out.

import { addTo } from "../../../model/recording/lookup";
import type { Graph } from "../../../model/schema";

/** A stretch of an axis. */
export interface Span {
  from: number;
  to: number;
}

export interface Cluster {
  /** The cluster that it lies in; null for one of the outermost net. */
  around: string | null;
  /** 1 in the outermost net. */
  depth: number;
  /** What vanishes of the height when it closes. */
  height: Span;
  /** The clusters that are all of one of its nets: who opens it wants to see what is in them. */
  alone: string[];
}

export interface Plan {
  /** The clusters by the id of the line that opens them, an outer one before those in it. */
  clusters: Map<string, Cluster>;
  /** The nested nets by their ids: the cluster that shows each. */
  nets: Map<string, string>;
  /** What vanishes of the width when no cluster of a depth is open. */
  shells: { depth: number; width: Span }[];
}

/** What is left out of a drawing, and where a coordinate of it comes to lie. */
export interface Fold {
  isLeftOut(cluster: string): boolean;
  x(at: number): number;
  y(at: number): number;
}

/** The clusters that a drawing says it has, but for the one that is all of it. */
function findPlan(root: Element, whole: string | null): Plan {
  const clusters = new Map<string, Cluster>();
  const nets = new Map<string, string>();
  const shells: Plan["shells"] = [];
  for (const shell of root.querySelectorAll("rect.shell")) shells.push({ depth: Number(classValue(shell, "depth")), width: span(shell, "x", "width") });
  for (const group of root.querySelectorAll('g.cluster[id^="cluster-"]')) {
    const fold = [...group.children].find((child) => child.getAttribute("class") === "fold");
    if (!fold || name(group) === whole) continue;
    clusters.set(name(group), { around: clusterAt(group.parentElement, whole), depth: Number(classValue(group, "depth")), height: span(fold, "y", "height"), alone: [] });
    for (const net of [...group.children].filter((child) => child.classList.contains("net"))) {
      nets.set(net.id.slice("net-".length), name(group));
    }
  }
  for (const node of root.querySelectorAll("g.node.forward")) {
    const inner = node.id.slice("node-".length);
    const around = clusters.get(inner)?.around;
    if (!around) continue;
    const neighbours = [...(node.parentElement?.children ?? [])].filter((other) => other.matches("g.node.forward"));
    if (neighbours.length === 1) clusters.get(around)?.alone.push(inner);
  }
  return { clusters, nets, shells };
}

/** The cluster that an element of a drawing lies in; null where that is all of the drawing. */
function clusterAt(element: Element | null, whole: string | null): string | null {
  const cluster = element?.closest('g.cluster[id^="cluster-"]') ?? null;
  return cluster === null || name(cluster) === whole ? null : name(cluster);
}

function name(cluster: Element): string {
  return cluster.id.slice("cluster-".length);
}

/** What the classes of an element say by a word: "b3" by "from", where it has the class "from-b3"; "": nothing. */
export function classValue(element: Element, word: string): string {
  return [...element.classList].find((one) => one.startsWith(`${word}-`))?.slice(word.length + 1) ?? "";
}

export function span(element: Element, start: string, size: string): Span {
  const [from, length] = [start, size].map((name) => Number(element.getAttribute(name)) || 0);
  return { from: from ?? 0, to: (from ?? 0) + Math.max(length ?? 0, 0) };
}

/** Leaves out all clusters but those that are `open` and lie in open ones, and the heights `gone`. */
export function fold(plan: Plan, open: ReadonlySet<string>, gone: Span[] = []): Fold {
  const seen = new Set<string>();
  for (const [name, cluster] of plan.clusters) {
    if (open.has(name) && (cluster.around === null || seen.has(cluster.around))) seen.add(name);
  }
  const closed = [...plan.clusters].filter(([name]) => !seen.has(name));
  const deepest = Math.max(0, ...[...seen].map((name) => plan.clusters.get(name)?.depth ?? 0));
  return {
    isLeftOut: (cluster) => plan.clusters.has(cluster) && !seen.has(cluster),
    x: without(plan.shells.filter((shell) => shell.depth > deepest).map((shell) => shell.width)),
    y: without([...gone, ...closed.map(([, cluster]) => cluster.height)]),
  };
}

/** Where a coordinate comes to lie when spans are taken out of its axis; those that overlap count once. */
export function without(spans: Span[]): (at: number) => number {
  const apart: Span[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = apart.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else apart.push({ from, to });
  }
  return (at) => {
    let out = 0;
    for (const { from, to } of apart) {
      if (at <= from) break;
      out += Math.min(at, to) - from;
    }
    return at - out;
  };
}

/** The straight lines and curves of a path, each with its numbers. */
export function segmentsOf(path: string): [command: string, numbers: number[]][] {
  return [...path.matchAll(/([MLHVQCZ])([^A-Za-z]*)/g)].map(([, command = "", rest = ""]) => [command, (rest.match(/-?[\d.]+/g) ?? []).map(Number)]);
}

const axisOf = (command: string, index: number): "x" | "y" => (command === "V" || (command !== "H" && index % 2 === 1) ? "y" : "x");

/** A path with all of its points moved. */
export function foldPath(path: string, folded: Pick<Fold, "x" | "y">): string {
  return segmentsOf(path).map(([command, numbers]) => command + numbers.map((at, index) => round(folded[axisOf(command, index)](at))).join(",")).join("");
}

/** The stretch of an axis in which a path lies; null for an empty one. */
export function pathSpan(path: string, axis: "x" | "y"): Span | null {
  const coordinates = segmentsOf(path).flatMap(([command, numbers]) => numbers.filter((_, index) => axisOf(command, index) === axis));
  return coordinates.reduce<Span | null>((span, at) => ({ from: Math.min(span?.from ?? at, at), to: Math.max(span?.to ?? at, at) }), null);
}

export function round(at: number): number {
  return Math.round(at * 10) / 10;
}

/** Between the frame of what is open and the tracks of the drawing around it. */
const BESIDE = 12;
/** Numbers of the drawings are rounded to tenths. */
const ROUNDING = 0.05;
/** The characters that stand for the first phrase of shapes and for the first word of one; those of the others follow it. */
const FIRST_PHRASE = 0x100;
const FIRST_WORD = 0x20000;
const SPOKEN = /[\u{100}-\u{7ff}\u{20000}-\u{2a6df}]/gu;
/** Characters of a drawing: many times what one of ours has. */
const MOST_SPOKEN = 20_000_000;

interface GroupNode {
  /** Its lower border. */
  bottom: number;
  /** The cluster of this drawing that it lies in, null for none. */
  cluster: string | null;
  /** What gets the drawing of the open group. */
  holder: Element;
}

/** One drawing: the outermost, or that of a group. */
export type Level = ReturnType<typeof readLevel>;

/** A drawing in which some clusters and groups are open. */
export interface Laid {
  level: Level;
  /** Where its coordinates come to lie. */
  fold: Fold;
  /** The lines and groups whose nodes are in it; null: all. */
  only: ReadonlySet<string> | null;
  /** What is put into each holder, and how far it is moved. */
  inside: Map<Element, { laid: Laid; x: number; y: number }[]>;
}

/** Throws an Error when the text is no SVG. */
export function readLevel(text: string, id: string | null) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root: Element = parsed.documentElement;
  if (root.localName !== "svg" || parsed.querySelector("parsererror")) throw new Error("The graph in this trace is no readable SVG.");
  const room = root.querySelector("rect.level");
  const frame = root.querySelector("g.cluster > rect.frame");
  const none = { from: 0, to: 0 };
  return {
    /** The group; null for the outermost. */
    id,
    root,
    plan: findPlan(root, id),
    /** Where the forward lane stands; 0 where there is nothing to be put in. */
    axis: Number(root.querySelector("line.axis")?.getAttribute("x1")) || 0,
    /** From where to where its nodes reach; what lies beyond moves out. */
    across: room ? span(room, "x", "width") : none,
    /** Of a group's: what the drawing around it has to make room for. */
    down: room ? span(room, "y", "height") : none,
    frame: frame && id !== null ? span(frame, "x", "width") : none,
    groups: findGroups(root, id),
  };
}

function findGroups(root: Element, id: string | null): Map<string, GroupNode> {
  const groups = new Map<string, GroupNode>();
  for (const node of root.querySelectorAll("g.node.group.forward")) {
    const box = outlineOf(node);
    const holder = [...(node.parentElement?.parentElement?.children ?? [])].find((one) => one.getAttribute("class") === "groups");
    if (!box || !holder) continue;
    groups.set(node.id.slice("node-".length), { bottom: box.y + box.height, cluster: clusterAt(node, id), holder });
  }
  return groups;
}

/** The text of a group's drawing: its shape with its words. It ends early where it would be endless. */
export function spoken(graph: Graph, group: number): string {
  const { shape, words } = graph.groups[group] ?? { shape: -1, words: [] };
  let length = 0;
  return (graph.shapes[shape] ?? "").replace(SPOKEN, (character) => {
    const number = character.codePointAt(0) ?? 0;
    const text = number < FIRST_WORD ? (graph.phrases[number - FIRST_PHRASE] ?? "") : escaped(words[number - FIRST_WORD] ?? "");
    length += text.length;
    return length > MOST_SPOKEN ? "" : text;
  });
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  // What XML cannot hold would make all of it unreadable.
  return text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd").replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one);
}

/** Leaves out what is closed or not in `only`, and makes room for what is open. `inner` gives the drawing of a group. */
export function lay(level: Level, open: ReadonlySet<string>, only: ReadonlySet<string> | null, inner: (group: string) => Level | null): Laid {
  const folded = fold(level.plan, only ? new Set([...open].filter((one) => only.has(one))) : open, only ? rowsBeside(level.root, only) : []);
  const rooms: { at: number; height: number; laid: Laid; holder: Element }[] = [];
  for (const [id, { bottom, cluster, holder }] of level.groups) {
    const drawing = open.has(id) && (!only || only.has(id)) && !(cluster !== null && folded.isLeftOut(cluster)) ? inner(id) : null;
    if (!drawing) continue;
    const laid = lay(drawing, open, only, inner);
    rooms.push({ at: folded.y(bottom) - ROUNDING, height: laid.fold.y(drawing.down.to) - laid.fold.y(drawing.down.from), laid, holder });
  }
  const axis = folded.x(level.axis);
  const [from, to] = [folded.x(level.across.from), folded.x(level.across.to)];
  const reach = rooms.map(({ laid: { level: one, fold: { x } } }) => ({ left: x(one.axis) - x(one.frame.from), right: x(one.frame.to) - x(one.axis) }));
  const left = Math.max(0, ...reach.map((one) => one.left + BESIDE - (axis - from)));
  const right = Math.max(0, ...reach.map((one) => one.right + BESIDE - (to - axis)));
  const place: Fold = {
    isLeftOut: folded.isLeftOut,
    x(at) {
      const x = folded.x(at);
      return x + (x > from ? left : 0) + (x >= to ? right : 0);
    },
    y: (at) => rooms.reduce((sum, room) => (room.at <= folded.y(at) ? sum + room.height : sum), folded.y(at)),
  };
  const inside: Laid["inside"] = new Map();
  for (const { at, laid, holder } of rooms) {
    const above = rooms.reduce((sum, room) => (room.at < at ? sum + room.height : sum), at + ROUNDING);
    addTo(inside, holder, { laid, x: place.x(level.axis) - laid.fold.x(laid.level.axis), y: above - laid.fold.y(laid.level.down.from) });
  }
  return { level, fold: place, only, inside };
}

/** The node at the border of a cluster, through which something comes in or goes out. */
export const PORT = /^(.+)\.(?:forward|backward)-(?:in|out)$/;

/** Whether an element is the node of something that is not in `only`, or an edge from or to such a node. */
export function isBeside(id: string, element: Element, only: ReadonlySet<string>): boolean {
  if (id.startsWith("node-")) return !only.has(id.slice("node-".length)) && !PORT.test(id);
  if (!id.startsWith("edge-")) return false;
  return ["from", "to"].map((word) => classValue(element, word)).some((end) => end !== "" && !only.has(end) && !PORT.test(end));
}

/** The rows of a drawing that have no node of `only` and no port, each from its top to that of the next row. */
function rowsBeside(root: Element, only: ReadonlySet<string>): Span[] {
  const rows = new Map<number, { from: number; to: number; hasNodes: boolean }>();
  for (const node of root.querySelectorAll("g.node, g.port")) {
    const { y: from, height } = outlineOf(node) ?? { y: 0, height: 0 };
    const to = from + height;
    const middle = Math.round((from + to) / 2);
    const row = rows.get(middle) ?? { from, to, hasNodes: false };
    rows.set(middle, { from: Math.min(row.from, from), to: Math.max(row.to, to), hasNodes: row.hasNodes || !isBeside(node.id, node, only) });
  }
  const sorted = [...rows.values()].sort((a, b) => a.from - b.from);
  return sorted.flatMap((row, index) => (row.hasNodes ? [] : [{ from: row.from, to: sorted[index + 1]?.from ?? row.to }]));
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The outline of a node, before it is moved as its group is; a lane's heading by its letters. */
export function outlineOf(group: Element): Box | null {
  const outline = [...group.children].find(({ localName }) => ["rect", "ellipse", "text"].includes(localName));
  if (!outline) return null;
  const at = (name: string): number => Number(outline.getAttribute(name)) || 0;
  if (outline.localName === "rect") return { x: at("x"), y: at("y"), width: at("width"), height: at("height") };
  if (outline.localName === "ellipse") return { x: at("cx") - at("rx"), y: at("cy") - at("ry"), width: 2 * at("rx"), height: 2 * at("ry") };
  const [width, height] = [(outline.textContent ?? "").length * 0.6 * at("font-size"), at("font-size")];
  return { x: at("x") - width / 2, y: at("y") - height, width, height };
}
