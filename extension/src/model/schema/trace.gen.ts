// Made from gradviz/debugger/document by `python -m tests.debugger.document.typescript`: change it there.

export const Aggregator = ["sum", "mean"] as const;
export const Kind = ["Played", "Seeded", "Visited", "Skipped", "RuleApplied", "InputChecked", "GeneratorAdded", "Accumulated", "GradWritten", "Deduplicated", "HookRan", "EnteredSubnet", "LeftSubnet", "ChangedByHand", "Ran", "Failed", "Completed"] as const;
export const Role = ["forward", "seed", "gradient", "accumulation", "deduplication", "duplicate", "handover", "passed"] as const;
export const Phase = ["play", "generate", "run"] as const;
export const How = ["held", "new", "added", "replaced", "dropped"] as const;
export type Aggregator = (typeof Aggregator)[number];
export type Kind = (typeof Kind)[number];
export type Role = (typeof Role)[number];
export type Phase = (typeof Phase)[number];
export type How = (typeof How)[number];
export type Gradient = string | GradientSlice;
export type Number = number | "-inf" | "inf" | "nan";

/**
 * A sparse gradient: row ``indices[i]`` of the blob gets ``values[i]``; repeated rows add.
 *
 * Attributes:
 * indices: name of an integer blob of shape (n,).
 * values: name of a blob of shape (n, ...).
 */
export interface GradientSlice {
  indices: string;
  values: string;
}

/** A nested net that was entered before; in JSON a list of its fields. */
export interface Entered {
  subnet: string;
  /** The run of it; None: while the pass was generated. */
  frame: number | null;
  /** The position after the event that entered it. */
  at: number;
}

/**
 * Of which part of a recording a document is: of so many events behind a position. Positions and numbers of
 * operators and groups are those of the recording; of what is about other events there is nothing.
 */
export interface Part {
  /** The position at which it begins. */
  first: number;
  /** The events of the recording. */
  length: number;
  /** Its forward operators, around all nested nets. */
  forward: number;
  /** Its gradient operators there. */
  backward: number;
  /** The position from which on the pass is whole; None: it has stopped before. */
  whole: number | null;
  /** The nested nets that are open where it begins, from the outside in. */
  entered: Entered[];
  /** Whether the recording has a schedule: what its functions computed forward is there since they were called. */
  is_called: boolean;
}

/**
 * A line of code.
 *
 * Attributes:
 * file: its name without folders, or the cell of a notebook.
 * number: from 1.
 * text: without the space around it; empty where the source is not there.
 */
export interface CodeLine {
  file: string;
  number: number;
  text: string;
}

/** How a line read from one position on. */
export interface Revision {
  /** From this position on; the first revision of a line is at its `made`. */
  at: number;
  inputs: string[];
  outputs: string[];
}

/** One line of the program: an operator, or a gradient that passes through one unchanged. */
export interface Line {
  /**
   * Forward "f0", "f1", ...; backward operator "b0", ... in the order of emission; passed "p<forward index>". In a
   * nested net behind the id of the net: "s0.f0", "s0.b0", "s0.p2".
   */
  id: string;
  /**
   * Stretch: the operators between two others of the net, or those that came from them, of which a part of a
   * recording says no more. Its id, `of` and `made` are those of the first of them, `ran` is that of the last.
   */
  kind: "operator" | "passed" | "stretch";
  /** For how many operators it stands. */
  many: number;
  /** The operator's type; for passed: the type of the forward operator; for a stretch the types in it. */
  type: string;
  /** Versions read, final names. For passed: the gradient that passes on. For a stretch: one for each line before. */
  inputs: string[];
  /**
   * Blob versions written, final names. For passed: the blobs whose gradient it is. For a stretch: those that other
   * lines read, one for each other stretch.
   */
  outputs: string[];
  /** So many inputs more are not in a part of a recording. */
  left_out: number;
  /** The arguments but for nested nets. */
  args: Record<string, unknown>;
  /** Argument -> the id of the nested net that the line runs from it, forward or backward. */
  subnets: Record<string, string>;
  /** For example "cpu" or "cuda:0"; None: not set. */
  device: string | null;
  /** What the user calls the operator, behind the scopes or modules that it is in: "encoder/layer1/fc". */
  name: string;
  /** Forward: the line of the user's code that called it. */
  code: CodeLine | null;
  /** Backward: index of the forward operator of the same net it came from; None where there is none. */
  of: number | null;
  role: Role;
  /** Exists from this position on. */
  made: number;
  /** How it read over time, oldest first; an accumulation renames the outputs of earlier lines. */
  history: Revision[];
  /** Plain text, "y = x·wᵀ + b"; empty: not known. */
  formula: string;
  /**
   * Forward: that of the first of its outputs that gets one, as it is in the end, of a sparse one the values. None:
   * no output gets one, or it is a stretch.
   */
  gradient: string | null;
  /** Position after its run, in a nested net the first one; None: never executed. */
  ran: number | null;
  /** From here on what it wrote is stale, since what it read was changed by hand; None: it is not. */
  stale: number | null;
}

