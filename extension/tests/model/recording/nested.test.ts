import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_NARRATED, parseTrace } from "../../../src/model/document/parse";
import { runTo } from "../../../src/model/filters/occurrences";
import { backOver, crumbs, currentEvent, forwardLine, into, lineState, narrationAt, otherIteration, out, over, pathOf, touchedLines } from "../../../src/model/recording/cursor";
import { allLines, linesById, subnetOf } from "../../../src/model/recording/lookup";
import { blobsIn, computedAt, forwardIteration, isComputed, loopAround, roundsOf, roundText, valueOf, workspacesOn } from "../../../src/model/recording/values";
import { loopDocument, loopTrace, ROUNDS } from "../../loop";

const trace = loopTrace();
const last = trace.events.length;

/** The path of the innermost net that is open. */
const place = (position: number): string => {
  const open = crumbs(trace, position);
  const inner = open[open.length - 1];
  const event = inner && trace.events[inner.entered];
  return event ? pathOf(trace, event) : "";
};

const reached = (target: string, from = 0): number => {
  const found = runTo(trace, from, target);
  assert.ok(found !== null, `nothing is about ${target}`);
  return found;
};

test("a row is read as the event that it is like, with what it says itself", () => {
  const ran = trace.events.filter((event) => event.lines[0] === "s2.f0");
  assert.deepEqual(ran.map((event) => narrationAt(trace, trace.events.indexOf(event) + 1)), ["ran 0", "ran 1", "ran 2"]);
  assert.equal(new Set(ran.map((event) => event.frame)).size, ROUNDS);
  assert.ok(ran.every((event) => event.subnet === "s2" && event.blobs[0] === "x@1"));
});

test("a row has the arguments that it does not say from the event that it is like", () => {
  const document = loopDocument() as any;
  const row = document.events.findIndex((event: unknown) => Array.isArray(event));
  const like = document.events[row][0];
  document.events[like].narration = [1, ["round", "0", "begins, {who}, $&"]];
  const said = (...rest: [at: number, filling: string[]]): string => {
    document.events[row].splice(4, 2, ...rest);
    return narrationAt(parseTrace(JSON.stringify(document)), row + 1);
  };
  assert.equal(said(1, ["1"]), "round 1 begins, {who}, $&");
  assert.equal(said(0, ["{what}", "{when}", ""]), "{what} {when} ");
  assert.equal(said(2, []), "round 0 begins, {who}, $&");
});

test("over passes a loop, back over goes back before it", () => {
  assert.equal(over(trace, 1), last - 1 - 6 * ROUNDS);
  assert.equal(currentEvent(trace, over(trace, 1))?.lines[0], "f1");
  assert.equal(backOver(trace, over(trace, 1)), 1);
});

test("over stays in a nested net to its end, then passes an iteration at a time", () => {
  const inside = reached("1.loop_net[1]");
  const done = over(trace, inside);
  assert.equal(currentEvent(trace, done)?.kind, "Ran");
  assert.equal(place(done), "1.loop_net[1]");
  const left = over(trace, done);
  assert.equal(currentEvent(trace, left)?.kind, "LeftSubnet");
  assert.equal(place(over(trace, over(trace, left))), "");
  assert.equal(narrationAt(trace, over(trace, over(trace, left))), "round 2 ends");
});

test("back over undoes over everywhere on a level", () => {
  const forth = [0];
  for (let at = 0; at < last; at = over(trace, at)) forth.push(over(trace, at));
  const back = [last];
  for (let at = last; at > 0; at = backOver(trace, at)) back.push(backOver(trace, at));
  assert.deepEqual(back.reverse(), forth);
});

test("into enters, and steps where nothing is entered", () => {
  const first = into(trace, 1);
  assert.equal(place(first), "1.cond_net[0]");
  assert.equal(into(trace, first), first + 1);
  assert.equal(place(into(trace, reached("1.loop_net[2]"))), "1.loop_net[2]/0.net");
  assert.equal(into(trace, last), last);
});

test("out leaves one net", () => {
  for (let at = 0; at <= last; at++) {
    const to = out(trace, at);
    const depth = crumbs(trace, at).length;
    assert.ok(to > at || at === last);
    if (depth > 0) assert.equal(crumbs(trace, to).length, depth - 1);
  }
});

test("run to finds nets, runs and iterations", () => {
  assert.equal(place(reached("1.loop_net[1]/0.net")), "1.loop_net[1]/0.net");
  assert.equal(place(reached("iteration 2")), "1.loop_net[2]");
  assert.equal(place(reached("1.cond_net[3]")), "1.cond_net[3]");
  assert.equal(place(reached("0.net")), "1.loop_net[0]/0.net");
  assert.equal(place(reached("iteration 0", reached("iteration 2"))), "2.loop_net[0]");
  assert.equal(runTo(trace, 0, "iteration 9"), null);
});

