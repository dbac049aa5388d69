// The classes of a drawing's nodes and edges: what they are at a position. The node of a group says whether we are in it, how
// much of it exists, and whether breakpoints stand in it.

import { breakpointsAt } from "../../model/filters/marks";
import { currentEvent, faultAt, hasRun, isStale, linesAbout, lineState, type LineState } from "../../model/recording/cursor";
import { addTo, allLines, type Group, groupOfNode, groupsAround, groupsOf, linesNamed, numberIn } from "../../model/recording/lookup";
import type { BreakpointEntry, Line, Trace } from "../../model/schema";
import { svgElement } from "../elements/dom";
import { isSum } from "../elements/kinds";
import { classValue, outlineOf } from "./drawing/levels";
import type { Drawing } from "./drawing/svg";
import { createNorms } from "./norms";
import { firstOdd, oddAt, oddMark, type Odd } from "./odd";

/** Its own line, and those that are folded in it. */
interface DrawnNode {
  element: SVGElement;
  lines: [Line, ...Line[]];
  odd?: Odd | null;
}

interface DrawnEdge {
  element: SVGElement;
  existsFrom: number;
  /** The line whose node the edge ends in; "" for a port. */
  end: string;
}

/** `drawnAs` gives what the drawing shows for a line or a net that is folded in it. */
export function createMarking(trace: Trace, drawing: Drawing, drawnAs: (id: string) => string) {
  const nodes = findNodes(trace, drawing, drawnAs);
  const norms = createNorms(trace, drawing);
  const edges = findEdges(trace, drawing, (edge) => norms.makers(edge).map(drawnAs));
  const groups = createGroupMarking(trace, drawing);
  let here: Element | undefined;

  /** Gives the lines the looks that they have at a position; returns what to look at: what is current or new, with what leads to the new, else where we are. */
  function show(position: number, touched: Iterable<string>): Element[] {
    const event = currentEvent(trace, position);
    const marked: Element[] = [];
    const fresh = new Set<string>();
    const reached = new Set<DrawnEdge>();
    for (const id of new Set([...touched].map(drawnAs))) {
      for (const edge of edges.get(id) ?? []) reached.add(edge);
      const node = nodes.get(id);
      if (!node) continue;
      const state = nodeState(trace, node, position);
      if (state === "new") fresh.add(id);
      if (state === "new" || state === "current") marked.push(node.element);
      dress(node.element, state, {
        accumulating: state === "new" && isSum(event),
        ran: hasRun(node.lines[0], position),
        obstacle: node.lines.some((line) => faultAt(trace, line.id, position) !== ""),
        stale: node.lines.some((line) => isStale(line, position)),
      });
      markOdd(drawing, node, oddAt(trace, node.lines, position));
    }
    marked.push(...groups.show(position, touched, nodes));
    for (const edge of reached) {
      const isFuture = edge.existsFrom > position;
      const isHot = !isFuture && fresh.has(edge.end);
      if (isHot) marked.push(edge.element);
      dress(edge.element, isFuture ? "future" : "past", { hot: isHot });
      norms.show(edge.element, position);
    }
    here?.classList.remove("here");
    here = event?.subnet ? drawing.named.net.get(drawnAs(event.subnet)) : undefined;
    here?.classList.add("here");
    const title = here?.querySelector(":scope > .strip");
    return marked.length > 0 || !title ? marked : [title];
  }

  return {
    /** The lines that the drawing shows, by the elements of their nodes. */
    byElement: new Map<Element, string>([...nodes.values()].map((node) => [node.element, node.lines[0].id])),
    show,
    node: (line: string) => nodes.get(drawnAs(line))?.element ?? groups.node(line),
    /** The node of a line or a group or, where that is in closed groups, of the innermost group that is drawn. */
    seen: (line: string) => nodes.get(drawnAs(line))?.element ?? groups.node(line) ?? groupsAround(trace, line).map(({ id }) => groups.node(id)).find(Boolean),
    mark: groups.mark,
  };
}

/** Gives an element the looks of a state, and others that it has or has not. */
function dress(element: Element, state: LineState, looks: Record<string, boolean>): void {
  for (const one of ["future", "current", "new"]) element.classList.toggle(one, one === state);
  for (const [look, isOn] of Object.entries(looks)) element.classList.toggle(look, isOn);
}

function markOdd({ whenFilled }: Drawing, node: Pick<DrawnNode, "element" | "odd">, odd: Odd | null): void {
  if (node.odd?.words === odd?.words) return;
  node.odd = odd;
  whenFilled(node.element, () => {
    node.element.querySelector(":scope > .gv-odd")?.remove();
    if (odd) node.element.append(oddMark(node.element, odd));
  });
}

function findNodes(trace: Trace, drawing: Drawing, drawnAs: (id: string) => string): Map<string, DrawnNode> {
  const nodes = new Map<string, DrawnNode>();
  const folded: Line[] = [];
  for (const line of allLines(trace)) {
    const element = drawing.named.node.get(line.id);
    if (element) nodes.set(line.id, { lines: [line], element });
    else if (drawnAs(line.id) !== line.id) folded.push(line);
  }
  for (const line of folded) nodes.get(drawnAs(line.id))?.lines.push(line);
  return nodes;
}

/** That of its own line or, once this is there, of what is folded in it and new or current. */
function nodeState(trace: Trace, { lines }: DrawnNode, position: number): LineState {
  const own = lineState(trace, lines[0], position);
  if (lines.length === 1 || own === "future") return own;
  const states = lines.map((line) => lineState(trace, line, position));
  return (["new", "current"] as const).find((state) => states.includes(state)) ?? own;
}

