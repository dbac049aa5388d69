// Clusters, which open in a drawing: operators that run nested nets, and groups. What there are, which are open, and the
// marks by which a person opens and closes them.

import { groupOfNode, groupsOf } from "../../model/recording/groups";
import { linesById, subnetOf } from "../../model/recording/lines";
import type { Trace } from "../../model/schema";
import { svgElement } from "../elements/dom";
import type { Level } from "./drawing/levels";
import type { Drawing, Source } from "./drawing/svg";

/** Clusters within clusters. */
export interface Tree {
  /** The cluster that one lies in; null for one of the outermost net. */
  around(cluster: string): string | null;
  /** The cluster that shows a nested net; null where the drawing does not show it. */
  showing(net: string): string | null;
  /** The clusters that are all of what one shows: who opens it wants to see what is in them. */
  alone(cluster: string): string[];
}

/** The clusters of a drawing, whichever of its parts have been read by now. */
export function clustersOf(trace: Trace, source: Source) {
  const groups = groupsOf(trace);
  const lines = linesById(trace);
  const subnets = new Map(trace.subnets.map((net) => [net.id, net]));

  /** The drawing that shows a line, once all in it is open. */
  function levelOf(line: string): Level | null {
    const group = groups.of.get(line);
    const owner = group ? null : ownerOf(subnetOf(line));
    return owner === null ? source.level(group?.id ?? null) : levelOf(owner);
  }

  function ownerOf(net: string | null): string | null {
    const subnet = net === null ? undefined : subnets.get(net);
    return subnet?.owner ?? subnet?.backward_owner ?? null;
  }

  function showing(net: string): string | null {
    const owner = ownerOf(net);
    return (owner !== null && levelOf(owner)?.plan.nets.get(net)) || null;
  }

  function around(cluster: string): string | null {
    const group = groups.byId.get(cluster);
    if (!group) return levelOf(cluster)?.plan.clusters.get(cluster)?.around ?? holding(cluster);
    const net = subnetOf(cluster);
    return group.around?.id ?? (net === null ? null : showing(net));
  }

  /** What has to be open for a line to be seen, and nothing else: the cluster that it lies in, null for none. */
  function holding(line: string): string | null {
    const net = subnetOf(line);
    return groups.of.get(line)?.id ?? (net === null ? null : showing(net));
  }

  /** The cluster that a node of the drawing opens, by its line or its group; undefined: it opens none. */
  function opened(node: string): string | undefined {
    const nets = Object.values(lines.get(node)?.subnets ?? {});
    return groupOfNode(groups, node)?.id ?? nets.map(showing).find((cluster) => cluster !== null) ?? undefined;
  }

  const alone = (cluster: string): string[] => levelOf(cluster)?.plan.clusters.get(cluster)?.alone ?? [];
  return { around, showing, alone, opened, holding };
}

/** A cluster and those that it lies in, from the innermost. */
export function clustersFrom(tree: Tree, cluster: string | null): string[] {
  const found: string[] = [];
  for (let next = cluster; next !== null; next = tree.around(next)) found.push(next);
  return found;
}

/**
 * Which clusters are open. The position opens those that it enters; they close again when it has left the outermost of
 * them, so that a loop does not open and close with each iteration. What a person opened stays open, and what a person
 * closed stays closed until the position comes back from outside.
 */
