// What a text names, and where in a recording it happens: what "run to" and breakpoints look for. A text is a target of
// "run to", one of the phrases below, a condition, or a target or phrase with a condition behind "if".
//
// The rows of a recording: what each event writes, or else is about, and what conditions find in them.

import { currentEvent, occursAt, pathOf } from "../recording/cursor";
import { addTo, allLines, bare, beginOf, behind, eachEvent, linesById, memoized, memoizedByText } from "../recording/lookup";
import { isLeftOut, loopAround, makerOf, valueOf } from "../recording/values";
import { KINDS, type Trace, type TraceEvent, type Value } from "../schema";
import { blobOf, ConditionError, evaluate, mentioned, nameOf, OWN_WORDS, parse, shown, truth, type Field, type Find, type Node, type Result } from "./conditions/conditions";
import { NAMES, PHRASES } from "./conditions/language.gen";
import { meant } from "./conditions/meant";

/** A blob that an event writes; of one that writes none the first that it is about. */
export interface Row {
  /** After the event. */
  position: number;
  /** A version; empty where the event is about no blob. */
  blob: string;
  /** What the event computed, if it did. */
  value: Value | undefined;
}

/** A version that got a value. */
type Computed = Row & { value: Value };

export interface Rows {
  trace: Trace;
  rows: Row[];
  /** Of each position, counted from where the events begin, the first of its rows; one more for the end. */
  first: Int32Array;
  /** By name and by version, in their order; what was fed is at position 0. */
  computed: Map<string, Computed[]>;
  /** Every blob by its name, and every version of it. */
  names: Set<string>;
}

/** The rows of a trace. */
export const rowsOf = memoized((trace): Rows => {
  const rows: Row[] = [];
  const first = new Int32Array(trace.events.length + 2);
  eachEvent(trace, ({ kind, frame, blobs, row: { writes } }, position) => {
    first[position - beginOf(trace)] = rows.length;
    const computes = writes.length > 0 && (kind === "Ran" || kind === "GradWritten");
    for (const blob of writes.length > 0 ? writes : [blobs[0] ?? ""]) {
      rows.push({ position, blob, value: computes ? valueOf(trace, frame, blob) : undefined });
    }
  });
  first[trace.events.length + 1] = rows.length;
  const lines = allLines(trace).flatMap((line) => [line, ...line.history]).flatMap(({ inputs, outputs }) => [...inputs, ...outputs]);
  const found = trace.subnets.flatMap(({ blobs }) => blobs);
  const versions = [...lines, ...found, ...Object.keys(trace.values), ...rows.map(({ blob }) => blob).filter(Boolean)];
  return { trace, rows, first, computed: computedIn(trace, rows), names: new Set([...versions, ...versions.map(bare)]) };
});

function computedIn(trace: Trace, rows: Row[]): Rows["computed"] {
  const written = new Set(trace.events.flatMap(({ kind, row }) => (kind === "GradWritten" ? row.writes : [])));
  // Nested nets write blobs of their own, which may be called as one that was fed.
  const isFed = (blob: string): boolean => !written.has(blob) && makerOf(trace, blob, null) === undefined;
  const fed = Object.entries(trace.values).filter(([blob]) => isFed(blob)).map(([blob, value]) => ({ position: 0, blob, value }));
  const byName: Rows["computed"] = new Map();
  for (const row of [...fed, ...rows]) {
    if (row.value) for (const name of [row.blob, bare(row.blob)]) addTo(byName, name, row as Computed);
  }
  return byName;
}

/** The rows of the event before a position. */
export function rowsAt({ trace, rows, first }: Rows, position: number): Row[] {
  const at = position - beginOf(trace);
  return rows.slice(first[at], first[at + 1]);
}

/** Every position at which one of these blobs gets a value. */
export function computedAt({ computed }: Rows, names: readonly string[]): number[] {
  const positions = new Set(names.flatMap((name) => computed.get(name)?.map(({ position }) => position) ?? []));
  return [...positions].sort((a, b) => a - b);
}

