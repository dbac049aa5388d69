import assert from "node:assert/strict";
import { test } from "node:test";

import { parseTrace } from "../../../src/model/document/parse";
import { breakpointsAt, continueFrom, hitsOf, logBy, meaningOf, remarks, reverseContinueFrom, sameMarks, stopAt, toggledAt, watched, withBreakpoint } from "../../../src/model/filters/marks";
import { shown } from "../../../src/model/filters/conditions/conditions";
import { runTo } from "../../../src/model/filters/occurrences";
import { otherClock } from "../../../src/model/recording/cursor";
import type { BreakpointEntry, Trace } from "../../../src/model/schema";
import { readMarks } from "../../../src/model/schema/reader";
import { matrix, residualTrace, written } from "../../fixture";
import { loopTrace } from "../../loop";

const trace = residualTrace();
const end = trace.events.length;

const entry = (on: string, more: Partial<BreakpointEntry> = {}): BreakpointEntry => ({
  id: 1, on, log: null, ignore: 0, every: 1, enabled: true, ...more,
});
const hits = (on: string, more: Partial<BreakpointEntry> = {}, among = trace): readonly number[] => hitsOf(among, entry(on, more));
const positions = (matches: (event: Trace["events"][number]) => boolean): number[] =>
  trace.events.flatMap((event, index) => (matches(event) ? [index + 1] : []));
const accumulated = positions(({ kind }) => kind === "Accumulated")[0] ?? 0;

test("a target is hit where run to finds it, a version where it is written", () => {
  assert.deepEqual(hits("Accumulated"), [accumulated]);
  assert.deepEqual(hits("Relu"), positions(({ targets }) => targets.includes("Relu")));
  assert.deepEqual(hits("h@0").map((hit) => trace.events[hit - 1]?.kind), ["Played", "Ran"]);
});

test("conditions look at what an operator writes, and targets with conditions at both", () => {
  const ran = positions(({ kind }) => kind === "Ran");
  assert.deepEqual(hits("norm > 2"), ran.filter((one) => !trace.events[one - 1]?.blobs[0]?.startsWith("loss_autogen")));
  assert.deepEqual(hits("Ran if norm > 2"), hits("norm > 2"));
  assert.deepEqual(hits("kind == 'Ran' and op == 'Relu'").length, 2);
  assert.deepEqual(hits("norm(h_grad) > 0").map((hit) => trace.events[hit - 1]?.blobs[0]), ["h_grad@0"]);
});

test("a NaN is told from one that was read", () => {
  const sick = residualTrace();
  for (const blob of ["u@0", "v@0"]) sick.values[blob] = matrix({ nan: 3 });
  assert.deepEqual(hits("NaN appears", {}, sick).map((hit) => sick.events[hit - 1]?.blobs[0]), ["u@0"]);
  assert.equal(hits("nan > 0", {}, sick).length, 2);
});

test("runs stop at hits in both directions, and at the ends", () => {
  const all = [entry("Accumulated"), entry("norm > 2", { id: 2, enabled: false }), entry("Relu", { id: 3, log: "here" })];
  assert.equal(continueFrom(trace, all, 0), accumulated);
  assert.equal(continueFrom(trace, all, accumulated), end);
  assert.equal(reverseContinueFrom(trace, all, end), accumulated);
  assert.equal(reverseContinueFrom(trace, all, accumulated), 0);
  assert.equal(stopAt(trace, all, accumulated)?.entry.id, 1);
  assert.equal(stopAt(trace, all, accumulated - 1), null);
});

test("what a condition asked about is told where it stops", () => {
  const all = [entry("norm(h_grad) > 2")];
  assert.equal(stopAt(trace, all, continueFrom(trace, all, 0))?.value, "norm of h_grad@0 = 2.275");
});

test("what a stop has nothing of is called as it was asked for", () => {
  const all = [entry("norm > 0 or norm(g) > 0")];
  assert.match(stopAt(trace, all, continueFrom(trace, all, 0))?.value ?? "", /^norm of .*@0 = .*, norm of g = not computed$/);
});

test("hits are ignored and counted from the start", () => {
  const ran = hits("Ran");
  assert.deepEqual(hits("Ran", { ignore: 2 }), ran.slice(2));
  assert.deepEqual(hits("Ran", { ignore: 1, every: 3 }), ran.slice(1).filter((_, index) => index % 3 === 2));
});

