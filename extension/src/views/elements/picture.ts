// What an array looks like at a glance: its kind in words, and its first elements.

import type { Value } from "../../model/recording/trace";
import { element } from "./dom";
import { extent, heatmap } from "./heatmap";
import { quantity, shapeText } from "./numbers";

export function describe(value: Value): string {
  return `${shapeText(value.shape)} · ${value.dtype} · ${value.device}`;
}

export function note(text: string): HTMLElement {
  return element("div", { class: "gv-note" }, text);
}

/** One number in full size, more as a heat map, none in words. */
export function picture(blob: string, value: Value): HTMLElement {
  const first = value.preview[0]?.[0];
  if (first === undefined) return note(value.size === 0 ? "It has no elements." : "Its elements were left out to keep this recording small.");
  if (value.size === 1) return element("div", { class: "gv-single" }, quantity(first));
  return element("div", { class: "gv-picture" }, note(extent(value)), heatmap(blob, value), scale());
}

function scale(): HTMLElement {
  return element("div", { class: "gv-scale", "aria-hidden": "true" }, element("span", {}, "below 0"), element("i"), element("span", {}, "above 0"));
}
