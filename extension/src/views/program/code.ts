// The user's code, a cell or a file, with the norm of the gradient of what each line computed beside it. A click on a line runs to
// the next event about that; one in the gutter sets a breakpoint, or takes it away.

import { calledIn, codeOf, codesAt, gradientAt, greatestNorm, normOf, placeOf, type Called } from "../../model/filters/code";
import { toggledOn } from "../../model/filters/marks";
import { currentEvent } from "../../model/recording/cursor";
import { linesById } from "../../model/recording/lookup";
import { isOver } from "../../model/recording/values";
import type { BreakpointEntry, CodeLine, Trace, TraceEvent } from "../../model/schema";
import { attribute, button, element, type Child } from "../elements/dom";
import { isSum } from "../elements/kinds";
import { runToLine, type Navigation } from "../elements/navigation";
import { DIGITS, NOT_YET, normText } from "../elements/numbers";
import { createWindowed, textHeight } from "../elements/windowed";

/** Of a row of one line of text, in pixels, and of each line more; the width of a character, and of all beside the text. */
const ROW = { first: 20, more: 18, character: 7.23, beside: 122 };

/** A line of text; null between two stretches of a file. */
type Item = { number: number; text: string; called: Called | undefined } | null;

type Row = Omit<ReturnType<typeof createRow>, "item"> & { item: Item };

