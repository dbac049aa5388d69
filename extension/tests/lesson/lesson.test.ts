import assert from "node:assert/strict";
import { test } from "node:test";

import { slots } from "../../src/formula/steps";
import { chainAt } from "../../src/lesson/chain";
import { isRight, ledgerAt, Lesson, numbersIn, questionBefore, type Question } from "../../src/lesson/lesson";
import { looseWires, severalAt, wiresBetween, wireValuesAt, type Wire } from "../../src/lesson/wires";
import { forwardRun, gradientsOf, numbersOf } from "../../src/model/recording/values";
import { linesById } from "../../src/model/recording/lookup";
import type { Ledger, Line, Trace, TraceEvent, Value } from "../../src/model/schema";
import { overlaps, pointsOf, taking } from "../../src/views/graph/labels";
import { matrix, NO_ROW, residualTrace } from "../fixture";
import { loopTrace } from "../loop";

const position = (trace: Trace, kind: TraceEvent["kind"], nth = 0): number =>
  trace.events.flatMap((event, index) => (event.kind === kind ? [index + 1] : []))[nth] ?? 0;

const few = (...numbers: number[]): Value =>
  matrix({ shape: [numbers.length], size: numbers.length, preview: [numbers], rows: 1, columns: numbers.length, norm: Math.hypot(...numbers) });

/** The net with a skip connection, its events telling of which blob each gradient is. */
function recorded(): Trace {
  const trace = residualTrace();
  const slots = { Relu: ["x", "y"], FC: ["x w b", "y"], ReluGradient: ["y dy", "dx"], FCGradient: ["x w dy", "dw db dx"] };
  const formulas = { Relu: "y = max(x, 0)", FC: "y = x·wᵀ + b", ReluGradient: "dx = dy where y > 0, else 0", FCGradient: "dw = dyᵀ·x, db = Σᵢ dyᵢ, dx = dy·w" };
  for (const [type, [inputs = "", outputs = ""]] of Object.entries(slots)) {
    const formula = formulas[type as keyof typeof formulas];
    trace.formulas[type] = { formula, derivative: "", inputs: inputs.split(" "), outputs: outputs.split(" ") };
  }
  for (const line of [...trace.forward]) line.of = null;
  const added = trace.backward.filter((line) => line.role === "gradient").flatMap((line) =>
    line.outputs.map((gradient): TraceEvent => {
      const blob = gradient.replace(/^_|_grad.*/g, "");
      const detail = { blob, version: 0, gradient: gradient.replace("@0", "") };
      return { kind: "GeneratorAdded", narration: { template: 0, arguments: [""] }, group: 1000, phase: "generate", subnet: null, frame: null, forward: line.of, lines: [line.id], blobs: [gradient, `${blob}@0`], ledger: null, targets: [], seconds: null, detail, row: NO_ROW };
    }),
  );
  const sum = trace.events.findIndex(({ kind }) => kind === "Accumulated");
  Object.assign(trace.events[sum]?.detail ?? {}, { blob: "a", version: 0 });
  trace.events.push(...added);
  return trace;
}

test("a label takes its first free place, and none where all are taken", () => {
  const box = (x: number, y: number) => ({ x, y, width: 10, height: 10 });
  const free = taking([], []);
  assert.deepEqual([[box(0, 0)], [box(5, 5), box(50, 0)], [box(5, 5)]].map((places) => places.findIndex(free)), [0, 1, -1]);
  assert.equal([box(0, 0), box(100, 95)].findIndex(taking([box(5, 5)], [])), 1);
  assert.equal([box(0, 0), box(20, 0)].findIndex(taking([], [[[5, 5], [5, 6]]])), 1);
  assert.equal(overlaps(box(0, 0), box(0, 10)), false);
});

test("absolute values of complex numbers are no numbers to reckon with", () => {
  assert.deepEqual(numbersOf(few(3, 4)), [3, 4]);
  assert.equal(numbersOf({ ...few(3, 4), dtype: "complex64" }), null);
});

