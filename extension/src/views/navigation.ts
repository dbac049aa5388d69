// What the views ask of the debugger.

export interface Navigation {
  /** Moves to a position and tells the host. */
  go(position: number): void;
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
  /** Looks at one line until the next move; null looks at the event again. */
  select(line: string | null): void;
}
