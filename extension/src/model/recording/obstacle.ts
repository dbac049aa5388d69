// What kept the program from being run, where it was to be.

import type { Obstacle, Trace } from "../schema";

/** Why, and the ways out. */
export function reason({ message, ways_out }: Obstacle): string {
  return [message, ...ways_out].join(" ");
}

/** Whether a line is at fault. */
export function isObstacle(trace: Trace, line: string): boolean {
  return trace.obstacle?.lines.includes(line) ?? false;
}
