// Nested nets in the program's text: indented below the operator that runs them, folded until somebody looks inside.

import { placesOf } from "../../model/recording/places";
import type { Line, Subnet, Trace } from "../../model/schema";

export type Part = "forward" | "backward";

/** A line of the program, or the title of a nested net above its lines; `depth` nested nets are around it. */
export type Item =
  | { key: string; depth: number; line: Line; number: string; nets: Subnet[]; at: number; among: number }
  | { key: string; depth: number; line: null; net: Subnet };

/** The key of the title that a nested net has below a line. */
export function titleKey(line: string, net: Subnet): string {
  return `${line} ${net.id}`;
}

/** The nested nets of a line that have lines in a part of the program. */
export function nestedIn(trace: Trace, line: Line, part: Part): Subnet[] {
  const { subnets } = placesOf(trace);
  const nets = Object.values(line.subnets).map((id) => subnets.get(id));
  return nets.filter((net): net is Subnet => net !== undefined && net[part].length > 0);
}

/** A part of the program from top to bottom; the nested nets of the lines `open` stand below these. */
export function itemsOf(trace: Trace, part: Part, open: ReadonlySet<string>): Item[] {
  const items: Item[] = [];
  const add = (lines: readonly Line[], depth: number): void => {
    let number = 0;
    lines.forEach((line, index) => {
      const nets = nestedIn(trace, line, part);
      const shown = line.kind === "operator" ? String(number++) : "";
      items.push({ key: line.id, depth, line, number: shown, nets, at: index + 1, among: lines.length });
      for (const net of open.has(line.id) ? nets : []) {
        items.push({ key: titleKey(line.id, net), depth: depth + 1, line: null, net });
        add(net[part], depth + 1);
      }
    });
  };
  add(trace[part], 0);
  return items;
}
