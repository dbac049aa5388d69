// What lies near an operator: the operators that are reached from it in so many hops along the blobs of the forward net,
// either way, each with what came from it in the backward pass.

import { linesById, netOf, subnetOf } from "../../model/recording/lines";
import { addTo } from "../../model/recording/lists";
import type { Line, Trace } from "../../model/schema";

/** The ids of the lines within `hops` of a line, itself included; an unknown line has none. */
export function neighbourhood(trace: Trace, line: string, hops: number): Set<string> {
  const from = linesById(trace).get(line);
  const net = netOf(trace, subnetOf(line));
  if (!from || !net) return new Set();
  const touching = byBlob(net.backward);
  const beside = (one: Line): Line[] => [...one.inputs, ...one.outputs].flatMap((blob) => touching.get(blob) ?? []);
  const starts = from.role === "forward" ? [net.forward.indexOf(from)] : from.of !== null ? [from.of] : beside(from).flatMap(({ of }) => (of === null ? [] : [of]));
  const near = within(net.forward, new Set(starts), hops);
  const found = new Set<string>([line]);
  for (const index of near) found.add(net.forward[index]?.id ?? line);
  const backward = net.backward.filter(({ of }) => of !== null && near.has(of));
  for (const { id } of backward) found.add(id);
  // Seeds and sums that came from no single operator belong to what they read and write.
  for (const one of backward.flatMap(beside)) if (one.of === null) found.add(one.id);
  return found;
}

function within(forward: Line[], start: Set<number>, hops: number): Set<number> {
  const touching = byBlob(forward);
  const places = new Map(forward.map((line, index) => [line, index]));
  // What the net is fed joins nothing: a weight that all layers read is no way between them.
  const made = new Set(forward.flatMap(({ outputs }) => outputs));
  const found = new Set(start);
  let edge = [...start];
  for (let hop = 0; hop < hops; hop++) {
    const next: number[] = [];
    for (const index of edge) {
      const line = forward[index];
      for (const blob of line ? [...line.inputs, ...line.outputs] : []) {
        for (const other of made.has(blob) ? (touching.get(blob) ?? []) : []) {
          const place = places.get(other);
          if (place === undefined || found.has(place)) continue;
          // Of two that read one blob, neither reaches the other through it.
          if (line?.inputs.includes(blob) && !other.outputs.includes(blob)) continue;
          found.add(place);
          next.push(place);
        }
      }
    }
    edge = next;
  }
  return found;
}

/** The lines that read or write each blob. */
function byBlob(lines: Line[]): Map<string, Line[]> {
  const found = new Map<string, Line[]>();
  for (const line of lines) for (const blob of new Set([...line.inputs, ...line.outputs])) addTo(found, blob, line);
  return found;
}
