// What can open in a drawing, whichever of its parts have been read by now: operators that run nested nets, and groups.

import { groupOfNode, groupsOf } from "../../model/recording/groups";
import { linesById, subnetOf, type Trace } from "../../model/recording/trace";
import type { Level } from "./drawing/levels";
import type { Source } from "./drawing/svg";
import type { Tree } from "./opening";

export interface Clusters extends Tree {
  /** The cluster that a node of the drawing opens, by its line or its group; undefined: it opens none. */
  opened(node: string): string | undefined;
  /** What has to be open for a line to be seen, and nothing else: the cluster that it lies in, null for none. */
  holding(line: string): string | null;
}

export function clustersOf(trace: Trace, source: Source): Clusters {
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

  function holding(line: string): string | null {
    const net = subnetOf(line);
    return groups.of.get(line)?.id ?? (net === null ? null : showing(net));
  }

  function opened(node: string): string | undefined {
    const nets = Object.values(lines.get(node)?.subnets ?? {});
    return groupOfNode(groups, node)?.id ?? nets.map(showing).find((cluster) => cluster !== null) ?? undefined;
  }

  const alone = (cluster: string): string[] => levelOf(cluster)?.plan.clusters.get(cluster)?.alone ?? [];
  return { around, showing, alone, opened, holding };
}
