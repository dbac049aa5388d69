// The graph: the trace's drawing, laid out once; a step only changes the classes of its nodes and edges.

import { currentEvent, hasRun, lineState } from "../cursor";
import type { Line, Trace } from "../trace";
import { element, icon } from "./dom";
import { isSum } from "./kinds";
import type { Navigation } from "./navigation";
import { rebuild, type Drawing } from "./svg";
import { createViewport, type Viewport } from "./viewport";

export interface GraphView {
  element: HTMLElement;
  /** `touched` holds the lines that can look different than before. */
  show(position: number, touched: Set<string>): void;
  select(line: string | null): void;
  fit(): void;
  dispose(): void;
}

interface DrawnNode {
  line: Line;
  element: SVGElement;
  classes: string;
}

interface DrawnEdge {
  element: SVGElement;
  made: number;
  /** The line whose node the edge ends in. */
  end: string;
  /** The classes it was drawn with. */
  drawn: string;
  classes: string;
}

export function createGraph(trace: Trace, navigation: Navigation): GraphView {
  const pane = element("div", { class: "gv-pane gv-graph", role: "region", "aria-label": "Graph" });
  if ("omitted" in trace.graph) return emptyGraph(pane, `The graph was not drawn: ${trace.graph.omitted}`);
  try {
    return drawnGraph(pane, trace, rebuild(trace.graph.svg), navigation);
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

function drawnGraph(pane: HTMLElement, trace: Trace, drawing: Drawing, navigation: Navigation): GraphView {
  const { svg } = drawing;
  const nodes = findNodes(trace, drawing);
  const edges = findEdges(drawing);
  const byElement = new Map<Element, DrawnNode>([...nodes.values()].map((node) => [node.element, node]));
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Graph of ${nodes.size} operators, forward and backward; the program lists the same`);
  const scroller = element("div", { class: "gv-window" }, svg);
  const viewport = createViewport(scroller, svg);
  pane.append(scroller, zoomButtons(viewport));

  svg.addEventListener("click", (event) => {
    const group = event.target instanceof Element ? event.target.closest("g.node") : null;
    navigation.select((group && byElement.get(group)?.line.id) ?? null);
  });

  function show(position: number, touched: Set<string>): void {
    const isAccumulation = isSum(currentEvent(trace, position));
    const marked: Element[] = [];
    const fresh = new Set<string>();
    for (const id of touched) {
      const node = nodes.get(id);
      if (!node) continue;
      const state = lineState(trace, node.line, position);
      if (state === "new") fresh.add(id);
      if (state === "new" || state === "current") marked.push(node.element);
      const run = hasRun(node.line, position) ? " ran" : "";
      const accumulating = state === "new" && isAccumulation ? " accumulating" : "";
      setClasses(node, `node ${node.line.role}${state === "past" ? "" : ` ${state}`}${accumulating}${run}`);
    }
    for (const edge of new Set([...touched].flatMap((id) => edges.get(id) ?? []))) {
      const state = edge.made > position ? " future" : fresh.has(edge.end) ? " hot" : "";
      setClasses(edge, edge.drawn + state);
    }
    viewport.follow(marked);
  }

  let selected: DrawnNode | undefined;
  function select(line: string | null): void {
    selected?.element.removeAttribute("data-selected");
    selected = line === null ? undefined : nodes.get(line);
    selected?.element.setAttribute("data-selected", "");
    if (selected) viewport.follow([selected.element]);
  }

  return { element: pane, show, select, fit: viewport.fit, dispose: viewport.dispose };
}

function setClasses(drawn: DrawnNode | DrawnEdge, classes: string): void {
  if (classes === drawn.classes) return;
  drawn.classes = classes;
  drawn.element.setAttribute("class", classes);
}

function findNodes(trace: Trace, drawing: Drawing): Map<string, DrawnNode> {
  const nodes = new Map<string, DrawnNode>();
  for (const line of [...trace.forward, ...trace.backward]) {
    const group = drawing.byId.get(`node-${line.id}`);
    if (!group) continue;
    nodes.set(line.id, { line, element: group, classes: "" });
  }
  return nodes;
}

/** The edges by the lines that they touch; their classes say since when each exists and from where to where it goes. */
function findEdges(drawing: Drawing): Map<string, DrawnEdge[]> {
  const edges = new Map<string, DrawnEdge[]>();
  for (const [id, group] of drawing.byId) {
    if (!id.startsWith("edge-")) continue;
    const drawn = group.getAttribute("class") ?? "edge";
    const told = (what: string): string => new RegExp(`(?:^|\\s)${what}-(\\S+)`).exec(drawn)?.[1] ?? "";
    // The net is there from the beginning, and so are its edges.
    const made = group.classList.contains("forward") ? 0 : Number(told("made"));
    const edge = { element: group, made, end: told("to"), drawn, classes: drawn };
    for (const line of [told("from"), edge.end]) edges.set(line, [...(edges.get(line) ?? []), edge]);
  }
  return edges;
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