/** A nested net and its backward pass. Its blobs have versions of their own, the backward pass goes on counting. */
export interface Subnet {
  /** "s0", "s1", ..., an outer one before those inside of it. */
  id: string;
  /** Id of the forward line that runs it; None: it only exists in a backward pass. */
  owner: string | null;
  /** Id of the backward line that runs its backward pass; None: there is none. */
  backward_owner: string | null;
  /** The argument of its owner that holds it: "net", "then_net", "else_net", "cond_net", "loop_net". */
  argument: string;
  name: string;
  /** The nested nets to go through to reach it, itself last: ["2.loop_net", "0.net"]. */
  path: string[];
  forward: Line[];
  /** In the order of emission, with the passed lines between. */
  backward: Line[];
  /** Its blob versions, in the order in which a `Frame` has their values. */
  blobs: string[];
}

/** One or two plain sentences, code between backticks; in JSON a list. */
export interface Narration {
  template: number;
  /** What fills the places of the template, in their order. */
  arguments: string[];
}

/**
 * What conditions, breakpoints and watches ask about in an event, beside its other fields; in JSON a list.
 *
 * It is about each blob that it writes, else about the first of its `blobs`.
 */
export interface EventRow {
  /** Id of the line that it is about: the operator that ran, else the forward one, else the last one made. */
  operator: string | null;
  /** Final names. */
  writes: string[];
  /** Whether these are gradients. */
  is_gradient: boolean;
  /** Of an accumulation how many of the gradients that it adds are sparse, and how many dense. */
  added: [number, number] | null;
}

/** One thing that happened. */
export interface TraceEvent {
  kind: Kind;
  narration: Narration;
  /** Events of one operator share a group; groups are contiguous, but that those of a nested net may lie inside. */
  group: number;
  phase: Phase;
  /** The nested net that we are in after the event; None: the outermost net. */
  subnet: string | null;
  /** The run of it; None while the pass is generated, and in the outermost net. */
  frame: number | null;
  /** Index of the forward operator that the event is about, in the subnet's forward lines. */
  forward: number | null;
  /** Ids of the lines that this event made, changed or ran. */
  lines: string[];
  /** Blob versions in focus, the most important one first. */
  blobs: string[];
  ledger: number | null;
  /** The words that `run_to` finds this event by; those of a frame's path and iteration are understood. */
  targets: string[];
  /** How long an operator ran. */
  seconds: number | null;
  /** The event's own fields, but for those that stand in others here: the seconds, the path of a frame. */
  detail: Record<string, unknown>;
  row: EventRow;
}

/** An event that is the same as event number `like` but for these fields. */
export interface Again {
  like: number;
  group: number;
  frame: number | null;
  seconds: number | null;
  at: number;
  /** Of its narration, from number `at` on; those before and behind are the other's. */
  arguments: string[];
}

/** One run of a nested net, forward or backward; in JSON a list of its fields. */
export interface Frame {
  subnet: string;
  /** The frame in which its operator ran, one before it; None: the outermost net. */
  around: number | null;
  /** Index of the operator that ran it: in the whole program, or in the net that ran around it. */
  operator: number;
  /** Of a loop, from 0. */
  iteration: number | null;
  /** How often the loop ran this net. */
  iterations: number | null;
  is_backward: boolean;
  /** For each of the subnet's blobs its value; None: not computed in this run. */
  values: (number | null)[];
}

