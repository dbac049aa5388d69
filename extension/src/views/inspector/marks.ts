// The inspector's Breakpoints tab: the list, a field that adds to it, which hits of each count, and what log points have said.
// And its Watch tab: expressions about blobs, what they are here, and what they were at every event that changed them.

import { shown } from "../../model/filters/conditions/conditions";
import { hitsOf, leftOut, logBy, meaningOf, remarks, watched, withBreakpoint, type Watched } from "../../model/filters/marks";
import { after, runTo } from "../../model/filters/occurrences";
import { behind } from "../../model/recording/lookup";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { element, iconButton, ICONS, linkButton, quiet, refill, type Attributes, type Child } from "../elements/dom";
import { createFault, entryForm, textField } from "../elements/controls";
import type { Navigation } from "../elements/navigation";
import { counted } from "../elements/numbers";
import { answerCard, type Asking } from "./questions";
import { columns } from "./rounds";

/** Messages of log points that are shown, the last ones. */
const MESSAGES = 20;

/** Shows the tab at a position; `last`: what comes behind it is not told. What is typed in it stays, with the focus. */
export function createBreakpoints(trace: Trace, navigation: Navigation): (position: number, last: number) => HTMLElement[] {
  const set = (breakpoints: BreakpointEntry[]): void => navigation.mark({ ...navigation.marks(), breakpoints });
  const form = entryForm("Stop at", "FC, x@1, NaN, norm > 10 …", (on) => {
    const { problem } = meaningOf(trace, { on, log: null });
    if (problem === null) set(withBreakpoint(navigation.marks().breakpoints, on));
    return problem;
  });
  const list = element("div", { class: "gv-breakpoints", role: "list", "aria-label": "Breakpoints" });
  const empty = quiet("No breakpoints. Click left of a line, press b, or write what to stop at.");
  let items = new Map<number, Item>();

  function itemOf(entry: BreakpointEntry): Item {
    const before = items.get(entry.id);
    if (before?.key === keyOf(entry)) return before;
    const others = (): BreakpointEntry[] => navigation.marks().breakpoints;
    const change = (other: BreakpointEntry): void => set(others().map((one) => (one.id === entry.id ? other : one)));
    const remove = (): void => set(others().filter((one) => one.id !== entry.id));
    return createItem(trace, entry, before?.isUnfolded() ?? false, change, remove);
  }

  return (position, last) => {
    const { breakpoints } = navigation.marks();
    items = new Map(breakpoints.map((entry) => [entry.id, itemOf(entry)]));
    for (const item of items.values()) item.tell(position, last);
    refill(list, [...items.values()].map((item) => item.element));
    return [form, breakpoints.length > 0 ? list : empty, ...messagesCard(trace, position, breakpoints, navigation)];
  };
}

const keyOf = (entry: BreakpointEntry): string => JSON.stringify(entry);

type Item = ReturnType<typeof createItem>;

function createItem(trace: Trace, entry: BreakpointEntry, isUnfolded: boolean, change: (other: BreakpointEntry) => void, drop: () => void) {
  const isWrong = meaningOf(trace, entry).problem !== null;
  const check = element("input", { type: "checkbox", "aria-label": `${entry.log === null ? "Stop" : "Log"} at ${entry.on}`, disabled: isWrong });
  check.checked = entry.enabled;
  check.addEventListener("change", () => change({ ...entry, enabled: check.checked }));
  const form = howForm(trace, entry, change);
  const how = iconButton(`Which hits of ${entry.on} count, and what it logs`, "M3 5h10M3 11h10M6 3v4M10 9v4", () => unfold(form.hidden));
  const unfold = (isOpen: boolean): void => {
    form.hidden = !isOpen;
    how.setAttribute("aria-expanded", String(isOpen));
  };
  unfold(!isWrong && isUnfolded);
  const remove = iconButton(`Remove ${entry.on}`, ICONS.remove, drop);
  const remark = element("div", { class: isWrong ? "gv-wrong" : "gv-note" });
  const text = element("div", { class: "gv-entry-text" }, element("code", {}, entry.on), remark);
  const count = element("span", { class: "gv-note gv-hits" });
  const row = element("div", { class: "gv-entry" }, check, text, count, ...(isWrong ? [] : [how]), remove);
  return {
    element: element("div", { role: "listitem", class: entry.enabled ? "" : "gv-off" }, row, form),
    /** All that the breakpoint is: another one has another row. */
    key: keyOf(entry),
    isUnfolded: () => !form.hidden,
    tell(position: number, last: number) {
      remark.textContent = remarks(trace, entry, last);
      remark.hidden = remark.textContent === "";
      const hits = hitsOf(trace, entry);
      const isCounted = entry.ignore > 0 || entry.every > 1;
      const inPart = isCounted ? "" : `${counted(hits.length, "hit")} in this part`;
      count.textContent = isWrong ? "" : trace.part ? inPart : hitText(hits, position, last);
    },
  };
}

