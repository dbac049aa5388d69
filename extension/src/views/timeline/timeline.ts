// The timeline: every event as a mark, a band wherever the recording is inside nested nets, a playhead, and a slider that
// moves it.

import { currentEvent, placesOf } from "../../model/recording/cursor";
import { beginOf, endOf, lengthOf, linesById } from "../../model/recording/lookup";
import type { Trace } from "../../model/schema";
import { element, svgElement } from "../elements/dom";
import { labelOf, LOOKS, mark } from "../elements/kinds";
import type { Navigation } from "../elements/navigation";
import { counted } from "../elements/numbers";

/** Marks nearer than this many pixels would touch: then one mark stands for several events. */
const SPACING = 9;

/** The middle of the marks, in pixels from the upper edge. */
const MIDDLE = 15;

export function createTimeline(trace: Trace, navigation: Navigation) {
  const [begin, count, length] = [beginOf(trace), trace.events.length, lengthOf(trace)];
  const weights = Uint8Array.from(trace.events, ({ kind }) => LOOKS[kind].weight);
  const marks = svgElement("svg", { class: "gv-marks", "aria-hidden": "true" });
  const playhead = element("b", { class: "gv-playhead" });
  const veil = element("div", { class: "gv-veil" });
  const spans = createSpans(trace);
  const now = trace.upcoming === null ? [] : [element("b", { class: "gv-now", title: `Now: ${trace.upcoming} is next` })];
  const track = element("div", { class: "gv-track" }, spans.element, veil, marks, playhead, ...now);
  const whole = trace.part ? createWhole(trace, navigation) : [];
  const slider = element(
    "div",
    { class: "gv-timeline", role: "slider", tabindex: 0, "aria-label": "Position", "aria-valuemin": 0, "aria-valuemax": length },
    ...whole,
    track,
  );
  let buckets: ReturnType<typeof thin> = [];
  let shown = 0;

  const share = (position: number): number => (count === 0 ? 0 : (position - begin) / count);

  function draw(width: number): void {
    buckets = thin(trace, weights, Math.max(1, Math.floor(width / SPACING)), (position) => width * share(position));
    marks.replaceChildren(...buckets.map((bucket) => bucket.mark));
    spans.draw(width);
    markPast();
  }

  function markPast(): void {
    for (const bucket of buckets) bucket.mark.classList.toggle("gv-past", bucket.from <= shown);
  }

  function show(position: number): void {
    shown = position;
    for (const one of [playhead, veil]) one.style.left = `${100 * share(position)}%`;
    const event = currentEvent(trace, position);
    slider.setAttribute("aria-valuenow", String(position));
    slider.setAttribute("aria-valuetext", `event ${position} of ${length}${event ? `: ${labelOf(trace, event)}` : ""}`);
    markPast();
  }

  const resizes = new ResizeObserver(([entry]) => entry && draw(entry.contentRect.width));
  resizes.observe(track);
  draw(track.clientWidth || 900);
  followPointer(slider, track, (fraction) => navigation.go(begin + Math.round(fraction * count)));
  slider.addEventListener("keydown", (event) => {
    if (event.key !== "PageDown" && event.key !== "PageUp") return;
    event.preventDefault();
    if (event.key === "PageDown") navigation.over();
    else navigation.backOver();
  });
  return { element: slider, show, dispose: () => resizes.disconnect() };
}

/** At most `room` marks, each at the pixel `place`; where events share one, it is the weightiest event's, at the place of its own. */
function thin(trace: Trace, weights: Uint8Array, room: number, place: (position: number) => number) {
  const { length } = weights;
  const size = Math.max(1, Math.ceil(length / room));
  const buckets: { mark: SVGElement; from: number }[] = [];
  for (let start = 0; start < length; start += size) {
    let best = start;
    const end = Math.min(start + size, length);
    for (let index = start; index < end; index++) if ((weights[index] ?? 0) > (weights[best] ?? 0)) best = index;
    const event = trace.events[best];
    if (!event) continue;
    const position = beginOf(trace) + best + 1;
    const tick = mark(event.kind, place(position), MIDDLE);
    tick.append(svgElement("title", {}, `${position}: ${labelOf(trace, event)}`));
    buckets.push({ mark: tick, from: position });
  }
  return buckets;
}

/** The whole recording, with the part of it that is shown; it leads to any other. */
function createWhole(trace: Trace, navigation: Navigation): HTMLElement[] {
  const length = Math.max(1, lengthOf(trace));
  const here = element("b");
  here.style.left = `${(100 * beginOf(trace)) / length}%`;
  here.style.width = `${(100 * trace.events.length) / length}%`;
  const strip = element("div", { class: "gv-whole", "aria-hidden": "true", title: `The whole recording of ${length} events; shown are ${beginOf(trace) + 1} to ${endOf(trace)}` }, here);
  strip.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    const { left, width } = strip.getBoundingClientRect();
    if (event.button === 0 && width > 0) navigation.go(Math.round((length * (event.clientX - left)) / width));
  });
  return [strip];
}

/** Calls `moved` with the fraction of the track's width under the pointer, while it is down. */
function followPointer(target: HTMLElement, track: HTMLElement, moved: (fraction: number) => void): void {
  const report = (event: PointerEvent): void => {
    const { left, width } = track.getBoundingClientRect();
    if (width > 0) moved(Math.min(1, Math.max(0, (event.clientX - left) / width)));
  };
  target.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    target.setPointerCapture(event.pointerId);
    report(event);
  });
  target.addEventListener("pointermove", (event) => {
    if (target.hasPointerCapture(event.pointerId)) report(event);
  });
}

/** Iterations nearer than this many pixels are not told apart. */
const ROUND_SPACING = 4;

interface Span {
  from: number;
  to: number;
  title: string;
  /** The positions at which its iterations begin. */
  rounds: number[];
}

function createSpans(trace: Trace): { element: HTMLElement; draw(width: number): void } {
  const box = element("div", { class: "gv-spans", "aria-hidden": "true" });
  const spans = findSpans(trace);
  const length = Math.max(1, trace.events.length);
  const percent = (positions: number): string => `${(100 * positions) / length}%`;

  function draw(width: number): void {
    box.replaceChildren(
      ...spans.map(({ from, to, title, rounds }) => {
        const band = element("span", { class: "gv-span", title });
        band.style.left = percent(from - beginOf(trace));
        band.style.width = percent(to - from);
        const isRoomy = rounds.length > 1 && ((to - from) * width) / length / rounds.length >= ROUND_SPACING;
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
  const places = placesOf(trace);
  const spans = new Map<number, Span>();
  trace.events.forEach((event, index) => {
    const number = beginOf(trace) + index;
    if (event.kind !== "EnteredSubnet" || places.at(number)) return;
    const span = spans.get(event.group) ?? { from: number, to: number, title: "", rounds: [] };
    spans.set(event.group, span);
    span.to = (places.at(number + 1)?.end ?? number) + 1;
    const frame = event.frame === null ? undefined : trace.frames[event.frame];
    const type = linesById(trace).get(event.lines[0] ?? "")?.type ?? "nested net";
    if (event.detail["argument"] === "loop_net" && frame) {
      span.rounds.push(number + 1);
      span.title = `${type}: ${counted(frame.iterations ?? span.rounds.length, "iteration")}`;
    } else span.title ||= type;
  });
  return [...spans.values()];
}
