// What happened, in a document: events, the runs of nested nets, and the schedule of a define-by-run pass.

import { choice, count, fields, flag, index, list, name, optional, real, record, row, text, texts, whole, type Read, type Reader } from "./json";
import type { Sizes } from "./program";

export const KINDS = [
  "Played",
  "Seeded",
  "Visited",
  "Skipped",
  "RuleApplied",
  "InputChecked",
  "GeneratorAdded",
  "Accumulated",
  "GradWritten",
  "Deduplicated",
  "EnteredSubnet",
  "LeftSubnet",
  "Ran",
  "Failed",
  "Completed",
] as const;
export type EventKind = (typeof KINDS)[number];

const PHASES = ["play", "generate", "run"] as const;
export type Phase = (typeof PHASES)[number];

export const event = (sizes: Sizes) =>
  fields((field, later) => ({
    kind: field("kind", choice(KINDS)),
    narration: field("narration", text),
    group: field("group", count),
    phase: field("phase", choice(PHASES)),
    /** The nested net that we are in after the event, null for the outermost. */
    subnet: later("subnet", name, null),
    /** The run of it, while nets run: an index into the trace's frames. */
    frame: later("frame", optional(whole(0, sizes.frames - 1)), null),
    /** An index into the forward lines of the subnet. */
    forward: later("forward", index, null),
    lines: later("lines", texts, []),
    blobs: later("blobs", texts, []),
    ledger: later("ledger", index, null),
    targets: later("targets", texts, []),
    /** How long an operator ran. */
    seconds: later("seconds", optional(real), null),
    detail: later("detail", record, {}),
  }));
export type TraceEvent = Read<typeof event>;

const indices = list(index);

/** One run of a nested net, forward or backward. */
export const frame = row("a frame", (cell) => ({
  subnet: cell(0, text),
  /** The frame in which its operator ran, an index into the trace's frames; null: the outermost net. */
  around: cell(1, index),
  operator: cell(2, count),
  iteration: cell(3, index),
  iterations: cell(4, index),
  is_backward: cell(5, flag),
  /** For each blob of the subnet an index into the trace's arrays; null: not computed in this run. */
  values: cell(6, indices),
}));
export type Frame = Read<typeof frame>;

/** A stay in the heap of the rank schedule, from one position up to another. */
const wait = (position: Reader<number>) =>
  row("a stay in the heap", (cell) => ({
    /** An index into the forward lines. */
    function: cell(0, count),
    rank: cell(1, count),
    /** Of equal ranks, the lower arrival is next. */
    arrival: cell(2, count),
    since: cell(3, position),
    until: cell(4, optional(position)),
  }));
export type Wait = Read<typeof wait>;

/** What `grad` of a Variable is from one position on. */
const grad = (position: Reader<number>) =>
  row("a gradient that was written", (cell) => ({
    variable: cell(0, text),
    at: cell(1, position),
    /** A blob version; null: no gradient. */
    value: cell(2, name),
    how: cell(3, choice(["held", "new", "added", "replaced", "dropped"] as const)),
  }));
export type Grad = Read<typeof grad>;

/** How many names of a pool are in use from one position on, and how many wait to be taken again. */
const pool = (position: Reader<number>) =>
  row("a pool of names", (cell) => ({ name: cell(0, text), at: cell(1, position), in_use: cell(2, count), free: cell(3, count) }));
export type Pool = Read<typeof pool>;

/** What the schedule of a define-by-run pass held, as its changes. */
export const schedule = (sizes: Sizes) => {
  const position = whole(0, sizes.events);
  return fields((field) => ({
    /** Of each forward line; null: it is no function that can go backward. */
    ranks: field("ranks", indices),
    waits: field("waits", list(wait(position))),
    grads: field("grads", list(grad(position))),
    pools: field("pools", list(pool(position))),
  }));
};
export type Schedule = Read<typeof schedule>;