/**
 * "hit 2 of 5", "5 hits" where it is not one of them, "no hit"; how many more come is told only where the last one may be,
 * else "hit 2", "2 hits by now", "no hit by now".
 */
function hitText(all: readonly number[], position: number, last: number): string {
  const hits = all.filter((hit) => hit <= last);
  const here = hits.indexOf(position);
  const howMany = hits.length === 0 ? "no hit" : counted(hits.length, "hit");
  if (last < Infinity) return here >= 0 ? `hit ${hits.length}` : `${howMany} by now`;
  if (here >= 0) return `hit ${here + 1} of ${hits.length}`;
  return hits.length > 0 && after(hits, position) === null ? `${howMany}, none ahead` : howMany;
}

function messagesCard(trace: Trace, position: number, breakpoints: BreakpointEntry[], navigation: Navigation): HTMLElement[] {
  if (!breakpoints.some(({ log, enabled }) => log !== null && enabled)) return [];
  const messages = logBy(trace, breakpoints, position).slice(-MESSAGES);
  const list = element("div", { class: "gv-messages", role: "list", "aria-label": "Messages" });
  for (const { position: at, message } of messages) {
    const go = linkButton(() => navigation.go(at), String(at));
    list.append(element("div", { role: "listitem", class: "gv-entry" }, go, element("span", { class: "gv-entry-text" }, message)));
  }
  return [element("b", {}, "Messages"), messages.length > 0 ? list : quiet("None by now.")];
}

/** Runs to the target; says where it is instead when it does not come any more, or what is wrong with it. */
export function runToTarget(trace: Trace, at: number, target: string, go: (to: number) => void): string | null {
  const next = runTo(trace, at, target);
  if (next !== null) {
    go(next);
    return null;
  }
  const first = runTo(trace, 0, target);
  if (first !== null) return `No “${target}” after event ${at}; the first is event ${first}.`;
  const meaning = meaningOf(trace, { on: target, log: null });
  if (meaning.problem) return /[<>=]/.test(target) ? meaning.problem.message : `Nothing matches “${target}”.`;
  const why = leftOut(trace, meaning.occurrences);
  return `Nothing matches “${target}”${why && `: ${why}`}.`;
}

/** `change` gets the breakpoint with what was written. */
function howForm(trace: Trace, entry: BreakpointEntry, change: (other: BreakpointEntry) => void): HTMLElement {
  /** Behind its label; to a screen reader it says which breakpoint it is of, too. */
  const field = (label: string, attributes: Attributes) => {
    const input = textField({ ...attributes, "aria-label": `${label}: ${entry.on}` });
    return { element: element("label", {}, element("span", {}, label), input), input };
  };
  const ignore = field("Ignore the first", { type: "number", min: 0, step: 1, required: true, value: entry.ignore });
  const every = field("Of the others count one in", { type: "number", min: 1, step: 1, required: true, value: entry.every });
  const log = field("Log and do not stop", { type: "text", placeholder: "norm of {x} is {norm}", value: entry.log ?? "" });
  const fault = createFault(log.input);
  const set = element("button", { type: "submit", class: "gv-link", "aria-label": `Set what counts for ${entry.on}` }, "Set");
  const form = element("form", { class: "gv-how" }, ignore.element, every.element, log.element, set, fault.element);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    fault.clear();
    const message = log.input.value.trim();
    const other = { ...entry, ignore: Number(ignore.input.value), every: Number(every.input.value), log: message === "" ? null : message };
    const { problem } = meaningOf(trace, other);
    if (problem) fault.complain(problem);
    else change(other);
  });
  return form;
}

