// The table of the operators, the other form of the graph: one row for each forward operator, with what its gradient is.

import { hasRun } from "../cursor";
import { subnetOf, type GradientName, type Line, type Scalar, type Trace } from "../trace";
import { bare } from "../versions";
import { button, element, version, type Child } from "./dom";
import type { Navigation } from "./navigation";
import { quantity } from "./numbers";
import { createWindowed } from "./windowed";

/** Pixels, as the style sheet has it. */
const ROW = 26;

export interface Operators {
  element: HTMLElement;
  open(): void;
  show(position: number): void;
  select(line: string | null): void;
  dispose(): void;
}

interface Entry {
  line: Line;
  /** "#3", in a nested net "s0 #3". */
  name: string;
  order: number;
  gradients: Line[];
  /** The version of the gradient of its first output, and the operator that made it. */
  gradient: string | null;
  maker: Line | undefined;
}

interface Row {
  element: HTMLElement;
  update(): void;
}

type Column = "index" | "type" | "norm" | "made" | "ran";
const COLUMNS: [Column | null, string, string][] = [
  ["index", "#", "index"], ["type", "type", "type"], [null, "reads", ""], [null, "writes", ""], [null, "gradient", ""],
  ["norm", "‖∂‖", "the norm of the gradient of what it writes"], ["made", "made", "when it was made"], ["ran", "ran", "when it ran"],
];

export function createOperators(trace: Trace, navigation: Navigation): Operators {
  const entries = readEntries(trace);
  const built = new Map<string, Row>();
  let sorted = entries;
  let order: { column: Column; isRising: boolean } = { column: "index", isRising: true };
  let position = 0;
  let selected: string | null = null;
  const heads = COLUMNS.map(([column, title, what]) => ({ column, cell: head(column, title, what) }));
  const header = element("div", { class: "gv-record gv-heads", role: "row", "aria-rowindex": 1 }, ...heads.map(({ cell }) => cell));
  const body = element("div", { class: "gv-rows", role: "rowgroup" });
  const table = element("div", { class: "gv-table", role: "table", "aria-label": "Operators", "aria-rowcount": entries.length + 1 }, element("div", { role: "rowgroup" }, header), body);
  const pane = element("div", { class: "gv-operators", hidden: true }, table);
  const list = createWindowed(body, { key: (index) => sorted[index]?.line.id ?? "", build: (index) => build(index), estimate: () => ROW });
  const placeOf = (line: string): number => sorted.findIndex((entry) => entry.line.id === line);

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

  function key(entry: Entry, column: Column): number | string | null {
    if (column === "type") return entry.line.type;
    if (column === "made") return entry.line.made;
    if (column === "ran") return entry.line.ran;
    if (column === "index") return entry.order;
    const norm = normOf(trace, entry, position);
    return typeof norm === "number" || norm === null ? norm : norm === "-inf" ? -Infinity : Infinity;
  }

  function build(index: number): HTMLElement {
    const entry = sorted[index];
    if (!entry) return element("div");
    const { line, gradients } = entry;
    const lead = button(() => navigation.select(line.id), { "data-operator": line.id, title: "Show it in the program and the inspector" }, line.type);
    const [norm, ran] = [cell(), cell()];
    const names = gradients.map(({ type, kind }) => (kind === "passed" ? "passes on" : type)).join(", ");
    const cells = [cell(entry.name), cell(lead), cell(...listed(line.inputs)), cell(...listed(line.outputs)), cell(names || "none"), norm, cell(String(line.made)), ran];
    const made = element("div", { class: "gv-record", role: "row" }, ...cells);
    const row = {
      element: made,
      update() {
        norm.textContent = normText(trace, entry, position);
        ran.textContent = line.ran === null ? "–" : hasRun(line, position) ? String(line.ran) : "not yet";
        made.setAttribute("aria-rowindex", String(placeOf(line.id) + 2));
        made.classList.toggle("gv-selected", line.id === selected);
      },
    };
    row.update();
    built.set(line.id, row);
    return made;
  }

  function update(): void {
    if (pane.hidden) return;
    for (const [id, row] of built) {
      if (row.element.isConnected) row.update();
      else built.delete(id);
    }
  }

  function reveal(line: string): void {
    const place = placeOf(line);
    if (place >= 0 && !pane.hidden) list.reveal(place);
  }

  body.addEventListener("keydown", (event) => {
    const line = event.target instanceof HTMLElement ? event.target.dataset["operator"] : undefined;
    if (line === undefined || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    const next = sorted[placeOf(line) + (event.key === "ArrowDown" ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    list.keep(placeOf(next.line.id));
    reveal(next.line.id);
    built.get(next.line.id)?.element.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  });
  arrange();
  return {
    element: pane,
    open() {
      pane.hidden = false;
      if (order.column === "norm") arrange();
      update();
      if (selected !== null) reveal(selected);
    },
    show(at) {
      position = at;
      if (order.column === "norm" && !pane.hidden) arrange();
      update();
    },
    select(line) {
      selected = line;
      if (line !== null) reveal(line);
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
    for (const line of net.backward) if (line.of !== null) of.set(line.of, [...(of.get(line.of) ?? []), line]);
    const makers = new Map(net.backward.flatMap((line) => (line.kind === "passed" ? [] : line.outputs.map((blob) => [blob, line] as const))));
    return net.forward.map((line, index) => {
      const around = subnetOf(line.id);
      const gradient = around === null ? gradientOf(trace, line) : null;
      const gradients = (of.get(index) ?? []).filter(({ role }) => role === "gradient" || role === "passed");
      return { line, name: around === null ? `#${index}` : `${around} #${index}`, order: order++, gradients, gradient, maker: makers.get(gradient ?? "") };
    });
  });
}

/** The version of the gradient of the first blob that a line writes, as far as the pass names it. */
function gradientOf(trace: Trace, line: Line): string | null {
  const blob = line.outputs[0];
  if (blob === undefined) return null;
  const found: GradientName | undefined = trace.gradients[bare(blob)];
  return found === undefined ? null : typeof found === "string" ? found : found.values;
}

function normOf(trace: Trace, { gradient, maker }: Entry, position: number): Scalar | null {
  if (gradient === null || (maker && !hasRun(maker, position))) return null;
  return trace.values[gradient]?.norm ?? null;
}

function normText(trace: Trace, entry: Entry, position: number): string {
  if (entry.gradient === null) return "no gradient";
  const norm = normOf(trace, entry, position);
  if (norm !== null) return quantity(norm);
  return trace.values[entry.gradient] ? "not yet" : "not computed";
}

/** A cell, whose whole text is in its tool tip too: it can be too narrow for it. */
function cell(...content: Child[]): HTMLElement {
  const made = element("div", { role: "cell" }, ...content);
  if (made.firstElementChild?.localName !== "button") made.title = made.textContent ?? "";
  return made;
}

function listed(blobs: string[]): Child[] {
  return [element("code", {}, ...blobs.flatMap((blob, index) => [...(index === 0 ? [] : [", "]), ...version(blob)]))];
}
