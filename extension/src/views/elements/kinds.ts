// What each kind of event is called, and the mark it has in the timeline and before its sentence.

import type { EventKind, Trace, TraceEvent } from "../../model/schema";
import { svgElement } from "./dom";

interface Look {
  label: string;
  /** Colour: blue forward, orange backward, purple accumulation and deduplication, green right, red wrong, teal nested nets, grey the rest. */
  tone: "forward" | "backward" | "accumulation" | "right" | "wrong" | "nested" | "quiet";
  mark: "dot" | "small" | "square" | "triangle" | "diamond" | "bar" | "cross" | "enter" | "leave";
  /** Of several events under one pixel of the timeline, the highest weight is shown. */
  weight: number;
}

export const LOOKS: Record<EventKind, Look> = {
  Played: { label: "Play", tone: "forward", mark: "dot", weight: 3 },
  Seeded: { label: "Seed", tone: "right", mark: "square", weight: 6 },
  Visited: { label: "Visit", tone: "forward", mark: "small", weight: 1 },
  Skipped: { label: "Skip", tone: "quiet", mark: "small", weight: 2 },
  RuleApplied: { label: "Apply rule", tone: "backward", mark: "triangle", weight: 5 },
  InputChecked: { label: "Check input", tone: "quiet", mark: "small", weight: 0 },
  GeneratorAdded: { label: "Add gradient", tone: "quiet", mark: "small", weight: 0 },
  Accumulated: { label: "Σ Accumulate", tone: "accumulation", mark: "diamond", weight: 8 },
  GradWritten: { label: "Write .grad", tone: "right", mark: "square", weight: 6 },
  HookRan: { label: "Hook", tone: "backward", mark: "diamond", weight: 8 },
  ChangedByHand: { label: "By hand", tone: "accumulation", mark: "square", weight: 8 },
  Deduplicated: { label: "Deduplicate", tone: "accumulation", mark: "diamond", weight: 8 },
  EnteredSubnet: { label: "Enter", tone: "nested", mark: "enter", weight: 3 },
  LeftSubnet: { label: "Leave", tone: "nested", mark: "leave", weight: 2 },
  Ran: { label: "Run", tone: "right", mark: "bar", weight: 4 },
  Failed: { label: "Fail", tone: "wrong", mark: "cross", weight: 9 },
  Completed: { label: "Complete", tone: "right", mark: "square", weight: 7 },
};

/** Whether an event brings gradients together, or rows of one. */
export function isSum(event: TraceEvent | undefined): boolean {
  return event?.kind === "Accumulated" || event?.kind === "Deduplicated";
}

/** What an event is called: a pass that is whole is not complete where the program it is part of cannot be run. */
export function labelOf(trace: Trace, { kind }: TraceEvent): string {
  return kind === "Completed" && trace.obstacle ? "Generated, not run" : LOOKS[kind].label;
}

/** The marks as paths, from their middle. */
const SHAPES: Record<Look["mark"], string> = {
  dot: disc(4),
  small: disc(2.5),
  square: "m-4-4h8v8h-8z",
  triangle: "m0-4.5 5 9h-10z",
  diamond: "m0-6 6 6-6 6-6-6z",
  bar: "m-1.5-5h3v10h-3z",
  cross: "m-3-5 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3-3-3z",
  enter: "m-3.5-5 7 5-7 5z",
  leave: "m3.5-5-7 5 7 5z",
};

function disc(radius: number): string {
  const half = (width: number): string => `a${radius} ${radius} 0 0 0 ${width} 0`;
  return `m${-radius} 0${half(2 * radius)}${half(-2 * radius)}z`;
}

/** The mark of a kind, its shape and its colour, in a drawing. */
export function mark(kind: EventKind, x: number, y: number): SVGPathElement {
  const { tone, mark: shape } = LOOKS[kind];
  return svgElement("path", { class: `gv-mark gv-tone-${tone}`, d: `M${x.toFixed(1)} ${y}${SHAPES[shape]}` });
}
