// The inspector's Watch tab: expressions about blobs, what they are here, and what they were at every event that changed them.

import { shown } from "../../model/filters/conditions/evaluate";
import { watched, type Watched } from "../../model/filters/watches";
import { behind } from "../../model/recording/lists";
import type { Trace } from "../../model/schema";
import { element, iconButton, linkButton, quiet, ICONS } from "../elements/dom";
import { entryForm } from "../elements/entry";
import type { Navigation } from "../elements/navigation";
import { columns } from "./rounds";

/** A chart says nothing of two numbers, and of more than these not more. */
const WORTHWHILE = 3;
const MOST_COLUMNS = 300;
/** Values of the history that can be gone to, around the one that counts. */
const LISTED = 5;

/** The field that adds a watch. */
export function watchForm(trace: Trace, navigation: Navigation): HTMLElement {
  return entryForm("Blob or expression", "x, norm(x@1), h.max / 2 …", (on) => {
    const { problem } = watched(trace, on);
    const marks = navigation.marks();
    if (problem === null && !marks.watches.includes(on)) navigation.mark({ ...marks, watches: [...marks.watches, on] });
    return problem;
  });
}

/** What stands below the field; `last`: what comes behind it is not told. */
export function watchCards(trace: Trace, position: number, last: number, navigation: Navigation): HTMLElement[] {
  const { watches } = navigation.marks();
  const set = (list: string[]): void => navigation.mark({ ...navigation.marks(), watches: list });
  const cards = watches.map((on) => card(watched(trace, on), position, last, on, navigation, () => set(watches.filter((one) => one !== on))));
  return cards.length > 0 ? cards : [quiet("Nothing is watched. Press w for the blob in focus, or write a blob.")];
}

function card(watch: Watched, position: number, last: number, on: string, navigation: Navigation, drop: () => void): HTMLElement {
  const remove = iconButton(`Stop watching ${on}`, ICONS.remove, drop);
  const value = watch.at(position);
  const className = watch.problem ? "gv-wrong" : value === null ? "gv-not-computed" : "";
  const text = element("span", className ? { class: className } : {}, watch.text(position));
  const head = element("div", { class: "gv-entry" }, element("div", { class: "gv-entry-text" }, element("code", {}, on), " ", text), remove);
  return element("div", { class: "gv-card gv-watch", role: "group", "aria-label": `Watch ${on}` }, head, ...history(watch.history.filter((one) => one.position <= last), position, on, navigation));
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
