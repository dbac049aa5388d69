import assert from "node:assert/strict";
import { test } from "node:test";

import { parseTrace } from "../../../src/model/document/parse";
import { groupOfNode, groupsAround, groupsOf } from "../../../src/model/recording/lookup";
import type { NodeGroup, Trace } from "../../../src/model/schema";
import { isBeside, lay, spoken, type Level } from "../../../src/views/graph/drawing/levels";
import { matching, neighbourhood } from "../../../src/views/graph/graph";
import { residualTrace, written } from "../../fixture";

const group = (id: string, around: string | null, lines: string[], more: Partial<NodeGroup> = {}): NodeGroup => ({ id, around, lines, shape: 0, words: [], ...more });

/** The fixture in groups: #0 to #3, in it #2 and #3, and what came from them. */
function grouped(groups: NodeGroup[] = [group("g0", null, ["f0", "f1", "b6", "b7"]), group("g1", "g0", ["f2", "f3", "b3", "b4", "b5"])]): Trace {
  return { ...residualTrace(), graph: { svg: "<svg/>", omitted: null, groups, shapes: ["<svg/>"], phrases: [], folded: {}, whole: null } };
}

const read = (trace: Trace): Trace => parseTrace(JSON.stringify(written(trace)));

test("groups are read with their document, and older documents have none", () => {
  const { graph } = read(grouped());
  assert.deepEqual({ ...graph, folded: { ...graph.folded } }, grouped().graph);
  const old = written(grouped()) as { graph: Record<string, unknown> };
  delete old.graph["groups"];
  delete old.graph["shapes"];
  delete old.graph["phrases"];
  delete old.graph["folded"];
  delete old.graph["whole"];
  const { folded, ...others } = parseTrace(JSON.stringify(old)).graph;
  assert.deepEqual(Object.keys(folded), []);
  assert.deepEqual(others, { svg: "<svg/>", omitted: null, groups: [], shapes: [], phrases: [], whole: null });
});

test("groups that contradict themselves are refused, with the place", () => {
  const refusal = (groups: NodeGroup[], message: RegExp): void => {
    assert.throws(() => read(grouped(groups)), { message });
  };
  refusal([group("g0", "g0", [])], /graph\.groups\[0\]\.around is "g0", no group of its net before it/);
  refusal([group("g0", "g1", []), group("g1", "g0", [])], /graph\.groups\[0\]\.around/);
  refusal([group("g0", null, []), group("g0", null, [])], /graph\.groups\[1\]\.id is "g0", no id or that of another group/);
  refusal([group("f0", null, [])], /graph\.groups\[0\]\.id/);
  refusal([group('g0" onload="x', null, [])], /graph\.groups\[0\]\.id/);
  refusal([group("g0", null, ["f99"])], /graph\.groups\[0\]\.lines\[0\] is "f99", and there is no such line/);
  refusal([group("g0", null, ["f0"]), group("g1", null, ["f0"])], /graph\.groups\[1\]\.lines names "f0"/);
  refusal([group("s0.g0", null, ["f0"])], /graph\.groups\[0\]\.lines/);
  refusal([group("g0", null, [], { shape: 1 })], /graph\.groups\[0\]\.shape is 1, and there are 1 shapes/);
  refusal(Array.from({ length: 300 }, (_, index) => group(`g${index}`, index ? `g${index - 1}` : null, [])), /lies in more than 200 others/);
});

test("a group holds the lines of those inside", () => {
  const trace = read(grouped());
  assert.deepEqual(groupsAround(trace, "f3").map(({ id }) => id), ["g1", "g0"]);
  assert.deepEqual(groupsAround(trace, "f5"), []);
  assert.deepEqual(groupsOf(trace).byId.get("g0")?.forward.map(({ id }) => id), ["f0", "f1", "f2", "f3"]);
  assert.equal(groupsOf(trace).byId.get("g0")?.backward.length, 5);
  assert.equal(groupOfNode(trace, "g1.backward")?.id, "g1");
  assert.equal(groupOfNode(trace, "f1"), undefined);
});

test("the words of a group stand in its shape as text, whatever they say", () => {
  const [first, second, none] = [0, 1, 9].map((number) => String.fromCodePoint(0x20000 + number));
  const graph = { svg: "", omitted: null, phrases: ["<text>"], shapes: [`<g id="${first}">\u0100${second}${none}</text></g>`], folded: {}, whole: null, groups: [group("g0", null, [], { words: ['"><script>', `<b>&\u0000${first}`] })] };
  assert.equal(spoken(graph, 0), `<g id="&quot;&gt;&lt;script&gt;"><text>&lt;b&gt;&amp;\ufffd${first}</text></g>`);
  assert.equal(spoken(graph, 7), "");
});

