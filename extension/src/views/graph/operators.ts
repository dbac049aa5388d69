// The table of the operators, the other form of the graph: one row for each forward operator, with what its gradient is.

import { isGenerated, lastUnveiled } from "../../lesson/lesson";
import { gradientAt, normOf } from "../../model/filters/code";
import { currentEvent, forwardLine, hasRun } from "../../model/recording/cursor";
import { addTo, numberOf, subnetOf } from "../../model/recording/lookup";
import { isOver } from "../../model/recording/values";
import type { Line, Scalar, Trace, Value } from "../../model/schema";
import { normText, NOT_COMPUTED, NOT_YET_IN_SHORT } from "../elements/numbers";
import { attribute, button, element, type Child } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { versions } from "../elements/versions";
import { createWindowed } from "../elements/windowed";

/** Heights of a row, and the width from which on it is one line; pixels, as the style sheet has them. */
const ROW = { wide: 26, narrow: 52, turn: 680 };

interface Entry {
  line: Line;
  /** "#3", in a nested net "s0 #3". */
  name: string;
  order: number;
  subnet: string | null;
  gradients: Line[];
}

type Column = "index" | "type" | "norm" | "made" | "ran";
const COLUMNS: [Column | null, string, string][] = [
  ["index", "#", "index"], ["type", "type", "type"], [null, "reads", ""], [null, "writes", ""], [null, "gradient", ""],
  ["norm", "‖∂‖", "the norm of the gradient of what it writes"], ["made", "made", "when it was made"], ["ran", "ran", "when it ran"],
];

