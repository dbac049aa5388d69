// Which lines of the user's code an event is about.

import assert from "node:assert/strict";
import { test } from "node:test";

import { codesAt } from "../../../src/model/filters/code";
import type { Trace } from "../../../src/model/schema";
import { residualTrace } from "../../fixture";

/** The two operators of each line of code. */
function coded(): Trace {
  const trace = residualTrace();
  const forward = trace.forward.map((line, index) => ({ ...line, code: { file: "cell 4", number: 10 + (index >> 1), text: `line ${index >> 1}` } }));
  return { ...trace, forward };
}

const numbers = (trace: Trace, position: number): number[] => codesAt(trace, position).map(({ number }) => number);

test("an event is about the line of its forward operator, and about those of what it changes behind it", () => {
  const trace = coded();
  assert.deepEqual(numbers(trace, 0), []);
  assert.deepEqual([1, 2, 3, 7].map((position) => numbers(trace, position)), [[10], [10], [11], [13]]);
  const position = (kind: string, about: string): number => 1 + trace.events.findIndex((event) => event.kind === kind && event.lines.includes(about));
  assert.deepEqual(numbers(trace, position("RuleApplied", "p4")), [12]);
  assert.deepEqual(numbers(trace, position("Ran", "f5")), [12]);
  assert.deepEqual(numbers(trace, position("Ran", "b3")), [11]);
  assert.deepEqual(numbers(trace, position("Seeded", "b0")), []);
});

test("what has no line of its own is about that of the operator that runs its net", () => {
  const trace = coded();
  const [inner] = residualTrace().forward;
  const net = { id: "s0", owner: "f6", backward_owner: null, argument: "net", name: "n", path: ["6.net"], forward: [{ ...inner!, id: "s0.f0" }], backward: [], blobs: [] };
  const events = trace.events.map((event, index) => (index === 0 ? { ...event, subnet: "s0", forward: 0, lines: ["s0.f0"] } : event));
  assert.deepEqual(numbers({ ...trace, subnets: [net], events }, 1), [13]);
});
