import assert from "node:assert/strict";
import { test } from "node:test";

import table from "../../../../tests/debugger/steering/conditions/table.json";
import { ConditionError, evaluate, parse, shown, truth, type Result } from "../../../src/model/filters/conditions/conditions";
import { PHRASES } from "../../../src/model/filters/conditions/language.gen";

type Cell = number | string | boolean | null | Cell[];
const WORDS = new Map<Cell, number>([["nan", NaN], ["inf", Infinity], ["-inf", -Infinity]]);

/** A value of the table as a context gives it: NaN and the infinities are words there. */
function read(cell: Cell | undefined): Result {
  if (Array.isArray(cell)) return cell.map(read) as (number | string)[];
  return WORDS.get(cell ?? null) ?? cell ?? null;
}

const things = table.context as Record<string, Record<string, Cell>>;
const find = (thing: string, attribute: string): Result => read(things[thing]?.[attribute]);

/** The position at which reading a text fails. */
function fault(act: () => unknown): number | null {
  try {
    act();
    return null;
  } catch (error) {
    assert.ok(error instanceof ConditionError);
    return error.position;
  }
}

test("conditions mean what the table says", () => {
  for (const { text, result } of table.conditions as { text: string; result: Cell }[]) {
    assert.deepEqual(evaluate(parse(text), find), read(result), text);
  }
});

test("malformed conditions say where", () => {
  for (const { text, error } of table.malformed) assert.equal(fault(() => parse(text)), error, text);
});

test("a word with a mistake in it is known again", () => {
  for (const { text, meant } of table.meant) {
    assert.throws(() => parse(text), (error) => error instanceof ConditionError && error.message.endsWith(meant) && error.message.includes("Did you mean") === (meant !== ""), text);
  }
});

test("a condition is true or false", () => {
  for (const { text, error } of table.truths as { text: string; error?: number }[]) {
    assert.equal(fault(() => truth(text, parse(text))), error ?? null, text);
  }
});

test("results read the same in every language", () => {
  for (const [value, text] of table.shown as [Cell, string][]) assert.equal(shown(read(value)), text);
});

test("the phrases are those of the table", () => {
  assert.deepEqual(PHRASES, table.phrases);
});
