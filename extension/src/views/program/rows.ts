// The rows of the program: which there are, nested nets below the operators that run them, and how each reads and looks at a
// position.

import { breakpointsAt } from "../../model/filters/marks";
import { faultAt, formAt, hasRun, isStale, lineState, STATES } from "../../model/recording/cursor";
import { isObstacle, numberIn, reason, subnetsById } from "../../model/recording/lookup";
import type { BreakpointEntry, Line, Subnet, Trace } from "../../model/schema";
import { attribute, element, type Child } from "../elements/dom";
import { few, versions } from "../elements/versions";

export type Part = "forward" | "backward";

/** A line of the program, or the title of a nested net above its lines; `depth` nested nets are around it. */
export type Item =
  | { key: string; depth: number; line: Line; nets: Subnet[]; at: number; among: number }
  | { key: string; depth: number; line: null; net: Subnet };

/** The key of the title that a nested net has below a line. */
export function titleKey(line: string, net: Subnet): string {
  return `${line} ${net.id}`;
}

/** The nested nets of a line that have lines in a part of the program. */
export function nestedIn(trace: Trace, line: Line, part: Part): Subnet[] {
  const nets = Object.values(line.subnets).map((id) => subnetsById(trace).get(id));
  return nets.filter((net): net is Subnet => net !== undefined && net[part].length > 0);
}

/** A part of the program from top to bottom; the nested nets of the lines `open` stand below these. */
export function itemsOf(trace: Trace, part: Part, open: ReadonlySet<string>): Item[] {
  const items: Item[] = [];
  const add = (lines: readonly Line[], depth: number): void => {
    lines.forEach((line, index) => {
      const nets = nestedIn(trace, line, part);
      items.push({ key: line.id, depth, line, nets, at: index + 1, among: lines.length });
      for (const net of open.has(line.id) ? nets : []) {
        items.push({ key: titleKey(line.id, net), depth: depth + 1, line: null, net });
        add(net[part], depth + 1);
      }
    });
  };
  add(trace[part], 0);
  return items;
}

export type Row = ReturnType<typeof createRow>;

type LineItem = Extract<Item, { line: Line }>;
type TitleItem = Extract<Item, { line: null }>;

export function createRow(trace: Trace, { line, nets, depth, at, among }: LineItem) {
  const code = element("code");
  const obstacle = isObstacle(trace, line.id) ? trace.obstacle : null;
  const fault = element("span", { class: "gv-note" });
  const button = element(
    "button",
    {
      type: "button", role: "treeitem", class: `gv-line gv-${line.role}`, "data-line": line.id, tabindex: -1, title: [...(obstacle ? [reason(obstacle), ""] : []), about(trace, line)].join("\n"),
      "aria-level": depth + 1, "aria-posinset": at, "aria-setsize": among,
    },
    element("span", { class: "gv-gutter", "aria-hidden": "true" }),
    element("span", { class: "gv-number" }, line.kind === "passed" ? "" : String(numberIn(line.id))),
    code,
  );
  indent(button, depth);
  button.append(fault);
  if (nets.length > 0) button.append(element("span", { class: "gv-fold", "aria-hidden": "true", title: `Nested nets of ${line.type} (+, −)` }));
  return { line, element: button, code, fault, form: -1 };
}

export type Title = ReturnType<typeof createTitle>;

/** The title of a nested net, above its lines; `round` is where its run is named. */
export function createTitle({ net, depth }: TitleItem) {
  const round = element("span", { class: "gv-round" });
  const title = net.argument === "net" ? net.name : `${net.argument} ${net.name}`;
  const head = element("div", { class: "gv-net", title: net.path.join(" / ") }, element("span", {}, title), round);
  indent(head, depth);
  return { element: head, round };
}

function indent(target: HTMLElement, depth: number): void {
  if (depth === 0) return;
  target.classList.add("gv-nested");
  target.style.setProperty("--gv-depth", String(depth));
}

/** About how many characters the text of a line has. */
export function lengthOf({ inputs, outputs, type, args }: Line): number {
  const names = [...few(inputs), ...few(outputs)].reduce((sum, name) => sum + name.length + 2, 0);
  return names + type.length + 3 + Object.keys(args).reduce((sum, name) => sum + name.length + 6, 0);
}

/** What all rows are drawn from. */
export interface Shared {
  trace: Trace;
  position: number;
  breakpoints: readonly BreakpointEntry[];
  /** The lines whose nested nets are shown. */
  open: Set<string>;
  /** By the keys of their titles the runs of the nested nets that we are in. */
  rounds: Map<string, string>;
}

