// The graph: the trace's drawing, laid out once. A step changes the classes of its nodes and edges; opening or closing
// a cluster folds the same drawing in another way.

import { currentEvent } from "../cursor";
import { allLines, type Trace } from "../trace";
import { element, icon } from "./dom";
import { createMarking, type Marking } from "./marking";
import type { Navigation } from "./navigation";
import { createOpening } from "./opening";
import { read, type Source } from "./svg";
import { clusterOf, dressToggles, type Toggles } from "./toggles";
import { createViewport, type Viewport } from "./viewport";

export interface GraphView {
  element: HTMLElement;
  /** `touched` holds the lines that can look different than before. */
  show(position: number, touched: Set<string>): void;
  select(line: string | null): void;
  fit(): void;
  dispose(): void;
}

export function createGraph(trace: Trace, navigation: Navigation): GraphView {
  const pane = element("div", { class: "gv-pane gv-graph", role: "region", "aria-label": "Graph" });
  if ("omitted" in trace.graph) return emptyGraph(pane, `The graph was not drawn: ${trace.graph.omitted}`);
  try {
    return drawnGraph(pane, trace, read(trace.graph.svg), navigation);
  } catch (error) {
    return emptyGraph(pane, error instanceof Error ? error.message : String(error));
  }
}

function emptyGraph(pane: HTMLElement, reason: string): GraphView {
  const rest = "The program beside it tells the same story.";
  pane.append(element("p", { class: "gv-empty" }, reason, element("br"), rest));
  const nothing = (): void => undefined;
  return { element: pane, show: nothing, select: nothing, fit: nothing, dispose: nothing };
}

interface Picture {
  svg: SVGSVGElement;
  marking: Marking;
  toggles: Toggles;
}

function drawnGraph(pane: HTMLElement, trace: Trace, source: Source, navigation: Navigation): GraphView {
  const clusters = clusterOf(trace, source.plan);
  const opening = createOpening(source.plan);
  const everything = allLines(trace).map((line) => line.id);
  let picture = draw();
  let shown = 0;
  let selected: string | null = null;
  const scroller = element("div", { class: "gv-window" }, picture.svg);
  const viewport = createViewport(scroller, picture.svg);
  pane.append(scroller, zoomButtons(viewport));

  function draw(): Picture {
    const drawing = source.draw(opening.open);
    const marking = createMarking(trace, drawing);
    const toggles = dressToggles(drawing, clusters, opening.open, toggle);
    const { svg } = drawing;
    svg.setAttribute("role", clusters.size > 0 ? "group" : "img");
    svg.setAttribute("aria-label", `Graph of ${marking.byElement.size} operators, forward and backward; the program lists the same`);
    svg.addEventListener("click", (event) => {
      const group = event.target instanceof Element ? event.target.closest("g.node") : null;
      navigation.select((group && marking.byElement.get(group)) ?? null);
    });
    return { svg, marking, toggles };
  }

  /** Draws what is open now. The nodes of the lines `still` stay where they are, as far as both pictures have them. */
  function redraw(still: string[]): Element[] {
    const before = picture;
    picture = draw();
    const line = still.find((id) => before.marking.node(id) && picture.marking.node(id));
    const [from, to] = [before, picture].map(({ marking }) => (line === undefined ? undefined : marking.node(line)));
    const marked = picture.marking.show(shown, everything);
    const focused = before.toggles.focused();
    viewport.replace(picture.svg, from ?? null, to ?? null);
    picture.toggles.focus(focused);
    outline();
    return marked;
  }

  function toggle(cluster: string, line: string): void {
    opening.toggle(cluster);
    redraw([line]);
  }

  function show(position: number, touched: Set<string>): void {
    const before = opening.open;
    const event = currentEvent(trace, position);
    shown = position;
    opening.enter(event?.subnet ?? null);
    const isSame = before.size === opening.open.size && [...before].every((cluster) => opening.open.has(cluster));
    viewport.follow(isSame ? picture.marking.show(position, touched) : redraw(event?.lines ?? []));
  }

  function outline(): SVGElement | undefined {
    const node = selected === null ? undefined : picture.marking.node(selected);
    node?.setAttribute("data-selected", "");
    return node;
  }

  function select(line: string | null): void {
    if (selected !== null) picture.marking.node(selected)?.removeAttribute("data-selected");
    selected = line;
    const node = outline();
    if (node) viewport.follow([node]);
  }

  return { element: pane, show, select, fit: viewport.fit, dispose: viewport.dispose };
}

function zoomButtons(viewport: Viewport): HTMLElement {
  const button = (label: string, path: string, act: () => void): HTMLElement => {
    const made = element("button", { type: "button", title: label, "aria-label": label }, icon(path));
    made.addEventListener("click", act);
    return made;
  };
  return element(
    "div",
    { class: "gv-zoom", role: "group", "aria-label": "Zoom" },
    button("Zoom in (Ctrl + wheel)", "M8 3v10M3 8h10", () => viewport.zoom(1.25)),
    button("Zoom out", "M3 8h10", () => viewport.zoom(0.8)),
    button("Fit the graph (Space)", "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3", viewport.fit),
  );
}
