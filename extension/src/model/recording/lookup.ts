// Events by their numbers. What is worked out of a trace, which does not change: once, and for as long as the trace is there.
// Sorted numbers to look things up in, and lists by keys.

import type { Trace, TraceEvent } from "../schema";

/** The position at which the events of a document begin: 0 unless it is of a part of a recording. */
export const beginOf = (trace: Trace): number => trace.part?.first ?? 0;

/** The position at which they end. */
export const endOf = (trace: Trace): number => beginOf(trace) + trace.events.length;

/** How many events the recording has. */
export const lengthOf = (trace: Trace): number => trace.part?.length ?? trace.events.length;

/** The event with a number, which counts from 0 through the recording; undefined: there is none, or it is in another part. */
export const eventAt = (trace: Trace, number: number): TraceEvent | undefined => trace.events[number - beginOf(trace)];

/** The same function, which reads each trace once. */
export function memoized<T>(read: (trace: Trace) => T): (trace: Trace) => T {
  const known = new WeakMap<Trace, T>();
  return (trace) => {
    const found = known.get(trace) ?? read(trace);
    known.set(trace, found);
    return found;
  };
}

/** The same of texts about a trace: each is read once. */
export function memoizedByText<Texts extends string[], T>(read: (trace: Trace, ...texts: Texts) => T): (trace: Trace, ...texts: Texts) => T {
  const byText = memoized(() => new Map<string, T>());
  return (trace, ...texts) => {
    const [known, key] = [byText(trace), texts.join("\n")];
    const found = known.get(key) ?? read(trace, ...texts);
    known.set(key, found);
    return found;
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
  const found: T[] = [];
  for (let one = innermost ?? null; one !== null; one = around(one) ?? null) found.push(one);
  return found;
}

/** Puts an item behind those that its key has. */
export function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
