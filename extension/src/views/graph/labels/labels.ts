// Teaching mode in the graph: the value above and the gradient below each wire, as far as they are computed.

import { isSeveral, severalAt, toldAt, type Several, type Told, type Wire } from "../../../lesson/wires";
import { elementsOf } from "../../../model/recording/values";
import type { Trace } from "../../../model/schema";
import { glance, DIGITS, NOT_YET, NOT_YET_IN_SHORT } from "../../elements/array";
import { svgElement } from "../../elements/dom";
import { quantity, NOT_COMPUTED } from "../../elements/numbers";
import { offset, type Box } from "../drawing/parts";
import type { Drawing } from "../drawing/svg";
import { edgeLabels, looseLabels, measured, place, GAP, type Extent, type Planned, type Scene } from "./spots";

/** So many labels have places; the others are shown only where the event is. */
const MOST = 200;
const FONT = 10.5;
const LINE = 11.5;
/** Of a character of the font for code. */
const WIDTH = 0.62 * FONT;
/** Characters of a label in a nested net, whose values change from run to run. */
const NESTED = 18;
/** Characters by which a label of several grows longer, while not all of them are computed. */
const COUNTING = 9;

interface Drawn {
  group: SVGGElement;
  texts: { told: SVGTextElement; title: Element; name: Element; value: Element; shown: string }[];
}

export type Labels = ReturnType<typeof labelled>;

/** Writes labels into a drawing, which becomes wider where it has to. */
export function labelled(trace: Trace, { svg, byId }: Drawing) {
  const graph = svg.querySelector<SVGGElement>("g.graph") ?? svg;
  const scene = measured(byId);
  const extent = extentIn(trace);
  const planned = [...looseLabels(trace, scene, extent), ...edgeLabels(trace, byId, extent)];
  const layer = svgElement("g", { class: "gv-wires" });
  let chosen = placed(planned.slice(0, MOST), scene);
  let drawn = new Map<Planned, Drawn>();
  graph.append(layer);
  widen(svg, graph, planned.length > MOST ? planned.flatMap(({ spots }) => spots.slice(0, 1)) : boxesOf(chosen));

  /** Where there are too many, those around the event have the places. */
  function choose(close: readonly Planned[]): void {
    const first = close[0];
    if (first === undefined || planned.length <= MOST || close.every((label) => chosen.has(label))) return;
    chosen = placed(around(planned, heightOf(first)), scene);
    drawn = new Map();
    layer.replaceChildren();
  }

  return {
    /** Tells what the wires carry; labels without a place of their own only where they touch one of the lines `near`. */
    show(position: number, near: ReadonlySet<string>) {
      const close = new Set(planned.filter(({ wires }) => wires.some(({ from, to }) => [from, ...to].some((line) => line !== null && near.has(line)))));
      choose([...close]);
      for (const label of planned) {
        const number = chosen.get(label) ?? null;
        const isShown = number !== null || close.has(label);
        const known = drawn.get(label) ?? (isShown ? draw(layer, label, number) : null);
        if (!known) continue;
        drawn.set(label, known);
        if (number === null) known.group.toggleAttribute("data-hidden", !isShown);
        if (isShown) tell(trace, label, known, position);
      }
    },
    /** How many labels have no place. */
    get placeless() {
      return planned.filter((label) => (chosen.get(label) ?? null) === null).length;
    },
  };
}

/** For each of these labels the number of the spot that it takes; null: all are taken. */
function placed(labels: readonly Planned[], scene: Scene): Map<Planned, number | null> {
  const numbers = place(labels.map(({ spots }) => spots), scene.boxes, scene.paths);
  return new Map(labels.map((label, index) => [label, numbers[index] ?? null]));
}

function boxesOf(chosen: ReadonlyMap<Planned, number | null>): Box[] {
  return [...chosen].flatMap(([{ spots }, number]) => (number === null ? [] : spots.slice(number, number + 1)));
}

const heightOf = ({ spots }: Planned): number => spots[0]?.y ?? 0;

/** The labels that stand nearest to a height, in their order. */
function around(planned: readonly Planned[], height: number): Planned[] {
  const distance = (label: Planned): number => Math.abs(heightOf(label) - height);
  const nearest = new Set([...planned].sort((a, b) => distance(a) - distance(b)).slice(0, MOST));
  return planned.filter((label) => nearest.has(label));
}

