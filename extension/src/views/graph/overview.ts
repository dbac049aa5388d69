// The whole drawing in a strip beside its window: a mark for each node, and a frame around what is in view.

import { element, svgElement } from "../elements/dom";
import type { Box, Span } from "./drawing/levels";
import type { Part } from "./drawing/svg";

/** Pixels of the window that it takes. */
export const WIDTH = 28;
const MARGIN = 3;
/** A drawing is shown in it no larger than this. */
const LARGEST = 0.3;
/** What a node can be, by a class of its own; the first that it has counts. */
const KINDS: [kind: string, classes: RegExp][] = [
  ["now", /\b(?:new|current)\b/],
  ["future", /\bfuture\b/],
  ["accumulation", /\b(?:accumulation|deduplication|duplicate)\b/],
  ["forward", /\bforward\b/],
  ["backward", /\bnode\b/],
];

type Placed = Part & { across: Span };

const hasPlace = (part: Part): part is Placed => part.across !== null;

/** `look` gets the point of the drawing that a person wants to see. */
export function createOverview(look: (x: number, y: number) => void) {
  const marks = KINDS.map(([kind]) => svgElement("path", { class: `gv-${kind}` }));
  const seen = svgElement("rect", { class: "gv-seen", rx: 2 });
  const strip = element("div", { class: "gv-overview", "aria-hidden": "true", title: "The whole graph, and what of it is in view: click or drag", hidden: true }, svgElement("svg", {}, ...marks, seen));
  strip.style.width = `${WIDTH}px`;
  let nodes: Placed[] = [];
  let size = { width: 1, height: 1 };
  let [across, down] = [1, 1];

  const isShown = (): boolean => !strip.hidden;

  function mark(): void {
    if (!isShown()) return;
    const paths = new Map<string, string>();
    for (const { element: node, height, across: { from, to } } of nodes) {
      const classes = node.getAttribute("class") ?? "";
      const kind = KINDS.find(([, one]) => one.test(classes))?.[0] ?? "";
      const [x, y] = [MARGIN + from * across, MARGIN + height.from * down];
      const [wide, high] = [Math.max(2, (to - from) * across), Math.max(1, (height.to - height.from) * down)];
      paths.set(kind, `${paths.get(kind) ?? ""}M${x.toFixed(1)} ${y.toFixed(1)}h${wide.toFixed(1)}v${high.toFixed(1)}h-${wide.toFixed(1)}z`);
    }
    KINDS.forEach(([kind], index) => marks[index]?.setAttribute("d", paths.get(kind) ?? ""));
  }

  function lead(event: PointerEvent): void {
    const box = strip.getBoundingClientRect();
    look((event.clientX - box.left - MARGIN) / across, (event.clientY - box.top - MARGIN) / down);
  }

  strip.addEventListener("pointerdown", (event) => {
    strip.setPointerCapture(event.pointerId);
    lead(event);
  });
  strip.addEventListener("pointermove", (event) => event.buttons > 0 && lead(event));
  return {
    element: strip,
    /** The room that it takes of the window. */
    width: () => (isShown() ? WIDTH : 0),
    /** Shows another drawing, or the same one in a strip of another size. */
    draw(parts: readonly Part[], drawing: { width: number; height: number }) {
      nodes = parts.filter(hasPlace);
      size = drawing;
      across = (WIDTH - 2 * MARGIN) / size.width;
      down = Math.max(0, Math.min(LARGEST, (strip.clientHeight - 2 * MARGIN) / size.height));
      mark();
    },
    mark,
    frame({ x, y, width, height }: Box) {
      if (!isShown()) return;
      const cut = (low: number, length: number, most: number): [number, number] => [Math.max(low, 0), Math.max(0, Math.min(low + length, most) - Math.max(low, 0))];
      const [left, wide] = cut(x, width, size.width);
      const [top, high] = cut(y, height, size.height);
      const places = { x: MARGIN - 2 + left * across, y: MARGIN - 2 + top * down, width: wide * across + 4, height: high * down + 4 };
      for (const [name, value] of Object.entries(places)) seen.setAttribute(name, value.toFixed(1));
    },
  };
}
