// What a condition gives in a context: a walk over its nodes, and what it gives as text.

import { bare } from "../../recording/lines";
import type { Field, Node } from "./nodes";

/** Null: not computed; of a truth: unknown. */
export type Result = number | string | boolean | (number | string)[] | null;

export interface Context {
  /** A field of a thing, or where the attribute is empty its name; null: not computed. */
  field(thing: string, attribute: string): Result;
}

/** What a condition gives; it never throws. */
export function evaluate(node: Node, context: Context): Result {
  switch (node.kind) {
    case "number":
    case "text":
      return node.value;
    case "field":
      return context.field(node.thing, node.attribute);
    case "list": {
      const items = node.items.map((item) => evaluate(item, context));
      return items.includes(null) ? null : (items as (number | string)[]);
    }
    case "negative": {
      const value = evaluate(node.of, context);
      return value === null ? null : -Number(value);
    }
    case "arithmetic": {
      const [left, right] = [evaluate(node.left, context), evaluate(node.right, context)];
      return left === null || right === null ? null : arithmetic(node.sign, Number(left), Number(right));
    }
    case "comparison":
      return chain(node.first, node.rest, context);
    case "not": {
      const value = evaluate(node.of, context);
      return value === null ? null : !value;
    }
    case "and":
      return joined(node.parts, context, false);
    case "or":
      return joined(node.parts, context, true);
    case "call":
      return call(node.name, node.argument, context);
  }
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

function chain(first: Node, rest: [string, Node][], context: Context): boolean | null {
  let left = evaluate(first, context);
  let result: boolean | null = true;
  for (const [sign, node] of rest) {
    const right = evaluate(node, context);
    if (left === null || right === null) result = null;
    else if (!compare(sign, left, right)) return false;
    left = right;
  }
  return result;
}

function call(name: string, argument: Node, context: Context): Result {
  if (argument.type === "blob") {
    // isnan and isinf of a blob ask for its elements.
    const count = context.field((argument as Field).thing, name.slice(2));
    return count === null ? null : Number(count) > 0;
  }
  const value = evaluate(argument, context);
  if (value === null) return null;
  if (name === "len") return typeof value === "string" ? [...value].length : Array.isArray(value) ? value.length : null;
  const number = Number(value);
  if (name === "abs") return Math.abs(number);
  if (name === "log10") return Math.log10(number);
  return name === "isnan" ? Number.isNaN(number) : Math.abs(number) === Infinity;
}

function arithmetic(sign: string, a: number, b: number): number {
  if (sign === "+") return a + b;
  if (sign === "-") return a - b;
  if (sign === "*") return a * b;
  const quotient = a / b;
  if (sign === "/") return quotient;
  return Number.isFinite(quotient) ? a - b * Math.floor(quotient) : NaN;
}

function compare(sign: string, a: Result, b: Result): boolean {
  switch (sign) {
    case "<":
      return Number(a) < Number(b);
    case "<=":
      return Number(a) <= Number(b);
    case ">":
      return Number(a) > Number(b);
    case ">=":
      return Number(a) >= Number(b);
    case "==":
      return equal(a, b);
    case "!=":
      return !equal(a, b);
    case "in":
      return within(a, b);
    default:
      return !within(a, b);
  }
}

/** A text "a@1" also equals "a": a name without a version means each. */
function equal(a: Result, b: Result): boolean {
  if (typeof a === "string" && typeof b === "string") return a === b || bare(a) === b || a === bare(b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, index) => equal(one, b[index] ?? null));
  return a === b;
}

function within(a: Result, b: Result): boolean {
  if (Array.isArray(b)) return b.some((item) => equal(a, item));
  return typeof a === "string" && typeof b === "string" && b.includes(a);
}

export const NOT_COMPUTED = "not computed";

/** A result as a person reads it, the same in every language: "12.5", "1.2e-7", "not computed". */
export function shown(value: Result): string {
  if (value === null) return NOT_COMPUTED;
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
