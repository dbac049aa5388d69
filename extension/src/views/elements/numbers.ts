// How numbers and arrays are shown: in a few characters, in words, as a heat map, as a histogram.

import { normOf } from "../../model/filters/code";
import { elementsOf, isLeftOut } from "../../model/recording/values";
import type { Scalar, Value } from "../../model/schema";
import { element } from "./dom";

export const NOT_COMPUTED = "not computed";

const WORDS = { nan: "NaN", inf: "∞", "-inf": "−∞" } as const;
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** "0.812", "50257", "1.3·10⁻⁷", "NaN"; what is null was not computed, and is said so. */
export function quantity(value: Scalar | null, digits = 4): string {
  if (value === null) return NOT_COMPUTED;
  if (typeof value !== "number") return WORDS[value];
  if (Number.isNaN(value)) return WORDS.nan;
  if (!Number.isFinite(value)) return value > 0 ? WORDS.inf : WORDS["-inf"];
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return scientific(value);
  // A whole number can be an index or a label, of which each digit counts.
  return minus(String(Number.isInteger(value) ? value : Number(value.toPrecision(digits))));
}

function scientific(value: number): string {
  const [digits = "", exponent = "0"] = value.toExponential(2).split("e");
  const raised = [...exponent.replace("+", "")].map((c) => (c === "-" ? "⁻" : SUPERSCRIPTS[Number(c)])).join("");
  return `${minus(String(Number(digits)))}·10${raised}`;
}

/** An element of an array: of integers every digit, however many. */
export function elementText(of: Value, one: Scalar | null, digits?: number): string {
  return /^u?int/.test(of.dtype) && Number.isSafeInteger(one) ? minus(String(one)) : quantity(one, digits);
}

/** The norm of what was computed, or which of NaN and the infinities is in it; in words where it has none. */
export function normText(value: Value, digits = 4): string {
  const norm = normOf(value);
  if (norm !== null) return quantity(norm, digits);
  return value.size === 0 ? "empty" : isLeftOut(value) ? "left out" : "–";
}

/** A share of a whole as "31 %". */
export function percent(value: Scalar | null): string {
  if (typeof value !== "number") return quantity(value);
  const hundredth = value * 100;
  const digits = Math.abs(hundredth) > 0 && Math.abs(hundredth) < 1 ? 1 : 0;
  return `${minus(hundredth.toFixed(digits))} %`;
}

/** A count with thin spaces between thousands. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** "3 operators", "1 operator". */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** "64 × 32", and "scalar" for no axes. */
export function shapeText(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : shape.map(count).join(" × ");
}

function minus(text: string): string {
  return text.replace(/^-/, "−");
}

/** Significant digits where there is little room. */
export const DIGITS = 3;

export const NOT_YET = `${NOT_COMPUTED} yet`;
/** The same where there is little room. */
export const NOT_YET_IN_SHORT = "not yet";

/** A number, a tiny array in full, else its shape and its norm. */
export function glance(value: Value): string {
  const elements = elementsOf(value);
  if (!elements) return [value.shape.join("×"), sizeInWords(value)].filter(Boolean).join(" ");
  const shown = elements.map((one) => elementText(value, one, DIGITS));
  return value.size === 1 ? (shown[0] ?? "") : `[${shown.join(", ")}]`;
}

function sizeInWords(value: Value): string {
  if (value.nan > 0) return `${value.nan} NaN`;
  if (value.inf > 0) return `${value.inf} infinite`;
  return value.norm === null || !value.dtype.startsWith("float") ? value.dtype : `‖·‖ ${quantity(value.norm, DIGITS)}`;
}

/** Its kind in words. */
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
  if (value.size === 1) return element("div", { class: "gv-single" }, elementText(value, first));
  return element("div", { class: "gv-picture" }, note(extent(value)), heatmap(blob, value), scale());
}

function scale(): HTMLElement {
  return element("div", { class: "gv-scale", "aria-hidden": "true" }, element("span", {}, "below 0"), element("i"), element("span", {}, "above 0"));
}

/** Of a heat map. */
const ROWS = 6;
const COLUMNS = 16;
/** Fewer columns than this would make the cells large for what they tell. */
const NARROWEST = 8;
const LARGEST_CELL = 26;

