// The trace document: a recording of how a backward pass came into being, as Python writes it, and its reader.

import { choice, dictionary, list, optional, real, record, refuse, text, whole, type Reader } from "./json";

export const FORMAT = "gradviz-trace";
export const VERSION = 1;

const KINDS = [
  "Played",
  "Seeded",
  "Visited",
  "Skipped",
  "RuleApplied",
  "InputChecked",
  "GeneratorAdded",
  "Accumulated",
  "Deduplicated",
  "Ran",
  "Failed",
  "Completed",
] as const;
const ROLES = ["forward", "seed", "gradient", "accumulation", "deduplication", "passed"] as const;
const PHASES = ["play", "generate", "run"] as const;
const AGGREGATORS = ["sum", "mean"] as const;
const ORIGINS = ["generated", "passed", "seed", "given"] as const;

export type EventKind = (typeof KINDS)[number];
export type Role = (typeof ROLES)[number];
export type Phase = (typeof PHASES)[number];
export type Origin = (typeof ORIGINS)[number];

/** JSON has no NaN and no infinity: they are written as words. */
export type Scalar = number | "nan" | "inf" | "-inf";
export interface SliceName {
  indices: string;
  values: string;
}

/** The name of a gradient: one blob, or two for a sparse one. */
export type GradientName = string | SliceName;

export interface Names {
  inputs: string[];
  outputs: string[];
}

export interface Line extends Names {
  id: string;
  kind: "operator" | "passed";
  type: string;
  args: Record<string, unknown>;
  device: string | null;
  name: string;
  of: number | null;
  role: Role;
  /** The line exists from this position on. */
  made: number;
  history: (Names & { at: number })[];
  formula: string;
  /** The position after its execution, null if never executed. */
  ran: number | null;
}

export interface TraceEvent {
  kind: EventKind;
  narration: string;
  group: number;
  phase: Phase;
  forward: number | null;
  lines: string[];
  blobs: string[];
  ledger: number | null;
  targets: string[];
  detail: Record<string, unknown>;
}

export interface Value {
  shape: number[];
  dtype: string;
  device: string;
  size: number;
  min: Scalar | null;
  max: Scalar | null;
  mean: Scalar | null;
  mean_abs: Scalar | null;
  norm: Scalar | null;
  nan: number;
  inf: number;
  zero: number;
  preview: Scalar[][];
  rows: number;
  columns: number;
  seconds?: number;
}

export interface Contribution {
  gradient: string;
  producer: string;
  of: number | null;
  how: Origin;
  path: string[];
  norm: Scalar | null;
  share: Scalar | null;
  cosine: Scalar | null;
}

export interface Ledger {
  blob: string;
  at: number;
  total: string;
  contributions: Contribution[];
  norm: Scalar | null;
  cancellation: Scalar | null;
}

/** Rows of equal index in a sparse gradient made one. */
export interface Merge {
  blob: string;
  at: number;
  aggregator: (typeof AGGREGATORS)[number];
  before: SliceName;
  after: SliceName;
  rows_before: number | null;
  rows_after: number | null;
  most_repeated: { index: number; times: number }[];
  /** The largest difference of an element of the gradient as a dense array, before and after. */
  difference: Scalar | null;
}

export type Graph = { svg: string; dot: string } | { omitted: string };

export interface Trace {
  format: typeof FORMAT;
  version: typeof VERSION;
  producer: string;
  engine: "symbolic";
  name: string;
  summary: string;
  net: Record<string, unknown>;
  ys: string[] | Record<string, GradientName | null>;
  skip: number;
  forward: Line[];
  backward: Line[];
  events: TraceEvent[];
  values: Record<string, Value>;
  ledgers: Ledger[];
  merges: Merge[];
  gradients: Record<string, GradientName>;
  graph: Graph;
}

/**
 * Reads a trace document from JSON text that may come from anywhere.
 * Throws an Error whose message says what is wrong, where, and the way out.
 */
