// Rebuilds a drawing from untrusted SVG text: only shapes and text, only attributes that say where and how they are.

import { SVG_NAMESPACE } from "./dom";

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
const DEPTH = 40;

export interface Drawing {
  svg: SVGSVGElement;
  /** The elements that had an id, by it. The ids themselves are gone: several drawings share a page. */
  byId: Map<string, SVGElement>;
}

let drawings = 0;

/** Throws an Error when the text is no SVG. */
export function rebuild(source: string): Drawing {
  const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
  const root = parsed.documentElement;
  if (root.localName !== "svg" || parsed.querySelector("parsererror")) {
    throw new Error("The graph in this trace is no readable SVG.");
  }
  const byId = new Map<string, SVGElement>();
  const prefix = `gv-drawing-${++drawings}-`;
  const svg = copy(root, byId, prefix, 0);
  if (!(svg instanceof SVGSVGElement)) throw new Error("The graph in this trace is no readable SVG.");
  return { svg, byId };
}

function copy(from: Element, byId: Map<string, SVGElement>, prefix: string, depth: number): SVGElement | null {
  if (!ELEMENTS.has(from.localName) || depth > DEPTH) return null;
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
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.nodeValue ?? "");
    else if (child instanceof Element) {
      const inner = copy(child, byId, prefix, depth + 1);
      if (inner) made.append(inner);
    }
  }
  return made;
}

/** A value may refer to a part of the same drawing and to nothing else. */
function safeValue(value: string, prefix: string): string | null {
  if (!/url\s*\(|\\|&/i.test(value)) return value;
  const local = /^url\(#([\w.-]+)\)$/.exec(value);
  return local ? `url(#${prefix}${local[1]})` : null;
}