/**
 * Edges and ports by the lines that change their looks: those at their ends or, at groups, the one that makes an edge exist;
 * and the makers of what flows along an edge, which stand elsewhere where an operator passes it on.
 */
function findEdges(trace: Trace, drawing: Drawing, makers: (edge: SVGElement) => string[]): Map<string, DrawnEdge[]> {
  const edges = new Map<string, DrawnEdge[]>();
  const ports = [...drawing.named.node.values()].filter((node) => node.classList.contains("port"));
  for (const element of [...drawing.named.edge.values(), ...ports]) {
    const [by, from, to] = ["by", "from", "to"].map((word) => classValue(element, word)) as [string, string, string];
    const ends = by ? [by] : [served(drawing, from), served(drawing, to)];
    // The net is there from the beginning, and so are its edges.
    const existsFrom = element.classList.contains("forward") ? 0 : Math.max(0, ...linesNamed(trace, ends).map((line) => line.made));
    const edge = { element, existsFrom, end: to };
    for (const line of new Set([...ends, ...makers(element)])) addTo(edges, line, edge);
  }
  return edges;
}

/** The line at an end of an edge; for a port, the one that makes it exist. */
function served(drawing: Drawing, end: string): string {
  const node = drawing.named.node.get(end);
  return node?.classList.contains("port") ? classValue(node, "to") || end : end;
}

function createGroupMarking(trace: Trace, drawing: Drawing) {
  const nodes = new Map<string, GroupNode[]>();
  for (const id of groupsOf(trace).byId.keys()) {
    const both = [id, `${id}.backward`].map((name) => drawing.named.node.get(name));
    const groupNodes = both.flatMap((element, lane) => (element ? [groupNode(element, lane === 0)] : []));
    if (groupNodes.length > 0) nodes.set(id, groupNodes);
  }
  const around = (lines: Iterable<string>): Set<Group> => new Set([...lines].flatMap((line) => groupsAround(trace, line)));

  /** Gives the groups around the lines `touched` their looks; returns those in which we are, where the line itself is not among `drawn`. */
  function show(position: number, touched: Iterable<string>, drawn: ReadonlyMap<string, unknown>): Element[] {
    if (nodes.size === 0) return [];
    const event = currentEvent(trace, position);
    const here = [...new Set(linesAbout(event))];
    const faulty = around([...(trace.obstacle?.lines ?? []), ...here].filter((line) => faultAt(trace, line, position)));
    for (const group of around(touched)) {
      const own = here.filter((line) => groupsAround(trace, line).includes(group));
      for (const node of nodes.get(group.id) ?? []) update(node, group, position, own.filter((line) => isForwardLine(line) === node.isForward), faulty.has(group));
    }
    const seen = here.filter((line) => !drawn.has(line)).map((line) => groupsAround(trace, line).find(({ id }) => nodes.has(id)));
    return seen.flatMap((group) => (group ? (nodes.get(group.id) ?? []).map(({ element }) => element) : []));
  }

  /** `own` are its lines that the event is about. */
  function update(node: GroupNode, group: Group, position: number, own: string[], isFaulty: boolean): void {
    const isNew = own.some((line) => currentEvent(trace, position)?.lines.includes(line));
    const all = group.backward.length;
    const count = node.isForward ? all : group.backward.filter(({ made }) => made <= position).length;
    const state = isNew ? "new" : own.length > 0 ? "current" : !node.isForward && count === 0 ? "future" : "past";
    const progress = count === all ? node.says : `${count} of ${all} made`;
    const text = own[0] === undefined ? progress : node.isForward ? `here: #${numberIn(own[0])}` : `here · ${progress}`;
    dress(node.element, state, { obstacle: node.isForward && isFaulty });
    if (node.detail && node.detail.textContent !== text) node.detail.textContent = text;
    const odd = firstOdd(trace).get(node.isForward ? group.id : `${group.id}.backward`);
    markOdd(drawing, node, odd ? oddAt(trace, [odd], position) : null);
  }

  function mark(breakpoints: readonly BreakpointEntry[]): void {
    for (const { element } of [...nodes.values()].flat()) element.querySelector("circle.stop")?.remove();
    if (breakpoints.length === 0 || nodes.size === 0) return;
    for (const line of allLines(trace)) {
      if (breakpointsAt(line, breakpoints).length === 0) continue;
      for (const { id } of groupsAround(trace, line.id)) {
        const node = (nodes.get(id) ?? []).find(({ isForward }) => isForward === (line.role === "forward"));
        if (node && !node.element.querySelector("circle.stop")) node.element.append(stop(node.element));
      }
    }
  }

  /** The forward node of a group, by the name of either of its nodes. */
  const node = (name: string): SVGElement | undefined => (nodes.get(groupOfNode(trace, name)?.id ?? "") ?? [])[0]?.element;
  return { show, node, mark };
}

type GroupNode = ReturnType<typeof groupNode>;

function groupNode(element: SVGElement, isForward: boolean) {
  const detail = element.querySelector("text.detail");
  const odd: Odd | null = null;
  return { element, isForward, detail, says: detail?.textContent ?? "", odd };
}

function isForwardLine(line: string): boolean {
  return /(?:^|\.)f\d+$/.test(line);
}

/** The mark of a breakpoint inside, at the right upper corner of a node. */
function stop(node: Element): SVGElement {
  const { x, y, width } = outlineOf(node) ?? { x: 0, y: 0, width: 0 };
  return svgElement("circle", { class: "stop", cx: x + width - 10, cy: y + 10, r: 4 }, svgElement("title", {}, "A breakpoint stands in it"));
}
