// Arrays that are small enough to be told in full.

import type { Scalar, Value } from "./trace";

/** Arrays with more elements are told by their shape and norm. */
const TINY = 4;

/** All elements of a tiny array; null where it is larger, or they were left out. */
export function elementsOf(value: Value): Scalar[] | null {
  const elements = value.preview.flat();
  return value.size > 0 && value.size <= TINY && elements.length === value.size ? elements : null;
}

/** The same as numbers; null where one is none, or a complex one, of which the absolute value alone is known. */
export function numbersOf(value: Value | null | undefined): number[] | null {
  const elements = value && value.stack === undefined && !value.dtype.startsWith("complex") ? elementsOf(value) : null;
  return elements?.every((one) => typeof one === "number") ? (elements as number[]) : null;
}
