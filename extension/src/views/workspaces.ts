// The inspector's Value tab for a scope blob: the workspaces on its stack, and what is in each.

import type { Trace } from "../trace";
import { blobsIn, loopAround, forwardIteration, valueOf, workspacesOn } from "../values";
import { element, version } from "./dom";
import { counted } from "./numbers";
import { describe, picture } from "./picture";

/** More are shown when they are asked for. */
const SHOWN = 12;

export function workspacesCard(trace: Trace, stack: number): HTMLElement {
  const runs = workspacesOn(trace, stack);
  const head = element("b", {}, `stack of ${counted(runs.length, "workspace")}`);
  const card = element("div", { class: "gv-card gv-workspaces" }, head);
  if (runs.length === 0) card.append(element("p", { class: "gv-quiet" }, "No workspace is left on it."));
  let shown = 0;
  const more = element("button", { type: "button", class: "gv-link" });
  const show = (): void => {
    const some = runs.slice(shown, shown + SHOWN);
    more.before(...some.map((frame, index) => workspace(trace, frame, shown + index === 0)));
    shown += some.length;
    more.hidden = shown === runs.length;
    more.textContent = `${counted(runs.length - shown, "workspace")} below`;
  };
  card.append(more);
  more.addEventListener("click", show);
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
  const choice = element("div", { class: "gv-blobs", role: "group", "aria-label": "Blobs in this workspace" });
  const choose = (blob: string): void => {
    for (const one of choice.children) one.setAttribute("aria-pressed", String((one as HTMLElement).dataset["blob"] === blob));
    const value = valueOf(trace, frame, blob);
    if (value) shown.replaceChildren(element("b", {}, describe(value)), picture(blob, value));
  };
  for (const blob of blobs) {
    const button = element("button", { type: "button", "data-blob": blob, "aria-pressed": "false" }, ...version(blob));
    button.addEventListener("click", () => choose(blob));
    choice.append(button);
  }
  if (blobs[0] !== undefined) choose(blobs[0]);
  return element("div", { class: "gv-card" }, choice, shown);
}
