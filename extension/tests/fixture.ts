// A hand-made trace: FC, Relu, FC, Relu, Sum, FC, SoftmaxWithLoss, with a skip connection whose gradients are added.

import type { EventKind, Ledger, Line, Phase, Trace, TraceEvent, Value } from "../src/model/schema";

type Operator = [type: string, inputs: string[], outputs: string[], formula: string];

const FORWARD: Operator[] = [
  ["FC", ["x@0", "w1@0", "b1@0"], ["h@0"], "h = x·w1ᵀ + b1"],
  ["Relu", ["h@0"], ["a@0"], "a = max(h, 0)"],
  ["FC", ["a@0", "w2@0", "b2@0"], ["u@0"], "u = a·w2ᵀ + b2"],
  ["Relu", ["u@0"], ["v@0"], "v = max(u, 0)"],
  ["Sum", ["v@0", "a@0"], ["s@0"], "s = v + a"],
  ["FC", ["s@0", "w3@0", "b3@0"], ["z@0"], "z = s·w3ᵀ + b3"],
  ["SoftmaxWithLoss", ["z@0", "label@0"], ["p@0", "loss@0"], "p = softmax(z), loss = mean(-log p[label])"],
];

type Backward = Operator | null;
/** One for each forward operator, from the last to the first; null passes its gradient through. */
const BACKWARD: Backward[] = [
  ["SoftmaxWithLossGradient", ["z@0", "label@0", "p@0", "loss_autogen_grad@0"], ["z_grad@0"], "∂z = (p - onehot(label))·∂loss / n"],
  ["FCGradient", ["s@0", "w3@0", "z_grad@0"], ["w3_grad@0", "b3_grad@0", "s_grad@0"], "∂w3 = ∂zᵀ·s, ∂b3 = Σ∂z, ∂s = ∂z·w3"],
  null,
  ["ReluGradient", ["v@0", "s_grad@0"], ["u_grad@0"], "∂u = ∂v·(v > 0)"],
  ["FCGradient", ["a@0", "w2@0", "u_grad@0"], ["w2_grad@0", "b2_grad@0", "a_grad@0"], "∂w2 = ∂uᵀ·a, ∂b2 = Σ∂u, ∂a = ∂u·w2"],
  ["ReluGradient", ["a@0", "a_grad@0"], ["h_grad@0"], "∂h = ∂a·(a > 0)"],
  ["FCGradient", ["x@0", "w1@0", "h_grad@0"], ["w1_grad@0", "b1_grad@0", "x_grad@0"], "∂w1 = ∂hᵀ·x, ∂b1 = Σ∂h, ∂x = ∂h·w1"],
];

const operatorLine = (id: string, operator: Operator, role: Line["role"], of: number | null): Line => {
  const [type, inputs, outputs, formula] = operator;
  return { id, kind: "operator", many: 1, left_out: 0, type, inputs, outputs, args: {}, subnets: {}, device: "cpu", name: "", code: null, of, role, made: 0, history: [], formula, gradient: null, ran: null, stale: null };
};

const PREVIEW = Array.from({ length: 6 }, (_, row) =>
  Array.from({ length: 16 }, (_, column) => Math.round(Math.sin(row * 5.3 + column * 1.7) * 400) / 1000),
);

export const matrix = (overrides: Partial<Value> = {}): Value => ({
  shape: [64, 32], dtype: "float32", device: "cpu", size: 2048,
  min: -1.14, max: 1.01, mean: 0.0021, mean_abs: 0.041, norm: 2.275, nan: 0, inf: 0, zero: 512,
  preview: PREVIEW, rows: 64, columns: 32, seconds: null, stack: null, subnormal: null, histogram: [], ...overrides,
});

const scalar = (number: number): Value =>
  matrix({ shape: [], size: 1, min: number, max: number, mean: number, mean_abs: number, norm: number, zero: 0, preview: [[number]], rows: 1, columns: 1 });

export const NO_ROW: TraceEvent["row"] = { operator: null, writes: [], is_gradient: false, added: null };