test("an edge is followed along its lines and curves", () => {
  const points = pointsOf("M0,0H10V10L20,10Q30,10 30,20C30,30 40,40 50,40");
  for (const corner of [[0, 0], [10, 0], [10, 10], [20, 10], [30, 20], [50, 40]]) assert.ok(points.some(([x, y]) => x === corner[0] && y === corner[1]), String(corner));
  const steps = points.slice(1).map(([x, y], index) => Math.hypot(x - (points[index]?.[0] ?? 0), y - (points[index]?.[1] ?? 0)));
  assert.ok(Math.max(...steps) < 8);
  assert.deepEqual(pointsOf("<script>"), []);
});

const between = (trace: Trace, from: string[], to: string[], isBackward = false): Wire[] => {
  const lines = (ids: string[]): Line[] => ids.flatMap((id) => linesById(trace).get(id) ?? []);
  return wiresBetween(trace, lines(from), lines(to), isBackward);
};

test("wires are what one line writes and the other reads; loose ones come from around the net or go nowhere", () => {
  const trace = recorded();
  assert.deepEqual(between(trace, ["f1"], ["f4"]).map(({ blob }) => blob), ["a@0"]);
  assert.deepEqual(between(trace, ["f0"], ["f4"]), []);
  assert.deepEqual(between(trace, ["nobody"], ["f4"]), []);
  const loose = looseWires(trace).map(({ blob, from, to }) => `${from ?? ""}>${blob}>${to.join()}`);
  assert.ok(loose.includes(">x@0>f0") && loose.includes("f6>loss@0>"));
  assert.ok(!loose.some((wire) => wire.includes("h@0")));
});

test("a wire tells what is computed at a position, and a gradient that nobody made only at the end", () => {
  const trace = recorded();
  const [wire] = between(trace, ["f0"], ["f1"]);
  assert.ok(wire);
  const told = (at: number): unknown[] => wireValuesAt(trace, wire, at).map(({ name, value }) => [name, value !== null]);
  const end = trace.events.length;
  assert.deepEqual(told(0), [["h", false], ["∂h", false]]);
  assert.deepEqual(told((trace.forward[0]?.ran ?? 0) - 1), [["h", false], ["∂h", false]]);
  assert.deepEqual(told(trace.forward[0]?.ran ?? 0), [["h", true], ["∂h", false]]);
  assert.deepEqual(told(end), [["h", true], ["∂h", true]]);
  const label = looseWires(trace).find(({ blob }) => blob === "label@0");
  assert.ok(label);
  assert.equal(wireValuesAt(trace, label, 0)[1]?.value, null);
  assert.equal(wireValuesAt(trace, label, end)[1]?.value, "none");
});

test("a wire says of what its operator made and the engine did not keep that it was not kept, not that it comes", () => {
  const trace = recorded();
  delete trace.values["h@0"];
  const [wire] = between(trace, ["f0"], ["f1"]);
  const ran = trace.forward[0]?.ran ?? 0;
  assert.ok(wire);
  assert.deepEqual([ran - 1, ran].map((at) => wireValuesAt(trace, wire, at)[0]?.value), [null, "not kept"]);
  assert.deepEqual([ran - 1, ran].map((at) => severalAt(trace, [wire], at)[0]?.value), [{ there: 0, of: 1, norm: null }, "not kept"]);
});

test("through each reader of a blob comes its own gradient, and through all of them the sum", () => {
  const trace = recorded();
  const passed = trace.events[trace.events.length - 1] as TraceEvent;
  trace.events.push({ ...passed, forward: 4, lines: [], blobs: ["s_grad@0", "a@0"], detail: { blob: "a", version: 0, gradient: "s_grad" } });
  const end = trace.events.length;
  const { total, contributions } = trace.ledgers[0] as Ledger;
  for (const { gradient, of } of contributions) trace.values[gradient] = few(of === 2 ? 1 : 2);
  trace.values[total] = few(3);
  const gradient = (wire: Wire | undefined, at: number): unknown => {
    const value = wire && wireValuesAt(trace, wire, at)[1]?.value;
    return value !== null && typeof value === "object" && "preview" in value ? value.preview[0]?.[0] : value;
  };
  const [first] = between(trace, ["f1"], ["f2"]);
  const [second] = between(trace, ["f1"], ["f4"]);
  const [both] = between(trace, ["f1"], ["f2", "f4"]);
  assert.deepEqual([gradient(first, end), gradient(second, end), gradient(both, end)], [1, 2, 3]);
  const before = (linesById(trace).get("b4")?.ran ?? 0) - 1;
  assert.deepEqual([gradient(first, before), gradient(both, before)], [null, null]);
});

