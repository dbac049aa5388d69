// What is said of each event: a template of Python's, and what fills its places.

import type { Narration, Trace } from "../schema";
import { eventAt } from "./lookup";

/** In a template. */
export const PLACE = /\{[a-z_]+\}/g;

/** What the event before a position means; at the start what the recording is about. */
export function narrationAt(trace: Trace, position: number): string {
  const said = eventAt(trace, position - 1)?.narration;
  if (!said) return trace.summary;
  let place = 0;
  return (trace.templates[said.template] ?? "").replace(PLACE, () => said.arguments[place++] ?? "");
}

/** How many characters a narration by one of these templates has. */
export function lengthBy(templates: string[]): (said: Narration) => number {
  const bare = templates.map((template) => template.replace(PLACE, "").length);
  return (said) => said.arguments.reduce((length, one) => length + one.length, bare[said.template] ?? 0);
}
