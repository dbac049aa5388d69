import assert from "node:assert/strict";
import { test } from "node:test";

import { parseTrace } from "../../../src/model/document/parse";
import { isNew, scheduleAt } from "../../../src/views/inspector/state";
import type { Schedule, Trace } from "../../../src/model/schema";
import { residualTrace, written } from "../../fixture";

/** FC #5 reaches Relu #3 and Relu #1, which have one rank, and later FC #2. */
const SCHEDULE: Schedule = {
  ranks: [0, 1, 2, 3, 4, 5, 6],
  waits: [
    { function: 5, rank: 5, arrival: 1, since: 8, until: 9 },
    { function: 3, rank: 1, arrival: 2, since: 12, until: 15 },
    { function: 1, rank: 1, arrival: 3, since: 13, until: 20 },
    { function: 2, rank: 2, arrival: 4, since: 14, until: null },
  ],
  grads: [
    { variable: "w1", at: 0, value: "w1.grad@0", how: "held" },
    { variable: "x", at: 21, value: "x.grad@0", how: "new" },
    { variable: "w1", at: 22, value: "w1.grad@1", how: "added" },
    { variable: "x", at: 23, value: null, how: "dropped" },
  ],
  pools: [
    { name: "operators", at: 0, in_use: 0, free: 3 },
    { name: "operators", at: 8, in_use: 7, free: 0 },
  ],
};

const traced = (): Trace => ({ ...residualTrace(), engine: "rank", schedule: SCHEDULE });

/** The document as Python writes it: stays and gradients as rows. */
function document(schedule: unknown, engine: unknown = "rank"): string {
  return JSON.stringify({ ...written(residualTrace()), engine, schedule });
}

const ROWS = {
  ranks: SCHEDULE.ranks,
  waits: SCHEDULE.waits.map((one) => [one.function, one.rank, one.arrival, one.since, one.until]),
  grads: SCHEDULE.grads.map((one) => [one.variable, one.at, one.value, one.how]),
  pools: SCHEDULE.pools.map((one) => [one.name, one.at, one.in_use, one.free]),
};

const heapAt = (position: number): number[] => scheduleAt(traced(), position)?.heap.map((one) => one.function) ?? [];

test("the heap is ordered by rank, then by arrival", () => {
  assert.deepEqual([7, 8, 9, 12, 13, 14, 15, 20].map(heapAt), [[], [5], [], [3], [3, 1], [2, 3, 1], [2, 1], [2]]);
});

test("the function that was taken out last is told", () => {
  const taken = (position: number): number | undefined => scheduleAt(traced(), position)?.taken?.function;
  assert.deepEqual([8, 9, 14, 15, 20].map(taken), [undefined, 5, 5, 3, 1]);
});

test("grad of a Variable is what was written last", () => {
  const at = (position: number): (string | null)[] => scheduleAt(traced(), position)?.grads.map((one) => one.value) ?? [];
  assert.deepEqual([0, 20, 21, 22, 23].map(at), [
    ["w1.grad@0"], ["w1.grad@0"], ["w1.grad@0", "x.grad@0"], ["w1.grad@1", "x.grad@0"], ["w1.grad@1", null],
  ]);
});

test("a pool is as full as it was told last", () => {
  const used = (position: number): number[] => scheduleAt(traced(), position)?.pools.map((one) => one.in_use) ?? [];
  assert.deepEqual([0, 7, 8, 20].map(used), [[0], [0], [7], [7]]);
});

test("only what the last event did is new", () => {
  assert.deepEqual([isNew(3, 3), isNew(3, 4), isNew(0, 0)], [true, false, false]);
});

test("a recording of a net has no schedule", () => {
  assert.equal(scheduleAt(residualTrace(), 5), null);
  const { schedule: _, ...older } = JSON.parse(document(null, "symbolic")) as Record<string, unknown>;
  assert.equal(parseTrace(JSON.stringify(older)).schedule, null);
});

test("a schedule is read as Python writes it", () => {
  const read = parseTrace(document(ROWS));
  assert.equal(read.engine, "rank");
  assert.deepEqual(read.schedule, SCHEDULE);
});

test("an engine that somebody has registered has a name of its own", () => {
  assert.equal(parseTrace(document(ROWS, "scalars")).engine, "scalars");
});

test("a schedule that is damaged is refused, and says where", () => {
  const refusal = (schedule: unknown, message: RegExp): void => assert.throws(() => parseTrace(document(schedule)), { message });
  refusal({ ...ROWS, ranks: [1] }, /schedule\.ranks has 1 ranks for 7 forward lines/);
  refusal({ ...ROWS, waits: [[7, 0, 1, 1, null]] }, /schedule\.waits\[0\]\[0\] is 7, and there are 7 operators/);
  refusal({ ...ROWS, waits: [[0, 0, 1, 99_999, null]] }, /schedule\.waits\[0\]\[3\] is 99999, and there are \d+ positions/);
  refusal({ ...ROWS, waits: [3] }, /schedule\.waits\[0\] is 3, not a list/);
  refusal({ ...ROWS, grads: [["x", 0, null, "stolen"]] }, /schedule\.grads\[0\]\[3\] is "stolen", not one of held, new/);
  assert.throws(() => parseTrace(document(ROWS, 3)), { message: /engine/ });
});