test("several wires tell how many are computed, and the norm of those that are", () => {
  const trace = recorded();
  const wires = between(trace, ["f0", "f1"], ["f1", "f2", "f4"]);
  trace.values["h@0"] = few(3);
  trace.values["a@0"] = few(4);
  const told = (at: number): unknown[] => severalAt(trace, wires, at).map(({ name, value }) => [name, value]);
  assert.deepEqual(told(0), [["2 blobs", { there: 0, of: 2, norm: null }], ["∂ of these", { there: 0, of: 2, norm: null }]]);
  assert.deepEqual(told(linesById(trace).get("f0")?.ran ?? 0)[0], ["2 blobs", { there: 1, of: 2, norm: 3 }]);
  assert.deepEqual(told(linesById(trace).get("f1")?.ran ?? 0)[0], ["2 blobs", { there: 2, of: 2, norm: 5 }]);
});

test("of a sparse gradient the rows are told, not their indices", () => {
  const trace = recorded();
  const sum = trace.events.find(({ kind }) => kind === "Accumulated") as TraceEvent;
  Object.assign(sum, { blobs: ["rows@0", "places@0", "a@0"], detail: { ...sum.detail, gradient: { indices: "places", values: "rows" } } });
  assert.equal(gradientsOf(trace, null, "a@0").find(({ isSum }) => isSum)?.values, "rows@0");
  sum.blobs = ["places@0", "rows@0", "a@0"];
  const other = { ...trace };
  assert.equal(gradientsOf(other, null, "a@0").find(({ isSum }) => isSum)?.values, "rows@0");
});

test("in the backward pass through an iteration a wire tells what the iteration computed", () => {
  const trace = loopTrace();
  const wire = { ...(between(trace, ["s2.f0"], ["s2.b0"])[0] as Wire), to: [] };
  const run = trace.frames.findIndex(({ subnet, is_backward }) => subnet === "s2" && is_backward);
  const at = trace.events.findIndex(({ frame }) => frame === run) + 1;
  assert.notEqual(trace.arrays[trace.frames[forwardRun(trace, run) ?? -1]?.values[1] ?? -1], undefined);
  assert.deepEqual(wireValuesAt(trace, wire, at)[0]?.value, trace.arrays[trace.frames[forwardRun(trace, run) ?? -1]?.values[1] ?? -1]);
  assert.equal(forwardRun(trace, 0), 0);
});

test("a lesson tells of a ledger what is computed, and no share of what is not", () => {
  const trace = recorded();
  const ledger = trace.ledgers[0] as Ledger;
  const ran = (id: string): number => linesById(trace).get(id)?.ran ?? 0;
  const [early, half] = [ledgerAt(trace, ledger, ledger.at), ledgerAt(trace, ledger, ran("b3"))];
  assert.deepEqual(early.contributions.map(({ norm }) => norm), ledger.contributions.map(() => null));
  assert.deepEqual([early.norm, early.cancellation, half.norm], [null, null, null]);
  const there = half.contributions.filter(({ norm }) => norm !== null);
  assert.ok(there.length > 0 && there.every(({ share, cosine }) => share === null && cosine === null));
  assert.deepEqual(ledgerAt(trace, ledger, trace.events.length), ledger);
});

