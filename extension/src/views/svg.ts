// Rebuilds a drawing from untrusted SVG text: only shapes and text, only attributes that say where and how they are.

import { SVG_NAMESPACE } from "./dom";
import { findPlan, fold, foldPath, round, type Fold, type Plan } from "./folds";

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

export interface Drawing {
  svg: SVGSVGElement;
  /** The elements that had an id, by it. The ids themselves are gone: several drawings share a page. */
  byId: Map<string, SVGElement>;
}

/** A drawing as it was read, of which pictures are made. */
export interface Source {
  plan: Plan;
  /** The picture in which the clusters `open` are open, as far as they lie in open ones. */
  draw(open: ReadonlySet<string>): Drawing;
}

let drawings = 0;

/** Throws an Error when the text is no SVG. */
export function read(text: string): Source {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = parsed.documentElement;
  if (root.localName !== "svg" || parsed.querySelector("parsererror")) {
    throw new Error("The graph in this trace is no readable SVG.");
  }
  const plan = findPlan(root);
  return { plan, draw: (open) => draw(root, plan.clusters.size > 0 ? fold(plan, open) : null) };
}

/** `folded` is null where nothing can close. */
function draw(root: Element, folded: Fold | null): Drawing {
  const byId = new Map<string, SVGElement>();
  const svg = copy(root, { byId, prefix: `gv-drawing-${++drawings}-`, folded }, 0);
  if (!(svg instanceof SVGSVGElement)) throw new Error("The graph in this trace is no readable SVG.");
  return { svg, byId };
}

interface Copying {
  byId: Map<string, SVGElement>;
  prefix: string;
  /** Null inside of what moves as a whole. */
  folded: Fold | null;
}

function copy(from: Element, copying: Copying, depth: number): SVGElement | null {
  if (!ELEMENTS.has(from.localName) || depth > DEPTH) return null;
  const { byId, prefix, folded } = copying;
  if (folded && from.id.startsWith("cluster-") && folded.isLeftOut(from.id.slice("cluster-".length))) return null;
  const made = document.createElementNS(SVG_NAMESPACE, from.localName);
  for (const { name, value } of from.attributes) {
    const safe = ATTRIBUTES.has(name) ? safeValue(value, prefix) : null;
    if (safe !== null) made.setAttribute(name, safe);
  }
  if (from.id) {
    byId.set(from.id, made);
    // Only what is referred to keeps an id, one that no other drawing in the page has.
    if (from.localName === "marker" || from.localName === "linearGradient") made.id = prefix + from.id;
  }
  const isRigid = folded !== null && move(made, from, folded);
  const inner = isRigid ? { ...copying, folded: null } : copying;
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.nodeValue ?? "");
    else if (child instanceof Element) {
      const copied = copy(child, inner, depth + 1);
      if (copied) made.append(copied);
    }
  }
  return made;
}

/** Brings an element to where it comes to lie; true when all in it goes along. */
function move(made: SVGElement, from: Element, folded: Fold): boolean {
  const at = (name: string): number => Number(made.getAttribute(name)) || 0;
  const set = (name: string, value: number): void => made.setAttribute(name, String(round(value)));
  switch (made.localName) {
    case "svg": {
      const box = (made.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
      made.setAttribute("viewBox", `0 0 ${round(folded.x(box[2] ?? 0))} ${round(folded.y(box[3] ?? 0))}`);
      return false;
    }
    case "g": {
      if (!/(?:^|\s)(?:node|port|lane)(?:\s|$)/.test(made.getAttribute("class") ?? "")) return false;
      const [x, y] = middle(from);
      made.setAttribute("transform", `translate(${round(folded.x(x) - x)} ${round(folded.y(y) - y)})`);
      return true;
    }
    case "path":
      made.setAttribute("d", foldPath(made.getAttribute("d") ?? "", folded));
      return false;
    case "polygon": {
      const [x = 0, y = 0] = (made.getAttribute("points") ?? "").split(/[\s,]+/).map(Number);
      made.setAttribute("transform", `translate(${round(folded.x(x) - x)} ${round(folded.y(y) - y)})`);
      return false;
    }
    case "rect": {
      const [right, bottom] = [folded.x(at("x") + at("width")), folded.y(at("y") + at("height"))];
      set("x", folded.x(at("x")));
      set("y", folded.y(at("y")));
      set("width", right - at("x"));
      set("height", bottom - at("y"));
      return false;
    }
    case "line":
      for (const name of ["x1", "x2"]) set(name, folded.x(at(name)));
      for (const name of ["y1", "y2"]) set(name, folded.y(at(name)));
      return false;
    case "text":
      set("x", folded.x(at("x")));
      set("y", folded.y(at("y")));
      return false;
  }
  return false;
}

/** The middle of a node, by its first shape or text. */
function middle(group: Element): [number, number] {
  const shape = [...group.children].find((child) => ["rect", "ellipse", "text"].includes(child.localName));
  const at = (name: string): number => Number(shape?.getAttribute(name)) || 0;
  if (shape?.localName === "rect") return [at("x") + at("width") / 2, at("y") + at("height") / 2];
  return shape?.localName === "ellipse" ? [at("cx"), at("cy")] : [at("x"), at("y")];
}

/** A value may refer to a part of the same drawing and to nothing else. */
function safeValue(value: string, prefix: string): string | null {
  if (!/url\s*\(|\\|&/i.test(value)) return value;
  const local = /^url\(#([\w.-]+)\)$/.exec(value);
  return local ? `url(#${prefix}${local[1]})` : null;
}