/**
 * Statistics of an array; seen as (rows, last axis) where rows and columns are meant. NaN and infinities are
 * left out of min, max and the means. These and the norm are None for an array that is empty, and where the numbers
 * were left out to keep a page small.
 */
export interface Value {
  shape: number[];
  dtype: string;
  device: string;
  size: number;
  min: Number | null;
  max: Number | null;
  mean: Number | null;
  mean_abs: Number | null;
  norm: Number | null;
  nan: number;
  inf: number;
  zero: number;
  /** The first 6 rows and 16 columns at most, in a page that is to be small fewer; a scalar is [[v]]. */
  preview: Number[][];
  rows: number;
  columns: number;
  /** How long the operator that made it took; in a nested net its event says it. */
  seconds: number | null;
  /** For a stack of workspaces (dtype "workspaces"). */
  stack: number | null;
  /** Elements that are too small for the precision of their dtype, but not 0; None: not counted. */
  subnormal: number | null;
  /**
   * How many finite elements lie in each of so many equal bins from min to max; empty: not counted, because the
   * preview shows them all, or all are equal.
   */
  histogram: number[];
}

/** The statistics of an array; without `numbers` it has one element, the one in the preview, which is finite. */
export interface Measured {
  /** Shape, dtype and device, an index into the kinds. */
  kind: number;
  preview: Number[][];
  /** min, max, mean, mean_abs, norm. */
  numbers: (Number | null)[];
  /** nan, inf, zero, and subnormal where it was counted. */
  counts: number[];
  stack: number | null;
  histogram: number[];
}

/** Every array that frames refer to. */
export interface Arrays {
  /** Shape, dtype and device. */
  kinds: [number[], string, string][];
  rows: Measured[];
}

/** A stack of workspaces that Do keeps: the one on top, and the stack below. */
export interface Workspaces {
  count: number;
  /**
   * The run that left the workspace on top: its values are in there. None: the
   * stack is empty, or the workspace was there before the recording.
   */
  frame: number | null;
  /** The stack without it, one before it. */
  below: number | null;
}

/** One gradient that went into a sum. None in a number: not computed. */
export interface Contribution {
  gradient: string;
  /** Type and forward index, "FCGradient #2"; for one iteration of a loop "iteration 3". */
  producer: string;
  of: number | null;
  how: "generated" | "given" | "passed" | "seed";
  /** The operator, then the blobs on one way to a y: ["#2", "u", "v", "loss"]. */
  path: string[];
  norm: Number | null;
  /** <c, total> / <total, total>; the shares of a ledger sum to 1. */
  share: Number | null;
  cosine: Number | null;
  /** For one iteration of a loop: its run in the backward pass. */
  frame: number | null;
}

/** How much of a blob's gradient came from where. */
export interface Ledger {
  blob: string;
  /** Position after the event that added up: Accumulated or, for a loop, the Ran of its backward pass. */
  at: number;
  total: string;
  contributions: Contribution[];
  norm: Number | null;
  /** 1 - ||sum of c|| / sum of ||c||: 0 where all pull one way, 1 where they annihilate each other. */
  cancellation: Number | null;
  /** The nested net that the blob belongs to; None: the outermost net. */
  subnet: string | null;
  /** The run of it that the numbers are of; None: the outermost net, or nothing was run. */
  frame: number | null;
}

/** An index of a sparse gradient and how many of its rows had it. */
export interface MergedRow {
  index: number;
  times: number;
}

/** Rows of equal index in a blob's sparse gradient made one. None in a number: not computed. */
export interface Merge {
  blob: string;
  /** Position after the Deduplicated event. */
  at: number;
  aggregator: Aggregator;
  before: GradientSlice;
  after: GradientSlice;
  rows_before: number | null;
  rows_after: number | null;
  /** The first 8, the most repeated one first; equally repeated ones in the order of their indices. */
  most_repeated: MergedRow[];
  /** Largest difference of an element between the gradient before and after, as dense arrays. */
  difference: Number | null;
}

