// The program as text in SSA form: the forward net and, below it, the backward pass as it grows.

import { crumbs, currentEvent, isRefused, linesAbout, operatorCounts } from "../../model/recording/cursor";
import { endOf, linesById, subnetOf, subnetsById } from "../../model/recording/lookup";
import { roundText } from "../../model/recording/values";
import type { BreakpointEntry, Line, Trace } from "../../model/schema";
import { element } from "../elements/dom";
import { isSum } from "../elements/kinds";
import type { Navigation } from "../elements/navigation";
import { count as howMany, counted } from "../elements/numbers";
import { createWindowed, textHeight } from "../elements/windowed";
import { createRow, createTitle, itemsOf, lengthOf, nestedIn, titleKey, updateRow, type Item, type Part, type Row, type Shared, type Title } from "./rows";

/** Of a row of one line of text, in pixels, and of each line more; the width of a character, and of all beside the text. */
const ROW = { first: 21.2, more: 19.2, character: 7.2, beside: 60 };
const INDENT = 14;

type Section = ReturnType<typeof createSection>;

function createSection(part: Part, shared: Shared) {
  const { trace } = shared;
  const title = part === "forward" ? "Forward" : "Backward";
  const count = element("span", { class: "gv-count" });
  const head = element("div", { class: "gv-section" }, element("span", {}, title), count);
  const body = element("div", { class: `gv-lines gv-lines-${part}`, role: "tree", "aria-label": title });
  const counts = operatorCounts(trace[part]);
  let items: Item[] = [];
  /** The line that the Tab key reaches. */
  let active = "";
  let selected: string | null = null;
  const list = createWindowed(body, { key: (index) => items[index]?.key ?? "", build, estimate });

  function build(index: number): Row | Title {
    const item = items[index] as Item;
    if (item.line) {
      const row = createRow(trace, item);
      update(row);
      return row;
    }
    const title = createTitle(item);
    title.round.textContent = shared.rounds.get(item.key) ?? "";
    return title;
  }

  /** Whether the text of the row is another one now. */
  function update(row: Row): boolean {
    row.element.classList.toggle("gv-selected", row.line.id === selected);
    row.element.tabIndex = row.line.id === active ? 0 : -1;
    return updateRow(row, shared);
  }

  function updateAll(): void {
    for (const row of list.rows.values()) if ("line" in row) update(row);
  }

  function estimate(index: number, width: number): number {
    const item = items[index];
    if (!item?.line) return ROW.more + 4;
    return textHeight(lengthOf(item.line), width - INDENT * item.depth, ROW);
  }

  function progress(by: number): string {
    if (!isRefused(trace)) return `${howMany(by)} of ${howMany(counts.all)} made${trace.obstacle ? ", none run" : ""}`;
    return `${howMany(by)} made${shared.position === endOf(trace) ? ", then it stops" : ""}`;
  }

  /** Shows the lines `touched` as they are at the position, and one line where it can be seen. */
  function show(touched: Iterable<string>, line: string | undefined): void {
    count.textContent = part === "forward" ? counted(counts.all, "operator") : progress(counts.by(shared.position));
    let isOther = false;
    for (const id of touched) {
      const row = list.rows.get(id);
      if (row && "line" in row && update(row)) isOther = true;
    }
    for (const [key, row] of list.rows) if ("round" in row) row.round.textContent = shared.rounds.get(key) ?? "";
    if (isOther) list.measure();
    if (line !== undefined) list.reveal(line);
  }

  /** Outlines a line where it can be seen; null outlines none. */
  function select(line: string | null): void {
    if (line === null && selected === null) return;
    selected = line;
    updateAll();
    if (line !== null) list.reveal(line);
  }

  /** What is open is something else. */
  function fill(): void {
    const hadFocus = body.contains(document.activeElement);
    items = itemsOf(trace, part, shared.open);
    if (!items.some(({ key }) => key === active)) activate(items[0]?.key ?? "");
    updateAll();
    list.fill(items.length);
    if (hadFocus) list.rows.get(active)?.element.focus({ preventScroll: true });
  }

  function activate(line: string): void {
    active = line;
    updateAll();
    list.keep(line);
  }

  function focus(index: number): void {
    const item = items[index];
    if (!item?.line) return;
    activate(item.key);
    list.lead(item.key)?.element.focus({ preventScroll: true });
  }

  function next(from: number, by: 1 | -1): number {
    let index = from + by;
    while (items[index] && !items[index]?.line) index += by;
    return index;
  }

  body.addEventListener("focusin", (event) => {
    const line = event.target instanceof HTMLElement ? event.target.dataset["line"] : undefined;
    if (line !== undefined && line !== active) activate(line);
  });
  fill();

  return {
    head,
    body,
    has: (line: string) => list.placeOf(line) >= 0,
    show,
    select,
    update: updateAll,
    fill,
    /** Moves the focus so many lines on; false: there are no more. */
    walk(from: string, by: 1 | -1) {
      const to = next(list.placeOf(from), by);
      if (!items[to]) return false;
      focus(to);
      return true;
    },
    enter: (at: "first" | "last") => focus(at === "first" ? 0 : next(items.length, -1)),
    dispose: list.dispose,
  };
}

