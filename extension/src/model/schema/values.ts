// The values in a document, and what is worked out of those of gradients: ledgers and merges.

import { choice, count, fields, index, list, name, optional, real, refuse, text, texts, whole, type Read, type Reader } from "./json";
import { sliceName, type Sizes } from "./program";

/** JSON has no NaN and no infinity: they are written as words. */
export type Scalar = number | "nan" | "inf" | "-inf";
const scalar: Reader<Scalar> = (found, path) =>
  found === "nan" || found === "inf" || found === "-inf" ? found : real(found, path);
const measure = optional(scalar);
const counts = list(count);

/** Rows of numbers. There can be very many: the path to each is only spelled where one is wrong. */
export const preview: Reader<Scalar[][]> = (found, path) => {
  const isPlain = Array.isArray(found) && found.every((row) => Array.isArray(row) && row.every((one) => typeof one === "number"));
  return isPlain ? (found as Scalar[][]) : list(list(scalar))(found, path);
};

const MOST_BINS = 64;

/** The counts of a histogram. */
export const histogram: Reader<number[]> = (found, path) => {
  const bins = counts(found, path);
  return bins.length <= MOST_BINS ? bins : refuse(path, `has ${bins.length} bins, more than ${MOST_BINS}`);
};

const measured = fields((field) => ({
  shape: field("shape", counts),
  dtype: field("dtype", text),
  device: field("device", text),
  size: field("size", count),
  min: field("min", measure),
  max: field("max", measure),
  mean: field("mean", measure),
  mean_abs: field("mean_abs", measure),
  norm: field("norm", measure),
  nan: field("nan", count),
  inf: field("inf", count),
  zero: field("zero", count),
  preview: field("preview", preview),
  rows: field("rows", count),
  columns: field("columns", count),
}));

export interface Value extends Read<typeof measured> {
  seconds?: number;
  /** For a stack of workspaces, an index into the trace's stacks. */
  stack?: number;
  /** Elements too small for the precision of their dtype, but not 0; missing: not counted. */
  subnormal?: number;
  /** How many finite elements lie in each of so many equal bins from min to max; missing: not counted. */
  histogram?: number[];
}

const counted = fields((_, later) => ({
  seconds: later("seconds", optional(real), null),
  stack: later("stack", index, null),
  subnormal: later("subnormal", index, null),
  bins: later("histogram", histogram, []),
}));

export const value: Reader<Value> = (found, path) => {
  const read: Value = measured(found, path);
  const { seconds, stack, subnormal, bins } = counted(found, path);
  if (seconds !== null) read.seconds = seconds;
  if (stack !== null) read.stack = stack;
  if (subnormal !== null) read.subnormal = subnormal;
  if (bins.length > 0) read.histogram = bins;
  return read;
};

/** A stack of workspaces that Do keeps: the run that left the one on top, and the stack below it. */
export const workspaces = fields((field) => ({ count: field("count", count), frame: field("frame", index), below: field("below", index) }));
export type Workspaces = Read<typeof workspaces>;

const contribution = fields((field, later) => ({
  gradient: field("gradient", text),
  producer: field("producer", text),
  of: field("of", index),
  how: field("how", choice(["generated", "passed", "seed", "given"] as const)),
  path: field("path", texts),
  norm: field("norm", measure),
  share: field("share", measure),
  cosine: field("cosine", measure),
  /** For one iteration of a loop: its run in the backward pass. */
  frame: later("frame", index, null),
}));
export type Contribution = Read<typeof contribution>;

export const ledger = (sizes: Sizes) =>
  fields((field, later) => ({
    blob: field("blob", text),
    at: field("at", whole(0, sizes.events)),
    total: field("total", text),
    contributions: field("contributions", list(contribution)),
    norm: field("norm", measure),
    cancellation: field("cancellation", measure),
    subnet: later("subnet", name, null),
    frame: later("frame", index, null),
  }));
export type Ledger = Read<typeof ledger>;

/** Rows of equal index in a sparse gradient made one. */
export const merge = (sizes: Sizes) =>
  fields((field) => ({
    blob: field("blob", text),
    at: field("at", whole(1, sizes.events)),
    aggregator: field("aggregator", choice(["sum", "mean"] as const)),
    before: field("before", sliceName),
    after: field("after", sliceName),
    rows_before: field("rows_before", index),
    rows_after: field("rows_after", index),
    most_repeated: field("most_repeated", list(fields((row) => ({ index: row("index", real), times: row("times", count) })))),
    /** The largest difference of an element of the gradient as a dense array, before and after. */
    difference: field("difference", measure),
  }));
export type Merge = Read<typeof merge>;
