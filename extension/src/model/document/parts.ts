// Readers of the parts of a trace document.

import { AGGREGATORS, KINDS, ORIGINS, PHASES, ROLES, WRITINGS, type BreakpointEntry, type Contribution, type Formula, type Frame, type Grad, type GradientName, type Graph, type Ledger, type Line, type Marks, type Merge, type NodeGroup, type Obstacle, type Pool, type Scalar, type Schedule, type SliceName, type Subnet, type Trace, type TraceEvent, type Value, type Wait, type Workspaces } from "../recording/trace";
import { choice, dictionary, list, optional, real, record, refuse, row, text, whole, within, type Reader } from "./json";

/** How many of the things there are that others refer to by number. */
export interface Sizes {
  events: number;
  frames: number;
}

/** Most of a document are lists of texts: those that are right are taken as they are. */
const texts: Reader<string[]> = (found, path) =>
  Array.isArray(found) && found.every((one) => typeof one === "string") ? (found as string[]) : list(text)(found, path);
const scalar: Reader<Scalar> = (found, path) =>
  found === "nan" || found === "inf" || found === "-inf" ? found : real(found, path);

const sliceName: Reader<SliceName> = (found, path) => {
  const entry = record(found, path);
  return { indices: text(entry["indices"], `${path}.indices`), values: text(entry["values"], `${path}.values`) };
};

export const gradientName: Reader<GradientName> = (found, path) =>
  typeof found === "string" ? found : sliceName(found, path);

export const ys: Reader<Trace["ys"]> = (found, path) =>
  Array.isArray(found) ? texts(found, path) : dictionary(optional(gradientName))(found, path);

/** Rows of numbers. There can be very many: the path to each is only spelled where one is wrong. */
export const preview: Reader<Scalar[][]> = (found, path) => {
  const isPlain = Array.isArray(found) && found.every((row) => Array.isArray(row) && row.every((one) => typeof one === "number"));
  return isPlain ? (found as Scalar[][]) : list(list(scalar))(found, path);
};

type Field = <F>(name: string, reader: Reader<F>) => F;

/** A reader of one object: hands out its fields with their paths; `later` those that are left out where they say nothing, and those that older documents do not have. */
function fields<T>(build: (field: Field, later: <F>(name: string, reader: Reader<F>, missing: F) => F) => T): Reader<T> {
  return (found, path) => {
    const entry = record(found, path);
    try {
      return build(
        (name, reader) => reader(entry[name], name),
        (name, reader, missing) => (name in entry ? reader(entry[name], name) : missing),
      );
    } catch (error) {
      throw within(path, error);
    }
  };
}

const name = optional(text);
const count = whole(0);
const index = optional(count);
const flag: Reader<boolean> = (found, path) => (typeof found === "boolean" ? found : refuse(path, "is neither true nor false"));

export const line = (sizes: Sizes): Reader<Line> =>
  fields((field, later) => ({
    id: field("id", text),
    kind: later("kind", choice(["operator", "passed"] as const), "operator"),
    type: field("type", text),
    inputs: field("inputs", texts),
    outputs: field("outputs", texts),
    args: later("args", record, {}),
    subnets: later("subnets", dictionary(text), {}),
    device: later("device", name, null),
    name: later("name", text, ""),
    of: later("of", index, null),
    role: field("role", choice(ROLES)),
    made: field("made", whole(0, sizes.events)),
    history: field("history", history(sizes)),
    formula: later("formula", text, ""),
    ran: later("ran", optional(whole(0, sizes.events)), null),
  }));

const history =
  (sizes: Sizes): Reader<Line["history"]> =>
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

export const subnet = (sizes: Sizes): Reader<Subnet> =>
  fields((field) => ({
    id: field("id", text),
    owner: field("owner", name),
    backward_owner: field("backward_owner", name),
    argument: field("argument", text),
    name: field("name", text),
    path: field("path", texts),
    forward: field("forward", list(line(sizes))),
    backward: field("backward", list(line(sizes))),
    blobs: field("blobs", texts),
  }));

const indices = list(index);

export const frame: Reader<Frame> = row("a frame", (cell) => ({
  subnet: cell(0, text),
  around: cell(1, index),
  operator: cell(2, count),
  iteration: cell(3, index),
  iterations: cell(4, index),
  is_backward: cell(5, flag),
  values: cell(6, indices),
}));

export const event = (sizes: Sizes): Reader<TraceEvent> =>
  fields((field, later) => ({
    kind: field("kind", choice(KINDS)),
    narration: field("narration", text),
    group: field("group", whole(0)),
    phase: field("phase", choice(PHASES)),
    subnet: later("subnet", name, null),
    frame: later("frame", optional(whole(0, sizes.frames - 1)), null),
    forward: later("forward", index, null),
    lines: later("lines", texts, []),
    blobs: later("blobs", texts, []),
    ledger: later("ledger", index, null),
    targets: later("targets", texts, []),
    seconds: later("seconds", optional(real), null),
    detail: later("detail", record, {}),
  }));

const MOST_BINS = 64;

/** The counts of a histogram. */
export const histogram: Reader<number[]> = (found, path) => {
  const counts = list(whole(0))(found, path);
  return counts.length <= MOST_BINS ? counts : refuse(path, `has ${counts.length} bins, more than ${MOST_BINS}`);
};

