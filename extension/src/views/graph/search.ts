// Searching the graph: a field that finds operators by type, name, blob or index, and goes from one to the next.

import { allLines } from "../../model/recording/lines";
import type { Line, Trace } from "../../model/schema";
import { element } from "../elements/dom";
import { textField } from "../elements/entry";

const FOUND_BY = "Operators whose type, name or blobs have this in them, or #index; Enter goes to the next one, Escape ends the search (s)";

/** `match` gets what matches, and `lead` the one that the person goes to. */
export function createSearch(trace: Trace, match: (lines: string[]) => void, lead: (line: string) => void) {
  const input = textField({ "aria-label": "Search the graph", placeholder: "Find…  type, blob, #2", title: FOUND_BY });
  const count = element("span", { class: "gv-note", role: "status" });
  let found: string[] = [];
  let at = -1;

  function tell(): void {
    const place = at < 0 ? `${found.length} found` : `${at + 1} of ${found.length}`;
    count.textContent = input.value.trim() === "" ? "" : found.length === 0 ? "nothing" : place;
  }

  function look(): void {
    found = matching(trace, input.value);
    at = -1;
    match(found);
    tell();
  }

  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found.length > 0) {
      event.preventDefault();
      at = event.shiftKey ? (Math.max(at, 0) + found.length - 1) % found.length : (at + 1) % found.length;
      lead(found[at] ?? "");
      tell();
    } else if (event.key === "Escape") {
      input.value = "";
      look();
    }
  });
  return {
    element: element("div", { class: "gv-search", role: "search" }, input, count),
    focus() {
      input.focus({ preventScroll: true });
      input.select();
    },
  };
}

/** The lines that a text means, in the order of the program: "#12" by index, others by type, name and blobs. */
export function matching(trace: Trace, text: string): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const index = /^#(\d+)$/.exec(wanted)?.[1];
  const has = (name: string): boolean => name.toLowerCase().includes(wanted);
  const fits = (line: Line): boolean =>
    index === undefined
      ? has(line.type) || has(line.name) || line.outputs.some(has) || line.inputs.some(has)
      : line.id.endsWith(`f${index}`) && line.role === "forward" || line.of === Number(index);
  return allLines(trace).filter(fits).map(({ id }) => id);
}
