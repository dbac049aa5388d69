// The inspector's Value tab: the blobs in focus, and what is known of the one that is chosen.

import type { Line, Scalar, Trace, Value } from "../trace";
import { element, version, type Child } from "./dom";
import { extent, heatmap } from "./heatmap";
import { count, NOT_COMPUTED, quantity, shapeText } from "./numbers";

/** The blobs to choose from; `choose` gets the one that is clicked. */
export function blobChoice(blobs: readonly string[], chosen: string, choose: (blob: string) => void): HTMLElement {
  const choice = element("div", { class: "gv-blobs", role: "group", "aria-label": "Blobs in focus" });
  for (const blob of blobs) {
    const button = element("button", { type: "button", "aria-pressed": String(blob === chosen), "data-blob": blob }, ...version(blob));
    button.addEventListener("click", () => choose(blob));
    choice.append(button);
  }
  return choice;
}

/** What is known of one blob version at a position. */
export function valueCard(trace: Trace, blob: string, position: number): HTMLElement {
  const value = trace.values[blob];
  const maker = makerOf(trace, blob);
  const card = element("div", { class: "gv-card gv-value", role: "group", "aria-label": blob });
  if (!value) card.append(notComputed(blob, maker));
  else {
    const head = element("div", {}, element("b", {}, describe(value)), ...origin(maker, position, value));
    card.append(head, picture(blob, value), statistics(value));
  }
  return card;
}

export function describe(value: Value): string {
  return `${shapeText(value.shape)} · ${value.dtype} · ${value.device}`;
}

/** The line that writes a blob version, if one does. */
function makerOf(trace: Trace, blob: string): Line | undefined {
  const writes = (line: Line): boolean => line.kind === "operator" && line.outputs.includes(blob);
  return trace.forward.find(writes) ?? trace.backward.find(writes);
}

function notComputed(blob: string, maker: Line | undefined): HTMLElement {
  const name = element("code", {}, ...version(blob));
  const why: Child[] = maker
    ? [name, ` is written by ${maker.type}, which was not run.`]
    : ["Nothing was fed as ", name, ", and no operator writes it under this name."];
  return element("p", { class: "gv-not-computed" }, element("b", {}, NOT_COMPUTED), element("br"), ...why);
}

function note(text: string): HTMLElement {
  return element("div", { class: "gv-note" }, text);
}

function origin(maker: Line | undefined, position: number, value: Value): HTMLElement[] {
  if (!maker) return [note("fed")];
  if (maker.ran === null) return [];
  const took = value.seconds === undefined ? "" : ` in ${duration(value.seconds)}`;
  const when = maker.ran > position ? `computed later, at event ${maker.ran}` : `computed at event ${maker.ran}`;
  return [note(`${when}, by ${maker.type}${took}`)];
}

function duration(seconds: number): string {
  if (seconds < 1e-3) return `${quantity(seconds * 1e6)} µs`;
  return seconds < 1 ? `${quantity(seconds * 1e3)} ms` : `${quantity(seconds)} s`;
}

/** One number in full size, more as a heat map, none in words. */
export function picture(blob: string, value: Value): HTMLElement {
  const first = value.preview[0]?.[0];
  if (first === undefined) return note(value.size === 0 ? "It has no elements." : "It is not numeric.");
  if (value.size === 1) return element("div", { class: "gv-single" }, quantity(first));
  return element("div", { class: "gv-picture" }, note(extent(value)), heatmap(blob, value), scale());
}

function scale(): HTMLElement {
  return element("div", { class: "gv-scale", "aria-hidden": "true" }, element("span", {}, "below 0"), element("i"), element("span", {}, "above 0"));
}

function statistics(value: Value): HTMLElement {
  const known = (label: string, found: Scalar | null): [string, string, boolean] => [label, found === null ? "none" : quantity(found), false];
  const counted = (label: string, found: number, isBad: boolean): [string, string, boolean] => [label, count(found), isBad && found > 0];
  const rows: [string, string, boolean][] = [
    known("min", value.min), known("max", value.max), known("mean", value.mean), known("mean |·|", value.mean_abs),
    known("norm ‖·‖", value.norm), counted("zeros", value.zero, false), counted("NaN", value.nan, true), counted("infinite", value.inf, true),
  ];
  const table = element("div", { class: "gv-statistics", role: "list" });
  for (const [label, shown, isBad] of rows) {
    const pair = [element("span", { class: "gv-note" }, label), " ", element("span", {}, shown)];
    table.append(element("div", { role: "listitem", class: isBad ? "gv-bad" : false }, ...pair));
  }
  return table;
}
