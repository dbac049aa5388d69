// Which clusters are open. The position opens those that it enters; they close again when it has left the outermost of
// them, so that a loop does not open and close with each iteration. What a person opened stays open, and what a person
// closed stays closed until the position comes back from outside.

import { around, type Plan } from "./folds";

export interface Opening {
  readonly open: ReadonlySet<string>;
  /** The position is in this nested net now; null: in the outermost one. */
  enter(net: string | null): void;
  /** The person opens or closes a cluster. */
  toggle(cluster: string): void;
}

export function createOpening(plan: Plan): Opening {
  const byHand = new Set<string>();
  const byPosition = new Set<string>();
  const closed = new Set<string>();
  let here: string[] = [];
  let open = new Set<string>();

  function outermost(cluster: string): string {
    let found = cluster;
    for (let next = plan.clusters.get(found)?.around; next; next = plan.clusters.get(found)?.around) found = next;
    return found;
  }

  function settle(): void {
    open = new Set([...byHand, ...byPosition].filter((cluster) => !closed.has(cluster)));
  }

  function openByHand(cluster: string): void {
    closed.delete(cluster);
    byHand.add(cluster);
    for (const inner of plan.clusters.get(cluster)?.alone ?? []) openByHand(inner);
  }

  return {
    get open() {
      return open;
    },
    enter(net) {
      here = around(plan, net);
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
  };
}
