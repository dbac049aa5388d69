// Rebuilds a drawing from untrusted SVG text: only shapes and text, only attributes that say where and how they are.
//
// The parts that a drawing is made of: its nodes, edges and ports. Of large drawings few of them are in sight, so each can be
// filled when it is.

import type { Graph } from "../../../model/schema";
import { SVG_NAMESPACE, svgElement } from "../../elements/dom";
import { foldPath, isBeside, lay, outlineOf, pathSpan, readLevel, round, spoken, type Box, type Fold, type Laid, type Level, type Span } from "./levels";

export type Point = [x: number, y: number];

export interface Part {
  /** The group of its shapes and texts, which is empty until the part is filled. */
  element: SVGElement;
  /** From where to where it reaches in the drawing's height, but for the name at an edge. */
  height: Span;
  /** From where to where a node reaches in the drawing's width; null for edges and ports. */
  across: Span | null;
  /** Whether it is a node that opens or closes something. */
  isToggle: boolean;
  fill(): void;
}

/** The path of an edge. */
export const pathOf = (edge: Element): string => edge.querySelector("path")?.getAttribute("d") ?? "";

/** Where a node stands. */
export function boxOf(group: Element): Box | null {
  const outline = outlineOf(group);
  const [dx, dy] = offset(group);
  return outline && { ...outline, x: outline.x + dx, y: outline.y + dy };
}

