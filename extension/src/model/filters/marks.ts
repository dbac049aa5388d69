// What a person marks in a recording, and what a line of the program has to do with that: breakpoints, where it is to stop or
// to leave a message, in both directions of time, and watches, which show what an expression about blobs is and was.
//
// A recording does not change, so the hits of a breakpoint are a list of positions. The first `ignore` occurrences do not
// count; of the others each `every`-th is a hit.

import { beginOf, endOf, lengthOf, memoizedByText } from "../recording/lookup";
import { KINDS, type BreakpointEntry, type Line, type Marks, type Trace, type Value } from "../schema";
import { blobOf, ConditionError, evaluate, mentioned, type Node, type Result } from "./conditions/conditions";
import { after, askedAt, asText, before, computedAt, findIn, latest, leftOutOf, namedField, neverComputed, occurrencesOf, parseIn, parseWatch, rowsAt, rowsOf, withNamesChecked, WORDS, type Occurrences, type Rows } from "./occurrences";

/** What a text of a breakpoint means, or why it means nothing. */
type Meaning = { occurrences: Occurrences; message: (string | Node)[] | null; problem: null } | { problem: ConditionError };

/** What the texts of a breakpoint mean in a recording. */
export function meaningOf(trace: Trace, { on, log }: Pick<BreakpointEntry, "on" | "log">): Meaning {
  try {
    return { occurrences: occurrencesOf(trace, on), message: log === null ? null : messageParts(trace, log), problem: null };
  } catch (error) {
    if (error instanceof ConditionError) return { problem: error };
    throw error;
  }
}

/** Every position at which a breakpoint stops, or logs, while it is enabled. */
export function hitsOf(trace: Trace, entry: BreakpointEntry): readonly number[] {
  const meaning = meaningOf(trace, entry);
  if (meaning.problem) return [];
  const { positions } = meaning.occurrences;
  if (entry.ignore === 0 && entry.every === 1) return positions;
  if (trace.part) return []; // how many came before it is not known here
  return positions.slice(entry.ignore).filter((_, index) => (index + 1) % entry.every === 0);
}

const stops = ({ enabled, log }: BreakpointEntry): boolean => enabled && log === null;

/** The next position at which one of the breakpoints stops, else the end. */
export function continueFrom(trace: Trace, entries: readonly BreakpointEntry[], position: number): number {
  const positions = entries.filter(stops).map((entry) => after(hitsOf(trace, entry), position));
  return Math.min(endOf(trace), ...positions.filter((one) => one !== null));
}

/** The last position before this one at which a breakpoint stops, else the start. */
export function reverseContinueFrom(trace: Trace, entries: readonly BreakpointEntry[], position: number): number {
  const positions = entries.filter(stops).map((entry) => before(hitsOf(trace, entry), position));
  return Math.max(beginOf(trace), ...positions.filter((one) => one !== null));
}

/** The first breakpoint that stops at a position, and what its condition asks about; null: none does. */
export function stopAt(trace: Trace, entries: readonly BreakpointEntry[], position: number): { entry: BreakpointEntry; value: string } | null {
  const entry = entries.find((one) => stops(one) && after(hitsOf(trace, one), position - 1) === position);
  return entry ? { entry, value: askedAt(trace, occurrencesOf(trace, entry.on), position) } : null;
}

/** What log points have said by a position, in the order of events. */
export function logBy(trace: Trace, entries: readonly BreakpointEntry[], position: number): { position: number; message: string }[] {
  const messages = entries.flatMap((entry) => {
    const meaning = meaningOf(trace, entry);
    if (!entry.enabled || meaning.problem || meaning.message === null) return [];
    const { message, occurrences } = meaning;
    const by = hitsOf(trace, entry).filter((hit) => hit <= position);
    return by.map((hit) => ({ position: hit, message: messageAt(trace, message, occurrences, hit) }));
  });
  return messages.sort((a, b) => a.position - b.position);
}

function messageAt(trace: Trace, message: (string | Node)[], { rows }: Occurrences, position: number): string {
  const all = rowsOf(trace);
  const row = rows.get(position) ?? rowsAt(all, position)[0];
  if (!row) return "";
  const find = findIn(all, row);
  return message.map((part) => (typeof part === "string" ? part : asText(all, part, row, evaluate(part, find)))).join("");
}

/** The text of a message between the expressions that stand between braces, and these; a brace itself is written twice. */
function messageParts(trace: Trace, text: string): (string | Node)[] {
  return [...text.matchAll(/\{\{|\}\}|\{[^}]*\}?|\}|[^{}]+/g)].map(({ 0: part, index: at }) => {
    if (part === "{{" || part === "}}") return part.charAt(0);
    if (part === "}") throw new ConditionError(text, at, "this brace closes nothing");
    if (!part.startsWith("{")) return part;
    if (!part.endsWith("}")) throw new ConditionError(text, at, "this brace is never closed");
    return withNamesChecked(trace, text, parseIn(trace, text.slice(0, at + part.length - 1), at + 1));
  });
}

