// Moving over a trace: pure functions of a trace and a position.
//
// At position p, p events have happened and the current one is events[p - 1]; at 0 nothing has.

import type { Line, Names, Trace, TraceEvent } from "../schema";
import { allLines, forwardId, linesNamed } from "./lines";
import { behind } from "./lists";

/** future: not made yet (a forward operator never is: the net is there before anything happens); current: the forward operator being visited; new: made, changed or run by the current event. */
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

/** The id of the forward line that an event is about; undefined where it is about none. */
export function forwardLine(event: TraceEvent | undefined): string | undefined {
  if (!event || event.forward === null) return undefined;
  return forwardId(event.subnet, event.forward);
}

export function lineState(trace: Trace, line: Line, position: number): LineState {
  if (line.role !== "forward" && line.made > position) return "future";
  const event = currentEvent(trace, position);
  if (event?.lines.includes(line.id)) return "new";
  return forwardLine(event) === line.id ? "current" : "past";
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

/** How many of the lines are operators, and how many of these exist by a position. */
export function linesMade(lines: readonly Line[]): { all: number; by(position: number): number } {
  const made = lines.filter((line) => line.kind === "operator").map((line) => line.made).sort((a, b) => a - b);
  return { all: made.length, by: (position) => behind(made, position) };
}

/** Tells which lines can look different after a move, by their ids; `from` is null before anything was shown. */
type Touched = (from: number | null, to: number) => Set<string>;

/** A step touches few of the lines: views that look only at these stay quick in long programs. */
export function touchedLines(trace: Trace): Touched {
  const changes: string[][] = [];
  const lines = allLines(trace);
  for (const line of lines) {
    for (const position of new Set([line.made, line.ran ?? line.made, ...line.history.map((form) => form.at)])) {
      (changes[position] ??= []).push(line.id);
    }
  }
  const marked = (position: number): string[] => {
    const event = currentEvent(trace, position);
    const forward = forwardLine(event);
    return [...(event?.lines ?? []), ...(forward === undefined ? [] : [forward])];
  };
  return (from, to) => {
    if (from === null) return new Set(lines.map((line) => line.id));
    const between = changes.slice(Math.min(from, to) + 1, Math.max(from, to) + 1).flat();
    return new Set([...between, ...marked(from), ...marked(to)]);
  };
}

/** From where an operator was made the position where it ran first, or back; null: there is none, or it never ran. */
export function otherClock(trace: Trace, position: number): number | null {
  const event = trace.events[position - 1];
  if (!event) return null;
  const about = operatorsOf(trace, event);
  if (event.kind === "Ran") return about[0]?.made ?? null;
  return about.find((line) => line.ran !== null)?.ran ?? null;
}

/** The operators of an event: those that it makes or runs, else the forward operator. */
function operatorsOf(trace: Trace, event: TraceEvent): Line[] {
  const forward = forwardLine(event);
  const ids = event.lines.length > 0 || forward === undefined ? [...event.lines] : [forward];
  // Of an accumulation the last line is the sum; the others were only renamed.
  if (event.kind === "Accumulated") ids.reverse();
  return linesNamed(trace, ids).filter((line) => line.kind === "operator");
}
