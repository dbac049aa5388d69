// The classes of a drawing's nodes and edges: what they are at a position.

import { currentEvent, hasRun, lineState } from "../../model/recording/cursor";
import { groupsAround, groupsOf } from "../../model/recording/groups";
import { allLines, linesById } from "../../model/recording/lines";
import { addTo } from "../../model/recording/lists";
import { isObstacle } from "../../model/recording/obstacle";
import type { BreakpointEntry, Line, Trace } from "../../model/schema";
import { isSum } from "../elements/kinds";
import type { Drawing } from "./drawing/svg";
import { createGroupMarking } from "./groupmarks";

export interface Marking {
  /** The lines that the drawing shows, by the elements of their nodes. */
  byElement: Map<Element, string>;
  /** Gives the lines the looks that they have at a position; returns what to look at: what is current or new, else where we are. */
  show(position: number, touched: Iterable<string>): Element[];
  node(line: string): SVGElement | undefined;
  /** The node of a line or a group or, where that is in closed groups, of the innermost group that is drawn. */
  seen(line: string): SVGElement | undefined;
  /** Marks the groups in which lines have breakpoints. */
  mark(breakpoints: readonly BreakpointEntry[]): void;
}

interface Drawn {
  element: SVGElement;
  classes: string;
}

interface DrawnNode extends Drawn {
  line: Line;
}

interface DrawnEdge extends Drawn {
  made: number;
  /** The line whose node the edge ends in; "" for a port. */
  end: string;
  /** The classes it was drawn with. */
  drawn: string;
}

export function createMarking(trace: Trace, drawing: Drawing): Marking {
  const nodes = findNodes(trace, drawing);
  const edges = findEdges(trace, drawing);
  const groups = createGroupMarking(trace, drawing);
  let here: Element | undefined;

  function show(position: number, touched: Iterable<string>): Element[] {
    const event = currentEvent(trace, position);
    const marked: Element[] = [];
    const fresh = new Set<string>();
    const reached = new Set<DrawnEdge>();
    for (const id of touched) {
      for (const edge of edges.get(id) ?? []) reached.add(edge);
      const node = nodes.get(id);
      if (!node) continue;
      const state = lineState(trace, node.line, position);
      if (state === "new") fresh.add(id);
      if (state === "new" || state === "current") marked.push(node.element);
      const run = hasRun(node.line, position) ? " ran" : "";
      const accumulating = state === "new" && isSum(event) ? " accumulating" : "";
      const obstacle = isObstacle(trace, id) ? " obstacle" : "";
      setClasses(node, `node ${node.line.role}${state === "past" ? "" : ` ${state}`}${accumulating}${run}${obstacle}`);
    }
    marked.push(...groups.show(position, touched, nodes));
    for (const edge of reached) {
      const state = edge.made > position ? " future" : fresh.has(edge.end) ? " hot" : "";
      setClasses(edge, edge.drawn + state);
    }
    here?.classList.remove("here");
    here = event?.subnet ? drawing.byId.get(`net-${event.subnet}`) : undefined;
    here?.classList.add("here");
    const title = here?.querySelector(":scope > .strip");
    return marked.length > 0 || !title ? marked : [title];
  }

  return {
    byElement: new Map([...nodes.values()].map((node) => [node.element, node.line.id])),
    show,
    node: (line) => nodes.get(line)?.element ?? groups.node(line),
    seen: (line) => nodes.get(line)?.element ?? groups.node(line) ?? groupsAround(groupsOf(trace), line).map(({ id }) => groups.node(id)).find(Boolean),
    mark: groups.mark,
  };
}

function setClasses(drawn: Drawn, classes: string): void {
  if (classes === drawn.classes) return;
  drawn.classes = classes;
  drawn.element.setAttribute("class", classes);
}

function findNodes(trace: Trace, drawing: Drawing): Map<string, DrawnNode> {
  const nodes = new Map<string, DrawnNode>();
  for (const line of allLines(trace)) {
    const element = drawing.byId.get(`node-${line.id}`);
    if (element) nodes.set(line.id, { line, element, classes: "" });
  }
  return nodes;
}

/** Edges and ports by the lines that they touch: those at their ends or, at groups, the one that makes an edge exist. */
function findEdges(trace: Trace, drawing: Drawing): Map<string, DrawnEdge[]> {
  const lines = linesById(trace);
  const edges = new Map<string, DrawnEdge[]>();
  for (const [id, element] of drawing.byId) {
    if (!id.startsWith("edge-") && !element.classList.contains("port")) continue;
    const drawn = element.getAttribute("class") ?? "";
    const told = (what: string): string => new RegExp(`(?:^|\\s)${what}-(\\S+)`).exec(drawn)?.[1] ?? "";
    const ends = told("by") ? [told("by")] : [told("from"), told("to")].map((end) => served(drawing, end));
    // The net is there from the beginning, and so are its edges.
    const made = element.classList.contains("forward") ? 0 : Math.max(0, ...ends.map((end) => lines.get(end)?.made ?? 0));
    const edge = { element, made, end: told("to"), drawn, classes: drawn };
    for (const line of new Set(ends)) addTo(edges, line, edge);
  }
  return edges;
}

/** The line at an end of an edge; for a port, the one that makes it exist. */
function served(drawing: Drawing, end: string): string {
  const node = drawing.byId.get(`node-${end}`);
  if (!node?.classList.contains("port")) return end;
  return [...node.classList].find((word) => word.startsWith("to-"))?.slice("to-".length) ?? end;
}
