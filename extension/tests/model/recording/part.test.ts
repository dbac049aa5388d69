import assert from "node:assert/strict";
import { test } from "node:test";

import { occurrencesOf } from "../../../src/model/filters/occurrences";
import { parseTrace } from "../../../src/model/document/parse";
import { backOver, clamp, crumbs, currentEvent, narrationAt, occursAt, over } from "../../../src/model/recording/cursor";
import { eventAt } from "../../../src/model/recording/lookup";
import { isComputed } from "../../../src/model/recording/values";
import type { Part } from "../../../src/model/schema/trace.gen";
import type { Trace } from "../../../src/model/schema";
import { residualTrace, written } from "../../fixture";
import { loopTrace } from "../../loop";

const FIRST = 9;

/** The events of a trace from a position on, so many of them, with the nets that are open there. */
function partOf(trace: Trace, first: number, count: number): Trace & { part: Part } {
  const entered = crumbs(trace, first).map(({ subnet, frame, entered: at }) => ({ subnet: subnet.id, frame, at: at + 1 }));
  const part = { first, length: trace.events.length, forward: trace.forward.length, backward: trace.backward.length, whole: null, entered, is_called: false };
  return { ...trace, part, events: trace.events.slice(first, first + count) };
}

const whole = residualTrace();
const part = partOf(whole, FIRST, 12);

test("positions of a part are those of the recording", () => {
  assert.equal(currentEvent(part, FIRST + 3), whole.events[FIRST + 2]);
  assert.equal(eventAt(part, FIRST), whole.events[FIRST]);
  assert.equal(currentEvent(part, FIRST), undefined);
  assert.equal(clamp(part, Infinity), whole.events.length);
  assert.equal(narrationAt(part, FIRST + 3), narrationAt(whole, FIRST + 3));
});

test("verbs lead within a part as in the recording, and not beyond it", () => {
  const inside = Array.from({ length: 12 }, (_, index) => FIRST + index);
  const end = FIRST + 12;
  assert.deepEqual(inside.map((position) => over(part, position)), inside.map((position) => Math.min(end, over(whole, position))));
  assert.deepEqual(inside.map((position) => backOver(part, position + 1)), inside.map((position) => Math.max(FIRST, backOver(whole, position + 1))));
});

test("what is looked for in a part is found where it is in the recording", () => {
  const here = (positions: number[]): number[] => positions.filter((position) => position > FIRST && position <= FIRST + 12);
  for (const word of ["RuleApplied", "FC", "a"]) assert.deepEqual(occursAt(part, word), here(occursAt(whole, word)));
  assert.deepEqual(occurrencesOf(part, "Accumulated if n > 1").positions, here(occurrencesOf(whole, "Accumulated if n > 1").positions));
});

test("what functions computed forward is there since they were called, in a part too", () => {
  const place = { blob: "h@0", subnet: null, frame: null };
  const called = { ...part, part: { ...part.part, is_called: true } };
  assert.deepEqual([part, called].map((trace) => isComputed(trace, place, FIRST)), [false, true]);
});

test("a name that a part has not may be one of the recording", () => {
  assert.deepEqual(occurrencesOf(part, "elsewhere").positions, []);
  assert.throws(() => occurrencesOf(whole, "elsewhere"));
});

test("the nets that are open where a part begins are known from before", () => {
  const loop = loopTrace();
  const inside = loop.events.findIndex((_, index) => crumbs(loop, index).length === 2 && crumbs(loop, index + 2).length < 2);
  const later = partOf(loop, inside, 6);
  const openAt = (trace: Trace, position: number) => crumbs(trace, position).map(({ subnet, frame, entered }) => ({ subnet, frame, entered }));
  for (let position = inside; position <= inside + 6; position++) assert.deepEqual(openAt(later, position), openAt(loop, position));
});

test("a part that ends behind its recording is refused", () => {
  const document = { ...written(part), part: { ...part.part, first: whole.events.length - 3 } };
  assert.throws(() => parseTrace(JSON.stringify(document)), /part ends at event/);
});
