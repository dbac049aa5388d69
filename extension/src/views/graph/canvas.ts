// The drawing in its window. A step changes the classes of its nodes and edges; opening, closing and focusing fold the
// same drawing in another way. Clusters open in it: operators that run nested nets, and groups.

import { currentEvent, linesAbout } from "../../model/recording/cursor";
import { allLines, drawnAs, groupOfNode, groupsOf, linesById, outward, subnetOf, subnetsById } from "../../model/recording/lookup";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { element, svgElement } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { counted } from "../elements/numbers";
import { outlineOf, type Level } from "./drawing/levels";
import type { Drawing, Source } from "./drawing/svg";
import { labelled } from "./labels";
import { createLeaves } from "./leaves";
import { createMarking } from "./marking";
import { createViewport } from "./viewport";

/** Clusters within clusters. */
export type Tree = Pick<ReturnType<typeof clustersOf>, "around" | "showing" | "alone">;

/** The clusters of a drawing, whichever of its parts have been read by now. */
function clustersOf(trace: Trace, source: Source, drawn: (id: string) => string) {
  const groups = groupsOf(trace);
  const lines = linesById(trace);

  /** The drawing that shows a line, once all in it is open. */
  function levelOf(line: string): Level | null {
    const group = groups.of.get(line);
    const owner = group ? null : ownerOf(subnetOf(line));
    return owner === null ? source.level(group?.id ?? null) : levelOf(owner);
  }

  function ownerOf(net: string | null): string | null {
    const subnet = subnetsById(trace).get(drawn(net ?? ""));
    const owner = subnet?.owner ?? subnet?.backward_owner;
    return owner == null ? null : drawn(owner);
  }

  /** The cluster that shows a nested net; null where the drawing does not show it, and for the outermost. */
  function showing(net: string | null): string | null {
    const owner = ownerOf(net);
    return (owner !== null && levelOf(owner)?.plan.nets.get(drawn(net ?? ""))) || null;
  }

  /** The cluster that one lies in; null for one of the outermost net. */
  function around(cluster: string): string | null {
    const group = groups.byId.get(cluster);
    if (!group) return levelOf(cluster)?.plan.clusters.get(cluster)?.around ?? holding(cluster);
    return group.around?.id ?? showing(subnetOf(cluster));
  }

  /** What has to be open for a line to be seen, and nothing else: the cluster that it lies in, null for none. */
  function holding(line: string): string | null {
    return groups.of.get(line)?.id ?? showing(subnetOf(drawn(line)));
  }

  /** The cluster that a node of the drawing opens, by its line or its group; undefined: it opens none. */
  function opened(node: string): string | undefined {
    const nets = Object.values(lines.get(node)?.subnets ?? {});
    return groupOfNode(trace, node)?.id ?? nets.map(showing).find((cluster) => cluster !== null) ?? undefined;
  }

  /** The clusters that are all of what one shows: who opens it wants to see what is in them. */
  const alone = (cluster: string): string[] => levelOf(cluster)?.plan.clusters.get(cluster)?.alone ?? [];
  return { around, showing, alone, opened, holding };
}

/** A cluster and those that it lies in, from the innermost. */
export function clustersFrom(tree: Tree, cluster: string | null): string[] {
  return outward(cluster, tree.around);
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
  const openNow = (): Set<string> => new Set([...byHand, ...byPosition].filter((cluster) => !closed.has(cluster)));

  function openByHand(cluster: string): void {
    closed.delete(cluster);
    byHand.add(cluster);
    for (const inner of tree.alone(cluster)) openByHand(inner);
  }

  return {
    get open() {
      return openNow();
    },
    /** The position is in this nested net now; null: in the outermost one. */
    enter(net: string | null) {
      here = clustersFrom(tree, tree.showing(net));
      const outer = here.at(-1);
      for (const cluster of byPosition) if (clustersFrom(tree, cluster).at(-1) !== outer) byPosition.delete(cluster);
      for (const cluster of closed) if (!here.includes(cluster)) closed.delete(cluster);
      for (const cluster of here) byPosition.add(cluster);
    },
    toggle(cluster: string) {
      if (openNow().has(cluster)) {
        byHand.delete(cluster);
        byPosition.delete(cluster);
        if (here.includes(cluster)) closed.add(cluster);
      } else openByHand(cluster);
    },
    show(cluster: string) {
      for (const one of clustersFrom(tree, cluster)) {
        closed.delete(one);
        byHand.add(one);
      }
    },
  };
}

/**
 * Makes the marks of a drawing act. `opened` gives the cluster that a node opens, undefined for none; `toggle` gets the
 * cluster, and the node that should stay where it is.
 */
