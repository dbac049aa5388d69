// The inspector's Ledger tab where rows of a sparse gradient were merged: which indices repeated, and what it changed.

import type { Merge, SliceName, Trace } from "../../model/schema";
import { picture } from "../elements/array";
import { element, version, type Child } from "../elements/dom";
import { count, counted, quantity, NOT_COMPUTED } from "../elements/numbers";
import { shareBar } from "./ledger";

/** The merge that goes with a position, or with the blobs of a line that was chosen. */
export function mergeFor(merges: readonly Merge[], position: number, chosen: readonly string[] | null): Merge | undefined {
  if (chosen === null) return merges.find((merge) => merge.at === position);
  return merges.find((merge) => chosen.includes(merge.after.indices) || chosen.includes(merge.after.values));
}

export function mergeCard(trace: Trace, merge: Merge): HTMLElement {
  const caption = element("caption", {}, "rows of the gradient of ", ...version(merge.blob));
  const slices = [rowsOf("before", merge.before, merge.rows_before), rowsOf("after", merge.after, merge.rows_after)];
  const table = element("table", { class: "gv-ledger" }, caption, element("tbody", {}, ...slices, ...repeats(merge)));
  table.append(element("tfoot", {}, note(`Rows of equal index became their ${merge.aggregator}. ${change(merge)}`)));
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
function change(merge: Merge): string {
  if (merge.difference === null) return "Nothing was run, so its effect is not known.";
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
