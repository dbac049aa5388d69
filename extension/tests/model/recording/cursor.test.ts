import assert from "node:assert/strict";
import { test } from "node:test";

import { runTo } from "../../../src/model/filters/occurrences";
import { backOver, clamp, currentEvent, formAt, hasRun, lineState, namesAt, operatorCounts, over, touchedLines } from "../../../src/model/recording/cursor";
import { eventAt } from "../../../src/model/recording/lookup";
import type { Line } from "../../../src/model/schema";
import { residualTrace } from "../../fixture";

const trace = residualTrace();
const last = trace.events.length;
const lines = [...trace.forward, ...trace.backward];
const accumulated = trace.events.findIndex((event) => event.kind === "Accumulated") + 1;

function line(id: string): Line {
  const found = lines.find((one) => one.id === id);
  assert.ok(found, `the fixture has no line ${id}`);
  return found;
}

test("positions outside the recording are clamped into it", () => {
  assert.deepEqual([-3, 0, 2.9, last, last + 1, NaN].map((position) => clamp(trace, position)), [0, 0, 2, last, last, 0]);
});

test("at 0 nothing has happened, at the end nothing comes", () => {
  assert.equal(currentEvent(trace, 0), undefined);
  assert.equal(eventAt(trace, 0), trace.events[0]);
  assert.equal(currentEvent(trace, last), trace.events[last - 1]);
  assert.equal(eventAt(trace, last), undefined);
});

test("over goes to the end of the next event's group", () => {
  assert.equal(over(trace, 0), 7);
  assert.equal(over(trace, 3), 7);
  const end = over(trace, 8);
  assert.equal(trace.events[end - 1]?.group, trace.events[8]?.group);
  assert.notEqual(trace.events[end]?.group, trace.events[8]?.group);
});

test("back over goes to the beginning of the current event's group", () => {
  assert.equal(backOver(trace, 7), 0);
  assert.equal(backOver(trace, 3), 0);
  assert.equal(backOver(trace, 8), 7);
});

test("over and back over stay at the ends", () => {
  assert.equal(over(trace, last), last);
  assert.equal(backOver(trace, 0), 0);
});

test("back over undoes over from the beginning of a group", () => {
  let position = 0;
  while (position < last) {
    const next = over(trace, position);
    assert.ok(next > position);
    assert.equal(backOver(trace, next), position);
    position = next;
  }
});

test("run to goes to the next event with the target, not to the current one", () => {
  assert.equal(runTo(trace, 0, "Accumulated"), accumulated);
  assert.equal(runTo(trace, accumulated, "Accumulated"), null);
  assert.equal(runTo(trace, 0, "#2"), 3);
  const next = runTo(trace, 3, "#2");
  assert.ok(next !== null && next > 3);
});

test("run to finds nothing for an unknown target", () => {
  assert.equal(runTo(trace, 0, "nowhere"), null);
  assert.equal(runTo(trace, 0, "accumulated"), null);
});

test("a line is future until it is made, new at its event, past afterwards", () => {
  const gradient = line("b1");
  assert.equal(lineState(trace, gradient, gradient.made - 1), "future");
  assert.equal(lineState(trace, gradient, gradient.made), "new");
  assert.equal(lineState(trace, gradient, gradient.made + 2), "past");
});

test("the forward operator that is visited is current", () => {
  const visited = trace.events.findIndex((event) => event.kind === "Visited" && event.forward === 2) + 1;
  assert.equal(lineState(trace, line("f2"), visited), "current");
  assert.equal(lineState(trace, line("f3"), visited), "past");
});

test("at 0 the net is there and no gradient is made", () => {
  assert.ok(lines.every((one) => lineState(trace, one, 0) === (one.role === "forward" ? "past" : "future")));
});

test("an accumulation renames what an earlier line wrote, from its event on", () => {
  const renamed = line("b4");
  assert.deepEqual(namesAt(renamed, accumulated - 1).outputs, ["w2_grad@0", "b2_grad@0", "a_grad@0"]);
  assert.deepEqual(namesAt(renamed, accumulated).outputs, ["w2_grad@0", "b2_grad@0", "_a_grad_autosplit_0@0"]);
  assert.equal(lineState(trace, renamed, accumulated), "new");
});

test("a line that is not made yet shows its first form", () => {
  assert.equal(formAt(line("b4"), 0), 0);
});

test("a line has run from its event on, and one that was not executed never", () => {
  const gradient = line("b1");
  assert.ok(gradient.ran !== null);
  assert.equal(hasRun(gradient, gradient.ran - 1), false);
  assert.equal(hasRun(gradient, gradient.ran), true);
  assert.ok(residualTrace({ execute: false }).backward.every((one) => !hasRun(one, last)));
});

test("operators are counted as they are made, what passes through is none", () => {
  const made = operatorCounts(trace.backward);
  assert.equal(made.all, 8);
  assert.deepEqual([0, line("p4").made, last].map(made.by), [0, 3, 8]);
});

test("a move touches every line that looks different after it", () => {
  const touched = touchedLines(trace);
  const looks = (position: number): string[] =>
    lines.map((one) => [lineState(trace, one, position), formAt(one, position), hasRun(one, position)].join());
  for (let from = 0; from <= last; from++) {
    for (let to = 0; to <= last; to++) {
      const [before, after, named] = [looks(from), looks(to), touched(from, to)];
      lines.forEach((one, i) => assert.ok(before[i] === after[i] || named.has(one.id), `${one.id} from ${from} to ${to}`));
    }
  }
});

test("the first look touches every line, a step few", () => {
  const touched = touchedLines(trace);
  assert.equal(touched(null, 3).size, lines.length);
  assert.ok(touched(20, 21).size <= 4);
});