/** What kept the program from being run, found before its first operator. */
export interface Obstacle {
  /** That of the error: "undefined_blob", "unknown_operator", "shape_mismatch", ... */
  kind: string;
  message: string;
  /** Sentences, each one way to repair it: "Did you mean a?". */
  ways_out: string[];
  /** Names of the blobs at fault, most important first. */
  blobs: string[];
  /** Ids of the lines at fault, of the outermost net. */
  lines: string[];
}

/** A stay in the heap; in JSON a list of its fields. */
export interface Wait {
  function: number;
  rank: number;
  /** Of equal ranks, the lower arrival is next. */
  arrival: number;
  /** From this position on it waits. */
  since: number;
  /** From this position on it does not; None: it waits until the end of the recording. */
  until: number | null;
}

/** What ``grad`` of a Variable is from one position on; in JSON a list of its fields. */
export interface Grad {
  variable: string;
  at: number;
  /** None: no gradient. */
  value: string | null;
  how: How;
}

/** How many names of a pool are in use from one position on, and how many wait to be taken again; a list in JSON. */
export interface Pool {
  /** Of what the names are, and in which scope: "tensors: join", "operators". */
  name: string;
  at: number;
  in_use: number;
  free: number;
}

/** What happened to the heap, to every ``grad``, and to the pools of names. */
export interface Schedule {
  /** Of each forward operator; None: it is no function that can go backward. */
  ranks: (number | null)[];
  /** In the order in which they began. */
  waits: Wait[];
  /** In the order in which they happened. */
  grads: Grad[];
  /** In the order in which they changed; the tape schedule alone takes names. */
  pools: Pool[];
}

/**
 * Formula and derivative of an operator type, about the names of its inputs and outputs.
 *
 * Both are plain text: "y = x·wᵀ + b", "dw = dyᵀ·x, db = Σᵢ dyᵢ, dx = dy·w"; empty: not known.
 */
export interface Formula {
  formula: string;
  derivative: string;
  /** As a signature has them: ``b?`` may be left out, ``xs...`` stands for any number, also none. */
  inputs: string[];
  outputs: string[];
}

/** A stretch of the user's code; in JSON a list of its fields. */
export interface Source {
  /** As the code of lines names it. */
  file: string;
  /** The number of its first line. */
  first: number;
  text: string;
}

/** A breakpoint as a document has it. Its texts are parsed when it is used; nothing in them is executed. */
export interface BreakpointEntry {
  /** Unique in its list. */
  id: number;
  /** What `Session.break_on` takes: a target of `run_to`, "target if condition", or a condition. */
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
  /** "g0", "g1", ..., in a nested net behind the id of the net: "s0.g0". */
  id: string;
  /** The group that it lies in, one before it; None: it is on the outermost level of its net. */
  around: string | null;
  /** Ids of the lines of its net that are in it and in no group inside of it. */
  lines: string[];
  /** What it shows when it opens. */
  shape: number;
  /** What the shape says here. */
  words: string[];
}

/** The drawing, laid out once with everything made, or why it was `omitted`; a large net is drawn in groups. */
export interface Graph {
  svg: string | null;
  omitted: string | null;
  groups: NodeGroup[];
  /** SVG text. U+20000 stands for the first word, U+100 for the first phrase, the characters behind for the others. */
  shapes: string[];
  /** What all shapes have in common, in pieces. */
  phrases: string[];
  /** Plumbing: lines that `svg` has no node for, to the line whose node they are part of; so nested nets. */
  folded: Record<string, string>;
  /** The drawing with its plumbing; None: `svg` is. */
  whole: string | null;
}