function toldOf(trace: Trace, wires: readonly Wire[], isTogether: boolean, position: number): Told[] {
  return isTogether ? severalAt(trace, wires, position) : wires.flatMap((wire) => toldAt(trace, wire, position));
}

/** How large a label can become at any position: it stays where it is. */
function extentIn(trace: Trace): Extent {
  return (wires, isTogether) => {
    const last = toldOf(trace, wires, isTogether, trace.events.length);
    const grows = (told: Told): number => (isSeveral(told.value) ? COUNTING : 0);
    const characters = last.map((told) => told.name.length + 3 + Math.max(NOT_YET_IN_SHORT.length, wordsFor(told, undefined, true).length + grows(told)));
    if (wires.some(({ subnet }) => subnet !== null)) characters.push(NESTED);
    return { width: Math.max(...characters) * WIDTH, height: last.length * LINE };
  };
}

function draw(layer: SVGElement, { wires, isTogether, spots }: Planned, chosen: number | null): Drawn {
  const group = svgElement("g", { class: chosen === null ? "gv-wire gv-crowded" : "gv-wire" });
  const { x = 0, y = 0, width = 0, isBefore = false, stub = "" } = spots[chosen ?? 0] ?? {};
  if (stub !== "") group.append(svgElement("path", { d: stub, class: "gv-stub" }));
  const rows = (isTogether ? wires.slice(0, 1) : wires).flatMap(({ isBackward }) => (isBackward ? ["gradient"] : ["value", "gradient"]));
  const texts = rows.map((what, index) => {
    const from = { x: isBefore ? x + width : x, y: y + (index + 0.8) * LINE, "text-anchor": isBefore ? "end" : "start" };
    const told = svgElement("text", { class: `gv-${what}`, ...from });
    const [title, name, value] = [svgElement("title", {}), svgElement("tspan", { class: "gv-name" }), svgElement("tspan", {})];
    told.append(title, name, value);
    group.append(told);
    return { told, title, name, value, shown: "" };
  });
  layer.append(group);
  return { group, texts };
}

function tell(trace: Trace, { wires, isTogether }: Planned, { texts }: Drawn, position: number): void {
  const told = toldOf(trace, wires, isTogether, position);
  // In a nested net values are those of a run, and behind the last event we are in none.
  const isOver = position === trace.events.length && wires.every(({ subnet }) => subnet === null);
  texts.forEach((text, index) => {
    const one = told[index];
    if (!one) return;
    const shown = wordsFor(one, told[index - 1], isOver);
    const key = `${one.name} ${shown}`;
    if (key === text.shown) return;
    text.shown = key;
    text.name.textContent = shown === "" ? "" : `${one.name} ${isExact(one.value) ? "= " : ""}`;
    text.value.textContent = shown;
    text.title.textContent = !isMissing(one.value) ? "" : isOver ? NOT_COMPUTED : NOT_YET;
    text.told.classList.toggle("gv-unknown", isMissing(one.value) || one.value === "none");
  });
}

/** Whether there is nothing to be told yet. */
function isMissing(value: Told["value"]): boolean {
  return value === null || (isSeveral(value) && value.there === 0);
}

/** Whether all of a value is told. */
function isExact(value: Told["value"]): boolean {
  return value !== null && value !== "none" && !isSeveral(value) && elementsOf(value) !== null;
}

/** Of a wire of which nothing is computed this is said once; behind the last event nothing will be. */
function wordsFor({ what, value }: Told, before?: Told, isOver = false): string {
  if (isMissing(value)) return what === "gradient" && before?.what === "value" && isMissing(before.value) ? "" : isOver ? NOT_COMPUTED : NOT_YET_IN_SHORT;
  if (value === "none" || value === null) return "none";
  return isSeveral(value) ? wordsForSeveral(value) : glance(value);
}

/** "3 of 5 ‖·‖ 2.31", of all "‖·‖ 2.31". */
function wordsForSeveral({ there, of, norm }: Several): string {
  const size = norm === null ? [] : [`‖·‖ ${quantity(norm, DIGITS)}`];
  return [...(there < of || norm === null ? [`${there} of ${of}`] : []), ...size].join(" ");
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
