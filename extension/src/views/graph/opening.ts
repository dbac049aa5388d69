// Which clusters are open. The position opens those that it enters; they close again when it has left the outermost of
// them, so that a loop does not open and close with each iteration. What a person opened stays open, and what a person
// closed stays closed until the position comes back from outside.

/** Clusters within clusters: operators that run nested nets, and groups. */
export interface Tree {
  /** The cluster that one lies in; null for one of the outermost net. */
  around(cluster: string): string | null;
  /** The cluster that shows a nested net; null where the drawing does not show it. */
  showing(net: string): string | null;
  /** The clusters that are all of what one shows: who opens it wants to see what is in them. */
  alone(cluster: string): string[];
}

/** A cluster and those that it lies in, from the innermost. */
export function clustersFrom(tree: Tree, cluster: string | null): string[] {
  const found: string[] = [];
  for (let next = cluster; next !== null; next = tree.around(next)) found.push(next);
  return found;
}

export interface Opening {
  readonly open: ReadonlySet<string>;
  /** The position is in this nested net now; null: in the outermost one. */
  enter(net: string | null): void;
  /** The person opens or closes a cluster. */
  toggle(cluster: string): void;
  /** The person wants to see what is in a cluster. */
  show(cluster: string): void;
}

export function createOpening(tree: Tree): Opening {
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
    enter(net) {
      here = clustersFrom(tree, net === null ? null : tree.showing(net));
      const outer = here[here.length - 1];
      for (const cluster of byPosition) if (outermost(cluster) !== outer) byPosition.delete(cluster);
      for (const cluster of closed) if (!here.includes(cluster)) closed.delete(cluster);
      for (const cluster of here) byPosition.add(cluster);
      settle();
    },
    toggle(cluster) {
      if (open.has(cluster)) {
        byHand.delete(cluster);
        byPosition.delete(cluster);
        if (here.includes(cluster)) closed.add(cluster);
      } else openByHand(cluster);
      settle();
    },
    show(cluster) {
      for (const one of clustersFrom(tree, cluster)) {
        closed.delete(one);
        byHand.add(one);
      }
      settle();
    },
  };
}