function dressToggles(
  drawing: Drawing,
  opened: (node: string) => string | undefined,
  open: ReadonlySet<string>,
  toggle: (cluster: string, node: string) => void,
) {
  const buttons = new Map<string, SVGElement>();
  for (const [line, group] of drawing.named.node) {
    const mark = group.querySelector("polygon.mark");
    if (!mark) continue;
    const cluster = opened(line);
    if (cluster === undefined) mark.remove();
    else buttons.set(line, button(group, mark, open.has(cluster), () => toggle(cluster, line)));
    // There is nothing else that a press on a group could mean.
    if (cluster !== undefined && group.classList.contains("group")) press(group, () => toggle(cluster, line));
  }
  for (const [cluster, element] of drawing.named.cluster) {
    const bar = element.querySelector(":scope > rect.bar");
    if (bar) press(bar, () => toggle(cluster, cluster));
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
  const { x, y, height } = outlineOf(group) ?? { x: 0, y: 0, height: 0 };
  const name = group.querySelector("title")?.textContent?.split(":")[0] ?? "operator";
  const area = svgElement("rect", { class: "area", x, y, width: 26, height });
  const aria = { "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Close" : "Open"} ${name}` };
  const toggle = svgElement("g", { class: "toggle", role: "button", tabindex: 0, ...aria }, area, mark);
  press(toggle, act);
  toggle.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  group.append(toggle);
  return toggle;
}

export type Canvas = ReturnType<typeof createCanvas>;

/** One of the drawings of a trace, and what is open in it. */
function variant(trace: Trace, source: Source, isWhole: boolean) {
  const drawn = drawnAs(trace, isWhole);
  const clusters = clustersOf(trace, source, drawn);
  return { source, drawn, clusters, opening: createOpening(clusters) };
}

/** `whole` gives the drawing with its plumbing. */
export function createCanvas(trace: Trace, source: Source, whole: () => Source, navigation: Navigation) {
  const folded = variant(trace, source, false);
  let { drawn, clusters, opening } = folded;
  const everything = allLines(trace).map((line) => line.id);
  let shown = 0;
  let selected: string | null = null;
  let breakpoints: readonly BreakpointEntry[] = [];
  let matches: readonly string[] = [];
  /** The lines that are shown alone, and what they lie in; null: all are shown. */
  let only: ReadonlySet<string> | null = null;
  let isTaught = false;
  let picture = draw();
  /** What is said of labels of wires that have no place. */
  const note = element("div", { class: "gv-placeless gv-note", hidden: true });
  const viewport = createViewport(picture);

  function draw() {
    const open = only ? new Set([...opening.open, ...only]) : opening.open;
    const drawing = source.draw(open, only);
    const marking = createMarking(trace, drawing, drawn);
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
    // The labels tell what the wires carry, where somebody asked for it.
    const leaves = isTaught || only ? null : createLeaves(trace, drawing, navigation);
    return { svg, parts, marking, toggles, leaves, labels: isTaught ? labelled(trace, drawing) : null };
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

  /** What the wires carry now; those without room of their own are shown where the event is. */
  function tell(): void {
    picture.leaves?.show(shown);
    picture.labels?.show(shown, new Set([...linesAbout(currentEvent(trace, shown)), selected ?? ""]));
    const placeless = picture.labels?.placeless ?? 0;
    const text = placeless === 0 ? "" : `${counted(placeless, "label")} without room: shown where the step is, or at what is selected`;
    // Its line is there for the whole lesson: a graph that grew with every label that finds room would jump.
    note.hidden = !picture.labels;
    note.textContent = text;
    note.title = text;
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
    const { open } = opening;
    const isSame = before.size === open.size && [...before].every((cluster) => open.has(cluster));
    const marked = isSame ? picture.marking.show(position, touched) : redraw(event?.lines ?? []);
    tell();
    viewport.step(marked, marked.filter((one) => one.classList.contains("new")));
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
    element: viewport.element,
    note,
    viewport,
    show,
    select,
    mark(entries: readonly BreakpointEntry[]) {
      breakpoints = entries;
      picture.marking.mark(entries);
    },
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
      only = lines && withAround(trace, [...lines].map(drawn), (line) => clustersFrom(clusters, clusters.holding(line)));
      redraw([still]);
      const node = picture.marking.seen(still);
      if (node) viewport.follow([node]);
      if (!source.isFixed) viewport.begin();
    },
    teach(isOn: boolean) {
      if (isOn === isTaught) return;
      isTaught = isOn;
      viewport.follow(redraw([]));
      viewport.begin();
    },
    plumb(isWhole: boolean) {
      const event = currentEvent(trace, shown);
      ({ source, drawn, clusters, opening } = isWhole ? variant(trace, whole(), true) : folded);
      opening.enter(event?.subnet ?? null);
      const marked = redraw(linesAbout(event));
      viewport.begin();
      viewport.follow(marked);
    },
    /** Opens the group or nested net that stands for a line, or closes the one that the line is in. */
    toggle(line: string) {
      const { open } = opening;
      const closed = picture.marking.node(line) ? clusters.opened(line) : undefined;
      const cluster = closed ?? clustersFrom(clusters, clusters.holding(line)).reverse().find((one) => !open.has(one)) ?? clusters.holding(line);
      if (cluster !== null) toggle(cluster, line);
    },
  };
}

/** Lines, and the nodes of all that they lie in. */
function withAround(trace: Trace, lines: readonly string[], around: (line: string) => string[]): Set<string> {
  const nodes = new Set(lines);
  for (const line of lines) for (const cluster of around(line)) nodes.add(cluster).add(`${cluster}.backward`);
  // It grows as it is gone through: an owner can lie in a net that others own.
  for (const line of nodes) {
    const net = subnetsById(trace).get(subnetOf(line) ?? "");
    for (const owner of [net?.owner, net?.backward_owner]) if (owner) nodes.add(owner);
  }
  return nodes;
}
