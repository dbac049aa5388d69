// Where in the timeline the recording is inside nested nets: a band for each operator that runs some, with its iterations.

import { linesById } from "../../model/recording/lines";
import { placesOf } from "../../model/recording/places";
import type { Trace } from "../../model/schema";
import { element } from "../elements/dom";
import { counted } from "../elements/numbers";

/** Iterations nearer than this many pixels are not told apart. */
const SPACING = 4;

interface Span {
  from: number;
  to: number;
  title: string;
  /** The positions at which its iterations begin. */
  rounds: number[];
}

export function createSpans(trace: Trace): { element: HTMLElement; draw(width: number): void } {
  const box = element("div", { class: "gv-spans", "aria-hidden": "true" });
  const spans = findSpans(trace);
  const length = Math.max(1, trace.events.length);
  const percent = (positions: number): string => `${(100 * positions) / length}%`;

  function draw(width: number): void {
    box.replaceChildren(
      ...spans.map(({ from, to, title, rounds }) => {
        const band = element("span", { class: "gv-span", title });
        band.style.left = percent(from);
        band.style.width = percent(to - from);
        const isRoomy = rounds.length > 1 && ((to - from) * width) / length / rounds.length >= SPACING;
        for (const round of isRoomy ? rounds : []) {
          const tick = element("i");
          tick.style.left = `${(100 * (round - from)) / (to - from)}%`;
          band.append(tick);
        }
        return band;
      }),
    );
  }

  return { element: box, draw };
}

/** One for each operator of the outermost net, each time that it goes into nested nets. */
function findSpans(trace: Trace): Span[] {
  const { around, end } = placesOf(trace);
  const spans = new Map<number, Span>();
  trace.events.forEach((event, number) => {
    if (event.kind !== "EnteredSubnet" || around[number] !== -1) return;
    const span = spans.get(event.group) ?? { from: number, to: number, title: "", rounds: [] };
    spans.set(event.group, span);
    span.to = (end[number] ?? number) + 1;
    const frame = event.frame === null ? undefined : trace.frames[event.frame];
    if (event.detail["argument"] === "loop_net" && frame) span.rounds.push(number + 1);
    const type = linesById(trace).get(event.lines[0] ?? "")?.type ?? "nested net";
    span.title = span.rounds.length > 0 ? `${type}: ${counted(span.rounds.length, "iteration")}` : type;
  });
  return [...spans.values()];
}
