import assert from "node:assert/strict";
import { test } from "node:test";

import { parseTrace } from "../../../src/model/document/parse";
import { isObstacle, reason } from "../../../src/model/recording/lookup";
import type { TraceEvent } from "../../../src/model/schema";
import { labelOf } from "../../../src/views/elements/kinds";
import { residualTrace, written } from "../../fixture";

type Document = Record<string, any>;

/** The fixture as a document that a test may damage. */
function document(damage: (document: Document) => void = () => undefined): string {
  const copy = written(residualTrace());
  damage(copy);
  return JSON.stringify(copy);
}

const refusal = (damage: (document: Document) => void, message: RegExp): void => {
  assert.throws(() => parseTrace(document(damage)), { name: "Error", message });
};

test("a trace is read as it was written", () => {
  const read = parseTrace(document());
  assert.deepEqual(read.events, residualTrace().events);
  assert.deepEqual(JSON.parse(JSON.stringify(read.backward)), residualTrace().backward);
  assert.deepEqual(read.ledgers, residualTrace().ledgers);
  assert.deepEqual(read.values["a_grad@0"], residualTrace().values["a_grad@0"]);
});

test("a newer version is refused with the way out", () => {
  refusal((d) => (d["version"] = 7), /^this is a gradviz trace of version 7; this gradviz reads version 6: update gradviz$/);
});

test("what is no blob version, or comes and goes, is refused", () => {
  refusal((d) => (d["forward"][0]["outputs"] = ["h"]), /forward\[0\]\.outputs\[0\] is "h", which is no blob version$/);
  refusal((d) => d["forward"][0]["outputs"].push("k@0"), /line f0\.history has more blobs, or fewer/);
  refusal((d) => (d["forward"][0]["inputs"][0] = `x@${"9".repeat(30)}`), /which is no blob version/);
});

test("an event in a net that was not entered is refused", () => {
  refusal((d) => (d["events"][2]["kind"] = "EnteredSubnet"), /events\[2\]\.subnet is null, and a nested net is entered/);
});

test("an older version is refused with the way out", () => {
  refusal((d) => (d["version"] = 0), /version 0; this gradviz reads version 6: record it again/);
});

test("a packed recording is refused with the way out", () => {
  const packed = (version: number) => (d: Record<string, unknown>) => Object.assign(d, { packed: ["eJw="], version });
  refusal(packed(6), /^the recording of "residual" is too large to be shown without Python: gradviz\.load/);
  refusal(packed(5), /version 5; this gradviz reads version 6: record it again/);
  refusal(packed(7), /version 7; this gradviz reads version 6: update gradviz/);
});

test("other JSON is no trace", () => {
  refusal((d) => (d["format"] = "notebook"), /not a gradviz trace: its "format" is "notebook"/);
  refusal((d) => delete d["format"], /not a gradviz trace: its "format" is missing/);
  assert.throws(() => parseTrace("[1, 2]"), /not a gradviz trace/);
  assert.throws(() => parseTrace("null"), /not a gradviz trace/);
});

test("a text that stops early is called truncated", () => {
  assert.throws(() => parseTrace(document().slice(0, 5000)), /truncated: its JSON stops after 5000 characters/);
});

test("an empty text is called empty", () => {
  assert.throws(() => parseTrace(" \n"), /trace is empty/);
});

test("a text that is no JSON says so", () => {
  assert.throws(() => parseTrace("{format: gradviz-trace}"), /it is no JSON/);
});

test("a field of the wrong type is named by its path", () => {
  refusal((d) => (d["forward"][2]["inputs"][1] = 7), /: forward\[2\]\.inputs\[1\] is 7, not a text$/);
  refusal((d) => (d["events"][3]["kind"] = "Danced"), /: events\[3\]\.kind is "Danced", not one of Played, /);
  refusal((d) => (d["events"] = { length: 3 }), /: events is an object, not a list$/);
  refusal((d) => delete d["backward"][0]["made"], /: backward\[0\]\.made is missing, not a whole number$/);
  refusal((d) => (d["values"]["x@0"]["shape"] = [2.5]), /: values\["x@0"\]\.shape\[0\] is 2\.5, not a whole number$/);
  refusal((d) => (d["values"]["x@0"]["min"] = "small"), /: values\["x@0"\]\.min is "small", not one of -inf, inf, nan$/);
  refusal((d) => (d["graph"] = {}), /: graph has to be either svg, or the reason why it was omitted$/);
});

test("a reference that leads nowhere is refused", () => {
  refusal((d) => (d["events"][0]["lines"] = ["f77"]), /: events\[0\]\.lines\[0\] is "f77", and there is no such line$/);
  refusal((d) => (d["events"][0]["forward"] = 7), /: events\[0\]\.forward is 7, outside 0 to 6$/);
  refusal((d) => (d["events"][0]["ledger"] = 1), /: events\[0\]\.ledger is 1, and there are 1 ledgers$/);
  refusal((d) => (d["forward"][0]["made"] = 1000), /: forward\[0\]\.made is 1000, and there are \d+ positions$/);
});