/** What a breakpoint does beside stopping where its text says, in words; empty where there is nothing to say. `last`: what comes behind it is not said. */
export function remarks(trace: Trace, entry: BreakpointEntry, last = Infinity): string {
  const meaning = meaningOf(trace, entry);
  if (meaning.problem) return meaning.problem.message;
  const missing = last < lengthOf(trace) || trace.part ? [] : neverComputed(trace, meaning.occurrences);
  return [
    entry.log === null ? "" : `logs “${entry.log}”`,
    entry.ignore > 0 ? `ignores the first ${entry.ignore}` : "",
    entry.every > 1 ? `one in ${entry.every}` : "",
    missing.length > 0 ? `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} never computed` : "",
    leftOut(trace, meaning.occurrences),
  ].filter(Boolean).join(", ");
}

/** That a page, to keep small, has not what a condition asks about; "": it has. */
export function leftOut(trace: Trace, occurrences: Occurrences): string {
  const names = leftOutOf(trace, occurrences);
  return names.length === 0 ? "" : `${names.join(" and ")} ${names.length === 1 ? "was" : "were"} left out to keep this recording small`;
}

/** The entries with a breakpoint more. */
export function withBreakpoint(entries: readonly BreakpointEntry[], on: string): BreakpointEntry[] {
  const id = 1 + Math.max(0, ...entries.map((one) => one.id));
  return [...entries, { id, on, log: null, ignore: 0, every: 1, enabled: true }];
}

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
export const watched = memoizedByText((trace, on: string): Watched => {
  try {
    return watching(rowsOf(trace), parseWatch(trace, on));
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return { problem: error, at: () => null, text: () => error.message, history: [] };
  }
});

function watching(rows: Rows, node: Node): Watched {
  const blob = node.kind === "field" && node.type === "blob" ? (blobOf(node.thing) ?? "") : null;
  const at = (position: number): Result => {
    if (blob === null) return evaluate(node, (thing, attribute) => namedField(rows, thing.slice(1), position, attribute));
    const computed = latest(rows, blob, position);
    return computed ? numberOf(computed.value) : null;
  };
  const text = (position: number): string => {
    const value = asText(rows, node, { position, blob: "", value: undefined }, at(position));
    const computed = blob === null ? undefined : latest(rows, blob, position);
    if (!computed) return value;
    const { dtype, shape, size, norm, stack } = computed.value;
    const said = size === 0 && stack === null ? "empty" : value;
    return `${said} (${computed.blob}, ${[dtype, shape.join("×")].filter(Boolean).join(" ")}${norm === null || size === 1 ? "" : ", norm"})`;
  };
  const history: Watched["history"] = [];
  for (const position of computedAt(rows, mentioned(node).map(({ thing }) => thing.slice(1)))) {
    const value = at(position);
    if (value !== null && !isSame(value, history.at(-1)?.value)) history.push({ position, value });
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

/** Those that the document brings. */
export function marksOf({ breakpoints, watches }: Trace): Marks {
  return { breakpoints, watches };
}

/** Whether two lists of marks are the same. */
export function sameMarks(a: Marks, b: Marks): boolean {
  // Their fields stand in one order, wherever they come from.
  return JSON.stringify([a.breakpoints, a.watches]) === JSON.stringify([b.breakpoints, b.watches]);
}

/** The breakpoints that stand at a line: those at what it writes, else at its operator's type. */
export function breakpointsAt(line: Line, breakpoints: readonly BreakpointEntry[]): BreakpointEntry[] {
  const names = line.kind !== "operator" ? [] : line.outputs.length > 0 ? line.outputs : [line.type];
  return breakpoints.filter(({ on }) => names.includes(on));
}

/** The breakpoints after one was set on a text, or those on it were taken away. */
export function toggledOn(on: string, breakpoints: readonly BreakpointEntry[]): BreakpointEntry[] {
  const others = breakpoints.filter((one) => one.on !== on);
  return others.length < breakpoints.length ? others : withBreakpoint(breakpoints, on);
}

/** The breakpoints after one was set at a line, or those at it were taken away; null where none can stand. */
export function toggledAt(line: Line, breakpoints: readonly BreakpointEntry[]): BreakpointEntry[] | null {
  const there = breakpointsAt(line, breakpoints);
  if (there.length > 0) return breakpoints.filter((one) => !there.includes(one));
  const on = line.outputs[0] ?? line.type;
  if (line.kind !== "operator" || (KINDS as readonly string[]).includes(on)) return null;
  return withBreakpoint(breakpoints, on);
}