/** How far a group is moved. */
export function offset(group: Element): Point {
  const match = /translate\((-?[\d.]+)[ ,]+(-?[\d.]+)\)/.exec(group.getAttribute("transform") ?? "");
  return [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
}

/** From where to where a part reaches, before it is moved as its group is; null for what is no part. */
function heightOf(group: Element): Span | null {
  if (group.localName !== "g") return null;
  const kind = /(?:^|\s)(node|port|edge)(?:\s|$)/.exec(group.getAttribute("class") ?? "")?.[1];
  if (kind === undefined) return null;
  if (kind === "edge") return pathSpan(pathOf(group), "y");
  const box = outlineOf(group);
  return box && { from: box.y, to: box.y + box.height };
}

const ELEMENTS = new Set([
  "svg", "g", "path", "polygon", "polyline", "ellipse", "circle", "rect", "line", "text", "tspan", "title", "defs",
  "marker", "linearGradient", "stop",
]);

const ATTRIBUTES = new Set([
  "class", "d", "points", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "width", "height",
  "transform", "viewBox", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "stroke-opacity", "opacity", "text-anchor", "font-family", "font-size", "font-weight",
  "font-style", "letter-spacing", "text-decoration", "offset", "stop-color", "stop-opacity", "gradientUnits", "gradientTransform",
  "marker-start", "marker-end", "markerWidth", "markerHeight", "markerUnits", "refX", "refY", "orient",
]);

/** Nested deeper than any drawing of ours; a bound, so that a hostile one cannot exhaust the stack. */
const DEPTH = 200;

/** What the ids of a drawing begin with: "node-f3" is the node of f3, "node-f3.forward-in" a port. */
const KINDS = ["node", "edge", "cluster", "net", "lane"] as const;
const NAMED = new RegExp(`^(${KINDS.join("|")})-(.+)$`);

export interface Drawing {
  svg: SVGSVGElement;
  /** The elements that had an id, by the rest of it. The ids themselves are gone: several drawings share a page. */
  named: Record<(typeof KINDS)[number], Map<string, SVGElement>>;
  /** Its nodes, edges and ports. What can be opened is filled, the others are when they are needed. */
  parts: Part[];
  /** Acts on what an element is filled with, now or once it is; of several acts before that only the last one counts. */
  whenFilled(element: Element, act: () => void): void;
}

/** What the tool tip of a node says after its text, where the drawing brings none; "" for nothing. */
type NameOf = (node: string) => string;

/** What stands where the drawing of a group should be, in a damaged trace. */
const UNREADABLE = `<svg xmlns="${SVG_NAMESPACE}"><rect class="level" fill="none" x="-120" y="0" width="240" height="28"/>
  <text class="title" text-anchor="middle" x="0" y="18">The drawing of this group cannot be read.</text></svg>`;

let drawings = 0;

export type Source = ReturnType<typeof read>;

/** Throws an Error when the text of the outermost drawing is no SVG. */
export function read(graph: Graph, nameOf: NameOf) {
  const outermost = readLevel(graph.svg ?? "", null);
  const places = new Map(graph.groups.map(({ id }, index) => [id, index]));
  const levels = new Map<string, Level>();
  /** The drawing of a group, null for the outermost; null where there is none. */
  function level(group: string | null): Level | null {
    const place = group === null ? undefined : places.get(group);
    if (group === null || place === undefined) return group === null ? outermost : null;
    const ofGroup = levels.get(group) ?? levelOf(spoken(graph, place), group);
    levels.set(group, ofGroup);
    return ofGroup;
  }
  /** Nothing in it can open or close, so nothing ever moves. */
  const isFixed = outermost.plan.clusters.size === 0 && graph.groups.length === 0;
  return {
    isFixed,
    level,
    draw(open: ReadonlySet<string>, only: ReadonlySet<string> | null) {
      return draw({ ...lay(outermost, open, isFixed ? null : only, level), only }, nameOf, isFixed);
    },
  };
}

function levelOf(text: string, group: string): Level {
  try {
    return readLevel(text, group);
  } catch {
    return readLevel(UNREADABLE, group);
  }
}

function draw(laid: Laid, nameOf: NameOf, isFixed: boolean): Drawing {
  const named = Object.fromEntries(KINDS.map((kind) => [kind, new Map()])) as Drawing["named"];
  const [parts, unfilled] = [[] as Part[], new Map<Element, () => void>()];
  const prefix = `gv-drawing-${++drawings}-`;
  const svg = copy(laid.level.root, { named, parts, unfilled, prefix, nameOf, laid, moved: { x: 0, y: 0 }, by: [0, 0], folded: isFixed ? null : laid.fold }, 0);
  if (!(svg instanceof SVGSVGElement)) throw new Error("The graph in this trace is no readable SVG.");
  return { svg, named, parts, whenFilled: (element, act) => (unfilled.has(element) ? void unfilled.set(element, act) : act()) };
}

interface Copying extends Pick<Drawing, "named" | "parts"> {
  /** What is not filled yet, and what is done once it is. */
  unfilled: Map<Element, () => void>;
  prefix: string;
  nameOf: NameOf;
  laid: Laid;
  /** How far the drawing that it is in was moved. */
  moved: { x: number; y: number };
  /** How far the groups around it move it. */
  by: Point;
  /** Null inside of what moves as a whole. */
  folded: Fold | null;
}

function copy(from: Element, copying: Copying, depth: number): SVGElement | null {
  if (!ELEMENTS.has(from.localName) || depth > DEPTH) return null;
  const { named, parts, prefix, folded, laid } = copying;
  const [, kind, name = ""] = NAMED.exec(from.id) ?? [];
  const isGhost = laid.only !== null && isBeside(from.id, from, laid.only);
  if (folded && (isGhost || (kind === "cluster" && folded.isLeftOut(name)))) return null;
  const target = document.createElementNS(SVG_NAMESPACE, from.localName);
  for (const { name, value } of from.attributes) {
    const safe = ATTRIBUTES.has(name) ? safeValue(value, prefix) : null;
    if (safe !== null) target.setAttribute(name, safe);
  }
  if (isGhost) target.setAttribute("data-ghost", "");
  // The edges of each drawing are numbered for themselves.
  if (kind) named[kind as keyof typeof named].set(kind === "edge" ? `${laid.level.id} ${name}` : name, target);
  // Only what is referred to keeps an id, one that no other drawing in the page has.
  if (from.id && (from.localName === "marker" || from.localName === "linearGradient")) target.id = prefix + from.id;
  const isRigid = folded !== null && move(target, from, folded);
  const [right, down] = target.localName === "g" ? offset(target) : [0, 0];
  const by: Point = [copying.by[0] + right, copying.by[1] + down];
  const inner = isRigid || right !== 0 || down !== 0 ? { ...copying, by, folded: isRigid ? null : folded } : copying;
  const height = heightOf(from);
  const fill = (): void => {
    const act = copying.unfilled.get(target);
    if (!act || !copying.unfilled.delete(target)) return;
    target.append(...copiedInto(from, inner, depth));
    act();
  };
  copying.unfilled.set(target, () => undefined);
  const isToggle = height !== null && from.querySelector("polygon.mark") !== null;
  const box = height && /(?:^|\s)node(?:\s|$)/.test(from.getAttribute("class") ?? "") ? outlineOf(from) : null;
  const across = box && moved({ from: box.x, to: box.x + box.width }, inner, "x");
  if (height) parts.push({ element: target, height: moved(height, inner, "y"), across, isToggle, fill });
  if (!height || isToggle) fill();
  return target;
}

/** What an element is filled with. */
function copiedInto(from: Element, copying: Copying, depth: number): (Node | string)[] {
  const children: (Node | string)[] = [];
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) children.push(child.nodeValue ?? "");
    else if (child instanceof Element) {
      const copied = copy(child, copying, depth + 1);
      if (copied) children.push(copied);
    }
  }
  for (const { laid: other, x, y } of copying.laid.inside.get(from) ?? []) children.push(...opened(other, copying, x, y, depth));
  return from.id.startsWith("node-") && !from.querySelector("title") ? [titleOf(from, copying.nameOf), ...children] : children;
}

