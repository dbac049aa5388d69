// What texts mean in a trace, kept as long as the trace is.

import type { Trace } from "./trace";

/** The same function, but each text of a trace is read once. */
export function kept<T>(read: (trace: Trace, text: string) => T): (trace: Trace, text: string) => T {
  const known = new WeakMap<Trace, Map<string, T>>();
  return (trace, text) => {
    const all = known.get(trace) ?? new Map<string, T>();
    known.set(trace, all);
    const found = all.get(text) ?? read(trace, text);
    all.set(text, found);
    return found;
  };
}