test("a way into nested nets begins outside of all, while the pass is generated too", () => {
  const [first] = trace.events;
  const inner = trace.subnets[2];
  assert.ok(first && inner);
  const deeper = { ...inner, id: "s3", path: ["0.then_net", ...inner.path] };
  const enter = (subnet: string) => ({ ...first, kind: "EnteredSubnet" as const, subnet, frame: null, targets: [] });
  const generated = { ...trace, subnets: [...trace.subnets, deeper], events: ["s3", "s2"].map(enter) };
  assert.deepEqual(["1.loop_net/0.net", "0.then_net/1.loop_net/0.net", "0.net"].map((target) => runTo(generated, 0, target)), [2, 1, 1]);
});

test("another iteration is looked at in the same place", () => {
  const at = reached("Tanh", reached("iteration 1"));
  const next = otherIteration(trace, at, 1);
  assert.equal(narrationAt(trace, next ?? 0), "ran 2");
  assert.equal(otherIteration(trace, next ?? 0, 1), null);
  assert.equal(otherIteration(trace, next ?? 0, -1), at);
  assert.equal(otherIteration(trace, 0, 1), null);
});

test("values are those of the run", () => {
  const ran = reached("Tanh", reached("iteration 1"));
  const frame = currentEvent(trace, ran)?.frame ?? null;
  assert.equal(valueOf(trace, frame, "x@1")?.mean, 20);
  assert.equal(valueOf(trace, frame, "x@0"), undefined);
  assert.equal(valueOf(trace, null, "x@1"), undefined);
  assert.equal(computedAt(trace, frame ?? 0, "s2.f0"), ran);
});

test("what a run found is computed since it began, what it makes itself since that ran", () => {
  const since = (blob: string, frame: number): number => trace.events.findIndex((_, index) => isComputed(trace, { blob, subnet: "s2", frame }, index));
  const runs = trace.frames.flatMap(({ subnet, is_backward }, frame) => (subnet === "s2" ? [{ frame, is_backward }] : []));
  for (const { frame, is_backward } of runs) {
    const [begun, ran] = ["EnteredSubnet", "Ran"].map((kind) => trace.events.findIndex((event) => event.kind === kind && event.frame === frame) + 1);
    assert.deepEqual([since("x@0", frame), since("x@1", frame)], [begun, is_backward ? begun : ran]);
    if (is_backward) assert.equal(since("x_grad@0", frame), ran);
  }
});

test("a blob is found in every iteration, in the order of the forward pass", () => {
  const forward = roundsOf(trace, "s2", "x@1", null);
  assert.deepEqual(forward.map(({ iteration, value }) => [iteration, value.mean]), [[0, 10], [1, 20], [2, 30]]);
  const gradients = roundsOf(trace, "s2", "x_grad@0", null);
  assert.deepEqual(gradients.map(({ iteration, value }) => [iteration, value.mean]), [[0, 0], [1, -1], [2, -2]]);
  const seen = roundsOf(trace, "s2", "x@1", gradients[0]?.frame ?? null);
  assert.deepEqual(seen.map(({ iteration, value }) => [iteration, value.mean]), [[0, 10], [1, 20], [2, 30]]);
  assert.ok(seen.every(({ frame }) => trace.frames[frame]?.is_backward));
});

test("a round of the backward pass is called by the iteration whose workspace it takes", () => {
  const back = trace.frames.find((frame) => frame.is_backward && frame.subnet === "s1");
  assert.ok(back);
  assert.equal(forwardIteration(back), ROUNDS - 1);
  assert.equal(roundText(trace, back), "iteration 2 of 3");
  assert.equal(roundText(trace, trace.frames.find((frame) => frame.subnet === "s0")), "test 0 of 4");
});

test("the workspaces on a stack are told from the top", () => {
  const runs = workspacesOn(trace, trace.values["W@1"]?.stack ?? -1);
  assert.deepEqual(runs.map((frame) => loopAround(trace, frame ?? -1)?.iteration), [2, 1, 0]);
  assert.deepEqual(blobsIn(trace, runs[0] ?? -1), ["x@1"]);
});

test("lines of nested nets have states of their own", () => {
  const ran = reached("Tanh");
  const lines = linesById(trace);
  const state = (id: string): string => lineState(trace, lines.get(id)!, ran);
  assert.equal(state("s2.f0"), "new");
  assert.equal(state("f0"), "past", "number 0 of another net");
  assert.equal(forwardLine(currentEvent(trace, ran)), "s2.f0");
  assert.equal(subnetOf("s2.f0"), "s2");
  assert.equal(subnetOf("f0"), null);
  assert.ok(touchedLines(trace)(ran - 1, ran).has("s2.f0"));
  assert.equal(allLines(trace).length, 8);
});

