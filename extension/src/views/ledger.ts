// The inspector's Ledger tab: how much of a blob's gradient came from where.

import type { Contribution, Ledger, Scalar, Trace } from "../trace";
import { element, version, type Child } from "./dom";
import { counted, NOT_COMPUTED, percent, quantity } from "./numbers";
import { describe, picture } from "./value";

const HOW: Record<Contribution["how"], string> = { generated: "", passed: "passed through", seed: "seed", given: "given" };

/** The ledger that goes with the blobs in focus: the event's own, else one of these blobs. */
export function ledgerFor(trace: Trace, own: number | null | undefined, blobs: readonly string[]): Ledger | undefined {
  if (own !== null && own !== undefined) return trace.ledgers[own];
  return trace.ledgers.find((ledger) => blobs.includes(ledger.total) || blobs.includes(ledger.blob));
}

export function ledgerCard(trace: Trace, ledger: Ledger): HTMLElement {
  const head = element("tr", {}, cell("th", "from"), cell("th", "‖·‖", "gv-right"), cell("th", "share"), cell("th", "cos", "gv-right"));
  const table = element("table", { class: "gv-ledger" }, element("caption", {}, ...caption(trace, ledger)), element("thead", {}, head));
  table.append(element("tbody", {}, ...ledger.contributions.flatMap(contributionRows)), element("tfoot", {}, ...totalRows(trace, ledger)));
  const value = trace.values[ledger.total];
  return element("div", { class: "gv-card" }, table, ...(value ? [picture(ledger.total, value)] : []));
}

/** Where no ledger goes with the event: says so, and offers those of the trace. */
export function ledgerList(trace: Trace, go: (position: number) => void): HTMLElement {
  const card = element("div", { class: "gv-card" }, element("p", { class: "gv-quiet" }, nothingHere(trace)));
  for (const ledger of trace.ledgers) {
    const about = ` ${counted(ledger.contributions.length, "contribution")}, event ${ledger.at}`;
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
  return [...y, ` = sum of ${counted(ledger.contributions.length, "contribution")}`];
}

/** The numbers of one contribution, and below them what it is called and which way it came. */
function contributionRows(contribution: Contribution): HTMLElement[] {
  const producer = element("td", {}, element("b", {}, contribution.producer));
  const numbers = element("tr", { class: "gv-numbers" }, producer);
  if (contribution.norm === null) numbers.append(element("td", { class: "gv-not-computed", colspan: 3 }, NOT_COMPUTED));
  else {
    const cosine = contribution.cosine === null ? "none" : quantity(rounded(contribution.cosine));
    const share = element("td", { class: "gv-share" }, shareBar(contribution.share), percent(contribution.share));
    numbers.append(cell("td", quantity(contribution.norm), "gv-right"), share, cell("td", cosine, "gv-right"));
  }
  const way = element("span", { class: "gv-note" }, [HOW[contribution.how], contribution.path.join(" → ")].filter(Boolean).join(" · "));
  return [numbers, element("tr", {}, element("td", { colspan: 4 }, element("code", {}, ...version(contribution.gradient)), " ", way))];
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
  const value = trace.values[ledger.total];
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
