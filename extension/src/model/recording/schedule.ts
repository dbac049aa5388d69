// What the schedule of a define-by-run pass holds at a position: pure functions of a trace and a position.

import type { Trace, Wait } from "../schema";

/**
 * The functions in the heap, the next one first; the one that was taken out of it last; what `grad` is of every Variable that
 * has, or has had, one; the pools. Null where the recording has no schedule.
 */
export function scheduleAt({ schedule }: Trace, position: number) {
  if (!schedule) return null;
  const heap = schedule.waits.filter(({ since, until }) => since <= position && (until === null || until > position));
  heap.sort((a, b) => b.rank - a.rank || a.arrival - b.arrival);
  const out = schedule.waits.filter(({ until }) => until !== null && until <= position);
  const taken = out.reduce<Wait | null>((last, one) => ((one.until ?? 0) > (last?.until ?? 0) ? one : last), null);
  return { heap, taken, grads: lastOf(schedule.grads, ({ variable }) => variable, position), pools: lastOf(schedule.pools, ({ name }) => name, position) };
}

/** The last row of each name at a position, names in the order in which they first came. */
function lastOf<Row extends { at: number }>(rows: Row[], name: (row: Row) => string, position: number): Row[] {
  const last = new Map<string, Row>();
  for (const row of rows) if (row.at <= position) last.set(name(row), row);
  return [...last.values()];
}

/** Whether the last event changed something of this kind: brought a function into the heap, wrote a gradient. */
export function isNew(at: number, position: number): boolean {
  return at === position && position > 0;
}