export function parseTrace(source: string): Trace {
  const document = parseJson(source);
  checkFormat(document);
  const forward = document["forward"];
  const events = document["events"];
  const sizes = {
    forward: Array.isArray(forward) ? forward.length : refuse("forward", "is missing or not a list"),
    events: Array.isArray(events) ? events.length : refuse("events", "is missing or not a list"),
  };
  const field = <T>(name: string, reader: Reader<T>): T => reader(document[name], name);
  const trace: Trace = {
    format: FORMAT,
    version: VERSION,
    producer: field("producer", text),
    engine: field("engine", choice(["symbolic"] as const)),
    name: field("name", text),
    summary: field("summary", text),
    net: field("net", record),
    ys: field("ys", ys),
    skip: field("skip", whole(0)),
    forward: field("forward", list(line(sizes))),
    backward: field("backward", list(line(sizes))),
    ledgers: field("ledgers", list(ledger(sizes))),
    // Documents written before there were merges have none.
    merges: "merges" in document ? field("merges", list(merge(sizes))) : [],
    events: field("events", list(event(sizes))),
    values: field("values", dictionary(value)),
    gradients: field("gradients", dictionary(gradientName)),
    graph: field("graph", graph),
  };
  checkReferences(trace);
  return trace;
}

function parseJson(source: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (source.trim() === "") throw new Error("this gradviz trace is empty: nothing was recorded, or the file was not written");
    if (!source.trimEnd().endsWith("}")) {
      throw new Error(`this gradviz trace is truncated: its JSON stops after ${source.length} characters (${reason}); save it again`);
    }
    throw new Error(`this is not a gradviz trace: it is no JSON (${reason})`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new Error(`this is not a gradviz trace: its JSON is no object with "format": "${FORMAT}"`);
  }
  return parsed as Record<string, unknown>;
}

function checkFormat(document: Record<string, unknown>): void {
  if (document["format"] !== FORMAT) {
    throw new Error(`this is not a gradviz trace: its "format" is ${JSON.stringify(document["format"]) ?? "missing"}, not "${FORMAT}"`);
  }
  const version = whole(0)(document["version"], "version");
  if (version === VERSION) return;
  const wayOut = version > VERSION ? "update gradviz" : "record it again with this gradviz";
  throw new Error(`this is a gradviz trace of version ${version}; this gradviz reads version ${VERSION}: ${wayOut}`);
}

interface Sizes {
  forward: number;
  events: number;
}

const texts = list(text);

const scalar: Reader<Scalar> = (found, path) =>
  found === "nan" || found === "inf" || found === "-inf" ? found : real(found, path);

const sliceName: Reader<SliceName> = (found, path) => {
  const entry = record(found, path);
  return { indices: text(entry["indices"], `${path}.indices`), values: text(entry["values"], `${path}.values`) };
};

const gradientName: Reader<GradientName> = (found, path) =>
  typeof found === "string" ? found : sliceName(found, path);

const ys: Reader<Trace["ys"]> = (found, path) =>
  Array.isArray(found) ? texts(found, path) : dictionary(optional(gradientName))(found, path);

/** A reader of one object: hands out its fields with their paths. */
function fields<T>(build: (field: <F>(name: string, reader: Reader<F>) => F) => T): Reader<T> {
  return (found, path) => {
    const entry = record(found, path);
    return build((name, reader) => reader(entry[name], `${path}.${name}`));
  };
}

const forwardIndex = (sizes: Sizes): Reader<number | null> => optional(whole(0, sizes.forward - 1));