/** Whether the text of the row is another one now. */
export function updateRow(row: Row, { trace, position, breakpoints, open }: Shared): boolean {
  foldRow(row, open.has(row.line.id));
  markRow(row, breakpoints);
  const state = lineState(trace, row.line, position);
  for (const one of STATES) row.element.classList.toggle(`gv-${one}`, one === state);
  row.element.classList.toggle("gv-ran", hasRun(row.line, position));
  attribute(row.element, "aria-current", (state === "new" || state === "current") && "step");
  const fault = faultAt(trace, row.line.id, position);
  const note = fault || (isStale(row.line, position) ? "stale" : "");
  const isSame = note === row.fault.textContent;
  if (!isSame) {
    row.fault.textContent = note;
    row.element.classList.toggle("gv-obstacle", fault !== "");
    row.element.classList.toggle("gv-stale", note === "stale");
  }
  const form = formAt(row.line, position);
  if (form === row.form) return !isSame;
  row.form = form;
  row.code.replaceChildren(...sentence(row.line, form));
  return true;
}

/** Shows whether the nested nets of the line stand below it. */
function foldRow({ element: row }: Row, isOpen: boolean): void {
  const mark = row.querySelector(".gv-fold");
  if (!mark || row.getAttribute("aria-expanded") === String(isOpen)) return;
  row.setAttribute("aria-expanded", String(isOpen));
  mark.textContent = isOpen ? "▾" : "▸";
}

/** Shows whether a breakpoint stands at the line. */
function markRow({ line, element: row }: Row, breakpoints: readonly BreakpointEntry[]): void {
  const there = breakpointsAt(line, breakpoints);
  row.classList.toggle("gv-stops", there.length > 0);
  row.classList.toggle("gv-off", there.length > 0 && !there.some(({ enabled }) => enabled));
  attribute(row, "aria-description", there.length > 0 && "breakpoint");
}

/** "y@0 = FC(x@0, w@0)", and for a gradient that passes "∂v@0, ∂a@0 := s_grad@0 passed through"; "⋯ Tanh × 8 284". */
function sentence(line: Line, form: number): Child[] {
  const { inputs, outputs } = line.history[form] ?? line;
  if (line.kind === "passed") {
    return [...versions(outputs, "∂"), " := ", ...versions(inputs), element("span", { class: "gv-note" }, " passed through")];
  }
  if (line.kind === "stretch") {
    const last = line.role === "forward" ? ` to #${numberIn(line.id) + line.many - 1}` : "";
    return ["⋯ ", element("span", { class: "gv-operator" }, line.type), element("span", { class: "gv-note" }, last)];
  }
  const call = [element("span", { class: "gv-operator" }, line.type), "(", ...versions(inputs, "", line.left_out), ...settings(line, inputs), ")"];
  const device = line.device !== null && line.device !== "cpu" ? [element("span", { class: "gv-note" }, ` ${line.device}`)] : [];
  const role = line.role === "duplicate" ? [element("span", { class: "gv-note" }, " for a second output")] : [];
  return [...versions(outputs), outputs.length > 0 ? " = " : "", ...call, ...device, ...role];
}

/** The arguments behind the inputs, ", scale=2"; long ones are cut, the tool tip has them whole. Nested nets stand below. */
function settings(line: Line, inputs: string[]): Child[] {
  if (Object.keys(line.subnets).length > 0) return [];
  const values = Object.entries(line.args).map(([name, value]) => `${name}=${cut(JSON.stringify(value))}`);
  if (values.length === 0) return [];
  return [element("span", { class: "gv-note" }, (inputs.length > 0 ? ", " : "") + values.join(", "))];
}

function cut(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function about(trace: Trace, line: Line): string {
  const args = Object.entries(line.args).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const nested = Object.entries(line.subnets).map(([argument, id]) => `${argument} = the net ${subnetsById(trace).get(id)?.name ?? id}`);
  const stretch = line.kind === "stretch" && "These operators are shown when you go there.";
  const facts = [stretch, line.formula, line.name && `name: ${line.name}`, line.code && `${line.code.file}:${line.code.number}: ${line.code.text}`, ...nested, ...args, line.device && `device: ${line.device}`];
  return [...facts.filter(Boolean), `made at event ${line.made}`].join("\n");
}
