import assert from "node:assert/strict";
import { test } from "node:test";

import type { Value } from "../../../src/model/schema";
import { binOf, elementText, quantity } from "../../../src/views/elements/numbers";

test("a whole number has all of its digits, as an index or a label needs", () => {
  assert.deepEqual([50257, -12345, 999999].map((one) => quantity(one, 3)), ["50257", "−12345", "999999"]);
  assert.deepEqual([12345.6, 1234567, 0.5].map((one) => quantity(one, 3)), ["12300", "1.23·10⁶", "0.5"]);
  const [labels, norms] = ["int64", "float32"].map((dtype) => ({ dtype }) as Value);
  assert.deepEqual([labels, norms].map((of) => elementText(of!, -20000001)), ["−20000001", "−2·10⁷"]);
});

test("a number on the edge of two bins is in the one where Python counts it", () => {
  // np.floor((0 - least) * (20 / (most - least)))
  const counted: [min: number, max: number, bin: number][] = [[-0.3, 0.1, 15], [-0.3, 5.7, 1], [-0.6, 0.9, 8], [-1.2, 0.4, 15], [-1, 1, 10], [-3, 7, 6]];
  for (const [min, max, bin] of counted) assert.equal(binOf(0, min, max, 20), bin, `${min} to ${max}`);
});

test("the least and the greatest number are in the first and the last bin, however near each other they are", () => {
  for (const [min, max] of [[-0.3, 0.1], [0, 5e-324], [-1e-310, 2e-310], [-8e307, 8e307]] as const) {
    assert.deepEqual([binOf(min, min, max, 20), binOf(max, min, max, 20)], [0, 19]);
  }
});