/** What was computed last of a blob, by a position. */
export function latest({ computed }: Rows, blob: string, position: number): Computed | undefined {
  const rows = computed.get(blob);
  return rows?.[behind(rows, position, (row) => row.position) - 1];
}

/** A field of what was computed last of the blob that a condition names. */
export function namedField(rows: Rows, blob: string, position: number, attribute: string): Result {
  const row = latest(rows, blob, position);
  return row ? blobField(row, attribute) : null;
}

/** What a condition finds in a row. */
export function findIn(rows: Rows, row: Row): Find {
  const { trace } = rows;
  const event = currentEvent(trace, row.position) as TraceEvent;
  return (thing, attribute) => {
    const blob = blobOf(thing);
    if (blob !== null) return namedField(rows, blob, row.position, attribute);
    if (thing === "x" || thing === "g") return thing === "x" || event.row.is_gradient ? blobField(row, attribute) : null;
    if (thing === "event") return ofEvent(trace, event, row.position, attribute || "kind");
    return thing === "op" ? ofOperator(trace, event, attribute || "type") : ofInputs(trace, event, attribute);
  };
}

/** NaN and the infinities are words in a document. */
export const WORDS: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** A field of a blob version, of which there may be a value. */
function blobField({ blob, value }: Row, attribute: string): Result {
  if (attribute === "") return blob || null;
  if (attribute === "name") return bare(blob) || null;
  if (attribute === "version") return /@[0-9]+$/.test(blob) ? Number(blob.slice(blob.lastIndexOf("@") + 1)) : null;
  const result = (value?.[attribute as keyof Value] ?? null) as Result;
  return typeof result === "string" && attribute !== "dtype" && attribute !== "device" ? (WORDS[result] ?? null) : result;
}

/** What a page leaves out where it has no room: all numbers but counts. */
const OPTIONAL = ["", "norm", "min", "max", "mean", "mean_abs"];

const lacksNumber = ({ value }: Row, attribute: string): boolean => value !== undefined && isLeftOut(value) && OPTIONAL.includes(attribute);
const isAboutValues = ({ thing }: Field): boolean => blobOf(thing) !== null || thing === "x" || thing === "g";

/** What a node gives in a row, as a person reads it: what it lacks may have been computed, and left out to keep a page small. */
export function asText(rows: Rows, node: Node, row: Row, result: Result): string {
  const rowAsked = ({ thing }: Field): Row | undefined => (blobOf(thing) === null ? row : latest(rows, blobOf(thing) ?? "", row.position));
  const isHidden = (field: Field): boolean => {
    const asked = isAboutValues(field) ? rowAsked(field) : undefined;
    return asked !== undefined && lacksNumber(asked, field.attribute);
  };
  return result === null && mentioned(node).some(isHidden) ? "left out" : shown(result);
}

function ofEvent(trace: Trace, event: TraceEvent, position: number, attribute: string): Result {
  const { added } = event.row;
  const fields: Record<string, () => Result> = {
    step: () => position,
    path: () => pathOf(trace, event),
    iteration: () => (event.frame === null ? null : (loopAround(trace, event.frame)?.iteration ?? null)),
    n: () => added && added[0] + added[1],
    sparse: () => added && added[0],
    dense: () => added && added[1],
  };
  return fields[attribute]?.() ?? ((event[attribute as "kind" | "phase" | "seconds"] ?? null) as Result);
}

function ofOperator(trace: Trace, event: TraceEvent, attribute: string): Result {
  if (attribute === "index") return event.forward;
  const line = linesById(trace).get(event.row.operator ?? "");
  if (!line) return null;
  if (attribute === "device") return String(event.detail["device"] ?? line.device ?? "") || null;
  return line[attribute as "type" | "role" | "name"];
}

