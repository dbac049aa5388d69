// The window onto a drawing: fit, zoom, pan and follow. The drawing has a size and its window scrolls: a pan lays
// nothing out anew, which matters where the drawing has thousands of nodes. Of a large one only what is near the window is
// rendered: else a step in a net of a thousand operators would paint all of them again.

import { behind } from "../../model/recording/lookup";
import type { Span } from "./drawing/levels";
import type { Drawing, Part } from "./drawing/svg";

const LARGEST = 4;
const SMALLEST = 0.02;
/** Below this scale text cannot be read: then a drawing is not fitted at first, but shown from its top. */
const READABLE = 0.6;
/** In a narrow pane all of the drawing's width is worth smaller text, down to this scale. */
const NARROW = 0.4;
/** Fitting enlarges a small drawing no further than this. */
const NATURAL = 1.15;
const MARGIN = 8;

type Pictured = Pick<Drawing, "svg" | "parts">;

export type Viewport = ReturnType<typeof createViewport>;

/** `pane` is the window and scrolls; the drawing lies in it and has a viewBox. */
export function createViewport(pane: HTMLElement, drawing: Pictured) {
  let { svg } = drawing;
  let { y: upper, width, height } = svg.viewBox.baseVal;
  let scale = 0;
  let untouched = true;
  let followed: Element[] = [];
  let culling = createCulling(drawing.parts);

  /** Margins as wide as the window let any point of the drawing come to its middle. */
  function resize(to: number): void {
    scale = Math.min(LARGEST, Math.max(SMALLEST, to));
    svg.style.width = `${width * scale}px`;
    svg.style.height = `${height * scale}px`;
    svg.style.margin = `${pane.clientHeight}px ${pane.clientWidth}px`;
  }

  /** Brings a point of the drawing, in its own units, to a place of the window, in pixels. */
  function put(x: number, y: number, left: number, top: number): void {
    const { clientWidth, clientHeight } = pane;
    cullAt(y - top / scale, clientHeight);
    pane.scrollLeft = clientWidth + x * scale - left;
    pane.scrollTop = clientHeight + y * scale - top;
  }

  /** Where the window's upper edge is in the drawing, in its units. */
  const edge = (): number => (pane.scrollTop - pane.clientHeight) / scale;

  /** Renders what is near the window when its upper edge comes to lie there. */
  function cullAt(from: number, pixels: number): void {
    culling.show({ from: upper + from, to: upper + from + pixels / scale });
  }

  function cull(): void {
    if (scale > 0 && pane.clientHeight > 0) cullAt(edge(), pane.clientHeight);
  }

  function fittingScales(): { across: number; whole: number } {
    const across = Math.min((pane.clientWidth - 2 * MARGIN) / width, NATURAL);
    return { across, whole: Math.min(across, (pane.clientHeight - 2 * MARGIN) / height) };
  }

  function fit(): void {
    resize(fittingScales().whole);
    put(width / 2, height / 2, pane.clientWidth / 2, pane.clientHeight / 2);
    untouched = true;
  }

  /** As a drawing is shown at first: all of it, or, where that could not be read, the top of it. */
  function begin(): void {
    const { across, whole } = fittingScales();
    if (whole >= READABLE) fit();
    else {
      resize(across >= NARROW ? across : READABLE);
      put(width / 2, 0, pane.clientWidth / 2, MARGIN);
    }
  }

  function zoomAt(factor: number, left: number, top: number): void {
    const x = (pane.scrollLeft + left - pane.clientWidth) / scale;
    const y = (pane.scrollTop + top - pane.clientHeight) / scale;
    resize(scale * factor);
    put(x, y, left, top);
    untouched = false;
  }

  /** Pans to have the elements in sight; not at all when they are. */
  function follow(elements: Element[]): void {
    followed = elements;
    if (elements.length === 0 || pane.clientWidth === 0) return;
    culling.reveal(elements);
    const boxes = elements.map((one) => one.getBoundingClientRect());
    const outer = pane.getBoundingClientRect();
    const right = shift(boxes.map((box) => [box.left, box.right]), outer.left, outer.right);
    const down = shift(boxes.map((box) => [box.top, box.bottom]), outer.top, outer.bottom);
    if (right !== 0) pane.scrollLeft += right;
    if (down !== 0) pane.scrollTop += down;
  }

  /** Shows another drawing at the same scale, its element `now` where `before` was; all of the drawing where it fits. */
  function replace(other: Pictured, before: Element | null, now: Element | null): void {
    const isSeen = pane.clientWidth > 0 && scale > 0;
    const outgoing = { svg, culling };
    if (before) culling.reveal([before]);
    const from = before?.getBoundingClientRect();
    const at = { left: pane.scrollLeft, top: pane.scrollTop, edge: edge(), height: pane.clientHeight };
    svg = freed(other.svg);
    culling = createCulling(other.parts);
    ({ y: upper, width, height } = svg.viewBox.baseVal);
    followed = [];
    if (isSeen) {
      // All before it is in the page, which then has to be laid out once.
      resize(scale);
      cullAt(at.edge + (before && now ? culling.top(now) - outgoing.culling.top(before) : 0), at.height);
      if (now) culling.reveal([now]);
    }
    outgoing.svg.replaceWith(svg);
    if (!isSeen) return;
    const to = now?.getBoundingClientRect();
    // A drawing that became smaller has taken the window along: where it scrolled to counts.
    pane.scrollLeft = from && to ? pane.scrollLeft + to.left - from.left : at.left;
    pane.scrollTop = from && to ? pane.scrollTop + to.top - from.top : at.top;
    const [outer, inner] = [pane.getBoundingClientRect(), svg.getBoundingClientRect()];
    pane.scrollLeft += inward(inner.left, inner.right, outer.left, outer.right) || filling(inner.left, inner.right, outer.left, outer.right);
    pane.scrollTop += inward(inner.top, inner.bottom, outer.top, outer.bottom);
    cull();
    if (now) follow([now]);
  }

  freed(svg);
  pane.addEventListener(
    "wheel",
    (event) => {
      // Without the key the page scrolls: a widget must not catch the wheel that passes over it.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = pane.getBoundingClientRect();
      zoomAt(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    },
    { passive: false },
  );
  drag(pane, (right, down) => {
    pane.scrollLeft -= right;
    pane.scrollTop -= down;
    untouched = false;
  });
  pane.addEventListener("scroll", cull);
  const resizes = new ResizeObserver(() => {
    if (pane.clientWidth === 0) return;
    if (untouched) begin();
    else cull();
    follow(followed);
  });
  resizes.observe(pane);
  const zoom = (factor: number): void => zoomAt(factor, pane.clientWidth / 2, pane.clientHeight / 2);
  return { fit, begin, zoom, follow, replace, dispose: () => resizes.disconnect() };
}

/** Lets the window say how large a drawing is. */
function freed(svg: SVGSVGElement): SVGSVGElement {
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  return svg;
}

/** How far to move to have all spans in the middle between two edges (their start, where they do not fit); 0 when they lie there. */
function shift(spans: [low: number, high: number][], from: number, to: number): number {
  const low = Math.min(...spans.map((span) => span[0]));
  const high = Math.max(...spans.map((span) => span[1]));
  if (low >= from && high <= to) return 0;
  return high - low > to - from ? low - from - MARGIN : (low + high - from - to) / 2;
}

/** How far to move to have all of a span between two edges, if it is short enough. */
function inward(low: number, high: number, from: number, to: number): number {
  if (high - low > to - from) return 0;
  return low < from ? low - from : Math.max(high - to, 0);
}

/** How far to move to leave no room beside a span that is too long to lie between two edges. */
function filling(low: number, high: number, from: number, to: number): number {
  if (high - low <= to - from) return 0;
  return Math.max(low - from, 0) + Math.min(high - to, 0);
}

/** Reports how far the pointer moved while it is down. A press that moves less than 4 pixels stays a click. */
function drag(pane: HTMLElement, moved: (right: number, down: number) => void): void {
  let last: { x: number; y: number } | null = null;
  pane.addEventListener("pointerdown", (event) => {
    last = event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
  });
  pane.addEventListener("pointermove", (event) => {
    if (!last || event.buttons === 0) return;
    const step = { x: event.clientX - last.x, y: event.clientY - last.y };
    if (!pane.hasPointerCapture(event.pointerId)) {
      if (Math.hypot(step.x, step.y) < 4) return;
      pane.setPointerCapture(event.pointerId);
    }
    last = { x: event.clientX, y: event.clientY };
    moved(step.x, step.y);
  });
  pane.addEventListener("pointerup", () => (last = null));
  pane.addEventListener("pointercancel", () => (last = null));
}

/** Drawings of fewer parts are rendered whole. */
const WORTHWHILE = 200;
/** Parts higher than this many units of the drawing are rendered wherever the window is. */
const TALL = 2000;
/** What a part has beside its outline, its name above all, reaches no further. */
const BESIDE = 40;

/** Nothing is rendered until `show` tells what is seen. */
function createCulling(all: readonly Part[]) {
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
    /** Renders parts, so that they can be measured. */
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