/** The document as JSON has it: what repeats itself stands there once. */
export interface WrittenTrace {
  format: "gradviz-trace";
  version: 6;
  /** Who wrote it, "gradviz 0.1.0". */
  producer: string;
  /**
   * Who made the pass: ``symbolic``, rules asked for a net; ``rank`` and ``tape``, functions that ran backward in the
   * order of their ranks or of a tape; or an engine that somebody has registered.
   */
  engine: string;
  name: string;
  /** What the recording is about, in a sentence or two: shown before anything has happened. */
  summary: string;
  /** The forward net, whole, as `Net.to_dict` gives it. */
  net: Record<string, unknown>;
  /** What was differentiated; a dictionary gives each y its own gradient, None: ones. */
  ys: string[] | Record<string, Gradient | null>;
  /** How many leading operators the backward pass did not look at. */
  skip: number;
  /** What it is a part of; None: it is of the whole recording. */
  part: Part | null;
  forward: Line[];
  /** In the order of emission, with the passed lines between. */
  backward: Line[];
  /** The nested nets, an outer one before those inside of it. */
  subnets: Subnet[];
  /** Of the narrations: texts with places for what differs, ``{blob}``. What fills one is never looked at again. */
  templates: string[];
  events: (TraceEvent | Again)[];
  /** The runs of nested nets, in the order in which they began. */
  frames: Frame[];
  /** By blob version, only what was executed or fed around all nested nets. Absent means not computed, never 0. */
  values: Record<string, Value>;
  /** The values in frames, which refer to them by number. */
  arrays: Arrays;
  /** What scope blobs held; values refer to them by number. */
  stacks: Workspaces[];
  ledgers: Ledger[];
  merges: Merge[];
  /** Blob to the version of its gradient, "x_grad@0". */
  gradients: Record<string, Gradient>;
  /** Why the program was not run although a workspace was given; None: it was, or none was. */
  obstacle: Obstacle | null;
  /** What the schedule of a define-by-run pass held; None: the pass was not run by one. */
  schedule: Schedule | null;
  /** By operator type, of those that occur and have one. */
  formulas: Record<string, Formula>;
  /** The user's code around the lines that called operators: of a file in the order of its lines. */
  sources: Source[];
  /** The text of each rule that was applied, by the place that its events name: "gradviz/operators/linear.py:95". */
  rules: Record<string, string>;
  /** What a pass that stands still runs next, "#3 Tanh", where somebody is there to let it; None: all has happened. */
  upcoming: string | null;
  breakpoints: BreakpointEntry[];
  /** Expressions; as those of breakpoints they are parsed when they are used, and never executed. */
  watches: string[];
  graph: Graph;
}

/** All that is marked in a recording, as views of it exchange it. */
export interface Marked {
  breakpoints: BreakpointEntry[];
  watches: string[];
}

/** The document as it is worked with. */
export interface Trace extends Omit<WrittenTrace, "events" | "arrays"> {
  events: TraceEvent[];
  /** The values in frames, which refer to them by number. */
  arrays: Value[];
}

/** What Python and its views speak; see gradviz/notebook/session_protocol.py. */
export const PROTOCOL: number = 2;

