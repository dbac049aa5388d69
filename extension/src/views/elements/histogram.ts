// A histogram of an array: how many of its elements lie where between its least and its greatest.

import type { Scalar, Value } from "../../model/recording/trace";
import { element } from "./dom";
import { count, counted, quantity } from "./numbers";

const BINS = 20;
/** A histogram of fewer elements says nothing that the picture beside it does not say. */
const WORTHWHILE = 8;

/** The bars and what they stand for; nothing where there is nothing to see. */
export function histogram(value: Value): HTMLElement[] {
  const { min, max } = value;
  const bins = value.histogram ?? binsOf(value);
  if (typeof min !== "number" || typeof max !== "number" || bins.length === 0) return [];
  const most = Math.max(...bins);
  const at = (number: number): number => Math.min(bins.length - 1, Math.floor(((number - min) / (max - min)) * bins.length));
  const zeros = min <= 0 && max >= 0 ? at(0) : -1;
  const bars = element("div", { class: "gv-bars", role: "img", "aria-label": described(bins, min, max, value) });
  bins.forEach((size, bin) => {
    const low = min + (max - min) * (bin / bins.length);
    const bar = element("i", { title: `${quantity(low)} to ${quantity(low + (max - min) / bins.length)}: ${count(size)}` });
    bar.style.height = `${(100 * size) / most}%`;
    if (bin === zeros && value.zero > 0) {
      const part = element("b");
      part.style.height = `${(100 * value.zero) / size}%`;
      bar.append(part);
    }
    bars.append(element("span", bin === zeros ? { class: "gv-zero" } : {}, bar));
  });
  const axis = element("div", { class: "gv-axis", "aria-hidden": "true" }, element("span", {}, quantity(min)), element("span", {}, counts(value)), element("span", {}, quantity(max)));
  return [element("div", { class: "gv-histogram" }, bars, axis)];
}

/** What is no bar, or only part of one. */
function counts({ zero, nan, inf }: Value): string {
  const parts = [zero > 0 ? counted(zero, "zero") : "", nan > 0 ? `${count(nan)} NaN` : "", inf > 0 ? `${count(inf)} infinite` : ""];
  return parts.filter(Boolean).join(", ");
}

function described(bins: number[], min: number, max: number, value: Value): string {
  const peak = bins.indexOf(Math.max(...bins));
  const low = min + (max - min) * (peak / bins.length);
  const rest = counts(value);
  return `histogram from ${quantity(min)} to ${quantity(max)}, most from ${quantity(low)} to ${quantity(low + (max - min) / bins.length)}${rest && `; ${rest}`}`;
}

/** The counts of an array that the preview shows whole. */
function binsOf({ preview, size, min, max }: Value): number[] {
  const numbers = preview.flat();
  if (numbers.length !== size || size < WORTHWHILE || !isSpan(min, max)) return [];
  const bins = new Array<number>(BINS).fill(0);
  for (const one of numbers) {
    if (typeof one !== "number") continue;
    const bin = Math.max(0, Math.min(BINS - 1, Math.floor(((one - (min as number)) / ((max as number) - (min as number))) * BINS)));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return bins;
}

function isSpan(min: Scalar | null, max: Scalar | null): boolean {
  return typeof min === "number" && typeof max === "number" && max > min && Number.isFinite(max - min);
}
