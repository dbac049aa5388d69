// Where we are: the nested nets that are open, from the outside in, each a way back to where it was entered.

import { linesById, numberOf } from "../../model/recording/lines";
import { crumbs, type Crumb } from "../../model/recording/places";
import { roundText } from "../../model/recording/values";
import type { Trace } from "../../model/schema";
import { button, element, iconButton, ICONS } from "../elements/dom";
import type { Navigation, View } from "../elements/navigation";

export function createCrumbs(trace: Trace, navigation: Navigation): View {
  const way = element("ol", { class: "gv-way" });
  const previous = iconButton("Previous iteration", ICONS.before, navigation.previousIteration, { title: "The same place an iteration before ([)" });
  const next = iconButton("Next iteration", ICONS.behind, navigation.nextIteration, { title: "The same place an iteration on (])" });
  const bar = element("nav", { class: "gv-crumbs", "aria-label": "Nested nets that we are in", hidden: trace.subnets.length === 0 }, way);
  let shown = "";

  function show(position: number): void {
    const open = crumbs(trace, position);
    const key = open.map((crumb) => `${crumb.entered}`).join();
    if (key === shown && way.childElementCount > 0) return;
    shown = key;
    const loop = open.map((crumb) => isRound(trace, crumb)).lastIndexOf(true);
    const items = open.map((crumb, depth) => {
      const item = element("li", {}, step(label(trace, crumb), `Entered at event ${crumb.entered + 1}`, () => navigation.go(crumb.entered + 1)));
      if (depth === open.length - 1) item.firstElementChild?.setAttribute("aria-current", "location");
      if (depth === loop) item.append(element("span", { class: "gv-turns" }, previous, next));
      return item;
    });
    const root = step(trace.name || "net", "The outermost net", () => open[0] && navigation.go(open[0].entered));
    if (open.length === 0) root.setAttribute("aria-current", "location");
    const focused = [previous, next].find((one) => one === document.activeElement);
    way.replaceChildren(element("li", {}, root), ...items);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  return { element: bar, show };
}

function isRound(trace: Trace, crumb: Crumb): boolean {
  return crumb.frame !== null && trace.frames[crumb.frame]?.iteration !== null;
}

/** "While #2 · iteration 3 of 5", "If #1 · then_net"; "∂" before what runs a backward pass. */
function label(trace: Trace, { subnet, frame }: Crumb): string {
  const run = frame === null ? undefined : trace.frames[frame];
  const owner = linesById(trace).get((run?.is_backward ? subnet.backward_owner : subnet.owner) ?? subnet.backward_owner ?? "");
  const who = `${owner?.role === "forward" ? "" : "∂"}${owner?.type ?? ""} #${(owner && numberOf(owner)) ?? ""}`;
  const round = roundText(trace, run);
  const what = subnet.argument === "net" ? subnet.name : subnet.argument;
  return `${who} · ${round || what}`;
}

function step(text: string, title: string, act: () => void): HTMLButtonElement {
  return button(act, { title }, text);
}
