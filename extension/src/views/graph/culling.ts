// Of a large drawing only what is near the window is rendered: else a step in a net of a thousand operators would paint all
// of them again.

import { behind } from "../../model/recording/lookup";
import type { Span } from "./drawing/levels";
import type { Part } from "./drawing/svg";

/** Drawings of fewer parts are rendered whole. */
const WORTHWHILE = 200;
/** Parts higher than this many units of the drawing are rendered wherever the window is. */
const TALL = 2000;
/** What a part has beside its outline, its name above all, reaches no further. */
const BESIDE = 40;

/** Nothing is rendered until `show` tells what is seen. */
export function createCulling(all: readonly Part[]) {
  const byElement = new Map<Element, Part>(all.map((part) => [part.element, part]));
  // The Tab key goes from toggle to toggle, wherever the window is.
  const culled = all.length < WORTHWHILE ? [] : all.filter(({ height, isToggle }) => !isToggle && height.to - height.from <= TALL);
  culled.sort((a, b) => a.height.from - b.height.from);
  const starts = Float64Array.from(culled, ({ height }) => height.from);
  const rendered = new Set(all);
  for (const part of culled) hide(part);
  for (const part of rendered) part.fill();

  function render(part: Part): void {
    part.fill();
    part.element.removeAttribute("data-far");
    rendered.add(part);
  }

  function hide(part: Part): void {
    part.element.setAttribute("data-far", "");
    rendered.delete(part);
  }

  return {
    reveal(elements: Element[]) {
      for (const element of elements) {
        const part = byElement.get(element);
        if (part && !rendered.has(part)) render(part);
      }
    },
    /** Renders the parts near a stretch of the drawing's height, and only these. */
    show({ from, to }: Span) {
      const margin = to - from + BESIDE;
      const [first, last] = [behind(starts, from - margin - TALL), behind(starts, to + margin)];
      const near = new Set(culled.slice(first, last).filter(({ height }) => height.to >= from - margin));
      for (const part of culled) if (rendered.has(part) && !near.has(part)) hide(part);
      for (const part of near) if (!rendered.has(part)) render(part);
    },
    /** The upper edge of a part, in units of the drawing; 0 for what is none. */
    top: (element: Element) => byElement.get(element)?.height.from ?? 0,
  };
}
