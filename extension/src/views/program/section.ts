// One part of the program, forward or backward: a title with a count, and a tree of its lines.

import { linesMade } from "../../model/recording/cursor";
import { placesOf } from "../../model/recording/places";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { element } from "../elements/dom";
import { counted } from "../elements/numbers";
import { createWindowed } from "../elements/windowed";
import { createRow, createTitle, foldRow, itemsOf, lengthOf, markRow, updateRow, type Item, type LineItem, type Part, type Row } from "./rows";

/** Of a row of one line of text, in pixels, and of each line more; the width of a character, and of all beside the text. */
const ROW = { first: 21.2, more: 19.2, character: 7.2, beside: 60, indent: 14 };

/** What the parts of the program share. */
export interface Shared {
  trace: Trace;
  position: number;
  breakpoints: readonly BreakpointEntry[];
  /** The lines whose nested nets are shown. */
  open: Set<string>;
  /** By the keys of their titles the runs of the nested nets that we are in. */
  rounds: Map<string, string>;
}

export type Section = ReturnType<typeof createSection>;

export function createSection(part: Part, shared: Shared) {
  const { trace } = shared;
  const title = part === "forward" ? "Forward" : "Backward";
  const count = element("span", { class: "gv-count" });
  const head = element("div", { class: "gv-section" }, element("span", {}, title), count);
  const body = element("div", { class: `gv-lines gv-lines-${part}`, role: "tree", "aria-label": title });
  const made = linesMade(trace[part]);
  /** What is in the page. */
  const rows = new Map<string, Row>();
  const rounds = new Map<string, HTMLElement>();
  let items: Item[] = [];
  let places = new Map<string, number>();
  /** The line that the Tab key reaches. */
  let active = "";
  let selected: string | null = null;
  const list = createWindowed(body, { key: (index) => items[index]?.key ?? "", build, drop, estimate });

  function build(index: number): HTMLElement {
    const item = items[index];
    if (item?.line) return buildRow(item);
    if (!item) return element("div");
    const net = createTitle(item.net, item.depth);
    net.round.textContent = shared.rounds.get(item.key) ?? "";
    rounds.set(item.key, net.round);
    return net.element;
  }

  function buildRow(item: LineItem): HTMLElement {
    const { subnets } = placesOf(trace);
    const names = new Map(Object.entries(item.line.subnets).map(([argument, id]) => [argument, subnets.get(id)?.name ?? id]));
    const row = createRow(trace, item, names);
    rows.set(item.key, row);
    updateRow(row, trace, shared.position);
    foldRow(row, shared.open.has(item.key));
    markRow(row, shared.breakpoints);
    row.element.classList.toggle("gv-selected", item.key === selected);
    row.element.tabIndex = item.key === active ? 0 : -1;
    return row.element;
  }

  function drop(key: string): void {
    rows.delete(key);
    rounds.delete(key);
  }

  function estimate(index: number, width: number): number {
    const item = items[index];
    if (!item?.line) return ROW.more + 4;
    const columns = Math.max(12, (width - ROW.beside - ROW.indent * item.depth) / ROW.character);
    return ROW.first + ROW.more * (Math.ceil(lengthOf(item.line) / columns) - 1);
  }

  /** Shows the lines `touched` as they are at the position, and one line where it can be seen. */
  function show(touched: Iterable<string>, line: string | undefined): void {
    count.textContent = part === "forward" ? counted(made.all, "operator") : `${made.by(shared.position)} of ${made.all} made${trace.obstacle ? ", none run" : ""}`;
    let isOther = false;
    for (const id of touched) {
      const row = rows.get(id);
      if (row && updateRow(row, trace, shared.position)) isOther = true;
    }
    for (const [key, round] of rounds) round.textContent = shared.rounds.get(key) ?? "";
    if (isOther) list.measure();
    if (line !== undefined) reveal(line);
  }

  function reveal(line: string): void {
    const at = places.get(line);
    if (at !== undefined) list.reveal(at);
  }

  /** Outlines a line where it can be seen; null outlines none. */
  function select(line: string | null): void {
    for (const one of [selected, line]) rows.get(one ?? "")?.element.classList.toggle("gv-selected", one === line);
    selected = line;
    if (line !== null) reveal(line);
  }

  /** What is open is something else. */
  function fill(): void {
    const hadFocus = body.contains(document.activeElement);
    items = itemsOf(trace, part, shared.open);
    places = new Map(items.map(({ key }, index) => [key, index]));
    if (!places.has(active)) activate(items[0]?.key ?? "");
    else list.keep(places.get(active) ?? -1);
    list.fill(items.length);
    for (const [key, row] of rows) foldRow(row, shared.open.has(key));
    if (hadFocus) rows.get(active)?.element.focus({ preventScroll: true });
  }

  function activate(line: string): void {
    const [before, now] = [rows.get(active), rows.get(line)];
    if (before) before.element.tabIndex = -1;
    if (now) now.element.tabIndex = 0;
    active = line;
    list.keep(places.get(line) ?? -1);
  }

  function focus(index: number): void {
    const item = items[index];
    if (!item?.line) return;
    activate(item.key);
    list.reveal(index);
    list.measure();
    rows.get(item.key)?.element.focus({ preventScroll: true });
  }

  function next(from: number, by: 1 | -1): number {
    let index = from + by;
    while (items[index] && !items[index]?.line) index += by;
    return index;
  }

  body.addEventListener("focusin", (event) => {
    const line = event.target instanceof HTMLElement ? event.target.dataset["line"] : undefined;
    if (line === undefined || line === active) return;
    activate(line);
  });
  fill();

  return {
    head,
    body,
    has: (line: string) => places.has(line),
    show,
    select,
    mark: () => rows.forEach((row) => markRow(row, shared.breakpoints)),
    fill,
    /** Moves the focus so many lines on; false: there are no more. */
    walk(from: string, by: 1 | -1) {
      const to = next(places.get(from) ?? 0, by);
      if (!items[to]) return false;
      focus(to);
      return true;
    },
    enter: (at: "first" | "last") => focus(at === "first" ? 0 : next(items.length, -1)),
    dispose: list.dispose,
  };
}
