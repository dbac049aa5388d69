// Watches: what an expression about blobs is at a position, and what it was at every event that changed it.

import { memoizedByText } from "../recording/memoized";
import type { Trace, Value } from "../schema";
import { evaluate, shown, type Result } from "./conditions/evaluate";
import { blobOf, ConditionError, mentioned, type Node } from "./conditions/parser";
import { parseWatch } from "./occurrences";
import { computedAt, latest, namedField, rowsOf, WORDS, type Rows } from "./rows";

export interface Watched {
  /** Why it shows nothing; null where it does. */
  problem: ConditionError | null;
  /** What it is at a position; null: not computed by then. */
  at(position: number): Result;
  /** The same as a person reads it; of a blob its shape and dtype too. */
  text(position: number): string;
  /** Each position at which a blob in it got another value, and what it was from there on; fed ones are at 0. */
  history: { position: number; value: Result }[];
}

/** What a watch shows. */
export const watched = memoizedByText(read);

function read(trace: Trace, on: string): Watched {
  try {
    return watching(rowsOf(trace), parseWatch(trace, on));
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return { problem: error, at: () => null, text: () => error.message, history: [] };
  }
}

function watching(rows: Rows, node: Node): Watched {
  const blob = node.kind === "field" && node.type === "blob" ? (blobOf(node.thing) ?? "") : null;
  const at = (position: number): Result => {
    if (blob === null) return evaluate(node, { field: (thing, attribute) => namedField(rows, thing.slice(1), position, attribute) });
    const found = latest(rows, blob, position);
    return found ? numberOf(found.value) : null;
  };
  const text = (position: number): string => {
    const value = shown(at(position));
    const found = blob === null ? undefined : latest(rows, blob, position);
    if (!found) return value;
    const { dtype, shape, size } = found.value;
    return `${value} (${found.blob}, ${[dtype, shape.join("×")].filter(Boolean).join(" ")}${size === 1 ? "" : ", norm"})`;
  };
  const history: Watched["history"] = [];
  for (const position of computedAt(rows, mentioned(node).map(({ thing }) => thing.slice(1)))) {
    const value = at(position);
    if (value !== null && !isSame(value, history[history.length - 1]?.value)) history.push({ position, value });
  }
  return { problem: null, at, text, history };
}

function isSame(a: Result, b: Result | undefined): boolean {
  return Array.isArray(a) && Array.isArray(b) ? a.length === b.length && a.every((one, index) => one === b[index]) : a === b;
}

/** A single number by itself, else the norm. */
function numberOf(value: Value): Result {
  // The preview is rounded, but alone says which of NaN and the infinities it is.
  const one = value.size === 1 ? (value.max ?? value.preview[0]?.[0] ?? null) : value.norm;
  return typeof one === "string" ? (WORDS[one] ?? null) : one;
}