test("lines with the same id are refused", () => {
  refusal((d) => d["backward"].push(d["backward"][1]), /: line b1 is there twice$/);
});

test("a group that begins again is refused, for over would not know its end", () => {
  refusal((d) => (d["events"].at(-1)["group"] = 0), /group is 0, a group that had ended before$/);
});

test("a line without a form is refused", () => {
  refusal((d) => (d["backward"][0]["history"] = []), /: line b0\.history is empty/);
});

test("numbers that JSON cannot write come as words", () => {
  const read = parseTrace(document((d) => (d["values"]["x@0"]["preview"] = [["nan", "-inf", 1]])));
  assert.deepEqual(read.values["x@0"]?.preview, [["nan", "-inf", 1]]);
});

test("a blob that is not there is not found among what every object has", () => {
  assert.equal(parseTrace(document()).values["constructor"], undefined);
});

test("an operator type may be called __proto__", () => {
  const source = document().replace('"formulas":{', '"formulas":{"__proto__":{"formula":"y = x"}');
  assert.equal(parseTrace(source).formulas["__proto__"]?.formula, "y = x");
});

test("a trace without a drawing keeps the reason", () => {
  const read = parseTrace(document((d) => (d["graph"] = { omitted: "too large" })));
  assert.equal(read.graph.omitted, "too large");
});

test("a sparse gradient has two names", () => {
  const read = parseTrace(document((d) => (d["gradients"]["w1"] = { indices: "i@0", values: "v@0" })));
  assert.deepEqual({ ...(read.gradients["w1"] as object) }, { indices: "i@0", values: "v@0" });
});

/** A merge of rows at the last event, which becomes its event. */
const withMerge = (d: Document): void => {
  d["events"].at(-1)["kind"] = "Deduplicated";
  d["merges"] = [
    {
      blob: "table@0", at: d["events"].length, aggregator: "mean", rows_before: 6, rows_after: 3, difference: 0.5,
      before: { indices: "i@0", values: "v@0" }, after: { indices: "i_unique@0", values: "v_unique@0" },
      most_repeated: [{ index: 1, times: 3 }, { index: 0, times: 2 }, { index: 4, times: 1 }],
    },
  ];
};

test("a merge of rows is read as it was written", () => {
  const source = document(withMerge);
  assert.deepEqual(parseTrace(source).merges, JSON.parse(source).merges);
});

test("a document written before there were merges has none", () => {
  assert.deepEqual(parseTrace(document((d) => delete d["merges"])).merges, []);
});

test("a merge that contradicts the document is refused", () => {
  const damaged = (damage: (merge: Document) => void) => (d: Document): void => {
    withMerge(d);
    damage(d["merges"][0]);
  };
  refusal(damaged((merge) => (merge["at"] = 1)), /merges\[0\]\.at is 1, and there is no Deduplicated event$/);
  refusal(damaged((merge) => (merge["at"] = 0)), /merges\[0\]\.at is 0, and there is no Deduplicated event$/);
  refusal(damaged((merge) => (merge["aggregator"] = "max")), /merges\[0\]\.aggregator is "max", not one of sum, mean$/);
  refusal(damaged((merge) => (merge["rows_before"] = -1)), /merges\[0\]\.rows_before is -1/);
  refusal(damaged((merge) => delete merge["after"]), /merges\[0\]\.after is missing/);
});

test("what kept the program from being run is read, and has to be about lines that there are", () => {
  const obstacle = { kind: "undefined_blob", message: "reads aa", ways_out: ["Did you mean a?"], blobs: ["aa"], lines: ["f1"] };
  const trace = parseTrace(document((copy) => (copy.obstacle = obstacle)));
  assert.deepEqual(trace.obstacle, obstacle);
  assert.deepEqual([isObstacle(trace, "f1"), isObstacle(trace, "f2")], [true, false]);
  assert.equal(reason(obstacle), "reads aa Did you mean a?");
  assert.throws(() => parseTrace(document((copy) => (copy.obstacle = { ...obstacle, lines: ["f99"] }))), /obstacle.lines/);
});

test("a pass is not called complete where the program cannot be run", () => {
  const trace = parseTrace(document(() => undefined));
  const completed = { ...trace.events[0], kind: "Completed" } as TraceEvent;
  assert.equal(labelOf(trace, completed), "Complete");
  assert.equal(labelOf({ ...trace, obstacle: { kind: "", message: "", ways_out: [], blobs: [], lines: [] } }, completed), "Generated, not run");
});

test("a histogram is read as it was written, and one that does not count the elements is refused", () => {
  const counts = Array.from({ length: 20 }, (_, bin) => (bin === 0 ? 2048 - 19 : 1));
  const withCounts = (histogram: number[]): string => document((copy) => (copy.values["x@0"].histogram = histogram));
  assert.deepEqual(parseTrace(withCounts(counts)).values["x@0"]?.histogram, counts);
  for (const wrong of [[1, 2], [2049, -1], new Array<number>(2048).fill(1)]) {
    assert.throws(() => parseTrace(withCounts(wrong)), /histogram|outside/);
  }
});