/** The row that Python makes of an event, when lines have their final names. */
function rowOf({ kind, forward, lines: ids }: TraceEvent, position: number, lines: Line[]): TraceEvent["row"] {
  const writing = lines.filter((line) => ids.includes(line.id) && line.kind === "operator" && (kind === "Ran" || line.made === position));
  const operator = kind !== "Ran" && forward !== null ? `f${forward}` : (ids[ids.length - 1] ?? null);
  const isGradient = writing.some(({ role }) => role !== "forward");
  return { operator, writes: writing.flatMap(({ outputs }) => outputs), is_gradient: isGradient, added: kind === "Accumulated" ? [0, 2] : null };
}

/** Collects events; a line that is made gets its position and its first form. */
class Recorder {
  readonly events: TraceEvent[] = [];
  private group = -1;

  open(): void {
    this.group++;
  }

  add(kind: EventKind, phase: Phase, narration: string, more: Partial<TraceEvent> = {}): number {
    const forward = more.forward ?? null;
    const named = forward === null ? [] : [FORWARD[forward]?.[0] ?? "", `#${forward}`];
    const blobs = (more.blobs ?? []).flatMap((version) => [version, version.split("@")[0] ?? ""]);
    const event = { group: this.group, forward, lines: [], blobs: [], ledger: null, subnet: null, frame: null, seconds: null, detail: {}, row: NO_ROW, ...more };
    this.events.push({ kind, phase, narration: { template: 0, arguments: [narration] }, targets: [kind, ...named, ...blobs], ...event });
    return this.events.length;
  }

  make(line: Line, kind: EventKind, phase: Phase, narration: string, more: Partial<TraceEvent> = {}): void {
    line.made = this.add(kind, phase, narration, { lines: [line.id], blobs: line.outputs, ...more });
    line.history.push({ at: line.made, inputs: line.inputs, outputs: line.outputs });
  }
}

/** The accumulation of `a`: renames what FC #2 wrote, adds the line that sums, returns the ledger. */
function accumulate(recorder: Recorder, backward: Line[], producer: Line): Ledger {
  const sum = operatorLine(`b${backward.filter((line) => line.kind === "operator").length}`,
    ["Sum", ["_a_grad_autosplit_0@0", "s_grad@0"], ["a_grad@0"], "a_grad = Σ contributions"], "accumulation", 2);
  backward.push(sum);
  recorder.make(sum, "Accumulated", "generate",
    "`a@0` is read by two operators, FC #2 and Sum #4. Both have sent their gradient and #2 is its first reader, so they are added here: `a_grad = _a_grad_autosplit_0 + s_grad`.",
    { forward: 2, lines: [producer.id, sum.id], blobs: ["a_grad@0", "a@0"], ledger: 0 });
  producer.outputs = ["w2_grad@0", "b2_grad@0", "_a_grad_autosplit_0@0"];
  producer.history.push({ at: sum.made, inputs: producer.inputs, outputs: producer.outputs });
  return {
    blob: "a@0", at: sum.made, total: "a_grad@0", norm: 2.275, cancellation: 0.17, subnet: null, frame: null,
    contributions: [
      { gradient: "_a_grad_autosplit_0@0", producer: "FCGradient #2", of: 2, how: "generated", path: ["#2", "u", "v", "s", "z", "loss"], norm: 0.812, share: 0.31, cosine: 0.42, frame: null },
      { gradient: "s_grad@0", producer: "Sum #4", of: 4, how: "passed", path: ["#4", "z", "loss"], norm: 1.934, share: 0.69, cosine: 0.93, frame: null },
    ],
  };
}