export const value: Reader<Value> = fields((field, later) => {
  const read: Value = {
    shape: field("shape", list(whole(0))),
    dtype: field("dtype", text),
    device: field("device", text),
    size: field("size", whole(0)),
    min: field("min", optional(scalar)),
    max: field("max", optional(scalar)),
    mean: field("mean", optional(scalar)),
    mean_abs: field("mean_abs", optional(scalar)),
    norm: field("norm", optional(scalar)),
    nan: field("nan", whole(0)),
    inf: field("inf", whole(0)),
    zero: field("zero", whole(0)),
    preview: field("preview", preview),
    rows: field("rows", whole(0)),
    columns: field("columns", whole(0)),
  };
  const seconds = later("seconds", optional(real), null);
  if (seconds !== null) read.seconds = seconds;
  const stack = later("stack", index, null);
  if (stack !== null) read.stack = stack;
  const subnormal = later("subnormal", index, null);
  if (subnormal !== null) read.subnormal = subnormal;
  const counts = later("histogram", histogram, []);
  if (counts.length > 0) read.histogram = counts;
  return read;
});

export const workspaces: Reader<Workspaces> = fields((field) => ({
  count: field("count", whole(0)),
  frame: field("frame", index),
  below: field("below", index),
}));

const contribution: Reader<Contribution> = fields((field, later) => ({
  gradient: field("gradient", text),
  producer: field("producer", text),
  of: field("of", index),
  how: field("how", choice(ORIGINS)),
  path: field("path", texts),
  norm: field("norm", optional(scalar)),
  share: field("share", optional(scalar)),
  cosine: field("cosine", optional(scalar)),
  frame: later("frame", index, null),
}));

export const ledger = (sizes: Sizes): Reader<Ledger> =>
  fields((field, later) => ({
    blob: field("blob", text),
    at: field("at", whole(0, sizes.events)),
    total: field("total", text),
    contributions: field("contributions", list(contribution)),
    norm: field("norm", optional(scalar)),
    cancellation: field("cancellation", optional(scalar)),
    subnet: later("subnet", name, null),
    frame: later("frame", index, null),
  }));

export const merge = (sizes: Sizes): Reader<Merge> =>
  fields((field) => ({
    blob: field("blob", text),
    at: field("at", whole(1, sizes.events)),
    aggregator: field("aggregator", choice(AGGREGATORS)),
    before: field("before", sliceName),
    after: field("after", sliceName),
    rows_before: field("rows_before", index),
    rows_after: field("rows_after", index),
    most_repeated: field("most_repeated", list(fields((row) => ({ index: row("index", real), times: row("times", whole(0)) })))),
    difference: field("difference", optional(scalar)),
  }));

/** A stay in the heap. */
const wait = (position: Reader<number>): Reader<Wait> =>
  row("a stay in the heap", (cell) => ({
    function: cell(0, count),
    rank: cell(1, count),
    arrival: cell(2, count),
    since: cell(3, position),
    until: cell(4, optional(position)),
  }));

/** What `grad` of a Variable becomes. */
const grad = (position: Reader<number>): Reader<Grad> =>
  row("a gradient that was written", (cell) => ({ variable: cell(0, text), at: cell(1, position), value: cell(2, name), how: cell(3, choice(WRITINGS)) }));

/** How full a pool of names is. */
const pool = (position: Reader<number>): Reader<Pool> =>
  row("a pool of names", (cell) => ({ name: cell(0, text), at: cell(1, position), in_use: cell(2, count), free: cell(3, count) }));

export const schedule = (sizes: Sizes): Reader<Schedule> =>
  fields((field) => ({
    ranks: field("ranks", indices),
    waits: field("waits", list(wait(whole(0, sizes.events)))),
    grads: field("grads", list(grad(whole(0, sizes.events)))),
    pools: field("pools", list(pool(whole(0, sizes.events)))),
  }));

export const breakpoint: Reader<BreakpointEntry> = fields((field, later) => ({
  id: field("id", whole(1)),
  on: field("on", text),
  log: later("log", name, null),
  ignore: later("ignore", whole(0), 0),
  every: later("every", whole(1), 1),
  enabled: later("enabled", flag, true),
}));

/** Breakpoints and watches as a kernel tells them apart from a document. */
export const marks: Reader<Marks> = fields((field) => ({ breakpoints: field("breakpoints", list(breakpoint)), watches: field("watches", texts) }));

export const obstacle: Reader<Obstacle> = fields((field, later) => ({
  kind: field("kind", text),
  message: field("message", text),
  ways_out: later("ways_out", texts, []),
  blobs: later("blobs", texts, []),
  lines: later("lines", texts, []),
}));

const nodeGroup: Reader<NodeGroup> = fields((field, later) => ({
  id: field("id", text),
  around: later("around", name, null),
  lines: field("lines", texts),
  shape: field("shape", whole(0)),
  words: field("words", texts),
}));

const formula: Reader<Formula> = fields((field, later) => ({
  formula: field("formula", text),
  derivative: later("derivative", text, ""),
  inputs: later("inputs", texts, []),
  outputs: later("outputs", texts, []),
}));

export const formulas = dictionary(formula);

export const graph: Reader<Graph> = (found, path) => {
  const entry = record(found, path);
  if ("omitted" in entry) return { omitted: text(entry["omitted"], `${path}.omitted`) };
  return {
    svg: text(entry["svg"], `${path}.svg`),
    dot: text(entry["dot"], `${path}.dot`),
    groups: "groups" in entry ? list(nodeGroup)(entry["groups"], `${path}.groups`) : [],
    shapes: "shapes" in entry ? texts(entry["shapes"], `${path}.shapes`) : [],
    phrases: "phrases" in entry ? texts(entry["phrases"], `${path}.phrases`) : [],
  };
};
