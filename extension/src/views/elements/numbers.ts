// Numbers as people read them: four significant digits, real minus signs, words for what is no number.

import type { Scalar } from "../../model/schema";

export const NOT_COMPUTED = "not computed";

const WORDS = { nan: "NaN", inf: "∞", "-inf": "−∞" } as const;
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** "0.812", "1.3·10⁻⁷", "NaN"; what is null was not computed, and is said so. */
export function quantity(value: Scalar | null, digits = 4): string {
  if (value === null) return NOT_COMPUTED;
  if (typeof value !== "number") return WORDS[value];
  if (Number.isNaN(value)) return WORDS.nan;
  if (!Number.isFinite(value)) return value > 0 ? WORDS.inf : WORDS["-inf"];
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return scientific(value);
  return minus(String(Number(value.toPrecision(digits))));
}

function scientific(value: number): string {
  const [digits = "", exponent = "0"] = value.toExponential(2).split("e");
  const raised = [...exponent.replace("+", "")].map((c) => (c === "-" ? "⁻" : SUPERSCRIPTS[Number(c)])).join("");
  return `${minus(String(Number(digits)))}·10${raised}`;
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
