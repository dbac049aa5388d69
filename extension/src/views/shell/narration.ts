// The narration: where we are, what the current event is, in one sentence, and what comes next; above it the formula of the
// step, with the net's own blobs.

import { mathElement } from "../../formula/mathml";
import { stepFormula } from "../../formula/steps";
import { crumbs, currentEvent, lengthBy, narrationAt, visitedBy, type Stay } from "../../model/recording/cursor";
import { eachEvent, eventAt, linesById, numberOf } from "../../model/recording/lookup";
import { roundText } from "../../model/recording/values";
import type { EventKind, Trace, TraceEvent } from "../../model/schema";
import { button, code, element, iconButton, ICONS, marked, rewinding, svgElement, version, type Child } from "../elements/dom";
import { isSum, labelOf, LOOKS, mark } from "../elements/kinds";
import type { Navigation } from "../elements/navigation";
import { counted } from "../elements/numbers";

export function createCrumbs(trace: Trace, navigation: Navigation) {
  const way = element("ol", { class: "gv-way" });
  const previous = iconButton("Previous iteration", ICONS.before, navigation.previousIteration, { title: "The same place an iteration before ([)" });
  const next = iconButton("Next iteration", ICONS.behind, navigation.nextIteration, { title: "The same place an iteration on (])" });
  const bar = element("nav", { class: "gv-crumbs", "aria-label": "Nested nets that we are in", hidden: trace.subnets.length === 0 }, way);
  let shown = "";

  function show(position: number): void {
    const open = crumbs(trace, position);
    const key = open.map((crumb) => `${crumb.entered}`).join();
    if (key === shown && way.childElementCount > 0) return;
    shown = key;
    const loop = open.map(({ frame }) => frame !== null && trace.frames[frame]?.iteration !== null).lastIndexOf(true);
    const items = open.map((crumb, depth) => {
      const item = element("li", {}, button(() => navigation.go(crumb.entered + 1), { title: `Entered at event ${crumb.entered + 1}` }, label(trace, crumb)));
      if (depth === open.length - 1) item.firstElementChild?.setAttribute("aria-current", "location");
      if (depth === loop) item.append(element("span", { class: "gv-turns" }, previous, next));
      return item;
    });
    const root = button(() => open[0] && navigation.go(open[0].entered), { title: "The outermost net" }, trace.name || "net");
    if (open.length === 0) root.setAttribute("aria-current", "location");
    const focused = [previous, next].find((one) => one === document.activeElement);
    way.replaceChildren(element("li", {}, root), ...items);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  return { element: bar, show };
}

/** "While #2 · iteration 3 of 5", "If #1 · then_net"; "∂" before what runs a backward pass. */
function label(trace: Trace, { subnet, frame }: Stay): string {
  const run = frame === null ? undefined : trace.frames[frame];
  const owner = linesById(trace).get((run?.is_backward ? subnet.backward_owner : subnet.owner) ?? subnet.backward_owner ?? "");
  const who = `${owner?.role === "forward" ? "" : "∂"}${owner?.type ?? ""} #${(owner && numberOf(owner)) ?? ""}`;
  const round = roundText(trace, run);
  const what = subnet.argument === "net" ? subnet.name : subnet.argument;
  return `${who} · ${round || what}`;
}

/** Pixels of a line of text. */
const LINE = 20;
/** The window limits how many lines are shown at most, in the style sheet; the rest is scrolled to. */
const FEWEST_LINES = 2;
/** So many of the longest narrations are laid out to see how many lines they take. */
const CANDIDATES = 3;

export function createNarration(trace: Trace) {
  const kind = element("b", { class: "gv-kind" });
  const sentence = element("span", { class: "gv-sentence" });
  const outcome = element("span", { class: "gv-outcome" });
  const next = element("span", { class: "gv-next" });
  const spoken = element("div", { class: "gv-spoken", role: "group", "aria-label": "Narration", tabindex: 0, "aria-live": "polite" }, outcome, kind, sentence);
  const bar = element("div", { class: "gv-narration" }, spoken, next);

  // As high as the longest narration needs, so that it is whole, and that a step moves nothing.
  const longest = longestPlaces(trace);
  const resizes = new ResizeObserver(() => {
    if (spoken.clientWidth > 0) bar.style.setProperty("--gv-lines", String(linesFor(trace, longest, spoken)));
  });
  resizes.observe(spoken);
  const rewind = rewinding(spoken);
  // It rests at whole lines only.
  spoken.addEventListener("scrollend", () => (spoken.scrollTop = LINE * Math.round(spoken.scrollTop / LINE)));

  function show(position: number): void {
    rewind();
    outcome.replaceChildren();
    tell(trace, position, kind, sentence);
    const coming = eventAt(trace, position);
    next.replaceChildren(...(coming ? ["next: ", ...subject(trace, coming), " ", element("kbd", {}, "→")] : trace.upcoming !== null ? [element("b", { class: "gv-now" }, "now"), " runs next: ", trace.upcoming, " ", element("kbd", {}, "→")] : ["the end"]));
  }

  return {
    element: bar,
    show,
    /** Says what became of a run, until the next move. */
    say: (...children: Child[]) => outcome.replaceChildren(...children),
    dispose: () => resizes.disconnect(),
  };
}

function tell(trace: Trace, position: number, kind: HTMLElement, sentence: HTMLElement): void {
  const event = currentEvent(trace, position);
  if (event) called(kind, event.kind, labelOf(trace, event));
  else if (trace.obstacle) called(kind, "Failed", "Cannot run");
  else {
    kind.className = "gv-kind gv-tone-quiet";
    kind.replaceChildren("Start");
  }
  sentence.replaceChildren(...marked(narrationAt(trace, position) || `The net has ${counted(trace.forward.length, "operator")}.`));
}

/** Gives the word before a sentence the mark and the colour of a kind. */
function called(word: HTMLElement, kind: EventKind, label: string): void {
  word.className = `gv-kind gv-tone-${LOOKS[kind].tone}`;
  word.replaceChildren(svgElement("svg", { class: "gv-sign", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, mark(kind, 0, 0)), label);
}

/** The positions whose narrations have the most characters. */
function longestPlaces(trace: Trace): number[] {
  const lengthOf = lengthBy(trace.templates);
  const longest = [{ position: 0, length: trace.summary.length }];
  eachEvent(trace, (event, position) => {
    const length = labelOf(trace, event).length + lengthOf(event.narration);
    if (longest.length === CANDIDATES && length <= (longest[CANDIDATES - 1]?.length ?? 0)) return;
    longest.push({ position, length });
    longest.sort((a, b) => b.length - a.length).splice(CANDIDATES);
  });
  return longest.map(({ position }) => position);
}

/** The lines to show in a text of that width. */
function linesFor(trace: Trace, positions: readonly number[], { parentElement, clientWidth }: HTMLElement): number {
  const trials = positions.map((position) => {
    const [kind, sentence] = [element("b"), element("span")];
    tell(trace, position, kind, sentence);
    return element("div", { class: "gv-trial", "aria-hidden": "true" }, kind, sentence);
  });
  parentElement?.append(...trials);
  for (const trial of trials) trial.style.width = `${clientWidth}px`;
  const heights = trials.map((trial) => trial.clientHeight);
  for (const trial of trials) trial.remove();
  return Math.max(FEWEST_LINES, ...heights.map((height) => Math.ceil(height / LINE)));
}

/** "Visit Relu #1", "Run FCGradient": the event in two words. */
function subject(trace: Trace, event: TraceEvent): Child[] {
  const label = labelOf(trace, event);
  const blob = event.blobs[0];
  if (isSum(event) && blob !== undefined) return [`${label} `, ...version(blob)];
  const line = linesById(trace).get(event.lines.at(-1) ?? "");
  if (event.kind === "EnteredSubnet" || event.kind === "LeftSubnet") return [`${label} ${passage(trace, event)}`];
  if (event.kind === "GradWritten") return [`${label} `, code(String(event.detail["blob"] ?? ""))];
  if (event.phase === "run" && line) return [`${label} ${line.type}`];
  const forward = visitedBy(trace, event);
  if (forward) return [`${label} ${forward.type} #${event.forward}`];
  return blob !== undefined && event.kind !== "Completed" ? [`${label} `, ...version(blob)] : [label];
}

/** The nested net that an event enters or leaves. */
function passage(trace: Trace, event: TraceEvent): string {
  const name = String(event.detail["name"] ?? "");
  const round = event.kind === "EnteredSubnet" && event.frame !== null ? trace.frames[event.frame] : undefined;
  return event.detail["argument"] === "loop_net" && round ? roundText(trace, round).replace(/ of .*/, "") : name;
}

export function createFormula(trace: Trace) {
  const bar = element("div", { class: "gv-formula", role: "group", "aria-label": "Formula", "aria-live": "polite", tabindex: 0 });
  const rewind = rewinding(bar);
  let shown = "";
  return {
    element: bar,
    show(position: number) {
      rewind();
      const formula = stepFormula(trace, position);
      const key = JSON.stringify(formula);
      if (key === shown) return;
      shown = key;
      bar.replaceChildren(...(formula ? [mathElement(formula)] : []));
    },
  };
}
