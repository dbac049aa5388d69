// Closing clusters. A drawing has everything open; what is closed is left out of it, and with it the room that it took:
// all that lies below moves up, all that lies outside moves in, and edges become shorter. Nothing is laid out anew.

/** A stretch of an axis. */
export interface Span {
  from: number;
  to: number;
}

export interface Cluster {
  /** The cluster that it lies in; null for one of the outermost net. */
  around: string | null;
  /** 1 in the outermost net. */
  depth: number;
  /** What vanishes of the height when it closes. */
  height: Span;
  /** The clusters that are all of one of its nets: who opens it wants to see what is in them. */
  alone: string[];
}

export interface Plan {
  /** The clusters by the id of the line that opens them, an outer one before those in it. */
  clusters: Map<string, Cluster>;
  /** The nested nets by their ids: the cluster that shows each. */
  nets: Map<string, string>;
  /** What vanishes of the width when no cluster of a depth is open. */
  shells: { depth: number; width: Span }[];
}

/** What is left out of a drawing, and where a coordinate of it comes to lie. */
export interface Fold {
  isLeftOut(cluster: string): boolean;
  x(at: number): number;
  y(at: number): number;
}

/** The clusters that a drawing says it has, but for the one that is all of it. */
export function findPlan(root: Element, whole: string | null = null): Plan {
  const clusters = new Map<string, Cluster>();
  const nets = new Map<string, string>();
  const shells: Plan["shells"] = [];
  for (const shell of root.querySelectorAll("rect.shell")) shells.push({ depth: depth(shell), width: span(shell, "x", "width") });
  for (const group of root.querySelectorAll('g.cluster[id^="cluster-"]')) {
    const fold = [...group.children].find((child) => child.getAttribute("class") === "fold");
    if (!fold || name(group) === whole) continue;
    clusters.set(name(group), { around: clusterAt(group.parentElement, whole), depth: depth(group), height: span(fold, "y", "height"), alone: [] });
    for (const net of [...group.children].filter((child) => child.classList.contains("net"))) {
      nets.set(net.id.slice("net-".length), name(group));
    }
  }
  for (const node of root.querySelectorAll("g.node.forward")) {
    const inner = node.id.slice("node-".length);
    const around = clusters.get(inner)?.around;
    if (!around) continue;
    const neighbours = [...(node.parentElement?.children ?? [])].filter((other) => other.matches("g.node.forward"));
    if (neighbours.length === 1) clusters.get(around)?.alone.push(inner);
  }
  return { clusters, nets, shells };
}

/** The cluster that an element of a drawing lies in; null where that is all of the drawing. */
export function clusterAt(element: Element | null, whole: string | null): string | null {
  const found = element?.closest('g.cluster[id^="cluster-"]') ?? null;
  return found === null || name(found) === whole ? null : name(found);
}

function name(cluster: Element): string {
  return cluster.id.slice("cluster-".length);
}

function depth(element: Element): number {
  return Number([...element.classList].find((word) => /^depth-\d+$/.test(word))?.slice("depth-".length) ?? 0);
}

export function span(element: Element, start: string, size: string): Span {
  const [from, length] = [start, size].map((name) => Number(element.getAttribute(name)) || 0);
  return { from: from ?? 0, to: (from ?? 0) + Math.max(length ?? 0, 0) };
}

/** Leaves out all clusters but those that are `open` and lie in open ones, and the heights `gone`. */
export function fold(plan: Plan, open: ReadonlySet<string>, gone: Span[] = []): Fold {
  const seen = new Set<string>();
  for (const [name, cluster] of plan.clusters) {
    if (open.has(name) && (cluster.around === null || seen.has(cluster.around))) seen.add(name);
  }
  const closed = [...plan.clusters].filter(([name]) => !seen.has(name));
  const deepest = Math.max(0, ...[...seen].map((name) => plan.clusters.get(name)?.depth ?? 0));
  return {
    isLeftOut: (cluster) => plan.clusters.has(cluster) && !seen.has(cluster),
    x: without(plan.shells.filter((shell) => shell.depth > deepest).map((shell) => shell.width)),
    y: without([...gone, ...closed.map(([, cluster]) => cluster.height)]),
  };
}

/** Where a coordinate comes to lie when spans are taken out of its axis; those that overlap count once. */
export function without(spans: Span[]): (at: number) => number {
  const apart: Span[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = apart[apart.length - 1];
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else apart.push({ from, to });
  }
  return (at) => {
    let out = 0;
    for (const { from, to } of apart) {
      if (at <= from) break;
      out += Math.min(at, to) - from;
    }
    return at - out;
  };
}

const SEGMENT = /([MLHVQC])([^A-Za-z]*)/g;

const numbersOf = (text: string): number[] => (text.match(/-?[\d.]+/g) ?? []).map(Number);
const axisOf = (command: string, index: number): "x" | "y" => (command === "V" || (command !== "H" && index % 2 === 1) ? "y" : "x");

/** A path of straight lines and curves with all of its points moved. */
export function foldPath(path: string, folded: Pick<Fold, "x" | "y">): string {
  return path.replace(SEGMENT, (_, command: string, rest: string) => {
    return command + numbersOf(rest).map((at, index) => round(folded[axisOf(command, index)](at))).join(",");
  });
}

/** The stretch of an axis in which such a path lies; null for an empty one. */
export function pathSpan(path: string, axis: "x" | "y"): Span | null {
  const found = [...path.matchAll(SEGMENT)].flatMap(([, command = "", rest = ""]) => numbersOf(rest).filter((_, index) => axisOf(command, index) === axis));
  return found.reduce<Span | null>((span, at) => ({ from: Math.min(span?.from ?? at, at), to: Math.max(span?.to ?? at, at) }), null);
}

export function round(at: number): number {
  return Math.round(at * 10) / 10;
}
