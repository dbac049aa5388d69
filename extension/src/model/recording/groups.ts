// The groups of a large net's drawing: which lines each holds, and how far these are at a position.

import type { Line } from "../schema";
import { allLines, linesById } from "./lines";
import { memoized } from "./lookup";

export interface Group {
  id: string;
  around: Group | null;
  /** The forward lines in it and in the groups inside. */
  forward: Line[];
  backward: Line[];
  /** Since when each of its backward lines exists, in rising order. */
  mades: number[];
}

interface Groups {
  byId: Map<string, Group>;
  /** The innermost group that holds a line. */
  of: Map<string, Group>;
}

export const groupsOf = memoized((trace): Groups => {
  const lines = linesById(trace);
  const byId = new Map<string, Group>();
  const of = new Map<string, Group>();
  for (const { id, around, lines: own } of trace.graph.groups) {
    const group: Group = { id, around: around === null ? null : (byId.get(around) ?? null), forward: [], backward: [], mades: [] };
    byId.set(id, group);
    for (const line of own) of.set(line, group);
  }
  if (trace.graph.groups.length > 0) {
    for (const { id } of allLines(trace)) {
      const line = lines.get(id);
      for (let group = of.get(id) ?? null; group && line; group = group.around) {
        if (line.role === "forward") group.forward.push(line);
        else group.backward.push(line);
      }
    }
  }
  for (const group of byId.values()) group.mades = group.backward.map(({ made }) => made).sort((a, b) => a - b);
  return { byId, of };
});

/** The groups that hold a line, from the innermost. */
export function groupsAround(groups: Groups, line: string): Group[] {
  const found: Group[] = [];
  for (let group = groups.of.get(line) ?? null; group; group = group.around) found.push(group);
  return found;
}

/** The id of the group that a node of the drawing stands for, in either lane. */
export function groupOfNode(groups: Groups, node: string): Group | undefined {
  return groups.byId.get(node.replace(/\.backward$/, ""));
}
