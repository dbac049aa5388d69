import assert from "node:assert/strict";
import { test } from "node:test";

import { clustersFrom, createOpening, type Tree } from "../../../src/views/graph/canvas";
import { fold, foldPath, pathSpan, without, type Cluster, type Plan } from "../../../src/views/graph/drawing/levels";

const cluster = (around: string | null, depth: number, from: number, to: number, alone: string[] = []): Cluster => ({
  around,
  depth,
  height: { from, to },
  alone,
});

/** f1 holds s0, in which s0.f0 holds s1; f3 holds s2. */
const plan: Plan = {
  clusters: new Map([
    ["f1", cluster(null, 1, 100, 300, ["s0.f0"])],
    ["s0.f0", cluster("f1", 2, 150, 250)],
    ["f3", cluster(null, 1, 400, 500)],
  ]),
  nets: new Map([
    ["s0", "f1"],
    ["s1", "s0.f0"],
    ["s2", "f3"],
  ]),
  shells: [
    { depth: 1, width: { from: 10, to: 30 } },
    { depth: 2, width: { from: 30, to: 40 } },
    { depth: 1, width: { from: 200, to: 220 } },
  ],
};

const tree: Tree = {
  around: (cluster) => plan.clusters.get(cluster)?.around ?? null,
  showing: (net) => plan.nets.get(net ?? "") ?? null,
  alone: (cluster) => plan.clusters.get(cluster)?.alone ?? [],
};

test("what lies behind a span that is taken out moves up, what lies in it meets at its beginning", () => {
  const at = without([{ from: 10, to: 30 }]);
  assert.deepEqual([0, 10, 20, 30, 40].map(at), [0, 10, 10, 10, 20]);
});

test("spans that overlap or contain each other count once", () => {
  const at = without([{ from: 50, to: 60 }, { from: 0, to: 10 }, { from: 5, to: 20 }, { from: 7, to: 9 }]);
  assert.deepEqual([20, 50, 55, 70].map(at), [0, 30, 30, 40]);
});

test("a path keeps its commands; each number moves along its own axis", () => {
  const axes = { x: (at: number) => at + 1000, y: (at: number) => at + 2000 };
  assert.equal(foldPath("M1,2H3V4Q5,6 7.5,-8L9,10", axes), "M1001,2002H1003V2004Q1005,2006,1007.5,1992L1009,2010");
});

test("a path lies in the stretches of both axes that its points span, whatever its commands", () => {
  const path = "M1,2H30V-4Q5,6 7.5,-8C9,10 0.5,11 2,3";
  assert.deepEqual(pathSpan(path, "x"), { from: 0.5, to: 30 });
  assert.deepEqual(pathSpan(path, "y"), { from: -8, to: 11 });
  assert.deepEqual(pathSpan("M3,5", "y"), { from: 5, to: 5 });
  assert.equal(pathSpan("H7", "y"), null);
  assert.equal(pathSpan("", "x"), null);
  const long = Array.from({ length: 200_000 }, (_, index) => `L0,${index}`).join("");
  assert.deepEqual(pathSpan(`M0,0${long}`, "y"), { from: 0, to: 199_999 });
});

test("a closed cluster leaves out its height, and a depth without open clusters its width", () => {
  const closed = fold(plan, new Set());
  assert.deepEqual([100, 300, 400, 500, 600].map(closed.y), [100, 100, 200, 200, 300]);
  assert.deepEqual([10, 40, 100, 220].map(closed.x), [10, 10, 70, 170]);
  assert.deepEqual(["f1", "s0.f0", "f3"].map(closed.isLeftOut), [true, true, true]);
});

test("each level opens by itself", () => {
  const outer = fold(plan, new Set(["f1"]));
  assert.deepEqual([100, 150, 250, 300, 500].map(outer.y), [100, 150, 150, 200, 300]);
  assert.deepEqual([10, 30, 40, 220].map(outer.x), [10, 30, 30, 210]);
  assert.deepEqual(["f1", "s0.f0", "f3"].map(outer.isLeftOut), [false, true, true]);
  const inner = fold(plan, new Set(["s0.f0"]));
  assert.equal(inner.isLeftOut("s0.f0"), true, "it lies in a closed one");
});

test("with everything open nothing moves", () => {
  const open = fold(plan, new Set(plan.clusters.keys()));
  assert.deepEqual([0, 35, 210, 450].map(open.x), [0, 35, 210, 450]);
  assert.deepEqual([0, 200, 450, 600].map(open.y), [0, 200, 450, 600]);
});

test("the clusters around a net go from the innermost outwards; a net that is not drawn has none", () => {
  assert.deepEqual(clustersFrom(tree, tree.showing("s1")), ["s0.f0", "f1"]);
  assert.deepEqual(clustersFrom(tree, tree.showing("s9")), []);
});

test("a position opens the nets that it enters, and they close when it has left the outermost", () => {
  const opening = createOpening(tree);
  opening.enter("s1");
  assert.deepEqual([...opening.open].sort(), ["f1", "s0.f0"]);
  opening.enter("s0");
  assert.deepEqual([...opening.open].sort(), ["f1", "s0.f0"], "an iteration has ended, the loop has not");
  opening.enter("s2");
  assert.deepEqual([...opening.open], ["f3"]);
  opening.enter(null);
  assert.deepEqual([...opening.open], []);
});

test("leaving does not close what was opened by hand", () => {
  const opening = createOpening(tree);
  opening.toggle("f3");
  opening.enter("s2");
  opening.enter(null);
  assert.deepEqual([...opening.open], ["f3"]);
});

test("what was closed by hand stays closed until the position comes back from outside", () => {
  const opening = createOpening(tree);
  opening.enter("s0");
  opening.toggle("f1");
  opening.enter("s0");
  assert.equal(opening.open.has("f1"), false);
  opening.enter(null);
  opening.enter("s0");
  assert.equal(opening.open.has("f1"), true);
});

test("opening a net that is one operator with nets of its own opens that, too", () => {
  const opening = createOpening(tree);
  opening.toggle("f1");
  assert.deepEqual([...opening.open].sort(), ["f1", "s0.f0"]);
  opening.toggle("s0.f0");
  assert.deepEqual([...opening.open], ["f1"]);
});
