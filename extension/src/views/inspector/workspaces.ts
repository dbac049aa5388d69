// The inspector's Value tab for a scope blob: the workspaces on its stack, and what is in each.

import { blobsIn, forwardIteration, loopAround, valueOf, workspacesOn } from "../../model/recording/values";
import type { Trace } from "../../model/schema";
import { describe, picture } from "../elements/array";
import { createChoice } from "../elements/choice";
import { element, leave, linkButton, quiet, version } from "../elements/dom";
import { counted } from "../elements/numbers";

/** More are shown when they are asked for. */
const SHOWN = 12;

export function workspacesCard(trace: Trace, stack: number): HTMLElement {
  const runs = workspacesOn(trace, stack);
  const head = element("b", {}, `stack of ${counted(runs.length, "workspace")}`);
  const card = element("div", { class: "gv-card gv-workspaces" }, head);
  if (runs.length === 0) card.append(quiet("No workspace is left on it."));
  let shown = 0;
  const show = (): void => {
    const some = runs.slice(shown, shown + SHOWN);
    more.before(...some.map((frame, index) => workspace(trace, frame, shown + index === 0)));
    shown += some.length;
    more.textContent = `${counted(runs.length - shown, "workspace")} below`;
    if (shown < runs.length) return;
    leave(more);
    more.hidden = true;
  };
  const more = linkButton(show);
  card.append(more);
  show();
  return card;
}

function workspace(trace: Trace, frame: number | null, isTop: boolean): HTMLElement {
  const title = frame === null ? "from before this recording" : titleOf(trace, frame);
  const summary = element("summary", {}, title, element("span", { class: "gv-note" }, isTop ? " on top" : ""));
  const item = element("details", {}, summary);
  if (frame === null) return item;
  item.addEventListener("toggle", () => {
    if (item.open && item.childElementCount === 1) item.append(contents(trace, frame));
  });
  return item;
}

/** "iteration 3 of While #2", "Do #4". */
function titleOf(trace: Trace, frame: number): string {
  const round = loopAround(trace, frame);
  if (round) return `iteration ${forwardIteration(round)} of While #${round.operator}`;
  return `Do #${trace.frames[frame]?.operator ?? ""}`;
}

function contents(trace: Trace, frame: number): HTMLElement {
  const blobs = blobsIn(trace, frame);
  const shown = element("div", { class: "gv-card" });
  const choose = (blob: string): void => {
    choice.show(blob);
    const value = valueOf(trace, frame, blob);
    if (value) shown.replaceChildren(element("b", {}, describe(value)), picture(blob, value));
  };
  const choice = createChoice("gv-chips", "Blobs in this workspace", blobs, (blob) => ({ content: version(blob) }), choose);
  if (blobs[0] !== undefined) choose(blobs[0]);
  return element("div", { class: "gv-card" }, choice.element, shown);
}
