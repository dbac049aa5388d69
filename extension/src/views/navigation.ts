// What the views ask of the debugger.

export interface Navigation {
  /** Moves to a position and tells the host. */
  go(position: number): void;
  step(): void;
  back(): void;
  over(): void;
  backOver(): void;
  restart(): void;
  finish(): void;
  /** Moves to the next event that matches; returns what to tell the person, or null when it moved. */
  runTo(target: string): string | null;
  /** Looks at one line until the next move; null looks at the event again. */
  select(line: string | null): void;
}
