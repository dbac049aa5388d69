// The drawing in its window. A step changes the classes of its nodes and edges; opening, closing and focusing fold the
// same drawing in another way.

import { currentEvent, forwardLine } from "../../model/recording/cursor";
import { allLines, subnetOf } from "../../model/recording/lines";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { element } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { counted } from "../elements/numbers";
import { clustersFrom, clustersOf, createOpening, dressToggles, type Toggles } from "./clusters";
import type { Drawing, Source } from "./drawing/svg";
import { labelled, type Labels } from "./labels/labels";
import { createMarking, type Marking } from "./marking";
import { createViewport } from "./viewport";

interface Picture extends Pick<Drawing, "svg" | "parts"> {
  marking: Marking;
  toggles: Toggles;
  /** What the wires carry; null where nobody asked for it. */
  labels: Labels | null;
}

export type Canvas = ReturnType<typeof createCanvas>;

export function createCanvas(trace: Trace, source: Source, navigation: Navigation) {
  const clusters = clustersOf(trace, source);
  const opening = createOpening(clusters);
  const everything = allLines(trace).map((line) => line.id);
  let shown = 0;
  let selected: string | null = null;
  let breakpoints: readonly BreakpointEntry[] = [];
  let matches: readonly string[] = [];
  let kept: ReadonlySet<string> | null = null;
  let isTaught = false;
  let picture = draw();
  const scroller = element("div", { class: "gv-window" }, picture.svg);
  /** What is said of labels of wires that have no place. */
  const note = element("div", { class: "gv-placeless gv-note", hidden: true });
  const viewport = createViewport(scroller, picture);

  function draw(): Picture {
    const open = kept ? new Set([...opening.open, ...kept]) : opening.open;
    const drawing = source.draw(open, kept);
    const marking = createMarking(trace, drawing);
    const toggles = dressToggles(drawing, clusters.opened, open, toggle);
    const { svg, parts } = drawing;
    // Labels keep off all that is drawn.
    if (isTaught) for (const part of parts) part.fill();
    marking.mark(breakpoints);
    svg.setAttribute("role", toggles.count > 0 ? "group" : "img");
    svg.setAttribute("aria-label", `Graph of ${marking.byElement.size} operators, forward and backward; the program lists the same`);
    svg.addEventListener("click", (event) => {
      const group = event.target instanceof Element ? event.target.closest("g.node") : null;
      navigation.select((group && marking.byElement.get(group)) ?? null);
    });
    return { svg, parts, marking, toggles, labels: isTaught ? labelled(trace, drawing) : null };
  }

  /** Draws what is open now. The nodes of the lines `still` stay where they are, as far as both pictures have them. */
  function redraw(still: string[]): Element[] {
    const before = picture;
    picture = draw();
    const line = still.find((id) => before.marking.seen(id) && picture.marking.seen(id));
    const [from, to] = [before, picture].map(({ marking }) => (line === undefined ? undefined : marking.seen(line)));
    const marked = picture.marking.show(shown, everything);
    tell();
    const focused = before.toggles.focused();
    viewport.replace(picture, from ?? null, to ?? null);
    picture.toggles.focus(focused);
    outline();
    outlineMatches();
    return marked;
  }

  /** What the wires carry now; those without room of their own are told where the event is. */
  function tell(): void {
    const event = currentEvent(trace, shown);
    picture.labels?.show(shown, new Set([...(event?.lines ?? []), forwardLine(event) ?? "", selected ?? ""]));
    const placeless = picture.labels?.placeless ?? 0;
    const said = placeless === 0 ? "" : `${counted(placeless, "label")} without room: shown where the step is, or at what is selected`;
    // Its line is there for the whole lesson: a graph that grew with every label that finds room would jump.
    note.hidden = !picture.labels;
    note.textContent = said;
    note.title = said;
  }

  function toggle(cluster: string, node: string): void {
    opening.toggle(cluster);
    redraw([node]);
  }

  /** `touched` holds the lines that can look different than before. */
  function show(position: number, touched: Set<string>): void {
    const before = opening.open;
    const event = currentEvent(trace, position);
    shown = position;
    opening.enter(event?.subnet ?? null);
    const isSame = before.size === opening.open.size && [...before].every((cluster) => opening.open.has(cluster));
    const marked = isSame ? picture.marking.show(position, touched) : redraw(event?.lines ?? []);
    tell();
    viewport.follow(marked);
  }

  function outline(): SVGElement | undefined {
    const node = selected === null ? undefined : picture.marking.seen(selected);
    node?.setAttribute("data-selected", "");
    return node;
  }

  /** Outlines a line, or the closed group that it is in, and brings it into view; null outlines none. */
  function select(line: string | null): void {
    if (line === null && selected === null) return;
    if (selected !== null) picture.marking.seen(selected)?.removeAttribute("data-selected");
    selected = line;
    const node = outline();
    tell();
    if (node) viewport.follow([node]);
  }

  function outlineMatches(): void {
    for (const node of picture.svg.querySelectorAll("[data-match]")) node.removeAttribute("data-match");
    for (const line of matches) picture.marking.seen(line)?.setAttribute("data-match", "");
  }

  return {
    element: scroller,
    note,
    viewport,
    show,
    select,
    /** Marks the groups in which breakpoints stand. */
    mark(entries: readonly BreakpointEntry[]) {
      breakpoints = entries;
      picture.marking.mark(entries);
    },
    /** Opens what a line lies in. */
    reveal(line: string) {
      const cluster = clusters.holding(line);
      if (cluster === null || picture.marking.node(line)) return;
      opening.show(cluster);
      redraw([line]);
    },
    /** Outlines the lines that match a search, or the closed groups that hold some. */
    match(lines: readonly string[]) {
      matches = lines;
      outlineMatches();
    },
    /** Shows these lines alone, and `still` in sight; null shows all. */
    keep(lines: ReadonlySet<string> | null, still: string) {
      kept = lines && withAround(trace, lines, (line) => clustersFrom(clusters, clusters.holding(line)));
      redraw([still]);
      if (!source.isFixed) viewport.begin();
      const node = picture.marking.seen(still);
      if (node) viewport.follow([node]);
    },
    /** Shows what the wires carry, or takes it away. */
    teach(isOn: boolean) {
      if (isOn === isTaught) return;
      isTaught = isOn;
      const marked = redraw([]);
      viewport.begin();
      viewport.follow(marked);
    },
    /** Opens the group or nested net that stands for a line, or closes the one that the line is in. */
    toggle(line: string) {
      const closed = picture.marking.node(line) ? clusters.opened(line) : undefined;
      const cluster = closed ?? clustersFrom(clusters, clusters.holding(line)).reverse().find((one) => !opening.open.has(one)) ?? clusters.holding(line);
      if (cluster !== null) toggle(cluster, line);
    },
  };
}

/** Lines, and the nodes of all that they lie in. */
function withAround(trace: Trace, lines: ReadonlySet<string>, around: (line: string) => string[]): Set<string> {
  const found = new Set(lines);
  for (const line of lines) {
    for (const cluster of around(line)) found.add(cluster).add(`${cluster}.backward`);
    for (let inner: string | null = line; inner !== null; ) {
      const net = trace.subnets.find(({ id }) => id === subnetOf(inner ?? ""));
      for (const owner of [net?.owner, net?.backward_owner]) if (owner) found.add(owner);
      inner = net?.owner ?? net?.backward_owner ?? null;
    }
  }
  return found;
}