test("a shape that repeats a long phrase without end is cut", () => {
  const graph = { svg: "", omitted: null, phrases: ["x".repeat(1_000_000)], shapes: ["\u0100".repeat(1000)], folded: {}, whole: null, groups: [group("g0", null, [])] };
  assert.ok(spoken(graph, 0).length <= 20_000_000);
});

/** A drawing of 200 × 300 with one group whose node ends at 50, and without any element. */
const level = (id: string | null, groups: [string, number][], frame = { from: 0, to: 0 }): Level => ({
  id,
  root: { querySelectorAll: () => [] } as unknown as Element,
  plan: { clusters: new Map(), nets: new Map(), shells: [] },
  axis: 100,
  across: { from: 40, to: 160 },
  down: { from: 50, to: 250 },
  frame,
  groups: new Map(groups.map(([name, bottom]) => [name, { bottom, cluster: null, holder: {} as Element }])),
});

test("what lies below an open group moves down by what it shows, and what lies beside moves out for its frame", () => {
  const outer = level(null, [["g0", 50], ["g1", 120]]);
  const inner = (id: string): Level => level(id, [], { from: 20, to: 190 });
  const closed = lay(outer, new Set(), null, inner);
  assert.deepEqual([0, 50, 120, 300].map(closed.fold.y), [0, 50, 120, 300]);
  const open = lay(outer, new Set(["g0"]), null, inner);
  assert.deepEqual([0, 49, 50, 120, 300].map(open.fold.y), [0, 49, 250, 320, 500]);
  // The frame needs 80 on the left and 90 on the right, and 12 more; there are 60 on either side.
  assert.deepEqual([0, 40, 100, 160, 200].map(open.fold.x), [0, 40, 132, 234, 274]);
  const [put] = [...open.inside.values()].flat();
  assert.deepEqual([put?.x, put?.y], [32, 0]);
});

test("groups in groups add up", () => {
  const inner = (id: string): Level | null => (id === "g0" ? level(id, [["g1", 100]], { from: 20, to: 190 }) : level(id, [], { from: 20, to: 190 }));
  const laid = lay(level(null, [["g0", 50]]), new Set(["g0", "g1"]), null, inner);
  assert.equal(laid.fold.y(300), 300 + 200 + 200);
  const without = lay(level(null, [["g0", 50]]), new Set(["g1"]), null, inner);
  assert.equal(without.fold.y(300), 300, "the one around it is closed");
});

test("an edge is kept with both of its ends, and a port is always there", () => {
  const element = (...words: string[]): Element => ({ classList: words }) as unknown as Element;
  const only = new Set(["f0", "f1"]);
  assert.equal(isBeside("edge-1", element("edge", "from-f0", "to-f1"), only), false);
  assert.equal(isBeside("edge-1", element("edge", "from-f0", "to-f2"), only), true);
  assert.equal(isBeside("edge-1", element("edge", "from-g0.forward-in", "to-f1"), only), false);
  assert.equal(isBeside("node-f2", element(), only), true);
  assert.equal(isBeside("node-g0.backward-out", element(), only), false);
});

test("what is near an operator comes with its gradients, and with the sums and seeds beside them", () => {
  const trace = residualTrace();
  const near = (line: string, hops: number): string[] => [...neighbourhood(trace, line, hops)].sort();
  assert.deepEqual(near("f3", 1), ["b3", "b4", "b5", "f2", "f3", "f4", "p4"]);
  assert.deepEqual(near("b3", 1), near("f3", 1));
  assert.equal(near("f6", 1).includes("b0"), true, "the seed");
  assert.deepEqual(near("nothing", 2), []);
  assert.equal(near("f0", 5).length, trace.forward.length + trace.backward.length);
});

test("a search finds types, names, blobs and indices, in the order of the program", () => {
  const trace = residualTrace();
  assert.deepEqual(matching(trace, " relu "), ["f1", "f3", "b3", "b6"]);
  assert.deepEqual(matching(trace, "#3"), ["f3", "b3"]);
  assert.deepEqual(matching(trace, "label"), ["f6", "b1"]);
  assert.deepEqual(matching(trace, ""), []);
  assert.deepEqual(matching(trace, "#99"), []);
  const { made } = trace.backward.find(({ id }) => id === "b6")!;
  assert.deepEqual(matching(trace, "relu", made - 1), ["f1", "f3", "b3"], "a lesson shows no more than has been made");
  assert.deepEqual(matching(trace, "relu", 0), ["f1", "f3"], "the forward net is there before anything happens");
});