function ofInputs(trace: Trace, event: TraceEvent, attribute: string): number | null {
  const line = linesById(trace).get(event.row.operator ?? "");
  if (event.kind !== "Ran" || !line) return null;
  const values = (blobs: string[]): Value[] => blobs.map((blob) => valueOf(trace, event.frame, blob)).filter((value) => value !== undefined);
  const read = values(line.inputs);
  if (attribute === "devices") return new Set([...read, ...values(line.outputs)].map((value) => value.device)).size;
  const counts = read.map((value) => value[attribute as "nan" | "inf" | "subnormal"]);
  return counts.reduce<number | null>((sum, count) => (sum === null || count === null ? null : sum + count), 0);
}

export interface Occurrences {
  /** Null where a target alone is meant. */
  condition: Node | null;
  positions: number[];
  /** Of each position the first row for which the condition holds. */
  rows: Map<number, Row>;
}

/** Where what a text names happens. Throws a ConditionError where it names nothing. */
export const occurrencesOf = memoizedByText((trace, text: string): Occurrences => {
  const target = named(trace, text.trim().replace(/^next\s+/, ""));
  if (target) return target;
  const head = /^(.*?)\s+if\s/s.exec(text);
  const around = head ? named(trace, (head[1] ?? "").trim()) : null;
  const word = (head?.[1] ?? text).trim().replace(/^next\s+/, "");
  if (!around && /^#[0-9]+$/.test(word)) throw nothingCalled(text, text.indexOf(word), word, "the recording", []);
  const node = withNamesChecked(trace, text, parseIn(trace, text, around && head ? head[0].length : 0));
  return happening(trace, truth(text, node), around?.positions ?? null);
});

/** The occurrences of a target or a phrase; null: it is neither. */
function named(trace: Trace, word: string): Occurrences | null {
  const targets = (positions: number[]): Occurrences => ({ condition: null, positions, rows: new Map() });
  if (/^[^:]+@[0-9]+$/.test(word)) {
    const written: number[] = [];
    eachEvent(trace, ({ row }, position) => row.writes.includes(word) && written.push(position));
    if (written.length > 0) return targets(written);
  }
  const positions = occursAt(trace, word);
  if (positions.length > 0 || (KINDS as readonly string[]).includes(word)) return targets(positions);
  if (Object.hasOwn(PHRASES, word)) return happening(trace, parse(PHRASES[word] ?? ""), null);
  // Of a part nobody knows here what else the recording has.
  return trace.part && /^[^\s<>=!()]+$/.test(word) ? targets([]) : null;
}

/** The nodes of a text, as `parse` gives them; where the fault lies in the name of a blob, the error tells how to write it. */
export function parseIn(trace: Trace, text: string, start = 0, namesBlob?: (name: string) => boolean): Node {
  try {
    return parse(text, start, namesBlob);
  } catch (error) {
    const name = error instanceof ConditionError ? misread(trace, text, error.position) : "";
    if (!(error instanceof ConditionError) || !name) throw error;
    throw new ConditionError(text, error.position, error.problem, `Write the name ${name} between backticks: norm(\`${name}\`).`);
  }
}

/** The longest name around a fault that the language takes for words and signs of its own; empty: none is. */
function misread(trace: Trace, text: string, at: number): string {
  const isMisread = (name: string): boolean => {
    if (!text.includes(name) || (/^[A-Za-z_]\w*$/.test(name) && !OWN_WORDS.includes(name) && !Object.hasOwn(NAMES, name))) return false;
    // A function or a field is no name; the fault may be the field behind one: 1.norm.
    const places = text.matchAll(new RegExp(`(?<![\\w\`.])${name.replace(/\W/g, "\\$&")}(?![\\w\`(])`, "g"));
    return [...places].some(({ index }) => index <= at && at <= index + name.length + 1);
  };
  return [...rowsOf(trace).names].filter(isMisread).reduce((longest, name) => (name.length > longest.length ? name : longest), "");
}

/** What a watch shows: about blobs alone, so every word that names a blob of the recording is that blob. */
export function parseWatch(trace: Trace, text: string): Node {
  const { names } = rowsOf(trace);
  const blob = text.trim();
  if (!blob.includes("`") && names.has(blob)) return parse(`\`${blob}\``);
  const node = parseIn(trace, text, 0, (name) => names.has(name));
  refuseUnknown(trace, text, node, trace.part ? "this part of the recording" : "the recording");
  const wrong = mentioned(node).find(({ thing }) => blobOf(thing) === null);
  if (wrong) throw new ConditionError(text, wrong.at, `a watch is about blobs, and ${nameOf(wrong)} is about an event`);
  return node;
}

/** The same node, part of a text, where the recording has all that it names. Of a part nobody knows here what else it has. */
export function withNamesChecked(trace: Trace, text: string, node: Node): Node {
  if (!trace.part) refuseUnknown(trace, text, node, "the recording");
  return node;
}

function refuseUnknown(trace: Trace, text: string, node: Node, where: string): void {
  const { names } = rowsOf(trace);
  const unknown = mentioned(node).find(({ thing }) => !names.has(blobOf(thing) ?? thing) && blobOf(thing) !== null);
  if (unknown) throw nothingCalled(text, unknown.at, blobOf(unknown.thing) ?? "", where, [...names, ...Object.keys(NAMES)]);
}

function nothingCalled(text: string, at: number, word: string, where: string, names: string[]): ConditionError {
  return new ConditionError(text, at, `${where} has nothing that is called “${word}”`, meant(word, names));
}

function happening(trace: Trace, condition: Node, positions: number[] | null): Occurrences {
  const all = rowsOf(trace);
  const rows = new Map<number, Row>();
  const among = positions ?? askedIn(all, condition);
  const look = (row: Row): void => {
    if (!rows.has(row.position) && evaluate(condition, findIn(all, row)) === true) rows.set(row.position, row);
  };
  if (among === null) all.rows.forEach(look);
  else for (const position of among) rowsAt(all, position).forEach(look);
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
export function askedAt(trace: Trace, { condition, rows }: Occurrences, position: number): string {
  const row = rows.get(position);
  if (!condition || !row) return "";
  const all = rowsOf(trace);
  const find = findIn(all, row);
  const tell = (field: Field): string => {
    const { thing, attribute } = field;
    const named = thing === "inputs" ? null : find(thing, "");
    const name = named === null ? nameOf({ thing, attribute: "" }) : shown(named);
    return attribute === "" ? name : `${attribute} of ${name} = ${asText(all, field, row, find(thing, attribute))}`;
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
    return !computed.some((row) => thing !== "x" || lacksNumber(row, attribute) || findIn(all, row)(thing, attribute) !== null);
  };
  return [...new Set(mentioned(condition).filter(isMissing).map(nameOf))];
}

/** What a condition asks about and a page, to keep small, has not of all that was computed. */
export function leftOutOf(trace: Trace, { condition }: Occurrences): string[] {
  const all = rowsOf(trace);
  const rowsAsked = ({ thing }: Field): readonly Row[] => (blobOf(thing) === null ? all.rows : (all.computed.get(blobOf(thing) ?? "") ?? []));
  const isMissing = (field: Field): boolean => field.attribute !== "" && isAboutValues(field) && rowsAsked(field).some((row) => lacksNumber(row, field.attribute));
  return condition ? [...new Set(mentioned(condition).filter(isMissing).map(nameOf))] : [];
}

/** The next position that a target of "run to" names; null: there is none, or it says nothing. */
export function runTo(trace: Trace, position: number, target: string): number | null {
  const destination = after(occursAt(trace, target), position);
  if (destination !== null) return destination;
  try {
    return after(occurrencesOf(trace, target).positions, position);
  } catch (error) {
    if (error instanceof ConditionError) return null;
    throw error;
  }
}
