// What a person marks in a recording: breakpoints and watches; and what a line of the program has to do with them.

import { KINDS, type BreakpointEntry, type Line, type Marks, type Trace } from "../schema";
import { withBreakpoint } from "./breakpoints";

/** Those that the document brings. */
export function marksOf({ breakpoints, watches }: Trace): Marks {
  return { breakpoints, watches };
}

/** Whether two lists of marks are the same. */
export function sameMarks(a: Marks, b: Marks): boolean {
  return JSON.stringify(normal(a)) === JSON.stringify(normal(b));
}

function normal({ breakpoints, watches }: Marks): unknown {
  return [breakpoints.map(({ id, on, log, ignore, every, enabled }) => [id, on, log, ignore, every, enabled]), watches];
}

/** The breakpoints that stand at a line: those at what it writes, else at its operator's type. */
export function breakpointsAt(line: Line, breakpoints: readonly BreakpointEntry[]): BreakpointEntry[] {
  const names = line.kind === "passed" ? [] : line.outputs.length > 0 ? line.outputs : [line.type];
  return breakpoints.filter(({ on }) => names.includes(on));
}

/** The breakpoints after one was set at a line, or those at it were taken away; null where none can stand. */
export function toggledAt(line: Line, breakpoints: readonly BreakpointEntry[]): BreakpointEntry[] | null {
  const there = breakpointsAt(line, breakpoints);
  if (there.length > 0) return breakpoints.filter((one) => !there.includes(one));
  const on = line.outputs[0] ?? line.type;
  if (line.kind === "passed" || (KINDS as readonly string[]).includes(on)) return null;
  return withBreakpoint(breakpoints, on);
}
