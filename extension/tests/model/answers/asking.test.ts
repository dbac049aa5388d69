// Questions and answers: the line to a kernel, the answers that are kept, and what cannot be answered.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createAnswers, createLine, inPython, KERNEL_GONE, PATIENCE, type Question, type Reply } from "../../../src/model/answers/asking";

const QUESTION: Question = { question: "why_none", arguments: ["x@0"], position: 3 };
const answer = (text: string): Reply => ({ blocks: [{ kind: "paragraph", text, isTitle: false }], data: null });

/** A line, and what went out on it. */
function line() {
  const sent: Record<string, unknown>[] = [];
  return { sent, ...createLine((message) => void sent.push(message)) };
}

test("a question goes out with an id, and the reply with that id is its answer", async () => {
  const { ask, hear, sent } = line();
  const waiting = ask(QUESTION);
  assert.deepEqual({ ...sent[0], id: "" }, { type: "question", id: "", ...QUESTION });
  hear({ type: "answer", id: "another's", blocks: [], data: null });
  hear({ type: "answer", id: sent[0]?.["id"], blocks: [["paragraph", "x@0 has none", true], ["bullets", ["a"]], ["grid", "t", ["h"], [["c"]], "f"]], data: { k: 1 } });
  assert.deepEqual(await waiting, {
    blocks: [
      { kind: "paragraph", text: "x@0 has none", isTitle: true },
      { kind: "bullets", items: ["a"] },
      { kind: "grid", title: "t", head: ["h"], rows: [["c"]], foot: "f" },
    ],
    data: { k: 1 },
  });
});

test("a problem is told with its ways out", async () => {
  const { ask, hear, sent } = line();
  const waiting = ask(QUESTION);
  hear({ type: "answer", id: sent[0]?.["id"], problem: "no such blob", ways_out: ["Did you mean y?"] });
  assert.deepEqual(await waiting, { problem: "no such blob", waysOut: ["Did you mean y?"] });
});

for (const [what, malformed] of Object.entries({
  "no blocks": {},
  "a block of an unknown kind": { blocks: [["script", "alert(1)"]], data: null },
  "a cell that is no text": { blocks: [["grid", "t", ["h"], [[1]], ""]], data: null },
  "a block that is no row": { blocks: ["paragraph"], data: null },
})) {
  test(`an answer with ${what} is a problem that says so`, async () => {
    const { ask, hear, sent } = line();
    const waiting = ask(QUESTION);
    hear({ type: "answer", id: sent[0]?.["id"], ...malformed });
    const reply = await waiting;
    assert.ok("problem" in reply && reply.problem.startsWith("The answer cannot be shown"));
  });
}

test("what is no answer is not heard", () => {
  const { hear } = line();
  for (const message of [null, 1, "x", {}, { id: 3 }]) hear(message);
});

test("a line that is cut, or on which nothing can be sent, answers that the kernel is gone", async () => {
  const { ask, cut } = line();
  const waiting = ask(QUESTION);
  cut();
  assert.equal(await waiting, KERNEL_GONE);
  const broken = createLine(() => {
    throw new Error("closed");
  });
  assert.equal(await broken.ask(QUESTION), KERNEL_GONE);
});

test("after a patient while without an answer the view is told, and an answer that comes late still counts", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { ask, hear, sent } = line();
  const waiting = ask(QUESTION);
  context.mock.timers.tick(PATIENCE - 1);
  assert.equal(await Promise.race([waiting, Promise.resolve("nothing yet")]), "nothing yet");
  context.mock.timers.tick(1);
  const silence = await waiting;
  assert.ok("problem" in silence && silence.problem.startsWith("No answer for 20 seconds"));
  hear({ type: "answer", id: sent[0]?.["id"], blocks: [["paragraph", "late", false]], data: null });
  assert.deepEqual(await silence.late, answer("late"));
});