/** The corner of an array: orange above zero, blue below, hatched where there is no number. */
function heatmap(name: string, value: Value): HTMLElement {
  const rows = value.preview.slice(0, ROWS).map((row) => row.slice(0, COLUMNS));
  const finite = rows.flat().filter((one): one is number => typeof one === "number" && Number.isFinite(one));
  const largest = finite.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const columns = Math.max(NARROWEST, ...rows.map((row) => row.length));
  const map = element("div", { class: "gv-heat", role: "img", "aria-label": `heat map of ${name}, ${extent(value)}` });
  map.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  map.style.maxWidth = `${columns * LARGEST_CELL}px`;
  rows.forEach((row, i) => {
    for (let j = 0; j < columns; j++) {
      const cell = row[j];
      map.append(cell === undefined ? element("i", { class: "gv-gap" }) : heatCell(cell, largest, `[${i}, ${j}] ${elementText(value, cell)}`));
    }
  });
  return map;
}

function heatCell(cell: Value["preview"][number][number], largest: number, title: string): HTMLElement {
  const finite = typeof cell === "number" && Number.isFinite(cell);
  const field = element("i", { class: finite ? (cell < 0 ? "gv-below" : "gv-above") : "gv-no-number", title });
  if (finite && largest > 0) field.style.setProperty("--gv-strength", `${Math.round(100 * (Math.abs(cell) / largest))}%`);
  return field;
}

/** "first 6 of 64 rows, 16 of 32 columns"; "all 3 rows" where it is whole. */
function extent(value: Value): string {
  const shownRows = Math.min(value.preview.length, ROWS);
  const shownColumns = Math.min(value.preview[0]?.length ?? 0, COLUMNS);
  const part = (shown: number, all: number, noun: string): string => (shown < all ? `${shown} of ` : "") + counted(all, noun);
  const cut = shownRows < value.rows || shownColumns < value.columns;
  return `${cut ? "first " : ""}${part(shownRows, value.rows, "row")}, ${part(shownColumns, value.columns, "column")}`;
}

const BINS = 20;
const ENLARGED = 2 ** 512;
/** A histogram of fewer elements says nothing that the picture beside it does not say. */
const WORTHWHILE = 8;

/** How many elements lie where between the least and the greatest: bars and what they stand for; nothing where there is nothing to see. */
export function histogram(value: Value): HTMLElement[] {
  const { min, max } = value;
  if (typeof min !== "number" || typeof max !== "number") return [];
  const bins = value.histogram.length > 0 ? value.histogram : binsOf(value, min, max);
  if (bins.length === 0) return [];
  const most = Math.max(...bins);
  const zeros = min <= 0 && max >= 0 ? binOf(0, min, max, bins.length) : -1;
  const range = (bin: number): string => {
    const low = min + (max - min) * (bin / bins.length);
    return `${quantity(low)} to ${quantity(low + (max - min) / bins.length)}`;
  };
  const rest = counts(value);
  const words = `histogram from ${quantity(min)} to ${quantity(max)}, most from ${range(bins.indexOf(most))}${rest && `; ${rest}`}`;
  const bars = element("div", { class: "gv-bars", role: "img", "aria-label": words });
  bins.forEach((size, bin) => {
    const bar = element("i", { title: `${range(bin)}: ${count(size)}` });
    bar.style.height = `${(100 * size) / most}%`;
    if (bin === zeros && value.zero > 0) {
      const part = element("b");
      part.style.height = `${(100 * value.zero) / size}%`;
      bar.append(part);
    }
    bars.append(element("span", { class: bin === zeros && "gv-zero" }, bar));
  });
  const axis = element("div", { class: "gv-axis", "aria-hidden": "true" }, element("span", {}, quantity(min)), element("span", {}, rest), element("span", {}, quantity(max)));
  return [element("div", { class: "gv-histogram" }, bars, axis)];
}

/** What is no bar, or only part of one. */
function counts({ zero, nan, inf }: Value): string {
  const parts = [zero > 0 ? counted(zero, "zero") : "", nan > 0 ? `${count(nan)} NaN` : "", inf > 0 ? `${count(inf)} infinite` : ""];
  return parts.filter(Boolean).join(", ");
}

/** Of so many bins the one of a number, by the sums of Python's `histograms`, to the last bit: on an edge another order gives another bin. */
export function binOf(number: number, min: number, max: number, bins: number): number {
  // A power of two, which is exact: the inverse of a subnormal span is infinite.
  const larger = max - min < 1 / ENLARGED ? ENLARGED : 1;
  const place = (number - min) * larger * (bins / ((max - min) * larger));
  return Math.max(0, Math.min(bins - 1, Math.floor(place)));
}

/** The counts of an array that the preview shows whole, where its elements differ. */
function binsOf({ preview, size }: Value, min: number, max: number): number[] {
  const numbers = preview.flat();
  if (numbers.length !== size || size < WORTHWHILE || max <= min || !Number.isFinite(max - min)) return [];
  const bins = new Array<number>(BINS).fill(0);
  for (const one of numbers) {
    if (typeof one !== "number") continue;
    const bin = binOf(one, min, max, BINS);
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return bins;
}