export function createCode(trace: Trace, navigation: Navigation) {
  const files = [...new Set(trace.sources.map(({ file }) => file))];
  const choice = element("select", { class: "gv-file", "aria-label": "File or cell" }, ...files.map((file) => element("option", {}, file)));
  const title = files.length > 1 ? choice : element("b", {}, files[0] ?? "");
  const head = element("div", { class: "gv-section gv-code-head" }, title, element("span", { class: "gv-count", title: NORM }, "‖∂‖ of what the line made"));
  const body = element("div", { class: "gv-lines gv-code", role: "list", tabindex: 0 });
  const pane = element("div", { class: "gv-listing", role: "tabpanel", "aria-label": "Your code" }, head, body);
  let file = "";
  let items: Item[] = [];
  let position = 0;
  let about: string[] = [];
  let selected = "";
  let breakpoints: readonly BreakpointEntry[] = [];
  const keyAt = (index: number): string => `${file}:${index}`;
  const list = createWindowed(body, {
    key: keyAt,
    build,
    estimate: (index, width) => textHeight(items[index]?.text.length ?? 1, width, ROW),
  });

  function build(index: number): Row {
    const item = items[index] ?? null;
    if (!item) return { item, element: element("div", { class: "gv-gap-of-code", role: "listitem" }, "⋯"), norm: null };
    const row = createRow(item, index);
    update(row);
    return row;
  }

  function update({ item, element: row, norm }: Row): void {
    if (!item) return;
    const { number, called } = item;
    const place = placeOf({ file, number });
    const [first, ...others] = about;
    row.classList.toggle("gv-now", place === first);
    row.classList.toggle("gv-beside", others.includes(place));
    row.classList.toggle("gv-selected", place === selected);
    attribute(row, "aria-current", place === first && "step");
    if (!called || !norm) return;
    const there = breakpoints.filter(({ on }) => on === place);
    norm.stop.setAttribute("aria-pressed", String(there.length > 0));
    norm.stop.classList.toggle("gv-off", there.length > 0 && !there.some(({ enabled }) => enabled));
    const value = gradientAt(trace, called, position);
    const size = value && normOf(value);
    const shown = value === undefined ? "" : typeof size === "string" && size !== "nan" ? "infinite" : normText(value, DIGITS);
    if (norm.text.textContent !== shown) norm.text.textContent = shown;
    norm.text.classList.toggle("gv-bad", typeof size === "string");
    norm.bar.style.width = `${typeof size === "number" ? Math.ceil(BAR * (size / (greatestNorm(trace) || 1))) : 0}px`;
    const here = trace.part ? ` ${IN_PART}` : "";
    const none = `What this line made${here} ${isOver(trace) ? "gets no gradient" : "has no gradient yet"}`;
    norm.box.title = called.gradient === null ? none : `‖${called.gradient}‖ ${shown || absent(called)}: ${NORM}${here && `,${here}`}`;
    norm.run.setAttribute("aria-label", `Line ${number}: ${called.code.text}${shown && `, gradient ${shown}`}`);
  }

  /** Of what runs again and again a part of a recording has the runs in it alone. */
  const absent = ({ subnet }: Called): string => (trace.part && subnet !== null ? "not computed in this part of the recording" : NOT_YET);

  function open(other: string): void {
    if (other === file || !files.includes(other)) return;
    file = choice.value = other;
    body.setAttribute("aria-label", other);
    items = itemsOf(trace, other);
    list.fill(items.length);
  }

  function updateAll(): void {
    for (const row of list.rows.values()) update(row);
  }

  function look(line: CodeLine): void {
    open(line.file);
    selected = placeOf(line);
    updateAll();
    reveal(line);
  }

  function reveal({ number }: CodeLine): void {
    const index = items.findIndex((item) => item?.number === number);
    if (index >= 0) list.reveal(keyAt(index));
  }

  const toggle = (place: string): void => {
    const marks = navigation.marks();
    navigation.mark({ ...marks, breakpoints: toggledOn(place, marks.breakpoints) });
  };

  /** Moves the focus to the next line that called something. */
  function walk(from: number, by: 1 | -1): void {
    let index = from + by;
    while (items[index] !== undefined && !items[index]?.called) index += by;
    if (!items[index]) return;
    list.lead(keyAt(index))?.norm?.run.focus({ preventScroll: true });
  }

  choice.addEventListener("change", () => open(choice.value));
  choice.addEventListener("keydown", (event) => event.stopPropagation());
  body.addEventListener("click", ({ target }) => {
    const row = target instanceof Element ? target.closest<HTMLElement>(".gv-called") : null;
    const place = row?.dataset["place"];
    if (place === undefined) return;
    if (target instanceof Element && target.matches(".gv-stop")) toggle(place);
    else runToLine(navigation, place);
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>(".gv-called") : null;
    const place = row?.dataset["place"];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") walk(Number(row?.dataset["index"] ?? -1), event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "b" && place !== undefined) toggle(place);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  open(files[0] ?? "");

  return {
    element: pane,
    show(to: number) {
      position = to;
      const event = currentEvent(trace, to);
      const codes = codesAt(trace, to);
      about = codes.map(placeOf);
      pane.dataset["tone"] = toneOf(trace, event);
      if (codes[0]) open(codes[0].file);
      updateAll();
      if (codes[0]) reveal(codes[0]);
    },
    /** Outlines the line of code that an operator comes from, and shows it; null outlines none. */
    select(id: string | null) {
      const line = id === null ? undefined : linesById(trace).get(id);
      const code = line && codeOf(trace, line);
      if (code) return look(code);
      if (selected === "") return;
      selected = "";
      updateAll();
    },
    look,
    mark(entries: readonly BreakpointEntry[]) {
      breakpoints = entries;
      updateAll();
    },
    dispose: list.dispose,
  };
}

const NORM = "the norm of the gradient of what the last operator of the line made; in a loop, of its last run";

/** Of operators that are left out, which a line may have called too, a part of a recording does not know it. */
const IN_PART = "in this part of the recording";

/** Pixels of the longest bar. */
const BAR = 22;

function itemsOf(trace: Trace, file: string): Item[] {
  const called = calledIn(trace);
  const items: Item[] = [];
  for (const { first, text } of trace.sources.filter((source) => source.file === file)) {
    if (items.length > 0) items.push(null);
    text.split("\n").forEach((line, index) => {
      const call = called.get(placeOf({ file, number: first + index }));
      items.push({ number: first + index, text: line, called: call?.code.text === line.trim() ? call : undefined });
    });
  }
  return items;
}

/** A line of text; one that called operators is a button that runs to them. */
function createRow(item: NonNullable<Item>, index: number) {
  const { number, text, called } = item;
  const line = [element("span", { class: "gv-number" }, String(number)), element("code", { title: text.trim() }, ...coloured(text))];
  if (!called) return { item, element: element("div", { class: "gv-code-line", role: "listitem" }, element("span", { class: "gv-stop" }), ...line), norm: null };
  const place = placeOf(called.code);
  const stop = button(() => undefined, { class: "gv-stop", tabindex: -1, "aria-label": `Breakpoint on line ${number}`, title: `Breakpoint on ${place} (b)` });
  const run = button(() => undefined, { class: "gv-run", tabindex: -1, title: `Run to ${place}` }, ...line);
  const [bar, shown] = [element("i"), element("span")];
  const box = element("span", { class: "gv-norm" }, bar, shown);
  return { item, element: element("div", { class: "gv-code-line gv-called", role: "listitem", "data-place": place, "data-index": index }, stop, run, box), norm: { stop, run, bar, text: shown, box } };
}

/** The colour of the line: of what goes forward, of its gradient, of a sum. */
function toneOf(trace: Trace, event: TraceEvent | undefined): "forward" | "backward" | "accumulation" {
  if (isSum(event)) return "accumulation";
  const ran = linesById(trace).get(event?.lines[0] ?? "");
  return event?.phase === "generate" || (event?.phase === "run" && ran && ran.role !== "forward") ? "backward" : "forward";
}

const TOKENS = /(#.*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b/g;

/** Python with its comments, strings and keywords marked. */
function coloured(text: string): Child[] {
  const [indent = ""] = /^ */.exec(text) ?? [];
  const children: Child[] = [element("span", { class: "gv-indent" }, indent)];
  let end = indent.length;
  for (const { 0: token, 1: comment, 2: quoted, index } of text.matchAll(TOKENS)) {
    children.push(text.slice(end, index), element("span", { class: comment ? "gv-note" : quoted ? "gv-quoted" : "gv-keyword" }, token));
    end = index + token.length;
  }
  return [...children, text.slice(end)];
}