function titleOf(node: Element, nameOf: NameOf): SVGElement {
  const own = [...node.querySelectorAll("text")].map((text) => text.textContent).join(" ");
  return svgElement("title", {}, [own, nameOf(node.id.slice("node-".length))].filter(Boolean).join(": "));
}

/** Where a stretch of the width or height comes to lie. */
function moved({ from, to }: Span, { folded, by }: Copying, axis: "x" | "y"): Span {
  const at = (place: number): number => (folded ? folded[axis](place) : place) + by[axis === "x" ? 0 : 1];
  return { from: at(from), to: at(to) };
}

/** What the drawing of an open group has in it, moved to where it belongs. */
function opened(laid: Laid, copying: Copying, x: number, y: number, depth: number): SVGElement[] {
  const moved = { x: copying.moved.x + x, y: copying.moved.y + y };
  const folded: Fold = { ...laid.fold, x: (at) => laid.fold.x(at) + moved.x, y: (at) => laid.fold.y(at) + moved.y };
  return [...laid.level.root.children].flatMap((child) => copy(child, { ...copying, laid, moved, folded }, depth + 1) ?? []);
}

/** The height of the middle of the lines that a line of text is one of: they stay together. */
function middleOf(text: Element): number {
  const heights = [...(text.parentElement?.children ?? [])].filter(({ localName }) => localName === "text").map((line) => Number(line.getAttribute("y")) || 0);
  return (Math.min(...heights) + Math.max(...heights)) / 2;
}

/** Brings an element to where it comes to lie; true when all in it goes along. */
function move(target: SVGElement, from: Element, folded: Fold): boolean {
  const text = (name: string): string => target.getAttribute(name) ?? "";
  const at = (name: string): number => Number(text(name)) || 0;
  const set = (name: string, value: number): void => target.setAttribute(name, String(round(value)));
  const shift = (x: number, y: number): void => target.setAttribute("transform", `translate(${round(folded.x(x) - x)} ${round(folded.y(y) - y)})`);
  const tag = target.localName;
  if (tag === "g") {
    if (!/(?:^|\s)(?:node|port|lane)(?:\s|$)/.test(text("class"))) return false;
    const box = outlineOf(from);
    shift(box ? box.x + box.width / 2 : 0, box ? box.y + box.height / 2 : 0);
    return true;
  }
  if (tag === "svg") {
    const [, , width = 0, height = 0] = text("viewBox").split(/[\s,]+/).map(Number);
    target.setAttribute("viewBox", `0 0 ${round(folded.x(width))} ${round(folded.y(height))}`);
  } else if (tag === "path") target.setAttribute("d", foldPath(text("d"), folded));
  else if (tag === "polygon") {
    const [x = 0, y = 0] = text("points").split(/[\s,]+/).map(Number);
    shift(x, y);
  } else if (tag === "rect") {
    const [right, bottom] = [folded.x(at("x") + at("width")), folded.y(at("y") + at("height"))];
    set("x", folded.x(at("x")));
    set("y", folded.y(at("y")));
    set("width", right - at("x"));
    set("height", bottom - at("y"));
  } else if (tag === "line") {
    for (const name of ["x1", "x2"]) set(name, folded.x(at(name)));
    for (const name of ["y1", "y2"]) set(name, folded.y(at(name)));
  } else if (tag === "text") {
    const middle = middleOf(from);
    set("x", folded.x(at("x")));
    set("y", at("y") + folded.y(middle) - middle);
  }
  return false;
}

/** A value may refer to a part of the same drawing and to nothing else. */
function safeValue(value: string, prefix: string): string | null {
  if (!/url\s*\(|\\|&/i.test(value)) return value;
  const local = /^url\(#([\w.-]+)\)$/.exec(value);
  return local ? `url(#${prefix}${local[1]})` : null;
}
