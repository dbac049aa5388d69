// Where things are in a recording. Events by their numbers; lines and nested nets by their ids, and what these and the names of
// blob versions say; the groups of a large net's drawing; which lines keep the program from being run.
//
// What is worked out of a trace, which does not change: once, and for as long as the trace is there. Sorted numbers to look
// things up in, and lists by keys.

import type { Line, Obstacle, Subnet, Trace, TraceEvent } from "../schema";

/** The position at which the events of a document begin: 0 unless it is of a part of a recording. */
export const beginOf = (trace: Trace): number => trace.part?.first ?? 0;

/** The position at which they end. */
export const endOf = (trace: Trace): number => beginOf(trace) + trace.events.length;

/** How many events the recording has. */
export const lengthOf = (trace: Trace): number => trace.part?.length ?? trace.events.length;

/** The event with a number, which counts from 0 through the recording; undefined: there is none, or it is in another part. */
export const eventAt = (trace: Trace, number: number): TraceEvent | undefined => trace.events[number - beginOf(trace)];

/** Goes through the events of a document, each with the position behind it. */
export function eachEvent(trace: Trace, act: (event: TraceEvent, position: number) => void): void {
  trace.events.forEach((event, index) => act(event, beginOf(trace) + index + 1));
}

/** The same function, which reads each trace once. */
export function memoized<T>(read: (trace: Trace) => T): (trace: Trace) => T {
  const cache = new WeakMap<Trace, T>();
  return (trace) => {
    const result = cache.get(trace) ?? read(trace);
    cache.set(trace, result);
    return result;
  };
}

/** The same of texts about a trace: each is read once. */
export function memoizedByText<Texts extends string[], T>(read: (trace: Trace, ...texts: Texts) => T): (trace: Trace, ...texts: Texts) => T {
  const byText = memoized(() => new Map<string, T>());
  return (trace, ...texts) => {
    const [cache, key] = [byText(trace), texts.join("\n")];
    const result = cache.get(key) ?? read(trace, ...texts);
    cache.set(key, result);
    return result;
  };
}

/** The index behind the last of sorted numbers, or of items sorted by a number, that are at most `limit`. */
export function behind(sorted: ArrayLike<number>, limit: number): number;
export function behind<Item>(sorted: ArrayLike<Item>, limit: number, number: (item: Item) => number): number;
export function behind<Item>(sorted: ArrayLike<Item>, limit: number, number = (item: Item) => item as number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (number(sorted[middle] as Item) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Something and what lies around it, from the innermost; `around` gives null where that is nothing. */
export function outward<T>(innermost: T | null | undefined, around: (one: T) => T | null | undefined): T[] {
  const chain: T[] = [];
  for (let one = innermost ?? null; one !== null; one = around(one) ?? null) chain.push(one);
  return chain;
}

/** Puts an item behind those that its key has. */
export function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** Every line: the outermost net's, then those of each nested net, forward before backward. */
export function allLines(trace: Trace): Line[] {
  return [trace, ...trace.subnets].flatMap((net) => [...net.forward, ...net.backward]);
}

/** Every line by its id. */
export const linesById = memoized((trace) => new Map(allLines(trace).map((line) => [line.id, line])));

/** Every nested net by its id. */
export const subnetsById = memoized((trace) => new Map(trace.subnets.map((net) => [net.id, net])));

/** What the drawing shows for a line or a nested net that is folded in it; in the drawing with its plumbing, `whole`, all is shown. */
export function drawnAs(trace: Trace, isWhole: boolean): (id: string) => string {
  return (id) => (isWhole ? id : (trace.graph.folded[id] ?? id));
}

/** The lines with these ids, without those that there are not. */
export function linesNamed(trace: Trace, ids: readonly string[]): Line[] {
  return ids.map((id) => linesById(trace).get(id)).filter((line) => line !== undefined);
}

/** The forward and backward lines of a nested net, null for the outermost; undefined: there is no such net. */
export function netOf(trace: Trace, subnet: string | null): Pick<Subnet, "forward" | "backward"> | undefined {
  return subnet === null ? trace : subnetsById(trace).get(subnet);
}

/** The id of a forward line of a net by its number. */
export function forwardId(subnet: string | null, number: number): string {
  return `${subnet === null ? "" : `${subnet}.`}f${number}`;
}

/** The number at the end of the id of a line. */
export function numberIn(line: string): number {
  return Number(/\d+$/.exec(line)?.[0]);
}

/** The number of a forward line, or of the one that a backward line comes from; null: it comes from none. */
export function numberOf(line: Line): number | null {
  return line.role === "forward" ? numberIn(line.id) : line.of;
}

/** The forward line that a backward one comes from. */
export function forwardOf(trace: Trace, line: Line): Line | undefined {
  return line.role === "forward" || line.of === null ? undefined : linesById(trace).get(forwardId(subnetOf(line.id), line.of));
}

/** The id of the nested net that a line is in, null for the outermost. */
export function subnetOf(line: string): string | null {
  const dot = line.indexOf(".");
  return dot < 0 ? null : line.slice(0, dot);
}

/** A blob without its version. */
export function bare(version: string): string {
  return version.replace(/@[0-9]+$/, "");
}

/** The version that a nested net kept under a name of its own, since it is overwritten; any other is itself. */
export function original(version: string): string {
  return version.replace(/^(.+)\/_DO_OPERATOR_FWD_VERSION_([0-9]+)_@0$/, "$1@$2");
}

const INNER = /\/_DO_OPERATOR_(INNER_GRAD_COPY|INNER_GRAD_SUM|INNER_GRAD|FWD_VERSION_\d+)_/g;
const INNER_WORDS: Record<string, string> = { INNER_GRAD_COPY: "result", INNER_GRAD_SUM: "sum", INNER_GRAD: "grad" };

/** A text in which the names of blobs inside a gradient Do are as short as they are shown. */
export function innerWords(text: string): string {
  return text.replace(INNER, (_, what: string) => `⟨${INNER_WORDS[what] ?? `kept @${what.replace("FWD_VERSION_", "")}`}⟩`);
}

/** Why, and the ways out. */
export function reason({ message, ways_out }: Obstacle): string {
  return [message, ...ways_out].join(" ");
}

/** Whether a line is at fault. */
export function isObstacle(trace: Trace, line: string): boolean {
  return trace.obstacle?.lines.includes(line) ?? false;
}

export interface Group {
  id: string;
  around: Group | null;
  /** The forward lines in it and in the groups inside. */
  forward: Line[];
  backward: Line[];
}

export const groupsOf = memoized((trace) => {
  const byId = new Map<string, Group>();
  /** The innermost group that holds a line. */
  const of = new Map<string, Group>();
  for (const { id, around, lines: own } of trace.graph.groups) {
    const group: Group = { id, around: around === null ? null : (byId.get(around) ?? null), forward: [], backward: [] };
    byId.set(id, group);
    for (const line of own) of.set(line, group);
  }
  for (const line of allLines(trace)) {
    for (const { forward, backward } of outward(of.get(line.id), ({ around }) => around)) (line.role === "forward" ? forward : backward).push(line);
  }
  return { byId, of };
});

/** The groups that hold a line, from the innermost. */
export function groupsAround(trace: Trace, line: string): Group[] {
  return outward(groupsOf(trace).of.get(line), ({ around }) => around);
}

/** The id of the group that a node of the drawing stands for, in either lane. */
export function groupOfNode(trace: Trace, node: string): Group | undefined {
  return groupsOf(trace).byId.get(node.replace(/\.backward$/, ""));
}
