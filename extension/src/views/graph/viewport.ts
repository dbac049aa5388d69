// The window onto a drawing. At rest its text can be read, and what the step is about is in view; the rest of the drawing is
// in the overview. The drawing has a size and its window scrolls: a pan lays nothing out anew, which matters where the
// drawing has thousands of nodes.

import { element } from "../elements/dom";
import { createCulling } from "./culling";
import type { Span } from "./drawing/levels";
import { offset, type Drawing } from "./drawing/svg";
import { createOverview, WIDTH } from "./overview";

const LARGEST = 4;
const SMALLEST = 0.02;
/** The height of a drawing's smallest text, in its units, and in pixels at rest: near, and as a projector shows it. */
const TEXT = 11;
const NEAR = 11;
const FAR = 16;
/** A drawing that is in view as a whole is enlarged no further than this. */
const NATURAL = 1.6;
/** In a window wide enough for both lanes, which reach so far beyond their middles, in units of the drawing, text grows so much more. */
const BESIDE = 300;
const ROOMY = 1.15;
const MARGIN = 4;

type Pictured = Pick<Drawing, "svg" | "parts">;

export function createViewport(drawing: Pictured) {
  const pane = element("div", { class: "gv-window" });
  const overview = createOverview((x, y) => put(beside(x), y, room() / 2, pane.clientHeight / 2));
  const field = element("div", { class: "gv-canvas" }, pane, overview.element);
  let { svg } = drawing;
  let { y: upper, width, height } = svg.viewBox.baseVal;
  let scale = 0;
  /** A look at the whole ends with the next step; what a person zoomed stays until the person asks for the whole. */
  let zoomed: "to rest" | "to the whole" | "by hand" = "to rest";
  let readable = NEAR / TEXT;
  let followed: [all: Element[], first: Element[]] = [[], []];
  /** Where the window scrolls to, or has scrolled to. */
  let goal = { left: 0, top: 0 };
  let culling = createCulling(drawing.parts);
  pane.append(svg);

  /** Margins as wide as the window let any point of the drawing come to its middle. */
  function resize(to: number): void {
    scale = Math.min(LARGEST, Math.max(SMALLEST, to));
    svg.style.width = `${width * scale}px`;
    svg.style.height = `${height * scale}px`;
    svg.style.margin = `${pane.clientHeight}px ${pane.clientWidth}px`;
    overview.element.hidden = width * scale <= pane.clientWidth && height * scale <= pane.clientHeight;
  }

  /** What of the window's width the overview leaves. */
  const room = (): number => pane.clientWidth - overview.width();

  /** What can be in the middle of the window, so that none of its width is left empty; the nearest to a place. */
  function beside(x: number): number {
    const half = room() / 2 / scale;
    return 2 * half >= width ? width / 2 : Math.max(half, Math.min(x, width - half));
  }

  function scroll(left: number, top: number, isSmooth = false): void {
    goal = { left: Math.round(left), top: Math.round(top) };
    const [right, down] = [Math.abs(goal.left - pane.scrollLeft), Math.abs(goal.top - pane.scrollTop)];
    const isNear = isSmooth && down < 2 * pane.clientHeight && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    field.toggleAttribute("data-moving", isNear && Math.max(right, down) >= 1);
    pane.scrollTo({ ...goal, behavior: isNear ? "smooth" : "instant" });
    frame();
  }

  /** Brings a point of the drawing, in its own units, to a place of the window, in pixels. */
  function put(x: number, y: number, left: number, top: number): void {
    const { clientWidth, clientHeight } = pane;
    cullAt(y - top / scale, clientHeight);
    scroll(clientWidth + x * scale - left, clientHeight + y * scale - top);
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

  function frame(): void {
    if (scale > 0 && pane.clientHeight > 0) overview.frame({ x: (pane.scrollLeft - pane.clientWidth) / scale, y: upper + edge(), width: room() / scale, height: pane.clientHeight / scale });
  }

  function wholeScale(): number {
    return Math.min((pane.clientWidth - 2 * MARGIN) / width, (pane.clientHeight - 2 * MARGIN) / height);
  }

  function restingScale(): number {
    const whole = wholeScale();
    if (whole >= readable) return Math.min(whole, Math.max(NATURAL, readable));
    const space = pane.clientWidth - WIDTH;
    const [forward = 0, backward = forward] = middlesOfLanes(svg);
    const across = space / width >= readable ? space / width : space / (backward - forward + BESIDE);
    return Math.min(Math.max(across, readable), ROOMY * readable);
  }

  /** All of the drawing; again: back to what can be read. */
  function fit(): void {
    if (zoomed === "to the whole") return begin();
    resize(Math.min(wholeScale(), Math.max(NATURAL, readable)));
    put(width / 2, height / 2, pane.clientWidth / 2, pane.clientHeight / 2);
    zoomed = "to the whole";
  }

  /** As a drawing is shown at first: all of it where that can be read, else the lanes from their top, or what is followed. */
  function begin(): void {
    zoomed = "to rest";
    resize(restingScale());
    overview.draw(drawing.parts, svg.viewBox.baseVal);
    const spare = (pane.clientHeight - height * scale) / 2;
    const [forward = width / 2, backward = forward] = middlesOfLanes(svg);
    put(beside((forward + backward) / 2), 0, room() / 2, spare >= 0 ? spare : MARGIN);
    follow(...followed, false);
  }

  function zoomAt(factor: number, left: number, top: number): void {
    const x = (pane.scrollLeft + left - pane.clientWidth) / scale;
    const y = (pane.scrollTop + top - pane.clientHeight) / scale;
    resize(scale * factor);
    put(x, y, left, top);
  }

  function zoom(factor: number, left = room() / 2, top = pane.clientHeight / 2): void {
    zoomAt(factor, left, top);
    zoomed = "by hand";
  }

  /** Pans to have the elements in sight, not at all when they are: of what is too far apart the nodes without edges, then the `first` ones. */
  function follow(all: Element[], first: Element[], isSmooth = true): void {
    followed = [all, first];
    if (all.length === 0 || pane.clientWidth === 0) return;
    culling.reveal(all);
    const nodes = all.filter((one) => !one.classList.contains("edge"));
    let boxes = placed(nodes);
    // Enlarged no further than it takes to see them together.
    const [wide, high] = [boxes.x.to - boxes.x.from, boxes.y.to - boxes.y.from];
    const fitting = scale * Math.min((room() - 2 * MARGIN) / wide, (pane.clientHeight - 2 * MARGIN) / high);
    if (zoomed === "to rest" && fitting < scale && scale > readable) {
      zoomAt(Math.max(fitting, readable) / scale, room() / 2, pane.clientHeight / 2);
      boxes = placed(nodes);
    }
    const [whole, before] = [placed(all), first.length > 0 ? placed(first) : boxes];
    const left = along(fits(whole.x, room()) ? whole.x : boxes.x, before.x, goal.left, room(), false);
    const top = along(fits(whole.y, pane.clientHeight) ? whole.y : boxes.y, before.y, goal.top, pane.clientHeight, true);
    if (left !== goal.left || top !== goal.top) scroll(left, top, isSmooth);
  }

  /** Where elements lie in what the window scrolls. */
  function placed(elements: Element[]): { x: Span; y: Span } {
    const outer = pane.getBoundingClientRect();
    const [right, down] = [pane.scrollLeft - outer.left, pane.scrollTop - outer.top];
    const boxes = elements.map((one) => one.getBoundingClientRect());
    const span = (from: number[], to: number[], by: number): Span => ({ from: Math.min(...from) + by, to: Math.max(...to) + by });
    return {
      x: span(boxes.map((box) => box.left), boxes.map((box) => box.right), right),
      y: span(boxes.map((box) => box.top), boxes.map((box) => box.bottom), down),
    };
  }

  /** A step was made: what it is about is `all`, and what it brought stands first. */
  function step(all: Element[], first: Element[]): void {
    overview.mark();
    if (zoomed !== "to the whole" || all.length === 0) return follow(all, first);
    followed = [all, first];
    begin();
  }

  /** Shows another drawing at the same scale, its element `now` where `before` was; all of the drawing where it fits. */
  function replace(other: Pictured, before: Element | null, now: Element | null): void {
    const isSeen = pane.clientWidth > 0 && scale > 0;
    const outgoing = { svg, culling };
    if (before) culling.reveal([before]);
    const from = before?.getBoundingClientRect();
    const at = { left: pane.scrollLeft, top: pane.scrollTop, edge: edge(), height: pane.clientHeight };
    drawing = other;
    svg = other.svg;
    culling = createCulling(other.parts);
    ({ y: upper, width, height } = svg.viewBox.baseVal);
    followed = [[], []];
    if (isSeen) {
      // All before it is in the page, which then has to be laid out once.
      resize(scale);
      cullAt(at.edge + (before && now ? culling.top(now) - outgoing.culling.top(before) : 0), at.height);
      if (now) culling.reveal([now]);
    }
    outgoing.svg.replaceWith(svg);
    if (!isSeen) return;
    overview.draw(other.parts, svg.viewBox.baseVal);
    const to = now?.getBoundingClientRect();
    // A drawing that became smaller has taken the window along: where it scrolled to counts.
    pane.scrollLeft = from && to ? pane.scrollLeft + to.left - from.left : at.left;
    pane.scrollTop = from && to ? pane.scrollTop + to.top - from.top : at.top;
    const [outer, inner] = [pane.getBoundingClientRect(), svg.getBoundingClientRect()];
    const right = outer.left + room();
    const left = pane.scrollLeft + (inward(inner.left, inner.right, outer.left, right) || filling(inner.left, inner.right, outer.left, right));
    scroll(left, pane.scrollTop + inward(inner.top, inner.bottom, outer.top, outer.bottom));
    cull();
    if (now) follow([now], [now]);
  }

  pane.addEventListener(
    "wheel",
    (event) => {
      // Without the key the page scrolls: a widget must not catch the wheel that passes over it.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = pane.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    },
    { passive: false },
  );
  drag(pane, (right, down) => scroll(pane.scrollLeft - right, pane.scrollTop - down));
  pane.addEventListener("scroll", () => {
    cull();
    frame();
  });
  pane.addEventListener("scrollend", () => {
    const isThere = Math.abs(pane.scrollLeft - goal.left) < 2 && Math.abs(pane.scrollTop - goal.top) < 2;
    field.toggleAttribute("data-moving", field.hasAttribute("data-moving") && !isThere);
  });
  const resizes = new ResizeObserver(() => {
    if (pane.clientWidth === 0) return;
    if (zoomed === "to the whole") zoomed = "to rest";
    if (zoomed === "to rest") return begin();
    cull();
    follow(...followed, false);
  });
  resizes.observe(pane);
  return {
    element: field,
    fit,
    begin,
    zoom: (factor: number) => zoom(factor),
    follow: (elements: Element[]) => follow(elements, elements),
    step,
    replace,
    enlarge(isFar: boolean) {
      if (readable === (isFar ? FAR : NEAR) / TEXT) return;
      readable = (isFar ? FAR : NEAR) / TEXT;
      if (pane.clientWidth > 0) begin();
    },
    dispose: () => resizes.disconnect(),
  };
}

/** Where the headings of the lanes stand, in units of the drawing, from its left edge. */
function middlesOfLanes(svg: SVGSVGElement): number[] {
  return [...svg.querySelectorAll(".lane")].map((lane) => Number(lane.querySelector("text")?.getAttribute("x")) + offset(lane)[0] - svg.viewBox.baseVal.x);
}

/** Where a window of a length, which begins at `at`, has to begin to show all, or what stands first and as much as can be beside it. */
function along(all: Span, first: Span, at: number, length: number, isCentred: boolean): number {
  const isWhole = fits(all, length);
  if (isWhole && all.from >= at && all.to <= at + length) return at;
  const span = isWhole ? all : first;
  const wanted = isWhole && !isCentred ? at : (all.from + all.to - length) / 2;
  return Math.round(Math.min(span.from - MARGIN, Math.max(wanted, span.to + MARGIN - length)));
}

const fits = (span: Span, length: number): boolean => span.to - span.from <= length - 2 * MARGIN;

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