export function createOperators(trace: Trace, navigation: Navigation) {
  const entries = readEntries(trace);
  let sorted = entries;
  let order: { column: Column; isRising: boolean } = { column: "index", isRising: true };
  let position = 0;
  let isVeiled = false;
  let selected: string | null = null;
  const heads = COLUMNS.map(([column, title, what]) => ({ column, cell: head(column, title, what) }));
  const header = element("div", { class: "gv-record gv-heads", role: "row", "aria-rowindex": 1 }, ...heads.map(({ cell }) => cell));
  const body = element("div", { class: "gv-rows", role: "rowgroup" });
  const table = element("div", { class: "gv-table", role: "table", "aria-label": "Operators", "aria-rowcount": entries.length + 1 }, element("div", { role: "rowgroup" }, header), body);
  const pane = element("div", { class: "gv-operators", hidden: true }, table);
  const list = createWindowed(body, {
    key: (index) => sorted[index]?.line.id ?? "",
    build,
    estimate: (_, width) => (width < ROW.turn ? ROW.narrow : ROW.wide),
  });

  function head(column: Column | null, title: string, what: string): HTMLElement {
    if (!column) return element("div", { role: "columnheader" }, title);
    const sort = (): void => {
      order = { column, isRising: order.column === column ? !order.isRising : column !== "norm" };
      arrange();
    };
    return element("div", { role: "columnheader" }, button(sort, { title: `Sort by ${what}` }, title));
  }

  function arrange(): void {
    for (const { cell, column } of heads) if (column) cell.setAttribute("aria-sort", column !== order.column ? "none" : order.isRising ? "ascending" : "descending");
    sorted = inOrder(entries, (entry) => key(entry, order.column), order.isRising);
    list.fill(sorted.length);
  }

  /** The operator that the event is about. */
  const here = (): string | undefined => forwardLine(currentEvent(trace, position));

  const last = (): number => lastUnveiled(trace, position, isVeiled);

  /** Whether the order can be another one at another position. */
  const isMoving = (): boolean => order.column === "norm" || (isVeiled && (order.column === "made" || order.column === "ran"));

  function key(entry: Entry, column: Column): number | string | null {
    if (column === "type") return entry.line.type;
    if (column === "made") return unveiled(entry.line.made);
    if (column === "ran") return unveiled(entry.line.ran);
    if (column === "index") return entry.order;
    const norm = normNow(entry);
    return typeof norm === "number" || norm === null ? norm : norm === "-inf" ? -Infinity : Infinity;
  }

  /** The number of an event, null for one that a lesson hides. */
  const unveiled = (event: number | null): number | null => (event !== null && event <= last() ? event : null);

  /** Whether what has no gradient may be said to have none: of a pass that stands still, once it is whole. */
  const isSettled = (): boolean => (last() === Infinity || isGenerated(trace, position)) && isOver(trace);

  /** The gradient of what an operator writes, once it is computed by a position; in a loop that of the last run by then. */
  const gradientBy = ({ subnet, line }: Entry, at: number): Value | undefined => gradientAt(trace, { subnet, gradient: line.gradient }, at);

  function normNow(entry: Entry): Scalar | null {
    const value = gradientBy(entry, position);
    return value ? normOf(value) : null;
  }

  function gradientText({ gradients }: Entry): string {
    const names = gradients.filter(({ made }) => unveiled(made) !== null).map(({ type, kind }) => (kind === "passed" ? "passes on" : type));
    return names.join(", ") || (isSettled() ? "none" : NOT_YET_IN_SHORT);
  }

  function textOf(entry: Entry): string {
    const value = gradientBy(entry, position);
    if (value) return normText(value);
    // Of what runs again and again a part of a recording has the runs in it alone.
    if (entry.line.kind === "stretch" || (trace.part && entry.subnet !== null)) return "–";
    if (entry.line.gradient === null) return !isSettled() ? NOT_YET_IN_SHORT : entry.gradients.length > 0 ? "–" : "no gradient";
    return last() < Infinity || gradientBy(entry, Infinity) ? NOT_YET_IN_SHORT : NOT_COMPUTED;
  }

  /** "–" for what never runs. */
  function ranText(line: Line): string {
    if (line.ran === null && last() === Infinity) return "–";
    return hasRun(line, position) ? String(line.ran) : NOT_YET_IN_SHORT;
  }

  function build(index: number): { element: HTMLElement; update(): void } {
    const entry = sorted[index] as Entry;
    const { line } = entry;
    const lead = button(() => navigation.select(line.id), { "data-operator": line.id, title: "Show it in the program and the inspector" }, line.type);
    const [gradients, norm, since, ran] = [cell(), cell(), cell(), cell()];
    const cells = [cell(entry.name), cell(lead), cell(listed(line.inputs)), cell(listed(line.outputs)), gradients, norm, since, ran];
    const row = {
      element: element("div", { class: "gv-record", role: "row" }, ...cells),
      update() {
        say(gradients, gradientText(entry));
        say(norm, textOf(entry));
        say(since, String(unveiled(line.made) ?? NOT_YET_IN_SHORT));
        say(ran, ranText(line));
        row.element.setAttribute("aria-rowindex", String(list.placeOf(line.id) + 2));
        row.element.classList.toggle("gv-selected", line.id === selected);
        row.element.classList.toggle("gv-current", line.id === here());
        attribute(row.element, "aria-current", line.id === here() && "step");
      },
    };
    row.update();
    return row;
  }

  function update(): void {
    if (!pane.hidden) for (const row of list.rows.values()) row.update();
  }

  function reveal(line = ""): void {
    if (!pane.hidden) list.reveal(line);
  }

  body.addEventListener("keydown", (event) => {
    const line = event.target instanceof HTMLElement ? event.target.dataset["operator"] : undefined;
    if (line === undefined || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    const next = sorted[list.placeOf(line) + (event.key === "ArrowDown" ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    list.lead(next.line.id)?.element.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  });
  arrange();
  return {
    element: pane,
    open() {
      pane.hidden = false;
      if (isMoving()) arrange();
      update();
      reveal(selected ?? here());
    },
    show(at: number) {
      const before = here();
      position = at;
      if (isMoving() && !pane.hidden) arrange();
      update();
      if (here() !== before) reveal(here());
    },
    /** A lesson began or ended: in one, what comes later is not told. */
    teach(isOn: boolean) {
      isVeiled = isOn;
      if (!pane.hidden) arrange();
      update();
    },
    select(line: string | null) {
      selected = line;
      reveal(line ?? "");
      update();
    },
    dispose: list.dispose,
  };
}

/** Sorted; what has no key comes last, whichever way one sorts, and what is equal stays in the order of the net. */
function inOrder(entries: Entry[], key: (entry: Entry) => number | string | null, isRising: boolean): Entry[] {
  const keys = new Map(entries.map((entry) => [entry, key(entry)]));
  const way = isRising ? 1 : -1;
  return [...entries].sort((a, b) => {
    const [one, other] = [keys.get(a) ?? null, keys.get(b) ?? null];
    if (one === null || other === null) return Number(one === null) - Number(other === null) || a.order - b.order;
    return (one < other ? -way : one > other ? way : 0) || a.order - b.order;
  });
}

function readEntries(trace: Trace): Entry[] {
  let order = 0;
  return [trace, ...trace.subnets].flatMap((net) => {
    const of = new Map<number, Line[]>();
    for (const line of net.backward) if (line.of !== null) addTo(of, line.of, line);
    return net.forward.map((line) => {
      const [subnet, number] = [subnetOf(line.id), numberOf(line) ?? 0];
      const gradients = (of.get(number) ?? []).filter(({ role }) => role === "gradient" || role === "passed");
      return { line, name: `${subnet === null ? "" : `${subnet} `}#${number}`, order: order++, subnet, gradients };
    });
  });
}

/** A cell, whose whole text is in its tool tip too: it can be too narrow for it. */
function cell(...content: Child[]): HTMLElement {
  const box = element("div", { role: "cell" }, ...content);
  if (box.firstElementChild?.localName !== "button") box.title = box.textContent ?? "";
  return box;
}

/** A cell says something else now. */
function say(cell: HTMLElement, text: string): void {
  if (cell.textContent === text) return;
  cell.textContent = text;
  cell.title = text;
}

const listed = (blobs: string[]): HTMLElement => element("code", {}, ...versions(blobs));