test("a question that was lost holds up no other, and can be asked again; the first answer to either is shown once", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { ask, hear, sent } = line();
  const answers = createAnswers(ask);
  const told: Reply[] = [];
  const isAnswered = (): boolean => told.some((reply) => "blocks" in reply);
  const put = (): void => answers.ask(QUESTION, () => !isAnswered(), (reply) => void told.push(reply));
  put();
  const other: Reply[] = [];
  answers.ask({ ...QUESTION, position: 4 }, () => true, (reply) => void other.push(reply));
  assert.equal(sent.length, 1);
  context.mock.timers.tick(PATIENCE);
  await new Promise(setImmediate);
  assert.deepEqual([told.length, isAnswered(), sent.length], [1, false, 2]);
  const reply = (number: number, text: string): void => hear({ type: "answer", id: sent[number]?.["id"], blocks: [["paragraph", text, false]], data: null });
  reply(1, "the other one");
  await new Promise(setImmediate);
  assert.deepEqual(other, [answer("the other one")]);
  put();
  reply(0, "late");
  reply(2, "again");
  await new Promise(setImmediate);
  assert.deepEqual(told.slice(1), [answer("late")]);
  assert.ok(answers.reply(QUESTION), "the next view of it need not ask");
});

test("whoever waited in vain hears, too, that the kernel is gone", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { ask, cut } = line();
  const told: Reply[] = [];
  createAnswers(ask).ask(QUESTION, () => true, (reply) => void told.push(reply));
  context.mock.timers.tick(PATIENCE);
  await new Promise(setImmediate);
  cut();
  await new Promise(setImmediate);
  assert.equal(told[1], KERNEL_GONE);
});

test("an answer is kept for its question and position, a problem is asked again", async () => {
  const asked: Question[] = [];
  const replies: Reply[] = [{ problem: "busy", waysOut: [] }, answer("one"), answer("two")];
  const answers = createAnswers((question) => {
    asked.push(question);
    return Promise.resolve(replies.shift() ?? answer("none"));
  });
  const get = (question: Question): Promise<Reply> => new Promise((done) => answers.ask(question, () => true, done));
  assert.ok("problem" in (await get(QUESTION)));
  assert.deepEqual(await get(QUESTION), answer("one"));
  assert.deepEqual(await get(QUESTION), answer("one"));
  assert.deepEqual(answers.reply(QUESTION), answer("one"));
  assert.deepEqual(await get({ ...QUESTION, position: 4 }), answer("two"));
  assert.equal(asked.length, 3);
});

test("one question is on its way at a time; of the others only those still wanted follow, the newest first", async () => {
  const waiting: ((reply: Reply) => void)[] = [];
  const asked: number[] = [];
  const answers = createAnswers(({ position }) => {
    asked.push(position);
    return new Promise((resolve) => void waiting.push(resolve));
  });
  const told: number[] = [];
  const wanted = new Set([5]);
  const ask = (position: number): void => answers.ask({ ...QUESTION, position }, () => wanted.has(position), () => void told.push(position));
  wanted.add(1);
  ask(1);
  wanted.delete(1);
  for (const position of [2, 3, 4, 5]) ask(position);
  assert.deepEqual(asked, [1]);
  waiting[0]?.(answer("late"));
  await new Promise(setImmediate);
  assert.deepEqual(asked, [1, 5]);
  assert.deepEqual(told, [], "an answer that nobody waits for is not shown");
  assert.ok(answers.reply({ ...QUESTION, position: 1 }), "but it is kept");
  waiting[1]?.(answer("five"));
  await new Promise(setImmediate);
  assert.deepEqual(told, [5]);
});

test("when the kernel is gone everybody who waits hears it", async () => {
  const waiting: ((reply: Reply) => void)[] = [];
  const answers = createAnswers(() => new Promise((resolve) => void waiting.push(resolve)));
  const told: Reply[] = [];
  for (const position of [1, 2, 3]) answers.ask({ ...QUESTION, position }, () => true, (reply) => void told.push(reply));
  waiting[0]?.(KERNEL_GONE);
  await new Promise(setImmediate);
  assert.deepEqual(told, [KERNEL_GONE, KERNEL_GONE, KERNEL_GONE]);
});

test("without anybody to ask, the reply says how to ask in Python", () => {
  createAnswers(null).ask({ question: "paths", arguments: ['say "x"', 3], position: 0 }, () => true, (reply) => {
    assert.ok("problem" in reply && reply.waysOut[0]?.includes('session.paths("say \\"x\\"", 3)'));
  });
  assert.equal(inPython({ question: "state", arguments: [], position: 1 }), "session.state()");
});
