// Leaves out of a tall drawing what is out of sight: its parts are sorted into bands by height, and only the bands near
// the window are rendered. A step in a net of a thousand operators would otherwise paint all of them again.

import { SVG_NAMESPACE } from "./dom";

/** Smaller drawings are rendered whole. */
const WORTHWHILE = 800;
const PARTS_IN_BAND = 120;

interface Band {
  element: SVGElement;
  /** Where it begins and ends, as fractions of the drawing's height. */
  top: number;
  bottom: number;
}

export interface Bands {
  /** Renders the bands that the elements are in, so that they can be measured. */
  reveal(elements: Element[]): void;
  /** Renders the bands near the window, and only these. */
  update(): void;
}

/** The drawing has to be in the page: its parts are measured. */
export function createBands(pane: HTMLElement, svg: SVGSVGElement): Bands {
  const parent = svg.querySelector("g.node")?.parentElement;
  const parts = parent ? [...parent.children].filter((one) => one instanceof SVGGElement) : [];
  const bands = parent && parts.length >= WORTHWHILE ? sort(svg, parent, parts) : [];
  const byElement = new Map<Element, Band>(bands.map((band) => [band.element, band]));

  const render = (band: Band, isShown: boolean): void => {
    if (isShown) band.element.removeAttribute("display");
    else band.element.setAttribute("display", "none");
  };

  return {
    reveal(elements) {
      for (const element of elements) {
        const band = element.parentElement && byElement.get(element.parentElement);
        if (band) render(band, true);
      }
    },
    update() {
      if (bands.length === 0) return;
      const outer = pane.getBoundingClientRect();
      const inner = svg.getBoundingClientRect();
      const [from, to] = [outer.top - outer.height, outer.bottom + outer.height].map((y) => (y - inner.top) / inner.height);
      for (const band of bands) render(band, band.bottom >= (from ?? 0) && band.top <= (to ?? 1));
    },
  };
}

function sort(svg: SVGSVGElement, parent: Element, parts: SVGGElement[]): Band[] {
  const boxes = parts.map((part) => part.getBBox());
  const top = Math.min(...boxes.map((box) => box.y));
  const height = Math.max(...boxes.map((box) => box.y + box.height)) - top;
  const bandHeight = height / Math.ceil(parts.length / PARTS_IN_BAND);
  const elements = new Map<number, SVGElement>();
  parts.forEach((part, index) => {
    const box = boxes[index];
    // An edge that passes many bands stays outside of all.
    if (!box || box.height > 2 * bandHeight) return;
    const number = Math.floor((box.y - top) / bandHeight);
    const band = elements.get(number) ?? document.createElementNS(SVG_NAMESPACE, "g");
    elements.set(number, band);
    band.append(part);
  });
  parent.append(...elements.values());
  const whole = svg.getBoundingClientRect();
  return [...elements.values()].map((element) => {
    const box = element.getBoundingClientRect();
    return { element, top: (box.top - whole.top) / whole.height, bottom: (box.bottom - whole.top) / whole.height };
  });
}
