// The numbers of an array as a table: those that the document has, or a page of them that the kernel has.

import type { Reply } from "../../model/answers/asking";
import type { Scalar, Value } from "../../model/schema";
import { element, linkButton, turnButton } from "../elements/dom";
import { count, quantity } from "../elements/numbers";
import { answerCard, shownReply, type Asking } from "./answer";

/** Rows and columns of a page, as the kernel cuts them. */
const ROWS = 24;
const COLUMNS = 16;

/** Where a page begins. */
export interface Corner {
  row: number;
  column: number;
}

/** The table of a blob; `corner` is null for what the document has of it, `turn` goes to another page. */
export function numbersTable(asking: Asking, blob: string, value: Value, corner: Corner | null, turn: (corner: Corner) => void): HTMLElement {
  const isWhole = value.preview.length >= value.rows && (value.preview[0]?.length ?? 0) >= value.columns;
  if (corner === null) {
    const more = linkButton(() => turn({ row: 0, column: 0 }), `All ${count(value.rows)} × ${count(value.columns)} numbers`);
    return element("div", { class: "gv-card" }, table(blob, value.preview, { row: 0, column: 0 }), ...(isWhole ? [] : [more]));
  }
  const { row, column } = corner;
  const shown = (_: Asking, reply: Reply): HTMLElement[] => {
    const numbers = "blocks" in reply ? (reply.data?.["numbers"] as Scalar[][] | undefined) : undefined;
    return numbers ? [table(blob, numbers, corner)] : shownReply(asking, reply);
  };
  // A version has one value, whenever it is asked for.
  const question = { question: "numbers" as const, arguments: [blob, row, column], position: asking.trace.events.length };
  const rows = pager("rows", row, ROWS, value.rows, (to) => turn({ row: to, column }));
  const columns = pager("columns", column, COLUMNS, value.columns, (to) => turn({ row, column: to }));
  return element("div", { class: "gv-card" }, element("div", { class: "gv-pagers" }, rows, columns), answerCard(asking, question, shown));
}

/** "rows 24 to 47 of 64", and the ways to the pages before and behind. */
function pager(what: string, start: number, size: number, all: number, go: (start: number) => void): HTMLElement {
  const turn = (way: "before" | "behind"): HTMLElement => {
    const to = way === "before" ? start - size : start + size;
    return turnButton(`${what} ${way}`, way, to >= 0 && to < all ? () => go(to) : null);
  };
  const text = `${what} ${count(start)} to ${count(Math.min(all, start + size) - 1)} of ${count(all)}`;
  return element("span", { class: "gv-pager" }, turn("before"), text, turn("behind"));
}

function table(blob: string, numbers: Scalar[][], { row, column }: Corner): HTMLElement {
  const width = Math.max(0, ...numbers.map((one) => one.length));
  const head = Array.from({ length: width }, (_, index) => element("th", { scope: "col" }, String(column + index)));
  const body = numbers.map((one, index) => {
    const cells = one.map((number) => element("td", typeof number === "number" ? {} : { class: "gv-bad" }, quantity(number)));
    return element("tr", {}, element("th", { scope: "row" }, String(row + index)), ...cells);
  });
  const made = element("table", { class: "gv-numbers-table" }, element("thead", {}, element("tr", {}, element("td"), ...head)), element("tbody", {}, ...body));
  return element("div", { class: "gv-wide", role: "region", tabindex: 0, "aria-label": `numbers of ${blob}` }, made);
}
