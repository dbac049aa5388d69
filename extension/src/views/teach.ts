// Teaching mode in the graph: the value above and the gradient below each wire, as far as they are computed.

import { elementsOf } from "../teaching/elements";
import { place, type Box } from "../teaching/placing";
import { toldAt, type Told, type Wire } from "../teaching/wires";
import type { Trace } from "../trace";
import { SVG_NAMESPACE } from "./dom";
import { glance, NOT_YET, NOT_YET_IN_SHORT } from "./glance";
import { edgeLabels, GAP, looseLabels, measured, offset, type Extent, type Planned } from "./spots";
import type { Drawing } from "./svg";

/** Of each kind; more labels are shown only where the event is. */
const MOST = 200;
const FONT = 10.5;
const LINE = 11.5;
/** Of a character of the font for code. */
const WIDTH = 0.62 * FONT;
/** Characters of a label in a nested net, whose values change from run to run. */
const NESTED = 18;

export interface Labels {
  /** Tells what the wires carry; labels without room of their own only where they touch one of the lines `near`. */
  show(position: number, near: ReadonlySet<string>): void;
}

interface Drawn {
  group: SVGGElement;
  texts: { told: SVGTextElement; title: Element; name: Element; value: Element; shown: string }[];
}

/** Writes labels into a drawing, which becomes wider where it has to. */
export function labelled(trace: Trace, { svg, byId }: Drawing): Labels {
  const graph = svg.querySelector<SVGGElement>("g.graph") ?? svg;
  const scene = measured(byId);
  const extent = extentIn(trace);
  const [loose, edges] = [looseLabels(trace, scene, extent), edgeLabels(trace, byId, extent)];
  const [placed, others] = [[...loose.slice(0, MOST), ...edges.slice(0, MOST)], [...loose.slice(MOST), ...edges.slice(MOST)]];
  const planned = [...placed, ...others];
  const chosen = place(placed.map(({ spots }) => spots), scene.boxes, scene.paths);
  const layer = shape("g", { class: "gv-wires" });
  const drawn = new Map<Planned, Drawn>();
  graph.append(layer);
  widen(svg, graph, planned.map(({ spots }, index) => spots[chosen[index] ?? -1]).filter((box) => box !== undefined));

  return {
    show(position, near) {
      const isNear = (line: string | null): boolean => line !== null && near.has(line);
      planned.forEach((label, index) => {
        const number = chosen[index] ?? null;
        const isShown = number !== null || label.wires.some(({ from, to }) => isNear(from) || isNear(to));
        const known = drawn.get(label) ?? (isShown ? draw(layer, label, number) : null);
        if (!known) return;
        drawn.set(label, known);
        if (number === null) known.group.toggleAttribute("data-hidden", !isShown);
        if (isShown) tell(trace, label.wires, known, position);
      });
    },
  };
}

/** How large a label can become at any position: it stays where it is. */
function extentIn(trace: Trace): Extent {
  return (wires) => {
    const last = wires.flatMap((wire) => toldAt(trace, wire, trace.events.length));
    const characters = last.map((told) => told.name.length + 3 + Math.max(NOT_YET_IN_SHORT.length, wordsFor(told).length));
    if (wires.some(({ subnet }) => subnet !== null)) characters.push(NESTED);
    return { width: Math.max(...characters) * WIDTH, height: last.length * LINE };
  };
}

function draw(layer: SVGElement, { wires, spots }: Planned, chosen: number | null): Drawn {
  const group = shape("g", { class: chosen === null ? "gv-wire gv-crowded" : "gv-wire" });
  const { x = 0, y = 0, width = 0, isBefore = false, stub = "" } = spots[chosen ?? 0] ?? {};
  if (stub !== "") group.append(shape("path", { d: stub, class: "gv-stub" }));
  const texts = wires.flatMap(({ isBackward }) => (isBackward ? ["gradient"] : ["value", "gradient"])).map((what, index) => {
    const from = { x: isBefore ? x + width : x, y: y + (index + 0.8) * LINE, "text-anchor": isBefore ? "end" : "start" };
    const told = shape("text", { class: `gv-${what}`, ...from });
    const [title, name, value] = [shape("title", {}), shape("tspan", { class: "gv-name" }), shape("tspan", {})];
    told.append(title, name, value);
    group.append(told);
    return { told, title, name, value, shown: "" };
  });
  layer.append(group);
  return { group, texts };
}

function tell(trace: Trace, wires: Wire[], { texts }: Drawn, position: number): void {
  const told = wires.flatMap((wire) => toldAt(trace, wire, position));
  texts.forEach((text, index) => {
    const one = told[index];
    if (!one) return;
    const shown = wordsFor(one, told[index - 1]);
    const key = `${one.name} ${shown}`;
    if (key === text.shown) return;
    text.shown = key;
    text.name.textContent = shown === "" ? "" : `${one.name} ${isExact(one.value) ? "= " : ""}`;
    text.value.textContent = shown;
    text.title.textContent = one.value === null ? NOT_YET : "";
    text.told.classList.toggle("gv-unknown", one.value === null || one.value === "none");
  });
}

/** Whether all of a value is told. */
function isExact(value: Told["value"]): boolean {
  return value !== null && value !== "none" && elementsOf(value) !== null;
}

/** Of a wire of which nothing is computed this is said once. */
function wordsFor({ what, value }: Told, before?: Told): string {
  if (value === null) return what === "gradient" && before?.what === "value" && before.value === null ? "" : NOT_YET_IN_SHORT;
  return value === "none" ? "none" : glance(value);
}

/** Makes room in a drawing for boxes that lie outside of it. */
function widen(svg: SVGSVGElement, graph: Element, boxes: Box[]): void {
  const { width, height } = svg.viewBox.baseVal;
  const [dx, dy] = offset(graph);
  const left = Math.min(0, ...boxes.map(({ x }) => x + dx - GAP));
  const top = Math.min(0, ...boxes.map(({ y }) => y + dy - GAP));
  const right = Math.max(width, ...boxes.map((box) => box.x + box.width + dx + GAP));
  const bottom = Math.max(height, ...boxes.map((box) => box.y + box.height + dy + GAP));
  svg.setAttribute("viewBox", [left, top, right - left, bottom - top].join(" "));
}

function shape<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number>): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}
