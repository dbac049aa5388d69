// Watches: what an expression about blobs is at a position, and what it was at every event that changed it.

import { memoizedByText } from "../recording/memoized";
import type { Trace, Value } from "../schema";
import { evaluate, shown, type Context, type Result } from "./conditions/evaluate";
import { isBlob, mentioned, type Node } from "./conditions/nodes";
import { ConditionError } from "./conditions/tokens";
import { parseWatch } from "./occurrences";
import { blobField, latest, writingsOf, WORDS, type Writings } from "./writings";

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
    return watching(writingsOf(trace), parseWatch(trace, on));
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return { problem: error, at: () => null, text: () => error.message, history: [] };
  }
}

function watching(writings: Writings, node: Node): Watched {
  const blob = node.kind === "field" && node.type === "blob" ? node.thing.slice(1) : null;
  const at = (position: number): Result => {
    if (blob === null) return evaluate(node, blobsAt(writings, position));
    const found = latest(writings, blob, position);
    return found ? numberOf(found[1]) : null;
  };
  const text = (position: number): string => {
    const value = shown(at(position));
    const found = blob === null ? undefined : latest(writings, blob, position);
    if (!found) return value;
    const [version, { dtype, shape, size }] = found;
    return `${value} (${version}, ${[dtype, shape.join("×")].filter(Boolean).join(" ")}${size === 1 ? "" : ", norm"})`;
  };
  return { problem: null, at, text, history: historyOf(writings, node, at) };
}

function historyOf(writings: Writings, node: Node, at: (position: number) => Result): Watched["history"] {
  const names = mentioned(node).map(({ thing }) => thing.slice(1));
  const positions = new Set(names.flatMap((name) => writings.computed.get(name)?.positions ?? []));
  const history: Watched["history"] = [];
  for (const position of [...positions].sort((a, b) => a - b)) {
    const value = at(position);
    if (value !== null && !isSame(value, history[history.length - 1]?.value)) history.push({ position, value });
  }
  return history;
}

function isSame(a: Result, b: Result | undefined): boolean {
  return Array.isArray(a) && Array.isArray(b) ? a.length === b.length && a.every((one, index) => one === b[index]) : a === b;
}

/** Where a watch looks: at blobs alone. */
function blobsAt(writings: Writings, position: number): Context {
  return {
    field(thing, attribute) {
      const found = isBlob(thing) ? latest(writings, thing.slice(1), position) : undefined;
      return found ? blobField(found[0], found[1], attribute) : null;
    },
  };
}

/** A single number by itself, else the norm. */
function numberOf(value: Value): Result {
  // The preview is rounded, but alone says which of NaN and the infinities it is.
  const one = value.size === 1 ? (value.max ?? value.preview[0]?.[0] ?? null) : value.norm;
  return typeof one === "string" ? (WORDS[one] ?? null) : one;
}