export function createOpening(tree: Tree) {
  const byHand = new Set<string>();
  const byPosition = new Set<string>();
  const closed = new Set<string>();
  let here: string[] = [];
  let open = new Set<string>();

  function outermost(cluster: string): string {
    return clustersFrom(tree, cluster).at(-1) ?? cluster;
  }

  function settle(): void {
    open = new Set([...byHand, ...byPosition].filter((cluster) => !closed.has(cluster)));
  }

  function openByHand(cluster: string): void {
    closed.delete(cluster);
    byHand.add(cluster);
    for (const inner of tree.alone(cluster)) openByHand(inner);
  }

  return {
    get open() {
      return open;
    },
    /** The position is in this nested net now; null: in the outermost one. */
    enter(net: string | null) {
      here = clustersFrom(tree, net === null ? null : tree.showing(net));
      const outer = here[here.length - 1];
      for (const cluster of byPosition) if (outermost(cluster) !== outer) byPosition.delete(cluster);
      for (const cluster of closed) if (!here.includes(cluster)) closed.delete(cluster);
      for (const cluster of here) byPosition.add(cluster);
      settle();
    },
    /** The person opens or closes a cluster. */
    toggle(cluster: string) {
      if (open.has(cluster)) {
        byHand.delete(cluster);
        byPosition.delete(cluster);
        if (here.includes(cluster)) closed.add(cluster);
      } else openByHand(cluster);
      settle();
    },
    /** The person wants to see what is in a cluster. */
    show(cluster: string) {
      for (const one of clustersFrom(tree, cluster)) {
        closed.delete(one);
        byHand.add(one);
      }
      settle();
    },
  };
}

export type Toggles = ReturnType<typeof dressToggles>;

/**
 * Makes the marks of a drawing act. `opened` gives the cluster that a node opens, undefined for none; `toggle` gets the
 * cluster, and the node that should stay where it is.
 */
export function dressToggles(
  drawing: Drawing,
  opened: (node: string) => string | undefined,
  open: ReadonlySet<string>,
  toggle: (cluster: string, node: string) => void,
) {
  const buttons = new Map<string, SVGElement>();
  for (const [id, group] of drawing.byId) {
    const mark = id.startsWith("node-") ? group.querySelector("polygon.mark") : null;
    if (!mark) continue;
    const line = id.slice("node-".length);
    const cluster = opened(line);
    if (cluster === undefined) mark.remove();
    else buttons.set(line, button(group, mark, open.has(cluster), () => toggle(cluster, line)));
    // There is nothing else that a press on a group could mean.
    if (cluster !== undefined && group.classList.contains("group")) press(group, () => toggle(cluster, line));
  }
  for (const [id, element] of drawing.byId) {
    if (!id.startsWith("cluster-")) continue;
    const bar = element.querySelector(":scope > rect.bar");
    if (bar) press(bar, () => toggle(id.slice("cluster-".length), id.slice("cluster-".length)));
  }
  return {
    /** The line or group whose mark has the focus, if any has. */
    focused: () => [...buttons].find(([, one]) => one === document.activeElement)?.[0] ?? null,
    focus: (line: string | null) => (line === null ? undefined : buttons.get(line)?.focus({ preventScroll: true })),
    count: buttons.size,
  };
}

function press(element: Element, act: () => void): void {
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
}

/** A button over the mark of a node, as high as the node. */
function button(group: SVGElement, mark: Element, isOpen: boolean, act: () => void): SVGElement {
  const box = group.querySelector("rect");
  const name = group.querySelector("title")?.textContent?.split(":")[0] ?? "operator";
  const at = (name: string): string => box?.getAttribute(name) ?? "0";
  const area = svgElement("rect", { class: "area", x: at("x"), y: at("y"), width: 26, height: at("height") });
  // Nested nets are drawn open, groups closed.
  const isDrawnOpen = !group.classList.contains("group");
  if (isOpen !== isDrawnOpen) mark.setAttribute("transform", `rotate(${isOpen ? 90 : -90} ${centre(mark)})`);
  const told = { "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Close" : "Open"} ${name}` };
  const made = svgElement("g", { class: "toggle", role: "button", tabindex: 0, ...told }, area, mark);
  press(made, act);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  group.append(made);
  return made;
}

function centre(mark: Element): string {
  const numbers = (mark.getAttribute("points") ?? "").split(/[\s,]+/).map(Number);
  const middle = (from: number): number => {
    const along = numbers.filter((_, index) => index % 2 === from);
    return (Math.min(...along) + Math.max(...along)) / 2;
  };
  return `${middle(0)} ${middle(1)}`;
}