export function createProgram(trace: Trace, navigation: Navigation) {
  const shared: Shared = { trace, position: 0, breakpoints: [], open: new Set(), rounds: new Map() };
  const { open } = shared;
  const sections = { forward: createSection("forward", shared), backward: createSection("backward", shared) };
  const both = [sections.forward, sections.backward];
  const pane = element("div", { class: "gv-listing", role: "group", "aria-label": "Program" });
  pane.append(...both.flatMap((section) => [section.head, section.body]));
  let entered = new Set<number>();

  pane.addEventListener("click", (event) => {
    const line = lineOf(event.target);
    if (!line || !(event.target instanceof Element)) return;
    if (event.target.matches(".gv-gutter")) navigation.toggleBreakpoint(line.id);
    else if (event.target.matches(".gv-fold")) setOpen(line.id, !open.has(line.id));
    else navigation.go(line.made);
  });
  pane.addEventListener("keydown", (event) => {
    const line = lineOf(event.target);
    if (!line || !(fold(event, line) || walk(event, line))) return;
    event.preventDefault();
    event.stopPropagation();
  });

  function lineOf(target: EventTarget | null): Line | undefined {
    const row = target instanceof Element ? target.closest<HTMLElement>(".gv-line") : null;
    return row ? linesById(trace).get(row.dataset["line"] ?? "") : undefined;
  }

  const sectionOf = (line: string): Section | undefined => both.find((section) => section.has(line));

  /** Plus opens and minus closes what is nested in a line. */
  function fold({ key }: KeyboardEvent, line: Line): boolean {
    if ((key !== "+" && key !== "-") || !isNest(line)) return false;
    setOpen(line.id, key === "+");
    return true;
  }

  /** Up and down move the focus from line to line. */
  function walk({ key }: KeyboardEvent, line: Line): boolean {
    if (key !== "ArrowUp" && key !== "ArrowDown") return false;
    const by = key === "ArrowDown" ? 1 : -1;
    const section = sectionOf(line.id);
    if (section?.walk(line.id, by)) return true;
    if (section === sections.forward && by > 0) sections.backward.enter("first");
    if (section === sections.backward && by < 0) sections.forward.enter("last");
    return true;
  }

  const isNest = (line: Line): boolean => (["forward", "backward"] as Part[]).some((part) => nestedIn(trace, line, part).length > 0);

  function setOpen(line: string, isOpen: boolean): void {
    if (open.has(line) === isOpen) return;
    if (isOpen) open.add(line);
    else open.delete(line);
    sectionOf(line)?.fill();
  }

  /** Opens the nests of the nets that have been entered since the last move; what a person folds then stays folded. */
  function follow(position: number): void {
    const here = crumbs(trace, position);
    shared.rounds.clear();
    for (const crumb of here) {
      const { owner, backward_owner } = crumb.subnet;
      const run = trace.frames[crumb.frame ?? -1];
      const owners = run ? [run.is_backward ? backward_owner : owner] : [owner, backward_owner];
      for (const one of owners.filter((line) => line !== null)) {
        if (!entered.has(crumb.entered)) setOpen(one, true);
        if (run) shared.rounds.set(titleKey(one, crumb.subnet), roundText(trace, run));
      }
    }
    entered = new Set(here.map((crumb) => crumb.entered));
  }

  /** `touched` holds the lines that can look different than before. */
  function show(position: number, touched: ReadonlySet<string>): void {
    const event = currentEvent(trace, position);
    shared.position = position;
    pane.classList.toggle("gv-accumulating", isSum(event));
    follow(position);
    for (const section of both) section.show(touched, linesAbout(event).filter((id) => section.has(id)).pop());
  }

  /** Outlines one line and brings it into view; null outlines none. */
  function select(line: string | null): void {
    if (line !== null) unfold(line);
    for (const section of both) section.select(line);
  }

  /** Opens what is folded around a line. */
  function unfold(line: string): void {
    const net = subnetsById(trace).get(subnetOf(line) ?? "");
    const owner = net && (net.forward.some(({ id }) => id === line) ? net.owner : net.backward_owner);
    if (!owner) return;
    unfold(owner);
    setOpen(owner, true);
  }

  function mark(breakpoints: readonly BreakpointEntry[]): void {
    shared.breakpoints = breakpoints;
    for (const section of both) section.update();
  }

  return { element: pane, show, select, mark, dispose: () => both.forEach((section) => section.dispose()) };
}