/** What the reader goes by. */
export const TABLE = {
  Aggregator: { one: Aggregator },
  Kind: { one: Kind },
  Role: { one: Role },
  Phase: { one: Phase },
  How: { one: How },
  Gradient: { either: { string: "text", object: "GradientSlice" } },
  Number: { either: { number: "real", string: { one: ["-inf", "inf", "nan"] } } },
  GradientSlice: { fields: {
    indices: "text",
    values: "text",
  } },
  Entered: { isRow: true, fields: {
    subnet: "text subnets",
    frame: "?whole frames",
    at: "whole positions",
  } },
  Part: { fields: {
    first: "whole positions",
    length: "whole count",
    forward: "whole count",
    backward: "whole count",
    whole: ["?whole positions", null],
    entered: [{ list: "Entered" }, []],
    is_called: ["flag", false],
  } },
  CodeLine: { isRow: true, fields: {
    file: "text",
    number: { least: 0 },
    text: ["text", ""],
  } },
  Revision: { fields: {
    at: "whole positions",
    inputs: { list: "text versions" },
    outputs: { list: "text versions" },
  } },
  Line: { fields: {
    id: "text",
    kind: [{ one: ["operator", "passed", "stretch"] }, "operator"],
    many: [{ least: 1 }, 1],
    type: "text",
    inputs: { list: "text versions" },
    outputs: { list: "text versions" },
    left_out: ["whole count", 0],
    args: [{ map: "any" }, {}],
    subnets: [{ map: "text subnets" }, {}],
    device: ["?text", null],
    name: ["text", ""],
    code: ["?CodeLine", null],
    of: ["?whole count", null],
    role: "Role",
    made: "whole positions",
    history: { list: "Revision" },
    formula: ["text", ""],
    gradient: ["?text versions", null],
    ran: ["?whole positions", null],
    stale: ["?whole positions", null],
  } },
  Subnet: { fields: {
    id: "text",
    owner: "?text lines",
    backward_owner: ["?text lines", null],
    argument: "text",
    name: "text",
    path: { list: "text" },
    forward: { list: "Line" },
    backward: { list: "Line" },
    blobs: [{ list: "text versions" }, []],
  } },
  Narration: { isRow: true, fields: {
    template: "whole templates",
    arguments: [{ list: "text" }, []],
  } },
  EventRow: { isRow: true, fields: {
    operator: ["?text lines", null],
    writes: [{ list: "text versions" }, []],
    is_gradient: ["flag", false],
    added: [{ either: { list: { row: ["whole count", "whole count"] }, null: "null" } }, null],
  } },
  TraceEvent: { fields: {
    kind: "Kind",
    narration: "Narration",
    group: "whole count",
    phase: "Phase",
    subnet: ["?text subnets", null],
    frame: ["?whole frames", null],
    forward: ["?whole count", null],
    lines: [{ list: "text lines" }, []],
    blobs: [{ list: "text versions" }, []],
    ledger: ["?whole ledgers", null],
    targets: [{ list: "text" }, []],
    seconds: ["?real", null],
    detail: [{ map: "any" }, {}],
    row: ["EventRow", [null,[],false,null]],
  } },
  Again: { isRow: true, fields: {
    like: "whole count",
    group: "whole count",
    frame: "?whole frames",
    seconds: "?real",
    at: "whole count",
    arguments: { list: "text" },
  } },
  Frame: { isRow: true, fields: {
    subnet: "text subnets",
    around: "?whole frames",
    operator: "whole count",
    iteration: ["?whole count", null],
    iterations: ["?whole count", null],
    is_backward: ["flag", false],
    values: [{ list: "?whole arrays" }, []],
  } },
  Value: { fields: {
    shape: { list: "whole count" },
    dtype: "text",
    device: "text",
    size: "whole count",
    min: "?Number",
    max: "?Number",
    mean: "?Number",
    mean_abs: "?Number",
    norm: "?Number",
    nan: "whole count",
    inf: "whole count",
    zero: "whole count",
    preview: { most: 6, of: { list: { most: 16, of: { list: "Number" } } } },
    rows: "whole count",
    columns: "whole count",
    seconds: ["?real", null],
    stack: ["?whole stacks", null],
    subnormal: ["?whole count", null],
    histogram: [{ most: 64, of: { list: "whole count" } }, []],
  } },
  Measured: { isRow: true, fields: {
    kind: "whole count",
    preview: { most: 6, of: { list: { most: 16, of: { list: "Number" } } } },
    numbers: [{ list: "?Number" }, []],
    counts: [{ list: "whole count" }, []],
    stack: ["?whole stacks", null],
    histogram: [{ most: 64, of: { list: "whole count" } }, []],
  } },
  Arrays: { fields: {
    kinds: [{ list: { row: [{ list: "whole count" }, "text", "text"] } }, []],
    rows: [{ list: "Measured" }, []],
  } },
  Workspaces: { fields: {
    count: "whole count",
    frame: "?whole frames",
    below: ["?whole stacks", null],
  } },
  Contribution: { fields: {
    gradient: "text versions",
    producer: "text",
    of: ["?whole count", null],
    how: { one: ["generated", "given", "passed", "seed"] },
    path: [{ list: "text" }, []],
    norm: ["?Number", null],
    share: ["?Number", null],
    cosine: ["?Number", null],
    frame: ["?whole frames", null],
  } },
  Ledger: { fields: {
    blob: "text versions",
    at: "whole positions",
    total: "text versions",
    contributions: { list: "Contribution" },
    norm: ["?Number", null],
    cancellation: ["?Number", null],
    subnet: ["?text subnets", null],
    frame: ["?whole frames", null],
  } },
  MergedRow: { fields: {
    index: "whole",
    times: "whole count",
  } },
  Merge: { fields: {
    blob: "text versions",
    at: "whole positions",
    aggregator: "Aggregator",
    before: "GradientSlice versions",
    after: "GradientSlice versions",
    rows_before: ["?whole count", null],
    rows_after: ["?whole count", null],
    most_repeated: [{ most: 8, of: { list: "MergedRow" } }, []],
    difference: ["?Number", null],
  } },
  Obstacle: { fields: {
    kind: "text",
    message: "text",
    ways_out: [{ list: "text" }, []],
    blobs: [{ list: "text" }, []],
    lines: [{ list: "text lines" }, []],
  } },
  Wait: { isRow: true, fields: {
    function: "whole operators",
    rank: "whole count",
    arrival: "whole count",
    since: "whole positions",
    until: ["?whole positions", null],
  } },
  Grad: { isRow: true, fields: {
    variable: "text",
    at: "whole positions",
    value: "?text versions",
    how: "How",
  } },
  Pool: { isRow: true, fields: {
    name: "text",
    at: "whole positions",
    in_use: "whole count",
    free: "whole count",
  } },
  Schedule: { fields: {
    ranks: { list: "?whole count" },
    waits: [{ list: "Wait" }, []],
    grads: [{ list: "Grad" }, []],
    pools: [{ list: "Pool" }, []],
  } },
  Formula: { fields: {
    formula: "text",
    derivative: ["text", ""],
    inputs: [{ list: "text" }, []],
    outputs: [{ list: "text" }, []],
  } },
  Source: { isRow: true, fields: {
    file: "text",
    first: { least: 1 },
    text: { most: 200000, of: "text" },
  } },
  BreakpointEntry: { fields: {
    id: { least: 1 },
    on: { most: 1000, of: "text" },
    log: [{ either: { string: { most: 1000, of: "text" }, null: "null" } }, null],
    ignore: [{ least: 0 }, 0],
    every: [{ least: 1 }, 1],
    enabled: ["flag", true],
  } },
  NodeGroup: { fields: {
    id: "text",
    around: ["?text", null],
    lines: { list: "text lines" },
    shape: "whole shapes",
    words: { list: "text" },
  } },
  Graph: { fields: {
    svg: ["?text", null],
    omitted: ["?text", null],
    groups: [{ list: "NodeGroup" }, []],
    shapes: [{ list: "text" }, []],
    phrases: [{ list: "text" }, []],
    folded: [{ map: "text" }, {}],
    whole: ["?text", null],
  } },
  WrittenTrace: { fields: {
    format: [{ one: ["gradviz-trace"] }, "gradviz-trace"],
    version: [{ one: [6] }, 6],
    producer: "text",
    engine: ["text", "symbolic"],
    name: "text",
    summary: ["text", ""],
    net: { map: "any" },
    ys: { either: { list: { list: "text" }, object: { map: "?Gradient" } } },
    skip: ["whole count", 0],
    part: ["?Part", null],
    forward: { list: "Line" },
    backward: { list: "Line" },
    subnets: [{ list: "Subnet" }, []],
    templates: [{ list: "text" }, []],
    events: { list: { either: { object: "TraceEvent", list: "Again" } } },
    frames: [{ list: "Frame" }, []],
    values: [{ map: "Value", keys: "text versions" }, {}],
    arrays: ["Arrays", {"kinds":[],"rows":[]}],
    stacks: [{ list: "Workspaces" }, []],
    ledgers: [{ list: "Ledger" }, []],
    merges: [{ list: "Merge" }, []],
    gradients: [{ map: "Gradient versions" }, {}],
    obstacle: ["?Obstacle", null],
    schedule: ["?Schedule", null],
    formulas: [{ map: "Formula" }, {}],
    sources: [{ most: 1000, of: { list: "Source" } }, []],
    rules: [{ map: { most: 200000, of: "text" } }, {}],
    upcoming: ["?text", null],
    breakpoints: [{ list: "BreakpointEntry" }, []],
    watches: [{ list: { most: 1000, of: "text" } }, []],
    graph: ["Graph", {"omitted":"not drawn"}],
  } },
  Marked: { fields: {
    breakpoints: [{ list: "BreakpointEntry" }, []],
    watches: [{ list: { most: 1000, of: "text" } }, []],
  } },
} as const;
