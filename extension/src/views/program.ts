// The program as text in SSA form: the forward net and, below it, the backward pass as it grows.

import { currentEvent, madeCount } from "../cursor";
import { crumbs } from "../places";
import type { BreakpointEntry, Line, Subnet, Trace } from "../trace";
import { roundText } from "../values";
import { element } from "./dom";
import { isSum } from "./kinds";
import type { Navigation } from "./navigation";
import { createNest, nestedIn, type Nest, type Part } from "./nests";
import { counted } from "./numbers";
import { createRow, markRow, updateRow, type Row } from "./rows";

/** Lines are rendered in blocks, and blocks only while they are in sight: a program can have thousands of lines. */
const BLOCK = 40;

export interface Program {
  element: HTMLElement;
  /** `touched` holds the lines that can look different than before. */
  show(position: number, touched: Set<string>): void;
  /** Outlines one line and brings it into view; null outlines none. */
  select(line: string | null): void;
  /** Marks the lines at which breakpoints stand. */
  mark(breakpoints: readonly BreakpointEntry[]): void;
}

/** What all parts of the program share: the rows that are there by now, and the nests by the line that opens them. */
interface Shared {
  trace: Trace;
  rows: Map<string, Row>;
  nests: Map<string, Nest>;
  position: number;
  breakpoints: readonly BreakpointEntry[];
}

export function createProgram(trace: Trace, navigation: Navigation): Program {
  const shared: Shared = { trace, rows: new Map(), nests: new Map(), position: 0, breakpoints: [] };
  const { rows, nests } = shared;
  const sections = (["forward", "backward"] as const).map((part) => createSection(part, shared));
  const pane = element("div", { class: "gv-pane gv-program", role: "region", "aria-label": "Program" });
  pane.append(...sections.flatMap((section) => [section.head, section.body]));
  let entered = new Set<number>();

  pane.addEventListener("click", (event) => {
    const row = rowOf(event.target);
    if (row && event.target instanceof Element && event.target.matches(".gv-gutter")) navigation.toggleBreakpoint(row.line.id);
    else if (row) navigation.go(row.line.made);
  });
  pane.addEventListener("keydown", (event) => {
    const row = rowOf(event.target);
    if (row && fold(event, nests.get(row.line.id))) return;
    walk(event, [...pane.querySelectorAll<HTMLButtonElement>(".gv-line")].filter((one) => one.closest("[hidden]") === null));
  });

  function rowOf(target: EventTarget | null): Row | undefined {
    const found = target instanceof Element ? target.closest<HTMLElement>(".gv-line") : null;
    return found ? rows.get(found.dataset["line"] ?? "") : undefined;
  }

  /** Opens the nests of the nets that have been entered since the last move; what a person folds then stays folded. */
  function follow(position: number): void {
    const open = crumbs(trace, position);
    for (const crumb of open) if (!entered.has(crumb.entered)) enter(crumb.subnet, crumb.frame);
    entered = new Set(open.map((crumb) => crumb.entered));
    for (const nest of nests.values()) {
      for (const [id, round] of nest.rounds) {
        const here = open.find((crumb) => crumb.subnet.id === id && crumb.frame !== null);
        const run = here === undefined ? undefined : trace.frames[here.frame ?? -1];
        const isHere = run !== undefined && nest === nests.get((run.is_backward ? here?.subnet.backward_owner : here?.subnet.owner) ?? "");
        const text = isHere ? roundText(trace, run) : "";
        if (round.textContent !== text) round.textContent = text;
      }
    }
  }

  function enter(net: Subnet, frame: number | null): void {
    const isBackward = frame === null ? null : trace.frames[frame]?.is_backward;
    if (isBackward !== true && net.owner !== null) nests.get(net.owner)?.setOpen(true);
    if (isBackward !== false && net.backward_owner !== null) nests.get(net.backward_owner)?.setOpen(true);
  }

  function show(position: number, touched: Set<string>): void {
    shared.position = position;
    pane.classList.toggle("gv-accumulating", isSum(currentEvent(trace, position)));
    follow(position);
    const changed = [...touched].map((id) => rows.get(id)).filter((row) => row !== undefined);
    for (const row of changed) updateRow(row, trace, position);
    for (const section of sections) section.show(position, changed);
  }

  let selected: Row | undefined;
  function select(line: string | null): void {
    selected?.element.classList.remove("gv-selected");
    if (line !== null) unfold(line);
    selected = line === null ? undefined : rows.get(line);
    selected?.element.classList.add("gv-selected");
    if (selected) reveal(selected.element);
  }

  /** Opens what is folded around a line. */
  function unfold(line: string): void {
    const net = trace.subnets.find(({ id }) => line.startsWith(`${id}.`));
    const owner = net && (net.forward.some(({ id }) => id === line) ? net.owner : net.backward_owner);
    if (!owner) return;
    unfold(owner);
    nests.get(owner)?.setOpen(true);
  }

  function mark(breakpoints: readonly BreakpointEntry[]): void {
    shared.breakpoints = breakpoints;
    for (const row of rows.values()) markRow(row, breakpoints);
  }

  return { element: pane, show, select, mark };
}

