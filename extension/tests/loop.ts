// A loop as Python writes it: While #1 runs a Do, whose net is one Tanh, three times; its backward pass goes back through them.

import { parseTrace } from "../src/model/document/parse";
import type { Line, Trace } from "../src/model/schema";

export const ROUNDS = 3;

type Written = Record<string, unknown>;

const line = (id: string, type: string, inputs: string[], outputs: string[], more: Partial<Line> = {}): Written => ({
  id, kind: "operator", type, inputs, outputs, args: {}, subnets: {}, device: null, name: "", of: null,
  role: id.includes("b") ? "gradient" : "forward", made: 0, history: [{ at: 0, inputs, outputs }], formula: "", ran: null, ...more,
});

const FORWARD = [
  line("f0", "CreateScope", [], ["W@0"]),
  line("f1", "While", ["x@0", "W@0"], ["x@1", "W@1"], { subnets: { cond_net: "s0", loop_net: "s1" } }),
];
const BACKWARD = [line("b0", "While", ["g@0", "W@1"], ["g@1", "W@2"], { of: 1, subnets: { loop_net: "s1" } })];
const SUBNETS = [
  { id: "s0", owner: "f1", backward_owner: null, argument: "cond_net", name: "test", path: ["1.cond_net"], forward: [line("s0.f0", "LT", ["i@0"], ["go@0"])], backward: [], blobs: ["go@0"] },
  {
    id: "s1", owner: "f1", backward_owner: "b0", argument: "loop_net", name: "loop", path: ["1.loop_net"], blobs: ["x@1", "W@1"],
    forward: [line("s1.f0", "Do", ["x@0", "W@0"], ["x@1", "W@1"], { subnets: { net: "s2" } })],
    backward: [line("s1.b0", "Do", ["g@0", "W@1"], ["g@1", "W@2"], { of: 0, subnets: { net: "s2" } })],
  },
  {
    id: "s2", owner: "s1.f0", backward_owner: "s1.b0", argument: "net", name: "body", path: ["1.loop_net", "0.net"], blobs: ["x@0", "x@1", "x_grad@0"],
    forward: [line("s2.f0", "Tanh", ["x@0"], ["x@1"])],
    backward: [line("s2.b0", "TanhGradient", ["x@1", "g@0"], ["x_grad@0"], { of: 0 })],
  },
];

/** Collects events and frames as they are written: whole the first time, then as rows. */
class Writer {
  readonly events: (Written | unknown[])[] = [];
  readonly frames: unknown[][] = [];
  readonly arrays: unknown[][] = [];
  readonly stacks = [{ count: 0, frame: null as number | null, below: null as number | null }];
  private readonly first = new Map<string, number>();
  private groups = 0;

  newGroup(): number {
    return this.groups++;
  }

  add(key: string, event: Written, group: number, frame: number | null, words: string): void {
    const like = this.first.get(key);
    const seconds = event["kind"] === "Ran" ? 1e-6 : null;
    if (like !== undefined) this.events.push([like, group, frame, seconds, 0, [words]]);
    else {
      this.first.set(key, this.events.length);
      const plain = { phase: "run", forward: null, lines: [], blobs: [], ledger: null, targets: [event["kind"]], detail: {} };
      this.events.push({ ...plain, narration: [0, [words]], group, frame, seconds, subnet: null, ...event });
    }
  }

  frame(subnet: string, around: number | null, operator: number, iteration: number | null, count: number | null, isBackward: boolean, values: (number | null)[]): number {
    return this.frames.push([subnet, around, operator, iteration, count, isBackward, values]) - 1;
  }

  number(value: number): number {
    return this.arrays.push([0, [[value]]]) - 1;
  }
}

function test(writer: Writer, group: number, iteration: number): void {
  const frame = writer.frame("s0", null, 1, iteration, ROUNDS + 1, false, [writer.number(iteration < ROUNDS ? 1 : 0)]);
  writer.add("into test", { kind: "EnteredSubnet", subnet: "s0", lines: ["f1"], detail: { argument: "cond_net", name: "test" } }, group, frame, `test ${iteration}`);
  writer.add("test", { kind: "Ran", subnet: "s0", lines: ["s0.f0"], blobs: ["go@0"], targets: ["Ran", "LT", "go"] }, writer.newGroup(), frame, "tested");
  writer.add("out of test", { kind: "LeftSubnet", lines: ["f1"], detail: { argument: "cond_net", name: "test" } }, group, null, "tested");
}