const line = (sizes: Sizes): Reader<Line> =>
  fields((field) => ({
    id: field("id", text),
    kind: field("kind", choice(["operator", "passed"] as const)),
    type: field("type", text),
    inputs: field("inputs", texts),
    outputs: field("outputs", texts),
    args: field("args", record),
    device: field("device", optional(text)),
    name: field("name", text),
    of: field("of", forwardIndex(sizes)),
    role: field("role", choice(ROLES)),
    made: field("made", whole(0, sizes.events)),
    history: field("history", history(sizes)),
    formula: field("formula", text),
    ran: field("ran", optional(whole(0, sizes.events))),
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
    entries.reduce((before, after, index) =>
      before.at <= after.at ? after : refuse(`${path}[${index}].at`, "comes before the entry above it"),
    );
    return entries;
  };

const event = (sizes: Sizes): Reader<TraceEvent> =>
  fields((field) => ({
    kind: field("kind", choice(KINDS)),
    narration: field("narration", text),
    group: field("group", whole(0)),
    phase: field("phase", choice(PHASES)),
    forward: field("forward", forwardIndex(sizes)),
    lines: field("lines", texts),
    blobs: field("blobs", texts),
    ledger: field("ledger", optional(whole(0))),
    targets: field("targets", texts),
    detail: field("detail", record),
  }));

const value: Reader<Value> = fields((field) => {
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
    preview: field("preview", list(list(scalar))),
    rows: field("rows", whole(0)),
    columns: field("columns", whole(0)),
  };
  const seconds = field("seconds", (found, path) => (found === undefined || found === null ? null : real(found, path)));
  if (seconds !== null) read.seconds = seconds;
  return read;
});

const contribution = (sizes: Sizes): Reader<Contribution> =>
  fields((field) => ({
    gradient: field("gradient", text),
    producer: field("producer", text),
    of: field("of", forwardIndex(sizes)),
    how: field("how", choice(ORIGINS)),
    path: field("path", texts),
    norm: field("norm", optional(scalar)),
    share: field("share", optional(scalar)),
    cosine: field("cosine", optional(scalar)),
  }));

const ledger = (sizes: Sizes): Reader<Ledger> =>
  fields((field) => ({
    blob: field("blob", text),
    at: field("at", whole(0, sizes.events)),
    total: field("total", text),
    contributions: field("contributions", list(contribution(sizes))),
    norm: field("norm", optional(scalar)),
    cancellation: field("cancellation", optional(scalar)),
  }));

const merge = (sizes: Sizes): Reader<Merge> =>
  fields((field) => ({
    blob: field("blob", text),
    at: field("at", whole(1, sizes.events)),
    aggregator: field("aggregator", choice(AGGREGATORS)),
    before: field("before", sliceName),
    after: field("after", sliceName),
    rows_before: field("rows_before", optional(whole(0))),
    rows_after: field("rows_after", optional(whole(0))),
    most_repeated: field("most_repeated", list(fields((row) => ({ index: row("index", real), times: row("times", whole(0)) })))),
    difference: field("difference", optional(scalar)),
  }));

const graph: Reader<Graph> = (found, path) => {
  const entry = record(found, path);
  if ("omitted" in entry) return { omitted: text(entry["omitted"], `${path}.omitted`) };
  return { svg: text(entry["svg"], `${path}.svg`), dot: text(entry["dot"], `${path}.dot`) };
};

function checkReferences(trace: Trace): void {
  const ids = new Set<string>();
  for (const part of ["forward", "backward"] as const) {
    trace[part].forEach((one, index) => {
      if (ids.has(one.id)) refuse(`${part}[${index}].id`, `is "${one.id}", the id of another line`);
      ids.add(one.id);
    });
  }
  trace.merges.forEach(({ at }, index) => {
    if (trace.events[at - 1]?.kind !== "Deduplicated") refuse(`merges[${index}].at`, `is ${at}, and there is no Deduplicated event`);
  });
  const closed = new Set<number>();
  trace.events.forEach((one, index) => {
    const unknown = one.lines.find((id) => !ids.has(id));
    if (unknown !== undefined) refuse(`events[${index}].lines`, `names "${unknown}", and there is no such line`);
    if (one.ledger !== null && one.ledger >= trace.ledgers.length) {
      refuse(`events[${index}].ledger`, `is ${one.ledger}, and there are ${trace.ledgers.length} ledgers`);
    }
    const before = trace.events[index - 1];
    if (before !== undefined && before.group !== one.group) closed.add(before.group);
    if (closed.has(one.group)) refuse(`events[${index}].group`, `is ${one.group}, a group that had ended before`);
  });
}
