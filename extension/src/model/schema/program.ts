// The program in a document: its lines, forward and backward, and the nested nets.

import { choice, dictionary, fields, index, list, name, optional, record, refuse, text, texts, whole, type Read, type Reader } from "./json";

const ROLES = ["forward", "seed", "gradient", "accumulation", "deduplication", "duplicate", "handover", "passed"] as const;

/** How many of the things there are that others refer to by number. */
export interface Sizes {
  events: number;
  frames: number;
}

export const sliceName = fields((field) => ({ indices: field("indices", text), values: field("values", text) }));
export type SliceName = Read<typeof sliceName>;

/** The name of a gradient: one blob, or two for a sparse one. */
export type GradientName = string | SliceName;
export const gradientName: Reader<GradientName> = (found, path) => (typeof found === "string" ? found : sliceName(found, path));

/** What the backward pass starts from: names, or names with gradients that were given. */
export type Ys = string[] | Record<string, GradientName | null>;
export const ys: Reader<Ys> = (found, path) => (Array.isArray(found) ? texts(found, path) : dictionary(optional(gradientName))(found, path));

export interface Names {
  inputs: string[];
  outputs: string[];
}

const history =
  (sizes: Sizes): Reader<(Names & { at: number })[]> =>
  (found, path) => {
    const entry = fields((field) => ({
      at: field("at", whole(0, sizes.events)),
      inputs: field("inputs", texts),
      outputs: field("outputs", texts),
    }));
    const entries = list(entry)(found, path);
    if (entries.length === 0) refuse(path, "is empty: a line has had at least one form");
    entries.reduce((before, after, number) =>
      before.at <= after.at ? after : refuse(`${path}[${number}].at`, "comes before the entry above it"),
    );
    return entries;
  };

export const line = (sizes: Sizes) =>
  fields((field, later) => ({
    id: field("id", text),
    kind: later("kind", choice(["operator", "passed"] as const), "operator"),
    type: field("type", text),
    inputs: field("inputs", texts),
    outputs: field("outputs", texts),
    args: later("args", record, {}),
    /** Argument -> id of the nested net that the line runs from it. */
    subnets: later("subnets", dictionary(text), {}),
    device: later("device", name, null),
    name: later("name", text, ""),
    of: later("of", index, null),
    role: field("role", choice(ROLES)),
    /** The line exists from this position on. */
    made: field("made", whole(0, sizes.events)),
    history: field("history", history(sizes)),
    formula: later("formula", text, ""),
    /** The position after its execution, null if never executed. */
    ran: later("ran", optional(whole(0, sizes.events)), null),
  }));
export type Line = Read<typeof line>;

/** A nested net and its backward pass. Its blobs have versions of their own. */
export const subnet = (sizes: Sizes) =>
  fields((field) => ({
    id: field("id", text),
    /** The forward line that runs it; null: it only exists in a backward pass. */
    owner: field("owner", name),
    /** The backward line that runs its backward pass, if there is one. */
    backward_owner: field("backward_owner", name),
    argument: field("argument", text),
    name: field("name", text),
    path: field("path", texts),
    forward: field("forward", list(line(sizes))),
    backward: field("backward", list(line(sizes))),
    /** Its blob versions, in the order in which a frame has their values. */
    blobs: field("blobs", texts),
  }));
export type Subnet = Read<typeof subnet>;

/** What an operator type computes, in plain text about the names of its inputs and outputs. */
const formula = fields((field, later) => ({
  formula: field("formula", text),
  /** Empty: not known. */
  derivative: later("derivative", text, ""),
  /** As in a signature: "b?" may be left out, "xs..." stands for any number. */
  inputs: later("inputs", texts, []),
  outputs: later("outputs", texts, []),
}));
export type Formula = Read<typeof formula>;

export const formulas = dictionary(formula);

/** What kept the program from being run, found before its first operator. */
export const obstacle = fields((field, later) => ({
  /** That of the error: "undefined_blob", "shape_mismatch", ... */
  kind: field("kind", text),
  message: field("message", text),
  /** Sentences, each one way to repair it. */
  ways_out: later("ways_out", texts, []),
  blobs: later("blobs", texts, []),
  /** The lines at fault, of the outermost net. */
  lines: later("lines", texts, []),
}));
export type Obstacle = Read<typeof obstacle>;