function createSection(part: Part, shared: Shared) {
  const { trace } = shared;
  const lines = trace[part];
  const count = element("span", { class: "gv-count" });
  const title = part === "forward" ? "Forward" : "Backward";
  const head = element("div", { class: "gv-section" }, element("span", {}, title), count);
  const body = element("div", { class: `gv-lines gv-lines-${part}`, role: "group", "aria-label": title });
  createRows(lines, part, shared).forEach((row, index) => {
    if (index % BLOCK === 0) body.append(element("div", { class: "gv-block" }));
    body.lastElementChild?.append(row);
  });
  body.querySelector<HTMLElement>(".gv-line")?.setAttribute("tabindex", "0");

  function show(position: number, changed: Row[]): void {
    const { made, all } = madeCount(lines, position);
    count.textContent = part === "forward" ? counted(all, "operator") : `${made} of ${all} made`;
    const marked = changed.filter((row) => body.contains(row.element) && (row.state === "new" || row.state === "current"));
    const last = marked[marked.length - 1];
    if (last) reveal(last.element);
  }

  return { head, body, show };
}

/** The rows of one net's lines, each with what is nested in it. */
function createRows(lines: Line[], part: Part, shared: Shared): HTMLElement[] {
  const { trace, rows, nests } = shared;
  let number = 0;
  return lines.map((line) => {
    const inner = nestedIn(trace, line, part);
    const names = new Map(Object.entries(line.subnets).map(([argument, id]) => [argument, trace.subnets.find((net) => net.id === id)?.name ?? id]));
    const row = createRow(line, line.kind === "operator" ? String(number++) : "", names);
    rows.set(line.id, row);
    if (inner.length === 0) return row.element;
    const nest = createNest(row.element, line, inner, (net) => {
      const made = createRows(net[part], part, shared);
      for (const { id } of net[part]) {
        const filled = rows.get(id);
        if (filled) updateRow(filled, trace, shared.position);
        if (filled) markRow(filled, shared.breakpoints);
      }
      return made;
    });
    nests.set(line.id, nest);
    return nest.element;
  });
}

/** Plus opens and minus closes what is nested in a line. */
function fold(event: KeyboardEvent, nest: Nest | undefined): boolean {
  if (!nest || (event.key !== "+" && event.key !== "-")) return false;
  nest.setOpen(event.key === "+");
  event.preventDefault();
  event.stopPropagation();
  return true;
}

/** Up and down move the focus from line to line. */
function walk(event: KeyboardEvent, lines: HTMLButtonElement[]): void {
  if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
  const from = lines.indexOf(event.target as HTMLButtonElement);
  const to = lines[from + (event.key === "ArrowDown" ? 1 : -1)];
  if (from < 0 || !to) return;
  event.preventDefault();
  // Each list has one line that the Tab key reaches: the one that had the focus last.
  to.closest(".gv-lines")?.querySelector<HTMLElement>("[tabindex='0']")?.setAttribute("tabindex", "-1");
  to.tabIndex = 0;
  to.focus({ preventScroll: true });
  reveal(to);
}

/** Scrolls the box of the line, never the page, and only when the line is out of sight. */
function reveal(line: HTMLElement): void {
  const box = line.closest(".gv-lines");
  if (!box || box.scrollHeight <= box.clientHeight) return;
  const [inner, outer] = [line.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.top >= outer.top && inner.bottom <= outer.bottom) return;
  box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
}
