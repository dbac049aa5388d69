// What a person marks in a recording: breakpoints and watches.

import { count, fields, flag, list, name, text, texts, whole, type Read } from "./json";

const positive = whole(1);

/** A breakpoint: its texts are parsed when it is used, and nothing in them is executed. */
export const breakpoint = fields((field, later) => ({
  /** Unique in its list. */
  id: field("id", positive),
  /** A target of "run to", a condition, or "target if condition". */
  on: field("on", text),
  /** A message with conditions between braces; the breakpoint then tells it and does not stop. */
  log: later("log", name, null),
  /** So many of the first occurrences do not count. */
  ignore: later("ignore", count, 0),
  /** Of those that count, each so many-th. */
  every: later("every", positive, 1),
  enabled: later("enabled", flag, true),
}));
export type BreakpointEntry = Read<typeof breakpoint>;

/** Breakpoints and watches as a kernel tells them apart from a document. */
export const marks = fields((field) => ({
  breakpoints: field("breakpoints", list(breakpoint)),
  /** Expressions about blobs. */
  watches: field("watches", texts),
}));
export type Marks = Read<typeof marks>;
