// The parts that a drawing is made of: its nodes, edges and ports. Of large drawings few of them are in sight, so each can be
// filled when it is.

import { pathSpan, type Span } from "./folds";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export type Point = [x: number, y: number];

export interface Part {
  /** The group of its shapes and texts, which is empty until the part is filled. */
  element: SVGElement;
  /** From where to where it reaches in the drawing's height, but for the name at an edge. */
  height: Span;
  /** Whether it is a node that opens or closes something. */
  isToggle: boolean;
  fill(): void;
}

/** The path of an edge. */
export const pathOf = (edge: Element): string => edge.querySelector("path")?.getAttribute("d") ?? "";

/** Where a node stands: its outline, moved as its group is; a lane's heading by its letters. */
export function boxOf(group: Element): Box | null {
  const outline = [...group.children].find(({ localName }) => ["rect", "ellipse", "text"].includes(localName));
  if (!outline) return null;
  const at = (name: string): number => Number(outline.getAttribute(name)) || 0;
  const [dx, dy] = offset(group);
  if (outline.localName === "rect") return { x: at("x") + dx, y: at("y") + dy, width: at("width"), height: at("height") };
  if (outline.localName === "ellipse") return { x: at("cx") - at("rx") + dx, y: at("cy") - at("ry") + dy, width: 2 * at("rx"), height: 2 * at("ry") };
  const [width, height] = [(outline.textContent ?? "").length * 0.6 * at("font-size"), at("font-size")];
  return { x: at("x") - width / 2 + dx, y: at("y") - height + dy, width, height };
}

/** How far a group is moved. */
export function offset(group: Element): Point {
  const found = /translate\((-?[\d.]+)[ ,]+(-?[\d.]+)\)/.exec(group.getAttribute("transform") ?? "");
  return [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)];
}

/** From where to where a part reaches, before it is moved as its group is; null for what is no part. */
export function heightOf(group: Element): Span | null {
  if (group.localName !== "g") return null;
  const kind = /(?:^|\s)(node|port|edge)(?:\s|$)/.exec(group.getAttribute("class") ?? "")?.[1];
  if (kind === undefined) return null;
  if (kind === "edge") return pathSpan(pathOf(group), "y");
  const box = boxOf(group);
  const y = (box?.y ?? 0) - offset(group)[1];
  return box && { from: y, to: y + box.height };
}
