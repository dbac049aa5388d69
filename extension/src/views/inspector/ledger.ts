// The inspector's Ledger tab: how much of a blob's gradient came from where, and what a merge of a sparse gradient's rows changed.

import { hasNumbers, isAdded, ledgerAt } from "../../lesson/lesson";
import { placesOf } from "../../model/recording/cursor";
import { beginOf, memoized, subnetsById } from "../../model/recording/lookup";
import { loopAround, recordedAt, roundText } from "../../model/recording/values";
import type { Contribution, Ledger, Merge, Scalar, SliceName, Trace, Value } from "../../model/schema";
import { count, counted, describe, NOT_COMPUTED, NOT_YET, NOT_YET_IN_SHORT, percent, picture, quantity } from "../elements/numbers";
import { element, leave, linkButton, quiet, version, type Child } from "../elements/dom";
import { columns } from "./rounds";

/** A loop can have thousands of iterations: so many contributions are shown before the rest is asked for. */
const SHOWN = 30;
/** So many ledgers are shown at once. */
const TOGETHER = 6;

/** What stands where a number is not: it was not computed, or it does not exist. */
type Words = Record<"missing" | "absent", string>;

const HOW: Record<Contribution["how"], string> = { generated: "", passed: "passed through", seed: "seed", given: "given" };

/**
 * The ledgers that go with the blobs in focus: the event's own, else those of these blobs in the run that we are in, else
 * in its net. A loop sums the gradients of several blobs at once; of one blob that has several, the sum in focus counts.
 */
export function ledgersFor(among: readonly Ledger[], own: Ledger | undefined, blobs: readonly string[], subnet: string | null, frame: number | null): Ledger[] {
  if (own) return [own];
  const inNet = among.filter((ledger) => ledger.subnet === subnet && (blobs.includes(ledger.total) || blobs.includes(ledger.blob)));
  const inRun = inNet.filter((ledger) => ledger.frame === frame);
  const here = inRun.length > 0 ? inRun : inNet.slice(0, 1);
  const sums = here.filter((ledger) => blobs.includes(ledger.total));
  return (sums.length > 0 ? sums : here.slice(0, 1)).slice(0, TOGETHER);
}

/** A ledger at a position; `isVeiled`: numbers that come later are hidden, else they are said to come later. */
export function ledgerCard(trace: Trace, whole: Ledger, position: number, isVeiled: boolean, go: (position: number) => void): HTMLElement {
  const ledger = isVeiled ? ledgerAt(trace, whole, position) : whole;
  const isLater = !isAdded(trace, whole, position);
  const words: Words = isVeiled && isLater ? { missing: NOT_YET, absent: NOT_YET_IN_SHORT } : { missing: NOT_COMPUTED, absent: "none" };
  const isLoop = ledger.contributions.some(({ frame }) => frame !== null);
  const head = element("tr", {}, cell("th", "from"), cell("th", "‖·‖", "gv-right"), cell("th", "share"), cell("th", "cos", "gv-right"));
  const table = element("table", { class: "gv-ledger" }, element("caption", {}, ...caption(trace, ledger)), element("thead", {}, head));
  const value = isVeiled && isLater ? undefined : recordedAt(trace, { ...ledger, blob: ledger.total });
  const foot = element("tfoot", {}, ...totalRows(trace, ledger, value, isLater, words), ...hookRow(trace, ledger, isVeiled ? position : Infinity, go));
  table.append(contributionBody(trace, ledger, isLoop, words, go), foot);
  const chart = isLoop && ledger.contributions.length > 2 ? [columns(ledger.contributions.map(({ norm }) => norm), -1, "norm of each iteration's gradient")] : [];
  return element("div", { class: "gv-card" }, ...chart, table, ...(value ? [picture(ledger.total, value)] : []));
}

/** The rows of all contributions, those behind the first few when they are asked for. */
function contributionBody(trace: Trace, ledger: Ledger, isLoop: boolean, words: Words, go: (position: number) => void): HTMLElement {
  const rows = (one: Contribution): HTMLElement[] => (isLoop ? [iterationRow(trace, one, words, go)] : contributionRows(one, words));
  const all = isLoop ? ledger.contributions : [...ledger.contributions].sort((a, b) => size(b) - size(a));
  const body = element("tbody", {}, ...all.slice(0, SHOWN).flatMap(rows));
  const left = all.slice(SHOWN);
  if (left.length === 0) return body;
  const show = (): void => {
    leave(last);
    last.replaceWith(...left.flatMap(rows));
  };
  const last = element("tr", {}, element("td", { colspan: 4 }, linkButton(show, counted(left.length, "more contribution"))));
  body.append(last);
  return body;
}

/** By which contributions stand in order: one that is no number or infinite hides the others, one that is not there counts least. */
function size({ norm }: Contribution): number {
  return norm === null ? -1 : typeof norm === "number" ? norm : Number.MAX_VALUE;
}

