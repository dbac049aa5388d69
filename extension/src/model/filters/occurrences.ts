// What a text names, and where in a recording it happens: what "run to" and breakpoints look for. A text is a target of
// "run to", one of the phrases below, a condition, or a target or phrase with a condition behind "if".

import { behind, memoizedByText } from "../recording/lookup";
import { occursAt } from "../recording/cursor";
import { KINDS, type Trace } from "../schema";
import { blobOf, ConditionError, evaluate, mentioned, nameOf, parse, shown, truth, type Field, type Node } from "./conditions/conditions";
import { PHRASES } from "./conditions/language.gen";
import { computedAt, rowContext, rowsOf, type Row, type Rows } from "./rows";

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
  const node = checked(trace, text, parse(text, around && head ? head[0].length : 0));
  return happening(trace, truth(text, node), around?.positions ?? null);
}

/** The occurrences of a target or a phrase; null: it is neither. */
function named(trace: Trace, word: string): Occurrences | null {
  const targets = (positions: number[]): Occurrences => ({ condition: null, positions, rows: new Map() });
  if (/^[^:]+@[0-9]+$/.test(word)) {
    const written = trace.events.flatMap(({ row }, index) => (row.writes.includes(word) ? [index + 1] : []));
    if (written.length > 0) return targets(written);
  }
  const positions = occursAt(trace, word);
  if (positions.length > 0 || (KINDS as readonly string[]).includes(word)) return targets(positions);
  return Object.hasOwn(PHRASES, word) ? happening(trace, parse(PHRASES[word] ?? ""), null) : null;
}

/** What a watch shows: about blobs alone, so every word that names a blob of the recording is that blob. */
export function parseWatch(trace: Trace, text: string): Node {
  const { names } = rowsOf(trace);
  const node = checked(trace, text, parse(text, 0, (name) => names.has(name)));
  const wrong = mentioned(node).find(({ thing }) => blobOf(thing) === null);
  if (wrong) throw new ConditionError(text, wrong.at, `a watch is about blobs, and ${nameOf(wrong)} is about an event`);
  return node;
}

function checked(trace: Trace, text: string, node: Node): Node {
  const { names } = rowsOf(trace);
  const unknown = mentioned(node).find(({ thing }) => !names.has(blobOf(thing) ?? thing) && blobOf(thing) !== null);
  if (unknown) throw new ConditionError(text, unknown.at, `the recording has nothing that is called “${blobOf(unknown.thing)}”`);
  return node;
}

function happening(trace: Trace, condition: Node, positions: number[] | null): Occurrences {
  const all = rowsOf(trace);
  const rows = new Map<number, Row>();
  const among = positions ?? askedIn(all, condition);
  const look = (row: Row): void => {
    if (!rows.has(row.position) && evaluate(condition, rowContext(all, row)) === true) rows.set(row.position, row);
  };
  if (among === null) all.rows.forEach(look);
  else for (const position of among) all.rows.slice(all.first[position], all.first[position + 1]).forEach(look);
  return { condition, positions: [...rows.keys()], rows };
}

/** Where a condition names blobs, and not x, it is about the positions at which they are computed; null: about all. */
function askedIn(rows: Rows, condition: Node): number[] | null {
  const things = mentioned(condition).map(({ thing }) => thing);
  const names = things.map(blobOf).filter((blob) => blob !== null);
  if (names.length === 0 || things.some((thing) => ["x", "g", "inputs"].includes(thing))) return null;
  return computedAt(rows, names).filter((position) => position > 0);
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
  const { field } = rowContext(rowsOf(trace), row);
  const tell = ({ thing, attribute }: Field): string => {
    const name = thing === "inputs" ? thing : shown(field(thing, ""));
    return attribute === "" ? name : `${attribute} of ${name} = ${shown(field(thing, attribute))}`;
  };
  return [...new Map(mentioned(condition).map((one) => [nameOf(one) + one.thing, one])).values()].map(tell).join(", ");
}

/** What a condition asks about and nothing in the recording has. */
export function neverComputed(trace: Trace, { condition }: Occurrences): string[] {
  if (!condition) return [];
  const all = rowsOf(trace);
  const computed = all.rows.filter(({ value }) => value);
  const isMissing = ({ thing, attribute }: Field): boolean => {
    const blob = blobOf(thing);
    if (blob !== null) return !all.computed.has(blob);
    if (["event", "op"].includes(thing) || ["", "name", "version"].includes(attribute)) return false;
    return !computed.some((row) => thing !== "x" || rowContext(all, row).field(thing, attribute) !== null);
  };
  return [...new Set(mentioned(condition).filter(isMissing).map(nameOf))];
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
