// The narration: what the current event is, in one sentence, and what comes next.

import { currentEvent, nextEvent } from "../cursor";
import type { Trace, TraceEvent } from "../trace";
import { element, version, type Child } from "./dom";
import { isSum, look, mark } from "./kinds";
import { counted } from "./numbers";

export interface Narration {
  element: HTMLElement;
  show(position: number): void;
}

export function createNarration(trace: Trace): Narration {
  const kind = element("b", { class: "gv-kind" });
  const sentence = element("span", { class: "gv-sentence" });
  const next = element("span", { class: "gv-next" });
  const spoken = element("div", { class: "gv-spoken", "aria-live": "polite" }, kind, sentence);
  const bar = element("div", { class: "gv-narration", role: "group", "aria-label": "Narration", tabindex: 0 }, spoken, next);

  function show(position: number): void {
    const event = currentEvent(trace, position);
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

  return { element: bar, show };
}

/** Text between backticks becomes code. */
function marked(narration: string): Child[] {
  return narration.split("`").map((part, index) => (index % 2 === 0 ? part : element("code", {}, part)));
}

/** "Visit Relu #1", "Run FCGradient": the event in two words. */
function subject(trace: Trace, event: TraceEvent): Child[] {
  const { label } = look(event.kind);
  const blob = event.blobs[0];
  if (isSum(event) && blob !== undefined) return [`${label} `, ...version(blob)];
  const made = event.lines.map((id) => [...trace.forward, ...trace.backward].find((line) => line.id === id));
  const line = made[made.length - 1];
  if (event.phase === "run" && line) return [`${label} ${line.type}`];
  if (event.forward !== null) return [`${label} ${trace.forward[event.forward]?.type ?? ""} #${event.forward}`];
  return blob !== undefined && event.kind !== "Completed" ? [`${label} `, ...version(blob)] : [label];
}
