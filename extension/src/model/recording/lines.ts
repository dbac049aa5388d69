// The lines of a recording, and what their ids and the names of blob versions say.

import type { Line, Trace } from "./trace";

/** Every line: the outermost net's, then those of each nested net, forward before backward. */
export function allLines(trace: Trace): Line[] {
  return [trace, ...trace.subnets].flatMap((net) => [...net.forward, ...net.backward]);
}

const lines = new WeakMap<Trace, Map<string, Line>>();

/** Every line by its id. */
export function linesById(trace: Trace): Map<string, Line> {
  const known = lines.get(trace) ?? new Map(allLines(trace).map((line) => [line.id, line]));
  lines.set(trace, known);
  return known;
}

/** The id of the nested net that a line is in, null for the outermost. */
export function subnetOf(line: string): string | null {
  const dot = line.indexOf(".");
  return dot < 0 ? null : line.slice(0, dot);
}

/** A blob without its version. */
export function bare(version: string): string {
  return version.replace(/@[0-9]+$/, "");
}

/** The version that a nested net kept under a name of its own, since it is overwritten; any other is itself. */
export function original(version: string): string {
  return version.replace(/^(.+)\/_DO_OPERATOR_FWD_VERSION_([0-9]+)_@0$/, "$1@$2");
}
