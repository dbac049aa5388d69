// The inspector's Breakpoints tab: the list, a field that adds to it, and what log points have said.

import { hitsOf, logBy, meaningOf, remarks, withBreakpoint } from "../breakpoints";
import { after, runTo } from "../occurrences";
import type { BreakpointEntry, Trace } from "../trace";
import { element, iconButton, linkButton, quiet } from "./dom";
import { entryForm } from "./entry";
import { howForm, isUnfolded, setUnfolded } from "./hits";
import type { Navigation } from "./navigation";
import { counted } from "./numbers";

/** Messages of log points that are shown, the last ones. */
const MESSAGES = 20;

/** The field that adds a breakpoint. */
export function breakpointForm(trace: Trace, navigation: Navigation): HTMLElement {
  return entryForm("Stop at", "FC, x@1, NaN, norm > 10 …", (on) => {
    const { problem } = meaningOf(trace, { on, log: null });
    if (problem) return problem;
    const marks = navigation.marks();
    navigation.mark({ ...marks, breakpoints: withBreakpoint(marks.breakpoints, on) });
    return null;
  });
}

/** What stands below the field; `last`: what comes behind it is not told. */
export function breakpointCards(trace: Trace, position: number, last: number, navigation: Navigation): HTMLElement[] {
  const { breakpoints } = navigation.marks();
  const set = (entries: BreakpointEntry[]): void => navigation.mark({ ...navigation.marks(), breakpoints: entries });
  const list = element("div", { class: "gv-breakpoints", role: "list", "aria-label": "Breakpoints" });
  for (const entry of breakpoints) list.append(item(trace, position, last, entry, navigation, set));
  const empty = quiet("No breakpoints. Click left of a line, press b, or write what to stop at.");
  const messages = messagesCard(trace, position, breakpoints, navigation);
  return [breakpoints.length > 0 ? list : empty, ...messages];
}

function item(trace: Trace, position: number, last: number, entry: BreakpointEntry, navigation: Navigation, set: (entries: BreakpointEntry[]) => void): HTMLElement {
  const all = navigation.marks().breakpoints;
  const change = (other: BreakpointEntry): void => set(all.map((one) => (one.id === entry.id ? other : one)));
  const isWrong = meaningOf(trace, entry).problem !== null;
  const check = element("input", { type: "checkbox", "aria-label": `${entry.log === null ? "Stop" : "Log"} at ${entry.on}`, disabled: isWrong });
  check.checked = entry.enabled;
  check.addEventListener("change", () => change({ ...entry, enabled: check.checked }));
  const form = howForm(trace, entry, change);
  const how = iconButton(`Which hits of ${entry.on} count, and what it logs`, "M3 5h10M3 11h10M6 3v4M10 9v4", () => unfold(form.hidden));
  const unfold = (isOpen: boolean): void => {
    setUnfolded(navigation, entry.id, isOpen);
    form.hidden = !isOpen;
    how.setAttribute("aria-expanded", String(isOpen));
  };
  unfold(!isWrong && isUnfolded(navigation, entry.id));
  const remove = iconButton(`Remove ${entry.on}`, "M4 4l8 8M12 4l-8 8", () => set(all.filter((one) => one.id !== entry.id)));
  const said = remarks(trace, entry, last);
  const remark = said === "" ? [] : [element("div", { class: isWrong ? "gv-wrong" : "gv-note" }, said)];
  const text = element("div", { class: "gv-entry-text" }, element("code", {}, entry.on), ...remark);
  const count = element("span", { class: "gv-note gv-hits" }, isWrong ? "" : hitText(hitsOf(trace, entry), position, last));
  const row = element("div", { class: "gv-entry" }, check, text, count, ...(isWrong ? [] : [how]), remove);
  return element("div", { role: "listitem", class: entry.enabled ? "" : "gv-off" }, row, form);
}

/** "hit 2 of 5", "5 hits" where it is not one of them, "no hit"; how many more come is told only where the last one may be. */
function hitText(hits: readonly number[], position: number, last: number): string {
  if (last < Infinity) return hitTextBy(hits.filter((hit) => hit <= last), position);
  const here = hits.indexOf(position);
  if (here >= 0) return `hit ${here + 1} of ${hits.length}`;
  if (hits.length === 0) return "no hit";
  return after(hits, position) === null ? `${counted(hits.length, "hit")}, none ahead` : counted(hits.length, "hit");
}

/** "hit 2", "2 hits by now", "no hit by now". */
function hitTextBy(hits: readonly number[], position: number): string {
  if (hits.includes(position)) return `hit ${hits.length}`;
  return `${hits.length === 0 ? "no hit" : counted(hits.length, "hit")} by now`;
}

function messagesCard(trace: Trace, position: number, breakpoints: BreakpointEntry[], navigation: Navigation): HTMLElement[] {
  if (!breakpoints.some(({ log, enabled }) => log !== null && enabled)) return [];
  const said = logBy(trace, breakpoints, position).slice(-MESSAGES);
  const list = element("div", { class: "gv-messages", role: "list", "aria-label": "Messages" });
  for (const { position: at, message } of said) {
    const go = linkButton(() => navigation.go(at), String(at));
    list.append(element("div", { role: "listitem", class: "gv-entry" }, go, element("span", { class: "gv-entry-text" }, message)));
  }
  return [element("b", {}, "Messages"), said.length > 0 ? list : quiet("None by now.")];
}

/** Runs to the target; says where it is instead when it does not come any more, or what is wrong with it. */
export function runToTarget(trace: Trace, at: number, target: string, go: (to: number) => void): string | null {
  const found = runTo(trace, at, target);
  if (found !== null) {
    go(found);
    return null;
  }
  const first = runTo(trace, 0, target);
  if (first !== null) return `No “${target}” after event ${at}; the first is event ${first}.`;
  const { problem } = meaningOf(trace, { on: target, log: null });
  return problem && /[<>=]/.test(target) ? problem.message : `Nothing matches “${target}”.`;
}
