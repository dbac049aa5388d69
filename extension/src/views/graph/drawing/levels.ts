// Drawings in drawings: what a group of a large net shows when it opens is a drawing of its own. It is put below the
// node of its group in the drawing around it, where what lies below moves down, and what lies beside moves out.

import { addTo } from "../../../model/recording/lookup";
import type { Graph } from "../../../model/schema";
import { clusterAt, findPlan, fold, span, type Fold, type Span } from "./folds";

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
  kept: ReadonlySet<string> | null;
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
  const found = new Map<string, GroupNode>();
  for (const node of root.querySelectorAll("g.node.group.forward")) {
    const box = node.querySelector("rect");
    const holder = [...(node.parentElement?.parentElement?.children ?? [])].find((one) => one.getAttribute("class") === "groups");
    if (!box || !holder) continue;
    found.set(node.id.slice("node-".length), { bottom: span(box, "y", "height").to, cluster: clusterAt(node, id), holder });
  }
  return found;
}

/** The text of a group's drawing: its shape with its words. It ends early where it would be endless. */
export function spoken(graph: Graph, group: number): string {
  const { shape, words } = graph.groups[group] ?? { shape: -1, words: [] };
  let length = 0;
  return (graph.shapes[shape] ?? "").replace(SPOKEN, (character) => {
    const number = character.codePointAt(0) ?? 0;
    const said = number < FIRST_WORD ? (graph.phrases[number - FIRST_PHRASE] ?? "") : escaped(words[number - FIRST_WORD] ?? "");
    length += said.length;
    return length > MOST_SPOKEN ? "" : said;
  });
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  // What XML cannot hold would make all of it unreadable.
  return text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd").replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one);
}

/** Leaves out what is closed or not `kept`, and makes room for what is open. `inner` gives the drawing of a group. */
export function lay(level: Level, open: ReadonlySet<string>, kept: ReadonlySet<string> | null, inner: (group: string) => Level | null): Laid {
  const folded = fold(level.plan, kept ? new Set([...open].filter((one) => kept.has(one))) : open, kept ? rowsBeside(level.root, kept) : []);
  const rooms: { at: number; height: number; laid: Laid; holder: Element }[] = [];
  for (const [id, { bottom, cluster, holder }] of level.groups) {
    const drawing = open.has(id) && (!kept || kept.has(id)) && !(cluster !== null && folded.isLeftOut(cluster)) ? inner(id) : null;
    if (!drawing) continue;
    const laid = lay(drawing, open, kept, inner);
    rooms.push({ at: folded.y(bottom) - ROUNDING, height: laid.fold.y(drawing.down.to) - laid.fold.y(drawing.down.from), laid, holder });
  }
  const axis = folded.x(level.axis);
  const [from, to] = [folded.x(level.across.from), folded.x(level.across.to)];
  const reach = rooms.map(({ laid: { level: one, fold: { x } } }) => ({ left: x(one.axis) - x(one.frame.from), right: x(one.frame.to) - x(one.axis) }));
  const left = Math.max(0, ...reach.map((one) => one.left + BESIDE - (axis - from)));
  const right = Math.max(0, ...reach.map((one) => one.right + BESIDE - (to - axis)));
  const place: Fold = {
    isLeftOut: folded.isLeftOut,
    x: (at) => moved(folded.x(at), from, to, left, right),
    y: (at) => rooms.reduce((sum, room) => (room.at <= folded.y(at) ? sum + room.height : sum), folded.y(at)),
  };
  const inside: Laid["inside"] = new Map();
  for (const { at, laid, holder } of rooms) {
    const above = rooms.reduce((sum, room) => (room.at < at ? sum + room.height : sum), at + ROUNDING);
    addTo(inside, holder, { laid, x: place.x(level.axis) - laid.fold.x(laid.level.axis), y: above - laid.fold.y(laid.level.down.from) });
  }
  return { level, fold: place, kept, inside };
}

function moved(at: number, from: number, to: number, left: number, right: number): number {
  return at + (at > from ? left : 0) + (at >= to ? right : 0);
}

/** The node at the border of a cluster, through which something comes in or goes out. */
export const PORT = /^(.+)\.(?:forward|backward)-(?:in|out)$/;

/** Whether an element is the node of something that is not kept, or an edge from or to such a node. */
export function isBeside(id: string, element: Element, kept: ReadonlySet<string>): boolean {
  if (id.startsWith("node-")) return !kept.has(id.slice("node-".length)) && !PORT.test(id);
  if (!id.startsWith("edge-")) return false;
  const ends = [...element.classList].flatMap((word) => /^(?:from|to)-(.+)$/.exec(word)?.[1] ?? []);
  return ends.some((end) => !kept.has(end) && !PORT.test(end));
}

/** The rows of a drawing in which no node is kept, each from its top to that of the next row. */
function rowsBeside(root: Element, kept: ReadonlySet<string>): Span[] {
  const rows = new Map<number, { from: number; to: number; isKept: boolean }>();
  for (const node of root.querySelectorAll("g.node")) {
    const { from, to } = heightOf(node);
    const middle = Math.round((from + to) / 2);
    const row = rows.get(middle) ?? { from, to, isKept: false };
    rows.set(middle, { from: Math.min(row.from, from), to: Math.max(row.to, to), isKept: row.isKept || !isBeside(node.id, node, kept) });
  }
  const sorted = [...rows.values()].sort((a, b) => a.from - b.from);
  return sorted.flatMap((row, index) => (row.isKept ? [] : [{ from: row.from, to: sorted[index + 1]?.from ?? row.to }]));
}

function heightOf(node: Element): Span {
  const box = node.querySelector("rect");
  if (box) return span(box, "y", "height");
  const at = (name: string): number => Number(node.querySelector("ellipse")?.getAttribute(name)) || 0;
  return { from: at("cy") - at("ry"), to: at("cy") + at("ry") };
}
