// The program as text in SSA form: the forward net and, below it, the backward pass as it grows.

import { currentEvent, formAt, hasRun, lineState, madeCount, type LineState } from "../cursor";
import type { Line, Trace } from "../trace";
import { element, version, type Child } from "./dom";
import { isSum } from "./kinds";
import type { Navigation } from "./navigation";
import { counted } from "./numbers";

/** Lines are rendered in blocks, and blocks only while they are in sight: a program can have thousands of lines. */
const BLOCK = 40;

export interface Program {
  element: HTMLElement;
  /** `touched` holds the lines that can look different than before. */
  show(position: number, touched: Set<string>): void;
  /** Outlines one line and brings it into view; null outlines none. */
  select(line: string | null): void;
}

interface Row {
  line: Line;
  element: HTMLButtonElement;
  code: HTMLElement;
  state: LineState | null;
  form: number;
  ran: boolean;
}

export function createProgram(trace: Trace, navigation: Navigation): Program {
  const rows = new Map<string, Row>();
  const sections = (["forward", "backward"] as const).map((part) => createSection(part, trace[part], rows));
  const pane = element("div", { class: "gv-pane gv-program", role: "region", "aria-label": "Program" });
  pane.append(...sections.flatMap((section) => [section.head, section.body]));

  pane.addEventListener("click", (event) => {
    const row = rowOf(event.target);
    if (row) navigation.go(row.line.made);
  });
  pane.addEventListener("keydown", (event) => walk(event, [...rows.values()].map((row) => row.element)));

  function rowOf(target: EventTarget | null): Row | undefined {
    const found = target instanceof Element ? target.closest<HTMLElement>(".gv-line") : null;
    return found ? rows.get(found.dataset["line"] ?? "") : undefined;
  }

  function show(position: number, touched: Set<string>): void {
    pane.classList.toggle("gv-accumulating", isSum(currentEvent(trace, position)));
    const changed = [...touched].map((id) => rows.get(id)).filter((row) => row !== undefined);
    for (const row of changed) update(row, trace, position);
    for (const section of sections) section.show(position, changed);
  }

  let selected: Row | undefined;
  function select(line: string | null): void {
    selected?.element.classList.remove("gv-selected");
    selected = line === null ? undefined : rows.get(line);
    selected?.element.classList.add("gv-selected");
    if (selected) reveal(selected.element);
  }

  return { element: pane, show, select };
}

function createSection(part: "forward" | "backward", lines: Line[], rows: Map<string, Row>) {
  const count = element("span", { class: "gv-count" });
  const title = part === "forward" ? "Forward" : "Backward";
  const head = element("div", { class: "gv-section" }, element("span", {}, title), count);
  const body = element("div", { class: `gv-lines gv-lines-${part}`, role: "group", "aria-label": title });
  let number = 0;
  lines.forEach((line, index) => {
    const row = createRow(line, line.kind === "operator" ? String(number++) : "");
    rows.set(line.id, row);
    if (index === 0) row.element.tabIndex = 0;
    if (index % BLOCK === 0) body.append(element("div", { class: "gv-block" }));
    body.lastElementChild?.append(row.element);
  });

  function show(position: number, changed: Row[]): void {
    const { made, all } = madeCount(lines, position);
    count.textContent = part === "forward" ? counted(all, "operator") : `${made} of ${all} made`;
    const marked = changed.filter((row) => body.contains(row.element) && (row.state === "new" || row.state === "current"));
    const last = marked[marked.length - 1];
    if (last) reveal(last.element);
  }

  return { head, body, show };
}

function createRow(line: Line, number: string): Row {
  const code = element("code");
  const made = element(
    "button",
    { type: "button", class: `gv-line gv-${line.role}`, "data-line": line.id, tabindex: -1, title: about(line) },
    element("span", { class: "gv-gutter", "aria-hidden": "true" }),
    element("span", { class: "gv-number" }, number),
    code,
  );
  return { line, element: made, code, state: null, form: -1, ran: false };
}

function update(row: Row, trace: Trace, position: number): void {
  const state = lineState(trace, row.line, position);
  if (state !== row.state) {
    if (row.state) row.element.classList.remove(`gv-${row.state}`);
    row.element.classList.add(`gv-${state}`);
    if (state === "new" || state === "current") row.element.setAttribute("aria-current", "step");
    else row.element.removeAttribute("aria-current");
    row.state = state;
  }
  const form = formAt(row.line, position);
  if (form !== row.form) {
    row.form = form;
    row.code.replaceChildren(...sentence(row.line, form));
  }
  const ran = hasRun(row.line, position);
  if (ran !== row.ran) {
    row.ran = ran;
    row.element.classList.toggle("gv-ran", ran);
  }
}

/** "y@0 = FC(x@0, w@0)", and for a gradient that passes "∂v@0, ∂a@0 := s_grad@0 passed through". */
function sentence(line: Line, form: number): Child[] {
  const { inputs, outputs } = line.history[form] ?? line;
  if (line.kind === "passed") {
    return [...listed(outputs, "∂"), " := ", ...listed(inputs), element("span", { class: "gv-note" }, " passed through")];
  }
  const call = [element("span", { class: "gv-operator" }, line.type), "(", ...listed(inputs), ...settings(line, inputs), ")"];
  const device = line.device !== null && line.device !== "cpu" ? [element("span", { class: "gv-note" }, ` ${line.device}`)] : [];
  return [...listed(outputs), outputs.length > 0 ? " = " : "", ...call, ...device];
}

function listed(names: string[], before = ""): Child[] {
  return names.flatMap((name, index) => [index === 0 ? before : `, ${before}`, ...version(name)]);
}

/** The arguments behind the inputs, ", scale=2"; long ones are cut, the tool tip has them whole. */
function settings(line: Line, inputs: string[]): Child[] {
  const told = Object.entries(line.args).map(([name, value]) => `${name}=${cut(JSON.stringify(value))}`);
  if (told.length === 0) return [];
  return [element("span", { class: "gv-note" }, (inputs.length > 0 ? ", " : "") + told.join(", "))];
}

function cut(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function about(line: Line): string {
  const args = Object.entries(line.args).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const told = [line.formula, line.name && `name: ${line.name}`, ...args, line.device && `device: ${line.device}`];
  return [...told.filter(Boolean), `made at event ${line.made}`].join("\n");
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