/** A chart says nothing of two numbers, and of more than these not more. */
const WORTHWHILE = 3;
const MOST_COLUMNS = 300;
/** Values of the history that can be gone to, around the one that counts. */
const LISTED = 5;

/** The field that adds a watch. */
export function watchForm(trace: Trace, navigation: Navigation): HTMLElement {
  return entryForm("Blob or expression", "x, norm(x@1), h.max / 2 …", (on) => {
    // Of a part nobody knows here what else the recording has.
    const problem = trace.part ? null : watched(trace, on).problem;
    const marks = navigation.marks();
    if (problem === null && !marks.watches.includes(on)) navigation.mark({ ...marks, watches: [...marks.watches, on] });
    return problem;
  });
}

/** What stands below the field; `last`: what comes behind it is not told. */
export function watchCards(asking: Asking, position: number, last: number): HTMLElement[] {
  const { navigation } = asking;
  const { watches } = navigation.marks();
  const set = (list: string[]): void => navigation.mark({ ...navigation.marks(), watches: list });
  const cards = watches.map((on) => card(asking, on, position, last, () => set(watches.filter((one) => one !== on))));
  return cards.length > 0 ? cards : [quiet("Nothing is watched. Press w for the blob in focus, or write a blob.")];
}

/** A watch: where the whole recording is shown what it is and was, else what Python says of that. */
function card(asking: Asking, on: string, position: number, last: number, drop: () => void): HTMLElement {
  const { trace, navigation } = asking;
  const remove = iconButton(`Stop watching ${on}`, ICONS.remove, drop);
  const watching = (said: Child[], ...below: HTMLElement[]): HTMLElement => {
    const head = element("div", { class: "gv-entry" }, element("div", { class: "gv-entry-text" }, element("code", {}, on), ...said), remove);
    return element("div", { class: "gv-card gv-watch", role: "group", "aria-label": `Watch ${on}` }, head, ...below);
  };
  if (trace.part) return watching([], answerCard(asking, { question: "watched", arguments: [on], position }));
  const watch = watched(trace, on);
  const value = watch.at(position);
  const text = element("span", { class: watch.problem ? "gv-wrong" : value === null && "gv-not-computed" }, watch.text(position));
  return watching([" ", text], ...history(watch.history.filter((one) => one.position <= last), position, on, navigation));
}

function history(all: Watched["history"], position: number, on: string, navigation: Navigation): HTMLElement[] {
  if (all.length === 0) return [];
  const here = behind(all.map((one) => one.position), position) - 1;
  const numbers = all.map(({ value }) => (typeof value === "number" ? value : null));
  const start = Math.max(0, Math.min(here - (MOST_COLUMNS >> 1), all.length - MOST_COLUMNS));
  const isChart = all.length >= WORTHWHILE && numbers.some((one) => one !== null);
  const chart = isChart ? [columns(numbers.slice(start, start + MOST_COLUMNS), here - start, `|${on}|`)] : [];
  return [...chart, list(all, here, navigation)];
}

/** The values around the one that counts here; each leads to where it came about. */
function list(all: Watched["history"], here: number, navigation: Navigation): HTMLElement {
  const first = Math.max(0, Math.min(here - (LISTED >> 1), all.length - LISTED));
  const rows = all.slice(first, first + LISTED).map(({ position, value }, index) => {
    const go = linkButton(() => navigation.go(position), position === 0 ? "fed" : `event ${position}`);
    if (first + index === here) go.setAttribute("aria-current", "step");
    return element("div", { role: "listitem", class: "gv-entry" }, go, element("span", {}, shown(value)));
  });
  const more = all.length > LISTED ? [element("div", { role: "listitem", class: "gv-note" }, `${all.length} values in all`)] : [];
  return element("div", { class: "gv-history", role: "list", "aria-label": "History" }, ...rows, ...more);
}
