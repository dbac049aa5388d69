// The answers that a page holds: which one counts at a position, and what is refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Question } from "../../../src/model/answers/asking";
import { readPageAnswers } from "../../../src/model/answers/page_answers";

const DOCUMENT = {
  rows: [["a", "b"], ["c", "d"]],
  blocks: [["paragraph", "early", true], ["grid", "t", ["h", "i"], [1, 0], ""], ["bullets", ["late"]]],
  replies: [{ blocks: [0, 1], data: null }, { blocks: [2], data: null }, { problem: "no arrays", ways_out: [] }],
  asked: { '["why_none","x@0"]': [[0, 0], [5, 1], [9, null]], '["check","#0"]': [[0, 2]] },
};
const asked = (document: unknown, question: Partial<Question>): Record<string, unknown> =>
  readPageAnswers(JSON.stringify(document))({ question: "why_none", arguments: ["x@0"], position: 0, ...question });

test("an answer holds from its position up to the next one", () => {
  const early = { blocks: [["paragraph", "early", true], ["grid", "t", ["h", "i"], [["c", "d"], ["a", "b"]], ""]], data: null };
  assert.deepEqual(asked(DOCUMENT, { position: 0 }), early);
  assert.deepEqual(asked(DOCUMENT, { position: 4 }), early);
  assert.deepEqual(asked(DOCUMENT, { position: 5 }), { blocks: [["bullets", ["late"]]], data: null });
  assert.deepEqual(asked(DOCUMENT, { question: "check", arguments: ["#0"], position: 3 }), { problem: "no arrays", ways_out: [] });
});

test("what is not there says how to ask in Python", () => {
  for (const question of [{ position: 9 }, { arguments: ["y@0"] }, { arguments: ["__proto__"] }]) {
    assert.match(String(asked(DOCUMENT, question)["problem"]), /no room/);
  }
  assert.deepEqual(asked(DOCUMENT, { position: 9 })["ways_out"], ['In Python, at event 9: session.why_none("x@0")']);
});

for (const [what, change] of Object.entries({
  "no rows": { rows: undefined },
  "a row that is none": { rows: [["a", 1]] },
  "a reply that is none": { replies: ["x"] },
  "an entry that is none": { asked: { q: [3] } },
  "a reply that is not there": { asked: { '["why_none","x@0"]': [[0, 7]] } },
  "a block that is not there": { replies: [{ blocks: [9] }] },
  "a grid whose row is not there": { blocks: [["grid", "t", [], [9], ""], [], []] },
})) {
  test(`answers with ${what} are refused`, () => {
    assert.throws(() => asked({ ...DOCUMENT, ...change }, {}));
  });
}
