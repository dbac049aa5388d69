// What the debugger asks of its views, and they of it.

import type { Deed } from "../../model/answers/asking";
import type { CodeLine, Marks } from "../../model/schema";

/** The moves that a person makes by a key, a button or a command. */
export interface Verbs {
  step(): void;
  back(): void;
  over(): void;
  backOver(): void;
  into(): void;
  out(): void;
  /** Moves to the same place in the iteration before or behind of the innermost loop that is open. */
  previousIteration(): void;
  nextIteration(): void;
  restart(): void;
  finish(): void;
  /** Moves to the next event that matches; returns what to tell the person, or null when it moved. */
  runTo(target: string): string | null;
  /** Moves to the next breakpoint or the end, or back to the last one or the start; the narration says why it stopped. */
  continue(): void;
  reverseContinue(): void;
  /** Lets the cell that waits at the session go on, if one does. */
  goOn(): void;
}

/** Runs to the next event about a line of code, behind the last one to the first; returns the same as `runTo`. */
export function runToLine({ runTo, restart }: Verbs, place: string): string | null {
  if (runTo(place) === null) return null;
  restart();
  return runTo(place);
}

export interface Navigation extends Verbs {
  /** Moves to a position and tells the host. */
  go(position: number): void;
  /** Moves from where an operator was made to where it ran, or back. */
  otherClock(): void;
  teach(): void;
  table(): void;
  /** Shows the graph as large as a projector needs it, or as a screen does. */
  project(): void;
  /** Takes a key as a part of a prediction; false where nothing is asked. */
  answer(key: string): boolean;
  marks(): Marks;
  mark(marks: Marks): void;
  toggleBreakpoint(line: string): void;
  /** Shows in the graph what lies near the line that is looked at, or all again. */
  focus(): void;
  /**
   * Has the kernel record the SSA form of the net, which is shown then, write a page, or make cells of a part of it, which the
   * host inserts; null: there is no kernel.
   */
  perform: ((deed: Deed, ...given: string[]) => void) | null;
  code(line: CodeLine): void;
  /** Looks at one line until the next move; null looks at the event again. */
  select(line: string | null): void;
}
