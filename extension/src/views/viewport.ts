// The window onto a drawing: fit, zoom, pan, and follow, by the viewBox alone.

/** Pixels for one unit of the drawing: never larger than life, never too small to find again. */
const LARGEST = 4;
const SMALLEST = 0.02;
/** Below this scale text cannot be read: then a drawing is not fitted at first, but shown from its top. */
const READABLE = 0.5;
const NATURAL = 1.15;
const MARGIN = 8;

export interface Viewport {
  fit(): void;
  zoom(factor: number): void;
  /** Pans as little as it takes to have the elements in sight; not at all when they are. */
  follow(elements: Element[]): void;
  dispose(): void;
}

export function createViewport(pane: HTMLElement, svg: SVGSVGElement): Viewport {
  const { x, y, width, height } = svg.viewBox.baseVal;
  let scale = 1;
  let center = { x: x + width / 2, y: y + height / 2 };
  let untouched = true;

  function apply(): void {
    const [w, h] = [pane.clientWidth / scale, pane.clientHeight / scale];
    svg.setAttribute("viewBox", `${center.x - w / 2} ${center.y - h / 2} ${w} ${h}`);
  }

  function fittingScale(): number {
    const across = (pane.clientWidth - 2 * MARGIN) / width;
    const down = (pane.clientHeight - 2 * MARGIN) / height;
    return bounded(Math.min(across, down, NATURAL));
  }

  function fit(): void {
    scale = fittingScale();
    center = { x: x + width / 2, y: y + height / 2 };
    untouched = true;
    apply();
  }

  /** At first: all of it, or, where that could not be read, the top of it. */
  function begin(): void {
    fit();
    if (scale >= READABLE) return;
    scale = bounded(Math.max(READABLE, Math.min((pane.clientWidth - 2 * MARGIN) / width, NATURAL)));
    center.y = y - MARGIN / scale + pane.clientHeight / scale / 2;
    apply();
  }

  function zoomAt(factor: number, clientX: number, clientY: number): void {
    const box = pane.getBoundingClientRect();
    const offset = { x: clientX - box.left - box.width / 2, y: clientY - box.top - box.height / 2 };
    const before = scale;
    scale = bounded(scale * factor);
    center = { x: center.x + offset.x / before - offset.x / scale, y: center.y + offset.y / before - offset.y / scale };
    untouched = false;
    apply();
  }

  function zoom(factor: number): void {
    const box = pane.getBoundingClientRect();
    zoomAt(factor, box.left + box.width / 2, box.top + box.height / 2);
  }

  function follow(elements: Element[]): void {
    const boxes = elements.map((one) => one.getBoundingClientRect()).filter((box) => box.width > 0);
    if (boxes.length === 0 || pane.clientWidth === 0) return;
    const outer = pane.getBoundingClientRect();
    const shift = (low: number, high: number, from: number, to: number): number =>
      low < from ? low - from - 3 * MARGIN : high > to ? high - to + 3 * MARGIN : 0;
    const edge = (pick: (box: DOMRect) => number, best: (...all: number[]) => number): number => best(...boxes.map(pick));
    const right = shift(edge((b) => b.left, Math.min), edge((b) => b.right, Math.max), outer.left, outer.right);
    const down = shift(edge((b) => b.top, Math.min), edge((b) => b.bottom, Math.max), outer.top, outer.bottom);
    if (right === 0 && down === 0) return;
    center = { x: center.x + right / scale, y: center.y + down / scale };
    apply();
  }

  svg.removeAttribute("width");
  svg.removeAttribute("height");
  pane.addEventListener(
    "wheel",
    (event) => {
      // Without the key the page scrolls: a widget must not catch the wheel that passes over it.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomAt(Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    },
    { passive: false },
  );
  drag(pane, (right, down) => {
    center = { x: center.x - right / scale, y: center.y - down / scale };
    untouched = false;
    apply();
  });
  const resizes = new ResizeObserver(() => (pane.clientWidth === 0 ? undefined : untouched ? begin() : apply()));
  resizes.observe(pane);
  begin();
  return { fit, zoom, follow, dispose: () => resizes.disconnect() };
}

function bounded(scale: number): number {
  return Math.min(LARGEST, Math.max(SMALLEST, scale));
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