test("a slot that is left out before others moves them up", () => {
  const trace = recorded();
  trace.formulas["FC"] = { formula: "y = x·wᵀ + b", derivative: "", inputs: ["x", "w", "b?"], outputs: ["y"] };
  trace.formulas["FCGradient"] = { formula: "", derivative: "", inputs: ["x", "more?", "w", "dy"], outputs: ["dw", "db?", "dx?"] };
  const [forward, backward] = ["f2", "b4"].map((id) => linesById(trace).get(id) as Line);
  if (!forward || !backward) throw new Error();
  assert.equal(slots(trace, backward, backward).get("w"), "w2@0");
  forward.inputs = ["a@0", "w2@0"];
  backward.outputs = ["w2_grad@0", "a_grad@0"];
  assert.deepEqual([...slots(trace, backward, backward)].slice(-2), [["dw", "w2_grad@0"], ["dx", "a_grad@0"]]);
});

test("the local derivative is the quotient of what was recorded, and undefined where a 0 arrives", () => {
  const trace = recorded();
  const at = linesById(trace).get("b6")?.ran ?? 0;
  trace.values["a_grad@0"] = few(2, 0, -1);
  trace.values["h_grad@0"] = few(2, 0, 0);
  const [link] = chainAt(trace, at);
  assert.deepEqual([link?.x.blob, link?.y.blob, link?.local], ["h", "a", [1, null, -0]]);
  assert.equal(chainAt(trace, position(trace, "RuleApplied", 5))[0]?.result, null);
});

test("of products of matrices there is no quotient", () => {
  const trace = recorded();
  const at = linesById(trace).get("b2")?.ran ?? 0;
  trace.values["z_grad@0"] = few(1, 2);
  trace.values["s_grad@0"] = few(3, 4);
  const link = chainAt(trace, at).find(({ x }) => x.blob === "s");
  assert.deepEqual([link?.local, link?.upstream !== null, link?.result !== null], [null, true, true]);
});

const asked = (trace: Trace, kind: TraceEvent["kind"], nth = 0): Question | null => questionBefore(trace, position(trace, kind, nth));
const answer = (question: Question | null): string | undefined => (question?.kind === "choice" ? question.choices[question.right] : question?.right.join());

test("each kind of step has its question, whose answer the recording knows", () => {
  const trace = recorded();
  assert.equal(answer(asked(trace, "Seeded")), "1");
  assert.equal(answer(asked(trace, "Visited", 1)), "FC #5");
  assert.equal(answer(asked(trace, "RuleApplied", 3)), "`v@0`");
  const rule = trace.events[position(trace, "RuleApplied", 2) - 1] as TraceEvent;
  rule.detail["g_input"] = [null, "s_grad"];
  assert.equal(answer(asked(trace, "RuleApplied", 2)), "there is no operator: the gradient passes through unchanged");
  rule.detail["g_input"] = [null, null];
  assert.equal(answer(asked(trace, "RuleApplied", 2)), "there is no operator: no gradient goes on from here");
  const check = position(trace, "InputChecked");
  const checked = trace.events[check - 1] as TraceEvent;
  checked.lines = ["b1"];
  assert.equal(answer(questionBefore(trace, check)), "no: it reads what the forward pass saw");
  checked.detail["inputs"] = [{ name: "s_grad", source: "output gradient", blob: "s", version: 0 }, { name: "s/KEPT", source: "output", blob: "s", version: 0 }];
  assert.equal(answer(questionBefore(trace, check)), "yes, and it reads what was kept of that");
  assert.equal(answer(asked(trace, "Accumulated")), "2");
  assert.equal(answer(asked(trace, "Ran")), "64 × 32");
  assert.equal(asked(trace, "Completed"), null);
  assert.equal(questionBefore(trace, trace.events.length + 1), null);
});

test("a sparse gradient that comes alone is complete, though it is made dense, and so is one that has the name of its blob", () => {
  const trace = recorded();
  const arrivals = trace.events.flatMap((event, index) => (event.kind === "GeneratorAdded" ? [index] : []));
  const told = arrivals.map((index) => [index, answer(questionBefore(trace, index + 1))] as const);
  const [at] = told.find(([, right]) => right === "it is complete") ?? [0];
  const arrival = trace.events[at] as TraceEvent;
  const [, blob = ""] = arrival.blobs;
  trace.events.push({ ...arrival, kind: "Accumulated", blobs: ["dense@0", blob, ...arrival.blobs.slice(0, 1)] });
  assert.equal(answer(questionBefore(structuredClone(trace), at + 1)), "it is complete");
  trace.events.push({ ...arrival, blobs: [blob, blob] });
  assert.equal(answer(questionBefore(structuredClone(trace), at + 1)), "it is one of several, which are added");
});