/** What one iteration contributed, and the way to where it did. */
function iterationRow(trace: Trace, contribution: Contribution, words: Words, go: (position: number) => void): HTMLElement {
  const stay = contribution.frame === null ? undefined : placesOf(trace).of(contribution.frame);
  const open = linkButton(() => stay && go(stay.entered + 1), contribution.producer);
  open.title = stay ? `Its backward pass, event ${stay.entered + 1}` : "";
  return element("tr", {}, element("td", {}, open), ...numbers(contribution, words));
}

/** Where no ledger goes with the event: says so, and offers those among which one can be. */
export function ledgerList(trace: Trace, among: readonly Ledger[], go: (position: number) => void): HTMLElement {
  const card = element("div", { class: "gv-card" }, quiet(nothingHere(trace, among)));
  const listed = among.filter((ledger) => ledger.subnet === null || ledger.frame === null).slice(0, SHOWN);
  for (const ledger of listed) {
    const net = subnetsById(trace).get(ledger.subnet ?? "");
    const about = `${net ? ` in ${net.name},` : ""} ${counted(ledger.contributions.length, "contribution")}, event ${ledger.at}`;
    card.append(linkButton(() => go(ledger.at), ...version(ledger.blob), element("span", { class: "gv-note" }, about)));
  }
  return card;
}

function nothingHere(trace: Trace, among: readonly Ledger[]): string {
  if (trace.part) return `No gradients are added here.${among.length > 0 ? " In this part of the recording they are added for:" : ""}`;
  if (among.length > 0) return "No gradients are added here. They are added for:";
  return trace.ledgers.length > 0 ? "No gradients have been added yet." : "No blob of this net has more than one gradient, so none are added.";
}

/** Whether the pass starts with a gradient that somebody gave: what arrives is no derivative of the y then. */
const startsGiven = memoized(({ events, ys }) => {
  const given = Array.isArray(ys) ? [] : Object.values(ys).filter((gradient) => gradient !== null);
  return given.length > 0 || events.some(({ kind, lines }) => kind === "Seeded" && lines.length === 0);
});

function caption(trace: Trace, ledger: Ledger): Child[] {
  const names = Array.isArray(trace.ys) ? trace.ys : Object.keys(trace.ys);
  const y = names.length === 1 && !startsGiven(trace) ? [`∂${names[0]}/∂`, ...version(ledger.blob)] : ["gradient of ", ...version(ledger.blob)];
  const round = ledger.frame === null ? "" : roundText(trace, loopAround(trace, ledger.frame));
  return [...y, ` = sum of ${counted(ledger.contributions.length, "contribution")}`, element("span", { class: "gv-note" }, round && `, ${round}`)];
}

/** The numbers of one contribution, and below them what it is called and which way it came. */
function contributionRows(contribution: Contribution, words: Words): HTMLElement[] {
  const producer = element("td", {}, element("b", {}, ...breakable([contribution.producer])));
  const first = element("tr", { class: "gv-numbers" }, producer, ...numbers(contribution, words));
  const way = element("span", { class: "gv-note" }, [HOW[contribution.how], contribution.path.join(" → ")].filter(Boolean).join(" · "));
  return [first, element("tr", {}, element("td", { colspan: 4 }, element("code", {}, ...version(contribution.gradient)), " ", way))];
}

/** A name that may be continued on the next line where a word of it begins: Embedding|Backward0, words.|weight|_grad@0. */
function breakable(name: Child[]): Child[] {
  const parts = (text: string): Child[] => text.split(/(?<=[a-z])(?=[A-Z])|(?<=\.)|(?=_)/).flatMap((part, at) => (at > 0 ? [element("wbr"), part] : [part]));
  return name.flatMap((child) => (typeof child === "string" ? parts(child) : [child]));
}

/** Norm, share and cosine; the latter do not exist where a norm is zero. */
function numbers({ norm, share, cosine }: Contribution, { missing, absent }: Words): HTMLElement[] {
  if (norm === null) return [element("td", { class: "gv-not-computed", colspan: 3 }, missing)];
  const rounded = typeof cosine === "number" ? Math.round(cosine * 1000) / 1000 : cosine;
  const part = element("td", { class: "gv-share" }, shareBar(share), share === null ? absent : percent(share));
  return [cell("td", quantity(norm), "gv-right"), part, cell("td", rounded === null ? absent : quantity(rounded), "gv-right")];
}

/** A bar for a share. It can be below 0 (it pulls the other way) or above 1; the bar stops there, the number does not. */
export function shareBar(share: Scalar | null): HTMLElement {
  const fill = element("span");
  const fraction = typeof share === "number" ? share : 0;
  fill.style.width = `${Math.min(100, Math.abs(fraction) * 100)}%`;
  if (fraction >= 0) return element("span", { class: "gv-share-bar", "aria-hidden": "true" }, fill);
  return element("span", { class: "gv-share-bar gv-against", "aria-hidden": "true", title: "pulls against the sum" }, fill);
}