function generate(recorder: Recorder, backward: Line[]): Ledger[] {
  const ledgers: Ledger[] = [];
  recorder.open();
  const seed = operatorLine("b0", ["ConstantFill", ["loss@0"], ["loss_autogen_grad@0"], "∂loss = 1"], "seed", null);
  backward.push(seed);
  recorder.make(seed, "Seeded", "generate", "`loss@0` is what we differentiate: its gradient is 1.");
  BACKWARD.forEach((operator, step) => {
    const index = FORWARD.length - 1 - step;
    const type = FORWARD[index]?.[0] ?? "";
    recorder.open();
    recorder.add("Visited", "generate", `${type} #${index} is next: a gradient of what it writes is known.`, { forward: index, blobs: FORWARD[index]?.[2] ?? [] });
    const id = operator ? `b${backward.filter((line) => line.kind === "operator").length}` : `p${index}`;
    const line = operator
      ? operatorLine(id, operator, "gradient", index)
      : { ...operatorLine(id, ["Sum", ["s_grad@0"], ["v@0", "a@0"], "∂v = ∂s, ∂a = ∂s"], "passed", index), kind: "passed" as const };
    backward.push(line);
    const rule = operator ? `The rule of ${type} gives one operator, \`${operator[0]}\`.` : "The rule of Sum gives no operator: `s_grad@0` passes through to `v@0` and `a@0`.";
    recorder.make(line, "RuleApplied", "generate", rule, { forward: index, blobs: operator ? line.outputs : ["s_grad@0"] });
    recorder.add("InputChecked", "generate", `What \`${line.type}\` reads is still the version that #${index} read.`, { forward: index, lines: [], blobs: line.inputs });
    if (index === 2) ledgers.push(accumulate(recorder, backward, line));
  });
  recorder.open();
  recorder.add("Completed", "generate", "The backward pass is complete: every blob that was asked for has its gradient.");
  return ledgers;
}

function execute(recorder: Recorder, lines: Line[], values: Record<string, Value>): void {
  for (const line of lines.filter((one) => one.kind === "operator")) {
    recorder.open();
    for (const version of line.outputs) values[version] = version.startsWith("loss") ? scalar(0.6931) : matrix();
    line.ran = recorder.add("Ran", "run", `\`${line.type}\` ran on cpu in 12 µs.`, { lines: [line.id], blobs: line.outputs, forward: line.role === "forward" ? line.of : null });
  }
}

/** The graph that the fixture carries: what the renderer writes is none of the tests' business. */
const GRAPH = { svg: null, omitted: "drawn elsewhere", groups: [], shapes: [], phrases: [], folded: {}, whole: null };

/** A trace as JSON has it: rows are lists, arrays stand behind their kinds. */
export function written(trace: Trace): Record<string, any> {
  const events = trace.events.map(({ row, narration, ...event }) => ({
    ...event, narration: [narration.template, narration.arguments], row: [row.operator, row.writes, row.is_gradient, row.added],
  }));
  return JSON.parse(JSON.stringify({ ...trace, events, arrays: { kinds: [], rows: [] } })) as Record<string, any>;
}

export function residualTrace(options: { execute: boolean } = { execute: true }): Trace {
  const recorder = new Recorder();
  const forward = FORWARD.map((operator, index) => operatorLine(`f${index}`, operator, "forward", index));
  recorder.open();
  forward.forEach((line, index) =>
    recorder.make(line, "Played", "play", `${line.type} #${index} writes ${line.outputs.map((name) => `\`${name}\``).join(", ")}.`, { forward: index }),
  );
  const backward: Line[] = [];
  const ledgers = generate(recorder, backward);
  const values: Record<string, Value> = { "x@0": matrix(), "w1@0": matrix({ shape: [32, 32], size: 1024, rows: 32 }), "label@0": matrix({ shape: [64], dtype: "int32", size: 64, rows: 1, columns: 64, preview: [PREVIEW[0] ?? []] }) };
  if (options.execute) execute(recorder, [...forward, ...backward], values);
  const events = recorder.events.map((event, index) => ({ ...event, row: rowOf(event, index + 1, [...forward, ...backward]) }));
  const net = { name: "residual", ops: FORWARD.map(([type, inputs, outputs]) => ({ type, inputs, outputs })) };
  return {
    format: "gradviz-trace", version: 6, producer: "gradviz 0.1.0", engine: "symbolic", part: null, name: "residual", summary: "A net of 7 operators.", obstacle: null, upcoming: null, net,
    ys: ["loss"], skip: 0, forward, backward, subnets: [], templates: ["{text}"], events, frames: [], values, arrays: [], stacks: [], ledgers, merges: [],
    gradients: { x: "x_grad@0", a: "a_grad@0", w1: "w1_grad@0" }, graph: GRAPH, schedule: null, formulas: {}, sources: [], rules: {}, breakpoints: [], watches: [],
  };
}
