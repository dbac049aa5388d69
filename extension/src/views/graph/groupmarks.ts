// How the nodes of groups look at a position: whether we are in them, how much of them is made, whether breakpoints stand in them.

import { breakpointsAt } from "../../model/filters/marks";
import { currentEvent, forwardLine } from "../../model/recording/cursor";
import { groupOfNode, groupsAround, groupsOf, type Group } from "../../model/recording/groups";
import { allLines } from "../../model/recording/lines";
import { behind } from "../../model/recording/lists";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { svgElement } from "../elements/dom";
import type { Drawing } from "./drawing/svg";

export interface GroupMarking {
  /** Gives the groups around the lines `touched` their looks; returns those in which we are, where the line itself is not among `drawn`. */
  show(position: number, touched: Iterable<string>, drawn: ReadonlyMap<string, unknown>): Element[];
  /** The forward node of a group, by the name of either of its nodes. */
  node(node: string): SVGElement | undefined;
  mark(breakpoints: readonly BreakpointEntry[]): void;
}

interface GroupNode {
  element: SVGElement;
  isForward: boolean;
  detail: Element | null;
  /** The second line as it is drawn. */
  says: string;
  classes: string;
}

export function createGroupMarking(trace: Trace, drawing: Drawing): GroupMarking {
  const groups = groupsOf(trace);
  const nodes = new Map<string, GroupNode[]>();
  for (const id of groups.byId.keys()) {
    const both = [`node-${id}`, `node-${id}.backward`].map((name) => drawing.byId.get(name));
    const found = both.flatMap((element, lane) => (element ? [groupNode(element, lane === 0)] : []));
    if (found.length > 0) nodes.set(id, found);
  }
  const obstacles = new Set((trace.obstacle?.lines ?? []).flatMap((line) => groupsAround(groups, line)));

  function show(position: number, touched: Iterable<string>, drawn: ReadonlyMap<string, unknown>): Element[] {
    if (nodes.size === 0) return [];
    const event = currentEvent(trace, position);
    const visited = forwardLine(event);
    const here = new Set([...(event?.lines ?? []), ...(visited === undefined ? [] : [visited])]);
    const inside = new Map<Group, string>();
    for (const line of here) for (const group of groupsAround(groups, line)) inside.set(group, line);
    const changed = new Set<Group>();
    for (const line of touched) for (const group of groupsAround(groups, line)) changed.add(group);
    for (const group of changed) {
      for (const node of nodes.get(group.id) ?? []) dress(node, group, position, event?.lines ?? [], visited, inside.has(group));
    }
    const seen = [...here].filter((line) => !drawn.has(line)).map((line) => groupsAround(groups, line).find(({ id }) => nodes.has(id)));
    return seen.flatMap((group) => (group ? (nodes.get(group.id) ?? []).map(({ element }) => element) : []));
  }

  function dress(node: GroupNode, group: Group, position: number, lines: string[], visited: string | undefined, isInside: boolean): void {
    const own = (line: string): boolean => isInside && isForwardLine(line) === node.isForward && groupsAround(groups, line).includes(group);
    const isNew = lines.some(own);
    const isCurrent = visited !== undefined && own(visited);
    const made = behind(group.mades, position);
    const state = isNew ? " new" : isCurrent ? " current" : !node.isForward && made === 0 ? " future" : "";
    const obstacle = node.isForward && obstacles.has(group) ? " obstacle" : "";
    const classes = `node group ${node.isForward ? "forward" : "gradient"}${state}${obstacle}`;
    const all = group.mades.length;
    const progress = node.isForward || made === all ? node.says : `${made} of ${all} made`;
    const text = !isNew && !isCurrent ? progress : node.isForward ? `here: #${/\d+$/.exec(lines.find(own) ?? visited ?? "")?.[0] ?? ""}` : `here · ${progress}`;
    if (classes !== node.classes) node.element.setAttribute("class", classes);
    if (node.detail && node.detail.textContent !== text) node.detail.textContent = text;
    node.classes = classes;
  }

  function mark(breakpoints: readonly BreakpointEntry[]): void {
    for (const { element } of [...nodes.values()].flat()) element.querySelector("circle.stop")?.remove();
    if (breakpoints.length === 0 || nodes.size === 0) return;
    for (const line of allLines(trace)) {
      if (breakpointsAt(line, breakpoints).length === 0) continue;
      for (const { id } of groupsAround(groups, line.id)) {
        const node = (nodes.get(id) ?? []).find(({ isForward }) => isForward === (line.role === "forward"));
        if (node && !node.element.querySelector("circle.stop")) node.element.append(stop(node.element));
      }
    }
  }

  return { show, node: (node) => (nodes.get(groupOfNode(groups, node)?.id ?? "") ?? [])[0]?.element, mark };
}

function groupNode(element: SVGElement, isForward: boolean): GroupNode {
  const detail = element.querySelector("text.detail");
  return { element, isForward, detail, says: detail?.textContent ?? "", classes: "" };
}

function isForwardLine(line: string): boolean {
  return /(?:^|\.)f\d+$/.test(line);
}

/** The mark of a breakpoint inside, at the right upper corner of a node. */
function stop(node: Element): SVGElement {
  const box = node.querySelector("rect");
  const at = (name: string): number => Number(box?.getAttribute(name)) || 0;
  const places = { cx: at("x") + at("width") - 10, cy: at("y") + 10, r: 4 };
  return svgElement("circle", { class: "stop", ...places }, svgElement("title", {}, "A breakpoint stands in it"));
}
