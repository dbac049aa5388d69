// The inspector's Value tab: the blobs in focus, and the recorded value of the one that is chosen: numbers as a heat map or as a
// table, or of a scope blob the workspaces on its stack. Below it the rule that gave an operator its gradient.

import type { Reply } from "../../model/answers/asking";
import { codeOf, placeOf, ruleOf } from "../../model/filters/code";
import { blobsIn, computedAt, forwardIteration, isCalled, isComputed, isLeftOut, loopAround, makerOf, recordedAt, roundText, valueOf, workspacesOn, type Place } from "../../model/recording/values";
import type { Line, Scalar, Trace, Value } from "../../model/schema";
import { count, counted, describe, elementText, histogram, NOT_COMPUTED, NOT_YET, note, picture, quantity } from "../elements/numbers";
import { createChoice } from "../elements/controls";
import { element, leave, linkButton, quiet, turnButton, version, type Child } from "../elements/dom";
import { few, left } from "../elements/versions";
import { answerCard, asked, shownReply, type Asking } from "./questions";
import { currentEvent, isRefused, isStale } from "../../model/recording/cursor";
import { forwardOf, lengthOf } from "../../model/recording/lookup";

/** The blobs to choose from; `choose` gets the one that is clicked. */
export function blobChoice(blobs: readonly string[], chosen: string, choose: (blob: string) => void): HTMLElement {
  const shown = few(blobs);
  const named = shown.includes(chosen) ? shown : [...shown, chosen];
  const choice = createChoice("gv-chips", "Blobs in focus", named, (blob) => ({ content: version(blob) }), choose);
  choice.show(chosen);
  if (left(blobs) > 0) choice.element.append(note(`${count(left(blobs))} more`));
  return choice.element;
}

/** How the numbers are looked at. */
export interface Seen {
  areInTable: boolean;
  /** The page of the table; null: what the document has. */
  corner: Corner | null;
  toggle(): void;
  turn(corner: Corner): void;
}

/** The recorded value of one blob version at a position. */
export function valueCard(asking: Asking, place: Place, position: number, seen: Seen): HTMLElement {
  const { trace, isVeiled } = asking;
  const { blob, subnet, frame } = place;
  const value = recordedAt(trace, place);
  const maker = makerOf(trace, blob, subnet);
  const card = element("div", { class: "gv-card gv-value", role: "group", "aria-label": blob });
  const isLater = value !== undefined && !isComputed(trace, place, position);
  if (!value) card.append(notComputed(trace, place, maker));
  else if (isLater && isVeiled()) card.append(element("p", { class: "gv-not-computed" }, element("b", {}, NOT_YET)));
  else if (value.stack !== null) card.append(workspacesCard(trace, value.stack), ...origin(trace, maker, position, value, frame));
  else {
    const head = element("div", {}, element("b", {}, describe(value)), ...origin(trace, maker, position, value, frame), ...nextReader(trace, place, position, isVeiled() ? position : Infinity), ...called(asking, maker));
    // A page has room for so many numbers: of other arrays the document keeps only what they are.
    card.append(head, ...(isLeftOut(value) ? [note("Its numbers were left out to keep this recording small.")] : [numbers(asking, place, value, seen), statistics(value)]));
  }
  return card;
}

/** The numbers as a heat map or a table, and their histogram. */
function numbers(asking: Asking, place: Place, value: Value, seen: Seen): HTMLElement {
  const isPlain = value.size <= 1 || value.preview.length === 0;
  const name = asked(asking.trace, place);
  const shown = seen.areInTable && !isPlain ? numbersTable(asking, name, value, seen.corner, seen.turn) : picture(place.blob, value);
  return element("div", { class: "gv-card gv-seen" }, ...(isPlain ? [] : [looks(seen)]), shown, ...histogram(value));
}

function looks({ areInTable, toggle }: Seen): HTMLElement {
  const choice = createChoice("gv-segments", "Numbers as", ["Heat map", "Table"], (name) => ({ title: `${name} (n)` }), toggle);
  choice.show(areInTable ? "Table" : "Heat map");
  return choice.element;
}

/** Of the operators that exist at a position the one that reads a blob version next; those in nested nets are in other tabs. */
function nextReader(trace: Trace, { blob, subnet }: Place, position: number, by: number): HTMLElement[] {
  if (subnet !== null) return [];
  const lines = [...trace.forward, ...trace.backward];
  if (lines.some(({ kind, inputs }) => kind === "stretch" && inputs.includes(blob))) return []; // one of them may come first
  const readers = lines.filter(({ made, ran, inputs }) => made <= by && ran !== null && ran > position && inputs.includes(blob));
  const next = readers.reduce<Line | null>((first, one) => (first === null || (one.ran ?? 0) < (first.ran ?? 0) ? one : first), null);
  return next ? [note(`read next at event ${next.ran}, by ${next.type}`)] : [];
}

