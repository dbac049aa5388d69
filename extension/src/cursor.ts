// Moving over a trace: pure functions of a trace and a position.
//
// At position p, p events have happened and the current one is events[p - 1]; at 0 nothing has.

import type { Line, Names, Trace, TraceEvent } from "./trace";

/** future: not made yet; current: the forward operator being visited; new: made, changed or run by the current event. */
export type LineState = "future" | "past" | "current" | "new";

export function clamp(trace: Trace, position: number): number {
  return Math.min(Math.max(Math.trunc(position) || 0, 0), trace.events.length);
}

/** The event that led to the position; undefined at 0. */
export function currentEvent(trace: Trace, position: number): TraceEvent | undefined {
  return trace.events[position - 1];
}

/** The event that a step would bring; undefined at the end. */
export function nextEvent(trace: Trace, position: number): TraceEvent | undefined {
  return trace.events[position];
}

/** The end of the group that the next event belongs to. */
export function over(trace: Trace, position: number): number {
  const group = trace.events[position]?.group;
  let end = position;
  while (end < trace.events.length && trace.events[end]?.group === group) end++;
  return end;
}

/** The beginning of the group that the current event belongs to. */
export function backOver(trace: Trace, position: number): number {
  const group = trace.events[position - 1]?.group;
  let start = position;
  while (start > 0 && trace.events[start - 1]?.group === group) start--;
  return start;
}

/** The first position after `position` whose event matches the target; null when there is none. */
export function runTo(trace: Trace, position: number, target: string): number | null {
  const index = trace.events.findIndex((event, i) => i >= position && event.targets.includes(target));
  return index < 0 ? null : index + 1;
}

export function lineState(trace: Trace, line: Line, position: number): LineState {
  if (line.made > position) return "future";
  const event = currentEvent(trace, position);
  if (event?.lines.includes(line.id)) return "new";
  if (event != null && event.forward !== null && trace.forward[event.forward] === line) return "current";
  return "past";
}

/** Whether the line's operator has been executed at the position. */
export function hasRun(line: Line, position: number): boolean {
  return line.ran !== null && line.ran <= position;
}

/** Index into the line's history: its form at the position; the first form while it is not made yet. */
export function formAt(line: Line, position: number): number {
  let index = 0;
  while ((line.history[index + 1]?.at ?? Infinity) <= position) index++;
  return index;
}

/** The blobs that the line reads and writes, by the names they have at the position. */
export function namesAt(line: Line, position: number): Names {
  return line.history[formAt(line, position)] ?? line;
}

/** How many of the lines that are operators exist at the position. */
export function madeCount(lines: readonly Line[], position: number): { made: number; all: number } {
  const operators = lines.filter((line) => line.kind === "operator");
  return { made: operators.filter((line) => line.made <= position).length, all: operators.length };
}