function totalRows(trace: Trace, ledger: Ledger, value: Value | undefined, isLater: boolean, { missing }: Words): HTMLElement[] {
  const sum = element("tr", { class: "gv-numbers" }, element("td", {}, element("b", {}, ...breakable(version(ledger.total)))));
  const kind = element("tr", {}, element("td", { class: "gv-note", colspan: 4 }, value ? `${describe(value)}${isLater ? ", computed later" : ""}` : isLater ? "" : hasNumbers(trace) ? "the sum was not run" : "nothing was run"));
  if (ledger.norm === null) sum.append(element("td", { class: "gv-not-computed", colspan: 3 }, missing));
  else {
    const cancelled = ledger.cancellation === null ? "" : `cancellation ${percent(ledger.cancellation)}`;
    sum.append(element("td", { class: "gv-right" }, element("b", {}, quantity(ledger.norm))));
    sum.append(element("td", { class: "gv-note", colspan: 2, title: "1 − ‖sum‖ / sum of ‖·‖" }, cancelled));
  }
  return [sum, kind];
}

/** What a hook has made of the sum by a position, and the way there; nothing where none has changed it. */
function hookRow(trace: Trace, ledger: Ledger, position: number, go: (position: number) => void): HTMLElement[] {
  const number = trace.events.findIndex(({ kind, subnet, blobs }) => kind === "HookRan" && subnet === ledger.subnet && blobs.includes(ledger.total));
  const at = beginOf(trace) + number + 1;
  if (number < 0 || at > position) return [];
  const after = linkButton(() => go(at), ...version(trace.events[number]?.blobs[0] ?? ""));
  after.title = `Event ${at}`;
  return [element("tr", {}, element("td", { class: "gv-note", colspan: 4 }, "A hook has made ", after, " of it: that is the gradient."))];
}

function cell(tag: "th" | "td", text: string, className = ""): HTMLElement {
  return element(tag, { class: className || false }, text);
}

/** The merge that goes with a position, or with the blobs of a line that was chosen. */
export function mergeFor(merges: readonly Merge[], position: number, chosen: readonly string[] | null): Merge | undefined {
  if (chosen === null) return merges.find((merge) => merge.at === position);
  return merges.find((merge) => chosen.includes(merge.after.indices) || chosen.includes(merge.after.values));
}

export function mergeCard(trace: Trace, merge: Merge): HTMLElement {
  const caption = element("caption", {}, "rows of the gradient of ", ...version(merge.blob));
  const slices = [rowsOf("before", merge.before, merge.rows_before), rowsOf("after", merge.after, merge.rows_after)];
  const table = element("table", { class: "gv-ledger" }, caption, element("tbody", {}, ...slices, ...repeats(merge)));
  table.append(element("tfoot", {}, note(`Rows of equal index became their ${merge.aggregator}. ${change(trace, merge)}`)));
  return element("div", { class: "gv-card" }, table, ...pictures(trace, merge));
}

function rowsOf(when: string, slice: SliceName, rows: number | null): HTMLElement {
  const name = element("td", {}, `${when} `, element("code", {}, ...version(slice.values)));
  if (rows === null) return element("tr", {}, name, element("td", { class: "gv-not-computed" }, NOT_COMPUTED));
  return element("tr", {}, name, element("td", { class: "gv-share" }, element("b", {}, counted(rows, "row"))));
}

function repeats(merge: Merge): HTMLElement[] {
  const most = merge.most_repeated[0];
  if (!most) return [];
  const head = element("tr", {}, element("th", {}, "index"), element("th", {}, "times before"));
  const rows = merge.most_repeated.map(({ index, times }) =>
    element("tr", {}, element("td", {}, count(index)), element("td", { class: "gv-share" }, shareBar(times / most.times), count(times))),
  );
  const left = (merge.rows_after ?? 0) - rows.length;
  return [head, ...rows, ...(left > 0 ? [note(`${count(left)} more, none more often`)] : [])];
}

/** What the merge did to the gradient as a dense array. */
function change(trace: Trace, merge: Merge): string {
  if (merge.difference === null) return `${hasNumbers(trace) ? "It was not run" : "Nothing was run"}, so its effect is not known.`;
  if (merge.difference === 0) return "As a dense array the gradient is the same.";
  return `As dense arrays they differ by at most ${quantity(merge.difference)}.`;
}

function pictures(trace: Trace, merge: Merge): Child[] {
  return [merge.before.values, merge.after.values].flatMap((blob) => {
    const value = trace.values[blob];
    return value ? [element("div", {}, element("code", {}, ...version(blob)), picture(blob, value))] : [];
  });
}

function note(text: string): HTMLElement {
  return element("tr", {}, element("td", { class: "gv-note", colspan: 2 }, text));
}
