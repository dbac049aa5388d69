// The inspector's Ledger tab: how much of a blob's gradient came from where.

import { placesOf } from "../places";
import type { Contribution, Ledger, Scalar, Trace, Value } from "../trace";
import { loopAround, roundText, valueOf } from "../values";
import { element, version, type Child } from "./dom";
import { counted, NOT_COMPUTED, percent, quantity } from "./numbers";
import { describe, picture } from "./picture";
import { columns } from "./rounds";

/** A loop can have thousands of iterations: so many contributions are shown before the rest is asked for. */
const SHOWN = 30;
/** So many ledgers are shown at once. */
const TOGETHER = 6;

const HOW: Record<Contribution["how"], string> = { generated: "", passed: "passed through", seed: "seed", given: "given" };

/**
 * The ledgers that go with the blobs in focus: the event's own, else those of these blobs in the run that we are in, else
 * in its net. A loop sums the gradients of several blobs at once; of one blob that has several, the sum in focus counts.
 */
export function ledgersFor(trace: Trace, own: number | null | undefined, blobs: readonly string[], subnet: string | null, frame: number | null): Ledger[] {
  const ofEvent = own === null || own === undefined ? undefined : trace.ledgers[own];
  if (ofEvent) return [ofEvent];
  const inNet = trace.ledgers.filter((ledger) => ledger.subnet === subnet && (blobs.includes(ledger.total) || blobs.includes(ledger.blob)));
  const inRun = inNet.filter((ledger) => ledger.frame === frame);
  const among = inRun.length > 0 ? inRun : inNet.slice(0, 1);
  const sums = among.filter((ledger) => blobs.includes(ledger.total));
  return (sums.length > 0 ? sums : among.slice(0, 1)).slice(0, TOGETHER);
}

export function ledgerCard(trace: Trace, ledger: Ledger, go: (position: number) => void): HTMLElement {
  const isLoop = ledger.contributions.some(({ frame }) => frame !== null);
  const head = element("tr", {}, cell("th", "from"), cell("th", "‖·‖", "gv-right"), cell("th", "share"), cell("th", "cos", "gv-right"));
  const table = element("table", { class: "gv-ledger" }, element("caption", {}, ...caption(trace, ledger)), element("thead", {}, head));
  table.append(contributionBody(trace, ledger, isLoop, go), element("tfoot", {}, ...totalRows(trace, ledger)));
  const value = totalValue(trace, ledger);
  const chart = isLoop && ledger.contributions.length > 2 ? [columns(ledger.contributions.map(({ norm }) => norm), -1, "norm of each iteration's gradient")] : [];
  return element("div", { class: "gv-card" }, ...chart, table, ...(value ? [picture(ledger.total, value)] : []));
}

function totalValue(trace: Trace, ledger: Ledger): Value | undefined {
  return ledger.subnet !== null && ledger.frame === null ? undefined : valueOf(trace, ledger.frame, ledger.total);
}

/** The rows of all contributions, those behind the first few when they are asked for. */
function contributionBody(trace: Trace, ledger: Ledger, isLoop: boolean, go: (position: number) => void): HTMLElement {
  const rows = isLoop ? (one: Contribution) => [iterationRow(trace, one, go)] : contributionRows;
  const body = element("tbody", {}, ...ledger.contributions.slice(0, SHOWN).flatMap(rows));
  const left = ledger.contributions.slice(SHOWN);
  if (left.length === 0) return body;
  const more = element("button", { type: "button", class: "gv-link" }, `${counted(left.length, "more contribution")}`);
  const last = element("tr", {}, element("td", { colspan: 4 }, more));
  more.addEventListener("click", () => last.replaceWith(...left.flatMap(rows)));
  body.append(last);
  return body;
}

/** What one iteration contributed, and the way to where it did. */
function iterationRow(trace: Trace, contribution: Contribution, go: (position: number) => void): HTMLElement {
  const entered = contribution.frame === null ? undefined : placesOf(trace).entered[contribution.frame];
  const title = entered === undefined ? "" : `Its backward pass, event ${entered + 1}`;
  const open = element("button", { type: "button", class: "gv-link", title }, contribution.producer);
  open.addEventListener("click", () => entered !== undefined && go(entered + 1));
  return element("tr", {}, element("td", {}, open), ...numbers(contribution));
}