test("a move over rounds of a loop touches what they run, with nothing about it at either end", () => {
  const rounds = trace.events.flatMap((event, index) => (event.lines[0] === "s2.f0" && event.kind === "Ran" ? [index + 1] : []));
  assert.equal(rounds.length, ROUNDS);
  const [, second = 0] = rounds;
  assert.ok(touchedLines(trace)(second - 1, second + 1).has("s2.f0"));
  assert.ok(touchedLines(trace)(second + 1, second - 1).has("s2.f0"));
});

const refusal = (damage: (document: any) => void, message: RegExp): void => {
  const document = JSON.parse(JSON.stringify(loopDocument()));
  damage(document);
  assert.throws(() => parseTrace(JSON.stringify(document)), { name: "Error", message });
};

test("what contradicts itself is refused", () => {
  const row = (loopDocument()["events"] as unknown[]).findIndex((event) => Array.isArray(event));
  refusal((d) => (d.events[row][0] = row), /events\[\d+\] is like no event before it/);
  refusal((d) => (d.events[row][5] = [7]), /events\[\d+\]\[5\]\[0\] is 7, not a text/);
  refusal((d) => (d.events[row][5] = ["x", "x"]), /has arguments up to 2, and the event that it is like has 1/);
  refusal((d) => (d.events[row][4] = 1), /has arguments up to 2, and the event that it is like has 1/);
  refusal((d) => (d.events[row][4] = -1), /events\[\d+\]\[4\] is -1, outside 0 to/);
  refusal((d) => (d.events[0].narration[0] = 2), /events\[0\]\.narration\[0\] is 2, and there are 2 templates/);
  refusal((d) => (d.events[0].narration[0] = -1), /events\[0\]\.narration\[0\] is -1, outside 0 to/);
  refusal((d) => (d.events[0].narration[1] = []), /events\[0\]\.narration has 0 arguments for 1 places/);
  refusal((d) => (d.events[0].narration[1] = ["x", "x"]), /events\[0\]\.narration has 2 arguments for 1 places/);
  refusal((d) => (d.events[0].narration[1] = [0]), /events\[0\]\.narration\[1\]\[0\] is 0, not a text/);
  refusal((d) => (d.events[0].narration = "Text."), /events\[0\]\.narration is "Text\.", not a list/);
  refusal((d) => (d.templates[0] = "{place} more {places}"), /events\[0\]\.narration has 1 arguments for 2 places/);
  refusal((d) => (d.templates[0] = 0), /templates\[0\] is 0, not a text/);
  refusal((d) => (d.subnets[0].owner = "f9"), /subnets\[0\]\.owner is "f9", and there is no such line/);
  refusal((d) => (d.forward[1].subnets.loop_net = "s9"), /forward\[1\]\.subnets\["loop_net"\] is "s9", and there is no such nested net/);
  refusal((d) => (d.frames[0][0] = "s9"), /frames\[0\]\[0\] is "s9"/);
  refusal((d) => (d.frames[1][1] = 1), /frames\[1\]\.around is no frame that began before/);
  refusal((d) => (d.frames[0][6] = [10000]), /frames\[0\]\[6\]\[0\] is 10000, and there are \d+ arrays/);
  refusal((d) => (d.frames[0][6] = [0, 0]), /has more values than s0 has blobs/);
  refusal((d) => (d.stacks[0].below = 0), /stacks\[0\]\.below is no stack before it/);
  refusal((d) => (d.arrays.rows[0] = [9, [[1]]]), /arrays\.rows\[0\]\[0\] is no kind/);
  refusal((d) => (d.arrays.rows[0] = [0, []]), /has neither statistics nor a number/);
  refusal((d) => (d.events[0].row = ["f9", [], false, null]), /events\[0\]\.row\[0\] is "f9"/);
  refusal((d) => (d.events[0].row = [null, [], false, [1]]), /events\[0\]\.row\[3\]/);
  refusal((d) => (d.events[0].subnet = "s9"), /events\[0\]\.subnet is "s9", and there is no such nested net/);
  refusal((d) => (d.events[0].kind = "LeftSubnet"), /leaves a nested net that was not entered/);
  refusal((d) => (d.values["W@1"].stack = 9), /values\["W@1"\]\.stack is 9, and there are \d+ stacks/);
});

test("rows that repeat a long narration too often are refused", () => {
  const long = 10_000_000;
  const row = (loopDocument()["events"] as unknown[]).findIndex((event) => Array.isArray(event));
  const repeat = (d: any): void => {
    d.events[row][5] = [];
    d.events.splice(row, 0, ...Array(Math.ceil(MOST_NARRATED / long)).fill(d.events[row]));
  };
  const argument = (d: any): void => {
    d.events[d.events[row][0]].narration[1] = ["y".repeat(long)];
    repeat(d);
  };
  const template = (d: any): void => {
    d.templates[0] += "y".repeat(long);
    repeat(d);
  };
  for (const change of [argument, template]) refusal(change, /brings the narrations to more than 200000000 characters/);
});
