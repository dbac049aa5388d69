// An array in a few characters: a number, a tiny array in full, else its shape and its norm.

import { elementsOf } from "../../model/recording/elements";
import type { Value } from "../../model/recording/trace";
import { NOT_COMPUTED, quantity } from "./numbers";

/** Significant digits where there is little room. */
export const DIGITS = 3;

export const NOT_YET = `${NOT_COMPUTED} yet`;
/** The same where there is little room. */
export const NOT_YET_IN_SHORT = "not yet";

export function glance(value: Value): string {
  const elements = elementsOf(value);
  if (!elements) return [value.shape.join("×"), size(value)].join(" ");
  const shown = elements.map((element) => quantity(element, DIGITS));
  return value.size === 1 ? (shown[0] ?? "") : `[${shown.join(", ")}]`;
}

function size(value: Value): string {
  if (value.nan > 0) return `${value.nan} NaN`;
  if (value.inf > 0) return `${value.inf} infinite`;
  return value.norm === null || !value.dtype.startsWith("float") ? value.dtype : `‖·‖ ${quantity(value.norm, DIGITS)}`;
}
