// The narration: what the current event is, in one sentence, and what comes next.

import { currentEvent, forwardLine, nextEvent } from "../cursor";
import { linesById, type Trace, type TraceEvent } from "../trace";
import { roundText } from "../values";
import { code, element, version, type Child } from "./dom";
import { isSum, look, mark } from "./kinds";
import { marked } from "./marked";
import { counted } from "./numbers";

export interface Narration {
  element: HTMLElement;
  show(position: number): void;
  /** Says what became of a run, until the next move. */
  say(text: string): void;
  dispose(): void;
}

/** So many lines are shown of a narration, in a bar that is wider than so many pixels; the rest is scrolled to. */
const MOST_LINES: [width: number, lines: number][] = [[900, 3], [560, 4], [0, 6]];
const FEWEST_LINES = 2;
/** The width of a character, of all beside the sentence, and of the part that the next event can take. */
const TEXT = { character: 7, beside: 150, next: 0.34 };

export function createNarration(trace: Trace): Narration {
  const kind = element("b", { class: "gv-kind" });
  const sentence = element("span", { class: "gv-sentence" });
  const outcome = element("span", { class: "gv-outcome" });
  const next = element("span", { class: "gv-next" });
  const spoken = element("div", { class: "gv-spoken", "aria-live": "polite" }, outcome, kind, sentence);
  const bar = element("div", { class: "gv-narration", role: "group", "aria-label": "Narration", tabindex: 0 }, spoken, next);

  // As high as the longest narration needs, so that it is whole, and that a step moves nothing.
  const longest = trace.events.reduce((most, event) => Math.max(most, event.narration.length), trace.summary.length);
  const resizes = new ResizeObserver(() => bar.style.setProperty("--gv-lines", String(linesFor(longest, bar.clientWidth))));
  resizes.observe(bar);

  function show(position: number): void {
    const event = currentEvent(trace, position);
    outcome.replaceChildren();
    if (event) {
      const { label, tone } = look(event.kind);
      kind.className = `gv-kind gv-tone-${tone}`;
      kind.replaceChildren(mark(event.kind), label);
      sentence.replaceChildren(...marked(event.narration));
    } else {
      kind.className = "gv-kind gv-tone-quiet";
      kind.replaceChildren("Start");
      sentence.replaceChildren(...marked(trace.summary || `The net has ${counted(trace.forward.length, "operator")}.`));
    }
    const coming = nextEvent(trace, position);
    next.replaceChildren(...(coming ? ["next: ", ...subject(trace, coming), " ", element("kbd", {}, "→")] : ["the end"]));
  }

  return { element: bar, show, say: (text) => outcome.replaceChildren(text), dispose: () => resizes.disconnect() };
}

function linesFor(characters: number, width: number): number {
  const columns = Math.max(1, (width * (1 - TEXT.next) - TEXT.beside) / TEXT.character);
  const most = MOST_LINES.find(([least]) => width > least)?.[1] ?? FEWEST_LINES;
  return Math.max(FEWEST_LINES, Math.min(most, Math.ceil(characters / columns)));
}

/** "Visit Relu #1", "Run FCGradient": the event in two words. */
function subject(trace: Trace, event: TraceEvent): Child[] {
  const { label } = look(event.kind);
  const blob = event.blobs[0];
  if (isSum(event) && blob !== undefined) return [`${label} `, ...version(blob)];
  const lines = linesById(trace);
  const line = lines.get(event.lines[event.lines.length - 1] ?? "");
  if (event.kind === "EnteredSubnet" || event.kind === "LeftSubnet") return [`${label} ${passage(trace, event)}`];
  if (event.kind === "GradWritten") return [`${label} `, code(String(event.detail["blob"] ?? ""))];
  if (event.phase === "run" && line) return [`${label} ${line.type}`];
  const forward = lines.get(forwardLine(event) ?? "");
  if (forward) return [`${label} ${forward.type} #${event.forward}`];
  return blob !== undefined && event.kind !== "Completed" ? [`${label} `, ...version(blob)] : [label];
}

/** The nested net that an event enters or leaves. */
function passage(trace: Trace, event: TraceEvent): string {
  const name = String(event.detail["name"] ?? "");
  const round = event.kind === "EnteredSubnet" && event.frame !== null ? trace.frames[event.frame] : undefined;
  return event.detail["argument"] === "loop_net" && round ? roundText(trace, round).replace(/ of .*/, "") : name;
}
