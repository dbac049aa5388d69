// The inspector's State tab: what the schedule of a define-by-run pass holds, the heap and `grad` of every Variable.

import { currentEvent } from "../../model/recording/cursor";
import type { Grad, Pool, Trace, Wait } from "../../model/schema";
import { button, element, leave, linkButton, quiet, version, type Child } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { count, counted, normText, shapeText } from "../elements/numbers";
import { shareBar } from "./ledger";
import { forwardId, linesById } from "../../model/recording/lookup";

/**
 * The functions in the heap, the next one first; the one that was taken out of it last; what `grad` is of every Variable that
 * has, or has had, one; the pools. Null where the recording has no schedule.
 */
export function scheduleAt({ schedule }: Trace, position: number) {
  if (!schedule) return null;
  const heap = schedule.waits.filter(({ since, until }) => since <= position && (until === null || until > position));
  heap.sort((a, b) => b.rank - a.rank || a.arrival - b.arrival);
  const out = schedule.waits.filter(({ until }) => until !== null && until <= position);
  const taken = out.reduce<Wait | null>((last, one) => ((one.until ?? 0) > (last?.until ?? 0) ? one : last), null);
  return { heap, taken, grads: lastOf(schedule.grads, ({ variable }) => variable, position), pools: lastOf(schedule.pools, ({ name }) => name, position) };
}

/** The last row of each name at a position, names in the order in which they first came. */
function lastOf<Row extends { at: number }>(rows: Row[], name: (row: Row) => string, position: number): Row[] {
  const last = new Map<string, Row>();
  for (const row of rows) if (row.at <= position) last.set(name(row), row);
  return [...last.values()];
}

/** Whether the last event changed something of this kind: brought a function into the heap, wrote a gradient. */
export function isNew(at: number, position: number): boolean {
  return at === position && position > 0;
}

/** A heap can hold thousands: so many are shown before the rest is asked for. */
const SHOWN = 10;

const HOW: Record<Grad["how"], string> = {
  held: "of an earlier pass",
  new: "new",
  added: "added to",
  replaced: "replaced",
  dropped: "dropped",
};

export function stateCards(trace: Trace, position: number, navigation: Navigation): HTMLElement[] {
  const state = scheduleAt(trace, position);
  if (!state) return [];
  const ranks = trace.schedule?.ranks ?? [];
  const hasHeap = state.pools.length === 0 && (ranks.length === 0 || ranks.some((rank) => rank !== null));
  const heap = hasHeap ? [heapCard(trace, state.heap, state.taken, position, navigation)] : [];
  const pools = state.pools.length > 0 ? [poolCard(state.pools, position)] : [];
  return [...heap, gradCard(trace, state.grads, position, navigation), ...pools];
}

function heapCard(trace: Trace, heap: Wait[], taken: Wait | null, position: number, navigation: Navigation): HTMLElement {
  const size = heap.length === 0 ? " empty" : ` ${count(heap.length)} waiting, greatest rank first`;
  const head = element("b", {}, "Heap", element("span", { class: "gv-note" }, size));
  const out = element("div", { class: "gv-taken" }, ...(taken ? [waiting(trace, taken, saysTaken(trace, taken, position), navigation)] : []));
  const list = element("ol", { class: "gv-heap", "aria-label": "Heap" });
  const item = (one: Wait, place: number): HTMLElement => {
    const says = [place === 0 ? "next" : "", isNew(one.since, position) ? "joined now" : ""].filter(Boolean).join(", ");
    return element("li", { class: isNew(one.since, position) && "gv-changed" }, waiting(trace, one, says, navigation));
  };
  list.append(...heap.slice(0, SHOWN).map(item));
  const show = (): void => {
    list.append(...heap.slice(SHOWN).map((one, index) => item(one, SHOWN + index)));
    leave(more);
    more.remove();
  };
  const more = linkButton(show, `${counted(heap.length - SHOWN, "function")} more`);
  return element("div", { class: "gv-card gv-state" }, head, out, list, ...(heap.length > SHOWN ? [more] : []));
}

/** A function in the heap: a button that shows it in program and graph. */
function waiting(trace: Trace, one: Wait, says: string, navigation: Navigation): HTMLElement {
  const type = linesById(trace).get(forwardId(null, one.function))?.type ?? "";
  const rank = element("span", { class: "gv-rank" }, `rank ${one.rank}`);
  const note = element("span", { class: "gv-note" }, `arrival ${one.arrival}`);
  const words = says === "" ? [] : [element("span", { class: "gv-says" }, says)];
  return button(() => navigation.select(`f${one.function}`), { title: "Show it in the program and the graph" }, rank, element("b", {}, `${type} #${one.function}`), note, ...words);
}

/** What became of the function that was taken out last. */
function saysTaken(trace: Trace, taken: Wait, position: number): string {
  if (isNew(taken.until ?? 0, position)) return "taken out now";
  const event = currentEvent(trace, position);
  return event?.forward === taken.function && event.kind !== "GradWritten" ? "running" : "was the last";
}

function gradCard(trace: Trace, grads: Grad[], position: number, navigation: Navigation): HTMLElement {
  const head = element("b", {}, ".grad", element("span", { class: "gv-note" }, " of every Variable that has one"));
  if (grads.length === 0) return element("div", { class: "gv-card gv-state" }, head, quiet("None yet: they are written at the end of the pass."));
  const titles = ["Variable", "is", "‖·‖", ""].map((title, column) => element("th", { class: column === 2 && "gv-right" }, title));
  const body = element("tbody", {}, ...grads.map((one) => gradRow(trace, one, position, navigation)));
  const table = element("table", { class: "gv-ledger gv-grads" }, element("thead", {}, element("tr", {}, ...titles)), body);
  return element("div", { class: "gv-card gv-state" }, head, table);
}

function gradRow(trace: Trace, one: Grad, position: number, navigation: Navigation): HTMLElement {
  const isChanged = isNew(one.at, position);
  const value = one.value === null ? undefined : trace.values[one.value];
  const what: Child[] = one.value === null ? ["None"] : [element("code", {}, ...version(one.value)), ` ${value ? shapeText(value.shape) : ""}`];
  const how = button(() => one.at > 0 && navigation.go(one.at), { title: one.at > 0 ? `Written by event ${one.at}` : "It was so before this recording" }, HOW[one.how]);
  const norm = element("td", { class: "gv-right" }, value ? normText(value) : "none");
  const cells = [element("td", {}, element("code", {}, one.variable)), element("td", {}, ...what), norm, element("td", { class: "gv-right" }, how)];
  return element("tr", { class: isChanged && "gv-changed", "aria-current": isChanged && "step" }, ...cells);
}

function poolCard(pools: Pool[], position: number): HTMLElement {
  const head = element("b", {}, "Names", element("span", { class: "gv-note" }, " that the pools have lent"));
  const rows = pools.map((one) => {
    const bar = shareBar(one.in_use / Math.max(1, one.in_use + one.free));
    const counts = `${count(one.in_use)} in use, ${count(one.free)} free`;
    return element("tr", { class: isNew(one.at, position) && "gv-changed" }, element("td", {}, one.name), element("td", { class: "gv-share" }, bar, counts));
  });
  return element("div", { class: "gv-card gv-state" }, head, element("table", { class: "gv-ledger gv-grads" }, element("tbody", {}, ...rows)));
}
