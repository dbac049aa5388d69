// What a condition gives in a context: a walk over its nodes, and what it gives as text.

import { bare } from "../../recording/lines";
import type { Node } from "./parser";

/** Null: not computed; of a truth: unknown. */
export type Result = number | string | boolean | (number | string)[] | null;

export interface Context {
  /** A field of a thing, or where the attribute is empty its name; null: not computed. */
  field(thing: string, attribute: string): Result;
}

/** What a condition gives; it never throws. */
export function evaluate(node: Node, context: Context): Result {
  if (node.kind === "constant") return node.value;
  if (node.kind === "field") return context.field(node.thing, node.attribute);
  const { sign, parts } = node;
  if (sign === "and" || sign === "or") return joined(parts, context, sign === "or");
  const [first] = parts;
  if (first?.kind === "field" && first.type === "blob" && sign.startsWith("is")) {
    // isnan and isinf of a blob ask for its elements.
    const count = context.field(first.thing, sign.slice(2));
    return count === null ? null : Number(count) > 0;
  }
  const values = parts.map((part) => evaluate(part, context));
  return values.includes(null) ? null : (OPERATIONS[sign]?.(...values) ?? null);
}

/** `decides` where one part gives that; else unknown where one is; else the opposite. */
function joined(parts: Node[], context: Context, decides: boolean): boolean | null {
  let result: boolean | null = !decides;
  for (const part of parts) {
    const value = evaluate(part, context);
    if (value === null) result = null;
    else if (value === decides) return decides;
  }
  return result;
}

type Operation = (...values: Result[]) => Result;

const numeric = (of: (...numbers: number[]) => number | boolean): Operation => (...values) => of(...(values as number[]));

const OPERATIONS: Record<string, Operation> = {
  not: (value) => !value,
  negative: numeric((a) => -a),
  "+": numeric((a, b) => a + b),
  "-": numeric((a, b) => a - b),
  "*": numeric((a, b) => a * b),
  "/": numeric((a, b) => a / b),
  "%": numeric((a, b) => (Number.isFinite(a / b) ? a - b * Math.floor(a / b) : NaN)),
  "<": numeric((a, b) => a < b),
  "<=": numeric((a, b) => a <= b),
  ">": numeric((a, b) => a > b),
  ">=": numeric((a, b) => a >= b),
  "==": (a, b) => equal(a, b),
  "!=": (a, b) => !equal(a, b),
  in: (a, b) => within(a, b),
  "not in": (a, b) => !within(a, b),
  abs: numeric(Math.abs),
  log10: numeric(Math.log10),
  len: (value) => (typeof value === "string" ? [...value] : (value as unknown[])).length,
  isnan: numeric(Number.isNaN),
  isinf: numeric((a) => Math.abs(a) === Infinity),
  "[": (...items) => items as (number | string)[],
};

/** A text "a@1" also equals "a": a name without a version means each. */
function equal(a: Result | undefined, b: Result | undefined): boolean {
  if (typeof a === "string" && typeof b === "string") return a === b || bare(a) === b || a === bare(b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, index) => equal(one, b[index]));
  return a === b;
}

function within(a: Result | undefined, b: Result | undefined): boolean {
  if (Array.isArray(b)) return b.some((item) => equal(a, item));
  return typeof a === "string" && typeof b === "string" && b.includes(a);
}

/** A result as a person reads it, the same in every language: "12.5", "1.2e-7", "not computed". */
export function shown(value: Result): string {
  if (value === null) return "not computed";
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return typeof value === "number" ? number(value) : String(value);
}

function number(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value === 0 ? 0 : value);
  const [mantissa, exponent] = value.toExponential(3).split("e").map(Number) as [number, number];
  if (exponent >= 6 || exponent < -5) return `${mantissa}e${exponent}`;
  return exponent >= 0 ? String(Number(`${mantissa}e${exponent}`)) : Number(`${mantissa}e${exponent}`).toFixed(3 - exponent).replace(/\.?0+$/, "");
}
