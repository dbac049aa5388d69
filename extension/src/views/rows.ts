// One line of the program as a row of text: how it reads and how it looks at a position.

import { formAt, hasRun, lineState, type LineState } from "../cursor";
import { breakpointsAt } from "../marks";
import type { BreakpointEntry, Line, Trace } from "../trace";
import { element, version, type Child } from "./dom";

export interface Row {
  line: Line;
  element: HTMLButtonElement;
  code: HTMLElement;
  state: LineState | null;
  form: number;
  ran: boolean;
}

/** `nets` are the names of the nested nets that the line runs, by argument. */
export function createRow(line: Line, number: string, nets: ReadonlyMap<string, string>): Row {
  const code = element("code");
  const made = element(
    "button",
    { type: "button", class: `gv-line gv-${line.role}`, "data-line": line.id, tabindex: -1, title: about(line, nets) },
    element("span", { class: "gv-gutter", "aria-hidden": "true" }),
    element("span", { class: "gv-number" }, number),
    code,
  );
  return { line, element: made, code, state: null, form: -1, ran: false };
}

export function updateRow(row: Row, trace: Trace, position: number): void {
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

/** Shows whether a breakpoint stands at the line. */
export function markRow({ line, element: row }: Row, breakpoints: readonly BreakpointEntry[]): void {
  const there = breakpointsAt(line, breakpoints);
  row.classList.toggle("gv-stops", there.length > 0);
  row.classList.toggle("gv-off", there.length > 0 && !there.some(({ enabled }) => enabled));
  if (there.length > 0) row.setAttribute("aria-description", "breakpoint");
  else row.removeAttribute("aria-description");
}

/** "y@0 = FC(x@0, w@0)", and for a gradient that passes "∂v@0, ∂a@0 := s_grad@0 passed through". */
function sentence(line: Line, form: number): Child[] {
  const { inputs, outputs } = line.history[form] ?? line;
  if (line.kind === "passed") {
    return [...listed(outputs, "∂"), " := ", ...listed(inputs), element("span", { class: "gv-note" }, " passed through")];
  }
  const call = [element("span", { class: "gv-operator" }, line.type), "(", ...listed(inputs), ...settings(line, inputs), ")"];
  const device = line.device !== null && line.device !== "cpu" ? [element("span", { class: "gv-note" }, ` ${line.device}`)] : [];
  const role = line.role === "duplicate" ? [element("span", { class: "gv-note" }, " for a second output")] : [];
  return [...listed(outputs), outputs.length > 0 ? " = " : "", ...call, ...device, ...role];
}

function listed(names: string[], before = ""): Child[] {
  return names.flatMap((name, index) => [index === 0 ? before : `, ${before}`, ...version(name)]);
}

/** The arguments behind the inputs, ", scale=2"; long ones are cut, the tool tip has them whole. Nested nets stand below. */
function settings(line: Line, inputs: string[]): Child[] {
  if (Object.keys(line.subnets).length > 0) return [];
  const told = Object.entries(line.args).map(([name, value]) => `${name}=${cut(JSON.stringify(value))}`);
  if (told.length === 0) return [];
  return [element("span", { class: "gv-note" }, (inputs.length > 0 ? ", " : "") + told.join(", "))];
}

function cut(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function about(line: Line, nets: ReadonlyMap<string, string>): string {
  const args = Object.entries(line.args).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const nested = [...nets].map(([argument, name]) => `${argument} = the net ${name}`);
  const told = [line.formula, line.name && `name: ${line.name}`, ...nested, ...args, line.device && `device: ${line.device}`];
  return [...told.filter(Boolean), `made at event ${line.made}`].join("\n");
}