function notComputed(trace: Trace, { blob, subnet, frame }: Place, maker: Line | undefined): HTMLElement {
  const name = element("code", {}, ...version(blob));
  const at = maker && (frame === null ? maker.ran : computedAt(trace, frame, maker.id));
  if (maker && typeof at === "number") return element("p", { class: "gv-not-computed" }, element("b", {}, "not kept"), element("br"), "What ", named(maker), " made as ", name, " is not in the recording.");
  const where = frame === null ? "" : ` in ${roundText(trace, loopAround(trace, frame)) || "this run"}`;
  const why: Child[] = maker
    ? [name, ` is written by ${named(maker)}, which was not run${where}${isRefused(trace) ? ": nothing is, where a pass is refused" : ""}.`]
    : subnet === null
      ? ["Nothing was fed as ", name, ", and no operator writes it under this name."]
      : [name, ` comes from around the nested net, which did not see it${where}.`];
  return element("p", { class: "gv-not-computed" }, element("b", {}, NOT_COMPUTED), element("br"), ...why);
}

function origin(trace: Trace, maker: Line | undefined, position: number, value: Value, frame: number | null): HTMLElement[] {
  if (!maker) return [note(frame === null ? "fed" : "from around the nested net")];
  if (isCalled(trace, maker)) return [note(`computed when ${named(maker)} was called`)];
  const at = frame === null ? maker.ran : computedAt(trace, frame, maker.id);
  if (at === null) return frame === null ? [] : [note(`found there; ${named(maker)} made it`)];
  if (maker.kind === "stretch") return [note(`computed${at > position ? " later" : ""}, by ${named(maker)}`)];
  const seconds = frame === null ? value.seconds : (currentEvent(trace, at)?.seconds ?? null);
  const took = seconds === null ? "" : ` in ${duration(seconds)}`;
  if (isStale(maker, position)) return [note(`computed at event ${at}, by ${maker.type}; stale since event ${maker.stale}: what it read was changed by hand`)];
  const when = at > position ? `computed later, at event ${at}` : `computed at event ${at}`;
  return [note(`${when}, by ${maker.type}${took}`)];
}

/** Of a stretch it is not known here which of its operators is meant. */
const named = ({ kind, type }: Line): string => (kind === "stretch" ? `one of ${type}` : type);

/** The line of the user's code that called the operator that wrote a value, or the one that this came from. */
function called({ trace, navigation }: Asking, maker: Line | undefined): HTMLElement[] {
  const line = maker && maker.kind !== "stretch" ? codeOf(trace, maker) : null;
  if (!line) return [];
  const place = placeOf(line);
  const link = trace.sources.some(({ file }) => file === line.file) ? linkButton(() => navigation.code(line), place) : place;
  return [element("div", { class: "gv-called-on" }, element("div", { class: "gv-note" }, "called on ", link), element("code", {}, line.text))];
}

function duration(seconds: number): string {
  if (seconds < 1e-3) return `${quantity(seconds * 1e6)} µs`;
  return seconds < 1 ? `${quantity(seconds * 1e3)} ms` : `${quantity(seconds)} s`;
}

function statistics(value: Value): HTMLElement {
  const statistic = (label: string, number: Scalar | null): [string, string, boolean] => [label, number === null ? "none" : quantity(number), false];
  const counted = (label: string, number: number, isBad: boolean): [string, string, boolean] => [label, count(number), isBad && number > 0];
  const of = value.dtype.startsWith("complex") ? " |·|" : "";
  const rows: [string, string, boolean][] = [
    statistic(`min${of}`, value.min), statistic(`max${of}`, value.max), ...(of ? [] : [statistic("mean", value.mean)]), statistic("mean |·|", value.mean_abs),
    statistic("norm ‖·‖", value.norm), counted("zeros", value.zero, false), counted("NaN", value.nan, true), counted("infinite", value.inf, true),
    ...(value.subnormal ? [counted("subnormal", value.subnormal, true)] : []),
  ];
  const table = element("div", { class: "gv-statistics", role: "list" });
  for (const [label, shown, isBad] of rows) {
    const pair = [element("span", { class: "gv-note" }, label), " ", element("span", {}, shown)];
    table.append(element("div", { role: "listitem", class: isBad && "gv-bad" }, ...pair));
  }
  return table;
}

/** Rows and columns of a page, as the kernel cuts them. */
const ROWS = 24;
const COLUMNS = 16;

/** Where a page begins. */
export interface Corner {
  row: number;
  column: number;
}