/** One iteration forward, or its backward pass. */
function round(writer: Writer, group: number, iteration: number, isBackward: boolean): void {
  const [half, owner, place] = isBackward ? ["b0", "b0", 2] : (["f0", "f1", 1] as const);
  const loop = writer.frame("s1", null, place, iteration, ROUNDS, isBackward, []);
  const forward = isBackward ? ROUNDS - 1 - iteration : iteration;
  const value = writer.number(10 * (forward + 1));
  const body = writer.frame("s2", loop, 0, null, null, isBackward, isBackward ? [null, value, writer.number(-forward)] : [null, value]);
  if (!isBackward) writer.stacks.push({ count: iteration + 1, frame: body, below: iteration });
  const key = String(isBackward);
  const inner = writer.newGroup();
  writer.add(`into loop ${key}`, { kind: "EnteredSubnet", subnet: "s1", lines: [owner], detail: { argument: "loop_net", name: "loop" } }, group, loop, `round ${iteration} begins`);
  writer.add(`into body ${key}`, { kind: "EnteredSubnet", subnet: "s2", lines: [`s1.${half}`], detail: { argument: "net", name: "body" } }, inner, body, "body");
  const ran = { kind: "Ran", subnet: "s2", forward: 0, lines: [`s2.${half}`], blobs: isBackward ? ["x_grad@0", "x@1"] : ["x@1", "x@0"], targets: ["Ran", "Tanh"] };
  writer.add(`ran ${key}`, ran, writer.newGroup(), body, `ran ${iteration}`);
  writer.add(`out of body ${key}`, { kind: "LeftSubnet", subnet: "s1", lines: [`s1.${half}`], detail: { argument: "net", name: "body" } }, inner, loop, "body left");
  writer.add(`do ${key}`, { kind: "Ran", subnet: "s1", forward: 0, lines: [`s1.${half}`], targets: ["Ran", "Do"] }, inner, loop, "did");
  writer.add(`out of loop ${key}`, { kind: "LeftSubnet", lines: [owner], detail: { argument: "loop_net", name: "loop" } }, group, null, `round ${iteration} ends`);
}

/** The document as JSON has it. */
export function loopDocument(): Written {
  const writer = new Writer();
  writer.add("scope", { kind: "Ran", forward: 0, lines: ["f0"], blobs: ["W@0"], targets: ["Ran", "#0"] }, writer.newGroup(), null, "made");
  const forward = writer.newGroup();
  for (let iteration = 0; iteration < ROUNDS; iteration++) {
    test(writer, forward, iteration);
    round(writer, forward, iteration, false);
  }
  test(writer, forward, ROUNDS);
  writer.add("while", { kind: "Ran", forward: 1, lines: ["f1"], blobs: ["x@1", "W@1"], targets: ["Ran", "#1"] }, forward, null, "looped");
  const backward = writer.newGroup();
  for (let iteration = 0; iteration < ROUNDS; iteration++) round(writer, backward, iteration, true);
  writer.add("gradient", { kind: "Ran", forward: 1, lines: ["b0"], blobs: ["g@1"], targets: ["Ran"] }, backward, null, "looped back");
  const stack = { shape: [ROUNDS], dtype: "workspaces", device: "cpu", size: ROUNDS, min: null, max: null, mean: null, mean_abs: null, norm: null, nan: 0, inf: 0, zero: 0, preview: [], rows: 0, columns: 0, stack: ROUNDS };
  return {
    format: "gradviz-trace", version: 6, producer: "gradviz tests", engine: "symbolic", name: "loop", summary: "", obstacle: null, net: {}, ys: ["x"], skip: 0,
    forward: FORWARD, backward: BACKWARD, subnets: SUBNETS, templates: ["{words}", "{who} {what} {when}"], events: writer.events, frames: writer.frames, values: { "W@1": stack },
    arrays: { kinds: [[[], "float64", "cpu"]], rows: writer.arrays }, stacks: writer.stacks, ledgers: [], merges: [], gradients: {}, graph: { omitted: "drawn elsewhere" },
  };
}

export function loopTrace(): Trace {
  return parseTrace(JSON.stringify(loopDocument()));
}
