// Two linked clocks: the event that made an operator, and the event that ran it.

import { forwardLine } from "./cursor";
import { linesById, type Line, type Trace, type TraceEvent } from "./trace";

/** From where an operator was made the position where it ran first, or back; null: there is none, or it never ran. */
export function otherClock(trace: Trace, position: number): number | null {
  const event = trace.events[position - 1];
  if (!event) return null;
  const about = linesOf(trace, event);
  if (event.kind === "Ran") return about[0]?.made ?? null;
  return about.find((line) => line.ran !== null)?.ran ?? null;
}

/** The operators of an event: those that it makes or runs, else the forward operator. */
function linesOf(trace: Trace, event: TraceEvent): Line[] {
  const forward = forwardLine(event);
  const ids = event.lines.length > 0 || forward === undefined ? [...event.lines] : [forward];
  // Of an accumulation the last line is the sum; the others were only renamed.
  if (event.kind === "Accumulated") ids.reverse();
  return ids.map((id) => linesById(trace).get(id)).filter((line) => line?.kind === "operator") as Line[];
}