/** The table of a blob; `corner` is null for what the document has of it, `turn` goes to another page. */
function numbersTable(asking: Asking, blob: string, value: Value, corner: Corner | null, turn: (corner: Corner) => void): HTMLElement {
  const isWhole = value.preview.length >= value.rows && (value.preview[0]?.length ?? 0) >= value.columns;
  if (corner === null) {
    const more = linkButton(() => turn({ row: 0, column: 0 }), `All ${count(value.rows)} × ${count(value.columns)} numbers`);
    return element("div", { class: "gv-card" }, table(blob, value, value.preview, { row: 0, column: 0 }), ...(isWhole ? [] : [more]));
  }
  const { row, column } = corner;
  const shown = (_: Asking, reply: Reply): HTMLElement[] => {
    const numbers = "blocks" in reply ? (reply.data?.["numbers"] as Scalar[][] | undefined) : undefined;
    return numbers ? [table(blob, value, numbers, corner)] : shownReply(asking, reply);
  };
  // A version has one value, whenever it is asked for.
  const question = { question: "numbers" as const, arguments: [blob, row, column], position: lengthOf(asking.trace) };
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

function table(blob: string, value: Value, numbers: Scalar[][], { row, column }: Corner): HTMLElement {
  const width = Math.max(0, ...numbers.map((one) => one.length));
  const head = Array.from({ length: width }, (_, index) => element("th", { scope: "col" }, String(column + index)));
  const body = numbers.map((one, index) => {
    const cells = one.map((number) => element("td", { class: typeof number !== "number" && "gv-bad" }, elementText(value, number)));
    return element("tr", {}, element("th", { scope: "row" }, String(row + index)), ...cells);
  });
  const table = element("table", { class: "gv-numbers-table" }, element("thead", {}, element("tr", {}, element("td"), ...head)), element("tbody", {}, ...body));
  return element("div", { class: "gv-wide", role: "region", tabindex: 0, "aria-label": `numbers of ${blob}` }, table);
}

/** More are shown when they are asked for. */
const SHOWN = 12;

function workspacesCard(trace: Trace, stack: number): HTMLElement {
  const runs = workspacesOn(trace, stack);
  const head = element("b", {}, `stack of ${counted(runs.length, "workspace")}`);
  const card = element("div", { class: "gv-card gv-workspaces" }, head);
  if (runs.length === 0) card.append(quiet("No workspace is left on it."));
  let shown = 0;
  const show = (): void => {
    const some = runs.slice(shown, shown + SHOWN);
    more.before(...some.map((frame, index) => workspace(trace, frame, shown + index === 0)));
    shown += some.length;
    more.textContent = `${counted(runs.length - shown, "workspace")} below`;
    if (shown < runs.length) return;
    leave(more);
    more.hidden = true;
  };
  const more = linkButton(show);
  card.append(more);
  show();
  return card;
}

function workspace(trace: Trace, frame: number | null, isTop: boolean): HTMLElement {
  const title = frame === null ? "from before this recording" : titleOf(trace, frame);
  const summary = element("summary", {}, title, element("span", { class: "gv-note" }, isTop ? " on top" : ""));
  const item = element("details", {}, summary);
  if (frame === null) return item;
  item.addEventListener("toggle", () => {
    if (item.open && item.childElementCount === 1) item.append(contents(trace, frame));
  });
  return item;
}

/** "iteration 3 of While #2", "Do #4". */
function titleOf(trace: Trace, frame: number): string {
  const round = loopAround(trace, frame);
  if (round) return `iteration ${forwardIteration(round)} of While #${round.operator}`;
  return `Do #${trace.frames[frame]?.operator ?? ""}`;
}

function contents(trace: Trace, frame: number): HTMLElement {
  const blobs = blobsIn(trace, frame);
  const shown = element("div", { class: "gv-card" });
  const choose = (blob: string): void => {
    choice.show(blob);
    const value = valueOf(trace, frame, blob);
    if (value) shown.replaceChildren(element("b", {}, describe(value)), picture(blob, value));
  };
  const choice = createChoice("gv-chips", "Blobs in this workspace", blobs, (blob) => ({ content: version(blob) }), choose);
  if (blobs[0] !== undefined) choose(blobs[0]);
  return element("div", { class: "gv-card" }, choice.element, shown);
}

/** The rule that gave an operator its gradient: where it is written, and its text. Of a line the rule of its operator, or of the one that it came from; nothing where there is none. */
export function ruleCard(trace: Trace, line: Line | undefined, chosen: { isRuleOpen: boolean }): HTMLElement[] {
  const place = line && ruleOf(trace, line);
  if (!line || !place) return [];
  const { type } = forwardOf(trace, line) ?? line;
  const text = trace.rules[place];
  const title = [`Rule of ${type} `, element("span", { class: "gv-note" }, place)];
  if (text === undefined) return [element("div", { class: "gv-rule" }, ...title)];
  const card = element("details", { class: "gv-rule", open: chosen.isRuleOpen }, element("summary", {}, ...title), element("pre", { tabindex: 0, "aria-label": `Rule of ${type}` }, element("code", {}, text)));
  card.addEventListener("toggle", () => (chosen.isRuleOpen = card.open));
  return [card];
}
