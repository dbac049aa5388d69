// What a text names, and where in a recording it happens: what "run to" and breakpoints look for. A text is a target of
// "run to", one of the phrases below, a condition, or a target or phrase with a condition behind "if".

import { behind } from "../recording/lists";
import { memoizedByText } from "../recording/memoized";
import { occursAt } from "../recording/places";
import { KINDS, type Trace } from "../schema";
import { evaluate, shown } from "./conditions/evaluate";
import { isBlob, mentioned, type Node } from "./conditions/nodes";
import { parse, truth } from "./conditions/parser";
import { ConditionError } from "./conditions/tokens";
import { rowContext, writingsOf, type Row, type Writings } from "./writings";

/** What stands for a condition. */
export const PHRASES = new Map<string, string>([
  ["accumulation", "n > 1"],
  ["sparse meets dense", "sparse > 0 and dense > 0"],
  ["device change", "devices > 1"],
  ["NaN", "nan > 0"],
  ["NaN appears", "nan > 0 and inputs.nan == 0"],
  ["Inf", "inf > 0"],
  ["Inf appears", "inf > 0 and inputs.inf == 0"],
  ["subnormal", "subnormal > 0"],
  ["subnormal appears", "subnormal > 0 and inputs.subnormal == 0"],
]);

export interface Occurrences {
  /** Null where a target alone is meant. */
  condition: Node | null;
  positions: number[];
  /** Of each position the first row for which the condition holds. */
  rows: Map<number, Row>;
}

/** Where what a text names happens. Throws a ConditionError where it names nothing. */
export const occurrencesOf = memoizedByText(read);

function read(trace: Trace, text: string): Occurrences {
  const target = named(trace, text.trim().replace(/^next\s+/, ""));
  if (target) return target;
  const head = /^(.*?)\s+if\s/s.exec(text);
  const around = head ? named(trace, (head[1] ?? "").trim()) : null;
  return happening(trace, parseCondition(trace, text, around && head ? head[0].length : 0), around?.positions ?? null);
}

/** The occurrences of a target or a phrase; null: it is neither. */
function named(trace: Trace, word: string): Occurrences | null {
  const writings = writingsOf(trace);
  if (/^[^:]+@[0-9]+$/.test(word)) {
    const positions = new Set(writings.rows.filter((row) => row.isWritten && row.blob === word).map((row) => row.position));
    if (positions.size > 0) return { condition: null, positions: [...positions], rows: new Map() };
  }
  const positions = occursAt(trace, word);
  if (positions.length > 0 || (KINDS as readonly string[]).includes(word)) return { condition: null, positions, rows: new Map() };
  const phrase = PHRASES.get(word);
  return phrase === undefined ? null : happening(trace, parse(phrase), null);
}

function parseCondition(trace: Trace, text: string, start: number): Node {
  return truth(text, checked(trace, text, parse(text, start)));
}

/** What a watch shows: about blobs alone, so every word that names a blob of the recording is that blob. */
export function parseWatch(trace: Trace, text: string): Node {
  const { blobs } = writingsOf(trace);
  const node = checked(trace, text, parse(text, 0, (name) => blobs.has(name)));
  const wrong = mentioned(node).find(({ thing }) => !isBlob(thing));
  if (wrong) throw new ConditionError(text, wrong.at, `a watch is about blobs, and ${nameOf(wrong.thing, wrong.attribute)} is about an event`);
  return node;
}

function checked(trace: Trace, text: string, node: Node): Node {
  const { blobs } = writingsOf(trace);
  const unknown = mentioned(node).find(({ thing }) => isBlob(thing) && !blobs.has(thing.slice(1)));
  if (unknown) throw new ConditionError(text, unknown.at, `the recording has nothing that is called “${unknown.thing.slice(1)}”`);
  return node;
}

function happening(trace: Trace, condition: Node, positions: number[] | null): Occurrences {
  const writings = writingsOf(trace);
  const rows = new Map<number, Row>();
  const among = positions ?? askedIn(writings, condition);
  const look = (row: Row): void => {
    if (!rows.has(row.position) && evaluate(condition, rowContext(writings, row)) === true) rows.set(row.position, row);
  };
  if (among === null) writings.rows.forEach(look);
  else for (const position of among) writings.rows.slice(writings.first[position], writings.first[position + 1]).forEach(look);
  return { condition, positions: [...rows.keys()], rows };
}

/** Where a condition names blobs, and not x, it is about the positions at which they are computed; null: about all. */
function askedIn(writings: Writings, condition: Node): number[] | null {
  const fields = mentioned(condition);
  const names = fields.filter(({ thing }) => isBlob(thing)).map(({ thing }) => thing.slice(1));
  if (names.length === 0 || fields.some(({ thing }) => ["x", "g", "inputs"].includes(thing))) return null;
  const positions = new Set(names.flatMap((name) => writings.computed.get(name)?.positions ?? []));
  return [...positions].filter((position) => position > 0).sort((a, b) => a - b);
}

/** The first position behind `position`, null if there is none. */
export function after(positions: readonly number[], position: number): number | null {
  return positions[behind(positions, position)] ?? null;
}

/** The last position before `position`, null if there is none. */
export function before(positions: readonly number[], position: number): number | null {
  return positions[behind(positions, position - 1) - 1] ?? null;
}

/** What a condition asks about, as it is where it happens: "norm of h_grad@0 = 12.5". */
export function told(trace: Trace, { condition, rows }: Occurrences, position: number): string {
  const row = rows.get(position);
  if (!condition || !row) return "";
  const context = rowContext(writingsOf(trace), row);
  const fields = new Map(mentioned(condition).map(({ thing, attribute }) => [`${thing}.${attribute}`, { thing, attribute }]));
  const tell = ({ thing, attribute }: { thing: string; attribute: string }): string => {
    const name = thing === "inputs" ? thing : shown(context.field(thing, ""));
    return attribute === "" ? name : `${attribute} of ${name} = ${shown(context.field(thing, attribute))}`;
  };
  return [...fields.values()].map(tell).join(", ");
}

/** What a condition asks about and nothing in the recording has. */
export function neverComputed(trace: Trace, { condition }: Occurrences): string[] {
  if (!condition) return [];
  const { rows, computed } = writingsOf(trace);
  const values = rows.map((row) => row.value).filter((value) => value !== undefined);
  const isThere = (thing: string, attribute: string): boolean => {
    if (isBlob(thing)) return computed.has(thing.slice(1));
    return thing === "x" ? values.some((value) => (value as object as Record<string, unknown>)[attribute] != null) : values.length > 0;
  };
  const asked = mentioned(condition).filter(({ thing, attribute }) => {
    if (thing === "event" || thing === "op") return false;
    return isBlob(thing) || !["", "name", "version"].includes(attribute);
  });
  return [...new Set(asked.filter(({ thing, attribute }) => !isThere(thing, attribute)).map(({ thing, attribute }) => nameOf(thing, attribute)))];
}

/** A field as one writes it. */
function nameOf(thing: string, attribute: string): string {
  const name = isBlob(thing) ? thing.slice(1) : thing;
  return attribute === "" ? name : `${name}.${attribute}`;
}

/** The next position that a target of "run to" names, or the last one before; null: there is none, or it says nothing. */
export function runTo(trace: Trace, position: number, target: string, isBack = false): number | null {
  const move = isBack ? before : after;
  const found = move(occursAt(trace, target), position);
  if (found !== null) return found;
  try {
    return move(occurrencesOf(trace, target).positions, position);
  } catch (error) {
    if (error instanceof ConditionError) return null;
    throw error;
  }
}
