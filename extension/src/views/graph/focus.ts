// The focus: only what lies within some hops of one operator is shown. Operators are reached along the blobs of the forward
// net, either way, each with what came from it in the backward pass.

import { linesById, netOf, numberOf, subnetOf } from "../../model/recording/lines";
import { addTo } from "../../model/recording/lists";
import type { Line, Trace } from "../../model/schema";
import { element, iconButton, leave, ICONS } from "../elements/dom";
import { counted } from "../elements/numbers";

const MOST = 5;

/** `keep` shows these lines alone, null all, and the second one where it was. */
export function createFocus(trace: Trace, keep: (lines: ReadonlySet<string> | null, line: string) => void) {
  let hops = 2;
  let centre: string | null = null;
  const words = element("span", { role: "status" });
  const fewer = iconButton("Fewer hops", ICONS.fewer, () => change(hops - 1));
  const more = iconButton("More hops", ICONS.more, () => change(hops + 1));
  const bar = element("div", { class: "gv-focus", role: "group", "aria-label": "Focus", hidden: true }, fewer, words, more, iconButton("End the focus (f, Escape)", ICONS.remove, end));

  function change(to: number): void {
    if (centre === null || to < 1 || to > MOST) return;
    hops = to;
    show(centre);
  }

  function show(line: string): void {
    centre = line;
    bar.hidden = false;
    words.textContent = `${counted(hops, "hop")} around ${called(trace, line)}`;
    fewer.setAttribute("aria-disabled", String(hops === 1));
    more.setAttribute("aria-disabled", String(hops === MOST));
    keep(neighbourhood(trace, line, hops), line);
  }

  function end(): void {
    if (centre === null) return;
    const line = centre;
    centre = null;
    leave(bar);
    bar.hidden = true;
    keep(null, line);
  }

  return {
    element: bar,
    get isOn() {
      return centre !== null;
    },
    /** Focuses on a line, or shows all again. */
    toggle(line: string | undefined) {
      if (centre !== null) end();
      else if (line !== undefined) show(line);
    },
    end,
  };
}

function called(trace: Trace, id: string): string {
  const line = linesById(trace).get(id);
  const number = line ? numberOf(line) : null;
  return `${line?.type ?? ""}${number === null ? "" : ` ${line?.role === "forward" ? "" : "of "}#${number}`}`;
}

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
