// The user's code: which of its lines an event is about.

import { currentEvent, forwardLine } from "../recording/cursor";
import { forwardOf, linesById, linesNamed, subnetOf } from "../recording/lines";
import type { CodeLine, Line, Trace } from "../schema";

/** The line of code that called the operator of a line, or the one that it came from, or else the one that runs its net. */
export function codeOf(trace: Trace, line: Line): CodeLine | null {
  const own = line.code ?? forwardOf(trace, line)?.code;
  if (own) return own;
  const net = trace.subnets.find(({ id }) => id === subnetOf(line.id));
  const owner = linesById(trace).get(net?.owner ?? net?.backward_owner ?? "");
  return owner ? codeOf(trace, owner) : null;
}

/** The lines of code of the operators that the event before a position is about, that of the current operator first. */
export function codesAt(trace: Trace, position: number): CodeLine[] {
  const event = currentEvent(trace, position);
  const ids = [forwardLine(event), ...[...(event?.lines ?? [])].reverse()].filter((id) => id !== undefined);
  const found = linesNamed(trace, ids).map((line) => codeOf(trace, line)).filter((code) => code !== null);
  return [...new Map(found.map((code) => [placeOf(code), code])).values()];
}

/** What breakpoints and "run to" call a line of code: "cell 4:17". */
export function placeOf({ file, number }: CodeLine): string {
  return `${file}:${number}`;
}
