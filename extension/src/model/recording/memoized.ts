// What is worked out of a trace, which does not change: once, and for as long as the trace is there.

import type { Trace } from "../schema";

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
export function memoizedByText<T>(read: (trace: Trace, text: string) => T): (trace: Trace, text: string) => T {
  const byText = memoized(() => new Map<string, T>());
  return (trace, text) => {
    const known = byText(trace);
    const found = known.get(text) ?? read(trace, text);
    known.set(text, found);
    return found;
  };
}