test("log points speak up to a position", () => {
  const all = [entry("Ran if op == 'Relu'", { log: "{op}: {{{norm}}}" })];
  assert.deepEqual(logBy(trace, all, end).map(({ message }) => message), ["Relu: {2.275}", "Relu: {2.275}"]);
  assert.deepEqual(logBy(trace, all, accumulated), []);
  assert.match(remarks(trace, entry("Ran", { log: "{norm" })), /never closed/);
});

test("an operator that the recording does not have is no part of a condition that went wrong", () => {
  for (const on of ["#99", "next #99", "#99 if n > 1"]) {
    assert.match(meaningOf(trace, entry(on)).problem?.message ?? "", /^The recording has nothing that is called “#99”/);
  }
});

test("a message is refused that names what the recording does not have", () => {
  const { problem } = meaningOf(trace, { on: "Ran", log: "norm {nrom} of {x}" });
  assert.equal(problem?.message, "The recording has nothing that is called “nrom”, at character 7. Did you mean norm?");
  assert.deepEqual(hits("Ran", { log: "norm {nrom}" }), []);
  assert.equal(meaningOf(trace, { on: "Ran", log: "{h_grad} {h.norm}" }).problem, null);
});

test("what was not computed is not zero, and is said", () => {
  const bare = residualTrace({ execute: false });
  assert.deepEqual(hits("norm >= 0 or norm < 0", {}, bare), []);
  assert.match(remarks(bare, entry("norm > 1")), /x\.norm is never computed/);
  assert.equal(remarks(trace, entry("norm > 1")), "");
});

test("what was computed and left out to keep a page small is not said to be never computed", () => {
  const small = residualTrace();
  const bare = { min: null, max: null, mean: null, mean_abs: null, norm: null, preview: [] };
  for (const [blob, value] of Object.entries(small.values)) small.values[blob] = { ...value, ...bare };
  assert.equal(remarks(small, entry("norm > 1 or h.max > 2")), "x.norm and h.max were left out to keep this recording small");
  assert.equal(remarks(small, entry("nan > 0 or size > 1e9")), "");
  assert.deepEqual(logBy(small, [entry("Relu if kind == 'Ran'", { log: "{norm}, {nan} NaN" })], end)[0]?.message, "left out, 0 NaN");
  const { text } = watched(small, "norm(h) / 2");
  const ran = small.forward[0]?.ran ?? 0;
  assert.deepEqual([text(ran - 1), text(ran)], ["not computed", "left out"]);
  assert.equal(watched(small, "x").text(0), "left out (x@0, float32 64×32)");
});

test("a text that says nothing has no hits, and says where", () => {
  for (const [on, position] of [["norm >", 6], ["Relu if norm >", 14], ["nowhere", 0], ["norm(nowhere) > 1", 0]] as const) {
    assert.equal(meaningOf(trace, { on, log: null }).problem?.position, position, on);
    assert.deepEqual(hits(on), []);
  }
  assert.equal(runTo(trace, 0, "norm >"), null);
});

test("run to goes both ways and takes phrases and conditions", () => {
  assert.equal(runTo(trace, 0, "next accumulation"), accumulated);
  assert.equal(runTo(trace, 0, "Accumulated"), accumulated);
  assert.equal(runTo(trace, 0, "norm > 2"), hits("norm > 2")[0]);
});

test("lines take breakpoints and give them back", () => {
  const line = trace.forward[0];
  assert.ok(line);
  const set = toggledAt(line, []);
  assert.deepEqual(set, withBreakpoint([], "h@0"));
  assert.equal(breakpointsAt(line, set ?? []).length, 1);
  assert.deepEqual(toggledAt(line, set ?? []), []);
  const passed = trace.backward.find(({ kind }) => kind === "passed");
  assert.equal(passed && toggledAt(passed, []), null);
});

test("the name of a blob alone is that blob whatever is in it", () => {
  const dotted = JSON.parse(JSON.stringify(trace).replaceAll('"h"', '"0.h"').replaceAll('"h@0"', '"0.h@0"')) as Trace;
  for (const on of ["0.h", "0.h@0", " 0.h "]) assert.equal(watched(dotted, on).at(end), 2.275, on);
});

test("in an expression the way to write a name that the language takes for its own signs is told", () => {
  for (const name of ["0.h", "a-b", "layer[0].h", "n"]) {
    const named = JSON.parse(JSON.stringify(trace).replaceAll('"h"', `"${name}"`).replaceAll('"h@0"', `"${name}@0"`)) as Trace;
    const wayOut = `Write the name ${name} between backticks: norm(\`${name}\`).`;
    for (const on of [`norm(${name}) > 1`, `Ran if norm(${name}) > 1`]) assert.ok(meaningOf(named, entry(on)).problem?.message.endsWith(wayOut), on);
    if (name !== "n") assert.ok(watched(named, `norm(${name})`).problem?.message.endsWith(wayOut), name);
  }
});

test("watches show what is computed by now, and its history", () => {
  const ran = trace.forward[0]?.ran ?? 0;
  const { at, history, text } = watched(trace, "norm(h)");
  assert.deepEqual([at(ran - 1), at(ran)], [null, 2.275]);
  assert.deepEqual(history, [{ position: ran, value: 2.275 }]);
  assert.equal(text(0), "not computed");
  assert.equal(watched(trace, "x").text(0), "2.275 (x@0, float32 64×32, norm)");
  assert.equal(shown(watched(trace, "loss").at(end)), "0.6931");
  assert.equal(watched(trace, "kind").problem?.position, 0);
});

test("a watched blob without elements is empty", () => {
  const small = residualTrace();
  const none = { shape: [0, 3], size: 0, min: null, max: null, mean: null, mean_abs: null, norm: null, preview: [] };
  small.values["x@0"] = { ...small.values["x@0"]!, ...none };
  assert.equal(watched(small, "x").text(0), "empty (x@0, float32 0×3)");
});

test("the two clocks lead to each other", () => {
  const line = trace.backward.find(({ id }) => id === "b1");
  assert.equal(otherClock(trace, line?.made ?? 0), line?.ran);
  assert.equal(otherClock(trace, line?.ran ?? 0), line?.made);
  assert.equal(otherClock(trace, 0), null);
  assert.equal(otherClock(residualTrace({ execute: false }), 1), null);
});

test("breakpoints are read with what a document leaves out", () => {
  const document = { ...written(residualTrace()), breakpoints: [{ id: 1, on: "FC" }], watches: ["h"] };
  const read = parseTrace(JSON.stringify(document));
  assert.deepEqual([read.breakpoints, read.watches], [[entry("FC")], ["h"]]);
  assert.throws(() => parseTrace(JSON.stringify({ ...document, breakpoints: [{ id: 1, on: "FC", every: 0 }] })), {
    message: /breakpoints\[0\]\.every is 0, outside 1 to/,
  });
  assert.ok(sameMarks(read, readMarks({ breakpoints: [{ id: 1, on: "FC" }], watches: ["h"] })));
});

test("a hundred thousand events and twenty breakpoints", () => {
  const long = { ...trace, events: Array.from({ length: 100_000 }, (_, index) => trace.events[index % end]).filter((event) => event !== undefined) };
  const texts = ["norm > 1e9", "Failed", "NaN", "h_grad.norm > 1e9", "op == 'Foo'", "n > 9", "devices > 1", "g.norm > 1e8 and op == 'Sum'", "iteration == 9", "min < -99"];
  const all = [...texts, ...texts].map((on, index) => entry(on, { id: index + 1 }));
  assert.equal(continueFrom(long, all, 0), 100_000);
  const started = performance.now();
  for (let turn = 0; turn < 10; turn++) assert.equal(reverseContinueFrom(long, all, continueFrom(long, all, turn)), 0);
  assert.ok((performance.now() - started) / 20 < 50);
});

test("what was fed is there from the start, whatever nested nets call their own blobs", () => {
  const fed = { ...loopTrace() };
  fed.values = { ...fed.values, "x@0": matrix({ norm: 3 }) };
  fed.events = fed.events.map((event) => (event.subnet === "s2" && event.kind === "Ran" ? { ...event, row: { ...event.row, writes: ["x@0"] } } : event));
  assert.deepEqual(watched(fed, "norm(x@0)").history[0], { position: 0, value: 3 });
});

test("a blob that a nested net found and no operator in it names is known, as run to knows it", () => {
  const loop = loopTrace();
  const found = loop.subnets.map((net) => (net.id === "s1" ? { ...net, blobs: [...net.blobs, "found@0"] } : net));
  const { problem, text } = watched({ ...loop, subnets: found }, "found@0");
  assert.deepEqual([problem, text(0)], [null, "not computed"]);
  assert.match(watched(loop, "found@0").problem?.message ?? "", /nothing that is called “found@0”/);
});