/** Where no ledger goes with the event: says so, and offers those of the trace. */
export function ledgerList(trace: Trace, go: (position: number) => void): HTMLElement {
  const card = element("div", { class: "gv-card" }, element("p", { class: "gv-quiet" }, nothingHere(trace)));
  const listed = trace.ledgers.filter((ledger) => ledger.subnet === null || ledger.frame === null).slice(0, SHOWN);
  for (const ledger of listed) {
    const net = trace.subnets.find(({ id }) => id === ledger.subnet);
    const about = `${net ? ` in ${net.name},` : ""} ${counted(ledger.contributions.length, "contribution")}, event ${ledger.at}`;
    const open = element("button", { type: "button", class: "gv-link" }, ...version(ledger.blob), element("span", { class: "gv-note" }, about));
    open.addEventListener("click", () => go(ledger.at));
    card.append(open);
  }
  return card;
}

function nothingHere(trace: Trace): string {
  if (trace.ledgers.length === 0) return "No blob of this net has more than one gradient, so none are added.";
  return "No gradients are added here. They are added for:";
}

function caption(trace: Trace, ledger: Ledger): Child[] {
  const names = Array.isArray(trace.ys) ? trace.ys : Object.keys(trace.ys);
  const y = names.length === 1 ? [`∂${names[0]}/∂`, ...version(ledger.blob)] : ["gradient of ", ...version(ledger.blob)];
  const round = ledger.frame === null ? "" : roundText(trace, loopAround(trace, ledger.frame));
  return [...y, ` = sum of ${counted(ledger.contributions.length, "contribution")}`, element("span", { class: "gv-note" }, round && `, ${round}`)];
}

/** The numbers of one contribution, and below them what it is called and which way it came. */
function contributionRows(contribution: Contribution): HTMLElement[] {
  const producer = element("td", {}, element("b", {}, contribution.producer));
  const first = element("tr", { class: "gv-numbers" }, producer, ...numbers(contribution));
  const way = element("span", { class: "gv-note" }, [HOW[contribution.how], contribution.path.join(" → ")].filter(Boolean).join(" · "));
  return [first, element("tr", {}, element("td", { colspan: 4 }, element("code", {}, ...version(contribution.gradient)), " ", way))];
}

/** Norm, share and cosine; the latter do not exist where a norm is zero. */
function numbers({ norm, share, cosine }: Contribution): HTMLElement[] {
  if (norm === null) return [element("td", { class: "gv-not-computed", colspan: 3 }, NOT_COMPUTED)];
  const part = element("td", { class: "gv-share" }, shareBar(share), share === null ? "none" : percent(share));
  return [cell("td", quantity(norm), "gv-right"), part, cell("td", cosine === null ? "none" : quantity(rounded(cosine)), "gv-right")];
}

/** A bar for a share. It can be below 0 (it pulls the other way) or above 1; the bar stops there, the number does not. */
export function shareBar(share: Scalar | null): HTMLElement {
  const fill = element("span");
  const known = typeof share === "number" ? share : 0;
  fill.style.width = `${Math.min(100, Math.abs(known) * 100)}%`;
  if (known >= 0) return element("span", { class: "gv-share-bar", "aria-hidden": "true" }, fill);
  return element("span", { class: "gv-share-bar gv-against", "aria-hidden": "true", title: "pulls against the sum" }, fill);
}

function totalRows(trace: Trace, ledger: Ledger): HTMLElement[] {
  const value = totalValue(trace, ledger);
  const sum = element("tr", { class: "gv-numbers" }, element("td", {}, element("b", {}, ...version(ledger.total))));
  const kind = element("tr", {}, element("td", { class: "gv-note", colspan: 4 }, value ? describe(value) : "nothing was run"));
  if (ledger.norm === null) sum.append(element("td", { class: "gv-not-computed", colspan: 3 }, NOT_COMPUTED));
  else {
    const cancelled = ledger.cancellation === null ? "" : `cancellation ${percent(ledger.cancellation)}`;
    sum.append(element("td", { class: "gv-right" }, element("b", {}, quantity(ledger.norm))));
    sum.append(element("td", { class: "gv-note", colspan: 2, title: "1 − ‖sum‖ / sum of ‖·‖" }, cancelled));
  }
  return [sum, kind];
}

function rounded(cosine: Scalar): Scalar {
  return typeof cosine === "number" ? Math.round(cosine * 1000) / 1000 : cosine;
}

function cell(tag: "th" | "td", text: string, className = ""): HTMLElement {
  return element(tag, className ? { class: className } : {}, text);
}
