// The trace document: a recording of how a backward pass came into being, as it is worked with here.

export const FORMAT = "gradviz-trace";
export const VERSION = 1;

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
export const ROLES = ["forward", "seed", "gradient", "accumulation", "deduplication", "duplicate", "handover", "passed"] as const;
export const ENGINES = ["symbolic", "rank", "tape"] as const;
export const WRITINGS = ["held", "new", "added", "replaced", "dropped"] as const;
export const PHASES = ["play", "generate", "run"] as const;
export const AGGREGATORS = ["sum", "mean"] as const;
export const ORIGINS = ["generated", "passed", "seed", "given"] as const;

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
  /** Argument -> id of the nested net that the line runs from it. */
  subnets: Record<string, string>;
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
  /** The nested net that we are in after the event, null for the outermost. */
  subnet: string | null;
  /** The run of it, while nets run: an index into the trace's frames. */
  frame: number | null;
  /** An index into the forward lines of the subnet. */
  forward: number | null;
  lines: string[];
  blobs: string[];
  ledger: number | null;
  targets: string[];
  /** How long an operator ran. */
  seconds: number | null;
  detail: Record<string, unknown>;
}

/** A nested net and its backward pass. Its blobs have versions of their own. */
export interface Subnet {
  id: string;
  /** The forward line that runs it; null: it only exists in a backward pass. */
  owner: string | null;
  /** The backward line that runs its backward pass, if there is one. */
  backward_owner: string | null;
  argument: string;
  name: string;
  path: string[];
  forward: Line[];
  backward: Line[];
  /** Its blob versions, in the order in which a frame has their values. */
  blobs: string[];
}

/** One run of a nested net, forward or backward. */
export interface Frame {
  subnet: string;
  /** The frame in which its operator ran, an index into the trace's frames; null: the outermost net. */
  around: number | null;
  operator: number;
  iteration: number | null;
  iterations: number | null;
  is_backward: boolean;
  /** For each blob of the subnet an index into the trace's arrays; null: not computed in this run. */
  values: (number | null)[];
}

/** A stack of workspaces that Do keeps: the run that left the one on top, and the stack below it. */
export interface Workspaces {
  count: number;
  frame: number | null;
  below: number | null;
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
  /** For a stack of workspaces, an index into the trace's stacks. */
  stack?: number;
  /** Elements too small for the precision of their dtype, but not 0; missing: not counted. */
  subnormal?: number;
  /** How many finite elements lie in each of so many equal bins from min to max; missing: not counted. */
  histogram?: number[];
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
  /** For one iteration of a loop: its run in the backward pass. */
  frame: number | null;
}

export interface Ledger {
  blob: string;
  at: number;
  total: string;
  contributions: Contribution[];
  norm: Scalar | null;
  cancellation: Scalar | null;
  subnet: string | null;
  frame: number | null;
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

/** A stay in the heap of the rank schedule, from one position up to another. */
export interface Wait {
  /** An index into the forward lines. */
  function: number;
  rank: number;
  /** Of equal ranks, the lower arrival is next. */
  arrival: number;
  since: number;
  until: number | null;
}

/** What `grad` of a Variable is from one position on. */
export interface Grad {
  variable: string;
  at: number;
  /** A blob version; null: no gradient. */
  value: string | null;
  how: (typeof WRITINGS)[number];
}

/** How many names of a pool are in use from one position on, and how many wait to be taken again. */
export interface Pool {
  name: string;
  at: number;
  in_use: number;
  free: number;
}

/** What the schedule of a define-by-run pass held, as its changes. */
export interface Schedule {
  /** Of each forward line; null: it is no function that can go backward. */
  ranks: (number | null)[];
  waits: Wait[];
  grads: Grad[];
  pools: Pool[];
}

/** A breakpoint: its texts are parsed when it is used, and nothing in them is executed. */
export interface BreakpointEntry {
  /** Unique in its list. */
  id: number;
  /** A target of "run to", a condition, or "target if condition". */
  on: string;
  /** A message with conditions between braces; the breakpoint then tells it and does not stop. */
  log: string | null;
  /** So many of the first occurrences do not count. */
  ignore: number;
  /** Of those that count, each so many-th. */
  every: number;
  enabled: boolean;
}

/** Neighbours of a large net that the drawing shows as one node in each lane until it opens. */
export interface NodeGroup {
  /** "g0", in a nested net "s0.g0". */
  id: string;
  /** The group that it lies in, one before it. */
  around: string | null;
  /** The lines that are in it and in no group inside of it. */
  lines: string[];
  /** What it shows when it opens, an index into the graph's shapes, and what the shape says here. */
  shape: number;
  words: string[];
}

/** `phrases` are what all shapes have in common, in pieces. */
export type Graph = { svg: string; dot: string; groups: NodeGroup[]; shapes: string[]; phrases: string[] } | { omitted: string };

/** What kept the program from being run, found before its first operator. */
export interface Obstacle {
  /** That of the error: "undefined_blob", "shape_mismatch", ... */
  kind: string;
  message: string;
  /** Sentences, each one way to repair it. */
  ways_out: string[];
  blobs: string[];
  /** The lines at fault, of the outermost net. */
  lines: string[];
}

/** What an operator type computes, in plain text about the names of its inputs and outputs. */
export interface Formula {
  formula: string;
  /** Empty: not known. */
  derivative: string;
  /** As in a signature: "b?" may be left out, "xs..." stands for any number. */
  inputs: string[];
  outputs: string[];
}

export interface Trace {
  format: typeof FORMAT;
  version: typeof VERSION;
  producer: string;
  engine: (typeof ENGINES)[number];
  name: string;
  summary: string;
  /** Why the program was not run although a workspace was given. */
  obstacle: Obstacle | null;
  net: Record<string, unknown>;
  ys: string[] | Record<string, GradientName | null>;
  skip: number;
  forward: Line[];
  backward: Line[];
  /** The nested nets, an outer one before those inside of it. */
  subnets: Subnet[];
  events: TraceEvent[];
  frames: Frame[];
  /** The values around all nested nets, by blob version. */
  values: Record<string, Value>;
  /** The values in frames. */
  arrays: Value[];
  stacks: Workspaces[];
  ledgers: Ledger[];
  merges: Merge[];
  gradients: Record<string, GradientName>;
  graph: Graph;
  /** Null: the pass was not run by a schedule. */
  schedule: Schedule | null;
  /** By operator type. */
  formulas: Record<string, Formula>;
  breakpoints: BreakpointEntry[];
  /** Expressions about blobs. */
  watches: string[];
}

/** What a person marks in a recording. */
export type Marks = Pick<Trace, "breakpoints" | "watches">;
