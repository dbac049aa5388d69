import assert from "node:assert/strict";
import { test } from "node:test";

import { mismatch } from "../../../src/model/schema/protocol";
import { PROTOCOL } from "../../../src/model/schema";

test("views say nothing where the kernel speaks as they do", () => {
  for (const view of ["widget", "panel"] as const) assert.equal(mismatch(view, PROTOCOL), "");
});

test("they say which side is older and what to do; a kernel without a number is older", () => {
  assert.match(mismatch("panel", PROTOCOL + 1), /side panel is older .* update gradviz where JupyterLab runs, and reload the page/);
  assert.match(mismatch("panel", undefined), /gradviz of this kernel is older .* update gradviz there, and restart the kernel/);
  assert.match(mismatch("widget", PROTOCOL + 1), /widget is older .* reload the page/);
  assert.match(mismatch("widget", PROTOCOL - 1), /widget is newer .* restart the kernel/);
});