test("a pass that ends at an overwritten version asks for it, one that ends otherwise does not", () => {
  const trace = recorded();
  const at = position(trace, "RuleApplied", 1);
  const failed = (error: string): Question | null => {
    trace.events[at - 1] = { ...(trace.events[at - 1] as TraceEvent), kind: "Failed", lines: [], detail: { error } };
    return questionBefore(trace, at);
  };
  assert.equal(answer(failed("version_overwritten")), "yes: it would read another version");
  assert.equal(failed("no_gradient_rule"), null);
});

test("choices are few, differ, hold the answer, and are the same each time", () => {
  const trace = recorded();
  for (let at = 1; at <= trace.events.length; at++) {
    const question = questionBefore(trace, at);
    assert.deepEqual(questionBefore(trace, at), question);
    if (question?.kind !== "choice") continue;
    assert.ok(question.choices.length >= 2 && question.choices.length <= 4, question.ask);
    assert.equal(new Set(question.choices).size, question.choices.length);
    assert.ok(question.right >= 0);
  }
});

test("numbers may be written in several ways and need not be exact", () => {
  assert.deepEqual(numbersIn("[1, −2]"), [1, -2]);
  assert.deepEqual(numbersIn("0.5; 1/4"), [0.5, 0.25]);
  for (const text of ["", "abc", "1 two", "1/", "1/0", "1/2/3"]) assert.equal(numbersIn(text), null, text);
  assert.ok(isRight([0.1966], [0.2]) && isRight([0], [0]) && isRight([-4, 8], [-4, 8]));
  assert.ok(!isRight([0.1966], [0.25]) && !isRight([0], [0.001]) && !isRight([1, 2], [1]));
});

test("a lesson counts the first prediction of each step, and only what a step reveals", () => {
  const trace = recorded();
  const lesson = new Lesson();
  const at = position(trace, "Accumulated") - 1;
  const question = questionBefore(trace, at + 1);
  const right = question?.kind === "choice" ? question.right : -1;
  lesson.predict(at, right + 1);
  lesson.moved(trace, at + 1);
  assert.deepEqual([lesson.outcome?.isRight, lesson.score], [false, { right: 0, all: 1 }]);
  lesson.moved(trace, at);
  assert.deepEqual([lesson.outcome], [null]);
  lesson.predict(at, right);
  assert.equal(lesson.predictedAt(at), right);
  lesson.moved(trace, at + 1);
  assert.deepEqual([lesson.outcome?.isRight, lesson.score], [true, { right: 0, all: 1 }]);
  lesson.predict(at + 1, 0);
  lesson.moved(trace, trace.events.length);
  assert.deepEqual([lesson.outcome, lesson.score.all], [null, 1]);
});

test("a prediction is for the question that was asked, and counts once in both courses", () => {
  const trace = recorded();
  const lesson = new Lesson();
  const ran = position(trace, "Ran");
  lesson.toggle();
  lesson.predict(0, 0);
  lesson.moved(trace, ran);
  assert.equal(lesson.score.all, 1);
  lesson.moved(trace, 0);
  for (const drop of [() => lesson.take("Whole story"), () => lesson.toggle()]) {
    lesson.predict(ran - 1, 0);
    drop();
    lesson.moved(trace, ran);
    assert.equal(lesson.outcome, null);
  }
  lesson.toggle();
  lesson.predict(ran - 1, 0);
  lesson.moved(trace, ran);
  assert.notEqual(lesson.outcome, null);
  assert.equal(lesson.score.all, 1, "the same question");
});

test("what is no number is no prediction", () => {
  const trace = recorded();
  const lesson = new Lesson();
  const at = position(trace, "Seeded") - 1;
  lesson.predict(at, "one");
  lesson.moved(trace, at + 1);
  assert.deepEqual([lesson.outcome, lesson.score.all], [null, 0]);
});
